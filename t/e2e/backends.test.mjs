// SPDX-License-Identifier: Apache-2.0

// Backends over HTTP with TLS, uwsgi, SCGI, and with nginx gRPC. The tests play
// the backend themselves, step by step.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';

const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-backends-'));
const { key, certificate } = certify(dir);
const pem = { key: await fs.readFile(key),
              cert: await fs.readFile(certificate) };

await fs.chmod(dir, 0o755);
await fs.writeFile(`${dir}/catalog.json`, JSON.stringify({
    tools: [{ name: 'tool', inputSchema: { type: 'object' } }] }));
after(() => fs.rm(dir, { recursive: true, force: true }));


// A call as the backend receives it.

class Call {
    constructor(body, fields, { head, write, end, cut }) {
        this.message = JSON.parse(body);
        this.fields = fields;
        this.closed = new Promise((resolve) => { this.close = resolve; });
        Object.assign(this, { head, write, end, cut });
    }

    say(message) {
        this.write(`${JSON.stringify(message)}\n`);
    }

    progress(n) {
        const { progressToken } = this.message.params['_meta'];

        this.say({ jsonrpc: '2.0', method: 'notifications/progress',
                   params: { progressToken, progress: n } });
    }
}


// Returns header fields under their CGI names.

function cgi(headers) {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) =>
        [`HTTP_${name.toUpperCase().replaceAll('-', '_')}`, value]));
}


// A backend with a queue of the calls that it has received.

class Backend {
    constructor() {
        this.calls = [];
        this.wake = () => {};
    }

    came(call) {
        this.calls.push(call);
        this.wake();
    }

    async next() {
        while (!this.calls.length) {
            await new Promise((resolve) => { this.wake = resolve; });
        }

        return this.calls.shift();
    }

    async listen(server) {
        server.on('error', () => {});
        await new Promise((resolve) => {
            server.listen(0, '127.0.0.1', resolve);
        });
        after(() => server.close());
        this.port = server.address().port;

        return this;
    }
}

// Collects the body of a request of http.Server or http2.Server.

function collect(stream, done) {
    const chunks = [];

    stream.on('data', (data) => chunks.push(data));
    stream.on('end', () => done(Buffer.concat(chunks)));
    stream.on('error', () => {});
}

async function overHttps() {
    const backend = new Backend();

    return backend.listen(https.createServer(pem, (req, res) => {
        collect(req, (body) => {
            const call = new Call(body, cgi(req.headers), {
                head: (type) => res.writeHead(200, { 'Content-Type': type })
                    .flushHeaders(),
                write: (text) => res.write(text),
                end: () => res.end(),
                cut: () => res.socket.destroy(),
            });

            res.on('close', call.close);
            backend.came(call);
        });
    }));
}

async function overGrpc() {
    const backend = new Backend();
    const server = http2.createServer();

    server.on('stream', (stream, headers) => {
        collect(stream, (body) => {
            const call = new Call(body, cgi(headers), {
                head: (type) => stream.respond({ ':status': 200,
                                                 'content-type': type }),
                write: (text) => stream.write(text),
                end: () => stream.end(),
                cut: () => stream.session.destroy(),
            });

            stream.on('close', call.close);
            backend.came(call);
        });
    });

    return backend.listen(server);
}

// Protocols with one request for each connection, whose head is a list of
// pairs. read() returns the pairs and the length of a complete head, or null.

async function overPairs(status, read) {
    const backend = new Backend();

    return backend.listen(net.createServer((socket) => {
        let bytes = Buffer.alloc(0);
        let call;

        socket.on('error', () => {});
        socket.on('close', () => call?.close());
        socket.on('data', (data) => {
            bytes = Buffer.concat([bytes, data]);

            const head = !call && read(bytes);
            const length = head && Number(head.pairs.CONTENT_LENGTH);

            if (!head || bytes.length < head.end + length) {
                return;
            }

            call = new Call(bytes.subarray(head.end, head.end + length),
                            head.pairs, {
                head: (type) => socket.write(
                    `${status}\r\nContent-Type: ${type}\r\n\r\n`),
                write: (text) => socket.write(text),
                end: () => socket.end(),
                cut: () => socket.resetAndDestroy(),
            });
            backend.came(call);
        });
    }));
}

// SCGI: "LENGTH:name\0value\0...,"

