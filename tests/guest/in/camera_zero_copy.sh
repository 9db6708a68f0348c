#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: a stream of 300 frames (10,000 in the long set) without a copy, a mapping of a frame, or
# a word about memory between kernel and device behind the first round; Ctrl-C; and beside it 300 frames
# with one copy for each.
. "${0%/*}/ktap.sh"
. "${0%/*}/camera_lib.sh"

frames=${NPU_TEST_LONG:+10000}
frames=${frames:-300}
load_camera vmalloc

# dma_maps: messages to the device that map memory. Those that unmap it may be of programs before.
dma_maps()
{
	host vdev 0 counters | tr ',{}' '\n\n\n' | sed -n 's/^ *"dma-maps" *: *//p'
}

start()
{
	: >$tmp/out
	npu-cam -d $single -m /mnt/host/small.npu --fps 60 --json --values 1 "$@" >$tmp/out 2>$tmp/err &
	pid=$!
}

start -n $frames
lines 20
first=$(dma_maps)
mapped=$(maps $pid)
lines $((frames - 150))		# seconds before its end, however slow this shell is
mapped="$mapped $(maps $pid)"
last=$(dma_maps)
so_far=$(grep -c '^{"frame"' $tmp/out)
[ "$so_far" -ge $((frames - 150)) ] && [ "$so_far" -lt $frames ]
ktap_result $? it_streams || echo "# $so_far of $frames frames when it was looked at"
wait $pid
ktap_result $? "${frames}_frames" || cat $tmp/err
ktap_is "$(grep -c '^{"frame"' $tmp/out)" $frames every_frame_has_a_result
[ -n "$first" ]
ktap_result $? the_device_counts_maps
ktap_is "$last" "$first" no_map_message_behind_the_first_round
ktap_is "$mapped" "0 0" no_frame_is_mapped
grep -q '"copied_bytes":0,' $tmp/out
ktap_result $? no_byte_is_copied
ktap_is "$(counter bounced-imports)" 0 nothing_is_bounced
zero=$(tail -n 1 $tmp/out)
echo "$zero" | grep -q '"camera_fps":60,'
ktap_result $? the_camera_does_60_frames_per_second

start -n 300 --copy
lines 20
[ "$(maps $pid)" -gt 0 ]
ktap_result $? with_copies_frames_are_mapped
wait $pid
ktap_result $? with_copies || cat $tmp/err
echo "# without a copy: $zero"
echo "# with one:       $(tail -n 1 $tmp/out)"

start
lines 10
kill -INT $pid
wait $pid
ktap_is $? 0 interrupted_it_ends_well
tail -n 1 $tmp/out | grep -q '^{"summary"'
ktap_result $? with_its_summary || tail -n 2 $tmp/out
unload_camera
ktap_done
