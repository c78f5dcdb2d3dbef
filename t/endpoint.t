# SPDX-License-Identifier: Apache-2.0

# HTTP: methods, Accept, Content-Type, bodies, connections, Origin and CORS.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 604;

no_long_string();

our $Ping = MCP::rpc('ping');
our $Pong = MCP::answer('{}');
our $NotAcceptable = MCP::fault(-32000, 'Not Acceptable: Client must accept both '
    . 'application/json and text/event-stream');
our $NoStream = MCP::fault(-32000, 'Not Acceptable: Client must accept '
    . 'text/event-stream');
our $MediaType = MCP::fault(-32000,
    'Unsupported Media Type: Content-Type must be application/json');
our $NotAllowed = MCP::fault(-32000, 'Method not allowed');
our $Forbidden = MCP::fault(-32000, 'Forbidden: Origin not allowed');

our $Mcp = 'location = /mcp { mcp mcp; }';

run_tests();

__DATA__

=== TEST 1: POST: 200 with a JSON response
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- response_headers
Content-Type: application/json
Content-Length: 36
! Transfer-Encoding
! Allow
! Mcp-Session-Id
! Access-Control-Allow-Origin
! Vary



=== TEST 2: methods other than GET, POST, DELETE: 405 with Allow
--- config eval: $::Mcp
--- cases eval
[map { ["$_ /mcp", MCP::post(), 405, $::NotAllowed] }
    qw( PUT PATCH OPTIONS PROPFIND MKCOL COPY LOCK )]
--- response_headers eval
[map { "Allow: GET, POST, DELETE\nContent-Type: application/json" } 1 .. 7]



=== TEST 3: HEAD: 405 without a body
--- config eval: $::Mcp
--- request
HEAD /mcp
--- more_headers eval: MCP::get()
--- error_code: 405
--- response_body:
--- response_headers
Allow: GET, POST, DELETE
Content-Type: application/json



=== TEST 4: 405 for a request with a body: the next pipelined request is answered
--- config eval: $::Mcp
--- pipelined_requests eval
["PUT /mcp\n" . 'x' x 3000, $::Ping]
--- more_headers eval: MCP::post()
--- error_code eval
[405, 200]
--- response_body eval
[$::NotAllowed, $::Pong]



=== TEST 5: endpoint in an exact location: other paths get 404, a query string is ignored
--- config eval: $::Mcp
--- cases eval
[
    ['POST /mcp/', undef, 404, qr/404 Not Found/],
    ['GET /mcpx', undef, 404, qr/404 Not Found/],
    ["POST /mcp?x=y\n" . MCP::message('ping'), undef, 200, $::Pong],
    ["POST http://localhost/mcp\n" . MCP::message('ping'), undef, 200,
        $::Pong],
    ["POST /x/../m%63p\n" . MCP::message('ping'), undef, 200, $::Pong],
]
--- no_error_log
[alert]



=== TEST 6: POST whose Accept allows JSON and event streams: accepted
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(accept => $_), 200, $::Pong] }
    'application/json, text/event-stream',
    'text/event-stream,application/json',
    'text/event-stream;q=0.5 , application/json;q=1.0',
    'APPLICATION/JSON, Text/Event-Stream',
    '*/*',
    'application/*, text/*',
    'application/json, */*;q=0.1',
    'text/html, application/json;charset=utf-8, text/event-stream',
    'application/json;profile="a,b;q=0", text/event-stream',
    'application/json,,text/event-stream,',
    'text/html;q=x, application/json, text/event-stream',
    undef,
]



=== TEST 7: POST whose Accept lacks JSON or event streams: 406
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(accept => $_), 406, $::NotAcceptable] }
    'application/json',
    'text/event-stream',
    'text/html',
    'application/*',
    '*/*;q=0',
    'application/json, text/event-stream;q=0',
    'application/json;q=0.000, text/event-stream',
    '*/*, text/event-stream;q=0',
    'text/*;q=0, */*',
    'application/jsonp, text/event-stream',
    'application/json text/event-stream',
    'json, event-stream',
    '*',
]



