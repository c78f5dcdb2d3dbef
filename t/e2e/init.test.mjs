// SPDX-License-Identifier: Apache-2.0

// tools/mcp-init: writes the files of README.Debian, never overwrites one, and
// the server serves the endpoint that these files describe.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { SERVER, freePort, root } from './lib/fixture.mjs';
import { phpFpm, phpFpmPool } from './lib/php-fpm.mjs';

const FOLDER = { nginx: 'etc/nginx', apache: 'etc/apache2' }[SERVER];
const README = { nginx: 'libnginx-mod-http-mcp',
                 apache: 'libapache2-mod-mcp' }[SERVER];
const MODULES = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const SITE = { nginx: `${FOLDER}/sites-available/mcp`,
               apache: `${FOLDER}/conf-available/mcp-endpoint.conf` }[SERVER];

// Apache's children read files here as another user.

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-init-'));

await fs.chmod(dir, 0o755);
after(() => fs.rm(dir, { recursive: true, force: true }));


// Makes the directories of a system with the server, whose package of the module
// has enabled it if `packaged`.

let systems = 0;

async function system({ packaged = true } = {}) {
    const where = `${dir}/${systems++}`;

    async function put(name, text) {
        const file = `${where}/${FOLDER}/${name}`;

        await fs.mkdir(path.dirname(file), { recursive: true });
        await fs.writeFile(file, text);
    }

    if (SERVER === 'nginx') {
        await put('mime.types', '');

        if (packaged) {
            await put('modules-enabled/50-mod-http-mcp.conf',
                      'load_module modules/ngx_http_mcp_module.so;\n');
        }
    } else {
        for (const name of ['proxy', 'proxy_fcgi']) {
            await put(`mods-available/${name}.load`,
                      `LoadModule ${name}_module ${MODULES}/mod_${name}.so\n`);
        }

        await put('mods-available/proxy.conf', '');

        if (packaged) {
            await put('mods-enabled/mcp.load',
                'LoadModule mcp_module /usr/lib/apache2/modules/mod_mcp.so\n');
        }
    }

    return where;
}

function init(where, args = [], input = '') {
    const { status, stdout, stderr } = spawnSync('python3',
        [`${root}/tools/mcp-init`, SERVER, '--root', where, ...args],
        { input, encoding: 'utf8' });

    return { code: status, out: stdout, errors: stderr };
}

// Returns all files and links below a directory: name, mode, time, contents.

async function tree(where) {
    const names = await fs.readdir(where, { recursive: true });

    return Promise.all(names.sort().map(async (name) => {
        const file = path.join(where, name);
        const { mode, mtimeMs } = await fs.lstat(file);
        const contents = await fs.readlink(file)
            .catch(() => fs.readFile(file, 'utf8')).catch(() => '');

        return { name, mode, mtimeMs, contents };
    }));
}


