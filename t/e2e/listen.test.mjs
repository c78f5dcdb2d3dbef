// SPDX-License-Identifier: Apache-2.0

// The stream that a session opens by GET, and the publish endpoint.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';
import { settle, status } from './lib/load.mjs';
import { request } from './lib/wire.mjs';

const server = await Fixture.use({ workers: 4,
                                   location: { mcp_close_after: 'off' } });
const session = await server.session();

const CHANGED = { jsonrpc: '2.0',
                  method: 'notifications/tools/list_changed' };


test('published list_changed: reaches every listener, at every worker',
     async () => {
    const listeners = [];
    const workers = new Set();

    // until two workers have listeners: the kernel chooses the worker of a
    // connection

    while (listeners.length < 12
           || (workers.size === 1 && listeners.length < 500)) {
        const more = await Promise.all(upTo(12).map(
            async () => (await server.session()).get()));

        listeners.push(...more);
        more.forEach((l) => workers.add(l.headers['x-worker']));
    }

    assert.ok(listeners.every((l) => l.status === 200 && l.sse));
    assert.ok(workers.size > 1);
    await Promise.all(listeners.map((l) => l.block()));
    await session.tool('publish', { message: CHANGED });

    for (const listener of listeners) {
        assert.equal((await listener.message()).method, CHANGED.method);
        listener.close();
    }
});


test('listener resumed by event id: gets the later messages', async () => {
    const other = await server.session();
    const listener = await other.get();
    const first = await listener.block();

    assert.equal(first.data, '');
    await other.tool('publish', { message: CHANGED });

    const { eventId } = await listener.message();

    listener.close();

    // published while there is no client

    await other.tool('publish', { message: {
        jsonrpc: '2.0', method: 'notifications/prompts/list_changed' } });
    await other.tool('publish', { message: {
        jsonrpc: '2.0', method: 'notifications/resources/list_changed' } });

    const resumed = await other.get(eventId);
    const methods = [(await resumed.message()).method,
                     (await resumed.message()).method];

    // notifications that different nodes publish arrive in any order

    assert.deepEqual(process.env.FIXTURE_NODES ? methods.sort() : methods, [
        'notifications/prompts/list_changed',
        'notifications/resources/list_changed']);
    resumed.close();
});


test('updated resource: only its subscribers are notified', async () => {
    const uri = 'test://watched-resource';
    const updated = { jsonrpc: '2.0',
                      method: 'notifications/resources/updated',
                      params: { uri } };
    const subscriber = await server.session();
    const bystander = await server.session();
    const subscribed = await subscriber.get();
    const uninterested = await bystander.get();

    await subscribed.block();
    await uninterested.block();
    await subscriber.response('resources/subscribe', { uri });
    await session.tool('publish', { message: updated });
    assert.deepEqual((await subscribed.message()).params, { uri });

    // the next message of the other listener is not the update

    await subscriber.response('resources/unsubscribe', { uri });
    await session.tool('publish', { message: updated });
    await session.tool('publish', { message: CHANGED });
    assert.equal((await subscribed.message()).method, CHANGED.method);
    assert.equal((await uninterested.message()).method, CHANGED.method);
    subscribed.close();
    uninterested.close();
});


test('log messages of a call: not sent on the session\'s GET stream', async () => {
    const other = await server.session();
    const listener = await other.get();

    await listener.block();
    await other.follow(await other.call('test_tool_with_logging'));
    await other.tool('publish', { message: CHANGED });
    assert.equal((await listener.message()).method, CHANGED.method);
    listener.close();
});


test('backend responds with 202, then publishes messages: the client gets them', async () => {
    for (const n of [0, 1, 5]) {
        const { messages, response } = await session.follow(
            await session.call('detach', { n }));

        assert.deepEqual(counted(messages), upTo(n));
        assert.equal(textOf(response.result), `detached ${n}`);
    }
});


test('backend responds with 202, then publishes all messages at once: the client gets them',
     async () => {
    for (const as of ['batch', 'ndjson', 'sse']) {
        const { messages, response } = await session.follow(
            await session.call('detach', { n: 3, as }));

        assert.deepEqual(counted(messages), upTo(3), as);
        assert.equal(textOf(response.result), 'detached 3');
    }
});


test('backend responds with 202, client leaves and resumes: it gets the messages published later',
     async () => {
    const answer = await session.call('detach', { n: 3, gate: 'detached' });

    for (let i = 0; i < 2; i++) {
        await answer.message();
    }

    const last = answer.blocks.filter((b) => b.id)
        .find((b) => b.data && JSON.parse(b.data).params.message === '1').id;

    answer.close();
    await session.open('detached');

    const { messages, response } = await session.follow(
        Object.assign(await session.get(last), { id: answer.id }));

    assert.deepEqual(counted(messages), [2]);
    assert.equal(textOf(response.result), 'detached 3');
});


test('POST to the publish endpoint without a valid token: 4xx', async () => {
    const url = (await session.tool('env')).structuredContent.MCP_PUBLISH_URL;
    const path = new URL(url).pathname + new URL(url).search;
    const knock = async (where) => (await request(server.port, {
        path: where, headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(CHANGED) })).status;
    const wrong = path.slice(0, -6)
        + (path.at(-6) === 'A' ? 'B' : 'A') + path.slice(-5);

    for (const where of ['/publish', '/publish/', '/publish/nonsense', wrong]) {
        const status = await knock(where);

        assert.ok(status >= 400 && status < 500, `${status}: ${where}`);
    }
});


test('listener without a client: freed after mcp_max_wait', async () => {
    const forgetful = await Fixture.use({ location: { mcp_max_wait: '1s' } });
    const listener = await (await forgetful.session()).get();

    await listener.block();
    assert.equal((await status(forgetful)).listeners, 1);
    listener.close();

    const { listeners, subscriptions, streams_expired: expired }
        = await settle(() => status(forgetful), { listeners: 0 });

    assert.deepEqual({ listeners, subscriptions, expired },
                     { listeners: 0, subscriptions: 0, expired: 1 });
});
