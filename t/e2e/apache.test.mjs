// SPDX-License-Identifier: Apache-2.0

// Features of Apache httpd alone: sections, handlers, other modules.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { after, test } from 'node:test';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { MPM, dir, file, load, suite } from './lib/apache.mjs';
import { assertCounted, counted, textOf, upTo } from './lib/session.mjs';
import { request, request2 } from './lib/wire.mjs';

const hello = (fixture, where, headers = {}) => request(fixture.port, {
    path: where,
    headers: { Accept: 'application/json, text/event-stream',
               'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {},
                  clientInfo: { name: 'e2e', version: '1' } } }),
});

// Begins a call that would be answered as JSON and closes its connection first:
// stream/poll/all must find the call in a new stream.

async function left(session, porter, gate, headers) {
    const lose = porter.running(gate, 'running', 1);

    await assert.rejects(session.call('count', { n: 0, gate, tag: gate },
                                      { lose, headers }));
    await porter.open(gate);
    assert.equal((await porter.running(gate, 'finished', 1)).aborted, 0);

    // the backend may have ended before the server has noticed

    let statuses;

    do {
        ({ statuses } = (await session.response('stream/poll/all')).result);
    } while (statuses[0]?.status !== 'completed');

    const [{ streamId, pendingMessages }] = statuses;

    assert.equal(pendingMessages, true);

    const answer = await session.get(`${streamId}.0`);

    assert.equal((await answer.message()).method,
                 'notifications/stream/create');
    assert.equal(textOf((await answer.message()).result), 'counted to 0');
    answer.close();
}

// Returns the lines of a log that match, once there are n.

async function lines(name, pattern, n = 1) {
    const watcher = fs.watch(path.dirname(name));

    for (;;) {
        const found = (await fs.readFile(name, 'utf8').catch(() => ''))
            .split('\n').filter((line) => pattern.test(line));

        if (found.length >= n) {
            await watcher.return();
            return found;
        }

        await watcher.next();
    }
}


suite('client requests for backend paths', async () => {
    await file('closed/page.shtml', '<!--#include '
               + 'virtual="/mcp-backend/tools" -->');

    const server = await Fixture.use({
        http: `${load('rewrite', 'include', 'alias')}
            <Directory "${dir}/closed">
                Require all granted
            </Directory>`,
        server: `
            RewriteEngine On
            RewriteRule ^/rewritten$ /mcp-backend/tools [PT]
            RewriteRule ^/deep$ /mcp-backend/tools/deep [PT]
            ErrorDocument 404 /mcp-backend/tools
            Alias /closed ${dir}/closed
            <Location /closed>
                SetOutputFilter INCLUDES
                ForceType text/html
                Options +Includes
            </Location>`,
    });
    const session = await server.session();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { name: 'count', arguments: { n: 0, tag: 'closed' } } });

    for (const where of ['/mcp-backend/tools', '/mcp-backend/tools/',
        '/mcp-backend/tools/below', '/mcp-backend/tools?x=y',
        '//mcp-backend/tools', '/mcp-backend//tools', '/mcp-backend/./tools',
        '/x/../mcp-backend/tools', '/mcp/../mcp-backend/tools',
        '/mcp-backend/x/%2e%2e/tools', '/%6dcp-backend/tools',
        '/mcp-backend%2ftools', '/mcp-backend/tools%2f', '/mcp-backend/tool%73',
        '/mcp-backend/tools;x', '/mcp-backend/http', '/mcp-backend/http/x',
        '/mcp-backend/refused', '/MCP-backend/tools', '/rewritten', '/deep',
        '/missing'])
    {
        test(`client requests the path ${where} of a backend: POST gets 404, other methods get 404 or 405`,
             async () => {
            for (const method of ['POST', 'GET', 'HEAD', 'PUT']) {
                const answer = await request(server.port, {
                    method, path: where,
                    headers: { 'Content-Type': 'application/json' },
                    body: method === 'POST' ? body : '' });

                await answer.ended;

                // httpd may reject a method before it looks up the path

                assert.ok([404, 405].includes(answer.status),
                          `${method}: ${answer.status}`);
                assert.ok(method !== 'POST' || answer.status === 404);
            }
        });
    }

    test('page includes a backend by mod_include: the page does not contain the backend\'s response',
         async () => {
        const answer = await request(server.port, { method: 'GET',
            path: '/closed/page.shtml' });

        assert.equal(answer.status, 200);
        assert.doesNotMatch(await answer.text(), /jsonrpc/);
    });

    test('clients request backend paths directly: no backend is called', async () => {
        assert.equal((await session.running('closed')).started, 0);
        await session.tool('count', { n: 0, tag: 'closed' });
        assert.equal((await session.running('closed')).started, 1);
    });
});


