// SPDX-License-Identifier: Apache-2.0

// A node whose clock differs from Redis's by more than five minutes: it sends
// 503, never an answer that a client takes for final.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { describe, test } from 'node:test';
import { at, common, cuttable, joined } from './lib/cluster.mjs';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { until } from './lib/redis.mjs';

// A sanitizer must be the first preloaded library.

const skip = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;

const DAY = 86400;

let clocks = 0;


async function clusterOf(fixture) {
    const answer = await fetch(new URL('/status?format=json', fixture.url));

    return (await answer.json()).cluster;
}


// Starts a node whose clock is ahead by this number of seconds.

async function skewed(t, words, seconds) {
    const file = `/tmp/skew.${process.pid}.${clocks++}`;
    const preload = `${file}.so`;

    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', `-DWALL="${file}"`, '-o', preload,
                         `${root}/t/fixtures/wall.c`]);
    await fs.symlink(String(seconds), file);

    const { http, server } = common(words);
    const fixture = await Fixture.start({
        kind: SERVER, http, server,
        env: { LD_PRELOAD: preload },
    });

    t.after(async () => {
        await fixture.stop();
        await fs.rm(file, { force: true });
        await fs.rm(preload, { force: true });
    });

    return fixture;
}


async function refuses(send) {
    const answer = await send();

    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '1');
}


describe('a node', { skip, concurrency: true }, () => {
    for (const [how, sign, word] of [
        ['ahead of', 1, 'ahead of'], ['behind', -1, 'behind'],
    ]) {
        test(`node whose clock is a day ${how} the clock of Redis: it does not `
             + 'join the cluster, requests get 503', async (t) => {
            const { fixture: here, words } = await cuttable(t);
            const session = await here.session();
            const there = await skewed(t, words, sign * DAY);
            const text = new RegExp(`clock is \\d+ s ${word} the clock of Redis: `
                                    + 'synchronize both by NTP');

            await until(async () => text.test((await clusterOf(there))
                .last_error?.text));
            assert.match(await there.log(), text);

            const remote = at(there, session);

            await refuses(() => remote.request('tools/list', {}));
            await refuses(() => remote.get());
            await refuses(() => remote.delete());
            await refuses(() => Object.assign(at(there, session),
                { id: undefined }).request('initialize', {
                protocolVersion: '2025-11-25', capabilities: {},
                clientInfo: { name: 'e2e', version: '1' } }));

            await until(async () => (await clusterOf(here)).state === 'member');
            assert.equal((await clusterOf(here)).members.length, 1);
            assert.notEqual((await clusterOf(there)).state, 'member');
            await session.tool('echo', { text: 'x' });
        });
    }

    test('node with a clock two days ahead, Redis unreachable at the start: a '
         + 'request in a session of another node gets 503', async (t) => {
        const { cut, fixture: here, words } = await cuttable(t);
        const session = await here.session();

        cut.refused = true;

        const there = await skewed(t, words, 2 * DAY);

        await refuses(() => at(there, session).request('tools/list', {}));
    });

    test('node with a clock four minutes ahead: the node joins the cluster', async (t) => {
        const { fixture: here, words } = await cuttable(t);
        const session = await here.session();
        const there = await skewed(t, words, 240);

        await joined(there);
        await at(there, session).tool('echo', { text: 'x' });
    });
});
