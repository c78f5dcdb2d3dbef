// SPDX-License-Identifier: Apache-2.0

// The official conformance suite, by t/conformance: a test for each scenario,
// scored or not, with one and with four workers.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { checksOf } from './lib/conformance.mjs';
import { root, SERVER } from './lib/fixture.mjs';
import { lines as directives } from './lib/servers.mjs';

// skipped: scenarios that the suite skips with every server

const REVISIONS = {
    '2025-11-25': { scored: 30, skipped: [] },
    '2026-07-28': {
        scored: 37,
        skipped: ['tasks-status-notifications'],
    },

    // an intended deviation from the revision: event ids, later cancellation

    '2026-07-28, mcp_resume_stateless all': {
        scored: 37,
        skipped: ['tasks-status-notifications'],
        sizes: [4],
        location: { mcp_resume_stateless: 'all' },
    },

    // every scenario; scenarios of extensions that are not offered are skipped

    all: {
        scored: 65,
        skipped: ['tasks-status-notifications', 'sep-2640-skills-directory',
                  'sep-2640-skills-enumeration', 'sep-2640-skills-manifest'],
        sizes: [4],
    },
};

const output = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-conformance-'));

after(() => fs.rmSync(output, { recursive: true, force: true }));

const complaints = (checks, ...statuses) => checks
    .filter(({ status }) => statuses.includes(status))
    .map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage}`);


for (const [name, { scored, skipped, sizes = [1, 4], location }]
    of Object.entries(REVISIONS))
{
    for (const workers of sizes) {
        const [revision] = name.split(',');
        const directory = path.join(output,
                                    `${name.replace(/\W+/g, '-')}-${workers}`);

        fs.mkdirSync(directory);

        const run = spawnSync(path.join(root, 't/conformance'),
            [SERVER, revision], {
                env: { ...process.env, CONFORMANCE_WORKERS: String(workers),
                       CONFORMANCE_OUTPUT: directory,
                       CONFORMANCE_LOCATION: directives(location, SERVER) },
                encoding: 'utf8',
            });
        const checks = checksOf(directory);
        const [summary] = run.stdout.split(/^scored: /m);
        const lines = [...summary.matchAll(/^([✓✗]) ([\w-]+): (.*)$/gm)];
        const names = new Set(lines.map(([, , name]) => name));

        describe(`${name}, ${workers} workers`, () => {
            test('official suite: every scored scenario passes', () => {
                assert.equal(run.status, 0,
                             run.stdout.slice(-2000) + run.stderr);
                assert.match(run.stdout, new RegExp(
                    `^scored: ${scored} passed, 0 failed$`, 'm'));
                assert.deepEqual(skipped.filter((name) => !names.has(name)),
                                 []);
            });

            for (const [, mark, scenario, counts] of lines) {
                test(`scenario ${scenario}: passes`, () => {
                    assert.deepEqual(complaints(checks.get(scenario) ?? [],
                        'FAILURE', 'WARNING',
                        ...(skipped.includes(scenario) ? []
                                                       : ['SKIPPED'])), []);
                    assert.equal(mark, '✓', counts);
                });
            }
        });
    }
}