=== TEST 8: Accept in several header lines: the values of all lines are combined
--- config eval: $::Mcp
--- cases eval
[
    [$::Ping, MCP::post(accept => 'application/json',
        more => 'Accept: text/event-stream'), 200, $::Pong],
    [$::Ping, MCP::post(accept => 'text/html',
        more => "accept: text/event-stream\nACCEPT: application/json"), 200,
        $::Pong],
    [$::Ping, MCP::post(accept => 'application/json',
        more => 'Accept: text/html'), 406, $::NotAcceptable],
]



=== TEST 9: GET whose Accept lacks event streams: 406
--- config eval: $::Mcp
--- cases eval
[
    ['GET /mcp', MCP::get(accept => 'application/json'), 406,
        $::NoStream],
    ['GET /mcp', MCP::get(accept => 'text/html,*/*;q=0'), 406,
        $::NoStream],
    ['GET /mcp', MCP::get(accept => 'text/event-stream', session => 'x'), 404,
        qr/Session not found/],
    ['GET /mcp', MCP::get(accept => 'text/*', session => 'x'), 404,
        qr/Session not found/],
    ['GET /mcp', MCP::get(accept => undef, session => 'x'), 404,
        qr/Session not found/],
]



=== TEST 10: Content-Type application/json with parameters: accepted
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(type => $_), 200, $::Pong] }
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'Application/JSON ; charset=Utf-8',
    'application/json;',
    'application/json; a=b',
]



=== TEST 11: Content-Type that is not JSON in UTF-8: 415
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(type => $_), 415, $::MediaType] }
    undef,
    'text/plain',
    'application/jsonp',
    'application/json-rpc',
    'application/x-www-form-urlencoded',
    'application/json, text/plain',
    'application/json; charset=iso-8859-1',
    'application/json; charset',
    'json',
    'text/plain; application/json',
]



=== TEST 12: broken body with a wrong Content-Type or Accept: 415 or 406, not -32700
--- config eval: $::Mcp
--- cases eval
[
    ["POST /mcp\n{", MCP::post(type => 'text/plain'), 415, $::MediaType],
    ["POST /mcp\n{", MCP::post(accept => 'text/plain'), 406,
        $::NotAcceptable],
    ["POST /mcp\n{", MCP::post(accept => 'a/b', type => 'a/b'), 406,
        $::NotAcceptable],
]



=== TEST 13: body larger than client_max_body_size: 413
--- config
    location = /mcp { mcp mcp; client_max_body_size 1k; }
--- cases eval
[
    [MCP::rpc('ping', '{"a":"' . 'x' x 900 . '"}'), undef, 200, $::Pong],
    [MCP::rpc('ping', '{"a":"' . 'x' x 2000 . '"}'), undef, 413,
        qr/413 Request Entity Too Large/],
]
--- no_error_log
[alert]



=== TEST 14: body larger than client_body_buffer_size: read from a file
--- config
    location = /mcp { mcp mcp; client_body_buffer_size 1k; }
--- request eval
MCP::rpc('ping', '{"a":"' . 'x' x 100_000 . '"}')
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- error_log
a client request body is buffered to a temporary file



=== TEST 15: body partly in memory, partly in a file: accepted
--- config
    location = /mcp { mcp mcp; client_body_buffer_size 1k; }
--- request eval
[[MCP::rpc('ping', '{"a":"' . 'x' x 500) =~ s/\}\z//r, 'x' x 70_000,
    { value => 'y"}}', delay_before => 0.01 }]]
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- error_log
a client request body is buffered to a temporary file



