# SPDX-License-Identifier: Apache-2.0

# JSON and JSON-RPC: valid and invalid messages, ids of responses, batches.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 758;

no_long_string();

our $Mcp = 'location = /mcp { mcp mcp; }';
our $Parse = MCP::fault(-32700, 'Parse error');
our $Deep = MCP::fault(-32700, 'Parse error: nested too deeply');
our $Invalid = MCP::fault(-32600, 'Invalid Request');
our $BadId = MCP::fault(-32600,
    'Invalid Request: id must be a short string or an integer');
our $NoBatch = MCP::fault(-32600, 'Invalid Request: batching is not supported');

sub invalid { return MCP::fault(-32600, 'Invalid Request', shift) }

# the same error with a detail

sub named {
    my ($detail, $id) = @_;

    return MCP::fault(-32600, "Invalid Request: $detail", $id);
}

sub post_text { return "POST /mcp\n" . shift }

sub ping { return MCP::message('ping', undef, shift) }

our $Old = MCP::post(revision => '2025-03-26');

run_tests();

__DATA__

=== TEST 1: body that is not JSON: 400, -32700
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 400, $::Parse] }
    '{', '}', '{"jsonrpc":"2.0","id":1,"method":"ping"', '{"jsonrpc":"2.0",}',
    "{'jsonrpc':'2.0'}", '{jsonrpc:"2.0"}', 'ping', 'tru', '"abc', '01', '-',
    '+1', '1.', '.5', '{"a":1 "b":2}', '{"a"}', '{"a":}', '{,}',
    '{"a":"\x"}', '{"a":"\u12"}', "{\"a\":\"\t\"}",
    "{\"a\":\"\n\"}", '{"a":NaN}', '{"a":Infinity}', '{"a":0x1}',
    '/* no */ {}', '{} // no', ';']



=== TEST 2: body with more than one JSON text: 400, -32700
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 400, $::Parse] }
    ::ping(1) . ::ping(2), ::ping(1) . "\n" . ::ping(2), ::ping(1) . '}',
    ::ping(1) . ',', ::ping(1) . 'x', ::ping(1) . "\0", "\0" . ::ping(1)]



=== TEST 3: empty body: 400, -32700
--- config eval: $::Mcp
--- cases eval
[
    ['POST /mcp', MCP::post(more => 'Content-Length: 0'), 400, $::Parse],
    ["POST /mcp\n   ", MCP::post(more => 'Content-Length: 3'), 400, $::Parse],
    ['POST /mcp', undef, 400, $::Parse],
]



=== TEST 4: white space around the message: accepted
--- config eval: $::Mcp
--- request eval
"POST /mcp\n \t\r\n" . ::ping(1) . " \r\n\t "
--- more_headers eval
MCP::post(more => 'Content-Length: ' . (8 + length ::ping(1)))
--- response_body eval: MCP::answer('{}')



=== TEST 5: message with white space, members in any order, unknown members: accepted
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 200, MCP::answer('{}')] }
    "{ \"id\" : 1 ,\r\n\t\"method\" : \"ping\" , \"jsonrpc\" : \"2.0\" }",
    '{"method":"ping","params":{},"id":1,"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","x":[{"id":2}],"":null}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1}}}',
    '{"\u006asonrpc":"\u0032.0","\u0069d":1,"m\u0065thod":"\u0070ing"}']



=== TEST 6: byte order mark before the message: 400, -32700
--- config eval: $::Mcp
--- request eval
::post_text("\xef\xbb\xbf" . ::ping(1))
--- more_headers eval: MCP::post()
--- error_code: 400
--- response_body eval: $::Parse



