#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-run's options: what is no number, what is out of range, and what would do nothing is refused,
# each with one message.
. tests/tap.sh

run=$NPU_BUILD/npu-run
rows=tests/data/golden-1.0-rows.npu
mnist=tests/data/golden-1.0-mnist.npu

# refused STATUS MESSAGE ARGUMENT...: the whole of stderr, but for where help is, is the message.
refused()
{
	local want=$1 text=$2 out status
	shift 2
	out=$("$run" "$@" 2>&1 >/dev/null)
	status=$?
	tap_is "$status: $(grep -vx "Try 'npu-run --help'\." <<<"$out")" "$want: npu-run: $text" \
		"npu-run $*"
	[ "$want" = 1 ] || tap_is "$(grep -cx "Try 'npu-run --help'\." <<<"$out")" 1 \
		"it says where help is"
}

# no_number OPTION ARGUMENT EXPECTED
no_number()
{
	local out status
	out=$("$run" "$mnist" -i Input3=zeros "--${1%% *}" "$2" ${4+"$4"} 2>&1 >/dev/null)
	status=$?
	tap_is "$status: $out" "2: npu-run: --$1 ${2##*=}: expected $3" "--$1 $2"
}

# ---- numbers ----
for bad in 7x 0 -1 +77 ' 77' 0x4d; do
	no_number "stride Input3" "Input3=$bad" "a number from 1 on"
done
for bad in 4294967296 18446744073709551616; do
	no_number "stride Input3" "Input3=$bad" "a number from 1 to 4294967295"
done
for bad in +4x4 4x+4 ' 4x4' '4x 4' 4x 4xx4 0x4 -4x4 4x4x; do
	refused 1 "--shape x=$bad: want dims like 1x3x64x64" "$rows" -i x=zeros \
		-s "x=$bad"
done
for bad in 'fd: 9' fd:+9 fd:-9 fd:0x9 fd: fd:9x 'fd:9,offset= -5' fd:9,offset=+5 \
	fd:9,bytes=18446744073709551616 fd:9,stride=0x10; do
	refused 1 "--input-dmabuf x=$bad: want numbers behind fd:, offset=, bytes= and stride=" \
		"$rows" -s x=4x4 --input-dmabuf "x=$bad"
done
range="of a float's range"
for bad in nan inf -inf 1e999 1e-60 0 1/0 0/3 1e-30/1e30 1/nan 1/inf 1x 1/ ''; do
	no_number scale "$bad" "V or A/B, $range, not 0"
done
for bad in nan inf 1e999 0,nan,0 0,0,-inf 1e39,1,1 1,2 1,2,3,4 1x 1,2x,3 1,,2 1,2,3, '1 2 3' ''; do
	no_number mean "$bad" "A or A,B,C, $range"
	no_number std "$bad" "A or A,B,C, $range, not 0"
done
for bad in 0 1,0,1 1e-60; do
	no_number std "$bad" "A or A,B,C, $range, not 0"
done
for bad in 2 1.0001 nan inf -0.5 x ''; do
	no_number min-cosine "$bad" "a number from 0 to 1" --check
done
for bad in nan inf 1e999 -1 x ''; do
	no_number max-error "$bad" "a number from 0 on" --check
done

# What is just inside. 3.4e38 is a float, 3.5e38 is not.
for good in '--scale 3.4e38' '--scale 1e-37' '--scale 3/4' '--mean -3.4e38' '--std 1,-2,1e-37'; do
	# shellcheck disable=SC2086
	out=$("$run" "$mnist" -i Input3=zeros $good 2>&1 >/dev/null)
	good=${good%% *}
	tap_is "$out" "npu-run: $good is for pictures, and no --input is one" "$good in range"
done
for limits in '--min-cosine 0' '--max-error 1e300' '--min-cosine 0.5 --max-error 0.5'; do
	# shellcheck disable=SC2086
	tap_run "--check $limits" "$run" --check "$mnist" $limits
done

# ---- how many models ----
refused 2 "expected one model, got 0"
refused 2 "expected one model, got 2" a b
refused 2 "expected one model, got 2" "$mnist" --bench 5

# ---- what would do nothing ----
refused 2 "--input does not go with --doctor" --doctor "$mnist" -i x=zeros
refused 2 "--shape does not go with --doctor" --doctor -s x=1
for option in '-i x=zeros' '--input-dmabuf x=fd:9' '--stride x=1' '-s x=1' '-o y=f' '-t 3' \
	'--scale 3' '--mean 1' '--std 1' --bgr '--fit pad' --info --report --profile '--sort time' \
	--json '--trace f' '--trace-runs 2' --bench --digest --disasm '--seed 2' --check \
	'--against m' '--max-error 1' '--min-cosine 1' '--check-work 1' '-p f32' --all-f16 \
	--no-sram --int8 '--calib f' '--calib-method mse' '--budget speed=1'; do
	# shellcheck disable=SC2086
	out=$("$run" --doctor $option 2>&1 >/dev/null)
	tap_is "$? $(grep -c 'does not go with --doctor$' <<<"$out")" "2 1" "--doctor $option"
done
tap_run "--doctor with what goes" "$run" --doctor --root / -d sim --threads 1 "$mnist"

for option in 'scale 3' 'mean 1' 'std 2' bgr 'fit pad'; do
	# shellcheck disable=SC2086
	refused 1 "--${option% *} is for pictures, and no --input is one" "$mnist" \
		-i Input3=zeros --$option
	# shellcheck disable=SC2086
	refused 2 "--${option% *} needs --input" "$mnist" --bench=1 --$option
done
refused 1 "--seed: no input is made up as random data" "$mnist" -i Input3=zeros --seed 9
refused 2 "--seed needs --input, --profile, --bench, --digest, --trace or --check" "$mnist" --info \
	--seed 9
refused 2 "--stride needs --input" "$mnist" --stride x=1
refused 2 "--shape is of a run, and --info, --report and --disasm alone do none" "$rows" --info \
	-s x=4x4
tap_run "--info and a run" "$run" "$rows" --info -s x=4x4 -i x=random --seed 9
[ "$("$run" "$rows" -s x=4x4 -i x=random --seed 9)" != "$("$run" "$rows" -s x=4x4 -i x=random)" ]
tap_result $? "--seed gives other data"

tap_is "$("$run" --help | awk 'length > 100' | wc -l)" 0 "no line of the help is beyond 100 columns"
tap_done
