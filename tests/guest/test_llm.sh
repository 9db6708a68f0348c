#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A language model on the kernel driver: the same text as in process, with both types of its cache,
# from two processes at once, from the server, and with weights and cache that are several of the
# driver's buffers; sessions that are forked, saved, loaded, cancelled and moved by a KV budget, to the
# bit. With every kernel and an IOMMU.
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

# What runs on the host against the engine runs here against the driver: sessions, and what memory there
# is predicted to be.
cp "$NPU_BUILD"/tests/llm/test_{sessions,memory,offload} "$share" || exit 1
GUEST_ENV="NPU_TEST_DEVICE=/dev/accel/accel0 NPU_TEST_JOBS=/mnt/host/memory"
mkdir "$share/memory" "$share/large"
memory()
{
	"$NPU_BUILD/npu-compile" -q "$2" --context "$3" --batch "$4" --chunk "$5" "${@:6}" -o "$share/memory/$1.npu" ||
		exit 1
}
memory a models/kjv/kjv-Q8_0.gguf 128 4 64
memory b models/kjv/kjv-Q8_0.gguf 512 2 100 --kv int8
memory c models/kjv/kjv-Q8_0.gguf 33 64 64 --kv f32
shared=${NPU_SHARED_MODELS:-../shared/models}
for model in kjv/kjv-f16 kjv/kjv-Q4_0 stories260K-f32 stories260K-Q4_K_M; do
	[ ! -e "$shared/$model.gguf" ] || memory "${model##*/}" "$shared/$model.gguf" 256 2 128
done
"$NPU_BUILD/npu-compile" -q models/kjv/kjv-Q8_0.gguf --pool 1000000 -o "$share/large/large.npu" || exit 1

NPUS=1
for kernel in $(guest_kernels); do
	guest_run "llm ${kernel%%+*} virtio" "$kernel" virtio --share "$share" -- llm.sh \
		/mnt/host/test_sessions /mnt/host/test_memory /mnt/host/test_offload
done
tap_done
