#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks access tokens for nginx's auth_request, by introspection (RFC 7662).

    check.py PORT RESOURCE INTROSPECTION_URL CLIENT_ID SECRET_FILE

Answers each request by the token in its Authorization header: 204, the user in
X-User and the token's scopes in X-Scopes; 401 if the token is not good, or not for RESOURCE; 403 if it lacks a
scope of those in X-Scope; 503 if the issuer does not answer.  No token is kept
or written anywhere.
"""

import base64
import json
import sys
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TIMEOUT = 5


class Issuer:
    def __init__(self, url, client, secret):
        pair = ':'.join(map(urllib.parse.quote_plus, (client, secret)))

        self.url = url
        self.credentials = base64.b64encode(pair.encode()).decode()

    def introspect(self, token):
        request = urllib.request.Request(
            self.url,
            urllib.parse.urlencode({'token': token}).encode(),
            {'Authorization': 'Basic ' + self.credentials,
             'Accept': 'application/json'})

        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return json.load(answer)


class Check(BaseHTTPRequestHandler):
    resource = None
    issuer = None

    def do_GET(self):
        scheme, _, token = self.headers.get('Authorization', '').partition(' ')

        if scheme.lower() != 'bearer' or not token:
            self.answer(401, 'Bearer')
            return

        try:
            facts = self.issuer.introspect(token.strip())
        except (OSError, ValueError):
            self.answer(503)
            return

        audience = facts.get('aud', [])

        if isinstance(audience, str):
            audience = [audience]

        if facts.get('active') is not True or self.resource not in audience:
            self.answer(401, 'Bearer error="invalid_token"')
            return

        needed = self.headers.get('X-Scope', '').split()

        if not set(needed) <= set(facts.get('scope', '').split()):
            self.answer(403, 'Bearer error="insufficient_scope", '
                        'scope="{}"'.format(' '.join(needed)))
            return

        self.answer(204, user=facts.get('sub') or facts.get('client_id'),
                    scopes=' '.join(facts.get('scope', '').split()))

    def answer(self, status, challenge=None, user=None, scopes=None):
        self.send_response(status)
        self.send_header('Content-Length', '0')

        if challenge:
            self.send_header('WWW-Authenticate', challenge)

        if user:
            self.send_header('X-User', user)

        if scopes:
            self.send_header('X-Scopes', scopes)

        self.end_headers()

    def log_message(self, *args):
        pass


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)

    port, Check.resource, url, client, secret = sys.argv[1:]

    with open(secret, encoding='ascii') as file:
        Check.issuer = Issuer(url, client, file.read().strip())

    ThreadingHTTPServer(('127.0.0.1', int(port)), Check).serve_forever()


if __name__ == '__main__':
    main()
