/* SPDX-License-Identifier: Apache-2.0 */

/* Internal structures of a worker and of an exchange. All files of the core
 * that serve requests use the members of an exchange directly. */


#ifndef MCP_WORKER_INTERNAL_H_INCLUDED
#define MCP_WORKER_INTERNAL_H_INCLUDED


#include "config/mcp_endpoint_internal.h"
#include "mcp_exchange.h"
#include "mcp_timer.h"
#include "mcp_worker.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_rpc.h"
#include "rpc/mcp_session.h"
#include "rpc/mcp_trace.h"
#include "store/mcp_store.h"
#include "store/mcp_store_call_stats.h"


typedef struct mcp_resume_method_s  mcp_resume_method_t;
typedef struct mcp_resume_state_s  mcp_resume_state_t;
typedef struct mcp_call_stats_entry_s mcp_call_stats_entry_t;
typedef struct mcp_upstream_entry_s mcp_upstream_entry_t;
typedef struct mcp_upstream_page_s  mcp_upstream_page_t;
typedef struct mcp_upstream_tool_s  mcp_upstream_tool_t;
typedef struct mcp_upstream_session_use_s  mcp_upstream_session_use_t;

/* A list of requests that wait for a session at an MCP server, oldest first,
 * see call/mcp_upstream_wait.h. */
typedef struct {
    struct mcp_upstream_session_s   *first;    /* NULL: the list is empty */
    struct mcp_upstream_session_s  **last;     /* address of the last pointer,
                                                  valid unless the list is
                                                  empty */
} mcp_upstream_waiters_t;

typedef struct mcp_operation_s      mcp_operation_t;
typedef struct mcp_operations_s         mcp_operations_t;
typedef struct mcp_operation_spec_s mcp_operation_spec_t;
typedef struct mcp_broadcast_s      mcp_broadcast_t;
typedef struct mcp_cluster_hooks_s  mcp_cluster_hooks_t;


/* A notification that is delivered in slices, see mcp_notification.c. */
typedef struct mcp_notify_entry_s  mcp_notify_entry_t;


/* An object of this worker that the store can wake. */
typedef struct {
    void      *object;         /* NULL: the handle is free */
    uint32_t   generation;
    uint32_t   next;           /* next entry of the list of free handles */
    void     (*wake)(void *object);
    void     (*stop)(void *object);    /* called when the process shuts down;
                                          may be NULL */
} mcp_handle_t;


/* Maximum number of consumers that the worker wakes when the queue of actions
 * is empty. Wake-ups for further consumers are stored in the zone. */
#define MCP_WORKER_NOTED  16

/* Number of lists in mcp_worker_t.uses. */
#define MCP_WORKER_USES   64

/* Number of counters in mcp_worker_t.lists_changed. */
#define MCP_WORKER_LISTS  64


struct mcp_worker_s {
    const mcp_env_t                   *env;
    mcp_store_t                       *store;
    mcp_worker_glue_t                  glue;
    const mcp_resume_method_t *const  *methods; /* resumption methods; ends with
                                                   NULL */

    const mcp_cluster_hooks_t  *cluster_hooks;
    void                       *cluster;  /* argument of cluster_hooks, see
                                             mcp_cluster_operation.h; NULL:
                                             there is no cluster */
    void (
        *on_broadcast)(mcp_worker_t *worker, const mcp_broadcast_t *broadcast);

    mcp_queued_action_t               *head;
    mcp_queued_action_t              **tail;

