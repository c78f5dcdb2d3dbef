// SPDX-License-Identifier: Apache-2.0

// The libraries for authors of tools, such as examples/php/mcp.php: the three
// tools of the examples, and those of t/fixtures/helpers, in each language.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER, freePort, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { watched } from './lib/schema.mjs';
import { textOf } from './lib/session.mjs';
import { request } from './lib/wire.mjs';
import { phpFpm, phpFpmPool } from './lib/php-fpm.mjs';

const FAILED = 'The tool has failed.';
const capabilities = { elicitation: {} };
const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const cgi = process.env.FIXTURE_MPM === 'prefork' ? 'cgi' : 'cgid';
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-helpers-'));

// Apache's children, and CGI scripts, run as another user

await fs.chmod(dir, 0o755);
after(() => fs.rm(dir, { recursive: true, force: true }));

for (const folder of ['php', 'python', 'perl', 'node', 'c', 'cgi']) {
    await fs.cp(`${root}/examples/${folder}`, dir, { recursive: true });
}

await fs.cp(`${root}/t/fixtures/helpers`, dir, { recursive: true });

const found = (command, args = ['--version']) =>
    spawnSync(command, args).status === 0;

// Starts a program, and waits until it accepts connections at its socket, which
// everybody may use then, or at its port.

async function run(command, args, where) {
    const child = spawn(command, args, { cwd: dir,
                                         stdio: ['ignore', 'pipe', 'pipe'] });
    const program = { child, output: '' };
    const exited = once(child, 'exit');
    let over = false;

    exited.then(() => { over = true; });

    for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data) => program.output += data);
    }

    after(async () => {
        child.kill('SIGTERM');
        await exited;
    });

    for (;;) {
        const socket = net.connect(typeof where === 'number'
            ? { port: where, host: '127.0.0.1' } : { path: where });

        try {
            await once(socket, 'connect');
            socket.destroy();
            break;
        } catch {
            assert.equal(over, false, program.output);
            await new Promise((resolve) => { setTimeout(resolve, 10); });
        }
    }

    if (typeof where === 'string') {
        await fs.chmod(where, 0o777);
    }

    return program;
}


// The backends of a language: `started`, the programs `tools` and `more`, if they
// have output of their own; `options` of a fixture with the backends my_tools and
// my_more.

const NAMES = ['tools', 'more'];

async function programs(start) {
    return Object.fromEntries(await Promise.all(NAMES.map(
        async (name) => [name, await start(name)])));
}

async function http(command, extension) {
    const ports = await programs(freePort);
    const started = await programs((name) => run(command,
        [`${dir}/${name}.${extension}`, String(ports[name])], ports[name]));

    return { started, options: { backends: Object.fromEntries(NAMES.map(
        (name) => [`my_${name}`, { http: ports[name] }])) } };
}

async function fpm(command) {
    const { socket, args: fpmArgs } = await phpFpmPool(dir, 2);
    await run(command, fpmArgs, socket);

    return { options: { backends: Object.fromEntries(NAMES.map(
        (name) => [`my_${name}`, { fastcgi: socket, script: `${dir}/${name}.php` }])) } };
}

async function uwsgi() {
    const ports = await programs(freePort);
    const started = await programs((name) => run('uwsgi', [
        '--plugin', 'python3', '--uwsgi-socket', `127.0.0.1:${ports[name]}`,
        '--die-on-term', '--chdir', dir, '--wsgi-file', `${name}.py`], ports[name]));

    return { started, options: {
        http: { apache: `LoadModule proxy_uwsgi_module ${modules}/mod_proxy_uwsgi.so` },
        server: {
            nginx: NAMES.map((name) => `location @my_${name} {
                include ${root}/examples/mcp_uwsgi_params;
                uwsgi_buffering off;
                uwsgi_pass 127.0.0.1:${ports[name]};
            }`).join('\n'),
            apache: NAMES.map((name) => `<Location /mcp-backend/my_${name}>
                SetHandler "proxy:uwsgi://127.0.0.1:${ports[name]}/"
            </Location>`).join('\n'),
        } } };
}

// A FastCGI program takes connections from the socket that is its descriptor 0.

