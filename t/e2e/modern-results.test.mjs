// SPDX-License-Identifier: Apache-2.0

// Answers to clients of revision 2026-07-28: results with the members that the
// revision adds, all else as the backend has written it; errors; streams; log
// messages.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { META, MODERN, Modern } from './lib/modern.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { textOf, upTo } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical',
                'alert', 'emergency'];
const SERVER = { name: 'fixture', version: '1.0.0' };
const PLAIN = '{"content":[{"type":"text","text":"x"}]}';

// The backend's next answer, as text, or as an array of SSE messages.

let next = () => PLAIN;

const backend = await scripted((call) => {
    const answer = next(call);

    if (!Array.isArray(answer)) {
        return answer;
    }

    call.x.head(200, 'text/event-stream');
    answer.forEach((m) => call.x.write(`data: ${JSON.stringify(m)}\n\n`));
    call.x.end();

    return undefined;
});

const ICONS = '[{"src":"https://example.com/i.png","mimeType":"image/png",'
    + '"sizes":["48x48"],"theme":"dark"}]';

// Items of a catalog, written in a way that no serializer would choose.

const ITEMS = {
    tool: `{"name":"any","title":"T\\u00eftel","icons":${ICONS},`
        + '"_meta":{"com.example/k":[1.50,1e2]},'
        + '"annotations":{"readOnlyHint":true,"title":"x"},'
        + '"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/'
        + 'schema","type":"object","$defs":{"d":{"$anchor":"a"}},'
        + '"properties":{"p":{"$ref":"#/$defs/d"}},"unevaluatedProperties":'
        + 'false,"dependentRequired":{"p":[]}},'
        + '"outputSchema":{"type":"object","properties":{"n":{"minimum":1.0}}}'
        + '}',
    array: '{"name":"array","inputSchema":{"type":"object"},'
        + '"outputSchema":{"type":"array","prefixItems":[{"const":1.0}]}}',
    prompt: `{"name":"p","title":"P","icons":${ICONS},"arguments":`
        + '[{"name":"a","title":"A","required":true}],"_meta":{"x":1.0}}',
    resource: `{"uri":"test://r","name":"r","title":"R","icons":${ICONS},`
        + '"size":12,"annotations":{"audience":["user"],"priority":0.50,'
        + '"lastModified":"2026-01-01T00:00:00Z"},"_meta":{"x":1.0}}',
    template: '{"uriTemplate":"test://t/{id}","name":"t","title":"T",'
        + `"icons":${ICONS},"_meta":{"x":1.0}}`,
};

const file = await catalog(`{"completions":true,"tools":[${ITEMS.tool},`
    + `${ITEMS.array},{"name":"task","inputSchema":{"type":"object"},`
    + '"execution":{"taskSupport":"optional"}}],'
    + `"prompts":[${ITEMS.prompt}],"resources":[${ITEMS.resource}],`
    + `"resourceTemplates":[${ITEMS.template}]}`);

const server = await Fixture.use({
    workers: 2,
    location: { mcp_catalog: file, mcp_backend: 'scripted' },
    backends: { scripted: backend.address },
    server: {
        nginx: `location = /bare { mcp mcp; mcp_server fixture 1.0.0;
                                   mcp_backend @scripted; }`,
        apache: `<Location "/bare">
                     SetHandler mcp
                     MCPServer fixture 1.0.0
                     MCPBackend /mcp-backend/scripted
                 </Location>`,
    },
});
const modern = new Modern(server);
const bare = new Modern(server, {
    send: (options) => request(server.port, { path: '/bare', ...options }) });
const session = await server.session();

// Sends a request whose backend sends `answer`; returns status, text and
// members of the response.

async function ask(answer, method, params, client = modern, options) {
    next = () => answer;

    const reply = await client.request(method, params, options);
    const text = reply.sse ? await (async () => {
        await reply.ended;
        return reply.blocks.map((b) => b.data).filter((d) => d).at(-1);
    })() : await reply.text();

    return { status: reply.status, text, ...JSON.parse(text) };
}

