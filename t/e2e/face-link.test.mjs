// Streams with a URL in a Link header: GET, POST, what is spent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { at, held, pause, rest, settled, urlOf } from './lib/faces.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_link: 'on' } });
const brief = await Fixture.use({ workers: 2,
    location: { mcp_link: 'on',
                mcp_max_wait: '1s',
                mcp_linger: '1s' } });
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


test('dropped with nothing but the head', async () => {
    const gate = 'link, head';

    await session.open(gate, 0);

    const call = await session.call('count', { n: 3, gate });
    const url = urlOf(call);

    call.close();
    await session.open(gate);

    const { messages, response } = await rest(await at(url), call.id);

    assert.deepEqual(counted(messages), upTo(3));
    assert.ok(response.result);
});


test('dropped after every message, and resumed', async () => {
    const n = 6;

    for (let drop = 1; drop <= n; drop++) {
        const call = await held(session, n, drop);
        const url = urlOf(call.answer);

        call.answer.close();
        await session.open(call.gate);

        const { messages, response } = await rest(
            await at(url, { last: call.last }), call.id);

        assert.deepEqual(counted(messages), upTo(n).slice(drop));
        assert.equal(textOf(response.result), `counted to ${n}`);
    }
});


test('dropped after the response, before it arrived', async () => {
    const call = await held(session, 2, 1);
    const url = urlOf(call.answer);

    call.answer.pause();
    await session.open(call.gate);
    await pause(200);
    call.answer.close();

    const answer = await at(url, { last: call.last });
    const { messages, response } = await rest(answer, call.id);

    assert.deepEqual(counted(messages), [1]);
    assert.ok(response.result);
    nothing(await at(url, { last: answer.lastId }));
    nothing(await at(urlOf(answer), { last: answer.lastId }));
});


test('resumed twice: the newer one has it', async () => {
    const call = await held(session, 3, 1);
    const url = urlOf(call.answer);
    const first = await at(url, { last: call.last });
    const second = await at(url, { last: call.last });

    assert.equal((await rest(first, call.id)).response, undefined);
    await session.open(call.gate);

    const { messages, response } = await rest(second, call.id);

    assert.deepEqual(counted(messages), [1, 2]);
    assert.ok(response.result);
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


test('dropped while the answers are on their way', async () => {
    const first = await session.call('ask', { rounds: 1 });
    const asked = await questions(first);
    const answer = await at(urlOf(first), { method: 'POST',
                                            body: asked.map(accept) });
    const url = urlOf(answer);

    answer.close();
    assert.equal(textOf((await rest(await at(url), first.id)).response.result),
                 'asked 1 times: Question 0.0');
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


test('refusals are all alike', async () => {
    const call = await held(session, 1, 1);
    const url = urlOf(call.answer);
    const token = url.searchParams.get('mcp-stream');
    const other = await server.session();
    const messages = new Set();

    for (const bad of ['', 'x', `${token}A`,
                       (token[0] === 'A' ? 'B' : 'A') + token.slice(1)])
    {
        const wrong = new URL(url);

        wrong.searchParams.set('mcp-stream', bad);
        messages.add(await fails(await at(wrong)));
        messages.add(await fails(await at(wrong, { method: 'POST',
                                                   body: [] })));
    }

    messages.add(await fails(await at(url, {
        headers: { 'Mcp-Session-Id': other.id } })));
    await fails(await at(url, { last: 'nonsense' }));
    await fails(await at(url, { method: 'POST', body: [] }), 400);
    await fails(await at(url, { method: 'POST', body: [
        { jsonrpc: '2.0', id: 1, method: 'ping' }] }), 400);
    await session.notify('notifications/cancelled', { requestId: call.id });
    await call.answer.ended;
    messages.add(await fails(await at(url)));
    assert.equal(messages.size, 1);
    assert.ok(!(await server.log()).includes(token), 'no token in the log');
});


test('expired', async () => {
    const one = await brief.session();
    const call = await held(one, 1, 1);
    const url = urlOf(call.answer);

    call.answer.close();
    await pause(2500);
    await fails(await at(url));
});


test('after a reload', async () => {
    const call = await held(session, 3, 1);
    const url = urlOf(call.answer);

    await server.reload();
    call.answer.close();

    const answer = await at(url, { last: call.last });

    await session.open(call.gate);

    let { messages, response } = await rest(answer, call.id);

    // one that winds up may have taken it, and sends it on

    if (!response) {
        const next = await rest(await at(url, { last: answer.lastId }),
                                call.id);

        messages = [...messages, ...next.messages];
        ({ response } = next);
    }

    assert.deepEqual(counted(messages), [1, 2]);
    assert.ok(response.result);
    await settled();
});
