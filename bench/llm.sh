#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Language models beside llama.cpp (scripts/llama-root.sh): the same random weights of 124.7 M
# parameters in four types, the same threads, run in turns. Figures are tokens a second, medians of
# ROUNDS turns; a shared machine moves both sides, so look at the ratio.
#
#	bench/llm.sh [THREADS [ROUNDS]]
set -u

build=${NPU_BUILD:-build}
llama=scripts/llama-root.sh
threads=${1:-1}
rounds=${2:-3}
work=${BENCH_WORK:-$build/bench/llm}
tests="pp512 tg128"

if ! $llama >/dev/null 2>&1; then
	echo "llama.cpp can not be had here ($llama says why): figures of this stack alone"
	peer=
else
	peer="llama.cpp $($llama version)"
fi

median()
{
	sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# ours TYPE, theirs TYPE: a line "test tokens/s" for each test.
ours()
{
	"$build/npu-llm" "$work/$1.npu" --device sim -t "$threads" --bench "${tests// /,}" -r 1 |
		sed -n 's/^\([a-z0-9]*\): \([0-9.]*\) tokens.*/\1 \2/p'
}

theirs()
{
	$llama run llama-bench -m "$work/$1.gguf" -p 512 -n 128 -t "$threads" -r 1 </dev/null 2>/dev/null |
		sed -n 's/.*| *\(pp512\|tg128\) | *\([0-9.]*\) .*/\1 \2/p'
}

mkdir -p "$work"
[ -s "$work/F16.gguf" ] || "$build/bench/llm_model" "$work/F16.gguf" || exit 1
echo "tokens a second with $threads threads: npu-llm, ${peer:-no peer}, ratio"
for type in F16 Q8_0 Q4_0 Q4_K_M; do
	if [ ! -s "$work/$type.gguf" ]; then
		[ -n "$peer" ] || continue
		$llama run llama-quantize "$work/F16.gguf" "$work/$type.gguf" $type 2 >/dev/null 2>&1 || exit 1
	fi
	"$build/npu-compile" -q "$work/$type.gguf" -o "$work/$type.npu" || exit 1
	: >"$work/ours" && : >"$work/theirs"
	for ((i = 0; i < rounds; i++)); do
		ours $type >>"$work/ours"
		[ -z "$peer" ] || theirs $type >>"$work/theirs"
	done
	for t in $tests; do
		a=$(sed -n "s/^$t //p" "$work/ours" | median)
		b=$(sed -n "s/^$t //p" "$work/theirs" | median)
		awk -v t="$t" -v n=$type -v a="${a:-0}" -v b="${b:-0}" \
			'BEGIN { r = (b > 0) ? sprintf("%.2f", a / b) : "-"
				printf "%-8s %-6s %9.1f %9.1f  %s\n", n, t, a, b, r }'
	done
done
