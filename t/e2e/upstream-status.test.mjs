// SPDX-License-Identifier: Apache-2.0

// MCP servers as operators see them: the state of their sessions in the log,
// and their rows in JSON, in Prometheus' metrics and on the page.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import net from 'node:net';
import { describe, test } from 'node:test';
import { MPM } from './lib/apache.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { MODERN } from './lib/modern.mjs';
import { textOf } from './lib/session.mjs';
import { recording, reload, withSessions } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

const sessions = await withSessions();
const modern = await recording();
const dead = await freePort();

sessions.answer = () => ({ content: [{ type: 'text', text: 'done' }] });
modern.describe = () => ({ capabilities: { tools: {} }, ttlMs: 0,
    supportedVersions: [MODERN], cacheScope: 'public',
    resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo':
        { name: 'new "one"', version: '<2>' } } });

// Each server has an endpoint of its name. At the path of "broken", nginx and
// Apache themselves respond with HTTP 500: Apache because AuthType is missing.

const ports = { sessions: [sessions.port, 'session'],
                modern: [modern.port, 'modern'],
                found: [modern.port, 'auto'],
                dead: [dead, 'stateless'],
                broken: [modern.port, 'stateless', {
                    nginx: 'return 500;', apache: 'Require valid-user' }],
                queued: [modern.port, 'modern'] };
const sections = Object.entries(ports).map(([name, [port, form, more]]) => ({
    nginx: `
        location = /${name} {
            mcp mcp; mcp_backend @${name}; mcp_task_after off;
            access_log clients.log states;
        }
        location @${name} {
            ${more?.nginx ?? ''}
            mcp_upstream ${form};
            mcp_upstream_check ${name === 'sessions' ? '1s' : '1m'};
            include ${root}/examples/mcp_upstream_params;
            rewrite ^ /mcp? break;
            proxy_buffering off;
            proxy_pass http://127.0.0.1:${port};
            log_subrequest on;
            access_log backends.log states;
        }`,
    apache: `
        <Location "/${name}">
            SetHandler mcp
            MCPBackend /mcp-backend/${name}
            MCPTaskAfter off
        </Location>
        <Location "/mcp-backend/${name}">
            ${more?.apache ?? ''}
            MCPUpstream ${form}
            MCPUpstreamCheck ${name === 'sessions' ? '1s' : '1m'}
            SetEnv mcp-log on
            Include ${root}/examples/mcp_upstream.conf
            ProxyPass "http://127.0.0.1:${port}/mcp" retry=0
        </Location>`,
}));

const options = {
    workers: 1,
    http: {
        nginx: `log_format states '$mcp_method $mcp_upstream_state.';`,
        apache: `
            LogFormat "%{mcp-method}n %{mcp-upstream-state}n." states
            CustomLog backends.log states env=mcp-log
            CustomLog clients.log states env=!mcp-log`,
    },
    server: {
        nginx: sections.map((s) => s.nginx).join(''),
        apache: sections.map((s) => s.apache).join(''),
    },
};
const server = await Fixture.use(options);

const get = (format) => request(server.port, { method: 'GET',
    path: `/status?format=${format}` });
const text = async (format) => (await get(format)).text();
const row = async (name) => JSON.parse(await text('json')).upstreams
    .find(({ endpoint }) => endpoint.endsWith(`/${name}`));
const open = (name) => server.session({ send: (options) =>
    request(server.port, { path: `/${name}`, ...options }) });
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function until(what, good) {
    for (const end = Date.now() + 10000; ;) {
        const value = await what();

        if (good(value)) {
            return value;
        }

        assert.ok(Date.now() < end, `still: ${JSON.stringify(value)}`);
        await pause(20);
    }
}

// Checks the lines of a log that an action adds, after those of earlier
// requests. An unknown value is "-".

async function logged(file, expected, action) {
    const read = async () => (await fs.readFile(`${server.prefix}/${file}`,
        'utf8').catch(() => '')).split('\n').slice(0, -1);
    let before;

    do {
        before = (await read()).length;
        await pause(100);
    } while (before !== (await read()).length);

    await action();
    assert.deepEqual(await until(async () => (await read()).slice(before),
        (lines) => lines.length >= expected.length), expected);
}

// The value of a metric for the server of an endpoint, undefined if there is
// no sample.

