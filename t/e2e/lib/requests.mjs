// SPDX-License-Identifier: Apache-2.0

// The valid and invalid requests that parity.test.mjs sends to both servers.
//
// groups() returns [{ name, list }]. The requests of a list are sent in order:
//
//   name              the subject of the request
//   as                the session of the request; null: none.  A session is
//                     opened at its first use as SESSIONS says
//   method, path      POST, /mcp
//   headers           added to the usual headers, or replacing them; null
//                     removes a header
//   body              an object (sent as JSON), text or bytes
//   blocks            the number of SSE blocks to read before closing
//   keep              the name under which the answer is kept
//
// path, headers and body may be functions of the kept answers:
// { name: { headers, ids, body } }, where `ids` has the event ids, and
// `sessions`.

export const SESSIONS = {
    a: {},
    b: {},
    old: { version: '2025-03-26' },
    middle: { version: '2025-06-18' },
    able: { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
    deleted: {},
};

export const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25'];

const request = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method,
                                               params });
const notification = (method, params) => ({ jsonrpc: '2.0', method, params });
const call = (name, args = {}, token = 'token') => request('tools/call', {
    name, arguments: args, _meta: { progressToken: token } });

const hello = (protocolVersion, more = {}) => request('initialize', {
    protocolVersion, capabilities: {},
    clientInfo: { name: 'parity', version: '1' }, ...more });

const nested = (depth) => `{"jsonrpc":"2.0","id":1,"method":"ping","params":{`
    + `"x":${'['.repeat(depth)}${']'.repeat(depth)}}}`;

const PING = request('ping');


