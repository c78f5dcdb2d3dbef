// SPDX-License-Identifier: Apache-2.0

// Settings that have no effect, or an effect that is hardly intended: the
// configuration test rejects them or warns.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Fixture, SERVER } from './lib/fixture.mjs';

const NGINX = SERVER === 'nginx';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-config-'));

after(() => fs.rmSync(directory, { recursive: true, force: true }));

function file(name, contents) {
    fs.writeFileSync(`${directory}/${name}`, contents);

    return `${directory}/${name}`;
}

const tools = file('tools.json', JSON.stringify({ tools: ['read', 'write']
    .map((name) => ({ name, inputSchema: { type: 'object' } })) }));
const backend = { mcp_backend: NGINX ? '@tools' : '/mcp-backend/tools' };
const NO = NGINX ? '0' : 'false';
const YES = NGINX ? '1' : 'true';

// Returns the directive's name for this server: mcp_max_wait is MCPMaxWait in
// Apache.

const directive = (name) => (NGINX ? name
    : `MCP${name.slice(4).split('_').map((word) =>
        ({ ttl: 'TTL', url: 'URL' })[word] ?? word[0].toUpperCase() + word.slice(1))
        .join('')}`);

// Returns a section with these settings; begin is its handler.

function section(at, begin, settings) {
    const lines = Object.entries(settings).flatMap(([name, values]) =>
        [values].flat().map((value) => `${directive(name)} ${value}`));

    return NGINX
        ? `location ${at} { ${begin} ${lines.map((l) => `${l};`).join(' ')} }`
        : `<Location "${at}">\n${begin}\n${lines.join('\n')}\n</Location>\n`;
}

const endpoint = (at, settings) => (NGINX
    ? section(`= /${at}`, 'mcp mcp;', settings)
    : section(`/${at}`, 'SetHandler mcp', settings));

const nameOf = (at) => (NGINX ? `@${at}` : `/mcp-backend/${at}`);

const backendSection = (at, settings) =>
    section(nameOf(at), NGINX ? 'return 404;' : '', settings);


