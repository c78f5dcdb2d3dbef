// Streams with a URL in a Link header: what they have for themselves
// (faces.test.mjs has the rest).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { at, held, rest, urlOf } from './lib/faces.mjs';
import { textOf } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_link: 'on' } });
const without = await Fixture.use({ workers: 1 });
const session = await server.session({ capabilities: { elicitation: {} } });

const accept = ({ id, params }) => ({ jsonrpc: '2.0', id, result: {
    action: 'accept', content: { value: params.message } } });

const fails = async (answer, status = 404) => {
    assert.equal(answer.status, status);
    assert.equal(answer.headers['cache-control'], 'no-store');

    return (await answer.json()).error.message;
};

const nothing = (answer) => {
    assert.equal(answer.status, 204);
    assert.equal(answer.headers['cache-control'], 'no-store');
};


// the questions of a stream that the server has ended

async function questions(answer) {
    const asked = [];

    for (let message; (message = await answer.message());) {
        asked.push(message);
    }

    assert.equal(answer.ending, 'end');
    assert.match(answer.blocks.at(-1).retry, /^\d+$/);

    return asked;
}


test('every stream has a URL of the same origin, nothing else has', async () => {
    const call = await held(session, 1);
    const url = urlOf(call.answer);

    assert.equal(url.origin, `http://127.0.0.1:${server.port}`);
    assert.equal(url.pathname, '/mcp');
    await session.open(call.gate);
    await rest(call.answer, call.id);

    const listener = await session.get();

    assert.equal(urlOf(listener).origin, url.origin);
    listener.close();
    assert.equal((await session.request('ping')).headers.link, undefined);

    const plain = await without.session();
    const { answer, gate, id } = await held(plain, 1);

    assert.equal(answer.headers.link, undefined);
    await plain.open(gate);
    await rest(answer, id);
});


test('turn after turn', async () => {
    let answer = await session.call('ask', { rounds: 3, count: 2 });
    const { id } = answer;
    let url = urlOf(answer);

    for (let round = 0; round < 3; round++) {
        const asked = await questions(answer);

        assert.deepEqual(asked.map((m) => m.params.message),
            [`Question ${round}.0`, `Question ${round}.1`]);

        for (let i = 0; i < 3; i++) {
            nothing(await at(url, { last: answer.lastId }));
        }

        // whoever has not seen them asks from the beginning

        const lost = await questions(await at(url));

        assert.deepEqual(lost.map((m) => m.id), asked.map((m) => m.id));

        const spent = url;
        const last = answer.lastId;

        answer = await at(url, { method: 'POST', body: asked.map(accept) });
        assert.equal(answer.status, 200);
        url = urlOf(answer);
        assert.notEqual(url.href, spent.href);
        await fails(await at(spent));
        await fails(await at(spent, { last }));
        await fails(await at(spent, { method: 'POST',
                                      body: asked.map(accept) }));
    }

    const { messages, response } = await rest(answer, id);

    assert.deepEqual(messages, []);
    assert.equal(textOf(response.result),
                 'asked 3 times: Question 2.0,Question 2.1');
    nothing(await at(url, { last: answer.lastId }));
});


test('one answer at a time', async () => {
    const first = await session.call('ask', { rounds: 1, count: 3 });
    const asked = await questions(first);
    const ids = asked.map((m) => m.id);
    const post = (url, n) => at(url, { method: 'POST',
                                       body: [accept(asked[n])] });

    assert.deepEqual(ids, first.blocks.filter((b) => b.data).map((b) => b.id));

    // the one answered has arrived, and what was before it

    const second = await post(urlOf(first), 1);

    assert.deepEqual((await questions(second)).map((m) => m.id), [ids[2]]);
    nothing(await at(urlOf(second), { last: ids[2] }));
    await fails(await at(urlOf(first)));

    const third = await post(urlOf(second), 0);

    assert.deepEqual((await questions(third)).map((m) => m.id), [ids[2]]);
    await fails(await at(urlOf(second)));

    const { messages, response } = await rest(await post(urlOf(third), 2),
                                              first.id);

    assert.deepEqual(messages, []);
    assert.equal(textOf(response.result),
                 'asked 1 times: Question 0.0,Question 0.1,Question 0.2');
});


test('the answer to the answers is lost', async () => {
    const first = await session.call('ask', { rounds: 1 });
    const asked = await questions(first);
    const body = asked.map(accept);

    (await at(urlOf(first), { method: 'POST', body })).close();
    await fails(await at(urlOf(first), { method: 'POST', body }));

    // its URL is not known: the endpoint knows the event

    const again = await session.get(first.lastId);

    assert.equal(again.status, 200);

    const said = 'asked 1 times: Question 0.0';

    assert.equal(textOf((await rest(again, first.id)).response.result), said);
    assert.equal(textOf((await rest(await at(urlOf(again)),
                                    first.id)).response.result), said);
});


test('a client that knows nothing of it', async () => {
    const asked = [];
    const { response, resumed } = await session.follow(
        await session.call('ask', { rounds: 2 }), {
            async onMessage(message) {
                asked.push(message);
                await session.post(accept(message));
            },
        });

    assert.equal(asked.length, 2);
    assert.ok(resumed > 0);
    assert.equal(textOf(response.result), 'asked 2 times: Question 1.0');
});


test('what is no answer', async () => {
    const call = await held(session, 1, 1);
    const url = urlOf(call.answer);

    for (const body of [[], [{ jsonrpc: '2.0', id: 1, method: 'ping' }]]) {
        await fails(await at(url, { method: 'POST', body }), 400);
    }

    await session.open(call.gate);
    assert.ok((await rest(call.answer, call.id)).response.result);
});
