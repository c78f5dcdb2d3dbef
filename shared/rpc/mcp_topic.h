/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Topics: what clients subscribe to, as the store knows it.
 *
 * A session's listener and a subscription (2026-07-28, "subscriptions/listen")
 * read different texts of the same message, so they have different topics.
 * Changed lists are of the whole zone, as published, or of one place: what
 * stood there in the last configuration and stands there in this one
 * (mcp_endpoint_t).
 */


#ifndef MCP_TOPIC_H_INCLUDED
#define MCP_TOPIC_H_INCLUDED


#include "base/mcp_token.h"
#include "http/mcp_event_id.h"


typedef enum {
    MCP_TOPIC_TOOLS = 0,
    MCP_TOPIC_PROMPTS,
    MCP_TOPIC_RESOURCES,       /* and their templates */
    MCP_TOPIC_LISTS,           /* any of these: for sessions */

    MCP_TOPIC_COUNT
} mcp_topic_e;


/* The list that a notification says has changed, MCP_TOPIC_COUNT if it is
 * another; and that notification's method. */
mcp_topic_e mcp_topic_of(mcp_str_t method);
mcp_str_t mcp_topic_method(mcp_topic_e list);

/* That a list has changed, in a place; NULL: anywhere.  MCP_OK, or
 * MCP_ERR_INTERNAL. */
int mcp_topic_list(mcp_topic_e list, const unsigned char *place,
    unsigned char topic[MCP_DIGEST_LEN]);

/* That a resource of this plain URI has changed: for sessions, and for
 * subscriptions.  The same. */
int mcp_topic_session_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);
int mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);

/* That a task, by its stream, has changed.  The same. */
int mcp_topic_task(const unsigned char stream[MCP_STREAM_ID_LEN],
    unsigned char topic[MCP_DIGEST_LEN]);


#endif /* MCP_TOPIC_H_INCLUDED */
