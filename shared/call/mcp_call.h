/* SPDX-License-Identifier: Apache-2.0 */

/* A call and its requests: made from a message, started, left by its client. */


#ifndef MCP_CALL_H_INCLUDED
#define MCP_CALL_H_INCLUDED


#include "backend/mcp_backend.h"
#include "config/mcp_party.h"
#include "mcp_job.h"
#include "rpc/mcp_method.h"
#include "rpc/mcp_trace.h"
#include "rpc/mcp_reason.h"
#include "worker/mcp_worker_parts.h"


/* ms: what a backend may take to close after its last message. */
#define MCP_CALL_GRACE  5000

/* ms: a message that found no room waits to be woken; this stands behind
 * it. */
#define MCP_CALL_RETRY  1000


/* Turn of a stream that nobody was told of: it keeps what was answered. */
#define MCP_CALL_KEPT  UINT32_MAX


typedef enum {
    MCP_CALL_TRANSIENT = 0,    /* only its process knows of it */
    MCP_CALL_DURABLE,          /* its stream is in the store */
    MCP_CALL_OVER              /* all is answered, or need not be */
} mcp_call_phase_e;


typedef enum {
    MCP_REQUEST_RUN = 0,       /* a backend works on it */
    MCP_REQUEST_INPUT,         /* waits for the client's responses */
    MCP_REQUEST_PAUSE,         /* its backend wanted nothing but to be invoked
                                  again, after a while */
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
    unsigned   url:1;          /* it has an elicitationId of ours */
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
    mcp_trace_t           trace;       /* of _meta, unchecked */
    unsigned              target;
    uint32_t              tally;       /* row that counts it */
    uint32_t              running;     /* handle of mcp_store_live_begin() */
    mcp_reason_e          reason;      /* of a failure; NONE: as its ending
                                          says */
    mcp_str_t             why;         /* the log's reason of a failure, may be
                                          empty */
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
    mcp_str_t             request_state;
    mcp_buf_t             body;        /* of the next invocation */
    uint64_t              pause;       /* ms; 0: it asked for something */
    uint64_t              pause_until; /* the last invocation of this kind */
    int                   subscribed;  /* what other nodes have answered, of a
                                          subscription */
    unsigned              token_warned:1;      /* a progress token was wrong */
    mcp_buf_t             urls;        /* the events, as uint64_t, that sent the
                                          user to a URL and are not settled */

    unsigned              live:1;      /* the glue runs the job */
    unsigned              held:1;      /* msg waits for room in the stream */
    unsigned              ended:1;     /* end_fault, end_detail are set */
    unsigned              starved:1;   /* mcp_job_data() took less */
    unsigned              again:1;     /* invoke once the job has ended */
    unsigned              asks:2;      /* how often they were */
    unsigned              late:1;      /* its time is over, as the log says */
    unsigned              retry:1;     /* of a multi round-trip request */
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
    mcp_errand_t           forget;
    mcp_worker_t          *worker;
    const mcp_endpoint_t  *endpoint;
    mcp_arena_t            arena;      /* holds the request's text, too */
    unsigned               refs;
    void                  *glue;

    unsigned char          id[MCP_STREAM_ID_LEN];
    char                   id_text[9];         /* its beginning */
    mcp_client_t           client;
    unsigned char          party[MCP_DIGEST_LEN];  /* its client's */
    mcp_policy_t           policy;
    const unsigned char   *decisions;  /* the exchange's; NULL: none */
    mcp_exchange_t        *x;          /* the client's, until it streams */
    mcp_face_state_t      *states;     /* of faces that take part in it */
    const mcp_join_t      *join;       /* its stream is there from the start,
                                          for others to join; or NULL */
    mcp_facts_t            facts;

    mcp_request_t         *requests;
    size_t                 n;
    size_t                 pending;
    uint32_t               cancels;    /* mcp_store_cancels() when the exchange
                                          began */
    unsigned               jobs;       /* live */

    mcp_stream_ref_t       ref;
    mcp_stream_state_e     stream_state;       /* as the log was told */
    uint64_t               handle;
    uint64_t               began;
    uint64_t               stream_at;  /* becomes durable then */
    uint64_t               part_at;    /* its client is told to come back;
                                          0: never */
    const mcp_face_t      *part_by;    /* and how */
    uint64_t               unattended; /* since when, 0: a consumer reads */
    mcp_kept_t            *kept;       /* oldest first */
    mcp_kept_t           **kept_last;
    uint64_t               kept_bytes;
    uint64_t               task_created;
    uint64_t               told;       /* when its subscribers were, last */
    mcp_timer_t            timer;

    mcp_call_t            *next;       /* of worker->tracked */
    mcp_call_t           **link;       /* NULL: not in that list */

    mcp_call_phase_e       phase;      /* see mcp_call_set_phase() */
    int                    status;     /* of an answer that is no stream; 0:
                                          200 */
    unsigned               batch:1;
    unsigned               interim:1;  /* its client gets an interim answer, and
                                          comes back for the stream */
    unsigned               may_be_task:1;
    unsigned               part_first:1;       /* before a backend is asked */
    unsigned               task:1;
    unsigned               to_tell:1;  /* its subscribers, of its status */
    unsigned               joinable:1; /* others may join it by now */
};


/* The arena of the message that x brought: its own, or of the call that the
 * message has become. */
mcp_arena_t *mcp_call_arena(mcp_exchange_t *x);

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

/*
 * Gives a call its stream before it starts, for others to join by x->join.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is another one to join: this call is no more, and its
 *                   exchange as it was before
 *   MCP_ERR_DENIED, MCP_ERR_LIMIT, MCP_ERR_FULL, MCP_ERR_MEMORY
 *                   likewise; see mcp_store_create()
 */
int mcp_call_reserve(mcp_call_t *call);

/* Instead of a start after that: this call is no more, and its exchange as it
 * was before. */
void mcp_call_undo(mcp_call_t *call);

uint64_t mcp_call_now(const mcp_call_t *call);

/* Logs a step in the life of a call, at debug.  A macro, so that it costs
 * nothing otherwise. */
#define mcp_call_trace(call, ...)                                            \
    do {                                                                     \
        if (mcp_worker_logs((call)->worker, MCP_LOG_DEBUG)) {                \
            mcp_call_trace_line(call, __VA_ARGS__);                          \
        }                                                                    \
    } while (0)

void mcp_call_trace_line(const mcp_call_t *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* what: of the call; why: may be NULL. */
void mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why);


/* --- mcp_call_stream.c --- */

/* x is going, its reference stays to be released: the call becomes durable. */
void mcp_call_leave(mcp_call_t *call);

/* Keeps an answer that its client gets as plain JSON, in a stream that is over
 * and was sent, for as long as such are kept; or not, if there is no room. */
void mcp_call_keep(mcp_call_t *call, mcp_str_t answer, mcp_ending_e how);

/* Has the client told at a time how to come back, by a face; 0: never.  The
 * earliest time counts. */
void mcp_call_part_at(mcp_call_t *call, const mcp_face_t *face,
    uint64_t when);

/* One event of a request that does not answer it; what mcp_store_append()
 * returns. */
int  mcp_call_append(mcp_request_t *req, mcp_str_t message,
    mcp_stream_state_e state);


/* --- mcp_call_task.c --- */

/* Makes a task of a durable call.  MCP_OK, also if it is one, or what
 * mcp_store_keep() returns. */
int  mcp_call_promote(mcp_call_t *call);


#endif /* MCP_CALL_H_INCLUDED */
