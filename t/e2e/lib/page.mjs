// SPDX-License-Identifier: Apache-2.0

// A client in a page of its own origin, in plain JavaScript. It knows only the
// URL of the endpoint and its client id at the issuer. window.result has its
// result as JSON, and window.dropped is true once it has dropped a stream.
//
//   login    logs in at the issuer first, and asks for the principal
//   count    arguments of the tool `count`
//   cut      number of progress notifications after which it drops the stream of
//            that call
//   modern   calls the tool `add` without a session, in revision 2026-07-28

const client = async (endpoint, { login, count, cut, modern }) => {
    const result = {};

    const json = async (url) => (await fetch(url, {
        headers: { 'MCP-Protocol-Version': '2025-11-25' } })).json();

    const base64url = (bytes) => btoa(String.fromCharCode(...bytes))
        .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

    const post = (message, headers) => fetch(endpoint, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json',
                   'Accept': 'application/json, text/event-stream',
                   ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });

    const initialize = { id: 0, method: 'initialize', params: {
        protocolVersion: '2025-11-25', capabilities: {},
        clientInfo: { name: 'page', version: '1' } } };

    async function logIn() {
        const answer = await post(initialize);
        const challenge = answer.headers.get('WWW-Authenticate');
        const param = (name) => challenge.match(`${name}="([^"]*)"`)?.[1];
        const metadata = await json(param('resource_metadata'));
        const [issuer] = metadata.authorization_servers;
        const server = await json(`${issuer}/.well-known/openid-configuration`);
        const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
        const hash = await crypto.subtle.digest('SHA-256',
            new TextEncoder().encode(verifier));

        if (metadata.resource !== endpoint || server.issuer !== issuer) {
            throw new Error('another resource, or another issuer');
        }

        sessionStorage.login = JSON.stringify({
            first: answer.status, issuer, verifier,
            endpoint: server.token_endpoint });
        location.href = `${server.authorization_endpoint}?${
            new URLSearchParams({
                response_type: 'code', client_id: 'page',
                redirect_uri: `${location.origin}/`,
                code_challenge: base64url(new Uint8Array(hash)),
                code_challenge_method: 'S256',
                scope: param('scope'), resource: endpoint,
            })}`;
    }

    async function redeem(code) {
        const login = JSON.parse(sessionStorage.login);
        const answer = await fetch(login.endpoint, {
            method: 'POST',
            body: new URLSearchParams({
                grant_type: 'authorization_code', client_id: 'page', code,
                code_verifier: login.verifier, resource: endpoint,
                redirect_uri: `${location.origin}/`,
            }),
        });

        result.first = login.first;
        result.issuer = login.issuer;
        result.token = (await answer.json()).access_token;
    }

    // Reads the messages of a stream up to the response, or until stop() is
    // true.

    async function read(answer, stop) {
        const reader = answer.body.pipeThrough(new TextDecoderStream())
            .getReader();
        let text = '';
        let id;

        for (;;) {
            const { value, done } = await reader.read();

            if (done) {
                return { id };
            }

            text += value;

            for (let end; (end = text.indexOf('\n\n')) >= 0;) {
                const lines = text.slice(0, end).split('\n');
                const field = (name) => lines.find((line) => line
                    .startsWith(`${name}:`))?.slice(name.length + 1).trim();

                text = text.slice(end + 2);
                id = field('id') ?? id;

                if (!field('data')) {
                    continue;
                }

                const message = JSON.parse(field('data'));

                if (message.params?.progress) {
                    result.progress.push(message.params.progress);
                }

                if (message.result || stop()) {
                    await reader.cancel();
                    return { id, message };
                }
            }
        }
    }

    // Returns the response of a JSON body or a stream.

    async function responseOf(answer) {
        return answer.headers.get('Content-Type') === 'application/json'
            ? answer.json() : (await read(answer, () => false)).message;
    }

    // Calls a tool, drops its stream, and resumes it.

    async function countTo(headers) {
        result.progress = [];

        let { id, message } = await read(await post({ id: 3,
            method: 'tools/call', params: {
                name: 'count', arguments: count,
                _meta: { progressToken: 'p' } } }, headers),
            () => result.progress.length === cut);

        window.dropped = true;

        while (!message?.result) {
            result.resumed = true;
            ({ id, message } = await read(await fetch(endpoint, {
                headers: { ...headers, 'Accept': 'text/event-stream',
                           'Last-Event-ID': id } }), () => false));
        }

        result.text = message.result.content[0].text;
    }

    async function work() {
        const bearer = login ? { Authorization: `Bearer ${result.token}` } : {};
        const begun = await post(initialize, bearer);
        const headers = { ...bearer,
            'Mcp-Session-Id': begun.headers.get('Mcp-Session-Id'),
            'MCP-Protocol-Version': '2025-11-25' };

        await post({ method: 'notifications/initialized' }, headers);

        const listed = await responseOf(await post(
            { id: 1, method: 'tools/list' }, headers));

        result.tools = listed.result.tools.map(({ name }) => name);

        if (login) {
            const env = await responseOf(await post({ id: 2,
                method: 'tools/call', params: {
                    name: 'env', arguments: { prefix: 'MCP_PRINCIPAL' } } },
                                                    headers));

            result.principal = env.result.structuredContent.MCP_PRINCIPAL;
        }

        await countTo(headers);
    }

    async function workModern() {
        const own = 'io.modelcontextprotocol/';
        const called = await responseOf(await post({ id: 4,
            method: 'tools/call', params: { name: 'add',
                arguments: { a: 1, b: 2 }, _meta: {
                    [`${own}protocolVersion`]: '2026-07-28',
                    [`${own}clientInfo`]: { name: 'page', version: '1' },
                    [`${own}clientCapabilities`]: {} } } },
            { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call',
              'Mcp-Name': 'add' }));

        result.sum = called.result.content[0].text;
    }

    try {
        const code = new URLSearchParams(location.search).get('code');

        if (login && !code) {
            await logIn();
            return;
        }

        if (login) {
            await redeem(code);
        }

        await work();

        if (modern) {
            await workModern();
        }
    } catch (error) {
        result.error = `${error} ${error.stack}`;
    }

    window.result = JSON.stringify(result);
};

export function pageOf(endpoint, options) {
    return `<!DOCTYPE html><title>client</title><script type="module">(${
        client})(${JSON.stringify(endpoint)}, ${
        JSON.stringify(options)})</script>`;
}