async function metric(name, endpoint, labels = '') {
    const line = (await text('prometheus')).split('\n').find((sample) =>
        sample.startsWith(`mcp_upstream_${name}{`)
        && sample.includes(`/${endpoint}",`) && sample.includes(labels));

    return line && Number(line.split(' ').at(-1));
}


// In Apache, the server of an endpoint without a catalog has a row only after
// its first request.

const early = SERVER === 'nginx';


describe('server with sessions', () => {
    test('MCP server that has had no request yet: "up" is null in the status, the metric mcp_upstream_up is absent',
         async (t) => {
        if (!early) {
            t.skip('nginx only');
            return;
        }

        const { up, form, sessions: n, last_error: error } =
            await row('sessions');

        assert.deepEqual([up, form, n, error], [null, 'session', 0, null]);
        assert.equal(await metric('up', 'sessions'), undefined);
        assert.equal(await metric('sessions', 'sessions'), 0);
    });

    test('calls at an MCP server with sessions: the logs have the states "init", "hit", "again", the status counts 3 initializations',
         async () => {
        const it = await open('sessions');
        const call = async () => assert.equal(textOf(await it.tool('add')),
                                              'done');

        await until(() => sessions.sessions.size, (n) => n === 0);
        await logged('clients.log', ['tools/call init.', 'tools/call hit.'],
                     async () => { await call(); await call(); });

        assert.equal(await metric('sessions', 'sessions'), 1);
        sessions.sessions.clear();
        await logged('backends.log', ['tools/call again.'], call);
        await logged('clients.log', ['tools/call hit.'], call);

        const { server: name, version, revision, up, upstream, sessions: n,
                initializations } = await row('sessions');

        assert.deepEqual([name, version, revision, up, n],
                         ['sessions', '1', '2025-06-18', true, 1]);
        assert.equal(upstream, SERVER === 'apache' ? '/mcp-backend/sessions'
                                                   : '@sessions');
        assert.deepEqual(initializations, { ok: 3, failed: 0 });
        assert.equal(await metric('up', 'sessions'), 1);
        assert.equal(await metric('initializations_total', 'sessions',
                                  'result="ok"'), 3);
    });

    test('client ends its session: the status counts one session less at the MCP server',
         async () => {
        const { sessions: before } = await row('sessions');
        const it = await open('sessions');

        await it.tool('add');
        assert.equal((await row('sessions')).sessions, before + 1);
        await it.delete();
        assert.equal((await row('sessions')).sessions, before);
    });

    test('reload: the status keeps the row of an MCP server', async () => {
        const it = await open('sessions');

        await it.tool('add');

        const before = await row('sessions');

        await reload(server);
        await it.tool('add');
        assert.deepEqual(await row('sessions'), before);
    });

    test('MCP server refuses initialize: the status counts a failed initialization, shows the server as up',
         async () => {
        const it = await open('sessions');
        const { describe: usual } = sessions;
        const { initializations: { failed } } = await row('sessions');

        try {
            sessions.describe = () => ({ error: { code: -32603,
                message: 'not today' } });

            const { response } = await it.follow(await it.call('add'));

            assert.equal(response.error.code, -32603);
        } finally {
            sessions.describe = usual;
        }

        const after = await row('sessions');

        assert.equal(after.initializations.failed, failed + 1);
        assert.equal(after.up, true);
        assert.equal(after.last_error.reason, 'upstream_session');
        assert.match(after.last_error.detail, /responded to initialize with an error/);
        assert.ok(Math.abs(after.last_error.at - Date.now()) < 60000);
    });

    test('MCP server is down: clients get the old description, the status shows the server as down',
         async () => {
        const { describe: usual, reply } = sessions;
        const it = await open('sessions');

        await it.tool('add');
        await pause(1100);

        try {
            sessions.reply = ({ res }) => { res.socket.destroy(); };
            sessions.describe = sessions.reply;
            await logged('clients.log', ['initialize stale.',
                                         'notifications/initialized -.'],
                         () => open('sessions'));

            const { up, last_error: error } = await row('sessions');

            assert.equal(up, false);
            assert.equal(error.reason, 'backend_failed');
            assert.equal(await metric('up', 'sessions'), 0);
            assert.ok((await text('html')).includes('<td>down</td>'));
        } finally {
            Object.assign(sessions, { describe: usual, reply });
        }

        await it.tool('add');
        assert.equal((await row('sessions')).up, true);
        assert.equal(await metric('up', 'sessions'), 1);
    });
});


