#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A device with two engines, and with as many as there can be: what the selftests say of order,
# isolation, recovery and counters holds with them, jobs run at the same time, one engine's trouble is
# not the other one's, and models that two processes run at once have the digests that they have in
# process.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build for the guest" || { tap_diag "$(tail -n 20 "$tap_tmp/build.log")"; tap_done; }

NPU_MODELS=${NPU_MODELS:-build/models}
share=$tap_tmp/share
mkdir -p "$share"

# job NAME MODEL [npu-compile option...]
job()
{
	"$NPU_BUILD/npu-compile" "$NPU_MODELS/$2" "${@:3}" -o "$share/$1.npu" >/dev/null 2>"$tap_tmp/err"
	tap_result $? "$1 is compiled" || tap_diag "$(cat "$tap_tmp/err")"
	"$NPU_BUILD/npu-run" "$share/$1.npu" --device sim --digest >"$share/$1.ref" 2>/dev/null
	tap_result $? "$1 in process"
}

job faces blazeface_front.onnx
job det det.onnx --shape x=1x3x160x160

# run KERNEL IOMMU ENGINES PROGRAM...
run()
{
	NPUS=1 guest_run "${1%%+*} $3 engines" "$1" "$2" --vdev-arg --engines --vdev-arg "$3" \
		--share "$share" -- "${@:4}"
}

iommus=(virtio intel)
for kernel in $(guest_kernels); do
	run "$kernel" "${iommus[0]}" 2 models.sh test_engines test_priority test_order test_cancel test_isolation \
		test_accounting test_recovery
	iommus=("${iommus[@]:1}" none)
done
run "$kernel" none 8 models.sh test_engines test_accounting
tap_done
