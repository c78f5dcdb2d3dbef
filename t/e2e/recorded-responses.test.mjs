// SPDX-License-Identifier: Apache-2.0

// Clients that use no resumption method get the same bytes as before the module
// had resumption methods: recorded/*.json was made with the older code. One
// exception: a backend's resume tokens are sealed for the client, and the
// backend gets no other tokens.
//
// RECORD=1 makes the records anew. With the older code, for requests that are
// new here:
//
//     RECORD=1 MCP_SERVER=nginx MCP_MODULE=/older/ngx_http_mcp_module.so \
//         scripts/node --test t/e2e/recorded-responses.test.mjs
//     RECORD=1 MCP_SERVER=apache MCP_APACHE_MODULE=/older/mod_mcp.so \
//         scripts/node --test t/e2e/recorded-responses.test.mjs

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { SESSIONS, groups } from './lib/requests.mjs';
import { Normal, exchange } from './lib/transcript.mjs';

const RECORD = process.env.RECORD === '1';
const FILE = `${root}/t/e2e/recorded/${SERVER}.json`;

const recorded = RECORD ? {} : JSON.parse(await fs.readFile(FILE, 'utf8'));

const request = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method,
                                               params });
const call = (name, args = {}, more = {}) => request('tools/call', {
    name, arguments: args, ...more,
    _meta: { progressToken: 'token', ...more._meta } });

// The requests that begin a session are part of the transcript.

const hello = ({ version = '2025-11-25', capabilities = {} }) => request(
    'initialize', { protocolVersion: version, capabilities,
                    clientInfo: { name: 'e2e', version: '1' } }, 0);


// Requests of the resumption methods.

function resumptions() {
    const methods = ['requests/getStatus', 'requests/resume', 'stream/poll',
                     'stream/poll/all', 'stream/resume'];
    const params = [undefined, {}, { resumeToken: 'x' },
        { requestId: 1, resumeToken: 'x' }, { streamId: 'x', resumeToken: 'x' }];
    const users = ['a', 'able', 'old', 'middle', null];

    return [
        ...users.flatMap((as) => methods.flatMap((method) => params.flatMap(
            (p) => [{ name: `${method}, ${as}`, as, body: request(method, p) },
                    { name: `${method} without an id, ${as}`, as,
                      body: { jsonrpc: '2.0', method, params: p } }]))),
        ...methods.map((method) => ({ name: `a batch with ${method}`,
            as: 'old', body: [request(method, {}, 1),
                              request('ping', undefined, 2)] })),
        ...[{}, { top: true }, { n: 1 }].flatMap((args) => [
            { name: 'a page', as: 'a', body: call('pages', args) },
            { name: 'a page, token in _meta', as: 'a', body: call('pages',
                args, { _meta: { resumeToken: 'page 2' } }) },
            { name: 'a page, token in params', as: 'a', body: call('pages',
                args, { resumeToken: 'page 2' }) },
            { name: 'a page, other tokens', as: 'a', body: call('pages', args,
                { resumeToken: 'page 3', _meta: { resumeToken: 'page 2' } }) },
        ]),
        ...['POST', 'GET', 'DELETE', 'PUT'].flatMap((method) => ['',
            'mcp-stream=', 'mcp-stream=x', 'x=y&mcp-stream=x'].flatMap(
            (query) => ['a', null].map((as) => ({
                name: `${method} ?${query}, ${as}`, method,
                as: method === 'DELETE' ? null : as, path: `/mcp?${query}`,
                blocks: 1, body: method === 'POST' ? request('ping')
                                                   : undefined })))),
        { name: 'responses that nobody waits for', as: 'a',
          path: '/mcp?mcp-stream=x',
          body: [{ jsonrpc: '2.0', id: 'x', result: {} }] },
        { name: '_meta.streamId', as: 'a', body: call('count', { n: 2 },
            { _meta: { streamId: 'x' } }) },
        ...['a', 'old', 'middle'].map((as) => ({ name: `all tools, ${as}`, as,
            body: request('tools/list') })),
    ];
}


// Streams that the server closes, streams that begin before their first
// message, and slow calls.

