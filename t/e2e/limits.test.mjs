// SPDX-License-Identifier: Apache-2.0

// Cancellation, waiting times, back-pressure, full stores.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { held, rest } from './lib/held-calls.mjs';
import { Fixture } from './lib/fixture.mjs';
import { many, settle, status } from './lib/load.mjs';
import { assertCounted, counted, textOf, upTo } from './lib/session.mjs';


describe('ends of calls', async () => {
    const server = await Fixture.use({
        workers: 4,
        location: { mcp_max_wait: '1s', mcp_close_after: 'off' },
    });
    const late = await Fixture.use({
        workers: 4, location: { mcp_stream_after: '10m' },
    });
    const session = await server.session();

    test('cancelled call: the backend is aborted, the stream ends',
         async () => {
        for (const format of ['sse', 'ndjson']) {
            const tag = `cancelled ${format}`;
            const answer = await session.call('count', { n: 10, gate: tag,
                                                         tag, format });

            await session.running(tag, 'running', 1);
            await answer.block();

            const ack = await session.notify('notifications/cancelled',
                { requestId: answer.id, reason: 'test' });

            assert.equal(ack.status, 202);
            assert.equal((await session.running(tag, 'aborted', 1)).aborted,
                         1);

            // no response after a cancellation: the stream just ends

            assert.equal(await answer.message(), null);
            assert.equal(answer.ending, 'end');
        }
    });

    test('call cancelled before its first byte: the backend is aborted',
         async () => {
        const tag = 'cancelled early';
        const answer = session.call('count', { n: 1, gate: tag, tag },
                                    { id: 4711 });

        await session.running(tag, 'running', 1);
        await session.notify('notifications/cancelled', { requestId: 4711 });
        assert.equal((await session.running(tag, 'aborted', 1)).aborted, 1);
        await (await answer).ended;
    });

    // The cancellation may reach any worker, and the call may run at any other.

    test('call cancelled long before its stream begins, at any worker: the backend is aborted',
         async () => {
        const of = await late.session();

        for (let i = 0; i < 12; i++) {
            const tag = `cancelled young ${i}`;
            const answer = of.call('count', { n: 1, gate: tag, tag },
                                   { id: 100 + i });

            await of.running(tag, 'running', 1);
            await of.notify('notifications/cancelled', { requestId: 100 + i });
            assert.equal((await of.running(tag, 'aborted', 1)).aborted, 1);
            await (await answer).ended;
        }
    });

    test('another session cancels the request id of a call: the call continues', async () => {
        const other = await server.session();
        const tag = 'not cancelled';
        const answer = await session.call('count', { n: 1, gate: tag, tag });

        await other.notify('notifications/cancelled',
                           { requestId: answer.id });
        await session.open(tag);

        const { response } = await session.follow(answer);

        assert.equal(textOf(response.result), 'counted to 1');
    });

    // The response and the cancellation of a request may cross, and a client
    // may use ids again.

    test('request cancelled after its response, new request with the same id: the new request gets its result',
         async () => {
        for (let i = 0; i < 12; i++) {
            const tag = `cancelled late ${i}`;

            await session.follow(await session.call('count', { n: 0 },
                                                    { id: 4712 }));

            const ack = await session.notify('notifications/cancelled',
                { requestId: 4712 });
            const answer = await session.call('count',
                { n: 1, gate: tag, tag }, { id: 4712 });

            assert.equal(ack.status, 202);
            await session.open(tag);

            const { response } = await session.follow(answer);

            assert.equal(textOf(response.result), 'counted to 1');
        }
    });

    test('no client resumes within mcp_max_wait: the backend is aborted',
        async () => {
            const tag = 'max wait';
            const answer = await session.call('count', { n: 1, gate: tag,
                                                         tag });
            const { id } = await answer.block();

            answer.close();

            assert.equal((await session.running(tag, 'aborted', 1)).aborted,
                         1);
            assert.equal((await session.get(id)).status, 404);
        });

    test('deleted session: its calls are aborted', async () => {
        const other = await server.session();
        const tag = 'deleted';
        const answer = await other.call('count', { n: 1, gate: tag, tag });

        await answer.block();
        await other.delete();
        assert.equal((await session.running(tag, 'aborted', 1)).aborted, 1);
        await answer.ended;
    });
});


describe('a call that takes too long', async () => {
    const server = await Fixture.use({
        location: { mcp_call_timeout: '1s' } });
    const session = await server.session();

    test('call longer than mcp_call_timeout: -32603, the backend is aborted',
         async () => {
        const tag = 'timeout';
        const { response } = await session.follow(
            await session.call('count', { n: 1, gate: tag, tag }));

        assert.equal(response.error.code, -32603);
        assert.equal((await session.running(tag, 'aborted', 1)).aborted, 1);
    });
});


