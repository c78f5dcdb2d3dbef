/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resumption methods: the wire forms in which clients resume a call. Each
 * method is a file in resume/, and all methods read the same stream of the
 * call. The rest of the core calls them only by these hooks. The worker has
 * the list of all methods (docs/internals/resume.md). The first one, GET with
 * Last-Event-ID, is for clients that declare no method.
 */


#ifndef MCP_RESUME_HOOKS_H_INCLUDED
#define MCP_RESUME_HOOKS_H_INCLUDED


#include "backend/mcp_backend.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_worker_internal.h"


typedef struct mcp_request_s  mcp_request_t;


/* The reason why the server ends a connection that reads a stream. */
typedef enum {
    MCP_TAIL_OVER = 0,         /* the stream is over, and all events were
                                  read */
    MCP_TAIL_CLOSED,           /* the stream continues, and the client is
                                  expected to resume */
    MCP_TAIL_TAKEN,            /* another connection has displaced this one */
    MCP_TAIL_LOST              /* the stream does not exist any more */
} mcp_tail_e;


/* Some hooks of a method are grouped. If a method does not have a group, the
 * pointer to the group is NULL. If it has a group, it has all hooks of the
 * group that are not marked as optional. */


/* The hooks of a method that takes part in calls. All hooks except "request"
 * and "result" are called only for calls for which "request" has created a
 * state (see mcp_hook_state_create()). */
typedef struct {

    /* Called for a request that needs a backend and is the only message of its
     * POST, see "capability". Returns MCP_NEXT_CONTINUE to let the request
     * start a call. If this method responds instead, returns the values of
     * mcp_exchange_body(). */
    mcp_next_e    (*request)(mcp_exchange_t *x);

    /* "start" is called when the call has been created and is about to start.
     * "refused" is called when the call could not be created. "refused" is
     * optional. */
    void          (*start)(mcp_call_t *call);
    void          (*refused)(mcp_exchange_t *x);

    /* Writes an interim response to x->output.out, because the client has
     * waited until call->interim_at, which this method has scheduled. */
    void          (*interim)(mcp_exchange_t *x);

    /* Handles a backend's result with a nextResumeToken. Optional. Called for
     * each method with this hook, even if the method does not take part in the
     * call.
     *
     * Returns MCP_OK if the client gets the result in "out" instead, or
     *   MCP_DONE        the result is used unchanged
     *   MCP_ERR_SYNTAX  the result is not valid; the log has the reason
     *   MCP_ERR_MEMORY */
    int           (*result)(mcp_request_t *req, const mcp_backend_msg_t *msg,
                      mcp_buf_t *out);

    /* "answered" is called when a request has its result, before the client
     * gets it; "failed" when the request ends with an error or without a
     * response. Both are optional. */
    void          (*answered)(mcp_request_t *req, mcp_outcome_e how);
    void          (*failed)(mcp_request_t *req);

} mcp_resume_call_t;


/* The hooks of a method whose clients do not get the events of the stream
 * unchanged. */
typedef struct {

    /* Called instead of mcp_store_read() if x->resumption is this method.
     * Writes to x->output.out. Returns the values of mcp_store_read(), or
     * MCP_ERR_MEMORY. */
    int           (*read)(mcp_exchange_t *x);

    /* Called when another connection has displaced that of x. Returns 1 to
     * keep the connection of x open, without reading, until the server closes
     * it for another reason. Optional: without it, the connection ends. */
    int           (*stays)(mcp_exchange_t *x);

    /* Writes the last bytes of the connection to x->output.out, instead of the
     * "tail" hooks. Optional. */
    void          (*last)(mcp_exchange_t *x);

} mcp_resume_reader_t;


/* A resumption method. Each hook outside a group may be NULL. */
struct mcp_resume_method_s {
    mcp_str_t                   name;  /* name of the method in the log */

    /* The MCP_CLIENT_... bit by which a client declares this method, 0 if
     * clients cannot declare it. The same bit marks the method's JSON-RPC
     * methods in the table of methods. The hooks "lookup" and "request" are
     * called only if the client has declared the bit, the endpoint offers it to
     * all clients, or the message contains a resume token. */
    unsigned                    capability;

    unsigned                    names_events:1;  /* 1: a client that resumes
                                                    names the last event that
                                                    it has by an event id */