const call = (answer, options) => ask(answer, 'tools/call', { name: 'any' },
                                      modern, options);

const times = (text, part) => text.split(part).length - 1;


describe('results', () => {
    test('2026-07-28, result of a tool: resultType and serverInfo are added',
         async () => {
        const { status, result } = await call(PLAIN);

        assert.equal(status, 200);
        assert.deepEqual(result, { ...JSON.parse(PLAIN),
            resultType: 'complete', _meta: { [META.server]: SERVER } });
    });

    test('result of a backend: byte for byte the same, except for the added resultType and serverInfo',
         async () => {
        const content = '"content":[ {"type":"text", "text":"\\u00e9\\/",'
            + '"annotations":{"priority" : 0.50}} ]';
        const own = '"com.example/n":1.50,"x":[1e2, "\\u00e9"]';

        for (const text of [`{${content}}`, `{ ${content} }`,
                            `{"isError" : true , ${content}}`])
        {
            assert.ok((await call(text)).text.includes(content), text);
        }

        for (const text of [`{"_meta":{${own}},${content}}`,
                            `{${content}, "_meta" : { ${own} }}`,
                            `{${content},"_meta":{${own}},"y":1.0}`])
        {
            const { text: sent, result } = await call(text);

            assert.ok(sent.includes(content), sent);
            assert.ok(sent.includes(own), sent);
            assert.deepEqual(result._meta[META.server], SERVER);
            assert.equal(result._meta['com.example/n'], 1.5);
        }

        const empty = await call(`{"_meta":{},${content}}`);

        assert.deepEqual(empty.result._meta, { [META.server]: SERVER });
    });

    // The server replaces a serverInfo from the backend.

    test('resultType and serverInfo from a backend: the result has each only once',
         async () => {
        const theirs = { name: 'behind', version: '2' };
        const { text, result } = await call(JSON.stringify({
            resultType: 'complete', content: [],
            _meta: { [META.server]: theirs, a: 1 } }));

        assert.equal(times(text, '"resultType"'), 1);
        assert.equal(times(text, '"_meta"'), 1);
        assert.equal(times(text, META.server), 1);
        assert.deepEqual(result._meta, { [META.server]: SERVER, a: 1 });
    });

    test('unknown resultType from a backend: -32603', async () => {
        for (const resultType of ['task', 'partial', '', 5, null, {}]) {
            const { error } = await call(JSON.stringify({ resultType,
                                                          content: [] }));

            assert.equal(error?.code, -32603, `${resultType}`);
        }
    });

    for (const value of ['[1,2.50]', '"text"', '5.0', 'true', 'null',
                         '[]', '""'])
    {
        test(`structuredContent ${value}: sent in 2026-07-28, left out in 2025-11-25`,
            async () => {
                const text = '{"content":[{"type":"text","text":"x"}],'
                    + `"structuredContent":${value},"isError":false}`;
                const { text: sent } = await call(text);

                assert.ok(sent.includes(`"structuredContent":${value}`), sent);

                const old = await session.tool('any');

                assert.deepEqual(old, { content: [{ type: 'text', text: 'x' }],
                                        isError: false });
            });
    }

    test('structuredContent that is an object: sent in 2026-07-28 and 2025-11-25',
         async () => {
        const text = '{"structuredContent":{"a":1.50,"b":[]},"content":[]}';

        assert.ok((await call(text)).text
            .includes('"structuredContent":{"a":1.50,"b":[]}'));
        assert.deepEqual((await session.tool('any')).structuredContent,
                         { a: 1.5, b: [] });
    });

    test('2026-07-28, results of prompts/get, completion/complete: have resultType and serverInfo, no cache hints',
         async () => {
        const messages = '[{"role":"user","content":{"type":"text",'
            + '"text":"\\u00e9"}}]';
        const prompt = await ask(`{"messages":${messages}}`, 'prompts/get',
            { name: 'p', arguments: { a: 'x' } });
        const completion = await ask(
            '{"completion":{"values":["a"],"total":1.0}}',
            'completion/complete', { ref: { type: 'ref/prompt', name: 'p' },
                                     argument: { name: 'a', value: '' } });

        for (const { result, text } of [prompt, completion]) {
            assert.equal(result.resultType, 'complete', text);
            assert.deepEqual(result._meta[META.server], SERVER);
            assert.equal(result.ttlMs, undefined);
            assert.equal(result.cacheScope, undefined);
        }

        assert.ok(prompt.text.includes(messages));
        assert.ok(completion.text.includes('"total":1.0'));
    });

    test('backend responds to completion/complete with input_required: -32603', async () => {
        const asking = JSON.stringify({ resultType: 'input_required',
            inputRequests: { r: { method: 'roots/list', params: {} } } });
        const { error } = await ask(asking, 'completion/complete',
            { ref: { type: 'ref/prompt', name: 'p' },
              argument: { name: 'a', value: '' } },
            new Modern(server, { capabilities: { roots: {} } }));

        assert.equal(error?.code, -32603);
        next = () => '{"completion":{"values":[]}}';
    });
});


