// SPDX-License-Identifier: Apache-2.0

// fetch() on connections that can be lost: what cut() does to all that are
// open is what a crash, kill -9 or a dead network does to them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);


// Connections of this process: their sockets are destroyed.

export function inThisProcess() {
    const open = [];

    return {
        fetch(url, init = {}) {
            const connection = new AbortController();
            const abort = () => connection.abort(init.signal.reason);

            open.push(connection);

            // AbortSignal.any() would do, if Node 18 had it

            if (init.signal?.aborted) {
                abort();
            }

            init.signal?.addEventListener('abort', abort, { once: true });

            return fetch(url, { ...init, signal: connection.signal });
        },

        cut() {
            open.splice(0).forEach((connection) => connection.abort());

            return 'its socket was destroyed';
        },
    };
}


// Each connection in a process of its own, which is killed with SIGKILL.  What
// it had read and not passed on is lost with it.

export function inProcesses() {
    const running = new Set();

    return {
        async fetch(url, { method, headers, body, signal } = {}) {
            const child = spawn(process.execPath, [self], {
                stdio: ['pipe', 'pipe', 'inherit'], signal,
                killSignal: 'SIGKILL' });
            const exited = once(child, 'exit');
            const output = child.stdout[Symbol.asyncIterator]();
            let head = Buffer.alloc(0);

            running.add(child);
            exited.finally(() => running.delete(child)).catch(() => {});
            child.stdin.end(JSON.stringify([url, { method, body,
                headers: [...new Headers(headers)] }]));

            while (!head.includes('\n')) {
                const { value, done } = await output.next();

                if (done) {
                    throw new Error('no answer');
                }

                head = Buffer.concat([head, value]);
            }

            const end = head.indexOf('\n');
            const [status, fields] = JSON.parse(head.subarray(0, end));

            async function* rest() {
                yield head.subarray(end + 1);
                yield* { [Symbol.asyncIterator]: () => output };

                if ((await exited)[0] !== 0) {
                    throw new Error('connection lost');
                }
            }

            return new Response(
                status === 204 ? null : Readable.toWeb(Readable.from(rest())),
                { status, headers: fields });
        },

        cut() {
            const pids = [...running].map((child) => child.pid);

            running.forEach((child) => child.kill('SIGKILL'));

            return `its process ${pids.join(', ')} was killed`;
        },
    };
}


// That process: the request on stdin, status and headers in a line of stdout,
// then the body as it comes.

if (process.argv[1] === self) {
    const response = await fetch(...JSON.parse(await text(process.stdin)));

    process.stdout.write(`${JSON.stringify([response.status,
                                            [...response.headers]])}\n`);

    for await (const bytes of response.body ?? []) {
        process.stdout.write(bytes);
    }
}
