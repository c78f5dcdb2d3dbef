// SPDX-License-Identifier: Apache-2.0

// The cluster part of a node's status: replication lag, remote consumers,
// rejected requests, refilled streams, take-overs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { OTHER, at, cuttable, kill, node, together } from './lib/cluster.mjs';
import { Counting } from './lib/counting.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Redis, until } from './lib/redis.mjs';


async function status(fixture, format = 'json') {
    const answer = await fetch(new URL(`/status?format=${format}`,
                                       fixture.url));

    return format === 'json' ? answer.json() : answer.text();
}

// Waits until the cluster part of the status satisfies a condition; returns it.

function says(fixture, is) {
    let last;

    return until(async () => {
        last = (await status(fixture)).cluster;

        return is(last) && last;
    }, { hint: { toString: () => `${is}: ${JSON.stringify(last)}` } });
}

async function pair(t, http) {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const nodes = await together([
        node(redis.url, { http }), node(redis.url, { kind: OTHER, http })]);

    return { redis, nodes };
}


// Returns the number of connections to a port whose server has not read all
// bytes.

function waiting(port) {
    const hex = port.toString(16).toUpperCase().padStart(4, '0');

    return fs.readFileSync('/proc/net/tcp', 'latin1').split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([, local, , state, queues]) => local?.endsWith(`:${hex}`)
            && state === '01' && !queues.endsWith(':00000000')).length;
}


// Starts two nodes with one endpoint each; returns the log of the second node.

async function secondLog(t, ...names) {
    const redis = await Redis.start();

    t.after(() => redis.stop());

    const log = [];

    for (const [i, name] of names.entries()) {
        const fixture = await node(redis.url, { kind: i ? OTHER : SERVER,
            location: { mcp_cluster_endpoint: name } });

        t.after(() => fixture.stop());
        log.push(await fixture.log());
    }

    return log[1];
}

describe('the log of a node that joins', { concurrency: true }, () => {
    test('node without an endpoint in common with the other node: a warning', async (t) =>
        assert.match(await secondLog(t, 'shop', 'store'),
            /\bwarn\].*no endpoint in common.*set mcp_cluster_endpoint/));

    test('node with the same endpoint as the other node: no warning', async (t) =>
        assert.doesNotMatch(await secondLog(t, 'shop', 'shop'),
            /no endpoint in common/));
});