async function spawnFcgi(extension) {
    const listen = 'use IO::Socket::UNIX; use POSIX; my $s = IO::Socket::UNIX->new('
        + 'Local => shift, Listen => 16) or die $!; POSIX::dup2(fileno $s, 0); exec @ARGV';
    const socket = (name) => `${dir}/${extension}-${name}.sock`;

    await programs((name) => run('perl', [
        '-e', listen, socket(name), `${dir}/${name}.${extension}`], socket(name)));

    return { options: { backends: Object.fromEntries(NAMES.map(
        (name) => [`my_${name}`, { fastcgi: socket(name) }])) } };
}

// fcgiwrap runs CGI programs for nginx, httpd runs them itself.

async function runCgi(suffix) {
    const socket = `${dir}/wrap${suffix}.sock`;
    const options = {
        http: { apache: `LoadModule alias_module ${modules}/mod_alias.so
            LoadModule ${cgi}_module ${modules}/mod_${cgi}.so
            ${cgi === 'cgid' ? `ScriptSock ${dir}/cgid${suffix}.sock` : ''}
            <Directory "${dir}">
                Require all granted
            </Directory>` },
        server: {
            nginx: NAMES.map((name) => `location @my_${name} {
                include ${root}/examples/mcp_fastcgi_params;
                fastcgi_param SCRIPT_FILENAME ${dir}/${name}${suffix};
                fastcgi_param NO_BUFFERING "";
                fastcgi_buffering off;
                fastcgi_pass unix:${socket};
            }`).join('\n'),
            apache: NAMES.map((name) => `<Location "/mcp-backend/my_${name}">
                ScriptAlias "${dir}/${name}${suffix}"
            </Location>`).join('\n'),
        } };

    if (SERVER === 'nginx') {
        await run('fcgiwrap', ['-f', '-s', `unix:${socket}`], socket);
    }

    return { options };
}

async function compiled() {
    for (const name of NAMES) {
        for (const compiler of ['gcc', 'clang']) {
            const { status, stderr } = spawnSync(compiler, [
                '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror', '-g',
                '-o', `${dir}/${name}`, `${dir}/${name}.c`], { encoding: 'utf8' });

            assert.equal(status, 0, stderr);
        }
    }

    return runCgi('');
}

const wrapped = SERVER !== 'nginx' || found('fcgiwrap', ['-h']);

// catalog: the command that writes it; exit: the tool's exit() is a failed call

const LANGUAGES = {
    php: { needs: phpFpm, start: () => fpm(phpFpm), catalog: ['php', 'tools.php'] },
    python: { needs: true, start: () => http('python3', 'py'),
              catalog: ['python3', 'tools.py'] },
    'python in uwsgi': { needs: found('uwsgi'), start: uwsgi,
                         catalog: ['python3', 'tools.py'] },
    node: { needs: true, start: () => http(process.execPath, 'mjs'),
            catalog: [process.execPath, 'tools.mjs'] },
    perl: { needs: wrapped, start: () => runCgi('.pl'),
            catalog: ['perl', 'tools.pl'], exit: 'error' },
    'perl with FCGI': { needs: found('perl', ['-MFCGI', '-e', '1']),
                        start: () => spawnFcgi('pl'),
                        catalog: ['perl', 'tools.pl'], exit: 'none' },
    c: { needs: wrapped, start: compiled, catalog: ['./tools'] },
    bash: { needs: wrapped, start: () => runCgi('.sh'), catalog: ['./tools.sh'] },
};


function catalogOf([command, file = ''], name = 'tools') {
    const args = [command, file].map((word) => word.replace('tools', name));
    const { status, stdout, stderr } = spawnSync(args[0], [
        ...args.slice(1).filter(Boolean), '--catalog'], { cwd: dir, encoding: 'utf8' });

    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');

    return JSON.parse(stdout);
}

const EXPECTED = catalogOf(['php', 'tools.php']);


