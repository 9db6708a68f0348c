# SPDX-License-Identifier: MIT
#
# In the guest: KTAP for shell programs, sourced.
ktap_count=0
ktap_failures=0
echo "TAP version 13"

# ktap_result STATUS NAME
ktap_result()
{
	local not=

	ktap_count=$((ktap_count + 1))
	[ "$1" = 0 ] || { not="not "; ktap_failures=$((ktap_failures + 1)); }
	echo "${not}ok $ktap_count $2"
	return "$1"
}

# ktap_is GOT EXPECTED NAME: what is said about a failure comes before it, as the kernel's harness does it.
ktap_is()
{
	[ "$1" = "$2" ] || { echo "# got:      $1"; echo "# expected: $2"; }
	[ "$1" = "$2" ]
	ktap_result $? "$3"
}

ktap_skip()
{
	ktap_count=$((ktap_count + 1))
	echo "ok $ktap_count $1 # SKIP $2"
}

ktap_done()
{
	echo "1..$ktap_count"
	[ "$ktap_failures" = 0 ]
	exit
}

# host WORD...: have the host do something (tests/guest/agent.pl lists what) and print its answer.
host()
{
	local dir port= answer

	for dir in /sys/class/virtio-ports/*; do
		[ "$(cat "$dir/name" 2>/dev/null)" = npu.host ] && port=/dev/${dir##*/}
	done
	[ -n "$port" ] || { echo "there is no port to the host"; return 1; }
	{
		echo "$*" >&3
		read -r answer <&3
	} 3<>"$port"
	echo "${answer#* }"
	return "${answer%% *}"
}
