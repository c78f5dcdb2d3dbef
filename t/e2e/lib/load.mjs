// SPDX-License-Identifier: Apache-2.0

// Loads of thousands of requests: kept connections, memory of workers, counters
// of the server.

import fs from 'node:fs/promises';
import net from 'node:net';
import { request } from './wire.mjs';

// sanitizers keep freed memory, so the memory of workers shows nothing

export const SANITIZED = process.env.ASAN_OPTIONS !== undefined;


// the generator mulberry32

export function random(state) {
    return () => {
        state = (state + 0x6d2b79f5) | 0;

        let t = Math.imul(state ^ (state >>> 15), 1 | state);

        t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);

        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}


export function post(session, message) {
    const body = JSON.stringify(message);
    const lines = Object.entries(session.headers({
        Host: `127.0.0.1:${session.port}`,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
    })).map(([name, value]) => `${name}: ${value}\r\n`);

    return Buffer.from(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}


// A connection that sends one request at a time. If a slow machine turns an
// answer into a stream, the connection closes after it.

const CLOSES = /^HTTP(?:.+\r\n)+connection: *close\r\n(?:.+\r\n)*\r\n/i;

export class KeepAlive {
    constructor(port) {
        this.port = port;
    }

    connect() {
        this.text = '';
        this.socket = net.connect(this.port, '127.0.0.1');
        this.socket.setNoDelay(true);
        this.socket.setEncoding('latin1');
        this.socket.on('data', (text) => {
            this.text += text;
            this.look();
        });
        this.socket.on('error', (error) => this.reject?.(error));
        this.socket.on('close', () => {
            this.socket = undefined;

            if (CLOSES.test(this.text)) {
                this.answered(this.text.indexOf('\r\n\r\n'));
            } else {
                this.reject?.(new Error('connection closed'));
            }
        });
    }

    look() {
        const end = this.text.indexOf('\r\n\r\n');

        if (end === -1 || CLOSES.test(this.text)) {
            return;
        }

        const head = this.text.slice(0, end);
        const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
        const body = this.text.slice(end + 4);

        if (length === undefined ? /(^|\r\n)0\r\n\r\n$/.test(body)
                                 : body.length >= Number(length))
        {
            this.answered(end);
        }
    }

    answered(end) {
        const { resolve, text } = this;
        const head = text.slice(0, end);

        this.text = '';
        this.resolve = this.reject = undefined;
        resolve?.({ status: Number(head.split(' ')[1]), head,
                    body: text.slice(end + 4) });
    }

    ask(bytes) {
        if (!this.socket) {
            this.connect();
        }

        return new Promise((resolve, reject) => {
            Object.assign(this, { resolve, reject });
            this.socket.write(bytes);
        });
    }

    close() {
        this.socket?.destroy();
    }
}


// Opens n sessions and returns their ids.

export async function sessions(port, n) {
    const lanes = Array.from({ length: 16 }, () => new KeepAlive(port));
    const hello = post({ port, headers: (extra) => ({
        Accept: 'application/json, text/event-stream', ...extra }) }, {
        jsonrpc: '2.0', id: 0, method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {},
                  clientInfo: { name: 'load', version: '1' } } });
    const ids = [];

    await many(n, lanes.length, async (_, lane) => {
        const { head } = await lanes[lane].ask(hello);

        ids.push(/^mcp-session-id: *(\S+)/im.exec(head)[1]);
    });

    lanes.forEach((lane) => lane.close());

    return ids;
}

// Opens a connection with the GET stream of a session.

export function listening(port, id) {
    const socket = net.connect(port, '127.0.0.1');

    socket.setEncoding('latin1');
    socket.write(`GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`
        + 'Accept: text/event-stream\r\n'
        + 'Mcp-Protocol-Version: 2025-11-25\r\n'
        + `Mcp-Session-Id: ${id}\r\n\r\n`);

    return socket;
}


// Calls `job` n times, `width` calls at once.

export async function many(n, width, job) {
    let i = 0;

    await Promise.all(Array.from({ length: Math.min(n, width) },
        async (_, lane) => {
            while (i < n) {
                await job(i++, lane);
            }
        }));
}


// Polls until `state` returns an object whose values equal those of `expected`.

export async function settle(state, expected, ms = 60000) {
    const until = Date.now() + ms;

    for (;;) {
        const now = await state();

        if (Object.entries(expected).every(([k, v]) => now[k] === v)
            || Date.now() > until)
        {
            return now;
        }

        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
}


// for several nodes: the sums of their values

export async function status(fixture) {
    if (fixture.all) {
        const [first, ...others] = await fixture.each(status);

        return Object.fromEntries(Object.entries(first).map(([name, value]) =>
            [name, typeof value === 'number'
                ? others.reduce((sum, other) => sum + other[name], value)
                : value]));
    }

    return (await request(fixture.port, { method: 'GET',
        path: '/status?format=json' })).json();
}

// Returns the server's own counters of connections. They equal fixture.is.idle
// when the asking connection is the only one.

export async function connections(fixture) {
    const text = await (await request(fixture.port, {
        method: 'GET', path: fixture.is.counters })).text();

    return fixture.is.count(text);
}


// Returns the private memory of the workers in KB. The pages of the shared zone
// are left out: a page that only one worker has touched so far would count as
// private.

export async function memory(fixture) {
    let total = 0;

    for (const pid of await fixture.workers()) {
        const smaps = await fs.readFile(`/proc/${pid}/smaps`, 'utf8');

        for (const map of smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
            if (!map.includes('/dev/zero')) {
                total += Number(/^Private_Dirty: +(\d+)/m.exec(map)?.[1] ?? 0);
            }
        }
    }

    return total;
}
