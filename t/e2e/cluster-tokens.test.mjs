// SPDX-License-Identifier: Apache-2.0

// Resume tokens of a backend at nodes of both servers: the backend executes one
// call for each token, and every node sends the response of this call.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { OTHER, at, node, together } from './lib/cluster.mjs';
import { SERVER } from './lib/fixture.mjs';
import { Modern } from './lib/modern.mjs';
import { Redis } from './lib/redis.mjs';
import { catalog, scripted } from './lib/scripted.mjs';
import { responseOf, textOf } from './lib/session.mjs';

const begun = new Map();

function call(page) {
    if (!begun.has(page)) {
        begun.set(page, { n: 0, first: Promise.withResolvers(),
                          gate: Promise.withResolvers() });
    }

    return begun.get(page);
}

// A page whose text is the token of its call, with a token for the next page.
// If the arguments say so, the request for a next page gets a question first.

const backend = await scripted(async ({ message }) => {
    const { arguments: args, _meta: meta, inputResponses } = message.params;
    const page = meta?.resumeToken ?? `${args.key} 0`;
    const of = call(page);

    of.n++;
    of.first.resolve();

    if (args.gated && meta?.resumeToken) {
        await of.gate.promise;
    }

    if (of.fails) {
        return 'no answer';
    }

    if (args.asks && meta?.resumeToken && !inputResponses) {
        return { resultType: 'input_required', requestState: 'asked',
                 inputRequests: { q: { method: 'elicitation/create', params: {
                     message: 'Go on?',
                     requestedSchema: { type: 'object', properties: {} } } } } };
    }

    return { content: [{ type: 'text', text: page }],
             nextResumeToken: `${args.key} ${+page.split(' ')[1] + 1}` };
});

const redis = await Redis.start();

after(() => redis.stop());

const LOCATION = {
    mcp_catalog: await catalog({ tools: [{ name: 'token_pages',
                                           inputSchema: { type: 'object' } }] }),
    mcp_backend: 'scripted',
};

// Calls of the first two nodes have no stream, calls of the others have one.

const nodes = await together(['30s', '1ms'].flatMap((time) =>
    [SERVER, OTHER].map((kind) =>
        node(redis.url, { kind, backends: { scripted: backend.address },
                          location: { ...LOCATION, mcp_stream_after: time } }))));

after(() => Promise.all(nodes.map((fixture) => fixture.stop())));
after(() => begun.forEach(({ gate }) => gate.resolve()));

const session = await nodes[0].session();

const ask = (i, args, token) => at(nodes[i], session).request('tools/call',
    { name: 'token_pages', arguments: args,
      ...(token && { _meta: { resumeToken: token } }) });

async function page(i, args, token, asked = ask(i, args, token)) {
    const answer = await asked;
    const { result, error } = await responseOf(answer, answer.id);

    return { text: result && textOf(result), error,
             next: result?.nextResumeToken };
}


test('resume token for a result\'s next page, sent several times to each node: the backend is called once, each request gets the page',
     async () => {
    const args = { key: 'again' };
    let { next } = await page(0, args);

    for (let n = 1; n < 5; n++) {
        const first = await page(n % 2, args, next);

        assert.equal(first.text, `again ${n}`);

        for (const i of [0, 1, 1, 0]) {
            assert.deepEqual(await page(i, args, next), first);
        }

        assert.equal(call(`again ${n}`).n, 1);
        ({ next } = first);
    }
});


test('resume token for a result\'s next page, sent to two nodes at once: the backend is called once, both requests get the page',
     async () => {
    for (const i of [0, 1]) {
        const args = { key: `once-${i}`, gated: true };
        const { next } = await page(0, args);
        const of = call(`once-${i} 1`);
        const first = page(i, args, next);

        await of.first.promise;

        const other = page(1 - i, args, next);

        of.gate.resolve();

        const answer = await first;

        assert.equal(answer.text, `once-${i} 1`);
        assert.deepEqual(await other, answer);
        assert.equal(of.n, 1);
    }
});


test('resume token for a result\'s next page, the backend fails: the token is still valid at each node',
     async () => {
    for (const [here, there, hasStream] of [[0, 1, false], [2, 3, true]]) {
        const args = { key: `fails-${here}`, gated: true };
        const { next } = await page(here, args);
        const of = call(`fails-${here} 1`);
        const asked = ask(here, args, next);

        of.fails = true;
        await of.first.promise;

        // the head of the response is the beginning of the stream

        if (hasStream) {
            await asked;
        }

        of.gate.resolve();
        assert.ok((await page(here, args, next, asked)).error);

        of.fails = false;
        assert.equal((await page(there, args, next)).text, `fails-${here} 1`);
        assert.equal((await page(here, args, next)).text, `fails-${here} 1`);
        assert.equal(of.n, 2);
    }
});


test('page asks a question: the request with the answer and the same resume token gets the page at each node, also if it is repeated',
     async () => {
    const capabilities = { elicitation: {}, experimental: { resumeTokens: {} } };

    for (const [here, there] of [[0, 1], [1, 0], [2, 3]]) {
        const key = `asks-${here}`;

        async function result(i, token, more) {
            const modern = new Modern(nodes[i], { capabilities });
            const { result } = await modern.response('tools/call', {
                name: 'token_pages', arguments: { key, asks: true }, ...more },
                { meta: { resumeToken: token } });

            return result;
        }

        const { nextResumeToken: token } = await result(here);
        const question = await result(there, token);

        assert.equal(question.resultType, 'input_required');
        assert.deepEqual(await result(here, token), question);

        const answer = { requestState: question.requestState,
                         inputResponses: { q: { action: 'accept',
                                                content: {} } } };
        const next = await result(here, token, answer);

        assert.equal(textOf(next), `${key} 1`);
        assert.deepEqual(await result(there, token, answer), next);
        assert.equal(call(`${key} 1`).n, 2);
    }
});
