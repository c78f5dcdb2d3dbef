// SPDX-License-Identifier: Apache-2.0

// A call as the model has it: what its log must be, what its client has of it,
// and what the server may think that it has; and connections that read it.

import assert from 'node:assert/strict';
import { textOf } from './session.mjs';

const POLICY = 'notifications/requests/resumePolicy';
const CREATE = 'notifications/stream/create';
const END = 'notifications/stream/end';
const LATE = 30000;


// What an event must be; ids and tokens are the server's.

const SAYS = {
    policy: (m, call) => m.method === POLICY && m.params.requestId === call.id,
    create: (m, call) => m.method === CREATE && m.params.requestId === call.id,
    progress: (m, call, text) => m.method === 'notifications/progress'
        && m.params.message === text,
    question: (m, call, text) => m.method === 'elicitation/create'
        && m.params.message === text,
    response: (m, call, text) => m.method === undefined
        && m.error === undefined && textOf(m.result) === text,
};


export class Call {
    constructor(session, faces, args) {
        const { n, rounds, questions } = args;
        const log = [];

        Object.assign(this, { session, faces, args, log });
        log.push(undefined);

        if (faces.requests) {
            this.policy = { seq: log.push(['policy']) - 1 };
        }

        if (faces.streams) {
            this.create = { seq: log.push(['create']) - 1 };
        }

        this.heads = log.length - 1;

        for (let i = 0; i < (n ?? 0); i++) {
            log.push(['progress', String(i)]);
        }

        for (let r = 0; r < (rounds ?? 0); r++) {
            log.push(['progress', `round ${r}`]);

            for (let i = 0; i < questions; i++) {
                log.push(['question', `Question ${r}.${i}`]);
            }
        }

        if (rounds !== undefined) {
            log.push(['progress', `round ${rounds}`]);
        }

        log.push(['response', rounds === undefined ? `counted to ${n}`
            : `asked ${rounds} times: ${Array.from({ length: questions },
                (_, i) => `Question ${rounds - 1}.${i}`).join()}`]);

        this.length = log.length - 1;
        this.released = 0;             // of the gate
        this.answered = new Set();     // numbers of questions
        this.gave = false;             // answers, now or before
        this.seen = new Map();         // number of an event: what it says
        this.ids = new Set();          // numbers that came as event ids
        this.links = [];
        this.tokens = [];
        this.floor = [0, 0];           // dropped up to: surely, perhaps
        this.turn = [0, 0];            // links of turns before are spent
        this.confirmed = [0, 0];       // up to: surely, perhaps
        this.sent = [0, 0];            // according to the server
        this.newest = 0;               // the connection that has the stream
        this.completed = false;
        this.ghosts = 0;
    }

    // a request whose connection was dropped at once may come to the server
    // after those that follow it

    lost() {
        this.ghosts = Date.now() + 5000;
    }

    // its client has said that it has what is up to seq, or has used a link

    confirm(seq, surely) {
        this.confirmed[1] = Math.max(this.confirmed[1], seq);

        if (surely) {
            this.confirmed[0] = Math.max(this.confirmed[0], seq);
        }
    }

    use({ turn }, surely) {
        this.turn[1] = Math.max(this.turn[1], turn[1]);

        if (surely) {
            this.turn[0] = Math.max(this.turn[0], turn[0]);
        }
    }

    get perhaps() {
        return Date.now() < this.ghosts;
    }

    // how many events there are, or are about to be

    get available() {
        const { n, questions } = this.args;

        if (n !== undefined) {
            return this.heads + Math.min(this.released, n + 1);
        }

        const open = this.log.findIndex((e, i) => e?.[0] === 'question'
                                                  && !this.answered.has(i));

        if (open === -1) {
            return this.length;
        }

        const round = Math.floor((open - this.heads - 1) / (questions + 1));

        return this.heads + (round + 1) * (questions + 1);
    }

    get last() {
        return Math.max(0, ...this.seen.keys());
    }

    // the event ids that the client may send: up to there it has all

    get cursors() {
        let seq = 0;

        while (this.seen.has(seq + 1)) {
            seq++;
        }

        return [...this.ids].filter((id) => id <= seq);
    }

