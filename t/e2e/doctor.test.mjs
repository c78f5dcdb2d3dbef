// SPDX-License-Identifier: Apache-2.0

// tools/mcp-doctor: each broken set-up gives its fault, and a set-up without
// faults gives none. Most set-ups are locations of one server: endpoints with a
// mistake, and proxies in front of its endpoint /mcp.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import { describe, test } from 'node:test';
import { dir, file, load } from './lib/apache.mjs';
import { Balancer } from './lib/balancer.mjs';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { Redis, cluster, until } from './lib/redis.mjs';
import { catalog } from './lib/scripted.mjs';
import { withSessions } from './lib/upstream.mjs';

// Runs the program. Returns its exit code, and the faults of its checks as a map
// from the name to the line.

function run(...args) {
    return new Promise((resolve) => {
        execFile('python3', [`${root}/tools/mcp-doctor`, ...args],
                 (error, out, errors) =>
                     resolve({ code: error ? error.code : 0, out, errors }));
    });
}

// The streams are not watched unless the arguments have --wait, and no slow
// machine reaches the default timeout.

const quick = (args) => [
    ...(args.includes('--wait') ? [] : ['--keepalive', '0']),
    ...(args.includes('--timeout') ? [] : ['--timeout', '60']), ...args];

async function doctor(...args) {
    const { code, out, errors } = await run('--json', ...quick(args));

    assert.equal(errors, '');

    const { checks, counts } = JSON.parse(out);
    const faults = new Map(checks.filter((check) => check.fault)
        .map((check) => [check.fault, check]));

    return { code, checks, counts, faults };
}

// Asserts that exactly this fault is found, apart from those in `also`.

async function finds(fault, state, args, { seen = /./, also = [] } = {}) {
    const { code, checks, faults } = await doctor(...args);
    const found = faults.get(fault);

    assert.ok(found, `no ${fault} in ${JSON.stringify(checks, null, 1)}`);
    assert.equal(found.state, state);
    assert.match(found.seen, seen);
    assert.ok(found.remedy.length > 0);
    assert.deepEqual([...faults.keys()].filter((name) => name !== fault
                                               && !also.includes(name)), []);

    if (state === 'failure') {
        assert.equal(code, ['unreachable', 'certificate'].includes(fault) ? 2
                                                                          : 1);
    }

    return found;
}

const port = await freePort();
const here = `http://127.0.0.1:${port}`;
const users = await file('users', '');
const page = 'https://app.example.com';


// A proxy in front of the endpoint, as a location. `lines` are for nginx,
// `apache` for Apache.

const proxy = (path, nginx, apache, {
    to = `${here}/mcp`, host = 'proxy_set_header Host $http_host;',
    parameters = '' } = {}) => ({
    nginx: `location = ${path} {
                proxy_http_version 1.1;
                proxy_set_header Connection "";
                ${host}
                ${nginx}
                proxy_pass ${to};
            }`,
    apache: `<Location "${path}">
                 ${apache}
                 ProxyPass "${to}" retry=0 ${parameters}
             </Location>`,
});

// An endpoint as a location.

const endpoint = (path, nginx, apache) => ({
    nginx: `location = ${path} {
                mcp mcp;
                mcp_catalog ${root}/t/fixtures/catalog.json;
                mcp_backend @tools;
                ${nginx}
            }`,
    apache: `<Location "${path}">
                 SetHandler mcp
                 MCPCatalog ${root}/t/fixtures/catalog.json
                 MCPBackend /mcp-backend/tools
                 ${apache}
             </Location>`,
});

const locked = (nginx, apache) => [
    `auth_basic x; auth_basic_user_file ${users}; mcp_principal off; ${nginx}`,
    `AuthType Basic
     AuthName x
     AuthUserFile ${users}
     Require valid-user
     ${apache}`];

const cutting = await freePort();

