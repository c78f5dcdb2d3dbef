/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of exchanges and calls, shared by the core's own files only:
 *
 *   mcp_exchange.c     life of an exchange, HTTP rules, GET, DELETE
 *   mcp_dispatch.c     what a POSTed message means, local answers
 *   mcp_consumer.c     an exchange that reads a stream
 *   mcp_call.c         life of a call: start, end, and what ends it
 *   mcp_call_stream.c  its stream: becoming durable
 *   mcp_call_answer.c  its answers
 *   mcp_call_time.c    what is due in it
 *   mcp_ending.c       how its requests end: counters, log, $mcp_result
 *   mcp_job.c          a backend at work on a request, and what it says
 *   mcp_inbox.c        what other processes have for a call; cancellation
 *   mcp_input.c        asking the client in the middle of a call
 *   mcp_publish.c      the publish endpoint, notifications to subscribers
 *   mcp_face.c         other ways for a client to come back (mcp_face.h)
 */


#ifndef MCP_CORE_H_INCLUDED
#define MCP_CORE_H_INCLUDED


#include "backend/mcp_backend.h"
#include "mcp_call.h"
#include "mcp_exchange.h"
#include "rpc/mcp_id.h"
#include "rpc/mcp_method.h"
#include "config/mcp_party.h"
#include "rpc/mcp_rpc.h"
#include "rpc/mcp_session.h"


/* ms: what a backend may take to close after its last message. */
#define MCP_CALL_GRACE  5000

/* ms: a message that found no room waits to be woken; this stands behind
 * it. */
#define MCP_CALL_RETRY  1000


/* In the number of an event id: no event, but the interim result that has
 * answered the request of a stream after that event. */
#define MCP_EVENT_ANSWERED  ((uint64_t) 1 << 62)


typedef struct mcp_face_s  mcp_face_t;


typedef enum {
    MCP_HTTP_POST = 0,
    MCP_HTTP_GET,
    MCP_HTTP_DELETE,
    MCP_HTTP_OPTIONS,
    MCP_HTTP_OTHER
} mcp_http_method_e;


typedef enum {
    MCP_EXCHANGE_HEAD = 0,
    MCP_EXCHANGE_BODY,         /* waits for the body */
    MCP_EXCHANGE_WAIT,         /* waits for a call */
    MCP_EXCHANGE_RESPONSE,     /* the answer is ready or given */
    MCP_EXCHANGE_STREAM,       /* is a consumer */
    MCP_EXCHANGE_ENDED
} mcp_exchange_state_e;


/* How a request of a call ended; the worse, the larger.  Those up to LOST
 * stand in the zone, see MCP_STORE_RESULT(). */
typedef enum {
    MCP_ENDING_NONE = 0,       /* it has not, or there is no call */
    MCP_ENDING_OK,
    MCP_ENDING_TOOL_ERROR,     /* a tool's result with isError */
    MCP_ENDING_RPC_ERROR,      /* an error response of the backend's */
    MCP_ENDING_FAULT,          /* an error response of ours */
    MCP_ENDING_LOST,           /* its process died */
    MCP_ENDING_CANCELLED,      /* by its client, or its session has ended */
    MCP_ENDING_EXPIRED,        /* nobody came for it within max wait */
    MCP_ENDING_COUNT
} mcp_ending_e;


/* The publish endpoint's part of an exchange. */
typedef struct {
    mcp_str_t      token;      /* configured */
    unsigned       open:1;
    unsigned       is:1;       /* this exchange is at the publish endpoint */
    unsigned       call:1;     /* the token names a call */
    unsigned char  id[MCP_STREAM_ID_LEN];
    unsigned       request;
    uint64_t       made;       /* ms, when the token was made */
} mcp_publish_t;


/* Turn of a stream that nobody was told of: it keeps what was answered. */
#define MCP_CALL_KEPT  UINT32_MAX


/* What mcp_face_link.c keeps of the head. */
typedef struct {
    mcp_str_t      target;     /* path and query */
    mcp_str_t      origin;
    mcp_str_t      host;
    mcp_str_t      token;      /* .data NULL: the URL has none */
    uint32_t       turn;       /* of the stream, as far as it is known */
    unsigned       secure:1;
    unsigned       given:1;    /* the answer has a URL */
    unsigned       closes:1;   /* when its stream asks for input */
} mcp_link_t;


/* mcp_face_token.c's part of an exchange. */
typedef struct {
    uint64_t        at;        /* an interim result is due; 0: never */
    mcp_str_t       text;      /* the token that it brought; empty: none */
    unsigned char  *spent;     /* key of the token that it brought, and its
                                  expiry */
    uint64_t        until;     /* waits for another that brought it */
    unsigned char   stream[MCP_STREAM_ID_LEN];
    unsigned        rest:1;    /* reads the rest of another request's call */
    unsigned        answered:1;
} mcp_token_part_t;


struct mcp_exchange_s {
    mcp_task_t             task;
    mcp_worker_t            *worker;
    const mcp_endpoint_t  *endpoint;
    void                  *glue;
    mcp_arena_t            arena;      /* body, parsed; see below */
    mcp_exchange_state_e   state;

    /* of the head */
    mcp_http_method_e      method;
    mcp_str_t              session_text;
    mcp_str_t              revision_text;
    mcp_str_t              event_id;
    mcp_str_t              origin;
    mcp_str_t              content_type;
    mcp_str_t              authorization;
    mcp_str_t              principal_name;
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned char          party[MCP_DIGEST_LEN];  /* see mcp_party.h */

