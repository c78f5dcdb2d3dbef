// SPDX-License-Identifier: Apache-2.0

// Clients with a call, one kind for each face: what such a client remembers,
// how it comes back, what it is refused with.  faces.test.mjs has the cases,
// which know no face.
//
// A call's log is a list of names (see nameOf), known before.  Whatever is read
// is compared with it at the place where it must stand, so that nothing can be
// lost and nothing can come twice.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { at, pause, urlOf } from './faces.mjs';
import { textOf, upTo } from './session.mjs';

const POLICY = 'notifications/requests/resumePolicy';
const CREATE = 'notifications/stream/create';
const END = 'notifications/stream/end';

let gates = 0;


// What a call is, and what its log holds of it: progress from 0 to n - 1, or
// progress and two questions.

export const count = (n) => ({ name: 'count', args: { n },
    log: [...upTo(n).map(String), `counted to ${n}`] });

export const ask = { name: 'ask_streaming', args: { rounds: 1, count: 2 },
    log: ['round 0', 'Question 0.0', 'Question 0.1', 'round 1',
          'asked 1 times: Question 0.0,Question 0.1'] };


function nameOf({ method, params, result, error }) {
    switch (method) {
    case POLICY:
        return 'policy';
    case CREATE:
        return 'create';
    case END:
        return 'end';
    case undefined:
        return error ? `error ${error.code}`
            : result.nextResumeToken ? 'interim'
                : result.content ? textOf(result) : JSON.stringify(result);
    default:
        return params.message;
    }
}

// another string of the same kind

const altered = (text) => (text[0] === 'A' ? 'B' : 'A') + text.slice(1);


/*
 * A face is a class; what is said here is true of Last-Event-ID.
 *
 *   face          its name in those of the tests
 *   capabilities  what its sessions declare
 *   link          its servers give out URLs
 *   cursor        whether it knows Last-Event-ID: must (it has nothing else),
 *                 may, or never (its connections have no event ids)
 *   first         what it puts at the beginning of a log
 *   cancelled     the names of what a client that reads is still told when its
 *                 call is cancelled
 *   over          what it is answered when it comes back although it has all:
 *                 a status, or names
 *   gone          the same for a call that was cancelled; undefined: refused
 */

export class Caller {
    static face = 'Last-Event-ID';
    static capabilities = {};
    static link = false;
    static cursor = 'must';
    static first = [];
    static cancelled = [];
    static over = 204;
    static gone = 204;

    constructor(server, session) {
        Object.assign(this, { server, session, is: this.constructor,
                              progress: 'p' });
    }

    // a client with a session of its own, or another one of a session; who
    // opens gates is somebody else

    static async of(server, session) {
        server.porter ??= await server.session({
            headers: { 'X-User': 'porter' } });

        return new this(server, session ?? await this.session(server));
    }

    static session(server, user = 'ann', version = '2025-11-25') {
        return server.session({
            version,
            capabilities: { elicitation: {}, ...this.capabilities },
            headers: { 'X-User': user } });
    }

    prepare({ name, args, log }) {
        this.gate = `caller ${process.pid} ${gates++}`;
        this.tag = this.gate;
        this.log = [...this.is.first, ...log];
        this.params = { name, arguments: { ...args, gate: this.gate,
                                           tag: this.tag },
                        _meta: { progressToken: this.progress } };
    }

    // asks for the call, and reads until it could come back

    async begin(call) {
        this.prepare(call);

        const answer = await this.session.request('tools/call', this.params);

        this.id = answer.id;
        this.worker = answer.headers['x-worker'];
        await this.known(answer);

        return this;
    }

    // asks for the call, and is gone when it runs, having read nothing

    async lose(call) {
        this.prepare(call);
        this.id = this.session.next++;

        const lose = this.running('running');

        await this.session.request('tools/call', this.params,
                                   { id: this.id, lose }).catch(() => {});
        await lose;
    }

    running(field, n = 1) {
        return this.server.porter.running(this.tag, field, n);
    }

    open(limit) {
        return this.server.porter.open(this.gate, limit);
    }

    // the first answer

    async known(answer) {
        this.take(answer, 0);

        const { id, data } = await answer.block();

        assert.equal(data, '');
        this.stream = id.split('.')[0];
        assert.equal(id, `${this.stream}.0`);
        this.last = id;
    }

    // the face whose refusal it gets for what is wrong

    static refusedAs() {
        return this;
    }

    // a connection that begins behind the log's first 'from' messages

    take(answer, from) {
        assert.equal(answer.status, 200);
        assert.equal(answer.sse, true);
        this.answer = answer;
        this.from = from;
        this.at = from;
    }

