#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The headers that programs, driver and firmware share compile alone, in C and C++, for 32 and 64
# bits, and every structure has the same layout in all of them.
. tests/tap.sh

# members HEADER: "structure member" of each, as the header has it; @ for the structure itself.
members()
{
	perl -0777 -ne '
		s#/\*.*?\*/##gs;
		while (/^struct (\w+) \{\n(.*?)^\};/gms) {
			my ($name, $body) = ($1, $2);
			$body =~ s/\{[^}]*\}//g;
			print "$name @\n";
			print "$name $1\n" while $body =~ /(\w+)\s*(?:\[[^\]]*\])*\s*[;,]/g;
		}' "$1"
}

# One line a member: the numbers as text that the compiler writes to the assembler.
probe()
{
	printf '#include <stddef.h>\n#include "%s"\n' "$1"
	echo '#define N(text, value) asm volatile (".ascii \"@ " text " %c0\"" : : "i"(value))'
	echo 'void probe(void); void probe(void) {'
	while read -r name member; do
		if [ "$member" = @ ]; then
			echo "N(\"$name size\", sizeof(struct $name));"
		else
			echo "N(\"$name $member\", offsetof(struct $name, $member));"
		fi
	done
	echo '}'
}

for header in drm/npu_drm.h npu_hw.h npu_isa.h; do
	members "uapi/$header" | probe "$header" >"$tap_tmp/probe.c"
	count=$(grep -c '^N(' "$tap_tmp/probe.c")
	[ "$count" -gt 30 ]
	tap_result $? "$header: $count members and structures"
	first=
	for machine in {x86_64,i386,aarch64,riscv32}-linux-gnu armv7-linux-gnueabihf; do
		for language in c c++; do
			# The kernel's headers are the same for all; what is of the machine is not
			# used.
			clang --target=$machine -ffreestanding -x $language -Wall -Wextra -Werror \
				-S -o "$tap_tmp/probe.s" -Iuapi -isystem /usr/include/libdrm \
				-idirafter "/usr/include/$(gcc -dumpmachine)" \
				-idirafter /usr/include "$tap_tmp/probe.c" >"$tap_tmp/log" 2>&1
			tap_result $? "$header: compiles alone, $language for ${machine%%-*}" ||
				tap_diag "$(head -n 5 "$tap_tmp/log")"
			layout=$(sed -n 's/.*\.ascii.*"@ \(.*\)"$/\1/p' "$tap_tmp/probe.s" |
				tr -d '#$')
			first=${first:-$layout}
			tap_is "$layout" "$first" "$header: and has the same layout"
		done
	done
	[ "$(wc -l <<<"$first")" = "$count" ]
	tap_result $? "$header: all of which were compared"
done
tap_done
