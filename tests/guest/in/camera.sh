#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: npu-cam with vivid in every way that it has memory; frames and outputs are left in
# /mnt/host/dump for the host to compare.
. "${0%/*}/ktap.sh"
. "${0%/*}/camera_lib.sh"

for allocator in vmalloc contiguous; do
	load_camera $allocator
	for format in yuyv nv12 rgb24; do
		dump "$allocator-$format" $format 640x480 $single
	done
	dump "$allocator-stride" yuyv 640x480 $single --stride 1408
	dump "$allocator-mplane" nv12 640x480 $multi
	dump "$allocator-separate" nv12 640x480 $multi --separate
	dump "$allocator-hd" hd 1280x720 $single -n 1
	dump "$allocator-large" large 1920x1080 $multi -n 2
	dump "$allocator-large-yuyv" large_yuyv 1920x1080 $single -n 1
	if [ $allocator = vmalloc ]; then
		# More than a kernel without CMA has in one piece.
		dump large-rgb24 large_rgb24 1920x1080 $multi -n 1
		dump heap yuyv 640x480 $single --heap system
		dump heap-mplane nv12 640x480 $multi --heap system --separate
		dump copy yuyv 640x480 $single --copy
	else
		# Its memory must be in one piece, which the system heap does not promise.
		echo 'npu-test: expect contiguous chunk is too small' >/dev/kmsg
		cam $single -m /mnt/host/yuyv.npu -n 1 --heap system
		[ $? = 0 ] || grep -q 'does not take buffer' $tmp/err
		ktap_result $? heap_and_a_camera_that_wants_one_piece || cat $tmp/err
	fi
	unload_camera
done

refused()
{
	local word=$1 name=$2

	shift 2
	npu-cam "$@" >$tmp/out 2>$tmp/err
	[ $? = 1 ] && grep -q "$word" $tmp/err
	ktap_result $? "$name" || cat $tmp/err
}

load_camera vmalloc
refused "No such file" no_camera -d /dev/video77 -m /mnt/host/yuyv.npu
refused "not a V4L2 device" no_camera_but_a_device -d /dev/null -m /mnt/host/yuyv.npu
refused "No such file" no_model -d $single -m /mnt/host/nothing.npu
refused "one of 3 buffers" more_in_flight_than_buffers -d $single -m /mnt/host/yuyv.npu -b 3 --flight 3
refused "heap 'nothing'" no_heap -d $single -m /mnt/host/yuyv.npu --heap nothing
refused "no form with planes" no_separate_planes -d $single -m /mnt/host/yuyv.npu --separate
npu-cam -d $single -m /mnt/host/yuyv.npu -n 4 --npu sim >$tmp/out 2>$tmp/err
ktap_result $? in_process || cat $tmp/err
unload_camera

# A frame of the dumps, in memory of a heap and by a descriptor that is none.
frame=/mnt/host/dump/vmalloc-stride/0-plane0
npu-run /mnt/host/yuyv.npu --input-dmabuf x=heap:system,file=$frame,stride=1408 --output y=$tmp/y >$tmp/out 2>$tmp/err
ktap_result $? input_dmabuf || cat $tmp/err
cmp $tmp/y /mnt/host/dump/vmalloc-stride/0-y
ktap_result $? input_dmabuf_has_the_frame
said()
{
	npu-run /mnt/host/yuyv.npu --input-dmabuf "$2" --output y=$tmp/y >$tmp/out 2>$tmp/err
	[ $? = 1 ] && grep -q -e "$3" $tmp/err
	ktap_result $? "input_dmabuf_$1" || cat $tmp/err
}
said of_a_file x=fd:0 "descriptor 0 is not a dma-buf"
said of_nothing x=fd:77 "descriptor 77 is not open"
said without_a_file x=heap:system "file= goes with heap:"
said of_no_heap "x=heap:none,file=$frame" "heap 'none'"
said that_is_too_small "x=heap:system,file=/etc/passwd" "yuyv.npu"
said of_no_input "z=heap:system,file=$frame" "'z'"
said in_other_words x=memory:1 "want fd:N"
ktap_is "$(counter bounced-imports)" 0 nothing_was_bounced
ktap_done
