#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three tools in bash, as a CGI script.  "./tools.sh --catalog > catalog.json"
# writes the catalog.  In nginx, with fcgiwrap:
#
#     location @bash {
#         include            mcp_fastcgi_params;
#         fastcgi_param      SCRIPT_FILENAME /srv/mcp/tools.sh;
#         fastcgi_param      NO_BUFFERING "";
#         fastcgi_buffering  off;
#         fastcgi_pass       unix:/run/fcgiwrap.socket;
#     }
#
# In Apache, with mod_cgid:
#
#     <Location "/mcp-backend/bash">
#         ScriptAlias  "/srv/mcp/tools.sh"
#     </Location>
#
#     <Directory "/srv/mcp">
#         Require  all granted
#     </Directory>

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/mcp.sh"

mcp_tool greet '{"description": "Greets somebody",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "outputSchema": {"type": "object", "properties": {"greeting": {"type": "string"}}}}'

greet() {
    local greeting="Hello, ${MCP[arg/name]-world}!"

    mcp_quote "$greeting"
    mcp_structured "{\"greeting\": $REPLY}"
    mcp_text "$greeting"
}

mcp_tool count '{"description": "Counts to n and reports its progress",
    "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}'

count() {
    mcp_integer n 3
    local i n=$REPLY

    ((n >= 1 && n <= 100)) || mcp_fail 'n must be an integer from 1 to 100.'

    for ((i = 1; i <= n; i++)); do
        mcp_progress "$i" "$n" "$i of $n"       # the work of one step
    done

    mcp_text "Counted to $n."
}

mcp_tool book '{"description": "Books a table, and asks the user for the time",
    "inputSchema": {"type": "object", "properties": {"people": {"type": "integer"}}}}'

book() {
    mcp_integer people 2
    local people=$REPLY

    if mcp_ask when "A table for $people: at what time?" '{"type": "object",
        "properties": {"time": {"type": "string"}}, "required": ["time"]}'
    then
        mcp_text "A table for $people at ${MCP[answer/when/content/time]-}."
    else
        mcp_text 'No table was booked.'
    fi
}

mcp_run "$@"
