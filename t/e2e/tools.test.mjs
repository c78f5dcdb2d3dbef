// SPDX-License-Identifier: Apache-2.0

// Tools, prompts and resources, with each kind of answer of a backend.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const server = await Fixture.use({ workers: 2 });
const session = await server.session();


test('initialize: the result has serverInfo, capabilities, instructions', () => {
    const { serverInfo, capabilities, instructions } = session.server;

    assert.deepEqual(serverInfo, { name: 'fixture', version: '1.0.0' });
    assert.match(instructions, /tests of the MCP modules/);

    for (const what of ['tools', 'prompts', 'resources', 'logging',
                        'completions'])
    {
        assert.ok(capabilities[what], what);
    }

    assert.match(session.id, /^[\x21-\x7e]+$/);
});


test('lists of tools, prompts, resources, templates: as in the catalog',
     async () => {
    const { result } = await session.response('tools/list', {});

    assert.equal(result.tools[0].name, 'test_simple_text');
    assert.equal(result.tools.find((t) => t.name === 'json_schema_2020_12_tool')
        .inputSchema.$defs.address.$anchor, 'addressDef');

    assert.equal((await session.response('prompts/list')).result
        .prompts.length, 5);
    assert.equal((await session.response('resources/list')).result
        .resources.length, 3);
    assert.equal((await session.response('resources/templates/list')).result
        .resourceTemplates[0].uriTemplate, 'test://template/{id}/data');
});


test('ping: an empty result', async () => {
    assert.deepEqual((await session.response('ping')).result, {});
});


test('unknown method: -32601', async () => {
    assert.equal((await session.response('no/such')).error.code, -32601);
});


test('quick call: the response is JSON, not a stream', async () => {

    // the first call of a process may be slow

    const patient = await (await Fixture.use({
        location: { mcp_stream_after: '30s' } })).session();

    for (const name of ['echo', 'http_echo']) {
        const answer = await patient.call(name, { text: 'hällo', n: 1.50 });

        assert.equal(answer.status, 200);
        assert.equal(answer.type, 'application/json');

        const { result, id } = await answer.json();

        assert.equal(id, answer.id);
        assert.equal(textOf(result), 'hällo');
    }
});


test('JSON-RPC response of a backend: passed on', async () => {
    assert.equal(textOf(await session.tool('echo',
        { text: 'x', envelope: true })), 'x');

    const { error } = (await session.follow(await session.call('error',
        { code: -32042, message: 'as asked' }))).response;

    assert.equal(error.code, -32042);
    assert.equal(error.message, 'as asked');
});


test('requests for prompts, resources, completions: the client gets the results', async () => {
    const { messages } = (await session.response('prompts/get', {
        name: 'test_prompt_with_arguments',
        arguments: { arg1: 'a', arg2: 'b' } })).result;

    assert.match(messages[0].content.text, /arg1='a', arg2='b'/);

    const { contents } = (await session.response('resources/read',
        { uri: 'test://template/123/data' })).result;

    assert.equal(JSON.parse(contents[0].text).id, '123');

    assert.ok((await session.response('resources/read',
        { uri: 'test://nothing' })).error);

    const { completion } = (await session.response('completion/complete', {
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'testi' } })).result;

    assert.deepEqual(completion.values, ['testing']);
});


test('method, name, ids and tokens of a call: the backend gets them',
     async () => {
    for (const name of ['env', 'http_env']) {
        const env = (await session.tool(name)).structuredContent;

        assert.equal(env.MCP_METHOD, 'tools/call');
        assert.equal(env.MCP_NAME, name);
        assert.equal(env.MCP_PROTOCOL_VERSION, '2025-11-25');
        assert.match(env.MCP_REQUEST_ID, /\d/);
        assert.match(env.MCP_PROGRESS_TOKEN, /token-/);
        assert.ok(env.MCP_CALL);
        assert.ok(env.MCP_SESSION);
        assert.ok(env.MCP_PUBLISH_URL.startsWith(
            `http://127.0.0.1:${server.port}/publish`));
    }
});


test('HTTP backend: the request has the path that its location configures', async () => {
    const backend = http.createServer((req, res) => {
        res.setHeader('Content-Type', 'text/plain');
        req.resume().on('end', () => res.end(req.url));
    });

    backend.listen(0, '127.0.0.1');
    await once(backend, 'listening');
    after(() => backend.close());

    // configured as in docs/backends.md

    const address = `127.0.0.1:${backend.address().port}`;
    const paths = { echo: '/', count: '/tools/count' };
    const mine = await Fixture.start({
        location: {
            nginx: 'mcp_route echo @echo; mcp_route count @count;',
            apache: 'MCPRoute echo /to/echo\nMCPRoute count /to/count',
        },
        server: {
            nginx: Object.entries(paths).map(([name, path]) => `
                location @${name} {
                    include          ${root}/examples/mcp_proxy_params;
                    rewrite          ^ ${path}? break;
                    proxy_buffering  off;
                    proxy_pass       http://${address};
                }`).join(''),
            apache: Object.entries(paths).map(([name, path]) => `
                <Location "/to/${name}">
                    Include    ${root}/examples/mcp_proxy.conf
                    ProxyPass  "http://${address}${path}"
                </Location>`).join(''),
        } });
    const session = await mine.session({ send: (options) => request(mine.port,
        { ...options, path: '/mcp?x=1' }) });

    for (const [name, path] of Object.entries(paths)) {
        assert.equal(textOf(await session.tool(name)), path);
    }

    await mine.stop();
});


