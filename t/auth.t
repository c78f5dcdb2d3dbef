# SPDX-License-Identifier: Apache-2.0

# The endpoint as a resource server: its metadata document, its challenges, and
# which headers of an answer CORS allows pages to read.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 139;

no_long_string();

our $Auth = <<'_EOC_';
        mcp mcp;
        mcp_principal off;
        mcp_allow_origin https://a.example;
        mcp_auth_resource https://mcp.example/mcp;
        mcp_auth_server https://as.example https://as.example/two;
        mcp_auth_scopes read write;
_EOC_

our $Document = '{"resource":"https://mcp.example/mcp",'
    . '"authorization_servers":["https://as.example","https://as.example/two"],'
    . '"scopes_supported":["read","write"],'
    . '"bearer_methods_supported":["header"]}';

our $Metadata = 'resource_metadata="https://mcp.example/.well-known/'
    . 'oauth-protected-resource/mcp"';

our $WellKnown = '/.well-known/oauth-protected-resource';

run_tests();

__DATA__

=== TEST 1: metadata document at a path that another location denies: sent to any origin
--- config eval
"location = /mcp { $::Auth }
 location ^~ /.well-known/ { deny all; return 404; }"
--- request eval: "GET $::WellKnown/mcp"
--- response_body eval: $::Document
--- response_headers
Content-Type: application/json
Access-Control-Allow-Origin: *
Cache-Control: public, max-age=3600
ETag: "08388674b0ec144d"
! WWW-Authenticate
--- no_error_log
[alert]



=== TEST 2: one protected endpoint: its metadata document is also at the well-known path without a suffix
--- config eval
"location = /mcp { $::Auth } location ^~ /.well-known/ { deny all; }"
--- request eval: "GET $::WellKnown?x=y"
--- response_body eval: $::Document
--- no_error_log
[alert]



=== TEST 3: HEAD of the metadata document: headers without a body
--- config eval
"location = /mcp { $::Auth } location ^~ /.well-known/ { deny all; }"
--- request eval: "HEAD $::WellKnown/mcp"
--- response_body:
--- response_headers
Content-Type: application/json
Content-Length: 184
--- no_error_log
[alert]



=== TEST 4: metadata document: a preflight gets 204, POST gets 405
--- config eval
"location = /mcp { $::Auth } location ^~ /.well-known/ { deny all; }"
--- cases eval
[
    ["OPTIONS $::WellKnown/mcp", "Origin: null\n", 204, ''],
    ["POST $::WellKnown/mcp", undef, 405, ''],
]
--- response_headers eval
[
"Access-Control-Allow-Origin: *
Access-Control-Allow-Methods: GET, HEAD
Access-Control-Allow-Headers: *
Allow: GET, HEAD, OPTIONS
! Content-Type",
"Access-Control-Allow-Origin: *
Allow: GET, HEAD, OPTIONS
! Cache-Control",
]
--- no_error_log
[alert]



=== TEST 5: metadata document with a matching If-None-Match: 304
--- config eval
"location = /mcp { $::Auth }"
--- request eval: "GET $::WellKnown/mcp"
--- more_headers
If-None-Match: "08388674b0ec144d"
--- error_code: 304
--- response_body:
--- response_headers
Access-Control-Allow-Origin: *



