// SPDX-License-Identifier: Apache-2.0

// The official conformance suite: runs it, and reads its results.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './servers.mjs';

const CLI = `${root}/t/e2e/node_modules/@modelcontextprotocol/conformance/`
            + 'dist/index.js';

// Returns the checks of each scenario from the suite's files; a scenario that
// broke off has none.

export function checksOf(directory) {
    return new Map(fs.readdirSync(directory)
        .map((name) => [name, path.join(directory, name, 'checks.json')])
        .filter(([, file]) => fs.existsSync(file))
        .map(([name, file]) => [
            name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, '$1'),
            JSON.parse(fs.readFileSync(file, 'utf8')),
        ]));
}

// Runs the scenarios of a revision, scored or not, and returns their checks.

export async function runSuite(url, revision) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-suite-'));

    try {
        const suite = spawn(process.execPath, [CLI, 'server', '--url', url,
            '--requirements', revision, '--output-dir', directory],
            { stdio: 'ignore' });

        await once(suite, 'exit');

        return checksOf(directory);
    } finally {
        fs.rmSync(directory, { recursive: true, force: true });
    }
}
