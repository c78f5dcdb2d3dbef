// SPDX-License-Identifier: Apache-2.0

// Apache httpd's own machinery for backends: balancers, workers, interim
// responses, pipes, log lines.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import dns from 'node:dns/promises';
import fs from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { after, test } from 'node:test';
import { fastcgi } from '../fixtures/fastcgi.mjs';
import { MPM, dir, file, load, suite } from './lib/apache.mjs';
import { Fixture, SERVER, freePort } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { until } from './lib/redis.mjs';
import { textOf } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const catalog = (...names) => file(`${names[0]}.json`, JSON.stringify({
    tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }));

const errors = (log) => log.split('\n')
    .filter((line) => /\[(error|crit|alert|emerg)\]/.test(line));

/*
 * An HTTP backend with two tools: `who` answers with the backend's name,
 * `silent` never answers. Emits 'answered' with the connection of an answer,
 * 'silent' with the request, 'over' when the call of `silent` is aborted.
 */

async function member(name) {
    const events = new EventEmitter();

    const server = http.createServer({ keepAliveTimeout: 0 }, (req, res) => {
        if (req.headers['mcp-name'] === 'silent') {
            res.on('close', () => events.emit('over'));
            events.emit('silent', req);
            return;
        }

        res.setHeader('Content-Type', 'application/json');
        res.end(JSON.stringify({ content: [{ type: 'text', text: name }] }));
        events.emit('answered', req.socket);
    });

    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
        server.close();
        server.closeAllConnections();
    });
    events.port = server.address().port;

    return events;
}

// A backend that reads a request and never answers. Emits 'silent' then, and
// 'over' when the connection is closed; `calls` is the number of requests.

async function silentMember() {
    const events = Object.assign(new EventEmitter(), { calls: 0 });
    const server = net.createServer((socket) => {
        socket.once('data', () => {
            events.calls++;
            events.emit('silent', socket);
        });
        socket.on('close', () => events.emit('over'));
        socket.on('error', () => {});
    });

    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => server.close());
    events.port = server.address().port;

    return events;
}

// The header by which the backends see the name of the tool.

const NAME = 'RequestHeader set Mcp-Name "%{MCP_NAME}e"';

// Calls `silent`, which any of the members may get. cancel() cancels the call
// and waits until its backend request has ended.

async function stoppable(session, members) {
    const started = Promise.race(members.map(async (one) => {
        const [x] = await once(one, 'silent');

        return { one, x };
    }));
    const answer = session.call('silent');
    const { one, x } = await started;
    const over = once(one, 'over');
    const { id } = await answer;

    const stop = () => session.notify('notifications/cancelled',
                                      { requestId: id });

    return { x, over, stop, cancel: async () => {
        await stop();
        await over;
    } };
}


