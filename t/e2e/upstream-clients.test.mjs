// SPDX-License-Identifier: Apache-2.0

// Official clients of each era use servers of the official SDK through
// mcp_upstream: lists, calls, prompts, resources, questions, and calls that are
// cut, cancelled and outlive a reload.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clients, eras } from './lib/clients.mjs';
import { Fixture } from './lib/fixture.mjs';
import { gate, sdkServers } from './lib/sdk-servers.mjs';
import { textOf } from './lib/session.mjs';
import { reload } from './lib/upstream.mjs';
import { Way } from './lib/way.mjs';

const asked = { 'elicitation/create': () => ({ action: 'accept',
                                               content: { value: 'yes' } }) };
const all = [...clients.map((client) => [`${client.name}, with sessions`,
                                         client]),
             ...eras.filter((client) => client.modern)
                 .map((client) => [client.name, client])];
let n = 0;


const [[name, first]] = Object.entries(sdkServers);
const servers = [...Object.entries(sdkServers),
                 [`${name}, form auto`, { ...first, upstream: 'auto' }]];

for (const [title, { upstream, asks, start }] of servers) {
    const port = await start();
    const server = await Fixture.use({
        without: ['mcp_catalog', 'mcp_route'],
        location: { mcp_backend: 'sdk', mcp_stream_after: '0',
                    mcp_retry: '50ms', mcp_close_after: 'off',
                    mcp_resume_stateless: 'all' },
        backends: { sdk: { http: port, upstream } },
    });

    for (const [name, official] of all) {
        const { connect } = official;

        describe(`${title}, ${name}`, () => {
            let client, way;

            before(async () => {
                way = await Way.open(server.port);
                client = await connect({ url: way.url }, { requests: asked });
            });
            after(async () => {
                await client.end?.();
                await way.close();
            });

            // starts a call of `count`; `reached` resolves at its first message

            function counting(options) {
                const call = { name: `gate ${n++}`, seen: [] };

                call.reached = new Promise((resolve) => {
                    call.result = client.call('count',
                        { n: 3, name: call.name }, {
                            onprogress: ({ progress }) => {
                                call.seen.push(progress);
                                resolve();
                            },
                            ...options,
                        });
                });
                call.result.catch(() => {});

                return call;
            }

            async function comes(call) {
                gate(call.name).open();
                assert.equal(textOf(await call.result), 'counted to 3');
                assert.deepEqual(call.seen, [1, 2, 3]);
            }

            test('lists, a tool, a prompt, a resource: the client gets them',
                 async () => {
                const { tools } = await client.listTools();

                assert.ok(tools.some((tool) => tool.name === 'add'));
                assert.equal(textOf(await client.call('add', { a: 1, b: 2 })),
                             '3');

                const { prompts } = await client.listPrompts();
                const { messages } = await client.getPrompt({
                    name: prompts[0].name, arguments: { who: 'you' } });

                assert.equal(messages[0].content.text, 'hello you');

                const { resources } = await client.listResources();
                const { contents } = await client.readResource({
                    uri: resources[0].uri });

                assert.equal(contents[0].text, 'resource');
            });

            test('call with progress: all messages arrive', async () => {
                const call = counting();

                await call.reached;
                await comes(call);
            });

            test('connection cut: the client gets all messages and the result',
                 async () => {
                const call = counting();

                await call.reached;
                way.cut('reset');
                await comes(call);
            });

            test('reload during a call: the client gets the result',
                 async () => {
                const call = counting();

                await call.reached;
                await reload(server);
                await comes(call);
            });

            test('arguments that the tool rejects: the client gets the reason',
                 async () => {
                const { isError, content } = await client.call('add', {})
                    .catch((error) => ({ isError: true,
                        content: [{ text: error.message }] }));

                assert.equal(isError, true);
                assert.match(content[0].text, /invalid/i);
            });

            if (asks(official)) {
                test('tool with a question: it gets the answer of the client',
                     async () => {
                    assert.equal(textOf(await client.call('ask', {})),
                                 'answered yes');
                });
            }
        });
    }
}
