// SPDX-License-Identifier: Apache-2.0

// A call of one node, read at others by Last-Event-ID: each event arrives once,
// in order, also with faults of Redis.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OTHER, at, cuttable, kill, node, together } from './lib/cluster.mjs';
import { Counting } from './lib/counting.mjs';
import { at as get, pause, urlOf } from './lib/held-calls.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Redis, until } from './lib/redis.mjs';
import { assertCounted, counted, textOf } from './lib/session.mjs';

describe('a call', { concurrency: true }, () => {
    let redis, here, there;

    before(async () => {
        redis = await Redis.start();
        [here, there] = await Promise.all([SERVER, OTHER].map((kind) =>
            node(redis.url, { kind, location: {
                nginx: 'client_max_body_size 4m;',
                apache: 'MCPMaxBody 4m' } })));
    });

    after(async () => {
        await Promise.all([here?.stop(), there?.stop()]);
        await redis?.stop();
    });

    test('call resumed at another node: each event arrives once', async () => {
        const session = await here.session();
        const counting = await Counting.start(session, 20, 3);

        await counting.read(3);
        await counting.resume(at(there, session));
        await counting.open(20);
        await counting.finish();
    });

    test('call resumed at another node after its end: each event arrives once',
         async () => {
        const session = await here.session();
        const counting = await Counting.start(session, 20, 3);

        await counting.read(3);
        counting.answer.close();
        await counting.open(20);
        await counting.resume(at(there, session), { leave: false });
        await counting.finish();
    });

    test('client reads the stream of a call at two nodes in turn: each event arrives once',
         async () => {
        const session = await here.session();
        const remote = at(there, session);
        const counting = await Counting.start(session, 60, 1);

        for (let i = 0; i < 20; i++) {
            await counting.open(3 * i + 3);
            await counting.read(3);
            await counting.resume(i % 2 ? session : remote,
                                  { leave: i % 3 !== 0 });
        }

        await counting.finish();
    });

    test('call resumed at another node: the older connection ends',
         async () => {
        const session = await here.session();
        const counting = await Counting.start(session, 9, 3);
        const first = counting.answer;

        await counting.read(3);
        await counting.resume(at(there, session), { leave: false });
        assert.equal(await first.message(), null);

        const second = counting.answer;

        await counting.open(6);
        await counting.read(3);
        await counting.resume(session, { leave: false });
        assert.equal(await second.message(), null);
        await counting.open(9);
        await counting.finish();
    });

    test('call of 2000 messages, resumed at another node: all messages arrive',
         async () => {
        const session = await here.session();
        const counting = await Counting.start(session, 2000, 1);

        await counting.read(1);
        await counting.resume(at(there, session));
        await counting.open(2000);
        await counting.finish();
    });

    test('call with messages of 2.5 MB, resumed at another node: all messages arrive',
         async () => {
        const session = await here.session();
        const gate = `cluster ${process.pid} long`;
        const size = 2500000;

        await session.open(gate, 1);

        const answer = await session.call('count', { n: 3, gate, size });
        const first = await answer.message();

        assert.ok(first.params.message.length >= size);
        answer.close();
        await session.open(gate);

        const resumed = Object.assign(
            await at(there, session).get(answer.lastId), { id: answer.id });
        const { messages, response } = await session.follow(resumed);

        assert.deepEqual(messages.map(({ params }) => params.progress), [2, 3]);
        assert.equal(textOf(response.result), 'counted to 3');
    });

    test('questions of a call, answered at two nodes in turn: the call continues', async () => {
        const session = await here.session({
            capabilities: { elicitation: {} } });
        const remote = at(there, session);
        const answer = await session.call('ask', { rounds: 4 });
        const nodes = [remote, session];
        let posts = 0;

        const { response } = await session.follow(answer, {
            async onMessage(message) {
                const posted = await nodes[posts++ % 2].respond(message.id,
                    { action: 'accept', content: { value: 'y' } });

                assert.equal(posted.status, 202);
            },
        });

        assert.equal(textOf(response.result), 'asked 4 times: y');
        assert.equal(posts, 4);
    });

    test('client reads and answers a question at another node: the call continues there',
         async () => {
        const session = await here.session({
            capabilities: { elicitation: {} } });
        const remote = at(there, session);
        const answer = await session.call('ask', { rounds: 1 });

        assert.equal((await answer.message()).method, 'elicitation/create');
        answer.close();

        const resumed = Object.assign(
            await remote.get(answer.lastId.replace(/\d+$/, '0')),
            { id: answer.id });

        assert.equal(resumed.status, 200);

        const { response } = await remote.follow(resumed, {
            async onMessage(message) {
                const posted = await remote.respond(message.id,
                    { action: 'accept', content: { value: 'z' } });

                assert.equal(posted.status, 202);
            },
        });

        assert.equal(textOf(response.result), 'asked 1 times: z');
    });

    // More than a node queue in Redis may hold.

    test('answer of 1.5 MB to a question: 503 at another node, accepted at the call\'s node',
         async () => {
        const session = await here.session({
            capabilities: { elicitation: {} } });
        const value = 'y'.repeat(1500000);
        const answer = await session.call('ask', { rounds: 1 });
        const { id } = await answer.message();
        const say = (by) => by.respond(id, { action: 'accept',
                                             content: { value } });

        assert.equal((await say(at(there, session))).status, 503);
        assert.equal((await say(session)).status, 202);

        const { response } = await session.follow(answer);

        assert.equal(textOf(response.result), `asked 1 times: ${value}`);
    });

    test('resume by another session at another node: 404', async () => {
        const session = await here.session();
        const other = await here.session();
        const counting = await Counting.start(session, 6, 3);

        await counting.read(3);

        const refused = await at(there, other).get(counting.lastId);

        assert.equal(refused.status, 404);
        await counting.open(6);
        await counting.finish();
    });

    test('keys of calls in Redis: all expire', async () => {
        assert.equal(await redis.endless(), '');
    });
});


