# SPDX-License-Identifier: Apache-2.0

# Calls whose answer is an event stream.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 158;

no_long_string();

# an endpoint whose tools are NDJSON files

sub files {
    my $directives = shift // '';

    return <<"END";
    location = /mcp { mcp mcp; mcp_backend \@b; $directives }
    location \@b {
        proxy_http_version 1.1;
        proxy_method GET;
        proxy_pass http://127.0.0.1:\$TEST_NGINX_SERVER_PORT/b/\$mcp_name;
    }
    location /b/ {
        alias html/;
        default_type application/x-ndjson;
    }
END
}

sub file { return [['x', CORE::join '', map { "$_\n" } @_]] }

sub logged {
    my $level = shift;

    return '{"jsonrpc":"2.0","method":"notifications/message","params":'
        . "{\"level\":\"$level\",\"data\":1}}";
}

our $Result = MCP::answer(MCP::text('x'));
our @Two = (MCP::progress(1), MCP::text('x'));
our $Two = MCP::event(1, MCP::progress(1)) . MCP::event(2, $Result);

run_tests();

__DATA__

=== TEST 1: message before the response: the answer is a stream
--- config eval: ::files()
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::priming() . $::Two
--- response_headers
Content-Type: text/event-stream
Cache-Control: no-cache
X-Accel-Buffering: no
Transfer-Encoding: chunked
! Content-Length
! Mcp-Session-Id



=== TEST 2: stream in 2025-03-26 or 2025-06-18: begins with a comment
--- config eval: ::files()
--- user_files eval: ::file(@::Two)
--- cases eval
[map { [MCP::progress_call('x'), MCP::post(revision => $_), 200,
    ":\n\n$::Two"] } '2025-03-26', '2025-06-18']



=== TEST 3: stream to an HTTP/1.0 client: not chunked, the connection closes after the last event
--- config eval: ::files()
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x') =~ s{/mcp}{/mcp HTTP/1.0}r
--- more_headers eval: MCP::post()
--- response_body eval: MCP::priming() . $::Two
--- response_headers
Connection: close
! Transfer-Encoding



=== TEST 4: pipelined requests before and after a streaming call: each is answered
--- config eval: ::files()
--- user_files eval: ::file(@::Two)
--- pipelined_requests eval
[MCP::rpc('ping'), MCP::progress_call('x'), MCP::rpc('ping')]
--- more_headers eval: MCP::post()
--- error_code eval: [200, 200, 200]
--- response_body eval
[MCP::answer('{}'), MCP::priming() . $::Two, MCP::answer('{}')]
--- raw_response_headers_like eval
['Connection: keep-alive', 'Connection: keep-alive', 'Connection: close']



=== TEST 5: mcp_retry: the priming event has "retry"
--- config eval: ::files('mcp_retry 1500ms;')
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::priming(0, 1500) . $::Two



=== TEST 6: mcp_retry 0: the priming event has no "retry"
--- config eval: ::files('mcp_retry 0;')
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval: "id: S.0\ndata: \n\n$::Two"



=== TEST 7: progress whose token is not the request's: dropped
--- config eval: ::files()
--- user_files eval
::file(MCP::progress(1, '"q"'), MCP::progress(1, 1), MCP::progress(1, 'null'),
    MCP::text('x'))
--- cases eval
[
    [MCP::call('x'), undef, 200, $::Result],
    [MCP::progress_call('x'), undef, 200, $::Result],
    [MCP::call('x', ',"_meta":{"progressToken":"1"}'), undef, 200, $::Result],
    [MCP::call('x', ',"_meta":{"progressToken":1}'), undef, 200,
        MCP::priming() . MCP::event(1, MCP::progress(1, 1))
        . MCP::event(2, $::Result)],
]



=== TEST 8: log messages in a session with a log level: only those of this level or above are sent
--- config eval: ::files()
--- user_files eval
::file((map { ::logged($_) } qw( debug info warning error emergency )),
    MCP::text('x'))
--- cases eval
my $stream = sub {
    my $n = 0;
    MCP::priming() . CORE::join '', map { MCP::event(++$n, $_) }
        (map { ::logged($_) } @_), $::Result;
};
my $level = sub {
    [MCP::rpc('logging/setLevel', "{\"level\":\"$_[0]\"}"),
        MCP::post(id => 'log'), 200, MCP::answer('{}')];
};
[
    [MCP::call('x'), MCP::post(id => 'log'), 200,
        $stream->(qw( debug info warning error emergency ))],
    $level->('error'),
    [MCP::call('x'), MCP::post(id => 'log'), 200,
        $stream->(qw( error emergency ))],
    [MCP::call('x'), MCP::post(id => 'other'), 200,
        $stream->(qw( debug info warning error emergency ))],
    $level->('notice'),
    [MCP::call('x'), MCP::post(id => 'log'), 200,
        $stream->(qw( warning error emergency ))],
    $level->('debug'),
    [MCP::call('x'), MCP::post(id => 'log'), 200,
        $stream->(qw( debug info warning error emergency ))],
]



