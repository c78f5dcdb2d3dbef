// SPDX-License-Identifier: Apache-2.0

// The conformance suite uses servers of the official SDK directly, and then
// through mcp_upstream: no scenario passes fewer checks.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runSuite } from './lib/conformance.mjs';
import { conformanceServers } from './lib/conformance-servers.mjs';
import { Fixture } from './lib/fixture.mjs';

// scenarios that pass fewer checks: the reason

const JSON_RESPONSE = {
    'server-sse-multiple-streams':
        'the module sends a response that is ready as JSON',
};
const OPEN = {
    'server-sse-polling': 'the module keeps the client\'s stream open while the '
        + 'server has closed its own',
};
const LISTS = {
    'server-stateless': 'the module does not declare listChanged',
};

// scenarios that do not pass: the reason

const TASKS = Object.fromEntries([
    'capability-negotiation', 'dispatch-and-envelope', 'lifecycle',
    'mrtr-composition', 'mrtr-input', 'request-headers', 'request-state-removal',
    'required-task-error', 'wire-fields',
].map((name) => [`tasks-${name}`, 'the server has no tools with tasks']));
const INPUT = Object.fromEntries([
    'basic-elicitation', 'basic-list-roots', 'basic-sampling',
    'capability-check', 'multi-round', 'multiple-input-requests',
    'non-tool-request', 'request-state', 'result-type', 'tampered-state',
].map((name) => [`input-required-result-${name}`,
    'a server without sessions cannot ask']));
const KEYS = {
    'input-required-result-basic-elicitation':
        'the module chooses the keys of questions',
    'input-required-result-multiple-input-requests':
        'each result has one question',
};
const QUESTIONS = Object.fromEntries([
    'elicitation-sep1034-defaults', 'elicitation-sep1330-enums',
    'tools-call-elicitation', 'tools-call-sampling',
].map((name) => [name, 'a server without sessions cannot ask']));
const OLDER = {
    ...TASKS,
    'server-stateless': 'a tool of this scenario asks a client that cannot answer',
    'http-custom-header-server-validation':
        'a server of an older revision does not compare headers',
};

/*
 * Each row: the server, the revision, the number of scenarios that pass without
 * the module, and for each form of mcp_upstream the scenarios that pass fewer
 * checks, and those that do not pass. The last item are directives of the
 * module: with these, each client gets a stream, which the module closes a
 * second before the response of the scenario server-sse-polling.
 */

const STREAMS = { mcp_stream_after: '0', mcp_close_after: '2s' };

const rows = [
    ['sessions', '2025-11-25', 33, ['session', 'auto'],
     { ...JSON_RESPONSE, ...OPEN }, {}],
    ['sessions', '2025-11-25', 33, ['session'], {}, {}, STREAMS],
    ['stateless', '2025-11-25', 29, ['stateless', 'auto'], {}, QUESTIONS],
    ['modern', '2025-11-25', 29, ['modern'], {}, {}],
    ['modern', '2026-07-28', 41, ['modern', 'auto'], LISTS, TASKS],
    ['sessions', '2026-07-28', 2, ['session'], {}, { ...OLDER, ...KEYS }],
    ['stateless', '2026-07-28', 2, ['stateless'], {}, { ...OLDER, ...INPUT }],
];

const idsOf = (checks, wanted) => (checks ?? [])
    .filter(({ status }) => status === wanted).map(({ id }) => id);
const passing = (scenarios) => [...scenarios].filter(([, checks]) =>
    checks.length && !idsOf(checks, 'FAILURE').length);

// Returns the ids that are in `all` more often than in `part`.

function missing(all, part) {
    const left = [...part];

    return all.filter((id) => {
        const at = left.indexOf(id);

        return at < 0 || !left.splice(at, 1);
    });
}

const total = (scenarios) => [...scenarios.values()].flat()
    .filter(({ status }) => status === 'SUCCESS').length;

// All runs come before the first test, because the servers end with the last
// test.

const runs = [];

for (const [name, revision, count, forms, fewer, failing, location] of rows) {
    const port = await conformanceServers[name]();
    const direct = await runSuite(`http://127.0.0.1:${port}/mcp`, revision);
    const through = {};

    for (const upstream of forms) {
        const fixture = await Fixture.start({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_backend: 'server', ...location },
            backends: { server: { http: port, upstream } },
        });

        through[upstream] = await runSuite(fixture.url, revision);
        await fixture.stop();
    }

    runs.push({ name, revision, count, direct, through, fewer, failing,
                location });
}

function compare(scenario, direct, checks = [], { fewer, failing }) {
    const lost = missing(idsOf(direct, 'SUCCESS'), idsOf(checks, 'SUCCESS'));
    const failures = checks.filter(({ status }) => status === 'FAILURE')
        .map(({ id, errorMessage }) => `${id}: ${errorMessage}`);

    if (fewer[scenario]) {
        test(`official suite, ${scenario}, known exception (${fewer[scenario]}): fewer checks pass than without the module`,
             () => assert.notDeepEqual(lost, []));
    } else {
        test(`official suite, ${scenario}: each check passes that passes without the module`,
             () => assert.deepEqual(lost, []));
    }

    if (failing[scenario]) {
        test(`official suite, ${scenario}, known exception (${failing[scenario]}): a check fails`,
             () => assert.notDeepEqual(failures, []));
    } else {
        test(`official suite, ${scenario}: no check fails`, () => {
            assert.ok(checks.length);
            assert.deepEqual(failures, []);
        });
    }
}

for (const run of runs) {
    const name = `official suite, server "${run.name}", ${run.revision}`;

    test(`${name}, without the module: ${run.count} scenarios pass`, (t) => {
        t.diagnostic(`${total(run.direct)} checks pass`);
        assert.equal(passing(run.direct).length, run.count);
    });

    for (const [upstream, through] of Object.entries(run.through)) {
        describe(`${name}, mcp_upstream ${upstream}${
            run.location ? ', streams' : ''}`, () => {
            for (const scenario of new Set([...run.direct.keys(),
                                            ...through.keys()])) {
                compare(scenario, run.direct.get(scenario),
                        through.get(scenario), run);
            }

            test(`official suite through mcp_upstream: at least ${run.count} scenarios pass`, (t) => {
                t.diagnostic(`${passing(through).length} scenarios, `
                             + `${total(through)} checks pass`);
                assert.ok(passing(through).length >= run.count);
            });
        });
    }
}