describe('caching', () => {
    const READ = '{"contents":[{"uri":"test://r","text":"x"}]';

    const read = async (more, uri = 'test://r') => {
        const { result, text } = await ask(`${READ}${more}}`,
                                           'resources/read', { uri });

        assert.equal(times(text, '"ttlMs"'), 1, text);
        assert.equal(times(text, '"cacheScope"'), 1, text);

        return [result.ttlMs, result.cacheScope];
    };

    test('resources/read without cache hints: ttlMs 0, cacheScope private',
         async () => {
        assert.deepEqual(await read(''), [0, 'private']);
        assert.deepEqual(await read('', 'test://t/1'), [0, 'private']);
    });

    test('resources/read with cache hints of the backend: passed on',
         async () => {
        assert.deepEqual(await read(',"ttlMs":60000,"cacheScope":"public"'),
                         [60000, 'public']);
        assert.deepEqual(await read(',"cacheScope":"private","ttlMs":0'),
                         [0, 'private']);
        assert.deepEqual(await read(',"ttlMs":5'), [5, 'private']);
        assert.deepEqual(await read(',"cacheScope":"public"'), [0, 'public']);
    });

    test('resources/read with invalid cache hints: ttlMs 0, cacheScope private',
         async () => {
        for (const ttl of ['-1', '"5"', '1.5', 'null', '{}', 'true']) {
            assert.deepEqual(await read(`,"ttlMs":${ttl}`), [0, 'private'],
                             ttl);
        }

        for (const scope of ['"shared"', '""', 'null', '5', '"PUBLIC"']) {
            assert.deepEqual(await read(`,"cacheScope":${scope}`),
                             [0, 'private'], scope);
        }
    });

    test('lists of the catalog: ttlMs is mcp_cache_ttl, cacheScope is private if the endpoint has principals, else public',
        async () => {
            const fixture = (location) => Fixture.use({
                location: { mcp_catalog: file, mcp_cache_ttl: '90s',
                            mcp_page_size: '1', ...location } });
            const all = [[modern, 0, 'public'],
                [new Modern(await fixture({})), 90000, 'public'],
                [new Modern(await fixture({
                    nginx: 'mcp_principal $http_x_user;',
                    apache: 'MCPPrincipal "%{HTTP:X-User}"',
                })), 90000, 'private']];

            for (const [client, ttlMs, cacheScope] of all) {
                for (const method of ['server/discover', 'tools/list',
                    'prompts/list', 'resources/list',
                    'resources/templates/list'])
                {
                    const { result } = await client.response(method);

                    assert.deepEqual([result.ttlMs, result.cacheScope],
                                     [ttlMs, cacheScope], method);
                }

                const { nextCursor } = (await client.response('tools/list'))
                    .result;

                if (nextCursor) {
                    const { result } = await client.response('tools/list',
                        { cursor: nextCursor });

                    assert.equal(result.cacheScope, cacheScope);
                }
            }
        });

    test('list of a backend with or without cache hints: the hints are passed on, or ttlMs 0 and cacheScope private are added',
         async () => {
        const plain = await ask('{"tools":[]}', 'tools/list', {}, bare);

        assert.deepEqual([plain.result.ttlMs, plain.result.cacheScope],
                         [0, 'private']);

        const own = await ask('{"tools":[],"ttlMs":7,"cacheScope":"public"}',
                              'tools/list', {}, bare);

        assert.deepEqual([own.result.ttlMs, own.result.cacheScope],
                         [7, 'public']);
    });

    test('backend of resources/read has questions: the input_required result has no cache hints',
         async () => {
        const { result } = await ask(JSON.stringify({
            resultType: 'input_required',
            inputRequests: { r: { method: 'roots/list', params: {} } } }),
            'resources/read', { uri: 'test://r' },
            new Modern(server, { capabilities: { roots: {} } }));

        assert.equal(result.resultType, 'input_required');
        assert.equal(result.ttlMs, undefined);
        assert.equal(result.cacheScope, undefined);
    });
});