const locations = [
    proxy('/plain', 'proxy_buffering off;', ''),
    proxy('/compressed', `gzip on; gzip_min_length 0; gzip_proxied any;
                          gzip_types text/event-stream;`,
          'AddOutputFilterByType DEFLATE text/event-stream'),
    proxy('/cut', 'proxy_read_timeout 3s;', '', { parameters: 'timeout=3',
                                                  to: `${here}/quiet` }),
    endpoint('/quiet', '', ''),
    endpoint('/lively', 'mcp_keepalive 200ms;', 'MCPKeepAlive 200ms'),
    ...['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version', 'Mcp-Session-Id']
        .map((name) => proxy(`/without-${name}`,
                             `proxy_set_header ${name} "";`,
                             `RequestHeader unset ${name}`)),
    proxy('/hidden-session', 'proxy_hide_header Mcp-Session-Id;',
          'Header unset Mcp-Session-Id'),
    proxy('/other-host', '', '', { host: 'proxy_set_header Host localhost:1;',
                                   to: `http://localhost:${port}/mcp` }),
    proxy('/other-link', '', '', { host: 'proxy_set_header Host localhost:1;',
                                   to: `http://localhost:${port}/link` }),
    proxy('/no-options', 'if ($request_method = OPTIONS) { return 405; }',
          `RewriteEngine On
           RewriteCond %{REQUEST_METHOD} =OPTIONS
           RewriteRule .* - [R=405]`),
    proxy('/no-cors', 'proxy_hide_header Access-Control-Allow-Headers;',
          'Header unset Access-Control-Allow-Headers'),
    proxy('/post-only', `if ($request_method = GET) { return 405; }
                         if ($request_method = DELETE) { return 405; }`,
          `RewriteEngine On
           RewriteCond %{REQUEST_METHOD} ^(GET|DELETE)$
           RewriteRule .* - [R=405]`),
    proxy('/old', 'add_header Via "1.0 old";',
          'Header set Via "1.0 old"'),
    proxy('/dead', '', '', { to: `http://127.0.0.1:${cutting}/mcp` }),
    { nginx: 'location = /moved { return 301 /mcp; }',
      apache: 'Redirect 301 /moved /mcp' },
    { nginx: 'location = /page { default_type text/html; return 200 "<p>"; }',
      apache: `Alias /page ${await file('page.html', '<p>')}
               <Directory "${dir}">
                   Require all granted
               </Directory>` },
    endpoint('/link', 'mcp_link on;', 'MCPLink on'),
    endpoint('/any-origin', 'mcp_allow_origin *;', 'MCPAllowOrigin *'),
    endpoint('/one-origin', `mcp_allow_origin ${page};`,
             `MCPAllowOrigin ${page}`),
    endpoint('/basic', ...locked('', '')),
    endpoint('/oauth', ...locked(
        `mcp_auth_resource ${here}/oauth; mcp_auth_server https://id.example;`,
        `MCPAuthResource ${here}/oauth
         MCPAuthServer https://id.example`)),
    endpoint('/resource', ...locked(
        `mcp_auth_resource ${here}/other; mcp_auth_server https://id.example;`,
        `MCPAuthResource ${here}/other
         MCPAuthServer https://id.example`)),
    endpoint('/hidden', ...locked(
        `mcp_auth_resource http://127.0.0.1:${cutting}/x;
         mcp_auth_server https://id.example;`,
        `MCPAuthResource http://127.0.0.1:${cutting}/x
         MCPAuthServer https://id.example`)),
    endpoint('/old-only', 'mcp_revisions 2025-06-18;',
             'MCPRevisions 2025-06-18'),
    endpoint('/modern-only', 'mcp_revisions 2026-07-28;',
             'MCPRevisions 2026-07-28'),
];

const server = await Fixture.use({
    port,
    http: { apache: `${load('alias', 'filter', 'deflate', 'rewrite')}
                     ProxyPreserveHost On` },
    server: {
        nginx: locations.map(({ nginx }) => nginx).join('\n'),
        apache: locations.map(({ apache }) => apache).join('\n')
            .replaceAll(/(<Location "\/other-\w+">)/g,
                        '$1\n ProxyPreserveHost Off'),
    },
});

