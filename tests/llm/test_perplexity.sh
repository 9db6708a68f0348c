#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Perplexities of llama.cpp (llama-perplexity of Debian's 0.7.0), from the READMEs of the models:
# the compiled model expects the text as well, up to a share that depends on the weights' type; what
# npu-compile quantizes itself is no worse than llama.cpp's type of that size.
. tests/tap.sh

models=${NPU_SHARED_MODELS:-../shared/models}

# perplexity MODEL CONTEXT TEXT OPTION...: the figure.
perplexity()
{
	local model=$1 context=$2 text=$3

	shift 3
	"$NPU_BUILD/npu-compile" -q "$model" -o "$tap_tmp/m.npu" "$@" &&
		"$NPU_BUILD/npu-llm" -q "$tap_tmp/m.npu" --perplexity "$text" -c "$context" |
		sed 's/^perplexity \([0-9.]*\):.*/\1/'
}

# within GOT WANT PERCENT TEXT; PERCENT may have a sign: then only that side is bounded.
within()
{
	awk -v g="$1" -v w="$2" -v p="$3" 'BEGIN {
		d = 100 * (g - w) / w
		exit !(g > 0 && d <= p + 0 && (p ~ /^[+]/ || d >= -p))
	}'
	tap_result $? "$4: $1, llama.cpp has $2, bound $3 %"
}

if [ ! -e "$models/ppl.txt" ]; then
	tap_skip "perplexities" "the models are not there: $models"
	tap_done
fi
stories()
{
	local file=$1

	shift
	perplexity "$models/stories260K-$file.gguf" 256 "$models/ppl.txt" "$@"
}
kjv()
{
	local file=$1

	shift
	perplexity "$models/kjv/kjv-$file.gguf" 512 "$models/kjv/val.txt" "$@"
}
within "$(stories f32)" 2.9445 0.02 "stories260K F32"
within "$(stories f32 --quant f16)" 2.9446 0.02 "stories260K F16"
within "$(stories Q8_0)" 2.9515 0.1 "stories260K Q8_0"
within "$(stories Q4_K_M)" 2.9964 0.5 "stories260K Q4_K_M"
within "$(stories Q4_1)" 3.0697 0.5 "stories260K Q4_1"
within "$(stories Q4_0)" 3.1457 0.5 "stories260K Q4_0"
within "$(stories f32 --quant w4g32)" 3.1457 +0 "--quant w4g32 against Q4_0"
within "$(stories f32 --quant w4g64)" 3.1457 +0 "--quant w4g64 against Q4_0"
within "$(stories f32 --quant w8g32)" 2.9515 +0.1 "--quant w8g32 against Q8_0"
within "$(stories f32 --kv int8)" 2.9445 +0.5 "F32 with an int8 cache"
within "$(kjv f16)" 16.2588 0.02 "kjv F16"
within "$(kjv Q8_0)" 16.2592 0.1 "kjv Q8_0"
within "$(kjv Q4_0)" 16.3489 0.5 "kjv Q4_0"
within "$(kjv Q4_K_M)" 16.3343 0.5 "kjv Q4_K_M"
within "$(kjv f16 --quant w4g32)" 16.3489 +0 "kjv, --quant w4g32 against Q4_0"
tap_done