function tools() {
    const raw = (type, body, more) => call('raw', { type, body, ...more });
    const bytes = Buffer.from([0, 255, 1, 254, 2]).toString('base64');
    const plain = ['test_simple_text', 'test_image_content',
        'test_audio_content', 'test_embedded_resource',
        'test_multiple_content_types', 'test_error_handling',
        'test_tool_with_logging', 'test_tool_with_progress',
        'json_schema_2020_12_tool', 'test_logging_tool', 'test_x_mcp_header',
        'test_trigger_tool_change', 'test_trigger_prompt_change', 'env',
        'http_env', 'refused', 'crash', 'http_crash', 'error', 'sleep',
        'status', 'detach'];
    const asking = ['test_sampling', 'test_elicitation', 'ask', 'ask_streaming',
        'ask_sampling', 'ask_roots', 'http_ask', 'test_missing_capability',
        'test_streaming_elicitation', 'test_elicitation_sep1034_defaults',
        'test_elicitation_sep1330_enums',
        'test_input_required_result_elicitation',
        'test_input_required_result_sampling',
        'test_input_required_result_list_roots',
        'test_input_required_result_request_state',
        'test_input_required_result_multiple_inputs',
        'test_input_required_result_multi_round',
        'test_input_required_result_capabilities'];
    const types = [['text/plain', 'a\n"b"\t\u0001'], ['text/plain', ''],
        ['text/plain; charset=utf-8', 'hällo'],
        ['text/plain; charset=latin1', 'plain'],
        ['text/html', '<p>hello</p>'], ['text/csv', 'a,b\r\n1,2\r\n'],
        ['application/json', '{"content":[]}'], ['application/json', '[1,2]'],
        ['application/json', '{"a":1}'], ['application/json', '"text"'],
        ['application/json', 'null'], ['application/json', ''],
        ['application/problem+json', '{"title":"no"}'],
        ['application/xml', '<a/>'], ['application/x-ndjson', ''],
        ['application/x-ndjson', '{"content":[]}\n'],
        ['application/x-ndjson', '{"content":[]}\n{"content":[]}\n'],
        ['application/jsonl', '{"content":[]}\n'],
        ['text/event-stream', ''], ['text/event-stream', ': nothing\n\n'],
        ['text/event-stream', 'data: {"content":[]}\n\n'],
        ['text/event-stream', 'data: {"content":\ndata: []}\n\n'],
        ['text/event-stream', 'event: message\nid: 7\nretry: 1\n'
                              + 'data: {"content":[]}\n\n'],
        ['text/event-stream', 'data: {"content":[]}'],
        ['', 'no type'], ['nonsense', 'x'], ['a/b; c="', 'x'],
        ['TEXT/PLAIN', 'upper']];
    const binary = ['image/png', 'image/svg+xml', 'audio/wav', 'video/mp4',
                    'application/pdf', 'application/octet-stream',
                    'text/plain'];

    return [
        ...plain.map((name) => ({ name, as: 'a', body: call(name) })),
        ...asking.map((name) => ({ name: `${name}, without capabilities`,
                                   as: 'a', body: call(name) })),
        ...asking.map((name) => ({ name: `${name}, the question`, as: 'able',
                                   body: call(name), blocks: 2 })),
        ...[0, 1, 3].flatMap((after) => ['sse', 'ndjson'].flatMap(
            (format) => ['crash', 'http_crash'].map((name) => ({
                name: `${name} after ${after} ${format}`, as: 'a',
                body: call(name, { after, format }) })))),
        ...['truncated-json', 'not-json', 'empty', 'bad-sse', 'no-result',
            'other'].map((kind) => ({ name: `broken ${kind}`, as: 'a',
                                      body: call('broken', { kind }) })),
        ...[200, 201, 204, 301, 400, 401, 403, 404, 413, 429, 500, 502, 503,
            504].map((code) => ({ name: `status ${code}`, as: 'a',
                                  body: call('status', { code }) })),
        ...[400, 500].map((code) => ({ name: `status ${code} with JSON`,
            as: 'a', body: call('status', { code, type: 'application/json',
                                            body: '{"error":"no"}' }) })),
        ...types.map(([type, body]) => ({
            name: `raw ${type} ${JSON.stringify(body)}`, as: 'a',
            body: raw(type, body) })),
        ...binary.map((type) => ({ name: `binary ${type}`, as: 'a',
                                   body: raw(type, bytes, { base64: true }) })),
        ...['count', 'http_count'].flatMap((name) => ['sse', 'ndjson'].flatMap(
            (format) => [{}, { burst: true }, { envelope: true },
                         { size: 100000 }].map((more) => ({
                name: `${name} ${format} ${Object.keys(more)}`, as: 'a',
                body: call(name, { n: 3, format, ...more }) })))),
        ...['echo', 'http_echo'].flatMap((name) => [{ text: 'hällo\u2028' },
            { text: '' }, { text: 'x', envelope: true }, {}].map((args) => ({
                name: `${name} ${JSON.stringify(args)}`, as: 'a',
                body: call(name, args) }))),
        ...['batch', 'ndjson', 'sse'].map((as) => ({ name: `detach ${as}`,
            as: 'a', body: call('detach', { n: 3, as }) })),
        ...[0, 7, 'seven', '', 'a"\\b', 1.5].map((token) => ({
            name: `progress token ${JSON.stringify(token)}`, as: 'a',
            body: call('count', { n: 1 }, token) })),
        ...[-32000, -32602, -32042, 1].map((code) => ({ name: `error ${code}`,
            as: 'a', body: call('error', { code, message: 'as asked' }) })),
    ];
}


