// SPDX-License-Identifier: Apache-2.0

// The stream that a session opens by GET is the same at all nodes: the client
// opens it at one node, subscribes at a second one and resumes it at any node,
// also after a node has died. Messages are published at a third node.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OTHER, WORKERS, at, cuttable, joined, kill, node, together }
    from './lib/cluster.mjs';
import { Counting } from './lib/counting.mjs';
import { Redis, until } from './lib/redis.mjs';
import { upTo } from './lib/session.mjs';

const uri = 'test://watched-resource';

let tests = 0;


async function ends(answer) {
    while (await answer.message()) {
        // a message of another test
    }
}


// A session that listens at several nodes. Publications are numbered and must
// each arrive once; between nodes no order is promised, and other tests publish
// as well.

class Listening {
    static async start(fixtures) {
        const listening = new Listening();
        const session = await fixtures[0].session();

        listening.test = tests++;
        listening.twins = fixtures.map((fixture) => at(fixture, session));
        listening.published = 0;
        listening.read = new Set();

        return listening;
    }

    subscription(i, what) {
        return this.twins[i].response(`resources/${what}`, { uri });
    }

    async subscribe(i) {
        assert.deepEqual((await this.subscription(i, 'subscribe')).result, {});
    }

    async publish(i) {
        await this.twins[i].tool('publish', { message: {
            jsonrpc: '2.0', method: 'notifications/resources/updated',
            params: { uri, test: this.test, n: this.published++ } } });
    }

    // Opens the stream at node i. knows: resumes by the last event id. leave:
    // closes the current connection first. patient: repeats the request while
    // it gets 503, because a process may not have joined again yet.

    async open(i, { knows = true, leave = true, patient = false } = {}) {
        if (leave) {
            this.answer?.close();
        }

        this.answer = await until(async () => {
            const answer = await this.twins[i].get(knows ? this.lastId
                                                         : undefined);

            return patient && answer.status === 503 ? null : answer;
        });
        assert.equal(this.answer.status, 200);

        if (!this.lastId || !knows) {
            await this.answer.block();
        }

        this.lastId = this.answer.lastId;
    }

    // Reads until every publication has arrived. again: the node at which to
    // resume if the stream ends.

    async readAll({ again } = {}) {
        while (this.read.size < this.published) {
            const message = await this.answer.message();

            if (!message && again !== undefined) {
                await this.open(again);
                continue;
            }

            assert.ok(message, `ends after ${this.read.size} notifications`);

            if (message.params?.test === this.test) {
                assert.ok(message.params.n < this.published
                          && !this.read.has(message.params.n),
                          message.eventId);
                this.read.add(message.params.n);
                this.lastId = this.answer.lastId;
            }
        }
    }
}


describe('session streams', { concurrency: true }, () => {
    let redis, nodes;

    before(async () => {
        redis = await Redis.start();
        nodes = await together([
            node(redis.url), node(redis.url, { kind: OTHER }),
            node(redis.url)]);
    });

    after(async () => {
        await Promise.all((nodes ?? []).map((fixture) => fixture.stop()));
        await redis?.stop();
    });

    test('session stream opened at one node, resumed at another node: has the later notifications',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.open(0);
        await listening.subscribe(1);
        await listening.publish(1);
        await listening.readAll();
        listening.answer.close();
        await listening.publish(2);
        await listening.publish(1);
        await listening.open(2);
        await listening.readAll();
        await listening.publish(0);
        await listening.readAll();
        listening.answer.close();
    });

    test('session stream resumed without an event id: continues after the last event that the client read',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.open(1);
        await listening.subscribe(1);

        for (const i of upTo(6)) {
            await listening.publish(i % 3);
            await listening.readAll();
        }

        listening.answer.close();

        // Redis has the position of the last event that was read

        const [id, n] = listening.lastId.split('.');

        await until(async () =>
            await redis.command('HGET', `{mcp}:1:h:${id}`, 't') >= Number(n));
        await listening.publish(0);
        await listening.open(0, { knows: false });
        await listening.readAll();
        listening.answer.close();
    });

    test('client reads the session stream at each node in turn: each notification arrives once',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.open(0);
        await listening.subscribe(0);

        for (const i of upTo(12)) {
            await listening.publish(i % 3);
            await listening.publish((i + 1) % 3);
            await listening.open((i + 2) % 3, { leave: i % 2 === 0 });
            await listening.readAll();
        }

        listening.answer.close();
    });

    test('subscription at one node, resource updated at the same or another node: the notification arrives',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.open(0);

        for (const subscribed of upTo(3)) {
            for (const published of upTo(3)) {
                await listening.subscribe(subscribed);
                await listening.publish(published);
                await listening.readAll();
                await listening.subscription(subscribed, 'unsubscribe');
            }
        }

        listening.answer.close();
    });

    test('subscription at one node, then the session stream is opened at another node: the stream has the notification',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.subscribe(2);
        await listening.publish(1);
        await listening.open(0);
        await listening.readAll();
        listening.answer.close();
    });

    test('one GET and two subscriptions at three nodes create a session stream at once: one stream remains',
         async () => {
        for (const i of upTo(4)) {
            const listening = await Listening.start(nodes);

            await Promise.all([listening.open(i % 2), listening.subscribe(2),
                               listening.subscribe(1)]);

            for (const j of upTo(3)) {
                await listening.publish(j);
            }

            // of two streams that were created, one ends

            await listening.readAll({ again: 0 });
            listening.answer.close();
        }
    });

    test('session stream opened at three nodes in turn: older connections end, the newest gets notifications',
         async () => {
        const listening = await Listening.start(nodes);

        await listening.open(0);
        await listening.subscribe(0);

        const first = listening.answer;

        await listening.open(1, { leave: false });
        await ends(first);

        const second = listening.answer;

        await listening.open(2, { leave: false, knows: false });
        await ends(second);
        await listening.publish(0);
        await listening.readAll();
        listening.answer.close();
    });

    test('session deleted at another node: its stream ends', async () => {
        const listening = await Listening.start(nodes);

        await listening.open(0);
        await listening.open(1);
        assert.equal((await listening.twins[2].delete()).status, 204);
        await ends(listening.answer);
        await until(async () =>
            (await listening.twins[0].get(listening.lastId)).status === 404);
    });

    test('keys of session streams in Redis: all expire', async () => {
        assert.equal(await redis.endless(), '');
    });
});


