/* SPDX-License-Identifier: Apache-2.0 */

/* The URL of a stream: the target of the client's request with the argument
 * "mcp-stream", whose value is a token. The comment in mcp_resume_by_link.c
 * describes the contents of the token. */


#ifndef MCP_RESUME_BY_LINK_URL_H_INCLUDED
#define MCP_RESUME_BY_LINK_URL_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* The parts of a request from which the URL of a stream is written. */
typedef struct {
    mcp_str_t  target;         /* path and query of the request */
    mcp_str_t  origin;         /* configured origin; empty: the URL has the
                                  scheme and the host of the request */
    mcp_str_t  host;
    unsigned   secure:1;       /* 1: the request arrived by TLS */
} mcp_resume_link_url_t;


/* The hook "secret": sets *secret to the next token in *rest, which is a
 * request line, a target or a query, and *rest to the text after the token. A
 * token ends at "&", a space, or the end of the text. Returns 1, or 0 if there
 * is no token. */
int mcp_resume_link_url_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret);

/* Returns the token in a target, the last one if there are several; .data is
 * NULL if there is none. */
mcp_str_t mcp_resume_link_url_token(mcp_str_t target);

/* Decodes a token that a client or a proxy may have percent-encoded, into buf.
 * Returns the decoded token, or an empty string if it does not fit. */
mcp_str_t mcp_resume_link_url_decode(mcp_str_t s, char *buf, size_t size);

/* Returns 1 if the parts form a valid URL. Logs an invalid configured origin,
 * at intervals. */
int mcp_resume_link_url_possible(mcp_worker_t *worker,
    const mcp_resume_link_url_t *url);

/* Returns the maximum number of bytes that mcp_resume_link_url_print()
 * writes. */
size_t mcp_resume_link_url_size(const mcp_resume_link_url_t *url);

/* Writes the URL up to "mcp-stream=", after which the token has to be
 * appended, and returns the end. */
char *mcp_resume_link_url_print(const mcp_resume_link_url_t *url, char *p);


#endif /* MCP_RESUME_BY_LINK_URL_H_INCLUDED */