function slow() {
    const last = (name) => (kept) => ({ 'Last-Event-ID':
        kept[name].ids.at(-1) });

    return ['a', 'able', 'middle', 'old'].flatMap((as) => [
        { name: `closed at will, ${as}`, as, keep: `sleep ${as}`,
          blocks: ['a', 'able'].includes(as) ? undefined : 2,
          body: call('sleep', { ms: 1500 }) },
        ...['a', 'able'].includes(as) ? [
            { name: `closed again, ${as}`, as, method: 'GET',
              headers: last(`sleep ${as}`) },
            { name: `and to its end, ${as}`, as, method: 'GET',
              keep: `end ${as}`, headers: last(`sleep ${as}`) },
            { name: `nothing more, ${as}`, as, method: 'GET',
              headers: last(`end ${as}`) },
            { name: `once more, ${as}`, as, method: 'GET',
              headers: last(`sleep ${as}`) }] : [],
        { name: `a stream at once, ${as}`, as, keep: `count ${as}`,
          body: call('count', { n: 3 }) },
        { name: `POST with its last id, ${as}`, as,
          headers: last(`count ${as}`), body: call('echo', { text: 'x' }) },
        { name: `a question, ${as}`, as, blocks: as === 'able' ? 2 : undefined,
          body: call('ask', { count: 2 }) },
        { name: `a listener, ${as}`, as, method: 'GET', blocks: 1 },
    ]);
}


class Peer {
    constructor(fixture) {
        this.fixture = fixture;
        this.normal = new Normal(fixture.port);
        this.kept = {};
        this.sessions = {};
    }

    async raw(entry) {
        const { method = 'POST', path = '/mcp', session } = entry;
        const { body } = entry;

        return exchange(this.fixture.port, {
            method, path, blocks: entry.blocks,
            body: body === undefined || typeof body === 'string'
                  || Buffer.isBuffer(body) ? body : JSON.stringify(body),
            headers: Object.fromEntries(Object.entries({
                Accept: method === 'GET' ? 'text/event-stream'
                    : 'application/json, text/event-stream',
                ...(body !== undefined && {
                    'Content-Type': 'application/json' }),
                ...(session && { 'Mcp-Session-Id': session.id,
                                 'Mcp-Protocol-Version': session.version }),
                ...entry.headers,
            }).filter(([, value]) => value !== null)),
        });
    }

    async begin(name) {
        const { version = '2025-11-25' } = SESSIONS[name];
        const answer = await this.raw({ body: hello(SESSIONS[name]) });
        const [, id] = /^mcp-session-id: (\S+)/im.exec(answer.head);
        const session = { id, version };
        const ack = await this.raw({ session, body: {
            jsonrpc: '2.0', method: 'notifications/initialized' } });

        this.sessions[name] = session;

        return [answer, ack].flatMap((a) => this.normal.answer(a, 'POST'));
    }

    // Returns the lines of the answer, after the lines of its session if that
    // is new.

    async send(entry) {
        const get = (value) => (typeof value === 'function' ? value(this.kept)
                                                             : value);
        const began = entry.as && !this.sessions[entry.as]
            ? await this.begin(entry.as) : [];
        const answer = await this.raw({ ...entry, path: get(entry.path),
            body: get(entry.body), headers: get(entry.headers),
            session: entry.as && this.sessions[entry.as] });

        if (entry.keep) {
            this.kept[entry.keep] = {
                ids: [...answer.body.matchAll(/^id: (.+)$/gm)]
                    .map(([, id]) => id),
                json: /^\{/.test(answer.body) && JSON.parse(answer.body),
            };
        }

        return [...began, ...this.normal.answer(answer, entry.method)];
    }
}

const common = { mcp_keepalive: 'off', mcp_page_size: '20',
                 mcp_allow_origin: 'https://allowed.example.com' };
const others = { server: { nginx: 'mcp_publish_token parity-token;',
                           apache: 'MCPPublishToken parity-token' } };

const peer = new Peer(await Fixture.use({ location: {
    ...common, mcp_stream_after: '30s', mcp_close_after: 'off' }, ...others }));
const slowly = new Peer(await Fixture.use({ location: {
    ...common, mcp_stream_after: '150ms', mcp_close_after: '600ms' },
...others }));

const all = [
    ...groups().map((group) => ({ ...group, peer })),
    { name: 'resumption methods', list: resumptions(), peer },
    { name: 'slow calls', list: slow(), peer: slowly },
];


for (const { name: group, list, peer: to } of all) {
    test(`${list.length} requests about ${group}: the responses are the recorded ones`,
         async () => {
        const wrong = [];

        recorded[group] ??= [];

        for (const [i, entry] of list.entries()) {
            const lines = await to.send(entry);

            if (RECORD) {
                recorded[group].push({ name: entry.name, lines });
                continue;
            }

            try {
                assert.deepEqual({ name: entry.name, lines },
                                 recorded[group][i]);
            } catch (error) {
                wrong.push(`${i}, ${entry.name}: ${error.message}`);
            }
        }

        assert.equal(list.length, recorded[group].length);
        assert.equal(wrong.length, 0,
                     `${wrong.length} differ\n${wrong.join('\n\n')}`);
    });
}

if (RECORD) {
    test('RECORD=1: the responses are written to t/e2e/recorded', () => fs.writeFile(FILE,
        `${JSON.stringify(recorded, null, 1)}\n`));
}
