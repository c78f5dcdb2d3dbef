// SPDX-License-Identifier: Apache-2.0

// An MCP server whose stream of a call ends before the response, because the
// server closes it or the connection breaks: the module continues it by GET.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { textOf } from './lib/session.mjs';
import { done, event, recording, reload, withSessions }
    from './lib/upstream.mjs';

const upstream = await withSessions();
const server = await Fixture.use({
    without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
    location: { mcp_stream_after: '0', mcp_backend: 'sessions' },
    backends: { sessions: { http: upstream.port, upstream: 'session' } },
});

const CAN = { elicitation: {}, roots: {} };
const result = { content: [{ type: 'text', text: 'resumed' }] };
const note = (data) => ({ jsonrpc: '2.0', method: 'notifications/message',
                          params: { level: 'error', data } });
const head = ({ res }) =>
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
const priming = (id, retry = 10) => `id: ${id}\nretry: ${retry}\ndata: \n\n`;
const gets = () => upstream.requests.filter(({ body }) =>
    body.method === 'GET');
const calls = () => upstream.requests.filter(({ body }) =>
    body.method === 'tools/call');

// The response to the last call, on another stream.

const response = () => event(done(calls().at(-1).body, result));

// The stream of a call ends after an event with the id "first".

function closesEarly(more = '') {
    upstream.answer = (call) => {
        head(call);
        call.res.end(priming('first') + more);
    };
}

// Each GET has the next reply of a list, and later ones the last one.

function resumes(...replies) {
    upstream.resume = (call) => {
        const reply = replies.length > 1 ? replies.shift() : replies[0];

        if (typeof reply !== 'string') {
            return typeof reply === 'function' ? reply(call) : reply;
        }

        head(call);
        call.res.end(reply);

        return undefined;
    };
}

const REFUSED = { status: 405, type: 'text/plain', text: '' };

beforeEach(() => {
    upstream.requests.length = 0;
    upstream.described.length = 0;
    upstream.steps.length = 0;
});