describe('rejected settings', { concurrency: 2 }, () => {
    const cluster = { mcp_cluster_dead_after: 'mcp_cluster_node_timeout',
                       mcp_cluster_patience: 'mcp_cluster_outage_timeout' };

    for (const [old, name] of Object.entries({
        mcp_share_by: 'mcp_quota_key',
        mcp_max_principal_streams: 'mcp_quota_streams',
        mcp_max_party_streams: 'mcp_quota_streams',
        mcp_max_party_listeners: 'mcp_quota_listeners',
        mcp_max_party_values: 'mcp_quota_values',
        mcp_max_party_bytes: 'mcp_quota_bytes',
        ...cluster,
    })) {
        const quote = NGINX ? '"' : '';

        test(`old directive ${old}: rejected, the error names ${name}`, () => assert.rejects(
            Fixture.start({ server: endpoint('old', { [old]: 'off' }) }),
            (error) => {
                assert.ok(error.message.includes(
                    `${quote}${directive(old)}${quote} was renamed: write ${
                        quote}${directive(name)}${quote}`));
                assert.match(error.message, /\.conf:\d+|on line \d+ of/);
                return true;
            }));
    }

    test('old variable $mcp_sent_name: rejected, the error names $mcp_header_name',
        { skip: !NGINX && 'notes of Apache are not declared' },
        () => assert.rejects(
            Fixture.start({ http: 'log_format old "$mcp_sent_name";' }),
            /the variable "\$mcp_sent_name" was renamed: write "\$mcp_header_name"/));

    for (const [name, settings, why] of [
        ['mcp_allow_origin with a slash',
            { mcp_allow_origin: 'https://example.com/' },
            /"https:\/\/example\.com\/" never equals an Origin/],
        ['mcp_allow_origin with a path',
            { mcp_allow_origin: 'https://example.com:8443/app' },
            /never equals an Origin/],
        ['mcp_stream_buffer without a unit', { mcp_stream_buffer: '5' },
            /add the unit, as in 8m/],
        ['mcp_max_message without a unit', { mcp_max_message: '8' },
            /add the unit, as in 8m/],
        ['mcp_quota_bytes without a unit', { mcp_quota_bytes: '16' },
            /add the unit, as in 8m/],
        ['mcp_max_message 0', { mcp_max_message: '0' }, /invalid value "0"/],
        ...['mcp_call_timeout', 'mcp_input_timeout', 'mcp_state_lifetime',
            'mcp_session_lifetime', 'mcp_resume_lifetime'].map((zero) =>
            [`${zero} 0`, { [zero]: '0' }, /value must not be 0/]),
        ['mcp_route twice for one name',
            { mcp_route: ['a', '~^b', 'a'].map((pattern) =>
                `${pattern} ${backend.mcp_backend}`) },
            /an earlier route has the same pattern "a"/],
        ['mcp_allow after mcp_allow for *',
            { mcp_allow: [`* ${YES}`, `tools/read ${NO}`] },
            /rule "tools\/read" is never used/],
        ['mcp_allow twice for one name',
            { mcp_allow: [`tools/a ${YES}`, `tools/a ${NO}`] },
            /rule "tools\/a" is never used/],
        ['empty catalog', { mcp_catalog: file('empty', '') },
            /line 1: the file is empty/],
        ['catalog with a byte order mark',
            { mcp_catalog: file('mark', '\ufeff{}') },
            /line 1: the file begins with a byte order mark/],
        ['catalog in Latin-1', { mcp_catalog: file('latin',
            Buffer.from('{\n"instructions":"caf\u00e9"}', 'latin1')) },
            /line 2: column 20: byte 0xe9 is not UTF-8/],
        ['catalog with a syntax error',
            { mcp_catalog: file('syntax', '{\n  "tools": [}\n}') },
            /line 2: not valid JSON near column \d+/],
    ]) {
        test(`${name}: rejected`, () => assert.rejects(
            Fixture.start({ server: endpoint('bad', settings) }),
            (error) => {
                assert.match(error.message, why);
                assert.match(error.message, /\.conf:\d+|on line \d+ of/);
                return true;
            }));
    }

    for (const [name, sections, why] of [
        ['MCPUpstream in a <LocationMatch>',
            `<LocationMatch "^/b$">
                 MCPUpstream modern
             </LocationMatch>`, /the path of a backend, not with a pattern/],
        ['MCPUpstream in an <If>',
            `<If "true">
                 MCPUpstream modern
             </If>`, /the path of a backend, not with a pattern/],
        ['MCPUpstream with two values for one path',
            `<Location "/b">
                 MCPUpstream modern
             </Location>
             <Location "/b">
                 MCPUpstream stateless
             </Location>`, /sections <Location "\/b"> differ in MCPUpstream/],
        ['MCPUpstreamSession with two values for one path',
            `<Location "/b">
                 MCPUpstream session
             </Location>
             <Location "/b">
                 MCPUpstream session
                 MCPUpstreamSession principal
             </Location>`, /sections <Location "\/b"> differ in MCPUpstream/],
    ]) {
        test(`${name}: rejected`, { skip: NGINX && 'Apache only' },
             () => assert.rejects(Fixture.start({ server: sections }), why));
    }
});


test('MCPUpstream after MCPUpstreamSession, equal in two virtual hosts: accepted',
     { skip: NGINX && 'Apache only' }, async () => {
    const host = `<VirtualHost 127.0.0.1:1>
                      <Location "/b">
                          MCPUpstreamSession principal
                          MCPUpstream session
                      </Location>
                  </VirtualHost>`;
    const fixture = await Fixture.start({ http: { apache: host + '\n' + host } });

    await fixture.stop();
});


