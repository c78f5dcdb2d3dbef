// SPDX-License-Identifier: Apache-2.0

// Calls that are asked for again at another node, of nodes of both servers: the
// backend's own journal says how often a tool was executed.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { OTHER, cuttable, kill, node } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { settle } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { Redis, until } from './lib/redis.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { textOf, upTo } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const gates = new Map();
let keys = 0;

const key = () => `key-${++keys}`;

function gate(of) {
    if (!gates.has(of)) {
        gates.set(of, Promise.withResolvers());
    }

    return gates.get(of);
}

const backend = await scripted(async ({ message: { params }, signal }) => {
    const { tag } = params.arguments;

    signal.addEventListener('abort', () => gate(tag).resolve('aborted'));

    return { content: [{ type: 'text', text: await gate(tag).promise }] };
});

const executed = (tag) => backend.calls
    .filter(({ message }) => message.params.arguments.tag === tag).length;

async function begun(tag, n = 1) {
    await settle(async () => ({ n: executed(tag) }), { n }, 10000);
    assert.equal(executed(tag), n);
}

const redis = await Redis.start();

after(() => redis.stop());

const OPTIONS = {
    location: {
        mcp_catalog: await catalog({ tools: ['key', 'arguments'].map((join) =>
            ({ name: join, inputSchema: { type: 'object' },
               'x-mcp-join': join })) }),
        mcp_backend: 'scripted',
        mcp_stream_after: '100ms',
        nginx: 'mcp_principal $http_x_user;',
        apache: 'MCPPrincipal "%{HTTP:X-User}"',
    },
    backends: { scripted: backend.address },
};

const start = (kind, http, url = redis.url) =>
    node(url, { ...OPTIONS, kind, http });

const nodes = await Promise.all([SERVER, OTHER].map((kind) => start(kind)));

after(() => Promise.all(nodes.map((fixture) => fixture.stop())));
after(() => gates.forEach(({ resolve }) => resolve('over')));

const client = (fixture) => new Modern(fixture, {
    headers: { 'X-User': 'ann' },
    send: (options) => request(fixture.port, options) });

// what a request is answered with in the end

async function ask(fixture, tag, { name = 'key', id } = {}) {
    const modern = client(fixture);
    const answer = await modern.call(name, { tag },
                                     id && { meta: { idempotencyKey: id } });

    return (await modern.follow(answer)).response;
}

const lost = (fixture, tag, options, lose) =>
    client(fixture).call('key', { tag }, { ...options, lose })
        .then((answer) => answer.close(), () => undefined);


describe('at two nodes', { concurrency: true }, () => {
    for (const [first, second] of [[0, 1], [1, 0]]) {
        test(`at once one is executed, ${first}`, async () => {
            const tag = key();
            const all = upTo(8).map((i) =>
                ask(nodes[i % 2 ? first : second], tag, { id: tag }));

            await begun(tag);
            gate(tag).resolve('done');

            for (const { result } of await Promise.all(all)) {
                assert.equal(textOf(result), 'done');
            }

            assert.equal(executed(tag), 1);
        });

        test(`whose client was lost, ${first}`, async () => {
            const tag = key();

            await lost(nodes[first], tag, { meta: { idempotencyKey: tag } },
                       begun(tag));

            const again = ask(nodes[second], tag, { id: tag });

            gate(tag).resolve('done');
            assert.equal(textOf((await again).result), 'done');

            // and as long as it is kept

            assert.equal(textOf((await ask(nodes[second], tag,
                                           { id: tag })).result), 'done');
            assert.equal(executed(tag), 1);
        });

        test(`without a key one after the other, ${first}`, async () => {
            const tag = key();
            const one = ask(nodes[first], tag, { name: 'arguments' });

            await begun(tag);

            const two = ask(nodes[second], tag, { name: 'arguments' });

            gate(tag).resolve('done');
            assert.equal(textOf((await one).result), 'done');
            assert.equal(textOf((await two).result), 'done');
            assert.equal(executed(tag), 2);
        });
    }
});


test('the node of the call dies: who has joined is told', async () => {
    const http = { mcp_cluster_dead_after: '2s' };
    const [dying, there] = await Promise.all([start(SERVER, http),
                                              start(OTHER, http)]);
    const tag = key();
    const one = ask(dying, tag, { id: tag }).catch(() => undefined);

    await begun(tag);

    const two = ask(there, tag, { id: tag });

    await kill(dying);
    await one;
    assert.equal((await two).error.code, -32603);

    // it is not executed again while that is kept

    assert.equal((await ask(there, tag, { id: tag })).error.code, -32603);
    assert.equal(executed(tag), 1);
    await dying.stop({ kills: true });
    await there.stop();
});


test('Redis does not answer: 503, and nothing is executed', async (t) => {
    const { cut, fixture } = await cuttable(t, OPTIONS);
    const tag = key();
    const options = { meta: { idempotencyKey: tag } };

    cut.hold();

    const refused = await client(fixture).call('key', { tag }, options);

    assert.equal(refused.status, 503);
    assert.equal(executed(tag), 0);

    // it comes back

    cut.release();
    gate(tag).resolve('done');

    const { response } = await until(async () => {
        const modern = client(fixture);
        const answer = await modern.follow(
            await modern.call('key', { tag }, options));

        return answer.status === 200 && answer;
    });

    assert.equal(textOf(response.result), 'done');
    assert.equal(executed(tag), 1);
});


test('all keys have an end', async () => {
    assert.equal(await redis.endless(), '');
});
