/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of a decoder, shared by its own files only:
 *
 *   mcp_backend.c          its life and states; bytes in, messages out
 *   mcp_backend_head.c     status and Content-Type
 *   mcp_backend_stream.c   messages in a row: SSE, lines
 *   mcp_backend_body.c     one body, JSON or not
 *   mcp_backend_message.c  a message's envelope, its fields
 *   mcp_backend_status.c   HTTP errors
 *   mcp_backend_content.c  what is no JSON, wrapped into content
 *   mcp_backend_text.c     encodings, byte order mark, white space
 *
 *     HEAD -+- SSE, LINES -------+- DONE    one message after the other
 *           +- BODY - COMPLETE --+          one message, once all is there
 *           +- FAULT, DETACHED --+          the head says it all
 *
 * Functions that make a message return MCP_OK, also when it is a fault, or
 * MCP_ERR_MEMORY, unless they say more.
 */


#ifndef MCP_BACKEND_PARTS_H_INCLUDED
#define MCP_BACKEND_PARTS_H_INCLUDED


#include "backend/mcp_backend.h"


/* Media types may be longer (RFC 6838 has 127 and 127), but none is. */
#define MCP_BACKEND_TYPE_MAX    128

/* How much of an error page a model is shown. */
#define MCP_BACKEND_ERROR_TEXT  65536


typedef enum {
    MCP_BACKEND_STATE_HEAD = 0,        /* the head has not come */
    MCP_BACKEND_STATE_SSE,
    MCP_BACKEND_STATE_LINES,
    MCP_BACKEND_STATE_BODY,            /* being gathered */
    MCP_BACKEND_STATE_COMPLETE,        /* gathered, not decoded yet */
    MCP_BACKEND_STATE_FAULT,           /* "fault" is the message */
    MCP_BACKEND_STATE_DETACHED,
    MCP_BACKEND_STATE_DONE             /* the final message was given */
} mcp_backend_state_e;


typedef enum {
    MCP_BACKEND_UNKNOWN = 0,           /* no type was named: look inside */
    MCP_BACKEND_JSON,
    MCP_BACKEND_SSE,
    MCP_BACKEND_LINES,
    MCP_BACKEND_TEXT,
    MCP_BACKEND_TEXTUAL,               /* a resource, shown as text */
    MCP_BACKEND_IMAGE,
    MCP_BACKEND_AUDIO,
    MCP_BACKEND_BINARY
} mcp_backend_class_e;


struct mcp_backend_s {
    const mcp_mem_t      *mem;
    mcp_want_e            want;
    mcp_backend_state_e   state;
    mcp_backend_class_e   class;
    int                   status;
    int                   failed;      /* MCP_ERR_MEMORY stays */

    mcp_str_t             uri;
    size_t                max;
    size_t                limit;       /* of this body */
    unsigned              max_depth;

    mcp_buf_t             in;
    size_t                pos;         /* taken from "in" */
    size_t                seen;        /* looked at for the end of a line */
    mcp_buf_t             out;         /* a message that is no slice */
    mcp_arena_t           scratch;
    mcp_sse_decoder_t     sse;

    mcp_fault_e           fault;
    const char           *detail;

    unsigned              latin1:1;
    unsigned              truncated:1;
    unsigned              ended:1;
    unsigned              flushed:1;
    unsigned              begun:1;     /* past the first line */

    unsigned              type_len;
    char                  type[MCP_BACKEND_TYPE_MAX];
};


/* The fields of a result that are looked at; arrays of them have this
 * order. */
enum {
    MCP_BACKEND_R_TYPE = 0,
    MCP_BACKEND_R_INPUT_REQUESTS,
    MCP_BACKEND_R_REQUEST_STATE,
    MCP_BACKEND_R_CONTENT,
    MCP_BACKEND_R_IS_ERROR,
    MCP_BACKEND_R_NEXT,
    MCP_BACKEND_R_META,
    MCP_BACKEND_R_META_NEXT,
    MCP_BACKEND_R_COUNT
};


/* --- mcp_backend.c --- */

/* Frees all but the decoder itself: a finished one may be kept for as long as
 * its call lives. */
void mcp_backend_release(mcp_backend_t *b);

/* The next message will be this fault, and the last one. */
void mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault,
    const char *detail);

/* Makes msg that fault; detail (static text) may be NULL. */
void mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail);


/* --- mcp_backend_stream.c --- */

/* Takes bytes: MCP_OK or MCP_ERR_MEMORY. */
int  mcp_backend_queue(mcp_backend_t *b, const char *data, size_t len);

/* The next message of a stream, or what its end amounts to; MCP_AGAIN. */
int  mcp_backend_stream(mcp_backend_t *b, mcp_backend_msg_t *msg);


/* --- mcp_backend_body.c --- */

/* Takes bytes: MCP_OK, MCP_ERR_MEMORY, or MCP_ERR_LIMIT when they are too
 * many, which is the fault by then. */
int  mcp_backend_gather(mcp_backend_t *b, const char *data, size_t len);

/* A whole body: JSON, or something to be wrapped. */
int  mcp_backend_body(mcp_backend_t *b, mcp_backend_msg_t *msg);


/* --- mcp_backend_message.c --- */

/* Puts text into "out".  MCP_OK or MCP_ERR_MEMORY. */
int  mcp_backend_copy(mcp_backend_t *b, mcp_str_t text);

/*
 * One message.  "own", if there, is text once more, where it may be changed;
 * without it text has no line breaks.  MCP_ERR_SYNTAX: not one JSON object;
 * msg is the fault, should that be one.
 */
int  mcp_backend_decode(mcp_backend_t *b, mcp_str_t text, char *own,
    int stream, mcp_backend_msg_t *msg);


/* --- mcp_backend_status.c --- */

/* What an error status amounts to when the body is no JSON-RPC error. */
int  mcp_backend_status(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);

/*
 * A result (msg->body) under an error status: a tool's, if it is one, is
 * marked as an error; of anything else only the status counts.  r: its fields
 * (MCP_BACKEND_R_...).
 */
int  mcp_backend_error_result(mcp_backend_t *b, const mcp_json_value_t *r,
    mcp_backend_msg_t *msg);


/* --- mcp_backend_content.c --- */

/* Makes content of what is no JSON. */
int  mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class,
    mcp_str_t text, mcp_backend_msg_t *msg);

/* Hands out a result that was made here, in a buffer limited to
 * mcp_backend_wrapped_max(); the buffer becomes "out", or is freed. */
int  mcp_backend_give(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_msg_t *msg);
size_t mcp_backend_wrapped_max(const mcp_backend_t *b);


/* --- mcp_backend_text.c --- */

mcp_str_t mcp_backend_skip_bom(mcp_str_t text);
mcp_str_t mcp_backend_trim(mcp_str_t text);

/* No more of an error page than is of use, and no half character. */
mcp_str_t mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text);

/* As a JSON string, whatever the bytes are; a failure is in buf->failed. */
void mcp_backend_add_text(mcp_backend_t *b, mcp_buf_t *buf, mcp_str_t text);


#endif /* MCP_BACKEND_PARTS_H_INCLUDED */
