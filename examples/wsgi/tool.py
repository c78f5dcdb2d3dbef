# SPDX-License-Identifier: Apache-2.0
# Tools in Python, for a WSGI server.  Four processes of uWSGI:
#
#     uwsgi --plugin python3 --uwsgi-socket 127.0.0.1:9002 --processes 4 \
#         --wsgi-file /srv/mcp/tool.py

import json


def application(environ, start_response):
    length = int(environ.get('CONTENT_LENGTH') or 0)
    request = json.loads(environ['wsgi.input'].read(length))
    params = request['params']

    if params['name'] == 'count':
        start_response('200 OK', [('Content-Type', 'application/x-ndjson')])
        return count(params)

    start_response('200 OK', [('Content-Type', 'text/plain; charset=utf-8')])
    return [f'Hello, {params["arguments"].get("name", "world")}!'.encode()]


def count(params):
    token = params.get('_meta', {}).get('progressToken')

    for i in range(1, 4):
        if token is not None:
            yield line({'jsonrpc': '2.0', 'method': 'notifications/progress',
                        'params': {'progressToken': token, 'progress': i}})

    yield line({'content': [{'type': 'text', 'text': 'Counted to 3'}]})


def line(message):
    return json.dumps(message).encode() + b'\n'
