// SPDX-License-Identifier: Apache-2.0

// The test endpoint as a cluster: nodes that share a Redis server and a
// backend, behind a balancer. With FIXTURE_NODES=nginx,apache,nginx,
// Fixture.start() starts such a cluster unless the test names a server. Nodes
// has the methods of Fixture.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Balancer } from './balancer.mjs';
import { common, joined, joins, together } from './cluster.mjs';
import { Fixture, freePort } from './fixture.mjs';
import { Redis, until } from './redis.mjs';
import { root } from './servers.mjs';
import { Session } from './session.mjs';

const exists = (file) => fs.access(file).then(() => true, () => false);


export class Nodes {
    static async start(kinds, { port, workers = 2, http, server, location, env,
                                ...options } = {})
    {
        const nodes = new Nodes();

        nodes.processes = workers;
        nodes.port = port ?? await freePort();
        nodes.url = `http://127.0.0.1:${nodes.port}/mcp`;
        nodes.redis = await Redis.start();
        await nodes.begin();

        const shared = common(nodes.redis.url);

        nodes.all = await together(kinds.map((kind) => Fixture.start({
            ...options, kind, workers,
            http: { ...shared.http, mcp_cluster_timeout: '5s', ...http },
            server: { ...shared.server, ...server },
            location: { mcp_publish_url:
                            `http://127.0.0.1:${nodes.port}/publish`,
                        ...location },
            env: { ...env, FIXTURE_BACKEND: nodes.dir } })));
        await Promise.all(nodes.all.map((node) => joined(node, workers)));
        nodes.balancer = await Balancer.start(nodes.port,
                                              nodes.all.map((n) => n.port));

        return nodes;
    }

    // Starts the backend that all nodes share. Its sockets are open to Apache's
    // children, which run as another user.

    async begin() {
        this.dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-backend-'));
        await fs.chmod(this.dir, 0o755);

        this.backend = spawn('setpriv', ['--pdeathsig', 'KILL', 'sh', '-c',
            'umask 0; exec "$@"', 'sh', `${root}/t/fixtures/backend`,
            `${this.dir}/fastcgi.sock`, '--http', `${this.dir}/http.sock`],
            { stdio: ['ignore', 'inherit', 'inherit'] });
        this.exited = once(this.backend, 'exit');
        await until(() => exists(`${this.dir}/http.sock`));
    }

    session(options) {
        return Session.open(this, options);
    }

    each(f) {
        return Promise.all(this.all.map(f));
    }

    async workers() {
        return (await this.each((node) => node.workers())).flat();
    }

    // Reloads all nodes and waits until their processes have joined: before
    // that, a process refuses its clients.

    reload(signal) {
        return this.each(async (node) => {
            const before = await joins(node);

            await node.reload(signal);
            await joined(node, before + this.processes);
        });
    }

    settled() {
        return this.each((node) => node.settled());
    }

    async serving() {
        return (await this.each((node) => node.serving())).flat();
    }

    async log() {
        return (await this.each((node) => node.log())).join('');
    }

    async stop(options) {
        await this.balancer.stop();

        const ends = await Promise.allSettled(
            this.all.map((node) => node.stop(options)));

        this.backend.kill();
        await this.exited;
        await this.redis.stop();
        await fs.rm(this.dir, { recursive: true, force: true });

        for (const { reason } of ends) {
            if (reason) {
                throw reason;
            }
        }
    }
}
