#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The example builds with what pkg-config says of an installed library, and runs two queues.
. tests/tap.sh

root=$tap_tmp/root
tap_run "make install" make --no-print-directory BUILD="$NPU_BUILD" DESTDIR="$root" PREFIX=/opt/npu install
export PKG_CONFIG_PATH=$root/opt/npu/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
tap_run "examples/two_queues.c compiles" ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -o "$tap_tmp/two_queues" \
	examples/two_queues.c $(pkg-config --cflags --libs libnpu) -pthread
export LD_LIBRARY_PATH=$root/opt/npu/lib
out=$("$tap_tmp/two_queues" tests/data/golden-1.0-mnist.npu 2>&1 | sort)
tap_is "$out" $'thread 0: 8 runs done\nthread 1: 8 runs done' "and runs a model from two threads"
out=$("$tap_tmp/two_queues" /nonexistent.npu 2>&1)
tap_is "$? $out" "1 /nonexistent.npu: No such file or directory" "its error is the library's reason"
tap_done
