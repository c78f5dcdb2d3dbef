// SPDX-License-Identifier: Apache-2.0

// Limits by tool and caller in a backend's location: a rejected call is a tool
// error that contains the time to wait. And mcp_debug.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { Fixture, SERVER, root } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { Session, textOf } from './lib/session.mjs';

const run = promisify(execFile);
const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-limiters-'));
const socket = path.join(dir, 'busy.sock');

// A backend that answers 503 with Retry-After.

const busy = http.createServer((request, response) => {
    request.resume();
    response.writeHead(503, { 'Content-Type': 'text/plain',
                              'Retry-After': '9' });
    response.end('Out of stock.');
});

await new Promise((resolve) => busy.listen(socket, resolve));

// the server may run as another user

await fs.chmod(dir, 0o755);
await fs.chmod(socket, 0o777);

after(async () => {
    busy.close();
    await fs.rm(dir, { recursive: true });
});

// In Apache the existence of this file means that the caller is above its
// limit.

const closed = path.join(dir, 'closed');
const server = await Fixture.use({
    allow: /limiting requests/,
    location: {
        mcp_debug: 'on',
        nginx: `mcp_principal $http_x_user;
                mcp_backend @limited;
                mcp_route sleep @busy;`,
        apache: `MCPPrincipal "%{HTTP:X-User}"
                 MCPRoute sleep "/mcp-backend/busy"`,
    },
    backends: { busy: { http: socket } },
    http: {
        nginx: `limit_req_zone $caller zone=caller:1m rate=1r/m;
                map $mcp_name $caller { echo $mcp_principal; default ""; }`,
        apache: `LoadModule rewrite_module ${modules}/mod_rewrite.so`,
    },
    server: {
        nginx: `location @limited {
                    limit_req zone=caller burst=1 nodelay;
                    limit_req_status 429;
                    include ${root}/examples/mcp_fastcgi_params;
                    fastcgi_keep_conn on;
                    fastcgi_buffering off;
                    fastcgi_pass tools;
                }`,
        apache: `<Location "/mcp-backend/tools">
                     RewriteEngine On
                     RewriteCond "%{ENV:MCP_NAME}" "=echo"
                     RewriteCond "%{ENV:MCP_PRINCIPAL}" "=alice"
                     RewriteCond "${closed}" -f
                     RewriteRule .* - [R=429]
                 </Location>`,
    },
});

const callers = {
    modern: (user) => new Modern(server, { headers: { 'X-User': user } }),
    session: (user) => Session.open(server, { headers: { 'X-User': user } }),
};

async function say(client, name = 'echo', args = { text: 'a' }) {
    const { result, error } = await client.response('tools/call',
        { name, arguments: args });

    assert.equal(error, undefined, JSON.stringify(error));

    return result;
}

test('caller above its rate limit for a tool: isError, other callers and other tools are served',
     async () => {
    const alice = callers.modern('alice');

    // two calls in a minute are allowed

    for (let i = 0; i < 2; i++) {
        assert.ok(!(await say(alice)).isError);
    }

    await fs.writeFile(closed, '');

    for (const client of [alice, await callers.session('alice')]) {
        const result = await say(client);

        assert.equal(result.isError, true);
        assert.equal(textOf(result), 'Too many calls: try again later.');
    }

    // another caller and another tool are served

    assert.ok(!(await say(callers.modern('bob'))).isError);
    assert.ok(!(await say(alice, 'count', { to: 1 })).isError);
});

test('503 with Retry-After from a backend: isError with the seconds to wait',
     async () => {
    const result = await say(callers.modern('bob'), 'sleep', {});

    assert.equal(result.isError, true);
    assert.equal(textOf(result), 'Out of stock.\nThe backend is not available: '
                 + 'try again in 9 seconds.');
});

// httpd's own limiter, configured as in the manual.

test('mod_qos with the rules of the manual: concurrent calls and calls per hour are limited',
     { skip: SERVER === 'nginx' && 'Apache only' }, async () => {
    const manual = await fs.readFile(`${root}/docs/operations.md`, 'utf8');
    const [, rules] = /<!-- run: qos -->\n```apache\n([^]*?)```/.exec(manual);

    // Debian 12's mod_qos needs the old PCRE, see the manual; Debian 13's
    // mod_qos does not

    const pcre = /^libpcre\.so\.3 .*=> (\S+)$/m.exec(
        (await run('/sbin/ldconfig', ['-p'])).stdout.replaceAll('\t', ''))?.[1];
    const limited = await Fixture.use({
        allow: /mod_qos/,
        http: `${pcre ? `LoadFile ${pcre}` : ''}
               LoadModule qos_module ${modules}/mod_qos.so
               ${rules.replaceAll('search', 'echo')
                     .replace('tools 20', 'tools 2').replace(/ +#.*/gm, '')}`,
        server: 'SetEnvIf Request_URI "^/mcp-backend/tools" mcp-log=on',
    });
    const alice = new Modern(limited);

    // concurrent calls: ended calls are soon not counted

    for (let i = 0; i < 3; i++) {
        const results = await Promise.all([0, 1, 2].map(() =>
            say(alice, 'sleep', { ms: 600 })));

        assert.ok(results.some((result) => result.isError));

        for (const end = Date.now() + 20000;
            (await say(alice, 'sleep', {})).isError;)
        {
            assert.ok(Date.now() < end, 'calls that ended are counted');
        }
    }

    // calls in an hour

    let said = 0;

    while (!(await say(alice)).isError) {
        said++;
    }

    assert.ok(said <= 2);
    assert.ok(!(await say(alice, 'sleep', {})).isError);
});

test('mcp_debug on, backend unreachable: -32603 has the reason', async () => {
    const { error } = await callers.modern('bob').response('tools/call',
        { name: 'refused', arguments: {} });

    assert.equal(error.code, -32603);
    assert.match(error.data.reason, /^could not connect/);
});
