// SPDX-License-Identifier: Apache-2.0

// Event ids and GET with Last-Event-ID in revision 2026-07-28: for clients that
// declare resumableRequests, and for all clients with mcp_resume_stateless all.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Fixture } from './lib/fixture.mjs';
import { settle, status } from './lib/load.mjs';
import { MODERN, Modern } from './lib/modern.mjs';
import { textOf, upTo } from './lib/session.mjs';

const COMMON = {
    mcp_stream_after: '0', mcp_retry: '70ms', mcp_max_wait: '10m',
    mcp_close_after: 'off',
    nginx: 'mcp_principal $http_x_user;',
    apache: 'MCPPrincipal "%{HTTP:X-User}"',
};

const declared = await Fixture.use({ workers: 4, location: COMMON });
const off = await Fixture.use({ workers: 1, location: {
    ...COMMON, mcp_resume_stateless: 'off' } });
const all = await Fixture.use({ workers: 2, location: {
    ...COMMON, mcp_resume_stateless: 'all', mcp_reconnect_wait: '10m' } });
const brief = await Fixture.use({ workers: 2, location: {
    ...COMMON, mcp_resume_stateless: 'all', mcp_reconnect_wait: '300ms' } });

const DECLARES = { capabilities: { resumableRequests: {} }, ids: true };
const TOKEN = { meta: { progressToken: 'p' } };
const ACCEPT = { Accept: 'text/event-stream' };

const LOSE = {
    closed: (answer) => answer.close(),
    reset: (answer) => answer.socket.resetAndDestroy(),
};

let gates = 0;

const get = (client, last, headers = {}) => client.send({
    method: 'GET', headers: { ...ACCEPT, 'MCP-Protocol-Version': MODERN,
                              'Last-Event-ID': last, ...client.extra,
                              ...headers } });

// Begins a call of `count` and reads to its first progress message; last: the
// id of that event.

async function begun(client, n = 3, tool = 'count') {
    const gate = `2026 ${process.pid} ${gates++}`;

    await client.open(gate, 1);

    const answer = await client.call(tool, { n, gate, tag: gate }, TOKEN);
    const blocks = [];

    for (let block; (block = await answer.block());) {
        blocks.push(block);

        if (block.data && JSON.parse(block.data).params?.progress) {
            break;
        }
    }

    return { answer, blocks, gate, id: answer.id, last: answer.lastId };
}

// Reads the rest of a stream: returns its blocks, its messages and the way it
// ended.

async function rest(answer) {
    const blocks = [];

    for (let block; (block = await answer.block());) {
        blocks.push(block);
    }

    const messages = blocks.filter(({ data }) => data)
        .map(({ data }) => JSON.parse(data));

    return { blocks, messages, ending: answer.ending };
}

const progress = (messages) => messages
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => params.progress);

// Resumes after the first progress message until the response. An old worker
// whose socket is still open may send the client on.

async function completes(client, call) {
    const seen = { blocks: [], messages: [], last: call.last };
    let response;

    for (let gets = 0; !response; gets++) {
        const answer = await get(client, seen.last);

        assert.equal(answer.status, 200);

        // a client that declares nothing: an old worker answers it to the end

        if (gets === 0) {
            await new Modern({ port: client.port }, { ids: true }).open(call.gate);
        }

        const { blocks, messages } = await rest(answer);

        seen.blocks.push(...blocks);
        seen.messages.push(...messages);
        seen.last = blocks.findLast(({ id }) => id).id;
        response = messages.find(({ id }) => id === call.id);
    }

    assert.deepEqual(progress(seen.messages), [2, 3]);
    assert.equal(textOf(response.result), 'counted to 3');

    return seen;
}

async function refused(answer, code) {
    assert.equal(answer.status, code);
    assert.equal(answer.type, 'application/json');
    assert.ok((await answer.json()).error);
}


