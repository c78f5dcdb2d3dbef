// SPDX-License-Identifier: Apache-2.0

// Streams with a URL in a Link header: the cases of this resumption method
// alone (resume-methods.test.mjs has the common ones).

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import { Fixture, SERVER, freePort } from './lib/fixture.mjs';
import { at, held, pause, rest, urlOf } from './lib/held-calls.mjs';
import { textOf } from './lib/session.mjs';
import { request, request2 } from './lib/wire.mjs';

const server = await Fixture.use({ workers: 4,
    location: { mcp_close_after: 'off',
                mcp_link: 'on' } });
const without = await Fixture.use({ workers: 1 });
const session = await server.session({ capabilities: { elicitation: {} } });

const accept = ({ id, params }) => ({ jsonrpc: '2.0', id, result: {
    action: 'accept', content: { value: params?.message } } });

const fails = async (answer, status = 404) => {
    assert.equal(answer.status, status);
    assert.equal(answer.headers['cache-control'], 'no-store');

    return (await answer.json()).error.message;
};

const nothing = (answer) => {
    assert.equal(answer.status, 204);
    assert.equal(answer.headers['cache-control'], 'no-store');
};


// Reads the questions of a stream until the server ends it.

async function questions(answer) {
    const asked = [];

    for (let message; (message = await answer.message());) {
        asked.push(message);
    }

    assert.equal(answer.ending, 'end');
    assert.match(answer.blocks.at(-1).retry, /^\d+$/);

    return asked;
}


test('mcp_link on: each stream has a URL of the endpoint\'s origin, other responses have none',
     async () => {
    const call = await held(session, 1);
    const url = urlOf(call.answer);

    assert.equal(url.origin, `http://127.0.0.1:${server.port}`);
    assert.equal(url.pathname, '/mcp');
    await session.open(call.gate);
    await rest(call.answer, call.id);

    const listener = await session.get();

    assert.equal(urlOf(listener).origin, url.origin);
    listener.close();
    assert.equal((await session.request('ping')).headers.link, undefined);

    const plain = await without.session();
    const { answer, gate, id } = await held(plain, 1);

    assert.equal(answer.headers.link, undefined);
    await plain.open(gate);
    await rest(answer, id);
});


test('request target in absolute form, other host in the Host header: the stream\'s URL has the host of the target',
     async () => {
    const own = `http://localhost:${server.port}`;
    const post = (path, body, headers = {}) => session.send({ path,
        headers: session.headers({ 'Content-Type': 'application/json',
                                   Host: 'elsewhere.example', ...headers }),
        body: JSON.stringify(body) });

    const answer = await post(`${own}/mcp?a=b`, { jsonrpc: '2.0', id: 'abs',
        method: 'tools/call', params: { name: 'ask',
                                        arguments: { rounds: 1 } } });
    const url = urlOf(answer);

    assert.equal(url.origin, own);
    assert.equal(url.pathname, '/mcp');
    assert.equal(url.searchParams.get('a'), 'b');

    const asked = await questions(answer);

    nothing(await at(url, { last: answer.lastId }));

    const { response } = await rest(await post(url.href, asked.map(accept)),
                                    'abs');

    assert.equal(textOf(response.result), 'asked 1 times: Question 0.0');

    // the Origin of a page is compared with the target's host as well

    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

    for (const [to, Host, status] of [
        [own, 'elsewhere.example', 200],
        ['http://elsewhere.example', `localhost:${server.port}`, 403],
    ]) {
        assert.equal((await post(`${to}/mcp`, ping, { Host, Origin: own }))
            .status, status);
    }
});


test('request target with bytes that a URL cannot contain: percent-encoded in the stream\'s URL',
     async () => {
    const first = await session.send({ method: 'GET',
        path: '/mcp?a="<b>"&c=d',
        headers: session.headers({ Accept: 'text/event-stream' }) });
    const url = urlOf(first);

    assert.ok(url.search.startsWith('?a=%22%3Cb%3E%22&c=d&mcp-stream='));

    // the same stream: the older connection ends

    const again = await at(url);

    assert.equal(again.status, 200);
    assert.equal(await first.ended, 'end');
    assert.ok(urlOf(again).search.startsWith('?a=%22%3Cb%3E%22&c=d&mcp-'));
    again.close();
});


