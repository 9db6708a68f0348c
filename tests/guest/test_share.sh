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
export share=$tap_tmp/share
mkdir -p "$share"
cp "$NPU_BUILD/tests/guest/share" "$share"

# Inputs and outputs of golden files, as bytes: the frame in rows that are 61 bytes apart; and its planes,
# with rows 37 and 29 bytes apart, the second one 3000 bytes behind the first.
raw()
{
	tail -c +129 "$1" >"$share/$2"
}
raw tests/data/golden-1.0-rows.in.npy rows.in
raw tests/data/golden-1.0-rows.out.npy rows.out
raw tests/data/golden-1.3-frame.in.npy frame.in
raw tests/data/golden-1.3-frame.out.npy frame.out
cp tests/data/golden-1.0-rows.npu "$share/rows.npu"
cp tests/data/golden-1.3-frame.npu "$share/frame.npu"
perl -0777 -ne '
	my @rows = unpack "(a24)*", $_;
	open my $f, ">", "$ENV{share}/frame.61" or die;
	print $f substr join("", map { $_ . "\xaa" x 37 } @rows), 0, 27 * 61 - 37;
	open $f, ">", "$ENV{share}/planes" or die;
	my $luma = join "", map { $_ . "\xbb" x 13 } @rows[0 .. 17];
	print $f $luma . "\xcc" x (3000 - length $luma), map { $_ . "\xdd" x 5 } @rows[18 .. 26];
' "$share/frame.in"
tap_is "$(wc -c <"$share/frame.61") $(wc -c <"$share/planes")" "1610 3261" "a frame in other rows"
"$NPU_BUILD/npu-run" "$share/frame.npu" -d sim -i "x=$share/frame.in" --digest >"$share/frame.digest" 2>/dev/null
tap_result $? "its digests in process"

NPUS=2
for kernel in $(guest_kernels); do
	cp "$guest_out/modules/$kernel/odd/npu_odd.ko" "$share"
	for iommu in none intel virtio; do
		guest_run "share ${kernel%%+*} $iommu" "$kernel" "$iommu" --load vgem --share "$share" -- \
			share.sh share_sim.sh share_run.sh share_unbind.sh
	done
	guest_run "share ${kernel%%+*} bounced" "$kernel" none --append swiotlb=force --share "$share" -- share_bounced.sh
done
tap_done