describe('a client that declares resumableRequests', () => {
    const client = new Modern(declared, DECLARES);

    for (const [how, lose] of Object.entries(LOSE)) {
        test(`2026-07-28, connection ${how}: GET with the event id gets the remaining messages`,
             async () => {
            const call = await begun(client);

            lose(call.answer);

            const { blocks, last } = await completes(client, call);

            // the stream begins with an id, from which the client could resume
            // again

            assert.deepEqual([blocks[0].id, blocks[0].data, blocks[0].retry],
                             [call.last, '', '70']);
            assert.ok(blocks.every(({ id }) => id));

            const over = await get(client, last);

            assert.equal(over.status, 204);
        });
    }

    test('2026-07-28, connection lost three times: each message arrives once',
         async () => {
        const call = await begun(client, 5);
        const seen = [1];
        let { answer, last } = call;

        for (const n of upTo(3).map((i) => i + 2)) {
            answer.close();
            answer = await get(client, last);
            await client.open(call.gate, n);

            for (let message; (message = await answer.message());) {
                seen.push(message.params.progress);

                if (message.params.progress === n) {
                    break;
                }
            }

            last = answer.lastId;
        }

        await client.open(call.gate);

        const { messages } = await rest(answer);

        seen.push(...progress(messages));
        assert.deepEqual(seen, [1, 2, 3, 4, 5]);
        assert.equal(textOf(messages.at(-1).result), 'counted to 5');
    });

    test('2026-07-28, GET with the event id while the first connection reads the stream: the first connection ends',
         async () => {
        const call = await begun(client);
        const second = await get(client, call.last);

        assert.equal((await second.block()).id, call.last);
        assert.equal((await rest(call.answer)).ending, 'end');
        await client.open(call.gate);
        assert.deepEqual(progress((await rest(second)).messages), [2, 3]);
    });

    test('2026-07-28, event id of a principal in a GET of another principal or of none: 404', async () => {
        const alice = new Modern(declared, { ...DECLARES, headers: { 'X-User': 'alice' } });
        const bob = new Modern(declared, { headers: { 'X-User': 'bob' } });
        const call = await begun(alice);

        await refused(await get(bob, call.last), 404);
        await refused(await get(client, call.last), 404);
        await completes(alice, call);
    });

    test('event id from a session in a GET without a session, or the reverse: 404',
         async () => {
        const session = await declared.session();
        const old = await session.call('count', { n: 1 });
        const call = await begun(client);

        while (await old.block()) { /* until its end */ }

        await refused(await get(client, old.lastId), 404);
        await refused(await session.get(call.last), 404);
        await completes(client, call);
    });

    test('2026-07-28, GET with an unknown, a malformed or no event id: 404, 400 or 405',
         async () => {
        await refused(await get(client, `${'A'.repeat(22)}.1`), 404);

        for (const id of ['x', 'x.1', `${'A'.repeat(22)}`]) {
            await refused(await get(client, id), 400);
        }

        const answer = await client.send({ method: 'GET', headers: {
            ...ACCEPT, 'MCP-Protocol-Version': MODERN } });

        assert.equal(answer.status, 405);
        assert.equal(answer.headers.allow, 'POST');
    });

    test('2026-07-28, GET that does not accept an event stream: 406',
         async () => {
        const call = await begun(client);

        await refused(await get(client, call.last,
                                { Accept: 'application/json' }), 406);
        await completes(client, call);
    });

    test('mcp_resume_stateless off: GET with an event id gets 405',
         async () => {
        const other = new Modern(off, DECLARES);
        const call = await begun(other);

        assert.equal((await get(other, call.last)).status, 405);
        call.answer.close();
    });
});


describe('mcp_resume_stateless "declared"', () => {
    const client = new Modern(declared);

    test('mcp_resume_stateless "declared", client declares nothing: no event ids, a closed connection cancels the call',
         async () => {
        const call = await begun(client);

        assert.ok(call.blocks.every(({ id }) => id === undefined));
        call.answer.close();
        assert.equal((await client.running(call.gate, 'aborted', 1)).aborted,
                     1);
    });
});