// nginx as a proxy that buffers, in front of the endpoint of either server. With
// HTTP/1.1 behind it, nginx would send each chunk at once.

const secure = await freePort();
const { key, certificate } = certify(dir);

const front = await Fixture.use({ kind: 'nginx', http: { nginx: `
    server {
        listen 127.0.0.1:${secure} ssl;
        ssl_certificate ${certificate};
        ssl_certificate_key ${key};
        ${proxy('/mcp', '', '').nginx}
    }` }, server: [
    ['/buffered', 'proxy_http_version 1.0;'],
    ['/held', `gzip on; gzip_min_length 0; gzip_proxied any;
               gzip_types text/event-stream;`],
].map(([path, lines]) => proxy(path,
    `proxy_ignore_headers X-Accel-Buffering; ${lines}`, '',
    { to: `${here}/lively` }).nginx
    .replace(/proxy_http_version 1.1;(?=[^]*proxy_http_version)/, '')).join('\n') });
const behind = (path) => new URL(path, front.url).href;

const at = (path) => `${here}${path}`;
const status = ['--status', at('/status')];


describe('set-ups without a fault', () => {
    test('endpoint without a fault: mcp-doctor reports ok for each check, exit code 0',
         async () => {
        const { code, checks, counts } = await doctor(
            server.url, ...status, '--catalog',
            `${root}/t/fixtures/catalog.json`, '--call', 'echo',
            '--arguments', '{"text":"hello"}');

        assert.equal(code, 0, JSON.stringify(checks, null, 1));
        assert.equal(counts.failure, 0);
        assert.deepEqual(checks.filter(({ state }) => state !== 'ok'), []);

        for (const name of ['revision 2025-03-26', 'revision 2025-06-18',
                            'revision 2025-11-25', 'revision 2026-07-28',
                            'stream 2025-11-25', 'stream 2026-07-28',
                            'resumption', 'Origin', 'preflight', 'catalog',
                            'backend', 'call 2025-11-25', 'call 2026-07-28',
                            'status']) {
            assert.ok(checks.some(({ check }) => check === name), name);
        }
    });

    test('mcp-doctor without --json: prints one line for each check',
         async () => {
        const { code, out } = await run(...quick([server.url]));
        const rows = out.trimEnd().split('\n');

        assert.equal(code, 0, out);
        assert.match(rows.pop(), /^\d+ ok, 0 warnings, 0 failures$/);
        rows.forEach((row) => assert.match(row, /^ok {7}[\w -]+: ./));
    });

    test('proxy passes everything: mcp-doctor reports no fault', async () => {
        const { code, faults } = await doctor(at('/plain'));

        assert.deepEqual([...faults], []);
        assert.equal(code, 0);
    });

    test('endpoint supports one revision: mcp-doctor reports no fault',
         async () => {
        for (const path of ['/old-only', '/modern-only']) {
            const { code, faults } = await doctor(at(path));

            assert.deepEqual([...faults], []);
            assert.equal(code, 0);
        }
    });

    test('--call of a tool with progress: mcp-doctor cuts the connection, then resumes the call',
         async () => {
        const { checks, faults } = await doctor(server.url, '--call', 'count',
            '--arguments', '{"n":3,"ms":300}');
        const { seen } = checks.find(({ check }) => check === 'call 2025-11-25');

        assert.deepEqual([...faults], []);
        assert.match(seen, /the connection was cut and the call resumed/);
    });

    test('mcp-doctor without --call: calls no tool', async () => {
        const calls = async () => {
            const answer = await fetch(at('/status'),
                { headers: { Accept: 'application/json' } });
            const { tools } = await answer.json();

            return tools.filter(({ kind }) => kind === 'tool')
                .map(({ tool, seconds }) => [tool, seconds.count]);
        };
        const before = await calls();

        await doctor(server.url);
        assert.deepEqual(await calls(), before);
    });
});


