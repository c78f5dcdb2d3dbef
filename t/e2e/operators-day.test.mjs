// SPDX-License-Identifier: Apache-2.0

// A day of an operator: 250 calls of 12 tools over 15 reloads. Status and log
// show the slow, failing and refused calls, and their users.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { many } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { request } from './lib/wire.mjs';

const TOOLS = 12;
const CALLS = 250;
const RELOADS = 15;

// The answers of the tools with mistakes; all other tools succeed.

const answers = {
    'tool-1': [200, '{"content":[],"isError":true}'],
    'tool-2': [200, '{"jsonrpc":"2.0","id":1,"error":'
                    + '{"code":1,"message":"m"}}'],
    'tool-3': [200, 'Warning: undefined variable'],
    'tool-4': [500, 'Internal Server Error'],
};
const SLOW = 'tool-5';
const LEFT = 'tool-6';
const expected = { 'tool-1': 'tool_error', 'tool-2': 'rpc_error',
                   'tool-3': 'fault', 'tool-4': 'tool_error' };
const reasons = { 'tool-1': 'tool_error', 'tool-2': 'rpc_error',
                  'tool-3': 'backend_output', 'tool-4': 'backend_status' };

const backend = http.createServer((req, res) => {
    let body = '';

    req.on('data', (data) => { body += data; });
    req.on('end', async () => {
        const { name } = JSON.parse(body).params;
        const [status, text] = answers[name] ?? [200, '{"content":[]}'];

        if (name === SLOW || name === LEFT) {
            await new Promise((resolve) => {
                setTimeout(resolve, name === SLOW ? 1500 : 20000).unref();
            });
        }

        res.writeHead(status, { 'Content-Type': 'application/json' });
        res.end(text);
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => { backend.closeAllConnections(); backend.close(); });

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-day-'));
const catalog = path.join(directory, 'catalog.json');

after(() => fs.rm(directory, { recursive: true }));
await fs.writeFile(catalog, JSON.stringify({
    tools: Array.from({ length: TOOLS }, (_, i) => ({
        name: `tool-${i}`, inputSchema: { type: 'object' } })) }));

const { port } = backend.address();
const server = await Fixture.use({
    http: {
        nginx: `log_format audit '$mcp_name $mcp_result $mcp_principal '
                                 '$request_time';`,
        apache: `LogFormat "%{mcp-name}n %{mcp-result}n %{mcp-principal}n %{ms}T" audit
                 CustomLog audit.log audit env=mcp-log`,
    },
    server: {
        nginx: `
            location = /day {
                mcp mcp; mcp_catalog ${catalog}; mcp_backend @day;
                mcp_principal $http_x_user;
            }
            location @day {
                include ${root}/examples/mcp_proxy_params;
                rewrite ^ /? break;
                proxy_pass http://127.0.0.1:${port};
                log_subrequest on;
                access_log audit.log audit;
            }
            location = /details { mcp_status mcp details; }`,
        apache: `
            <Location "/day">
                SetHandler mcp
                MCPCatalog ${catalog}
                MCPBackend /mcp-backend/day
                MCPPrincipal "%{req:X-User}"
            </Location>
            <Location "/mcp-backend/day">
                SetEnv mcp-log on
                Include ${root}/examples/mcp_proxy.conf
                ProxyPass "http://127.0.0.1:${port}/"
            </Location>
            <Location "/details">
                SetHandler mcp-status-details
            </Location>`,
    },
});

const sent = new Map();

// Makes call i: eve calls a tool that does not exist, other users call each
// tool in turn.

async function call(i) {
    const tool = i % 25 === 0 ? 'secret' : `tool-${i % TOOLS}`;
    const user = tool === 'secret' ? 'eve' : `user-${i % 3}`;
    const answer = new Modern(server, {
        unchecked: true,
        headers: { 'X-User': user },
        send: (options) => request(server.port, { path: '/day', ...options }),
    }).request('tools/call', { name: tool });

    sent.set(tool, (sent.get(tool) ?? 0) + 1);

    if (tool === LEFT) {
        (await answer).close();

    } else {
        await (await answer).ended;
    }
}

async function status() {
    return (await request(server.port, { method: 'GET',
        path: '/details?format=json' })).json();
}

async function audit() {
    return (await fs.readFile(`${server.prefix}/audit.log`, 'utf8')
        .catch(() => '')).split('\n').slice(0, -1).map((l) => l.split(' '));
}


test('250 calls of 12 tools, 15 reloads in between: each call gets a response', async () => {
    const per = Math.ceil(CALLS / RELOADS);

    for (let n = 0; n < RELOADS; n++) {
        const first = n * per;

        await many(Math.min(per, CALLS - first), 6, (i) => call(first + i));
        process.kill(await server.master(), server.is.reload);
        await new Promise((resolve) => { setTimeout(resolve, 300); });
    }

    assert.equal([...sent.values()].reduce((a, b) => a + b), CALLS);
});


test('status and log after 250 calls: show slow, failing, refused calls',
     async () => {
    const calls = CALLS - sent.get('secret');
    let lines, rows;

    // the last calls may end after their clients have left

    for (const end = Date.now() + 30000; ;) {
        lines = await audit();
        rows = (await status()).tools.filter((t) => t.tool in
            Object.fromEntries(sent) && t.endpoint.endsWith('/day'));

        if (lines.length === calls && rows.every((t) => t.active === 0)) {
            break;
        }

        assert.ok(Date.now() < end, `${lines.length} of ${calls} lines`);
        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }

    assert.equal(rows.length, TOOLS);

    for (const row of rows) {
        const result = row.tool === LEFT ? 'cancelled'
                                         : expected[row.tool] ?? 'ok';
        const own = lines.filter(([tool]) => tool === row.tool);

        // the counters include the processes of all generations

        assert.equal(row.results[result], sent.get(row.tool), row.tool);
        assert.equal(row.seconds.count, sent.get(row.tool));
        assert.equal(row.last_error?.reason,
                     row.tool === LEFT ? 'left' : reasons[row.tool]);

        // so do the log lines

        assert.equal(own.length, sent.get(row.tool));
        assert.ok(own.every(([, how, who]) => how === result
                                              && /^user-\d$/.test(who)));
    }

    const slowest = rows.toSorted((a, b) => b.seconds.sum / b.seconds.count
                                            - a.seconds.sum / a.seconds.count);

    assert.ok(slowest.slice(0, 2).some((t) => t.tool === SLOW));

    const { recent } = await status();
    const refused = recent.filter((f) => f.result === 'refused');

    assert.ok(refused.length > 0);
    assert.ok(refused.every((f) => f.principal === 'eve'
                                   && f.reason === 'unknown' && f.remedy));
    assert.ok(recent.some((f) => f.result === 'tool_error'
                                 && /^user-\d$/.test(f.principal)));
});
