// SPDX-License-Identifier: Apache-2.0

// Connections lost at every point of a stream, and resumed.

import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { pause } from './lib/held-calls.mjs';
import { Fixture } from './lib/fixture.mjs';
import { status } from './lib/load.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
                                   location: { mcp_close_after: 'off' } });
const closing = await Fixture.use({
    location: { mcp_close_after: '200ms' } });
const slow = await Fixture.use({ workers: 2,
    location: { mcp_stream_after: '60s', mcp_resume_after: 'off' } });
const session = await server.session();
let gates = 0;

const newGate = () => `resume ${gates++}`;


// Begins a call that waits at a gate after `limit` messages, all of which are
// read.

async function held(n, limit = 0, args = {}) {
    const gate = newGate();

    await session.open(gate, limit);

    const answer = await session.call('count', { n, gate, ...args });
    const blocks = [await answer.block()];

    for (let i = 0; i < limit; i++) {
        blocks.push(await answer.block());
    }

    return { answer, blocks, gate, last: blocks.at(-1).id };
}


test('stream: begins with a priming event and a retry', async () => {
    const { answer, blocks, gate } = await held(1);

    assert.equal(answer.sse, true);
    assert.equal(blocks[0].data, '');
    assert.ok(blocks[0].id);
    assert.match(blocks[0].retry, /^\d+$/);
    await session.open(gate);
    assert.equal((await session.follow(answer)).response.result.isError,
                 undefined);
});


test('connection lost after every event, resumed: all messages arrive',
     async () => {
    const n = 8;

    for (let drop = 0; drop <= n; drop++) {
        const { answer, gate, last } = await held(n, drop);

        answer.close();
        await session.open(gate);

        const { messages, response } = await session.follow(
            Object.assign(await session.get(last), { id: answer.id }));

        assert.deepEqual(counted(messages), upTo(n).slice(drop));
        assert.equal(textOf(response.result), `counted to ${n}`);
    }
});


test('connection cut after every byte, resumed: all messages arrive',
     async () => {
    const whole = await session.follow(await session.call('count', { n: 2 }));
    const size = whole.blocks.reduce((sum, block) => sum
        + Object.entries(block).reduce(
            (s, [name, value]) => s + name.length + value.length + 3, 1), 0);

    for (let byte = 1; byte < size; byte++) {
        const answer = await session.call('count', { n: 2 }, { cut: byte });

        if (!answer.sse) {
            await answer.ended;
            continue;
        }

        await answer.ended;

        const seen = answer.blocks.filter((block) => block.data);
        const last = answer.blocks.findLast((block) => block.id)?.id;

        // without a complete event there is no id to resume from

        if (last === undefined) {
            continue;
        }

        if (seen.length === 3) {
            break;
        }

        const { messages, response } = await session.follow(
            Object.assign(await session.get(last), { id: answer.id }));
        const all = [...seen.map((block) => JSON.parse(block.data)),
                     ...messages];

        assert.deepEqual(counted(all), upTo(2), `cut after ${byte} bytes`);
        assert.ok(response.result);
    }
});


test('resumed stream: begins with a priming event that has the id sent by the client',
    async () => {
        const { answer, gate, last } = await held(3, 2);

        answer.close();

        let cursor = last;

        // three times, without a new event in between

        for (let i = 0; i < 3; i++) {
            const resumed = await session.get(cursor);
            const first = await resumed.block();

            assert.equal(first.data, '');
            assert.equal(first.id, last);
            cursor = first.id;
            resumed.close();
        }

        await session.open(gate);

        const { messages } = await session.follow(
            Object.assign(await session.get(cursor), { id: answer.id }));

        assert.deepEqual(counted(messages), [2]);
    });


