// SPDX-License-Identifier: Apache-2.0

// Official clients of each era use servers of the official TypeScript SDK
// through mcp_upstream.

import { Fixture } from './lib/fixture.mjs';
import { gate, sdkServers } from './lib/sdk-servers.mjs';
import { clientCases, location } from './lib/upstream-cases.mjs';

const [[name, first]] = Object.entries(sdkServers);
const servers = [...Object.entries(sdkServers),
                 [`${name}, form auto`, { ...first, upstream: 'auto' }]];

for (const [title, { upstream, asks, start }] of servers) {
    const server = await Fixture.use({
        without: ['mcp_catalog', 'mcp_route'],
        location: { mcp_backend: 'sdk', ...location },
        backends: { sdk: { http: await start(), upstream } },
    });

    clientCases(title, server, { asks, open: (call) => gate(call).open() });
}
