// SPDX-License-Identifier: Apache-2.0

// Clients over TLS and HTTP/2: calls, streams, questions, lost connections,
// resumption.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http2 from 'node:http2';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Duplex } from 'node:stream';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER, freePort } from './lib/fixture.mjs';
import { assertCounted, counted, textOf, upTo } from './lib/session.mjs';
import { request, request2 } from './lib/wire.mjs';

const MPM = process.env.FIXTURE_MPM ?? 'event';
const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-fronts-'));
const { key, certificate } = certify(dir);

after(() => fs.rm(dir, { recursive: true, force: true }));

// In nginx the endpoint has a second port with TLS; in Apache its only port has
// TLS, and backends publish at another one.

const secure = await freePort();
const door = await freePort();

const server = await Fixture.use({
    location: {
        mcp_close_after: 'off', mcp_stream_after: '100ms',
        ...(SERVER === 'apache' && {
            mcp_publish_url: `http://127.0.0.1:${door}/publish` }),
    },
    http: { apache: `
        LoadModule ssl_module ${modules}/mod_ssl.so
        LoadModule http2_module ${modules}/mod_http2.so
        Listen 127.0.0.1:${door}
        Protocols h2 http/1.1
        SSLSessionCache none` },
    server: {
        nginx: `
            listen 127.0.0.1:${secure} ssl http2;
            ssl_certificate ${certificate};
            ssl_certificate_key ${key};
            keepalive_timeout 1h;`,
        apache: `
            SSLEngine on
            SSLCertificateFile ${certificate}
            SSLCertificateKeyFile ${key}
        </VirtualHost>
        <VirtualHost 127.0.0.1:${door}>
            <Location /publish>
                SetHandler mcp-publish
            </Location>`,
    },
    allow: /AH10034|AH01909/,
});

const port = SERVER === 'apache' ? server.port : secure;
let client;

// Returns the one connection for all requests; opens another if the server has
// closed it.

function connection() {
    if (!client || client.closed || client.destroyed) {
        client = http2.connect(`https://127.0.0.1:${port}`,
                               { rejectUnauthorized: false });

        // each request reports its own errors

        client.on('error', () => {});
    }

    return client;
}

after(() => client?.destroy());

const fronts = {
    'TLS, HTTP/1.1': (options) => request(port, { ...options, secure: true }),
    'TLS, HTTP/2': (options) => request2(connection(), options),
};


const skip2 = MPM === 'prefork' && SERVER === 'apache'
              && 'mod_http2 does not run in prefork';

for (const [name, send] of Object.entries(fronts)) {
    const skip = name.endsWith('2') && skip2;

    describe(name, { skip }, () => front(name, send));
}


// Begins a TLS handshake and stops after the server's first answer, when a
// process of the server has the connection, until go() is called.

async function halfway() {
    const socket = net.connect(port, '127.0.0.1');
    let hello = false;
    let go;

    const going = new Promise((resolve) => { go = resolve; });
    const transport = new Duplex({
        read() {},
        async write(bytes, _, done) {
            if (hello) {
                await going;
            }

            hello = true;
            socket.write(bytes, done);
        },
        final: (done) => socket.end(done),
        destroy(error, done) {
            socket.destroy();
            done(error);
        },
    });

    socket.on('data', (bytes) => transport.push(bytes));
    socket.on('end', () => transport.push(null));
    socket.on('error', (error) => transport.destroy(error));

    const secured = tls.connect({ socket: transport, ALPNProtocols: ['h2'],
                                  rejectUnauthorized: false });

    await once(socket, 'data');

    return { secured, go };
}

// nginx before 1.27.1 sends no GOAWAY on such a connection.

test('HTTP/2 connection begun during a reload: all messages of its call arrive', {
    skip: skip2,
}, async () => {
    const session = await server.session({ send: fronts['TLS, HTTP/1.1'] });
    const gate = 'begun with a reload';
    const { secured, go } = await halfway();

    await session.open(gate, 3);
    await server.reload();

    // a child of Apache shows no sign of the reload

    while (SERVER === 'nginx' && (await server.serving()).length) {
        await new Promise((resolve) => { setTimeout(resolve, 10); });
    }

    go();

    const late = http2.connect(`https://127.0.0.1:${port}`,
                               { createConnection: () => secured });
    const closed = new Promise((resolve) => { late.on('close', resolve); });
    const other = session.send;
    const count = () => session.call('count', { n: 6, gate });

    // the server may close the connection before it accepts a request

    late.on('error', () => {});
    session.send = (options) => request2(late, options);

    const answer = await count().catch(() => null);

    session.send = other;
    await session.open(gate);
    await closed;

    const { messages, response } = await session.follow(answer
                                                        ?? await count());

    assert.deepEqual(counted(messages), upTo(6));
    assert.ok(response.result);
    await server.settled();
});


