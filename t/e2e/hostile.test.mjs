// SPDX-License-Identifier: Apache-2.0

// Ten callers that fill the zone as fast as they can, each from its own
// address, and two others that use the server normally.

import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, test } from 'node:test';
import { load } from './lib/apache.mjs';
import { Fixture } from './lib/fixture.mjs';
import { SANITIZED, many, status } from './lib/load.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';
import { Tasks } from './lib/tasks.mjs';
import { request } from './lib/wire.mjs';

const SCALE = Number(process.env.HOSTILE_SCALE ?? (SANITIZED ? 0.1 : 1));
const LISTENERS = Math.round(30000 * SCALE);
const SESSIONS = Math.round(40000 * SCALE);
const ADDRESSES = upTo(10).map((i) => `127.0.0.${i + 2}`);

const INITIALIZE = JSON.stringify({
    jsonrpc: '2.0', id: 0, method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {},
              clientInfo: { name: 'hostile', version: '1' } } });

// long times, so that no held entry expires during the test

const server = await Fixture.use({
    workers: 2, zone: '16m', threads: 64,
    location: { mcp_close_after: 'off', mcp_max_wait: '10m',
                mcp_linger: '1m',
                nginx: 'mcp_principal $http_x_user;',
                apache: 'MCPPrincipal "%{HTTP:X-User}"' },
});

const heads = (fields) => Object.entries({
    Host: '127.0.0.1', ...fields,
}).map(([name, value]) => `${name}: ${value}\r\n`).join('') + '\r\n';

const posted = (body, fields) => Buffer.from(`POST /mcp HTTP/1.1\r\n${heads({
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...fields,
})}${body}`);

const INITIAL = posted(INITIALIZE);

const named = (method, id) => Buffer.from(`${method} /mcp HTTP/1.1\r\n`
    + heads({
        Accept: 'text/event-stream', 'Mcp-Session-Id': id }));


// A connection with many requests under way; only the status and the session of
// an answer are read.

class Pipeline {
    constructor(localAddress, { port } = server) {
        this.localAddress = localAddress;
        this.port = port;
    }

    connect() {
        this.text = '';
        this.waiting = [];

        const socket = net.connect({ port: this.port, host: '127.0.0.1',
                                     localAddress: this.localAddress });

        socket.setEncoding('latin1');
        socket.setNoDelay(true);
        socket.on('data', (text) => {
            this.text += text;
            this.look();
        });
        socket.on('error', () => {});
        socket.on('close', () => {
            const { waiting } = this;

            this.socket = undefined;
            this.waiting = [];

            // sent again, because the server may close a connection after a
            // number of requests

            waiting.forEach(({ resolve }) => resolve(undefined));
        });
        this.socket = socket;
    }

    look() {
        for (;;) {
            const end = this.text.indexOf('\r\n\r\n');

            if (end === -1) {
                return;
            }

            const head = this.text.slice(0, end);
            const length = Number(
                /\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);

            if (this.text.length < end + 4 + length) {
                return;
            }

            this.text = this.text.slice(end + 4 + length);
            this.waiting.shift().resolve({
                status: Number(head.split(' ')[1]),
                session: /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1] });
        }
    }

    // Sends a request until it is answered. again: it was sent more than once,
    // and the first answer may have been lost.

    async ask(bytes) {
        for (let again = false;; again = true) {
            aborted();

            if (!this.socket) {
                this.connect();
            }

            const { waiting, socket } = this;
            const answer = await new Promise((resolve) => {
                waiting.push({ resolve });
                socket.write(bytes);
            });

            if (answer) {
                return { ...answer, again };
            }
        }
    }

    close() {
        this.socket?.destroy();
    }
}


// Set once the test has failed: all clients stop.

let failed;

function aborted() {
    if (failed) {
        throw failed;
    }
}


// Opens a session's listening stream and resets the connection.

function listen(localAddress, id) {
    return new Promise((resolve) => {
        const socket = net.connect({ port: server.port, host: '127.0.0.1',
                                     localAddress });
        let code;

        socket.on('data', (data) => {
            code ??= Number(data.toString('latin1', 9, 12));
            socket.resetAndDestroy();
        });
        socket.on('error', () => {});
        socket.on('close', () => resolve(code));
        socket.write(named('GET', id));
    });
}

function tally(counts, code) {
    counts[code] = (counts[code] ?? 0) + 1;
}

// Runs a job n times in all, from each address, `width` at once.

async function flood(n, width, job) {
    const counts = {};

    await Promise.all(ADDRESSES.map(async (address) => {
        const pipeline = new Pipeline(address);

        await many(Math.ceil(n / ADDRESSES.length), width, async () => {
            const { session } = await pipeline.ask(INITIAL);

            tally(counts, await job(pipeline, session, address));
        });
        pipeline.close();
    }));

    return counts;
}

// Begins a call with 20 MB of messages and reads only the first one.

