// SPDX-License-Identifier: Apache-2.0

// The Mcp-* headers of a request of 2026-07-28, which repeat values of its body:
// recorded cases, equal for both servers and both versions of HTTP. The
// variables and notes that have the values of these headers before the body
// arrives.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { META, MODERN } from './lib/modern.mjs';
import { request2 } from './lib/wire.mjs';

/*
 * A case: `lines` of the head, one byte for each character; method and params
 * of the body, or its arguments as text; the expected status, error code and a
 * part of the error message. `http1`: impossible with HTTP/2.
 */

const cases = JSON.parse(fs.readFileSync(
    `${root}/t/e2e/recorded/headers.json`, 'utf8'));

const MPM = process.env.FIXTURE_MPM ?? 'event';
const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const second = await freePort();

const server = await Fixture.use({
    location: {
        mcp_stream_after: '60s',
        nginx: `add_header X-Sent
                    $mcp_header_method|$mcp_header_name|$mcp_param_region always;
                if ($mcp_param_region = blocked) { return 403; }`,
        apache: `Header always set X-Sent "expr=%{note:mcp-header-method}|\
%{note:mcp-header-name}|%{note:mcp-param-region}"
                 Require expr "%{note:mcp-param-region} != 'blocked'"`,
    },
    http: {
        apache: `LoadModule http2_module ${modules}/mod_http2.so
                 Protocols h2c http/1.1`,
    },
    server: { nginx: `listen 127.0.0.1:${second} http2;` },
});

const client = http2.connect(`http://127.0.0.1:${
    SERVER === 'nginx' ? second : server.port}`);

client.on('error', () => {});
after(() => client.destroy());

const COMMON = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
};

function bodyOf({ method, params, bodyArguments }) {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: {
        ...params,
        ...(bodyArguments && { arguments: '?' }),
        _meta: { [META.version]: MODERN, [META.capabilities]: {} } } });

    return text.replace('"?"', () => bodyArguments);
}

// Returns the answer's status, X-Sent and text. length: the Content-Length,
// also of a body that does not come.

function send1({ lines }, body, length = Buffer.byteLength(body)) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(server.port, '127.0.0.1');
        const head = ['POST /mcp HTTP/1.1', `Host: 127.0.0.1:${server.port}`,
                      'Connection: close',
                      `Content-Length: ${length}`,
                      ...Object.entries(COMMON).map((h) => h.join(': ')),
                      ...lines, '', ''].join('\r\n');
        let text = '';

        socket.setEncoding('utf8');
        socket.on('data', (data) => { text += data; });
        socket.on('error', reject);
        socket.on('end', () => resolve({
            status: Number(text.split(' ')[1]),
            sent: /^x-sent: (.*?)\r$/im.exec(text)?.[1],
            text: text.slice(text.indexOf('\r\n\r\n') + 4) }));
        socket.write(Buffer.from(head, 'latin1'));
        socket.write(body);
    });
}

async function send2({ lines }, body) {
    const headers = { ...COMMON };

    for (const line of lines) {
        const [, name, value] = /^([^:]+): ?(.*)$/s.exec(line);

        (headers[name.toLowerCase()] ??= []).push(value);
    }

    const answer = await request2(client, { headers, body });
    const text = await answer.text();

    return { status: answer.status, sent: answer.headers['x-sent'], text };
}

// Returns the JSON object of a plain or chunked body.

function jsonOf(text) {
    const json = /\{.*\}/s.exec(text);

    assert.ok(json, `no JSON object: ${JSON.stringify(text)}`);

    return JSON.parse(json[0]);
}

async function check(send, entry) {
    const { status, text } = await send(entry, bodyOf(entry));

    assert.equal(status, entry.status, text);

    const { id, error } = jsonOf(text);

    assert.equal(id, 7);
    assert.equal(error?.code, entry.code, text);

    if (entry.detail) {
        assert.ok(error.message.includes(entry.detail), error.message);
    }
}

// "condition: status, error code"

const titleOf = ({ name, status, code }) =>
    `${name}: ${status}${code ? `, ${code}` : ''}`;

describe('HTTP/1.1', { concurrency: 8 }, () => {
    for (const entry of cases) {
        test(titleOf(entry), () => check(send1, entry));
    }
});