    // the server surely has got so far

    get settled() {
        return this.last === this.available;
    }

    get done() {
        return this.seen.has(this.length);
    }

    // questions that the client has and has not answered

    get open() {
        return [...this.seen.keys()].filter((seq) =>
            this.log[seq][0] === 'question' && !this.answered.has(seq));
    }

    // all questions are there and none is answered, or some

    get waits() {
        return this.settled && this.open.length > 0;
    }

    eventId(seq) {
        return `${this.stream}.${seq}`;
    }

    event(seq, message, whole) {
        const [kind, text] = this.log[seq] ?? [];

        assert.ok(kind && SAYS[kind](message, this, text),
                  `event ${seq} is ${JSON.stringify(message)}, not ${kind} ${
                      text}`);

        // who reads the rest by resume tokens sees no event id: a question's id
        // may be the first to name the stream

        if (kind === 'question') {
            this.stream ??= message.id.slice(0, -`.${seq}`.length);
            assert.equal(message.id, this.eventId(seq), 'is not its event');
        }

        assert.ok(seq <= this.available, `event ${seq} is not there yet`);

        // under whose id, and to whose progress token, the reader knows

        const says = kind === 'response' ? { ...message, id: undefined }
            : kind === 'progress' ? { ...message, params: { ...message.params,
                progressToken: undefined } } : message;

        assert.deepEqual(says, this.seen.get(seq) ?? says,
                         `event ${seq} is another one`);
        this.seen.set(seq, says);

        if (whole) {
            this.ids.add(seq);
        }

        if (kind === 'policy' || kind === 'create') {
            this[kind].token = message.params.resumeToken;
        }

        if (kind === 'create') {
            assert.equal(message.params.streamId, this.stream);
        }

        if (kind === 'response') {
            this.completed = true;
        }
    }
}


// when there is a block, or the end; false after a long time

async function waiting(answer, ms) {
    const until = Date.now() + ms;

    while (!answer.queue.length && !answer.ending) {
        const left = until - Date.now();

        if (left <= 0) {
            return false;
        }

        await new Promise((resolve) => {
            const timer = setTimeout(resolve, left);

            answer.wake = () => {
                clearTimeout(timer);
                resolve();
            };
        });
    }

    return true;
}


/*
 * A connection that reads a call's stream.  start: the events between which the
 * first may be, less one; bare: events have no ids; id: of its response;
 * progress: its progress token; asks: the request for the rest is answered
 * itself, under this id.
 */

export class Reader {
    constructor(call, answer, { start, bare = false, id = call.id, asks,
                                exact = false, progress = 'p' }) {
        Object.assign(this, { call, answer, bare, id, asks, exact, progress });
        this.number = ++call.newest;
        this.start = start;
        this.cursor = start[0] === start[1] && !bare ? start[0] : undefined;
        this.tail = [];
        this.events = 0;

        // what is written to its connection, the server may think it has

        call.sent = [start[0], Infinity];
    }

    at(seq) {
        assert.ok(seq >= this.start[0] && seq <= this.start[1],
                  `begins after ${seq}, not ${this.start}`);
        this.cursor = seq;
        this.start = [seq, seq];
    }

    begin(id) {
        const [, stream, seq] = /^(.*)\.(\d+)$/.exec(id);

        assert.equal(stream, this.call.stream ??= stream);

        return Number(seq);
    }

