/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faces: the wire forms in which a client can come back to a call.  Each is a
 * file of its own that projects the one log of the call; what the rest of the
 * core asks of them stands in this table, and only mcp_face.c knows which
 * there are (docs/internals/faces.md).
 *
 *   mcp_face_link.c      Link: <URL>; rel="stream"
 *   mcp_face_request.c   requests/getStatus, requests/resume
 *   mcp_face_stream.c    stream/poll, stream/resume
 *   mcp_face_token.c     resumeToken, nextResumeToken
 *
 * The first face, GET with Last-Event-ID, is mcp_consumer.c.
 */


#ifndef MCP_FACE_H_INCLUDED
#define MCP_FACE_H_INCLUDED


#include "call/mcp_call_parts.h"


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


/* --- for the core: all faces, one after the other --- */

int  mcp_faces_begin(mcp_call_t *call);

/* What mcp_faces_begin() promises; and raises the limits by what that will
 * append: nobody reads by then. */
void mcp_faces_spec(const mcp_call_t *call, mcp_stream_spec_t *spec);

/* After how many ms a call becomes a stream, whatever its backend does:
 * earlier where that tells the client how to come back. */
uint64_t mcp_faces_stream_after(const mcp_call_t *call);

int  mcp_faces_look(mcp_exchange_t *x, const mcp_head_t *head);
void mcp_faces_head(mcp_exchange_t *x);
int  mcp_faces_idle(mcp_exchange_t *x);
int  mcp_faces_stays(mcp_exchange_t *x);
void mcp_faces_tail(mcp_exchange_t *x, mcp_tail_e how);
int  mcp_faces_call(mcp_exchange_t *x);
void mcp_faces_start(mcp_call_t *call);
void mcp_faces_unmade(mcp_exchange_t *x);
void mcp_faces_interim(mcp_exchange_t *x);
int  mcp_faces_result(mcp_request_t *req, const mcp_backend_msg_t *msg,
        mcp_buf_t *out);
void mcp_faces_keep(mcp_request_t *req, mcp_ending_e how);
void mcp_faces_undo(mcp_request_t *req);

/* The face whose method this is, if the client declared that it knows it, or
 * NULL: then there is no such method. */
const mcp_face_t *mcp_face_of(const mcp_exchange_t *x,
    const mcp_method_t *method);


/* --- for the faces --- */

extern const mcp_face_t  mcp_face_link;
extern const mcp_face_t  mcp_face_request;
extern const mcp_face_t  mcp_face_stream;
extern const mcp_face_t  mcp_face_token;


/* A string parameter, unescaped, or MCP_ERR_SYNTAX. */
int mcp_face_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out);

/* 1 if it is this principal's, and this session's if the exchange has one. */
int mcp_face_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* The same, and it is a call's that may be resumed. */
int mcp_face_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* Such a stream by its id: MCP_OK or MCP_ERR_NOT_FOUND, whatever the
 * reason. */
int mcp_face_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    mcp_stream_info_t *info);

/* What the client has according to its Last-Event-ID, which is noted down, or
 * *after as it is when it sent none: MCP_FAULT_NONE; else that it is malformed,
 * or not of this stream. */
mcp_fault_e mcp_face_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after);

/*
 * Answers a POST with the stream: at least what follows event "least", but
 * nothing that Last-Event-ID confirms, which is dropped.  MCP_DONE, or an
 * answer with fault.
 */
int mcp_face_resume(mcp_exchange_t *x, const mcp_face_t *face,
    const mcp_stream_info_t *info, uint64_t least);

/* What a token that does not open anything is answered, whatever the reason. */
int mcp_face_refuse(mcp_exchange_t *x);

/* One of a request's first events, and frees buf; what mcp_store_append()
 * returns, or MCP_ERR_MEMORY. */
int mcp_face_add_first(mcp_request_t *req, mcp_buf_t *buf);

/* Appends seconds, with decimals where there must be. */
void mcp_face_seconds(mcp_buf_t *buf, uint64_t ms);

void mcp_face_add_flag(mcp_buf_t *buf, int flag);

/* Appends a token, as a JSON string. */
void mcp_face_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len);

/* Its payload, of len bytes: MCP_OK or MCP_ERR_NOT_FOUND. */
int mcp_face_open_token(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t text, unsigned char *data, size_t len);


#endif /* MCP_FACE_H_INCLUDED */
