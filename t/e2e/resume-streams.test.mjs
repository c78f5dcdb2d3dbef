// SPDX-License-Identifier: Apache-2.0

// Resumable streams: the cases of this resumption method alone (resume-methods.test.mjs
// has the common ones).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { held, pause, refused, rest, settled } from './lib/held-calls.mjs';
import { counted } from './lib/session.mjs';

const CREATE = 'notifications/stream/create';
const END = 'notifications/stream/end';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_max_wait: '2s',
                mcp_min_wait: '2s' } });

// The call that opens a gate must not become a stream, even on a slow machine.

const patient = await Fixture.use({ workers: 2,
    location: { mcp_close_after: 'off', mcp_stream_after: '60s' } });
const capabilities = { experimental: { streams: {} }, elicitation: {} };
const session = await server.session({ capabilities });
const lasting = await patient.session({ capabilities });

const names = ({ said }) => ({ streamId: said[CREATE].streamId,
                               resumeToken: said[CREATE].resumeToken });

const poll = async (of, call, last) => {
    const answer = await of.request('stream/poll', names(call),
        { headers: last && { 'Last-Event-ID': last } });

    return (await answer.json()).result;
};

const resume = (of, call, last) => of.request('stream/resume', names(call),
    { headers: last && { 'Last-Event-ID': last } });


test('client that declared streams: its stream begins with stream/create and ends with stream/end',
     async () => {
    const call = await held(session, 2);
    const { streamId, resumeToken } = call.said[CREATE];

    assert.deepEqual(call.said[CREATE], { streamId, resumeToken,
        requestId: call.id, resumeInterval: { min: 2, max: 2 } });
    await session.open(call.gate);

    const { messages, response } = await rest(call.answer, call.id);

    assert.ok(response.result);
    assert.deepEqual(messages.at(-1), { jsonrpc: '2.0', method: END,
        params: { streamId }, eventId: undefined });
});


test('client that did not declare streams: no stream/create, stream/* methods get -32601',
     async () => {
    const plain = await server.session();
    const { answer, said, gate, id } = await held(plain, 1);

    assert.deepEqual(Object.keys(said), ['notifications/progress']);

    for (const method of ['poll', 'poll/all', 'resume']) {
        await refused(await plain.request(`stream/${method}`, {}), -32601);
    }

    await plain.open(gate);
    assert.deepEqual((await rest(answer, id)).messages, []);
});


test('stream/resume sent as a notification: the response is the stream, or 400 if the params are invalid',
     async () => {
    const call = await held(lasting, 2, 1);

    call.answer.close();

    const answer = await lasting.notify('stream/resume', names(call));

    assert.equal(answer.sse, true);
    await lasting.open(call.gate);

    const { messages, response } = await rest(answer, call.id);

    assert.deepEqual(counted(messages), [0, 1]);
    assert.ok(response.result);
    assert.equal(messages.at(-1).method, END);

    const bad = await lasting.notify('stream/resume', { streamId: 'x' });

    assert.equal(bad.status, 400);
});


test('stream/poll/all: lists all streams of the session, none of another session', async () => {
    const one = await patient.session({ capabilities });
    const calls = [await held(one, 1), await held(one, 1)];
    const { statuses } = await one.response('stream/poll/all')
        .then((m) => m.result);

    assert.deepEqual(statuses.map((s) => s.streamId).sort(),
                     calls.map((c) => names(c).streamId).sort());
    assert.ok(statuses.every((s) => s.status === 'live'));

    const two = await patient.session({ capabilities });

    assert.deepEqual((await two.response('stream/poll/all')).result,
                     { statuses: [] });

    for (const call of calls) {
        await one.open(call.gate);
        await rest(call.answer, call.id);
    }
});


test('call that ended with an error: stream/poll has hasError', async () => {
    const answer = await lasting.call('crash', { after: 2 });
    const { params } = await answer.message();
    let status;

    answer.close();

    do {
        status = await poll(lasting, { said: { [CREATE]: params } },
                            answer.lastId);
    } while (status.status === 'live');

    assert.deepEqual(status, { streamId: params.streamId,
        status: 'completed', pendingMessages: true, hasRequest: false,
        hasError: true });
});


// One request of a batch has failed, the other one still runs.

test('batch with an error: stream/poll has hasError until the client has read the error',
     async () => {
    const old = await patient.session({ capabilities, version: '2025-03-26' });
    const gate = `batch ${process.pid}`;
    const call = (id, name, args) => ({ jsonrpc: '2.0', id,
        method: 'tools/call', params: { name, arguments: args } });

    await old.open(gate, 1);

    const answer = await old.post([call('a', 'crash', { after: 2 }),
                                   call('b', 'count', { n: 1, gate })]);
    const { params } = await answer.message();
    const of = { said: { [CREATE]: params } };
    let status;

    answer.close();

    do {
        status = await poll(old, of, `${params.streamId}.1`);
    } while (!status.hasError);

    assert.equal(status.status, 'live');
    assert.equal(status.pendingMessages, true);

    // a client that names the error's event id does not get the error again

    const again = await resume(old, of);
    let message;

    do {
        message = await again.message();
    } while (message.id !== 'a');

    assert.ok(message.error);
    again.close();
    status = await poll(old, of, message.eventId);
    assert.equal(status.status, 'live');
    assert.equal(status.hasError, false);
    await old.open(gate);
    assert.ok((await rest(await resume(old, of, message.eventId), 'b'))
        .response.result);
});


test('stream without a client: kept while stream/poll requests arrive, expires without them',
     async () => {
    const call = await held(session, 1);

    call.answer.close();

    for (let i = 0; i < 5; i++) {
        await pause(600);
        assert.ok(await poll(session, call));
    }

    await pause(4000);
    await refused(await session.request('stream/poll', names(call)));
    await refused(await resume(session, call));
});


test('reload during a call, then the call is resumed by three methods in turn: each message arrives once',
     async () => {
    const every = await patient.session({ capabilities: {
        streams: {}, resumableRequests: {}, resumeTokens: {} } });
    const call = await held(every, 5, 1);

    assert.deepEqual(Object.keys(call.said), [
        'notifications/requests/resumePolicy', CREATE,
        'notifications/progress']);
    await patient.reload();
    call.answer.close();
    await every.open(call.gate, 2);

    const one = await every.get(call.last);

    assert.equal((await one.message()).params.message, '1');
    one.close();
    assert.equal((await poll(every, call)).status, 'live');
    await every.open(call.gate, 3);

    const two = await every.request('requests/resume', { resumeToken:
        call.said['notifications/requests/resumePolicy'].resumeToken },
    { id: call.id, headers: { 'Last-Event-ID': one.lastId } });

    assert.equal((await two.message()).params.message, '2');
    two.close();
    await every.open(call.gate);

    const { messages, response } = await rest(
        await resume(every, call, two.lastId), call.id);

    assert.deepEqual(counted(messages), [3, 4]);
    assert.ok(response.result);
    await settled();
});
