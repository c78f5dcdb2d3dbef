#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A FastCGI tool in Perl that reports progress.  "tool.pl 127.0.0.1:9000" is one
# process; without an argument it takes the socket that spawn-fcgi or systemd has
# opened, which several processes may share:
#
#     spawn-fcgi -a 127.0.0.1 -p 9000 -F 4 -- /srv/mcp/tool.pl
#
# One process serves one call at a time.

use strict;
use warnings;
use FCGI;
use JSON::PP;

my $socket = @ARGV ? FCGI::OpenSocket($ARGV[0], 128) : 0;
my $fcgi = FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \my %env, $socket);
my $json = JSON::PP->new->utf8->canonical;

while ($fcgi->Accept() >= 0) {
    read STDIN, my $body, $env{CONTENT_LENGTH};

    my $request = $json->decode($body);
    my $token = $request->{params}{_meta}{progressToken};

    print "Content-Type: application/x-ndjson\r\n\r\n";

    for my $i (1 .. 3) {
        last unless defined $token;

        print $json->encode({
            jsonrpc => '2.0', method => 'notifications/progress',
            params => { progressToken => $token, progress => $i } }), "\n";
        $fcgi->Flush();
    }

    print $json->encode({ content => [
        { type => 'text', text => "Hello from $env{MCP_NAME}" } ] }), "\n";
}
