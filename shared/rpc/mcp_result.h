/* SPDX-License-Identifier: Apache-2.0 */

/* Responses that have a result, as each revision wants them. */


#ifndef MCP_RESULT_H_INCLUDED
#define MCP_RESULT_H_INCLUDED


#include "base/mcp_buf.h"


/* What a stateless revision adds to a result, unless it has that already
 * (2026-07-28, basic/index, "Result Responses" and "Per-response protocol
 * fields"; server/utilities/caching). */
typedef struct {
    mcp_str_t  members;        /* of mcp_result_members() */
    unsigned   caches:1;       /* its method has ttlMs and cacheScope */
    unsigned   is_public:1;    /* cacheScope, where nobody has said */
    uint64_t   ttl;            /* ms, the same */
    unsigned   is_private:1;   /* cacheScope, whatever its backend says */
} mcp_result_t;


/* Writes what is added to a result that has none of it and is not kept in
 * caches.  server_info: an Implementation, raw. */
void mcp_result_members(mcp_buf_t *out, mcp_str_t server_info);

/* Begins a response; its result follows, and mcp_result_tail(). */
void mcp_result_head(mcp_buf_t *out, mcp_str_t id);

/* Ends it.  The result, an object that has none of the members that are added,
 * is the end of what out has; add is NULL in a revision that adds nothing. */
void mcp_result_tail(mcp_buf_t *out, const mcp_result_t *add);

/*
 * Appends a whole response.  body is the result, an object of valid JSON, of
 * which nothing is printed anew; add as above.  Members of the wrong type are
 * replaced.
 */
void mcp_result_write(mcp_buf_t *out, mcp_str_t id, mcp_str_t body,
    const mcp_result_t *add);


#endif /* MCP_RESULT_H_INCLUDED */
