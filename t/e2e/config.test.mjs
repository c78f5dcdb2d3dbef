// SPDX-License-Identifier: Apache-2.0

// Settings that can never have an effect, or one that is hardly meant: the test
// of the configuration refuses them or warns.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER } from './lib/fixture.mjs';

const NGINX = SERVER === 'nginx';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-config-'));

after(() => fs.rmSync(directory, { recursive: true, force: true }));

function file(name, contents) {
    fs.writeFileSync(`${directory}/${name}`, contents);

    return `${directory}/${name}`;
}

const tools = file('tools.json', JSON.stringify({ tools: ['read', 'write']
    .map((name) => ({ name, inputSchema: { type: 'object' } })) }));
const backend = { mcp_backend: NGINX ? '@tools' : '/mcp-backend/tools' };
const NO = NGINX ? '0' : 'false';
const YES = NGINX ? '1' : 'true';

// mcp_max_wait is MCPMaxWait in Apache

const directive = (name) => (NGINX ? name
    : `MCP${name.slice(4).split('_').map((word) =>
        ({ ttl: 'TTL' })[word] ?? word[0].toUpperCase() + word.slice(1))
        .join('')}`);

function endpoint(at, settings) {
    const lines = Object.entries(settings).flatMap(([name, values]) =>
        [values].flat().map((value) => `${directive(name)} ${value}`));

    return NGINX
        ? `location = /${at} { mcp mcp; ${lines.map((l) => `${l};`).join(' ')} }`
        : `<Location "/${at}">\nSetHandler mcp\n${lines.join('\n')}\n</Location>`;
}


describe('error', { concurrency: 2 }, () => {
    for (const [name, settings, why] of [
        ['mcp_allow_origin with a slash',
            { mcp_allow_origin: 'https://example.com/' },
            /"https:\/\/example\.com\/" never equals an Origin/],
        ['mcp_allow_origin with a path',
            { mcp_allow_origin: 'https://example.com:8443/app' },
            /never equals an Origin/],
        ['mcp_stream_buffer without a unit', { mcp_stream_buffer: '5' },
            /add the unit, as in 8m/],
        ['mcp_max_message without a unit', { mcp_max_message: '8' },
            /add the unit, as in 8m/],
        ['mcp_max_party_bytes without a unit', { mcp_max_party_bytes: '16' },
            /add the unit, as in 8m/],
        ['mcp_max_message 0', { mcp_max_message: '0' }, /invalid value "0"/],
        ...['mcp_call_timeout', 'mcp_input_timeout', 'mcp_state_lifetime',
            'mcp_session_lifetime', 'mcp_resume_lifetime'].map((zero) =>
            [`${zero} 0`, { [zero]: '0' }, /value must not be 0/]),
        ['mcp_route twice for one name',
            { mcp_route: ['a', '~^b', 'a'].map((pattern) =>
                `${pattern} ${backend.mcp_backend}`) },
            /a route for "a" stands before this one/],
        ['mcp_allow behind *',
            { mcp_allow: [`* ${YES}`, `tools/read ${NO}`] },
            /rule "tools\/read" stands behind one that matches all/],
        ['mcp_allow twice for one name',
            { mcp_allow: [`tools/a ${YES}`, `tools/a ${NO}`] },
            /rule "tools\/a" stands behind one that matches all/],
        ['empty catalog', { mcp_catalog: file('empty', '') },
            /line 1: the file is empty/],
        ['catalog with a byte order mark',
            { mcp_catalog: file('mark', '\ufeff{}') },
            /line 1: the file begins with a byte order mark/],
        ['catalog in Latin-1', { mcp_catalog: file('latin',
            Buffer.from('{\n"instructions":"caf\u00e9"}', 'latin1')) },
            /line 2: column 20: byte 0xe9 is not UTF-8/],
        ['catalog with a syntax error',
            { mcp_catalog: file('syntax', '{\n  "tools": [}\n}') },
            /line 2: not valid JSON near column \d+/],
    ]) {
        test(name, () => assert.rejects(
            Fixture.start({ server: endpoint('bad', settings) }),
            (error) => {
                assert.match(error.message, why);
                assert.match(error.message, /\.conf:\d+|on line \d+ of/);
                return true;
            }));
    }
});


test('neither error nor warning for what has an effect', async () => {
    const fixture = await Fixture.start({ zone: '128m',
        server: endpoint('good', {
        ...backend, mcp_catalog: tools,
        mcp_allow_origin: ['https://example.com:8443', 'null',
                           '~^https://.*/', 'app://x'],
        mcp_allow: [`prompts/* ${YES}`, `tools/read ${YES}`, `* ${NO}`],
        mcp_max_message: '1k', mcp_stream_buffer: '64k',
        mcp_max_party_bytes: 'off', mcp_min_wait: '1s' }) });
    const log = await fixture.log();

    await fixture.stop();
    assert.doesNotMatch(log, /\[(?:\w+:)?(?:warn|emerg)\].*(?:\bmcp\b|\/good)/);
});


test('warnings', async (t) => {
    const settings = {
        nothing: {},
        hidden: { ...backend, mcp_catalog: tools,
                  mcp_allow: `tools/re* ${YES}` },
        late: { ...backend, mcp_max_wait: '10s', mcp_min_wait: '1m' },
    };
    const fixture = await Fixture.start({ server:
        Object.entries(settings).map(([at, s]) => endpoint(at, s)).join('\n'),
    ...NGINX && { http: `
        server { listen unix:${directory}/a; server_name a;
                 location = /same { mcp mcp; mcp_backend @b; }
                 location @b { return 404; } }
        server { listen unix:${directory}/b; server_name a;
                 location = /same { mcp mcp; mcp_backend @b;
                                    if ($arg_x) { set $x 1; } }
                 location @b { return 404; } }` } });
    const log = await fixture.log();

    await fixture.stop();

    for (const [name, why] of [
        ['neither catalog nor backend: the endpoint offers nothing',
            /has neither .* nor .* nor .*: it offers nothing/],
        ['mcp_allow that hides all others: named with one of them',
            /hides "write" from everybody, because no .* matches it/],
        ['mcp_min_wait beyond mcp_max_wait',
            /has an .* that exceeds .*: clients that obey it/],
        ...NGINX ? [['two servers of one name and path',
            /has the path "\/same" of another endpoint.*server_name" "a"/]]
            : [],
    ]) {
        await t.test(name, () => {
            const found = new Set(log.split('\n').filter((l) => why.test(l))
                .map((l) => l.replace(/.*?(?=")/, '').trim()));

            assert.equal(found.size, 1, log);
        });
    }
});