=== TEST 7: message in UTF-16: 400, -32700
--- config eval: $::Mcp
--- request eval
::post_text(CORE::join '', map { "$_\0" } split //, ::ping(1))
--- more_headers eval: MCP::post()
--- error_code: 400
--- response_body eval: $::Parse



=== TEST 8: id with valid or invalid UTF-8: accepted or 400 with -32700, respectively
--- config eval: $::Mcp
--- cases eval
[
    (map { [::post_text("{\"jsonrpc\":\"2.0\",\"id\":\"$_\","
        . "\"method\":\"ping\"}"), undef, 200, MCP::answer('{}', "\"$_\"")] }
        "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
        "\xed\x9f\xbf", "\xee\x80\x80"),
    (map { [::post_text("{\"jsonrpc\":\"2.0\",\"id\":\"$_\","
        . "\"method\":\"ping\"}"), undef, 400, $::Parse] }
        "\x80", "\xff", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xe2\x82", "\xf8\x88\x80\x80"),
]



=== TEST 9: id in any valid form: the result has the same bytes as its id
--- config eval: $::Mcp
--- cases eval
[map { [::post_text(::ping($_)), undef, 200, MCP::answer('{}', $_)] }
    '0', '1', '-1', '-0', '9007199254740993', '18446744073709551616',
    '-123456789012345678901234567890', '"1"', '""', '"a b"', '"\""',
    '"\\\\"', '"\/"', '"\u0041"', '"\u00E4"', '"\ud83d\ude00"', '"\u0000"',
    '"\b\f\n\r\t"', "\"\x7f\"", '"' . 'x' x 254 . '"', '1' x 256]



=== TEST 10: id in any valid form: the error has the same bytes as its id
--- config eval: $::Mcp
--- cases eval
[map { [::post_text(MCP::message('nothing', undef, $_)), undef, 200,
    MCP::fault(-32601, 'Method not found: nothing', $_)] }
    '-7', '"\u0041\""', '123456789012345678901234567890']



=== TEST 11: id of a wrong type or too long: 400, -32600
--- config eval: $::Mcp
--- cases eval
[map { [::post_text(::ping($_)), undef, 400, $::BadId] }
    'null', 'true', 'false', '{}', '[]', '[1]', '1.0', '1.5', '1e3', '1E+2',
    '-0.0', '0e0', '"' . 'x' x 255 . '"', '1' x 257, '"' . 'x' x 5000 . '"']



=== TEST 12: JSON that is not a JSON-RPC message: 400, -32600
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 400, $::Invalid] }
    'null', 'true', '1', '"ping"', '{}', '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","params":{}}', '{"method":"ping"}',
    '{"jsonrpc":"2.0","method":null}', '{"jsonrpc":"2.0","method":1}',
    '{"jsonrpc":"2.0","method":""}', '{"jsonrpc":"2.0","method":["ping"]}',
    '{"jsonrpc":"2.0","result":{}}']



=== TEST 13: invalid message with a valid id: 400, -32600 with this id
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 400, ::invalid('"i"')] }
    '{"id":"i"}', '{"jsonrpc":"2.0","id":"i"}', '{"id":"i","method":"ping"}',
    '{"jsonrpc":"1.0","id":"i","method":"ping"}',
    '{"jsonrpc":2.0,"id":"i","method":"ping"}',
    '{"jsonrpc":"2.0 ","id":"i","method":"ping"}',
    '{"jsonrpc":null,"id":"i","method":"ping"}',
    '{"jsonrpc":"2.0","id":"i","method":7}',
    '{"jsonrpc":"2.0","id":"i","method":""}',
    '{"jsonrpc":"2.0","id":"i","method":"ping","result":{}}',
    '{"jsonrpc":"2.0","id":"i","method":"ping","error":{}}',
    '{"jsonrpc":"2.0","id":"i","result":{},"error":{}}']



=== TEST 14: member that is invalid, duplicate or misspelled: the error names this member
--- config eval: $::Mcp
--- cases eval
[
    [::post_text('{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}'),
        undef, 400, ::named('duplicate member \"jsonrpc\"', 1)],
    [::post_text('{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}'),
        undef, 400, ::named('duplicate member \"method\"', 1)],
    [::post_text('{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}'),
        undef, 400, ::named('duplicate member \"id\"')],
    [::post_text('{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ping"}'),
        undef, 400, ::named('duplicate member \"id\"')],
    [::post_text('{"jsonrpc":"2.0","id":1,"method":"ping","params":{},'
        . '"params":{}}'), undef, 400, ::named('duplicate member \"params\"', 1)],
    [::post_text(MCP::message('tools/call', '{"name":"a","name":"b"}')),
        undef, 400, ::named('duplicate member \"name\"', 1)],
    [::post_text('{"JSONRPC":"2.0","METHOD":"ping"}'), undef, 400,
        ::named('the member \"JSONRPC\" must be spelled \"jsonrpc\"')],
    (map { [::post_text(MCP::message('ping', $_)), undef, 400,
        ::named('params must be an object', 1)] } '[]', '"x"'),
    [::post_text(MCP::message('ping', 'null')), undef, 200,
        MCP::answer('{}')],
    [::post_text(MCP::message('ping', '{"x":1,"x":2}')), undef, 200,
        MCP::answer('{}')],
]



