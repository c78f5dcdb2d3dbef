/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Properties of an MCP server that is a backend: its form, and whether it has a
 * GET stream.
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


#endif /* MCP_UPSTREAM_DETECT_H_INCLUDED */
