/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The form of an MCP server that is a backend: of 2026-07-28 ("modern"), older
 * without sessions ("stateless"), or with sessions ("session"). It is the value
 * of mcp_upstream. With "auto", the first request to the server finds the form
 * out. All processes then share the result in the zone for mcp_upstream_check;
 * after that time, the next request finds it out again.
 */


#ifndef MCP_UPSTREAM_DETECT_FORM_H_INCLUDED
#define MCP_UPSTREAM_DETECT_FORM_H_INCLUDED


#include "call/mcp_call.h"


/*
 * Returns the form of the MCP server that is the target of a request, or
 * MCP_UPSTREAM_AUTO if the form has to be found out first. Sets *version to the
 * name of the revision of the requests to the server, static text; the name is
 * empty for MCP_UPSTREAM_AUTO and MCP_UPSTREAM_SESSION.
 */
mcp_upstream_e mcp_upstream_form(mcp_request_t *req, mcp_str_t *version);

/* Stores the form that was found out, and logs the form if it is not the one
 * that was found out last. version is the name of the revision that the server
 * has chosen. */
void mcp_upstream_form_found(mcp_request_t *req, mcp_upstream_e form,
    mcp_str_t version);

/* Removes the form that was found out from the zone and from the request,
 * because the server has refused a request of this form. */
void mcp_upstream_form_forget(mcp_request_t *req);


#endif /* MCP_UPSTREAM_DETECT_FORM_H_INCLUDED */
