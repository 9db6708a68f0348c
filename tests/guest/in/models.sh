#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: the job files of /mnt/host on the driver's device, each by two processes at once.
# FILE.ref has the digests of every layer in process. And npu-ocr, --doctor, and the counters.
. "${0%/*}/ktap.sh"

cd /mnt/host || exit 1
tmp=/tmp/models
mkdir -p $tmp

# digest JOB OUT
digest()
{
	npu-run "$1" --device /dev/accel/accel0 --digest >"$2" 2>"$2.err"
}

for job in *.npu; do
	name=${job%.npu}
	digest "$job" $tmp/a &
	digest "$job" $tmp/b
	second=$?
	wait $!
	ktap_is "$? $second" "0 0" "${name}_two_processes" || cat $tmp/a.err $tmp/b.err
	cmp $tmp/a "$name.ref" && cmp $tmp/b "$name.ref"
	ktap_result $? "${name}_digests_of_every_layer_are_those_in_process"
done

npu-run --doctor >$tmp/doctor
ktap_result $? doctor_finds_nothing_wrong || cat $tmp/doctor
grep -q '^device  */dev/accel/accel0: NPU v1' $tmp/doctor && grep -q '^firmware  *[0-9]' $tmp/doctor
ktap_result $? doctor_names_device_and_firmware || cat $tmp/doctor
# What the kernel said of the driver when it came.
version=$(dmesg | sed -n 's/.*Initialized npu \([0-9.]*\) .*/\1/p' | tail -n 1)
ktap_is "$(sed -n 's/^kernel driver  *//p' $tmp/doctor)" "npu ${version:-of which it said nothing}" \
	doctor_names_the_driver
# The device is no processor: it has no threads, and no field for them.
for what in --info --bench=2; do
	for job in *.npu; do
		npu-run "$job" $what
	done >$tmp/out 2>$tmp/err
	ktap_result $? "npu_run_${what#--}" || cat $tmp/err
	grep '/dev/accel/accel' $tmp/out >$tmp/lines
	[ -s $tmp/lines ] && ! grep -E '0 threads|, *,|, *$' $tmp/lines
	ktap_result $? "${what#--}_has_no_empty_field" || cat $tmp/out
done
grep '^device ' $tmp/doctor >$tmp/lines
! grep -E '0 threads|, *,|, *$' $tmp/lines
ktap_result $? doctor_has_no_empty_field

if [ -e page.png ]; then
	npu-ocr --quiet --models /mnt/host --job det=ocr/det.npu --job rec=ocr/rec.npu \
		--job cls=ocr/cls.npu page.png >$tmp/page 2>$tmp/page.err
	ktap_result $? ocr_reads_the_picture || cat $tmp/page.err
	cmp $tmp/page page.ref
	ktap_result $? ocr_says_what_it_says_in_process || cat $tmp/page
fi
# The MMU and the firmware are in the path.
for counter in page-walks mcu-insns engine-insns; do
	[ "$(sed -n "s/^$counter: //p" /sys/kernel/debug/accel/*/counters)" -gt 100 ]
	ktap_result $? "counter_${counter}_moved"
done
for counter in mmu-faults aborts engine-resets device-resets; do
	ktap_is "$(sed -n "s/^$counter: //p" /sys/kernel/debug/accel/*/counters)" 0 "counter_${counter}_did_not"
done
ktap_done
