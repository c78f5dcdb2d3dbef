/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of tasks: a client that declares the extension, and a
 * catalog with tools that are tasks. */


#ifndef TASK_CASES_H_INCLUDED
#define TASK_CASES_H_INCLUDED


#include "round_cases.h"


#define EXTENSION  "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

#define TASK_CAN                                                              \
    "{\"elicitation\":{},\"roots\":{}," EXTENSION "}"

#define REQUIRED                                                              \
    "\"error\":{\"code\":-32021,\"message\":\"Missing required client "       \
    "capability\",\"data\":{\"requiredCapabilities\":{" EXTENSION "}}}"

#define UNKNOWN                                                               \
    "\"error\":{\"code\":-32602,\"message\":\"Unknown or expired task\"}"

#define TTL  60000


static const char  task_catalog[] =
    "{\"tools\":["
    "{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"always\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-task\":\"always\"},"
    "{\"name\":\"required\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-task\":\"required\"},"
    "{\"name\":\"never\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-task\":\"never\"},"
    "{\"name\":\"key\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-join\":\"key\"},"
    "{\"name\":\"key_always\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-task\":\"always\",\"x-mcp-join\":\"arguments\"},"
    "{\"name\":\"later\",\"inputSchema\":{\"type\":\"object\"},"
    "\"x-mcp-task\":2.5}]}";


static char           task_id[512];
static mcp_catalog_t  *task_tools;


static inline int
task_setup(void **state)
{
    char  error[256];

    driver_init(&d);
    round_can = TASK_CAN;
    round_principal = NULL;

    if (mcp_catalog_create(&d.te.env.mem, test_str(task_catalog), &task_tools,
                           error, sizeof(error))
        != MCP_OK)
    {
        fail_msg("%s", error);
    }

    d.endpoint.catalog = task_tools;
    d.endpoint.task_after = 1000;
    d.endpoint.task_ttl = TTL;

    return 0;
}


static inline int
task_teardown(void **state)
{
    client_close(&d, &a);
    client_close(&d, &b);
    mcp_catalog_free(task_tools);

    return teardown(state);
}


/* Calls a tool, and sends the head of its backend's stream. Returns NULL if no
 * backend was invoked. */
static inline mcp_backend_request_t *
task_call(unsigned process, const char *tool)
{
    char                    params[256];
    mcp_backend_request_t  *breq;

    snprintf(params, sizeof(params), "\"name\":\"%s\"", tool);
    modern(process, &a, "tools/call", tool, params);

    if (d.n_breqs == 0) {
        return NULL;
    }

    breq = backend_stream(&d, d.n_breqs - 1);

    return breq;
}


/* Checks that client a has received a task, copies the id of the task to
 * task_id, and closes a. */
static inline void
begin_status_listener(void)
{
    has(a.text, "\"resultType\":\"task\"");
    has(a.text, "\"status\":\"working\"");
    quoted(a.text, "\"taskId\":\"", task_id, sizeof(task_id));
    client_close(&d, &a);
}


/* Starts a task of the tool "always". */
static inline mcp_backend_request_t *
task_begin(unsigned process)
{
    mcp_backend_request_t  *breq;

    breq = task_call(process, "always");
    assert_non_null(breq);
    driver_wait(&d, 2);
    assert_int_equal(a.status, 200);
    begin_status_listener();

    return breq;
}


/* Sends a request about task_id; client b gets the response. */
static inline void
task_request(unsigned process, const char *method, const char *more)
{
    char  params[4096];

    snprintf(params, sizeof(params), "\"taskId\":\"%s\"%s", task_id, more);
    modern(process, &b, method, task_id, params);
}


static inline void
task_is(unsigned process, const char *part)
{
    task_request(process, "tasks/get", "");
    answered(&b, 200, part);
}


/* Sends tasks/update or tasks/cancel, and checks the empty acknowledgement. */
static inline void
task_does(unsigned process, const char *method, const char *more)
{
    task_request(process, method, more);
    assert_int_equal(b.status, 200);
    assert_string_equal(b.text,
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{"
                        "\"resultType\":\"complete\",\"_meta\":{"
                        "\"io.modelcontextprotocol/serverInfo\":{"
                        "\"name\":\"driver\",\"version\":\"1\"}}}}");
    client_close(&d, &b);
}


static inline void
task_refused(unsigned process, const char *method, const char *more,
    const char *part)
{
    task_request(process, method, more);
    has(b.text, part);
    client_close(&d, &b);
}


#endif /* TASK_CASES_H_INCLUDED */
