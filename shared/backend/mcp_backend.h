/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decodes a backend's response (docs/backends.md) into messages. JSON, SSE and
 * NDJSON are passed on; other media types become content; HTTP errors become
 * tool errors. The caller writes bytes, in pieces of any size, and reads
 * messages.
 */


#ifndef MCP_BACKEND_H_INCLUDED
#define MCP_BACKEND_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "json/mcp_json_scan.h"


/*
 * Kinds of messages. All kinds except NOTIFICATION and REQUEST are final: a
 * decoder returns exactly one final message, as the last one.
 */
typedef enum {
    MCP_BACKEND_NOTIFICATION = 1,  /* body: the whole message */
    MCP_BACKEND_REQUEST,           /* method, id, params */
    MCP_BACKEND_RESULT,            /* body: the result object, raw */
    MCP_BACKEND_ERROR,             /* body: the error object, raw */
    MCP_BACKEND_INPUT,             /* body: an input_required result, raw */
    MCP_BACKEND_DETACHED,          /* 202: the backend will publish the
                                      response */
    MCP_BACKEND_FAULT              /* fault, detail (for the log) */
} mcp_backend_kind_e;


/* A message. All slices in it are valid until the next call for the same
 * decoder. */
typedef struct {
    mcp_backend_kind_e  kind;
    mcp_str_t           method;        /* method of a notification or a
                                          request, unescaped */
    mcp_json_value_t    id;            /* id of a request: a string or an
                                          integer */
    mcp_json_value_t    params;        /* params of a request: an object, or
                                          type NONE if absent */
    mcp_str_t           body;          /* the JSON that "kind" specifies, on one
                                          line */
    mcp_fault_e         fault;
    const char         *detail;        /* static text; set for each fault */
    mcp_json_value_t    progress_token; /* member of the params of
                                           notifications/progress */
    mcp_json_value_t    level;         /* member of the params of
                                          notifications/message */
    mcp_json_value_t    uri;           /* member of the params of
                                          notifications/resources/updated */
    mcp_json_value_t    input_requests;
    mcp_json_value_t    request_state;
    int                 status;        /* HTTP status if 400 or higher,
                                          otherwise 0 */
    mcp_str_t           foreign;       /* wrong raw id of a response that is
                                          ignored or a fault; empty: none */
    mcp_str_t           expected;      /* raw id that such a response must have;
                                          empty: the message has no wrong id */
    size_t              at;            /* invalid JSON: offset of the first
                                          invalid byte */
    mcp_str_t           near;          /* invalid JSON: the text around that
                                          byte */
    const char         *warning;       /* static text: the reason why the
                                          accepted message is probably a
                                          mistake; NULL: no warning */
    unsigned            is_error:1;    /* 1: a tool's result with isError */
    unsigned            any_output:1;  /* 1: a tool's result whose
                                          structuredContent is not an object */
    unsigned            structured:1;  /* 1: a tool's result with
                                          structuredContent */
    unsigned            has_next:1;    /* 1: a result with nextResumeToken */
    unsigned            is_plain:1;    /* 1: a result with neither
                                          resultType nor _meta */
    unsigned            ignored:1;     /* 1: a message of an MCP server that
                                          concerns no request of this decoder:
                                          another request's response ("detail"
                                          is set if mcp_backend_set_id() was
                                          called), or a "ping" without
                                          mcp_backend_allow_questions() */
    unsigned            resumable:1;   /* 1: a fault, because a stream has ended
                                          without a response; the stream can be
                                          resumed, because the id of the last
                                          event is not empty */
    unsigned            no_session:1;  /* 1: an error by which an MCP server
                                          reports that it does not know the
                                          session of the request */
    unsigned            capability:1;  /* 1: an error by which an MCP server
                                          reports that the client lacks a
                                          capability */
    unsigned            header:1;      /* 1: a fault, because an MCP server has
                                          reported that a header of the request
                                          differs from the body; "body" is the
                                          server's error object */
} mcp_backend_msg_t;


typedef struct mcp_backend_s  mcp_backend_t;


/*
 * Creates a decoder.
 *
 * uri is the URI of the requested resource; the decoder keeps the reference and
 * adds it to content that it builds. A uri without a scheme (the name of a tool
 * or a prompt) is ignored. max is the maximum length of one message of a
 * stream, or of a whole body. Content that is built from a body may have twice
 * this length, plus 1 KB and the URI.
 *
 * Returns NULL when out of memory.
 */
