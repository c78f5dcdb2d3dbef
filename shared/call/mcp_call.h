/* SPDX-License-Identifier: Apache-2.0 */

/* The structures of calls and their requests, and the functions by which the
 * other folders create and start calls, store events in their streams, and
 * report that a client has disconnected. */


#ifndef MCP_CALL_H_INCLUDED
#define MCP_CALL_H_INCLUDED


#include "mcp_backend_request.h"
#include "backend/mcp_backend.h"
#include "config/mcp_tenant.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "rpc/mcp_trace.h"
#include "worker/mcp_worker_internal.h"


/* Time for which a backend request may continue after its last message, for
 * example the response, ms. Then this server aborts the backend request. Also
 * the maximum duration of a backend request that starts when the client's
 * request is over, to cancel the call at an MCP server or to end a session
 * there. */
#define MCP_CALL_GRACE  5000

/* Time after which the call tries again to append a held message or a response
 * to its stream, in case the wake-up for free room was missed, ms. */
#define MCP_CALL_RETRY  1000


/* Generation of a stream that mcp_call_keep() has created. Such a stream stores
 * a response that the client got as plain JSON, so the client never got the
 * stream's id. */
#define MCP_CALL_KEPT  UINT32_MAX


typedef enum {
    MCP_CALL_TRANSIENT = 0,    /* the call has no stream, unless other requests
                                  may join the call */
    MCP_CALL_DURABLE,          /* each event is stored in the call's stream
                                  before it is sent */
    MCP_CALL_OVER              /* all requests are answered, or need no
                                  response */
} mcp_call_phase_e;


typedef enum {
    MCP_REQUEST_ACTIVE = 0,    /* a backend works on the request */
    MCP_REQUEST_INPUT,         /* the request waits for the client's answers */
    MCP_REQUEST_PAUSE,         /* the backend requested input without asking a
                                  question, and is called again after a pause */
    MCP_REQUEST_DETACHED,      /* the backend delivers the remaining messages to
                                  the publish endpoint */
    MCP_REQUEST_OVER           /* the request has its response, or needs none */
} mcp_request_state_e;


/* One question to the client. */
typedef struct {
    mcp_str_t  key;            /* key in inputRequests, raw JSON */
    mcp_str_t  method;
    mcp_str_t  params;         /* raw JSON object, may be empty */
    mcp_str_t  answer;         /* raw JSON; empty: not answered yet */
    uint64_t   number;         /* number of the question's event; 0: not sent
                                  yet */
    unsigned   url:1;          /* 1: this server has added the elicitationId,
                                  because the backend has sent none */
} mcp_question_t;


typedef struct mcp_upstream_session_s  mcp_upstream_session_t;
typedef struct mcp_upstream_lookup_s  mcp_upstream_lookup_t;
typedef struct mcp_upstream_resume_s  mcp_upstream_resume_t;
typedef struct mcp_upstream_question_s  mcp_upstream_question_t;
typedef struct mcp_upstream_post_s  mcp_upstream_post_t;
typedef struct mcp_upstream_listen_s  mcp_upstream_listen_t;
typedef struct mcp_upstream_relist_s  mcp_upstream_relist_t;

typedef struct mcp_request_s  mcp_request_t;

struct mcp_request_s {
    mcp_backend_request_t  breq;
    mcp_call_t            *call;
    const mcp_method_t    *method;
    mcp_request_state_e    state;
    mcp_outcome_e          outcome;
    mcp_str_t              raw;         /* the client's request, raw JSON */
    mcp_str_t              id;          /* raw JSON */
    mcp_str_t              name;        /* name of the tool or prompt, or the
                                           resource's URI in normal form */
    mcp_str_t              raw_uri;     /* the resource's URI as the client
                                           wrote it, may be empty */
    mcp_str_t              params;      /* raw JSON; empty: none */
    mcp_str_t              progress_token;     /* raw JSON; empty: none */
    mcp_trace_t            trace;       /* trace context from _meta,
                                           unchecked */
    unsigned               target;      /* index of the backend in the
                                           endpoint's targets, or
                                           MCP_NO_TARGET */
    uint32_t               stats;       /* the request's row in the call
                                           statistics */
    uint32_t               record;      /* handle of the active request's
                                           record, from
                                           mcp_store_active_begin(); 0: none */
    mcp_error_type_e       error;       /* class of the error response; NONE:
                                           it follows from the outcome */
    mcp_reason_e           reason;      /* exact reason of a failure; NONE: the
                                           reason follows from the outcome */
    mcp_str_t              why;         /* text of the failure for the status
                                           page, may be empty */
    mcp_str_t              response;    /* the response, if it was set before
                                           the call was durable */
    uint64_t               deadline;    /* when mcp_backend_request_deadline()
                                           is called, ms; UINT64_MAX: never */