describe('server of 2026-07-28', () => {
    test('cached list of an MCP server: the access log has the state "cached"',
         async () => {
        const it = await open('modern');
        const { reply } = modern;

        modern.reply = () => ({ resultType: 'complete', tools: [], ttlMs: 0,
                                cacheScope: 'public' });

        try {
            await logged('clients.log', ['tools/list -.', 'tools/list cached.'],
                         async () => {
                await it.response('tools/list');
                await it.response('tools/list');
            });
        } finally {
            modern.reply = reply;
        }
    });

    test('MCP server describes itself: the status has its name, version and revision',
         async () => {
        const it = await open('modern');

        modern.reply = () => ({ content: [], resultType: 'complete' });
        await logged('clients.log', ['tools/call -.'], () => it.tool('add'));

        const { server: name, version, revision, up, sessions: n,
                initializations } = await row('modern');

        assert.deepEqual([name, version, revision, up, n],
                         ['new "one"', '<2>', MODERN, true, 0]);
        assert.deepEqual(initializations, { ok: 0, failed: 0 });
        assert.ok((await text('html')).includes(
            `<td>${MODERN}</td><td>new "one" &lt;2&gt;</td>`));
    });

    test('mcp_upstream auto: the status shows the form of the MCP server that was detected',
         async () => {
        assert.equal((await row('found'))?.form, early ? 'auto' : undefined);
        await open('found');

        const { form, revision } = await row('found');

        assert.deepEqual([form, revision], ['modern', MODERN]);
    });

    for (const [name, reply, up, reason] of [
        ['invalid JSON', () => ({ type: 'application/json', text: '{"a"' }),
         false, 'backend_output'],
        ['HTTP 500', () => ({ status: 500, type: 'text/plain', text: 'no' }),
         false, 'backend_status'],
        ['HTTP 401', () => ({ status: 401, type: 'text/plain', text: 'no' }),
         true, 'upstream_auth'],
    ]) {
        test(`MCP server responds with ${name}: the status shows this error`,
             async () => {
            const it = await open('modern');

            modern.reply = reply;
            await it.call('add').then((answer) => it.follow(answer));

            const after = await row('modern');

            assert.deepEqual([after.up, after.last_error.reason],
                             [up, reason]);
            modern.reply = () => ({ content: [], resultType: 'complete' });
            await it.tool('add');
            assert.equal((await row('modern')).up, true);
        });
    }
});


describe('server without a description', () => {
    const initialize = (name) => request(server.port, {
        path: `/${name}`, body: JSON.stringify({ jsonrpc: '2.0', id: 1,
            method: 'initialize', params: { protocolVersion: '2025-11-25',
                capabilities: {}, clientInfo: { name: 'x', version: '1' } } }),
        headers: { 'Content-Type': 'application/json',
                   Accept: 'application/json, text/event-stream' },
    });

    test('nginx or Apache itself responds with HTTP 500 at the path of an MCP server: the status counts no failure of the MCP server',
         async () => {
        assert.equal((await initialize('broken')).status, 503);
        assert.match(await server.log(), /server itself answered with an error/);

        const { up, last_error: error, initializations } = await row('broken');

        assert.deepEqual([up, error, initializations],
                         [null, null, { ok: 0, failed: 0 }]);
        assert.equal(await metric('up', 'broken'), undefined);
    });

    test('MCP server refuses connections: initialize gets 503, the status shows the server as down',
         async () => {
        assert.equal((await initialize('dead')).status, 503);

        const { up, last_error: error, initializations } = await row('dead');

        assert.deepEqual([up, error.reason, initializations],
            [false, 'backend_failed', { ok: 0, failed: 1 }]);
        assert.equal(await metric('initializations_total', 'dead',
                                  'result="failed"'), 1);
    });
});


