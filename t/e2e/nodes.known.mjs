// SPDX-License-Identifier: Apache-2.0

// The cases that fail on several nodes, of the files that also run on several
// nodes, and the reasons. sometimes: the case may pass by chance.

const of = (resumption, cases) => cases.map((name) => `${resumption}: ${name}`);

export const known = [
    {
        file: 'resume-methods',
        why: 'the status page shows the numbers of one node only',
        cases: [
            ...of('requests', [
                'client has read a stream to its end: status requests report pending messages until the client confirms the last event',
            ]),
            ...of('streams', [
                'client has read a stream to its end: status requests report pending messages until the client confirms the last event',
                'connection lost before the first byte: the call continues',
            ]),
        ],
    },
    {
        file: 'limits',
        why: 'some of many GETs at once get 503, because another node has the stream',
        sometimes: true,
        cases: [
            'stream resumed 1000 times by event id: one consumer is left',
        ],
    },
    {
        file: 'limits',
        why: 'the status page shows the numbers of one node only, and some of '
            + 'many resumptions at once get 503',
        cases: [
            'stream resumed 1000 times by requests/resume: one consumer is left',
            'stream resumed 1000 times by stream/resume: one consumer is left',
        ],
    },
    {
        file: 'limits',
        why: 'another node detects the end of a call a moment later',
        sometimes: true,
        cases: [
            'no client resumes within mcp_max_wait: the backend is aborted',
        ],
    },
    {
        file: 'limits',
        why: 'a cancellation at another node also cancels a newer request with '
            + 'the same id',
        sometimes: true,
        cases: [
            'request cancelled after its response, new request with the same id: the new request gets its result',
        ],
    },
    {
        file: 'tasks',
        why: 'other nodes detect the end of mcp_task_ttl a moment later',
        sometimes: true,
        cases: [
            'mcp_task_ttl has passed: tasks/get gets -32602, the backend is aborted',
        ],
    },
    {
        file: 'resume-methods',
        why: 'the status page shows the numbers of one node only',
        sometimes: true,
        cases: [
            ...of('requests', [
                'connection lost while the response is sent: the resumed client gets the response',
            ]),
            ...of('streams', [
                'connection lost while the response is sent: the resumed client gets the response',
            ]),
            ...of('tokens', [
                'connection lost before the first byte: the call continues',
                'connection lost while the response is sent: the resumed client gets the response',
                'no client resumes within mcp_max_wait: the call is aborted, a later resume gets 404 or -32602',
                'no client resumes after the end of a call: the call expires, a later resume gets 404 or -32602',
            ]),
            ...of('Last-Event-ID', [
                'no client resumes after the end of a call: the call expires, a later resume gets 404 or -32602',
            ]),
        ],
    },
];
