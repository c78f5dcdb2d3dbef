// SPDX-License-Identifier: Apache-2.0

// Changes that one node broadcasts to all nodes: the end of a session, its log
// level, a cancellation, notifications. One node runs the other server, one
// joins later.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OTHER, at, cuttable, node, together } from './lib/cluster.mjs';
import { Modern } from './lib/modern.mjs';
import { Redis, until } from './lib/redis.mjs';


// Returns the listener's next message of this method, because other tests
// publish as well.

async function next(listener, method) {
    let message;

    do {
        message = await listener.message();
        assert.ok(message, `the stream ends before ${method}`);
    } while (message.method !== method);

    return message;
}

async function ping(session) {
    return (await session.request('ping')).status;
}


describe('a session of several nodes', { concurrency: true }, () => {
    let redis, here, there;

    before(async () => {
        redis = await Redis.start();
        [here, there] = await together([
            node(redis.url), node(redis.url, { kind: OTHER })]);
    });

    after(async () => {
        await Promise.all([here?.stop(), there?.stop()]);
        await redis?.stop();
    });

    test('session deleted at one node: 404 at each node, its calls are aborted',
         async () => {
        const session = await here.session();
        const remote = at(there, session);

        assert.equal(await ping(remote), 200);

        const answer = await session.call('count', { n: 5, gate: 'ends',
                                                     tag: 'ends' });

        await session.running('ends', 'running', 1);

        assert.equal((await remote.delete()).status, 204);
        assert.equal(await ping(remote), 404);
        await until(async () => await ping(session) === 404);

        // the session's calls at other nodes are aborted

        const other = await here.session();

        assert.equal((await other.running('ends', 'aborted', 1)).aborted, 1);
        await answer.ended;
    });

    test('log level set at one node: used at each node', async () => {
        const session = await here.session();
        const remote = at(there, session);

        const logs = async (of) => (await of.follow(
            await of.call('test_tool_with_logging'))).messages.length;

        assert.ok(await logs(session) > 0);
        await remote.response('logging/setLevel', { level: 'emergency' });
        assert.equal(await logs(remote), 0);
        await until(async () => await logs(session) === 0);
    });

    test('call cancelled at another node: the backend is aborted', async () => {
        const session = await here.session();
        const remote = at(there, session);
        const answer = await session.call('count', { n: 5, gate: 'cancelled',
                                                     tag: 'cancelled' });

        await session.running('cancelled', 'running', 1);
        await answer.block();
        assert.equal((await remote.notify('notifications/cancelled',
                                        { requestId: answer.id })).status,
                     202);
        assert.equal((await session.running('cancelled', 'aborted', 1)).aborted,
                     1);
        assert.equal(await answer.message(), null);
    });

    test('notification published at another node: the session stream has it',
         async () => {
        const session = await here.session();
        const remote = at(there, session);
        const listener = await session.get();
        const uri = 'test://watched-resource';

        await listener.block();
        await session.response('resources/subscribe', { uri });

        for (const message of [
            { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
            { jsonrpc: '2.0', method: 'notifications/resources/updated',
              params: { uri: 'test://another' } },
            { jsonrpc: '2.0', method: 'notifications/resources/updated',
              params: { uri } }])
        {
            await remote.tool('publish', { message });
        }

        await next(listener, 'notifications/tools/list_changed');

        const { params, eventId } = await next(listener,
            'notifications/resources/updated');

        assert.equal(params.uri, uri);
        listener.close();

        // a later publication, read at the node of the stream

        await remote.tool('publish', { message: {
            jsonrpc: '2.0', method: 'notifications/prompts/list_changed' } });

        const resumed = await session.get(eventId);

        await next(resumed, 'notifications/prompts/list_changed');
        resumed.close();
        await session.delete();
    });

    test('notification published at another node: the stream of subscriptions/listen has it',
         async () => {
        const modern = new Modern(here);
        const answer = await modern.request('subscriptions/listen', {
            notifications: { toolsListChanged: true } });

        await answer.message();
        await new Modern(there).tool('publish', { message: {
            jsonrpc: '2.0', method: 'notifications/tools/list_changed' } });
        await next(answer, 'notifications/tools/list_changed');
        answer.close();
    });

    test('session deleted before a node joins: 404 at the new node',
         async (t) => {
        const session = await here.session();

        assert.equal((await session.delete()).status, 204);

        const late = await node(redis.url);

        t.after(() => late.stop());
        await until(async () => await ping(at(late, session)) === 404);
    });

    test('keys of sessions in Redis: all expire', async () => {
        assert.equal(await redis.endless(), '');
    });
});


describe('a session, faults of Redis', { concurrency: true }, () => {
    test('Redis does not answer: DELETE of a session gets 503, the session continues',
         async (t) => {
        const { cut, fixture } = await cuttable(t);
        const session = await fixture.session();

        cut.hold();

        const answer = await session.delete();

        assert.equal(answer.status, 503);
        assert.equal(answer.headers['retry-after'], '1');
        assert.equal(await ping(session), 200);

        // once Redis answers, DELETE succeeds

        cut.release();
        await until(async () => (await session.delete()).status === 204);
        assert.equal(await ping(session), 404);
    });

    test('Redis is unreachable, mcp_cluster_sync off: DELETE ends the session at the node that gets the request',
         async (t) => {
        const { cut, fixture } = await cuttable(t, { sync: 'off' });
        const session = await fixture.session();

        cut.refused = true;
        cut.drop();
        assert.equal((await session.delete()).status, 204);
        assert.equal(await ping(session), 404);
    });
});
