// SPDX-License-Identifier: Apache-2.0

// Responses that pass nginx body filters which keep their input: the filter of
// t/fixtures/keeping_filter.c in each of its modes, and subs_filter.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import http2 from 'node:http2';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { rest } from './lib/held-calls.mjs';
import { Fixture, freePort, root } from './lib/fixture.mjs';
import { Session, assertCounted, counted, textOf } from './lib/session.mjs';
import { request, request2 } from './lib/wire.mjs';

const SUBS = '/usr/lib/nginx/modules/ngx_http_subs_filter_module.so';
const module = process.env.MCP_MODULE
               ?? `${root}/build/nginx/ngx_http_mcp_module.so`;

// Builds the filter in the source tree of the module, with the same options.

async function build(dir) {
    const file = `${dir}/keeping_filter.so`;
    const builddir = path.dirname(module);
    const stamp = await fs.readFile(`${builddir}/.stamp`, 'utf8');
    const [, src] = /(?:^| )(\/\S+) (?:auto|\.)\/configure /.exec(stamp);
    const makefile = `include ${builddir}/Makefile\n`
        + `${file}:\n\t$(CC) $(CFLAGS) -fPIC -shared $(ALL_INCS) `
        + `-Wl,--version-script=${root}/ngx_mcp_module/ngx_http_mcp.map `
        + `-o $@ ${root}/t/fixtures/keeping_filter.c\n`;

    execFileSync('make', ['-s', '-C', src, '-f', '-', file],
                 { input: makefile });

    return file;
}

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-filters-'));

after(() => fs.rm(dir, { recursive: true, force: true }));

// Debian's module needs Debian's nginx.

const skip = !process.env.SUITE_PREFIX
             && await fs.access(SUBS).then(() => false, () => true);
const subs = !skip && !process.env.SUITE_PREFIX;

// swallows: the filter also keeps a buffer that only requests a flush. The
// comments of mcp_keepalive push out the bytes that "next" keeps.

const filters = {
    next: { lines: 'keeping_filter next; mcp_keepalive 30ms;',
            swallows: true },
    copy: { lines: 'keeping_filter copy;' },
    event: { lines: 'keeping_filter event;' },
    ...(subs && {
        subs: { swallows: true, lines: `
            subs_filter_types text/event-stream application/json;
            subs_filter "counted to" "reached";` },
    }),
};

const second = await freePort();
const endpoint = (name, lines) => `
    location = /${name} {
        mcp               mcp;
        mcp_catalog       ${root}/t/fixtures/catalog.json;
        mcp_backend       @tools;
        mcp_stream_after  50ms;
        mcp_close_after   off;
        mcp_max_events    65536;
        mcp_stream_buffer 16m;
        ${lines}
    }`;

const server = await Fixture.use({
    workers: 1,
    env: { FIXTURE_LOAD: `load_module ${await build(dir)};
                          ${subs ? `load_module ${SUBS};` : ''}` },
    server: `
        listen 127.0.0.1:${second} http2;
        ${Object.entries(filters).map(([name, { lines }]) =>
            endpoint(name, lines)).join('')}
        ${endpoint('mute', 'keeping_filter mute; send_timeout 200ms;')}`,
});

const client = http2.connect(`http://127.0.0.1:${second}`);

client.on('error', () => {});
after(() => client.destroy());

const fronts = {
    'HTTP/1.1': (options) => request(server.port, options),
    'HTTP/2': (options) => request2(client, options),
};

let gates = 0;


for (const [name, { swallows }] of Object.entries(filters)) {
    for (const [front, send] of Object.entries(fronts)) {
        describe(`${name}, ${front}`, () => behind(name, swallows, send));
    }
}


function behind(name, swallows, send) {
    const ready = Session.open(server, {
        send: (options) => send({ ...options, path: `/${name}` }) });
    const plain = server.session();
    const text = (n) => (name === 'subs' ? `reached ${n}`
                                         : `counted to ${n}`);

    test('body filter of nginx that delays data, JSON response: arrives whole', async () => {
        const session = await ready;

        assert.equal(textOf(await session.tool('echo', { text: 'x' })), 'x');
    });

    test('body filter of nginx that delays data, stream with pauses: each event arrives',
         async () => {
        const session = await ready;
        const gate = `filter ${process.pid} ${gates++}`;
        const n = 5;

        await (await plain).open(gate, 1);

        const answer = await session.call('count', { n, gate });
        const seen = [];

        for (let i = 1; i <= n; i++) {
            await (await plain).open(gate, i);
            seen.push(await answer.message());
        }

        await (await plain).open(gate);

        const { messages, response, ending } = await rest(answer, answer.id);

        assertCounted(counted([...seen, ...messages]), n);
        assert.equal(textOf(response.result), text(n));
        assert.equal(ending, 'end');
    });

    test('body filter of nginx that delays data, long stream, client that pauses: every byte arrives',
         async () => {
        const session = await ready;
        const n = 64;
        const size = 50000;
        const answer = await session.call('count', { n, size });
        const first = await answer.message();

        answer.pause();
        await (await plain).tool('echo', { text: 'x' });
        answer.resume();

        const { messages, response, ending } = await rest(answer, answer.id);
        const all = [first, ...messages];

        assertCounted(counted(all), n);
        all.forEach((m, i) => assert.equal(m.params.message,
                                           `${i} ${'x'.repeat(size)}`));
        assert.equal(textOf(response.result), text(n));
        assert.equal(ending, 'end');
    });

    test('body filter of nginx that delays data, listener without events: the client gets the response head',
         async () => {
        const session = await ready;
        const answer = await session.get();

        assert.equal(answer.status, 200);
        assert.equal(answer.sse, true);

        if (!swallows) {
            await answer.block();
        }

        answer.close();
    });
}


test('body filter of nginx that passes on no data: the connection is closed before 400 kB are held back, the log has an error',
     async () => {
    const session = await Session.open(server, {
        send: (options) => request(server.port, { ...options,
                                                  path: '/mute' }) });

    // not even the head of the response has arrived

    await assert.rejects(session.call('count', { n: 64, size: 50000 }),
                         /closed before the response head/);

    const log = await server.log();

    assert.match(log,
        /\[error\].* a body filter holds back an event stream \(\d+ bytes/);
    assert.ok(Number(/stream \((\d+) bytes/.exec(log)[1]) < 400000);
});
