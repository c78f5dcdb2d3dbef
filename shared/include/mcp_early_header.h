/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of request headers that repeat parts of the body, available before the
 * body is read, for routes, limits and maps. The configuration can rely on
 * these values, because the server never executes a request whose headers
 * contradict its body. For this reason, a value is available only if the
 * endpoint will compare the headers with the body.
 */


#ifndef MCP_EARLY_HEADER_H_INCLUDED
#define MCP_EARLY_HEADER_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_http.h"


MCP_DECLARATIONS_BEGIN


#define mcp_early_header_method  mcp_str("mcp_header_method")
#define mcp_early_header_name    mcp_str("mcp_header_name")
#define mcp_early_header_param   mcp_str("mcp_param_")  /* prefix of a
                                                           variable's name; the
                                                           name of a parameter
                                                           follows */

/* The names of all headers that this file reads begin with this letter, in
 * either case. */
#define MCP_EARLY_HEADER_INITIAL  'm'


typedef struct {
    const mcp_mem_t       *mem;        /* allocates values and names that are
                                          not part of the headers; must last as
                                          long as the request */
    const mcp_endpoint_t  *endpoint;
    const mcp_header_t    *headers;    /* the request's headers in their
                                          original order; headers that do not
                                          begin with MCP_EARLY_HEADER_INITIAL
                                          may be missing */
    size_t                 n_headers;
} mcp_early_header_t;


/*
 * Returns a variable of the request in *value.
 *
 * *value is empty if the request's revision does not require that headers equal
 * the body, if the endpoint does not serve the revision, if the header is
 * absent or malformed, or if several lines of the header differ. The variable
 * "mcp_header_name" is also empty if the name is the id of a task, which is a
 * secret that logs must not show. *value is "?" if the header's value contains
 * control characters.
 *
 * In the name of a variable "_" stands for "-" or "_" in the header's name,
 * and a small letter for either case.
 *
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_early_header(const mcp_early_header_t *early, mcp_str_t variable,
    mcp_str_t *value);

/*
 * Sets *variable and *value to the next variable of the request that is not
 * empty. *at, the position of the iteration, is 0 for the first call.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        no variable is left
 *   MCP_ERR_MEMORY
 */
int mcp_early_header_next(const mcp_early_header_t *early, size_t *at,
    mcp_str_t *variable, mcp_str_t *value);


MCP_DECLARATIONS_END


#endif /* MCP_EARLY_HEADER_H_INCLUDED */
