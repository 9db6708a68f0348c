#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the accuracy tests measure with: the counter of wrong characters, the boxes of the detectors,
# the pictures.
. tests/tap.sh

scripts/models.sh accuracy photos || exit 1
figures=$NPU_BUILD/tests/accuracy

# js TEXT EXPRESSION...: each is true.
js()
{
	local text=$1

	shift
	tap_run "$text" node -e '
		const edit = require("./tests/accuracy/edit");
		const faces = require("./tests/accuracy/faces");
		const { compare } = require("./tests/accuracy/stack");
		for (const e of process.argv.slice(1))
			if (!eval(e))
				throw new Error(e);' -- "$@"
}

js "distances of known pairs of words" 'edit.distance("kitten", "sitting") === 3' \
	'edit.distance("Saturday", "Sunday") === 3' \
	'edit.distance("", "abc") === 3' 'edit.distance("abc", "") === 3' \
	'edit.distance("same", "same") === 0' 'edit.distance("ab", "ba") === 2'
js "code points count, not units or bytes" 'edit.distance("a\u{1F600}b", "ab") === 1' \
	'edit.length("\u{1F600}é") === 2'
js "overlap of boxes" 'faces.iou([0, 0, 2, 2], [1, 1, 3, 3]) === 1 / 7' \
	'faces.iou([0, 0, 1, 1], [0, 0, 1, 1]) === 1' \
	'faces.iou([0, 0, 1, 1], [1, 0, 2, 1]) === 0' 'faces.iou([0, 0, 1, 1], [5, 5, 6, 6]) === 0'
js "of boxes that overlap the surest stays" '
	(f => f.length === 2 && f[0].score === 0.9 && f[1].score === 0.6)(faces.faces([
		{ score: 0.6, box: [5, 5, 6, 6] }, { score: 0.8, box: [0, 0, 1, 1.1] },
		{ score: 0.9, box: [0, 0, 1, 1] },
		{ score: 0.4, box: [8, 8, 9, 9] }]))'

# The anchor of score 2 * (16 * 3 + 5) of BlazeFace front lies at the centre of cell (5, 3)
# of 16 x 16.
js "blazeface: a row is centre and size in pixels, seen from its anchor" '
	(() => {
		const tensor = n => ({ data: new Float32Array(n) });
		const out = { "Identity:0": tensor(512), "Identity_1:0": tensor(384),
			"Identity_2:0": tensor(512 * 16),
			"Identity_3:0": tensor(384 * 16) };
		const at = 2 * (16 * 3 + 5);
		out["Identity_2:0"].data.set([4, -8, 32, 64], at * 16);
		const { box, score } = faces.blazeface_boxes(out, 128)[at];
		const want = [44 + 4 - 16, 28 - 8 - 32, 44 + 4 + 16, 28 - 8 + 32];
		return score === 0.5 && box.every((v, i) => Math.abs(v * 128 - want[i]) < 1e-9);
	})()'
js "cosine and largest difference" \
	'(c => Math.abs(c.cosine - 0.6) < 1e-12 && c.worst === 4)(compare([3, 4], [3, 0]))'

# A 2x1 PNG, red and half grey, written by hand.
node -e '
	const zlib = require("zlib"), fs = require("fs");
	const crc = buf => {
		let c = ~0;
		for (const b of buf) {
			c ^= b;
			for (let i = 0; i < 8; i++)
				c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
		}
		return ~c >>> 0;
	};
	const chunk = (type, data) => {
		const body = Buffer.concat([Buffer.from(type), data]), len = Buffer.alloc(4),
			sum = Buffer.alloc(4);
		len.writeUInt32BE(data.length);
		sum.writeUInt32BE(crc(body));
		return Buffer.concat([len, body, sum]);
	};
	fs.writeFileSync(process.argv[1], Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
		chunk("IHDR", Buffer.from([0, 0, 0, 2, 0, 0, 0, 1, 8, 2, 0, 0, 0])),
		chunk("IDAT", zlib.deflateSync(Buffer.from([0, 255, 0, 0, 128, 128, 128]))),
		chunk("IEND", Buffer.alloc(0))]));
	' "$tap_tmp/two.png"
values()
{
	"$figures/picture_npy" "$tap_tmp/two.png" "$tap_tmp/t.npy" "$@" &&
		node -p 'const t = require("./tests/ort/npy").read(process.argv[1]); `[${t.dims}] ${Array.from(t.data)}`' "$tap_tmp/t.npy"
}
tap_is "$(values)" "[1,3,1,2] 255,128,0,128,0,128" "a picture in planes"
tap_is "$(values layout=nhwc mirror=1)" "[1,1,2,3] 128,128,128,255,0,0" "mirrored, in pixels"
tap_is "$(values scale=1/128 mean=1 cut=1,0,1,1)" "[1,3,1,1] 0,0,0" "a part of it, scaled"
tap_is "$(values layout=grey cut=1,0,1,1 size=2x2)" "[1,1,2,2] 128,128,128,128" "in grey, resized"
tap_refused "'size=big' is not understood" "a size that is none" "$figures/picture_npy" \
	"$tap_tmp/two.png" "$tap_tmp/t.npy" size=big
tap_refused 'at 1, 0 are not inside a picture of 2 x 1' "a part outside" "$figures/picture_npy" \
	"$tap_tmp/two.png" "$tap_tmp/t.npy" cut=1,0,2,1

# Pages.
fonts=$NPU_MODELS/fonts
tap_run "the pages of both sets are drawn" \
	sh -c "$figures/render_pages tests/accuracy/pages_test.txt $fonts $tap_tmp/a &&
	$figures/render_pages tests/accuracy/pages_calib.txt $fonts $tap_tmp/c"
"$figures/render_pages" tests/accuracy/pages_test.txt "$fonts" "$tap_tmp/b"
tap_run "drawing them again gives the same bytes" diff -r "$tap_tmp/a" "$tap_tmp/b"
tap_is "$(cat "$tap_tmp"/a/*.txt | wc -l)" \
	"$(grep -cvE '^(#|page |$)' tests/accuracy/pages_test.txt)" \
	"every line is in the text beside its page"
tap_run "there are 60 lines or more on several pages" \
	sh -c "[ \$(cat $tap_tmp/a/*.txt | wc -l) -ge 60 ] && [ \$(ls $tap_tmp/a/*.png | wc -l) -ge 5 ]"
fonts_of() { grep -o 'font=[^ ]*' "tests/accuracy/pages_$1.txt" | sort -u; }
lines_of() { grep -vE '^(#|page |$)' "tests/accuracy/pages_$1.txt" | sort; }
tap_is "$(comm -12 <(fonts_of test) <(fonts_of calib); comm -12 <(lines_of test) <(lines_of calib))" "" \
	"calibration shares no font and no line with the test"
refused()
{
	printf '%s\n' "$3" >"$tap_tmp/p.txt"
	tap_refused "$1" "$2" "$figures/render_pages" "$tap_tmp/p.txt" "$fonts" "$tap_tmp/d"
}
refused 'page a: size=5' "a size out of range is refused" 'page a font=DejaVuSans.ttf size=5'
refused 'no font' "a font that is not there" 'page a font=None.ttf size=20'
refused 'are missing' "no font" 'page a size=20'
refused 'a: .*U\+4E00' "a letter that the font does not have" \
	$'page a font=LiberationSans-Regular.ttf size=20\n\u4e00'
tap_done
