/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Properties of an MCP server that is a backend: its form, whether it has a GET
 * stream, and its statistics.
 *
 * The form is "modern" (revision 2026-07-28), "stateless" (an older revision,
 * without sessions) or "session" (an older revision, with sessions). The
 * directive mcp_upstream sets the form. With "auto", the first request to the
 * server detects the form and stores it in the zone, for all processes. After
 * the time mcp_upstream_check, the next request detects the form again.
 */


#ifndef MCP_UPSTREAM_DETECT_H_INCLUDED
#define MCP_UPSTREAM_DETECT_H_INCLUDED


#include "call/mcp_call.h"


/*
 * Returns the form of the MCP server that is the target of a request, or
 * MCP_UPSTREAM_AUTO if the form has to be detected first. Sets *version to the
 * name of the revision in which the server gets requests, static text; the name
 * is empty for MCP_UPSTREAM_AUTO and MCP_UPSTREAM_SESSION.
 */
mcp_upstream_e mcp_upstream_form(mcp_request_t *req, mcp_str_t *version);

/* Stores the form that a request has detected, in the zone and in the request.
 * Logs the form if it differs from the form that was detected before. version
 * is the name of the revision that the server has chosen. */
void mcp_upstream_form_found(mcp_request_t *req, mcp_upstream_e form,
    mcp_str_t version);

/* Removes the detected form from the zone and from the request, because the
 * server has refused a request of this form. */
void mcp_upstream_form_forget(mcp_request_t *req);

/* Returns 1 if the server of a request has responded to GET with HTTP 405
 * within mcp_upstream_check. */
int mcp_upstream_listen_is_refused(const mcp_request_t *req);

/* Stores in the zone that the server of a request has responded to GET with
 * HTTP 405, so that no process sends GET again within mcp_upstream_check. */
void mcp_upstream_listen_remember(const mcp_request_t *req);


/* --- statistics --- */

/*
 * Records the state of MCP servers in their statistics, which are in the zone:
 * whether a server responds, its last error, its revision and name, and its
 * sessions. If the statistics have no row for the server, the functions have no
 * effect. A failure of this server (req->failed_here) is not recorded.
 */


/* Sets req->upstream to the row in the statistics for the MCP server that is
 * the target of the request. */
void mcp_upstream_status_begin(mcp_request_t *req);

/* Called for a message of the server that does not concern a session. Stores
 * that the server responds or, for a fault, the server's last error. */
void mcp_upstream_status_message(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Called when a backend request has timed out. Stores this as the server's last
 * error. Does nothing if the request has waited in the glue until now
 * (req->breq.unsent), because then the server has received nothing. */
void mcp_upstream_status_timeout(mcp_request_t *req);

/* Stores the name and the version of the server, which "result" contains: the
 * result of initialize or server/discover, an object of valid JSON. If
 * "version" is not empty, also stores it as the revision in which this server
 * sends requests to the MCP server. */
void mcp_upstream_status_describe(mcp_request_t *req, mcp_str_t result,
    mcp_str_t version);

/* Counts an initialize request that has ended; ok is 1 if the server responded
 * with a result. */
void mcp_upstream_status_initialized(mcp_request_t *req, int ok);


#endif /* MCP_UPSTREAM_DETECT_H_INCLUDED */
