/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decoding what a backend answers (docs/backends.md) into messages: JSON,
 * SSE, NDJSON, anything else wrapped into content, HTTP errors as tool
 * errors.  Fed with bytes in any split, asked for messages.
 */


#ifndef MCP_BACKEND_H_INCLUDED
#define MCP_BACKEND_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "json/mcp_json.h"
#include "http/mcp_sse.h"


typedef enum {
    MCP_BACKEND_NOTIFICATION = 1,  /* body: whole message */
    MCP_BACKEND_RESULT,            /* body: the result object, raw */
    MCP_BACKEND_ERROR,             /* body: the error object, raw */
    MCP_BACKEND_INPUT,             /* body: an input_required result, raw */
    MCP_BACKEND_DETACHED,          /* 202: the rest comes by publish */
    MCP_BACKEND_FAULT              /* fault, detail (for the log) */
} mcp_backend_kind_e;


typedef struct {
    mcp_backend_kind_e  kind;
    mcp_str_t           method;        /* of a notification, unescaped */
    mcp_str_t           body;          /* one line; like all slices here
                                        * valid until the next call */
    mcp_fault_e         fault;
    const char         *detail;        /* static text, never NULL with a
                                        * fault */
    mcp_json_value_t    progress_token; /* of notifications/progress */
    mcp_json_value_t    level;         /* of notifications/message */
    mcp_json_value_t    uri;           /* of notifications/resources/updated */
    mcp_json_value_t    input_requests;
    mcp_json_value_t    request_state;
    int                 status;        /* of HTTP, if it is 400 or more */
    size_t              at;            /* of a fault that is broken JSON: the
                                          byte, and what is written there */
    mcp_str_t           near;
    const char         *doubt;         /* it is taken, but hardly meant so:
                                          static text, may be NULL */
    unsigned            is_error:1;    /* a tool's result says that it failed
                                        */
    unsigned            has_next:1;    /* the result has a nextResumeToken */
} mcp_backend_msg_t;


typedef struct mcp_backend_s  mcp_backend_t;


/*
 * max bounds one message and, for a body that is no message stream, the
 * body (a body that gets wrapped may come out at most twice as long, plus
 * 1 KB and the URI).  uri: what a resource read asked for (for wrapping), kept
 * by reference; what has no scheme, as the name of a tool or prompt, is
 * not used.  NULL when out of memory.
 */
mcp_backend_t *mcp_backend_create(const mcp_mem_t *mem,
    mcp_want_e want, mcp_str_t uri, size_t max, unsigned max_depth);
void mcp_backend_free(mcp_backend_t *b);

/* The head of the answer, once; content_type is copied as far as needed. */
void mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type);

/*
 * Takes bytes: MCP_OK, MCP_ERR_LIMIT (read on: the fault is a message) or
 * MCP_ERR_MEMORY.  All bytes are taken.  What a message stream holds back is
 * bounded by max only if all messages are read between writes; a message
 * that is too large is a fault at its place among them.
 */
int mcp_backend_write(mcp_backend_t *b, const char *data, size_t len);

/*
 * The answer is over.  fault NONE: completely; else it broke off, with the
 * reason for the client (MCP_FAULT_BACKEND_FAILED, _TIMEOUT ...); a response
 * that had already come whole in a message stream stands all the same, bare
 * bodies (JSON, wrapped) that broke off do not.
 */
int mcp_backend_end(mcp_backend_t *b, mcp_fault_e fault, const char *detail);

/*
 * The next message: MCP_OK, MCP_AGAIN (feed more), MCP_DONE (after the final
 * one: RESULT, ERROR, INPUT, DETACHED or FAULT comes exactly once, as the last
 * message; what a backend sends after it is dropped), MCP_ERR_MEMORY.
 */
int mcp_backend_read(mcp_backend_t *b, mcp_backend_msg_t *msg);

/*
 * One message given as a whole (publish endpoint): decodes text as if it had
 * come on a message stream.  Knows nothing of the functions above: it works
 * before, between and after them (also after DETACHED and MCP_DONE), gives a
 * message each time, and whoever calls counts the final ones.  text need not
 * outlive the call.  MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_backend_message(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);


/* Appends the result of a tool that has failed, as a model is to read it: no
 * error of JSON-RPC.  text: whatever bytes; a failure is in buf->failed. */
void mcp_backend_tool_error(mcp_buf_t *buf, mcp_str_t text);


#endif /* MCP_BACKEND_H_INCLUDED */
