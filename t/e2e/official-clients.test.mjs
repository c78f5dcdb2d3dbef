// SPDX-License-Identifier: Apache-2.0

// Official and popular clients when a connection is cut or the server reloads.
// docs/resumption.md has the outcomes as a table.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { DECLARES, official } from './lib/official.mjs';
import { textOf, upTo } from './lib/session.mjs';
import { Way } from './lib/way.mjs';

const COMMON = { mcp_stream_after: '0', mcp_retry: '50ms',
                 mcp_close_after: 'off', mcp_max_wait: '10m' };
const ALL = { ...COMMON, mcp_resume_stateless: 'all' };

// Runs before the servers are stopped.

after(() => Promise.all(Object.values(servers)
    .map((server) => server.settled())));

const servers = {
    '': await Fixture.use({ workers: 2, location: COMMON }),
    'mcp_resume_stateless all': await Fixture.use({ workers: 2, location: {
        ...ALL, mcp_reconnect_wait: '10m' } }),
    'mcp_reconnect_wait 200ms': await Fixture.use({ workers: 2, location: {
        ...ALL, mcp_reconnect_wait: '200ms' } }),
};

// ms that a test waits for a client that never resumes

const LOST = 2000;

/*
 *   cut       1: the client gets the result although its connection was cut;
 *             0: it waits for its own timeout
 *   cancel    when a cancelled call ends: 'at once', or 'later', which may be
 *             after mcp_max_wait
 *   progress  0: messages of a resumed stream may be missing
 */

const rows = [
    { name: 'TypeScript SDK 1.12.3', revision: '2025-03-26', cut: 1 },
    { name: 'TypeScript SDK 1.20.2', revision: '2025-06-18', cut: 0 },
    { name: 'TypeScript SDK 1.32.2', revision: '2025-11-25', cut: 1 },
    { name: 'TypeScript client 2.4.0', revision: '2025-11-25', cut: 1 },
    { name: 'TypeScript client 2.4.0, auto', revision: '2026-07-28', cut: 0 },
    { name: 'TypeScript client 2.4.0, auto', revision: '2026-07-28', cut: 1,
      on: 'mcp_resume_stateless all', cancel: 'later' },
    { name: 'TypeScript client 2.4.0, auto', revision: '2026-07-28',
      declares: DECLARES, cut: 1, cancel: 'later' },
    { name: 'mcp-remote 0.15.1', revision: '2025-11-25', cut: 1, progress: 0 },
    { name: 'ai-sdk 1.0.102', revision: '2025-11-25', cut: 0,
      cancel: 'later' },
];

let gates = 0;

// Connects a client through a proxy that can cut connections.

async function at(server, row) {
    const way = await Way.open(server.port);
    const client = await official[row.name](way.url, row.declares);
    const session = await server.session();

    return {
        client, way, session,
        end: async () => {
            await client.end();
            await way.close();
        },
    };
}

// Begins a call of `count` with n messages behind a gate. reached(i): the
// client has message i or, for a client that shows no progress, the message has
// passed the proxy.

function counting({ client, way, session }, n, options) {
    const gate = `official ${process.pid} ${gates++}`;
    const call = { gate, seen: [] };
    const waiting = new Map();
    const message = (i) => client.shows
        ? new Promise((resolve) => { waiting.set(i, resolve); })
        : way.passes(/^data:/m, gate);
    const first = message(1);

    call.reached = (i) => (call.seen.includes(i) ? undefined
                           : i === 1 ? first : message(i));
    call.open = (limit) => session.open(gate, limit);
    call.started = call.open(1).then(() => {
        call.result = client.call('count', { n, gate, tag: gate }, {
            ...client.shows && { onprogress: ({ progress }) => {
                call.seen.push(progress);
                waiting.get(progress)?.();
            } },
            ...options,
        });
        call.result.catch(() => {});
    });

    return call;
}

// Reloads, and waits in nginx until old workers have closed their idle
// connections.

async function reload(server) {
    await server.reload();

    while (SERVER === 'nginx' && (await server.serving()).length) {
        await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
}

async function comes(row, { client }, call, n) {
    assert.equal(textOf(await call.result), `counted to ${n}`);

    if (client.shows && row.progress !== 0) {
        assert.deepEqual(call.seen, upTo(n).map((i) => i + 1));
    }
}


for (const row of rows) {
    const { cut, cancel = 'at once', declares, on = '' } = row;
    const server = servers[on];
    const title = [row.name, declares && 'resumableRequests', on]
        .filter(Boolean).join(', ');

    describe(title, () => {
        let peer;

        before(async () => { peer = await at(server, row); });
        after(() => peer.end());

        test('client lists tools and calls a tool: all messages arrive, in the expected revision',
             async () => {
            const { client, way } = peer;
            const call = counting(peer, 3);

            assert.ok((await client.list()).includes('count'));
            assert.equal(await client.revision(way), row.revision);
            await call.started;
            await call.open();
            await comes(row, peer, call, 3);
        });

        test('call with a question: the backend gets the client\'s answer', async () => {
            assert.equal(await peer.client.ask(), peer.client.question.text);
        });

        for (const how of ['reset', 'fin']) {
            for (const cuts of cut ? [1, 3] : [1]) {
                test(`connection cut by ${how}, ${cuts} times, client that `
                     + (cut ? 'resumes: it gets the result'
                            : 'does not resume: it times out'),
                     async () => {
                    const n = cuts + 2;
                    const call = counting(peer, n,
                                          cut ? {} : { timeout: LOST });

                    await call.started;

                    for (const i of upTo(cuts).map((j) => j + 1)) {
                        await call.reached(i);
                        peer.way.cut(how);
                        await call.open(i + 1);
                    }

                    await call.open();

                    if (cut) {
                        await comes(row, peer, call, n);
                    } else {
                        await assert.rejects(call.result,
                                             /timed out|aborted/i);
                    }
                });
            }
        }

        test('reload during a call: the client gets the result', async () => {
            const call = counting(peer, 3);

            await call.started;
            await call.reached(1);
            await reload(server);
            await call.open();
            await comes(row, peer, call, 3);
        });

        if (cut) {
            test('connection reset, then a reload during a call: the client gets the result',
                 async () => {
                const call = counting(peer, 4);

                await call.started;
                await call.reached(1);
                peer.way.cut('reset');
                await call.open(2);
                await call.reached(2);
                await reload(server);
                await call.open();
                await comes(row, peer, call, 4);
            });
        }

        test(`cancelled call: the backend ${
            cancel === 'later' ? 'can still finish' : 'is aborted'}`,
             async () => {
            const controller = new AbortController();
            const call = counting(peer, 3, { signal: controller.signal });

            await call.started;
            await call.reached(1);
            controller.abort();
            await assert.rejects(call.result);

            if (cancel === 'later') {
                await call.open();
            }

            const counter = cancel === 'later' ? 'finished' : 'aborted';
            const counters = await peer.session.running(call.gate, counter, 1);

            assert.equal(counters[counter], 1);
        });
    });
}


test('mcp_reconnect_wait 200ms, client cancels its call: the backend is aborted',
     async () => {
    const peer = await at(servers['mcp_reconnect_wait 200ms'],
                          { name: 'TypeScript client 2.4.0, auto' });
    const controller = new AbortController();
    const call = counting(peer, 3, { signal: controller.signal });

    await call.started;
    await call.reached(1);
    controller.abort();
    await assert.rejects(call.result);
    assert.equal((await peer.session.running(call.gate, 'aborted', 1)).aborted,
                 1);
    await peer.end();
});