describe('stream that the server closes before the response', () => {
    test('MCP server closes the stream of a call: a GET with the last event id gets the response',
         async () => {
        closesEarly();
        resumes((call) => {
            head(call);
            call.res.end(response());
        });

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'resumed');
        assert.equal(calls().length, 1);
        assert.equal(gets().length, 1);

        const { headers, text } = gets()[0];

        assert.equal(headers['last-event-id'], 'first');
        assert.equal(headers['mcp-session-id'],
                     calls()[0].headers['mcp-session-id']);
        assert.equal(headers['mcp-protocol-version'], '2025-06-18');
        assert.match(headers.accept, /text\/event-stream/);
        assert.equal(headers['mcp-method'], undefined);
        assert.equal(text, '');
        assert.equal(calls()[0].headers['last-event-id'], undefined);
    });

    test('MCP server closes the stream of a call several times: each GET has the id of the last event',
         async () => {
        closesEarly(`id: one\n${event(note(1))}`);
        resumes(`id: two\n${event(note(2))}`, `id: three\n${event(note(3))}`,
                (call) => {
                    head(call);
                    call.res.end(`id: four\n${response()}`);
                });

        const it = await server.session();
        const { messages, response: last } =
            await it.follow(await it.call('add'));

        assert.deepEqual(messages.map(({ params }) => params.data), [1, 2, 3]);
        assert.equal(textOf(last.result), 'resumed');
        assert.deepEqual(gets().map(({ headers }) => headers['last-event-id']),
                         ['one', 'two', 'three']);
    });

    test('stream of a call is cut within an event: the event is dropped, the GET has the id of the event before',
         async () => {
        upstream.answer = (call) => {
            head(call);
            call.res.write(`${priming('first')}id: second\ndata: {"json`);
            setImmediate(() => call.res.destroy());
        };
        resumes((call) => {
            head(call);
            call.res.end(response());
        });

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'resumed');
        assert.equal(gets()[0].headers['last-event-id'], 'first');
    });

    test('MCP server is unreachable for some time: the GET is repeated until it gets the response',
         async () => {
        closesEarly();
        resumes(({ res }) => { res.destroy(); },
                { status: 503, type: 'text/plain', text: '' },
                { status: 409, error: { code: -32000, message: 'Conflict' } },
                '', (call) => {
                    head(call);
                    call.res.end(response());
                });

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'resumed');
        assert.equal(calls().length, 1);
        assert.equal(gets().length, 5);
    });

    test('resumed stream has responses to other requests: they are ignored',
         async () => {
        closesEarly();
        resumes((call) => {
            head(call);
            call.res.write(event(done({ id: 1 }, { content: [] })));
            call.res.write(event(done({ id: 'x' }, { content: [] })));
            call.res.end(response());
        });

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'resumed');
    });

    test('MCP server keeps a resumed stream open after the response: the module closes it',
         async () => {
        const closed = Promise.withResolvers();

        closesEarly();
        resumes((call) => {
            head(call);
            call.res.on('close', closed.resolve);
            call.res.write(response());
        });

        const it = await server.session();

        assert.equal(textOf(await it.tool('add')), 'resumed');
        await closed.promise;
        assert.ok(!upstream.steps.includes('notifications/cancelled'));
    });

    test('reload before the response to the GET: the call continues', async () => {
        const released = Promise.withResolvers();

        closesEarly(event(note('begins')));
        resumes(async (call) => {
            await released.promise;
            head(call);
            call.res.end(response());
        });

        const it = await server.session();
        const answer = await it.call('add');

        await answer.message();
        answer.close();
        await server.reload();
        released.resolve();

        const resumed = await it.get(answer.lastId);

        assert.equal(textOf((await resumed.message()).result), 'resumed');
        resumed.close();
    });

    test('question on a resumed stream: the MCP server gets the answer',
         async () => {
        closesEarly();
        resumes(async (call) => {
            head(call);

            const { body } = await upstream.ask(call, 'q', 'roots/list');

            call.res.end(event(done(calls()[0].body, { content: [
                { type: 'text', text: JSON.stringify(body.result) }] })));
        });

        const it = await server.session({ capabilities: CAN });
        const { response: last } = await it.follow(await it.call('add'), {
            onMessage: ({ id }) => it.respond(id, { roots: [] }) });

        assert.equal(textOf(last.result), '{"roots":[]}');
    });

    test('answer to a question while no stream is open: the call continues',
         async () => {
        const answered = Promise.withResolvers();

        upstream.answer = async (call) => {
            head(call);
            call.res.write(priming('first'));
            upstream.ask(call, 'q', 'roots/list').then(answered.resolve);
            call.res.end();
        };
        resumes(async (call) => {
            const { body, headers } = await answered.promise;

            assert.equal(headers['last-event-id'], undefined);
            head(call);
            call.res.end(event(done(calls()[0].body, { content: [
                { type: 'text', text: JSON.stringify(body.result) }] })));
        });

        const it = await server.session({ capabilities: CAN });
        const { response: last } = await it.follow(await it.call('add'), {
            onMessage: ({ id }) => it.respond(id, { roots: [] }) });

        assert.equal(textOf(last.result), '{"roots":[]}');
    });

    test('MCP server closes the stream of a call, client of 2026-07-28: the client gets the response',
         async () => {
        closesEarly();
        resumes((call) => {
            head(call);
            call.res.end(response());
        });

        const client = new Modern(server, { capabilities: CAN });

        assert.equal(textOf(await client.tool('add')), 'resumed');
    });
});


