// SPDX-License-Identifier: Apache-2.0

// Values from clients in the heads of backend requests: one line each, with any
// bytes.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';

// A strict backend: reads each head line by line and records everything that an
// HTTP/1.1 client would not send.

const heads = [];
const wrong = [];
let connections = 0;

const backend = net.createServer((socket) => {
    let rest = Buffer.alloc(0);
    let at = 0;

    connections++;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
        rest = Buffer.concat([rest, bytes]);

        for (;;) {
            const end = rest.indexOf('\r\n\r\n');

            if (end === -1) {
                return;
            }

            const head = rest.toString('latin1', 0, end);
            const [first, ...lines] = head.split('\r\n');
            const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]
                                  ?? NaN);

            if (Number.isNaN(length) || !/^POST \S+ HTTP\/1\.1$/.test(first)
                || !/^x-gateway-key: secret$/im.test(head)
                || lines.some((l) => !/^[\w-]+: ?[\x20-\x7e\x80-\xff]*$/
                    .test(l)))
            {
                wrong.push(head);
                socket.destroy();
                return;
            }

            if (rest.length < end + 4 + length) {
                return;
            }

            heads.push(Object.fromEntries(lines.map((l) => {
                const [, name, value] = /^([^:]+): ?(.*)$/.exec(l);

                return [name.toLowerCase(), value];
            })));
            rest = rest.subarray(end + 4 + length);

            const body = JSON.stringify({ content: [
                { type: 'text', text: `call ${++at}` }] });

            socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json'
                + `\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        }
    });
});

await new Promise((resolve) => { backend.listen(0, '127.0.0.1', resolve); });
after(() => backend.close());

const { port } = backend.address();

// the project's own parameters, followed by a line that must arrive

const server = await Fixture.use({
    workers: 1,
    location: {
        mcp_stream_after: '60s',
        mcp_backend: 'raw',
        mcp_route: [],
        nginx: `mcp_route echo @tools;
                mcp_principal $remote_user;
                client_max_body_size 4m;`,
        apache: `MCPRoute echo /mcp-backend/tools
                 MCPMaxBody 4m
                 MCPPrincipal "%{unbase64:%{HTTP:X-User}}"`,
    },
    http: {
        nginx: `upstream raw { server 127.0.0.1:${port}; keepalive 4; }`,
        apache: `<Proxy "http://127.0.0.1:${port}/">
                     ProxySet enablereuse=on
                 </Proxy>`,
    },
    server: {
        nginx: `location @raw {
                    include ${root}/examples/mcp_proxy_params;
                    proxy_set_header X-Gateway-Key secret;
                    proxy_pass http://raw;
                }`,
        apache: `<Location "/mcp-backend/raw">
                     Include ${root}/examples/mcp_proxy.conf
                     RequestHeader set X-Gateway-Key secret
                     ProxyPass "http://127.0.0.1:${port}/"
                 </Location>`,
    },
});
const session = await server.session();

function message(id, token, name = 'env') {
    return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":`
        + `{"name":"${name}","arguments":{},`
        + `"_meta":{"progressToken":${token}}}}`;
}

async function answer(text, of = session) {
    const got = await of.post(text);

    assert.equal(got.status, 200);

    return JSON.parse(await got.text());
}

function refused(error, id) {
    assert.equal(error.id, id);
    assert.equal(error.error.code, -32602);
    assert.match(error.error.message, /"progressToken"/);
}

const BAD = ['[\r\n\r\n1]', '[1,\n2]', '{\r\n"a":1}', '[\r\n"X-Evil: 1"]',
             'true', '1.5', '1e3', '[]', `"${'x'.repeat(255)}"`,
             `"${'x'.repeat(1 << 20)}"`];


test('progress token that is neither a string nor an integer, or too long: -32602', async () => {
    const before = heads.length;

    for (const [i, token] of BAD.entries()) {
        refused(await answer(message(i, token)), i);
        refused(await answer(message(i, token, 'echo')), i);
        assert.equal((await answer(message('"after"', '7'))).id, 'after');
    }

    assert.deepEqual(wrong, []);
    assert.equal(heads.length - before, BAD.length);
});


test('batch, one request with an invalid progress token: only this request gets -32602',
     async () => {
    const of = await server.session({ version: '2025-03-26' });

    for (const token of BAD) {
        const [first, second] = await answer(
            `[${message(1, token)},${message(2, '"good"')}]`, of);

        refused(first, 1);
        assert.equal(second.id, 2);
        assert.match(textOf(second.result), /^call/);
        assert.equal(heads.at(-1)['mcp-progress-token'], '"good"');
    }

    assert.deepEqual(wrong, []);
});


test('progress tokens and ids: reach the backend byte for byte', async () => {
    for (const token of ['""', '7', '-7', '"a b"', '"\\r\\nX: 1"',
                         `"${'x'.repeat(254)}"`])
    {
        assert.match(textOf((await answer(message('"\\r\\n"', token))).result),
                     /^call/);

        const head = heads.at(-1);

        assert.equal(head['mcp-progress-token'], token);
        assert.equal(head['mcp-request-id'], '"\\r\\n"');
        assert.equal(head['mcp-method'], 'tools/call');
        assert.ok(head['mcp-call']);
        assert.equal(head['x-gateway-key'], 'secret');
    }

    assert.deepEqual(wrong, []);
    assert.ok(connections < heads.length, 'connections are kept');
});


test('principal with control characters: 403', async () => {
    const as = (name) => ({
        'Authorization': `Basic ${Buffer.from(`${name}:x`)
            .toString('base64')}`,
        'X-User': Buffer.from(name).toString('base64'),
    });
    const bob = await server.session({ headers: as('bob') });
    const before = heads.length;

    await answer(message(1, '1'), bob);
    assert.equal(heads.at(-1)['mcp-principal'], 'bob');

    for (const name of ['bob\r\nMcp-Principal', 'bob\r\n\r\n', 'bob\x7f',
                        'bob\n', '\tbob'])
    {
        const got = await bob.post(message(1, '1'), { headers: as(name) });

        assert.equal(got.status, 403);
        assert.match(await got.text(), /Forbidden/);
    }

    assert.equal(heads.length, before + 1);
    assert.deepEqual(wrong, []);
});
