/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of calls and of their requests, for the core's own files:
 *
 *   mcp_call.c         life of a call: start, end, and what ends it
 *   mcp_call_stream.c  its stream: becoming durable
 *   mcp_call_answer.c  its answers
 *   mcp_call_time.c    what is due in it
 *   mcp_request.c      a request's state, and how it ends
 *   mcp_job.c          a backend at work on a request, and what it says
 *   mcp_inbox.c        what other processes have for a call; cancellation
 *   mcp_input.c        asking the client in the middle of a call
 */


#ifndef MCP_CALL_PARTS_H_INCLUDED
#define MCP_CALL_PARTS_H_INCLUDED


#include "backend/mcp_backend.h"
#include "config/mcp_party.h"
#include "mcp_call.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_worker_parts.h"


/* ms: what a backend may take to close after its last message. */
#define MCP_CALL_GRACE  5000

/* ms: a message that found no room waits to be woken; this stands behind
 * it. */
#define MCP_CALL_RETRY  1000


/* Turn of a stream that nobody was told of: it keeps what was answered. */
#define MCP_CALL_KEPT  UINT32_MAX


typedef enum {
    MCP_REQUEST_RUN = 0,       /* a backend works on it */
    MCP_REQUEST_INPUT,         /* waits for the client's responses */
    MCP_REQUEST_DETACHED,      /* the rest comes by publish */
    MCP_REQUEST_OVER           /* has its response, or needs none */
} mcp_request_state_e;


/* One question to the client. */
typedef struct {
    mcp_str_t  key;            /* raw */
    mcp_str_t  method;
    mcp_str_t  params;         /* raw, may be empty */
    mcp_str_t  answer;         /* raw result; empty: outstanding */
    uint64_t   number;         /* of the event that it is; 0: not yet */
} mcp_question_t;


typedef struct mcp_request_s  mcp_request_t;

struct mcp_request_s {
    mcp_job_t             job;
    mcp_call_t           *call;
    const mcp_method_t   *method;
    mcp_request_state_e   state;
    mcp_ending_e          ending;
    mcp_str_t             raw;
    mcp_str_t             id;
    mcp_str_t             name;
    mcp_str_t             params;
    mcp_str_t             progress_token;
    unsigned              target;
    mcp_str_t             response;    /* if not durable */
    uint64_t              deadline;

    mcp_backend_t        *backend;
    mcp_backend_msg_t     msg;         /* the one that is held back */
    mcp_fault_e           end_fault;   /* an end that came while held */
    const char           *end_detail;

    /* asking the client */
    mcp_arena_t           round;       /* of one round of questions */
    mcp_question_t       *questions;
    size_t                n_questions;
    size_t                n_asked;
    size_t                n_answered;
    unsigned char        *spent;       /* key of the token that it came with,
                                          and its expiry */
    mcp_str_t             request_state;
    mcp_buf_t             body;        /* of the next invocation */
    unsigned              rounds_without_question;

    unsigned              live:1;      /* the glue runs the job */
    unsigned              held:1;      /* msg waits for room in the stream */
    unsigned              ended:1;     /* end_fault, end_detail are set */
    unsigned              starved:1;   /* mcp_job_data() took less */
    unsigned              again:1;     /* invoke once the job has ended */
    unsigned              late:1;      /* its time is over, as the log says */
};


/* What was taken out of the inbox while a message was held. */
typedef struct mcp_kept_s  mcp_kept_t;

struct mcp_kept_s {
    mcp_kept_t            *next;
    mcp_post_e             type;
    uint64_t               tag;
    size_t                 len;        /* of the data that follows */
};


struct mcp_call_s {
    mcp_task_t             forget;
    mcp_worker_t          *worker;
    const mcp_endpoint_t  *endpoint;
    mcp_arena_t            arena;      /* holds the request's text, too */
    unsigned               refs;
    void                  *glue;

    unsigned char          id[MCP_STREAM_ID_LEN];
    char                   id_text[MCP_STREAM_TEXT_LEN];
    mcp_session_t          session;
    unsigned char          party[MCP_DIGEST_LEN];  /* its client's */
    mcp_policy_t           policy;
    mcp_exchange_t        *x;          /* the client's, until it streams */
    mcp_facts_t            facts;

