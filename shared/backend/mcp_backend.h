/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decodes a backend's answer (docs/backends.md) into messages.  JSON, SSE and
 * NDJSON are read as they are; other media types are wrapped into content;
 * HTTP errors become tool errors.  The caller writes bytes, in any split, and
 * reads messages.
 */


#ifndef MCP_BACKEND_H_INCLUDED
#define MCP_BACKEND_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "json/mcp_json.h"


/* All but NOTIFICATION are final: one of them comes, once, as the last
 * message. */
typedef enum {
    MCP_BACKEND_NOTIFICATION = 1,  /* body: the whole message */
    MCP_BACKEND_RESULT,            /* body: the result object, raw */
    MCP_BACKEND_ERROR,             /* body: the error object, raw */
    MCP_BACKEND_INPUT,             /* body: an input_required result, raw */
    MCP_BACKEND_DETACHED,          /* 202: the rest comes by publishing */
    MCP_BACKEND_FAULT              /* fault, detail (for the log) */
} mcp_backend_kind_e;


/* Every slice in a message is valid until the next call. */
typedef struct {
    mcp_backend_kind_e  kind;
    mcp_str_t           method;        /* of a notification, unescaped */
    mcp_str_t           body;          /* on one line */
    mcp_fault_e         fault;
    const char         *detail;        /* static text; a fault always has it */
    mcp_json_value_t    progress_token; /* of notifications/progress */
    mcp_json_value_t    level;         /* of notifications/message */
    mcp_json_value_t    uri;           /* of notifications/resources/updated */
    mcp_json_value_t    input_requests;
    mcp_json_value_t    request_state;
    int                 status;        /* HTTP status if >= 400, else 0 */
    size_t              at;            /* broken JSON: the offending byte */
    mcp_str_t           near;          /* broken JSON: the text around it */
    const char         *doubt;         /* an accepted message that probably is
                                        * a mistake: why (static), or NULL */
    unsigned            is_error:1;    /* a tool's result has isError */
    unsigned            any_output:1;  /* its structuredContent is no object */
    unsigned            structured:1;  /* a result has structuredContent */
    unsigned            has_next:1;    /* a result has nextResumeToken */
    unsigned            is_plain:1;    /* it has neither resultType nor _meta */
} mcp_backend_msg_t;


typedef struct mcp_backend_s  mcp_backend_t;


/*
 * Creates a decoder.
 *
 * uri is the resource that was asked for; the decoder keeps the reference and
 * puts it into wrapped content.  A uri without a scheme (the name of a tool or
 * a prompt) is ignored.  max bounds one message of a stream, or a whole body;
 * wrapping may double a body and add 1 KB and the URI.
 *
 * Returns NULL when out of memory.
 */
mcp_backend_t *mcp_backend_create(const mcp_mem_t *mem,
    mcp_want_e want, mcp_str_t uri, size_t max, unsigned max_depth);

/* Frees the decoder; NULL is allowed. */
void mcp_backend_free(mcp_backend_t *b);

/* Takes the value of Retry-After, before the head.  A limiter's page becomes a
 * tool error that says when to try again; a value that is no number of seconds
 * is as if there were none. */
void mcp_backend_retry_after(mcp_backend_t *b, mcp_str_t value);

/* Takes the head of the answer; later calls have no effect. */
void mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type);

/*
 * Takes bytes, all of them.  A stream's queue is bounded by max only if the
 * caller reads all messages between two writes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT   the body is too large; reading gives the fault
 *   MCP_ERR_MEMORY
 */
int mcp_backend_write(mcp_backend_t *b, const char *data, size_t len);

/*
 * Ends the answer.  fault is MCP_FAULT_NONE if the answer is complete, else
 * the reason that the client is told (MCP_FAULT_BACKEND_FAILED, _TIMEOUT ...).
 * A response that a stream has already delivered stands in spite of a fault; a
 * body that broke off does not.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_end(mcp_backend_t *b, mcp_fault_e fault, const char *detail);

/*
 * Reads the next message.  What follows the final message is dropped.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       write more, then read again
 *   MCP_DONE        the final message has been read
 *   MCP_ERR_MEMORY
 */
int mcp_backend_read(mcp_backend_t *b, mcp_backend_msg_t *msg);

/*
 * Decodes one message that came by publishing, as if a stream had carried it.
 * Neither affects the functions above nor depends on them: it may be called at
 * any time, also after DETACHED and MCP_DONE, and gives one message each time.
 * The caller counts the final ones.  text need not outlive the call.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_backend_message(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);


/*
 * Appends a tool's result with isError, which a model reads (unlike an error
 * of JSON-RPC).  text may be any bytes.  A failure is left in buf->failed.
 */
void mcp_backend_tool_error(mcp_buf_t *buf, mcp_str_t text);


#endif /* MCP_BACKEND_H_INCLUDED */
