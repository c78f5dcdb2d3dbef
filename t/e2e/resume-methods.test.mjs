// SPDX-License-Identifier: Apache-2.0

// Cases that hold for every resumption method: each case is a test for each
// method. Cases of one method alone are in resume-*.test.mjs.

import assert from 'node:assert/strict';
import { describe, test as one } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { ask, count, resumptions } from './lib/callers.mjs';
import { held, pause, rest } from './lib/held-calls.mjs';
import { settle, status } from './lib/load.mjs';

const COMMON = { mcp_close_after: 'off', mcp_stream_after: '100ms',
                 mcp_resume_after: '300ms',
                 nginx: 'mcp_principal $http_x_user;',
                 apache: 'MCPPrincipal "%{HTTP:X-User}"' };

// On Apache one caller has at most half of the threads that others leave; the
// server whose cases run at the same time has enough threads for all.

// Each method with a policy announces it soon, although other calls wait for a
// minute; a stream with a URL is closed at a question, whoever reads it.

const [main, linked, brief, hasty, full, slow, strict,
    willing] = await Promise.all([
    Fixture.use({ workers: 3, threads: 8, location: COMMON }),
    Fixture.use({ workers: 3, threads: 8,
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_stream_after: '60s' } }),
    Fixture.use({ workers: 2, threads: 48,
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_max_wait: '2s' } }),
    Fixture.use({ workers: 2, threads: 16,
                  location: { ...COMMON, mcp_stream_after: '60s',
                              mcp_linger: '100ms' } }),
    Fixture.use({ workers: 2, zone: '1m',
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_stream_buffer: '128k' } }),
    Fixture.use({ workers: 2, threads: 8,
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_stream_after: '60s',
                              mcp_policy_after: '60s',
                              mcp_resume_after: 'off' } }),
    Fixture.use({ workers: 2, threads: 8,
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_stream_after: '60s', mcp_resume_after: 'off',
                              mcp_max_wait: '0' } }),
    Fixture.use({ workers: 2, threads: 8,
                  location: { ...COMMON, mcp_link: 'on',
                              mcp_close_after: '200ms',
                              mcp_call_timeout: '20s' } }),
]);

const serverOf = (resumption) => (resumption.link ? linked : main);
const begin = async (resumption, call, server = serverOf(resumption), session) =>
    (await resumption.of(server, session)).begin(call);

// Defines a case: a test for each method to which the case applies.

function test(name, run, { of = () => true } = {}) {
    for (const resumption of resumptions.filter(of)) {
        one(`${resumption.method}: ${name}`, () => run(resumption));
    }
}


// All refusals of one method are equal except for the id.

const refusals = new Map();

async function refused(resumption, answer, why) {
    const { id, ...body } = await answer.json();
    const text = JSON.stringify([answer.status, answer.type, body]);

    assert.equal(typeof body.error?.code, 'number', why);

    // a JSON-RPC error has the id of the request

    if (answer.status === 200) {
        assert.deepEqual(body.error.data, { resume: 'refused' }, why);
    }
    assert.equal(text, refusals.get(resumption) ?? text, why);
    refusals.set(resumption, text);
}

// Lets the call end and waits until the store has its end; `others` calls still
// run.

async function over(server, caller, others = 0) {
    await caller.open();

    while ((await status(server)).calls_active > others) {
        await pause(5);
    }
}


// Waits until a call without a client has a stream: before that, the server may
// not have noticed the lost connection and would write the response to it.

async function noticed(server, before) {
    const made = (now) => now.streams + now.streams_expired
        + now.streams_evicted;

    while (made(await status(server)) === made(before)) {
        await pause(5);
    }
}


// Waits until the store has freed all streams.

async function empty(server) {
    while ((await status(server)).streams > 0) {
        await pause(20);
    }
}


test('connection lasts until the response: each message arrives once', async (resumption) => {
    const caller = await begin(resumption, count(3));

    await caller.open();
    await caller.end();
    await caller.again();
});


test('connection lost while the backend is silent: the client can resume',
     async (resumption) => {
    const caller = await begin(resumption, count(0), resumption.link ? linked : hasty);

    caller.drop();
    await caller.back();
    await caller.open();
    await caller.end();
}, { of: ({ method, link }) => link || method === 'requests'
                             || method === 'streams' });


// Everything that was written is pending until the client confirms an event id.