    mcp_timers_t                       timers;
    mcp_timer_t                        sweep;
    mcp_timer_t                        cancel_poll;    /* armed while the list
                                                          "tracked" has calls */
    mcp_session_cache_t                sessions;
    mcp_upstream_about_t              *abouts; /* list of the descriptions that
                                                  MCP servers have sent at least
                                                  once */
    mcp_upstream_tool_t               *tools;  /* tools of MCP servers with
                                                  headers, the most recently
                                                  listed one first */
    unsigned                           n_tools;
    mcp_upstream_page_t               *pages;  /* cached lists of MCP servers,
                                                  the most recently used page
                                                  first */
    unsigned                           n_pages;
    size_t                             pages_size;     /* bytes of the texts of
                                                          all cached pages */
    uint64_t                           lists_changed[MCP_WORKER_LISTS]; /* how
                                          often a list was removed from the
                                          cache; different lists may share a
                                          counter */
    struct mcp_upstream_session_s     *openings;   /* sessions at MCP servers
                                                      that are being opened */
    mcp_upstream_waiters_t             released;   /* requests that have waited
                                                      for a session at an MCP
                                                      server, and are started
                                                      next */
    mcp_timer_t                        release_timer;  /* armed while "released"
                                                          has requests */
    struct mcp_upstream_listen_s      *listens;    /* GET streams that are open
                                                      at MCP servers */
    struct mcp_upstream_session_s     *listeners;  /* sessions at MCP servers
                                                      whose requests use a GET
                                                      stream */

    mcp_upstream_session_use_t        *uses[MCP_WORKER_USES]; /* the sessions
                                          at MCP servers that requests use, in
                                          lists by key */
    uint64_t                           uses_renewed_at;        /* when these
                                          sessions were renewed in the zone,
                                          ms */

    mcp_handle_t                      *handles;
    uint32_t                           n_handles;
    uint32_t                           free_handle;
    unsigned                           patrol;  /* slot that
                                                   mcp_worker_patrol() has
                                                   checked last */

    /* handles of the consumers to be woken when the queue of actions is
     * empty */
    uint64_t                           noted[MCP_WORKER_NOTED];
    unsigned                           n_noted;

    unsigned char                      random[2048];   /* random bytes for
                                                          mcp_worker_random() */
    size_t                             n_random;       /* number of bytes in
                                                          "random" that are
                                                          unused */

    uint64_t                           url_warned;     /* when a warning about
                                                          the origin of stream
                                                          URLs was last logged,
                                                          ms; 0: never */

    mcp_call_t                        *tracked; /* list of the calls that are
                                                   polled for marks of
                                                   cancellation, because they
                                                   are not durable yet */
    mcp_call_t                        *rounds;  /* list of the calls that have
                                                   sent a question of an MCP
                                                   server to a client without a
                                                   session */
    mcp_call_stats_entry_t            *call_stats; /* rows of the call
                                                      statistics for each
                                                      catalog key */
    mcp_upstream_entry_t              *upstreams;  /* rows of the statistics of
                                                      MCP servers */
    unsigned                           exchanges;      /* number of exchanges
                                                          that were created
                                                          since the start of
                                                          the process */
    mcp_notify_entry_t                *notify;  /* queue of notifications that
                                                   some subscribers have not
                                                   got yet, see
                                                   mcp_notification.c */
    mcp_notify_entry_t                *notify_last;
    size_t                             notify_size;    /* size of the queue
                                                          of notifications,
                                                          bytes */
    mcp_timer_t                        notify_timer;   /* armed while the queue
                                                          of notifications is
                                                          not empty */
    unsigned                           calls;   /* number of active calls of
                                                   this worker */
    unsigned                           consumers;      /* number of exchanges
                                                          in the state STREAM */
    unsigned                           n_waiting; /* number of exchanges in the
                                                       states WAIT and
                                                       CLUSTER_WAIT: the process
                                                       must not end before they
                                                       have a response */
    uint32_t                           configuration;  /* number of the
                                                          process's
                                                          configuration, see
                                                          mcp_worker_begin() */
    mcp_timer_t                        stay;  /* armed while a process that
                                                 shuts down waits for the next
                                                 configuration, see
                                                 mcp_catalog_change.c */
    uint64_t                           stay_until;     /* latest time when the
                                                          process stops waiting
                                                          for the next
                                                          configuration, ms */
    unsigned                           stopping:1;     /* 1: the process shuts
                                                          down */
    unsigned                           ending:1;  /* 1: the process shuts down
                                                     at once */
    unsigned                           header_missed:1; /* 1: the notice about a
                                                           request without a
                                                           required header was
                                                           logged */
    unsigned                           leaving:1;  /* 1: the process shuts down
                                                      and no longer waits for
                                                      the next configuration */
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
    MCP_EXCHANGE_BODY,          /* the exchange waits for the body */
    MCP_EXCHANGE_CLUSTER_WAIT,  /* the exchange waits for a cluster operation */
    MCP_EXCHANGE_WAIT,          /* the exchange waits for its own call, or for
                                   the call of another request */
    MCP_EXCHANGE_RESPONSE,      /* the response is ready or was sent */
    MCP_EXCHANGE_STREAM,        /* the exchange is a consumer or a joined
                                   reader */
    MCP_EXCHANGE_ENDED
} mcp_exchange_state_e;


