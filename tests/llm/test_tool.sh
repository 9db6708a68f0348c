#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npu-compile and npu-llm as a user calls them with the language model of the tree.
. tests/tap.sh

compile=$NPU_BUILD/npu-compile
llm=$NPU_BUILD/npu-llm
gguf=models/kjv/kjv-Q8_0.gguf
npu=$tap_tmp/kjv.npu

# mistake PROGRAM PATTERN ARGUMENT...: exit status 2, and it is said.
mistake()
{
	local program=$1 want=$2 out status
	shift 2
	out=$("$NPU_BUILD/$program" "$@" 2>&1)
	status=$?
	tap_is "$status" 2 "$program $*: exit status 2"
	tap_like "$out" "$want" "it says: $(head -1 <<<"$out")"
}

# ---- compiling ----

mistake npu-compile "a language model takes" "$gguf" --int8
mistake npu-compile "for GGUF files" x.onnx --context 512
mistake npu-compile "expected keep, f16" "$gguf" --quant q4
mistake npu-compile "expected f16, int8" "$gguf" --kv f64
mistake npu-compile "expected auto, int8" "$gguf" --activations 8
mistake npu-compile "a number from 1 on" "$gguf" --batch 0
tap_refused "No such file" "a file that is not there" "$compile" "$tap_tmp/none.gguf" --context 64
tap_refused "a pool of 3000000 positions of 3072 bytes is 8.6 GiB, .* 8.0 GiB of it, 2796160 positions" "a pool that no instruction reaches" \
	"$compile" "$gguf" --pool 3000000 -o "$tap_tmp/none.npu"
# The largest is what is said there, with the rows that an instruction stores.
for kv in f16 int8 f32; do
	most=$("$compile" "$gguf" --pool 100000000 --kv $kv -o "$tap_tmp/most.npu" 2>&1 | grep -o '[0-9]* positions: ask')
	tap_like "$("$compile" "$gguf" --pool "${most%% *}" --kv $kv -o "$tap_tmp/most.npu" 2>&1)" \
		"at most [89][0-9]{3}\.[0-9] MiB" "$kv: ${most%: ask} are compiled"
done
head -c 100000 "$gguf" >"$tap_tmp/cut.gguf"
tap_refused "cut.gguf" "a truncated file" "$compile" "$tap_tmp/cut.gguf"
tap_like "$("$compile" "$gguf" -o "$npu")" "5.2 M parameters, .* weights 5\.[0-9] MiB" "compile"
cp "$gguf" "$tap_tmp/beside.gguf"
tap_run "without -o" "$compile" -q "$tap_tmp/beside.gguf"
tap_run "the job lies beside the model, and is the same bytes" cmp "$npu" "$tap_tmp/beside.npu"
info=$("$NPU_BUILD/npu-run" --info "$npu")
tap_like "$info" "llm.arch +llama" "npu-run --info: architecture"
tap_like "$info" "state +kv +f16" "its cache"
tap_like "$info" "memory: weights 5\.[0-9] MiB" "its memory"

info=$("$llm" "$npu" --info)
tap_like "$info" "^llama.* 6 layers, vocabulary of 2048, context of 512" "npu-llm --info: the model"
tap_like "$info" "weights +5\.[0-9]+.*KV cache +24\.00  8192 tokens, 3.00 KiB each, f16" "its memory"
tap_like "$("$llm" "$npu" --info --pool 64)" "KV cache +0\.19  64 tokens" "of a smaller pool"
tap_like "$("$llm" "$npu" --info --kv-budget 200K)" "KV cache +0\.19  64 tokens.*of the host +24\.00  at most, for 8192 tokens" \
	"with a KV budget"
"$compile" -q "$gguf" --pool 1000000 -o "$tap_tmp/large.npu"
large=$(ulimit -v 1000000; "$llm" "$tap_tmp/large.npu" --pool 1000000 --info)
tap_like "$large" "in all +29[0-9][0-9]\..*available +[0-9.]+  too little" "a pool that is too large"
large=$(ulimit -v 1000000; "$llm" "$tap_tmp/large.npu" --pool 1000000 -p x 2>&1)
tap_is "$?" 1 "is not loaded"
tap_like "$large" "large.npu: needs 29[0-9]+\.[0-9] MiB \(weights 5\..*, KV cache 29.*, [89][0-9]+\.[0-9] MiB are available \(ulimit -v\)" "it says: $large"

# ---- generating ----