    mcp_session_t          session;
    char                  *body;
    mcp_rpc_t              msg;
    mcp_buf_t              out;        /* the answer, or what goes to the
                                          stream but is not in the log */
    mcp_response_t         response;
    mcp_call_t            *call;
    mcp_publish_t             publish;

    /* consumer */
    mcp_stream_ref_t       ref;
    mcp_cursor_t           cursor;
    uint64_t               handle;
    uint64_t               first;      /* cursor it began with */
    uint64_t               sent;       /* last event known to be written */
    uint64_t               last_write;
    uint64_t               close_at;
    size_t                 pos;        /* of out, pulled */
    mcp_timer_t            timer;
    unsigned               priming:1;  /* first bytes are to be written */
    unsigned               comment:1;
    unsigned               closing:1;  /* close at will: retry, end */
    unsigned               stopping:1; /* the same, if it can come back */
    unsigned               listener:1; /* of the session's own stream */
    unsigned               bound:1;    /* the call ends with it */
    unsigned               exact:1;    /* who comes back names no event: what
                                          was sent must be known */
    unsigned               last:1;     /* out is all that there will be */
    unsigned               done:1;     /* the last bytes were pulled */
    unsigned               resumed:1;
    unsigned               has_session:1;

    /* faces */
    const mcp_face_t      *face;       /* by which it came, NULL: the first */
    mcp_link_t             link;
    mcp_token_part_t       token;
    mcp_buf_t              partial;    /* of the log, being rewritten */

    mcp_fault_e            refusal;    /* why a new call could not be kept */
    const char            *outcome;    /* of this HTTP request */
    mcp_ending_e           ending;     /* of its call, once that is known */
    mcp_facts_t            facts;
    char                   text[8 + MCP_STREAM_TEXT_LEN + 8 + 20];
};


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


typedef struct {
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
} mcp_request_t;


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
    mcp_worker_t            *worker;
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


/* --- mcp_exchange.c --- */

/* What belongs to the message: moves to the call that it becomes. */
mcp_arena_t *mcp_exchange_arena(mcp_exchange_t *x);

/* Answers with a fault; detail and data may be empty.  MCP_OK. */
int mcp_exchange_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail);

/* Answers without a body. */
int mcp_exchange_status(mcp_exchange_t *x, int status);

/* Answers 200 with x->out as JSON. */
int mcp_exchange_json(mcp_exchange_t *x);

void mcp_exchange_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value);

/* A line of the life of the exchange's session, at info. */
void mcp_session_log(mcp_exchange_t *x, const char *what);

/* Verifies the protocol version header; or the session and that. */
mcp_fault_e mcp_exchange_check_revision(const mcp_exchange_t *x);
mcp_fault_e mcp_exchange_check_session(mcp_exchange_t *x);


/* --- mcp_dispatch.c --- */

int mcp_dispatch(mcp_exchange_t *x, size_t len);

/* Whether a session wants to hear of a level, as JSON has it: 1 for all that
 * is no level (2025-11-25, server/utilities/logging). */
int mcp_dispatch_log_wanted(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN], mcp_str_t level);


/* --- mcp_consumer.c --- */

/* Makes x the stream's consumer; on success the exchange's response is the
 * head of an SSE answer. */
int mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);

/* The same for a client that names no event, and cannot be refused for what
 * it does not know: from what is kept of what follows "after".  Of events in
 * between that no client confirmed it is told by a notifications/message. */
int mcp_consumer_start_kept(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after);

void mcp_consumer_wake(mcp_exchange_t *x);
void mcp_consumer_stop(mcp_exchange_t *x);     /* close at will */
void mcp_consumer_leave(mcp_exchange_t *x);

/* 1 if its client is known to come back: by its revision, by what it has
 * declared, or as it was given a URL. */
int mcp_consumer_comes_back(const mcp_exchange_t *x);

/* A consumer that came back: its connection is closed when its time is up. */
void mcp_consumer_close_at_will(mcp_exchange_t *x,
    const mcp_stream_info_t *info);

/* The same, at that time at the latest; 0: no matter. */
void mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when);

/* GET: resumes the stream of Last-Event-ID, or listens. */
int mcp_consumer_get(mcp_exchange_t *x);

/* The session's own stream, made if need be, of this party. */
int mcp_listener(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_session_t *session, const unsigned char party[MCP_DIGEST_LEN],
    mcp_stream_info_t *info);


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

/* MCP_ACT_FORGET was pulled: frees it. */
void mcp_call_forgotten(mcp_call_t *call);

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
void mcp_call_wake(mcp_call_t *call);

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

/* The handler of worker->look. */
void mcp_inbox_look(void *worker);

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


/* --- mcp_publish.c --- */

/* Puts the publish endpoint's URL for one request of a call into the arena. */
mcp_str_t mcp_publish_url(mcp_call_t *call, unsigned request);

/* 1 if it is one that goes to subscribers instead of a call's stream, and then
 * it has gone there. */
int mcp_publish_broadcast(mcp_worker_t *worker, mcp_str_t method, mcp_str_t uri,
    mcp_str_t message);
int mcp_publish_head(mcp_exchange_t *x, const mcp_head_t *head);
int mcp_publish_body(mcp_exchange_t *x, size_t len);

int mcp_topic_list_changed(unsigned char topic[MCP_DIGEST_LEN]);
int mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);


#endif /* MCP_CORE_H_INCLUDED */
