/* SPDX-License-Identifier: Apache-2.0 */

/* Server-sent events (SSE), and the ids of streams and of events. */


#ifndef MCP_SSE_H_INCLUDED
#define MCP_SSE_H_INCLUDED


#include "mcp.h"
#include "mcp_buf.h"


/* --- ids of streams and of events --- */

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


/* --- events --- */

/* Server-sent events (WHATWG HTML, 9.2): encoder and incremental decoder. */


/*
 * The encoder. An event has the form
 *
 *     id: <event id>\ndata: <message>\n\n
 *
 * where the message is one line of JSON, without CR and LF.
 */

/* Writes an event up to and including "data: ", at most MCP_SSE_HEAD_MAX bytes,
 * to p. id is the text of the stream's id, from mcp_stream_id_print(). Returns
 * the end. */
#define MCP_SSE_HEAD_MAX  (4 + MCP_EVENT_ID_MAX + 7)
char *mcp_sse_event_head(char *p, const char id[MCP_STREAM_TEXT_LEN],
    uint64_t seq);

/*
 * Writes "id: ...\nretry: N\ndata: \n\n", without the retry line if retry_ms
 * is 0, to p. Returns the end.
 */
#define MCP_SSE_PRIMING_MAX  (MCP_EVENT_ID_MAX + 48)
char *mcp_sse_priming(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq, uint64_t retry_ms);

/*
 * Writes "retry: N\n\n" to p. Returns the end. Without data, clients dispatch
 * no event and do not change the last event id.
 */
#define MCP_SSE_RETRY_MAX  32
char *mcp_sse_retry(char *p, uint64_t retry_ms);

/* An empty comment, which prevents the timeout of an idle connection. */
#define MCP_SSE_COMMENT      ":\n\n"


/*
 * The decoder, for streams of backends. It accepts bytes in pieces of any size
 * and returns whole events: "data" lines, joined with LF. Events of a type
 * other than "message", the default, are skipped, as MCP clients do: some
 * backends send heartbeats with a type of their own. "id" and "retry" are kept
 * if mcp_sse_decoder_keep_ids() was called; all other fields are ignored. CR,
 * LF and CRLF end lines; a byte order mark at the start is skipped.
 */

/* Maximum length of an event id that is kept, bytes of visible ASCII. */
#define MCP_SSE_ID  1024

typedef struct {
    mcp_buf_t   data;          /* data of the current event */
    mcp_buf_t   line;
    mcp_str_t   only;          /* the event's data, if it is a single line that
                                  one call of mcp_sse_decode() got whole;
                                  "data" is then empty */
    mcp_buf_t   id;            /* id of the last complete event that had an id;
                                  empty: no event had an id, or the id cannot be
                                  sent as a header */
    mcp_buf_t   next_id;       /* id of the current event, if has_id is set */
    uint64_t    retry;         /* last value of "retry", ms; 0: none */
    unsigned    state;         /* MCP_SSE_... (mcp_sse.c) */
    unsigned    has_data:1;    /* 1: the event has a data line */
    unsigned    joined:1;      /* 1: the event has more than one data line */
    unsigned    foreign:1;     /* 1: the event's type is not "message" */
    unsigned    skip_lf:1;     /* 1: the last input ended with CR, so an LF at
                                  the start of the next input is skipped */
    unsigned    started:1;     /* 1: the first line, which may begin with a byte
                                  order mark, was handled */
    unsigned    keeps_ids:1;
    unsigned    has_id:1;      /* 1: the current event has an id */
} mcp_sse_decoder_t;

/* Initializes a decoder. max is the maximum length of an event's data, in
 * bytes. A line may be 16 bytes longer. */
void mcp_sse_decoder_init(mcp_sse_decoder_t *d, const mcp_mem_t *mem,
    size_t max);
void mcp_sse_decoder_free(mcp_sse_decoder_t *d);

/* Keeps the ids of events from now on, beginning with the id "last", which may
 * be empty. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_sse_decoder_keep_ids(mcp_sse_decoder_t *d, mcp_str_t last);

/*
 * Consumes input up to the end of the next event, and sets *consumed to the
 * number of consumed bytes. Events without data, or with a type other than
 * "message", are skipped.
 *
 * Returns
 *   MCP_OK          *data is the event's data, valid until the next call; it
 *                   may be a slice of the input
 *   MCP_AGAIN       all input was consumed, and no event has ended
 *   MCP_ERR_LIMIT   an event or a line is too long; the decoder has failed
 *   MCP_ERR_MEMORY  the decoder has failed
 */
int mcp_sse_decode(mcp_sse_decoder_t *d, const char *in, size_t len,
    size_t *consumed, mcp_str_t *data);

/*
 * Ends the input. The standard discards an event without a blank line after
 * it, but scripts forget that line, or even the end of the last data line. So
 * this function returns the pending event; call it only if the input is
 * complete.
 *
 * Returns
 *   MCP_OK          *data is the event's data
 *   MCP_DONE        there is no event
 *   MCP_ERR_LIMIT   an event or a line is too long
 *   MCP_ERR_MEMORY
 */
int mcp_sse_decoder_end(mcp_sse_decoder_t *d, mcp_str_t *data);


#endif /* MCP_SSE_H_INCLUDED */
