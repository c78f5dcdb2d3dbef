# SPDX-License-Identifier: Apache-2.0

# Backends behind the other upstream protocols of nginx.

use Test::Nginx::Socket 'no_plan';
use lib 't/lib';
use MCP;

repeat_each(1);

no_long_string();

our $Result = MCP::answer(MCP::text('x'));
our $Failed = MCP::fault(-32603, 'Backend failed', 1);

run_tests();

__DATA__

=== TEST 1: SCGI backend that streams: each message is sent at once
--- config eval
"location = /mcp { mcp mcp; mcp_backend \@s; }
location \@s {
    scgi_buffering off;
    include $ENV{PWD}/examples/mcp_scgi_params;
    scgi_pass unix:\$TEST_NGINX_HTML_DIR/backend.sock;
}"
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->connection;
$call->until(qr/\A\d+:CONTENT_LENGTH\0\d+\0.*MCP_NAME\0x\0.*,\{.*\}\z/s);
(() = $call->in =~ /(?<!_)CONTENT_LENGTH\0/g) == 1 or die $call->in;
$call->in =~ /\0SCGI\x{0}1\0/ or die $call->in;
$call->send("Status: 200\r\nContent-Type: application/x-ndjson\r\n\r\n",
    MCP::progress(1) . "\n");
my $progress = MCP::progress(1);
$client->until(qr/\Q$progress\E\n\n/);
$call->send(MCP::text('x') . "\n")->close;
$client->rest =~ /\Q$::Result\E\n\n/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 2: uwsgi backend: the call gets its answer
--- config eval
"location = /mcp { mcp mcp; mcp_backend \@u; }
location \@u {
    include $ENV{PWD}/examples/mcp_uwsgi_params;
    uwsgi_pass unix:\$TEST_NGINX_HTML_DIR/backend.sock;
}"
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $message = MCP::message('tools/call', '{"name":"x"}');
my $call = $backend->connection;
$call->until(qr/\x08\0MCP_NAME\x01\0x.*\Q$message\E\z/s);
$call->send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx")->close;
$client->rest =~ /\Q$::Result\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')



=== TEST 3: uwsgi backend closes without an answer: -32603
--- config
    location = /mcp { mcp mcp; mcp_backend @u; }
    location @u {
        uwsgi_param MCP_NAME $mcp_name;
        uwsgi_pass unix:$TEST_NGINX_HTML_DIR/backend.sock;
    }
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->connection;
$call->until(qr/MCP_NAME/);
$call->close;
$client->rest =~ /\Q$::Failed\E\z/ or die $client->in;
--- request eval: MCP::rpc('ping')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::answer('{}')
--- error_log
of "x" failed in its backend:



=== TEST 4: gRPC backend over HTTP/2: the call gets its answer
--- http_config
    server {
        listen unix:$TEST_NGINX_HTML_DIR/h2.sock http2;
        default_type text/plain;
        return 200 x;
    }
--- config
    location = /mcp { mcp mcp; mcp_backend @g; }
    location @g {
        grpc_pass unix:$TEST_NGINX_HTML_DIR/h2.sock;
    }
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Result
