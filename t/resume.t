# SPDX-License-Identifier: Apache-2.0

# Resumption: Last-Event-ID, replay, superseded connections, cancellation, time
# limits.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 198;

no_long_string();

sub own {
    return MCP::own(shift, 'proxy_ignore_client_abort on;')
        . "location = /status { mcp_status mcp; }\n";
}

our $Result = MCP::answer(MCP::text('x'));
our $Malformed = MCP::fault(-32000, 'Bad Request: Invalid event ID format');
our $Unknown = MCP::fault(-32000, 'Unknown event ID');
our $Gone = MCP::fault(-32000, 'Events no longer available');

sub events {
    my ($from, $to) = @_;

    return CORE::join '', map { MCP::event($_, MCP::progress($_)) }
        $from .. $to;
}

# Starts a call that has sent n events to a client, which then leaves. Returns
# the backend's side, the last event id and the client.

sub begun {
    my ($n, $headers) = @_;

    our $Backend = MCP::backend();

    my $client = MCP::begin(MCP::progress_call('x'), $headers);
    my $call = $Backend->call;

    if ($n) {
        $call->ndjson(map { MCP::progress($_) } 1 .. $n);
        $client->upto($n);

    } else {
        $client->upto(0);
    }

    my $id = $client->last_id;

    $client->close;

    return ($call, $id, $client);
}

sub ended {
    my ($call, $id) = begun(@_);

    my $client = MCP::begin('GET /mcp', $_[1] ? $_[1] . "Last-Event-ID: $id\n"
        : MCP::get(after => $id));

    $call->ndjson(MCP::text('x'));
    $client->rest;

    return $client->last_id;
}

# the event id with another number

sub at { return $_[0] =~ s/\.\d+\z/.$_[1]/r }

# Waits until a field of the status has this value.

sub await {
    my ($name, $value) = @_;

    my $end = time + $MCP::TIMEOUT;

    while (1) {
        my ($got) = MCP::ask('GET /status?format=json', '')
            =~ /"\Q$name\E":(-?\d+)/;

        return $got if $got == $value;
        die "$name is $got, not $value\n" if time > $end;
        select undef, undef, undef, 0.005;
    }
}

run_tests();

__DATA__

=== TEST 1: resume of a running call by the last event's id: later events follow
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
my $client = MCP::begin('GET /mcp', MCP::get(after => $id));
$client->upto(1);
$call->ndjson(MCP::progress(2));
$client->upto(2);
$call->ndjson(MCP::text('x'));
MCP::same($client->body, MCP::priming(1) . ::events(2, 2)
    . MCP::event(3, $::Result));



=== TEST 2: resume by Last-Event-ID after the call has ended: the missed events are replayed
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
$call->ndjson(MCP::progress(2), MCP::progress(3), MCP::text('x'))->last;
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- response_body eval
MCP::priming(1) . ::events(2, 3) . MCP::event(4, $::Result)
--- response_headers
Content-Type: text/event-stream
Cache-Control: no-cache
X-Accel-Buffering: no



=== TEST 3: resume from each event, twice: the later events are replayed
--- config eval: ::own()
--- init
my $id = ::ended(3);
for my $round (1 .. 2) {
    for my $n (0 .. 3) {
        MCP::same(MCP::begin('GET /mcp', MCP::get(after => ::at($id, $n)))
            ->body, MCP::priming($n) . ::events($n + 1, 3)
            . MCP::event(4, $::Result));
    }
}



=== TEST 4: resume of an ended call by the id of its last event: 204
--- config eval: ::own()
--- init
MCP::then_request('GET /mcp', MCP::get(after => ::ended(2)));
--- request
GET /mcp
--- error_code: 204
--- response_body:
--- response_headers
! Content-Type



