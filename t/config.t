# SPDX-License-Identifier: Apache-2.0

# Directives: their contexts, their values, and their error messages.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 445;

no_long_string();

our $Ping = MCP::rpc('ping');
our $Pong = MCP::answer('{}');

run_tests();

__DATA__

=== TEST 1: every directive at every level: accepted
--- http_config
    mcp_zone other 2M;
    mcp_server outer 1;
    mcp_catalog ../html/c.json;
    mcp_backend @b;
    mcp_route x @b;
    mcp_principal $remote_user;
    mcp_allow_origin https://a.example;
    mcp_publish_token t;
    mcp_publish_url http://127.0.0.1/publish;
    mcp_session_lifetime 1h;
    mcp_stream_after 500ms;
    mcp_task_after 1s;
    mcp_task_ttl 2h;
    mcp_policy_after 100ms;
    mcp_close_after 1m;
    mcp_retry 1s;
    mcp_keepalive 10s;
    mcp_max_wait 5m;
    mcp_linger 30s;
    mcp_call_timeout 1m;
    mcp_input_timeout 1m;
    mcp_state_lifetime 1m;
    mcp_max_events 100;
    mcp_stream_buffer 1m;
    mcp_max_session_streams 10;
    mcp_quota_key principal;
    mcp_quota_streams 100;
    mcp_quota_listeners 100;
    mcp_quota_values 100;
    mcp_quota_bytes 1m;
    mcp_max_message 1m;
    mcp_max_depth 32;
    mcp_max_batch 10;
    mcp_page_size 10;
--- config
    mcp_key ../html/mcp.key;
    mcp_server inner 2 Title;
    mcp_catalog ../html/c.json;
    mcp_backend @b;
    mcp_route ~^y @b;
    mcp_principal x;
    mcp_allow_origin ~b;
    mcp_publish_token t;
    mcp_publish_url http://127.0.0.1/publish;
    mcp_session_lifetime 1h;
    mcp_stream_after 0;
    mcp_task_after off;
    mcp_task_ttl 10m;
    mcp_policy_after 0;
    mcp_close_after off;
    mcp_retry 0;
    mcp_keepalive off;
    mcp_max_wait 5m;
    mcp_linger 0;
    mcp_join_wait 1m;
    mcp_call_timeout 1m;
    mcp_input_timeout 1m;
    mcp_state_lifetime 1m;
    mcp_max_events 1;
    mcp_stream_buffer 64k;
    mcp_max_session_streams off;
    mcp_quota_key address;
    mcp_quota_streams off;
    mcp_quota_listeners share;
    mcp_quota_values share;
    mcp_quota_bytes share;
    mcp_max_message 1k;
    mcp_max_depth 4;
    mcp_max_batch 1;
    mcp_page_size off;

    location = /mcp {
        mcp mcp;
        mcp_key ../html/mcp.key;
        mcp_server innermost 3;
        mcp_catalog ../html/c.json;
        mcp_backend @b;
        mcp_route ~*^Y @b;
        mcp_principal "";
        mcp_allow_origin *;
        mcp_publish_token t;
        mcp_publish_url http://127.0.0.1/publish;
        mcp_session_lifetime 1h;
        mcp_stream_after 1s;
        mcp_close_after 0;
        mcp_retry 1h;
        mcp_keepalive 0;
        mcp_max_wait 0;
        mcp_linger 1d;
        mcp_join_wait 0;
        mcp_call_timeout 1m;
        mcp_input_timeout 1m;
        mcp_state_lifetime 1m;
        mcp_max_events 1073741824;
        mcp_stream_buffer 1000m;
        mcp_max_session_streams 0;
        mcp_quota_key off;
        mcp_quota_streams share;
        mcp_quota_listeners off;
        mcp_quota_values 0;
        mcp_quota_bytes off;
        mcp_max_message 1g;
        mcp_max_depth 512;
        mcp_max_batch 64;
        mcp_page_size 0;
    }
    location /other { mcp other; }
    location /publish { mcp_publish mcp; }
    location /open { mcp_publish other open; }
    location /status { mcp_status mcp; }
    location @b { return 200 x; }
--- user_files
>>> c.json
{}
--- request eval: MCP::initialize()
--- more_headers eval: MCP::first()
--- response_body_like: "serverInfo":\{"name":"innermost","version":"3"\}



=== TEST 2: mcp_zone after the server that uses it: accepted
--- bare
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location = /mcp { mcp late; }
    }
    mcp_zone late 300k;
    mcp_key ../html/key;
--- config
    location = /mcp { mcp late; }
--- user_files eval
[['key', $MCP::KEY]]
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 3: mcp_backend with a named location of another server: rejected
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location @b { return 200 x; }
    }
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+: "mcp_backend" or "mcp_route" names location "\@b", which this server does not have}



