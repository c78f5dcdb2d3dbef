# SPDX-License-Identifier: Apache-2.0

# Answers of backends: JSON, streams, content, statuses and failures.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 451;

no_long_string();

# an endpoint whose tools are the URLs below /b/

sub mcp {
    my ($locations, $directives, $backend) = @_;

    $directives //= '';
    $backend //= '';

    return <<"END";
    location = /mcp { mcp mcp; mcp_backend \@b; $directives }
    location \@b {
        proxy_http_version 1.1;
        $backend
        proxy_pass http://127.0.0.1:\$TEST_NGINX_SERVER_PORT/b/\$mcp_name;
    }
    $locations
END
}

# the location of a tool: type, body and status of its answer

sub tool {
    my ($name, $type, $body, $status) = @_;

    $status //= 200;
    $body =~ s/([\\'])/\\$1/g;
    $body =~ s/\n/\\n/g;
    $body =~ s/\r/\\r/g;
    $type = defined $type ? "default_type '$type'" : 'types { } default_type ""';

    return "location = /b/$name { $type; return $status '$body'; }\n";
}

# an endpoint whose backend is in the test

our $Own = MCP::own();

our $Result = MCP::answer(MCP::text('x'));
our $Output = MCP::fault(-32603, 'Backend sent an invalid response', 1);
our $Failed = MCP::fault(-32603, 'Backend failed', 1);
our $TimedOut = MCP::fault(-32603, 'Backend timed out', 1);
our $TooLarge = MCP::fault(-32603, 'Backend response too large', 1);

sub prompt { return MCP::rpc('prompts/get', "{\"name\":\"$_[0]\"}") }
sub resource { return MCP::rpc('resources/read', "{\"uri\":\"$_[0]\"}") }

sub block { return MCP::answer("{\"content\":[$_[0]]}") }

sub error_text {
    return MCP::answer("{\"content\":[{\"type\":\"text\",\"text\":\"$_[0]\"}],"
        . '"isError":true}');
}

# Calls one tool after the other, each with the answer that the client gets.

sub answers {
    my %answers = @_;

    return [map { [MCP::call($_), undef, 200, $answers{$_}] }
        sort keys %answers];
}

# the configuration of a tool whose answer is invalid

sub broken {
    my ($body, $type, $status) = @_;

    return mcp(tool('x', $type // 'application/json', $body, $status));
}

run_tests();

__DATA__

=== TEST 1: backend's JSON is a result alone or a whole response: the client gets the result
--- config eval
::mcp(CORE::join '',
    ::tool('bare', 'application/json', MCP::text('x')),
    ::tool('whole', 'application/json', MCP::answer(MCP::text('x'), 7)),
    ::tool('noid', 'application/json',
        '{"jsonrpc":"2.0","result":' . MCP::text('x') . '}'),
    ::tool('nullid', 'application/json',
        '{"id":null,"result":' . MCP::text('x') . ',"jsonrpc":"2.0"}'),
    ::tool('any', 'application/json',
        '{"structuredContent":{"a":[1,2.50,"\u00e4"]},"_meta":{},"x":null}'),
    ::tool('empty', 'application/json', '{}'),
    ::tool('bom', 'application/json', "\xef\xbb\xbf" . MCP::text('x')),
    ::tool('type', 'Application/JSON; charset=utf-8', MCP::text('x')),
    ::tool('plus', 'application/vnd.acme+json', MCP::text('x')),
    ::tool('lines', 'application/json', "\n{\n  \"a\":\r\n1\n}\n\n"),
    ::tool('none', undef, MCP::text('x')))
--- cases eval
::answers(
    (map { $_ => $::Result } qw( bare whole noid nullid bom type plus none )),
    any => MCP::answer(
        '{"structuredContent":{"a":[1,2.50,"\u00e4"]},"_meta":{},"x":null}'),
    empty => MCP::answer('{}'),
    lines => MCP::answer('{   "a":  1 }'))



=== TEST 2: JSON-RPC error from a backend with any HTTP status: passed on
--- config eval
my $error = '{"code":-32602,"message":"Unknown city","data":{"c":"\u00e4"}}';
::mcp(CORE::join '', map { ::tool("s$_", 'application/json',
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":$error}", $_) }
    200, 201, 400, 404, 500, 503)
--- cases eval
my $error = '{"code":-32602,"message":"Unknown city","data":{"c":"\u00e4"}}';
::answers(map { ("s$_" => "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":$error}") }
    200, 201, 400, 404, 500, 503)



=== TEST 3: NDJSON that begins with the result: the client gets plain JSON
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['one', 'application/x-ndjson', MCP::text('x') . "\n"],
    ['end', 'application/x-ndjson', MCP::text('x')],
    ['crlf', 'application/ndjson', "\r\n\r\n" . MCP::text('x') . "\r\n"],
    ['whole', 'application/jsonl', MCP::answer(MCP::text('x'), '"q"') . "\n"],
    ['more', 'application/x-ndjson; charset=utf-8',
        MCP::text('x') . "\n" . MCP::text('y') . "\nbroken"],
    ['bom', 'application/x-ndjson', "\xef\xbb\xbf " . MCP::text('x') . "\t\n"])
--- cases eval
::answers(map { $_ => $::Result } qw( one end crlf whole more bom ))



=== TEST 4: event stream that begins with the result: the client gets plain JSON
--- config eval
::mcp(CORE::join '', map { ::tool($_->[0], 'text/event-stream', $_->[1]) }
    ['one', 'data: ' . MCP::text('x') . "\n\n"],
    ['end', 'data:' . MCP::text('x')],
    ['crlf', "\r\n:c\r\n\r\nid: 7\r\nretry: 1\r\nevent: message\r\ndata: "
        . MCP::text('x') . "\r\n\r\n"],
    ['cr', 'data: ' . MCP::text('x') . "\r\r"],
    ['lines', "data: {\ndata: \"content\":[{\"type\":\"text\",\n"
        . "data: \"text\":\"x\"}]\ndata: }\n\n"],
    ['empty', "data\n\ndata:\n\nid: 1\ndata: \n\ndata: " . MCP::text('x')
        . "\n\n"],
    ['more', 'data: ' . MCP::text('x') . "\n\ndata: broken\n\n"],
    ['beat', "event: ping\ndata: {}\n\nevent: ping\ndata: now\n\ndata: "
        . MCP::text('x') . "\n\n"],
    ['bom', "\xef\xbb\xbfdata: " . MCP::text('x') . "\n\n"])
--- cases eval
::answers((map { $_ => $::Result } qw( one end crlf cr empty more beat bom )),
    lines => qr/"result":\{ "content":\[\{"type":"text", "text":"x"\}\] \}\}\z/)



=== TEST 5: text from a tool: becomes text content in UTF-8
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['plain', 'text/plain', "say \"hi\"\n\ttab \\ end\n"],
    ['html', 'text/html; charset=utf-8', '<p>'],
    ['csv', 'TEXT/CSV', "a,b\r\n"],
    ['utf8', 'text/plain', "\xc3\xa4\xf0\x9f\x98\x80"],
    ['broken', 'text/plain', "a\xffb\xc3(\xe2\x82"],
    ['latin1', 'text/plain; charset=ISO-8859-1', "\xe4\xf6"],
    ['quoted', 'text/plain; charset="iso-8859-1"', "\xe4"],
    ['control', 'text/plain', "\x01\x7f"],
    ['json', 'text/plain', '{"content":[]}'],
    ['none', undef, 'hello'],
    ['nonejson', undef, '[1]'])
--- cases eval
::answers(
    plain => MCP::answer(MCP::text('say \"hi\"\n\ttab \\\\ end\n')),
    html => MCP::answer(MCP::text('<p>')),
    csv => MCP::answer(MCP::text('a,b\r\n')),
    utf8 => MCP::answer(MCP::text("\xc3\xa4\xf0\x9f\x98\x80")),
    broken => MCP::answer(MCP::text("a\xef\xbf\xbdb\xef\xbf\xbd(\xef\xbf\xbd")),
    latin1 => MCP::answer(MCP::text("\xc3\xa4\xc3\xb6")),
    quoted => MCP::answer(MCP::text("\xc3\xa4")),
    control => qr/"text":"\\u0001(?:\x7f|\\u007f)"/i,
    json => MCP::answer(MCP::text('{\"content\":[]}')),
    none => MCP::answer(MCP::text('hello')),
    nonejson => MCP::answer(MCP::text('[1]')))



=== TEST 6: images, audio, other files from a tool: become content of the matching type
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['png', 'image/png', "\x89PNG\x01"],
    ['wav', 'audio/wav; x=y', 'RIFF'],
    ['pdf', 'application/pdf', '%PDF'],
    ['octets', 'application/octet-stream', 'a'],
    ['xml', 'application/xml', '<a/>'],
    ['atom', 'application/atom+xml', '<a b="c"/>'],
    ['yaml', 'application/yaml', "a: b\n"],
    ['js', 'application/javascript', 'f()'],
    ['svg', 'image/svg+xml', '<svg/>'],
    ['odd', 'x-y/z', 'abc'])
--- cases eval
use MIME::Base64 qw( encode_base64 );
my $resource = sub { ::block('{"type":"resource","resource":'
    . "{\"uri\":\"mcp:result\",\"mimeType\":\"$_[0]\",$_[1]}}") };
my $blob = sub { $resource->($_[0], '"blob":"' . encode_base64($_[1], '')
    . '"') };
::answers(
    png => ::block('{"type":"image","data":"' . encode_base64("\x89PNG\x01",
        '') . '","mimeType":"image/png"}'),
    wav => ::block(
        '{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}'),
    pdf => $blob->('application/pdf', '%PDF'),
    octets => $blob->('application/octet-stream', 'a'),
    xml => $resource->('application/xml', '"text":"<a/>"'),
    atom => $resource->('application/atom+xml', '"text":"<a b=\"c\"/>"'),
    yaml => $resource->('application/yaml', '"text":"a: b\n"'),
    js => $resource->('application/javascript', '"text":"f()"'),
    svg => ::block('{"type":"image","data":"PHN2Zy8+",'
        . '"mimeType":"image/svg+xml"}'),
    odd => $blob->('x-y/z', 'abc'))



=== TEST 7: static files as answers of a tool: become text content
--- config eval
::mcp('location /b/ { alias html/; proxy_method GET; }', '',
    'proxy_method GET;')
--- user_files eval
[['t.txt', "a\nb\n"], ['big.txt', 'abcdefgh' x 20_000],
    ['j.json', MCP::text('x')], ['p.png', "\x00\xff" x 3]]
--- cases eval
[
    [MCP::call('t.txt'), undef, 200, MCP::answer(MCP::text('a\nb\n'))],
    [MCP::call('big.txt'), undef, 200,
        MCP::answer(MCP::text('abcdefgh' x 20_000))],
]



=== TEST 8: text that answers prompts/get: becomes a message of the prompt
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['text', 'text/plain', 'hi'],
    ['png', 'image/png', 'a'],
    ['pdf', 'application/pdf', 'a'],
    ['empty', 'text/plain', ''],
    ['json', 'application/json', '{"messages":[]}'])
