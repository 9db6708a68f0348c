#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The selftests build here and as a part of a kernel tree, say that there is no device where there is
# none, and pass where the driver is.
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build for the guest without a warning" || { tap_diag "$(tail -n 20 "$tap_tmp/build.log")"; tap_done; }
programs=$(cd "$guest_out/selftests" && ls)

# Each fault that the device can be told to have is armed by one of them.
for fault in $("$NPU_BUILD/npu-vdev" --list faults | sed -n 's/^| `\(.*\)` | fault |.*/\1/p'); do
	grep -qs -e "arm $fault[ \"]" selftests/test_*.c
	tap_result $? "what the driver does when the device has the fault $fault is tried"
done

# As tools/testing/selftests/drivers/npu of a kernel tree, with the headers that `make headers` leaves.
tree=$tap_tmp/linux
cp -r "$guest_root/usr/src/kselftest" "$tree"
mkdir -p "$tree/usr/include" "$tree/tools/testing/selftests/drivers"
cp -r selftests "$tree/tools/testing/selftests/drivers/npu"
cp -r "$guest_root/usr/include/drm" "$tree/usr/include"
cp uapi/*.h "$tree/usr/include"
cp uapi/drm/npu_drm.h "$tree/usr/include/drm"
root_enter "$tree" make -s -C tools/testing/selftests TARGETS=drivers/npu >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build in a kernel tree with TARGETS" || tap_diag "$(tail -n 20 "$tap_tmp/build.log")"
for program in $programs; do
	[ -x "$tree/tools/testing/selftests/drivers/npu/$program" ]
	tap_result $? "which leaves $program"
done

kernel=$(guest_kernels | tail -n 1)
NPUS=0 guest_boot "without a device" "$kernel" none -- $programs
tap_is $? 0 "without a device: the guest ran and ended"
out=$(perl tests/guest/fold.pl "$guest_log" $programs | cut -f1 | sort | uniq -c | tr -s ' \n' ' ')
tap_like "$out" '^ 1 ok [0-9]+ skip $' "without a device: every test is skipped"
out=$(perl tests/guest/fold.pl --no-skips "$guest_log" $programs | cut -f1 | sort | uniq -c | tr -s ' \n' ' ')
tap_like "$out" '^ [0-9]+ not 1 ok $' "without a device: which is a failure in CI"

# These have guests of their own: test_events.sh, test_engines.sh.
one_engine=$(printf '%s\n' $programs | grep -v -x -e test_events -e test_engines)
for kernel in $(guest_kernels); do
	NPUS=1 guest_run "${kernel%%+*} selftests" "$kernel" intel -- $one_engine
done
tap_done
