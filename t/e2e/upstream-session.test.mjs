// SPDX-License-Identifier: Apache-2.0

// An MCP server with sessions behind the module, with "mcp_upstream session":
// how its sessions are opened, shared, renewed and ended.

import assert from 'node:assert/strict';
import http from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { ask } from './lib/keepalive.mjs';
import { Modern } from './lib/modern.mjs';
import { textOf } from './lib/session.mjs';
import { done, event, reload, withSessions } from './lib/upstream.mjs';

const upstream = await withSessions();
const server = await Fixture.use({
    workers: 1,     without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    location: { mcp_stream_after: '0', mcp_task_after: 'off',
                mcp_backend: 'sessions' },
    backends: { sessions: { http: upstream.port, upstream: 'session' } },
});

const OPEN = ['initialize', 'notifications/initialized'];
const echo = ({ body }) => ({ content: [{ type: 'text',
    text: JSON.stringify(body.params?.arguments ?? {}) }] });

beforeEach(() => {
    upstream.steps.length = 0;
    upstream.answer = echo;
    upstream.requests.length = 0;
});

// A session whose initialize has been answered, with the description known.

async function session(options) {
    upstream.described.length = 0;
    upstream.steps.length = 0;

    const it = await server.session(options);

    // the session of a description is ended after it

    await until(() => upstream.steps.filter((step) => step === 'DELETE').length
                      >= upstream.described.length);
    upstream.steps.length = 0;

    return it;
}

