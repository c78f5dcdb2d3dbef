// SPDX-License-Identifier: Apache-2.0

// mod_mcp among the modules that Debian enables by default, with filters on
// every response.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { dir, load, suite } from './lib/apache.mjs';
import { Fixture } from './lib/fixture.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const get = (server, where, headers = {}) => request(server.port, {
    method: 'GET', path: where, headers });


suite('filters on every response', async () => {
    const server = await Fixture.use({
        location: { mcp_stream_after: '50ms', mcp_close_after: 'off',
                    mcp_auth_resource: 'https://mcp.example.com/mcp',
                    mcp_auth_server: 'https://id.example.com',
                    mcp_allow_origin: 'https://app.example.com' },

        // Debian enables the first two lines

        http: `${load('access_compat', 'alias', 'autoindex', 'deflate', 'dir')}
            ${load('filter', 'negotiation', 'reqtimeout')}
            ${load('cache', 'cache_disk', 'expires', 'include', 'ratelimit')}
            ${load('substitute', 'speling', 'rewrite')}
            CacheRoot ${dir}/cache
            CacheEnable disk /
            CacheIgnoreCacheControl On
            CacheStorePrivate On
            ExpiresActive On
            ExpiresDefault "access plus 1 hour"
            CheckSpelling On
            <Directory "/">
                Options FollowSymLinks MultiViews
            </Directory>
            AddOutputFilterByType DEFLATE text/html text/plain application/json
            AddOutputFilterByType SUBSTITUTE application/json
            Substitute s/unlikely-to-be-there/x/
            SetOutputFilter RATE_LIMIT
            SetEnv rate-limit 4096`,
    });
    const gzip = { 'Accept-Encoding': 'gzip' };

    test('metadata document: plain, compressed, and for a page of an origin',
        async () => {
            const where = '/.well-known/oauth-protected-resource/mcp';
            const plain = await get(server, where);

            assert.equal(plain.status, 200);
            assert.equal((await plain.json()).resource,
                         'https://mcp.example.com/mcp');

            const packed = await get(server, where, gzip);

            assert.equal(packed.status, 200);
            assert.equal(packed.headers['content-encoding'], 'gzip');
            await packed.ended;
            assert.equal(JSON.parse(zlib.gunzipSync(
                Buffer.concat(packed.chunks))).resource,
            'https://mcp.example.com/mcp');

            const preflight = await request(server.port, {
                method: 'OPTIONS', path: where,
                headers: { Origin: 'https://app.example.com',
                           'Access-Control-Request-Method': 'GET' } });

            assert.equal(preflight.status, 204);
        });

    test('preflight request at the endpoint: 204', async () => {
        const answer = await request(server.port, {
            method: 'OPTIONS', path: '/mcp',
            headers: { ...gzip, Origin: 'https://app.example.com',
                       'Access-Control-Request-Method': 'POST' } });

        assert.equal(answer.status, 204);
    });

    test('compressed JSON and a stream: complete', async () => {
        const session = await server.session();
        const list = await session.request('tools/list', {},
                                           { headers: gzip });

        assert.equal(list.headers['content-encoding'], 'gzip');
        await list.ended;
        assert.ok(JSON.parse(zlib.gunzipSync(Buffer.concat(list.chunks)))
            .result.tools.length > 30);

        const { messages, response } = await session.follow(
            await session.call('count', { n: 5 }, { headers: gzip }));

        assert.deepEqual(counted(messages), upTo(5));
        assert.equal(textOf(response.result), 'counted to 5');
    });

    test('errors: 404 and 405 without a crash', async () => {
        assert.equal((await get(server, '/mcp/below', gzip)).status, 404);
        assert.equal((await get(server, '/mcp-backend/tools', gzip)).status,
                     404);
        assert.equal((await request(server.port, { path: '/status',
            headers: gzip })).status, 405);
        assert.equal((await get(server, '/status', gzip)).status, 200);
    });
});
