// SPDX-License-Identifier: Apache-2.0

// Tasks at nodes of both servers in turn: each request of a client goes to
// another node than the one before.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { OTHER, cuttable, kill, node, together } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Redis, until } from './lib/redis.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { textOf } from './lib/session.mjs';
import { Tasks } from './lib/tasks.mjs';
import { request } from './lib/wire.mjs';

const form = (message) => ({ method: 'elicitation/create', params: {
    message, requestedSchema: { type: 'object', properties: {} } } });
const said = (text) => ({ content: [{ type: 'text', text }] });

const gates = new Map();
let keys = 0;

const key = () => `key-${++keys}`;

function gate(of) {
    if (!gates.has(of)) {
        gates.set(of, Promise.withResolvers());
    }

    return gates.get(of);
}

// The tools: one waits at a gate of the test, one sends progress, one asks
// questions.

const backend = await scripted(async ({ x, message, signal }) => {
    const { name, arguments: args, inputResponses,
            _meta: meta } = message.params;

    signal.addEventListener('abort', () => gate(args.key).resolve('aborted'));

    if (name === 'steps') {
        x.head(200, 'text/event-stream');
        await x.write(`data: ${JSON.stringify({ jsonrpc: '2.0',
            method: 'notifications/progress', params: {
                progressToken: meta.progressToken, progress: 1,
                message: 'one' } })}\n\n`);
        await gate(args.key).promise;
        x.write(`data: ${JSON.stringify(said('stepped'))}\n\n`);
        x.end();
        return undefined;
    }

    if (name === 'asks') {
        return inputResponses ? said(JSON.stringify(inputResponses))
            : { resultType: 'input_required', requestState: 's',
                inputRequests: { a: form('A?'), b: form('B?') } };
    }

    return said(await gate(args.key).promise);
});

const redis = await Redis.start();

after(() => redis.stop());

const LOCATION = {
    mcp_catalog: await catalog({ tools: ['work', 'steps', 'asks'].map((name) =>
        ({ name, inputSchema: { type: 'object' }, 'x-mcp-task': 'always' })) }),
    mcp_backend: 'scripted',
    mcp_stream_after: '100ms',
};

const start = (kind, http) => node(redis.url, { kind, http,
    location: LOCATION, backends: { scripted: backend.address } });

const nodes = await together([SERVER, OTHER].map((kind) => start(kind)));

after(() => Promise.all(nodes.map((fixture) => fixture.stop())));
after(() => gates.forEach(({ resolve }) => resolve('over')));


// Returns a client whose requests go to the nodes in turn.

function client(servers = nodes, first = 0) {
    let turn = first;

    return new Tasks(servers[0], { capabilities: { elicitation: {} },
        send: (options) => request(servers[turn++ % servers.length].port,
                                   options) });
}


describe('a task', { concurrency: true }, () => {
    for (const first of [0, 1]) {
        test(`task created at node ${first}: each node has the same state`,
             async () => {
            const k = key();
            const tasks = client(nodes, first);
            const { taskId } = await tasks.create('work', { key: k });

            // other nodes have the task as soon as its client does

            for (let i = 0; i < 4; i++) {
                assert.equal((await tasks.get(taskId)).status, 'working');
            }

            gate(k).resolve('done');

            for (let i = 0; i < 4; i++) {
                const { status, result } = await tasks.settled(taskId);

                assert.equal(status, 'completed');
                assert.equal(textOf(result), 'done');
            }
        });
    }

    test('progress of a task: each node shows the message of the progress as the statusMessage',
         async () => {
        const k = key();
        const tasks = client();
        const { taskId } = await tasks.create('steps', { key: k },
                                              { meta: { progressToken: 'p' } });

        for (let i = 0; i < 4; i++) {
            await tasks.until(taskId, (task) => task.statusMessage === 'one');
        }

        gate(k).resolve();
        assert.equal(textOf((await tasks.settled(taskId)).result), 'stepped');
    });

    test('questions of a task, answered in parts at different nodes: the task completes',
         async () => {
        const tasks = client();
        const { taskId } = await tasks.create('asks', { key: key() });
        const asked = (task) => Object.keys(task.inputRequests ?? {});
        const first = await tasks.until(taskId, (task) =>
            task.status === 'input_required');
        const [a, b] = asked(first);

        assert.deepEqual(first.inputRequests, { [a]: form('A?'),
                                                [b]: form('B?') });
        await tasks.update(taskId, { [a]: { action: 'decline' }, x: {} });
        await tasks.until(taskId, (task) => asked(task).join() === b);
        await tasks.until(taskId, (task) => asked(task).join() === b);
        await tasks.update(taskId, { [b]: { action: 'cancel' } });

        const { result } = await tasks.settled(taskId);

        assert.deepEqual(JSON.parse(textOf(result)), {
            a: { action: 'decline' }, b: { action: 'cancel' } });
    });

    test('task cancelled at another node: the backend is aborted', async () => {
        const k = key();
        const tasks = client();
        const { taskId } = await tasks.create('work', { key: k });

        await tasks.cancel(taskId);
        assert.equal(await gate(k).promise, 'aborted');
        await tasks.status(taskId, 'cancelled');
        await tasks.status(taskId, 'cancelled');
    });

    test('tasks/get of an altered task id at another node: -32602', async () => {
        const k = key();
        const { taskId } = await client().create('work', { key: k });
        const { response } = await client(nodes, 1).ask('tasks/get', {
            taskId: `${taskId.slice(0, -1)}${taskId.endsWith('A') ? 'B'
                                                                  : 'A'}` });

        assert.equal(response.error.code, -32602);
        gate(k).resolve('done');
    });
});


