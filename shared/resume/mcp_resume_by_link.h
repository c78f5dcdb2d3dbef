/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of the resumption method that gives streams a URL. The
 * comment in mcp_resume_by_link.c explains the method. */


#ifndef MCP_RESUME_BY_LINK_H_INCLUDED
#define MCP_RESUME_BY_LINK_H_INCLUDED


#include "resume/mcp_resume_common.h"
#include "resume/mcp_resume_by_link_url.h"


/* Offsets in the token of a URL, which begins with the stream's id, and its
 * length. */
#define MCP_RESUME_LINK_AFTER       MCP_STREAM_ID_LEN
#define MCP_RESUME_LINK_GENERATION  (MCP_RESUME_LINK_AFTER + 8)
#define MCP_RESUME_LINK_CAN         (MCP_RESUME_LINK_GENERATION + 4)
#define MCP_RESUME_LINK_LEN         (MCP_RESUME_LINK_CAN + 2)


/* The state of this method in an exchange of an endpoint with mcp_link on. */
typedef struct {
    mcp_resume_link_url_t  url;
    mcp_str_t              token;      /* token in the URL of the request;
                                          .data NULL: none */
    uint32_t               generation; /* generation of the URL that the client
                                          gets, without the flag for answers */
    mcp_str_t              text;       /* body of the POST */
    unsigned               closes:1;   /* 1: the connection closes when the
                                          client has all questions and has to
                                          answer them */
} mcp_resume_link_t;


#define mcp_resume_link_of(x)  mcp_hook_state((x)->states, &mcp_resume_link)

#define mcp_resume_link_least_generation(info)  ((info)->generation / 2)
#define mcp_resume_link_answered(info)          ((info)->generation % 2)


/* --- mcp_resume_by_link_find.c --- */

/*
 * Makes the stream of the URL available, and checks whether the URL is valid.
 * *after is the event after which the URL's stream begins. A request without a
 * session gets the stream's session.
 *
 * Returns MCP_OK and *fault, which is MCP_FAULT_NONE on success; or
 *   MCP_AGAIN  the entry function has to return this value
 *   MCP_ERR_MEMORY
 */
int mcp_resume_link_find(mcp_exchange_t *x, mcp_resume_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault);

/* Returns the fault for an error rc of a cluster operation or of the store. */
mcp_fault_e mcp_resume_link_fault(int rc);

/* Raises the generation of the stream to "generation", in the store and in
 * *info. Both have the form with the flag for answers. */
void mcp_resume_link_set_generation(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t generation);


#endif /* MCP_RESUME_BY_LINK_H_INCLUDED */