describe('back-pressure', async () => {
    const server = await Fixture.use({
        workers: 2,
        location: { mcp_stream_buffer: '256k', mcp_close_after: 'off' },
        sndbuf: 65536,
    });
    const session = await server.session();

    // Messages ahead of the reader are in the stream's buffer and in the
    // sockets between; the backend must wait with the rest.

    for (const name of ['count', 'http_count']) {
        test(`tool ${name}, client reads slowly: the backend has to wait`, async () => {
            const size = 16384;
            const n = 4000;
            const tag = `slow ${name}`;
            const answer = await session.call(name, { n, size, tag });
            const numbers = [];
            let ahead = 0;

            for (let message; (message = await answer.message());) {
                if (message.method === undefined) {
                    break;
                }

                numbers.push(parseInt(message.params.message, 10));

                if (numbers.length % 1000 === 1) {
                    answer.pause();

                    const { sent } = await session.running(tag);

                    ahead = Math.max(ahead, sent - numbers.length
                                            - answer.queue.length);
                    answer.resume();
                }
            }

            assertCounted(numbers, n);
            assert.ok(ahead * size < 24 * 1048576,
                      `${ahead} messages ahead of the reader`);
        });
    }

    test('call whose client has left: waits when its buffer is full, continues when the client resumes',
        async () => {
            const tag = 'nobody reads';
            const n = 3000;

            // all messages but one come without a reader, because bytes lost
            // with a connection would count as sent

            await session.open(tag, 1);

            const answer = await session.call('count', { n, size: 16384, tag,
                                                         gate: tag });
            const first = answer.blocks[0] ?? await answer.block();

            answer.close();
            await settle(() => status(server), { consumers_active: 0 });
            await session.open(tag, n + 1);

            const { sent, finished } = await session.running(tag);

            assert.ok(sent < n);
            assert.equal(finished, 0);

            const seen = answer.blocks.findLast((block) => block.id) ?? first;
            const before = counted(answer.blocks.filter((b) => b.data)
                .map((b) => JSON.parse(b.data)));
            const { messages, response } = await session.follow(
                Object.assign(await session.get(seen.id), { id: answer.id }));

            assertCounted([...before, ...counted(messages)], n);
            assert.equal(textOf(response.result), `counted to ${n}`);
        });
});


describe('a full store', async () => {
    const server = await Fixture.use({
        workers: 2, zone: '1m',
        location: { mcp_stream_buffer: '128k', mcp_close_after: 'off',
                    mcp_quota_key: 'off' },
    });
    const session = await server.session();

    test('zone is full: quick calls are answered, new streams get -32603, existing streams continue',
        async () => {
        const gate = 'full';
        const calls = [];
        let refused;

        await session.open(gate, 50);

        // running calls may free events that were sent

        while (!refused && calls.length < 200) {
            const answer = await session.call('count',
                { n: 51, size: 2000, gate });

            if (answer.sse) {
                calls.push(answer);
                await answer.block();
                continue;
            }

            refused = await answer.json();

            // a call that has begun is not to be repeated: no Retry-After

            assert.equal(refused.id, answer.id);
            assert.equal(answer.status, 200);
            assert.equal(refused.error.code, -32603);
            assert.match(refused.error.message, /ended early: .* no room/);
            assert.equal(answer.headers['retry-after'], undefined);
        }

        assert.ok(refused);
        assert.equal(textOf(await session.tool('echo', { text: 'quick' })),
                     'quick');

        // cancelled calls free memory

        for (const answer of calls.splice(-5)) {
            await session.notify('notifications/cancelled',
                                 { requestId: answer.id });
            await answer.ended;
        }

        await session.open(gate);

        for (const answer of calls) {
            const { messages, response } = await session.follow(answer);

            assert.deepEqual(counted(messages), upTo(51));
            assert.ok(response.result);
        }

        // new calls have room again

        const { messages } = await session.follow(
            await session.call('count', { n: 51, size: 2000 }));

        assert.deepEqual(counted(messages), upTo(51));
    });
});


