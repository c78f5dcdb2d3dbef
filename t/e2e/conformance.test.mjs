// SPDX-License-Identifier: Apache-2.0

// The official conformance suite, by t/conformance: a test for each scored
// scenario, with two and with four workers.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';
import { root, SERVER } from './lib/fixture.mjs';

const REVISION = '2025-11-25';

for (const workers of [2, 4]) {
    const run = spawnSync(path.join(root, 't/conformance'),
        [SERVER, REVISION], {
            env: { ...process.env, CONFORMANCE_WORKERS: String(workers) },
            encoding: 'utf8',
        });
    const [scored, rest = ''] = run.stdout.split(/^Not scored/m);

    describe(`${REVISION}, ${workers} workers`, () => {
        const lines = [...scored.matchAll(/^([✓✗]) ([\w-]+): (.*)$/gm)]
            .filter(([, , name]) => !rest.includes(` ${name} (`));

        test('the suite ran', () => {
            assert.ok(lines.length >= 30, run.stdout + run.stderr);
        });

        for (const [, mark, name, counts] of lines) {
            test(name, () => assert.equal(mark, '✓', counts));
        }

        test('everything scored has passed', () => {
            assert.equal(run.status, 0, run.stdout.slice(-2000));
        });
    });
}
