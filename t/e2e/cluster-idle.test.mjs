// SPDX-License-Identifier: Apache-2.0

// The cost of idle streams in Redis. LISTENERS sets their number, for
// measurements.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { node } from './lib/cluster.mjs';
import { Redis, until } from './lib/redis.mjs';

const LISTENERS = Number(process.env.LISTENERS ?? 100);
const BEATS = 8;


// Returns the number of scripts that Redis has run.

async function scripts(redis) {
    const { cmdstat_evalsha: text } = await redis.info('commandstats');

    return Number(/^calls=(\d+)/.exec(text)[1]);
}

// Returns the time of the only node's last heartbeat.

async function beats(redis) {
    return Number((await redis.command('ZRANGE', '{mcp}:1:nodes', '0', '0',
                                       'WITHSCORES')).split('\n')[1]);
}

async function beaten(redis, times) {
    const then = await beats(redis) + times;

    await until(async () => await beats(redis) >= then, { limit: 60000 });
}


describe('idle streams', () => {
    test('many idle streams in a cluster: one Redis command renews the keys of several streams, no key expires',
         async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const fixture = await node(redis.url, {
            http: { mcp_cluster_node_timeout: '3s' } });

        t.after(() => fixture.stop());

        const answers = [];
        let last;

        for (let i = 0; i < LISTENERS; i++) {
            last = await fixture.session();

            const answer = await last.get();

            assert.equal(answer.status, 200);
            await answer.block();
            answers.push(answer);
        }

        await beaten(redis, 4);

        const before = await scripts(redis);

        await beaten(redis, BEATS);

        const count = await scripts(redis) - before;

        t.diagnostic(`${count} scripts for ${LISTENERS} streams in ${BEATS} `
                     + 'heartbeats');

        // one script for each stream and heartbeat would be 800

        assert.ok(count < LISTENERS, `${count} scripts`);

        // each stream is in Redis, and its expiry was renewed

        const lasts = (await redis.command('EVAL', `
            local found = {}
            for _, key in ipairs(redis.call('KEYS', '{mcp}:1:h:*')) do
                found[#found + 1] = redis.call('PTTL', key)
                    >= tonumber(redis.call('HGET', key, 'z')) - 3000 and 1 or 0
            end
            return found`, '0')).split('\n');

        assert.equal(lasts.length, LISTENERS);
        assert.ok(lasts.every((is) => is === '1'));

        // a later publication reaches every listener

        await last.tool('publish', { message: {
            jsonrpc: '2.0', method: 'notifications/tools/list_changed' } });

        for (const answer of answers) {
            let message;

            do {
                message = await answer.message();
            } while (message.method !== 'notifications/tools/list_changed');

            answer.close();
        }
    });
});
