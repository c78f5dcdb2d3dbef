// SPDX-License-Identifier: Apache-2.0

// The answers of a server, byte for byte, with names in place of the values
// that differ in each run.

import net from 'node:net';


// Returns the body of an answer without its transfer coding. complete: whether
// all of it has arrived.

function bodyOf(rest, head) {
    if (!/^transfer-encoding: *chunked/im.test(head)) {
        const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);

        return { body: rest.subarray(0, length),
                 complete: rest.length >= length };
    }

    const parts = [];

    for (let at = 0; ;) {
        const end = rest.indexOf('\r\n', at);

        if (end === -1) {
            return { body: Buffer.concat(parts), complete: false };
        }

        const size = parseInt(rest.toString('latin1', at, end), 16);

        if (size === 0) {
            return { body: Buffer.concat(parts), complete: true };
        }

        parts.push(rest.subarray(end + 2, end + 2 + size));
        at = end + 2 + size + 2;
    }
}

// Returns the first n SSE blocks, or undefined if fewer have arrived.

function firstBlocks(body, n) {
    const text = body.toString();
    let at = 0;

    for (let i = 0; i < n; i++) {
        at = text.indexOf('\n\n', at) + 2;

        if (at === 1) {
            return undefined;
        }
    }

    return text.slice(0, at);
}


// Sends a request on a connection of its own. Returns { head, body } as text.
// blocks: the number of SSE blocks to read.

export function exchange(port, { method, path, headers, body, blocks }) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1');
        const all = [];
        const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body ?? '');

        const look = (ended) => {
            const buffer = Buffer.concat(all);
            const end = buffer.indexOf('\r\n\r\n');

            if (end === -1) {
                if (ended) {
                    reject(new Error('closed before the response head'));
                }

                return;
            }

            const head = buffer.toString('latin1', 0, end);
            const got = method === 'HEAD'
                ? { body: Buffer.alloc(0), complete: true }
                : bodyOf(buffer.subarray(end + 4), head);
            const sse = /^content-type: *text\/event-stream/im.test(head);
            const first = sse && blocks !== undefined
                ? firstBlocks(got.body, blocks) : undefined;

            if (got.complete || first !== undefined || ended) {
                socket.destroy();
                resolve({ head, sse, body: first ?? got.body.toString() });
            }
        };

        socket.on('data', (data) => {
            all.push(data);

            // long answers are parsed only at their end

            if (data.length < 65536) {
                look(false);
            }
        });
        socket.on('error', reject);
        socket.on('close', () => look(true));
        socket.write(`${method} ${path} HTTP/1.1\r\n${Object.entries({
            Host: `127.0.0.1:${port}`,
            Connection: 'close',
            ...(method !== 'GET' && { 'Content-Length': bytes.length }),
            ...headers,
        }).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
        socket.write(bytes);
    });
}


// The values that become names: the kind, and a pattern whose group is the
// value. All other occurrences of the value are replaced, too.

const NAMED = [
    ['session', /^mcp-session-id: (.+)$/gim],
    ['stream', /^id: (.+)\.\d+$/gm],
    ['stream', /"id":"([\w-]{22})\.\d+","method"/g],
    ['page', /"nextResumeToken":"([^"]+)"/g],
    ['cursor', /"nextCursor":"([^"]+)"/g],
    ['call', /\\?"MCP_CALL\\?":\\?"([^"\\]+)/g],
    ['session of a call', /\\?"MCP_SESSION\\?":\\?"([^"\\]+)/g],
    ['door', /\/publish\/([\w.-]{20,})/g],
];

// Values that differ in each run and have no meaning

const BLANK = [
    [/^(date|server|x-worker): .*$/gim, '$1: <$1>'],
    [/(\\?"(?:worker|MCP_WORKER)\\?":(?:\\?")?)\d+/g, '$1<pid>'],
    [/(.)\1{999,}/gs, (run, letter) => `<${letter} * ${run.length}>`],
];


export class Normal {
    constructor(port) {
        this.port = port;
        this.names = new Map();
        this.counts = new Map();
    }

    name(kind, value) {
        if (!this.names.has(value)) {
            const n = (this.counts.get(kind) ?? 0) + 1;

            this.counts.set(kind, n);
            this.names.set(value, `<${kind} ${n}>`);
        }
    }

    text(text) {
        for (const [kind, pattern] of NAMED) {
            for (const [, value] of text.matchAll(pattern)) {
                this.name(kind, value);
            }
        }

        // longer values first: one value may be part of another

        for (const value of [...this.names.keys()].sort(
            (a, b) => b.length - a.length))
        {
            text = text.replaceAll(value, this.names.get(value));
        }

        for (const [pattern, instead] of BLANK) {
            text = text.replace(pattern, instead);
        }

        return text.replaceAll(`:${this.port}`, ':<port>');
    }

    // Returns lines: the head, an empty line, the body. An error page that the
    // server itself made is replaced. The header "Connection" is moved to the
    // end, because its position varies in Apache.

    answer({ head, body }, method) {
        const length = /^content-length: *(\d+)$/im.exec(head)?.[1];
        const page = /^content-type: *text\/html/im.test(head);
        const right = method !== 'HEAD' && Buffer.byteLength(body)
                                           === Number(length);

        head = this.text(head.replaceAll('\r\n', '\n')).replace(
            /^(content-length): .*$/gim,
            `$1: <${right ? 'right' : page || method === 'HEAD'
                ? 'length' : 'wrong'}>`)
            .replace(/^(Connection: .*)\n([^]*)$/m, '$2\n$1');

        return [...head.split('\n'), '',
                ...(page ? ['<page>'] : this.text(body).split('\n'))];
    }
}
