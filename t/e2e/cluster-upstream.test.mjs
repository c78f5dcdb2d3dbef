// SPDX-License-Identifier: Apache-2.0

// An MCP server with sessions behind both nodes of a cluster: the requests of a
// client use one session at the server, whichever node they reach.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { OTHER, at, node, together } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Redis, until } from './lib/redis.mjs';
import { withSessions } from './lib/upstream.mjs';

const upstream = await withSessions();
const redis = await Redis.start();

after(() => redis.stop());

// Calls are answered at once, with the id of their session.

const idOf = ({ headers }) => ({ content: [
    { type: 'text', text: headers['mcp-session-id'] }] });

beforeEach(() => { upstream.answer = idOf; });

const textOf = ({ content }) => content[0].text;

for (const form of ['session', 'auto']) {
    describe(`mcp_upstream ${form}`, async () => {
        const nodes = await together([SERVER, OTHER].map((kind) =>
            node(redis.url, {
                kind, without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
                http: { mcp_cluster_node_timeout: '2s' },
                location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
                backends: { sessions: { http: upstream.port,
                                        upstream: form } },
            })));

        after(() => Promise.all(nodes.map((fixture) => fixture.stop())));

        // A client at both nodes, when the server has no other sessions.

        async function client() {
            const it = await nodes[0].session();

            // the session of a description is ended after it

            await until(() => upstream.sessions.size === 0);

            return [it, at(nodes[1], it)];
        }

        for (const [first, second] of [[0, 1], [1, 0]]) {
            test(`first call at node ${first}, next call at the other node: both use the same session at the MCP server`,
                 async () => {
                const it = await client();
                const id = textOf(await it[first].tool('add', {}));

                assert.equal(textOf(await it[second].tool('add', {})), id);
                assert.equal(textOf(await it[first].tool('add', {})), id);
                await it[first].delete();
                await until(() => upstream.sessions.size === 0);
            });
        }

        test('first calls at both nodes at the same time: the client gets one session at the MCP server',
             async () => {
            const it = await client();

            // both nodes open a session before either call is sent

            const opened = [];
            const confirmed = upstream.reply;

            upstream.reply = async (call) => {
                if (call.body.method === 'notifications/initialized') {
                    opened.push(call);
                    await until(() => opened.length >= 2);
                }

                return confirmed(call);
            };

            const ids = (await Promise.all(it.map((one) => one.tool('add', {}))))
                .map(textOf);

            upstream.reply = confirmed;

            assert.equal(opened.length, 2);
            assert.equal(ids[0], ids[1]);
            await until(() => upstream.sessions.size === 1);
            assert.deepEqual([...upstream.sessions], [ids[0]]);
            await it[0].delete();
            await until(() => upstream.sessions.size === 0);
        });

        test('MCP server has lost its sessions: both nodes use the same new session',
             async () => {
            const it = await client();
            const former = textOf(await it[0].tool('add', {}));

            assert.equal(textOf(await it[1].tool('add', {})), former);
            upstream.sessions.clear();

            const id = textOf(await it[0].tool('add', {}));

            assert.notEqual(id, former);
            assert.equal(textOf(await it[1].tool('add', {})), id);
            assert.equal(textOf(await it[0].tool('add', {})), id);
            await it[1].delete();
            await until(() => upstream.sessions.size === 0);
        });

        test('client ends its session at a node that had no call: the session at the MCP server is ended',
             async () => {
            const it = await client();

            await it[0].tool('add', {});
            assert.equal(upstream.sessions.size, 1);
            assert.ok((await it[1].delete()).status < 300);
            await until(() => upstream.sessions.size === 0);
        });

        test('client without calls ends its session: the MCP server gets no request',
             async () => {
            const it = await client();

            upstream.requests.length = 0;
            assert.ok((await it[1].delete()).status < 300);
            assert.deepEqual(upstream.requests, []);
        });
    });
}
