/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of the files that handle requests:
 *
 *   mcp_exchange.c            the life of an exchange
 *   mcp_exchange_head.c       headers, HTTP method
 *   mcp_exchange_cors.c       CORS
 *   mcp_exchange_session.c    initialize, checks and end of the session, and
 *                             the description of an MCP server
 *   mcp_dispatch.c            a POST
 *   mcp_batch.c               a POST with several messages
 *   mcp_stateless.c           checks for revisions without sessions; headers
 *                             that repeat arguments
 *   mcp_permission.c          access of callers to items
 *   mcp_routing_decision.c    which requests a backend answers
 *   mcp_join_calls.c          joining equal calls
 *   mcp_retry_with_answers.c  answers for a call that is still running
 *   mcp_listen.c              subscriptions/listen and its filter
 *   mcp_listen_task.c         subscriptions to tasks
 *   mcp_task.c                tasks from their clients' point of view
 *   mcp_publish.c             the publish endpoint
 */


#ifndef MCP_EXCHANGE_INTERNAL_H_INCLUDED
#define MCP_EXCHANGE_INTERNAL_H_INCLUDED


#include "call/mcp_call.h"


/* The routing decision for one message. */
typedef enum {
    MCP_ROUTING_FAULT = 0,     /* respond with a fault */
    MCP_ROUTING_LOCAL,         /* the server itself responds, with the result
                                  that mcp_routing_decide() has appended to
                                  "out" */
    MCP_ROUTING_CALL,          /* a backend responds */
    MCP_ROUTING_SILENT         /* a message that gets no response */
} mcp_routing_e;


/* The details of a routing decision. */
typedef struct {
    mcp_fault_e          fault;        /* for MCP_ROUTING_FAULT */
    mcp_str_t            detail;       /* detail for the fault's text; or
                                          empty */
    mcp_str_t            data;         /* error.data, raw JSON; or empty */
    const mcp_method_t  *method;
    mcp_str_t            name;         /* name of the tool or prompt, normalized
                                          URI of the resource, or text of the
                                          template; for routes and variables */
    mcp_str_t            raw_uri;      /* the URI as the client wrote it */
    unsigned             target;       /* index of the backend in the endpoint's
                                          targets, or MCP_NO_TARGET */
} mcp_routing_t;


/* --- mcp_exchange_cors.c --- */

/* Returns 1 if the endpoint permits requests for this host from pages of this
 * origin, or if the request has no Origin header (origin.data is NULL). */
int mcp_exchange_origin_allowed(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_str_t origin, mcp_str_t host);

/* Adds the CORS headers by which the browser lets the origin of the request
 * read the response. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_exchange_cors(mcp_exchange_t *x, const mcp_head_t *head);


/* --- mcp_exchange_session.c --- */

/* Handles DELETE: ends the session and responds. */
mcp_next_e mcp_exchange_delete(mcp_exchange_t *x);


/* --- mcp_dispatch.c --- */

/* mcp_initialize(), mcp_dispatch() and mcp_batch() return the values of
 * mcp_exchange_body(). */

mcp_next_e mcp_dispatch(mcp_exchange_t *x, size_t len);

/* Parses a body that is a single message. Changes only the exchange, so the
 * caller need not have the lock of the worker. */
void mcp_dispatch_parse(mcp_exchange_t *x, size_t len);

/* Responds with 202 to a POST whose messages get no response. */
mcp_next_e mcp_dispatch_accepted(mcp_exchange_t *x);

/* Creates a call from the message of x and starts it. Creates no call if a new
 * call may not begin, or if a resumption method responds to the message. If
 * x->join is set, the message may join an equal call instead. Returns the
 * values of mcp_exchange_body(). */
mcp_next_e mcp_dispatch_make(mcp_exchange_t *x, const mcp_routing_t *v);

/* Starts a call that was created from the message of x. Returns MCP_NEXT_WAIT,
 * because the exchange waits for the call. */
mcp_next_e mcp_dispatch_start(mcp_exchange_t *x, mcp_call_t *call);

/* Returns 1 if a request has no progress token, or one that can be passed to
 * backends unchanged (schema, ProgressToken). */
int mcp_dispatch_token_usable(const mcp_rpc_t *msg);

#define mcp_dispatch_bad_token                                                \
    mcp_str("\"progressToken\" must be a short string or an integer")

/*
 * Handles the notifications and responses among n messages of one POST. They
 * get no response, except a fault if they cannot be stored or cannot be sent to
 * their call's node (basic/transports, "Sending Messages to the Server").
 *
 * Returns
 *   MCP_NEXT_CONTINUE  *fault is the fault for the response, MCP_FAULT_NONE if
 *                      there is none
 *   MCP_NEXT_WAIT      a cluster operation is pending: the calling entry
 *                      function has to return this value
 */
mcp_next_e mcp_dispatch_one_way(mcp_exchange_t *x, const mcp_rpc_t *msgs,
    size_t n, mcp_fault_e *fault);

/* Returns the fault for rc, the result of a cluster operation other than
 * MCP_OK, MCP_AGAIN and MCP_ERR_MEMORY. */
mcp_fault_e mcp_dispatch_start_fault(int rc);

/* Initializes a request of a call from a message and its routing decision. */
void mcp_dispatch_fill(mcp_request_t *req, const mcp_rpc_t *msg,
    const mcp_routing_t *v);

/*
 * Sets x->output.fault to MCP_FAULT_NONE if a new call may begin, otherwise to
 * the fault: the cluster is unreachable, the session or the tenant has too many
 * streams at this node, or the session has too many calls at all nodes
 * together.
 *
 * Returns
 *   MCP_NEXT_CONTINUE  x->output.fault is set
 *   MCP_NEXT_WAIT      a cluster operation is pending: the calling entry
 *                      function has to return this value
 */
mcp_next_e mcp_dispatch_admit(mcp_exchange_t *x);


/* --- mcp_batch.c, mcp_exchange_session.c --- */

mcp_next_e mcp_batch(mcp_exchange_t *x, mcp_str_t text);
mcp_next_e mcp_initialize(mcp_exchange_t *x);


/* --- mcp_routing_decision.c --- */

/* Returns the routing decision for a request other than initialize. If it is
 * MCP_ROUTING_LOCAL, the result was appended to out. */
mcp_routing_e mcp_routing_decide(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_routing_t *v, mcp_buf_t *out);

/* Returns 0 if mcp_routing_decide() never returns MCP_ROUTING_CALL for requests
 * with this method, otherwise 1. */
int mcp_routing_may_call(const mcp_exchange_t *x, const mcp_method_t *method);

/* Sets the fault of a routing decision. Returns MCP_ROUTING_FAULT. */
mcp_routing_e mcp_routing_fault(mcp_routing_t *v, mcp_fault_e fault,
    mcp_str_t detail);

/*
 * Reads a required string parameter.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the parameter is missing, not a string, empty, too long, or
 *                   has control characters: names and URIs become variables,
 *                   which operators write to headers and logs
 *   MCP_ERR_MEMORY
 */
int mcp_routing_string(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_str_t *out);

/* Returns 1 if a value is an object whose members are objects, the form of
 * answers to questions. */
int mcp_routing_is_objects(const mcp_json_value_t *value);


/* --- mcp_publish.c --- */

mcp_next_e mcp_publish_head(mcp_exchange_t *x, const mcp_head_t *head);
mcp_next_e mcp_publish_body(mcp_exchange_t *x, size_t len);


#endif /* MCP_EXCHANGE_INTERNAL_H_INCLUDED */
