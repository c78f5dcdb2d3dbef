// SPDX-License-Identifier: Apache-2.0

// Connections to Redis during faults of Redis, of the network and of the
// configuration. The node serves requests all the time.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { certify } from './lib/certificate.mjs';
import { Cut } from './lib/cut.mjs';
import { NameServer } from './lib/dns.mjs';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { Redis, cluster, until } from './lib/redis.mjs';
import { textOf } from './lib/session.mjs';

const WORKERS = 2;

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-cluster-'));

await fs.chmod(dir, 0o755);

const key = `${dir}/mcp.key`;

await fs.writeFile(key, 'one key for all nodes, 32 bytes at least\n',
                   { mode: 0o600 });

const [tls, other] = await Promise.all(['tls', 'other'].map(async (name) => {
    await fs.mkdir(`${dir}/${name}`);
    return certify(`${dir}/${name}`);
}));

after(() => fs.rm(dir, { recursive: true, force: true }));


async function node(words, options = {}, { kind = SERVER } = {}) {
    // a timeout that no slow machine reaches

    return Fixture.start({ kind, workers: WORKERS,
                           http: cluster(words, { mcp_cluster_outage_timeout: '1h',
                                                  ...options }),
                           location: { mcp_key: key,
                                       mcp_stream_after: '60s' } });
}

// The endpoint serves a call in any state of Redis.

async function serves(fixture) {
    const session = await fixture.session();
    const result = await session.tool('echo', { text: 'hello' });

    assert.match(textOf(result), /hello/);
}

async function count(fixture, pattern) {
    return (await fixture.log()).split('\n').filter((line) => pattern.test(line))
        .length;
}

function says(fixture, pattern, n = 1) {
    return until(async () => await count(fixture, pattern) >= n,
                 { hint: pattern });
}

// Returns the cluster part of the status.

async function clusterOf(fixture) {
    const answer = await fetch(new URL('/status', fixture.url),
                               { headers: { Accept: 'application/json' } });

    return (await answer.json()).cluster;
}

// Returns the number of sockets of all processes. One process has a second
// connection, on which the node receives broadcasts.

async function sockets(fixture) {
    const files = await Promise.all((await fixture.workers()).map(
        async (pid) => Promise.all((await fs.readdir(`/proc/${pid}/fd`)).map(
            (fd) => fs.readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))));

    return files.flat().filter((file) => file.startsWith('socket:')).length;
}

// Waits until every process has joined this number of times.

const JOINED = /cluster: joined/;

async function joined(fixture, times = 1) {
    await says(fixture, JOINED, WORKERS * times);
}

// Waits until a process has joined again and all are connected.

async function back(fixture) {
    await says(fixture, JOINED, WORKERS + 1);
    await until(async () => {
        const { state, connected } = await clusterOf(fixture);

        return state === 'member' && connected === WORKERS;
    });
}


const right = `${dir}/right`;

await fs.writeFile(right, 'secret\n');