test('node of a session stream dies: each notification arrives once',
     async (t) => {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const http = { mcp_cluster_node_timeout: '2s' };
    const nodes = await together([
        node(redis.url, { http }), node(redis.url, { kind: OTHER, http }),
        node(redis.url, { http })]);

    t.after(() => nodes[0].stop({ kills: true }));
    t.after(() => Promise.all(nodes.slice(1).map((n) => n.stop())));

    // the first stream is read at another node, the second is not read

    const all = [await Listening.start(nodes), await Listening.start(nodes)];

    for (const listening of all) {
        await listening.open(0);
        await listening.subscribe(1);
        await listening.publish(1);
        await listening.readAll();
    }

    await all[0].open(1);
    all[1].answer.close();
    await all[1].publish(2);
    await kill(nodes[0]);

    // no node has the streams now

    for (const i of [1, 2, 1]) {
        await all[0].publish(i);
        await all[1].publish(i);
    }

    await all[0].readAll();
    await all[1].subscribe(2);
    await all[1].open(2);
    await all[1].readAll();

    for (const listening of all) {
        await listening.open(1);
        await listening.publish(2);
        await listening.readAll();
        listening.answer.close();
    }
});


// The process that reads the messages of other nodes ends with a reload, or
// serves a call for longer. Heartbeats are minutes apart, so a new process that
// took over at its next heartbeat only would be too late for the test.

test('node reloads: its new processes get notifications of other nodes before their next heartbeat',
     async (t) => {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const http = { mcp_cluster_node_timeout: '10m', mcp_cluster_timeout: '10s' };
    const nodes = await together([
        node(redis.url, { http }), node(redis.url, { kind: OTHER, http })]);

    t.after(() => Promise.all(nodes.map((fixture) => fixture.stop())));

    const calls = await Promise.all(nodes.map(async (fixture) =>
        Counting.start(await fixture.session(), 6, 3)));

    for (const [i, fixture] of nodes.entries()) {
        await calls[i].read(3);
        await fixture.reload();
        await joined(fixture, 2 * WORKERS);
    }

    for (const i of [0, 1]) {
        const listening = await Listening.start(nodes);

        await listening.open(i, { patient: true });
        await listening.subscribe(i);
        await listening.publish(1 - i);

        // a process that is about to end may have accepted the connection: it
        // then ends the stream, and the client resumes

        await listening.readAll({ again: i });
        listening.answer.close();
        await calls[i].open(6);
        await calls[i].finish();
    }
});


describe('session streams, faults of Redis',
         { concurrency: true }, () => {
    test('Redis is unreachable: a new session stream gets 503, an existing one continues',
         async (t) => {
        const { redis, cut, fixture } = await cuttable(t);
        const listening = await Listening.start([fixture]);
        const late = await fixture.session();

        await listening.open(0);
        await listening.subscribe(0);
        await listening.publish(0);
        await listening.readAll();
        cut.refused = true;
        cut.drop();

        // a new stream is not begun without Redis, an existing one waits

        await until(async () => (await late.get()).status === 503);
        await listening.open(0);
        await listening.publish(0);
        cut.refused = false;
        await listening.readAll();
        listening.answer.close();
        assert.equal(await redis.endless(), '');
    });

    test('Redis is unreachable, mcp_cluster_sync off: a session stream gets notifications',
         async (t) => {
        const { cut, fixture } = await cuttable(t, { sync: 'off' });
        const listening = await Listening.start([fixture]);

        cut.refused = true;
        cut.drop();
        await listening.open(0);
        await listening.subscribe(0);
        await listening.publish(0);
        await listening.readAll();
        listening.answer.close();
    });

    test('Redis is emptied: the session stream continues at both nodes',
         async (t) => {
        const { redis, cut, fixture, words } = await cuttable(t);
        const other = await node(words, { kind: OTHER });

        t.after(() => other.stop());

        const listening = await Listening.start([fixture, other]);

        await listening.open(0);
        await listening.subscribe(1);
        await listening.publish(1);
        await listening.readAll();
        cut.refused = true;
        await redis.command('FLUSHALL');
        cut.drop();
        cut.refused = false;
        await until(async () => (await redis.command('KEYS', '*:t:*')).length);
        await listening.publish(0);
        await listening.readAll();
        await listening.open(1, { patient: true });
        await listening.publish(0);
        await listening.readAll();
        listening.answer.close();
    });
});
