#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: the language models of /mnt/host on the driver's device, each by two processes at
# once. FILE.ref is the text that it writes in process.
. "${0%/*}/ktap.sh"

cd /mnt/host || exit 1
tmp=/tmp/llm
mkdir -p $tmp

# write JOB OUT
write()
{
	npu-llm "$1" --device /dev/accel/accel0 -q --greedy -n 24 --file prompt.txt >"$2" 2>"$2.err"
}

for job in *.npu; do
	name=${job%.npu}
	write "$job" $tmp/a &
	write "$job" $tmp/b
	second=$?
	wait $!
	ktap_is "$? $second" "0 0" "${name}_two_processes" || cat $tmp/a.err $tmp/b.err
	cmp $tmp/a "$name.ref" && cmp $tmp/b "$name.ref"
	ktap_result $? "${name}_writes_what_it_writes_in_process" || cat $tmp/a
done

npu-llm f16.npu --device /dev/accel/accel0 -q --bench pp40,tg4 -r 1 >$tmp/bench 2>&1
ktap_result $? "bench" || cat $tmp/bench
for counter in mmu-faults aborts engine-resets device-resets; do
	ktap_is "$(sed -n "s/^$counter: //p" /sys/kernel/debug/accel/*/counters)" 0 "counter_${counter}_did_not"
done
ktap_done
