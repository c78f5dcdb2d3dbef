/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faces: the wire forms in which a client can come back to a call.  Each is a
 * file of its own (face/) that shows the one log of the call; the rest of the
 * core asks them by these hooks, and the worker has the list of all faces
 * (docs/internals/faces.md).  The first one is that of clients which declare
 * nothing: GET with Last-Event-ID.
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
    MCP_TAIL_CLOSED,           /* it goes on: the client is to come back */
    MCP_TAIL_TAKEN,            /* another one reads it */
    MCP_TAIL_LOST              /* it is gone */
} mcp_tail_e;


/*
 * The hooks are grouped by what a face is.  A face outside a group has NULL
 * for the group; a face in it has all of the group's hooks.
 */


/* A face with a URL of its own. */
typedef struct {

    unsigned        wanted_by;         /* MCP_CLIENT_...: see mcp_face_call_t */

    /* See mcp_exchange_secret().  One face can have it. */
    int           (*secret)(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
                      mcp_str_t *secret);

    /*
     * Looks at the head of a request.
     *
     * Returns MCP_OK if the request goes to this face's get or post, or
     *   MCP_DONE        if not
     *   MCP_ERR_MEMORY
     */
    int           (*look)(mcp_exchange_t *x, const mcp_head_t *head);

    /* Replace what the endpoint itself does, whose session is not checked. */
    int           (*get)(mcp_exchange_t *x);
    int           (*post)(mcp_exchange_t *x, mcp_str_t text);

    /* Adds to the head of an SSE answer; x->reader is known. */
    void          (*head)(mcp_exchange_t *x);

    /* A consumer has read all there is now: 1 to close its connection.  Not
     * asked where no face has a state. */
    int           (*idle)(mcp_exchange_t *x);

} mcp_face_url_t;


/* A face that takes part in calls: in those for which "request" has made a
 * state (see below). */
typedef struct {

    /* MCP_CLIENT_...: requests that ask for none of it do not pass the face */
    unsigned        wanted_by;

    /*
     * A request for a backend came, alone in its POST.
     *
     * Returns MCP_AGAIN to make a call of it, or what mcp_exchange_body()
     * returns; the exchange may be left waiting.
     */
    int           (*request)(mcp_exchange_t *x);

    /* The call was made and is about to start; or it could not be made. */
    void          (*start)(mcp_call_t *call);
    void          (*refused)(mcp_exchange_t *x);

    /* The client has waited until call->part_at, by call->part_by, which this
     * is: an answer to x->answer.out. */
    void          (*interim)(mcp_exchange_t *x);

    /*
     * A backend's result has a nextResumeToken.  Asked of every face, whether
     * or not it takes part in the call.
     *
     * Returns MCP_OK if out has a result in its place, or
     *   MCP_DONE        the result stays as it is
     *   MCP_ERR_SYNTAX  the result is not valid; the log says why
     *   MCP_ERR_MEMORY
     */
    int           (*result)(mcp_request_t *req, const mcp_backend_msg_t *msg,
                      mcp_buf_t *out);

    /* The request has a result, which is about to be given to its client; or
     * it ends with an error, or without an answer. */
    void          (*answered)(mcp_request_t *req, mcp_ending_e how);
    void          (*failed)(mcp_request_t *req);

} mcp_face_call_t;


/* A face whose clients do not read the log as it is. */
typedef struct {

    /* Replaces mcp_store_read() for a consumer whose x->face this is; writes
     * to x->answer.out. */
    int           (*read)(mcp_exchange_t *x);

    /* Another connection has taken the stream over: 1 to keep this one, without
     * reading, until it is to be closed at will. */
    int           (*stays)(mcp_exchange_t *x);

    /* The connection ends: last words to x->answer.out, in place of those of
     * all faces.  May be NULL. */
    void          (*last)(mcp_exchange_t *x);

} mcp_face_reader_t;


/* Any hook outside a group may be NULL. */
struct mcp_face_s {
    mcp_str_t                 name;    /* for logs */
    unsigned                  capability;      /* of its methods' rows, or 0 */
    unsigned                  names_events:1;  /* its clients say what they
                                                  have, by an event id */

    /* GET of the endpoint, whose session is checked.  The first face has it. */
    int                     (*get)(mcp_exchange_t *x);

    /* A call's stream has been made: appends its first events.  Returns what
     * mcp_store_append() does. */
    int                     (*begin)(mcp_call_t *call);

    /* Asks the cluster for what "answer" has to know; returns what mcp_ask() of
     * mcp_ask.h does. */
    int                     (*ask)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method);

    /* One of its methods whose answer is a result, put into out. */
    mcp_fault_e             (*answer)(mcp_exchange_t *x, const mcp_rpc_t *msg,
                                mcp_method_e method, mcp_buf_t *out);

    /* One whose answer is a stream; returns what mcp_exchange_body() does. */
    int                     (*open)(mcp_exchange_t *x);

    /* A connection that reads a stream ends in order: last words to
     * x->answer.out. */
    void                    (*tail)(mcp_exchange_t *x, mcp_tail_e how);

    const mcp_face_url_t     *url;
    const mcp_face_call_t    *call;
    const mcp_face_reader_t  *reader;
};


/* --- what a face keeps with an exchange, and with the call made of it --- */

/* Makes it: size bytes, zeroed, in the arena of the message.  NULL when out of
 * memory. */
void *mcp_hook_state_create(mcp_exchange_t *x, const mcp_face_t *face,
    size_t size);

/* Finds it; NULL: the face keeps nothing. */
void *mcp_hook_state(mcp_face_state_t *states, const mcp_face_t *face);


/* --- the hooks, of one face after the other --- */

int  mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call);
void mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how);

int  mcp_hook_look(mcp_exchange_t *x, const mcp_head_t *head);
void mcp_hook_head(mcp_exchange_t *x);
int  mcp_hook_idle(mcp_exchange_t *x);

int  mcp_hook_request(mcp_exchange_t *x);
void mcp_hook_start(mcp_face_state_t *states, mcp_call_t *call);
void mcp_hook_refused(mcp_exchange_t *x);
int  mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
        const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_hook_answered(mcp_face_state_t *states, mcp_request_t *req,
        mcp_ending_e how);
void mcp_hook_failed(mcp_face_state_t *states, mcp_request_t *req);

int  mcp_hook_stays(mcp_exchange_t *x);

/* Asks for what the answer to a message needs, whoever's it is. */
int  mcp_hook_ask(mcp_exchange_t *x, const mcp_rpc_t *msg);

/* The face whose method this is, if the client declared that it knows it, or
 * NULL: then there is no such method. */
const mcp_face_t *mcp_hook_find(const mcp_exchange_t *x,
    const mcp_method_t *method);


#endif /* MCP_HOOK_H_INCLUDED */