--- cases eval
my $message = sub { MCP::answer(
    "{\"messages\":[{\"role\":\"user\",\"content\":$_[0]}]}") };
[
    [::prompt('text'), undef, 200, $message->('{"type":"text","text":"hi"}')],
    [::prompt('png'), undef, 200, $message->(
        '{"type":"image","data":"YQ==","mimeType":"image/png"}')],
    [::prompt('pdf'), undef, 200, $message->('{"type":"resource","resource":'
        . '{"uri":"mcp:result","mimeType":"application/pdf","blob":"YQ=="}}')],
    [::prompt('empty'), undef, 200, MCP::answer('{"messages":[]}')],
    [::prompt('json'), undef, 200, MCP::answer('{"messages":[]}')],
]



=== TEST 9: text or file that answers resources/read: becomes contents with the URI
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['a:text', 'text/plain; charset=utf-8', 'hi'],
    ['a:html', 'text/html', '<p>'],
    ['a:svg', 'image/svg+xml', '<svg/>'],
    ['a:png', 'image/png', 'a'],
    ['a:none', undef, 'x'],
    ['a:empty', 'text/plain', ''],
    ['a:json', 'application/json', '{"contents":[]}'])
--- cases eval
my $contents = sub { MCP::answer("{\"contents\":[{\"uri\":\"$_[0]\","
    . "\"mimeType\":\"$_[1]\",\"$_[2]\":\"$_[3]\"}]}") };
