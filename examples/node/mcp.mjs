// SPDX-License-Identifier: Apache-2.0
// Tools of an MCP backend, for Node.js 18 or later, over HTTP; see tools.mjs.
//
// tool(NAME, ENTRY, FUNCTION) declares a tool.  ENTRY is its entry in the
// catalog, without the name.  The function gets the arguments, which the web
// server has not checked, and the call.  It returns a string (text), an array
// (content blocks), structured() or another object (the result as it is).
// The model reads the message of a ToolError.  Other exceptions are only logged.

import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

export class ToolError extends Error {}

// Ends a call that asks its user.  A tool must not catch it.

class Question extends Error {}

export const text = (text) => ({ type: 'text', text });

export const image = (bytes, mimeType) => ({
    type: 'image', data: Buffer.from(bytes).toString('base64'), mimeType });

export const structured = (data, message = JSON.stringify(data)) => ({
    content: [text(message)], structuredContent: data });


class Call {
    // signal: an AbortSignal, aborted once the web server has ended the call

    constructor(params, capabilities, send, signal) {
        Object.assign(this, { params, capabilities, send, signal });
        this.answers = { ...params.inputResponses, ...JSON.parse(params.requestState ?? '{}') };
    }

    progress(progress, total, message) {
        const progressToken = this.params._meta?.progressToken ?? undefined;

        if (progressToken !== undefined) {
            this.send({ jsonrpc: '2.0', method: 'notifications/progress',
                        params: { progressToken, progress, total, message } });
        }
    }

    // Returns whether the client shows forms to its user.

    canAsk() {
        const modes = this.capabilities.elicitation;

        return Boolean(modes) && (!Object.keys(modes).length || 'form' in modes);
    }

    // Returns the fields of the user's answer, or null if the user declined.
    // Once the user has answered, the tool runs again from its beginning: let it
    // change nothing before its last question.

    ask(key, message, requestedSchema) {
        const answer = Object.hasOwn(this.answers, key) ? this.answers[key] : null;

        if (answer) {
            return answer.action === 'accept' ? answer.content ?? {} : null;
        }

        throw Object.assign(new Question('asks the user'), { result: {
            resultType: 'input_required',
            inputRequests: { [key]: { method: 'elicitation/create',
                                      params: { message, requestedSchema } } },
            requestState: JSON.stringify(this.answers) } });
    }
}


export class Mcp {
    tools = new Map();

    tool(name, entry, run) {
        this.tools.set(name, { entry: { name, ...entry }, run });
    }

    async #answer({ id, params = {} }, capabilities, send, signal) {
        const tool = this.tools.get(params.name);

        if (!tool) {
            return { jsonrpc: '2.0', id, error: {
                code: -32602, message: `Unknown tool: ${params.name}` } };
        }

        try {
            const call = new Call(params, capabilities, send, signal);
            const result = await tool.run(params.arguments ?? {}, call) ?? [];
            const content = typeof result === 'string' ? [text(result)] : result;

            return Array.isArray(content) ? { content } : result;
        } catch (error) {
            const known = error instanceof ToolError;

            if (error instanceof Question) {
                return error.result;
            }

            if (!known) {
                console.error(`MCP tool ${params.name}:`, error);
            }

            return { isError: true, content: [
                text(known ? error.message : 'The tool has failed.')] };
        }
    }

    async #serve(request, response) {
        const ended = new AbortController();

        response.on('close', () => ended.abort());

        try {
            const message = await json(request);
            const able = request.headers['mcp-client-capabilities'] || '{}';

            response.setHeader('Content-Type', 'application/x-ndjson');

            const send = (line) => response.write(`${JSON.stringify(line)}\n`);

            send(await this.#answer(message, JSON.parse(able), send, ended.signal));
            response.end();
        } catch (error) {
            console.error(error);
            response.destroy();
        }
    }

    // Writes the catalog, or serves HTTP.

    main([address] = process.argv.slice(2)) {
        if (address === '--catalog') {
            console.log(JSON.stringify({
                tools: [...this.tools.values()].map(({ entry }) => entry) }, null, 2));
        } else if (address) {
            const server = createServer((...pair) => this.#serve(...pair));

            // the web server keeps connections, and closes them when it likes

            server.keepAliveTimeout = 0;
            process.once('SIGTERM', () => server.close().closeIdleConnections());
            server.listen(...(address.includes('/') ? [address] : [Number(address), '127.0.0.1']));
        } else {
            console.error('usage: tools.mjs --catalog | PORT | SOCKET');
            process.exitCode = 2;
        }
    }
}
