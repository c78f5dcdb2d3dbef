// SPDX-License-Identifier: Apache-2.0

// A redis-server process with a directory of its own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './fixture.mjs';

const run = promisify(execFile);


// Waits until f() is true and returns its value.

export async function until(f, { limit = 60000, hint = f } = {}) {
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


// Returns a node's configuration for the `http` option of Fixture. words: the
// arguments of mcp_cluster.

export function cluster(words, options = {}) {
    return { nginx: `mcp_cluster mcp ${words};`,
             apache: `MCPCluster ${words}`,
             ...options };
}


/*
 *   user, password   the only login that is accepted
 *   tls              { key, certificate } of certificate.mjs: the port takes TLS
 *                    only
 *   clients          the value of tls-auth-clients
 *   unix             listens on a Unix socket, too
 *   of               the Redis server of which this one is a replica
 *   slots            makes it a node of a Redis Cluster
 *   failover         as such a replica, it takes the place of its master
 */

export class Redis {
    static async start({ port, user, password, tls, unix, of, slots,
                         failover, clients = 'no' } = {}) {
        const redis = new Redis();

        redis.dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-redis-'));
        redis.port = port ?? await freePort();
        redis.user = user;
        redis.password = password;
        redis.tls = tls;
        redis.socket = `${redis.dir}/redis.sock`;
        redis.bus = slots && await freePort();
        redis.ready = /Ready to accept connections/i;
        redis.args = ['--dir', redis.dir, '--save', '', '--bind', '127.0.0.1',
            '--port', tls ? '0' : String(redis.port),
            ...(unix ? ['--unixsocket', redis.socket, '--unixsocketperm',
                        '777'] : []),
            ...(tls ? ['--tls-port', String(redis.port),
                       '--tls-cert-file', tls.certificate,
                       '--tls-key-file', tls.key,
                       '--tls-ca-cert-file', tls.certificate,
                       '--tls-auth-clients', clients] : []),
            '--repl-diskless-sync-delay', '0',
            ...(of ? ['--replicaof', '127.0.0.1', String(of.port)] : []),
            ...(slots ? ['--cluster-enabled', 'yes',
                         '--cluster-port', String(redis.bus),
                         '--cluster-node-timeout', '1000',
                         '--cluster-replica-validity-factor', '0',
                         '--cluster-replica-no-failover',
                         failover ? 'no' : 'yes'] : [])];

        if (user) {
            redis.acl = `${redis.dir}/users.acl`;
            await fs.writeFile(redis.acl, `user default off
user admin on >admin ~* &* +@all
user ${user} on >${password} ~{mcp}:* +@all -@admin -@dangerous +info +role
`);
            redis.args.push('--aclfile', redis.acl);
        }

        // Apache's children run as another user

        await fs.chmod(redis.dir, 0o755);
        await redis.begin();

        return redis;
    }

    get url() {
        return `${this.tls ? 'rediss' : 'redis'}://127.0.0.1:${this.port}`;
    }

    async begin() {
        // redis-server is killed when the test process ends in any way

        this.process = spawn('setpriv', ['--pdeathsig', 'KILL', 'redis-server',
                                         ...this.args],
                             { stdio: ['ignore', 'pipe', 'inherit'] });
        this.exited = once(this.process, 'exit');

        let log = '';

        const ready = new Promise((resolve) => {
            createInterface(this.process.stdout).on('line', (line) => {
                log += `${line}\n`;

                if (this.ready.test(line)) {
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

    // A server whose role changes closes all connections, also this one. The
    // command is then sent again: all commands of the tests may run twice.

    async command(...words) {
        for (let again = 5; ; again--) {
            try {
                const { stdout } = await run('redis-cli', [
                    '-p', String(this.port),
                    ...(this.tls ? ['--tls', '--cacert', this.tls.certificate]
                                 : []),
                    ...this.login(), ...words]);

                return stdout.trim();
            } catch (error) {
                if (!again || !/closed the connection|Connection reset/.test(
                    error.stderr))
                {
                    throw error;
                }
            }
        }
    }

    login() {
        return this.user ? ['--user', 'admin', '--pass', 'admin',
                            '--no-auth-warning'] : [];
    }

    // Returns the keys that have no expiry.

    endless() {
        return this.command('EVAL', `local found = {}
            for _, key in ipairs(redis.call('KEYS', '*')) do
                if redis.call('PTTL', key) == -1 then
                    found[#found + 1] = key
                end
            end
            return table.concat(found, ' ')`, '0');
    }

    // Returns the number of connections except this one.

    async clients() {
        return (await this.command('CLIENT', 'LIST')).split('\n').length - 1;
    }

    // Returns the fields of a section of INFO.

    async info(section) {
        return Object.fromEntries((await this.command('INFO', section))
            .split(/\r?\n/).filter((line) => line.includes(':'))
            .map((line) => [line.slice(0, line.indexOf(':')),
                            line.slice(line.indexOf(':') + 1)]));
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


/*
 * A Sentinel that watches a master named "mcp". It promotes a replica when the
 * master is unreachable.
 *
 *   password   the Sentinel requires this password; the user "watch" has the
 *              same password
 */

export class Sentinel extends Redis {
    static async start(master, { password } = {}) {
        const sentinel = new Sentinel();

        sentinel.password = password;

        sentinel.dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-sentinel-'));
        sentinel.port = await freePort();

        const file = `${sentinel.dir}/sentinel.conf`;

        await fs.writeFile(file, `port ${sentinel.port}
bind 127.0.0.1
dir ${sentinel.dir}
sentinel monitor mcp 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds mcp 500
sentinel failover-timeout mcp 2000
${password ? `requirepass ${password}
user watch on >${password} +sentinel|get-master-addr-by-name\n` : ''}`);
        sentinel.args = [file, '--sentinel'];
        sentinel.ready = /\+monitor master mcp/;
        await sentinel.begin();

        return sentinel;
    }

    login() {
        return this.password ? ['--pass', this.password, '--no-auth-warning']
                             : [];
    }

    // Waits until the Sentinel knows a replica that it may promote.

    knows() {
        return until(async () => /^flags\nslave$/m.test(
            await this.command('SENTINEL', 'REPLICAS', 'mcp')));
    }

    async master() {
        const [, port] = (await this.command('SENTINEL',
            'GET-MASTER-ADDR-BY-NAME', 'mcp')).split('\n');

        return Number(port);
    }
}


// the slot of all keys of the cluster "mcp"

const SLOT = 14804;
const LAST_SLOT = 16383;


/*
 * A Redis Cluster of three masters. The master "owner" has only the slot of our
 * keys, and it has a replica. On a busy machine the replica may take the place of
 * a live master, unless `failover` is false.
 */

export class RedisCluster {
    static async start({ failover = true } = {}) {
        const all = new RedisCluster();
        const slots = [[0, SLOT - 1], [SLOT, SLOT], [SLOT + 1, LAST_SLOT]];

        all.redis = await Promise.all([0, 1, 2, 3].map(
            () => Redis.start({ slots: true, failover })));
        [all.stranger, all.owner, , all.replica] = all.redis;

        for (const [i, redis] of all.redis.entries()) {
            redis.id = await redis.command('CLUSTER', 'MYID');
            await redis.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));

            if (i) {
                await redis.command('CLUSTER', 'MEET', '127.0.0.1',
                    String(all.stranger.port), String(all.stranger.bus));
            }

            if (slots[i]) {
                await redis.command('CLUSTER', 'ADDSLOTSRANGE',
                                    ...slots[i].map(String));
            }
        }

        await all.agree();
        await until(async () => await all.replica.command('CLUSTER',
            'REPLICATE', all.owner.id) === 'OK');
        await until(async () => (await all.replica.info('replication'))
            .master_link_status === 'up');
        await all.agree();

        return all;
    }

    // Waits until all nodes know each other and the owners of all slots.

    agree() {
        return until(async () => (await Promise.all(this.redis.map(
            async (redis) => {
                const text = await redis.command('CLUSTER', 'INFO');

                return /cluster_state:ok/.test(text)
                    && /cluster_known_nodes:4/.test(text);
            }))).every((is) => is));
    }

    // Moves the slot with all its keys from its owner to another master.

    async move(to) {
        await run('redis-cli', ['--cluster', 'reshard',
            `127.0.0.1:${this.owner.port}`, '--cluster-from', this.owner.id,
            '--cluster-to', to.id, '--cluster-slots', '1', '--cluster-yes',
            '--cluster-pipeline', '1000']);
    }

    // Begins to move the slot to another master, with those of its keys whose
    // names a command line can contain. The others remain at the owner. Returns
    // the keys.

    async beginMove(to) {
        await to.command('CLUSTER', 'SETSLOT', String(SLOT), 'IMPORTING',
                         this.owner.id);
        await this.owner.command('CLUSTER', 'SETSLOT', String(SLOT),
                                 'MIGRATING', to.id);

        const keys = (await this.owner.command('CLUSTER', 'GETKEYSINSLOT',
            String(SLOT), '1000')).split('\n')
            .filter((key) => /^\{mcp\}:1:[ehnx]:[\w-]+$/.test(key));

        await this.owner.command('MIGRATE', '127.0.0.1', String(to.port), '',
                                 '0', '5000', 'KEYS', ...keys);

        return keys;
    }

    // Moves these keys back to the owner of the slot, in the order of
    // "redis-cli --cluster fix --cluster-replace": the owner serves the slot
    // again before it has the keys. Here the nodes have written `again` before
    // the older copies replace their keys.

    async undoMove(from, keys, again) {
        await this.owner.command('CLUSTER', 'SETSLOT', String(SLOT), 'STABLE');
        await until(async () => Number(await this.owner.command('EXISTS',
            ...again)) === again.length);
        await from.command('MIGRATE', '127.0.0.1', String(this.owner.port), '',
                           '0', '5000', 'REPLACE', 'KEYS', ...keys);
        await from.command('CLUSTER', 'SETSLOT', String(SLOT), 'STABLE');
    }

    async stop() {
        await Promise.all(this.redis.map((redis) => redis.stop()));
    }
}
