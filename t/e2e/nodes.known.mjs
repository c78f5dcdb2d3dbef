// SPDX-License-Identifier: Apache-2.0

// Cases that do not hold for several nodes, of the files that also run against
// them, and the reasons. sometimes: the case may pass by chance.

const of = (resumption, cases) => cases.map((name) => `${resumption}: ${name}`);

export const known = [
    {
        file: 'resume-methods',
        why: 'the status page, and its numbers, are each node\'s',
        cases: [
            ...of('requests', [
                'sent messages: pending until the client confirms them',
            ]),
            ...of('streams', [
                'sent messages: pending until the client confirms them',
                'connection lost before the first byte: the call continues',
            ]),
        ],
    },
    {
        file: 'limits',
        why: 'resumed at once by many, some are to come again',
        sometimes: true,
        cases: [
            'stream resumed 1000 times by event id: one consumer',
        ],
    },
    {
        file: 'limits',
        why: 'numbers of the status page are each node\'s, and of many who resume '
            + 'at once some are told 503',
        cases: [
            'stream resumed 1000 times by requests/resume: one consumer',
            'stream resumed 1000 times by stream/resume: one consumer',
        ],
    },
    {
        file: 'limits',
        why: 'that a call is gone is known at another node a moment later',
        sometimes: true,
        cases: [
            'no client within mcp_max_wait: the backend is aborted',
        ],
    },
    {
        file: 'tasks',
        why: 'other nodes learn a moment later that its time is over',
        sometimes: true,
        cases: [
            'end of mcp_task_ttl: tasks/get gets -32602, the backend is aborted',
        ],
    },
    {
        file: 'resume-methods',
        why: 'numbers of the status page are each node\'s',
        sometimes: true,
        cases: [
            ...of('requests', [
                'connection lost with the response on its way: the response arrives',
            ]),
            ...of('streams', [
                'connection lost with the response on its way: the response arrives',
            ]),
            ...of('tokens', [
                'connection lost before the first byte: the call continues',
                'connection lost with the response on its way: the response arrives',
                'no client within mcp_max_wait: aborted, resume gets 404 or -32602',
                'no client after the end of the call: it expires, resume gets 404 or -32602',
            ]),
            ...of('Last-Event-ID', [
                'no client after the end of the call: it expires, resume gets 404 or -32602',
            ]),
        ],
    },
];