    check(message) {
        const where = `message ${this.at} of a connection that began at ${
            this.from}`;

        assert.ok(message, `${where} has not come`);
        assert.equal(nameOf(message), this.log[this.at], where);

        if (message.method === undefined) {
            assert.equal(message.id, this.request ?? this.id, where);
        } else if (message.method === 'notifications/progress') {
            assert.equal(message.params.progressToken, this.progress, where);
        }

        this.at++;
        this.checkId(message, where);
    }

    checkId({ eventId }, where) {
        this.stream ??= eventId.split('.')[0];
        assert.equal(eventId, `${this.stream}.${this.at}`, where);
        this.last = eventId;
    }

    // the next message; one that is wrong, or none, is an error

    async next() {
        let message = await this.answer.message();

        while (message === null && this.moves && this.answer.ending === 'end') {
            await this.back();
            message = await this.answer.message();
        }

        this.check(message);

        return message;
    }

    // a process that winds up may send it to another one

    async reload() {
        this.moves = true;
        await this.server.reload();
    }

    // up to the call's n-th message, its first events not counted

    async read(n) {
        let message;

        while (this.at < this.is.first.length + n) {
            message = await this.next();
        }

        return message;
    }

    // the rest, and nothing else

    async end() {
        while (this.at < this.log.length) {
            await this.next();
        }

        assert.deepEqual(await this.leftovers(this.answer), this.tail());
    }

    // what a connection still brings until it is ended in order

    async leftovers(answer) {
        const names = [];

        for (let message; (message = await answer.message());) {
            assert.equal(message.eventId, undefined);
            names.push(nameOf(message));
        }

        assert.equal(answer.ending, 'end');

        return names;
    }

    // what is no part of the log

    tail() {
        return [];
    }

    // a connection that another one has taken the stream from

    async superseded(older) {
        assert.deepEqual(await this.leftovers(older), []);
    }

    drop() {
        this.answer.close();
    }

    // from: a session; last: an event id, or null

    ask({ from = this.session, last = this.last } = {}) {
        return from.get(last);
    }

    // comes back, with Last-Event-ID if it is known and the face knows it

    async back({ cursor = true } = {}) {
        const last = cursor && this.is.cursor !== 'never' ? this.last : null;
        const answer = await this.ask({ last });

        this.take(answer, last ? this.at : this.start());
    }

    // where the log begins for who brings no Last-Event-ID

    start() {
        return 0;
    }

    // comes back although there is nothing more

    async again() {
        const answer = await this.ask();

        if (typeof this.is.over === 'number') {
            assert.equal(answer.status, this.is.over);
        } else {
            assert.deepEqual(await this.leftovers(answer), this.is.over);
        }
    }

    // asks how the call fares, or at least for another stream

    async look() {
        const listener = await this.session.get();

        await listener.block();
        listener.close();
    }

    // answers all that it was asked; where the face does that on a connection
    // of its own this becomes the current one

    async reply(questions) {
        for (const { id, params } of questions) {
            const ack = await this.session.respond(id, { action: 'accept',
                content: { value: params.message } });

            assert.equal(ack.status, 202);
        }
    }

    // what no log must show

    get secret() {
        return this.last;
    }

    // finds a call of which it has seen nothing, as far as that can be done

    async find() {}

    // answers to attempts with a token, an id that is wrong, or as another

    async attempts({ token, id, from }) {
        const [stream, seq] = this.last.split('.');

        return [await this.ask({ from, last: `${
            token ? altered(stream) : stream}.${id ? 99999 : seq}` })];
    }

    cancel() {
        return this.session.notify('notifications/cancelled',
                                   { requestId: this.id });
    }
}


class Link extends Caller {
    static face = 'link';
    static link = true;
    static cursor = 'may';
    static gone = undefined;

    // its GET is one with Last-Event-ID

    static refusedAs(what) {
        return what === 'id' ? Caller : this;
    }

    // the head is enough

    async known(answer) {
        this.take(answer, 0);
    }

    take(answer, from) {
        super.take(answer, from);
        this.url = urlOf(answer);
        this.begins = from;
    }

    start() {
        return this.begins;
    }

    get secret() {
        return this.url.searchParams.get('mcp-stream');
    }

    // without a session the principal decides

    ask({ from, user = 'ann', url = this.url, last = this.last, method,
          body } = {}) {
        return at(url, { method, last, body, headers: from
            ? { ...from.extra, 'Mcp-Session-Id': from.id }
            : { 'X-User': user } });
    }

