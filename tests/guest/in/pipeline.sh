#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: examples/pipeline on the kernel's device, with frames of a file, of a dma-buf heap and of a
# camera. What comes out is what came out in process; the jobs of three frames are handed over while the
# first of them is still on the device, so nobody waited for any of them.
. "${0%/*}/ktap.sh"
. "${0%/*}/camera_lib.sh"

cd /mnt/host || exit 1

# pipe OPTION...
pipe()
{
	./pipeline --npu /dev/accel/accel0 "$@" detect.npu select.npu refine.npu >$tmp/out 2>$tmp/err
}

# same NAME: the outputs in $tmp/NAME are those of ref.
same()
{
	local file bad=0

	for file in ref/*-box ref/*-score ref/*-output; do
		cmp "$file" "$tmp/$1/${file#ref/}" || bad=1
	done
	ktap_result $bad "$1_has_the_bits_of_the_same_in_process"
}

# Behind "frame":N come [submitted,started,finished] of each stage since the frame was taken, then when that was.
times()
{
	sed -n 's/.*"us":{"detect":\[\([^]]*\)\],"select":\[\([^]]*\)\],"refine":\[\([^]]*\)\]},"taken":\([0-9.]*\)}/\1,\2,\3,\4/p' $tmp/out
}

# order NAME: each stage began behind the one before.
order()
{
	ktap_is "$(times | awk -F, '$5 >= $3 && $8 >= $6 { n++ } END { print n "/" NR }')" "$2/$2" \
		"$1_runs_one_stage_behind_the_other"
}

for from in file heap; do
	mkdir -p $tmp/$from
	[ $from = file ] && heap= || heap="--heap system"
	pipe --file frames.nv12 -n 6 --json --dump $tmp/$from $heap
	ktap_result $? "frames_of_a_$from" || cat $tmp/err
	same $from
	order $from 6
done

# A second and more for the first job: all nine of three frames are there before it has ended.
host vdev 0 arm slow-job 1 >/dev/null
pipe --file frames.nv12 -n 3 --json
ktap_result $? three_frames || cat $tmp/err
order slow 3
times | awk -F, 'NR == 1 { end = $10 + $3 } $10 + $7 >= end { late++ } { last = $10 + $7 } END {
	printf "# the last job was handed over %.0f ms before the first was done\n", (end - last) / 1000
	exit late || NR != 3 }'
ktap_result $? nine_jobs_are_submitted_before_the_first_is_done
host vdev 0 disarm all >/dev/null

load_camera vmalloc
mkdir -p dump
pipe --camera $single -n 4 --json --dump dump
ktap_result $? frames_of_a_camera || cat $tmp/err
order camera 4
unload_camera
ktap_is "$(counter bounced-imports)" 0 nothing_was_bounced

# So much for waiting; 300 times in the long set.
frames=${NPU_TEST_LONG:+300}
for way in "" "--flight 1" "--flight 1 --wait"; do
	pipe --file frames.nv12 -n ${frames:-40} $way
	ktap_result $? "a_stream${way:+_with_}$(echo "$way" | tr -d ' -')" || cat $tmp/err
	echo "# ${way:-three in flight}: $(cat $tmp/out)"
done
ktap_done
