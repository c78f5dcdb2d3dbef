// SPDX-License-Identifier: Apache-2.0

// MCP servers behind the module, with mcp_upstream: what they receive for
// clients of each revision, and what clients receive for each response.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { META, MODERN, Modern } from './lib/modern.mjs';
import { done, recording } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

const modern = await recording();
const older = await recording();

const without = ['mcp_catalog', 'mcp_route', 'mcp_server'];
const server = await Fixture.use({
    without, location: { mcp_stream_after: '0', mcp_task_after: 'off',
                         mcp_backend: 'modern' },
    backends: { modern: { http: modern.port, upstream: 'modern' } },
});
const stateless = await Fixture.use({
    without, location: { mcp_stream_after: '0', mcp_backend: 'older' },
    backends: { older: { http: older.port, upstream: 'stateless' } },
});

const TASKS = 'io.modelcontextprotocol/tasks';
const ours = ['mcp-principal', 'mcp-session', 'mcp-session-id',
              'mcp-publish-url', 'mcp-call', 'mcp-client-capabilities',
              'mcp-progress-token', 'mcp-request-id', 'authorization', 'cookie',
              'origin', 'last-event-id'];

const secrets = { Authorization: 'Bearer a', Cookie: 'a=b',
                  Origin: `http://127.0.0.1:${server.port}`,
                  'Mcp-Principal': 'root' };

// What the servers say about themselves. Other requests get the test's reply.

const about = { capabilities: { tools: { listChanged: true }, logging: {},
                                resources: { subscribe: true } },
                instructions: 'Use "add".' };
const info = { name: 'upstream', version: '7', title: 'Upstream' };
const described = {
    'server/discover': () => ({ ...about, supportedVersions: [MODERN],
        resultType: 'complete', ttlMs: 0, cacheScope: 'public',
        _meta: { [META.server]: info } }),
    initialize: () => ({ ...about, protocolVersion: '2025-11-25',
                         serverInfo: info }),
};

for (const upstream of [modern, older]) {
    upstream.describe = (call) => described[call.body.method](call);
}

// a tool's result with the arguments of its call

const echo = ({ body }) => ({ content: [{ type: 'text',
    text: JSON.stringify(body.params?.arguments ?? {}) }] });