=== TEST 4: mcp_route to an unknown named location: rejected
--- config
    location = /mcp { mcp mcp; mcp_route x @nowhere; }
--- must_die
--- error_log
[emerg]
names location "@nowhere", which this server does not have



=== TEST 5: mcp_backend at the http level with a location that a server without endpoints lacks: accepted
--- http_config
    mcp_backend @b;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location / { return 200 x; }
    }
--- config
    location = /mcp { mcp mcp; }
    location @b { return 200 x; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 6: mcp_zone with the name of a limit_req zone: rejected
--- http_config
    limit_req_zone $binary_remote_addr zone=shared:1m rate=1r/s;
    mcp_zone shared 1m;
--- config
--- must_die
--- error_log
[emerg]



=== TEST 7: configuration without MCP directives: accepted
--- bare
--- config
    location = /t { return 200 ok; }
--- request
GET /t
--- response_body: ok



=== TEST 8: two zones, one of the smallest size: accepted
--- http_config
    mcp_zone a 288k;
    mcp_zone b 1024k;
--- config
    location = /mcp { mcp a; }
    location = /b { mcp b; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 9: directives set at several levels with different values: accepted
--- http_config
    mcp_retry 1s;
    mcp_keepalive off;
    mcp_max_session_streams off;
--- config
    mcp_retry 2s;
    mcp_keepalive 1s;
    mcp_max_session_streams 2;
    location = /mcp { mcp mcp; mcp_retry 3s; mcp_keepalive off; mcp_max_session_streams off; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 10: mcp_zone without a size: rejected
--- http_config
    mcp_zone x;
--- config
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_zone" directive



=== TEST 11: mcp_zone with three parameters: rejected
--- http_config
    mcp_zone x 1m 2;
--- config
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_zone" directive



=== TEST 12: mcp_zone with a size that is not a number: rejected
--- http_config
    mcp_zone x big;
--- config
--- must_die
--- error_log
[emerg]
invalid zone size "big"



=== TEST 13: mcp_zone with a size of 100k: rejected as too small
--- http_config
    mcp_zone x 100k;
--- config
--- must_die
--- error_log
[emerg]
zone "x" is too small, it needs at least



=== TEST 14: mcp_zone without a name: rejected
--- http_config
    mcp_zone "" 1m;
--- config
--- must_die
--- error_log
[emerg]
empty zone name



=== TEST 15: mcp_zone twice with one name: rejected
--- http_config
    mcp_zone mcp 2m;
--- config
--- must_die
--- error_log
[emerg]
duplicate zone "mcp"



=== TEST 16: mcp_zone in a server: rejected
--- config
    mcp_zone x 1m;
--- must_die
--- error_log
[emerg]
"mcp_zone" directive is not allowed here



=== TEST 17: mcp_zone in a location: rejected
--- config
    location = /mcp { mcp mcp; mcp_zone x 1m; }
--- must_die
--- error_log
[emerg]
"mcp_zone" directive is not allowed here



=== TEST 18: mcp with an unknown zone: rejected
--- config
    location = /x { mcp nowhere; }
--- must_die
--- error_log eval
qr{\[emerg\] .*unknown MCP zone "nowhere" in .*nginx\.conf:\d+}



=== TEST 19: mcp in a server: rejected
--- config
    mcp mcp;
--- must_die
--- error_log
[emerg]
"mcp" directive is not allowed here



=== TEST 20: mcp at the http level: rejected
--- http_config
    mcp mcp;
--- config
--- must_die
--- error_log
[emerg]
"mcp" directive is not allowed here



=== TEST 21: mcp twice: rejected
--- config
    location = /x { mcp mcp; mcp mcp; }
--- must_die
--- error_log
[emerg]
"mcp" directive is duplicate



=== TEST 22: mcp without a zone: rejected
--- config
    location = /x { mcp; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp" directive



=== TEST 23: mcp in "if": rejected
--- config
    location = /x { if ($arg_a) { mcp mcp; } }
--- must_die
--- error_log
[emerg]
"mcp" directive is not allowed here



=== TEST 24: mcp_publish with an unknown zone: rejected
--- config
    location = /x { mcp_publish nowhere; }
--- must_die
--- error_log eval
qr{\[emerg\] .*unknown MCP zone "nowhere" in .*nginx\.conf:\d+}



=== TEST 25: mcp_publish in a server: rejected
--- config
    mcp_publish mcp;
--- must_die
--- error_log
[emerg]
"mcp_publish" directive is not allowed here



=== TEST 26: mcp_publish at the http level: rejected
--- http_config
    mcp_publish mcp;
--- config
--- must_die
--- error_log
[emerg]
"mcp_publish" directive is not allowed here



=== TEST 27: mcp_publish twice: rejected
--- config
    location = /x { mcp_publish mcp; mcp_publish mcp; }
--- must_die
--- error_log
[emerg]
"mcp_publish" directive is duplicate



=== TEST 28: mcp_publish without a zone: rejected
--- config
    location = /x { mcp_publish; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_publish" directive



=== TEST 29: mcp_publish in "if": rejected
--- config
    location = /x { if ($arg_a) { mcp_publish mcp; } }
--- must_die
--- error_log
[emerg]
"mcp_publish" directive is not allowed here



=== TEST 30: mcp_status with an unknown zone: rejected
--- config
    location = /x { mcp_status nowhere; }
--- must_die
--- error_log eval
qr{\[emerg\] .*unknown MCP zone "nowhere" in .*nginx\.conf:\d+}



=== TEST 31: mcp_status in a server: rejected
--- config
    mcp_status mcp;
--- must_die
--- error_log
[emerg]
"mcp_status" directive is not allowed here



=== TEST 32: mcp_status at the http level: rejected
--- http_config
    mcp_status mcp;
--- config
--- must_die
--- error_log
[emerg]
"mcp_status" directive is not allowed here



=== TEST 33: mcp_status twice: rejected
--- config
    location = /x { mcp_status mcp; mcp_status mcp; }
--- must_die
--- error_log
[emerg]
"mcp_status" directive is duplicate



=== TEST 34: mcp_status without a zone: rejected
--- config
    location = /x { mcp_status; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_status" directive



=== TEST 35: mcp_status in "if": rejected
--- config
    location = /x { if ($arg_a) { mcp_status mcp; } }
--- must_die
--- error_log
[emerg]
"mcp_status" directive is not allowed here



=== TEST 36: mcp and mcp_publish in one location: rejected
--- config
    location = /x { mcp mcp; mcp_publish mcp; }
--- must_die
--- error_log
[emerg]
"mcp_publish" directive must be the only one of "mcp", "mcp_publish" and "mcp_status" in its location



=== TEST 37: mcp_publish and mcp_status in one location: rejected
--- config
    location = /x { mcp_publish mcp; mcp_status mcp; }
--- must_die
--- error_log
[emerg]
"mcp_status" directive must be the only one of "mcp", "mcp_publish" and "mcp_status" in its location



=== TEST 38: mcp_status and mcp in one location: rejected
--- config
    location = /x { mcp_status mcp; mcp mcp; }
--- must_die
--- error_log
[emerg]
"mcp" directive must be the only one of "mcp", "mcp_publish" and "mcp_status" in its location



=== TEST 39: mcp_publish with an unknown parameter: rejected
--- config
    location = /x { mcp_publish mcp closed; }
--- must_die
--- error_log
[emerg]
invalid parameter "closed"



=== TEST 40: mcp_server without a version: rejected
--- config
    location = /mcp { mcp mcp; mcp_server x; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_server" directive



=== TEST 41: mcp_server with four parameters: rejected
--- config
    location = /mcp { mcp mcp; mcp_server a b c d; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_server" directive



=== TEST 42: mcp_server twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_server a 1; mcp_server b 2; }
--- must_die
--- error_log
[emerg]
"mcp_server" directive is duplicate



=== TEST 43: mcp_server with an empty name: rejected
--- config
    location = /mcp { mcp mcp; mcp_server "" 1; }
--- must_die
--- error_log
[emerg]
"" is empty or not UTF-8



=== TEST 44: mcp_catalog twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/c.json; mcp_catalog ../html/c.json; }
--- user_files
>>> c.json
{}
--- must_die
--- error_log
[emerg]
"mcp_catalog" directive is duplicate



=== TEST 45: mcp_backend with a name without @: rejected
--- config
    location = /mcp { mcp mcp; mcp_backend tools; }
--- must_die
--- error_log
[emerg]
"tools" is not a named location



=== TEST 46: mcp_backend with a URL: rejected
--- config
    location = /mcp { mcp mcp; mcp_backend http://127.0.0.1/; }
--- must_die
--- error_log
[emerg]
"http://127.0.0.1/" is not a named location



=== TEST 47: mcp_backend with only @: rejected
--- config
    location = /mcp { mcp mcp; mcp_backend @; }
--- must_die
--- error_log
[emerg]
"@" is not a named location



=== TEST 48: mcp_backend twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_backend @a; mcp_backend @b; }
--- must_die
--- error_log
[emerg]
"mcp_backend" directive is duplicate



=== TEST 49: mcp_route without a location: rejected
--- config
    location = /mcp { mcp mcp; mcp_route x; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_route" directive



=== TEST 50: mcp_route to a path: rejected
--- config
    location = /mcp { mcp mcp; mcp_route x /x; }
--- must_die
--- error_log
[emerg]
"/x" is not a named location



=== TEST 51: mcp_route with an invalid regular expression: rejected
--- config
    location = /mcp { mcp mcp; mcp_route ~( @b; }
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid pattern "~\(": .+ in}



=== TEST 52: mcp_route with an empty regular expression: rejected
--- config
    location = /mcp { mcp mcp; mcp_route ~ @b; }
--- must_die
--- error_log
[emerg]
invalid pattern "~": empty regular expression



=== TEST 53: mcp_route with an empty regular expression that ignores case: rejected
--- config
    location = /mcp { mcp mcp; mcp_route ~* @b; }
--- must_die
--- error_log
[emerg]
invalid pattern "~*": empty regular expression



=== TEST 54: mcp_route with an empty pattern: rejected
--- config
    location = /mcp { mcp mcp; mcp_route "" @b; }
--- must_die
--- error_log
[emerg]
invalid pattern "": empty pattern



=== TEST 55: mcp_key without a file: rejected
--- config
    location = /mcp { mcp mcp; mcp_key; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_key" directive



=== TEST 56: mcp_key with a missing file: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/nokey; }
--- must_die
--- error_log eval
qr{\[emerg\] .*open\(\) ".*/html/nokey" failed \(2: No such file or directory\)}



=== TEST 57: mcp_key with a key of 31 bytes: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/short.key; }
--- user_files eval
[['short.key', " \t" . 'x' x 31 . "\r\n\n"]]
--- must_die
--- error_log eval
qr{\[emerg\] .*key in ".*/html/short\.key" is shorter than 32 bytes}



=== TEST 58: mcp_key with an empty second file: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/mcp.key ../html/empty.key; }
--- user_files eval
[['empty.key', '']]
--- must_die
--- error_log eval
qr{\[emerg\] .*key in ".*/html/empty\.key" is shorter than 32 bytes}



=== TEST 59: mcp_key with a file of 4097 bytes: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/large.key; }
--- user_files eval
[['large.key', 'x' x 4097]]
--- must_die
--- error_log eval
qr{\[emerg\] .*".*/html/large\.key" is larger than 4096 bytes}



=== TEST 60: mcp_key with nine files: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/0.key ../html/1.key ../html/2.key ../html/3.key ../html/4.key ../html/5.key ../html/6.key ../html/7.key ../html/8.key; }
--- user_files eval
[map { ["$_.key", $_ x 32] } 0 .. 8]
--- must_die
--- error_log
[emerg]
more than 8 keys



=== TEST 61: mcp_key twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_key ../html/mcp.key; mcp_key ../html/mcp.key; }
--- must_die
--- error_log
[emerg]
"mcp_key" directive is duplicate



=== TEST 62: mcp_principal with an unknown variable: rejected
--- config
    location = /mcp { mcp mcp; mcp_principal $nothing; }
--- must_die
--- error_log
[emerg]
unknown "nothing" variable



=== TEST 63: mcp_principal twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_principal a; mcp_principal b; }
--- must_die
--- error_log
[emerg]
"mcp_principal" directive is duplicate



=== TEST 64: mcp_allow_origin without a pattern: rejected
--- config
    location = /mcp { mcp mcp; mcp_allow_origin; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_allow_origin" directive



=== TEST 65: mcp_allow_origin with a host without a scheme: rejected
--- config
    location = /mcp { mcp mcp; mcp_allow_origin https://a.example example.com; }
--- must_die
--- error_log
[emerg]
"example.com" is neither an origin (scheme://host[:port]) nor "~regex", "null" or "*"



=== TEST 66: mcp_allow_origin with an invalid regular expression: rejected
--- config
    location = /mcp { mcp mcp; mcp_allow_origin ~[; }
--- must_die
--- error_log eval
qr{\[emerg\] .*invalid pattern "~\[": .+ in}



=== TEST 67: mcp_publish_token twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_publish_token a; mcp_publish_token b; }
--- must_die
--- error_log
[emerg]
"mcp_publish_token" directive is duplicate



=== TEST 68: mcp_publish_token without a value: rejected
--- config
    location = /mcp { mcp mcp; mcp_publish_token; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_publish_token" directive



=== TEST 69: mcp_publish_url twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_publish_url http://a; mcp_publish_url http://b; }
--- must_die
--- error_log
[emerg]
"mcp_publish_url" directive is duplicate



=== TEST 70: mcp_publish_url without a value: rejected
--- config
    location = /mcp { mcp mcp; mcp_publish_url; }
--- must_die
--- error_log
[emerg]
invalid number of arguments in "mcp_publish_url" directive



=== TEST 71: mcp_session_lifetime that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_session_lifetime soon; }
--- must_die
--- error_log
[emerg]
"mcp_session_lifetime" directive invalid value



=== TEST 72: mcp_session_lifetime off: rejected
--- config
    location = /mcp { mcp mcp; mcp_session_lifetime off; }
--- must_die
--- error_log
[emerg]
"mcp_session_lifetime" directive invalid value



=== TEST 73: mcp_session_lifetime twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_session_lifetime 1s; mcp_session_lifetime 2s; }
--- must_die
--- error_log
[emerg]
"mcp_session_lifetime" directive is duplicate



=== TEST 74: mcp_stream_after that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_after soon; }
--- must_die
--- error_log
[emerg]
"mcp_stream_after" directive invalid value



=== TEST 75: mcp_stream_after off: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_after off; }
--- must_die
--- error_log
[emerg]
"mcp_stream_after" directive invalid value



=== TEST 76: mcp_stream_after twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_after 1s; mcp_stream_after 2s; }
--- must_die
--- error_log
[emerg]
"mcp_stream_after" directive is duplicate