test('stream resumed at different workers: all messages arrive', async () => {
    const { answer, gate, last } = await held(40, 3);
    const workers = new Set([answer.headers['x-worker']]);
    const seen = [];
    let cursor = last;
    let limit = 3;

    answer.close();

    // The kernel chooses the process that accepts a connection. With other
    // connections at the same moment it sooner or later chooses another
    // process.

    while (workers.size < 2 || limit < 8) {
        if (limit < 40) {
            await session.open(gate, ++limit);
        }

        const [resumed] = await Promise.all([
            session.get(cursor), ...upTo(8).map(() => status(server)),
        ]);

        workers.add(resumed.headers['x-worker']);

        if (seen.length === limit - 3) {
            resumed.close();
            continue;
        }

        const { params, eventId } = await resumed.message();

        seen.push(parseInt(params.message, 10));
        cursor = eventId;
        resumed.close();
    }

    assert.deepEqual(seen, upTo(limit).slice(3));
    await session.open(gate);

    const { response } = await session.follow(
        Object.assign(await session.get(cursor), { id: answer.id }));

    assert.equal(textOf(response.result), 'counted to 40');
});


test('mcp_close_after: the connection ends, the call continues', async () => {
    const other = await closing.session();
    const gate = newGate();
    const answer = await other.call('count', { n: 2, gate });

    assert.equal(await answer.message(), null);
    assert.equal(answer.ending, 'end', 'closed in good order');
    assert.match(answer.blocks.at(-1).retry, /^\d+$/);

    // a resumed stream is closed as well

    const resumed = await other.get(answer.lastId);

    assert.equal(await resumed.message(), null);
    assert.equal(resumed.ending, 'end');

    await other.open(gate);

    const { messages, response } = await other.follow(
        Object.assign(await other.get(resumed.lastId), { id: answer.id }));

    assert.deepEqual(counted(messages), [0, 1]);
    assert.ok(response.result);
});


test('stream resumed while a connection reads it: the older connection ends',
     async () => {
    const { answer, gate, last } = await held(4, 2);

    for (let i = 0, older = answer; i < 5; i++) {
        const newer = await session.get(last);

        assert.equal(newer.status, 200);
        assert.equal((await newer.block()).id, last);
        assert.equal(await older.ended, 'end');
        older = newer;

        if (i === 4) {
            await session.open(gate);

            const { messages, response } = await session.follow(
                Object.assign(newer, { id: answer.id }));

            assert.deepEqual(counted(messages), [2, 3]);
            assert.ok(response.result);
        }
    }
});


test('ended stream, resumed from each of its events: the later events are sent again',
    async () => {
        const gate = newGate();
        const answer = await session.call('count', { n: 5, gate });

        await answer.block();
        await session.open(gate);
        await session.follow(answer);

        const ids = answer.blocks.filter((b) => b.id).map((b) => b.id);

        for (const [i, id] of ids.slice(0, -1).entries()) {
            const { messages, response } = await session.follow(
                Object.assign(await session.get(id), { id: answer.id }));

            assert.deepEqual(counted(messages), upTo(5).slice(i));
            assert.ok(response.result);
        }

        const after = await session.get(ids.at(-1));

        assert.equal(after.status, 204);
    });


test('GET with an event id that is unknown, malformed or of another session: 404 or 400',
     async () => {
    const { answer, gate, last } = await held(1);
    const other = await server.session();
    const [stream, seq] = [last.slice(0, last.lastIndexOf('.')),
                           last.slice(last.lastIndexOf('.') + 1)];
    const flipped = (stream[0] === 'A' ? 'B' : 'A') + stream.slice(1);
    const refused = async (from, id) => {
        const got = await from.get(id);

        assert.ok([400, 404].includes(got.status), `${got.status}: ${id}`);
        assert.equal(got.type, 'application/json');
        assert.ok((await got.json()).error.code, id);
    };

    await refused(other, last);
    await refused(session, `${flipped}.${seq}`);
    await refused(session, `${stream}.99999`);

    for (const id of ['nonsense', '.', stream, `${stream}.`, `${stream}.x`,
                      `${stream}.-1`, `${stream}.1.1`, `${stream}.1x`,
                      `${stream}.${'9'.repeat(40)}`, 'x'.repeat(2000)])
    {
        await refused(session, id);
    }

    // these requests have not disturbed the stream

    await session.open(gate);
    assert.equal((await session.follow(answer)).resumed, 0);
});