=== TEST 16: client_body_in_file_only: the body is read from a file
--- config
    location = /mcp { mcp mcp; client_body_in_file_only clean; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- error_log
a client request body is buffered to a temporary file



=== TEST 17: chunked body: accepted
--- config eval: $::Mcp
--- request eval
my $body = MCP::message('ping');
"POST /mcp\n" . CORE::join('', map { sprintf "%x\r\n%s\r\n", length, $_ }
    substr($body, 0, 5), substr($body, 5, 1), substr($body, 6)) . "0\r\n\r\n"
--- more_headers eval
MCP::post(more => 'Transfer-Encoding: chunked')
--- response_body eval: $::Pong



=== TEST 18: body in packets of one byte: accepted
--- config eval: $::Mcp
--- request eval
my $body = MCP::message('ping', undef, '"\u00e4"');
[["POST /mcp\n", map { { value => $_, delay_before => 0.002 } }
    split //, $body]]
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}', '"\u00e4"')



=== TEST 19: body shorter than its Content-Length: no response
--- config eval: $::Mcp
--- raw_request eval
"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
. (MCP::post() =~ s/\n/\r\n/gr) . "\r\n{\"jsonrpc\":"
--- shutdown
--- error_code:
--- response_body:



=== TEST 20: Expect header with 100-continue: the client gets 100, then 200
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post(more => 'Expect: 100-continue')
--- error_code: 100
--- response_body_like: HTTP/1.1 200 OK\r\n.*"result":\{\}\}$



=== TEST 21: HTTP/1.0: answered with Content-Length, then closed
--- config eval: $::Mcp
--- request eval
"POST /mcp HTTP/1.0\n" . MCP::message('ping')
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- response_headers
Connection: close
Content-Length: 36



=== TEST 22: eight pipelined requests on one connection: eight responses
--- config eval: $::Mcp
--- pipelined_requests eval
[map { MCP::rpc('ping', undef, $_) } 1 .. 8]
--- more_headers eval: MCP::post()
--- error_code eval
[map { 200 } 1 .. 8]
--- response_body eval
[map { MCP::answer('{}', $_) } 1 .. 8]



=== TEST 23: requests that get errors: the next requests on their connection are answered
--- config eval: $::Mcp
--- pipelined_requests eval
[$::Ping, $::Ping, 'GET /mcp', "POST /mcp\n{", 'DELETE /mcp', $::Ping]
--- more_headers eval
[MCP::post(), MCP::post(type => 'a/b'), MCP::get(session => undef),
    MCP::post(), MCP::end(session => 'x'), MCP::post()]
--- error_code eval
[200, 415, 400, 400, 404, 200]
--- response_body eval
[$::Pong, $::MediaType,
    MCP::fault(-32000, 'Bad Request: Mcp-Session-Id header is required'),
    MCP::fault(-32700, 'Parse error'),
    MCP::fault(-32001, 'Session not found'), $::Pong]



=== TEST 24: two lines of a header that may appear only once: 400
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(@$_), 400, qr/Bad Request/] }
    [more => 'Content-Type: application/json'],
    [more => 'content-type: text/plain'],
    [more => 'mcp-session-id: x'],
    [version => '2025-11-25', more => 'Mcp-Protocol-Version: 2025-11-25'],
    [after => 'x', more => 'LAST-EVENT-ID: x'],
    [more => "Origin: http://localhost\nOrigin: http://localhost"],
    [more => "Authorization: Bearer x\nAuthorization: Bearer y"],
]



=== TEST 25: header names in any case: accepted
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval
"content-TYPE: application/json\nACCEPT: */*\n"
. 'mcp-session-id: ' . MCP::session() . "\n"
--- response_body eval: $::Pong



=== TEST 26: Origin equal to a loopback Host: 200 with CORS headers
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(more => $_), 200, $::Pong] }
    'Origin: http://localhost',
    "Host: localhost:8080\nOrigin: http://localhost:8080",
    "Host: LOCALHOST\nOrigin: http://localhost:80",
    "Host: 127.0.0.1\nOrigin: http://127.0.0.1",
    "Host: 127.0.0.9:81\nOrigin: http://127.0.0.9:81",
    "Host: [::1]:81\nOrigin: http://[::1]:81",
    "Host: app.localhost\nOrigin: http://app.localhost",
    "Host: localhost\nOrigin: https://localhost",
]
--- response_headers eval
[map { "Access-Control-Allow-Origin: $_\nVary: Origin\n"
    . 'Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, '
    . 'Retry-After' }
    'http://localhost', 'http://localhost:8080', 'http://localhost:80',
    'http://127.0.0.1', 'http://127.0.0.9:81', 'http://[::1]:81',
    'http://app.localhost', 'https://localhost']



=== TEST 27: Origin different from Host: 403
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(more => $_), 403, $::Forbidden] }
    'Origin: http://example.com',
    'Origin: http://localhost:8080',
    'Origin: https://localhost:80',
    'Origin: ftp://localhost',
    'Origin: http://localhost.example.com',
    'Origin: http://localhost/',
    'Origin: http://localhost http://localhost',
    'Origin: localhost',
    'Origin: null',
    'Origin: NULL',
    'Origin: http://[::1]',
    "Host: localhost:81\nOrigin: http://localhost",
]



