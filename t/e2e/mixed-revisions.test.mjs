// SPDX-License-Identifier: Apache-2.0

// The official clients of both eras at one endpoint at the same time, each with
// the same scenarios.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eras } from './lib/clients.mjs';
import { Fixture } from './lib/fixture.mjs';
import { MODERN } from './lib/modern.mjs';
import { textOf, upTo } from './lib/session.mjs';

const server = await Fixture.use({
    workers: 4,
    location: { mcp_stream_after: '50ms', mcp_close_after: 'off',
                mcp_retry: '50ms' },
});
const witness = await server.session();

const HANDLERS = {
    'sampling/createMessage': ({ messages }) => ({
        role: 'assistant', model: 'm',
        content: { type: 'text', text: `re: ${messages[0].content.text}` } }),
    'elicitation/create': ({ message }) => ({
        action: 'accept', content: { value: message } }),
    'roots/list': () => ({ roots: [{ uri: 'file:///x' }] }),
};

function scenarios({ name: who, modern, connect }) {
    const on = (handlers) => connect(server, handlers);

    test('client at an endpoint with all revisions: uses its own revision',
         async () => {
        const client = await on();

        assert.equal(client.modern, modern);
        assert.deepEqual(client.getServerVersion(),
                         { name: 'fixture', version: '1.0.0' });
        assert.match(client.getInstructions(), /^Tools, prompts/);
        assert.notEqual(client.getServerCapabilities().tools, undefined);
        await client.end();
    });

    test('lists of the catalog: the client gets all items', async () => {
        const client = await on();

        assert.ok((await client.listTools()).tools.length > 30);
        assert.equal((await client.listPrompts()).prompts.length, 5);
        assert.equal((await client.listResources()).resources.length, 3);
        assert.equal((await client.listResourceTemplates()).resourceTemplates
            .length, 1);
        await client.end();
    });

    test('20 calls at once: each has its own result', async () => {
        const client = await on();

        await Promise.all(upTo(20).map(async (i) => {
            const result = await client.call('echo', { text: `${who} ${i}` });

            assert.equal(textOf(result), `${who} ${i}`);
        }));
        assert.equal(textOf(await client.call('http_echo', { text: 'ü' })),
                     'ü');
        assert.deepEqual((await client.call('echo', { text: 'a' }))
            .structuredContent, { text: 'a' });
        assert.deepEqual(client.errors, []);
        await client.end();
    });

    test('arguments with x-mcp-header: the backend gets each value unchanged',
         async () => {
        const client = await on();

        await client.listTools();

        for (const region of ['eu', 'Zürich', ' x ', '=?base64?eA==?=', '']) {
            const args = { region, priority: -7, dry_run: true };

            assert.deepEqual(JSON.parse(textOf(
                await client.call('test_x_mcp_header', args))), args);
        }

        await client.end();
    });

    test('progress of a call: each notification arrives, in order',
         async () => {
        const client = await on();
        const seen = [];

        assert.equal(textOf(await client.call('count', { n: 10 },
            { onprogress: (p) => seen.push(parseInt(p.message, 10)) })),
            'counted to 10');
        assert.deepEqual(seen, upTo(10));
        await client.end();
    });

    test('error codes of a backend: passed on, but -32603 for a code that the client\'s revision forbids',
         async () => {
        const client = await on();
        const result = await client.call('test_error_handling', {});

        assert.equal(result.isError, true);
        await assert.rejects(client.call('error', { code: 4711 }),
                             (error) => error.code === 4711);
        await assert.rejects(client.call('crash', {}),
                             (error) => error.code === -32603);
        await assert.rejects(client.call('nobody', {}),
                             (error) => error.code === -32602);
        await assert.rejects(client.readResource({ uri: 'test://nobody' }),
            (error) => error.code === -32602 || error.code === -32002);

        // a code that 2026-07-28 forbids

        await assert.rejects(client.call('error', { code: -32001 }),
            (error) => error.code === (modern ? -32603 : -32001));
        await client.end();
    });

    test('log messages of a call: only those of the requested level and above are sent',
         async () => {
        const seen = [];
        const client = await on({ notifications: {
            'notifications/message': ({ data }) => seen.push(data) } });

        await client.call('test_tool_with_logging', {},
                          { meta: await client.logged('info') });
        assert.deepEqual(seen, ['Tool execution started',
            'Tool processing data', 'Tool execution completed']);
        await client.call('test_tool_with_logging', {},
                          { meta: await client.logged('warning') });
        assert.equal(seen.length, 3);
        await client.end();
    });

    test('questions for elicitation, sampling, roots: the client\'s answers reach the backend',
         async () => {
        const client = await on({ requests: HANDLERS });

        assert.equal(textOf(await client.call('ask', { rounds: 3 })),
                     'asked 3 times: Question 2.0');
        assert.equal(textOf(await client.call('ask', { rounds: 2, count: 2 })),
                     'asked 2 times: Question 1.0,Question 1.1');
        assert.equal(textOf(await client.call('test_sampling',
            { prompt: 'hi' })), 'LLM response: re: hi');
        assert.equal(textOf(await client.call('ask_roots', {})), 'file:///x');
        await client.end();
    });

    test('declined question: the backend gets the action "decline"', async () => {
        const client = await on({ requests: {
            'elicitation/create': () => ({ action: 'decline' }) } });

        assert.equal(textOf(await client.call('ask', {})),
                     'asked 1 times: decline');
        await client.end();
    });

    test('text resource, binary resource, resource template: the client reads each',
         async () => {
        const client = await on();
        const read = async (uri) =>
            (await client.readResource({ uri })).contents[0];

        assert.match((await read('test://static-text')).text, /static text/);
        assert.equal((await read('test://static-binary')).mimeType,
                     'image/png');
        assert.match((await read('test://template/7/data')).text,
                     /Data for ID: 7/);
        await client.end();
    });

    test('prompt with arguments: its messages contain them', async () => {
        const client = await on();
        const { messages } = await client.getPrompt({
            name: 'test_prompt_with_arguments',
            arguments: { arg1: 'ä', arg2: 'b' } });

        assert.match(messages[0].content.text, /arg1='ä', arg2='b'/);
        await client.end();
    });

    test('completion of an argument: the client gets the backend\'s values',
         async () => {
        const client = await on();
        const { completion } = await client.complete({
            ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
            argument: { name: 'arg1', value: 'testi' },
            context: { arguments: { arg2: 'x' } } });

        assert.deepEqual(completion.values, ['testing']);
        await client.end();
    });

    // On the session's own stream, or on a subscription.

    test('changed list, updated resource are published: the client gets both notifications',
         async () => {
        const seen = { tools: 0, updated: [] };
        const client = await on({ notifications: {
            'notifications/tools/list_changed': () => { seen.tools++; },
            'notifications/resources/updated':
                ({ uri: which }) => seen.updated.push(which) } });
        const uri = 'test://watched-resource';
        const listener = modern ? await client.listen({
            toolsListChanged: true, resourceSubscriptions: [uri] })
            : await client.subscribeResource({ uri });

        // the client's GET may come later: publish until it has the message

        while (seen.tools === 0 || seen.updated.length === 0) {
            for (const [method, params] of [
                ['notifications/tools/list_changed', undefined],
                ['notifications/resources/updated', { uri }]])
            {
                await witness.tool('publish', {
                    message: { jsonrpc: '2.0', method, params } });
            }
        }

        assert.equal(seen.updated[0], uri);
        await listener?.close?.();
        await client.end();
    });

    for (const onprogress of [undefined, () => {}]) {
        test(`call cancelled ${onprogress ? 'with' : 'without'} progress: the backend is aborted`,
            async () => {
                const client = await on();
                const tag = `cancel ${who} ${onprogress}`;
                const controller = new AbortController();
                const call = client.call('count', { n: 2, gate: tag, tag },
                    { signal: controller.signal, onprogress });

                call.catch(() => {});
                await witness.open(tag, 1);
                await witness.running(tag, 'sent', onprogress ? 1 : 0);
                await witness.running(tag, 'running', 1);
                controller.abort();
                await assert.rejects(call);

                const { aborted, finished } = await witness.running(tag,
                    'aborted', 1);

                assert.deepEqual([aborted, finished], [1, 0]);
                await client.end();
            });
    }
}


describe('clients with and without sessions at one endpoint',
         { concurrency: true }, () => {
    for (const client of eras) {
        describe(client.name, () => scenarios(client));
    }
});


describe('an endpoint with or without sessions', () => {
    test('endpoint with only 2026-07-28 or only older revisions: only clients that support one of these connect',
         async () => {
        const [v1, legacy, auto, pinned] = eras;
        const older = await Fixture.use({ location: {
            mcp_revisions: '2025-03-26 2025-06-18 2025-11-25' } });
        const modern = await Fixture.use({ location: {
            mcp_revisions: MODERN } });

        for (const [client, endpoint] of [[v1, older], [legacy, older],
            [auto, older], [auto, modern], [pinned, modern]])
        {
            // an endpoint of the older era answers a probe in its own way

            const c = await client.connect(endpoint, {},
                                           { unchecked: endpoint === older });

            assert.equal(c.modern, endpoint === modern);
            assert.equal(textOf(await c.call('echo', { text: 'a' })), 'a');
            await c.end();
        }

        await assert.rejects(pinned.connect(older, {}, { unchecked: true }));
        await assert.rejects(v1.connect(modern), /2026-07-28/);
        await assert.rejects(legacy.connect(modern), /2026-07-28/);
    });
});
