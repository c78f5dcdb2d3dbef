// SPDX-License-Identifier: Apache-2.0

// Many calls at three nodes of both servers, whose clients drop at random and
// resume at any node, while connections to Redis are cut and delayed; then also
// while processes, nodes and Redis are killed, paused and cut off. Each event
// arrives once, in order, and each call ends.
//
// CLUSTER_SECONDS and CLUSTER_CLIENTS set the time and the number of clients,
// SEED=n repeats the random choices.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OTHER, kill, node, together } from './lib/cluster.mjs';
import { Cut } from './lib/cut.mjs';
import { SERVER } from './lib/fixture.mjs';
import { SANITIZED, random } from './lib/load.mjs';
import { Redis, until } from './lib/redis.mjs';
import { Session, assertCounted, counted } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const SECONDS = Number(process.env.CLUSTER_SECONDS ?? (SANITIZED ? 20 : 60));
const CLIENTS = Number(process.env.CLUSTER_CLIENTS ?? 24);

const ENDURES = SECONDS >= 600;

// Times in ms: the node timeout, and the one while only connections are cut, so
// long that a busy machine does not make a node look dead; how long a stream is
// kept; after which silence a client leaves (while no fault kills anything,
// only with an event id to resume from); the limit for a call.

const DEAD_AFTER = ENDURES ? 4000 : 8000;
const DEAD_NEVER = 240000;
const KEPT = 60000;
const SILENT = 3000;
const END = 240000;

const seed = Number(process.env.SEED ?? Date.now() % 1000000);
const rand = random(seed);

console.log(`SEED=${seed}`);

const below = (n) => Math.floor(rand() * n);
const redis = await Redis.start();

after(() => redis.stop());

const cuts = await Promise.all([0, 1, 2].map(() => Cut.start(redis.port)));

after(() => Promise.all(cuts.map((cut) => cut.stop())));

const DISTURBED = { kills: true,
    allow: /was lost, because its server process ended|ended without cleaning up|fastcgi\.sock/ };
const kinds = [SERVER, OTHER, SERVER];
const start = (i, port, dead = DEAD_AFTER) => node(
    `redis://127.0.0.1:${cuts[i].port}`, {
        kind: kinds[i], port,
        http: { mcp_cluster_node_timeout: `${dead}ms` },
        location: { mcp_linger: `${KEPT}ms`, mcp_max_wait: `${KEPT}ms` } });
const nodes = await together([0, 1, 2].map((i) =>
    start(i, undefined, DEAD_NEVER)));

after(() => Promise.all(nodes.map((fixture) => fixture.stop(DISTURBED))));


// The faults so far: whether faults may occur, when the last one ended, how
// often Redis lost its data, and a list with times in ms.

const done = { may: false, at: 0, emptied: 0, faults: [] };

const when = (time = performance.now()) => Math.round(time);

// Outcomes of calls, and faults, counted by name.

const counts = {};

const count = (what) => { counts[what] = (counts[what] ?? 0) + 1; };


// True for the error of a connection that is lost before its response's head.

const gone = (error) => /closed before|ECONNRE|EPIPE|hang up/
    .test(`${error.code} ${error.message}`);

const patience = (lastId) => (done.may || lastId ? SILENT : END);

// Sends a request whose client leaves if no head arrives in time.

async function patient(port, options) {
    let wait;
    const lose = new Promise((resolve) => {
        wait = setTimeout(resolve, patience(options.headers?.['Last-Event-ID']));
    });

    try {
        return await request(port, { ...options, lose });
    } finally {
        clearTimeout(wait);
    }
}

const sender = (i) => ({ port: nodes[i].port,
                         send: (options) => patient(nodes[i].port, options) });

const at = (i, session) => Object.assign(
    Object.create(Object.getPrototypeOf(session)), session, sender(i));

// Returns the next message, null at the end, undefined after ms of silence.

const nextMessage = (answer, ms) => {
    const silence = new AbortController();
    const { signal } = silence;

    return Promise.race([answer.message(),
                         pause(ms, undefined, { signal }).catch(() => {})])
        .finally(() => silence.abort());
};


// Resumes the stream at a random node; a node that is cut off sends 503.

