#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tokenizers against llama-tokenize itself: a megabyte for SPM, and texts of every script, drawn at
# random, through every pre-tokenizer there is, over one BPE vocabulary.
. tests/tap.sh

llama=scripts/llama-root.sh
shared=${NPU_SHARED_MODELS:-../shared/models}
test=$NPU_BUILD/tests/llm/test_tokenizer

out=$($llama 2>&1)
case $? in
0)	;;
2)	tap_skip "against llama-tokenize" "$(grep '^llama-root: ' <<<"$out" | tail -n 1)"; tap_done ;;
*)	tap_is "$out" "" "llama.cpp is there"; tap_done ;;
esac
tap_diag "llama.cpp $($llama version)"

# same MODEL FILE TEXT [special]: both give the same ids; control tokens are looked for if asked.
same()
{
	local flags=1 option=--no-parse-special

	[ $# = 3 ] || { flags=3; option=; }
	"$test" --ids "$1" "$2" $flags >"$tap_tmp/ours" || { tap_result 1 "$3"; return; }
	$llama run llama-tokenize -m "$1" -f "$2" --ids $option 2>/dev/null >"$tap_tmp/theirs"
	cmp -s "$tap_tmp/ours" "$tap_tmp/theirs"
	tap_result $? "$3: $(grep -o , "$tap_tmp/ours" | wc -l) ids" ||
		tap_diag "$(diff <(tr -d '[]' <"$tap_tmp/ours" | tr , '\n') <(tr -d '[]' <"$tap_tmp/theirs" | tr , '\n') | head -n 20)"
}

for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cat models/kjv/val.txt
done >"$tap_tmp/long.txt"
same models/kjv/kjv-Q8_0.gguf "$tap_tmp/long.txt" "kjv, a megabyte"

# Texts of many scripts: words, numbers, spaces of all kinds, punctuation, contractions. The cased
# letters beyond ASCII are kept out of some, see below.
perl -CO -e '
	my ($seed, $cased) = @ARGV;
	srand $seed;
	my @pick = (
		sub { chr(0x61 + rand 26) x (1 + rand 3) }, sub { chr(0x41 + rand 26) }, sub { " " x (rand 4) },
		sub { ("\n", "\r\n", "\t", "\x{a0}", "\x{3000}", "\x{2009}", " \n", "\n ")[rand 8] },
		sub { join "", map { int rand 10 } 1 .. 1 + rand 6 }, sub { ("\x{b2}", "\x{bd}", "\x{2167}", "\x{664}")[rand 4] },
		sub { qw(! " $ % & ( ) * + , - . / : ; < = > ? @ [ ] ^ _ ` { | } ~)[rand 30] },
		sub { ("\x27s", "\x27T", "\x27re", "\x27VE", "\x27m", "\x27ll", "\x27d", "\x27", "\x27x")[rand 9] },
		sub { chr(0x4e00 + rand 20000) }, sub { chr(0x3041 + rand 80) }, sub { chr(0xac00 + rand 11000) },
		sub { chr(0x5d0 + rand 26) }, sub { chr(0x905 + rand 50) }, sub { chr(0xe01 + rand 46) },
		sub { chr(0x1f600 + rand 60) }, sub { chr(0x2190 + rand 100) }, sub { chr(0x2010 + rand 24) },
		sub { "\x{ff01}" }, sub { ("the", "and", "Hello", "WORLD")[rand 4] });
	push @pick, sub { chr(0xc0 + rand 23) }, sub { chr(0x430 + rand 32) }, sub { chr(0x391 + rand 17) },
		sub { chr(0x300 + rand 50) } if $cased;
	print $pick[rand @pick]->() for 1 .. 6000;
' 1 1 >"$tap_tmp/all.txt"
perl -CIO -pe 's/[\x{c0}-\x{24f}\x{300}-\x{52f}\x{900}-\x{903}\x{93a}-\x{957}\x{e31}-\x{e4e}]//g' \
	<"$tap_tmp/all.txt" >"$tap_tmp/plain.txt"
same models/kjv/kjv-Q8_0.gguf "$tap_tmp/all.txt" "kjv, every script"

special='a</s>b <s> c  <unk><s><s>\n</s> <|endoftext|>d<|endoftext|> [CLS] e[MASK][SEP].</s'
# shellcheck disable=SC2059 # it has line ends
printf "$special" >"$tap_tmp/special.txt"
for file in models/kjv/kjv-Q8_0.gguf "$shared"/{stories260K-f32,ggml-vocab-gpt-2,ggml-vocab-bert-bge}.gguf; do
	[ ! -e "$file" ] || same "$file" "$tap_tmp/special.txt" "${file##*/}, special tokens" special
done
[ ! -e "$shared/stories260K-f32.gguf" ] ||
	same "$shared/stories260K-f32.gguf" "$tap_tmp/long.txt" "stories260K, a megabyte"

vocab=$shared/ggml-vocab-gpt-2.gguf
if [ -e "$vocab" ]; then
	"$test" --names | while read -r name; do
		"$test" --pre "$vocab" "$name" "$tap_tmp/$name.gguf" || echo "$name" >>"$tap_tmp/failed"
	done
	tap_is "$(cat "$tap_tmp/failed" 2>/dev/null)" "" "vocabularies for every pre-tokenizer"
	while read -r name; do
		case $name in
		# llama.cpp takes letters beyond ASCII as of either case here, and marks as no letters;
		# the models' own rules, which are followed, do not.
		tekken|gpt-4o|llama4)
			same "$tap_tmp/$name.gguf" "$tap_tmp/plain.txt" "$name, scripts without case" ;;
		*)	same "$tap_tmp/$name.gguf" "$tap_tmp/all.txt" "$name, every script" ;;
		esac
	done < <("$test" --names)
else
	tap_skip "pre-tokenizers" "$shared does not have ggml-vocab-gpt-2.gguf"
fi
[ ! -e "$shared/ggml-vocab-bert-bge.gguf" ] ||
	same "$shared/ggml-vocab-bert-bge.gguf" "$tap_tmp/long.txt" "bert-bge, a megabyte"
tap_done
