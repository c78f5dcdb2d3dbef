// SPDX-License-Identifier: Apache-2.0

// Checks all messages from servers against the schemas of the specification.
//
//     const send = watched((options) => request(port, options), '2026-07-28');
//     const answer = await send({ headers, body });
//
// A test file that imports this module gets a hook at its end. The hook checks
// all answers that came through send(), also the parts that no test has read,
// and fails if a message does not conform. Session and Modern (session.mjs,
// modern.mjs) take such a function as `send`; watchedFetch() is for the
// official clients.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';
import vm from 'node:vm';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Answer } from './wire.mjs';

export const MODERN = '2026-07-28';

// error codes that the modern era never has: codes that other documents define,
// and codes of older revisions only

const foreign = (code) => (code <= -32000 && code >= -32019)
                          || code === -32042;

// the notifications of resumption methods, sent to clients that declare them

const ours = /^notifications\/(requests|stream)\//;


// The conformance suite has the schemas as object literals in its bundle: plain
// data after each $schema.

function literalAt(text, start) {
    for (let i = start, depth = 0; i < text.length; i++) {
        const c = text[i];

        if (c === '{' || c === '}') {
            depth += c === '{' ? 1 : -1;

            if (depth === 0) {
                return text.slice(start, i + 1);
            }
        } else if (c === '`' || c === '"' || c === "'") {
            for (i++; text[i] !== c; i++) {
                i += text[i] === '\\' ? 1 : 0;
            }
        }
    }

    throw new Error('the bundle of the conformance suite has no end');
}