function anywhere(session, lastId) {
    return until(async () => {
        const i = below(3);
        const answer = await at(i, session).get(lastId).catch((error) => {
            assert.ok(gone(error), error);
            return null;
        });

        if (answer?.status === 503) {
            assert.ok(answer.headers['retry-after']);
            answer.close();
            return null;
        }

        return answer && Object.assign(answer, { at: i });
    }, { limit: END, hint: `a node that has ${lastId}` });
}


// Makes one call and returns its outcome. "unknown": it was lost before its
// client had an event id.

async function call() {
    const began = performance.now();
    const { emptied } = done;
    const home = below(3);
    const session = await Session.open(nodes[home], sender(home));
    const n = 1 + below(100);
    const messages = [];
    let answer = await session.call('count', { n, size: below(300),
        interval_ms: below(Math.max(30, CLIENTS)) });
    const { id } = answer;
    let left = 1 + below(2 * n);
    let lastId;
    let read = performance.now();
    let response;

    if (answer.status === 503) {
        return 'refused';
    }

    if (!answer.sse) {
        response = await answer.json();
    }

    while (!response) {
        const message = await nextMessage(answer, patience(lastId));

        assert.ok(performance.now() - began < END, `call ${id} has no end`);

        if (message) {
            read = performance.now();
        }

        // a client that leaves has not read a message that arrives meanwhile

        if (message || lastId === undefined) {
            lastId = answer.lastId ?? lastId;
        }

        if (message?.method) {
            messages.push(message);
        } else if (message) {
            response = message;
            break;
        }

        if (!message && lastId === undefined) {
            answer.close();
            return 'unknown';
        }

        if (!message || --left === 0) {
            answer.close();
            left = 1 + below(2 * n);
            answer = await anywhere(session, lastId);

            // the node of the call and Redis may have been killed at the same
            // time

            if (answer.status === 404 && emptied !== done.emptied) {
                return 'gone';
            }

            if (answer.status !== 200) {
                assert.fail(`${answer.status}: call of ${home} after ${lastId
                    }, of ${when(began)}, read until ${when(read)}, asked for ${
                    ''}at ${answer.at}, ${when()}, SEED=${seed}: ${
                    done.faults.slice(-20).join('; ')}\n${
                    await known(lastId)}`);
            }

            count('resumed');
        }
    }

    const numbers = counted(messages);

    answer.close();
    assert.equal(response.id, id);

    if (response.error) {
        assert.equal(response.error.code, -32603, response.error.message);
        assertCounted(numbers, numbers.length, `of call ${id}, SEED=${seed}`);

        if (performance.now() - Math.max(began, done.at) > DEAD_AFTER + 2000) {
            count('late');
        }

        // without faults of nodes, no call ends with an error

        if (!done.may) {
            assert.fail(`${response.error.message}: call of ${home}, of ${
                when(began)}, ${when()}, SEED=${seed}: ${
                done.faults.slice(-20).join('; ')}\n${
                lastId && await known(lastId)}`);
        }

        return 'failed';
    }

    if (answer.sse) {
        assertCounted(numbers, n, `of call ${id}, SEED=${seed}`);
    }

    return 'answered';
}


// Faults for node i. These run one at a time, but faults of links run beside
// them.

const links = {
    drop: (i) => cuts[i].drop(),

    async hold(i) {
        cuts[i].hold();
        await pause(below(700));
        cuts[i].release();
    },
};

// Waits for a random time, shorter or longer than the node timeout.

const away = () => pause(below(1.5 * DEAD_AFTER));

const faults = {
    async 'process killed'(i) {
        const workers = await nodes[i].workers();

        process.kill(workers[below(workers.length)], 'SIGKILL');
    },

    async 'node killed'(i) {
        const { port } = nodes[i];

        await kill(nodes[i]);
        await away();
        await nodes[i].stop(DISTURBED);
        nodes[i] = await start(i, port);
    },

    async 'node stopped'(i) {
        const pids = [await nodes[i].master(), ...await nodes[i].workers()];

        pids.forEach((pid) => process.kill(pid, 'SIGSTOP'));
        await away();
        pids.forEach((pid) => process.kill(pid, 'SIGCONT'));
    },

    async 'node cut off'(i) {
        cuts[i].refused = true;
        cuts[i].drop();
        await away();
        cuts[i].refused = false;
    },

    async 'Redis killed'() {
        done.emptied++;
        await redis.kill();
        await pause(below(1000));
        await redis.begin();
    },

    async 'Redis stopped'() {
        redis.pause();
        await away();
        redis.resume();
    },
};

