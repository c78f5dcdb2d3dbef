// SPDX-License-Identifier: Apache-2.0

// A balancer that sends each request to the next node. It passes all bytes on
// unchanged and at once. When one side closes its connection, the balancer
// closes the other one.

import { once } from 'node:events';
import net from 'node:net';


// Finds the end of an HTTP message in the bytes that arrive, before and after
// its head is complete.

class Message {

    // bodiless: the response to a HEAD request, which has no body

    constructor({ isResponse = false, bodiless = false } = {}) {
        Object.assign(this, { isResponse, bodiless, done: false, lines: [],
                              line: '', state: this.head });
    }

    // Returns the number of leading bytes that belong to the message: all of
    // them unless the message ends among them.

    take(bytes) {
        let at = 0;

        while (!this.done && at < bytes.length) {
            if (this.left > 0) {
                const size = Math.min(this.left, bytes.length - at);

                this.left -= size;
                at += size;
                this.done = this.left === 0 && this.state === null;
                continue;
            }

            const end = bytes.indexOf(10, at) + 1;

            this.line += bytes.toString('latin1', at, end || bytes.length);
            at = end || bytes.length;

            if (end) {
                const line = this.line.trimEnd();

                this.line = '';
                this.state(line);
            }
        }

        return at;
    }

    head(line) {
        if (line !== '') {
            this.lines.push(line);
            return;
        }

        const [, status] = this.lines[0].split(' ').map(Number);

        // an interim response: the final one follows

        if (this.isResponse && status < 200) {
            this.lines = [];
            return;
        }

        const length = this.field('content-length');

        this.closes = /close/i.test(this.field('connection'));

        if (this.bodiless
            || (this.isResponse && (status === 204 || status === 304)))
        {
            this.done = true;
        } else if (/chunked/i.test(this.field('transfer-encoding'))) {
            this.state = this.size;
        } else if (length === undefined && this.isResponse) {
            this.left = Infinity;
            this.closes = true;
        } else {
            this.left = Number(length ?? 0);
            this.state = null;
            this.done = this.left === 0;
        }
    }

    field(name) {
        return this.lines.map((line) => line.split(/:\s*/))
            .find(([of]) => of.toLowerCase() === name)?.[1];
    }

    get isHead() {
        return this.lines[0]?.startsWith('HEAD ');
    }

    // the next line is a chunk size, the rest of a chunk, or a trailer

    size(line) {
        this.left = parseInt(line, 16);
        this.state = this.left ? this.chunkEnd : this.trailer;
    }

    chunkEnd() {
        this.state = this.size;
    }

    trailer(line) {
        this.done = line === '';
    }
}


// A client's connection. It carries one request at a time; each request goes
// over a new connection to the next node.

class Lane {
    constructor(client, nextPort) {
        Object.assign(this, { client, nextPort, behind: [] });
        client.setNoDelay(true);
        client.on('data', (bytes) => this.ask(bytes));
        client.on('end', () => (this.node ?? client).end());
        client.on('drain', () => this.node?.resume());
        client.on('error', () => {});
        client.on('close', () => this.node?.destroy());
    }

    ask(bytes) {
        if (this.request?.done) {
            this.behind.push(bytes);
            return;
        }

        if (!this.request) {
            this.begin();
        }

        const own = this.request.take(bytes);

        if (!this.node.write(bytes.subarray(0, own))) {
            this.client.pause();
        }

        if (own < bytes.length) {
            this.behind.push(bytes.subarray(own));
        }
    }

    begin() {
        const node = net.connect({ port: this.nextPort(), host: '127.0.0.1',
                                   allowHalfOpen: true });

        this.request = new Message();
        this.response = null;
        this.node = node;
        node.setNoDelay(true);
        node.on('data', (bytes) => this.answer(node, bytes));
        node.on('drain', () => this.client.resume());
        node.on('error', () => this.leave(node, () =>
            this.client.resetAndDestroy()));
        node.on('end', () => this.leave(node, () => this.client.end()));
        node.on('close', () => this.leave(node, () => this.client.end()));
    }

    answer(node, bytes) {
        if (this.node !== node) {
            return;
        }

        this.response ??= new Message({ isResponse: true,
                                        bodiless: this.request.isHead });

        const own = this.response.take(bytes);

        if (!this.client.write(bytes.subarray(0, own))) {
            node.pause();
        }

        if (this.response.done) {
            this.over(node);
        }
    }

    over(node) {
        const { request, response, behind } = this;

        this.node = this.request = undefined;
        node.destroy();

        if (request.closes || response.closes || !request.done
            || this.client.readableEnded)
        {
            this.client.end();
            return;
        }

        this.client.resume();
        this.behind = [];
        behind.forEach((bytes) => this.ask(bytes));
    }

    // the node closed its connection before its answer was complete

    leave(node, tell) {
        if (this.node === node) {
            this.node = undefined;
            node.destroy();
            tell();
        }
    }
}


export class Balancer {
    static async start(port, nodes) {
        const balancer = new Balancer();
        let turn = 0;

        balancer.clients = new Set();
        balancer.server = net.createServer({ allowHalfOpen: true },
            (client) => {
                balancer.clients.add(client);
                client.on('close', () => balancer.clients.delete(client));
                new Lane(client, () => nodes[turn++ % nodes.length]);
            });
        balancer.server.listen({ port, host: '127.0.0.1', backlog: 4096 });
        await once(balancer.server, 'listening');

        return balancer;
    }

    async stop() {
        this.clients.forEach((client) => client.destroy());
        this.server.close();
        await once(this.server, 'close');
    }
}