test('stream of a backend of any kind: messages arrive before the result',
    async () => {
        for (const name of ['count', 'http_count']) {
            for (const format of ['sse', 'ndjson']) {
                for (const burst of [false, true]) {
                    const { messages, response } = await session.follow(
                        await session.call(name, { n: 5, format, burst }));

                    assert.deepEqual(counted(messages), upTo(5));
                    assert.equal(textOf(response.result), 'counted to 5');
                }
            }
        }
    });


test('number or string as a progress token: the notification has the same value and type', async () => {
    for (const token of [7, 'seven', 0, '']) {
        const { messages } = await session.follow(
            await session.call('count', { n: 1 }, { token }));

        assert.strictEqual(messages[0].params.progressToken, token);
    }
});


test('number or string as a request id: the response has the same value and type', async () => {
    for (const id of ['a"\\b', 'ü', 1e15, -4, '']) {
        const answer = await session.call('echo', { text: 'x' }, { id });

        assert.strictEqual((await answer.json()).id, id);
    }
});


test('log messages below the session\'s level: not sent', async () => {
    const other = await server.session();

    assert.deepEqual((await other.response('logging/setLevel',
        { level: 'error' })).result, {});

    const { messages } = await other.follow(
        await other.call('test_tool_with_logging'));

    assert.deepEqual(messages.filter(
        (m) => m.method === 'notifications/message'), []);

    await other.response('logging/setLevel', { level: 'debug' });

    assert.equal((await other.follow(await other.call(
        'test_tool_with_logging'))).messages.length, 3);
});


test('backend responds with text, an image, audio or PDF: the result has content of this type',
     async () => {
    const wrapped = async (args) => (await session.tool('raw', args))
        .content[0];
    const body = Buffer.from([0, 255, 1, 254, 2]).toString('base64');

    assert.deepEqual(await wrapped({ type: 'text/plain', body: 'a\n"b"' }),
                     { type: 'text', text: 'a\n"b"' });

    const image = await wrapped({ type: 'image/png', body, base64: true });

    assert.equal(image.type, 'image');
    assert.equal(image.mimeType, 'image/png');
    assert.equal(image.data, body);

    const audio = await wrapped({ type: 'audio/wav', body, base64: true });

    assert.equal(audio.type, 'audio');
    assert.equal(audio.mimeType, 'audio/wav');

    const resource = await wrapped({ type: 'application/pdf', body,
                                     base64: true });

    assert.equal(resource.type, 'resource');
    assert.equal(resource.resource.mimeType, 'application/pdf');
    assert.equal(resource.resource.blob, body);
});


test('HTTP error of a backend: a result with isError', async () => {
    for (const code of [400, 404, 500, 503]) {
        const result = await session.tool('status', { code, body: 'sorry' });

        assert.equal(result.isError, true);
        assert.match(textOf(result), /sorry/);
    }
});


test('invalid response of a backend: -32603', async () => {
    const errorOf = async (name, args) => (await session.follow(
        await session.call(name, args))).response.error;

    for (const kind of ['truncated-json', 'not-json', 'empty', 'bad-sse',
                        'no-result'])
    {
        assert.equal((await errorOf('broken', { kind }))?.code, -32603, kind);
    }

    assert.equal((await errorOf('refused')).code, -32603);

    for (const name of ['crash', 'http_crash']) {
        for (const after of [0, 1, 3]) {
            for (const format of ['sse', 'ndjson']) {
                assert.equal((await errorOf(name, { after, format }))?.code,
                             -32603, `${name} ${after} ${format}`);
            }
        }
    }
});


test('tool that the catalog lacks: -32602', async () => {
    const answer = await session.call('no_such_tool');
    const { error } = (await session.follow(answer)).response;

    assert.equal(error.code, -32602);
});


test('invalid bodies: 400, -32700 or -32600', async () => {
    const error = async (body, status, code) => {
        const answer = await session.post(body);

        assert.equal(answer.status, status, body);
        assert.equal((await answer.json()).error.code, code, body);
    };

    await error('{', 400, -32700);
    await error('[]', 400, -32600);
    await error('{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600);
    await error('"ping"', 400, -32600);
});


test('paths other than the endpoint\'s: 404', async () => {
    for (const path of ['/mcp/', '/mcp/x', '/mcpx']) {
        const answer = await request(server.port, { path,
            headers: session.headers({ 'Content-Type': 'application/json' }),
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) });

        assert.equal(answer.status, 404, path);
    }
});


