// SPDX-License-Identifier: Apache-2.0

// The wall clock is set back or forward: calls, streams, questions and sessions
// continue.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { describe, test } from 'node:test';
import { held } from './lib/held-calls.mjs';
import { Fixture, root } from './lib/fixture.mjs';

// A sanitizer must be the first preloaded library.

const skip = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;

const HOUR = 3600;


describe('the wall clock', { skip, concurrency: true }, () => {
    for (const [name, first, second] of [
        ['wall clock set back by an hour: calls, sessions continue', -HOUR, -HOUR],
        ['wall clock set forward by an hour: calls, sessions continue', HOUR, HOUR],
        ['wall clock set forward by a year, then back: calls, sessions continue',
         365 * 24 * HOUR, 0],
    ]) {
        test(name, () => jump(first, second));
    }
});


let clocks = 0;

async function jump(first, second) {
    const file = `/tmp/wall.${process.pid}.${clocks++}`;
    const preload = `${file}.so`;

    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', `-DWALL="${file}"`, '-o', preload,
                         `${root}/t/fixtures/wall.c`]);

    async function set(seconds) {
        await fs.rm(file, { force: true });
        await fs.symlink(String(seconds), file);
    }

    const options = {
        location: { mcp_close_after: '1s', mcp_stream_after: '2s',
                    mcp_session_lifetime: '30m' },
        env: { LD_PRELOAD: preload },
    };
    const server = await Fixture.start(options);

    try {
        const session = await server.session({
            capabilities: { elicitation: {} } });
        const tag = `clock ${file}`;
        const call = await held(session, 3);
        const asking = await session.call('ask_streaming', { rounds: 1 });
        const begun = session.call('count', { n: 0, gate: 'silent', tag });

        await session.running(tag, 'started', 1);
        await set(first);

        // a silent call becomes a stream, which the server closes after
        // mcp_close_after

        const silent = await begun;

        assert.equal(silent.sse, true);
        while (await silent.block()) { /* until it is closed */ }
        assert.equal(silent.ending, 'end');
        await set(second);
        await session.open('silent');
        assert.ok((await session.follow(Object.assign(
            await session.resume(silent.lastId), { id: silent.id })))
            .response.result);

        // the waiting calls continue

        await session.open(call.gate);
        assert.ok((await session.follow(Object.assign(call.answer,
            { id: call.id }))).response.result);
        assert.ok((await session.follow(asking, {
            async onMessage({ id, method }) {
                if (method === 'elicitation/create') {
                    await session.respond(id, { action: 'accept',
                                                content: { value: 'x' } });
                }
            },
        })).response.result);

        // the session is valid as long as before

        const later = await server.session();

        await later.tool('echo', { text: 'x' });
        await session.tool('echo', { text: 'x' });
    } finally {
        await server.stop(options);
        await fs.rm(file, { force: true });
        await fs.rm(preload, { force: true });
    }
}
