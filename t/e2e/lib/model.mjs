// SPDX-License-Identifier: Apache-2.0

// The model of a call: the log that the call must have, the events that its
// client has read, and the events that the server may take for sent. A Reader
// is a connection that reads the call's stream.

import assert from 'node:assert/strict';
import { textOf } from './session.mjs';

const POLICY = 'notifications/requests/resumePolicy';
const CREATE = 'notifications/stream/create';
const END = 'notifications/stream/end';
const LATE = 30000;


// Compares an event with its entry in the log. Ids and tokens are the server's
// choice.

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
    constructor(session, resumptions, args) {
        const { n, rounds, questions } = args;
        const log = [];

        Object.assign(this, { session, resumptions, args, log });
        log.push(undefined);

        if (resumptions.requests) {
            this.policy = { seq: log.push(['policy']) - 1 };
        }

        if (resumptions.streams) {
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
        this.released = 0;             // limit of the gate
        this.answered = new Set();     // numbers of questions
        this.gave = false;             // whether any answer was sent
        this.seen = new Map();         // number of an event: its content
        this.ids = new Set();          // numbers of received event ids
        this.links = [];
        this.tokens = [];
        this.floor = [0, 0];           // dropped up to: surely, perhaps
        this.turn = [0, 0];            // links of older turns are invalid
        this.confirmed = [0, 0];       // up to: surely, perhaps
        this.sent = [0, 0];            // according to the server
        this.newest = 0;               // the connection with the stream
        this.completed = false;
        this.ghosts = 0;
    }

    // A request whose connection was dropped at once may reach the server after
    // later requests.

    lost() {
        this.ghosts = Date.now() + 5000;
    }

    // The client has confirmed all events up to seq, by Last-Event-ID or by the
    // use of a link.

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

    // Returns the number of events that exist or are about to exist.

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

    // Returns the event ids that the client may send: it has all events up to
    // them.

    get cursors() {
        let seq = 0;

        while (this.seen.has(seq + 1)) {
            seq++;
        }

        return [...this.ids].filter((id) => id <= seq);
    }

    // Tells whether the client has read all events that the server can have by
    // now.

    get settled() {
        return this.last === this.available;
    }

    get done() {
        return this.seen.has(this.length);
    }

    // Returns the questions that the client has read and not answered.

    get open() {
        return [...this.seen.keys()].filter((seq) =>
            this.log[seq][0] === 'question' && !this.answered.has(seq));
    }

    // Tells whether the call waits for answers: the client has read all
    // questions and has not answered all.

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

        // a client that resumes by resume tokens sees no event ids: the id of a
        // question may be the first to show the stream's id

        if (kind === 'question') {
            this.stream ??= message.id.slice(0, -`.${seq}`.length);
            assert.equal(message.id, this.eventId(seq), 'is not its event');
        }

        assert.ok(seq <= this.available, `event ${seq} is not there yet`);

        // the response id and the progress token differ between connections;
        // the Reader checks them

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


// Waits for a block or for the end of the stream. Returns false after `ms`.

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
 * A connection that reads a call's stream.
 *
 *   start      the numbers between which the event before the first one lies
 *   bare       the events have no ids
 *   id         the id that the response must have
 *   progress   the progress token that events must have
 *   asks       the id of the resuming request, which is answered itself
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

        // the server may count every event as sent that it writes to this
        // connection

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

        assert.equal(this.interim, undefined, 'nothing after an interim response');
        assert.equal(this.refused, undefined, 'nothing after an error');

        // The id of an interim response tells that the request is answered: a GET
        // with that id finds no further event.

        if (message.result?.nextResumeToken && (block.id === undefined
            || this.begin(block.id) >= 2 ** 62)) {
            assert.ok(call.resumptions.interims);
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

        // a cancelled call and a superseded connection get an error instead of
        // the rest

        if (this.bare && message.id === this.id && message.error) {
            assert.equal(message.error.code, -32602);
            this.refused = true;
            return;
        }

        // messages without an id come after the response only

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

    // Reads `n` more events, or to the end of the stream. Fails if they do not
    // come.

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

    // Reads all events that are available; the response ends the connection. If
    // events have no ids, the first event shows where the stream begins, or the
    // interim response comes without any.

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

    // Determines how the connection ended.

    finish() {
        const { answer, call } = this;

        assert.equal(answer.ending, 'end', 'ends in order');

        const last = call.resumptions.streams ? [
            ...(this.asks !== undefined
                ? [{ jsonrpc: '2.0', id: this.asks, result: {} }] : []),
            { jsonrpc: '2.0', method: END,
              params: { streamId: call.stream } }] : [];

        // after a cancellation the stream ends without the response

        if (call.cancelled) {
            if (this.tail.length && !this.bare) {
                assert.deepEqual(this.tail, last);
            }

            this.over = 'cancelled';

            return this.over;
        }

        if (this.response || (this.cursor === call.length && !this.bare)) {

            // a connection that was superseded after the last event may lack
            // the closing messages

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
