// SPDX-License-Identifier: Apache-2.0

// Cases that are not true of several nodes (nodes.known.mjs) are left out.  With
// FIXTURE_KNOWN=only they alone are run, and each of them has to fail: one that
// passes is to be taken off the list.
//
// `node --import` makes this the node:test of all test files.

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

// ms after which a case that should fail has done so

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

// what a case leaves behind that has failed, or goes on after its time, is no
// more than that

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
