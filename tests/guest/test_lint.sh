#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver and its headers by the kernel's own tools: see scripts/lint.sh.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

for what in $(guest_kernels) checkpatch kernel-doc coccinelle; do
	if [ "$what" = coccinelle ] && [ ! -x "$guest_root/usr/bin/spatch" ]; then
		tap_skip coccinelle "not there: make guest-root WITH=coccinelle,python3-dev"
		continue
	fi
	said=$(scripts/lint.sh "$what" 2>&1)
	tap_is "$said" "" "nothing is said by ${what/*deb*/sparse and W=1 for ${what%%+*}}"
done
tap_done
