#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Values of ggml's types against llama.cpp itself: a file of each type, its blocks overwritten with
# random bits, is made floats of by llama-quantize.
. tests/tap.sh

llama=scripts/llama-root.sh
test=$NPU_BUILD/tests/llm/test_ggml

out=$($llama 2>&1)
case $? in
0)	;;
2)	tap_skip "against llama-quantize" "${out##*$'\n'}"; tap_done ;;
*)	tap_is "$out" "" "llama.cpp is there"; tap_done ;;
esac
tap_diag "llama.cpp $($llama version)"

for type in Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K_S Q5_K_S Q6_K IQ4_NL BF16 F16; do
	$llama run llama-quantize --allow-requantize --pure models/kjv/kjv-Q8_0.gguf "$tap_tmp/q.gguf" "$type" 1 >"$tap_tmp/log" 2>&1 &&
		"$test" --scramble "$tap_tmp/q.gguf" "$tap_tmp/s.gguf" &&
		$llama run llama-quantize --allow-requantize --pure "$tap_tmp/s.gguf" "$tap_tmp/f.gguf" F32 1 >"$tap_tmp/log" 2>&1 &&
		"$test" --same "$tap_tmp/s.gguf" "$tap_tmp/f.gguf" >"$tap_tmp/log"
	tap_result $? "$type: $(tail -n 1 "$tap_tmp/log")"
done
tap_done