function messages() {
    const odd = ['', ' ', '{', '}', '[', '[]', '[[]]', '[1]', '[{}]', '{}',
        'null', 'true', '1', '"ping"', '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"1.0","id":1,"method":"ping"}',
        '{"jsonrpc":2.0,"id":1,"method":"ping"}',
        '{"id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"method":5}',
        '{"jsonrpc":"2.0","id":1,"method":""}',
        '{"jsonrpc":"2.0","id":null,"method":"ping"}',
        '{"jsonrpc":"2.0","id":true,"method":"ping"}',
        '{"jsonrpc":"2.0","id":{},"method":"ping"}',
        '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        '{"jsonrpc":"2.0","id":1e3,"method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping"}x',
        '{"jsonrpc":"2.0","id":1,"method":"ping",}',
        '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
        '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        '{"jsonrpc":"2.0","id":"unknown","result":{}}',
        '{"jsonrpc":"2.0","id":"unknown","error":{"code":1,"message":"x"}}',
        '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}',
        '\n\t{"jsonrpc":"2.0", "id" : 1,\r\n"method":"ping"}  \n',
        "{'jsonrpc':'2.0','id':1,'method':'ping'}",
        '{"jsonrpc":"2.0","id":1,"method":"pi\\u006eg"}',
        '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":"a\\u0000b"}',
        'x'.repeat(5000)];
    const bytes = [[0xff, 0xfe], [0x22, 0xc3, 0x28, 0x22], [0]];
    const methods = [['no/such'], ['tools/list'], ['tools/list', {}],
        ['tools/list', { cursor: 'nonsense' }], ['tools/list', { cursor: '' }],
        ['tools/list', { cursor: 5 }], ['tools/list', { cursor: '99999' }],
        ['prompts/list'], ['resources/list'], ['resources/templates/list'],
        ['tools/call'], ['tools/call', {}], ['tools/call', { name: 5 }],
        ['tools/call', { name: '' }], ['tools/call', { name: 'no_such' }],
        ['tools/call', { name: 'echo' }],
        ['tools/call', { name: 'echo', arguments: [] }],
        ['tools/call', { name: 'echo', arguments: null }],
        ['tools/call', { name: 'echo', arguments: {}, _meta: [] }],
        ['tools/call', { name: 'x'.repeat(5000) }],
        ['tools/call', { name: 'a\u0001b' }],
        ['prompts/get'], ['prompts/get', { name: 'no_such' }],
        ['prompts/get', { name: 'test_simple_prompt' }],
        ['prompts/get', { name: 'test_prompt_with_arguments',
                          arguments: { arg1: 'a', arg2: 'b' } }],
        ['prompts/get', { name: 'test_prompt_with_embedded_resource',
                          arguments: { resourceUri: 'x:y' } }],
        ['prompts/get', { name: 'test_prompt_with_image' }],
        ['resources/read'], ['resources/read', { uri: 5 }],
        ['resources/read', { uri: 'test://nothing' }],
        ['resources/read', { uri: 'test://static-text' }],
        ['resources/read', { uri: 'test://static-binary' }],
        ['resources/read', { uri: 'test://template/1/data' }],
        ['resources/read', { uri: 'test://template/a b/data' }],
        ['resources/subscribe', { uri: 'test://watched-resource' }],
        ['resources/subscribe', { uri: 'test://nothing' }],
        ['resources/subscribe', {}],
        ['resources/unsubscribe', { uri: 'test://watched-resource' }],
        ['resources/unsubscribe', { uri: 'test://never' }],
        ['completion/complete'],
        ['completion/complete', {
            ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
            argument: { name: 'arg1', value: 'testi' } }],
        ['completion/complete', { ref: { type: 'ref/other' } }],
        ['logging/setLevel', { level: 'error' }],
        ['logging/setLevel', { level: 'loud' }], ['logging/setLevel'],
        ['logging/setLevel', { level: 'debug' }],
        ['notifications/initialized'], ['rpc.discover'], ['server/discover']];

    return [
        ...odd.map((body) => ({ name: `body ${body.slice(0, 60)}`, as: 'a',
                                body })),
        ...bytes.map((body) => ({ name: `bytes ${body}`, as: 'a',
                                  body: Buffer.from(body) })),
        ...[10, 63, 64, 65, 600].map((depth) => ({ name: `${depth} deep`,
                                                   as: 'a',
                                                   body: nested(depth) })),
        ...[900000, 1100000].map((size) => ({ name: `${size} bytes`, as: 'a',
            body: request('ping', { x: 'x'.repeat(size) }) })),
        ...methods.map(([method, params]) => ({
            name: `${method} ${JSON.stringify(params)?.slice(0, 60)}`,
            as: 'a', body: request(method, params) })),
        ...['initialized', 'cancelled', 'progress', 'roots/list_changed',
            'nonsense'].flatMap((name) => [undefined, {},
                                           { requestId: 99 }].map((params) => ({
            name: `notifications/${name} ${JSON.stringify(params)}`, as: 'a',
            body: notification(`notifications/${name}`, params) }))),
        ...[0, -4, 1e15, '', 'a"\\b', 'ü', 'x'.repeat(300)].map((id) => ({
            name: `id ${JSON.stringify(id).slice(0, 20)}`, as: 'a',
            body: request('tools/call', { name: 'echo' }, id) })),
        { name: 'a page', as: 'a', keep: 'page', body: request('tools/list') },
        ...[0, 1, 2].map((i) => ({ name: `page ${i + 2}`, as: 'a',
            keep: 'page', body: (kept) => request('tools/list', {
                cursor: kept.page.json.result.nextCursor }) })),
    ];
}


