#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver beyond the selftests: loaded again and again, with firmware that it must refuse and one
# that is wrong, and beside a device whose defects nobody reports (tests/guest/in).
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build for the guest" || { tap_diag "$(tail -n 20 "$tap_tmp/build.log")"; tap_done; }

share=$tap_tmp/share
mkdir -p "$share/firmware"
"$NPU_BUILD/tests/guest/wrong_firmware" "$NPU_BUILD/firmware/npu_fw.bin" "$share/firmware"
tap_result $? "firmware files with something wrong are made"
for mutant in reverse_priority lost_bell lost_end; do
	mkdir -p "$share/mutants/$mutant/npu"
	cp "$NPU_BUILD/firmware/mutant-$mutant.bin" "$share/mutants/$mutant/npu/npu_fw.bin"
done
iommus=(virtio none)
for kernel in $(guest_kernels); do
	NPUS=1 guest_run "${kernel%%+*} driver" "$kernel" "${iommus[0]}" --share "$share" -- reload.sh firmware.sh mutants.sh
	iommus=("${iommus[@]:1}" intel)
done
tap_done