function readScgi(bytes) {
    const colon = bytes.indexOf(':');
    const end = colon + 1 + Number(bytes.toString('latin1', 0, colon)) + 1;

    if (colon === -1 || bytes.length < end) {
        return null;
    }

    const fields = bytes.toString('latin1', colon + 1, end - 2).split('\0');
    const pairs = {};

    for (let i = 0; i < fields.length; i += 2) {
        pairs[fields[i]] = fields[i + 1];
    }

    return { pairs, end };
}

// uwsgi: modifier, length of the pairs, modifier; a length before each name and
// value

function readUwsgi(bytes) {
    const end = bytes.length < 4 ? Infinity : 4 + bytes.readUInt16LE(1);
    const pairs = {};
    let at = 4;

    if (bytes.length < end) {
        return null;
    }

    function text() {
        const start = at + 2;

        at = start + bytes.readUInt16LE(at);

        return bytes.toString('latin1', start, at);
    }

    while (at < end) {
        const name = text();

        pairs[name] = text();
    }

    return { pairs, end };
}


/*
 * The kinds of backends: how to start one, the lines of nginx's location,
 * Apache's section and module. SCGI and uwsgi answers end with the connection,
 * so cut() resets it.
 */

const kinds = {
    'HTTP over TLS': {
        start: overHttps,
        nginx: (port) => `include ${root}/examples/mcp_proxy_params;
            proxy_buffering off;
            # a session that is kept for a server is never freed by nginx
            proxy_ssl_session_reuse off;
            proxy_pass https://127.0.0.1:${port};`,
        apache: (port) => `Include ${root}/examples/mcp_proxy.conf
            ProxyPass "https://127.0.0.1:${port}/"`,
        server: `SSLProxyEngine on
            SSLProxyCheckPeerName off`,
        module: 'ssl',
    },

    SCGI: {
        start: () => overPairs('Status: 200 OK', readScgi),
        nginx: (port) => `scgi_param CONTENT_LENGTH $content_length;
            scgi_param SCGI 1;
            scgi_buffering off;
            scgi_pass 127.0.0.1:${port};`,
        apache: (port) => `SetHandler "proxy:scgi://127.0.0.1:${port}/"`,
        module: 'proxy_scgi',

        // mod_proxy_scgi does not expose its socket

        untilOutput: SERVER === 'apache',
    },

    uwsgi: {
        start: () => overPairs('HTTP/1.1 200 OK', readUwsgi),
        nginx: (port) => `uwsgi_param CONTENT_LENGTH $content_length;
            uwsgi_buffering off;
            uwsgi_pass 127.0.0.1:${port};`,
        apache: (port) => `SetHandler "proxy:uwsgi://127.0.0.1:${port}/"`,
        module: 'proxy_uwsgi',
    },

    gRPC: {
        start: overGrpc,
        nginx: (port) => `grpc_pass grpc://127.0.0.1:${port};`,
    },
};

for (const [name, kind] of Object.entries(kinds)) {
    describe(name, { skip: !kind[SERVER] && 'nginx has it' },
             () => reached(kind));
}


// Headers of a client that imitate a proxy and the server's own headers for
// backends. Only the last one is a header that reaches the backend.

const FORGED = {
    Proxy: 'http://forged.example/', 'Mcp-Principal': 'forged',
    'Mcp-Session': 'forged', 'Mcp-Call': 'forged', 'Mcp-Name': 'forged',
    'Mcp-Request-Id': 'forged', 'Mcp-Publish-Url': 'http://forged.example/',
    'Mcp-Client-Capabilities': 'forged', 'Mcp-Progress-Token': 'forged',
    'X-Client': 'client',
};

function assertForwarded(fields) {
    assert.equal(fields.HTTP_X_CLIENT, 'client');
    assert.deepEqual(Object.keys(fields).filter((n) => /forged/
        .test(fields[n])), []);
}

test('client forges headers that the module sends to backends: a FastCGI backend does not get them',
     async () => {
    const server = await Fixture.use();
    const session = await server.session({ headers: FORGED });
    const { structuredContent } = await session.tool('env', {
        prefix: 'HTTP_' });

    assertForwarded(structuredContent);
});


const STREAM = 'application/x-ndjson';

const result = (text) => ({ content: [{ type: 'text', text }] });

