# SPDX-License-Identifier: Apache-2.0

# The catalog: lists, pages, unknown names, and messages for invalid files.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 389;

no_long_string();

our $Mcp = <<'END';
    location = /mcp {
        mcp mcp;
        mcp_catalog ../html/catalog.json;
        mcp_backend @echo;
    }
    location @echo {
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/echo?$mcp_call;
        proxy_set_header X-What "$mcp_method $mcp_name";
    }
    location = /echo {
        return 200 $http_x_what;
    }
END

sub tools {
    return '{"tools":[' . join(',', map {
        "{\"name\":\"$_\",\"inputSchema\":{\"type\":\"object\"}}" } @_) . ']}';
}

# catalog.json with this text

sub file { return [['catalog.json', shift]] }

# the list that nginx returns for these tools

sub names {
    return MCP::answer('{"tools":[' . join(',', map {
        "{\"name\":\"$_\",\"inputSchema\":{\"type\":\"object\"}}" } @_) . ']}');
}

# a request without a session, and its headers

sub modern {
    my ($method, $params) = @_;

    return MCP::rpc($method, '{' . ($params ? "$params," : '')
        . '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        . '"io.modelcontextprotocol/clientCapabilities":{}}}');
}

sub modern_headers {
    my ($method, $name) = @_;

    return MCP::first(version => '2026-07-28', more => "Mcp-Method: $method"
        . (defined $name ? "\nMcp-Name: $name" : ''));
}

# cursors (shared/config/mcp_catalog.c): position, kind, digest of the file

sub cursor {
    my ($text, $kind, $position) = @_;

    return MIME::Base64::encode_base64url(pack('N C', $position, $kind)
        . substr MCP::digest($text), 0, 7);
}

# capabilities of each server, independent of its catalog

our $Always = qr/"logging":\{\},"experimental":\{"resumableRequests":\{\},/
    . qr/"streams":\{\},"resumeTokens":\{\}\}\}/;

our $Broken = <<'END';
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; }
END

our $All = <<'END';
{
    "instructions": "Use \u0022greet\" first.\nÄ",
    "completions": true,
    "tools": [
        {"name": "greet", "title": "Greet", "description": "Says\nhello",
         "inputSchema": {"type": "object", "properties": {"x-mcp-y": {}}},
         "outputSchema": {"type": "object"}, "annotations": {"a": [1, 2.50]},
         "icons": [], "_meta": {"k": null}, "execution": {}},
        {"name": "a.b-c_D9", "x-mcp-max-wait": 60,
         "inputSchema": {"type":"object"}, "x-mcp-resumable": true, "other": 1}
    ],
    "prompts": [
        {"name": "hello world", "arguments": [{"name": "who"}]},
        {"x-mcp-min-wait": 1, "name": "ü"}
    ],
    "resources": [
        {"uri": "acme:cities", "name": "Cities", "mimeType": "text/plain",
         "size": 12},
        {"uri": "acme:only", "name": "Only", "x-mcp-resumable": true}
    ],
    "resourceTemplates": [
        {"uriTemplate": "acme:city/{name}", "name": "City"},
        {"uriTemplate": "acme:path{/more*}", "name": "Path", "x-mcp-max-wait": 1}
    ]
}
END

run_tests();

__DATA__

=== TEST 1: tools/list: the tools of the catalog without their x-mcp- members
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::answer('{"tools":[{"name":"greet","title":"Greet",'
    . '"description":"Says\nhello","inputSchema":'
    . '{"type":"object","properties":{"x-mcp-y":{}}},'
    . '"outputSchema":{"type":"object"},"annotations":{"a":[1,2.50]},'
    . '"icons":[],"_meta":{"k":null},"execution":{}},'
    . '{"name":"a.b-c_D9","inputSchema":{"type":"object"},"other":1}]}')



