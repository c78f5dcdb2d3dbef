/* SPDX-License-Identifier: Apache-2.0 */

/* Server-sent events (WHATWG HTML, 9.2): encoder and incremental decoder. */


#ifndef MCP_SSE_H_INCLUDED
#define MCP_SSE_H_INCLUDED


#include "base/mcp_buf.h"


/* "<stream id>.<sequence>": 128 random bits as base64url (22), dot, decimal. */
#define MCP_STREAM_ID_LEN    16
#define MCP_STREAM_TEXT_LEN  22
#define MCP_EVENT_ID_MAX     (MCP_STREAM_TEXT_LEN + 1 + 20)

/* Both write at p, at most the named length, and return the end. */
char *mcp_stream_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN]);
char *mcp_event_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq);

/* Strict inverse (canonical base64url, no leading zeros, no sign, <= 2^63-1);
 * MCP_OK or MCP_ERR_SYNTAX. */
int mcp_stream_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN]);
int mcp_event_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t *seq);


/*
 * Room that one event needs, and the event itself:
 *     id: <event id>\ndata: <message>\n\n
 * message is one line of JSON (no CR, LF).  Writes at p, returns the end.
 */
#define mcp_sse_event_size(len)  ((len) + MCP_EVENT_ID_MAX + 16)

char *mcp_sse_event_head(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq);                     /* up to and including "data: " */

/* "id: ...\nretry: N\ndata: \n\n"; retry 0 leaves its line out. */
#define MCP_SSE_PRIMING_MAX  (MCP_EVENT_ID_MAX + 48)
char *mcp_sse_priming(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq, uint64_t retry_ms);

/* "retry: N\n\n" (no data: dispatches nothing, moves no cursor) */
#define MCP_SSE_RETRY_MAX  32
char *mcp_sse_retry(char *p, uint64_t retry_ms);

/* ":\n\n" */
#define MCP_SSE_COMMENT      ":\n\n"


/*
 * Decoder for what backends send.  Feed bytes in any split; events come out
 * whole.  "data" lines are joined with LF; other fields but "event" are
 * ignored; CR, LF, CRLF all end lines; a BOM at the start is skipped.
 */
typedef struct {
    mcp_buf_t   data;          /* of the event being read */
    mcp_buf_t   line;
    unsigned    state;
    unsigned    has_data:1;
    unsigned    skip_lf:1;
    unsigned    started:1;
} mcp_sse_decoder_t;

/* max bounds one event's data and one line. */
void mcp_sse_decoder_init(mcp_sse_decoder_t *d, const mcp_mem_t *mem,
    size_t max);
void mcp_sse_decoder_free(mcp_sse_decoder_t *d);

/*
 * Consumes from in[0..len) up to the end of the next event and sets
 * *consumed.  MCP_OK: *data holds the event's data (valid until the next
 * call; empty-data events are skipped, not reported); MCP_AGAIN: all was
 * consumed, no event yet; MCP_ERR_LIMIT, MCP_ERR_MEMORY.
 */
int mcp_sse_decode(mcp_sse_decoder_t *d, const char *in, size_t len,
    size_t *consumed, mcp_str_t *data);

/*
 * The input is over.  The standard drops an event that no blank line ends;
 * scripts forget that line (or even the last line's end), so that for input
 * known to be whole this hands the pending event out all the same: MCP_OK and
 * *data, or MCP_DONE if there is none; errors as above.
 */
int mcp_sse_decoder_end(mcp_sse_decoder_t *d, mcp_str_t *data);


#endif /* MCP_SSE_H_INCLUDED */
