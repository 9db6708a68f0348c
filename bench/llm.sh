#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Language models beside llama.cpp: the same random weights of 124.7 M parameters in four types, the
# same threads, run in turns. There are three builds of it: Debian's (scripts/llama-root.sh), the
# same with its BLAS backend for prompts, and node-llama-cpp of the npm registry, which brings its
# own. One that can not be had here is left out, and it is said why.
#
# Figures are medians of ROUNDS turns. With one thread they are tokens a second of processor time:
# what else a shared machine does takes none of it away. With more they are tokens a second of a
# clock, and on a machine that does anything else only the ratio to the best of the others says
# something: that of the medians, and that of the best turns, as threads of llama.cpp wait for each
# other by spinning and collapse when they are disturbed. What memory gives when it is only read is
# measured in the same turns and the same way; decoding reads all weights for each token.
#
#	bench/llm.sh [THREADS[,THREADS...] [ROUNDS [TYPE...]]]
set -u

build=${NPU_BUILD:-build}
llama=scripts/llama-root.sh
node_llama=3.22.1
threads=${1:-1,2}
rounds=${2:-3}
types=${*:3}
types=${types:-F16 Q8_0 Q4_0 Q4_K_M}
TURN_LIMIT=60
work=${BENCH_WORK:-$build/bench/llm}
packages=$build/bench/node-llama

# What is chosen for other OpenBLAS libraries than the one that is measured here.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

# ---- who there is ----

say()
{
	printf '%s\n' "$*" >&2
}

have_llama()
{
	$llama >/dev/null 2>&1 ||
		{ say "llama.cpp of Debian is left out: $($llama 2>&1 | tail -n 1)"; return 1; }
}

# Prebuilt for this kind of machine; nothing is compiled and no script of a package runs.
have_node()
{
	local log=$packages/log

	command -v node >/dev/null && command -v npm >/dev/null ||
		{ say "node-llama-cpp is left out: it needs node and npm (Debian package npm)"
			return 1; }
	mkdir -p "$packages" || return 1
	if [ ! -e "$packages/node_modules/node-llama-cpp/package.json" ]; then
		say "fetching node-llama-cpp $node_llama from the npm registry"
		npm install --prefix "$packages" --no-save --ignore-scripts --omit=optional \
			--no-audit --no-fund --loglevel=error "node-llama-cpp@$node_llama" \
			"@node-llama-cpp/linux-x64@$node_llama" >"$log" 2>&1 || {
			say "node-llama-cpp is left out: npm could not fetch it: $(tail -n 2 "$log")"
			return 1
		}
	fi
	node_version=$(node bench/node_llama.js "$packages" 2>"$log") || {
		say "node-llama-cpp is left out: it does not run here: $(tail -n 2 "$log")"
		return 1
	}
}

# ---- one turn of each: lines "test tokens/s"; TYPE THREADS ----
# What has not ended after TURN_LIMIT seconds has collapsed (see above) and has no figure in this
# turn.

run_npu()
{
	local test=pp512

	[ "$3" = pp512 ] || test=tg128
	timeout "$TURN_LIMIT" "$build/npu-llm" "$work/$1.npu" --device sim -t "$2" --bench $test \
		-r "$4"
}

run_llama()
{
	local test=(-p 512 -n 0)

	[ "$3" = pp512 ] || test=(-p 0 -n 128)
	timeout "$TURN_LIMIT" $llama run llama-bench -m "$work/$1.gguf" "${test[@]}" -t "$2" \
		-r "$4" </dev/null 2>/dev/null
}

# BLAS multiplies batches only; left to itself it takes all processors.
run_blas()
{
	[ "$3" != pp512 ] || NPU_LLAMA_BLAS=1 OPENBLAS_NUM_THREADS=$2 run_llama "$@"
}

