#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: have the module npu_splat do wrong what the name of this program ends in;
# splat_expected_warn announces it first.
. "${0%/*}/ktap.sh"

kind=${0##*_}
case $0 in
*_expected_*) echo "npu-test: expect WARNING: .*splat" >/dev/kmsg ;;
esac
# A process that oopses is killed: the status is not what this is about.
insmod /npu_splat.ko kind="$kind" || true
[ "$kind" = oops ] || rmmod npu_splat
ktap_result 0 "did_${kind}"
ktap_done