suite('backends of other kinds', async () => {
    // exits without reading its input

    const script = await file('cgi/tool', `#!/bin/sh
printf 'Content-Type: text/event-stream\\n\\n'
printf 'data: {"jsonrpc":"2.0","method":"notifications/message",'
printf '"params":{"level":"info","data":"%s"}}\\n\\n' "$MCP_NAME"
printf 'data: {"content":[{"type":"text","text":"%s"}]}\\n\\n' "$MCP_METHOD $SERVER_PORT"
`, 0o755);
    const document = await file('static/tool',
        '{"content":[{"type":"text","text":"from a file"}]}');
    const catalog = await file('kinds.json', JSON.stringify({
        tools: ['cgi', 'file', 'cut', 'absent', 'forbidden'].map((name) => (
            { name, inputSchema: { type: 'object' } })) }));

    // an HTTP backend that ends in the middle of a chunked answer

    const cutting = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n'
            + 'Content-Type: application/json\r\n'
            + 'Transfer-Encoding: chunked\r\n\r\n'
            + '32\r\n{"content":[{"type":"text","text":"whole"}]}      \r\n'));
    });

    await new Promise((resolve) => {
        cutting.listen(0, '127.0.0.1', resolve);
    });
    after(() => cutting.close());

    const cgi = MPM === 'prefork' ? 'cgi' : 'cgid';
    const server = await Fixture.use({
        location: { mcp_catalog: catalog, mcp_backend: 'absent',
                    apache: `MCPRoute cgi /mcp-backend/cgi
                             MCPRoute file /mcp-backend/file
                             MCPRoute cut /mcp-backend/cut
                             MCPRoute forbidden /mcp-backend/forbidden` },
        http: `${load(cgi, 'alias')}
            ${cgi === 'cgid' ? `ScriptSock ${dir}/cgid.sock` : ''}
            <Directory "${dir}">
                Require all granted
            </Directory>`,
        server: `
            ScriptAlias /mcp-backend/cgi ${script}
            Alias /mcp-backend/file ${document}
            <Location /mcp-backend/file>
                ForceType application/json
            </Location>
            <Location /mcp-backend/cut>
                ProxyPass http://127.0.0.1:${cutting.address().port}/
            </Location>
            <Location /mcp-backend/forbidden>
                SetHandler "proxy:unix:/nowhere|fcgi://nowhere/"
                Require all denied
            </Location>`,
    });
    const session = await server.session();

    test('CGI script as a backend: its messages and its result arrive',
         async () => {
        const { messages, response } = await session.follow(
            await session.call('cgi'));

        assert.deepEqual(messages.map((m) => m.params.data), ['cgi']);
        assert.equal(textOf(response.result), `tools/call ${server.port}`);
    });

    test('file as a backend: its contents are the result',
         async () => assert.equal(
        textOf(await session.tool('file')), 'from a file'));

    test('HTTP backend that closes its connection in the middle of its response: -32603',
         async () => {
        const { response } = await session.follow(await session.call('cut'));

        assert.equal(response.error.code, -32603);
    });

    test('backend path without a handler or with Require all denied: isError with 404 or 403',
         async () => {
        for (const [name, code] of [['absent', 404], ['forbidden', 403]]) {
            const result = await session.tool(name);

            assert.equal(result.isError, true);
            assert.match(textOf(result), new RegExp(code));
        }
    });
});


// The other tests run with the event MPM.