test('client has read a stream to its end: status requests report pending messages until the client confirms the last event', async (resumption) => {
    const caller = await begin(resumption, count(2), main);
    const pending = async (last) => {
        const { result } = await (await caller.poll({ last })).json();

        return result.hasPendingMessage ?? result.pendingMessages;
    };

    await caller.open();
    await caller.end();
    await settle(() => status(main), { consumers_active: 0, calls_active: 0 });
    assert.equal(await pending(null), true);
    assert.equal(await pending(caller.last), false);
    assert.equal(await pending(null), false);

    // any GET with an event id confirms

    const other = await begin(resumption, count(2), main, caller.session);

    await other.open();
    await other.end();
    assert.equal((await other.session.get(other.last)).status, 204);
    assert.equal((await other.session.response('stream/poll/all')).result
        ?.statuses.every((s) => s.pendingMessages === false)
        ?? (await (await other.poll({ last: null })).json()).result
            .hasPendingMessage === false, true);
}, { of: ({ method }) => method === 'requests' || method === 'streams' });


// The client may have read further on another connection.

test('stream resumed without an event id: the resumed stream begins without an event id',
     async (resumption) => {
    const caller = await begin(resumption, count(2));

    await caller.open(1);
    await caller.read(1);
    caller.drop();
    await caller.back({ cursor: false });

    assert.deepEqual(Object.keys(await caller.answer.block()), ['comment']);
    assert.deepEqual(Object.keys(await caller.answer.block()), ['retry']);
    await caller.open();
    await caller.end();
}, { of: ({ cursor }) => cursor === 'may' });


test('initialize: the result declares the capability of the resumption method',
     async (resumption) => {
    const { session } = await resumption.of(serverOf(resumption));
    const { experimental } = session.server.capabilities;
    const name = Object.keys(resumption.capabilities)[0];

    assert.deepEqual(experimental, {
        resumableRequests: {}, streams: {}, resumeTokens: {},
        ...(resumption.link && { streamLinks: {} }),
        ...(name && { [name]: {} }) });
});


// A client whose connection was kept would get an error when its call times
// out.

test('2025-06-18, server closes the stream: the client can resume it',
     async (resumption) => {
    const caller = await begin(resumption, count(2), willing,
        await resumption.session(willing, 'ann', '2025-06-18'));

    assert.deepEqual(await caller.leftovers(caller.answer), []);
    await caller.back();
    assert.deepEqual(await caller.leftovers(caller.answer), []);
    await caller.back();
    caller.moves = true;
    await caller.open();
    await caller.end();
}, { of: ({ method, link }) => link || method === 'requests'
                             || method === 'streams' });


test('quick call: plain JSON, nothing is stored', async (resumption) => {
    const { session } = await resumption.of(slow);
    const { streams, events } = await status(slow);
    const answer = await session.request('tools/call',
                                         { name: 'echo', arguments: {} });

    assert.equal(answer.sse, false);
    assert.ok((await answer.json()).result);
    assert.deepEqual([(await status(slow)).streams,
                      (await status(slow)).events], [streams, events]);
}, { of: ({ method, link }) => link || method === 'requests'
                             || method === 'streams' });


test('connection lost before the first byte: the call continues',
     async (resumption) => {
    const server = serverOf(resumption);
    const caller = await resumption.of(server);
    const other = await begin(resumption, count(2), server, caller.session);
    const before = await status(server);

    await caller.lose(count(3));
    await noticed(server, before);
    await over(server, caller, 1);
    assert.equal((await caller.running('finished')).aborted, 0);

    await other.open();
    await other.end();
    await caller.find();
});


test('connection lost before its stream begins: the call continues',
     async (resumption) => {
    const caller = await resumption.of(slow);
    const before = await status(slow);

    await caller.lose(count(0));
    await noticed(slow, before);
    await over(slow, caller);
    assert.equal((await caller.running('finished')).aborted, 0);
    await caller.find();
});


test('connection lost before its stream begins, mcp_max_wait 0: the backend is aborted',
     async (resumption) => {
    const caller = await resumption.of(strict);

    await caller.lose(count(0));
    assert.equal((await caller.running('aborted')).aborted, 1);
});


test('connection lost after the first event: all messages arrive',
     async (resumption) => {
    const caller = await begin(resumption, count(3));

    caller.drop();
    await caller.open();
    await caller.back();
    await caller.end();
});


test('connection lost after every message: the remaining messages arrive', async (resumption) => {
    const n = 4;

    for (let drop = 0; drop <= n; drop++) {
        const caller = await begin(resumption, count(n));

        await caller.open(drop);
        await caller.read(drop);
        caller.drop();

        // the next message arrives while there is no client

        await caller.open(drop + 1);
        await caller.back();
        await caller.read(Math.min(drop + 1, n));
        await caller.open();
        await caller.end();
    }
});


