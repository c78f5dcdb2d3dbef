// SPDX-License-Identifier: Apache-2.0

// tools/mcp-snapshot: an endpoint's lists as a catalog, and their comparison.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';

const catalog = {
    instructions: 'Read the manual.',
    completions: true,
    tools: [1, 2, 3].map((n) => ({
        name: `tool_${n}`, description: `Tool ${n}`,
        inputSchema: { type: 'object' }, 'x-mcp-stream-after': n,
    })),
    prompts: [{ name: 'prompt', description: 'A prompt' }],
    resources: [{ uri: 'test://one', name: 'one' },
                { uri: 'test://two', name: 'two' }],
    resourceTemplates: [{ uriTemplate: 'test://t/{id}', name: 't' }],
};

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-snapshot-'));

after(() => fs.rm(dir, { recursive: true }));

async function write(name, value) {
    const file = path.join(dir, name);

    await fs.writeFile(file, JSON.stringify(value));
    return file;
}

const file = await write('catalog.json', catalog);

// Returns the exit code, the standard output and the standard error.

function snapshot(...args) {
    return new Promise((resolve) => {
        execFile('python3', [`${root}/tools/mcp-snapshot`, ...args],
                 (error, out, errors) =>
                     resolve({ code: error ? error.code : 0, out, errors }));
    });
}

const location = { mcp_catalog: file, mcp_page_size: '1' };
const server = await Fixture.use({ location });

// the members x-mcp-* are settings of the server, which no client gets

const visible = structuredClone(catalog);

visible.tools.forEach((tool) => delete tool['x-mcp-stream-after']);


test('mcp-snapshot, server whose lists have several pages: writes all items',
     async () => {
    const { code, out, errors } = await snapshot(server.url);

    assert.equal(code, 0, errors);
    assert.deepEqual(JSON.parse(out), visible);
});


test('mcp-snapshot of a server without 2026-07-28: writes all items',
     async () => {
    const old = await Fixture.use({
        location: { ...location, mcp_revisions: '2025-06-18 2025-11-25' } });
    const { code, out, errors } = await snapshot(old.url);

    assert.equal(code, 0, errors);
    assert.deepEqual(JSON.parse(out), visible);
});


test('mcp-snapshot --keep: members x-mcp-* of the older catalog are kept', async () => {
    const { code, out, errors } = await snapshot(server.url, '--keep', file);

    assert.equal(code, 0, errors);
    assert.deepEqual(JSON.parse(out), catalog);
});


test('mcp-snapshot --check with the catalog of the server: prints nothing', async () => {
    assert.deepEqual(await snapshot(server.url, '--check', file),
                     { code: 0, out: '', errors: '' });
});


test('mcp-snapshot --check with a different catalog: prints one line for each difference', async () => {
    const other = structuredClone(catalog);

    other.tools[0].description = 'Another tool';
    other.tools[1].inputSchema.title = 'arguments';
    other.tools[2].name = 'tool_4';
    other.resources.pop();

    const { code, out } = await snapshot(server.url, '--check',
                                         await write('other.json', other));

    assert.equal(code, 1);
    assert.deepEqual(out.split('\n'), [
        'tools "tool_4": removed',
        'tools "tool_3": added',
        'tools "tool_1": description was "Another tool", now "Tool 1"',
        'tools "tool_2": inputSchema was {"type": "object", "title": '
            + '"arguments"}, now {"type": "object"}',
        'resources "test://two": added',
        '',
    ]);
});


test('mcp-snapshot --header: each request has the header', async () => {
    const closed = await Fixture.use({ location: {
        ...location,
        nginx: 'if ($http_x_user != root) { return 403; }',
        apache: 'Require expr "%{HTTP:X-User} == \'root\'"',
    } });

    assert.equal((await snapshot(closed.url)).code, 2);

    const { code, errors } = await snapshot(closed.url, '--header',
                                            'X-User: root');

    assert.equal(code, 0, errors);
});


test('mcp-snapshot of a URL without a server: exit code 2, and a message',
     async () => {
    const { code, out, errors } = await snapshot('http://127.0.0.1:1/mcp');

    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(errors, /^mcp-snapshot: .*refused/);
});
