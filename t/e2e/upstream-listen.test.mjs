// SPDX-License-Identifier: Apache-2.0

// The GET stream of a session at an MCP server (mcp_upstream_listen): requests
// and notifications of the server that name no request of its client.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { clients } from './lib/clients.mjs';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { until } from './lib/redis.mjs';
import { sdkServers } from './lib/sdk-servers.mjs';
import { textOf } from './lib/session.mjs';
import { done, event, withSessions } from './lib/upstream.mjs';

const CAN = { elicitation: {}, roots: {} };
const FORM = { message: 'Continue?',
               requestedSchema: { type: 'object', properties: {} } };
const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

const upstream = await withSessions();
const options = (port, { backend, location, ...more } = {}) => ({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'], workers: 1,
    location: { mcp_stream_after: '0', mcp_close_after: 'off',
                mcp_backend: 'sessions', mcp_max_message: '64k', ...location },
    backends: { sessions: { http: port, upstream: 'session', listen: 'on',
                            ...backend } },
    ...more });
const server = await Fixture.use(options(upstream.port));

let streams, waiting;

// The next GET stream that the server opens.

const nextStream = () => streams.shift()
    ?? new Promise((resolve) => { waiting.push(resolve); });

function opens(call, first = '') {
    call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    call.res.flushHeaders();
    call.res.write(first);
    call.closed = new Promise((resolve) => { call.res.on('close', resolve); });

    if (waiting.length) {
        waiting.shift()(call);
    } else {
        streams.push(call);
    }
}

// Lets the server respond to a call with the value of a function, as text,
// which gets the call.

function answers(work) {
    upstream.answer = async (call) => ({ content: [
        { type: 'text', text: JSON.stringify(await work(call)) ?? '' }] });
}

const valueOf = (response) => JSON.parse(textOf(response.result));
const asked = async (stream, method, params, id = 'question') =>
    (await upstream.ask(await stream, id, method, params)).body;
const steps = (name) => upstream.steps.filter((step) => step === name).length;

beforeEach(() => {
    upstream.requests.length = 0;
    upstream.steps.length = 0;
    streams = [];
    waiting = [];
    upstream.resume = opens;
});

// Calls a tool, and waits until the server has the call: `stream` is the
// client's stream, end() lets the server respond with a value.

async function startedCall(it) {
    const { promise, resolve } = Promise.withResolvers();
    const started = new Promise((seen) => {
        answers(() => { seen(); return promise; });
    });
    const stream = await it.call('add');

    await started;

    return { stream, end: resolve };
}

// Calls a tool, whose question is answered with `answer`.

async function call(it, answer = { action: 'decline' }) {
    return it.follow(await it.call('add'), {
        onMessage: async ({ id, method }) => {
            if (id !== undefined && method) {
                await it.respond(id, answer);
            }
        },
    });
}


