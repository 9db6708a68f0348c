#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fold.pl counts what it must: nothing that went wrong in a guest may end in a green run.
. tests/tap.sh

# log PROGRAM LINE...: the output of a guest that ran one program; kernel LINE...: its kernel's log.
log()
{
	local program=$1

	shift
	rm -rf "$tap_tmp/log"
	mkdir "$tap_tmp/log"
	printf '%s\n' "# begin $program" "$@" >"$tap_tmp/log/out.ktap"
	kernel '<6>[    1.0] hello'
}

kernel()
{
	printf '%s\n' '<6>[    0.1] Linux version' "$@" >"$tap_tmp/log/dmesg.log"
}

# folds TEXT EXPECTED [OPTION] PROGRAM...: the kinds of result, without notes and the kernel's.
folds()
{
	local out

	out=$(perl tests/guest/fold.pl "${@:3:$#-3}" "$tap_tmp/log" "${@: -1}" | grep -v -e ^diag -e 'the kernel says' | cut -f1)
	tap_is "$(echo $out)" "$2" "$1"
}

log a '1..2' 'ok 1 x' 'ok 2 y' '# end a 0';		folds "a good program" "ok ok" a
log a 'ok 1 x' 'ok 2 y' '1..2' '# end a 0';		folds "the plan may come last" "ok ok" a
log a '1..2' 'ok 1 x' 'not ok 2 y' '# end a 1';		folds "a failed result is one failure" "ok not" a
log a '1..1' 'not ok 1 y' '# end a 0';			folds "a failure that the status denies" "not not" a
log a '1..2' 'ok 1 x' '# end a 0';			folds "a missing result" "ok not" a
log a '1..1' 'ok 1 x' 'ok 2 y' '# end a 0';		folds "one too many" "ok ok not" a
log a '1..2' 'ok 1 x' 'ok 3 y' '# end a 0';		folds "a gap in the numbers" "ok not ok" a
log a 'ok 1 x' '# end a 0';				folds "no plan" "ok not" a
log a '1..1' '1..1' 'ok 1 x' '# end a 0';		folds "two plans" "not ok" a
log a '# end a 0';					folds "a program that says nothing" "not" a
log a '1..1' 'ok 1 x';					folds "a program that does not end" "ok not" a
log a '1..1' 'ok 1 x' '# end a 139';			folds "a crash after the last result" "ok not" a
log a '1..1' 'ok 1 x' '# end a 124';			folds "a time-out after the last result" "ok not" a
log a '1..1' 'not ok 1 x' '# end a 139';		folds "a crash on top of a failure" "not not" a
log a '1..1' 'ok 1 x' '# end a 1';			folds "a status that nothing explains" "ok not" a
log a '1..0 # SKIP no NPU device here' '# end a 4';		folds "a program that is skipped" "skip" a
log a '1..0 # SKIP no NPU device here' '# end a 4';		folds "which is a failure in CI" "not" --no-skips a
log a '1..1' 'ok 1 x # SKIP no huge pages' '# end a 4'; folds "a skip for another reason is none" "skip" --no-skips a
log a '1..1' 'not ok 1 x # XFAIL known' '# end a 0';	folds "an expected failure" "ok" a
log a '1..1' 'ok 1 x # XPASS known' '# end a 0';	folds "one that did not come" "not" a
log a 'ok 1 outer' '    not ok 1 inner' '1..1' '# end a 0'; folds "subtests are their parent's" "ok" a
log b '1..1' 'ok 1 x' '# end b 0';			folds "a program that was not run" "not" a
tap_is "$(perl tests/guest/fold.pl "$tap_tmp/log" b | grep 'ok.*b x')" $'ok\tb x' "results carry names"

# says TEXT EXPECTED LINE...: what becomes of these lines of the kernel's log.
says()
{
	log a '1..1' 'ok 1 x' '# end a 0'
	kernel '<5>[    1.0] npu-test: begin a' "${@:3}" '<5>[    2.0] npu-test: end a'
	tap_is "$(perl tests/guest/fold.pl "$tap_tmp/log" a | grep 'the kernel says' | cut -f1)" "$2" "$1"
}

says "a kernel that says nothing" ok
says "information" ok '<6>[    1.5] npu 0000:01:00.0: firmware 1.0'
says "a warning" not '<4>[    1.5] WARNING: CPU: 0 PID: 90 at driver/npu_mmu.c:7'
says "an oops" not '<1>[    1.5] BUG: kernel NULL pointer dereference, address: 0000000000000010'
says "lockdep" not '<4>[    1.5] WARNING: possible circular locking dependency detected'
says "a hung task" not '<3>[    1.5] INFO: task npu-run:91 blocked for more than 120 seconds.'
says "memory that was lost" not '<6>[    1.5] npu: 3 objects leaked'
says "an IOMMU fault" not '<4>[    1.5] DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0xdead000'
says "an error of the driver" not '<3>[    1.5] npu 0000:01:00.0: queue 3 timed out'
says "an error that was announced" ok '<5>[ 1.4] npu-test: expect queue [0-9]+ timed out' \
	'<3>[    1.5] npu 0000:01:00.0: queue 3 timed out'
says "another one than announced" not '<5>[ 1.4] npu-test: expect queue [0-9]+ timed out' \
	'<3>[    1.5] npu 0000:01:00.0: queue 3 lost'
says "an announcement ends with its program" not '<5>[ 1.4] npu-test: expect timed out' \
	'<5>[    1.5] npu-test: end a' '<5>[ 1.6] npu-test: begin b' '<3>[ 1.7] npu 0000:01:00.0: timed out'
log a '1..1' 'ok 1 x'
: >"$tap_tmp/log/dmesg.log"
printf '%s\r\n' '[    1.0] npu-test: begin a' '[    2.0] Kernel panic - not syncing: Fatal exception' >"$tap_tmp/log/console.log"
tap_like "$(perl tests/guest/fold.pl "$tap_tmp/log" a)" $'not\tthe kernel says .*panic' "a panic is read from the console"
rm "$tap_tmp/log/"{dmesg,console}.log
tap_like "$(perl tests/guest/fold.pl "$tap_tmp/log" a)" $'not\tthe kernel left no log' "no log at all"
tap_done
