#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Tools in Node.js, over plain HTTP:
//
//     node tools.mjs 9000            (or /run/tools.sock)
//
// In nginx:
//
//     location @node {
//         include          mcp_proxy_params;
//         rewrite          ^ /? break;
//         proxy_buffering  off;
//         proxy_pass       http://127.0.0.1:9000;
//     }
//
// or, in Apache:
//
//     <Location "/mcp-backend/node">
//         Include    mcp_proxy.conf
//         ProxyPass  "http://127.0.0.1:9000/"
//     </Location>
//
// The body is the JSON-RPC request.  The answer is the result, or any number
// of notifications and then the result, each on a line of its own.

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { json } from 'node:stream/consumers';

const text = (text) => ({ content: [{ type: 'text', text }] });

const tools = {
    node_hello: ({ name = 'world' }) => text(`Hello, ${name}!`),

    async node_slow({ steps = 5 }, progress) {
        for (let step = 1; step <= steps; step++) {
            await pause(1000);
            progress(step, steps, `step ${step}`);
        }

        return text(`${steps} steps done`);
    },
};

const server = createServer(async (request, response) => {
    try {
        const { id, params } = await json(request);
        const token = params._meta?.progressToken;
        const send = (message) => response.write(`${JSON.stringify(message)}\n`);

        const progress = (done, total, message) => token !== undefined && send({
            jsonrpc: '2.0', method: 'notifications/progress',
            params: { progressToken: token, progress: done, total, message } });

        response.setHeader('Content-Type', 'application/x-ndjson');

        if (Object.hasOwn(tools, params.name ?? '')) {
            send(await tools[params.name](params.arguments ?? {}, progress));
        } else {
            send({ jsonrpc: '2.0', id,
                   error: { code: -32602, message: 'Unknown tool' } });
        }

        response.end();
    } catch (error) {
        console.error(error);
        response.destroy();
    }
});

// the web server keeps connections, and closes them when it likes

server.keepAliveTimeout = 0;

const [address] = process.argv.slice(2);

if (!address) {
    console.error('usage: tools.mjs PORT|SOCKET');
    process.exit(2);
}

server.listen(...(address.includes('/') ? [address]
                                        : [Number(address), '127.0.0.1']));

for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
        server.close(() => process.exit(0));
        server.closeIdleConnections();
    });
}
