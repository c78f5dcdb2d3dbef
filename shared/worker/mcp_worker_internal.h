/* SPDX-License-Identifier: Apache-2.0 */

/* Internal structures of a worker and of an exchange. All files of the core
 * that serve requests read and write parts of an exchange. */


#ifndef MCP_WORKER_INTERNAL_H_INCLUDED
#define MCP_WORKER_INTERNAL_H_INCLUDED


#include "mcp_exchange.h"
#include "mcp_timer.h"
#include "mcp_worker.h"
#include "rpc/mcp_rpc.h"
#include "rpc/mcp_session.h"
#include "rpc/mcp_trace.h"
#include "store/mcp_store.h"
#include "store/mcp_outcome.h"


typedef struct mcp_resume_method_s  mcp_resume_method_t;
typedef struct mcp_resume_state_s  mcp_resume_state_t;
typedef struct mcp_call_stats_entry_s mcp_call_stats_entry_t;

typedef struct mcp_operation_s      mcp_operation_t;
typedef struct mcp_asking_s         mcp_asking_t;
typedef struct mcp_broadcast_s      mcp_broadcast_t;
typedef struct mcp_cluster_hooks_s  mcp_cluster_hooks_t;


/* A notification that is delivered in slices, see mcp_notify_slice.c. */
typedef struct mcp_notify_part_s  mcp_notify_part_t;


/* An object of this worker that the store can wake. */
typedef struct {
    void      *object;         /* NULL: the handle is free */
    uint32_t   generation;
    uint32_t   next;           /* next free handle */
    void     (*wake)(void *object);
    void     (*stop)(void *object);    /* called when the process shuts down;
                                          may be NULL */
} mcp_handle_t;


/* Maximum number of consumers whose wake-up is delayed until the queue is
 * empty; the store stores further ones. */
#define MCP_WORKER_NOTED  16


struct mcp_worker_s {
    const mcp_env_t                   *env;
    mcp_store_t                       *store;
    mcp_worker_glue_t                  glue;
    const mcp_resume_method_t *const  *methods; /* resumption methods; ends with
                                                   NULL */

    const mcp_cluster_hooks_t  *cluster_hooks;
    void                       *cluster;  /* NULL: there is no cluster; see
                                             mcp_operation.h */
    void (
        *on_broadcast)(mcp_worker_t *worker, const mcp_broadcast_t *broadcast);

    mcp_queued_action_t               *head;
    mcp_queued_action_t              **tail;

    mcp_timers_t                       timers;
    mcp_timer_t                        sweep;
    mcp_timer_t                        cancel_poll;    /* armed while calls are
                                                          tracked */
    mcp_session_cache_t                sessions;

    mcp_handle_t                      *handles;
    uint32_t                           n_handles;
    uint32_t                           free_handle;
    unsigned                           patrol;  /* slot that was checked last */

    /* handles to be woken when the queue is empty */
    uint64_t                           noted[MCP_WORKER_NOTED];
    unsigned                           n_noted;

    unsigned char                      random[2048];   /* random bytes in
                                                          advance, see
                                                          mcp_worker_random() */
    size_t                             n_random;       /* number of unused
                                                          ones */

    uint64_t                           url_warned;     /* when the log last got
                                                          the warning about the
                                                          origin of stream URLs,
                                                          ms; 0: never */

    mcp_call_t                        *tracked; /* list of calls that are
                                                   neither durable nor over */
    mcp_call_stats_entry_t            *call_stats; /* rows of the call
                                                      statistics, see
                                                      mcp_call_stats.h */
    mcp_call_stats_entry_t            *last_call_stats; /* the row used last */
    unsigned                           exchanges;      /* number of exchanges
                                                          since the start */
    mcp_notify_part_t                 *notify;  /* queue of notifications, see
                                                   mcp_notify_slice.h */
    mcp_notify_part_t                 *notify_last;
    size_t                             notify_size;    /* bytes in the queue */
    mcp_timer_t                        notify_timer;   /* armed while the queue
                                                          is not empty */
    unsigned                           calls;   /* number of active calls of
                                                   this worker */
    unsigned                           consumers;
    unsigned                           asking;  /* number of exchanges that wait
                                                   for the cluster */
    uint32_t                           configuration;  /* see
                                                          mcp_worker_begin() */
    mcp_timer_t                        stay;  /* see mcp_catalog_change.c */
    uint64_t                           stay_until;
    unsigned                           announces:1;    /* 1: this is the first
                                                          process of its
                                                          configuration */
    unsigned                           stopping:1;
    unsigned                           header_missed:1; /* 1: the log has the
                                                           warning about a
                                                           missing header */
    unsigned                           leaving:1;  /* 1: the process shuts down
                                                      and waits for no other
                                                      configuration */
};


typedef enum {
    MCP_HTTP_POST = 0,
    MCP_HTTP_GET,
    MCP_HTTP_DELETE,
    MCP_HTTP_OPTIONS,
    MCP_HTTP_OTHER
} mcp_http_method_e;


