// The programs in examples/ do what they show.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { Fixture, root } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-examples-'));

// Apache's children are not who runs the tests

await fs.chmod(dir, 0o755);


// starts a program and waits for its socket

async function run(command, args, socket) {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const exited = new Promise((resolve) => { child.on('exit', resolve); });
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
            return;
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

    const server = await Fixture.use({
        location: { mcp_catalog: `${root}/examples/demo/catalog.json`,
                    mcp_backend: 'demo' },
        backends: { demo: { fastcgi: socket, keep: 8 } },
    });
    const session = await server.session({
        capabilities: { elicitation: {} } });

    test('a plain result', async () => {
        const { rolls, sum } = (await session.tool('dice',
            { count: 5, sides: 4 })).structuredContent;

        assert.equal(rolls.length, 5);
        assert.equal(sum, rolls.reduce((a, b) => a + b));
    });

    test('progress', async () => {
        const { messages, response } = await session.follow(
            await session.call('countdown', { seconds: 1 }));

        assert.deepEqual(messages.map((m) => m.params.progress), [0, 1]);
        assert.equal(textOf(response.result), 'Lift-off!');
    });

    test('a question', async () => {
        const { response } = await session.follow(
            await session.call('book_table', { people: 3 }), {
                onMessage: (m) => session.respond(m.id, {
                    action: 'accept',
                    content: { name: 'Ada', time: '18:00' } }),
            });

        assert.equal(textOf(response.result),
                     'A table for 3 at 18:00 under the name of Ada.');
    });

    test('an image', async () => {
        const [image] = (await session.tool('chart',
            { values: [1, 2, 3] })).content;

        assert.equal(image.mimeType, 'image/png');
        assert.match(Buffer.from(image.data, 'base64').toString('latin1'),
                     /^\x89PNG/);
    });

    test('a resource template, a prompt, a completion', async () => {
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
});


describe('client', async () => {
    const server = await Fixture.use({ location: {
        mcp_close_after: 'off', mcp_link: 'on', mcp_resume_after: '1s' } });

    // what comes back with it, in each face

    const returns = {
        sse: /^> GET \/mcp Last-Event-ID/m,
        link: /^> GET \/mcp\?mcp-stream=.* Last-Event-ID/m,
        requests: /^> POST requests\/getStatus.*^> POST requests\/resume/ms,
        streams: /^> POST stream\/poll.*^> POST stream\/resume/ms,
        tokens: /Interim result.*^x .*^> POST tools\/call with /ms,
    };

    for (const [face, comesBack] of Object.entries(returns)) {
        for (const kill of [false, true]) {
            test(`${face}${kill ? ', killed' : ''}`, async () => {
                const child = spawn(process.execPath, [
                    path.join(root, 'examples/client/resume.mjs'),
                    '--face', face, ...(kill ? ['--kill'] : []),
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


const fpm = ['/usr/sbin/php-fpm8.2', '/usr/sbin/php-fpm8.4', 'php-fpm'].find(
    (name) => spawnSync(name, ['-v']).status === 0);

describe('php', { skip: !fpm && 'no php-fpm' }, async () => {
    if (!fpm) {
        return;
    }

    const socket = `${dir}/php.sock`;

    await fs.writeFile(`${dir}/php-fpm.conf`, `
[global]
error_log = ${dir}/php.log
daemonize = no
[tools]
listen = ${socket}
listen.mode = 0666
${process.getuid() === 0 ? 'user = root' : ''}
pm = static
pm.max_children = 4
`);
    await run(fpm, ['-F', '-R', '-n', '-y', `${dir}/php-fpm.conf`], socket);

    const server = await Fixture.use({
        location: { mcp_catalog: `${root}/examples/php/catalog.json`,
                    mcp_backend: 'php' },
        backends: { php: { fastcgi: socket,
                           script: `${root}/examples/php/tools.php` } },
    });
    const session = await server.session();

    test('a plain result', async () => assert.equal(
        textOf(await session.tool('php_hello', { name: 'Ada' })),
        'Hello, Ada!'));

    test('progress', async () => {
        const { messages, response } = await session.follow(
            await session.call('php_slow', { steps: 2 }));

        assert.deepEqual(messages.map((m) => m.params.progress), [1, 2]);
        assert.equal(textOf(response.result), '2 steps done');
    });
});