suite('a client that leaves before its stream begins', () => {
    for (const mpm of ['worker', 'prefork']) {
        test(`${mpm} MPM, client leaves before its stream begins: stream/poll/all lists its call`,
             async () => {
            const server = await Fixture.start({
                workers: mpm === 'prefork' ? 8 : 2,
                location: { mcp_stream_after: '60s', mcp_policy_after: '60s',
                            mcp_resume_after: 'off' },
                env: { FIXTURE_MPM: mpm } });

            try {
                const session = await server.session({
                    capabilities: { streams: {} } });

                await left(session, await server.session(), mpm);
            } finally {
                await server.stop();
            }
        });
    }
});


suite('users', async () => {
    const sha = (password) => `{SHA}${crypto.createHash('sha1')
        .update(password).digest('base64')}`;
    const users = await file('users', `ada:${sha('1')}\nbob:${sha('2')}\n`);
    const as = (name, password) => ({ Authorization:
        `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` });
    const ada = as('ada', '1');
    const bob = as('bob', '2');
    const basic = `AuthType Basic
                   AuthName tools
                   AuthBasicProvider file
                   AuthUserFile ${users}
                   Require valid-user`;

    // Another principal gets 404 for a stream, even with its event id.

    async function apart(server, one, two) {
        const mine = await server.session({ headers: one });
        const gate = 'apart';

        await mine.open(gate, 1);

        const answer = await mine.call('count', { n: 2, gate });

        await answer.message();

        const id = answer.lastId;
        const other = await server.session({ headers: two });

        assert.equal((await other.get(id)).status, 404);

        // with the first client's session as well: 404

        const stolen = await mine.get(id, { headers: two });

        assert.equal(stolen.status, 404);
        assert.equal((await mine.request('ping', {}, { headers: two })).status,
                     404);

        answer.close();
        await mine.open(gate);

        const { messages, response } = await mine.follow(
            Object.assign(await mine.get(id), { id: answer.id }));

        assert.deepEqual(counted(messages), [1]);
        assert.ok(response.result);

        return [mine, other];
    }

    test('two users with Basic authentication: each gets 404 for the other user\'s stream',
        async () => {
            const server = await Fixture.start({ location: {
                mcp_close_after: 'off', apache: basic } });
            const [mine] = await apart(server, ada, bob);

            assert.equal((await mine.tool('env')).structuredContent
                .MCP_PRINCIPAL, 'ada');

            const answer = await hello(server, '/mcp');

            assert.equal(answer.status, 401);
            assert.match(answer.headers['www-authenticate'], /^Basic/);
            await server.stop();
        });

    test('two principals set by MCPPrincipal: each gets 404 for the other principal\'s stream',
         async () => {
        const server = await Fixture.start({ location: {
            mcp_close_after: 'off',
            apache: 'MCPPrincipal "%{HTTP:X-Tenant}/%{HTTP:X-User}"' } });
        const [mine] = await apart(server,
            { 'X-Tenant': 'a', 'X-User': 'ada' },
            { 'X-Tenant': 'b', 'X-User': 'ada' });

        assert.equal((await mine.tool('env')).structuredContent.MCP_PRINCIPAL,
                     'a/ada');
        await server.stop();
    });
});