    // while it is asked there is nothing more to read

    async look({ asks } = {}) {
        await super.look();

        if (asks) {
            assert.equal((await this.ask()).status, 204);
        }
    }

    async reply(questions) {
        this.take(await this.ask({ method: 'POST', body: questions.map(
            ({ id, params }) => ({ jsonrpc: '2.0', id, result: {
                action: 'accept', content: { value: params.message } } })) }),
        this.at);
    }

    async attempts({ token, id, from }) {
        const url = new URL(this.url);
        const answers = [];

        if (token) {
            for (const wrong of [altered(this.secret), `${this.secret}A`, 'x',
                                 ''])
            {
                url.searchParams.set('mcp-stream', wrong);
                answers.push(await this.ask({ url }),
                    await this.ask({ url, method: 'POST', body: [] }));
            }
        } else {
            const last = id ? `${altered(this.stream)}.1` : this.last;

            answers.push(await this.ask({ from, last }));
        }

        // without a session it is the principal alone that is wrong

        const user = from?.extra['X-User'] ?? 'ann';

        if (user !== 'ann' && from.id !== this.session.id) {
            answers.push(await this.ask({ user }));
        }

        // POST looks at Last-Event-ID when there is something to answer

        return answers;
    }
}


// What requests and streams have in common: a first event with a token.

class Policy extends Caller {
    static cursor = 'may';
    static gone = undefined;

    async known(answer) {
        this.take(answer, 0);
        this.said = (await this.next()).params;
        this.confirmed = this.at;
    }

    get secret() {
        return this.said.resumeToken;
    }

    start() {
        return this.confirmed;
    }

    headers(last) {
        return last ? { 'Last-Event-ID': last } : {};
    }

    async back(options) {
        await super.back(options);
        this.confirmed = this.from;
    }

    // how the call fares, for a client that has all that was read

    async look(state = {}) {
        const wanted = this.status({ over: false, pending: false, asks: false,
                                     ...state });

        assert.deepEqual((await (await this.poll()).json()).result, wanted);

        // without Last-Event-ID it goes by what was written, which is known a
        // moment after it was

        await this.until(wanted, async () =>
            (await (await this.poll({ last: null })).json()).result);
    }

    async until(wanted, poll) {
        for (let tries = 0; ; tries++) {
            const state = await poll();

            if (tries === 1000 || isDeepStrictEqual(state, wanted)) {
                assert.deepEqual(state, wanted);
                break;
            }

            await pause(5);
        }
    }
}


class Requests extends Policy {
    static face = 'requests';
    static capabilities = { resumableRequests: {} };
    static first = ['policy'];
    static over = [];

    ask({ from = this.session, last = this.last, id = this.id,
          token = this.said.resumeToken } = {}) {
        return from.request('requests/resume', { resumeToken: token },
                            { id, headers: this.headers(last) });
    }

    poll({ from = this.session, last = this.last, id = this.id,
           token = this.said.resumeToken } = {}) {
        return from.request('requests/getStatus', { requestId: id,
            resumeToken: token }, { headers: this.headers(last) });
    }

    status({ over, pending, asks }) {
        return { requestId: this.id,
                 status: over ? 'completed' : 'processing',
                 hasPendingMessage: pending, hasInputRequest: asks };
    }

    async attempts({ token, id, from }) {
        const right = this.said.resumeToken;
        const answers = [];

        for (const wrong of token ? [altered(right), `${right}A`, 'x', '']
                                  : [right])
        {
            const what = { from, token: wrong, ...(id && { id: 4711 }) };

            answers.push(await this.ask(what), await this.poll(what));
        }

        if (id) {
            answers.push(await this.ask({ last: `${altered(this.stream)}.1` }));
        }

        return answers;
    }
}


class Streams extends Policy {
    static face = 'streams';
    static capabilities = { streams: {} };
    static first = ['create'];
    static over = ['{}', 'end'];
    static cancelled = ['end'];

    // the request for the rest is answered when there is no more

    tail() {
        return this.resumed ? ['{}', 'end'] : ['end'];
    }

    async back(options) {
        await super.back(options);
        this.resumed = true;
    }

    names({ id = this.said.streamId, token = this.said.resumeToken }) {
        return { streamId: id, resumeToken: token };
    }

    ask({ from = this.session, last = this.last, ...names } = {}) {
        return from.request('stream/resume', this.names(names),
                            { headers: this.headers(last) });
    }

    poll({ from = this.session, last = this.last, ...names } = {}) {
        return from.request('stream/poll', this.names(names),
                            { headers: this.headers(last) });
    }

