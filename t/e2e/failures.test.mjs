// SPDX-License-Identifier: Apache-2.0

// Failures around the server: a full disk, a process stopped while it holds the
// zone's lock, a thread that the system refuses; and a new binary of nginx.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { held, pause } from './lib/held-calls.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { Session, assertCounted, counted, textOf } from './lib/session.mjs';

// A sanitizer must be the first preloaded library.

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


// Compiles a library that a server preloads.

function compile(source, preload, ...options) {
    execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O1', '-fPIC',
                         '-shared', ...options, '-o', preload,
                         `${root}/t/fixtures/${source}`, '-ldl']);
}


// Mounts a small file system; returns null where mounting is not permitted.

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


test('full disk: requests whose bodies need a temporary file get 500 in nginx, other requests succeed',
    async (t) => {
        const disk = await tiny();

        if (!disk) {
            t.skip('no file system can be mounted here');
            return;
        }

        // the server's logs, and bodies larger than a buffer

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

            // a large body needs a file: an error at once

            const answer = await session.call('echo', { text: large });
            const expected = SERVER === 'nginx' ? 500 : 200;

            assert.equal(answer.status, expected);
            await answer.text();

            // small requests need no file

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
            await server.settled();
        } finally {
            await server.stop(options);
            await disk.remove();
        }
    });


describe('a process that is stopped with the lock of the zone', { skip: sanitized },
    () => {
        for (const [signal, ending] of [
            ['SIGCONT', 'stopped process with the lock of the zone continues: each call gets all messages'],
            ['SIGKILL', 'stopped process with the lock of the zone is killed: the other processes repair the zone'],
        ]) {
            test(ending, () => stopped(signal));
        }
    });

async function stopped(signal) {
    // the stopped process removes the file, as another user in Apache

    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-stop-'));
    const file = `${dir}/stop`;
    const preload = `${dir}/stop.so`;

    await fs.chmod(dir, 0o777);

    compile('stop.c', preload, `-DSTOP_FILE="${file}"`);

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

        // the next call needs the lock, in any process

        const waiting = session.call('count', { n: 3, interval_ms: 100 })
            .catch(() => null);
        const pid = await until(stoppedOne);

        process.kill(pid, signal);

        // a client of the killed process repeats its call

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


// The first thread of a child is the module's logger, the second one its event
// loop.

test('Apache child cannot start the event loop: endpoints get 503, the child ends at a graceful restart',
     { skip: SERVER !== 'apache' || sanitized }, async () => {
    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-thread-'));
    const preload = `${dir}/no_thread.so`;

    await fs.chmod(dir, 0o755);
    compile('no_thread.c', preload);

    const server = await Fixture.start({ workers: 1,
                                         env: { LD_PRELOAD: preload } });

    try {
        const [old] = await server.workers();

        assert.equal((await fetch(server.url, { method: 'POST' })).status, 503);
        await server.reload();
        await until(async () => !(await server.works(old)));
        assert.match(await server.log(), /cannot initialize this process/);
    } finally {
        await server.stop({ allow: /cannot initialize this process/ });
        await fs.rm(dir, { recursive: true });
    }
});


// A new master gets another zone, but sessions are valid there by their key.
// Only a daemon is replaced, so this test starts a second nginx; the new one
// would lack the sanitizers' options.

const fixed = SERVER !== 'nginx' || sanitized;

test('upgrade of the nginx binary: sessions continue, a resume of an old stream gets 404',
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

    // nginx starts the new binary by the path in its own arguments

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
        await until(async () => !await listens(old, port, next));

        // the new master lacks the old streams: 404

        for (const call of [read, left]) {
            const answer = await until(async () => {
                const again = await session.resume(call.last);

                return again.status === 404 && again;
            });

            assert.match((await answer.json()).error.message,
                         /Unknown event ID/);
        }

        // the session is valid at the new master, with new calls and streams

        const again = await held(session, 20);

        again.answer.close();
        await session.open(again.gate);
        assert.ok((await session.follow(Object.assign(
            await session.get(again.last), { id: again.id })))
            .response.result);

        // the old master ends after its calls; a connection that is still open
        // receives the result

        process.kill(old, 'SIGQUIT');
        await session.open(read.gate);
        assert.ok((await session.follow(Object.assign(
            read.answer, { id: read.id }))).response.result);
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


// Returns whether a child of the process, other than `except`, listens at the
// port.

async function listens(parent, port, except) {
    const table = await fs.readFile('/proc/net/tcp', 'utf8');
    const hex = port.toString(16).toUpperCase().padStart(4, '0');
    const inode = new RegExp(`:${hex} 0{8}:0000 0A( +\\S+){5} +(\\d+)`, 'm')
        .exec(table)[2];
    const children = await fs.readFile(`/proc/${parent}/task/${parent}/children`,
                                       'utf8');

    for (const pid of children.split(' ').filter((p) => p && Number(p) !== except)) {
        const dir = `/proc/${pid}/fd`;

        for (const fd of await fs.readdir(dir).catch(() => [])) {
            const name = await fs.readlink(`${dir}/${fd}`).catch(() => '');

            if (name === `socket:[${inode}]`) {
                return true;
            }
        }
    }

    return false;
}


async function gone(pid) {
    const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8')
        .catch(() => '');

    return stat === '' || /\) Z /.test(stat);
}
