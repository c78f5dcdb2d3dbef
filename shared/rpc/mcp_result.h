/* SPDX-License-Identifier: Apache-2.0 */

/* Responses with a result, in the form that the client's revision requires. */


#ifndef MCP_RESULT_H_INCLUDED
#define MCP_RESULT_H_INCLUDED


#include "mcp_buf.h"
#include "json/mcp_json_scan.h"
#include "rpc/mcp_method.h"


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


/* --- members that a revision lacks --- */

/*
 * Members of tools and of their results that only clients of some revisions
 * accept: they are removed for other clients.
 */


/* Bits of the members that are removed. */
#define MCP_REVISION_FILTER_OUTPUT     0x01  /* structuredContent and
                                                outputSchema that are not
                                                objects (2025-11-25, schema,
                                                Tool and CallToolResult) */
#define MCP_REVISION_FILTER_EXECUTION  0x02  /* the member "execution" of a
                                                tool, which declares whether the
                                                tool runs as a task of revision
                                                2025-11-25 */
#define MCP_REVISION_FILTER_SETS       0x04  /* every set of these bits is less
                                                than this number */


/* Returns the bits of the members that clients of the revision do not
 * accept. */
unsigned mcp_revision_filter(mcp_revision_e revision);

/*
 * Returns the MCP_REVISION_FILTER_... bits that apply to this member of a tool,
 * 0 if all clients accept it.
 */
unsigned mcp_revision_filter_member(mcp_str_t key,
    const mcp_json_value_t *value);

/*
 * Writes the result of a method, an object of valid JSON, without the members
 * that the filter removes.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the result has no such member; out is unchanged
 *   MCP_ERR_MEMORY
 */
int mcp_revision_filter_result(unsigned filter, const mcp_method_t *method,
    mcp_str_t result, mcp_buf_t *out);


#endif /* MCP_RESULT_H_INCLUDED */
