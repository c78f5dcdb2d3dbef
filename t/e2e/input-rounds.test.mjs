// SPDX-License-Identifier: Apache-2.0

// A backend that asks questions in three rounds, and clients of all eras: each
// gets the questions in the form of its revision, and each round may run at
// another worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, rest, urlOf } from './lib/held-calls.mjs';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { watched } from './lib/schema.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { textOf } from './lib/session.mjs';
import { Tasks } from './lib/tasks.mjs';
import { request } from './lib/wire.mjs';

const COMPLETE = 'notifications/elicitation/complete';

const form = (message) => ({ method: 'elicitation/create', params: {
    message,
    requestedSchema: { type: 'object', required: ['at'], properties: {
        at: { type: 'string', enum: ['noon', 'night'], default: 'noon' },
        seats: { type: 'integer', default: 2 },
    } } } });
const url = { method: 'elicitation/create', params: {
    mode: 'url', url: 'https://pay.example/1', message: 'Please pay' } };
const sample = (tools) => ({ method: 'sampling/createMessage', params: {
    maxTokens: 10,
    messages: [{ role: 'user', content: { type: 'text', text: 'Think' } }],
    ...(tools && { tools: [{ name: 'look', inputSchema: { type: 'object' } }],
                   toolChoice: { mode: 'auto' } }) } });

// The questions of each round, for a client with these capabilities.

const ROUNDS = [
    (can) => ({ ...(can.elicitation && { when: form('When?') }),
                ...(can.sampling && { think: sample(can.sampling.tools) }) }),
    (can) => ({ ...(can.elicitation?.url && { pay: url }),
                ...(can.roots && { dirs: { method: 'roots/list' } }) }),
    (can) => ({ last: can.elicitation ? form('Sure?') : sample() }),
];

const said = (value) => ({ content: [{ type: 'text',
                                       text: JSON.stringify(value) }] });
const asks = (inputRequests, state) => ({
    resultType: 'input_required', ...(inputRequests && { inputRequests }),
    ...(state !== undefined && { requestState: JSON.stringify(state) }) });

const gate = Promise.withResolvers();

const tools = {
    // Keeps all of its state in the request and in requestState.

    book({ message: { params }, params: { MCP_CLIENT_CAPABILITIES: can } }) {
        const { round, got } = JSON.parse(params.requestState
                                          ?? '{"round":0,"got":[]}');

        if (params.inputResponses) {
            got.push(params.inputResponses);
        }

        return round === ROUNDS.length ? said(got)
            : asks(ROUNDS[round](JSON.parse(can)), { round: round + 1, got });
    },

    // Sends input_required without questions; the result has the times of its
    // calls.

    busy({ message: { params } }) {
        const times = [...JSON.parse(params.requestState ?? '[]'),
                       performance.now()];

        return times.length > 3 ? said(times) : asks(undefined, times);
    },

    // Asks the question in its arguments.

    needs: ({ message: { params } }) => (params.inputResponses
        ? said(params.inputResponses)
        : asks({ q: params.arguments.question }, 'secret')),

    // Asks a question when the gate is open.

    async late({ message: { params } }) {
        await gate.promise;

        return params.inputResponses ? said(params.inputResponses)
                                     : asks({ when: form('When?') }, 'late');
    },

    odd: () => ({ resultType: 'task', content: [] }),
};

const backend = await scripted((call) => tools[call.message.params.name](call));

tools.book_task = tools.book;

const location = {
    mcp_catalog: await catalog({ tools: Object.keys(tools).map((name) => ({
        name, inputSchema: { type: 'object' },
        ...(name === 'book_task' && { 'x-mcp-task': 'always' }) })) }),
    mcp_backend: 'scripted',
    mcp_close_after: 'off',
};
const options = { workers: 4, backends: { scripted: backend.address } };
const server = await Fixture.use({ ...options, location });
const linked = await Fixture.use({ ...options,
    location: { ...location, mcp_link: 'on' } });

const interim = await Fixture.use({ ...options,
    location: { ...location, mcp_stream_after: '30s',
                mcp_resume_after: '300ms' } });

const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} },
              roots: {} };

