/* SPDX-License-Identifier: Apache-2.0 */

/* The table of methods, and the names of log levels. */


#include "rpc/mcp_method.h"


/*
 * Macros for the rows of the table: mcp_method_list() for a method that lists
 * items, mcp_method_call() for a method that uses an item,
 * mcp_method_notification() for a notification, and mcp_method_plain() for any
 * other method.
 */

#define mcp_method_row(number, text, ...)                                     \
    [number] = { .name = { text, sizeof(text) - 1 }, .id = number,            \
                 __VA_ARGS__ }

#define mcp_method_plain(number, text, ...)                                   \
    mcp_method_row(number, text, .list_kind = MCP_METHOD_NO_LIST,             \
                   .want = MCP_WANT_PLAIN, __VA_ARGS__)

#define mcp_method_list(number, text, kind)                                   \
    mcp_method_row(number, text, .list_kind = kind, .want = MCP_WANT_PLAIN,   \
                   MCP_METHOD_BOTH, .caches = 1)

#define mcp_method_call(number, text, wanted, ...)                            \
    mcp_method_row(number, text, .list_kind = MCP_METHOD_NO_LIST,             \
                   .want = wanted, MCP_METHOD_BOTH, .takes_input = 1,         \
                   __VA_ARGS__)

#define mcp_method_notification(number, text)                                 \
    mcp_method_row(number, text, .list_kind = MCP_METHOD_NO_LIST,             \
                   .want = MCP_WANT_PLAIN)

#define MCP_METHOD_BOTH  .session = 1, .stateless = 1

#define MCP_METHOD_OF_TASKS                                                   \
    .stateless = 1, .capability = MCP_CLIENT_TASKS, .subject = MCP_SUBJECT_TASK


static const mcp_method_t  mcp_methods[MCP_METHOD_COUNT] = {

    mcp_method_plain(MCP_METHOD_UNKNOWN, "", .session = 0),
    mcp_method_plain(MCP_METHOD_INITIALIZE, "initialize", .session = 1),
    mcp_method_plain(MCP_METHOD_PING, "ping", .session = 1),

    mcp_method_list(MCP_METHOD_TOOLS_LIST, "tools/list", MCP_LIST_TOOLS),
    mcp_method_call(MCP_METHOD_TOOLS_CALL, "tools/call", MCP_WANT_TOOL,
        .subject = MCP_SUBJECT_NAME),
    mcp_method_list(MCP_METHOD_PROMPTS_LIST, "prompts/list", MCP_LIST_PROMPTS),
    mcp_method_call(MCP_METHOD_PROMPTS_GET, "prompts/get", MCP_WANT_PROMPT,
        .subject = MCP_SUBJECT_NAME),
    mcp_method_list(MCP_METHOD_RESOURCES_LIST, "resources/list",
        MCP_LIST_RESOURCES),
    mcp_method_list(MCP_METHOD_RESOURCES_TEMPLATES_LIST,
        "resources/templates/list", MCP_LIST_TEMPLATES),
    mcp_method_call(MCP_METHOD_RESOURCES_READ, "resources/read",
        MCP_WANT_RESOURCE, .caches = 1, .subject = MCP_SUBJECT_URI),

    mcp_method_plain(MCP_METHOD_RESOURCES_SUBSCRIBE, "resources/subscribe",
        .session = 1),
    mcp_method_plain(MCP_METHOD_RESOURCES_UNSUBSCRIBE, "resources/unsubscribe",
        .session = 1),
    mcp_method_plain(MCP_METHOD_COMPLETION_COMPLETE, "completion/complete",
        MCP_METHOD_BOTH),
    mcp_method_plain(MCP_METHOD_LOGGING_SET_LEVEL, "logging/setLevel",
        .session = 1),

    mcp_method_plain(MCP_METHOD_REQUESTS_GET_STATUS, "requests/getStatus",
        MCP_METHOD_BOTH, .capability = MCP_CLIENT_REQUESTS),
    mcp_method_plain(MCP_METHOD_REQUESTS_RESUME, "requests/resume",
        MCP_METHOD_BOTH, .capability = MCP_CLIENT_REQUESTS, .opens = 1),
    mcp_method_plain(MCP_METHOD_STREAM_POLL, "stream/poll",
        .session = 1, .capability = MCP_CLIENT_STREAMS),
    mcp_method_plain(MCP_METHOD_STREAM_POLL_ALL, "stream/poll/all",
        .session = 1, .capability = MCP_CLIENT_STREAMS),
    mcp_method_plain(MCP_METHOD_STREAM_RESUME, "stream/resume",
        .session = 1, .capability = MCP_CLIENT_STREAMS, .opens = 1),

    mcp_method_plain(MCP_METHOD_SERVER_DISCOVER, "server/discover",
        .stateless = 1, .caches = 1),
    mcp_method_plain(MCP_METHOD_SUBSCRIPTIONS_LISTEN, "subscriptions/listen",
        .stateless = 1),
    mcp_method_plain(MCP_METHOD_TASKS_GET, "tasks/get", MCP_METHOD_OF_TASKS),
    mcp_method_plain(MCP_METHOD_TASKS_UPDATE, "tasks/update",
        MCP_METHOD_OF_TASKS),
    mcp_method_plain(MCP_METHOD_TASKS_CANCEL, "tasks/cancel",
        MCP_METHOD_OF_TASKS),

    mcp_method_notification(MCP_METHOD_NOTIFICATION_INITIALIZED,
        "notifications/initialized"),
    mcp_method_notification(MCP_METHOD_NOTIFICATION_CANCELLED,
        "notifications/cancelled"),
    mcp_method_notification(MCP_METHOD_NOTIFICATION_PROGRESS,
        "notifications/progress"),
    mcp_method_notification(MCP_METHOD_NOTIFICATION_ROOTS_LIST_CHANGED,
        "notifications/roots/list_changed")
};


/* RFC 5424, 6.2.1, in reverse order, so that the severity increases */

static const mcp_str_t  mcp_log_levels[MCP_LOG_LEVELS] = {
    mcp_str("debug"), mcp_str("info"), mcp_str("notice"), mcp_str("warning"),
    mcp_str("error"), mcp_str("critical"), mcp_str("alert"),
    mcp_str("emergency")
};


/*
 * Searches the table from the beginning. The search is fast, because most names
 * already differ from "name" in their length.
 */
const mcp_method_t *
mcp_method_find(mcp_str_t name)
{
    int  i;

    for (i = MCP_METHOD_UNKNOWN + 1; i < MCP_METHOD_COUNT; i++) {
        if (mcp_str_eq(mcp_methods[i].name, name)) {
            return &mcp_methods[i];
        }
    }

    return &mcp_methods[MCP_METHOD_UNKNOWN];
}


const mcp_method_t *
mcp_method(mcp_method_e id)
{
    if ((unsigned) id >= MCP_METHOD_COUNT) {
        id = MCP_METHOD_UNKNOWN;
    }

    return &mcp_methods[id];
}


int
mcp_log_level_find(mcp_str_t name)
{
    int  i;

    for (i = 0; i < MCP_LOG_LEVELS; i++) {
        if (mcp_str_eq(mcp_log_levels[i], name)) {
            return i;
        }
    }

    return -1;
}


mcp_str_t
mcp_log_level_name(unsigned level)
{
    return mcp_log_levels[level];
}
