// SPDX-License-Identifier: Apache-2.0

// FastCGI backends, which mod_mcp calls itself. A second server has a ProxyFCGI
// directive and therefore uses mod_proxy_fcgi; parameters, results and log
// lines must be the same.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { fastcgi, pairs, record } from '../fixtures/fastcgi.mjs';
import { MPM, file, load, suite } from './lib/apache.mjs';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';

const END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6, STDERR = 7;

const JSON_HEAD = 'Content-Type: application/json\r\n\r\n';
const RESULT = JSON.stringify({ content: [{ type: 'text', text: 'done' }] });

const out = (text) => record(STDOUT, 1, Buffer.from(text));
const err = (text) => record(STDERR, 1, Buffer.from(text));
const over = Buffer.concat([record(STDOUT, 1), record(END, 1, Buffer.alloc(8))]);
const answer = (text) => [out(text), over];
const changed = (buffer, at, value) => {
    const copy = Buffer.from(buffer);

    copy[at] = value;
    return copy;
};

// A reply: the pieces to write, and whether the connection is closed after
// them.

const cut = (...pieces) => ({ pieces, closes: true });
const whole = (...pieces) => ({ pieces });
const bytes = (buffer) => Array.from(buffer, (_, i) => buffer.subarray(i, i + 1));

