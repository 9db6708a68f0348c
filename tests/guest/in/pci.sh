#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: each virtual NPU is the PCI function that uapi/npu_hw.h describes, behind the IOMMU
# that was asked for. IOMMU and NPUS say what is expected.
. "${0%/*}/ktap.sh"

# field DEVICE OFFSET SIZE: of configuration space, as a number.
field()
{
	od -An -tu"$3" -j "$2" -N "$3" "$1/config" | tr -d ' '
}

# capabilities DEVICE: the ids in its list.
capabilities()
{
	local at left=48

	at=$(field "$1" 52 1)
	while [ "$at" -ge 64 ] && [ "$((left -= 1))" -gt 0 ]; do
		field "$1" "$at" 1
		at=$(field "$1" $((at + 1)) 1)
	done
}

# check_driver DEVICE NAME: npu.ko was loaded for it, runs its firmware, and its node has the rights that the
# udev rule gives.
check_driver()
{
	local node

	ktap_is "$(basename "$(readlink -f "$1/driver")")" npu "${2}_driver"
	node=$(basename "$1"/accel/accel*)
	ktap_is "$(stat -c "%A %G" "/dev/accel/$node" 2>&1)" "crw-rw---- render" "${2}_node"
}

# check_group DEVICE NAME: it is translated as asked for: Intel's strictly, virtio's lazily where the kernel
# can do that.
check_group()
{
	local group type=

	case $IOMMU in
	intel)	type="DMA" ;;
	virtio)	type="DMA DMA-FQ" ;;
	esac
	group=$(cat "$1/iommu_group/type" 2>/dev/null)
	case " $type " in
	*" $group "*)	ktap_result 0 "$2" ;;
	*)	echo "# the group's type is '$group', one of '$type' was expected"
		ktap_result 1 "$2" ;;
	esac
}

npus=
for device in /sys/bus/pci/devices/*; do
	[ "$(cat "$device/vendor") $(cat "$device/device")" = "0x1234 0x4e50" ] && npus="$npus $device"
done
set -- $npus
ktap_is "$#" "$NPUS" "devices_found"

number=0
for device; do
	ktap_is "$(cat "$device/class")" 0x120000 "npu${number}_class"
	ktap_is "$(sed -n '1s/ [^ ]*$//p' "$device/resource" | { read -r first last; echo $((last - first + 1)); })" \
		65536 "npu${number}_bar0_size"
	ktap_is "$(capabilities "$device" | sort -n | grep -x -e 5 -e 16 -e 17 | tr '\n' ' ')" "5 16 " \
		"npu${number}_has_msi_and_pcie_and_no_msix"
	ktap_is "$(grep -c flr "$device/reset_method")" 1 "npu${number}_function_level_reset"
	check_group "$device" "npu${number}_iommu_group"
	check_driver "$device" "npu${number}"
	number=$((number + 1))
done
ktap_done
