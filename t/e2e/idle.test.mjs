// SPDX-License-Identifier: Apache-2.0

// 10,000 sessions listen idly at one worker, then a message is published to
// all. IDLE_STREAMS sets the number.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { SANITIZED, listening, many, memory, sessions, settle, status }
    from './lib/load.mjs';

// Each connection needs a file here and one at the worker. nginx closes new and
// idle connections when less than a sixteenth of its connections is free.

const limit = Number(/^Max open files +\S+ +(\d+)/m.exec(
    await fs.readFile('/proc/self/limits', 'utf8'))?.[1] ?? 4096);
const n = Math.min(Number(process.env.IDLE_STREAMS
                          ?? (SANITIZED ? 1000 : 10000)), Math.floor(limit / 1.25) - 512);

process.env.FIXTURE_LOG ??= 'warn';
process.env.FIXTURE_CONNECTIONS = String(Math.ceil(n * 1.25) + 512);

const server = await Fixture.use({
    workers: 1,
    zone: '128m',
    location: { mcp_close_after: 'off', mcp_keepalive: 'off',
                mcp_quota_key: 'off' },
});
const session = await server.session();

const TOOLS = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
const PROMPTS = { jsonrpc: '2.0',
                  method: 'notifications/prompts/list_changed' };


// A listener counts its messages by method; `opened` is resolved when its
// stream begins.

class Listener {
    constructor(id) {
        this.received = new Map();
        this.text = '';
        this.opened = new Promise((resolve, reject) => {
            Object.assign(this, { resolve, reject });
        });
        this.socket = listening(server.port, id);
        this.socket.on('data', (text) => this.take(text));
        this.socket.on('error', (error) => this.reject(error));
        this.socket.on('close', () => {
            this.closed = true;
            this.reject(new Error('closed'));
        });
    }

    take(text) {
        const blocks = (this.text + text).split('\n\n');

        this.text = blocks.pop();

        for (const block of blocks) {
            const method = /"method":"([^"]+)"/.exec(block)?.[1];

            if (method) {
                this.received.set(method, (this.received.get(method) ?? 0) + 1);
            } else if (/^HTTP\/1.1 200 /.test(block)
                       && /^id: /m.test(block))
            {
                this.resolve();
            }
        }
    }
}


const threads = SERVER === 'apache'
    && (process.env.FIXTURE_MPM ?? 'event') !== 'event'
    && 'an idle stream holds a thread with this MPM';

test(`${n} idle session streams: calls are answered, each stream gets two published notifications`,
     { skip: threads }, async (t) => {
    const ids = await sessions(server.port, n);

    assert.equal(new Set(ids).size, n);

    const before = await memory(server);
    const { zone_used_bytes: used } = await status(server);
    const listeners = [];
    let at = Date.now();

    await many(n, 64, async (i) => {
        listeners.push(new Listener(ids[i]));
        await listeners.at(-1).opened;
    });

    const opened = Date.now() - at;
    const held = await status(server);

    assert.equal(held.consumers_active, n);
    assert.equal(held.listeners, n);

    const private_kb = await memory(server) - before;
    const zone = held.zone_used_bytes - used;

    // other clients are served

    at = Date.now();

    for (let i = 0; i < 50; i++) {
        assert.ok(await session.tool('test_simple_text'));
    }

    const served = Date.now() - at;

    // each listener gets each message once

    const all = (method) => async () => ({
        n: listeners.filter((l) => l.received.has(method)).length });

    at = Date.now();
    await session.tool('publish', { message: TOOLS });
    assert.deepEqual(await settle(all(TOOLS.method), { n }), { n });

    const published = Date.now() - at;

    await session.tool('publish', { message: PROMPTS });
    assert.deepEqual(await settle(all(PROMPTS.method), { n }), { n });
    assert.ok(listeners.every((l) => !l.closed && l.received.size === 2
                              && l.received.get(TOOLS.method) === 1
                              && l.received.get(PROMPTS.method) === 1));

    t.diagnostic(`${n} streams open after ${opened} ms; each `
        + `${(private_kb / n).toFixed(2)} KB of the worker's memory and `
        + `${Math.round(zone / n)} bytes of the zone; 50 calls besides in `
        + `${served} ms; a message reached all in ${published} ms`);

    listeners.forEach((l) => l.socket.destroy());

    const after = await settle(() => status(server), { consumers_active: 0 });

    assert.equal(after.consumers_active, 0);
    assert.equal(after.repairs, 0);
});
