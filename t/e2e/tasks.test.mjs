// SPDX-License-Identifier: Apache-2.0

// Tasks (extension io.modelcontextprotocol/tasks): each state at every worker,
// and tasks whose client, worker or owner is gone.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { request as http } from 'node:http';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { textOf, upTo } from './lib/session.mjs';
import { EXTENSION, TASKS, Tasks, pause, stable } from './lib/tasks.mjs';

const WORKERS = 4;

// ms between two clocks that are read at the same time

const SKEW = 100;

const said = (text) => ({ content: [{ type: 'text', text }] });
const form = (message) => ({ method: 'elicitation/create', params: {
    message, requestedSchema: { type: 'object', properties: {
        name: { type: 'string' } } } } });
const asks = (inputRequests, requestState) => ({
    resultType: 'input_required', inputRequests, requestState });

// Gates of the calls, by their argument "key".

const gates = new Map();

function gate(key) {
    if (!gates.has(key)) {
        let open;
        const promise = new Promise((resolve) => { open = resolve; });

        gates.set(key, { promise, open, aborted: false,
                         begun: Promise.withResolvers() });
    }

    return gates.get(key);
}

const held = ({ signal, message: { params } }, more = '') => {
    const it = gate(`${params.arguments.key}${more}`);

    signal.addEventListener('abort', () => {
        it.aborted = true;
        it.open();
    });
    it.begun.resolve();

    return it.promise;
};

const progress = ({ x, message: { params } }, n, message) => x.write(
    `data: ${JSON.stringify({ jsonrpc: '2.0',
        method: 'notifications/progress', params: {
            progressToken: params._meta.progressToken, progress: n,
            message } })}\n\n`);

const finish = (x, result) => {
    x.write(`data: ${JSON.stringify(result)}\n\n`);
    x.end();
};

const post = (url, message) => new Promise((resolve, reject) => {
    const req = http(url, { method: 'POST', headers: {
        'Content-Type': 'application/json' } }, (res) => {
        res.resume();
        res.on('end', () => resolve(res.statusCode));
    });

    req.on('error', reject);
    req.end(JSON.stringify(message));
});

const LONG = 'é'.repeat(5 * 1024 * 512);

const tools = {
    async work(call) {
        await held(call);
        return said('done');
    },

    // Sends n progress messages, then waits at its gate.

    async steps(call) {
        const { n = 1, ms = 0 } = call.message.params.arguments;

        call.x.head(200, 'text/event-stream');

        for (let i = 1; i <= n && !call.signal.aborted; i++) {
            await progress(call, i, `step ${i}`);

            if (ms) {
                await pause(ms);
            }
        }

        await held(call);
        finish(call.x, said('done'));
    },

    async odd(call) {
        await held(call);
        return '{"content":[ {"type":"text","text":"a\\u0062\\/"}],'
               + '"structuredContent":{"n":1.50,"e":1E2}, "isError":false}';
    },

    async breaks(call) {
        await held(call);
        return { jsonrpc: '2.0', id: call.message.id,
                 error: { code: -5, message: 'as asked', data: { a: [1] } } };
    },

    async two(call) {
        const { params } = call.message;
        const { round = 0 } = JSON.parse(params.requestState ?? '{}');

        if (round === 0) {
            await held(call);
        }

        return round === 2 ? said(JSON.stringify(params.inputResponses))
            : asks({ a: form(`A${round}?`), b: form(`B${round}?`) },
                   JSON.stringify({ round: round + 1 }));
    },

    async big(call) {
        await held(call);
        return said(LONG);
    },

    async late(call) {
        const { message: { id }, params, x } = call;

        x.head(202);
        x.end();
        await gate(call.message.params.arguments.key).promise;

        for (let tries = 0; tries < 50; tries++) {
            if (await post(params.MCP_PUBLISH_URL,
                           { jsonrpc: '2.0', id, result: said('late') })
                !== 503)
            {
                return;
            }

            await pause(50);
        }
    },
};

const backend = await scripted((call) => tools[
    call.message.params.name.replace(/^(always|later|keyed|joined)_/, '')](call));

const named = (name, more) => ({ name, inputSchema: { type: 'object' },
                                 ...more });