test('request with an unknown session, an unknown version or a foreign Origin: 404, 400 or 403',
     async () => {
    const bad = async (status, options) => assert.equal(
        (await session.post({ jsonrpc: '2.0', id: 1, method: 'ping' },
                            options)).status, status);

    await bad(404, { headers: { 'Mcp-Session-Id': 'nonsense' } });
    await bad(400, { headers: { 'Mcp-Protocol-Version': '1999-01-01' } });
    await bad(403, { headers: { Origin: 'http://evil.example.com',
                                Host: 'evil.example.com' } });
    await bad(200, { headers: { Origin: `http://127.0.0.1:${server.port}` } });
});


test('deleted session: 404 at every worker', async () => {
    const other = await server.session();
    const { status } = await other.delete();

    assert.ok(status === 200 || status === 204);

    for (let i = 0; i < 8; i++) {
        const answer = await other.request('ping', {});

        assert.equal(answer.status, 404);
        await answer.ended;
    }
});


test('credentials of a client: reach backends only with mcp_pass_authorization, mcp_pass_cookie',
     async () => {
    const proofs = { Authorization: 'Bearer e2e', Cookie: 'a=b' };
    const open = await Fixture.use({
        location: { mcp_pass_authorization: 'on', mcp_pass_cookie: 'on' },
        server: { apache: `<Location "/mcp-backend">
                               CGIPassAuth On
                           </Location>` } });

    const seen = async (fixture, name) => {
        const { HTTP_AUTHORIZATION: authorization, HTTP_COOKIE: cookie }
            = (await (await fixture.session({ headers: proofs }))
                .tool(name, { prefix: 'HTTP_' })).structuredContent;

        return { authorization, cookie };
    };

    for (const name of ['env', 'http_env']) {
        assert.deepEqual(await seen(server, name),
                         { authorization: undefined, cookie: undefined }, name);
        assert.deepEqual(await seen(open, name),
                         { authorization: 'Bearer e2e', cookie: 'a=b' }, name);
    }
});


test('status page with a foreign Host: 403', async () => {
    const named = await Fixture.use({ server: {
        nginx: 'server_name a.example *.b.example;',
        apache: 'ServerName a.example\nServerAlias *.b.example' } });

    const status = async (Host) => (await request(named.port, {
        method: 'GET', path: '/status?format=json', headers: { Host } }))
        .status;

    for (const host of ['localhost', 'x.localhost:1', '127.0.0.1:8080',
                        '[::1]', 'a.example', 'A.example:80', 'x.b.example'])
    {
        assert.equal(await status(host), 200, host);
    }

    for (const host of ['evil.example', '10.0.0.1', 'a.example.evil.example',
                        '127.0.0.1.evil.example'])
    {
        assert.equal(await status(host), 403, host);
    }
});


const CONDITIONS = {
    'If-Match': '"x"',
    'If-None-Match': '*',
    'If-Modified-Since': 'Tue, 01 Jan 2030 00:00:00 GMT',
    'If-Unmodified-Since': 'Mon, 01 Jan 2001 00:00:00 GMT',
    'If-Range': '"x"',
    'Range': 'bytes=0-3',
};

for (const [name, value] of Object.entries(CONDITIONS)) {
    test(`request with ${name}: this header is ignored, responses are whole`,
         async () => {
        const headers = { [name]: value };
        const whole = async (answer) => {
            assert.equal(answer.status, 200);
            assert.equal(answer.headers['content-range'], undefined);

            return (await session.follow(answer)).response.result;
        };

        const said = await session.call('test_simple_text', {}, { headers });
        const counting = await session.call('count', { n: 2 }, { headers });
        const tools = await session.request('tools/list', {}, { headers });

        assert.ok(textOf(await whole(said)));
        assert.equal(textOf(await whole(counting)), 'counted to 2');
        assert.ok((await whole(tools)).tools.length > 1);

        const listener = await session.get(undefined, { headers });

        assert.equal(listener.status, 200);
        assert.ok(await listener.block());
        listener.close();
    });
}

test('request with If-Range and Range: both are ignored, the response is whole',
     async () => {
    const answer = await session.request('ping', {}, { headers: {
        'If-Range': 'Mon, 01 Jan 2001 00:00:00 GMT', 'Range': 'bytes=0-3' } });

    assert.equal(answer.status, 200);
    assert.deepEqual((await answer.json()).result, {});
});


test('status page requested by an absolute URL: the host of the URL is checked, not the Host header',
     async () => {
    const ask = async (path, host) => (await request(server.port, {
        method: 'GET', path, headers: { Host: host } })).status;
    const local = `127.0.0.1:${server.port}`;

    assert.equal(await ask('/status', local), 200);
    assert.equal(await ask('/status', 'other.example'), 403);
    assert.equal(await ask('http://other.example/status', local), 403);
    assert.equal(await ask(`http://${local}/status`, local), 200);
});