[
    [::resource('a:text'), undef, 200,
        $contents->('a:text', 'text/plain', 'text', 'hi')],
    [::resource('a:html'), undef, 200,
        $contents->('a:html', 'text/html', 'text', '<p>')],
    [::resource('a:svg'), undef, 200,
        $contents->('a:svg', 'image/svg+xml', 'text', '<svg/>')],
    [::resource('a:png'), undef, 200,
        $contents->('a:png', 'image/png', 'blob', 'YQ==')],
    [::resource('a:none'), undef, 200,
        $contents->('a:none', 'text/plain', 'text', 'x')],
    [::resource('a:empty'), undef, 200,
        $contents->('a:empty', 'text/plain', 'text', '')],
    [::resource('a:json'), undef, 200, MCP::answer('{"contents":[]}')],
]



=== TEST 10: empty answer of a tool: a result with empty content
--- config eval
::mcp(::tool('text', 'text/plain', '') . ::tool('png', 'image/png', '')
    . 'location = /b/204 { return 204; }')
--- cases eval
::answers(map { $_ => MCP::answer('{"content":[]}') } 'text', 'png', 204)



=== TEST 11: HTTP error status with a text: a result with isError
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['s400', 'text/plain', 'no such city', 400],
    ['s404', 'text/plain', "\xff", 404],
    ['s500', 'text/html', '<h1>no</h1>', 500],
    ['json', 'application/json', '{"error":"x"}', 422],
    ['array', 'application/json', '[1]', 500],
    ['broken', 'application/json', '{', 500],
    ['none', undef, 'hm', 503],
    ['empty', 'text/plain', '', 502],
    ['binary', 'application/pdf', 'abc', 418],
    ['nojson', 'application/json', '', 500])
