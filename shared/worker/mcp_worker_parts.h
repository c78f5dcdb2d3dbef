/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of a worker and of an exchange, for the core's own files:
 * whatever serves a client's request reads and writes parts of its exchange.
 */


#ifndef MCP_WORKER_PARTS_H_INCLUDED
#define MCP_WORKER_PARTS_H_INCLUDED


#include "mcp_exchange.h"
#include "mcp_timer.h"
#include "mcp_worker.h"
#include "rpc/mcp_rpc.h"
#include "rpc/mcp_session.h"
#include "rpc/mcp_trace.h"
#include "store/mcp_store.h"
#include "store/mcp_ending.h"


typedef struct mcp_face_s        mcp_face_t;
typedef struct mcp_face_state_s  mcp_face_state_t;
typedef struct mcp_tally_place_s mcp_tally_place_t;

typedef struct mcp_ask_s            mcp_ask_t;
typedef struct mcp_asking_s         mcp_asking_t;
typedef struct mcp_word_s           mcp_word_t;
typedef struct mcp_cluster_hooks_s  mcp_cluster_hooks_t;


/* What the store wakes: an object of this worker. */
typedef struct {
    void      *object;         /* NULL: free */
    uint32_t   generation;
    uint32_t   next;           /* free list */
    void     (*wake)(void *object);
    void     (*stop)(void *object);    /* the process winds up; may be NULL */
} mcp_handle_t;


/* Consumers that were appended to, and not yet woken; the store remembers
 * more. */
#define MCP_WORKER_NOTED  16


struct mcp_worker_s {
    const mcp_env_t          *env;
    mcp_store_t              *store;
    mcp_worker_glue_t         glue;
    const mcp_face_t *const  *faces;   /* ends with NULL */

    const mcp_cluster_hooks_t  *cluster_hooks;
    void                       *cluster;       /* NULL: this node is alone; see
                                                  mcp_ask.h */
    void                      (*heard)(mcp_worker_t *worker,
                                       const mcp_word_t *word);

    mcp_errand_t             *head;
    mcp_errand_t            **tail;

    mcp_timers_t              timers;
    mcp_timer_t               sweep;
    mcp_timer_t               cancel_poll;     /* armed while calls are
                                                  tracked */
    mcp_session_cache_t       sessions;

    mcp_handle_t             *handles;
    uint32_t                  n_handles;
    uint32_t                  free_handle;
    unsigned                  patrol;  /* slot looked at last */

    uint64_t                  noted[MCP_WORKER_NOTED]; /* handles to be woken
                                                          when the queue is
                                                          empty */
    unsigned                  n_noted;

    unsigned char             random[2048];    /* drawn ahead, see
                                                  mcp_worker_random() */
    size_t                    n_random;        /* not yet given out */

    uint64_t                  url_warned;      /* when the log was told that no
                                                  URL can be made of what is
                                                  configured; 0: never */

    mcp_call_t               *tracked; /* neither durable nor over */
    mcp_tally_place_t        *tallies; /* see mcp_tally.h */
    mcp_tally_place_t        *tallied; /* the one asked for last */
    unsigned                  exchanges;       /* numbers given out */
    unsigned                  calls;   /* live calls owned here */
    unsigned                  consumers;
    unsigned                  asking;  /* exchanges that wait for the cluster */
    uint32_t                  configuration;   /* its number, see
                                                  mcp_worker_begin() */
    mcp_timer_t               stay;            /* see mcp_reload.c */
    uint64_t                  stay_until;
    unsigned                  announces:1;     /* the first process of its
                                                  configuration */
    unsigned                  stopping:1;
    unsigned                  header_missed:1; /* the log was told */
    unsigned                  leaving:1;       /* stopping, and nothing of
                                                  another configuration is
                                                  waited for */
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
    MCP_EXCHANGE_BODY,         /* waits for the body */
    MCP_EXCHANGE_ASK,          /* waits for the cluster */
    MCP_EXCHANGE_WAIT,         /* waits for a call */
    MCP_EXCHANGE_RESPONSE,     /* the answer is ready or given */
    MCP_EXCHANGE_STREAM,       /* is a consumer */
    MCP_EXCHANGE_ENDED
} mcp_exchange_state_e;


