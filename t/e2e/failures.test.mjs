// SPDX-License-Identifier: Apache-2.0

// What goes wrong around the server: a disk that is full, a process that is
// stopped with the zone's lock in its hands; and a new binary of nginx.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { held, pause } from './lib/faces.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { Session, assertCounted, counted, textOf } from './lib/session.mjs';

// the sanitizers insist on being the first to be preloaded

const sanitized = process.env.SUITE_PREFIX ? 'with a sanitizer' : false;

async function until(condition) {
    for (;;) {
        const value = await condition();

        if (value) {
            return value;
        }

        await pause(10);
    }
}


// A tiny file system of our own; null where we may not have one.

async function tiny() {
    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-full-'));

    try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=1777',
                               'tiny', dir], { stdio: 'ignore' });
    } catch {
        await fs.rmdir(dir);
        return null;
    }

    return {
        dir,

        async fill() {
            const file = await fs.open(`${dir}/filler`, 'w');

            try {
                for (;;) {
                    await file.write(Buffer.alloc(4096));
                }
            } catch (error) {
                assert.equal(error.code, 'ENOSPC');
            } finally {
                await file.close();
            }
        },

        empty: () => fs.rm(`${dir}/filler`),

        async remove() {
            execFileSync('umount', ['-l', dir]);
            await fs.rmdir(dir);
        },
    };
}


test('full disk: bodies that need a file fail, everything else continues',
    async (t) => {
        const disk = await tiny();

        if (!disk) {
            t.skip('no file system can be mounted here');
            return;
        }

        // its logs, and bodies that do not fit into a buffer

        const options = {
            location: { nginx: `client_body_buffer_size 16k;
                                client_body_temp_path ${disk.dir}/body;` },
            http: {
                nginx: `access_log ${disk.dir}/more.log;`,
                apache: `CustomLog ${disk.dir}/more.log "%r"`,
            },
            server: { nginx: `error_log ${disk.dir}/error.log info;`,
                      apache: `ErrorLog ${disk.dir}/error.log` },
            allow: /No space left on device/,
        };
        const server = await Fixture.start(options);

        try {
            const session = await server.session();
            const before = await held(session, 100);
            const large = 'x'.repeat(200000);

            assert.equal(textOf(await session.tool('echo', { text: large })),
                         large);
            await disk.fill();

            // a large body has no place to be: an error, at once

            const answer = await session.call('echo', { text: large });
            const expected = SERVER === 'nginx' ? 500 : 200;

            assert.equal(answer.status, expected);
            await answer.text();

            // the rest does not touch the disk

            assert.equal(textOf(await session.tool('echo', { text: 'small' })),
                         'small');
            await session.open(before.gate);

            const { messages, response } = await session.follow(Object.assign(
                before.answer, { id: before.id }));

            assert.ok(response.result);
            assertCounted(counted(messages).map((n) => n - 1), 99);

            await server.reload();
            assert.equal(textOf(await session.tool('echo', { text: 'new' })),
                         'new');

            await disk.empty();
            assert.equal(textOf(await session.tool('echo', { text: large })),
                         large);
        } finally {
            await server.stop(options);
            await disk.remove();
        }
    });


describe('a process that is stopped with the lock of the zone', { skip: sanitized },
    () => {
        for (const [signal, ending] of [
            ['SIGCONT', 'process with the lock continues: each call is complete'],
            ['SIGKILL', 'process with the lock is killed: the others repair the zone'],
        ]) {
            test(ending, () => stopped(signal));
        }
    });

