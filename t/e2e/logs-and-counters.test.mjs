// SPDX-License-Identifier: Apache-2.0

// Calls in logs and counters: each $mcp_result in the access log, in both
// formats of the status, and the reason in the error log.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http from 'node:http';
import { after, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { request } from './lib/wire.mjs';

// The answers of a backend with each kind of mistake.

const answers = {
    'a result': [200, 'application/json', '{"content":[]}'],
    isError: [200, 'application/json', '{"content":[],"isError":true}'],
    'a JSON-RPC error': [200, 'application/json',
        '{"jsonrpc":"2.0","id":1,"error":' + '{"code":1,"message":"m"}}'],
    'HTTP 500': [500, 'text/html', '<h1>Internal Server Error</h1>'],
    'broken JSON': [200, 'application/json', 'debug: here\n{"content":[]}'],
    'JSON as text/html': [200, 'text/html', '{"content":[]}'],
    'a result without content': [200, 'application/json', '{"text":"x"}'],
    'a string as content': [200, 'application/json', '{"content":"x"}'],
};
const waiting = new Map();
const backend = http.createServer((req, res) => {
    let body = '';

    req.on('data', (data) => { body += data; });
    req.on('end', async () => {
        const { name, arguments: { how, gate } } = JSON.parse(body).params;
        const [status, type, text] = answers[how];

        assert.equal(name, 'count');

        if (gate) {
            await new Promise((resolve) => { waiting.set(gate, resolve); });
        }

        res.writeHead(status, { 'Content-Type': type });
        res.end(text);
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => { backend.closeAllConnections(); backend.close(); });

const { port } = backend.address();
const server = await Fixture.use({
    workers: 1,
    kills: true,
    location: { mcp_route: 'count ' + (process.env.MCP_SERVER === 'apache'
                                       ? '/mcp-backend/fail' : '@fail'),
                mcp_close_after: 'off',
                nginx: 'access_log results.log result;' },
    http: {
        nginx: `log_format result '$mcp_name $mcp_outcome $mcp_result.';`,
        apache: `LogFormat "%{mcp-name}n %{mcp-outcome}n %{mcp-result}n." r
                 CustomLog results.log r`,
    },
    server: {
        nginx: `location @fail { proxy_pass http://127.0.0.1:${port}; }`,
        apache: `<Location "/mcp-backend/fail">
                     ProxyPass "http://127.0.0.1:${port}/"
                 </Location>`,
    },
});
const session = await server.session();

async function counters({ port } = server) {
    const ask = async (format) => (await request(port,
        { method: 'GET', path: `/status?format=${format}` })).text();
    const json = JSON.parse(await ask('json'));
    const text = await ask('prometheus');

    for (const [name, value] of Object.entries(json)) {
        if (name.startsWith('calls_') && name !== 'calls_active') {
            assert.match(text, new RegExp(`^mcp_${name}_total\\{zone="[^"]+"\\} ${value}$`, 'm'));
        }
    }

    return json;
}

// Waits until a log file matches; the line is written when its request is over.

async function holds(file, pattern, { prefix } = server) {
    for (;;) {
        const text = await fs.readFile(`${prefix}/${file}`, 'utf8')
            .catch(() => '');

        if (pattern.test(text)) {
            return;
        }

        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}

async function counted(what, field) {
    const before = await counters();

    await what();

    const now = await counters();

    for (const name of ['calls_failed', 'calls_tool_errors', 'calls_cancelled',
                        'calls_expired', 'calls_lost'])
    {
        assert.equal(now[name] - before[name], name === field ? 1 : 0, name);
    }
}


const CASES = [
    ['a result', 'ok', 'ok'],
    ['isError', 'ok', 'tool_error', 'calls_tool_errors'],
    ['HTTP 500', 'ok', 'tool_error', 'calls_tool_errors',
     /warn.* of "count" failed in its backend: HTTP 500/],
    ['a JSON-RPC error', 'error', 'rpc_error', 'calls_failed'],
    ['broken JSON', 'error', 'fault', 'calls_failed',
     /of "count" failed in its backend: broken JSON at byte 0: "debug: here\\/],
    ['JSON as text/html', 'ok', 'ok', ,
     /warn.*of "count" got from its backend JSON with .* text\/html/],
    ['a result without content', 'ok', 'ok', ,
     /warn.*of "count" got from its backend a result without/],
    ['a string as content', 'ok', 'ok', ,
     /warn.*"count" got from its backend a result whose/],
];

for (const [how, outcome, result, field, line] of CASES) {
    test(`backend responds with ${how}: "${result}" in logs and counters`,
         async () => {
        await counted(async () => {
            await session.follow(await session.call('count', { how }));
            await holds('results.log',
                        new RegExp(`count ${outcome} ${result}\\.`));
        }, field);

        if (line) {
            await holds('error.log', line);
        }

        await holds('error.log',
                    new RegExp(`of "count" ended: ${result}, after \\d+ ms`));
    });

    test(`backend responds in a stream with ${how}: "${result}" in logs and counters`,
         async () => {
        const gate = `stream ${how}`;

        await counted(async () => {
            const answer = await session.call('count', { how, gate });

            assert.equal(answer.sse, true);
            waiting.get(gate)();
            await session.follow(answer);
            await holds('results.log',
                        new RegExp(`count complete ${result}\\.`));
        }, field);
    });
}


test('cancelled call: "cancelled" in logs and counters', () => counted(async () => {
    const answer = await session.call('count', { how: 'a result',
                                                 gate: 'cancel' });

    await session.notify('notifications/cancelled', { requestId: answer.id });
    await answer.ended;
    await holds('results.log', /count complete cancelled\./);
    await holds('error.log', /of "count" ended: cancelled, after/);
}, 'calls_cancelled'));


test('rejected requests: the log has the reason', async () => {
    await session.get(undefined, { headers: { Origin: 'http://evil.example' } });
    await holds('error.log', /403: Forbidden: Origin not allowed: "http:\/\/evil/);
    await session.get(undefined, { headers: { 'Mcp-Session-Id': 'nonsense' } });
    await holds('error.log', /404: Session not found: the session id was not/);
    await session.get(undefined,
                      { headers: { 'Mcp-Protocol-Version': '1999-01-01' } });
    await holds('error.log', /400: Bad Request: Unsupported protocol version: "1999/);
    await holds('error.log', /session [\w-]{8} began, revision 2025-11-25/);

    assert.doesNotMatch(await server.log(), new RegExp(session.id));
});


test('process that runs a call is killed: "lost" in logs and counters', () => counted(async () => {
    const answer = await session.call('count', { how: 'a result',
                                                 gate: 'lost' });

    // the event from which the client resumes

    assert.notEqual((await answer.block()).id, undefined);

    for (const pid of await server.workers()) {
        process.kill(pid, 'SIGKILL');
    }

    const { response, resumed } = await session.follow(answer);

    assert.equal(resumed, 1);
    assert.equal(response.error.code, -32603);
    await holds('results.log', / complete lost\.$/m);
}, 'calls_lost'));


test('no client resumes within mcp_max_wait: "expired" in logs and counters',
     async () => {
    const hasty = await Fixture.use({
        location: { mcp_max_wait: '1s', mcp_close_after: 'off' } });
    const answer = await (await hasty.session()).call('count',
        { n: 2, gate: 'expired' });

    answer.close();
    await holds('error.log', /of "count" ended: expired, after \d+ ms/, hasty);

    const { calls_expired: expired, calls_cancelled: cancelled }
        = await counters(hasty);

    assert.deepEqual({ expired, cancelled }, { expired: 1, cancelled: 0 });
});
