#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Models quantized elsewhere keep their numbers: random ones of every quantized operator, and a face
# detector as ONNX Runtime's quantizer wrote it, in both of its forms, on a picture.
. tests/tap.sh

scripts/models.sh ort faces photos || exit 1
shared=${NPU_SHARED_MODELS:-../shared/models}

mkdir "$tap_tmp/cases"
tap_run "random models of every operator compile and run" \
	"$NPU_BUILD/tests/compiler/test_quant_ops" --write "$tap_tmp/cases" 100
out=$(node tests/ort/ort_cases.js "$tap_tmp/cases" 2>&1)
tap_result $? "they give what ONNX Runtime gives" || true
tap_diag "$out"

# The picture as the detector's input: through a model that hands its input through.
cat >"$tap_tmp/identity.js" <<'EOT'
const varint = n => {
	const o = [];
	for (; n > 127; n = n >> 7)
		o.push(n % 128 + 128);
	return [...o, n];
};
const field = (n, b) =>
	Buffer.concat([Buffer.from([...varint(n * 8 + 2), ...varint(b.length)]), b]);
const number = (n, v) => Buffer.from([...varint(n * 8), ...varint(v)]);
const text = (n, s) => field(n, Buffer.from(s));
const all = (...b) => Buffer.concat(b);
const value = name => all(text(1, name), field(2, field(1, all(number(1, 1),
	field(2, all(...[1, 3, 240, 320].map(d => field(1, number(1, d)))))))));
const node = all(text(1, 'x'), text(2, 'y'), text(3, 'n'), text(4, 'Identity'));
require('fs').writeFileSync(process.argv[2], all(number(1, 8),
	field(7, all(field(1, node), text(2, 'g'), field(11, value('x')), field(12, value('y')))),
	field(8, all(text(1, ''), number(2, 13)))));
EOT
cat >"$tap_tmp/compare.js" <<'EOT'
// Largest difference of two files; the best face score of each.
const npy = require(process.cwd() + '/tests/ort/npy');
const [a, b] = process.argv.slice(2, 4).map(f => npy.read(f).data);
const best = d => d.reduce((m, v, i) => i % 2 && v > m ? v : m, 0);
let most = 0, differ = 0;
for (let i = 0; i < a.length || i < b.length; i++) {
	const d = Math.abs(a[i] - b[i]);
	most = d <= most ? most : d;
	differ += d > 0;
}
console.log(
	`${differ} of ${a.length} values differ, by up to ${most.toFixed(6)}; best ${best(a).toFixed(4)} ${best(b).toFixed(4)}`);
process.exit(a.length === b.length && most <= Number(process.argv[4]) &&
	Math.abs(best(a) - best(b)) <= 0.01 ? 0 : 1);
EOT
if [ ! -f "$shared/fr_detect_qop_u8s8.onnx" ]; then
	tap_skip "a quantized face detector" \
		"fr_detect_qop_u8s8.onnx is not in $shared (NPU_SHARED_MODELS)"
	tap_done
fi
node "$tap_tmp/identity.js" "$tap_tmp/identity.onnx"
tap_run "the picture as a tensor" bash -c '
	"$NPU_BUILD/npu-compile" "$1/identity.onnx" -o "$1/identity.npu" -p f32 &&
	"$NPU_BUILD/npu-run" "$1/identity.npu" --input "x=$NPU_MODELS/astronaut.png" --scale 1/128 \
		--mean 0.9921875 --output "y=$1/x.npy"' - "$tap_tmp"
for model in fr_detect_qdq_s8s8_pc fr_detect_qop_u8s8; do
	node tests/ort/ort_run.js "$shared/$model.onnx" --in "input=$tap_tmp/x.npy" \
		--out "$tap_tmp/$model" >/dev/null
	for precision in f16 f32; do
		said=$("$NPU_BUILD/npu-compile" "$shared/$model.onnx" -o "$tap_tmp/$model.npu" \
			-p $precision 2>&1)
		tap_like "$said" '100.0 % of 100.4 million MACs' \
			"$model, $precision: all of it is on the NPU"
		tap_run "$model, $precision: it runs" "$NPU_BUILD/npu-run" "$tap_tmp/$model.npu" \
			--input "input=$tap_tmp/x.npy" --output "scores=$tap_tmp/scores.npy" \
			--output "boxes=$tap_tmp/boxes.npy"
		# One code of the probabilities is 1/255; of the boxes none may differ.
		out=$(node "$tap_tmp/compare.js" "$tap_tmp/$model/scores.npy" \
			"$tap_tmp/scores.npy" 0.004)
		tap_result $? \
			"$model, $precision: face scores within a code of ONNX Runtime's: $out"
		out=$(node "$tap_tmp/compare.js" "$tap_tmp/$model/boxes.npy" "$tap_tmp/boxes.npy" 0)
		tap_result $? "$model, $precision: all boxes equal: ${out%%,*}"
	done
done
tap_done