suite('cancelled calls', async () => {
    const members = await Promise.all(['one', 'three', 'two'].map(member));
    const location = { mcp_catalog: await catalog('who', 'silent'),
                       mcp_stream_after: '50ms', mcp_close_after: 'off' };
    const server = await Fixture.use({
        location: { ...location, apache: 'MCPBackend /mcp-backend/pair' },
        http: `
            ${load('proxy_balancer', 'lbmethod_byrequests', 'slotmem_shm')}
            <Proxy "balancer://pair">
                ${members.map(({ port }) => `BalancerMember http://127.0.0.1:${
                    port}`).join('\n')}
                ProxySet maxattempts=1
            </Proxy>`,
        server: `
            <Location /mcp-backend/pair>
                ${NAME}
                SetHandler "proxy:balancer://pair/"
            </Location>`,
    });
    const session = await server.session();

    // One member stays unused: if all were in error, mod_proxy would enable
    // them again.

    test('cancelled calls to a balancer of httpd: none of its members is disabled',
         async () => {
        await (await stoppable(session, members)).cancel();

        const seen = [];

        for (let i = 0; i < 6; i++) {
            seen.push(textOf(await session.tool('who')));
        }

        assert.deepEqual([...new Set(seen)].sort(), ['one', 'three', 'two']);
    });

    // mod_proxy_uwsgi reports a closed connection as an error of its own

    test('cancelled calls to a balancer of uwsgi backends: each backend still gets its share of later calls',
         async () => {
        const silent = await Promise.all([0, 1, 2].map(silentMember));
        const other = await Fixture.start({
            location: { ...location, apache: 'MCPBackend /mcp-backend/uwsgi' },
            http: `
                ${load('proxy_balancer', 'lbmethod_byrequests', 'slotmem_shm',
                       'proxy_uwsgi')}
                <Proxy "balancer://uwsgi">
                    ${silent.map(({ port }) =>
                        `BalancerMember uwsgi://127.0.0.1:${port}`).join('\n')}
                </Proxy>`,
            server: `
                <Location /mcp-backend/uwsgi>
                    SetHandler "proxy:balancer://uwsgi/"
                </Location>` });
        const session = await other.session();

        // The third call runs on: if all were in error, mod_proxy would enable
        // them again.

        for (let i = 0; i < 5; i++) {
            const call = await stoppable(session, silent);

            if (i !== 2) {
                await call.cancel();
            }
        }

        assert.deepEqual(silent.map(({ calls }) => calls).sort(), [1, 2, 2]);
        assert.deepEqual(errors(await other.log()), []);
        await other.stop();
    });

    test('cancelled calls to a balancer of httpd: the log has no error',
         async () => {
        assert.deepEqual(errors(await server.log()), []);
    });

    // mod_proxy notices the closed connection only when it sends the call.

    test('backend has closed the kept connection, the next call is cancelled: httpd closes the connection of this call',
         {
        skip: MPM === 'prefork' && 'each process keeps its own',
    }, async () => {
        const [one] = members;
        const where = `http://127.0.0.1:${one.port}`;
        const other = await Fixture.start({
            workers: 1,
            location: { ...location, apache: 'MCPBackend /mcp-backend/one' },
            http: `<Proxy "${where}/">
                       ProxySet enablereuse=on
                   </Proxy>`,
            server: `
                <Location /mcp-backend/one>
                    ${NAME}
                    SetHandler "proxy:${where}/"
                </Location>` });
        const session = await other.session();
        const sockets = new Set();

        one.on('answered', (socket) => sockets.add(socket));

        for (let i = 0; i < 3; i++) {
            await session.tool('who');
        }

        assert.equal(sockets.size, 1);

        const [kept] = sockets;

        kept.end();
        await once(kept, 'finish');

        const { x, cancel } = await stoppable(session, [one]);

        await cancel();
        assert.notEqual(x.socket, kept);
        assert.deepEqual(errors(await other.log()), []);
        await other.stop();
    });

    // mod_proxy_fcgi does not expose its socket. Returns a server whose FastCGI
    // backend is silent, and a call of this backend that was cancelled.

    async function cancelledAtFastcgi(timeout) {
        const events = new EventEmitter();
        const port = await freePort();
        const where = `fcgi://127.0.0.1:${port}/`;
        const backend = await fastcgi(String(port), (x) => {
            x.signal.addEventListener('abort', () => events.emit('over'));
            events.emit('silent', x);
        });
        const other = await Fixture.start({
            location: { ...location, apache: 'MCPBackend /mcp-backend/one' },
            http: `
                <Proxy "${where}">
                    ProxySet timeout=${timeout}
                </Proxy>`,
            server: `
                <Location /mcp-backend/one>
                    SetHandler "proxy:${where}"
                </Location>` });

        after(() => backend.close());

        const call = await stoppable(await other.session(), [events]);

        await call.stop();

        // another process may have got the cancellation

        await until(async () => /ended: cancelled/.test(await other.log()));

        return { other, ...call };
    }

    test('cancelled call to a silent FastCGI backend: the call ends at the backend\'s next output',
         async () => {
        const { other, over, x } = await cancelledAtFastcgi(600);

        assert.equal(x.signal.aborted, false);
        x.head(200, 'text/event-stream');
        x.write(': \n\n');
        await over;
        await other.stop();
    });

    test('cancelled call to a FastCGI backend that stays silent: the call ends after the timeout= of the backend\'s mod_proxy worker',
         async () => {
        const { other, over } = await cancelledAtFastcgi(1);

        await over;
        await other.stop();
    });
});


suite('log lines of httpd about a backend', async () => {
    const server = await Fixture.use({ http: `
        ErrorLogFormat "[%l] %P#%-T: %m: (%L) %M"` });
    const session = await server.session();

    test('httpd logs an error about a backend: log lines have the id and the name of the call', async () => {
        assert.equal((await session.response('tools/call', { name: 'crash',
            arguments: { after: 0, format: 'sse' } })).error?.code, -32603);

        const lines = errors(await server.log());
        const [, id] = lines.join('\n').match(/call (\S+) of "crash" failed/);
        const httpds = lines.filter((line) => /: proxy_fcgi: /.test(line));

        assert.ok(httpds.length > 0);

        for (const line of httpds) {
            assert.ok(line.includes(`(${id})`), line);
        }

        // any log format: the next line names the call

        const [where] = httpds[0].match(/\d+#[\d-]+/);
        const next = lines[lines.indexOf(httpds[0]) + 1];

        assert.ok(next.includes(where));
        assert.ok(next.includes(`the line above concerns call ${id} of "crash"`));
    });
});


suite('HTTP backend that sends 103 and 102 before 200', async () => {
    const early = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end('HTTP/1.1 103 Early Hints\r\n'
            + 'Link: </x>; rel=preload\r\n\r\n'
            + 'HTTP/1.1 102 Processing\r\n\r\n'
            + 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n'
            + '{"content":[{"type":"text","text":"whole"}]}'));
    });

    early.listen(0, '127.0.0.1');
    await once(early, 'listening');
    after(() => early.close());

    const server = await Fixture.use({
        location: { mcp_catalog: await catalog('early', 'insisting'),
                    apache: `MCPBackend /mcp-backend/early
                             MCPRoute insisting /mcp-backend/insisting` },
        server: ['early', 'insisting'].map((name) => `
            <Location /mcp-backend/${name}>
                ProxyPass http://127.0.0.1:${early.address().port}/
                ${name === 'insisting' ? 'SetEnv proxy-interim-response RFC'
                                       : ''}
            </Location>`).join('') });
    const session = await server.session();

    for (const name of ['early', 'insisting']) {
        test(`HTTP backend sends 103 and 102 before 200, proxy-interim-response ${name === 'insisting' ? 'RFC' : 'not set'}: the call gets the response with 200`,
             async () => {
            assert.equal(textOf(await session.tool(name)), 'whole');
        });
    }
});


