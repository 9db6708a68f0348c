#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-run --doctor: every condition that it knows is made, must be found, and must be gone once its
# advice was followed. Driver and device nodes are those of a made-up file system (--root).
. tests/tap.sh

run=$NPU_BUILD/npu-run
golden=tests/data/golden-1.0-mnist.npu
mnist=$NPU_MODELS/mnist-8.onnx
job=$tap_tmp/job.npu
root=$tap_tmp/root
mkdir -p "$root"

# found TEXT ADVICE WHAT ARGUMENT...: status 1, one thing is wrong, it says TEXT and ADVICE.
found()
{
	local text=$1 advice=$2 what=$3 out status
	shift 3
	out=$("$run" --doctor --root "$root" "$@" 2>&1)
	status=$?
	tap_is "$status" 1 "$what: exit status 1"
	tap_like "$out" "1 thing is wrong:"$'\n'"\* [^"$'\n'"]*$text" "$what: found"
	tap_like "$out" "-> [^"$'\n'"]*$advice" "$what: advice '$advice'"
}

# gone WHAT ARGUMENT...
gone()
{
	local what=$1 out status
	shift
	out=$("$run" --doctor --root "$root" "$@" 2>&1)
	status=$?
	tap_is "$status" 0 "$what: after its advice exit status 0"
	tap_like "$out" 'all is well' "$what: gone"
}

set_header()
{
	perl tests/run/edit_job.pl "$job" "$@"
}

# What 'compile the model again' comes to.
compile_again()
{
	if [ -e "$mnist" ]; then
		"$NPU_BUILD/npu-compile" -q "$mnist" -o "$job"
	else
		cp "$golden" "$job"
	fi
}

out=$("$run" --doctor --root "$root" "$golden")
tap_is $? 0 "a good job: exit status 0"
totals=$(sed -n 's/^Of the \([0-9]*\) operators of ai.onnx the NPU does \([0-9]*\) .*/\1 operators of ai.onnx \2 on the NPU/p' Documentation/operators.md)
for want in "compiler +.* of ${totals:-what operators.md says}, [0-9]+ on the host" \
	'libnpu +0\.[0-9]' 'compiler +0\.' 'instructions +1\.[0-9]+, [0-9]+ opcodes' \
	'job files +formats 1\.0 to 1\.' \
	'kernel driver +none: not loaded \(there is no /sys/module/npu' \
	'firmware +none: not loaded' \
	'/dev/accel +none: there is no such folder' \
	'device +sim: NPU v1 in process, instruction set 1\.' \
	'processor +.*kernels in use: (portable|avx2|avx512)' \
	'golden-1\.0-mnist\.npu: format 1\.0, instruction set 1\.0, needs libnpu >= 0\.1, made by npu-compile' 'all is well'; do
	tap_like "$out" "$want" "it says '$want'"
done
tap_is "$("$run" --doctor=json "$golden" | node -e '
	const r = JSON.parse(require("fs").readFileSync(0));
	console.log(r.good, r.lines.length, r.lines[0].topic,
		r.lines.at(-1).state)')" \
	"true 12 libnpu good" "the same as JSON"

# ---- files ----
found 'No such file' 'check the name' "a name that is wrong" "$tap_tmp/jop.npu"
cp "$golden" "$job"
gone "a name that is wrong" "$job"

if [ -e "$mnist" ]; then
	found 'not a job file' 'npu-compile makes one from an ONNX model' \
		"a model instead of a job" "$mnist"
	"$NPU_BUILD/npu-compile" -q "$mnist" -o "$job"
	gone "a model instead of a job" "$job"
else
	tap_skip "a model instead of a job" "there is no $mnist"
fi

cp "$golden" "$job"
set_header 28 v 9
found 'made by a newer compiler \(npu-compile 0\.1\.0; format 1\.0, .* needs libnpu >= 9\.1\) than this library \(libnpu 0\.' \
	'compile the model again with this npu-compile, or install libnpu 9\.1' \
	"a newer compiler's file" "$job"
compile_again
gone "a newer compiler's file" "$job"

cp "$golden" "$job"
set_header 26 v 99
found 'instruction set 1\.99' 'compile the model again' "a newer instruction set" "$job"
compile_again
gone "a newer instruction set" "$job"

cp "$golden" "$job"
set_header 72 V 256
found 'needs instructions that device .sim. does not have: opcode \(0xc8\)' \
	'compile the model again' "an opcode that is missing" "$job"
compile_again
gone "an opcode that is missing" "$job"

det=/usr/share/libonnx-testdata/data/node/test_det_2d/model.onnx
if [ -e "$det" ]; then
	"$NPU_BUILD/npu-compile" -q "$det" -o "$job"
	gone "a job with a step on the host" "$job"
	set_header replace Det Dex
	found "host operator" 'compile the model again' "a host operator that is missing" "$job"
	"$NPU_BUILD/npu-compile" -q "$det" -o "$job"
	gone "a host operator that is missing" "$job"
else
	tap_skip "a host operator that is missing" "there is no $det (package libonnx-testdata)"
fi

cp "$golden" "$job"
found 'needs [0-9.]+ KiB of on-chip memory, device .sim:sram=4096. has 4\.0 KiB' 'sim:sram=BYTES' \
	"not enough on-chip memory" -d sim:sram=4096 "$job"
