# SPDX-License-Identifier: MIT
#
# HTTP requests to npu-llm --serve, many at a time in one process: start() one or more, then run()
# until they are done. A request is a hash: text (the answer's body, chunks put together), status,
# complete (the answer ended as it should), error (of the connection).
package ServeClient;
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Socket qw(SOL_SOCKET SO_RCVBUF);
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->canonical;

sub new
{
	my ($class, $port) = @_;

	return bless { port => $port, open => {} }, $class;
}

sub connect
{
	my ($self, $receive) = @_;
	my $sock;

	if ($receive) {
		socket($sock, Socket::PF_INET, Socket::SOCK_STREAM, 0) or die "socket: $!";
		setsockopt($sock, SOL_SOCKET, SO_RCVBUF, $receive) or die "SO_RCVBUF: $!";
		CORE::connect($sock, Socket::pack_sockaddr_in($self->{port}, Socket::INADDR_LOOPBACK))
			or die "connect: $!";
		bless $sock, 'IO::Socket::INET';
	} else {
		$sock = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port},
			Timeout => 20) or die "connect: $@";
	}
	return $sock;
}

sub head
{
	my ($method, $path, $body, %with) = @_;
	my $type = $with{type} // 'application/json';
	my $length = $with{length} // length($body // '');
	my $text = "$method $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";

	$text .= "Content-Type: $type\r\nContent-Length: $length\r\n" if defined $body;
	return "$text\r\n";
}

# start(METHOD, PATH, BODY, NAME => VALUE...): BODY is a hash (JSON), bytes or undef. With
# quit => SECONDS the client goes away then; with receive => BYTES its socket takes no more.
sub start
{
	my ($self, $method, $path, $body, %with) = @_;

	$body = $json->encode($body) if ref $body;
	my $r = { %with, sock => $self->connect($with{receive}), in => '', began => time };
	$r->{out} = head($method, $path, $body, %with) . ($body // '');
	$r->{sock}->blocking(0);
	$self->{open}{fileno $r->{sock}} = $r;
	return $r;
}

# The body of chunks; undef: it is cut off.
sub join_chunks
{
	my ($in) = @_;
	my $text = '';

	while ($in =~ s/^([0-9a-fA-F]+)\r\n//) {
		my $n = hex $1;

		return $text if !$n && $in =~ /^\r\n/;
		return undef if length($in) < $n + 2;
		$text .= substr($in, 0, $n);
		substr($in, 0, $n + 2) = '';
	}
	return undef;
}

sub parse
{
	my ($r) = @_;
	my ($head, $rest) = split /\r\n\r\n/, $r->{in}, 2;

	($head, $rest) = split /\r\n\r\n/, $rest, 2 while ($head // '') =~ /^HTTP\S+ 100 /;
	return unless defined $rest && $head =~ /^HTTP\/1\.1 (\d+)/;
	$r->{status} = $1;
	$r->{head} = $head;
	$r->{text} = $head =~ /^Transfer-Encoding: chunked/mi ? join_chunks($rest) : $rest;
	$r->{complete} = defined $r->{text} &&
		($head !~ /^Content-Length: (\d+)/mi || $1 == length $rest);
}

sub finish
{
	my ($self, $r) = @_;

	delete $self->{open}{fileno $r->{sock}};
	close $r->{sock};
	parse($r);
	$r->{seconds} = time - $r->{began};
	$r->{done}->($r) if $r->{done};
}

sub write_some
{
	my ($self, $r) = @_;
	my $n = syswrite($r->{sock}, $r->{out}, 65536);

	if (defined $n) {
		substr($r->{out}, 0, $n) = '';
	} elsif (!$!{EAGAIN}) {
		$r->{error} = "$!";
		$r->{out} = '';		# there may be an answer all the same
	}
}

sub read_some
{
	my ($self, $r) = @_;
	my $n = sysread($r->{sock}, $r->{in}, 65536, length $r->{in});

	return if !defined $n && $!{EAGAIN};
	$r->{error} = "$!" unless defined $n;
	$self->finish($r) unless $n;
}

# Until nothing is open, or @only is done, or for that many seconds. Requests may be started
# meanwhile by done().
sub run
{
	my ($self, $seconds, $only) = @_;
	my $end = time + $seconds;

	while (%{$self->{open}} && time < $end && !($only && defined $only->{seconds})) {
		my @all = values %{$self->{open}};
		my ($in, $out) = IO::Select->select(
			IO::Select->new(map { $_->{sock} } grep { !$_->{deaf} } @all),
			IO::Select->new(map { $_->{sock} } grep { length $_->{out} } @all),
			undef, 0.02);
		my %open = %{$self->{open}};

		$self->write_some($open{fileno $_}) for @{$out // []};
		for (@{$in // []}) {
			my $r = $open{fileno $_};

			$self->read_some($r) if $r && fileno $r->{sock};
		}
		for (@all) {
			next unless defined $_->{quit} && time - $_->{began} > $_->{quit};
			next unless defined fileno $_->{sock};
			$_->{quitted} = 1;
			$self->finish($_);
		}
	}
}

# One request; returns it.
sub request
{
	my $self = shift;
	my $r = $self->start(@_);

	$self->run(120, $r);
	return $r;
}

# The text of a completion or chat, streamed or not, with finish_reason and usage; a reason to die
# otherwise.
sub completion
{
	my ($r) = @_;
	my ($text, $role, $reason, $usage) = ('', '');

	die "no answer" . ($r->{error} ? ": $r->{error}" : '') . "\n" unless $r->{complete};
	die "status $r->{status}: $r->{text}\n" unless $r->{status} == 200;
	my @parts = $r->{head} =~ /event-stream/ ? $r->{text} =~ /^data: (.*)$/mg : ($r->{text});
	die "the stream has no end\n" if $r->{head} =~ /event-stream/ && pop(@parts) ne '[DONE]';
	for (map { $json->decode($_) } @parts) {
		die "$_->{error}{message}\n" if $_->{error};
		my $choice = $_->{choices}[0];

		$usage = $_->{usage} // $usage;
		next unless $choice;
		my $message = $choice->{message} // $choice->{delta};

		$text .= $message ? $message->{content} : $choice->{text};
		$role .= $message->{role} if $message && $message->{role};
		$reason = $choice->{finish_reason} // $reason;
	}
	return { text => $text, reason => $reason, usage => $usage, role => $role };
}

sub metrics
{
	my ($self) = @_;
	my $r = $self->request('GET', '/metrics');
	my %m = $r->{text} =~ /^npu_llm_(\S+) (\S+)$/mg;

	return \%m;
}

1;
