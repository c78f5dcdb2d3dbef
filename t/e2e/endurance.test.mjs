// SPDX-License-Identifier: Apache-2.0

// Many events and many lost connections, across workers, reloads and killed
// workers. SEED=n repeats a run.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { assertCounted, counted, textOf, upTo } from './lib/session.mjs';

const seed = Number(process.env.SEED ?? Date.now() % 1000000);

console.log(`SEED=${seed}`);


// mulberry32

function random(state) {
    return () => {
        state = (state + 0x6d2b79f5) | 0;

        let t = Math.imul(state ^ (state >>> 15), 1 | state);

        t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);

        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}


/*
 * Reads a call of n events to its end and drops the connection `drops` times:
 * once at a random event in each of `drops` equal parts of the call, sometimes
 * with more events received. Awaits disturb() at each drop.
 */

async function dropped(session, call, n, drops, rand, disturb = () => {}) {
    const at = upTo(drops).map((i) => Math.floor((i + rand()) * n / drops));
    const messages = [];
    let answer = call;
    let lastId;
    let next = 0;
    let lost = 0;

    for (;;) {
        const block = await answer.block();

        if (block === null) {
            if (lost < next) {
                lost = next;
                await disturb(lost);
            }

            answer = await session.resume(lastId);
            assert.equal(answer.status, 200);
            continue;
        }

        lastId = block.id ?? lastId;

        if (!block.data) {
            continue;
        }

        const message = JSON.parse(block.data);

        if (message.method === undefined) {
            return { messages, response: message, lost: next };
        }

        messages.push(message);

        // some of the blocks already received are lost with the connection

        if (messages.length > at[next]) {
            next++;
            answer.queue.length = Math.min(answer.queue.length,
                                           Math.floor(rand() * 2));
            answer.close();
        }
    }
}

function exactlyOnce({ messages, response }, n) {
    assertCounted(counted(messages), n, `(SEED=${seed})`);
    assert.equal(textOf(response.result), `counted to ${n}`);
}


describe('10,000 events', async () => {
    const server = await Fixture.use({ workers: 4 });
    const session = await server.session();
    const n = 10000;

    test('10,000 events, 100 lost connections: each event arrives once',
         async () => {
        const rand = random(seed);
        const seen = await dropped(session,
            await session.call('count', { n, size: 20 }), n, 100, rand);

        assert.equal(seen.lost, 100);
        exactlyOnce(seen, n);
    });

    test('HTTP backend, 10,000 events, 100 lost connections: each event arrives once',
         async () => {
        const rand = random(seed + 1);

        exactlyOnce(await dropped(session, await session.call('http_count',
            { n, size: 20, format: 'ndjson' }), n, 100, rand), n);
    });

    test('20 calls at once, each loses its connection 20 times: each event arrives once',
         async () => {
        const rand = random(seed + 2);

        await Promise.all(upTo(20).map(async () => exactlyOnce(
            await dropped(session, await session.call('count', { n: 500 }),
                          500, 20, rand), 500)));
    });

    test('10,000 events, five reloads: each event arrives once', async () => {
        const rand = random(seed + 3);
        const gate = 'reloads';

        // each fifth of the call waits for a reload

        let reloads = 0;

        await session.open(gate, n / 5);

        const seen = await dropped(session,
            await session.call('count', { n, size: 20, gate }), n, 100, rand,
            async (lost) => {
                if (reloads < lost / 20) {
                    reloads++;
                    await server.reload();
                    await session.open(gate,
                        reloads < 5 ? n / 5 * (reloads + 1) : undefined);
                }
            });

        exactlyOnce(seen, n);
        assert.equal(reloads, 5);
    });
});