=== TEST 2: prompts, resources, resource templates: listed as in the catalog
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- cases eval
[
    [MCP::rpc('prompts/list'), undef, 200, MCP::answer('{"prompts":['
        . '{"name":"hello world","arguments":[{"name":"who"}]},'
        . '{"name":"ü"}]}')],
    [MCP::rpc('resources/list'), undef, 200,
        qr/\{"resources":\[\{"uri":"acme:cities".*"size":12\},\{"uri":"acme:only","name":"Only"\}\]\}/],
    [MCP::rpc('resources/templates/list'), undef, 200,
        MCP::answer('{"resourceTemplates":['
        . '{"uriTemplate":"acme:city/{name}","name":"City"},'
        . '{"uriTemplate":"acme:path{/more*}","name":"Path"}]}')],
    [MCP::rpc('tools/list', '{}'), undef, 200, qr/"greet"/],
    [MCP::rpc('tools/list', '{"_meta":{}}'), undef, 200, qr/"greet"/],
]



=== TEST 3: catalog with all lists: initialize declares all capabilities and sends the instructions
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- request eval: MCP::initialize()
--- more_headers eval: MCP::first()
--- response_body_like eval
qr/"capabilities":\{"tools":\{"listChanged":true\},"prompts":\{"listChanged":true\},"resources":\{"subscribe":true,"listChanged":true\},"completions":\{\},$::Always,"serverInfo":\{.*\},"instructions":"Use \\u0022greet\\" first\.\\nÄ"\}\}\z/



=== TEST 4: catalog with only tools: methods for prompts, resources and completions get -32601
--- config eval: $::Mcp
--- user_files eval: ::file(::tools('a'))
--- cases eval
[
    [MCP::initialize(), MCP::first(), 200,
        qr/"capabilities":\{"tools":\{"listChanged":true\},$::Always,"serverInfo":\{[^}]*\}\}\}/],
    [MCP::rpc('tools/list'), undef, 200, ::names('a')],
    (map { [MCP::rpc($_, '{"name":"x","uri":"y:z"}'), undef, 200,
        MCP::fault(-32601, "Method not found: $_", 1)] }
        'prompts/list', 'prompts/get', 'resources/list',
        'resources/templates/list', 'resources/read', 'resources/subscribe',
        'resources/unsubscribe', 'completion/complete'),
]



=== TEST 5: catalog with only resources or only templates: the list of the other kind is empty
--- config
    location = /r { mcp mcp; mcp_catalog ../html/r.json; mcp_backend @none; }
    location = /t { mcp mcp; mcp_catalog ../html/t.json; mcp_backend @none; }
    location @none { return 500; }
--- user_files
>>> r.json
{"resources": [{"uri":"a:b","name":"x"}]}
>>> t.json
{"resourceTemplates": [{"uriTemplate":"a:{b}","name":"x"}]}
--- cases eval
[
    [MCP::rpc('resources/list', undef, 1, '/r'), undef, 200,
        MCP::answer('{"resources":[{"uri":"a:b","name":"x"}]}')],
    [MCP::rpc('resources/templates/list', undef, 1, '/r'), undef, 200,
        MCP::answer('{"resourceTemplates":[]}')],
    [MCP::rpc('resources/list', undef, 1, '/t'), undef, 200,
        MCP::answer('{"resources":[]}')],
    [MCP::rpc('resources/templates/list', undef, 1, '/t'), undef, 200,
        MCP::answer('{"resourceTemplates":'
            . '[{"uriTemplate":"a:{b}","name":"x"}]}')],
    [MCP::initialize() =~ s{/mcp}{/t}r, MCP::first(), 200,
        qr/"resources":\{"subscribe":true,"listChanged":true\}/],
]



=== TEST 6: catalog whose lists are empty or missing: list requests get an empty list or -32601, respectively
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/e.json; mcp_backend @no; }
    location = /none { mcp mcp; mcp_catalog ../html/n.json; mcp_backend @no; }
    location @no { return 500; }