/* The progress of a consumer in writing its response. */
typedef enum {
    MCP_CONSUMER_PRIMING = 0,  /* the first bytes after the head are not
                                  written yet */
    MCP_CONSUMER_READING,
    MCP_CONSUMER_LAST,         /* x->output.out contains all remaining bytes */
    MCP_CONSUMER_DONE          /* the last bytes were pulled */
} mcp_consumer_state_e;


/* Whether the server has to close the connection of a consumer before its
 * stream is over. */
typedef enum {
    MCP_CONSUMER_CLOSE_NOT = 0,
    MCP_CONSUMER_CLOSE_SOON,   /* close the connection as soon as the client can
                                  resume */
    MCP_CONSUMER_CLOSE_NOW
} mcp_consumer_close_e;


/* The state of a request to the publish endpoint, see mcp_publish.c. */
typedef struct mcp_publish_s  mcp_publish_t;


/* One bit for each header that repeats a value of the body:
 * MCP-Protocol-Version, Mcp-Method and Mcp-Name. */
#define MCP_HEAD_VERSION  0x01
#define MCP_HEAD_METHOD   0x02
#define MCP_HEAD_NAME     0x04

/* bit of the trace headers; if such a header is repeated, its first value is
 * used */
#define MCP_HEAD_TRACE    0x08

/* The values of the request's headers. */
typedef struct {
    mcp_http_method_e      method;
    mcp_str_t              method_text;        /* Mcp-Method and Mcp-Name */
    mcp_str_t              name_text;
    unsigned               twice;      /* MCP_HEAD_... bits of the headers that
                                          occur more than once; MCP_HEAD_TRACE
                                          has no meaning here */
    const mcp_header_t    *params;     /* names and values of the headers
                                          Mcp-Param-*, without that prefix; see
                                          mcp_stateless.h */
    size_t                 n_params;
    unsigned               too_many_params:1;
    unsigned               stateless:1;        /* 1: the revision has no
                                                  sessions */
    mcp_str_t              session_text;
    mcp_str_t              revision_text;
    mcp_revision_e         revision;   /* revision named by revision_text, or
                                          MCP_REVISION_NONE */
    mcp_str_t              event_id;
    mcp_str_t              host;       /* Host header, or the authority of the
                                          request target */
    mcp_str_t              origin;
    mcp_str_t              content_type;
    mcp_str_t              authorization;
    mcp_trace_t            trace;      /* trace context; if a header is
                                          repeated, its first value */
    mcp_str_t              principal_name;
    int                  (*evaluate)(void *glue, size_t i, const void *value,
                                     mcp_str_t *text);
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned char          tenant[MCP_DIGEST_LEN];  /* digest of the tenant
                                                       for quotas, see
                                                       mcp_tenant.h */
} mcp_exchange_head_t;


/* The response of an exchange. */
typedef struct {
    mcp_buf_t              out;        /* body of the response; for a stream,
                                          bytes to be written that are not
                                          events in the store */
    mcp_response_t         response;
    mcp_fault_e            fault;      /* reason why a new call cannot get a
                                          stream; NONE: there is no such
                                          reason */
    const char            *outcome;    /* outcome of the HTTP request
                                          ($mcp_outcome) */
    unsigned               sent:1;     /* 1: a response that is not a stream was
                                          written completely */
    mcp_outcome_e          call_outcome; /* outcome of the call, as soon as it
                                            has ended */
} mcp_exchange_output_t;