function reply({ method, params }) {
    switch (method) {
    case 'elicitation/create':
        return params.mode === 'url' ? { action: 'accept' }
            : { action: 'accept', content: { at: 'night', seats: 3 } };
    case 'sampling/createMessage':
        return { role: 'assistant', model: 'm', stopReason: 'endTurn',
                 content: { type: 'text', text: 'thought' } };
    default:
        assert.equal(method, 'roots/list');
        return { roots: [{ uri: 'file:///a' }] };
    }
}

const replies = (questions) => Object.fromEntries(Object.entries(questions)
    .map(([key, question]) => [key, reply(question)]));

const expected = (can) => ROUNDS.map((round) => replies(round(can)));

const bare = ({ method, params: { elicitationId, ...params } = {} }) => ({
    method, ...(Object.keys(params).length && { params }) });


// Repeats a run until each of its rounds came to another worker than the round
// before; several runs at once, because one worker could take all of few
// requests.

async function onOtherWorkers(run, width = 6) {
    for (let i = 0; i < 60; i++) {
        const runs = await Promise.all(Array.from({ length: width }, run));

        assert.ok(runs.flat().every((worker) => worker), runs.join());

        if (runs.some((workers) => workers.every(
            (worker, k) => worker !== workers[k - 1])))
        {
            return;
        }
    }

    assert.fail('no run whose rounds were all at other workers');
}

const of = (answer) => answer.headers['x-worker'];

const sessionOf = (fixture, version, capabilities) => fixture.session({
    version, capabilities,
    send: watched((o) => request(fixture.port, o), version) });


const SESSIONS = [
    ['2025-03-26', { sampling: {}, roots: {} }],
    ['2025-06-18', { elicitation: {}, sampling: {}, roots: {} }],
    ['2025-11-25', ALL],
];

for (const [version, can] of SESSIONS) {
    test(`${version}, backend has questions: the client gets them on the stream, a POST answers each question`,
        async () => {
            const session = await sessionOf(server, version, can);

            await onOtherWorkers(async () => {
                const answer = await session.call('book', { people: 3 });
                const workers = [of(answer)];
                const asked = [];
                const settled = [];
                const { response } = await session.follow(answer, {
                    async onMessage(message) {
                        if (message.method === COMPLETE) {
                            settled.push(message.params.elicitationId);
                            return;
                        }

                        asked.push(message);

                        const posted = await session.respond(message.id,
                                                             reply(message));

                        assert.equal(posted.status, 202);
                        workers.push(of(posted));
                    },
                });

                assert.deepEqual(JSON.parse(textOf(response.result)),
                                 expected(can));
                assert.deepEqual(asked.map(bare),
                    ROUNDS.flatMap((round) => Object.values(round(can))));

                // the module makes the elicitation id and announces its
                // completion

                const urls = asked.filter((m) => m.params?.mode === 'url');

                assert.equal(urls.length, can.elicitation?.url ? 1 : 0);
                assert.deepEqual(urls.map((m) => m.params.elicitationId),
                                 urls.map((m) => m.id));
                assert.deepEqual(settled, urls.map((m) => m.id));

                return workers;
            });
        });
}


test('2025-11-25, mcp_link on, backend has questions: the questions end the stream, the stream\'s URL accepts the answers',
     async () => {
    const session = await sessionOf(linked, '2025-11-25', ALL);

    await onOtherWorkers(async () => {
        let answer = await session.call('book', { people: 3 });
        const { id } = answer;
        const workers = [of(answer)];
        const settled = [];

        for (let round = 0; round < ROUNDS.length; round++) {
            const link = urlOf(answer);
            const { messages, response } = await rest(answer, id);
            const asked = messages.filter((m) => m.id !== undefined);

            assert.equal(response, undefined);
            assert.deepEqual(asked.map(bare),
                             Object.values(ROUNDS[round](ALL)));
            settled.push(...messages.filter((m) => m.method === COMPLETE));
            answer = await at(link, { method: 'POST', body: asked.map(
                (m) => ({ jsonrpc: '2.0', id: m.id, result: reply(m) })) });
            assert.equal(answer.status, 200);
            workers.push(of(answer));
        }

        const { messages, response } = await rest(answer, id);

        settled.push(...messages.filter((m) => m.method === COMPLETE));
        assert.equal(settled.length, 1);
        assert.deepEqual(JSON.parse(textOf(response.result)), expected(ALL));

        return workers;
    });
});


