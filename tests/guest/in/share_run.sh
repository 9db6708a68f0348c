#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: npu-run with inputs in dma-bufs that it inherits; the outputs and digests are those of the
# golden files, and of the same inputs from files in process.
. "${0%/*}/ktap.sh"

cd /mnt/host || exit 1
[ -e /dev/npu_odd ] || insmod npu_odd.ko || exit 1
tmp=/tmp/share
mkdir -p $tmp

# give NAME EXPECTED SOURCE OFFSET FILE JOB OPTION...
give()
{
	local name=$1 want=$2 source=$3 offset=$4 file=$5

	shift 5
	rm -f $tmp/y.raw
	./share give "$source" $offset "$file" npu-run "$@" -d /dev/accel/accel0 -o y=$tmp/y.raw >$tmp/out 2>&1
	ktap_result $? "$name" || cat $tmp/out
	cmp $tmp/y.raw "$want"
	ktap_result $? "${name}_is_right"
}

for source in "system heap" "udmabuf, scattered" vgem pages; do
	name=$(echo "$source" | tr -c 'a-z\n' _)
	give "${name}_tensor" rows.out "$source" 4160 rows.in rows.npu -s x=5x4 --input-dmabuf x=fd:9,offset=4160
	give "${name}_frame" frame.out "$source" 4099 frame.61 frame.npu \
		--input-dmabuf x=fd:9,offset=4099,bytes=1610,stride=61
	give "${name}_planes" frame.out "$source" 1 planes frame.npu \
		--input-dmabuf x=fd:9,offset=1,stride=37 --input-dmabuf x.uv=fd:9,offset=3001,stride=29
	./share give "$source" 4099 frame.61 npu-run frame.npu -d /dev/accel/accel0 --digest \
		--input-dmabuf x=fd:9,offset=4099,stride=61 >$tmp/digest 2>$tmp/out
	cmp $tmp/digest frame.digest
	ktap_result $? "${name}_digests_of_every_layer" || cat $tmp/out $tmp/digest
done

# said NAME WORD OPTION...
said()
{
	local name=$1 word=$2

	shift 2
	./share give "system heap" 0 frame.61 npu-run frame.npu -d /dev/accel/accel0 -o y=$tmp/y "$@" >$tmp/out 2>&1
	[ $? = 1 ] && grep -q -e "$word" $tmp/out
	ktap_result $? "$name" || cat $tmp/out
}
said beyond_its_end "bytes 5324801 + 0 of a dma-buf that has 5324800" --input-dmabuf x=fd:9,offset=5324801
said rows_too_near "want 24 .. 96" --input-dmabuf x=fd:9,stride=23
said rows_too_near_of_a_plane "'x.uv' can not have rows 97" --input-dmabuf x=fd:9 --input-dmabuf x.uv=fd:9,stride=97
said a_part_too_small "'x.uv' bound at byte 432 of a buffer that has 431" --input-dmabuf x=fd:9,bytes=431
ktap_is "$(grep -h total /sys/kernel/debug/accel/*/gems | sort -u)" "total: 0 bytes in 0 buffers" nothing_is_left
ktap_done
