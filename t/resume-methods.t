# SPDX-License-Identifier: Apache-2.0

# Resumption methods: their directives, and the tool properties for them.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 64;

no_long_string();

sub own { return MCP::own(shift, 'proxy_ignore_client_abort on;') }

our $Logs = q{
    log_format  url  '$status|$request|$request_uri|$args|$query_string|$uri';
    access_log  $TEST_NGINX_SERVER_ROOT/logs/access.log  url;
};

our $Result = MCP::answer(MCP::text('x'));
our $Unknown = MCP::fault(-32000, 'Unknown stream URL');

# Starts a call that has sent one event. Returns the backend's side and the
# client.

sub begun {
    our $Backend = MCP::backend();

    my $client = MCP::begin(MCP::progress_call('x'), MCP::post(@_));
    my $call = $Backend->call;

    $call->ndjson(MCP::progress(1));

    return ($call, $client);
}

sub every { return capabilities => [qw(requests streams tokens)] }

run_tests();

__DATA__

=== TEST 1: mcp_link not set: a stream has no Link header
--- config eval: ::own()
--- init
my ($call, $client) = ::begun();
$client->upto(1);
$call->ndjson(MCP::text('x'));
die if $client->rest =~ /^Link:/im;



=== TEST 2: mcp_link on: Link has the origin and path of the request
--- config eval: ::own('mcp_link on;')
--- init
my ($call, $client) = ::begun();
$client->upto(1);
$client->in =~ m{^Link: <http://localhost/mcp\?mcp-stream=[\w-]+>; rel="stream"\r$}m
    or die $client->in;
$call->ndjson(MCP::text('x'));
$client->rest;



=== TEST 3: mcp_link_origin: Link has the configured origin
--- config eval: ::own('mcp_link on; mcp_link_origin https://$http_x_host;')
--- init
my ($call, $client) = ::begun(more => 'X-Host: api.example');
$client->upto(1);
$client->in =~ m{^Link: <https://api\.example/mcp\?mcp-stream=}m
    or die $client->in;
$call->ndjson(MCP::text('x'));
$client->rest;



=== TEST 4: stream URL with an unknown token: 404
--- config eval: ::own('mcp_link on;')
--- request
GET /mcp?mcp-stream=AAAA
--- more_headers eval: MCP::get(session => undef)
--- error_code: 404
--- response_body eval: $::Unknown



=== TEST 5: mcp_link not set: the argument mcp-stream is ignored
--- config eval: ::own()
--- request
GET /mcp?mcp-stream=AAAA
--- more_headers eval: MCP::get(session => undef)
--- error_code: 400
--- response_body eval
MCP::fault(-32000, 'Bad Request: Mcp-Session-Id header is required')



=== TEST 6: mcp_link maybe: rejected
--- config
    location = /mcp { mcp mcp; mcp_link maybe; }
--- must_die
--- error_log
"mcp_link" directive invalid value "maybe": write "on" or "off"



=== TEST 7: mcp_link twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_link on; mcp_link off; }
--- must_die
--- error_log
"mcp_link" directive is duplicate



=== TEST 8: mcp_resume_after that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_resume_after late; }
--- must_die
--- error_log
"mcp_resume_after" directive invalid value



=== TEST 9: catalog with a string as x-mcp-max-wait: rejected
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; }
--- user_files
>>> catalog.json
{"tools": [
  {"name": "a", "inputSchema": {"type": "object"}},
  {"name": "b", "inputSchema": {"type": "object"},
   "x-mcp-max-wait": "10m"}
]}
--- must_die
--- error_log
line 4: "x-mcp-max-wait" must be a number of seconds, with three decimals at most



=== TEST 10: client that declares two resumption methods: both announce mcp_min_wait and mcp_max_wait
--- config eval: ::own('mcp_max_wait 90s; mcp_min_wait 2500ms;')
--- init
my ($call, $client) = ::begun(::every());
$client->upto(3);
my $text = $client->in;
$text =~ m{"requestId":1,"resumeToken":"[\w-]+","minWait":2\.500,"maxWait":90\}\}}
    or die $text;
$text =~ m{"resumeInterval":\{"min":2\.500,"max":90\}} or die $text;
$call->ndjson(MCP::text('x'));
$client->rest;



=== TEST 11: stream/poll/all without the capability: -32601
--- config eval: ::own()
--- request eval: MCP::rpc('stream/poll/all', '{}')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::fault(-32601, 'Method not found: stream/poll/all', 1)