greedy()
{
	"$llm" "$npu" -q --greedy -p "In the beginning God" "$@"
}
text=$(greedy -n 40)
tap_like "$text" "^In the beginning God, and in the name of the Lord" "a text: $text"
tap_is "$(greedy -n 40 -t 1)" "$text" "with one thread"
tap_is "$(greedy -n 40 --no-prompt)" "${text#In the beginning God}" "the new text alone"
printf 'In the beginning God' >"$tap_tmp/prompt.txt"
tap_is "$("$llm" "$npu" -q --greedy -n 40 --file "$tap_tmp/prompt.txt")" "$text" "--file"
tap_is "$(greedy -n 40 --stop Jesus)" "${text%%Jesus*}" "--stop"
tap_is "$(greedy -n 40 --stop zzz --stop "us Christ, and")" "${text%%us Christ, and*}" "--stop over several tokens"
seeded()
{
	"$llm" "$npu" -q -n 30 -p "And it came to pass" --seed "$@"
}
one=$(seeded 1)
tap_is "$(seeded 1)" "$one" "a seed repeats: $one"
[ "$(seeded 2)" != "$one" ]
tap_result $? "another gives another text"
stats=$("$llm" "$npu" -n 5 -p "And" 2>&1 >/dev/null)
tap_like "$stats" "first token after [0-9.]+ ms; prompt [0-9]+ tokens, [0-9.]+ tokens/s; generated 4 more" "statistics"
tap_like "$stats" "memory: weights [0-9.]+ MiB, KV cache [0-9.]+ MiB" "memory"
tap_is "$(greedy -n 40 --kv-budget 200K)" "$text" "--kv-budget: two blocks of 32 tokens are enough for this text"
stats=$("$llm" "$npu" --kv-budget 200K -n 5 -p "And" 2>&1 >/dev/null)
tap_like "$stats" "KV cache 0\.2 MiB \(64 tokens.*KV budget: 2 of [0-9]+ blocks on the NPU; 0 left it" "its statistics"
tap_refused "needs 3 blocks of 32 positions \(288 KiB\) on the NPU at once, its KV budget holds 2 \(192 KiB\)" \
	"a text that becomes too long for it" greedy -n 0 --kv-budget 200K
cut=$(greedy -n 0 --ignore-end --kv-budget 200K 2>/dev/null)
tap_is "$(greedy -n 0 --ignore-end --kv-budget 200K --speculate 2>/dev/null)" "$cut" \
	"drafts that do not fit in it are left: ...${cut: -60}"
tap_refused "a KV budget of 1024 bytes is less than one block" "a budget of less than a block" greedy --kv-budget 1K
long=$("$llm" "$npu" --greedy -n 0 -p "And" 2>&1 >/dev/null)
tap_like "$long" "generated 5[01][0-9] more" "until the context is full"
tap_like "$("$llm" "$npu" --bench pp16,tg4 -r 3)" $'pp16: [0-9.]+ tokens/s .*\ntg4: [0-9.]+ tokens/s' "--bench"

# ---- sessions in files, and forks ----

state=$tap_tmp/text.state
first=$(greedy -n 20 --save-session "$state")
load()
{
	"$llm" "$npu" -q --greedy --load-session "$state" "$@"
}
tap_is "$first" "${text:0:${#first}}" "--save-session: $first"
tap_is "$first$(load -n 20)" "$text" "--load-session: the text goes on where it ended"
tap_is "$first$(load -n 20 --speculate)" "$text" "with drafts"
load -n 5 --save-session "$tap_tmp/more.state" >/dev/null
tap_is "$first$(load -n 5)$("$llm" "$npu" -q --greedy -n 15 --load-session "$tap_tmp/more.state")" "$text" \
	"and is saved again"
tap_is "$(load -p " And they" -n 20)" " And they$("$llm" "$npu" -q --greedy -n 20 --no-prompt -p "$first And they")" \
	"with a prompt behind it"