const replies = {
    'a head and a body': whole(...answer(JSON_HEAD + RESULT)),

    // The last record stays in one piece, because mod_proxy_fcgi would leave
    // its tail to the next call.

    'single bytes': whole(...bytes(out(JSON_HEAD + RESULT)), over),
    'single bytes of records of one byte': whole(...bytes(Buffer.concat(
        bytes(Buffer.from(JSON_HEAD + RESULT)).map(out))), over),
    'a head in a record of its own': whole(out(JSON_HEAD), out(RESULT), over),
    'a head in two records': whole(out(JSON_HEAD.slice(0, 9)),
        out(JSON_HEAD.slice(9) + RESULT), over),
    'lines that end with LF': whole(...answer(
        `Content-Type: application/json\n\n${RESULT}`)),
    'lines that end with CR LF or LF': whole(...answer(
        `X: y\r\nContent-Type: application/json\n\n${RESULT}`)),
    'a line with CR LF, then one with LF': whole(...answer(
        `Content-Type: application/json\r\n\n${RESULT}\r\n\r\n`)),
    'a body with empty lines': whole(...answer(
        `${JSON_HEAD}\n\n\r\n\r\n${RESULT}\r\n\r\n`)),
    'a Content-Type without a space': whole(...answer(
        `content-type:application/json\r\n\r\n${RESULT}`)),
    'a Content-Type with spaces around it': whole(...answer(
        `Content-Type:  application/json \r\n\r\n${RESULT}`)),
    'a Content-Type in capitals': whole(...answer(
        `Content-Type: Application/JSON; Charset=UTF-8\r\n\r\n${RESULT}`)),
    'a Content-Type of a kilobyte': whole(...answer(
        `Content-Type: application/json; x=${'y'.repeat(1000)}\r\n\r\n${RESULT}`)),
    'no Content-Type': whole(...answer(`X-Y: z\r\n\r\n${RESULT}`)),
    'two Content-Types': whole(...answer(
        `Content-Type: text/plain\r\n${JSON_HEAD}${RESULT}`)),
    'a status of 200': whole(...answer(`Status: 200 OK\r\n${JSON_HEAD}${RESULT}`)),
    'a status of 404': whole(...answer(
        'Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\nnot there')),
    'a status of 429': whole(...answer(
        `Status: 429\r\nRetry-After: 7\r\n${JSON_HEAD}${RESULT}`)),
    'a status of 503': whole(...answer(
        'Status: 503\r\nRetry-After: 7\r\nContent-Type: text/plain\r\n\r\nno')),
    'a status of 500': whole(...answer(
        'Status: 500\r\nContent-Type: text/plain\r\n\r\nno')),
    'a status of 204': whole(...answer(
        'Status: 204\r\nContent-Type: application/json\r\n\r\n')),
    'a status of 103': whole(...answer(`Status: 103\r\n${JSON_HEAD}${RESULT}`)),
    'a status that is not a number': whole(...answer(
        `Status: abc\r\n${JSON_HEAD}${RESULT}`)),
    'a Location': whole(...answer(
        `Location: http://localhost/\r\n${JSON_HEAD}${RESULT}`)),
    'a redirect': whole(...answer(
        'Status: 302\r\nLocation: /\r\nContent-Type: text/plain\r\n\r\n')),
    'a wrong Content-Length': whole(...answer(
        `Content-Length: 3\r\n${JSON_HEAD}${RESULT}`)),
    '4000 header lines': whole(...answer(
        `${'X-Y: z\r\nSet-Cookie: a=b\r\n'.repeat(2000)}${JSON_HEAD}${RESULT}`)),
    'a header line of 8000 bytes': whole(...answer(
        `X: ${'y'.repeat(8000)}\r\n${JSON_HEAD}${RESULT}`)),
    'a header line of 8200 bytes': whole(...answer(
        `X: ${'y'.repeat(8200)}\r\n${JSON_HEAD}${RESULT}`)),
    'a header line without a colon': whole(...answer(
        `oops\r\n${JSON_HEAD}${RESULT}`)),
    'a header line with NUL': whole(...answer(`X: y\0z\r\n${JSON_HEAD}${RESULT}`)),
    'a header line that begins with NUL': whole(...answer(
        `\0X: y\r\n${JSON_HEAD}${RESULT}`)),
    'a body without a head': whole(...answer(RESULT)),
    'an empty head': whole(...answer(`\r\n${RESULT}`)),
    'no body after the head': whole(...answer(JSON_HEAD)),
    'an unfinished head': whole(...answer('Content-Type: application/json\r\n')),
    'no output': whole(over),
    'no end of STDOUT': whole(out(JSON_HEAD + RESULT),
        record(END, 1, Buffer.alloc(8))),
    'an END_REQUEST alone': whole(record(END, 1, Buffer.alloc(8))),
    'FCGI_OVERLOADED': whole(
        record(END, 1, Buffer.from([0, 0, 0, 0, 2, 0, 0, 0]))),
    'an END_REQUEST without content': whole(
        out(JSON_HEAD + RESULT), record(STDOUT, 1), record(END, 1)),
    'STDOUT after its end': whole(out(JSON_HEAD + RESULT), record(STDOUT, 1),
        out('more'), over),
    'a large body': whole(out(JSON_HEAD + RESULT.slice(0, -1)),
        ...Array(6).fill(out(' '.repeat(60000))), out('}'), over),
    'an event stream': whole(out('Content-Type: text/event-stream\r\n\r\n'),
        out(': one\n\n'), out(`data: ${RESULT}\n`), out('\n'), over),
    'messages on STDERR': whole(
        err('first\n'), out(JSON_HEAD), err('PHP message: x'),
        out(RESULT), record(STDERR, 1), over),
    'a record of an unknown type': whole(record(10, 1, Buffer.from('ignored')),
        ...answer(JSON_HEAD + RESULT)),
    'a record of another request': whole(changed(out('x'), 3, 2),
        ...answer(JSON_HEAD + RESULT)),
    'a record of another version': whole(out(JSON_HEAD), out('{'),
        changed(out('}'), 0, 2)),
    'HTTP instead of FastCGI': cut(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'a closed connection': cut(),
    'a connection closed in a record\'s head': cut(
        out(JSON_HEAD), Buffer.from([1, STDOUT])),
    'a connection closed before the body': cut(out(JSON_HEAD)),
    'a connection closed in the body': cut(out(JSON_HEAD), out('{'),
        out(RESULT).subarray(0, 20)),
    'a connection closed in the padding': cut(out(JSON_HEAD),
        out('12345').subarray(0, 14)),
    'a connection closed without END_REQUEST': cut(out(JSON_HEAD + RESULT),
        record(STDOUT, 1)),
};

// Sections of backends, by the name of the tool; %s is the backend's address.

const sections = {
    root: 'SetHandler "proxy:fcgi://%s/"',
    script: 'SetHandler "proxy:fcgi://%s/srv/tool.py"',
    mapped: 'ProxyPass "fcgi://%s/srv/app/"',
    balanced: 'SetHandler "proxy:balancer://pair/srv/tool.py"',
    path: `SetEnv proxy-fcgi-pathinfo unescape
           SetHandler "proxy:fcgi://%s/srv/tool.py/more%%20path"`,
    generic: `ProxyFCGIBackendType GENERIC
              SetHandler "proxy:fcgi://%s/srv/tool.py"`,
    fixed: `ProxyFCGISetEnvIf "true" SCRIPT_FILENAME "/fixed"
            SetHandler "proxy:fcgi://%s/srv/tool.py"`,
    environment: `SetEnv SOME thing
                  SetEnv EMPTY ""
                  SetEnv PATH /nowhere
                  SetEnv SERVER_NAME forged
                  SetEnv HTTP_X_FORGED 1
                  SetEnv REQUEST_METHOD forged
                  SetEnvIf Request_URI . SEEN=yes
                  SetHandler "proxy:fcgi://%s/"`,
    headers: `RequestHeader set X-Added "some \\"thing\\""
              RequestHeader set X-Long "${'y'.repeat(300)}"
              RequestHeader set Proxy evil
              RequestHeader set X_Bad name
              RequestHeader set Authorization "Bearer of-nobody"
              RequestHeader unset Accept
              SetHandler "proxy:fcgi://%s/"`,
    passing: `CGIPassAuth On
              RequestHeader set Authorization "Bearer of-somebody"
              SetHandler "proxy:fcgi://%s/"`,
    unmeasured: `RequestHeader unset Content-Length
                 SetHandler "proxy:fcgi://%s/"`,
    current: `CGIVar REQUEST_URI current-uri
              ServerSignature On
              ContentDigest On
              SetHandler "proxy:fcgi://%s/"`,
    long: `SetEnv LONG "${'y'.repeat(6000)}"
           SetHandler "proxy:fcgi://%s/"`,
    longer: `SetEnv LONG "${'y'.repeat(7900)}"
             SetEnv LONGER "${'y'.repeat(7900)}"
             SetHandler "proxy:fcgi://%s/"`,
};

// Parameters that differ between two equal calls.

const OTHERS = ['MCP_CALL', 'MCP_REQUEST_ID', 'MCP_PUBLISH_URL', 'MCP_WORKER',
                'MCP_SESSION', 'REMOTE_PORT'];


/*
 * The backend. Returns the calls that it got: { name, port (of the server),
 * params, body, pieces, socket }.
 */

async function responder() {
    const calls = [];

    const reply = async (socket, { pieces, closes }) => {
        for (const piece of pieces) {
            socket.write(piece);

            if (piece.length === 1) {
                await new Promise(setImmediate);
            }
        }

        if (closes) {
            socket.end();
        }
    };

    const server = net.createServer({ noDelay: true }, (socket) => {
        let data = Buffer.alloc(0);
        let pieces = 0;

        socket.on('error', () => {});
        socket.on('data', (more) => {
            const input = { [PARAMS]: [], [STDIN]: [] };

            data = Buffer.concat([data, more]);
            pieces++;

            for (let at = 0, length; data.length - at >= 8; at += 8 + length) {
                const type = data[at + 1];

                length = data.readUInt16BE(at + 4);
                input[type]?.push(data.subarray(at + 8, at + 8 + length));

                if (type === STDIN && length === 0) {
                    const params = pairs(Buffer.concat(input[PARAMS]));

                    calls.push({ params, pieces, socket, name: params.MCP_NAME,
                                 port: params.SERVER_PORT,
                                 body: Buffer.concat(input[STDIN]) });
                    data = Buffer.alloc(0);
                    pieces = 0;
                    reply(socket, calls.script[params.MCP_NAME]
                                  ?? replies['a head and a body']);
                    return;
                }
            }
        });
    });

    calls.script = {};
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => server.close());
    calls.address = `127.0.0.1:${server.address().port}`;

    return calls;
}