typedef enum {
    MCP_EXCHANGE_HEAD = 0,
    MCP_EXCHANGE_BODY,          /* waits for the body */
    MCP_EXCHANGE_CLUSTER_WAIT,  /* waits for the cluster */
    MCP_EXCHANGE_WAIT,          /* waits for a call */
    MCP_EXCHANGE_RESPONSE,      /* the response is ready or was sent */
    MCP_EXCHANGE_STREAM,        /* is a consumer */
    MCP_EXCHANGE_ENDED
} mcp_exchange_state_e;


/* The progress of a consumer. */
typedef enum {
    MCP_CONSUMER_PRIMING = 0,  /* its first bytes have to be written */
    MCP_CONSUMER_READING,
    MCP_CONSUMER_LAST,         /* x->answer.out contains all remaining bytes */
    MCP_CONSUMER_DONE          /* the last bytes were pulled */
} mcp_consumer_state_e;


/* Whether the connection has to be closed before the end of the stream. */
typedef enum {
    MCP_CONSUMER_CLOSE_NOT = 0,
    MCP_CONSUMER_CLOSE_SOON,   /* when its client can resume */
    MCP_CONSUMER_CLOSE_NOW
} mcp_consumer_close_e;


/* The part of an exchange at the publish endpoint, see mcp_publish.c. */
typedef struct mcp_publish_s  mcp_publish_t;


/* Bits of headers that repeat values of the body, see mcp_exchange_head_t. */
#define MCP_HEAD_VERSION  0x01
#define MCP_HEAD_METHOD   0x02
#define MCP_HEAD_NAME     0x04

/* headers of the trace context; a repeated one is ignored */
#define MCP_HEAD_TRACE    0x08

/* The values of the request's headers. */
typedef struct {
    mcp_http_method_e      method;
    mcp_str_t              method_text;        /* Mcp-Method and Mcp-Name */
    mcp_str_t              name_text;
    unsigned               twice;      /* bits of the headers that occur more
                                          than once */
    const mcp_header_t    *params;     /* Mcp-Param-* without that prefix; see
                                          mcp_exchange_param.h */
    size_t                 n_params;
    unsigned               too_many_params:1;
    unsigned               stateless:1;        /* 1: the revision has no
                                                  sessions */
    mcp_str_t              session_text;
    mcp_str_t              revision_text;
    mcp_revision_e         revision;   /* of revision_text, or
                                          MCP_REVISION_NONE */
    mcp_str_t              event_id;
    mcp_str_t              host;       /* Host header, or the authority of the
                                          target */
    mcp_str_t              origin;
    mcp_str_t              content_type;
    mcp_str_t              authorization;
    mcp_trace_t            trace;      /* the first header of each kind */
    mcp_str_t              principal_name;
    int                  (*evaluate)(void *glue, size_t i, const void *value,
                                     mcp_str_t *text);
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned char          tenant[MCP_DIGEST_LEN];  /* digest for quotas, see
                                                       mcp_tenant.h */
} mcp_exchange_head_t;


/* The response of an exchange. */
typedef struct {
    mcp_buf_t              out;        /* the body, or bytes for the stream that
                                          are not in the log */
    mcp_response_t         response;
    mcp_fault_e            fault;      /* why a new call could not get a
                                          stream */
    const char            *outcome;    /* outcome of the HTTP request, for
                                          logs */
    unsigned               sent:1;     /* 1: a response that is not a stream was
                                          written completely */
    mcp_outcome_e          call_outcome; /* outcome of the call, once it is
                                          known */
} mcp_exchange_answer_t;


/* The digests by which equal calls are found for joining. */
typedef struct {
    unsigned char          digest[MCP_DIGEST_LEN];
    unsigned char          params[MCP_DIGEST_LEN];
    unsigned               once:1;     /* 1: joinable only until the response
                                          was sent, because there is no key */
} mcp_join_t;


/* The reader of a stream, from mcp_consumer_start() on; or, from
 * mcp_consumer_attach() on, a connection that only shows that its client is
 * there. */
