#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A language model on the kernel driver: the same text as in process, with both types of its cache,
# from two processes at once, from the server, and with weights and cache that are several of the
# driver's buffers; sessions that are forked, saved, loaded and cancelled, to the bit. With every kernel
# and an IOMMU.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

share=$tap_tmp/share
mkdir -p "$share"
printf 'And it came to pass' >"$share/prompt.txt"

# job NAME [npu-compile option...]
job()
{
	tap_run "$1 is compiled" "$NPU_BUILD/npu-compile" -q models/kjv/kjv-Q8_0.gguf --context 128 --batch 8 \
		--chunk 64 "${@:2}" -o "$share/$1.npu"
	"$NPU_BUILD/npu-llm" "$share/$1.npu" --device sim -q --greedy -n 24 --file "$share/prompt.txt" \
		>"$share/$1.ref"
	tap_like "$(cat "$share/$1.ref")" "^And it came to pass, " "$1 in process: $(cat "$share/$1.ref")"
}

job f16
job int8 --kv int8

# What runs on the host against the engine runs here against the driver.
cp "$NPU_BUILD/tests/llm/test_sessions" "$share" || exit 1
GUEST_ENV="NPU_TEST_DEVICE=/dev/accel/accel0"

NPUS=1
for kernel in $(guest_kernels); do
	guest_run "llm ${kernel%%+*} virtio" "$kernel" virtio --share "$share" -- llm.sh /mnt/host/test_sessions
done
tap_done
