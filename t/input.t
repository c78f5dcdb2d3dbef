# SPDX-License-Identifier: Apache-2.0

# Questions to the client during a call.

use Test::Nginx::Socket;
use lib 't/lib';
use MCP;

repeat_each(1);

plan tests => repeat_each() * 48;

no_long_string();

our $Own = MCP::own();

our $Result = MCP::answer(MCP::text('x'));

# the answer of a backend that needs input

sub asks {
    my %requests = @_;

    my $state = delete $requests{state};

    return '{"resultType":"input_required"'
        . (%requests ? ',"inputRequests":{' . CORE::join(',', map {
            "\"$_\":$requests{$_}" } sort keys %requests) . '}' : '')
        . (defined $state ? ",\"requestState\":$state" : '') . '}';
}

our $Form = '{"method":"elicitation/create","params":{"message":"When?",'
    . '"requestedSchema":{"type":"object","properties":{}}}}';
our $Asked = $Form =~ s/^\{//r;

sub can { return MCP::post(capabilities => [@_]) }

# Sends the client's response to the n-th question on its stream.

sub respond {
    my ($client, $n, $result, $headers) = @_;

    my @ids = $client->in =~ /^data: \{"jsonrpc":"2\.0","id":("[^"]+")/mg;
    my $post = MCP::begin("POST /mcp\n{\"jsonrpc\":\"2.0\",\"id\":$ids[$n],"
        . "$result}", $headers);

    $post->rest;

    return $post->status;
}

sub body_of { return shift->in =~ s/.*?\r\n\r\n//sr }

run_tests();

__DATA__

=== TEST 1: one question on the stream: its answer reaches the backend
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x', ',"arguments":{"a":1}'),
    ::can('elicitation'));
$backend->call->reply('application/json', ::asks(when => $::Form));
$client->upto(1);
MCP::same($client->in =~ s/.*?\r\n\r\n//sr, MCP::priming() . MCP::event(1,
    '{"jsonrpc":"2.0","id":"S.1",' . $::Asked));
my $answer = '{"action":"accept","content":{"t":1.50}}';
::respond($client, 0, "\"result\":$answer", ::can('elicitation')) == 202
    or die;
my $again = $backend->call;
MCP::same(::body_of($again), MCP::message('tools/call',
    '{"name":"x","arguments":{"a":1},"inputResponses":{"when":' . $answer
    . '}}'));
$again->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/id: S\.2\ndata: \Q$::Result\E\n\n\z/);



=== TEST 2: two questions answered in reverse order: the backend gets both answers and the requestState
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('elicitation', 'roots'));
$backend->call->reply('application/json', ::asks(a => $::Form,
    b => '{"method":"roots/list"}', state => '"\u0061=1"'));
$client->upto(2);
MCP::same($client->in, qr/id: S\.2\ndata: \{"jsonrpc":"2\.0","id":"S\.\d+","method":"roots\/list"/);
::respond($client, 1, '"result":{"roots":[]}', ::can('elicitation', 'roots'));
::respond($client, 0, '"result":{"action":"decline"}',
    ::can('elicitation', 'roots'));
my $again = $backend->call;
MCP::same(::body_of($again), MCP::message('tools/call',
    '{"name":"x","inputResponses":{"a":{"action":"decline"},'
    . '"b":{"roots":[]}},"requestState":"\u0061=1"}'));
$again->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/id: S\.3\ndata: \Q$::Result\E\n\n\z/);



=== TEST 3: three rounds of questions with progress between them: the client gets the result
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::progress_call('x'), ::can('elicitation'));
for my $n (0 .. 2) {
    my $call = $backend->call;
    $call->in =~ /"requestState":"$n"/ or die $call->in if $n;
    $call->ndjson(MCP::progress($n + 1), ::asks(a => $::Form,
        state => '"' . ($n + 1) . '"'))->last;
    $client->upto(2 * $n + 2);
    ::respond($client, $n, '"result":{"n":' . $n . '}', ::can('elicitation'));
}
$backend->call->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/id: S\.7\ndata: \Q$::Result\E\n\n\z/);



