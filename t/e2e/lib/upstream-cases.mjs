// SPDX-License-Identifier: Apache-2.0

// What official clients of each era do with an MCP server through mcp_upstream:
// lists, calls, prompts, resources, questions, and calls that are cut or outlive
// a reload. The server has the tools `add`, `count` and `ask`, a prompt and a
// resource.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clients, eras } from './clients.mjs';
import { textOf } from './session.mjs';
import { reload } from './upstream.mjs';
import { Way } from './way.mjs';

const asked = { 'elicitation/create': () => ({ action: 'accept',
                                               content: { value: 'yes' } }) };

// pairs of a name and a client

export const officialClients = [
    ...clients.map((client) => [`${client.name}, with sessions`, client]),
    ...eras.filter((client) => client.modern)
        .map((client) => [client.name, client]),
];
let n = 0;

// the directives that the cases need

export const location = { mcp_stream_after: '0', mcp_retry: '50ms',
                          mcp_close_after: 'off', mcp_resume_stateless: 'all' };


/*
 * Declares the cases of a server, which is the backend of a fixture:
 *
 *   open(name)               lets the call of `count` with this name continue
 *   begun(name)              resolves when the server executes this call
 *   asks(official)           whether the server can ask the user of a client
 *   reports                  whether `count` reports its progress (true)
 *   more(official, client)   declares further cases; client() returns the
 *                            connected client
 */

export function clientCases(title, server, {
    open, begun, asks, reports = true, more = () => {} })
{
    for (const [name, official] of officialClients) {
        describe(`${title}, ${name}`, () => {
            let client, way;

            before(async () => {
                way = await Way.open(server.port);
                client = await official.connect({ url: way.url },
                                                { requests: asked });
            });
            after(async () => {
                await client?.end?.();
                await way.close();
            });

            // starts a call of `count`; `reached` resolves when the client can
            // resume it, and has its first message

            function counting() {
                const call = { name: `gate ${process.pid} ${n++}`, seen: [] };
                const resumable = way.passes(/^id: \S/m, call.name);
                const reported = new Promise((resolve) => {
                    call.result = client.call('count',
                        { n: 3, name: call.name }, {
                            onprogress: ({ progress }) => {
                                call.seen.push(progress);
                                resolve();
                            },
                        });
                });

                call.reached = reports ? reported
                    : Promise.all([resumable, begun(call.name)])
                        .catch(async (error) => {
                            throw new Error(`${error.message}\n${
                                await server.log()}`);
                        });
                call.result.catch(() => {});

                return call;
            }

            async function comes(call) {
                await open(call.name);
                assert.equal(textOf(await call.result), 'counted to 3');
                assert.deepEqual(call.seen, reports ? [1, 2, 3] : []);
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
                test('tool with a question: the tool gets the client\'s answer',
                     async () => {
                    assert.equal(textOf(await client.call('ask', {})),
                                 'answered yes');
                });
            }

            more(official, () => client);
        });
    }
}