=== TEST 5: malformed Last-Event-ID: 400
--- config eval: ::own()
--- cases eval
my $s = 'A' x 22;
[map { ['GET /mcp', MCP::get(after => $_), 400, $::Malformed] }
    'x', '.', '0', $s, "$s.", "$s.x", "$s.-1", "$s.+1", "$s.01", "$s.1.2",
    "$s.0x1", "$s.1 2", "$s.9223372036854775808", "$s.99999999999999999999",
    substr($s, 1) . '.1', "A$s.1", substr($s, 1) . '!.1',
    substr($s, 1) . 'B.1', "$s,1", 'A' x 5000]



=== TEST 6: GET with an empty Last-Event-ID: the session's listener begins
--- config eval: ::own()
--- init
my $client = MCP::begin('GET /mcp', MCP::get(after => ''));
$client->until(qr/^id: @{[MCP::listener()]}\.0$/m);



=== TEST 7: unknown Last-Event-ID: 404
--- config eval: ::own()
--- cases eval
my $s = 'A' x 22;
[map { ['GET /mcp', MCP::get(after => $_), 404, $::Unknown] }
    "$s.0", "$s.1", "$s.9223372036854775807", 'aZ09-_' x 3 . 'xxxA.7',
    MCP::listener(id => 'nobody') . '.0']



=== TEST 8: id of an event that does not exist yet: 404
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(2);
for my $n (3, 4, 1000, '9223372036854775807') {
    MCP::same(MCP::begin('GET /mcp', MCP::get(after => ::at($id, $n)))->body,
        $::Unknown);
}
$call->ndjson(MCP::text('x'))->last;
::await('calls_active', 0);
MCP::same(MCP::begin('GET /mcp', MCP::get(after => ::at($id, 3)))->status,
    204);
MCP::then_request('GET /mcp', MCP::get(after => ::at($id, 4)));
--- request
GET /mcp
--- error_code: 404
--- response_body eval: $::Unknown



=== TEST 9: resume from another session: 404
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
for my $headers (MCP::get(id => 2, after => $id),
    MCP::get(id => 2, after => ::at($id, 0)))
{
    my $client = MCP::begin('GET /mcp', $headers);
    MCP::same($client->status, 404);
    MCP::same($client->body, $::Unknown);
}
my $again = MCP::begin('GET /mcp', MCP::get(after => $id));
$call->ndjson(MCP::text('x'));
MCP::same($again->body, MCP::priming(1) . MCP::event(2, $::Result));
MCP::then_request('GET /mcp', MCP::get(id => 2, after => ::at($id, 2)));
--- request
GET /mcp
--- error_code: 404
--- response_body eval: $::Unknown



=== TEST 10: resume with an id of the same session that has another expiry and revision: accepted
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
$call->ndjson(MCP::text('x'))->last;
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(expires => time + 60,
    revision => '2025-06-18', after => $id));
--- request
GET /mcp
--- response_body eval: ":\n\n" . MCP::event(2, $::Result)



=== TEST 11: resume by another principal with the same session id: 404
--- config eval: ::own('mcp_principal $http_x_user;')
--- init
my ($call, $id) = ::begun(1, MCP::post(principal => 'ada',
    more => 'X-User: ada'));
MCP::same(MCP::begin('GET /mcp', MCP::get(principal => 'bob',
    more => 'X-User: bob', after => $id))->body, $::Unknown);
MCP::same(MCP::begin('GET /mcp', MCP::get(after => $id))->body, $::Unknown);
$call->ndjson(MCP::text('x'))->last;
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(principal => 'ada',
    more => 'X-User: ada', after => $id));
--- request
GET /mcp
--- response_body eval: MCP::priming(1) . MCP::event(2, $::Result)



=== TEST 12: resume without a session or with an unknown one: 400 or 404, respectively
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
MCP::same(MCP::begin('GET /mcp', MCP::get(session => undef, after => $id))
    ->status, 400);
MCP::same(MCP::begin('GET /mcp', MCP::get(session => 'x', after => $id))
    ->body, MCP::fault(-32001, 'Session not found'));
