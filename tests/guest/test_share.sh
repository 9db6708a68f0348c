#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Memory and fences of heaps, programs, other drivers and another NPU through libnpu, with every kernel
# and IOMMU; and of a module that exports what no decent driver does.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/modules.sh --source tests/guest/odd -s >"$tap_tmp/build.log" 2>&1
tap_result $? "the module of odd exporters builds against every kernel" || tap_diag "$(tail -n 20 "$tap_tmp/build.log")"
share=$tap_tmp/share
mkdir -p "$share"
cp "$NPU_BUILD/tests/guest/share" "$share"

NPUS=1
for kernel in $(guest_kernels); do
	cp "$guest_out/modules/$kernel/odd/npu_odd.ko" "$share"
	for iommu in none intel virtio; do
		guest_run "share ${kernel%%+*} $iommu" "$kernel" "$iommu" --load vgem --share "$share" -- \
			share.sh share_sim.sh share_unbind.sh
	done
done
tap_done
