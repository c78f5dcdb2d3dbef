// SPDX-License-Identifier: Apache-2.0

// Requests of revision 2026-07-28: how the server recognizes them, the order of
// its checks, the errors.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { META, MODERN, Modern } from './lib/modern.mjs';
import { catalog } from './lib/scripted.mjs';
import { textOf } from './lib/session.mjs';

const server = await Fixture.use({ workers: 2 });
const modern = new Modern(server);
const session = await server.session();

const HEADER = -32020, CAPABILITY = -32021, VERSION = -32022;
const INVALID = -32600, METHOD = -32601, PARAMS = -32602, PARSE = -32700;

const URI = 'test://static-text';

// The answer must be a JSON error with the id of its request.

async function refusal(answer, status, code, id) {
    assert.equal(answer.type, 'application/json');

    const body = await answer.json();

    assert.deepEqual([answer.status, body.error?.code], [status, code],
                     JSON.stringify(body));
    assert.deepEqual(body.id, id);
    assert.equal(typeof body.error.message, 'string');

    return body.error;
}

async function refuses(status, code, method, params, options) {
    const answer = await modern.request(method, params, options);

    return refusal(answer, status, code, answer.id);
}

async function accepts(method, params, options) {
    const answer = await modern.request(method, params, options);
    const { response } = await modern.follow(answer);

    assert.equal(answer.status, 200);
    assert.notEqual(response.result, undefined, JSON.stringify(response));

    return response.result;
}


describe('the revision of a request', () => {
    test('requests of 2025-11-25 and 2026-07-28 at once: each is answered by the rules of its revision',
         async () => {
        const [old, young] = await Promise.all([
            session.tool('echo', { text: 'old' }),
            modern.tool('echo', { text: 'young' })]);

        assert.equal(textOf(old), 'old');
        assert.equal(old.resultType, undefined);
        assert.equal(old._meta, undefined);
        assert.equal(textOf(young), 'young');
        assert.equal(young.resultType, 'complete');
    });

    test('_meta of 2026-07-28, version header missing or older: 400, -32020',
         async () => {
        await refuses(400, HEADER, 'tools/list', {}, {
            headers: { 'MCP-Protocol-Version': null } });
        await refuses(400, HEADER, 'tools/list', {}, {
            headers: { 'MCP-Protocol-Version': '2025-11-25' } });
    });

    test('version header 2026-07-28 without _meta: 400, -32602', async () => {
        const message = { jsonrpc: '2.0', id: 'x', method: 'tools/list' };

        await refusal(await modern.post(message), 400, PARAMS, 'x');
    });

    test('session of 2025-11-25, _meta of a request names 2025-11-25: answered by the rules of 2025-11-25',
        async () => {
            const { result } = await session.response('tools/list', {
                _meta: { [META.version]: '2025-11-25' } });

            assert.ok(result.tools.length > 30);
            assert.equal(result.resultType, undefined);
        });

    test('_meta of 2025-11-25 without a session: 400, -32022',
        async () => {
            const { data } = await refuses(400, VERSION, 'tools/list', {}, {
                meta: { [META.version]: '2025-11-25' },
                headers: { 'MCP-Protocol-Version': '2025-11-25' } });

            assert.deepEqual(data, { supported: [MODERN],
                                     requested: '2025-11-25' });
        });

    test('initialize with _meta of 2026-07-28: 404, -32601', async () => {
        await refuses(404, METHOD, 'initialize', {
            protocolVersion: '2025-11-25', capabilities: {},
            clientInfo: { name: 'e2e', version: '1' } });
    });

    test('initialize with protocolVersion 2026-07-28: a session of 2025-11-25',
         async () => {
        const other = await server.session({ version: MODERN });

        assert.equal(other.version, '2025-11-25');
        assert.notEqual(other.id, undefined);
    });

    test('initialize with the version header 2025-11-25: begins a session',
         async () => {
        const answer = await session.send({
            headers: { 'Content-Type': 'application/json',
                       Accept: 'application/json, text/event-stream',
                       'Mcp-Method': 'initialize',
                       'MCP-Protocol-Version': '2025-11-25' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 0,
                method: 'initialize', params: {
                    protocolVersion: '2025-11-25', capabilities: {},
                    clientInfo: { name: 'e2e', version: '1' } } }),
        });

        assert.equal(answer.status, 200);
        assert.notEqual(answer.headers['mcp-session-id'], undefined);
    });

    test('2026-07-28, capabilities declared only in an earlier request: not used, 400, -32021',
         async () => {
        const able = new Modern(server, { capabilities: { elicitation: {} } });

        assert.equal((await able.tool('ask', {})).resultType,
                     'input_required');

        const { status, code, data } = await modern.refused('tools/call',
            { name: 'ask', arguments: {} });

        assert.deepEqual([status, code], [400, CAPABILITY]);
        assert.deepEqual(data.requiredCapabilities, { elicitation: {} });
    });
});


