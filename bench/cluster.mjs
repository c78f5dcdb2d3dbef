// SPDX-License-Identifier: Apache-2.0

// What a cluster costs: bench/run cluster.  Two nodes of one server and a
// redis-server of their own, on loopback; MCP_SERVER names the server.  Rates are
// of one client, the median of ROUNDS rounds.

import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Fixture } from '../t/e2e/lib/fixture.mjs';
import { Redis, cluster, until } from '../t/e2e/lib/redis.mjs';
import { request } from '../t/e2e/lib/wire.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const EVENTS = 10000;
const SIZE = 120;

const run = promisify(execFile);
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-bench-'));
const key = `${dir}/mcp.key`;

await fs.chmod(dir, 0o755);
await fs.writeFile(key, 'one key for all nodes, 32 bytes at least\n');

const location = { mcp_close_after: 'off', mcp_stream_buffer: '64m',
                   mcp_max_events: '1000000' };


async function node(redis, sync) {
    const fixture = await Fixture.start({
        workers: 1, location, server: { mcp_key: key }, zone: '256m',
        ...(redis && { http: cluster(redis.url, { mcp_cluster_sync: sync }) }),
    });

    if (redis) {
        await until(async () => /cluster: joined/.test(await fixture.log()));
    }

    return fixture;
}

const at = (fixture, session) => Object.assign(
    Object.create(Object.getPrototypeOf(session)), session,
    { port: fixture.port, send: (o) => request(fixture.port, o) });

async function median(measure) {
    const values = [];

    for (let i = 0; i < ROUNDS; i++) {
        values.push(await measure());
    }

    return values.sort((a, b) => a - b)[ROUNDS >> 1];
}

function print(what, value, aim = '') {
    console.log(`  ${what.padEnd(62)} ${value}${aim && `   (aim ${aim})`}`);
}

async function info(redis, name) {
    const text = await redis.command('INFO', 'everything');

    return Number(new RegExp(`^${name}:([0-9.]+)`, 'm').exec(text)?.[1] ?? 0);
}

const cpu = async (redis) => await info(redis, 'used_cpu_user_main_thread')
                             + await info(redis, 'used_cpu_sys_main_thread');


// reads to the response; events a second

async function drain(answer, id) {
    const begin = performance.now();
    let n = 0;

    for (let message; (message = await answer.message());) {
        if (message.id === id) {
            return n / ((performance.now() - begin) / 1000);
        }

        n++;
    }

    throw new Error('the stream ends early');
}


// a burst of events, and who reads it

async function burst(home, reader = home) {
    const session = await home.session();
    const gate = `bench ${Math.random()}`;

    await session.open(gate, 1);

    let answer = await session.call('count', { n: EVENTS, size: SIZE, gate,
                                               burst: true });
    const { id } = answer;

    while (!(await answer.message())?.method);

    if (reader !== home) {
        const last = answer.lastId;

        answer.close();
        answer = await at(reader, session).get(last);
    }

    await session.open(gate);

    return drain(answer, id);
}


// all events of a call that is over, at a node that has none of them

async function replay(home, reader) {
    const session = await home.session();
    const answer = await session.call('count', { n: EVENTS, size: SIZE,
                                                 burst: true });

    await answer.message();

    const { lastId, id } = answer;

    answer.close();
    await new Promise((resolve) => { setTimeout(resolve, 1500); });

    return drain(await at(reader, session).get(lastId), id);
}


async function quick(fixture) {
    const session = await fixture.session();
    const begin = performance.now();
    let n = 0;

    for (; performance.now() < begin + 1500; n++) {
        await (await session.call('echo', { text: 'x' })).json();
    }

    return n / ((performance.now() - begin) / 1000);
}


const round = (n) => Math.round(n).toLocaleString('en');
const redis = await Redis.start();
const [alone, here, there] = [await node(), await node(redis, 'on'),
                              await node(redis, 'on')];
const off = await node(redis, 'off');

console.log(`cluster, ${here.kind}`);

const before = await info(redis, 'total_commands_processed');
const rates = [await median(() => quick(alone)), await median(() => quick(here))];
const commands = await info(redis, 'total_commands_processed') - before;

print('quick calls: rate with a cluster : without',
      (rates[1] / rates[0]).toFixed(2), '>= 0.99');
print('  commands in Redis a second meanwhile: beats, XREAD',
      (commands / (3 * ROUNDS)).toFixed(1));

const plain = await median(() => burst(alone));
const ofOff = await median(() => burst(off));

let spent = await cpu(redis);
const ofOn = await median(() => burst(here));
const onCpu = (await cpu(redis) - spent) / (ROUNDS * EVENTS) * 1e6;

spent = await cpu(redis);

const elsewhere = await median(() => burst(here, there));
const awayCpu = (await cpu(redis) - spent) / (ROUNDS * EVENTS) * 1e6;

print('events/s of one stream, no cluster', round(plain));
print('  mcp_cluster_sync off', round(ofOff));
print('  mcp_cluster_sync on, read at its own node', round(ofOn));
print('  mcp_cluster_sync on, read at another node', round(elsewhere));

spent = await cpu(redis);
await run('redis-benchmark', ['-p', String(redis.port), '-n', '200000', '-P', '16',
    '-c', '1', '-q', 'XADD', 'bench', 'MAXLEN', '~', '1000', '*', 'm',
    'x'.repeat(200)]);
const xadd = (await cpu(redis) - spent) / 200000 * 1e6;

spent = await cpu(redis);
await run('redis-benchmark', ['-p', String(redis.port), '-n', '200000', '-P', '16',
    '-c', '1', '-q', 'PUBLISH', 'bench', 'x'.repeat(200)]);
const base = xadd + (await cpu(redis) - spent) / 200000 * 1e6;

print('CPU of Redis an event, of XADD and PUBLISH: at its own node',
      (onCpu / base).toFixed(2), '<= 0.8 in batches');
print('  read at another node', (awayCpu / base).toFixed(2),
      '<= 1.2 in batches');

print('replay at another node, events/s',
      round(await median(() => replay(here, there))), '>= 300,000');

const session = await here.session();
const answer = await session.call('count', { n: 100, size: SIZE });

let bytes = 0;

for (let block; (block = await answer.block());) {
    bytes += (block.data ?? '').length;
}

const id = answer.lastId.split('.')[0];
const memory = async (kind) => Number(await redis.command('MEMORY', 'USAGE',
    `{mcp}:1:${kind}:${id}`, 'SAMPLES', '0'));

print('memory of Redis: a stream, bytes',
      await memory('h') + await memory('c'), '<= 1,200');
print('  an event, beyond its own bytes',
      Math.round((await memory('e') - bytes) / 101), '<= 40');

await Promise.all([alone, here, there, off].map((fixture) => fixture.stop()));
await redis.stop();
await fs.rm(dir, { recursive: true, force: true });
