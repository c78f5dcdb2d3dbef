// SPDX-License-Identifier: Apache-2.0

// The differences between the servers that the tests run on.
//
// Tests write options with nginx's names and units. The names for Apache come
// from shared/include/mcp_number_option.h.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url))
    .replace(/\/$/, '');


// Directives that are not in the table of options

const OTHERS = {
    mcp_server: 'MCPServer',
    mcp_catalog: 'MCPCatalog',
    mcp_backend: 'MCPBackend',
    mcp_route: 'MCPRoute',
    mcp_key: 'MCPKey',
    mcp_cluster_sync: 'MCPClusterSync',
    mcp_cluster_endpoint: 'MCPClusterEndpoint',
    mcp_allow: 'MCPAllow',
    mcp_granted_scopes: 'MCPGrantedScopes',
    mcp_allow_origin: 'MCPAllowOrigin',
    mcp_auth_resource: 'MCPAuthResource',
    mcp_auth_server: 'MCPAuthServer',
    mcp_auth_scopes: 'MCPAuthScopes',
    mcp_revisions: 'MCPRevisions',
    mcp_publish_token: 'MCPPublishToken',
    mcp_publish_url: 'MCPPublishURL',
};

const table = ['mcp_number_option.h', 'mcp_cluster_conf.h']
    .map((file) => fs.readFileSync(`${root}/shared/include/${file}`, 'utf8'))
    .join('\n');
const apacheNames = new Map([
    ...Object.entries(OTHERS),
    ...[...table.matchAll(/"(mcp_\w+)",[\s\\]*"(MCP\w+)"/g)]
        .map(([, nginx, apache]) => [nginx, apache]),
]);

function apacheName(name) {
    const apache = apacheNames.get(name);

    if (apache === undefined) {
        throw new Error(`${name} has no name in shared/include/mcp_number_option.h`);
    }

    return apache;
}


/*
 * A server:
 *
 *   directive(name, value)   returns a line of configuration
 *   backend(name)            returns the name of a backend for directives
 *   section(name, backend)   returns the location of a backend:
 *                            { fastcgi: socket or port, keep, script,
 *                            upstream }, or
 *                            { http: socket or port, upstream, check, lists,
 *                            listen: values of mcp_upstream and of
 *                            mcp_upstream_..., if it is an MCP server }; an
 *                            MCP server also has `more`, as lines() takes it
 *   worker                   sets X-Worker to the process that answers
 *   sndbuf(bytes)            returns { listen, http }, which set the send
 *                            buffer of client sockets
 *   pidfile, reload          the pid file of the master process, the signal
 *                            that reloads it
 *   counters, count(text)    the path of the server's own counters, their
 *                            values
 *   idle                     their values with only the asking connection
 *   serves(name)             whether a child with that command line accepts
 *                            connections
 *   serious                  lines that a log must not have
 *   killed                   those of them that a test which kills workers
 *                            may cause
 */

const nginx = {
    directive: (name, value) => `${name} ${value};`,
    backend: (name) => `@${name}`,
    worker: 'add_header X-Worker $pid always;',
    sndbuf: (bytes) => ({ listen: `sndbuf=${bytes}` }),
    pidfile: 'nginx.pid',
    reload: 'SIGHUP',
    serves: (name) => /worker process\W*$/.test(name),
    serious: /\[(emerg|alert|crit)\]/,
    killed: /exited on signal 9/,

    // a test that reads the counters adds "location = /stub { stub_status; }"

    counters: '/stub',
    idle: { active: 1, reading: 0, writing: 1, waiting: 0 },

    count(text) {
        const [active, , , , reading, writing, waiting] = text.match(/\d+/g)
            .map(Number);

        return { active, reading, writing, waiting };
    },

    section(name, { fastcgi, http, keep, script, upstream, check = '1m',
                    lists = 'public', listen = 'off', more }) {
        if (upstream && fastcgi) {
            return {
                server: `
                    location @${name} {
                        mcp_upstream ${upstream};
                        include ${root}/examples/mcp_upstream_fastcgi_params;
                        ${lines(more, 'nginx')}
                        fastcgi_param SCRIPT_FILENAME ${script};
                        fastcgi_buffering off;
                        fastcgi_pass unix:${fastcgi};
                    }`,
            };
        }

        if (upstream) {
            return {
                server: `
                    location @${name} {
                        mcp_upstream ${upstream};
                        mcp_upstream_check ${check};
                        mcp_upstream_lists ${lists};
                        ${listen === 'on' ? 'mcp_upstream_listen on;' : ''}
                        include ${root}/examples/mcp_upstream_params;
                        ${lines(more, 'nginx')}
                        rewrite ^ /mcp? break;
                        proxy_buffering off;
                        proxy_pass http://${typeof http === 'number'
                            ? `127.0.0.1:${http}` : http};
                    }`,
            };
        }

        if (http) {
            const where = typeof http === 'number' ? `127.0.0.1:${http}`
                                                   : `unix:${http}:`;

            return {
                server: `
                    location @${name} {
                        include ${root}/examples/mcp_proxy_params;
                        proxy_buffering off;
                        proxy_pass http://${where};
                    }`,
            };
        }

        const address = typeof fastcgi === 'number' ? `127.0.0.1:${fastcgi}`
                                                    : `unix:${fastcgi}`;

        return {
            http: `upstream ${name} { server ${address};
                                      ${keep ? `keepalive ${keep};` : ''} }`,
            server: `
                location @${name} {
                    include ${root}/examples/mcp_fastcgi_params;
                    ${script ? `fastcgi_param SCRIPT_FILENAME ${script};` : ''}
                    fastcgi_keep_conn ${keep ? 'on' : 'off'};
                    fastcgi_buffering off;
                    fastcgi_pass ${name};
                }`,
        };
    },
};

