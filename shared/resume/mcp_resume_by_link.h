/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of the resumption method that gives streams a URL. The
 * comment in mcp_resume_by_link.c explains the method. */


#ifndef MCP_RESUME_BY_LINK_H_INCLUDED
#define MCP_RESUME_BY_LINK_H_INCLUDED


#include "resume/mcp_resume_common.h"
#include "resume/mcp_resume_by_link_url.h"


/* The token of a URL begins with the stream's id. These are the offsets of its
 * other parts (mcp_resume_by_link.c), and its length. */
#define MCP_RESUME_LINK_AFTER       MCP_STREAM_ID_LEN
#define MCP_RESUME_LINK_GENERATION  (MCP_RESUME_LINK_AFTER + 8)
#define MCP_RESUME_LINK_CAN         (MCP_RESUME_LINK_GENERATION + 4)
#define MCP_RESUME_LINK_LEN         (MCP_RESUME_LINK_CAN + 2)


/* Data of this resumption method in an exchange of an endpoint with mcp_link
 * on. */
typedef struct {
    mcp_resume_link_url_t  url;
    mcp_str_t              token;      /* token in the URL of the request;
                                          .data NULL: none */
    uint32_t               generation; /* generation of the URL that the client
                                          gets; the store has twice a
                                          generation, plus 1 after an answer */
    mcp_str_t              text;       /* body of the POST */
    unsigned               closes:1;   /* 1: the connection is closed when the
                                          client has got all questions, because
                                          it has to answer them by another
                                          request */
} mcp_resume_link_t;


#define mcp_resume_link_of(x)  mcp_hook_state((x)->states, &mcp_resume_link)

/* The lowest valid generation of a stream's URLs, and 1 if the questions were
 * answered by a URL of this generation. The store has both in one number. */
#define mcp_resume_link_least_generation(info)  ((info)->generation / 2)
#define mcp_resume_link_answered(info)          ((info)->generation % 2)


#endif /* MCP_RESUME_BY_LINK_H_INCLUDED */