describe('a node', { concurrency: true }, () => {
    async function start(t, redisOptions, words, options) {
        const redis = await Redis.start(redisOptions);

        t.after(() => redis.stop());

        const fixture = await node(words ? words(redis) : redis.url, options);

        t.after(() => fixture.stop());

        return { redis, fixture };
    }

    test('node with a TCP address of Redis: each process joins the cluster',
         async (t) => {
        const { redis, fixture } = await start(t);

        await joined(fixture);
        await until(async () => await redis.clients() === WORKERS + 1);
        assert.equal(await redis.nodes(), 1);
        await serves(fixture);
    });

    test('node with a host name of Redis: joins the cluster', async (t) => {
        const { fixture } = await start(t, {},
            (redis) => `redis://localhost:${redis.port}/2`);

        await joined(fixture);
    });

    // Apache uses the resolver of the system.

    const skip = SERVER === 'nginx' ? false : 'nginx only';

    test('node with a Redis host name unknown to DNS at first: joins the cluster when the name is known',
         { skip }, async (t) => {
        const dns = await NameServer.start();

        t.after(() => dns.stop());

        const redis = await Redis.start();

        t.after(() => redis.stop());
        dns.known = false;

        const fixture = await node(`redis://redis.test:${redis.port}`, {
            nginx: `mcp_cluster mcp redis://redis.test:${redis.port};
                    resolver 127.0.0.1:${dns.port} valid=1s ipv6=off;`,
        });

        t.after(() => fixture.stop());

        await says(fixture, /Host not found/);
        await serves(fixture);
        dns.known = true;
        await joined(fixture);
    });

    test('node with a Unix socket of Redis: joins the cluster', async (t) => {
        const { fixture } = await start(t, { unix: true },
                                        (redis) => `unix:${redis.socket}`);

        await joined(fixture);
    });

    test('node with a restricted Redis user: joins the cluster', async (t) => {
        const password = `${dir}/password`;

        await fs.writeFile(password, 'secret\n');

        const { fixture } = await start(t, { user: 'mcp', password: 'secret' },
            (redis) => `${redis.url} user=mcp password_file=${password}`);

        await joined(fixture);
        assert.equal(await count(fixture, /NOPERM|NOAUTH|secret/), 0);
    });

    test('node with TLS to Redis: joins the cluster', async (t) => {
        const { fixture } = await start(t, { tls }, undefined,
                                        { mcp_cluster_ca: tls.certificate });

        await joined(fixture);
        await serves(fixture);
    });

    test('node with TLS and mcp_cluster_server_name: joins the cluster',
         async (t) => {
        const { fixture } = await start(t, { tls }, undefined,
            { mcp_cluster_ca: tls.certificate,
              mcp_cluster_server_name: 'localhost' });

        await joined(fixture);
    });

    test('node with TLS, mcp_cluster_verify off: joins the cluster',
         async (t) => {
        const { fixture } = await start(t, { tls }, undefined,
                                        { mcp_cluster_verify: 'off' });

        await joined(fixture);
    });

    // The time between attempts grows: no node connects in a busy loop.

    for (const [name, { redis: redisOptions, words, options, why }] of [
        ['the wrong Redis password', {
            redis: { user: 'mcp', password: 'secret' },
            words: (redis, wrong) => `${redis} user=mcp password_file=${wrong}`,
            why: /WRONGPASS/ }],
        ['no Redis password', {
            redis: { user: 'mcp', password: 'secret' },
            why: /NOAUTH/ }],
        ['a Redis certificate from an unknown authority', {
            redis: { tls },
            options: { mcp_cluster_ca: other.certificate },
            why: /certificate|self.signed/i }],
        ['a server name that the certificate lacks', {
            redis: { tls },
            options: { mcp_cluster_ca: tls.certificate,
                       mcp_cluster_server_name: 'redis.example' },
            why: /[Hh]ostname mismatch/ }],
        ['TLS to a Redis that has no TLS', {
            redis: {},
            words: (redis) => redis.replace('redis:', 'rediss:'),
            why: /no connection within/ }],
        ['no TLS to a Redis that requires TLS', {
            redis: { tls },
            words: (redis) => redis.replace('rediss:', 'redis:'),
            why: /write rediss:\/\/ instead of redis:\/\// }],
        ['no client certificate, which Redis requires', {
            redis: { tls, clients: 'yes' },
            options: { mcp_cluster_ca: tls.certificate },
            why: /TLS alert from Redis: .*certificate required/ }],
        ['a Redis user that lacks rights', {
            redis: { user: 'mcp', password: 'secret' },
            words: (redis) => `${redis} user=mcp prefix=other
                               password_file=${right}`
                .replaceAll(/\s+/g, ' '),
            why: /NOPERM .* user "mcp" needs the rules ~\{other\}:\* \+@all/ }],
    ]) {
        test(`node with ${name}: serves requests without a cluster`,
             async (t) => {
            const redis = await Redis.start(redisOptions);

            t.after(() => redis.stop());

            const cut = await Cut.start(redis.port);

            t.after(() => cut.stop());

            const url = redis.url.replace(redis.port, cut.port);
            const wrong = `${dir}/wrong`;

            await fs.writeFile(wrong, 'wrong\n');

            const fixture = await node(words ? words(url, wrong) : url,
                                       options);

            t.after(() => fixture.stop());

            await says(fixture, why);
            await serves(fixture);
            await cut.more(WORKERS);
            assert.equal(await count(fixture, JOINED), 0);
            assert.ok(cut.connects < 40 * WORKERS, `${cut.connects} connects`);
        });
    }
});


describe('Redis', { concurrency: true }, () => {
    async function start(t, timeout = '500ms') {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const cut = await Cut.start(redis.port);

        t.after(() => cut.stop());

        const fixture = await node(`redis://127.0.0.1:${cut.port}`,
                                   { mcp_cluster_timeout: timeout });

        t.after(() => fixture.stop());

        await joined(fixture);

        return { redis, cut, fixture };
    }

    test('Redis is killed, restarts empty: the node joins again', async (t) => {
        const { redis, cut, fixture } = await start(t);

        await redis.kill();
        await cut.more(3 * WORKERS);
        await serves(fixture);
        await redis.begin();
        await joined(fixture, 2);
        await until(async () => await redis.nodes() === 1);
        await until(async () => await redis.clients() === WORKERS + 1);
        await serves(fixture);
    });

    test('Redis loses its scripts: the node loads them again on the same connection',
         async (t) => {
        const { redis, fixture } = await start(t, '60s');
        const session = await fixture.session();

        await redis.command('SCRIPT', 'FLUSH');
        await session.tool('echo', { text: 'hello' },
                           { meta: { progressToken: 1 } });
        await says(fixture, /lost its scripts/, 1);
        await until(async () => (await clusterOf(fixture)).state === 'member');
        assert.equal((await clusterOf(fixture)).links_lost, 0);
    });

    test('Redis drops its connections three times: the node logs one line at level error',
         async (t) => {
        const { cut, fixture } = await start(t);

        for (let i = 0; i < 3; i++) {
            const before = await count(fixture, JOINED);

            cut.drop();
            await says(fixture, JOINED, before + WORKERS);
        }

        assert.equal(await count(fixture, /[[:]error\].*cluster: /), 1);
    });

    test('Redis is paused: the node serves requests, then joins again',
         async (t) => {
        const { redis, cut, fixture } = await start(t);

        redis.pause();
        t.after(() => redis.resume());
        await cut.more(2 * WORKERS);
        await serves(fixture);
        redis.resume();
        await back(fixture);
        await serves(fixture);
    });

    test('Redis is unreachable for a time: the node serves requests, then joins again',
         async (t) => {
        const { cut, fixture } = await start(t);

        cut.refused = true;
        cut.drop();
        await cut.more(3 * WORKERS);
        await serves(fixture);
        cut.refused = false;
        await joined(fixture, 2);
    });

    test('Redis answers late: the node serves requests, then joins again',
         async (t) => {
        const { cut, fixture } = await start(t);

        cut.hold();
        await until(async () => (await clusterOf(fixture)).connected === 0);
        await serves(fixture);
        cut.release();
        await back(fixture);
    });

    test('Redis is down at the start: the node serves requests, joins later',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());
        await redis.kill();

        const fixture = await node(redis.url);

        t.after(() => fixture.stop());

        await says(fixture, /Connection refused/, WORKERS);
        await serves(fixture);
        await redis.begin();
        await joined(fixture);
    });

    test('Redis connections are cut after 0 to 300 bytes: the node leaks no socket',
         async (t) => {
        const { cut, fixture } = await start(t);

        const open = await sockets(fixture);

        for (const bytes of [0, 1, 5, 50, 150, 300]) {
            cut.cutAfter = bytes;
            cut.drop();
            await cut.more(WORKERS);
        }

        const before = await count(fixture, JOINED);

        cut.cutAfter = Infinity;
        await serves(fixture);
        cut.drop();
        await says(fixture, JOINED, before + WORKERS);

        // no socket is left over, except for those of this test's own clients

        assert.ok(await sockets(fixture) <= open + WORKERS);
    });
});


