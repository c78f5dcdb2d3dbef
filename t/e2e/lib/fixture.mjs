// Starts and stops the test endpoint (t/fixture) on a free port.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Session } from './session.mjs';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export const SERVER = process.env.MCP_SERVER ?? 'nginx';

// what a log must not hold; a test that kills workers allows 'signal 9'

const SERIOUS = /\[(emerg|alert|crit)\]|AddressSanitizer|runtime error:/;

// the backend that the tool "refused" has: nginx calls that critical

const EXPECTED = /\/nobody\.sock failed/;

// nginx kills workers that take more than a second to exit, and those that
// look for leaks do

const SLOW = process.env.SUITE_PREFIX === 'asan-'
    ? /exited on signal 9/ : /^$/;


function freePort() {
    return new Promise((resolve, reject) => {
        const server = net.createServer();

        server.on('error', reject);
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();

            server.close(() => resolve(port));
        });
    });
}


export class Fixture {
    static async start({ workers = 2, location = '', http = '', server = '',
                         listen = '', zone = '64m' } = {}) {
        const fixture = new Fixture();

        fixture.port = await freePort();
        fixture.url = `http://127.0.0.1:${fixture.port}/mcp`;
        fixture.prefix = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-e2e-'));
        fixture.output = '';
        fixture.process = spawn(path.join(root, 't/fixture'),
            [SERVER, String(fixture.port), String(workers)], {
                env: { ...process.env,
                       FIXTURE_PREFIX: fixture.prefix,
                       FIXTURE_LOCATION:
                           `add_header X-Worker $pid always;\n${location}`,
                       FIXTURE_HTTP: http,
                       FIXTURE_SERVER: server,
                       FIXTURE_LISTEN: listen,
                       FIXTURE_ZONE: zone,
                       FIXTURE_LIFELINE: '1' },
                stdio: ['pipe', 'pipe', 'pipe'],
            });
        fixture.process.stderr.on('data', (data) => fixture.output += data);
        fixture.exited = new Promise((resolve) => {
            fixture.process.on('exit', resolve);
        });

        const ready = new Promise((resolve) => {
            createInterface(fixture.process.stdout).on('line', (line) => {
                if (line.startsWith('ready ')) {
                    resolve(true);
                }
            });
        });

        if (!await Promise.race([ready, fixture.exited.then(() => false)])) {
            throw new Error(`t/fixture did not start:\n${fixture.output}`);
        }

        return fixture;
    }

    // for the tests of one file or suite: started now, stopped after them

    static async use(options = {}) {
        const fixture = await Fixture.start(options);

        after(() => fixture.stop(options.allow));

        return fixture;
    }

    session(options) {
        return Session.open(this, options);
    }

    async master() {
        return Number(await fs.readFile(`${this.prefix}/nginx.pid`, 'utf8'));
    }

    // the workers that accept connections: those of older generations rename
    // themselves

    async workers() {
        const master = await this.master();
        const children = await fs.readFile(
            `/proc/${master}/task/${master}/children`, 'utf8');
        const names = await Promise.all(children.trim().split(/\s+/).map(
            async (pid) => [Number(pid),
                await fs.readFile(`/proc/${pid}/cmdline`, 'utf8')
                    .catch(() => '')]));

        return names.filter(([, name]) => /worker process\W*$/.test(name))
            .map(([pid]) => pid);
    }

    // reloads, and returns once new workers have taken over

    async reload() {
        const before = await this.workers();

        process.kill(await this.master(), 'SIGHUP');

        for (;;) {
            const now = await this.workers();

            if (now.length === before.length
                && !now.some((pid) => before.includes(pid)))
            {
                return;
            }

            await new Promise((resolve) => { setTimeout(resolve, 10); });
        }
    }

    log() {
        return fs.readFile(`${this.prefix}/error.log`, 'utf8');
    }

    async stop(allow = /^$/) {
        this.process.kill('SIGTERM');
        await this.exited;

        const bad = (await this.log()).split('\n')
            .filter((line) => SERIOUS.test(line) && !EXPECTED.test(line)
                              && !SLOW.test(line)
                              && !allow.test(line));

        if (process.env.FIXTURE_KEEP !== '1') {
            await fs.rm(this.prefix, { recursive: true, force: true });
        }

        assert.deepEqual(bad, [], 'the error log is free of alerts');
    }
}