describe('proxies in front', () => {
    const watch = ['--keepalive', '1', '--wait', '6'];

    test('keepalive comments arrive in time: mcp-doctor reports no fault',
         async () => {
        const { checks, faults } = await doctor(at('/lively'), ...watch);

        assert.deepEqual([...faults], []);
        assert.match(checks.find(({ check }) => check === 'stream 2025-11-25')
            .seen, /^events and comments arrived/);
    });

    test('reload while mcp-doctor watches the streams: it reports no fault', async (t) => {
        const own = await Fixture.start();

        t.after(() => own.stop());

        const result = doctor(own.url, '--keepalive', '0', '--wait', '10');

        await until(async () => {
            const answer = await fetch(
                `http://127.0.0.1:${own.port}/status`,
                { headers: { Accept: 'application/json' } });

            return (await answer.json()).consumers_active === 2;
        });
        await own.reload();

        const { code, checks, faults } = await result;

        assert.deepEqual([...faults], [], JSON.stringify(checks));
        assert.equal(code, 0);

        for (const revision of ['2025-11-25', '2026-07-28']) {
            assert.match(checks.find(({ check }) =>
                check === `stream ${revision}`).seen, /server closed it/);
        }
    });

    test('proxy buffers streams: mcp-doctor reports "buffered"', () =>
        finds('buffered', 'failure', [behind('/buffered'), ...watch,
                                      '--timeout', '6']));

    test('proxy compresses streams: mcp-doctor reports "compressed"', () =>
        finds('compressed', 'warning', [at('/compressed')]));

    test('proxy compresses and holds streams: mcp-doctor reports "compressed"',
         () =>
        finds('compressed', 'failure', [behind('/held'), ...watch,
                                        '--timeout', '6']));

    test('proxy cuts idle connections after three seconds: mcp-doctor reports "cut"',
         () =>
        finds('cut', 'failure', [at('/cut'), '--keepalive', '0', '--wait', '12'],
              { seen: /was cut after/ }));

    test('mcp-doctor without --wait: reports that streams were not watched',
         async () => {
        const { checks } = await doctor(at('/cut'));

        assert.match(checks.find(({ check }) => check === 'stream 2025-11-25')
            .seen, /a longer --wait would find buffering and cuts/);
    });

    for (const name of ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version',
                        'Mcp-Session-Id']) {
        test(`proxy removes ${name} from requests: mcp-doctor reports "headers"`,
             () =>
            finds('headers', 'failure', [at(`/without-${name}`)]));
    }

    test('proxy removes Mcp-Session-Id from responses: mcp-doctor reports "headers"',
         () =>
        finds('headers', 'failure', [at('/hidden-session')],
              { seen: /in the response/ }));

    test('proxy changes Host: mcp-doctor reports "own-origin"', () =>
        finds('own-origin', 'warning', [at('/other-host')]));

    test('proxy changes Host, with mcp_link: mcp-doctor reports "host"', () =>
        finds('host', 'failure', [at('/other-link')],
              { seen: /localhost/, also: ['own-origin'] }));

    test('proxy refuses OPTIONS: mcp-doctor reports "preflight"', () =>
        finds('preflight', 'failure', [at('/no-options')],
              { seen: /HTTP 405/ }));

    test('proxy removes a CORS header: mcp-doctor reports "preflight"', () =>
        finds('preflight', 'failure', [at('/no-cors')],
              { seen: /Allow-Headers lacks/ }));

    test('proxy refuses GET and DELETE: mcp-doctor reports "method"', () =>
        finds('method', 'warning', [at('/post-only')]));

    test('proxy uses HTTP/1.0: mcp-doctor reports "http-1.0"', () =>
        finds('http-1.0', 'warning', [at('/old')]));

    test('proxy does not reach the endpoint: mcp-doctor reports "gateway"', () =>
        finds('gateway', 'failure', [at('/dead')]));

    test('URL for mcp-doctor redirects: mcp-doctor reports "redirect"', () =>
        finds('redirect', 'failure', [at('/moved')], { seen: /\/mcp/ }));

    test('URL for mcp-doctor does not exist: mcp-doctor reports "not-found"', () =>
        finds('not-found', 'failure', [at('/absent')]));

    test('URL for mcp-doctor is that of a web page: mcp-doctor reports "not-mcp"', () =>
        finds('not-mcp', 'failure', [at('/page')]));
});