--- user_files
>>> e.json
{"tools": [], "prompts": [], "resources": [], "resourceTemplates": []}
>>> n.json
{}
--- cases eval
[
    [MCP::rpc('tools/list'), undef, 200, MCP::answer('{"tools":[]}')],
    [MCP::rpc('prompts/list'), undef, 200, MCP::answer('{"prompts":[]}')],
    [MCP::rpc('resources/list'), undef, 200, MCP::answer('{"resources":[]}')],
    [MCP::rpc('tools/list', undef, 1, '/none'), undef, 200,
        MCP::fault(-32601, 'Method not found: tools/list', 1)],
    [MCP::initialize() =~ s{/mcp}{/none}r, MCP::first(), 200,
        qr/"capabilities":\{$::Always/],
]



=== TEST 7: neither catalog nor backend: lists and calls get -32601
--- config
    location = /mcp { mcp mcp; }
--- cases eval
[
    [MCP::rpc('tools/list'), undef, 200, qr/-32601/],
    [MCP::rpc('tools/call', '{"name":"x"}'), undef, 200, qr/-32601/],
    [MCP::rpc('completion/complete', '{}'), undef, 200, qr/-32601/],
]



=== TEST 8: no catalog: lists are requested from the backend
--- config
    location = /mcp { mcp mcp; mcp_backend @all; }
    location @all {
        proxy_set_header X-What $mcp_method;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/all?$mcp_call;
    }
    location = /all {
        default_type application/json;
        return 200 '{"m":"$http_x_what"}';
    }
--- cases eval
[
    [MCP::initialize(), MCP::first(), 200,
        qr/"capabilities":\{"tools":\{"listChanged":true\},"prompts":\{"listChanged":true\},"resources":\{"listChanged":true\},"completions":\{\},$::Always/],
    (map { [MCP::rpc($_), undef, 200, MCP::answer("{\"m\":\"$_\"}")] }
        'tools/list', 'prompts/list', 'resources/list',
        'resources/templates/list'),
    [MCP::rpc('tools/list', '{"cursor":"theirs"}'), undef, 200,
        MCP::answer('{"m":"tools/list"}')],
    [MCP::rpc('completion/complete',
        '{"ref":{"type":"ref/prompt","name":"p"},"argument":{}}'), undef, 200,
        MCP::answer('{"m":"completion/complete"}')],
]



=== TEST 9: tool, prompt or resource that the catalog lacks: -32602, or -32002 for the resource
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- cases eval
[
    (map { [MCP::rpc('tools/call', "{\"name\":\"$_\"}"), undef, 200,
        MCP::fault(-32602, "Unknown tool: $_", 1)] }
        'Greet', 'greet ', 'x', 'hello world', 'acme:cities', 'a.b-c_D'),
    [MCP::rpc('tools/call', '{"name":"a\"b"}'), undef, 200,
        MCP::fault(-32602, 'Unknown tool: a\"b', 1)],
    [MCP::rpc('prompts/get', '{"name":"greet"}'), undef, 200,
        MCP::fault(-32602, 'Unknown prompt: greet', 1)],
    (map { [MCP::rpc('resources/read', "{\"uri\":\"$_\"}"), undef, 200,
        MCP::fault(-32002, "Resource not found: $_", 1)] }
        'acme:city', 'acme:city/', 'acme:Cities', 'acme:city/a/b', 'x:y'),
    [MCP::rpc('resources/subscribe', '{"uri":"x:y"}'), undef, 200,
        MCP::fault(-32002, 'Resource not found: x:y', 1)],
]



=== TEST 10: tool or prompt in the catalog: the call reaches the backend
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- cases eval
[
    [MCP::rpc('tools/call', '{"name":"greet"}'), undef, 200,
        MCP::answer(MCP::text('tools/call greet'))],
    [MCP::rpc('tools/call', '{"name":"\u0067re\u0065t"}'), undef, 200,
        MCP::answer(MCP::text('tools/call greet'))],
    [MCP::rpc('tools/call', '{"name":"a.b-c_D9","arguments":{}}'), undef, 200,
        MCP::answer(MCP::text('tools/call a.b-c_D9'))],
    [MCP::rpc('prompts/get', '{"name":"hello world"}'), undef, 200,
        MCP::answer('{"messages":[{"role":"user","content":'
            . '{"type":"text","text":"prompts/get hello world"}}]}')],
    [MCP::rpc('prompts/get', '{"name":"\u00fc"}'), undef, 200,
        qr/"text":"prompts\/get ü"/],
]



=== TEST 11: resources/read of a URI that the catalog lists or a template matches: reaches the backend
--- config eval: $::Mcp
--- user_files eval: ::file($::All)
--- cases eval
[map { [MCP::rpc('resources/read', "{\"uri\":\"$_\"}"), undef, 200,
    MCP::answer("{\"contents\":[{\"uri\":\"$_\",\"mimeType\":\"text/plain\","
        . "\"text\":\"resources/read $_\"}]}")] }
    'acme:cities', 'acme:only', 'acme:city/Oslo', 'acme:city/S%C3%A3o',
    'acme:path', 'acme:path/a/b/c']



=== TEST 12: catalog with completions false: completion/complete gets -32601
--- config eval: $::Mcp
--- user_files eval: ::file('{"completions": false, "prompts": []}')
--- request eval
MCP::rpc('completion/complete', '{"ref":{"type":"ref/prompt","name":"x"}}')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::fault(-32601, 'Method not found: completion/complete', 1)



=== TEST 13: mcp_page_size 2: each list has pages of two items, linked by cursors
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; mcp_page_size 2; }
--- user_files eval: ::file(::tools('a' .. 'e'))
--- cases eval
my $text = ::tools('a' .. 'e');
my $next = sub {
    ::names(@{$_[0]}) =~ s/\]\}\}\z/'],"nextCursor":"' . ::cursor($text, 0, $_[1]) . '"}}'/er
};
[
    [MCP::rpc('tools/list'), undef, 200, $next->(['a', 'b'], 2)],
    [MCP::rpc('tools/list', '{"cursor":"' . ::cursor($text, 0, 2) . '"}'),
        undef, 200, $next->(['c', 'd'], 4)],
    [MCP::rpc('tools/list', '{"cursor":"' . ::cursor($text, 0, 4) . '"}'),
        undef, 200, ::names('e')],
    [MCP::rpc('tools/list', '{"cursor":"' . ::cursor($text, 0, 1) . '"}'),
        undef, 200, $next->(['b', 'c'], 3)],
    [MCP::rpc('tools/list', '{"cursor":"' . ::cursor($text, 0, 3) . '"}'),
        undef, 200, ::names('d', 'e')],
]



