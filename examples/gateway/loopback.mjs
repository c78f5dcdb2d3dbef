// SPDX-License-Identifier: Apache-2.0

// Lets a server of Node.js that listens on all addresses listen on loopback
// only:
//
//     node --import ./loopback.mjs SERVER
//
// A parent process that has forked it gets the message { port }.

import net from 'node:net';

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function onLoopback(port, ...others) {
    this.once('listening', () => {
        process.send?.({ port: this.address().port });
    });

    return listen.call(this, Number(port), '127.0.0.1',
                       ...others.filter((one) => typeof one === 'function'));
};
