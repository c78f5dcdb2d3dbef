// SPDX-License-Identifier: Apache-2.0

// Calls through random mixtures of resumption methods, drops, workers and
// reloads, compared with a model of their logs (lib/model.mjs).
//
//   MCP_SEED        repeats a run (without it: one fixed seed, one fresh one)
//   MIXTURE_ROUNDS  steps for each seed (3000)

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, pause, settled, urlOf } from './lib/held-calls.mjs';
import { Fixture } from './lib/fixture.mjs';
import { random } from './lib/load.mjs';
import { Call, Reader } from './lib/model.mjs';
import { Session, textOf } from './lib/session.mjs';

const ROUNDS = Number(process.env.MIXTURE_ROUNDS ?? 3000);
const SEEDS = process.env.MCP_SEED ? [Number(process.env.MCP_SEED)]
    : [20251125, Date.now() % 1000000];
const LANES = 8;                       // calls at once
const SESSIONS = 5;                    // sessions of each server
const LATE = 30000;
const RELOAD = 200;                    // steps between two reloads
const USERS = ['ann', 'bob', 'cy'];
const METHODS = ['requests', 'streams', 'tokens'];
const PATIENT = { mcp_max_wait: '120s', mcp_linger: '120s',
                  mcp_call_timeout: '300s', nginx: 'mcp_principal $http_x_user;',
                  apache: 'MCPPrincipal "%{HTTP:X-User}"' };

// Calls that the random steps leave behind run on in nginx's older workers. Each
// of these workers reports the socket to its backend when it is stopped.

const LEFT = /open socket #\d+ left in connection|\[alert\] \S+ aborting$/;

// The first server: streams that begin early, have URLs and are closed by the
// server. The second one: streams that begin late and stay open.

const worlds = await Promise.all([
    { mcp_link: 'on', mcp_stream_after: '50ms', mcp_close_after: '700ms',
      mcp_resume_after: '400ms' },
    { mcp_stream_after: '30s', mcp_close_after: 'off',
      mcp_resume_after: '200ms' },
].map(async (location) => {
    const server = await Fixture.use({ workers: 3, allow: LEFT,
                                       location: { ...PATIENT, ...location } });

    // this session opens gates; it can always resume by event id

    return { server, porter: await server.session(),
             link: location.mcp_link === 'on',
             early: location.mcp_link === 'on',
             sessions: [], of: new Map() };
}));

const refusals = new Map();
let gates = 0;


async function within(ms, promises) {
    let timer;

    await Promise.race([...promises, new Promise((resolve) => {
        timer = setTimeout(resolve, ms);
    })]);
    clearTimeout(timer);
}


// All refusals of a kind are equal.

