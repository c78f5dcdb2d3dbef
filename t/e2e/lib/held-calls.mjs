// SPDX-License-Identifier: Apache-2.0

// Calls that a gate holds, read up to a given event, for the tests of
// resumption methods.

import assert from 'node:assert/strict';
import { request } from './wire.mjs';

let gates = 0;


// Starts a call of "count" that becomes a stream and reads its first `limit`
// messages. Returns the first events of the resumption methods, too, and the
// last event id.

export async function held(session, n, limit = 1, options = {}) {
    const gate = `resumption ${process.pid} ${gates++}`;

    await session.open(gate, limit);

    const answer = await session.call('count', { n, gate }, options);
    const said = {};
    let seen = 0;

    assert.equal(answer.sse, true);

    while (seen < limit) {
        const message = await answer.message();

        said[message.method] = message.params;
        seen += message.method === 'notifications/progress';
    }

    return { answer, gate, said, id: answer.id, last: answer.lastId };
}


// Reads the rest of a stream: its messages, the response with that id, and
// whether the stream ended in order.

export async function rest(answer, id) {
    const seen = { messages: [], response: undefined };

    for (let message; (message = await answer.message());) {
        if (message.method === undefined && message.id === id) {
            assert.equal(seen.response, undefined, 'one response');
            seen.response = message;
        } else {
            seen.messages.push(message);
        }
    }

    seen.ending = answer.ending;

    return seen;
}


export async function refused(answer, code = -32602) {
    assert.equal(answer.sse, false);

    const { error } = await answer.json();

    assert.equal(error.code, code);

    return error;
}


// Sends requests to the URL of a Link header, at any worker.

export function urlOf(answer) {
    const [, url] = /^<([^>]+)>; rel="stream"$/.exec(answer.headers.link);

    return new URL(url);
}

export function at(url, { method = 'GET', last, headers = {}, body,
                          lose } = {}) {
    return request(Number(url.port), {
        method,
        path: url.pathname + url.search,
        headers: {
            Accept: method === 'GET' ? 'text/event-stream'
                                     : 'application/json, text/event-stream',
            ...(method === 'POST' && { 'Content-Type': 'application/json' }),
            ...(last && { 'Last-Event-ID': last }),
            ...headers,
        },
        body: body && JSON.stringify(body),
        lose,
    });
}

export const pause = (ms) => new Promise((resolve) => {
    setTimeout(resolve, ms);
});

// Waits until the worker that had the call before a reload has finished: a
// worker that is stopped while it shuts down logs open sockets.

export const settled = () => pause(500);
