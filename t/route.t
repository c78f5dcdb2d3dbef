# SPDX-License-Identifier: Apache-2.0

# Routes: the backend of a call, and the variables that the backend receives.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 234;

no_long_string();

# named locations that answer with their names

our $Named = join '', map { <<"END" } qw( default a b c );
    location \@$_ {
        proxy_pass http://127.0.0.1:\$TEST_NGINX_SERVER_PORT/said/$_?\$mcp_call;
    }
END

$Named .= <<'END';
    location ~ ^/said/(.*) { return 200 $1; }
END

sub routed { return MCP::answer(MCP::text(shift)) }

# a location that answers with a header line of its request

sub variable {
    my ($variable, $more) = @_;

    return <<"END";
    location = /mcp {
        mcp mcp;
        mcp_backend \@variable;
        mcp_principal \$http_x_user;
        mcp_publish_url http://127.0.0.1/publish;
    }
    location \@variable {
        proxy_set_header X-Variable "\$$variable";
        proxy_pass http://127.0.0.1:\$TEST_NGINX_SERVER_PORT/variable?\$mcp_call;
    }
    location = /variable { return 200 "<\$http_x_variable>"; }
END
}

run_tests();

__DATA__

=== TEST 1: mcp_backend without routes: gets every call
--- config eval
'location = /mcp { mcp mcp; mcp_backend @default; }' . $::Named
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('default')],
    [MCP::rpc('prompts/get', '{"name":"x"}'), undef, 200,
        qr/"text":"default"/],
    [MCP::rpc('resources/read', '{"uri":"x:y"}'), undef, 200,
        qr/"uri":"x:y","mimeType":"text\/plain","text":"default"/],
]



=== TEST 2: mcp_route with a name: calls of exactly this name use the route, others mcp_backend
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_backend @default;
    mcp_route x @a;
    mcp_route y.z @b;
    mcp_route acme:cities @c;
}' . $::Named
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('a')],
    [MCP::call('y.z'), undef, 200, ::routed('b')],
    (map { [MCP::call($_), undef, 200, ::routed('default')] }
        'X', 'x ', 'xx', 'yaz', 'y.z.'),
    [MCP::call('\u0078'), undef, 200, ::routed('a')],
    [MCP::rpc('prompts/get', '{"name":"x"}'), undef, 200, qr/"text":"a"/],
    [MCP::rpc('resources/read', '{"uri":"acme:cities"}'), undef, 200,
        qr/"text":"c"/],
]



=== TEST 3: mcp_route with regular expressions: the first match wins
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_backend @default;
    mcp_route ~^db\. @a;
    mcp_route ~*^DB @b;
    mcp_route "~(?:^x|y$)" @c;
    mcp_route ~. @b;
}' . $::Named
--- cases eval
[
    [MCP::call('db.get'), undef, 200, ::routed('a')],
    [MCP::call('dbget'), undef, 200, ::routed('b')],
    [MCP::call('Db.get'), undef, 200, ::routed('b')],
    [MCP::call('xa'), undef, 200, ::routed('c')],
    [MCP::call('ay'), undef, 200, ::routed('c')],
    [MCP::call('ayz'), undef, 200, ::routed('b')],
    [MCP::call('ä'), undef, 200, ::routed('b')],
]



=== TEST 4: mcp_route with a name after matching expressions: the name wins
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_backend @default;
    mcp_route ~^x @a;
    mcp_route ~xy @b;
    mcp_route xy @c;
}' . $::Named
--- cases eval
[
    [MCP::call('xy'), undef, 200, ::routed('c')],
    [MCP::call('xyz'), undef, 200, ::routed('a')],
    [MCP::call('axy'), undef, 200, ::routed('b')],
]



=== TEST 5: several routes to one location: the calls of each route reach the location
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_backend @a;
    mcp_route x @a;
    mcp_route ~^y @a;
    mcp_route z @b;
}' . $::Named
--- cases eval
[
    (map { [MCP::call($_), undef, 200, ::routed('a')] } 'x', 'yy', 'w'),
    [MCP::call('z'), undef, 200, ::routed('b')],
]



