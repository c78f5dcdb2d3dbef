/* SPDX-License-Identifier: Apache-2.0 */

/* The list of all faces: each is a file of its own. */


#ifndef MCP_FACES_H_INCLUDED
#define MCP_FACES_H_INCLUDED


#include "worker/mcp_hook.h"


extern const mcp_face_t  mcp_face_event_id;
extern const mcp_face_t  mcp_face_link;
extern const mcp_face_t  mcp_face_request;
extern const mcp_face_t  mcp_face_stream;
extern const mcp_face_t  mcp_face_task;
extern const mcp_face_t  mcp_face_token;


/* In the order in which their first events stand in a stream; the first is that
 * of clients which declare nothing.  Ends with NULL. */
extern const mcp_face_t *const  mcp_faces[];


#endif /* MCP_FACES_H_INCLUDED */