function front(name, send) {
    const open = (options = {}) => server.session({ send, ...options });
    const gateOf = (what) => `${name} ${what}`;

    test('calls answered as JSON and as a stream: all messages arrive',
         async () => {
        const session = await open();

        assert.equal(textOf(await session.tool('echo', { text: 'a' })), 'a');

        const { messages, response } = await session.follow(
            await session.call('count', { n: 100, size: 5000 }));

        assertCounted(counted(messages), 100);
        assert.ok(response.result);
    });

    test('request and response of 600 kB: arrive whole', async () => {
        const session = await open();
        const text = 'large '.repeat(100000);

        assert.equal(textOf(await session.tool('echo', { text })), text);
    });

    test('events of a stream: each is sent without waiting for the next one', async () => {
        const session = await open();
        const gate = gateOf('at once');
        const answer = await session.call('count', { n: 20, gate });

        for (let i = 0; i < 20; i++) {
            await session.open(gate, i + 1);
            assert.equal((await answer.message()).params.progress, i + 1);
        }

        await session.open(gate);
        assert.ok((await session.follow(answer)).response.result);
    });

    test('stream lost after every event, resumed: each event arrives once',
         async () => {
        const session = await open();

        for (let drop = 0; drop <= 5; drop++) {
            const gate = gateOf(`dropped ${drop}`);

            await session.open(gate, drop);

            const answer = await session.call('count', { n: 5, gate });

            await answer.block();

            for (let i = 0; i < drop; i++) {
                await answer.message();
            }

            answer.close();
            await session.open(gate);

            const { messages, response } = await session.follow(
                Object.assign(await session.get(answer.lastId),
                              { id: answer.id }));

            assert.deepEqual(counted(messages), upTo(5).slice(drop));
            assert.ok(response.result);
        }
    });

    test('client leaves during a call: the call continues, stream/poll/all lists its stream',
         async () => {
        const session = await open({ capabilities: { streams: {} } });
        const porter = await open();
        const gate = gateOf('left');
        const answer = await session.call('count', { n: 3, gate, tag: gate });

        assert.equal((await answer.message()).method,
                     'notifications/stream/create');
        answer.close();
        await porter.open(gate);
        assert.equal((await porter.running(gate, 'finished', 1)).aborted, 0);

        const { statuses: [{ streamId, pendingMessages }] }
            = (await session.response('stream/poll/all')).result;

        assert.equal(pendingMessages, true);

        const { messages, response } = await session.follow(Object.assign(
            await session.get(`${streamId}.1`), { id: answer.id }));

        assert.deepEqual(counted(messages), upTo(3));
        assert.ok(response.result);
    });

    test('questions on a stream: the answers reach the backend', async () => {
        const session = await open({ capabilities: { elicitation: {} } });
        const { response } = await session.follow(
            await session.call('ask_streaming', { rounds: 2 }), {
                async onMessage({ id, method }) {
                    if (method === 'elicitation/create') {
                        await session.respond(id, { action: 'accept',
                            content: { value: 'x' } });
                    }
                },
            });

        assert.ok(response.result);
    });

    test('40 streams at once: all messages arrive', async () => {
        const session = await open();

        await Promise.all(upTo(40).map(async () => {
            const { messages, response } = await session.follow(
                await session.call('count', { n: 20 }));

            assert.deepEqual(counted(messages), upTo(20));
            assert.ok(response.result);
        }));
    });

    test('cancelled call: the backend is aborted, the stream ends',
         async () => {
        const session = await open();
        const gate = gateOf('cancelled');
        const answer = await session.call('count', { n: 1, gate, tag: gate });

        await answer.block();
        await session.notify('notifications/cancelled',
                             { requestId: answer.id });
        assert.equal((await session.running(gate, 'aborted', 1)).aborted, 1);
        assert.equal(await answer.message(), null);
        assert.equal(answer.ending, 'end');
    });

    test('session stream: gets a published message', async () => {
        const session = await open();
        const other = await open();
        const listener = await other.get();

        await listener.block();
        await session.tool('publish', { message: { jsonrpc: '2.0',
            method: 'notifications/tools/list_changed' } });
        assert.equal((await listener.message()).method,
                     'notifications/tools/list_changed');
        listener.close();
    });

    test('reload: a stream ends without an error, and continues when it is resumed',
         async () => {
        const session = await open({
            capabilities: { resumableRequests: {} } });
        const gate = gateOf('reload');

        await session.open(gate, 3);

        const answer = await session.call('count', { n: 6, gate });

        // a policy and three messages

        for (let i = 0; i < 4; i++) {
            await answer.message();
        }

        await server.reload();
        while (await answer.block()) { /* until it is closed */ }
        assert.equal(answer.ending, 'end');

        // an old worker rejects new requests on its connection

        client?.close();
        await session.open(gate);

        const { messages, response } = await session.follow(Object.assign(
            await session.resume(answer.lastId), { id: answer.id }));

        assert.deepEqual(counted(messages), [3, 4, 5]);
        assert.ok(response.result);
        await server.settled();
    });
}
