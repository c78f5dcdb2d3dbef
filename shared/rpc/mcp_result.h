/* SPDX-License-Identifier: Apache-2.0 */

/* Responses with a result, in the form that the client's revision requires. */


#ifndef MCP_RESULT_H_INCLUDED
#define MCP_RESULT_H_INCLUDED


#include "mcp_buf.h"


/*
 * The values of the members that the server adds to a result for a client of a
 * stateless revision, if the result lacks them (2026-07-28, basic/index,
 * "Result Responses" and "Per-response protocol fields";
 * server/utilities/caching).
 */
typedef struct {
    mcp_str_t  members;        /* see mcp_result_members() */
    unsigned   caches:1;       /* 1: the method has ttlMs and cacheScope */
    unsigned   is_public:1;    /* 1: cacheScope is "public" if the backend
                                  does not set it */
    uint64_t   ttl;            /* ttlMs if the backend does not set it */
    unsigned   is_private:1;   /* 1: cacheScope is "private", even if the
                                  backend sets "public" */
    unsigned   keeps_info:1;   /* 1: the serverInfo of a backend is kept */
} mcp_result_t;


/*
 * Appends resultType and _meta with server_info, an Implementation object, raw.
 * These are all members that the protocol requires in a result, except ttlMs
 * and cacheScope.
 */
void mcp_result_members(mcp_buf_t *out, mcp_str_t server_info);

/*
 * Appends the beginning of a response, up to its result. The caller appends
 * the result and calls mcp_result_tail().
 */
void mcp_result_head(mcp_buf_t *out, mcp_str_t id);

/*
 * Appends the end of a response. out ends with the result, an object in which
 * none of the members in add is present. add is NULL if the client's revision
 * has no such members.
 */
void mcp_result_tail(mcp_buf_t *out, const mcp_result_t *add);

/*
 * Appends a complete response. body is the result, an object of valid JSON. If
 * add is NULL, body is copied unchanged. Otherwise the response also gets each
 * member of add that body lacks, or that has an invalid value in body.
 */
void mcp_result_write(mcp_buf_t *out, mcp_str_t id, mcp_str_t body,
    const mcp_result_t *add);


#endif /* MCP_RESULT_H_INCLUDED */
