// SPDX-License-Identifier: Apache-2.0

// Questions during a call: requests on the call's stream, answers by POST, and
// a second request to the backend.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause, settled } from './lib/held-calls.mjs';
import { Fixture } from './lib/fixture.mjs';
import { textOf } from './lib/session.mjs';

const server = await Fixture.use({ workers: 4,
                                   location: { mcp_close_after: 'off' } });
const session = await server.session({
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
});

const accept = (value) => ({ action: 'accept', content: { value } });


// Follows a call and answers its questions.

async function answering(answer, reply, from = session) {
    const asked = [];
    const seen = await from.follow(answer, {
        async onMessage(message) {
            if (message.id === undefined) {
                return;
            }

            asked.push(message);
            assert.equal((await from.respond(message.id, reply(message)))
                .status, 202);
        },
    });

    return { ...seen, asked };
}


for (const name of ['ask', 'ask_streaming', 'http_ask']) {
    test(`tool ${name}, three rounds of questions: all questions are sent on one stream`,
         async () => {
        const { asked, response, blocks } = await answering(
            await session.call(name, { rounds: 3 }), (m) => accept(
                m.params.message));

        assert.deepEqual(asked.map((m) => m.method),
                         Array(3).fill('elicitation/create'));
        assert.equal(new Set(asked.map((m) => m.id)).size, 3);
        assert.deepEqual(asked.map((m) => m.params.message),
            ['Question 0.0', 'Question 1.0', 'Question 2.0']);
        assert.equal(textOf(response.result),
                     'asked 3 times: Question 2.0');
        assert.equal(new Set(blocks.filter((b) => b.id).map(
            (b) => b.id.split('.')[0])).size, 1);
    });
}


test('three questions at once: their answers are accepted in any order',
     async () => {
    const answer = await session.call('ask', { count: 3 });
    const asked = [];

    while (asked.length < 3) {
        asked.push(await answer.message());
    }

    for (const message of asked.toReversed?.() ?? [...asked].reverse()) {
        await session.respond(message.id, accept(message.params.message));
    }

    const { response } = await session.follow(answer);

    assert.equal(textOf(response.result), 'asked 1 times: '
                 + 'Question 0.0,Question 0.1,Question 0.2');
});


test('questions for sampling and roots: the client\'s answers reach the backend', async () => {
    const sampled = await answering(await session.call('ask_sampling'),
        () => ({ role: 'assistant', content: { type: 'text', text: 'said' },
                 model: 'm', stopReason: 'endTurn' }));

    assert.equal(sampled.asked[0].method, 'sampling/createMessage');
    assert.equal(textOf(sampled.response.result), 'said');

    const listed = await answering(await session.call('ask_roots'),
        () => ({ roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] }));

    assert.equal(listed.asked[0].method, 'roots/list');
    assert.equal(textOf(listed.response.result), 'file:///a,file:///b');
});


test('declined question: the backend gets the action "decline"', async () => {
    const { response } = await answering(await session.call('ask'),
                                         () => ({ action: 'decline' }));

    assert.equal(textOf(response.result), 'asked 1 times: decline');
});


test('client disconnects after a question, then resumes: the client gets the question again',
     async () => {
    const answer = await session.call('ask', { rounds: 2 });
    const first = await answer.message();

    answer.close();

    // a client that has not seen the question gets it again

    const before = await session.get(answer.blocks[0].id);
    const again = await before.message();

    assert.equal(again.id, first.id);
    before.close();

    await session.respond(first.id, accept('x'));

    const { response } = await answering(
        Object.assign(await session.get(first.eventId), { id: answer.id }),
        () => accept('y'));

    assert.equal(textOf(response.result), 'asked 2 times: y');
});


test('answers from another session, with an unknown id, or to an answered question: ignored',
     async () => {
    const other = await server.session({ capabilities: { elicitation: {} } });
    const answer = await session.call('ask');
    const question = await answer.message();

    // answers from another session and with an unknown id

    await other.respond(question.id, accept('foreign'));
    await session.respond('no such id', accept('x'));
    await session.respond(question.id, accept('right'));
    await session.respond(question.id, accept('twice'));

    const { response } = await session.follow(answer);

    assert.equal(textOf(response.result), 'asked 1 times: right');
});


test('client answers a question with an error: its call ends with an error',
     async () => {
    const answer = await session.call('ask');
    const question = await answer.message();
    const posted = await session.post({ jsonrpc: '2.0', id: question.id,
        error: { code: -1, message: 'User rejected' } });

    assert.equal(posted.status, 202);

    const { response } = await session.follow(answer);

    assert.ok(response.error || response.result.isError);
});


test('question whose capability the client did not declare: not sent, the call fails',
     async () => {
    const silent = await server.session({ capabilities: { roots: {} } });

    for (const name of ['ask', 'ask_sampling']) {
        const { response, messages } = await silent.follow(
            await silent.call(name));

        assert.deepEqual(messages, []);
        assert.ok(response.error || response.result.isError, name);
    }

    assert.equal(textOf((await answering(await silent.call('ask_roots'),
        () => ({ roots: [{ uri: 'file:///' }] }), silent)).response.result),
        'file:///');
});


test('prompt with a question: the answer reaches the backend', async () => {
    const { response } = await answering(
        await session.request('prompts/get',
            { name: 'test_input_required_result_prompt' }),
        () => ({ action: 'accept', content: { context: 'here' } }));

    assert.equal(response.result.messages[0].content.text, 'here');
});


test('call cancelled while it waits for an answer: its stream ends', async () => {
    const answer = await session.call('ask');

    await answer.message();
    await session.notify('notifications/cancelled', { requestId: answer.id });
    assert.equal(await answer.message(), null);
    assert.equal(answer.ending, 'end');
});


test('question before a reload, answer after it: the call continues',
     async () => {
    const answer = await session.call('ask');
    const asked = await answer.message();

    answer.close();
    await server.reload();
    await pause(1500);
    await session.respond(asked.id, accept('late'));

    const { response } = await session.follow(Object.assign(
        await session.resume(asked.eventId), { id: answer.id }));

    assert.equal(textOf(response.result), 'asked 1 times: late');
    await settled();
});
