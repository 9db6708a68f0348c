#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# agent.pl RUN NPU_VDEV: do on the host what a test in the guest asks for.
#
# RUN is the folder of npu-qemu --run. A request is a line on the guest's serial port npu.host, the
# answer a line of a status, 0 when it was done, and what there is to say:
#	vdev I WORD...	npu-vdev --ctl of device I: arm hang, disarm all, counters, kill...
#	unplug I	pull device I out of its slot; answered when it is gone
#	plug I		put it back
#	armed I NAME	how often the fault is still to come
#	stall I MS	stop the process of device I for so long; answered when it stands
#	sync		nothing, to see that the host listens
# It ends when the guest does.
use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;
use POSIX ();
use Time::HiRes qw(sleep);

my ($run, $vdev) = @ARGV;
die "usage: agent.pl RUN NPU_VDEV\n" unless @ARGV == 2;

# to_socket NAME: connect, for as long as QEMU may need to come up: who starts us ends us with the guest.
sub to_socket {
	my ($name) = @_;
	for (1 .. 12000) {
		my $socket = IO::Socket::UNIX->new(Peer => "$run/$name");
		return $socket if $socket;
		sleep(0.05);
	}
	die "agent.pl: $run/$name: $!\n";
}

my $qmp;

# qmp COMMAND ARGUMENTS: the answer of QEMU. Events that come in between are put on @events.
my @events;
sub qmp {
	my ($command, %arguments) = @_;
	print $qmp encode_json({ execute => $command, arguments => \%arguments }), "\n";
	while (my $line = <$qmp>) {
		my $answer = decode_json($line);
		return $answer unless $answer->{event};
		push(@events, $answer);
	}
	return { error => { desc => 'QEMU is gone' } };
}

# deleted ID: wait for QEMU to say that the device has gone.
sub deleted {
	my ($id) = @_;
	local $SIG{ALRM} = sub { die "timeout\n" };
	return eval {
		alarm(30);
		while (1) {
			my $event = shift(@events) // decode_json(<$qmp> // die "gone\n");
			last if ($event->{event} // '') eq 'DEVICE_DELETED' && ($event->{data}{device} // '') eq $id;
		}
		alarm(0);
		1;
	};
}

sub open_qmp {
	return if $qmp;
	$qmp = to_socket('qmp.sock');
	$qmp->autoflush(1);
	<$qmp>;
	qmp('qmp_capabilities');
}

sub unplug {
	my ($i) = @_;
	open_qmp();
	my $answer = qmp('device_del', id => "npu$i");
	return (1, $answer->{error}{desc}) if $answer->{error};
	return deleted("npu$i") ? (0, 'gone') : (1, 'the guest did not let go of it in 30 s');
}

sub plug {
	my ($i) = @_;
	open_qmp();
	my $answer = qmp('device_add', driver => 'vfio-user-pci', id => "npu$i", bus => "port$i",
			 socket => { type => 'unix', path => "$run/npu$i.sock" });
	return $answer->{error} ? (1, $answer->{error}{desc}) : (0, 'there');
}

sub vdev {
	my ($i, @words) = @_;
	open(my $out, '-|', $vdev, '--ctl', "$run/npu$i.ctl", @words) or return (1, "$vdev: $!");
	my $text = join(' ', map { s/\s+/ /gr } <$out>);
	close($out);
	return ($? ? 1 : 0, $text);
}

sub armed {
	my ($i, $name) = @_;
	my ($status, $text) = vdev($i, 'faults');
	return ($status, $text) if $status;
	my ($fault) = grep { $_->{name} eq ($name // '') } @{ decode_json($text)->{faults} };
	return $fault ? (0, $fault->{armed}) : (1, 'armed I NAME');
}

# The worker answers commands, so somebody else has to wake it.
sub stall {
	my ($i, $ms) = @_;
	return (1, 'stall I MS') unless ($ms // '') =~ /^[1-9]\d{0,4}$/;
	my ($status, $text) = vdev($i, 'status');
	return ($status, $text) if $status;
	my $worker = decode_json($text)->{worker};
	kill('STOP', $worker) or return (1, "worker $worker: $!");
	my $pid = fork();
	if (!$pid) {
		sleep($ms / 1000);
		kill('CONT', $worker);
		POSIX::_exit(0) if defined $pid;
	}
	return (0, 'stands');
}

my %verbs = (vdev => \&vdev, armed => \&armed, stall => \&stall, unplug => \&unplug,
	     plug => \&plug, sync => sub { return (0, 'ready') });

my $guest = to_socket('host.sock');
$guest->autoflush(1);
while (my $line = <$guest>) {
	my ($verb, @words) = split(' ', $line);
	next unless defined $verb;
	my $do = $verbs{$verb};
	my ($status, $text) = !$do ? (1, "unknown request $verb")
		: $verb ne 'sync' && ($words[0] // '') !~ /^[0-7]$/ ? (1, 'the number of a device was expected')
		: $do->(@words);
	$text =~ s/[\r\n]+/ /g;
	print $guest "$status $text\n";
}
