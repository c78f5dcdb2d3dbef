# SPDX-License-Identifier: Apache-2.0

# Permissions (mcp_allow, x-mcp-scope), details for developers (mcp_debug), and
# the messages for invalid values.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 62;

no_long_string();

our $Tools = CORE::join ',', map {
    "{\"name\":\"$_\",\"inputSchema\":{\"type\":\"object\"}}"
} qw( echo admin_drop );

our $Listed = qr/\A\{[^\n]*"name":"echo"(?![^\n]*admin_drop)/;
our $All = qr/\A\{[^\n]*"name":"echo"[^\n]*"name":"admin_drop"/;

our $Config = '
    location = /mcp {
        mcp mcp;
        mcp_catalog ../html/c.json;
        mcp_principal $http_x_user;
        mcp_backend @b;
        ' . 'MORE' . '
    }
    location @b { return 500; }';

sub config { return $Config =~ s/MORE/shift/er }

sub catalog { return ">>> c.json\n{\"tools\":[" . (shift // $Tools) . "]}\n" }

sub of {
    my $user = shift;

    return MCP::post(session => MCP::session(principal => $user),
        more => "X-User: $user");
}

run_tests();

__DATA__

=== TEST 1: mcp_allow with a value of 0 or "": the tool is not listed
--- http_config
    map $http_x_user $may { root 1; none 0; default ""; }
--- config eval: ::config('mcp_allow admin_* $may; mcp_allow * 1;')
--- user_files eval: ::catalog()
--- cases eval
[
    [MCP::rpc('tools/list'), ::of('root'), 200, $::All],
    [MCP::rpc('tools/list'), ::of('none'), 200, $::Listed],
    [MCP::rpc('tools/list'), ::of('eve'), 200, $::Listed],
]



=== TEST 2: call of a hidden tool: -32602, as for an unknown name
--- config eval: ::config('mcp_allow echo 1;')
--- user_files eval: ::catalog()
--- cases eval
[map { [MCP::call($_), ::of('eve'), 200,
        qr/"code":-32602,"message":"Unknown tool: \Q$_\E"/] }
    qw( admin_drop nothing )]
--- log_level: info
--- error_log eval
qr/refused with 200: Unknown tool: "(?:admin_drop|nothing)"/



=== TEST 3: several mcp_allow: the first match shows a tool, a tool without a match is hidden
--- config eval: ::config('mcp_allow tools/echo 1; mcp_allow ~^echo 0;')
--- user_files eval: ::catalog()
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: ::of('eve')
--- response_body_like eval: $::Listed



=== TEST 4: tool whose scope the caller lacks: listed, but a call gets 403
--- config eval: ::config('mcp_granted_scopes $http_x_scopes;')
--- user_files eval
::catalog($::Tools =~ s/"admin_drop"/"admin_drop","x-mcp-scope":"a b"/r)
--- cases eval
[
    [MCP::rpc('tools/list'), ::of('eve'), 200, $::All],
    [MCP::call('admin_drop'), ::of('eve') . "X-Scopes: a\n", 403, qr/scope/],
    [MCP::call('admin_drop'), ::of('eve') . "X-Scopes: b a\n", 200,
        qr/-32603/],
]
--- no_error_log
[alert]



=== TEST 5: mcp_allow without a value: rejected
--- config eval: ::config('mcp_allow echo;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid number of arguments in "mcp_allow" directive in .+:\d+}



=== TEST 6: mcp_allow with a kind and an empty pattern: rejected
--- config eval: ::config('mcp_allow tools/ 1;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid pattern "tools/": the name is empty: write "\*" for all names in .+:\d+}



=== TEST 7: mcp_allow with a star in the middle: rejected
--- config eval: ::config('mcp_allow a*b 1;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid pattern "a\*b": "\*" is allowed only at the end: write a regular expression, which begins with "~" in .+:\d+}



=== TEST 8: mcp_allow with an invalid regular expression: rejected
--- config eval: ::config('mcp_allow ~[ 1;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid pattern "~\[": .+ in .+:\d+}



=== TEST 9: mcp_allow with an unknown variable: rejected
--- config eval: ::config('mcp_allow echo $nothing;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*unknown "nothing" variable}



=== TEST 10: mcp_granted_scopes twice: rejected
--- config eval: ::config('mcp_granted_scopes a; mcp_granted_scopes b;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp_granted_scopes" directive is duplicate in .+:\d+}



=== TEST 11: x-mcp-scope with two spaces between scopes: rejected
--- config eval: ::config('')
--- user_files eval
::catalog($::Tools =~ s/"admin_drop"/"admin_drop","x-mcp-scope":"a  b"/r)
--- must_die
--- error_log eval
qr{\[emerg\] .*c\.json: line 1: "x-mcp-scope" must be a string of scopes, separated by single spaces in .+:\d+}



=== TEST 12: x-mcp-scope that is a number: rejected
--- config eval: ::config('')
--- user_files eval
::catalog($::Tools =~ s/"admin_drop"/"admin_drop","x-mcp-scope":1/r)
--- must_die
--- error_log eval
qr{\[emerg\] .*c\.json: line 1: "x-mcp-scope" must be a string of scopes}



=== TEST 13: x-mcp-scope with offline_access: rejected
--- config eval: ::config('')
--- user_files eval
::catalog($::Tools =~ s/"admin_drop"/"admin_drop","x-mcp-scope":"offline_access"/r)
--- must_die
--- error_log eval
qr{\[emerg\] .*c\.json: line 1: "x-mcp-scope" must not contain "offline_access", which clients request themselves in .+:\d+}



=== TEST 14: x-mcp-scope without mcp_granted_scopes: warning
--- config eval: ::config('')
--- user_files eval
::catalog($::Tools =~ s/"admin_drop"/"admin_drop","x-mcp-scope":"a"/r)
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: ::of('eve')
--- response_body_like eval: $::All
--- error_log eval
qr{\[warn\] .*has a catalog with "x-mcp-scope", }



=== TEST 15: mcp_allow for a tool that is not in the catalog: warning
--- config eval: ::config('mcp_allow tools/ecco 1; mcp_allow * 1;')
--- user_files eval: ::catalog()
--- request eval: MCP::rpc('tools/list')
--- more_headers eval: ::of('eve')
--- response_body_like eval: $::All
--- error_log eval
qr{\[warn\] .*has "mcp_allow tools/ecco", which matches no item}



=== TEST 16: failed call with mcp_debug on: -32603 has the reason
--- config eval: ::config('mcp_debug on;') =~ s/return 500/fastcgi_pass unix:..\/html\/none.sock/r
--- user_files eval: ::catalog()
--- request eval: MCP::call('echo')
--- more_headers eval: ::of('eve')
--- response_body_like eval
qr/"code":-32603,"message":"[^"]+","data":\{"reason":"could not connect"\}/
--- error_log
failed in its backend



=== TEST 17: failed call with mcp_debug off: -32603 has no reason
--- config eval: ::config('mcp_debug off;') =~ s/return 500/fastcgi_pass unix:..\/html\/none.sock/r
--- user_files eval: ::catalog()
--- request eval: MCP::call('echo')
--- more_headers eval: ::of('eve')
--- response_body_like eval
qr/"code":-32603,"message":"[^"]+"\}/
--- error_log
failed in its backend



=== TEST 18: call without a backend with mcp_debug on: -32603 has the reason
--- config eval: ::config('mcp_debug on;') =~ s/mcp_backend \@b;//r
--- user_files eval: ::catalog()
--- request eval: MCP::call('echo')
--- more_headers eval: ::of('eve')
--- response_body_like eval
qr/"code":-32603,"message":"No backend configured","data":\{"reason":"no mcp_route matches and mcp_backend is not set"\}/
--- error_log eval
qr/neither "mcp_backend" nor "mcp_route"/



=== TEST 19: mcp_debug yes: rejected
--- config eval: ::config('mcp_debug yes;')
--- user_files eval: ::catalog()
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp_debug" directive invalid value "yes": write "on" or "off" in .+:\d+}