describe('questions on the GET stream', () => {
    test('question on the GET stream of an MCP server, client of 2025-11-25: sent on the stream of the client\'s call',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => asked(nextStream(), 'elicitation/create', FORM, 7));

        const { response, messages } = await call(it, { action: 'accept',
                                                        content: { a: 1 } });

        assert.equal(messages.length, 1);
        assert.deepEqual(messages[0], { jsonrpc: '2.0', id: messages[0].id,
            method: 'elicitation/create', params: FORM });
        assert.deepEqual(valueOf(response), { jsonrpc: '2.0', id: 7,
            result: { action: 'accept', content: { a: 1 } } });

        // the session for the description may end later

        assert.deepEqual(
            upstream.steps.filter((step) => step !== 'DELETE').slice(-4),
            ['initialize', 'notifications/initialized', 'GET', 'tools/call']);

        const [get] = upstream.requests.filter(({ body }) =>
            body.method === 'GET');

        assert.ok(upstream.sessions.has(get.headers['mcp-session-id']));
        assert.equal(get.headers['mcp-protocol-version'], '2025-06-18');
        assert.match(get.headers.accept, /text\/event-stream/);
        assert.equal(get.headers['mcp-method'], undefined);
        assert.equal(get.headers['last-event-id'], undefined);
    });

    test('question on the GET stream of an MCP server, client of 2026-07-28: the client gets an input_required result',
         async () => {
        const client = new Modern(server, { capabilities: CAN });
        const params = { name: 'add', arguments: {} };

        answers(() => asked(nextStream(), 'roots/list'));

        const { result } = await client.response('tools/call', params);
        const [key] = Object.keys(result.inputRequests);

        assert.equal(result.resultType, 'input_required');

        const response = await client.response('tools/call', { ...params,
            requestState: result.requestState,
            inputResponses: { [key]: { roots: [] } } });

        assert.deepEqual(valueOf(response).result, { roots: [] });
    });

    test('question on the GET stream of an MCP server before the server has the tools/call: the client gets it',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const answer = new Promise((resolve) => {
            upstream.asked.set('early', resolve);
        });

        upstream.resume = (one) => opens(one, event({ jsonrpc: '2.0',
            id: 'early', method: 'roots/list' }));
        answers(async () => (await answer).body.result);

        assert.deepEqual(valueOf((await call(it, { roots: [] })).response),
                         { roots: [] });
    });

    test('question on the GET stream, client disconnects, then answers: a resumed stream has the result',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => asked(nextStream(), 'elicitation/create', FORM));

        const answer = await it.call('add');
        const question = await answer.message();

        answer.close();
        assert.equal((await it.respond(question.id,
                                       { action: 'decline' })).status, 202);

        const resumed = await it.get(answer.lastId);

        assert.deepEqual(valueOf(await resumed.message()).result,
                         { action: 'decline' });
        resumed.close();
    });

    test('ping on the GET stream of an MCP server: the server gets a result, the client no message',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => asked(nextStream(), 'ping', undefined, 3));

        const { response, messages } = await call(it);

        assert.equal(messages.length, 0);
        assert.deepEqual(valueOf(response), { jsonrpc: '2.0', id: 3,
                                              result: {} });
    });

    test('question on the GET stream whose capability the client did not declare: the MCP server gets an error',
         async () => {
        const it = await server.session({ capabilities: { roots: {} } });

        answers(() => asked(nextStream(), 'elicitation/create', FORM));
        assert.equal(valueOf((await call(it)).response).error.code, -32601);
    });

    test('MCP server cancels its question on the GET stream: the client gets notifications/cancelled',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(async () => {
            const stream = await nextStream();

            upstream.ask(stream, 5, 'roots/list');
            stream.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/cancelled', params: { requestId: 5 } }));
            await asked(stream, 'ping');
        });

        const { messages } = await it.follow(await it.call('add'));

        assert.deepEqual(messages[1], { jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId: messages[0].id } });
    });

    test('question on a GET stream that two calls share: the client gets the question once, the MCP server gets the answer',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const both = Promise.withResolvers();
        let n = 0, stream;

        answers(async () => {
            if (++n === 2) {
                stream = await nextStream();
                both.resolve(asked(stream, 'roots/list'));
            }

            return both.promise;
        });

        const responses = await Promise.all([call(it, { roots: [] }),
                                             call(it, { roots: [] })]);

        for (const { response } of responses) {
            assert.deepEqual(valueOf(response).result, { roots: [] });
        }

        assert.equal(responses.flatMap(({ messages }) => messages).length, 1);
        assert.equal(steps('GET'), 1);
        await stream.closed;
    });

    test('one of two calls on a GET stream ends with an open question: the question is cancelled, then sent on the other call\'s stream',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const first = await startedCall(it);
        const stream = await nextStream();
        const second = await startedCall(it);
        const answer = asked(stream, 'roots/list');
        const question = await second.stream.message();

        assert.equal(question.method, 'roots/list');
        second.end('second');
        assert.equal(valueOf(await second.stream.message()), 'second');
        second.stream.close();

        const cancelled = await first.stream.message();

        assert.equal(cancelled.method, 'notifications/cancelled');
        assert.deepEqual(cancelled.params, { requestId: question.id });

        const again = await first.stream.message();

        assert.equal(again.method, 'roots/list');
        assert.notEqual(again.id, question.id);
        await it.respond(again.id, { roots: [] });
        assert.deepEqual((await answer).result, { roots: [] });

        first.end('first');
        assert.equal(valueOf(await first.stream.message()), 'first');
        first.stream.close();
    });

    // Lets a call end although the client has not answered a question of the
    // GET stream. Returns the messages of the client and the response that the
    // server gets to its question.

    async function endsWithQuestion(it) {
        const { stream, end } = await startedCall(it);
        const answer = asked(nextStream(), 'roots/list');
        const question = await stream.message();

        end('done');

        const cancelled = await stream.message();

        assert.equal(valueOf(await stream.message()), 'done');
        stream.close();

        return { question, cancelled, answer: await answer };
    }

    test('only call of a session ends with an open question of the GET stream: the question is cancelled, the MCP server gets an error',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const { question, cancelled, answer } = await endsWithQuestion(it);

        assert.equal(question.method, 'roots/list');
        assert.equal(cancelled.method, 'notifications/cancelled');
        assert.deepEqual(cancelled.params, { requestId: question.id });
        assert.equal(answer.id, 'question');
        assert.equal(answer.error.code, -32000);
        assert.equal((await it.respond(question.id, { roots: [] })).status,
                     202);
    });

    test('client cancels its only call with an open question of the GET stream: the MCP server gets an error',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => new Promise(() => {}));

        const stream = await it.call('add', {}, { id: 5 });
        const answer = asked(nextStream(), 'roots/list');

        await stream.message();
        await it.notify('notifications/cancelled', { requestId: 5 });
        assert.equal((await answer).error.code, -32000);
        stream.close();
        upstream.cut();
    });

    test('session of one call, which ends with an open question of the GET stream: the MCP server gets the error before DELETE',
         async (t) => {
        const own = await Fixture.start(options(upstream.port, {
            backend: { more: { mcp_upstream_session: 'call' } } }));

        t.after(() => own.stop());

        const it = await own.session({ capabilities: CAN });

        assert.equal((await endsWithQuestion(it)).answer.error.code, -32000);

        const id = upstream.requests.find(({ body }) =>
            body.method === 'tools/call').headers['mcp-session-id'];

        await until(() => !upstream.sessions.has(id));
        assert.deepEqual(upstream.requests
            .filter(({ headers }) => headers['mcp-session-id'] === id)
            .map(({ body }) => body.method ?? 'response').slice(-2),
                         ['response', 'DELETE']);
    });

    test('20 questions on a GET stream that two calls share: the client gets all 20',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const first = await startedCall(it);
        const stream = await nextStream();
        const second = await startedCall(it);
        const all = Promise.all(Array.from({ length: 20 }, (_, i) =>
            asked(stream, 'roots/list', undefined, i)));
        const questions = [];

        for (const [{ stream: one }, n] of [[second, 16], [first, 4]]) {
            for (let i = 0; i < n; i++) {
                questions.push(await one.message());
            }
        }

        await Promise.all(questions.map(({ id }) =>
            it.respond(id, { roots: [] })));
        assert.deepEqual((await all).map(({ result }) => result),
                         Array(20).fill({ roots: [] }));

        for (const { stream: one, end } of [first, second]) {
            end('done');
            assert.equal(valueOf(await one.message()), 'done');
            one.close();
        }
    });

    test('two calls use one GET stream, the first call ends: the stream stays open',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const first = Promise.withResolvers();
        const second = Promise.withResolvers();
        const seen = [Promise.withResolvers(), Promise.withResolvers()];
        let n = 0;

        answers(() => {
            seen[n].resolve();
            return [first, second][n++].promise;
        });

        const one = call(it);

        await seen[0].promise;

        const two = call(it, { roots: [] });
        const stream = await nextStream();

        await seen[1].promise;
        first.resolve('first');
        assert.equal(valueOf((await one).response), 'first');
        second.resolve(asked(stream, 'roots/list'));
        assert.deepEqual(valueOf((await two).response).result, { roots: [] });
        await stream.closed;
        assert.equal(steps('GET'), 1);
    });

    test('MCP server loses the session: the GET stream is opened in the new session',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => 'first');
        await call(it);
        await (await nextStream()).closed;
        upstream.sessions.clear();
        answers(() => asked(nextStream(), 'roots/list'));
        assert.deepEqual(valueOf((await call(it, { roots: [] })).response)
            .result, { roots: [] });
    });
});


