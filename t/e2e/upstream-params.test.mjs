// SPDX-License-Identifier: Apache-2.0

// Headers Mcp-Param-* for an MCP server of revision 2026-07-28, whose tools
// have "x-mcp-header", and clients of older revisions, which do not send them.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { catalog } from './lib/scripted.mjs';
import { recording } from './lib/upstream.mjs';

const upstream = await recording();

const without = ['mcp_catalog', 'mcp_route', 'mcp_server'];
const described = () => ({ capabilities: { tools: {} }, ttlMs: 0,
    supportedVersions: ['2026-07-28'], cacheScope: 'public',
    resultType: 'complete' });

const tool = (name, properties) => ({ name, inputSchema: {
    type: 'object', properties } });
const query = {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', 'x-mcp-header': 'Row-Limit' },
    text: { type: 'string' },
    options: { type: 'object', properties: {
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' } } },
};

let pages;
upstream.describe = described;

// The server refuses a call whose headers do not agree with the arguments, as
// SDKs do, and answers with the headers that it got.

const params = (headers) => Object.fromEntries(Object.entries(headers)
    .filter(([name]) => name.startsWith('mcp-param-')));

function refuses({ body, headers }) {
    if (body.params.name !== 'query') {
        return undefined;
    }

    for (const [key, header] of [['region', 'region'],
                                 ['limit', 'row-limit']])
    {
        const value = body.params.arguments[key];

        if ((value === undefined) !== (headers[`mcp-param-${header}`]
                                       === undefined))
        {
            return { status: 400, error: { code: -32020,
                message: `Header mismatch: Mcp-Param-${header}` } };
        }
    }

    return undefined;
}

upstream.reply = (call) => {
    const { body } = call;

    if (body.method === 'tools/list') {
        const page = Number(body.params.cursor ?? 0);

        return { tools: pages[page], ttlMs: 0, cacheScope: 'private',
                 resultType: 'complete',
                 ...page + 1 < pages.length
                     ? { nextCursor: String(page + 1) } : {} };
    }

    return refuses(call) ?? { resultType: 'complete', content: [{
        type: 'text', text: JSON.stringify(params(call.headers)) }] };
};

const started = (form = 'modern', options = {}, omit = without) => Fixture.use({
    without: omit, workers: 1, location: { mcp_stream_after: '0',
        mcp_task_after: 'off', mcp_backend: 'it', ...options },
    backends: { it: { http: upstream.port, upstream: form } } });

const methods = (from) => upstream.requests.slice(from)
    .map(({ body }) => body.method);
const sent = async (session, args) => JSON.parse(
    (await session.tool('query', args)).content[0].text);


const server = await started();

describe('client of 2025-11-25, tools of the server were listed', () => {
    let session;

    before(async () => {
        pages = [[tool('query', query), tool('plain', {})]];
        session = await server.session();
        await session.response('tools/list');
    });

    test('arguments with x-mcp-header: the MCP server gets them as Mcp-Param headers',
         async () => {
        assert.deepEqual(await sent(session, { region: 'eu', limit: 5,
            text: 'no', options: { dry: true } }),
                         { 'mcp-param-region': 'eu',
                           'mcp-param-row-limit': '5',
                           'mcp-param-dry': 'true' });
        assert.equal(upstream.last().headers['mcp-name'], 'query');
    });

    test('arguments with x-mcp-header, absent or null: the MCP server gets no Mcp-Param header',
         async () => {
        const { body, headers } = await session.tool('query',
            { options: { dry: null } }).then(() => upstream.last());

        assert.deepEqual(params(headers), {});
        assert.deepEqual(body.params.arguments, { options: { dry: null } });
    });

    test('tool without x-mcp-header: the MCP server gets no Mcp-Param header',
         async () => {
        upstream.requests.length = 0;
        await session.tool('plain', { region: 'eu' });
        assert.deepEqual(params(upstream.requests[0].headers), {});
    });

    for (const [part, text] of [['letters that are not ASCII', 'größe'],
                                ['a line break', 'a\nb'],
                                ['a space at its end', 'a '],
                                ['the form =?base64?...?=', '=?base64?a?=']])
    {
        test(`argument with ${part}: its Mcp-Param header is in Base64`,
             async () => {
            assert.equal((await sent(session, { region: text }))
                             ['mcp-param-region'],
                         `=?base64?${Buffer.from(text).toString('base64')}?=`);
        });
    }

    test('number with an exponent as an argument: its Mcp-Param header is a decimal number',
         async () => {
        const text = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":'
                     + '{"name":"query","arguments":{"limit":0.5e2}}}';

        await (await session.post(text)).text();
        assert.deepEqual(params(upstream.last().headers),
                         { 'mcp-param-row-limit': '50' });
    });

    test('client of 2025-11-25 sends Mcp-Param-Region itself: the module replaces the value',
         async () => {
        const own = await server.session({ headers: {
            'Mcp-Param-Region': 'us', 'mcp-param-other': 'x' } });

        assert.deepEqual(await sent(own, { region: 'eu' }),
                         { 'mcp-param-region': 'eu', 'mcp-param-other': 'x' });
    });

    test('call has an argument with x-mcp-header twice: -32602, the MCP server is not called',
         async () => {
        const text = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":'
                     + '{"name":"query","arguments":{"region":"a","region":"b"'
                     + '}}}';

        upstream.requests.length = 0;

        const { response: { error } } = await session.follow(
            Object.assign(await session.post(text), { id: 5 }));

        assert.equal(error.code, -32602);
        assert.match(error.message, /Mcp-Param-Region/);
        assert.deepEqual(methods(0), []);
    });

    test('argument of 64 KB, declared with x-mcp-header: -32602', async () => {
        const { error } = await session.response('tools/call', {
            name: 'query', arguments: { region: 'a'.repeat(65536) } });

        assert.equal(error.code, -32602);
        assert.match(error.message, /64 KB/);
    });

    test('batch of calls: each has the Mcp-Param headers of its own arguments',
         async () => {
        const older = await server.session({ version: '2025-03-26' });
        const call = (id, region) => ({ jsonrpc: '2.0', id,
            method: 'tools/call', params: { name: 'query',
                                            arguments: { region } } });
        const from = upstream.requests.length;

        await (await older.post([call(1, 'a'), call(2, 'b')])).text();
        assert.deepEqual(upstream.requests.slice(from).map(({ body, headers }) =>
            [body.params.arguments.region, headers['mcp-param-region']]).sort(),
                         [['a', 'a'], ['b', 'b']]);
    });
});


describe('client of 2025-11-25, the tools of the server are not known', () => {
    test('MCP server refuses a call without Mcp-Param headers: the server gets tools/list, then the call with the headers',
         async () => {
        pages = [[tool('query', query)]];

        const session = await (await started()).session();
        const from = upstream.requests.length;

        assert.deepEqual(await sent(session, { region: 'eu' }),
                         { 'mcp-param-region': 'eu' });
        assert.deepEqual(methods(from),
                         ['tools/call', 'tools/list', 'tools/call']);

        const { headers, body } = upstream.requests[from + 1];

        assert.equal(headers['mcp-method'], 'tools/list');
        assert.equal(headers['mcp-name'], undefined);
        assert.equal(body.params._meta[
            'io.modelcontextprotocol/protocolVersion'], '2026-07-28');

        await sent(session, { region: 'us' });
        assert.deepEqual(methods(from).slice(3), ['tools/call']);
    });

    test('MCP server refuses a call without Mcp-Param headers, the tool is on page 2 of tools/list: both pages are requested',
         async () => {
        pages = [[tool('other', {})], [tool('query', query)], [tool('b', {})]];

        const session = await (await started()).session();
        const from = upstream.requests.length;

        assert.deepEqual(await sent(session, { region: 'eu' }),
                         { 'mcp-param-region': 'eu' });
        assert.deepEqual(methods(from), ['tools/call', 'tools/list',
                                         'tools/list', 'tools/call']);
    });

    test('x-mcp-header was added to a tool after tools/list: a refused call of this tool is sent again with the header',
         async () => {
        pages = [[tool('query', { region: { type: 'string' } })]];

        const session = await (await started()).session();

        await session.response('tools/list');
        pages = [[tool('query', query)]];
        assert.deepEqual(await sent(session, { region: 'eu' }),
                         { 'mcp-param-region': 'eu' });
    });

    test('MCP server requires a header that tools/list does not declare: the call is sent twice, then the client gets -32603',
         async () => {
        pages = [[tool('query', {})]];

        const session = await (await started()).session();
        const from = upstream.requests.length;
        const { error } = await session.response('tools/call', {
            name: 'query', arguments: { region: 'eu' } });

        assert.equal(error.code, -32603);
        assert.deepEqual(methods(from),
                         ['tools/call', 'tools/list', 'tools/call']);
    });

    test('mcp_upstream auto, MCP server refuses a call without Mcp-Param headers: the call is sent again with the headers',
         async () => {
        pages = [[tool('query', query)]];

        const session = await (await started('auto')).session();

        assert.deepEqual(await sent(session, { region: 'eu' }),
                         { 'mcp-param-region': 'eu' });
    });

    test('catalog with x-mcp-header: the first call has the Mcp-Param headers',
         async () => {
        const session = await (await started('modern', {
            mcp_catalog: await catalog({ tools: [tool('query', query)] }),
        }, ['mcp_route', 'mcp_server'])).session();
        const from = upstream.requests.length;

        assert.deepEqual(await sent(session, { region: 'eu' }),
                         { 'mcp-param-region': 'eu' });
        assert.deepEqual(methods(from), ['tools/call']);
    });

    test('MCP server refuses a header by an error in an event stream: -32603, the call is not sent again',
         async () => {
        const session = await (await started()).session();
        const { reply } = upstream;
        const from = upstream.requests.length;

        upstream.reply = ({ body }) => [{ jsonrpc: '2.0', id: body.id,
            error: { code: -32020, message: 'Header mismatch' } }];

        try {
            const { error } = await session.response('tools/call', {
                name: 'query', arguments: { region: 'eu' } });

            assert.equal(error.code, -32603);
            assert.deepEqual(methods(from), ['tools/call']);
        } finally {
            upstream.reply = reply;
        }
    });

    test('MCP server refuses a call without Mcp-Param headers, then tools/list fails: the client gets "Upstream failed"',
         async () => {
        const failing = await started();
        const session = await failing.session();
        const { reply } = upstream;

        upstream.reply = (call) => {
            if (call.body.method !== 'tools/list') {
                return reply(call);
            }

            call.res.socket.destroy();

            return undefined;
        };

        try {
            const { error } = await session.response('tools/call', {
                name: 'query', arguments: { region: 'eu' } });

            assert.equal(error.code, -32603);
            assert.equal(error.message, 'Upstream failed');
            assert.match(await failing.log(),
                         /rejected by the MCP server because of a header, and tools\/list, which is needed to correct the header, failed: /);
        } finally {
            upstream.reply = reply;
        }
    });
});


test('client of 2026-07-28: the MCP server gets the client\'s Mcp-Param headers, the client gets the server\'s refusal',
     async () => {
    const client = new Modern(server);
    const from = upstream.requests.length;
    const { result } = await client.response('tools/call', {
        name: 'query', arguments: { region: 'eu' } }, {
        headers: { 'Mcp-Param-Region': 'eu' } });

    assert.equal(result.content[0].text, '{"mcp-param-region":"eu"}');

    const { code } = await client.refused('tools/call', {
        name: 'query', arguments: { region: 'eu' } });

    assert.equal(code, -32020);
    assert.deepEqual(methods(from), ['tools/call', 'tools/call']);
});