const options = {
    workers: WORKERS, kills: true, threads: 64,
    backends: { scripted: backend.address },
    location: {
        mcp_catalog: await catalog({ tools: [
            ...Object.keys(tools).map((name) => named(name)),
            ...Object.keys(tools).map((name) => named(`always_${name}`,
                { 'x-mcp-task': 'always' })),
            named('later_steps', { 'x-mcp-task': 2 }),
            named('later_work', { 'x-mcp-task': 60 }),
            named('keyed_work', { 'x-mcp-join': 'key' }),
            named('joined_work', { 'x-mcp-join': 'key',
                                   'x-mcp-task': 'always' }),
        ] }),
        mcp_backend: 'scripted',
        mcp_task_after: '100ms',
        mcp_stream_after: '100ms',
        mcp_max_message: '16m',
    },
};
const server = await Fixture.use(options);
const tasks = new Tasks(server, { capabilities: { elicitation: {} } });
const META = { meta: { progressToken: 'p' } };

after(() => gates.forEach((it) => it.open()));

let keys = 0;
const key = () => `key-${++keys}`;


test('slow call: becomes a task that each worker shows as working, then as completed',
     async () => {
    const k = key();
    const before = Date.now();
    const task = await tasks.create('work', { key: k });

    assert.equal(task.status, 'working');
    assert.equal(task.ttlMs, 3600000);
    assert.equal(task.pollIntervalMs, 500);
    assert.deepEqual(task.messages, []);
    assert.ok(Date.parse(task.createdAt) >= before, task.createdAt);
    assert.ok(Date.parse(task.createdAt) <= Date.now() + SKEW);

    const working = await tasks.everywhere(task.taskId, WORKERS);

    assert.equal(working.status, 'working');
    gate(k).open();
    await tasks.settled(task.taskId);

    const done = await tasks.everywhere(task.taskId, WORKERS);

    assert.equal(done.status, 'completed');
    assert.equal(textOf(done.result), 'done');
    assert.equal(done.createdAt, task.createdAt);
    assert.ok(done.lastUpdatedAt > done.createdAt);
});


test('quick call: answered without a task', async () => {
    const k = key();

    gate(k).open();

    const result = await tasks.started('later_work', { key: k });

    assert.equal(result.resultType, 'complete');
    assert.equal(result.taskId, undefined);
});


test('progress of a call that becomes a task: sent on the stream at first, shown as statusMessage of the task later',
     async () => {
    const k = key();
    const task = await tasks.create('later_steps', { key: k, n: 3 }, META);

    assert.deepEqual(task.messages.map((m) => m.params.message),
                     ['step 1', 'step 2', 'step 3']);
    assert.equal((await tasks.everywhere(task.taskId, WORKERS)).status,
                 'working');
    gate(k).open();
    assert.equal((await tasks.settled(task.taskId)).status, 'completed');

    const l = key();
    const first = await tasks.create('always_steps', { key: l, n: 5 }, META);

    await tasks.until(first.taskId, (t) => t.statusMessage === 'step 5');
    assert.equal((await tasks.everywhere(first.taskId, WORKERS)).statusMessage,
                 'step 5');
    gate(l).open();
    assert.equal((await tasks.settled(first.taskId)).statusMessage, undefined);
});


test('failed task: has the error of its backend', async () => {
    const k = key();
    const { taskId } = await tasks.create('always_breaks', { key: k });

    gate(k).open();
    await tasks.settled(taskId);

    const { status, statusMessage, error, result }
        = await tasks.everywhere(taskId, WORKERS);

    assert.equal(status, 'failed');
    assert.equal(statusMessage, 'as asked');
    assert.deepEqual(error, { code: -5, message: 'as asked',
                              data: { a: [1] } });
    assert.equal(result, undefined);
});