describe('endpoints', () => {
    test('mcp_allow_origin *: mcp-doctor reports "any-origin"', () =>
        finds('any-origin', 'failure', [at('/any-origin')]));

    test('origin of a page is not allowed: mcp-doctor reports "origin"', () =>
        finds('origin', 'failure', [server.url, '--origin', page]));

    test('origin of a page is allowed: mcp-doctor reports no fault',
         async () => {
        const { faults } = await doctor(at('/one-origin'), '--origin', page);

        assert.deepEqual([...faults], []);
    });

    test('401 without authorization metadata: mcp-doctor reports "no-metadata"', () =>
        finds('no-metadata', 'failure', [at('/basic')],
              { also: ['needs-token'] }));

    test('401 with authorization metadata: mcp-doctor reports "needs-token", exit code 0',
         async () => {
        const { code, faults } = await doctor(at('/oauth'));

        assert.deepEqual([...faults.keys()], ['needs-token']);
        assert.equal(code, 0);
    });

    test('authorization metadata cannot be reached: mcp-doctor reports "metadata"', () =>
        finds('metadata', 'failure', [at('/hidden')],
              { also: ['needs-token'] }));

    test('authorization metadata names another resource: mcp-doctor reports "resource"', () =>
        finds('resource', 'failure', [at('/resource')],
              { also: ['needs-token'] }));

    test('token is refused: mcp-doctor reports "token"', () =>
        finds('token', 'failure', [at('/oauth'), '--header',
                                   'Authorization: Bearer x']));

    test('server does not run: mcp-doctor reports "unreachable"', async () => {
        const found = await finds('unreachable', 'failure',
            [`http://127.0.0.1:${await freePort()}/mcp`]);

        assert.match(found.remedy, /mcp_key \(MCPKey\)/);
    });

    test('server cannot read its key file: mcp-doctor reports "unreachable", names mcp_key',
         async () => {
        const own = await freePort();

        await assert.rejects(Fixture.one({ port: own,
            location: { mcp_key: '/nonexistent/mcp.key' } }), /did not start/);

        const found = await finds('unreachable', 'failure',
            [`http://127.0.0.1:${own}/mcp`]);

        assert.match(found.remedy, /unreadable file of mcp_key/);
    });

    test('certificate of an unknown authority: mcp-doctor reports "certificate"',
         () =>
        finds('certificate', 'failure', [`https://localhost:${secure}/mcp`]));

    test('certificate expires in two days: mcp-doctor warns',
         async (t) => {
        process.env.SSL_CERT_FILE = certificate;
        t.after(() => { delete process.env.SSL_CERT_FILE; });
        await finds('certificate', 'warning',
                    [`https://localhost:${secure}/mcp`],
                    { seen: /expires in [12] days/ });
    });

    test('endpoint lacks items of --catalog: mcp-doctor reports "catalog"',
         async () => {
        const other = await catalog({ tools: [{ name: 'other',
            inputSchema: { type: 'object' } }] });

        await finds('catalog', 'failure', [server.url, '--catalog', other],
                    { seen: /tools "other": not offered/ });
    });

    test('clock of the server is an hour ahead: mcp-doctor reports "clock"', {
        skip: process.env.SUITE_PREFIX ? 'with a sanitizer' : false,
    }, async (t) => {
        const wall = await file('wall', '');

        await fs.rm(wall);
        await fs.symlink('3600', wall);
        execFileSync('gcc', ['-O1', '-fPIC', '-shared', `-DWALL="${wall}"`,
                             '-o', `${wall}.so`, `${root}/t/fixtures/wall.c`]);

        const ahead = await Fixture.start({
            env: { LD_PRELOAD: `${wall}.so` } });

        t.after(() => ahead.stop());
        await finds('clock', 'warning', [ahead.url], { seen: /\+3[56]\d\d s/ });
    });

    test('mcp-doctor with wrong arguments: exit code 2', async () => {
        for (const args of [[], ['ftp://x/'], [server.url, '--arguments', '[]'],
                            [server.url, '--catalog', '/nonexistent'],
                            [server.url, '--header', 'x']]) {
            assert.equal((await run(...args)).code, 2);
        }
    });
});


