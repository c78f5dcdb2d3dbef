/* SPDX-License-Identifier: Apache-2.0 */

/* The URL of the publish endpoint at which a backend delivers messages for one
 * request of a call. Its last segment is a signed token. */


#ifndef MCP_PUBLISH_URL_H_INCLUDED
#define MCP_PUBLISH_URL_H_INCLUDED


#include "call/mcp_call.h"


/* The contents of the token in a publish URL. */
typedef struct {
    unsigned char  id[MCP_STREAM_ID_LEN];      /* id of the call */
    unsigned       request;
    uint64_t       made;       /* when the token was created, ms */
} mcp_publish_target_t;


/* Returns the publish URL for one request of a call, in the call's arena;
 * empty when out of memory. */
mcp_str_t mcp_publish_url(mcp_call_t *call, unsigned request);

/* Opens the token of a publish URL. Returns MCP_OK, or MCP_ERR_DENIED: the
 * token was not signed with one of the keys, or is of another kind. */
int mcp_publish_url_open(const mcp_keys_t *keys, mcp_str_t token,
    mcp_publish_target_t *target);


#endif /* MCP_PUBLISH_URL_H_INCLUDED */