describe('_meta', () => {
    const wrong = {
        'no params': { jsonrpc: '2.0', id: 7, method: 'tools/list' },
        'no _meta': { jsonrpc: '2.0', id: 7, method: 'tools/list',
                      params: {} },
        ...Object.fromEntries([null, 5, 'x', [], true].map((_meta) => [
            `_meta ${JSON.stringify(_meta)}`,
            { jsonrpc: '2.0', id: 7, method: 'tools/list',
              params: { _meta } }])),
        ...Object.fromEntries([
            [META.version, undefined], [META.version, null],
            [META.version, 20260728], [META.version, [MODERN]],
            [META.capabilities, undefined], [META.capabilities, null],
            [META.capabilities, []], [META.capabilities, 'sampling'],
            [META.capabilities, true],
            [META.info, 'e2e'], [META.info, ['e2e']], [META.info, 1],
            [META.level, 'loud'], [META.level, 'INFO'], [META.level, 7],
            [META.level, ''],
        ].map(([key, value]) => [
            `${key.replace(/^.*\//, '')} ${JSON.stringify(value)}`,
            modern.message('tools/list', {}, { id: 7,
                                               meta: { [key]: value } })])),
    };

    for (const [name, message] of Object.entries(wrong)) {
        test(`2026-07-28, wrong _meta, ${name}: 400, -32602`, async () => {
            await refusal(await modern.post(message), 400, PARAMS, 7);
        });
    }

    for (const method of ['server/discover', 'tools/call', 'prompts/get',
                          'resources/read', 'completion/complete',
                          'subscriptions/listen', 'no/such'])
    {
        test(`2026-07-28, ${method} without _meta: 400, -32602`, async () => {
            await refusal(await modern.post({ jsonrpc: '2.0', id: 'a', method,
                                              params: {} }), 400, PARAMS, 'a');
        });
    }

    test('2026-07-28, _meta without clientInfo: accepted', async () => {
        await accepts('tools/list', {}, { meta: { [META.info]: undefined } });
    });

    test('two requests with different clientInfo in _meta: the same result',
         async () => {
        const one = await accepts('tools/list');
        const other = await accepts('tools/list', {}, {
            meta: { [META.info]: { name: 'other', version: '9',
                                   icons: [{ src: 'https://x.y/z' }] } } });

        assert.deepEqual(one, other);
    });

    test('unknown keys in _meta: accepted', async () => {
        await accepts('tools/list', {}, { meta: {
            'io.modelcontextprotocol/unheard-of': { a: [1] },
            'com.example/x': null, progressToken: 'p' } });
    });

    test('keys of _meta that contain JSON escapes: accepted', async () => {
        const text = JSON.stringify(modern.message('tools/list', {},
                                                   { id: 'e' }))
            .replaceAll('io.modelcontextprotocol/',
                        'io.modelcontextprotocol\\/');
        const answer = await modern.post(text, {
            headers: { 'Mcp-Method': 'tools/list' } });

        assert.equal(answer.status, 200);
        assert.equal((await answer.json()).id, 'e');
    });
});