async function until(condition) {
    while (!condition()) {
        await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
}

const calls = () => upstream.requests
    .filter(({ body }) => body.method === 'tools/call');


describe('sessions of clients of 2025-11-25', () => {
    test('session that was opened only to read the description of an MCP server: ended at once',
         async () => {
        const it = await server.session();

        assert.equal(it.server.instructions, 'with sessions');
        assert.equal(it.server.serverInfo.name, 'sessions');
        await until(() => upstream.sessions.size === 0);
    });

    test('first call of a client: opens a session at the MCP server, which all workers use',
         async () => {
        const it = await session();

        for (let i = 0; i < 20; i++) {
            assert.equal(textOf(await it.tool('add', { i })), `{"i":${i}}`);
        }

        assert.deepEqual(upstream.steps.slice(0, 3), [...OPEN, 'tools/call']);
        assert.equal(upstream.steps.length, 22);

        const ids = new Set(calls().map(({ headers }) =>
            headers['mcp-session-id']));

        assert.equal(ids.size, 1);
        assert.equal(calls()[0].headers['mcp-protocol-version'], '2025-06-18');
        assert.ok(calls().every(({ body }) => Number.isSafeInteger(body.id)));
        assert.equal(new Set(calls().map(({ body }) => body.id)).size, 20);
    });

    test('two clients with the same request ids: each has its own session and results',
         async () => {
        const clients = [await session(), await session()];

        // each client has 10 calls at a time, 1,000 in all

        await Promise.all(clients.flatMap((it, which) =>
            Array.from({ length: 10 }, async (_, lane) => {
                for (let i = lane; i < 1000; i += 10) {
                    const { response } = await it.follow(await it.request(
                        'tools/call', { name: 'add', arguments: { which, i } },
                        { id: i + 100 }));

                    assert.equal(response.id, i + 100);
                    assert.deepEqual(JSON.parse(textOf(response.result)),
                                     { which, i });
                }
            })));

        const used = (which) => new Set(calls()
            .filter(({ body }) => body.params.arguments.which === which)
            .map(({ headers }) => headers['mcp-session-id']));

        for (const id of used(0)) {
            assert.ok(!used(1).has(id));
        }
    });

    test('backend with several MCP servers: all requests of a session reach the same server',
         async (t) => {
        if (SERVER === 'apache') {
            t.skip('nginx only');
            return;
        }

        const servers = [await withSessions(), await withSessions(),
                         await withSessions()];
        const several = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_backend: 'several' },
            http: `upstream several { hash $mcp_upstream_affinity consistent; ${
                servers.map((of) => `server 127.0.0.1:${of.port};`).join(' ')
            } }`,
            backends: { several: { http: 'several', upstream: 'session' } },
        });

        let lost = 0;

        for (const of of servers) {
            of.lost = () => {
                lost++;
                return { status: 404, type: 'text/plain', text: '' };
            };
        }

        for (let i = 0; i < 10; i++) {
            const it = await several.session();

            await it.tool('add');
            await it.tool('add');
            await it.delete();
        }

        assert.ok(servers.filter((of) => of.steps.includes('tools/call'))
            .length > 1);
        assert.equal(servers.flatMap((of) => of.steps)
            .filter((step) => step === 'tools/call').length, 20);
        assert.equal(lost, 0);
    });

    test('progress of a call: has the progress token of the client',
         async () => {
        const it = await session();

        upstream.answer = ({ body }) => [
            { jsonrpc: '2.0', method: 'notifications/progress', params: {
                progressToken: body.params._meta.progressToken, progress: 1 } },
            done(body, echo({ body }))];

        const { messages } = await it.follow(await it.call('add', {},
            { token: 'mine' }));

        assert.equal(messages[0].params.progressToken, 'mine');
    });

    test('reload: the session at the MCP server is kept', async () => {
        const it = await session();

        await it.tool('add');
        await reload(server);
        await it.tool('add');
        assert.deepEqual(upstream.steps,
                         [...OPEN, 'tools/call', 'tools/call']);
    });

    test('client ends its session: the MCP server gets DELETE', async () => {
        const it = await session();

        await it.tool('add');

        const [{ headers }] = calls();

        assert.equal((await it.delete()).status, 204);
        assert.deepEqual(upstream.steps, [...OPEN, 'tools/call', 'DELETE']);
        assert.equal(upstream.last().headers['mcp-session-id'],
                     headers['mcp-session-id']);
        assert.equal(upstream.last().text, '');
    });

    test('MCP server responds late to DELETE: the client gets 204', async () => {
        const it = await session();
        const { reply } = upstream;
        let late;

        await it.tool('add');

        try {
            upstream.reply = async (call) => {
                if (call.body.method === 'DELETE') {
                    await new Promise((resolve) => {
                        late = setTimeout(resolve, 600);
                    });
                }

                return reply(call);
            };
            assert.equal((await it.delete()).status, 204);
            assert.equal(upstream.steps.at(-1), 'DELETE');
        } finally {
            clearTimeout(late);
            upstream.reply = reply;
        }
    });

    test('mcp_upstream_max_sessions 2, three clients: the least recently used session is ended, its client\'s next call opens a new one',
         async () => {
        const limited = await Fixture.start({
            workers: 1, without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port, upstream: 'session',
                                    more: { mcp_upstream_max_sessions: '2' } } },
        });

        try {
            const one = await limited.session();
            const two = await limited.session();
            const used = async (it) => {
                await it.tool('add', {});
                return calls().at(-1).headers['mcp-session-id'];
            };
            const first = await used(one);
            const second = await used(two);

            assert.equal(await used(one), first);
            upstream.steps.length = 0;

            const third = await used(await limited.session());

            await until(() => !upstream.sessions.has(second));
            assert.ok(upstream.sessions.has(first));
            assert.ok(upstream.sessions.has(third));
            assert.equal(await used(one), first);
            assert.equal(textOf(await two.tool('add', { i: 2 })), '{"i":2}');
            assert.notEqual(calls().at(-1).headers['mcp-session-id'], second);
        } finally {
            await limited.stop();
        }
    });

    test('mcp_upstream_max_sessions 2, the oldest session has a running call: an idle session is ended, the call gets its response',
         async () => {
        const limited = await Fixture.start({
            workers: 2, without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port, upstream: 'session',
                                    more: { mcp_upstream_max_sessions: '2' } } },
        });

        try {
            upstream.sessions.clear();

            const clients = [await limited.session(), await limited.session(),
                             await limited.session()];
            const [one, two, three] = clients;

            await until(() => upstream.sessions.size === 0);

            const used = async (it) => {
                await it.tool('add', {});
                return calls().at(-1).headers['mcp-session-id'];
            };
            let running;

            upstream.answer = (call) => {
                if (!call.body.params.arguments.slow) {
                    return echo(call);
                }

                running = call;
                call.res.on('close', () => { running.closed = true; });
                call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
                call.res.write(': running\n\n');
                return undefined;
            };

            const response = await one.call('add', { slow: true });

            await until(() => running);

            const first = running.headers['mcp-session-id'];

            // a short call in the same session, in any worker

            for (let i = 0; i < 4; i++) {
                assert.equal(await used(one), first);
            }

            const second = await used(two);
            const third = await used(three);

            await until(() => upstream.sessions.size === 2);
            assert.ok(upstream.sessions.has(first));
            assert.ok(!upstream.sessions.has(second));

            await used(two);
            await until(() => upstream.sessions.size === 2);
            assert.ok(upstream.sessions.has(first));
            assert.ok(!upstream.sessions.has(third));
            assert.ok(!running.closed);
            running.res.end(event(done(running.body,
                echo({ body: running.body }))));
            assert.equal(textOf((await one.follow(response)).response.result),
                         '{"slow":true}');

            // the call is over: its session is idle, and was used last until
            // another client has opened one

            await used(three);
            await until(() => upstream.sessions.size === 2);
            assert.ok(upstream.sessions.has(first));
            await used(two);
            await until(() => upstream.sessions.size === 2);
            assert.ok(!upstream.sessions.has(first));
        } finally {
            await limited.stop();
        }
    });

    test('client ends its session without a call: the MCP server gets no request',
         async () => {
        const it = await session();

        assert.equal((await it.delete()).status, 204);
        assert.deepEqual(upstream.steps, []);
    });

    test('cancelled call: the MCP server gets notifications/cancelled',
         async () => {
        const it = await session();
        let running;

        upstream.answer = (call) => { running = call; };

        const answer = await it.request('tools/call', { name: 'add' },
                                        { id: 7 });

        await until(() => running);
        await it.notify('notifications/cancelled', { requestId: 7 });
        await until(() => upstream.steps.includes('notifications/cancelled'));
        assert.deepEqual(upstream.last().body.params,
                         { requestId: running.body.id });
        answer.close?.();
    });
});


