// SPDX-License-Identifier: Apache-2.0

// The endpoint as a resource server, behind each module that checks tokens,
// with a real issuer and a page in Chromium that finds the issuer and logs in.
// Configurations and commands come from docs/authorization.md.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Browser } from './lib/browser.mjs';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { Issuer } from './lib/issuer.mjs';
import { MODERN, Modern } from './lib/modern.mjs';
import { pageOf } from './lib/page.mjs';

const run = promisify(execFile);
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const MODULES = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-auth-'));
const app = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(app.page);
});

await new Promise((resolve) => { app.listen(0, 'localhost', resolve); });

const ORIGIN = `http://localhost:${app.address().port}`;
const issuer = await Issuer.use(`${ORIGIN}/`);
const pair = certify(dir);
const keys = https.createServer({ key: await fs.readFile(pair.key),
                                  cert: await fs.readFile(pair.certificate) },
                                (request, response) => {
                                    issuer.handle(request, response);
                                });

await new Promise((resolve) => { keys.listen(0, '127.0.0.1', resolve); });
await fs.writeFile(`${dir}/checker.secret`, 'secret-of-checker\n');

after(async () => {
    app.closeAllConnections();
    app.close();
    keys.closeAllConnections();
    keys.close();
    await fs.rm(dir, { recursive: true, force: true });
});


// --- the manual

const manual = await fs.readFile(`${root}/docs/authorization.md`, 'utf8');
const blocks = Object.fromEntries(
    [...manual.matchAll(/<!-- run: ([\w-]+) -->\n```\w+\n([^]*?)```/g)]
        .map(([, name, text]) => [name, text]));
const used = new Set();

// Returns a marked block of the manual with the addresses of this test.

function said(name, { url, checker }) {
    assert.notEqual(blocks[name], undefined, name);
    used.add(name);

    return blocks[name]
        .replaceAll('https://mcp.example.com/mcp', url)
        .replaceAll('https://mcp.example.com', new URL(url).origin)
        .replaceAll('"https://id.example.com/jwks"',
                    `"https://127.0.0.1:${keys.address().port}/jwks"`)
        .replaceAll('https://id.example.com', issuer.url)
        .replaceAll('https://app.example.com', ORIGIN)
        .replaceAll('/etc/nginx/checker.secret', `${dir}/checker.secret`)
        .replaceAll('127.0.0.1:9000', `127.0.0.1:${checker}`)
        .replaceAll('check.py 9000', `check.py ${checker}`);
}


// --- the modules that check tokens

const load = (...names) => names.map((name) => `LoadModule ${
    name.replace('mod_', '')}_module ${MODULES}/${name}.so`).join('\n');

const stepRule = (text, rule) => text.replace('</RequireAll>',
                                              `${rule}</RequireAll>`);

const GUARDS = {
    nginx: {
        auth_request: {
            configure: (at, step) => ({
                http: step ? said('nginx-step-http', at) : '',
                server: step ? said('nginx-server', at)
                    .replace('"files:read"', '$needed_scope')
                             : said('nginx-server', at),
                location: [said('nginx-location', at),
                           step && said('nginx-step-location', at)].join('\n'),
            }),
            checks: true,
        },
    },
    apache: {
        mod_oauth2: {
            configure: (at, step) => ({
                http: load('mod_oauth2'),
                location: step
                    ? said('apache-step', at)
                      + stepRule(said('apache-oauth2', at),
                                 said('apache-step-require', at))
                      + `MCPRevisions ${MODERN}`
                    : said('apache-oauth2', at),
            }),
            jwt: true,
        },
        mod_auth_openidc: {
            configure: (at, step) => ({
                http: `LoadModule auth_openidc_module ${
                          MODULES}/mod_auth_openidc.so
                       ${said('apache-oidc-server', at)}
                       OIDCOAuthSSLValidateServer Off`,
                location: step
                    ? said('apache-step', at)
                      + stepRule(said('apache-oidc', at),
                                 said('apache-step-require', at)
                                     .replaceAll('OAUTH2_CLAIM', 'OIDC_CLAIM'))
                      + `MCPRevisions ${MODERN}`
                    : said('apache-oidc', at),
            }),
            jwt: true,
        },
    },
}[SERVER];