    mcp_upstream_session_t *session;    /* session at an MCP server that needs
                                           one; NULL: the request uses none */
    mcp_upstream_question_t *server_questions;  /* questions of the MCP server
                                                   that have no answer yet,
                                                   newest first */
    mcp_upstream_relist_t *relist;      /* requests for the MCP server's list of
                                           tools, after which the call is sent
                                           again; NULL: none; see
                                           mcp_upstream_param_header.h */
    mcp_str_t              cached;      /* result from the cache of lists, which
                                           becomes the response; empty: none */
    mcp_backend_t         *backend;     /* decoder of the latest backend
                                           request; NULL: there was none */
    mcp_backend_msg_t      msg;         /* the held message, if "held" is
                                           set */
    mcp_fault_e            end_fault;   /* fault with which the backend request
                                           ended, if "ended" is set */
    const char            *end_detail;  /* reason of end_fault for the log, may
                                           be NULL */

    /* questions to the client */
    mcp_arena_t            round;       /* memory of the questions of one
                                           message and their answers */
    mcp_question_t        *questions;
    size_t                 n_questions;
    size_t                 n_sent;      /* number of questions that were sent to
                                           the client */
    size_t                 n_answered;
    mcp_str_t              request_state;      /* the backend's request state, a
                                                  raw JSON string; empty:
                                                  none */
    mcp_buf_t              body;        /* body of the next backend request;
                                           empty: the body is "raw" */
    uint64_t               pause;       /* length of the next pause in the state
                                           PAUSE, ms; 0: the request has not
                                           paused since its last question */
    uint64_t               pause_until; /* when the request times out if its
                                           backend has still asked no question,
                                           ms */
    int                    subscribed;  /* result of the cluster operation that
                                           subscribes or unsubscribes the
                                           session at all nodes; MCP_AGAIN: the
                                           operation is pending */
    unsigned               token_warned:1;     /* 1: the warning about a wrong
                                                  progress token was logged */
    unsigned               id_warned:1; /* 1: the warning about a response with
                                           a wrong id was logged */
    mcp_buf_t              urls;        /* event numbers (uint64_t) of the
                                           questions with "url" set whose
                                           completion was not reported to the
                                           client yet */

    unsigned               active:1;    /* 1: the backend request is queued or
                                           runs */
    unsigned               held:1;      /* 1: msg waits for room in the
                                           stream */
    unsigned               ended:1;     /* 1: the backend request has ended,
                                           but the decoder was not notified
                                           yet */
    unsigned               starved:1;   /* 1: mcp_backend_request_data()
                                           rejected bytes, so the glue needs a
                                           RESUME action */
    unsigned               again:1;     /* 1: the backend is called again when
                                           the present backend request has ended
                                           and no message is held */
    unsigned subscribe_tries:2;         /* number of attempts to subscribe the
                                           session at all nodes */
    unsigned               late:1;      /* 1: the timeout of the backend was
                                           logged */
    unsigned               retry:1;     /* 1: the client's request contains
                                           answers or the request state of an
                                           earlier request (2026-07-28, multi
                                           round-trip) */
    unsigned               looked_up:1; /* 1: the cache of lists was searched
                                           for the response */
    unsigned               may_be_stale:1;     /* 1: if the MCP server fails,
                                                  the client gets the expired
                                                  list from the cache */
    unsigned               responds:1;  /* 1: the running backend request got a
                                           response head with status 2xx */
    unsigned               failed_here:1;      /* 1: the backend request has
                                                  failed at this server, and not
                                                  at the backend */
    unsigned               has_response:1;     /* 1: the backend request has
                                                  brought the MCP server's
                                                  response to the client's
                                                  request; only if "session" is
                                                  set */
    uint64_t               list_changed;       /* number of changes of the list
                                                  when the cache of lists was
                                                  searched */
    uint32_t               upstream;    /* row of the target in the statistics
                                           of MCP servers, or
                                           MCP_STORE_UPSTREAM_NONE: an MCP
                                           server may have no row */
};