test('connection lost after every message, resumed without Last-Event-ID: all messages arrive',
     async (resumption) => {
    const n = 4;

    for (let drop = 0; drop <= n; drop++) {
        const caller = await begin(resumption, count(n));

        await caller.open(drop);
        await caller.read(drop);
        caller.drop();
        await caller.back({ cursor: false });
        await caller.read(drop);
        caller.drop();
        await caller.back();
        await caller.open();
        caller.drop();
        await caller.back({ cursor: false });
        await caller.end();
    }
}, { of: (resumption) => resumption.cursor === 'may' });


test('connection lost before and after the answer to a question: the call continues',
     async (resumption) => {
    const caller = await begin(resumption, ask);

    await caller.open();

    const one = await caller.read(2);

    caller.drop();
    await caller.back();

    const two = await caller.read(3);

    await caller.look({ asks: true });
    caller.drop();
    await caller.reply([one, two]);
    caller.drop();
    await caller.back();
    await caller.end();
});


test('connection lost while the response is sent: the resumed client gets the response',
     async (resumption) => {
    const caller = await begin(resumption, count(2));

    caller.answer.pause();
    await over(caller.server, caller);
    caller.drop();
    await caller.back();
    await caller.end();
});


// These methods declare how long a client may stay away.

test('connection lost while the response is sent, client declared how long it may stay away: the response is kept for this time',
    async (resumption) => {
        const caller = await begin(resumption, count(2), hasty);

        caller.answer.pause();
        await over(hasty, caller);
        await settle(() => status(hasty), { consumers_active: 0 });
        caller.drop();

        // the stream of a client without a declared time is freed

        const plain = await hasty.session();
        const call = await held(plain, 1);

        await plain.open(call.gate);
        await rest(call.answer, call.id);

        while ((await plain.get(call.answer.lastId)).status !== 404) {
            await pause(50);
        }

        await caller.back();
        await caller.end();
    }, { of: ({ method }) => method === 'requests' || method === 'streams' });


test('stream resumed three times: the older connections end, the newest one gets the messages',
     async (resumption) => {
    const caller = await begin(resumption, count(3));

    await caller.open(1);
    await caller.read(1);

    for (let i = 0; i < 3; i++) {
        const older = caller.answer;

        await caller.back();
        await caller.superseded(older);
        await caller.read(1);
    }

    await caller.open();
    await caller.end();
});


test('stream resumed at another worker: the remaining messages arrive', async (resumption) => {
    const caller = await begin(resumption, count(4));

    await caller.open(1);
    await caller.read(1);

    for (let i = 0; i < 50; i++) {
        caller.drop();
        await caller.back();

        if (caller.answer.headers['x-worker'] !== caller.worker) {
            break;
        }
    }

    assert.notEqual(caller.answer.headers['x-worker'], caller.worker);
    await caller.open(2);
    await caller.read(2);
    await caller.open();
    await caller.end();
});


test('status requests during a stream: the reading client loses no message',
     async (resumption) => {
    const caller = await begin(resumption, count(3));
    const other = await begin(resumption, count(1), caller.server, caller.session);

    await other.open();
    await other.end();

    for (let i = 0; i <= 3; i++) {
        await caller.open(i);
        await caller.read(i);
        await caller.look();
        await caller.look();
        await other.again();
    }

    await caller.open();
    await caller.end();
    await caller.look({ over: true });
});


// None of the attempts disturbs the call, which its owner reads to the end.

async function attempted(resumption, what, wrong) {
    const caller = await begin(resumption, count(2));

    await caller.open(1);
    await caller.read(1);

    for (const answer of await wrong(caller)) {
        await refused(resumption.refusedAs(what), answer, what);
    }

    assert.ok(!(await caller.server.log()).includes(caller.secret));

    await caller.open();
    await caller.end();
}


test('resume with a wrong token: 404 or -32602', (resumption) => attempted(resumption, 'token',
    (caller) => caller.attempts({ token: true })));


test('resume with a wrong id of the request, stream or event: 404 or -32602', (resumption) => attempted(resumption, 'id',
    (caller) => caller.attempts({ id: true })));


test('resume from another session: 404 or -32602', (resumption) => attempted(resumption, 'session',
    async (caller) => caller.attempts({
        from: await resumption.session(caller.server) })));


