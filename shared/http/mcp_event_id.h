/* SPDX-License-Identifier: Apache-2.0 */

/* Ids of streams and of events. */


#ifndef MCP_EVENT_ID_H_INCLUDED
#define MCP_EVENT_ID_H_INCLUDED


#include "mcp.h"


/*
 * A stream's id is 128 random bits, printed in base64url (22 characters). An
 * event's id consists of the stream's id, a dot, and the event's number in
 * decimal.
 */
#define MCP_STREAM_ID_LEN    16
#define MCP_STREAM_TEXT_LEN  22
#define MCP_EVENT_ID_MAX     (MCP_STREAM_TEXT_LEN + 1 + 20)


/*
 * mcp_stream_id_print() writes MCP_STREAM_TEXT_LEN characters to p,
 * mcp_event_id_print() at most MCP_EVENT_ID_MAX characters. Both return the
 * end.
 */
char *mcp_stream_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN]);
char *mcp_event_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq);

/*
 * Parse an id. Each id has exactly one text: the base64url is canonical, and
 * the number has no sign, no leading zeros, and is below 2^63.
 *
 * Return MCP_OK, or
 *   MCP_ERR_SYNTAX  the text is not such an id
 */
int mcp_stream_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN]);
int mcp_event_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t *seq);


#endif /* MCP_EVENT_ID_H_INCLUDED */