=== TEST 6: mcp_route without mcp_backend: a routed tool is called, an unknown one gets -32602
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_catalog ../html/catalog.json;
    mcp_route x @a;
}' . $::Named
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":{"type":"object"}},
           {"name":"y","inputSchema":{"type":"object"}}]}
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('a')],
    [MCP::call('z'), undef, 200, MCP::fault(-32602, 'Unknown tool: z', 1)],
]



=== TEST 7: routes of the http level: inherited unless the location has its own
--- http_config
    mcp_route x @a;
    mcp_route y @a;
    mcp_backend @default;
--- config eval
'location = /mcp { mcp mcp; }
location = /own { mcp mcp; mcp_route x @b; }
location = /own/default { mcp mcp; mcp_backend @c; }' . $::Named
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('a')],
    [MCP::call('z'), undef, 200, ::routed('default')],
    [MCP::call('x') =~ s{/mcp}{/own}r, undef, 200, ::routed('b')],
    [MCP::call('y') =~ s{/mcp}{/own}r, undef, 200, ::routed('default')],
    [MCP::call('y') =~ s{/mcp}{/own/default}r, undef, 200, ::routed('a')],
    [MCP::call('z') =~ s{/mcp}{/own/default}r, undef, 200, ::routed('c')],
]



=== TEST 8: completion/complete: goes to the backend of the prompt or resource
--- config eval
'location = /mcp { mcp mcp; mcp_backend @default; mcp_route p @json; }
location @json {
    proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/json?$mcp_call;
}
location = /json { default_type application/json; return 200 \'{"c":1}\'; }'
. $::Named
--- cases eval
[
    [MCP::rpc('completion/complete',
        '{"ref":{"type":"ref/prompt","name":"p"},"argument":{}}'), undef, 200,
        MCP::answer('{"c":1}')],
    [MCP::rpc('completion/complete',
        '{"ref":{"type":"ref/resource","uri":"p"},"argument":{}}'), undef,
        200, MCP::answer('{"c":1}')],
]



=== TEST 9: tools/list without a catalog: goes to mcp_backend
--- config eval
'location = /mcp { mcp mcp; mcp_backend @json; mcp_route ~. @a; }
location @json {
    proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/json?$mcp_call;
}
location = /json { default_type application/json; return 200 \'{"c":1}\'; }'
. $::Named
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{"c":1}')



=== TEST 10: batch: each call goes to its own backend
--- config eval
'location = /mcp { mcp mcp; mcp_backend @default; mcp_route x @a; mcp_route y @b; }'
. $::Named
--- request eval
"POST /mcp\n[" . CORE::join(',', map { MCP::message('tools/call',
    "{\"name\":\"$_\"}", "\"$_\"") } 'x', 'y', 'z', 'x2') . ']'
--- more_headers eval: MCP::post(revision => '2025-03-26')
--- response_body eval
'[' . CORE::join(',', map { MCP::answer(MCP::text($_->[0]), "\"$_->[1]\"") }
    ['a', 'x'], ['b', 'y'], ['default', 'z'], ['default', 'x2']) . ']'



=== TEST 11: $mcp_method: the JSON-RPC method
--- config eval: ::variable('mcp_method')
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('<tools/call>')],
    [MCP::rpc('prompts/get', '{"name":"x"}'), undef, 200,
        qr{"<prompts/get>"}],
    [MCP::rpc('resources/read', '{"uri":"x"}'), undef, 200,
        qr{"<resources/read>"}],
]



=== TEST 12: $mcp_name: the decoded name or URI
--- config eval: ::variable('mcp_name')
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('<x>')],
    [MCP::call('a\u002fb \u00e4 \\\\'), undef, 200,
        ::routed("<a/b \xc3\xa4 \\\\>")],
    [MCP::rpc('resources/read', '{"uri":"acme:a?b=c&d"}'), undef, 200,
        qr/"<acme:a\?b=c&d>"/],
]



