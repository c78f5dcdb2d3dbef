// SPDX-License-Identifier: Apache-2.0

// A small authorization server (oidc-provider) on a free port, which runs as
// long as its test file. For the resources in `jwt` its tokens are JWTs. For
// all others they are opaque, and /token/introspection checks them.

import http from 'node:http';
import { after } from 'node:test';
import Provider from 'oidc-provider';

export const SCOPES = ['files:read', 'files:write'];


function configuration(page, jwt) {
    return {
        clients: [{
            client_id: 'page',
            token_endpoint_auth_method: 'none',
            redirect_uris: [page],
            grant_types: ['authorization_code'],
            response_types: ['code'],
        }, {
            client_id: 'machine',
            client_secret: 'secret-of-machine',
            redirect_uris: [],
            grant_types: ['client_credentials'],
            response_types: [],
        }, {
            client_id: 'other',
            client_secret: 'secret-of-other',
            redirect_uris: [],
            grant_types: ['client_credentials'],
            response_types: [],
        }, {
            client_id: 'checker',
            client_secret: 'secret-of-checker',
            redirect_uris: [],
            grant_types: [],
            response_types: [],
        }],
        features: {
            devInteractions: { enabled: true },
            clientCredentials: { enabled: true },
            introspection: {
                enabled: true,
                allowedPolicy: (ctx, client) => client.clientId === 'checker',
            },
            registration: { enabled: true },
            resourceIndicators: {
                enabled: true,
                useGrantedResource: () => true,
                getResourceServerInfo: (ctx, resource) => ({
                    scope: SCOPES.join(' '),
                    audience: resource,
                    accessTokenTTL: 600,
                    accessTokenFormat: jwt.has(resource) ? 'jwt' : 'opaque',
                    jwt: { sign: { alg: 'RS256' } },
                }),
            },
        },
        clientBasedCORS: (ctx, origin) => origin === new URL(page).origin,
        pkce: { required: () => true },
        scopes: SCOPES,
        cookies: { keys: ['for tests only'] },
        ttl: { Interaction: 600, Session: 600, Grant: 600 },
    };
}


export class Issuer {

    // page: the redirect URI of the client "page"

    static async use(page) {
        const issuer = new Issuer();

        issuer.jwt = new Set();
        issuer.asked = [];
        issuer.server = http.createServer((request, response) => {
            issuer.asked.push(`${request.method} ${request.url}`);
            issuer.handle(request, response);
        });

        await new Promise((resolve) => {
            issuer.server.listen(0, '127.0.0.1', resolve);
        });

        issuer.port = issuer.server.address().port;
        issuer.url = `http://127.0.0.1:${issuer.port}`;

        const warn = console.warn;

        console.warn = () => {};
        issuer.handle = new Provider(issuer.url,
                                     configuration(page, issuer.jwt))
            .callback();
        console.warn = warn;

        after(() => issuer.stop());

        return issuer;
    }

    stop() {
        this.server.closeAllConnections();

        return new Promise((resolve) => { this.server.close(resolve); });
    }

    // Returns a token of the client "machine" or "other" for a resource.

    async token(resource, scope = 'files:read', client = 'machine') {
        const answer = await fetch(`${this.url}/token`, {
            method: 'POST',
            headers: {
                'Authorization': `Basic ${
                    btoa(`${client}:secret-of-${client}`)}`,
                'Content-Type': 'application/x-www-form-urlencoded',
            },
            body: new URLSearchParams({ grant_type: 'client_credentials',
                                        resource, scope }),
        });
        const body = await answer.json();

        if (!answer.ok) {
            throw new Error(JSON.stringify(body));
        }

        return body.access_token;
    }
}
