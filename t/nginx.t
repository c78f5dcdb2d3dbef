# SPDX-License-Identifier: Apache-2.0

# The module together with other parts of nginx: directives in a backend's
# location, slow clients, event methods.

use Test::Nginx::Socket 'no_plan';
use lib 't/lib';
use MCP;

repeat_each(1);

no_long_string();

our $Result = MCP::answer(MCP::text('x'));

# a request too large for the buffers of sockets

our $Padding = 'a' x (4 << 20);
our $Large = MCP::message('tools/call',
    "{\"name\":\"x\",\"arguments\":{\"a\":\"$Padding\"}}");

# Reads from a connection and checks that it has the request's whole body.

sub whole {
    my $peer = shift;

    while (index($peer->in, "\r\n\r\n") < 0
           || length($peer->in =~ s/\A.*?\r\n\r\n//sr) < length $::Large)
    {
        $peer->read or die "the request broke off\n";
    }

    $peer->in =~ s/\A.*?\r\n\r\n//sr eq $::Large or die "another body\n";
}

# Accepts two concurrent requests and returns the one for the path first.

sub both {
    my ($backend, $path) = @_;

    my @peers = map { $backend->connection } 1, 2;

    $_->until(qr{^POST \S+ HTTP}) for @peers;

    return $peers[0]->in =~ m{^POST \Q$path\E } ? @peers : reverse @peers;
}

run_tests();

__DATA__

=== TEST 1: mirror in a backend's location: the answer is not delayed, the mirror gets the whole body
--- config eval
MCP::own('mcp_max_message 8m; mcp_stream_after 60s;',
         'mirror /mirror; client_body_buffer_size 8m;')
. <<'END'
location = /mirror {
    internal;
    proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock:/mirror;
}
END
--- init
my $backend = MCP::backend();
my $client = MCP::begin("POST /mcp\n$::Large");
my ($mirror, $call) = ::both($backend, '/mirror');
::whole($call);
$call->reply('application/json', MCP::text('x'));
MCP::same($client->body, $::Result);
::whole($mirror);
$mirror->reply('text/plain', 'ignored');
# a stream likewise
$client = MCP::begin(MCP::progress_call('x'));
($mirror, $call) = ::both($backend, '/mirror');
$call->ndjson(MCP::progress(1), MCP::text('x'))->last;
$client->rest =~ /\Q$::Result\E\n\n\z/ or die $client->in;
$mirror->reply('text/plain', 'ignored');



=== TEST 2: mirror subrequest that outlasts the backend's answer: the status counts no active call
--- config eval
MCP::own('', 'mirror /mirror;') . <<'END'
location = /mirror {
    internal;
    proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock:/mirror;
}
location = /status { mcp_status mcp; }
END
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my ($mirror, $call) = ::both($backend, '/mirror');
$call->reply('application/json', MCP::text('x'));
MCP::same($client->body, $::Result);
MCP::ask('GET /status?format=json', '') =~ /"calls_active":0,/
    or die 'the call goes on';
$mirror->reply('text/plain', 'ignored');



=== TEST 3: GET with a body whose client closes the connection: the listener ends
--- config eval
MCP::own('mcp_keepalive off;') . "location = /status { mcp_status mcp; }\n"
--- init
my $client = MCP::peer(IO::Socket::INET->new(
    PeerAddr => Test::Nginx::Util::server_addr(),
    PeerPort => Test::Nginx::Util::server_port_for_client()));
my $headers = MCP::get(more => "Content-Length: 2\nExpect: 100-continue")
    =~ s/\n/\r\n/gr;
$client->send("GET /mcp HTTP/1.1\r\nHost: localhost\r\n$headers\r\n");
$client->until(qr/ 100 Continue/);
$client->send('{}');
$client->until(qr/^id: .*\n(?:.+\n)*\n/m);
MCP::ask('GET /status?format=json', '') =~ /"consumers_active":1,/
    or die 'nobody listens';
$client->close;
my $end = time + $MCP::TIMEOUT;
until (MCP::ask('GET /status?format=json', '') =~ /"consumers_active":0,/) {
    die 'still listens' if time > $end;
    select undef, undef, undef, 0.005;
}



=== TEST 4: backend's location with a rewrite to an endpoint: -32603
--- config
    location = /mcp { mcp mcp; mcp_backend @b; }
    location @b { rewrite ^ /other last; }
    location = /other { mcp mcp; mcp_backend @c; }
    location @c { return 200 "{}"; }
--- cases eval
[
    [MCP::call('x'), undef, 200,
        MCP::fault(-32603, 'Backend failed', 1)],
]
--- error_log
the location of an MCP backend redirects to an MCP endpoint



=== TEST 5: X-Accel-Redirect from a backend: followed to another MCP backend, -32603 for other locations
--- config
    error_page 404 /secret;
    location = /mcp {
        mcp mcp;
        mcp_backend @own;
        mcp_route other @other;
        mcp_route ignoring @ignoring;
    }
    location @own {
        proxy_http_version 1.1;
        proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock;
        proxy_intercept_errors on;
        error_page 418 = @fallback;
    }
    location @other {
        proxy_http_version 1.1;
        proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock;
    }
    location @ignoring {
        proxy_http_version 1.1;
        proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock;
        proxy_ignore_headers X-Accel-Redirect;
        proxy_intercept_errors on;
        error_page 418 = @fallback;
    }
    location @fallback { return 200 "fallback"; }
    location @secret { return 200 "secret"; }
    location = /secret { internal; return 200 "secret"; }
--- init
my $backend = MCP::backend();
for my $to (qw( /secret /missing @secret @fallback @nowhere /mcp )) {
    my $client = MCP::begin(MCP::call('x'));
    $backend->call->send("HTTP/1.1 200 OK\r\nX-Accel-Redirect: $to\r\n"
        . "Content-Length: 0\r\n\r\n")->close;
    MCP::same($client->body, MCP::fault(-32603, 'Backend failed', 1));
}
# what another backend says, as often as it is asked
my $client = MCP::begin(MCP::call('x'));
for (1, 2) {
    $backend->call->send("HTTP/1.1 200 OK\r\nX-Accel-Redirect: \@other\r\n"
        . "Content-Length: 0\r\n\r\n")->close;
}
$backend->call->reply('application/json', MCP::text('x'));
MCP::same($client->body, $::Result);
# and what the operator says
$client = MCP::begin(MCP::call('x'));
$backend->call->reply('text/plain', 'no', 418);
$client->body =~ /"text":"fallback"/ or die $client->in;
$client = MCP::begin(MCP::call('ignoring'));
$backend->call->send("HTTP/1.1 418 No\r\nX-Accel-Redirect: /secret\r\n"
    . "Content-Length: 0\r\n\r\n")->close;
$client->body =~ /"text":"fallback"/ or die $client->in;
--- no_error_log eval
qr/\[(?:crit|alert|emerg)\]/
--- grep_error_log eval
qr/X-Accel-Redirect to "\S+" is refused, because its target is not the location of an MCP backend/
--- grep_error_log_out
X-Accel-Redirect to "/secret" is refused, because its target is not the location of an MCP backend
X-Accel-Redirect to "/missing" is refused, because its target is not the location of an MCP backend
X-Accel-Redirect to "@secret" is refused, because its target is not the location of an MCP backend
X-Accel-Redirect to "@fallback" is refused, because its target is not the location of an MCP backend
X-Accel-Redirect to "/mcp" is refused, because its target is not the location of an MCP backend



=== TEST 6: error of a mirror after the backend's answer: the line in the error log names the call
--- config eval
MCP::own('', 'mirror /mirror;') . <<'END'
location = /mirror {
    internal;
    proxy_pass http://unix:$TEST_NGINX_HTML_DIR/backend.sock:/mirror;
}
END
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my ($mirror, $call) = ::both($backend, '/mirror');
$call->reply('application/json', MCP::text('x'));
MCP::same($client->body, $::Result);
$mirror->send("no HTTP at all\r\n\r\n")->close;
--- error_log eval
qr{\[error\] .*upstream sent no valid HTTP/1\.0 header.*subrequest: "/mirror".*, mcp call: "[\w-]{8}", mcp name: "x"}
