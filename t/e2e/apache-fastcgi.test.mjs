// SPDX-License-Identifier: Apache-2.0

// FastCGI backends of mod_proxy_fcgi: replies that are split, broken or cut at
// any place, and connections that are kept for the next call.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
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

// Replies whose call does not end with the result "done".

const others = {
    'a status of 204': 'no content',
    'a status of 404': 'isError: not there',
    'a status of 429': 'isError: done',
    'a status of 503': 'isError: no\nThe backend is not available: try again in 7 seconds.',
    'a status of 500': 'isError: no',
    'a header line that begins with NUL': JSON_HEAD + RESULT,
    'an unfinished head': 'Content-Type: application/json\r\n',
};

for (const name of [
    'a status of 103', 'a status that is not a number', 'a redirect',
    'a header line of 8200 bytes', 'a header line without a colon',
    'no body after the head', 'no output', 'an END_REQUEST alone',
    'FCGI_OVERLOADED', 'a record of another request',
    'a record of another version', 'HTTP instead of FastCGI',
    'a closed connection', 'a connection closed in a record\'s head',
    'a connection closed before the body', 'a connection closed in the body',
    'a connection closed in the padding',
    'a connection closed without END_REQUEST',
]) {
    others[name] = '-32603';
}

const section = 'SetHandler "proxy:fcgi://%s/"';


/*
 * The backend. Returns the calls that it got: { body, socket }.
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

        socket.on('error', () => {});
        socket.on('data', (more) => {
            const input = { [PARAMS]: [], [STDIN]: [] };

            data = Buffer.concat([data, more]);

            for (let at = 0, length; data.length - at >= 8; at += 8 + length) {
                const type = data[at + 1];

                length = data.readUInt16BE(at + 4);
                input[type]?.push(data.subarray(at + 8, at + 8 + length));

                if (type === STDIN && length === 0) {
                    const params = pairs(Buffer.concat(input[PARAMS]));

                    calls.push({ socket, body: Buffer.concat(input[STDIN]) });
                    data = Buffer.alloc(0);
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

const sections = {
    replies: section,
    kept: section,
    single: 'SetHandler "proxy:fcgi://%s/single"',
    filtered: `SetOutputFilter SUBSTITUTE
               Substitute s/done/changed/
               ${section}`,
    silent: 'SetHandler "proxy:fcgi://%s/silent"',
    stuck: 'SetHandler "proxy:fcgi://%s/silent"',
};
const local = calls.address.replace('127.0.0.1', 'localhost');
const options = {
    workers: 1,
    location: {
        mcp_catalog: SERVER === 'apache' && await file('fastcgi.json',
            tools([...Object.keys(names), ...Object.keys(sections)])),
        mcp_close_after: 'off',
        apache: ['MCPBackend /backend/replies',
                 ...Object.keys(sections).map((name) =>
                     `MCPRoute ${name} /backend/${name}`)].join('\n'),
    },
    server: Object.entries(sections).map(([name, text]) => `
        <Location "/backend/${name}">
            ${text.replace('%s', /silent|single/.test(text) ? local
                                                         : calls.address)}
        </Location>`).join(''),
};

const http = `
    ${load('substitute')}
    <Proxy "fcgi://${calls.address}/">
        ProxySet enablereuse=on retry=0
    </Proxy>
    <Proxy "fcgi://${local}/">
        ProxySet timeout=1 retry=0
    </Proxy>`;


suite('a FastCGI backend', async () => {
    const server = await Fixture.use({ ...options, http });
    const session = await server.session();

    // Returns how a call of the tool ended, and the new log lines from warn up.

    async function outcome(name) {
        const before = (await server.log()).length;
        const { result, error } = await session.response('tools/call',
                                                         { name, arguments: {} });
        const log = (await server.log()).slice(before).split('\n')
            .filter((line) => /\[(warn|error)\]/.test(line));

        if (error) {
            return { end: `${error.code}`, log };
        }

        const text = result.content.length ? textOf(result) : 'no content';

        return { end: `${result.isError ? 'isError: ' : ''}${text}`, log };
    }

    test('request of 100 kB to a FastCGI backend: arrives whole', async () => {
        const text = 'x'.repeat(100000);

        await session.tool('kept', { text });
        assert.ok(calls.at(-1).body.includes(text));
    });

    for (const [tool, name] of Object.entries(names)) {
        const end = others[name] ?? 'done';

        test(`FastCGI reply with ${name}: the call ends with ${JSON.stringify(end)}`,
             async () => {
            assert.equal((await outcome(tool)).end, end);
        });
    }

    test('FastCGI backend has sent valid and malformed replies: the next call succeeds',
         async () => {
        assert.equal((await outcome('reply_0')).end, 'done');
    });

    test('output filter in the <Location> of a FastCGI backend: it changes the backend\'s reply',
         async () => {
        assert.equal((await outcome('filtered')).end, 'changed');
    });

    test('FastCGI backend sends no reply: the log has "timed out"',
         async () => {
        calls.script.silent = whole();
        assert.match((await outcome('silent')).log.at(-1), /timed out/);
    });

    test('FastCGI backend stops in the middle of its reply: the log has "timed out"',
         async () => {
        calls.script.stuck = whole(out(JSON_HEAD), out('{'));
        assert.match((await outcome('stuck')).log.at(-1),
                     /timed out in the middle of its response/);
    });

    test('backend closes a kept connection between two calls: the next call opens a new connection',
         {
        skip: MPM === 'prefork' && 'each process keeps its own',
    }, async () => {
        for (let i = 0; i < 3; i++) {
            await session.tool('kept');
        }

        const { socket } = calls.at(-1);

        assert.equal(calls.at(-2).socket, socket);
        socket.end();
        await once(socket, 'finish');

        const before = calls.length;

        assert.equal(textOf(await session.tool('kept')), 'done');
        assert.equal(calls.length, before + 1);
        assert.notEqual(calls.at(-1).socket, socket);
    });

    test('FastCGI backend without enablereuse sends bytes after its reply: the next call does not get these bytes',
         async () => {
        calls.script.single = whole(Buffer.concat([
            ...replies['a head and a body'].pieces,
            ...answer(JSON_HEAD + RESULT.replace('done', 'another\'s'))]));

        for (let i = 0; i < 2; i++) {
            assert.equal(textOf(await session.tool('single')), 'done');
        }
    });

    for (const name of ['no output', 'an END_REQUEST alone', 'FCGI_OVERLOADED']) {
        test(`FastCGI reply with ${name}: the log says that the backend ended the request without a response`,
             async () => {
            const tool = Object.keys(names).find((key) => names[key] === name);

            assert.match((await outcome(tool)).log.at(-1),
                         /ended the request without a response/);
        });
    }
});


suite('FastCGI backends that share a mod_proxy worker', async () => {
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

    test('two FastCGI backends at Unix sockets that share a mod_proxy worker: each call reaches its own backend',
         async () => {
        for (const name of ['one', 'other', 'other', 'one', 'one', 'other']) {
            assert.equal(textOf(await session.tool(name)), name);
        }
    });
});
