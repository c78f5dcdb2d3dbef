// SPDX-License-Identifier: Apache-2.0

// Clients with one call, a class for each resumption method: the state that the
// client keeps, the request that resumes the call, and the refusals that it
// expects. The cases are in resume-methods.test.mjs and are the same for all methods.
//
// The log of a call is a list of names (see nameOf) that the test knows in
// advance. Each message that a client reads is compared with the name at its
// position, so a lost or repeated message fails the test.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { at, pause, urlOf } from './held-calls.mjs';
import { textOf, upTo } from './session.mjs';

const POLICY = 'notifications/requests/resumePolicy';
const CREATE = 'notifications/stream/create';
const END = 'notifications/stream/end';

let gates = 0;


// The calls and their logs: progress from 0 to n - 1, or progress and two
// questions.

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

// Returns another string of the same length and alphabet.

const altered = (text) => (text[0] === 'A' ? 'B' : 'A') + text.slice(1);


/*
 * A resumption method is a class. This base class is that of Last-Event-ID.
 *
 *   resumption          the name of the method in the names of the tests
 *   capabilities  the capabilities that its sessions declare
 *   link          whether the server sends URLs of streams (Link header)
 *   cursor        whether the method uses Last-Event-ID: must (no other way),
 *                 may, or never (its connections have no event ids)
 *   first         the names of the events at the beginning of the log
 *   cancelled     the names that a connected client still receives after its
 *                 call is cancelled
 *   over          the answer to a client that resumes although it has the whole
 *                 log: a status, or names
 *   gone          the same for a cancelled call; undefined: an error
 */

export class Caller {
    static method = 'Last-Event-ID';
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

    // Returns a client with a session of its own, or a further client of the
    // given session. The client that opens gates is a separate one, "porter".

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

    // Sends the call and reads the answer up to the point from which the client
    // can resume.

    async begin(call) {
        this.prepare(call);

        const answer = await this.session.request('tools/call', this.params);

        this.id = answer.id;
        this.worker = answer.headers['x-worker'];
        await this.known(answer);

        return this;
    }

    // Sends the call and drops the connection when the call runs, before any
    // message is read.

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

    // Reads the first answer up to the point from which the client can resume.

    async known(answer) {
        this.take(answer, 0);

        const { id, data } = await answer.block();

        assert.equal(data, '');
        this.stream = id.split('.')[0];
        assert.equal(id, `${this.stream}.0`);
        this.last = id;
    }

    // Returns the method whose refusals this client gets for a wrong token, a
    // wrong id or another session.

    static refusedAs() {
        return this;
    }

    // Continues with a connection that begins after the first `from` messages
    // of the log.

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

    // Reads the next message. A wrong or missing message fails the test.

    async next() {
        let message = await this.answer.message();

        while (message === null && this.moves && this.answer.ending === 'end') {
            await this.back();
            message = await this.answer.message();
        }

        this.check(message);

        return message;
    }

    // Reloads the server. From then on the old worker may end the stream, and
    // the client resumes it at another worker.

    async reload() {
        this.moves = true;
        await this.server.reload();
    }

    // Reads up to the n-th message of the call, without the events that the
    // method puts in front.

    async read(n) {
        let message;

        while (this.at < this.is.first.length + n) {
            message = await this.next();
        }

        return message;
    }

    // Reads the rest of the log and checks that nothing else follows.

    async end() {
        while (this.at < this.log.length) {
            await this.next();
        }

        assert.deepEqual(await this.leftovers(this.answer), this.tail());
    }

    // Returns the names of the messages that a connection brings until the
    // server ends it in order.

    async leftovers(answer) {
        const names = [];

        for (let message; (message = await answer.message());) {
            assert.equal(message.eventId, undefined);
            names.push(nameOf(message));
        }

        assert.equal(answer.ending, 'end');

        return names;
    }

    // Returns the names of the messages after the log.

    tail() {
        return [];
    }

    // Checks the end of an older connection, whose stream a newer connection
    // has taken.

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

    // Resumes the call, with Last-Event-ID if the client has one and the method
    // uses it.

