// SPDX-License-Identifier: Apache-2.0

// Official clients of each era use the reference server of the protocol, which
// needs sessions and has a tool for each feature, through mcp_upstream.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { clients, eras } from './lib/clients.mjs';
import { Fixture, root } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';
import { reload } from './lib/upstream.mjs';
import { Way } from './lib/way.mjs';

const everything = fork(`${root}/examples/gateway/node_modules/`
    + '@modelcontextprotocol/server-everything/dist/index.js',
    ['streamableHttp'], {
        execArgv: ['--import', `${root}/examples/gateway/loopback.mjs`],
        env: { ...process.env, PORT: '0' }, silent: true });

after(() => { everything.kill(); });
everything.stdout.resume();
everything.stderr.resume();

const [{ port }] = await once(everything, 'message');
const LONG = 'trigger-long-running-operation';
const answers = {
    'elicitation/create': () => ({ action: 'accept',
        content: { name: 'a user', check: true } }),
    'sampling/createMessage': () => ({ model: 'm', role: 'assistant',
        content: { type: 'text', text: 'a sample' } }),
};

for (const upstream of ['session', 'auto']) {
    const server = await Fixture.use({
        without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
        location: { mcp_backend: 'everything', mcp_stream_after: '0',
                    mcp_retry: '50ms', mcp_close_after: 'off',
                    mcp_resume_stateless: 'all' },
        backends: { everything: { http: port, upstream } },
    });

    for (const [name, { connect, modern }] of [
        ...clients.map((client) => [`${client.name}, with sessions`, client]),
        ...eras.filter((client) => client.modern)
            .map((client) => [client.name, client])]) {
        describe(`server-everything, ${upstream}, ${name}`, () => {
            let client, way;

            before(async () => {
                way = await Way.open(server.port);
                client = await connect({ url: way.url }, { requests: answers });
            });
            after(async () => {
                await client.end?.();
                await way.close();
            });

            test('official client lists and uses tools, prompts, resources of an MCP server: each has its result',
                 async () => {
                const { tools } = await client.listTools();

                assert.ok(tools.some((tool) => tool.name === 'get-sum'));
                assert.match(textOf(await client.call('get-sum',
                                                      { a: 1, b: 2 })), /3/);

                const { prompts } = await client.listPrompts();

                assert.ok(prompts.length > 1);

                const { messages } = await client.getPrompt({
                    name: 'simple-prompt' });

                assert.equal(messages[0].role, 'user');

                const { resources } = await client.listResources();
                const { contents } = await client.readResource({
                    uri: resources[0].uri });

                assert.ok(contents[0].text.length > 0);
            });

            for (const [how, disturb] of [
                ['connection cut', () => way.cut('reset')],
                ['reload', () => reload(server)],
            ]) {
                test(`${how} during a call: the client gets all messages and `
                     + 'the result', async () => {
                    const seen = [];
                    let first;
                    const begun = new Promise((resolve) => { first = resolve; });
                    const call = client.call(LONG, { duration: 1, steps: 5 }, {
                        onprogress: ({ progress }) => {
                            seen.push(progress);
                            first();
                        } });

                    await begun;
                    await disturb();
                    assert.match(textOf(await call), /completed/);
                    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
                });
            }

            // get-roots-list needs the stream of a GET request, which is not
            // opened

            const questions = [
                ['trigger-elicitation-request', {}, /a user/],
                ['trigger-sampling-request', { prompt: 'p' }, /a sample/],
            ];

            for (const [tool, args, pattern] of questions) {
                test(`question of the tool ${tool}: the MCP server gets the client's response`,
                     async () => {
                    const { content } = await client.call(tool, args);

                    assert.match(JSON.stringify(content), pattern);
                });
            }
        });
    }
}
