// SPDX-License-Identifier: Apache-2.0

// Lists of MCP servers without a catalog: which ones a process caches, for
// whom, and when it asks the server again.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { recording, withSessions } from './lib/upstream.mjs';
import { request } from './lib/wire.mjs';

const KINDS = [['tools/list', 'tools'], ['prompts/list', 'prompts'],
               ['resources/list', 'resources'],
               ['resources/templates/list', 'resourceTemplates']];

const inputSchema = { type: 'object' };
const scoped = (cacheScope, members) => ({ resultType: 'complete', ttlMs: 0,
                                           cacheScope, ...members });
const described = (call) => (call.body.method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} },
        serverInfo: { name: 'upstream', version: '1' } }
    : scoped('public', { supportedVersions: ['2026-07-28'],
                         capabilities: { tools: {} } }));

// Starts a server before an upstream of its own, whose replies number the
// requests: the list of the second request has the tool "t2".

async function started(form, cacheScope, { location, lists, check, http,
                                            workers = 1 } = {}) {
    const upstream = form === 'session' ? await withSessions()
                                        : await recording();
    const server = await Fixture.use({
        without: ['mcp_catalog', 'mcp_route', 'mcp_server'], workers,
        location: { mcp_task_after: 'off', mcp_backend: 'it', ...location },
        backends: { it: { http: upstream.port, upstream: form, lists,
                          check } },
        http });

    upstream.n = 0;
    upstream.list = ({ body }) => {
        const [, kind] = KINDS.find(([method]) => method === body.method);

        upstream.n++;

        return scoped(cacheScope, { [kind]: [{ name: `t${upstream.n}`,
            uri: 'a:b', uriTemplate: 'a:{b}', inputSchema }] });
    };

    const reply = (call) => (call.body.method.endsWith('/list')
        ? upstream.list(call)
        : upstream.other?.(call) ?? { resultType: 'complete', content: [] });

    if (form === 'session') {
        upstream.answer = reply;
    } else {
        upstream.describe = described;
        upstream.reply = reply;
    }

    return { server, upstream };
}

async function names(client, params, method = 'tools/list') {
    const { result, error } = await client.response(method, params);

    return result ? Object.entries(result).find(([, list]) =>
        Array.isArray(list))[1].map(({ name }) => name) : error.code;
}


