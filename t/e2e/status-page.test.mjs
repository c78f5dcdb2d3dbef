// SPDX-License-Identifier: Apache-2.0

// The status page in Chromium: 10,000 streams (STATUS_STREAMS), light, dark, on
// a phone, with a full zone, and without scripts. Screenshots go to
// build/screens; STATUS_PICTURE=FILE writes the picture of the README.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { SANITIZED, listening, many, sessions, settle } from './lib/load.mjs';
import { Modern } from './lib/modern.mjs';
import { withSessions } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

// Each connection needs a file here and one at the worker.

const limit = Number(/^Max open files +\S+ +(\d+)/m.exec(
    await fs.readFile('/proc/self/limits', 'utf8'))?.[1] ?? 4096);
const n = Math.min(Number(process.env.STATUS_STREAMS
                          ?? (SANITIZED ? 500 : 10000)),
                   Math.floor(limit / 1.25) - 512);
const threads = SERVER === 'apache'
    && (process.env.FIXTURE_MPM ?? 'event') !== 'event'
    && 'an idle stream holds a thread with this MPM';

const HOSTILE = '<img src=x onerror="document.title=1">';
const answers = {
    ok: '{"content":[]}',
    tool_error: '{"content":[],"isError":true}',
    rpc_error: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
    fault: 'Warning: undefined variable',
};


// --- a backend whose answer is chosen by the call's arguments; "hang" never
// ends

