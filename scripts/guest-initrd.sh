#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest-initrd.sh [--modules DIR] KERNEL: make build/guest/initrd-KERNEL.cpio and print its path.
#
# KERNEL is one of the root's, or any when --modules gives its /lib/modules/KERNEL. In it are
# busybox, the init beside this script, the kernel modules of the table below with what they depend
# on, and of what has been built: npu.ko, the firmware, the selftests, and npu-run and the other
# tools with the libraries of this machine that they are linked to (so a guest of any age runs
# them). The archive is not compressed, nor are the modules in it: the guest's processor is slow,
# reading memory is not. When nothing it is made from is newer, it is left alone.
set -u
here=$(dirname "$(readlink -f "$0")")
. "$here/guest-lib.sh"

# Module : what the guest needs it for. A kernel that has one built in, or not at all, goes without;
# what misses it says so.
modules()
{
	cat <<-'EOF'
	virtio-iommu:--iommu virtio
	9p:--share
	9pnet_virtio:--share
	drm:npu.ko
	drm_exec:npu.ko
	drm_gpuvm:npu.ko
	drm_shmem_helper:npu.ko
	gpu-sched:npu.ko
	vgem:another device's buffers, for tests
	vivid:a camera, for tests
	EOF
}

# What is put on the initrd when it has been built : where.
built()
{
	cat <<-EOF
	$guest_out/modules/$kernel/npu.ko:lib/modules/$kernel/extra/npu.ko
	$NPU_BUILD/firmware/npu_fw.bin:lib/firmware/npu/npu_fw.bin
	$NPU_BUILD/npu-run:usr/bin/npu-run
	$NPU_BUILD/npu-cam:usr/bin/npu-cam
	$NPU_BUILD/npu-ocr:usr/bin/npu-ocr
	$NPU_BUILD/npu-llm:usr/bin/npu-llm
	$NPU_BUILD/npu-compile:usr/bin/npu-compile
	EOF
}

# --- kernel modules ---

# add_module NAME: with its dependencies, depth first; - and _ are the same in names.
declare -A added
add_module()
{
	local name=${1//-/_} path dependency

	[ -n "${added[$name]:-}" ] && return
	added[$name]=1
	path=${module_path[$name]:-}
	[ -n "$path" ] || return 0
	for dependency in $(root_run modinfo -F depends "$path" | tr ',' ' '); do
		add_module "$dependency"
	done
	wanted+=("$path")
}

# Decompressed: what loads them in the guest need not know how.
put_modules()
{
	local path name target dir=$tree/lib/modules/$kernel
	declare -A module_path
	local wanted=()

	while read -r path; do
		name=${path##*/}
		name=${name%%.ko*}
		module_path[${name//-/_}]=$path
	done < <(find "$modules/kernel" -name '*.ko*')
	while IFS=: read -r name _; do
		add_module "$name"
	done < <(modules)
	mkdir -p "$dir/kernel"
	for path in "${wanted[@]}"; do
		target=$dir/kernel/$(basename "${path%.ko*}").ko
		case $path in
		*.xz)	root_run xz -dc "$path" >"$target" ;;
		*.zst)	root_run zstd -qdc "$path" >"$target" ;;
		*.gz)	gzip -dc "$path" >"$target" ;;
		*)	cp "$path" "$target" ;;
		esac || die "cannot unpack $path"
	done
	[ -e "$modules/modules.builtin" ] && cp "$modules"/modules.{order,builtin,builtin.modinfo} \
		"$dir"
	return 0
}

# --- programs ---

# put_program FILE TARGET: with the libraries it is linked to, at the places its loader looks.
put_program()
{
	local library

	install -D "$1" "$tree/$2"
	case $1 in
	*.bin)	return ;;
	esac
	# Debug information would be most of it; who debugs has the file that this one is made from.
	root_run strip -g "$tree/$2" || die "cannot strip $1"
	for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
		[ -e "$tree$library" ] || install -D "$library" "$tree$library"
	done
}

