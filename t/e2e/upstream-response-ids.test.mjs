// SPDX-License-Identifier: Apache-2.0

// Responses of an MCP server whose JSON-RPC id is not the id of the request: a
// client must not get the response to another request as its own.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { textOf } from './lib/session.mjs';
import { done, recording, withSessions } from './lib/upstream.mjs';

const WHY = 'the "id" of the response differs from the "id" of the request';

const serve = (port, upstream) => Fixture.use({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    location: { mcp_stream_after: '0', mcp_task_after: 'off',
                mcp_backend: 'it' },
    backends: { it: { http: port, upstream } },
});

// The description of a server without sessions, in either revision.

const ABOUT = { protocolVersion: '2025-11-25', capabilities: { tools: {} },
                supportedVersions: ['2026-07-28'], resultType: 'complete',
                serverInfo: { name: 'it', version: '1' } };

const json = (message) => ({ type: 'application/json',
                             text: JSON.stringify(message) });
const result = (text) => ({ content: [{ type: 'text', text }] });
const mine = ({ body }) => done(body, result('mine'));
const other = (id) => done({ id }, result('other'));

// Returns the lines of the log about wrong responses to calls of a tool.

const lines = async (server, name) => (await server.log()).split('\n')
    .filter((line) => line.includes(`of "${name}"`)
                      && /ignored|failed in its backend/.test(line));

for (const form of ['modern', 'stateless', 'session']) {
    describe(`mcp_upstream ${form}, id of a response`, async () => {
        const sessions = form === 'session';
        const upstream = sessions ? await withSessions() : await recording();
        const server = await serve(upstream.port, form);
        let reply;
        let n = 0;

        upstream[sessions ? 'answer' : 'reply'] = (call) => reply(call);

        if (!sessions) {
            upstream.describe = () => ABOUT;
        }

        const it = await server.session();
        const call = async (by) => {
            reply = by;

            return (await it.follow(await it.call(`tool${n}`))).response;
        };

        beforeEach(() => { n++; });

        test(`${form}, stream with responses to other requests before the own: the client gets its own, one line of the log has both ids`,
             async () => {
            let id;

            const response = await call((one) => {
                id = one.body.id;

                return [other('x'), other(null), other(undefined), mine(one)];
            });

            assert.equal(textOf(response.result), 'mine');

            const found = await lines(server, `tool${n}`);

            assert.equal(found.length, 1, found.join('\n'));
            assert.ok(found[0].includes(
                `${WHY}: "x" instead of ${JSON.stringify(id)}`), found[0]);
        });

        test(`${form}, stream without the response to the own request: -32603, the log has both ids`,
             async () => {
            let id;

            const { error } = await call((one) => {
                id = one.body.id;

                return [other('x')];
            });

            assert.equal(error.code, -32603);
            assert.match(error.message, /invalid response/);

            const found = (await lines(server, `tool${n}`)).join('\n');

            assert.ok(found.includes(
                `${WHY}: "x" instead of ${JSON.stringify(id)}`), found);
            assert.match(found, /failed in its backend: the stream ended /);
        });

        for (const [name, id, shown] of [
            ['another number', 424242, '424242'],
            ['a string', 'x', '"x"'],
            ['null', null, 'null'],
            ['no id', undefined, 'none'],
        ]) {
            test(`${form}, JSON with a result, id: ${name}: -32603, the log has both ids`,
                 async () => {
                let own;

                const { error } = await call((one) => {
                    own = one.body.id;

                    return json(other(id));
                });

                assert.equal(error.code, -32603);
                assert.match(error.message, /invalid response/);
                assert.ok((await lines(server, `tool${n}`)).join('\n').includes(
                    `failed in its backend: ${WHY}: ${shown} instead of ${
                        JSON.stringify(own)}`));
            });
        }

        for (const [name, other] of [['as 1.0 instead of 1', (id) => `${id}.0`],
                                     ['as a string', (id) => `"${id}"`]]) {
            test(`${form}, number of the id ${name}: the client gets the result`,
                 async () => {
                const same = ({ body }) => {
                    const text = JSON.stringify(mine({ body }));
                    const id = JSON.stringify(body.id);

                    assert.ok(text.includes(`"id":${id}`));

                    return { type: 'application/json',
                             text: text.replace(`"id":${id}`,
                                                `"id":${other(id)}`) };
                };

                assert.equal(textOf((await call(same)).result), 'mine');
            });
        }

        for (const id of [null, undefined]) {
            for (const stream of [0, 1]) {
                test(`${form}, ${stream ? 'stream' : 'JSON'} with an error, id: ${id}: the client gets this error`,
                     async () => {
                    const message = { jsonrpc: '2.0', id,
                        error: { code: -32602, message: 'unreadable' } };

                    const { error } = await call(() => (stream
                        ? [other('x'), message] : json(message)));

                    assert.deepEqual(error, message.error);
                });
            }
        }

        test(`${form}, JSON with an error of another request: -32603, the client does not get the error`,
             async () => {
            const { error } = await call(() => json({ jsonrpc: '2.0', id: 'x',
                error: { code: -32602, message: 'not mine' } }));

            assert.equal(error.code, -32603);
        });

        test(`${form}, list of another request: the client does not get this list, and it is not cached`,
             async () => {
            const list = (name) => ({ tools: [{ name,
                inputSchema: { type: 'object' } }] });

            reply = () => json(done({ id: 'x' }, list('other')));
            assert.equal((await it.response('tools/list')).error.code, -32603);

            reply = ({ body }) => [done({ id: 'x' }, list('other')),
                                   done(body, list('mine'))];
            assert.deepEqual((await it.response('tools/list')).result.tools
                .map(({ name }) => name), ['mine']);
        });

        test(`${form}, client of 2026-07-28: the client gets its own response`,
             async () => {
            reply = (one) => [other(424242), mine(one)];

            assert.equal(textOf(await new Modern(server).tool('add')), 'mine');
        });
    });
}


describe('id of a response before the first call', () => {
    test('response to initialize with another id: the call gets -32603, the next call opens the session',
         async () => {
        const upstream = await withSessions();
        const server = await serve(upstream.port, 'session');
        const it = await server.session();
        const usual = upstream.describe;

        upstream.answer = () => result('mine');
        upstream.describe = (call) => json(done({ id: 'x' }, usual(call)));

        const { response } = await it.follow(await it.call('add'));

        assert.equal(response.error.code, -32603);
        upstream.describe = (call) => [done({ id: 'x' }, {}),
                                       done(call.body, usual(call))];
        assert.equal(textOf(await it.tool('add')), 'mine');
    });

    for (const form of ['modern', 'stateless', 'session']) {
        test(`description of a server with "mcp_upstream ${form}", another id: the client gets 503`,
             async () => {
            const upstream = await withSessions();
            const server = await serve(upstream.port, form);

            upstream.describe = () => json(done({ id: 'x' }, ABOUT));

            await assert.rejects(server.session(),
                                 ({ actual }) => actual === 503);
        });
    }

    test('response to server/discover with another id: the server does not count as one of 2026-07-28',
         async () => {
        const upstream = await withSessions();
        const server = await serve(upstream.port, 'auto');
        const usual = upstream.describe;

        upstream.answer = () => result('mine');
        upstream.describe = (call) => (call.body.method === 'initialize'
            ? usual(call)
            : [done({ id: 'x' }, ABOUT)]);

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'mine');
        assert.ok(upstream.steps.includes('initialize'));
        assert.match(await server.log(), /of the form "mcp_upstream session"/);
    });
});
