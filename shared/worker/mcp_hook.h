/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faces: the wire forms in which a client can come back to a call.  Each is a
 * file of its own (face/) that projects the one log of the call; what the rest
 * of the core asks of them stands in this table, and the worker has the list of
 * those that there are (docs/internals/faces.md).
 *
 * The first face, GET with Last-Event-ID, is mcp_consumer.c.
 */


#ifndef MCP_HOOK_H_INCLUDED
#define MCP_HOOK_H_INCLUDED


#include "backend/mcp_backend.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_worker_parts.h"


typedef struct mcp_request_s  mcp_request_t;


/* How a connection that reads a stream ends in order. */
typedef enum {
    MCP_TAIL_OVER = 0,         /* the stream is over, and all of it was read */
    MCP_TAIL_PARTED,           /* it goes on: the client is to come back */
    MCP_TAIL_TAKEN,            /* another one reads it */
    MCP_TAIL_LOST              /* it is gone */
} mcp_tail_e;


/* Any hook may be NULL. */
struct mcp_face_s {
    mcp_str_t       name;              /* for logs */
    unsigned        capability;        /* of its methods' rows; 0: none */

    /* mcp_exchange_secret(); one face can have it. */
    int           (*secret)(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
                      mcp_str_t *secret);

    /* A call's stream has been made: its first events.  As
     * mcp_store_append(). */
    int           (*begin)(mcp_call_t *call);

    /* MCP_OK if the request whose head this is goes to get or post of this
     * face, MCP_DONE if not.  May keep what it needs in the exchange. */
    int           (*look)(mcp_exchange_t *x, const mcp_head_t *head);

    /* In place of mcp_consumer_get() and mcp_dispatch(). */
    int           (*get)(mcp_exchange_t *x);
    int           (*post)(mcp_exchange_t *x, mcp_str_t text);

    /* The head of an SSE answer is made; x->ref and x->first are known. */
    void          (*head)(mcp_exchange_t *x);

    /* A consumer has read all there is now: 1 to close its connection. */
    int           (*idle)(mcp_exchange_t *x);

    /* Another one has taken the stream over: 1 to keep the connection until
     * it is to be closed at will, without reading. */
    int           (*stays)(mcp_exchange_t *x);

    /* In place of mcp_store_read(), into x->out, for a consumer whose
     * x->face this is. */
    int           (*read)(mcp_exchange_t *x);

    /* The connection ends in order: last words go to x->out. */
    void          (*tail)(mcp_exchange_t *x, mcp_tail_e how);

    /* One of its methods whose answer is a result, put into out. */
    mcp_fault_e   (*answer)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                      mcp_method_e method, mcp_buf_t *out);

    /* One whose answer is a stream; as mcp_exchange_body(). */
    int           (*open)(mcp_exchange_t *x);

    /* A request for a backend, alone in its POST: MCP_AGAIN to make a call of
     * it, else as mcp_exchange_body(), which returns MCP_AGAIN if the exchange
     * waits. */
    int           (*call)(mcp_exchange_t *x);

    /* The call was made and is about to start; or it could not be made. */
    void          (*start)(mcp_call_t *call);
    void          (*unmade)(mcp_exchange_t *x);

    /* Its client has waited until call->resume_at: an answer to x->out. */
    void          (*interim)(mcp_exchange_t *x);

    /* A backend's result: MCP_OK if out has another in its place, MCP_DONE if
     * not, MCP_ERR_SYNTAX if it may not be (why is in the log),
     * MCP_ERR_MEMORY. */
    int           (*result)(mcp_request_t *req, const mcp_backend_msg_t *msg,
                      mcp_buf_t *out);

    /* The request has a result, which is about to be given to its client. */
    void          (*keep)(mcp_request_t *req, mcp_ending_e how);

    /* The request ends with an error, or without an answer. */
    void          (*undo)(mcp_request_t *req);
};


/* --- all faces, one after the other --- */

int  mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call);

int  mcp_hook_look(mcp_exchange_t *x, const mcp_head_t *head);
void mcp_hook_head(mcp_exchange_t *x);
int  mcp_hook_idle(mcp_exchange_t *x);
int  mcp_hook_stays(mcp_exchange_t *x);
void mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how);
int  mcp_hook_call(mcp_exchange_t *x);
void mcp_hook_start(mcp_worker_t *worker, mcp_call_t *call);
void mcp_hook_unmade(mcp_exchange_t *x);
void mcp_hook_interim(mcp_exchange_t *x);
int  mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
        const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_hook_keep(mcp_worker_t *worker, mcp_request_t *req, mcp_ending_e how);
void mcp_hook_undo(mcp_worker_t *worker, mcp_request_t *req);

/* The face whose method this is, if the client declared that it knows it, or
 * NULL: then there is no such method. */
const mcp_face_t *mcp_hook_find(const mcp_exchange_t *x,
    const mcp_method_t *method);


#endif /* MCP_HOOK_H_INCLUDED */