test('result of a task: the same bytes as the result of a call', async () => {
    const k = key();
    const { taskId } = await tasks.create('always_odd', { key: k });

    gate(k).open();
    await tasks.settled(taskId);

    // the bytes of the result, also if the call became a stream

    const body = async (answer) => await answer.text()
        || answer.blocks.map(({ data }) => data).join('');
    const task = await body(await tasks.request('tasks/get', { taskId }));
    const plain = await body(await new Modern(server).call('odd', { key: k }));
    const result = plain.slice(plain.indexOf('"result":') + 9, -1);

    assert.match(result, /^\{"content":\[ \{"type":"text","text":"a\\u0062\\\//);
    assert.ok(task.includes(`"result":${result},"resultType"`)
              || task.includes(`"result":${result}`), task);
});


test('questions of a task, answered in parts at different workers: the task completes',
     async () => {
    const k = key();
    const { taskId } = await tasks.create('two', { key: k });

    gate(k).open();

    const seen = new Set();

    for (const round of [0, 1]) {
        const task = await tasks.status(taskId, 'input_required');
        const [a, b] = Object.keys(task.inputRequests);

        assert.deepEqual(task.inputRequests,
                         { [a]: form(`A${round}?`), [b]: form(`B${round}?`) });
        [a, b].forEach((name) => {
            assert.ok(!seen.has(name), name);
            seen.add(name);
        });

        // an answered question is gone at once, at every worker

        await tasks.update(taskId, { [a]: { action: 'accept',
                                            content: { name: 'x' } },
                                     other: { ignored: true } });
        assert.deepEqual(Object.keys((await tasks.everywhere(taskId, WORKERS))
            .inputRequests), [b]);
        await tasks.update(taskId, { [a]: { action: 'decline' } });
        assert.equal((await tasks.get(taskId)).status, 'input_required');
        await tasks.update(taskId, { [b]: { action: 'cancel' } });

        const { status, inputRequests } = await tasks.get(taskId);

        assert.ok(status !== 'input_required' || !(b in inputRequests));
    }

    const { result } = await tasks.settled(taskId);

    assert.deepEqual(JSON.parse(textOf(result)), {
        a: { action: 'accept', content: { name: 'x' } },
        b: { action: 'cancel' } });
    await tasks.update(taskId, { 'b#2': { action: 'cancel' } });
});


test('a hundred answers to a task\'s questions at once: each question is answered once',
     async () => {
    const k = key();
    const { taskId } = await tasks.create('always_two', { key: k });

    gate(k).open();

    for (const round of upTo(2)) {
        const { inputRequests } = await tasks.until(taskId,
            (t) => t.status === 'input_required'
                   && Object.values(t.inputRequests)[0].params.message
                      === `A${round}?`);

        await Promise.all(upTo(50).flatMap((i) => Object.keys(inputRequests)
            .map((name) => tasks.update(taskId, { [name]: {
                action: 'accept', content: { name: String(i) } } }))));
    }

    assert.equal((await tasks.settled(taskId)).status, 'completed');
});


test('cancelled task: the backend is aborted, the task is kept', async () => {
    const k = key();
    const { taskId } = await tasks.create('work', { key: k });

    await tasks.cancel(taskId);
    await tasks.status(taskId, 'cancelled');
    await gate(k).promise;
    assert.ok(gate(k).aborted);
    assert.equal((await tasks.everywhere(taskId, WORKERS)).status, 'cancelled');
    await tasks.cancel(taskId);
    await tasks.update(taskId, { x: {} });
    assert.equal((await tasks.get(taskId)).status, 'cancelled');
});


test('backend responds with 202: the call is a task until the late response',
     async () => {
    const k = key();
    const task = await tasks.create('late', { key: k });

    assert.deepEqual(task.messages, []);
    assert.equal((await tasks.everywhere(task.taskId, WORKERS)).status,
                 'working');
    gate(k).open();
    assert.equal(textOf((await tasks.settled(task.taskId)).result), 'late');
});


test('task with a result of 5 MB: tasks/get and a subscriber get it whole',
     async () => {
    const k = key();
    const { taskId } = await tasks.create('always_big', { key: k });
    const listener = await tasks.listen(taskId);

    gate(k).open();

    const { result } = await tasks.settled(taskId);

    assert.equal(textOf(result), LONG);
    assert.deepEqual((await tasks.everywhere(taskId, 2, { width: 4 }))
        .result, result);
    assert.equal(textOf((await listener.next()).result), LONG);
    listener.close();
});


test('tasks/* request of a client that did not declare tasks, or with a wrong task id: -32021 or -32602',
     async () => {
    const k = key();
    const { taskId } = await tasks.create('work', { key: k });
    const other = new Modern(server);
    const errors = [];

    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        for (const id of [taskId, 'x']) {
            const { status, code, data } = await other.refused(method,
                { taskId: id, inputResponses: {} },
                { headers: { 'Mcp-Name': id } });

            assert.equal(status, 400);
            assert.equal(code, -32021);
            assert.deepEqual(data, { requiredCapabilities: EXTENSION });
        }

        const middle = Math.floor(taskId.length / 2);
        const changed = taskId.slice(0, middle)
            + (taskId[middle] === 'A' ? 'B' : 'A') + taskId.slice(middle + 1);

        for (const id of ['x', changed, taskId.slice(1)]) {
            errors.push(await tasks.refused(method,
                { taskId: id, inputResponses: {} },
                { headers: { 'Mcp-Name': id } }));
        }

        assert.equal((await tasks.refused(method, { taskId },
            { headers: { 'Mcp-Name': 'another' } })).code, -32020);
    }

    assert.deepEqual(errors, errors.map(() => errors[0]));
    assert.equal(errors[0].status, 200);
    assert.equal(errors[0].code, -32602);
    gate(k).open();
});


test('call of a client that did not declare tasks: the client gets a stream',
     async () => {
    const session = await server.session();
    const k = key();

    const answer = await session.call('always_work', { key: k });

    assert.ok(answer.sse);
    gate(k).open();

    const { response } = await session.follow(answer);

    assert.equal(textOf(response.result), 'done');
});


test('server/discover: announces tasks', async () => {
    const { result } = await tasks.response('server/discover');

    assert.deepEqual(result.capabilities.extensions, { [TASKS]: {} });
    assert.equal(result.capabilities.tasks, undefined);
});


test('notifications of a task to its subscribers: each has the same content as a response to tasks/get', async () => {
    const k = key();
    const { taskId } = await tasks.create('always_two', { key: k });
    const listeners = await Promise.all(upTo(6).map(() =>
        tasks.listen(taskId, 'unknown')));
    const current = async () => {
        const said = await Promise.all(listeners.map((l) => l.next()));
        const now = stable(await tasks.get(taskId));

        delete now.worker;
        said.forEach((task) => assert.deepEqual(task, now));

        return now;
    };

    listeners.forEach((l) => assert.deepEqual(l.honoured, [taskId]));
    gate(k).open();

    const { inputRequests } = await current();
    const [a] = Object.keys(inputRequests);

    await tasks.update(taskId, { [a]: { action: 'accept' } });
    assert.deepEqual(Object.keys((await current()).inputRequests).length, 1);
    await tasks.cancel(taskId);
    assert.equal((await current()).status, 'cancelled');
    listeners.forEach((l) => l.close());

    const { code } = await new Modern(server).refused('subscriptions/listen',
        { notifications: { taskIds: [taskId] } });

    assert.equal(code, -32021);
});


test('client leaves during a call: the call is aborted unless it has become a task',
     async () => {
    const k = key();
    const answer = await tasks.call('always_work', { key: k });
    const { response } = await tasks.follow(answer);

    answer.close();
    gate(k).open();

    const again = new Tasks(server);

    assert.equal((await again.settled(response.result.taskId)).status,
                 'completed');

    // before the client has the task, the call ends with its connection

    const l = key();
    const lost = tasks.call('later_work', { key: l },
                            { lose: gate(l).begun.promise });

    await assert.rejects(lost);
    await gate(l).promise;
    assert.ok(gate(l).aborted);
});


const executed = (k) => backend.calls
    .filter(({ message }) => message.params.arguments.key === k).length;

test('call repeated with its idempotency key: the client gets the same task', async () => {
    for (const name of ['keyed_work', 'joined_work']) {
        const k = key();
        const options = { meta: { idempotencyKey: k } };
        const { taskId, createdAt } = await tasks.create(name, { key: k },
                                                         options);
        const same = async (status) => {
            const all = await Promise.all(upTo(8).map(() =>
                tasks.create(name, { key: k }, options)));

            all.forEach((task) => assert.deepEqual(
                [task.taskId, task.createdAt], [taskId, createdAt]));

            return all.every((task) => task.status === status);
        };

        assert.ok(await same('working'));
        assert.equal((await tasks.refused('tools/call',
            { name, arguments: { key: k, other: 1 } }, options)).code, -32602);

        // a client without the capability gets the response

        const plain = new Modern(server);
        const answer = await plain.call(name, { key: k }, options);

        assert.ok(answer.sse);
        gate(k).open();
        assert.equal(textOf((await plain.follow(answer)).response.result),
                     'done');
        await tasks.settled(taskId);

        // other nodes have the end a moment later

        while (!await same('completed')) {
            assert.ok(process.env.FIXTURE_NODES);
        }

        assert.equal(textOf((await tasks.settled(taskId)).result), 'done');
        assert.equal(executed(k), 1);
    }
});


test('response with a task is lost, call repeated with its idempotency key: the call is executed once',
     async () => {
    const k = key();
    const options = { meta: { idempotencyKey: k } };

    await tasks.call('joined_work', { key: k },
                     { ...options, lose: gate(k).begun.promise })
        .then((answer) => answer.close(), () => undefined);

    const { taskId } = await tasks.create('joined_work', { key: k }, options);

    gate(k).open();
    assert.equal(textOf((await tasks.settled(taskId)).result), 'done');
    assert.equal(executed(k), 1);
});


test('polls while a task works: its progress never decreases', async () => {
    const k = key();
    const { taskId } = await tasks.create('always_steps',
        { key: k, n: 200, ms: 10 }, META);
    const steps = [];
    const end = Date.now() + 2000;
    let polls = 0;

    await Promise.all(upTo(16).map(async () => {
        for (let last = 0; Date.now() < end; polls++) {
            const { status, statusMessage } = await tasks.get(taskId);
            const step = Number(statusMessage?.split(' ')[1] ?? 0);

            assert.equal(status, 'working');
            assert.ok(step >= last, `${step} after ${last}`);
            last = step;
            steps.push(step);
        }
    }));

    assert.ok(polls > 100, `${polls}`);
    assert.ok(new Set(steps).size > 20, `${new Set(steps).size}`);
    await tasks.until(taskId, (t) => t.statusMessage === 'step 200');
    gate(k).open();
    assert.equal((await tasks.settled(taskId)).status, 'completed');
});


test('reload: tasks continue', async () => {
    const fixture = await Fixture.start(options);

    try {
        const client = new Tasks(fixture, { capabilities: { elicitation: {} } });
        const [k, l] = [key(), key()];
        const one = await client.create('always_work', { key: k });
        const two = await client.create('always_two', { key: l });

        await fixture.reload();
        assert.equal((await client.get(one.taskId)).status, 'working');
        gate(k).open();
        assert.equal((await client.settled(one.taskId)).status, 'completed');
        gate(l).open();

        for (const i of upTo(2)) {
            const { inputRequests } = await client.until(two.taskId,
                (t) => t.status === 'input_required'
                       && Object.values(t.inputRequests)[0].params.message
                          === `A${i}?`);

            await client.update(two.taskId, Object.fromEntries(
                Object.keys(inputRequests).map((name) =>
                    [name, { action: 'accept', content: {} }])));
        }

        assert.equal((await client.settled(two.taskId)).status, 'completed');
    } finally {
        await fixture.stop(options);
    }
});


test('mcp_task_ttl has passed: tasks/get gets -32602, the backend is aborted',
     async () => {
    const ttl = 3000;
    const fixture = await Fixture.start({ ...options, location: {
        ...options.location, mcp_task_ttl: `${ttl}ms` },
        allow: /mcp_task_ttl|MCPTaskTTL/ });

    try {
        const client = new Tasks(fixture);
        const [k, l] = [key(), key()];
        const runs = await client.create('always_work', { key: k });
        const over = await client.create('always_work', { key: l });

        assert.equal(runs.ttlMs, ttl);
        gate(l).open();
        await client.settled(over.taskId);

        // polls do not prolong the task

        for (const { taskId, createdAt } of [runs, over]) {
            const end = Date.parse(createdAt) + ttl;
            let refused;

            while (!refused) {
                const { response } = await client.ask('tasks/get', { taskId });

                refused = response.error;
                assert.ok(Date.now() < end + 20000);
            }

            assert.equal(refused.code, -32602);
            assert.ok(Date.now() >= end - SKEW);

            for (const method of ['tasks/update', 'tasks/cancel']) {
                assert.equal((await client.refused(method,
                    { taskId, inputResponses: {} })).code, -32602);
            }
        }

        await gate(k).promise;
        assert.ok(gate(k).aborted);
    } finally {
        await fixture.stop(options);
    }
});


test('worker is killed: its tasks fail, tasks of other workers continue', async () => {
    const fixture = await Fixture.start(options);

    try {
        const client = new Tasks(fixture, { capabilities: { elicitation: {} } });
        const mine = [];

        for (const i of upTo(8)) {
            const answer = await client.call(i % 2 ? 'always_two'
                                                   : 'always_work',
                                             { key: key() });
            const { response } = await client.follow(answer);

            mine.push({ ...response.result, key: `key-${keys}`,
                        owner: Number(answer.headers['x-worker']) });
        }

        const victim = mine[0].owner;

        process.kill(victim, 'SIGKILL');

        for (const { taskId, owner, key: k } of mine) {
            if (owner === victim) {
                const { status, error } = await client.settled(taskId, 20000);

                assert.equal(status, 'failed');
                assert.equal(error.code, -32603);
                continue;
            }

            assert.equal((await client.get(taskId)).status, 'working');
            await client.cancel(taskId);
            await client.status(taskId, 'cancelled');
            gate(k).open();
        }
    } finally {
        gates.forEach((it) => it.open());
        await fixture.stop(options);
    }
});
