#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Three tools in Node.js.  "node tools.mjs --catalog > catalog.json" writes the
// catalog, "node tools.mjs 9000" (or /run/tools.sock) serves the tools.
//
//     location @node {
//         include          mcp_proxy_params;
//         rewrite          ^ /? break;
//         proxy_buffering  off;
//         proxy_pass       http://127.0.0.1:9000;
//     }
//
//     <Location "/mcp-backend/node">
//         Include    mcp_proxy.conf
//         ProxyPass  "http://127.0.0.1:9000/"
//     </Location>

import { Mcp, ToolError, structured } from './mcp.mjs';

const string = { type: 'string' };
const integer = { type: 'integer' };
const mcp = new Mcp();

mcp.tool('greet', {
    description: 'Greets somebody',
    inputSchema: { type: 'object', properties: { name: string } },
    outputSchema: { type: 'object', properties: { greeting: string } },
}, ({ name = 'world' }) => {
    const greeting = `Hello, ${name}!`;

    return structured({ greeting }, greeting);
});

mcp.tool('count', {
    description: 'Counts to n and reports its progress',
    inputSchema: { type: 'object', properties: { n: integer } },
}, async ({ n = 3 }, call) => {
    if (!Number.isInteger(n) || n < 1 || n > 100) {
        throw new ToolError('n must be an integer from 1 to 100.');
    }

    for (let i = 1; i <= n; i++) {
        call.progress(i, n, `${i} of ${n}`);        // the work of one step
    }

    return `Counted to ${n}.`;
});

mcp.tool('book', {
    description: 'Books a table, and asks the user for the time',
    inputSchema: { type: 'object', properties: { people: integer } },
}, ({ people = 2 }, call) => {
    const answer = call.ask('when', `A table for ${people}: at what time?`, {
        type: 'object', properties: { time: string }, required: ['time'] });

    return answer ? `A table for ${people} at ${answer.time}.` : 'No table was booked.';
});

mcp.main();
