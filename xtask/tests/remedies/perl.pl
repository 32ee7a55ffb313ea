use strict;
use warnings;
use IO::Handle;
use POSIX ();
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY TCP_QUICKACK);

my ($case, $path, $port, $count) = @ARGV;
my @parts = map { ("record ", sprintf("%031d\n", $_)) } 0 .. $count - 1;

sub to_file { open(my $file, ">", $path) or die; return $file }
sub from_file { open(my $file, "<", $path) or die; return $file }
sub to_peer { return IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) || die }

my %cases = (
    "adjacent-writes/file 0" => sub { my $file = to_file(); syswrite $file, $_ for @parts },
    "adjacent-writes/file 1" => sub {
        my $file = to_file();
        print $file $_ for @parts;
        my $o = select $file; $| = 1; print "" or die $!; $| = 0; select $o;
    },
    "adjacent-writes/file 2" => sub {
        my $file = to_file();
        for my $i (0 .. $count - 1) {
            my ($header, $body) = @parts[2 * $i, 2 * $i + 1];
            print $file $header . $body;
            $file->flush or die $!;
        }
    },
    "adjacent-writes/unix 0" => sub { my $socket = to_peer(); print $socket $_ for @parts },
    "adjacent-writes/unix 1" => sub {
        my $socket = to_peer();
        $socket->autoflush(0);
        print $socket $_ for @parts;
        $socket->flush or die $!;
    },
    "adjacent-writes/unix 2" => sub {
        my $socket = to_peer();
        for my $i (0 .. $count - 1) {
            my ($header, $body) = @parts[2 * $i, 2 * $i + 1];
            print $socket $header . $body;
        }
    },
    "no-delay/tcp 1" => sub {
        my $socket = to_peer();
        setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1);
        print $socket $_ for @parts;
    },
    "quick-ack/tcp 1" => sub {
        my $socket = to_peer();
        setsockopt($socket, IPPROTO_TCP, TCP_QUICKACK, 1);
        print $socket $_ for @parts;
    },
    "small-reads/file 0" => sub { my ($file, $all) = (from_file(), ""); 1 while sysread $file, $all, 39, length $all; print $all },
    "small-reads/file 1" => sub { my $file = from_file(); print join "", readline $file },
    "small-reads/file 2" => sub { my ($file, $data, $count) = (from_file(), "", 39); print $data while read($file, $data, $count) },
    "small-reads/file 3" => sub {
        my ($file, $data) = (from_file(), "");
        while (sysread($file, $data, 65536, length $data)) { print substr($data, 0, 39, "") while length $data >= 39 }
    },
    "small-reads/pipe 0" => sub { my $file = to_peer(); my $data; syswrite STDOUT, $data while sysread $file, $data, 39 },
    "small-reads/pipe 1" => sub { my ($file, $data, $count) = (to_peer(), "", 39); syswrite STDOUT, $data while read($file, $data, $count) },
    "small-reads/pipe 2" => sub { my ($file, $data) = to_peer(); syswrite STDOUT, $data while defined($data = readline $file) },
    "small-reads/pipe 3" => sub {
        my ($file, $data) = (to_peer(), "");
        while (sysread($file, $data, 65536, length $data)) { syswrite STDOUT, substr($data, 0, 39, "") while length $data >= 39 }
    },
    "sync-each/file 0" => sub { my $file = to_file(); for (@parts) { print $file $_; $file->flush; $file->sync } },
    "sync-each/file 1" => sub { my $file = to_file(); print $file @parts; $file->flush; $file->sync },
);
($cases{$case} || sub { exit 2 })->();
# An end that flushes nothing.
STDOUT->flush;
POSIX::_exit(0);