describe('files of mcp-init', () => {
    test('mcp-init with default options: writes the files that README.Debian describes',
         async () => {
        const where = await system();
        const { code, errors } = init(where, ['--yes']);

        assert.equal(code, 0, errors);

        const readme = await fs.readFile(
            `${root}/packaging/debian/${README}.README.Debian`, 'utf8');
        const commands = readme.replaceAll(/^ {4}/gm, '');
        const files = [...commands.matchAll(
            /^cat > (\S+) << 'END'\n([^]*?)^END$/gm)];

        assert.ok(files.length >= 3);

        for (const [, name, contents] of files) {
            assert.equal(await fs.readFile(where + name, 'utf8'), contents,
                         name);
        }

        const key = `${where}/${FOLDER}/mcp.key`;

        assert.match(commands, new RegExp(`base64 > /${FOLDER}/mcp.key`));
        assert.equal((await fs.stat(key)).mode & 0o777, 0o600);
        assert.equal(Buffer.from(await fs.readFile(key, 'utf8'), 'base64')
            .length, 32);

        if (SERVER === 'nginx') {
            const [, target, name] = /^ln -s (\S+) (\S+)$/m.exec(commands);

            assert.equal(await fs.readlink(where + name), target);
        } else {
            for (const [, name] of commands.matchAll(/^a2enmod (\S+)$/gm)) {
                await fs.access(
                    `${where}/${FOLDER}/mods-enabled/${name}.load`);
            }

            const [, name] = /^a2enconf (\S+)$/m.exec(commands);

            await fs.access(`${where}/${FOLDER}/conf-enabled/${name}.conf`);
        }
    });

    test('mcp-init runs twice: the second run changes nothing', async () => {
        const where = await system();

        init(where, ['--yes']);

        const before = await tree(where);
        const { code, out } = init(where, ['--yes']);

        assert.equal(code, 0);
        assert.match(out, /nothing is changed/);
        assert.doesNotMatch(out, /^(write|wrote|link)|differ/m);
        assert.deepEqual(await tree(where), before);
    });

    test('mcp-init is interrupted: the next run writes the missing files',
         async () => {
        const where = await system();

        init(where, ['--yes']);

        const before = await fs.readFile(`${where}/${FOLDER}/mcp.key`, 'utf8');

        await fs.rm(`${where}/${SITE}`);

        const { code, out } = init(where, ['--yes']);

        assert.equal(code, 0);
        assert.equal(out.match(/^wrote /gm).length, 1);
        assert.equal(await fs.readFile(`${where}/${FOLDER}/mcp.key`, 'utf8'),
                     before);
    });

    test('mcp-init with --dry-run, with the answer "n" or without an answer: nothing is written',
         async () => {
        const where = await system();
        const before = await tree(where);

        for (const [args, input, expected] of [[['--dry-run'], '', 0],
                                               [[], 'n\n', 1], [[], '', 1]]) {
            const { code, out } = init(where, args, input);

            assert.equal(code, expected);
            assert.match(out, /^write {2}\S+mcp\.key/m);
            assert.match(out, /Nothing is written/);
            assert.deepEqual(await tree(where), before);
        }
    });

    test('mcp-init, answer "y": the files are written', async () => {
        const where = await system();

        assert.equal(init(where, [], 'y\n').code, 0);
        await fs.access(`${where}/${SITE}`);
    });

    test('file of mcp-init exists with other contents: kept, and the difference is printed',
         async () => {
        const where = await system();

        await fs.mkdir(path.dirname(`${where}/${SITE}`), { recursive: true });
        await fs.writeFile(`${where}/${SITE}`, '# mine\n');

        const { code, out } = init(where, ['--yes']);

        assert.equal(code, 0);
        assert.match(out, new RegExp(`^keep {3}/${SITE} \\(its contents differ`,
                                     'm'));
        assert.equal(await fs.readFile(`${where}/${SITE}`, 'utf8'), '# mine\n');
    });

    test('symbolic link in place of a file of mcp-init: kept, its target is not written',
         async () => {
        const where = await system();

        await fs.mkdir(path.dirname(`${where}/${SITE}`), { recursive: true });
        await fs.symlink('/nonexistent/target', `${where}/${SITE}`);
        assert.equal(init(where, ['--yes']).code, 0);
        assert.equal(await fs.readlink(`${where}/${SITE}`),
                     '/nonexistent/target');
    });

    test('mcp-init with wrong arguments, or without a server: exit code 2',
         async () => {
        const where = await system();

        for (const args of [['--name', 'a;b'], ['--listen', '0'],
                            ...SERVER === 'apache' ? [['--listen', '80']] : [],
                            ['--socket', 'a b'], ['--dry-run', '--yes']]) {
            assert.equal(init(where, args).code, 2, args.join(' '));
        }

        await fs.mkdir(`${dir}/empty`, { recursive: true });

        const { code, errors } = init(`${dir}/empty`, ['--yes']);

        assert.equal(code, 2);
        assert.match(errors, /does not exist: install/);
    });
});


// The server, with the written files, whose paths lead below the temporary
// directory, on loopback.

function accepts(address) {
    return new Promise((resolve) => {
        const probe = net.connect(address, () => {
            probe.destroy();
            resolve(true);
        }).on('error', () => resolve(false));
    });
}

// Starts a program, and returns once it accepts connections at the address.

async function start(t, program, args, address) {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'],
                                         detached: true });
    let output = '';

    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });

    const exited = once(child, 'exit');

    t.after(async () => {
        child.kill('SIGTERM');
        await exited;
    });

    while (!await accepts(address)) {
        assert.equal(child.exitCode, null, output);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}