=== TEST 77: mcp_retry that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_retry soon; }
--- must_die
--- error_log
[emerg]
"mcp_retry" directive invalid value



=== TEST 78: mcp_retry off: rejected
--- config
    location = /mcp { mcp mcp; mcp_retry off; }
--- must_die
--- error_log
[emerg]
"mcp_retry" directive invalid value



=== TEST 79: mcp_retry twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_retry 1s; mcp_retry 2s; }
--- must_die
--- error_log
[emerg]
"mcp_retry" directive is duplicate



=== TEST 80: mcp_max_wait that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_wait soon; }
--- must_die
--- error_log
[emerg]
"mcp_max_wait" directive invalid value



=== TEST 81: mcp_max_wait off: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_wait off; }
--- must_die
--- error_log
[emerg]
"mcp_max_wait" directive invalid value



=== TEST 82: mcp_max_wait twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_wait 1s; mcp_max_wait 2s; }
--- must_die
--- error_log
[emerg]
"mcp_max_wait" directive is duplicate



=== TEST 83: mcp_linger that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_linger soon; }
--- must_die
--- error_log
[emerg]
"mcp_linger" directive invalid value



=== TEST 84: mcp_linger off: rejected
--- config
    location = /mcp { mcp mcp; mcp_linger off; }