test('resume by another principal: 404 or -32602',
     (resumption) => attempted(resumption, 'principal',
    async (caller) => {
        // with bob's session; with another principal's session he gets 404

        const from = Object.assign(Object.create(caller.session),
                                   { extra: { 'X-User': 'bob' } });

        for (const answer of await caller.attempts({ from })) {
            assert.equal(answer.status, 404);
            assert.equal((await answer.json()).error.message,
                         'Session not found');
        }

        return caller.attempts({
            from: await resumption.session(caller.server, 'bob') });
    }));


test('cancelled call: a resume gets 204, 404 or -32602', async (resumption) => {
    const caller = await begin(resumption, count(2));

    await caller.open(1);
    await caller.read(1);
    assert.equal((await caller.cancel()).status, 202);
    assert.equal((await caller.running('aborted')).aborted, 1);
    assert.deepEqual(await caller.leftovers(caller.answer), resumption.cancelled);

    for (const answer of await caller.attempts({})) {
        if (resumption.gone) {
            assert.equal(answer.status, resumption.gone);
        } else {
            await refused(resumption, answer, 'cancelled');
        }
    }
});


// Fills the store with held calls. Their gate is opened by a call, too, which
// must run before the store is full.

async function filler(server) {
    const session = await server.session({ headers: { 'X-User': 'cy' } });
    const gate = `fill ${Math.random()}`;
    const calls = [];

    await session.open(gate, 50);

    return {
        async fill() {
            for (;;) {
                const answer = await session.call('count',
                    { n: 51, size: 2000, gate });

                // status 200: the call began before the store was full

                if (!answer.sse) {
                    assert.ok([200, 429, 503].includes(answer.status));
                    break;
                }

                assert.ok(calls.length < 100);
                await answer.block();
                calls.push(answer);
            }
        },

        async clear() {
            for (const { id } of calls) {
                await session.notify('notifications/cancelled',
                                     { requestId: id });
            }

            await Promise.all(calls.map((answer) => answer.ended));
        },
    };
}

test('zone is full: calls that have a stream can be resumed', async (resumption) => {
    const going = await begin(resumption, count(5), full);
    const ended = await begin(resumption, count(2), full);

    going.drop();

    const { events } = await status(full);

    await going.open(3);

    while ((await status(full)).events < events + 3) {
        await pause(5);
    }

    ended.drop();
    await over(full, ended, 1);

    const others = await filler(full);

    await others.fill();

    for (let i = 0; i < 2; i++) {
        const { result } = await going.session.response('tools/call',
            { name: 'echo', arguments: {} });

        assert.ok(result, 'a quick call of another principal');

        // the principal's calls lose nothing, while the zone is full and
        // afterwards

        await going.back();
        await going.read(3);
        going.drop();
        await others.fill();
    }

    await ended.back();
    await ended.end();

    await others.clear();
    await going.back();
    await going.open();
    await going.end();
});


describe('calls without a client', { concurrency: true }, () => {
    test('no client resumes within mcp_max_wait: the call is aborted, a later resume gets 404 or -32602',
         async (resumption) => {
        const caller = await begin(resumption, count(2), brief);

        await caller.open(1);
        await caller.read(1);
        caller.drop();
        assert.equal((await caller.running('aborted')).aborted, 1);

        for (const answer of await caller.attempts({})) {
            await refused(resumption, answer, 'expired');
        }
    });

    test('no client resumes after the end of a call: the call expires, a later resume gets 404 or -32602',
         async (resumption) => {
        const caller = await begin(resumption, count(2), brief);

        caller.drop();
        await caller.open();
        await caller.running('finished');
        await empty(brief);

        for (const answer of await caller.attempts({})) {
            await refused(resumption, answer, 'expired');
        }
    });

    test('connection lost before the first byte, no client returns: the backend is aborted',
         async (resumption) => {
        const caller = await resumption.of(brief);

        await caller.lose(count(2));
        assert.equal((await caller.running('aborted')).aborted, 1);
    });
});


describe('reloads', () => {
    test('reload during a call: the remaining messages arrive', async (resumption) => {
        const caller = await begin(resumption, count(4));

        await caller.open(1);
        await caller.read(1);
        await caller.reload();
        caller.drop();
        await caller.open(2);
        await caller.back();
        await caller.read(2);
        await caller.open();
        await caller.end();
        await caller.server.settled();
    });

    test('call ended before a reload: the remaining messages arrive', async (resumption) => {
        const caller = await begin(resumption, count(3));

        await caller.open(1);
        await caller.read(1);
        caller.drop();
        await over(caller.server, caller);
        await caller.reload();
        await caller.back();
        await caller.end();
        await caller.server.settled();
    });
});