test('node dies: its completed tasks are kept, its working tasks fail',
     async () => {
    const http = { mcp_cluster_node_timeout: '2s' };
    const [dying, there] = await together([start(SERVER, http),
                                           start(OTHER, http)]);
    const [k, l] = [key(), key()];
    const tasks = client([dying]);
    const survivor = client([there]);
    const done = await tasks.create('work', { key: k });
    const going = await tasks.create('steps', { key: l },
                                     { meta: { progressToken: 'p' } });

    gate(k).resolve('done');
    await tasks.settled(done.taskId);
    await survivor.until(going.taskId, (task) => task.statusMessage === 'one');
    await kill(dying);
    assert.equal(textOf((await survivor.settled(done.taskId)).result), 'done');

    const { error } = await survivor.settled(going.taskId, 60000);

    assert.equal(error.code, -32603);
    assert.equal(textOf((await survivor.settled(done.taskId)).result), 'done');
    await dying.stop({ kills: true });
    await there.stop();
});


test('Redis is emptied: tasks/get at another node gets 503, never -32602',
     async (t) => {
    const { redis: own, cut, fixture } = await cuttable(t, {
        location: LOCATION, backends: { scripted: backend.address } });
    const there = await node(own.url, { kind: OTHER, location: LOCATION,
        backends: { scripted: backend.address } });

    t.after(() => there.stop());

    const k = key();
    const { taskId } = await client([fixture]).create('work', { key: k });
    const tasks = client([there]);

    cut.refused = true;
    cut.drop();
    await own.command('FLUSHALL');

    for (const method of ['tasks/get', 'tasks/cancel']) {
        assert.equal((await tasks.ask(method, { taskId })).status, 503);
    }

    cut.refused = false;
    await until(async () =>
        (await tasks.ask('tasks/get', { taskId })).status === 200);
    gate(k).resolve('done');
    assert.equal(textOf((await tasks.settled(taskId)).result), 'done');
});


test('task of a node that is cut off from Redis: tasks/get at another node gets 503',
     async (t) => {
    const { redis: own, cut, fixture } = await cuttable(t, {
        location: LOCATION, backends: { scripted: backend.address } });
    const there = await node(own.url, { kind: OTHER, location: LOCATION,
        backends: { scripted: backend.address } });

    t.after(() => there.stop());
    cut.refused = true;
    cut.drop();

    const k = key();
    const { taskId } = await client([fixture]).create('work', { key: k });
    const tasks = client([there]);

    for (const method of ['tasks/get', 'tasks/cancel']) {
        assert.equal((await tasks.ask(method, { taskId })).status, 503);
    }

    cut.refused = false;
    await until(async () =>
        (await tasks.ask('tasks/get', { taskId })).status === 200);
    gate(k).resolve('done');
    assert.equal(textOf((await tasks.settled(taskId)).result), 'done');
});


test('keys of tasks in Redis: all expire', async () => {
    assert.equal(await redis.endless(), '');
});
