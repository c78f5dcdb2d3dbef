// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { assertCounted, counted } from './session.mjs';

let gates = 0;


// A call at one node that counts to n as far as its gate is open, with a client
// that may read the stream at any node.

export class Counting {
    // before: called before the call, after the call that opens its gate

    static async start(session, n, limit = n, before = () => {}) {
        const counting = new Counting();

        counting.session = session;
        counting.gate = `cluster ${process.pid} ${gates++}`;
        counting.n = n;
        counting.messages = [];
        await counting.open(limit);
        before();
        counting.answer = await session.call('count', { n,
                                                        gate: counting.gate });
        counting.id = counting.answer.id;

        return counting;
    }

    // Lets the call count to `limit`. If limit is n or more, the call runs to
    // its end.

    open(limit) {
        return this.session.open(this.gate, limit < this.n ? limit : undefined);
    }

    // Reads `count` more messages.

    async read(count) {
        const more = this.messages.length + count;

        while (this.messages.length < more) {
            const message = await this.answer.message();

            assert.ok(message, `ends after ${this.messages.length} messages`);
            this.take(message);
        }
    }

    take(message) {
        this.lastId = this.answer.lastId;

        if (message.method === undefined) {
            assert.equal(message.id, this.id);
            this.response = message.error ? undefined : message;
            this.error = message.error;
        } else {
            this.messages.push(message);
        }
    }

    // Resumes the stream at a node. An answer of 503 is retried, as a client
    // does: on a slow machine, Redis may take longer than a request waits.

    async resume(remote, { leave = true } = {}) {
        if (leave) {
            this.answer.close();
        }

        do {
            this.answer = await remote.get(this.lastId);
        } while (this.answer.status === 503);

        assert.equal(this.answer.status, 200);
    }

    // Reads the rest of the stream and checks all of it.

    async finish() {
        for (let message; (message = await this.answer.message());) {
            this.take(message);
        }

        assertCounted(counted(this.messages), this.n);
        assert.ok(this.response?.result, 'its response');
    }
}
