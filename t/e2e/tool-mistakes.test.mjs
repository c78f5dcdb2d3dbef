// SPDX-License-Identifier: Apache-2.0

// Log lines and status for mistakes of a tool's author.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { request } from './lib/wire.mjs';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-authors-'));

after(() => fs.rmSync(directory, { recursive: true, force: true }));

const json = { 'Content-Type': 'application/json' };
const stream = { 'Content-Type': 'application/x-ndjson' };
const result = (members) => JSON.stringify({ content: [], ...members });
const lines = (...messages) => messages.map((m) =>
    `${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`).join('');

// The backend's answer for each tool: head and body; null closes the
// connection.

const answers = {
    structured: [json, result({ structuredContent: { n: 1 } })],
    unstructured: [json, result()],
    failed: [json, result({ isError: true })],
    token: [stream, lines(
        { method: 'notifications/progress',
          params: { progressToken: '7', progress: 1 } },
        { method: 'notifications/progress',
          params: { progressToken: '7', progress: 2 } },
        { id: 1, result: { content: [] } })],
    empty: [{ 'Content-Type': 'text/html' }, ''],
    dies: null,
    broken: [json, 'debug: secret'],
    asks: [json, JSON.stringify({ resultType: 'input_required', inputRequests: {
        a: { method: 'elicitation/create', params: { mode: 'form', message: 'm',
            requestedSchema: { type: 'object', properties: {} } } } } })],
};
const backend = http.createServer((req, res) => {
    let body = '';

    req.on('data', (data) => { body += data; });
    req.on('end', () => {
        const answer = answers[JSON.parse(body).params.name];

        if (answer === null) {
            res.socket.destroy();
            return;
        }

        res.writeHead(200, answer[0]);
        res.end(answer[1]);
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => { backend.closeAllConnections(); backend.close(); });

const { port } = backend.address();
const catalog = `${directory}/catalog.json`;

fs.writeFileSync(catalog, JSON.stringify({
    tools: [...Object.keys(answers), 'absent'].map((name) => ({
        name, inputSchema: { type: 'object' },
        ...['structured', 'unstructured', 'failed'].includes(name)
            && { outputSchema: { type: 'object' } } })) }));

const server = await Fixture.use({ workers: 1, server: {
    nginx: `
        location = /authors { mcp mcp; mcp_catalog ${catalog};
            mcp_backend @authors; mcp_route absent @absent; }
        location @authors { include ${root}/examples/mcp_proxy_params;
            rewrite ^ /? break; proxy_buffering off;
            proxy_pass http://127.0.0.1:${port}; }
        location @absent { include ${root}/examples/mcp_proxy_params;
            rewrite ^ /? break; proxy_pass http://127.0.0.1:1; }
        location = /plain { mcp_status mcp; }
        location = /details { mcp_status mcp details; }`,
    apache: `
        <Location "/authors">
            SetHandler mcp
            MCPCatalog ${catalog}
            MCPBackend /mcp-backend/authors
            MCPRoute absent /mcp-backend/absent
        </Location>
        <Location "/mcp-backend/authors">
            Include ${root}/examples/mcp_proxy.conf
            ProxyPass "http://127.0.0.1:${port}/"
        </Location>
        <Location "/mcp-backend/absent">
            Include ${root}/examples/mcp_proxy.conf
            ProxyPass "http://127.0.0.1:1/"
        </Location>
        <Location "/plain">
            SetHandler mcp-status
        </Location>
        <Location "/details">
            SetHandler mcp-status-details
        </Location>` } });
const modern = new Modern(server, {
    unchecked: true,
    send: (options) => request(server.port, { path: '/authors', ...options }) });

async function call(name, options) {
    await (await modern.request('tools/call', { name, arguments: {} }, options))
        .ended;

    return (await server.log()).split('\n')
        .filter((line) => line.includes(`of "${name}"`));
}

async function detail(tool, page = '/details') {
    const { recent } = await (await request(server.port, {
        method: 'GET', path: `${page}?format=json` })).json();

    return page === '/details' ? recent.find((f) => f.tool === tool).detail
        : recent[0].detail;
}

const warnings = (log) => log.filter((line) => /\[warn\]/.test(line));


test('tool with outputSchema, result without structuredContent: a warning',
     async () => {
    assert.match(warnings(await call('unstructured')).join('\n'),
                 /a result without "structuredContent", .*"outputSchema"/);
    assert.deepEqual(warnings(await call('structured')), []);
    assert.deepEqual(warnings(await call('failed')), []);
});

test('progress with a token that is not the client\'s: one warning that names both tokens',
     async () => {
    const found = warnings(await call('token', { meta: { progressToken: 7 } }));

    assert.equal(found.length, 1, found.join('\n'));
    assert.match(found[0], /in which "progressToken" is "7" instead of 7 as in the client's request/);
});

test('empty text/html body from a backend: a warning', async () => {
    assert.match(warnings(await call('empty')).join('\n'),
                 /got from its backend an empty text\/html body/);
});

test('call without a session: the log has "session (none)"', async () => {
    const log = (await call('structured')).join('\n');

    assert.match(log, /began: tools\/call, session \(none\)/);
    assert.doesNotMatch(log, /AAAAAAAA/);
});

test('backend that closes the connection or does not exist: the status has the reason of the error',
     async () => {
    await call('dies');
    await call('absent');

    const reasons = SERVER === 'nginx'
        ? [/connection without an answer/, /could not connect/]
        : [/closed the connection before its response, or sent a malformed response/, /could not connect/];

    assert.match(await detail('dies'), reasons[0]);
    assert.match(await detail('absent'), reasons[1]);
});

test('question that the client cannot answer: log and status name the capability',
    async () => {
        assert.match(warnings(await call('asks')).join('\n'),
                     /lacks the capabilities .*"elicitation"/);
        assert.match(await detail('asks'), /lacks the capabilities .*"elicitation"/);
    });

test('invalid output of a backend: the status quotes the output only if configured to show details',
     async () => {
    await call('broken');

    assert.match(await detail('broken'), /at byte 0: "debug: secret/);
    assert.match(await detail('broken', '/plain'), /at byte 0: $/);
});
