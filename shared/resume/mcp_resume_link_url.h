/* SPDX-License-Identifier: Apache-2.0 */

/* The URL of a stream: the target of the client's request with an argument
 * "mcp-stream", which contains a token. The meaning of the token is not defined
 * here. */


#ifndef MCP_RESUME_LINK_URL_H_INCLUDED
#define MCP_RESUME_LINK_URL_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* The parts of a URL. */
typedef struct {
    mcp_str_t  target;         /* path and query */
    mcp_str_t  origin;         /* configured origin; empty: that of the
                                  request */
    mcp_str_t  host;
    unsigned   secure:1;
} mcp_resume_link_url_t;


/* The hook "secret": finds the next token in *rest, which is a request line, a
 * target or a query. A token ends where its argument or the target ends. */
int mcp_resume_link_url_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret);

/* Returns the last token in a target; .data is NULL if there is none. */
mcp_str_t mcp_resume_link_url_token(mcp_str_t target);

/* Removes percent-encoding, which a client or proxy may have applied to the
 * token. Returns an empty string if the token does not fit into buf. */
mcp_str_t mcp_resume_link_url_decode(mcp_str_t s, char *buf, size_t size);

/* Returns 1 if these parts form a URL. An invalid configured origin is logged,
 * but not for each request. */
int mcp_resume_link_url_possible(mcp_worker_t *worker,
    const mcp_resume_link_url_t *url);

/* Returns the maximum number of bytes of mcp_resume_link_url_print(). */
size_t mcp_resume_link_url_size(const mcp_resume_link_url_t *url);

/* Writes the URL up to the position of its token, and returns the end. */
char *mcp_resume_link_url_print(const mcp_resume_link_url_t *url, char *p);


#endif /* MCP_RESUME_LINK_URL_H_INCLUDED */
