/* SPDX-License-Identifier: Apache-2.0 */

/* Calls and their requests: creation, start, and loss of the client. */


#ifndef MCP_CALL_H_INCLUDED
#define MCP_CALL_H_INCLUDED


#include "backend/mcp_backend.h"
#include "config/mcp_tenant.h"
#include "mcp_backend_request.h"
#include "rpc/mcp_method.h"
#include "rpc/mcp_trace.h"
#include "rpc/mcp_reason.h"
#include "worker/mcp_worker_internal.h"


/* Time for a backend to close its connection after its last message, ms. */
#define MCP_CALL_GRACE  5000

/* Time after which a message that found no room is tried again, if the wake-up
 * was missed, ms. */
#define MCP_CALL_RETRY  1000


/* Generation of a stream whose client does not have its id: it only stores the
 * response. */
#define MCP_CALL_KEPT  UINT32_MAX


typedef enum {
    MCP_CALL_TRANSIENT = 0,    /* only its process has it */
    MCP_CALL_DURABLE,          /* its stream is in the store */
    MCP_CALL_OVER              /* all requests are answered, or need no
                                  response */
} mcp_call_phase_e;


typedef enum {
    MCP_REQUEST_RUN = 0,       /* a backend works on it */
    MCP_REQUEST_INPUT,         /* waits for the client's responses */
    MCP_REQUEST_PAUSE,         /* its backend only wants to be called again
                                  after a while */
    MCP_REQUEST_DETACHED,      /* remaining messages come by the publish
                                  endpoint */
    MCP_REQUEST_OVER           /* has its response, or needs none */
} mcp_request_state_e;


/* One question to the client. */
typedef struct {
    mcp_str_t  key;            /* raw JSON */
    mcp_str_t  method;
    mcp_str_t  params;         /* raw JSON, may be empty */
    mcp_str_t  answer;         /* raw JSON; empty: no answer yet */
    uint64_t   number;         /* number of its event; 0: not sent yet */
    unsigned   url:1;          /* 1: it has an elicitationId of the server */
} mcp_question_t;


typedef struct mcp_request_s  mcp_request_t;

struct mcp_request_s {
    mcp_backend_request_t  breq;
    mcp_call_t            *call;
    const mcp_method_t    *method;
    mcp_request_state_e    state;
    mcp_outcome_e          outcome;
    mcp_str_t              raw;
    mcp_str_t              id;
    mcp_str_t              name;        /* name of the tool or prompt, or the
                                           URI in normal form */
    mcp_str_t              raw_uri;     /* URI as the client wrote it, may be
                                           empty */
    mcp_str_t              params;
    mcp_str_t              progress_token;
    mcp_trace_t            trace;       /* from _meta, unchecked */
    unsigned               target;
    uint32_t               stats;       /* its row in the call statistics */
    uint32_t               running;     /* handle from
                                           mcp_store_active_begin() */
    mcp_reason_e           reason;      /* reason of a failure; NONE: the reason
                                           that its outcome implies */
    mcp_str_t              why;         /* text of the failure in the log, may
                                           be empty */
    mcp_str_t              response;    /* response of a request that is not
                                           durable */
    uint64_t               deadline;

    mcp_backend_t         *backend;
    mcp_backend_msg_t      msg;         /* the message that waits for room */
    mcp_fault_e            end_fault;   /* fault of a backend request that ended
                                           in the meantime */
    const char            *end_detail;

    /* questions to the client */
    mcp_arena_t            round;       /* memory of one round of questions */
    mcp_question_t        *questions;
    size_t                 n_questions;
    size_t                 n_asked;
    size_t                 n_answered;
    mcp_str_t              request_state;
    mcp_buf_t              body;        /* body of the next backend request */
    uint64_t               pause;       /* ms until the backend is called again;
                                           0: it asked for input */
    uint64_t               pause_until; /* time of the last such call */
    int                    subscribed;  /* result of the other nodes for a
                                           subscription */
    unsigned               token_warned:1;     /* 1: the log has the warning
                                                  about a wrong progress
                                                  token */
    mcp_buf_t              urls;        /* numbers (uint64_t) of the events that
                                           sent the user to a URL and are not
                                           completed */

    unsigned               active:1;    /* 1: the glue runs the backend
                                           request */
    unsigned               held:1;      /* 1: msg waits for room in the
                                           stream */
    unsigned               ended:1;     /* 1: end_fault and end_detail are
                                           set */
    unsigned               starved:1;   /* 1: mcp_backend_request_data()
                                           accepted less than it got */
    unsigned               again:1;     /* 1: call the backend again when the
                                           backend request has ended */
    unsigned subscribe_tries:2;         /* number of attempts to subscribe */
    unsigned               late:1;      /* 1: its deadline has passed, which the
                                           log has */
    unsigned               retry:1;     /* 1: part of a multi round-trip
                                           request */
};


/* A post that was taken from the inbox while a message was held. */
typedef struct mcp_kept_s  mcp_kept_t;

struct mcp_kept_s {
    mcp_kept_t            *next;
    mcp_inbox_item_e       type;
    uint64_t               tag;
    size_t                 len;        /* length of the data after this
                                          structure */
};


struct mcp_call_s {
    mcp_queued_action_t         forget;
    mcp_worker_t               *worker;
    const mcp_endpoint_t       *endpoint;
    mcp_arena_t                 arena;      /* contains the request's text as
                                               well */
    unsigned                    refs;
    void                       *glue;