=== TEST 15: invalid message without a valid id: the error has no id
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 400, qr/\A(?!.*"id")/s] }
    '{', '{}', '1', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"id":null}', '[]', '[1]']



=== TEST 16: nesting deeper than the default mcp_max_depth of 64: 400, -32700
--- config eval: $::Mcp
--- cases eval
[
    [::post_text(MCP::message('ping', '{"a":' . '[' x 62 . ']' x 62 . '}')),
        undef, 200, MCP::answer('{}')],
    [::post_text(MCP::message('ping', '{"a":' . '[' x 63 . ']' x 63 . '}')),
        undef, 400, $::Deep],
    [::post_text('{"a":' x 100_000), undef, 400, $::Deep],
    [::post_text('[' x 100_000), $::Old, 400, $::Deep],
]



=== TEST 17: mcp_max_depth 4: deeper messages get 400, -32700
--- config
    location = /mcp { mcp mcp; mcp_max_depth 4; }
--- cases eval
[
    [::post_text(MCP::message('ping', '{"a":{"b":[]}}')), undef, 200,
        MCP::answer('{}')],
    [::post_text(MCP::message('ping', '{"a":{"b":[[]]}}')), undef, 400,
        $::Deep],
    [::post_text('[' . MCP::message('ping', '{"a":{"b":[]}}') . ']'), $::Old,
        200, '[' . MCP::answer('{}') . ']'],
    [::post_text('[' . MCP::message('ping', '{"a":{"b":[[]]}}') . ']'),
        $::Old, 400, $::Deep],
]



=== TEST 18: messages of 5 MB: accepted
--- config eval: $::Mcp
--- cases eval
[
    [::post_text(MCP::message('ping', '{"a":"' . 'x' x 5_000_000 . '"}')),
        undef, 200, MCP::answer('{}')],
    [::post_text(MCP::message('ping', '{"a":[' . '0,' x 500_000 . '0]}')),
        undef, 200, MCP::answer('{}')],
    [::post_text(MCP::message('x' x 100_000)), undef, 200,
        MCP::fault(-32601, 'Method not found: ' . 'x' x 100_000, 1)],
]



=== TEST 19: unknown method: -32601
--- config eval: $::Mcp
--- cases eval
[
    (map { [::post_text(MCP::message($_)), undef, 200,
        MCP::fault(-32601, "Method not found: $_", 1)] }
        'nothing', 'Ping', 'ping ', 'tools', 'tools/', 'rpc.discover',
        'notifications/initialized', 'tools/call/x'),
    [::post_text(MCP::message('a\u0022b\n')), undef, 200,
        MCP::fault(-32601, 'Method not found: a\"b\n', 1)],
]



=== TEST 20: notification: 202 without a body
--- config eval: $::Mcp
--- cases eval
[map { [::post_text("{\"jsonrpc\":\"2.0\",\"method\":\"$_\"}"), undef, 202,
    ''] }
    'notifications/initialized', 'notifications/cancelled',
    'notifications/progress', 'notifications/roots/list_changed',
    'notifications/unknown', 'ping', 'tools/call', 'initialize']



=== TEST 21: notification: 202 without Content-Type
--- config eval: $::Mcp
--- request eval
::post_text('{"jsonrpc":"2.0","method":"notifications/initialized"}')
--- more_headers eval: MCP::post()
--- error_code: 202
--- response_body:
--- response_headers
! Content-Type
Content-Length: 0



=== TEST 22: cancellation of a request that does not exist: 202
--- config eval: $::Mcp
--- cases eval
[map { [::post_text('{"jsonrpc":"2.0","method":"notifications/cancelled",'
    . "\"params\":$_}"), undef, 202, ''] }
    '{"requestId":1}', '{"requestId":"x","reason":"y"}', '{}',
    '{"requestId":null}', '{"requestId":[1]}', '{"requestId":1.5}']



