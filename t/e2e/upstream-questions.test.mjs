// SPDX-License-Identifier: Apache-2.0

// Questions of an MCP server with sessions, which it sends on the stream of a
// call. The client gets them on the stream of its own call, which it can
// resume, and the server gets the responses while the call goes on.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { textOf } from './lib/session.mjs';
import { done, event, reload, withSessions } from './lib/upstream.mjs';

const upstream = await withSessions();
const server = await Fixture.use({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
    backends: { sessions: { http: upstream.port, upstream: 'session' } },
});

const ALL = { elicitation: { form: {}, url: {} }, roots: {},
              sampling: { tools: {} } };
const FORM = { message: 'Continue?',
               requestedSchema: { type: 'object', properties: {} } };

// Lets the server ask with a function of its call, whose value becomes the text
// of the result.

function asks(ask) {
    upstream.answer = (call) => {
        call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        ask(call).then((value) => {
            call.res.end(event(done(call.body, { content: [
                { type: 'text', text: JSON.stringify(value) }] })));
        });
    };
}

const valueOf = (response) => JSON.parse(textOf(response.result));
const asked = (call, method, params, id = 'question') =>
    upstream.ask(call, id, method, params).then(({ body }) => body);

beforeEach(() => {
    upstream.requests.length = 0;
    upstream.described.length = 0;
});


describe('questions to a client of 2025-11-25', () => {
    test('elicitation: the server gets the client\'s response', async () => {
        const it = await server.session({ capabilities: ALL });
        let question;

        asks((call) => asked(call, 'elicitation/create', FORM, 7));

        const { response, messages } = await it.follow(await it.call('add'), {
            onMessage: async (message) => {
                question = message;
                assert.equal((await it.respond(message.id,
                    { action: 'accept', content: { a: 1 } })).status, 202);
            },
        });

        assert.equal(messages.length, 1);
        assert.deepEqual(question, { jsonrpc: '2.0', id: question.id,
            method: 'elicitation/create', params: FORM });
        assert.equal(typeof question.id, 'string');
        assert.deepEqual(valueOf(response), { jsonrpc: '2.0', id: 7,
            result: { action: 'accept', content: { a: 1 } } });

        const posted = upstream.requests.find(({ body }) =>
            body.method === undefined);

        assert.ok(upstream.sessions.has(posted.headers['mcp-session-id']));
        assert.equal(posted.headers['mcp-protocol-version'], '2025-06-18');
    });

    test('session: declares the capabilities of the client', async () => {
        const it = await server.session({ capabilities: ALL });

        upstream.described.length = 0;
        upstream.answer = () => ({ content: [] });
        await it.tool('add');
        assert.deepEqual(upstream.described[0].body.params.capabilities, {
            sampling: { tools: {} }, elicitation: { form: {}, url: {} },
            roots: {} });
    });

    test('client disconnects before it answers: it resumes in any process',
         async () => {
        const it = await server.session({ capabilities: ALL });

        asks((call) => asked(call, 'elicitation/create', FORM));

        const answer = await it.call('add');
        const question = await answer.message();

        answer.close();
        await reload(server);
        assert.equal((await it.respond(question.id,
                                       { action: 'decline' })).status, 202);

        const resumed = await it.get(answer.lastId);

        assert.deepEqual(valueOf(await resumed.message()).result,
                         { action: 'decline' });
        resumed.close();
    });

    test('several questions: each response reaches its own', async () => {
        const it = await server.session({ capabilities: ALL });
        const questions = [];

        asks((call) => Promise.all([
            asked(call, 'roots/list', undefined, 'roots'),
            asked(call, 'elicitation/create', FORM, 1),
            asked(call, 'sampling/createMessage',
                  { messages: [], maxTokens: 9 }, 2)]));

        const { response } = await it.follow(await it.call('add'), {
            onMessage: async (message) => {
                questions.unshift(message);

                for (const { id, method } of questions.length === 3
                    ? questions : []) {
                    await it.respond(id, { of: method });
                }
            },
        });

        assert.deepEqual(valueOf(response).map((one) => [one.id,
                                                         one.result.of]),
                         [['roots', 'roots/list'], [1, 'elicitation/create'],
                          [2, 'sampling/createMessage']]);
    });

    test('client responds with an error: the server gets it', async () => {
        const it = await server.session({ capabilities: ALL });
        const error = { code: -1, message: 'The user is away' };

        asks((call) => asked(call, 'roots/list'));

        const { response } = await it.follow(await it.call('add'), {
            onMessage: ({ id }) => it.post({ jsonrpc: '2.0', id, error }),
        });

        assert.deepEqual(valueOf(response).error, error);
    });

    test('server cancels its question: so does the client\'s stream',
         async () => {
        const it = await server.session({ capabilities: ALL });

        asks(async (call) => {
            asked(call, 'roots/list', undefined, 5);
            call.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/cancelled', params: { requestId: 5 } }));
            return 'without roots';
        });

        const { messages, response } = await it.follow(await it.call('add'));

        assert.equal(messages.length, 2);
        assert.deepEqual(messages[1], { jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId: messages[0].id } });
        assert.equal(valueOf(response), 'without roots');
        assert.equal((await it.respond(messages[0].id, {})).status, 202);
    });

    test('server does not confirm the response: the call continues',
         async () => {
        const it = await server.session({ capabilities: ALL });
        const usual = upstream.confirm;

        upstream.confirm = () => ({ status: 500, type: 'text/plain',
                                    text: 'no' });
        asks((call) => asked(call, 'roots/list'));

        try {
            const { response } = await it.follow(await it.call('add'), {
                onMessage: ({ id }) => it.respond(id, { roots: [] }),
            });

            assert.deepEqual(valueOf(response).result, { roots: [] });
        } finally {
            upstream.confirm = usual;
        }
    });

    test('17 questions at once: the last one gets an error', async () => {
        const it = await server.session({ capabilities: ALL });

        asks(async (call) => {
            for (let i = 0; i < 16; i++) {
                asked(call, 'roots/list', undefined, i);
            }

            return asked(call, 'roots/list', undefined, 16);
        });

        const { response } = await it.follow(await it.call('add'));

        assert.equal(valueOf(response).error.code, -32000);
    });
});