/* How far a consumer is. */
typedef enum {
    MCP_CONSUMER_PRIMING = 0,  /* its first bytes are to be written */
    MCP_CONSUMER_READING,
    MCP_CONSUMER_LAST,         /* x->answer.out is all that there will be */
    MCP_CONSUMER_DONE          /* the last bytes were pulled */
} mcp_consumer_state_e;


/* Whether its connection is to be closed while the stream goes on. */
typedef enum {
    MCP_CONSUMER_CLOSE_NOT = 0,
    MCP_CONSUMER_CLOSE_SOON,   /* when its client can come back */
    MCP_CONSUMER_CLOSE_NOW
} mcp_consumer_close_e;


/* The publish endpoint's part of an exchange, see mcp_publish.c. */
typedef struct mcp_publish_s  mcp_publish_t;


/* Headers that mirror the body; see mcp_exchange_head_t. */
#define MCP_HEAD_VERSION  0x01
#define MCP_HEAD_METHOD   0x02
#define MCP_HEAD_NAME     0x04

/* Trace context, of which more lines mean nothing. */
#define MCP_HEAD_TRACE    0x08

/* What the head of a request says. */
typedef struct {
    mcp_http_method_e      method;
    mcp_str_t              method_text;        /* Mcp-Method, Mcp-Name */
    mcp_str_t              name_text;
    unsigned               twice;      /* bits of those that stand twice */
    const mcp_header_t    *params;     /* Mcp-Param-*, without that; see
                                          mcp_exchange_param.h */
    size_t                 n_params;
    unsigned               too_many_params:1;
    unsigned               stateless:1;        /* says its revision */
    mcp_str_t              session_text;
    mcp_str_t              revision_text;
    mcp_revision_e         revision;   /* of that; MCP_REVISION_NONE */
    mcp_str_t              event_id;
    mcp_str_t              host;       /* or that of the target */
    mcp_str_t              origin;
    mcp_str_t              content_type;
    mcp_str_t              authorization;
    mcp_trace_t            trace;      /* the first line of each */
    mcp_str_t              principal_name;
    int                  (*evaluate)(void *glue, size_t i, const void *value,
                                     mcp_str_t *text);
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned char          party[MCP_DIGEST_LEN];  /* see mcp_party.h */
} mcp_exchange_head_t;


/* What the client gets. */
typedef struct {
    mcp_buf_t              out;        /* the answer, or what goes to the
                                          stream but is not in the log */
    mcp_response_t         response;
    mcp_fault_e            refusal;    /* why a new call could not be kept */
    const char            *outcome;    /* of this HTTP request */
    unsigned               sent:1;     /* written in full, and no stream */
    mcp_ending_e           ending;     /* of its call, once that is known */
} mcp_exchange_answer_t;


/* What a call asks for, where others of the same may join it. */
typedef struct {
    unsigned char          digest[MCP_DIGEST_LEN];
    unsigned char          params[MCP_DIGEST_LEN];
    unsigned               once:1;     /* until its response was sent: there is
                                          no key */
} mcp_join_t;


/* The reader of a stream, from mcp_consumer_start() on; or one that shows that
 * its client is there, from mcp_consumer_attach() on. */
typedef struct {
    mcp_stream_ref_t       ref;
    mcp_cursor_t           cursor;
    uint64_t               handle;
    uint64_t               first;      /* cursor it began with */
    uint64_t               sent;       /* last event known to be written */
    uint64_t               last_write;
    uint64_t               close_at;
    size_t                 pos;        /* of answer.out, pulled */
    mcp_timer_t            timer;
    mcp_consumer_state_e   state;      /* see mcp_consumer_set_state() */
    mcp_consumer_close_e   close;
    unsigned               comment:1;
    unsigned               listener:1; /* of a stream that has no call */
    unsigned               own:1;      /* the stream is this connection's alone:
                                          it goes with it, and the first bytes
                                          are in answer.out */
    unsigned               bound:1;    /* the call ends with it */
    unsigned               exact:1;    /* who comes back names no event: what
                                          was sent must be known */
    unsigned               has_url:1;  /* its client has a URL of the stream */
    unsigned               resumed:1;
    unsigned               held:1;     /* its first bytes wait for other nodes
                                          to know the stream */
    unsigned               headless:1; /* so does its head */
    unsigned               joins:1;    /* it reads beside the consumer */
    unsigned               same_session:1;     /* as who began what it joins */
    unsigned               answered:1; /* what it copies had its response */
    unsigned               whole:1;    /* what is answered is the response */
    void                 (*woken)(void *x);    /* while it shows only that; or
                                                  NULL */
} mcp_exchange_reader_t;


