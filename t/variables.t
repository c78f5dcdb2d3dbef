# SPDX-License-Identifier: Apache-2.0

# The variables $mcp_* in logs and headers.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 88;

no_long_string();

our $Log = <<'END';
    log_format mcp 'LOG $status [$mcp_method] [$mcp_name] [$mcp_request_id] '
        '[$mcp_session] [$mcp_session_id] [$mcp_principal] '
        '[$mcp_protocol_version] [$mcp_outcome] [$mcp_result] '
        '[$mcp_resumed] [$mcp_events] [$mcp_resume_method]';
    log_format ids 'LOG [$mcp_call] [$mcp_outcome]';
END

sub logged {
    my ($config, $format) = @_;

    return 'access_log $TEST_NGINX_SERVER_ROOT/logs/access.log '
        . ($format // 'mcp') . ";\n$config";
}

# an endpoint whose backend is in the test; requests to the backend are not
# logged

our $Own = MCP::own('mcp_principal $http_x_user;', 'access_log off;');

# a line of the access log, with the fields of its format

sub line {
    my ($status, %variable) = @_;

    $variable{session_id} //= MCP::session_name() if !exists $variable{session_id};
    $variable{session} = substr $variable{session_id}, 0, 8 if $variable{session_id};
    $variable{version} //= '2025-11-25' if $variable{session_id};

    return CORE::join ' ', "LOG $status", map { '[' . ($variable{$_} // '-')
        . ']' } qw( method name id session session_id principal version
        outcome result resumed events resume_method );
}

run_tests();

__DATA__

=== TEST 1: ping in the access log: method, id, outcome ok
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request eval: MCP::rpc('ping', undef, '"a\u0041"')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}', '"a\u0041"')
--- access_log eval
::line(200, method => 'ping', id => '\x22a\x5Cu0041\x22', outcome => 'ok')



=== TEST 2: initialize in the access log: the new session, its revision
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request eval: MCP::initialize('2025-06-18')
--- more_headers eval: MCP::first()
--- response_body_like: protocolVersion
--- access_log eval
qr/LOG 200 \[initialize\] \[-\] \[0\] \[([\w-]{8})\] \[\1[\w-]{14}\] \[-\] \[2025-06-18\] \[ok\] \[-\] \[-\] \[-\]/



=== TEST 3: 405 in the access log: outcome error, no session
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request
PUT /mcp
--- error_code: 405
--- access_log eval
::line(405, session_id => undef, outcome => 'error')



=== TEST 4: unknown method in the access log: outcome error
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request eval: MCP::rpc('nothing', undef, 5)
--- more_headers eval: MCP::post()
--- response_body_like: not found
--- access_log eval
::line(200, method => 'nothing', id => 5, outcome => 'error')



=== TEST 5: notification in the access log: outcome accepted
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request
POST /mcp
{"jsonrpc":"2.0","method":"notifications/initialized"}
--- more_headers eval: MCP::post()
--- error_code: 202
--- access_log eval
::line(202, method => 'notifications/initialized', outcome => 'accepted')



=== TEST 6: DELETE in the access log: outcome deleted
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request
DELETE /mcp
--- more_headers eval: MCP::end()
--- error_code: 204
--- access_log eval
::line(204, outcome => 'deleted')



=== TEST 7: preflight in the access log: outcome preflight
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request
OPTIONS /mcp
--- more_headers
Origin: http://localhost
--- error_code: 204
--- access_log eval
::line(204, session_id => undef, outcome => 'preflight')



=== TEST 8: batch in the access log: batch as the method
--- http_config eval: $::Log
--- config eval: ::logged('location = /mcp { mcp mcp; }')
--- request eval
"POST /mcp\n[" . MCP::message('ping') . ']'
--- more_headers eval: MCP::post(revision => '2025-03-26')
--- response_body_like: result
--- access_log eval
::line(200, method => 'batch', version => '2025-03-26', outcome => 'ok')



=== TEST 9: plain JSON call in the access log: name, principal, result
--- http_config eval: $::Log
--- config eval: ::logged($::Own)
--- init
$::backend = MCP::backend();
my $client = MCP::begin(MCP::call('x y'), MCP::post(principal => 'ada',
    more => 'X-User: ada'));
$::backend->call->reply('text/plain', 'x');
$client->rest;
--- access_log eval
::line(200, method => 'tools/call', name => 'x y', id => 1,
    principal => 'ada', outcome => 'ok', result => 'ok')



=== TEST 10: streaming call in the access log: outcome complete, number of events, method of resumption
--- http_config eval: $::Log
--- config eval: ::logged($::Own)
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
$backend->call->ndjson(MCP::progress(1), MCP::progress(2), MCP::text('x'))
    ->last;
$client->rest;
--- access_log eval
::line(200, method => 'tools/call', name => 'x', id => 1,
    outcome => 'complete', result => 'ok', events => 3, resume_method => 'polling')



=== TEST 11: resumed call in the access log: a line for each connection
--- http_config eval: $::Log
--- config eval: ::logged($::Own)
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
my $id = $client->upto(1);
$client->close;
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$again->upto(1);
$call->ndjson(MCP::progress(2), MCP::text('x'))->last;
$again->rest;
--- access_log eval
[qr/LOG (?:200|499) \[tools\/call\] \[x\] \[1\] .* \[stream\] \[-\] \[-\] \[1\] \[polling\]/,
    ::line(200, outcome => 'complete', result => 'ok', resumed => 1, events => 2,
        resume_method => 'polling')]



=== TEST 12: resume of a stream that is being read: outcomes taken-over, complete, finished in the access log
--- http_config eval: $::Log
--- config eval: ::logged($::Own)
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
my $id = $client->upto(1);
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$again->upto(1);
$client->closed;
$call->ndjson(MCP::text('x'))->last;
$again->rest;
MCP::ask('GET /mcp', MCP::get(after => $again->last_id));
--- access_log eval
[::line(200, method => 'tools/call', name => 'x', id => 1,
    outcome => 'taken-over', events => 1, resume_method => 'polling'),
    ::line(200, outcome => 'complete', result => 'ok', resumed => 1, events => 1,
        resume_method => 'polling'),
    ::line(204, outcome => 'finished', result => 'ok')]



=== TEST 13: stream ended by mcp_close_after in the access log: outcome closed
--- http_config eval: $::Log
--- config eval
::logged($::Own =~ s/mcp mcp;/mcp mcp; mcp_close_after 10ms;/r)
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->closed;
$call->ndjson(MCP::text('x'))->last;
--- access_log eval
::line(200, method => 'tools/call', name => 'x', id => 1,
    outcome => 'closed', events => 1, resume_method => 'polling')



=== TEST 14: $mcp_call: the same for all connections of a call
--- http_config eval: $::Log
--- config eval: ::logged($::Own, 'ids')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
my $id = $client->upto(1);
$client->close;
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$again->upto(1);
$call->ndjson(MCP::text('x'))->last;
$again->rest;
MCP::expect_access_log(map { 'LOG [' . substr($id, 0, 8) . "] [$_]" }
    'stream', 'complete');



=== TEST 15: backend request of a call: no line in the access log
--- http_config eval: $::Log
--- config eval
::logged($::Own =~ s/access_log off;//r)
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->reply('text/plain', 'x');
$client->rest;
--- access_log eval
::line(200, method => 'tools/call', name => 'x', id => 1, outcome => 'ok',
    result => 'ok')
--- no_access_log
499



=== TEST 16: variables in add_header: the response header has their values
--- config
    add_header X-Mcp "$mcp_method $mcp_name $mcp_session_id $mcp_outcome" always;
    location = /mcp { mcp mcp; }
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- response_headers eval
'X-Mcp: ping  ' . MCP::session_name() . ' ok'



=== TEST 17: variables outside of an endpoint: empty
--- config
    location = /t {
        return 200 "[$mcp_method$mcp_name$mcp_request_id$mcp_session$mcp_session_id$mcp_principal$mcp_protocol_version$mcp_client_capabilities$mcp_progress_token$mcp_call$mcp_publish_url$mcp_outcome$mcp_result$mcp_resumed$mcp_events$mcp_resume_method$mcp_joined][$mcp_version]";
    }
--- request
GET /t
--- response_body_like chomp
^\[\]\[\d+\.\d+\.\d+(?:-dev(?:\+[0-9a-f]+)?)?\]$



=== TEST 18: access_log for only one value of $mcp_method: other requests have no line
--- http_config
    map $mcp_method $loggable { tools/call 1; default 0; }
    log_format m 'LOG $mcp_method';
--- config
    access_log $TEST_NGINX_SERVER_ROOT/logs/access.log m if=$loggable;
    location = /mcp { mcp mcp; }
--- init
MCP::ask(MCP::rpc('ping'));
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body_like: -32601
--- access_log
LOG tools/call
--- no_access_log
LOG ping



=== TEST 19: request with a session id: the access log does not have the id
--- config
    location = /mcp { mcp mcp; }
--- request eval: MCP::rpc('nothing')
--- more_headers eval: MCP::post()
--- response_body_like: not found
--- no_access_log eval: MCP::session()



=== TEST 20: failed call: its line in the error log names the call
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->close;
$client->rest;
--- error_log eval
[qr/upstream prematurely closed connection .* mcp call: "[\w-]{8}", mcp name: "x"/,
    qr/mcp: call [\w-]{8} of "x" failed in its backend/]