=== TEST 14: cursor that is altered or from another catalog: -32602
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; mcp_page_size 2; }
--- user_files eval: ::file(::tools('a' .. 'e'))
--- cases eval
my $text = ::tools('a' .. 'e');
[map { [MCP::rpc('tools/list', "{\"cursor\":$_}"), undef, 200,
    MCP::fault(-32602, 'Invalid cursor', 1)] }
    '""', 'true', '2', '{}', '"x"', '"2"', '"AAAAAAAAAAAAAAAA"',
    map { "\"$_\"" }
        ::cursor($text, 0, 0), ::cursor($text, 0, 5), ::cursor($text, 0, 6),
        ::cursor($text, 0, 0xffffffff), ::cursor($text, 1, 2),
        ::cursor("$text ", 0, 2), ::cursor($text, 0, 2) . 'A',
        ::cursor($text, 0, 2) . '=', substr(::cursor($text, 0, 2), 1)]



=== TEST 15: mcp_page_size off, 0 or as large as the list: one page
--- config
    mcp_catalog ../html/catalog.json;
    location = /5 { mcp mcp; mcp_page_size 5; }
    location = /off { mcp mcp; mcp_page_size off; }
    location = /0 { mcp mcp; mcp_page_size 0; }
    location = /1 { mcp mcp; mcp_page_size 1; }