describe('calls larger than the zone', async () => {
    const server = await Fixture.use({
        workers: 2, zone: '1m',
        location: { mcp_stream_buffer: '8m', mcp_close_after: 'off' },
    });
    const session = await server.session();

    // Sent events free memory, with messages of either size.

    for (const [n, size] of [[1000, 3000], [50, 60000], [40, 100000]]) {
        test(`${n} messages of ${size} bytes in a zone of 1 MB: all arrive`,
            async () => {
                // the end of the last call counts as sent a moment after its
                // arrival

                await settle(() => status(server), { consumers_active: 0 });

                const { messages, response } = await session.follow(
                    await session.call('count', { n, size }));

                assert.deepEqual(counted(messages), upTo(n));
                assert.equal(textOf(response.result), `counted to ${n}`);
            });
    }
});


describe('a flood of resumptions', async () => {
    const server = await Fixture.use({
        location: { mcp_close_after: 'off' },
    });
    const session = await server.session({
        capabilities: { resumableRequests: {}, streams: {} } });

    const ways = {
        'by event id': ({ last }) => session.get(last),
        'by requests/resume': ({ id, said }) => session.request('requests/resume', {
            resumeToken: said['notifications/requests/resumePolicy']
                .resumeToken }, { id }),
        'by stream/resume': ({ said }) => session.request('stream/resume', {
            streamId: said['notifications/stream/create'].streamId,
            resumeToken: said['notifications/stream/create'].resumeToken }),
    };

    // One stream has one consumer, however often it is resumed.

    for (const [name, resume] of Object.entries(ways)) {
        test(`stream resumed 1000 times ${name}: one consumer is left`, async () => {
            const call = await held(session, 3);
            const before = await settle(() => status(server),
                                        { consumers_active: 1 });
            const kept = { crowd: false, streams: before.streams,
                           zone_used_bytes: before.zone_used_bytes };
            const ends = [];

            await many(1000, 50, async () => {
                const answer = await resume(call);

                assert.equal(answer.status, 200);
                ends.push(rest(answer, call.id));
            });

            const during = await settle(async () => {
                const now = await status(server);

                return { ...now, crowd: now.consumers_active > 1 };
            }, kept);

            for (const [gauge, value] of Object.entries(kept)) {
                assert.equal(during[gauge], value, gauge);
            }

            assert.equal(during.resumes - before.resumes, 1000);
            await session.open(call.gate);

            const whole = (await Promise.all(ends))
                .filter(({ response }) => response);

            // an old worker may have sent its client to another one

            if (whole.length === 0) {
                whole.push(await rest(await resume(call), call.id));
            }

            assert.equal(whole.length, 1);
            assert.deepEqual(counted(whole[0].messages).slice(-2), [1, 2]);
        });
    }
});


describe('a thousand streams', async () => {
    const server = await Fixture.use({
        workers: 4, threads: 1200, location: { mcp_max_session_streams: '0' },
    });
    const session = await server.session();

    test('1000 streams in one session, 500 resumed: all messages arrive',
         async () => {
        const gate = 'thousand';
        const n = 1000;

        await session.open(gate, 1);

        const calls = [];

        for (let i = 0; i < n; i += 100) {
            calls.push(...await Promise.all(upTo(100).map(
                () => session.call('count', { n: 3, gate, tag: gate }))));
        }

        assert.equal((await session.running(gate, 'running', n)).running, n);

        // half of the connections are lost; an old worker may have ended
        // streams before their first message

        const seen = await Promise.all(calls.map(async (answer, i) => {
            const first = await answer.message();

            if (first === null) {
                assert.equal(answer.ending, 'end', 'is sent on in order');
            }

            if (i % 2) {
                answer.close();
            }

            return { first: first ? [first] : [], cursor: answer.lastId };
        }));

        await session.open(gate);

        const ends = await Promise.all(calls.map(async (answer, i) =>
            session.follow(i % 2 === 0 ? answer : Object.assign(
                await session.resume(seen[i].cursor), { id: answer.id }))));

        for (const [i, { messages, response }] of ends.entries()) {
            assert.deepEqual(counted([...seen[i].first, ...messages]),
                             [0, 1, 2]);
            assert.equal(textOf(response.result), 'counted to 3');
        }
    });
});


describe('too many streams', async () => {
    const server = await Fixture.use({
        location: { mcp_max_session_streams: '4' },
    });
    const session = await server.session();

    test('streams of one session above mcp_max_session_streams: 429',
         async () => {
        const gate = 'many';
        const calls = [];
        let refused;

        while (!refused && calls.length < 10) {
            const answer = await session.call('count', { n: 1, gate });

            if (answer.status === 200) {
                await answer.block();
                calls.push(answer);
            } else {
                refused = answer;
            }
        }

        assert.equal(refused.status, 429);
        assert.ok((await refused.json()).error);
        assert.equal(calls.length, 4);

        const other = await server.session();

        await other.open(gate);

        for (const answer of calls) {
            await session.follow(answer);
        }
    });
});
