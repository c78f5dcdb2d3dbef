// SPDX-License-Identifier: Apache-2.0

// Responses that pass an output filter of httpd which keeps its input
// (t/fixtures/mod_keeping.c); nginx-filters.test.mjs is the same for nginx.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { file, load } from './lib/apache.mjs';
import { rest } from './lib/held-calls.mjs';
import { Fixture, root } from './lib/fixture.mjs';
import { assertCounted, counted, textOf } from './lib/session.mjs';

const apxs = (name) => execFileSync('apxs', ['-q', name], { encoding: 'utf8' })
    .trim();
const module = await file('mod_keeping.so', '', 0o755);

execFileSync('sh', ['-c', `gcc -O1 -fPIC -shared ${apxs('EXTRA_CPPFLAGS')} \
    -I${apxs('INCLUDEDIR')} -I${apxs('APR_INCLUDEDIR')} -o ${module} \
    ${root}/t/fixtures/mod_keeping.c`]);

// The comments of mcp_keepalive push out the bytes that the filter keeps.

const server = await Fixture.use({
    workers: 1,
    location: { mcp_keepalive: '30ms', mcp_close_after: 'off',
                apache: 'SetOutputFilter KEEPING' },
    http: { apache: `LoadModule keeping_module ${module}` },
});
const session = await server.session();


test('output filter that buffers its input, idle stream: each event arrives',
     async () => {
    const gate = `filter ${process.pid}`;
    const n = 5;

    await session.open(gate, 1);

    const answer = await session.call('count', { n, gate });
    const seen = [];

    for (let i = 1; i <= n; i++) {
        await session.open(gate, i);
        seen.push(await answer.message());
    }

    await session.open(gate);

    const { messages, response, ending } = await rest(answer, answer.id);

    assertCounted(counted([...seen, ...messages]), n);
    assert.equal(textOf(response.result), `counted to ${n}`);
    assert.equal(ending, 'end');
});


test('output filter that buffers its input, long stream: every byte arrives',
     async () => {
    const n = 64;
    const size = 50000;
    const answer = await session.call('count', { n, size });
    const first = await answer.message();

    answer.pause();
    await session.tool('echo', { text: 'x' });
    answer.resume();

    const { messages, response, ending } = await rest(answer, answer.id);
    const all = [first, ...messages];

    assertCounted(counted(all), n);
    all.forEach((m, i) => assert.equal(m.params.message,
                                       `${i} ${'x'.repeat(size)}`));
    assert.equal(textOf(response.result), `counted to ${n}`);
    assert.equal(ending, 'end');
});


test('output filter that buffers its input, listener without events: the client gets the response head',
     async () => {
    const answer = await session.get();

    assert.equal(answer.sse, true);
    answer.close();
});


// mod_session adds a filter to each response, which removes itself when the
// response begins: only then can the stream continue without a thread.

test('filter removes itself, client does not send the body of its GET: other streams continue when its stream ends',
     async () => {
    const of = await Fixture.use({
        workers: 1, location: { mcp_close_after: 'off' },
        http: { apache: load('session') }, server: 'Timeout 600' });
    const [waits, listens] = [await of.session(), await of.session()];
    const listener = await listens.get();
    const first = await waits.get(undefined, { headers: {
        'Content-Length': '1000000', Connection: 'keep-alive' } });
    const second = await waits.get();

    await first.ended;
    await listens.tool('publish', { message: { jsonrpc: '2.0',
        method: 'notifications/tools/list_changed' } });
    assert.equal((await listener.message()).method,
                 'notifications/tools/list_changed');
    listener.close();
    second.close();
});
