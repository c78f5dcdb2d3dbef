// SPDX-License-Identifier: Apache-2.0

// Every resumption method at nodes of both servers in turn: each request of a
// client goes to another node than the one before.

import assert from 'node:assert/strict';
import { after, describe, test as one } from 'node:test';
import { ask, count, resumptions } from './lib/callers.mjs';
import { OTHER, node } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Redis, until } from './lib/redis.mjs';
import { request } from './lib/wire.mjs';

const LOCATION = { mcp_stream_after: '100ms', mcp_resume_after: '300ms',
                   nginx: 'mcp_principal $http_x_user;',
                   apache: 'MCPPrincipal "%{HTTP:X-User}"' };

const redis = await Redis.start();

after(() => redis.stop());

const [plain, linked] = await Promise.all([
    {}, { mcp_link: 'on' }].map((more) =>
    Promise.all([SERVER, OTHER].map((kind) =>
        node(redis.url, { kind, location: { ...LOCATION, ...more } })))));

after(() => Promise.all([...plain, ...linked].map((server) => server.stop())));


// Resumes after an answer. The URL returns 204 until the node of the call has
// received the answer.

const answered = (caller) => until(() => caller.back().then(() => true,
    (error) => {
        assert.equal(error.actual, 204, error);
        return false;
    }));


// Returns a client of one resumption method whose requests go to the nodes in
// turn.

async function client(resumption, call, version) {
    const nodes = resumption.link ? linked : plain;
    const [server] = nodes;
    const session = await resumption.session(server, 'ann', version);
    let turn = 0;
    const next = () => nodes[turn++ % nodes.length].port;

    session.send = (options) => request(next(), options);

    // the next request goes to the first node, whose backend has all gates

    session.home = () => { turn = 0; };

    const caller = await resumption.of(server, session);

    // the URL has the port of the node that sent it

    if (resumption.link) {
        const asks = caller.ask;

        caller.ask = function at({ url = this.url, ...options } = {}) {
            const there = new URL(url);

            there.port = next();

            return asks.call(this, { ...options, url: there });
        };
    }

    return caller.begin(call);
}

function test(name, run, { of = () => true } = {}) {
    for (const resumption of resumptions.filter(of)) {
        one(`${resumption.method}: ${name}`, () => run(resumption));
    }
}


describe('clients of each resumption method', { concurrency: true }, () => {
    test('client leaves after every message, resumes at the other node: gets all messages',
         async (resumption) => {
        const n = 6;
        const caller = await client(resumption, count(n));

        for (let drop = 0; drop <= n; drop++) {
            await caller.open(drop);
            await caller.read(drop);
            caller.drop();
            await caller.open(drop + 1);
            await caller.back();
        }

        await caller.open();
        await caller.end();
        await caller.again();
    });

    test('client leaves, resumes at the other node without an event id: gets all messages',
         async (resumption) => {
        const n = 4;
        const caller = await client(resumption, count(n));

        for (let drop = 0; drop <= n; drop++) {
            await caller.open(drop);
            await caller.read(drop);
            caller.drop();
            await caller.back({ cursor: false });
            await caller.read(drop);
            caller.drop();
            await caller.back();
        }

        await caller.open();
        await caller.end();
    }, { of: ({ cursor }) => cursor === 'may' });

    test('client resumes at another node after the end of the call: gets all messages',
         async (resumption) => {
        const caller = await client(resumption, count(20));

        await caller.open(3);
        await caller.read(3);
        caller.drop();
        await caller.open();
        await caller.back();
        await caller.end();
        await caller.again();
        await caller.again();
    });

    test('client reads and answers questions of a call at different nodes: the call continues',
         async (resumption) => {
        const caller = await client(resumption, ask);

        await caller.open();

        const first = await caller.read(2);

        caller.drop();
        await caller.back();

        const second = await caller.read(3);

        await caller.look({ asks: true });
        caller.drop();
        await caller.reply([first, second]);
        caller.drop();
        await answered(caller);
        await caller.end();
    });

    test('status requests at each node: get the call\'s state',
         async (resumption) => {
        const caller = await client(resumption, count(3));

        await caller.open(2);
        await caller.read(2);
        await caller.look();
        await caller.look();
        await caller.open();
        await caller.end();
        await caller.look({ over: true });
        await caller.look({ over: true });
    }, { of: ({ method }) => method === 'requests' || method === 'streams' });

    // Each POST goes to another node than the one before.

    test('status requests in a batch at each node: get the call\'s state',
         async (resumption) => {
        const caller = await client(resumption, count(3), '2025-03-26');
        const from = { request: (method, params, options) =>
            caller.session.post([
                { jsonrpc: '2.0', id: 'ping', method: 'ping' },
                { jsonrpc: '2.0', id: 'poll', method, params },
            ], options) };
        const fares = async (state) => {
            const [ping, poll] = await (await caller.poll({ from })).json();

            assert.deepEqual(ping.result, {});
            assert.deepEqual(poll.result, caller.status({
                over: false, pending: false, asks: false, ...state }));
        };

        await caller.open(2);
        await caller.read(2);
        await fares();
        await fares();
        await caller.open();
        await caller.end();
        await fares({ over: true });
        await fares({ over: true });
    }, { of: ({ method }) => method === 'requests' || method === 'streams' });

    test('stream/poll/all at each node: lists all streams of the session',
         async (resumption) => {
        const first = await client(resumption, count(3));
        const { server, session } = first;
        const mine = [first];
        const listed = async () => (await session.response('stream/poll/all'))
            .result.statuses.map(({ streamId }) => streamId).sort();

        for (let i = 0; i < 3; i++) {
            session.home();
            mine.push(await (await resumption.of(server, session)).begin(count(2)));
        }

        const all = mine.map(({ stream }) => stream).sort();

        assert.deepEqual(await listed(), all);
        assert.deepEqual(await listed(), all);

        for (const caller of mine) {
            await caller.open();
        }

        await Promise.all(mine.map((caller) => caller.end()));
        assert.deepEqual(await listed(), all);
        assert.deepEqual(await listed(), all);
    }, { of: ({ method }) => method === 'streams' });

    test('call cancelled at another node: the backend is aborted',
         async (resumption) => {
        const caller = await client(resumption, count(9));

        await caller.open(2);
        await caller.read(2);
        await caller.cancel();
        assert.equal((await caller.running('aborted')).aborted, 1);
    });

    test('resume with a wrong token or session at another node: HTTP 400 or 404, or a JSON-RPC error',
         async (resumption) => {
        const caller = await client(resumption, count(3));

        await caller.open(2);
        await caller.read(2);

        const other = await resumption.session(caller.server, 'eve');

        for (const what of [{ token: true }, { from: other }]) {
            for (const answer of await caller.attempts(what)) {
                assert.ok(answer.status === 404 || answer.status === 400
                          || (await answer.json()).error, answer.status);
                answer.close();
            }
        }

        await caller.open();
        await caller.end();
    });
});
