# SPDX-License-Identifier: MIT
#
# Running test programs in a guest, sourced after tests/tap.sh by tests/guest/test_*.sh.

NPU_GUEST=${NPU_GUEST:-$PWD/build/guest}
export NPU_GUEST
. scripts/guest-lib.sh
guest_logs=$NPU_BUILD/test-log/guest

# On a user's machine a guest that cannot be had is a skip; CI has to have one.
guest_needed()
{
	[ -e "$guest_root/.packages" ] && return
	[ -n "${CI:-}" ] || { echo "1..0 # SKIP no guest: make guest-root"; exit 0; }
	tap_result 1 "the guest's root is in $NPU_GUEST"
	tap_done
}

# What the programs in the guest have the host do: see agent.pl.
start_agent()
{
	rm -rf "$tap_tmp/run"
	mkdir "$tap_tmp/run"
	perl tests/guest/agent.pl "$tap_tmp/run" "${NPU_VDEV:-$NPU_BUILD/npu-vdev}" \
		>"$guest_log/agent.log" 2>&1 </dev/null &
	agent=$!
}

# guest_boot NAME KERNEL IOMMU [npu-qemu option...] -- PROGRAM...: boot a guest, run the programs of
# tests/guest/in and selftests in it and keep the logs below build/test-log/guest, in $guest_log.
# NPUS is how many devices there are; variables of GUEST_ENV are set in the guest, too.
guest_boot()
{
	local kernel=$2 iommu=$3 options=() agent status

	guest_log=$guest_logs/$1
	shift 3
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf "$guest_log"
	mkdir -p "$guest_log" "$tap_tmp/over/usr/lib/npu"
	ln -sfn "$PWD/tests/guest/in" "$tap_tmp/over/usr/lib/npu/tests"
	start_agent
	tools/npu-qemu/npu-qemu --kernel "$kernel" --iommu "$iommu" --npus "${NPUS:-0}" --run "$tap_tmp/run" --log "$guest_log" \
		--overlay "$tap_tmp/over" --timeout "${GUEST_TIMEOUT:-${NPU_TEST_LONG:+3}600}" "${options[@]}" --cmd "
			export KERNEL='$kernel' IOMMU='$iommu' NPUS='${NPUS:-0}' ${CI:+CI=1} ${NPU_TEST_LONG:+NPU_TEST_LONG=$NPU_TEST_LONG} ${GUEST_ENV:-}
			sh /usr/lib/npu/tests/run.sh $*" >"$guest_log/out.ktap" 2>"$guest_log/npu-qemu.log" </dev/null
	status=$?
	kill "$agent" 2>/dev/null
	wait "$agent" 2>/dev/null
	return $status
}

# guest_run: as guest_boot; each result of a program becomes one here, and so does what the kernel
# said.
guest_run()
{
	local name=$1 status kind text

	guest_boot "$@"
	status=$?
	tap_is "$status $(tail -n 3 "$guest_log/npu-qemu.log")" "0 " "$name: the guest ran and ended"
	while [ "$1" != -- ]; do
		shift
	done
	while IFS=$'\t' read -r kind text; do
		case $kind in
		ok)	tap_result 0 "$name: $text" ;;
		skip)	tap_skip "$name: ${text%% # *}" "${text##* # }" ;;
		diag)	tap_diag "$text" ;;
		*)	tap_result 1 "$name: $text" ;;
		esac
	done < <(perl tests/guest/fold.pl ${CI:+--no-skips} "$guest_log" "${@:2}")
}