/* The digests by which a request finds an equal call to join. */
typedef struct {
    unsigned char          digest[MCP_DIGEST_LEN];     /* digest that all equal
                                                          calls have in
                                                          common */
    unsigned char          params[MCP_DIGEST_LEN];     /* value of
                                                          mcp_digest_params() */
    unsigned               once:1;     /* 1: the request has no idempotency key,
                                          so other requests can join its call
                                          only until the response has been
                                          sent */
} mcp_join_t;


/* The reader of a stream. From mcp_consumer_attach() on, its connection is the
 * stream's consumer or a joined reader; from mcp_consumer_start() on, it
 * writes events to an SSE response. */
typedef struct {
    mcp_stream_ref_t       ref;
    mcp_cursor_t           cursor;
    uint64_t               handle;
    uint64_t               first;      /* event after which the reader has
                                          started */
    uint64_t               sent;       /* last event that was written to the
                                          socket */
    uint64_t               last_write; /* when bytes were last written, ms */
    uint64_t               close_at;   /* when the connection has to be closed,
                                          ms; 0: no time is set */
    uint64_t               pull_at;    /* when the stream has to be read even if
                                          it has not changed, ms; 0: no time is
                                          set */
    size_t                 pos;        /* number of bytes of output.out that
                                          the glue has pulled */
    mcp_timer_t            timer;
    mcp_consumer_state_e   state;      /* see mcp_consumer_set_state() */
    mcp_consumer_close_e   close;
    unsigned               comment:1;  /* 1: a comment has to be written if
                                          there is no event to write */
    unsigned               listener:1; /* 1: the stream has no call */
    unsigned               own:1;      /* 1: the stream has been created for
                                          this connection, and is freed with
                                          it; its first bytes are in
                                          output.out */
    unsigned               bound:1;    /* 1: the client cannot resume the
                                          stream */
    unsigned               exact:1;    /* 1: a client that resumes does not name
                                          an event, so x->reader.sent must be
                                          exact when the connection is closed.
                                          It is exact only before a read. */
    unsigned               has_url:1;  /* 1: the head of the response contains
                                          a URL of the stream */
    unsigned               resumed:1;
    unsigned               held:1;     /* 1: the first bytes after the head
                                          wait until other nodes have the
                                          stream */
    unsigned               headless:1; /* 1: the head of the response waits
                                          until other nodes have the stream */
    unsigned               joins:1;    /* 1: a joined reader, not the
                                          consumer */
    unsigned               same_session:1;     /* 1: a joined reader whose
                                                  session is that of the
                                                  call */
    unsigned               answers:1;  /* 1: the request has passed answers to
                                          the call whose stream it reads */
    unsigned               rounds:1;   /* 1: a question of the call may end
                                          this response; the client has no
                                          session */
    unsigned               answered:1; /* 1: the response of the call was
                                          written with the id of this
                                          request */
    mcp_error_type_e       error;      /* class of the error in this response,
                                          NONE if it is successful */
    unsigned               whole:1;    /* 1: the client gets only the response,
                                          as plain JSON */
    void                 (*woken)(void *x);    /* handler of a wake-up before
                                                  mcp_consumer_start(); may be
                                                  NULL */
} mcp_exchange_reader_t;


