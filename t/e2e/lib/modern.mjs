// SPDX-License-Identifier: Apache-2.0

// Requests of the stateless era, made by hand. Each request uses a new
// connection, so that any worker may get it.
//
//     const modern = new Modern(fixture, { capabilities: { sampling: {} } });
//     const { result } = await modern.response('tools/list');
//     const result = await modern.tool('echo', { text: 'a' });
//
//     const answer = await modern.request('tools/call', { name: 'count' },
//         { meta: { progressToken: 1 }, headers: { 'Mcp-Name': null } });
//     const { messages, response } = await modern.follow(answer);
//
// The headers and the _meta that a request needs are added. Values from the
// test replace them; null (undefined in _meta) removes one. post() takes any
// body: an object or text. All messages from the server are checked against the
// schema (schema.mjs).

import assert from 'node:assert/strict';
import { MODERN, watched } from './schema.mjs';
import { responseOf } from './session.mjs';
import { request } from './wire.mjs';

export { MODERN };

const ACCEPT = 'application/json, text/event-stream';
const PREFIX = 'io.modelcontextprotocol/';

export const META = {
    version: `${PREFIX}protocolVersion`,
    info: `${PREFIX}clientInfo`,
    capabilities: `${PREFIX}clientCapabilities`,
    level: `${PREFIX}logLevel`,
    server: `${PREFIX}serverInfo`,
    subscription: `${PREFIX}subscriptionId`,
};

// the parameter that Mcp-Name repeats, by method

const NAMES = {
    'tools/call': 'name',
    'prompts/get': 'name',
    'resources/read': 'uri',
    'tasks/get': 'taskId',
    'tasks/update': 'taskId',
    'tasks/cancel': 'taskId',
};

const visible = /^(?! )(?!.* $)(?!=\?base64\?.*\?=$)[\x20-\x7e]+$/;

export function encoded(value) {
    return visible.test(value) ? value
        : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}


export class Modern {

    // headers, meta: added to each request; send: replaces request() on the
    // fixture's port; unchecked: the answers are not checked against the
    // schema; ids: events may have ids, which the stateless era does not have
    // otherwise

    constructor(fixture, { capabilities = {}, version = MODERN, headers = {},
                           meta = {}, send, unchecked = false, ids = false } = {}) {
        const plain = send ?? ((options) => request(fixture.port, options));

        this.port = fixture?.port;
        this.send = unchecked ? plain : watched(plain, MODERN);
        this.version = version;
        this.extra = headers;
        this.meta = { [META.version]: version,
                      [META.info]: { name: 'e2e', version: '1' },
                      [META.capabilities]: capabilities,
                      ...meta };
        this.ids = ids;
        this.next = 1;
    }

    message(method, params, { id = this.next++, meta } = {}) {
        return { jsonrpc: '2.0', id, method,
                 params: { ...params,
                           _meta: { ...this.meta, ...params?._meta,
                                    ...meta } } };
    }

    // Returns the headers of a message, without those that are null.

    headers(message, extra = {}) {
        const name = message?.params?.[NAMES[message.method]];

        return Object.fromEntries(Object.entries({
            'Content-Type': 'application/json',
            Accept: ACCEPT,
            'MCP-Protocol-Version': this.version,
            'Mcp-Method': message?.method ?? null,
            'Mcp-Name': typeof name === 'string' ? encoded(name) : null,
            ...this.extra,
            ...extra,
        }).filter(([, value]) => value !== null));
    }

    post(message, { headers, ...options } = {}) {
        return this.send({
            headers: this.headers(message, headers),
            body: typeof message === 'string' ? message
                                              : JSON.stringify(message),
            ...options,
        });
    }

    async request(method, params, { id, meta, ...options } = {}) {
        const message = this.message(method, params, { id, meta });

        return Object.assign(await this.post(message, options),
                             { id: message.id });
    }

    // Returns { status, messages, response }; `messages` come before the
    // response.

    async follow(answer) {
        const messages = [];
        const { status, id } = answer;

        if (!answer.sse) {
            return { status, messages, response: await responseOf(answer, id) };
        }

        for (let block; (block = await answer.block());) {
            const message = block.data ? JSON.parse(block.data) : {};

            if (!this.ids) {
                assert.equal(block.id, undefined, 'no event ids in this era');
            }

            if (message.id === id && message.method === undefined) {
                return { status, messages, response: message };
            }

            if (block.data) {
                messages.push(message);
            }
        }

        throw new Error('the stream ended without its response');
    }

    async response(method, params, options) {
        const answer = await this.request(method, params, options);

        return (await this.follow(answer)).response;
    }

    // Returns the error of a request and its status.

    async refused(method, params, options) {
        const { status, response } = await this.follow(
            await this.request(method, params, options));

        assert.notEqual(response.error, undefined, JSON.stringify(response));

        return { status, ...response.error };
    }

    call(name, args = {}, options) {
        return this.request('tools/call', { name, arguments: args }, options);
    }

    // Calls a tool and returns its result; the call must neither fail nor ask
    // for input.

    async tool(name, args, options) {
        const { response } = await this.follow(
            await this.call(name, args, options));

        assert.equal(response.error, undefined, JSON.stringify(response));

        return response.result;
    }

    async running(of, field, count) {
        return (await this.tool('running', { of, field, count }))
            .structuredContent;
    }

    open(gate, limit) {
        return this.tool('open', { gate, limit });
    }
}