describe('the version', () => {
    test('version header differs from the version in _meta: 400, -32020, even if one version is unknown',
        async () => {
            await refuses(400, HEADER, 'server/discover', {}, {
                meta: { [META.version]: 'v999.0.0' } });
            await refuses(400, HEADER, 'server/discover', {}, {
                headers: { 'MCP-Protocol-Version': 'v999.0.0' } });
            await refuses(400, HEADER, 'server/discover', {}, {
                headers: { 'MCP-Protocol-Version': '2026-07-28 x' } });
        });

    test('two version headers: 400, -32020', async () => {
        for (const other of [MODERN, '2025-11-25']) {
            await refuses(400, HEADER, 'server/discover', {}, {
                headers: { 'mcp-protocol-version': other } });
        }
    });

    test('unknown version in the header and in _meta: 400, -32022 with the supported and the requested version',
        async () => {
            for (const requested of ['v999.0.0', '1900-01-01', '2025-06-18',
                                     '2024-11-05', 'a"b'])
            {
                const { data } = await refuses(400, VERSION, 'server/discover',
                    {}, { meta: { [META.version]: requested },
                          headers: { 'MCP-Protocol-Version': requested } });

                assert.deepEqual(data, { supported: [MODERN], requested });
            }
        });

    test('unknown method and unknown version in one request: 400, -32022 because of the version', async () => {
        await refuses(400, VERSION, 'no/such', {}, {
            meta: { [META.version]: '2030-01-01' },
            headers: { 'MCP-Protocol-Version': '2030-01-01',
                       'Mcp-Method': null } });
    });

    test('_meta without clientCapabilities, no version header: 400, -32602',
         async () => {
        await refuses(400, PARAMS, 'tools/list', {}, {
            meta: { [META.capabilities]: undefined },
            headers: { 'MCP-Protocol-Version': null } });
    });
});


describe('the method', () => {
    const unknown = ['initialize', 'ping', 'logging/setLevel',
        'resources/subscribe', 'resources/unsubscribe', 'stream/poll',
        'stream/poll/all', 'stream/resume', 'tasks/list', 'tasks/result',
        'sampling/createMessage', 'notifications/initialized',
        'unknown/method', 'Tools/List', '/', 'tools/list/'];

    for (const method of unknown) {
        test(`2026-07-28, method ${method}: 404, -32601`, async () => {
            await refuses(404, METHOD, method, { name: 'x' });
        });
    }

    test('Mcp-Method header missing or different from the method in the body: 400, -32020', async () => {
        const base64 = Buffer.from('tools/list').toString('base64');

        for (const value of [null, '', 'tools/call', 'TOOLS/LIST',
                             'tools/list x', 'tools/lis',
                             `=?base64?${base64}?=`])
        {
            await refuses(400, HEADER, 'tools/list', {}, {
                headers: { 'Mcp-Method': value } });
        }
    });

    test('two Mcp-Method headers: 400, -32020', async () => {
        await refuses(400, HEADER, 'tools/list', {}, {
            headers: { 'mcp-method': 'tools/call' } });
    });

    test('unknown method in the body, another method in Mcp-Method: 400, -32020', async () => {
        await refuses(400, HEADER, 'no/such', {}, {
            headers: { 'Mcp-Method': 'tools/list' } });
    });

    test('header names in any case, spaces around values: accepted',
         async () => {
        for (const name of ['mcp-method', 'MCP-METHOD', 'mCp-mEtHoD']) {
            await accepts('tools/list', {}, {
                headers: { 'Mcp-Method': null, [name]: '  tools/list \t' } });
        }

        await accepts('tools/list', {}, { headers: {
            'MCP-Protocol-Version': null,
            'mcp-protocol-version': ` ${MODERN}  ` } });
    });
});


describe('Mcp-Name', () => {
    const named = [['tools/call', { name: 'echo', arguments: {} }, 'echo'],
        ['prompts/get', { name: 'test_simple_prompt' }, 'test_simple_prompt'],
        ['resources/read', { uri: URI }, URI]];

    for (const [method, params, name] of named) {
        test(`${method}, Mcp-Name header missing or different from the body: 400, -32020`,
             async () => {
            for (const value of [null, '', `${name}x`, name.toUpperCase(),
                                 `${name}, ${name}`])
            {
                await refuses(400, HEADER, method, params, {
                    headers: { 'Mcp-Name': value } });
            }

            await refuses(400, HEADER, method, params, {
                headers: { 'mcp-name': 'other' } });
        });

        test(`${method}, Mcp-Name equal to the name or URI in the body, plain or in Base64: accepted`,
             async () => {
            const base64 = Buffer.from(name).toString('base64');

            await accepts(method, params);
            await accepts(method, params, { headers: {
                'Mcp-Name': `  ${name}  ` } });
            await accepts(method, params, { headers: {
                'Mcp-Name': `=?base64?${base64}?=` } });
        });
    }

    test('Mcp-Name header with a method that has no name: ignored', async () => {
        await accepts('tools/list', {}, { headers: { 'Mcp-Name': 'echo' } });
        await accepts('server/discover', {}, {
            headers: { 'Mcp-Name': '=?base64?!?=' } });
    });

    test('params without a valid name or URI, with any Mcp-Name: -32602',
         async () => {
        for (const [method] of named) {
            await refuses(200, PARAMS, method, {}, {
                headers: { 'Mcp-Name': 'x' } });
            await refuses(200, PARAMS, method, { name: 5, uri: 5 });
        }
    });

    test('unknown method, Mcp-Name differs from the body: 404, -32601',
         async () => {
        await refuses(404, METHOD, 'tools/get', { name: 'echo' }, {
            headers: { 'Mcp-Name': 'other' } });
    });
});


