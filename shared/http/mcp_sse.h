/* SPDX-License-Identifier: Apache-2.0 */

/* Server-sent events (WHATWG HTML, 9.2): encoder and incremental decoder. */


#ifndef MCP_SSE_H_INCLUDED
#define MCP_SSE_H_INCLUDED


#include "base/mcp_buf.h"
#include "http/mcp_event_id.h"


/*
 * The encoder.  An event is
 *     id: <event id>\ndata: <message>\n\n
 * where the message is one line of JSON, without CR and LF.
 */

/* The most bytes of an event whose message has len bytes. */
#define mcp_sse_event_size(len)  ((len) + MCP_EVENT_ID_MAX + 16)

/* Writes an event up to and including "data: " at p and returns the end. */
char *mcp_sse_event_head(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq);

/* Does so with an id that mcp_stream_id_print() has written. */
char *mcp_sse_event_head_text(char *p, const char id[MCP_STREAM_TEXT_LEN],
    uint64_t seq);

/* Writes "id: ...\nretry: N\ndata: \n\n", without the retry line if retry_ms is
 * 0, at p and returns the end. */
#define MCP_SSE_PRIMING_MAX  (MCP_EVENT_ID_MAX + 48)
char *mcp_sse_priming(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq, uint64_t retry_ms);

/* Writes "retry: N\n\n" at p and returns the end.  Without data it dispatches
 * no event and does not change the last event id. */
#define MCP_SSE_RETRY_MAX  32
char *mcp_sse_retry(char *p, uint64_t retry_ms);

/* An empty comment, which keeps a connection alive. */
#define MCP_SSE_COMMENT      ":\n\n"


/*
 * The decoder, for streams of backends.  It takes bytes in any pieces and
 * returns whole events: "data" lines, joined with LF.  Events of another type
 * than "message", the default, are skipped, as MCP clients skip them: backends
 * send heartbeats of their own types.  All other fields are ignored.  CR, LF
 * and CRLF end lines; a byte order mark at the start is skipped.
 */
typedef struct {
    mcp_buf_t   data;          /* of the event being read */
    mcp_buf_t   line;
    mcp_str_t   only;          /* the data, as long as it is one line of this
                                  input: "data" has none then */
    unsigned    state;
    unsigned    has_data:1;
    unsigned    joined:1;      /* it has more than one line */
    unsigned    foreign:1;     /* its type is not "message" */
    unsigned    skip_lf:1;
    unsigned    started:1;
} mcp_sse_decoder_t;

/* max bounds the data of one event, in bytes, and one line. */
void mcp_sse_decoder_init(mcp_sse_decoder_t *d, const mcp_mem_t *mem,
    size_t max);
void mcp_sse_decoder_free(mcp_sse_decoder_t *d);

/*
 * Consumes input up to the end of the next event and sets *consumed to its
 * length.  Events without data, or of another type, are skipped.
 *
 * Returns
 *   MCP_OK          *data is the event's data, until the next call; it may be
 *                   in the input
 *   MCP_AGAIN       all input was consumed, and no event has ended
 *   MCP_ERR_LIMIT   an event or a line is too long; the decoder has failed
 *   MCP_ERR_MEMORY  the decoder has failed
 */
int mcp_sse_decode(mcp_sse_decoder_t *d, const char *in, size_t len,
    size_t *consumed, mcp_str_t *data);

/*
 * Ends the input.  The standard drops an event without a blank line behind it.
 * But scripts forget that line, or even the end of the last one, so this
 * returns the pending event of input that is known to be whole.
 *
 * Returns
 *   MCP_OK          *data is the event's data
 *   MCP_DONE        there is no event
 *   MCP_ERR_LIMIT   an event or a line is too long
 *   MCP_ERR_MEMORY
 */
int mcp_sse_decoder_end(mcp_sse_decoder_t *d, mcp_str_t *data);


#endif /* MCP_SSE_H_INCLUDED */
