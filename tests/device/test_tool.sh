#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-vdev as a program: its options and what it says about wrong ones, its control socket, its end,
# and the tables of its guide.
. tests/tap.sh

vdev=$NPU_BUILD/npu-vdev
guide=Documentation/virtual-device.md
on=("$vdev" --socket "$tap_tmp/s")
ctl=("$vdev" --ctl "$tap_tmp/c")

# --- options ---

tap_run '--help' "$vdev" --help
tap_run '--version' "$vdev" --version
tap_refused '--socket PATH is missing' 'a socket is needed' "$vdev"
tap_refused "what is 'x'" 'words that are no options' "${on[@]}" x
tap_refused 'npu-vdev --help' 'an unknown option' "$vdev" --nothing
tap_refused "engines two: expected a number" '--engines two' "${on[@]}" --engines two
tap_refused "queues -1: expected a number" '--queues -1' "${on[@]}" --queues=-1
# The bounds of each number, which is a mistake on the command line when it is beyond them.
mistake()
{
	local want=$1 out status
	shift
	out=$("${on[@]}" "$@" 2>&1)
	status=$?
	tap_is "$status" 2 "$*: exit status 2"
	tap_like "$out" "$want" "it says: $(head -1 <<<"$out")"
}
bounds()
{
	local number
	for number in $4; do
		mistake "$1 $number: expected a number from $2 to $3$" "$1" "$number"
	done
}
bounds --engines 1 8 "0 9 4294967296 two"
bounds --queues 1 256 "0 257 99999999999999999999"
bounds --threads 0 256 "257 4294967296"
bounds --fw-gdb 0 65535 "65536"
bounds --irq-gap 0 1000000 "1000001 4294967295"
mistake 'mac_rows is 65536, it must be 1 to 65535' --mac 65536x1
mistake 'mac_rows is 0' --mac 0x40
mistake 'mac_cols is 0' --mac 64x0
mistake 'sram_size is 4097, it must be a multiple' --sram 4097
mistake 'sram 0x1000: expected a size' --sram 0x1000
tap_refused "mac 64: expected two numbers as in 64x64" '--mac 64' "${on[@]}" --mac 64
tap_refused "sram 1T: expected a size" '--sram 1T' "${on[@]}" --sram 1T
tap_refused "sram 4096M: expected a size below 4G" '--sram 4096M' "${on[@]}" --sram 4096M
tap_refused "simd mmx: expected an instruction set" '--simd mmx' "${on[@]}" --simd mmx
tap_refused '/proc/nonexistent/log' '--log in no folder' "${on[@]}" --log /proc/nonexistent/log
tap_refused '/proc/nonexistent/s' 'a socket in no folder' "$vdev" --socket /proc/nonexistent/s
tap_refused 'which command' '--ctl without a command' "$vdev" --ctl "$tap_tmp/c"
tap_refused 'No such file' '--ctl without a device' "$vdev" --ctl "$tap_tmp/c" status
tap_refused "list nothing: expected faults or counters" '--list nothing' "$vdev" --list nothing

# --- a device ---

"${on[@]}" --control "$tap_tmp/c" --engines 2 --mac 32x16 --sram 1M --queues 16 \
	--echo --log "$tap_tmp/log" &
pid=$!
for ((i = 0; i < 500; i++)); do
	"${ctl[@]}" status >/dev/null 2>&1 && break
	sleep 0.02
done
tap_like "$("${ctl[@]}" status)" '^\{"ok":true,"client":false,.*"engines":2,"queues":16,' status
tap_run 'arm' "${ctl[@]}" arm worker-abort 2
tap_like "$("${ctl[@]}" faults)" '"worker-abort","kind":"fault","armed":2,' 'it is armed'
tap_refused 'no such fault' 'arm nothing' "${ctl[@]}" arm nothing
"${ctl[@]}" kill >/dev/null 2>&1
tap_like "$("${ctl[@]}" faults)" '"worker-abort","kind":"fault","armed":2,' \
	'still when the worker has died'
tap_like "$(cat "$tap_tmp/log")" 'worker died \(signal 9\), no client' 'the log says so'
tap_refused 'in use by another process' 'a second device on the same socket' "${on[@]}"
kill -TERM $pid
wait $pid
tap_is $? 0 'SIGTERM ends it, status 0'
tap_is "$(ls "$tap_tmp")" log 'the sockets are gone'

# What is left over by one that was killed is replaced.
"${on[@]}" --no-supervisor --log none &
pid=$!
while [ ! -S "$tap_tmp/s" ]; do sleep 0.02; done
kill -KILL $pid
wait $pid 2>/dev/null
"${on[@]}" --control "$tap_tmp/c" --no-supervisor --log none &
pid=$!
for ((i = 0; i < 500; i++)); do
	"${ctl[@]}" status >/dev/null 2>&1 && break
	sleep 0.02
done
tap_run 'a socket left over is replaced' "${ctl[@]}" status
kill -INT $pid
wait $pid
tap_is $? 0 'SIGINT ends it, in one process as well'

# --- the guide ---

for what in faults counters; do
	"$vdev" --list $what >"$tap_tmp/$what"
	# The lines stand in the guide one after the other.
	perl -0777 -e 'my ($t, $g) = map { open my $f, "<", $_ or die; <$f> } @ARGV;
		exit(index($g, $t) < 0)' "$tap_tmp/$what" $guide
	tap_result $? "the table of $what in $guide is the program's"
done
for word in $("$vdev" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
	grep -q -- "$word" $guide || missing+=" $word"
done
tap_is "${missing:-}" ' --help --version' 'all other options are in the guide'
tap_done
