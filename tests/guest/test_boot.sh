#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every kernel of the guest's root boots without an IOMMU, with Intel's and with virtio's, has what
# the driver needs, sees the shared folder and, when there is one, the virtual device.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

programs=(boot.sh)
if [ -d tools/npu-vdev ]; then
	NPUS=2
	programs+=(pci.sh hotplug.sh)
fi
for kernel in $(guest_kernels); do
	for iommu in none intel virtio; do
		share=$tap_tmp/share
		rm -rf "$share"
		mkdir "$share"
		echo "$kernel $iommu" >"$share/from-host"
		guest_run "${kernel%%+*} $iommu" "$kernel" "$iommu" --share "$share" -- "${programs[@]}"
		tap_is "$(cat "$share/from-guest" 2>&1)" guest "${kernel%%+*} $iommu: the host sees the guest's file"
	done
done
tap_done
