// SPDX-License-Identifier: Apache-2.0

// The kinds of Redis that a cluster may use: with a Sentinel, as a Redis
// Cluster, with required replicas, with TLS and a restricted user. A call is
// read at two nodes of both servers while masters disappear.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { certify } from './lib/certificate.mjs';
import { OTHER, at, node, together } from './lib/cluster.mjs';
import { Counting } from './lib/counting.mjs';
import { Redis, RedisCluster, Sentinel, until } from './lib/redis.mjs';
import { textOf } from './lib/session.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-kinds-'));

await fs.chmod(dir, 0o755);

after(() => fs.rm(dir, { recursive: true, force: true }));


// Starts a node of each server.

async function nodes(t, [here, there], options) {
    const both = await together([
        node(here, options), node(there, { kind: OTHER, ...options })]);

    t.after(() => Promise.all(both.map((fixture) => fixture.stop())));

    return both;
}

// Reads a call at another node, runs between(), then reads the rest at the
// call's own node: each event must arrive once, in order.

async function readAtBoth([here, there], between = () => {}) {
    const session = await here.session();
    const counting = await Counting.start(session, 20, 3);

    await counting.read(3);
    await counting.resume(at(there, session));
    await counting.open(8);
    await counting.read(5);
    await between();
    await counting.open(14);
    await counting.read(6);
    await counting.resume(session);
    await counting.open(20);
    await counting.finish();
}

async function isMaster(redis) {
    return (await redis.info('replication')).role === 'master';
}


describe('Redis with a Sentinel', { concurrency: true }, () => {
    async function start(t, options, ...words) {
        const master = await Redis.start();

        t.after(() => master.stop());

        const replica = await Redis.start({ of: master });

        t.after(() => replica.stop());

        const sentinel = await Sentinel.start(master, options);

        t.after(() => sentinel.stop());
        await sentinel.knows();

        const url = `redis://127.0.0.1:${sentinel.port} sentinel=mcp`;

        return { master, replica, sentinel, both: await nodes(t, [
            `${url} ${words[0] ?? ''}`, `${url} ${words[1] ?? ''}`]) };
    }

    test('Sentinel, the master dies: the call continues with its replica',
         async (t) => {
        const { master, replica, sentinel, both } = await start(t);

        await readAtBoth(both, async () => {
            await master.kill();
            await until(() => isMaster(replica));
        });
        assert.equal(await sentinel.master(), replica.port);
        assert.equal(await replica.nodes(), 2);
        assert.equal(await replica.endless(), '');
    });

    test('Sentinel, the master is paused: the call continues with its replica',
         async (t) => {
        const { master, replica, both } = await start(t);

        await readAtBoth(both, async () => {
            master.pause();
            t.after(() => master.resume());
            await until(() => isMaster(replica));
        });
        master.resume();
        await until(async () => !await isMaster(master));
        await readAtBoth(both);
    });

    test('Sentinel, failover on command: the call continues with the replica',
         async (t) => {
        const { master, replica, sentinel, both } = await start(t);

        await readAtBoth(both, async () => {
            await until(async () => await sentinel.command('SENTINEL',
                'FAILOVER', 'mcp') === 'OK');
            await until(() => isMaster(replica));
        });
        await until(async () => !await isMaster(master));
        await readAtBoth(both);
    });

    test('Sentinel with a password and with a user, the master dies: the call continues with its replica',
         async (t) => {
        const file = `${dir}/sentinel`;

        await fs.writeFile(file, 'watches\n');

        const { master, replica, both } = await start(t,
            { password: 'watches' }, `sentinel_password_file=${file}`,
            `sentinel_user=watch sentinel_password_file=${file}`);

        await readAtBoth(both, async () => {
            await master.kill();
            await until(() => isMaster(replica));
        });
        assert.equal(await replica.nodes(), 2);
    });
});