const skip2 = SERVER === 'apache' && MPM === 'prefork'
              && 'mod_http2 does not run in prefork';

describe('HTTP/2', { concurrency: 8, skip: skip2 }, () => {
    for (const entry of cases.filter((c) => !c.http1)) {
        test(titleOf(entry), () => check(send2, entry));
    }
});


// --- variables before the body

const VERSION = 'MCP-Protocol-Version: 2026-07-28';
const TOOL = 'test_x_mcp_header';

const sent = [
    ['plain Mcp-* headers: the variables have the values of the headers', [VERSION, 'Mcp-Method: tools/call', `Mcp-Name: ${TOOL}`,
             'Mcp-Param-Region: eu'], `tools/call|${TOOL}|eu`],
    ['Mcp-* headers in Base64: the variables have the decoded values', [VERSION, 'Mcp-Method: tools/call',
                 `Mcp-Name: =?base64?${Buffer.from(TOOL).toString('base64')}?=`,
                 'Mcp-Param-Region: =?base64?ZXU=?='], `tools/call|${TOOL}|eu`],
    ['Mcp-* headers with the version 2025-11-25: the variables are empty', ['MCP-Protocol-Version: 2025-11-25',
                              'Mcp-Method: tools/call', `Mcp-Name: ${TOOL}`,
                              'Mcp-Param-Region: eu'], '||'],
    ['Mcp-* headers without a version header: the variables are empty', ['Mcp-Method: tools/call', `Mcp-Name: ${TOOL}`,
                        'Mcp-Param-Region: eu'], '||'],
    ['Mcp-* headers with malformed Base64 or UTF-8: the variables are empty', [VERSION, 'Mcp-Method: tools/call',
                   'Mcp-Name: =?base64?ZXU?=',
                   'Mcp-Param-Region: =?base64?/w==?='], 'tools/call||'],
    ['Mcp-* header with control characters in Base64: the variable is "?"', [VERSION, 'Mcp-Method: tools/call',
                            'Mcp-Param-Region: =?base64?YQ0KWDogYg==?='],
     'tools/call||?'],
    ['Mcp-Name header twice: the variable is empty in nginx, has both values in Apache', [VERSION, 'Mcp-Method: tools/call', 'Mcp-Name: a',
                   'Mcp-Name: b', 'Mcp-Param-Region: eu'],
     { nginx: 'tools/call||eu', apache: 'tools/call|a, b|eu' }[SERVER]],
];

const body = bodyOf({ method: 'tools/call',
                      params: { name: TOOL, arguments: { region: 'eu' } } });

for (const [name, lines, expected] of sent) {
    test(`${name}`, async () => {
        assert.equal((await send1({ lines }, body)).sent, expected);
    });
}

test('Mcp-* headers over HTTP/2: the variables have the values of the headers',
     { skip: skip2 }, async () => {
    const [, lines, expected] = sent[0];

    assert.equal((await send2({ lines }, body)).sent, expected);
});

test('header that an access rule forbids: 403 before the body is read',
     async () => {
    const lines = [VERSION, 'Mcp-Method: tools/call', `Mcp-Name: ${TOOL}`,
                   'Mcp-Param-Region: blocked'];

    // Apache waits for the body unless the client expects 100 Continue

    assert.equal((await send1({ lines: [...lines, 'Expect: 100-continue'] },
                              '', 1000)).status, 403);
    assert.equal((await send1({ lines }, body)).status, 403);

    // a header that differs from the body cannot evade the rule

    lines[3] = 'Mcp-Param-Region: us';
    assert.equal((await send1({ lines }, bodyOf({
        method: 'tools/call',
        params: { name: TOOL, arguments: { region: 'blocked' } } }))).status,
                 400);
});

test('Mcp-Param-Dry_Run for the header Mcp-Param-Dry-Run: Apache answers 400, nginx drops it',
     async () => {
    const lines = [VERSION, 'Mcp-Method: tools/call', `Mcp-Name: ${TOOL}`,
                   'Mcp-Param-Region: eu', 'Mcp-Param-Dry_Run: true'];
    const { status, text } = await send1({ lines }, body);

    assert.equal(status, { nginx: 200, apache: 400 }[SERVER], text);
    assert.equal(jsonOf(text).error?.code,
                 { nginx: undefined, apache: -32020 }[SERVER], text);
});
