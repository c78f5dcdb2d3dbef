/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the headers of a request say of its body, before that is read: for
 * routes, limits and maps.  It is safe to act on, since a request whose headers
 * do not agree with its body is never executed; so it is known only of requests
 * of which the endpoint will ask that.
 */


#ifndef MCP_SENT_H_INCLUDED
#define MCP_SENT_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_http.h"


#define mcp_sent_method  mcp_str("mcp_sent_method")
#define mcp_sent_name    mcp_str("mcp_sent_name")
#define mcp_sent_param   mcp_str("mcp_param_")         /* and a name */

/* The names of all headers that count begin with it, small or large. */
#define MCP_SENT_INITIAL  'm'


typedef struct {
    const mcp_mem_t       *mem;        /* of values and names that are no part
                                          of the headers; as long as the
                                          request, nothing is freed */
    const mcp_endpoint_t  *endpoint;
    const mcp_header_t    *headers;    /* all that count, as they came */
    size_t                 n_headers;
} mcp_sent_t;


/*
 * Returns a variable of the request.  *value is empty if the request's revision
 * does not check its headers or is not served here, if the header is absent or
 * malformed, or if its lines differ; and if it is the name of a task, whose id
 * is a secret that logs must not show.  It is "?" if it has control characters,
 * as facts are.
 *
 * A variable's "_" stands for "-" or "_", and small letters for large ones.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_sent(const mcp_sent_t *sent, mcp_str_t variable, mcp_str_t *value);

/*
 * Goes through all variables that are not empty, from *at = 0 on.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        there are no more
 *   MCP_ERR_MEMORY
 */
int mcp_sent_next(const mcp_sent_t *sent, size_t *at, mcp_str_t *variable,
    mcp_str_t *value);


#endif /* MCP_SENT_H_INCLUDED */
