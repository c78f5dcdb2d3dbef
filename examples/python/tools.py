# SPDX-License-Identifier: Apache-2.0
# Three tools in Python, for any WSGI server.  "python3 tools.py --catalog >
# catalog.json" writes the catalog.  Four processes of uWSGI:
#
#     uwsgi --plugin python3 --uwsgi-socket 127.0.0.1:9002 --processes 4 \
#         --chdir /srv/mcp --wsgi-file tools.py
#
# "python3 tools.py 9001" serves HTTP with the standard library alone.
#
#     location @python {
#         include          mcp_uwsgi_params;
#         uwsgi_buffering  off;
#         uwsgi_pass       127.0.0.1:9002;
#     }
#
#     <Location "/mcp-backend/python">
#         SetHandler  "proxy:uwsgi://127.0.0.1:9002/"
#     </Location>

from mcptools import Mcp, ToolError, structured

application = mcp = Mcp()
STRING, INTEGER = {'type': 'string'}, {'type': 'integer'}


@mcp.tool('greet', description='Greets somebody',
          inputSchema={'type': 'object', 'properties': {'name': STRING}},
          outputSchema={'type': 'object', 'properties': {'greeting': STRING}})
def greet(call, name='world'):
    greeting = f'Hello, {name}!'
    return structured({'greeting': greeting}, greeting)


@mcp.tool('count', description='Counts to n and reports its progress',
          inputSchema={'type': 'object', 'properties': {'n': INTEGER}})
def count(call, n=3):
    if not isinstance(n, int) or not 1 <= n <= 100:
        raise ToolError('n must be an integer from 1 to 100.')

    for i in range(1, n + 1):
        call.progress(i, n, f'{i} of {n}')      # the work of one step

    return f'Counted to {n}.'


@mcp.tool('book', description='Books a table, and asks the user for the time',
          inputSchema={'type': 'object', 'properties': {'people': INTEGER}})
def book(call, people=2):
    answer = call.ask('when', f'A table for {people}: at what time?', {
        'type': 'object', 'properties': {'time': STRING}, 'required': ['time']})

    return f'A table for {people} at {answer["time"]}.' if answer else 'No table was booked.'


if __name__ == '__main__':
    mcp.main()
