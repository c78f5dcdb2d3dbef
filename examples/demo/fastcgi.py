# SPDX-License-Identifier: Apache-2.0

"""A FastCGI responder in a page: one thread per connection.

    fastcgi.serve('/run/tools.sock', handle, signals)

calls handle(request) for each request, until one of these signals comes, which
the caller has blocked.  A request has params (the CGI variables) and body
(bytes), and is answered with head() and write(); the end of handle() is the end
of the answer.  write() raises Gone once the web server has given up the
request, which ends a tool that nobody waits for any more.
"""

import os
import select
import signal
import socketserver
import struct
import sys
import threading
import traceback

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT = 1, 2, 3, 4, 5, 6
KEEP_CONNECTION = 1
MAX_CONTENT = 65528


class Gone(Exception):
    pass


class Request:
    def __init__(self, connection, number, keep):
        self.connection = connection
        self.number = number
        self.keep = keep
        self.started = False
        self.parts = {PARAMS: b'', STDIN: b''}

    @property
    def params(self):
        return dict(pairs(self.parts[PARAMS]))

    @property
    def body(self):
        return self.parts[STDIN]

    def head(self, status=200, content_type=None):
        self.started = True
        lines = f'Status: {status}\r\n'
        if content_type:
            lines += f'Content-Type: {content_type}\r\n'
        self.write((lines + '\r\n').encode())

    def write(self, data):
        # between requests nothing comes, so what is readable now is an
        # abort record or the end of the connection
        if select.select([self.connection], [], [], 0)[0]:
            raise Gone

        for at in range(0, len(data), MAX_CONTENT):
            self.send(STDOUT, data[at:at + MAX_CONTENT])

    def end(self):
        self.send(STDOUT, b'')
        self.send(END, bytes(8))

    def send(self, kind, content):
        try:
            self.connection.sendall(
                struct.pack('>BBHHBx', 1, kind, self.number, len(content), 0)
                + content)
        except OSError as error:
            raise Gone from error


def pairs(data):
    """The name-value pairs of a PARAMS stream."""
    at = 0

    def length():
        nonlocal at
        if data[at] < 128:
            at += 1
            return data[at - 1]
        at += 4
        return struct.unpack('>I', data[at - 4:at])[0] & 0x7fffffff

    while at < len(data):
        name, value = length(), length()
        yield (data[at:at + name].decode(),
               data[at + name:at + name + value].decode())
        at += name + value


def records(stream):
    try:
        while len(head := stream.read(8)) == 8:
            _, kind, number, length, padding = struct.unpack('>BBHHBx', head)
            content = stream.read(length)
            stream.read(padding)
            yield kind, number, content
    except ConnectionError:
        return  # the web server has ended


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 512


def serve(path, handle, signals):
    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            request = None

            for kind, number, content in records(self.rfile):
                if kind == BEGIN:
                    request = Request(self.connection, number,
                                      content[2] & KEEP_CONNECTION)
                elif request is None or kind not in request.parts:
                    continue
                elif content or kind == PARAMS:
                    request.parts[kind] += content
                else:
                    self.answer(request)
                    if not request.keep:
                        return
                    request = None

        def answer(self, request):
            try:
                handle(request)
                request.end()
            except Gone:
                request.keep = False
            except Exception:
                traceback.print_exc(file=sys.stderr)
                request.keep = False

    if os.path.exists(path):
        os.unlink(path)

    server = Server(path, Connection)

    try:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        signal.sigwait(signals)
    finally:
        os.unlink(path)
