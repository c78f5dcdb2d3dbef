// SPDX-License-Identifier: Apache-2.0

// Differences between the revisions of the protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { counted, textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({ workers: 2,
                                   location: { mcp_close_after: 'off' } });


for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    test(`session of ${version}: tool calls, progress and resumption succeed`,
        async () => {
            const session = await server.session({ version });
            const gate = `revision ${version}`;

            assert.equal(session.server.protocolVersion, version);
            assert.equal(textOf(await session.tool('echo', { text: 'a' })),
                         'a');
            assert.equal((await session.tool('env')).structuredContent
                .MCP_PROTOCOL_VERSION, version);

            await session.open(gate, 2);

            const answer = await session.call('count', { n: 4, gate });
            let first = await answer.block();

            // older clients do not accept an event without data

            if (version >= '2025-11-25') {
                assert.equal(first.data, '');
                assert.match(first.retry, /^\d+$/);
                await answer.block();
            } else {
                while (first.data === undefined) {
                    assert.equal(first.id, undefined);
                    first = await answer.block();
                }

                assert.notEqual(first.data, '');
            }

            answer.close();
            await session.open(gate);

            const { messages, response } = await session.follow(
                Object.assign(await session.get(first.id),
                              { id: answer.id }));
            const rest = version >= '2025-11-25' ? upTo(4)
                                                 : upTo(4).slice(1);

            assert.deepEqual(counted(messages), rest);
            assert.equal(textOf(response.result), 'counted to 4');
            await session.delete();
        });
}


test('initialize with an unknown revision: answered with a known revision of 2025', async () => {
    const session = await server.session({ version: '2001-01-01' });

    assert.match(session.server.protocolVersion, /^2025-/);
});


test('2025-03-26, batch: a response for each request', async () => {
    const session = await server.session({ version: '2025-03-26' });
    const call = (id, name, args) => ({
        jsonrpc: '2.0', id, method: 'tools/call',
        params: { name, arguments: args } });
    const answer = await session.post([
        call('a', 'echo', { text: 'first' }),
        { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
        call('b', 'echo', { text: 'second' }),
        { jsonrpc: '2.0', id: 'c', method: 'ping' },
        call('d', 'sleep', { ms: 1 }),
    ]);
    const responses = new Map();
    const take = (message) => [message].flat().forEach(
        (m) => responses.set(m.id, m));

    assert.equal(answer.status, 200);

    if (answer.sse) {
        for (let block; responses.size < 4 && (block = await answer.block());) {
            if (block.data) {
                take(JSON.parse(block.data));
            }
        }
    } else {
        take(await answer.json());
    }

    assert.equal(textOf(responses.get('a').result), 'first');
    assert.equal(textOf(responses.get('b').result), 'second');
    assert.deepEqual(responses.get('c').result, {});
    assert.equal(textOf(responses.get('d').result), 'slept');
    assert.equal(responses.size, 4);
});


test('2025-03-26, batch of notifications: 202', async () => {
    const session = await server.session({ version: '2025-03-26' });
    const answer = await session.post([
        { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
        { jsonrpc: '2.0', method: 'notifications/cancelled',
          params: { requestId: 99 } },
    ]);

    assert.equal(answer.status, 202);
});


test('2025-06-18 and later, batch: 400, -32600', async () => {
    for (const version of ['2025-06-18', '2025-11-25']) {
        const session = await server.session({ version });
        const answer = await session.post([
            { jsonrpc: '2.0', id: 1, method: 'ping' }]);

        assert.equal(answer.status, 400);
        assert.equal((await answer.json()).error.code, -32600);
    }
});