describe('list that the server declares as public', () => {
    for (const [method] of KINDS) {
        test(`public list, ${method}: the MCP server gets one request for all clients with sessions, and one for all clients without`,
             async () => {
            const { server, upstream } = await started('modern', 'public');
            const older = await server.session();
            const modern = new Modern(server);

            assert.deepEqual(await names(older, {}, method), ['t1']);
            assert.deepEqual(await names(await server.session(), {}, method),
                             ['t1']);
            assert.deepEqual(await names(older, undefined, method), ['t1']);
            assert.deepEqual(await names(modern, {}, method), ['t2']);
            assert.deepEqual(await names(modern, { _meta: {
                progressToken: 1 } }, method), ['t2']);
            assert.equal(upstream.n, 2);
        });
    }

    test('tools/list in a batch, list of the MCP server is cached: answered from the cache',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const older = await server.session({ version: '2025-03-26' });

        await names(older);

        const text = await (await older.post([
            { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
            { jsonrpc: '2.0', id: 'b', method: 'ping' }])).text();

        assert.match(text, /"t1"/);
        assert.equal(upstream.n, 1);
    });

    test('cached list: has all members of the result, and the remaining ttlMs',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const modern = new Modern(server);

        upstream.list = () => scoped('public', { ttlMs: 7200000, tools: [],
            extra: { a: [1, 2.50] }, _meta: { 'x/y': 1 } });

        const { result: first } = await modern.response('tools/list');
        const { result: second } = await modern.response('tools/list');

        assert.equal(first.ttlMs, 7200000);
        assert.ok(second.ttlMs <= 7200000 && second.ttlMs > 7000000,
                  String(second.ttlMs));
        assert.deepEqual({ ...second, ttlMs: 0 }, { ...first, ttlMs: 0 });
        assert.equal(upstream.requests.length, 1);
    });

    test('clients with different capabilities: a cached list for each set of capabilities',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const open = (capabilities) => server.session({ capabilities });

        assert.deepEqual(await names(await open({})), ['t1']);
        assert.deepEqual(await names(await open({ elicitation: {} })), ['t2']);
        assert.deepEqual(await names(await open({ elicitation: {} })), ['t2']);
        assert.deepEqual(await names(await open({})), ['t1']);
        assert.equal(upstream.n, 2);
    });

    test('list request with parameters other than the cursor: not cached',
         async () => {
        const { server } = await started('modern', 'public');
        const older = await server.session();

        assert.deepEqual(await names(older), ['t1']);
        assert.deepEqual(await names(older, { filter: 'a' }), ['t2']);
        assert.deepEqual(await names(older, { _meta: { 'x/tenant': 'a' } }),
                         ['t3']);
        assert.deepEqual(await names(older), ['t1']);
    });

    test('list of several pages: each page is cached, an error response for one page removes all pages from the cache',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const older = await server.session();

        upstream.list = ({ body: { params: { cursor } } }) => {
            upstream.n++;

            return cursor === 'bad'
                ? { error: { code: -32602, message: 'Invalid cursor' } }
                : scoped('public', { tools: [{ name: `${cursor}${upstream.n}`,
                                               inputSchema }],
                                     nextCursor: 'next' });
        };

        for (let i = 0; i < 2; i++) {
            assert.deepEqual(await names(older), ['undefined1']);
            assert.deepEqual(await names(older, { cursor: 'next' }),
                             ['next2']);
        }

        assert.equal(await names(older, { cursor: 'bad' }), -32602);
        assert.deepEqual(await names(older), ['undefined4']);
        assert.deepEqual(await names(older, { cursor: 'next' }), ['next5']);
    });

    test('MCP server sends list_changed: the cached list is requested again',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const older = await server.session();

        await names(older);
        upstream.other = ({ body }) => [
            { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
            { jsonrpc: '2.0', id: body.id, result: { content: [] } }];
        await older.tool('a');
        assert.deepEqual(await names(older), ['t2']);
    });

    test('MCP server refuses a header of a call: the cached list is requested again',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const modern = new Modern(server);

        await names(modern);
        upstream.other = () => ({ status: 400, error: {
            code: -32020, message: 'Header mismatch' } });
        assert.equal((await modern.refused('tools/call', { name: 'a',
            arguments: {} })).code, -32020);
        assert.deepEqual(await names(modern), ['t2']);
    });

    test('public list becomes private: clients get no cached page any more',
         async () => {
        const { server, upstream } = await started('modern', 'public');
        const older = await server.session();
        const { list } = upstream;

        await names(older);
        upstream.list = (call) => ({ ...list(call), cacheScope: 'private' });
        assert.deepEqual(await names(older, { cursor: 'a' }), ['t2']);
        assert.deepEqual(await names(older), ['t3']);
        assert.deepEqual(await names(older), ['t4']);
    });

    test('cached list with mcp_allow: each caller gets only the items that it may see',
         async () => {
        const { server, upstream } = await started('modern', 'public', {
            location: {
                nginx: `mcp_allow tools/secret $may;
                        mcp_allow * 1;`,
                apache: `MCPAllow tools/secret "%{HTTP:X-User} == 'root'"
                         MCPAllow * true`,
            },
            http: { nginx: 'map $http_x_user $may { root 1; other 0; }' } });

        upstream.list = () => {
            upstream.n++;

            return scoped('public', { tools: [{ name: 'secret', inputSchema },
                                              { name: 'a', inputSchema }] });
        };

        const user = new Modern(server, { headers: { 'X-User': 'user' } });
        const root = new Modern(server, { headers: { 'X-User': 'root' } });

        assert.deepEqual(await names(user), ['a']);
        assert.deepEqual(await names(root), ['secret', 'a']);
        assert.deepEqual(await names(user), ['a']);
        assert.equal(upstream.n, 1);
        assert.equal((await root.response('tools/list')).result.cacheScope,
                     'private');
    });
});