    status({ over, pending, asks }) {
        return { streamId: this.stream, status: over ? 'completed' : 'live',
                 pendingMessages: pending, hasRequest: asks, hasError: false };
    }

    async look(state) {
        await super.look(state);
        await this.until([this.status({ over: false, pending: false,
                                        asks: false, ...state })],
        async () => (await this.session.response('stream/poll/all')).result
            .statuses.filter(({ streamId }) => streamId === this.stream));
    }

    // the stream's id is the first part of its event ids

    async find() {
        const { statuses } = (await this.session.response('stream/poll/all'))
            .result;
        const [{ streamId, ...rest }] = statuses;

        assert.deepEqual(rest, { status: 'completed', pendingMessages: true,
                                 hasRequest: false, hasError: false });
        this.take(await this.session.get(`${streamId}.0`), 0);
        await this.end();
        assert.equal(this.stream, streamId);
    }

    async attempts({ token, id, from }) {
        const { streamId, resumeToken } = this.said;
        const answers = [];

        for (const wrong of token
            ? [altered(resumeToken), `${resumeToken}A`, 'x', '']
            : [resumeToken])
        {
            const what = { from, token: wrong,
                           id: id ? altered(streamId) : streamId };

            answers.push(await this.ask(what), await this.poll(what));
        }

        if (id) {
            answers.push(await this.ask({ last: `${altered(this.stream)}.1` }));
        }

        // the id alone is worth nothing

        if (token) {
            answers.push(
                await this.session.request('stream/resume', { streamId }),
                await this.session.request('stream/poll', { streamId }));
        }

        return answers;
    }
}


/*
 * A connection of this client ends with an interim result every now and then,
 * and it comes back.  What came since the last one comes again when it comes
 * back after a loss.
 */

class Tokens extends Caller {
    static face = 'tokens';
    static capabilities = { resumeTokens: {} };
    static cursor = 'never';
    static cancelled = ['error -32602'];
    static gone = undefined;

    // an interim result, which is a response to the first request

    async known(answer) {
        let message;

        if (answer.sse) {
            this.take(answer, 0);

            while (!this.interim(message = await answer.message())) {
                this.check(message);
            }
        } else {
            this.at = 0;
            message = await answer.json();
        }

        this.remember(message);
        await this.back();
    }

    interim(message) {
        return message !== null && nameOf(message) === 'interim';
    }

    remember({ id, result }) {
        assert.equal(id, this.request ?? this.id);
        this.token = result.nextResumeToken;
        this.mark = this.at;
    }

    // the rest has no event ids

    checkId(message, where) {
        if (this.request === this.id) {
            super.checkId(message, where);
        } else {
            assert.equal(message.eventId, undefined, where);
        }
    }

    take(answer, from) {
        super.take(answer, from);
        this.request = answer.id;
        this.progress = answer.progress ?? this.progress;
    }

    // its request is answered, unless that was just done

    async superseded(older) {
        const names = await this.leftovers(older);

        assert.equal(names.length, 1);
        assert.ok(['error -32602', 'interim'].includes(names[0]), names[0]);
    }

    async next() {
        for (;;) {
            const message = await this.answer.message();

            if (!this.interim(message)) {
                this.check(message);
                return message;
            }

            this.remember(message);
            assert.equal(await this.answer.message(), null);
            await this.back();
        }
    }

    get secret() {
        return this.token;
    }

    start() {
        return this.mark;
    }

    // each request has a progress token of its own

    async ask({ from = this.session, token = this.token, params } = {}) {
        const progress = `${this.progress}'`;
        const answer = await from.request('tools/call', { ...this.params,
            ...params, _meta: { progressToken: progress,
                                resumeToken: token } });

        return Object.assign(answer, { progress });
    }

    // all that came since its token comes again

    async again() {
        await this.back();
        await this.end();
    }

    cancel() {
        return this.session.notify('notifications/cancelled',
                                   { requestId: this.request });
    }

    async attempts({ token, id, from }) {
        const answers = [];

        for (const wrong of token
            ? [altered(this.token), `${this.token}A`, 'x', ''] : [])
        {
            answers.push(await this.ask({ token: wrong }));
        }

        // it is of one request, and of no other

        for (const params of id
            ? [{ name: 'sleep' }, { arguments: { n: 4711 } }] : [])
        {
            answers.push(await this.ask({ params }));
        }

        if (!token && !id) {
            answers.push(await this.ask({ from }));
        }

        return answers;
    }
}


export const faces = [Caller, Link, Requests, Streams, Tokens];