# Static programs and scripts, as `make selftests` leaves them.
put_selftests()
{
	[ -d "$selftests" ] || return 0
	mkdir -p "$tree/usr/lib/npu"
	cp -r "$selftests" "$tree/usr/lib/npu/selftests"
}

# node_rights: the rights that the udev rule of a real system gives to the device's node, for mdev.
node_rights()
{
	local rule=$here/../driver/70-npu.rules group mode

	[ -e "$rule" ] || rule=$here/70-npu.rules
	group=$(sed -n 's/^SUBSYSTEM=="accel".* GROUP="\([a-z]*\)".*/\1/p' "$rule")
	mode=$(sed -n 's/^SUBSYSTEM=="accel".* MODE="0\([0-7]*\)".*/\1/p' "$rule")
	[ -n "$group" ] && [ -n "$mode" ] || die "there is no rule for the device in $rule"
	echo "root:$group $mode"
}

put_base()
{
	local applet rights

	rights=$(node_rights) || exit

	mkdir -p "$tree"/{bin,sbin,etc,dev,proc,sys,run,tmp,root,mnt,usr/bin,usr/lib,lib,lib64}
	install "$guest_root/usr/bin/busybox" "$tree/bin/busybox"
	for applet in $(root_run busybox --list); do
		[ "$applet" = busybox ] || ln -s /bin/busybox "$tree/bin/$applet"
	done
	ln -s /bin/modprobe "$tree/sbin/modprobe"
	install "$here/guest-init" "$tree/init"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$tree/etc/passwd"
	printf 'root:x:0:\nrender:x:104:\nnogroup:x:65534:\n' >"$tree/etc/group"
	printf 'accel/accel[0-9]+ %s\n.* root:root 600\n' "$rights" >"$tree/etc/mdev.conf"
}

# --- is there anything to do? ---

# inputs: every file that it is made from.
inputs()
{
	local source target

	printf '%s\n' "$here"/guest-{init,initrd.sh,lib.sh} "$guest_root/.packages"
	ls "$here"/{../driver/,}70-npu.rules 2>/dev/null
	while IFS=: read -r source target; do
		[ -e "$source" ] && echo "$source"
	done < <(built)
	[ -d "$selftests" ] && find "$selftests"
}

current()
{
	[ -e "$archive" ] && inputs | cmp -s - "$archive.inputs" &&
		[ -z "$(inputs | xargs -d '\n' -I{} find {} -maxdepth 0 -newer "$archive" 2>&1 | head -n 1)" ]
}

modules=
while [ $# -gt 0 ]; do
	case $1 in
	--modules) modules=${2:?--modules needs a folder}; shift 2 ;;
	-*)	die "unknown option $1" ;;
	*)	break ;;
	esac
done
[ $# = 1 ] || die "usage: guest-initrd.sh [--modules DIR] KERNEL"
[ -e "$guest_root/.packages" ] || die "there is no $guest_root: make guest-root"
if [ -n "$modules" ]; then
	kernel=$1
else
	kernel=$(guest_kernel "$1") || exit 1
	modules=$guest_root/usr/lib/modules/$kernel
fi
[ -d "$modules/kernel" ] || die "there are no modules of kernel $kernel in $modules"

mkdir -p "$guest_out" || exit 1
archive=$guest_out/initrd-$kernel.cpio
selftests=$guest_out/selftests
exec 9>"$guest_out/.initrd-$kernel.lock"
flock 9
if ! current; then
	tree=$(mktemp -d "$guest_out/tree.XXXXXX") || exit 1
	trap 'rm -rf --one-file-system "$tree"' EXIT
	put_base
	put_modules
	while IFS=: read -r source target; do
		[ -e "$source" ] && put_program "$source" "$target"
	done < <(built)
	put_selftests
	root_run depmod -b "$tree" "$kernel" || die "depmod failed for kernel $kernel"
	inputs >"$archive.inputs"
	(cd "$tree" && find . -mindepth 1 | sort | root_run cpio -o -H newc --quiet -R 0:0) \
		>"$archive.new" ||
		die "cannot write $archive"
	mv "$archive.new" "$archive"
fi
echo "$archive"