=== TEST 6: several protected resources: each has a metadata document, the path without a suffix gets 404
--- config eval
"location = /mcp { $::Auth if (\$arg_x) { } }
 location = /two { $::Auth }
 location = /other { mcp mcp; mcp_auth_resource https://mcp.example/other;
                     mcp_auth_server http://[::1]:8/; }
 location ^~ /.well-known/ { return 404 none; }"
--- cases eval
[
    ["GET $::WellKnown/mcp", undef, 200, $::Document],
    ["GET $::WellKnown/other", undef, 200,
     '{"resource":"https://mcp.example/other",'
     . '"authorization_servers":["http://[::1]:8/"],'
     . '"bearer_methods_supported":["header"]}'],
    ["GET $::WellKnown", undef, 404, 'none'],
    ["GET $::WellKnown/", undef, 404, 'none'],
    ["GET $::WellKnown/mcp/x", undef, 404, 'none'],
]



=== TEST 7: mcp_auth_resource at the http level: endpoints inherit it, one with off has no metadata document
--- http_config
    mcp_auth_server https://outer.example;
    mcp_auth_resource https://mcp.example/a;
--- config
    location = /a { mcp mcp; mcp_server n 1 "A \"title\""; }
    location = /b { mcp mcp; mcp_auth_resource off; }
    location ^~ /.well-known/ { return 404 none; }
    location @b { return 401; }
--- cases eval
[
    ["GET $::WellKnown/a", undef, 200,
     '{"resource":"https://mcp.example/a",'
     . '"authorization_servers":["https://outer.example"],'
     . '"bearer_methods_supported":["header"],'
     . '"resource_name":"A \"title\""}'],
    ["GET $::WellKnown/b", undef, 404, 'none'],
]



=== TEST 8: 401 of auth_basic: the module adds a Bearer challenge
--- config eval
"location = /mcp { $::Auth auth_basic secret; auth_basic_user_file /dev/null; }"
--- request eval: $::Ping = MCP::rpc('ping')
--- more_headers eval: MCP::post(more => 'Origin: https://a.example')
--- error_code: 401
--- response_body_like: 401 Authorization Required
--- response_headers
Access-Control-Allow-Origin: https://a.example
Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, Retry-After
Vary: Origin
--- raw_response_headers_like eval
qr/WWW-Authenticate: Basic realm="secret"\r\n(?:.*\r\n)*?WWW-Authenticate: Bearer \Q$::Metadata\E, scope="read write"\r\n/
--- no_error_log
[alert]



=== TEST 9: deny all for a request with a foreign Origin or none: 403 with a challenge, without CORS headers
--- config eval
"location = /mcp { $::Auth deny all; }"
--- cases eval
[
    [MCP::rpc('ping'), MCP::post(more => 'Origin: https://b.example'), 403,
     qr/403 Forbidden/],
    ['OPTIONS /mcp', "Origin: https://b.example\n"
        . "Access-Control-Request-Method: POST\n", 403, qr/403 Forbidden/],
    [MCP::rpc('ping'), undef, 403, qr/403 Forbidden/],
]
--- response_headers eval
[map { "WWW-Authenticate: Bearer $::Metadata, scope=\"read write\"
! Access-Control-Allow-Origin
! Access-Control-Expose-Headers
! Vary" } 1 .. 3]
--- no_error_log
[alert]



=== TEST 10: preflight to an endpoint with access rules and authentication: 204 with CORS headers
--- config eval
"location = /mcp { $::Auth deny all; auth_basic secret;
                   auth_basic_user_file /dev/null; auth_request /none; }"
--- request
OPTIONS /mcp
--- more_headers
Origin: https://a.example
Access-Control-Request-Method: POST
Access-Control-Request-Headers: authorization, mcp-param-x
--- error_code: 204
--- response_body:
--- response_headers
Access-Control-Allow-Origin: https://a.example
Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, mcp-param-x
! WWW-Authenticate
--- no_error_log
[alert]



=== TEST 11: OPTIONS without Access-Control-Request-Method to an endpoint with deny all: 403
--- config eval
"location = /mcp { $::Auth deny all; }"
--- request
OPTIONS /mcp
--- more_headers
Origin: https://a.example
--- error_code: 403
--- response_body_like: 403 Forbidden
--- response_headers
Access-Control-Allow-Origin: https://a.example
! Access-Control-Allow-Methods
--- no_error_log
[alert]



=== TEST 12: 403 with an error_page: the response keeps its challenge and CORS headers
--- config eval
"location = /mcp { $::Auth deny all; error_page 403 /error; }
 location = /named { $::Auth deny all; error_page 403 \@error; }
 location = /moved { $::Auth deny all; error_page 403 =302 http://x/; }
 location = /error { internal; return 403 sorry; }
 location \@error { return 403 sorry; }"
--- cases eval
[map { [MCP::rpc('ping', undef, 1, $_),
        MCP::post(more => 'Origin: https://a.example'), 403, 'sorry'] }
    qw( /mcp /named )]
--- response_headers eval
[map { "WWW-Authenticate: Bearer $::Metadata, scope=\"read write\"
Access-Control-Allow-Origin: https://a.example" } 1 .. 2]
--- no_error_log
[alert]



=== TEST 13: foreign Origin that the module rejects: 403 without a challenge
--- config eval
"location = /mcp { $::Auth }"
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post(more => 'Origin: https://b.example')
--- error_code: 403
--- response_body_like: Origin not allowed
--- response_headers
! WWW-Authenticate
! Access-Control-Allow-Origin



=== TEST 14: body larger than client_max_body_size from an allowed origin: 413 with CORS headers, no challenge
--- config eval
"location = /mcp { $::Auth client_max_body_size 10; }"
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post(more => 'Origin: https://a.example')
--- error_code: 413
--- response_body_like: 413 Request Entity Too Large
--- response_headers
Access-Control-Allow-Origin: https://a.example
! WWW-Authenticate
--- no_error_log
[alert]



=== TEST 15: 401 or 403 whose challenge comes from auth_request: the challenge gets resource_metadata
--- config eval
"location = /mcp { $::Auth auth_request /check; }
 location = /check { internal;
                     proxy_pass http://127.0.0.1:\$server_port/as; }
 location = /as {
     add_header WWW-Authenticate 'Bearer error=\"\$http_x_error\", scope=\"x\"'
                always;
     if (\$http_x_error = insufficient_scope) { return 403; }
     return 401;
 }"
--- cases eval
[
    [MCP::rpc('ping'), MCP::post(more => 'X-Error: invalid_token'), 401,
     qr/401 Auth/],
    [MCP::rpc('ping'), MCP::post(more => 'X-Error: insufficient_scope'), 403,
     qr/403 Forbidden/],
]
--- response_headers eval
[map { "WWW-Authenticate: Bearer error=\"$_\", scope=\"x\", $::Metadata" }
    qw( invalid_token insufficient_scope )]
--- no_error_log
[alert]



=== TEST 16: deny all with mcp_allow_origin but without mcp_auth_resource: 403 without a challenge
--- config
    location = /mcp { mcp mcp; mcp_allow_origin *; deny all; }
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post(more => 'Origin: https://b.example')
--- error_code: 403
--- response_body_like: 403 Forbidden
--- response_headers
! WWW-Authenticate
Access-Control-Allow-Origin: https://b.example
--- no_error_log
[alert]



=== TEST 17: mcp_auth_resource without mcp_auth_server: rejected
--- config
    location = /mcp { mcp mcp; mcp_auth_resource https://a/mcp; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+: the resource "https://a/mcp" has no authorization server: set "mcp_auth_server"}



=== TEST 18: two endpoints with one resource path but different metadata: rejected
--- config
    location = /a { mcp mcp; mcp_auth_resource https://a/mcp;
                    mcp_auth_server https://b; }
    location = /b { mcp mcp; mcp_auth_resource https://a/mcp;
                    mcp_auth_server https://c; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+ has the same resource path as another endpoint of its server}



=== TEST 19: mcp_auth_resource without a scheme: rejected
--- config
    location = /mcp { mcp mcp; mcp_auth_resource mcp.example.com; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp\.example\.com" is neither "off" nor the URI of a resource: http:// or https://, a host, and a path, without a query or a fragment in .*nginx\.conf:\d+}



=== TEST 20: mcp_auth_server with a fragment: rejected
--- config
    location = /mcp { mcp mcp; mcp_auth_server https://a https://b#c; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"https://b#c" is not the URI of an issuer: http:// or https://, a host, and a path, without a query or a fragment in .*nginx\.conf:\d+}



=== TEST 21: mcp_auth_scopes with a space in a scope: rejected
--- config
    location = /mcp { mcp mcp; mcp_auth_scopes a "b c"; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"b c" is not a scope: write printable ASCII characters without spaces, quotes or backslashes in .*nginx\.conf:\d+}



=== TEST 22: mcp_auth_scopes with offline_access: rejected
--- config
    location = /mcp { mcp mcp; mcp_auth_scopes a offline_access; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"offline_access" is not a scope of a resource, because clients request it from the issuer themselves: remove it in .*nginx\.conf:\d+}
