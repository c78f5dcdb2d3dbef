// SPDX-License-Identifier: Apache-2.0

// A backend that answers with the function of a test and records the calls.
//
//     const backend = await scripted((call) => ({ content: [] }));
//     const server = await Fixture.use({
//         location: { mcp_catalog: await catalog({ tools: [...] }),
//                     mcp_backend: 'scripted' },
//         backends: { scripted: backend.address } });
//
// The function gets { message, text, params, signal, x }: the request as it
// arrived, the variables, and the exchange of fixtures/fastcgi.mjs. It returns
// an answer (text, or a value that is sent as JSON), or undefined if it writes
// the answer itself. On Apache the backend uses HTTP, so that calls can be ended
// while it is silent.

import { after } from 'node:test';
import { fastcgi, httpd } from '../../fixtures/fastcgi.mjs';
import { file } from './apache.mjs';
import { SERVER, freePort } from './fixture.mjs';

export async function scripted(reply) {
    const calls = [];
    const port = await freePort();

    const http = SERVER === 'apache'
        || process.env.FIXTURE_NODES?.includes('apache');
    const server = await (http ? httpd : fastcgi)(String(port), async (x) => {
        const text = String(x.body);
        const call = { message: JSON.parse(text), text, params: x.params,
                       signal: x.signal, x };

        calls.push(call);

        const answer = await reply(call);

        if (answer !== undefined) {
            x.head(200, 'application/json');
            x.write(typeof answer === 'string' ? answer
                                               : JSON.stringify(answer));
            x.end();
        }
    });

    after(() => {
        server.close();
        server.closeAllConnections?.();
    });

    return { calls, address: http ? { http: port } : { fastcgi: port } };
}

// Writes a catalog, given as an object or as text, to a file of its own.

let files = 0;

export function catalog(value) {
    return file(`catalog-${files++}.json`, typeof value === 'string' ? value
        : JSON.stringify(value));
}
