// Somebody sets the wall clock back: calls, streams and sessions do not care.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import { held } from './lib/faces.mjs';
import { Fixture, root } from './lib/fixture.mjs';

// the sanitizers insist on being the first to be preloaded

const skip = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;


test('the clock is set back by an hour', { skip }, async () => {
    const file = `/tmp/wall.${process.pid}`;
    const preload = `${file}.so`;

    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', `-DWALL_BACK="${file}"`, '-o', preload,
                         `${root}/t/fixtures/wall.c`]);

    const server = await Fixture.use({
        location: { mcp_close_after: '1s', mcp_stream_after: '2s' },
        env: { LD_PRELOAD: preload },
    });

    try {
        const session = await server.session();
        const tag = `clock ${process.pid}`;
        const call = await held(session, 3);
        const begun = session.call('count', { n: 0, gate: 'silent', tag });

        await session.running(tag, 'started', 1);
        await fs.writeFile(file, '');

        // it says nothing, becomes a stream all the same, and is closed at will

        const silent = await begun;

        assert.equal(silent.sse, true);
        while (await silent.block()) { /* until it is closed */ }
        assert.equal(silent.ending, 'end');
        await session.open('silent');
        assert.ok((await session.follow(Object.assign(
            await session.resume(silent.lastId), { id: silent.id })))
            .response.result);

        await session.open(call.gate);
        assert.ok((await session.follow(Object.assign(call.answer,
            { id: call.id }))).response.result);
    } finally {
        await fs.rm(file, { force: true });
        await fs.rm(preload, { force: true });
    }
});