    take(block) {
        const { call } = this;

        this.retry = block.retry !== undefined && block.id === undefined;

        if (block.id !== undefined && !block.data) {
            assert.equal(this.events, 0, 'primed once');
            this.at(this.begin(block.id));
            call.ids.add(this.cursor);
            return;
        }

        if (!block.data) {
            return;
        }

        const message = JSON.parse(block.data);

        assert.equal(this.interim, undefined, 'nothing after an interim result');
        assert.equal(this.refused, undefined, 'nothing after an error');

        // its id says that the request is answered: GET has nothing behind it

        if (message.result?.nextResumeToken && (block.id === undefined
            || this.begin(block.id) >= 2 ** 62)) {
            assert.ok(call.faces.interims);
            assert.equal(message.id, this.id);
            this.interim = message.result.nextResumeToken;
            call.tokens.push(this.interim);
            return;
        }

        if (this.response) {
            assert.equal(block.id, undefined, 'the response is the last event');
            this.tail.push(message);
            return;
        }

        // a call that was cancelled has no rest, nor has who is superseded

        if (this.bare && message.id === this.id && message.error) {
            assert.equal(message.error.code, -32602);
            this.refused = true;
            return;
        }

        // behind the response, of which there was nothing left to say

        if (block.id === undefined && !this.bare) {
            if (this.cursor === undefined && !call.cancelled) {
                this.at(call.length);
            }

            assert.ok(this.cursor === call.length || call.cancelled,
                      `no id: ${JSON.stringify(message)}`);
            this.tail.push(message);
            return;
        }

        if (block.id !== undefined) {
            const seq = this.begin(block.id);

            if (this.cursor === undefined) {
                this.at(seq - 1);
            }

            assert.equal(seq, this.cursor + 1, 'in order');
        } else if (this.cursor === undefined) {
            const text = message.params?.message;
            const seq = call.log.findIndex((e) => e && (e[0] === 'response'
                ? message.method === undefined : e[1] === text));

            this.at(seq - 1);
        }

        this.events++;
        this.cursor++;
        call.event(this.cursor, message, block.id !== undefined);

        if (call.log[this.cursor][0] === 'progress') {
            assert.equal(message.params.progressToken, this.progress);
        }

        if (call.log[this.cursor][0] === 'response') {
            assert.equal(message.id, this.id);
            this.response = message;
        }
    }

    // 'n' more events, or to the end; it is an error if they do not come

    async read(n) {
        const enough = this.events + n;

        while (this.events < enough) {
            assert.ok(await waiting(this.answer, LATE),
                      `${this.events} events after ${this.start}, no more`);

            if (!this.answer.queue.length) {
                return this.finish();
            }

            this.take(this.answer.queue.shift());
        }

        return undefined;
    }

    // All there is; the response ends the connection.  Where a bare one begins
    // its first event tells, or none comes before its interim result.

    async all() {
        const { call } = this;

        if (this.bare && this.cursor === undefined) {
            await this.read(1);
        }

        if (this.over) {
            return this.over;
        }

        const left = call.available - (this.cursor ?? this.start[1]);

        return this.read(call.available === call.length ? Infinity
            : Math.max(0, left));
    }

    close() {
        this.answer.close();
        this.over = 'dropped';
    }

    // how it has ended

    finish() {
        const { answer, call } = this;

        assert.equal(answer.ending, 'end', 'ends in order');

        const last = call.faces.streams ? [
            ...(this.asks !== undefined
                ? [{ jsonrpc: '2.0', id: this.asks, result: {} }] : []),
            { jsonrpc: '2.0', method: END,
              params: { streamId: call.stream } }] : [];

        // a call that was cancelled has a stream that ends

        if (call.cancelled) {
            if (this.tail.length && !this.bare) {
                assert.deepEqual(this.tail, last);
            }

            this.over = 'cancelled';

            return this.over;
        }

        if (this.response || (this.cursor === call.length && !this.bare)) {

            // who was replaced when all was said may not hear that it was all

            if (this.tail.length || this.number === call.newest
                && !call.perhaps)
            {
                assert.deepEqual(this.tail, last);
            }

            this.over = 'complete';

            if (this.number === call.newest) {
                call.sent = [call.length, call.length];
            }

            return this.over;
        }

        assert.deepEqual(this.tail, []);

        if (this.interim) {
            this.over = 'interim';
        } else if (this.retry) {
            this.over = 'closed';
        } else {
            assert.ok(this.number < call.newest || call.cancelled
                      || call.perhaps,
                      'taken over by nobody');
            assert.equal(this.refused, this.bare || undefined,
                         'the rest of nothing is answered');
            this.over = 'taken over';
        }

        if (this.number === call.newest && this.over !== 'taken over') {
            const seq = this.cursor;

            call.sent = seq !== undefined && this.exact ? [seq, seq]
                : [call.sent[0], seq ?? Infinity];
        }

        return this.over;
    }
}