function schemas() {
    const bundle = createRequire(import.meta.url)
        .resolve('@modelcontextprotocol/conformance/package.json')
        .replace(/package\.json$/, 'dist/index.js');
    const text = fs.readFileSync(bundle, 'utf8');
    const heads = [...text.matchAll(
        /=(?=\{\$schema:`[^`]+`,(?:definitions|\$defs):\{Annotations:)/g)];

    assert.equal(heads.length, 4, 'schemas in the conformance suite');

    const found = heads.map(({ index }) => JSON.parse(JSON.stringify(
        vm.runInNewContext(`(${literalAt(text, index + 1)})`))));

    // the two revisions before the last one define these numbers as integers by
    // mistake

    for (const { definitions, $defs } of found.slice(1, 3)) {
        for (const field of ['minimum', 'maximum', 'default']) {
            const { [field]: schema } = (definitions ?? $defs).NumberSchema
                ?.properties ?? {};

            if (schema?.type === 'integer') {
                schema.type = 'number';
            }
        }
    }

    return Object.fromEntries(['2025-03-26', '2025-06-18', '2025-11-25',
                               MODERN].map((name, i) => [name, found[i]]));
}

// The schema of the extension io.modelcontextprotocol/tasks, based on that of
// 2026-07-28

const ref = (name) => ({ $ref: `mcp#/$defs/${name}` });
const time = { type: 'string',
               pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' };

const task = (status, more = {}) => ({
    type: 'object',
    required: ['taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs',
               ...Object.keys(more)],
    properties: {
        resultType: { type: 'string' }, _meta: { type: 'object' },
        taskId: { type: 'string', minLength: 1 }, status: { const: status },
        statusMessage: { type: 'string' },
        createdAt: time, lastUpdatedAt: time,
        ttlMs: { type: ['integer', 'null'], minimum: 1 },
        pollIntervalMs: { type: 'integer', minimum: 1 },
        ...more,
    },
    additionalProperties: false,
});

const resultType = (value) => ({ required: ['resultType'],
                                 properties: { resultType: { const: value } } });

const TASKS = {
    $id: 'tasks',
    $defs: {
        Detailed: { oneOf: [
            task('working'),
            task('input_required', { inputRequests: {
                ...ref('InputRequests'), minProperties: 1 } }),
            task('completed', { result: ref('CallToolResult') }),
            task('failed', { error: ref('Error') }),
            task('cancelled'),
        ] },
        Create: { allOf: [ref('Result'), resultType('task'), {
            oneOf: ['working', 'input_required', 'completed', 'failed',
                    'cancelled'].map((status) => task(status)) }] },
        Get: { allOf: [ref('Result'), { $ref: '#/$defs/Detailed' },
                       resultType('complete')] },
        Ack: { allOf: [ref('Result'), resultType('complete'), {
            properties: { resultType: true, _meta: true },
            additionalProperties: false }] },
        Notification: { type: 'object', required: ['params'], properties: {
            params: { $ref: '#/$defs/Detailed' } } },
    },
};

class Schema {
    constructor(version, schema) {
        const options = { strict: false, allErrors: true };

        this.version = version;
        this.key = schema.$defs ? '$defs' : 'definitions';
        this.defs = schema[this.key];
        this.ajv = schema.$defs ? new Ajv2020(options) : new Ajv(options);
        this.methods = new Map();
        addFormats(this.ajv);
        this.ajv.addFormat('byte', true);
        this.ajv.addSchema({ ...schema, $id: 'mcp' });

        if (version === MODERN) {
            this.ajv.addSchema(TASKS);
        }

        for (const [name, def] of Object.entries(this.defs)) {
            const method = def.properties?.method?.const;

            if (method) {
                this.methods.set(method, name);
            }
        }
    }

    // Returns the errors of a value as lines.

    errors(name, value) {
        const validate = this.ajv.getSchema(name.includes('#') ? name
            : `mcp#/${this.key}/${name}`);

        return validate(value) ? [] : validate.errors.slice(0, 6).map((e) =>
            `${name}${e.instancePath}: ${e.message}`
            + ` ${JSON.stringify(e.params)}`);
    }

    first(...names) {
        return names.find((name) => name in this.defs) ?? names.at(-1);
    }

    // Checks a message. method: the method of the request to which a response
    // belongs.

    message(message, method) {
        const modern = this.version === MODERN;

        if (Array.isArray(message)) {
            return this.version === '2025-03-26'
                ? message.flatMap((m) => this.message(m)) : ['a batch'];
        }

        if (typeof message !== 'object' || message === null) {
            return ['no JSON-RPC message'];
        }

        if (message.method !== undefined) {
            const name = this.methods.get(message.method);

            if (modern && 'id' in message) {
                return [`a request of the server, ${message.method}`];
            }

            if (modern && message.method === 'notifications/tasks') {
                return this.errors('tasks#/$defs/Notification', message);
            }

            return name || ours.test(message.method)
                ? this.errors(name ?? 'JSONRPCNotification', message)
                : [`${this.version} has no ${message.method}`];
        }

        if (message.error !== undefined) {
            return [
                ...this.errors(this.first('JSONRPCErrorResponse',
                                          'JSONRPCError'), message),
                ...(modern && foreign(message.error.code)
                    ? [`error ${message.error.code}`] : []),
                ...this.special(message),
            ];
        }

        return [
            ...this.errors(this.first('JSONRPCResultResponse',
                                      'JSONRPCResponse'), message),
            ...this.errors(this.resultOf(method, message.result),
                           message.result ?? null),
        ];
    }

    resultOf(method, result) {
        if (this.version === MODERN
            && result?.resultType === 'input_required')
        {
            return 'InputRequiredResult';
        }

        if (this.version === MODERN && method === 'tasks/get') {
            return 'tasks#/$defs/Get';
        }

        if (this.version === MODERN && /^tasks\//.test(method)) {
            return 'tasks#/$defs/Ack';
        }

        if (this.version === MODERN && result?.resultType === 'task') {
            return method === 'tools/call' ? 'tasks#/$defs/Create'
                                           : 'EmptyResult';
        }

        const name = (this.methods.get(method) ?? '')
            .replace(/Request$/, 'Result');

        return this.first(name, method === 'ping' ? 'EmptyResult' : 'Result');
    }

    // Checks error messages whose data has a schema of its own.

    special(message) {
        const name = Object.keys(this.defs).find((key) =>
            /Error$/.test(key) && (this.defs[key].properties?.error?.allOf ?? [])
                .some((part) => part.properties?.code?.const
                                === message.error.code));

        return name ? this.errors(name, message) : [];
    }
}

const versions = new Map(Object.entries(schemas())
    .map(([version, schema]) => [version, new Schema(version, schema)]));

export function errorsOf(version, message, method) {
    return versions.get(version).message(message, method);
}


// The answers to check at the end of the file

const seen = [];

after(() => {
    const bad = seen.flatMap((look) => look()).slice(0, 20);

    assert.deepEqual(bad, [], 'what was sent conforms to the schema');
});

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

function wrong(version, method, text) {
    const errors = errorsOf(version, parse(text), method);

    return errors.length ? [`${version} ${method}: ${errors.join('; ')}: `
                            + text.slice(0, 1000)] : [];
}

// The revision of a session is known only after its initialize.

function versionOf(version, answer, texts) {
    if (version) {
        return version;
    }

    const [hello] = texts.map(parse).filter((m) => m?.result?.protocolVersion);

    return hello?.result.protocolVersion ?? answer.asked ?? '2025-11-25';
}

function textsOf(answer) {
    if (answer.sse) {
        return answer.blocks.map((b) => b.data).filter((data) => data);
    }

    return answer.type === 'application/json' && answer.ending === 'end'
        ? [Buffer.concat(answer.chunks).toString()] : [];
}

// Collects an answer for the check at the end. A response is checked against
// the method of the client's request.

function watch(answer, version, asked, body) {
    const { method, id } = parse(body) ?? {};

    answer.asked = asked;
    seen.push(() => {
        const texts = textsOf(answer);
        const is = versionOf(version, answer, texts);

        // a resumed stream has the response of another request

        return versions.has(is) ? texts.flatMap((text) => wrong(is,
            id !== undefined && parse(text)?.id === id ? method : undefined,
            text)) : [];
    });

    return answer;
}

const header = (headers, name) => Object.entries(headers ?? {})
    .find(([key]) => key.toLowerCase() === name)?.[1];

export function watched(send, version) {
    return async (options) => watch(await send(options), version,
        header(options.headers, 'mcp-protocol-version'), options.body);
}

// fetch() for the official clients. version: the revision of all messages;
// without it, the negotiated one.

export function watchedFetch(version, inner = fetch) {
    return async (input, init) => {
        const response = await inner(input, init);
        const copy = response.clone();
        const answer = new Answer();

        answer.head(copy.status, Object.fromEntries(copy.headers));
        watch(answer, version, new Headers(init?.headers)
            .get('mcp-protocol-version'), init?.body);

        (async () => {
            for await (const bytes of copy.body ?? []) {
                answer.data(Buffer.from(bytes));
            }

            answer.end('end');
        })().catch(() => answer.end('lost'));

        return response;
    };
}
