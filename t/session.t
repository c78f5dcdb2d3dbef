# SPDX-License-Identifier: Apache-2.0

# Sessions: initialize, the Mcp-Session-Id and MCP-Protocol-Version headers,
# expiry, deletion, principals, keys.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 638;

no_long_string();

our $Mcp = 'location = /mcp { mcp mcp; mcp_server acme 1.4.0; }';
our $Ping = MCP::rpc('ping');
our $Pong = MCP::answer('{}');
our $Absent = MCP::fault(-32000,
    'Bad Request: Mcp-Session-Id header is required');
our $Unknown = MCP::fault(-32001, 'Session not found');
our $UnknownId = MCP::fault(-32001, 'Session not found', 1);
our $Version = MCP::fault(-32000, 'Bad Request: Unsupported protocol version',
    1);

# a token with one character changed

sub forged {
    my ($token, $at) = @_;

    substr($token, $at, 1) = substr($token, $at, 1) eq 'A' ? 'B' : 'A';

    return $token;
}

run_tests();

__DATA__

=== TEST 1: initialize: the response has a revision, capabilities, serverInfo and a session id
--- config eval: $::Mcp
--- request eval: MCP::initialize()
--- more_headers eval: MCP::first()
--- response_body eval
MCP::answer('{"protocolVersion":"2025-11-25","capabilities":{"logging":{},'
    . '"experimental":{"resumableRequests":{},"streams":{},"resumeTokens":{}}},'
    . '"serverInfo":{"name":"acme","version":"1.4.0"}}', 0)
--- response_headers_like
Mcp-Session-Id: [A-Za-z0-9_-]{76}
Content-Type: application/json



=== TEST 2: initialize with a known revision: the result has the same revision
--- config eval: $::Mcp
--- cases eval
[map { [MCP::initialize($_), MCP::first(), 200,
    qr/"protocolVersion":"\Q$_\E"/] }
    '2025-03-26', '2025-06-18', '2025-11-25']



=== TEST 3: initialize with an unknown revision or one without sessions: the result has 2025-11-25
--- config eval: $::Mcp
--- cases eval
[map { [MCP::initialize($_), MCP::first(), 200,
    qr/"protocolVersion":"2025-11-25"/] }
    '2024-11-05', '2026-07-28', '2025-11-26', '1.0', 'x', '2025-03-26 ',
    'DRAFT-2025-v2']



=== TEST 4: initialize without a valid protocolVersion: -32602, no session
--- config eval: $::Mcp
--- cases eval
[map { [MCP::rpc('initialize', $_), MCP::first(), 200,
    MCP::fault(-32602, 'Invalid params: \"protocolVersion\" must be a string',
        1)] }
    undef, '{}', '{"protocolVersion":null}', '{"protocolVersion":20251125}',
    '{"protocolVersion":["2025-11-25"]}', '{"protocolVersion":""}']
--- response_headers eval
[map { '! Mcp-Session-Id' } 1 .. 6]



=== TEST 5: initialize with missing, malformed or unknown capabilities: accepted
--- config eval: $::Mcp
--- cases eval
[map { [MCP::rpc('initialize', "{\"protocolVersion\":\"2025-06-18\"$_}"),
    MCP::first(), 200, qr/"protocolVersion":"2025-06-18"/] }
    '', ',"capabilities":null', ',"capabilities":[]',
    ',"capabilities":{"roots":true,"sampling":1,"elicitation":"x"}',
    ',"capabilities":{"experimental":{"x":{}}},"clientInfo":7',
    ',"capabilities":{"elicitation":{"url":{}},"tasks":{}}']



=== TEST 6: title in mcp_server: sent to revisions that have titles
--- config
    location = /mcp { mcp mcp; mcp_server acme 1.4.0 "Acme \"Tools\" \\ ä"; }
--- cases eval
[
    [MCP::initialize('2025-11-25'), MCP::first(), 200,
        qr/"serverInfo":\{"name":"acme","title":"Acme \\"Tools\\" \\\\ \xc3\xa4","version":"1.4.0"\}/],
    [MCP::initialize('2025-06-18'), MCP::first(), 200, qr/"title":/],
    [MCP::initialize('2025-03-26'), MCP::first(), 200,
        qr/"serverInfo":\{"name":"acme","version":"1.4.0"\}/],
]