--- must_die
--- error_log
[emerg]
"mcp_linger" directive invalid value



=== TEST 85: mcp_linger twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_linger 1s; mcp_linger 2s; }
--- must_die
--- error_log
[emerg]
"mcp_linger" directive is duplicate



=== TEST 86: mcp_call_timeout that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_call_timeout soon; }
--- must_die
--- error_log
[emerg]
"mcp_call_timeout" directive invalid value



=== TEST 87: mcp_call_timeout off: rejected
--- config
    location = /mcp { mcp mcp; mcp_call_timeout off; }
--- must_die
--- error_log
[emerg]
"mcp_call_timeout" directive invalid value



=== TEST 88: mcp_call_timeout twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_call_timeout 1s; mcp_call_timeout 2s; }
--- must_die
--- error_log
[emerg]
"mcp_call_timeout" directive is duplicate



=== TEST 89: mcp_input_timeout that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_input_timeout soon; }
--- must_die
--- error_log
[emerg]
"mcp_input_timeout" directive invalid value



=== TEST 90: mcp_input_timeout off: rejected
--- config
    location = /mcp { mcp mcp; mcp_input_timeout off; }
--- must_die
--- error_log
[emerg]
"mcp_input_timeout" directive invalid value



=== TEST 91: mcp_input_timeout twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_input_timeout 1s; mcp_input_timeout 2s; }
--- must_die
--- error_log
[emerg]
"mcp_input_timeout" directive is duplicate



