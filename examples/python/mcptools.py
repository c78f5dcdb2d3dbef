# SPDX-License-Identifier: Apache-2.0
"""Tools of an MCP backend, as a WSGI application; see tools.py.

@mcp.tool(NAME, ENTRY...) declares a function as a tool.  ENTRY is its entry in
the catalog.  The function gets the call, and the arguments by their names; the
web server has not checked them.  It returns a string (text), a list (content
blocks), structured() or another dict (the result as it is).  The model reads
the message of a ToolError.  Other exceptions are only logged.
"""

import base64
import json
import logging
import socketserver
import sys
from wsgiref.simple_server import WSGIServer, make_server


class ToolError(Exception):
    """An error whose message the model reads."""


class Question(BaseException):
    """Ends a call that asks its user. "except Exception" does not catch it."""


def text(value):
    return {'type': 'text', 'text': value}


def image(data, mime_type):
    return {'type': 'image', 'data': base64.b64encode(data).decode(),
            'mimeType': mime_type}


def structured(data, message=None):
    return {'content': [text(json.dumps(data) if message is None else message)],
            'structuredContent': data}


class Call:
    def __init__(self, params, capabilities, send):
        self.params = params
        self.capabilities = capabilities
        self.send = send
        self.answers = {**(params.get('inputResponses') or {}),
                        **json.loads(params.get('requestState') or '{}')}

    def progress(self, done, total=None, message=None):
        token = (self.params.get('_meta') or {}).get('progressToken')

        if token is not None:
            params = {'progressToken': token, 'progress': done,
                      'total': total, 'message': message}
            self.send({'jsonrpc': '2.0', 'method': 'notifications/progress',
                       'params': {name: value for name, value in params.items()
                                  if value is not None}})

    def can_ask(self):
        """Returns whether the client shows forms to its user."""
        modes = self.capabilities.get('elicitation')
        return modes is not None and (not modes or 'form' in modes)

    def ask(self, key, message, schema):
        """Returns the fields of the user's answer, or None if the user declined.

        Once the user has answered, the tool runs again from its beginning: let
        it change nothing before its last question.
        """
        answer = self.answers.get(key)

        if answer is None:
            raise Question({
                'resultType': 'input_required',
                'inputRequests': {key: {
                    'method': 'elicitation/create',
                    'params': {'message': message, 'requestedSchema': schema}}},
                'requestState': json.dumps(self.answers)})

        return answer.get('content', {}) if answer.get('action') == 'accept' else None


class Mcp:
    """The tools. The object is the WSGI application."""

    def __init__(self):
        self.tools = {}

    def tool(self, name, **entry):
        def declare(function):
            self.tools[name] = {'name': name, **entry}, function
            return function

        return declare

    def __call__(self, environ, start_response):
        body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
        capabilities = (environ.get('MCP_CLIENT_CAPABILITIES')
                        or environ.get('HTTP_MCP_CLIENT_CAPABILITIES') or '{}')
        write = start_response('200 OK', [('Content-Type', 'application/x-ndjson')])

        def send(message):
            write((message if isinstance(message, str) else json.dumps(message)).encode() + b'\n')

        send(self.answer(json.loads(body), json.loads(capabilities), send))
        return []

    def answer(self, request, capabilities, send):
        params = request.get('params') or {}
        name = params.get('name')

        if name not in self.tools:
            return {'jsonrpc': '2.0', 'id': request['id'], 'error': {
                'code': -32602, 'message': f'Unknown tool: {name}'}}

        try:
            result = self.tools[name][1](Call(params, capabilities, send),
                                         **(params.get('arguments') or {}))

            if isinstance(result, str) or result is None:
                result = [text(result)] if result else []

            return json.dumps({'content': result} if isinstance(result, list) else result)
        except Question as question:
            return question.args[0]
        except ToolError as error:
            message = str(error)
        except (Exception, SystemExit):
            logging.exception('MCP tool %s', name)
            message = 'The tool has failed.'

        return {'content': [text(message)], 'isError': True}

    def main(self):
        if sys.argv[1:] == ['--catalog']:
            json.dump({'tools': [entry for entry, _ in self.tools.values()]},
                      sys.stdout, indent=2)
            print()
        elif len(sys.argv) == 2 and sys.argv[1].isdigit():
            make_server('127.0.0.1', int(sys.argv[1]), self, Server).serve_forever()
        else:
            sys.exit(f'usage: {sys.argv[0]} --catalog | PORT')


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 512