async function stopped(signal) {
    // who stops takes the file away, and Apache's children are another user

    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-stop-'));
    const file = `${dir}/stop`;
    const preload = `${dir}/stop.so`;

    await fs.chmod(dir, 0o777);

    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', `-DSTOP_FILE="${file}"`, '-o', preload,
                         `${root}/t/fixtures/stop.c`, '-ldl']);

    const options = {
        location: { mcp_close_after: 'off' },
        env: { LD_PRELOAD: preload },
        kills: true,
    };
    const server = await Fixture.start(options);

    async function isStopped(pid) {
        const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8')
            .catch(() => '');

        return /\) T /.test(stat);
    }

    async function stoppedOne() {
        for (const pid of await server.workers()) {
            if (await isStopped(pid)) {
                return pid;
            }
        }

        return null;
    }

    try {
        const session = await server.session();
        const calls = await Promise.all([1, 2, 3, 4].map(
            () => held(session, 20)));

        await fs.writeFile(file, '');

        // what comes next needs the lock, of whichever process

        const waiting = session.call('count', { n: 3, interval_ms: 100 })
            .catch(() => null);
        const pid = await until(stoppedOne);

        process.kill(pid, signal);

        // a client whose process it was calls again

        const later = await waiting ?? await session.call('count', { n: 3 });
        const ends = await Promise.all(calls.map(async (call) => {
            await session.open(call.gate);

            return session.follow(Object.assign(call.answer,
                                                { id: call.id }));
        }));

        await session.follow(later);

        for (const { messages, response } of ends) {
            if (signal === 'SIGCONT' || response.result) {
                assert.ok(response.result);
                assertCounted(counted(messages).map((n) => n - 1), 19);
            } else {
                assert.equal(response.error.code, -32603);
            }
        }

        const { messages } = await session.follow(
            await session.call('count', { n: 20 }));

        assertCounted(counted(messages), 20);
    } finally {
        await server.stop(options);
        await fs.rm(dir, { recursive: true });
    }
}


// A zone does not pass from one master to another: sessions do, by their key.
// An nginx that is no daemon is never replaced, so this is one of its own,
// beside that of the fixture; and the new one does not get the sanitizers'
// options.

const fixed = SERVER !== 'nginx' || sanitized;

test('new binary of nginx: sessions continue, old streams get 404',
     { skip: fixed }, async () => {
    const fixture = await Fixture.use({ location: { mcp_close_after: 'off' } });
    const port = await freePort();
    const dir = fixture.prefix;
    const config = (await fs.readFile(`${dir}/nginx.conf`, 'utf8'))
        .replace(/daemon +off;/, 'daemon on;')
        .replace(`${dir}/nginx.pid`, `${dir}/daemon.pid`)
        .replace(`${dir}/error.log`, `${dir}/daemon.log`)
        .replaceAll(`:${fixture.port}`, `:${port}`);

    await fs.writeFile(`${dir}/daemon.conf`, config);

    // it starts the new one by the name that it was started by

    const nginx = process.env.NGINX_BIN
        ?? execFileSync('sh', ['-c', 'command -v nginx'], { encoding: 'utf8' })
            .trim();

    execFileSync(nginx, ['-p', dir, '-e', `${dir}/daemon.log`,
                         '-c', `${dir}/daemon.conf`], { stdio: 'ignore' });

    const master = async () => Number(
        await fs.readFile(`${dir}/daemon.pid`, 'utf8').catch(() => 0));
    const old = await until(master);
    const running = new Set([old]);

    try {
        const session = await Session.open({ port });
        const read = await held(session, 20);
        const left = await held(session, 20);

        left.answer.close();
        process.kill(old, 'SIGUSR2');

        const next = await until(async () => {
            const pid = await master();

            return pid !== old && pid;
        });

        running.add(next);
        process.kill(old, 'SIGWINCH');

        // its workers take no more connections; a stream that is read is
        // closed in order

        while (await read.answer.block()) { /* until it is closed */ }
        assert.equal(read.answer.ending, 'end');

        // the new one does not have what the old one has, and says so

        for (const call of [read, left]) {
            const answer = await until(async () => {
                const again = await session.resume(call.last);

                return again.status === 404 && again;
            });

            assert.match((await answer.json()).error.message,
                         /Unknown event ID/);
        }

        // the session goes on there, and so do calls and their streams

        const again = await held(session, 20);

        again.answer.close();
        await session.open(again.gate);
        assert.ok((await session.follow(Object.assign(
            await session.get(again.last), { id: again.id })))
            .response.result);

        // no backend is cut: the old one ends when its calls have

        process.kill(old, 'SIGQUIT');
        await session.open(read.gate);
        await session.open(left.gate);
        await until(() => gone(old));
        running.delete(old);
        await session.tool('echo', { text: 'x' });
    } finally {
        for (const pid of running) {
            process.kill(pid, 'SIGQUIT');
            await until(() => gone(pid));
        }
    }

    assert.doesNotMatch(await fs.readFile(`${dir}/daemon.log`, 'utf8'),
                        /\[(emerg|alert|crit)\]/);
});


async function gone(pid) {
    const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8')
        .catch(() => '');

    return stat === '' || /\) Z /.test(stat);
}