describe('a node', { concurrency: true }, () => {
    test('node dies: its calls end with their events, then -32603',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const http = { mcp_cluster_node_timeout: '2s' };
        const [dying, there] = await together([
            node(redis.url, { http }),
            node(redis.url, { kind: OTHER, http })]);

        t.after(() => there.stop());
        t.after(() => dying.stop({ kills: true }));

        const session = await dying.session();
        const read = await Counting.start(session, 20, 5);
        const unread = await Counting.start(session, 20, 5);

        await read.read(5);
        await unread.read(5);
        unread.answer.close();

        const remote = at(there, session);

        await read.resume(remote);
        await kill(dying);

        // one stream is read meanwhile, the other one later

        for (const counting of [read, unread]) {
            if (counting === unread) {
                await counting.resume(remote);
            }

            for (let m; (m = await counting.answer.message());) {
                counting.take(m);
            }

            assertCounted(counted(counting.messages), 5);
            assert.equal(counting.response, undefined);
            assert.equal(counting.error.code, -32603);
        }
    });
});


describe('a call, faults of Redis', { concurrency: true }, () => {
    test('Redis is unreachable for a time: the events of a call wait until Redis is reachable',
         async (t) => {
        const { cut, fixture } = await cuttable(t);
        const session = await fixture.session();
        const counting = await Counting.start(session, 6, 3);

        await counting.read(3);
        cut.refused = true;
        cut.drop();
        await counting.open(6);
        cut.refused = false;
        await counting.finish();
    });

    test('Redis answers late: a stream begins without event ids, and has them after Redis has answered',
         async (t) => {

        // after mcp_cluster_timeout, the call would wait for a new connection

        const { cut, fixture } = await cuttable(t, {
            http: { mcp_cluster_timeout: '60s' } });
        const session = await fixture.session();
        const counting = await Counting.start(session, 6, 6, () => cut.hold());

        await until(() => counting.answer.status === 200);
        assert.equal(counting.answer.lastId, undefined);
        cut.release();
        await counting.finish();
        assert.notEqual(counting.lastId, undefined);
    });

    test('Redis is paused, mcp_link on: a stream begins only after the pause',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const [fixture, other] = await Promise.all([SERVER, OTHER].map((kind) =>
            node(redis.url, { kind, location: { mcp_link: 'on' } })));

        t.after(() => Promise.all([fixture.stop(), other.stop()]));

        const session = await fixture.session();
        const gate = 'a URL';

        await session.open(gate, 3);
        redis.pause();

        let begun = false;
        const call = session.call('count', { n: 6, gate })
            .finally(() => { begun = true; });

        await pause(250);
        assert.equal(begun, false);
        redis.resume();

        const answer = await call;
        const url = urlOf(answer);

        answer.close();
        url.port = other.port;

        const counting = new Counting();

        Object.assign(counting, { session, gate, n: 6, messages: [],
                                  id: answer.id,
                                  answer: await get(url) });
        assert.equal(counting.answer.status, 200);
        await counting.read(3);
        await counting.open(6);
        await counting.finish();
    });

    test('Redis is emptied: the owner of a stream replicates it again',
         async (t) => {
        const { redis, cut, fixture, words } = await cuttable(t);
        const session = await fixture.session();
        const counting = await Counting.start(session, 9, 3);

        await counting.read(3);
        cut.refused = true;
        await redis.command('FLUSHALL');
        cut.drop();
        cut.refused = false;
        await counting.open(6);
        await counting.read(3);

        const other = await node(words, { kind: OTHER });

        t.after(() => other.stop());
        await counting.resume(at(other, session));
        await counting.open(9);
        await counting.finish();
    });

    test('Redis is unreachable for longer than mcp_cluster_outage_timeout: a call gets 503',
         async (t) => {
        const { cut, fixture } = await cuttable(t, {
            http: { mcp_cluster_outage_timeout: '2s' } });
        const session = await fixture.session();

        cut.refused = true;
        cut.drop();

        const refused = await until(async () => {
            const answer = await session.call('echo', { text: 'hello' });

            return answer.status === 200 ? null : answer;
        });

        assert.equal(refused.status, 503);
        assert.equal(refused.headers['retry-after'], '1');
        cut.refused = false;
        await until(async () => (await session.call('echo',
            { text: 'hello' })).status === 200);
    });

    test('Redis is unreachable, mcp_cluster_sync off: a call does not wait for Redis',
         async (t) => {
        const { cut, fixture } = await cuttable(t, { sync: 'off' });
        const session = await fixture.session();

        cut.refused = true;
        cut.drop();

        const counting = await Counting.start(session, 6);

        await counting.finish();
    });
});