test('configuration whose directives all have an effect: no error, no warning',
     async () => {
    const fixture = await Fixture.start({ zone: '128m',
        server: endpoint('good', {
        ...backend, mcp_catalog: tools,
        mcp_allow_origin: ['https://example.com:8443', 'null',
                           '~^https://.*/', 'app://x'],
        mcp_allow: [`prompts/* ${YES}`, `tools/read ${YES}`, `* ${NO}`],
        mcp_max_message: '1k', mcp_stream_buffer: '64k',
        mcp_quota_bytes: 'off', mcp_min_wait: '1s',
        mcp_publish_url: 'http://127.0.0.1/publish',
        mcp_call_timeout: '5s', mcp_stream_after: '5s', mcp_task_after: '1s',
        mcp_resume_after: 'off', mcp_link: 'on', mcp_max_session_streams: '5',
        mcp_resume_stateless: 'all', mcp_reconnect_wait: '1s' })
        + endpoint('good-2', { mcp_backend: nameOf('server'),
                               mcp_route: `a ${nameOf('part')}` })
        + backendSection('server', { mcp_upstream: 'auto',
            mcp_upstream_check: '5s', mcp_upstream_stale: '5s',
            mcp_upstream_session: 'call', mcp_upstream_lists: 'shared',
            mcp_upstream_listen: 'on', mcp_upstream_max_sessions: '5' })
        + backendSection('part', { mcp_upstream: 'auto',
            mcp_upstream_check: '5s', mcp_upstream_session: 'call' })
        + section('/good-publish', NGINX ? 'mcp_publish mcp;'
            : 'SetHandler mcp-publish\nMCPPublishOpen On\nMCPMaxBody 1m',
        { mcp_publish_token: 'a-long-secret', mcp_max_depth: '10',
          mcp_max_message: '1m', mcp_stream_after: '2s' }) });
    const log = await fixture.log();

    await fixture.stop();
    assert.doesNotMatch(log,
        /\[(?:\w+:)?(?:warn|emerg)\].*(?:\bmcp\b|\/good|mod_mcp)/);
});


