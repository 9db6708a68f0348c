#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The examples build with what pkg-config says of an installed library, and run: two queues; an
# operator of the program's own; two models on one frame (tests/e2e and tests/guest have more of
# that).
. tests/tap.sh

root=$tap_tmp/root
tap_run "make install" make --no-print-directory BUILD="$NPU_BUILD" DESTDIR="$root" \
	PREFIX=/opt/npu install
export PKG_CONFIG_PATH=$root/opt/npu/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
tap_run "examples/two_queues.c compiles" ${CC:-gcc} -std=c11 -Wall -Wextra -Werror \
	-o "$tap_tmp/two_queues" examples/two_queues.c $(pkg-config --cflags --libs libnpu) -pthread
export LD_LIBRARY_PATH=$root/opt/npu/lib
out=$("$tap_tmp/two_queues" tests/data/golden-1.0-mnist.npu 2>&1 | sort)
tap_is "$out" $'thread 0: 8 runs done\nthread 1: 8 runs done' "and runs a model from two threads"
out=$("$tap_tmp/two_queues" /proc/nonexistent.npu 2>&1)
tap_is "$? $out" "1 /proc/nonexistent.npu: No such file or directory" \
	"its error is the library's reason"

tap_run "examples/host_op.c compiles" ${CC:-gcc} -std=c11 -Wall -Wextra -Werror \
	-o "$tap_tmp/host_op" examples/host_op.c $(pkg-config --cflags --libs libnpu)
# y = Add(Threshold(x), Threshold(x)) on six floats, byte by byte.
perl -e '
	sub field { my ($n, $v) = @_; return chr($n * 8 + 2) . chr(length $v) . $v; }
	sub value { my ($name) = @_; return field(1, $name) . field(2, field(1, chr(8) . chr(1) . field(2, field(1, chr(8) . chr(6))))); }
	my $level = field(1, "level") . chr(0x15) . pack("f<", 1.5) . chr(0xa0) . chr(1) . chr(1);
	my $own = field(1, "x") . field(2, "a") . field(3, "own") . field(4, "Threshold") . field(5, $level) . field(7, "example");
	my $add = field(1, "a") . field(1, "a") . field(2, "y") . field(3, "add") . field(4, "Add");
	my $graph = field(1, $own) . field(1, $add) . field(2, "g") . field(11, value("x")) . field(12, value("y"));
	my $sets = field(8, field(1, "") . chr(16) . chr(17)) . field(8, field(1, "example") . chr(16) . chr(1));
	print chr(8) . chr(8) . chr(0x3a) . pack("C2", 0x80 | length($graph) & 0x7f, length($graph) >> 7) . $graph . $sets;
' >"$tap_tmp/own.onnx"
out=$("$tap_tmp/host_op" "$tap_tmp/own.onnx" 2>&1)
tap_is "$? $(tail -n 1 <<<"$out")" "0 y: 0 0 0 0 4 6" "and a model with its operator runs"
tap_like "$out" 'own +Threshold +host' "as a host step"
out=$("$NPU_BUILD/npu-compile" "$tap_tmp/own.onnx" -o "$tap_tmp/own.npu" 2>&1)
tap_is "$?" 1 "which npu-compile alone refuses"
tap_like "$out" "Threshold" "by its name"

tap_run "examples/pipeline compiles" ${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror \
	-o "$tap_tmp/pipeline" examples/pipeline/*.c $(pkg-config --cflags --libs libnpu)
tap_run "examples/select_box.c compiles" ${CC:-gcc} -std=c11 -Wall -Wextra -Werror \
	-o "$tap_tmp/select_box" examples/select_box.c -lm
tap_run "and writes a model" "$tap_tmp/select_box" 128 640x480 1.2 "$tap_tmp/select.onnx"
tap_run "that the NPU runs" "$NPU_BUILD/npu-compile" -q --fail-on-host --precision f32 \
	"$tap_tmp/select.onnx" -o "$tap_tmp/select.npu"
golden=tests/data/golden-1.0-mnist.npu
out=$("$tap_tmp/pipeline" --npu sim --file /dev/null $golden $golden $golden 2>&1)
tap_is "$? $out" "1 pipeline: $golden takes no frames: npu-compile --input-format" \
	"models without frames are refused"
tap_done