describe('lists', () => {
    const lists = [['tools/list', ITEMS.tool], ['tools/list', ITEMS.array],
        ['prompts/list', ITEMS.prompt], ['resources/list', ITEMS.resource],
        ['resources/templates/list', ITEMS.template]];

    for (const [method, item] of lists) {
        test(`${method} from the catalog, item ${item.slice(0, 30)}: sent byte for byte`,
             async () => {
            const { text } = await ask('', method);

            assert.ok(text.includes(item), text);
        });

        test(`${method} from a backend, item ${item.slice(0, 30)}: sent byte for byte`,
             async () => {
            const kind = { 'resources/templates/list': 'resourceTemplates' }[
                method] ?? method.replace('/list', '');
            const { text } = await ask(`{"${kind}":[${item}]}`, method, {},
                                       bare);

            assert.ok(text.includes(item), text);
        });
    }

    test('outputSchema that is not an object: left out in 2025-11-25',
        async () => {
            const old = (await session.response('tools/list')).result.tools;

            assert.deepEqual(old.map(({ name }) => name),
                             ['any', 'array', 'task']);
            assert.equal(old[1].outputSchema, undefined);
            assert.deepEqual(old[0], JSON.parse(ITEMS.tool));
        });

    test('member "execution" of a tool: left out in 2026-07-28, sent in 2025-11-25',
         async () => {
        const { tools } = (await modern.response('tools/list')).result;
        const old = (await session.response('tools/list')).result.tools;

        assert.equal(tools[2].execution, undefined);
        assert.deepEqual(old[2].execution, { taskSupport: 'optional' });
    });

    test('tools/list sent eight times: each response has the same bytes', async () => {
        const texts = new Set();

        for (let i = 0; i < 8; i++) {
            texts.add((await ask('', 'tools/list', {}, modern,
                                 { id: 1 })).text);
        }

        assert.equal(texts.size, 1);
    });
});