/* Of a rule of mcp_allow, for this request. */
typedef enum {
    MCP_DECISION_NONE = 0,             /* it is not evaluated */
    MCP_DECISION_NO,
    MCP_DECISION_YES
} mcp_decision_e;


struct mcp_exchange_s {
    mcp_errand_t           errand;
    mcp_worker_t          *worker;
    const mcp_endpoint_t  *endpoint;
    void                  *glue;
    mcp_arena_t            arena;      /* body, parsed; see below */
    mcp_arena_t            scratch;    /* of mcp_exchange_parse() */
    mcp_exchange_state_e   state;      /* see mcp_exchange_set_state() */
    unsigned               number;     /* of this process, for the log */
    uint32_t               cancels;    /* mcp_store_cancels() as it began */

    mcp_exchange_head_t    head;
    mcp_client_t           client;
    char                  *body;
    const mcp_rpc_t       *msg;        /* never NULL */
    mcp_call_t            *call;
    const unsigned char   *call_id;    /* its, NULL: there is none */
    mcp_publish_t         *publish;    /* NULL: not at that endpoint */
    mcp_asking_t          *asking;     /* see mcp_ask.h; NULL: it never waits
                                          for the cluster */
    mcp_join_t            *join;       /* NULL: nobody may join what it asks
                                          for */

    unsigned char         *decisions;  /* mcp_decision_e, of each rule; NULL:
                                          none is made */
    mcp_str_t              granted;    /* scopes, if they are known */
    unsigned               granted_known:1;
    unsigned               parsed:1;   /* msg is there before its turn */
    unsigned               allocated:1;        /* by the core: it frees it */

    mcp_exchange_answer_t  answer;
    mcp_exchange_reader_t  reader;

    /* faces */
    const mcp_face_t      *face;       /* by which it came; never NULL */
    mcp_face_state_t      *states;     /* of those that keep something */

    mcp_facts_t            facts;
    char                   text[8 + 1 + 20];   /* of facts */
};


/* --- mcp_worker.c --- */

/* What mcp_worker_create() of mcp_worker.h does, for whoever knows the faces:
 * a list that ends with NULL. */
mcp_worker_t *mcp_worker_create_with_faces(const mcp_env_t *env,
    mcp_store_t *store, const mcp_worker_glue_t *glue,
    const mcp_face_t *const *faces);

void mcp_worker_queue(mcp_worker_t *worker, mcp_errand_t *errand);
void mcp_worker_unqueue(mcp_worker_t *worker, mcp_errand_t *errand);

/* Makes a handle by which the store names an object of this worker; 0 when out
 * of memory.  wake and stop as in mcp_handle_t. */
uint64_t mcp_worker_handle(mcp_worker_t *worker, void *object,
    void (*wake)(void *object), void (*stop)(void *object));
void mcp_worker_drop_handle(mcp_worker_t *worker, uint64_t handle);

/* env->random, drawn in larger portions: asking OpenSSL's generator costs as
 * much for 16 bytes as for 512, and little more for 2,048. */
int mcp_worker_random(mcp_worker_t *worker, void *buf, size_t len);

#define mcp_worker_now(worker)  ((worker)->env->now((worker)->env->ctx))

#define mcp_worker_logs(worker, level)  ((level) <= (worker)->env->log_level)

void mcp_worker_log(mcp_worker_t *worker, mcp_log_level_e level,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The first 8 characters of a stream id's text, for people: NUL-terminated. */
void mcp_stream_id_short(char out[9],
    const unsigned char id[MCP_STREAM_ID_LEN]);


#endif /* MCP_WORKER_PARTS_H_INCLUDED */
