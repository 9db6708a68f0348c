#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# run.pl [-j JOBS] [-t SECONDS] [-l LOGDIR] TEST...: run TAP tests and count assertions.
#
# TEST is a program, or a shell script named *.sh. prove's own machinery (TAP::Harness) runs and
# shows them; what it lacks is the closing line this project promises:
#	N passed, N failed[, N skipped]
# where a crash, a broken plan, a time-out or a non-zero exit that no failed assertion explains
# counts as one failure. The exit status is 0 only if something passed and nothing failed.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use File::Path qw(make_path);
use Getopt::Std;
use TAP::Harness;

my %opt = (j => 2, t => 900, l => '');
getopts('j:t:l:', \%opt) or die "usage: run.pl [-j JOBS] [-t SECONDS] [-l LOGDIR] TEST...\n";
$| = 1;

my @tests = @ARGV;
my %log;

# A name that says where a test comes from: engine/test_conv, asan/engine/test_conv.
sub name_of {
	my ($path) = @_;
	my ($build, $rest) = $path =~ m{^(?:(.*?)/)?tests/(.*)$} or return $path;
	my $leg = basename($build // '');
	return $leg =~ /^(asan|tsan)$/ ? "$leg/$rest" : $rest;
}

# Sanitizers of gcc 12 cannot map their shadow where a newer kernel's address randomization is wide,
# so their programs run without it, where that is allowed.
my @fixed = system('setarch -R true 2>/dev/null') == 0 ? ('setarch', '-R') : ();

sub command_of {
	my (undef, $path) = @_;
	my @limit = ('timeout', '-k', '10', $opt{t});
	push(@limit, @fixed, 'env', 'NPU_TEST_SHORT=1') if name_of($path) =~ m{^[at]san/};
	return [@limit, 'bash', $path] if $path =~ /\.sh$/;
	return [@limit, $path =~ m{/} ? $path : "./$path"];
}

# Keep each test's full output, which the console shows only in part.
sub open_log {
	my ($parser, $test) = @_;
	return unless $opt{l};
	my $file = "$opt{l}/" . name_of($test->[0]) . '.tap';
	make_path(dirname($file));
	open(my $fh, '>', $file) or return;
	$log{$file} = $fh;
	$parser->callback(ALL => sub { print $fh $_[0]->raw, "\n" });
}

if (!@tests) {
	print "no test to run\n0 passed, 1 failed\n";
	exit 1;
}

my $harness = TAP::Harness->new({
	jobs => $opt{j},
	exec => \&command_of,
	comments => 1,
	failures => 1,
	timer => 1,
	color => -t STDOUT ? 1 : 0,
	ignore_exit => 0,
});
$harness->callback(made_parser => \&open_log);
my $all = $harness->runtests(map { [$_, name_of($_)] } @tests);

my ($passed, $failed, $skipped) = (0, 0, 0);
for my $parser ($all->parsers) {
	my $skips = $parser->skipped;
	my $bad = $parser->failed;
	$skipped += $skips;
	$passed += $parser->passed - $skips;
	# An exit status is explained by failed assertions; a signal (or timeout's 124) by nothing.
	my $broken = $parser->parse_errors || $parser->exit >= 124 || ($parser->wait & 127);
	$bad++ if $broken || ($parser->exit && !$bad);
	$skipped++ if $parser->skip_all && !$parser->parse_errors && !$parser->exit;
	$failed += $bad;
}
$failed++ if !$failed && !$passed;
print "$passed passed, $failed failed", $skipped ? ", $skipped skipped" : '', "\n";
exit($failed ? 1 : 0);