suite('configuration sections', async () => {
    const one = await file('one.json', JSON.stringify({ tools: [
        { name: 'one', inputSchema: { type: 'object' } }] }));

    await file('docs/allowed/.htaccess', 'SetHandler mcp\n');
    await file('docs/refused/.htaccess', 'MCPStreamAfter 1s\n');

    const server = await Fixture.use({
        location: { apache: `
            <If "%{HTTP:X-Patient} == 'yes'">
                MCPPageSize 3
            </If>` },
        http: `${load('alias', 'dir')}
            <Directory "${dir}/docs">
                Require all granted
                AllowOverride FileInfo
                MCPServer htaccess 3.0.0
                MCPBackend /mcp-backend/tools
            </Directory>
            LogFormat "%>s %m %{mcp-method}n %{mcp-name}n %{mcp-outcome}n \
%{mcp-resumed}n" mcp
            CustomLog ${'${PREFIX}'}/mcp.log mcp`,
        server: `
            Alias /docs ${dir}/docs
            <Location /second>
                SetHandler mcp
                MCPServer second 2.0.0
                MCPCatalog ${one}
                MCPBackend /mcp-backend/tools
            </Location>
            <Location /second/deep>
                SetHandler mcp
                MCPServer deep 1.0.0
            </Location>
            <Location ~ "^/second/any(/|$)">
                SetHandler mcp
                MCPServer pattern 1.0.0
            </Location>
            <Location /wild/*>
                SetHandler mcp
                MCPServer wild 1.0.0
            </Location>
        </VirtualHost>
        <VirtualHost *>
            ServerName other.localhost
            <Location /mcp>
                SetHandler mcp
                MCPServer other 4.0.0
                MCPCatalog ${one}
                MCPBackend /mcp-backend/none
            </Location>`,
        allow: /MCPStreamAfter not allowed here/,
    });
    const session = await server.session();
    const nameOf = async (answer) => (await answer.json()).result.serverInfo
        .name;

    test('<If> around MCPPageSize: applies if its condition is true',
         async () => {
        const names = async (headers) => (await (await session.request(
            'tools/list', {}, { headers })).json()).result.tools.length;

        assert.ok(await names({}) > 3);
        assert.equal(await names({ 'X-Patient': 'yes' }), 3);
        assert.ok(await names({}) > 3);
    });

    test('two endpoints of a virtual host: each sends its own name',
         async () => {
        assert.equal(await nameOf(await hello(server, '/mcp')), 'fixture');
        assert.equal(await nameOf(await hello(server, '/second')), 'second');
    });

    test('endpoints in <Location> with a path, a pattern, a wildcard: each answers, other paths get 404',
         async () => {
        assert.equal(await nameOf(await hello(server, '/second/deep')),
                     'deep');
        assert.equal((await hello(server, '/second/deep/x')).status, 404);
        assert.equal((await hello(server, '/second/other')).status, 404);
        assert.equal(await nameOf(await hello(server, '/second/any/x')),
                     'pattern');
        assert.equal(await nameOf(await hello(server, '/wild/x')), 'wild');
        assert.match(await server.log(), /\/second\/other is below the path of an MCP/);
    });

    test('.htaccess with SetHandler mcp: the endpoint answers', async () => {
        assert.equal(await nameOf(await hello(server, '/docs/allowed/x')),
                     'htaccess');
        assert.equal((await hello(server, '/docs/x')).status, 404);
    });

    test('.htaccess with MCPStreamAfter: requests get 500', async () => {
        assert.equal((await hello(server, '/docs/refused/x')).status, 500);
    });

    test('notes of mod_mcp in LogFormat: the access log has method, name and outcome of each request, and "1" for a resumed stream',
         async () => {
        const log = `${server.prefix}/mcp.log`;
        const gate = 'logged';
        const answer = await session.call('count', { n: 1, gate });
        const { id } = await answer.block();

        answer.close();
        await session.open(gate);

        const resumed = Object.assign(await session.get(id),
                                      { id: answer.id });

        assert.deepEqual(counted((await session.follow(resumed)).messages),
                         [0]);
        resumed.close();

        assert.match((await lines(log, / tools\/list /))[0],
                     /^200 POST tools\/list - \S+ -$/);
        assert.match((await lines(log, / count /))[0],
                     /^200 POST tools\/call count \S+ -$/);
        assert.match((await lines(log, /^200 GET .* 1$/))[0],
                     /^200 GET /);
    });
});