const apache = {
    directive: (name, value) => `${apacheName(name)} ${value}`,
    backend: (name) => `/mcp-backend/${name}`,
    worker: 'Header always set X-Worker "%{MCP_WORKER}e"',
    sndbuf: (bytes) => ({ http: `SendBufferSize ${bytes}` }),
    pidfile: 'httpd.pid',
    reload: 'SIGUSR1',
    serves: (name) => name !== '',

    // Apache logs a crashed child as a notice

    serious: /\[(emerg|alert|crit)\]|exit signal/,
    killed: /exit signal Killed/,

    // only the event MPM has the counters of asynchronous connections

    counters: '/server-status?auto',
    idle: { BusyWorkers: 1, ConnsAsyncWriting: 0, ConnsAsyncKeepAlive: 0 },

    count: (text) => ({ ConnsAsyncWriting: 0, ConnsAsyncKeepAlive: 0,
        ...Object.fromEntries([...text.matchAll(/^(\w+): (\d+)$/gm)]
            .map(([, name, n]) => [name, Number(n)])) }),

    section(name, { fastcgi, http, keep, script = '/', upstream,
                    check = '1m', lists = 'public', listen = 'off', more }) {
        if (upstream && fastcgi) {
            return {
                server: `
                    <Location "/mcp-backend/${name}">
                        MCPUpstream ${upstream}
                        Include ${root}/examples/mcp_upstream.conf
                        ${lines(more, 'apache')}
                        SetHandler "proxy:unix:${fastcgi}|fcgi://${name}${script}"
                    </Location>`,
            };
        }

        if (upstream) {
            return {
                server: `
                    <Location "/mcp-backend/${name}">
                        MCPUpstream ${upstream}
                        MCPUpstreamCheck ${check}
                        MCPUpstreamLists ${lists}
                        ${listen === 'on' ? 'MCPUpstreamListen on' : ''}
                        Include ${root}/examples/mcp_upstream.conf
                        ${lines(more, 'apache')}
                        ProxyPass "http://127.0.0.1:${http}/mcp" retry=0
                    </Location>`,
            };
        }

        if (http) {
            const where = typeof http === 'number'
                ? `http://127.0.0.1:${http}/` : `unix:${http}|http://${name}/`;

            return {
                server: `
                    <Location "/mcp-backend/${name}">
                        Include ${root}/examples/mcp_proxy.conf
                        ProxyPass "${where}" retry=0
                    </Location>`,
            };
        }

        const worker = typeof fastcgi === 'number'
            ? `fcgi://127.0.0.1:${fastcgi}` : `unix:${fastcgi}|fcgi://${name}`;

        return {
            http: `<Proxy "${worker}/">
                       ProxySet enablereuse=${keep ? 'on' : 'off'} retry=0
                   </Proxy>`,
            server: `
                <Location "/mcp-backend/${name}">
                    SetHandler "proxy:${worker}${script}"
                </Location>`,
        };
    },
};

const servers = { nginx, apache };


export const SERVER = process.env.MCP_SERVER ?? 'nginx';

export function serverOf(kind = SERVER) {
    if (!Object.hasOwn(servers, kind)) {
        throw new Error(`MCP_SERVER: there is no ${kind}`);
    }

    return servers[kind];
}

/*
 * Returns the configuration lines of a test's options for the server `kind`:
 *
 *   { mcp_stream_after: '100ms' }    directives; an array repeats a directive
 *   { nginx: '...', apache: '...' }  lines in the syntax of each server
 *   '...'                            lines in the syntax of `kind`
 */

export function lines(options = '', kind = SERVER) {
    if (typeof options === 'string') {
        return options;
    }

    const server = serverOf(kind);

    return Object.entries(options).flatMap(([name, values]) => {
        if (Object.hasOwn(servers, name)) {
            return name === kind ? [values] : [];
        }

        return [values].flat().map((value) => server.directive(name,
            name === 'mcp_backend' ? server.backend(value) : value));
    }).join('\n');
}