describe('sessions of clients of 2026-07-28', () => {
    test('client without a session or a principal: the session at the MCP server ends with the call',
         async () => {
        const client = new Modern(server);

        assert.equal(textOf(await client.tool('add', { a: 1 })), '{"a":1}');
        await until(() => upstream.sessions.size === 0
                          || upstream.steps.at(-1) === 'DELETE');
        assert.deepEqual(upstream.steps, [...OPEN, 'tools/call', 'DELETE']);
    });
});


// While the response to initialize is pending, the MCP server has opened a
// session, whose id the module does not know yet.

describe('response to initialize is pending', () => {
    const { describe: describes } = upstream;
    let reached, release;

    beforeEach(() => {
        const gate = new Promise((resolve) => { release = resolve; });

        reached = new Promise((resolve) => {
            upstream.describe = async (call) => {
                const result = describes(call);

                resolve(call);
                await gate;

                return result;
            };
        });
    });

    afterEach(() => { upstream.describe = describes; });

    const closed = async () => {
        await until(() => upstream.steps.includes('DELETE'));
        assert.deepEqual(upstream.steps, ['initialize', 'DELETE']);
    };

    // A client whose session is known, and which calls a tool.

    const calling = async () => {
        const { describe: pending } = upstream;

        upstream.describe = describes;

        const it = await session();

        upstream.describe = pending;

        const answer = await it.request('tools/call', { name: 'add' },
                                        { id: 7 });

        await reached;

        return { it, answer };
    };

    // a client that uses a closed connection again loses its request

    test('stream of a call begins now: at its end the connection stays open, unless the response announced its end',
         async () => {
        const { describe: pending } = upstream;

        upstream.describe = describes;

        const it = await session();

        upstream.describe = pending;

        const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
        const call = () => ask(agent, it, {
            jsonrpc: '2.0', id: it.next++, method: 'tools/call',
            params: { name: 'add' } }, release);
        const first = await call();

        assert.match(first.type, /event-stream/);
        assert.ok(first.closes || (await call()).socket === first.socket);
        agent.destroy();
    });

    test('client cancels its call: the session at the MCP server is ended',
         async () => {
        const { it, answer } = await calling();

        await it.notify('notifications/cancelled', { requestId: 7 });
        release();
        await closed();
        answer.close();
    });

    test('client ends its session: the session at the MCP server is ended',
         async () => {
        const { it, answer } = await calling();

        assert.equal((await it.delete()).status, 204);
        release();
        await closed();
        answer.close();
    });

    test('client of 2026-07-28 disconnects: the session at the MCP server is ended',
         async () => {
        const client = new Modern(server);
        const answer = await client.request('tools/call', { name: 'add' });
        const lines = async () => (await server.log())
            .split('cancelled: the client disconnected').length;
        const before = await lines();

        await reached;
        answer.close();

        while (await lines() === before) {
            await new Promise((resolve) => { setTimeout(resolve, 10); });
        }

        release();
        await closed();
    });

    test('client cancels its call, another one waits: the other call gets the session',
         async () => {
        const { it, answer } = await calling();
        const waiting = await it.request('tools/call', { name: 'add' },
                                         { id: 8 });

        await it.notify('notifications/cancelled', { requestId: 7 });
        release();

        const { response } = await it.follow(waiting);

        assert.equal(textOf(response.result), '{}');
        assert.deepEqual(upstream.steps, [...OPEN, 'tools/call']);
        answer.close();
    });

    test('100 calls wait for the session: all get it', async () => {
        const fixture = await Fixture.start({
            workers: 1, threads: 400,
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        });

        try {
            const { describe: pending } = upstream;

            upstream.describe = describes;

            const it = await fixture.session();

            upstream.describe = pending;

            const answers = await Promise.all(Array.from({ length: 100 },
                (_, i) => it.request('tools/call',
                                     { name: 'add', arguments: { i } })));

            await reached;
            release();

            const texts = await Promise.all(answers.map(async (answer) =>
                textOf((await it.follow(answer)).response.result)));

            assert.deepEqual(texts, answers.map((_, i) => `{"i":${i}}`));
        } finally {
            await fixture.stop();
        }
    });

    test('MCP server has sent the session id, but no response: the session is ended',
         async () => {
        reached = new Promise((resolve) => {
            upstream.describe = (call) => {
                describes(call);
                call.res.writeHead(200,
                                   { 'Content-Type': 'text/event-stream' });
                call.res.flushHeaders();
                resolve(call);
            };
        });

        const { it, answer } = await calling();

        await it.notify('notifications/cancelled', { requestId: 7 });
        await closed();
        (await reached).res.end();
        answer.close();
    });
});


