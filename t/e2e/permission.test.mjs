// SPDX-License-Identifier: Apache-2.0

// Permission: rules of mcp_allow and scopes of items, for each kind of item and
// clients of both eras.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { Session, responseOf } from './lib/session.mjs';

const inputSchema = { type: 'object' };

const catalog = {
    tools: [
        { name: 'echo', inputSchema },
        { name: 'count', inputSchema },
        { name: 'admin_drop', inputSchema },
        { name: 'admin_stop', inputSchema },
        { name: 'running', inputSchema },
        { name: 'open', inputSchema, 'x-mcp-scope': 'see count' },
    ],
    prompts: [{ name: 'greet' }, { name: 'secret' }],
    resources: [{ uri: 'test://a', name: 'a' },
                { uri: 'test://s', name: 's', 'x-mcp-scope': 'read' }],
    resourceTemplates: [{ uriTemplate: 'db:{table}', name: 'db' },
                        { uriTemplate: 'test://t/{id}', name: 't' }],
    completions: true,
};

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-permission-'));
const file = path.join(dir, 'catalog.json');

await fs.writeFile(file, JSON.stringify(catalog));
after(() => fs.rm(dir, { recursive: true }));

const server = await Fixture.use({
    location: {
        mcp_catalog: file,
        mcp_page_size: '2',
        nginx: `mcp_allow tools/admin_* $may;
                mcp_allow prompts/secret $may;
                mcp_allow "resources/~^db:" $may;
                mcp_allow * 1;
                mcp_principal $http_x_user;
                mcp_granted_scopes $http_x_scopes;`,
        apache: `MCPAllow tools/admin_* "%{HTTP:X-User} == 'root'"
                 MCPAllow prompts/secret "%{HTTP:X-User} == 'root'"
                 MCPAllow "resources/~^db:" "%{HTTP:X-User} == 'root'"
                 MCPAllow * true
                 MCPPrincipal "%{HTTP:X-User}"
                 MCPGrantedScopes "%{HTTP:X-Scopes}"`,
    },
    http: { nginx: 'map $http_x_user $may { root 1; other 0; }' },
});

const user = new Modern(server, { headers: { 'X-User': 'user' } });
const root = new Modern(server, { headers: { 'X-User': 'root' } });

// Returns the names on all pages; no page may have more than two.

async function names(client, method, member, key = 'name') {
    const found = [];
    let cursor;

    do {
        const { result } = await client.response(method,
            cursor === undefined ? {} : { cursor });

        assert.ok(result[member].length <= 2);
        found.push(...result[member].map((item) => item[key]));
        cursor = result.nextCursor;

        if (cursor !== undefined) {
            assert.equal(result[member].length, 2, 'a page is full');
        }

        if (result.cacheScope !== undefined) {
            assert.equal(result.cacheScope, 'private');
        }
    } while (cursor !== undefined);

    return found;
}

const lists = [
    ['tools/list', 'tools', 'name', ['echo', 'count', 'running', 'open'],
        ['echo', 'count', 'admin_drop', 'admin_stop', 'running', 'open']],
    ['prompts/list', 'prompts', 'name', ['greet'], ['greet', 'secret']],
    ['resources/list', 'resources', 'uri', ['test://a', 'test://s'],
        ['test://a', 'test://s']],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate',
        ['test://t/{id}'], ['db:{table}', 'test://t/{id}']],
];

describe('lists', () => {
    for (const [method, member, key, few, all] of lists) {
        test(`${method} by callers with different rights: each gets only the items that it may see`, async () => {
            assert.deepEqual(await names(user, method, member, key), few);
            assert.deepEqual(await names(root, method, member, key), all);

            const session = await Session.open(server,
                { headers: { 'X-User': 'user' } });

            assert.deepEqual(await names(session, method, member, key), few);
        });
    }
});