describe('client of 2025-11-25, upstream of 2026-07-28', () => {
    test('client of 2025-11-25: the upstream gets revision, capabilities, client info in _meta',
         async () => {
        const session = await server.session({
            capabilities: { elicitation: {} }, headers: secrets });

        modern.reply = echo;

        const answer = await session.request('tools/call', {
            name: 'add', arguments: { a: 1 },
            _meta: { progressToken: 'p', 'x/y': 1, [META.level]: 'debug' },
        }, { id: 'seven' });
        const { response } = await session.follow(answer);

        assert.equal(response.result?.content[0].text, '{"a":1}',
                     JSON.stringify(response));

        const { body, headers, url } = modern.last();
        const { [META.info]: info, ...meta } = body.params._meta;

        assert.equal(url, '/mcp');
        assert.equal(body.id, 'seven');
        assert.equal(body.params.name, 'add');
        assert.equal(info.name, 'mcp_module');
        assert.deepEqual(meta, {
            progressToken: 'p', 'x/y': 1,
            [META.version]: MODERN,
            [META.capabilities]: { elicitation: {} },
        });
        assert.equal(headers['mcp-protocol-version'], MODERN);
        assert.equal(headers['mcp-method'], 'tools/call');
        assert.equal(headers['mcp-name'], 'add');
        assert.equal(headers['content-length'],
                     String(Buffer.byteLength(modern.last().text)));
        assert.deepEqual(ours.filter((name) => name in headers), []);
    });

    test('request without params: the upstream gets params with _meta',
         async () => {
        const session = await server.session();

        modern.reply = () => ({ tools: [], ttlMs: 0, cacheScope: 'public' });

        assert.deepEqual((await session.response('tools/list')).result.tools,
                         []);
        assert.equal(modern.last().body.params._meta[META.version], MODERN);
    });

    test('logging/setLevel in a session: the upstream gets this level in _meta',
         async () => {
        const session = await server.session();

        await session.response('logging/setLevel', { level: 'error' });
        modern.reply = echo;
        await session.tool('add');
        assert.equal(modern.last().body.params._meta[META.level], 'error');
    });

    test('name of a tool that is not ASCII: the upstream gets Mcp-Name in Base64',
         async () => {
        const session = await server.session();

        modern.reply = echo;
        await session.tool('größe');
        assert.equal(modern.last().headers['mcp-name'],
                     `=?base64?${Buffer.from('größe').toString('base64')}?=`);
    });

    test('upstream has a question: it gets the client\'s answer with _meta',
         async () => {
        const session = await server.session({
            capabilities: { elicitation: {} } });

        modern.reply = ({ body }) => (body.params.inputResponses
            ? { content: [{ type: 'text',
                            text: body.params.inputResponses.q.content.a }] }
            : { resultType: 'input_required', requestState: 's',
                inputRequests: { q: { method: 'elicitation/create',
                    params: { message: 'a?', requestedSchema: {
                        type: 'object', properties: { a: {
                            type: 'string' } } } } } } });

        const answer = await session.call('ask');
        const { response } = await session.follow(answer, {
            onMessage: ({ id }) => session.respond(id, {
                action: 'accept', content: { a: 'yes' } }),
        });

        assert.equal(response.result.content[0].text, 'yes');

        const { params } = modern.last().body;

        assert.equal(params.requestState, 's');
        assert.equal(params._meta[META.version], MODERN);
    });

    test('two questions in one result: the client gets both at once, the upstream gets both answers',
         async () => {
        const session = await server.session({
            capabilities: { elicitation: {}, roots: {} } });
        const from = modern.requests.length;
        const asked = [];

        modern.reply = ({ body }) => (body.params.inputResponses
            ? { content: [] }
            : { resultType: 'input_required', inputRequests: {
                q: { method: 'elicitation/create', params: { message: 'a?',
                    requestedSchema: { type: 'object', properties: {} } } },
                r: { method: 'roots/list' } } });

        // answers in the reverse order, when it has both questions

        await session.follow(await session.call('ask'), {
            onMessage: async (question) => {
                if (asked.push(question) < 2) {
                    return;
                }

                await session.respond(asked[1].id, { roots: [] });
                await session.respond(asked[0].id, { action: 'decline' });
            },
        });

        assert.deepEqual(asked.map(({ method }) => method),
                         ['elicitation/create', 'roots/list']);
        assert.equal(modern.requests.length, from + 2);
        assert.deepEqual(modern.last().body.params.inputResponses,
                         { q: { action: 'decline' }, r: { roots: [] } });
    });

    test('client\'s connection is cut while the upstream sends a stream: a resumed stream has all messages',
         async () => {
        const session = await server.session();
        let release;

        modern.reply = async ({ body, res }) => {
            res.writeHead(200, { 'Content-Type': 'text/event-stream' });

            for (let i = 1; i < 4; i++) {
                res.write(`data: ${JSON.stringify({ jsonrpc: '2.0',
                    method: 'notifications/progress',
                    params: { progressToken: 't', progress: i } })}\n\n`);

                if (i === 1) {
                    await new Promise((resolve) => { release = resolve; });
                }
            }

            res.end(`data: ${JSON.stringify(done(body))}\n\n`);
        };

        const answer = await session.call('count', {}, { token: 't' });

        assert.equal((await answer.message()).params.progress, 1);
        answer.close();
        release();

        const rest = await session.resume(answer.lastId);
        const messages = [];

        for (let message; (message = await rest.message());) {
            messages.push(message.params?.progress ?? message.result.content);
        }

        assert.deepEqual(messages, [2, 3, []]);
    });

    test('resources/subscribe: answered without the upstream', async () => {
        const session = await server.session();
        const before = modern.requests.length;

        assert.deepEqual((await session.response('resources/subscribe',
                                                 { uri: 'a:b' })).result, {});
        assert.equal(modern.requests.length, before);
    });
});


