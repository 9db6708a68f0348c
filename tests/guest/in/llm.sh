#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: the language models of /mnt/host on the driver's device, each by two processes at
# once; one with weights and cache that are several of the driver's buffers each, as a server. FILE.ref
# is the text that it writes in process.
. "${0%/*}/ktap.sh"

cd /mnt/host || exit 1
tmp=/tmp/llm
mkdir -p $tmp

# write JOB OUT OPTION...
write()
{
	out=$2
	npu-llm "$1" --device /dev/accel/accel0 -q --greedy -n 24 --file prompt.txt $3 >"$out" 2>"$out.err"
}

for job in *.npu; do
	name=${job%.npu}
	write "$job" $tmp/a &
	write "$job" $tmp/b
	second=$?
	wait $!
	ktap_is "$? $second" "0 0" "${name}_two_processes" || cat $tmp/a.err $tmp/b.err
	cmp $tmp/a "$name.ref" && cmp $tmp/b "$name.ref"
	ktap_result $? "${name}_writes_what_it_writes_in_process" || cat $tmp/a
	write "$job" $tmp/c --speculate
	cmp $tmp/c "$name.ref"
	ktap_result $? "${name}_writes_it_with_speculation" || cat $tmp/c $tmp/c.err
done

# The server has what its clients ask for one after the other, and two at once.
serve()
{
	npu-llm f16.npu --device /dev/accel/accel0:max-object=1048576 -q --serve 0 >$tmp/serve.out 2>$tmp/serve.err &
	server=$!
	for i in $(seq 600); do
		grep -q http $tmp/serve.out && break
		sleep 0.1
	done
	url=$(sed -n 's/^f16: //p' $tmp/serve.out)
}

# ask OUT: the text that comes behind the prompt.
ask()
{
	printf '{"prompt": "%s", "max_tokens": 24, "temperature": 0}' "$(cat prompt.txt)" >"$1.json"
	wget -q -O - --header 'Content-Type: application/json' --post-file "$1.json" "$url/completions" |
		sed 's/.*"text":"\([^"]*\)".*/\1/' >"$1"
}

serve
# Of a megabyte each, which is an object, or the last one of several: weights, and the cache.
objects=$(awk '$1 == 1048576' /sys/kernel/debug/accel/*/gems)
ktap_is "$(echo "$objects" | grep -c read-only) $(echo "$objects" | grep -vc read-only)" "5 3" "weights_and_cache_are_several_objects"
rest=$(sed "s/^$(cat prompt.txt)//" f16.ref)
ask $tmp/alone
ktap_is "$(cat $tmp/alone)" "$rest" "the_server_answers_with_the_text_in_process"
ask $tmp/first &
ask $tmp/second
wait $!
ktap_is "$(cat $tmp/first)/$(cat $tmp/second)" "$rest/$rest" "two_clients_at_once"
wget -q -O $tmp/models "$url/models"
grep -q '"id":"f16"' $tmp/models
ktap_result $? "the_server_names_its_model" || cat $tmp/models
kill -INT $server
wait $server
ktap_is $? 0 "the_server_ends" || cat $tmp/serve.err

# More than the guest has.
npu-llm large/large.npu --device /dev/accel/accel0 --pool 1000000 --info >$tmp/info
ktap_is "$? $(grep -c 'too little$' $tmp/info)" "0 1" "a_cache_that_is_too_large_is_told" || cat $tmp/info
npu-llm large/large.npu --device /dev/accel/accel0 --pool 1000000 -p x >$tmp/large 2>&1
ktap_is "$? $(grep -c 'needs 29[0-9]*\.[0-9] MiB .*MiB are available (the machine)' $tmp/large)" "1 1" "and_refused" ||
	cat $tmp/large

npu-llm f16.npu --device /dev/accel/accel0 -q --bench pp40,tg4 -r 1 >$tmp/bench 2>&1
ktap_result $? "bench" || cat $tmp/bench
for counter in mmu-faults aborts engine-resets device-resets; do
	ktap_is "$(sed -n "s/^$counter: //p" /sys/kernel/debug/accel/*/counters)" 0 "counter_${counter}_did_not"
done
ktap_done