=== TEST 13: $mcp_request_id: the id, byte for byte
--- config eval: ::variable('mcp_request_id')
--- cases eval
[
    [MCP::call('x', '', 7), undef, 200, MCP::answer(MCP::text('<7>'), 7)],
    [MCP::call('x', '', '-12345678901234567890'), undef, 200,
        MCP::answer(MCP::text('<-12345678901234567890>'),
            '-12345678901234567890')],
    [MCP::call('x', '', '"a\u0041\""'), undef, 200,
        MCP::answer(MCP::text('<\"a\\\\u0041\\\\\"\">'), '"a\u0041\""')],
]



=== TEST 14: $mcp_session_id: the id of the session
--- config eval: ::variable('mcp_session_id')
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('<' . MCP::session_name() . '>')],
    [MCP::call('x'), MCP::post(revision => '2025-06-18'), 200,
        ::routed('<' . MCP::session_name() . '>')],
    [MCP::call('x'), MCP::post(id => 2), 200,
        ::routed('<' . MCP::session_name(id => 2) . '>')],
]



=== TEST 15: $mcp_principal: the principal, or empty
--- config eval: ::variable('mcp_principal')
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('<>')],
    [MCP::call('x'), MCP::post(principal => 'ada@x', more => 'X-User: ada@x'),
        200, ::routed('<ada@x>')],
]



=== TEST 16: $mcp_protocol_version with another revision in the header: the session's revision
--- config eval: ::variable('mcp_protocol_version')
--- cases eval
[
    (map { [MCP::call('x'), MCP::post(revision => $_), 200,
        ::routed("<$_>")] } '2025-03-26', '2025-06-18', '2025-11-25'),
    [MCP::call('x'), MCP::post(revision => '2025-06-18',
        version => '2025-11-25'), 200, ::routed('<2025-06-18>')],
]



=== TEST 17: $mcp_client_capabilities: the session's capabilities
--- config eval: ::variable('mcp_client_capabilities')
--- cases eval
[map { [MCP::call('x'), MCP::post(capabilities => $_->[0]), 200,
    ::routed('<' . ($_->[1] =~ s/"/\\"/gr) . '>')] }
    [[], '{}'],
    [['sampling'], '{"sampling":{}}'],
    [['sampling', 'sampling.tools'], '{"sampling":{"tools":{}}}'],
    [['elicitation'], '{"elicitation":{}}'],
    [['elicitation.url'], '{"elicitation":{"url":{}}}'],
    [['elicitation', 'elicitation.url'],
        '{"elicitation":{"form":{},"url":{}}}'],
    [['roots'], '{"roots":{}}'],
    [['sampling', 'elicitation', 'roots'],
        '{"sampling":{},"elicitation":{},"roots":{}}']]



=== TEST 18: $mcp_client_capabilities after initialize: the declared sampling, elicitation, roots
--- config eval: ::variable('mcp_client_capabilities')
--- init
my ($token) = MCP::ask(MCP::initialize('2025-11-25',
    '{"roots":{"listChanged":true},"sampling":{"context":{}},'
    . '"elicitation":{"form":{}},"experimental":{"a":{}}}'), MCP::first())
    =~ /^Mcp-Session-Id: (\S+)\r$/m;
MCP::then_request(MCP::call('x'), MCP::post(session => $token));
--- request eval: MCP::call('x')
--- response_body eval
::routed('<{\"sampling\":{\"context\":{}},\"elicitation\":{},\"roots\":{}}>')



=== TEST 19: $mcp_progress_token: the token, byte for byte, or empty
--- config eval: ::variable('mcp_progress_token')
--- cases eval
[
    [MCP::call('x'), undef, 200, ::routed('<>')],
    [MCP::progress_call('x'), undef, 200, ::routed('<\"p\">')],
    [MCP::call('x', ',"_meta":{"progressToken":17}'), undef, 200,
        ::routed('<17>')],
    [MCP::call('x', ',"_meta":{}'), undef, 200, ::routed('<>')],
]



=== TEST 20: $mcp_call: an id of eight characters
--- config eval: ::variable('mcp_call')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body_like: "<[A-Za-z0-9_-]{8}>"



=== TEST 21: $mcp_publish_url: mcp_publish_url with a token
--- config eval: ::variable('mcp_publish_url')
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body_like chomp
"<http://127\.0\.0\.1/publish/[A-Za-z0-9_-]{40,}>"