describe('requests at the backend', () => {
    const send = async (text, method, name) => {
        next = () => (name ? PLAIN : '{"completion":{"values":[]}}');

        const answer = await modern.post(text, { headers: {
            'Mcp-Method': method, ...(name && { 'Mcp-Name': name }) } });

        assert.equal(answer.status, 200);
        await answer.ended;

        return backend.calls.at(-1);
    };

    test('trace context, arguments of a request: the backend gets them byte for byte',
         async () => {
        const trace = '"traceparent":"00-0af7651916cd43dd8448eb211c80319c-'
            + '00f067aa0ba902b7-01","tracestate" : "a=1","baggage":"u=\\u00e9"';
        const args = '{"a" : 1.50, "b":"\\u00e9\\/", "c":[1e2]}';
        const text = JSON.stringify(modern.message('tools/call',
            { name: 'any', arguments: 'ARGS' }))
            .replace('"ARGS"', args)
            .replace(/"_meta":\{/, `"_meta":{${trace},`);
        const { text: got } = await send(text, 'tools/call', 'any');

        assert.ok(got.includes(trace), got);
        assert.ok(got.includes(args), got);
    });

    test('context of a completion: the backend gets it byte for byte',
         async () => {
        const context = '{"arguments":{"language" : "python"}}';
        const text = JSON.stringify(modern.message('completion/complete', {
            ref: { type: 'ref/prompt', name: 'p' },
            argument: { name: 'a', value: 'f' }, context: 'CONTEXT' }))
            .replace('"CONTEXT"', context);

        assert.ok((await send(text, 'completion/complete')).text
            .includes(context));
    });

    test('revision and client capabilities of a request: the backend gets them',
        async () => {
            const declared = '{"sampling":{"tools":{}},"extensions":'
                + '{"com.example/x":{"a":1.50}},"experimental":{"y":{}}}';
            const text = JSON.stringify(modern.message('tools/call',
                { name: 'any' }, { meta: { [META.capabilities]: 'CAN' } }))
                .replace('"CAN"', declared);
            const { params } = await send(text, 'tools/call', 'any');

            assert.equal(params.MCP_PROTOCOL_VERSION, MODERN);
            assert.deepEqual(JSON.parse(params.MCP_CLIENT_CAPABILITIES),
                             JSON.parse(declared));
            assert.ok(!params.MCP_SESSION_ID);
        });
});


describe('errors of a backend', () => {
    const error = (code, data) => `{"jsonrpc":"2.0","id":"ID","error":{"code":${
        code},"message":"as asked"${data ? `,"data":${data}` : ''}}}`;

    const fails = (code, data) => {
        next = ({ message }) => error(code, data)
            .replace('"ID"', JSON.stringify(message.id));

        return modern.refused('tools/call', { name: 'any' });
    };

    for (const code of [-32000, -32001, -32002, -32004, -32019, -32042, -32050,
                        -32099])
    {
        test(`2026-07-28, error ${code} of a backend, forbidden by this revision: replaced by -32602 or -32603`,
             async () => {
            const got = await fails(code);

            assert.equal(got.status, 200);
            assert.ok([-32602, -32603].includes(got.code), `${got.code}`);
        });
    }

    for (const code of [-32600, -32601, -32602, -32603, 1, -1, 4711, -31999,
                        -33000])
    {
        test(`error ${code} of a backend: passed on with its data`,
             async () => {
            const got = await fails(code, '{"a":[1.50]}');

            assert.deepEqual(got, { status: 200, code, message: 'as asked',
                                    data: { a: [1.5] } });
        });
    }

    test('2026-07-28, backend responds to resources/read with -32002: the client gets -32602 with the URI',
         async () => {
        const missing = (data) => {
            next = ({ message }) => error(-32002, data)
                .replace('"ID"', JSON.stringify(message.id));

            return modern.refused('resources/read', { uri: 'test://t/1' });
        };

        for (const data of [undefined, '{"uri":"test://t/1"}']) {
            const { status, code, data: got } = await missing(data);

            assert.deepEqual([status, code, got],
                             [200, -32602, { uri: 'test://t/1' }]);
        }
    });

    test('2025-11-25, backend responds to resources/read with -32002: passed on',
         async () => {
        next = ({ message }) => error(-32002)
            .replace('"ID"', JSON.stringify(message.id));

        assert.equal((await session.response('resources/read',
            { uri: 'test://r' })).error.code, -32002);
    });

    test('response of a backend that is empty or invalid: -32603', async () => {
        for (const text of ['', 'oops', '{"content"', '[]', '5']) {
            next = () => text;
            assert.equal((await modern.refused('resources/read',
                { uri: 'test://r' })).code, -32603, text);
        }
    });
});


describe('streams', () => {
    const progress = (token, n) => ({ jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: token, progress: n } });
    const done = JSON.parse(PLAIN);

    const stream = async (messages, options) => {
        next = () => messages;

        return modern.request('tools/call', { name: 'any' }, options);
    };

    test('quick response of a backend: sent as plain JSON', async () => {
        next = () => PLAIN;
        assert.equal((await modern.call('any')).type, 'application/json');
    });

    test('2026-07-28, stream: begins with a comment, has no event ids',
         async () => {
        const gate = Promise.withResolvers();

        next = (c) => {
            c.x.head(200, 'text/event-stream');
            gate.promise.then(() => {
                c.x.write(`data: ${JSON.stringify(progress(7, 1))}\n\n`
                          + `data: ${PLAIN}\n\n`);
                c.x.end();
            });
        };

        const answer = await modern.call('any', {},
                                         { meta: { progressToken: 7 } });

        assert.equal(answer.status, 200);
        assert.equal(answer.type, 'text/event-stream');
        assert.equal(answer.headers['x-accel-buffering'], 'no');
        assert.match(answer.headers['cache-control'], /no-(store|cache)/);
        assert.equal(answer.headers['mcp-session-id'], undefined);
        assert.deepEqual(Object.keys(await answer.block()), ['comment']);
        gate.resolve();

        const { messages, response } = await modern.follow(answer);

        assert.deepEqual(messages, [progress(7, 1)]);
        assert.equal(textOf(response.result), 'x');
        assert.equal(response.result.resultType, 'complete');

        // the response ends the stream

        assert.equal(await answer.block(), null);
        assert.equal(answer.ending, 'end');
        assert.ok(answer.blocks.every((b) => !('id' in b) && !('retry' in b)));
    });

    test('progress on a stream: has the progress token of its request',
         async () => {
        for (const token of [7, '7', 'a"\\b', 0, -1]) {
            const answer = await stream([...upTo(3).map(
                (n) => progress(token, n)), done],
                { meta: { progressToken: token } });
            const { messages } = await modern.follow(answer);

            assert.deepEqual(messages, upTo(3).map((n) => progress(token, n)));
        }
    });

    test('2026-07-28, backend sends requests on its stream: the client gets none of them',
         async () => {
        const answer = await stream([
            { jsonrpc: '2.0', id: 1, method: 'sampling/createMessage',
              params: { messages: [], maxTokens: 1 } },
            { jsonrpc: '2.0', id: 'x', method: 'ping' }, done]);
        const { messages, response } = await modern.follow(answer);

        assert.deepEqual(messages, []);
        assert.notEqual(response, undefined);
    });

    const logs = LEVELS.map((level) => ({ jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level, logger: 'l', data: { at: level } } }));

    test('2026-07-28, request without a log level: no log messages are sent',
         async () => {
        await session.response('logging/setLevel', { level: 'debug' });

        const { messages } = await modern.follow(await stream([...logs, done]));

        assert.deepEqual(messages, []);
    });

    for (const [i, level] of LEVELS.entries()) {
        test(`2026-07-28, request with log level ${level}: log messages of this level and above are sent`,
             async () => {
            const { messages, response } = await modern.follow(
                await stream([...logs, done],
                             { meta: { [META.level]: level } }));

            assert.deepEqual(messages, logs.slice(i));
            assert.equal(textOf(response.result), 'x');
        });
    }

    test('log level of a request: not used for the next request', async () => {
        await modern.follow(await stream([...logs, done],
                                         { meta: { [META.level]: 'debug' } }));

        const { messages } = await modern.follow(await stream([...logs, done]));

        assert.deepEqual(messages, []);
    });
});
