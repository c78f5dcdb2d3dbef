// SPDX-License-Identifier: Apache-2.0

// Very many calls and dropped connections leave nothing behind: not in the
// workers' memory, not in the server's counters, not in the zone.
//
// SOAK_CALLS and SOAK_DROPS set the numbers, SEED=n repeats the moments at
// which connections are dropped.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import net from 'node:net';
import { after, test } from 'node:test';
import { httpd } from '../fixtures/fastcgi.mjs';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { KeepAlive, SANITIZED, connections, many, memory, post, random, settle,
         status } from './lib/load.mjs';

// On Apache a call takes a thread, and this number of calls takes three times
// as long.

const FULL = SERVER === 'apache' ? 30000 : 100000;
const calls = Number(process.env.SOAK_CALLS ?? (SANITIZED ? 2000 : FULL));
const drops = Number(process.env.SOAK_DROPS ?? (SANITIZED ? 400 : FULL / 10));
const seed = Number(process.env.SEED ?? Date.now() % 1000000);

// malloc keeps as much memory as the largest number of concurrent calls ever
// needed, which varies by chance. A leak grows in every round: so the round
// with the least growth must not grow by more than this for each worker (10
// bytes a call, 100 bytes a dropped connection in a full run on nginx).

const TOLERANCE_KB = 128;

// Each thread has its own memory, which needs several rounds to reach its size.

const ROUNDS = SERVER === 'apache' ? 10 : 4;
const WORKERS = 2;

console.log(`SEED=${seed} SOAK_CALLS=${calls} SOAK_DROPS=${drops}`);


function freePort() {
    return new Promise((resolve) => {
        const server = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address();

            server.close(() => resolve(port));
        });
    });
}

const program = `${root}/build/soak-backend`;
const port = await freePort();

execFileSync('cc', ['-O2', '-D_GNU_SOURCE', '-o', program,
                    `${root}/bench/backend.c`]);

const backend = spawn(program, [String(port)], { stdio: 'inherit' });

after(() => backend.kill());

process.env.FIXTURE_LOG ??= 'warn';

const catalog = `${root}/build/soak-catalog.json`;

await fs.writeFile(catalog, JSON.stringify({
    tools: ['echo', 'stream', 'tick', 'hang'].map((name) => (
        { name, inputSchema: { type: 'object' } })),
}));

// Apache can end a call while its backend is silent for HTTP backends only, so
// the tool `hang` uses one there.

const http = SERVER === 'apache' && await freePort();

if (http) {
    const silent = await httpd(String(http), (x) => {
        x.head(200, 'text/event-stream');
        x.write(`data: ${JSON.stringify({ jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken: 't', progress: 1 } })}\n\n`);
    });

    after(() => {
        silent.close();
        silent.closeAllConnections();
    });
}

const server = await Fixture.use({
    workers: WORKERS,
    threads: 100,
    zone: '256m',
    location: { mcp_catalog: catalog, mcp_backend: 'fast',
                mcp_stream_after: '100ms', mcp_close_after: 'off',
                mcp_max_wait: '2s', mcp_linger: '500ms',
                mcp_max_session_streams: 'off',
                mcp_quota_key: 'off',
                ...http && { mcp_route: 'hang /mcp-backend/silent' } },
    backends: { fast: { fastcgi: port, keep: 64 },
                ...http && { silent: { http } } },
    server: { nginx: 'location = /stub { stub_status; }' },
});
const session = await server.session();
const rand = random(seed);

function tool(name, args = {}) {
    return post(session, { jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { name, arguments: args, _meta: { progressToken: 't' } } });
}

const ECHO = tool('echo');
const BEFORE = [ECHO, tool('hang'), tool('stream', { n: 20 })];
const STREAMS = [tool('stream', { n: 100 }), tool('stream', { n: 400 }),
                 tool('tick', { n: 20, ms: 2 }), tool('hang')];

const pick = (list) => list[Math.floor(rand() * list.length)];


async function quick(n) {
    const lanes = Array.from({ length: 32 },
                             () => new KeepAlive(server.port));

    await many(n, lanes.length, async (_, lane) => {
        const { status: code, body } = await lanes[lane].ask(ECHO);

        assert.ok(code === 200 && body.includes('hello'), `${code} ${body}`);
    });

    lanes.forEach((lane) => lane.close());
}