=== TEST 23: response to a question that was never sent: 202
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), undef, 202, ''] }
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":"x.1","result":{}}',
    '{"jsonrpc":"2.0","id":"AAAAAAAAAAAAAAAAAAAAAA.1","result":{}}',
    '{"jsonrpc":"2.0","id":"AAAAAAAAAAAAAAAAAAAAAA.99999999999999999999",'
        . '"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}']



=== TEST 24: notification without a session: 400
--- config eval: $::Mcp
--- request eval
::post_text('{"jsonrpc":"2.0","method":"notifications/initialized"}')
--- more_headers eval: MCP::first()
--- error_code: 400
--- response_body eval
MCP::fault(-32000, 'Bad Request: Mcp-Session-Id header is required')



=== TEST 25: batch in a session of 2025-03-26: a response for each request
--- config eval: $::Mcp
--- cases eval
[
    [::post_text('[' . ::ping(1) . ']'), $::Old, 200,
        '[' . MCP::answer('{}') . ']'],
    [::post_text(" [\n" . ::ping(1) . " ,\t" . ::ping('"b"') . "]\n"), $::Old,
        200, '[' . MCP::answer('{}') . ',' . MCP::answer('{}', '"b"') . ']'],
    [::post_text('[' . ::ping(1) . ',' . MCP::message('x', undef, 2) . ']'),
        $::Old, 200, '[' . MCP::answer('{}') . ','
        . MCP::fault(-32601, 'Method not found: x', 2) . ']'],
    [::post_text('[' . ::ping(1)
        . ',{"jsonrpc":"2.0","method":"notifications/initialized"},'
        . '{"jsonrpc":"2.0","id":"q","result":{}},' . ::ping(3) . ']'),
        $::Old, 200, '[' . MCP::answer('{}') . ',' . MCP::answer('{}', 3)
        . ']'],
    [::post_text('[{"jsonrpc":"2.0","method":"notifications/initialized"}]'),
        $::Old, 202, ''],
    [::post_text('[{"jsonrpc":"2.0","id":"q","result":{}},'
        . '{"jsonrpc":"2.0","id":"r","result":{}}]'), $::Old, 202, ''],
]



=== TEST 26: batch with invalid messages: each gets an error
--- config eval: $::Mcp
--- cases eval
[
    [::post_text('[]'), $::Old, 400, $::Invalid],
    [::post_text('[1]'), $::Old, 200, "[$::Invalid]"],
    [::post_text('[' . ::ping(1) . ',{"id":2},"x",[],' . ::ping(3) . ']'),
        $::Old, 200, '[' . MCP::answer('{}') . ',' . ::invalid(2)
        . ",$::Invalid,$::NoBatch," . MCP::answer('{}', 3) . ']'],
    [::post_text('[' . ::ping('null') . ']'), $::Old, 200, "[$::BadId]"],
    [::post_text('[' . ::ping(1)), $::Old, 400, $::Parse],
    [::post_text('[' . ::ping(1) . ',]'), $::Old, 400, $::Parse],
    [::post_text('['), $::Old, 400, $::Parse],
    [::post_text('[}'), $::Old, 400, $::Parse],
]



=== TEST 27: initialize in a batch: -32600
--- config eval: $::Mcp
--- cases eval
[
    [::post_text('[' . MCP::message('initialize',
        '{"protocolVersion":"2025-03-26"}') . ']'), $::Old, 200,
        '[' . MCP::fault(-32600, 'Invalid Request: \"initialize\" in a batch', 1)
        . ']'],
    [::post_text('[' . MCP::message('initialize',
        '{"protocolVersion":"2025-03-26"}') . ']'), MCP::first(), 400,
        qr/Mcp-Session-Id header is required/],
]



=== TEST 28: batch in 2025-06-18 or 2025-11-25: 400, -32600
--- config eval: $::Mcp
--- cases eval
[map { [::post_text($_), MCP::post(revision => '2025-06-18'), 400,
        $::NoBatch],
    [::post_text($_), undef, 400, $::NoBatch] }
    '[' . ::ping(1) . ']', '[]',
    '[{"jsonrpc":"2.0","method":"notifications/initialized"}]']