// Starts the program that checks tokens for nginx.

async function check(at) {
    const [command, ...args] = said('check', at).replaceAll('\\\n', ' ')
        .trim().split(/\s+/);
    const child = spawn(path.join(root, command), args, { stdio: 'ignore' });
    const exited = new Promise((resolve) => { child.on('exit', resolve); });

    after(() => {
        child.kill('SIGTERM');
        return exited;
    });

    for (;;) {
        try {
            await fetch(`http://127.0.0.1:${at.checker}/`);
            return;
        } catch {
            await new Promise((resolve) => { setTimeout(resolve, 20); });
        }
    }
}

// The client `machine` may use items that others may not.

const ALLOW = {
    http: { nginx: 'map $mcp_principal $is_machine { machine 1; default 0; }',
            apache: '' },
    location: {
        nginx: `mcp_allow env $is_machine; mcp_allow prompts/* $is_machine;
                mcp_allow * 1;`,
        apache: `MCPAllow env "%{REMOTE_USER} == 'machine'"
                 MCPAllow prompts/* "%{REMOTE_USER} == 'machine'"
                 MCPAllow * true`,
    },
};

async function use(guard, { step, allow } = {}) {
    const port = await freePort();
    const at = { url: `http://127.0.0.1:${port}/mcp`,
                 checker: await freePort() };

    if (guard.checks) {
        await check(at);
    }

    if (guard.jwt) {
        issuer.jwt.add(at.url);
    }

    // the metadata document and preflights are outside of the endpoint

    const options = guard.configure(at, step);

    if (allow) {
        options.http = [options.http, ALLOW.http[SERVER]].join('\n');
        options.location = [options.location, ALLOW.location[SERVER]]
            .join('\n');
    }

    const fixture = await Fixture.use({ port, workers: 2, ...options });

    return Object.assign(fixture, { at });
}


// --- requests

const PING = (id = 1) => ({ jsonrpc: '2.0', id, method: 'ping' });

const INITIALIZE = { jsonrpc: '2.0', id: 0, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {},
              clientInfo: { name: 'e2e', version: '1' } } };

const CALL = (name, args = {}) => ({ jsonrpc: '2.0', id: 1,
    method: 'tools/call', params: { name, arguments: args, _meta: {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {} } } });

async function ask(fixture, { method = 'POST', token, headers, body } = {}) {
    const answer = await fetch(fixture.url, {
        method,
        headers: {
            'Accept': 'application/json, text/event-stream',
            ...(body && { 'Content-Type': 'application/json' }),
            ...(token && { Authorization: `Bearer ${token}` }),
            ...headers,
        },
        body: body && (typeof body === 'string' ? body
                                                : JSON.stringify(body)),
    });

    return { status: answer.status, text: await answer.text(),
             challenge: answer.headers.get('www-authenticate'),
             allowed: answer.headers.get('access-control-allow-origin'),
             exposed: answer.headers.get('access-control-expose-headers'),
             headers: answer.headers };
}

// Returns the parameters of a Bearer challenge.