=== TEST 28: foreign Origin: 403 without CORS headers
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post(more => 'Origin: http://example.com')
--- error_code: 403
--- response_headers
! Access-Control-Allow-Origin
! Access-Control-Expose-Headers



=== TEST 29: Origin equal to a foreign Host (DNS rebinding): 403
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(more => "Host: $_\nOrigin: http://$_"), 403,
    $::Forbidden] }
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    '127.1',
    '0x7f.0.0.1',
    '0127.0.0.1',
    '10.0.0.1',
    'localhost.evil.example',
]



=== TEST 30: Origin equal to Host and to server_name: accepted
--- server_name: mcp.example
--- config eval: $::Mcp
--- cases eval
[
    [$::Ping, MCP::post(more =>
        "Host: mcp.example\nOrigin: https://mcp.example"), 200, $::Pong],
    [$::Ping, MCP::post(more =>
        "Host: mcp.example\nOrigin: http://mcp.example"), 200, $::Pong],
    [$::Ping, MCP::post(more =>
        "Host: other.example\nOrigin: http://other.example"), 403,
        $::Forbidden],
]



=== TEST 31: Origin equal to any of the names in server_name: accepted
--- config
    server_name one.example *.two.example .three.example;
    location = /mcp { mcp mcp; }
--- cases eval
[
    (map { [$::Ping, MCP::post(more => "Host: $_\nOrigin: http://$_"), 200,
        $::Pong] }
        'one.example', 'ONE.example', 'a.two.example', 'a.b.two.example',
        'three.example', 'a.three.example'),
    (map { [$::Ping, MCP::post(more => "Host: $_\nOrigin: http://$_"), 403,
        $::Forbidden] }
        'a.one.example', 'two.example', 'atwo.example', 'xthree.example'),
]



=== TEST 32: foreign Host without Origin: accepted
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post(more => 'Host: evil.example')
--- response_body eval: $::Pong



=== TEST 33: mcp_allow_origin with a list and a pattern: other origins get 403
--- config
    location = /mcp {
        mcp mcp;
        mcp_allow_origin https://a.example https://b.example:8443;
        mcp_allow_origin ~^https://[a-z]+\.c\.example$;
    }
--- cases eval
[
    (map { [$::Ping, MCP::post(more => "Origin: $_"), 200, $::Pong] }
        'https://a.example', 'https://b.example:8443',
        'https://x.c.example', 'http://localhost'),
    (map { [$::Ping, MCP::post(more => "Origin: $_"), 403, $::Forbidden] }
        'http://a.example', 'https://a.example:444', 'https://b.example',
        'https://x.y.c.example', 'https://x.c.example.org', 'null'),
]