gone "not enough on-chip memory" -d sim:sram=2097152 "$job"

cp "$golden" "$job"
printf 'x' | dd of="$job" bs=1 seek=$(($(stat -c %s "$job") - 9)) conv=notrunc status=none
found '(sum|digest)' 'copy it again' "a damaged file" "$job"
cp "$golden" "$job"
gone "a damaged file" "$job"

cp "$golden" "$job"
set_header 80 V 16
found 'sram_size' 'compile the model again' "a file that contradicts itself" "$job"
compile_again
gone "a file that contradicts itself" "$job"

out=$("$run" --doctor --root "$root" "$tap_tmp/none.npu" "$golden" "$tap_tmp/nil.npu")
tap_like "$out" '2 things are wrong' "every file is looked at"

# ---- the library that programs get ----
mkdir "$tap_tmp/old" "$tap_tmp/other"
cat >"$tap_tmp/old.c" <<'EOC'
#include <stdio.h>
struct npu_error { int code; char text[508]; };
const char *npu_version(void) { return "0.0.9"; }
int npu_abi_check(unsigned major, unsigned minor, struct npu_error *err)
{
	snprintf(err->text, sizeof(err->text), "the program needs libnpu's interface %u.%u, this is 0.0", major, minor);
	return -95;
}
EOC
${CC:-gcc} -shared -fPIC -o "$tap_tmp/old/libnpu.so.0" "$tap_tmp/old.c"
echo 'int nothing;' >"$tap_tmp/other.c"
${CC:-gcc} -shared -fPIC -o "$tap_tmp/other/libnpu.so.0" "$tap_tmp/other.c"
export LD_LIBRARY_PATH=$tap_tmp/old
found 'libnpu 0\.0\.9, which is too old for programs built with the headers of 0\.' \
	'its folder first in LD_LIBRARY_PATH' "an old shared library"
export LD_LIBRARY_PATH=$NPU_BUILD:$tap_tmp/old
gone "an old shared library"
tap_like "$("$run" --doctor)" 'libnpu\.so\.0 +0\.[0-9]' "the right one is found"
export LD_LIBRARY_PATH=$tap_tmp/other
found 'that is not libnpu' 'remove it from the loader' "another library of that name"
rm "$tap_tmp/other/libnpu.so.0"
gone "another library of that name"
unset LD_LIBRARY_PATH

# ---- device, driver, nodes ----
found "there is no device 'gpu'" 'leave out --device' "a device that is not there" -d gpu
gone "a device that is not there"

mkdir -p "$root/sys/module/npu"
found 'kernel driver: npu is loaded, but it has no device' 'rmmod npu' "a module without a device"
rm -r "$root/sys/module/npu"
gone "a module without a device"
mkdir -p "$root/sys/module/npu"
found 'is loaded, but it has no device' 'pci/rescan' "a module without a device"
mkdir -p "$root/dev/accel" "$root/sys/class/accel/accel0/device" "$root/sys/bus/pci/drivers/npu"
touch "$root/dev/accel/accel0"
ln -s ../../../../bus/pci/drivers/npu "$root/sys/class/accel/accel0/device/driver"
gone "a module without a device"
tap_like "$("$run" --doctor --root "$root" -d sim)" 'kernel driver +npu is loaded \(its version is known when' \
	"a driver whose device is not opened"
tap_like "$("$run" --doctor --root "$root")" "/dev/accel/accel0: accelerator of driver 'npu'" \
	"the node is shown with its driver"

# root may open anything, so the finding is another user's.
node=$root/dev/accel/accel0
if [ "$(id -u)" = 0 ]; then
	gid=$(getent group render | cut -d: -f3)
	gid=${gid:-44}
	chmod 755 "$tap_tmp"
	cp "$run" "$tap_tmp/npu-run"
	chown 0:"$gid" "$node"
	chmod 660 "$node"
	as() { setpriv --reuid=65534 --regid=65534 "$@"; }
	out=$(as --clear-groups "$tap_tmp/npu-run" --doctor --root "$root")
	tap_is $? 1 "no permission: exit status 1"
	tap_like "$out" '1 thing is wrong:.*no permission to open /dev/accel/accel0' \
		"no permission: found"
	tap_like "$out" "-> add the user to its group, '$(getent group "$gid" | cut -d: -f1)'" \
		"no permission: advice names the group"
	ln -sfn ../../../../bus/pci/drivers/intel_vpu "$root/sys/class/accel/accel0/device/driver"
	rm -r "$root/sys/module/npu"
	tap_like "$(as --clear-groups "$tap_tmp/npu-run" --doctor --root "$root")" \
		"driver 'intel_vpu'.*all is well" "another maker's accelerator is no fault of ours"
	ln -sfn ../../../../bus/pci/drivers/npu "$root/sys/class/accel/accel0/device/driver"
	out=$(as --groups "$gid" "$tap_tmp/npu-run" --doctor --root "$root")
	tap_is $? 0 "no permission: in the group exit status 0"
	tap_like "$out" 'all is well' "no permission: gone"
else
	chmod 0 "$node"
	out=$("$run" --doctor --root "$root")
	tap_is $? 1 "no permission: exit status 1"
	tap_like "$out" 'no permission to open /dev/accel/accel0.*-> add the user to its group' \
		"no permission: found, with advice"
	chmod 660 "$node"
	gone "no permission"
fi
tap_done
