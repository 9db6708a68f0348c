#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How sources look: lines of at most 100 columns, files of at most 800 lines. What is in quotes does
# not count for a line, since a message is one piece for those who look for it.
. tests/tap.sh

# Where they are, but for what scripts make.
folders=(bench driver examples firmware fuzz libnpu selftests tests tools uapi Documentation)
made='^libnpu/llm/unicode_table\.c$'

files=$(find "${folders[@]}" -name '*.[ch]' | grep -vE "$made" | sort)

# long_lines FILE...: those of more than 100 columns, as FILE:LINE.
long_lines()
{
	perl -CSD -MText::Tabs -ne '
		chomp(my $line = expand($_));
		$line =~ s/"(?:\\.|[^"\\])*"/""/g if length $line > 100;
		print "$ARGV:$.\n" if length $line > 100;
		close ARGV if eof' "$@"
}

printf '\t\tint x = 1;%079d\n%0100d\n\t"%0120d";\n\t%093d\n' 0 0 0 0 >"$tap_tmp/sample.c"
tap_is "$(long_lines "$tap_tmp/sample.c")" "$tap_tmp/sample.c:1"$'\n'"$tap_tmp/sample.c:4" \
	"long lines are found, tabs counted, what is in quotes not"
tap_is "$(long_lines $files)" "" \
	"no line of $(wc -l <<<"$files") files is longer than 100 columns"
tap_is "$(wc -l $files | awk '$1 > 800 && $2 != "total"')" "" \
	"none of $(wc -l <<<"$files") files has more than 800 lines"
tap_done
