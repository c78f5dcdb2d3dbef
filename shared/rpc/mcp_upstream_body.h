/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The body of a request for an upstream, an MCP server behind this one, whose
 * revision may differ from the client's.
 */


#ifndef MCP_UPSTREAM_BODY_H_INCLUDED
#define MCP_UPSTREAM_BODY_H_INCLUDED


#include "mcp_buf.h"
#include "mcp_version.h"
#include "json/mcp_json_scan.h"


/* The revision in which a server without sessions is called if the server has
 * not chosen one in a response to initialize. Servers released since June 2025
 * support this revision. */
#define MCP_UPSTREAM_STATELESS_VERSION  "2025-06-18"

/* JSON-RPC id of the requests that this server itself sends to an upstream */
#define MCP_UPSTREAM_ID  "1"

/* clientInfo of this server as the client of an upstream: in its own requests,
 * and in requests of clients that mcp_upstream_add_meta() translates */
#define MCP_UPSTREAM_CLIENT_INFO                                              \
    "{\"name\":\"mcp_module\",\"version\":\"" MCP_VERSION "\"}"


/* Members of params._meta that an upstream of revision 2026-07-28 requires, as
 * JSON (basic/index, "_meta"). */
typedef struct {
    mcp_str_t  capabilities;           /* capabilities of the client: a JSON
                                          object */
    mcp_str_t  client_info;            /* an object */
    mcp_str_t  log_level;              /* a string; empty: no log messages */
} mcp_upstream_meta_t;


/*
 * Writes a request of a client that is older than 2026-07-28 for an upstream of
 * 2026-07-28. body is a request that mcp_rpc_parse() has accepted.
 *
 * params._meta, created if absent, gets the protocol version and the members
 * of meta. Other members whose names begin with "io.modelcontextprotocol/" are
 * removed. The client's revision does not define them, but the upstream would
 * take them for declarations of the client. All other bytes are copied, except
 * white space between the members of params and of params._meta.
 *
 * Errors are in out->failed.
 */
void mcp_upstream_add_meta(mcp_buf_t *out, mcp_str_t body,
    const mcp_upstream_meta_t *meta);

/*
 * Removes the extension io.modelcontextprotocol/tasks from the capabilities in
 * params._meta of a request of revision 2026-07-28. Otherwise an upstream that
 * has this extension could respond with a task, but only this server creates
 * tasks. body is a request that mcp_rpc_parse() has accepted, with capabilities
 * that mcp_client_extensions() has accepted.
 *
 * Returns 1 if it has written the new body to out, whose errors are in
 * out->failed; or 0 if there is nothing to remove.
 */
int mcp_upstream_remove_tasks(mcp_buf_t *out, mcp_str_t body);

/*
 * Removes the members of revision 2026-07-28 from a request for an upstream of
 * an older revision: members of params._meta whose names begin with
 * "io.modelcontextprotocol/", and params.inputResponses and
 * params.requestState. body is a request that mcp_rpc_parse() has accepted.
 *
 * Returns 1 if it has written the new body to out, whose errors are in
 * out->failed; or 0 if there is nothing to remove.
 */
int mcp_upstream_remove_meta(mcp_buf_t *out, mcp_str_t body);

/* Writes a request with another JSON-RPC id, raw JSON. body is a request that
 * mcp_rpc_parse() has accepted. Errors are in out->failed. */
void mcp_upstream_set_id(mcp_buf_t *out, mcp_str_t body, mcp_str_t id);

/* The text of initialize before and after the client's capabilities. */
#define MCP_UPSTREAM_INITIALIZE                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":" MCP_UPSTREAM_ID ","                        \
    "\"method\":\"initialize\","                                            \
    "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
#define MCP_UPSTREAM_INITIALIZE_END                                           \
    ",\"clientInfo\":" MCP_UPSTREAM_CLIENT_INFO "}}"

/* The request for the description of a server of 2026-07-28, and the messages
 * with which a session begins (2025-11-25, basic/lifecycle, "Initialization").
 */
extern const mcp_str_t  mcp_upstream_discover;
extern const mcp_str_t  mcp_upstream_initialize;
extern const mcp_str_t  mcp_upstream_initialized;


/* --- the description of an MCP server --- */

/*
 * The description of an MCP server that is a backend: the result of
 * server/discover (2026-07-28, server/discover) or of initialize (2025-11-25,
 * basic/lifecycle, "Initialization"). Each process keeps the latest
 * description.
 */


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


#endif /* MCP_UPSTREAM_BODY_H_INCLUDED */