describe('params', () => {
    test('unknown tool: -32602', async () => {
        await refuses(200, PARAMS, 'tools/call', { name: 'nobody' });
        await refuses(200, PARAMS, 'tools/call', { name: '' });
        await refuses(200, PARAMS, 'tools/call', { name: 'ünbekannt' });
    });

    test('arguments of the wrong type: -32602', async () => {
        for (const args of [5, 'x', []]) {
            await refuses(200, PARAMS, 'tools/call',
                          { name: 'echo', arguments: args });
        }
    });

    test('unknown prompt: -32602', async () => {
        await refuses(200, PARAMS, 'prompts/get', { name: 'nobody' });
    });

    test('2026-07-28, unknown resource: -32602 with its URI', async () => {
        for (const uri of ['test://nobody', 'test://näh', 'x:"\\y"']) {
            const { data } = await refuses(200, PARAMS, 'resources/read',
                                           { uri });

            assert.deepEqual(data, { uri });
        }
    });

    test('list request with an unknown cursor: -32602', async () => {
        for (const method of ['tools/list', 'prompts/list', 'resources/list',
                              'resources/templates/list'])
        {
            for (const cursor of ['x', '', '-1', '999999', 5]) {
                await refuses(200, PARAMS, method, { cursor });
            }
        }
    });

    test('completion of an unknown reference: -32602', async () => {
        const argument = { name: 'a', value: 'b' };

        await refuses(200, PARAMS, 'completion/complete', { argument });
        await refuses(200, PARAMS, 'completion/complete', {
            argument, ref: { type: 'ref/prompt', name: 'nobody' } });
        await refuses(200, PARAMS, 'completion/complete', {
            argument, ref: { type: 'ref/other', name: 'x' } });
    });
});