describe('life of the GET stream', () => {
    test('call at an MCP server ends: its GET stream is closed', async () => {
        const it = await server.session({ capabilities: CAN });

        answers(() => 'done');
        await call(it);
        await (await nextStream()).closed;
        await call(it);
        await (await nextStream()).closed;
        assert.equal(steps('GET'), 2);
    });

    test('client without capabilities for questions, or request for a list: no GET stream is opened',
         async () => {
        const it = await server.session();
        const other = await server.session({ capabilities: CAN });

        answers(() => 'done');
        await call(it);
        upstream.answer = () => ({ prompts: [] });
        await other.response('prompts/list', {});
        assert.equal(steps('GET'), 0);
    });

    test('MCP server closes the GET stream: the stream is opened again with the id of the last event',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(async () => {
            const stream = await nextStream();

            stream.res.end('id: e1\nretry: 10\ndata: \n\n');

            const next = await nextStream();

            return [next.headers['last-event-id'],
                    await asked(next, 'roots/list')];
        });

        const [id, { result }] = valueOf((await call(it, { roots: [] }))
            .response);

        assert.equal(id, 'e1');
        assert.deepEqual(result, { roots: [] });
        assert.equal(steps('GET'), 2);
    });

    test('MCP server responds to GET with 409: the GET is repeated',
         async () => {
        const it = await server.session({ capabilities: CAN });
        let n = 0;

        upstream.resume = (one) => (n++ < 2
            ? { status: 409, error: { code: -32000, message: 'Conflict' } }
            : opens(one));
        answers(() => asked(nextStream(), 'roots/list'));
        assert.deepEqual(valueOf((await call(it, { roots: [] })).response)
            .result, { roots: [] });
        assert.equal(n, 3);
    });

    test('client cancels its call before the MCP server has responded to GET: '
         + 'the call is not sent', async () => {
        const client = new Modern(server, { capabilities: CAN });
        const got = Promise.withResolvers();

        upstream.resume = (one) => { got.resolve(one); };
        answers(() => 'done');

        const answer = await client.request('tools/call',
            { name: 'add', arguments: {} });
        const { res } = await got.promise;

        answer.close();
        await until(() => res.closed);
        assert.equal(steps('tools/call'), 0);
    });
});


