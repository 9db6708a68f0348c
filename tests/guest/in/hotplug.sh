#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: device 0 is pulled out of its slot and put back, twice, and once it stops to answer;
# each time the kernel and the virtual device come out of it well.
. "${0%/*}/ktap.sh"

# there: is device 0 on its bus, and does it answer?
there()
{
	[ "$(cat /sys/bus/pci/devices/0000:01:00.0/vendor 2>/dev/null)" = 0x1234 ]
}

# until_there WANTED: wait 5 s at most until there gives that status.
until_there()
{
	local i=0

	while [ $i -lt 50 ]; do
		there
		[ $? = "$1" ] && return
		sleep 0.1
		i=$((i + 1))
	done
	return 1
}

ktap_is "$(host sync)" ready "host_listens"
ktap_is "$(host vdev 0 status | grep -c '"client": *true')" 1 "device_has_its_client"
ktap_is "$(host vdev 9 status)" "the number of a device was expected" "bad_device_is_refused"
for round in 1 2; do
	ktap_is "$(host unplug 0)" gone "unplugged_$round"
	until_there 1
	ktap_result $? "gone_from_the_bus_$round"
	ktap_is "$(host plug 0)" there "plugged_$round"
	until_there 0
	ktap_result $? "back_on_the_bus_$round"
done

host vdev 0 arm surprise-removal forever >/dev/null
ktap_is "$(od -An -tx4 -N4 /sys/bus/pci/devices/0000:01:00.0/config | tr -d ' ')" ffffffff "all_ones_when_it_is_gone"
host vdev 0 disarm surprise-removal >/dev/null
ktap_is "$(od -An -tx4 -N4 /sys/bus/pci/devices/0000:01:00.0/config | tr -d ' ')" 4e501234 "and_back"
ktap_done