// The backend's state must not be readable, neither plain nor in base64.

function sealed(state) {
    assert.doesNotMatch(Buffer.from(state, 'base64url').toString('latin1'),
                        /"(round|got)":/);
    assert.doesNotMatch(state, /"(round|got)":/);
}


// Makes the requests of all rounds in turn; returns the result.

async function rounds(modern, args, seen = () => {}) {
    let more = {};

    for (;;) {
        const { result } = await modern.followed('tools/call',
            { name: 'book', arguments: args, ...more }, seen);

        if (result.resultType === 'complete') {
            return JSON.parse(textOf(result));
        }

        assert.equal(result.resultType, 'input_required');
        assert.equal(result.ttlMs, undefined);
        assert.equal(result.cacheScope, undefined);
        sealed(result.requestState);
        more = { inputResponses: replies(result.inputRequests),
                 requestState: result.requestState };
    }
}

class Asked extends Modern {
    async followed(method, params, seen = () => {}) {
        const answer = await this.request(method, params);
        const { messages, response, status } = await this.follow(answer);

        assert.deepEqual(messages, [], 'no request of the server');
        seen(answer, response);

        return { ...response, status };
    }
}


test('2026-07-28, backend has questions: the client gets them in an input_required result',
     async () => {
    for (const can of [ALL, { elicitation: {} }, { sampling: {}, roots: {} }]) {
        const modern = new Asked(server, { capabilities: can });

        await onOtherWorkers(async () => {
            const workers = [];
            const asked = [];

            assert.deepEqual(await rounds(modern, { people: 3 },
                (answer, { result }) => {
                    workers.push(of(answer));
                    asked.push(result.inputRequests);
                }), expected(can));
            assert.deepEqual(asked.slice(0, -1),
                             ROUNDS.map((round) => round(can)));

            return workers;
        });
    }
});


// The client repeats its request with all members that it has, so with the
// token of the last interim response, too.

test('2026-07-28, question after an interim response: the request with the answers and the resume token gets the result',
     async () => {
    const modern = new Asked(interim, {
        capabilities: { ...ALL, experimental: { resumeTokens: {} } } });
    const params = { name: 'late', arguments: {} };

    // Sends the request, and repeats it with the token of each interim response.

    async function last() {
        let result;

        while (({ result } = await modern.followed('tools/call', params),
                result.nextResumeToken))
        {
            params.resumeToken = result.nextResumeToken;
            gate.resolve();
        }

        return result;
    }

    const { inputRequests, requestState } = await last();

    assert.ok(params.resumeToken);
    params.inputResponses = replies(inputRequests);
    params.requestState = requestState;
    assert.deepEqual(JSON.parse(textOf(await last())), params.inputResponses);
});


