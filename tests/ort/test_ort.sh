#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The reference itself: ONNX Runtime as the scripts beside this run it gives published answers, and
# the scripts do not change what passes through them.
. tests/tap.sh

scripts/models.sh ort mnist ocr || exit 1
ort=tests/ort

# Ten handwritten digits, 0 to 9 in order, one byte a pixel.
cat >"$tap_tmp/digits.js" <<'EOF'
const npy = require(process.cwd() + '/tests/ort/npy');
const [, , what, dir] = process.argv;
const file = i => `${dir}/${i}.npy`;
if (what === 'split') {
	const raw = require('fs').readFileSync(process.env.NPU_MODELS + '/digits.txt');
	for (let i = 0; i < 10; i++)
		npy.write(file(i), { type: 'float32', dims: [1, 1, 28, 28],
			data: Float32Array.from(raw.subarray(i * 784, (i + 1) * 784)) });
} else {
	const { data } = npy.read(dir);
	console.log(data.indexOf(Math.max(...data)));
}
EOF
node "$tap_tmp/digits.js" split "$tap_tmp"
got=
for i in 0 1 2 3 4 5 6 7 8 9; do
	node $ort/ort_run.js "$NPU_MODELS/mnist-8.onnx" --in "Input3=$tap_tmp/$i.npy" \
		--out "$tap_tmp/out" >/dev/null
	got+="$(node "$tap_tmp/digits.js" max "$tap_tmp/out/Plus214_Output_0.npy") "
done
tap_is "$got" "0 1 2 3 4 5 6 7 8 9 " "mnist-8 reads the ten digits"

cp "$tap_tmp/out/Plus214_Output_0.npy" "$tap_tmp/nine.npy"
report=$(node $ort/ort_run.js "$NPU_MODELS/mnist-8.onnx" --in "$tap_tmp/9.npy" \
	--out "$tap_tmp/all" --all)
tap_is "$(ls "$tap_tmp/all" | wc -l)" 12 "--all writes the output of each of mnist-8's 12 nodes"
tap_like "$report" '"Convolution28_Output_0":\{[^}]*"float32","shape":\[1,8,28,28\]' \
	"with type and shape"
tap_run "and the result is the same to 1e-4" node -e '
	const npy = require("./tests/ort/npy");
	const [a, b] = process.argv.slice(1).map(f => npy.read(f).data);
	const top = Math.max(...a.map(Math.abs));
	process.exit(a.length === 10 &&
		a.every((v, i) => Math.abs(v - b[i]) <= 1e-4 * top) ? 0 : 1);
	' "$tap_tmp/nine.npy" "$tap_tmp/all/Plus214_Output_0.npy"

# Files written byte by byte, as NumPy writes them, and read back as NumPy would.
tap_run "npy: each type is read and written back byte for byte" node -e '
	const fs = require("fs"), npy = require("./tests/ort/npy");
	for (const { descr, array } of npy.TYPES) {
		const bytes = 6 * array.BYTES_PER_ELEMENT;
		const text = `{"descr": "${descr}", "fortran_order": False, "shape": (2, 3), }`
			.replaceAll("\"", "\x27");
		const head = Buffer.from("\x93NUMPY\x01\x00v\x00" + text.padEnd(117) + "\n",
			"latin1");
		const file = Buffer.concat(
			[head, Buffer.from(Array.from({ length: bytes }, (_, i) => i * 7 % 2))]);
		fs.writeFileSync(process.argv[1], file);
		const t = npy.read(process.argv[1]);
		npy.write(process.argv[1], t);
		if (t.dims.join() !== "2,3" || t.data.length !== 6 ||
			!fs.readFileSync(process.argv[1]).equals(file))
			throw new Error(descr);
	}' "$tap_tmp/t.npy"
head -c 1000 "$tap_tmp/0.npy" >"$tap_tmp/short.npy"
tap_refused 'has [0-9]+ bytes of data, its shape needs 3136' "npy: a file cut short is refused" \
	node $ort/ort_run.js "$NPU_MODELS/mnist-8.onnx" --in "$tap_tmp/short.npy"
tap_refused "no input 'x'; it has Input3" "an unknown input is refused, the known ones are named" \
	node $ort/ort_run.js "$NPU_MODELS/mnist-8.onnx" --in "x=$tap_tmp/0.npy"

# Two pictures of five steps over blank, a, b, c, space.
node -e '
	const npy = require("./tests/ort/npy");
	const rows = [1, 1, 0, 1, 4, 0, 3, 3, 2, 0].flatMap(k =>
		[0, 1, 2, 3, 4].map(c => c === k ? 0.5 : 0.125));
	npy.write(process.argv[1], { type: "float32", dims: [2, 5, 5],
		data: Float32Array.from(rows) })' "$tap_tmp/c.npy"
printf 'a\nb\nc' >"$tap_tmp/keys"
tap_is "$(node $ort/ctc.js "$tap_tmp/c.npy" "$tap_tmp/keys")" $'0.5000\taa \n0.5000\tcb' \
	"CTC: repeats merge, a blank parts them, the last class is a space"

tap_like "$(node $ort/ort_bench.js "$NPU_MODELS/cls.onnx" --shape 1x3x48x192 --threads 2 --iters 3)" \
	'"threads":2,"iters":3,"median_ms":[0-9.]+,"min_ms":[0-9.]+' \
	"the benchmark prints its medians"
tap_done
