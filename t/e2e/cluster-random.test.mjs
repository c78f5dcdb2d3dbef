// SPDX-License-Identifier: Apache-2.0

// Many calls at three nodes of both servers, whose clients drop at random and
// come back to any node, while connections to Redis are cut and held up: each
// event comes once, and in order.  CLUSTER_SECONDS=n makes it longer, SEED=n
// repeats its choices.

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

after(() => Promise.all(nodes.map((fixture) => fixture.stop())));

const end = performance.now() + SECONDS * 1000;
const goesOn = () => performance.now() < end;

let calls = 0;
let resumed = 0;


// the stream again, at some node: one that is cut off says so

async function anywhere(session, lastId) {
    return until(async () => {
        const answer = await at(nodes[below(3)], session).get(lastId);

        if (answer.status === 503) {
            assert.equal(answer.headers['retry-after'], '1');
            answer.close();
            return null;
        }

        return answer;
    });
}


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

        if (message === null || --left === 0) {
            answer.close();
            left = 1 + below(2 * n);
            assert.notEqual(lastId, undefined);
            answer = await anywhere(session, lastId);
            assert.equal(answer.status, 200, `call ${id} after ${lastId}`);
            resumed++;
        }
    }

    assert.equal(response.id, id);
    assert.ok(response.result, JSON.stringify(response));

    if (answer.sse) {
        assertCounted(counted(messages), n, `of call ${id}, SEED=${seed}`);
        answer.close();
    }

    calls++;
}


async function disturb() {
    while (goesOn()) {
        const cut = cuts[below(3)];

        await pause(below(400));

        if (rand() < 0.5) {
            cut.drop();
        } else {
            cut.hold();
            await pause(below(700));
            cut.release();
        }
    }
}


test('each event comes once, and in order', async (t) => {
    const client = async () => {
        while (goesOn()) {
            await call();
        }
    };

    await Promise.all([disturb(), ...Array.from({ length: CLIENTS }, client)]);
    t.diagnostic(`${calls} calls, ${resumed} resumed`);
    assert.ok(resumed > 0);
});


test('nothing stays in Redis without an end', async () => {
    for (const name of (await redis.command('KEYS', '*')).split('\n')) {
        assert.notEqual(await redis.command('PTTL', name), '-1', name);
    }
});