async function reached(kind) {
    const backend = await kind.start();
    const server = await Fixture.use({
        location: { mcp_catalog: `${dir}/catalog.json`, mcp_backend: 'other',
                    mcp_close_after: 'off' },
        http: { apache: `LoadModule ${kind.module}_module ${
            modules}/mod_${kind.module}.so` },
        server: {
            nginx: `location @other { ${kind.nginx(backend.port)} }`,
            apache: `${kind.server ?? ''}
                <Location "/mcp-backend/other">
                    ${kind.apache?.(backend.port)}
                </Location>`,
        },
        allow: /AH01909|upstream prematurely closed/,
    });
    const session = await server.session({
        capabilities: { elicitation: {} } });

    const begin = async (args = {}) => {
        const answer = session.call('tool', args);

        return { answer, call: await backend.next() };
    };

    test('JSON response of a backend: reaches the client', async () => {
        const { answer, call } = await begin({ a: 'ü' });

        assert.equal(call.message.method, 'tools/call');
        assert.deepEqual(call.message.params.arguments, { a: 'ü' });
        call.head('application/json');
        call.write(JSON.stringify(result('x')));
        call.end();

        const { response } = await session.follow(await answer);

        assert.equal(textOf(response.result), 'x');
    });

    test('client forges headers that the module sends to backends: the backend does not get them', async () => {
        const answer = session.call('tool', {}, { headers: FORGED });
        const call = await backend.next();

        call.head('application/json');
        call.write(JSON.stringify(result('x')));
        call.end();
        await session.follow(await answer);
        assertForwarded(call.fields);
    });

    test('request and response of 300 kB: arrive whole', async () => {
        const text = 'large '.repeat(50000);
        const { answer, call } = await begin({ text });

        assert.equal(call.message.params.arguments.text, text);
        call.head('application/json');
        call.write(JSON.stringify(result(text)));
        call.end();

        const { response } = await session.follow(await answer);

        assert.equal(textOf(response.result), text);
    });

    test('client leaves a stream of a backend and resumes it: the remaining messages arrive',
         async () => {
        const { answer, call } = await begin();

        call.head(STREAM);
        call.progress(1);

        const first = await answer;

        assert.equal((await first.message()).params.progress, 1);
        call.progress(2);
        assert.equal((await first.message()).params.progress, 2);
        first.close();
        call.progress(3);
        call.say(result('end'));
        call.end();

        const { messages, response } = await session.follow(Object.assign(
            await session.get(first.lastId), { id: first.id }));

        assert.deepEqual(messages.map((m) => m.params.progress), [3]);
        assert.equal(textOf(response.result), 'end');
    });

    test('backend asks the client for input: the backend gets the answer', async () => {
        const { answer, call } = await begin();

        call.head(STREAM);
        call.progress(1);
        call.say({ resultType: 'input_required', requestState: 's',
                   inputRequests: { k: { method: 'elicitation/create',
                       params: { message: '?', requestedSchema: {
                           type: 'object', properties: {} } } } } });
        call.end();

        const followed = session.follow(await answer, {
            async onMessage({ id, method }) {
                if (method === 'elicitation/create') {
                    await session.respond(id, { action: 'accept',
                                                content: {} });
                }
            },
        });
        const again = await backend.next();

        assert.equal(again.message.params.requestState, 's');
        assert.equal(again.message.params.inputResponses.k.action, 'accept');
        again.head('application/json');
        again.write(JSON.stringify(result('thanks')));
        again.end();
        assert.equal(textOf((await followed).response.result), 'thanks');
    });

    test('backend cuts its stream: -32603', async () => {
        const { answer, call } = await begin();

        call.head(STREAM);
        call.progress(1);

        const first = await answer;

        assert.equal((await first.message()).params.progress, 1);
        call.cut();

        const { response } = await session.follow(first);

        assert.equal(response.error.code, -32603);
    });

    test('cancelled stream: the backend\'s connection is closed', async () => {
        const { answer, call } = await begin();

        call.head(STREAM);
        call.progress(1);

        const first = await answer;

        await first.message();
        await session.notify('notifications/cancelled',
                             { requestId: first.id });

        assert.equal(await first.message(), null);
        call.progress(2);
        await call.closed;
    });

    test(`cancelled call whose backend is silent: the backend's connection is closed${
        kind.untilOutput ? ' at its next output' : ''}`,
         async () => {
        const { answer, call } = await begin();

        await session.notify('notifications/cancelled',
                             { requestId: session.next - 1 });

        if (kind.untilOutput) {
            call.head(STREAM);
            call.progress(1);
        }

        await call.closed;
        (await answer.catch(() => null))?.close();
    });
}