describe('list that is not cached: each client gets the server\'s response', () => {
    for (const [what, form, scope, options] of [
        ['with cacheScope private', 'modern', 'private', {}],
        ['with cacheScope private, mcp_upstream_lists shared', 'modern', 'private',
         { lists: 'shared' }],
        ['without cacheScope', 'stateless', undefined, {}],
        ['with an unknown cacheScope, mcp_upstream_lists shared', 'modern', 'all',
         { lists: 'shared' }],
        ['with cacheScope public, mcp_upstream_lists off', 'modern', 'public',
         { lists: 'off' }],
        ['with cacheScope public, mcp_pass_authorization', 'modern', 'public',
         { location: { mcp_pass_authorization: 'on' } }],
        ['with cacheScope public, mcp_pass_cookie', 'modern', 'public',
         { location: { mcp_pass_cookie: 'on' } }],
        ['larger than 1 MB', 'modern', 'public', { size: 1 << 20 }]])
    {
        test(`tools/list of the MCP server, result ${what}: not cached`, async () => {
            const { server, upstream } = await started(form, scope, options);
            const older = await server.session();

            if (options.size) {
                const { list } = upstream;

                upstream.list = (call) => ({ ...list(call),
                                             a: 'a'.repeat(options.size) });
            }

            assert.deepEqual(await names(older), ['t1']);
            assert.deepEqual(await names(older), ['t2']);
        });
    }
});


describe('mcp_upstream_lists "shared", server of an older revision', () => {
    const shared = { lists: 'shared' };

    test('mcp_upstream_lists "shared", MCP server without sessions: one request for all clients',
         async () => {
        const { server, upstream } = await started('stateless', undefined,
                                                   shared);

        assert.deepEqual(await names(await server.session()), ['t1']);
        assert.deepEqual(await names(await server.session()), ['t1']);
        assert.equal(upstream.n, 1);
    });

    test('mcp_upstream_lists "shared", MCP server with sessions: no session is opened for the second client',
         async () => {
        const { server, upstream } = await started('session', undefined,
                                                   shared);

        assert.deepEqual(await names(await server.session()), ['t1']);

        // the session for the description may end later

        const asked = () => upstream.steps.filter((s) => s !== 'DELETE');
        const before = asked();

        assert.deepEqual(await names(await server.session()), ['t1']);
        assert.deepEqual(asked(), before);
    });

    test('mcp_upstream_lists "shared", MCP server with sessions, list of several pages: not cached',
         async () => {
        const { server, upstream } = await started('session', undefined,
                                                   shared);
        const { list } = upstream;

        upstream.list = (call) => ({ ...list(call),
            ...call.body.params?.cursor ? {} : { nextCursor: 'a' } });

        for (const n of [1, 3]) {
            const session = await server.session();

            assert.deepEqual(await names(session), [`t${n}`]);
            assert.deepEqual(await names(session, { cursor: 'a' }),
                             [`t${n + 1}`]);
        }
    });
});


