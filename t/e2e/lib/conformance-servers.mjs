// SPDX-License-Identifier: Apache-2.0

// Servers of the official SDKs with all items that the conformance suite uses
// (t/fixtures/conformance.mjs), and with the SDKs' guards against DNS rebinding.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { after } from 'node:test';
import { hostHeaderValidation, originValidation, toNodeHandler }
    from '@modelcontextprotocol/node';
import { McpServer, ProtocolError, ResourceTemplate, createMcpHandler,
         fromJsonSchema } from '@modelcontextprotocol/server';
import { InMemoryEventStore }
    from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport }
    from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as sdk1 from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { JsonRpcError, pause, prompts, read, said, text, tools, verify }
    from '../../fixtures/conformance.mjs';
import { root } from './servers.mjs';

const INFO = { name: 'conformance', version: '1.0.0' };
const CAPABILITIES = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
};

// the items of the catalog that the suite uses, without members for this server

const catalog = JSON.parse(fs.readFileSync(`${root}/t/fixtures/catalog.json`,
                                           'utf8'));
const lists = {
    tools: catalog.tools.filter(({ name }) => tools[name])
        .map(({ 'x-mcp-stream-after': after, ...tool }) => tool),
    prompts: catalog.prompts.filter(({ name }) => prompts[name]),
    resources: catalog.resources,
    resourceTemplates: catalog.resourceTemplates,
};
const completion = { values: ['test', 'testing'], total: 2, hasMore: false };

const progressOf = (token, notify) => (progress, total, message) =>
    (token === undefined ? undefined : notify({
        method: 'notifications/progress',
        params: { progressToken: token, progress, total, message } }));


// --- version 1 of the SDK ---

// The SDK's event store sends an empty event first, so that a client can resume.
// This tool closes its stream after that event, and its client has to resume. It
// takes longer than mcp_close_after in upstream-conformance.test.mjs.

const ownTools = {
    ...tools,

    async test_reconnection(call) {
        call.closeStream();
        await pause(3000, call.signal);

        return said(text('Reconnection test completed successfully.'));
    },
};

// Calls a tool or a prompt, with the client's responses to its questions, which
// are requests of the server.

async function conversation(server, item, params, extra) {
    const call = {
        args: params.arguments ?? {},
        token: extra._meta?.progressToken,
        input: {},
        signal: extra.signal,
        capabilities: server.getClientCapabilities() ?? {},
        closeStream: () => extra.closeSSEStream?.(),
        log: (level, data) => extra.sendNotification({
            method: 'notifications/message', params: { level, data } }),
    };

    call.progress = progressOf(call.token, extra.sendNotification);

    for (;;) {
        const { resultType, inputRequests, requestState, ...result } =
            await item(call);

        if (resultType !== 'input_required') {
            return result;
        }

        call.input = {};
        call.state = requestState;

        for (const [key, request] of Object.entries(inputRequests)) {
            call.input[key] = await extra.sendRequest(request, z.looseObject({}),
                                                      { timeout: 1000 });
        }
    }
}

function older() {
    const server = new Server(INFO, { capabilities: CAPABILITIES });
    const handlers = {
        ListTools: () => ({ tools: lists.tools }),
        ListPrompts: () => ({ prompts: lists.prompts }),
        ListResources: () => ({ resources: lists.resources }),
        ListResourceTemplates: () =>
            ({ resourceTemplates: lists.resourceTemplates }),
        ReadResource: ({ params }) => read(params.uri),
        Subscribe: () => ({}),
        Unsubscribe: () => ({}),
        Complete: () => ({ completion }),
        GetPrompt: ({ params }, extra) =>
            conversation(server, prompts[params.name], params, extra),

        CallTool({ params }, extra) {
            const tool = ownTools[params.name];

            if (!tool) {
                throw new JsonRpcError(-32602, `Unknown tool: ${params.name}`);
            }

            return conversation(server, tool, params, extra);
        },
    };

    for (const [name, handler] of Object.entries(handlers)) {
        server.setRequestHandler(sdk1[`${name}RequestSchema`], handler);
    }

    return server;
}

