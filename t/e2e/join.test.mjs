// SPDX-License-Identifier: Apache-2.0

// Equal calls: connections are lost at any moment, and the backend's journal
// shows how often a tool was executed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { many, random, settle, status } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { Session, upTo } from './lib/session.mjs';

const CALLS = 1000;
const WIDTH = 16;

const running = {};            // executions of each tag that run now
const most = {};               // the largest number at one time
const gates = {};

function gate(tag) {
    gates[tag] ??= Promise.withResolvers();

    return gates[tag];
}

// The backend: sends the requested messages, then its tag as the result.

async function work({ message: { params }, x }) {
    const { tag, messages = 0, ms = 0, gated, ends } = params.arguments;
    const { progressToken } = params._meta ?? {};

    running[tag] = (running[tag] ?? 0) + 1;
    most[tag] = Math.max(most[tag] ?? 0, running[tag]);
    x.signal.addEventListener('abort', () => gate(tag).resolve());
    x.head(200, messages || ends ? 'application/x-ndjson'
                                 : 'application/json');

    for (const progress of upTo(messages)) {
        x.write(`${JSON.stringify({ jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken, progress } })}\n`);
        await new Promise((resolve) => { setTimeout(resolve, ms); });
    }

    await (gated ? gate(tag).promise
        : new Promise((resolve) => { setTimeout(resolve, ms); }));

    running[tag]--;
    x.write(`${JSON.stringify({ content: [{ type: 'text', text: tag }] })}\n`);
    await (ends && gate(ends).promise);
    x.end();
}

const backend = await scripted(work);
const tool = (name, join) => ({ name, inputSchema: { type: 'object' },
                                ...(join && { 'x-mcp-join': join }) });
const location = {
    mcp_catalog: await catalog({ tools: [tool('by_key', 'key'),
        tool('by_arguments', 'arguments'), tool('alone')] }),
    mcp_backend: 'scripted',
    mcp_stream_after: '5ms',
    nginx: 'mcp_principal $http_x_user;',
    apache: 'MCPPrincipal "%{HTTP:X-User}"',
};
const server = await Fixture.use({ workers: 2, threads: 64, location,
    backends: { scripted: backend.address } });

const calm = await Fixture.use({ workers: 1, location: { ...location,
    mcp_stream_after: '60s', mcp_max_wait: '2s', mcp_linger: '100ms' },
    backends: { scripted: backend.address } });

const executed = (tag) => backend.calls
    .filter(({ message }) => message.params.arguments.tag === tag).length;

// A client of each era, for a user.

const eras = {
    '2025-11-25': (user, to = server) => Session.open(to, {
        headers: { 'X-User': user } }),
    '2026-07-28': async (user, to = server) => new Modern(to, {
        headers: { 'X-User': user } }),
};

let next = 1;

function message(client, name, args, key) {
    const id = next++;
    const _meta = { progressToken: id, ...(key && { idempotencyKey: key }) };
    const params = { name, arguments: args, _meta };

    return client.message ? client.message('tools/call', params, { id })
        : { jsonrpc: '2.0', id, method: 'tools/call', params };
}

// Reads a request to its end; returns the response, or undefined if it was
// lost.

async function responseOf(answer, id, cut) {
    if (!answer.sse) {
        const text = await answer.text();

        return answer.ending === 'end' ? JSON.parse(text) : undefined;
    }

    for (let n = 0, block; (block = await answer.block());) {
        const got = block.data ? JSON.parse(block.data) : {};

        if (got.id === id && !got.method) {
            return got;
        }

        assert.equal(got.params?.progressToken ?? id, id);

        if (n++ === cut) {
            answer.close();
            return undefined;
        }
    }

    return undefined;
}

async function ask(client, name, args, { key, lose, cut } = {}) {
    const request = message(client, name, args, key);

    try {
        const answer = await client.post(request, { lose });
        const response = await responseOf(answer, request.id, cut);

        answer.close();

        return response;
    } catch (error) {
        if (!lose) {
            throw error;
        }

        return undefined;
    }
}

function assertOf(response, tag) {
    assert.equal(response.result?.content[0].text, tag,
                 JSON.stringify(response));
}

// Waits until the backend has got n calls of this tag.

async function begun(tag, n = 1) {
    await settle(async () => ({ n: executed(tag) }), { n }, 10000);
    assert.equal(executed(tag), n);
}