=== TEST 92: mcp_close_after that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_close_after -1; }
--- must_die
--- error_log
[emerg]
"mcp_close_after" directive invalid value



=== TEST 93: mcp_close_after twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_close_after off; mcp_close_after 2s; }
--- must_die
--- error_log
[emerg]
"mcp_close_after" directive is duplicate



=== TEST 94: mcp_close_after twice, the second time off: rejected
--- config
    location = /mcp { mcp mcp; mcp_close_after 2s; mcp_close_after off; }
--- must_die
--- error_log
[emerg]
"mcp_close_after" directive is duplicate



=== TEST 95: mcp_keepalive that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_keepalive -1; }
--- must_die
--- error_log
[emerg]
"mcp_keepalive" directive invalid value



=== TEST 96: mcp_keepalive twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_keepalive off; mcp_keepalive 2s; }
--- must_die
--- error_log
[emerg]
"mcp_keepalive" directive is duplicate



=== TEST 97: mcp_keepalive twice, the second time off: rejected
--- config
    location = /mcp { mcp mcp; mcp_keepalive 2s; mcp_keepalive off; }
--- must_die
--- error_log
[emerg]
"mcp_keepalive" directive is duplicate



=== TEST 98: mcp_stream_buffer that is not a size: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_buffer 1x; }
--- must_die
--- error_log
[emerg]
"mcp_stream_buffer" directive invalid value