// the replies of servers that do not know a session

const losses = [
    ['HTTP 404 without a body', { status: 404, type: 'text/plain', text: '' }],
    ['the error of the TypeScript SDK', { status: 404, error: { code: -32001,
        message: 'Session not found' } }],
    ['the error of the example servers of the SDK', { status: 400, error: { code: -32000,
        message: 'Bad Request: No valid session ID provided' } }],
    ['the error of a restarted server', { status: 400, error: { code: -32000,
        message: 'Bad Request: Server not initialized' } }],
    ['the error of the PHP SDK', { status: 400, error: { code: -32600,
        message: 'A valid session id is REQUIRED' } }],
    ['the error of WordPress', { status: 401, error: { code: -32005,
        message: 'Invalid or expired session' } }],
];

describe('server that has lost a session', () => {
    for (const [name, reply] of losses) {
        test(`MCP server has lost the session, responds with ${name}: the call is sent again in a new session`,
             async () => {
            const it = await session();

            await it.tool('add');
            upstream.sessions.clear();
            upstream.lost = () => reply;
            upstream.steps.length = 0;
            assert.equal(textOf(await it.tool('add', { a: 2 })), '{"a":2}');
            assert.deepEqual(upstream.steps,
                             ['tools/call', ...OPEN, 'tools/call']);
        });
    }

    for (const [name, reply] of losses) {
        test(`MCP server loses each session, responds with ${name}: the client gets an error`,
             async () => {
            const it = await session();

            await it.tool('add');
            upstream.lost = () => reply;
            upstream.answer = upstream.lost;

            const { response } = await it.follow(await it.call('add'));

            assert.equal(response.error.code, -32603);
            assert.match(response.error.message, /did not open a session/);
            assert.equal(upstream.steps
                .filter((step) => step === 'initialize').length, 1 + 1);
        });
    }

    for (const [name, status, error] of [
        ['HTTP 404 because of an unknown tool', 404,
         { code: -32602, message: 'Unknown tool: add' }],
        ['HTTP 400 because of an argument', 400,
         { code: -32600, message: 'session_token is missing' }],
    ]) {
        test(`MCP server responds with ${name}: the client gets this error, the session is kept`,
             async () => {
            const it = await session();

            await it.tool('add');
            upstream.answer = () => ({ status, error });
            upstream.steps.length = 0;

            const { response } = await it.follow(await it.call('add'));

            assert.deepEqual(response.error, error);
            upstream.answer = echo;
            await it.tool('add');
            assert.deepEqual(upstream.steps, ['tools/call', 'tools/call']);
        });
    }

    test('MCP server restarts during calls: only running calls fail, none is executed twice',
         async () => {
        const executed = new Map();
        let lost = 0;

        upstream.lost = () => ({ status: 404, error: { code: -32001,
            message: 'Session not found' } });
        upstream.answer = (call) => {
            const key = JSON.stringify(call.body.params.arguments);

            executed.set(key, (executed.get(key) ?? 0) + 1);

            if (executed.size % 40 === 0) {
                upstream.restart();
            }

            return echo(call);
        };

        await Promise.all(Array.from({ length: 20 }, async (_, client) => {
            const it = await server.session();

            for (let i = 0; i < 50; i++) {
                const { response } = await it.follow(
                    await it.call('add', { client, i }));

                if (response.error) {
                    assert.equal(response.error.code, -32603);
                    lost++;
                } else {
                    assert.deepEqual(JSON.parse(textOf(response.result)),
                                     { client, i });
                }
            }
        }));

        assert.ok([...executed.values()].every((times) => times === 1));
        assert.ok(lost <= 25 * 20, `${lost} calls failed`);
    });

    test('MCP server sends "Session not found" after a message of the call: the call is not sent again',
         async () => {
        const it = await session();

        upstream.answer = ({ body }) => [
            { jsonrpc: '2.0', method: 'notifications/message', params: {
                level: 'info', data: 'begun' } },
            { jsonrpc: '2.0', id: body.id, error: { code: -32001,
                message: 'Session not found' } }];

        const { response } = await it.follow(await it.call('add'));

        assert.equal(response.error.code, -32001);
        assert.equal(calls().length, 1);
    });
});