$call->ndjson(MCP::text('x'));



=== TEST 13: resume from events that were dropped: 404
--- config eval: ::own('mcp_max_events 3;')
--- init
my ($call, $id) = ::begun(20);
for my $n (0 .. 10) {
    my $client = MCP::begin('GET /mcp', MCP::get(after => ::at($id, $n)));
    MCP::same($client->status, 404);
    MCP::same($client->body, $::Gone);
}
my $client = MCP::begin('GET /mcp', MCP::get(after => $id));
$client->upto(20);
$call->ndjson(MCP::text('x'));
MCP::same($client->body, MCP::priming(20) . MCP::event(21, $::Result));



=== TEST 14: more unsent events than mcp_max_events: none is dropped
--- config eval: ::own('mcp_max_events 3;')
--- init
my ($call, $id) = ::begun(1);
$call->ndjson(map { MCP::progress($_) } 2 .. 50);
$call->ndjson(MCP::text('x'));
MCP::same(MCP::begin('GET /mcp', MCP::get(after => $id))->body,
    MCP::priming(1) . ::events(2, 50) . MCP::event(51, $::Result));



=== TEST 15: resumed stream in 2025-03-26: begins with a comment
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1, MCP::post(revision => '2025-03-26'));
my $client = MCP::begin('GET /mcp', MCP::get(revision => '2025-03-26',
    after => $id));
$client->until(qr/\r\n\r\n:\n\n/);
$call->ndjson(MCP::progress(2), MCP::text('x'));
MCP::same($client->body, ":\n\n" . ::events(2, 2)
    . MCP::event(3, $::Result));



=== TEST 16: two connections for one stream: the later one gets the events, the earlier one ends
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
my $first = MCP::begin('GET /mcp', MCP::get(after => $id));
$first->upto(1);
my $second = MCP::begin('GET /mcp', MCP::get(after => $id));
$second->upto(1);
MCP::same($first->body, MCP::priming(1) . "retry: 2000\n\n");
my $third = MCP::begin('GET /mcp', MCP::get(after => ::at($id, 0)));
$third->upto(1);
MCP::same($second->body, MCP::priming(1) . "retry: 4000\n\n");
$call->ndjson(MCP::text('x'));
MCP::same($third->body, MCP::priming(0) . ::events(1, 1)
    . MCP::event(2, $::Result));
::await('takeovers', 2);



=== TEST 17: resume while the POST is open: the POST's response ends
--- config eval: ::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->upto(1);
my $again = MCP::begin('GET /mcp', MCP::get(after => $client->last_id));
$again->upto(1);
MCP::same($client->body, MCP::priming() . ::events(1, 1)
    . "retry: 2000\n\n");
$call->ndjson(MCP::text('x'));
MCP::same($again->body, MCP::priming(1) . MCP::event(2, $::Result));



=== TEST 18: client leaves before the first event: the call continues
--- config eval: ::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
my $call = $backend->call;
$client->close;
::await('streams', 1);
$call->ndjson(MCP::text('x'))->last;
::await('calls_active', 0);
::await('calls_cancelled', 0);



=== TEST 19: resume of a stream that mcp_stream_after began: the client gets the response
--- config eval: ::own('mcp_stream_after 10ms;')
--- init
my ($call, $id) = ::begun(0);
$call->reply('text/plain', 'x');
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- response_body eval: MCP::priming(0) . MCP::event(1, $::Result)



=== TEST 20: cancellation of a streaming call: the backend is aborted
--- config eval: ::own()
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x', '"c"'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->upto(1);
MCP::same(MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":"
    . '"notifications/cancelled","params":{"requestId":"c"}}')->status, 202);
MCP::same($client->body, MCP::priming() . ::events(1, 1));
$call->closed;
::await('calls_cancelled', 1);
::await('calls_active', 0);



