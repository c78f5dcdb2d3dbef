// SPDX-License-Identifier: Apache-2.0

// Questions of an MCP server with sessions, which it sends on the stream of a
// call. The client gets them on the stream of its own call, which it can
// resume, and the server gets the responses while the call goes on.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { OTHER, kill, node, together } from './lib/cluster.mjs';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { Redis, until } from './lib/redis.mjs';
import { textOf } from './lib/session.mjs';
import { Tasks } from './lib/tasks.mjs';
import { done, event, reload, withSessions } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

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

const calls = () => upstream.requests.filter(({ body }) =>
    body.method === 'tools/call');

// Returns how many answers to the question with this id the server got.

const answersTo = (id) => upstream.requests.filter(({ body }) =>
    body.method === undefined && body.id === id).length;
const valueOf = (response) => JSON.parse(textOf(response.result));
const asked = (call, method, params, id = 'question') =>
    upstream.ask(call, id, method, params).then(({ body }) => body);

beforeEach(() => {
    upstream.requests.length = 0;
    upstream.described.length = 0;
    upstream.steps.length = 0;
    upstream.asked.clear();
});


// In Apache, a call with an open question holds a thread and a connection to its
// MCP server, and so does the POST of its answer.

describe('more users with an open question than threads', () => {
    const MPM = process.env.FIXTURE_MPM ?? 'event';
    const location = { mcp_stream_after: '0', mcp_backend: 'sessions',
                       mcp_call_timeout: '20s' };

    // Opens sessions of users with different addresses, because a caller has
    // only a share of the threads.

    const users = (own, n) => Promise.all(Array.from({ length: n }, (_, i) =>
        own.session({ capabilities: ALL, send: (options) =>
            request(own.port, { ...options,
                                localAddress: `127.0.1.${i + 1}` }) })));

    const asksAll = (began = () => {}) => asks((call) => {
        const answer = asked(call, 'roots/list', undefined, call.body.id);

        began();

        return answer;
    });

    const finishes = (its, calls, ready) => Promise.all(calls.map(
        async (call, i) => {
            const { response } = await its[i].follow(await call, {
                onMessage: async ({ id }) => {
                    await ready;
                    await its[i].respond(id, { roots: [] });
                },
            });

            assert.deepEqual(valueOf(response).result, { roots: [] });
        }));

    // The users have sessions at the server, so each call is one request. With
    // the default values, 7 of them have a thread and a connection.

    test('20 users have an open question, a process has 8 threads: all get their results', {
        skip: SERVER === 'apache' && MPM !== 'event'
            && 'in this MPM a waiting client holds a thread' }, async () => {
        const own = await Fixture.use({
            workers: 1, threads: 8,
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'], location,
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } } });
        const its = await users(own, 20);
        const open = Promise.withResolvers();
        let n = 0;

        upstream.answer = () => ({ content: [] });

        for (const it of its) {
            await it.tool('add');
        }

        asksAll(() => {
            if (++n === 7) {
                open.resolve();
            }
        });

        const calls = its.map((it) => it.call('add'));

        await finishes(its, calls, Promise.all([...calls, open.promise]));
    });

    test('Apache, MCPThreads 1: all users get their results', {
        skip: SERVER !== 'apache' ? 'Apache only'
            : MPM === 'prefork' && 'it runs one backend request at a time' },
         async () => {
        const own = await Fixture.use({
            workers: 1, http: { apache: 'MCPThreads 1' },
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'], location,
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } } });
        const its = await users(own, 3);

        asksAll();
        await finishes(its, its.map((it) => it.call('add')));
    });

    test('Apache, prefork, the user answers: the call times out, and the log names the MPM', {
        skip: SERVER !== 'apache' && 'Apache only' }, async () => {
        const own = await Fixture.use({
            env: { FIXTURE_MPM: 'prefork' }, workers: 4,
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { ...location, mcp_call_timeout: '1s' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } } });
        const [it] = await users(own, 1);

        asksAll();

        const { response } = await it.follow(await it.call('add'), {
            onMessage: ({ id }) => it.respond(id, { roots: [] }) });

        assert.equal(response.error.message, 'Backend timed out');
        assert.match(await own.log(),
                     /this MPM runs one backend request at a time/);
    });
});


