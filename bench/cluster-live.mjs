// SPDX-License-Identifier: Apache-2.0

// How long it takes until an event is where it is read, at another node or not,
// and what many streams cost when all of them are concerned: a part of bench/run
// cluster.  bench/backend has the tools, bench/client reads.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { freePort } from '../t/e2e/lib/fixture.mjs';
import { Redis, until } from '../t/e2e/lib/redis.mjs';
import { catalog } from '../t/e2e/lib/scripted.mjs';
import { request } from '../t/e2e/lib/wire.mjs';
import { client, dir, done, median, middle, node, print, round,
         run } from './cluster-nodes.mjs';

const TICKS = 400;
const RESUMES = 51;
const IDLE = 100;
const BURST = 100000;
const STREAMS = Number(process.env.STREAMS ?? 10000);
const SCRIPT_MS = 2;

// a call in Apache holds one
const THREADS = 40;

const port = await freePort();
const backend = spawn(`${dir}/backend`, [String(port)], { stdio: 'inherit' });

process.on('exit', () => backend.kill());

const tools = await catalog({ tools: ['tick', 'stream', 'hang'].map((name) =>
    ({ name, inputSchema: { type: 'object' } })) });
const options = {
    location: { mcp_catalog: tools, mcp_backend: 'bench' },
    server: { mcp_publish_token: 'bench' },
    backends: { bench: { fastcgi: port, keep: 8 } },
    env: { FIXTURE_CONNECTIONS: '65536' }, zone: '512m',
};
const redis = await Redis.start();
const start = (sync) => node(sync && redis, sync, options);
const [alone, off] = [await start(), await start('off')];
const nodes = [await start('on'), await start('on'), await start('on')];
const [here, there] = nodes;

await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than',
                    String(SCRIPT_MS * 1000));

const of = (fixture, ...args) => fixture.session().then((session) =>
    client(fixture.port, '/mcp', session.id, ...args));


// what redis-benchmark says of a command: { rate, us }

async function benchmark(n, ...args) {
    const { stdout } = await run('redis-benchmark',
        ['-p', String(redis.port), '-n', String(n), '-c', '1', '-q', ...args]);
    const [, rate, ms] = /([\d.]+) requests per second, p50=([\d.]+)/
        .exec(stdout.split('\r').at(-1));

    return { rate: Number(rate), us: Number(ms) * 1000 };
}

// What a round trip costs that begins when all that takes part in it has slept for
// a while, as with the events below; and without a break, which is less.

const ping = (ms) => median(async () => (await client(redis.port, '-', '-', 'ping',
    ms > 10 ? 20 : TICKS, ms)).p50_us);
const pings = (us, of) => `${(us / of).toFixed(1)} PINGs`;

const busy = (await benchmark(20000, 'PING')).us;
const [after2, after100] = [await ping(2), await ping(IDLE)];

console.log(`cluster, ${here.kind}: events`);
print(`PING of Redis, one after the other; every 2 ms; every ${IDLE} ms`,
      [busy, after2, after100].map((us) => `${round(us)} us`).join('; '));


// the median event of calls that say something every 2 ms

const live = (fixture, ...args) => median(async () =>
    (await of(fixture, ...args)).p50_us);
const [plain, unsafe, safe, away] = [
    await live(alone, 'tick', TICKS, 2), await live(off, 'tick', TICKS, 2),
    await live(here, 'tick', TICKS, 2),
    await live(here, 'away', TICKS, 2, there.port)];

print('live event: no cluster; mcp_cluster_sync off',
      `${round(plain)} us; ${round(unsafe)} us`);
print('  on, read at its own node: more than off', pings(safe - unsafe, after2),
      '<= 1.5');
print('  on, read at another node: more than without a cluster',
      pings(away - plain, after2), '<= 2.5');


// the first byte of what follows an event

async function resume(reader) {
    const session = await here.session();
    const answer = await session.request('tools/call', {
        name: 'stream', arguments: { n: 10 }, _meta: { progressToken: 't' } });

    await answer.message();

    const { lastId } = answer;

    answer.close();
    await new Promise((resolve) => { setTimeout(resolve, IDLE); });

    return (await client(reader.port, '/mcp', session.id, 'replay', lastId))
        .first_us;
}

