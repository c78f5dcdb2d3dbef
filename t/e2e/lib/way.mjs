// SPDX-License-Identifier: Apache-2.0

// The path between a client and a server: a TCP proxy that can be cut at any
// moment and that parses the data. revision: that of the last
// MCP-Protocol-Version header, or the one in the result of initialize.

import { once } from 'node:events';
import net from 'node:net';


export class Way {

    // Starts a proxy that connects its clients to this port.

    static async open(port) {
        const way = new Way();

        way.target = port;
        way.pairs = new Set();
        way.waiting = [];
        way.server = net.createServer((client) => way.join(client));
        way.server.listen(0, '127.0.0.1');
        await once(way.server, 'listening');
        way.url = `http://127.0.0.1:${way.server.address().port}/mcp`;

        return way;
    }

    join(client) {
        const server = net.connect(this.target, '127.0.0.1');
        const pair = { client, server, request: '', text: '' };

        this.pairs.add(pair);

        for (const socket of [client, server]) {
            socket.on('error', () => {});
            socket.on('close', () => this.drop(pair));
        }

        client.on('data', (data) => {
            const [, revision] = /^mcp-protocol-version: *(\S+)/im.exec(
                data.toString('latin1')) ?? [];

            this.revision = revision ?? this.revision;

            if (pair.text) {
                pair.request = pair.text = '';
            }

            pair.request += data.toString('latin1');
            server.write(data);
        });
        server.on('data', (data) => {
            pair.text += data.toString('latin1');
            this.revision ??= /"protocolVersion":"([^"]+)"/.exec(pair.text)?.[1];
            client.write(data);
            this.waiting = this.waiting.filter((look) => !look(pair));
        });
        client.on('end', () => server.end());
        server.on('end', () => client.end());
    }

    drop(pair) {
        pair.client.destroy();
        pair.server.destroy();
        this.pairs.delete(pair);
    }

    // Resolves once an answer that arrives from now on, to a request that
    // contains the text `of`, matches the pattern.

    passes(pattern, of) {
        return new Promise((resolve) => {
            this.waiting.push(({ request, text }) => request.includes(of)
                                                     && pattern.test(text)
                                                     && (resolve(), true));
        });
    }

    // Cuts all connections with an event stream. The client sees a reset or a
    // FIN.

    cut(how) {
        for (const pair of [...this.pairs]) {
            if (!/^content-type: text\/event-stream/im.test(pair.text)) {
                continue;
            }

            this.pairs.delete(pair);
            pair.server.removeAllListeners('data');
            pair.server.removeAllListeners('end');
            pair.server.destroy();
            pair.client.removeAllListeners('close');

            if (how === 'reset') {
                pair.client.resetAndDestroy();
            } else {
                pair.client.end();
                pair.client.resume();
            }
        }
    }

    async close() {
        [...this.pairs].forEach((pair) => this.drop(pair));
        this.server.close();
        await once(this.server, 'close');
    }
}