const calls = await responder();

const tools = (names) => JSON.stringify({
    tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) });

// "reply_7" is the reply with index 7.

const names = Object.fromEntries(Object.keys(replies)
    .map((name, i) => [`reply_${i}`, name]));

Object.entries(names).forEach(([tool, name]) => {
    calls.script[tool] = replies[name];
});

const more = ['filtered', 'silent', 'stuck', 'overridden'];
const options = {
    workers: 1,
    location: {
        mcp_catalog: SERVER === 'apache' && await file('fastcgi.json',
            tools([...Object.keys(names), ...Object.keys(sections), ...more])),
        mcp_close_after: 'off',
        apache: ['MCPBackend /backend/replies',
                 ...[...Object.keys(sections), ...more].map((name) =>
                     `MCPRoute ${name} /backend/${name}`)].join('\n'),
    },
    server: Object.entries({
        replies: sections.root,
        ...sections,
        filtered: `SetOutputFilter SUBSTITUTE
                   Substitute s/done/changed/
                   ${sections.root}`,
        silent: 'SetHandler "proxy:fcgi://%s/silent"',
        stuck: 'SetHandler "proxy:fcgi://%s/silent"',
        overridden: `ProxyErrorOverride On
                     ${sections.root}`,
    }).map(([name, section]) => `
        <Location "/backend/${name}">
            ${section.replace('%s', name === 'silent' || name === 'stuck'
                ? calls.address.replace('127.0.0.1', 'localhost')
                : calls.address).replace('%%', '%')}
        </Location>`).join(''),
};