for (const [era, open] of Object.entries(eras)) {
    describe(era, () => {
        test('backend ends its reply long after its last message: the response counts as sent',
             async () => {
            const tag = `${era} ends late`;
            const client = await open('ann', calm);

            assertOf(await ask(client, 'by_key', { tag, ends: tag },
                               { key: `late-${era}` }), tag);
            gate(tag).resolve();
            await settle(() => status(calm), { streams: 0 });
            assert.doesNotMatch(await calm.log(), /no client has fetched/);
        });

        test(`${CALLS} calls with idempotency keys, connections cut at random: each is executed once`,
             async () => {
            const client = await open('ann');
            const chance = random(7);
            let lost = 0;

            await many(CALLS, WIDTH, async (i) => {
                const tag = `${era} keyed ${i}`;
                const args = { tag, messages: Math.floor(chance() * 3),
                               ms: Math.floor(chance() * 8) };
                const name = chance() < 0.5 ? 'by_key' : 'by_arguments';

                for (let left = Math.floor(chance() * 4);; left--) {

                    // before the head, during the stream, after the response

                    const how = left ? Math.floor(chance() * 3) : 3;
                    const response = await ask(client, name, args, {
                        key: `key-${era}-${i}`,
                        ...(how === 0 && { lose: chance() * 8 }),
                        ...(how === 1 && { cut: Math.floor(chance() * 2) }),
                    });

                    if (response) {
                        assertOf(response, tag);
                    }

                    lost += left > 0;

                    if (left === 0) {
                        break;
                    }
                }

                assert.equal(executed(tag), 1, tag);
            });

            assert.ok(lost > CALLS);
        });

        test('calls without idempotency keys, connections cut at random: equal calls are never executed at the same time',
             async () => {
            const client = await open('ann');
            const chance = random(8);

            await many(CALLS / 4, WIDTH, async (i) => {
                const tag = `${era} bare ${i}`;
                const args = { tag, messages: Math.floor(chance() * 3),
                               ms: Math.floor(chance() * 8) };

                for (let left = Math.floor(chance() * 4);; left--) {
                    const response = await ask(client, 'by_arguments', args,
                        left ? { lose: chance() * 12 } : {});

                    if (response) {
                        assertOf(response, tag);
                        break;
                    }
                }

                assert.equal(most[tag], 1, tag);
            });
        });

        test('five equal requests with one idempotency key: each gets the response',
             async () => {
            const client = await open('ann');
            const tag = `${era} both`;
            const args = { tag, gated: true };
            const key = `both ${era}`.replace(/ /g, '-');
            const first = ask(client, 'by_key', args, { key });

            await begun(tag);

            // a request that has joined gets the head of a stream at once,
            // because there is no response yet

            const others = await Promise.all(upTo(4).map(async () => {
                const request = message(client, 'by_key', args, key);

                return { id: request.id, answer: await client.post(request) };
            }));

            others.forEach(({ answer }) => assert.ok(answer.sse));
            gate(tag).resolve();
            assertOf(await first, tag);

            for (const { id, answer } of others) {
                assertOf(await responseOf(answer, id), tag);
                answer.close();
            }

            assert.equal(executed(tag), 1);
        });

        test('eight equal requests with one idempotency key at the same instant: the call is executed once, each request gets the response',
             async () => {
            const client = await open('ann');

            for (const i of upTo(20)) {
                const tag = `${era} instant ${i}`;
                const key = tag.replace(/ /g, '-');
                const all = await Promise.all(upTo(8).map(() => ask(client,
                    'by_key', { tag }, { key })));

                all.forEach((response) => assertOf(response, tag));
                assert.equal(executed(tag), 1);
            }
        });

        test('equal requests of two principals: executed separately for each principal',
             async () => {
            const [ann, bob] = await Promise.all([open('ann'), open('bob')]);
            const tag = `${era} stranger`;
            const args = { tag, gated: true };
            const key = tag.replace(/ /g, '-');
            const all = [ask(ann, 'by_arguments', args, {
                lose: begun(tag) })];

            await begun(tag);
            assert.equal(await all[0], undefined);
            all.push(ask(bob, 'by_arguments', args));
            await begun(tag, 2);
            all.push(ask(ann, 'by_arguments', args, { key }));
            await begun(tag, 3);
            all.push(ask(bob, 'by_arguments', args, { key }));
            await begun(tag, 4);
            gate(tag).resolve();
            (await Promise.all(all)).slice(1)
                .forEach((response) => assertOf(response, tag));
            assert.equal(executed(tag), 4);
        });

        test('equal request without idempotency key after the end of a call: executed again',
             async () => {
            const client = await open('ann');

            for (const i of upTo(20)) {
                const tag = `${era} second ${i}`;

                assertOf(await ask(client, 'by_arguments', { tag }), tag);
                assertOf(await ask(client, 'by_arguments', { tag }), tag);
                assert.equal(executed(tag), 2);
            }
        });

        test('three equal requests without idempotency keys: executed one after the other',
            async () => {
                const client = await open('ann');
                const tag = `${era} two`;
                const all = await Promise.all(upTo(3).map(() => ask(client,
                    'by_arguments', { tag, ms: 5 })));

                all.forEach((response) => assertOf(response, tag));
                assert.equal(executed(tag), 3);
                assert.equal(most[tag], 1);
            });

        test('idempotency key used again with other parameters, or invalid: -32602',
             async () => {
            const client = await open('ann');
            const tag = `${era} other`;
            const key = tag.replace(/ /g, '-');

            assertOf(await ask(client, 'by_key', { tag }, { key }), tag);

            for (const [args, wrong] of [[{ tag, ms: 1 }, key],
                                         [{ tag }, 'a b'], [{ tag }, 7]]) {
                const { error } = await ask(client, 'by_key', args,
                                            { key: wrong });

                assert.equal(error.code, -32602);
            }

            assert.equal(executed(tag), 1);
        });

        test('tool without x-mcp-join: executed for each equal request',
             async () => {
            const client = await open('ann');
            const tag = `${era} alone`;
            const args = { tag, gated: true };
            const all = [ask(client, 'alone', args, { key: 'k' })];

            await begun(tag);
            all.push(ask(client, 'alone', args, { key: 'k' }));
            await begun(tag, 2);
            gate(tag).resolve();
            (await Promise.all(all)).forEach((response) =>
                assertOf(response, tag));
        });
    });
}

test('all joined calls have ended: no active call or consumer is left', async () => {
    const nothing = { calls_active: 0, consumers_active: 0 };
    const now = await settle(() => status(server), nothing, 30000);

    assert.deepEqual({ ...now, ...nothing }, now);

    // an expired stream is not replicated again, unless an event came in its
    // last moment

    assert.ok((now.cluster?.streams_refilled ?? 0) * 100 <= now.streams_expired,
              JSON.stringify(now.cluster));
});