    mcp_request_t         *requests;
    size_t                 n;
    size_t                 pending;
    unsigned               jobs;       /* live */

    mcp_stream_ref_t       ref;
    uint64_t               handle;
    uint64_t               began;
    uint64_t               stream_at;  /* becomes durable then */
    uint64_t               resume_at;  /* its client is told to come back;
                                          0: never */
    uint64_t               unattended; /* since when, 0: a consumer reads */
    mcp_kept_t            *kept;       /* oldest first */
    mcp_kept_t           **kept_last;
    uint64_t               kept_bytes;
    mcp_timer_t            timer;

    mcp_call_t            *next;       /* of worker->young */
    mcp_call_t           **link;       /* NULL: not in that list */

    unsigned               batch:1;
    unsigned               durable:1;
    unsigned               parted:1;   /* its client gets another answer */
    unsigned               over:1;
};


/* --- mcp_call.c --- */

/*
 * Counted: one reference is the exchange's, one the call's own until it has
 * ended.  A function that may end a call may free it, unless its caller holds
 * another.
 */

/* Takes the exchange's arena, and the text in it; NULL when out of memory.
 * The requests are filled in by the caller: raw, id, method, name, params,
 * progress_token, target; or response, for one answered already. */
mcp_call_t *mcp_call_create(mcp_exchange_t *x, size_t n);
void mcp_call_start(mcp_call_t *call);
void mcp_call_discard(mcp_call_t *call);       /* instead of a start */

uint64_t mcp_call_now(const mcp_call_t *call);

/* what: of the call; why: may be NULL. */
void mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why);

/* Starts a job on a request, for the first time or with input, or fails it. */
void mcp_call_invoke(mcp_request_t *req);

/* All requests have their answer, or need none: gives it to a client that
 * waits for it, and ends the call. */
void mcp_call_done(mcp_call_t *call);

/* Ends a call that cannot go on, with one fault for all that is pending. */
void mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call without a word: stops its jobs. */
void mcp_call_stop(mcp_call_t *call);

/* A job has gone, perhaps the last thing that kept a call that is over. */
void mcp_call_check_end(mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* From now on every event is in the store before it is sent.  MCP_OK, also
 * when it is so already, or MCP_ERR_DENIED: the call has been ended. */
int  mcp_call_durable(mcp_call_t *call);

/* x is going, its reference stays to be released: the call becomes durable. */
void mcp_call_leave(mcp_call_t *call);

/* The same for its answer alone, which its client gets as plain JSON: a stream
 * that is over and was sent, for as long as such are kept; or none, if there is
 * no room. */
void mcp_call_keep(mcp_call_t *call, mcp_str_t answer, mcp_ending_e how);

/* One event of a request that does not answer it; what mcp_store_append()
 * returns. */
int  mcp_call_append(mcp_request_t *req, mcp_str_t message,
    mcp_stream_state_e state);

/* Why an append failed that cannot be tried again, for the log. */
const char *mcp_call_append_reason(int rc);


/* --- mcp_call_answer.c --- */

/* That of the stream while the call goes on. */
mcp_stream_state_e mcp_call_state(const mcp_call_t *call);

/* Which request its response answers, and how, for mcp_store_append(). */
int mcp_call_answers(const mcp_request_t *req, mcp_ending_e how);

/*
 * Gives a request its answer, body being its result or, when it ends with an
 * RPC_ERROR, its error, and ends the call with the last one.  MCP_OK (also for
 * one that has its answer, and when all has failed); MCP_AGAIN: no room, to be
 * repeated.
 */
int  mcp_call_finish(mcp_request_t *req, mcp_str_t body, mcp_ending_e how);
int  mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail);

/* A tool result with isError, or a JSON-RPC error where there is no tool. */
int  mcp_call_finish_text(mcp_request_t *req, mcp_str_t text);

/* The same for good: what finds no room is held and tried again. */
void mcp_call_fail(mcp_request_t *req, mcp_fault_e fault);
void mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault);