mcp_backend_t *mcp_backend_create(const mcp_mem_t *mem,
    mcp_want_e want, mcp_str_t uri, size_t max, unsigned max_depth);

/*
 * Restricts the decoder to the responses of an MCP server: each message must
 * have a JSON-RPC envelope. Media types other than JSON, SSE and NDJSON, HTTP
 * errors without a JSON-RPC error, and the statuses 202 and 204 are faults. To
 * be called before mcp_backend_head().
 */
void mcp_backend_set_server(mcp_backend_t *b);

/* Accepts requests from an MCP server. Without this call, every request except
 * ping is a fault. To be called after mcp_backend_set_server(). */
void mcp_backend_allow_questions(mcp_backend_t *b);

/*
 * Sets the raw JSON-RPC id of the request. The response has the same id
 * (JSON-RPC 2.0, section 5), or the same number as a string. A response with
 * another id is ignored in a stream, and is a fault if it is the whole body. An
 * error without an id, or with the id null, is the response, because the server
 * may have been unable to read the id. So is the body of an HTTP error, with
 * any id. mcp_backend_message() accepts any id.
 *
 * The decoder keeps the reference to id. Without this call, a response may have
 * any id.
 */
void mcp_backend_set_id(mcp_backend_t *b, mcp_str_t id);

/* Ignores all responses in a stream, because the decoder has no request. To be
 * called after mcp_backend_set_server(). */
void mcp_backend_ignore_responses(mcp_backend_t *b);

/*
 * Makes the decoder remember the id of the last event, so that a stream that
 * ends without a response can be resumed. Before the first event with an id,
 * the remembered id is "last", which may be empty. To be called after
 * mcp_backend_set_server().
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_set_resumes(mcp_backend_t *b, mcp_str_t last);

/* Returns the id of the last event, valid until the next call for the decoder.
 * Sets *retry to the last value of "retry" in the stream, the time in ms before
 * the stream may be resumed; 0: none. */
mcp_str_t mcp_backend_last_id(const mcp_backend_t *b, uint64_t *retry);

/* Frees the decoder; NULL is allowed. */
void mcp_backend_free(mcp_backend_t *b);

/*
 * Sets the value of Retry-After. To be called before mcp_backend_head(). The
 * error page of a rate limiter becomes a tool error with this time; a value
 * that is not a number of seconds up to one day is ignored.
 */
void mcp_backend_retry_after(mcp_backend_t *b, mcp_str_t value);

/* Sets the head of the response; later calls have no effect. */
void mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type);

/*
 * Accepts len bytes of the body. The caller has to read all messages between
 * two writes; otherwise the buffer for a stream may become longer than max.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT   the body is too large; reading returns the fault
 *   MCP_ERR_MEMORY
 */
int mcp_backend_write(mcp_backend_t *b, const char *data, size_t len);

/*
 * Ends the response. fault is MCP_FAULT_NONE if the response is complete,
 * otherwise the reason that the client receives (MCP_FAULT_BACKEND_FAILED,
 * _TIMEOUT ...). A final message that a stream has delivered is valid in spite
 * of a later fault; an incomplete body is not.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_end(mcp_backend_t *b, mcp_fault_e fault, const char *detail);

/*
 * Returns 1 while the decoder collects a body, which is one message:
 * mcp_backend_read() returns MCP_AGAIN until the response ends.
 */
int mcp_backend_collects(const mcp_backend_t *b);

/*
 * Reads the next message. Data after the final message are discarded.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       write more, then read again
 *   MCP_DONE        the final message has been read
 *   MCP_ERR_MEMORY
 */
int mcp_backend_read(mcp_backend_t *b, mcp_backend_msg_t *msg);

/*
 * Decodes one message that the backend has published, like a message of a
 * stream. May be called at any time, even after the final message was read; the
 * response of the decoder is not affected. Returns one message for each call;
 * the caller checks that only one final message is published. text is not
 * needed after the call.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_message(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);


/*
 * Appends a tool's result with isError and a text. A model can read such a
 * result, unlike a JSON-RPC error. text may contain any bytes. A failure is
 * stored in buf->failed.
 */
void mcp_backend_tool_error(mcp_buf_t *buf, mcp_str_t text);


#endif /* MCP_BACKEND_H_INCLUDED */
