#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The firmware's image: the same bytes from the same source wherever it is built, a header that says
# what is in it, and ELF files with something wrong refused by what is wrong.
. tests/tap.sh

pack=$NPU_BUILD/npu-fw-pack
elf=$NPU_BUILD/firmware/npu_fw.elf
bin=$NPU_BUILD/firmware/npu_fw.bin

# u32 FILE OFFSET
u32()
{
	od -An -tu4 -j"$2" -N4 "$1" | tr -d ' '
}

# Two copies of the source in folders of other names, with other names for what is built.
build_elsewhere()
{
	local dir=$tap_tmp/$1/source

	mkdir -p "$dir"
	tar -c --exclude=./build --exclude=./.git . | tar -x -C "$dir"
	(cd "$dir" && make -s BUILD="$2" "$2/firmware/npu_fw.bin") >"$tap_tmp/log" 2>&1
	tap_result $? "built in $1" || tap_diag "$(tail -5 "$tap_tmp/log")"
	built=$dir/$2/firmware/npu_fw.bin
}

build_elsewhere here build
first=$built
build_elsewhere some/where/else out
tap_run "the same bytes in both" cmp "$first" "$built"
tap_run "and here" cmp "$first" "$bin"

tap_is "$(head -c4 "$bin")" NPUF "magic"
tap_is "$(u32 "$bin" 8)" "$(stat -c %s "$bin")" "size of the file"
tap_is "$(u32 "$bin" 16) $(u32 "$bin" 20)" "1 3" "range of ABIs"
id=$(od -An -tx1 -j40 -N20 "$bin" | tr -d ' \n')
tap_like "$(readelf -n "$elf" 2>&1)" "Build ID: $id" "the build id is the linker's"
# The checksum is of the file with zeroes in its place.
crc=$(perl -e 'use Compress::Zlib; local $/; open my $f, "<", $ARGV[0]; my $d = <$f>;
	substr($d, 12, 4) = "\0\0\0\0"; print crc32($d)' "$bin" 2>/dev/null)
tap_is "$(u32 "$bin" 12)" "$crc" "checksum"

# change OFFSET BYTES: the ELF file with these bytes in it.
change()
{
	cp "$elf" "$tap_tmp/bad.elf"
	printf "$2" | dd of="$tap_tmp/bad.elf" bs=1 seek="$1" conv=notrunc 2>/dev/null
}

refuse()
{
	tap_refused "$1" "$2" "$pack" --version 1 "$tap_tmp/bad.elf" "$tap_tmp/out.bin"
}

change 0 x; refuse 'not an ELF file' 'no ELF file'
change 4 '\2'; refuse 'class 2' 'of 64 bits'
change 18 '\76\0'; refuse 'machine 62' 'of another machine'
change 28 '\377\377\377\177'; refuse 'program headers' 'program headers outside of the file'
change 44 '\377\377'; refuse 'program headers' 'more program headers than there can be'
change 24 '\0\0\0\100'; refuse 'entry 0x40000000' 'an entry that is nowhere'
change 56 '\377\377\377\177'; refuse 'file offset 0x7fffffff' 'a segment outside of the file'
change 68 '\377\377\377\177'; refuse 'segment at' 'a segment larger than the file'
change 64 '\1\0\0\0'; refuse 'not a multiple of 4' 'a segment that is not aligned'
head -c 40 "$elf" >"$tap_tmp/bad.elf"; refuse 'not an ELF file' 'a file that is cut short'
cp "$elf" "$tap_tmp/bad.elf"
tap_refused 'more than 31' 'a version that is too long' \
	"$pack" --version 12345678901234567890123456789012 "$tap_tmp/bad.elf" "$tap_tmp/out.bin"
tap_refused 'cannot be read' 'no file' "$pack" --version 1 "$tap_tmp/none.elf" "$tap_tmp/out.bin"
tap_refused usage 'no arguments' "$pack"
tap_done
