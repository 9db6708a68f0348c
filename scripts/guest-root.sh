#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest-root.sh [--with PACKAGE[,PACKAGE...]]: unpack build/guest/root, a Debian 13 tree with a QEMU
# that has vfio-user-pci, the kernels of Debian 13 and of its backports with their headers, and the
# compiler that both were built with.
#
# apt resolves and fetches, with its state in build/guest and an empty package database, so the
# machine's own packages do not matter (Debian 12 and 13 were tried; any system with apt does). The
# packages are unpacked and never configured: no root, no chroot and no mounts are needed, and what
# comes out belongs to the caller. The mirror is the one that apt is set up to use;
# NPU_DEBIAN_MIRROR names another.
#
# A tree that is complete is left alone. After an interruption what was fetched is used again.
# --with adds packages: coccinelle,python3-dev for make lint.
set -u
. "$(dirname "$0")/guest-lib.sh"
. "$guest_scripts/apt-lib.sh"

# What is unpacked, each with what it depends on. tiny-initramfs only stands in for the generator
# that the kernels ask for. The kernels follow, by their headers.
packages=(qemu-system-x86 busybox-static gcc libc6-dev make kmod cpio mawk tiny-initramfs
	bash coreutils dash diffutils findutils grep gzip perl sed sparse tar xz-utils zstd)
# Grows when the same packages make another root.
recipe=3
# What is taken from backports, before Debian 13's own.
backports='qemu-system-* seabios ipxe-qemu linux-*'
# Left out of each package: what no guest has a use for.
leave_out=(usr/share/{doc,info,locale,man,lintian,bash-completion} usr/lib/debug
	usr/lib/modules/*/kernel/{sound,drivers/{net,infiniband,scsi,iio,gpu/drm/{amd,i915,xe,nouveau,radeon}}})

say()
{
	printf '%s\n' "guest-root: $*" >&2
}

# --- apt with a state of its own ---

# newest_kernel PATTERN: of the kernels that a metapackage of either suite asks for, the newest
# whose Debian version matches.
newest_kernel()
{
	apt-cache show linux-headers-amd64 | awk -v pattern="$1" '
		/^Version:/ { wanted = $2 ~ pattern }
		/^Depends:/ && wanted && match($0, /linux-headers-[0-9][^ ,]*/) {
			print substr($0, RSTART + 14, RLENGTH - 14)
		}' | sort -V | tail -n 1
}

# Leave every package that is needed in $apt/cache/archives.
fetch()
{
	local stable backport

	apt_setup "$apt" trixie trixie-updates trixie-backports
	say "reading the package lists"
	apt-get -q update >"$log" 2>&1 ||
		die "apt-get update failed for Debian 13:"$'\n'"$(tail -n 5 "$log")"
	stable=$(newest_kernel '^[^~]*$')
	backport=$(newest_kernel '~bpo')
	[ -n "$stable" ] && [ -n "$backport" ] ||
		die "the mirror has no kernels for Debian 13 and its backports"
	say "fetching QEMU, kernels $stable and $backport, compiler"
	apt-get -q -y --download-only install "${packages[@]}" \
		linux-{headers,image}-{"$stable","$backport"} >"$log" 2>&1 ||
		die "apt-get could not fetch the packages:"$'\n'"$(grep -v '^Get:' "$log" | tail -n 20)"
	(cd "$apt" && apt-get -q download "linux-source-$(cut -d. -f1,2 <<<"$backport")") \
		>"$log" 2>&1 ||
		die "apt-get could not fetch the kernel's source:"$'\n'"$(tail -n 5 "$log")"
}

# --- unpacking ---

