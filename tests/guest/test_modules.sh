#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver's module as its users get it: for each kernel of the guest, by the Kbuild of the top
# directory, and as DKMS builds it.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

for kernel in $(guest_kernels); do
	name=${kernel%%+*}
	module=$guest_out/modules/$kernel/npu.ko
	tap_is "$(root_run modinfo -F vermagic "$module" 2>&1 | cut -d' ' -f1)" "$kernel" "$name: npu.ko is for this kernel"
	tap_like "$(root_run modinfo -F alias "$module")" 'pci:v00001234d00004E50' "$name: it is loaded for the device"
	tap_is "$(root_run modinfo -F firmware "$module")" npu/npu_fw.bin "$name: it names its firmware"
done

# dkms.conf is shell; DKMS sets these two and runs the line in the copied sources.
kernel=$(guest_kernels | tail -n 1)
. <(kernel_source_dir=/lib/modules/$kernel/build dkms_tree=/src; . ./dkms.conf; declare -p MAKE BUILT_MODULE_NAME \
	BUILT_MODULE_LOCATION PACKAGE_NAME PACKAGE_VERSION)
tap_is "$PACKAGE_VERSION" "$(sed -n 's/^VERSION\t*:= //p' Makefile)" "dkms.conf has the version of the rest"
copy=$tap_tmp/$PACKAGE_NAME/$PACKAGE_VERSION/build
mkdir -p "$copy/scripts"
cp -r Kbuild driver uapi "$copy"
cp scripts/probe.sh "$copy/scripts"
find "$copy" \( -name '*.o' -o -name '*.ko' -o -name '*.cmd' \) -delete
root_enter "$tap_tmp" sh -c "${MAKE[0]} -s -j$(nproc)" >"$tap_tmp/dkms.log" 2>&1
tap_result $? "the command of dkms.conf builds" || tap_diag "$(tail -n 20 "$tap_tmp/dkms.log")"
[ -e "$copy/${BUILT_MODULE_LOCATION[0]}/${BUILT_MODULE_NAME[0]}.ko" ]
tap_result $? "and leaves the module where dkms.conf says"
tap_done