describe('client and upstream of 2026-07-28', () => {
    test('client and upstream of 2026-07-28: the upstream gets the body unchanged',
         async () => {
        const client = new Modern(server, { headers: secrets });
        const message = client.message('tools/call', {
            name: 'add', arguments: { a: [1, 2.50] } });
        const text = JSON.stringify(message, null, 1);

        modern.reply = (call) => ({ ...echo(call), resultType: 'complete' });

        const { status } = await client.follow(Object.assign(
            await client.post(text, { headers: client.headers(message) }),
            { id: message.id }));

        assert.equal(status, 200);
        assert.equal(modern.last().text, text);
        assert.deepEqual(ours.filter((name) => name in modern.last().headers),
                         []);
    });

    test('client that declares tasks: the upstream does not get this capability',
         async () => {
        const client = new Modern(server, {
            capabilities: { sampling: {}, extensions: { [TASKS]: {}, b: {} } } });

        modern.reply = (call) => ({ ...echo(call), resultType: 'complete' });
        await client.response('tools/call', { name: 'add', arguments: {} });
        assert.deepEqual(modern.last().body.params._meta[META.capabilities],
                         { sampling: {}, extensions: { b: {} } });
    });

    test('upstream has a question for a client of 2026-07-28: the client gets it',
         async () => {
        const client = new Modern(server, {
            capabilities: { elicitation: {} } });

        modern.reply = () => ({ resultType: 'input_required',
            inputRequests: { q: { method: 'elicitation/create', params: {
                message: 'a?', requestedSchema: { type: 'object',
                    properties: { a: { type: 'string' } } } } } } });

        const { result } = await client.response('tools/call', {
            name: 'ask', arguments: {} });

        assert.equal(result.resultType, 'input_required');
        assert.equal(result.inputRequests.q.params.message, 'a?');
    });

    test('upstream needs a capability that the client lacks: the client gets the error',
         async () => {
        const client = new Modern(server);

        modern.reply = () => ({ status: 400, error: { code: -32021,
            message: 'Missing capability', data: { requiredCapabilities: {
                sampling: {} } } } });

        const { code } = await client.refused('tools/call', {
            name: 'ask', arguments: {} });

        assert.equal(code, -32021);
    });

    test('Mcp-Param-A differs from the argument: the upstream gets both values, the client gets the upstream\'s error',
         async () => {
        const client = new Modern(server);

        modern.reply = ({ headers, body }) => ({ status: 400, error: {
            code: -32020, message: `"${headers['mcp-param-a']}" is not `
                                   + body.params.arguments.a } });

        const { code, message } = await client.refused('tools/call', {
            name: 'add', arguments: { a: 'b' } }, {
            headers: { 'Mcp-Param-A': 'c' } });

        assert.equal(code, -32020);
        assert.equal(message, 'Header mismatch: "c" is not b');
    });
});


describe('upstream of an older revision without sessions', () => {
    test('client of 2026-07-28, older upstream: the upstream gets requests without the members of 2026-07-28',
         async () => {
        const client = new Modern(stateless, { meta: { 'x/y': 1 } });

        older.reply = echo;

        const { result } = await client.response('tools/call', {
            name: 'add', arguments: { a: 1 }, requestState: undefined });

        assert.equal(result.resultType, 'complete');

        const { body, headers } = older.last();

        assert.deepEqual(body.params, { name: 'add', arguments: { a: 1 },
                                        _meta: { 'x/y': 1 } });
        assert.match(headers['mcp-protocol-version'], /^2025-(06-18|11-25)$/);
        assert.deepEqual(ours.filter((name) => name in headers), []);
    });

    test('client of 2026-07-28, older upstream: lists have ttlMs and cacheScope',
         async () => {
        const client = new Modern(stateless);

        older.reply = () => ({ tools: [] });

        const { result } = await client.response('tools/list');

        assert.equal(result.ttlMs, 0);
        assert.equal(typeof result.cacheScope, 'string');
    });

    test('client of 2025-11-25, upstream without sessions: the upstream gets the body unchanged',
         async () => {
        const session = await stateless.session();
        const text = '{"jsonrpc":"2.0", "id":5,"method":"tools/call",'
                     + '"params":{"name":"add","arguments":{"a":1.50}}}';

        older.reply = echo;
        await (await session.post(text)).text();
        assert.equal(older.last().text, text);
        assert.match(older.last().headers['mcp-protocol-version'],
                     /^2025-(06-18|11-25)$/);
    });

    test('upstream sends ping on the stream: dropped, the call continues',
         async () => {
        const session = await stateless.session();

        older.reply = ({ body }) => [
            { jsonrpc: '2.0', id: 1, method: 'ping' }, done(body)];

        assert.deepEqual(await session.tool('add'), { content: [] });
    });
});


