// SPDX-License-Identifier: Apache-2.0

// Official and widely used clients in exact versions (package.json).
// official[name](url, capabilities) resolves to a client:
//
//   list()                     returns the names of the tools
//   call(name, args, { onprogress, signal, timeout })
//   question                   a tool that asks the client
//   ask()                      calls that tool and returns the text of its
//                              result
//   end()

import { createMCPClient, ElicitationRequestSchema as AiElicitation }
    from '@ai-sdk/mcp';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 }
    from '@modelcontextprotocol/client';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { root } from './servers.mjs';
import { textOf } from './session.mjs';

const INFO = { name: 'e2e', version: '1' };
const RECONNECT = { reconnectionOptions: {
    initialReconnectionDelay: 100, maxReconnectionDelay: 1000,
    reconnectionDelayGrowFactor: 1.5, maxRetries: 5 } };

const sampled = ({ messages }) => ({
    role: 'assistant', model: 'm',
    content: { type: 'text', text: `re: ${messages[0].content.text}` } });
const elicited = ({ message }) => ({ action: 'accept',
                                     content: { value: message } });

// a tool that asks the client, and its final text

const SAMPLING = { tool: 'test_sampling', args: { prompt: 'hi' },
                   text: 'LLM response: re: hi' };
const ELICITATION = { tool: 'ask', args: { rounds: 1 },
                      text: 'asked 1 times: Question 0.0' };


// Connects a Client of the SDK, version 1, over any transport.

async function sdk1(name, transport, elicitation) {
    const { Client } = await import(`${name}/client/index.js`);
    const types = await import(`${name}/types.js`);
    const client = new Client(INFO, { capabilities: {
        sampling: {}, ...(elicitation && { elicitation: {} }) } });

    client.setRequestHandler(types.CreateMessageRequestSchema,
                             ({ params }) => sampled(params));

    if (elicitation) {
        client.setRequestHandler(types.ElicitRequestSchema,
                                 ({ params }) => elicited(params));
    }

    client.onerror = () => {};
    await client.connect(transport);

    return {
        list: async () => (await client.listTools()).tools
            .map((tool) => tool.name),
        call: (tool, args, options) => client.callTool(
            { name: tool, arguments: args }, undefined, options),
        end: () => client.close(),
    };
}

function http1(name, elicitation) {
    return async (url) => {
        const { StreamableHTTPClientTransport } = await import(
            `${name}/client/streamableHttp.js`);
        const transport = new StreamableHTTPClientTransport(new URL(url),
                                                            RECONNECT);

        return sdk1(name, transport, elicitation);
    };
}

function http2(options) {
    return async (url, capabilities = {}) => {
        const client = new Client2(INFO, { ...options, capabilities: {
            sampling: {}, elicitation: {}, ...capabilities } });

        client.setRequestHandler('sampling/createMessage',
                                 ({ params }) => sampled(params));
        client.setRequestHandler('elicitation/create',
                                 ({ params }) => elicited(params));
        client.onerror = () => {};
        await client.connect(new Transport2(new URL(url), RECONNECT));

        return {
            list: async () => (await client.listTools()).tools
                .map((tool) => tool.name),
            call: (tool, args, more) => client.callTool(
                { name: tool, arguments: args }, more),
            end: () => client.close(),
        };
    };
}

// Starts the bridge mcp-remote as a process between a stdio client and the
// server.

async function remote(url) {
    const { StdioClientTransport } = await import(
        '@modelcontextprotocol/sdk/client/stdio.js');
    const home = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-remote-'));
    const transport = new StdioClientTransport({
        command: process.execPath,
        args: [path.join(root, 't/e2e/node_modules/mcp-remote/dist/proxy.js'),
               url, '--transport', 'http-only'],
        env: { ...process.env, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
        stderr: 'ignore',
    });
    const client = await sdk1('@modelcontextprotocol/sdk', transport, true);

    return {
        ...client,
        end: async () => {
            await client.end();
            await fs.rm(home, { recursive: true, force: true });
        },
    };
}

async function ai(url) {
    const client = await createMCPClient({
        transport: { type: 'http', url },
        capabilities: { elicitation: {} },
        onUncaughtError: () => {},
    });

    client.onElicitationRequest(AiElicitation,
                                ({ params }) => elicited(params));

    const tools = await client.tools();

    return {
        list: async () => Object.keys(tools),
        call: (tool, args, { signal, timeout } = {}) => {
            const controller = new AbortController();

            signal?.addEventListener('abort', () => controller.abort());

            if (timeout) {
                setTimeout(() => controller.abort(), timeout);
            }

            return tools[tool].execute(args, { toolCallId: '1', messages: [],
                abortSignal: controller.signal });
        },
        end: () => client.close(),
    };
}

// shows: whether the client reports progress; revision(way): the revision of
// its requests, which the proxy `way` has seen

const client = (connect, question, shows = true) => async (url, declares) => {
    const c = await connect(url, declares);

    return Object.assign(c, {
        question, shows,
        ask: async () => textOf(await c.call(question.tool, question.args)),
        revision: (way) => way.revision,
    });
};

// the capability that an application adds to those of its client

export const DECLARES = { experimental: { resumableRequests: {} } };

export const official = {
    'TypeScript SDK 1.12.3': client(http1('sdk-1.12', false), SAMPLING),
    'TypeScript SDK 1.20.2': client(http1('sdk-1.20', true), ELICITATION),
    'TypeScript SDK 1.32.2': client(
        http1('@modelcontextprotocol/sdk', true), ELICITATION),
    'TypeScript client 2.4.0': client(http2({}), ELICITATION),
    'TypeScript client 2.4.0, auto': client(
        http2({ versionNegotiation: { mode: 'auto' } }), ELICITATION),
    'mcp-remote 0.15.1': client(remote, ELICITATION),
    'ai-sdk 1.0.102': client(ai, ELICITATION, false),
};
