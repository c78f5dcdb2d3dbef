# SPDX-License-Identifier: Apache-2.0

# The loader of these tests. Needs nginx, but not the module.

use Test::Nginx::Socket;

plan tests => repeat_each(2) * (blocks() * 3 + 7);

no_long_string();
log_level('info');

run_tests();

__DATA__

=== TEST 1: return directive: the response has the text as its body and the type text/plain
--- config
    location = /t {
        return 200 "hello\n";
    }
--- request
GET /t
--- response_body
hello
--- response_headers
Content-Type: text/plain
! X-Absent
--- no_error_log
[error]



=== TEST 2: POST body in a test file ends with an empty line: Test::Nginx does not send the line
--- http_config
    log_format t '$request_method|$content_length|$http_x_a|$request_body';
--- config
    location = /t {
        access_log $TEST_NGINX_SERVER_ROOT/logs/access.log t;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/echo;
    }
    location = /echo {
        return 200 "$request_method $content_length $http_x_a";
    }
--- request
POST /t
{"a": 1}

--- more_headers
X-A: b
--- response_body chomp
POST 8 b
--- access_log
POST|8|b|{\x22a\x22: 1}
--- no_access_log
GET



=== TEST 3: several requests in one test: each has its own expectations
--- config
    location = /a { return 200 "a"; }
    location = /b { return 404 "b"; }
--- request eval
["GET /a", "GET /b"]
--- error_code eval
[200, 404]
--- response_body eval
["a", "b"]
--- no_error_log
[alert]



=== TEST 4: pipelined requests on one connection: a response for each
--- config
    location = /a { return 200 "a"; }
    location = /b { return 201 "b"; }
--- pipelined_requests eval
["GET /a", "GET /b"]
--- error_code eval
[200, 201]
--- response_body_like eval
["^a", qr/^b/]



=== TEST 5: request in three packets with delays: one response
--- config
    location = /t { return 200 "$http_host"; }
--- request eval
[["GET /", {value => "t HTT", delay_before => 0.01}, "P/1.0\r\n"]]
--- more_headers
Host: example.org
--- response_body: example.org
--- raw_response_headers_like: Connection: close



=== TEST 6: raw request for a missing file: error_page sends 410, the error log has the failed open()
--- config
    location /a/ { root html; error_page 404 = @missing; }
    location @missing { return 410; }
--- user_files
>>> a/b.txt
content
--- raw_request eval
"GET /a/c.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
--- error_code: 410
--- response_body_unlike: content
--- error_log eval
qr/open\(\) ".*c\.txt" failed/
--- grep_error_log eval
qr/No such file/
--- grep_error_log_out
No such file



=== TEST 7: invalid configuration: nginx does not start, and the error log has the reason
--- config
    no_such_directive;
--- must_die: 1
--- error_log
[emerg]
unknown directive "no_such_directive"
--- no_error_log
[alert]



=== TEST 8: chunked response: its chunks are joined to one body
--- config
    location = /t {
        proxy_http_version 1.1;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
. "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
--- request
GET /t
--- response_headers_like
Transfer-Encoding: chun.*
--- response_body: abcde



=== TEST 9: response that does not end: the client aborts the request after the test's timeout
--- config
    location = /t {
        proxy_buffering off;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_no_close
--- tcp_reply eval
"HTTP/1.1 200 OK\r\n\r\nabc"
--- request
GET /t
--- timeout: 200ms
--- abort
--- ignore_response
--- no_error_log
[error]