function batches() {
    const two = [request('ping', undefined, 'a'), call('echo', { text: 'x' })];
    const all = [['two', two], ['one', [PING]], ['none', []],
        ['notifications', [notification('notifications/roots/list_changed'),
                           notification('notifications/x')]],
        ['responses', [{ jsonrpc: '2.0', id: 1, result: {} }]],
        ['mixed', [PING, notification('notifications/x'), 5]],
        ['the same id twice', [PING, PING]],
        ['an unknown method', [PING, request('no/such', {}, 2)]],
        ['with initialize', [hello('2025-03-26'), request('ping', {}, 2)]],
        ['nested', [[PING]]],
        ['too many', Array.from({ length: 65 },
                                (_, i) => request('ping', {}, i))]];

    return ['old', 'middle', 'a', null].flatMap((as) => all.map(
        ([name, body]) => ({ name: `${name}, ${as}`, as, body })));
}


function http() {
    const accepts = [null, '', '*/*', 'application/json', 'text/event-stream',
        'application/*, text/*', 'application/json;q=0, text/event-stream',
        'application/json, text/event-stream;q=0.5', 'text/html', 'garbage',
        'APPLICATION/JSON, TEXT/EVENT-STREAM',
        'application/json;profile="a,b", text/event-stream'];
    const types = [null, '', 'application/json', 'Application/JSON',
        'application/json; charset=utf-8', 'application/json; charset=utf-16',
        'application/json;x="', 'text/plain', 'application/x-ndjson',
        'multipart/form-data; boundary=x'];
    const versions = [null, '', '2025-03-26', '2025-06-18', '2025-11-25',
        '2024-11-05', '1999-01-01', '2027-01-01', 'nonsense',
        '2025-11-25, 2025-11-25'];
    const sessions = [null, '', 'nonsense', 'x'.repeat(3000), 'a b',
        'A'.repeat(120)];
    const origins = ['null', 'http://evil.example.com', 'http://localhost',
        'https://allowed.example.com', 'https://allowed.example.com:444',
        'https://ALLOWED.example.com', 'nonsense', 'http://', '*', '',
        'http://127.0.0.1', 'http://[::1]', 'file://'];
    const hosts = ['evil.example.com', 'localhost', 'localhost:1',
        'a.localhost', '127.0.0.1', '127.0.0.2', '[::1]', 'LOCALHOST',
        'allowed.example.com'];
    const methods = ['PUT', 'PATCH', 'OPTIONS', 'HEAD', 'PROPFIND', 'FOO'];
    const value = (v) => (v === null ? 'none' : `"${v.slice(0, 60)}"`);
    const vary = (name, list, base = {}) => list.map((v) => ({
        name: `${base.method ?? 'POST'} ${name}: ${value(v)}`, as: 'a',
        body: PING, ...base, headers: { ...base.headers, [name]: v } }));

    return [
        ...vary('Accept', accepts),
        ...vary('Accept', accepts, { body: call('count', { n: 1 }) }),
        // Two tools have added events to the session's own stream. A server
        // notes that an event was sent some time after the client has read it,
        // so a request says which events have arrived.

        { name: 'GET after both events', as: 'a', method: 'GET', blocks: 0,
          headers: ({ own }) => ({
              'Last-Event-ID': own.ids[0].replace(/\d+$/, '2') }) },
        ...vary('Accept', accepts, { method: 'GET', body: undefined,
                                     blocks: 1 }),
        ...vary('Content-Type', types),
        ...vary('Mcp-Protocol-Version', versions),
        ...vary('Mcp-Protocol-Version', versions, { method: 'DELETE',
            as: null, body: undefined }),
        ...['POST', 'GET', 'DELETE'].flatMap((method) => vary('Mcp-Session-Id',
            sessions, { method, blocks: 1,
                        body: method === 'POST' ? PING : undefined })),
        ...vary('Origin', origins),
        ...vary('Origin', origins, { method: 'OPTIONS', as: null,
            body: undefined,
            headers: { 'Access-Control-Request-Method': 'POST' } }),
        ...vary('Origin', origins, { method: 'PUT', as: null }),
        ...vary('Host', hosts),
        ...hosts.map((host) => ({ name: `Host and Origin ${host}`, as: 'a',
            body: PING, headers: { Host: host, Origin: `http://${host}` } })),
        ...methods.flatMap((method) => ['a', null].map((as) => ({
            name: `${method} ${as}`, as, method, body: undefined }))),
        ...methods.filter((m) => m !== 'HEAD').map((method) => ({
            name: `${method} with a body`, as: 'a', method, body: PING })),
        { name: 'a query', as: 'a', path: '/mcp?x=y', body: PING },
        { name: 'ping, nobody', as: null, body: PING },
        { name: 'ping, of another revision', as: 'a', body: PING,
          headers: { 'Mcp-Protocol-Version': '2025-03-26' } },
    ];
}