describe('stream that cannot be resumed', () => {
    const cases = [
        ['GET is refused with 405', REFUSED],
        ['server has lost the session',
         { status: 404, error: { code: -32001, message: 'Session not found' } }],
        ['server does not know the event',
         { status: 400, error: { code: -32000, message: 'Invalid event ID' } }],
        ['GET gets JSON of another request',
         { status: 200, type: 'application/json',
           text: JSON.stringify(done({ id: 0 })) }],
    ];

    for (const [name, reply] of cases) {
        test(`stream of a call is closed, ${name}: -32603, and the call is not sent again`,
             async () => {
            closesEarly();
            resumes(reply);

            const it = await server.session();
            const { response: last } = await it.follow(await it.call('add'));

            assert.equal(last.error.code, -32603);
            assert.equal(calls().length, 1);
            assert.equal(gets().length, 1);
        });
    }

    test('eight GET requests in a row get no event: -32603', async () => {
        upstream.answer = (call) => {
            head(call);
            call.res.end(priming('first', 1));
        };
        resumes('');

        const it = await server.session();
        const { response: last } = await it.follow(await it.call('add'));

        assert.equal(last.error.code, -32603);
        assert.equal(calls().length, 1);
        assert.equal(gets().length, 8);
    });

    for (const [name, first] of [
        ['no ids', ''], ['an empty id after others', 'id: a\ndata:\n\nid:\n\n'],
        ['an id with a space', 'id: a b\ndata:\n\n'],
        ['an id of 1025 bytes', `id: ${'x'.repeat(1025)}\ndata:\n\n`]]) {
        test(`stream of a call is closed, its events have ${name}: -32603 without a GET`,
             async () => {
            upstream.answer = (call) => {
                head(call);
                call.res.end(first);
            };

            const it = await server.session();
            const { response: last } = await it.follow(await it.call('add'));

            assert.equal(last.error.code, -32603);
            assert.equal(gets().length, 0);
        });
    }
});


describe('call that ends while its stream is interrupted', () => {
    test('call is cancelled before the GET for its closed stream: the MCP server gets notifications/cancelled',
         async () => {
        const cancelled = Promise.withResolvers();

        upstream.answer = (call) => {
            head(call);
            call.res.end(priming('first', 30000) + event(note('begins')));
        };

        const usual = upstream.reply;

        upstream.reply = (call) => {
            if (call.body.method === 'notifications/cancelled') {
                cancelled.resolve(call);
            }

            return usual(call);
        };

        try {
            const it = await server.session();
            const answer = await it.call('add');

            await answer.message();
            await it.post({ jsonrpc: '2.0', method: 'notifications/cancelled',
                            params: { requestId: answer.id } });

            const { body, headers } = await cancelled.promise;

            assert.equal(body.params.requestId, calls()[0].body.id);
            assert.equal(headers['last-event-id'], undefined);
            assert.equal(gets().length, 0);
        } finally {
            upstream.reply = usual;
        }
    });

    test('call is resumed again and again: mcp_call_timeout ends it',
         async () => {
        const hasty = await Fixture.use({
            without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
            location: { mcp_stream_after: '0', mcp_backend: 'sessions',
                        mcp_call_timeout: '1s' },
            backends: { sessions: { http: upstream.port,
                                    upstream: 'session' } },
        });

        upstream.answer = (call) => {
            head(call);
            call.res.end(priming('0'));
        };

        let number = 0;

        resumes((call) => {
            head(call);
            call.res.end(priming(++number));
        });

        const it = await hasty.session();
        const { response: last } = await it.follow(await it.call('add'));

        assert.equal(last.error.code, -32603);
        assert.equal(calls().length, 1);
    });
});


test('MCP server without sessions closes the stream of a call: the stream is resumed',
     async () => {
    const plain = await recording();

    plain.describe = () => ({ protocolVersion: '2025-06-18', capabilities: {
        tools: {} }, serverInfo: { name: 'plain', version: '1' } });
    plain.reply = (call) => {
        head(call);

        if (call.body.method === 'GET') {
            call.res.end(event(done(plain.requests.at(-2).body, result)));
        } else {
            call.res.end(priming('first'));
        }
    };

    const fixture = await Fixture.use({
        without: ['mcp_catalog', 'mcp_route', 'mcp_server'],
        location: { mcp_backend: 'plain' },
        backends: { plain: { http: plain.port, upstream: 'stateless' } },
    });
    const it = await fixture.session();

    assert.equal(textOf(await it.tool('add')), 'resumed');
    assert.equal(plain.last().headers['last-event-id'], 'first');
    assert.equal(plain.last().headers['mcp-protocol-version'], '2025-06-18');
    assert.equal(plain.last().headers['mcp-session-id'], undefined);
    assert.equal(plain.requests.length, 2);
});
