// SPDX-License-Identifier: Apache-2.0

// Settings of a cluster: the server does not start with a detectable mistake.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { certify } from './lib/certificate.mjs';
import { Fixture, SERVER } from './lib/fixture.mjs';
import { serverOf } from './lib/servers.mjs';
import { cluster } from './lib/redis.mjs';

const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-cluster-'));

after(() => fs.rm(dir, { recursive: true, force: true }));

const tls = certify(dir);
const nothing = `${dir}/nothing`;
const password = `${dir}/password`;
const empty = `${dir}/empty`;

await fs.writeFile(empty, '\n');
await fs.writeFile(password, 'secret\n');

const URL = 'redis://127.0.0.1';
const LINE = /\.conf:\d+|on line \d+ of/;


describe('mistakes in the settings of a cluster', { concurrency: 2 }, () => {
    for (const [name, http, why] of [
        ['Redis URL with the scheme http', cluster('http://a'), /not a Redis URL/],
        ['Redis URL with the port 65536', cluster('redis://a:65536'),
            /not a Redis URL/],
        ['Redis URL with a password', cluster('redis://u:p@a'), /password_file=/],
        ['Redis URL with a user, no password', cluster('redis://u@127.0.0.1'),
            /user "u" has no password/],
        ['password_file= with a missing file',
            cluster(`${URL} password_file=${nothing}`), /nothing"/],
        ['password_file= with an empty file', cluster(`${URL} password_file=${empty}`),
            /contains no password/],
        ['prefix= with a space', cluster(`${URL} "prefix=a b"`),
            /"a b" is not a prefix/],
        ['node= twice', cluster(`${URL} node=a node=b`),
            /node= is set twice/],
        ['mcp_cluster without a URL', cluster('node=a'), /a Redis URL is missing/],
        ['mcp_cluster twice for one zone', { nginx: `mcp_cluster mcp ${URL};
                                      mcp_cluster mcp ${URL};`,
                              apache: `MCPCluster ${URL}\nMCPCluster ${URL}` },
            /is duplicate/],
        ['mcp_cluster_timeout that is not a time',
         cluster(URL, { mcp_cluster_timeout: 'soon' }),
            /"soon" is not a time/],
        ['mcp_cluster_sync maybe', cluster(URL, { mcp_cluster_sync: 'maybe' }),
            /neither "on" nor "off"/],
        ['replicas= without a number',
            cluster(URL, { mcp_cluster_sync: 'on replicas=' }),
            /after "on" write replicas=N/],
        ['mcp_cluster_ca with a missing file',
            cluster('rediss://127.0.0.1', { mcp_cluster_ca: nothing }),
            /nothing"/],
        ['mcp_cluster_ca without a certificate',
            cluster('rediss://127.0.0.1', { mcp_cluster_ca: empty }),
            /cannot set up TLS/],
        ['mcp_cluster_certificate without its key',
            cluster('rediss://127.0.0.1',
                    { mcp_cluster_certificate: tls.certificate }),
            /certificate_key is set: set both|CertificateKey is set: set both|is set: set both/],
        ['mcp_cluster_outage_timeout without a cluster',
         { mcp_cluster_outage_timeout: '1s' },
            SERVER === 'nginx' ? /"mcp_cluster_outage_timeout"/
                               : /MCPClusterOutageTimeout/],
    ]) {
        test(`${name}: rejected`, async () => {
            await assert.rejects(Fixture.start({ http }), (error) => {
                assert.match(error.message, why);
                assert.match(error.message, LINE);
                return true;
            });
        });
    }

    if (SERVER === 'nginx') {
        test('mcp_cluster for an unknown zone: rejected', () => assert.rejects(
            Fixture.start({ http: `mcp_cluster other ${URL};` }),
            /unknown MCP zone "other"/));

        test('Redis host that cannot be resolved: rejected',
             () => assert.rejects(
            Fixture.start({ http: cluster('redis://nobody.invalid') }),
            /host not found.*"nobody\.invalid"/));
    }
});


const KEY = { mcp_key: `${empty}.key` };

await fs.writeFile(`${empty}.key`, 'a key of 32 bytes at the very least\n');

for (const [words, warned] of [['redis://192.0.2.1', true], [URL, false],
    [`redis://192.0.2.1 password_file=${password}`, false]])
{
    test(`cluster with ${words.replace(password, 'FILE')}: ${warned ? 'a' : 'no'} warning about a missing password`,
         async () => {
        const fixture = await Fixture.start({ http: cluster(words),
                                              server: KEY });

        assert.equal(/without a password/.test(await fixture.log()
                                               + fixture.output), warned);
        await fixture.stop();
    });
}


// Settings of TLS without effect.

const TLS = { mcp_cluster_ca: tls.certificate,
              mcp_cluster_certificate: tls.certificate,
              mcp_cluster_certificate_key: tls.key,
              mcp_cluster_server_name: 'localhost',
              mcp_cluster_verify: 'off' };

for (const [name, url, settings, warned] of [
    ['directives for TLS, only redis:// URLs: a warning for each', URL, TLS, Object.keys(TLS)],
    ['mcp_cluster_ca with mcp_cluster_verify off: a warning', 'rediss://127.0.0.1', TLS,
        ['mcp_cluster_ca']],
    ['directives for TLS, one of two URLs is rediss://: no warning',
        `${URL} rediss://127.0.0.1`, { ...TLS, mcp_cluster_verify: 'on' }, []],
]) {
    test(name, async () => {
        const fixture = await Fixture.start({ http: cluster(url, settings),
                                              server: KEY });
        const log = await fixture.log() + fixture.output;
        const names = Object.keys(settings).filter((directive) =>
            new RegExp(`${serverOf().directive(directive, '').trim()
                .replace(';', '').trim()}"? has no effect: `).test(log));

        assert.deepEqual(names.sort(), [...warned].sort());
        await fixture.stop();
    });
}


// A second endpoint with the same path in another virtual server.

const twice = (...names) => ({
    nginx: `server { listen unix:${dir}/second.sock; server_name second.example;
                     location = /mcp { mcp mcp; mcp_key ${empty}.key;
                                       ${names[0] ?? ''} } }`,
    apache: `<VirtualHost 127.0.0.1:1>
                 ServerName second.example
                 <Location "/mcp">
                     SetHandler mcp
                     MCPKey ${empty}.key
                     ${names[1] ?? ''}
                 </Location>
             </VirtualHost>`,
});

const both = (...names) => ({
    nginx: `mcp_cluster mcp ${URL}; ${twice(...names).nginx}`,
    apache: `MCPCluster ${URL}\n${twice(...names).apache}`,
});

test('two endpoints with one path in a cluster: rejected, the error names both', () =>
    assert.rejects(Fixture.start({ http: both(), server: KEY }),
        SERVER === 'nginx'
            ? /in \S+:\d+ and \S+:\d+ of server "\S*" have the same name "\/mcp"/
            : /\/mcp of \S+ and \/mcp of \S+ have the same name "\/mcp"/));

test('two endpoints with one path in a cluster, one has mcp_cluster_endpoint: accepted',
     async () => {
    const fixture = await Fixture.start({
        http: both('mcp_cluster_endpoint second;', 'MCPClusterEndpoint second'),
        server: KEY,
    });

    await fixture.stop();
});

test('mcp_cluster_endpoint in a server without a cluster: rejected', () => assert.rejects(
    Fixture.start({ location: { mcp_cluster_endpoint: 'shop' } }),
    SERVER === 'nginx' ? /is in no cluster: set "mcp_cluster"/
                       : /no cluster is configured: set MCPCluster/));


// A directive in the location, even in a comment, replaces the fixture's own.

test('endpoint without mcp_key in a cluster: rejected', () => assert.rejects(
    Fixture.start({ http: cluster(URL),
                    location: { nginx: '#; mcp_key \n',
                                apache: '#; MCPKey \n' } }),
    SERVER === 'nginx' ? /has no "mcp_key"/ : /has no MCPKey/));


test('cluster with every directive and parameter of a cluster: accepted', async () => {
    const fixture = await Fixture.start({
        http: cluster(`rediss://u@127.0.0.1:1/3 unix:${dir}/a "prefix=x{y}"
                       sentinel=main node=here password_file=${password}
                       sentinel_user=u sentinel_password_file=${password}`
            .replaceAll(/\s+/g, ' '), {
            mcp_cluster_sync: 'on replicas=2',
            mcp_cluster_timeout: '100ms',
            mcp_cluster_outage_timeout: '1m',
            mcp_cluster_node_timeout: '30s',
            mcp_cluster_ca: tls.certificate,
            mcp_cluster_certificate: tls.certificate,
            mcp_cluster_certificate_key: tls.key,
            mcp_cluster_verify: 'on',
            mcp_cluster_server_name: 'localhost',
        }),
    });

    await fixture.stop();
});