=== TEST 29: batch of more than mcp_max_batch messages: 400, -32600
--- config
    location = /mcp { mcp mcp; mcp_max_batch 3; }
--- cases eval
[
    [::post_text('[' . CORE::join(',', map { ::ping($_) } 1 .. 3) . ']'), $::Old,
        200, '[' . CORE::join(',', map { MCP::answer('{}', $_) } 1 .. 3) . ']'],
    [::post_text('[' . CORE::join(',', map { ::ping($_) } 1 .. 4) . ']'), $::Old,
        400, MCP::fault(-32600,
            'Invalid Request: too many messages in the batch')],
    [::post_text('[' . '{"jsonrpc":"2.0","method":"x"},' x 4 . '1]'), $::Old,
        400, qr/too many messages/],
]



=== TEST 30: mcp_max_batch not set: a batch of 50 messages is accepted, one of 51 gets 400
--- config eval: $::Mcp
--- cases eval
[
    [::post_text('[' . CORE::join(',', map { ::ping($_) } 1 .. 50) . ']'), $::Old,
        200, '[' . CORE::join(',', map { MCP::answer('{}', $_) } 1 .. 50) . ']'],
    [::post_text('[' . CORE::join(',', map { ::ping($_) } 1 .. 51) . ']'), $::Old,
        400, qr/too many messages/],
]



=== TEST 31: params of the wrong type: -32602
--- config
    location = /mcp { mcp mcp; mcp_backend @none; }
    location @none { return 500; }
--- cases eval
[
    (map { [MCP::rpc('tools/call', $_), undef, 200,
        MCP::fault(-32602, 'Invalid params: \"name\" must be a string', 1)] }
        undef, '{}', '{"name":null}', '{"name":1}', '{"name":""}',
        '{"name":{}}', '{"arguments":{}}', '{"name":"a\r\nb"}',
        '{"name":"\u0000"}', '{"name":"\u007f"}', '{"name":"a\u001f"}'),
    (map { [MCP::rpc('prompts/get', $_), undef, 200,
        MCP::fault(-32602, 'Invalid params: \"arguments\" must be an object',
            1)] }
        '{"name":"x","arguments":[]}', '{"name":"x","arguments":"y"}'),
    (map { [MCP::rpc('resources/read', $_), undef, 200,
        MCP::fault(-32602, 'Invalid params: \"uri\" must be a string', 1)] }
        '{}', '{"uri":7}', '{"uri":""}', '{"name":"x"}',
        '{"uri":"a:\nX-Header: y"}'),
    (map { [MCP::rpc('completion/complete', $_), undef, 200,
        qr/"code":-32602,"message":"Invalid params: \\"ref\\" must name/] }
        '{}', '{"ref":{}}', '{"ref":{"type":"ref/tool","name":"x"}}',
        '{"ref":{"type":"ref/prompt","uri":"x"}}',
        '{"ref":{"type":"ref/resource","name":"x"}}', '{"ref":[]}'),
    (map { [MCP::rpc('logging/setLevel', $_), undef, 200,
        MCP::fault(-32602, 'Invalid log level', 1)] }
        '{}', '{"level":"loud"}', '{"level":3}', '{"level":"Debug"}',
        '{"level":""}'),
]



=== TEST 32: logging/setLevel with each level: accepted
--- config eval: $::Mcp
--- cases eval
[map { [MCP::rpc('logging/setLevel', "{\"level\":\"$_\"}"), undef, 200,
    MCP::answer('{}')] }
    qw( debug info notice warning error critical alert emergency )]



=== TEST 33: requestState or inputResponses in a revision with sessions: -32602
--- config
    location = /mcp { mcp mcp; mcp_backend @none; }
    location @none { return 500; }
--- cases eval
[map { [MCP::rpc('tools/call', "{\"name\":\"x\",$_}"), undef, 200,
    MCP::fault(-32602, 'Invalid params: \"requestState\" and '
        . '\"inputResponses\" are not allowed in this revision', 1)] }
    '"requestState":"x"', '"inputResponses":{}']
