// SPDX-License-Identifier: Apache-2.0

// HTTP/1.1 by hand: one request per connection, a body that can be cut after
// any byte, and an SSE parser that keeps each block as it was sent.

import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';

// A test fails if its connection is silent for this time in ms: a lost event is
// then reported with the name of the test, and not only with that of its file.

const SILENCE = 300_000;


// Parses a stream of bytes block by block. A block has only the fields that
// were sent, so that an empty `data` field differs from a missing one.

export class SseParser {
    constructor(emit) {
        this.emit = emit;
        this.rest = Buffer.alloc(0);
        this.block = {};
    }

    write(bytes) {
        let at = 0;
        let end;

        bytes = this.rest.length ? Buffer.concat([this.rest, bytes]) : bytes;

        while ((end = bytes.indexOf(10, at)) !== -1) {
            this.line(bytes.toString('utf8', at, end).replace(/\r$/, ''));
            at = end + 1;
        }

        this.rest = Buffer.from(bytes.subarray(at));
    }

    line(line) {
        if (line === '') {
            if (Object.keys(this.block).length) {
                this.emit(this.block);
            }

            this.block = {};
            return;
        }

        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);

        if (name === 'data' && 'data' in this.block) {
            this.block.data += `\n${value}`;
        } else {
            this.block[name || 'comment'] = value;
        }
    }
}


// Parses the head, then the body in either transfer coding.

class Body {
    constructor(onHead, onData, onEnd) {
        Object.assign(this, { onHead, onData, onEnd });
        this.rest = Buffer.alloc(0);
        this.state = 'head';
        this.left = 0;
    }

    write(bytes) {
        this.rest = this.rest.length ? Buffer.concat([this.rest, bytes])
                                     : bytes;

        while (this.state !== 'done' && this[this.state]());
    }

    head() {
        const end = this.rest.indexOf('\r\n\r\n');

        if (end === -1) {
            return false;
        }

        const [first, ...lines] = this.rest.toString('latin1', 0, end)
            .split('\r\n');
        const headers = {};

        for (const line of lines) {
            const [, name, value] = /^([^:]+):\s*(.*)$/.exec(line);
            const key = name.toLowerCase();

            headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
        }

        this.rest = this.rest.subarray(end + 4);
        this.onHead(Number(first.split(' ')[1]), headers);

        if (headers['transfer-encoding'] === 'chunked') {
            this.state = 'size';
        } else {
            this.left = Number(headers['content-length'] ?? 0);
            this.state = 'plain';
        }

        return true;
    }

    plain() {
        this.take();

        if (this.left === 0) {
            this.finish();
        }

        return false;
    }

    size() {
        const end = this.rest.indexOf('\r\n');

        if (end === -1) {
            return false;
        }

        this.left = parseInt(this.rest.toString('latin1', 0, end), 16);
        this.last = this.left === 0;
        this.rest = this.rest.subarray(end + 2);
        this.state = 'chunk';

        return true;
    }

    chunk() {
        this.take();

        if (this.left || this.rest.length < 2) {
            return false;
        }

        this.rest = this.rest.subarray(2);
        this.state = 'size';

        if (this.last) {
            this.finish();
        }

        return true;
    }

    take() {
        const part = this.rest.subarray(0, this.left);

        this.rest = this.rest.subarray(part.length);
        this.left -= part.length;

        if (part.length) {
            this.onData(part);
        }
    }

    finish() {
        this.state = 'done';
        this.onEnd();
    }
}


// An answer whose head has arrived. `ending` becomes 'end' (the whole body),
// 'cut' (by the test), 'lost' (by the server, within the body) or 'silent' (no
// bytes for SILENCE ms, an error); `lastId` is the id of the last event that was
// taken.

export class Answer {
    constructor(socket, cut) {
        this.socket = socket;
        this.cut = cut;
        this.bytes = 0;
        this.chunks = [];
        this.queue = [];
        this.blocks = [];
        this.wake = () => {};
        this.ended = new Promise((resolve) => { this.resolveEnd = resolve; });
        this.parser = new SseParser((block) => {
            this.queue.push(block);
            this.blocks.push(block);
        });
    }

    head(status, headers) {
        this.status = status;
        this.headers = headers;
        this.type = (headers['content-type'] ?? '').split(';')[0].trim();
        this.sse = this.type === 'text/event-stream';
    }