/* A post that was taken from the inbox while a message was held, and is
 * processed after that message. */
typedef struct mcp_kept_s  mcp_kept_t;

struct mcp_kept_s {
    mcp_kept_t            *next;
    mcp_inbox_item_e       type;
    uint64_t               tag;        /* its meaning depends on "type", see
                                          mcp_inbox_item_e */
    size_t                 len;        /* length of the data after this
                                          structure */
};


struct mcp_call_s {
    mcp_queued_action_t         forget;     /* MCP_ACT_FORGET; has to be the
                                               first member */
    mcp_worker_t               *worker;
    const mcp_endpoint_t       *endpoint;
    mcp_arena_t                 arena;      /* memory of the call, of its
                                               requests and of their text */
    unsigned                    refs;
    void                       *glue;       /* the glue's own pointer, see
                                               mcp_call_set_glue() */

    unsigned char               id[MCP_STREAM_ID_LEN];
    char                        id_text[9];    /* first 8 characters of the id
                                                  as text, and a NUL */
    mcp_client_t                client;
    unsigned char               tenant[MCP_DIGEST_LEN];  /* digest of the
                                                            client's tenant,
                                                            for quotas; all
                                                            zeros: none */
    mcp_policy_t                policy;
    const unsigned char        *decisions;  /* results of the rules of
                                               mcp_allow, from the exchange;
                                               NULL: no rule was evaluated */
    mcp_exchange_t             *x;          /* exchange of the client that
                                               waits for the response; NULL: the
                                               client reads the stream, or has
                                               disconnected */
    mcp_resume_state_t         *states;     /* states of the resumption methods
                                               that take part in the call */
    const mcp_join_t           *join;       /* digests by which other requests
                                               find the call to join it; the
                                               stream of such a call exists
                                               from the start; NULL: the call
                                               cannot be joined */
    mcp_variables_t             variables;

    mcp_request_t              *requests;
    size_t                      n;          /* number of requests */
    size_t                      pending;    /* number of requests that are not
                                               over */
    void                      (*respond)(mcp_exchange_t *x);  /* called for the
                                               response of a call that this
                                               server itself has made; NULL: a
                                               client has made the call and
                                               gets the response */
    uint32_t                    cancels;    /* value of mcp_store_cancels() when
                                               the exchange began; only later
                                               cancellations concern the call */
    unsigned                    n_breqs;    /* number of running backend
                                               requests, POSTs in "posts" and
                                               GET streams in "listens" */
    mcp_upstream_post_t        *posts;      /* running POSTs of responses to an
                                               MCP server */
    mcp_upstream_post_t        *waiting_posts; /* POSTs that start when a
                                                  running one ends, oldest
                                                  first; NULL if "posts" is
                                                  NULL */
    mcp_upstream_post_t        *idle_posts; /* structures of POSTs that have
                                               ended, for the next POSTs */
    mcp_upstream_listen_t      *listens;    /* GET streams of MCP servers that
                                               this call has opened */
    unsigned                    n_started;  /* number of backend requests that
                                               the glue has started */