/* --- mcp_call_time.c --- */

/* Arms the call's timer for what is due next. */
void mcp_call_set_timer(mcp_call_t *call);

/* The handler of that timer; data is the call. */
void mcp_call_timer(void *data);


/* --- mcp_job.c --- */

/* Fills in what all jobs of a call tell their backends, in its arena. */
void mcp_job_facts(mcp_call_t *call);

/* Queues an invocation with a decoder of its own, which replaces the last
 * one: nothing may be held.  MCP_OK or MCP_ERR_MEMORY. */
int  mcp_job_start(mcp_request_t *req);

/* The glue has pulled an action of a job. */
void mcp_job_taken(mcp_task_t *task, mcp_action_t *action);

/* Nothing more is wanted of the request's job; what is held is dropped. */
void mcp_job_stop(mcp_request_t *req);
void mcp_job_stop_all(mcp_call_t *call);

/* The request's deadline has passed.  May end the call. */
void mcp_job_deadline(mcp_request_t *req);

/* One message, of the backend or published.  MCP_OK; MCP_AGAIN: no room for it
 * now.  May end the call. */
int  mcp_job_message(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Keeps a message that found no room; its text stays the decoder's, which is
 * not asked for another one meanwhile. */
void mcp_job_hold(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Works through what is held and what the decoder has, until it has no more or
 * the stream has no room.  May end the call. */
void mcp_job_process(mcp_request_t *req);


/* --- mcp_inbox.c --- */

/* The store has something for the call: room, a consumer come or gone,
 * posts, a cancellation.  May end it. */
void mcp_call_wake(void *call);

/* There may be room now: for what is held, for backends that were stopped, for
 * what was posted behind it.  May end the call. */
void mcp_inbox_go_on(mcp_call_t *call);

/* Frees what was taken out of the inbox and not looked at. */
void mcp_inbox_drop(mcp_call_t *call);

/* A cancellation, or the end of the session, may have come, to whatever
 * process, before the call was to be found in the store.  May end it. */
void mcp_inbox_look_for_cancel(mcp_call_t *call);

/* A call that has begun has no inbox until it is durable: its process looks
 * every now and then whether it was cancelled.  No-op for a call that is not
 * looked after. */
void mcp_inbox_look_after(mcp_call_t *call);
void mcp_inbox_look_away(mcp_call_t *call);

/* notifications/cancelled of a session; id is raw.  MCP_OK, too, if there is
 * nothing to cancel; else as mcp_store_post() or mcp_store_value_set(). */
int  mcp_call_cancel_request(mcp_exchange_t *x, mcp_str_t id);

/* The request of x reads what another one asked for: its id cancels that, until
 * a newer one does. */
void mcp_call_also_known(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/* Cancels every call of a session and frees its listener. */
void mcp_call_end_session(mcp_exchange_t *x);


/* --- mcp_input.c --- */

/* 1 if the server may send requests to this session's client. */
int  mcp_input_possible(const mcp_session_t *session);

int  mcp_input_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);
int  mcp_input_again(mcp_request_t *req);
/* What mcp_input_post() has brought to the process that owns the call. */
void mcp_input_answer(mcp_call_t *call, mcp_str_t text);

/* The stream and the event that a response's raw id names.  MCP_OK, or
 * MCP_ERR_NOT_FOUND: no request of ours has such an id. */
int  mcp_input_names(const mcp_mem_t *mem, mcp_str_t id,
        unsigned char stream[MCP_STREAM_ID_LEN], uint64_t *number);

/* Responses of a client, to the call that asked: text is one, or a JSON array
 * of them, and is taken as a whole or not at all.  As mcp_store_post(). */
int  mcp_input_post(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
        mcp_str_t text);

/* The responses among n messages of one POST, each to the call of its session
 * that asked; what nobody waits for is passed over.  MCP_OK, or an error of
 * mcp_store_post(): the client may send all of them again, as an answer counts
 * once. */
int  mcp_input_posted(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n);


#endif /* MCP_CALL_PARTS_H_INCLUDED */