    data(bytes) {
        if (this.ending) {
            return;
        }

        const part = this.cut === undefined ? bytes
            : bytes.subarray(0, this.cut - this.bytes);

        this.bytes += part.length;

        if (this.sse) {
            this.parser.write(part);
        } else {
            this.chunks.push(Buffer.from(part));
        }

        if (this.bytes === this.cut) {
            this.close();
        }

        this.wake();
    }

    end(how) {
        if (!this.ending) {
            this.ending = how;
            this.resolveEnd(how);
            this.wake();
        }
    }

    // Drops the connection. Bytes that arrive later are ignored.

    close() {
        this.end('cut');
        this.socket.destroy();
    }

    pause() {
        this.socket.pause();
    }

    resume() {
        this.socket.resume();
    }

    // Returns the next SSE block, or null at the end.

    async block() {
        while (!this.queue.length) {
            assert.notEqual(this.ending, 'silent', `no bytes for ${SILENCE} ms`);

            if (this.ending) {
                return null;
            }

            await new Promise((resolve) => { this.wake = resolve; });
        }

        const block = this.queue.shift();

        this.lastId = block.id ?? this.lastId;

        return block;
    }

    // Returns the next JSON-RPC message of the stream, or null at the end.

    async message() {
        for (let block; (block = await this.block());) {
            if (block.data) {
                return { ...JSON.parse(block.data), eventId: block.id };
            }
        }

        return null;
    }

    async text() {
        assert.notEqual(await this.ended, 'silent', `no bytes for ${SILENCE} ms`);
        return Buffer.concat(this.chunks).toString();
    }

    async json() {
        return JSON.parse(await this.text());
    }
}


// cut: the number of body bytes after which the connection is dropped; lose:
// drops the connection after that many ms, or once that promise is resolved;
// localAddress: the address of the client

export function request(port, { method = 'POST', path = '/mcp', headers = {},
                                body = '', cut, lose, secure,
                                localAddress } = {}) {
    return new Promise((resolve, reject) => {
        const socket = secure
            ? tls.connect({ port, host: '127.0.0.1',
                            rejectUnauthorized: false })
            : net.connect({ port, host: '127.0.0.1', localAddress });
        const answer = new Answer(socket, cut);
        const reader = new Body((status, fields) => {
            answer.head(status, fields);
            resolve(answer);
        }, (data) => answer.data(data), () => {
            answer.end('end');
            socket.end();
        });
        const lines = Object.entries({
            Host: `127.0.0.1:${port}`,
            Connection: 'close',
            ...(method !== 'GET' && {
                'Content-Length': Buffer.byteLength(body) }),
            ...headers,
        }).map(([name, value]) => `${name}: ${value}\r\n`);

        socket.setNoDelay(true);
        socket.on('data', (bytes) => reader.write(bytes));
        socket.on('error', (error) => {
            answer.end('lost');
            reject(error);
        });
        socket.on('close', () => {
            answer.end('lost');
            reject(new Error('closed before the response head'));
        });
        socket.setTimeout(SILENCE, () => {
            answer.end('silent');
            socket.destroy(new Error(`no bytes for ${SILENCE} ms`));
        });
        socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
                     + body);

        if (typeof lose === 'number') {
            setTimeout(() => answer.close(), lose);
        } else {
            lose?.then(() => answer.close());
        }
    });
}


// Sends a request over HTTP/2, as a stream of a node:http2 client.

export function request2(client, { method = 'POST', path = '/mcp',
                                   headers = {}, body = '', cut,
                                   lose } = {}) {
    return new Promise((resolve, reject) => {
        const stream = client.request({ ':method': method, ':path': path,
                                        ...headers },
                                      { endStream: body === '' });
        const answer = new Answer(stream, cut);

        stream.on('response', ({ ':status': status, ...fields }) => {
            answer.head(status, fields);

            // only after the head: 'data' may be emitted before it

            stream.on('data', (bytes) => answer.data(bytes));
            stream.on('end', () => answer.end('end'));
            resolve(answer);
        });
        stream.on('error', (error) => {
            answer.end('lost');
            reject(error);
        });
        stream.on('close', () => {
            answer.end('lost');
            reject(new Error('closed before the response head'));
        });

        if (body !== '') {
            stream.end(body);
        }

        if (typeof lose === 'number') {
            setTimeout(() => answer.close(), lose);
        } else {
            lose?.then(() => answer.close());
        }
    });
}