suite('other modules at the endpoint', async () => {
    const server = await Fixture.use({
        location: { mcp_keepalive: '200ms', mcp_close_after: 'off',
                    mcp_stream_after: '100ms' },
        http: `${load('deflate', 'filter', 'rewrite', 'ratelimit',
                      'reqtimeout', 'remoteip')}
            RequestReadTimeout header=1 body=1
            RemoteIPHeader X-Forwarded-For
            RemoteIPInternalProxy 127.0.0.1`,
        server: `
            AddOutputFilterByType DEFLATE application/json text/event-stream
            RewriteEngine On
            RewriteRule ^/alias$ /mcp [PT]
            MCPPublishToken secret-of-publishers
            <If "%{HTTP:X-Slow} == 'yes'">
                SetOutputFilter RATE_LIMIT
                SetEnv rate-limit 400
            </If>
            <Location /mcp>
                Header always set X-Beside yes
            </Location>`,
    });
    const session = await server.session();
    const gzip = { headers: { 'Accept-Encoding': 'gzip' } };

    test('mod_deflate: JSON is compressed, a stream is not', async () => {
        const list = await session.request('tools/list', {}, gzip);

        assert.equal(list.headers['content-encoding'], 'gzip');
        await list.ended;
        assert.ok(JSON.parse(zlib.gunzipSync(Buffer.concat(list.chunks)))
            .result.tools.length > 30);

        const gate = 'compressed';

        await session.open(gate, 1);

        const answer = await session.call('count', { n: 2, gate }, gzip);

        assert.equal(answer.headers['content-encoding'], undefined);
        assert.equal((await answer.message()).params.progress, 1);
        await session.open(gate);
        assert.ok((await session.follow(answer)).response.result);
    });

    test('rules of mod_rewrite and mod_headers: apply to the endpoint', async () => {
        const answer = await hello(server, '/alias');

        assert.equal(answer.status, 200);

        const direct = await session.request('ping');

        assert.equal(direct.headers['x-beside'], 'yes');
    });

    test('mod_ratelimit: a slow stream arrives whole', async () => {
        const slow = { headers: { 'X-Slow': 'yes' } };
        const n = 20;
        const { messages, response } = await session.follow(
            await session.call('count', { n, size: 5000 }, slow));

        assertCounted(counted(messages), n);
        assert.ok(response.result);
    });

    // A connection with one second to send its request may read its stream for
    // longer.

    test('RequestReadTimeout of one second: a longer stream is not cut',
         async () => {
        const listener = await session.get();

        await listener.block();

        for (let i = 0; i < 12; i++) {
            assert.notEqual(await listener.block(), null);
        }

        listener.close();
    });

    test('mod_remoteip reports a remote address for a publisher: 403 although the connection is local',
         async () => {
        const knock = async (headers) => (await request(server.port, {
            path: '/publish',
            headers: { 'Content-Type': 'application/json',
                       Authorization: 'Bearer secret-of-publishers',
                       ...headers },
            body: JSON.stringify({ jsonrpc: '2.0',
                method: 'notifications/tools/list_changed' }),
        })).status;

        assert.equal(await knock({}), 202);
        assert.equal(await knock({ 'X-Forwarded-For': '192.0.2.1' }), 403);
    });
});