async function first(reader) {
    const all = [];

    for (let i = 0; i < RESUMES; i++) {
        all.push(await resume(reader));
    }

    return middle(all);
}

const [own, other] = [await first(here), await first(there)];

print('first byte of a resume: at its own node; at another one',
      `${round(own)} us; ${round(other)} us`);
print('  more at another one', pings(other - own, after100), '<= 2');


// one worker into Redis, and a client in C

const rate = await median(async () => {
    const { events, total_us: us } = await of(here, 'burst', BURST);

    return events / us * 1e6;
});
const words = ['-P', '16'];
const text = 'x'.repeat(200);
const xadd = await benchmark(200000, ...words, 'XADD', 'bench', 'MAXLEN', '~',
                             '1000', '*', 'm', text);
const publish = await benchmark(200000, ...words, 'PUBLISH', 'bench', text);

print('events/s of one stream into Redis', round(rate));
print('  of XADD and PUBLISH by redis-benchmark, in pipelines',
      (rate / (1 / (1 / xadd.rate + 1 / publish.rate))).toFixed(2), '>= 0.6');


// --- many streams ---

async function hold(n, kind, ports) {
    const sessions = `${dir}/sessions`;
    const mode = kind === 'post' ? 'hold' : 'hear';
    const opened = [];

    // each session has one stream of its own, at whatever node

    for (let i = 0; i < (kind === 'get' ? n : 100); i++) {
        opened.push((await here.session()).id);
    }

    await fs.writeFile(sessions, opened.join('\n'));

    const child = spawn(`${dir}/client`, [ports.join(','), '/mcp', sessions,
                                          mode, String(n), kind],
                        { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const exited = once(child, 'exit');
    const { value } = await lines.next();

    if (!value?.startsWith('held')) {
        throw new Error(`${n} streams: ${value}`);
    }

    return {
        async heard(f) {
            child.stdin.write('\n');
            await f();

            return Number(/heard_us (.*)/.exec((await lines.next()).value)[1]);
        },

        async stop() {
            child.kill();
            await exited;
        },
    };
}

const scripts = async () => Number(/cmdstat_evalsha:calls=(\d+)/
    .exec(await redis.command('INFO', 'commandstats'))?.[1]);


// all are said to Redis again when links are new

const calls = here.kind === 'apache' ? THREADS : STREAMS;
const held = await hold(calls, 'post', [here.port, there.port]);

await redis.command('CONFIG', 'RESETSTAT');

const before = performance.now();

await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
await until(async () => await scripts() >= calls, { limit: 60000 });
print(`${round(calls)} calls of two nodes sent again on new links`,
      `${((performance.now() - before) / 1000).toFixed(2)} s`, '<= 1 s');
await held.stop();


// a notification for all, at three nodes

for (const [kind, what] of [['listen', 'listeners of 2026-07-28'],
                            ['get', 'sessions that listen']])
{
    const listeners = await hold(STREAMS, kind, nodes.map((n) => n.port));
    const all = [];

    for (let i = 0; i < 9; i++) {
        all.push(await listeners.heard(() => request(there.port, {
            path: '/publish', method: 'POST', headers: {
                'Content-Type': 'application/json',
                Authorization: 'Bearer bench' },
            body: JSON.stringify({ jsonrpc: '2.0',
                method: 'notifications/tools/list_changed' }) })));
    }

    print(`published to ${round(STREAMS)} ${what} at three nodes`,
          `${round(middle(all) / 1000)} ms`, '<= 200 ms');
    await listeners.stop();
}

// the clock of Redis also runs while others have its processor

print(`scripts of more than ${SCRIPT_MS} ms, by the clock`,
      await redis.command('SLOWLOG', 'LEN'), '0');
await Promise.all([alone, off, ...nodes].map((fixture) => fixture.stop()));
await redis.stop();
await done();
