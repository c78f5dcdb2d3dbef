// SPDX-License-Identifier: Apache-2.0

// A client for tasks (extension io.modelcontextprotocol/tasks). Each request
// uses a new connection, so that any worker may get it.
//
//     const tasks = new Tasks(fixture);
//     const task = await tasks.create('slow', { ms: 1000 });
//     const done = await tasks.settled(task.taskId);

import assert from 'node:assert/strict';
import { META, Modern } from './modern.mjs';

export const TASKS = 'io.modelcontextprotocol/tasks';
export const EXTENSION = { extensions: { [TASKS]: {} } };

const OVER = ['completed', 'failed', 'cancelled'];
const ACK = ['_meta', 'resultType'];
const WIDTH = 16;

export const pause = (ms) => new Promise((resolve) => {
    setTimeout(resolve, ms);
});

const NODES = process.env.FIXTURE_NODES;


// Returns a task without the fields that differ between two polls.

export const stable = ({ resultType: _, _meta: __, ...task }) => task;


export class Tasks extends Modern {
    constructor(fixture, { capabilities = {}, ...options } = {}) {
        super(fixture, { capabilities: { ...capabilities, ...EXTENSION },
                         ...options });
    }

    // Returns the result of a call that may have become a task.

    async started(name, args, options) {
        const { messages, response } = await this.follow(
            await this.call(name, args, options));

        assert.equal(response.error, undefined, JSON.stringify(response));

        return { messages, ...response.result };
    }

    async create(name, args, options) {
        const result = await this.started(name, args, options);

        assert.equal(result.resultType, 'task', JSON.stringify(result));

        return result;
    }

    async get(taskId) {
        const { response, headers } = await this.ask('tasks/get', { taskId });

        assert.equal(response.error, undefined, JSON.stringify(response));
        assert.equal(response.result.taskId, taskId);

        return Object.assign(response.result,
                             { worker: headers['x-worker'] });
    }

    async ask(method, params, options) {
        const answer = await this.request(method, params, options);

        return { headers: answer.headers, ...await this.follow(answer) };
    }

    async does(method, params) {
        const { response } = await this.ask(method, params);

        assert.equal(response.error, undefined, JSON.stringify(response));
        assert.deepEqual(Object.keys(response.result).sort(), ACK);
        assert.equal(response.result.resultType, 'complete');
    }

    update(taskId, inputResponses) {
        return this.does('tasks/update', { taskId, inputResponses });
    }

    cancel(taskId) {
        return this.does('tasks/cancel', { taskId });
    }

    // Polls a task until it has the wanted state.

    async until(taskId, wanted, ms = 10000) {
        for (const end = Date.now() + ms;;) {
            const task = await this.get(taskId);

            if (wanted(task)) {
                return task;
            }

            assert.ok(Date.now() < end, JSON.stringify(task).slice(0, 500));
            await pause(20);
        }
    }

    status(taskId, status, ms) {
        return this.until(taskId, (task) => task.status === status, ms);
    }

    settled(taskId, ms) {
        return this.until(taskId, ({ status }) => OVER.includes(status), ms);
    }

    // Polls a task at n workers and checks that they all return the same. In a
    // cluster, lastUpdatedAt may differ, because other nodes receive it a
    // moment later. Sends `width` requests at once, so that one fast worker
    // cannot take them all.

    async everywhere(taskId, n, { width = WIDTH, ms = 20000 } = {}) {
        const seen = new Map();

        for (const end = Date.now() + ms; seen.size < n;) {
            assert.ok(Date.now() < end, `${seen.size} workers of ${n}`);

            const all = await Promise.all(Array.from({ length: width },
                () => this.get(taskId)));

            all.forEach(({ worker, ...task }) =>
                seen.set(worker, stable(task)));
        }

        const [first, ...others] = seen.values();

        others.forEach((task) => assert.deepEqual(
            NODES ? { ...task, lastUpdatedAt: first.lastUpdatedAt } : task,
            first));

        return first;
    }

    // Opens a subscription. Returns the answer with { honoured, next() }.

    async listen(...taskIds) {
        const answer = await this.request('subscriptions/listen',
                                          { notifications: { taskIds } });

        assert.equal(answer.status, 200);

        const { params } = await answer.message();

        return Object.assign(answer, {
            honoured: params.notifications.taskIds ?? [],
            async next() {
                const message = await answer.message();
                const { _meta: meta, ...task } = message.params;

                assert.equal(message.method, 'notifications/tasks');
                assert.deepEqual(meta, { [META.subscription]: answer.id });

                return task;
            },
        });
    }
}
