// SPDX-License-Identifier: Apache-2.0

// Both servers must answer the same requests alike.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { SESSIONS, groups } from './lib/requests.mjs';
import { request } from './lib/wire.mjs';

const KINDS = ['nginx', 'apache'];

// Headers that are compared, besides all that begin with mcp- and
// access-control-.

const HEADERS = ['content-type', 'allow', 'cache-control', 'www-authenticate',
                 'link', 'retry-after', 'vary', 'x-accel-buffering',
                 'location', 'content-encoding'];

// Error pages that the server makes before or instead of the module may differ;
// only their status is compared.

const PAGE = /^text\/html/;


// Replaces each value that differs between runs by a name: the n-th of its
// kind.

class Names {
    constructor() {
        this.known = new Map();
    }

    of(kind, value) {
        const key = `${kind} ${value}`;

        if (!this.known.has(key)) {
            this.known.set(key, `<${kind} ${[...this.known.keys()].filter(
                (k) => k.startsWith(`${kind} `)).length + 1}>`);
        }

        return this.known.get(key);
    }
}

class Peer {
    static async start(kind) {
        const peer = new Peer();

        peer.fixture = await Fixture.use({ kind, location: {
            mcp_stream_after: '30s', mcp_close_after: 'off',
            mcp_keepalive: 'off', mcp_page_size: '20',
            mcp_allow_origin: 'https://allowed.example.com',
        }, server: {
            nginx: 'mcp_publish_token parity-token;',
            apache: 'MCPPublishToken parity-token',
        } });
        peer.names = new Names();
        peer.kept = {};
        peer.sessions = {};

        return peer;
    }

    async session(name) {
        this.sessions[name] ??= await this.fixture.session(SESSIONS[name]);

        return this.sessions[name];
    }

    async send(entry) {
        const get = (value) => (typeof value === 'function' ? value(this.kept)
                                                             : value);
        const { method = 'POST', path = '/mcp' } = entry;
        const session = entry.as && await this.session(entry.as);
        const body = get(entry.body);
        const headers = {
            Accept: method === 'GET' ? 'text/event-stream'
                                     : 'application/json, text/event-stream',
            ...(body !== undefined && { 'Content-Type': 'application/json' }),
            ...(session && { 'Mcp-Session-Id': session.id,
                             'Mcp-Protocol-Version': session.version }),
            ...get(entry.headers),
        };
        const answer = await request(this.fixture.port, {
            method, path: get(path),
            headers: Object.fromEntries(Object.entries(headers).filter(
                ([, value]) => value !== null)),
            body: typeof body === 'string' || Buffer.isBuffer(body) ? body
                : body === undefined ? '' : JSON.stringify(body),
        });
        const reads = entry.blocks ?? Infinity;
        const blocks = [];

        if (answer.sse) {
            for (let block; blocks.length < reads
                            && (block = await answer.block());)
            {
                blocks.push(block);
            }

            answer.close();
        }

        const text = answer.sse ? '' : await answer.text();

        if (entry.keep) {
            this.kept[entry.keep] = {
                headers: answer.headers, text,
                ids: blocks.map((b) => b.id).filter((id) => id),
                json: answer.type === 'application/json' && JSON.parse(text),
            };
        }

        return this.neutral(answer, text, blocks);
    }

    neutral(answer, text, blocks) {
        const headers = Object.fromEntries(Object.entries(answer.headers)
            .filter(([name]) => HEADERS.includes(name)
                                || /^(mcp|access-control)-/.test(name))
            .map(([name, value]) => [name, this.text(name, value)])
            .sort());

        if (PAGE.test(headers['content-type'])) {
            return { status: answer.status };
        }

        return {
            status: answer.status,
            headers,
            body: answer.type === 'application/json' && text
                ? this.json(JSON.parse(text)) : this.text('', text),
            ...(answer.sse && { blocks: blocks.map((b) => this.block(b)) }),
        };
    }

    block({ id, data, ...rest }) {
        const [, stream, seq] = /^(.*)\.(\d+)$/.exec(id ?? '') ?? [];

        return {
            ...rest,
            ...(id && { id: `${this.names.of('stream', stream)}.${seq}` }),
            ...(data && { data: this.json(JSON.parse(data)) }),
            ...(data === '' && { data }),
        };
    }

    json(value, key) {
        if (Array.isArray(value)) {
            return value.map((v) => this.json(v, key));
        }

        if (value === null || typeof value !== 'object') {
            return this.text(key, value);
        }

        // a request of the server has its own id

        const own = value.method !== undefined && value.id !== undefined;

        // an empty variable counts as absent

        return Object.fromEntries(Object.entries(value)
            .filter(([k, v]) => v !== '' || !k.startsWith('MCP_'))
            .map(([k, v]) => [k, own && k === 'id'
                ? this.names.of('question', v) : this.json(v, k)]));
    }

    text(key, value) {
        const name = key?.toLowerCase().replaceAll('-', '_');

        if (['worker', 'mcp_worker'].includes(name)) {
            return '<worker>';
        }

        if (['mcp_call', 'mcp_session', 'mcp_session_id'].includes(name)) {
            return this.names.of(name, value);
        }

        if (typeof value !== 'string') {
            return value;
        }

        // JSON in a string, as the tool env sends it

        if (/^\{"MCP_/.test(value)) {
            return this.json(JSON.parse(value));
        }

        return value.replaceAll(`:${this.fixture.port}`, ':PORT')
            .replace(/(?<=\/publish\/)[\w.-]{20,}/g,
                     (token) => this.names.of('door', token));
    }
}


const peers = await Promise.all(KINDS.map((kind) => Peer.start(kind)));

for (const { name: group, list } of groups()) {
    test(`${list.length} requests about ${group}: nginx and Apache send the same responses`,
         async () => {
        const wrong = [];

        for (const entry of list) {
            const answers = await Promise.all(peers.map((peer) =>
                peer.send(entry)));

            try {
                assert.deepEqual(answers[1], answers[0]);
            } catch (error) {
                wrong.push(`${entry.name}: ${error.message}`);
            }
        }

        assert.equal(wrong.length, 0,
                     `${wrong.length} differ\n${wrong.join('\n\n')}`);
    });
}
