#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The worked example of Documentation/quantization.md, command by command.
. tests/tap.sh

guide=$PWD/Documentation/quantization.md
for file in det.onnx page.png text.png board.jpg cards.png imageTextN.png; do
	if [ ! -e "$NPU_MODELS/$file" ]; then
		tap_skip "the example of the guide" "there is no $NPU_MODELS/$file"
		tap_done
		exit
	fi
done

models=$(cd "$NPU_MODELS" && pwd)
PATH=$(cd "$NPU_BUILD" && pwd):$PATH
export NPU_MODELS=$models XDG_CACHE_HOME=$tap_tmp/cache
mkdir -p "$tap_tmp/example"

# The fenced blocks of commands, one file each.
awk -v dir="$tap_tmp/example" \
	'/^```sh$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > (dir "/block" n ".sh") }' \
	"$guide"
blocks=("$tap_tmp"/example/block*.sh)
tap_is "${#blocks[@]}" 3 "the guide has three blocks of commands"
cd "$tap_tmp/example" || exit 1
for i in 1 2 3; do
	out[i]=$(bash -e -o pipefail "block$i.sh" 2>&1)
	tap_is "$?" 0 "block $i runs: $(head -1 "block$i.sh")"
done

# 5,620 products a pixel (2,302 M at 640x640) at 192x192, the mean of 1 and 40 steps of 32 pixels:
# 207 M, at 30 M a counter 6, and where they are others those of the input and of the first
# activation.
counters=$(npu-run det.npu --disasm | grep -cw count)
[ "$counters" -ge 6 ] && [ "$counters" -le 8 ]
tap_result $? "$counters counters of clipped values, expected 6 to 8"
npu-compile -q "$NPU_MODELS/det.onnx" -o none.npu --int8 --calib calib/det --no-clip-count \
	--budget speed=1 --calib-method minmax --shape 'x=1x3x320x320'
tap_is "$(npu-run none.npu --disasm | grep -cw count)" 0 "none with --no-clip-count"

tap_is "$(ls calib/det/*.npy | wc -l)" 4 "a sample of detection for each picture"
tap_like "${out[2]}" \
	'int8: ranges by what suits each tensor \(layers: minmax [0-9]+(, mse [0-9]+)?\) over 4 samples; budget speed 0\.9' \
	"the report says how ranges were chosen"
tap_like "${out[2]}" 'p2o.Conv.0 +Conv ' "it has a line for each layer"
summary=$(grep 'MACs in int8' <<<"${out[2]}")
tap_like "$summary" \
	'^[0-9.]+ % of [0-9.]+ million MACs in int8; cosine of the outputs to float 0\.9[0-9]+ over 4 samples, worst 0\.9' \
	"how near the outputs are: ${summary%%(*}"
share=${summary%%.*}
[ "$share" -ge 90 ]
tap_result $? "the budget is kept: $share % of the MACs are in int8"
tap_like "${out[3]}" 'int8 +[0-9.]+ % of MACs, cosine' "npu-run --info says it too"
tap_is "$(grep -c '[a-z][a-z]' <<<"${out[3]}")" "$(grep -c . <<<"${out[3]}")" "text is read with the job"
tap_like "${out[3]}" 'technical details are too complex' "and the right one"
tap_done
