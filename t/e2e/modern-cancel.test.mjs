// SPDX-License-Identifier: Apache-2.0

// Closing a connection cancels its call in 2026-07-28, at any moment. The
// backend's counters show that the call was aborted.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, test } from 'node:test';
import { MPM } from './lib/apache.mjs';
import { Fixture, SERVER, freePort } from './lib/fixture.mjs';
import { settle, status } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { textOf, upTo } from './lib/session.mjs';
import { request2 } from './lib/wire.mjs';

const late = await Fixture.use({ workers: 2,
                                 location: { mcp_stream_after: '10m' } });
const soon = await Fixture.use({
    workers: 2,
    location: { mcp_stream_after: '50ms', mcp_max_wait: '30s' } });

const META = { meta: { progressToken: 'p' } };

// Waits until the backend has n aborted calls of this tag, and no others.

async function cancelled(modern, tag, n = 1) {
    const { aborted } = await modern.running(tag, 'aborted', n);

    assert.equal(aborted, n);

    const { running, finished } = await modern.running(tag);

    assert.equal(running, 0);
    assert.equal(finished, 0);
}

// Waits until no call, consumer or stream is left.

async function empty() {
    const nothing = { calls_active: 0, consumers_active: 0, streams: 0 };
    const now = await settle(() => status(soon), nothing, 10000);

    assert.deepEqual({ ...now, ...nothing }, now);
}


// Opens a connection on which `earlier` calls are answered.

async function kept(modern, earlier) {
    const socket = net.connect({ port: soon.port, host: '127.0.0.1',
                                 allowHalfOpen: true });
    const post = (method, params) => {
        const message = modern.message(method, params);
        const body = JSON.stringify(message);
        const lines = Object.entries({ Host: `127.0.0.1:${soon.port}`,
            'Content-Length': Buffer.byteLength(body),
            ...modern.headers(message) })
            .map(([header, value]) => `${header}: ${value}\r\n`);

        socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    };

    const call = (name, args) => post('tools/call', { name, arguments: args });

    socket.on('error', () => {});

    for (const i of upTo(earlier)) {
        call('running', { of: `earlier ${i}` });
        await once(socket, 'data');
    }

    socket.resume();

    return { socket, post, call };
}