describe('a reload', async () => {
    const CHANGED = { jsonrpc: '2.0',
                      method: 'notifications/tools/list_changed' };
    const server = await Fixture.use({ workers: 1,
                                       location: { mcp_close_after: 'off' } });

    // Some clients take an orderly end of a stream for the end of the call,
    // even after an event id.

    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
        test(`reload, ${version}: a session's stream ends, the stream of a call does not`,
             async () => {
            const session = await server.session({ version });
            const gate = `reload ${version}`;
            const listener = await session.get();

            // a listener, too, ends only after an event id

            await session.tool('publish', { message: CHANGED });
            assert.equal((await listener.message()).method, CHANGED.method);
            await session.open(gate, 1);

            const call = await session.call('count', { n: 3, gate });
            const messages = [];
            const next = async () => {
                const block = await call.block();

                if (block?.data) {
                    messages.push(JSON.parse(block.data));
                }

                return block;
            };

            while (messages.length === 0) {
                assert.ok(await next());
            }

            assert.ok(call.lastId);
            await server.reload();

            while (await listener.block()) { /* until the process winds up */ }

            assert.equal(listener.ending, 'end');
            await session.open(gate);

            while (await next()) { /* until the end of the connection */ }

            const response = messages.pop();

            exactlyOnce({ messages, response }, 3);
            assert.equal(call.ending, 'end');
            await server.settled();
        });
    }
});


describe('death of a worker', async () => {
    const server = await Fixture.use({ workers: 4,
                                       location: { mcp_close_after: 'off' },
                                       kills: true });
    const session = await server.session();

    test('worker of a call is killed: its client gets the stored events, then -32603',
         async () => {
        for (let round = 0; round < 5; round++) {
            const gate = `dies ${round}`;

            await session.open(gate, 100);

            const answer = await session.call('where', { n: 1000, gate });
            let lastId;
            let worker;
            const messages = [];

            for (let i = 0; i < 20;) {
                const block = await answer.block();

                lastId = block.id ?? lastId;

                if (block.data) {
                    const message = JSON.parse(block.data);

                    messages.push(message);
                    worker ??= message.params.data.worker;
                    i++;
                }
            }

            answer.close();

            // the last of the 100 events is stored once it can be read

            const reader = await session.resume(lastId);

            for (let block; messages.length < 101
                            && (block = await reader.block());)
            {
                lastId = block.id ?? lastId;

                if (block.data) {
                    messages.push(JSON.parse(block.data));
                }
            }

            const middle = reader.blocks.find((block) => block.data).id;

            reader.close();
            process.kill(worker, 'SIGKILL');

            const rest = await session.follow(Object.assign(
                await session.resume(middle), { id: answer.id }));
            const all = counted(messages);

            assert.deepEqual(all, upTo(100));
            assert.deepEqual(counted(rest.messages), all.slice(20));
            assert.equal(rest.response.error.code, -32603);

            // the error was the last event

            const after = await session.get(rest.lastId);

            assert.equal(after.status, 204);
        }
    });

    test('worker of a client\'s connection is killed: the client resumes at another worker',
         async () => {
        let other = 0;

        for (let round = 0; round < 20 && other < 3; round++) {
            const gate = `consumer ${round}`;

            await session.open(gate, 10);

            const answer = await session.call('where', { n: 20, gate });
            const { params: { data: { worker } } } = await answer.message();
            const { lastId } = answer;

            answer.close();

            const reader = await session.resume(lastId);
            const consumer = Number(reader.headers['x-worker']);

            await reader.block();

            if (consumer === worker) {
                reader.close();
                await session.open(gate);
                continue;
            }

            other++;
            process.kill(consumer, 'SIGKILL');
            await reader.ended;
            await session.open(gate);

            const { messages, response } = await session.follow(Object.assign(
                await session.resume(lastId), { id: answer.id }));

            assert.deepEqual(counted(messages), upTo(20));
            assert.equal(textOf(response.result), 'counted to 20');
        }

        assert.ok(other > 0);
    });

    test('call after workers were killed: each event arrives', async () => {
        const { messages } = await session.follow(
            await session.call('count', { n: 100 }));

        assert.deepEqual(counted(messages), upTo(100));
    });
});
