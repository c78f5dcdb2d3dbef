// SPDX-License-Identifier: Apache-2.0

// Many calls at three nodes of both servers, whose clients drop at random and
// come back to any node, while connections to Redis are cut and held up, and
// processes die: each event comes once, and in order.  CLUSTER_SECONDS=n makes it
// longer, SEED=n repeats its choices.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OTHER, at, node } from './lib/cluster.mjs';
import { Cut } from './lib/cut.mjs';
import { SERVER } from './lib/fixture.mjs';
import { random } from './lib/load.mjs';
import { Redis, until } from './lib/redis.mjs';
import { assertCounted, counted } from './lib/session.mjs';

const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 20);
const CLIENTS = 24;
const seed = Number(process.env.SEED ?? Date.now() % 1000000);
const rand = random(seed);

console.log(`SEED=${seed}`);

const below = (n) => Math.floor(rand() * n);
const redis = await Redis.start();

after(() => redis.stop());

const cuts = await Promise.all([0, 1, 2].map(() => Cut.start(redis.port)));

after(() => Promise.all(cuts.map((cut) => cut.stop())));

const nodes = await Promise.all([SERVER, OTHER, SERVER].map((kind, i) =>
    node(`redis://127.0.0.1:${cuts[i].port}`, { kind })));

after(() => Promise.all(nodes.map((fixture) => fixture.stop({
    kills: true, allow: /was lost with its process|left without a word/ }))));

let calls = 0;
let resumed = 0;
let lost = 0;


// what a connection that is lost before its head says

const gone = (error) => /closed before|ECONNRE|EPIPE|hang up/
    .test(`${error.code} ${error.message}`);


// the stream again, at some node: one that is cut off says so

async function anywhere(session, lastId) {
    return until(async () => {
        const answer = await at(nodes[below(3)], session).get(lastId)
            .catch((error) => {
                assert.ok(gone(error), error);
                return null;
            });

        if (answer?.status === 503) {
            assert.equal(answer.headers['retry-after'], '1');
            answer.close();
            return null;
        }

        return answer;
    });
}


// one call; false: it was lost before its client knew a place in it

async function call() {
    const home = nodes[below(3)];
    const session = await home.session();
    const n = 1 + below(100);
    const messages = [];
    let answer = await session.call('count', { n, size: below(300),
                                               interval_ms: below(30) });
    const { id } = answer;
    let left = 1 + below(2 * n);
    let lastId;
    let response;

    if (!answer.sse) {
        response = await answer.json();
    }

    while (!response) {
        const message = await answer.message();

        lastId = answer.lastId ?? lastId;

        if (message?.method) {
            messages.push(message);
        } else if (message) {
            response = message;
            break;
        }

        if (message === null && lastId === undefined) {
            return false;
        }

        if (message === null || --left === 0) {
            answer.close();
            left = 1 + below(2 * n);
            answer = await anywhere(session, lastId);
            assert.equal(answer.status, 200, `call ${id} after ${lastId}`);
            resumed++;
        }
    }

    const numbers = counted(messages);

    assert.equal(response.id, id);

    if (response.error) {
        assert.equal(response.error.code, -32603);
        assertCounted(numbers, numbers.length, `of call ${id}, SEED=${seed}`);
        lost++;
    } else if (answer.sse) {
        assertCounted(numbers, n, `of call ${id}, SEED=${seed}`);
    }

    answer.close();
    calls++;

    return true;
}


async function hold(cut) {
    cut.hold();
    await pause(below(700));
    cut.release();
}

async function slay(fixture) {
    const workers = await fixture.workers();

    process.kill(workers[below(workers.length)], 'SIGKILL');
}


// so many clients, while something is done every now and then

async function run(t, disturbances, may) {
    const end = performance.now() + SECONDS * 500;
    const goesOn = () => performance.now() < end;

    const client = async () => {
        while (goesOn()) {
            await call().then((known) => assert.ok(known || may.lose),
                              (error) => {
                                  assert.ok(may.lose && gone(error), error);
                              });
        }
    };

    const disturb = async () => {
        while (goesOn()) {
            await pause(below(may.lose ? 1000 : 400));
            await disturbances[below(disturbances.length)](below(3));
        }
    };

    calls = 0;
    resumed = 0;
    lost = 0;
    await Promise.all([disturb(), ...Array.from({ length: CLIENTS }, client)]);
    t.diagnostic(`${calls} calls, ${resumed} resumed, ${lost} lost`);
    assert.ok(resumed > 0);
}


const links = [(i) => cuts[i].drop(), (i) => hold(cuts[i])];

test('each event comes once, and in order', async (t) => {
    await run(t, links, { lose: false });
    assert.equal(lost, 0);
});


test('and so it does while processes die', async (t) => {
    await run(t, [...links, (i) => slay(nodes[i])], { lose: true });
});


test('nothing stays in Redis without an end', async () => {
    assert.equal(await redis.endless(), '');
});