// Drops a connection: half in the request or just after it, half after some
// bytes of the stream.

let broken;
const cut = { before: 0, middle: 0, late: 0 };

function drop(i) {
    const early = i % 2 === 0;
    const request = early ? pick(BEFORE) : pick(STREAMS);
    const part = early && rand() < 0.5 ? Math.floor(rand() * request.length)
                                       : request.length;
    const delay = Math.floor(rand() * 4);
    const bytes = Math.floor(rand() * rand() * 20000);

    return new Promise((resolve) => {
        const socket = net.connect(server.port, '127.0.0.1');
        let got = 0;
        let tail = '';

        socket.on('error', () => {});
        socket.on('close', resolve);
        socket.setNoDelay(true);

        if (early) {
            socket.write(request.subarray(0, part), () => {
                cut.before++;

                // at once, soon, or a little later

                if (delay === 0) {
                    socket.destroy();
                } else if (delay === 1) {
                    setImmediate(() => socket.destroy());
                } else {
                    setTimeout(() => socket.destroy(), delay);
                }
            });

            return;
        }

        socket.on('data', (data) => {
            const text = tail + data.toString('latin1');
            const done = text.includes('"result"');

            broken ??= /"error":.*/.exec(text)?.[0];

            // a call of the tool `hang` has only one event

            const all = request === STREAMS[3]
                        && text.includes('"progress":1');

            got += data.length;
            tail = text.slice(-20);

            if (!socket.destroyed && (got >= bytes || done || all || broken)) {
                cut[done ? 'late' : 'middle']++;
                socket.destroy();
            }
        });

        socket.write(request);
    });
}


// The counters that must be as before once all lingering streams are gone.

const state = async () => ({ ...await connections(server),
                             ...await status(server) });
const IDLE = { ...server.is.idle, calls_active: 0, consumers_active: 0,
               streams: 0 };

function only(object, like) {
    return Object.fromEntries(Object.keys(like).map((k) => [k, object[k]]));
}

const growths = (sizes) => sizes.slice(1).map((size, i) => size - sizes[i]);

async function round(part) {
    await quick(Math.ceil(calls * part));
    await many(Math.ceil(drops * part), 64, drop);
}


test(`${calls} calls, ${drops} dropped connections: no calls or streams are left, memory does not grow`,
     async (t) => {
    const empty = (await settle(state, IDLE)).zone_used_bytes;

    // the first round is a warm-up

    const sizes = [];
    const started = Date.now();
    let end;

    // On a busy machine the memory of a threaded server grows for longer. A leak
    // makes all further rounds grow as well.

    const growing = () => sizes.length > 1
        && Math.min(...growths(sizes)) > TOLERANCE_KB * WORKERS;

    for (let i = 0; i <= ROUNDS
         || (!SANITIZED && growing() && i <= 4 * ROUNDS); i++) {
        await round(1 / ROUNDS);
        end = await settle(state, { ...IDLE, zone_used_bytes: empty });

        assert.equal(broken, undefined);
        assert.deepEqual(only(end, IDLE), IDLE);
        assert.equal(end.zone_used_bytes, empty);

        sizes.push(await memory(server));
    }

    const seconds = (Date.now() - started) / 1000;
    const growth = growths(sizes);

    assert.equal(end.calls_lost, 0);
    assert.equal(end.repairs, 0);
    assert.equal(end.refused_full, 0);

    t.diagnostic(`${seconds.toFixed(1)} s; dropped ${JSON.stringify(cut)}; `
                 + `${end.calls} calls, ${end.calls_expired} expired; memory `
                 + `of ${WORKERS} workers ${sizes.join(', ')} KB; zone `
                 + `${empty} bytes in use before and after`);

    if (!SANITIZED) {
        assert.ok(!growing(), `every round grew: ${growth} KB`);
    }

    // the server still works

    const lane = new KeepAlive(server.port);

    assert.equal((await lane.ask(ECHO)).status, 200);
    lane.close();
});