=== TEST 99: mcp_stream_buffer twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_buffer 1m; mcp_stream_buffer 2m; }
--- must_die
--- error_log
[emerg]
"mcp_stream_buffer" directive is duplicate



=== TEST 100: mcp_max_message that is not a size: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_message 1x; }
--- must_die
--- error_log
[emerg]
"mcp_max_message" directive invalid value



=== TEST 101: mcp_max_message twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_message 1m; mcp_max_message 2m; }
--- must_die
--- error_log
[emerg]
"mcp_max_message" directive is duplicate



=== TEST 102: mcp_max_events that is not a number: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_events many; }
--- must_die
--- error_log
[emerg]
"mcp_max_events" directive invalid number



=== TEST 103: mcp_max_events off: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_events off; }
--- must_die
--- error_log
[emerg]
"mcp_max_events" directive invalid number



=== TEST 104: mcp_max_events below its minimum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_events 0; }
--- must_die
--- error_log
[emerg]
value must be between 1 and



=== TEST 105: mcp_max_events above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_events 1073741825; }
--- must_die
--- error_log
[emerg]
value must be between 1 and 1073741824



=== TEST 106: mcp_max_events twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_events 1; mcp_max_events 1; }
--- must_die
--- error_log
[emerg]
"mcp_max_events" directive is duplicate



=== TEST 107: mcp_max_depth that is not a number: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_depth many; }
--- must_die
--- error_log
[emerg]
"mcp_max_depth" directive invalid number



=== TEST 108: mcp_max_depth off: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_depth off; }
--- must_die
--- error_log
[emerg]
"mcp_max_depth" directive invalid number



=== TEST 109: mcp_max_depth below its minimum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_depth 3; }
--- must_die
--- error_log
[emerg]
value must be between 4 and 512



=== TEST 110: mcp_max_depth above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_depth 513; }
--- must_die
--- error_log
[emerg]
value must be between 4 and 512



=== TEST 111: mcp_max_depth twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_depth 4; mcp_max_depth 4; }
--- must_die
--- error_log
[emerg]
"mcp_max_depth" directive is duplicate



=== TEST 112: mcp_max_batch that is not a number: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_batch many; }
--- must_die
--- error_log
[emerg]
"mcp_max_batch" directive invalid number



=== TEST 113: mcp_max_batch off: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_batch off; }
--- must_die
--- error_log
[emerg]
"mcp_max_batch" directive invalid number



=== TEST 114: mcp_max_batch below its minimum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_batch 0; }
--- must_die
--- error_log
[emerg]
value must be between 1 and



=== TEST 115: mcp_max_batch above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_batch 65; }
--- must_die
--- error_log
[emerg]
value must be between 1 and 64



=== TEST 116: mcp_max_batch twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_batch 1; mcp_max_batch 1; }
--- must_die
--- error_log
[emerg]
"mcp_max_batch" directive is duplicate



=== TEST 117: mcp_max_session_streams that is not a number: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_session_streams -5; }
--- must_die
--- error_log
[emerg]
"mcp_max_session_streams" directive invalid number



=== TEST 118: mcp_max_session_streams above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_session_streams 1073741825; }
--- must_die
--- error_log
[emerg]
value must be between 0 and 1073741824



=== TEST 119: mcp_max_session_streams twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_max_session_streams off; mcp_max_session_streams 1; }
--- must_die
--- error_log
[emerg]
"mcp_max_session_streams" directive is duplicate



=== TEST 120: mcp_quota_streams -5: rejected
--- config
    location = /mcp { mcp mcp; mcp_quota_streams -5; }
--- must_die
--- error_log
[emerg]
"mcp_quota_streams" directive invalid number



=== TEST 121: mcp_quota_streams above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_quota_streams 1073741825; }
--- must_die
--- error_log
[emerg]
value must be between 0 and 1073741824



=== TEST 122: mcp_quota_streams twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_quota_streams off; mcp_quota_streams 1; }
--- must_die
--- error_log
[emerg]
"mcp_quota_streams" directive is duplicate



=== TEST 123: mcp_page_size that is not a number: rejected
--- config
    location = /mcp { mcp mcp; mcp_page_size -5; }
--- must_die
--- error_log
[emerg]
"mcp_page_size" directive invalid number



=== TEST 124: mcp_page_size above its maximum: rejected
--- config
    location = /mcp { mcp mcp; mcp_page_size 1073741825; }
--- must_die
--- error_log
[emerg]
value must be between 0 and 1073741824



=== TEST 125: mcp_page_size twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_page_size off; mcp_page_size 1; }
--- must_die
--- error_log
[emerg]
"mcp_page_size" directive is duplicate



=== TEST 126: unknown directive mcp_backends: rejected
--- config
    location = /mcp { mcp mcp; mcp_backends @b; }
