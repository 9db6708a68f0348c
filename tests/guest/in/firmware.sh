#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: firmware files with something wrong (tests/guest/wrong_firmware.c) are refused by what
# is wrong, and the device works as soon as there is the right one, or one that speaks older ABIs, or
# newer ones, too. A firmware whose priorities are reversed serves queues in the reversed order; those
# that lose a doorbell, or whom to tell of a job's end, are noticed, too.
. "${0%/*}/ktap.sh"
selftests=/usr/lib/npu/selftests
files=/mnt/host/firmware
mutants=/mnt/host/mutants
driver=/sys/bus/pci/drivers/npu
pci=$(basename "$(readlink -f /sys/class/accel/accel0/device)")
echo "npu-test: expect npu|firmware" >/dev/kmsg

# firmware_from FOLDER: what the driver loads next comes from there, if it is there.
firmware_from()
{
	echo -n "$1" >/sys/module/firmware_class/parameters/path
}

# said_since TEXT: the kernel's log behind that line.
said_since()
{
	dmesg | sed -n "/ npu-test: $1\$/,\$p"
}

is_bus_master()
{
	[ $(($(od -An -tu2 -j4 -N2 "/sys/bus/pci/devices/$pci/config") & 4)) != 0 ]
}

# works NAME: the device is bound, and a job runs.
works()
{
	echo "$pci" >$driver/bind 2>/dev/null
	timeout 60 $selftests/test_jobs -t a_copy_arrives >/tmp/works.out 2>&1
	ktap_result $? "$1" || sed 's/^/# /' /tmp/works.out
}

# The kernel takes the next folder's file when it does not like the first one's.
mv /lib/firmware/npu /lib/firmware/npu-good
echo "$pci" >$driver/unbind
while read -r name says; do
	firmware_from "$files/$name"
	echo "npu-test: file $name" >/dev/kmsg
	! echo "$pci" >$driver/bind 2>/dev/null
	ktap_result $? "refused: $name"
	said_since "file $name" >/tmp/said
	grep -qF "$says" /tmp/said
	ktap_result $? "$name: the driver says '$says'" || sed 's/^/# /' /tmp/said
	! is_bus_master
	ktap_result $? "$name: the device is left without bus mastering"
done <$files/cases
while read -r name abi; do
	firmware_from "$files/$name"
	works "$name: a firmware that works"
	grep -qx "abi: $abi" "/sys/kernel/debug/accel/$pci/fw_info"
	ktap_result $? "$name: ABI $abi is spoken"
	echo "$pci" >$driver/unbind
done <$files/good
tried=$(cat $files/cases $files/good | grep -c .)
ktap_is "$tried" "$(ls $files | grep -vcx -e cases -e good)" "every file was tried"
firmware_from /nowhere
mv /lib/firmware/npu-good /lib/firmware/npu
works "with the right file the device works"

# order: how the test ends, and which priority was first in its two runs.
order()
{
	timeout 100 $selftests/test_priority >/tmp/order.out 2>&1
	echo "$? $(sed -n 's/.*first ones had priority //p' /tmp/order.out | tr '\n' ' ')"
}

ktap_is "$(order)" "0 2 2 " "high priority comes first" || sed 's/^/# /' /tmp/order.out
echo "$pci" >$driver/unbind
firmware_from $mutants/reverse_priority
works "a firmware with reversed priorities runs"
ktap_is "$(order)" "1 0 0 " "with it low priority comes first" || sed 's/^/# /' /tmp/order.out

# wakes: how the test ends that puts doorbells and waits at every moment.
wakes()
{
	timeout 200 $selftests/test_wakeup -t at_every_moment >/tmp/wakes.out 2>&1
	echo $?
}

for mutant in lost_bell lost_end; do
	echo "$pci" >$driver/unbind
	firmware_from $mutants/$mutant
	works "a firmware with a $mutant runs"
	ktap_is "$(wakes)" 1 "which is noticed" || sed 's/^/# /' /tmp/wakes.out
done
echo "$pci" >$driver/unbind
firmware_from /nowhere
works "the right one again"
ktap_is "$(wakes)" 0 "with it nothing gets lost" || sed 's/^/# /' /tmp/wakes.out
ktap_done
