// SPDX-License-Identifier: Apache-2.0

// A name server that has only one address, 127.0.0.1.

import dgram from 'node:dgram';
import { once } from 'node:events';

const TYPE_A = 1;
const NO_SUCH_NAME = 3;


/*
 *   known      whether any name resolves
 *   asked      the number of questions so far
 */

export class NameServer {
    static async start() {
        const dns = new NameServer();

        dns.known = true;
        dns.asked = 0;
        dns.socket = dgram.createSocket('udp4');
        dns.socket.on('message', (message, from) => {
            dns.asked++;
            dns.socket.send(dns.answer(message), from.port, from.address);
        });
        dns.socket.bind(0, '127.0.0.1');
        await once(dns.socket, 'listening');
        dns.port = dns.socket.address().port;

        return dns;
    }

    // a question: a head of 12 bytes, labels up to an empty one, type, class

    answer(message) {
        const end = message.indexOf(0, 12) + 5;
        const type = message.readUInt16BE(end - 4);
        const found = this.known && type === TYPE_A;
        const head = Buffer.alloc(12);

        message.copy(head, 0, 0, 2);
        head.writeUInt16BE(0x8180 | (this.known ? 0 : NO_SUCH_NAME), 2);
        head.writeUInt16BE(1, 4);
        head.writeUInt16BE(found ? 1 : 0, 6);

        // the name is a pointer to the question's; class 1, TTL 1 second, 4
        // bytes

        const record = Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 1,
                                    0, 4, 127, 0, 0, 1]);

        return Buffer.concat([head, message.subarray(12, end),
                              ...(found ? [record] : [])]);
    }

    stop() {
        this.socket.close();
    }
}