test('2026-07-28, backend of a task has questions: the client gets them by tasks/get',
     async () => {
    for (const can of [ALL, { sampling: {}, roots: {} }]) {
        const client = new Tasks(server, { capabilities: can });

        await onOtherWorkers(async () => {
            const answer = await client.call('book_task', { people: 3 });
            const { response } = await client.follow(answer);
            const { taskId } = response.result;
            const workers = [of(answer)];

            for (const round of ROUNDS) {
                const { inputRequests } = await client.status(taskId,
                    'input_required');
                const asked = Object.entries(inputRequests);

                assert.deepEqual(Object.fromEntries(asked.map(([key, q]) =>
                    [key.replace(/#\d+$/, ''), q])), round(can));

                const posted = await client.ask('tasks/update', { taskId,
                    inputResponses: replies(inputRequests) });

                assert.equal(posted.response.error, undefined);
                workers.push(of(posted));
            }

            const { result } = await client.settled(taskId);

            assert.deepEqual(JSON.parse(textOf(result)), expected(can));

            return workers;
        });
    }
});


test('2026-07-28, client sends requestState back: -32602 if the state, the tool or an argument differs',
     async () => {
    const modern = new Asked(server, { capabilities: ALL });
    const params = { name: 'book', arguments: { a: 1, b: ['x', { c: 2 }] } };
    const { result } = await modern.followed('tools/call', params);
    const inputResponses = replies(result.inputRequests);
    const { requestState } = result;
    const again = (more) => modern.followed('tools/call',
        { ...params, inputResponses, requestState, ...more });

    // the same state is valid repeatedly, with arguments in any order

    for (const args of [params.arguments, { b: ['x', { c: 2 }], a: 1 }]) {
        const next = await again({ arguments: args });

        assert.equal(next.result.resultType, 'input_required');
        assert.notEqual(next.result.requestState, requestState);
    }

    const middle = Math.floor(requestState.length / 2);
    const changed = requestState.slice(0, middle)
        + (requestState[middle] === 'A' ? 'B' : 'A')
        + requestState.slice(middle + 1);
    const before = backend.calls.length;
    const errors = [];

    for (const more of [{ requestState: changed }, { requestState: '' },
                        { requestState: '{"round":3,"got":[]}' },
                        { arguments: { a: 2, b: ['x', { c: 2 }] } },
                        { name: 'busy' }])
    {
        const { status, error } = await again(more);

        assert.equal(status, 200);
        errors.push(error);
    }

    assert.deepEqual(errors, errors.map(() => errors[0]));
    assert.equal(errors[0].code, -32602);

    for (const more of [{ requestState: 1 }, { inputResponses: [] },
                        { inputResponses: { when: 1 } }])
    {
        assert.equal((await again(more)).error.code, -32602);
    }

    assert.equal(backend.calls.length, before, 'no backend was called');
});


test('2026-07-28, question whose capability the client did not declare: 400, -32021',
     async () => {
    const cases = [
        [form('When?'), {}, { elicitation: {} }],
        [url, { elicitation: {} }, { elicitation: { url: {} } }],
        [form('When?'), { elicitation: { url: {} } }, { elicitation: {} }],
        [sample(), { roots: {} }, { sampling: {} }],
        [sample(true), { sampling: {} }, { sampling: { tools: {} } }],
        [{ method: 'roots/list' }, {}, { roots: {} }],
    ];

    for (const [question, capabilities, requiredCapabilities] of cases) {
        const { status, error } = await new Asked(server, { capabilities })
            .followed('tools/call', { name: 'needs', arguments: { question } });

        assert.equal(status, 400);
        assert.equal(error.code, -32021);
        assert.deepEqual(error.data, { requiredCapabilities });

        const { result } = await new Asked(server, {
            capabilities: { ...capabilities, ...requiredCapabilities,
                            ...(question.method === 'elicitation/create'
                                && ALL) } })
            .followed('tools/call', { name: 'needs', arguments: { question } });

        assert.deepEqual(result.inputRequests, { q: question });
    }
});


// A client of 2026-07-28 chooses its own pauses.

test('2026-07-28, backend responds with input_required without questions: passed on to the client',
     async () => {
    const modern = new Asked(server);
    let more = {};
    let result;

    for (let i = 0; i < 4; i++) {
        ({ result } = await modern.followed('tools/call',
                                            { name: 'busy', ...more }));
        assert.equal(result.inputRequests, undefined);
        more = { requestState: result.requestState };
    }

    assert.equal(result.resultType, 'complete');
});


// For other clients the server calls the backend again, later each time.

test('2025-06-18, backend responds with input_required without questions: the backend is called again, after growing pauses',
     async () => {
    const session = await sessionOf(server, '2025-06-18', {});
    const times = JSON.parse(textOf(await session.tool('busy')));
    const pauses = times.slice(1).map((t, i) => t - times[i]);

    assert.deepEqual(pauses.map((ms, i) => ms >= 249 * 2 ** i),
                     pauses.map(() => true), pauses.join());
});


test('backend with an unknown resultType: -32603', async () => {
    const { error } = await new Asked(server).followed('tools/call',
                                                       { name: 'odd' });

    assert.equal(error.code, -32603);
    assert.match(await server.log(), /neither "complete" nor "input_required"/);
});
