#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-run --trace: a parser that is not ours reads it, slices nest, times rise, and sums are those
# of the profile.
. tests/tap.sh

run=$NPU_BUILD/npu-run
golden=tests/data/golden-1.0-mnist.npu
trace=$tap_tmp/trace.json
profile=$tap_tmp/profile.json

# look WHAT RUNS WANT JOB ARGUMENT...
look()
{
	local what=$1 runs=$2 want=$3
	shift 3
	"$run" "$@" --profile --json >"$profile" 2>/dev/null
	out=$("$run" "$@" --trace "$trace" --trace-runs "$runs" 2>&1)
	tap_is $? 0 "$what: exit status 0"
	tap_like "$out" "$runs runs? in $trace; open it in Perfetto" \
		"$what: says what to do with it"
	tap_like "$(node tests/run/check_trace.js "$trace" "$profile" "$runs")" \
		"^0 wrong in [0-9]+ events: $want" "$what: nesting, times, sums"
}

look "steps on the host" 2 '2 jobs, 4 layers, 6 instructions' tests/data/golden-1.1-det.npu \
	-s x=3x2x2
# What the trace calls an offset is what --disasm prints; the last record of a stream is END.
offsets=$(node -e '
	const t = JSON.parse(require("fs").readFileSync(process.argv[1])), seen = new Set();
	for (const e of t.traceEvents)
		if (e.args && "offset" in e.args)
			seen.add(e.args.offset);
	console.log([...seen].sort((a, b) => a - b).join(" "));' "$trace")
listed=$("$run" tests/data/golden-1.1-det.npu --disasm |
	awk '/^ +[0-9]+ / && $2 != "end" { printf "%s%s", sep, $1; sep = " " }')
tap_is "$listed" "$offsets" "offsets of --disasm and of the trace, over steps on the host"
det=/usr/share/libonnx-testdata/data/node/test_det_2d/model.onnx
if [ -e "$det" ]; then
	"$NPU_BUILD/npu-compile" -q "$det" -o "$tap_tmp/host.npu"
	tap_like "$("$run" "$tap_tmp/host.npu" --disasm)" $'\n +0  host Det' \
		"a step on the host that is the first is at 0"
else
	tap_skip "a step on the host that is the first" "there is no libonnx-testdata"
fi
look "one run" 1 '1 jobs, 5 layers, 5 instructions' "$golden"
look "four runs" 4 '4 jobs, 20 layers, 20 instructions' "$golden"
if [ -e "$NPU_MODELS/blazeface_front.onnx" ]; then
	"$NPU_BUILD/npu-compile" -q "$NPU_MODELS/blazeface_front.onnx" -o "$tap_tmp/face.npu"
	look "a larger model" 2 '2 jobs, [0-9]+ layers, 102 instructions' "$tap_tmp/face.npu"
else
	tap_skip "a larger model" "there is no blazeface_front.onnx; scripts/models.sh fetches it"
fi

# The check finds what it is for.
sed -i 's/"macs":[1-9][0-9]*/"macs":1/' "$trace"
tap_like "$(node tests/run/check_trace.js "$trace" "$profile" 2)" 'wrong: macs' \
	"a trace that lies is found out"

tap_refused "No such file" "a folder that is not there" "$run" "$golden" \
	--trace "$tap_tmp/none/trace.json"
tap_refused "1 to 1000" "--trace-runs 0" "$run" "$golden" --trace "$trace" --trace-runs 0
rows=tests/data/golden-1.0-rows
"$run" $rows.npu --trace "$trace" -i x=$rows.in.npy -o y="$tap_tmp/out.npy" 2>/dev/null
cmp -s "$tap_tmp/out.npy" $rows.out.npy
tap_result $? "with --output the results are written as well"
tap_done