describe('backends', () => {
    const call = (name, args = {}) => [server.url, '--call', name,
                                       '--arguments', JSON.stringify(args)];

    test('backend does not run: mcp-doctor reports "backend-down"', () =>
        finds('backend-down', 'failure', call('refused')));

    test('backend does not run, with --status: mcp-doctor reports "failed" as well',
         () =>
        finds('backend-down', 'failure', [...call('refused'), ...status],
              { also: ['failed'] }));

    test('backend sends JSON as text/html: mcp-doctor reports "backend-type"',
         () =>
        finds('backend-type', 'failure', call('raw', {
            type: 'text/html', body: '{"content":[]}' })));

    test('backend sends broken JSON: mcp-doctor reports "backend-output"', () =>
        finds('backend-output', 'failure', call('broken', {
            kind: 'not-json' })));

    test('tool is unknown: mcp-doctor reports "unknown-tool"', () =>
        finds('unknown-tool', 'failure', call('nobody')));

    test('tool reports an error: mcp-doctor reports "tool-error"', () =>
        finds('tool-error', 'failure', call('status', { code: 500 }),
              { seen: /status 500/ }));

    test('MCP server with sessions, without mcp_upstream: mcp-doctor reports "upstream-session"',
         async (t) => {
        const upstream = await withSessions();
        const before = await Fixture.start({
            without: ['mcp_catalog', 'mcp_route'],
            location: { mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port } } });

        t.after(() => before.stop());

        for (const lost of [
            { status: 404, error: { code: -32001,
                                    message: 'Session not found' } },
            { status: 400, error: { code: -32000,
                message: 'Bad Request: Server not initialized' } },
            { status: 400, error: { code: -32000,
                message: 'Bad Request: No valid session ID provided' } },
        ]) {
            upstream.lost = () => lost;
            await finds('upstream-session', 'failure', [before.url]);
        }
    });

    test('MCP server refuses Host: mcp-doctor reports "upstream-host"',
         async (t) => {
        const upstream = await withSessions();
        const before = await Fixture.start({
            without: ['mcp_catalog', 'mcp_route'],
            location: { mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port } } });

        t.after(() => before.stop());
        upstream.lost = () => ({ status: 403, error: { code: -32000,
            message: 'Invalid Host header: 127.0.0.1' } });
        await finds('upstream-host', 'failure', [before.url]);
    });

    test('MCP server with sessions, with mcp_upstream: mcp-doctor reports no fault',
         async (t) => {
        const upstream = await withSessions();

        upstream.answer = ({ body }) => body.method.endsWith('/list')
            ? { tools: [] } : { content: [] };

        const before = await Fixture.start({
            without: ['mcp_catalog', 'mcp_route'],
            location: { mcp_backend: 'sessions' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } } });

        t.after(() => before.stop());

        const { code, checks, faults } = await doctor(before.url);

        assert.deepEqual([...faults], [], JSON.stringify(checks));
        assert.equal(code, 0);
    });

    test('MCP server does not run: mcp-doctor reports "upstream-down"',
         async (t) => {
        const before = await Fixture.start({
            without: ['mcp_catalog', 'mcp_route'],
            location: { mcp_backend: 'gone' },
            backends: { gone: { http: await freePort(),
                                upstream: 'session' } } });

        t.after(() => before.stop());
        await finds('upstream-down', 'failure', [before.url]);
    });
});