describe('requests that the client does not get', () => {
    const cases = [
        ['ping', ALL, 'ping', ({ result }) => assert.deepEqual(result, {})],
        ['capability that the client has not declared', { roots: {} },
         'elicitation/create', ({ error }) => assert.equal(error.code, -32601)],
        ['unknown method', ALL, 'tools/list',
         ({ error }) => assert.equal(error.code, -32601)],
    ];

    for (const [name, capabilities, method, check] of cases) {
        test(`${name}: the server gets a response at once`, async () => {
            const it = await server.session({ capabilities });

            asks((call) => asked(call, method, FORM));

            const { messages, response } =
                await it.follow(await it.call('add'));

            assert.deepEqual(messages, []);
            check(valueOf(response));
        });
    }

    test('client of 2026-07-28: the server gets an error', async () => {
        const client = new Modern(server, { capabilities: ALL });

        asks((call) => asked(call, 'elicitation/create', FORM));
        assert.equal(JSON.parse(textOf(await client.tool('add'))).error.code,
                     -32601);
    });

    test('id is null: the call fails', async () => {
        const it = await server.session({ capabilities: ALL });

        asks((call) => asked(call, 'roots/list', undefined, null));

        const { response } = await it.follow(await it.call('add'));

        assert.equal(response.error.code, -32603);
        upstream.requests.forEach(({ res }) => res.end());
    });
});


describe('client that does not answer within mcp_input_timeout', () => {
    test('elicitation: cancelled, other questions: an error', async () => {
        const hasty = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                        mcp_input_timeout: '1s' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        });
        const it = await hasty.session({ capabilities: ALL });

        asks((call) => Promise.all([
            asked(call, 'elicitation/create', FORM, 1),
            asked(call, 'roots/list', undefined, 2)]));

        const { response } = await it.follow(await it.call('add'));
        const [form, roots] = valueOf(response);

        assert.deepEqual(form.result, { action: 'cancel' });
        assert.equal(roots.error.code, -32000);
    });
});
