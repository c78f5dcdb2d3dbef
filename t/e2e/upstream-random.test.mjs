// SPDX-License-Identifier: Apache-2.0

// Sessions of clients at three nodes of both servers, before an MCP server with
// sessions. The server loses its sessions and connections at random, and closes
// streams before the response; nodes are killed, clients drop and resume at any
// node. Each call has one response or one error, no response is that of another
// call, no notification is lost or repeated, and the server executes no call
// twice.
//
// UPSTREAM_SECONDS and UPSTREAM_CLIENTS set the time and the number of clients,
// SEED=n repeats the random choices. `make endurance-upstream` runs 1,000
// clients for ten minutes.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OTHER, kill, node, together } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { SANITIZED, random } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { Redis, until } from './lib/redis.mjs';
import { Session, textOf } from './lib/session.mjs';
import { done, event, withSessions } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

const SECONDS = Number(process.env.UPSTREAM_SECONDS ?? (SANITIZED ? 15 : 20));
const CLIENTS = Number(process.env.UPSTREAM_CLIENTS ?? 100);

// Times in ms: the node timeout; between two calls of a client, so that there
// are about 100 calls in a second; the limit for a call.

const NODE_TIMEOUT = 4000;
const PAUSE = CLIENTS * 20;
const END = 120000;

const seed = Number(process.env.SEED ?? Date.now() % 1000000);
const rand = random(seed);

console.log(`SEED=${seed}`);

const below = (n) => Math.floor(rand() * n);
const redis = await Redis.start();

after(() => redis.stop());

const counts = {};
const count = (what) => { counts[what] = (counts[what] ?? 0) + 1; };
const upstream = await withSessions();
const executed = new Map();

// The events of all calls, and the response on which a call writes them now.

const streams = new Map();

function emit(stream, text) {
    stream.events.push(text);
    stream.res?.write(text);
}

upstream.answer = async (call) => {
    const { res, body: { params } } = call;
    const key = JSON.stringify(params.arguments);
    const steps = below(4);
    const id = String(streams.size);
    const stream = { res, events: [] };

    executed.set(key, (executed.get(key) ?? 0) + 1);
    streams.set(id, stream);
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    emit(stream, `id: ${id}.0\nretry: 50\ndata:\n\n`);

    for (let progress = 1; progress <= steps; progress++) {
        await pause(below(200));
        emit(stream, `id: ${id}.${progress}\n${event({ jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken: params._meta.progressToken, progress } })}`);

        // closes one of four streams

        if (below(4) === 0) {
            stream.res?.end();
            stream.res = undefined;
        }
    }

    emit(stream, `id: ${id}.${steps + 1}\n${event(done(call.body,
        { content: [{ type: 'text', text: key }] }))}`);
    stream.over = true;
    stream.res?.end();
};

upstream.resume = ({ headers, res }) => {
    const [id, last] = headers['last-event-id'].split('.');
    const stream = streams.get(id);

    count('stream continued');
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    res.write(`:\n\n${stream.events.slice(Number(last) + 1).join('')}`);
    stream.res = res;

    if (stream.over) {
        res.end();
    }
};

const KILLED = { kills: true,
    allow: /was lost, because its server process ended|ended without cleaning up|Backend (failed|closed)|upstream|AH\d+|recv\(\)|connect\(\)/ };
const kinds = [SERVER, OTHER, SERVER];
const start = (kind, port) => node(redis.url, {
    kind, port, without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    http: { mcp_cluster_node_timeout: `${NODE_TIMEOUT}ms` },
    location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                mcp_quota_key: 'off', mcp_linger: '1m', mcp_max_wait: '1m' },
    backends: { sessions: { http: upstream.port, upstream: 'session' } },
});
const nodes = await together(kinds.map((kind) => start(kind)));

after(() => Promise.all(nodes.map((fixture) => fixture.stop(KILLED))));

// The error of a connection that is lost before the head of its response.

