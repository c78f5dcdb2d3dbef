// SPDX-License-Identifier: Apache-2.0

// Skips the cases that fail on several nodes (nodes.known.mjs). With
// FIXTURE_KNOWN=only, only these cases run, and each of them must fail: a case
// that passes is to be removed from the list.
//
// `node --import` replaces the node:test of all test files with this module.

import { registerHooks } from 'node:module';
import { after, test as real } from 'node:test';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { known } from '../nodes.known.mjs';

export * from 'node:test';

registerHooks({
    resolve: (name, context, next) => (name === 'node:test'
        && context.parentURL.endsWith('.test.mjs')
        ? { url: import.meta.url, shortCircuit: true }
        : next(name, context)),
});

const ONLY = process.env.FIXTURE_KNOWN === 'only';

// the time in ms within which a listed case must fail

const LIMIT = 10000;

const file = path.basename(process.argv[1] ?? '', '.test.mjs');
const listed = new Map(known.filter((entry) => entry.file === file)
    .flatMap((entry) => entry.cases.map((name) => [name, entry])));
const missing = new Set(listed.keys());

let passed = false;

async function fails(run, t) {
    const end = pause(LIMIT, undefined, { ref: false }).then(() => {
        throw new Error('it takes too long');
    });

    try {
        await Promise.race([run(t), end]);
    } catch {
        return;
    }

    passed = true;
    throw new Error('passes, though nodes.known.mjs says that it does not');
}

export function test(name, run) {
    const entry = listed.get(name);

    missing.delete(name);

    if (!entry) {
        return ONLY ? undefined : real(name, run);
    }

    return ONLY && !entry.sometimes ? real(name, (t) => fails(run, t))
                                    : real(name, { skip: entry.why }, run);
}

// with FIXTURE_KNOWN=only, errors that a failed or late case causes later do
// not change the exit code

if (ONLY) {
    process.on('exit', () => {
        process.exitCode = Number(passed || missing.size > 0);
    });
}

if (listed.size) {
    after(() => {
        if (missing.size) {
            throw new Error(`no such cases: ${[...missing].join(', ')}`);
        }
    });
}