const backend = http.createServer((req, res) => {
    let body = '';

    req.on('data', (data) => { body += data; });
    req.on('end', () => {
        const { how = 'ok' } = JSON.parse(body).params.arguments ?? {};

        if (how === 'hang') {
            return;
        }

        if (how === 'large') {
            res.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
            res.write(`${JSON.stringify({ jsonrpc: '2.0',
                method: 'notifications/progress', params: { progress: 1,
                    progressToken: 'p', message: 'x'.repeat(60 * 1024) },
            })}\n`);
            return;
        }

        res.writeHead(200, { 'Content-Type': 'application/json' });
        res.end(answers[how]);
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => { backend.closeAllConnections(); backend.close(); });

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-page-'));
const catalog = path.join(directory, 'catalog.json');
const screens = path.join(root, 'build/screens');

await fs.mkdir(screens, { recursive: true });
await fs.chmod(directory, 0o755);
after(() => fs.rm(directory, { recursive: true }));

await fs.writeFile(catalog, JSON.stringify({
    tools: ['search', 'read_file', 'build', 'deploy', 'translate']
        .map((name) => ({ name, inputSchema: { type: 'object' } })),
    prompts: [{ name: HOSTILE }] }));

const browser = await Browser.use();

await browser.watch();

process.env.FIXTURE_LOG ??= 'warn';
process.env.FIXTURE_CONNECTIONS = String(Math.ceil(n * 1.25) + 512);

const { port } = backend.address();

// The browser leaves the page before its server is stopped.

function use(options) {
    after(async () => {
        await browser.open('about:blank');
        await browser.until('location.href === "about:blank"');
        browser.complaints.length = browser.requested.length = 0;
    });

    return Fixture.use({
        workers: 1,
        location: { mcp_close_after: 'off', mcp_keepalive: 'off',
                    mcp_quota_key: 'off', mcp_max_wait: '1h' },
        server: {
            nginx: `
                location = /tools {
                    mcp mcp; mcp_catalog ${catalog}; mcp_backend @page;
                    mcp_principal $http_x_user; mcp_stream_after 100ms;
                    mcp_quota_key off; mcp_close_after off; mcp_stream_buffer 8m;
                }
                location @page {
                    include ${root}/examples/mcp_proxy_params;
                    rewrite ^ /? break;
                    proxy_buffering off;
                    proxy_pass http://127.0.0.1:${port};
                }
                location = /details { mcp_status mcp details; }`,
            apache: `
                <Location "/tools">
                    SetHandler mcp
                    MCPCatalog ${catalog}
                    MCPBackend /mcp-backend/page
                    MCPPrincipal "%{req:X-User}"
                    MCPStreamAfter 100ms
                    MCPQuotaKey off
                    MCPCloseAfter off
                    MCPStreamBuffer 8m
                </Location>
                <Location "/mcp-backend/page">
                    Include ${root}/examples/mcp_proxy.conf
                    ProxyPass "http://127.0.0.1:${port}/" flushpackets=on
                </Location>
                <Location "/details">
                    SetHandler mcp-status-details
                </Location>`,
        },
        ...options,
    });
}


// --- requests

function call(server, name, how, user = 'alice', method = 'tools/call') {
    return new Modern(server, {
        unchecked: true,
        headers: { 'X-User': user },
        send: (options) => request(server.port, { path: '/tools',
                                                  ...options }),
    }).request(method, { name, arguments: { how } },
               { meta: { progressToken: 'p' } });
}

const get = (server, what, headers = {}) => request(server.port, {
    method: 'GET', path: what, headers });

const json = async (server) => (await get(server, '/details?format=json'))
    .json();

async function listen(server) {
    const ids = await sessions(server.port, n);
    const sockets = [];

    after(() => sockets.forEach((socket) => socket.destroy()));

    await many(n, 64, (i) => new Promise((resolve, reject) => {
        sockets.push(listening(server.port, ids[i]));
        sockets.at(-1).once('data', resolve).on('error', reject);
    }));
}


// --- the page

const text = (what) => browser.value(`document.querySelector('${what}')
    .innerText`);
const shown = () => browser.until(
    '!document.getElementById("live").hidden');
const rows = (id) => browser.value(`[...document.querySelectorAll(
    '#${id} tbody tr')].map((row) => [...row.cells].map((cell) =>
        cell.textContent))`);

const window = (width, height, mobile = false) => browser.send(
    'Emulation.setDeviceMetricsOverride',
    { width, height, mobile, deviceScaleFactor: mobile ? 2 : 1 });
const theme = (value) => browser.send('Emulation.setEmulatedMedia',
    { features: [{ name: 'prefers-color-scheme', value }] });
const brightness = () => browser.value(`getComputedStyle(document.body)
    .backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => +a + +b, 0)`);

async function screen(name) {
    const picture = await browser.screen();

    await fs.writeFile(`${screens}/status-${SERVER}-${name}.png`, picture);

    return picture;
}

const fits = () => browser.value(
    'document.documentElement.scrollWidth <= innerWidth');

function assertQuiet(server) {
    const own = `http://127.0.0.1:${server.port}/`;

    assert.deepEqual(browser.complaints, []);
    assert.deepEqual(browser.requested.filter((url) => !url.startsWith(own)
                                              && !url.startsWith('data:')),
                     []);
}


test('status page in HTML or in another format: only HTML has security headers', { skip: threads },
     async () => {
    const server = await use({ zone: '4m' });
    const page = await get(server, '/status', { Accept: 'text/html' });
    const body = await page.text();

    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    assert.match(page.headers['content-security-policy'],
        new RegExp('^default-src \'none\'; connect-src \'self\'; '
            + 'img-src data:; style-src \'sha256-[\\w+/]{43}=\'; '
            + 'script-src \'sha256-[\\w+/]{43}=\'; base-uri \'none\'; '
            + 'form-action \'none\'; frame-ancestors \'none\'; '
            + 'trusted-types \'none\'; '
            + 'require-trusted-types-for \'script\'$'));
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    assert.equal(page.headers['cache-control'], 'no-store');
    assert.ok(body.includes('&lt;img src=x onerror='));
    assert.ok(!body.includes('<img'));

    const head = await request(server.port, { method: 'HEAD',
        path: '/status?format=html' });

    assert.equal(head.headers['content-security-policy'],
                 page.headers['content-security-policy']);

    for (const format of ['json', 'prometheus']) {
        const { headers } = await get(server, `/status?format=${format}`);

        assert.equal(headers['content-security-policy'], undefined);
        assert.equal(headers['cache-control'], undefined);
    }
});


test(`status page with ${n} streams: shows the expected figures and tables, `
     + 'in light and dark mode, and fits a phone',
     { skip: threads }, async (t) => {
    const server = await use({ zone: '128m' });
    const began = Date.now();

    await listen(server);
    t.diagnostic(`${n} streams open after ${Date.now() - began} ms`);

    for (const [tool, how, times] of [
        ['search', 'ok', 48], ['read_file', 'ok', 31], ['translate', 'ok', 12],
        ['translate', 'tool_error', 2], ['build', 'ok', 7],
        ['build', 'rpc_error', 1], ['deploy', 'fault', 3],
    ]) {
        for (let i = 0; i < times; i++) {
            await (await call(server, tool, how)).ended;
        }
    }

    const open = [await call(server, 'build', 'hang', 'bob'),
                  await call(server, 'deploy', 'hang', 'carol')];
    const status = await settle(async () => {
        const { listeners, running, recent } = await json(server);

        return { listeners, running: running.length, recent: recent.length };
    }, { running: 2, recent: 6 });

    assert.deepEqual(status, { listeners: n, running: 2, recent: 6 });

    // light

    await window(1280, 1000);
    await theme('light');
    await browser.open(`http://127.0.0.1:${server.port}/details`);
    await shown();

    assert.equal(await text('#verdict'), 'Working, with warnings');
    assert.match(await text('#alerts'),
                 /6 requests failed in the last 15 min/);
    assert.match(await text('#room'),
                 /^\d[\d.]* [KM]B of 1\d\d MB in use \(\d+ %\)$/);
    assert.match(await text('#who'),
                 /^(nginx|Apache)\/[\d.]+ · module [\w.+-]+ · zone /);

    const figures = Object.fromEntries(await browser.value(
        `[...document.querySelectorAll('#numbers div')].map((div) =>
            [...div.children].map((child) => child.textContent))`));

    assert.equal(figures['Listeners'], n.toLocaleString('en'));
    assert.equal(figures['Calls running'], '2');

    const tools = await rows('tools');

    assert.equal(tools[0][0], 'search');
    assert.deepEqual(tools[0].slice(2, 11),
                     ['0', '48', '48', '0', '0', '0', '0', '0', '0']);

    const [, , live, , ok, , , faults] = tools.find(([name]) =>
        name === 'deploy');

    assert.deepEqual([live, ok, faults], ['1', '0', '3']);

    const running = await rows('running');

    assert.deepEqual(running.map((row) => row.slice(1, 3)).sort(),
                     [['build', 'bob'], ['deploy', 'carol']]);

    const recent = await rows('recent');

    assert.equal(recent.length, 6);
    assert.deepEqual([recent[0][1], recent[0][2], ...recent[0].slice(4)],
        ['deploy', 'alice', 'fault',
         'The backend\'s response was malformed: broken JSON at '
                      + 'byte 0: "Warning: undefined variable"',
         'Read the reason in the error log; the backend must not write '
         + 'debug output to standard output']);

    const light = await brightness();
    const picture = await screen('light');

    if (process.env.STATUS_PICTURE) {
        await fs.writeFile(process.env.STATUS_PICTURE, picture);
    }

    // tools without calls are shown on request

    assert.equal(tools.length, 5);
    await browser.value(`document.querySelector('#idle button').click()`);
    assert.ok((await rows('tools')).length > 20);

    // sorted by name with the keyboard; the order stays

    await browser.value(`document.querySelector('#tools button').focus()`);
    await browser.send('Input.dispatchKeyEvent', { type: 'keyDown',
        key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 });

    const names = (await rows('tools')).map(([name]) => name);

    assert.deepEqual(names, names.toSorted());
    assert.equal(await browser.value(
        `document.querySelector('#tools th').ariaSort`), 'ascending');

    // a new call appears without a reload

    await (await call(server, 'search', 'ok')).ended;
    await browser.until(`[...document.querySelectorAll('#tools tr')].some(
        ({ cells }) => cells[0].textContent === 'search'
                       && cells[3].textContent === '49')`);
    assert.equal(await browser.value(
        `document.querySelector('#tools th').ariaSort`), 'ascending');
    assert.equal(await browser.value('document.activeElement.innerText'),
                 'Name');

    // dark, then on a phone

    await theme('dark');
    assert.ok(await brightness() < light / 3);
    await screen('dark');
    await window(390, 844, true);
    assert.ok(await fits());
    await screen('phone');
    assertQuiet(server);

    // names are shown only with details

    await window(1280, 1000);
    await browser.open(`http://127.0.0.1:${server.port}/status`);
    await browser.until('location.pathname === "/status"');
    await shown();
    assert.deepEqual((await rows('running')).map(([, what]) => what),
                     ['tool', 'tool']);
    assert.doesNotMatch(await text('#live'), /alice|bob|carol/);
    assertQuiet(server);

    open.forEach((answer) => answer.close());
});


test('status page with an MCP server: shows its state, also when the server is down',
     { skip: threads }, async () => {
    const upstream = await withSessions();
    const server = await use({
        zone: '4m', without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
        location: { mcp_backend: 'server' },
        backends: { server: { http: upstream.port, upstream: 'session' } },
    });
    const it = await server.session();
    const row = async () => (await rows('upstreams'))
        .find(([, endpoint]) => endpoint.endsWith('/mcp'));
    const { describe } = upstream;

    upstream.describe = (asked) => ({ ...describe(asked),
        serverInfo: { name: HOSTILE, version: '1' } });

    await it.tool('add');
    await window(1280, 1000);
    await browser.open(`http://127.0.0.1:${server.port}/status`);
    await browser.until(`location.port === '${server.port}'`);
    await shown();
    assert.deepEqual((await row()).slice(2),
        ['up', 'session', '2025-06-18', `${HOSTILE} 1`, '1', '2', '0', '']);
    assert.equal(await text('#verdict'), 'All is well');
    assert.equal(await browser.value(
        'document.querySelectorAll("img").length'), 0);
    await screen('servers');

    upstream.reply = ({ res }) => { res.socket.destroy(); };
    await (await it.call('add')).ended;
    await browser.until(`document.querySelector('#upstreams .bad')`);
    assert.equal((await row())[2], 'down');
    assert.match((await row()).at(-1), / ago: /);
    assert.match(await text('#alerts'), /The MCP server .*server does not respond/);
    await window(390, 844, true);
    assert.ok(await fits());
    await window(1280, 1000);
    assertQuiet(server);
});


test('status page in a hidden tab: sends no requests', { skip: threads },
     async () => {
    const server = await use({ zone: '4m' });
    const hide = (hidden) => browser.value(`Object.defineProperty(document,
        'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);

    await browser.open(`http://127.0.0.1:${server.port}/status`);
    await browser.until(`location.port === '${server.port}'`);
    await shown();
    await hide(true);

    // one request may be under way

    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    browser.requested.length = 0;
    await new Promise((resolve) => { setTimeout(resolve, 5000); });
    assert.deepEqual(browser.requested, []);
    await hide(false);

    for (const end = Date.now() + 20000; browser.requested.length === 0;) {
        assert.ok(Date.now() < end, 'it does not ask again');
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }

    assertQuiet(server);
});


test('status page, full zone, hostile tool name: shows alerts, no injected HTML',
     { skip: threads }, async () => {
    const server = await use({ zone: '4m' });
    const open = [];

    await theme('light');

    for (let i = 0; (await json(server)).refused_full === 0; i++) {
        assert.ok(i < 200, 'the zone is never full');
        open.push(await call(server, HOSTILE, 'large', HOSTILE,
                             'prompts/get'));
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }

    await browser.open(`http://127.0.0.1:${server.port}/details`);
    await browser.until(`location.port === '${server.port}'`);
    await shown();
    assert.equal(await text('#verdict'), 'Needs attention now');
    assert.match(await text('#alerts'), /^The zone is (nearly|at times) full/);
    assert.deepEqual((await rows('tools')).map(([name]) => name), [HOSTILE]);
    assert.equal(await browser.value(
        'document.querySelectorAll("img").length'), 0);
    await screen('full');
    assertQuiet(server);

    // without scripts

    await browser.send('Emulation.setScriptExecutionDisabled', { value: true });
    await browser.send('Page.reload');
    await browser.until(`document.getElementById('live')?.hidden
                         && document.readyState === 'complete'`);

    const plain = await text('#plain');

    assert.match(plain, /The zone is (nearly full|filling up|has room)/);
    assert.match(plain, /Requests refused because the zone was full\s+[1-9]/);
    assert.ok(plain.includes(HOSTILE));
    assert.equal(await browser.value(
        'document.querySelectorAll("img").length'), 0);
    assert.notEqual(await browser.value('document.title'), '1');
    await screen('plain');
    await browser.send('Emulation.setScriptExecutionDisabled',
                       { value: false });
    assertQuiet(server);

    open.forEach((answer) => answer.close());
});


test('server does not answer: the status page shows this, then recovers',
     { skip: threads }, async () => {
    const server = await use({ zone: '4m' });
    const offline = (value) => browser.send('Network.emulateNetworkConditions',
        { offline: value, latency: 0, downloadThroughput: -1,
          uploadThroughput: -1 });

    await browser.open(`http://127.0.0.1:${server.port}/status`);
    await browser.until(`location.port === '${server.port}'`);
    await shown();
    assert.equal(await text('#verdict'), 'All is well');
    await offline(true);
    await browser.until(`document.getElementById('verdict').textContent
        .startsWith('The server does not answer')`);
    assert.match(await text('#alerts'), /^The values below are from /);
    await offline(false);
    await browser.until(`document.getElementById('verdict').textContent
        === 'All is well'`);
});