--- cases eval
::answers(
    s400 => ::error_text('no such city'),
    s404 => ::error_text("\xef\xbf\xbd"),
    s500 => ::error_text('<h1>no</h1>'),
    array => ::error_text('[1]'),
    broken => ::error_text('{'),
    none => ::error_text('hm'),
    empty => qr/"isError":true/,
    binary => ::error_text('HTTP 418'),
    nojson => qr/"isError":true/)



=== TEST 12: HTTP error status with a result: isError is added unless the result has it
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['plain', 'application/json', MCP::text('x'), 500],
    ['said', 'application/json', '{"content":[],"isError":false}', 400],
    ['whole', 'application/json', MCP::answer(MCP::text('x'), 3), 403],
    ['line', 'application/x-ndjson', MCP::text('x') . "\n", 500])
--- cases eval
my $error = MCP::answer('{"isError":true,' . substr MCP::text('x'), 1);
::answers(plain => $error, whole => $error, line => $error,
    said => MCP::answer('{"content":[],"isError":false}'))



=== TEST 13: HTTP error page of 160 kB: the result has its first 64 kB
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b {
        proxy_http_version 1.1;
        proxy_method GET;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/b?$mcp_call;
    }
    location = /b { error_page 404 /big.txt; return 404; }
--- user_files eval
[['big.txt', 'abcdefgh' x 20_000]]
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: ::error_text('abcdefgh' x 8192)



