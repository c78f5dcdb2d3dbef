// SPDX-License-Identifier: Apache-2.0

// Resumable requests: the cases of this resumption method alone (resume-methods.test.mjs
// has the common ones).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { held, pause, refused, rest } from './lib/held-calls.mjs';
import { counted } from './lib/session.mjs';

const POLICY = 'notifications/requests/resumePolicy';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_max_wait: '2s',
                mcp_min_wait: '2s' } });
const patient = await Fixture.use({ workers: 2,
    location: { mcp_close_after: 'off' } });
const capabilities = { resumableRequests: {}, elicitation: {} };
const session = await server.session({ capabilities });
const lasting = await patient.session({ capabilities });

const status = (of, { id, said }, options) => of.request(
    'requests/getStatus',
    { requestId: id, resumeToken: said[POLICY].resumeToken }, options);

const resume = (of, { id, said }, last) => of.request(
    'requests/resume', { resumeToken: said[POLICY].resumeToken },
    { id, headers: last && { 'Last-Event-ID': last } });


// Each request gets its own messages and its own response, once.

test('batch of resumable requests: the resume token of each request gets only the messages of this request', async () => {
    const old = await patient.session({ capabilities, version: '2025-03-26' });
    const gate = `batch ${process.pid}`;
    const ids = ['b1', 'b2'];
    const tokens = {};

    await old.open(gate, 1);

    const answer = await old.post(ids.map((id) => ({ jsonrpc: '2.0', id,
        method: 'tools/call', params: { name: 'count',
            arguments: { n: 2, gate }, _meta: { progressToken: id } } })));

    while (Object.keys(tokens).length < 2) {
        const { method, params } = await answer.message();

        if (method === POLICY) {
            tokens[params.requestId] = params.resumeToken;
        }
    }

    answer.close();

    const first = await old.request('requests/resume',
        { resumeToken: tokens.b1 }, { id: 'b1' });

    assert.equal((await first.message()).params.progressToken, 'b1');
    await old.open(gate);

    for (const id of ids) {
        const { messages, response, ending } = await rest(
            await old.request('requests/resume', { resumeToken: tokens[id] },
                              { id }), id);

        assert.deepEqual(messages.map(({ params }) =>
            [params.progressToken, params.message]), [[id, '0'], [id, '1']]);
        assert.ok(response.result);
        assert.equal(ending, 'end');
    }
});


test('client that declared resumableRequests: the first event of its stream is the resumePolicy', async () => {
    const { answer, said, gate, id } = await held(session, 1);

    assert.deepEqual(said[POLICY], { requestId: id, minWait: 2, maxWait: 2,
        resumeToken: said[POLICY].resumeToken });
    assert.equal(answer.blocks[1].id.split('.')[1], '1');
    assert.equal(JSON.parse(answer.blocks[1].data).method, POLICY);
    await session.open(gate);
    await rest(answer, id);
});


test('client that did not declare resumableRequests: no resumePolicy, requests/* methods get -32601',
     async () => {
    const plain = await server.session();
    const call = await held(session, 1);
    const { answer, said, gate, id } = await held(plain, 1);

    assert.deepEqual(Object.keys(said), ['notifications/progress']);
    await refused(await plain.request('requests/resume', {}), -32601);
    await refused(await plain.request('requests/getStatus', {}), -32601);
    await plain.open(gate);
    assert.ok((await rest(answer, id)).response.result);
    await session.open(call.gate);
    await rest(call.answer, call.id);
});


test('call resumed by event id as well as by token: each message arrives once',
     async () => {
    const call = await held(lasting, 4, 1);

    call.answer.close();
    await lasting.open(call.gate, 2);

    const one = await resume(lasting, call, call.last);
    const { eventId } = await one.message();

    one.close();
    await lasting.open(call.gate, 3);

    const two = await lasting.get(eventId);

    assert.equal((await two.message()).params.message, '2');
    two.close();
    await lasting.open(call.gate);

    const { messages, response } = await rest(
        await resume(lasting, call, two.lastId), call.id);

    assert.deepEqual(counted(messages), [3]);
    assert.ok(response.result);
});


test('call without a client: kept while status requests arrive, expires without them',
    async () => {
        const call = await held(session, 1);

        call.answer.close();

        for (let i = 0; i < 5; i++) {
            await pause(600);
            assert.ok((await (await status(session, call)).json()).result);
        }

        await pause(4000);
        await refused(await status(session, call));
        await refused(await resume(session, call));
    });
