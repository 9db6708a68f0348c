#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver beyond the selftests: loaded again and again, and beside a device whose defects nobody
# reports (tests/guest/in).
. tests/tap.sh
. tests/guest/guest.sh
guest_needed

scripts/guest-selftests.sh >"$tap_tmp/build.log" 2>&1
tap_result $? "selftests build for the guest" || { tap_diag "$(tail -n 20 "$tap_tmp/build.log")"; tap_done; }
NPUS=1 guest_run driver "$(guest_kernels | tail -n 1)" none -- reload.sh mutants.sh
tap_done
