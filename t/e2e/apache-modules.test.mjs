// SPDX-License-Identifier: Apache-2.0

// mod_mcp among the modules that Debian enables by default, with filters on
// every response, and below a DocumentRoot with .htaccess files.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { fastcgi } from '../fixtures/fastcgi.mjs';
import { MPM, dir, file, load, suite } from './lib/apache.mjs';
import { Fixture, freePort, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';
import { request } from './lib/wire.mjs';

const get = (server, where, headers = {}) => request(server.port, {
    method: 'GET', path: where, headers });


suite('filters on every response', async () => {
    const server = await Fixture.use({
        location: { mcp_stream_after: '50ms', mcp_close_after: 'off',
                    mcp_auth_resource: 'https://mcp.example.com/mcp',
                    mcp_auth_server: 'https://id.example.com',
                    mcp_allow_origin: 'https://app.example.com' },

        // Debian enables the first two lines

        http: `${load('access_compat', 'alias', 'autoindex', 'deflate', 'dir')}
            ${load('filter', 'negotiation', 'reqtimeout')}
            ${load('cache', 'cache_disk', 'expires', 'include', 'ratelimit')}
            ${load('substitute', 'speling', 'rewrite')}
            CacheRoot ${dir}/cache
            CacheEnable disk /
            CacheIgnoreCacheControl On
            CacheStorePrivate On
            ExpiresActive On
            ExpiresDefault "access plus 1 hour"
            CheckSpelling On
            <Directory "/">
                Options FollowSymLinks MultiViews
            </Directory>
            AddOutputFilterByType DEFLATE text/html text/plain application/json
            AddOutputFilterByType SUBSTITUTE application/json
            Substitute s/unlikely-to-be-there/x/
            SetOutputFilter RATE_LIMIT
            SetEnv rate-limit 4096`,
    });
    const gzip = { 'Accept-Encoding': 'gzip' };

    test('output filters on every response, metadata document: GET gets it, compressed if the client accepts gzip, OPTIONS gets 204',
        async () => {
            const where = '/.well-known/oauth-protected-resource/mcp';
            const plain = await get(server, where);

            assert.equal(plain.status, 200);
            assert.equal((await plain.json()).resource,
                         'https://mcp.example.com/mcp');

            const packed = await get(server, where, gzip);

            assert.equal(packed.status, 200);
            assert.equal(packed.headers['content-encoding'], 'gzip');
            await packed.ended;
            assert.equal(JSON.parse(zlib.gunzipSync(
                Buffer.concat(packed.chunks))).resource,
            'https://mcp.example.com/mcp');

            const preflight = await request(server.port, {
                method: 'OPTIONS', path: where,
                headers: { Origin: 'https://app.example.com',
                           'Access-Control-Request-Method': 'GET' } });

            assert.equal(preflight.status, 204);
        });

    test('output filters on every response, CORS preflight request to the endpoint: 204', async () => {
        const answer = await request(server.port, {
            method: 'OPTIONS', path: '/mcp',
            headers: { ...gzip, Origin: 'https://app.example.com',
                       'Access-Control-Request-Method': 'POST' } });

        assert.equal(answer.status, 204);
    });

    test('output filters on every response, client accepts gzip: JSON arrives compressed, a stream arrives complete',
         async () => {
        const session = await server.session();
        const list = await session.request('tools/list', {},
                                           { headers: gzip });

        assert.equal(list.headers['content-encoding'], 'gzip');
        await list.ended;
        assert.ok(JSON.parse(zlib.gunzipSync(Buffer.concat(list.chunks)))
            .result.tools.length > 30);

        const { messages, response } = await session.follow(
            await session.call('count', { n: 5 }, { headers: gzip }));

        assert.deepEqual(counted(messages), upTo(5));
        assert.equal(textOf(response.result), 'counted to 5');
    });

    test('output filters on every response: errors 404 and 405 reach the client', async () => {
        assert.equal((await get(server, '/mcp/below', gzip)).status, 404);
        assert.equal((await get(server, '/mcp-backend/tools', gzip)).status,
                     404);
        assert.equal((await request(server.port, { path: '/status',
            headers: gzip })).status, 405);
        assert.equal((await get(server, '/status', gzip)).status, 200);
    });
});


// Returns the system calls on files below a path that a server makes during an
// action.

async function traced(server, below, action) {
    const log = `${dir}/strace`;
    const pids = await server.workers();
    const tracer = spawn('strace', ['-f', '-qq', '-e', 'trace=%file', '-o', log,
                                    ...pids.flatMap((pid) => ['-p', pid])],
                         { stdio: 'ignore' });
    const ended = once(tracer, 'exit');
    const untraced = async () => (await Promise.all(pids.map(async (pid) =>
        Promise.all((await fs.readdir(`/proc/${pid}/task`)).map((task) =>
            fs.readFile(`/proc/${pid}/task/${task}/status`, 'utf8')
                .catch(() => '')))))).flat()
        .some((status) => /^TracerPid:\t0$/m.test(status));

    while (await untraced()) {
        assert.equal(tracer.exitCode, null, 'strace runs');
        await delay(10);
    }

    await action();
    tracer.kill('SIGINT');
    await ended;

    return (await fs.readFile(log, 'utf8')).split('\n')
        .filter((line) => line.includes(below));
}

suite('below a DocumentRoot with .htaccess files', async () => {
    await file('site/index.html', 'index');
    await file('site/mcp.html', 'page');
    await file('site/mcp-backend/tools.html', 'page');
    await file('site/.htaccess', `
        RewriteEngine On
        RewriteCond %{REQUEST_FILENAME} !-f
        RewriteRule . /index.html [L]\n`);

    const port = await freePort();
    const backend = await fastcgi(String(port), (x) => {
        const { PATH_INFO, PATH_TRANSLATED } = x.params;

        x.head(200, 'application/json');
        x.write(JSON.stringify({ content: [], structuredContent: {
            PATH_INFO, PATH_TRANSLATED } }));
        x.end();
    });

    after(() => backend.close());

    const server = await Fixture.use({
        workers: MPM === 'prefork' ? 2 : 1,
        env: { FIXTURE_THREADS: MPM === 'prefork' ? '1' : '16' },
        location: { mcp_stream_after: '50ms',
                    apache: 'MCPRoute env /mcp-backend/info' },
        http: load('dir', 'rewrite', 'negotiation', 'speling'),
        server: `
            DocumentRoot ${dir}/site
            <Directory "/">
                Options SymLinksIfOwnerMatch
                Require all denied
            </Directory>
            <Directory "${dir}/site">
                Options +MultiViews
                AllowOverride All
                CheckSpelling On
                Require expr "%{HTTP:X-Barred} != 'yes'"
            </Directory>
            RewriteEngine On
            RewriteRule ^/alias$ /mcp [PT]
            <LocationMatch "^/$">
                SetHandler mcp
                MCPServer root 1.0.0
            </LocationMatch>
            SetEnvIf Request_URI ^/mcp-backend/info proxy-fcgi-pathinfo=1
            <Location "/mcp-backend/info">
                ProxyPass "fcgi://127.0.0.1:${port}/info/"
            </Location>`,
    });
    const session = await server.session();

    test('requests for endpoints, backends, the status: httpd looks up no file',
         async () => {
        let info;
        const calls = await traced(server, `${dir}/site`, async () => {
            await session.tool('echo', { text: 'x' });
            await session.tool('http_echo', { text: 'x' });
            info = (await session.tool('env')).structuredContent;
            await session.request('ping');
            assert.equal((await request(server.port, {
                path: '/alias', headers: {
                    Accept: 'application/json, text/event-stream',
                    'Content-Type': 'application/json' },
                body: '{}' })).status, 400);
            assert.equal((await get(server, '/status')).status, 200);
        });

        assert.deepEqual(calls, []);
        assert.equal(info.PATH_INFO, '/info/');
        assert.match(info.PATH_TRANSLATED, /\/site\/info\/$/);
    });

    test('request for a file: strace shows that httpd looks the file up', async () => {
        const calls = await traced(server, `${dir}/site`, async () => {
            assert.equal(await (await get(server, '/index.html')).text(),
                         'index');
        });

        assert.ok(calls.some((line) => line.includes('.htaccess')));
        assert.ok(calls.length > 2);
    });

    test('endpoint "/" with an index file: the endpoint answers', async () => {
        const { server: info } = await server.session({
            send: (options) => request(server.port, { ...options, path: '/' }),
        });

        assert.equal(info.serverInfo.name, 'root');
    });

    test('<Directory> section with an access rule: applies to the endpoint',
         async () => {
        const barred = { headers: { 'X-Barred': 'yes' } };

        assert.equal((await session.request('ping', {}, barred)).status, 403);
        assert.equal((await session.request('ping')).status, 200);
    });
});


suite('ProxyPass and RewriteRule in front of an endpoint', async () => {
    await file('front/index.html', 'front');

    const nobody = await freePort();
    const pass = `ProxyPass / http://127.0.0.1:${nobody}/ retry=0`;
    const front = `
        DocumentRoot ${dir}/front
        <Directory "${dir}/front">
            Require all granted
            RewriteEngine On
            RewriteRule . /index.html [L]
        </Directory>`;
    const echo = (server) => new Modern(server, { unchecked: true })
        .request('tools/call', { name: 'echo', arguments: { text: 'x' } });

    for (const [what, taken, lines] of [
        ['ProxyPass /', 'endpoint /mcp', pass],
        ['ProxyPass / after ProxyPass /mcp !', 'backend /mcp-backend/tools',
         `ProxyPass /mcp !\n${pass.replace('Pass /', 'Pass /mcp-backend/')}`],
        ['front controller in <Directory>', 'endpoint /mcp', front],
    ]) {
        test(`${what} takes the requests for the ${taken.split(' ')[0]}: a warning says that the ${taken.split(' ')[0]} cannot be reached`,
             async () => {
            const server = await Fixture.start({ http: load('rewrite'),
                                                 server: lines });

            await (await echo(server)).ended;
            await (await echo(server)).ended;

            const log = await server.log();

            await server.stop();

            const warnings = log.split('\n')
                .filter((line) => /\[warn\].* cannot be reached/.test(line));

            assert.ok(warnings.length > 0);
            assert.ok(warnings.every((line) => line.includes(
                `the ${taken} cannot be reached, because a ProxyPass`)));
        });
    }
});


// Slow calls from one address leave threads for others: the process runs 14
// calls on request threads and 16 on its own threads; one address may use half.

suite('slow calls from one address', async () => {
    const server = await Fixture.use({
        workers: 1, threads: 16,
        location: { mcp_stream_after: '10m', mcp_policy_after: '10m' },
    });
    const call = (localAddress, args) => new Modern(server, {
        unchecked: true,
        send: (options) => request(server.port, { ...options, localAddress }),
    }).request('tools/call', { name: 'count', arguments: args });

    test('slow calls of one address use half of the threads: further calls of this address get 429, other addresses are served', {
        skip: MPM === 'prefork' && 'a process has one thread',
    }, async () => {
        const gate = 'slow';
        const session = await server.session();
        const slow = upTo(90).map(() => call('127.0.0.2', { n: 0, gate,
                                                            tag: gate }));

        await session.running(gate, 'running', 15);

        const quick = await call('127.0.0.3', { n: 0 });

        assert.equal(quick.status, 200);
        await session.open(gate);

        const statuses = (await Promise.all(slow)).map(({ status }) => status);

        assert.equal(statuses.filter((status) => status === 200).length, 15);
        assert.equal(statuses.filter((status) => status === 429).length, 75);
    });
});


// Returns the manual's LogFormat and CustomLog lines that contain the text.

const manual = await fs.readFile(`${root}/docs/operations.md`, 'utf8');
const directives = (text) => manual.split('\n').filter((line) =>
    /^(LogFormat|CustomLog) /.test(line) && line.includes(text)).join('\n')
    .replaceAll('${APACHE_LOG_DIR}', '${PREFIX}');

suite('directives of the manual', async () => {
    const users = await file('manual-users', `ada:{SHA}${
        crypto.createHash('sha1').update('1').digest('base64')}\n`);
    const basic = `AuthType Basic
                   AuthName tools
                   AuthBasicProvider file
                   AuthUserFile ${users}
                   Require valid-user`;
    const server = await Fixture.use({
        env: { FIXTURE_LOG: 'warn' },
        location: { apache: `${basic}\nMCPMaxBody 4k` },
        server: `
            ${directives(' mcp')}
            <Location "/mcp-backend/tools">
                SetEnv mcp-log on
                ${basic}
            </Location>
            <Location "/unnamed">
                SetHandler mcp
            </Location>`,
    });
    const session = await server.session({ headers: { Authorization:
        `Basic ${Buffer.from('ada:1').toString('base64')}` } });
    const linesOf = async (name) => (await fs.readFile(
        `${server.prefix}/${name}`, 'utf8')).trim().split('\n');

    test('LogFormat directives of the manual: each log has one line for a call',
         async () => {
        assert.equal(textOf(await session.tool('echo', { text: 'logged' })),
                     'logged');
        await session.request('ping');

        const requests = (await linesOf('mcp.log'))
            .filter((line) => line.includes(' tools/call echo '));
        const calls = (await linesOf('mcp-calls.log'))
            .filter((line) => line.includes(' tool=echo '));

        assert.equal(requests.length, 1);
        assert.equal(calls.length, 1);
        assert.match(calls[0], /^\d{4}-\d\d-\d\dT[\d:]{8}[+-]\d{4} call=/);
    });

    test('backend with Require valid-user: the user who logged in at the endpoint is accepted',
        async () => {
            assert.equal((await session.tool('env')).structuredContent
                .MCP_PRINCIPAL, 'ada');
        });

    test('body above MCPMaxBody: 413, and the log names the limit',
        async () => {
            const answer = await session.request('tools/call', {
                name: 'echo', arguments: { text: 'x'.repeat(5000) } });

            assert.equal(answer.status, 413);
            assert.match(await server.log(),
                         /\[error\].* exceeds MCPMaxBody 4096/);
        });

    test('endpoint without MCPServer: serverInfo has the version of the running httpd',
        async () => {
            const { server: info } = await server.session({
                send: (options) => request(server.port, { ...options,
                                                          path: '/unnamed' }),
            });
            const { stdout } = await promisify(execFile)(
                process.env.APACHE_BIN ?? '/usr/sbin/apache2', ['-v']);

            assert.equal(info.serverInfo.version,
                         /Apache\/([\d.]+)/.exec(stdout)[1]);
        });
});
