// SPDX-License-Identifier: Apache-2.0

// Resume tokens: the cases of this resumption method alone (resume-methods.test.mjs has
// the common ones): pages of a backend, interim responses of slow calls.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { pause, refused, rest } from './lib/held-calls.mjs';
import { Modern } from './lib/modern.mjs';
import { counted, responseOf, textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_stream_after: '30s',
                mcp_resume_after: '1s' } });
const brief = await Fixture.use({ workers: 1,
    location: { mcp_resume_lifetime: '1s' } });
const quick = await Fixture.use({ workers: 4,
    location: { mcp_stream_after: '30s', mcp_resume_after: '300ms' } });
const offered = await Fixture.use({ workers: 4,
    location: { mcp_stream_after: '30s', mcp_resume_after: '300ms',
                mcp_resume_tokens: 'on' } });
const still = await Fixture.use({ workers: 2,
    location: { mcp_stream_after: '60s', mcp_resume_after: 'off',
                mcp_linger: '30s' } });
const capabilities = { experimental: { resumeTokens: {} } };
const session = await server.session({ capabilities });
const plain = await server.session();
let gates = 0;
let asked = 0;


// Sends a request again with the token of its last answer, and with a new
// progress token unless it is quiet.

async function again(of, name, args, token, { quiet, ...options } = {}) {
    const progressToken = quiet ? undefined : `again ${asked++}`;
    const answer = await of.request('tools/call', { name, arguments: args,
        _meta: { progressToken, resumeToken: token } }, options);

    return Object.assign(answer, { progressToken });
}


// Reads a repeated request to its end; all progress must have its own progress
// token.

async function restOf(answer) {
    const seen = await rest(answer, answer.id);

    for (const { method, params } of seen.messages) {
        if (method === 'notifications/progress') {
            assert.equal(params.progressToken, answer.progressToken);
        }
    }

    return seen;
}

function interim({ result }) {
    assert.match(textOf(result), /^Interim result: /);
    assert.equal(result.nextResumeToken, result._meta.nextResumeToken);

    return result.nextResumeToken;
}


// Returns text and next token of the answer to a page's token, JSON or stream.

async function pageOf(answer) {
    const { result, error } = await responseOf(answer, answer.id);

    assert.equal(error, undefined);

    return { text: textOf(result), token: result._meta?.nextResumeToken
                                          ?? result.nextResumeToken };
}


// Begins a call and returns its arguments and the token of its interim response.

async function slow(n) {
    const gate = `tokens ${gates++}`;
    const args = { n, gate, tag: gate };
    const answer = await session.call('count', args, { token: undefined });

    assert.equal(answer.sse, false);

    return { args, token: interim(await answer.json()) };
}


// Last-Event-ID resumes no stream of a request that has its interim response.

test('interim response to a call: its resume token gets the call\'s response, a GET with an event id of the call gets 204',
     async () => {
    const gate = `tokens ${gates++}`;
    const args = { n: 2, gate };

    await session.open(gate, 1);

    const answer = await session.call('count', args);
    const { response } = await rest(answer, answer.id);
    const token = interim(response);

    assert.equal((await session.get(answer.lastId)).status, 204);
    await session.open(gate);

    const { messages, response: last } = await restOf(
        await again(session, 'count', args, token));

    assert.deepEqual(messages.map((m) => m.params.message), ['1']);
    assert.equal(textOf(last.result), 'counted to 2');
    assert.equal((await session.get(answer.lastId)).status, 204);
});