--- must_die
--- error_log
[emerg]
unknown directive "mcp_backends"



=== TEST 127: mcp_stream_buffer 0: rejected
--- config
    location = /mcp { mcp mcp; mcp_stream_buffer 0; }
--- must_die
--- error_log
[emerg]
"mcp_stream_buffer" directive invalid value



=== TEST 128: mcp_link_origin with a path: rejected
--- config
    location = /mcp { mcp mcp; mcp_link_origin https://a.example/; }
--- must_die
--- error_log
[emerg]
"https://a.example/" is not of the form http://host[:port] or https://host[:port]



=== TEST 129: mcp_link_origin that is not a URL: rejected
--- config
    location = /mcp { mcp mcp; mcp_link_origin "a b"; }
--- must_die
--- error_log
[emerg]
"a b" is not of the form http://host[:port]



=== TEST 130: mcp_link_origin with the scheme ftp: rejected
--- config
    location = /mcp { mcp mcp; mcp_link_origin ftp://a.example; }
--- must_die
--- error_log
[emerg]
"ftp://a.example" is not of the form http://host[:port]



=== TEST 131: mcp_link_origin twice: rejected
--- config
    location = /mcp {
        mcp mcp;
        mcp_link_origin https://a.example;
        mcp_link_origin https://b.example;
    }
--- must_die
--- error_log
[emerg]
"mcp_link_origin" directive is duplicate



=== TEST 132: catalog without a backend: warning at start, each call gets "No backend configured"
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/c.json; if ($arg_x) { } }
--- user_files
>>> c.json
{"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body_like: "No backend configured"
--- error_log eval
[qr{\[warn\] .*"mcp" in .*nginx\.conf:\d+ has a catalog, but neither "mcp_backend" nor "mcp_route", so its calls will fail},
 qr{\[error\] .*no backend for tools/call of "x"}]



=== TEST 133: mcp_backend with the location of an endpoint: rejected
--- config
    location = /mcp { try_files /none @mcp; }
    location @mcp { mcp mcp; mcp_backend @mcp; }
--- must_die
--- error_log eval
qr{\[emerg\] .*names location "\@mcp", which is an endpoint itself}



=== TEST 134: mcp_policy_after that is not a time: rejected
--- config
    location = /mcp { mcp mcp; mcp_policy_after soon; }
--- must_die
--- error_log
[emerg]
"mcp_policy_after" directive invalid value



=== TEST 135: mcp_policy_after off: rejected
--- config
    location = /mcp { mcp mcp; mcp_policy_after off; }
--- must_die
--- error_log
[emerg]
"mcp_policy_after" directive invalid value



=== TEST 136: mcp_policy_after twice: rejected
--- config
    location = /mcp { mcp mcp; mcp_policy_after 1s; mcp_policy_after 2s; }
--- must_die
--- error_log
[emerg]
"mcp_policy_after" directive is duplicate



=== TEST 137: auth_basic or auth_request at an endpoint without mcp_principal: warning
--- http_config
    server {
        listen unix:$TEST_NGINX_HTML_DIR/other.sock;
        auth_basic a;
        location = /off { mcp mcp; auth_basic off; }
        location = /is { mcp mcp; mcp_principal $remote_user; }
        location = /none { mcp mcp; mcp_principal off; if ($arg_x) { } }
    }
    server {
        listen unix:$TEST_NGINX_HTML_DIR/off.sock;
        mcp_principal off;
        location = /mcp { mcp mcp; auth_basic a; }
    }
--- config
    location = /mcp { mcp mcp; }
    location = /basic { mcp mcp; auth_basic a; }
    location = /asks { mcp mcp; auth_request /auth; }
    location = /allowed { mcp mcp; auth_request off; allow all; }
    location /publish { mcp_publish mcp; auth_basic a; }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- grep_error_log eval
qr/\[warn\].*no "mcp_principal", so/
--- grep_error_log_out eval
qr/\A.*has "auth_basic", but no.*\n.*has "auth_request", but no.*\n\z/



=== TEST 138: mcp_principal twice, the first time off: rejected
--- config
    location = /mcp { mcp mcp; mcp_principal off; mcp_principal $remote_user; }
--- must_die
--- error_log
"mcp_principal" directive is duplicate



=== TEST 139: mcp_quota_key with an unknown value: rejected
--- config
    location = /mcp { mcp mcp; mcp_quota_key user; }
--- must_die
--- error_log
[emerg]
"mcp_quota_key" directive invalid value "user": write "principal", "address" or "off"



=== TEST 140: mcp_quota_bytes that is not a size: rejected
--- config
    location = /mcp { mcp mcp; mcp_quota_bytes half; }
--- must_die
--- error_log
[emerg]
invalid value "half": write a size, such as 65536, 64k, 8m or 1g, or write "share" or "off"



=== TEST 141: mcp_stream_buffer that lets one stream use half of the zone: warning
--- http_config
    mcp_zone big 40m;
    mcp_zone small 300k;
--- config
    location = /mcp { mcp mcp; mcp_stream_buffer 1m; }
    location = /big { mcp big; }
    location = /default { mcp small; }
    location = /less { mcp small; mcp_stream_buffer 64k; }
    location = /more { mcp small; mcp_stream_buffer 76k; if ($arg_x) { } }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong
--- grep_error_log eval
qr/\[warn\].*"mcp_stream_buffer".*/
--- grep_error_log_out eval
qr/\A.*half of zone "mcp" or.*\n.*half of zone "small" or.*\n\z/



=== TEST 142: x-mcp-header with an underscore and underscores_in_headers off: rejected
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/c.json; mcp_backend @b; }
    location @b { return 204; }
--- user_files
>>> c.json
{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{
"a":{"type":"string","x-mcp-header":"A_b"}}}}]}
--- must_die
--- error_log eval
qr/\[emerg\].*c\.json: line 2: the header "Mcp-Param-A_b" is removed by nginx from/