describe('questions to a client of 2025-11-25', () => {
    test('elicitation, client of 2025-11-25: the MCP server gets the client\'s response', async () => {
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

    test('client of 2025-11-25: the session at the MCP server declares the capabilities of the client',
         async () => {
        const it = await server.session({ capabilities: ALL });

        upstream.described.length = 0;
        upstream.answer = () => ({ content: [] });
        await it.tool('add');
        assert.deepEqual(upstream.described[0].body.params.capabilities, {
            sampling: { tools: {} }, elicitation: { form: {}, url: {} },
            roots: {} });
    });

    test('client disconnects before its answer, then the server reloads: the client can answer and resume the stream',
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

    test('several open questions, answered in another order: the MCP server gets each answer',
         async () => {
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

    test('client responds to a question with an error: the MCP server gets the error',
         async () => {
        const it = await server.session({ capabilities: ALL });
        const error = { code: -1, message: 'The user is away' };

        asks((call) => asked(call, 'roots/list'));

        const { response } = await it.follow(await it.call('add'), {
            onMessage: ({ id }) => it.post({ jsonrpc: '2.0', id, error }),
        });

        assert.deepEqual(valueOf(response).error, error);
    });

    test('MCP server cancels its question: the client gets notifications/cancelled',
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

    test('MCP server responds with 500 to the POST of an answer: the call continues',
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

    for (const [cuts, name, seen] of [
        [1, 'connection closes during the POST of an answer: the MCP server gets the answer again',
         { roots: [] }],
        [9, 'connection closes during each POST of an answer: the answer is sent twice, the call continues',
         'no answer'],
    ]) {
        test(name, async () => {
            const it = await server.session({ capabilities: ALL });
            const usual = upstream.reply;
            let posts = 0;

            asks((call) => new Promise((resolve) => {
                asked(call, 'roots/list').then(({ result }) => resolve(result));

                upstream.reply = (one) => {
                    if (one.body.method !== undefined || posts++ >= cuts) {
                        return usual(one);
                    }

                    one.res.destroy();

                    if (posts === 2) {
                        resolve('no answer');
                    }
                };
            }));

            try {
                const { response } = await it.follow(await it.call('add'), {
                    onMessage: ({ id }) => it.respond(id, { roots: [] }),
                });

                assert.deepEqual(valueOf(response), seen);
                assert.equal(posts, 2);
            } finally {
                upstream.reply = usual;
            }
        });
    }

    // Runs fn() with a server that confirms no POST before 32 have arrived, the
    // maximum that run at the same time, and before confirm() was called.

    async function slowly(fn) {
        const usual = upstream.confirm;
        const { promise: allowed, resolve: confirm } = Promise.withResolvers();
        const { promise: arrived, resolve: last } = Promise.withResolvers();
        let posts = 0;

        upstream.confirm = async (one) => {
            if (++posts === 32) {
                last();
            }

            await Promise.all([allowed, arrived]);

            return usual(one);
        };

        try {
            return await fn({ arrived, confirm });
        } finally {
            confirm();
            last();
            upstream.confirm = usual;
        }
    }

    test('MCP server has not confirmed 32 responses: it gets the further responses later, also the client\'s answer',
         async () => {
        const it = await server.session({ capabilities: ALL });

        asks(async (call) => {
            const question = asked(call, 'roots/list');
            const pings = Array.from({ length: 40 },
                                     (_, i) => asked(call, 'ping', {}, i));

            return [await question, ...await Promise.all(pings)];
        });

        const { response } = await slowly(async ({ arrived, confirm }) =>
            it.follow(await it.call('add'), {
                onMessage: async ({ id }) => {
                    await arrived;
                    assert.equal((await it.respond(id, { roots: [] })).status,
                                 202);
                    confirm();
                },
            }));

        assert.deepEqual(valueOf(response).map(({ id, result }) => [id, result]),
            [['question', { roots: [] }],
             ...Array.from({ length: 40 }, (_, i) => [i, {}])]);
    });

    test('MCP server asks 100 questions and confirms responses late: it gets a response to each',
         async () => {
        const it = await server.session({ capabilities: ALL });
        let open = 0;

        asks((call) => Promise.all(Array.from({ length: 100 }, (_, i) =>
            asked(call, 'roots/list', undefined, i))));

        const { response } = await slowly(async ({ arrived, confirm }) =>
            it.follow(await it.call('add'), {
                onMessage: async ({ id }) => {
                    if (++open === 1) {
                        await arrived;
                        confirm();
                    }

                    await it.respond(id, { roots: [] });
                },
            }));

        const responses = valueOf(response);

        assert.equal(responses.filter(({ result }) => result).length, open);
        assert.ok(open >= 16);
        assert.ok(responses.every(({ result, error }) =>
            result || error.code === -32000));
    });

    test('17 open questions of one call: the MCP server gets an error for the last question',
         async () => {
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


// The client gets a question as the response to its request, and answers with
// the next one, while the call goes on at the server.

describe('questions to a client of 2026-07-28', () => {
    const modern = (options) => new Modern(server, { capabilities: ALL,
                                                     ...options });
    const call = (client, params, options) => client.request('tools/call',
        { name: 'add', arguments: {}, ...params }, options);
    const ask = async (client, params) =>
        (await client.follow(await call(client, params))).response;
    const keyOf = ({ result }) => Object.keys(result.inputRequests)[0];

    // Answers the only question of a response.

    const retry = (client, response, answer) => ask(client, {
        requestState: response.result.requestState,
        inputResponses: answer && { [keyOf(response)]: answer },
    });

    test('elicitation, client of 2026-07-28: the MCP server gets the client\'s answer', async () => {
        asks((call) => asked(call, 'elicitation/create', FORM, 7));

        const client = modern();
        const first = await ask(client);

        assert.equal(first.result.resultType, 'input_required');
        assert.deepEqual(first.result.inputRequests[keyOf(first)],
                         { method: 'elicitation/create', params: FORM });

        const second = await retry(client, first, { action: 'accept',
                                                    content: { a: 1 } });

        assert.equal(second.id, first.id + 1);
        assert.equal(second.result.resultType, 'complete');
        assert.deepEqual(valueOf(second), { jsonrpc: '2.0', id: 7,
            result: { action: 'accept', content: { a: 1 } } });
        assert.equal(upstream.steps.filter((step) => step === 'tools/call')
            .length, 1);
    });

    test('client of 2026-07-28: the session at the MCP server declares the capabilities of the client',
         async () => {
        upstream.described.length = 0;
        upstream.answer = () => ({ content: [] });
        await modern().tool('add');
        assert.deepEqual(upstream.described[0].body.params.capabilities, {
            sampling: { tools: {} }, elicitation: { form: {}, url: {} },
            roots: {} });
    });

    test('three questions, one after the other: each gets its answer',
         async () => {
        asks(async (call) => [
            (await asked(call, 'roots/list', undefined, 1)).result,
            (await asked(call, 'elicitation/create', FORM, 2)).result,
            (await asked(call, 'sampling/createMessage',
                         { messages: [], maxTokens: 9 }, 3)).result]);

        const client = modern();
        let response = await ask(client);

        for (const answer of [{ roots: [] }, { action: 'decline' },
            { role: 'assistant', model: 'm',
              content: { type: 'text', text: 'x' } }]) {
            assert.equal(response.result.resultType, 'input_required');
            response = await retry(client, response, answer);
        }

        assert.deepEqual(valueOf(response).map((one) => Object.keys(one)[0]),
                         ['roots', 'action', 'role']);
    });

    test('two questions at once: each gets its answer', async () => {
        asks((call) => Promise.all([
            asked(call, 'roots/list', undefined, 1),
            asked(call, 'elicitation/create', FORM, 2)]));

        const client = modern();
        let response = await ask(client);

        for (let i = 0; i < 2; i++) {
            const { method } = response.result.inputRequests[keyOf(response)];

            response = await retry(client, response,
                method === 'roots/list' ? { roots: [] } : { action: 'decline' });
        }

        assert.deepEqual(valueOf(response).map(({ result }) => result),
                         [{ roots: [] }, { action: 'decline' }]);
    });

    test('reload between question and answer: the MCP server gets the answer',
         async () => {
        asks((call) => asked(call, 'elicitation/create', FORM));

        const client = modern();
        const first = await ask(client);

        await reload(server);
        assert.deepEqual(valueOf(await retry(client, first,
            { action: 'decline' })).result, { action: 'decline' });
    });

    test('request with the answer is sent again: it gets the same response',
         async () => {
        asks((call) => asked(call, 'roots/list'));

        const client = modern();
        const first = await ask(client);
        const answers = await Promise.all([1, 2].map(() =>
            retry(client, first, { roots: [] }).catch(() => undefined)));
        const last = await retry(client, first, { roots: [] });

        assert.deepEqual(valueOf(last).result, { roots: [] });
        assert.ok(answers.some((one) => one?.result));
    });

    for (const [name, inputResponses] of [
        ['without inputResponses', undefined], ['with an empty object', {}],
        ['with unknown keys', { other: {}, q99: { roots: [] }, q: {} }],
    ]) {
        test(`requestState ${name}: the client gets the question again, its answer counts once`,
             async () => {
            const posted = [];

            asks(async (call) => {
                const answer = await asked(call, 'elicitation/create', FORM, 7);

                posted.push(answer);

                return answer;
            });

            const client = modern();
            const first = await ask(client);
            const { inputRequests, requestState } = first.result;
            let again = first;

            for (let i = 0; i < 3; i++) {
                const { requestState: before } = again.result;

                again = await ask(client, { requestState: before,
                                            inputResponses });
                assert.equal(again.result.resultType, 'input_required');
                assert.deepEqual(again.result.inputRequests, inputRequests);
                assert.notEqual(again.result.requestState, before);
            }

            assert.deepEqual(posted, []);

            const last = await retry(client, again, { action: 'decline' });

            assert.deepEqual(valueOf(last), { jsonrpc: '2.0', id: 7,
                result: { action: 'decline' } });

            // the first request state still names the call

            assert.deepEqual(valueOf(await ask(client, { requestState,
                inputResponses: { [keyOf(first)]: { action: 'accept' } } })),
                             valueOf(last));
            assert.equal(posted.length, 1);
            assert.equal(calls().length, 1);
        });
    }

    test('three open questions: a request gets all that have no answer yet',
         async () => {
        asks((call) => Promise.all([1, 2, 3].map((id) =>
            asked(call, 'elicitation/create',
                  { ...FORM, message: `${id}?` }, id))));

        const client = modern();
        let response = await ask(client);

        // the questions may arrive at any time

        while (Object.keys(response.result.inputRequests).length < 3) {
            response = await ask(client, {
                requestState: response.result.requestState });
        }

        const { inputRequests } = response.result;
        const keys = Object.keys(inputRequests);

        assert.deepEqual(keys.map((key) => inputRequests[key].params.message),
                         ['1?', '2?', '3?']);

        for (const [key, left] of [[keys[1], [keys[0], keys[2]]],
                                   [keys[2], [keys[0]]]]) {
            response = await ask(client, {
                requestState: response.result.requestState,
                inputResponses: { [key]: { action: 'decline', of: key } } });
            assert.deepEqual(response.result.inputRequests, Object.fromEntries(
                left.map((one) => [one, inputRequests[one]])));
        }

        // answers to answered questions have no effect

        response = await ask(client, {
            requestState: response.result.requestState,
            inputResponses: Object.fromEntries(keys.map((key) =>
                [key, { action: 'accept', of: key }])) });

        assert.deepEqual(valueOf(response).map(({ result }) => result), [
            { action: 'accept', of: keys[0] },
            { action: 'decline', of: keys[1] },
            { action: 'decline', of: keys[2] }]);
        assert.equal(calls().length, 1);
    });

    test('requests with and without the answer at the same time: the MCP server gets one answer, the next request gets the result',
         async () => {
        for (let i = 0; i < 20; i++) {
            asks((call) => asked(call, 'roots/list', undefined, i));

            const client = modern();
            const first = await ask(client);
            const { requestState } = first.result;
            const responses = await Promise.all([undefined,
                { [keyOf(first)]: { roots: [] } }, undefined,
                { [keyOf(first)]: { roots: [] } }].map((inputResponses) =>
                ask(client, { requestState, inputResponses })));

            // a request whose stream another request reads gets -32602

            for (const { result, error } of responses) {
                assert.ok(error ? error.code === -32602
                    : result.resultType === 'input_required' || result.content,
                          JSON.stringify({ result, error }));
            }

            const last = await retry(client, first, { roots: [] });

            assert.deepEqual(valueOf(last).result, { roots: [] });
            assert.equal(answersTo(i), 1);
        }
    });

    test('request with all answers after a request without any: gets the result, and no question again',
         async () => {
        asks((call) => asked(call, 'roots/list'));

        const client = modern();
        const first = await ask(client);

        await ask(client, { requestState: first.result.requestState });
        assert.deepEqual(valueOf(await retry(client, first, { roots: [] }))
            .result, { roots: [] });
    });

    test('reload between two requests without an answer: each gets the question',
         async () => {
        asks((call) => asked(call, 'roots/list'));

        const client = modern();
        let response = await ask(client);

        for (let i = 0; i < 2; i++) {
            await reload(server);
            response = await retry(client, response);
            assert.equal(response.result.resultType, 'input_required');
        }

        assert.deepEqual(valueOf(await retry(client, response, { roots: [] }))
            .result, { roots: [] });
    });

    for (const after of ['0', '1m']) {
        test(`mcp_stream_after ${after}, one caller has too many calls with open questions: `
             + 'the MCP server gets an error for the next question', async () => {
            const small = await Fixture.use({
                without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
                location: { mcp_stream_after: after, mcp_backend: 'sessions',
                            mcp_max_session_streams: '16' },
                backends: { sessions: { http: upstream.port,
                                        upstream: 'session' } },
            });
            const client = new Modern(small, { capabilities: ALL });
            const open = [];
            let last, id = 0;

            asks((call) => asked(call, 'elicitation/create', FORM, id++));

            // the limit is one call in each process

            while ((last = await ask(client)).result.resultType
                   === 'input_required') {
                open.push(last);
                assert.ok(open.length < 40);
            }

            assert.ok(open.length > 0);
            assert.equal(valueOf(last).error.code, -32000);

            for (const response of open) {
                assert.equal(valueOf(await retry(client, response,
                    { action: 'decline' })).result.action, 'decline');
            }

            last = await ask(client);
            assert.equal(last.result.resultType, 'input_required');
            await retry(client, last, { action: 'decline' });
        });
    }

    test('progress after the answer to a question: arrives on the stream of the request with the answer',
         async () => {
        upstream.answer = async (call) => {
            call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
            await asked(call, 'roots/list');
            call.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/progress', params: { progress: 1,
                    progressToken: call.body.params._meta.progressToken } }));
            call.res.end(event(done(call.body)));
        };

        const client = modern();
        const first = (await client.follow(await call(client, {},
            { meta: { progressToken: 'one' } }))).response;
        const { messages } = await client.follow(await call(client, {
            requestState: first.result.requestState,
            inputResponses: { [keyOf(first)]: { roots: [] } },
        }, { meta: { progressToken: 'two' } }));

        assert.deepEqual(messages.map(({ params }) => params),
                         [{ progress: 1, progressToken: 'two' }]);
    });

    test('client of 2026-07-28 disconnects during its request with the answer: the call is cancelled',
         async () => {
        const closed = Promise.withResolvers();

        upstream.answer = async (call) => {
            call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
            call.res.on('close', closed.resolve);
            await asked(call, 'roots/list');
            call.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/message',
                params: { level: 'error', data: 'works' } }));
        };

        const client = modern({ meta: {
            'io.modelcontextprotocol/logLevel': 'debug' } });
        const first = await ask(client);
        const answer = await call(client, {
            requestState: first.result.requestState,
            inputResponses: { [keyOf(first)]: { roots: [] } } });

        assert.equal((await answer.message()).params.data, 'works');
        answer.close();
        await closed.promise;
        assert.equal((await retry(client, first, { roots: [] })).error.code,
                     -32602);
    });

    test('input_required result as the response: the next request on the same connection succeeds',
         async () => {
        asks((one) => asked(one, 'roots/list'));

        const client = modern();

        for (let i = 0; i < 4; i++) {
            const message = client.message('tools/call',
                                           { name: 'add', arguments: {} });
            const response = await fetch(server.url, { method: 'POST',
                headers: client.headers(message),
                body: JSON.stringify(message) });

            assert.match(await response.text(), /input_required/);
        }
    });

    test('requestState sent with another request than its own: -32602', async () => {
        asks((call) => asked(call, 'roots/list'));

        const client = modern();
        const first = await ask(client);
        const other = (await client.follow(await call(client, { name: 'other',
            requestState: first.result.requestState }))).response;

        assert.equal(other.error.code, -32602);
        await retry(client, first, { roots: [] });
    });

    test('question whose capability the client has not declared: the MCP server gets an error',
         async () => {
        asks((call) => asked(call, 'elicitation/create', FORM));

        const client = modern({ capabilities: { roots: {} } });

        assert.equal(valueOf(await ask(client)).error.code, -32601);
    });
});


describe('questions of a task', () => {
    const tasks = () => new Tasks(server, { capabilities: ALL });

    // A task whose call asks when the client has the task.

    async function begin(client, ask) {
        let open;
        const begun = new Promise((resolve) => { open = resolve; });

        asks((call) => begun.then(() => ask(call)));

        const { taskId } = await client.create('add', {});

        open();

        return taskId;
    }

    // Waits for the only question that a task shows, and returns it.

    async function shown(client, taskId) {
        const { inputRequests } = await client.status(taskId, 'input_required');
        const [[key, question], ...others] = Object.entries(inputRequests);

        assert.deepEqual(others, []);

        return { key, ...question };
    }

    test('question of a task: the task shows the question, the MCP server gets the answer',
         async () => {
        const client = tasks();
        const taskId = await begin(client, (call) =>
            asked(call, 'elicitation/create', FORM, 7));
        const { key, ...question } = await shown(client, taskId);

        assert.deepEqual(question, { method: 'elicitation/create',
                                     params: FORM });
        await client.update(taskId, { [key]: { action: 'accept',
                                               content: { a: 1 } } });

        const { status, result } = await client.settled(taskId);

        assert.equal(status, 'completed');
        assert.deepEqual(JSON.parse(textOf(result)), { jsonrpc: '2.0', id: 7,
            result: { action: 'accept', content: { a: 1 } } });
    });

    test('three questions at the same time: the task shows them one after the other',
         async () => {
        const client = tasks();
        const taskId = await begin(client, (call) => Promise.all([1, 2, 3]
            .map((id) => asked(call, 'elicitation/create',
                               { ...FORM, message: `${id}?` }, id))));
        const keys = new Set();

        for (const id of [1, 2, 3]) {
            const { key, params } = await client.until(taskId, (task) =>
                Object.values(task.inputRequests ?? {})[0]?.params.message
                    === `${id}?`).then(() => shown(client, taskId));

            assert.equal(params.message, `${id}?`);
            keys.add(key);
            await client.update(taskId, { [key]: { action: 'decline' } });
        }

        const { result } = await client.settled(taskId);

        assert.equal(keys.size, 3);
        assert.deepEqual(JSON.parse(textOf(result)).map((one) => one.id),
                         [1, 2, 3]);
    });

    test('second question exceeds mcp_quota_bytes: the MCP server gets an error when the first one is answered',
         async () => {
        const own = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                        mcp_quota_bytes: '16k' },
            backends: { sessions: { http: upstream.port, upstream: 'session' } },
        });
        const client = new Tasks(own, { capabilities: ALL });
        const taskId = await begin(client, (call) => Promise.all([
            asked(call, 'elicitation/create', FORM, 1),
            asked(call, 'elicitation/create',
                  { ...FORM, message: 'x'.repeat(32768) }, 2)]));
        const { key } = await shown(client, taskId);

        await client.update(taskId, { [key]: { action: 'decline' } });

        const { result } = await client.settled(taskId);
        const [first, second] = JSON.parse(textOf(result));

        assert.deepEqual(first.result, { action: 'decline' });
        assert.equal(second.error.code, -32000);
    });

    test('two questions at the same time: a listener of the task gets both questions',
         async () => {
        const client = tasks();
        let go;
        const listened = new Promise((resolve) => { go = resolve; });
        const taskId = await begin(client, (call) => listened.then(() =>
            Promise.all([1, 2].map((id) => asked(call, 'elicitation/create',
                { ...FORM, message: `${id}?` }, id)))));
        const listener = await client.listen(taskId);

        go();

        for (const id of [1, 2]) {
            for (let key; key === undefined;) {
                const { inputRequests = {} } = await listener.next();

                [key] = Object.keys(inputRequests).filter((one) =>
                    inputRequests[one].params.message === `${id}?`);

                if (key) {
                    await client.update(taskId,
                                        { [key]: { action: 'decline' } });
                }
            }
        }

        listener.close();
        assert.equal((await client.settled(taskId)).status, 'completed');
    });

    test('progress while a question is open: the task still shows the question',
         async () => {
        const client = tasks();
        const taskId = await begin(client, async (call) => {
            const answer = asked(call, 'roots/list');

            call.res.write(event({ jsonrpc: '2.0',
                method: 'notifications/progress', params: {
                    progressToken: call.body.params._meta?.progressToken
                                   ?? call.body.id,
                    progress: 1, message: 'waits' } }));

            return answer;
        });
        const { key } = await shown(client, taskId);

        await client.update(taskId, { [key]: { roots: [] } });
        assert.equal((await client.settled(taskId)).status, 'completed');
    });

    test('MCP server withdraws its question: the task no longer shows the question',
         async () => {
        const client = tasks();
        let finish;
        const taskId = await begin(client, (call) => {
            asked(call, 'roots/list', undefined, 5);

            return new Promise((resolve) => {
                finish = (again) => {
                    call.res.write(event({ jsonrpc: '2.0',
                        method: 'notifications/cancelled',
                        params: { requestId: 5 } }));
                    again(call).then(resolve);
                };
            });
        });

        await shown(client, taskId);

        let answer;

        finish(() => new Promise((resolve) => { answer = resolve; }));
        await client.status(taskId, 'working');
        answer('done');
        assert.equal((await client.settled(taskId)).status, 'completed');
    });

    test('client of a task does not answer within mcp_input_timeout: elicitation gets the action "cancel", other questions get an error',
         async () => {
        const hasty = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                        mcp_input_timeout: '1s' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        });
        const client = new Tasks(hasty, { capabilities: ALL });
        const taskId = await begin(client, async (call) => [
            await asked(call, 'elicitation/create', FORM, 1),
            await asked(call, 'roots/list', undefined, 2)]);

        await shown(client, taskId);

        const { status, result } = await client.settled(taskId);
        const [form, roots] = JSON.parse(textOf(result));

        assert.equal(status, 'completed');
        assert.deepEqual(form.result, { action: 'cancel' });
        assert.equal(roots.error.code, -32000);
    });

    test('client cancels a task with an open question: the MCP server gets notifications/cancelled',
         async () => {
        const client = tasks();
        const taskId = await begin(client, (call) =>
            asked(call, 'roots/list'));

        await shown(client, taskId);
        await client.cancel(taskId);
        assert.equal((await client.settled(taskId)).status, 'cancelled');
        await until(() => upstream.steps.includes('notifications/cancelled'));
    });

    test('question of a task whose client has not declared the capability: the MCP server gets -32601',
         async () => {
        const client = new Tasks(server, { capabilities: { roots: {} } });
        const taskId = await begin(client, (call) =>
            asked(call, 'elicitation/create', FORM));
        const { result } = await client.settled(taskId);

        assert.equal(JSON.parse(textOf(result)).error.code, -32601);
    });
});