describe('messages that are not requests', () => {
    test('2026-07-28, GET without Last-Event-ID, or DELETE: 405 with only POST in Allow',
         async () => {
        for (const [method, headers] of [
            ['GET', {}], ['GET', { 'Mcp-Session-Id': session.id }],
            ['DELETE', {}], ['DELETE', { 'Mcp-Session-Id': session.id }],
            ['DELETE', { 'Last-Event-ID': 'x.1' }]])
        {
            const answer = await modern.send({ method, headers: {
                Accept: 'text/event-stream',
                'MCP-Protocol-Version': MODERN, ...headers } });

            assert.equal(answer.status, 405);
            assert.equal(answer.headers.allow, 'POST');
        }

        // the session was not deleted

        assert.deepEqual((await session.response('ping')).result, {});
    });

    test('2026-07-28, array of messages: 400, -32600', async () => {
        for (const list of [[modern.message('tools/list')], []]) {
            await refusal(await modern.post(list), 400, INVALID, undefined);
        }
    });

    test('2026-07-28, client POSTs a JSON-RPC response: 400, -32600 without an id',
         async () => {
        for (const message of [{ result: {} },
                               { error: { code: 1, message: 'x' } }])
        {
            await refusal(await modern.post({ jsonrpc: '2.0', id: 9,
                                              ...message }),
                          400, INVALID, undefined);
        }
    });

    test('body that is not JSON: 400, -32700 without an id', async () => {
        for (const text of ['', '{', '{"jsonrpc":"2.0"', '\u0000']) {
            await refusal(await modern.post(text, {
                headers: { 'Mcp-Method': 'tools/list' } }), 400, PARSE,
                          undefined);
        }
    });

    test('JSON that is not JSON-RPC: 400, -32600', async () => {
        for (const text of ['{}', '1', 'null', '"tools/list"',
                            '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
                            '{"jsonrpc":"2.0","id":null,"method":"x"}',
                            '{"jsonrpc":"2.0","id":1.5,"method":"x"}'])
        {
            const answer = await modern.post(text, {
                headers: { 'Mcp-Method': 'x' } });

            assert.equal(answer.status, 400);
            assert.equal((await answer.json()).error.code, INVALID, text);
        }
    });

    test('2026-07-28, client POSTs a notification: 202, the notification has no effect', async () => {
        const gate = 'not cancelled';
        const answer = await modern.call('count', { n: 1, gate, tag: gate },
            { meta: { progressToken: 'p' } });

        await modern.running(gate, 'running', 1);

        for (const method of ['notifications/cancelled',
                              'notifications/initialized',
                              'notifications/roots/list_changed',
                              'notifications/unheard-of'])
        {
            for (const headers of [{}, { 'Mcp-Method': null }]) {
                const { jsonrpc, params } = modern.message(method,
                    { requestId: answer.id });
                const ack = await modern.post({ jsonrpc, method, params },
                                              { headers });

                assert.equal(ack.status, 202);
                assert.equal(await ack.text(), '');
            }
        }

        const bare = await modern.post({ jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId: answer.id } });

        assert.equal(bare.status, 202);
        await modern.open(gate);

        const { response } = await modern.follow(answer);

        assert.equal(textOf(response.result), 'counted to 1');
    });
});


describe('HTTP', () => {
    test('request id that is a number or a string: the response has the same bytes as its id', async () => {
        for (const id of ['1', '0', '-7', '9007199254740993', '""', '"a\\u00e9"',
                          '"\\/"', '"ü"'])
        {
            for (const [method, status] of [['tools/list', 200],
                                            ['no/such', 404]])
            {
                const text = JSON.stringify(modern.message(method, {},
                    { id: 'ID' })).replace('"ID"', id);
                const answer = await modern.post(text, {
                    headers: { 'Mcp-Method': method } });

                assert.equal(answer.status, status);
                assert.ok((await answer.text()).includes(`"id":${id}`));
            }
        }
    });

    test('2026-07-28, Mcp-Session-Id or Last-Event-ID in a POST: ignored, no session begins',
         async () => {
        for (const headers of [{ 'Mcp-Session-Id': 'dead' },
                               { 'Mcp-Session-Id': session.id },
                               { 'Mcp-Session-Id': '' },
                               { 'Last-Event-ID': 'nonsense' },
                               { 'Last-Event-ID': `${session.id}.1` }])
        {
            const answer = await modern.request('tools/list', {}, { headers });

            assert.equal(answer.status, 200);
            assert.equal(answer.headers['mcp-session-id'], undefined);
        }
    });

    test('Origin of another site: 403', async () => {
        const answer = await modern.request('tools/list', {}, {
            headers: { Origin: 'http://evil.example.com' } });

        assert.equal(answer.status, 403);
    });

    test('foreign Host equal to Origin (DNS rebinding): 403', async () => {
        const answer = await modern.request('server/discover', {}, {
            headers: { Host: 'evil.example.com',
                       Origin: 'http://evil.example.com' } });

        assert.equal(answer.status, 403);
    });

    test('Origin of the endpoint: accepted', async () => {
        await accepts('server/discover', {}, {
            headers: { Origin: `http://127.0.0.1:${server.port}` } });
    });

    // None of the codes is in the range that the revision forbids (schema.mjs).

    test('POST with a wrong Content-Type, a wrong Accept or a body that is too large: 415, 406 or 413',
         async () => {
        const status = async (headers, body) => {
            const answer = await modern.post(body
                ?? modern.message('tools/list'), { headers });

            await answer.ended;

            return answer.status;
        };

        assert.equal(await status({ 'Content-Type': 'text/plain' }), 415);
        assert.equal(await status({ Accept: 'text/html' }), 406);
        assert.equal(await status({}, JSON.stringify(modern.message(
            'tools/list', { x: 'x'.repeat(1.1 * 1024 * 1024) }))), 413);
    });

    test('PUT request to the endpoint: 405', async () => {
        const answer = await modern.send({ method: 'PUT', headers: {
            'MCP-Protocol-Version': MODERN } });

        assert.equal(answer.status, 405);
    });
});


