#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-qemu: its status is the command's, what goes wrong is said, and nothing is left behind.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

qemu=tools/npu-qemu/npu-qemu
export TMPDIR=$tap_tmp/run
mkdir "$TMPDIR"

# left TEXT: no process and no folder of npu-qemu is there any more.
left()
{
	local i

	for ((i = 0; i < 50; i++)); do
		[ -z "$(ls "$TMPDIR"; pgrep -f "$TMPDIR")" ] && break
		sleep 0.1
	done
	tap_is "$(ls "$TMPDIR"; pgrep -af "$TMPDIR")" "" "$1: nothing is left"
}

# refused REGEX TEXT COMMAND...: it does not start anything, and says why.
refused()
{
	local out

	out=$("${@:3}" 2>&1 </dev/null)
	tap_is $? 125 "$2: refused"
	tap_like "$out" "$1" "$2: with the reason"
}

# --- arguments ---
tap_like "$("$qemu" --help)" '--iommu KIND' "--help"
refused "no kernel '9\.9'.*there are: [0-9]" "a kernel that is not there" "$qemu" --npus 0 --kernel 9.9
refused "there is no kernel '/no/such'" "an image that is not there" "$qemu" --npus 0 --kernel /no/such
refused "not a bzImage" "an image that is none" "$qemu" --npus 0 --kernel ./Makefile
refused "--iommu 'arm': none, intel or virtio" "an unknown IOMMU" "$qemu" --iommu arm
refused "--memory 'lots'" "a size that is none" "$qemu" --memory lots
refused "--npus '9': a number from 0 to 8" "too many devices" "$qemu" --npus 9
refused "--gdb '0'" "a port that is none" "$qemu" --gdb 0
refused "no folder '/no/such'" "a folder that is not there" "$qemu" --npus 0 --share /no/such
refused "unknown option --frob" "an unknown option" "$qemu" --frob 1
refused "--cmd needs a value" "an option without its value" "$qemu" --cmd
refused "unexpected argument 'uname'" "a command without --cmd" "$qemu" uname
refused "no guest in /no/such.*make guest-root" "no root" env NPU_GUEST=/no/such "$qemu" --npus 0 --qemu "$(
	printf '#!/bin/sh\necho \x27name "vfio-user-pci"\x27\n' >"$tap_tmp/qemu"; chmod +x "$tap_tmp/qemu"; echo "$tap_tmp/qemu")"
refused "has no vfio-user-pci; QEMU 10\.1 or newer" "a QEMU that is too old" "$qemu" --npus 0 --qemu /bin/true
refused "no npu-vdev" "a device program that is not there" "$qemu" --vdev /no/such
refused "device did not start.*it is broken" "a device that does not start" "$qemu" --vdev "$(
	printf '#!/bin/sh\necho it is broken\nexit 1\n' >"$tap_tmp/vdev"; chmod +x "$tap_tmp/vdev"; echo "$tap_tmp/vdev")"
refused "--attach '/no/such': no device listens" "a device that does not run" "$qemu" --attach /no/such
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Listen => 1, Local => $ARGV[0]) or die' "$tap_tmp/dev.sock"
refused "--npus '0': a number from 1 to 8" "fewer devices than are attached" "$qemu" --npus 0 --attach "$tap_tmp/dev.sock"
tap_is "$("$qemu" --attach "$tap_tmp/dev.sock" --vdev true --dry-run | grep -c -e '^true --socket')" 0 "a device attached: none is started"
tap_is "$("$qemu" --attach "$tap_tmp/dev.sock" --npus 2 --vdev true --dry-run | grep -c -e '^true --socket.*npu1.sock')" 1 \
	"beside it, one is started with --npus 2"
tap_like "$("$qemu" --npus 0 --iommu intel --dry-run)" 'caching-mode=on.*intel_iommu=on' "--dry-run shows the command line"
left "after all of them"

