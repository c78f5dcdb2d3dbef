// SPDX-License-Identifier: Apache-2.0

// What a cluster costs: bench/run cluster.  Two nodes of one server and a
// redis-server of their own, on loopback; MCP_SERVER names the server.  Each
// figure is the median of ROUNDS rounds, of one client; quick calls and replays,
// of which a client in JavaScript would measure itself, are made by wrk and
// bench/client.

import fs from 'node:fs/promises';
import { Redis } from '../t/e2e/lib/redis.mjs';
import { request } from '../t/e2e/lib/wire.mjs';
import { ROUNDS, client, dir, done, median, middle, node, print, round,
         run } from './cluster-nodes.mjs';

const EVENTS = 10000;
const SIZE = 120;

const at = (fixture, session) => Object.assign(
    Object.create(Object.getPrototypeOf(session)), session,
    { port: fixture.port, send: (o) => request(fixture.port, o) });

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

    const { lastId } = answer;

    answer.close();
    await new Promise((resolve) => { setTimeout(resolve, 1500); });

    const { events, total_us: us } = await client(reader.port, '/mcp',
        session.id, 'replay', lastId);

    if (events < EVENTS) {
        throw new Error(`${events} events`);
    }

    return events / us * 1e6;
}


// microseconds that the processes of a node have run

async function ran(fixture) {
    let ns = 0;

    for (const pid of await fixture.workers()) {
        for (const task of await fs.readdir(`/proc/${pid}/task`)) {
            const file = `/proc/${pid}/task/${task}/schedstat`;

            ns += Number((await fs.readFile(file, 'utf8')).split(' ')[0]);
        }
    }

    return ns / 1000;
}


// calls a second, and microseconds of each in the server

async function quick(fixture) {
    const script = `${dir}/quick.lua`;

    fixture.quick ??= await fixture.session();
    await fs.writeFile(script, `wrk.method = 'POST'
wrk.body = [[{"jsonrpc":"2.0","id":1,"method":"tools/call",
              "params":{"name":"echo","arguments":{"text":"x"}}}]]
wrk.headers['Content-Type'] = 'application/json'
wrk.headers['Accept'] = 'application/json, text/event-stream'
wrk.headers['Mcp-Session-Id'] = '${fixture.quick.id}'
`);

    const before = await ran(fixture);
    const { stdout } = await run('wrk', ['-t1', '-c8', '-d1s', '-s', script,
                                         fixture.url]);
    const calls = Number(/(\d+) requests in/.exec(stdout)[1]);

    if (/Non-2xx/.test(stdout)) {
        throw new Error(stdout);
    }

    return { rate: Number(/Requests\/sec: +([\d.]+)/.exec(stdout)[1]),
             cpu: (await ran(fixture) - before) / calls };
}


// what quick calls of some nodes are to those of another one, all in turn, as
// nothing else is the same for long: [{ rate, cpu }]

async function compare(nodes, base) {
    const all = nodes.map(() => ({ rate: [], cpu: [] }));

    await quick(base);

    for (let i = 0; i < 4 * ROUNDS; i++) {
        const order = [base, ...nodes];
        const got = new Map();

        for (const fixture of i % 2 ? order.reverse() : order) {
            got.set(fixture, await quick(fixture));
        }

        for (const [k, fixture] of nodes.entries()) {
            for (const what of ['rate', 'cpu']) {
                all[k][what].push(got.get(fixture)[what] / got.get(base)[what]);
            }
        }
    }

    return all.map(({ rate, cpu }) => ({ rate: middle(rate),
                                         cpu: middle(cpu) }));
}


const redis = await Redis.start();
const [remote, alone] = [await node(), await node()];
const [here, there] = [await node(redis, 'on'), await node(redis, 'on')];
const off = await node(redis, 'off');

console.log(`cluster, ${here.kind}`);

const [commands, since] = [await info(redis, 'total_commands_processed'),
                           performance.now()];
const [calls, noise] = await compare([here, remote], alone);
const more = await info(redis, 'total_commands_processed') - commands;

const ratio = (what) => `${calls[what].toFixed(2)} (${noise[what].toFixed(2)})`;

print('quick calls: rate with a cluster : without (of two without)',
      ratio('rate'), '>= 0.99');
print('  CPU of the server; bench/cost counts it', ratio('cpu'), '<= 1.01');
print('  commands in Redis a second meanwhile: beats, XREAD',
      (more / (performance.now() - since) * 1000).toFixed(1));

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

const KEPT = 5000;
const used = async () => Number(/used_memory:(\d+)/
    .exec(await redis.command('INFO', 'memory'))[1]);
const session = await here.session();
const empty = await used();
const answer = await session.call('count', { n: KEPT, size: SIZE });

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
      Math.round((await used() - empty - bytes) / KEPT), '<= 40');

await Promise.all([remote, alone, here, there, off].map((fixture) => fixture.stop()));
await redis.stop();
await done();