=== TEST 22: $mcp_publish_url without mcp_publish_url: empty
--- config eval
::variable('mcp_publish_url') =~ s/mcp_publish_url .*//r
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: ::routed('<>')



=== TEST 23: HTTP backend: gets the message and the client's headers without credentials
--- config
    location = /mcp { mcp mcp; mcp_backend @own; }
    location @own {
        proxy_http_version 1.1;
        proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock;
    }
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x', ',"arguments": {"a" : [1, 2.50] }'),
    MCP::post(more => "X-Other: kept\nCookie: c=d\n"
        . "Authorization: Bearer x\nProxy-Authorization: y\n"
        . "Accept-Encoding: gzip\nIf-None-Match: \"x\"\nRange: bytes=0-1\n"
        . 'Expect: 100-continue'));
my $call = $backend->call;
my $got = $call->in;

$got =~ m{\APOST /mcp HTTP/1\.1\r\n} or die $got;
$got =~ m{\r\n\r\n\Q@{[MCP::message('tools/call',
    '{"name":"x","arguments": {"a" : [1, 2.50] }}')]}\E\z} or die $got;
$got =~ m{^Content-Type: application/json\r$}mi or die $got;
$got =~ m{^X-Other: kept\r$}mi or die $got;
$got !~ m{^(?:Cookie|(?:Proxy-)?Authorization|Accept-Encoding|If-None-Match|Range|Expect|Last-Event-ID):}mi
    or die $got;
$call->reply('text/plain', 'ok');
$client->rest =~ /"text":"ok"/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 24: include of mcp_proxy_params: the backend gets an Mcp- header for each variable with a value
--- config eval
"location = /mcp {
    mcp mcp;
    mcp_backend \@own;
    mcp_publish_url http://127.0.0.1/publish/;
}
location \@own {
    include $ENV{PWD}/examples/mcp_proxy_params;
    proxy_pass http://unix:\$TEST_NGINX_HTML_DIR/backend.sock;
}"
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x', '"i"'),
    MCP::post(capabilities => ['roots']));
my $call = $backend->call;

for my $line ('Mcp-Method: tools/call', 'Mcp-Name: x', 'Mcp-Request-Id: "i"',
    'Mcp-Session: ' . MCP::session_name(), 'Mcp-Protocol-Version: 2025-11-25',
    'Mcp-Client-Capabilities: {"roots":{}}', 'Mcp-Progress-Token: "p"')
{
    $call->in =~ /^\Q$line\E\r$/m or die "$line: " . $call->in;
}

$call->in =~ m{^Mcp-Call: [\w-]{8}\r$}m or die $call->in;
$call->in =~ m{^Mcp-Publish-Url: http://127\.0\.0\.1/publish/[\w-]+\r$}m
    or die $call->in;
$call->in !~ /^Mcp-Principal:/m or die $call->in;
$call->reply('text/plain', 'ok');
$client->rest =~ /"text":"ok"/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 25: variables of the client's request: available in the backend's location
--- config
    location = /mcp { mcp mcp; mcp_backend @own; }
    location @own {
        proxy_set_header X-Variable "$request_method|$uri|$args|$host|$remote_addr|$http_x_a|$content_type|$scheme|$server_name|$server_port";
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/variable?$mcp_call;
    }
    location = /variable { return 200 $http_x_variable; }
--- request eval
"POST /mcp?q=1\n" . MCP::message('tools/call', '{"name":"x"}')
--- more_headers eval: MCP::post(more => "X-A: b\nHost: localhost")
--- response_body eval
::routed("POST|/mcp|q=1|localhost|127.0.0.1|b|application/json|http|localhost|"
    . Test::Nginx::Util::server_port())



=== TEST 26: call that matches no mcp_route of an endpoint without mcp_backend: -32603
--- config eval
'location = /mcp {
    mcp mcp;
    mcp_catalog ../html/catalog.json;
    mcp_route x @a;
}' . $::Named
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":{"type":"object"}},
           {"name":"y","inputSchema":{"type":"object"}}]}
--- request eval: MCP::call('y')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::fault(-32603, 'No backend configured', 1)
--- error_log: no backend for tools/call of "y": no mcp_route matches
