#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-run as a user calls it: information, data in and out, profile, digests, and messages that
# help.
. tests/tap.sh

run=$NPU_BUILD/npu-run
data=tests/data
rows=$data/golden-1.0-rows
mnist=$data/golden-1.0-mnist

info=$("$run" "$mnist.npu" --info 2>&1)
for want in 'format 1\.0' 'instruction set 1\.0' 'libnpu >= 0\.1' 'made by npu-compile' \
	'digest [0-9a-f]{64}' \
	'input +Input3 +f32 1x1x28x28' 'output +Plus214_Output_0 +f32 1x10' 'weights 15\.2 KiB'; do
	tap_like "$info" "$want" "--info has '$want'"
done
tap_like "$("$run" "$rows.npu" --info)" 'x +f32 \(1\.\.16\)x4' "--info shows the range of a length"
tap_like "$("$run" "$mnist.npu" --disasm)" 'conv out=f(16|32)\[' "--disasm prints instructions"

tap_run "data from .npy to .npy" "$run" "$rows.npu" -i "x=$rows.in.npy" -o "y=$tap_tmp/y.npy"
tap_run "is as expected" cmp "$tap_tmp/y.npy" "$rows.out.npy"
tail -c +129 "$rows.in.npy" >"$tap_tmp/x.raw"
tap_run "raw data with a shape" "$run" "$rows.npu" -s x=5x4 -i "x=$tap_tmp/x.raw" \
	-o "y=$tap_tmp/y.raw"
tap_run "is as expected" cmp "$tap_tmp/y.raw" <(tail -c +129 "$rows.out.npy")
tap_like "$("$run" "$mnist.npu" -i "Input3=$mnist.in.npy" --top 1)" '^Plus214_Output_0\[7\] = ' \
	"--top finds the 7"

profile=$("$run" "$mnist.npu" --profile --sort time 2>/dev/null)
tap_like "$profile" '100\.0% .* total of 5 layers' "--profile adds up"
tap_like "$profile" 'Convolution110 .*\(Conv\)' "with names of the model"
tap_like "$("$run" "$mnist.npu" --profile --json 2>/dev/null)" '"macs":' "--profile --json"
tap_like "$("$run" "$mnist.npu" --bench=5 2>/dev/null)" \
	'median [0-9.]+ ms, min [0-9.]+, p90 [0-9.]+ of 5 runs.* threads' "--bench"

one=$("$run" "$mnist.npu" --digest --device sim:threads=1,simd=portable 2>/dev/null)
many=$("$run" "$mnist.npu" --digest --device sim:threads=3 2>/dev/null)
tap_is "$(wc -l <<<"$one")" 5 "--digest has a line per layer"
tap_is "$one" "$many" "the same on one thread in portable C and on three"

picture=$NPU_MODELS/imageTextN.png
if [ -e "$picture" ]; then
	out=$("$run" "$mnist.npu" -i "Input3=$picture" --mean 0.5 --std 0.25 2>&1)
	tap_like "$out" \
		'stretched to 28x28, grey, \(pixel \* 0\.0039215[0-9]* - \[0\.5 0\.5 0\.5\]\) / \[0\.25' \
		"a picture: what is done to it is said"
	tap_like "$("$run" "$mnist.npu" -i "Input3=$picture" --fit pad 2>&1)" \
		'fitted and padded to 28x28' "--fit pad"
else
	tap_skip "a picture as input" "there is no $picture"
fi