=== TEST 9: all log messages are below the session's level: the answer is plain JSON
--- config eval: ::files()
--- user_files eval: ::file(::logged('debug'), MCP::text('x'))
--- cases eval
[
    [MCP::rpc('logging/setLevel', '{"level":"alert"}'), undef, 200,
        MCP::answer('{}')],
    [MCP::call('x'), undef, 200, $::Result],
]



=== TEST 10: unknown notification from a backend: passed on
--- config eval: ::files()
--- user_files eval
::file('{"jsonrpc": "2.0", "method": "notifications/x"}', MCP::text('x'))
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . MCP::event(1,
    '{"jsonrpc": "2.0", "method": "notifications/x"}')
    . MCP::event(2, $::Result)



=== TEST 11: list changes from a backend: not sent on the call's stream
--- config eval: ::files()
--- user_files eval
::file((map { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/$_\"}" }
    'tools/list_changed', 'prompts/list_changed', 'resources/list_changed',
    'resources/updated'), MCP::text('x'))
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval: $::Result



=== TEST 12: backend's error after progress: sent as the last event of the stream
--- config eval: ::files()
--- user_files eval
::file(MCP::progress(1),
    '{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}', 'dropped')
--- request eval: MCP::progress_call('x', '"i"')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . MCP::event(1, MCP::progress(1)) . MCP::event(2,
    MCP::fault(-1, 'no', '"i"'))



=== TEST 13: broken JSON after progress: -32603 is the last event of the stream
--- config eval: ::files()
--- user_files eval: ::file(MCP::progress(1), '{')
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . MCP::event(1, MCP::progress(1)) . MCP::event(2,
    MCP::fault(-32603, 'Backend sent an invalid response', 1))
--- error_log
of "x" failed in its backend: broken JSON



=== TEST 14: backend's SSE event with several data lines: sent as one line
--- config eval
::files() =~ s{application/x-ndjson}{text/event-stream}r
--- user_files eval
[['x', "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/x\"}\n\n"
    . "data: {\r\ndata: \"content\":[\"\\n\"]\r\ndata: }\r\n\r\n"]]
--- request eval: MCP::call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . MCP::event(1,
    '{"jsonrpc":"2.0", "method":"notifications/x"}')
    . MCP::event(2, MCP::answer('{ "content":["\n"] }'))



=== TEST 15: stream of 3001 events: each is sent
--- config eval: ::files()
--- user_files eval
::file((map { MCP::progress($_) } 1 .. 3000), MCP::text('x'))
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . CORE::join('', map { MCP::event($_, MCP::progress($_)) }
    1 .. 3000) . MCP::event(3001, $::Result)



=== TEST 16: more events than mcp_max_events: each is sent
--- config eval: ::files('mcp_max_events 4;')
--- user_files eval
::file((map { MCP::progress($_) } 1 .. 500), MCP::text('x'))
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . CORE::join('', map { MCP::event($_, MCP::progress($_)) }
    1 .. 500) . MCP::event(501, $::Result)



=== TEST 17: more bytes than mcp_stream_buffer: each event is sent
--- config eval: ::files('mcp_stream_buffer 8k;')
--- user_files eval
::file((map { MCP::progress("1$_," . '"message":"' . 'x' x 1000 . '"') }
    1 .. 100), MCP::text('x'))
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body_like eval
qr/\A(?:id: .*\n(?:retry: .*\n)?data: .*\n\n){101}id: S\.101\ndata: \Q$::Result\E\n\n\z/



=== TEST 18: result of 800 kB on a stream: complete
--- config eval: ::files()
--- user_files eval
::file(MCP::progress(1), MCP::text('abcdefgh' x 100_000))
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval
MCP::priming() . MCP::event(1, MCP::progress(1)) . MCP::event(2,
    MCP::answer(MCP::text('abcdefgh' x 100_000)))



=== TEST 19: backend sends messages one by one: each is sent at once
--- config eval: MCP::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call;
for my $n (1 .. 5) {
    $call->ndjson(MCP::progress($n));
    $client->upto($n);
}
$call->ndjson(MCP::text('x'));
MCP::same($client->body, MCP::priming() . CORE::join('', map {
    MCP::event($_, MCP::progress($_)) } 1 .. 5) . MCP::event(6, $::Result));



=== TEST 20: backend's connection stays open after the response: the response is sent at once
--- config eval: MCP::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call->ndjson(MCP::text('x'));
MCP::same($client->body, $::Result);
$call->last;



=== TEST 21: messages after the response: dropped
--- config eval: MCP::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call->ndjson(MCP::text('x'), MCP::text('y'), 'z');
MCP::same($client->body, $::Result);