suite('a TLS backend', async () => {
    const events = new EventEmitter();
    let connections = 0;
    let port = 0;

    if (SERVER === 'apache') {
        const key = `${dir}/backend-key.pem`;
        const certificate = `${dir}/backend.pem`;

        execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048',
            '-nodes', '-keyout', key, '-out', certificate, '-days', '2',
            '-subj', '/CN=localhost'], { stdio: 'ignore' });

        const backend = https.createServer({ key: await fs.readFile(key),
            cert: await fs.readFile(certificate) }, (req, res) => {
            if (req.headers['mcp-name'] === 'silent') {
                res.on('close', () => events.emit('over'));
                events.emit('silent', res);
                return;
            }

            res.setHeader('Content-Type', 'application/json');
            res.end(JSON.stringify({ content: [{ type: 'text',
                                                 text: 'who' }] }));
        });

        backend.on('connection', () => connections++);
        backend.listen(0, '127.0.0.1');
        await once(backend, 'listening');
        after(() => {
            backend.close();
            backend.closeAllConnections();
        });
        ({ port } = backend.address());
    }

    const server = await Fixture.use({
        location: { mcp_catalog: await catalog('who', 'silent'),
                    mcp_stream_after: '50ms', mcp_close_after: 'off',
                    apache: 'MCPBackend /mcp-backend/tls' },
        http: load('ssl'),
        server: `
            SSLProxyEngine on
            SSLProxyVerify none
            SSLProxyCheckPeerName off
            SSLProxyCheckPeerExpire off
            <Location /mcp-backend/tls>
                RequestHeader set Mcp-Name "%{MCP_NAME}e"
                ProxyPass https://127.0.0.1:${port}/ disablereuse=on
            </Location>` });
    const session = await server.session();

    test('call to a TLS backend: httpd opens one connection', async () => {
        connections = 0;
        assert.equal(textOf(await session.tool('who')), 'who');
        assert.equal(connections, 1);
    });

    test('cancelled call to a TLS backend: httpd closes the connection to the backend',
         async () => {
        await (await stoppable(session, [events])).cancel();
        assert.deepEqual(errors(await server.log()), []);
    });
});


