// SPDX-License-Identifier: MIT
//
// Reading pages with npu-ocr: the pages, samples for calibration, how many characters are wrong,
// and how near the networks are to ONNX Runtime on what they were given.
'use strict';
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const npy = require('../ort/npy');
const stack = require('./stack');
const { distance, length } = require('./edit');

// Pictures of opencv-doc and scikit-image with text that is known from looking at them.
const printed = {
	'imageTextN.png': 'technical details are too complex to cover in the book itself.\n' +
		'In teaching our courses, we have found it useful for the students to attempt a number of\n' +
		'small implementation projects, which often build on one another, in order to get them used to\n' +
		'working with real-world images and the challenges that these present. The students are then\n' +
		'asked to choose an individual topic for each of their small-group, final projects. (Sometimes\n' +
		'these projects even turn into conference papers!) The exercises at the end of each chapter\n' +
		'contain numerous suggestions for smaller mid-term projects, as well as more open-ended\n' +
		'problems whose solutions are still active research topics. Wherever possible, I encourage\n' +
		'students to try their algorithms on their own personal photographs, since this better motivates\n' +
		'them, often leads to creative variants on the problems, and better acquaints them with the\n' +
		'variety and complexity of real-world imagery.\n' +
		'In formulating and solving computer vision problems, I have often found it useful to draw\n' +
		'inspiration from three high-level approaches:',
};
printed['imageTextR.png'] = printed['imageTextN.png'];

// Text that calibration sees beside the rendered pages, and scenes, some with a little text.
const calib_pictures = ['page.png', 'text.png', 'board.jpg', 'cards.png', 'box_in_scene.png',
	'building.jpg',
	'starry_night.jpg', 'rocket.jpg'];

// Draw a set (pages_<set>.txt); returns [{ name, file, text }].
function render(set, dir)
{
	const fonts = path.join(stack.models, 'fonts');

	stack.tool('tests/accuracy/render_pages', [path.join(__dirname, `pages_${set}.txt`), fonts,
		dir]);
	return fs.readdirSync(dir).filter(f => f.endsWith('.png')).sort().map(f => ({
		name: f.slice(0, -4), file: path.join(dir, f),
		text: fs.readFileSync(path.join(dir, f.replace('.png', '.txt')), 'utf8').trimEnd(),
	}));
}

function test_pages(dir)
{
	return [...render('test', dir), ...Object.entries(printed).map(([file, text]) =>
		({ name: file.slice(0, -4), file: path.join(stack.models, file), text }))];
}

const ocr = (page, cache, options) =>
	JSON.parse(stack.tool('npu-ocr', ['--json', '--quiet', '--models', stack.models, '--cache',
		cache, ...options, page]));

// Samples of what the networks see, from pages and pictures that are not tested; returns their
// folder.
function make_calib(dir, cache)
{
	const out = path.join(dir, 'calib');
	const pages = render('calib', path.join(dir, 'calib-pages'));

	for (const file of [...pages.map(p => p.file), ...calib_pictures.map(f =>
		path.join(stack.models, f))])
		ocr(file, cache, ['--dump-calib', out]);
	return out;
}

// Read every page; wrong characters are counted over a page's whole text, a line's end being a
// space.
function read(pages, cache, options)
{
	const sum = { pages: [], errors: 0, characters: 0, lines: 0 };

	for (const page of pages) {
		const got = ocr(page.file, cache, options).lines.map(l => l.text);
		const text = got.join(' '), want = page.text.replace(/\n/g, ' ');
		const errors = distance(text, want);

		sum.pages.push({ name: page.name, text, got, errors, characters: length(want) });
		sum.errors += errors;
		sum.characters += length(want);
		sum.lines += page.text.split('\n').length;
	}
	sum.per_100 = 100 * sum.errors / sum.characters;
	return sum;
}

// The f32 job's tensors on the test pages, and ONNX Runtime's answers beside them: { det: [{ page,
// in, ref }], ... }. Where a page is read a second time upside down, that is left out.
function reference(pages, dir, cache)
{
	const tensors = { det: [], cls: [], rec: [], worst: 0 };

	for (const page of pages) {
		const dump = path.join(dir, 'dump', page.name);

		ocr(page.file, cache, ['--precision', 'f32', '--dump', dump]);
		const r = spawnSync('node', [path.join(stack.root, 'tests/ocr/ort_dump.js'), dump],
			{ encoding: 'utf8' });
		if (r.status)
			throw new Error(`ort_dump.js: ${r.stderr}`);
		for (const name of fs.readdirSync(dump).sort()) {
			const m = /^(det|cls|rec)-(\d+)\.in\.npy$/.exec(name);

			if (!m)
				continue;
			const base = path.join(dump, name.replace('.in.npy', ''));
			const ref = npy.read(`${base}.ort.npy`);
			tensors.worst = Math.max(tensors.worst,
				stack.compare(npy.read(`${base}.out.npy`).data, ref.data).worst);
			tensors[m[1]].push({ page: page.name, in: `${base}.in.npy`, ref });
		}
	}
	return tensors;
}

// The job that npu-ocr keeps for a network in @cache.
const cached_job = (cache, net) =>
	path.join(cache, fs.readdirSync(cache).find(f => f.startsWith(`${net}-`)));

// A network's job against the reference: cosine over all maps (or scores) at once, that of the page
// where it is least, and for a recogniser the share of steps with the same best class.
function nearness(job, list, steps)
{
	const got = [], want = [], pages = {};
	let same = 0, all = 0;

	for (const { page, in: file, ref } of list) {
		const { data } = Object.values(stack.run(job, { x: file }))[0];

		got.push(data);
		want.push(ref.data);
		pages[page] ??= { page, got: [], want: [] };
		pages[page].got.push(data);
		pages[page].want.push(ref.data);
		if (!steps)
			continue;
		for (let t = 0, classes = ref.dims[2]; t < ref.dims[1]; t++, all++)
			same += arg_max(data, t * classes, classes) ===
				arg_max(ref.data, t * classes, classes);
	}
	const by_page = Object.values(pages).map(p =>
		({ page: p.page, cosine: stack.compare(join(p.got), join(p.want)).cosine }));

	return {
		cosine: stack.compare(join(got), join(want)).cosine,
		by_page,
		worst: by_page.reduce((a, b) => (b.cosine < a.cosine ? b : a)),
		steps: steps ? same / all : undefined,
	};
}

function arg_max(data, base, n)
{
	let at = 0;

	for (let i = 1; i < n; i++)
		if (data[base + i] > data[base + at])
			at = i;
	return at;
}

function join(arrays)
{
	const out = new Float32Array(arrays.reduce((n, a) => n + a.length, 0));
	let at = 0;

	for (const a of arrays) {
		out.set(a, at);
		at += a.length;
	}
	return out;
}

module.exports = { test_pages, make_calib, read, reference, cached_job, nearness };