for (const top of [false, true]) {
    test(`result in pages${top ? ', tokens outside of _meta' : ''}: a resume token is `
         + 'valid until the token of the next page is used',
         async () => {
        const args = { n: 4, top };
        let answer = await session.call('pages', args);
        let before;

        for (let page = 1; ; page++) {
            const { result } = await answer.json();
            const token = result.nextResumeToken;

            assert.equal(textOf(result), `page ${page}`);

            if (page === 4) {
                assert.equal(token, undefined);
                assert.equal(result._meta?.nextResumeToken, undefined);
                break;
            }

            assert.equal(result._meta.nextResumeToken, token);
            assert.equal(result._meta.own, top ? undefined : true);
            assert.ok(!token.includes('page'));
            answer = top ? await session.request('tools/call', {
                name: 'pages', arguments: args, resumeToken: token })
                : await again(session, 'pages', args, token);

            // the answer may have been lost: sent again until its token is used

            const repeated = await pageOf(await again(session, 'pages', args,
                                                      token));

            assert.equal(repeated.text, `page ${page + 1}`);
            assert.equal(repeated.token !== undefined, page + 1 < 4);

            if (before) {
                await refused(await again(session, 'pages', args, before));
            }

            before = token;
        }
    });
}


// The connection is reset when the head of an answer arrives; a client that
// repeats the request may have parsed and written its params anew.

test('page whose response was lost is requested again, with params spelled differently: the same response',
     async () => {
    const args = { n: 4, a: 3, b: { c: 'x/y', d: [1, 0.5] } };
    const spelled = '{"arguments":{"b":{"d":[1.0,5e-1],"c":"x\\/\\u0079"},'
        + '"a":30e-1,"n":4.0},"_meta":{"x":1},"resumeToken":TOKEN,'
        + '"name":"p\\u0061ges"}';

    await Promise.all(Array.from({ length: 20 }, async () => {
        let { token } = await pageOf(await session.call('pages', args));

        for (let page = 2; page <= 4; page++) {
            (await again(session, 'pages', args, token, { cut: 0 })).close();

            const id = session.next++;
            const answer = await session.post(`{"jsonrpc":"2.0","id":${id},`
                + '"method":"tools/call","params":'
                + `${spelled.replace('TOKEN', JSON.stringify(token))}}`);
            const seen = await pageOf(Object.assign(answer, { id }));

            assert.equal(seen.text, `page ${page}`);
            token = seen.token;
        }

        assert.equal(token, undefined);
    }));
});


// The server may handle the request of the dead connection first, or last.

test('resume token for a page sent on a dead and on a live connection: the client gets the page',
     async () => {
    const args = { n: 4 };

    await Promise.all(Array.from({ length: 30 }, async (_, i) => {
        let { token } = await pageOf(await session.call('pages', args));

        for (let page = 2; page <= 4; page++) {
            const [, alive] = await Promise.all([
                again(session, 'pages', args, token,
                      { lose: (i + page) % 3 }).catch(() => {}),
                again(session, 'pages', args, token),
            ]);
            let seen = await pageOf(alive);

            while (seen.token === token) {
                seen = await pageOf(await again(session, 'pages', args,
                                                token));
            }

            assert.equal(seen.text, `page ${page}`);
            token = seen.token;
        }
    }));
});


// Equal results of one moment: using one token leaves the others valid.

test('40 equal requests for page 1 at once: each resume token gets page 2',
     async () => {
    const args = { n: 2 };
    const of = () => session.call('pages', args).then((a) => a.json());
    const all = await Promise.all(Array.from({ length: 40 }, of));
    const tokens = all.map(({ result }) => result.nextResumeToken);

    assert.equal(new Set(tokens).size, tokens.length);

    for (const token of tokens) {
        const next = await again(session, 'pages', args, token);

        assert.equal(textOf((await next.json()).result), 'page 2');
    }
});


test('client leaves before it gets a page, then requests the page again: the page arrives, the backend is called once',
     async () => {
    const one = await still.session({ capabilities });
    const porter = await still.session();
    const gate = `tokens ${gates++}`;
    const args = { n: 3, gate, tag: gate };

    await porter.open(gate, 1);

    const { result } = await (await one.call('pages', args)).json();
    const token = result.nextResumeToken;
    const lose = porter.running(gate, 'started', 2);

    await assert.rejects(again(one, 'pages', args, token, { lose }));

    // while the page runs, then after its end

    const running = again(one, 'pages', args, token);

    await porter.open(gate);
    assert.equal((await pageOf(await running)).text, 'page 2');

    const after = await pageOf(await again(one, 'pages', args, token));
    const counters = await porter.running(gate, 'finished', 2);

    assert.equal(after.text, 'page 2');
    assert.equal(counters.started, 2);
    assert.equal(counters.aborted, 0);
});


