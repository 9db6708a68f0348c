#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# set_header.pl FILE OFFSET FORMAT VALUE: change a field of a job file's header (Documentation/
# job-file.md), FORMAT as of pack(), and make its check sum right again, as a newer compiler would.
use strict;
use warnings;
use Compress::Zlib qw(crc32);

my ($path, $offset, $format, $value) = @ARGV;
open my $f, '+<:raw', $path or die "$path: $!\n";
local $/;
my $data = <$f>;
substr $data, $offset, length(pack $format, 0), pack($format, $value);
my $size = unpack 'V', substr $data, 12, 4;
substr $data, 196, 4, pack('V', 0);
substr $data, 196, 4, pack('V', crc32(substr $data, 0, $size));
seek $f, 0, 0;
print $f $data;
