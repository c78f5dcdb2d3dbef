// SPDX-License-Identifier: Apache-2.0

// A page of another origin, in Chromium, uses servers of the official TypeScript
// SDK through mcp_upstream. The endpoint has a public name, and the servers
// refuse every Host and Origin but localhost.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http from 'node:http';
import { after, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { Fixture } from './lib/fixture.mjs';
import { pageOf } from './lib/page.mjs';
import { gate, sdkServers } from './lib/sdk-servers.mjs';
import { request } from './lib/wire.mjs';

const app = http.createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end(app.page);
});

app.listen(0, '127.0.0.1');
await once(app, 'listening');
after(() => {
    app.close();
    app.closeAllConnections();
});

const ORIGIN = `http://app.example.com:${app.address().port}`;
const browser = await Browser.use(['--no-proxy-server',
    '--host-resolver-rules=MAP *.example.com 127.0.0.1']);


for (const [name, { upstream, start }] of Object.entries(sdkServers)) {
    test(`${name}, page in Chromium: lists tools, calls a tool, resumes the stream of its call`,
         { timeout: 60000 }, async () => {
        const port = await start();
        const server = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_backend: 'sdk', mcp_stream_after: '0',
                        mcp_close_after: 'off', mcp_allow_origin: ORIGIN },
            backends: { sdk: { http: port, upstream } },
        });

        // the server refuses the headers of the page

        for (const headers of [{ Host: 'mcp.example.com' },
                               { Origin: ORIGIN }]) {
            const { status } = await request(port, { method: 'POST', body: '{}',
                headers: { Accept: 'application/json, text/event-stream',
                           'Content-Type': 'application/json', ...headers } });

            assert.equal(status, 403, JSON.stringify(headers));
        }

        app.page = pageOf(`http://mcp.example.com:${server.port}/mcp`,
                          { count: { n: 3, name }, cut: 1, modern: true });
        await browser.open(`${ORIGIN}/`);
        await browser.until(`location.origin === '${ORIGIN}'
            && (window.dropped || window.result)`);
        gate(name).open();

        const result = JSON.parse(await browser.until('window.result'));

        assert.equal(result.error, undefined, result.error);
        assert.ok(result.tools.includes('add'));
        assert.deepEqual(result.progress, [1, 2, 3]);
        assert.equal(result.resumed, true);
        assert.equal(result.text, 'counted to 3');
        assert.equal(result.sum, '3');

        // the preflights were answered by the web server

        assert.match(await fs.readFile(`${server.prefix}/access.log`, 'utf8'),
                     /^204 OPTIONS /m);
    });
}