    mcp_stream_ref_t            ref;        /* the stream, if the call has
                                               one */
    mcp_stream_state_e          stream_state;  /* last state of the stream that
                                                  was logged */
    uint64_t                    handle;     /* handle by which the store wakes
                                               the call; 0: none */
    uint64_t                    received;   /* when the client's message was
                                               received, ms */
    uint64_t                    began;      /* when mcp_call_start() was called,
                                               ms; 0: not yet */
    uint64_t                    stream_at;  /* when the call becomes durable
                                               even if the backend has sent
                                               nothing, ms; UINT64_MAX: never */
    uint64_t                    interim_at; /* when the client gets an interim
                                               response, ms; 0: never */
    const mcp_resume_method_t  *interim_by; /* resumption method that writes
                                               the interim response */
    uint64_t                    unattended; /* since when the stream has had no
                                               consumer, ms; 0: it has one */
    uint64_t                    bound_wait; /* if "rounds" is 1: time for which
                                               the call continues without a
                                               consumer while no question of its
                                               MCP server is open, ms */
    uint64_t                    read_after; /* event after which the last
                                               consumer began to read */
    uint64_t                    answered;   /* when a question of the MCP server
                                               was last answered, withdrawn or
                                               timed out, ms; 0: never */
    uint64_t                    answered_question; /* number of this question */
    uint64_t                    answered_until;    /* until when the call
                                                      continues if no consumer
                                                      has attached that had this
                                                      question, ms */
    uint64_t                    retried;    /* number of the event after which a
                                               request of the client reads that
                                               may lack answers, and that may
                                               need an event with all open
                                               questions; 0: none */
    uint64_t                    asked_again;       /* number of the last event
                                                      with all open questions;
                                                      0: none */
    mcp_kept_t                 *kept;       /* posts taken from the inbox but
                                               not processed, oldest first */
    mcp_kept_t                **kept_last;
    uint64_t                    kept_bytes; /* size of the kept posts, bytes */
    uint64_t                    task_created;  /* when the call became a task,
                                                  ms */
    uint64_t                    notified;   /* when the listeners of the task
                                               were last notified, ms */
    mcp_timer_t                 timer;

    mcp_call_t                 *next;       /* next call in worker->tracked or
                                               worker->rounds */
    mcp_call_t                **link;       /* address of the pointer to this
                                               call in worker->tracked or
                                               worker->rounds; NULL: in neither
                                               list */

    mcp_call_phase_e            phase;      /* changed by mcp_call_set_phase()
                                               only */
    int                         status;     /* HTTP status if the response is
                                               plain JSON; 0: 200 */
    unsigned                    bare:1;     /* 1: the backend requests are not
                                               made for the client, see
                                               mcp_backend_request_t */
    unsigned                    batch:1;    /* 1: the client's message is a
                                               batch */
    unsigned                    outlives_client:1; /* 1: the call continues when
                                                      its client disconnects,
                                                      and ends without a
                                                      response */
    unsigned                    interim:1;  /* 1: the client gets an interim
                                               response and resumes for the
                                               rest */
    unsigned                    may_be_task:1; /* 1: the client accepts a task,
                                                  and the policy allows it */
    unsigned                    interim_first:1; /* 1: the client gets a task as
                                                    the interim response before
                                                    a backend is called */
    unsigned                    task:1;     /* 1: the call is a task */
    unsigned                    to_notify:1; /* 1: the listeners of the task
                                                have to be notified of its new
                                                status */
    unsigned                    rounds:1;   /* 1: the client has no session, and
                                               gets a question of the MCP server
                                               as the response to its request */
    unsigned                    pings_dropped:1; /* 1: the warning about a ping
                                                    without a response was
                                                    logged */
    unsigned                    joinable:1; /* 1: other requests may join the
                                               call; set when a backend is
                                               called */
};


/* Returns the arena with the message of x: the arena of the call if a call was
 * created from the message, otherwise the arena of x. */
mcp_arena_t *mcp_call_arena(mcp_exchange_t *x);

/* Calls are reference-counted: the exchange has one reference, and the call
 * itself another one until it has ended. A function that may end a call may
 * free it, unless its caller has a reference. */

/*
 * Creates a call with n requests for the message of x. The arena of x, which
 * contains the text of the message, moves to the call. Returns NULL when out
 * of memory. The caller fills in raw, id, method, name, params, progress_token
 * and target of each request, or only the response of a request that is
 * answered already.
 */
mcp_call_t *mcp_call_create(mcp_exchange_t *x, size_t n);

/* Starts a call: queues its backend requests. Ends the call at once if all its
 * requests are answered already. */
void mcp_call_start(mcp_call_t *call);
void mcp_call_discard(mcp_call_t *call);       /* frees a call that was not
                                                  started */

/*
 * Creates the stream of a call that has not started, so that other requests
 * find it by the digests in x->join.
 *
 * Returns MCP_OK. Otherwise frees the call, returns the message to its
 * exchange, and returns an error of mcp_store_create(), or MCP_ERR_EXISTS:
 * there is an equal call, which can be joined.
 */
int mcp_call_reserve(mcp_call_t *call);

