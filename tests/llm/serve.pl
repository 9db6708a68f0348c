# SPDX-License-Identifier: MIT
#
# serve.pl NPU-LLM FOLDER NUMBER: see test_serve.sh, which calls this with references in FOLDER.
use strict;
use warnings;
use JSON::PP;
use POSIX ();
use ServeClient;
use Test::More;
use Time::HiRes qw(sleep time);

my ($llm, $dir, $num) = @ARGV;
my $long = $ENV{NPU_TEST_LONG} // 0;
my $load_seconds = $long && $long ne '0' ? 300 : 60;
my $clients = 32;
my @children;

binmode Test::More->builder->$_, ':utf8' for 'output', 'failure_output';
srand 5;
$SIG{PIPE} = 'IGNORE';
$SIG{$_} = sub { kill 'KILL', @children; exit 1 } for 'INT', 'TERM';

sub slurp
{
	my ($path) = @_;

	open my $f, '<', $path or die "$path: $!";
	local $/;
	return scalar <$f> // '';
}

my @refs = map { {
	prompt => slurp("$dir/$_.prompt"), tokens => slurp("$dir/$_.tokens") + 0,
	text => slurp("$dir/$_.text"),
} } 0 .. $num - 1, 'long0', 'long1';
my @long = splice @refs, -2;

# ---- servers ----