describe('several nodes', () => {
    // Starts two servers with the files as keys, and a balancer before them.

    async function balanced(t, options = []) {
        const nodes = [];

        for (let i = 0; i < 2; i++) {
            const node = await Fixture.start(options[i] ?? {});

            t.after(() => node.stop());
            nodes.push(node);
        }

        const front = await freePort();
        const balancer = await Balancer.start(front, nodes.map((n) => n.port));

        t.after(() => balancer.stop());

        return { nodes, url: `http://127.0.0.1:${front}/mcp` };
    }

    test('nodes have different keys, behind a balancer or as two URLs: mcp-doctor reports "keys"',
         async (t) => {
        const { nodes, url } = await balanced(t);

        await finds('keys', 'failure', [url]);
        await finds('keys', 'failure', nodes.map((node) => node.url));
    });

    test('nodes have the same key but no cluster: mcp-doctor reports "no-cluster"',
         async (t) => {
        const key = await file('one.key', 'one key for both nodes, 32 bytes\n',
                               0o600);
        const { nodes, url } = await balanced(t, [
            { server: { mcp_key: key } }, { server: { mcp_key: key } }]);

        await finds('no-cluster', 'failure', [url]);
        await finds('no-cluster', 'failure', nodes.map((node) => node.url));
    });

    test('nodes of a cluster: mcp-doctor reports no fault', async (t) => {
        const redis = await Redis.start();

        t.after(() => redis.stop());

        const key = await file('cluster.key', 'the key of the cluster, 32 bytes\n',
                               0o600);
        const options = { server: { mcp_key: key }, http: cluster(redis.url) };
        const { nodes, url } = await balanced(t, [options, options]);

        await Promise.all(nodes.map((node) => until(async () =>
            (await node.log()).split('\n').filter((line) =>
                line.includes('cluster: joined')).length >= 2)));

        for (const args of [[url], nodes.map((node) => node.url)]) {
            const { code, checks, faults } = await doctor(...args, '--status',
                `http://127.0.0.1:${nodes[0].port}/status`);

            assert.deepEqual([...faults], [], JSON.stringify(checks));
            assert.equal(code, 0);
        }
    });

    test('Redis does not run: mcp-doctor reports "redis"', async (t) => {
        const key = await file('lonely.key', 'the key of a lonely node, 32 bytes\n',
                               0o600);
        const lonely = await Fixture.start({
            server: { mcp_key: key },
            http: cluster(`redis://127.0.0.1:${await freePort()}`, {
                mcp_cluster_outage_timeout: '100ms' }) });

        t.after(() => lonely.stop());
        await finds('redis', 'failure', [lonely.url, '--status',
            `http://127.0.0.1:${lonely.port}/status`, '--call', 'echo'],
                    { seen: /^the node is "\w+" in its cluster: 127\.0\.0\.1:/,
                      also: ['no-cluster', 'calls-lost', 'failed'] });
    });

    test('nodes have different catalogs: mcp-doctor reports "nodes-differ"',
         async (t) => {
        const key = await file('same.key', 'the same key at both, 32 bytes..\n',
                               0o600);
        const other = await catalog({ tools: [{ name: 'other',
            inputSchema: { type: 'object' } }] });
        const { nodes } = await balanced(t, [
            { server: { mcp_key: key } },
            { server: { mcp_key: key }, location: { mcp_catalog: other } }]);

        await finds('nodes-differ', 'warning', nodes.map((node) => node.url),
                    { also: ['no-cluster'] });
    });
});


