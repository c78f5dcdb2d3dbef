// SPDX-License-Identifier: Apache-2.0

// Headers that repeat what the body of a request says: recorded cases, byte by
// byte, the same for both servers and both versions of HTTP; and what operators
// know by them before the body is there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { META, MODERN } from './lib/modern.mjs';
import { request2 } from './lib/wire.mjs';

/*
 * A case: `lines` of the head as they are sent, a byte for each character;
 * method and params of the body, or its arguments as text; then the status, and
 * the error's code and a part of its message.  `http1`: HTTP/2 cannot say it.
 */

const cases = JSON.parse(fs.readFileSync(
    `${root}/t/e2e/recorded/headers.json`, 'utf8'));

const MPM = process.env.FIXTURE_MPM ?? 'event';
const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const second = await freePort();

const server = await Fixture.use({
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

// the answer as status and text

function send1({ lines }, body) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(server.port, '127.0.0.1');
        const head = ['POST /mcp HTTP/1.1', `Host: 127.0.0.1:${server.port}`,
                      'Connection: close',
                      `Content-Length: ${Buffer.byteLength(body)}`,
                      ...Object.entries(COMMON).map((h) => h.join(': ')),
                      ...lines, '', ''].join('\r\n');
        let text = '';

        socket.setEncoding('utf8');
        socket.on('data', (data) => { text += data; });
        socket.on('error', reject);
        socket.on('end', () => resolve({
            status: Number(text.split(' ')[1]),
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

    return { status: answer.status, text };
}

// one object, in a chunk or not

const jsonOf = (text) => JSON.parse(/\{.*\}/s.exec(text)[0]);

async function check(send, entry) {
    const { status, text } = await send(entry, bodyOf(entry));
    const { id, error } = jsonOf(text);

    assert.equal(status, entry.status, text);
    assert.equal(id, 7);
    assert.equal(error?.code, entry.code, text);

    if (entry.detail) {
        assert.ok(error.message.includes(entry.detail), error.message);
    }
}

describe('HTTP/1.1', { concurrency: 8 }, () => {
    for (const entry of cases) {
        test(entry.name, () => check(send1, entry));
    }
});

const skip2 = SERVER === 'apache' && MPM === 'prefork'
              && 'mod_http2 does not run in prefork';

describe('HTTP/2', { concurrency: 8, skip: skip2 }, () => {
    for (const entry of cases.filter((c) => !c.http1)) {
        test(entry.name, () => check(send2, entry));
    }
});