describe('server that opens no session', () => {
    const failures = [
        ['an error', ({ body }) => ({ error: { code: -32603,
            message: 'not today' } }), /did not open a session/],
        ['a session id of 257 bytes', ({ res }) => {
            res.setHeader('Mcp-Session-Id', 'a'.repeat(257));
            return { protocolVersion: '2025-06-18', capabilities: {} };
        }, /did not open a session/],
        ['a session id with a space', ({ res }) => {
            res.setHeader('Mcp-Session-Id', 'a b');
            return { protocolVersion: '2025-06-18', capabilities: {} };
        }, /did not open a session/],
        ['a revision without sessions', () => ({ protocolVersion: '2026-07-28',
            capabilities: {} }), /does not support the protocol version/],
        ['a closed connection', ({ res }) => { res.socket.destroy(); },
         /Backend failed/],
    ];

    for (const [name, describes, message] of failures) {
        test(`MCP server responds to initialize with ${name}: the client gets an error`,
             async () => {
            const it = await session();
            const { describe: usual } = upstream;

            try {
                upstream.describe = describes;

                const { response } = await it.follow(await it.call('add'));

                assert.equal(response.error.code, -32603);
                assert.match(response.error.message, message);
                assert.equal(calls().length, 0);
            } finally {
                upstream.describe = usual;
            }

            assert.equal(textOf(await it.tool('add', { a: 3 })), '{"a":3}');
        });
    }

    test('MCP server sends no session id: calls are sent without a session id', async () => {
        const it = await session();
        const { describe: usual, reply } = upstream;

        try {
            upstream.describe = (call) => {
                upstream.steps.push(call.body.method);
                return { protocolVersion: '2025-06-18', capabilities: {} };
            };
            upstream.reply = (call) => {
                upstream.steps.push(call.body.method);
                return call.body.id === undefined
                    ? { status: 202, type: 'text/plain', text: '' }
                    : echo(call);
            };

            await it.tool('add');
            await it.tool('add');
            assert.deepEqual(upstream.steps,
                             [...OPEN, 'tools/call', 'tools/call']);
            assert.ok(!('mcp-session-id' in upstream.last().headers));
        } finally {
            Object.assign(upstream, { describe: usual, reply });
        }
    });
});
