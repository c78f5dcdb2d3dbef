/* SPDX-License-Identifier: Apache-2.0 */

/* The list of all resumption methods. Each method has a file. */


#ifndef MCP_RESUME_METHODS_H_INCLUDED
#define MCP_RESUME_METHODS_H_INCLUDED


#include "worker/mcp_resume_hooks.h"


extern const mcp_resume_method_t  mcp_resume_event_id;
extern const mcp_resume_method_t  mcp_resume_link;
extern const mcp_resume_method_t  mcp_resume_request;
extern const mcp_resume_method_t  mcp_resume_stream;
extern const mcp_resume_method_t  mcp_resume_task;
extern const mcp_resume_method_t  mcp_resume_token;


/* The resumption methods, in the order in which they append their first events
 * to a stream; the last element is NULL. Clients use the first method (GET with
 * Last-Event-ID) without declaring it. */
extern const mcp_resume_method_t *const  mcp_resume_methods[];


#endif /* MCP_RESUME_METHODS_H_INCLUDED */