test('call whose client left: runs to its end', async () => {
    const tag = newGate();
    const answer = await session.call('count', { n: 20, tag });
    const first = answer.sse && await answer.block();

    answer.close();
    await session.running(tag, 'finished', 1);

    if (first) {
        const { messages } = await session.follow(
            Object.assign(await session.get(first.id), { id: answer.id }));

        assert.deepEqual(counted(messages), upTo(20));
    }
});


// A pipelined request may come before the first one is answered; the server
// notices the end of a connection behind it all the same.

test('second call on the connection of an active call: both get responses unless the client has closed the connection for writing',
     async () => {
    const [caller, porter] = [await slow.session(), await slow.session()];
    const options = { port: slow.port, host: '127.0.0.1', allowHalfOpen: true };

    const send = (socket, id, name, args) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call',
                                      params: { name, arguments: args } });
        const lines = Object.entries(caller.headers({ Host: '127.0.0.1',
            'Content-Type': 'application/json',
            'Content-Length': body.length }));

        socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([key, value]) =>
            `${key}: ${value}\r\n`).join('')}\r\n${body}`);
    };

    for (const ends of [false, true]) {
        const { streams } = await status(slow);
        const gate = newGate();
        const socket = net.connect(options);
        let text = '';

        // until the second answer, or the end of the connection

        const read = new Promise((resolve) => {
            socket.on('error', () => {});
            socket.on('close', resolve);
            socket.on('end', () => socket.destroy());
            socket.on('data', (data) => {
                text += data;

                if (text.includes('the next one')) {
                    socket.destroy();
                }
            });
        });

        send(socket, 1, 'count', { n: 0, gate, tag: gate });
        await porter.running(gate, 'running', 1);
        send(socket, 2, 'echo', { text: 'the next one' });

        if (ends) {
            socket.end();

            // the server has seen the end: the call is kept in a stream

            while ((await status(slow)).streams === streams) {
                await pause(5);
            }
        }

        await porter.open(gate);
        assert.equal((await porter.running(gate, 'finished', 1)).aborted, 0);

        await read;
        assert.equal(text.includes('counted to 0'), !ends);
        assert.equal(text.includes('the next one'), !ends);

        while ((await status(slow)).calls_active > 0) {
            await pause(5);
        }

        assert.equal((await status(slow)).streams, streams + ends);
    }
});


// The way fetch ends a stream whose connection is lost after the first event.

for (const how of ['resetAndDestroy', 'destroy']) {
    test(`fetch() reads a stream, connection is ${how === 'destroy' ? 'closed' : 'reset'} in the `
         + 'middle: the body ends with an error', async () => {
        const gate = newGate();
        const proxy = net.createServer((client) => {
            const upstream = net.connect(server.port, '127.0.0.1');

            client.on('error', () => {}).pipe(upstream);
            upstream.on('error', () => {}).pipe(client);
            client.on('close', () => upstream.destroy());
            proxy.client = client;
        });

        await new Promise((resolve) => {
            proxy.listen(0, '127.0.0.1', resolve);
        });
        await session.open(gate, 1);

        const answer = await fetch(`http://127.0.0.1:${
            proxy.address().port}/mcp`, {
            method: 'POST',
            headers: session.headers({ 'Content-Type': 'application/json' }),
            body: JSON.stringify({ jsonrpc: '2.0', id: 'cut',
                method: 'tools/call', params: {
                    name: 'count', arguments: { n: 2, gate },
                    _meta: { progressToken: 'cut' } } }),
        });

        // with "Connection: close", Node.js 20 takes any end for a proper one

        assert.notEqual(answer.headers.get('connection'), 'close');

        const reader = answer.body.getReader();
        let text = '';

        while (!/"progress":1/.test(text)) {
            text += Buffer.from((await reader.read()).value).toString();
        }

        proxy.client[how]();

        await assert.rejects(async () => {
            while (!(await reader.read()).done) { /* until the end */ }
        }, /terminated/);

        const [, last] = [...text.matchAll(/^id: (.*)$/gm)].at(-1);

        await session.open(gate);
        assert.ok((await session.follow(Object.assign(await session.get(last),
            { id: 'cut' }))).response.result);
        proxy.close();
    });
}
