#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: run.sh PROGRAM... runs each, with its KTAP between two lines that name it and its
# status, and marks in the kernel's log when it ran. A name without a slash is one of this folder,
# or a selftest. NPU_GUEST_TIMEOUT is how many seconds one may take; more with the full counts. With
# NPU_SLEEP (yes, or deep: not only pm_test) programs may put the machine to sleep. The port that this
# one's output goes to is dead then, as its driver has been taken from it; output is kept, and goes out
# by the port that is there at the end.
here=${0%/*}
selftests=/usr/lib/npu/selftests
[ -z "$NPU_SLEEP" ] || exec 5>&1 >/tmp/out.ktap 2>&1

for program; do
	case $program in
	*/*)	file=$program ;;
	*)	file=$here/$program
		[ -e "$file" ] || file=$selftests/$program ;;
	esac
	echo "# begin $program"
	echo "npu-test: begin $program" >/dev/kmsg
	timeout "${NPU_GUEST_TIMEOUT:-${NPU_TEST_LONG:+1}180}" "$file" 2>&1
	status=$?
	# Work queues have what the program left to them; its splats should be under its name.
	sleep 0.05
	echo "npu-test: end $program" >/dev/kmsg
	echo "# end $program $status"
done

[ -n "$NPU_SLEEP" ] || exit 0
cat /tmp/out.ktap >&5 2>/dev/null && exit
exec 5>&-
for dir in /sys/class/virtio-ports/*; do
	[ "$(cat "$dir/name")" != npu.out ] || cat /tmp/out.ktap >"/dev/${dir##*/}"
done
