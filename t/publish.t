# SPDX-License-Identifier: Apache-2.0

# The publish endpoint, listening clients, and calls that are answered later.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 309;

no_long_string();

our $Changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
our $Forbidden = MCP::fault(-32000, 'Forbidden');
our $Result = MCP::answer(MCP::text('x'));

sub door {
    my ($publish, $mcp) = @_;

    $publish //= '';
    $mcp //= '';

    return <<"END";
    mcp_publish_token "the token";

    location = /mcp { mcp mcp; mcp_backend \@own; $mcp
        mcp_publish_url http://127.0.0.1:\$TEST_NGINX_SERVER_PORT/publish; }
    location /publish { mcp_publish mcp $publish; }
    location = /status { mcp_status mcp; }
    location \@own {
        proxy_http_version 1.1;
        proxy_set_header X-Publish \$mcp_publish_url;
        proxy_pass http://unix:\$TEST_NGINX_HTML_DIR/backend.sock;
    }
END
}

sub head {
    my ($token, %o) = @_;

    return MCP::lines(type => 'application/json', session => undef, %o,
        defined $token ? (more => "Authorization: Bearer $token"
            . (defined $o{more} ? "\n$o{more}" : '')) : ());
}

our $Token = head('the token');

sub publish { return "POST /publish\n" . CORE::join("\n", @_) }

sub updated {
    return '{"jsonrpc":"2.0","method":"notifications/resources/updated",'
        . "\"params\":{\"uri\":\"$_[0]\"}}";
}

# the token of a call that was made at this time

sub call_token {
    my ($ms, $id) = @_;

    return MCP::sign('p', pack('a16 C Q>', $id // 'no such call', 0, $ms));
}

sub listen {
    my $client = MCP::begin('GET /mcp', MCP::get(@_));

    $client->upto(0);

    return $client;
}

# Starts a call whose backend has answered 202. Returns the client and the path
# of the publish URL.

sub detached {
    our $Backend = MCP::backend();

    my $client = MCP::begin(MCP::progress_call('x'), @_);
    my $call = $Backend->call;
    my ($path) = $call->in =~ m{^X-Publish: http://[^/]+(\S+)\r$}m;

    $call->reply('text/plain', '', 202);
    $client->upto(0);

    return ($client, $path);
}

sub deliver {
    my ($path, $body, $headers) = @_;

    my $client = MCP::begin("POST $path\n$body",
        $headers // "Content-Type: application/json\n");

    $client->rest;

    return $client->status;
}

run_tests();

__DATA__

=== TEST 1: publish with the token in Authorization or in the path: 202
--- config eval: ::door()
--- cases eval
[
    [::publish($::Changed), $::Token, 202, ''],
    [::publish($::Changed), ::head('the token', more => 'Accept: x/y'), 202,
        ''],
    [::publish($::Changed), $::Token =~ s/Bearer/bEARER/r, 202, ''],
    ["POST /publish/the%20token\n$::Changed",
        "Content-Type: application/json\n", 202, ''],
    ["POST /publish/a/b/the%20token\n$::Changed",
        "Content-Type: application/json\n", 202, ''],
]



=== TEST 2: publish with a wrong token or none: 403
--- config eval: ::door()
--- cases eval
[map { [::publish($::Changed), $_, 403, $::Forbidden] }
    ::head(undef), ::head('the tokem'), 
    ::head('the toke'), ::head(''), ::head(MCP::session()),
    ::head('x' x 4000), $::Token =~ s/Bearer/Basic/r,
    ::head(MCP::sign('s', pack 'a16 C Q>', 'x', 0, 1)),
    ::head(MCP::sign('p', pack('a16 C Q>', 'x', 0, 1), $MCP::OTHER_KEY)),
    ::head(MCP::sign('p', 'x'))]



=== TEST 3: publish endpoint without mcp_publish_token: 403 with an empty, a wrong or no token
--- config
    location /publish { mcp_publish mcp; }
--- cases eval
[map { [::publish($::Changed), $_, 403, $::Forbidden] }
    ::head(undef), ::head(''), ::head('x')]



=== TEST 4: publish with another method: 405, Allow: POST
--- config eval: ::door()
--- cases eval
[map { ["$_ /publish", $::Token, 405,
    MCP::fault(-32000, 'Method not allowed')] }
    qw( GET PUT DELETE OPTIONS PATCH )]
--- response_headers eval
[map { 'Allow: POST' } 1 .. 5]



=== TEST 5: publish with an Origin: 403
--- config eval: ::door('open')
--- cases eval
[map { [::publish($::Changed), ::head('the token', more => "Origin: $_"), 403,
    $::Forbidden] }
    'http://localhost', 'https://example.com', 'null']



=== TEST 6: publish from another machine: 403
--- config eval
'set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;' . ::door()
--- cases eval
[
    (map { [::publish($::Changed), ::head('the token',
        more => "X-Real-IP: $_"), 403, $::Forbidden] }
        '10.0.0.1', '128.0.0.1', '126.255.255.255', '2001:db8::1',
        '::ffff:10.0.0.1', '::2'),
    (map { [::publish($::Changed), ::head('the token',
        more => "X-Real-IP: $_"), 202, ''] }
        '127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1'),
]



=== TEST 7: mcp_publish open: the token is accepted from any address
--- config eval
'set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;' . ::door('open')
--- cases eval
[
    [::publish($::Changed), ::head('the token', more => 'X-Real-IP: 10.0.0.1'),
        202, ''],
    [::publish($::Changed), ::head('x', more => 'X-Real-IP: 10.0.0.1'), 403,
        $::Forbidden],
]



=== TEST 8: media type of a publish: JSON, NDJSON and event streams get 202, others 415
--- config eval: ::door()
--- cases eval
[
    (map { [::publish($::Changed), ::head('the token', type => $_), 202, ''] }
        'application/json; charset=utf-8', 'application/x-ndjson',
        'application/ndjson'),
    (map { [::publish($::Changed), ::head('the token', type => $_), 415,
        qr/Unsupported Media Type/] }
        undef, 'text/plain', 'application/x-www-form-urlencoded'),
    [::publish("data: $::Changed\n"), ::head('the token',
        type => 'text/event-stream'), 202, ''],
]



=== TEST 9: publish of something other than messages: 400
--- config eval: ::door()
--- cases eval
[
    (map { [::publish($_), $::Token, 400, MCP::fault(-32700, 'Parse error')] }
        '{', 'x', '{} {}', "$::Changed,", '[', "[$::Changed,]"),
    (map { [::publish($_), $::Token, 400,
        MCP::fault(-32600, 'Invalid Request')] }
        '1', '"x"', 'null', '[1]', "[$::Changed,[]]"),
    [::publish('{'), ::head('the token', type => 'application/x-ndjson'), 400,
        qr/Parse error/],
    [::publish('data: {'), ::head('the token', type => 'text/event-stream'),
        400, qr/Parse error/],
]



=== TEST 10: call's message with mcp_publish_token instead of the call's token: 403
--- config eval: ::door()
--- cases eval
[map { [::publish($_), $::Token, 403, $::Forbidden] }
    MCP::progress(1), MCP::text('x'), $::Result, '{}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
    MCP::message('ping')]



=== TEST 11: publish of several messages at once: 202
--- config eval: ::door()
--- cases eval
[
    [::publish('[]'), $::Token, 202, ''],
    [::publish("[$::Changed, $::Changed]"), $::Token, 202, ''],
    [::publish($::Changed, '', $::Changed, ''), ::head('the token',
        type => 'application/x-ndjson'), 202, ''],
    [::publish("data: $::Changed", '', ': c', 'data:', '',
        "data: $::Changed", ''), ::head('the token',
        type => 'text/event-stream'), 202, ''],
]



=== TEST 12: publish for a call that ended or never existed: 404
--- config eval: ::door()
--- cases eval
[
    [::publish(MCP::text('x')), ::head(::call_token((time - 60) * 1000)), 404,
        MCP::fault(-32004, 'Call not found, ended or expired')],
    ['POST /publish/' . ::call_token(0) . "\n" . MCP::text('x'),
        "Content-Type: application/json\n", 404,
        MCP::fault(-32004, 'Call not found, ended or expired')],
]



=== TEST 13: publish for a call whose backend has not answered 202 yet: 503
--- config eval: ::door()
--- request eval: ::publish(MCP::text('x'))
--- more_headers eval: ::head(::call_token((time + 60) * 1000))
--- error_code: 503
--- response_body eval: MCP::fault(-32000, 'Call cannot receive messages yet')
--- response_headers_like
Retry-After: \d+



=== TEST 14: list change published with a call's token: 202, after the call has ended 404
--- config eval: ::door()
--- request eval
[ ::publish($::Changed), ::publish($::Changed) ]
--- more_headers eval
[ ::head(::call_token((time + 60) * 1000)), ::head(::call_token(0)) ]
--- error_code eval
[ 202, 404 ]
--- response_body eval
[ '', MCP::fault(-32004, 'Call not found, ended or expired') ]



=== TEST 15: published list changes: the listener gets each
--- config eval: ::door()
--- init
my $client = ::listen();
for my $kind (qw( tools prompts resources )) {
    ::deliver('/publish', "{\"jsonrpc\":\"2.0\",\n\"method\":"
        . "\"notifications/$kind/list_changed\" }", $::Token) == 202 or die;
}
$client->upto(3);
MCP::same($client->in =~ s/.*?\r\n\r\n//sr, MCP::priming() . CORE::join('',
    map { MCP::event($_->[0], '{"jsonrpc":"2.0", "method":'
        . "\"notifications/$_->[1]/list_changed\" }") }
        [1, 'tools'], [2, 'prompts'], [3, 'resources']));
$client->in =~ /^id: @{[MCP::listener()]}\.3$/m or die;



=== TEST 16: five listeners: each gets the published message
--- config eval: ::door()
--- init
my @clients = map { ::listen(id => $_) } 1 .. 5;
::deliver('/publish', $::Changed, $::Token);
$_->upto(1) for @clients;
MCP::same(MCP::ask('GET /status?format=json', ''),
    qr/"events":5,.*"published":1,.*"listeners":5,/);



=== TEST 17: publish without listeners: 202, a later listener does not get the message
--- config eval: ::door()
--- init
::deliver('/publish', $::Changed, $::Token) == 202 or die;
my $client = ::listen();
::deliver('/publish', ::updated('a:b'), $::Token) == 202 or die;
::deliver('/publish', $::Changed, $::Token) == 202 or die;
$client->upto(1);
MCP::same($client->in =~ s/.*?\r\n\r\n//sr,
    MCP::priming() . MCP::event(1, $::Changed));



=== TEST 18: listener resumed by Last-Event-ID: the client gets the later events
--- config eval: ::door()
--- init
my $client = ::listen();
::deliver('/publish', $::Changed, $::Token);
my $id = $client->upto(1);
$client->close;
::deliver('/publish', $::Changed, $::Token) for 1 .. 2;
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$again->upto(3);
MCP::same($again->in =~ s/.*?\r\n\r\n//sr, MCP::priming(1)
    . MCP::event(2, $::Changed) . MCP::event(3, $::Changed));
my $first = MCP::begin('GET /mcp', MCP::get(after => $id =~ s/\.1\z/.0/r));
$first->upto(3);
MCP::same($first->in =~ s/.*?\r\n\r\n//sr, MCP::priming(0)
    . CORE::join '', map { MCP::event($_, $::Changed) } 1 .. 3);
MCP::same($again->body, qr/id: S\.3\n[^\n]*\n\nretry: 2000\n\n\z/);



=== TEST 19: listener resumed without Last-Event-ID: the client gets the events that were not sent
--- config eval: ::door()
--- init
my $client = ::listen();
::deliver('/publish', $::Changed, $::Token);
$client->upto(1);
$client->close;
::deliver('/publish', $::Changed, $::Token);
my $again = MCP::begin('GET /mcp');
$again->upto(2);
MCP::same($again->in, qr/id: S\.2\n/);



=== TEST 20: listener without events for longer than mcp_close_after: stays open
--- config eval: ::door('', 'mcp_close_after 1ms; mcp_keepalive 20ms;')
--- init
my $client = ::listen();
$client->until(qr/\n:\n\n/);
::deliver('/publish', $::Changed, $::Token);
$client->upto(1);



=== TEST 21: listener of 2025-03-26: begins with a comment
--- config eval: ::door()
--- init
my $client = MCP::begin('GET /mcp', MCP::get(revision => '2025-03-26'));
$client->until(qr/\r\n\r\n:\n\n/);
::deliver('/publish', $::Changed, $::Token);
$client->upto(1);
MCP::same($client->in =~ s/.*?\r\n\r\n//sr, ":\n\n"
    . MCP::event(1, $::Changed));



=== TEST 22: listener that missed more than mcp_max_events: 404 with Last-Event-ID, otherwise a log message
--- config eval: ::door('', 'mcp_max_events 3;')
--- init
my $client = ::listen();
::deliver('/publish', $::Changed, $::Token);
my $id = $client->upto(1);
$client->close;
::deliver('/publish', $::Changed, $::Token) for 1 .. 10;
MCP::same(MCP::begin('GET /mcp', MCP::get(after => $id))->body,
    MCP::fault(-32000, 'Events no longer available'));
my $late = MCP::begin('GET /mcp', MCP::get());
$late->upto(11);
MCP::same($late->in =~ s/.*?\r\n\r\n//sr, MCP::priming(8)
    . 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{'
    . '"level":"error","logger":"mcp","data":{"text":"Earlier messages may not '
    . 'have arrived and are no longer stored","events":7}}}' . "\n\n"
    . join('', map { MCP::event($_, $::Changed) } 9 .. 11));



=== TEST 23: DELETE of a session: its listener ends
--- config eval: ::door()
--- init
my $client = ::listen();
MCP::begin('DELETE /mcp')->rest;
$client->closed;
MCP::then_request('GET /mcp', MCP::get());
--- request
GET /mcp
--- error_code: 404
--- response_body_like: Session not found



=== TEST 24: resources/updated: only subscribers of the resource get the notification
--- config eval: ::door()
--- init
my $backend = MCP::backend();
my $ask = sub {
    my ($method, $uri, @session) = @_;
    my $client = MCP::begin(MCP::rpc("resources/$method",
        "{\"uri\":\"$uri\"}"), MCP::post(@session));
    $backend->call->reply('application/json', '{}');
    MCP::same($client->body, MCP::answer('{}'));
};
my @clients = map { ::listen(id => $_) } 1, 2;
$ask->('subscribe', 'a:b');
$ask->('subscribe', 'a:\u0063', id => 2);
::deliver('/publish', ::updated($_), $::Token) for 'a:d', 'a:b', 'a:c';
::deliver('/publish', $::Changed, $::Token);
$_->upto(2) for @clients;
MCP::same($clients[0]->in =~ s/.*?\r\n\r\n//sr, MCP::priming()
    . MCP::event(1, ::updated('a:b')) . MCP::event(2, $::Changed));
MCP::same($clients[1]->in =~ s/.*?\r\n\r\n//sr, MCP::priming()
    . MCP::event(1, ::updated('a:c')) . MCP::event(2, $::Changed));
$ask->('unsubscribe', 'a:b');
::deliver('/publish', ::updated('a:b'), $::Token);
::deliver('/publish', $::Changed, $::Token);
$clients[0]->upto(3);
MCP::same($clients[0]->in, qr/id: S\.3\ndata: \Q$::Changed\E\n\n\z/);



=== TEST 25: subscription that the backend rejects: the listener gets no updates
--- config eval: ::door()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::rpc('resources/subscribe', '{"uri":"a:b"}'));
$backend->call->reply('application/json',
    '{"jsonrpc":"2.0","error":{"code":-32002,"message":"no"}}');
MCP::same($client->body, MCP::fault(-32002, 'no', 1));
my $listener = ::listen();
::deliver('/publish', ::updated('a:b'), $::Token);
::deliver('/publish', $::Changed, $::Token);
$listener->upto(1);
MCP::same($listener->in, qr/id: S\.1\ndata: \Q$::Changed\E/);



=== TEST 26: resource updated before the subscriber listens: the new listener gets the notification
--- config eval: ::door()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::rpc('resources/subscribe', '{"uri":"a:b"}'));
$backend->call->reply('application/json', '{}');
$client->rest;
::deliver('/publish', ::updated('a:b'), $::Token);
my $listener = MCP::begin('GET /mcp');
$listener->upto(1);
MCP::same($listener->in, qr/id: S\.1\ndata: \Q@{[::updated('a:b')]}\E/);



=== TEST 27: backend answers 202: later messages reach the client
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
::deliver($path, MCP::progress(1)) == 202 or die;
$client->upto(1);
::deliver($path, MCP::text('x')) == 202 or die;
MCP::same($client->body, MCP::priming() . MCP::event(1, MCP::progress(1))
    . MCP::event(2, $::Result));



=== TEST 28: late messages in JSON, NDJSON or SSE: reach the client
--- config eval: ::door()
--- init
for my $form (
    ['application/json', '[' . MCP::progress(1) . ', ' . MCP::answer(
        MCP::text('x'), 99) . ']'],
    ['application/x-ndjson', MCP::progress(1) . "\n\n" . MCP::text('x')],
    ['text/event-stream', 'data: ' . MCP::progress(1) . "\n\nid: 7\ndata: "
        . MCP::text('x') . "\n\n"])
{
    my ($client, $path) = ::detached();
    ::deliver($path, $form->[1], "Content-Type: $form->[0]\n") == 202 or die;
    MCP::same($client->body, MCP::priming() . MCP::event(1, MCP::progress(1))
        . MCP::event(2, $::Result));
}



=== TEST 29: late response with the token in Authorization: reaches the client
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
::deliver('/publish', MCP::text('x'), ::head($path =~ s{.*/}{}r)) == 202
    or die;
MCP::same($client->body, MCP::priming() . MCP::event(1, $::Result));



=== TEST 30: late error: reaches the client
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
::deliver($path, '{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"x"}}');
MCP::same($client->body, MCP::priming() . MCP::event(1,
    MCP::fault(5, 'x', 1)));



=== TEST 31: late response while the client is away: the resumed stream has it
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
my $id = $client->last_id;
$client->close;
::deliver($path, MCP::progress(1)) == 202 or die;
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$again->upto(1);
::deliver($path, MCP::text('x'));
MCP::same($again->body, MCP::priming() . MCP::event(1, MCP::progress(1))
    . MCP::event(2, $::Result));



=== TEST 32: late response with an invalid result: -32603
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
::deliver($path, '{"jsonrpc":"2.0","result":1}') == 202 or die;
MCP::same($client->body, MCP::priming() . MCP::event(1,
    MCP::fault(-32603, 'Backend sent an invalid response', 1)));
--- error_log
of "x" failed in its backend: "result" is not an object



=== TEST 33: late message that is not JSON: 400, the call continues
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
::deliver($path, '{') == 400 or die;
::deliver($path, MCP::text('x')) == 202 or die;
MCP::same($client->body, MCP::priming() . MCP::event(1, $::Result));



=== TEST 34: call without a late response within mcp_call_timeout: -32603
--- config eval: ::door('', 'mcp_call_timeout 1s;')
--- init
my ($client, $path) = ::detached();
MCP::same($client->body, MCP::priming() . MCP::event(1,
    MCP::fault(-32603, 'Backend timed out', 1)));
--- error_log
of "x" timed out



=== TEST 35: late log message and late progress with another token: only the log message is passed on
--- config eval: ::door()
--- init
my ($client, $path) = ::detached();
my $log = '{"jsonrpc":"2.0","method":"notifications/message","params":'
    . '{"level":"info","data":1}}';
::deliver($path, "[$log," . MCP::progress(1, '"other"') . ',' . MCP::text('x')
    . ']');
MCP::same($client->body, MCP::priming() . MCP::event(1, $log)
    . MCP::event(2, $::Result));
