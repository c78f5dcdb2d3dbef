// SPDX-License-Identifier: Apache-2.0

// An MCP server that records its requests, as a backend with mcp_upstream. A
// test gives the responses, `describe` for initialize and server/discover,
// `reply` for all others: functions of { body, headers, text, res }, which
// return a result, { error }, { status, type, text }, a list of messages that
// are sent as an event stream, or undefined if they respond themselves.

import http from 'node:http';
import { once } from 'node:events';
import { after } from 'node:test';

export async function recording() {
    const upstream = { requests: [], described: [],
                       reply: () => ({ content: [] }) };

    const server = http.createServer(async (req, res) => {
        const chunks = [];

        for await (const chunk of req) {
            chunks.push(chunk);
        }

        const text = String(Buffer.concat(chunks));
        const call = { text, body: JSON.parse(text), headers: req.headers,
                       url: req.url, res };

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
    upstream.last = () => upstream.requests.at(-1);

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
