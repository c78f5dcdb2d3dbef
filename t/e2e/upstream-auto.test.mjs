// SPDX-License-Identifier: Apache-2.0

// MCP servers behind the module with "mcp_upstream auto": the form that the
// module detects, and calls after a server was replaced by one of another form.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { META, MODERN, Modern } from './lib/modern.mjs';
import { sdkServers } from './lib/sdk-servers.mjs';
import { textOf } from './lib/session.mjs';
import { recording, withSessions } from './lib/upstream.mjs';

const auto = (port, options) => Fixture.use({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    location: { mcp_backend: 'server', mcp_task_after: 'off' },
    backends: { server: { http: port, upstream: 'auto' } },
    ...options,
});

const form = async (server) => /of the form "mcp_upstream (\w+)", revision ([\d-]+)/
    .exec(await server.log())?.slice(1);


describe('mcp_upstream auto, servers of the official SDK', () => {
    const revisions = { modern: MODERN, stateless: '2025-11-25',
                        session: '2025-11-25' };

    for (const [name, { upstream, start }] of Object.entries(sdkServers)) {
        test(`mcp_upstream auto, ${name}: the server's form (modern, stateless or session) is detected`,
             async () => {
            const server = await auto(await start());
            const older = await server.session();
            const modern = new Modern(server);
            const args = { a: 1, b: 2 };

            assert.equal(older.server.serverInfo.name, 'sdk');
            assert.equal(textOf(await older.tool('add', args)), '3');
            assert.equal(textOf(await modern.tool('add', args)), '3');
            assert.deepEqual(await form(server),
                             [upstream, revisions[upstream]]);
        });
    }
});


describe('mcp_upstream auto with a catalog', () => {
    const withCatalog = { without: ['mcp_route'], location: {
        mcp_backend: 'server', mcp_task_after: 'off' } };

    test('mcp_upstream auto, MCP server with sessions: the first call opens a session',
         async () => {
        const upstream = await withSessions();
        const server = await auto(upstream.port, withCatalog);
        const it = await server.session();

        await it.tool('test_simple_text');
        await it.tool('test_simple_text');
        assert.deepEqual(upstream.steps,
                         ['server/discover', 'initialize',
                          'notifications/initialized', 'tools/call',
                          'tools/call']);
    });

    test('mcp_upstream auto, MCP server of 2026-07-28: one server/discover before the first call',
         async () => {
        const upstream = await recording();
        const server = await auto(upstream.port, withCatalog);
        const it = await server.session();

        upstream.describe = () => ({ capabilities: {}, ttlMs: 0,
            supportedVersions: [MODERN], cacheScope: 'public',
            resultType: 'complete' });
        await it.tool('test_simple_text');
        await it.tool('test_simple_text');
        assert.equal(upstream.described.length, 1);
        assert.equal(upstream.last().body.params._meta[META.version], MODERN);
    });

    test('mcp_upstream auto, server/discover fails at the MCP server: the call gets -32603, the next call succeeds',
         async () => {
        const upstream = await withSessions();
        const server = await auto(upstream.port, withCatalog);
        const it = await server.session();
        const { describe: usual } = upstream;

        upstream.describe = ({ res }) => { res.socket.destroy(); };

        const { response } = await it.follow(
            await it.call('test_simple_text'));

        assert.equal(response.error.code, -32603);
        upstream.describe = usual;
        assert.deepEqual((await it.tool('test_simple_text')).content, []);
    });
});


describe('server that is replaced by one of another form', () => {
    test('MCP server of 2026-07-28 is replaced by an MCP server with sessions: the call is sent again',
         async () => {
        const upstream = await withSessions();
        const server = await auto(upstream.port);
        const { describe: sessions, reply } = upstream;

        upstream.describe = () => ({ capabilities: {}, ttlMs: 0,
            supportedVersions: [MODERN], cacheScope: 'public',
            resultType: 'complete' });
        upstream.reply = () => ({ content: [], resultType: 'complete' });

        const it = await server.session();

        await it.tool('add');
        assert.deepEqual(await form(server), ['modern', MODERN]);

        upstream.describe = (call) => (call.body.method === 'initialize'
            ? sessions(call)
            : { status: 400, error: { code: -32000,
                message: 'Bad Request: Server not initialized' } });
        upstream.reply = reply;
        upstream.lost = () => ({ status: 400, error: { code: -32000,
            message: 'Bad Request: No valid session ID provided' } });
        await it.tool('add');
        assert.match(await server.log(), /of the form "mcp_upstream session"/);
    });

    test('MCP server with sessions is replaced by an MCP server of 2026-07-28: the call is sent again with the client\'s id',
         async () => {
        const upstream = await withSessions();
        const server = await auto(upstream.port);
        const { describe: sessions } = upstream;

        upstream.describe = (call) => (call.body.method === 'initialize'
            ? sessions(call) : { status: 404, type: 'text/plain', text: '' });

        const it = await server.session();

        await it.tool('add');
        assert.deepEqual(await form(server), ['session', '2025-06-18']);

        upstream.describe = (call) => (call.body.method === 'initialize'
            ? { status: 400, error: { code: -32022,
                message: 'Unsupported protocol version' } }
            : { capabilities: {}, supportedVersions: [MODERN], ttlMs: 0,
                cacheScope: 'public', resultType: 'complete' });
        upstream.reply = ({ body }) => (body.params?._meta?.[META.version]
            ? { content: [], resultType: 'complete' }
            : { status: 400, error: { code: -32022,
                message: 'Unsupported protocol version' } });

        const id = it.next;

        await it.tool('add');
        assert.match(await server.log(), /of the form "mcp_upstream modern"/);
        assert.equal(upstream.last().body.id, id);
    });
});
