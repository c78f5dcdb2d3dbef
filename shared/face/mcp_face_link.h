/* SPDX-License-Identifier: Apache-2.0 */

/* What the files of streams with a URL share; mcp_face_link.c says what these
 * are. */


#ifndef MCP_FACE_LINK_H_INCLUDED
#define MCP_FACE_LINK_H_INCLUDED


#include "face/mcp_face_common.h"
#include "face/mcp_face_link_url.h"


/* where in the token, behind the stream's id */
#define MCP_FACE_LINK_AFTER    MCP_STREAM_ID_LEN
#define MCP_FACE_LINK_TURN     (MCP_FACE_LINK_AFTER + 8)
#define MCP_FACE_LINK_CAN      (MCP_FACE_LINK_TURN + 4)
#define MCP_FACE_LINK_LEN      (MCP_FACE_LINK_CAN + 2)


/* What the face keeps of an exchange, if the endpoint has links. */
typedef struct {
    mcp_face_link_url_t  url;
    mcp_str_t            token;        /* .data NULL: the URL has none */
    uint32_t             turn;         /* of the stream, as far as known */
    mcp_str_t            text;         /* of a POST */
    unsigned             closes:1;     /* when its stream asks for input */
} mcp_face_link_t;


#define mcp_face_link_of(x)  mcp_hook_state((x)->states, &mcp_face_link)

#define mcp_face_link_least_turn(info)  ((info)->turn / 2)
#define mcp_face_link_answered(info)    ((info)->turn % 2)


/* --- mcp_face_link_find.c --- */

/*
 * Finds the stream that the URL names, and where the URL's stream begins.  A
 * request without a session gets the stream's.
 *
 * Returns MCP_OK, with *fault, or
 *   MCP_AGAIN       stop: see mcp_ask.h
 *   MCP_ERR_MEMORY
 */
int mcp_face_link_find(mcp_exchange_t *x, mcp_face_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault);

/* The fault of who gets no stream. */
mcp_fault_e mcp_face_link_fault(int rc);

/* Raises the turn in the stream, as it is kept there. */
void mcp_face_link_set_turn(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t turn);


#endif /* MCP_FACE_LINK_H_INCLUDED */