async function big(localAddress) {
    const send = (options) => request(server.port,
                                      { ...options, localAddress });
    const session = await server.session({ send });
    const answer = await session.call('count', { n: 1280, size: 16384 });

    if (answer.sse) {
        await answer.block();
        answer.close();
    }

    return answer.status;
}


// A quick call, a call that is dropped and resumed, a call resumed after its
// end, and the end of a session.

async function honest(headers) {
    const session = await server.session({ headers });

    // JSON or, if the backend was slow, a stream

    assert.equal(textOf(await session.tool('echo', { text: 'honest' })),
                 'honest');

    const level = await session.request('logging/setLevel', { level: 'error' });

    assert.equal(level.status, 200);
    assert.deepEqual((await level.json()).result, {});

    const gate = `honest ${Math.random()}`;
    const answer = await session.call('count', { n: 5, size: 500, gate,
                                                 tag: gate });

    assert.equal(answer.status, 200);
    assert.ok(answer.sse);
    await session.open(gate, 2);

    const before = [await answer.message(), await answer.message()];

    answer.close();
    await session.open(gate);
    await session.running(gate, 'finished', 1);

    const after = await session.get(before[1].eventId);

    assert.equal(after.status, 200);

    const { messages, response } = await session.follow(
        Object.assign(after, { id: answer.id }));

    assert.deepEqual(counted([...before, ...messages]), upTo(5));
    assert.equal(textOf(response.result), 'counted to 5');

    // from an earlier event: the stream is still there

    const again = await session.get(before[0].eventId);

    assert.equal(again.status, 200);
    assert.deepEqual(counted((await session.follow(
        Object.assign(again, { id: answer.id }))).messages), [1, 2, 3, 4]);
    assert.equal((await session.delete()).status, 204);
    assert.equal((await session.request('ping')).status, 404);
}


test('ten callers use up their quotas: all requests of two other callers succeed',
     async () => {
    let going = true;
    let rounds = 0;

    const listeners = () => flood(LISTENERS / 2, 8,
        (_, id, address) => listen(address, id));
    const floods = Promise.all([
        flood(SESSIONS, 32, async (pipeline, id) => {
            const { status, again } = await pipeline.ask(named('DELETE', id));

            return again && status === 404 ? 204 : status;
        }),

        // listeners first, because calls would leave no memory for them

        listeners().then((before) => Promise.all([
            before, listeners(), ...ADDRESSES.map(big),
        ])),
    ]).finally(() => { going = false; });

    // three more rounds after the flood

    const client = async (headers) => {
        for (let last = 3; last; last -= !going) {
            aborted();
            await honest(headers);
            rounds++;
        }
    };

    const fail = (error) => {
        failed ??= error;
        throw failed;
    };

    const [[ended, [before, during, ...began]]] = await Promise.all([
        floods, client({ 'X-User': 'honest' }), client({}),
    ].map((promise) => promise.catch(fail)));
    const after = await status(server);

    // a caller that has ended more sessions than its quota remembers can end
    // another one

    const last = await server.session({
        send: (options) => request(server.port, {
            ...options, localAddress: ADDRESSES[0] }) });

    assert.equal((await last.delete()).status, 204);
    assert.equal((await last.request('ping')).status, 404);

    assert.ok(rounds >= 6);

    // every request is answered, and every ended session is unknown

    const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
    const unknown = (counts) => Object.keys(counts)
        .filter((code) => code !== '200' && code !== '429');

    assert.deepEqual(Object.keys(ended), ['204']);
    assert.ok(ended[204] >= SESSIONS);
    assert.deepEqual(unknown(before), []);
    assert.deepEqual(unknown(during), []);
    assert.ok(sum(before) + sum(during) >= LISTENERS);
    assert.deepEqual(began, ADDRESSES.map(() => 200));

    // calls get the memory of listeners without a client, and quotas reject the
    // rest before the zone is full

    assert.ok(before[200] > 0);
    assert.equal(after.refused_full, 0);

    if (SCALE === 1) {
        assert.ok(before[429] > 0);
        assert.ok(after.values < SESSIONS);
        assert.ok(after.streams_evicted > 0);
        assert.equal(after.refused_limit, (before[429] ?? 0)
                                          + (during[429] ?? 0));
    }
}, { timeout: 280000 });


// Opens a session from an address that no other client has used.

const from = (fixture, localAddress) => fixture.session({
    send: (options) => request(fixture.port, { ...options, localAddress }) });


describe('many addresses that begin and end sessions', async () => {
    const small = await Fixture.use({ workers: 2, zone: '1m' });

    test('64 addresses have ended 6400 sessions: DELETE of a session from another address gets 204',
        async () => {
            const codes = {};

            for (const i of upTo(64)) {
                const pipeline = new Pipeline(`127.0.1.${i + 1}`, small);

                await many(100, 20, async () => {
                    const { session } = await pipeline.ask(INITIAL);
                    const { status } = await pipeline.ask(
                        named('DELETE', session));

                    tally(codes, status);
                });
                pipeline.close();
            }

            assert.deepEqual(Object.keys(codes), ['204']);

            for (const i of upTo(10)) {
                const session = await from(small, `127.0.2.${i + 1}`);

                assert.equal((await session.delete()).status, 204);
                assert.equal((await session.request('ping')).status, 404);
            }
        });
});


