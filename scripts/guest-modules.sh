#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest-modules.sh FOLDER [MAKE ARGUMENT...]: build the kernel modules of a folder with a Kbuild against
# every kernel of the guest's root, with the compiler that those were built with, to
# build/guest/modules/KERNEL/<the folder's name>/.
#
# Each kernel has a copy of the sources there, so that one's objects are not in the way of the other's;
# only what has changed is copied and built. Arguments go to make, for example W=1 or C=2.
set -u
. "$(dirname "$0")/guest-lib.sh"

# sources: the files to copy, relative to $source. What an in-tree build left is not among them.
sources()
{
	(cd "$source" && find . -type f \( -name Kbuild -o -name Makefile -o -name '*.[chS]' \
		-o -name '*.sh' -o -name '*.cocci' \) ! -name '*.mod.c')
}

# sync DIR: make its sources what $source has; newer ones are what make looks at.
sync_sources()
{
	local file

	mkdir -p "$1"
	sources | sort >"$1/.sources.new"
	[ ! -e "$1/.sources" ] || comm -23 "$1/.sources" "$1/.sources.new" | while read -r file; do
		rm -f "$1/$file"
	done
	while read -r file; do
		cmp -s "$source/$file" "$1/$file" || install -D -m "$(stat -c %a "$source/$file")" "$source/$file" "$1/$file"
	done <"$1/.sources.new"
	mv "$1/.sources.new" "$1/.sources"
}

# Messages of the compiler name the files here, not the copies.
build()
{
	root_enter "$dir" make -s -j "$(nproc)" -C "/lib/modules/$kernel/build" M=/src "$@" modules 2>&1 |
		sed -e 's#\(^\|[^a-z]\)/src/#\1#g' -e '/^Skipping BTF generation/d' >&2
	return "${PIPESTATUS[0]}"
}

[ $# -gt 0 ] || die "usage: guest-modules.sh FOLDER [MAKE ARGUMENT...]"
source=$1
name=$(basename "$source")
shift
[ -e "$source/Kbuild" ] || die "there is no Kbuild in '$source'"
[ -e "$guest_root/.packages" ] || die "there is no $guest_root: make guest-root"

mkdir -p "$guest_out" || exit 1
exec 9>"$guest_out/.modules.lock"
flock 9
for kernel in $(guest_kernels); do
	dir=$guest_out/modules/$kernel/$name
	sync_sources "$dir"
	build "$@" || die "the modules do not build for kernel $kernel"
	echo "guest-modules: ${dir#"$PWD"/}:" $(cd "$dir" && ls ./*.ko | sed 's|^\./||') >&2
done