async function refusal(kind, answer) {
    const body = await answer.text();

    assert.match(body, /^\{/, `${kind}: ${answer.status} ${answer.type} ${
        answer.ending} ${body}`);

    const { id, ...rest } = JSON.parse(body);
    const text = JSON.stringify([answer.status, rest, answer.type]);

    assert.ok(rest.error, `${kind}: ${text}`);
    assert.equal(text, refusals.get(kind) ?? text, kind);
    refusals.set(kind, text);
}


class Lane {
    constructor(world, rand, stats) {
        Object.assign(this, { world, rand, stats });
        this.history = [];
    }

    chance(p) {
        return this.rand() < p;
    }

    pick(list) {
        return list[Math.floor(this.rand() * list.length)];
    }

    note(text) {
        const name = text.split(/[:(]/)[0];

        this.stats.set(name, (this.stats.get(name) ?? 0) + 1);
        this.history.push(text);
    }

    // Opens a session of a random user with random capabilities.

    async newSession() {
        const resumptions = Object.fromEntries(METHODS.map((f) => [f,
                                                           this.chance(0.5)]));
        const capabilities = {
            elicitation: {},
            ...(resumptions.requests && { resumableRequests: {} }),
            ...(resumptions.streams && { streams: {} }),
            ...(resumptions.tokens && { experimental: { resumeTokens: {} } }),
        };
        const user = this.pick(USERS);
        const session = await Session.open(this.world.server, { capabilities,
            version: this.chance(0.8) ? '2025-11-25' : '2025-06-18',
            headers: { 'X-User': user } });

        resumptions.interims = resumptions.tokens && !resumptions.requests && !resumptions.streams;

        return Object.assign(session, { user, resumptions });
    }

    async session() {
        const { sessions } = this.world;

        if (sessions.length < SESSIONS) {
            const session = await this.newSession();

            sessions.push(session);
            return session;
        }

        if (this.chance(0.05)) {
            sessions[Math.floor(this.rand() * SESSIONS)]
                = await this.newSession();
        }

        return this.pick(sessions);
    }


    /* --- beginning --- */

    async begin() {
        const session = await this.session();
        const asks = this.chance(0.3);
        const args = asks
            ? { rounds: 1 + Math.floor(this.rand() * 3),
                questions: 1 + Math.floor(this.rand() * 2) }
            : { n: 1 + Math.floor(this.rand() * 12) };
        const call = new Call(session, session.resumptions, args);

        call.id = session.next++;
        call.gate = `mixture ${process.pid} ${gates++}`;
        call.what = asks ? 'ask_streaming' : 'count';
        call.sends = asks ? { rounds: args.rounds, count: args.questions }
                          : { n: args.n, gate: call.gate };
        this.call = call;
        this.readers = [];
        this.note(`begin: ${call.what} ${JSON.stringify(args)} ${
            Object.keys(session.resumptions).filter((f) => session.resumptions[f])} ${
            session.version}`);

        if (!asks) {
            const limit = this.world.early || session.resumptions.interims
                ? Math.floor(this.rand() * 3) : 1 + Math.floor(this.rand() * 3);

            await this.open(Math.min(limit, args.n + 1));
        }

        const lose = this.chance(0.07) ? this.rand() * 30 : undefined;
        const answer = await this.send(() => session.request('tools/call',
            this.params(), { id: call.id, lose }), lose);

        if (!answer) {
            this.note('blind');
            await this.end();
            return;
        }

        if (answer.sse) {
            const reader = this.reads(answer, { start: [0, 0],
                exact: session.resumptions.interims });

            if (lose !== undefined) {
                reader.close();
            }

            return;
        }

        const { result } = await answer.json().catch(() => ({}));

        assert.ok(result || lose !== undefined);

        if (result?.nextResumeToken) {
            assert.ok(session.resumptions.interims);
            call.tokens.push(result.nextResumeToken);
            this.note('interim as JSON');
        } else {
            assert.ok(lose !== undefined, `no stream: ${JSON.stringify(result)}`);
            await this.end();
        }
    }

    params(token, progress = 'p') {
        return { name: this.call.what, arguments: this.call.sends,
                 _meta: { progressToken: progress,
                          ...(token !== undefined && { resumeToken: token }) } };
    }

    async open(limit) {
        this.call.released = limit;
        await this.world.porter.open(this.call.gate,
                                   limit > this.call.args.n ? undefined : limit);
    }

    // Sends a request; returns undefined if the connection was dropped before
    // the head.

    async send(job, lose) {
        try {
            return await job();
        } catch (error) {
            if (lose === undefined) {
                throw error;
            }

            return undefined;
        }
    }

    // Begins to read a stream. turn: the number of its URL, as a range.

    reads(answer, options, turn = this.call.turn) {
        const { call } = this;
        const reader = new Reader(call, answer, options);

        assert.equal('link' in answer.headers, this.world.link);

        if (this.world.link) {
            call.links.push({ url: urlOf(answer), reader,
                              turn: turn.map((n, i) => Math.max(n,
                                  call.turn[i])) });
        }

        const worker = answer.headers['x-worker'];

        this.stats.set(worker === call.worker ? 'same worker' : 'other worker',
            (this.stats.get(worker === call.worker ? 'same worker'
                                                   : 'other worker') ?? 0) + 1);
        call.worker = worker;
        this.readers.push(reader);

        return reader;
    }

    get reader() {
        const reader = this.readers.at(-1);

        return reader && !reader.over ? reader : undefined;
    }

    // The stream that the current reader has seen belongs to the call's
    // session.

    known() {
        const { call } = this;

        if (call.stream && !this.world.of.has(call.stream)) {
            this.world.of.set(call.stream, call.session);
        }
    }


    /* --- resuming --- */

    ways() {
        const { call } = this;

        return [
            ...(call.cursors.length ? ['get'] : []),
            ...(call.links.length ? ['link', 'link'] : []),
            ...(call.policy?.token ? ['request', 'request'] : []),
            ...(call.create?.token ? ['stream', 'stream'] : []),
            ...(call.tokens.length ? ['token', 'token'] : []),
        ];
    }

    // Returns the number of an event id that the client has seen: the last one,
    // or any.

    cursor() {
        const ids = this.call.cursors;

        if (!ids.length) {
            return undefined;
        }

        return this.chance(0.7) ? Math.max(...ids) : this.pick(ids);
    }

    /*
     * Plans one attempt to resume: { way, c (the event), id, options (of the
     * reader), go(lose) (sends the request) }, and which answers are right:
     *
     *   yes    the stream is possible
     *   no     a refusal is possible
     *   empty  204 is possible
     */

    attempt(way) {
        const { call } = this;
        const optional = this.chance(0.5);
        const c = way === 'get' || optional ? this.cursor() : undefined;
        const headers = c === undefined ? {}
                                        : { 'Last-Event-ID': call.eventId(c) };
        const [least, most] = call.floor;
        const plan = { way, c, yes: true, no: false, empty: false };

        if (way === 'token') {
            const token = this.chance(0.7) ? call.tokens.at(-1)
                                           : this.pick(call.tokens);
            const all = call.available === call.length;

            // the token is valid while the stream is stored; its stream begins
            // at the interim response, whose position a stream without ids does
            // not show

            plan.no = all && call.sent[1] >= call.length;
            plan.id = call.session.next++;
            plan.options = { bare: true, id: plan.id, exact: true,
                progress: `p ${plan.id}`,
                start: [0, Math.min(call.sent[1], call.available)] };
            plan.go = (lose) => call.session.request('tools/call',
                this.params(token, plan.options.progress),
                { id: plan.id, lose });

            return plan;
        }

        // events before the floor may have been dropped

        const dropped = (from) => {
            plan.yes = from >= least;
            plan.no = from < most;
        };

        if (way === 'get' || way === 'link') {
            const link = way === 'link' && (this.chance(0.7)
                ? call.links.at(-1) : this.pick(call.links));
            const start = c === undefined ? link.reader.start : [c, c];

            // without an event id the client gets the events that are kept

            if (c === undefined) {
                plan.options = { start: start.map((seq, i) => Math.max(seq,
                    call.floor[i])) };
            } else {
                plan.options = { start };
                dropped(c);
            }

            if (link) {
                plan.link = link;
                plan.spent = link.turn[0] < call.turn[1];

                if (link.turn[1] < call.turn[0]) {
                    plan.yes = false;
                }

                plan.no ||= plan.spent;
            }

            if (start[1] === call.length && (way === 'get' || call.done)) {
                plan.empty = true;
                plan.yes &&= start[0] < call.length;
            }

            // accepted answers reach the call a little later: until then the
            // model does not know whether any question is left

            if (way === 'link' && call.last && start[1] >= call.last
                && call.log[call.last][0] === 'question')
            {
                plan.empty = true;
                plan.waits = start[0] >= call.last && call.waits;
                plan.yes &&= !plan.waits || call.gave;
            }

            // the position of a stream without ids is not known exactly

            if (start[1] > start[0]) {
                plan.yes = true;
                plan.empty ||= way === 'link';
            }

            plan.go = (lose) => (link ? this.at(link.url, { last: headers, lose,
                    session: this.chance(0.5) && call.session })
                : call.session.get(call.eventId(c), { lose }));

            return plan;
        }

        const resumption = way === 'request' ? call.policy : call.create;
        const asked = way === 'request' || this.chance(0.7);

        plan.id = way === 'request' ? call.id : call.session.next++;
        plan.confirms = c;
        plan.options = { asks: way === 'stream' && asked ? plan.id : undefined,
            start: c === undefined ? [Math.max(resumption.seq, least),
                                      Math.max(resumption.seq, most)] : [c, c] };

        if (c !== undefined) {
            dropped(c);
        }

        const params = way === 'request' ? { resumeToken: resumption.token }
            : { streamId: call.stream, resumeToken: resumption.token };
        const method = way === 'request' ? 'requests/resume' : 'stream/resume';

        plan.go = (lose) => (asked
            ? call.session.request(method, params, { id: plan.id, headers,
                                                     lose })
            : call.session.post({ jsonrpc: '2.0', method, params },
                                { headers, lose }));

        return plan;
    }

    // Sends a request to a URL, with or without a session.

    at(url, { last = {}, lose, session, user = this.call.session.user,
              method = 'GET', body } = {}) {
        return at(url, { method, body, lose, headers: { ...last,
            'X-User': user,
            ...(session && { 'Mcp-Session-Id': session.id,
                             'Mcp-Protocol-Version': session.version }) } });
    }

    // Updates the model by the event or URL that a request confirms or uses.
    // surely: the server has processed the request.

    recordConfirmed({ link, c }, surely) {
        if (link) {
            this.call.use(link, surely);
        }

        if (c !== undefined) {
            this.call.confirm(c, surely);
        }
    }

    async resume(way, { lose } = {}) {
        const { call } = this;
        const plan = this.attempt(way);
        const before = this.reader;

        this.note(`${way}: ${plan.c === undefined ? 'without an id'
            : `after ${plan.c}`}, ${JSON.stringify(plan.options.start)}${
            lose === undefined ? '' : ', lost'}`);

        // the server may process the request even if its client leaves

        const answer = await this.send(() => plan.go(lose), lose);

        if (plan.confirms !== undefined) {
            call.floor[1] = Math.max(call.floor[1], plan.confirms);
        }

        this.recordConfirmed(plan, answer && (answer.sse || answer.status === 204));

        if (!answer) {
            call.newest++;
            call.sent = [Math.min(call.sent[0], plan.options.start[0]),
                         Infinity];
            call.lost();
            return undefined;
        }

        if (answer.status === 204) {
            assert.ok(plan.empty, 'there is more');
            return undefined;
        }

        if (!answer.sse) {
            if (lose === undefined) {
                assert.ok(plan.no, `refused: ${await answer.text()}`);
                await this.refused(way, answer, plan);
            }

            return undefined;
        }

        assert.ok(plan.yes, 'is not refused');

        if (plan.confirms !== undefined) {
            call.floor[0] = Math.max(call.floor[0], plan.confirms);
        }

        const reader = this.reads(answer, plan.options, plan.link?.turn);

        if (lose !== undefined) {
            reader.close();
        }

        if (before && !before.over) {
            await this.replaced(before);
        }

        // some questions are answered, and only the others are left

        if (plan.waits && !reader.over) {
            await reader.read(Infinity);
        }

        return reader;
    }

    async refused(way, answer, plan) {
        if (way === 'get' || way === 'link') {
            assert.equal(answer.status, 404);

            const spent = plan.spent && /URL/.test(await answer.text());

            if (spent) {
                this.call.turn[0] = Math.max(this.call.turn[0],
                                             plan.link.turn[0] + 1);
            }

            await refusal(spent ? 'link' : 'purged', answer);
        } else if (way === 'token') {
            await refusal('resume', answer);
        } else {

            // the token is valid: the error means that the events after this
            // one were dropped

            await refusal(answer.status === 400 ? 'dropped, no request'
                                                : 'dropped', answer);
        }
    }

    // The older connection ends in order, after the events already written.

    async replaced(reader) {
        if (this.chance(0.5)) {
            reader.close();
            return;
        }

        await reader.read(Infinity);
    }

    async twice() {
        const { call } = this;
        const ways = this.ways().filter((way) => way !== 'token');

        if (!ways.length || call.available === call.length) {
            return;
        }

        this.reader?.close();

        const plans = [this.attempt(this.pick(ways)),
                       this.attempt(this.pick(ways))];

        // a confirmation may drop the other attempt's events

        if (plans.some((p) => p.no || p.empty || p.confirms !== undefined)) {
            return;
        }

        // a URL is used up when one of a later turn is used before it

        const spent = (link, by) => link !== by && link?.turn[0] < by?.turn[1];

        for (const [i, plan] of plans.entries()) {
            plan.spent = spent(plan.link, plans[1 - i].link);
        }

        this.note(`twice: ${plans.map((p) => `${p.way} ${p.c}${
            p.spent ? ' of a turn before' : ''}`)}`);

        const tries = await Promise.all(plans.map(async (plan) => ({
            plan, answer: await plan.go() })));

        // either request may have been processed before the other URL was used

        plans.forEach((plan) => this.recordConfirmed(plan, false));

        const served = tries.filter(({ answer }) => answer.status !== 404);

        for (const { plan, answer } of tries) {
            if (answer.status === 404) {
                assert.ok(plan.spent, 'is not refused');
                await this.refused(plan.way, answer, plan);
            }
        }

        const readers = served.map(({ plan, answer }) => {
            assert.equal(answer.status, 200);

            return this.reads(answer, plan.options, plan.link?.turn);
        });

        served.forEach(({ plan }) => this.recordConfirmed(plan, true));

        if (served.length === 1) {
            return;
        }

        assert.equal(served.length, 2, 'one reads it');
        call.newest++;
        call.sent = [Math.min(...readers.map((r) => r.start[0])), Infinity];
        await within(LATE, readers.map((r) => r.answer.ended));

        const over = readers.filter((r) => r.answer.ending);

        assert.ok(over.length, 'both read it');

        for (const reader of over) {
            await reader.read(Infinity);
        }

        this.readers.sort((a, b) => !!b.over - !!a.over);
    }


    /*
     * --- requests that change nothing
     */

    async poll() {
        const { call } = this;
        const { session } = call;
        const kinds = [...(call.policy?.token ? ['getStatus'] : []),
                       ...(call.create?.token ? ['poll', 'all'] : [])];

        if (!kinds.length) {
            return;
        }

        const kind = this.pick(kinds);
        const c = kind !== 'all' && this.chance(0.5) ? this.cursor()
                                                     : undefined;
        const headers = c === undefined ? {}
                                        : { 'Last-Event-ID': call.eventId(c) };
        const seen = [];

        this.note(`poll: ${kind} ${c}`);

        for (let i = 0; i < 2; i++) {
            const { result } = await (await (kind === 'getStatus'
                ? session.request('requests/getStatus', { requestId: call.id,
                    resumeToken: call.policy.token }, { headers })
                : kind === 'poll'
                    ? session.request('stream/poll', { streamId: call.stream,
                        resumeToken: call.create.token }, { headers })
                    : session.request('stream/poll/all'))).json();

            assert.ok(result, `${kind} is not answered`);

            if (c !== undefined) {
                call.confirm(c, true);
            }

            seen.push(this.status(kind, result, c));
        }

        // equal, if nothing is read and nothing is on its way

        if (call.settled && !this.reader && !call.perhaps) {
            assert.deepEqual(seen[0], seen[1]);
        }
    }

    status(kind, result, c) {
        const { call } = this;
        let status = result;

        if (kind === 'all') {
            for (const { streamId } of result.statuses) {
                assert.equal(this.world.of.get(streamId) ?? call.session,
                             call.session, 'a stream of another');
            }

            const mine = result.statuses.filter((s) => s.streamId
                                                       === call.stream);

            assert.equal(mine.length, 1);
            [status] = mine;
        }

        const pending = status.hasPendingMessage ?? status.pendingMessages;
        const asked = status.hasInputRequest ?? status.hasRequest;
        const over = status.status === 'completed';

        assert.ok(over || ['processing', 'live'].includes(status.status));
        assert.ok(kind === 'getStatus' ? status.requestId === call.id
                                       : status.streamId === call.stream);
        assert.notEqual(status.hasError, true);

        if (over) {
            assert.equal(call.available, call.length, 'is not over');
            call.completed = true;
        }

        assert.equal(over, call.completed);

        if (c !== undefined) {
            if (c < call.last) {
                assert.equal(pending, true, 'there are events after it');
            } else if (call.settled) {
                assert.equal(pending, false, 'nothing is after it');
            }
        } else if (call.settled && !call.perhaps) {
            const { seq } = kind === 'all' ? { seq: 0 }
                : call[kind === 'poll' ? 'create' : 'policy'];
            const [least, most] = call.confirmed.map((n) => Math.max(n, seq));

            assert.ok(pending || call.last <= most, 'something is pending');
            assert.ok(!pending || call.last > least, 'nothing is');
        }

        if (call.waits) {
            assert.equal(asked, true);
        } else if (call.args.n !== undefined || call.completed) {
            assert.equal(asked, false);
        }

        return status;
    }

    // Another client, or a damaged token: refused, without an effect on the
    // call.

    async foreign() {
        const { call, world } = this;
        const others = world.sessions.filter((s) => s !== call.session);
        const other = others.length && this.chance(0.6) ? this.pick(others)
                                                        : undefined;
        const bend = (token) => {
            const i = Math.floor(this.rand() * token.length);

            return this.chance(0.2) ? token.slice(0, i) : token.slice(0, i)
                + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
        };
        const way = this.pick(this.ways());
        const from = other ?? call.session;

        this.note(`foreign: ${way} ${other ? 'of another' : 'made up'}`);

        if (way === 'get') {
            const id = call.eventId(this.cursor());
            const answer = await from.get(other ? id
                : this.chance(0.5) ? bend(call.stream).padEnd(22, 'B')
                                     + id.slice(22)
                : call.eventId(call.length + 1 + Math.floor(this.rand() * 9)));

            if (answer.status !== 400) {
                assert.equal(answer.status, 404);
                await refusal('event id', answer);
            }

            return;
        }

        if (way === 'link') {
            const url = new URL(this.pick(call.links).url);
            const token = url.searchParams.get('mcp-stream');
            const nameless = this.chance(0.5);
            const stranger = USERS.find((user) => user !== call.session.user);
            const post = this.chance(0.5);

            if (!other) {
                url.searchParams.set('mcp-stream', bend(token));
            }

            const answer = await this.at(url, {
                method: post ? 'POST' : 'GET',
                body: post ? [{ jsonrpc: '2.0', id: call.eventId(1),
                                result: {} }] : undefined,
                session: nameless ? undefined : from,
                user: !other ? call.session.user
                    : nameless ? stranger : other.user,
            });

            assert.equal(answer.status, 404);
            await refusal('link', answer);
            return;
        }

        const resume = this.chance(0.5);

        if (way === 'token') {
            const token = this.pick(call.tokens);

            // to a client without tokens this is an ordinary call

            if (other && !other.resumptions.tokens) {
                return;
            }

            await refusal('resume', await from.request('tools/call', other
                ? this.params(token) : this.chance(0.5)
                    ? this.params(bend(token))
                    : { ...this.params(token), arguments: { n: 999 } }));
            return;
        }

        const resumption = way === 'request' ? 'requests' : 'streams';

        if (other && !other.resumptions[resumption]) {
            const method = resumption === 'requests' ? 'requests/getStatus'
                                               : 'stream/poll/all';

            await refusal(`no ${method}`, await other.request(method, {}));
            return;
        }

        if (way === 'request') {
            const token = other || this.chance(0.5) ? call.policy.token
                                                    : bend(call.policy.token);
            const id = other || token !== call.policy.token ? call.id
                                                            : call.id + 100000;

            await refusal('resume', resume
                ? await from.request('requests/resume', { resumeToken: token },
                                     { id })
                : await from.request('requests/getStatus', { requestId: id,
                    resumeToken: token }));
            return;
        }

        const bad = this.chance(0.5);

        await refusal('resume', await from.request(
            resume ? 'stream/resume' : 'stream/poll', {
                streamId: other || bad ? call.stream
                    : bend(call.stream).padEnd(22, 'B'),
                resumeToken: other || !bad ? call.create.token
                                           : bend(call.create.token),
            }));
    }


    /*
     * --- requests that change the call
     */

    async answer() {
        const { call } = this;
        const { open } = call;

        if (!open.length) {
            return;
        }

        const some = this.chance(0.6) ? open : [this.pick(open)];
        const list = some.map((seq) => ({ jsonrpc: '2.0',
            id: call.seen.get(seq).id, result: { action: 'accept',
                content: { value: call.seen.get(seq).params.message } } }));

        if (this.world.link && call.links.length && this.chance(0.6)) {
            await this.answerLink(some, list);
            return;
        }

        this.note(`answer: ${some}`);
        call.gave = true;

        for (const [i, response] of list.entries()) {
            const answer = await call.session.post(response);

            assert.equal(answer.status, 202);
            call.answered.add(some[i]);
            call.confirm(some[i], true);
        }

        // a second answer to the same question

        if (this.chance(0.3)) {
            assert.equal((await call.session.post(list[0])).status, 202);
        }

    }

    async answerLink(some, list) {
        const { call } = this;
        const link = call.links.at(-1);
        const { url, reader, turn } = link;
        const c = this.chance(0.5) && call.cursors.includes(call.last)
            ? call.last : undefined;
        const lose = this.chance(0.1) ? this.rand() * 10 : undefined;
        const before = this.reader;

        // begins after the events that must have arrived

        const proven = Math.max(c ?? 0, ...some);
        const start = [0, 1].map((i) => Math.max(proven, reader.start[i],
            c === undefined ? call.floor[i] : 0));

        if (turn[0] < call.turn[1]) {
            return;
        }

        this.note(`answer by URL: ${some}, ${c}, ${start}${
            lose === undefined ? '' : ', lost'}`);

        const answer = await this.send(() => this.at(url, { method: 'POST',
            body: list, session: this.chance(0.5) && call.session, lose,
            last: c === undefined ? {}
                : { 'Last-Event-ID': call.eventId(c) } }), lose);

        call.use(link, !!answer);
        call.confirm(start[1], false);
        call.gave = true;

        if (!answer) {

            // the client answers again by POSTs

            call.newest++;
            call.sent = [Math.min(call.sent[0], start[0]), Infinity];
            call.lost();

            for (const [i, response] of list.entries()) {
                assert.equal((await call.session.post(response)).status, 202);
                call.answered.add(some[i]);
                call.confirm(some[i], true);
            }

            return;
        }

        assert.equal(answer.status, 200, answer.sse ? '' : await answer.text());
        some.forEach((seq) => call.answered.add(seq));
        call.confirm(proven, true);

        const next = this.reads(answer, { start }, turn.map((n) => n + 1));

        if (lose !== undefined) {
            next.close();
        }

        if (before && !before.over) {
            await this.replaced(before);
        }
    }

    async release() {
        const { call } = this;
        const { n } = call.args;

        if (n === undefined || call.released > n) {
            return;
        }

        const limit = this.chance(0.2) ? n + 1
            : Math.min(n + 1, call.released + 1 + Math.floor(this.rand() * 3));

        this.note(`open: ${limit}`);
        await this.open(limit);
    }

    async read() {
        const { reader, call } = this;

        if (!reader) {
            return;
        }

        const left = call.available - (reader.cursor ?? reader.start[1]);
        const all = left <= 0 || this.chance(0.6);

        this.note(`read: ${all ? 'all' : `some of ${left}`}`);

        await (all ? reader.all()
                   : reader.read(1 + Math.floor(this.rand() * left)));
    }

    // Drops the connection; events on their way, or the response, are lost.

    async drop() {
        const { reader, call } = this;

        if (!reader) {
            return;
        }

        if (this.chance(0.3)) {
            this.note('drop: while the rest comes');
            reader.answer.pause();

            if (call.args.n !== undefined) {
                await this.open(call.args.n + 1);
            }

            await pause(this.rand() * 60);
        } else {
            this.note('drop: ');
        }

        reader.close();
    }

    // Waits until connections are closed by the server and requests get interim
    // results.

    async wait() {
        this.note('wait: ');
        await pause(this.rand() * 900);
    }

    async cancel() {
        const { call } = this;

        if (call.available === call.length || !this.ways().length
            || call.perhaps)
        {
            return;
        }

        this.note('cancel: ');
        call.cancelled = true;
        await call.session.notify('notifications/cancelled',
                                  { requestId: call.id });

        if (this.reader) {
            await this.reader.read(Infinity);
        }

        // every method ends or is refused

        for (const way of new Set(this.ways())) {
            const until = Date.now() + 30000;

            for (;;) {
                const answer = await this.attempt(way).go();

                // by URL: not cancelled yet, and the event of the URL was
                // dropped

                const dropped = way === 'link' && !answer.sse
                    && /no longer/.test(await answer.text());

                if (!answer.sse && !dropped) {
                    if (way === 'get') {
                        assert.ok([204, 404].includes(answer.status));
                    } else {
                        await refusal(way === 'link' ? 'link'
                            : answer.status === 400 ? 'no request' : 'resume',
                                      answer);
                    }

                    break;
                }

                // by event id: the older events, without a response

                if (way === 'get') {
                    const blocks = [];

                    for (let b; (b = await answer.block());) {
                        blocks.push(b);
                    }

                    assert.equal(answer.ending, 'end');
                    assert.ok(!blocks.some((b) => /"result"/.test(b.data)));
                    break;
                }

                answer.close();
                assert.ok(Date.now() < until, `${way}: is not cancelled`);
                await pause(20);
            }
        }

        this.call = undefined;
    }

    // Forgets the call and lets it end. A client that waited for it would keep
    // an old process alive, and the server has room for few such clients.

    async end() {
        const { call } = this;

        if (call.args.n === undefined) {
            await call.session.notify('notifications/cancelled',
                                      { requestId: call.id });
        } else if (call.released <= call.args.n) {
            await this.open(call.args.n + 1);
        }

        this.call = undefined;
    }

    // Reads the call to its end by any method.

    async finish() {
        const { call } = this;
        const ways = this.ways();

        this.note('finish: ');

        if (call.args.n !== undefined) {
            await this.open(call.args.n + 1);
        }

        const from = call.last;

        for (let tries = 0; !call.done && ways.length; tries++) {
            assert.ok(tries < 200, 'never ends');

            while (call.open.length) {
                await this.answer();
            }

            if (!this.reader) {
                const some = this.ways();

                await this.resume(some.includes('get') ? 'get'
                                                       : this.pick(some));
            }

            if (this.reader) {
                await this.reader.all();
            } else if (this.lostBare()) {
                break;
            }
        }

        if (call.done && call.cursors.length && from === 0) {
            this.stats.set('whole', (this.stats.get('whole') ?? 0) + 1);
        }

        this.check();
        this.call = undefined;
    }

    // True if the response was written to a connection that has nothing to
    // resume from.

    lostBare() {
        const { call } = this;

        return this.ways().every((way) => way === 'token')
               && call.available === call.length;
    }

    // A call that was read by event ids: each event has arrived.

    check() {
        const { call } = this;

        if (call.done && this.ways().some((way) => way !== 'token')
            && !call.resumptions.interims)
        {
            for (let seq = call.heads + 1; seq <= call.length; seq++) {
                assert.ok(call.seen.has(seq), `event ${seq} is lost`);
            }
        }
    }

    async step() {
        if (!this.call) {
            await this.begin();
            return;
        }

        this.known();

        const { call } = this;
        const ways = this.ways();
        const p = this.rand();

        if (!ways.length && !this.reader) {
            await this.end();
        } else if (p < 0.16) {
            await this.release();
        } else if (p < 0.34) {
            await this.read();
        } else if (p < 0.44) {
            await this.drop();
        } else if (p < 0.66 && ways.length) {
            await this.resume(this.pick(ways), { lose: this.chance(0.12)
                ? this.rand() * 10 : undefined });
        } else if (p < 0.70 && ways.length) {
            await this.twice();
        } else if (p < 0.78) {
            await this.poll();
        } else if (p < 0.84 && ways.length) {
            await this.foreign();
        } else if (p < 0.92) {
            await this.answer();
        } else if (p < 0.93) {
            await this.cancel();
        } else if (p < 0.95) {
            await this.wait();
        } else if (call.done || p > 0.985) {
            await this.finish();
        }
    }
}


async function run(seed) {
    const stats = new Map();
    const left = { rounds: ROUNDS };
    let failed;

    const lanes = Array.from({ length: LANES }, (_, i) => new Lane(
        worlds[i % worlds.length], random(seed * 31 + i), stats));

    const reloads = async () => {
        for (let next = ROUNDS - RELOAD; next > 0 && !failed; next -= RELOAD) {
            while (left.rounds > next && !failed) {
                await pause(50);
            }

            const world = worlds[next / RELOAD % worlds.length | 0];

            await world.server.reload();
            stats.set('reload', (stats.get('reload') ?? 0) + 1);
        }
    };

    await Promise.all([reloads(), ...lanes.map(async (lane, i) => {
        try {
            while (left.rounds-- > 0 && !failed) {
                await lane.step();
            }

            if (lane.call && !failed) {
                await lane.finish();
            }
        } catch (error) {
            failed ??= error;
            error.stack += `\nMCP_SEED=${seed}, lane ${i}:\n  ${
                lane.history.slice(lane.history.findLastIndex(
                    (line) => line.startsWith('begin'))).join('\n  ')}`;
            throw error;
        }
    })]);

    return Object.fromEntries([...stats].sort());
}


for (const seed of SEEDS) {
    test(`${ROUNDS} random steps of clients, MCP_SEED=${seed}: the responses are as the model predicts`,
        { timeout: 3600000 },
        async (t) => {
            t.diagnostic(JSON.stringify(await run(seed)));
            await settled();
        });
}
