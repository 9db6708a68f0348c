#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: with each mutant of the virtual device armed a selftest, named here, has to fail; and
# to pass when it is not.
. "${0%/*}/ktap.sh"
selftests=/usr/lib/npu/selftests

# passes PROGRAM TEST: prints nothing; the kernel may say what it likes.
passes()
{
	echo "npu-test: expect npu|DMAR|fault" >/dev/kmsg
	timeout 100 "$selftests/$1" -t "$2" >/tmp/mutant.out 2>&1
}

# The test that notices each.
cat >/tmp/mutants <<END
ignore-invalidate	test_memory	overlaps
ignore-readonly		test_memory	permissions
skip-sram-scrub		test_isolation	sram_is_zero_at_the_start
mix-contexts		test_memory	vms_are_apart
ignore-bus-master	test_isolation	nothing_is_written_without_bus_mastering
END
known=$(host vdev 0 faults | tr '{' '\n' | sed -n 's/.*"name":"\([^"]*\)","kind":"mutant".*/\1/p')
ktap_is "$known" "$(cut -f1 /tmp/mutants)" "every mutant of the device has a test"

while read -r mutant program test; do
	host vdev 0 arm "$mutant" forever >/dev/null || ktap_result 1 "$mutant can be armed"
	! passes "$program" "$test"
	ktap_result $? "$mutant: $test of $program notices"
	host vdev 0 disarm all >/dev/null
	passes "$program" "$test"
	ktap_result $? "without it $test passes" || sed 's/^/# /' /tmp/mutant.out
done </tmp/mutants
ktap_done