describe('closed connections', () => {
    for (const [when, server] of [['before the server has sent anything', late],
                                  ['after the head of the stream', soon]])
    {
        test(`2026-07-28, connection closed ${when}: the backend is aborted`,
             async () => {
            const modern = new Modern(server);

            for (const i of upTo(8)) {
                const tag = `${when} ${i}`;
                const call = modern.call('ask_streaming', { gate: tag, tag },
                    server === late
                        ? { lose: modern.running(tag, 'running', 1) } : {});

                if (server === late) {
                    await assert.rejects(call);
                } else {
                    const answer = await call;

                    assert.deepEqual(Object.keys(await answer.block()),
                                     ['comment']);
                    answer.close();
                }

                await cancelled(modern, tag);
            }
        });
    }

    for (const tool of ['count', 'http_count']) {
        test(`2026-07-28, connection closed in the middle of a stream, tool ${tool}: the backend is aborted`,
             async () => {
            const modern = new Modern(soon);

            for (const i of upTo(8)) {
                const tag = `middle ${tool} ${i}`;

                await modern.open(tag, 2);

                const answer = await modern.call(tool,
                    { n: 4, gate: tag, tag }, META);

                assert.equal((await answer.message()).params.progress, 1);
                assert.equal((await answer.message()).params.progress, 2);
                answer.close();
                await cancelled(modern, tag);
            }
        });

        test(`2026-07-28, connection closed before the first message, tool ${tool}: the backend is aborted`,
             async () => {
            const modern = new Modern(late);
            const tag = `first ${tool}`;

            await assert.rejects(modern.call(tool, { n: 1, gate: tag, tag },
                { ...META, lose: modern.running(tag, 'running', 1) }));
            await cancelled(modern, tag);
        });
    }

    // On a connection with earlier calls, or without.

    for (const earlier of [0, 1, 3]) {
        test(`2026-07-28, connection closed for writing only, after ${earlier} earlier calls: the backend is aborted`,
             async () => {
            const modern = new Modern(soon);
            const tag = `half ${earlier}`;
            const { socket, call } = await kept(modern, earlier);

            call('count', { n: 1, gate: tag, tag });
            await modern.running(tag, 'running', 1);
            socket.end();
            await cancelled(modern, tag);
            socket.destroy();
        });

        test('2026-07-28, connection closed for writing with the last request, '
             + `after ${earlier} earlier calls: no call is left`,
             async () => {
            const modern = new Modern(soon);
            const { socket, post, call } = await kept(modern, earlier);

            // these requests take longer than the end of the connection

            socket.cork();
            upTo(50).forEach(() => post('tools/list', {}));
            call('count', { n: 1, gate: `last ${earlier}` });
            socket.uncork();
            socket.end();

            if (!socket.closed) {
                await once(socket, 'close');
            }

            await empty();
        });
    }

    // One stream of a connection that stays open.

    test('2026-07-28, HTTP/2 stream closed: its call is aborted, another call on the connection continues', {
        skip: SERVER === 'apache' && MPM === 'prefork'
            && 'mod_http2 does not run in prefork' }, async (t) => {
        const port = await freePort();
        const modules = process.env.APACHE_MODULES
                        ?? '/usr/lib/apache2/modules';
        const fixture = await Fixture.use({
            location: { mcp_stream_after: '50ms', mcp_max_wait: '30s' },
            http: { apache: `LoadModule http2_module ${modules}/mod_http2.so
                             Protocols h2c http/1.1` },
            server: { nginx: `listen 127.0.0.1:${port} http2;` } });
        const client = http2.connect(`http://127.0.0.1:${
            SERVER === 'apache' ? fixture.port : port}`);

        t.after(() => client.destroy());

        const modern = new Modern(fixture, {
            send: (options) => request2(client, options) });
        const kept = await modern.call('count', { n: 1, gate: 'kept',
                                                  tag: 'kept' });

        for (const i of upTo(8)) {
            const tag = `h2 ${i}`;

            await modern.open(tag, 2);

            const answer = await modern.call('count',
                { n: 4, gate: tag, tag }, META);

            assert.equal((await answer.message()).params.progress, 1);
            assert.equal((await answer.message()).params.progress, 2);
            answer.close();
            await cancelled(modern, tag);
        }

        await modern.open('kept');

        const { response } = await modern.follow(kept);

        assert.equal(textOf(response.result), 'counted to 1');
    });

    test('2026-07-28, backend responded with 202, connection closed: the late response is dropped',
         async () => {
        const modern = new Modern(soon);
        const tag = 'detached';
        const answer = await modern.call('detach', { gate: tag, tag });

        await answer.block();
        answer.close();
        await empty();
        await modern.open(tag);
        assert.equal(textOf(await modern.tool('echo', { text: 'a' })), 'a');
    });

    test('client closes 20 connections during calls: no call, consumer or stream is left',
         async () => {
        const modern = new Modern(soon);
        const tag = 'many';
        const answers = await Promise.all(upTo(20).map(() => modern.call(
            'count', { n: 1, gate: tag, tag })));

        await modern.running(tag, 'running', 20);
        answers.forEach((answer) => answer.close());
        await cancelled(modern, tag, 20);
        await empty();
    });
});


describe('calls that continue', () => {
    test('two clients have calls with the same request id, one client closes its connection: the other client\'s call continues',
         async () => {
        const one = new Modern(soon);
        const other = new Modern(soon);
        const calls = [];

        for (const [client, tag] of [[one, 'leaves'], [other, 'stays']]) {
            calls.push(await client.call('count', { n: 1, gate: tag, tag },
                                         { id: 4711, ...META }));
        }

        await one.running('leaves', 'running', 1);
        await one.running('stays', 'running', 1);
        calls[0].close();
        await cancelled(one, 'leaves');
        await one.open('stays');

        const { response } = await other.follow(calls[1]);

        assert.equal(textOf(response.result), 'counted to 1');
    });

    test('session cancels the request id of a call without a session: the call continues',
         async () => {
        const modern = new Modern(soon);
        const session = await soon.session();
        const gate = 'foreign';
        const answer = await modern.call('count', { n: 1, gate, tag: gate },
                                         { id: 4712 });

        await modern.running(gate, 'running', 1);
        await session.notify('notifications/cancelled', { requestId: 4712 });
        await modern.open(gate);

        const { response } = await modern.follow(answer);

        assert.equal(textOf(response.result), 'counted to 1');
    });

    // These capabilities let a call outlive its connection.

    for (const capability of ['resumableRequests', 'resumeTokens']) {
        test(`2026-07-28, connection closed by a client that declared ${capability}: its call continues`,
             async () => {
            const modern = new Modern(soon, {
                capabilities: { [capability]: {} } });
            const tag = `kept ${capability}`;
            const answer = await modern.call('count', { n: 1, gate: tag, tag },
                                             META);

            // the observer declares no capability: its answers have no event
            // ids, even if they become streams on a slow machine

            const observer = new Modern(soon);

            await observer.running(tag, 'running', 1);
            answer.close();
            await observer.open(tag);
            assert.equal((await observer.running(tag, 'finished', 1)).aborted,
                         0);
        });
    }
});