const http = `
    ${load('proxy_balancer', 'lbmethod_byrequests', 'slotmem_shm', 'substitute')}
    ServerAdmin admin@example.com
    <Proxy "fcgi://${calls.address}/">
        ProxySet enablereuse=on retry=0
    </Proxy>
    <Proxy "fcgi://${calls.address.replace('127.0.0.1', 'localhost')}/">
        ProxySet timeout=1 retry=0
    </Proxy>
    <Proxy "balancer://pair">
        BalancerMember fcgi://${calls.address}
    </Proxy>`;


suite('a FastCGI backend', async () => {
    const own = await Fixture.use({ ...options, http });
    const theirs = await Fixture.use({ ...options, http: `${http}
        ProxyFCGISetEnvIf "false" NEVER "there"` });
    const servers = [own, theirs];
    const sessions = await Promise.all(servers.map((one) => one.session()));

    const of = (server) => calls.filter(({ port }) =>
        port === String(server.port));

    // Replaces the ports, paths and call ids in which the two servers differ.

    const even = (server, text) => text
        .replaceAll(String(server.port), 'PORT')
        .replace(/\/fixture\.\w+/g, '/fixture')
        .replace(/\bcall [\w-]+/g, 'call ID');

    // Returns the client's result or error, and the new log lines from warn up.

    async function outcome(i, name, args) {
        const before = (await servers[i].log()).length;
        const { result, error } = await sessions[i].response('tools/call',
            { name, arguments: args ?? {} });
        const lines = (await servers[i].log()).slice(before).split('\n')
            .filter((line) => /\[(warn|error|crit|alert|emerg)\]/.test(line))
            .map((line) => line.replace(/^.*?\[/, '[')
                .replace(/(\] )\S+/, '$1PROCESS')
                .replace(/, client: .*/, ''));

        return { result, error: error && even(servers[i], JSON.stringify(error)),
                 log: lines.map((line) => even(servers[i], line)) };
    }

    async function same(name, args) {
        const [first, second] = [await outcome(0, name, args),
                                 await outcome(1, name, args)];

        assert.deepEqual(first, second);

        return first;
    }

    for (const name of Object.keys(sections)) {
        test(`backend section "${name}": the same parameters as from mod_proxy_fcgi`,
             async () => {
            await same(name, { a: 'b' });

            const [first, second] = servers.map((server) => {
                const { params, body } = of(server).at(-1);
                const values = Object.entries(params)
                    .filter(([key]) => !OTHERS.includes(key))
                    .map(([key, value]) => [key, even(server, value)]);

                return { body: even(server, body.toString()),
                         values: Object.fromEntries(values),
                         names: Object.keys(params).sort() };
            });

            assert.equal(first.values.MCP_NAME, name);
            assert.deepEqual(first, second);
        });
    }

    test('request of 7 kB: the backend gets it in one piece', async () => {
        await sessions[0].tool('root', { text: 'x'.repeat(7000) });
        assert.equal(of(own).at(-1).pieces, 1);
        assert.equal(of(own).at(-1).body.length > 7000, true);
    });

    test('request of 100 kB: arrives whole at the backend', async () => {
        const text = 'x'.repeat(100000);

        await sessions[0].tool('root', { text });
        assert.ok(of(own).at(-1).body.includes(text));
    });

    for (const [tool, name] of Object.entries(names)) {
        test(`FastCGI reply with ${name}: the same result as with mod_proxy_fcgi`,
             () => same(tool));
    }

    test('call after all valid and broken FastCGI replies: answered',
         async () => {
        assert.equal(textOf(await sessions[0].tool('reply_0')), 'done');
    });

    test('output filter at the backend: changes its reply', async () => {
        assert.equal(textOf((await same('filtered')).result), 'changed');
    });

    test('ProxyErrorOverride On, reply with status 404: the same result as with mod_proxy_fcgi',
         async () => {
        calls.script.overridden = replies['a status of 404'];
        await same('overridden');
    });

    test('silent backend: mod_mcp and mod_proxy_fcgi log the same timeout',
         async () => {
        calls.script.silent = whole();
        assert.match((await same('silent')).log.at(-1), /timed out/);
    });

    test('backend stops in its answer: mod_mcp and mod_proxy_fcgi log the same timeout',
         async () => {
        calls.script.stuck = whole(out(JSON_HEAD), out('{'));
        assert.match((await same('stuck')).log.at(-1),
                     /timed out in the middle of its answer/);
    });

    test('backend closes a kept connection between two calls: the next call opens another', {
        skip: MPM === 'prefork' && 'each process keeps its own',
    }, async () => {
        for (let i = 0; i < 3; i++) {
            await sessions[0].tool('root');
        }

        const { socket } = of(own).at(-1);

        assert.equal(of(own).at(-2).socket, socket);
        socket.end();
        await once(socket, 'finish');

        const before = of(own).length;

        assert.equal(textOf(await sessions[0].tool('root')), 'done');
        assert.equal(of(own).length, before + 1);
        assert.notEqual(of(own).at(-1).socket, socket);
    });

    test('backend sends data after its reply: its connection is not used again', {
        skip: MPM === 'prefork' && 'each process keeps its own',
    }, async () => {
        calls.script.root = whole(Buffer.concat([
            ...replies['a head and a body'].pieces, out('more')]));
        assert.equal(textOf(await sessions[0].tool('root')), 'done');
        delete calls.script.root;

        const { socket } = of(own).at(-1);

        assert.equal(textOf(await sessions[0].tool('root')), 'done');
        assert.notEqual(of(own).at(-1).socket, socket);
    });

    // The stray reply must not reach the next call.

    for (const [i, which] of ['mod_mcp', 'mod_proxy_fcgi'].entries()) {
        test(`backend sends a reply without a request, between two calls by ${which}: the reply is dropped`, {
            skip: MPM === 'prefork' && 'each process keeps its own',
        }, async () => {
            const stray = JSON_HEAD + RESULT.replace('done', 'another\'s');

            assert.equal(textOf(await sessions[i].tool('root')), 'done');

            const { socket } = of(servers[i]).at(-1);

            await promisify(socket.write).call(socket,
                Buffer.concat(answer(stray)));
            assert.equal(textOf(await sessions[i].tool('root')), 'done');
            assert.notEqual(of(servers[i]).at(-1).socket, socket);
            assert.match(await servers[i].log(), /data after the end of its reply/);
            assert.equal(textOf(await sessions[i].tool('root')), 'done');
        });
    }

    for (const name of ['no output', 'an END_REQUEST alone', 'FCGI_OVERLOADED']) {
        test(`FastCGI reply with ${name}: -32603, the log has "ended without an answer"`,
             async () => {
            const tool = Object.keys(names).find((key) => names[key] === name);
            const { error, log } = await same(tool);

            assert.match(error, /-32603/);
            assert.match(log.at(-1), /ended without an answer/);
        });
    }
});