function paramsOf(challenge) {
    assert.match(challenge, /(^|, )Bearer /);

    return Object.fromEntries([...challenge.replace(/^.*Bearer /, '')
        .matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

const metadataOf = (fixture) => `http://127.0.0.1:${fixture.port}${
    WELL_KNOWN}/mcp`;

async function shell(name, fixture, env = {}) {
    const { stdout } = await run('bash', ['-o', 'pipefail', '-c',
                                          said(name, fixture.at)],
                                 { env: { ...process.env, ...env } });

    return stdout;
}

const tokens = new Set();

async function token(...args) {
    const value = await issuer.token(...args);

    tokens.add(value);
    return value;
}

async function assertSecret(fixture) {
    for (const name of await fs.readdir(fixture.prefix)) {
        if (!name.endsWith('.log')) {
            continue;
        }

        const log = await fs.readFile(`${fixture.prefix}/${name}`, 'utf8');

        for (const value of tokens) {
            assert.ok(!log.includes(value), `${name} has a token`);
        }
    }
}


for (const [name, guard] of Object.entries(GUARDS)) {
    describe(name, async () => {
        const fixture = await use(guard);
        const from = { Origin: ORIGIN };

        test('metadata document: public, cacheable, readable by any origin',
             async () => {
            const answer = await fetch(metadataOf(fixture));

            assert.equal(answer.status, 200);
            assert.equal(answer.headers.get('access-control-allow-origin'),
                         '*');
            assert.match(answer.headers.get('cache-control'), /max-age=\d+/);
            assert.deepEqual(await answer.json(), {
                resource: fixture.url,
                authorization_servers: [issuer.url],
                scopes_supported: ['files:read'],
                bearer_methods_supported: ['header'],
                resource_name: 'fixture',
            });

            const etag = answer.headers.get('etag');
            const again = await fetch(metadataOf(fixture), {
                headers: { 'If-None-Match': etag } });

            assert.equal(again.status, 304);

            const alone = await fetch(new URL(WELL_KNOWN, fixture.url));

            assert.equal((await alone.json()).resource, fixture.url);

            const head = await fetch(metadataOf(fixture), { method: 'HEAD' });

            assert.equal(head.status, 200);
            assert.equal(await head.text(), '');

            const options = await fetch(metadataOf(fixture),
                                        { method: 'OPTIONS' });

            assert.equal(options.status, 204);
            assert.equal(options.headers.get('access-control-allow-headers'),
                         '*');
        });

        test('no token: 401 with a challenge that a page of an allowed origin can read',
             async () => {
            const { status, challenge, allowed, exposed }
                = await ask(fixture, { headers: from, body: PING() });

            assert.equal(status, 401);
            assert.equal(allowed, ORIGIN);
            assert.match(exposed, /WWW-Authenticate/);

            const { resource_metadata: url, scope } = paramsOf(challenge);

            assert.equal(url, metadataOf(fixture));
            assert.equal(scope, 'files:read');
        });

        test('invalid token: 401 with invalid_token', async () => {
            const { status, challenge }
                = await ask(fixture, { token: 'abc', body: PING() });

            assert.equal(status, 401);
            assert.equal(paramsOf(challenge).error, 'invalid_token');
            assert.equal(paramsOf(challenge).resource_metadata,
                         metadataOf(fixture));
        });

        test('token for another audience: 401', async () => {
            const other = 'http://127.0.0.1:1/other';

            if (guard.jwt) {
                issuer.jwt.add(other);
            }

            const { status, challenge } = await ask(fixture, {
                token: await token(other), body: INITIALIZE });

            assert.equal(status, 401);
            assert.equal(paramsOf(challenge).resource_metadata,
                         metadataOf(fixture));
        });

        test('token without the scope of the endpoint: 403 with insufficient_scope',
             async () => {
            const { status, challenge, allowed } = await ask(fixture, {
                token: await token(fixture.url, 'files:write'),
                headers: from, body: INITIALIZE });

            assert.equal(status, 403);
            assert.equal(allowed, ORIGIN);
            assert.deepEqual(paramsOf(challenge), {
                error: 'insufficient_scope', scope: 'files:read',
                resource_metadata: metadataOf(fixture) });
        });

        test('valid token: 200, readable by a page of an allowed origin',
             async () => {
            const { status, allowed, exposed } = await ask(fixture, {
                token: await token(fixture.url), headers: from,
                body: INITIALIZE });

            assert.equal(status, 200);
            assert.equal(allowed, ORIGIN);
            assert.match(exposed, /Mcp-Session-Id/);
        });

        test('preflight without a token: 204 with CORS headers only for the allowed origin',
             async () => {
            const preflight = (origin) => ask(fixture, {
                method: 'OPTIONS',
                headers: {
                    'Origin': origin,
                    'Access-Control-Request-Method': 'POST',
                    'Access-Control-Request-Headers':
                        'authorization, mcp-method, mcp-param-region',
                } });
            const { status, headers, allowed } = await preflight(ORIGIN);

            assert.equal(status, 204);
            assert.equal(allowed, ORIGIN);
            assert.match(headers.get('access-control-allow-headers'),
                         /Authorization.*Mcp-Method.*mcp-param-region/);

            const other = await preflight('http://other.example');

            assert.notEqual(other.status, 204);
            assert.equal(other.allowed, null);
        });

        test('page of an origin that is not allowed: 401 without a token, 403 with a valid token, no CORS headers',
             async () => {
            const headers = { Origin: 'http://other.example' };
            const none = await ask(fixture, { headers, body: PING() });

            assert.equal(none.status, 401);
            assert.equal(none.allowed, null);
            assert.equal(none.exposed, null);

            const good = await ask(fixture, {
                headers, body: PING(), token: await token(fixture.url) });

            assert.equal(good.status, 403);
            assert.equal(good.allowed, null);
            assert.equal(good.challenge, null);
        });

        test('body of 40 MB: 413 that a page of an allowed origin can read',
             async () => {
            const { status, allowed } = await ask(fixture, {
                token: await token(fixture.url), headers: from,
                body: 'x'.repeat(40 * 1024 * 1024) });

            assert.equal(status, 413);
            assert.equal(allowed, ORIGIN);
        });

        test('token of a request: reaches neither a backend nor a log',
             async () => {
            const bearer = await token(fixture.url);
            const session = await fixture.session({
                headers: { Authorization: `Bearer ${bearer}` } });

            for (const tool of ['env', 'http_env']) {
                const { structuredContent } = await session.tool(tool, {
                    prefix: '' });

                assert.ok(!JSON.stringify(structuredContent).includes(bearer));
            }

            await assertSecret(fixture);
        });

        test('session of a client with a token: the backend gets the principal of the token',
             async () => {
            const session = await fixture.session({ headers: {
                Authorization: `Bearer ${await token(fixture.url)}` } });
            const { structuredContent } = await session.tool('env',
                                                             { prefix: '' });

            assert.equal(structuredContent.MCP_PRINCIPAL, 'machine');
        });

        test('commands in the manual\'s page on authorization: each gives the result that the page describes',
             async () => {
            assert.match(await shell('try-challenge', fixture),
                         /^www-authenticate: Bearer .*resource_metadata=/i);
            assert.equal(JSON.parse(await shell('try-document', fixture))
                .resource, fixture.url);
            assert.match(await shell('try-preflight', fixture),
                         /^HTTP\/1.1 204/);
            assert.match(await shell('try-token', fixture, {
                TOKEN: await token(fixture.url) }), /"serverInfo"/);
        });
    });
}


for (const [name, guard] of Object.entries(GUARDS)) {
    describe(`lists of each principal, ${name}`, async () => {
        const fixture = await use(guard, { allow: true });
        const clients = {};

        for (const client of ['machine', 'other']) {
            const headers = { Authorization: `Bearer ${
                await token(fixture.url, 'files:read', client)}` };

            clients[client] = [new Modern(fixture, { headers }),
                               await fixture.session({ headers })];
        }

        const names = async (client, method, member) => {
            const { result } = await client.response(method);

            return { names: result[member].map((item) => item.name),
                     scope: result.cacheScope };
        };

        for (const [method, member, key] of [['tools/list', 'tools', 'env'],
                                             ['prompts/list', 'prompts']]) {
            test(`${method} by principals with different rights: each gets only the items that it may use`, async () => {

                // in turns: no client may get a list made for another one

                for (let i = 0; i < 3; i++) {
                    for (const [modern, client] of [0, 1].flatMap((era) =>
                        Object.keys(clients).map((c) => [era, c])))
                    {
                        const { names: found, scope } = await names(
                            clients[client][modern], method, member);
                        const all = client === 'machine';

                        assert.equal(key ? found.includes(key)
                                         : found.length > 0, all);
                        assert.ok(!key || found.includes('echo'));
                        assert.equal(scope, modern === 0 ? 'private'
                                                         : undefined);
                    }
                }
            });
        }

        test('tool that only one principal may call: -32602 for other principals, a result for this principal',
             async () => {
            for (const client of clients.other) {
                const { error } = await client.response('tools/call',
                    { name: 'env', arguments: { prefix: '' } });

                assert.equal(error.code, -32602);
            }

            for (const client of clients.machine) {
                const { result } = await client.response('tools/call',
                    { name: 'env', arguments: { prefix: 'MCP_PRINCIPAL' } });

                assert.equal(result.structuredContent.MCP_PRINCIPAL,
                             'machine');
            }
        });
    });
}


for (const [name, guard] of Object.entries(GUARDS)) {
    describe(`tools that need a further scope, ${name}`, async () => {
        const fixture = await use(guard, { step: true });

        const call = async (tool, scope) => ask(fixture, {
            token: await token(fixture.url, scope),
            headers: { 'MCP-Protocol-Version': MODERN,
                       'Mcp-Method': 'tools/call', 'Mcp-Name': tool },
            body: CALL(tool, tool === 'echo' ? { text: 'x' } : {}) });

        test('call of a tool that needs no scope besides that of the endpoint: 200', async () => {
            assert.equal((await call('echo', 'files:read')).status, 200);
        });

        test('call of a tool that needs a further scope: 403 names all needed scopes, a token with them gets 200',
             async () => {
            const { status, challenge } = await call('env', 'files:read');

            assert.equal(status, 403);

            const { error, scope, resource_metadata: url } = paramsOf(challenge);

            assert.equal(error, 'insufficient_scope');
            assert.equal(scope, 'files:read files:write');
            assert.equal(url, metadataOf(fixture));

            assert.equal((await call('env', scope)).status, 200);
        });
    });
}


// The fixture's catalog, with a scope on one tool.

const scoped = JSON.parse(await fs.readFile(`${root}/t/fixtures/catalog.json`,
                                            'utf8'));

scoped.tools.find((tool) => tool.name === 'env')['x-mcp-scope'] = 'files:write';
await fs.writeFile(`${dir}/scoped.json`, JSON.stringify(scoped));
await fs.chmod(dir, 0o755);

for (const [name, guard] of Object.entries(GUARDS)) {
    describe(`scopes of the catalog's items, ${name}`, async () => {
        const fixture = await use({ ...guard, configure: (at) => {
            const options = guard.configure(at);
            const scopes = SERVER === 'nginx' ? said('nginx-scopes', at)
                : said('apache-scopes', at).replace('OAUTH2_CLAIM',
                    name === 'mod_oauth2' ? 'OAUTH2_CLAIM' : 'OIDC_CLAIM');

            return { ...options, location: { mcp_catalog: `${dir}/scoped.json`,
                [SERVER]: [options.location, scopes].join('\n') } };
        } });

        const call = async (tool, scope) => {
            const session = await fixture.session({ headers: { Authorization:
                `Bearer ${await token(fixture.url, scope)}` } });

            return session.request('tools/call', { name: tool,
                arguments: tool === 'echo' ? { text: 'x' } : {} });
        };

        test('tool without x-mcp-scope: 200', async () => {
            assert.equal((await call('echo', 'files:read')).status, 200);
        });

        test('token without the tool\'s x-mcp-scope: 403', async () => {
            const { status, headers } = await call('env', 'files:read');
            const { error, scope } = paramsOf(headers['www-authenticate']);

            assert.equal(status, 403);
            assert.equal(error, 'insufficient_scope');
            assert.equal(scope, 'files:write');
        });

        test('token with the tool\'s x-mcp-scope: 200', async () => {
            assert.equal((await call('env', 'files:read files:write')).status,
                         200);
        });
    });
}


test('503 of another module of the server: a page of an allowed origin can read it',
     async () => {
    const fixture = await Fixture.use({
        allow: /limiting requests/,
        http: {
            nginx: 'limit_req_zone $http_x_busy zone=busy:1m rate=1r/m;',
            apache: `LoadModule rewrite_module ${MODULES}/mod_rewrite.so`,
        },
        location: {
            mcp_allow_origin: ORIGIN,
            nginx: 'limit_req zone=busy;',
            apache: `RewriteEngine On
                     RewriteCond "%{HTTP:X-Busy}" "=2"
                     RewriteRule .* - [R=503]`,
        },
    });
    const busy = (n, origin = ORIGIN) => ask(fixture, { body: PING(),
        headers: { 'X-Busy': n, 'Origin': origin } });

    assert.notEqual((await busy('1')).status, 503);

    if (SERVER === 'nginx') {
        await busy('2');
    }

    const { status, allowed, exposed } = await busy('2');

    assert.equal(status, 503);
    assert.equal(allowed, ORIGIN);
    assert.match(exposed, /Retry-After|WWW-Authenticate/);

    const other = await busy('2', 'http://other.example');

    assert.equal(other.status, 503);
    assert.equal(other.allowed, null);
    assert.equal(other.exposed, null);
});


test('endpoint with Basic authentication: its 401 has a Basic and a Bearer challenge',
     async () => {
    const port = await freePort();
    const users = `${dir}/users`;

    await fs.writeFile(users, `u:${
        (await run('openssl', ['passwd', '-apr1', 'p'])).stdout}`);
    await fs.chmod(dir, 0o755);

    const fixture = await Fixture.use({ port, location: {
        mcp_allow_origin: ORIGIN,
        mcp_auth_resource: `http://127.0.0.1:${port}/mcp`,
        mcp_auth_server: issuer.url,
        nginx: `auth_basic tools; auth_basic_user_file ${users};
                mcp_principal $remote_user;`,
        apache: `AuthType Basic
                 AuthName tools
                 AuthUserFile ${users}
                 Require valid-user`,
    } });

    const none = await ask(fixture, { headers: { Origin: ORIGIN },
                                      body: PING() });

    assert.equal(none.status, 401);
    assert.equal(none.allowed, ORIGIN);
    assert.match(none.challenge, /Basic realm="tools"/);
    assert.equal(paramsOf(none.challenge).resource_metadata,
                 metadataOf(fixture));

    const preflight = await ask(fixture, { method: 'OPTIONS', headers: {
        'Origin': ORIGIN, 'Access-Control-Request-Method': 'POST' } });

    assert.equal(preflight.status, 204);

    const good = await ask(fixture, { body: INITIALIZE, headers: {
        Authorization: `Basic ${btoa('u:p')}`, Origin: ORIGIN } });

    assert.equal(good.status, 200);
    assert.equal(good.allowed, ORIGIN);
});


test('page in Chromium: finds the issuer, logs in, lists tools, calls one, resumes',
     async () => {
    const [guard] = Object.values(GUARDS);
    const fixture = await use(guard);
    const browser = await Browser.use();

    app.page = pageOf(fixture.url, { login: true, cut: 2,
                                     count: { n: 5, interval_ms: 300 } });
    await browser.open(`${ORIGIN}/`);

    // the issuer's own pages: a login form, then a consent form

    await browser.until('!!document.querySelector("input[name=login]")');
    assert.equal(await browser.value('location.origin'), issuer.url);
    await browser.value(`document.querySelector('input[name=login]')
        .value = 'ann';
        document.querySelector('input[name=password]').value = 'x';
        document.querySelector('form').submit()`);
    await browser.until(`location.origin === '${issuer.url}'
        && !document.querySelector('input[name=login]')
        && !!document.querySelector('form')`);
    await browser.value(`document.querySelector('form').submit()`);

    const result = JSON.parse(await browser.until(
        `location.origin === '${ORIGIN}' && window.result`, 60000));

    assert.equal(result.error, undefined, result.error);
    assert.equal(result.first, 401);
    assert.equal(result.issuer, issuer.url);
    assert.ok(result.tools.includes('count'));
    assert.deepEqual(result.progress, [1, 2, 3, 4, 5]);
    assert.equal(result.resumed, true);
    assert.equal(result.text, 'counted to 5');
    assert.equal(result.principal, 'ann');

    tokens.add(result.token);
    await assertSecret(fixture);
});


test('authorization server is unreachable: the web server starts and reloads, the endpoint answers requests',
     async () => {
    const fixture = await Fixture.use({ location: {
        mcp_auth_resource: 'https://mcp.example.com/mcp',
        mcp_auth_server: 'http://127.0.0.1:1',
    } });

    assert.equal((await ask(fixture, { body: INITIALIZE })).status, 200);
    await fixture.reload();
    assert.equal((await ask(fixture, { body: INITIALIZE })).status, 200);
    await fixture.settled();
});


after(() => {
    const mine = Object.keys(blocks).filter((name) => SERVER === 'nginx'
        ? !name.startsWith('apache') : !/^nginx|^check$/.test(name));

    assert.deepEqual(mine.filter((name) => !used.has(name)), [],
                     'all of the manual is run');
});
