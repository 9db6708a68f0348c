#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-run --check as a user calls it: the table, JSON, samples, shapes, refusals. That it finds
# errors is tests/run/test_check.c.
. tests/tap.sh

run=$NPU_BUILD/npu-run
mnist=$NPU_MODELS/mnist-8.onnx
rec=$NPU_MODELS/rec.onnx

tap_refused "expected one model, got 0" "no model" "$run" --check
tap_refused "No such file" "a model that is not there" "$run" --check "$tap_tmp/none.onnx"
tap_refused "expected nothing, or =json" "--check=xml" "$run" --check=xml \
	tests/data/golden-1.0-mnist.npu
tap_refused "from 0 on" "--max-error x" "$run" --check --max-error x tests/data/golden-1.0-mnist.npu
tap_refused "unusable.onnx" "what is no model" \
	bash -c "echo hello >$tap_tmp/unusable.onnx; $run --check $tap_tmp/unusable.onnx"

out=$("$run" --check tests/data/golden-1.0-mnist.npu \
	-i Input3=tests/data/golden-1.0-mnist.in.npy 2>&1)
tap_is $? 0 "a job file by itself: exit status 0"
tap_like "$out" \
	'same arithmetic: 5 instructions, 5 the same bits as the oracle; 11242 of 11242 values' \
	"every value was compared"
tap_like "$out" 'golden-1.0-mnist.npu: good' "it is good"
[[ $out != *"against f32"* ]]
tap_result $? "nothing is said of f32, which is not there"

if [ ! -e "$mnist" ] || [ ! -e "$rec" ]; then
	tap_skip "models" "there is no $mnist or no $rec; scripts/models.sh fetches them"
	tap_done
fi

out=$("$run" --check "$mnist" 2>&1)
tap_is $? 0 "a model: exit status 0"
tap_like "$out" 'made up \(random, seed 0\)' "made up data is stated with its seed"
tap_like "$out" \
	'against f32: 5 of 5 layers compared, limits 0\.1 of the largest value and cosine 0\.999 \(f16\)' \
	"every layer is compared with f32"
tap_like "$out" ' 2 same +f16 .* Convolution110 \+ Plus112 \+ ReLU114 \(Conv\)' "a line per layer"
other=$("$run" --check "$mnist" --seed 7 2>&1)
[ $? = 0 ] && [[ $other == *"seed 7"* ]] &&
	[ "$(grep ^output <<<"$out")" != "$(grep ^output <<<"$other")" ]
tap_result $? "another seed: other data"
tap_refused "is for job files" "--against with a model" "$run" --check "$mnist" --against "$mnist"

"$NPU_BUILD/npu-compile" -q "$mnist" -o "$tap_tmp/m.npu"
tap_like "$("$run" --check "$tap_tmp/m.npu" --against "$mnist" 2>&1)" \
	'against f32: 5 of 5 layers .*\(f16\)' "a job file against its model"
tap_refused "none of its|no input|can not be" "against another model" \
	"$run" --check "$tap_tmp/m.npu" --against "$rec"
tap_is "$("$run" --check "$tap_tmp/m.npu" --against "$rec" 2>&1 | grep -c '^$')" 0 \
	"a model that does not compile: no empty lines"

out=$("$run" --check "$rec" -s 'x=1x3x48x{W=16..320:8}' -s x=1x3x48x64 --check-work 20 2>&1)
tap_is $? 0 "a range for the compiler and a length for the run: exit status 0"
tap_like "$out" 'x: f32 1x3x48x64, made up' "the run has its length"
tap_like "$out" 'of convolutions and products (9|1[0-9])\.[0-9] %, evenly spread' \
	"the oracle takes a sample, and it is said"
tap_like "$out" '64 of 64 layers compared' "every layer has its counterpart"
tap_refused "give its sizes" "an open shape" "$run" --check "$rec"

# In int8 the operands of a convolution count steps; a layer is compared in the model's units.
mkdir "$tap_tmp/calib"
for i in 1 2 3 4; do
	cp tests/data/golden-1.0-mnist.in.npy "$tap_tmp/calib/$i.npy"
done
"$NPU_BUILD/npu-compile" -q "$mnist" --int8 --calib "$tap_tmp/calib" --budget speed=1 \
	-o "$tap_tmp/i8.npu"
out=$("$run" --check "$tap_tmp/i8.npu" --against "$mnist" \
	-i Input3=tests/data/golden-1.0-mnist.in.npy 2>&1)
tap_is $? 0 "an int8 job: exit status 0"
tap_like "$out" \
	' same +u8 +[0-9.e+-]+ +[0-9.e+-]+ +0\.99[0-9]+ +Convolution110 \+ Plus112 \+ ReLU114 \(Conv\)' \
	"its layers are those of the model"
tap_like "$out" 'cosine 0\.95 \(int8\)' "with limits of their own"
same=$("$run" --check "$mnist" --int8 --calib "$tap_tmp/calib" --budget speed=1 \
	-i Input3=tests/data/golden-1.0-mnist.in.npy 2>&1)
tap_is $? 0 "the model with --int8: exit status 0"
tap_is "$(grep -vE '^tests|\.npu: |\.onnx: ' <<<"$same")" \
	"$(grep -vE '^tests|\.npu: |\.onnx: ' <<<"$out")" "and the same table"
tap_refused "is for models" "--int8 with a job file" "$run" --check "$tap_tmp/i8.npu" --int8 \
	--calib "$tap_tmp/calib"
for option in "--precision f32" "-p f16" --all-f16 --no-sram; do
	tap_refused "is a job file and checked as it is" "$option with a job file" \
		"$run" --check "$tap_tmp/i8.npu" $option
done
tap_refused "--int8 needs --calib" "--int8 without samples" "$run" --check "$mnist" --int8
tap_refused "--calib: .*No such file" "samples that are not there" "$run" --check "$mnist" --int8 \
	--calib "$tap_tmp/none"
tap_refused "is the first that is off" "limits that int8 can not hold" \
	"$run" --check "$tap_tmp/i8.npu" --against "$mnist" --min-cosine 0.9999999

# A step on the host is executed, and said to be nobody's business but its own.
det=/usr/share/libonnx-testdata/data/node/test_det_2d/model.onnx
if [ -e "$det" ]; then
	out=$("$run" --check "$det" 2>&1)
	tap_is $? 0 "a step on the host: exit status 0"
	tap_like "$out" ' host +f32 .* \(Det\).*1 steps on the host, which nobody else computes' \
		"and it is told from what the oracle saw"
else
	tap_skip "a step on the host" "there is no $det (package libonnx-testdata)"
fi

# The same by numbers, and by a parser that is not ours.
"$run" --check=json "$mnist" -i Input3=tests/data/golden-1.0-mnist.in.npy \
	>"$tap_tmp/check.json" 2>/dev/null
tap_is $? 0 "--check=json: exit status 0"
out=$(node -e '
	const r = JSON.parse(require("fs").readFileSync(process.argv[1]));
	const l = r.layers;
	console.log(r.good, r.type, l.length,
		r.arithmetic.instructions === l.reduce((n, x) => n + x.instructions, 0),
		r.arithmetic.same + r.arithmetic.within,
		l.every(x => x.bits === "same" && x.fp32.good && x.fp32.cosine > 0.999),
		l.map(x => x.op).join(), r.outputs[0].name, r.outputs[0].fp32.compared,
		r.first_bad, r.first_differs);
' "$tap_tmp/check.json")
tap_is "$out" \
	"true f16 5 true 5 true Conv,MaxPool,Conv,MaxPool,MatMul Plus214_Output_0 10 null null" \
	"JSON says the same"
tap_done
