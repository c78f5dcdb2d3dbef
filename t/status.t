# SPDX-License-Identifier: Apache-2.0

# mcp_status: formats and counters.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 141;

no_long_string();

our $Config = MCP::own() . "location = /status { mcp_status mcp; }\n";

our @Names = qw( requests messages sessions sessions_deleted calls_active calls
    calls_failed calls_tool_errors calls_cancelled calls_expired calls_lost consumers_active events
    events_dropped resumes takeovers streams_expired streams_evicted
    refused_full refused_limit errors published inputs repairs
    header_mismatches unsupported_versions states_refused calls_joined zone_size_bytes
    zone_used_bytes streams listeners values subscriptions );

our @Revisions = qw( 2025-03-26 2025-06-18 2025-11-25 2026-07-28 );

our %Gauge = map { $_ => 1 } qw( calls_active consumers_active zone_size_bytes
    zone_used_bytes streams listeners values subscriptions );

our %Refused = map { $_ => 1 } qw( refused_full refused_limit header_mismatches
    unsupported_versions states_refused );

# a pattern for these values in the order of the page

sub values_of {
    my %values = @_;

    my $pattern = CORE::join '.*', map { exists $values{$_}
        ? "\"$_\":$values{$_}\\b" : () } @Names;

    return qr/$pattern/;
}

# Waits until the status has these values.

sub await {
    my %values = @_;

    my $pattern = values_of(%values);
    my $end = time + $MCP::TIMEOUT;

    while (1) {
        my $got = MCP::ask('GET /status?format=json', '');

        return if $got =~ $pattern;
        die "$got, not $pattern\n" if time > $end;
        select undef, undef, undef, 0.005;
    }
}

run_tests();

__DATA__

=== TEST 1: status without a format: JSON with every counter
--- config eval: $::Config
--- request
GET /status
--- response_body_like eval
'\A\{"server":"nginx/[\d.]+","version":"\d+\.\d+\.\d+[^"]*",' . CORE::join(',', map { "\"$_\":\\d+" } @::Names) . ',"revisions":\{'
    . CORE::join(',', map { "\"$_\":\\d+" } @::Revisions) . '\},"now":\d+,"zone":\{[^{}]+\},'
    . '"endpoints":\[.*\],"buckets":\[[\d.,]+\],"tools":\[.*\],'
    . '"running":\[\],"next":null,"recent":\[\],"upstreams":\[\]\}\n\z'
--- response_headers
Content-Type: application/json



