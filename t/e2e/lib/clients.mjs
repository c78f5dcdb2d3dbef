// SPDX-License-Identifier: Apache-2.0

// Both official TypeScript clients with the same interface. clients: both of
// them with sessions; eras: each of them in each mode of negotiating a revision.

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 }
    from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 }
    from '@modelcontextprotocol/client';
import { META, MODERN } from './modern.mjs';
import { watchedFetch } from './schema.mjs';

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
 * connect({url}, {requests, notifications}) returns a client:
 *
 *   call(name, args, options)   calls a tool; options.meta: its _meta
 *   gets                        the Last-Event-ID of each GET so far
 *   onGet                       called after each GET
 *
 * `options` are further options of the Client, `send` replaces fetch().
 */

async function connect(Client, Transport, set, { url },
                       { requests = {}, notifications = {} } = {},
                       { options = {}, send = fetch } = {}) {
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

    const client = new Client(INFO, { capabilities, ...options });

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

            return send(input, init);
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


const v1 = {
    name: 'sdk v1',
    async connect(server, handlers, more) {
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
            }, server, handlers, more);

        client.call = (name, args, { meta, ...options } = {}) =>
            client.callTool({ name, arguments: args,
                              ...(meta && { _meta: meta }) },
                            undefined, options);

        return client;
    },
};

const v2 = {
    name: 'client v2',
    async connect(server, handlers, more) {
        const client = await connect(ClientV2, TransportV2,
            (c, requests, notifications) => {
                for (const [method, f] of Object.entries(requests)) {
                    c.setRequestHandler(method, (r) => f(r.params));
                }

                for (const [method, f] of Object.entries(notifications)) {
                    c.setNotificationHandler(method, (n) => f(n.params));
                }
            }, server, handlers, more);

        client.call = (name, args, { meta, ...options } = {}) =>
            client.callTool({ name, arguments: args,
                              ...(meta && { _meta: meta }) }, options);

        return client;
    },
};

export const clients = [v1, v2];


/*
 * Returns { name, modern, connect }. modern: the client uses the stateless era
 * if the server offers it. All messages are checked against the schema unless
 * the connection is `unchecked`.
 *
 *   logged(level)   resolves to the _meta of requests that receive log messages
 *                   from that level on
 */

function era(client, name, mode) {
    return {
        name,
        modern: mode === 'auto' || typeof mode === 'object',

        async connect(server, handlers, { unchecked = false } = {}) {
            const c = await client.connect(server, handlers, {
                options: mode ? { versionNegotiation: { mode } } : {},
                send: unchecked ? fetch : watchedFetch() });

            c.modern = c.getNegotiatedProtocolVersion?.() === MODERN;
            c.logged = async (level) => {
                if (c.modern) {
                    return { [META.level]: level };
                }

                await c.setLoggingLevel(level);

                return undefined;
            };

            return c;
        },
    };
}

export const eras = [
    era(v1, 'sdk v1'),
    era(v2, 'client v2, legacy', 'legacy'),
    era(v2, 'client v2, auto', 'auto'),
    era(v2, 'client v2, pinned', { pin: MODERN }),
];