describe('hidden items', () => {
    const cases = [
        ['tools/call', { name: 'admin_drop' }, { name: 'admin_none' }],
        ['prompts/get', { name: 'secret' }, { name: 'secreu' }],
        ['resources/read', { uri: 'db:users' }, { uri: 'dc:users' }],
        ['completion/complete',
            { ref: { type: 'ref/prompt', name: 'secret' },
              argument: { name: 'a', value: '' } },
            { ref: { type: 'ref/prompt', name: 'secreu' },
              argument: { name: 'a', value: '' } }],
        ['completion/complete',
            { ref: { type: 'ref/resource', uri: 'db:{table}' },
              argument: { name: 'table', value: '' } },
            { ref: { type: 'ref/resource', uri: 'dc:{table}' },
              argument: { name: 'table', value: '' } }],
    ];

    for (const [method, hidden, unknown] of cases) {
        test(`${method} of ${JSON.stringify(hidden)}, hidden by mcp_allow: the same error as for an unknown item`,
             async () => {
            const { error: a } = await user.response(method, hidden);
            const { error: b } = await user.response(method, unknown);

            assert.equal(a.code, b.code);
            assert.equal(a.message.replace(/:.*/, ''),
                         b.message.replace(/:.*/, ''));
        });
    }

    test('subscription to a resource hidden by mcp_allow: the same result as for an unknown resource',
         async () => {
        const session = await Session.open(server,
            { headers: { 'X-User': 'user' } });

        for (const uri of ['db:users', 'dc:users']) {
            const { error } = await session.response('resources/subscribe',
                                                     { uri });

            assert.equal(error.code, -32002);
        }

        const answer = await user.request('subscriptions/listen', {
            notifications: { toolsListChanged: true,
                             resourceSubscriptions: ['test://a', 'db:users',
                                                     'dc:users'] } });
        const { params } = await answer.message();

        assert.deepEqual(params.notifications, { toolsListChanged: true,
            resourceSubscriptions: ['test://a'] });
        answer.close();
    });

    test('call of a tool hidden by mcp_allow: the log names the rule that hides the tool',
         async () => {
        const log = await server.log();

        assert.match(log, /tool "admin_drop" is hidden from the caller: the value of mcp_allow "tools\/admin_\*" is empty or 0/);
        assert.doesNotMatch(log, /"admin_none" is hidden/);
    });
});

describe('scopes', () => {
    const having = (scopes, who = 'user') => new Modern(server, {
        headers: { 'X-User': who, ...(scopes && { 'X-Scopes': scopes }) } });

    async function lacks(answer, scopes) {
        assert.equal(answer.status, 403);
        assert.equal(answer.headers['www-authenticate'],
                     `Bearer error="insufficient_scope", scope="${scopes}"`);

        const { error } = await responseOf(answer, answer.id);

        assert.match(error.message, new RegExp(`scopes: ${scopes}$`));
    }

    test('call of a tool with two scopes: 403 unless the caller has both scopes', async () => {
        const args = { name: 'open', arguments: { gate: 'none' } };

        await lacks(await having().request('tools/call', args), 'see count');
        await lacks(await having('see').request('tools/call', args),
                    'see count');
        await lacks(await having('counts see').request('tools/call', args),
                    'see count');

        const { result } = await having('more count  see')
            .response('tools/call', args);

        assert.ok(result.content);
    });

    test('resource with a scope: 403 for read and subscription without this scope',
         async () => {
        await lacks(await having().request('resources/read',
                                           { uri: 'test://s' }), 'read');
        await lacks(await having('see').request('subscriptions/listen',
            { notifications: { resourceSubscriptions: ['test://s'] } }),
                    'read');
    });

    test('call in a session without the scope of the tool: 403', async () => {
        const session = await Session.open(server,
            { headers: { 'X-User': 'user' } });

        await lacks(await session.request('tools/call',
            { name: 'open', arguments: {} }), 'see count');
    });

    test('batch with a call that lacks a scope and a call of a hidden tool: an error for each of the two calls',
         async () => {
        const session = await Session.open(server,
            { version: '2025-03-26', headers: { 'X-User': 'user' } });
        const call = (id, name) => ({ jsonrpc: '2.0', id, method: 'tools/call',
            params: { name, arguments: { text: 'a' } } });
        const answer = await session.post(JSON.stringify(
            [call(1, 'open'), call(2, 'echo'), call(3, 'admin_drop')]));
        const answers = [];

        assert.equal(answer.status, 200);

        if (answer.sse) {
            for (let m; (m = await answer.message());) {
                answers.push(m);
            }
        } else {
            answers.push(...await answer.json());
        }

        const [lacking, fine, hidden] = answers.sort((a, b) => a.id - b.id);

        assert.match(lacking.error.message, /scopes: see count$/);
        assert.ok(fine.result);
        assert.match(hidden.error.message, /Unknown tool/);
    });
});