=== TEST 7: mcp_server not set: serverInfo has nginx and its version
--- config
    location = /mcp { mcp mcp; }
--- request eval: MCP::initialize()
--- more_headers eval: MCP::first()
--- response_body_like chomp
"serverInfo":\{"name":"nginx","version":"\d+\.\d+\.\d+"\}



=== TEST 8: initialize within a session: begins another session
--- config eval: $::Mcp
--- cases eval
[
    [MCP::initialize(), MCP::post(), 200, qr/"protocolVersion"/],
    [MCP::initialize(), MCP::post(session => 'garbage'), 200,
        qr/"protocolVersion"/],
    [MCP::initialize(), MCP::first(version => '2025-06-18'), 200,
        qr/"protocolVersion":"2025-11-25"/],
]
--- response_headers_like eval
[map { 'Mcp-Session-Id: [A-Za-z0-9_-]{76}' } 1 .. 3]



=== TEST 9: session id from initialize: accepted
--- config eval: $::Mcp
--- init
my ($token) = MCP::ask(MCP::initialize('2025-06-18'), MCP::first())
    =~ /^Mcp-Session-Id: (\S+)\r$/m;
MCP::then_request(MCP::rpc('ping'), MCP::post(session => $token));
--- request eval: $::Ping
--- response_body eval: $::Pong



=== TEST 10: DELETE of one of two sessions: the other one is still valid
--- config eval: $::Mcp
--- init
my ($one, $two) = map {
    MCP::ask(MCP::initialize(), MCP::first()) =~ /^Mcp-Session-Id: (\S+)\r$/m
} 1 .. 2;
die if $one eq $two;
MCP::then_request('DELETE /mcp', MCP::end(session => $one));
MCP::ask('DELETE /mcp', MCP::end(session => $one)) =~ / 204 / or die;
MCP::then_request(MCP::rpc('ping'), MCP::post(session => $two));
--- request eval: $::Ping
--- response_body eval: $::Pong



=== TEST 11: request without a session: 400
--- config eval: $::Mcp
--- cases eval
[
    [$::Ping, MCP::first(), 400, MCP::fault(-32000,
        'Bad Request: Mcp-Session-Id header is required', 1)],
    [$::Ping, MCP::post(session => ''), 400, MCP::fault(-32000,
        'Bad Request: Mcp-Session-Id header is required', 1)],
    [MCP::rpc('nothing'), MCP::first(), 400, qr/header is required/],
    ['GET /mcp', MCP::get(session => undef), 400, $::Absent],
    ['DELETE /mcp', MCP::end(session => undef), 400, $::Absent],
]



=== TEST 12: malformed session ids: 404
--- config eval: $::Mcp
--- cases eval
[map {
    [$::Ping, MCP::post(session => $_), 404, $::UnknownId],
    ['GET /mcp', MCP::get(session => $_), 404, $::Unknown],
    ['DELETE /mcp', MCP::end(session => $_), 404, $::Unknown],
}
    'x', '0', 'A' x 76, 'A' x 2000, '!' x 76, MCP::session() . 'A',
    substr(MCP::session(), 0, 75), MCP::session() . '=',
    MCP::session() . ',' . MCP::session(), '"' . MCP::session() . '"']



=== TEST 13: session id with one character changed: 404
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(session => ::forged(MCP::session(), $_)), 404,
    $::UnknownId] } 0 .. 75]