// An event id of the failed attempt leads to that attempt's error, even after
// the token was used again.

test('backend fails for a page, the page\'s resume token is used again: the backend is called again, on a new stream',
     async () => {
    const one = await still.session({ capabilities });
    const porter = await still.session();
    const gate = `tokens ${gates++}`;
    const args = { n: 3, gate, tag: gate, say: true, crash: 2 };
    const use = (token) => again(one, 'pages', args, token);
    const after = async (id, answer) => {
        const { messages, response } = await rest(await one.resume(id),
                                                  answer.id);

        assert.deepEqual(messages, []);

        return response;
    };

    await porter.open(gate, 1);

    const { token } = await pageOf(await one.call('pages', args,
                                                  { token: undefined }));
    const first = await use(token);
    const { params } = await first.message();
    const { lastId } = first;

    assert.equal(params.message, 'attempt 2');
    first.close();
    await porter.open(gate);
    assert.equal((await after(lastId, first)).error.code, -32603);

    const second = await use(token);
    const { messages: [{ params: said }], response } = await rest(second,
                                                                  second.id);

    assert.equal(said.message, 'attempt 3');
    assert.equal(textOf(response.result), 'page 2');

    const [ids, before] = [second.blocks.map((b) => b.id),
                           first.blocks.map((b) => b.id)];

    assert.ok(before.includes(lastId));
    assert.ok(ids.every((id) => id && !before.includes(id)));
    assert.equal((await after(lastId, first)).error.code, -32603);
});


test('resume token of a backend, client that did not declare resumeTokens: the client gets it encrypted',
     async () => {
    const args = { n: 3 };
    const { result } = await (await plain.call('pages', args)).json();
    const { nextResumeToken: token, ...rest } = result._meta;

    assert.equal(result.nextResumeToken, undefined);
    assert.deepEqual(rest, { own: true });
    assert.match(token, /^p\.[\w-]{90,}$/);
    assert.ok(!Buffer.from(token.slice(2), 'base64url').includes('page'));

    const next = await pageOf(await again(plain, 'pages', args, token));

    assert.equal(next.text, 'page 2');
    assert.match(next.token, /^p\./);

    // a token that was not issued to this client is refused

    await refused(await again(plain, 'pages', args, 'page 2'));
    await refused(await again(session, 'pages', args, next.token));
    await refused(await again(plain, 'pages', { n: 4 }, next.token));
});


test('slow call: an interim response, whose resume token gets the remaining messages and the result',
     async () => {
    const { args, token } = await slow(3);
    const answer = await again(session, 'count', args, token);

    await session.open(args.gate);

    const { messages, response } = await restOf(answer);

    assert.deepEqual(counted(messages), upTo(3));
    assert.equal(textOf(response.result), 'counted to 3');

    // the response may be lost: the same token gets it again

    const repeated = await again(session, 'count', args, token);
    const second = await restOf(repeated);

    assert.deepEqual(counted(second.messages), upTo(3));
    assert.equal(textOf(second.response.result), 'counted to 3');
});


// Two live requests with one token: when its time is over, the older one gets
// an interim response with the same token, not an error.

test('two requests with one resume token: the older request gets an interim response with this token',
     async () => {
    const { args, token } = await slow(2);
    const older = await again(session, 'count', args, token);
    const newer = await again(session, 'count', args, token);
    const { response, messages } = await restOf(older);

    assert.equal(interim(response), token);
    assert.deepEqual(messages, []);

    await session.open(args.gate);

    // once the other request is over, a request with the token gets everything

    const last = await restOf(await again(session, 'count', args, token));

    assert.deepEqual(counted(last.messages), upTo(2));
    assert.equal(textOf(last.response.result), 'counted to 2');
    newer.close();
});


// A client that lost its connection repeats the request at once; the server may
// handle the request of the dead connection last.