describe('the status of a cluster', { concurrency: true }, () => {
    test('Redis is unreachable: lag in the status counts the events that Redis lacks',
         async (t) => {
        const { cut, fixture } = await cuttable(t);
        const session = await fixture.session();
        const counting = await Counting.start(session, 6, 3);

        await counting.read(3);

        const { events_replicated: copied } = await says(fixture,
            (cluster) => cluster.events_replicated >= 3);

        cut.refused = true;
        cut.drop();
        await counting.open(5);

        const { lag } = await says(fixture, (cluster) => cluster.lag.age > 0
            && cluster.lag.events === 2);

        assert.ok(lag.bytes > 2 * 50, `${lag.bytes} bytes`);
        assert.match(await status(fixture, 'prometheus'),
                     /^mcp_cluster_lag_events\{zone="\w+"\} 2$/m);
        await says(fixture, (cluster) => cluster.connected === 0
            && cluster.links_lost > 0);

        cut.refused = false;
        await counting.open(6);
        await counting.finish();
        await says(fixture, (cluster) => cluster.lag.events === 0
            && cluster.lag.bytes === 0 && cluster.lag.age === 0
            && cluster.events_replicated > copied);
    });

    test('client reads the stream of a call at another node: the reader in the status is "elsewhere"',
         async (t) => {
        const { nodes: [here, there] } = await pair(t);

        t.after(() => Promise.all([here.stop(), there.stop()]));

        const session = await here.session();
        const counting = await Counting.start(session, 6, 3);
        const reader = async () => (await status(here)).running[0].reader;

        await counting.read(3);
        assert.equal(typeof await reader(), 'number');

        await counting.resume(at(there, session), { leave: false });
        await until(async () => await reader() === 'elsewhere');
        await says(here, (cluster) => cluster.readers_displaced === 1);
        await says(there, (cluster) => cluster.mirrors === 1);

        counting.answer.close();
        await until(async () => await reader() === null);
        await counting.resume(session, { leave: false });
        await until(async () => typeof await reader() === 'number');
        await counting.open(6);
        await counting.finish();
    });

    test('Redis is emptied: the counter streams_refilled in the status rises', async (t) => {
        const { redis, nodes: [here, there] } = await pair(t);

        t.after(() => Promise.all([here.stop(), there.stop()]));

        const counting = await Counting.start(await here.session(), 6, 3);

        await counting.read(3);
        await redis.command('FLUSHALL');
        await counting.open(6);
        await counting.finish();
        await says(here, (cluster) => cluster.streams_refilled > 0);
    });

    test('Redis is unreachable, a call gets 503: the counter requests_refused in the status rises',
         async (t) => {
        const { cut, fixture } = await cuttable(t, {
            http: { mcp_cluster_outage_timeout: '2s' } });
        const session = await fixture.session();

        cut.refused = true;
        cut.drop();
        await until(async () => (await session.call('echo',
            { text: 'hello' })).status === 503);
        await says(fixture, (cluster) => cluster.requests_refused > 0);
        assert.match(await status(fixture, 'prometheus'),
                     /^mcp_requests_refused_total\{zone="[^"]+",reason="redis_unreachable"\} [1-9]/m);
    });

    // On a loaded machine a live node may be silent for a while.

    test('node dies: the counters nodes_taken_over, streams_taken_over in the status rise',
         async (t) => {
        const { nodes: [dying, there] } = await pair(t, {
            mcp_cluster_node_timeout: '5s' });

        t.after(() => there.stop());
        t.after(() => dying.stop({ kills: true }));

        const counting = await Counting.start(await dying.session(), 6, 3);

        await counting.read(3);
        await kill(dying);
        await says(there, (cluster) => cluster.nodes_taken_over === 1
            && cluster.streams_taken_over === 1);
    });

    test('paused node was declared dead: its counters deaths and streams_fenced rise',
         async (t) => {
        const { nodes: [still, there] } = await pair(t, {
            mcp_cluster_node_timeout: '2s' });

        const pids = [await still.master(), ...await still.workers()];
        const all = (signal) => pids.forEach((pid) => process.kill(pid, signal));
        let stands = false;

        t.after(() => stands && all('SIGCONT'));
        t.after(() => there.stop());
        t.after(() => still.stop({ kills: true }));

        const counting = await Counting.start(await still.session(), 6, 3);

        await counting.read(3);
        stands = true;
        all('SIGSTOP');
        await says(there, (cluster) => cluster.nodes_taken_over === 1);

        const calls = Array.from({ length: 8 },
            () => counting.session.call('count', { n: 2 }));

        await until(() => waiting(still.port) >= calls.length);
        all('SIGCONT');
        stands = false;
        await says(still, (cluster) => cluster.deaths > 0
            && cluster.state === 'member');

        // the client resumes at the other node and gets the error

        await counting.resume(at(there, counting.session));

        for (let message; (message = await counting.answer.message());) {
            counting.take(message);
        }

        assert.equal(counting.error.code, -32603);
        await says(still, (cluster) => cluster.streams_fenced > 0);

        // a call that the node began before it noticed has no event id, or one
        // that other nodes can resume

        for (const answer of await Promise.all(calls)) {
            let message = await answer.message();

            while (message?.method) {
                message = await answer.message();
            }

            if (!message && answer.lastId) {
                const again = await at(there, counting.session)
                    .get(answer.lastId);

                again.close();
                assert.equal(again.status, 200);
            }
        }
    });
});