suite('calls of a client over TLS', async () => {
    const key = `${dir}/key.pem`;
    const certificate = `${dir}/certificate.pem`;

    if (SERVER === 'apache') {
        execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048',
            '-nodes', '-keyout', key, '-out', certificate, '-days', '2',
            '-subj', '/CN=localhost'], { stdio: 'ignore' });
    }

    const port = await freePort();
    const backend = await fastcgi(String(port), (x) => {
        const { params } = x;

        x.head(200, 'application/json');
        x.write(JSON.stringify({ content: [],
            structuredContent: { seen: [params.HTTPS, params.REQUEST_SCHEME,
                                        params.SEEN] } }));
        x.end();
    });

    after(() => backend.close());

    const plain = await freePort();
    const answers = `SetHandler "proxy:fcgi://127.0.0.1:${port}/"`;
    const routes = `MCPRoute verified /calls/verified
                    MCPRoute strict /calls/strict
                    MCPBackend /calls/tools`;
    const locations = `
        RewriteEngine On
        <Location /calls>
            Require ssl
            RewriteEngine On
            RewriteCond %{HTTPS} off
            RewriteRule ^ https://localhost/ [R=301,L]
            RewriteRule ^ - [E=SEEN:%{HTTPS}-%{REQUEST_SCHEME}-%{SSL:HTTPS}]
            ${answers}
        </Location>
        <Location /calls/verified>
            Require ssl-verify-client
        </Location>
        <Location /calls/strict>
            SSLRequireSSL
        </Location>`;
    const server = await Fixture.use({
        location: { mcp_catalog: await catalog('seen', 'verified', 'strict'),
                    apache: routes },
        http: `${load('ssl', 'rewrite')}
            Listen 127.0.0.1:${plain}
            SSLSessionCache none`,
        server: `
            SSLEngine on
            SSLCertificateFile ${certificate}
            SSLCertificateKeyFile ${key}
            ${locations}
        </VirtualHost>
        <VirtualHost 127.0.0.1:${plain}>
            <Location /mcp>
                SetHandler mcp
                MCPCatalog ${dir}/seen.json
                ${routes}
            </Location>
            ${locations}` });
    const session = await server.session({ send: (options) => request(
        server.port, { ...options, secure: true }) });

    test('client over TLS: rewrite rules, access rules and the backend detect HTTPS',
         async () => {
        assert.deepEqual((await session.tool('seen')).structuredContent,
                         { seen: ['on', 'https', 'on-https-on'] });
    });

    test('backend with Require ssl-verify-client, no client certificate: isError with 403',
         async () => {
        const { isError, content } = await session.tool('verified');

        assert.equal(isError, true);
        assert.match(content[0].text, /403/);
    });

    test('backend with SSLRequireSSL: isError with 403 even over TLS, and a warning in the log',
        async () => {
            assert.match(textOf(await session.tool('strict')), /403/);
            assert.match(await server.log(),
                /\[warn\].* SSLRequireSSL also applies .* \/calls\/strict /);
        });

    test('backend with Require ssl, client without TLS: isError with 403',
         async () => {
        const other = await server.session({ send: (options) => request(
            plain, options) });

        assert.match(textOf(await other.tool('seen')), /403/);
    });
});


// Other streams of the same child continue meanwhile.

suite('streams that an external program holds up', async () => {
    const gates = ['filter', 'log'].map((name) => `${dir}/${name}-gate`);

    if (SERVER === 'apache') {
        gates.forEach((gate) => execFileSync('mkfifo', ['-m', '666', gate]));
    }

    const filter = await file('filter', `#!/bin/sh
cat
read line < ${gates[0]}
`, 0o755);
    const logger = await file('logger', `#!/bin/sh
read line < ${gates[1]}
cat > /dev/null
`, 0o755);
    // ThreadSanitizer is preloaded into the log program as well, and crashes
    // there

    const skip = (process.env.SUITE_PREFIX ?? '').startsWith('tsan');
    const server = await Fixture.use({
        workers: 1,
        location: { mcp_close_after: 'off', mcp_stream_after: '50ms',
                    mcp_keepalive: '100ms' },
        http: `${load('ext_filter')}
            ExtFilterDefine slow mode=output cmd=${filter}
            LogFormat "${'x'.repeat(8000)}" long`,
        server: `
            ${skip ? '' : `CustomLog "||${logger}" long "expr=-n req('X-Logged')"`}
            <If "%{HTTP:X-Filtered} == 'yes'">
                SetOutputFilter slow
            </If>` });
    const session = await server.session();
    const status = async () => (await request(server.port, { method: 'GET',
        path: '/status', headers: { Accept: 'application/json' } })).json();
    const release = (gate) => fs.writeFile(gate, '\n');

    // Publishes a message, which a listener without a thread receives.

    async function goes(listener) {
        await session.tool('publish', { message: { jsonrpc: '2.0',
            method: 'notifications/tools/list_changed' } });
        assert.equal((await listener.message()).method,
                     'notifications/tools/list_changed');
    }

    test('program of mod_ext_filter holds up one stream: other streams continue',
         async () => {
        const listener = await session.get();

        await listener.block();

        // DELETE returns, but the response ends only when the filter program
        // has ended

        const other = await server.session();
        const filtered = other.get(undefined,
            { headers: { 'X-Filtered': 'yes' } });

        while ((await status()).listeners !== 2);

        assert.equal((await other.delete()).status, 204);
        await goes(listener);
        await release(gates[0]);
        await (await filtered).ended;
        listener.close();
    });

    test('piped log program does not read its input: streams continue',
         { skip }, async () => {
        const listener = await session.get();

        await listener.block();

        // more than a pipe can buffer

        for (let i = 0; i < 12; i++) {
            const other = await server.session();
            const logged = await other.get(undefined,
                { headers: { 'X-Logged': 'yes' } });

            await logged.block();
            logged.close();
        }

        await goes(listener);

        // a call of 2026-07-28 ends with its connection, although the end of
        // the connection is not in the log yet

        const gate = `logged ${process.pid}`;
        const before = (await status()).calls_cancelled;
        const held = await new Modern(server).call('detach', { n: 0, gate },
            { headers: { 'X-Logged': 'yes' } });

        await held.block();
        held.close();
        await until(async () =>
            (await status()).calls_cancelled === before + 1);
        await session.open(gate);
        await release(gates[1]);
        listener.close();
    });

    test('event MPM: the log has no warning that the MPM is unknown',
         async () => {
        assert.doesNotMatch(await server.log(), /does not support this version of the event MPM/);
    });
});


