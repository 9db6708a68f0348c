#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# fold.pl [--no-skips] LOGDIR PROGRAM...: what came of a run in a guest.
#
# Reads LOGDIR/out.ktap (the output of tests/guest/in/run.sh) and the kernel's log, and prints one
# line per result: ok, not, skip or diag, a tab, and a text. Whatever is missing is a failure: a
# program that did not run or end, a plan that was not kept, a status that no result explains. So is
# everything in the kernel's log that should not be there. A program announces what it is about to
# provoke by writing "npu-test: expect REGEX" to /dev/kmsg; that holds until it ends.
#
# --no-skips: a skip for want of an NPU is a failure.
use strict;
use warnings;

# What a healthy kernel does not say, at any level.
my @splats = (
	qr/\bWARNING: /, qr/\bBUG: /, qr/kernel BUG at/, qr/\bOops\b/, qr/general protection fault/,
	qr/Kernel panic/, qr/unable to handle/i, qr/\bINFO: (?:task|rcu_|trying|possible)/,
	qr/blocked for more than/, qr/possible (?:recursive|circular)/, qr/inconsistent lock state/,
	qr/suspicious RCU/, qr/lock held when returning/, qr/scheduling while atomic/, qr/sleeping function called/,
	qr/\b(?:KASAN|UBSAN|KCSAN|KFENCE)\b/, qr/refcount_t: /, qr/list_(?:add|del) corruption/,
	qr/use-after-free/, qr/\bleak(?:ed|s)?\b/i, qr/unreferenced object/, qr/cannot create duplicate filename/,
	qr/nobody cared/, qr/soft lockup/, qr/self-detected stall/, qr/detected stalls/, qr/DMA-API: /,
	qr/DMAR: .*fault/i, qr/virtio_iommu: .*fault/, qr/still busy|still in use/, qr/segfault at/,
);

my $no_skips = @ARGV && $ARGV[0] eq '--no-skips' && shift;
my ($dir, @programs) = @ARGV;
die "usage: fold.pl [--no-skips] LOGDIR PROGRAM...\n" unless @programs;

sub say_result {
	my ($kind, $text) = @_;
	$text =~ s/[\t\r\n]+/ /g;
	print "$kind\t$text\n";
}

sub slurp {
	my ($file) = @_;
	open(my $fh, '<:raw', "$dir/$file") or return;
	return map { s/\r?\n$//r } <$fh>;
}

# split_output: the lines of each program, and its status when it ended.
sub split_output {
	my (%run, $current);
	for (slurp('out.ktap')) {
		if (/^# begin (\S+)$/) {
			$current = $1;
			$run{$current} = { lines => [] };
		} elsif (defined $current && /^# end \Q$current\E (\d+)$/) {
			$run{$current}{status} = $1;
			undef $current;
		} elsif (defined $current) {
			push(@{ $run{$current}{lines} }, $_);
		}
	}
	return %run;
}

# fold_result PROGRAM NOT NAME DIRECTIVE: one line of KTAP.
sub fold_result {
	my ($program, $not, $name, $directive, $reason) = @_;
	my $text = "$program $name";
	if ($directive eq 'SKIP') {
		return say_result(not => "$text: $reason") if $not || ($no_skips && $reason =~ /no NPU/i);
		return say_result(skip => "$text # $reason");
	}
	return say_result(not => "$text was expected to fail: $reason") if $directive eq 'XPASS';
	# What is expected to fail and fails is as it should be.
	say_result($not && $directive ne 'XFAIL' && $directive ne 'TODO' ? 'not' : 'ok', $text);
}

# fold_program PROGRAM RUN: its results, and whatever is missing.
sub fold_program {
	my ($program, $run) = @_;
	my ($plan, $count, $bad, @notes) = (undef, 0, 0);

	return say_result(not => "$program was not run") unless $run;
	for (@{ $run->{lines} }) {
		if (/^1\.\.(\d+)(?:\s*# SKIP\s*(.*))?/i) {
			say_result(not => "$program has two plans") if defined $plan;
			$plan = $1;
			fold_result($program, '', 'as a whole', 'SKIP', $2 // '') if !$plan;
		} elsif (/^(not )?ok (\d+)(?: -)?\s*(.*?)(?:\s*# (SKIP|XFAIL|XPASS|TODO)\b\s*(.*))?$/i) {
			say_result(diag => $_) for $1 ? @notes : ();
			$count++;
			$bad++ if $1 && !$4;
			say_result(not => "$program: result $2 where $count should be") if $2 != $count;
			fold_result($program, $1 // '', $3, uc($4 // ''), $5 // '');
			@notes = ();
		} elsif (/^\s*#\s?(.*)/) {
			push(@notes, $1) if $1 !~ /^(?:RUN|OK|Starting|PASSED|FAILED|Totals)/;
		}
	}
	my $status = $run->{status};
	say_result(not => "$program did not end"), return unless defined $status;
	say_result(not => "$program has no plan"), return unless defined $plan;
	say_result(not => "$program has $count results of $plan") if $plan != $count;
	# kselftest: 0 passed, 4 skipped, 1 failed; any other status is the program's own end.
	say_result(not => "$program ended with status $status") if $status != 0 && $status != 4 && !($status == 1 && $bad);
	say_result(not => "$program ended with status 0 though $bad failed") if $status == 0 && $bad;
}

# check_kernel: everything the kernel said at the wrong time, one failure per program.
sub check_kernel {
	my @lines = slurp('dmesg.log');
	my ($program, @expected, @found) = ('boot');
	# A guest that did not come to its end has only the console.
	@lines = slurp('console.log') unless @lines;
	return say_result(not => 'the kernel left no log') unless @lines;
	for (@lines) {
		my ($level, $line) = /^<(\d+)>(.*)/ ? ($1 & 7, $2) : (6, $_);
		if ($line =~ /npu-test: begin (\S+)/) {
			$program = $1;
		} elsif ($line =~ /npu-test: end /) {
			($program, @expected) = ('between programs');
		} elsif ($line =~ /npu-test: expect (.+)/) {
			push(@expected, qr/$1/);
		} elsif ((grep { $line =~ $_ } @splats) || ($level <= 3 && $program ne 'boot')) {
			push(@found, "$program: $line") unless grep { $line =~ $_ } @expected;
		}
	}
	say_result(diag => $_) for @found;
	say_result(@found ? 'not' : 'ok', 'the kernel says nothing it should not' . (@found ? ": $found[0]" : ''));
}

my %run = split_output();
fold_program($_, $run{$_}) for @programs;
check_kernel();
