/* SPDX-License-Identifier: Apache-2.0 */

/* The status page: what a zone holds and has counted, for people and for
 * monitoring. */


#ifndef MCP_STATUS_H_INCLUDED
#define MCP_STATUS_H_INCLUDED


#include "mcp_http.h"
#include "store/mcp_store.h"


/* What is asked for. */
typedef struct {
    mcp_str_t  format;         /* "json", "prometheus" (text exposition format
                                  0.0.4), "html", or "summary" (one line of
                                  text) */
    mcp_str_t  server;         /* its name and version */
    mcp_str_t  zone;           /* its name */
    mcp_str_t  cursor;         /* of the page of calls, as "next" of the last
                                  one has it; empty: the first one */
    uint64_t   now;            /* as mcp_env_t.now */
    unsigned   details:1;      /* of single calls: names and principals */
} mcp_status_ask_t;


#define MCP_STATUS_HEADERS  4
#define MCP_STATUS_POLICY   512        /* bytes */

/* The headers that an answer has.  Their texts are static, or stand in the
 * structure. */
typedef struct {
    mcp_str_t     content_type;
    mcp_header_t  headers[MCP_STATUS_HEADERS];
    size_t        n_headers;
    char          policy[MCP_STATUS_POLICY];
} mcp_status_head_t;


/*
 * Appends the status of a store to buf and sets *head.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no such format
 *   MCP_ERR_LIMIT      buf does not take so much
 *   MCP_ERR_MEMORY     there is no memory
 *   MCP_ERR_INTERNAL   OpenSSL failed
 */
int mcp_status_render(mcp_store_t *store, const mcp_status_ask_t *ask,
    mcp_buf_t *buf, mcp_status_head_t *head);

/* Returns the format that suits an Accept header (empty: there is none):
 * browsers get HTML, Prometheus its text, others JSON. */
mcp_str_t mcp_status_format(mcp_str_t accept);


#endif /* MCP_STATUS_H_INCLUDED */
