// SPDX-License-Identifier: Apache-2.0

// Nodes of a cluster, which share one key.

import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { Cut } from './cut.mjs';
import { Fixture, SERVER } from './fixture.mjs';
import { Redis, cluster, until } from './redis.mjs';
import { request } from './wire.mjs';

export const OTHER = SERVER === 'nginx' ? 'apache' : 'nginx';

export const WORKERS = 2;

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-nodes-'));
const key = `${dir}/mcp.key`;

await fs.chmod(dir, 0o755);
await fs.writeFile(key, 'one key for all nodes, 32 bytes at least\n',
                   { mode: 0o600 });

after(() => fs.rm(dir, { recursive: true, force: true }));


// Returns the options that all nodes share. words: the arguments of
// mcp_cluster.

export const common = (words) => ({
    http: cluster(words, { mcp_cluster_timeout: '500ms',
                           mcp_cluster_outage_timeout: '1h' }),
    server: { mcp_key: key },
});


// joins() counts the "cluster: joined" lines of a node's processes; joined()
// waits until all processes have joined.

export const joins = async (fixture) => (await fixture.log()).split('\n')
    .filter((line) => line.includes('cluster: joined')).length;

export const joined = (fixture, workers = WORKERS) =>
    until(async () => await joins(fixture) >= workers);


// Starts a node and returns once all its processes have joined.

export async function node(words, { kind = SERVER, port, sync = 'on', http = {},
                                    location = {}, server, backends,
                                    without } = {}) {
    const { http: all, server: key } = common(words);
    const fixture = await Fixture.start({
        kind, port, workers: WORKERS, server: { ...key, ...server },
        http: { ...all, mcp_cluster_sync: sync, ...http },
        location: { mcp_close_after: 'off', ...location },
        backends, without,
    });

    try {
        await joined(fixture);
    } catch (error) {
        await fixture.stop().catch(() => {});

        throw error;
    }

    return fixture;
}


// Returns nodes that start at the same time. If one does not start, stops the
// others: their processes would keep the test process running, which could not
// report the error.

export async function together(starts) {
    const results = await Promise.allSettled(starts);
    const failed = results.find(({ status }) => status === 'rejected');

    if (failed) {
        await Promise.allSettled(results.map(({ value }) => value?.stop()));

        throw failed.reason;
    }

    return results.map(({ value }) => value);
}


// Returns the same session at another node.

export function at(fixture, session) {
    return Object.assign(Object.create(Object.getPrototypeOf(session)),
                         session,
                         { port: fixture.port,
                           send: (options) => request(fixture.port, options) });
}


// Starts a Redis server of its own and a node that reaches it through a proxy.

export async function cuttable(t, options) {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const cut = await Cut.start(redis.port);

    t.after(() => cut.stop());

    const words = `redis://127.0.0.1:${cut.port}`;
    const fixture = await node(words, options);

    t.after(() => fixture.stop());

    return { redis, cut, fixture, words };
}


// Kills all processes of a node. SIGSTOP precedes SIGKILL, because a process
// that survives another one for a moment would end the calls of that process.

export async function kill(fixture) {
    const pids = [await fixture.master(), ...await fixture.workers()];

    for (const signal of ['SIGSTOP', 'SIGKILL']) {
        pids.forEach((pid) => process.kill(pid, signal));
    }
}
