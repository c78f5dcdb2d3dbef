// SPDX-License-Identifier: Apache-2.0

// A self-made certificate for 127.0.0.1 and localhost.

import { execFileSync } from 'node:child_process';


export function certify(dir) {
    const key = `${dir}/key.pem`;
    const certificate = `${dir}/certificate.pem`;

    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes',
        '-keyout', key, '-out', certificate, '-days', '2',
        '-subj', '/CN=localhost', '-addext',
        'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' });

    return { key, certificate };
}