describe('a Redis Cluster', { concurrency: true }, () => {
    // Each node's first address is a master that does not have the zone's slot.

    async function start(t, options) {
        const all = await RedisCluster.start(options);

        t.after(() => all.stop());

        return { all, both: await nodes(t, [
            all.stranger.url,
            all.redis.map(({ url }) => url).reverse().join(' ')]) };
    }

    test('Redis Cluster: the stream of a call can be read at two nodes', async (t) => {
        const { all, both } = await start(t, { failover: false });

        await readAtBoth(both);
        assert.equal(await all.owner.nodes(), 2);
        assert.equal(await all.stranger.command('DBSIZE'), '0');
        assert.equal(await all.owner.endless(), '');
    });

    test('Redis Cluster moves the slot of the keys to another master: the call continues with that master',
         async (t) => {
        const { all, both } = await start(t, { failover: false });
        const { stranger } = all;

        await readAtBoth(both, () => all.move(stranger));
        assert.equal(await stranger.nodes(), 2);
        assert.equal(await stranger.endless(), '');
    });

    // The keys are at two masters for a while. No script may begin then, because
    // it would stop halfway at a key that is at the other master. When the move
    // is undone, the nodes write the missing keys again, before older copies
    // replace them.

    test('Redis Cluster moves a part of the slot\'s keys, then moves them back: no script fails halfway',
         async (t) => {
        const { all, both } = await start(t, { failover: false });
        const { stranger } = all;
        const logs = () => Promise.all(both.map((fixture) => fixture.log()));

        await readAtBoth(both, async () => {
            const keys = await all.beginMove(stranger);

            const streams = keys.filter((key) => key.startsWith('{mcp}:1:h:'));

            assert.equal(streams.length, 1);
            await until(async () => (await logs()).every((log) =>
                /cluster: .*(TRYAGAIN|ASK) /.test(log)));
            await all.undoMove(stranger, keys, streams);
        });
        assert.equal(await stranger.command('DBSIZE'), '0');
        assert.equal(await all.owner.nodes(), 2);
        assert.equal(await all.owner.endless(), '');

        for (const log of await logs()) {
            assert.doesNotMatch(log, /non local key|cluster: script/);
        }
    });

    test('Redis Cluster, the master dies: the call continues with its replica',
         async (t) => {
        const { all, both } = await start(t);

        await readAtBoth(both, async () => {
            await all.owner.kill();
            await until(() => isMaster(all.replica));
        });
        assert.equal(await all.replica.nodes(), 2);
    });
});


test('mcp_cluster_sync with replicas=1, the replica restarts: each event of a call arrives once',
     async (t) => {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const replica = await Redis.start({ of: redis });

    t.after(() => replica.stop());
    await until(async () => (await replica.info('replication'))
        .master_link_status === 'up');

    const both = await nodes(t, [redis.url, redis.url],
                             { sync: 'on replicas=1' });

    // without the replica all streams wait, and no event is sent twice

    await readAtBoth(both);
    await readAtBoth(both, async () => {
        await replica.kill();
        await replica.begin();
    });

    // messages larger than the connection's send queue are acknowledged as well

    const session = await both[0].session();
    const answer = await session.call('count', { n: 2, size: 2500000 });
    const { messages, response } = await session.follow(answer);

    assert.deepEqual(messages.map(({ params }) => params.progress), [1, 2]);
    assert.equal(textOf(response.result), 'counted to 2');
});


test('Redis with TLS and a restricted user: the stream of a call can be read at two nodes',
     async (t) => {
    const tls = await certify(dir);
    const password = `${dir}/password`;

    await fs.writeFile(password, 'secret\n');

    const redis = await Redis.start({ user: 'mcp', password: 'secret', tls });

    t.after(() => redis.stop());

    const words = `${redis.url} user=mcp password_file=${password}`;
    const both = await nodes(t, [words, words],
                             { http: { mcp_cluster_ca: tls.certificate } });

    await readAtBoth(both);
    await (await both[0].session()).delete();

    for (const fixture of both) {
        assert.doesNotMatch(await fixture.log(), /NOPERM|NOAUTH|secret/);
    }

    assert.equal(await redis.endless(), '');
});
