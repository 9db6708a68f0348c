#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The device goes, comes back, is reset and sleeps while four processes have jobs on it: 5 times for
# each kind of event, on each kernel with one kind of IOMMU. The long set: 50 times, with all kinds.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build for the guest" || { tap_diag "$(tail -n 20 "$tap_tmp/build.log")"; tap_done; }

cycles=5
GUEST_TIMEOUT=900
[ "${NPU_TEST_LONG:-0}" = 0 ] || { cycles=50; GUEST_TIMEOUT=7200; }

# How deep a guest may sleep: the kernel does not get its virtio-iommu through it, nor QEMU the
# mappings behind intel-iommu through S3.
declare -A sleep=([none]=deep [intel]=yes [virtio]=)

# run KERNEL IOMMU: the pause is for emulated processors, which now and then miss the call that starts
# them when it comes right behind their reset.
run()
{
	GUEST_ENV="NPU_EVENT_CYCLES=$cycles NPU_GUEST_TIMEOUT=$((GUEST_TIMEOUT - 60)) NPU_SLEEP=${sleep[$2]}"
	NPUS=1 guest_run "${1%%+*} $2 events" "$1" "$2" --smp 2 \
		--append "no_console_suspend cpu_init_udelay=10000" -- test_events
}

run "$1" "$2"
tap_done