async function rewrite(file, port) {
    const text = await fs.readFile(file, 'utf8');
    const where = file.slice(0, file.indexOf('/etc/'));

    await fs.writeFile(file, text
        .replaceAll(/\/(etc\/nginx|etc\/apache2|srv\/mcp)\//g, `${where}$&`)
        .replace(/listen +\[::\].*\n/, '')
        .replace(/listen +(\d+)/, `listen 127.0.0.1:${port}`));
}

async function configure(where, port) {
    const conf = `${where}/${FOLDER}`;
    const user = process.getuid() === 0;

    if (SERVER === 'nginx') {
        const module = process.env.MCP_MODULE
                       ?? `${root}/build/nginx/ngx_http_mcp_module.so`;

        await rewrite(`${conf}/conf.d/mcp.conf`, port);
        await rewrite(`${conf}/sites-available/mcp`, port);
        await fs.writeFile(`${conf}/modules-enabled/60-mcp.conf`,
                           `load_module ${module};\n`);
        await fs.copyFile(`${root}/examples/mcp_fastcgi_params`,
                          `${conf}/mcp_fastcgi_params`);
        await fs.writeFile(`${conf}/nginx.conf`, `
${user ? 'user root;' : ''}
daemon off;
pid ${where}/nginx.pid;
error_log ${where}/error.log;
include ${conf}/modules-enabled/*.conf;
events { }
http {
    access_log off;
    client_body_temp_path ${where}/client;
    proxy_temp_path ${where}/proxy;
    fastcgi_temp_path ${where}/fastcgi;
    uwsgi_temp_path ${where}/uwsgi;
    scgi_temp_path ${where}/scgi;
    include ${conf}/conf.d/*.conf;
    include ${conf}/sites-enabled/*;
}
`);
        return [process.env.NGINX_BIN ?? 'nginx',
                ['-p', where, '-e', `${where}/error.log`,
                 '-c', `${conf}/nginx.conf`]];
    }

    const module = process.env.MCP_APACHE_MODULE
                   ?? `${root}/build/apache/mod_mcp.so`;

    await rewrite(`${conf}/conf-available/mcp-endpoint.conf`, port);
    await fs.writeFile(`${conf}/mods-available/mcp.load`,
                       `LoadModule mcp_module ${module}\n`);
    await fs.mkdir(`${where}/htdocs`);
    await fs.writeFile(`${conf}/apache2.conf`, `
LoadModule mpm_event_module ${MODULES}/mod_mpm_event.so
LoadModule authz_core_module ${MODULES}/mod_authz_core.so
${user ? 'User www-data\nGroup www-data' : ''}
ServerRoot ${where}
DefaultRuntimeDir ${where}
PidFile ${where}/httpd.pid
DocumentRoot ${where}/htdocs
ServerName localhost
ErrorLog ${where}/error.log
Listen 127.0.0.1:${port}
MaxRequestWorkers 400
IncludeOptional ${conf}/mods-enabled/*.load
IncludeOptional ${conf}/mods-enabled/*.conf
IncludeOptional ${conf}/conf-enabled/*.conf
`);
    return [process.env.APACHE_BIN ?? 'apache2',
            ['-d', where, '-f', `${conf}/apache2.conf`]];
}


// Apache listens at the ports of its own configuration.

const listen = (port) => SERVER === 'nginx' ? ['--listen', String(port)] : [];

describe('server with the files of mcp-init', () => {
    test('files of mcp-init: the configuration test of the server succeeds without a warning',
         async () => {
        const where = await system({ packaged: false });
        const port = await freePort();

        assert.equal(init(where, ['--yes', ...listen(port)]).code, 0);

        const [program, args] = await configure(where, port);
        const { status, stdout, stderr } = spawnSync(program, [...args, '-t'],
                                                     { encoding: 'utf8' });

        assert.equal(status, 0, stdout + stderr);
        assert.doesNotMatch(stderr, /\[(warn|emerg)\]|:warn\]/);
    });

    test('server with the files of mcp-init: mcp-doctor --call hello reports no failure',
         {
        skip: !phpFpm && 'no php-fpm',
    }, async (t) => {
        const where = await system({ packaged: false });
        const port = await freePort();
        const { socket, args: fpmArgs } = await phpFpmPool(where, 2);
        assert.equal(init(where, ['--yes', ...listen(port),
                                  '--socket', socket]).code, 0);

        const [program, args] = await configure(where, port);

        await start(t, phpFpm, fpmArgs,
                    { path: socket });
        await start(t, program, SERVER === 'apache'
            ? [...args, '-D', 'FOREGROUND'] : args,
                    { port, host: '127.0.0.1' });

        const { status, stdout } = await new Promise((resolve) => {
            const child = spawn('python3', [`${root}/tools/mcp-doctor`,
                `http://127.0.0.1:${port}/mcp`, '--keepalive', '0',
                '--timeout', '60', '--call',
                'hello', '--arguments', '{"name":"Debian"}']);
            let text = '';

            child.stdout.on('data', (data) => { text += data; });
            child.on('exit', (code) => resolve({ status: code, stdout: text }));
        });

        assert.equal(status, 0, stdout);
        assert.match(stdout, /^ok {7}call 2026-07-28: hello: a result/m);
    });
});
