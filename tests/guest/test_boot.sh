#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every kernel of the guest's root boots without an IOMMU, with Intel's and with virtio's, has what
# the driver needs, sees the shared folder, and has two virtual devices with the driver at work, which
# are pulled out and put back.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build" || tap_diag "$(tail -n 20 "$tap_tmp/build.log")"
NPUS=2
for kernel in $(guest_kernels); do
	for iommu in none intel virtio; do
		share=$tap_tmp/share
		rm -rf "$share"
		mkdir "$share"
		echo "$kernel $iommu" >"$share/from-host"
		guest_run "${kernel%%+*} $iommu" "$kernel" "$iommu" --share "$share" -- boot.sh pci.sh test_abi hotplug.sh
		tap_is "$(cat "$share/from-guest" 2>&1)" guest "${kernel%%+*} $iommu: the host sees the guest's file"
	done
done
tap_done
