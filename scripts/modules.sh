#!/bin/bash
# SPDX-License-Identifier: MIT
#
# modules.sh [--source FOLDER] [ARGUMENT...]: build npu.ko for the kernels of the guest's root, with
# the compiler that those were built with, and leave it in build/guest/modules/KERNEL, where
# guest-initrd.sh takes it from. With KDIR=FOLDER, the headers or the tree of a kernel of this
# machine, for that one alone, in build/modules. With --source, the modules of another folder with a
# Kbuild, to build/guest/modules/KERNEL/<the folder's name>; uapi/ is copied into it. Arguments are
# make's: W=1, C=1, -j4.
set -u
. "$(dirname "$(readlink -f "$0")")/guest-lib.sh"
top=$(dirname "$guest_scripts")

# Kbuild writes objects beside the sources, so each kernel has its own copy of them.
copy_driver()
{
	local file

	guest_sync "$top/driver" "$1/driver"
	guest_sync "$top/uapi" "$1/uapi"
	for file in Kbuild scripts/probe.sh; do
		cmp -s "$top/$file" "$1/$file" || install -D "$top/$file" "$1/$file"
	done
}

# build_in_root KERNEL FOLDER ARGUMENT...: messages of the compiler name the files here, not the
# copies.
build_in_root()
{
	root_enter "$2" make -C "/usr/lib/modules/$1/build" M=/src "${@:3}" modules 2>&1 |
		sed -e 's#\(^\|[^a-z]\)/src/#\1#g' -e '/^Skipping BTF generation/d' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || die "the modules do not build for kernel $1"
}

# finish FOLDER FILE: the module at its place, with a new date only when it is new.
finish()
{
	cmp -s "$1/driver/npu.ko" "$2" || cp "$1/driver/npu.ko" "$2"
	echo "${2#"$PWD"/}"
}

source=
if [ "${1:-}" = --source ]; then
	source=${2:?--source needs a folder}
	shift 2
	[ -e "$source/Kbuild" ] || die "there is no Kbuild in '$source'"
elif [ -n "${KDIR:-}" ]; then
	dir=$NPU_BUILD/modules
	copy_driver "$dir"
	make -C "$KDIR" M="$(readlink -f "$dir")" "$@" modules || exit 1
	finish "$dir" "$dir/npu.ko"
	exit
fi

kernels=$(guest_kernels)
[ -n "$kernels" ] ||
	die "there are no kernels in $guest_root: make guest-root, or KDIR=/lib/modules/$(uname -r)/build"
mkdir -p "$guest_out/modules" || exit 1
exec 9>"$guest_out/modules/.lock"
flock 9
for kernel in $kernels; do
	if [ -n "$source" ]; then
		dir=$guest_out/modules/$kernel/$(basename "$source")
		guest_sync "$source" "$dir"
		guest_sync "$top/uapi" "$dir/uapi"
		build_in_root "$kernel" "$dir" "$@"
	else
		dir=$guest_out/modules/$kernel/npu
		copy_driver "$dir"
		build_in_root "$kernel" "$dir" "$@"
		finish "$dir" "$guest_out/modules/$kernel/npu.ko"
	fi
done
