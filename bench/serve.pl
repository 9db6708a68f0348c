#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# serve.pl NPU-LLM SERVE_LOAD MODEL.npu [ROUNDS [CLIENTS...]] [--OPTION...]: tokens a second that clients
# of npu-llm --serve get together, by their number, in rounds of one number after the other, so that what
# else the machine does hits all. Options are the server's. Answers are of 400 tokens, or of TOKENS in the
# environment, once whole and once as streams. Printed are medians of the rounds, how many times the rate
# of the first number that is, and the least and most of that in any round. Beside them what server and
# clients take of the processors for a token: that is what a busy machine does not change.
use strict;
use warnings;
use POSIX ();

my ($llm, $load, $model, @rest) = @ARGV;
my ($rounds, @clients) = grep { !/^-/ } @rest;
my @options = grep { /^-/ } @rest;
die "usage: serve.pl NPU-LLM SERVE_LOAD MODEL.npu [ROUNDS [CLIENTS...]] [--OPTION...]\n"
	if !defined $model;
$rounds ||= 5;
@clients = (1, 2, 4, 8) if !@clients;

my $tokens = $ENV{TOKENS} || 400;
my $tick = POSIX::sysconf(POSIX::_SC_CLK_TCK());
my $pid = open(my $out, '-|', $llm, $model, '--serve', 0, @options) // die "$llm: $!";
(<$out> // '') =~ m{^\S+: http://127\.0\.0\.1:(\d+)/v1$} or die "$llm --serve does not start\n";
my $port = $1;

END {
	kill 'KILL', $pid if $pid;
}

# Seconds of processor time that the server has taken.
sub busy
{
	open my $f, '<', "/proc/$pid/stat" or die "the server has ended\n";
	my @field = split ' ', <$f> =~ s/^.*\) //r;

	return ($field[11] + $field[12]) / $tick;
}

# Tokens a second, and microseconds of the server and of the clients for a token.
sub turn
{
	my ($n, $stream) = @_;
	my $busy = busy();
	my $line = qx($load $port $n $tokens @{[ $stream ? 'stream' : 'whole' ]});
	my ($got, $seconds, $own) = split ' ', $line;

	die "serve_load failed\n" if $? || $got != $n * $tokens;
	return [ $got / $seconds, 1e6 * (busy() - $busy) / $got, 1e6 * $own / $got ];
}

sub median
{
	my @v = sort { $a <=> $b } @_;

	return $v[$#v / 2];
}

for my $stream (0, 1) {
	my (%turns, %rate);

	turn(1, $stream);	# does not count
	for (1 .. $rounds) {
		push @{$turns{$_}}, turn($_, $stream) for @clients;
	}
	printf "%s\n%7s %9s %7s %13s %10s %11s\n", $stream ? 'streams' : 'whole answers', 'clients',
		'tokens/s', 'times', 'least-most', 'us: server', 'clients';
	for my $n (@clients) {
		my @times = sort { $a <=> $b }
			map { $turns{$n}[$_][0] / $turns{$clients[0]}[$_][0] } 0 .. $rounds - 1;

		$rate{$n} = median(map { $_->[0] } @{$turns{$n}});
		printf "%7d %9.0f %7.2f %6.2f-%-6.2f %10.0f %11.1f\n", $n, $rate{$n}, median(@times),
			$times[0], $times[-1], median(map { $_->[1] } @{$turns{$n}}),
			median(map { $_->[2] } @{$turns{$n}});
	}
}
kill 'TERM', $pid;
$pid = 0;
close $out;