describe('zones', () => {
    test('small zone is filled with listeners: mcp-doctor reports "small-zone", then "zone-full"',
         async (t) => {
        const small = await Fixture.start({ zone: '288k', location: {
            mcp_quota_listeners: 'off', mcp_quota_streams: 'off',
            mcp_quota_bytes: 'off' } });

        t.after(() => small.stop());

        const page = `http://127.0.0.1:${small.port}/status`;

        await finds('small-zone', 'warning', [small.url, '--status', page]);

        const listeners = [];

        t.after(() => listeners.forEach((listener) => listener.close()));

        for (;;) {
            const listener = await (await small.session()).get();

            listeners.push(listener);

            if (listener.status === 503) {
                break;
            }

            assert.equal(listener.status, 200, 'the zone takes each listener');
        }

        const found = await finds('zone-full', 'failure',
            [small.url, '--status', page]);

        assert.match(found.remedy, /mcp_zone, MCPStore/);
    });
});


describe('remedies', () => {
    const remedies = JSON.parse(execFileSync('python3', ['-c',
        'import json, runpy, sys\n'
        + 'sys.dont_write_bytecode = True\n'
        + 'print(json.dumps(runpy.run_path(sys.argv[1])["REMEDIES"]))',
        `${root}/tools/mcp-doctor`], { encoding: 'utf8' }));

    test('faults listed in docs/tools.md: the same as those that mcp-doctor can report', async () => {
        const page = await fs.readFile(`${root}/docs/tools.md`, 'utf8');
        const [, table] = /\| fault \|[^]*?\n\| ---[^\n]*\n([^]*?)\n\n/.exec(page);
        const names = table.split('\n').flatMap((row) =>
            [...row.split('|')[1].matchAll(/`([^`]+)`/g)].map(([, name]) => name));

        assert.deepEqual(names.toSorted(), Object.keys(remedies).toSorted());
    });

    test('each fault that mcp-doctor can report: has a test, or is in the list of rare faults',
         async () => {
        const text = await fs.readFile(new URL(import.meta.url), 'utf8');
        const rare = ['plain-http', 'server-error', 'forbidden',
                      'protocol', 'quota', 'upstream', 'backend-timeout',
                      'backend-too-large', 'no-backend', 'backend-buffered',
                      'not-resumed', 'calls-lost', 'status'];
        const untested = Object.keys(remedies)
            .filter((name) => !text.includes(`finds('${name}'`)
                              && !text.includes(`also: ['${name}']`));

        assert.deepEqual(untested.toSorted(), rare.toSorted());
    });

    test('remedies of mcp-doctor: name only directives that exist',
         async () => {
        const page = await fs.readFile(`${root}/docs/directives.md`, 'utf8');
        const files = ['mcp_upstream_params'];

        for (const [fault, text] of Object.entries(remedies)) {
            for (const [name] of text.matchAll(/\b(mcp_\w+|MCP[A-Z]\w+)(?!\.conf)\b/g)) {
                assert.ok(page.includes(name) || files.includes(name),
                          `${fault}: ${name}`);
            }
        }
    });
});


// A server that sends no responses, and one that closes each connection.

describe('servers that are not HTTP', () => {
    async function accepting(t, answer) {
        const raw = net.createServer(answer);

        raw.listen(0, '127.0.0.1');
        await once(raw, 'listening');
        t.after(() => raw.close());

        return `http://127.0.0.1:${raw.address().port}/mcp`;
    }

    test('server sends no response: mcp-doctor reports "unreachable"',
         async (t) => {
        const sockets = [];

        t.after(() => sockets.forEach((socket) => socket.destroy()));

        await finds('unreachable', 'failure',
            [await accepting(t, (socket) => sockets.push(socket)),
             '--timeout', '1'], { seen: /no response within 1 s/ });
    });

    test('server closes each connection: mcp-doctor reports "unreachable"',
         async (t) => {
        await finds('unreachable', 'failure',
            [await accepting(t, (socket) => socket.end('no HTTP\r\n\r\n'))]);
    });
});
