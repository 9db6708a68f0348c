#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-cam with the kernel's virtual camera: what the model sees of a frame is bit by bit what a
# conversion written from the formulas makes of the same frame as the CPU reads it, with memory of
# vmalloc() and in one piece, with every kernel and IOMMU; and that nobody copies or maps a frame. Where
# the kernel is forced to copy, that is said.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

share=$tap_tmp/share
mkdir -p "$share"

# job NAME FORMAT:WxH
job()
{
	tap_run "$1: a model that is fed with $2" sh -c "'$NPU_BUILD/tests/guest/cam_check' model ${2#*:} '$tap_tmp/m.onnx' &&
		'$NPU_BUILD/npu-compile' -q '$tap_tmp/m.onnx' --input-format $2 -o '$share/$1.npu'"
}

job yuyv yuyv:640x480
job nv12 nv12:640x480
job rgb24 rgb24:640x480
job small yuyv:320x180
job hd rgb24:1280x720
job large nv12:1920x1080
job large_yuyv yuyv:1920x1080
job large_rgb24 rgb24:1920x1080

# What the guest leaves: NAME/spec is format, size, stride and count, beside frames and outputs.
check_dumps()
{
	local dir

	for dir in "$share"/dump/*/; do
		dir=${dir%/}
		# shellcheck disable=SC2046
		set -- $(cat "$dir/spec")
		out=$("$NPU_BUILD/tests/guest/cam_check" frames "$1" "$2" "$3" "$dir" "$4" 2>&1)
		tap_is "$? $out" "0 " "$name: ${dir##*/}: what the model sees of $4 frames $1 $2, stride $3, is the formula's"
	done
}

# run NAME KERNEL IOMMU OPTION... -- PROGRAM...
run()
{
	name=$1
	rm -rf "$share/dump"
	mkdir "$share/dump"
	guest_run "$@"
	check_dumps
}

NPUS=1
GUEST_ENV="NPU_GUEST_TIMEOUT=${NPU_TEST_LONG:+5}600"
GUEST_TIMEOUT=${NPU_TEST_LONG:+1}1200
for kernel in $(guest_kernels); do
	for iommu in none intel virtio; do
		run "camera ${kernel%%+*} $iommu" "$kernel" "$iommu" --smp 2 --share "$share" -- \
			camera.sh camera_zero_copy.sh
	done
	run "camera ${kernel%%+*} bounced" "$kernel" none --append swiotlb=force --share "$share" -- camera_bounced.sh
	run "camera ${kernel%%+*} intel, unbounced" "$kernel" intel --append swiotlb=force --share "$share" -- \
		camera_unbounced.sh
done
tap_done