=== TEST 14: correctly signed session id with a wrong purpose, layout or revision: 404
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(session => $_), 404, $::UnknownId] }
    MCP::sign('p', pack('C C n N a16 a16', 1, 3, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a16', 2, 3, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a16', 0, 3, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a16', 1, 0, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a16', 1, 99, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a15', 1, 3, 0, time + 60, 'i', '')),
    MCP::sign('s', pack('C C n N a16 a17', 1, 3, 0, time + 60, 'i', '')),
    MCP::sign('s', '')]



=== TEST 15: expired session: 404
--- config eval: $::Mcp
--- cases eval
[
    [$::Ping, MCP::post(expires => time - 1), 404, $::UnknownId],
    [$::Ping, MCP::post(expires => 0), 404, $::UnknownId],
    ['GET /mcp', MCP::get(expires => time - 1), 404, $::Unknown],
    ['DELETE /mcp', MCP::end(expires => time - 1), 404, $::Unknown],
    [$::Ping, MCP::post(expires => 0xffffffff), 200, $::Pong],
]



=== TEST 16: mcp_session_lifetime: the session id expires after this time, by default after 24 hours
--- config
    location = /mcp { mcp mcp; mcp_session_lifetime 1h; }
    location = /default { mcp mcp; }
--- init
my $check = sub {
    my ($path, $lifetime) = @_;

    my $before = time;
    my ($token) = MCP::ask(MCP::initialize() =~ s{/mcp}{$path}r, MCP::first())
        =~ /^Mcp-Session-Id: (\S+)\r$/m;
    my $expires = unpack 'x4 N', MIME::Base64::decode_base64url($token);

    die "$expires\n" if $expires < $before + $lifetime
        || $expires > time + $lifetime + 1;
};
$check->('/mcp', 3600);
$check->('/default', 24 * 3600);
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 17: MCP-Protocol-Version: known revisions are accepted, others get 400
--- config eval: $::Mcp
--- cases eval
[
    (map { [$::Ping, MCP::post(version => $_), 200, $::Pong] }
        '2025-03-26', '2025-06-18', '2025-11-25', undef),
    (map { [$::Ping, MCP::post(version => $_), 400, $::Version] }
        '2024-11-05', '2027-01-01', 'x', '2025-11-25, 2025-06-18', ''),
    ['GET /mcp', MCP::get(version => 'x'), 400, qr/protocol version/],
    ['DELETE /mcp', MCP::end(version => 'x'), 400, qr/protocol version/],
]



=== TEST 18: unknown session with an unknown revision: 404
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post(session => 'x', version => 'y')
--- error_code: 404
--- response_body eval: $::UnknownId



=== TEST 19: deleted session: 404
--- config eval: $::Mcp
--- cases eval
[
    [$::Ping, MCP::post(id => 'gone'), 200, $::Pong],
    ['DELETE /mcp', MCP::end(id => 'gone'), 204, ''],
    [$::Ping, MCP::post(id => 'gone'), 404, $::UnknownId],
    ['GET /mcp', MCP::get(id => 'gone'), 404, $::Unknown],
    ['DELETE /mcp', MCP::end(id => 'gone'), 404, $::Unknown],
    [MCP::rpc('nothing'), MCP::post(id => 'gone'), 404, $::UnknownId],
    ["POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
        MCP::post(id => 'gone'), 404, $::Unknown],
    [$::Ping, MCP::post(id => 'other'), 200, $::Pong],
]



=== TEST 20: DELETE: 204 without a body
--- config eval: $::Mcp
--- request
DELETE /mcp
--- more_headers eval: MCP::end(id => 'to be deleted')
--- error_code: 204
--- response_headers
! Transfer-Encoding



=== TEST 21: POST with an unknown session: 404 even for an unknown method, 400 for broken JSON
--- config eval: $::Mcp
--- cases eval
[
    [MCP::rpc('nothing'), MCP::post(session => 'x'), 404, $::UnknownId],
    ["POST /mcp\n{", MCP::post(session => 'x'), 400, qr/Parse error/],
    ["POST /mcp\n[]", MCP::post(session => 'x'), 404, $::Unknown],
]



=== TEST 22: session of another principal: 404
--- config
    location = /mcp { mcp mcp; mcp_principal $http_x_user; }
--- cases eval
[
    [$::Ping, MCP::post(principal => 'ada', more => 'X-User: ada'), 200,
        $::Pong],
    [$::Ping, MCP::post(principal => 'ada', more => 'X-User: bob'), 404,
        $::UnknownId],
    [$::Ping, MCP::post(principal => 'ada', more => 'X-User: Ada'), 404,
        $::UnknownId],
    [$::Ping, MCP::post(principal => 'ada'), 404, $::UnknownId],
    [$::Ping, MCP::post(more => 'X-User: ada'), 404, $::UnknownId],
    [$::Ping, MCP::post(), 200, $::Pong],
    ['GET /mcp', MCP::get(principal => 'ada', more => 'X-User: bob'), 404,
        $::Unknown],
    ['DELETE /mcp', MCP::end(principal => 'ada', more => 'X-User: bob'), 404,
        $::Unknown],
    [$::Ping, MCP::post(principal => 'ada', more => 'X-User: ada'), 200,
        $::Pong],
]



=== TEST 23: session that initialize began for a principal: other principals get 404
--- config
    location = /mcp { mcp mcp; mcp_principal "$http_x_user@$server_name"; }
--- init
my ($token) = MCP::ask(MCP::initialize(), MCP::first(more => 'X-User: ada'))
    =~ /^Mcp-Session-Id: (\S+)\r$/m;
my $principal = substr MIME::Base64::decode_base64url($token), 24, 16;
die if $principal ne MCP::digest('ada@localhost');
MCP::then_request(MCP::rpc('ping'), MCP::post(session => $token,
    more => 'X-User: bob'));
--- request eval: $::Ping
--- error_code: 404
--- response_body eval: $::UnknownId



=== TEST 24: auth_basic user as the principal: other users get 404
--- config
    location = /mcp {
        auth_basic mcp;
        auth_basic_user_file ../html/users;
        mcp mcp;
        mcp_principal $remote_user;
    }
--- user_files
>>> users
ada:{PLAIN}secret
bob:{PLAIN}secret
--- cases eval
use MIME::Base64 qw( encode_base64 );
[
    (map { [$::Ping, MCP::post(principal => 'ada', more =>
        'Authorization: Basic ' . encode_base64("$_->[0]:secret", '')),
        @$_[1, 2]] }
        ['ada', 200, $::Pong], ['bob', 404, $::UnknownId]),
    [$::Ping, MCP::post(principal => 'ada'), 401, qr/401/],
]



=== TEST 25: session id signed with another key: 404
--- config eval: $::Mcp
--- request eval: $::Ping
--- more_headers eval: MCP::post(key => $MCP::OTHER_KEY)
--- error_code: 404
--- response_body eval: $::UnknownId



=== TEST 26: mcp_key with two files: the first one signs session ids, both verify them
--- config
    location = /mcp { mcp mcp; mcp_key ../html/new.key ../html/mcp.key; }
    location = /after { mcp mcp; mcp_key ../html/new.key; }
--- user_files eval
[['new.key', " \n$MCP::OTHER_KEY\r\n\t "]]
--- init
my ($token) = MCP::ask(MCP::initialize(), MCP::first())
    =~ /^Mcp-Session-Id: (\S+)\r$/m;
MCP::ask(MCP::rpc('ping', undef, 1, '/after'), MCP::post(session => $token))
    =~ m{ 200 } or die;
--- cases eval
[
    [$::Ping, MCP::post(), 200, $::Pong],
    [$::Ping, MCP::post(key => $MCP::OTHER_KEY), 200, $::Pong],
    [MCP::rpc('ping', undef, 1, '/after'), MCP::post(key => $MCP::OTHER_KEY),
        200, $::Pong],
    [MCP::rpc('ping', undef, 1, '/after'), MCP::post(), 404, $::UnknownId],
]



=== TEST 27: mcp_key not set: session ids are signed with a random key
--- bare
--- http_config
    mcp_zone mcp 1m;
--- config eval: $::Mcp
--- init
my ($token) = MCP::ask(MCP::initialize(), MCP::first())
    =~ /^Mcp-Session-Id: (\S+)\r$/m;
MCP::ask(MCP::rpc('ping'), MCP::post()) =~ m{ 404 } or die;
MCP::then_request(MCP::rpc('ping'), MCP::post(session => $token));
--- request eval: $::Ping
--- response_body eval: $::Pong



=== TEST 28: two endpoints with one key: a session is valid at both
--- config
    location = /mcp { mcp mcp; }
    location = /two { mcp mcp; }
--- cases eval
[
    [MCP::rpc('ping', undef, 1, '/two'), MCP::post(id => 'shared'), 200,
        $::Pong],
    ['DELETE /two', MCP::end(id => 'shared'), 204, ''],
    [$::Ping, MCP::post(id => 'shared'), 404, $::UnknownId],
]



=== TEST 29: session ids that declare no, one or several capabilities: accepted
--- config eval: $::Mcp
--- cases eval
[map { [$::Ping, MCP::post(capabilities => $_), 200, $::Pong] }
    [], ['sampling'], ['elicitation', 'roots'],
    ['sampling', 'sampling.tools', 'elicitation', 'elicitation.url', 'roots']]
