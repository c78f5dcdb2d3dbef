// SPDX-License-Identifier: Apache-2.0

// A real redis-server in a directory of its own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './fixture.mjs';

const run = promisify(execFile);


// waits until f() is true, and returns what it is

export async function until(f, { limit = 20000, hint = f } = {}) {
    const end = performance.now() + limit;

    for (;;) {
        const value = await f();

        if (value) {
            return value;
        }

        if (performance.now() > end) {
            throw new Error(`never true: ${hint}`);
        }

        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}


// the configuration of a node, for Fixture's http: words of mcp_cluster

export function cluster(words, options = {}) {
    return { nginx: `mcp_cluster mcp ${words};`,
             apache: `MCPCluster ${words}`,
             ...options };
}


/*
 * user, password: all others are refused; tls: { key, certificate } of
 * lib/certificate.mjs: the port takes TLS only; unix: a socket besides.
 */

export class Redis {
    static async start({ port, user, password, tls, unix } = {}) {
        const redis = new Redis();

        redis.dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-redis-'));
        redis.port = port ?? await freePort();
        redis.user = user;
        redis.password = password;
        redis.tls = tls;
        redis.socket = `${redis.dir}/redis.sock`;
        redis.args = ['--dir', redis.dir, '--save', '', '--bind', '127.0.0.1',
            '--port', tls ? '0' : String(redis.port),
            ...(unix ? ['--unixsocket', redis.socket, '--unixsocketperm',
                        '777'] : []),
            ...(tls ? ['--tls-port', String(redis.port),
                       '--tls-cert-file', tls.certificate,
                       '--tls-key-file', tls.key,
                       '--tls-ca-cert-file', tls.certificate,
                       '--tls-auth-clients', 'no'] : [])];

        if (user) {
            redis.acl = `${redis.dir}/users.acl`;
            await fs.writeFile(redis.acl, `user default off
user admin on >admin ~* &* +@all
user ${user} on >${password} ~{mcp}:* +@all -@admin -@dangerous +info +role
`);
            redis.args.push('--aclfile', redis.acl);
        }

        // the children of Apache are somebody else

        await fs.chmod(redis.dir, 0o755);
        await redis.begin();

        return redis;
    }

    get url() {
        return `${this.tls ? 'rediss' : 'redis'}://127.0.0.1:${this.port}`;
    }

    async begin() {
        // it ends with the test, however that ends

        this.process = spawn('setpriv', ['--pdeathsig', 'KILL', 'redis-server',
                                         ...this.args],
                             { stdio: ['ignore', 'pipe', 'inherit'] });
        this.exited = once(this.process, 'exit');

        let log = '';

        const ready = new Promise((resolve) => {
            createInterface(this.process.stdout).on('line', (line) => {
                log += `${line}\n`;

                if (/Ready to accept connections/i.test(line)) {
                    resolve(true);
                }
            });
        });

        if (!await Promise.race([ready, this.exited.then(() => false)])) {
            throw new Error(`redis-server did not start:\n${log}`);
        }
    }

    async kill(signal = 'SIGKILL') {
        this.process.kill(signal);
        await this.exited;
    }

    pause() {
        this.process.kill('SIGSTOP');
    }

    resume() {
        this.process.kill('SIGCONT');
    }

    async command(...words) {
        const { stdout } = await run('redis-cli', ['-p', String(this.port),
            ...(this.tls ? ['--tls', '--cacert', this.tls.certificate] : []),
            ...(this.user ? ['--user', 'admin', '--pass', 'admin',
                             '--no-auth-warning'] : []),
            ...words]);

        return stdout.trim();
    }

    // keys that never end

    endless() {
        return this.command('EVAL', `local found = {}
            for _, key in ipairs(redis.call('KEYS', '*')) do
                if redis.call('PTTL', key) == -1 then
                    found[#found + 1] = key
                end
            end
            return table.concat(found, ' ')`, '0');
    }

    // how many connections there are, our own aside

    async clients() {
        return (await this.command('CLIENT', 'LIST')).split('\n').length - 1;
    }

    async nodes() {
        return Number(await this.command('ZCARD', '{mcp}:1:nodes'));
    }

    async stop() {
        if (this.process.exitCode === null
            && this.process.signalCode === null)
        {
            await this.kill();
        }

        await fs.rm(this.dir, { recursive: true, force: true });
    }
}