describe('discovery', () => {
    test('server/discover: the result has versions, capabilities, serverInfo',
         async () => {
        const { supportedVersions, capabilities, instructions, _meta,
                ...rest } = await accepts('server/discover');

        assert.deepEqual(supportedVersions, [MODERN]);
        assert.equal(instructions,
                     'Tools, prompts and resources for the tests of the MCP '
                     + 'modules.');
        assert.deepEqual(_meta, { [META.server]: { name: 'fixture',
                                                   version: '1.0.0' } });
        assert.deepEqual(rest, { resultType: 'complete', ttlMs: 0,
                                 cacheScope: 'public' });

        for (const kind of ['tools', 'prompts', 'resources', 'logging',
                            'completions'])
        {
            assert.notEqual(capabilities[kind], undefined, kind);
        }

        assert.equal(capabilities.tasks, undefined);
    });

    const bare = async (fixture, message, headers = {}) => {
        const client = new Modern(fixture, { unchecked: true });
        const answer = await client.post(message, { headers: {
            'MCP-Protocol-Version': null, 'Mcp-Method': null, ...headers } });

        return { status: answer.status, ...await answer.json() };
    };

    test('server/discover without a version: 400, -32022 with the supported versions',
         async () => {
        const { status, id, error } = await bare(server,
            { jsonrpc: '2.0', id: 5, method: 'server/discover' });

        assert.equal(status, 400);
        assert.equal(id, 5);
        assert.equal(error.code, VERSION);
        assert.deepEqual(error.data, { supported: [MODERN], requested: '' });
    });

    test('server/discover at an endpoint without 2026-07-28: 404, -32601',
         async () => {
        const old = await Fixture.use({ location: {
            mcp_revisions: '2025-06-18 2025-11-25' } });
        const { status, error } = await bare(old,
            { jsonrpc: '2.0', id: 5, method: 'server/discover' });

        assert.equal(status, 404);
        assert.equal(error.code, METHOD);
    });

    test('initialize with the version header 2026-07-28: 400, -32020 that names the header',
        async () => {
            const { status, error } = await bare(server, {
                jsonrpc: '2.0', id: 5, method: 'initialize', params: {
                    protocolVersion: '2025-11-25', capabilities: {},
                    clientInfo: { name: 'e2e', version: '1' } } },
                { 'MCP-Protocol-Version': MODERN });

            assert.equal(status, 400);
            assert.equal(error.code, HEADER);
            assert.match(error.message, /MCP-Protocol-Version/);
        });

    test('2026-07-28, catalog with only prompts: methods for tools, resources, completions get 404, -32601',
         async () => {
        const little = new Modern(await Fixture.use({
            location: { mcp_catalog: await catalog({ prompts: [] }) } }));
        const { capabilities, instructions } = (await little.response(
            'server/discover')).result;

        assert.notEqual(capabilities.prompts, undefined);
        assert.equal(instructions, undefined);

        for (const kind of ['tools', 'resources', 'completions']) {
            assert.equal(capabilities[kind], undefined, kind);
        }

        for (const [method, params] of [['tools/list', {}],
            ['tools/call', { name: 'echo' }], ['resources/list', {}],
            ['resources/templates/list', {}], ['resources/read', { uri: URI }],
            ['completion/complete', {
                ref: { type: 'ref/prompt', name: 'x' },
                argument: { name: 'a', value: '' } }]])
        {
            const { status, code } = await little.refused(method, params);

            assert.deepEqual([status, code], [404, METHOD], method);
        }

        assert.deepEqual((await little.response('prompts/list')).result
            .prompts, []);
    });

    // These answers need no backend and no memory of the zone.

    test('zone is full: server/discover and tools/list are answered',
         async () => {
        const small = await Fixture.use({
            workers: 2, zone: '1m',
            location: { mcp_stream_buffer: '128k', mcp_close_after: 'off',
                        mcp_quota_key: 'off' },
        });
        const client = new Modern(small);
        const old = await small.session();
        const gate = 'full';
        let refused;

        await old.open(gate, 50);

        for (let i = 0; !refused && i < 200; i++) {
            const answer = await old.call('count', { n: 51, size: 2000, gate });

            if (answer.sse) {
                await answer.block();
            } else {
                refused = await answer.json();
            }
        }

        // the zone has no room for a stream; a quick call needs none

        assert.equal(refused.error.code, -32603);
        assert.equal((await client.call('echo', { text: 'quick' })).status, 200);

        for (const method of ['server/discover', 'tools/list']) {
            const answer = await client.request(method);

            assert.equal(answer.status, 200);
            assert.notEqual((await answer.json()).result, undefined);
        }
    });
});