suite('sockets of one worker', async () => {
    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-sockets-'));

    await fs.chmod(dir, 0o755);
    after(() => fs.rm(dir, { recursive: true, force: true }));

    for (const name of ['one', 'other']) {
        const server = await fastcgi(`${dir}/${name}`, (x) => {
            x.head(200, 'application/json');
            x.write(RESULT.replace('done', name));
            x.end();
        });

        await fs.chmod(`${dir}/${name}`, 0o777);
        after(() => server.close());
    }

    const fixture = await Fixture.use({
        workers: 1,
        location: {
            mcp_catalog: await file('sockets.json', tools(['one', 'other'])),
            apache: `MCPBackend /backend/one
                     MCPRoute other /backend/other`,
        },
        server: ['one', 'other'].map((name) => `
            <Location "/backend/${name}">
                SetHandler "proxy:unix:${dir}/${name}|fcgi://sockets/"
            </Location>`).join(''),
        http: `<Proxy "fcgi://sockets/">
                   ProxySet enablereuse=on
               </Proxy>`,
    });
    const session = await fixture.session();

    test('two backends with sockets, one worker: each call reaches its own backend',
         async () => {
        for (const name of ['one', 'other', 'other', 'one', 'one', 'other']) {
            assert.equal(textOf(await session.tool(name)), name);
        }
    });
});
