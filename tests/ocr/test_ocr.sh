#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-ocr as a user runs it: what it prints, the cache, and what it says when something is wrong.
# That it reads right is test_pages.c's matter.
. tests/tap.sh

scripts/models.sh ocr text || exit 1
ocr=$NPU_BUILD/npu-ocr
cache=$tap_tmp/cache
picture=$NPU_MODELS/imageTextN.png

# First start: compiles, says so, prints 13 lines and the summary.
"$ocr" --cache "$cache" --annotate "$tap_tmp/a.png" "$picture" >"$tap_tmp/out" 2>"$tap_tmp/err"
tap_is $? 0 "the sample picture is read"
tap_is "$(grep -c '^npu-ocr: compiled' "$tap_tmp/err")" 3 "the first start compiles three networks"
tap_is "$(ls "$cache" | sed 's/-.*//' | sort | tr '\n' ' ')" "cls det rec " \
	"and keeps three job files, nothing else"
tap_is "$(grep -cE '^[01]\.[0-9]{4}  ([0-9]+,[0-9]+ ){4} [^ ]' "$tap_tmp/out")" 13 \
	"13 lines: confidence, box, text"
tap_like "$(cat "$tap_tmp/out")" '13 lines in .* \(556 x 257\), on .+' \
	"then the picture and the device"
tap_like "$(cat "$tap_tmp/out")" \
	'time: start .* load .* detect .* boxes .* crop .* classify .* recognize .* total .* ms' \
	"then the time of each stage"
tap_like "$(tail -n 1 "$tap_tmp/out")" \
	'^[1-9][0-9]* of [1-9][0-9]* operators, 100\.00 % of MACs on the NPU$' \
	"then what ran where"
tap_like "$(head -c 8 "$tap_tmp/a.png" | od -An -tx1)" '89 50 4e 47' \
	"the annotated picture is a PNG"

# Second start: nothing is compiled, and it is quick; a third with a spoilt file makes that one
# anew.
"$ocr" --cache "$cache" --json "$picture" >"$tap_tmp/json" 2>"$tap_tmp/err"
tap_is "$(cat "$tap_tmp/err")" "" "the second start compiles nothing"
tap_run "JSON holds lines, milliseconds and placement, and starts in less than a second" node -e '
	const r = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
	const ok = r.lines.length === 13 &&
		r.lines.every(l => l.box.length === 4 && l.confidence > 0.9 && !l.flipped) &&
		r.width === 556 && r.placement.macs === r.placement.macs_on_npu &&
		r.placement.macs > 1e9 &&
		r.milliseconds.start < 1000;
	if (!ok)
		console.log(JSON.stringify(r));
	process.exit(ok ? 0 : 1);' "$tap_tmp/json"
tap_is "$("$ocr" --cache "$cache" --quiet "$picture" | sed 's/^.*  //')" \
	"$(grep '^[01]\.' "$tap_tmp/out" | sed 's/^.*  //')" \
	"--quiet prints the same lines, and only them"
truncate -s 5000 "$cache"/cls-*.npu
"$ocr" --cache "$cache" --quiet "$picture" >"$tap_tmp/again" 2>&1
tap_is "$? $(wc -l <"$tap_tmp/again") $(($(stat -c %s "$cache"/cls-*.npu) > 5000))" "0 13 1" \
	"a job file cut short is made anew"

# Options.
# Whoever may not write there still reads his picture.
touch "$tap_tmp/file"
"$ocr" --cache "$tap_tmp/file/cache" "$picture" >"$tap_tmp/again" 2>"$tap_tmp/err"
tap_is "$? $(grep -c 'warning: the compiled [a-z]* is not kept: .*Not a directory' "$tap_tmp/err")" "0 3" \
	"a cache folder that can not be made: a warning for each network"
tap_is "$("$ocr" --cache "$tap_tmp/file/cache" --quiet "$picture" 2>/dev/null)" \
	"$("$ocr" --cache "$cache" --quiet "$picture")" "and the same text"

"$ocr" --cache "$cache" --quiet --no-cls --dump "$tap_tmp/dump" "$picture" >/dev/null
tap_is "$(ls "$tap_tmp/dump" | sed 's/-[0-9]*\././' | sort | uniq -c | tr -s ' \n' ' ')" \
	" 13 crop.png 1 det.in.npy 1 det.out.npy 13 rec.in.npy 13 rec.out.npy " \
	"--dump writes every tensor and crop"
for i in 1 2; do
	cp "$picture" "$tap_tmp/page$i.png"
	"$ocr" --cache "$cache" --quiet --dump-calib "$tap_tmp/calib" "$tap_tmp/page$i.png" \
		>/dev/null
done
tap_is "$(cd "$tap_tmp/calib" && ls | tr '\n' ' ')" "cls det rec " \
	"--dump-calib has a folder for each network"
tap_is "$(ls "$tap_tmp"/calib/*/*.npy | grep -v turned | sed 's/.*calib.//; s/-[0-9]*\././' | sort | uniq -c | tr -s ' \n' ' ')" \
	" 13 cls/page1.png.npy 13 cls/page2.png.npy 1 det/page1.png.npy 1 det/page2.png.npy 13 rec/page1.png.npy 13 rec/page2.png.npy " \
	"with the inputs of both pictures"