test('nginx has no free connection for a call: the status still shows the MCP server as up',
     async (t) => {
    if (SERVER !== 'nginx') {
        t.skip('nginx only');
        return;
    }

    const small = await Fixture.use({ ...options,
        env: { FIXTURE_CONNECTIONS: '128' },
        allow: /worker_connections are not enough/ });
    const send = (more) => request(small.port, { path: '/sessions', ...more });
    const it = await small.session({ send });

    await it.tool('add');

    // The head of the call is sent first, and then as many incomplete requests
    // as nginx has connections.

    const body = JSON.stringify({ jsonrpc: '2.0', id: 'last',
                                  method: 'tools/call',
                                  params: { name: 'add', arguments: {} } });
    const headers = { Host: 'localhost', Connection: 'close',
                      'Content-Type': 'application/json',
                      'Content-Length': body.length, ...it.headers() };
    const connect = async (text) => {
        const socket = net.connect(small.port, '127.0.0.1');

        socket.on('error', () => {});
        socket.setEncoding('utf8');
        socket.write(text);
        await pause(5);

        return socket;
    };
    const head = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const call = await connect(`POST /sessions HTTP/1.1\r\n${head}\r\n`);
    const others = [];

    for (let n = 0; n < 160; n++) {
        others.push(await connect('GET / HTTP/1.1\r\nHost: '));
    }

    await until(() => others.filter((socket) => socket.closed).length,
                (n) => n > 0);
    call.write(body);

    let answer = '';

    for await (const text of call) {
        answer += text;
    }

    others.forEach((socket) => { socket.destroy(); });
    assert.match(answer, /"code":-32603/);
    assert.match(await small.log(), /no free connection/);

    const { upstreams } = JSON.parse(await (await request(small.port, {
        method: 'GET', path: '/status?format=json' })).text());
    const { up, last_error: error } = upstreams
        .find(({ endpoint }) => endpoint.endsWith('/sessions'));

    assert.deepEqual([up, error], [true, null]);
});


// Apache runs seven calls at once: six on threads of clients' requests, and one
// on its own thread.

test('Apache, a call times out while it waits for a thread: the status still shows the MCP server as up', {
    skip: (SERVER !== 'apache' && 'Apache only')
          || (MPM === 'prefork' && 'a process has one thread'),
}, async () => {
    const small = await Fixture.use({ ...options, threads: 8,
        http: { apache: `${options.http.apache}
                         MCPThreads 1
                         MCPQuotaStreams off` },
        server: { apache: `${options.server.apache}
                           <Location "/queued">
                               MCPCallTimeout 4s
                           </Location>` } });
    const [it, slow] = await Promise.all(['queued', 'modern'].map((name) =>
        small.session({ send: (more) => request(small.port,
            { path: `/${name}`, ...more }) })));
    const gate = Promise.withResolvers();
    const result = { content: [], resultType: 'complete' };
    const { reply } = modern;
    let held = 0;

    modern.reply = ({ body: { params } }) => {
        if (params.name !== 'slow') {
            return result;
        }

        held++;

        return gate.promise;
    };

    try {
        await it.tool('add');

        const calls = Array.from({ length: 7 }, () => slow.tool('slow'));

        await until(() => held, (n) => n === 7);

        const { response } = await it.follow(await it.call('add'));

        assert.match(response.error.message, /timed out/);

        const { upstreams } = JSON.parse(await (await request(small.port, {
            method: 'GET', path: '/status?format=json' })).text());
        const { up, last_error: error } = upstreams
            .find(({ endpoint }) => endpoint.endsWith('/queued'));

        assert.deepEqual([up, error], [true, null]);
        gate.resolve(result);
        await Promise.all(calls);
    } finally {
        gate.resolve(result);
        modern.reply = reply;
    }
});


test('metrics of MCP servers: promtool accepts them', async () => {
    const metrics = await text('prometheus');

    assert.equal(metrics.match(/^mcp_upstream_up\{/gm).length, 4);
    execFileSync('promtool', ['check', 'metrics'], { input: metrics });
});


test('alerts on MCP servers in examples/prometheus/alerts.yml: use only metrics that exist',
     async () => {
    const alerts = await fs.readFile(`${root}/examples/prometheus/alerts.yml`,
                                     'utf8');
    const named = alerts.match(/\bmcp_upstream_\w+/g);
    const metrics = await text('prometheus');

    assert.ok(named.length > 1);
    assert.deepEqual(named.filter((name) => !metrics.includes(`\n${name}{`)), []);
});
