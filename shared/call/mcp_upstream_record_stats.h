/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Records the state of MCP servers in their statistics, which are in the zone:
 * whether a server responds, its last error, its revision and name, and its
 * sessions. If the statistics have no row for the server, the functions have no
 * effect.
 */


#ifndef MCP_UPSTREAM_RECORD_STATS_H_INCLUDED
#define MCP_UPSTREAM_RECORD_STATS_H_INCLUDED


#include "call/mcp_call.h"


/* Sets req->upstream to the row in the statistics for the MCP server that is
 * the target of the request. */
void mcp_upstream_status_begin(mcp_request_t *req);

/* Called for a message of the server that does not concern a session. Stores
 * that the server responds or, for a fault, the server's last error. */
void mcp_upstream_status_message(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Called when a backend request has timed out. Stores this as the server's last
 * error. */
void mcp_upstream_status_timeout(mcp_request_t *req);

/* Stores the name and the version of the server, which "result" contains: the
 * result of initialize or server/discover, an object of valid JSON. If
 * "version" is not empty, also stores it as the revision in which this server
 * sends requests to the MCP server. */
void mcp_upstream_status_describe(mcp_request_t *req, mcp_str_t result,
    mcp_str_t version);

/* Stores, for the status page, the detected form of the MCP server that a
 * request uses, and the revision in which the server gets its requests. */
void mcp_upstream_status_form(mcp_request_t *req, mcp_upstream_e form,
    mcp_revision_e revision);

/* Counts an initialize request that has ended; ok is 1 if the server responded
 * with a result. */
void mcp_upstream_status_initialized(mcp_request_t *req, int ok);


#endif /* MCP_UPSTREAM_RECORD_STATS_H_INCLUDED */