--- user_files eval: ::file(::tools('a' .. 'e'))
--- cases eval
[
    (map { [MCP::rpc('tools/list', undef, 1, $_), undef, 200,
        ::names('a' .. 'e')] } '/5', '/off', '/0'),
    [MCP::rpc('tools/list', undef, 1, '/1'), undef, 200,
        qr/\[\{"name":"a",[^]]*\}\],"nextCursor":"[A-Za-z0-9_-]{16}"/],
]



=== TEST 16: default page size: 100 items
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; }
--- user_files eval: ::file(::tools(map { "t$_" } 1 .. 250))
--- cases eval
my $text = ::tools(map { "t$_" } 1 .. 250);
[
    [MCP::rpc('tools/list'), undef, 200,
        qr/"t1",.*"t100",(?!.*"t101").*"nextCursor"/],
    [MCP::rpc('tools/list', '{"cursor":"' . ::cursor($text, 0, 200) . '"}'),
        undef, 200, qr/\[\{"name":"t201",.*"t250",.*\}\]\}\}\z/],
]



=== TEST 17: catalog with white space around the JSON text: accepted
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/catalog.json; }
--- user_files eval: ::file(" \r\n\t{ } \n\n")
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 18: mcp_catalog: inherited from the http level, replaced in a location
--- http_config
    mcp_catalog ../html/catalog.json;
--- config
    location = /mcp { mcp mcp; }
    location = /own { mcp mcp; mcp_catalog ../html/own.json; }
--- user_files eval
[['catalog.json', ::tools('outer')], ['own.json', ::tools('inner')]]
--- cases eval
[
    [MCP::rpc('tools/list'), undef, 200, ::names('outer')],
    [MCP::rpc('tools/list', undef, 1, '/own'), undef, 200, ::names('inner')],
]



=== TEST 19: catalog file that does not exist: rejected
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/missing.json; }
--- must_die
--- error_log eval
qr{\[emerg\] .*open\(\) ".*/html/missing\.json" failed \(2: No such file or directory\) in .*nginx\.conf:\d+}



=== TEST 20: catalog that is a directory: rejected
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html; }
--- must_die
--- error_log
[emerg]
is not a regular file



=== TEST 21: catalog that is not JSON: rejected with the line
--- config eval: $::Broken
--- user_files
>>> catalog.json
{
"tools": [
}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 3: not valid JSON near column \d+ in}



=== TEST 22: catalog that is cut off: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: not valid JSON near column \d+ in}



=== TEST 23: catalog that is an empty file: rejected
--- config eval: $::Broken
--- user_files eval: ::file('')
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: the file is empty: an empty catalog is \{\} in}



=== TEST 24: catalog with two JSON texts: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{}
{}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: not valid JSON near column \d+ in}



=== TEST 25: catalog that is an array: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
[]
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: a catalog must be an object in}



=== TEST 26: catalog with an unknown key: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{
"tools": [],
"tool": []}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 3: unknown key "tool" in}



=== TEST 27: catalog with a duplicate key: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [],
"tools": []}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: duplicate key "tools" in}



=== TEST 28: catalog with an object as tools: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{

"tools": {}}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 3: "tools" must be an array in}



=== TEST 29: catalog with null as prompts: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": null}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "prompts" must be an array in}



=== TEST 30: catalog with an array as instructions: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"instructions":
[1]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "instructions" must be a string in}



=== TEST 31: catalog with a string as completions: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"completions": "yes"}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "completions" must be true or false in}



=== TEST 32: catalog with a number as a tool: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [
1]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: a tool must be an object in}



=== TEST 33: catalog with an array as a prompt: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [[]]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: a prompt must be an object in}



=== TEST 34: catalog with a tool without a name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [
{"inputSchema":{"type":"object"}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: tool without "name" in}



=== TEST 35: catalog with a tool without inputSchema: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: tool without "inputSchema" in}



