#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: share [DEVICE [MODE]], see tests/guest/share.c.
[ -e /dev/npu_odd ] || insmod /mnt/host/npu_odd.ko || exit 1
exec /mnt/host/share "${1:-/dev/accel/accel0}" ${2:+"$2"}
