// SPDX-License-Identifier: Apache-2.0

// What the measurements of clusters have in common: nodes, and the client.

import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Fixture } from '../t/e2e/lib/fixture.mjs';
import { cluster, until } from '../t/e2e/lib/redis.mjs';

export const ROUNDS = Number(process.env.ROUNDS ?? 5);

export const run = promisify(execFile);
export const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-bench-'));

const key = `${dir}/mcp.key`;

await fs.chmod(dir, 0o755);
await fs.writeFile(key, 'one key for all nodes, 32 bytes at least\n');

for (const name of ['client', 'backend']) {
    await run('cc', ['-O2', '-D_GNU_SOURCE',
                     new URL(`${name}.c`, import.meta.url).pathname, '-o',
                     `${dir}/${name}`]);
}

export const done = () => fs.rm(dir, { recursive: true, force: true });


// a node, of a cluster if there is a Redis

export async function node(redis, sync, { location, server,
                                          ...options } = {}) {
    const fixture = await Fixture.start({
        workers: 1, server: { mcp_key: key, ...server }, zone: '256m',
        location: { mcp_close_after: 'off', mcp_stream_buffer: '64m',
                    mcp_max_events: '1000000', ...location },
        ...(redis && { http: cluster(redis.url, { mcp_cluster_sync: sync }) }),
        ...options,
    });

    if (redis) {
        await until(async () => /cluster: joined/.test(await fixture.log()));
    }

    return fixture;
}


export const middle = (values) => values.sort((a, b) => a - b)[
    values.length >> 1];

export async function median(measure) {
    const values = [];

    for (let i = 0; i < ROUNDS; i++) {
        values.push(await measure());
    }

    return middle(values);
}

export function print(what, value, aim = '') {
    console.log(`  ${what.padEnd(62)} ${value}${aim && `   (aim ${aim})`}`);
}

export const round = (n) => Math.round(n).toLocaleString('en');


// figures of bench/client: { name: value }

export async function client(...args) {
    const { stdout } = await run(`${dir}/client`, args.map(String));

    return Object.fromEntries(stdout.trim().split('\n')
        .map((line) => line.split(' ')).map(([name, value]) => [name,
                                                               Number(value)]));
}
