#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest-selftests.sh [MAKE ARGUMENT...]: build selftests/ for the guest, with the compiler, the
# headers and the kernel's harness of its root, and put the programs in build/guest/selftests/. They
# are static: the guest has no libraries for them.
set -u
. "$(dirname "$0")/guest-lib.sh"

top=$(dirname "$guest_scripts")
[ -e "$guest_root/.packages" ] || die "there is no $guest_root: make guest-root"
mkdir -p "$guest_out" || exit 1
exec 9>"$guest_out/.selftests.lock"
flock 9
dir=$guest_out/selftests-build
for part in selftests uapi; do
	guest_sync "$top/$part" "$dir/$part"
done
root_enter "$dir" make -s -j "$(nproc)" -C selftests KSELFTEST=/usr/src/kselftest \
	USERLDFLAGS=-static USERCFLAGS=-Werror "$@" 2>&1 | sed -e 's#\(^\|[^a-z]\)/src/#\1#g' >&2
[ "${PIPESTATUS[0]}" = 0 ] || die "the selftests do not build"

# What is there is what is built: a test that is gone does not stay.
mkdir -p "$guest_out/selftests"
for file in "$guest_out/selftests"/*; do
	[ -x "$dir/selftests/${file##*/}" ] || rm -f "$file"
done
find "$dir/selftests" -maxdepth 1 -type f -perm -u+x | while read -r file; do
	cmp -s "$file" "$guest_out/selftests/${file##*/}" || cp "$file" "$guest_out/selftests"
done
