// SPDX-License-Identifier: Apache-2.0

// An MCP session, made by hand. Each request uses a new connection, so that any
// worker may get it.

import assert from 'node:assert/strict';
import { request } from './wire.mjs';

const ACCEPT = 'application/json, text/event-stream';


export class Session {

    // headers: added to each request; send: replaces request() on the fixture's
    // port

    static async open(fixture, { version = '2025-11-25', capabilities = {},
                                 initialized = true, headers = {},
                                 send } = {}) {
        const session = new Session();

        session.port = fixture.port;
        session.extra = headers;
        session.send = send
                       ?? ((options) => request(fixture.port, options));
        session.version = version;
        session.next = 1;

        const answer = await session.post({
            jsonrpc: '2.0', id: 0, method: 'initialize',
            params: { protocolVersion: version, capabilities,
                      clientInfo: { name: 'e2e', version: '1' } },
        });

        assert.equal(answer.status, 200);
        session.id = answer.headers['mcp-session-id'];
        session.server = (await responseOf(answer, 0)).result;
        session.version = session.server.protocolVersion;

        if (initialized) {
            const ack = await session.post({
                jsonrpc: '2.0', method: 'notifications/initialized' });

            assert.equal(ack.status, 202);
        }

        return session;
    }

    headers(extra = {}) {
        return {
            Accept: ACCEPT,
            ...(this.id && { 'Mcp-Session-Id': this.id,
                             'Mcp-Protocol-Version': this.version }),
            ...this.extra,
            ...extra,
        };
    }

    post(message, { headers, cut, lose } = {}) {
        return this.send({
            headers: this.headers({ 'Content-Type': 'application/json',
                                    ...headers }),
            body: typeof message === 'string' ? message
                                              : JSON.stringify(message),
            cut,
            lose,
        });
    }

    async get(lastEventId, { headers, cut, lose } = {}) {
        const answer = await this.send({
            method: 'GET',
            headers: this.headers({
                Accept: 'text/event-stream',
                ...(lastEventId !== undefined && {
                    'Last-Event-ID': lastEventId }),
                ...headers,
            }),
            cut,
            lose,
        });

        answer.lastId ??= lastEventId;

        return answer;
    }

    delete() {
        return this.send({ method: 'DELETE', headers: this.headers() });
    }

    request(method, params, { id = this.next++, ...options } = {}) {
        return this.post({ jsonrpc: '2.0', id, method, params }, options)
            .then((answer) => Object.assign(answer, { id }));
    }

    notify(method, params) {
        return this.post({ jsonrpc: '2.0', method, params });
    }

    respond(id, result) {
        return this.post({ jsonrpc: '2.0', id, result });
    }

    // Starts a tool call with a progress token.

    call(name, args = {}, { token = `token-${this.next}`, ...options } = {}) {
        return this.request('tools/call', {
            name, arguments: args, _meta: { progressToken: token },
        }, options);
    }

    // Calls a tool and returns its result; the call must not fail.

    async tool(name, args) {
        const { response } = await this.follow(await this.call(name, args));

        assert.equal(response.error, undefined);

        return response.result;
    }

    async response(method, params) {
        return (await this.follow(await this.request(method, params))).response;
    }

    // Returns the counters of the calls with the tag `of`, once `field` has
    // reached `count`.

    async running(of, field, count) {
        return (await this.tool('running', { of, field, count }))
            .structuredContent;
    }

    open(gate, limit) {
        return this.tool('open', { gate, limit });
    }

    /*
     * Reads an answer up to its response, and resumes the stream whenever it
     * ends before that. Returns the messages before the response, the response,
     * all blocks and the number of resumptions.
     *
     * onMessage is awaited for each message before the response.
     */

    async follow(answer, { onMessage } = {}) {
        const seen = { messages: [], blocks: [], resumed: 0 };

        if (!answer.sse) {
            seen.response = await responseOf(answer, answer.id);
            return seen;
        }

        const { id } = answer;

        for (;;) {
            for (let block; (block = await answer.block());) {
                seen.blocks.push(block);
                seen.lastId = answer.lastId;

                if (!block.data) {
                    continue;
                }

                const message = JSON.parse(block.data);

                if (message.method === undefined && message.id === id) {
                    seen.response = message;
                    return seen;
                }

                seen.messages.push(message);
                await onMessage?.(message, answer);
            }

            assert.notEqual(answer.lastId, undefined,
                            'the stream can be resumed');
            answer = await this.resume(answer.lastId);
            assert.equal(answer.status, 200);
            seen.resumed++;
        }
    }

    // Sends a GET again if its worker has just been killed.

    async resume(lastEventId, options) {
        for (let tries = 0; ; tries++) {
            try {
                return await this.get(lastEventId, options);
            } catch (error) {
                if (tries === 20) {
                    throw error;
                }
            }
        }
    }
}


// Returns the response with that id, from a JSON body or from a stream that is
// read to its end.

export async function responseOf(answer, id) {
    if (!answer.sse) {
        return answer.json();
    }

    for (let message; (message = await answer.message());) {
        if (message.method === undefined && message.id === id) {
            return message;
        }
    }

    throw new Error('the stream ended without its response');
}


// Returns the numbers from the tool `count` in the order of their arrival.

export function counted(messages) {
    return messages.filter((m) => m.method === 'notifications/progress')
        .map((m) => parseInt(m.params.message, 10));
}

export function upTo(n) {
    return Array.from({ length: n }, (_, i) => i);
}

// Checks that each number below n came once and in order, and names the first
// one that did not.

export function assertCounted(numbers, n, hint = '') {
    const wrong = upTo(n).find((i) => numbers[i] !== i);

    assert.equal(wrong, undefined,
        `message ${wrong} is ${numbers[wrong]} ${hint}`);
    assert.equal(numbers.length, n);
}

export function textOf(result) {
    return result.content[0].text;
}