=== TEST 22: backend sends nothing for mcp_stream_after: the stream begins
--- config eval: MCP::own('mcp_stream_after 20ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call;
$client->upto(0);
$call->reply('application/json', MCP::text('x'));
MCP::same($client->body, MCP::priming() . MCP::event(1, $::Result));



=== TEST 23: mcp_stream_after 0: the call is a stream from the beginning
--- config eval: MCP::own('mcp_stream_after 0;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call;
$client->upto(0);
$call->reply('text/plain', 'x');
MCP::same($client->body, MCP::priming() . MCP::event(1, $::Result));



=== TEST 24: mcp_stream_after in 2025-06-18: the stream begins with a comment
--- config eval: MCP::own('mcp_stream_after 20ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), MCP::post(revision => '2025-06-18'));
my $call = $backend->call;
$client->until(qr/\r\n\r\n:\n\n/);
$call->reply('text/plain', 'x');
MCP::same($client->body, ":\n\n" . MCP::event(1, $::Result));



=== TEST 25: mcp_keepalive: comments are sent between events
--- config eval: MCP::own('mcp_keepalive 20ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->until(qr/\n:\n\n.*:\n\n/s);
$call->ndjson(MCP::text('x'));
MCP::same($client->body =~ s/^:\n\n//mgr, MCP::priming() . $::Two);



=== TEST 26: stream open for longer than mcp_close_after: ends with a retry field, resume gets the rest
--- config eval: MCP::own('mcp_close_after 20ms; mcp_retry 300ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
MCP::same($client->body, MCP::priming(0, 300)
    . MCP::event(1, MCP::progress(1)) . "retry: 300\n\n");
$call->ndjson(MCP::text('x'));
my $rest = '';
my $id = $client->last_id;
while ($rest !~ /result/) {
    my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
    my $body = $again->body;
    $id = $again->last_id;
    MCP::same($body, qr/\Aid: S\.\d\nretry: 300\ndata: \n\n/);
    $rest .= $body;
}
MCP::same($rest, qr/id: S\.2\ndata: \Q$::Result\E\n\n\z/);



=== TEST 27: mcp_close_after in 2025-06-18: the connection stays open
--- config eval: MCP::own('mcp_close_after 1ms; mcp_keepalive 20ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'),
    MCP::post(revision => '2025-06-18'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->until(qr/progress":1.*\n:\n\n/s);
$call->ndjson(MCP::text('x'));
MCP::same($client->body =~ s/^:\n\n//mgr, $::Two);



=== TEST 28: batch that streams: the responses are sent in the order in which they are ready
--- config eval: MCP::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin("POST /mcp\n[" . CORE::join(',',
    MCP::message('ping', undef, 7),
    map { MCP::message('tools/call', "{\"name\":\"$_\",\"_meta\":"
        . "{\"progressToken\":\"p\"}}", "\"$_\"") } 'a', 'b') . ']',
    MCP::post(revision => '2025-03-26'));
my %call;
for (1 .. 2) {
    my $call = $backend->call;
    $call{$1} = $call if $call->in =~ /"name":"(.)"/;
}
$call{b}->ndjson(MCP::progress(1));
$client->upto(2);
$call{b}->ndjson(MCP::text('b'));
$client->upto(3);
$call{a}->ndjson(MCP::text('a'));
MCP::same($client->body, ":\n\n" . MCP::event(1, MCP::answer('{}', 7))
    . MCP::event(2, MCP::progress(1))
    . MCP::event(3, MCP::answer(MCP::text('b'), '"b"'))
    . MCP::event(4, MCP::answer(MCP::text('a'), '"a"')));



=== TEST 29: gzip on: streams are not compressed
--- config eval
'gzip on; gzip_types *; gzip_min_length 1;' . ::files()
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post(more => 'Accept-Encoding: identity')
--- response_body eval: MCP::priming() . $::Two



=== TEST 30: add_header at the endpoint: a stream has the header
--- config eval
'add_header X-Added "$mcp_method" always;' . ::files()
--- user_files eval: ::file(@::Two)
--- request eval: MCP::progress_call('x')
--- more_headers eval: MCP::post()
--- response_body eval: MCP::priming() . $::Two
--- response_headers
X-Added: tools/call



=== TEST 31: two streams at once: each gets its own messages
--- config eval: MCP::own()
--- init
my $backend = MCP::backend();
my @client = map { MCP::begin(MCP::progress_call('x', $_)) } 1 .. 2;
my @call;
for (1 .. 2) {
    my $call = $backend->call;
    $call[$1] = $call if $call->in =~ /"id":(\d)/;
}
$call[2]->ndjson(MCP::progress(1));
$client[1]->upto(1);
$call[1]->ndjson(MCP::progress(2));
$client[0]->upto(1);
$call[$_]->ndjson(MCP::text($_)) for 1 .. 2;
MCP::same($client[0]->body, MCP::priming() . MCP::event(1, MCP::progress(2))
    . MCP::event(2, MCP::answer(MCP::text(1))));
MCP::same($client[1]->body, MCP::priming() . MCP::event(1, MCP::progress(1))
    . MCP::event(2, MCP::answer(MCP::text(2), 2)));