=== TEST 36: catalog with an inputSchema of type array: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x",
"inputSchema":{"type":"array"}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "inputSchema" must have "type": "object" in}



=== TEST 37: catalog with true as inputSchema: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":true}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "inputSchema" must be an object in}



=== TEST 38: catalog with true as outputSchema: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":{"type":"object"},
"outputSchema":true}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "outputSchema" must be an object in}



=== TEST 39: catalog with a number as a tool's name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":1,"inputSchema":{"type":"object"}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "name" must be a string in}



=== TEST 40: catalog with an empty prompt name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [{"name":""}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "name" must not be empty in}



=== TEST 41: catalog with a space in a tool's name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"a b","inputSchema":{"type":"object"}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: a tool's name must be 1 to 128 of the characters A\-Z a\-z 0\-9 _ \- \. in}



=== TEST 42: catalog with a tool's name of 129 characters: rejected
--- config eval: $::Broken
--- user_files eval: ::file(::tools('x' x 129))
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: a tool's name must be 1 to 128 of the characters A\-Z a\-z 0\-9 _ \- \. in}



=== TEST 43: catalog with a duplicate member in a prompt: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [{"name":"a",
"name":"a"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: duplicate key "name" in}



=== TEST 44: catalog with two tools of one name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":{"type":"object"}},
{"name":"\u0078","inputSchema":{"type":"object"}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: duplicate tool "x" in}



=== TEST 45: catalog with two resources of one URI: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"resources": [{"uri":"a:b","name":"1"},

{"uri":"a:b","name":"2"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 3: duplicate resource "a:b" in}



=== TEST 46: catalog with a resource without a URI: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"resources": [{"name":"x"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: resource without "uri" in}



=== TEST 47: catalog with a resource template without uriTemplate: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"resourceTemplates": [{"name":"x"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: resource template without "uriTemplate" in}



=== TEST 48: catalog with an unclosed URI template: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"resourceTemplates": [
{"uriTemplate":"a:{b","name":"x"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: .+}



=== TEST 49: catalog with an object as a prompt's arguments: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [{"name":"a","arguments":{}}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: "arguments" must be an array in}



=== TEST 50: catalog with a prompt argument without a name: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [{"name":"a","arguments":[
{}]}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: a prompt's argument must be an object with a "name" in}



=== TEST 51: catalog nested too deep: rejected
--- config eval: $::Broken
--- user_files eval: ::file('{"instructions":' . '[' x 200)
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: the JSON is nested deeper than 128 levels in}



=== TEST 52: catalog with invalid UTF-8: rejected
--- config eval: $::Broken
--- user_files eval: ::file("{\"instructions\":\"\xff\"}")
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 1: column \d+: byte 0x[0-9a-f]{2} is not UTF-8: save the file as UTF-8, not as Latin-1 in}



=== TEST 53: description, icons, extensions in the catalog: sent to clients whose revision defines them
--- config
    location = /mcp { mcp mcp; mcp_server me 1; mcp_catalog ../html/catalog.json; }
--- user_files
>>> catalog.json
{"description": "What\nit does", "websiteUrl": "https://example.com/",
 "icons": [{"src": "https://example.com/i.png",
"sizes": ["48x48"]}],
 "extensions": {"com.example/a": {}, "com.example/b":
{"n": 1.50}}}
--- cases eval
my $extensions = quotemeta('"extensions":{"com.example/a":{},'
    . '"com.example/b":{"n":1.50}}');
my $server = quotemeta('{"name":"me","version":"1",'
    . '"description":"What\nit does",'
    . '"websiteUrl":"https://example.com/",'
    . '"icons":[{"src":"https://example.com/i.png",'
    . '"sizes":["48x48"]}]}');
[
    [MCP::initialize(), MCP::first(), 200,
        qr/$extensions\},"serverInfo":$server\}\}\z/],
    [MCP::initialize('2025-06-18'), MCP::first(), 200,
        qr/$extensions\},"serverInfo":\{"name":"me","version":"1"\}\}\}\z/],
    [::modern('server/discover'), ::modern_headers('server/discover'), 200,
        qr/$extensions\}.*"io.modelcontextprotocol\/serverInfo":$server\}/],
]



