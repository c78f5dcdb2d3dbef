// SPDX-License-Identifier: Apache-2.0

// Requests over a connection that the client keeps.

import { once } from 'node:events';
import http from 'node:http';


// Sends a request of a session over a connection of the agent, and reads the
// whole response. begun() is called when its headers have arrived. closes: the
// server has announced that it will close the connection.

export async function ask(agent, session, message, begun = () => {}) {
    const req = http.request({ port: session.port, agent, method: 'POST',
        path: '/mcp',
        headers: session.headers({ 'Content-Type': 'application/json' }) });

    req.end(JSON.stringify(message));

    const [answer] = await once(req, 'response');
    let text = '';

    answer.setEncoding('utf8').on('data', (data) => { text += data; });
    begun();
    await once(answer, 'end');

    return { type: answer.headers['content-type'], text, socket: req.socket,
             closes: answer.headers.connection === 'close' };
}
