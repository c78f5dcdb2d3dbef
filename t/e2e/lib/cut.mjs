// SPDX-License-Identifier: Apache-2.0

// A proxy between a server and Redis, which can count, stall and close
// connections.

import { once } from 'node:events';
import net from 'node:net';
import { until } from './redis.mjs';


/*
 *   connects      the number of connections so far
 *   held          bytes from Redis wait here until release()
 *   cutAfter      each connection closes after this number of bytes from Redis
 *   refused       each connection is closed at once
 *   target        the port that new connections lead to
 */

export class Cut {
    static async start(port) {
        const cut = new Cut();

        cut.connects = 0;
        cut.target = port;
        cut.held = false;
        cut.refused = false;
        cut.cutAfter = Infinity;
        cut.pairs = new Set();
        cut.server = net.createServer((client) => cut.join(client));
        cut.server.listen(0, '127.0.0.1');
        await once(cut.server, 'listening');
        cut.port = cut.server.address().port;

        return cut;
    }

    join(client) {
        this.connects++;

        if (this.refused) {
            client.destroy();
            return;
        }

        const redis = net.connect(this.target, '127.0.0.1');
        const pair = { client, redis, bytes: 0, waiting: [] };

        this.pairs.add(pair);

        for (const socket of [client, redis]) {
            socket.on('error', () => {});
            socket.on('close', () => this.close(pair));
        }

        client.on('data', (data) => redis.write(data));
        redis.on('data', (data) => this.pass(pair, data));
    }

    pass(pair, data) {
        if (this.held) {
            pair.waiting.push(data);
            return;
        }

        const room = this.cutAfter - pair.bytes;

        pair.bytes += data.length;

        if (data.length <= room) {
            pair.client.write(data);
            return;
        }

        pair.client.end(data.subarray(0, Math.max(room, 0)));
        pair.redis.destroy();
    }

    close(pair) {
        pair.client.destroy();
        pair.redis.destroy();
        this.pairs.delete(pair);
    }

    // Stalls the bytes that come next from Redis.

    hold() {
        this.held = true;
    }

    release() {
        this.held = false;

        for (const pair of this.pairs) {
            pair.waiting.splice(0).forEach((data) => this.pass(pair, data));
        }
    }

    // Closes all connections.

    drop() {
        [...this.pairs].forEach((pair) => this.close(pair));
    }

    // Waits for n more connections.

    more(n) {
        const before = this.connects;

        return until(() => this.connects >= before + n);
    }

    async stop() {
        this.drop();
        this.server.close();
        await once(this.server, 'close');
    }
}