test('directives without effect: a warning for each', async (t) => {
    const settings = {
        nothing: {},
        hidden: { ...backend, mcp_catalog: tools,
                  mcp_allow: `tools/re* ${YES}` },
        late: { ...backend, mcp_max_wait: '10s', mcp_min_wait: '1m' },
        page: { ...backend, mcp_page_size: '10' },
        upstream: { ...backend, mcp_upstream: 'modern' },
        join: { ...backend, mcp_catalog: tools, mcp_join_wait: '5s' },
        sessions: { ...backend, mcp_revisions: '2025-11-25',
                    mcp_cache_ttl: '1m', mcp_state_lifetime: '1m',
                    mcp_task_after: '2s', mcp_resume_stateless: 'all' },
        reconnect: { ...backend, mcp_reconnect_wait: '5s' },
        ends: { ...backend, mcp_call_timeout: '5s', mcp_stream_after: '6s',
                mcp_task_after: '7s', mcp_resume_after: '8s' },
        url: { mcp_catalog: tools, mcp_publish_url: 'http://127.0.0.1/' },
        token: { ...backend, mcp_publish_token: 'a-long-secret',
                 ...!NGINX && { mcp_publish_open: 'on' } },
        targets: { mcp_backend: nameOf('without'),
                   mcp_route: ['modern', 'passes', 'routed'].map((at) =>
                       `${at} ${nameOf(at)}`) },
        tasks: { ...backend, mcp_task_after: 'off', mcp_task_ttl: '1h' },
        stateless: { ...backend, mcp_revisions: '2026-07-28',
                     mcp_session_lifetime: '1h', mcp_link: 'on',
                     mcp_max_session_streams: '10' },
        batches: { ...backend, mcp_revisions: '2025-11-25',
                   mcp_max_batch: '10' },
        shares: { ...backend, mcp_quota_key: 'off',
                  mcp_quota_streams: '10',
                  mcp_quota_listeners: '10', mcp_quota_values: '10',
                  mcp_quota_bytes: '1m' },
        policy: { ...backend, mcp_stream_after: '100ms',
                  mcp_policy_after: '200ms' },
        scopes: { ...backend, mcp_catalog: tools,
                  mcp_granted_scopes: NGINX ? '$http_x_scopes'
                      : '"%{HTTP:X-Scopes}"' },
        auth: { ...backend, mcp_auth_scopes: 'read',
                mcp_auth_server: 'https://example.com' },
        misspelt: { ...backend, mcp_catalog: tools,
                    mcp_route: [`read ${backend.mcp_backend}`,
                                `raed ${backend.mcp_backend}`] },
        origin: { ...backend, mcp_link_origin: 'https://example.com' },
        ...NGINX && { quota: { ...backend, mcp_quota_streams: '40000',
                               mcp_quota_listeners: '40000' } },
    };
    const idle = (name, why) => [`${name} without effect`, new RegExp(
        `has "?${directive(name)}\\b.*, which has no effect: .*${why}`)];
    const at = (path, name, why) => [`${name} without effect in ${path}`, new RegExp(
        `${path}"? has "?${directive(name)}\\b.*, which has no effect: ${why}`)];
    const others = [
        backendSection('without', { mcp_upstream_check: '5s',
            mcp_upstream_stale: '5s', mcp_upstream_session: 'call',
            mcp_upstream_lists: 'shared', mcp_upstream_listen: 'on',
            mcp_upstream_max_sessions: '5' }),
        backendSection('modern', { mcp_upstream: 'modern',
            mcp_upstream_session: 'call', mcp_upstream_listen: 'on',
            mcp_upstream_max_sessions: '5' }),
        backendSection('routed', { mcp_upstream: 'modern',
            mcp_upstream_check: '5s', mcp_upstream_stale: '5s',
            mcp_upstream_lists: 'off' }),
        backendSection('passes', { mcp_upstream: 'auto',
                                       mcp_pass_cookie: 'on' }),
        backendSection('nobody', { mcp_upstream: 'auto' }),
        section('/messages', NGINX ? 'mcp_publish mcp;'
            : 'SetHandler mcp-publish', { mcp_backend: nameOf('modern'),
                                          mcp_linger: '5s' }),
        section('/state', NGINX ? 'mcp_status mcp;' : 'SetHandler mcp-status',
            { mcp_publish_token: 'a-long-secret', mcp_retry: '5s' }),
        section('/silent', '', { mcp_debug: 'on' }),
        NGINX
            ? `location /around { mcp_debug on;
                   location = /around/a { mcp mcp; mcp_backend @tools; } }
               location /status-around { mcp_status mcp; mcp_debug on;
                   location = /status-around/a { mcp mcp;
                                                 mcp_backend @tools; } }
               location = /only-principal { mcp_principal $remote_user; }`
            : `<Location "/around">
                   MCPDebug on
               </Location>
               <Location "/around/a">
                   SetHandler mcp
                   MCPBackend /mcp-backend/tools
               </Location>
               <Location "/only-principal">
                   MCPPrincipal "%{REMOTE_USER}"
               </Location>`,
    ];
    const same = (file) => `<VirtualHost 127.0.0.1:${file}>
        ServerName same.example
        <Location "/same">
            SetHandler mcp
            MCPCatalog ${tools}
            MCPBackend /mcp-backend/tools
        </Location>
    </VirtualHost>\n`;
    const fixture = await Fixture.start({ server:
        Object.entries(settings).map(([at, s]) => endpoint(at, s)).join('\n')
        + others.join('\n'),
    http: !NGINX ? same(1) + same(2) : `mcp_zone unused 1m;
        server { listen unix:${directory}/a; server_name a;
                 location = /same { mcp mcp; mcp_backend @b; }
                 location @b { return 404; } }
        server { listen unix:${directory}/b; server_name a;
                 location = /same { mcp mcp; mcp_backend @b;
                                    if ($arg_x) { set $x 1; } }
                 location @b { return 404; } }` });
    const log = await fixture.log();

    await fixture.stop();

    for (const [name, why] of [
        ['endpoint with neither catalog nor backend',
            /has no .*, .* or .*, so clients find nothing there/],
        ['mcp_allow that hides all other items',
            /hides "write" from all callers, because no .* matches it/],
        ['mcp_min_wait greater than mcp_max_wait',
            /has an .* that exceeds .*, so clients that wait for/],
        idle('mcp_page_size', 'is not set'),
        idle('mcp_upstream', 'move the directive into the'),
        idle('mcp_resume_stateless', 'has only revisions with sessions'),
        idle('mcp_reconnect_wait', 'is not "all"'),
        ...['mcp_stream_after', 'mcp_task_after', 'mcp_resume_after'].map((d) =>
            idle(d, 'calls end earlier, by ')),
        idle('mcp_publish_url', 'neither .* is set'),
        at(NGINX ? '"mcp" in .*' : '/token', 'mcp_publish_token',
           'only .* use it'),
        ...['mcp_upstream_check', 'mcp_upstream_stale', 'mcp_upstream_session',
            'mcp_upstream_lists', 'mcp_upstream_listen',
            'mcp_upstream_max_sessions'].map((d) =>
            at(nameOf('without'), d,
                '"?(?:mcp_upstream|MCPUpstream)"? is off')),
        ...['mcp_upstream_session', 'mcp_upstream_listen',
            'mcp_upstream_max_sessions'].map((d) =>
            at(nameOf('modern'), d, '.*is neither "session"')),
        ...['mcp_upstream_check', 'mcp_upstream_stale',
            'mcp_upstream_lists'].map((d) => at(nameOf('routed'), d, '.*of an endpoint without')),
        at(nameOf('passes'), 'mcp_pass_cookie', 'only .* use it'),
        NGINX ? ['mcp_upstream in a location that is not a backend',
                 /location "@nobody" has directives of this module/]
            : at('/mcp-backend/nobody', 'mcp_upstream', 'neither MCPBackend'),
        ...['mcp_backend', 'mcp_linger'].map((d) =>
            at('/messages', d, '.*publish"? do not use it')),
        at('/state', 'mcp_publish_token', 'only .* use it'),
        at('/state', 'mcp_retry', '.*status"? do not use it'),
        ['section with MCP directives, but no handler of the module',
            /ocation "\/silent"?.* has directives of this module/],
        ['section with mcp_principal only, but no handler of the module',
            /ocation "\/only-principal"?.* has directives of this module/],
        idle('mcp_join_wait', 'no item of a catalog has "x-mcp-join"'),
        ...['mcp_cache_ttl', 'mcp_state_lifetime', 'mcp_task_after'].map((d) =>
            idle(d, 'has only revisions with sessions')),
        idle('mcp_task_ttl', 'is off, and no item'),
        ...['mcp_session_lifetime', 'mcp_link', 'mcp_max_session_streams']
            .map((d) => idle(d, 'has only revisions without sessions')),
        idle('mcp_max_batch', 'has no revision with batches'),
        ...['mcp_quota_streams', 'mcp_quota_listeners',
            'mcp_quota_values', 'mcp_quota_bytes'].map((d) =>
            idle(d, 'is off')),
        idle('mcp_policy_after', 'calls get a stream earlier, by '),
        idle('mcp_granted_scopes', 'no item of a catalog has "x-mcp-scope"'),
        ['mcp_route for a name that the catalog lacks',
            /has "?(?:mcp_route|MCPRoute)"? for "raed", which is not a name/],
        idle('mcp_link_origin', 'is off'),
        ...['mcp_auth_scopes', 'mcp_auth_server'].map((d) =>
            idle(d, 'is not set')),
        ...NGINX ? [['endpoints with one path in two servers with one name',
            /has the same path "\/same" as an endpoint of another server.*server_name" "a"/],
        ['zone that no location uses', /zone "unused" in .* has no effect/],
        ['quotas greater than worker_connections',
            /let one caller hold 120000 connections, but the "worker_connections"/]]
            : [['endpoints with one path in two servers with one name',
                /\/same has the same path as an endpoint of another server with the ServerName "same\.example"/],
            ['MCPPublishOpen in the section of an endpoint',
             /\/token has MCPPublishOpen, which has no effect: only/]],
    ]) {
        await t.test(`${name}: a warning`, () => {
            const found = new Set(log.split('\n').filter((l) => why.test(l))
                .map((l) => l.replace(/.*?(?=")/, '').trim()));

            assert.equal(found.size, 1, log);
        });
    }

    await t.test('location that sets MCP directives for an endpoint inside it: no warning',
                 () => {
        assert.doesNotMatch(log, /["/ ](?:status-)?around/);
    });

    await t.test('endpoint inherits a directive without effect: no warning',
                 async () => {
        const outer = NGINX ? { http: 'mcp_page_size 10;' }
            : { server: 'MCPPageSize 10\n' };
        const inherited = await Fixture.start({ ...outer,
            server: (outer.server ?? '') + endpoint('bare', backend) });
        const text = await inherited.log();

        await inherited.stop();
        assert.doesNotMatch(text, /which has no effect/);
    });

    for (const [name, http] of [
        ['AllowOverride FileInfo',
            '<Directory "/srv">\nAllowOverride FileInfo\n</Directory>\n'],
        ['an endpoint in a <LocationMatch>',
            `<LocationMatch "^/x(/|$)">
                 SetHandler mcp
                 MCPBackend /mcp-backend/tools
             </LocationMatch>\n`],
    ]) {
        await t.test(`MCP directives in a section without a handler, and ${name}: no warning`,
            { skip: NGINX && 'Apache only' }, async () => {
                const apache = await Fixture.start({ http,
                    server: section('/silent', '', { mcp_debug: 'on' }) });
                const text = await apache.log();

                await apache.stop();
                assert.doesNotMatch(text, /silent/);
            });
    }
});
