// SPDX-License-Identifier: Apache-2.0

// The programs in examples/.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { at, rest, urlOf } from './lib/held-calls.mjs';
import { Modern } from './lib/modern.mjs';
import { Session, textOf } from './lib/session.mjs';
import { phpFpm, phpFpmPool } from './lib/php-fpm.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-examples-'));

// Apache's children run as another user

await fs.chmod(dir, 0o755);


// Starts a program and waits for its socket. Returns the process and a promise
// of its exit status and error output.

async function run(command, args, socket) {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const exited = once(child, 'close').then(([status]) => status);
    const watcher = fs.watch(dir);
    let output = '';
    let over = false;

    child.stderr.on('data', (data) => output += data);
    exited.then(() => { over = true; });
    after(async () => {
        child.kill('SIGTERM');
        await exited;
    });

    for (;;) {
        try {
            await fs.chmod(socket, 0o777);
            await watcher.return();
            return { child, ended: exited.then((status) => (
                { status, output })) };
        } catch {
            assert.equal(over, false, output);
            await Promise.race([exited, watcher.next()]);
        }
    }
}

after(() => fs.rm(dir, { recursive: true, force: true }));


describe('demo', async () => {
    const socket = `${dir}/demo.sock`;

    await run(path.join(root, 'examples/demo/backend'), [socket], socket);

    const use = (options) => Fixture.use({
        location: { mcp_catalog: `${root}/examples/demo/catalog.json`,
                    mcp_backend: 'demo', ...options },
        backends: { demo: { fastcgi: socket, keep: 8 } },
    });
    const capabilities = { elicitation: {} };
    const open = async (options) => (await use(options)).session({
        capabilities });
    const server = await use();
    const session = await server.session({ capabilities });

    test('tool dice of the demo: a result with the requested rolls',
         async () => {
        const { rolls, sum } = (await session.tool('dice',
            { count: 5, sides: 4 })).structuredContent;

        assert.equal(rolls.length, 5);
        assert.equal(sum, rolls.reduce((a, b) => a + b));
    });

    test('tool countdown of the demo: progress, then the result', async () => {
        const { messages, response } = await session.follow(
            await session.call('countdown', { seconds: 1 }));

        assert.deepEqual(messages.map((m) => m.params.progress), [0, 1]);
        assert.equal(textOf(response.result), 'Lift-off!');
    });

    test('tool book_table of the demo: a question, then the result',
         async () => {
        const { response } = await session.follow(
            await session.call('book_table', { people: 3 }), {
                onMessage: (m) => session.respond(m.id, {
                    action: 'accept',
                    content: { name: 'Ada', time: '18:00' } }),
            });

        assert.equal(textOf(response.result),
                     'A table for 3 at 18:00 under the name of Ada.');
    });

    test('tool book_table of the demo without a session: input_required, then the result',
         async () => {
        const modern = new Modern(server, { capabilities });
        const asked = await modern.tool('book_table', { people: 3 });

        assert.equal(asked.resultType, 'input_required');
        assert.equal(asked.inputRequests.booking.method,
                     'elicitation/create');

        const result = (await modern.response('tools/call', {
            name: 'book_table', arguments: { people: 3 },
            requestState: asked.requestState,
            inputResponses: { booking: {
                action: 'accept',
                content: { name: 'Ada', time: '18:00' } } } })).result;

        assert.equal(result.resultType, 'complete');
        assert.equal(textOf(result),
                     'A table for 3 at 18:00 under the name of Ada.');
    });

    test('demo with mcp_link on, a question ends a stream: its last retry is 100 ms, the next stream has only that of mcp_retry',
        async () => {
            const linked = await open({ mcp_link: 'on', mcp_retry: '3s' });
            const retries = ({ blocks }) => blocks.filter((b) => b.retry)
                .map((b) => Number(b.retry));
            const asking = await linked.call('book_table', { people: 2 });
            const { messages: [question] } = await rest(asking, asking.id);

            assert.equal(question.method, 'elicitation/create');
            assert.equal(asking.ending, 'end');
            assert.deepEqual(retries(asking), [3000, 100]);

            const back = await at(urlOf(asking), { method: 'POST', body: [{
                jsonrpc: '2.0', id: question.id, result: {
                    action: 'accept',
                    content: { name: 'Ada', time: '21:00' } } }] });
            const { response } = await rest(back, asking.id);

            assert.equal(textOf(response.result),
                         'A table for 2 at 21:00 under the name of Ada.');
            assert.deepEqual(retries(back), [3000]);
        });

    test('tool "chart" of the demo: the result is a PNG image', async () => {
        const [image] = (await session.tool('chart',
            { values: [1, 2, 3] })).content;

        assert.equal(image.mimeType, 'image/png');
        assert.match(Buffer.from(image.data, 'base64').toString('latin1'),
                     /^\x89PNG/);
    });

    test('resources/read, prompts/get, completion/complete at the demo: each gets its result',
         async () => {
        const { contents } = (await session.response('resources/read',
            { uri: 'demo://weather/Oslo' })).result;

        assert.equal(JSON.parse(contents[0].text).city, 'Oslo');
        assert.ok((await session.response('prompts/get', { name: 'report',
            arguments: { topic: 'tea' } })).result.messages[0]);
        assert.deepEqual((await session.response('completion/complete', {
            ref: { type: 'ref/prompt', name: 'report' },
            argument: { name: 'tone', value: 'te' } })).result
            .completion.values, ['terse']);
    });

    // The program blocks these signals instead of handling them, so that no
    // handler interrupts another one.

    test('demo gets SIGINT and SIGTERM at once: exits with 0, removes its socket',
         async () => {
        const other = `${dir}/other.sock`;
        const { child, ended } = await run(
            path.join(root, 'examples/demo/backend'), [other], other);
        const [, caught] = /^SigCgt:\t(\w+)$/m.exec(
            await fs.readFile(`/proc/${child.pid}/status`, 'utf8'));

        for (const signal of ['SIGHUP', 'SIGTERM']) {
            const bit = BigInt(os.constants.signals[signal] - 1);

            assert.equal(BigInt(`0x${caught}`) >> bit & 1n, 0n, signal);
        }

        child.kill('SIGINT');
        child.kill('SIGTERM');
        assert.deepEqual(await ended, { status: 0, output: '' });
        await assert.rejects(fs.access(other));
    });
});


