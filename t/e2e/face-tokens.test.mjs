// Resume tokens: what they have for themselves (faces.test.mjs has the rest):
// pages of a backend, interim results of slow calls.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { pause, refused, rest } from './lib/faces.mjs';
import { status } from './lib/load.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_stream_after: '30s',
                mcp_resume_after: '1s' } });
const brief = await Fixture.use({ workers: 1,
    location: { mcp_resume_lifetime: '1s' } });
const still = await Fixture.use({ workers: 2,
    location: { mcp_stream_after: '60s', mcp_resume_after: 'off' } });
const capabilities = { experimental: { resumeTokens: {} } };
const session = await server.session({ capabilities });
const plain = await server.session();
let gates = 0;
let asked = 0;


// the same request again, with the token of the answer before and a progress
// token of its own, unless it is quiet

async function again(of, name, args, token, { quiet, ...options } = {}) {
    const progressToken = quiet ? undefined : `again ${asked++}`;
    const answer = await of.request('tools/call', { name, arguments: args,
        _meta: { progressToken, resumeToken: token } }, options);

    return Object.assign(answer, { progressToken });
}


// what it brings: all progress is its own

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


// a call that was answered with an interim result

async function slow(n) {
    const gate = `tokens ${gates++}`;
    const args = { n, gate, tag: gate };
    const answer = await session.call('count', args, { token: undefined });

    assert.equal(answer.sse, false);

    return { args, token: interim(await answer.json()) };
}


for (const top of [false, true]) {
    test(`pages${top ? ', tokens at the top' : ''}`, async () => {
        const args = { n: 4, top };
        let answer = await session.call('pages', args);

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

            const spent = await again(session, 'pages', args, token);

            await refused(spent);
        }
    });
}


// results of one moment: what uses up one token leaves the others as they are

test('pages that are alike', async () => {
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


test('a page that nobody waited for: the token is good again', async () => {
    const one = await still.session({ capabilities });
    const porter = await still.session();
    const gate = `tokens ${gates++}`;
    const args = { n: 3, gate, tag: gate };

    await porter.open(gate, 1);

    const { result } = await (await one.call('pages', args)).json();
    const token = result.nextResumeToken;
    const lose = porter.running(gate, 'started', 2);

    await assert.rejects(again(one, 'pages', args, token, { lose }));
    await porter.open(gate);
    assert.equal((await porter.running(gate, 'finished', 2)).aborted, 0);

    while ((await status(still)).calls_live > 0) {
        await pause(5);
    }

    const next = await again(one, 'pages', args, token);

    assert.equal(textOf((await next.json()).result), 'page 2');
    await refused(await again(one, 'pages', args, token));
});


test('nobody else sees any of it', async () => {
    const args = { n: 2 };
    const { result } = await (await plain.call('pages', args)).json();

    assert.equal(result.nextResumeToken, undefined);
    assert.deepEqual(result._meta, { own: true, nextResumeToken: 'page 2' });

    const next = await again(plain, 'pages', args, 'page 2');

    assert.equal(textOf((await next.json()).result), 'page 2');
});


test('a slow call: interim, then the rest', async () => {
    const { args, token } = await slow(3);
    const answer = await again(session, 'count', args, token);

    await session.open(args.gate);

    const { messages, response } = await restOf(answer);

    assert.deepEqual(counted(messages), upTo(3));
    assert.equal(textOf(response.result), 'counted to 3');

    // nobody knows whether it arrived: it may be asked for again

    const repeated = await again(session, 'count', args, token);
    const second = await restOf(repeated);

    assert.deepEqual(counted(second.messages), upTo(3));
    assert.equal(textOf(second.response.result), 'counted to 3');
});


test('in rounds, with what there is', async () => {
    const { args } = { args: { n: 5, gate: `tokens ${gates++}` } };

    await session.open(args.gate, 1);

    // its first message makes it a stream

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


test('who does not ask for progress gets none, and nothing waits', async () => {
    const { args, token } = await slow(5);

    // said before it asks: it has all of that before it has waited too long

    await session.open(args.gate, 3);
    await session.running(args.tag, 'sent', 3);

    const first = await restOf(await again(session, 'count', args, token,
                                           { quiet: true }));

    assert.deepEqual(first.messages, []);

    // the interim result is behind what was left out

    const next = await again(session, 'count', args, interim(first.response));

    await session.open(args.gate);

    const { messages, response } = await restOf(next);

    assert.deepEqual(counted(messages), [3, 4]);
    assert.equal(textOf(response.result), 'counted to 5');
});


test('expired', async () => {
    const one = await brief.session({ capabilities });
    const { result } = await (await one.call('pages', { n: 2 })).json();

    await pause(1200);
    await refused(await again(one, 'pages', { n: 2 },
                              result.nextResumeToken));
});
