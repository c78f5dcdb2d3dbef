/* SPDX-License-Identifier: Apache-2.0 */

/* What a zone holds and has done, for people and for monitoring. */


#ifndef MCP_STATUS_H_INCLUDED
#define MCP_STATUS_H_INCLUDED


#include "store/mcp_store.h"


/*
 * Appends the state of a store to buf; format is "json", "prometheus" (text
 * exposition format 0.0.4), "html" or "summary" (one line of text).
 * *content_type is static.  MCP_OK, MCP_ERR_NOT_FOUND for an unknown format,
 * or why buf failed.
 */
int mcp_status_render(mcp_store_t *store, mcp_str_t format, mcp_buf_t *buf,
    mcp_str_t *content_type);

/* The format that suits an Accept header, empty if absent: browsers get
 * HTML, Prometheus its text, others JSON. */
mcp_str_t mcp_status_format(mcp_str_t accept);


#endif /* MCP_STATUS_H_INCLUDED */