describe('question at one node of a cluster, client of 2026-07-28', async () => {
    const redis = await Redis.start();

    after(() => redis.stop());

    const nodes = await together([SERVER, OTHER].map((kind) =>
        node(redis.url, {
            kind, without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            http: { mcp_cluster_node_timeout: '2s' },
            location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        })));

    after(() => Promise.all(nodes.map((fixture) => fixture.stop())));

    const call = async (at, params) => {
        const client = new Modern(nodes[at], { capabilities: ALL });
        const answer = await client.request('tools/call',
            { name: 'add', arguments: {}, ...params });

        return { status: answer.status,
                 ...(await client.follow(answer)).response };
    };
    const retry = (at, { result }) => call(at, {
        requestState: result.requestState,
        inputResponses: { [Object.keys(result.inputRequests)[0]]:
                          { roots: [] } },
    });

    for (const [first, second] of [[0, 1], [1, 0]]) {
        test(`question at node ${first} of a cluster, request without an answer at the other node: the client gets the question again`,
             async () => {
            asks((one) => asked(one, 'roots/list'));

            const question = await call(first);
            let again = question;

            for (const at of [second, second, first]) {
                again = await call(at, {
                    requestState: again.result.requestState });
                assert.deepEqual(again.result.inputRequests,
                                 question.result.inputRequests);
            }

            assert.deepEqual(valueOf(await retry(second, again)).result,
                             { roots: [] });
        });

        test(`question at node ${first} of a cluster, answer at the other node: the MCP server gets the answer`,
             async () => {
            asks(async (one) => [await asked(one, 'roots/list', undefined, 1),
                                 await asked(one, 'roots/list', undefined, 2)]);

            const question = await call(first);
            const next = await retry(second, question);

            assert.equal(next.result.resultType, 'input_required');
            assert.deepEqual(valueOf(await retry(first, next))
                .map(({ result }) => result), [{ roots: [] }, { roots: [] }]);
        });
    }

    test('node of the call dies before the answer to a question: the request with the answer gets -32603',
         async () => {
        asks((one) => asked(one, 'roots/list'));

        const question = await call(1);

        await kill(nodes[1]);

        const { error } = await until(async () => {
            const answer = await retry(0, question);

            return answer.status !== 503 && answer;
        });

        assert.equal(error.code, -32603);
    });
});