suite('TLS and HTTP/2 (tls-http2.test.mjs has the rest)', async () => {
    const { key, certificate } = SERVER === 'apache' ? certify(dir) : {};

    // backends publish without TLS

    const door = await freePort();
    const server = await Fixture.use({
        location: { mcp_close_after: 'off', mcp_stream_after: '100ms',
                    mcp_publish_url: `http://127.0.0.1:${door}/publish`,
                    apache: `<If "%{HTTP:X-Patient} == 'yes'">
                                 MCPStreamAfter 60s
                                 MCPPolicyAfter 60s
                             </If>` },
        http: `${load('ssl', 'http2')}
            Listen 127.0.0.1:${door}
            Protocols h2 http/1.1
            SSLSessionCache none
            MCPHold 1s`,
        server: `
            SSLEngine on
            SSLCertificateFile ${certificate}
            SSLCertificateKeyFile ${key}
        </VirtualHost>
        <VirtualHost 127.0.0.1:${door}>
            <Location /publish>
                SetHandler mcp-publish
            </Location>`,
        allow: /AH10034|AH01909/,
    });
    let client;
    // Returns the one connection for all requests; opens another if the server
    // has closed it.

    function connection() {
        if (!client || client.closed || client.destroyed) {
            client = http2.connect(`https://127.0.0.1:${server.port}`,
                                   { rejectUnauthorized: false });

            // each request reports its own errors

            client.on('error', () => {});
        }

        return client;
    }

    const protocols = {
        'HTTP/1.1': (options) => request(server.port, { ...options,
                                                        secure: true }),
        'HTTP/2': (options) => request2(connection(), options),
    };

    after(() => client?.destroy());

    for (const [name, send] of Object.entries(protocols)) {
        if (name === 'HTTP/2' && MPM === 'prefork') {
            test(name, { skip: 'mod_http2 does not run in prefork' });
            continue;
        }

        const session = await server.session({ send });
        const gateOf = (what) => `${name} ${what}`;

        // One connection serves all requests, so the gate opens after the
        // client has left.

        test(`${name}, client leaves before its stream begins: stream/poll/all lists its call`,
             async () => {
            const caller = await server.session({ send,
                capabilities: { streams: {} } });

            await left(caller, session, gateOf('left'),
                       { 'X-Patient': 'yes' });
        });
    }

    test('HTTP/2, MCPHold 1s: an idle stream ends after 1 s, and is resumed',
        { skip: MPM === 'prefork' && 'mod_http2 does not run in prefork' },
        async () => {
            const session = await server.session({ send: protocols['HTTP/2'] });
            const listener = await session.get();

            assert.equal(await listener.message(), null);
            assert.equal(listener.ending, 'end');
            assert.match(listener.blocks.at(-1).retry, /^\d+$/);

            // the stream is resumed

            const again = await session.get(listener.lastId);

            assert.equal(again.status, 200);
            again.close();
        });
});


suite('TLS with ssl-accurate-shutdown', async () => {
    const { key, certificate } = SERVER === 'apache' ? certify(dir) : {};
    const server = await Fixture.use({
        location: { mcp_close_after: 'off' },
        http: `${load('ssl', 'setenvif')}
            SSLSessionCache none
            Timeout 600`,
        server: `
            SSLEngine on
            SSLCertificateFile ${certificate}
            SSLCertificateKeyFile ${key}
            SetEnvIf Request_URI . ssl-accurate-shutdown`,
        allow: /AH01909/,
    });
    const send = (options) => request(server.port, { ...options,
                                                     secure: true });

    // Opens the session's stream, and does not answer the close_notify by which
    // the server closes the connection.

    async function silent(session) {
        const client = tls.connect({ port: server.port, allowHalfOpen: true,
                                     rejectUnauthorized: false });
        const head = Object.entries(session.headers({
            Accept: 'text/event-stream', Host: 'localhost' }))
            .map(([name, value]) => `${name}: ${value}\r\n`).join('');

        client.setEncoding('utf8');
        client.write(`GET /mcp HTTP/1.1\r\n${head}\r\n`);

        const [text] = await once(client, 'data');

        assert.match(text, /^HTTP\/1.1 200 /);
        client.resume();

        return client;
    }

    test('client does not answer the end of its TLS connection: streams of other clients end',
         async () => {
        const [session, other] = [await server.session({ send }),
                                  await server.session({ send })];
        const client = await silent(session);
        const listener = await other.get();
        const closed = once(client, 'end');

        assert.equal(listener.status, 200);
        assert.equal((await session.delete()).status, 204);
        await closed;
        assert.equal((await other.delete()).status, 204);
        assert.equal(await listener.message(), null);
        client.destroy();
    });
});


