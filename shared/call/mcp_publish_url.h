/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The URL of the publish endpoint at which a backend delivers messages for one
 * request of a call.  Its last segment is a signed token.
 */


#ifndef MCP_PUBLISH_URL_H_INCLUDED
#define MCP_PUBLISH_URL_H_INCLUDED


#include "call/mcp_call.h"


/* What the token says. */
typedef struct {
    unsigned char  id[MCP_STREAM_ID_LEN];      /* of the call */
    unsigned       request;
    uint64_t       made;       /* ms, when the token was made */
} mcp_publish_target_t;


/* Puts the URL for one request of a call into the call's arena.  Empty when out
 * of memory. */
mcp_str_t mcp_publish_url(mcp_call_t *call, unsigned request);

/* Reads a token.  MCP_OK, or MCP_ERR_DENIED: it is none of ours. */
int mcp_publish_url_open(const mcp_keys_t *keys, mcp_str_t token,
    mcp_publish_target_t *target);


#endif /* MCP_PUBLISH_URL_H_INCLUDED */