=== TEST 14: HTTP error status for a prompt or a resource: a JSON-RPC error
--- config eval
::mcp(CORE::join '', map { ::tool(@$_) }
    ['p', 'text/plain', 'x', 404], ['q', 'text/plain', 'x', 500],
    ['r:r', 'text/plain', 'x', 404], ['r:s', 'text/plain', 'x', 503])
--- cases eval
[
    [::prompt('p'), undef, 200, qr/"code":-32602,"message":"Unknown prompt/],
    [::prompt('q'), undef, 200, $::Failed],
    [::resource('r:r'), undef, 200,
        qr/"code":-32002,"message":"Resource not found/],
    [::resource('r:s'), undef, 200, $::Failed],
]
--- error_log
in its backend: HTTP



=== TEST 15: answer to tools/list that is not JSON: -32603
--- config eval
::mcp('location /b/ { default_type text/plain; return 200 "[]"; }')
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
the Content-Type of the response is not JSON



=== TEST 16: backend that sends a redirect: -32603
--- config eval
::mcp('location /b/ { return 302 /elsewhere; }')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Failed
--- error_log
of "x" failed in its backend: the backend responded with a redirect (HTTP 3xx), which is not followed



=== TEST 17: backend's location with a rewrite to another one: the call gets the answer of the other location
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b { rewrite ^ /inside last; }
    location = /inside { return 200 "inside"; }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer(MCP::text('inside'))



=== TEST 18: backend's location with only a return directive: the call gets the text, for 404 or 500 an error
--- config
    location = /mcp { mcp mcp; mcp_backend @b; mcp_route e @e; mcp_route f @f; }
    location @b { default_type text/plain; return 200 "$mcp_name!"; }
    location @e { return 404; }
    location @f { return 500; }
--- cases eval
::answers(x => MCP::answer(MCP::text('x!')), e => qr/"isError":true/,
    f => $::Failed)
--- no_error_log
[alert]



=== TEST 19: deny all in the backend's location: a result with isError
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b {
        deny all;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT;
    }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body_like: "isError":true
--- error_log
access forbidden by rule



=== TEST 20: error_page in the backend's location handles a 502: the call gets the answer of the error page
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b {
        error_page 502 = @other;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
    location @other { default_type text/plain; return 200 "instead"; }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer(MCP::text('instead'))
--- error_log
Connection refused



=== TEST 21: upstream that refuses the connection: -32603
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Failed
--- error_log
Connection refused



=== TEST 22: first server of an upstream group is down: the second one answers
--- http_config
    upstream tools {
        server 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        server 127.0.0.1:$TEST_NGINX_SERVER_PORT;
    }
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b { proxy_pass http://tools/said?$mcp_call; }
    location = /said { return 200 "said"; }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer(MCP::text('said'))
--- no_error_log
[alert]



=== TEST 23: auth_request in the backend's location allows the request: the call succeeds
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b {
        auth_request /auth;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/said?$mcp_call;
    }
    location = /auth { internal; return 204; }
    location = /said { return 200 "said"; }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer(MCP::text('said'))



=== TEST 24: mcp_principal with a variable that auth_request sets: the principal is the value of the variable
--- config
    location = /mcp {
        auth_request /auth;
        auth_request_set $user "<$http_x_name>";
        mcp mcp;
        mcp_principal $user;
        mcp_backend @b;
    }
    location = /auth { internal; return 204; }
    location @b {
        default_type text/plain;
        return 200 "hello $mcp_principal";
    }
--- cases eval
[
    [MCP::call('x'), MCP::post(principal => '<ada>', more => 'X-Name: ada'),
        200, MCP::answer(MCP::text('hello <ada>'))],
    [MCP::call('x'), MCP::post(principal => '<ada>', more => 'X-Name: bob'),
        404, qr/-32001/],
]



=== TEST 25: backend sends broken JSON: -32603
--- config eval
::broken('{"content":')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 26: backend sends text after the JSON: -32603
--- config eval
::broken('{} x')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 27: backend sends a warning before the JSON: -32603
--- config eval
::broken("Warning: x\n{}")
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 28: backend sends an empty body as JSON: -32603
--- config eval
::broken('')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the response body is empty



=== TEST 29: backend sends a JSON array: -32603
--- config eval
::broken('[]')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message is not a JSON object



=== TEST 30: backend sends JSON nested deeper than mcp_max_depth: -32603
--- config eval
::mcp(::tool('x', 'application/json', '{"a":' . '[' x 10 . ']' x 10 . '}'), 'mcp_max_depth 8;')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the JSON is nested deeper than mcp_max_depth



=== TEST 31: backend sends jsonrpc 1.0: -32603
--- config eval
::broken('{"jsonrpc":"1.0","result":{}}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "jsonrpc" is not "2.0"



=== TEST 32: backend sends a result with an error: -32603
--- config eval
::broken('{"jsonrpc":"2.0","result":{},"error":{"code":1,"message":""}}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message must have exactly one of "method", "result" and "error"



=== TEST 33: backend sends neither result nor error: -32603
--- config eval
::broken('{"jsonrpc":"2.0","id":1}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message must have exactly one of "method", "result" and "error"



=== TEST 34: backend sends a string as the result: -32603
--- config eval
::broken('{"jsonrpc":"2.0","result":"x"}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "result" is not an object



=== TEST 35: backend sends an error without a message: -32603
--- config eval
::broken('{"jsonrpc":"2.0","error":{"code":1}}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "error" is not an object with a number "code" and a string "message"



=== TEST 36: backend sends an error code with a fraction: -32603
--- config eval
::broken('{"jsonrpc":"2.0","error":{"code":1.5,"message":"x"}}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "code" of "error" is not an integer



=== TEST 37: backend sends a notification as JSON: -32603
--- config eval
::broken(MCP::progress(1))
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message has a "method", so it is not a response



=== TEST 38: backend sends two results in one object: -32603
--- config eval
::broken('{"jsonrpc":"2.0","result":{},"result":{}}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the JSON has an object with a duplicate key



=== TEST 39: NDJSON without a response: -32603
--- config eval
::broken("\n\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the stream ended without a response



=== TEST 40: event stream without a response: -32603
--- config eval
::broken(":c\n\n", 'text/event-stream')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the stream ended without a response



=== TEST 41: NDJSON with a line of broken JSON: -32603
--- config eval
::broken("{\n" . MCP::text('x') . "\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 42: NDJSON with a line without jsonrpc: -32603
--- config eval
::broken("{\"method\":\"notifications/progress\"}\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message has no "jsonrpc"



=== TEST 43: NDJSON with a request: -32603
--- config eval
::broken(MCP::message('ping') . "\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the message has an "id", so it is a request to the client, which is not allowed: return a result with "resultType": "input_required" instead



=== TEST 44: NDJSON with a number as the method: -32603
--- config eval
::broken("{\"jsonrpc\":\"2.0\",\"method\":1}\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "method" is empty or not a string



=== TEST 45: NDJSON with an array as params: -32603
--- config eval
::broken("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":[]}\n", 'application/x-ndjson')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "params" is not an object



=== TEST 46: JSON body larger than mcp_max_message: -32603
--- config eval
::mcp(::tool('x', 'application/json', '{"a":"' . 'x' x 1100 . '"}'), 'mcp_max_message 1k;')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TooLarge
--- error_log
of "x" failed in its backend: the response body is larger than mcp_max_message



=== TEST 47: NDJSON line larger than mcp_max_message: -32603
--- config eval
::mcp(::tool('x', 'application/x-ndjson', '{"a":"' . 'x' x 1100 . "\"}\n"), 'mcp_max_message 1k;')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TooLarge
--- error_log
of "x" failed in its backend: a message is larger than mcp_max_message



=== TEST 48: SSE event larger than mcp_max_message: -32603
--- config eval
::mcp(::tool('x', 'text/event-stream', 'data: {"a":"' . 'x' x 1100 . "\"}\n\n"), 'mcp_max_message 1k;')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TooLarge
--- error_log
of "x" failed in its backend: a message is larger than mcp_max_message



=== TEST 49: text larger than mcp_max_message after escaping: -32603
--- config eval
::mcp(::tool('x', 'text/plain', "\x01" x 1000), 'mcp_max_message 1k;')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TooLarge
--- error_log
of "x" failed in its backend: the response body, encoded as JSON, is larger than twice mcp_max_message



=== TEST 50: input_required without requests or state: -32603
--- config eval
::broken('{"resultType":"input_required"}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: the "resultType" is "input_required", but "inputRequests" has no request, and "requestState" is absent



=== TEST 51: input_required with an array of requests: -32603
--- config eval
::broken('{"resultType":"input_required","inputRequests":[]}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "inputRequests" is not an object whose values are requests



=== TEST 52: input_required with a number as requestState: -32603
--- config eval
::broken('{"resultType":"input_required","requestState":1}')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Output
--- error_log
of "x" failed in its backend: "requestState" is not a string



=== TEST 53: body shorter than its Content-Length: -32603
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    . "Content-Length: 100\r\n\r\n" . MCP::text('x'))->close;
$client->rest =~ /\Q$::Failed\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 54: chunked body without its last chunk: -32603
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->head('text/plain')->chunk('half')->close;
$client->rest =~ /\Q$::Failed\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 55: NDJSON cut after its response: the client gets the result
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->ndjson(MCP::text('x'))->close;
$client->rest =~ /\Q$::Result\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- no_error_log
[alert]



=== TEST 56: NDJSON cut before its response: the stream ends with -32603
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->upto(1);
$call->close;
$client->rest =~ /data: \Q$::Failed\E\n\n\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 57: backend closes the connection without an answer: -32603
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->close;
$client->rest =~ /\Q$::Failed\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 58: backend sends something other than HTTP: the client gets a JSON-RPC response
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->send("hello\r\n\r\n")->close;
$client->rest =~ /"jsonrpc".*"id":1,/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- no_error_log
[alert]



=== TEST 59: backend's socket does not exist: -32603
--- config eval: $::Own
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Failed
--- error_log
[crit]
No such file or directory
of "x" failed in its backend:



=== TEST 60: backend slower than proxy_read_timeout: -32603, Backend timed out
--- config eval
$::Own =~ s/proxy_buffering off;/proxy_read_timeout 50ms;/r
--- init
$::backend = MCP::backend();
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TimedOut
--- error_log
upstream timed out
of "x" failed in its backend:



=== TEST 61: call longer than mcp_call_timeout: -32603, Backend timed out
--- config eval
$::Own =~ s/mcp mcp;/mcp mcp; mcp_call_timeout 50ms;/r
--- init
$::backend = MCP::backend();
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::TimedOut
--- error_log
of "x" timed out



=== TEST 62: event stream in chunks of one byte: each message is complete
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->head('text/event-stream');
$call->chunk($_) for split //, 'data: ' . MCP::progress(1) . "\r\n\r\ndata: "
    . MCP::text('x') . "\n\n";
$call->last;
MCP::plain_ids($client->rest) =~ /data: \Q@{[MCP::progress(1)]}\E\n\n\Q@{[
    "id: S.2\ndata: $::Result\n\n"]}\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 63: text larger than nginx's buffers: the result is complete
--- config eval
$::Own =~ s/proxy_buffering off;/proxy_buffering on; proxy_buffers 2 4k;
    proxy_buffer_size 4k; proxy_busy_buffers_size 4k;/r
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call->head('text/plain');
$call->chunk('abcdefgh' x 1000) for 1 .. 30;
$call->last;
my $text = 'abcdefgh' x 30_000;
$client->rest =~ /"text":"$text"/ or die length $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 64: HTTP/1.0 answer without a length: the result is complete
--- config eval
$::Own =~ s/proxy_http_version 1.1;//r
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n",
    'x')->close;
$client->rest =~ /\Q$::Result\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 65: client accepts gzip: the backend's answer is not compressed
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b {
        proxy_http_version 1.1;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/b?$mcp_call;
    }
    location = /b {
        gzip on;
        gzip_min_length 1;
        gzip_proxied any;
        default_type text/plain;
        return 200 "hello, hello, hello, hello";
    }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post(more => 'Accept-Encoding: gzip')
--- response_body eval: MCP::answer(MCP::text('hello, hello, hello, hello'))



=== TEST 66: FastCGI backend: the call gets its answer
--- config
    location = /mcp { mcp mcp; mcp_backend @f; }
    location @f {
        fastcgi_param MCP_NAME $mcp_name;
        fastcgi_param REQUEST_METHOD $request_method;
        fastcgi_param CONTENT_LENGTH $content_length;
        fastcgi_pass unix:$TEST_NGINX_HTML_DIR/backend.sock;
    }
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $message = MCP::message('tools/call', '{"name":"x"}');
my $call = $backend->connection;
$call->until(qr/\Q$message\E.*\x01\x05\0\x01\0\0\0\0\z/s);
$call->in =~ /\x08\x01MCP_NAMEx/ or die;
my $record = sub { pack('C C n n C C', 1, $_[0], 1, length $_[1], 0, 0)
    . $_[1] };
$call->send($record->(6, "Status: 200\r\nContent-type: text/plain\r\n\r\n"),
    $record->(6, 'x'), $record->(6, ''), $record->(3, "\0" x 8))->close;
$client->rest =~ /\Q$::Result\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 67: FastCGI backend dies in the middle of its response: -32603
--- config
    location = /mcp { mcp mcp; mcp_backend @f; }
    location @f {
        fastcgi_buffering off;
        fastcgi_param MCP_NAME $mcp_name;
        fastcgi_pass unix:$TEST_NGINX_HTML_DIR/backend.sock;
    }
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->connection;
$call->until(qr/\x01\x05\0\x01\0\0\0\0\z/);
my $record = sub { pack('C C n n C C', 1, $_[0], 1, length $_[1], 0, 0)
    . $_[1] };
$call->send($record->(6, "Content-type: text/plain\r\n\r\nhalf"))->close;
$client->rest =~ /\Q$::Failed\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 68: batch in which some calls fail: each call has its own response
--- config eval
::mcp(::tool('a', 'text/plain', 'x') . ::tool('b', 'text/plain', 'no', 500)
    . ::tool('c', 'application/json', '{'))
--- request eval
"POST /mcp\n[" . CORE::join(',', map { MCP::message('tools/call',
    "{\"name\":\"$_->[0]\"}", $_->[1]) } ['a', 1], ['b', 2], ['c', 3], ['a', 4])
    . ']'
--- more_headers eval: MCP::post(revision => '2025-03-26')
--- response_body eval
'[' . CORE::join(',', $::Result, ::error_text('no') =~ s/"id":1/"id":2/r,
    $::Output =~ s/"id":1/"id":3/r, $::Result =~ s/"id":1/"id":4/r) . ']'
--- error_log
of "c" failed in its backend: broken JSON