function sessions() {
    return [
        ...[...VERSIONS, '2024-11-05', '2026-07-28', '', 5, null, undefined]
            .map((version) => ({ name: `initialize ${version}`, as: null,
                                 body: hello(version) })),
        ...[{ capabilities: undefined }, { capabilities: [] },
            { clientInfo: undefined }, { clientInfo: 'x' },
            { capabilities: { elicitation: { form: {} } } }]
            .map((more) => ({ name: `initialize ${JSON.stringify(more)}`,
                              as: null, body: hello('2025-11-25', more) })),
        { name: 'initialize without params', as: null,
          body: request('initialize') },
        { name: 'initialize in a session', as: 'a', body: hello('2025-11-25') },
        { name: 'initialize as a notification', as: null,
          body: notification('initialize', {}) },
        { name: 'initialize, version header', as: null,
          headers: { 'Mcp-Protocol-Version': '2025-11-25' },
          body: hello('2025-11-25') },
        { name: 'alive', as: 'deleted', body: PING },
        { name: 'DELETE', as: 'deleted', method: 'DELETE' },
        { name: 'DELETE again', as: 'deleted', method: 'DELETE' },
        { name: 'POST after DELETE', as: 'deleted', body: PING },
        { name: 'GET after DELETE', as: 'deleted', method: 'GET', blocks: 1 },
        { name: 'DELETE nothing', as: null, method: 'DELETE' },
        ...['old', 'middle', 'a'].flatMap((as) => [
            { name: `tools/list, ${as}`, as, body: request('tools/list') },
            { name: `count, ${as}`, as, body: call('count', { n: 2 }) },
            { name: `env, ${as}`, as, body: call('env') },
            { name: `GET, ${as}`, as, method: 'GET', blocks: 1,
              ...(as === 'a' && { keep: 'own' }) },
        ]),
    ];
}


