#!/bin/bash
# SPDX-License-Identifier: MIT
#
# lint.sh [KERNEL | checkpatch | kernel-doc | coccinelle]...: what the kernel's own tools say of
# driver/ and uapi/, nothing where all is well. For a kernel of the guest's root: sparse, and the
# warnings of W=1. checkpatch.pl --strict also looks at selftests/. Without an argument all of it;
# the semantic patches of coccinelle then only if it is there (make guest-root
# WITH=coccinelle,python3-dev).
set -u
. "$(dirname "$(readlink -f "$0")")/guest-lib.sh"
top=$(dirname "$guest_scripts")
checks=$guest_root/usr/src/kselftest/scripts
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# What is not heeded, of everything: tables of X(name, code, text), of which a use takes some
# columns and the table itself is a list and no value.
ignore=MACRO_ARG_UNUSED,MACRO_ARG_REUSE,COMPLEX_MACRO
# Of some files. npu_trace.h has the layout of all trace events. Headers that user space has, too,
# can not use BIT() or static_assert(). selftests/ is user space: no u32, no ARRAY_SIZE(), memory
# that a device writes is volatile, and the * behind FIXTURE_DATA() is a pointer's.
ignore_for()
{
	case $1 in
	driver/npu_trace.h)	echo ",PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE" ;;
	uapi/npu_hw.h)		echo ",BIT_MACRO,CAMELCASE" ;;
	selftests/*)		echo ",PREFER_KERNEL_TYPES,ARRAY_SIZE,SPACING,VOLATILE,MULTIPLE_ASSIGNMENTS" ;;
	esac
}

# The files of uapi/ that the kernel does not compile or include (npu_isa_*.[ch], npu_half.h) are in
# the style of libnpu, whose compiler warnings and clang-tidy they pass; they are not looked at
# here.
run_checkpatch()
{
	local files=() file

	# Where it keeps notes, and looks for a kernel tree's names in CamelCase.
	rm -rf "$guest_out/lint/checkpatch"
	mkdir -p "$guest_out/lint/checkpatch/include"
	for file in $(cd "$top" &&
		echo driver/*.[ch] uapi/npu_hw.h uapi/drm/*.h selftests/*.[ch]); do
		files+=("$file:$ignore$(ignore_for "$file")")
	done
	cd "$guest_out/lint/checkpatch" || exit 1
	printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} sh -c '
		perl "$0" --root=. --no-tree --strict --terse --show-types --no-summary \
			--ignore "${2#*:}" -f "$1/${2%%:*}" 2>&1' "$checks/checkpatch.pl" "$top" {} |
		sed "s#^$top/##"
}

# Comments that are for kernel-doc, of headers as well, which W=1 does not look at. The script comes
# with the older kernel's headers; in a structure within a structure it does not see to which one a
# DECLARE_BITMAP() belongs.
run_kernel_doc()
{
	local scripts=("$guest_root"/usr/lib/linux-kbuild-*/scripts/kernel-doc)

	[ -e "${scripts[0]}" ] || die "there is no kernel-doc in $guest_root: make guest-root"
	cd "$top" || exit 1
	perl "${scripts[0]}" -none -Wall driver/*.[ch] uapi/npu_hw.h uapi/drm/*.h 2>&1 |
		sed -e "/'ctx_used' not described in 'npu_device'/d"
}

# sparse 0.6.4 does not know two builtins of newer kernels: the one differs from typeof in
# qualifiers alone, the other is wanted of literals where a constant has to be.
stand_ins="-D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s) - 1)'"
run_sparse()
{
	local dir=$guest_out/lint/$1 file

	mkdir -p "$dir/scripts"
	guest_sync "$top/driver" "$dir/driver"
	guest_sync "$top/uapi" "$dir/uapi"
	for file in Kbuild scripts/probe.sh; do
		cmp -s "$top/$file" "$dir/$file" || install -D "$top/$file" "$dir/$file"
	done
	# Warnings of an object that is new are not repeated.
	find "$dir/driver" -name '*.o' -delete
	root_enter "$dir" make -s -j "$(nproc)" -C "/usr/lib/modules/$1/build" M=/src W=1 C=2 \
		CHECK="sparse $stand_ins" modules 2>&1 |
		sed -e 's#\(^\|[^a-z]\)/src/#\1#g' -e '/^Skipping BTF generation/d'
	[ "${PIPESTATUS[0]}" = 0 ] || echo "the modules do not build for kernel $1"
}

# Two patches are scripts in OCaml, which is not there. Remarks about the patches themselves are
# none about the driver.
run_coccinelle()
{
	local dir=$guest_out/lint/coccinelle

	[ -x "$guest_root/usr/bin/spatch" ] ||
		die "no spatch: make guest-root WITH=coccinelle,python3-dev"
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$top/driver" "$top/uapi" "$checks/coccinelle" "$dir"
	root_enter "$dir" sh -c '
		for patch in $(find coccinelle -name "*.cocci" | sort); do
			grep -q "^virtual.*report" "$patch" && ! grep -q "script:ocaml" "$patch" || continue
			options=$(sed -n "s#^// *Options: *##p" "$patch" | head -n 1)
			spatch -D report --very-quiet --no-show-diff $options \
				--cocci-file "$patch" --dir driver -I driver -I uapi 2>&1
		done' | sed -e '/^warning: line .* should .* be a metavariable/d' -e '/^$/d'
}

[ -e "$checks/checkpatch.pl" ] || die "there is no $checks/checkpatch.pl: make guest-root"
what=("$@")
if [ $# = 0 ]; then
	what=($(guest_kernels) checkpatch kernel-doc)
	[ ! -x "$guest_root/usr/bin/spatch" ] || what+=(coccinelle)
fi
mkdir -p "$guest_out" || exit 1
exec 9>"$guest_out/.lint.lock"
flock 9
for each in "${what[@]}"; do
	case $each in
	checkpatch | kernel-doc | coccinelle) ("run_${each/-/_}") ;;
	*) run_sparse "$(guest_kernel "$each")" || exit 1 ;;
	esac
done | tee "$said"
[ ! -s "$said" ]
