/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tools of an MCP backend, for CGI programs in C; see tools.c.  A process serves
 * one call.  A tool has a name, its entry in the catalog without the name, and a
 * function, which adds to the result.  The web server has not checked the
 * arguments, which the function gets as JSON.
 */

#pragma once

#include <signal.h>
#include <unistd.h>
#include "mcp_json.h"

#define MCP_JSON(...) #__VA_ARGS__
#define MCP_FAILED \
    "{\"content\":[{\"type\":\"text\",\"text\":\"The tool has failed.\"}],\"isError\":true}\n"

/* These take the arguments of printf().  The model reads the text of mcp_fail(). */

#define mcp_text(...) mcp_add_text(mcp_format(__VA_ARGS__))
#define mcp_structured(...) ((void) (mcp_data = mcp_format(__VA_ARGS__)))
#define mcp_fail(...) mcp_fail_text(mcp_format(__VA_ARGS__))

typedef struct { const char *name, *entry; void (*run)(const char *args); } mcp_tool_t;

static const char *mcp_content = "", *mcp_data, *mcp_state = "{}", *mcp_inputs = "{}";
static volatile sig_atomic_t mcp_calling;

static inline void mcp_send(const char *line) {
    for (; *line; line++) putchar(*line == '\n' ? ' ' : *line);
    if (putchar('\n') == EOF || fflush(stdout)) _exit(1);
}

_Noreturn static inline void mcp_finish(const char *line) {
    mcp_send(line);
    mcp_calling = 0;
    exit(0);
}

static inline void mcp_add(const char *block) {
    mcp_content = mcp_format("%s%s%s", mcp_content, *mcp_content ? "," : "", block);
}

static inline void mcp_add_text(const char *text) {
    mcp_add(mcp_format("{\"type\":\"text\",\"text\":%s}", mcp_quote(text)));
}

_Noreturn static inline void mcp_fail_text(const char *text) {
    mcp_content = "";
    mcp_add_text(text);
    mcp_finish(mcp_format("{\"content\":[%s],\"isError\":true}", mcp_content));
}

static inline void mcp_image(const unsigned char *bytes, size_t size, const char *type) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *data = mcp_alloc(size / 3 * 4 + 5), *q = data;

    for (size_t i = 0; i < size; i += 3) {
        unsigned long bits = 0;

        for (size_t k = i; k < i + 3; k++) bits = bits << 8 | (k < size ? bytes[k] : 0);
        for (int shift = 18; shift >= 0; shift -= 6) *q++ = digits[bits >> shift & 63];
    }
    if (size % 3) memset(q - 3 + size % 3, '=', 3 - size % 3);
    *q = '\0';
    mcp_add(mcp_format("{\"type\":\"image\",\"data\":\"%s\",\"mimeType\":%s}", data,
                       mcp_quote(type)));
}

static inline void mcp_progress(double done, double total, const char *message) {
    const char *token = getenv("MCP_PROGRESS_TOKEN");

    if (token && *token)
        mcp_send(mcp_format("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
            "{\"progressToken\":%s,\"progress\":%.15g,\"total\":%.15g,\"message\":%s}}",
            token, done, total, mcp_quote(message)));
}

static inline const char *mcp_string(const char *object, const char *name, const char *missing) {
    const char *p = mcp_member(object, name);

    if (p && *p != '"') mcp_fail("%s must be a string.", name);
    return p ? mcp_unquote(p) : missing;
}

static inline long mcp_integer(const char *object, const char *name, long missing) {
    const char *p = mcp_member(object, name);
    char *end = NULL;
    long value = p ? strtol(p, &end, 10) : missing;

    if (p && (*p == '"' || end != mcp_skip(p))) mcp_fail("%s must be an integer.", name);
    return value;
}

/* Returns the user's answer as an object, or NULL if the user declined.  Once the user has
 * answered, the tool runs again: let it change nothing before its last question. */
static inline const char *mcp_ask(const char *key, const char *message, const char *schema) {
    const char *answer = mcp_member(mcp_state, key);

    if (answer == NULL) answer = mcp_member(mcp_inputs, key);
    if (answer) return strcmp(mcp_string(answer, "action", ""), "accept") == 0
        ? mcp_member(answer, "content") : NULL;

    mcp_finish(mcp_format("{\"resultType\":\"input_required\",\"inputRequests\":{%s:{\"method\":"
        "\"elicitation/create\",\"params\":{\"message\":%s,\"requestedSchema\":%s}}},"
        "\"requestState\":%s}", mcp_quote(key), mcp_quote(message), schema,
        mcp_quote(mcp_merge(mcp_state, mcp_inputs))));
}

/* The end of a program that has sent no result: exit() or a signal. */
static inline void mcp_ended(void) {
    if (mcp_calling && write(STDOUT_FILENO, MCP_FAILED, sizeof(MCP_FAILED) - 1) < 0) _exit(1);
}

static inline void mcp_crashed(int number) {
    mcp_ended();
    signal(number, SIG_DFL);
    raise(number);
}

/* Answers the call, or writes the catalog.  An entry without a name ends the tools. */
static inline int mcp_main(int argc, char **argv, const mcp_tool_t *tool) {
    const char *params, *name, *comma = "";

    if (argc > 1 && strcmp(argv[1], "--catalog") == 0) {
        for (printf("{\"tools\": ["); tool->name; tool++, comma = ",")
            printf("%s\n{\"name\": %s, %s", comma, mcp_quote(tool->name), tool->entry + 1);
        return puts("\n]}") < 0;
    }

    puts("Content-Type: application/x-ndjson\r\n\r");
    fflush(stdout);
    params = mcp_member(mcp_space(mcp_read()), "params");
    name = mcp_string(params, "name", "");
    while (tool->name && strcmp(tool->name, name)) tool++;
    if (!tool->name)
        mcp_finish(mcp_format("{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32602,"
            "\"message\":%s}}", mcp_quote(mcp_format("Unknown tool: %s", name))));

    mcp_state = mcp_string(params, "requestState", "{}");
    mcp_inputs = mcp_member(params, "inputResponses") ? mcp_member(params, "inputResponses") : "{}";
    mcp_calling = 1;
    atexit(mcp_ended);
    for (int i = 0; i < 4; i++) signal((int[]) {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}[i], mcp_crashed);
    tool->run(mcp_member(params, "arguments"));
    mcp_finish(mcp_format("{\"content\":[%s]%s%s}", mcp_content,
        mcp_data ? ",\"structuredContent\":" : "", mcp_data ? mcp_data : ""));
}