# serve(MODEL, OPTION...): the process, and a client for it. Texts that ended are not kept, so that
# their blocks can be counted, unless --prefixes is among the options.
sub serve
{
	my ($model, @options) = @_;
	my @command = ($llm, "$dir/$model", '--serve', 0, '--prefixes', 0, @options);
	my $pid = open(my $out, '-|', @command) // die "$llm: $!";
	my $line = <$out> // die "$llm --serve does not start\n";

	push @children, $pid;
	$line =~ m{^\S+: http://127\.0\.0\.1:(\d+)/v1$} or die "it says $line";
	return { pid => $pid, out => $out, client => ServeClient->new($1) };
}

# Ask it to end; its exit status, 128 and more for a signal.
sub end_server
{
	my ($s, $signal) = @_;

	kill $signal, $s->{pid} if $signal;
	close $s->{out};
	@children = grep { $_ != $s->{pid} } @children;
	return $? >> 8 | ($? & 127 ? 128 + ($? & 127) : 0);
}

END {
	kill 'KILL', $_ for @children;
}

sub rss
{
	my ($s) = @_;

	return slurp("/proc/$s->{pid}/smaps_rollup") =~ /^Rss:\s+(\d+) kB/m ? $1 : die 'no Rss';
}

# The most that it had, in KiB, since the last forget_peak().
sub peak
{
	my ($s) = @_;

	return slurp("/proc/$s->{pid}/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 : die 'no VmHWM';
}

sub forget_peak
{
	my ($s) = @_;

	open my $f, '>', "/proc/$s->{pid}/clear_refs" or die "clear_refs: $!";
	print $f 5;
}

# until_metric(SERVER, NAME, WANT): wait until it is so much, five minutes at most; what it is then.
sub until_metric
{
	my ($s, $name, $want) = @_;
	my $is;

	for (1 .. 6000) {
		$is = $s->{client}->metrics->{$name};
		last if $is == $want;
		sleep 0.05;
	}
	return $is;
}

sub ask
{
	my ($ref, %more) = @_;

	return { prompt => $ref->{prompt}, max_tokens => $ref->{tokens}, temperature => 0,
		 ignore_eos => JSON::PP::true, %more };
}

my $on = JSON::PP::true;
my $path = '/v1/completions';

# Why an answer is not the one for @ref, or ''.
sub fault
{
	my ($r, $ref) = @_;
	my $c = eval { ServeClient::completion($r) };

	return $@ if !$c;
	return "text '$c->{text}'\nnot '$ref->{text}'" if $c->{text} ne $ref->{text};
	return "finish_reason $c->{reason}" if $c->{reason} ne 'length';
	return '' if !$c->{usage} && $ref->{stream};
	return "completion_tokens $c->{usage}{completion_tokens}"
		if $c->{usage}{completion_tokens} != $ref->{tokens};
	return 'total_tokens' if $c->{usage}{total_tokens} !=
		$c->{usage}{prompt_tokens} + $c->{usage}{completion_tokens};
	return '';
}

# All of @$refs at once; how many are right.
sub all_at_once
{
	my ($s, $refs, %more) = @_;
	my @asked = map { $s->{client}->start('POST', $path, ask($_, %more), ref => $_) } @$refs;
	my $right = 0;

	$s->{client}->run(300);
	for (@asked) {
		my $fault = fault($_, { %{$_->{ref}}, stream => $more{stream} });

		$fault eq '' ? $right++ : diag $fault;
	}
	return $right;
}

# ---- answers ----

my $s = serve('kjv.npu', '--client-timeout', 120);
my $c = $s->{client};

is all_at_once($s, \@refs), @refs, @refs . ' prompts at once: the texts of each alone';
is all_at_once($s, \@refs, stream => $on), @refs, 'the same as streams';
is all_at_once($s, [ (@refs[0 .. 3]) x 8 ]), 32, 'the same prompt several times at once';

my $r = $c->request('POST', $path, ask($refs[3], stream => $on,
	stream_options => { include_usage => $on }));
is ServeClient::completion($r)->{usage}{completion_tokens}, $refs[3]{tokens}, 'usage of a stream';
cmp_ok scalar(() = $r->{text} =~ /^data: /mg), '>', $refs[3]{tokens} / 2, 'it comes in pieces';

sub told
{
	return eval { ServeClient::completion($c->request('POST', $path, ask(@_))) } ||
		{ text => $@, reason => '' };
}

my $word = (split ' ', $refs[3]{text})[5];
my ($before) = $refs[3]{text} =~ /^(.*?)\Q$word\E/s;
my $t = told($refs[3], stop => $word);
is $t->{text}, $before, "stop: '$word'";
is $t->{reason}, 'stop', 'its finish_reason';
is told($refs[3], stop => [ 'zzz', $word ])->{text}, $before, 'a list of stop strings';
is told($refs[3], stop => 'z' x 256)->{text}, $refs[3]{text}, 'a long one that does not come';
$r = $c->request('POST', $path, ask($refs[3], stop => $word, stream => $on));
is ServeClient::completion($r)->{text}, $before, 'a stop string in a stream';
my @ids = map { $_ + 0 } 5, 6, 7;
is told($refs[1], prompt => \@ids)->{usage}{prompt_tokens}, 3, 'a prompt of token ids';
my %warm = (temperature => 0.9, top_k => 50, top_p => 0.9, min_p => 0.01,
	repetition_penalty => 1.1);
my $one = told($refs[2], %warm, seed => 1);
is told($refs[2], %warm, seed => 1)->{text}, $one->{text}, "a seed repeats: $one->{text}";
isnt told($refs[2], %warm, seed => 2)->{text}, $one->{text}, 'another gives another text';

is $c->request('GET', '/v1/models')->{status}, 200, '/v1/models';
is decode_json($c->request('GET', '/v1/models')->{text})->{data}[0]{id}, 'kjv', 'its name';
my $listed = decode_json($c->request('GET', '/v1/models')->{text})->{data}[0];
is_deeply decode_json($c->request('GET', '/v1/models/kjv')->{text}), $listed, '/v1/models/kjv';
is_deeply decode_json($c->request('GET', '/v1/models/k%6av')->{text}), $listed, 'its name in hex';
is decode_json($c->request('GET', '/health')->{text})->{status}, 'ok', '/health';
is $c->request('HEAD', '/health')->{text}, '', 'HEAD has no body';
my $m = $c->metrics;
is $m->{kv_blocks_used}, 0, 'no block of the cache is left behind';
cmp_ok $m->{generated_tokens_total}, '>', 2 * $m->{steps_total}, 'steps are shared';
cmp_ok $m->{'requests_total{outcome="length"}'}, '>', 70, 'requests are counted';

is slurp("/proc/$s->{pid}/net/tcp") =~ /^\s*\d+: (\S+):@{[ sprintf '%04X', $c->{port} ]} 00000000:0000 0A/m
	? $1 : '', '0100007F', 'it listens on 127.0.0.1';
my $twice = qx($llm $dir/kjv.npu --serve $c->{port} 2>&1);
is $? >> 8, 1, 'a port that is taken: exit status 1';
like $twice, qr/^npu-llm: port $c->{port}: Address already in use/, 'it says so';

# ---- mistakes ----

my %ok = (prompt => 'And', max_tokens => 2);
my @mistakes = (
	[ 400, undef, '{"prompt": "x",', 'no JSON' ],
	[ 400, undef, '[]', 'no object' ],
	[ 400, undef, '', 'nothing' ],
	[ 400, undef, "{\"prompt\": \"\xff\"}", 'no UTF-8' ],
	[ 400, undef, '{"prompt": "a\\u0000b"}', 'a NUL character' ],
	[ 400, undef, ('[' x 5000) . (']' x 5000), 'deep nesting' ],
	[ 400, 'prompt', { max_tokens => 2 } ],
	[ 400, 'prompt', { %ok, prompt => [ 'a', 'b' ] } ],
	[ 400, 'prompt', { %ok, prompt => [ 1, -1 ] } ],
	[ 400, 'prompt', { %ok, prompt => [ 1, 1e12 ] } ],
	[ 400, 'prompt', { %ok, prompt => [ 1.5 ] } ],
	[ 400, 'prompt', { %ok, prompt => 'word ' x 1000 } ],
	[ 400, 'max_tokens', { %ok, max_tokens => 0 } ],
	[ 400, 'max_tokens', { %ok, max_tokens => 1.5 } ],
	[ 400, 'max_tokens', { %ok, max_tokens => 1e300 } ],
	[ 400, 'temperature', { %ok, temperature => -1 } ],
	[ 400, 'temperature', { %ok, temperature => 'warm' } ],
	[ 400, 'top_p', { %ok, top_p => 0 } ],
	[ 400, 'min_p', { %ok, min_p => 2 } ],
	[ 400, 'top_k', { %ok, top_k => -1 } ],
	[ 400, 'seed', { %ok, seed => 1e30 } ],
	[ 400, 'stop', { %ok, stop => '' } ],
	[ 400, 'stop', { %ok, stop => [ 1 ] } ],
	[ 400, 'stop', { %ok, stop => [ ('x') x 17 ] } ],
	[ 400, 'stop', { %ok, stop => 'x' x 257 } ],
	[ 400, 'stream', { %ok, stream => 1 } ],
	[ 400, 'speculate', { %ok, speculate => 'yes' } ],
	[ 400, 'n', { %ok, n => 2 } ],
	[ 400, 'echo', { %ok, echo => $on } ],
	[ 400, 'logprobs', { %ok, logprobs => 3 } ],
	[ 400, 'presence_penalty', { %ok, presence_penalty => 1 } ],
	[ 400, 'logit_bias', { %ok, logit_bias => { 5 => 1 } } ],
	[ 400, 'nonsense', { %ok, nonsense => 1 } ],
	[ 404, 'model', { %ok, model => 'gpt' } ],
	[ 404, 'model', { %ok, model => "x" . "\x{e4}" x 200 } ],
);

# An answer with that status which is an error in OpenAI's form.
sub refused
{
	my ($r, $status, $param, $text) = @_;
	my $e = eval { decode_json($r->{text})->{error} } // {};
	my $is = ($r->{status} // 0) == $status && $e->{message} && $e->{type} &&
		exists $e->{code} && (!defined $param || ($e->{param} // '') eq $param);

	ok $is, "$text: $status: " . ($e->{message} // '') or
		diag explain $r->{status}, $r->{text}, $r->{error};
}

refused($c->request('POST', $path, $_->[2]), $_->[0], $_->[1], $_->[3] // $_->[1]) for @mistakes;
refused($c->request('GET', '/v1/nothing'), 404, undef, 'a path that is not there');
refused($c->request('GET', "/v1/models/$_"), 404, 'model', "a model that is not there: '$_'")
	for 'gpt', '', 'kjv/', 'kj', '%ff%c3', '%22', 'x' x 3000;
refused($c->request('DELETE', '/v1/models/kjv'), 405, undef, 'a model is not deleted');
refused($c->request('GET', '/v1/%ff'), 404, undef, 'a path that is not UTF-8');
refused($c->request('GET', $path), 405, undef, 'a method that is not there');
refused($c->request('POST', '/health', {}), 405, undef, 'a POST to /health');
refused($c->request('POST', $path, { %ok }, type => 'text/plain'), 415, undef, 'another type');
refused($c->request('POST', $path, ' ' x (5 << 20)), 413, undef, 'a large body');
refused($c->request('POST', $path, ' ' x (1 << 20), length => 1 << 40), 413, undef,
	'a body that says it has a terabyte');
refused($c->request('POST', '/v1/chat/completions', { messages => [ { role => 'user',
	content => 'a' } ] }), 400, 'messages', 'a chat without a form');
is told(\%{$refs[3]})->{text}, $refs[3]{text}, 'it goes on after all of them';

# Bodies with a byte that is another: an answer or a mistake, never an end.
my $body = encode_json({ %ok, stop => [ 'x' ], seed => 1, temperature => 0.5, stream => $on,
	stream_options => { include_usage => $on } });
my @mutants = map {
	my $mutant = $body;

	substr($mutant, rand length $mutant, 1) = chr int rand 256;
	$c->start('POST', $path, $mutant);
} 1 .. 60;
$c->run(60);
is scalar(grep { ($_->{status} // 0) !~ /^(200|400)$/ || !$_->{complete} } @mutants), 0,
	'60 mutants of a request';

# Several requests of one connection.
my $sock = $c->connect;
my $told = '';
for my $i (1 .. 3) {
	$body = encode_json(ask($refs[2]));
	syswrite $sock, "POST $path HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" .
		'Content-Length: ' . length($body) . "\r\n\r\n$body";
	while ((() = $told =~ /"total_tokens"/g) < $i) {
		last if !sysread $sock, $told, 4096, length $told;
	}
}
is scalar(() = $told =~ /^HTTP\/1.1 200 /mg), 3, 'three requests of one connection';
close $sock;

# ---- many clients, who come and go ----

my %seen = (right => 0, wrong => 0, quit => 0, open => 0);
my $stop_at;

sub next_request
{
	my $ref = $refs[rand @refs];
	my %more = rand() < 0.5 ? (stream => $on) : ();
	my @quit = rand() < 0.25 ? (quit => rand 0.5) : ();

	return if time > $stop_at;
	$c->start('POST', $path, ask($ref, %more), @quit, done => sub {
		my ($r) = @_;
		my $fault = $r->{quitted} ? 'quit' : fault($r, { %$ref, %more });

		$seen{$fault eq '' ? 'right' : $fault eq 'quit' ? 'quit' : 'wrong'}++;
		diag $fault if $fault ne '' && $fault ne 'quit';
		next_request();
	});
}

sub load
{
	my ($seconds) = @_;

	$stop_at = time + $seconds;
	for (1 .. $clients) {
		next_request();
		$c->run(rand 0.1);
	}
	$c->run($seconds + 60);
	$seen{open} += keys %{$c->{open}};
	%{$c->{open}} = ();
}

# First as much of the cache as there will ever be in use, so that its pages are there.
is all_at_once($s, [ (@refs[16 .. 19]) x 8 ]), 32, 'a full batch of long prompts';
load(4);
my $rss = rss($s);
load($load_seconds);
my $grown = rss($s) - $rss;
is $seen{wrong}, 0, "$clients clients for $load_seconds s: no answer is wrong";
is $seen{open}, 0, 'none is missing';
cmp_ok $seen{right}, '>', 2 * $clients, "$seen{right} are right";
cmp_ok $seen{quit}, '>', $clients / 4, "$seen{quit} went away before theirs";
cmp_ok $grown, '<', 4096, "memory is flat: $rss KiB and $grown more";

sub quiet
{
	my ($s) = @_;
	my $m;

	for (1 .. 1200) {
		$m = $s->{client}->metrics;
		last if !$m->{requests_running} && !$m->{requests_queued} && !$m->{kv_blocks_used};
		sleep 0.05;
	}
	return $m;
}
$m = quiet($s);
cmp_ok $m->{'requests_total{outcome="gone"}'}, '>', 0, 'it saw that clients went away';
is $m->{kv_blocks_used}, 0, 'and what they had is free';

# One who hangs up although the server has not read all that he sent; his answer may have been there
# before, but not each time.
my $gone = $m->{'requests_total{outcome="gone"}'};
$body = encode_json(ask($long[0]));
for (1 .. 10) {
	$sock = $c->connect;
	syswrite $sock, ServeClient::head('POST', $path, $body) . $body;
	sleep 0.1;
	syswrite $sock, 'GET';
	close $sock;
	$m = quiet($s);
	last if $m->{'requests_total{outcome="gone"}'} > $gone;
}
cmp_ok $m->{'requests_total{outcome="gone"}'}, '>', $gone, 'a request ends with its client, whatever he sent';

# What was read of a request is not kept for as long as that is there: 3.9 MB of each, most of which
# nobody looks at. Who does not read his answer stays for the two minutes of --client-timeout.
$rss = rss($s);
my $user = 'x' x 3_900_000;
my ($stalled, @large) = (0);
for my $n (1 .. 16) {
	push @large, $c->start('POST', $path, ask($long[0], stream => $on, user => $user),
		deaf => 1, receive => 2048);
	$stalled = until_metric($s, 'requests_stalled', $n);
}
is $stalled, 16, 'one large request after the other, of clients that do not read';
$grown = rss($s) - $rss;
cmp_ok $grown, '<', 40_000, "they take $grown KiB";
close $_->{sock} for @large;
$c->{open} = {};
is quiet($s)->{kv_blocks_used}, 0, 'and nothing when these are gone';

# Bodies that would take many times their size when they are parsed, or turned to tokens.
for ([ 'numbers', '{"prompt":[' . '0,' x 1_950_000 . '0]}', '' ],
     [ 'lists', '{"prompt":"x","stop":[' . '[],' x 1_300_000 . '0]}', '' ],
     [ 'names', '{"prompt":"x","metadata":{' . '"":0,' x 780_000 . '"":0}}', '' ],
     [ 'words', encode_json({ prompt => 'Qx' x 1_950_000 }), 'prompt' ]) {
	my ($what, $body, $param) = @$_;

	$rss = rss($s);
	forget_peak($s);
	refused($c->request('POST', $path, $body), 400, $param, "a body of $what");
	$grown = peak($s) - $rss;
	cmp_ok $grown, '<', 3 * 3_900, "it takes $grown KiB meanwhile";
}
is told($refs[3], user => '[{,"\\' x 100_000)->{text}, $refs[3]{text}, 'there are no values in a string';

# Bodies that are not complete have a bound together: 16 of them with 3.9 MB each are more than it.
$rss = rss($s);
my $most = encode_json({ %ok, user => 'x' x 3_900_000 });
my @uploads = map {
	my $upload = $c->start('POST', $path, $most);

	$upload->{last} = chop $upload->{out};
	$upload;
} 1 .. 24;
for (1 .. 3000) {
	last if !grep { length $_->{out} } @uploads;
	$c->run(0.02);
}
is scalar(grep { length $_->{out} } @uploads), 0, '24 bodies but for the last byte';
$grown = rss($s) - $rss;
cmp_ok $grown, '<', 100_000, "they take $grown KiB";
is told($refs[3])->{text}, $refs[3]{text}, 'a small request beside them has its answer';
$_->{out} = $_->{last} for @uploads;
$c->run(60);
my @crowded = grep { $_->{status} == 503 } @uploads;
cmp_ok scalar(@crowded), '>', 0, @crowded . ' of them find no room';
cmp_ok scalar(@crowded), '<', 24, 'not all';
refused($crowded[0], 503, undef, 'no room for a body');
is scalar(grep { $_->{status} == 200 } @uploads), 24 - @crowded, 'the others have their answers';

# ---- idle connections ----

my @idle = map { $c->connect } 1 .. 1000;
syswrite $idle[$_], "POST $path HTTP/1.1\r\nContent-" for 0 .. 99;
syswrite $idle[$_], ServeClient::head('POST', $path, 'x' x 100) . '{"' for 100 .. 199;
is all_at_once($s, [ @refs[0 .. 7] ]), 8, 'beside 1,000 idle connections all is well';
cmp_ok $c->metrics->{connections}, '>', 1000, 'they are all there';
close $_ for @idle;

# ---- the end ----

my $last = $c->start('POST', $path, ask($long[0]));
sleep 0.02 until $c->metrics->{requests_running} || defined $last->{seconds};
kill 'TERM', $s->{pid};
$c->run(60);
is fault($last, $long[0]), '', 'a request that runs when the server is to end has its answer';
is end_server($s), 0, 'SIGTERM: exit status 0';
is eval { $c->connect; 1 }, undef, 'nobody listens any more';

# ---- little room: two sequences, a cache of 640 tokens, a queue of two ----

$s = serve('small.npu', '--queue', 2, '--client-timeout', 5, '--chat-template', 'chatml');
$c = $s->{client};
is all_at_once($s, [ @long, @long ]), 4, 'a cache that is too small for all: the same texts';
$m = quiet($s);
cmp_ok $m->{preemptions_total}, '>', 0, 'some gave their cache to older ones';
my @asked = map { $c->start('POST', $path, ask($refs[3])) } 1 .. 8;
$c->run(60);
my @full = grep { $_->{status} == 429 } @asked;
cmp_ok scalar(@full), '>', 0, @full . ' of 8 find the queue full';
refused($full[0], 429, undef, 'a full queue');
is scalar(grep { fault($_, $refs[3]) eq '' } @asked), 8 - @full, 'the others have their answers';

$r = $c->request('POST', '/v1/chat/completions', { max_tokens => 5, temperature => 0,
	messages => [ { role => 'system', content => 'Speak.' }, { role => 'user', content => [
		{ type => 'text', text => 'Who was ' }, { type => 'text', text => 'Moses?' } ] } ] });
my $chat = ServeClient::completion($r);
is $chat->{role}, 'assistant', "a chat: $chat->{text}";
$r = $c->request('POST', '/v1/chat/completions', { max_tokens => 5, temperature => 0, stream => $on,
	messages => [ { role => 'system', content => 'Speak.' },
		      { role => 'user', content => 'Who was Moses?' } ] });
is ServeClient::completion($r)->{text}, $chat->{text}, 'the same as a stream';
is ServeClient::completion($r)->{role}, 'assistant', 'and its role, once';
for my $bad (
	[ [], 'no messages' ], [ [ 1 ], 'a message that is none' ],
	[ [ { role => 'user' } ], 'no content' ],
	[ [ { role => 'user', content => [ { type => 'image_url' } ] } ], 'a picture' ],
) {
	refused($c->request('POST', '/v1/chat/completions', { messages => $bad->[0] }), 400,
		'messages', $bad->[1]);
}

# One who reads nothing has no hold on the two places; in the end the connection is closed.
my @deaf = map { $c->start('POST', $path, ask($long[1], max_tokens => 500, stream => $on),
	deaf => 1, receive => 2048) } 1 .. 2;
is until_metric($s, 'requests_stalled', 2), 2, 'two clients that do not read wait outside the batch';
is told($refs[3])->{text}, $refs[3]{text}, 'another has its answer';
$m = quiet($s);
is $m->{'requests_total{outcome="slow"}'} + $m->{'requests_total{outcome="gone"}'}, 2,
	'both were dropped';
is $m->{kv_blocks_used}, 0, 'their cache is free';
close $_->{sock} for @deaf;
$c->{open} = {};

$last = $c->start('POST', $path, ask($long[0]), quit => 0.05);
$c->run(5);
$m = quiet($s);
is $m->{kv_blocks_used}, 0, 'a client that hangs up while it waits frees its cache';
is end_server($s, 'INT'), 0, 'SIGINT: exit status 0';

# ---- speculation: the same answers ----

for my $model ('kjv.npu', 'small.npu') {
	$s = serve($model, '--speculate', '--client-timeout', 120);
	$c = $s->{client};
	is all_at_once($s, \@refs), @refs, "--speculate, $model: the texts of each alone";
	is all_at_once($s, [ @long, @long ], stream => $on), 4, 'long ones as streams';
	is told($refs[3], stop => $word)->{text}, $before, "stop: '$word'";
	is told($refs[2], %warm, seed => 1)->{text}, $one->{text}, 'sampled with a seed';
	is all_at_once($s, [ $long[0] ]), 1, 'one alone';
	$m = quiet($s);
	cmp_ok $m->{accepted_tokens_total}, '>', 100,
		"$m->{drafted_tokens_total} tokens drafted, $m->{accepted_tokens_total} right";
	cmp_ok $m->{drafted_tokens_total}, '>=', $m->{accepted_tokens_total}, 'not more';
	is $m->{kv_blocks_used}, 0, 'no block of the cache is left behind';
	is end_server($s, 'TERM'), 0, 'SIGTERM: exit status 0';
}

# Drafts of one request, without the option, and none with it.
for my $server ([], [ '--speculate' ]) {
	my ($s2, $drafted) = serve('kjv.npu', @$server);

	$c = $s2->{client};
	for my $field (JSON::PP::false, $on) {
		$drafted = $c->metrics->{drafted_tokens_total};
		is told($long[0], speculate => $field)->{text}, $long[0]{text},
			"@$server speculate $field: the same text";
		$drafted = $c->metrics->{drafted_tokens_total} - $drafted;
		$field ? cmp_ok $drafted, '>', 10, "$drafted tokens drafted" :
			 is $drafted, 0, 'nothing drafted';
	}
	end_server($s2, 'TERM');
}

# ---- a KV budget: what two long texts have does not fit on the NPU at once ----

for my $more ([], [ '--speculate' ]) {
	$s = serve('kjv.npu', '--kv-budget', '1920K', @$more);
	$c = $s->{client};
	is all_at_once($s, [ @long, @long, @refs[0 .. 7] ]), 12, "a KV budget @$more: the same texts";
	$m = quiet($s);
	is $m->{kv_blocks_npu}, 20, '20 blocks of 96 KiB on the NPU';
	cmp_ok $m->{kv_blocks_out_total}, '>', 5, "$m->{kv_blocks_out_total} left it";
	cmp_ok $m->{kv_blocks_in_total}, '>', 5, "$m->{kv_blocks_in_total} came back";
	cmp_ok $m->{kv_bytes_in_total}, '<=', $m->{kv_blocks_in_total} * 96 * 1024,
		"$m->{kv_bytes_in_total} bytes came back";
	is $m->{preemptions_total}, 0, 'no token was run twice';
	is $m->{kv_host_bytes}, 0, "the host's memory is free again";
	is end_server($s, 'TERM'), 0, 'it ends';
}
$s = serve('kjv.npu', '--kv-budget', '200K');
$c = $s->{client};
$r = $c->request('POST', $path, { %ok, prompt => [ (5) x 65 ] });
refused($r, 400, 'prompt', 'a prompt that the budget can not hold');
like $r->{text}, qr/65 tokens.* 64/, 'it has room for two blocks';
is told($refs[3])->{text}, $refs[3]{text}, 'one that it can';
is end_server($s, 'TERM'), 0, 'it ends';

# ---- prompts that begin like others ----

sub cached
{
	my ($num, $token) = @_;
	my $answer = told({ prompt => [ ($token) x $num ], tokens => 3 });

	return "$answer->{usage}{prompt_tokens_details}{cached_tokens}: $answer->{text}";
}

$s = serve('kjv.npu', '--client-timeout', 120);
$c = $s->{client};
my @plain = map { cached($_, 7) } 70, 65, 64, 33, 32;
like $plain[0], qr/^0: /, 'without kept texts nothing is shared';
is $c->metrics->{reused_tokens_total}, 0, 'as the metrics say';
end_server($s, 'TERM');

$s = serve('kjv.npu', '--prefixes', 8, '--client-timeout', 120);
$c = $s->{client};
is cached(70, 7), $plain[0], 'a prompt of 70 tokens: nothing is in the cache yet';
for ([ 64, 0 ], [ 64, 1 ], [ 32, 2 ], [ 32, 3 ], [ 0, 4 ]) {
	my ($want, $i) = @$_;
	my $num = (70, 65, 64, 33, 32)[$i];

	is cached($num, 7), $plain[$i] =~ s/^0/$want/r, "$num of them: $want are, the same text";
}
is $c->metrics->{reused_tokens_total}, 192, 'as the metrics say';
is all_at_once($s, \@refs), @refs, 'all prompts at once: the same texts' for 1 .. 3;
is all_at_once($s, [ @long, @long ], stream => $on), 4, 'long ones';
my $again = told($refs[19]);
is $again->{text}, $refs[19]{text}, 'a long prompt once more';
is $again->{usage}{prompt_tokens_details}{cached_tokens},
	32 * POSIX::floor(($again->{usage}{prompt_tokens} - 1) / 32), 'all whole blocks of it were there';
$m = $c->metrics;
cmp_ok $m->{kv_blocks_used}, '>', 0, "$m->{kv_blocks_used} blocks are kept";
cmp_ok $m->{kv_blocks_used}, '<=', 8 * 16, 'of eight texts at most';
is $m->{prefixes_kept}, 8, 'as many as shall be';
is end_server($s, 'TERM'), 0, 'it ends';

# Ten blocks that two prompts have in common count once, so there is room for both in each step. On a
# busy machine the second may come late, but not each time.
$s = serve('kjv.npu', '--kv-budget', '1920K', '--prefixes', 8, '--client-timeout', 120);
$c = $s->{client};
my %same = (prompt => [ (7) x 320, 9 ], tokens => 150);
my ($steps, @same);
told({ prompt => [ (7) x 320 ], tokens => 1 });
for (1 .. 5) {
	$steps = $c->metrics->{steps_total};
	@same = map { $c->start('POST', $path, ask(\%same)) } 1 .. 2;
	$c->run(60);
	$steps = $c->metrics->{steps_total} - $steps;
	last if $steps < 250;
}
$same{text} = ServeClient::completion($same[0])->{text};
is scalar(grep { fault($_, \%same) eq '' } @same), 2, 'two that share blocks of a small budget';
cmp_ok $steps, '<', 250, "$steps steps for 300 tokens";
is end_server($s, 'TERM'), 0, 'it ends';

# One that waits for room that even the kept texts would not give takes nothing from them.
for my $try (1 .. 5) {
	$s = serve('small.npu', '--prefixes', 8, '--client-timeout', 120);
	$c = $s->{client};
	told({ prompt => [ (7) x 64 ], tokens => 1 });
	is $c->metrics->{prefixes_kept}, 1, 'a text is kept';
	my @both = $c->start('POST', $path, ask({ prompt => [ (8) x 300 ], tokens => 212 }));
	do {
		$m = $c->metrics;
	} until $m->{requests_running} || defined $both[0]{seconds};
	push @both, $c->start('POST', $path, ask({ prompt => [ (9) x 400 ], tokens => 1 }));
	do {
		$m = $c->metrics;
	} until $m->{requests_running} && $m->{requests_queued} ||
		!grep { !defined $_->{seconds} } @both;
	$c->run(60);
	is scalar(grep { $_->{status} != 200 } @both), 0, 'both of two have their answers';
	is end_server($s, 'TERM'), 0, 'it ends';
	last if $m->{requests_running} && $m->{requests_queued};
}
is "@$m{qw(requests_running requests_queued prefixes_kept)}", '1 1 1',
	'it was while one waited that did not fit';

for my $with ([ 'small.npu' ], [ 'small.npu', '--speculate' ], [ 'kjv.npu', '--kv-budget', '1920K' ],
	      [ 'kjv.npu', '--kv-budget', '1920K', '--speculate' ]) {
	$s = serve(@$with, '--prefixes', 32, '--client-timeout', 120);
	$c = $s->{client};
	is all_at_once($s, [ @refs, @long ]), @refs + 2, "@$with, little room: the same texts" for 1, 2;
	$m = $c->metrics;
	cmp_ok $m->{reused_tokens_total}, '>', 32 * 10, "$m->{reused_tokens_total} tokens were not run again";
	cmp_ok $m->{kv_blocks_out_total}, '>', 0, 'kept texts are in the host\'s memory, too'
		if $with->[1] && $with->[1] eq '--kv-budget';
	is end_server($s, 'TERM'), 0, 'it ends';
}

done_testing;