# --- guests ---
out=$("$qemu" --npus 0 --timeout 120 --cmd 'echo out; echo err >&2; exit 7' 2>&1)
tap_is "$? $out" "7 out"$'\n'"err" "a command's output and status"
left "after it"
mkdir -p "$tap_tmp/over/opt"
head -c 100000 /dev/urandom >"$tap_tmp/over/opt/data"
tap_is "$("$qemu" --npus 0 --timeout 120 --overlay "$tap_tmp/over" --smp 2 --append guest.word=1 --load vgem \
	--cmd 'sha256sum </opt/data; nproc; grep -o guest.word=1 /proc/cmdline; ls /sys/module/vgem/refcnt')" \
	"$(sha256sum <"$tap_tmp/over/opt/data"; printf '2\nguest.word=1\n/sys/module/vgem/refcnt')" \
	"files, processors, words and modules arrive"
"$qemu" --npus 0 --timeout 120 --cmd 'cat /opt/data' --overlay "$tap_tmp/over" >"$tap_tmp/out"
tap_run "output is not changed on its way" cmp "$tap_tmp/out" "$tap_tmp/over/opt/data"
out=$("$qemu" --npus 0 --timeout 2 --cmd 'sleep 100' 2>&1)
tap_is "$?" 124 "a time-out"
tap_like "$out" 'ended after 2 seconds' "is said"
left "after it"
out=$("$qemu" --npus 0 --timeout 120 --cmd 'echo c >/proc/sysrq-trigger; sleep 100' 2>&1)
tap_is "$?" 125 "a guest that panics"
tap_like "$out" 'without a status.*Kernel panic' "is shown with the console's end"
# The guest's processor answers gdb: why it stopped, then what register 16, the program counter, is.
port=$((20000 + RANDOM % 20000))
"$qemu" --npus 0 --gdb $port --cmd 'sleep 100' >/dev/null 2>&1 &
pid=$!
for ((i = 0; i < 100; i++)); do
	exec 4<>"/dev/tcp/127.0.0.1/$port" && break
	sleep 0.2
done 2>/dev/null
printf '$?#3f' >&4
read -r -t 20 -d '#' answer <&4
exec 4>&-
tap_like "$answer" '\$T05' "gdb reaches the guest's processor"
kill $pid
wait $pid
tap_is $? 143 "npu-qemu is killed"
left "after that"
# The processors of two devices answer, too: why it stopped, then register 32, the program counter,
# which is in the firmware. Held meanwhile, it goes on behind that.
port=$((20000 + RANDOM % 20000))
"$qemu" --npus 2 --fw-gdb $port --timeout 120 --cmd 'echo up; sleep 10
	cat /sys/kernel/debug/accel/*/fw_info' >"$tap_tmp/out" 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do
	grep -q up "$tap_tmp/out" && break
	sleep 0.1
done
for number in 0 1; do
	exec 4<>"/dev/tcp/127.0.0.1/$((port + number))"
	printf '$?#3f' >&4
	read -r -t 20 -d '#' answer <&4
	printf '$p20#d2' >&4
	read -r -t 20 -d '#' pc <&4
	printf '$D#44' >&4
	read -r -t 20 -d '#' detached <&4
	exec 4>&-
	tap_like "$answer" '\$S05' "gdb reaches the firmware of device $number"
	tap_like "$pc" '\$[0-9a-f]{4}0[01]00$' "which is in its memory"
	tap_like "$detached" '\$OK' "and lets it go"
done
wait $pid
tap_is "$? $(grep -c '^status: is ready' "$tap_tmp/out")" "0 2" "both are at work afterwards" || tap_diag "$(cat "$tap_tmp/out")"
left "after that"
# --- a shell on the terminal ---
mkfifo "$tap_tmp/keys"
timeout 120 script -qec "stty rows 33 cols 99; $qemu --npus 0" /dev/null <"$tap_tmp/keys" >"$tap_tmp/screen" 2>&1 &
pid=$!
exec 4>"$tap_tmp/keys"
for ((i = 0; i < 600; i++)); do
	grep -q "~ #" "$tap_tmp/screen" && break
	sleep 0.1
done
echo "echo kernel \$(uname -r), terminal \$(stty size); exit" >&4
wait $pid
exec 4>&-
tap_like "$(tr -d "\r" <"$tap_tmp/screen")" "kernel [0-9.]+[^ ]*, terminal 33 99" "a shell, which has the size of the terminal"
left "after its exit"
tap_done