describe('description of the upstream', () => {
    for (const [name, port, form] of [['of 2026-07-28', modern, 'modern'],
        ['of 2025-11-25 without sessions', older, 'stateless']])
    {
        test(`upstream ${name}: clients get its name, instructions and capabilities`,
             async () => {
            const fresh = await Fixture.start({
                without, workers: 1, location: { mcp_backend: 'it' },
                backends: { it: { http: port.port, upstream: form } } });

            try {
                const asked = port.described.length;
                const { server: older } = await fresh.session();
                const client = new Modern(fresh);
                const { result } = await client.response('server/discover');

                assert.deepEqual(older.serverInfo, info);
                assert.deepEqual(result._meta[META.server], info);

                for (const { capabilities, instructions } of [older, result]) {
                    assert.equal(instructions, 'Use "add".');
                    assert.deepEqual(capabilities.tools, {});
                    assert.deepEqual(capabilities.resources, {});
                    assert.equal(capabilities.prompts, undefined);
                    assert.equal(capabilities.completions, undefined);
                }

                // one worker has asked once

                assert.equal(port.described.length, asked + 1);

                const { body, headers } = port.described.at(-1);

                assert.equal(headers['mcp-method'], body.method);
                assert.deepEqual(ours.filter((h) => h in headers), []);
            } finally {
                await fresh.stop();
            }
        });
    }

    test('request for the description of an upstream: has no header of the client',
         async () => {
        const fresh = await Fixture.start({
            without, workers: 1,
            location: { mcp_backend: 'it', mcp_pass_authorization: 'on' },
            backends: { it: { http: modern.port, upstream: 'modern' } } });

        try {
            const session = await fresh.session({ headers: {
                Authorization: 'Bearer a', 'Accept-Language': 'x',
                'X-Own': 'x' } });
            const { headers } = modern.described.at(-1);

            assert.equal(headers.authorization, undefined);
            assert.equal(headers['accept-language'], undefined);
            assert.equal(headers['x-own'], undefined);
            modern.reply = echo;
            await session.tool('add');
            assert.equal(modern.last().headers.authorization, 'Bearer a');
            assert.equal(modern.last().headers['x-own'], 'x');
        } finally {
            await fresh.stop();
        }
    });

    test('request for the description of an upstream: nginx variables have no query and no user of the client',
         { skip: SERVER !== 'nginx' && 'nginx only' }, async () => {
        const fresh = await Fixture.start({
            without, workers: 1, location: { mcp_backend: 'it' },
            backends: { it: { http: modern.port, upstream: 'modern', more: `
                proxy_set_header X-Uri $request_uri;
                proxy_set_header X-Line $request;
                proxy_set_header X-User $remote_user;` } } });

        try {
            const session = await fresh.session({
                send: (options) => request(fresh.port,
                                           { path: '/mcp?x=1', ...options }),
                headers: { Authorization: `Basic ${btoa('alice:a')}` } });
            const { headers } = modern.described.at(-1);

            assert.equal(headers['x-uri'], '/mcp');
            assert.match(headers['x-line'], /^POST \/mcp/);
            assert.ok(!headers['x-line'].includes('?'), headers['x-line']);
            assert.equal(headers['x-user'], undefined);
            modern.reply = echo;
            await session.tool('add');
            assert.equal(modern.last().headers['x-uri'], '/mcp?x=1');
            assert.equal(modern.last().headers['x-user'], 'alice');
        } finally {
            await fresh.stop();
        }
    });

    test('request for the description of an upstream: httpd\'s environment has no variables of the client\'s request',
         { skip: SERVER !== 'apache' && 'Apache only' }, async () => {
        const fresh = await Fixture.start({
            without, workers: 1, location: { mcp_backend: 'it' },
            server: `<Location "/mcp">
                         SetEnvIf X-Who (.+) WHO=$1
                     </Location>`,
            backends: { it: { http: modern.port, upstream: 'modern',
                more: 'RequestHeader set X-Env "%{WHO}e" env=WHO' } } });

        try {
            const session = await fresh.session({
                headers: { 'X-Who': 'alice' } });

            assert.equal(modern.described.at(-1).headers['x-env'], undefined);
            modern.reply = echo;
            await session.tool('add');
            assert.equal(modern.last().headers['x-env'], 'alice');
        } finally {
            await fresh.stop();
        }
    });

    test('server/discover as a notification or in a session: 202 or -32601, the upstream gets no request',
         async () => {
        const session = await server.session();
        const asked = modern.described.length;

        assert.equal((await session.notify('server/discover')).status, 202);
        assert.equal((await session.response('server/discover')).error.code,
                     -32601);
        assert.equal(modern.described.length, asked);
    });

    test('mcp_server is set: clients get its name, not that of the upstream',
         async () => {
        const fresh = await Fixture.start({
            without: without.slice(0, 2), workers: 1,
            location: { mcp_backend: 'it', mcp_server: 'mine 1' },
            backends: { it: { http: modern.port, upstream: 'modern' } } });

        try {
            const session = await fresh.session();
            const client = new Modern(fresh);

            modern.reply = (call) => ({ ...echo(call), resultType: 'complete',
                                        _meta: { [META.server]: info } });

            const { result } = await client.response('tools/call',
                                                     { name: 'add' });

            assert.equal(session.server.serverInfo.name, 'mine');
            assert.equal(result._meta[META.server].name, 'mine');
        } finally {
            await fresh.stop();
        }
    });

    test('initialize while the upstream is down: 503, or the last description if the upstream has sent one',
         async () => {
        const upstream = await recording();
        const fresh = await Fixture.start({
            without, workers: 1, location: { mcp_backend: 'it' },
            backends: { it: { http: upstream.port, upstream: 'modern',
                              check: '1ms' } } });
        const initialize = () => fresh.session().then(
            (session) => session.server.instructions,
            (error) => error.actual);

        try {
            upstream.describe = ({ res }) => { res.socket.destroy(); };
            assert.equal(await initialize(), 503);
            upstream.describe = described['server/discover'];

            // the server is not asked within a second after its failure

            while (await initialize() === 503) {
                await new Promise((resolve) => { setTimeout(resolve, 100); });
            }

            assert.equal(await initialize(), 'Use "add".');
            upstream.describe = ({ res }) => { res.socket.destroy(); };
            assert.equal(await initialize(), 'Use "add".');
        } finally {
            await fresh.stop();
        }
    });

    test('several clients initialize when the description is too old: each gets the new one, none gets 503',
         async () => {
        const upstream = await recording();
        const fresh = await Fixture.start({
            without, workers: 1, location: { mcp_backend: 'it' },
            backends: { it: { http: upstream.port, upstream: 'modern',
                              check: '1ms',
                              more: { mcp_upstream_stale: 'off' } } } });

        try {
            upstream.describe = described['server/discover'];
            await fresh.session();

            const asked = upstream.described.length;

            await new Promise((resolve) => {
                upstream.describe = async (call) => {
                    if (upstream.described.length === asked + 3) {
                        resolve();
                    }

                    await all;

                    return described['server/discover'](call);
                };

                const all = new Promise((go) => { upstream.go = go; });
                const sessions = [1, 2, 3].map(() => fresh.session());

                upstream.sessions = Promise.all(sessions);
                upstream.sessions.catch(resolve);
            });

            upstream.go();

            for (const { server: of } of await upstream.sessions) {
                assert.equal(of.instructions, 'Use "add".');
            }
        } finally {
            upstream.go?.();
            await fresh.stop();
        }
    });
});