    unsigned char               id[MCP_STREAM_ID_LEN];
    char                        id_text[9];    /* beginning of the id's text */
    mcp_client_t                client;
    unsigned char               tenant[MCP_DIGEST_LEN];  /* digest for the
                                                            client's quotas */
    mcp_policy_t                policy;
    const unsigned char        *decisions;  /* decisions of the exchange; NULL:
                                               none */
    mcp_exchange_t             *x;          /* exchange of the client until it
                                               streams */
    mcp_resume_state_t         *states;     /* states of the resumption methods
                                               that take part in the call */
    const mcp_join_t           *join;       /* digests by which others join its
                                               stream, which exists from the
                                               start; or NULL */
    mcp_variables_t             variables;

    mcp_request_t              *requests;
    size_t                      n;
    size_t                      pending;
    uint32_t                    cancels;    /* value of mcp_store_cancels() when
                                               the exchange began */
    unsigned                    n_breqs;    /* number of running backend
                                               requests */

    mcp_stream_ref_t            ref;
    mcp_stream_state_e          stream_state;  /* last state that was logged */
    uint64_t                    handle;
    uint64_t                    began;
    uint64_t                    stream_at;  /* when the call becomes durable */
    uint64_t                    part_at;    /* when the client gets an interim
                                               response; 0: never */
    const mcp_resume_method_t  *part_by;    /* method of the partial
                                               response */
    uint64_t                    unattended; /* since when there is no consumer,
                                               ms; 0: there is one */
    mcp_kept_t                 *kept;       /* list of posts, oldest first */
    mcp_kept_t                **kept_last;
    uint64_t                    kept_bytes;
    uint64_t                    task_created;
    uint64_t                    notified;   /* when its listeners were last
                                               notified, ms */
    mcp_timer_t                 timer;

    mcp_call_t                 *next;       /* next one in worker->tracked */
    mcp_call_t                **link;       /* NULL: not in that list */

    mcp_call_phase_e            phase;      /* see mcp_call_set_phase() */
    int                         status;     /* HTTP status of a response that is
                                               not a stream; 0: 200 */
    unsigned                    batch:1;
    unsigned                    interim:1;  /* 1: the client gets an interim
                                               response and resumes for the
                                               rest */
    unsigned                    may_be_task:1;
    unsigned                    part_first:1;  /* 1: the interim response
                                                  precedes the backend
                                                  request */
    unsigned                    task:1;
    unsigned                    to_notify:1; /* 1: its listeners have to be
                                               notified of its status */
    unsigned                    joinable:1; /* 1: others may join it now */
};


/* Returns the arena of the message of x: its own, or that of the call that was
 * made from the message. */
mcp_arena_t *mcp_call_arena(mcp_exchange_t *x);

/* Calls are reference-counted: the exchange has one reference, and the call
 * itself another one until it has ended. A function that may end a call may
 * free it, unless its caller has a reference. */

/*
 * Creates a call, which takes over the arena of the exchange with the text in
 * it. Returns NULL when out of memory. The caller fills in the requests: raw,
 * id, method, name, params, progress_token and target; or response, for a
 * request that is answered already.
 */
mcp_call_t *mcp_call_create(mcp_exchange_t *x, size_t n);
void mcp_call_start(mcp_call_t *call);
void mcp_call_discard(mcp_call_t *call);       /* frees a call that was not
                                                  started */

/*
 * Creates the stream of a call that others may join by x->join, before it
 * starts.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is another call to join: this call is freed, and its
 *                   exchange is as before
 *   MCP_ERR_DENIED, MCP_ERR_LIMIT, MCP_ERR_FULL, MCP_ERR_MEMORY  the call is
 *                                                                freed as well;
 *                                                                see mcp_store_
 *                                                                create()
 */
int mcp_call_reserve(mcp_call_t *call);

/* Frees a call with such a stream instead of starting it; its exchange is as
 * before. */
void mcp_call_undo(mcp_call_t *call);

uint64_t mcp_call_now(const mcp_call_t *call);

/* Logs a step of a call at level debug. A macro, so that it costs nothing
 * otherwise. */
#define mcp_call_trace(call, ...)                                             \
    do {                                                                      \
        if (mcp_worker_logs((call)->worker, MCP_LOG_DEBUG)) {                 \
            mcp_call_trace_line(call, __VA_ARGS__);                           \
        }                                                                     \
    } while (0)

void mcp_call_trace_line(const mcp_call_t *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* what continues "call ..."; why may be NULL. */
void mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why);

/* Returns 1 if the call belongs to a client without a session that has not
 * declared that it resumes. The end of its connection cancels the call: at once
 * if it has no event id, otherwise after policy.max_wait without a consumer. */
int mcp_call_is_bound(const mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* Detaches the exchange x, which keeps its reference, and makes the call
 * durable. */
void mcp_call_leave(mcp_call_t *call);

/* Stores a response that the client gets as plain JSON in a stream that is over
 * and was sent, for as long as such streams are kept; does nothing if there is
 * no room. */
void mcp_call_keep(mcp_call_t *call, mcp_str_t answer, mcp_outcome_e how);

/* Schedules the interim response of a resumption method; 0: never. The earliest
 * time of all methods counts. */
void mcp_call_part_at(mcp_call_t *call, const mcp_resume_method_t *resumption,
    uint64_t when);

/* Appends an event of a request that is not its response. Returns the values of
 * mcp_store_append(). */
int  mcp_call_append(mcp_request_t *req, mcp_str_t message,
    mcp_stream_state_e state);


/* --- mcp_call_task.c --- */

/* Makes a durable call a task. Returns MCP_OK, also if it is one, or the values
 * of mcp_store_keep(). */
int  mcp_call_promote(mcp_call_t *call);


#endif /* MCP_CALL_H_INCLUDED */