# A camera's frame: raw bytes of all planes.
face=$NPU_MODELS/blazeface_front.onnx
if [ -e "$face" ]; then
	tap_run "a model for frames" "$NPU_BUILD/npu-compile" -q "$face" -o "$tap_tmp/face.npu" \
		--input-format nv12:64x48,fit=letterbox,scale=1/127.5,mean=1
	info=$("$run" "$tap_tmp/face.npu" --info 2>&1)
	for want in 'format 1\.3' \
		'frame +input:0 +NV12, 64 x 48 pixels in 4608 bytes: nv12:64x48,fit=letterbox' \
		'plane +input:0\.uv +24 rows of 64 bytes from byte 3072 on, 64\.\.256 bytes apart' \
		'inputs 4\.5 KiB'; do
		tap_like "$info" "$want" "--info has '$want'"
	done
	head -c 4608 "$NPU_MODELS/mnist-8.onnx" >"$tap_tmp/frame.yuv"
	tap_run "a frame from a file" "$run" "$tap_tmp/face.npu" -i "input:0=$tap_tmp/frame.yuv" \
		-o "Identity:0=$tap_tmp/a.npy"
	head -c 4607 "$tap_tmp/frame.yuv" >"$tap_tmp/short"
	tap_refused "'input:0' is a frame nv12:64x48.* of 4608 bytes, not 4607" \
		"a frame that is too short" "$run" "$tap_tmp/face.npu" -i "input:0=$tap_tmp/short"
	tap_refused "longer than the tensor" "a frame that is too long" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$NPU_MODELS/mnist-8.onnx"
	tap_refused "not the bytes of a frame" "an array for a frame" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$rows.in.npy"
	perl -0777 -ne 'print map { $_ . "\xaa" x 13 } unpack "(a64)*", $_; print "\xbb" x 4096' \
		"$tap_tmp/frame.yuv" >"$tap_tmp/frame.77"
	tap_run "a frame in rows that are further apart" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$tap_tmp/frame.77" --stride input:0=77 \
		-o "Identity:0=$tap_tmp/b.npy"
	tap_run "is the same frame" cmp "$tap_tmp/a.npy" "$tap_tmp/b.npy"
	tap_refused "rows have 64 bytes" "rows that are too near" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$tap_tmp/frame.77" --stride input:0=63
	tap_refused "ends in row 21 of plane 1" "a file that ends too early" \
		"$run" "$tap_tmp/face.npu" -i "input:0=$tap_tmp/frame.yuv" --stride input:0=66
	tap_refused "--stride input:0 7x: expected a number from 1 on" "a stride that is none" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$tap_tmp/frame.77" --stride input:0=7x
	tap_refused "there is no --input x that is a camera's frame" "the stride of an array" \
		"$run" "$rows.npu" -i "x=$rows.in.npy" --stride x=16
	for made in zeros random; do
		tap_refused "--stride input:0=77: it is for the bytes of a frame, and $made is made up" \
			"the stride of $made" "$run" "$tap_tmp/face.npu" -i "input:0=$made" \
			--stride input:0=77
	done
	tap_refused "input:0=77: it is for the bytes .*mnist.in.npy is an array" \
		"the stride of an array for a frame" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$mnist.in.npy" --stride input:0=77
	printf '\x89PNG\r\n\x1a\n' >"$tap_tmp/picture"
	tap_refused "input:0=77: it is for the bytes .*/picture is a picture" \
		"the stride of a picture" "$run" "$tap_tmp/face.npu" \
		-i "input:0=$tap_tmp/picture" --stride input:0=77
	tap_refused "not the bytes of a frame" "an array for a frame whose shape is given" \
		"$run" --check "$tap_tmp/face.npu" --against "$face" -s input:0=1x3x128x128 \
		-i "input:0=$rows.in.npy"
	tap_refused "--stride input:0 is given twice: 77 and 78" "two strides" \
		"$run" "$tap_tmp/face.npu" -i "input:0=$tap_tmp/frame.77" \
		--stride input:0=77 --stride input:0=78
	tap_refused "--input input:0.uv: it is given by --input-dmabuf, too" \
		"a plane of a frame that lies in a dma-buf" "$run" "$tap_tmp/face.npu" \
		-i input:0.uv=zeros --input-dmabuf input:0=fd:9
	tap_refused "--input-dmabuf input:0 is given twice: fd:8 and fd:9" "two places of a frame" \
		"$run" "$tap_tmp/face.npu" --input-dmabuf input:0=fd:8 --input-dmabuf input:0=fd:9
	tap_run "--check beside the model in f32" "$run" --check "$tap_tmp/face.npu" \
		--against "$face" -i "input:0=$tap_tmp/frame.yuv"
	check=$("$run" --check=json "$tap_tmp/face.npu" --against "$face" \
		-i "input:0=$tap_tmp/frame.yuv" 2>&1)
	tap_is "$(perl -MJSON::PP -0777 -ne '
		my ($l) = grep { $_->{tensor} eq "input:0.pixels" } @{decode_json($_)->{layers}};
		print join " ", map { $l->{fp32}{$_} // "?" } qw(match compared differ)' <<<"$check")" "compared 36864 0" "the picture has the bits that the formulas give, 128 x 96 of 3 colours"
	"$NPU_BUILD/npu-compile" -q "$face" -o "$tap_tmp/other.npu" \
		--input-format nv12:64x48,matrix=bt709,fit=crop,order=bgr,range=full,stride=70
	tap_run "in other colours, cropped, with a stride of its own" \
		"$run" --check "$tap_tmp/other.npu" --against "$face"
	perl tests/run/edit_job.pl "$tap_tmp/other.npu" replace matrix=bt709 matrix=bt601
	tap_refused "layer 'input:0.camera' .Camera. is the first that is off" \
		"colours that are not those that the file says" \
		"$run" --check "$tap_tmp/other.npu" --against "$face"
	tap_like "$("$run" "$tap_tmp/face.npu" --bench=2 2>&1)" 'median' "made-up frames"
	cp "$tap_tmp/face.npu" "$tap_tmp/small.npu"
	perl tests/run/edit_job.pl "$tap_tmp/small.npu" replace nv12:64x48 nv12:16x12
	tap_refused "frame 'input:0': plane 0, 48 rows of 64 bytes, is none of nv12:16x12" \
		"a frame larger than the file says" \
		"$run" --check "$tap_tmp/small.npu" --against "$face"

	# A box of it, in grey.
	points=$NPU_MODELS/fr_landmark.onnx
	tap_run "a model for a box of a frame" "$NPU_BUILD/npu-compile" -q "$points" \
		-o "$tap_tmp/points.npu" --input-format nv12:64x48,crop=box,scale=1/256
	perl -e 'print pack("f<4", -2.5, 7.25, 40, 70)' >"$tap_tmp/box"
	tap_run "--check of it" "$run" --check "$tap_tmp/points.npu" --against "$points" \
		-i "input=$tap_tmp/frame.yuv" -i "input.box=$tap_tmp/box"
	check=$("$run" --check=json "$tap_tmp/points.npu" --against "$points" \
		-i "input=$tap_tmp/frame.yuv" \
		-i "input.box=$tap_tmp/box" 2>&1)
	tap_is "$(perl -MJSON::PP -0777 -ne '
		my ($l) = grep { $_->{tensor} eq "input.pixels" } @{decode_json($_)->{layers}};
		print join " ", map { $l->{fp32}{$_} // "?" } qw(match compared differ)' <<<"$check")" "compared 12288 0" "the box has the bits that the formulas give, 64 x 64 of grey, three times"
	tap_refused "input 'input.box'" "a frame without its box" "$run" "$tap_tmp/points.npu" \
		-i "input=$tap_tmp/frame.yuv"
else
	tap_skip "a camera's frame" "there is no $face"
fi

# Names may hold anything; a terminal must not be driven by them.
if [ -e "$NPU_MODELS/mnist-8.onnx" ]; then
	for option in --no-sram --report "--report=$tap_tmp/report.json"; do
		tap_like "$("$NPU_BUILD/npu-compile" "$NPU_MODELS/mnist-8.onnx" -o "$tap_tmp/last.npu" "$option" | tail -n 1)" \
			'12 of 12 operators on the NPU, 100\.0 % of [0-9.]+ million MACs, 0 bytes moved' \
			"npu-compile ${option%=*}: the last line says what is on the NPU"
	done
	perl -pe 's/Plus214_Output_0/Plus214\e[7m_\xc2\x9b_0/g' "$NPU_MODELS/mnist-8.onnx" \
		>"$tap_tmp/esc.onnx"
	out=$("$NPU_BUILD/npu-compile" "$tap_tmp/esc.onnx" -o "$tap_tmp/esc.npu" --report 2>&1
	      "$run" "$tap_tmp/esc.npu" --info 2>&1; "$run" "$tap_tmp/esc.npu" -i Input3=zeros 2>&1
	      "$run" "$tap_tmp/esc.npu" -s $'\e[7mx=4' 2>&1; \
	      	"$run" --check "$tap_tmp/esc.onnx" 2>&1)
	tap_like "$out" 'output +Plus214\?\[7m_\?\?_0' \
		"control characters of a name are shown as question marks"
	tap_like "$out" "no input, output or state '\?\[7mx'" "those of an argument, too"
	[[ $out != *$'\e'* && $out != *$'\xc2\x9b'* ]]
	tap_result $? "none reaches the terminal"
else
	tap_skip "control characters in names" \
		"there is no mnist-8.onnx; scripts/models.sh fetches it"
fi

head -c 257 /dev/zero >"$tap_tmp/long.raw"
tap_run "data from a pipe" \
	bash -c "head -c 64 /dev/zero | $run $rows.npu -s x=4x4 -i x=/dev/stdin -o y=$tap_tmp/y.raw"

# refuse STATUS PATTERN ARGUMENT...
refuse()
{
	local status=$1 want=$2 out
	shift 2
	out=$("$run" "$@" 2>&1)
	tap_is "$?" "$status" "npu-run $*: exit status $status"
	tap_like "$out" "$want" "it says: $(head -1 <<<"$out")"
}

refuse 1 "'x' can not be 17x4, want \(1\.\.16\)x4" "$rows.npu" -s x=17x4 -i x=zeros
refuse 1 "there is no input, output or state 'z'; there are 'x', 'y'" "$rows.npu" -i z=zeros
refuse 1 "shape of input 'x' is not given" "$rows.npu" -i x=zeros
refuse 1 "input 'x' .* has no data" "$rows.npu" -s x=1x4
refuse 1 "has 80 bytes, f32 4x4 needs 64" "$rows.npu" -s x=4x4 -i "x=$tap_tmp/x.raw"
refuse 1 "long.raw is longer than the tensor, which has at most 256 bytes" "$rows.npu" -s x=4x4 \
	-i "x=$tap_tmp/long.raw"
refuse 1 "/dev/zero is longer than the tensor, which has at most 256 bytes" "$rows.npu" -s x=4x4 \
	-i x=/dev/zero
refuse 1 "--input-dmabuf x=.*/dev/zero: longer than the limit of 1048832 bytes" "$rows.npu" \
	-s x=4x4 --input-dmabuf x=heap:system,file=/dev/zero
refuse 1 "--input x is given twice: zeros and random" "$rows.npu" -s x=4x4 -i x=zeros -i x=random
refuse 1 "--input y: that is an output" "$rows.npu" -s x=4x4 -i x=zeros -i y=zeros
refuse 1 "--output y is given twice" "$rows.npu" -s x=4x4 -i x=zeros -o "y=$tap_tmp/a" \
	-o "y=$tap_tmp/b"
refuse 1 "--shape x is given twice: 4x4 and 5x4" "$rows.npu" -s x=4x4 -s x=5x4 -i x=zeros
refuse 1 "there is no input, output or state .q." "$rows.npu" -i "q=$tap_tmp/x.raw"
refuse 1 "No such file" "$rows.npu" -s x=4x4 -i "x=$tap_tmp/none.npy"
refuse 1 "not a job file" "$rows.in.npy" --info
# An ONNX model, by its name and by what is in it: IR version 8, producer "t".
printf '\x08\x08\x12\x01t\x18\x00\x22\x00' | tee "$tap_tmp/model.onnx" >"$tap_tmp/a model"
refuse 1 "is an ONNX model, not a job file; compile it first: npu-compile .*/model\.onnx -o .*/model\.npu" "$tap_tmp/model.onnx"
refuse 1 "is an ONNX model, .* npu-compile .*/a model -o .*/a model\.npu" "$tap_tmp/a model" --info
refuse 1 "No such file" "$tap_tmp/none.onnx"
refuse 1 "there is no device 'gpu'" "$rows.npu" --info -d gpu
refuse 2 "NAME=FILE" "$rows.npu" -i x
refuse 2 "expected one model, got 0"
refuse 2 "unrecognized option" "$rows.npu" --fast
refuse 2 "--json needs --profile" "$rows.npu" --json
refuse 2 "--precision needs --check" "$rows.npu" -p f32
refuse 2 "--root needs --doctor" "$rows.npu" --root /
refuse 2 "--bench does not go with --check" "$rows.npu" --check --bench
refuse 2 "--top does not go with --doctor" "$rows.npu" --doctor -t 3
refuse 2 "--check does not go with --doctor" "$rows.npu" --doctor --check
tap_like "$("$run" --help)" 'usage: npu-run' "--help"
tap_like "$("$run" --devices)" '^sim .* usable' "--devices"
tap_done