=== TEST 34: mcp_allow_origin with a pattern after ~*: the case of the origin is ignored
--- config
    location = /mcp { mcp mcp; mcp_allow_origin ~*^HTTPS://a\.example$; }
--- request eval: $::Ping
--- more_headers eval: MCP::post(more => 'Origin: https://a.Example')
--- response_body eval: $::Pong



=== TEST 35: mcp_allow_origin with ~. as a pattern: any origin is accepted, except null
--- config
    location = /mcp { mcp mcp; mcp_allow_origin ~.; }
--- cases eval
[
    [$::Ping, MCP::post(more => 'Origin: http://any.example'), 200, $::Pong],
    [$::Ping, MCP::post(more => 'Origin: null'), 403, $::Forbidden],
]



=== TEST 36: mcp_allow_origin *: any origin is accepted
--- config
    location = /mcp { mcp mcp; mcp_allow_origin *; }
--- cases eval
[map { [$::Ping, MCP::post(more => "Origin: $_"), 200, $::Pong] }
    'https://evil.example', 'null', 'what:ever']
--- response_headers eval
["Access-Control-Allow-Origin: https://evil.example\nVary: Origin",
    'Access-Control-Allow-Origin: null',
    'Access-Control-Allow-Origin: what:ever']



=== TEST 37: mcp_allow_origin: inherited from the server level, replaced in a location
--- config
    mcp_allow_origin https://a.example;

    location = /mcp { mcp mcp; }
    location = /own { mcp mcp; mcp_allow_origin https://b.example; }
--- cases eval
[
    [MCP::rpc('ping'), MCP::post(more => 'Origin: https://a.example'), 200,
        $::Pong],
    [MCP::rpc('ping', undef, 1, '/own'),
        MCP::post(more => 'Origin: https://a.example'), 403, $::Forbidden],
    [MCP::rpc('ping', undef, 1, '/own'),
        MCP::post(more => 'Origin: https://b.example'), 200, $::Pong],
]



=== TEST 38: preflight from an allowed origin: 204 with CORS headers
--- config
    location = /mcp { mcp mcp; mcp_allow_origin https://a.example; }
--- request
OPTIONS /mcp
--- more_headers
Origin: https://a.example
Access-Control-Request-Method: POST
Access-Control-Request-Headers: content-type, mcp-param-region, mcp-session-id
--- error_code: 204
--- response_body:
--- response_headers
Access-Control-Allow-Origin: https://a.example
Access-Control-Allow-Methods: GET, POST, DELETE
Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, mcp-param-region
Access-Control-Max-Age: 86400
Vary: Origin
! Content-Type



=== TEST 39: preflight from another origin: 403
--- config
    location = /mcp { mcp mcp; mcp_allow_origin https://a.example; }
--- request
OPTIONS /mcp
--- more_headers
Origin: https://b.example
Access-Control-Request-Method: POST
--- error_code: 403
--- response_body eval: $::Forbidden
--- response_headers
! Access-Control-Allow-Origin
! Access-Control-Allow-Methods



=== TEST 40: error responses to an allowed origin: have CORS headers
--- config
    location = /mcp { mcp mcp; mcp_allow_origin https://a.example; }
--- cases eval
[
    ['PUT /mcp', "Origin: https://a.example\n", 405, $::NotAllowed],
    ['GET /mcp', MCP::get(session => undef, more =>
        'Origin: https://a.example'), 400, qr/Mcp-Session-Id/],
    [MCP::rpc('x'), MCP::post(more => 'Origin: https://a.example'), 200,
        qr/Method not found/],
    ['DELETE /mcp', MCP::end(id => 'cors', more =>
        'Origin: https://a.example'), 204, ''],
]
--- response_headers eval
[map { "Access-Control-Allow-Origin: https://a.example\nVary: Origin" } 1 .. 4]



=== TEST 41: deny all: nginx answers 403
--- config
    location = /mcp { deny all; mcp mcp; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- error_code: 403
--- response_body_like: 403 Forbidden
--- error_log
access forbidden by rule



=== TEST 42: endpoint in a prefix location, reached by a rewrite: accepted
--- config
    rewrite ^/old$ /new/mcp last;
    location /new/ { mcp mcp; }
--- cases eval
[
    [MCP::rpc('ping', undef, 1, '/old'), undef, 200, $::Pong],
    [MCP::rpc('ping', undef, 1, '/new/a/b'), undef, 200, $::Pong],
]



=== TEST 43: two endpoints in two zones: each sends its own name and version
--- http_config
    mcp_zone other 1m;
--- config
    location = /a { mcp mcp; mcp_server a 1; }
    location = /b { mcp other; mcp_server b 2; }
--- cases eval
[
    [MCP::initialize() =~ s{/mcp}{/a}r, MCP::first(), 200,
        qr/"serverInfo":\{"name":"a","version":"1"\}/],
    [MCP::initialize() =~ s{/mcp}{/b}r, MCP::first(), 200,
        qr/"serverInfo":\{"name":"b","version":"2"\}/],
    [MCP::rpc('ping', undef, 1, '/a'), undef, 200, $::Pong],
    [MCP::rpc('ping', undef, 1, '/b'), undef, 200, $::Pong],
]



=== TEST 44: endpoint with if or limit_except in its location: requests are answered
--- config
    location = /if {
        mcp mcp;
        if ($http_x_if) { add_header X-If yes always; }
    }
    location = /limit {
        mcp mcp;
        limit_except POST { deny all; }
    }
--- cases eval
[
    [MCP::rpc('ping', undef, 1, '/if'), MCP::post(more => 'X-If: 1'), 200,
        $::Pong],
    [MCP::rpc('ping', undef, 1, '/limit'), undef, 200, $::Pong],
    ['GET /limit', undef, 403, qr/403 Forbidden/],
]
--- no_error_log
[alert]
