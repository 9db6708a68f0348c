#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-llm --serve as its clients see it. What it should answer is what npu-llm prints for the same
# prompt alone; serve.pl asks, and has the results.
. tests/tap.sh

compile=$NPU_BUILD/npu-compile
llm=$NPU_BUILD/npu-llm
gguf=models/kjv/kjv-Q8_0.gguf

# The second one has two sequences and a cache that is too small for them when they are long.
"$compile" -q "$gguf" -o "$tap_tmp/kjv.npu" &&
	"$compile" -q "$gguf" --batch 2 --pool 640 -o "$tap_tmp/small.npu" || exit 1

# reference NUMBER TOKENS PROMPT
reference()
{
	printf '%s' "$3" >"$tap_tmp/$1.prompt"
	printf '%s' "$2" >"$tap_tmp/$1.tokens"
	"$llm" "$tap_tmp/kjv.npu" -q --greedy --no-prompt --ignore-end -n "$2" \
		--file "$tap_tmp/$1.prompt" >"$tap_tmp/$1.text" || exit 1
	truncate -s -1 "$tap_tmp/$1.text"	# the line's end
}

text=$(head -c 1000 models/kjv/val.txt)
n=0
for prompt in "In the beginning God" "And it came to pass" "Blessed are" "The LORD said" "$text"; do
	for tokens in 1 7 24 50; do
		reference $n $tokens "$prompt"
		n=$((n + 1))
	done
done
reference long0 400 "And he said"
reference long1 420 "Now the king"

# 1,000 idle connections, here and there.
ulimit -n 4096 2>/dev/null || ulimit -n "$(ulimit -Hn)"
perl -Itests/llm tests/llm/serve.pl "$llm" "$tap_tmp" "$n"
