#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-compile as a user calls it: lists, mistakes on the command line, reports, where the job goes.
# What it compiles is the business of tests/compiler.
. tests/tap.sh

compile=$NPU_BUILD/npu-compile
mnist=$NPU_MODELS/mnist-8.onnx

# mistake PATTERN ARGUMENT...: exit status 2, and it is said.
mistake()
{
	local want=$1 out status
	shift
	out=$("$compile" "$@" 2>&1)
	status=$?
	tap_is "$status" 2 "npu-compile $*: exit status 2"
	tap_like "$out" "$want" "it says: $(head -1 <<<"$out")"
}

tap_like "$("$compile" --help)" 'usage: npu-compile' "--help"
tap_like "$("$compile" --version)" '^npu-compile [0-9]+\.[0-9]+' "--version"
tap_like "$("$compile" --list-ops)" 'Conv +npu, host +conv' "--list-ops has Conv"
totals=$(sed -n 's/^Of the \([0-9]*\) operators of ai.onnx the NPU does \([0-9]*\) .*/\1 operators of ai.onnx \2 on the NPU/p' Documentation/operators.md)
tap_is "$("$compile" --list-ops | tail -1 | cut -d, -f1)" "of $totals" \
	"--list-ops counts as operators.md does"
tap_is "$("$compile" --list-ops | grep -vEc '^(com\.|ai\.onnx\.|of )')" "${totals%% *}" \
	"and lists as many"
tap_like "$("$compile" --list-passes)" 'qdq ' "--list-passes has qdq"
mistake "expected one model, got 0"
mistake "expected one model, got 2" a.onnx b.onnx
mistake "expected f16.f32" a.onnx -p f64
tap_like "$("$compile" --help)" 'nv12 .*two.*|nv12 +a plane of luma' \
	"--help has the formats of --input-format"
for key in crop fit pad matrix range stride order scale mean std; do
	tap_like "$("$compile" --help)" "  $key=" "--help has the key $key"
	tap_like "$(cat Documentation/camera.md)" "\| \`.*$key=" "camera.md has it, too"
done
mistake "ranges are needed" a.onnx --int8
mistake "go with --int8" a.onnx --calib x
mistake "go with --int8" a.onnx --budget accuracy=0.9
mistake "go with --int8" a.onnx --calib-method auto
mistake "go with --int8" a.onnx --no-clip-count
mistake "expected accuracy=0..1 or speed=0..1" a.onnx --int8 --budget accuracy=2
mistake "percentile.=50..100" a.onnx --int8 --calib-method percentile=10
mistake "expected auto, minmax" a.onnx --int8 --calib-method mean
tap_refused "No such file" "a model that is not there" "$compile" "$tap_tmp/none.onnx"

if [ ! -e "$mnist" ]; then
	tap_skip "a model" "there is no $mnist; scripts/models.sh fetches it"
	tap_done
fi
cp "$mnist" "$tap_tmp/m.onnx"
out=$("$compile" "$tap_tmp/m.onnx" 2>&1)
tap_is $? 0 "a model alone: exit status 0"
tap_like "$out" \
	'/m\.npu: .* operators on the NPU, 100\.0 % of .* MACs, 0 bytes moved for host steps' \
	"the line that is always printed"
tap_run "the job lies beside the model" test -s "$tap_tmp/m.npu"
out=$("$compile" "$tap_tmp/m.onnx" -o "$tap_tmp/n.npu" --report="$tap_tmp/m.json" --report 2>&1)
tap_like "$out" 'Convolution28' "--report after --report=FILE still prints the table"
tap_like "$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).summary' "$tap_tmp/m.json")" 'operators on the NPU' \
	"and writes the file"
tap_run "the same model, the same bytes" cmp "$tap_tmp/m.npu" "$tap_tmp/n.npu"
tap_is "$("$compile" -q "$tap_tmp/m.onnx" -o "$tap_tmp/n.npu" 2>&1)" "" "--quiet prints nothing"
tap_refused "No such file" "a folder that is not there" "$compile" "$tap_tmp/m.onnx" \
	-o "$tap_tmp/none/m.npu"
mkdir "$tap_tmp/empty"
tap_refused "no .npy file" "a folder of samples without any" "$compile" "$tap_tmp/m.onnx" --int8 \
	--calib "$tap_tmp/empty"
mkdir "$tap_tmp/pipe" && mkfifo "$tap_tmp/pipe/a.npy"
tap_refused "not a regular file" "a folder with a pipe in it" timeout 20 "$compile" \
	"$tap_tmp/m.onnx" --int8 --calib "$tap_tmp/pipe"
tap_refused "no file is named" "an input without its file" "$compile" "$tap_tmp/m.onnx" --int8 \
	--calib x=
tap_refused "No such file" "a file that is not there" "$compile" "$tap_tmp/m.onnx" --int8 \
	--calib "$tap_tmp/none.npy"
tap_done
