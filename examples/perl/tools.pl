#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Three tools in Perl.  "perl tools.pl --catalog > catalog.json" writes the
# catalog.  A FastCGI program of four processes, with the module FCGI:
#
#     spawn-fcgi -a 127.0.0.1 -p 9000 -F 4 -- /srv/mcp/tools.pl
#
# Without this module it is a CGI script: see cgi/tools.sh.
#
#     location @perl {
#         include            mcp_fastcgi_params;
#         fastcgi_buffering  off;
#         fastcgi_pass       127.0.0.1:9000;
#     }
#
#     <Location "/mcp-backend/perl">
#         SetHandler  "proxy:fcgi://127.0.0.1:9000/"
#     </Location>

use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Mcp qw(fail structured);

my $string = { type => 'string' };
my $integer = { type => 'integer' };
my $mcp = Mcp->new;

$mcp->tool('greet', {
    description => 'Greets somebody',
    inputSchema => { type => 'object', properties => { name => $string } },
    outputSchema => { type => 'object', properties => { greeting => $string } },
}, sub {
    my ($args) = @_;
    my $greeting = 'Hello, ' . ($args->{name} // 'world') . '!';

    return structured({ greeting => $greeting }, $greeting);
});

$mcp->tool('count', {
    description => 'Counts to n and reports its progress',
    inputSchema => { type => 'object', properties => { n => $integer } },
}, sub {
    my ($args, $call) = @_;
    my $n = $args->{n} // 3;

    fail('n must be an integer from 1 to 100.') if $n !~ /^[0-9]{1,3}\z/ || $n < 1 || $n > 100;
    $call->progress($_, $n, "$_ of $n") for 1 .. $n;        # the work of one step

    return "Counted to $n.";
});

$mcp->tool('book', {
    description => 'Books a table, and asks the user for the time',
    inputSchema => { type => 'object', properties => { people => $integer } },
}, sub {
    my ($args, $call) = @_;
    my $people = $args->{people} // 2;
    my $answer = $call->ask('when', "A table for $people: at what time?", {
        type => 'object', properties => { time => $string }, required => ['time'] });

    return $answer ? "A table for $people at $answer->{time}." : 'No table was booked.';
});

$mcp->run;