// httpd looks up the name of an address in memory of the address, which all calls
// of a batch would share.

suite('names of clients', async () => {
    const server = await Fixture.use({ location: { mcp_stream_after: '60s' },
                                       server: 'HostnameLookups On' });
    const session = await server.session({ version: '2025-03-26' });
    const { hostname } = await dns.lookupService('127.0.0.1', 80)
        .catch(() => ({ hostname: '127.0.0.1' }));
    const skip = hostname === '127.0.0.1' && 'this address has no name here';

    test('HostnameLookups On: each backend request of a batch gets REMOTE_HOST',
         { skip }, async () => {
        const messages = Array.from({ length: 16 }, (_, id) => ({
            jsonrpc: '2.0', id, method: 'tools/call',
            params: { name: 'env', arguments: { prefix: 'REMOTE_HOST' } } }));
        const got = await session.post(JSON.stringify(messages));

        for (const { result } of JSON.parse(await got.text())) {
            assert.deepEqual(result.structuredContent,
                             { REMOTE_HOST: hostname });
        }
    });
});


suite('a CGI program with 48 MB of output', async () => {
    const PIECES = 1500;
    const gate = `${dir}/gate`;

    if (SERVER === 'apache') {
        execFileSync('mkfifo', ['-m', '666', gate]);
    }

    const script = await file('cgi/much', `#!/usr/bin/perl
$| = 1;
print "Content-Type: text/event-stream\n\n";
for (1 .. ${PIECES}) {
    print 'data: {"jsonrpc":"2.0","method":"notifications/message",',
        '"params":{"level":"info","data":"', 'x' x 32768, '"}}', "\n\n";
}
open my $gate, '<', '${gate}';
<$gate>;
print 'data: {"content":[]}', "\n\n";
`, 0o755);
    const cgi = MPM === 'prefork' ? 'cgi' : 'cgid';
    const server = await Fixture.use({
        workers: 1,
        location: { mcp_catalog: await catalog('much'), mcp_close_after: 'off',
                    mcp_stream_after: '50ms',
                    apache: 'MCPBackend /mcp-backend/much' },
        http: `${load(cgi, 'alias')}
            ${cgi === 'cgid' ? `ScriptSock ${dir}/much.sock` : ''}
            <Directory "${dir}">
                Require all granted
            </Directory>`,
        server: `ScriptAlias /mcp-backend/much ${script}` });

    // Sanitizers keep freed memory; with prefork one process of many runs the
    // call.

    const skip = process.env.SUITE_PREFIX || MPM === 'prefork'
        ? 'tells nothing here' : false;

    test('CGI program sends 48 MB: the httpd child grows by less than 16 MB',
         { skip }, async () => {
        const session = await server.session();
        const used = async () => Math.max(...await Promise.all(
            (await server.workers()).map(async (pid) => Number((await
                fs.readFile(`/proc/${pid}/status`, 'utf8'))
                .match(/^RssAnon:\s+(\d+) kB/m)[1]))));
        const before = await used();
        const answer = await session.call('much');

        for (let i = 0; i < PIECES; i++) {
            assert.equal((await answer.message()).method,
                         'notifications/message');
        }

        const grown = await used() - before;

        await fs.writeFile(gate, '\n');
        assert.ok((await session.follow(answer)).response.result);
        assert.ok(grown < 16384, `${grown} KB for 48 MB`);
    });
});