describe('mcp_revisions', () => {
    test('mcp_revisions 2026-07-28: initialize gets 4xx, POST with an older or no version gets 400, GET and DELETE get 405',
         async () => {
        const only = await Fixture.use({ location: { mcp_revisions: MODERN } });
        const client = new Modern(only);

        assert.deepEqual((await client.response('server/discover')).result
            .supportedVersions, [MODERN]);
        assert.equal(textOf(await client.tool('echo', { text: 'a' })), 'a');

        // the requests with which a client of an older revision begins

        const hello = await client.send({
            headers: { 'Content-Type': 'application/json',
                       Accept: 'application/json, text/event-stream' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 0,
                method: 'initialize', params: {
                    protocolVersion: '2025-11-25', capabilities: {},
                    clientInfo: { name: 'e2e', version: '1' } } }),
        });
        const { id, error } = await hello.json();

        assert.ok(hello.status >= 400 && hello.status < 500);
        assert.equal(id, 0);
        assert.match(error.message, new RegExp(MODERN));
        assert.equal(hello.headers['mcp-session-id'], undefined);

        for (const version of [null, '2025-11-25']) {
            const answer = await client.post({ jsonrpc: '2.0', id: 1,
                method: 'tools/list', params: {} },
                { headers: { 'MCP-Protocol-Version': version } });

            assert.equal(answer.status, 400);
            assert.notEqual((await answer.json()).error, undefined);
        }

        for (const method of ['GET', 'DELETE']) {
            for (const version of [{}, { 'MCP-Protocol-Version': MODERN },
                                   { 'MCP-Protocol-Version': '2025-11-25' }])
            {
                const answer = await client.send({ method, headers: {
                    Accept: 'text/event-stream', ...version,
                    'Mcp-Session-Id': 'x' } });

                assert.equal(answer.status, 405);
                assert.equal(answer.headers.allow, 'POST');
            }
        }
    });

    test('mcp_revisions 2025-03-26 2025-06-18: sessions have these revisions, server/discover gets 4xx',
         async () => {
        const older = await Fixture.use({ location: {
            mcp_revisions: '2025-03-26 2025-06-18' } });

        for (const [asked, got] of [['2025-11-25', '2025-06-18'],
            ['2025-06-18', '2025-06-18'], ['2025-03-26', '2025-03-26'],
            [MODERN, '2025-06-18']])
        {
            const { version } = await older.session({ version: asked });

            assert.equal(version, got);
        }

        // the error is none that means 2026-07-28 to a client

        const client = new Modern(older, { unchecked: true });
        const answer = await client.request('server/discover');

        assert.ok(answer.status >= 400 && answer.status < 500);
        assert.ok(![HEADER, CAPABILITY, VERSION].includes(
            (await answer.json()).error?.code));

        // sessions work

        const old = await older.session();

        assert.equal(textOf(await old.tool('echo', { text: 'a' })), 'a');
        assert.equal((await old.get()).status, 200);
        assert.equal((await old.delete()).status, 204);
    });

    test('version header of a revision that mcp_revisions lacks: 400',
         async () => {
        const one = await Fixture.use({ location: {
            mcp_revisions: ['2025-11-25', MODERN] } });
        const old = await one.session({ version: '2025-03-26' });

        assert.equal(old.version, '2025-11-25');

        const answer = await old.request('ping', {}, { headers: {
            'Mcp-Protocol-Version': '2025-03-26' } });

        assert.equal(answer.status, 400);
        assert.equal(textOf(await new Modern(one).tool('echo',
                                                       { text: 'a' })), 'a');
    });
});