=== TEST 21: cancellation of a call without a consumer: the backend is aborted
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":"
    . '"notifications/cancelled","params":{"requestId":1}}')->status;
$call->closed;
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- error_code_like: ^(?:204|404)$



=== TEST 22: cancellation before the stream begins: the backend is aborted
--- config eval: ::own('mcp_stream_after 30ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x', '', 77));
my $call = $backend->call;
MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":"
    . '"notifications/cancelled","params":{"requestId":77}}')->status;
$call->closed;
$client->closed;
MCP::same($client->in, qr/\A(?!.*result)/s);
::await('calls_cancelled', 1);



=== TEST 23: cancellation with the id of another request or from another session: the call continues
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
for my $params ('{"requestId":2}', '{"requestId":"1"}', '{"requestId":10}') {
    MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":"
        . "\"notifications/cancelled\",\"params\":$params}")->rest;
}
MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"method\":"
    . '"notifications/cancelled","params":{"requestId":1}}',
    MCP::post(id => 2))->rest;
$call->ndjson(MCP::text('x'))->last;
::await('calls_active', 0);
::await('calls_cancelled', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- response_body eval: MCP::priming(1) . MCP::event(2, $::Result)



=== TEST 24: DELETE of the session: its calls are aborted
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
my $client = MCP::begin('GET /mcp', MCP::get(after => $id));
$client->upto(1);
MCP::same(MCP::begin('DELETE /mcp')->status, 204);
$client->closed;
$call->closed;
::await('calls_active', 0);
MCP::then_request(MCP::rpc('ping'), MCP::post());
--- request
GET /mcp
--- error_code: 404
--- response_body_like: Session not found



=== TEST 25: no consumer for mcp_max_wait: the call is cancelled, resume gets 404
--- config eval: ::own('mcp_max_wait 30ms;')
--- init
my ($call, $id) = ::begun(1);
$call->closed;
::await('calls_expired', 1);
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- error_code: 404
--- response_body eval: $::Unknown
--- error_log
of "x" cancelled: no client resumed the call within mcp_max_wait



=== TEST 26: mcp_max_wait passes while a consumer reads: the call continues
--- config eval: ::own('mcp_max_wait 30ms; mcp_keepalive 50ms;')
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'));
my $call = $backend->call->ndjson(MCP::progress(1));
$client->until(qr/progress":1.*\n:\n\n.*:\n\n/s);
$call->ndjson(MCP::text('x'));
MCP::same($client->body =~ s/^:\n\n//mgr, MCP::priming() . ::events(1, 1)
    . MCP::event(2, $::Result));



=== TEST 27: resume later than mcp_linger after the response: 404
--- config eval: ::own('mcp_linger 1ms;')
--- init
my $id = ::ended(1);
::await('streams', 0);
MCP::then_request('GET /mcp', MCP::get(after => $id));
--- request
GET /mcp
--- error_code: 404
--- response_body eval: $::Unknown



=== TEST 28: more streams than mcp_max_session_streams: 429, but calls of other sessions are accepted
--- config eval: ::own('mcp_max_session_streams 2;')
--- init
my $backend = MCP::backend();
my @kept;
for (1 .. 2) {
    my $client = MCP::begin(MCP::progress_call('x', $_));
    push @kept, $backend->call->ndjson(MCP::progress(1));
    $client->upto(1);
    $client->close;
}
my $client = MCP::begin(MCP::progress_call('x', 3));
MCP::same($client->status, 429);
MCP::same($client->body, MCP::fault(-32000,
    'Too many streams, or too many bytes in them', 3));
my $other = MCP::begin(MCP::progress_call('x', 4), MCP::post(id => 2));
push @kept, $backend->call->ndjson(MCP::progress(1));
$other->upto(1);
::await('refused_limit', 1);
$_->ndjson(MCP::text('x')) for @kept;



=== TEST 29: more streams than mcp_quota_streams: 429, but calls of other principals are accepted
--- config eval
::own('mcp_quota_streams 1; mcp_principal $http_x_user;')
--- init
my $backend = MCP::backend();
my @kept;
my $ada = MCP::begin(MCP::progress_call('x'), MCP::post(principal => 'ada',
    more => 'X-User: ada'));
push @kept, $backend->call->ndjson(MCP::progress(1));
$ada->upto(1);
my $again = MCP::begin(MCP::progress_call('x'), MCP::post(principal => 'ada',
    id => 2, more => 'X-User: ada'));
MCP::same($again->status, 429);
my $bob = MCP::begin(MCP::progress_call('x'), MCP::post(principal => 'bob',
    id => 3, more => 'X-User: bob'));
push @kept, $backend->call->ndjson(MCP::progress(1));
$bob->upto(1);
$_->ndjson(MCP::text('x')) for @kept;



=== TEST 30: full zone: a call that streams gets -32603, a call without a stream is answered
--- bare
--- http_config
    mcp_zone mcp 304k;
    mcp_key ../html/key;
--- config eval: ::own('mcp_quota_key off;')
--- user_files eval: [['key', $MCP::KEY]]
--- init
my $backend = MCP::backend();
my ($refused, @calls, @clients);
while (!$refused && @calls < 50) {
    my $client = MCP::begin(MCP::progress_call('x', 7));
    my $call = $backend->call->ndjson('{"jsonrpc":"2.0","method":'
        . '"notifications/x","params":{"a":"' . 'x' x 20_000 . '"}}');
    if ($client->until(qr/\r\n\r\n/) =~ m{text/event-stream}) {
        push @calls, $call;
        push @clients, $client;
        next;
    }
    MCP::same($client->status, 200);
    MCP::same($client->body, qr/"code":-32603,.*no room/);
    $refused = $client;
}
$refused or die "nothing was refused\n";
my $quick = MCP::begin(MCP::call('x', '', 8));
$backend->call->reply('application/json', MCP::text('quick'));
MCP::same($quick->body, qr/"id":8,.*quick/);
$_->ndjson(MCP::text('x')) for @calls;



=== TEST 31: twenty connections resume a stream at once: at least one gets the response
--- config eval: ::own()
--- init
my ($call, $id) = ::begun(1);
my @clients = map { MCP::begin('GET /mcp', MCP::get(after => $id)) } 1 .. 20;
$call->ndjson(MCP::text('x'));
my $got = grep { $_->body =~ /result/ } @clients;
$got >= 1 or die "nobody got the response\n";
MCP::then_request('GET /mcp', MCP::get(after => ::at($id, 2)));
--- request
GET /mcp
--- error_code: 204
--- response_body:



=== TEST 32: resumed stream of a batch: the client gets the responses that it missed
--- config eval: ::own()
--- init
my $backend = MCP::backend();
my $headers = MCP::post(revision => '2025-03-26');
my $client = MCP::begin("POST /mcp\n[" . CORE::join(',', map {
    MCP::message('tools/call', "{\"name\":\"$_\",\"_meta\":"
        . "{\"progressToken\":\"p\"}}", "\"$_\"") } 'a', 'b') . ']', $headers);
my %call;
for (1 .. 2) {
    my $call = $backend->call;
    $call{$1} = $call if $call->in =~ /"name":"(.)"/;
}
$call{a}->ndjson(MCP::progress(1));
my $id = $client->upto(1);
$client->close;
$call{a}->ndjson(MCP::text('a'))->last;
::await('events', 2);
$call{b}->ndjson(MCP::text('b'))->last;
::await('calls_active', 0);
MCP::then_request('GET /mcp', MCP::get(revision => '2025-03-26',
    after => $id));
--- request
GET /mcp
--- response_body eval
":\n\n" . MCP::event(2, MCP::answer(MCP::text('a'), '"a"'))
    . MCP::event(3, MCP::answer(MCP::text('b'), '"b"'))
