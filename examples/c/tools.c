/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three tools in C.  "cc -o tools tools.c" builds a CGI program, which is served
 * like cgi/tools.sh.  "./tools --catalog > catalog.json" writes the catalog.
 */

#include "mcp.h"

static void greet(const char *args) {
    char *greeting = mcp_format("Hello, %s!", mcp_string(args, "name", "world"));

    mcp_structured("{\"greeting\": %s}", mcp_quote(greeting));
    mcp_text("%s", greeting);
}

static void count(const char *args) {
    long n = mcp_integer(args, "n", 3);

    if (n < 1 || n > 100) mcp_fail("n must be an integer from 1 to 100.");

    for (long i = 1; i <= n; i++) {
        mcp_progress((double) i, (double) n, mcp_format("%ld of %ld", i, n));   /* the work */
    }

    mcp_text("Counted to %ld.", n);
}

static void book(const char *args) {
    long people = mcp_integer(args, "people", 2);
    const char *answer = mcp_ask("when", mcp_format("A table for %ld: at what time?", people),
        MCP_JSON({"type": "object", "properties": {"time": {"type": "string"}},
                  "required": ["time"]}));

    if (answer) {
        mcp_text("A table for %ld at %s.", people, mcp_string(answer, "time", ""));
    } else {
        mcp_text("No table was booked.");
    }
}

static const mcp_tool_t tools[] = {
    {"greet", MCP_JSON({"description": "Greets somebody",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"greeting": {"type": "string"}}}}), greet},
    {"count", MCP_JSON({"description": "Counts to n and reports its progress",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}), count},
    {"book", MCP_JSON({"description": "Books a table, and asks the user for the time",
        "inputSchema": {"type": "object", "properties": {"people": {"type": "integer"}}}}), book},
    {NULL, NULL, NULL}
};

int main(int argc, char **argv) {
    return mcp_main(argc, argv, tools);
}
