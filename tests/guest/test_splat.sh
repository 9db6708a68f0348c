#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A module that is built against each kernel of the root loads there, and what it does wrong when it
# is told to is noticed, under the name of the program that did it.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

kinds="warn leak error refcount expected_warn oops"	# a module that oopses cannot be unloaded
scripts/modules.sh --source tests/guest/splat -s >"$tap_tmp/build.log" 2>&1
tap_result $? "a module builds against every kernel" || tap_diag "$(tail -n 20 "$tap_tmp/build.log")"
tap_is "$(awk '$2 ~ /guest\/root/' /proc/self/mounts)" "" "building leaves nothing mounted"

for kernel in $(guest_kernels); do
	name="${kernel%%+*} splat"
	over=$tap_tmp/splat-$kernel
	mkdir -p "$over"
	cp "$guest_out/modules/$kernel/splat/npu_splat.ko" "$over"
	programs=()
	for kind in $kinds; do
		ln -sf "$PWD/tests/guest/in/splat.sh" "$over/splat_$kind"
		ln -sf "$PWD/tests/guest/in/ktap.sh" "$over/ktap.sh"
		programs+=("/splat_$kind")
	done
	guest_boot "$name" "$kernel" none --overlay "$over" -- "${programs[@]}"
	tap_is $? 0 "$name: the guest ran and ended"
	out=$(perl tests/guest/fold.pl "$guest_log" "${programs[@]}")
	tap_like "$out" $'not\tthe kernel says nothing it should not' "$name: it is noticed"
	tap_like "$out" $'/splat_warn: [^\n]*WARNING: ' "$name: a warning"
	tap_like "$out" $'/splat_oops: [^\n]*BUG: ' "$name: an oops"
	tap_like "$out" $'/splat_leak: [^\n]*leaked' "$name: a leak that the kernel reports"
	tap_like "$out" $'/splat_error: [^\n]*npu_splat: an error' "$name: an error"
	tap_like "$out" $'/splat_refcount: [^\n]*refcount_t' "$name: a wrong reference count"
	tap_is "$(grep -c 'diag./splat_expected_warn' <<<"$out")" 0 "$name: a warning that was announced is none"
	tap_is "$(grep -c '^ok./splat' <<<"$out")" 6 "$name: each program's result is there"
done
tap_done