const guarded = (req) => ({
    enableDnsRebindingProtection: true,
    allowedHosts: [`127.0.0.1:${req.socket.localPort}`],
    allowedOrigins: [`http://127.0.0.1:${req.socket.localPort}`],
});

async function stateless(req, res) {
    if (req.method !== 'POST') {
        res.writeHead(405).end();
        return;
    }

    const server = older();
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined, ...guarded(req) });

    res.on('close', () => { transport.close(); server.close(); });
    await server.connect(transport);
    await transport.handleRequest(req, res);
}

const transports = new Map();

async function sessions(req, res) {
    const id = req.headers['mcp-session-id'];
    let transport = transports.get(id);

    if (id && !transport) {
        res.writeHead(404, { 'Content-Type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0',
            error: { code: -32001, message: 'Session not found' } }));
        return;
    }

    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            eventStore: new InMemoryEventStore(),
            retryInterval: 500,
            onsessioninitialized: (given) => {
                transports.set(given, transport);
            },
            onsessionclosed: (given) => { transports.delete(given); },
            ...guarded(req) });
        await older().connect(transport);
    }

    await transport.handleRequest(req, res);
}


// --- version 2 of the SDK ---

const callOf = (args, { mcpReq }, handler) => ({
    args: args ?? {},
    token: mcpReq._meta?.progressToken,
    input: mcpReq.inputResponses ?? {},
    state: mcpReq.requestState(),
    signal: mcpReq.signal,
    capabilities:
        mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {},
    logLevel: mcpReq.envelope?.['io.modelcontextprotocol/logLevel'],
    log: (level, data) => mcpReq.notify({ method: 'notifications/message',
                                          params: { level, data } }),
    progress: progressOf(mcpReq._meta?.progressToken, mcpReq.notify),
    changed: (kind) => handler.notify[`${kind}Changed`](),
});

// The state of one tool is signed; a wrong signature is an error of the request.

function checked(state) {
    if (state.startsWith('protected.')) {
        try {
            verify(state);
        } catch (error) {
            throw new ProtocolError(error.code, error.message);
        }
    }
}

function modern() {
    const handler = createMcpHandler(() => {
        const server = new McpServer(INFO, {
            capabilities: CAPABILITIES, requestState: { verify: checked } });

        for (const { name, inputSchema, ...tool } of lists.tools) {
            server.registerTool(name, {
                ...tool, inputSchema: fromJsonSchema(inputSchema),
            }, (args, context) => tools[name](callOf(args, context, handler)));
        }

        for (const { name, arguments: given, ...prompt } of lists.prompts) {
            const schema = given && z.object(Object.fromEntries(
                given.map((argument) => [argument.name, z.string()])));

            server.registerPrompt(name, { ...prompt, argsSchema: schema },
                (...values) => prompts[name](callOf(given && values[0],
                                                    values.at(-1), handler)));
        }

        for (const { name, uri, ...resource } of lists.resources) {
            server.registerResource(name, uri, resource,
                                    async () => read(uri));
        }

        for (const { name, uriTemplate, ...resource }
            of lists.resourceTemplates) {
            server.registerResource(name,
                new ResourceTemplate(uriTemplate, { list: undefined }),
                resource, async (uri) => read(uri.href));
        }

        server.server.setRequestHandler('completion/complete',
                                        () => ({ completion }));

        for (const method of ['subscribe', 'unsubscribe']) {
            server.server.setRequestHandler(`resources/${method}`, () => ({}));
        }

        return server;
    });
    const serve = toNodeHandler(handler);
    const guards = [hostHeaderValidation(['127.0.0.1']),
                    originValidation(['127.0.0.1'])];

    return (req, res) => {
        if (guards.every((passes) => passes(req, res))) {
            serve(req, res);
        }
    };
}


async function listen(handler) {
    const server = http.createServer(handler).listen(0, '127.0.0.1');

    await once(server, 'listening');
    after(() => {
        server.close();
        server.closeAllConnections();
    });

    return server.address().port;
}

// Each function starts a server, and returns its port.

export const conformanceServers = {
    sessions: () => listen(sessions),
    stateless: () => listen(stateless),
    modern: () => listen(modern()),
};
