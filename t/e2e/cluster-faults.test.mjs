// SPDX-License-Identifier: Apache-2.0

// Faults of Redis, or of the connection to it, during a call that is read at
// two nodes: each event arrives once, in order, or the call ends with an error.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { describe, test } from 'node:test';
import { OTHER, WORKERS, at, cuttable, joined, kill, node, together }
    from './lib/cluster.mjs';
import { Counting } from './lib/counting.mjs';
import { Cut } from './lib/cut.mjs';
import { Redis, until } from './lib/redis.mjs';
import { assertCounted, counted } from './lib/session.mjs';


// Starts a node that reaches Redis through a proxy, and one that does not.

async function pair(t, { http } = {}) {
    const { redis, cut, fixture: here } = await cuttable(t, { http });
    const there = await node(redis.url, { kind: OTHER, http });

    t.after(() => there.stop());

    return { redis, cut, here, there };
}

async function clusterOf(fixture) {
    const answer = await fetch(new URL('/status?format=json', fixture.url));

    return (await answer.json()).cluster;
}


describe('a call whose stream is read at two nodes', { concurrency: true }, () => {
    test('node is cut off from Redis for longer than mcp_cluster_node_timeout: its call ends with -32603',
         async (t) => {
        const { cut, here, there } = await pair(t, {
            http: { mcp_cluster_node_timeout: '2s' } });
        const session = await here.session();
        const counting = await Counting.start(session, 20, 5);

        await counting.read(5);
        await counting.resume(at(there, session));
        cut.refused = true;
        cut.drop();
        await counting.open(10);

        // the stream ends at the other node, after all events that Redis had

        for (let message; (message = await counting.answer.message());) {
            counting.take(message);
        }

        assertCounted(counted(counting.messages), 5);
        assert.equal(counting.error.code, -32603);

        // the node notices that it was declared dead

        cut.refused = false;
        await until(async () => (await clusterOf(here)).deaths > 0);
        await until(async () => (await clusterOf(here)).state === 'member');
        await until(async () => (await clusterOf(here)).streams_fenced > 0);
    });

    test('node\'s password becomes invalid in Redis: events wait until Redis accepts the password again',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const user = (...words) => redis.command('ACL', 'SETUSER', 'one', ...words);
        const password = `${redis.dir}/password`;

        await user('on', '~*', '+@all', '>before');
        await fs.writeFile(password, 'before\n');

        const here = await node(`${redis.url} user=one `
                                + `password_file=${password}`);

        t.after(() => here.stop());

        const there = await node(redis.url, { kind: OTHER });

        t.after(() => there.stop());

        const session = await here.session();
        const counting = await Counting.start(session, 6, 2);

        await counting.read(2);
        await user('resetpass', '>after');
        await redis.command('CLIENT', 'KILL', 'USER', 'one');
        await until(async () => /\berror\b.*WRONGPASS/.test(await here.log()));
        await counting.open(6);

        // the stream's events wait, because no other node could resume them

        await until(async () => (await clusterOf(here)).lag.events >= 4);
        assert.equal(counting.answer.queue.length, 0);
        assert.equal((await clusterOf(here)).refused, null);

        await user('>before');
        await counting.finish();
    });

    test('Redis answers late: a resume at another node gets 503, never 404',
         async (t) => {
        const { cut, fixture: there, redis } = await cuttable(t, {
            kind: OTHER, http: { mcp_cluster_timeout: '10s' } });
        const here = await node(redis.url);

        t.after(() => here.stop());

        const session = await here.session();
        const remote = at(there, session);
        const counting = await Counting.start(session, 6, 3);

        await counting.read(3);
        cut.hold();

        const late = await remote.get(counting.lastId);

        assert.equal(late.status, 503);
        assert.equal(late.headers['retry-after'], '1');
        cut.release();
        await counting.resume(remote);
        await counting.open(6);
        await counting.finish();
    });

    for (const [what, empty] of [
        ['is emptied', ({ redis }) => redis.command('FLUSHALL')],
        ['is restarted without its keys', async ({ redis, there }) => {
            await redis.kill();
            await redis.begin();
            await joined(there, 2 * WORKERS);
        }],
    ]) {
        test(`Redis ${what}: a resume at another node gets 503, never 404`,
             async (t) => {
            const nodes = await pair(t);
            const { cut, here, there } = nodes;
            const session = await here.session();
            const remote = at(there, session);
            const counting = await Counting.start(session, 6, 3);

            await counting.read(3);
            counting.answer.close();

            // the node of the call cannot replicate its stream again yet

            cut.refused = true;
            cut.drop();
            await empty(nodes);

            for (let i = 0; i < 3; i++) {
                const refused = await remote.get(counting.lastId);

                assert.equal(refused.status, 503);
                assert.equal(refused.headers['retry-after'], '1');
            }

            cut.refused = false;
            await counting.resume(remote, { leave: false });
            await counting.open(6);
            await counting.finish();
        });
    }

    test('Redis fails over without its last writes: each event arrives once',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const replica = await Redis.start({ of: redis });

        t.after(() => replica.stop());

        const cut = await Cut.start(redis.port);

        t.after(() => cut.stop());

        const words = `redis://127.0.0.1:${cut.port}`;
        const [here, there] = await together([
            node(words), node(words, { kind: OTHER })]);

        t.after(() => Promise.all([here.stop(), there.stop()]));

        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);

        const [stream, last] = counting.lastId.split('.');

        await until(async () => await replica.command('HGET',
            `{mcp}:1:h:${stream}`, 'l') === last);
        await replica.command('REPLICAOF', 'NO', 'ONE');

        // the next master never gets the events that the client has now

        await counting.open(6);
        await counting.read(3);
        await redis.kill();
        cut.target = replica.port;
        cut.drop();
        await counting.resume(at(there, session));
        await counting.open(12);
        await counting.finish();
    });

    test('node dies, Redis fails over without the last writes: a stream read at another '
         + 'node ends, a resume gets 404', async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const replica = await Redis.start({ of: redis });

        t.after(() => replica.stop());

        const cuts = [await Cut.start(redis.port), await Cut.start(redis.port)];

        t.after(() => Promise.all(cuts.map((cut) => cut.stop())));

        const [here, there, third] = await Promise.all([0, 1, 0].map((n, i) =>
            node(`redis://127.0.0.1:${cuts[n].port}`, {
                kind: i ? OTHER : undefined,
                http: { mcp_cluster_node_timeout: '2s' } })));

        t.after(() => Promise.all([there.stop(), third.stop()]));

        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);
        const remote = at(there, session);

        await counting.read(3);
        await counting.resume(remote);

        const [stream, last] = counting.lastId.split('.');
        const has = (what) => replica.command('HGET', `{mcp}:1:h:${stream}`,
                                              what);

        await until(async () => await has('l') === last);
        await replica.command('REPLICAOF', 'NO', 'ONE');
        await counting.open(6);
        await counting.read(3);
        await Promise.all([redis.kill(), kill(here)]);
        cuts[1].refused = true;
        cuts.forEach((cut) => {
            cut.target = replica.port;
            cut.drop();
        });

        // the third node takes the stream over and ends it before the client's
        // last event

        await until(async () => Number(await has('l')) === Number(last) + 1);
        cuts[1].refused = false;
        assert.equal(await counting.answer.message(), null);
        assert.equal(await until(async () => {
            const { status } = await remote.get(counting.lastId);

            return status !== 503 && status;
        }), 404);
        await here.stop({ kills: true });
    });

    test('Redis is full: events wait until Redis has free memory', async (t) => {
        const { redis, here, there } = await pair(t);
        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);
        await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
        await counting.open(6);
        await until(async () => /OOM/.test(await here.log()));
        assert.equal((await clusterOf(here)).state, 'member');
        await redis.command('CONFIG', 'SET', 'maxmemory', '0');
        await counting.read(3);
        await counting.resume(at(there, session));
        await counting.open(12);
        await counting.finish();
    });

    test('Redis loses its scripts: each event of a call arrives once',
         async (t) => {
        const { redis, here, there } = await pair(t);
        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);
        await redis.command('SCRIPT', 'FLUSH');
        await counting.open(6);
        await counting.read(3);
        await redis.command('SCRIPT', 'FLUSH');
        await counting.resume(at(there, session));
        await counting.open(12);
        await counting.finish();
    });

    test('script of another client keeps Redis busy: events wait until the script ends',
         async (t) => {
        const { redis, here, there } = await pair(t);
        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);
        await redis.command('CONFIG', 'SET', 'lua-time-limit', '50');

        const script = redis.command('EVAL', 'while true do end', '0');

        await counting.open(6);
        await until(async () => /BUSY/.test(await here.log()));
        await redis.command('SCRIPT', 'KILL');
        assert.match(await script, /killed/);
        await counting.read(3);
        await counting.resume(at(there, session));
        await counting.open(12);
        await counting.finish();
    });

    test('Redis restarts slowly: events wait until Redis has loaded its data',
         async (t) => {
        const { redis, here, there } = await pair(t);
        const session = await here.session();
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);

        // a delay for each key, so that Redis stays in the state LOADING

        await redis.command('CONFIG', 'SET', 'rdbcompression', 'no');
        await redis.command('EVAL', `for i = 1, 20 do
            redis.call('SET', 'x' .. i, string.rep('x', 2000))
        end`, '0');
        await redis.command('SAVE');
        await redis.kill();
        await counting.open(6);
        redis.args.push('--key-load-delay', '100000',
                        '--loading-process-events-interval-bytes', '1024');
        await redis.begin();
        await until(async () => /LOADING/.test(await here.log()));
        await counting.read(3);
        await counting.resume(at(there, session));
        await counting.open(12);
        await counting.finish();
    });

    test('keys are deleted in Redis, one kind after the other: each event of a call arrives once',
         async (t) => {
        const { redis, here, there } = await pair(t, {
            http: { mcp_cluster_node_timeout: '2s' } });
        const session = await here.session();
        const kinds = ['nodes', 'n:*', 'told', 'heard', 'layout', 'h:*', 'c:*',
                       'e:*', 's:*', 'o:*', 'm:*'];
        const counting = await Counting.start(session, 3 * kinds.length + 3, 3);

        await counting.read(3);

        for (const [i, kind] of kinds.entries()) {
            await redis.command('EVAL', `
                for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
                    redis.call('DEL', key)
                end`, '0', `{mcp}:1:${kind}`);
            await counting.open(3 * i + 6);
            await counting.read(3);
        }

        counting.answer.close();

        // once Redis has the stream again, the other node can read it

        await until(async () => {
            const answer = await at(there, session).get(counting.lastId);

            answer.close();

            return answer.status === 200;
        });
        await counting.resume(at(there, session));
        await counting.open(counting.n);
        await counting.finish();
        assert.equal(await redis.endless(), '');
    });

    test('key of a stream in Redis is overwritten with another type: this stream ends without a response, later calls succeed',
         async (t) => {
        const { redis, here, there } = await pair(t, {
            http: { mcp_cluster_outage_timeout: '10s',
                    mcp_cluster_timeout: '5s' } });
        const session = await here.session();
        const remote = at(there, session);
        const counting = await Counting.start(session, 12, 3);

        await counting.read(3);
        await redis.command('EVAL', `
            for _, key in ipairs(redis.call('KEYS', '{mcp}:1:h:*')) do
                redis.call('SET', key, 'x', 'EX', '600')
            end`, '0');
        await counting.open(6);
        await until(async () => /abandoned/.test(await here.log()));

        // the stream ends without a response

        assert.equal(await counting.answer.message(), null);
        assert.equal((await session.get(counting.lastId)).status, 503);
        assert.equal((await remote.get(counting.lastId)).status, 503);
        await redis.command('EVAL', `
            for _, key in ipairs(redis.call('KEYS', '{mcp}:1:h:*')) do
                redis.call('DEL', key)
            end`, '0');

        // a node that has lost its connection to Redis sends 503 until it is
        // back

        for (const client of [session, remote]) {
            assert.equal(await until(async () => {
                const { status } = await client.get(counting.lastId);

                return status !== 503 && status;
            }), 404);
        }

        // other calls continue

        await counting.open(12);

        const next = await Counting.start(session, 6, 3);

        await next.read(3);
        await next.resume(remote);
        await next.open(6);
        await next.finish();
    });

    test('call resumed at two nodes at once: one connection gets the events, the other connection ends or gets 503',
         async (t) => {
        const { here, there } = await pair(t);
        const session = await here.session();
        const counting = await Counting.start(session, 40, 3);
        const nodes = [session, at(there, session)];

        await counting.read(3);

        for (let i = 1; i <= 5; i++) {
            counting.answer.close();

            const answers = await Promise.all(nodes.map(
                (remote) => remote.get(counting.lastId)));

            // a late resumption gets 503; if both get 200, one stream ends in
            // order and the other continues

            const served = answers.filter(({ status }) => status === 200);

            assert.ok(served.length);
            answers.filter((answer) => !served.includes(answer)).forEach(
                ({ status }) => assert.equal(status, 503));

            const reads = served.map((answer) => answer.message());
            let goes = 0;

            if (served.length === 2) {
                const [message, ended] = await Promise.race(reads.map(
                    async (read, n) => [await read, n]));

                assert.equal(message, null);
                goes = 1 - ended;
            }

            await counting.open(3 * i + 3);
            counting.answer = served[goes];
            counting.take(await reads[goes]);
            await counting.read(2);
        }

        await counting.open(40);
        await counting.finish();
    });
});