suite('restarts', async () => {
    const server = await Fixture.use({
        workers: 2, threads: 50,
        location: { mcp_close_after: '500ms', mcp_stream_after: '50ms',
                    mcp_retry: '50ms' },
        kills: true,
    });
    const session = await server.session();

    test('four graceful restarts during calls: each event arrives once',
        async () => {
            const n = 100;
            const gate = 'load';
            const started = upTo(20).map(() => session.call('count',
                { n, gate }));
            let over = false;
            let quick = 0;

            // short calls run meanwhile

            const others = Promise.all(upTo(4).map(async () => {
                while (!over) {
                    await session.tool('echo', { text: 'x' });
                    quick++;
                }
            }));
            const calls = started.map(async (call) => {
                const answer = await call;

                return session.follow(answer);
            });

            for (let i = 1; i <= 4; i++) {
                await session.open(gate, n * i / 5);
                await server.reload();
            }

            await session.open(gate);

            for (const { messages, response } of await Promise.all(calls)) {
                assertCounted(counted(messages), n);
                assert.equal(textOf(response.result), `counted to ${n}`);
            }

            over = true;
            await others;
            assert.ok(quick > 0);
        });

    // A call whose backend's answer is lost with its process ends with -32603.

    async function interrupted(disturb) {
        const gate = `interrupted ${disturb.name}`;

        await session.open(gate, 5);

        const answer = await session.call('where', { n: 10, gate });
        const { params } = await answer.message();

        for (let i = 0; i < 5; i++) {
            await answer.message();
        }

        await disturb(params.data.worker);
        await answer.ended;

        const { messages, response } = await session.follow(Object.assign(
            await session.resume(answer.lastId), { id: answer.id }));

        assert.deepEqual(messages, []);
        assert.equal(response.error.code, -32603);
    }

    test('restart that is not graceful: the active call ends with -32603',
         () => interrupted(
        async function hangup() {
            await server.reload('SIGHUP');
        }));

    // httpd kills a child that does not exit when asked to.

    const killed = (log) => log.split('\n')
        .filter((line) => /sending a SIGKILL/.test(line));

    test('graceful restart, then a restart that is not graceful: the active call ends with -32603',
         () => interrupted(
        async function both(worker) {
            await server.reload();
            assert.equal(await server.works(worker), true);
            await server.reload('SIGHUP');
            await server.settled();
            assert.deepEqual(killed(await server.log()), []);
        }));

    for (const [what, tool] of [['runs', 'count'], ['is detached', 'detach']])
    {
        test(`graceful restart while a call ${what}, then httpd is stopped: no child has to be killed`,
             async () => {
            const stopped = await Fixture.start({});
            const session = await stopped.session();

            await session.open('count', 1);

            const call = await session.call(tool, { n: 2, gate: tool });

            await call.message();
            await stopped.reload();

            process.kill(await stopped.master(), 'SIGTERM');
            await stopped.exited;

            const log = await stopped.log();

            await stopped.stop();
            assert.deepEqual(killed(log), []);
        });
    }

    test('child is killed: its call ends with -32603', () => interrupted(
        async function kill(worker) {
            process.kill(worker, 'SIGKILL');
        }));

    test('call after restarts and a killed child: all its messages arrive',
         async () => {
        const { messages } = await session.follow(
            await session.call('count', { n: 50 }));

        assert.deepEqual(counted(messages), upTo(50));
    });
});


