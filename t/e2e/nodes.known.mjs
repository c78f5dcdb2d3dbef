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
        file: 'limits',
        why: 'resumed at once by many, some are to come again',
        sometimes: true,
        cases: [
            'by event id',
        ],
    },
    {
        file: 'limits',
        why: 'numbers of the status page are each node\'s, and of many who resume '
            + 'at once some are told 503',
        cases: [
            'of a request',
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
        why: 'other nodes learn a moment later that its time is over',
        sometimes: true,
        cases: [
            'its time is over',
        ],
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