describe('a process', { concurrency: true }, () => {
    async function start(t) {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const fixture = await node(redis.url);

        t.after(() => fixture.stop({ kills: true }));
        await joined(fixture);

        return { redis, fixture };
    }

    test('reload: the new processes belong to the same node', async (t) => {
        const { redis, fixture } = await start(t);

        await fixture.reload();
        await joined(fixture, 2);
        await fixture.settled();
        await until(async () => await redis.clients() === WORKERS + 1);
        assert.equal(await redis.nodes(), 1);
        await serves(fixture);
    });

    test('process of a node is killed: its replacement joins the cluster as the same node',
         async (t) => {
        const { redis, fixture } = await start(t);
        const [victim] = await fixture.workers();

        process.kill(victim, 'SIGKILL');
        await says(fixture, JOINED, WORKERS + 1);
        await until(async () => await redis.clients() === WORKERS + 1);
        assert.equal(await redis.nodes(), 1);
    });
});


// The entry of the first node in Redis is changed to other layouts. The second
// node lacks these layouts and serves standalone until both share layout 1, and
// again while the data in Redis has a layout that it does not read.

test('node and cluster member support no common data layout in Redis: the node serves standalone until both support one',
     async (t) => {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const options = { mcp_cluster_node_timeout: '10s' };
    const older = await node(`${redis.url} node=older`, options);

    t.after(() => older.stop());
    await joined(older);

    const { node: id } = await clusterOf(older);
    const says = (low, high) => redis.command('HSET', `{mcp}:1:n:${id}`,
        'low', String(low), 'high', String(high));

    await says(7, 9);

    const other = await node(redis.url, options, {
        kind: SERVER === 'nginx' ? 'apache' : 'nginx' });

    t.after(() => other.stop());

    const why = await until(async () => (await clusterOf(other)).refused);

    assert.match(why, new RegExp(`^node ${id} \\(older\\) reads the layouts 7 to 9`));
    assert.equal((await clusterOf(other)).state, 'standalone');
    assert.equal(await redis.nodes(), 1);
    await serves(other);
    assert.equal(await count(other, /\berror\b.*serves alone/), 1);

    // both nodes read layout 1 and write it

    await says(1, 9);
    await joined(other);
    await until(async () => (await clusterOf(older)).members.length === 2);

    for (const fixture of [older, other]) {
        const { state, layout, refused } = await clusterOf(fixture);

        assert.equal(state, 'member');
        assert.equal(layout, 1);
        assert.equal(refused, null);
        await serves(fixture);
    }

    // the data in Redis has a layout that neither node reads

    await redis.command('SET', '{mcp}:1:layout', '8');

    for (const fixture of [older, other]) {
        assert.match(await until(async () => (await clusterOf(fixture)).refused),
                     /^the data in Redis has layout 8, but this node reads the layouts 1 to 1$/);
        await serves(fixture);
    }

    await redis.command('FLUSHALL');
    await until(async () => (await clusterOf(older)).state === 'member'
        && (await clusterOf(other)).state === 'member');
});