=== TEST 143: x-mcp-header with an underscore and underscores_in_headers on: accepted
--- http_config
    underscores_in_headers on;
--- config
    location = /mcp { mcp mcp; mcp_catalog ../html/c.json; mcp_backend @b; }
    location @b { return 204; }
--- user_files
>>> c.json
{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{
"a":{"type":"string","x-mcp-header":"A_b"},
"b":{"type":"string","x-mcp-header":"A-b-1"}}}}]}
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 144: x-mcp-header with a dot at an endpoint that lacks 2026-07-28: accepted
--- config
    location = /mcp {
        mcp mcp; mcp_catalog ../html/c.json; mcp_backend @b;
        mcp_revisions 2025-11-25;
    }
    location @b { return 204; }
--- user_files
>>> c.json
{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{
"a":{"type":"string","x-mcp-header":"A.b"}}}}]}
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 145: proxy_pass after mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { mcp mcp; mcp_backend @b; proxy_pass http://127.0.0.1:1; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+ has no effect, because another directive of location "/mcp"}



=== TEST 146: proxy_pass before mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { proxy_pass http://127.0.0.1:1; mcp mcp; mcp_backend @b; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" directive is in a location that has another content handler.* in .*nginx\.conf:\d+}



=== TEST 147: fastcgi_pass after mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { mcp mcp; mcp_backend @b; fastcgi_pass 127.0.0.1:1; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+ has no effect, because another directive of location "/mcp"}



=== TEST 148: fastcgi_pass before mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { fastcgi_pass 127.0.0.1:1; mcp mcp; mcp_backend @b; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" directive is in a location that has another content handler.* in .*nginx\.conf:\d+}



=== TEST 149: empty_gif after mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { mcp mcp; mcp_backend @b; empty_gif; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" in .*nginx\.conf:\d+ has no effect, because another directive of location "/mcp"}



=== TEST 150: empty_gif before mcp: rejected
--- config
    location @b { return 204; }
    location = /mcp { empty_gif; mcp mcp; mcp_backend @b; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp" directive is in a location that has another content handler.* in .*nginx\.conf:\d+}



=== TEST 151: proxy_pass after mcp_publish: rejected
--- config
    location @b { return 204; }
    location /publish { mcp_publish mcp; proxy_pass http://127.0.0.1:1; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp_publish" in .*nginx\.conf:\d+ has no effect}



=== TEST 152: proxy_pass after mcp_status: rejected
--- config
    location @b { return 204; }
    location /status { mcp_status mcp; proxy_pass http://127.0.0.1:1; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp_status" in .*nginx\.conf:\d+ has no effect}



=== TEST 153: mcp_publish in an exact location without mcp_publish_token: rejected
--- config
    location @b { return 204; }
    location = /publish { mcp_publish mcp; }
--- must_die
--- error_log eval
qr{\[emerg\] .*"mcp_publish" in .*nginx\.conf:\d+ has no effect in exact location "= /publish"}



=== TEST 154: mcp_publish with a token in an exact location, or proxy_pass in an if after mcp: accepted
--- config
    location @b { return 204; }
    location = /publish { mcp_publish mcp; mcp_publish_token t; }
    location = /mcp {
        mcp mcp; mcp_backend @b;
        if ($arg_x) { proxy_pass http://127.0.0.1:1; }
    }
--- request eval: $::Ping
--- more_headers eval: MCP::post()
--- response_body eval: $::Pong



=== TEST 155: mcp_zone with a size of 32769m: rejected as too large
--- http_config
    mcp_zone x 32769m;
--- config
--- must_die
--- error_log
[emerg]
zone "x" is too large, at most 32768m are possible