test('mcp_link_origin is invalid: rejected at the start', async () => {
    for (const origin of ['https://a.example/', '"a b"', 'ftp://a.example']) {
        await assert.rejects(
            Fixture.start({ workers: 1, location: {
                nginx: `mcp_link_origin ${origin};`,
                apache: `MCPLinkOrigin ${origin}` } }),
            { message: /" is not of the form http:\/\/host\[:port\]/ });
    }
});


test('variable makes mcp_link_origin invalid: no Link header, a line in the log',
     async () => {
    const warned = await Fixture.use({ workers: 1, location: {
        mcp_link: 'on',
        nginx: 'mcp_link_origin https://a.example$http_x_rest;',
        apache: 'MCPLinkOrigin "https://a.example%{HTTP:X-Rest}"' } });
    const client = await warned.session();

    for (const [rest, is] of [[':81', true], ['/', false], ['/b', false]]) {
        const listener = await client.get(undefined,
            { headers: { 'X-Rest': rest } });

        assert.equal(listener.status, 200);
        assert.equal(listener.headers.link !== undefined, is);
        listener.close();
    }

    assert.deepEqual(
        (await warned.log()).match(/a stream has no URL, because "[^"]*"/g),
        ['a stream has no URL, because "https://a.example/"']);
});


test('questions one after the other: the stream after each answer has a new URL, a used URL gets 404',
     async () => {
    let answer = await session.call('ask', { rounds: 3, count: 2 });
    const { id } = answer;
    let url = urlOf(answer);

    for (let round = 0; round < 3; round++) {
        const asked = await questions(answer);

        assert.deepEqual(asked.map((m) => m.params.message),
            [`Question ${round}.0`, `Question ${round}.1`]);

        for (let i = 0; i < 3; i++) {
            nothing(await at(url, { last: answer.lastId }));
        }

        // a client that has not read the questions gets them again

        const lost = await questions(await at(url));

        assert.deepEqual(lost.map((m) => m.id), asked.map((m) => m.id));

        const spent = url;
        const last = answer.lastId;

        answer = await at(url, { method: 'POST', body: asked.map(accept) });
        assert.equal(answer.status, 200);
        url = urlOf(answer);
        assert.notEqual(url.href, spent.href);

        // GET uses the new URL: the stream continues after the same event

        answer = Object.assign(await at(url, { last }), { id });
        assert.equal(answer.status, 200);
        url = urlOf(answer);
        await fails(await at(spent));
        await fails(await at(spent, { last }));
        await fails(await at(spent, { method: 'POST',
                                      body: asked.map(accept) }));
    }

    const { messages, response } = await rest(answer, id);

    assert.deepEqual(messages, []);
    assert.equal(textOf(response.result),
                 'asked 3 times: Question 2.0,Question 2.1');
    nothing(await at(url, { last: answer.lastId }));
});


test('question ends a stream: the last retry of this stream is 100 ms, the next stream has only the retry of mcp_retry',
     async () => {
    const answer = await session.call('ask', { rounds: 1 });
    const retry = ({ blocks }) => blocks.filter((b) => b.retry)
        .map((b) => Number(b.retry));
    const asked = await questions(answer);
    const usual = retry(answer)[0];

    assert.deepEqual(retry(answer), [usual, 100]);
    assert.ok(usual > 100);

    const back = await at(urlOf(answer), { method: 'POST',
                                           body: asked.map(accept) });

    assert.ok((await rest(back, answer.id)).response.result);
    assert.deepEqual(retry(back), [usual]);
});


test('POST of one answer at a time to a stream\'s URL: the response has the remaining questions',
     async () => {
    const first = await session.call('ask', { rounds: 1, count: 3 });
    const asked = await questions(first);
    const ids = asked.map((m) => m.id);
    const post = (url, n) => at(url, { method: 'POST',
                                       body: [accept(asked[n])] });

    assert.deepEqual(ids, first.blocks.filter((b) => b.data).map((b) => b.id));

    // the answered question, and those before it, have arrived

    const second = await post(urlOf(first), 1);

    assert.deepEqual((await questions(second)).map((m) => m.id), [ids[2]]);
    nothing(await at(urlOf(second), { last: ids[2] }));
    await fails(await at(urlOf(first)));

    const third = await post(urlOf(second), 0);

    assert.deepEqual((await questions(third)).map((m) => m.id), [ids[2]]);

    const { messages, response } = await rest(await post(urlOf(third), 2),
                                              first.id);

    assert.deepEqual(messages, []);
    assert.equal(textOf(response.result),
                 'asked 1 times: Question 0.0,Question 0.1,Question 0.2');
    await fails(await at(urlOf(second)));
});


// In any state of the call in its own process.

test('POST of answers to a stream\'s URL, one of them an error: the call\'s result has isError',
     async () => {
    for (let i = 0; i < 12; i++) {
        const answer = await session.call('ask', { rounds: 1, count: 2 });
        const [first, second] = await questions(answer);
        const { messages, response } = await rest(
            await at(urlOf(answer), { method: 'POST', body: [
                { jsonrpc: '2.0', id: first.id,
                  error: { code: -1, message: 'no' } },
                accept(second)] }), answer.id);

        assert.deepEqual(messages, []);
        assert.equal(response.result.isError, true);
    }
});


test('two POSTs of the same answer to a stream\'s URL at once: both are accepted, the answer is used once',
     async () => {
    for (let i = 0; i < 12; i++) {
        const answer = await session.call('ask', { rounds: 1, count: 1 });
        const url = urlOf(answer);
        const body = (await questions(answer)).map(accept);
        const both = await Promise.all([1, 2].map(async () => {
            const one = await at(url, { method: 'POST', body });

            assert.equal(one.status, 200);

            return rest(one, answer.id);
        }));

        // one connection may have taken the stream over from the other

        const ended = both.filter(({ response }) => response);

        assert.ok(ended.length >= 1);

        for (const { response } of ended) {
            assert.equal(textOf(response.result),
                         'asked 1 times: Question 0.0');
        }

        for (const { messages, ending } of both) {
            assert.deepEqual(messages, []);
            assert.equal(ending, 'end');
        }
    }
});


// The client lacks the new URL: the old one is valid, and the endpoint accepts
// the event id.

test('response to the POST of answers is lost: the old URL of the stream is still valid',
     async () => {
    const first = await session.call('ask', { rounds: 1 });
    const asked = await questions(first);
    const body = asked.map(accept);
    const other = body.map((answer) => ({ ...answer,
                                          result: { action: 'decline' } }));
    const said = 'asked 1 times: Question 0.0';
    const url = urlOf(first);

    (await at(url, { method: 'POST', body })).close();

    // in turn, because each connection takes the stream over from the one
    // before

    for (const ask of [() => at(url, { last: first.lastId }),
                       () => at(url, { method: 'POST', body }),
                       () => at(url, { method: 'POST', body: other }),
                       () => session.get(first.lastId)]) {
        const answer = await ask();

        assert.equal(answer.status, 200);
        assert.equal(textOf((await rest(answer, first.id)).response.result),
                     said);
    }

    // until a newer URL was used

    const last = await at(url, { method: 'POST', body });

    assert.ok((await rest(await at(urlOf(last)), first.id)).response);
    await fails(await at(url));
    await fails(await at(url, { method: 'POST', body }));
});


test('question in 2025-03-26 or 2025-06-18: the stream ends, its URL accepts the answer',
     async () => {
    for (const version of ['2025-03-26', '2025-06-18']) {
        const old = await server.session({ version,
            capabilities: { elicitation: {}, roots: {} } });
        const answer = await old.call(version < '2025-06' ? 'ask_roots' : 'ask',
                                      { rounds: 1 });

        // the connection ends, or this would wait for ever

        const asked = await questions(answer);

        nothing(await at(urlOf(answer), { last: asked.at(-1).id }));
        assert.ok((await rest(await at(urlOf(answer), { method: 'POST',
            body: asked.map((question) => ({ ...accept(question),
                result: { action: 'accept', content: { value: 'x' },
                          roots: [] } })) }), answer.id)).response.result);
    }
});


test('stream\'s URL with one or two percent-encoded tokens: accepted if the last token is valid',
     async () => {
    const call = await held(session, 1, 1);
    const url = urlOf(call.answer);
    const token = url.searchParams.get('mcp-stream');
    const path = `/mcp?mcp%2Dstream=${[...token].map((c) => `%${
        c.charCodeAt(0).toString(16)}`).join('')}`;
    const get = (target) => session.send({ method: 'GET', path: target,
        headers: { Accept: 'text/event-stream' } });

    call.answer.close();

    for (const target of [path, `${path.replace('?', '?mcp-stream=x&')}`]) {
        const answer = await get(target);

        assert.equal(answer.status, 200);
        answer.close();
    }

    await fails(await get(`${path}&mcp-stream=x`));
    await session.open(call.gate);
    assert.ok((await rest(await get(path), call.id)).response.result);
});


test('client ignores the stream\'s URL: it can resume by event id', async () => {
    const asked = [];
    const { response, resumed } = await session.follow(
        await session.call('ask', { rounds: 2 }), {
            async onMessage(message) {
                asked.push(message);
                await session.post(accept(message));
            },
        });

    assert.equal(asked.length, 2);
    assert.ok(resumed > 0);
    assert.equal(textOf(response.result), 'asked 2 times: Question 1.0');
});


test('POST of something other than answers to a stream\'s URL: 400',
     async () => {
    const call = await held(session, 1, 1);
    const url = urlOf(call.answer);

    for (const body of [[], [{ jsonrpc: '2.0', id: 1, method: 'ping' }],
                        [{ jsonrpc: '2.0', id: call.answer.lastId,
                           result: 'x' }]]) {
        await fails(await at(url, { method: 'POST', body }), 400);
    }

    await session.open(call.gate);
    assert.ok((await rest(call.answer, call.id)).response.result);
});


// The servers' own log lines, with every variable that contains a URL.

const logs = {
    http: {
        nginx: `
            log_format  url '"$request" $request_uri ?$args ?$query_string';
            access_log  urls.log url;`,
        apache: `
            LogFormat       "\\"%r\\" %U%q ?%{QUERY_STRING}e" url
            CustomLog       urls.log url
            ExtendedStatus  On`,
    },
    server: {

        // a variable that is read before the location is known

        nginx: 'if ($request_uri = /nothing) { return 404; }',
    },
    location: {
        mcp_close_after: 'off',
        mcp_link: 'on',
        nginx: 'if ($http_x_refused) { return 403; }',
        apache: `Require expr "%{HTTP:X-Refused} == ''"`,
    },
};

async function noTokenInAnyLog(fixture, send) {
    const session = await fixture.session({ send });
    const call = await held(session, 1, 1);
    const url = urlOf(call.answer);
    const token = url.searchParams.get('mcp-stream');
    const stars = '*'.repeat(token.length);
    const path = url.pathname + url.search;
    const wanted = [];

    const ask = async (status, { method = 'GET', to = path, headers, body }) => {
        const answer = await session.send({ method, path: to, body, headers: {
            Accept: method === 'GET' ? 'text/event-stream'
                                     : 'application/json, text/event-stream',
            ...(method === 'POST' && { 'Content-Type': 'application/json' }),
            ...headers } });

        assert.equal(answer.status, status);
        wanted.push(`${method} ${to}`.replaceAll(token, stars));

        return answer;
    };

    call.answer.close();

    const dropped = await ask(200, {});

    await dropped.message();
    dropped.close();
    await ask(400, { headers: { 'Last-Event-ID': 'nonsense' } });
    await ask(403, { headers: { 'X-Refused': '1' } });
    await ask(400, { method: 'POST', body: '[]' });
    await ask(405, { method: 'PUT', body: '[]' });
    await ask(200, { to: `/mcp?a=1&mcp-stream=${token}&mcp-stream=${token}`
                         + '&b=2' }).then((answer) => answer.close());

    if (!send) {
        await ask(200, { to: url.href }).then((answer) => answer.close());
    }

    await session.open(call.gate);
    await rest(await ask(200, {}), call.id);

    // the server logs the dropped request once it has noticed

    let lines;

    do {
        await pause(20);
        lines = (await fs.readFile(`${fixture.prefix}/urls.log`, 'utf8'))
            .split('\n').filter((line) => line.includes('mcp-stream='));
    } while (lines.length < wanted.length);

    assert.deepEqual(lines.map((line) => /^"(\w+ \S+)/.exec(line)[1]).sort(),
                     wanted.sort());

    for (const log of ['urls.log', 'access.log', 'error.log']) {
        const text = await fs.readFile(`${fixture.prefix}/${log}`, 'utf8');

        for (const part of [token.slice(0, 16), token.slice(-16)]) {
            assert.ok(!text.includes(part), log);
        }
    }

    return { token, path };
}


test('token in a stream\'s URL: not written to any log', async () => {
    const fixture = await Fixture.use({ workers: 1, ...logs });
    const { token, path } = await noTokenInAnyLog(fixture);

    if (SERVER !== 'apache') {
        return;
    }

    // the status shows the request of a thread that waits for a body; idle
    // threads show their last request

    const waiting = path.replace('?', '?waits&');
    const socket = net.connect(fixture.port, '127.0.0.1');
    let text;

    socket.write(`POST ${waiting} HTTP/1.1\r\nHost: localhost\r\n`
                 + 'Content-Type: application/json\r\n'
                 + 'Accept: application/json, text/event-stream\r\n'
                 + 'Content-Length: 2\r\n\r\n');

    do {
        text = await (await request(fixture.port, {
            method: 'GET', path: '/server-status' })).text();
    } while (!text.includes('POST /mcp?waits&amp;mcp-stream=**'));

    socket.destroy();
    assert.ok(!text.includes(token.slice(0, 16)));
});


test('token in a stream\'s URL over HTTP/2: not written to any log',
     { skip: SERVER === 'apache' && process.env.FIXTURE_MPM === 'prefork'
             && 'mod_http2 does not run in prefork' }, async (t) => {
    const port = await freePort();
    const modules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules';
    const fixture = await Fixture.use({ workers: 1, ...logs,
        http: { ...logs.http, apache: `
            LoadModule http2_module ${modules}/mod_http2.so
            Protocols h2c http/1.1
            ${logs.http.apache}` },
        server: { ...logs.server, nginx: `
            listen 127.0.0.1:${port} http2;
            ${logs.server.nginx}` } });
    const client = http2.connect(`http://127.0.0.1:${
        SERVER === 'apache' ? fixture.port : port}`);

    t.after(() => client.destroy());
    await noTokenInAnyLog(fixture, (options) => request2(client, options));
});
