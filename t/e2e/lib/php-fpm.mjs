// SPDX-License-Identifier: Apache-2.0

// PHP-FPM for tests.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promises as fs } from 'node:fs';
import net from 'node:net';
import { after } from 'node:test';

// the program of Debian 12 or 13, or undefined

export const phpFpm = ['/usr/sbin/php-fpm8.2', '/usr/sbin/php-fpm8.4',
                       'php-fpm']
    .find((name) => spawnSync(name, ['-v']).status === 0);

// Writes a configuration into a directory; returns the arguments of the
// program, and the socket at which its processes will listen. env: their
// environment.

export async function phpFpmPool(dir, processes, env = {}) {
    const file = `${dir}/php-fpm.conf`;
    const socket = `${dir}/php.sock`;

    await fs.writeFile(file, `
[global]
error_log = ${dir}/php.log
daemonize = no
[tools]
listen = ${socket}
listen.mode = 0666
${process.getuid() === 0 ? 'user = root' : ''}
pm = static
pm.max_children = ${processes}
${Object.entries(env).map(([name, value]) => `env[${name}] = ${value}`)
        .join('\n')}
`);

    return { socket, args: ['-F', '-R', '-n', '-y', file] };
}

// Starts such a pool for the tests of a file, and returns its socket when it
// accepts connections.

export async function usePhpFpm(dir, processes, env) {
    const { socket, args } = await phpFpmPool(dir, processes, env);
    const program = spawn(phpFpm, args, { stdio: 'ignore' });
    const exited = once(program, 'exit');

    after(async () => {
        program.kill('SIGTERM');
        await exited;
    });

    while (!await accepts(socket)) {
        if (program.exitCode !== null) {
            throw new Error(await fs.readFile(`${dir}/php.log`, 'utf8'));
        }

        await new Promise((resolve) => { setTimeout(resolve, 10); });
    }

    return socket;
}

async function accepts(path) {
    const socket = net.connect({ path });

    try {
        await once(socket, 'connect');
        return true;
    } catch {
        return false;
    } finally {
        socket.destroy();
    }
}
