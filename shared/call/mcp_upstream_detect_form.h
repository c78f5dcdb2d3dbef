/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The form of an MCP server that is a backend: that of mcp_upstream or, with
 * "auto", the one that was found out. All processes share it in the zone for
 * mcp_upstream_check; after that, it is found out again.
 */


#ifndef MCP_UPSTREAM_DETECT_FORM_H_INCLUDED
#define MCP_UPSTREAM_DETECT_FORM_H_INCLUDED


#include "call/mcp_call.h"


/*
 * Returns the form of the target of a request; MCP_UPSTREAM_AUTO if it has to
 * be found out first. Sets *version to the revision in which the server is
 * called, static text; it is empty for MCP_UPSTREAM_AUTO and _SESSION.
 */
mcp_upstream_e mcp_upstream_form(mcp_request_t *req, mcp_str_t *version);

/* Stores the form that was found out, and logs it if it has changed. version is
 * the name of the revision that the server has chosen. */
void mcp_upstream_form_found(mcp_request_t *req, mcp_upstream_e form,
    mcp_str_t version);

/* Forgets the form that was found out, because the server has refused it. */
void mcp_upstream_form_forget(mcp_request_t *req);


#endif /* MCP_UPSTREAM_DETECT_FORM_H_INCLUDED */
