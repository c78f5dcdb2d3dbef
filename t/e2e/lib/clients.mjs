// SPDX-License-Identifier: Apache-2.0

// Both official TypeScript clients behind one face.

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 }
    from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 }
    from '@modelcontextprotocol/client';

const INFO = { name: 'e2e', version: '1' };

const V1_REQUESTS = {
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'elicitation/create': types.ElicitRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
};

const V1_NOTIFICATIONS = {
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/tools/list_changed':
        types.ToolListChangedNotificationSchema,
    'notifications/resources/updated':
        types.ResourceUpdatedNotificationSchema,
};


/*
 * connect({url}, {requests, notifications}) -> client, whose
 *
 *   call(name, args, options)   calls a tool
 *   gets                        the Last-Event-ID of every GET so far
 *   onGet                       is called after each of them
 */

async function connect(Client, Transport, set, { url },
                       { requests = {}, notifications = {} } = {}) {
    const capabilities = {};

    if (requests['sampling/createMessage']) {
        capabilities.sampling = {};
    }
    if (requests['elicitation/create']) {
        capabilities.elicitation = {};
    }
    if (requests['roots/list']) {
        capabilities.roots = {};
    }

    const client = new Client(INFO, { capabilities });

    client.gets = [];
    client.onGet = () => {};
    client.errors = [];
    client.onerror = (error) => client.errors.push(error);
    set(client, requests, notifications);

    client.transport1 = new Transport(new URL(url), {
        fetch(input, init) {
            if ((init?.method ?? 'GET') === 'GET') {
                client.gets.push(
                    new Headers(init.headers).get('last-event-id'));
                client.onGet();
            }

            return fetch(input, init);
        },
        reconnectionOptions: { initialReconnectionDelay: 100,
                               maxReconnectionDelay: 1000,
                               reconnectionDelayGrowFactor: 1.5,
                               maxRetries: 5 },
    });
    await client.connect(client.transport1);
    client.end = async () => {
        await client.transport1.terminateSession();
        await client.close();
    };

    return client;
}


export const clients = [
    {
        name: 'sdk v1',
        async connect(server, handlers) {
            const client = await connect(ClientV1, TransportV1,
                (c, requests, notifications) => {
                    for (const [method, f] of Object.entries(requests)) {
                        c.setRequestHandler(V1_REQUESTS[method],
                                            (r) => f(r.params));
                    }

                    for (const [method, f] of Object.entries(notifications)) {
                        c.setNotificationHandler(V1_NOTIFICATIONS[method],
                                                 (n) => f(n.params));
                    }
                }, server, handlers);

            client.call = (name, args, options) =>
                client.callTool({ name, arguments: args }, undefined, options);

            return client;
        },
    }, {
        name: 'client v2',
        async connect(server, handlers) {
            const client = await connect(ClientV2, TransportV2,
                (c, requests, notifications) => {
                    for (const [method, f] of Object.entries(requests)) {
                        c.setRequestHandler(method, (r) => f(r.params));
                    }

                    for (const [method, f] of Object.entries(notifications)) {
                        c.setNotificationHandler(method, (n) => f(n.params));
                    }
                }, server, handlers);

            client.call = (name, args, options) =>
                client.callTool({ name, arguments: args }, options);

            return client;
        },
    },
];