tap_run "which are the tensors that --dump writes" cmp "$tap_tmp/calib/rec/page2.png-007.npy" \
	"$tap_tmp/dump/rec-007.in.npy"
"$NPU_BUILD/npu-compile" "$NPU_MODELS/cls.onnx" -o "$tap_tmp/cls.npu" --shape x=1x3x48x192 --quiet
"$NPU_BUILD/npu-compile" "$NPU_MODELS/rec.onnx" -o "$tap_tmp/rec.npu" --shape x=1x3x48x192 --quiet
tap_is "$("$ocr" --cache "$cache" --quiet --job cls="$tap_tmp/cls.npu" "$picture" | sum)" \
	"$("$ocr" --cache "$cache" --quiet "$picture" | sum)" \
	"a job file of the user's own reads the same"
tap_is "$("$ocr" --cache "$cache" --quiet --threads 1 "$picture" | sum)" \
	"$("$ocr" --cache "$cache" --quiet --threads 2 "$picture" | sum)" \
	"one thread and two print the same"
tap_run "a smaller limit for detection is taken" "$ocr" --cache "$cache" --quiet --det-limit 320 \
	"$picture"
tap_is "$("$ocr" --cache "$cache" --quiet --precision f32 "$picture" | sed 's/^.*  //')" \
	"$(grep '^[01]\.' "$tap_tmp/out" | sed 's/^.*  //')" "f32 reads the same lines"
tap_is "$(ls "$cache" | wc -l)" 6 "and has job files of its own"
tap_like "$("$ocr" --help)" 'usage: npu-ocr' "--help"
tap_like "$("$ocr" --version)" '^npu-ocr [0-9]' "--version"

# What goes wrong is named.
refused()
{
	tap_refused "$1" "$2" "$ocr" --cache "$cache" "${@:3}"
}

printf 'text' >"$tap_tmp/text.png"
head -c 3000 "$picture" >"$tap_tmp/half.png"
refused 'which picture' "no picture"
refused 'more than one' "two pictures" a.png b.png
refused 'nothing\.png: No such file' "a missing picture" "$tap_tmp/nothing.png"
refused 'text\.png: neither a PNG nor a JPEG' "no picture at all" "$tap_tmp/text.png"
refused 'half\.png: truncated PNG' "half a picture" "$tap_tmp/half.png"
refused "det-limit 9999: expected a number from 32 to 1280" "a limit out of range" --det-limit 9999 \
	"$picture"
refused "precision f8: expected f16.f32.int8" "a type that is none" --precision f8 "$picture"
refused "threads two: expected a number" "a number that is none" --threads two "$picture"
refused 'unrecognized option' "an unknown option" --fast "$picture"
refused '/proc/nonexistent/' "no models" --models /proc/nonexistent "$picture"
refused 'device: .*nodevice' "no device" --device nodevice "$picture"
refused '/proc/nonexistent/x\.png' "nowhere to write" --annotate /proc/nonexistent/x.png "$picture"
refused "job cls: expected det=FILE" "a job for no network" --job cls "$picture"
refused "job for rec: .*'x' can not be 1x3x48x16, want 1x3x48x192" "a job of too few shapes" \
	--job rec="$tap_tmp/rec.npu" "$picture"
refused 'cls: the output is not' "a job of another network" --job cls="$tap_tmp/rec.npu" "$picture"
refused 'cls: .*No such file' "a job that is not there" --job cls="$tap_tmp/none.npu" "$picture"
refused '/dev/null/' "nowhere to put samples" --dump-calib /dev/null/x "$picture"
refused 'int8 and --calib DIR go together' "int8 without samples" --precision int8 "$picture"
refused 'int8 and --calib DIR go together' "samples without int8" --calib "$tap_tmp/calib" \
	"$picture"
refused '/proc/nonexistent/det: No such file' "samples that are not there" --precision int8 \
	--calib /proc/nonexistent "$picture"
mkdir -p "$tap_tmp/wrong/det"
node -e 'require("./tests/ort/npy").write(process.argv[1], { type: "float64", dims: [1], data: new Float64Array(1) })' \
	"$tap_tmp/wrong/det/a.npy"
refused 'wrong/det/a\.npy: f32 is expected, it is f64' "samples of another type" \
	--precision int8 --calib "$tap_tmp/wrong" "$picture"
node -e 'require("./tests/ort/npy").write(process.argv[1], { type: "float32", dims: [1], data: new Float32Array(1) })' \
	"$tap_tmp/wrong/det/a.npy"
refused 'shape|rank|dim' "samples of another shape" --precision int8 --calib "$tap_tmp/wrong" \
	"$picture"
mkdir "$tap_tmp/models"
cp "$NPU_MODELS"/*_infer.onnx "$NPU_MODELS/ppocr_keys_v1.txt" "$tap_tmp/models"
head -c 100000 "$NPU_MODELS/ch_PP-OCRv4_det_infer.onnx" \
	>"$tap_tmp/models/ch_PP-OCRv4_det_infer.onnx"
refused 'ch_PP-OCRv4_det_infer\.onnx' "a model cut short" --models "$tap_tmp/models" "$picture"
tap_done
