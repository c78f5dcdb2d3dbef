// SPDX-License-Identifier: Apache-2.0

// The two official TypeScript clients in ordinary use.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clients } from './lib/clients.mjs';
import { Fixture } from './lib/fixture.mjs';
import { textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({
    workers: 4,
    location: { mcp_close_after: '200ms', mcp_stream_after: '50ms',
                mcp_retry: '50ms' },
});
const linked = await Fixture.use({
    location: { mcp_close_after: 'off', mcp_link: 'on', mcp_retry: '50ms' },
});
const session = await server.session();


for (const { name, connect } of clients) {
    describe(name, () => {
        test('lists, tool call, prompt, resource, ping, error: the client gets the expected response to each',
             async () => {
            const client = await connect(server);

            assert.ok((await client.listTools()).tools.length > 30);
            assert.equal(textOf(await client.call('echo', { text: 'a' })),
                         'a');
            assert.equal((await client.listPrompts()).prompts.length, 5);
            assert.equal((await client.readResource(
                { uri: 'test://static-binary' })).contents[0].mimeType,
                'image/png');
            assert.equal((await client.getPrompt(
                { name: 'test_simple_prompt' })).messages.length, 1);
            await client.ping();
            await assert.rejects(client.call('error', { code: -32042 }),
                                 (error) => error.code === -32042);
            assert.deepEqual(client.errors, []);
            await client.end();
        });

        test('progress of a call: each notification arrives, in order',
             async () => {
            const client = await connect(server);
            const seen = [];

            assert.equal(textOf(await client.call('count', { n: 10 },
                { onprogress: (p) => seen.push(parseInt(p.message, 10)) })),
                'counted to 10');
            assert.deepEqual(seen, upTo(10));
            await client.end();
        });

        test('log messages of a call: each arrives, in order', async () => {
            const seen = [];
            const client = await connect(server, { notifications: {
                'notifications/message': ({ data }) => seen.push(data) } });

            await client.setLoggingLevel('info');
            await client.call('test_tool_with_logging', {});
            assert.deepEqual(seen, ['Tool execution started',
                'Tool processing data', 'Tool execution completed']);
            await client.end();
        });

        test('questions for sampling, elicitation, roots: the client\'s answers reach the backend',
             async () => {
            const client = await connect(server, { requests: {
                'sampling/createMessage': ({ messages }) => ({
                    role: 'assistant', model: 'm',
                    content: { type: 'text',
                               text: `re: ${messages[0].content.text}` } }),
                'elicitation/create': ({ message }) => ({
                    action: 'accept', content: { value: message } }),
                'roots/list': () => ({ roots: [{ uri: 'file:///x' }] }),
            } });

            assert.equal(textOf(await client.call('test_sampling',
                { prompt: 'hi' })), 'LLM response: re: hi');
            assert.equal(textOf(await client.call('ask', { rounds: 3 })),
                         'asked 3 times: Question 2.0');
            assert.equal(textOf(await client.call('ask_roots', {})),
                         'file:///x');
            await client.end();
        });

        test('server closes a call\'s stream five times: the client resumes it and gets all messages',
             async () => {
            const client = await connect(server);
            const gate = `closed ${name}`;
            const seen = [];
            const resumed = () => client.gets.filter((id) => id).length;
            const five = new Promise((resolve) => {
                client.onGet = () => resumed() >= 5 && resolve();
            });
            const result = client.call('count', { n: 3, gate }, {
                onprogress: (p) => seen.push(parseInt(p.message, 10)),
            });

            await session.open(gate, 1);
            await five;
            await session.open(gate);
            assert.equal(textOf(await result), 'counted to 3');
            assert.deepEqual(seen, [0, 1, 2]);
            await client.end();
        });

        test('server closes the stream while the client has an open question: the client\'s answer is accepted',
             async () => {
            let ask;
            const client = await connect(server, { requests: {
                'elicitation/create': () => new Promise((resolve) => {
                    ask = () => resolve({ action: 'accept',
                                          content: { value: 'late' } });
                }),
            } });
            const resumed = () => client.gets.filter((id) => id).length;

            client.onGet = () => resumed() >= 3 && ask?.();
            assert.equal(textOf(await client.call('ask', {})),
                         'asked 1 times: late');
            await client.end();
        });

        // The client ignores the URL and finds its stream closed.

        test('mcp_link on, client ignores the stream\'s URL and resumes by event id: its answers are accepted',
             async () => {
            const client = await connect(linked, { requests: {
                'elicitation/create': ({ message }) => ({
                    action: 'accept', content: { value: message } }),
            } });

            assert.equal(textOf(await client.call('ask', { rounds: 3 })),
                         'asked 3 times: Question 2.0');
            assert.ok(client.gets.some((id) => id));
            await client.end();
        });

        test('backend crashes in the middle of a call\'s stream: the client gets -32603',
             async () => {
            const client = await connect(server);
            const gate = `error ${name}`;
            const failed = client.call('count', { n: 1, gate, tag: gate });

            failed.catch(() => {});
            await session.running(gate, 'running', 1);
            client.onGet = () => {};
            await session.open(gate);
            await failed;
            await assert.rejects(client.call('crash', { after: 2 }),
                                 (error) => error.code === -32603);
            await client.end();
        });

        test('cancelled call: the backend is aborted', async () => {
            const client = await connect(server);
            const tag = `cancel ${name}`;
            const controller = new AbortController();
            const call = client.call('count', { n: 1, gate: tag, tag },
                                     { signal: controller.signal });

            call.catch(() => {});
            await session.running(tag, 'running', 1);
            controller.abort();
            await assert.rejects(call);
            assert.equal((await session.running(tag, 'aborted', 1)).aborted,
                         1);
            await client.end();
        });

        test('list_changed on the standalone stream: the client gets it',
             async () => {
            let changed;
            const seen = new Promise((resolve) => { changed = resolve; });
            const client = await connect(server, { notifications: {
                'notifications/tools/list_changed': changed } });

            // the client's GET may come later: publish until it has the message

            let received = false;

            seen.then(() => { received = true; });

            while (!received) {
                await session.tool('publish', { message: { jsonrpc: '2.0',
                    method: 'notifications/tools/list_changed' } });
            }

            await client.end();
        });
    });
}
