/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files that take requests share:
 *
 *   mcp_exchange.c          life of an exchange
 *   mcp_exchange_head.c     headers, HTTP method
 *   mcp_exchange_param.c    headers that mirror arguments
 *   mcp_exchange_cors.c     what browsers are told
 *   mcp_exchange_document.c the document of a resource
 *   mcp_exchange_session.c  the session: checked, ended
 *   mcp_exchange_facts.c    what logs are told of it
 *   mcp_dispatch.c          a POST
 *   mcp_join.c              calls that are asked for again
 *   mcp_batch.c             a POST with several messages
 *   mcp_initialize.c        initialize
 *   mcp_listen.c            subscriptions
 *   mcp_listen_filter.c     what they are about
 *   mcp_listen_task.c       those to tasks
 *   mcp_permission.c        what its caller may see and call
 *   mcp_verdict.c           who answers a request
 *   mcp_task.c              tasks, as their clients see them
 *   mcp_task_update.c       questions of tasks, and their answers
 *   mcp_publish.c           the publish endpoint
 */


#ifndef MCP_EXCHANGE_PARTS_H_INCLUDED
#define MCP_EXCHANGE_PARTS_H_INCLUDED


#include "call/mcp_call.h"


/* What to do with one message. */
typedef enum {
    MCP_VERDICT_FAULT = 0,     /* answer a fault */
    MCP_VERDICT_LOCAL,         /* the result is in the buffer */
    MCP_VERDICT_CALL,          /* a backend answers */
    MCP_VERDICT_SILENT         /* nothing to answer */
} mcp_verdict_e;


typedef struct {
    mcp_fault_e          fault;
    mcp_str_t            detail;
    mcp_str_t            data;         /* error.data, raw, or empty */
    const mcp_method_t  *method;
    mcp_str_t            name;         /* of a call: routes, variables */
    unsigned             target;
} mcp_verdict_t;


/* --- mcp_exchange_cors.c --- */

/* Returns 1 if a request of this Origin for this host may proceed; one that has
 * none may. */
int mcp_exchange_origin_allowed(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_str_t origin, mcp_str_t host);

/* Adds the headers that let the origin of the request read the answer.  MCP_OK,
 * or MCP_ERR_MEMORY. */
int mcp_exchange_cors(mcp_exchange_t *x, const mcp_head_t *head);


/* --- mcp_exchange_session.c --- */

/* DELETE: ends the session, with an answer. */
int mcp_exchange_delete(mcp_exchange_t *x);

/* Logs at info what has become of the exchange's session. */
void mcp_exchange_log_session(mcp_exchange_t *x, const char *what);


/* --- mcp_dispatch.c --- */

/* All of these return what mcp_exchange_body() does. */

int mcp_dispatch(mcp_exchange_t *x, size_t len);

/* Parses the body of one message ahead of that; touches the exchange alone. */
void mcp_dispatch_parse(mcp_exchange_t *x, size_t len);

/* Answers that there was nothing to answer in a POST. */
int mcp_dispatch_accepted(mcp_exchange_t *x);

/* Makes a call of the message, unless a face goes on with another one. */
int mcp_dispatch_make(mcp_exchange_t *x, const mcp_verdict_t *v);

/* Starts the call that the message of x has become. */
int mcp_dispatch_start(mcp_exchange_t *x, mcp_call_t *call);

/* 1 if a request has no progress token, or one that backends and their heads
 * may get as it stands (schema, ProgressToken). */
int mcp_dispatch_token_usable(const mcp_rpc_t *msg);

#define mcp_dispatch_bad_token                                               \
    mcp_str("\"progressToken\" must be a short string or an integer")

/*
 * Takes the notifications and responses among n messages of one POST: nothing
 * is answered to either, but a client is told if they found no room
 * (basic/transports, "Sending Messages to the Server").
 *
 * Returns MCP_OK and *fault, which may be MCP_FAULT_NONE; or, in a root of
 * mcp_ask_now(),
 *   MCP_AGAIN  stop, and return this
 */
int mcp_dispatch_one_way(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n,
    mcp_fault_e *fault);

/* The fault of a question to other nodes: rc is that of mcp_ask.h, and neither
 * MCP_OK, MCP_AGAIN nor MCP_ERR_MEMORY. */
mcp_fault_e mcp_dispatch_ask_fault(int rc);

/* Fills a call's request in. */
void mcp_dispatch_fill(mcp_request_t *req, const mcp_rpc_t *msg,
    const mcp_verdict_t *v);

/*
 * Sets x->answer.refusal: why a call that is begun now could not be kept, here
 * or at all nodes together, so that it is not begun; or MCP_FAULT_NONE.
 *
 * Returns MCP_OK; or, in a root of mcp_ask_now(),
 *   MCP_AGAIN  stop, and return this
 */
int mcp_dispatch_admit(mcp_exchange_t *x);


/* --- mcp_batch.c, mcp_initialize.c --- */

int mcp_batch(mcp_exchange_t *x, mcp_str_t text);
int mcp_initialize(mcp_exchange_t *x);


/* --- mcp_verdict.c --- */

/* Decides on a request other than initialize; a local result is appended to
 * out. */
mcp_verdict_e mcp_verdict(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v, mcp_buf_t *out);

mcp_verdict_e mcp_verdict_fault(mcp_verdict_t *v, mcp_fault_e fault,
    mcp_str_t detail);

/*
 * Reads a string parameter that must be there.  MCP_OK, or
 *   MCP_ERR_SYNTAX  it is not there, is too long, or has control characters:
 *                   names and URIs become variables, which operators put into
 *                   headers and logs
 *   MCP_ERR_MEMORY
 */
int mcp_verdict_string(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_str_t *out);

/* Returns 1 if a value is an object whose members are objects, as answers to
 * questions are. */
int mcp_verdict_is_objects(const mcp_json_value_t *value);


/* --- mcp_publish.c --- */

int mcp_publish_head(mcp_exchange_t *x, const mcp_head_t *head);
int mcp_publish_body(mcp_exchange_t *x, size_t len);


#endif /* MCP_EXCHANGE_PARTS_H_INCLUDED */
