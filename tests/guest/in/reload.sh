#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: the module is unloaded and loaded again between jobs.
. "${0%/*}/ktap.sh"
selftests=/usr/lib/npu/selftests

echo "npu-test: expect npu" >/dev/kmsg
one_job()
{
	timeout 60 "$selftests/test_jobs" -t a_copy_arrives >/tmp/reload.out 2>&1
}

# A job's fence keeps the module until RCU has let go of it: a moment on a busy machine.
unload()
{
	local i=0

	until rmmod npu 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt 50 ] || return 1
		sleep 0.1
	done
}

for round in 1 2 3 4 5; do
	one_job
	ktap_result $? "a job runs in round $round"
	unload
	ktap_result $? "the module goes in round $round"
	modprobe npu
	ktap_result $? "and comes back in round $round"
done
one_job
ktap_result $? "a job runs at the end"
ktap_done