unpack()
{
	local dir option=()

	for dir in "${leave_out[@]}"; do
		option+=(--exclude="./$dir")
	done
	rm -rf --one-file-system "$new"
	mkdir -p "$new/usr"/{bin,sbin,lib,lib64} "$new"/{dev,proc,src,tmp,etc}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$new/$dir"
	done
	# Without -p: what is set-uid in a package is not so here.
	export new
	printf '%s\0' "$apt"/cache/archives/*.deb | xargs -0 -n 1 -P "$(nproc)" bash -c '
		dpkg-deb --fsys-tarfile "${@: -1}" | tar -x -C "$new" -m --no-same-owner --no-same-permissions \
			--keep-directory-symlink "${@:1:$# - 1}" && exit "${PIPESTATUS[0]}"' unpack "${option[@]}" ||
		die "a package could not be unpacked (no space left?); the rest of a failed fetch: rm -r $apt"
}

# Out of the kernel's source package, with the paths of a kernel tree: its harness for selftests,
# and what it checks sources with. The headers call a script that they lack.
kselftest=(tools/scripts scripts/{Makefile.compiler,subarch.include}
	tools/testing/selftests/{Makefile,lib.mk,run_kselftest.sh,kselftest_install.sh,kselftest.h}
	tools/testing/selftests/{kselftest_harness.h,kselftest_deps.sh,kselftest})
checks=(scripts/{checkpatch.pl,checker-valid.sh,spelling.txt,const_structs.checkpatch,coccinelle})
unpack_source()
{
	local dir=$new/usr/src/kselftest scripts

	mkdir -p "$dir"
	dpkg-deb --fsys-tarfile "$apt"/linux-source-*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		guest_root=$new root_run xz -dc -T0 |
		tar -x -C "$dir" --no-same-owner --strip-components=1 --no-wildcards-match-slash \
			--wildcards "${kselftest[@]/#/*/}" "${checks[@]/#/*/}" ||
		die "the kernel's source package lacks one of: ${kselftest[*]} ${checks[*]}"
	for scripts in "$new"/usr/lib/linux-kbuild-*/scripts; do
		[ -e "$scripts/checker-valid.sh" ] ||
			cp "$dir/scripts/checker-valid.sh" "$scripts" || exit 1
	done
}

# What configuring the packages would have done and the programs here need.
finish()
{
	local tool

	ln -sf mawk "$new/usr/bin/awk"
	for tool in depmod insmod lsmod modinfo modprobe rmmod; do
		ln -sf kmod "$new/usr/bin/$tool"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$new/etc/passwd"
	printf 'root:x:0:\n' >"$new/etc/group"
}

# check: the tree does what it is for, before it gets its name.
check()
{
	local guest_root=$new kernel

	root_run qemu-system-x86_64 -device help 2>&1 | grep -q '"vfio-user-pci"' ||
		die "the QEMU of Debian 13's backports has no vfio-user-pci"
	for kernel in $(guest_kernels); do
		guest_vmlinuz "$kernel" >/dev/null
	done
	[ "$(guest_kernels | wc -l)" -ge 2 ] ||
		die "two kernels were expected, there are: $(guest_kernels)"
}

with=()
while [ $# -gt 0 ]; do
	case $1 in
	--with)	IFS=, read -ra with <<<"${2:?--with needs package names}"; shift 2 ;;
	*)	die "usage: guest-root.sh [--with PACKAGE[,PACKAGE...]]" ;;
	esac
done

mkdir -p "$NPU_GUEST" || exit 1
NPU_GUEST=$(cd "$NPU_GUEST" && pwd)
guest_root=$NPU_GUEST/root
apt=$NPU_GUEST/apt
new=$NPU_GUEST/root.new
log=$NPU_GUEST/root.log
exec 9>"$NPU_GUEST/.lock"
flock -n 9 || { say "waiting for another guest-root.sh"; flock 9; }

# The tree says what it was made from; it also serves when it has more than is asked for.
have=$(cat "$guest_root/.packages" 2>/dev/null)
missing=()
[[ $have =~ ^recipe-([0-9]+) && ${BASH_REMATCH[1]} -ge $recipe ]] || missing=(recipe)
for package in "${packages[@]}" "${with[@]}"; do
	[[ " $have " == *" $package "* ]] || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0
for package in ${have#recipe-* }; do
	[[ " ${packages[*]} ${with[*]} " == *" $package "* ]] || with+=("$package")
done
packages+=("${with[@]}")

fetch
say "unpacking"
unpack
unpack_source
finish
check
echo "recipe-$recipe ${packages[*]}" >"$new/.packages"
rm -rf --one-file-system "$guest_root"
mv "$new" "$guest_root" || exit 1
rm -rf "$apt" "$log"
say "$guest_root is ready: $(root_run qemu-system-x86_64 --version | head -n 1), kernels" \
	$(guest_kernels)
