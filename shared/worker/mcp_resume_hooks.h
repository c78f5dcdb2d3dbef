/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resumption methods: the wire forms in which clients resume a call. Each
 * method is a file of its own (resume/) on top of the call's one log. The rest
 * of the core uses them through these hooks; the worker has the list of all
 * methods (docs/internals/resume.md). The first method, GET with Last-Event-ID,
 * is for clients that declare nothing.
 */


#ifndef MCP_RESUME_HOOKS_H_INCLUDED
#define MCP_RESUME_HOOKS_H_INCLUDED


#include "backend/mcp_backend.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_worker_internal.h"


typedef struct mcp_request_s  mcp_request_t;


/* How a connection that reads a stream ends normally. */
typedef enum {
    MCP_TAIL_OVER = 0,         /* the stream is over, and all events were
                                  read */
    MCP_TAIL_CLOSED,           /* the stream continues, and the client is
                                  expected to resume */
    MCP_TAIL_TAKEN,            /* another connection reads the stream now */
    MCP_TAIL_LOST              /* the stream does not exist any more */
} mcp_tail_e;


/* The hooks are grouped by the kind of method. A method outside a group has
 * NULL for the group; a method inside it has all hooks of the group. */


/* A method with URLs. */
typedef struct {

    unsigned        wanted_by;         /* MCP_CLIENT_... bits: see
                                          mcp_resume_call_t */

    /* See mcp_exchange_secret(). Only one method can have this hook. */
    int           (*secret)(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
                      mcp_str_t *secret);

    /* Checks the head of a request.
     *
     * Returns MCP_OK if get or post of this method has to handle it, or
     *   MCP_DONE        it does not concern this method
     *   MCP_ERR_MEMORY */
    int           (*lookup)(mcp_exchange_t *x, const mcp_head_t *head);

    /* Handle the request in place of the endpoint, which would check its
     * session. */
    int           (*get)(mcp_exchange_t *x);
    int           (*post)(mcp_exchange_t *x, mcp_str_t text);

    /* Adds headers to an SSE response; x->reader is set. */
    void          (*head)(mcp_exchange_t *x);

    /* Called when a consumer has read all events. Returns 1 to close its
     * connection. Not called if no method has a state. */
    int           (*idle)(mcp_exchange_t *x);

} mcp_resume_url_t;


/* A method that takes part in the calls for which "request" has created a state
 * (see below). */
typedef struct {

    /* MCP_CLIENT_... bits: the method ignores requests whose client has
     * declared none of these bits */
    unsigned        wanted_by;

    /* Handles a request for a backend that is the only message of its POST.
     * Returns MCP_AGAIN to make it a call, or the values of
     * mcp_exchange_body(); the exchange may be left waiting. */
    int           (*request)(mcp_exchange_t *x);

    /* The call was created and is about to start; or it could not be
     * created. */
    void          (*start)(mcp_call_t *call);
    void          (*refused)(mcp_exchange_t *x);

    /* Writes an interim response to x->answer.out, because the client has
     * waited until call->part_at; call->part_by is this method. */
    void          (*interim)(mcp_exchange_t *x);

    /* Handles a backend's result with a nextResumeToken. Called for every
     * method, even if it does not take part in the call.
     *
     * Returns MCP_OK if out has a result to use instead, or
     *   MCP_DONE        the result is used as it is
     *   MCP_ERR_SYNTAX  the result is not valid; the log has the reason
     *   MCP_ERR_MEMORY */
    int           (*result)(mcp_request_t *req, const mcp_backend_msg_t *msg,
                      mcp_buf_t *out);

    /* The request has a result that is about to be sent to its client; or it
     * ends with an error or without a response. */
    void          (*answered)(mcp_request_t *req, mcp_outcome_e how);
    void          (*failed)(mcp_request_t *req);

} mcp_resume_call_t;


/* A method whose clients do not read the log unchanged. */
typedef struct {

    /* Replaces mcp_store_read() for a consumer with x->resumption set to this
     * method; writes to x->answer.out. */
    int           (*read)(mcp_exchange_t *x);

    /* Called when another connection has displaced this one. Returns 1 to keep
     * this one open, without reading, until it is closed by the server's
     * choice. */
    int           (*stays)(mcp_exchange_t *x);

    /* Writes the last bytes of the connection to x->answer.out, in place of the
     * "tail" hooks of all methods. May be NULL. */
    void          (*last)(mcp_exchange_t *x);

} mcp_resume_reader_t;


/* Each hook outside a group may be NULL. */
struct mcp_resume_method_s {
    mcp_str_t                   name;  /* for logs */
    unsigned                    capability;      /* of the rows of its JSON-RPC
                                                    methods, or 0 */
    unsigned                    names_events:1;  /* 1: its clients name the last
                                                    event that they have by an
                                                    event id */

    /* Handles GET of the endpoint, whose session was checked. Only the first
     * method has this hook. */
    int                     (*get)(mcp_exchange_t *x);

    /* Appends the first events of a new stream of a call. Returns the values of
     * mcp_store_append(). */
    int                     (*begin)(mcp_call_t *call);

    /* Starts the cluster operations whose results "answer" needs. Returns the
     * values of mcp_operation(). */
    int                     (*start)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method);

    /* Appends the result of one of its JSON-RPC methods to out. */
    mcp_fault_e             (*answer)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method, mcp_buf_t *out);

    /* Handles one of its JSON-RPC methods whose response is a stream. Returns
     * the values of mcp_exchange_body(). */
    int                     (*open)(mcp_exchange_t *x);

    /* Writes the last bytes of a connection that ends normally to
     * x->answer.out. */
    void                    (*tail)(mcp_exchange_t *x, mcp_tail_e how);

    const mcp_resume_url_t     *url;
    const mcp_resume_call_t    *call;
    const mcp_resume_reader_t  *reader;
};


/* --- state of a method, kept with an exchange and its call --- */

/* Creates a method's state: size bytes, set to zero, in the arena of the
 * message. Returns NULL when out of memory. */
void *mcp_hook_state_create(mcp_exchange_t *x, const mcp_resume_method_t *hooks,
    size_t size);

/* Returns a method's state, or NULL if it has none. */
void *mcp_hook_state(mcp_resume_state_t *states,
    const mcp_resume_method_t *hooks);


/* --- calls of the hooks, of one method after the other --- */

int  mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call);
void mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how);

int  mcp_hook_lookup(mcp_exchange_t *x, const mcp_head_t *head);
void mcp_hook_head(mcp_exchange_t *x);
int  mcp_hook_idle(mcp_exchange_t *x);

int  mcp_hook_request(mcp_exchange_t *x);
void mcp_hook_start(mcp_resume_state_t *states, mcp_call_t *call);
void mcp_hook_refused(mcp_exchange_t *x);
int  mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
        const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_hook_answered(mcp_resume_state_t *states, mcp_request_t *req,
        mcp_outcome_e how);
void mcp_hook_failed(mcp_resume_state_t *states, mcp_request_t *req);

int  mcp_hook_stays(mcp_exchange_t *x);

/* Starts the cluster operations that the response to a message needs, for a
 * message of any method. */
int  mcp_hook_handle_method(mcp_exchange_t *x, const mcp_rpc_t *msg);

/* Returns the resumption method to which a JSON-RPC method belongs, if the
 * client has declared it; otherwise NULL: the method does not exist. */
const mcp_resume_method_t *mcp_hook_find(const mcp_exchange_t *x,
    const mcp_method_t *method);


#endif /* MCP_RESUME_HOOKS_H_INCLUDED */