suite('warnings, status', async () => {
    const server = await Fixture.use({});
    const session = await server.session();
    const get = (where, headers = {}) => request(server.port, {
        method: 'GET', path: where, headers });

    test('status page: JSON, Prometheus or HTML, as the client asks',
         async () => {
        await session.tool('echo', { text: 'x' });

        const json = await get('/status', { Accept: 'application/json' });

        assert.equal(json.type, 'application/json');
        assert.ok((await json.json()).calls >= 1);

        const prometheus = await get('/status?format=prometheus');

        assert.equal(prometheus.type, 'text/plain');
        assert.match(await prometheus.text(),
                     /^mcp_calls_total(\{.*\})? \d+$/m);
        assert.match(await (await get('/status', { Accept: 'text/html' }))
            .text(), /<html/i);
        assert.equal((await get('/status?format=nonsense')).status, 400);
        assert.equal((await request(server.port, { path: '/status' })).status,
                     405);
    });

    test('page of mod_status: has the heading MCP, with ?auto a line "MCP:"',
         async () => {
        assert.match(await (await get('/server-status?auto')).text(),
                     /^MCP: .*\d/m);
        assert.match(await (await get('/server-status')).text(),
                     /<h2>MCP<\/h2>/);
    });

    test(`start with ${MPM === 'prefork' ? 'the prefork MPM: a notice' : 'ThreadsPerChild 2: a warning'} in the log`,
         async () => {
        const small = await Fixture.start({ threads: 2 });
        const log = await small.log();

        await small.stop();

        if (MPM === 'prefork') {
            assert.match(log, /\[notice\].* holds a process/);
        } else {
            assert.match(log, /\[warn\].*ThreadsPerChild 2 /);
        }

        assert.doesNotMatch(await server.log(), /mod_mcp: ThreadsPerChild/);
        assert.doesNotMatch(await server.log(), /neither MCPBackend nor/);
    });

    // One of 25 threads is idle: 25 + 200 connections at most.

    test('AsyncRequestWorkerFactor 200 with 25 threads: a warning at the start',
        { skip: MPM !== 'event' && 'suspends nothing' }, async () => {
            const busy = await Fixture.start({ threads: 25,
                http: 'AsyncRequestWorkerFactor 200' });
            const log = await busy.log();

            await busy.stop();
            assert.match(log, /\[warn\].*AsyncRequestWorkerFactor 200, .* 225 /);
            assert.doesNotMatch(await server.log(), /AsyncRequestWorkerFactor/);
        });

    test('catalog without a backend: a warning at the start, a call gets "No backend configured"',
         async () => {
        const bare = await Fixture.start({ server: `
            <Location "/bare">
                SetHandler mcp
                MCPCatalog ${root}/t/fixtures/catalog.json
            </Location>` });
        const session = await bare.session({ send: (options) => request(
            bare.port, { ...options, path: '/bare' }) });
        const { response } = await session.follow(
            await session.call('echo', { text: 'x' }));
        const log = await bare.log();

        await bare.stop();

        assert.equal(response.error.message, 'No backend configured');
        assert.match(log, /\[warn\].* endpoint \/bare has .* neither MCPBackend/);
        assert.doesNotMatch(log, /endpoint \/mcp has a catalog/);
        assert.match(log, /\[error\].*no backend for tools\/call of "echo"/);
    });

    test('MCPStreamBuffer that lets one stream use half of the zone: a warning at the start',
         async () => {
        const small = await Fixture.start({ zone: '1m', server: `
            <Location "/more">
                SetHandler mcp
                MCPStreamBuffer 256k
            </Location>
            <Location "/less">
                SetHandler mcp
                MCPStreamBuffer 128k
            </Location>
            <Location "/default">
                SetHandler mcp
            </Location>` });
        const log = await small.log();

        await small.stop();

        assert.match(log, /\[warn\].* endpoint \/more has an MCPStreamBuffer /);
        assert.doesNotMatch(log, /endpoint \/less has an MCPStreamBuffer/);
        assert.doesNotMatch(log, /endpoint \/default has an MCPStreamBuffer/);
    });

    test('MCPRoute to a path without a handler: calls get isError, the log has a warning',
         async () => {
        const nowhere = await Fixture.start({
            env: { FIXTURE_LOG: 'warn' },
            location: { apache: 'MCPRoute echo /nowhere' } });
        const session = await nowhere.session();
        const { isError } = await session.tool('echo', { text: 'x' });
        const log = await nowhere.log();

        await nowhere.stop();

        assert.equal(isError, true);
        assert.match(log, /\[warn\].* at \/nowhere with "404 Not Found"/);
    });

    for (const line of ['MCPStore shm:8m', 'MCPThreads 4', 'MCPHold Off']) {
        const name = line.split(' ')[0];

        test(`${name} twice: rejected`, () => assert.rejects(Fixture.start({
            http: name === 'MCPStore' ? line : `${line}\n${line}` }),
        new RegExp(`${name} is duplicate`)));
    }

    for (const [what, options] of Object.entries({
        'the endpoint itself': { location: { apache: 'MCPBackend /mcp' } },
        'another endpoint': { server: `
            <Location "/other">
                MCPRoute x /mcp
            </Location>` },
        'the server': { server: `
            MCPBackend /deep
            <Location "/deep/mcp">
                SetHandler mcp
            </Location>` },
    })) {
        test(`MCPBackend or MCPRoute of ${what} names an endpoint as a backend: rejected`, () =>
            assert.rejects(Fixture.start(options), /would reject all clients/));
    }
});
