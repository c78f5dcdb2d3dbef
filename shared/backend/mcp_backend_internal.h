/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of a decoder. Each file of this list calls only the
 * files below it:
 *
 *   mcp_backend.c          states; input of bytes, output of messages
 *   mcp_backend_body.c     reads messages: a body, lines, SSE events
 *   mcp_backend_message.c  decodes one message: envelope, fields, errors
 *   mcp_backend_head.c     Content-Type; HTTP errors
 *   mcp_backend_content.c  builds results: faults, content, text
 *
 * The head of the response selects the sequence of states:
 *
 *     HEAD -+- SSE, LINES -------+- DONE    a stream of messages
 *           +- BODY - COMPLETE --+          one message, decoded at the end
 *           +- FAULT, DETACHED --+          one message, known from the head
 *
 * A function with the result int and an argument "msg" sets *msg, possibly to a
 * fault, and returns MCP_OK, MCP_ERR_MEMORY, or a value that its comment
 * lists.
 */


#ifndef MCP_BACKEND_INTERNAL_H_INCLUDED
#define MCP_BACKEND_INTERNAL_H_INCLUDED


#include "backend/mcp_backend.h"
#include "base/mcp_str.h"
#include "http/mcp_sse.h"


/*
 * Maximum length of a media type; a longer one counts as
 * application/octet-stream. RFC 6838 allows 127 bytes on either side of the
 * slash, but no type needs them.
 */
#define MCP_BACKEND_TYPE_MAX    128

/* Maximum number of bytes of an error page that a tool error contains. */
#define MCP_BACKEND_ERROR_TEXT  65536


typedef enum {
    MCP_BACKEND_STATE_HEAD = 0,        /* waiting for the head */
    MCP_BACKEND_STATE_SSE,
    MCP_BACKEND_STATE_LINES,
    MCP_BACKEND_STATE_BODY,            /* collecting the body */
    MCP_BACKEND_STATE_COMPLETE,        /* the body is complete, but not
                                          decoded */
    MCP_BACKEND_STATE_FAULT,           /* the next message is the fault in the
                                          member "fault" */
    MCP_BACKEND_STATE_DETACHED,
    MCP_BACKEND_STATE_DONE             /* the final message was read */
} mcp_backend_state_e;


/* The class of a Content-Type. */
typedef enum {
    MCP_BACKEND_UNKNOWN = 0,           /* no type: JSON if it can be parsed */
    MCP_BACKEND_JSON,
    MCP_BACKEND_SSE,
    MCP_BACKEND_LINES,
    MCP_BACKEND_TEXT,
    MCP_BACKEND_TEXTUAL,               /* text in an embedded resource */
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
    uint64_t              retry_after; /* seconds; 0: none */
    int                   failed;      /* MCP_ERR_MEMORY: an earlier call has
                                          failed, and all later ones fail as
                                          well */

    mcp_str_t             uri;
    mcp_str_t             id;          /* raw JSON-RPC id that a response must
                                          have; empty: any id */
    size_t                max;
    size_t                limit;       /* maximum length of the body: max, or
                                          less for an error page */
    unsigned              max_depth;

    mcp_buf_t             in;
    size_t                pos;         /* number of consumed bytes of "in" */
    size_t                seen;        /* number of bytes of "in" that were
                                          searched for the end of a line */
    mcp_buf_t             out;         /* a message that is not a slice of
                                          "in" */
    mcp_arena_t           scratch;     /* memory for the current message */
    mcp_sse_decoder_t     sse;

    mcp_fault_e           fault;
    const char           *detail;

    unsigned              is_server:1; /* 1: see mcp_backend_set_server() */
    unsigned              questions:1; /* 1: see
                                          mcp_backend_allow_questions() */
    unsigned              no_response:1;       /* 1: see
                                                  mcp_backend_ignore_responses()
                                                  */
    unsigned              foreign:1;   /* 1: the stream had a response with
                                          another id than "id" */
    unsigned              latin1:1;
    unsigned              truncated:1; /* 1: an error page was truncated */
    unsigned              ended:1;
    unsigned              flushed:1;   /* 1: mcp_sse_decoder_end() was called
                                          for the last event of the stream, in
                                          case its blank line is missing */
    unsigned              begun:1;     /* 1: the first line of a stream of
                                          lines was read */

    unsigned              type_len;
    char                  type[MCP_BACKEND_TYPE_MAX];  /* in lower case */
};