function resumption() {
    const get = (id) => (kept) => ({
        'Last-Event-ID': typeof id === 'function' ? id(kept) : id });
    const stream = (kept) => kept.counted.ids[0].replace(/\.\d+$/, '');

    return [
        { name: 'a stream', as: 'a', keep: 'counted',
          body: call('count', { n: 3 }) },
        ...[0, 1, 2, 3, 4].map((i) => ({ name: `after its event ${i}`,
            as: 'a', method: 'GET',
            headers: get((kept) => kept.counted.ids[i]) })),
        { name: 'foreign', as: 'b', method: 'GET',
          headers: get((kept) => kept.counted.ids[1]) },
        { name: 'nobody', as: null, method: 'GET',
          headers: get((kept) => kept.counted.ids[1]) },
        ...['', '.', 'nonsense', '.1', 'x'.repeat(2000), 'a b', '%00',
            '0.1', 'AAAAAAAAAAAAAAAA.1'].map((id) => ({
            name: `Last-Event-ID ${JSON.stringify(id).slice(0, 30)}`, as: 'a',
            method: 'GET', blocks: 1, headers: get(id) })),
        ...['', '.', '.x', '.-1', '.1.1', '.1x', '.99999', ' .1',
            `.${'9'.repeat(40)}`].map((tail) => ({
            name: `the stream and ${JSON.stringify(tail)}`, as: 'a',
            method: 'GET', headers: get((kept) => stream(kept) + tail) })),
        { name: 'POST with an event id', as: 'a', body: PING,
          headers: get((kept) => kept.counted.ids[1]) },
        { name: 'Accept without SSE', as: 'a', method: 'GET',
          headers: (kept) => ({ 'Last-Event-ID': kept.counted.ids[1],
                                Accept: 'application/json' }) },
        { name: 'an old stream', as: 'old', keep: 'oldCounted',
          body: call('count', { n: 3 }) },
        { name: 'an old stream, resumed', as: 'old', method: 'GET',
          headers: get((kept) => kept.oldCounted.ids[0]) },
    ];
}


function door() {
    const CHANGED = notification('notifications/tools/list_changed');
    const json = { 'Content-Type': 'application/json', Accept: null };
    const knock = (name, path, more = {}) => ({ name, as: null, path,
        body: CHANGED, ...more, headers: { ...json, ...more.headers } });
    const open = (kept) => new URL(kept.env.json.result.structuredContent
        .MCP_PUBLISH_URL).pathname;
    const authorized = { Authorization: 'Bearer parity-token' };
    const bodies = [CHANGED, [CHANGED, CHANGED], [],
        notification('notifications/resources/updated',
                     { uri: 'test://watched-resource' }),
        notification('notifications/resources/updated', {}),
        notification('notifications/message', { level: 'info', data: 'x' }),
        notification('notifications/unknown'), PING,
        { jsonrpc: '2.0', id: 1, result: {} }, '{', '', 'null', '[1]'];
    const kinds = [['application/x-ndjson', `${JSON.stringify(CHANGED)}\n`],
        ['application/jsonl', `${JSON.stringify(CHANGED)}\n\n`],
        ['application/ndjson', '{\n'],
        ['text/event-stream', `data: ${JSON.stringify(CHANGED)}\n\n`],
        ['text/event-stream', 'data: {\n\n'], ['text/plain', 'x'],
        ['', 'x']];

    return [
        { name: 'a publish URL', as: 'a', body: call('env'), keep: 'env' },
        ...['/publish', '/publish/', '/publish/nonsense', '/publish//x',
            '/publish/a/b', '/publish?token=x'].map((path) => knock(path,
                                                                   path)),
        knock('a call that is over', open),
        knock('GET', open, { method: 'GET', body: undefined }),
        knock('GET without a token', '/publish', { method: 'GET',
                                                   body: undefined }),
        ...['PUT', 'DELETE', 'OPTIONS', 'HEAD'].map((method) => knock(method,
            '/publish', { method, body: undefined, headers: authorized })),
        ...[['wrong', 'Bearer wrong'], ['empty', 'Bearer '],
            ['basic', 'Basic eDp5'], ['lower', 'bearer parity-token'],
            ['spaces', 'Bearer   parity-token']].map(([name, value]) => knock(
            `Authorization ${name}`, '/publish',
            { headers: { Authorization: value } })),
        knock('from a page', '/publish', { headers: { ...authorized,
            Origin: 'http://evil.example.com' } }),
        ...bodies.map((body) => knock(`publish ${JSON.stringify(body)}`,
            '/publish', { body, headers: authorized })),
        ...kinds.map(([type, body]) => knock(`publish as ${type} ${body}`,
            '/publish', { body, headers: { ...authorized,
                                           'Content-Type': type } })),
    ];
}


export function groups() {
    return [
        { name: 'sessions', list: sessions() },
        { name: 'messages', list: messages() },
        { name: 'batches', list: batches() },
        { name: 'tools', list: tools() },
        { name: 'HTTP', list: http() },
        { name: 'resumption', list: resumption() },
        { name: 'publish endpoint', list: door() },
    ];
}