test('call of a tool that mcp_allow permits: completes', async () => {
    const answer = await root.call('count', { to: 3 }, {});
    const { response } = await root.follow(answer);

    assert.ok(response.result);
});

// A backend whose JSON parser ignores the case of names, or takes the last of
// two equal names, would execute admin_drop, which the caller may not call.

describe('a request with two names for the tool', () => {
    const spellings = ['name', 'Name', 'NAME', 'n\\u0061me', '\\u004eame',
                       'name\\u0000'];

    for (const spelled of spellings) {
        for (const order of ['before', 'after']) {
            test(`params with member "${spelled}" ${order} "name": 400, -32600, not sent to the backend`,
                async () => {
                    const tag = `${spelled}-${order}`;
                    const message = user.message('tools/call',
                        { name: 'count', arguments: { tag } });
                    const other = `"${spelled}":"admin_drop"`;
                    const body = JSON.stringify(message).replace(
                        '"name":"count"',
                        order === 'before' ? `${other},"name":"count"`
                            : `"name":"count",${other}`);
                    const answer = await user.post(body, { headers: {
                        'Mcp-Method': 'tools/call', 'Mcp-Name': 'count' } });
                    const { error } = await answer.json();

                    assert.equal(answer.status, 400);
                    assert.equal(error.code, -32600);
                    assert.match(error.message, /"name"/);

                    const { started = 0 } = await root.running(tag, 'started',
                                                               0);

                    assert.equal(started, 0);
                });
        }
    }

    test('message with the members PARAMS and params: 400', async () => {
        const body = JSON.stringify(user.message('tools/call',
            { name: 'echo', arguments: {} })).replace(
            '"params":', '"PARAMS":{"name":"admin_drop"},"params":');
        const answer = await user.post(body, { headers: {
            'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo' } });

        assert.equal(answer.status, 400);
        assert.match((await answer.json()).error.message,
                     /"PARAMS" must be spelled "params"/);
    });

    test('member "Name" in the arguments of a tool: accepted', async () => {
        const result = await user.tool('echo', { text: 'a', Name: 'b' });

        assert.equal(result.isError, undefined);
    });
});

// Clients write null for a member that they leave out.

describe('null for optional members', () => {
    for (const [method, params] of [
        ['tools/list', { cursor: null }],
        ['tools/call', { name: 'echo', arguments: null }],
        ['tools/call', { name: 'echo', arguments: {},
                         _meta: { progressToken: null } }],
    ]) {
        test(`${method} with params ${JSON.stringify(params)}: accepted`, async () => {
            const session = await Session.open(server,
                { headers: { 'X-User': 'user' } });
            const { error } = await session.response(method, params);

            assert.equal(error, undefined);
        });
    }

    test('ping with params null: accepted', async () => {
        const session = await Session.open(server,
            { headers: { 'X-User': 'user' } });
        const answer = await session.post(
            { jsonrpc: '2.0', id: 5, method: 'ping', params: null });

        assert.deepEqual((await answer.json()).result, {});
    });
});
