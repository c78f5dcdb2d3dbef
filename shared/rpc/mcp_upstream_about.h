/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The description of an MCP server that is a backend: the result of
 * server/discover (2026-07-28, server/discover) or of initialize (2025-11-25,
 * basic/lifecycle, "Initialization"). Each process keeps the latest
 * description.
 */


#ifndef MCP_UPSTREAM_ABOUT_H_INCLUDED
#define MCP_UPSTREAM_ABOUT_H_INCLUDED


#include "mcp_buf.h"
#include "json/mcp_json_scan.h"


typedef struct mcp_upstream_about_s  mcp_upstream_about_t;

struct mcp_upstream_about_s {
    mcp_buf_t              text;       /* the result */
    mcp_buf_t              members;    /* text of mcp_result_members() for
                                          server_info; empty if server_info is
                                          empty */
    uint64_t               at;         /* time when the description was
                                          received, ms of mcp_env_t.now; 0:
                                          never */
    uint64_t               sent_at;    /* time when the pending request for a
                                          description was sent, ms; 0: no
                                          request is pending */
    uint64_t               failed;     /* time when the latest request for a
                                          description failed, ms; 0: it has not
                                          failed */
    mcp_str_t              version;    /* name of the revision in a result of
                                          initialize, a static text; empty if
                                          the result is of server/discover, or
                                          the revision is unknown or has no
                                          sessions */
    mcp_str_t              server_info;        /* the server's Implementation
                                                  object, part of "text"; or
                                                  empty */
    mcp_str_t              instructions;       /* the server's instructions, a
                                                  raw string, part of "text"; or
                                                  empty */
    unsigned               tools:1;    /* 1: the server declares the capability
                                          "tools" */
    unsigned               prompts:1;
    unsigned               resources:1;
    unsigned               completions:1;
    mcp_upstream_about_t  *next;       /* next description of this process that
                                          has a text */
};


/*
 * Replaces the description by a result, an object of valid JSON, that was
 * received at the time now.
 *
 * Returns MCP_OK; or, without a change,
 *   MCP_ERR_SYNTAX  the result has no object of capabilities
 *   MCP_ERR_MEMORY
 */
int mcp_upstream_about_set(mcp_upstream_about_t *about, const mcp_mem_t *mem,
    mcp_str_t result, uint64_t now);

/* Returns the Implementation object of a result: serverInfo of initialize, or
 * the member of _meta that identifies the server (2026-07-28, basic/index,
 * "_meta"); empty if there is none. */
mcp_str_t mcp_upstream_about_info(const mcp_json_value_t *result);

/* Returns the name of the revision in a result of initialize, static text;
 * empty if this revision is unknown or has no sessions. */
mcp_str_t mcp_upstream_about_version(const mcp_json_value_t *result);

/* Returns the name of the latest stateless revision, in which this server calls
 * an upstream of revision 2026-07-28. */
mcp_str_t mcp_upstream_latest(void);

/* Returns 1 if a result of server/discover names revision 2026-07-28 among the
 * supported ones. */
int mcp_upstream_about_is_modern(mcp_str_t result);

/* Frees the text of a description. */
void mcp_upstream_about_drop(mcp_upstream_about_t *about);


#endif /* MCP_UPSTREAM_ABOUT_H_INCLUDED */