describe('requests that the client does not get', () => {
    const cases = [
        ['with the method ping', ALL, 'ping', ({ result }) => assert.deepEqual(result, {})],
        ['whose capability the client did not declare', { roots: {} },
         'elicitation/create', ({ error }) => assert.equal(error.code, -32601)],
        ['with an unknown method', ALL, 'tools/list',
         ({ error }) => assert.equal(error.code, -32601)],
    ];

    for (const [name, capabilities, method, check] of cases) {
        test(`request of the MCP server ${name}: the server gets a response, the client no message`,
             async () => {
            const it = await server.session({ capabilities });

            asks((call) => asked(call, method, FORM));

            const { messages, response } =
                await it.follow(await it.call('add'));

            assert.deepEqual(messages, []);
            check(valueOf(response));
        });
    }

    test('request of the MCP server with the id null: the call gets -32603',
         async () => {
        const it = await server.session({ capabilities: ALL });

        asks((call) => asked(call, 'roots/list', undefined, null));

        const { response } = await it.follow(await it.call('add'));

        assert.equal(response.error.code, -32603);
        upstream.requests.forEach(({ res }) => res.end());
    });
});


describe('client that does not answer within mcp_input_timeout', () => {
    test('no answer within mcp_input_timeout: elicitation gets the action "cancel", other questions get an error',
         async () => {
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

    test('no request with the answer within mcp_state_lifetime: the question and the call are cancelled',
         async () => {
        const hasty = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                        mcp_state_lifetime: '1s' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        });
        const client = new Modern(hasty, { capabilities: ALL });
        const answered = Promise.withResolvers();
        const closed = Promise.withResolvers();

        upstream.answer = (call) => {
            call.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
            call.res.on('close', closed.resolve);
            asked(call, 'elicitation/create', FORM).then(answered.resolve);
        };

        const { response } = await client.follow(await client.call('add'));

        assert.equal(response.result.resultType, 'input_required');
        assert.deepEqual((await answered.promise).result,
                         { action: 'cancel' });
        await closed.promise;
    });
});