=== TEST 12: stream/poll/all with the capability: a result
--- config eval: ::own()
--- request eval: MCP::rpc('stream/poll/all', '{}')
--- more_headers eval: MCP::post(::every())
--- response_body eval
MCP::answer('{"statuses":[]}')



=== TEST 13: requests/resume with an unknown token: -32602 with "refused" in the data
--- config eval: ::own()
--- request eval: MCP::rpc('requests/resume', '{"resumeToken":"x"}')
--- more_headers eval: MCP::post(::every())
--- response_body eval
MCP::fault(-32602, 'Unknown or expired resume token', 1)
    =~ s/}}$/,"data":{"resume":"refused"}}}/r



=== TEST 14: tool with x-mcp-stream-after 0 and x-mcp-max-wait 7: the call streams at once, maxWait is 7
--- config eval: ::own('mcp_catalog ../html/catalog.json; mcp_stream_after 1h;')
--- user_files
>>> catalog.json
{"tools": [{"name": "x", "inputSchema": {"type": "object"},
            "x-mcp-stream-after": 0, "x-mcp-max-wait": 7}]}
--- init
our $Backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'), MCP::post(::every()));
my $call = $Backend->call;
$client->upto(2);
$client->in =~ /"maxWait":7\}/ or die $client->in;
$call->ndjson(MCP::text('x'));
$client->rest;



=== TEST 15: call longer than mcp_resume_after: an interim response has a token that resumes the call
--- config eval
::own('mcp_resume_tokens on; mcp_resume_after 50ms; mcp_stream_after 1h;')
--- init
our $Backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'), MCP::post());
my $call = $Backend->call;
my $text = $client->rest;
$text =~ /Interim result: .*"nextResumeToken":"([\w-]+)"/ or die $text;
my $again = MCP::begin(MCP::call('x',
    ",\"_meta\":{\"resumeToken\":\"$1\"}", 2), MCP::post());
$call->ndjson(MCP::text('x'));
index($again->rest, 'data: ' . MCP::answer(MCP::text('x'), 2)) >= 0
    or die $again->in;



=== TEST 16: token in a stream URL: hidden in the access log and in the error log
--- log_level: info
--- http_config eval: $::Logs
--- config eval
'if ($request_uri = /x) { return 404; }'
    . ::own('mcp_link on; deny all;')
--- request
GET /mcp?a=1&mcp-stream=S3CRET&mcp-stream=S3CRET-2&b=2
--- error_code: 403
--- access_log eval
my $query = 'a=1&mcp-stream=******&mcp-stream=********&b=2';
"403|GET /mcp?$query HTTP/1.1|/mcp?$query|$query|$query|/mcp"
--- no_access_log
S3CRET
--- error_log eval
qr{by rule, .*, request: "GET /mcp\?a=1&mcp-stream=\*{6}&mcp-stream=\*{8}&b=2 HTTP}
--- no_error_log
S3CRET



=== TEST 17: token in the arguments of a rewritten request: hidden in the access log
--- http_config eval: $::Logs
--- config eval
::own('mcp_link on;')
    . 'location = /a { rewrite ^ /mcp?b=2 last; }'
--- request
GET /a?mcp-stream=S3CRET
--- more_headers eval: MCP::get(session => undef)
--- error_code: 404
--- response_body eval: $::Unknown
--- access_log eval
my $query = 'mcp-stream=******';
"404|GET /a?$query HTTP/1.1|/a?$query|b=2&$query|b=2&$query|/mcp"
--- no_access_log
S3CRET



=== TEST 18: mcp_link not set: the argument mcp-stream is logged unchanged
--- http_config eval: $::Logs
--- config eval: ::own()
--- request
GET /mcp?mcp-stream=AAAA
--- more_headers eval: MCP::get(session => undef)
--- error_code: 400
--- access_log
400|GET /mcp?mcp-stream=AAAA HTTP/1.1|/mcp?mcp-stream=AAAA|mcp-stream=AAAA|



=== TEST 19: mcp_link_origin "": Link has the request's origin
--- config eval
'mcp_link_origin https://a.example;'
    . ::own('mcp_link on; mcp_link_origin "";')
--- init
my ($call, $client) = ::begun();
$client->upto(1);
$client->in =~ m{^Link: <http://localhost/mcp\?mcp-stream=}m
    or die $client->in;
$call->ndjson(MCP::text('x'));
$client->rest;
