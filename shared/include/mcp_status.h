/* SPDX-License-Identifier: Apache-2.0 */

/* The status page: the contents and counters of a zone, for people and for
 * monitoring. */


#ifndef MCP_STATUS_H_INCLUDED
#define MCP_STATUS_H_INCLUDED


#include "mcp_buf.h"
#include "mcp_http.h"


MCP_DECLARATIONS_BEGIN


typedef struct mcp_store_s  mcp_store_t;


/* A query for the status. */
typedef struct {
    mcp_str_t  format;         /* "json", "prometheus" (text exposition format
                                  0.0.4), "html", or "summary" (one line of
                                  text) */
    mcp_str_t  server;         /* name and version of the server */
    mcp_str_t  zone;           /* name of the zone */
    mcp_str_t  cursor;         /* position in the list of calls: the value of
                                  "next" in the previous page; empty: the first
                                  page */
    uint64_t   now;            /* current time, ms, from mcp_env_t.now() */
    unsigned   details:1;      /* 1: show names and principals of single
                                  calls */
} mcp_status_query_t;


#define MCP_STATUS_HEADERS  4
#define MCP_STATUS_POLICY   512        /* bytes */

/* The headers of the response. Their texts are static or in the structure. */
typedef struct {
    mcp_str_t     content_type;
    mcp_header_t  headers[MCP_STATUS_HEADERS];
    size_t        n_headers;
    char          policy[MCP_STATUS_POLICY];   /* memory for the value of
                                                  Content-Security-Policy */
} mcp_status_head_t;


/*
 * Appends the status of a store to buf and sets *head.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the format is unknown
 *   MCP_ERR_LIMIT      the status exceeds the limit of buf
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL   OpenSSL failed
 */
int mcp_status_render(mcp_store_t *store, const mcp_status_query_t *query,
    mcp_buf_t *buf, mcp_status_head_t *head);

/* Returns the format for an Accept header, which is empty if absent: HTML for
 * browsers, the text format for Prometheus, otherwise JSON. */
mcp_str_t mcp_status_format(mcp_str_t accept);


MCP_DECLARATIONS_END


#endif /* MCP_STATUS_H_INCLUDED */