# Words and spaces go on where the text ended, whatever a token's beginning is.
behind()
{
	tap_is "$(load -p "$1" -n 12)" "$1$("$llm" "$npu" -q --greedy -n 12 --no-prompt -p "$first$1")" \
		"with '$1' behind it"
}
behind " "
behind "s"
behind ", and"
# What a stop string takes back is not in the file: tokens 21 to 27, and a part of one.
stop=$(greedy -n 27)
stop=${stop#"$first"}
for how in "" --speculate; do
	rm -f "$tap_tmp/stop.state"
	tap_is "$(greedy -n 40 $how --stop "$stop" --save-session "$tap_tmp/stop.state")" "$first" \
		"--save-session of a text that ends before '$stop' $how"
	tap_run "is that of the text without it" cmp "$state" "$tap_tmp/stop.state"
done
part=$(greedy -n 40 --stop "us Christ, and" --save-session "$tap_tmp/part.state")
tap_is "$("$llm" "$npu" -q --greedy -n 12 --load-session "$tap_tmp/part.state")" \
	"$("$llm" "$npu" -q --greedy -n 12 --no-prompt -p "$part")" "one that ends in a word: ...${part: -20}"
stats=$("$llm" "$npu" --greedy -n 5 --load-session "$state" 2>&1 >/dev/null)
tap_like "$stats" "prompt 1 tokens" "nothing of it is run again but its last token"
greedy -n 20 --speculate --save-session "$tap_tmp/drafts.state" >/dev/null
tap_run "the file is the same bytes with drafts" cmp "$state" "$tap_tmp/drafts.state"
greedy -n 20 --kv-budget 200K --save-session "$tap_tmp/budget.state" >/dev/null
tap_run "and with a KV budget" cmp "$state" "$tap_tmp/budget.state"
forked()
{
	"$llm" "$npu" -q -n 30 -p "And it came to pass" --seed 1 "$@"
}
tap_is "$(forked --forks 3)" "$(seeded 1; echo ---; seeded 2; echo ---; seeded 3)" "--forks: texts of the seeds 1 to 3"
stats=$("$llm" "$npu" -n 5 -p "And it came to pass" --forks 3 2>&1 >/dev/null)
tap_like "$stats" "prompt 3 tokens.*generated 12 more" "the prompt is run once but for its last token"
tap_is "$(load --forks 2 -n 20)" "$(load -n 20; echo ---; load -n 20)" "forks of what was loaded"
head -c 1000 "$state" >"$tap_tmp/cut.state"
tap_refused "cut.state: .*truncated or damaged" "a file that is cut" "$llm" "$npu" --load-session "$tap_tmp/cut.state"
tap_refused "README.md: not a session" "a file of another kind" "$llm" "$npu" --load-session models/kjv/README.md
tap_refused "kjv.npu" "one that is too large to be one" "$llm" "$npu" --load-session "$npu"
tap_refused "none.state: No such file" "none" "$llm" "$npu" --load-session "$tap_tmp/none.state"
tap_refused "No such file" "a folder that is not there" greedy -n 2 --save-session "$tap_tmp/none/x.state"
tap_refused "another model or another compilation" "of another job file" \
	"$llm" "$tap_tmp/large.npu" --pool 64 --load-session "$state"

# ---- speculation: the same texts, whatever ends them ----

tap_is "$(greedy -n 100 --speculate)" "$(greedy -n 100)" "--speculate"
tap_is "$(greedy -n 0 --speculate)" "$(greedy -n 0)" "until the context is full"
tap_is "$(greedy -n 100 --speculate --stop "who is the Son of God, who is the Father")" \
	"$(greedy -n 100 --stop "who is the Son of God, who is the Father")" "a stop string that does not come"
tap_is "$(greedy -n 100 --speculate --stop "of God, who is the Son of")" \
	"$(greedy -n 100 --stop "of God, who is the Son of")" "one amid what is drafted"
tap_is "$(greedy -n 40 --speculate --draft 1)" "$text" "--draft 1"
tap_is "$(seeded 1 --speculate)" "$one" "sampled with a seed"
stats=$("$llm" "$npu" --greedy -n 100 -p "And it came to pass" --speculate 2>&1 >/dev/null)
tap_like "$stats" "generated 99 more" "statistics count the same tokens"
tap_like "$stats" "speculation: look-up drafted [0-9]+ tokens, [0-9]+ right .*; [0-9.]+ tokens a step; [0-9.]+ times as fast as the [0-9]+ steps without drafts" \
	"and say what it was good for: $(grep speculation <<<"$stats")"
"$compile" -q "$gguf" --context 64 -o "$tap_tmp/small.npu"
stats=$("$llm" "$npu" --greedy -n 40 -p "In the beginning God" --speculate-model "$tap_tmp/small.npu" 2>&1 >"$tap_tmp/out")
tap_is "$(cat "$tap_tmp/out")" "$text" "--speculate-model"
tap_like "$stats" "model drafted [0-9]+ tokens, [1-9][0-9]* right" "its drafts are right"
stories=${NPU_SHARED_MODELS:-../shared/models}/stories260K-Q8_0.gguf
if [ -e "$stories" ]; then
	"$compile" -q "$stories" -o "$tap_tmp/stories.npu"
	tap_refused "stories.npu can not draft for .*kjv.npu: its vocabulary has 512 tokens, the other one 2048" \
		"a model of another vocabulary" "$llm" "$npu" -p x --speculate-model "$tap_tmp/stories.npu"
else
	tap_skip "a model of another vocabulary" "stories260K is not there"
fi
tap_refused "No such file" "no model" "$llm" "$npu" -p x --speculate-model "$tap_tmp/none.npu"

# ---- a chat ----

chat()
{
	printf '%s\n' "Who was Moses?" "" "And Aaron?" | "$llm" "$npu" -q --greedy -n 8 --chat "$@"
}
tap_refused "chat" "a model without a chat template" chat
out=$(chat --chat-template chatml)
tap_is "$(grep -c . <<<"$out")" 2 "two turns, two answers: $(tr '\n' '|' <<<"$out")"
tap_is "$(chat --chat-template chatml --speculate)" "$out" "with speculation"
# A chat without a turn changes no session, and one of nothing is one.
tap_run "no turn" "$llm" "$npu" -q --chat --chat-template chatml --load-session "$state" \
	--save-session "$tap_tmp/same.state" </dev/null
tap_run "the session is saved as it was loaded" cmp "$state" "$tap_tmp/same.state"
tap_run "no turn of a new chat" "$llm" "$npu" -q --chat --chat-template chatml \
	--save-session "$tap_tmp/empty.state" </dev/null
tap_is "$("$llm" "$npu" -q --greedy -n 40 -p "In the beginning God" --load-session "$tap_tmp/empty.state")" "$text" \
	"a text behind its session is one from the beginning"
tap_refused "no chat template 'x'" "a template that is not there" chat --chat-template x

# ---- Ctrl-C ----

# A shell gives its children in the background an ignored SIGINT, so perl starts it.
interrupted()
{
	timeout 60 perl -e '
	my $pid = open(my $f, "-|", @ARGV) or die;
	read($f, my $c, 40);
	kill "INT", $pid;
	my @rest = <$f>;
	close($f);
	print $? >> 8, " ", $? & 127;' "$llm" "$npu" -q --greedy -n 0 --ignore-end -p "And" "$@"
}
tap_is "$(interrupted)" "0 0" "Ctrl-C ends a generation, and the program as ever"
tap_is "$(interrupted --speculate)" "0 0" "and one with speculation"

# ---- mistakes ----

mistake npu-llm "expected one model"
mistake npu-llm "one of --prompt" "$npu" -p x --chat
mistake npu-llm "one of --prompt" "$npu" --serve 0 --chat
mistake npu-llm "one of --prompt" "$npu" --info -p x
mistake npu-llm "from 0 to 65535" "$npu" --serve 65536
mistake npu-llm "expected a number from 1 to 86400" "$npu" --serve 0 --client-timeout 0
mistake npu-llm "from 0 to 10000" "$npu" --serve 0 --prefixes 10001
mistake npu-llm "expected a number" "$npu" --temp warm
mistake npu-llm "expected a number" "$npu" -n -1
mistake npu-llm "expected a number from 1 to" "$npu" --speculate --draft 0
mistake npu-llm "draft is of --speculate" "$npu" --draft 3
mistake npu-llm "for a text, a chat or a server" "$npu" --speculate --bench tg4
mistake npu-llm "are for a text or a chat" "$npu" --load-session x --bench tg4
mistake npu-llm "are for a text or a chat" "$npu" --save-session x --serve 0
mistake npu-llm "forks is for a text" "$npu" --forks 2 --chat
mistake npu-llm "expected a number from 1 to" "$npu" --forks 0
mistake npu-llm "makes several" "$npu" --forks 2 --save-session x
mistake npu-llm "a server drafts by look-up" "$npu" --speculate-model "$npu" --serve 0
mistake npu-llm "context needs --perplexity" "$npu" -p x -c 10
mistake npu-llm "repeat needs --bench" "$npu" -p x -r 3
for option in queue prefixes client-timeout; do
	mistake npu-llm "$option needs --serve" "$npu" -p x --$option 5
done
mistake npu-llm "system needs --chat" "$npu" -p x --system y
mistake npu-llm "chat-template needs --chat or --serve" "$npu" -p x --chat-template chatml
mistake npu-llm "bench does not go with --stop" "$npu" --bench tg2 --stop x
for size in "" 0 -1 4x 4MB K 99999999999G; do
	mistake npu-llm "expected bytes" "$npu" --kv-budget "$size"
done
mistake npu-llm "expected a text" "$npu" --stop ""
mistake npu-llm "more than 16 --stop options" "$npu" $(printf -- "--stop x %.0s" {1..17})
mistake npu-llm "expected a number from 0 to 18446744073709551615" "$npu" --seed 18446744073709551616
tap_refused "temperature" "a negative temperature" "$llm" "$npu" --temp -1
tap_refused "No such file" "no model" "$llm" "$tap_tmp/none.npu"
tap_refused "not a job file" "a GGUF file" "$llm" "$gguf"
tap_refused "expected pp512" "a bench that is none" "$llm" "$npu" --bench qq1
tap_refused "compiled for a context" "a bench beyond the context" "$llm" "$npu" --bench pp5000
tap_refused "a window has" "a text too short" "$llm" "$npu" --perplexity "$tap_tmp/prompt.txt"
tap_refused "No such file" "no prompt file" "$llm" "$npu" --file "$tap_tmp/none"
tap_done