/* Undoes mcp_call_reserve() for a call that has not started: frees the call and
 * its stream, and returns the message to the exchange. */
void mcp_call_undo(mcp_call_t *call);

/* Returns the present time, ms. */
uint64_t mcp_call_now(const mcp_call_t *call);

/* Logs a step of a call at level debug. This is a macro, so that the arguments
 * are evaluated at that log level only. */
#define mcp_call_trace(call, ...)                                             \
    do {                                                                      \
        if (mcp_worker_logs((call)->worker, MCP_LOG_DEBUG)) {                 \
            mcp_call_trace_line(call, __VA_ARGS__);                           \
        }                                                                     \
    } while (0)

void mcp_call_trace_line(const mcp_call_t *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Arguments for "%.*s": at most n bytes of a text. */
#define mcp_call_cut(s, n)                                                    \
    (int) ((s).len > (n) ? (n) : (s).len), (s).data ? (s).data : ""

/* Logs a line with the id of the call and the name in the request, followed by
 * the three texts. */
void mcp_request_log(const mcp_request_t *req, mcp_log_level_e level,
    const char *what, const char *between, const char *why);

/* Logs "call ID of NAME WHAT: WHY", or without ": WHY" if why is NULL. NAME is
 * the name of the call's first request. */
void mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why);

/*
 * Returns 1 if the end of the client's connection cancels the call. This is
 * so if the client has no session, other requests cannot join the call, and
 * the policy does not allow resumption or the client has not declared that it
 * resumes.
 *
 * Such a call is cancelled at once if its client has received no event id,
 * otherwise when the call has had no consumer for policy.max_wait.
 */
int mcp_call_is_bound(const mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* Called when the client's connection has ended while the client waits for
 * plain JSON. Ends the call if the client cannot resume it, or if call->join is
 * set and mcp_call_is_started() returns 0. Otherwise makes the call durable.
 * The exchange keeps its reference to the call. */
void mcp_call_leave(mcp_call_t *call);

/*
 * Stores a response, which the client gets as plain JSON, in a new stream, so
 * that the client can fetch the response again. The stream is over, and its
 * event counts as sent. Does nothing if the policy does not allow resumption,
 * if other requests may join the call, or if the store has no room.
 */
void mcp_call_keep(mcp_call_t *call, mcp_str_t response, mcp_outcome_e how);

/* Makes the resumption method write an interim response at the time "when", ms.
 * Does nothing if "when" is 0, or if an interim response is due earlier. */
void mcp_call_interim_at(mcp_call_t *call,
    const mcp_resume_method_t *resumption, uint64_t when);

/* Sets *number to the number of the next event of the call's stream. Returns
 * the values of mcp_store_info(). */
int  mcp_call_next_event(const mcp_call_t *call, uint64_t *number);

/* Appends a message of a request, but not its response, to the stream, and sets
 * the state of the stream. Returns the values of mcp_store_append(). */
int  mcp_call_append(mcp_request_t *req, mcp_str_t message,
    mcp_stream_state_e state);


/* --- mcp_call_task.c --- */

/* Makes a durable call a task. Returns MCP_OK, also if the call is a task
 * already, or the values of mcp_store_keep(). */
int  mcp_call_promote(mcp_call_t *call);


/* A publish URL is the URL of the publish endpoint at which a backend delivers
 * messages for one request of a call. The last segment of the URL is a signed
 * token. */

/* The contents of the token in a publish URL. */
typedef struct {
    unsigned char  id[MCP_STREAM_ID_LEN];      /* id of the call */
    unsigned       request;    /* index of the request in the call */
    uint64_t       stream_at;  /* time until which the call may have no stream,
                                  ms */
} mcp_publish_target_t;


/* Returns the publish URL for one request of a call, in the call's arena;
 * empty when out of memory. */
mcp_str_t mcp_publish_url(mcp_call_t *call, unsigned request);

/* Opens the token of a publish URL. Returns MCP_OK, or MCP_ERR_DENIED: the
 * token was not signed with one of the keys, or is of another kind. */
int mcp_publish_url_open(const mcp_keys_t *keys, mcp_str_t token,
    mcp_publish_target_t *target);


#endif /* MCP_CALL_H_INCLUDED */
