// SPDX-License-Identifier: Apache-2.0

// Starts and stops the test endpoint (t/fixture) on a free port.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { createInterface } from 'node:readline';
import { SERVER, lines, root, serverOf } from './servers.mjs';
import { Session } from './session.mjs';

export { SERVER, root };

// the servers of a cluster, with which lib/nodes.mjs replaces most fixtures

const NODES = process.env.FIXTURE_NODES;

// lines that no server's log may hold

const SERIOUS = /AddressSanitizer|runtime error:/;

// the tool "refused" has a backend that does not exist: nginx logs that as
// critical

const EXPECTED = /\/nobody\.sock failed/;

// nginx kills workers that take longer than a second to exit, which the leak
// check of AddressSanitizer does

const SLOW = process.env.SUITE_PREFIX === 'asan-'
    ? /exited on signal 9/ : /^$/;


// The ports are outside the range from which the system takes the ports of
// connections: a test with thousands of connections could otherwise take the
// port before the server does. Each process begins its search at another port.

const PORTS = { first: 12000, count: 20000, each: 64 };
let ports = process.pid * PORTS.each;

export async function freePort() {
    for (;;) {
        const port = PORTS.first + ports++ % PORTS.count;
        const server = net.createServer();

        server.listen(port, '127.0.0.1');

        try {
            await once(server, 'listening');
        } catch (error) {
            if (error.code !== 'EADDRINUSE') {
                throw error;
            }

            continue;
        }

        server.close();
        await once(server, 'close');

        return port;
    }
}


/*
 * port: to listen on; free: chooses the port if it is not given; kind: the server; location, http, server: as lines()
 * takes them; without: names of directives to remove from the location;
 * listen: in the server's syntax; backends: { name: as section()
 * takes it }; sndbuf: bytes; threads: backend calls at once in each worker, for
 * servers where a call takes a thread; kills: the test kills workers; allow:
 * lines of the log that are no fault; env: more for t/fixture.
 */

export class Fixture {
    static async start(options = {}) {
        if (NODES && !options.kind) {
            const { Nodes } = await import('./nodes.mjs');

            return Nodes.start(NODES.split(','), options);
        }

        return Fixture.one(options);
    }

    // Starts one server. Another process may take a free port before the server
    // does: then the server gets another port.

    static async one({ port, free = freePort, ...options }) {
        for (let again = 4; ; again--) {
            const fixture = await Fixture.begin({
                ...options, port: port ?? await free() });

            if (await fixture.begins) {
                return fixture;
            }

            await fixture.remove();

            if (port || !again || !fixture.lacksPort()) {
                throw new Error(`t/fixture did not start:\n${fixture.output}`);
            }
        }
    }

    // Returns true if the server has logged that its port is in use.

    lacksPort() {
        return this.output.split('\n').some((line) =>
            line.includes('Address already in use')
            && new RegExp(`:${this.port}\\b`).test(line));
    }

    // Returns a server that begins to start; "begins" becomes true when it
    // accepts connections, or false when it has exited.

    static async begin({ port, kind = SERVER, workers = 2, location, without = [],
                       http, server, listen = '', zone = '64m', sndbuf, threads,
                       backends = {}, env = {} }) {
        const fixture = new Fixture();
        const is = serverOf(kind);
        const sections = Object.entries(backends)
            .map(([name, backend]) => is.section(name, backend));
        const buffer = sndbuf ? is.sndbuf(sndbuf) : {};

        fixture.kind = kind;
        fixture.is = is;
        fixture.retired = new Set();
        fixture.port = port;
        fixture.url = `http://127.0.0.1:${fixture.port}/mcp`;
        fixture.prefix = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-e2e-'));
        fixture.output = '';
        fixture.process = spawn(path.join(root, 't/fixture'),
            [kind, String(fixture.port), String(workers)], {
                env: { ...process.env,
                       FIXTURE_PREFIX: fixture.prefix,
                       FIXTURE_LOCATION:
                           `${is.worker}\n${lines(location, kind)}`,
                       FIXTURE_HTTP: [lines(http, kind), buffer.http,
                                      ...sections.map((s) => s.http)]
                           .join('\n'),
                       FIXTURE_SERVER: [lines(server, kind),
                                        ...sections.map((s) => s.server)]
                           .join('\n'),
                       FIXTURE_LISTEN: [listen, buffer.listen].join(' '),
                       FIXTURE_WITHOUT: without.map((name) =>
                           is.directive(name, '').trim()).join(' '),
                       FIXTURE_ZONE: zone,
                       FIXTURE_LIFELINE: '1',
                       ...(threads && { FIXTURE_THREADS: String(threads) }),
                       ...env },
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

        fixture.begins = Promise.race([ready,
                                       fixture.exited.then(() => false)]);

        return fixture;
    }

    // Starts a fixture for the tests of one file or suite and stops it after
    // them.

    static async use(options = {}) {
        const fixture = await Fixture.start(options);

        after(() => fixture.stop(options));

        return fixture;
    }

    session(options) {
        return Session.open(this, options);
    }

    async master() {
        return Number(await fs.readFile(`${this.prefix}/${this.is.pidfile}`,
                                        'utf8'));
    }

    // Returns the workers that accept connections, without those of older
    // generations.

    async workers() {
        const master = await this.master();
        const children = await fs.readFile(
            `/proc/${master}/task/${master}/children`, 'utf8');
        const names = await Promise.all(children.trim().split(/\s+/).map(
            async (pid) => [Number(pid),
                await fs.readFile(`/proc/${pid}/cmdline`, 'utf8')
                    .catch(() => '')]));

        return names.filter(([pid, name]) => this.is.serves(name)
                                             && !this.retired.has(pid))
            .map(([pid]) => pid);
    }

    // Reloads the server. Returns once most workers are new: with the prefork
    // MPM, busy old processes keep their slots.

    async reload(signal = this.is.reload) {
        const before = await this.workers();

        process.kill(await this.master(), signal);
        before.forEach((pid) => this.retired.add(pid));

        while ((await this.workers()).length * 2 <= before.length) {
            await new Promise((resolve) => { setTimeout(resolve, 10); });
        }
    }

    // Waits until the workers of older generations have exited: a worker that
    // is stopped while it shuts down logs open sockets.

    async settled() {
        for (const pid of this.retired) {
            while (await this.works(pid)) {
                await new Promise((resolve) => { setTimeout(resolve, 10); });
            }
        }
    }

    // Returns the workers of older generations that have not yet stopped
    // accepting connections.

    async serving() {
        const names = await Promise.all([...this.retired].map(
            (pid) => fs.readFile(`/proc/${pid}/cmdline`, 'utf8')
                .catch(() => '')));

        return names.filter((name) => this.is.serves(name));
    }

    async works(pid) {
        const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8')
            .catch(() => '');

        return Number(stat.split(') ')[1]?.split(' ')[1])
            === await this.master();
    }

    async remove() {
        if (process.env.FIXTURE_KEEP !== '1') {
            await fs.rm(this.prefix, { recursive: true, force: true });
        }
    }

    log() {
        return fs.readFile(`${this.prefix}/error.log`, 'utf8');
    }

    async stop({ allow = /^$/, kills = false } = {}) {
        this.process.kill('SIGTERM');
        await this.exited;

        const bad = (await this.log()).split('\n')
            .filter((line) => (SERIOUS.test(line) || this.is.serious.test(line))
                              && !EXPECTED.test(line) && !SLOW.test(line)
                              && !(kills && this.is.killed.test(line))
                              && !allow.test(line));

        await this.remove();

        assert.deepEqual(bad, [], 'the error log is free of alerts');
    }
}
