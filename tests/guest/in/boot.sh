#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: it is the machine that was asked for. KERNEL, IOMMU and NPUS say what that is.
. "${0%/*}/ktap.sh"

ktap_is "$(uname -r)" "$KERNEL" "kernel_version"

# The kind that the kernel drives, not the one that is on some bus.
kind=none
for unit in /sys/class/iommu/*; do
	case $unit in
	*/dmar*)	kind=intel ;;
	*/'*')		;;
	*)		[ -e /sys/bus/virtio/drivers/virtio_iommu ] && kind=virtio ;;
	esac
done
ktap_is "$kind" "$IOMMU" "iommu_kind"

for module in drm gpu-sched drm_gpuvm drm_shmem_helper vgem; do
	modprobe "$module" 2>/dev/null
	ktap_result $? "module_$module"
done
[ -c /dev/udmabuf ]
ktap_result $? "udmabuf"

echo guest >/mnt/host/from-guest
ktap_is "$(cat /mnt/host/from-host)" "$KERNEL $IOMMU" "shared_folder_read"
ktap_is "$(cat /mnt/host/from-guest)" "guest" "shared_folder_write"
ktap_done