describe('server that is down', () => {
    test('expired list in the cache, MCP server responds with 503: clients get the expired list',
         async () => {
        const { server, upstream } = await started('modern', 'public',
                                                   { check: '1ms' });
        const older = await server.session();
        let asked = 0;

        await names(older);
        upstream.list = () => {
            asked++;
            return { status: 503, error: { code: -32603, message: 'Busy' } };
        };

        while (asked === 0) {
            assert.deepEqual(await names(older), ['t1']);
        }

        assert.deepEqual(await names(older), ['t1']);
    });

    test('expired list in the cache, MCP server is down: the list is not requested again at once',
         async () => {
        const { server, upstream } = await started('modern', 'public',
                                                   { check: '1ms' });
        const older = await server.session();
        let asked = 0, at;

        await names(older);
        upstream.list = ({ res }) => {
            asked++;
            at = Date.now();
            res.socket.destroy();
        };

        while (asked === 0) {
            assert.deepEqual(await names(older), ['t1']);
        }

        assert.deepEqual(await names(older), ['t1']);
        assert.ok(asked === 1 || Date.now() - at >= 1000);
        assert.equal(await names(older, { cursor: 'other' }), -32603);

        upstream.list = () => scoped('public', { tools: [] });

        // a second after its failure the server is asked again

        while ((await names(older)).length) {
            await new Promise((resolve) => { setTimeout(resolve, 50); });
        }
    });

    test('expired list in the cache, MCP server responds with 500 or 401: clients get the list after 500, an error after 401',
         async () => {
        const { server, upstream } = await started('modern', 'public',
                                                   { check: '1ms' });
        const older = await server.session();
        let asked = 0, status = 500, answer;

        await names(older);
        upstream.list = () => {
            asked++;

            return { status, type: 'text/plain', text: '' };
        };

        while (asked === 0) {
            assert.deepEqual(await names(older), ['t1']);
        }

        status = 401;

        while (asked === 1) {
            answer = await names(older);
        }

        assert.equal(answer, -32603);
    });

    test('no list in the cache, MCP server is down: clients get -32603',
         async () => {
        const { server, upstream } = await started('modern', 'public');

        upstream.list = ({ res }) => { res.socket.destroy(); };
        assert.equal(await names(await server.session()), -32603);
    });
});


// Returns the numbers of successful calls by tool in the metrics: those of
// mcp_tool_calls_total, and those of the histogram, where calls of a tool
// without a row have no name.

async function counted(server) {
    const text = await (await request(server.port, {
        method: 'GET', path: '/status?format=prometheus' })).text();
    const pick = (pattern) => Object.fromEntries([...text.matchAll(pattern)]
        .map(([, tool, n]) => [tool ?? '', Number(n)]).filter(([, n]) => n));

    return [
        pick(/^mcp_tool_calls_total\{.*kind="tool",tool="([^"]*)",result="ok"\} (\d+)$/gm),
        pick(/^mcp_server_operation_duration_seconds_count\{[^}]*mcp_method_name="tools\/call"(?:,gen_ai_tool_name="([^"]*)")?,mcp_protocol_version="[^"]*"\} (\d+)$/gm),
    ];
}

describe('metrics of tools', () => {
    for (const form of ['modern', 'session']) {
        test(`mcp_upstream ${form}: tools of tools/list have their own rows in the metrics, other tools share one row`,
             async () => {
            const { server } = await started(form, 'private', { workers: 2 });
            const client = form === 'session' ? await server.session()
                                              : new Modern(server);
            const call = (name) => client.response('tools/call', { name });

            await call('t1');
            assert.deepEqual(await counted(server), [{}, { '': 1 }]);
            assert.deepEqual(await names(client), ['t1']);

            // any process may get a call

            for (let i = 0; i < 8; i++) {
                await call('t1');
            }

            await call('t2');
            assert.deepEqual(await counted(server),
                             [{ t1: 8 }, { '': 2, 't1': 8 }]);
        });
    }

    test('tools/list with 200 tools: 128 tools have their own rows in the metrics',
         async () => {
        const { server, upstream } = await started('modern', 'private');
        const client = new Modern(server);

        upstream.list = () => scoped('private', { tools: Array.from(
            { length: 200 }, (_, i) => ({ name: `tool-${i}`, inputSchema })) });
        assert.equal((await names(client)).length, 200);
        assert.equal((await names(client)).length, 200);

        for (const i of [0, 127, 128, 199]) {
            await client.response('tools/call', { name: `tool-${i}` });
        }

        assert.deepEqual(await counted(server),
                         [{ 'tool-0': 1, 'tool-127': 1 },
                          { '': 2, 'tool-0': 1, 'tool-127': 1 }]);
        assert.match(await server.log(),
                     /no row of call statistics left for the tool "tool-128"/);
    });
});