// A question on the stream of such a session might reach the wrong client.

describe('session that several clients of a principal share', () => {
    const location = { nginx: 'mcp_principal $http_x_user;',
                       apache: 'MCPPrincipal "%{HTTP:X-User}"' };
    const client = { capabilities: CAN, headers: { 'X-User': 'alice' } };
    const sessionsOf = (method) => upstream.requests
        .filter(({ body }) => body.method === method)
        .map(({ headers }) => headers['mcp-session-id']);

    // Two clients call in one session at the server, which gets no GET. Returns
    // the id of the session.

    const shares = async (its) => {
        answers(({ body }) => body.params.arguments.which);

        for (const [which, it] of its.entries()) {
            assert.equal(valueOf(await it.response('tools/call',
                { name: 'add', arguments: { which } })), which);
        }

        const [one, other] = sessionsOf('tools/call');

        assert.equal(one, other);
        assert.equal(steps('GET'), 0);

        return one;
    };

    test('mcp_upstream_session principal, two clients of 2025-11-25: the MCP server gets no GET',
         async () => {
        const own = await Fixture.use(options(upstream.port, { location,
            backend: { more: { mcp_upstream_session: 'principal' } } }));
        const its = await Promise.all([own.session(client),
                                       own.session(client)]);

        await shares(its);
    });

    test('two clients of 2026-07-28, one of 2025-11-25: the MCP server gets a GET only in '
         + 'the session of the client of 2025-11-25', async () => {
        const own = await Fixture.use(options(upstream.port, { location }));
        const its = [new Modern(own, client), new Modern(own, client)];

        const one = await shares(its);

        const it = await own.session(client);

        assert.equal(valueOf(await it.response('tools/call',
            { name: 'add', arguments: { which: 2 } })), 2);
        assert.equal(steps('GET'), 1);
        assert.ok(!sessionsOf('GET').includes(one));
    });
});


describe('notifications on the GET stream', () => {
    test('list_changed on the GET stream of an MCP server: the list is requested again, listeners are notified',
         async () => {
        const cached = await Fixture.use(options(upstream.port, {
            backend: { lists: 'shared' } }));
        const it = await cached.session({ capabilities: CAN });
        const listener = await it.get();
        let n = 0;

        upstream.answer = async ({ body }) => {
            if (body.method === 'tools/list') {
                return { tools: [{ name: `t${++n}`,
                                   inputSchema: { type: 'object' } }] };
            }

            const stream = await nextStream();

            stream.res.write(event(CHANGED));
            await asked(stream, 'ping');

            return { content: [] };
        };

        const names = async () => (await it.response('tools/list', {}))
            .result.tools.map(({ name }) => name);

        assert.deepEqual(await names(), ['t1']);
        assert.deepEqual(await names(), ['t1']);
        await call(it);
        assert.deepEqual(await names(), ['t2']);
        assert.equal((await listener.message()).method, CHANGED.method);
        listener.close();
    });

    test('log message or unexpected response on the GET stream of an MCP server: dropped',
         async () => {
        const it = await server.session({ capabilities: CAN });

        answers(async () => {
            const stream = await nextStream();

            stream.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/message',
                params: { level: 'error', data: 'of nobody' } }));
            stream.res.write(event({ jsonrpc: '2.0', id: 1, result: {} }));

            return (await asked(stream, 'ping')).result;
        });

        const { response, messages } = await call(it);

        assert.deepEqual(messages, []);
        assert.deepEqual(valueOf(response), {});
    });
});


