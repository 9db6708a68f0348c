#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# edit_job.pl FILE OFFSET FORMAT VALUE: change a field of a job file's header (Documentation/
# job-file.md), FORMAT as of pack().
# edit_job.pl FILE replace OLD NEW: change a string to another of the same length.
# All check sums and the digest are made right again, as a newer compiler would have written them.
use strict;
use warnings;
use Compress::Zlib qw(crc32);
use Digest::SHA qw(sha256);

my ($path, $what, $from, $to) = @ARGV;
open my $f, '+<:raw', $path or die "$path: $!\n";
local $/;
my $data = <$f>;
if ($what eq 'replace') {
	length $from == length $to && $data =~ s/\Q$from\E/$to/g or die "$path: no '$from', or of another length\n";
} else {
	substr $data, $what, length(pack $from, 0), pack($from, $to);
}
my ($size) = unpack 'V', substr $data, 12, 4;
my ($count, $entry, $table) = unpack 'VVQ<', substr $data, 32, 16;
for my $at (map { $table + $_ * $entry } 0 .. $count - 1) {
	my ($offset, $bytes) = unpack 'Q<Q<', substr $data, $at + 8, 16;
	substr $data, $at + 28, 4, pack('V', crc32(substr $data, $offset, $bytes));
}
substr $data, 92, 4, pack('V', crc32(substr $data, $table, $count * $entry));
substr $data, 160, 32, "\0" x 32;
substr $data, 196, 4, pack('V', 0);
substr $data, 160, 32, sha256($data);
substr $data, 196, 4, pack('V', crc32(substr $data, 0, $size));
seek $f, 0, 0;
print $f $data;