=== TEST 54: tool members that a revision lacks: left out of tools/list in this revision
--- config eval: $::Mcp
--- user_files
>>> catalog.json
{"tools": [
  {"name":"a","inputSchema":{"type":"object"},"outputSchema":{"$ref":"#/x"}},
  {"name":"b","inputSchema":{"type":"object"},"execution":{}}
]}
--- cases eval
[
    [MCP::rpc('tools/list'), undef, 200, MCP::answer('{"tools":['
        . '{"name":"a","inputSchema":{"type":"object"}},'
        . '{"name":"b","inputSchema":{"type":"object"},"execution":{}}]}')],
    [::modern('tools/list'), ::modern_headers('tools/list'), 200,
        qr/"result":\{"tools":\[\{"name":"a","inputSchema":\{"type":"object"\},"outputSchema":\{"\$ref":"#\/x"\}\},\{"name":"b","inputSchema":\{"type":"object"\}\}\],/],
]



=== TEST 55: x-mcp-cache-ttl and x-mcp-cache-scope of a resource: sent in its result in 2026-07-28
--- config
    location = /mcp {
        mcp mcp;
        mcp_principal $http_x_user;
        mcp_catalog ../html/catalog.json;
        mcp_backend @read;
    }
    location @read {
        default_type text/plain;
        return 200 "read";
    }
--- user_files
>>> catalog.json
{"resources": [
  {"uri":"a:1","name":"1","x-mcp-cache-ttl":300,"x-mcp-cache-scope":"public"},
  {"uri":"a:2","name":"2","x-mcp-cache-ttl":0.5},
  {"uri":"a:3","name":"3"}],
 "resourceTemplates": [
  {"uriTemplate":"b:{c}","name":"b","x-mcp-cache-ttl":1}]}
--- cases eval
my @reads = map { my ($uri, $hints) = @$_;
    [::modern('resources/read', "\"uri\":\"$uri\""),
        ::modern_headers('resources/read', $uri), 200, qr/$hints/] }
    ['a:1', '"ttlMs":300000,"cacheScope":"public"'],
    ['a:2', '"ttlMs":500,"cacheScope":"private"'],
    ['a:3', '"ttlMs":0,"cacheScope":"private"'],
    ['b:4', '"ttlMs":1000,"cacheScope":"private"'];
[
    @reads,
    [::modern('resources/list'), ::modern_headers('resources/list'), 200,
        qr/"name":"1"\}.*"ttlMs":0,"cacheScope":"private"/],
    [MCP::rpc('resources/read', '{"uri":"a:1"}'), undef, 200,
        qr/"result":\{"contents":\[[^\]]*\]\}\}\z/],
]



=== TEST 56: catalog with an unknown x-mcp-cache-scope: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"resources": [{"uri":"a:b","name":"x",
"x-mcp-cache-scope":"all"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "x-mcp-cache-scope" must be "public" or "private" in}



=== TEST 57: catalog with true as x-mcp-join: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"tools": [{"name":"x","inputSchema":{"type":"object"},
"x-mcp-join":true}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "x-mcp-join" must be "key" or "arguments" in}



=== TEST 58: catalog with x-mcp-join in a prompt: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"prompts": [{"name":"x",
"x-mcp-join":"key"}]}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: "x-mcp-join" is allowed only for tools in}



=== TEST 59: catalog with an extension without a prefix: rejected
--- config eval: $::Broken
--- user_files
>>> catalog.json
{"extensions": {
"tasks": {}}}
--- must_die
--- error_log eval
qr{\[emerg\] .*/catalog\.json: line 2: the identifier of an extension must have the form com.example/name: "tasks" in}
