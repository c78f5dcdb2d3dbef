#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users of a tool that asks a question, and somebody who calls a quick tool
meanwhile:

    clients.py URL USERS SECONDS

Each user is a client of revision 2025-11-25 who needs SECONDS to answer.  When
all of them have been asked, or after five seconds, a quick call follows.  Prints
one line of JSON: how many users were asked, and how many calls succeeded; and
the seconds of the quick call, or null if it failed.
"""
import http.client
import json
import sys
import threading
import time
import urllib.parse

TIMEOUT = 12


class Client:
    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.headers = {'Content-Type': 'application/json',
                        'Accept': 'application/json, text/event-stream'}

    def post(self, message):
        """Returns the response; the caller reads it."""
        connection = http.client.HTTPConnection(self.url.netloc,
                                                timeout=TIMEOUT)
        connection.request('POST', self.url.path, json.dumps(message),
                           self.headers)

        return connection.getresponse()

    def connect(self):
        response = self.post({
            'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': {
                'protocolVersion': '2025-11-25',
                'capabilities': {'elicitation': {}},
                'clientInfo': {'name': 'php-pool', 'version': '1'}}})
        response.read()
        self.headers['Mcp-Session-Id'] = response.getheader('Mcp-Session-Id')
        self.headers['MCP-Protocol-Version'] = '2025-11-25'
        self.post({'jsonrpc': '2.0',
                   'method': 'notifications/initialized'}).read()

        return self

    def call(self, tool, answer=None):
        """Calls a tool, and returns the text of its result."""
        response = self.post({'jsonrpc': '2.0', 'id': 1,
                              'method': 'tools/call',
                              'params': {'name': tool, 'arguments': {}}})

        if response.getheader('Content-Type') == 'application/json':
            return self.text(json.load(response))

        for line in response:
            if not line.startswith(b'data:') or not line[5:].strip():
                continue

            message = json.loads(line[5:])

            if message.get('method') == 'elicitation/create':
                self.post({'jsonrpc': '2.0', 'id': message['id'],
                           'result': answer()}).read()
            elif message.get('id') == 1:
                return self.text(message)

        raise OSError('the stream has ended')

    @staticmethod
    def text(message):
        if message['result'].get('isError'):
            raise OSError(message['result']['content'][0]['text'])

        return message['result']['content'][0]['text']


def main(url, users, seconds):
    clients = [Client(url).connect() for _ in range(users)]
    quick = Client(url).connect()
    asked = threading.Semaphore(0)
    greeted = []

    def user(client):
        def answer():
            asked.release()
            time.sleep(seconds)
            return {'action': 'accept', 'content': {'name': 'Ada'}}

        try:
            if client.call('ask', answer) == 'Hello, Ada!':
                greeted.append(client)
        except (OSError, KeyError, http.client.HTTPException):
            pass

    threads = [threading.Thread(target=user, args=(client,))
               for client in clients]

    for thread in threads:
        thread.start()

    until = time.monotonic() + 5
    questions = sum(asked.acquire(timeout=max(0, until - time.monotonic()))
                    for _ in clients)
    began = time.monotonic()

    try:
        quick.call('quick')
        took = round(time.monotonic() - began, 3)
    except (OSError, KeyError, http.client.HTTPException):
        took = None

    for thread in threads:
        thread.join()

    print(json.dumps({'asked': questions, 'succeeded': len(greeted),
                      'quick': took}))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