=== TEST 2: format argument: the status is JSON, Prometheus text or HTML
--- config eval: $::Config
--- cases eval
[
    ['GET /status?format=json', '', 200, qr/\A\{"server":"nginx[^,]+,"version":"[^"]+","requests":0,/],
    ['GET /status?format=prometheus', '', 200,
        qr/\A# HELP mcp_build_info Version of the module\n# TYPE mcp_build_info gauge\nmcp_build_info\{zone="mcp",version="\d+\.\d+\.\d+[^"]*"\} 1\n# HELP mcp_requests_total HTTP requests\n# TYPE mcp_requests_total counter\nmcp_requests_total\{zone="mcp"\} 0\n/],
    ['GET /status?format=html', '', 200, qr/\A<!DOCTYPE html>\n.*<\/html>\n\z/s],
    ['GET /status?a=b&format=json&c', 'Accept: text/html', 200,
        qr/\A\{"server":"nginx/],
]
--- response_headers eval
['Content-Type: application/json',
    'Content-Type: text/plain; version=0.0.4; charset=utf-8',
    'Content-Type: text/html; charset=utf-8',
    'Content-Type: application/json']



=== TEST 3: unknown format argument: 400
--- config eval: $::Config
--- cases eval
[map { ["GET /status?format=$_", '', 400, qr/400 Bad Request/] }
    '', 'xml', 'JSON', 'json2']



=== TEST 4: status with an Accept header: sent in the accepted format
--- config eval: $::Config
--- cases eval
[map { ['GET /status', $_->[0], 200, $_->[1]] }
    ['Accept: text/html,application/xhtml+xml,*/*;q=0.8', qr/\A<!DOCTYPE/],
    ['Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5',
        qr/\A# HELP/],
    ['accept: text/plain', qr/\A# HELP/],
    ['Accept: */*', qr/\A\{/],
    ['Accept: application/json', qr/\A\{/]]



=== TEST 5: Prometheus format: each metric with HELP, TYPE and a value
--- config eval: $::Config
--- request
GET /status?format=prometheus
--- response_body_like eval
'\A(?:[^\n]*mcp_build_info[^\n]*\n){3}' . CORE::join('', map {
    my $name = "mcp_$_" . ($::Gauge{$_} ? '' : '_total');
    my $type = $::Gauge{$_} ? 'gauge' : 'counter';
    "# HELP $name [A-Z][^\\n]+\\n# TYPE $name $type\\n$name\\{zone=\"mcp\"\\} \\d+\\n"
} grep { !$::Refused{$_} } @::Names)
    . "# HELP mcp_requests_refused_total [A-Z][^\\n]+\\n"
    . "# TYPE mcp_requests_refused_total counter\\n"
    . CORE::join('', map {
        "mcp_requests_refused_total\\{zone=\"mcp\",reason=\"$_\"\\} \\d+\n"
    } qw( zone_full limit header_mismatch unsupported_version request_state ))
    . "# HELP mcp_revision_requests_total [A-Z][^\\n]+\n"
    . "# TYPE mcp_revision_requests_total counter\n"
    . CORE::join('', map {
        my $era = $_ lt '2026' ? 'sessions' : 'stateless';
        "mcp_revision_requests_total\\{zone=\"mcp\",revision=\"$_\",era=\"$era\"\\} \\d+\n"
    } @::Revisions)
    . '(?:(?:# (?:HELP|TYPE) )?mcp_tool_call[^\n]+\n)+'
    . '# HELP mcp_server_operation_duration_seconds [A-Z][^\n]+\n'
    . '# TYPE mcp_server_operation_duration_seconds histogram\n'
    . '(?:mcp_server_operation_duration_seconds_(?:bucket|sum|count)\{zone="mcp",endpoint="[^"]+",mcp_method_name="[^"]+"[^\n]*\} [\d.]+\n)*\z'



=== TEST 6: POST or DELETE of the status: 405
--- config eval: $::Config
--- cases eval
[
    ["POST /status\nx", '', 405, qr/405 Not Allowed/],
    ['DELETE /status', '', 405, qr/405 Not Allowed/],
]



=== TEST 7: HEAD of the status: headers without a body
--- config eval: $::Config
--- request
HEAD /status
--- response_body:
--- response_headers
Content-Type: application/json



=== TEST 8: deny all in the location of the status: 403
--- config
    location = /status { deny all; mcp_status mcp; }
--- request
GET /status
--- error_code: 403
--- response_body_like: 403 Forbidden
--- error_log
access forbidden by rule



=== TEST 9: zone_size_bytes: the size of the zone
--- config eval: $::Config
--- request
GET /status
--- response_body_like eval
qr/"zone_size_bytes":(?:3[5-9]|4[01])\d{5},"zone_used_bytes":\d+,/



=== TEST 10: two zones: each status has its own counters
--- http_config
    mcp_zone other 1m;
--- config
    location = /mcp { mcp mcp; }
    location = /other { mcp other; }
    location = /status { mcp_status mcp; }
    location = /status/other { mcp_status other; }
--- cases eval
[
    [MCP::rpc('ping'), undef, 200, MCP::answer('{}')],
    [MCP::rpc('ping'), undef, 200, MCP::answer('{}')],
    [MCP::rpc('ping', undef, 1, '/other'), undef, 200, MCP::answer('{}')],
    ['GET /status', '', 200, qr/"requests":2,"messages":2,/],
    ['GET /status/other', '', 200, qr/"requests":1,"messages":1,/],
]



=== TEST 11: requests, messages, sessions, errors: counted
--- config eval: $::Config
--- cases eval
[
    [MCP::initialize(), MCP::first(), 200, qr/result/],
    [MCP::initialize(), MCP::first(), 200, qr/result/],
    [MCP::rpc('ping'), undef, 200, qr/result/],
    [MCP::rpc('nothing'), undef, 200, qr/-32601/],
    ["POST /mcp\n{", undef, 400, qr/-32700/],
    ['PUT /mcp', '', 405, qr/405|-32000/],
    ["POST /mcp\n[" . CORE::join(',', (MCP::message('ping')) x 3) . ']',
        MCP::post(revision => '2025-03-26'), 200, qr/result/],
    ['DELETE /mcp', MCP::end(id => 'x'), 204, ''],
    [MCP::rpc('ping'), MCP::post(id => 'x'), 404, qr/-32001/],
    ['GET /status', '', 200, ::values_of(requests => 9, messages => 8,
        sessions => 2, sessions_deleted => 1, calls => 0, errors => 4,
        values => 1)],
]



=== TEST 12: call answered as plain JSON: counted without a stream
--- config eval: $::Config
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call;
::await(calls_active => 1, calls => 1, streams => 0);
$call->reply('text/plain', 'x');
$client->rest;
::await(calls_active => 0, calls => 1, calls_failed => 0, events => 0,
    streams => 0);



=== TEST 13: streaming call that is resumed: events, consumers, resumptions are counted
--- config eval: $::Config
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1), MCP::progress(2));
$client->upto(2);
::await(calls_active => 1, consumers_active => 1, events => 2, resumes => 0,
    streams => 1, listeners => 0);
$client->close;
::await(consumers_active => 0);
my $again = MCP::begin('GET /mcp', MCP::get(after => $client->last_id));
$again->upto(2);
::await(consumers_active => 1, resumes => 1);
$call->ndjson(MCP::text('x'))->last;
$again->rest;
::await(calls_active => 0, consumers_active => 0, events => 3, streams => 1);



=== TEST 14: call that fails in its backend: counted in calls_failed
--- config eval: $::Config
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->reply('application/json', '{');
$client->rest;
::await(calls_active => 0, calls => 1, calls_failed => 1);
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 15: call with isError: not counted in calls_failed
--- config eval: $::Config
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->reply('text/plain', 'no', 500);
MCP::same($client->body, qr/"isError":true/);
::await(calls_active => 0, calls => 1, calls_failed => 0);



=== TEST 16: listener and subscription of a session: counted until the session is deleted
--- config eval: $::Config
--- init
my $backend = MCP::backend();
my $listener = MCP::begin('GET /mcp', MCP::get(id => 'l'));
$listener->upto(0);
my $client = MCP::begin(MCP::rpc('resources/subscribe', '{"uri":"a:b"}'), MCP::post(id => 'l'));
$backend->call->reply('application/json', '{}');
$client->rest;
MCP::ask(MCP::rpc('logging/setLevel', '{"level":"error"}'), MCP::post(id => 'l'));
::await(consumers_active => 1, listeners => 1, values => 1,
    subscriptions => 1);
MCP::ask('DELETE /mcp', MCP::end(id => 'l'));
$listener->closed;
::await(consumers_active => 0, listeners => 0, subscriptions => 0);



=== TEST 17: zone_used_bytes after ten ended calls: the same as before
--- config eval
$::Config =~ s/mcp mcp;/mcp mcp; mcp_linger 1ms;/r
--- init
my ($before) = MCP::ask('GET /status', '') =~ /"zone_used_bytes":(\d+)/;
my $backend = MCP::backend();
for my $n (1 .. 10) {
    my $client = MCP::begin(MCP::progress_call('x', $n));
    my $call = $backend->call->ndjson(map { MCP::progress($_) } 1 .. 100);
    $client->upto(100);
    $call->ndjson(MCP::text('x' x 10_000))->last;
    $client->rest;
}
::await(calls_active => 0, calls => 10, consumers_active => 0, events => 1010,
    zone_used_bytes => $before, streams => 0);



=== TEST 18: active call of a principal: only mcp_status with details names the principal
--- config eval
$::Config =~ s/mcp mcp;/mcp mcp; mcp_principal \$http_x_user;/r
    . "location = /details { mcp_status mcp details; }\n"
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('deploy'), MCP::post(
    session => MCP::session(principal => 'alice'), more => 'X-User: alice'));
my $call = $backend->call;
::await(calls_active => 1);
my $plain = MCP::ask('GET /status?format=json', '');
my $details = MCP::ask('GET /details?format=json', '');
MCP::same($details, qr/"running":\[\{"call":"[\w-]{8}",.*"tool":"[^"]+","principal":"alice"/);
MCP::same($plain, qr/"running":\[\{"call":"[\w-]{8}",(?!.*alice)/);
$call->reply('text/plain', 'x');
$client->rest;



=== TEST 19: mcp_status with an unknown parameter: rejected
--- config
    location = /status { mcp_status mcp detail; }
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid parameter "detail", only "details" is allowed in .+:\d+}