/* The result of an access rule (mcp_allow) for the caller of a request. */
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
    mcp_arena_t                 arena;      /* memory for the body and the
                                               parsed message */
    mcp_arena_t                 scratch;    /* temporary memory of
                                               mcp_exchange_parse() */
    mcp_exchange_state_e        state;      /* see mcp_exchange_set_state() */
    unsigned                    number;     /* number of the exchange in this
                                               process, for the log */
    uint32_t                    cancels;    /* value of mcp_store_cancels()
                                               when the exchange began */
    uint64_t                    received;   /* when the message was received,
                                               ms */

    mcp_exchange_head_t         head;
    mcp_client_t                client;
    char                       *body;
    const mcp_rpc_t            *msg;        /* never NULL */
    mcp_call_t                 *call;

    /* Returns 1 if the exchange's own call waits for its client or for
     * published messages. NULL: no own call. */
    int                       (*call_waits)(const mcp_call_t *call);

    const unsigned char        *call_id;    /* id of the exchange's own call;
                                               NULL: none */
    mcp_publish_t              *publish;    /* state of a request to the publish
                                               endpoint; NULL: the request is
                                               for another URL */
    mcp_operations_t           *operations; /* cluster operations of the
                                                   exchange, see
                                                   mcp_cluster_operation.c;
                                                   NULL: it has no entry
                                                   function */
    mcp_join_t                 *join;       /* digests to find an equal call;
                                               NULL: the request can neither
                                               join a call nor begin one that
                                               others can join */

    unsigned char              *decisions;  /* mcp_decision_e of each access
                                               rule; NULL: no rule was
                                               evaluated */
    mcp_str_t                   granted;    /* scopes of the caller; valid if
                                               granted_known is 1 */
    unsigned                    granted_known:1;
    unsigned                    parsed:1;   /* 1: msg was parsed by
                                               mcp_exchange_parse() */
    unsigned                    counted:1;  /* 1: the duration of the message
                                               was counted, or the call counts
                                               it */
    unsigned                    described:1;  /* 1: the description of the MCP
                                                 server that is the backend was
                                                 requested */
    unsigned                    state_opened:1; /* 1: msg has the backend's
                                                   request state, not the sealed
                                                   one of the client */
    mcp_next_e                (*entry)(mcp_exchange_t *x);     /* called when
                                                 the glue has passed an empty
                                                 body; NULL: the body is a
                                                 message, or "operations" has
                                                 the entry function */

    /* called when the MCP servers that the exchange waits for have responded or
     * failed, see mcp_exchange_session.h and mcp_exchange_session.c */
    mcp_next_e                (*respond)(mcp_exchange_t *x);
    unsigned                    allocated:1;       /* 1: the core has allocated
                                                      the exchange, and frees
                                                      it */

    mcp_exchange_output_t       output;
    mcp_exchange_reader_t       reader;

    /* resumption */
    const mcp_resume_method_t  *resumption; /* resumption method of the
                                               request; by default the first
                                               one, never NULL */
    mcp_resume_state_t         *states;     /* list of the states of resumption
                                               methods, see mcp_hook_state() */

    mcp_variables_t             variables;
    char                        text[8 + 1 + 20];  /* memory for the values of
                                                      variables */
};


/* --- mcp_worker.c --- */

/* Creates a worker like mcp_worker_create(), with the resumption methods of a
 * list that ends with NULL. */
mcp_worker_t *mcp_worker_create_with_methods(const mcp_env_t *env,
    mcp_store_t *store, const mcp_worker_glue_t *glue,
    const mcp_resume_method_t *const *methods);

/* mcp_worker_queue() appends an entry to the queue of actions. An entry that is
 * already in the queue keeps its place. mcp_worker_unqueue() removes an
 * entry. */
void mcp_worker_queue(mcp_worker_t *worker, mcp_queued_action_t *queued);
void mcp_worker_unqueue(mcp_worker_t *worker, mcp_queued_action_t *queued);

/* Returns a new handle by which the store names an object of this worker, or 0
 * when out of memory. "wake" is called when the store wakes the object. "stop",
 * which may be NULL, is called when the process shuts down. */
uint64_t mcp_worker_handle(mcp_worker_t *worker, void *object,
    void (*wake)(void *object), void (*stop)(void *object));
void mcp_worker_drop_handle(mcp_worker_t *worker, uint64_t handle);

/*
 * Fills buf with len random bytes, at most 2,048. Calls env->random() only
 * when the stored bytes are used up, because OpenSSL's generator needs the
 * same time for 16 bytes as for 512, and little more for 2,048. Returns MCP_OK
 * or MCP_ERR_INTERNAL.
 */
int mcp_worker_random(mcp_worker_t *worker, void *buf, size_t len);

#define mcp_worker_now(worker)  ((worker)->env->now((worker)->env->ctx))

#define mcp_worker_logs(worker, level)  ((level) <= (worker)->env->log_level)

void mcp_worker_log(mcp_worker_t *worker, mcp_log_level_e level,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Writes the first 8 characters of the text of a stream id, and a NUL, for log
 * lines and variables. */
void mcp_stream_id_short(char out[9],
    const unsigned char id[MCP_STREAM_ID_LEN]);


#endif /* MCP_WORKER_INTERNAL_H_INCLUDED */