/* Indexes of the arrays "r", which contain the members of a result that a
 * decoder reads. */
enum {
    MCP_BACKEND_R_CONTENT = 0,
    MCP_BACKEND_R_TYPE,
    MCP_BACKEND_R_INPUT_REQUESTS,
    MCP_BACKEND_R_REQUEST_STATE,
    MCP_BACKEND_R_IS_ERROR,
    MCP_BACKEND_R_STRUCTURED,
    MCP_BACKEND_R_NEXT,
    MCP_BACKEND_R_META,
    MCP_BACKEND_R_META_NEXT,
    MCP_BACKEND_R_COUNT
};


/* --- mcp_backend_body.c --- */

/*
 * Collects a part of the body.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT   the body is too large (an error page is truncated instead)
 *   MCP_ERR_MEMORY
 */
int mcp_backend_body_add(mcp_backend_t *b, const char *data, size_t len);

/* Decodes the complete body, or converts it into content. */
int mcp_backend_body_read(mcp_backend_t *b, mcp_backend_msg_t *msg);

/*
 * Queues a part of a stream.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_stream_add(mcp_backend_t *b, const char *data, size_t len);

/* Returns 1 if the decoder reads a stream, has no input for it, and the stream
 * has not ended; frees memory that is not needed until more input arrives.
 * Otherwise returns 0. */
int mcp_backend_stream_waits(mcp_backend_t *b);

/*
 * Decodes the next message of a stream. If the stream has ended without a
 * response, sets msg to a fault or an HTTP error.
 *
 * Returns MCP_OK if msg was set, or
 *   MCP_AGAIN       no complete message is queued
 *   MCP_ERR_MEMORY
 */
int mcp_backend_stream_read(mcp_backend_t *b, mcp_backend_msg_t *msg);


/* --- mcp_backend_message.c --- */

/*
 * Copies text into "out".
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_copy(mcp_backend_t *b, mcp_str_t text);

/*
 * Decodes one message. If text may contain line breaks, writable is its
 * address, and the line breaks are overwritten; otherwise writable is NULL.
 * stream is 1 for a message of a stream, in which notifications are allowed.
 *
 * Returns MCP_OK if msg was set, or
 *   MCP_ERR_SYNTAX  text is not one JSON object; msg is the fault
 *   MCP_ERR_MEMORY
 */
int mcp_backend_decode(mcp_backend_t *b, mcp_str_t text, char *writable,
    int stream, mcp_backend_msg_t *msg);


/* --- mcp_backend_head.c --- */

/*
 * Stores the media type in lower case, its class, and whether its charset is
 * ISO 8859-1. A malformed type is ignored.
 */
void mcp_backend_media_type(mcp_backend_t *b, mcp_str_t content_type);

/*
 * Sets msg to the message for an HTTP error whose body is not a JSON-RPC
 * response: a tool error with the text if the request is a tools/call,
 * otherwise a fault.
 */
int  mcp_backend_http_error(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);

/*
 * Sets msg to the fault for an HTTP error of an MCP server. text is the
 * response body.
 */
void mcp_backend_server_error(const mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);

/*
 * Sets msg to the message for an HTTP error whose body is a result (msg->body,
 * with the fields r). A tool's result with a content array gets isError unless
 * it has that field; any other result is replaced by a fault.
 */
int  mcp_backend_http_error_result(mcp_backend_t *b, const mcp_json_value_t *r,
    mcp_backend_msg_t *msg);


/* --- mcp_backend_content.c --- */

/* Sets msg to a fault. detail is static text. */
void mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail);

/*
 * Converts text that is not JSON into the kind of result that the request
 * requires, and sets msg to this result.
 */
int  mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class,
    mcp_str_t text, mcp_backend_msg_t *msg);

/*
 * mcp_backend_result_init() initializes a buffer for a result that the decoder
 * builds. mcp_backend_result_give() sets msg to this result: "out" becomes the
 * owner of the buffer. If the result exceeds the limit, msg becomes a fault.
 */
void mcp_backend_result_init(const mcp_backend_t *b, mcp_buf_t *buf);
int  mcp_backend_result_give(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_msg_t *msg);

mcp_str_t mcp_backend_skip_bom(mcp_str_t text);
mcp_str_t mcp_backend_trim(mcp_str_t text);


#endif /* MCP_BACKEND_INTERNAL_H_INCLUDED */