// Clients at addresses that a proxy names. quick: a JSON answer; talks: a
// stream; task: a task from the start, over at once.

const progress = JSON.stringify({ jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 'p', progress: 1 } });
const done = { content: [{ type: 'text', text: 'done' }] };
const tool = (name, more) => ({ name, inputSchema: { type: 'object' },
                                ...more });

async function proxied(zone, location) {
    const backend = await scripted(({ message: { params }, x }) => {
        if (params.name !== 'talks') {
            return done;
        }

        x.head(200, 'text/event-stream');
        x.write(`data: ${progress}\n\n`);
        x.write(`data: ${JSON.stringify(done)}\n\n`);
        x.end();
    });

    return Fixture.use({
        workers: 2, zone, threads: 32,
        backends: { scripted: backend.address },
        http: {
            nginx: 'set_real_ip_from 127.0.0.1;\n'
                   + 'real_ip_header X-Forwarded-For;',
            apache: `${load('remoteip')}
                     RemoteIPHeader X-Forwarded-For
                     RemoteIPInternalProxy 127.0.0.1`,
        },
        location: {
            mcp_catalog: await catalog({ tools: [
                tool('quick'), tool('talks'),
                tool('task', { 'x-mcp-task': 'always' }),
            ] }),
            mcp_backend: 'scripted', mcp_stream_after: '1m',
            ...location,
        },
    });
}

const at = (fixture, address) => new Tasks(fixture, {
    headers: { 'X-Forwarded-For': address } });

// Creates tasks until one is rejected, at most n; returns their number.

async function crowd(client, n) {
    for (const i of upTo(n)) {
        const answer = await client.call('task', {});

        if (answer.status !== 200) {
            assert.ok([429, 503].includes(answer.status));
            return i;
        }
    }

    return n;
}

const hex = (n) => n.toString(16);
const families = {
    'IPv4 addresses': (i) => `10.0.${i >> 8}.${i & 255}`,
    'IPv6 networks': (i) => `2001:db8:${hex(i)}:${hex(i)}::1`,
    'IPv6 networks of one /48': (i) => `2001:db8:7:${hex(i)}::1`,
};

describe('many addresses that create tasks until they are refused', () => {
    for (const [family, address] of Object.entries(families)) {
        for (const n of [64, 256, 4096]) {
            test(`${n} ${family} create tasks until 429 or 503: calls, `
                + `streams and tasks of new callers succeed`, async () => {
                const fixture = await proxied('1m');
                let created = 0;

                for (const i of upTo(n)) {
                    created += await crowd(at(fixture, address(i)), 1000);
                }

                assert.ok(created >= Math.min(n / 2, 128));

                // a stream of one newcomer, a task of another one

                for (const i of upTo(16)) {
                    const newcomer = at(fixture, i % 2 ? `192.0.2.${i}`
                        : `2001:db8:f0${hex(i + 16)}::1`);
                    const { response } = await newcomer.follow(
                        await newcomer.call('quick', {}));

                    assert.equal(textOf(response.result), 'done');

                    if (i % 4 < 2) {
                        const { messages, response: last } =
                            await newcomer.follow(await newcomer.call('talks',
                                {}, { meta: { progressToken: 'p' } }));

                        assert.equal(messages.length, 1);
                        assert.equal(textOf(last.result), 'done');
                        continue;
                    }

                    const { taskId } = await newcomer.create('task', {});

                    assert.equal((await newcomer.settled(taskId)).status,
                                 'completed');
                }
            });
        }
    }
});


describe('a zone full of calls without clients', async () => {
    const full = await Fixture.use({
        workers: 2, zone: '1m', threads: 64,
        location: { mcp_quota_key: 'off', mcp_close_after: 'off',
                    mcp_max_wait: '10m', mcp_stream_buffer: '128k' },
    });

    test('zone is full of calls whose clients have left: a new call succeeds, old calls are aborted',
         async () => {
        const session = await full.session();
        const tag = 'left';

        // each call fills its stream; the zone has no room for all

        for (const i of upTo(12)) {
            const answer = await session.call('count',
                { n: 3000, size: 400, tag });

            assert.ok(answer.sse, `call ${i}`);
            await answer.block();
            answer.close();
        }

        assert.ok((await session.running(tag, 'aborted', 1)).aborted >= 1);
        assert.match(await full.log(),
                     /call \w+ of "count" cancelled: the stream of the call was freed/);

        const { messages, response } = await session.follow(
            await session.call('count', { n: 5, size: 100 }));

        assert.deepEqual(counted(messages), upTo(5));
        assert.equal(textOf(response.result), 'counted to 5');
        assert.ok((await status(full)).streams_evicted > 0);
        assert.equal((await session.delete()).status, 204);
    });
});
