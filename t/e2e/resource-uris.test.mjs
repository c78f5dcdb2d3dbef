// SPDX-License-Identifier: Apache-2.0

// URIs of resources: spellings, templates, and subscriptions that the server
// answers itself.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { Session } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-uris-'));
const file = path.join(dir, 'catalog.json');

await fs.writeFile(file, JSON.stringify({
    tools: [{ name: 'publish', inputSchema: { type: 'object' } }],
    resources: [{ uri: 'file:///docs/café.txt', name: 'café' },
                { uri: 'HTTP://Example.com/A', name: 'a' },
                { uri: 'file:///secret/été', name: 'secret' },
                { uri: 'file:///scoped', name: 'scoped',
                  'x-mcp-scope': 'read' },
                { uri: 'gone://r', name: 'r' }],
    resourceTemplates: [{ uriTemplate: 'file:///t/café/{x}', name: 't' },
                        { uriTemplate: 'test://template/{id}/data',
                          name: 'template' },
                        { uriTemplate: 'all:{+x}', name: 'all' }],
}));
after(() => fs.rm(dir, { recursive: true }));

const server = await Fixture.use({
    location: {
        mcp_catalog: file,
        mcp_close_after: 'off',
        nginx: `mcp_route ~^gone: @absent;
                mcp_allow resources/file:///secret/* 0;
                mcp_allow "resources/~^all:.*%C3" 0;
                mcp_allow * 1;
                mcp_granted_scopes $http_x_scopes;`,
        apache: `MCPRoute ~^gone: /mcp-backend/absent
                 MCPAllow resources/file:///secret/* false
                 MCPAllow "resources/~^all:.*%C3" false
                 MCPAllow * true
                 MCPGrantedScopes "%{HTTP:X-Scopes}"`,
    },
    server: {
        nginx: `
            location = /bare { mcp mcp; mcp_backend @tools; }
            location @absent { include ${root}/examples/mcp_proxy_params;
                rewrite ^ /? break; proxy_pass http://127.0.0.1:1; }`,
        apache: `
            <Location "/bare">
                SetHandler mcp
                MCPBackend /mcp-backend/tools
            </Location>
            <Location "/mcp-backend/absent">
                ProxyPass http://127.0.0.1:1/
            </Location>`,
    },
});
const session = await server.session();
const modern = new Modern(server);

// The backend has none of these resources; its error -32602, which differs from
// the server's -32002, shows that the request was passed on.

const PASSED = -32602;
const REFUSED = -32002;

const code = async (method, uri) =>
    (await session.response(method, { uri })).error?.code;

describe('resources/read', () => {
    const cases = [
        ['URI with non-ASCII characters', 'file:///docs/café.txt', PASSED],
        ['URI with non-ASCII characters, percent-encoded', 'file:///docs/caf%C3%A9.txt', PASSED],
        ['URI with percent-encoding in lower-case hex digits', 'file:///docs/caf%c3%a9.txt', PASSED],
        ['URI with a percent-encoded letter', 'file:///d%6Fcs/café.txt', PASSED],
        ['URI with the scheme in upper case', 'FILE:///docs/café.txt', PASSED],
        ['URI with the path in another case', 'file:///Docs/café.txt', REFUSED],
        ['URI with a percent-encoded slash', 'file:///docs%2Fcafé.txt', REFUSED],
        ['URI with scheme and host in lower case', 'http://example.com/A', PASSED],
        ['URI with the host in upper case', 'http://EXAMPLE.COM/A', PASSED],
        ['URI with the path in lower instead of upper case', 'http://example.com/a', REFUSED],
        ['URI of a template with a plain literal', 'file:///t/café/1', PASSED],
        ['URI of a template with a percent-encoded literal', 'file:///t/caf%c3%A9/1', PASSED],
        ['URI of a template with a value of one character', 'file:///t/café/%C3%A9', PASSED],
        ['URI of a template with an empty value', 'file:///t/café/', REFUSED],
        ['URI of a template with an empty value in the middle', 'test://template//data',
            REFUSED],
        ['URI of a template that accepts any characters, with an empty value', 'all:', REFUSED],
        ['URI of a template that accepts any characters', 'all:x', PASSED],
    ];

    for (const [name, uri, expected] of cases) {
        test(`resources/read, ${name}: ${expected === PASSED ? 'passed on' : '-32002'}`,
            async () => {
                assert.equal(await code('resources/read', uri), expected);
            });
    }
});

