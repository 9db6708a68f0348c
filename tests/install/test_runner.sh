#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The test runner counts what it must: nothing that went wrong may end in a green run.
. tests/tap.sh

# script NAME LINE...: a test made of shell lines.
script()
{
	local name=$1

	shift
	mkdir -p "$tap_tmp/tests/t"
	printf '%s\n' "$@" >"$tap_tmp/tests/t/test_$name.sh"
}

# closes STATUS LINE TEXT NAME...: running those scripts ends in that line and status.
closes()
{
	local status=$1 line=$2 text=$3 out

	shift 3
	out=$(perl tests/run.pl -t 2 "${@/#/$tap_tmp/tests/t/test_}" 2>/dev/null)
	tap_is "$? $(tail -n 1 <<<"$out")" "$status $line" "$text"
}

script good 'echo ok 1' 'echo ok 2' 'echo 1..2'
script bad 'echo ok 1' 'echo not ok 2' 'echo 1..2' 'exit 1'
script quiet_bad 'echo ok 1' 'echo not ok 2' 'echo 1..2'
script skip 'echo ok 1' 'echo "ok 2 - device # SKIP none here"' 'echo 1..2'
script skip_all 'echo "1..0 # SKIP no device"'
script noplan 'echo ok 1'
script short 'echo 1..3' 'echo ok 1'
script crash 'echo ok 1' 'echo 1..1' 'kill -SEGV $$'
script status 'echo ok 1' 'echo 1..1' 'exit 3'
script bad_crash 'echo not ok 1' 'echo 1..1' 'kill -ABRT $$'
script hang 'echo ok 1' 'sleep 60' 'echo 1..1'
script silent 'exit 0'

closes 0 '2 passed, 0 failed' "a good run" good.sh
script more 'echo ok 1' 'echo ok 2' 'echo 1..2'
closes 0 '4 passed, 0 failed' "two of them" good.sh more.sh
closes 1 '1 passed, 1 failed' "a failed assertion is one failure, its exit status no second one" \
	bad.sh
closes 1 '1 passed, 1 failed' "and fails without an exit status" quiet_bad.sh
closes 1 '3 passed, 1 failed' "one bad test among good ones" good.sh bad.sh
closes 0 '1 passed, 0 failed, 1 skipped' "skips are counted apart" skip.sh
closes 0 '2 passed, 0 failed, 1 skipped' "a whole test can be skipped" good.sh skip_all.sh
closes 1 '0 passed, 1 failed, 1 skipped' "but a run of skips alone is no success" skip_all.sh
closes 1 '1 passed, 1 failed' "a missing plan" noplan.sh
closes 1 '1 passed, 1 failed' "a plan that is not kept" short.sh
closes 1 '1 passed, 1 failed' "a crash after a complete plan" crash.sh
closes 1 '1 passed, 1 failed' "an exit status that nothing explains" status.sh
closes 1 '0 passed, 2 failed' "a crash on top of a failure" bad_crash.sh
closes 1 '1 passed, 1 failed' "a test that hangs" hang.sh
closes 1 '0 passed, 1 failed' "a test that says nothing" silent.sh
closes 1 '0 passed, 1 failed' "a test that is not there" absent.sh
closes 1 '0 passed, 1 failed' "no test at all"
tap_done
