// Resumable requests: policy, status, resumption, at any worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { held, pause, refused, rest, settled } from './lib/faces.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';

const POLICY = 'notifications/requests/resumePolicy';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_max_wait: '1s',
                mcp_min_wait: '2s' } });
const patient = await Fixture.use({ workers: 2,
    location: { mcp_close_after: 'off' } });
const capabilities = { resumableRequests: {}, elicitation: {} };
const session = await server.session({ capabilities });
const lasting = await patient.session({ capabilities });

const status = (of, { id, said }, options) => of.request(
    'requests/getStatus',
    { requestId: id, resumeToken: said[POLICY].resumeToken }, options);

const resume = (of, { id, said }, last, token = said[POLICY].resumeToken) =>
    of.request('requests/resume', { resumeToken: token }, {
        id, headers: last && { 'Last-Event-ID': last } });


test('the policy is the first event', async () => {
    const { answer, said, gate, id } = await held(session, 1);

    assert.deepEqual(said[POLICY], { requestId: id, minWait: 2, maxWait: 1,
        resumeToken: said[POLICY].resumeToken });
    assert.equal(answer.blocks[1].id.split('.')[1], '1');
    assert.equal(JSON.parse(answer.blocks[1].data).method, POLICY);
    await session.open(gate);
    await rest(answer, id);
});


test('nobody else sees any of it', async () => {
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


test('dropped after every message, and resumed', async () => {
    const n = 6;

    for (let drop = 1; drop <= n; drop++) {
        const call = await held(lasting, n, drop);

        call.answer.close();
        await lasting.open(call.gate);

        const answer = await resume(lasting, call, call.last);
        const { messages, response } = await rest(answer, call.id);

        assert.deepEqual(counted(messages), upTo(n).slice(drop));
        assert.equal(messages.length, n - drop);
        assert.equal(textOf(response.result), `counted to ${n}`);
    }
});


test('dropped after the policy, with nothing but the token', async () => {
    const gate = 'requests, policy';

    await lasting.open(gate, 0);

    const answer = await lasting.call('count', { n: 3, gate });
    const { method, params } = await answer.message();

    assert.equal(method, POLICY);
    answer.close();
    await lasting.open(gate);

    const call = { id: answer.id, said: { [POLICY]: params } };
    const { messages, response } = await rest(await resume(lasting, call),
                                              call.id);

    assert.deepEqual(counted(messages), upTo(3));
    assert.equal(messages.length, 3);
    assert.ok(response.result);
});


test('dropped after the response, before it arrived', async () => {
    const call = await held(lasting, 2, 1);

    call.answer.pause();
    await lasting.open(call.gate);
    await pause(200);
    call.answer.close();

    const { messages, response } = await rest(
        await resume(lasting, call, call.last), call.id);

    assert.deepEqual(counted(messages), [1]);
    assert.ok(response.result);
});


test('a status disturbs nobody', async () => {
    const call = await held(lasting, 4, 1);

    // that it was written is known a moment after it was

    while ((await (await status(lasting, call)).json()).result
        .hasPendingMessage)
    {
        await pause(5);
    }

    for (let i = 0; i < 20; i++) {
        const { result } = await (await status(lasting, call)).json();

        assert.deepEqual(result, { requestId: call.id, status: 'processing',
            hasPendingMessage: false, hasInputRequest: false });
    }

    await lasting.open(call.gate);

    const { messages, response } = await rest(call.answer, call.id);

    assert.deepEqual(counted(messages), [1, 2, 3]);
    assert.ok(response.result);
    assert.equal((await (await status(lasting, call)).json()).result.status,
                 'completed');
});


test('resumed twice: the newer one has it', async () => {
    const call = await held(lasting, 3, 1);
    const first = await resume(lasting, call, call.last);
    const second = await resume(lasting, call, call.last);

    assert.equal(await call.answer.ended, 'end');
    assert.equal((await rest(first, call.id)).response, undefined);
    await lasting.open(call.gate);

    const { messages, response } = await rest(second, call.id);

    assert.deepEqual(counted(messages), [1, 2]);
    assert.ok(response.result);
});


test('by event id as well as by token', async () => {
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


test('input in the middle', async () => {
    const answer = await lasting.call('ask', { rounds: 1 });
    const { params } = await answer.message();
    const call = { id: answer.id, said: { [POLICY]: params } };
    const asked = await answer.message();

    answer.close();

    const { result } = await (await status(lasting, call)).json();

    assert.equal(result.hasInputRequest, true);

    const again = await resume(lasting, call, answer.lastId);

    await lasting.respond(asked.id, { action: 'accept',
                                      content: { value: 'x' } });
    assert.equal(textOf((await rest(again, call.id)).response.result),
                 'asked 1 times: x');
});


test('time passes while nobody asks, and not while somebody does',
    async () => {
        const call = await held(session, 1);

        call.answer.close();

        for (let i = 0; i < 4; i++) {
            await pause(500);
            assert.ok((await (await status(session, call)).json()).result);
        }

        await pause(2500);
        await refused(await status(session, call));
        await refused(await resume(session, call));
    });


test('refusals are all alike', async () => {
    const call = await held(lasting, 1, 1);
    const token = call.said[POLICY].resumeToken;
    const other = await patient.session({ capabilities });
    const errors = [
        await refused(await resume(lasting, call, undefined, `${token}A`)),
        await refused(await resume(lasting, call, undefined,
            (token[0] === 'A' ? 'B' : 'A') + token.slice(1))),
        await refused(await resume(lasting, { ...call, id: 4711 })),
        await refused(await resume(other, call)),
        await refused(await status(other, call)),
        await refused(await resume(lasting, call, 'nonsense')),
    ];

    await lasting.notify('notifications/cancelled', { requestId: call.id });
    await call.answer.ended;
    errors.push(await refused(await resume(lasting, call)));
    errors.push(await refused(await status(lasting, call)));
    assert.equal(new Set(errors.map((e) => e.message)).size, 1);
    assert.ok(!(await patient.log()).includes(token), 'no token in the log');
});


test('after a reload', async () => {
    const call = await held(lasting, 3, 1);

    await patient.reload();
    call.answer.close();

    const answer = await resume(lasting, call, call.last);

    await lasting.open(call.gate);

    const { messages, response } = await rest(answer, call.id);

    assert.deepEqual(counted(messages), [1, 2]);
    assert.ok(response.result);
    await settled();
});