suite('HTTP backend that is silent for longer than ProxyTimeout', async () => {
    const silent = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', (data) => {
            if (data.includes('"name":"amid"')) {
                socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n'
                             + 'Content-Type: application/json\r\n\r\n{');
            }
        });
    });

    await new Promise((resolve) => { silent.listen(0, '127.0.0.1', resolve); });
    after(() => silent.close());

    const server = await Fixture.use({
        location: { mcp_catalog: await catalog('before', 'amid'),
                    apache: 'MCPBackend /mcp-backend/silent' },
        server: `
            <Location /mcp-backend/silent>
                ProxyPass http://127.0.0.1:${silent.address().port}/ timeout=1
            </Location>`,
    });
    const session = await server.session();

    for (const [name, reason] of [
        ['before', 'before its response'],
        ['amid', 'in the middle of its response'],
    ]) {
        test(`backend silent ${reason}: the client and the log get a timeout error`,
             async () => {
            const { response } = await session.follow(
                await session.call(name, {}));

            assert.match(response.error.message, /time/i);
            assert.ok(errors(await server.log()).some((line) =>
                line.includes(`"${name}"`)
                && line.includes(`timed out ${reason}`)));
        });
    }
});


// The SCRIPT_FILENAME of a handler with a path is that path; of a handler
// without a path, the file name to which the backend's URL maps.

suite('FastCGI handlers with and without a path', async () => {
    const port = await freePort();
    const backend = await fastcgi(String(port), (x) => {
        const { SCRIPT_FILENAME, PATH_INFO, REQUEST_URI, MCP_NAME } = x.params;

        x.head(200, 'application/json');
        x.write(JSON.stringify({ content: [], structuredContent: {
            SCRIPT_FILENAME, PATH_INFO, REQUEST_URI, MCP_NAME } }));
        x.end();
    });

    after(() => backend.close());

    const names = ['file', 'script', 'tcp', 'denied'];
    const server = await Fixture.use({
        location: { mcp_catalog: await catalog(...names),
                    apache: names.map((name) =>
                        `MCPRoute ${name} /calls/${name}`).join('\n') },
        server: `
            <Proxy "fcgi://127.0.0.1:${port}/srv/">
                ProxySet enablereuse=on
            </Proxy>
            <Location /calls/file>
                SetHandler "proxy:fcgi://127.0.0.1:${port}/"
            </Location>
            <Location /calls/script>
                SetHandler "proxy:fcgi://127.0.0.1:${port}/srv/tools.php"
            </Location>
            <Location /calls/tcp>
                SetHandler "proxy:fcgi://127.0.0.1:${port}/srv/a%20b"
            </Location>
            <Location /calls/denied>
                SetHandler "proxy:fcgi://127.0.0.1:${port}/srv/tools.php"
                Require all denied
            </Location>` });
    const session = await server.session();
    const seen = async (name) => (await session.follow(
        await session.call(name, {}))).response;

    test('FastCGI handler with a path: SCRIPT_FILENAME is this path, PATH_INFO is not sent',
         async () => {
        assert.deepEqual((await seen('script')).result.structuredContent, {
            SCRIPT_FILENAME: `proxy:fcgi://127.0.0.1:${port}/srv/tools.php`,
            REQUEST_URI: '/calls/script', MCP_NAME: 'script' });
        assert.match((await seen('tcp')).result.structuredContent
            .SCRIPT_FILENAME, /\/srv\/a(%20| )b$/);
    });

    test('FastCGI handler without a path: SCRIPT_FILENAME is the file name, PATH_INFO is not sent',
        async () => {
            const { SCRIPT_FILENAME, PATH_INFO } =
                (await seen('file')).result.structuredContent;

            assert.match(SCRIPT_FILENAME, /\/htdocs\/calls\/file$/);
            assert.equal(PATH_INFO, undefined);
        });

    test('FastCGI handler whose location denies all: isError with 403',
         async () => {
        const { result } = await seen('denied');

        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /403 Forbidden/);
    });
});