    /* The entry function of a GET. The first method of the list handles a GET
     * of the endpoint, after the session was checked. A method with the hook
     * "lookup" handles a GET of its own URLs, in place of the code for the
     * endpoint. */
    mcp_next_e              (*get)(mcp_exchange_t *x);

    /* Handles a POST to a URL of this method, in place of the code for the
     * endpoint, which would require a session. NULL if and only if "lookup" is
     * NULL. */
    mcp_next_e              (*post)(mcp_exchange_t *x, mcp_str_t text);

    /* Checks the head of a request, see "capability".
     *
     * Returns MCP_OK if the request is for a URL of this method, whose "get"
     * or "post" then handles it, or
     *   MCP_DONE        the request does not concern this method
     *   MCP_ERR_MEMORY */
    int                     (*lookup)(mcp_exchange_t *x,
                                const mcp_head_t *head);

    /* Finds the next secret in the URLs of a text, so that the glue can hide it
     * from logs; for the arguments and the result see mcp_exchange_secret().
     * Only one method can have this hook. */
    int                     (*secret)(const mcp_endpoint_t *endpoint,
                                mcp_str_t *rest, mcp_str_t *secret);

    /* Adds headers to an SSE response, after x->reader was set. */
    void                    (*head)(mcp_exchange_t *x);

    /* Called when a consumer has read all events. Returns 1 to close its
     * connection. Called only for an exchange for which a method has created a
     * state, see mcp_hook_state_create(). */
    int                     (*idle)(mcp_exchange_t *x);

    /* Appends the first events to the new stream of a call. Returns the values
     * of mcp_store_append(). */
    int                     (*begin)(mcp_call_t *call);

    /* Starts the cluster operations whose results the hook "respond" needs.
     * Returns the values of mcp_operation(). */
    int                     (*start)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method);

    /* Appends the result of a message to out, for a JSON-RPC method of this
     * resumption method. */
    mcp_fault_e             (*respond)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method, mcp_buf_t *out);

    /* Handles a message whose response is a stream, for a JSON-RPC method of
     * this resumption method. Returns the values of mcp_exchange_body(). */
    mcp_next_e              (*open)(mcp_exchange_t *x);

    /* Writes to x->output.out the last bytes of a connection that the server
     * ends. */
    void                    (*tail)(mcp_exchange_t *x, mcp_tail_e how);

    const mcp_resume_call_t    *call;
    const mcp_resume_reader_t  *reader;
};


/* --- state of a method, kept with an exchange and its call --- */

/* Creates the state of a method for an exchange: size bytes, set to zero, in
 * the arena of the message. Returns NULL when out of memory. */
void *mcp_hook_state_create(mcp_exchange_t *x, const mcp_resume_method_t *hooks,
    size_t size);

/* Returns the state of a method among the states of an exchange or a call, or
 * NULL if there is none. */
void *mcp_hook_state(mcp_resume_state_t *states,
    const mcp_resume_method_t *hooks);


/* --- functions that call a hook of one method after the other --- */

int  mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call);
void mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how);

int  mcp_hook_lookup(mcp_exchange_t *x, const mcp_head_t *head);
void mcp_hook_head(mcp_exchange_t *x);
int  mcp_hook_idle(mcp_exchange_t *x);

/* Returns MCP_NEXT_CONTINUE if the message of x may start a call, otherwise the
 * values of mcp_exchange_body(). */
mcp_next_e mcp_hook_request(mcp_exchange_t *x);

void mcp_hook_start(mcp_resume_state_t *states, mcp_call_t *call);
void mcp_hook_refused(mcp_exchange_t *x);
int  mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
        const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_hook_answered(mcp_resume_state_t *states, mcp_request_t *req,
        mcp_outcome_e how);
void mcp_hook_failed(mcp_resume_state_t *states, mcp_request_t *req);

int  mcp_hook_stays(mcp_exchange_t *x);

/* Starts the cluster operations that the response to a message needs, if its
 * JSON-RPC method belongs to a resumption method with the hook "start".
 * Returns the values of mcp_operation(). */
int  mcp_hook_handle_method(mcp_exchange_t *x, const mcp_rpc_t *msg);

/* Returns the resumption method to which a JSON-RPC method belongs, or NULL if
 * the client has not declared that resumption method: for this client, the
 * JSON-RPC method does not exist. */
const mcp_resume_method_t *mcp_hook_find(const mcp_exchange_t *x,
    const mcp_method_t *method);


#endif /* MCP_RESUME_HOOKS_H_INCLUDED */