describe('permission', () => {
    for (const uri of ['file:///secret/été', 'file:///secret/%C3%A9t%C3%A9',
                       'file:///%73ecret/%c3%a9t%c3%a9',
                       'FILE:///s%65cret/été', 'all:é', 'all:%c3%a9']) {
        test(`resource hidden by mcp_allow, requested as ${uri}: -32002`, async () => {
            assert.equal(await code('resources/read', uri), REFUSED);
            assert.equal(await code('resources/subscribe', uri), REFUSED);
        });
    }

    test('subscription to a resource with x-mcp-scope, in another spelling of its URI: 403',
         async () => {
        const answer = await session.request('resources/subscribe',
                                             { uri: 'FILE:///scop%65d' });

        assert.equal(answer.status, 403);
    });

    test('subscriptions/listen for a resource hidden by mcp_allow, in another spelling of its URI: not acknowledged',
         async () => {
        const uris = ['file:///docs/caf%c3%a9.txt', 'file:///%73ecret/été'];
        const answer = await modern.request('subscriptions/listen', {
            notifications: { resourceSubscriptions: uris } });
        const { params } = await answer.message();

        assert.deepEqual(params.notifications,
                         { resourceSubscriptions: uris.slice(0, 1) });
        answer.close();
    });
});

const updated = (uri) => ({ jsonrpc: '2.0', params: { uri },
                            method: 'notifications/resources/updated' });
const CHANGED = { jsonrpc: '2.0',
                  method: 'notifications/tools/list_changed' };

describe('resources/subscribe', () => {
    test('resources/subscribe at an endpoint with a catalog: answered without a backend',
         async () => {
        assert.equal(session.server.capabilities.resources.subscribe, true);

        for (const what of ['subscribe', 'unsubscribe']) {
            const { result } = await session.response(`resources/${what}`,
                                                      { uri: 'gone://r' });

            assert.deepEqual(result, {});
        }

        assert.equal(await code('resources/subscribe', 'file:///none'),
                     REFUSED);
    });

    test('resources/subscribe, update published with another spelling of the URI: arrives',
         async () => {
        const subscriber = await server.session();
        const listening = await subscriber.get();

        await listening.block();
        await subscriber.response('resources/subscribe',
                                  { uri: 'file:///docs/caf%c3%a9.txt' });

        for (const uri of ['file:///docs/café.txt',
                           'FILE:///docs/caf%C3%A9.txt']) {
            await session.tool('publish', { message: updated(uri) });
            assert.deepEqual((await listening.message()).params, { uri });
        }

        await subscriber.response('resources/unsubscribe',
                                  { uri: 'file:///docs/café.txt' });
        await session.tool('publish',
                           { message: updated('file:///docs/café.txt') });
        await session.tool('publish', { message: CHANGED });
        assert.equal((await listening.message()).method, CHANGED.method);
        listening.close();
    });

    test('subscriptions/listen, update published with another spelling of the URI: arrives',
         async () => {
        const answer = await modern.request('subscriptions/listen', {
            notifications: { resourceSubscriptions:
                ['file:///docs/caf%c3%a9.txt'] } });

        await answer.message();
        await session.tool('publish',
                           { message: updated('FILE:///docs/caf%C3%A9.txt') });
        assert.equal((await answer.message()).params.uri,
                     'FILE:///docs/caf%C3%A9.txt');
        answer.close();
    });
});

test('resources/subscribe at an endpoint without a catalog: the capability is not declared, the request reaches the backend',
    async () => {
        const bare = await Session.open(server, {
            send: (options) => request(server.port,
                                       { ...options, path: '/bare' }) });

        assert.deepEqual(bare.server.capabilities.resources,
                         { listChanged: true });
        assert.deepEqual((await bare.response('resources/subscribe',
                                              { uri: 'x:y' })).result, {});
    });
