// SPDX-License-Identifier: Apache-2.0

// An MCP server that records its requests, as a backend with mcp_upstream. A
// test gives the responses, `describe` for initialize and server/discover,
// `reply` for all others: functions of { body, headers, text, res }, which
// return a result, { error }, { status, type, text }, a list of messages that
// are sent as an event stream, or undefined if they respond themselves.

import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after } from 'node:test';
import { SERVER } from './fixture.mjs';

export async function recording() {
    const upstream = { requests: [], described: [],
                       reply: () => ({ content: [] }) };

    const server = http.createServer(async (req, res) => {
        const chunks = [];

        for await (const chunk of req) {
            chunks.push(chunk);
        }

        const text = String(Buffer.concat(chunks));
        const body = text ? JSON.parse(text) : { method: req.method };
        const call = { text, body, headers: req.headers, url: req.url, res };

        if (['initialize', 'server/discover'].includes(call.body.method)) {
            upstream.described.push(call);
            respond(call, await upstream.describe(call));
            return;
        }

        upstream.requests.push(call);
        respond(call, await upstream.reply(call));
    });

    server.listen(0, '127.0.0.1');
    await once(server, 'listening');

    after(() => {
        server.close();
        server.closeAllConnections();
    });

    upstream.port = server.address().port;
    upstream.cut = () => { server.closeAllConnections(); };
    upstream.last = () => upstream.requests.at(-1);

    return upstream;
}

// A server that needs sessions. `steps` are the methods of its requests, in
// order; `lost` gives the reply to a request whose session is unknown, `resume`
// the reply to GET, and `answer` the reply to all others. It asks the client by
// ask().

export async function withSessions() {
    const upstream = await recording();

    upstream.sessions = new Set();
    upstream.steps = [];
    upstream.lost = () => ({ status: 404, error: { code: -32001,
        message: 'Session not found' } });
    upstream.answer = () => ({ content: [] });
    upstream.resume = () => ({ status: 405, type: 'text/plain', text: '' });

    upstream.describe = ({ body, res }) => {
        const id = randomUUID();

        upstream.steps.push(body.method);

        if (body.method !== 'initialize') {
            return upstream.lost();
        }

        upstream.sessions.add(id);
        res.setHeader('Mcp-Session-Id', id);

        return { protocolVersion: '2025-06-18', capabilities: { tools: {} },
                 instructions: 'with sessions',
                 serverInfo: { name: 'sessions', version: '1' } };
    };

    // Sends a request on the stream of a call, and returns the response.

    upstream.ask = ({ res }, id, method, params) =>
        new Promise((resolve) => {
            upstream.asked.set(id, resolve);
            res.write(event({ jsonrpc: '2.0', id, method, params }));
        });
    upstream.asked = new Map();

    // Ends all requests and forgets all sessions.

    upstream.restart = () => {
        upstream.sessions.clear();
        upstream.cut();
    };
    upstream.confirm = () => ({ status: 202, type: 'text/plain', text: '' });

    upstream.reply = (call) => {
        const { body, headers } = call;
        const id = headers['mcp-session-id'];

        if (body.method === undefined && upstream.sessions.has(id)) {
            upstream.asked.get(body.id)?.(call);
            return upstream.confirm(call);
        }

        upstream.steps.push(body.method);

        if (!upstream.sessions.has(id)) {
            return upstream.lost(call);
        }

        if (body.method === 'GET') {
            return upstream.resume(call);
        }

        if (body.method === 'DELETE') {
            upstream.sessions.delete(id);
        }

        return body.id === undefined
            ? { status: body.method === 'DELETE' ? 200 : 202,
                type: 'text/plain', text: '' }
            : upstream.answer(call);
    };

    return upstream;
}

export const event = (message) =>
    `event: message\ndata: ${JSON.stringify(message)}\n\n`;

function respond({ body, res }, reply) {
    if (reply === undefined) {
        return;
    }

    if (Array.isArray(reply)) {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        res.end(reply.map(event).join(''));
        return;
    }

    if (reply.text !== undefined) {
        res.writeHead(reply.status ?? 200, { 'Content-Type': reply.type });
        res.end(reply.text);
        return;
    }

    res.writeHead(reply.status ?? 200, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: body.id,
        ...reply.error ? { error: reply.error } : { result: reply } }));
}

// The result that ends the call of a message.

export const done = (body, result = { content: [] }) =>
    ({ jsonrpc: '2.0', id: body.id, result });

// Reloads, and waits in nginx until old workers have closed their idle
// connections: a request on one of them fails.

export async function reload(server) {
    await server.reload();

    while (SERVER === 'nginx' && (await server.serving()).length) {
        await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
}
