// SPDX-License-Identifier: Apache-2.0

// Files with secrets, and secrets in memory.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { certify } from './lib/certificate.mjs';
import { Fixture } from './lib/fixture.mjs';
import { cluster } from './lib/redis.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-keys-'));
const fifo = `${dir}/fifo`;
const tls = certify(dir);

await fs.chmod(dir, 0o755);
execFileSync('mkfifo', [fifo]);
after(() => fs.rm(dir, { recursive: true, force: true }));

const URL = 'rediss://127.0.0.1';
const NOBODY = 'rediss://u@127.0.0.1';


describe('files that are not regular', { concurrency: 2 }, () => {
    for (const [name, file] of [['a FIFO', fifo], ['a directory', dir]]) {
        for (const [what, options] of [
            ['the file of mcp_key', { location: { mcp_key: file } }],
            ['the file of mcp_catalog', { location: { mcp_catalog: file } }],
            ['the file of password_file=', { http: cluster(`${NOBODY} password_file=${file}`) }],
            ['the file of mcp_cluster_ca', { http: cluster(URL, { mcp_cluster_ca: file }) }],
            ['the file of mcp_cluster_certificate', { http: cluster(URL, {
                mcp_cluster_certificate: file,
                mcp_cluster_certificate_key: tls.key }) }],
        ]) {
            test(`${name} as ${what}: rejected`, () => assert.rejects(
                Fixture.start(options),
                new RegExp(`${file}" is not a regular file`)));
        }
    }
});


describe('keys that other users may know', { concurrency: 2 }, () => {
    const random = '0123456789abcdefghijklmnopqrstuvwxyz';

    for (const [name, contents, mode, warning] of [
        ['one repeated byte', `${'x'.repeat(40)}\n`, 0o600,
            /key in ".*" is one repeated byte/],
        ['readable for everybody', random, 0o644,
            /key file ".*" is readable by every user/],
        ['random, and readable for root and a group', random, 0o640, null],
    ]) {
        test(`file of mcp_key that is ${name}: ${warning ? 'a' : 'no'} warning`,
             async () => {
            const key = `${dir}/${name}`.replaceAll(' ', '-');

            await fs.writeFile(key, contents);
            await fs.chmod(key, mode);

            const server = await Fixture.start({ location: { mcp_key: key } });
            const text = server.output + await server.log();

            await server.stop();

            if (warning) {
                assert.match(text, warning);
            } else {
                assert.doesNotMatch(text, new RegExp(key));
            }
        });
    }
});


test('shared memory of a zone: excluded from the core dumps of all processes', async () => {
    const server = await Fixture.use({ zone: '37m' });

    for (const pid of [await server.master(), ...await server.workers()]) {
        const smaps = await fs.readFile(`/proc/${pid}/smaps`, 'utf8');
        const flags = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
            .filter((map) => /^Size: +(\d+) kB$/m.exec(map)[1] >= 36 * 1024
                             && / rw-s /.test(map))
            .map((map) => /^VmFlags: (.*)$/m.exec(map)[1]);

        assert.equal(flags.length, 1);
        assert.match(flags[0], /\bdd\b/);
    }
});