// `make run` or `make run-apache`: two in one source tree.

describe('make run', async () => {
    const kind = SERVER === 'nginx' ? 'run' : 'run-apache';
    const banner = 'Ctrl-C stops it.';

    async function demonstration(...what) {
        const port = await freePort();
        const prefix = path.join(root, `build/${kind}-${port}`);

        // an outer make passes its jobs in MAKEFLAGS, which an inner make must
        // not get

        const child = spawn(path.join(root, 'scripts/run'), [SERVER, ...what], {
            env: { ...process.env, PORT: String(port), MAKEFLAGS: '',
                   UPSTREAM_PORT: String(await freePort()) },
            stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        const closed = once(child, 'close');
        let output = '';
        let errors = '';

        after(async () => {
            child.kill('SIGTERM');
            await closed;
            await fs.rm(prefix, { recursive: true, force: true });
        });
        child.stderr.on('data', (data) => errors += data);

        for await (const data of child.stdout) {
            output += data;

            if (output.includes(banner)) {
                return { port, prefix, output,
                         url: `http://127.0.0.1:${port}/mcp`,
                         async interrupt() {
                             process.kill(-child.pid, 'SIGINT');
                             return { closed: await closed, errors };
                         } };
            }
        }

        throw new Error(errors);
    }

    const roll = async (session) => (await session.tool('dice',
        { count: 3, sides: 1 })).structuredContent.sum;

    test('make run started twice: each demo gets its own port, Ctrl-C ends only its own demo',
         async () => {
        const first = await demonstration();
        const session = await Session.open(first);
        const second = await demonstration();

        assert.equal(await roll(await Session.open(second)), 3);

        for (const { port, output, prefix } of [first, second]) {
            assert.match(output, /Node 22\.19 or later/);
            assert.match(output, new RegExp(`export PORT=${port}$`, 'm'));
            assert.match(output,
                         new RegExp(`build/${kind}-${port}/access\\.log`));
            await fs.access(`${prefix}/${SERVER === 'nginx' ? 'nginx'
                                                           : 'httpd'}.pid`);
        }

        const again = spawnSync(path.join(root, 'scripts/run'), [SERVER], {
            env: { ...process.env, PORT: String(first.port) },
            encoding: 'utf8' });

        assert.match(again.stderr, /is taken/);
        assert.equal(again.status, 1);

        // Ctrl-C in a terminal: every process of the group gets the signal

        assert.deepEqual(await second.interrupt(),
                         { closed: [0, null], errors: '' });
        assert.equal(await roll(session), 3);
        assert.deepEqual(await first.interrupt(),
                         { closed: [0, null], errors: '' });
    });

    test('make run-gateway: clients can call the MCP server behind the gateway, Ctrl-C ends both',
         async () => {
        const demo = await demonstration('gateway');
        const session = await Session.open(demo);

        assert.match(textOf(await session.tool('get-sum', { a: 1, b: 2 })),
                     /is 3/);
        assert.match(demo.output, /server-everything/);
        assert.deepEqual(await demo.interrupt(),
                         { closed: [0, null], errors: '' });
    });
});


describe('example client', { concurrency: 3 }, async () => {
    const server = await Fixture.use({ location: {
        mcp_close_after: 'off', mcp_link: 'on', mcp_resume_after: '1s' } });

    // The requests with which each resumption method resumes.

    const returns = {
        sse: /^> GET \/mcp Last-Event-ID/m,
        link: /^> GET \/mcp\?mcp-stream=.* Last-Event-ID/m,
        requests: /^> POST requests\/getStatus.*^> POST requests\/resume/ms,
        streams: /^> POST stream\/poll.*^> POST stream\/resume/ms,
        tokens: /Interim result.*^x .*^> POST tools\/call with /ms,
    };

    for (const [resumption, comesBack] of Object.entries(returns)) {
        for (const kill of [false, true]) {
            test(`example client with --method ${resumption}${kill ? ' --kill' : ''}: each message arrives once`,
                 async () => {
                const child = spawn(process.execPath, [
                    path.join(root, 'examples/client/resume.mjs'),
                    '--method', resumption, ...(kill ? ['--kill'] : []),
                    '--away', '0.7', '--tool', 'count',
                    '--args', '{"n":8,"interval_ms":300}', server.url]);
                const [output, errors, [status]] = await Promise.all([
                    text(child.stdout), text(child.stderr),
                    once(child, 'close')]);

                assert.equal(status, 0, output + errors);
                assert.match(output, kill ? /^x .* was killed$/m
                                          : /^x .* was destroyed$/m);
                assert.match(output, comesBack);
                assert.match(output, /^ {2}result: counted to 8$/m);
                assert.match(output, /^nothing lost, nothing twice$/m);
            });
        }
    }
});


// Two tools, for clients of each revision.

async function twoTools(name, backend) {
    const server = await Fixture.use({
        location: { mcp_catalog: `${root}/examples/${name}/catalog.json`,
                    mcp_backend: name },
        backends: { [name]: backend },
    });
    const clients = [new Modern(server)];

    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
        clients.push(await server.session({ version }));
    }

    test(`tool ${name}_hello, client of each revision: the result`, async () => {
        for (const client of clients) {
            assert.equal(textOf(await client.tool(`${name}_hello`,
                                                  { name: 'Ada' })),
                         'Hello, Ada!', client.version);
            assert.equal(textOf(await client.tool(`${name}_hello`)),
                         'Hello, world!', client.version);
        }
    });

    test(`tool ${name}_slow, client of each revision: progress, then the result`,
         () => Promise.all(clients.map(async (client) => {
        const { messages, response } = await client.follow(
            await client.request('tools/call', {
                name: `${name}_slow`, arguments: { steps: 2 },
                _meta: { progressToken: 'p' } }));

        assert.deepEqual(messages.map((m) => m.params.progress), [1, 2],
                         client.version);
        assert.equal(textOf(response.result), '2 steps done', client.version);
    })));
}


describe('PHP examples', { skip: !phpFpm && 'no php-fpm' }, async () => {
    if (!phpFpm) {
        return;
    }

    const { socket, args: fpmArgs } = await phpFpmPool(dir, 4);
    await run(phpFpm, fpmArgs, socket);

    describe('MCP server in PHP-FPM with mcp_upstream', async () => {
        const server = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_backend: 'pool' },
            backends: { pool: { fastcgi: socket, upstream: 'modern',
                script: `${root}/examples/php-pool/server.php` } },
        });
        const capabilities = { elicitation: {} };
        const accepted = { action: 'accept', content: { name: 'Ada' } };

        test('tool of php-pool has a question, client of 2025-11-25: the tool gets the answer', async () => {
            const session = await server.session({ capabilities });

            assert.equal(session.server.serverInfo.name, 'php-pool');
            assert.equal(textOf(await session.tool('quick')), 'ok');

            const { response } = await session.follow(
                await session.call('ask'), {
                    onMessage: ({ id }) => session.respond(id, accepted) });

            assert.equal(textOf(response.result), 'Hello, Ada!');
        });

        test('tool of php-pool has a question, client of 2026-07-28: the tool gets the answer', async () => {
            const client = new Modern(server, { capabilities });
            const { inputRequests, requestState } = await client.tool('ask');

            assert.equal(inputRequests.name.method, 'elicitation/create');

            const { result } = await client.response('tools/call', {
                name: 'ask', arguments: {}, requestState,
                inputResponses: { name: accepted } });

            assert.equal(textOf(result), 'Hello, Ada!');
        });
    });

    test('php-pool of 6 processes, 40 calls with a question at once: all succeed',
         { skip: SERVER !== 'nginx' && 'nginx only' }, async () => {
        const { status, stdout, stderr } = spawnSync(
            `${root}/examples/php-pool/run`, ['module'], {
                encoding: 'utf8', env: { ...process.env, THINKING: '1',
                    PORT: String(await freePort()) } });

        assert.equal(status, 0, stderr);
        assert.match(stdout, /by the module +40 +40 +40 +[0-9]+ ms/);
    });
});


const flask = spawnSync('python3', ['-c', 'import flask']).status === 0;

describe('Flask example', { skip: !flask && 'no Flask' }, async () => {
    if (!flask) {
        return;
    }

    const socket = `${dir}/flask.sock`;

    await run('python3', [path.join(root, 'examples/flask/tools.py'), socket],
              socket);
    await twoTools('flask', { http: socket });
});
