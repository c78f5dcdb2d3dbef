// SPDX-License-Identifier: Apache-2.0

// MCP servers in PHP-FPM behind mcp_upstream, with the rules of the official PHP
// SDK and of the WordPress MCP adapter (t/fixtures/php).

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { phpFpm, usePhpFpm } from './lib/php-fpm.mjs';
import { until } from './lib/redis.mjs';
import { textOf } from './lib/session.mjs';
import { clientCases, location, officialClients }
    from './lib/upstream-cases.mjs';
import { request } from './lib/wire.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-php-'));

// Apache's children run as another user

await fs.chmod(dir, 0o755);
after(() => fs.rm(dir, { recursive: true, force: true }));

const socket = phpFpm && await usePhpFpm(dir, 4, { DIRECTORY: dir });
const basic = (user) =>
    `Basic ${Buffer.from(`${user}:password`).toString('base64')}`;

// the directives that give a backend the credentials of a user

const credentials = (user) => ({
    nginx: `fastcgi_param HTTP_AUTHORIZATION "${basic(user)}";`,
    apache: `CGIPassAuth on
             RequestHeader set Authorization "${basic(user)}"`,
});

const use = (script, upstream, { more, ...options } = {}) => Fixture.use({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'], ...options,
    location: { mcp_backend: 'php', ...location, ...options.location },
    backends: { php: { fastcgi: socket, upstream, more,
                       script: `${root}/t/fixtures/php/${script}.php` } },
});

const initialize = (server, headers) => request(server.port, {
    headers: { 'Content-Type': 'application/json',
               Accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {
        protocolVersion: '2025-11-25', capabilities: {},
        clientInfo: { name: 'e2e', version: '1' } } }) });

// Returns the entries of the journal after the first `from`.

async function journal(from = 0) {
    const text = await fs.readFile(`${dir}/journal`, 'utf8').catch(() => '');

    // the last line may not be complete

    return text.split('\n').slice(from, -1).map((line) => JSON.parse(line));
}

const written = (test) => until(async () => (await journal()).some(test),
                                { hint: test });
const calls = async (from) => (await journal(from))
    .filter(({ method }) => method === 'tools/call');
const methods = async (from) => (await journal(from))
    .map(({ method }) => method);

// Removes the sessions of both servers.

async function forget() {
    for (const name of await fs.readdir(dir)) {
        if (/^(session|user)\./.test(name)) {
            await fs.rm(`${dir}/${name}`, { recursive: true });
        }
    }
}

const open = (name) => fs.writeFile(`${dir}/gate.${name}`, '');
const begun = (name) => written((entry) => entry.begun === name);

// The further cases of official clients.

const furtherCases = ({ sessions, questions }) => (official, client) => {
    if (questions) {
        test('tool with two questions: the tool gets both answers', async () => {
            assert.equal(textOf(await client().call('askTwice', {})),
                         'answered yes yes');
        });
    }

    // without a session and a principal, each call has a session of its own

    if (sessions && !official.modern) {
        test('MCP server has lost the session: the call succeeds in a new session',
             async () => {
            await client().call('add', { a: 1, b: 2 });
            await forget();

            const from = (await journal()).length;

            assert.equal(textOf(await client().call('add', { a: 3, b: 4 })),
                         '7');

            const [lost, sent, ...others] = await calls(from);

            assert.deepEqual(others, []);
            assert.notEqual(sent.session, lost.session);
        });
    }
};

// A client cancels a call. The call of a server that sends progress never ends
// by itself: PHP ends it when it cannot send any more. A call without output runs
// to its end.

function cancelCases(server, { sessions, reports }) {
    for (const [name, { connect }] of officialClients) {
        test(`${name}, cancelled call: the call ends at the MCP server, the next call succeeds`,
             async () => {
            const from = (await journal()).length;
            const client = await connect({ url: server.url });
            const controller = new AbortController();
            const id = `cancelled ${process.pid} ${from}`;
            const call = client.call('count', {
                name: id, n: reports ? 1e9 : 3,
            }, { signal: controller.signal, onprogress: () => {} });

            call.catch(() => {});
            await begun(id);
            controller.abort();
            await assert.rejects(call);

            if (sessions) {
                await until(async () => (await methods(from))
                    .includes('notifications/cancelled'));
            }

            await open(id);
            await written((entry) => entry.aborted === id
                                     || !reports && entry.done === id);
            assert.equal(textOf(await client.call('add', { a: 2, b: 3 })), '5');
            await client.end?.();
        });
    }
}