// what a client of 2025-11-25 gets for a failure of an upstream

const failures = [
    ['HTTP 401', { status: 401, type: 'application/json',
                   text: '{"error":"invalid_token"}' },
     /Upstream refused the credentials/, 'upstream_auth'],
    ['HTTP 403', { status: 403, type: 'text/plain', text: 'no' },
     /Upstream refused the credentials/, 'upstream_auth'],
    ['HTTP 403 because of Host', { status: 403, error: { code: -32000,
        message: 'Invalid Host header: example.com' } },
     /Upstream refused the Host or Origin/, 'upstream_host'],
    ['HTTP 404 with a page', { status: 404, type: 'text/html',
                               text: '<h1>Not Found</h1>' },
     /Upstream failed/, 'backend_status'],
    ['HTTP 500 without a body', { status: 500, type: 'text/plain', text: '' },
     /Upstream failed/, 'backend_status'],
    ['the error -32022 for an unsupported revision', { status: 400, error: {
        code: -32022, message: 'Unsupported protocol version',
        data: { supported: [] } } },
     /Upstream does not support the protocol version/, 'upstream_version'],
    ['the error of an older SDK for an unsupported revision', { status: 400, error: {
        code: -32000, message: 'Bad Request: Unsupported protocol version' } },
     /Upstream does not support the protocol version/, 'upstream_version'],
    ['the error -32020 for a header of the module', { status: 400, error: {
        code: -32020, message: 'Header mismatch' } },
     /Upstream failed/, 'backend_status'],
    ['HTTP 202', { status: 202, type: 'text/plain', text: '' },
     /invalid response/, 'backend_output'],
    ['a page with status 200', { type: 'text/html', text: '<h1>Hello</h1>' },
     /invalid response/, 'backend_output'],
    ['a result without a JSON-RPC envelope', { type: 'application/json',
                                     text: '{"content":[]}' },
     /invalid response/, 'backend_output'],
    ['a task as the result', { resultType: 'task', taskId: 'a' },
     /invalid response/, 'backend_output'],
    ['a request, elicitation/create', [{ jsonrpc: '2.0', id: 1,
        method: 'elicitation/create', params: { message: 'a?' } }],
     /invalid response/, 'backend_output'],
    ['a redirect', { status: 302, type: 'text/html', text: '' },
     /Backend failed/, 'backend_failed'],
    ['a compressed response', ({ res }) => {
        res.writeHead(200, { 'Content-Type': 'application/json',
                             'Content-Encoding': 'gzip' });
        res.end(gzipSync('{"jsonrpc":"2.0","id":1,"result":{}}'));
    }, /invalid response/, 'backend_output'],
    ['an endless response', ({ res }) => {
        res.writeHead(200, { 'Content-Type': 'application/json' });
        (function more() {
            while (!res.destroyed && res.write(' '.repeat(65536)));
            res.once('drain', more);
        })();
    }, /too large/, 'backend_too_large'],
    ['an endless event', ({ res }) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        res.write('data: ');
        (function more() {
            while (!res.destroyed && res.write(' '.repeat(65536)));
            res.once('drain', more);
        })();
    }, /too large/, 'backend_too_large'],
    ['a response that is cut', ({ res }) => {
        res.writeHead(200, { 'Content-Type': 'application/json',
                             'Content-Length': 100 });
        res.write('{"jsonrpc":"2.0",');
        setImmediate(() => res.socket.destroy());
    }, /Backend failed/, 'backend_failed'],
    ['a stream that ends without a response', [],
     /invalid response/, 'backend_output'],
];