describe('mcp_resume_stateless all', () => {
    const client = new Modern(all, { ids: true });

    test('mcp_resume_stateless all: a stream begins with an event id',
         async () => {
        const { answer, blocks, gate } = await begun(client);

        assert.equal(blocks[0].data, '');
        assert.match(blocks[0].id, /^[\w-]{22}\.0$/);
        assert.equal(blocks[0].retry, '70');
        await client.open(gate);

        const { messages } = await rest(answer);

        assert.deepEqual(progress(messages), [2, 3]);
        assert.equal(textOf(messages.at(-1).result), 'counted to 3');
    });

    for (const tool of ['count', 'http_count']) {
        test(`mcp_resume_stateless all, tool ${tool}, connection lost: GET gets the remaining messages`,
             async () => {
            const call = await begun(client, 3, tool);

            LOSE.reset(call.answer);
            await completes(client, call);
        });
    }

    test('mcp_resume_stateless all, connection lost after the priming event: all messages arrive',
         async () => {
        const call = await begun(client);

        call.answer.close();

        const answer = await get(client, call.blocks[0].id);

        await client.open(call.gate);

        const { messages } = await rest(answer);

        assert.deepEqual(progress(messages), [1, 2, 3]);
        assert.equal(textOf(messages.at(-1).result), 'counted to 3');
    });

    test('mcp_resume_stateless all, client does not resume: its call is cancelled',
         async () => {
        const other = new Modern(brief, { ids: true });
        const before = await status(brief);
        const call = await begun(other);

        call.answer.close();
        assert.equal((await other.running(call.gate, 'aborted', 1)).aborted,
                     1);

        const after = { calls_cancelled: before.calls_cancelled + 1,
                        calls_expired: before.calls_expired };
        const now = await settle(() => status(brief), after, 10000);

        assert.deepEqual({ ...now, ...after }, now);
        await refused(await get(other, call.last), 404);

        // the status names the reason and the remedy

        const recent = brief.all ? (await brief.each(status))
            .flatMap((one) => one.recent) : now.recent;

        assert.deepEqual(recent.map(({ result, reason }) => [result, reason]),
                         [['cancelled', 'left']]);
        assert.match(recent[0].remedy, /mcp_resume_stateless all/);
    });

    test('mcp_resume_stateless all, client leaves before its stream begins: its call is cancelled at once',
         async () => {
        const gate = `2026 early ${process.pid}`;
        const late = new Modern(await Fixture.use({ workers: 1, location: {
            ...COMMON, mcp_stream_after: '10m', mcp_resume_stateless: 'all',
            mcp_reconnect_wait: '10m' } }));

        await assert.rejects(late.call('count', { n: 1, gate, tag: gate },
            { lose: late.running(gate, 'running', 1) }));
        assert.equal((await late.running(gate, 'aborted', 1)).aborted, 1);
    });

    test('subscriptions/listen with mcp_resume_stateless all: no event ids',
         async () => {
        const answer = await client.request('subscriptions/listen',
            { notifications: { toolsListChanged: true } });
        const block = await answer.block();

        assert.equal(JSON.parse(block.data).method,
                     'notifications/subscriptions/acknowledged');
        assert.equal(block.id, undefined);
        answer.close();
    });
});


describe('a reload', () => {
    after(() => Promise.all([declared.settled(), all.settled()]));

    test('reload, client that declares resumableRequests: its stream ends with a retry',
         async () => {
        const client = new Modern(declared, DECLARES);
        const call = await begun(client);

        await declared.reload();

        const { blocks, ending } = await rest(call.answer);

        assert.equal(ending, 'end');
        assert.equal(blocks.at(-1).retry, '70');
        await completes(client, call);
    });

    test('reload, mcp_resume_stateless all, client that has not resumed yet: its stream stays open',
         async () => {
        const client = new Modern(all, { ids: true });
        const call = await begun(client);

        await all.reload();
        await client.open(call.gate);

        const { messages } = await rest(call.answer);

        assert.deepEqual(progress(messages), [2, 3]);
        assert.equal(textOf(messages.at(-1).result), 'counted to 3');
    });

    test('reload, mcp_resume_stateless all, client that has resumed: its stream ends with a retry',
         async () => {
        const client = new Modern(all, { ids: true });
        const call = await begun(client);

        call.answer.close();

        const second = await get(client, call.last);

        assert.equal((await second.block()).id, call.last);
        await all.reload();

        const { blocks, ending } = await rest(second);

        assert.equal(ending, 'end');
        assert.equal(blocks.at(-1).retry, '70');
        await completes(client, call);
    });
});