for (const [language, { needs, start, catalog, exit }] of Object.entries(LANGUAGES)) {
    describe(language, { skip: !needs && 'not installed' }, async () => {
        if (!needs) {
            return;
        }

        const { started, options } = await start();
        const tools = catalogOf(catalog);
        const file = `${dir}/${language.replaceAll(' ', '-')}.json`;

        // "ghost" is in the catalog, but the program does not declare it

        await fs.writeFile(file, JSON.stringify({ tools: [
            ...tools.tools, ...catalogOf(catalog, 'more').tools,
            { name: 'ghost', inputSchema: { type: 'object' } }] }));

        const server = await Fixture.use({
            without: ['mcp_route'],
            location: { mcp_catalog: file, mcp_backend: 'my_tools',
                        nginx: 'mcp_route ~^t_ @my_more;',
                        apache: 'MCPRoute ~^t_ /mcp-backend/my_more' },
            allow: /signal 11|Segmentation/,
            ...options,
        });

        const clients = [
            await server.session({ capabilities, send: watched(
                (sent) => request(server.port, sent), '2025-11-25') }),
            new Modern(server, { capabilities }),
        ];

        // Calls a tool, and answers its questions: by a response of an older
        // client, by a new request of a new one.

        async function ask(client, name, args, answers) {
            const asked = [];

            if (client.respond) {
                const { response } = await client.follow(await client.call(name, args), {
                    async onMessage(message) {
                        asked.push(message.params.message);
                        await client.respond(message.id, answers[asked.length - 1]);
                    } });

                return { asked, result: response.result };
            }

            let { result } = await client.response('tools/call', { name, arguments: args });

            while (result.resultType === 'input_required') {
                const [[key, { params }]] = Object.entries(result.inputRequests);

                asked.push(params.message);
                ({ result } = await client.response('tools/call', {
                    name, arguments: args, requestState: result.requestState,
                    inputResponses: { [key]: answers[asked.length - 1] } }));
            }

            return { asked, result };
        }

        for (const client of clients) {
            const call = (name, args) => client.tool(name, args);
            const is = (title) => `${language}, ${client.version}, ${title}`;
            const accept = (content) => ({ action: 'accept', content });

            test(is('tools/list: the declared tools'), async () => {
                const list = (await client.response('tools/list', {})).result.tools;

                assert.deepEqual(list.slice(0, 3), EXPECTED.tools);
            });

            test(is('tool greet: text and structured content'), async () => {
                for (const [args, greeting] of [
                    [{}, 'Hello, world!'], [{ name: 'Ada' }, 'Hello, Ada!'],
                    [{ name: 'Zoë "Z" \\ 😀\n' }, 'Hello, Zoë "Z" \\ 😀\n!'],
                ]) {
                    const result = await call('greet', args);

                    assert.equal(textOf(result), greeting);
                    assert.deepEqual(result.structuredContent, { greeting });
                }
            });

            test(is('tool count: progress, then the result'), async () => {
                const { messages, response } = await client.follow(
                    await client.request('tools/call', {
                        name: 'count', arguments: { n: 4 },
                        _meta: { progressToken: 'p' } }));

                assert.deepEqual(messages.map(({ params }) => params),
                    [1, 2, 3, 4].map((i) => ({ progressToken: 'p', progress: i,
                                               total: 4, message: `${i} of 4` })));
                assert.equal(textOf(response.result), 'Counted to 4.');
            });

            test(is('tool count without a progress token: only the result'),
                 async () => {
                const { messages, response } = await client.follow(
                    await client.request('tools/call', { name: 'count' }));

                assert.deepEqual(messages, []);
                assert.equal(textOf(response.result), 'Counted to 3.');
            });

            test(is('tool count with an invalid number: a result with isError'),
                 async () => {
                for (const n of [0, 101, -1, 'x', '3\n', 1.5]) {
                    const result = await call('count', { n });

                    assert.equal(result.isError, true, String(n));
                    assert.match(textOf(result), /^n must be an integer/);
                }
            });

            test(is('tool book: its result contains the user\'s answer'),
                 async () => {
                const { asked, result } = await ask(client, 'book', { people: 3 },
                    [accept({ time: '18:30 – spät' })]);

                assert.deepEqual(asked, ['A table for 3: at what time?']);
                assert.equal(textOf(result), 'A table for 3 at 18:30 – spät.');
            });

            for (const action of ['decline', 'cancel']) {
                test(is(`tool book, the user's answer is ${action}: no table is booked`),
                     async () => {
                    const { result } = await ask(client, 'book', {}, [{ action }]);

                    assert.equal(textOf(result), 'No table was booked.');
                    assert.equal(result.isError, undefined);
                });
            }

            test(is('tool that asks two questions in turn: the tool gets both answers'),
                 async () => {
                const { asked, result } = await ask(client, 't_two', {},
                    [accept({ x: 'é "1"\n' }), accept({ x: '2/~' })]);

                assert.deepEqual(asked, ['First?', 'Second?']);
                assert.equal(textOf(result), 'é "1"\n 2/~');
            });

            test(is('tool that returns an image: the client gets the same bytes'),
                 async () => {
                assert.deepEqual((await call('t_image')).content, [
                    { type: 'text', text: 'a' },
                    { type: 'image', mimeType: 'image/png',
                      data: Buffer.from('\x89PNG\0\xff', 'latin1').toString('base64') }]);
            });

            test(is('300 KB of text as an argument: the tool returns the same text'),
                 async () => {
                const text = 'Zoë, 😀 and "\\/\t\x01\x7f\n'.repeat(3000)
                    + 'x'.repeat(200000);

                assert.equal(textOf(await call('t_echo', { text })), text);
            });

            test(is('nested arguments that the tool does not use, with odd names: ignored'),
                 {
                skip: language.startsWith('python') && 'arguments are parameters',
            }, async () => {
                const odd = Object.fromEntries(['', '@', '*', ']', '$(exit)', '"', '\\',
                    'a/b', '~0', '\u2028', '__proto__x', 'n'].map((name) => [name,
                    [[[{ [name]: [1, -2.5e3, true, null, {}, []] }]]]]));

                assert.equal(textOf(await call('t_echo', { ...odd, text: 'a' })), 'a');
            });

            test(is('exception or crash in a tool: isError without the reason'),
                 async () => {
                const result = await call('t_crash');

                assert.equal(result.isError, true);
                assert.deepEqual(result.content, [{ type: 'text', text: FAILED }]);
            });

            test(is('tool that calls exit: -32603 or isError'),
                 { skip: exit === 'none' }, async () => {
                const { result, error } = await client.response('tools/call', {
                    name: 't_exit', arguments: {} });

                if (exit === 'error') {
                    assert.equal(error.code, -32603);
                } else {
                    assert.equal(textOf(result), FAILED);
                    assert.equal(result.isError, true);
                }
            });

            test(is('unknown tool: -32602'), async () => {
                for (const name of ['nothing', 'ghost']) {
                    const { error } = await client.response('tools/call', {
                        name, arguments: {} });

                    assert.equal(error.code, -32602);
                    assert.match(error.message, /unknown tool/i);
                }
            });
        }

        // a FastCGI or CGI program writes to the log of the web server

        test(`${language}, exception or crash in a tool: the log has the reason`,
             async () => {
            const log = async () => (started ? started.more.output : server.log());

            while (!(await log()).includes('deliberate')) {
                await new Promise((resolve) => { setTimeout(resolve, 10); });
            }
        });
    });
}