describe('failures of an upstream', () => {
    for (const [name, reply, message, reason] of failures) {
        test(`upstream sends ${name}: the client gets an error, the status has the reason`,
             async () => {
            const session = await server.session();

            modern.reply = typeof reply === 'function' ? reply : () => reply;

            const { response } = await session.follow(
                await session.call('add'));

            assert.equal(response.error?.code, -32603);
            assert.match(response.error.message, message);

            const { tools } = await (await fetch(
                `http://127.0.0.1:${server.port}/status`,
                { headers: { Accept: 'application/json' } })).json();
            const errors = tools.map((tool) => tool.last_error)
                .filter(Boolean);

            assert.ok(errors.some((e) => JSON.stringify(e).includes(reason)),
                      JSON.stringify(errors));
        });
    }

    test('upstream sends a JSON-RPC error with status 400: the client gets this error',
         async () => {
        const session = await server.session();
        const error = { code: -32602, message: 'Bad arguments',
                        data: { a: 1 } };

        modern.reply = () => ({ status: 400, error });

        const { response } = await session.follow(await session.call('add'));

        assert.deepEqual(response.error, error);
    });

    test('upstream needs a capability that an older client lacks: isError with the upstream\'s text',
         async () => {
        const session = await server.session();

        modern.reply = () => ({ status: 400, error: { code: -32021,
            message: 'Missing capability: sampling', data: {
                requiredCapabilities: { sampling: {} } } } });

        const result = await session.tool('add');

        assert.equal(result.isError, true);
        assert.equal(result.content[0].text, 'Missing capability: sampling');
    });

    test('upstream closes the connection without a response: the client gets -32603',
         async () => {
        const session = await server.session();

        modern.reply = ({ res }) => { res.socket.destroy(); };

        const { response } = await session.follow(await session.call('add'));

        assert.equal(response.error.code, -32603);
    });
});
