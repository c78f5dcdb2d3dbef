// SPDX-License-Identifier: Apache-2.0

// How the tests start servers: a port that is in use, nodes of which one does
// not start.

import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { together } from './lib/cluster.mjs';
import { Fixture, SERVER, freePort } from './lib/fixture.mjs';

const other = net.createServer().listen(0, '127.0.0.1');

await once(other, 'listening');

after(() => other.close());

const taken = other.address().port;


test('port is taken by another process: the server starts at another port',
     async () => {
    const ports = [taken];
    const fixture = await Fixture.start({ kind: SERVER,
        free: () => ports.pop() ?? freePort() });

    assert.notEqual(fixture.port, taken);
    await (await fixture.session()).response('ping');
    await fixture.stop();
});

test('port that a test requires is taken: the server does not start', () => assert.rejects(
    Fixture.start({ kind: SERVER, port: taken }),
    /Address already in use/));

test('one of two nodes does not start: the running node is stopped', async () => {
    const stopped = Promise.withResolvers();

    await assert.rejects(together([
        Promise.resolve({ stop: async () => stopped.resolve() }),
        Promise.reject(new Error('did not start'))]), /did not start/);
    await stopped.promise;
});