typedef struct {
    mcp_stream_ref_t       ref;
    mcp_cursor_t           cursor;
    uint64_t               handle;
    uint64_t               first;      /* first event that the reader got */
    uint64_t               sent;       /* last event known to be written */
    uint64_t               last_write;
    uint64_t               close_at;
    size_t                 pos;        /* number of bytes of answer.out that
                                          were pulled */
    mcp_timer_t            timer;
    mcp_consumer_state_e   state;      /* see mcp_consumer_set_state() */
    mcp_consumer_close_e   close;
    unsigned               comment:1;
    unsigned               listener:1; /* 1: the stream has no call */
    unsigned               own:1;      /* 1: the stream belongs to this
                                          connection alone and ends with it; its
                                          first bytes are in answer.out */
    unsigned               bound:1;    /* 1: the call ends with the
                                          connection */
    unsigned               exact:1;    /* 1: a client that resumes names no
                                          event, so the sent events must be
                                          known exactly */
    unsigned               has_url:1;  /* 1: the client has a URL of the
                                          stream */
    unsigned               resumed:1;
    unsigned               held:1;     /* 1: its first bytes wait until other
                                          nodes have the stream */
    unsigned               headless:1; /* 1: so does the head of the response */
    unsigned               joins:1;    /* 1: a joined reader */
    unsigned               same_session:1;     /* 1: a joined reader of the same
                                                  session as the call's */
    unsigned               answered:1; /* 1: the response was copied */
    unsigned               whole:1;    /* 1: the client gets the response
                                          only */
    void                 (*woken)(void *x);    /* called instead of reading
                                                  while the connection only
                                                  shows the client's presence;
                                                  or NULL */
} mcp_exchange_reader_t;


/* The result of a rule of mcp_allow for this request. */
typedef enum {
    MCP_DECISION_NONE = 0,             /* not evaluated yet */
    MCP_DECISION_NO,
    MCP_DECISION_YES
} mcp_decision_e;


struct mcp_exchange_s {
    mcp_queued_action_t         queued;
    mcp_worker_t               *worker;
    const mcp_endpoint_t       *endpoint;
    void                       *glue;
    mcp_arena_t                 arena;      /* memory of the body and the parsed
                                               message */
    mcp_arena_t                 scratch;    /* temporary memory of
                                               mcp_exchange_parse() */
    mcp_exchange_state_e        state;      /* see mcp_exchange_set_state() */
    unsigned                    number;     /* number within this process, for
                                               the log */
    uint32_t                    cancels;    /* value of mcp_store_cancels() at
                                               the start */

    mcp_exchange_head_t         head;
    mcp_client_t                client;
    char                       *body;
    const mcp_rpc_t            *msg;        /* never NULL */
    mcp_call_t                 *call;
    const unsigned char        *call_id;    /* id of the call; NULL: there is
                                               none */
    mcp_publish_t              *publish;    /* NULL: not at the publish
                                               endpoint */
    mcp_asking_t               *asking;     /* see mcp_operation.h; NULL: it has
                                               not waited for the cluster */
    mcp_join_t                 *join;       /* NULL: the request cannot join or
                                               be joined */

    unsigned char              *decisions;  /* mcp_decision_e of each rule;
                                               NULL: none is evaluated */
    mcp_str_t                   granted;    /* scopes of the caller, if
                                               granted_known is set */
    unsigned                    granted_known:1;
    unsigned                    parsed:1;   /* 1: msg was parsed by
                                               mcp_exchange_parse() */
    unsigned                    allocated:1;       /* 1: allocated by the core,
                                                      which frees it */

    mcp_exchange_answer_t       answer;
    mcp_exchange_reader_t       reader;

    /* resumption */
    const mcp_resume_method_t  *resumption; /* method by which the request came;
                                               never NULL */
    mcp_resume_state_t         *states;     /* states of the methods that have
                                               one */

    mcp_variables_t             variables;
    char                        text[8 + 1 + 20];  /* storage for variables */
};


/* --- mcp_worker.c --- */

/* Creates a worker with the resumption methods in a list that ends with NULL;
 * otherwise as mcp_worker_create(). */
mcp_worker_t *mcp_worker_create_with_methods(const mcp_env_t *env,
    mcp_store_t *store, const mcp_worker_glue_t *glue,
    const mcp_resume_method_t *const *methods);

void mcp_worker_queue(mcp_worker_t *worker, mcp_queued_action_t *queued);
void mcp_worker_unqueue(mcp_worker_t *worker, mcp_queued_action_t *queued);

/* Creates a handle by which the store names an object of this worker; 0 when
 * out of memory. wake and stop: see mcp_handle_t. */
uint64_t mcp_worker_handle(mcp_worker_t *worker, void *object,
    void (*wake)(void *object), void (*stop)(void *object));
void mcp_worker_drop_handle(mcp_worker_t *worker, uint64_t handle);

/* Fills buf like env->random(), which is called for larger portions:
 * OpenSSL's generator takes as long for 16 bytes as for 512, and little more
 * for 2,048. */
int mcp_worker_random(mcp_worker_t *worker, void *buf, size_t len);

#define mcp_worker_now(worker)  ((worker)->env->now((worker)->env->ctx))

#define mcp_worker_logs(worker, level)  ((level) <= (worker)->env->log_level)

void mcp_worker_log(mcp_worker_t *worker, mcp_log_level_e level,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Writes the first 8 characters of a stream id's text, and a NUL, for
 * people. */
void mcp_stream_id_short(char out[9],
    const unsigned char id[MCP_STREAM_ID_LEN]);


#endif /* MCP_WORKER_INTERNAL_H_INCLUDED */
