// SPDX-License-Identifier: Apache-2.0

// Cases of the files that run against several nodes, too, which are not true
// there, and why.  sometimes: whether one of them passes is chance.

const of = (face, cases) => cases.map((name) => `${face}: ${name}`);

export const known = [
    {
        file: 'faces',
        why: 'the status page, and its numbers, are each node\'s',
        cases: [
            ...of('requests', [
                'pending until it is confirmed',
            ]),
            ...of('streams', [
                'pending until it is confirmed',
                'dropped before the first byte',
            ]),
        ],
    },
    {
        file: 'faces',
        why: 'zones are full one by one',
        cases: ['Last-Event-ID', 'link', 'requests', 'streams', 'tokens']
            .map((face) => `${face}: the store is full`),
    },
    {
        file: 'faces',
        why: 'what was said at another node is known a moment later',
        sometimes: true,
        cases: of('link', [
            'dropped while it is asked',
        ]),
    },
    {
        file: 'tasks',
        why: 'as many megabytes take long by way of the balancer',
        sometimes: true,
        cases: [
            'a result of 5 MB',
        ],
    },
    {
        file: 'limits',
        why: 'resumed at once by many, some are to come again',
        sometimes: true,
        cases: [
            'by event id',
        ],
    },
    {
        file: 'limits',
        why: 'of many who resume at once some are told 503',
        cases: [
            'of a request',
        ],
    },
    {
        file: 'limits',
        why: 'of many who resume at once some are told 503',
        cases: [
            'of a stream',
        ],
    },
    {
        file: 'limits',
        why: 'that a call is gone is known at another node a moment later',
        sometimes: true,
        cases: [
            'nobody comes back within max wait: the backend is aborted',
        ],
    },
    {
        file: 'tasks',
        why: 'the node of a task learns a moment later that Redis has a step, '
            + 'and others that its time is over',
        sometimes: true,
        cases: [
            'a thousand polls a second while its owner works',
            'its time is over',
        ],
    },
    {
        file: 'tasks',
        why: 'the node of a task learns a moment later what was answered',
        sometimes: true,
        cases: [
            'input, in parts, at whatever worker',
        ],
    },
    {
        file: 'rounds',
        why: 'the node of a task learns a moment later what was answered',
        sometimes: true,
        cases: [
            '2026-07-28, tasks: the questions stand in the task',
        ],
    },
    {
        file: 'rounds',
        why: 'answers to a URL are on their way to another node',
        sometimes: true,
        cases: [
            '2025-11-25, stream URLs: questions, 204, answers to the URL',
        ],
    },
    {
        file: 'resume',
        why: 'answered with 503 before 404, but by the node of the call',
        sometimes: true,
        cases: [
            'event ids that are not ours, not known or not event ids',
        ],
    },
    {
        file: 'faces',
        why: 'answered with 503 before 404',
        sometimes: true,
        cases: of('Last-Event-ID', [
            'a wrong id',
        ]),
    },
    {
        file: 'faces',
        why: 'numbers of the status page are each node\'s',
        sometimes: true,
        cases: [
            ...of('requests', ['dropped after the response, before it arrived']),
            ...of('streams', ['dropped after the response, before it arrived']),
            ...of('tokens', ['dropped before the first byte',
                             'dropped after the response, before it arrived',
                             'expired', 'expired before it was fetched']),
            ...of('Last-Event-ID', ['expired before it was fetched']),
        ],
    },
];