test('resume token sent on a dead and on a live connection: the live connection gets an interim response',
     async () => {
    const one = await quick.session({ capabilities });

    // waits without an interim response

    const other = await quick.session();

    await Promise.all(Array.from({ length: 24 }, async () => {
        const gate = `tokens ${gates++}`;
        const args = { n: 1, gate, tag: gate };
        const first = await one.call('count', args, { token: undefined });
        let token = interim(await first.json());

        for (let round = 0; round < 10; round++) {
            const [, alive] = await Promise.all([
                again(one, 'count', args, token, { lose: round % 3 })
                    .catch(() => {}),
                again(one, 'count', args, token),
            ]);

            assert.equal(alive.sse, true);
            token = interim((await restOf(alive)).response);
        }

        await one.open(gate);

        const { response } = await restOf(await again(one, 'count', args,
                                                      token));

        assert.equal(textOf(response.result), 'counted to 1');
        assert.equal((await other.running(gate, 'finished', 1)).started, 1);
    }));
});


test('slow call resumed by the token of each interim response: each message arrives once',
     async () => {
    const { args } = { args: { n: 5, gate: `tokens ${gates++}` } };

    await session.open(args.gate, 1);

    // the first message makes the call a stream

    let answer = await session.call('count', args);
    let seen = await rest(answer, answer.id);
    const all = [...seen.messages];

    for (let limit = 2; limit <= 5; limit++) {
        const token = interim(seen.response);

        await session.open(args.gate, limit === 5 ? undefined : limit);
        answer = await again(session, 'count', args, token);
        assert.equal(answer.sse, true);
        seen = await restOf(answer);
        assert.ok(answer.blocks.every((b) => b.id === undefined));
        all.push(...seen.messages);
    }

    assert.equal(textOf(seen.response.result), 'counted to 5');
    assert.deepEqual(counted(all), upTo(5));
});


test('call resumed by token in a request without a progress token: no progress is sent, the interim response is not delayed',
     async () => {
    const { args, token } = await slow(5);

    // three messages from before the request: sent without a wait for more

    await session.open(args.gate, 3);
    await session.running(args.tag, 'sent', 3);

    const first = await restOf(await again(session, 'count', args, token,
                                           { quiet: true }));

    assert.deepEqual(first.messages, []);

    // the token continues after the messages that were left out

    const next = await again(session, 'count', args, interim(first.response));

    await session.open(args.gate);

    const { messages, response } = await restOf(next);

    assert.deepEqual(counted(messages), [3, 4]);
    assert.equal(textOf(response.result), 'counted to 5');
});


test('resume token older than mcp_resume_lifetime: -32602', async () => {
    const one = await brief.session({ capabilities });
    const { result } = await (await one.call('pages', { n: 2 })).json();

    await pause(1200);
    await refused(await again(one, 'pages', { n: 2 },
                              result.nextResumeToken));
});


// A client without a session: its call continues although the connection ended.

for (const [how, to, declared] of [['client declares resumeTokens', quick, capabilities],
                                   ['mcp_resume_tokens on', offered, {}]]) {
    test(`slow call without a session, ${how}: each message arrives once`,
         async () => {
        const modern = new Modern(to, { capabilities: declared });
        const gate = `tokens ${gates++}`;
        const params = { name: 'count', arguments: { n: 5, gate, tag: gate } };

        await modern.open(gate, 1);

        let { messages, response } = await modern.follow(
            await modern.request('tools/call', params,
                                 { meta: { progressToken: 'first' } }));
        const all = [...messages];

        for (let limit = 2; limit <= 5; limit++) {
            assert.equal(response.result.resultType, 'complete');

            const resumeToken = interim(response);
            const progressToken = `again ${limit}`;

            await modern.open(gate, limit === 5 ? undefined : limit);
            ({ messages, response } = await modern.follow(
                await modern.request('tools/call', { ...params, resumeToken },
                                     { meta: { progressToken } })));
            assert.ok(messages.every((m) =>
                m.params.progressToken === progressToken));
            all.push(...messages);
        }

        assert.equal(response.result.resultType, 'complete');
        assert.equal(textOf(response.result), 'counted to 5');
        assert.deepEqual(counted(all), upTo(5));
        assert.equal((await modern.running(gate)).aborted, 0);
    });
}