test('an nginx node and an Apache node: each has the other as a member',
     async (t) => {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const nodes = await Promise.all(['nginx', 'apache'].map(
        (kind) => node(`${redis.url} node=${kind}`, {}, { kind })));

    t.after(() => Promise.all(nodes.map((fixture) => fixture.stop())));

    await Promise.all(nodes.map((fixture) => joined(fixture)));
    assert.equal(await redis.nodes(), 2);
    await Promise.all(nodes.map(serves));

    // each node has the other as a member

    for (const fixture of nodes) {
        const cluster = await until(async () => {
            const status = await clusterOf(fixture);

            return status.members.length === 2 && status;
        });

        assert.equal(cluster.state, 'member');
        assert.equal(cluster.processes, WORKERS);
        assert.equal(cluster.connected, WORKERS);
        assert.deepEqual(cluster.members.map(({ label }) => label).sort(),
                         ['apache', 'nginx']);
    }

    // Redis is killed and restarted

    await redis.kill();

    for (const fixture of nodes) {
        await until(async () => {
            const { state, connected } = await clusterOf(fixture);

            return state === 'unreachable' && connected === 0;
        });
    }

    await redis.begin();

    for (const fixture of nodes) {
        await until(async () => {
            const { state, connected, members } = await clusterOf(fixture);

            return state === 'member' && connected === WORKERS
                && members.length === 2;
        });
    }
});
