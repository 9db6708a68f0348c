# SPDX-License-Identifier: MIT
#
# Test Anything Protocol for shell tests, sourced by tests/<area>/test_<noun>.sh, which run in the
# top directory with NPU_BUILD (the build to test), NPU_MODELS and NPU_ORT set, and end with
# `tap_done`. $tap_tmp is a folder that goes away at the end.

NPU_BUILD=${NPU_BUILD:-$PWD/build}
NPU_MODELS=${NPU_MODELS:-$PWD/build/models}
NPU_ORT=${NPU_ORT:-$NPU_MODELS/ort}
export NPU_BUILD NPU_MODELS NPU_ORT

tap_count=0
tap_failures=0
tap_tmp=$(mktemp -d)
trap 'rm -rf "$tap_tmp"' EXIT

# tap_result STATUS TEXT: report that STATUS is 0; returns it.
tap_result()
{
	local not=

	tap_count=$((tap_count + 1))
	[ "$1" = 0 ] || { not='not '; tap_failures=$((tap_failures + 1)); }
	printf '%sok %d - %s\n' "$not" "$tap_count" "$2"
	return "$1"
}

tap_diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# tap_run TEXT COMMAND...: the command succeeds; its output is shown if not.
tap_run()
{
	local text=$1 out status

	shift
	out=$("$@" 2>&1)
	status=$?
	tap_result $((status != 0)) "$text" || tap_diag "status $status: $out"
}

# tap_is GOT EXPECTED TEXT
tap_is()
{
	[ "$1" = "$2" ]
	tap_result $? "$3" || tap_diag "got:      $1"$'\n'"expected: $2"
}

# tap_like GOT REGEX TEXT
tap_like()
{
	[[ $1 =~ $2 ]]
	tap_result $? "$3" || tap_diag "got:           $1"$'\n'"should match:  $2"
}

# tap_refused REGEX TEXT COMMAND...: the command fails of itself (status 1 to 123, so no crash and
# no time-out) and what it says matches.
tap_refused()
{
	local regex=$1 text=$2 out status

	shift 2
	out=$("$@" 2>&1)
	status=$?
	[ $status -gt 0 ] && [ $status -lt 124 ] && [[ $out =~ $regex ]]
	tap_result $? "$text" || tap_diag "status $status: $out"$'\n'"should match: $regex"
}

tap_skip()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

tap_done()
{
	printf '1..%d\n' "$tap_count"
	[ "$tap_failures" = 0 ] && [ "$tap_count" -gt 0 ]
	exit
}
