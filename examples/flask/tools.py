#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools in Python with Flask, over plain HTTP.

    gunicorn --bind 127.0.0.1:9001 --threads 16 tools:app
    python3 tools.py 9001           to try it (or /run/tools.sock)

In nginx:

    location @flask {
        include          mcp_proxy_params;
        rewrite          ^ /? break;
        proxy_buffering  off;
        proxy_pass       http://127.0.0.1:9001;
    }

or, in Apache:

    <Location "/mcp-backend/flask">
        Include    mcp_proxy.conf
        ProxyPass  "http://127.0.0.1:9001/"
    </Location>

The body is the JSON-RPC request.  The answer is the result, or any number of
notifications and then the result, each on a line of its own.
"""

import json
import sys
import time

from flask import Flask, Response, request

app = Flask(__name__)


def text(value):
    return {'content': [{'type': 'text', 'text': value}]}


def flask_hello(name='world'):
    yield text(f'Hello, {name}!')


def flask_slow(steps=5):
    for step in range(1, steps + 1):
        time.sleep(1)
        yield {'progress': step, 'total': steps, 'message': f'step {step}'}

    yield text(f'{steps} steps done')


TOOLS = {'flask_hello': flask_hello, 'flask_slow': flask_slow}


# whichever path the call comes with

@app.post('/', defaults={'path': ''})
@app.post('/<path:path>')
def call(path):
    message = request.get_json()
    params = message['params']
    token = params.get('_meta', {}).get('progressToken')
    tool = TOOLS.get(params.get('name'))

    if tool is None:
        return {'jsonrpc': '2.0', 'id': message['id'],
                'error': {'code': -32602, 'message': 'Unknown tool'}}

    def lines():
        for answer in tool(**params.get('arguments', {})):
            if 'progress' in answer:
                if token is None:
                    continue
                answer = {'jsonrpc': '2.0', 'method': 'notifications/progress',
                          'params': {'progressToken': token, **answer}}
            yield json.dumps(answer) + '\n'

    return Response(lines(), mimetype='application/x-ndjson')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)

    address = sys.argv[1]

    if '/' in address:
        app.run(host=f'unix://{address}', threaded=True)
    else:
        app.run(host='127.0.0.1', port=int(address), threaded=True)
