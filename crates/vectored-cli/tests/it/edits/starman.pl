# A web server answers: headers, then the body.
use strict;
use warnings;
for my $i (1 .. 1000) {
    my $body = "answer $i\n";
    my $headers = "HTTP/1.1 200 OK\r\nContent-Length: " . length($body) . "\r\n\r\n";
    syswrite STDOUT, $headers; # old
    syswrite STDOUT, $body; # old
    syswrite STDOUT, $headers . $body; # new
}
