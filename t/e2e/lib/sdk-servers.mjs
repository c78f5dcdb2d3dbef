// SPDX-License-Identifier: Apache-2.0

// MCP servers of the official TypeScript SDK with the same items: a tool `add`,
// a tool `count` that reports progress until its gate opens, a prompt, a
// resource, and a tool that asks the user where the server can. Their guards
// against DNS rebinding are switched on.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { after } from 'node:test';
import { McpServer, acceptedContent, createMcpHandler, inputRequired }
    from '@modelcontextprotocol/server';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler }
    from '@modelcontextprotocol/node';
import { McpServer as McpServer1 }
    from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport }
    from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const INFO = { name: 'sdk', version: '1.2.3' };
const text = (t) => ({ content: [{ type: 'text', text: t }] });

// a gate by name: { wait, open }; a call of `count` waits for it before its
// second message

const gates = new Map();

export function gate(name) {
    if (!gates.has(name)) {
        const it = { aborted: false };

        it.wait = new Promise((resolve) => { it.open = resolve; });
        gates.set(name, it);
    }

    return gates.get(name);
}

async function count({ n, name }, progress, signal) {
    const aborted = new Promise((resolve) => {
        signal.addEventListener('abort', resolve, { once: true });
    });

    for (let i = 1; i <= n; i++) {
        await progress({ progress: i, total: n });

        if (i === 1) {
            await Promise.race([gate(name).wait, aborted]);
        }
    }

    gate(name).aborted = signal.aborted;

    return text(`counted to ${n}`);
}

// version 2 of the SDK: revision 2026-07-28

function modern() {
    const server = new McpServer(INFO, { instructions: 'of the SDK' });
    const answer = z.object({ value: z.string() });

    server.registerTool('add', {
        inputSchema: z.object({ a: z.number(), b: z.number() }),
    }, async ({ a, b }) => text(String(a + b)));

    server.registerTool('count', {
        inputSchema: z.object({ n: z.number(), name: z.string() }),
    }, (args, { mcpReq }) => count(args, (progress) => mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken: mcpReq._meta?.progressToken, ...progress },
    }), mcpReq.signal));

    server.registerTool('ask', { inputSchema: z.object({}) },
        async (args, { mcpReq }) => {
            const given = acceptedContent(mcpReq.inputResponses, 'q', answer);

            return given ? text(`answered ${given.value}`) : inputRequired({
                inputRequests: { q: inputRequired.elicit({
                    message: 'value?', requestedSchema: answer }) } });
        });

    server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) },
        ({ who }) => ({ messages: [{ role: 'user',
            content: { type: 'text', text: `hello ${who}` } }] }));

    server.registerResource('r', 'test://r', { mimeType: 'text/plain' },
        async (uri) => ({ contents: [{ uri: uri.href, text: 'resource' }] }));

    return server;
}

function guarded(handle) {
    const guards = [localhostHostValidation(), localhostOriginValidation()];

    return (req, res) => guards.every((guard) => guard(req, res))
        && handle(req, res);
}

// version 1 of the SDK

function older() {
    const server = new McpServer1(INFO, { instructions: 'of the SDK' });

    server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } },
        async ({ a, b }) => text(String(a + b)));

    server.registerTool('count', {
        inputSchema: { n: z.number(), name: z.string() },
    }, (args, extra) => count(args, (progress) => extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: extra._meta?.progressToken, ...progress },
    }), extra.signal));

    server.registerTool('ask', { inputSchema: {} }, async (args, extra) => {
        const { content } = await extra.sendRequest({
            method: 'elicitation/create',
            params: { message: 'value?', requestedSchema: { type: 'object',
                properties: { value: { type: 'string' } } } },
        }, ElicitResultSchema);

        return text(`answered ${content.value}`);
    });

    // asks without naming the call

    server.registerTool('askAside', { inputSchema: {} }, async () => {
        const { content } = await server.server.elicitInput({
            message: 'value?', requestedSchema: { type: 'object',
                properties: { value: { type: 'string' } } } });

        return text(`answered ${content.value}`);
    });

    server.registerPrompt('greet', { argsSchema: { who: z.string() } },
        ({ who }) => ({ messages: [{ role: 'user',
            content: { type: 'text', text: `hello ${who}` } }] }));

    server.registerResource('r', 'test://r', { mimeType: 'text/plain' },
        async (uri) => ({ contents: [{ uri: uri.href, text: 'resource' }] }));

    return server;
}

async function stateless(req, res) {
    if (req.method !== 'POST') {
        res.writeHead(405).end();
        return;
    }

    const server = older();
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${req.socket.localPort}`],
        allowedOrigins: ['http://localhost'] });

    res.on('close', () => { transport.close(); server.close(); });
    await server.connect(transport);
    await transport.handleRequest(req, res);
}

// A server that needs a session: the SDK's transport of a session is found by
// its id. `forget` drops all sessions, as a restart does.

const transports = new Map();

export function forget() {
    for (const transport of transports.values()) {
        transport.close();
    }

    transports.clear();
}

async function sessions(req, res) {
    const id = req.headers['mcp-session-id'];
    let transport = transports.get(id);

    if (id && !transport) {
        res.writeHead(404, { 'Content-Type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id: null,
            error: { code: -32001, message: 'Session not found' } }));
        return;
    }

    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (given) => {
                transports.set(given, transport);
            },
            onsessionclosed: (given) => { transports.delete(given); },
            enableDnsRebindingProtection: true,
            allowedHosts: [`127.0.0.1:${req.socket.localPort}`],
            allowedOrigins: ['http://localhost'] });
        await older().connect(transport);
    }

    await transport.handleRequest(req, res);
}

export const openSessions = () => transports.size;

async function listen(handler) {
    const server = http.createServer(handler).listen(0, '127.0.0.1');

    await once(server, 'listening');
    after(() => {
        server.close();
        server.closeAllConnections();
    });

    return server.address().port;
}

// the servers by name: { upstream: form, asks(client): whether it can ask the
// user of a client, start: returns its port }

export const sdkServers = {
    'TypeScript SDK 2.4.0': {
        upstream: 'modern', asks: () => true,
        start: () => listen(guarded(toNodeHandler(createMcpHandler(modern)))),
    },
    'TypeScript SDK 1.32.2 without sessions': {
        upstream: 'stateless', asks: () => false,
        start: () => listen(stateless),
    },
    'TypeScript SDK 1.32.2 with sessions': {
        upstream: 'session', asks: ({ modern }) => !modern,
        start: () => listen(sessions),
    },
};