const gone = (error) => /closed before|ECONNRE|EPIPE|hang up/
    .test(`${error.code} ${error.message}`);

const anyNode = () => ({ send: (options) =>
    request(nodes[below(3)].port, options) });


// Resumes a stream at any node; a node that has just started, or does not know
// yet that another one has died, sends 503.

const resume = (session, lastId) => until(async () => {
    const answer = await session.get(lastId).catch((error) => {
        assert.ok(gone(error), error);
    });

    if (answer?.status === 503) {
        answer.close();
        return undefined;
    }

    return answer;
}, { limit: END, hint: `a node that has ${lastId}` });


// Reads a stream until the response with this id, and resumes it if its
// connection ends. Without an event id the call is lost for its client.

async function responseTo(session, answer, id) {
    let drops = below(4) === 0;
    let progress = 0;

    for (;;) {
        const message = await answer.message().catch((error) => {
            assert.ok(gone(error), error);
            return null;
        });

        if (message?.id === id) {
            answer.close();
            return message;
        }

        if (message) {
            assert.equal(message.params.progress, ++progress);
        }

        if (message && !drops) {
            continue;
        }

        drops = false;
        answer.close();

        const { lastId } = answer;

        if (lastId === undefined || !session.id) {
            return undefined;
        }

        count('resumed');
        answer = await resume(session, lastId);
        assert.equal(answer.status, 200, `resume after ${lastId}, SEED=${seed}`);
    }
}


// Makes one call and returns its outcome. "unknown": the connection was lost
// before the client had an event id, as without this module.

async function call(session, args) {
    const answer = await session.call('add', args);

    if (answer.status === 503) {
        answer.close();
        return 'refused';
    }

    const { id } = answer;
    const response = answer.sse ? await responseTo(session, answer, id)
                                : await answer.json();

    if (!response) {
        return 'unknown';
    }

    assert.equal(response.id, id);

    if (response.error) {
        assert.equal(response.error.code, -32603, JSON.stringify(response));
        return 'failed';
    }

    assert.deepEqual(JSON.parse(textOf(response.result)), args);

    return 'answered';
}


test(`random faults, ${CLIENTS} clients for ${SECONDS} s: each call ends once, no call is executed twice`,
     async (t) => {
    const end = performance.now() + SECONDS * 1000;
    const goesOn = () => performance.now() < end;

    const client = async (number) => {
        await pause(below(PAUSE));

        // three of four clients have a session

        const session = number % 4
            ? await until(() => Session.open(nodes[0], anyNode())
                .catch(() => undefined))
            : new Modern(nodes[0], anyNode());

        for (let i = 0; goesOn(); i++) {
            count(await call(session, { number, i }).catch((error) => {
                assert.ok(gone(error), error);
                return 'unknown';
            }));
            await pause(below(2 * PAUSE));
        }
    };

    const restarts = async () => {
        while (goesOn()) {
            await pause(500 + below(3000));

            if (below(2)) {
                upstream.restart();
                count('server restarted');
            } else {
                upstream.cut();
                count('connections cut');
            }
        }
    };

    const kills = async () => {
        while (goesOn()) {
            await pause(2000 + below(8000));

            const i = below(3);
            const { port } = nodes[i];

            await kill(nodes[i]);
            await pause(below(1.5 * NODE_TIMEOUT));
            await nodes[i].stop(KILLED);
            nodes[i] = await start(kinds[i], port);
            count('node killed');
        }
    };

    await Promise.all([restarts(), kills(),
                       ...Array.from({ length: CLIENTS }, (_, i) => client(i))]);
    t.diagnostic(JSON.stringify({ executed: executed.size, ...counts }));
    assert.deepEqual([...executed].filter(([, times]) => times !== 1), []);
    assert.ok(counts.answered > executed.size / 2);
    assert.ok(counts.resumed > 0);
    assert.ok(counts['stream continued'] > 0);
});