const one = (of) => {
    const names = Object.keys(of);
    const name = names[below(names.length)];

    return [name, of[name]];
};


// Returns the entries of a stream in Redis, and its lines in the nodes' logs.

async function known(lastId) {
    const id = lastId.split('.')[0];
    const head = `{mcp}:1:h:${id}`;
    const said = await Promise.all(
        [['HMGET', head, 'o', 'l', 'f', 'k', 't', 'x', 'n', 'w', 'j', 'y'],
         ['PTTL', head], ['XLEN', `{mcp}:1:e:${id}`],
         ['ZRANGE', '{mcp}:1:nodes', '0', '-1', 'WITHSCORES']]
            .map((words) => redis.command(...words).catch(String)));
    const logs = await Promise.all(nodes.map(async (node, i) =>
        (await node.log()).split('\n')
            .filter((line) => line.includes(id.slice(0, 8))
                || line.includes('cluster:')).slice(-40)
            .map((line) => `${i}: ${line}`)));

    return [...said, ...logs.flat()].join('\n');
}


// Runs the clients for this number of seconds while faults occur.

async function run(t, seconds, of, may) {
    const end = performance.now() + seconds * 1000;
    let failed = false;
    const goesOn = () => !failed && performance.now() < end;

    const client = async () => {
        while (goesOn()) {
            count(await call().catch((error) => {
                assert.ok(gone(error), error);
                return 'unknown';
            }));
        }
    };

    const disturb = async (what, ms) => {
        while (goesOn()) {
            await pause(below(ms));

            const [name, f] = one(what);
            const i = below(3);
            const at = done.faults.push(`${name} ${i} from ${when()}`) - 1;

            await f(i);
            done.at = performance.now();
            done.faults[at] += ` to ${when()}`;
            count(name);
        }
    };

    const look = async () => {
        while (goesOn()) {
            await pause(1000);
            assert.equal(await redis.endless().catch(() => ''), '');
        }
    };

    Object.keys(counts).forEach((what) => delete counts[what]);
    done.may = may;

    const parts = [
        disturb(links, 2000), look(),
        ...(may ? [disturb(of, 3000)] : []),
        ...Array.from({ length: CLIENTS }, client)];

    // a failure ends all parts, so that none disturbs the next test

    await Promise.all(parts).catch(() => { failed = true; });
    await Promise.allSettled(parts);
    await Promise.all(parts);
    t.diagnostic(JSON.stringify(counts));
    assert.ok(counts.resumed > 0);
}


test('connections to Redis are cut at random: each event arrives once',
     async (t) => {
    await run(t, SECONDS / 4, {}, false);
    assert.equal(counts.failed, undefined);
    assert.equal(counts.unknown, undefined);
    assert.equal(counts.refused, undefined);
});


test('processes, nodes, Redis die at random: each event arrives once',
     async (t) => {
    await Promise.all(nodes.map((fixture) => fixture.stop()));
    await redis.command('FLUSHALL');
    nodes.splice(0, 3, ...await together(nodes.map(({ port }, i) =>
        start(i, port))));

    await run(t, SECONDS * 3 / 4, faults, true);
});


// Returns the longest time, in ms, until a key of a stream expires.

const longest = () => redis.command('EVAL', `local ms = 0
    for _, key in ipairs(redis.call('KEYS', '{mcp}:1:[ceh]:*')) do
        ms = math.max(ms, redis.call('PTTL', key))
    end
    return ms`, '0').then(Number);


test('keys of streams in Redis after random faults: all expire', async (t) => {
    assert.equal(await redis.endless(), '');
    assert.ok(await longest() <= KEPT + 2 * DEAD_AFTER);

    // nodes may have to replicate again the data that Redis has lost

    if (ENDURES) {
        const end = performance.now();

        await until(async () => await longest() === 0,
                    { limit: 10 * KEPT, hint: 'no key of a stream' });
        t.diagnostic(`no stream after ${
            Math.round((performance.now() - end) / 1000)} s`);
    }
});