    async back({ cursor = true } = {}) {
        const last = cursor && this.is.cursor !== 'never' ? this.last : null;
        const answer = await this.ask({ last });

        this.take(answer, last ? this.at : this.start());
    }

    // Returns the position in the log at which a resumption without
    // Last-Event-ID begins.

    start() {
        return 0;
    }

    // Resumes the call although the client has the whole log.

    async again() {
        const answer = await this.ask();

        if (typeof this.is.over === 'number') {
            assert.equal(answer.status, this.is.over);
        } else {
            assert.deepEqual(await this.leftovers(answer), this.is.over);
        }
    }

    // Polls the state of the call if the method can, and always opens and
    // closes the session's GET stream.

    async look() {
        const listener = await this.session.get();

        await listener.block();
        listener.close();
    }

    // Answers all questions. If the method sends answers on a connection of its
    // own, that connection becomes the current one.

    async reply(questions) {
        for (const { id, params } of questions) {
            const ack = await this.session.respond(id, { action: 'accept',
                content: { value: params.message } });

            assert.equal(ack.status, 202);
        }
    }

    // the secret, which must not appear in any log file

    get secret() {
        return this.last;
    }

    // Finds a call of which the client has read nothing, if the method can.

    async find() {}

    // Returns the answers to resumptions with a wrong token, a wrong id or
    // another session.

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
    static method = 'link';
    static link = true;
    static cursor = 'may';
    static gone = undefined;

    // a GET with a wrong event id is refused like one with Last-Event-ID

    static refusedAs(what) {
        return what === 'id' ? Caller : this;
    }

    // the Link header is enough to resume

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

    // a request without a session is checked by its principal

    ask({ from, user = 'ann', url = this.url, last = this.last, method,
          body } = {}) {
        return at(url, { method, last, body, headers: from
            ? { ...from.extra, 'Mcp-Session-Id': from.id }
            : { 'X-User': user } });
    }

    // while a question is open, no further event exists

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

        // without a session, only the principal is wrong

        const user = from?.extra['X-User'] ?? 'ann';

        if (user !== 'ann' && from.id !== this.session.id) {
            answers.push(await this.ask({ user }));
        }

        // a POST checks Last-Event-ID only if its body has an answer

        return answers;
    }
}


// The common part of `requests` and `streams`, whose first event has a token.

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

    // Polls the state of the call, once with and once without Last-Event-ID.

    async look(state = {}) {
        const wanted = this.status({ over: false, pending: false, asks: false,
                                     ...state });

        assert.deepEqual((await (await this.poll()).json()).result, wanted);

        // Without Last-Event-ID, the messages that the server has written to
        // the connection are not pending. The server records them a moment
        // after it has written them.

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
    static method = 'requests';
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
    static method = 'streams';
    static capabilities = { streams: {} };
    static first = ['create'];
    static over = ['{}', 'end'];
    static cancelled = ['end'];

    // the request that resumed the stream gets its own response after the last
    // event

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

    // the stream id is the first part of its event ids

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

        // the stream id without the token is refused

        if (token) {
            answers.push(
                await this.session.request('stream/resume', { streamId }),
                await this.session.request('stream/poll', { streamId }));
        }

        return answers;
    }
}


/*
 * The server ends a connection of this client with an interim response from time
 * to time, and the client resumes. After a lost connection, all messages since
 * the last interim response come again.
 */

class Tokens extends Caller {
    static method = 'tokens';
    static capabilities = { resumeTokens: {} };
    static cursor = 'never';
    static cancelled = ['error -32602'];
    static gone = undefined;

    // Reads up to the first interim response, which is a response to the first
    // request.

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

    // only the first connection has event ids

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

    // The superseded request gets an error, or an interim response if that was
    // just written.

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

    // each request has its own progress token

    async ask({ from = this.session, token = this.token, params } = {}) {
        const progress = `${this.progress}'`;
        const answer = await from.request('tools/call', { ...this.params,
            ...params, _meta: { progressToken: progress,
                                resumeToken: token } });

        return Object.assign(answer, { progress });
    }

    // all messages since the token was issued come again

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

        // a token is valid only for the tool and arguments that it was issued
        // for

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


export const resumptions = [Caller, Link, Requests, Streams, Tokens];
