#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Calls a slow tool, loses its connection in the middle, comes back, and says
// what happened on the wire.
//
//     node resume.mjs [OPTION]... [URL]
//
//     --method NAME   sse (default), link, requests, streams or tokens
//     --kill          the connection is a process of its own, and is killed
//     --after N       ... after so many messages (3)
//     --away SECONDS  before it comes back (2)
//     --tool NAME     that reports its progress (countdown)
//     --args JSON     its arguments ({"seconds":8})
//
// URL is that of the demonstration unless given: http://127.0.0.1:8080/mcp, or
// as PORT in the environment says.

import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport }
    from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { inProcesses, inThisProcess } from './connection.mjs';
import { resumptions } from './methods.mjs';

const say = (...words) => console.log(words.filter(Boolean).join(' '));

// tokens are long

const clip = (text, length) =>
    (text.length > length + 20 ? `${text.slice(0, length)}...` : text);

const short = (value) => JSON.stringify(value,
    (key, v) => (typeof v === 'string' ? clip(v, 24) : v));


class Example {
    constructor(url, resumption, { kill, after, away, tool, args }) {
        this.url = new URL(url);
        this.resumption = resumption;
        this.after = Number(after);
        this.pause = Number(away) * 1000;
        this.tool = { name: tool, arguments: JSON.parse(args) };
        this.connections = kill ? inProcesses() : inThisProcess();
        this.notifications = {};
        this.progress = [];
    }

    async run() {
        this.sdk = new Client({ name: 'resume', version: '1' },
            { capabilities: { experimental: this.resumption.capabilities } });
        this.transport = new StreamableHTTPClientTransport(this.url,
            { fetch: (url, init) => this.fetch(url, init) });
        await this.sdk.connect(this.transport);

        const { content } = await this.resumption.call(this);

        say(`\n  result: ${content[0].text}\n`);
        await this.transport.terminateSession();
        await this.sdk.close();

        return this.verdict();
    }

    // Every request of ours and of the SDK goes through here.

    async fetch(url, init = {}) {
        const { method = 'GET', body } = init;
        const headers = new Headers(init.headers);
        const last = headers.get('last-event-id');

        // the session's own stream, which the SDK asks for, is no part of this

        if (method === 'GET' && !last && String(url) === String(this.url)) {
            return new Response(null, { status: 405 });
        }

        const what = body ? JSON.parse(body) : {};
        const { pathname, search } = new URL(url);
        const token = what.params?.resumeToken
            ?? what.params?._meta?.resumeToken;

        say(`> ${method}`, what.method ?? clip(pathname + search, 32),
            token && `with ${clip(token, 24)}`,
            last && `Last-Event-ID: ${last}`);

        const response = await this.connections.fetch(String(url), init);
        const type = response.headers.get('content-type') ?? '';
        const link = response.headers.get('link');

        say(`< ${response.status}`, type, link && this.resumption === resumptions.link
            && `Link: ${clip(link, 52)}`);

        if (type.startsWith('application/json') && what.method !== 'initialize')
        {
            say(' ', short(await response.clone().json()));
        }

        return response;
    }

    // --- for the resumption methods ---

    params({ resumeToken } = {}) {
        return { ...this.tool, _meta: { progressToken: 'p',
            ...(resumeToken && { resumeToken }) } };
    }

    post(method, params, id, headers = {}) {
        return this.fetch(this.url, {
            method: 'POST',
            headers: {
                'Content-Type': 'application/json',
                'Accept': 'application/json, text/event-stream',
                'Mcp-Session-Id': this.transport.sessionId,
                'Mcp-Protocol-Version': this.transport.protocolVersion,
                ...headers,
            },
            body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        });
    }

    cursor() {
        return this.last ? { 'Last-Event-ID': this.last } : {};
    }

    said(method) {
        return this.notifications[method] ?? this.fail(`no ${method} came`);
    }

    away() {
        return pause(this.pause);
    }

    holdOn(whether) {
        this.holding = whether;
    }

    fail(why) {
        throw new Error(why);
    }

    /*
     * Reads an answer to its end, or until the connection is lost.  Returns
     * the response with that id, if it came.  The first messages, as many as
     * known, came before.
     */

    async read(answer, id, known = 0) {
        let response;

        this.messages = 0;

        if (!answer.headers.get('content-type')?.startsWith('text/event')) {
            response = await answer.json();

        } else {
            try {
                for await (const event of answer.body
                    .pipeThrough(new TextDecoderStream())
                    .pipeThrough(new EventSourceParserStream()))
                {
                    const message = event.data && JSON.parse(event.data);

                    this.last = event.id || this.last;

                    if (message?.method) {
                        if (++this.messages > known) {
                            this.take(message);
                        }
                    } else if (message?.id === id) {
                        response = message;
                        say(' ', short(message));
                    }
                }
            } catch (error) {
                if (!this.lost) {
                    throw error;
                }
            }
        }

        return response?.error ? this.fail(short(response)) : response;
    }

    // A message before the response.  One of them is the last one that the
    // connection brings.

    take({ method, params }) {
        if (method === 'notifications/progress') {
            this.progress.push(params);
            say(`  ${params.progress} of ${params.total}: ${params.message ?? ''}`);
        } else {
            this.notifications[method] = params;
            say(' ', method, short(params));
        }

        if (!this.lost && !this.holding && this.progress.length >= this.after) {
            this.lost = true;
            say(`x connection lost: ${this.connections.cut()}`);
        }
    }

    // Each number has to come once, and all of them in order.

    verdict() {
        const numbers = this.progress.map((p) => p.progress);
        const { total } = this.progress.at(-1) ?? {};
        const wrong = numbers.findIndex((n, i) => i && n !== numbers[i - 1] + 1);

        if (!this.lost) {
            say('the call was over before the connection was lost');
        } else if (wrong > 0) {
            say(`after ${numbers[wrong - 1]} came ${numbers[wrong]}`);
        } else if (numbers.at(-1) !== total) {
            say(`${numbers.at(-1)} of ${total} came`);
        } else {
            say('nothing lost, nothing twice');
            return 0;
        }

        return 1;
    }
}


const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        method: { type: 'string', default: 'sse' },
        kill: { type: 'boolean' },
        after: { type: 'string', default: '3' },
        away: { type: 'string', default: '2' },
        tool: { type: 'string', default: 'countdown' },
        args: { type: 'string', default: '{"seconds":8}' },
    },
});
const [url = `http://127.0.0.1:${process.env.PORT || 8080}/mcp`] = positionals;

if (!Object.hasOwn(resumptions, values.method)) {
    console.error(`--method is one of ${Object.keys(resumptions).join(', ')}`);
    process.exit(2);
}

try {
    process.exit(await new Example(url, resumptions[values.method], values).run());
} catch (error) {
    console.error(error.cause?.code === 'ECONNREFUSED'
        ? `nobody listens at ${url}: is it running (make run)?`
        : error.message);
    process.exit(1);
}