# busy COMMAND...: seconds of processor time.
busy()
{
	local TIMEFORMAT='%U %S'

	{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

# turn SIDE TYPE THREADS: of one thread what two more rounds of each test take; node-llama-cpp's
# process and bench_read measure themselves.
turn()
{
	local test

	case $1 in
	node)	timeout "$TURN_LIMIT" node bench/node_llama.js "$packages" "$work/$2.gguf" \
		"$3" 2>/dev/null
		return ;;
	read)	"$build/bench/bench_read" -t "$3" -n 5 | sed -n 's/.*: \([0-9.]*\) GB.*/read \1/p'
		return ;;
	esac
	for test in pp512 tg128; do
		if [ "$3" = 1 ]; then
			echo "$test $(busy "run_$1" "$2" 1 $test 1) $(busy "run_$1" "$2" 1 $test 3)" |
				awk '$3 > $2 + 0.02 { print $1, substr($1, 3) * 2 / ($3 - $2) }'
		else
			"run_$1" "$2" "$3" $test 1 |
				sed -n -e "s/^$test: \([0-9.]*\) tokens.*/$test \1/p" \
				-e "s/.*| *$test | *\([0-9.]*\) .*/$test \1/p"
		fi
	done
}

# ---- figures

# figure FILE TEST median|best
figure()
{
	sed -n "s/^$2 //p" "$1" 2>/dev/null | sort -n |
		awk -v best="$3" \
			'{ v[NR] = $1 } END { if (NR) print v[best == "best" ? NR : int((NR + 1) / 2)] }'
}

# line TYPE THREADS TEST: one of the table.
line()
{
	local side median=() best=()

	for side in "${sides[@]}"; do
		median+=("$(figure "$work/turns.$side" "$3" median)")
		best+=("$(figure "$work/turns.$side" "$3" best)")
	done
	awk -v head="$(printf '%-7s %7s %-5s' "$1" "$2" "$3")" -v m="${median[*]/#/=}" \
		-v b="${best[*]/#/=}" '
	function ratio(list,	n, v, i, top) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++)
			if (substr(v[i], 2) + 0 > top)
				top = substr(v[i], 2) + 0
		return top ? sprintf("%6.2f", substr(v[1], 2) / top) : "     -"
	}
	BEGIN {
		n = split(m, v, " ")
		for (i = 1; i <= n; i++)
			head = head sprintf(" %9s", v[i] == "=" ? "-" : sprintf("%.1f", substr(v[i], 2)))
		print head "  " ratio(m) "  " ratio(b)
	}'
}

# What decoding reads for a token: all weights but the embedding, of which it is one row.
bandwidth()
{
	local bytes

	bytes=$(stat -c %s "$work/$1.gguf")
	awk -v t="$(figure "$work/turns.npu" tg128 median)" -v bytes="$bytes" \
		-v read="$(figure "$work/turns.read" read median)" 'BEGIN {
		gb = bytes * (1 - 24.6 / 124.7) * t / 1e9
		printf "%24s reads %.1f GB/s of weights, memory gives %.1f: %.2f\n", "", gb, read, gb / read
	}'
}

prepare()
{
	mkdir -p "$work"
	[ -s "$work/F16.gguf" ] || "$build/bench/llm_model" "$work/F16.gguf" || exit 1
	if [ ! -s "$work/$1.gguf" ]; then
		have_llama || return 1
		$llama run llama-quantize "$work/F16.gguf" "$work/$1.gguf" "$1" 2 \
			>/dev/null 2>&1 || exit 1
	fi
	"$build/npu-compile" -q "$work/$1.gguf" -o "$work/$1.npu" || exit 1
}

sides=(npu)
names=(npu-llm)
if have_llama; then
	sides+=(llama blas)
	names+=(Debian +BLAS)
	say "llama.cpp of Debian: $($llama version)"
fi
if have_node; then
	sides+=(node)
	names+=(node)
	say "node-llama-cpp $node_llama: llama.cpp $node_version"
fi

printf '%-7s %7s %-5s' type threads test
printf ' %9s' "${names[@]}"
printf '  %6s  %6s\n' ratio best
for type in $types; do
	prepare "$type" || continue
	for t in ${threads//,/ }; do
		rm -f "$work"/turns.*
		for ((i = 0; i < rounds; i++)); do
			for side in read "${sides[@]}"; do
				turn $side "$type" "$t" >>"$work/turns.$side"
			done
		done
		line "$type" "$t" pp512
		line "$type" "$t" tg128
		bandwidth "$type"
	done
done
