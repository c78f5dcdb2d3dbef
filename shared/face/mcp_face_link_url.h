/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The URL of a stream: the target of the client's request with an argument,
 * "mcp-stream", that holds a token.  Nothing is said here about what the token
 * means.
 */


#ifndef MCP_FACE_LINK_URL_H_INCLUDED
#define MCP_FACE_LINK_URL_H_INCLUDED


#include "worker/mcp_worker_parts.h"


/* What a URL is made of. */
typedef struct {
    mcp_str_t  target;         /* path and query */
    mcp_str_t  origin;         /* configured; empty: that of the request */
    mcp_str_t  host;
    unsigned   secure:1;
} mcp_face_link_url_t;


/*
 * The hook "secret": finds the next token in *rest, which is a request line, a
 * target or a query.  A token ends where its argument ends, or the target.
 */
int mcp_face_link_url_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret);

/* Finds the token in a target; of several the last one counts.  .data is NULL
 * if there is none. */
mcp_str_t mcp_face_link_url_token(mcp_str_t target);

/* Undoes percent-encoding, which somebody on the way may have applied to the
 * token.  A token that does not fit into buf comes back empty. */
mcp_str_t mcp_face_link_url_decode(mcp_str_t s, char *buf, size_t size);

/* 1 if a URL can be made of these.  A configured origin that is none is logged,
 * but not with each request. */
int mcp_face_link_url_possible(mcp_worker_t *worker,
    const mcp_face_link_url_t *url);

/* The bytes that mcp_face_link_url_print() writes at most. */
size_t mcp_face_link_url_size(const mcp_face_link_url_t *url);

/* Writes the URL up to where its token goes; returns the end. */
char *mcp_face_link_url_print(const mcp_face_link_url_t *url, char *p);


#endif /* MCP_FACE_LINK_URL_H_INCLUDED */