test('example tools in all languages: their catalogs are equal', () => {
    for (const { needs, catalog } of Object.values(LANGUAGES)) {
        if (needs) {
            assert.deepEqual(catalogOf(catalog), EXPECTED);
        }
    }
});

test('library for tools in each language: at most 150 lines', async () => {
    for (const name of ['mcp.php', 'mcptools.py', 'Mcp.pm', 'mcp.mjs', 'mcp.h',
                        'mcp_json.h', 'mcp.sh', 'mcp_json.sh']) {
        assert.ok((await fs.readFile(`${dir}/${name}`, 'utf8')).split('\n').length <= 151,
                  name);
    }
});

test('code of the examples in docs/backends.md: equal to the example files', async () => {
    const page = await fs.readFile(`${root}/docs/backends.md`, 'utf8');
    const begins = { 'tools.php': 'require __DIR__', 'tools.py': 'from mcptools',
                     'tools.pl': 'use strict;', 'tools.mjs': 'import { Mcp',
                     'tools.c': '#include "mcp.h"', 'tools.sh': 'set -euo' };

    for (const [name, begin] of Object.entries(begins)) {
        const file = await fs.readFile(`${dir}/${name}`, 'utf8');

        assert.ok(page.includes(`\n${file.slice(file.indexOf(begin))}\`\`\`\n`), name);
    }
});
