// SPDX-License-Identifier: Apache-2.0

// What a server answers, byte for byte, with names in place of what is
// different in every run.

import net from 'node:net';


// The body of an answer without its transfer coding; complete: 1 if all of it
// is there.

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

// the first n SSE blocks, or undefined if there are fewer yet

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


// A request on a connection of its own: { head, body } as text.  Of SSE so many
// blocks, if that is given.

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
            const first = sse && blocks && firstBlocks(got.body, blocks);

            if (got.complete || first || ended) {
                socket.destroy();
                resolve({ head, sse, body: first || got.body.toString() });
            }
        };

        socket.on('data', (data) => {
            all.push(data);

            // long answers are looked at when they end

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


// What becomes a name: where it stands, as one group, and its kind.  All that
// is equal to it elsewhere gets the name, too.

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

// What is different and means nothing

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

        // one may be part of another

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

    // lines: the head, an empty one, the body.  A page for an error that the
    // server itself has found is not looked at; where "Connection" stands is
    // a matter of time in Apache.

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
