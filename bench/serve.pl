#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# serve.pl NPU-LLM MODEL.npu [ROUNDS [CLIENTS...]] [--OPTION...]: tokens a second that clients of npu-llm
# --serve get together, by their number, in rounds of one number after the other, so that what else the
# machine does hits all. Options are the server's. Answers are of 400 tokens, once whole and once as
# streams. Beside them what the server takes of the processors for a token: that is what a busy machine
# does not change.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../tests/llm";
use JSON::PP;
use List::Util qw(sum);
use POSIX ();
use ServeClient;
use Time::HiRes qw(time);

my ($llm, $model, @rest) = @ARGV;
my ($rounds, @clients) = grep { !/^-/ } @rest;
my @options = grep { /^-/ } @rest;
die "usage: serve.pl NPU-LLM MODEL.npu [ROUNDS [CLIENTS...]] [--OPTION...]\n" if !defined $model;
$rounds ||= 5;
@clients = (1, 2, 4, 8) if !@clients;

my $tokens = 400;
my $tick = POSIX::sysconf(POSIX::_SC_CLK_TCK());
my $pid = open(my $out, '-|', $llm, $model, '--serve', 0, @options) // die "$llm: $!";
(<$out> // '') =~ m{^\S+: http://127\.0\.0\.1:(\d+)/v1$} or die "$llm --serve does not start\n";
my $client = ServeClient->new($1);

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

# A pair: tokens a second, and microseconds of the server for a token.
sub turn
{
	my ($n, $stream) = @_;
	my %more = $stream ? (stream_options => { include_usage => JSON::PP::true }) : ();
	my ($began, $busy) = (time, busy());
	my @asked = map {
		$client->start('POST', '/v1/completions', { prompt => 'And he said', max_tokens => $tokens,
			temperature => 0, ignore_eos => JSON::PP::true,
			stream => $stream ? JSON::PP::true : JSON::PP::false, %more })
	} 1 .. $n;

	$client->run(600);
	my $got = sum(map { ServeClient::completion($_)->{usage}{completion_tokens} } @asked);
	die "$got tokens, not @{[ $n * $tokens ]}\n" if $got != $n * $tokens;
	return [ $got / (time - $began), 1e6 * (busy() - $busy) / $got ];
}

sub median
{
	my @v = sort { $a <=> $b } @_;

	return $v[$#v / 2];
}

for my $stream (0, 1) {
	my (%turns, %rate, %cost);

	turn(1, $stream);	# does not count
	for (1 .. $rounds) {
		push @{$turns{$_}}, turn($_, $stream) for @clients;
	}
	printf "%s\n%7s %9s %7s %15s %7s\n", $stream ? 'streams' : 'whole answers', 'clients', 'tokens/s',
		'times', 'us of processor', 'times';
	for (@clients) {
		$rate{$_} = median(map { $_->[0] } @{$turns{$_}});
		$cost{$_} = median(map { $_->[1] } @{$turns{$_}});
		printf "%7d %9.0f %7.2f %15.0f %7.2f\n", $_, $rate{$_}, $rate{$_} / $rate{$clients[0]},
			$cost{$_}, $cost{$clients[0]} / $cost{$_};
	}
}
kill 'TERM', $pid;
$pid = 0;
close $out;
