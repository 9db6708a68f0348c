#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples/pipeline in the guest: a face detector and landmarks on frames of a file, a heap and a camera, with
# every kernel. tests/e2e/test_pipeline.sh holds what it gives in process, which is what is expected here,
# against ONNX Runtime.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

NPU_MODELS=${NPU_MODELS:-build/models}
share=$tap_tmp/share
size=640x480
mkdir -p "$share/ref"

job()
{
	tap_run "$1 is compiled" "$NPU_BUILD/npu-compile" -q "$2" -o "$share/$1.npu" --precision f32 --fail-on-host "${@:3}"
}

# pipe DIR OPTION...: in process, outputs to DIR.
pipe()
{
	mkdir -p "$1"
	"$share/pipeline" --npu sim --dump "$@" "$share"/{detect,select,refine}.npu
}

job detect "$NPU_MODELS/blazeface_front.onnx" --input-format nv12:$size,fit=letterbox,scale=1/127.5,mean=1
tap_run "the box's model is written" "$NPU_BUILD/tests/e2e/select_box" 128 $size 1.2 "$tap_tmp/select.onnx"
job select "$tap_tmp/select.onnx"
job refine "$NPU_MODELS/fr_landmark.onnx" --input-format nv12:$size,crop=box,scale=1/256
tap_run "frames" node tests/e2e/pipeline_frames.js $size "$share/frames.nv12" \
	astronaut.png:0,0,512,384 astronaut.png:40,0,400,300 astronaut.png:110,10,320,240
cp "$NPU_BUILD/tests/e2e/pipeline" "$share"
tap_run "in process" pipe "$share/ref" --file "$share/frames.nv12" -n 6

# The camera's frames once more in process. A buffer may be longer than its frame.
check_camera()
{
	local n same=0

	rm -rf "$tap_tmp/again"
	for n in 0 1 2 3; do
		head -c $((640 * 480 * 3 / 2)) "$share/dump/$n-frame"
	done >"$tap_tmp/camera.nv12"
	pipe "$tap_tmp/again" --file "$tap_tmp/camera.nv12" -n 4 >"$tap_tmp/err" 2>&1 || tap_diag "$(cat "$tap_tmp/err")"
	for n in 0 1 2 3; do
		cmp -s "$share/dump/$n-box" "$tap_tmp/again/$n-box" &&
			cmp -s "$share/dump/$n-output" "$tap_tmp/again/$n-output" && same=$((same + 1))
	done
	tap_is $same 4 "$1: the camera's frames give in process what they gave in the guest"
}

NPUS=1
for kernel in $(guest_kernels); do
	for iommu in ${NPU_TEST_LONG:+none virtio} intel; do
		rm -rf "$share/dump"
		guest_run "pipeline ${kernel%%+*} $iommu" "$kernel" "$iommu" --smp 2 --share "$share" -- pipeline.sh
		check_camera "pipeline ${kernel%%+*} $iommu"
	done
done
tap_done
