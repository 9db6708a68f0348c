#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest, whose kernel copies all that devices read or write (swiotlb=force): a camera's buffers are
# refused, with the reason; with a copy for each frame all is right.
. "${0%/*}/ktap.sh"
. "${0%/*}/camera_lib.sh"

load_camera vmalloc
cam $single -m /mnt/host/yuyv.npu -n 4
ktap_is $? 1 bounced_frames_are_refused
grep -q 'the kernel copies between its buffers and the NPU' $tmp/err
ktap_result $? which_is_said || cat $tmp/err
[ "$(counter bounced-imports)" -gt 0 ]
ktap_result $? and_counted
dump copy yuyv 640x480 $single --copy
unload_camera
ktap_done
