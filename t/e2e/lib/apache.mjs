// SPDX-License-Identifier: Apache-2.0

// Files and settings that the tests of Apache httpd share.

import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe } from 'node:test';
import { SERVER } from './fixture.mjs';

export const MPM = process.env.FIXTURE_MPM ?? 'event';

export const suite = SERVER === 'apache' ? describe : (name) => describe(name,
    { skip: 'a server that is not Apache httpd' });

// A directory for files that Apache's children read: they may run as a user
// other than the one that runs the tests.

export const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-apache-'));

await fs.chmod(dir, 0o755);
after(() => fs.rm(dir, { recursive: true, force: true }));

// Suites run at the same time, and two may write the same file while the server
// of one reads it: it is never empty, because it gets its name at the end.

export async function file(name, contents, mode = 0o644) {
    const where = path.join(dir, name);
    const written = `${where}.${randomUUID()}`;

    await fs.mkdir(path.dirname(where), { recursive: true });
    await fs.writeFile(written, contents);
    await fs.chmod(written, mode);
    await fs.rename(written, where);

    return where;
}

export const load = (...names) => names.map((name) =>
    `LoadModule ${name}_module \${MODULES}/mod_${name}.so\n`).join('');
