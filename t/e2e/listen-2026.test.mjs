// SPDX-License-Identifier: Apache-2.0

// Subscriptions (2026-07-28, basic/patterns/subscriptions): acknowledged
// filters, notifications at every worker, and the result at the end; at a
// reload each of 1,000 subscriptions is notified of changed lists.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { many, settle, status } from './lib/load.mjs';
import { META, Modern } from './lib/modern.mjs';

// With these MPMs each subscription holds a thread.

const THREADS = SERVER === 'apache'
    && ['prefork', 'worker'].includes(process.env.FIXTURE_MPM);

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-listen-'));

after(() => fs.rm(dir, { recursive: true, force: true }));

const base = JSON.parse(await fs.readFile(
    `${root}/t/fixtures/catalog.json`, 'utf8'));
const tool = (name) => ({ name, inputSchema: { type: 'object' } });

const note = (method, params) => ({
    jsonrpc: '2.0', method: `notifications/${method}`, params });
const TOOLS = note('tools/list_changed');
const PROMPTS = note('prompts/list_changed');
const updated = (uri) => note('resources/updated', { uri });


// Subscribes and reads the acknowledgement; returns the answer with `honoured`.

async function listen(modern, notifications, options) {
    const answer = await modern.request('subscriptions/listen',
                                        { notifications }, options);

    assert.equal(answer.status, 200, await (answer.sse ? '' : answer.text()));

    const first = await answer.message();

    assert.equal(first.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(first.params._meta, { [META.subscription]: answer.id });

    return Object.assign(answer, { honoured: first.params.notifications });
}

// Returns the next message without its subscription id, which must be this
// subscription's.

async function nextMessage(answer) {
    const { method, params: { _meta: meta, ...params }, eventId }
        = await answer.message();

    assert.equal(eventId, undefined);
    assert.deepEqual(meta, { [META.subscription]: answer.id });

    return { method, params };
}

// Reads to the end: returns the methods of the messages; the last message must
// be the result.

async function rest(answer) {
    const messages = [];

    for (let message; (message = await answer.message());) {
        messages.push(message);
    }

    assert.equal(answer.ending, 'end');

    const { eventId, result, ...end } = messages.pop() ?? {};

    assert.equal(eventId, undefined);
    assert.deepEqual(end, { jsonrpc: '2.0', id: answer.id });
    assert.equal(result.resultType, 'complete');
    assert.equal(result._meta[META.subscription], answer.id);
    assert.equal(typeof result._meta[META.server].name, 'string');

    return messages.map(({ method, params }) => {
        assert.equal(params._meta[META.subscription], answer.id);
        return method;
    });
}


const server = await Fixture.use({ workers: 4,
                                   location: { mcp_keepalive: '1s' } });
const modern = new Modern(server);
const publish = (message) => modern.tool('publish', { message });


test('subscription with a filter: gets the notifications that the filter names',
     async () => {
    const uri = 'test://watched-resource';
    const answer = await listen(modern, {
        toolsListChanged: true, promptsListChanged: false,
        resourceSubscriptions: [uri] });

    assert.deepEqual(answer.honoured, { toolsListChanged: true,
                                        resourceSubscriptions: [uri] });

    await publish(PROMPTS);
    await publish(note('message', { level: 'error', data: 'a log message' }));
    await publish(updated('test://another'));
    await publish(updated(uri));
    await publish(TOOLS);
    assert.deepEqual(await nextMessage(answer), {
        method: 'notifications/resources/updated', params: { uri } });
    assert.deepEqual(await nextMessage(answer), { method: TOOLS.method,
                                            params: {} });
    answer.close();
});


test('subscription whose request id is a string or a number: each notification has this id',
     async () => {
    for (const id of ['a "b" \u00e9', '', 0, -7, 9007199254740991, '7']) {
        const answer = await listen(modern, { toolsListChanged: true },
                                    { id });

        await publish(TOOLS);
        assert.equal((await nextMessage(answer)).method, TOOLS.method);
        answer.close();
    }
});


test('published message with _meta: a subscriber gets it with its own subscription id', async () => {
    const answer = await listen(modern, { toolsListChanged: true });

    await publish(note('tools/list_changed', {
        _meta: { a: { b: 1 }, [META.subscription]: 'another' } }));

    const { params } = await answer.message();

    assert.deepEqual(params._meta, { [META.subscription]: answer.id,
                                     a: { b: 1 } });
    answer.close();
});


test('subscriptions at every worker: each gets a published message', async () => {
    const n = THREADS ? 24 : 200;
    const answers = [];
    const workers = new Set();

    await many(n, 16, async () => {
        const answer = await listen(modern, { promptsListChanged: true });

        answers.push(answer);
        workers.add(answer.headers['x-worker']);
    });

    assert.ok(workers.size > 1);
    await publish(PROMPTS);

    for (const answer of answers) {
        assert.equal((await nextMessage(answer)).method, PROMPTS.method);
        answer.close();
    }

    const left = await settle(() => status(server), { listeners: 0,
                                                      subscriptions: 0 });

    assert.equal(left.listeners, 0);
    assert.equal(left.subscriptions, 0);
});


test('subscription to lists that the catalog lacks: these lists are not acknowledged',
     async () => {
    const file = `${dir}/tools.json`;

    await fs.writeFile(file, JSON.stringify({ tools: [tool('a')] }));

    const few = new Modern(await Fixture.use({
        location: { mcp_catalog: file } }));
    const answer = await listen(few, {
        toolsListChanged: true, promptsListChanged: true,
        resourcesListChanged: true, resourceSubscriptions: ['a:b'] });

    assert.deepEqual(answer.honoured, { toolsListChanged: true });
    answer.close();
});


test('subscription with an invalid filter: -32602', async () => {
    const uris = Array.from({ length: 1001 }, (_, i) => `test://${i}`);

    for (const notifications of [undefined, null, [], true,
                                 { toolsListChanged: 'true' },
                                 { promptsListChanged: 1 },
                                 { resourcesListChanged: null },
                                 { resourceSubscriptions: 'a:b' },
                                 { resourceSubscriptions: [1] },
                                 { resourceSubscriptions: uris }])
    {
        const error = await modern.refused('subscriptions/listen',
                                           { notifications });

        assert.equal(error.code, -32602, JSON.stringify(notifications)
            ?.slice(0, 80));
    }

    const most = await listen(modern, {
        resourceSubscriptions: uris.slice(1) });

    await publish(updated(uris[1000]));
    assert.deepEqual((await nextMessage(most)).params, { uri: uris[1000] });
    most.close();
});


test('subscriptions above mcp_quota_listeners: 429 until one ends',
     async () => {
    const few = new Modern(await Fixture.use({
        location: { mcp_quota_key: 'address', mcp_quota_listeners: '2' } }));
    const first = await listen(few, { toolsListChanged: true });
    const second = await listen(few, { toolsListChanged: true });
    const error = await few.refused('subscriptions/listen',
        { notifications: { toolsListChanged: true } });

    assert.deepEqual([error.status, error.code], [429, -32603]);
    first.close();

    // once the server has noticed the closed connection

    for (;;) {
        const answer = await few.request('subscriptions/listen', {
            notifications: { toolsListChanged: true } });

        if (answer.status === 200) {
            answer.close();
            break;
        }

        await answer.text();
    }

    second.close();
});


test('idle subscription: comments keep it open', async () => {
    const answer = await listen(modern, {});

    assert.deepEqual(answer.honoured, {});

    for (let i = 0; i < 2; i++) {
        assert.deepEqual(await answer.block(), { comment: '' });
    }

    answer.close();
});


test('MCPHold 1s, no notification: the server ends the subscription with a result', {
    skip: !THREADS && 'none is held' }, async () => {
    const held = new Modern(await Fixture.use({
        http: { apache: 'MCPHold 1s' } }));
    const answer = await listen(held, { toolsListChanged: true });

    assert.deepEqual(await rest(answer), []);
});


// Sessions are notified as well. Two endpoints, one of which changes.

test('reload with changed lists: each subscription is notified, then ends',
     async () => {
    const n = THREADS ? 24 : 1000;
    const files = [`${dir}/one.json`, `${dir}/two.json`];
    const write = (i, more, prompts = base.prompts) => fs.writeFile(files[i],
        JSON.stringify({ ...base, tools: [...base.tools, ...more.map(tool)],
                         prompts }));

    await write(0, []);
    await write(1, []);

    const fixture = await Fixture.use({
        workers: 4,
        location: { mcp_catalog: files[0], mcp_quota_key: 'off' },

        // new children need not wait for the end of old ones

        http: process.env.FIXTURE_MPM === 'worker'
            ? { apache: 'MaxRequestWorkers 250' } : {},
        server: {
            nginx: `location = /two { mcp mcp; mcp_catalog ${files[1]};
                                      mcp_backend @tools;
                                      mcp_quota_key off; }`,
            apache: `<Location "/two">
                         SetHandler mcp
                         MCPCatalog ${files[1]}
                         MCPBackend /mcp-backend/tools
                         MCPQuotaKey off
                     </Location>`,
        },
    });
    const clients = [new Modern(fixture), new Modern(fixture)];
    const filters = [
        { toolsListChanged: true },
        { promptsListChanged: true, resourcesListChanged: true },
        { toolsListChanged: true, promptsListChanged: true,
          resourceSubscriptions: ['test://watched-resource'] },
    ];
    const answers = [];
    const workers = new Set();

    await many(n, 32, async (i) => {
        const filter = filters[i % 3];
        const place = Math.floor(i / 3) % 2;
        const answer = await listen(clients[place], filter, {
            id: i % 2 ? i : `s${i}`, path: place ? '/two' : '/mcp' });

        answers.push({ answer, filter, place });
        workers.add(answer.headers['x-worker']);
    });

    assert.equal((await status(fixture)).listeners, n);
    assert.ok(workers.size > 1);

    const session = await fixture.session();
    const older = await session.get();

    await older.block();

    // one endpoint has a new tool; its prompts change only in the order of
    // members

    await write(0, ['new'], base.prompts.map((prompt) =>
        Object.fromEntries(Object.entries(prompt).reverse())));
    await fixture.reload();

    for (const { answer, filter, place } of answers) {
        assert.deepEqual(await rest(answer),
                         place === 0 && filter.toolsListChanged
                             ? [TOOLS.method] : [],
                         `${answer.id} at ${place}`);
    }

    // the session is notified before its stream ends or when it returns

    let change = await older.message();

    if (change === null) {
        const back = await session.get(older.lastId);

        change = await back.message();
        back.close();
    }

    assert.equal(change.method, TOOLS.method);
    older.close();

    assert.deepEqual((await settle(() => status(fixture), { listeners: 1 }))
        .subscriptions, 0);

    // new subscriptions get only the next change

    const next = await listen(clients[0], filters[2]);

    await write(0, ['new'], []);
    await fixture.reload();
    assert.deepEqual(await rest(next), [PROMPTS.method]);
    await fixture.settled();
});


test('graceful shutdown: a subscription ends with a result', async () => {
    const fixture = await Fixture.use();
    const answer = await listen(new Modern(fixture),
                                { toolsListChanged: true });

    process.kill(await fixture.master(),
                 SERVER === 'nginx' ? 'SIGQUIT' : 'SIGWINCH');
    assert.deepEqual(await rest(answer), []);

    // a server that is stopped meanwhile logs open sockets

    await fixture.exited;
});


// The publisher's process serves 1,024 listeners in one step.

test('1200 subscriptions at one worker: each gets two published notifications, in order',
     { skip: THREADS && 'each subscription holds a thread' }, async () => {
    const server = await Fixture.use({ workers: 1, zone: '128m', location: {
        mcp_quota_key: 'off', mcp_max_session_streams: 'off' } });
    const session = await server.session();
    const modern = new Modern(server);
    const answers = [];

    await many(1200, 64, async () => {
        answers.push(await listen(modern, { toolsListChanged: true,
                                            promptsListChanged: true }));
    });
    await session.tool('publish', { message: TOOLS });
    await session.tool('publish', { message: PROMPTS });

    for (const answer of answers) {
        assert.equal((await nextMessage(answer)).method, TOOLS.method);
        assert.equal((await nextMessage(answer)).method, PROMPTS.method);
        answer.close();
    }
});
