#!/usr/bin/perl
# Passes connections from one Unix socket on to another, and counts the bytes.
#
#     demo/wire.pl LISTEN CONNECT COUNTS
#
# COUNTS is a file with two numbers of bytes, up to now: to the server, and from it.  Ends when it is killed.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

my ($listen, $connect, $counts) = @ARGV;
umask 0;
my $listener = IO::Socket::UNIX->new(Local => $listen, Listen => 16) or die "$listen: $!";
my $select = IO::Select->new($listener);
my (%peer, %from_client);
my ($sent, $received) = (0, 0);

sub note {
	open my $file, '>', "$counts.new" or die "$counts: $!";
	print $file "$sent $received\n";
	close $file;
	rename "$counts.new", $counts;
}

note();
my $changed = 0;
while (1) {
	my @ready = $select->can_read($changed ? 0.01 : undef);
	if (!@ready) {
		note();
		$changed = 0;
	}
	for my $socket (@ready) {
		if ($socket == $listener) {
			my $client = $listener->accept;
			my $server = IO::Socket::UNIX->new(Peer => $connect) or die "$connect: $!";
			$peer{$client} = $server;
			$peer{$server} = $client;
			$from_client{$client} = 1;
			$select->add($client, $server);
			next;
		}
		my $peer = $peer{$socket} or next;
		my $n = sysread $socket, my $bytes, 262144;
		if (!$n) {
			$select->remove($socket, $peer);
			delete @peer{$socket, $peer};
			delete @from_client{$socket, $peer};
			close $_ for $socket, $peer;
			next;
		}
		if ($from_client{$socket}) { $sent += $n } else { $received += $n }
		for (my $done = 0; $done < $n;) { $done += syswrite($peer, $bytes, $n - $done, $done) // die "write: $!" }
		$changed = 1;
	}
}
