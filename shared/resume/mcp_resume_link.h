/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of streams with a URL; mcp_resume_link.c explains
 * them. */


#ifndef MCP_RESUME_LINK_H_INCLUDED
#define MCP_RESUME_LINK_H_INCLUDED


#include "resume/mcp_resume_common.h"
#include "resume/mcp_resume_link_url.h"


/* Offsets in the token, after the stream's id. */
#define MCP_RESUME_LINK_AFTER       MCP_STREAM_ID_LEN
#define MCP_RESUME_LINK_GENERATION  (MCP_RESUME_LINK_AFTER + 8)
#define MCP_RESUME_LINK_CAN         (MCP_RESUME_LINK_GENERATION + 4)
#define MCP_RESUME_LINK_LEN         (MCP_RESUME_LINK_CAN + 2)


/* The state of this method in an exchange, if the endpoint has links. */
typedef struct {
    mcp_resume_link_url_t  url;
    mcp_str_t              token;      /* .data NULL: the URL has none */
    uint32_t               generation; /* of the stream, as far as known */
    mcp_str_t              text;       /* body of a POST */
    unsigned               closes:1;   /* 1: the connection closes when its
                                          stream asks for input */
} mcp_resume_link_t;


#define mcp_resume_link_of(x)  mcp_hook_state((x)->states, &mcp_resume_link)

#define mcp_resume_link_least_generation(info)  ((info)->generation / 2)
#define mcp_resume_link_answered(info)          ((info)->generation % 2)


/* --- mcp_resume_link_find.c --- */

/*
 * Finds the stream that the URL names, and the event after which the URL's
 * stream begins. A request without a session gets the stream's session.
 *
 * Returns MCP_OK and *fault, or
 *   MCP_AGAIN  stop: see mcp_operation.h
 *   MCP_ERR_MEMORY
 */
int mcp_resume_link_find(mcp_exchange_t *x, mcp_resume_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault);

/* Returns the fault for a request that gets no stream. */
mcp_fault_e mcp_resume_link_fault(int rc);

/* Raises the stored generation of the stream. */
void mcp_resume_link_set_generation(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t generation);


#endif /* MCP_RESUME_LINK_H_INCLUDED */