describe('MCP servers in PHP', { skip: !phpFpm && 'no php-fpm' }, async () => {
    if (!phpFpm) {
        return;
    }

    for (const [title, script, upstream, more] of [
        ['PHP SDK, revision 2026-07-28', 'sdk', 'modern'],
        ['PHP SDK, form auto', 'sdk', 'auto'],
        ['PHP SDK, with sessions', 'sdk', 'session'],
        ['WordPress adapter', 'wordpress', 'session', credentials('alice')],
    ]) {
        const questions = script === 'sdk';
        const sessions = upstream === 'session';

        clientCases(title, await use(script, upstream, { more }), {
            open, begun, asks: () => questions, reports: questions,
            more: furtherCases({ sessions, questions }),
        });

        describe(title, async () => {
            cancelCases(await use(script, upstream, { more, location: {
                mcp_resume_stateless: 'off' } }),
                        { sessions, reports: questions });
        });
    }


    describe('form auto', () => {
        for (const [script, more, revision] of [
            ['sdk', {}, '2026-07-28'],
            ['wordpress', credentials('alice'), '2025-11-25'],
        ]) {
            test(`mcp_upstream auto, MCP server in PHP "${script}": called in revision ${revision}`, async () => {
                const server = await use(script, 'auto', { more });
                const it = await server.session();
                const from = (await journal()).length;

                assert.equal(textOf(await it.tool('add', { a: 1, b: 2 })), '3');

                const [{ version, session }] = await calls(from);

                assert.equal(version, revision);
                assert.equal(session === '', script === 'sdk');
            });
        }
    });


    describe('PHP SDK with its guard against DNS rebinding', () => {
        const headers = { Host: 'mcp.example.com',
                          Origin: 'https://app.example.com' };
        const more = { nginx: 'fastcgi_param HTTP_HOST localhost;',
                       apache: 'RequestHeader set Host localhost' };
        const options = { location: {
            mcp_allow_origin: headers.Origin } };

        test('MCP server accepts only Host localhost, the location sets this Host: the call succeeds',
             async () => {
            const server = await use('sdk', 'modern', { more, ...options });
            const it = await server.session({ headers });

            assert.equal(textOf(await it.tool('add', { a: 1, b: 2 })), '3');
        });

        test('MCP server accepts only Host localhost, the location does not set this Host: clients get 503, the log names Host',
             async () => {
            const server = await use('sdk', 'modern', options);
            const { status } = await initialize(server, headers);

            assert.equal(status, 503);
            assert.match(await server.log(), /refused .*Host/i);
        });
    });


    describe('WordPress adapter', async () => {
        const server = await use('wordpress', 'session', {
            more: credentials('alice') });

        test('MCP server responds to an unknown tool with 404: the client gets the error, the session is kept',
             async () => {
            const it = await server.session();

            await it.tool('add', { a: 1, b: 2 });

            const from = (await journal()).length;
            const { error } = await it.response('tools/call',
                { name: 'none', arguments: {} });

            assert.equal(error.code, -32003);
            await it.tool('add', { a: 1, b: 2 });

            const [refused, next, ...others] = await calls(from);

            assert.deepEqual(others, []);
            assert.equal(refused.session, next.session);
        });

        test('mcp_upstream_listen on, MCP server responds to GET with 405: calls succeed, one GET is sent',
             async () => {
            const own = await use('wordpress', 'session', {
                more: { ...credentials('alice'), mcp_upstream_listen: 'on' } });
            const it = await own.session({ capabilities: { elicitation: {} } });
            const from = (await journal()).length;

            for (let i = 0; i < 3; i++) {
                assert.equal(textOf(await it.tool('add', { a: 1, b: i })),
                             `${1 + i}`);
            }

            assert.equal((await methods(from))
                .filter((method) => method === 'GET').length, 1);
        });

        test('MCP server allows a user fewer sessions than there are clients: all calls succeed',
             async () => {
            const own = await use('wordpress', 'session', { more: {
                nginx: `${credentials('carol').nginx}
                        fastcgi_param SESSIONS 2;`,
                apache: `${credentials('carol').apache}
                         SetEnv SESSIONS 2` } });
            const clients = [await own.session(), await own.session(),
                             await own.session()];
            const from = (await journal()).length;

            for (let i = 0; i < 9; i++) {
                assert.equal(textOf(await clients[i % 3].tool('add',
                    { a: i, b: 1 })), `${i + 1}`);
            }

            // the others were refused because of a lost session

            assert.ok((await calls(from)).length > 9);
        });
    });


    // The map of the manual: each user has credentials of his own at WordPress,
    // and the module asks for the description of the server with those of a
    // further one.

    describe('WordPress adapter, credentials for each user', async () => {
        const users = ['alice', 'bob'];
        const setup = (directives = {}, known = { '': 'site', alice: 'alice',
                                                  bob: 'bob' }) =>
            use('wordpress', 'session', {
                location: { nginx: 'mcp_principal $http_x_user;',
                            apache: 'MCPPrincipal "%{HTTP:X-User}"' },
                http: { nginx: `map $mcp_principal $credential {
                            ${Object.entries(known).map(([user, at]) =>
                                `"${user}" "${basic(at)}";`).join('\n')}
                        }` },
                more: { ...directives,
                    nginx: 'fastcgi_param HTTP_AUTHORIZATION $credential;',
                    apache: ['CGIPassAuth on', ...Object.entries(known)
                        .map(([user, at]) =>
                            `RequestHeader set Authorization "${basic(at)}"`
                            + ` "expr=reqenv('MCP_PRINCIPAL') == '${user}'"`)]
                        .join('\n') },
            });
        const server = await setup();
        const eras = {
            '2025-11-25': (of, user) => of.session({
                headers: { 'X-User': user } }),
            '2026-07-28': async (of, user) => new Modern(of, {
                headers: { 'X-User': user }, ids: true }),
        };

        for (const [era, connect] of Object.entries(eras)) {
            test(`several users, clients of ${era}: each session at the MCP server is used by one user only`,
                 async () => {
                const from = (await journal()).length;

                for (let i = 0; i < 2; i++) {
                    for (const user of users) {
                        const client = await connect(server, user);

                        assert.equal(textOf(await client.tool('add',
                            { a: i, b: 1 })), `${i + 1}`);
                    }
                }

                const used = await calls(from);

                assert.deepEqual(used.map(({ user }) => user),
                                 [...users, ...users]);

                for (const { user, session } of used) {
                    assert.ok(used.every((other) =>
                        other.session !== session || other.user === user));
                }
            });
        }

        test('mcp_upstream_session principal: one session at the MCP server for each user',
             async () => {
            const own = await setup({ mcp_upstream_session: 'principal' });
            const from = (await journal()).length;

            for (let i = 0; i < 2; i++) {
                for (const user of users) {
                    const it = await own.session({
                        headers: { 'X-User': user } });

                    await it.tool('add', { a: 1, b: 2 });
                    await it.delete();
                }
            }

            const used = await calls(from);

            assert.equal(used.length, 4);
            assert.equal(new Set(used.map(({ session }) => session)).size, 2);
        });

        test('user without credentials at WordPress: the client gets an error',
             async () => {
            const it = await server.session({ headers: { 'X-User': 'mallory' } });
            const { error } = await it.response('tools/call',
                { name: 'add', arguments: { a: 1, b: 2 } });

            assert.equal(error.code, -32603);
            assert.match(await server.log(), /refused the credentials/);
        });

        test('request for the MCP server\'s description has no credentials: clients get 503', async () => {
            const own = await setup({}, { alice: 'alice' });

            assert.equal((await initialize(own, { 'X-User': 'alice' })).status,
                         503);
        });
    });
});
