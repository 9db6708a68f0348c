#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The same job file gives the same bits: text recognition, text detection and a face detector on the
# kernel driver, from two processes at once, with every kernel and IOMMU, against the digests of every
# layer in process, which the oracle agrees with. npu-ocr reads the sample picture in the guest.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

NPU_MODELS=${NPU_MODELS:-build/models}
share=$tap_tmp/share
mkdir -p "$share/ocr"

# job NAME MODEL [npu-compile option...]
job()
{
	"$NPU_BUILD/npu-compile" "$NPU_MODELS/$2" "${@:3}" -o "$share/$1.npu" >/dev/null 2>"$tap_tmp/err"
	tap_result $? "$1 is compiled" || tap_diag "$(cat "$tap_tmp/err")"
	"$NPU_BUILD/npu-run" "$share/$1.npu" --device sim --digest >"$share/$1.ref" 2>/dev/null
	"$NPU_BUILD/npu-run" --check "$share/$1.npu" --device sim >"$tap_tmp/check" 2>&1
	tap_result $? "$1 in process has the oracle's bits in every layer" || tap_diag "$(tail -n 5 "$tap_tmp/check")"
}

job faces blazeface_front.onnx
job det det.onnx --shape x=1x3x160x160
job rec rec.onnx --shape x=1x3x48x160

# npu-ocr compiles its nets once, on the host: a guest without KVM is slow at that.
"$NPU_BUILD/npu-ocr" --quiet --device sim --models "$NPU_MODELS" --cache "$share/ocr" \
	"$NPU_MODELS/imageTextN.png" >"$share/page.ref"
tap_is "$(wc -l <"$share/page.ref")" 13 "npu-ocr reads 13 lines in process"
for net in det rec cls; do
	mv "$share"/ocr/$net-*.npu "$share/ocr/$net.npu"
done
cp "$NPU_MODELS/ppocr_keys_v1.txt" "$share"
cp "$NPU_MODELS/imageTextN.png" "$share/page.png"

NPUS=1
for kernel in $(guest_kernels); do
	for iommu in none intel virtio; do
		guest_run "models ${kernel%%+*} $iommu" "$kernel" "$iommu" --share "$share" -- models.sh
	done
done
tap_done