=== TEST 4: input_required with only a requestState: the backend is called again with this state
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'));
$backend->call->reply('application/json', ::asks(state => '"s"'));
my $again = $backend->call;
MCP::same(::body_of($again), MCP::message('tools/call',
    '{"name":"x","requestState":"s"}'));
$again->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/\Q$::Result\E\s*\z/);



=== TEST 5: question whose capability the client did not declare: a result with isError
--- config eval: $::Own
--- init
my $backend = MCP::backend();
for my $case (
    [$::Form, []],
    [$::Form, ['roots', 'sampling']],
    ['{"method":"sampling/createMessage"}', ['elicitation']],
    ['{"method":"roots/list"}', ['elicitation']])
{
    my ($method) = $case->[0] =~ /"method":"([^"]+)"/;
    my $client = MCP::begin(MCP::call('x'), ::can(@{$case->[1]}));
    $backend->call->reply('application/json', ::asks(a => $case->[0]));
    MCP::same($client->body, MCP::answer('{"content":[{"type":"text","text":'
        . "\"The client does not support $method, which the call needs to continue\""
        . '}],"isError":true}'));
}



=== TEST 6: elicitation for a client of 2025-03-26: a result with isError
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), MCP::post(revision => '2025-03-26',
    capabilities => ['elicitation']));
$backend->call->reply('application/json', ::asks(a => $::Form));
MCP::same($client->body, qr/"isError":true/);



=== TEST 7: client answers a question with an error: a result with isError
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json',
    ::asks(a => '{"method":"roots/list"}'));
$client->upto(1);
::respond($client, 0, '"error":{"code":-1,"message":"no"}', ::can('roots'));
MCP::same($client->body, qr/id: S\.2\ndata: .*"isError":true/);



=== TEST 8: answer from another session: ignored
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json',
    ::asks(a => '{"method":"roots/list"}'));
$client->upto(1);
::respond($client, 0, '"result":{"roots":"theirs"}', MCP::post(id => 2));
::respond($client, 0, '"result":{"roots":"ours"}', ::can('roots'));
my $again = $backend->call;
MCP::same(::body_of($again), qr/"ours"/);
$again->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/\Q$::Result\E\n\n\z/);



=== TEST 9: two answers to one question: both get 202, the backend gets the first one
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json',
    ::asks(a => '{"method":"roots/list"}'));
$client->upto(1);
::respond($client, 0, "\"result\":{\"roots\":$_}", ::can('roots')) == 202
    or die for 1, 2;
my $again = $backend->call;
MCP::same(::body_of($again), qr/"roots":1/);
$again->reply('application/json', MCP::text('x'));
MCP::same($client->body, qr/id: S\.2\ndata: \Q$::Result\E\n\n\z/);



=== TEST 10: resumed stream: the question is sent again, its answer is accepted
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json',
    ::asks(a => '{"method":"roots/list"}'));
my $id = $client->upto(1);
$client->close;
my $again = MCP::begin('GET /mcp', MCP::get(after => $id =~ s/\.1\z/.0/r));
$again->upto(1);
MCP::same($again->in, qr/id: S\.1\ndata: .*roots\/list/);
::respond($again, 0, '"result":{}', ::can('roots'));
$backend->call->reply('application/json', MCP::text('x'));
MCP::same($again->body, qr/id: S\.2\ndata: \Q$::Result\E\n\n\z/);



=== TEST 11: no answer within mcp_input_timeout: a result with isError
--- config eval
$::Own =~ s/mcp mcp;/mcp mcp; mcp_input_timeout 30ms;/r
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json',
    ::asks(a => '{"method":"roots/list"}'));
MCP::same($client->body, qr/id: S\.2\ndata: .*did not answer.*"isError":true/);



=== TEST 12: backend asks with ping, which is not a question: -32603 or a result with isError
--- config eval: $::Own
--- init
my $backend = MCP::backend();
my $client = MCP::begin(MCP::call('x'), ::can('roots'));
$backend->call->reply('application/json', ::asks(a => '{"method":"ping"}'));
MCP::same($client->body, qr/"error":\{"code":-32603|"isError":true/);
--- no_error_log
[alert]
