// SPDX-License-Identifier: Apache-2.0

// What only nginx has: its sockets' options, its processes and what they lack.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import fs from 'node:fs/promises';
import { after, test } from 'node:test';
import { held } from './lib/faces.mjs';
import { Fixture, root } from './lib/fixture.mjs';

// the sanitizers insist on being the first to be preloaded

const skip = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;


// the library t/fixtures/descriptors.c, and the file that it writes

async function descriptors(eventfds) {
    const file = `/tmp/descriptors.${process.pid}.${eventfds}`;
    const preload = `${file}.so`;

    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', `-DNODELAY="${file}"`,
                         `-DEVENTFDS=${eventfds}`, '-o', preload,
                         `${root}/t/fixtures/descriptors.c`]);
    await fs.writeFile(file, '');
    after(async () => {
        await fs.rm(file, { force: true });
        await fs.rm(preload, { force: true });
    });

    return { file, env: { LD_PRELOAD: preload } };
}


test('the first stream of a connection goes without Nagle\'s algorithm',
     { skip }, async () => {
    const { file, env } = await descriptors(-1);
    const server = await Fixture.use({ env });
    const session = await server.session();
    const call = await held(session, 2);
    const listener = await session.get();

    await listener.block();

    const ports = (await fs.readFile(file, 'utf8')).trim().split('\n')
        .map(Number);

    for (const { socket } of [call.answer, listener]) {
        assert.ok(ports.includes(socket.localPort), `${socket.localPort}: ${
            ports}`);
    }

    listener.close();
    await session.open(call.gate);
    assert.ok((await session.follow(Object.assign(call.answer,
        { id: call.id }))).response.result);
});


test('workers that have no bell serve, hear of others, and wind up',
     { skip }, async () => {
    const { env } = await descriptors(1);
    const server = await Fixture.use({
        env, location: { mcp_close_after: 'off' },
        allow: /\[error\].*eventfd\(\) failed/ });
    const session = await server.session();
    const calls = [];
    const workers = new Set();

    while (workers.size < 2) {
        calls.push(await held(session, 2));
        workers.add(calls.at(-1).answer.headers['x-worker']);
    }

    await server.reload();

    // each stream ends with an advice, and goes on at another worker

    await Promise.all(calls.map(async ({ answer, id, gate }) => {
        while (await answer.block()) { /* until it is closed */ }

        assert.equal(answer.ending, 'end');
        assert.ok(answer.blocks.at(-1).retry, JSON.stringify(answer.blocks));

        const again = await session.resume(answer.lastId);

        await session.open(gate);
        assert.ok((await session.follow(Object.assign(again, { id })))
            .response.result);
    }));

    await server.settled();
});


// the head of an answer on a connection that the client would keep

const KEEP = { headers: { Connection: 'keep-alive' } };

test('a connection is kept only as long as its worker', async () => {
    const server = await Fixture.use({
        workers: 1,
        location: { mcp_stream_after: '30s', mcp_close_after: 'off' } });
    const session = await server.session();
    const tag = `kept ${process.pid}`;
    const listener = await session.get(undefined, KEEP);
    const quick = await session.call('test_simple_text', {}, KEEP);
    const begun = ['a', 'b'].map((gate) => session.call('count',
        { n: 0, gate: `${tag} ${gate}`, tag }, KEEP));

    assert.equal(listener.headers.connection, 'close');
    assert.equal(quick.headers.connection, 'keep-alive');

    await session.running(tag, 'started', 2);
    await server.reload();

    // the old worker has closed its idle connections

    while (await listener.block()) { /* until it is closed */ }

    await Promise.all(begun.map(async (answered, i) => {
        await session.open(`${tag} ${'ab'[i]}`);

        const answer = await answered;

        assert.equal(answer.sse, false);
        assert.equal(answer.headers.connection, 'close');
        assert.ok((await answer.json()).result);
    }));

    // or it is stopped with the two connections that it still lingers on

    await server.settled();
});


/*
 * Clients as Node.js has them: connections that are free are taken for the next
 * request at once.  Of the requests that fail as connections are closed none
 * may be on one that has carried a stream.
 */

test('quick calls of Node.js while workers come and go', async (t) => {
    const server = await Fixture.use({
        server: { nginx: 'location = /control { return 200 "ok\\n"; }' } });
    const session = await server.session();
    const seen = new Map();
    const sockets = new WeakMap();
    const streamed = new WeakSet();
    const failures = { streamed: 0, mcp: 0, control: 0 };
    const listen = {
        'undici:client:sendHeaders': ({ request, socket }) =>
            sockets.set(request, socket),

        // from now on its connection has carried a stream

        'undici:request:headers': ({ request, response }) => {
            if (response.headers.some((h) => /event-stream/.test(h))) {
                seen.set(request, sockets.get(request));
            }
        },
        'undici:request:trailers': ({ request }) => {
            if (seen.has(request)) {
                streamed.add(seen.get(request));
                seen.delete(request);
            }
        },
        'undici:request:error': ({ request, error }) => {
            const socket = sockets.get(request);

            if (seen.delete(request)) {
                return;
            }

            if (!end.signal.aborted) {
                failures[streamed.has(socket) ? 'streamed'
                    : request.path === '/control' ? 'control' : 'mcp']++;
            }
        },
    };
    const url = new URL(server.url);
    const count = { mcp: 0, control: 0, streams: 0 };
    const end = new AbortController();
    let over = false;

    const ask = async (path, message) => {
        const answer = await fetch(new URL(path, url), {
            method: message ? 'POST' : 'GET',
            ...(!message && { signal: end.signal }),
            headers: session.headers(message
                ? { 'Content-Type': 'application/json' } : {}),
            ...(message && { body: JSON.stringify({ jsonrpc: '2.0',
                id: session.next++, method: 'tools/call', params: message }) }),
        });

        return answer.text();
    };

    // one after the other, without a pause

    const repeat = async (kind, job) => {
        while (!over) {
            await job().then(() => { count[kind]++; }, () => {});
        }
    };
    const quick = { name: 'test_simple_text', arguments: {} };
    const slow = { name: 'count', arguments: { n: 4, interval_ms: 60 },
                   _meta: { progressToken: 'p' } };

    for (const [name, handler] of Object.entries(listen)) {
        diagnostics.subscribe(name, handler);
    }

    const jobs = [
        ...Array.from({ length: 3 }, () => repeat('mcp', () =>
            ask('/mcp', quick))),
        repeat('control', () => ask('/control', quick)),
        ...Array.from({ length: 12 }, () => repeat('streams', () =>
            ask('/mcp', slow))),
        repeat('streams', () => ask('/mcp')),
    ];
    let reloads = 0;

    try {
        while (reloads < 10 || count.mcp < 3000) {
            const before = count.mcp;

            while (count.mcp - before < 300) {
                await new Promise((resolve) => { setTimeout(resolve, 10); });
            }

            await server.reload();
            reloads++;
        }
    } finally {
        over = true;
        end.abort();
    }

    await Promise.all(jobs);
    await server.settled();

    for (const [name, handler] of Object.entries(listen)) {
        diagnostics.unsubscribe(name, handler);
    }

    t.diagnostic(`${reloads} reloads: ${JSON.stringify({ count, failures })}`);
    assert.equal(failures.streamed, 0);
    assert.ok(count.streams > 0);
});
