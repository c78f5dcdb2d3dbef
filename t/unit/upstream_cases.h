/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of MCP servers with sessions. */


#ifndef UPSTREAM_CASES_H_INCLUDED
#define UPSTREAM_CASES_H_INCLUDED


#include "round_cases.h"

#include "store/mcp_store_upstream.h"


#define VERSION  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}"


static mcp_target_t  target;

static inline int
setup_upstream(void **state)
{
    setup(state);

    target.name = mcp_str("server");
    target.upstream = MCP_UPSTREAM_SESSION;
    target.session = MCP_UPSTREAM_OF_CLIENT;
    d.endpoint.targets = &target;
    d.endpoint.n_targets = 1;

    return 0;
}


/* Takes all rows in the statistics of MCP servers, so that the server has
 * none. */
static inline void
take_rows(void)
{
    int                        rc;
    char                       name[16];
    unsigned                   n;
    mcp_store_upstream_row_t   row;
    mcp_store_upstream_item_t  item = { .catalog_key = d.endpoint.catalog_key };

    n = 0;

    do {
        snprintf(name, sizeof(name), "other%u", n++);
        item.name = (mcp_str_t) { name, strlen(name) };
        rc = mcp_store_upstream_offer(&d.process[0].store, &item, &row);
    } while (rc == MCP_OK);

    assert_int_equal(rc, MCP_ERR_FULL);
}


/* Calls a tool in the session. */
static inline void
call_tool(client_t *c)
{
    client_post(&d, 0, c, session, CALL);
}


/* Checks that there is one backend request, and that its body has this
 * method. */
static inline mcp_backend_request_t *
sends(const char *method)
{
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, method);

    return d.breqs[0];
}


/* Responds to the first backend request with a result. */
static inline void
answer(const char *result)
{
    char        *id;
    mcp_str_t    body;

    body = d.breqs[0]->body;
    id = memmem(body.data, body.len, "\"id\":", 5);

    if (id == NULL) {
        backend_reply(&d, d.breqs[0], "");
        return;
    }

    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",%.*s,\"result\":%s}",
             (int) strcspn(id, ",}"), id, result);
    backend_reply(&d, d.breqs[0], line);
}


/* Opens the session that the only backend request asks for. */
static inline void
open_session(void)
{
    mcp_backend_request_session(sends("\"initialize\""), mcp_str("s1"));
    answer(VERSION);

    mcp_backend_request_head(sends("notifications/initialized"), 202,
                             mcp_null_str);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
}


/* Ends all calls and their session at the server. */
static inline void
end(void)
{
    while (d.n_breqs) {
        answer(RESULT);
    }
}


#endif /* UPSTREAM_CASES_H_INCLUDED */
