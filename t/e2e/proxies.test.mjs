// SPDX-License-Identifier: Apache-2.0

// An endpoint behind a proxy that is configured as in docs/operations.md.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { describe, test } from 'node:test';
import { Counting } from './lib/counting.mjs';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { request } from './lib/wire.mjs';

const manual = await fs.readFile(`${root}/docs/operations.md`, 'utf8');

// Returns the lines of the manual for a proxy, with the address of an endpoint.

function linesOf(kind, endpoint) {
    const [, lines] = new RegExp(
        `<!-- run: proxy-${kind} -->\n\`\`\`${kind}\n([^]*?)\`\`\``).exec(manual);

    return lines.replaceAll('127.0.0.1:8080', `127.0.0.1:${endpoint.port}`);
}

// Returns a server of the proxy that listens on another port.

const serverOn = (port, kind, lines) => (kind === 'nginx'
    ? `server { listen 127.0.0.1:${port}; ${lines} }`
    : `Listen 127.0.0.1:${port}
       <VirtualHost 127.0.0.1:${port}>
           ${lines}
       </VirtualHost>`);

for (const kind of ['nginx', 'apache']) {
    describe(`${kind} in front of the endpoint, as in the manual`, async () => {
        const port = await freePort();
        const url = `http://127.0.0.1:${port}`;
        const endpoint = await Fixture.use({ kind: SERVER, location: {
            mcp_stream_after: '0',
            mcp_auth_resource: `${url}/mcp`,
            mcp_auth_server: 'https://id.example.com' } });

        await Fixture.use({ kind,
            http: serverOn(port, kind, linesOf(kind, endpoint)) });

        test(`${kind} as a proxy in front, metadata document: the client gets it`,
             async () => {
            const answer = await request(port, { method: 'GET',
                path: '/.well-known/oauth-protected-resource/mcp' });

            assert.equal(answer.status, 200);
            assert.equal((await answer.json()).resource, `${url}/mcp`);
        });

        test(`${kind} as a proxy in front, stream: each event arrives when it is sent, Host is unchanged`,
             async () => {
            const session = await endpoint.session({
                headers: { Origin: url },
                send: (options) => request(port, options) });
            const counting = await Counting.start(session, 6, 2);

            await counting.read(2);
            await counting.open(4);
            await counting.read(2);
            await counting.open(6);
            await counting.finish();
        });

        test(`${kind} as a proxy in front, request from a foreign Origin: 403`, async () => {
            const answer = await request(port, { method: 'POST', path: '/mcp',
                headers: { Origin: 'http://other.example',
                           'Content-Type': 'application/json' },
                body: '{}' });

            assert.equal(answer.status, 403);
        });
    });
}