// The server responds to GET with something else than a stream of messages:
// the call succeeds, and the log has a reason.

describe('server without a usable GET stream', () => {
    const stream = (text) => (one) => { opens(one, text); };
    const cases = [
        ['HTTP 500', /the server responded with HTTP 500/,
         () => ({ status: 500, type: 'text/plain', text: 'no' })],
        ['a redirect', /the server responded with HTTP 302/,
         ({ res }) => { res.writeHead(302, { Location: '/other' }).end(); }],
        ['another Content-Type', /Content-Type of the response is not text\/event/,
         () => ({ type: 'text/html', text: '<p>' })],
        ['the end of its connection',
         /HTTP 502|no response|closed|failed/, ({ res }) => { res.destroy(); }],
        ['an event of broken JSON', /broken JSON/, stream('data: {"garb\n\n')],
        ['a line longer than mcp_max_message', /larger than mcp_max_message/,
         stream(`data: ${'x'.repeat(70000)}`)],
        ['a request with an invalid id', /"id" of a request/,
         stream(event({ jsonrpc: '2.0', id: {}, method: 'ping' }))],
    ];

    for (const [name, reason, reply] of cases) {
        test(`MCP server responds to GET with ${name}: the call succeeds without the GET stream`,
             async () => {
            const own = await Fixture.use(options(upstream.port));
            const it = await own.session({ capabilities: CAN });
            const got = Promise.withResolvers();

            upstream.resume = (one) => {
                got.resolve(one);
                return reply(one);
            };
            answers(async () => {
                const { res } = await got.promise;

                await until(() => res.closed || res.destroyed
                                  || res.writableEnded);
                return 'done';
            });

            assert.equal(valueOf((await call(it)).response), 'done');

            const line = (await own.log()).split('\n').find((one) =>
                one.includes('continues without the GET stream'));

            assert.match(line, reason);
            assert.equal(steps('GET'), 1);
        });
    }

    test('MCP server responds to GET with 405: the next sessions send no GET',
         async () => {
        const own = await Fixture.use(options(upstream.port, { workers: 2 }));

        upstream.resume = () => ({ status: 405, type: 'text/plain', text: '' });
        answers(() => 'done');

        for (let i = 0; i < 4; i++) {
            const it = await own.session({ capabilities: CAN });

            assert.equal(valueOf((await call(it)).response), 'done');
        }

        assert.equal(steps('GET'), 1);
        assert.equal(steps('tools/call'), 4);
    });

    test('MCP server does not respond to GET for 2 s: the call is sent, the late GET stream is still used',
         async () => {
        const it = await server.session({ capabilities: CAN });
        const got = Promise.withResolvers();

        upstream.resume = (one) => { got.resolve(one); };
        answers(async () => {

            // the stream is still welcome

            opens(await got.promise);

            return asked(nextStream(), 'roots/list');
        });

        assert.deepEqual(valueOf((await call(it, { roots: [] })).response)
            .result, { roots: [] });
    });

    test('Apache, GET streams use half of MCPThreads: further calls are sent without a GET stream',
         { skip: SERVER !== 'apache' }, async () => {
        const own = await Fixture.use(options(upstream.port,
            { http: { apache: 'MCPThreads 4' } }));
        const its = await Promise.all([1, 2].map(() =>
            own.session({ capabilities: CAN })));
        const both = Promise.withResolvers();
        let n = 0;

        answers(() => {
            if (++n === 2) {
                both.resolve('done');
            }

            return both.promise;
        });

        await Promise.all(its.map((it) => call(it)));
        assert.equal(steps('GET'), 1);
        assert.match(await own.log(), /half of the threads of this process/);
    });
});


// SDK 1.x sends a request that names no other one on the GET stream only, and
// drops it if there is none.

describe('server of SDK 1.32 with sessions', async () => {
    const sdk = await sdkServers['TypeScript SDK 1.32.2 with sessions'].start();
    const own = await Fixture.use(options(sdk, { workers: 2 }));

    for (const { name, connect } of clients) {
        test(`MCP server of SDK 1.32 calls elicitInput() without relatedRequestId, ${name}: the client gets the question`,
             async () => {
            const client = await connect({ url: own.url }, { requests: {
                'elicitation/create': () => ({ action: 'accept',
                                               content: { value: 'yes' } }) } });

            for (let i = 0; i < 2; i++) {
                assert.equal(textOf(await client.call('askAside', {})),
                             'answered yes');
            }

            await client.end?.();
        });
    }
});
