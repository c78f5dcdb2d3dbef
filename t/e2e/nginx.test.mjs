// SPDX-License-Identifier: Apache-2.0

// Features of nginx alone: options of its sockets, workers without an eventfd,
// kept connections.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http from 'node:http';
import { after, test } from 'node:test';
import { held } from './lib/held-calls.mjs';
import { Fixture, root } from './lib/fixture.mjs';
import { ask } from './lib/keepalive.mjs';

// A sanitizer must be the first preloaded library.

const skip = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;


// Builds t/fixtures/descriptors.c; returns the environment and the file that
// the library writes.

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


test('stream as the first response on a connection: Nagle\'s algorithm is off',
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


test('eventfd() fails in workers: calls continue across a reload',
     { skip }, async () => {
    const { env } = await descriptors(1);
    const server = await Fixture.use({
        env, location: { mcp_close_after: 'off' },
        allow: /\[error\].*eventfd\(\) failed/ });
    const session = await server.session({
        capabilities: { resumableRequests: {} } });
    const calls = [];
    const workers = new Set();

    while (workers.size < 2) {
        calls.push(await held(session, 2));
        workers.add(calls.at(-1).answer.headers['x-worker']);
    }

    await server.reload();

    // each stream ends with a retry, and continues at another worker

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


test('worker_shutdown_timeout passes while a call waits for the user: the old worker exits, the call ends with an error',
     async () => {
    const server = await Fixture.use({
        workers: 1, location: { mcp_close_after: 'off' },
        env: { FIXTURE_LOAD: 'worker_shutdown_timeout 200ms;' } });
    const session = await server.session({ capabilities: { elicitation: {} } });
    const answer = await session.call('test_elicitation', { message: '?' });

    assert.equal((await answer.message()).method, 'elicitation/create');
    await server.reload();
    await server.settled();

    while (await answer.block()) { /* until it is closed */ }

    const { response } = await session.follow(Object.assign(
        await session.resume(answer.lastId), { id: answer.id }));

    assert.equal(response.error.code, -32603);
});


// Headers of a request whose client would keep the connection.

const KEEP = { headers: { Connection: 'keep-alive' } };

test('reload with keepalive connections: the old worker closes each connection after the last response on it',
     async () => {
    const server = await Fixture.use({
        workers: 1,
        location: { mcp_stream_after: '30s', mcp_close_after: 'off' } });
    const session = await server.session();
    const tag = `kept ${process.pid}`;
    const listener = await session.get(undefined, KEEP);
    const quick = await session.call('test_simple_text', {}, KEEP);
    const begun = ['a', 'b'].map((gate) => session.call('count',
        { n: 0, gate: `${tag} ${gate}`, tag }, KEEP));

    const late = session.call('count', { n: 1, gate: `${tag} c`, tag }, KEEP);

    assert.equal(listener.headers.connection, 'keep-alive');
    assert.equal(quick.headers.connection, 'keep-alive');

    await session.running(tag, 'started', 3);
    await server.reload();

    // the old worker has closed its idle connections

    while (await listener.block()) { /* until it is closed */ }

    assert.equal(listener.ending, 'end');

    await Promise.all(begun.map(async (answered, i) => {
        await session.open(`${tag} ${'ab'[i]}`);

        const answer = await answered;

        assert.equal(answer.sse, false);
        assert.equal(answer.headers.connection, 'close');
        assert.ok((await answer.json()).result);
    }));

    await session.open(`${tag} c`);

    const streamed = await late;

    assert.equal(streamed.sse, true);
    assert.equal(streamed.headers.connection, 'close');
    assert.ok((await session.follow(streamed)).response.result);

    // a server with connections in lingering close would be stopped too early

    await server.settled();
});


test('stream has ended: the next requests use the same connection, '
     + 'keepalive_timeout closes the idle connection', async () => {
    const server = await Fixture.use({
        server: { nginx: 'keepalive_timeout 300ms;' } });
    const session = await server.session();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const call = (name, args) => ask(agent, session, {
        jsonrpc: '2.0', id: session.next++, method: 'tools/call',
        params: { name, arguments: args, _meta: { progressToken: 'p' } } });

    const first = await call('count', { n: 3 });
    const second = await call('count', { n: 2 });
    const third = await call('test_simple_text', {});

    assert.match(first.type, /event-stream/);
    assert.match(first.text, /counted to 3/);
    assert.match(second.text, /counted to 2/);
    assert.match(third.type, /json/);
    assert.equal(first.socket, second.socket);
    assert.equal(first.socket, third.socket);

    if (!third.socket.destroyed) {
        await once(third.socket, 'close');
    }
});
