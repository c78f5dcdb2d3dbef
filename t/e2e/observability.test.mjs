// SPDX-License-Identifier: Apache-2.0

// Calls as operators see them: each $mcp_result in the log line of the call, in
// JSON, in Prometheus' metrics and on the page; trace context at the backend; a
// killed process.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { request } from './lib/wire.mjs';

const RESULTS = ['ok', 'tool_error', 'rpc_error', 'fault', 'lost', 'cancelled',
                 'expired'];
const answers = {
    ok: '{"content":[]}',
    tool_error: '{"content":[],"isError":true}',
    rpc_error: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
    fault: 'debug: here',
};

// A backend whose answer is chosen by the call's arguments; a gate delays it.

const gates = new Map();
const heads = [];
const backend = http.createServer((req, res) => {
    let body = '';

    req.on('data', (data) => { body += data; });
    req.on('end', async () => {
        const { how = 'ok', gate } = JSON.parse(body).params.arguments ?? {};

        heads.push(req.headers);

        if (gate) {
            await new Promise((resolve) => { gates.set(gate, resolve); });
        }

        res.writeHead(200, { 'Content-Type': 'application/json' });
        res.end(answers[how]);
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => { backend.closeAllConnections(); backend.close(); });

// Three endpoints with 50 tools each; nothing listens at the backend of "dead".

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-observe-'));
const catalog = path.join(directory, 'catalog.json');

after(() => fs.rm(directory, { recursive: true }));
await fs.writeFile(catalog, JSON.stringify({
    tools: Array.from({ length: 50 }, (_, i) => ({
        name: `tool-${i}`, inputSchema: { type: 'object' } })),
    prompts: [{ name: 'tool-0' }],
}));

const { port } = backend.address();
const endpoints = (name) => ({
    nginx: `location = /${name} {
                mcp mcp; mcp_catalog ${catalog};
                mcp_backend ${name === 'dead' ? '@dead' : '@watched'};
                mcp_stream_after 200ms;
                ${name === 'hasty' ? 'mcp_max_wait 1s;' : ''}
                mcp_principal $http_x_user;
                access_log requests.log request;
            }`,
    apache: `<Location "/${name}">
                 SetHandler mcp
                 MCPCatalog ${catalog}
                 MCPBackend /mcp-backend/${name === 'dead' ? 'dead' : 'watched'}
                 MCPStreamAfter 200ms
                 ${name === 'hasty' ? 'MCPMaxWait 1s' : ''}
                 MCPPrincipal "%{req:X-User}"
             </Location>`,
});
const server = await Fixture.use({
    workers: 2,
    kills: true,
    http: {
        nginx: `
            log_format mcp_audit escape=json '{"call":"$mcp_call",'
                '"tool":"$mcp_name","result":"$mcp_result",'
                '"principal":"$mcp_principal","seconds":"$request_time",'
                '"backend":"$upstream_response_time",'
                '"trace":"$mcp_traceparent","arguments":"$mcp_arguments"}';
            log_format request '$mcp_call $mcp_result $mcp_traceparent.';`,
        apache: `
            LogFormat "{\\"call\\":\\"%{mcp-call}n\\",\\"tool\\":\\"%{mcp-name}n\\",\
\\"result\\":\\"%{mcp-result}n\\",\\"principal\\":\\"%{mcp-principal}n\\",\
\\"seconds\\":\\"%{ms}T\\",\\"backend\\":\\"%{ms}T\\",\
\\"trace\\":\\"%{mcp-traceparent}n\\",\\"arguments\\":\\"%{mcp-arguments}n\\"}" audit
            LogFormat "%{mcp-call}n %{mcp-result}n %{mcp-traceparent}n." request
            CustomLog audit.log audit env=mcp-log
            CustomLog requests.log request env=!mcp-log`,
    },
    server: {
        nginx: `
            location @watched {
                include ${root}/examples/mcp_proxy_params;
                rewrite ^ /? break;
                proxy_pass http://127.0.0.1:${port};
                log_subrequest on;
                access_log audit.log mcp_audit;
            }
            location @dead {
                include ${root}/examples/mcp_proxy_params;
                proxy_pass http://127.0.0.1:1;
            }
            location = /details { mcp_status mcp details; }
            ${endpoints('first').nginx} ${endpoints('hasty').nginx}
            ${endpoints('dead').nginx}`,
        apache: `
            <Location "/mcp-backend/watched">
                SetEnv mcp-log arguments
                Include ${root}/examples/mcp_proxy.conf
                ProxyPass "http://127.0.0.1:${port}/"
            </Location>
            <Location "/mcp-backend/dead">
                Include ${root}/examples/mcp_proxy.conf
                ProxyPass "http://127.0.0.1:1/"
            </Location>
            <Location "/details">
                SetHandler mcp-status-details
            </Location>
            ${endpoints('first').apache}
            ${endpoints('hasty').apache}
            ${endpoints('dead').apache}`,
    },
});

async function get(what) {
    return request(server.port, { method: 'GET', path: what });
}

const json = async (page = '/details?format=json') => (await get(page)).json();
const metrics = async () => (await get('/status?format=prometheus')).text();

async function row(tool, endpoint = '/first') {
    const { tools } = await json();

    return tools.find((t) => t.tool === tool && t.kind === 'tool'
                             && t.endpoint.endsWith(endpoint));
}

async function until(what, good) {
    for (const end = Date.now() + 20000; ;) {
        const value = await what();

        if (good(value)) {
            return value;
        }

        assert.ok(Date.now() < end, `still: ${JSON.stringify(value)}`);
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
}

async function lines(file) {
    return (await fs.readFile(`${server.prefix}/${file}`, 'utf8')
        .catch(() => '')).split('\n').slice(0, -1);
}

// Returns the log line of a call. Its arguments are JSON in a JSON string, in
// which httpd escapes more bytes.

async function line(tool, result) {
    const [text] = await until(async () => (await lines('audit.log'))
        .filter((l) => l.includes(`"tool":"${tool}"`)
                       && l.includes(`"result":"${result}"`)),
    (found) => found.length > 0);

    return text;
}

const modern = (endpoint = 'first', user = 'alice') => new Modern(server, {
    unchecked: true,
    headers: { 'X-User': user },
    send: (options) => request(server.port, { path: `/${endpoint}`,
                                              ...options }),
});
let next = 0;


// Returns the numbers of results of a tool from the status page without its
// script.

async function shown(tool, endpoint) {
    const page = await (await get('/status?format=html')).text();
    const [, cells] = new RegExp(`<tr><td>${tool}</td><td>tool</td>`
        + `<td>[^<]*${endpoint}</td><td class="n">\\d+</td>`
        + '((?:<td class="n">\\d+</td>){7})').exec(page);
    const names = [...page.matchAll(/<th class="n">(\w+)<\/th>/g)].slice(1)
        .map(([, name]) => name);

    return Object.fromEntries([...cells.matchAll(/\d+/g)].map(([count], i) =>
        [names[i], Number(count)]));
}

async function seen(tool, result, { endpoint = '/first', inLog = true } = {}) {
    const { results } = await until(() => row(tool, endpoint),
                                    (r) => r.results[result] === 1);

    for (const name of RESULTS) {
        assert.equal(results[name], name === result ? 1 : 0, name);
    }

    assert.deepEqual(await shown(tool, endpoint), results);

    assert.match(await metrics(), new RegExp(
        `^mcp_tool_calls_total\\{zone="[^"]+",endpoint="[^"]*${endpoint}",kind="tool",`
        + `tool="${tool}",result="${result}"\\} 1$`, 'm'));

    if (inLog) {
        const text = await line(tool, result);

        assert.match(text, /"principal":"alice"/);
        assert.match(text, /"seconds":"[\d.]+"/);
        assert.match(text, /"backend":"[-\d.]*"/);
        assert.match(text, /"call":"[\w-]{8}"/);
    }

    if (result !== 'ok') {
        const { recent } = await json();
        const failure = recent.find((f) => f.tool === tool);

        assert.equal(failure.result, result);
        assert.equal(failure.principal, 'alice');
        assert.ok(failure.reason && failure.text && failure.remedy);
    }
}


for (const how of Object.keys(answers)) {
    test(`call with result ${how}: the log, the status and the metrics show this result`,
         async () => {
        const tool = `tool-${next++}`;

        await modern().request('tools/call', { name: tool,
                                               arguments: { how } });
        await seen(tool, how);
        assert.match(await line(tool, how), /"arguments":"\{.*how.*\}"/);
    });
}


test('cancelled call: the status lists it while it runs, then counts it as cancelled',
     async () => {
    const tool = `tool-${next++}`;
    const answer = await Promise.race([
        modern().request('tools/call', { name: tool,
                                         arguments: { gate: tool } }),
        new Promise((resolve) => { setTimeout(resolve, 5000); })]);
    const [call] = await until(async () => (await json()).running
        .filter((c) => c.tool === tool && c.state === 'processing'),
    (calls) => calls.length === 1);

    assert.equal(call.principal, 'alice');
    assert.equal((await row(tool)).active, 1);
    assert.ok((await server.workers()).includes(call.process));
    assert.ok((await server.workers()).includes(call.reader));
    assert.ok(call.age >= 0 && call.age < 60000);

    // names and principals are shown only with details

    const plain = (await json('/status?format=json')).running
        .find((c) => c.call === call.call);

    assert.equal(plain.tool, undefined);
    assert.equal(plain.principal, undefined);

    answer.close();
    await seen(tool, 'cancelled');
    await until(() => row(tool), (r) => r.active === 0);
});


async function session(endpoint) {
    const post = (message, headers = {}) => request(server.port, {
        path: `/${endpoint}`,
        headers: { 'Content-Type': 'application/json', 'X-User': 'alice',
                   Accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    const answer = await post({ id: 1, method: 'initialize', params: {
        protocolVersion: '2025-11-25', capabilities: {},
        clientInfo: { name: 'e2e', version: '1' } } });

    const id = answer.headers['mcp-session-id'];

    await answer.text();

    const headers = { 'Mcp-Session-Id': id,
                      'MCP-Protocol-Version': '2025-11-25' };

    return {
        post: async (message) => (await post(message, headers)).text(),
        call: (name, args) => post({ id: 2, method: 'tools/call',
                                     params: { name, arguments: args } },
                                   headers),
        resume: (last) => request(server.port, {
            method: 'GET', path: `/${endpoint}`,
            headers: { ...headers, 'X-User': 'alice',
                       'Accept': 'text/event-stream',
                       'Last-Event-ID': last } }),
    };
}


test('no client resumes within mcp_max_wait: counted as expired', async () => {
    const tool = `tool-${next++}`;
    const answer = await (await session('hasty')).call(tool, { gate: tool });

    answer.close();
    await seen(tool, 'expired', { endpoint: '/hasty' });
});


test('process is killed: its call is counted as lost, other counters are kept',
     async () => {
    const tool = `tool-${next++}`;
    const before = (await json()).tools;

    const client = await session('first');
    const answer = await client.call(tool, { gate: tool });
    const [{ call, process: pid }] = await until(
        async () => (await json()).running.filter((c) => c.tool === tool),
        (calls) => calls.length === 1);

    const last = await until(() => answer.blocks.find(({ id }) => id)?.id,
                             (id) => id !== undefined);

    process.kill(pid, 'SIGKILL');
    await answer.ended;

    // the killed process wrote no line for its call; the resuming request has
    // one

    await seen(tool, 'lost', { inLog: false });

    await (await client.resume(last)).ended;
    await until(() => lines('requests.log'), (all) => all.some((l) =>
        l.startsWith(`${call} lost `)));
    assert.match(await server.log(), new RegExp(
        `call ${call} of "${tool}" was lost, because its server process ended`));

    const now = await until(async () => (await json()).tools,
                            (tools) => tools.every((t) => t.active === 0));

    for (const [i, { endpoint, tool: name, results }] of before.entries()) {
        if (name !== tool) {
            assert.deepEqual(now[i].results, results, `${endpoint} ${name}`);
        }
    }
});


test('call of an unknown tool: the status lists it as refused', async () => {
    await modern().request('tools/call', { name: 'nothing' });

    const { recent } = await json();

    assert.equal(recent[0].result, 'refused');
    assert.equal(recent[0].reason, 'unknown');
    assert.equal(recent[0].principal, 'alice');
});


test('trace context in _meta and in HTTP headers: the backend gets that of _meta, else that of the headers', async () => {
    const id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const parent = (n) => `00-${id}-00f067aa0ba902b${n}-01`;
    const call = async (name, meta, headers) => {
        heads.length = 0;
        await modern().request('tools/call', { name }, { meta, headers });

        const { traceparent, tracestate, baggage } = heads[0];

        return { traceparent, tracestate, baggage };
    };
    const none = { traceparent: undefined, tracestate: undefined,
                   baggage: undefined };

    assert.deepEqual(await call('tool-20'), none);
    assert.deepEqual(
        await call('tool-21', {}, { traceparent: parent(1), tracestate: 'a=1',
                                    baggage: 'b=2' }),
        { traceparent: parent(1), tracestate: 'a=1', baggage: 'b=2' });
    assert.deepEqual(
        await call('tool-22', { traceparent: parent(2), baggage: 'm=3' },
                   { traceparent: parent(1), tracestate: 'a=1' }),
        { traceparent: parent(2), tracestate: undefined, baggage: 'm=3' });
    assert.deepEqual(await call('tool-23', { traceparent: 'nonsense',
                                             tracestate: 5, baggage: '"' }),
                     none);

    assert.match(await line('tool-22', 'ok'),
                 new RegExp(`"trace":"${parent(2)}"`));
    await until(() => lines('requests.log'), (all) => all.some((l) =>
        l.endsWith(` ok ${parent(2)}.`)));
});


// Returns the histogram of mcp_server_operation_duration_seconds with exactly
// these labels, besides zone, endpoint and le; null if there is none.

async function durations(endpoint, labels) {
    const pattern = /^mcp_server_operation_duration_seconds_(\w+)\{(.*)\} (\S+)$/gm;
    const all = { buckets: [] };

    for (const [, part, text, value] of (await metrics()).matchAll(pattern)) {
        const { zone, endpoint: name, le, ...rest } = Object.fromEntries(
            [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v]));

        if (!zone || !name.endsWith(endpoint)
            || !isDeepStrictEqual(rest, labels)) {
            continue;
        }

        if (part === 'bucket') {
            all.buckets.push([le, Number(value)]);

        } else {
            all[part] = Number(value);
        }
    }

    return all.buckets.length ? all : null;
}

// Checks that a histogram has counted n messages more than before, and that its
// numbers fit together. A message that has become a stream is counted before
// its client has the response.

async function measured(endpoint, labels, before, n) {
    const { buckets, sum, count } = await durations(endpoint, labels);

    assert.equal(count, (before?.count ?? 0) + n);
    assert.deepEqual(buckets.map(([le]) => le), ['0.01', '0.02', '0.05', '0.1',
        '0.2', '0.5', '1', '2', '5', '10', '30', '60', '120', '300', '+Inf']);
    assert.equal(buckets.at(-1)[1], count);
    assert.ok(sum >= (before?.sum ?? 0) && sum < 300 * count);

    // each message in the bucket above lower has taken more than lower

    let least = 0, below = 0, lower = 0;

    for (const [le, value] of buckets) {
        assert.ok(value >= below);
        least += (value - below) * lower;
        [below, lower] = [value, Number(le)];
    }

    assert.ok(sum >= least - 1e-6);
}

const MODERN_LABEL = { mcp_protocol_version: '2026-07-28' };

for (const [how, error] of [['ok', {}], ['tool_error', { error_type: 'tool_error' }],
    ['rpc_error', { error_type: '_OTHER' }], ['fault', { error_type: '-32603' }]]) {

    test(`call with result ${how}: its duration is counted with ${error.error_type ? `error_type ${error.error_type}` : 'no error_type'}`,
         async () => {
        const tool = `tool-${next++}`;
        const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: tool,
                         ...error, ...MODERN_LABEL };

        for (let i = 0; i < 3; i++) {
            const before = await durations('/first', labels);

            await modern().request('tools/call', { name: tool,
                                                   arguments: { how } });
            await measured('/first', labels, before, 1);
        }
    });
}


test('backend that does not run: the duration of a call is counted as a failure',
     async () => {
    const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: 'tool-1',
                     ...MODERN_LABEL };
    const { error, result } = await modern('dead').response('tools/call',
                                                            { name: 'tool-1' });

    assert.equal(await durations('/dead', labels), null);
    labels.error_type = result?.isError ? 'tool_error' : String(error.code);
    await measured('/dead', labels, null, 1);
});


test('requests that need no backend: their durations are counted by method',
     async () => {
    const modernLabels = (method, error) => ({ mcp_method_name: method, ...error,
                                               ...MODERN_LABEL });
    const cases = [
        ['tools/list', {}, modernLabels('tools/list')],
        ['server/discover', {}, modernLabels('server/discover')],
        ['no/such', {}, modernLabels('_OTHER', { error_type: '-32601' })],
        ['tools/call', { name: 'nothing' },
         modernLabels('tools/call', { error_type: '-32602' })],
    ];

    for (const [method, params, labels] of cases) {
        const before = await durations('/first', labels);

        await modern().request(method, params);
        await modern().request(method, params);
        await measured('/first', labels, before, 2);
    }

    const old = { mcp_protocol_version: '2025-11-25' };
    const methods = ['initialize', 'ping', 'notifications/initialized'];
    const before = await Promise.all(methods.map((method) =>
        durations('/first', { mcp_method_name: method, ...old })));
    const client = await session('first');

    await client.post({ id: 3, method: 'ping' });
    await client.post({ method: 'notifications/initialized' });

    for (const [i, method] of methods.entries()) {
        await measured('/first', { mcp_method_name: method, ...old }, before[i],
                       1);
    }
});


test('call that becomes a stream: its duration is counted when its response is sent',
     async () => {
    const tool = `tool-${next++}`;
    const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: tool,
                     ...MODERN_LABEL };
    const answer = await modern().request('tools/call', {
        name: tool, arguments: { gate: tool } });

    assert.match(answer.headers['content-type'], /event-stream/);
    assert.equal(await durations('/first', labels), null);
    gates.get(tool)();
    await answer.ended;
    await measured('/first', labels, null, 1);
});


test('50 tools, 70 active calls: the status lists all calls, in pages of 64',
     async () => {
    const { tools, endpoints: all, server: name, zone } = await json();

    for (const endpoint of ['/first', '/hasty']) {
        assert.equal(tools.filter((t) => t.endpoint.endsWith(endpoint)
                                         && t.kind === 'tool').length, 50);
        assert.equal(all.find((e) => e.endpoint.endsWith(endpoint)).tools, 50);
    }

    assert.match(name, /^(nginx|Apache)\/\d/);
    assert.ok(zone.used < zone.size);

    const open = await Promise.all(Array.from({ length: 70 }, (_, i) =>
        modern('first', `user-${i}`).request('tools/call', {
            name: `tool-${i % 50}`, arguments: { gate: `many ${i}` } })));

    const calls = [];
    let cursor = '';

    do {
        const page = await json(`/details?format=json${cursor}`);

        assert.ok(page.running.length <= 64);
        calls.push(...page.running);
        cursor = page.next === null ? '' : `&cursor=${page.next}`;
    } while (cursor);

    assert.deepEqual(new Set(calls.map((c) => c.principal)),
                     new Set(Array.from({ length: 70 }, (_, i) =>
                         `user-${i}`)));

    await until(() => gates.has('many 69') && [...Array(70).keys()]
        .every((i) => gates.has(`many ${i}`)), (good) => good);

    for (let i = 0; i < 70; i++) {
        gates.get(`many ${i}`)();
    }

    await Promise.all(open.map((answer) => answer.ended));
    await until(async () => (await json()).running, (c) => c.length === 0);
});


test('status in Prometheus format: promtool accepts it', async () => {
    const text = await metrics();

    execFileSync('promtool', ['check', 'metrics'], { input: text });

    const buckets = [...text.matchAll(new RegExp(
        '^mcp_tool_call_duration_seconds_bucket\\{zone="[^"]+",'
        + 'endpoint="[^"]*/first",kind="tool",'
        + 'tool="tool-0",le="([^"]+)"\\} (\\d+)$', 'gm'))];

    assert.deepEqual(buckets.map(([, le]) => le), ['0.01', '0.02', '0.05', '0.1',
        '0.2', '0.5', '1', '2', '5', '10', '30', '60', '120', '300', '+Inf']);

    for (let i = 1; i < buckets.length; i++) {
        assert.ok(Number(buckets[i][2]) >= Number(buckets[i - 1][2]));
    }
});


test('metrics: every sample has a zone label', async () => {
    const samples = (await metrics()).split('\n')
        .filter((l) => l && !l.startsWith('#'));

    assert.ok(samples.length > 50);
    assert.deepEqual(samples.filter((l) => !/^mcp_\w+\{zone="[^"]+"/.test(l)),
                     []);
});


test('examples/prometheus/alerts.yml: promtool accepts the rules, their tests pass',
     () => {
    const cwd = `${root}/examples/prometheus`;

    execFileSync('promtool', ['check', 'rules', 'alerts.yml'], { cwd });
    execFileSync('promtool', ['test', 'rules', 'alerts_test.yml'], { cwd });
});


test('examples/prometheus/opentelemetry.yml: promtool accepts it',
     () => {
    execFileSync('promtool', ['check', 'config', 'opentelemetry.yml'],
                 { cwd: `${root}/examples/prometheus` });
});


for (const file of ['prometheus/alerts.yml', 'grafana/mcp.json']) {
    test(`examples/${file}: names only metrics that the server has`,
         async () => {
        const text = await fs.readFile(`${root}/examples/${file}`, 'utf8');
        const known = new Set([...(await metrics())
            .matchAll(/^(mcp_\w+)/gm)].map(([, name]) => name));
        const labels = ['mcp_method_name', 'mcp_protocol_version'];
        const named = new Set([...text.matchAll(/\bmcp_\w+/g)]
            .map(([name]) => name)
            .filter((name) => !/^mcp_(cluster|upstream)/.test(name)
                              && !labels.includes(name)));

        assert.ok(named.size > 5);
        assert.deepEqual([...named].filter((name) => !known.has(name)), []);
    });
}


test('version of the module: the same in status, metrics, log', async () => {
    const { version } = await json();

    assert.match(version, /^\d+\.\d+\.\d+(-dev(\+[0-9a-f]{7,})?)?$/);
    assert.match(await metrics(), new RegExp(
        `^mcp_build_info\\{zone="[^"]+",version="${
            version.replaceAll(/[.+]/g, '\\$&')}"\\} 1$`, 'm'));
    assert.ok((await (await get('/status?format=html')).text())
        .includes(`module ${version}, zone`));
    assert.ok((await server.log()).includes(SERVER === 'nginx'
        ? `MCP module ${version}\n` : `mod_mcp ${version}\n`));
});


// Returns a new source tree with a copy of scripts/commit.

async function tree(version) {
    const top = await fs.realpath(await fs.mkdtemp(`${directory}/tree-`));

    await fs.mkdir(`${top}/scripts`);
    await fs.mkdir(`${top}/shared/include`, { recursive: true });
    await fs.copyFile(`${root}/scripts/commit`, `${top}/scripts/commit`);
    await fs.writeFile(`${top}/shared/include/mcp_version.h`,
                       `#define MCP_VERSION      "${version}"\n`);

    const header = `${top}/made/mcp_commit.h`;

    return {
        top,
        git: (...args) => execFileSync('git', ['-C', top, '-c',
            'user.name=t', '-c', 'user.email=t@example.com', ...args],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
        commit: async () => {
            execFileSync(`${top}/scripts/commit`, [header]);

            return {
                text: await fs.readFile(header, 'utf8'),
                written: (await fs.stat(header, { bigint: true })).mtimeNs,
            };
        },
    };
}

const NONE = '#define MCP_COMMIT  ""\n';

test('build between releases: the version has the short hash of the commit',
     async () => {
    const { git, commit } = await tree('1.2.0-dev');

    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'first');

    const first = await commit();
    const hash = git('rev-parse', '--short=7', 'HEAD').trim();

    assert.equal(first.text, `#define MCP_COMMIT  "+${hash}"\n`);
    assert.deepEqual(await commit(), first, 'written again for nothing');

    git('commit', '-q', '--allow-empty', '-m', 'second');
    assert.notEqual((await commit()).text, first.text);
});


test('build outside of a git repository: the version has no commit hash',
     async () => {
    const { commit } = await tree('1.2.0-dev');

    assert.equal((await commit()).text, NONE);
});


test('build from a tarball of git archive: the version has the hash of the archived commit',
     async () => {
    const { top, git } = await tree('1.2.0-dev');

    await fs.copyFile(`${root}/.gitattributes`, `${top}/.gitattributes`);
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'first');

    const hash = git('log', '-1', '--format=%h').trim();
    const { top: outer, git: other, commit: archived } = await tree('1');

    // another repository around the unpacked tarball

    other('init', '-q');
    other('commit', '-q', '--allow-empty', '-m', 'other');
    execFileSync('tar', ['-x', '-C', outer], { input: execFileSync('git',
        ['-C', top, 'archive', 'HEAD']) });
    assert.equal((await archived()).text, `#define MCP_COMMIT  "+${hash}"\n`);
});


test('build of a release: the version has no hash of a commit', async () => {
    const { git, commit } = await tree('1.2.0');

    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'first');
    assert.equal((await commit()).text, NONE);
});


test('body above the limit: the log names its size, the limit and the directive',
    async () => {
        const server = await Fixture.use({ location: {
            nginx: 'client_max_body_size 4k;', apache: 'MCPMaxBody 4k' } });
        const session = await server.session();
        const { status } = await session.request('ping',
                                                 { x: 'x'.repeat(5000) });

        assert.equal(status, 413);
        assert.match(await server.log(),
                     /a request body of 5\d\d\d bytes(?: or more)? is refused, because it exceeds "?(?:client_max_body_size|MCPMaxBody)"? 4096/);
    });
