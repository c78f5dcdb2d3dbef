// SPDX-License-Identifier: Apache-2.0

// Five ways to come back to a call whose connection was lost.  Each makes the
// call and returns its result, whatever happens on the way.

import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

export const resumptions = {

    // Last-Event-ID, revision 2025-11-25: the SDK does it all.

    sse: {
        capabilities: {},

        async call(client) {
            return client.sdk.callTool(client.tool, undefined, {
                onprogress: (params) => client.take({
                    method: 'notifications/progress', params }),
            });
        },
    },


    // Link: <URL>; rel="stream", SEP-1335: the URL of the stream stands in the
    // head of its answer, so that it is known before the first event.

    link: {
        capabilities: {},

        async call(client) {
            const id = 'the call';
            let stream = await client.post('tools/call', client.params(), id);

            for (;;) {
                const response = await client.read(stream, id);

                if (response) {
                    return response.result;
                }

                const [, url] = /<([^>]*)>; rel="stream"/.exec(
                    stream.headers.get('link') ?? '')
                    ?? client.fail('no Link header: is mcp_link on?');

                // the URL needs no session

                await client.away();
                stream = await client.fetch(url, { headers: {
                    'Accept': 'text/event-stream', ...client.cursor() } });
            }
        },
    },


    // Resumable requests, PR #925: a policy comes first.  The rest is asked for
    // under the id of the request.

    requests: {
        capabilities: { resumableRequests: {} },

        async call(client) {
            const id = 'the call';
            let stream = await client.post('tools/call', client.params(), id);

            for (;;) {
                const response = await client.read(stream, id);

                if (response) {
                    return response.result;
                }

                const { resumeToken } = client.said(
                    'notifications/requests/resumePolicy');

                await client.away();
                await client.sdk.request({ method: 'requests/getStatus',
                    params: { requestId: id, resumeToken } }, ResultSchema);
                stream = await client.post('requests/resume', { resumeToken },
                                           id, client.cursor());
            }
        },
    },


    // Resumable streams, PR #899: the stream has a name and a token.  The rest
    // is asked for by a request of its own.

    streams: {
        capabilities: { streams: {} },

        async call(client) {
            const id = 'the call';
            let stream = await client.post('tools/call', client.params(), id);

            for (let n = 1; ; n++) {
                const response = await client.read(stream, id);

                if (response) {
                    return response.result;
                }

                const { streamId, resumeToken } = client.said(
                    'notifications/stream/create');

                await client.away();
                await client.sdk.request({ method: 'stream/poll',
                    params: { streamId, resumeToken } }, ResultSchema);
                stream = await client.post('stream/resume',
                    { streamId, resumeToken }, `the rest ${n}`,
                    client.cursor());
            }
        },
    },


    // Resume tokens, PR #1003: a slow call is answered with an interim result,
    // and the same request with its token with the rest.  There are no event
    // ids: what the same token brings again begins with what is known, and
    // there is nothing to come back with before the first interim result.

    tokens: {
        capabilities: { resumeTokens: {} },

        async call(client) {
            let token, known = 0;

            client.holdOn(true);

            for (let n = 1; ; n++) {
                const id = `the call ${n}`;
                const response = await client.read(await client.post(
                    'tools/call', client.params({ resumeToken: token }), id),
                                                   id, known);
                const next = response?.result?._meta?.nextResumeToken;

                if (response && !next) {
                    return response.result;
                }

                if (!response) {
                    await client.away();
                }

                known = next ? 0 : Math.max(known, client.messages);
                token = next ?? token;
                client.holdOn(false);
            }
        },
    },
};
