// SPDX-License-Identifier: Apache-2.0

// Equal calls at nodes of both servers. The backend's journal shows how often a
// tool was executed.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { OTHER, WORKERS, at, cuttable, joined, kill, node, together }
    from './lib/cluster.mjs';
import { Cut } from './lib/cut.mjs';
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

const backend = await scripted(async ({ message: { params }, signal, x }) => {
    const { tag, steps } = params.arguments;

    signal.addEventListener('abort', () => gate(tag).resolve('aborted'));

    const answer = async () => ({ content: [{ type: 'text',
                                              text: await gate(tag).promise }] });

    if (!steps) {
        return answer();
    }

    x.head(200, 'text/event-stream');

    for (const progress of upTo(steps)) {
        await x.write(`data: ${JSON.stringify({ jsonrpc: '2.0',
            method: 'notifications/progress', params: {
                progressToken: params._meta.progressToken, progress } })}\n\n`);
    }

    await x.write(`data: ${JSON.stringify(await answer())}\n\n`);
    x.end();

    return undefined;
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
    // the nodes' servers have different names

    server: { nginx: 'server_name nginx.example;',
              apache: 'ServerName apache.example' },
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

const start = (kind, http, url = redis.url, location = {}) =>
    node(url, { ...OPTIONS, kind, http,
                location: { ...OPTIONS.location, ...location } });

const nodes = await together([SERVER, OTHER].map((kind) => start(kind)));

after(() => Promise.all(nodes.map((fixture) => fixture.stop())));
after(() => gates.forEach(({ resolve }) => resolve('over')));

const client = (fixture) => new Modern(fixture, {
    headers: { 'X-User': 'ann' },
    send: (options) => request(fixture.port, options) });

// Sends a call and returns its final response.

async function ask(fixture, tag, { name = 'key', id } = {}) {
    const modern = client(fixture);
    const answer = await modern.call(name, { tag },
                                     id && { meta: { idempotencyKey: id } });

    return (await modern.follow(answer)).response;
}

// Returns how many requests have joined a call, from a node's log.

const joinsOf = (log) => log.split('joined by another request').length;

const lost = (fixture, tag, options, lose) =>
    client(fixture).call('key', { tag }, { ...options, lose })
        .then((answer) => answer.close(), () => undefined);


describe('calls at two nodes', { concurrency: true }, () => {
    for (const [first, second] of [[0, 1], [1, 0]]) {
        test(`equal calls with one idempotency key at two nodes, first at node ${first}: only one is executed`,
             async () => {
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

        test(`client disconnects from node ${first}, repeats its call at the other node: the call is executed once`,
             async () => {
            const tag = key();

            await lost(nodes[first], tag, { meta: { idempotencyKey: tag } },
                       begun(tag));

            const again = ask(nodes[second], tag, { id: tag });

            gate(tag).resolve('done');
            assert.equal(textOf((await again).result), 'done');

            // the response is kept: the next request gets it as well

            assert.equal(textOf((await ask(nodes[second], tag,
                                           { id: tag })).result), 'done');
            assert.equal(executed(tag), 1);
        });

        test(`call at node ${first}, joined at the other node: the first client can resume the call at the other node`,
             async () => {
            const tag = key();
            const here = await nodes[first].session();
            const there = at(nodes[second], here);
            const args = { name: 'key', arguments: { tag, steps: 6 },
                           _meta: { progressToken: tag, idempotencyKey: tag } };
            const one = await here.request('tools/call', args);

            // the client has read two of six events when its connection is cut

            await one.message();
            await one.message();

            const { lastId } = one;

            for (let i = 2; i < 6; i++) {
                await one.message();
            }

            one.close();

            const before = joinsOf(await nodes[second].log());
            const two = there.request('tools/call', args);

            await until(async () => joinsOf(await nodes[second].log()) > before);

            const resumed = await there.get(lastId);

            assert.equal(resumed.status, 200);

            for (let progress = 2; progress < 6; progress++) {
                assert.equal((await resumed.message()).params.progress, progress);
            }

            gate(tag).resolve('done');

            const joiner = await two;

            assert.equal(textOf((await there.follow(joiner)).response.result),
                         'done');
            assert.equal(textOf((await resumed.message()).result), 'done');
            assert.equal(executed(tag), 1);
        });

        test('equal calls without idempotency key at two nodes, first client connected '
             + `at node ${first}: both are executed`,
             async () => {
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


test('two endpoints with different mcp_cluster_endpoint, one idempotency key: each executes its call',
     async (t) => {
    const other = await start(OTHER, {}, redis.url,
                              { mcp_cluster_endpoint: 'other' });

    t.after(() => other.stop());

    const tag = key();
    const one = ask(nodes[0], tag, { id: tag });

    await begun(tag);

    const two = ask(other, tag, { id: tag });

    await begun(tag, 2);
    gate(tag).resolve('done');
    assert.equal(textOf((await one).result), 'done');
    assert.equal(textOf((await two).result), 'done');
});


test('node of a joined call dies: the request that joined gets -32603',
     async () => {
    const http = { mcp_cluster_node_timeout: '2s' };
    const [dying, there] = await together([start(SERVER, http),
                                           start(OTHER, http)]);
    const tag = key();
    const one = ask(dying, tag, { id: tag }).catch(() => undefined);

    await begun(tag);

    const two = ask(there, tag, { id: tag });

    await kill(dying);
    await one;
    assert.equal((await two).error.code, -32603);

    // not executed again while the failed call is kept

    assert.equal((await ask(there, tag, { id: tag })).error.code, -32603);
    assert.equal(executed(tag), 1);
    await dying.stop({ kills: true });
    await there.stop();
});


test('Redis does not answer: a call with an idempotency key gets 503, is not executed',
     async (t) => {
    const { cut, fixture } = await cuttable(t, OPTIONS);
    const tag = key();
    const options = { meta: { idempotencyKey: tag } };

    cut.hold();

    const refused = await client(fixture).call('key', { tag }, options);

    assert.equal(refused.status, 503);
    assert.equal(executed(tag), 0);

    // Redis answers again

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


test('Redis is emptied during a call: an equal call at another node gets 503 at first, the response later',
     async (t) => {
    const { redis: own, cut, fixture } = await cuttable(t, OPTIONS);
    const there = await start(OTHER, undefined, own.url);

    t.after(() => there.stop());

    const tag = key();
    const options = { meta: { idempotencyKey: tag } };
    const one = ask(fixture, tag, { id: tag });

    await begun(tag);
    cut.hold();
    await own.command('FLUSHALL');
    assert.equal((await client(there).call('key', { tag }, options)).status,
                 503);
    assert.equal(executed(tag), 1);
    cut.release();

    const two = await until(async () => {
        const answer = await client(there).call('key', { tag }, options);

        return answer.status !== 503 && answer;
    });

    gate(tag).resolve('done');
    assert.equal(textOf((await client(there).follow(two)).response.result),
                 'done');
    assert.equal(textOf((await one).result), 'done');
    assert.equal(executed(tag), 1);
});


test('Redis fails over to a replica that lacks a call with an idempotency key: the '
     + 'call is executed once', async (t) => {
    const master = await Redis.start();

    t.after(() => master.stop());

    const replica = await Redis.start({ of: master });

    t.after(() => replica.stop());

    const cuts = [await Cut.start(master.port), await Cut.start(master.port)];

    t.after(() => Promise.all(cuts.map((cut) => cut.stop())));

    const [here, there] = await Promise.all([SERVER, OTHER].map((kind, i) =>
        start(kind, undefined, `redis://127.0.0.1:${cuts[i].port}`)));

    t.after(() => Promise.all([here.stop(), there.stop()]));
    await until(async () => (await replica.nodes()) === 2);
    await replica.command('REPLICAOF', 'NO', 'ONE');

    const tag = key();
    const options = { meta: { idempotencyKey: tag } };
    const one = ask(here, tag, { id: tag });

    await begun(tag);

    // the node of the call reaches the new master later than the other node

    await master.kill();
    cuts[0].refused = true;
    cuts.forEach((cut) => {
        cut.target = replica.port;
        cut.drop();
    });
    await joined(there, 2 * WORKERS);
    assert.equal((await client(there).call('key', { tag }, options)).status,
                 503);
    assert.equal(executed(tag), 1);
    cuts[0].refused = false;

    const two = await until(async () => {
        const answer = await client(there).call('key', { tag }, options);

        return answer.status !== 503 && answer;
    });

    gate(tag).resolve('done');
    assert.equal(textOf((await client(there).follow(two)).response.result),
                 'done');
    assert.equal(textOf((await one).result), 'done');
    assert.equal(executed(tag), 1);
});


// The new connections of both nodes lead to another master, and one node keeps
// its old ones, as behind a proxy that was switched.

test('one node is connected to the old Redis master, the other to the new one: each call '
     + 'with an idempotency key is executed once', async (t) => {
    const old = await Redis.start();

    t.after(() => old.stop());

    const next = await Redis.start({ of: old });

    t.after(() => next.stop());

    const cuts = [await Cut.start(old.port), await Cut.start(old.port)];

    t.after(() => Promise.all(cuts.map((cut) => cut.stop())));

    const both = await Promise.all([SERVER, OTHER].map((kind, i) =>
        start(kind, { mcp_cluster_node_timeout: '3s' },
              `redis://127.0.0.1:${cuts[i].port}`)));

    t.after(() => Promise.all(both.map((fixture) => fixture.stop())));
    await until(async () => (await next.nodes()) === 2);
    await next.command('REPLICAOF', 'NO', 'ONE');
    cuts.forEach((cut) => { cut.target = next.port; });
    cuts[1].drop();
    await joined(both[1], 2 * WORKERS);

    // each call goes to the node at the old master first, and its client
    // repeats it at the other node until it is accepted

    const tags = [];

    async function callAtBoth() {
        const tag = key();

        tags.push(tag);
        gate(tag).resolve('done');

        for (const fixture of both) {
            await until(async () => {
                const modern = client(fixture);
                const answer = await modern.call('key', { tag },
                    { meta: { idempotencyKey: tag } });

                return answer.status !== 503
                    && textOf((await modern.follow(answer)).response.result)
                       === 'done';
            });
        }
    }

    await Promise.all(upTo(8).map(callAtBoth));

    // on a busy machine, the old connections may also end because a reply of
    // Redis is late

    await until(async () => await old.clients() === 0);
    await joined(both[0], 2 * WORKERS);
    await Promise.all(upTo(8).map(callAtBoth));
    assert.deepEqual(tags.map(executed), tags.map(() => 1));
    assert.equal(await old.clients(), 0);
});


test('keys of joined calls in Redis: all expire', async () => {
    assert.equal(await redis.endless(), '');
});
