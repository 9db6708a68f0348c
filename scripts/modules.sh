#!/bin/bash
# SPDX-License-Identifier: MIT
#
# modules.sh [ARGUMENT...]: build npu.ko for the kernels of the guest's root, and leave it where
# guest-initrd.sh takes it from. With KDIR=FOLDER, the headers or the tree of a kernel of this
# machine, for that one alone, in build/modules. Arguments are make's: W=1, C=1, -j4.
set -u
here=$(dirname "$(readlink -f "$0")")
. "$here/guest-lib.sh"
top=$(dirname "$here")

# Kbuild writes objects beside the sources, so each kernel has its own copy of them.
copy_sources()
{
	mkdir -p "$1/driver" "$1/scripts" "$1/uapi/drm"
	cp -pu "$top/Kbuild" "$1"
	cp -pu "$top"/driver/*.[ch] "$top/driver/Kbuild" "$top/driver/Kconfig" "$1/driver"
	cp -pu "$top/scripts/probe.sh" "$1/scripts"
	cp -pu "$top"/uapi/*.h "$1/uapi"
	cp -pu "$top"/uapi/drm/*.h "$1/uapi/drm"
}

# finish FOLDER FILE: the module at its place, with a new date only when it is new.
finish()
{
	cmp -s "$1/driver/npu.ko" "$2" || cp "$1/driver/npu.ko" "$2"
	echo "${2#"$PWD"/}"
}

if [ -n "${KDIR:-}" ]; then
	dir=$NPU_BUILD/modules
	copy_sources "$dir"
	make -C "$KDIR" M="$(readlink -f "$dir")" "$@" modules || exit 1
	finish "$dir" "$dir/npu.ko"
	exit
fi

kernels=$(guest_kernels)
[ -n "$kernels" ] || die "there are no kernels in $guest_root: make guest-root, or KDIR=/lib/modules/$(uname -r)/build"
for kernel in $kernels; do
	dir=$guest_out/modules/$kernel/npu
	copy_sources "$dir"
	root_enter "$dir" make -C "/usr/lib/modules/$kernel/build" M=/src "$@" modules || exit 1
	finish "$dir" "$guest_out/modules/$kernel/npu.ko"
done
