# SPDX-License-Identifier: MIT
#
# Sourced by the guest-*.sh scripts and npu-qemu: where the guest's parts are, and the two ways to
# run programs of the guest's root (a Debian 13 tree that guest-root.sh unpacks).
#
# NPU_GUEST is what was fetched (root/, kselftest/), NPU_BUILD what was built: npu-*, and in
# $guest_out modules/, selftests/ and initrd-*. Beside the sources both have places in build/; as
# `make install` leaves these scripts, what they fetch and make is in the cache folder.

guest_scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if [ -e "$guest_scripts/guest.mk" ]; then
	NPU_BUILD=${NPU_BUILD:-$(dirname "$guest_scripts")/build}
	NPU_GUEST=${NPU_GUEST:-$(dirname "$guest_scripts")/build/guest}
	guest_out=$NPU_BUILD/guest
else
	NPU_BUILD=${NPU_BUILD:-$(cd "$guest_scripts/../../bin" && pwd)}
	NPU_GUEST=${NPU_GUEST:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/npu/guest}
	guest_out=$NPU_GUEST
fi
guest_root=$NPU_GUEST/root
export NPU_BUILD NPU_GUEST

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "${die_status:-1}"
}

# root_run PROGRAM ARGUMENT...: a program of the root, with the root's libraries, on this machine's
# files. Neither privileges nor mounts are needed.
root_run()
{
	local lib=$guest_root/usr/lib/x86_64-linux-gnu

	"$guest_root/usr/lib64/ld-linux-x86-64.so.2" --argv0 "$1" --library-path "$lib" \
		"$guest_root/usr/bin/$1" "${@:2}"
}

# root_enter FOLDER COMMAND...: the command in a chroot, FOLDER being /src there and its current
# folder. The mounts are in a name space of their own, which ends with the command: nothing can be
# left mounted, and no rm -rf outside can reach through them. A user who is not root is root in a
# user name space.
root_enter()
{
	local map=()

	[ "$(id -u)" = 0 ] || map=(--user --map-root-user)
	unshare "${map[@]}" --mount --propagation private -- \
		bash -c 'root=$1 folder=$2
			mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" &&
				mount -t tmpfs tmp "$root/tmp" && mount --bind "$folder" "$root/src" || {
				echo "cannot mount in a name space: user name spaces may be off" >&2
				exit 125
			}
			shift 2
			exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/usr/sbin LC_ALL=C HOME=/tmp \
				TERM="${TERM:-dumb}" /usr/bin/sh -c '\''cd /src && exec "$@"'\'' sh "$@"' \
		root_enter "$guest_root" "$1" "${@:2}"
}

# The kernels of the root, oldest first.
guest_kernels()
{
	local dir

	for dir in "$guest_root"/usr/lib/modules/*/build; do
		[ -e "$dir" ] || [ -L "$dir" ] && basename "$(dirname "$dir")"
	done | sort -V
}

# guest_kernel PREFIX: the one kernel of the root that begins so: 7.3, or 6.12.117+deb13-amd64.
guest_kernel()
{
	local all match

	all=$(guest_kernels)
	[ -n "$all" ] || die "there are no kernels in $guest_root: make guest-root"
	match=$(grep -e "^${1//./\\.}\([^0-9]\|$\)" <<<"$all")
	[ -n "$match" ] || die "no kernel '$1' in $guest_root; there are:" $all
	[ "$(wc -l <<<"$match")" = 1 ] || die "kernel '$1' is one of several:" $match
	echo "$match"
}

# guest_vmlinuz KERNEL: its image; packages have moved it.
guest_vmlinuz()
{
	local file

	for file in "$guest_root/boot/vmlinuz-$1" "$guest_root/usr/lib/modules/$1/vmlinuz"; do
		[ -e "$file" ] && echo "$file" && return
	done
	die "kernel $1 has no vmlinuz in $guest_root"
}

# guest_sync FROM TO: make the sources in TO those in FROM. What an in-tree build left there is not
# among them; files that are the same keep their time, so that make finds what is new.
guest_sync()
{
	local file

	mkdir -p "$2"
	(cd "$1" && find . -type f \( -name Kbuild -o -name Kconfig -o -name Makefile \
		-o -name config -o -name settings -o -name '*.[chS]' -o -name '*.sh' \) \
		! -name '*.mod.c' | sort) >"$2/.sources.new"
	[ ! -e "$2/.sources" ] || comm -23 "$2/.sources" "$2/.sources.new" | while read -r file; do
		rm -f "$2/$file"
	done
	while read -r file; do
		cmp -s "$1/$file" "$2/$file" ||
			install -D -m "$(stat -c %a "$1/$file")" "$1/$file" "$2/$file"
	done <"$2/.sources.new"
	mv "$2/.sources.new" "$2/.sources"
}
