/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of the Apache glue share.  The protocol lives in shared/;
 * here is only how httpd carries it.
 *
 *   mod_mcp.c          hooks
 *   mod_mcp_config.c   directives, sections and what they inherit
 *   mod_mcp_child.c    shared zone, this process's worker, wake-ups, actions
 *   mod_mcp_event.c    what else is known of the event MPM
 *   mod_mcp_pump.c     the thread that waits for all: timers, bells, streams
 *   mod_mcp_handler.c  client requests: head, body, response
 *   mod_mcp_secret.c   what logs must not show of a URL
 *   mod_mcp_stream.c   a client that reads a stream
 *   mod_mcp_job.c      backend calls: who runs them, threads
 *   mod_mcp_snapshot.c what a client's request leaves behind for them
 *   mod_mcp_fetch.c    one internal request and its answer
 *   mod_mcp_proxy.c    ending a call whose backend is silent
 *   mod_mcp_tls.c      calls of clients that came over TLS
 *   mod_mcp_note.c     notes and environment: %{mcp-...}n, MCP_*
 *   mod_mcp_status.c   status handler, line in mod_status
 */

#ifndef MOD_MCP_H
#define MOD_MCP_H

#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_expr.h"
#include "ap_mpm.h"
#include "apr_strings.h"
#include "apr_thread_cond.h"
#include "apr_thread_mutex.h"

#include "mcp_call.h"
#include "mcp_exchange.h"
#include "mcp_http.h"
#include "mcp_setup.h"
#include "mcp_timer.h"
#include "mcp_zone.h"

extern module AP_MODULE_DECLARE_DATA mcp_module;
APLOG_USE_MODULE(mcp);

/* --- mod_mcp_config.c --- */

#define MOD_MCP_HANDLER          "mcp"
#define MOD_MCP_PUBLISH_HANDLER  "mcp-publish"
#define MOD_MCP_STATUS_HANDLER   "mcp-status"

/* Of the whole server; from the main server's configuration. */
typedef struct {
    apr_size_t store_size;              /* bytes, MCPStore */
    int threads;                        /* job threads, MCPThreads; -1: as
                                           many as ThreadsPerChild */
    apr_interval_time_t hold;           /* MCPHold, 0: no limit */
    unsigned has_store:1;               /* these were said */
    unsigned has_threads:1;
    unsigned has_hold:1;
} mod_mcp_global_t;

/*
 * A section, or the sections that apply to a request merged.  Sections are
 * merged anew for every request, and calls outlive theirs, so that there is
 * one of these for every combination that ever occurs: merging finds it.
 * All live as long as the configuration.
 */
typedef struct mod_mcp_dir_t mod_mcp_dir_t;

struct mod_mcp_dir_t {
    mcp_setup_t *setup;
    ap_expr_info_t *principal;          /* NULL: r->user */
    ap_expr_info_t *link_origin;        /* NULL: from the request */
    int publish_open;                   /* -1: not said */
    apr_off_t max_body;                 /* bytes; -1: not said */

    mod_mcp_dir_t *add;                 /* merged out of its parent and this */
    mod_mcp_dir_t *children;            /* what it was merged into so far */
    mod_mcp_dir_t *next;
    mcp_endpoint_t *endpoint;           /* NULL until it is asked for */
};

#define MOD_MCP_MAX_BODY  (1024 * 1024)

extern const command_rec mod_mcp_directives[];

void *mod_mcp_create_server_config(apr_pool_t *p, server_rec *s);
void *mod_mcp_merge_server_config(apr_pool_t *p, void *base, void *add);
void *mod_mcp_create_dir_config(apr_pool_t *p, char *dir);
void *mod_mcp_merge_dir_config(apr_pool_t *p, void *base, void *add);

/* Of the main server. */
const mod_mcp_global_t *mod_mcp_global(server_rec *s);

/* pre_config: forgets the last configuration. */
int mod_mcp_config_reset(apr_pool_t *pconf);

/* check_config: what only shows once all is read. */
int mod_mcp_config_check(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s);

/* The sections that apply to a request; never NULL. */
mod_mcp_dir_t *mod_mcp_dir(request_rec *r);

/* The endpoint they make, which lives as long as the configuration; NULL when
 * out of memory.  Threads may ask at once. */
const mcp_endpoint_t *mod_mcp_endpoint(mod_mcp_dir_t *dir,
                                       const mcp_keys_t *keys);

/* 1 if uri is, or lies below, one that a directive names as a backend. */
int mod_mcp_is_backend(const char *uri);

/* 1 if the request is for a path below an endpoint's, not for that. */
int mod_mcp_is_below_endpoint(request_rec *r);

/* --- mod_mcp_child.c --- */

typedef struct mod_mcp_client_t mod_mcp_client_t;
typedef struct mod_mcp_run_t mod_mcp_run_t;
typedef struct mod_mcp_event_t mod_mcp_event_t;
typedef struct mod_mcp_snapshot_t mod_mcp_snapshot_t;

/* Whether this process is told to end. */
typedef enum {
    MOD_MCP_SERVING = 0,
    MOD_MCP_WINDING_UP,                 /* gracefully: calls run on */
    MOD_MCP_ENDING                      /* at once */
} mod_mcp_end_e;

/* This process's part in the zone.  The core is not thread-safe: everything
 * of it is used between mod_mcp_lock() and mod_mcp_unlock(). */
typedef struct {
    server_rec *server;                 /* the main one */
    apr_pool_t *pool;                   /* pchild */
    mcp_env_t env;
    apr_uint64_t epoch;                 /* ms, see mcp_zone_epoch() */
    mcp_store_t store;
    mcp_worker_t worker;
    int bell;                           /* eventfd: other processes, and our
                                           own threads, wake the pump */
    int threads;                        /* ThreadsPerChild */
    int ready;                          /* attached, the pump runs */
    int threaded;                       /* not prefork */
    int async;                          /* connections can be suspended */
    mod_mcp_end_e end;                  /* under the lock; read without it
                                         * once, so it is written atomically */
} mod_mcp_child_t;

extern mod_mcp_child_t mod_mcp_child;

/* The keys of those who configure none; from the zone. */
const mcp_keys_t *mod_mcp_zone_keys(void);

int mod_mcp_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                        apr_pool_t *ptemp, server_rec *s);
void mod_mcp_child_init(apr_pool_t *pchild, server_rec *s);
void mod_mcp_child_stopping(apr_pool_t *pchild, int graceful);

/* A clock that nobody sets; and the store's time, which goes with it, in ms. */
apr_time_t mod_mcp_now(void);
apr_uint64_t mod_mcp_now_ms(void);

void mod_mcp_lock(void);

/* Carries out what the core asked for meanwhile, and sees that the pump wakes
 * in time for its next deadline. */
void mod_mcp_unlock(void);

/* The first half of that: 1 if there was anything. */
int mod_mcp_drain(void);

/* The same for one who waits, within the lock, for a condition; may return
 * without it having been signalled.  timeout 0: none. */
void mod_mcp_wait(apr_thread_cond_t *cond, apr_interval_time_t timeout);

/* Under the lock: a pool that is no other's child, or NULL; and back, cleared,
 * for the next one.  Calls come and go, and memory of the system's for each
 * would cost more than the call. */
apr_pool_t *mod_mcp_pool_get(void);
void mod_mcp_pool_put(apr_pool_t *p);

/* A thread that no signal is delivered to. */
apr_status_t mod_mcp_thread_create(apr_thread_t **thread,
                                   apr_threadattr_t *attr,
                                   apr_thread_start_t main, apr_pool_t *p);

/* A condition of the lock's, or NULL. */
apr_thread_cond_t *mod_mcp_cond(apr_pool_t *p);

/* For the pump, within the lock: somebody rang; every now and then. */
void mod_mcp_bell(void);
void mod_mcp_patrol(void);

/* malloc for what the core keeps. */
extern const mcp_mem_t mod_mcp_mem;

static APR_INLINE mcp_str_t mod_mcp_str(const char *s)
{
    mcp_str_t str;

    str.data = s;
    str.len = s ? strlen(s) : 0;

    return str;
}

/* --- clients: mod_mcp_handler.c, mod_mcp_stream.c, mod_mcp_pump.c --- */

/*
 * Who looks after a client.  Its connection and request are used by one
 * thread at a time:
 *
 *   ATTENDED    its request's own thread
 *   LENT        nobody: that thread runs a backend call
 *   PUMPED      the pump, while that thread runs a backend call; or, while
 *               that brings something, the thread itself
 *   SUSPENDING  its thread, on the way back into the MPM
 *   SUSPENDED   the pump; no thread has it
 *   LOGGING     the pump's second thread: the response is over and sent
 *   CLOSING     the pump: the request is over, the connection is not yet
 */
typedef enum {
    MOD_MCP_ATTENDED = 0,
    MOD_MCP_LENT,
    MOD_MCP_PUMPED,
    MOD_MCP_SUSPENDING,
    MOD_MCP_SUSPENDED,
    MOD_MCP_LOGGING,
    MOD_MCP_CLOSING
} mod_mcp_state_e;

#define MOD_MCP_RESPOND  1u             /* what is to be done for a client */
#define MOD_MCP_STREAM   2u
#define MOD_MCP_PULL     4u
#define MOD_MCP_WRITE    8u             /* the socket can be written to */
#define MOD_MCP_EXPIRED  16u            /* its timer */
#define MOD_MCP_GONE     32u            /* it has left */

/* One for each connection (for each request of HTTP/2). */
struct mod_mcp_client_t {
    conn_rec *c;
    request_rec *r;
    mcp_exchange_t *exchange;           /* NULL: none, or freed */

    /* under the lock */
    mod_mcp_state_e state;
    unsigned todo;
    mod_mcp_run_t *run;                 /* for its own thread to run */
    mod_mcp_snapshot_t *snapshot;       /* of its call; NULL: none, or over */
    apr_thread_cond_t *cond;            /* NULL until somebody waits */
    mod_mcp_client_t *next;             /* in the pump's queue, or if LOGGING
                                         * in the logger's */
    mcp_timer_t timer;                  /* the pump's */
    apr_uint32_t index;                 /* in the pump's table; 0: none */
    unsigned queued:1;
    unsigned busy:1;                    /* the pump is at it, without lock */
    unsigned own:1;                     /* its thread is, in the pump's stead */
    unsigned recall:1;                  /* its thread waits for the pump */
    unsigned holding:1;                 /* its thread waits for work */

    /* of who looks after it: no bit shares its word with those above */
    apr_bucket_brigade *bb;
    char *buf;                          /* NULL while there is nothing */
    apr_size_t size;                    /* of buf, or of the next one */
    apr_time_t suspended;               /* when it was */
    const mod_mcp_event_t *part;        /* the MPM's, then */
    apr_time_t held;                    /* since when its thread waits */
    const char *rest;                   /* of a response's body, not yet */
    apr_size_t left;                    /* passed on */
    unsigned responding:1;              /* the head of a response is sent */
    unsigned streaming:1;               /* the head is sent */
    unsigned finished:1;                /* the last bytes were passed on */
    unsigned patient:1;                 /* the pump waits for its thread */
    unsigned blocked:1;                 /* waits for the socket */
    unsigned written:1;                 /* some bytes were passed on */
    unsigned lingering:1;
    unsigned broken:1;                  /* nothing can be sent any more */
};

/* --- mod_mcp_handler.c --- */

int mod_mcp_handler(request_rec *r);

/* The names that the request's server was given; of the request's pool. */
const mcp_str_t *mod_mcp_server_names(request_rec *r, size_t *n);

/* Its connection can go on without a thread. */
int mod_mcp_can_suspend(mod_mcp_client_t *client);

/* Its connection will not take another request; before the head is sent. */
void mod_mcp_announce_close(mod_mcp_client_t *client);

/* So much is written to its connection at once, or the filters would wait for
 * the socket. */
apr_size_t mod_mcp_piece(const conn_rec *c);

/* The pump may send for its thread while that runs a backend call. */
int mod_mcp_can_lend(mod_mcp_client_t *client);

/* The client of a request of ours, or NULL. */
mod_mcp_client_t *mod_mcp_client(request_rec *r);

/* Under the lock: an action for a client. */
void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what);

/* Under the lock, from the client's own thread, whose backend call ends: takes
 * it back from the pump. */
void mod_mcp_client_take(mod_mcp_client_t *client);

/* Under the lock: nothing more will be read by this client; its stream is free
 * for another consumer. */
void mod_mcp_client_part(mod_mcp_client_t *client);

/* Status, type and header lines. */
void mod_mcp_response_head(request_rec *r, const mcp_response_t *response);

/* The head of the exchange's response. */
void mod_mcp_respond(mod_mcp_client_t *client);

/* And its body: APR_EOF: all is written; APR_EAGAIN: the socket is full (never
 * if wait); else the connection has broken. */
apr_status_t mod_mcp_respond_step(mod_mcp_client_t *client, int wait);

/* suspend_connection: the MPM lets go of it. */
void mod_mcp_suspended(conn_rec *c, request_rec *r);

/* What we keep of a request_rec; made when it is asked for. */
typedef struct {
    mod_mcp_run_t *run;                 /* whose request it is, or NULL */
    const char *target;                 /* as it came, if it had secrets */
    unsigned secure:1;                  /* over TLS */
    unsigned verified:1;                /* with a certificate of the client's */
} mod_mcp_request_t;

mod_mcp_request_t *mod_mcp_request(request_rec *r);

/* child_init: what filters there are. */
void mod_mcp_handler_init(void);

/* --- mod_mcp_secret.c --- */

/* post_perdir_config: hides them where SetHandler says that it is ours. */
int mod_mcp_secret_early(request_rec *r);

/* Hides them, where that is not done yet. */
int mod_mcp_secret_hide(request_rec *r);

/* The target as it came. */
const char *mod_mcp_secret_target(request_rec *r);

/* --- mod_mcp_stream.c --- */

/* The head of a stream. */
void mod_mcp_stream_head(mod_mcp_client_t *client);

/*
 * Pulls and writes.  APR_SUCCESS: there is more, have a break; APR_EAGAIN: the
 * socket is full (never if wait); APR_INCOMPLETE: nothing more now; APR_EOF:
 * all is written; else the connection has broken.  client->finished: all was
 * passed on, with APR_EAGAIN, too.
 */
apr_status_t mod_mcp_stream_step(mod_mcp_client_t *client, int wait);

/* Passes len bytes on without waiting, or with. */
apr_status_t mod_mcp_stream_write(mod_mcp_client_t *client, const char *data,
                                  apr_size_t len, int wait);

/* Says nothing, and makes filters send what they have. */
apr_bucket *mod_mcp_stream_nudge(apr_bucket_alloc_t *list);

/* Writes what filters hold back, without waiting; APR_SUCCESS or APR_EAGAIN
 * or an error. */
apr_status_t mod_mcp_stream_flush(mod_mcp_client_t *client);

/* Tells TLS, after all has been written, that nothing more will come. */
void mod_mcp_stream_bye(mod_mcp_client_t *client);

/* --- mod_mcp_pump.c --- */

apr_status_t mod_mcp_pump_start(apr_pool_t *pchild);
void mod_mcp_pump_stop(void);
apr_thread_t *mod_mcp_pump_thread(void);

/* All under the lock. */
void mod_mcp_pump_queue(mod_mcp_client_t *client);
void mod_mcp_pump_unqueue(mod_mcp_client_t *client);
void mod_mcp_pump_watch(mod_mcp_client_t *client);
void mod_mcp_pump_unwatch(mod_mcp_client_t *client);
void mod_mcp_pump_timer(mod_mcp_client_t *client, apr_interval_time_t after);

/* Under the lock, before the core has what a backend call brings, or that it is
 * over: sees whether its client has left, though nobody was told so yet.
 * client may be NULL. */
void mod_mcp_pump_look(mod_mcp_client_t *client);

/* For the client's own thread, which runs a backend call and has brought
 * something of it: carries out what the core asks for, and does itself what the
 * pump would be woken up for.  The lock is given back meanwhile. */
void mod_mcp_pump_own(mod_mcp_client_t *client);

/* It will look at the latest at when (ms of mcp_env_t.now). */
void mod_mcp_pump_before(apr_uint64_t when);

/* --- mod_mcp_event.c --- */

void mod_mcp_event_init(void);

/* Gives a connection of ours what the MPM looks for in it. */
void mod_mcp_event_pretend(conn_rec *c);

/* For the hook suspend_connection: what the MPM keeps of the connection; NULL
 * if that does not look as it should. */
const mod_mcp_event_t *mod_mcp_event_part(conn_rec *c, request_rec *r);

/* 1 if the thread that suspended the connection, at that time, will not touch
 * it any more. */
int mod_mcp_event_has_left(const conn_rec *c, const mod_mcp_event_t *part,
                           apr_time_t since);

/* --- mod_mcp_job.c --- */

void mod_mcp_job_init(apr_pool_t *pchild);

/* Under the lock: actions. */
void mod_mcp_job_invoke(mcp_job_t *job, mod_mcp_client_t *client);
void mod_mcp_job_abort(mcp_job_t *job);
void mod_mcp_job_resume(mcp_job_t *job);

/* Under the lock: all calls end here and now, with an error. */
void mod_mcp_job_interrupt(void);

/* Runs a backend call to its end, which it reports; frees run. */
void mod_mcp_job_run(mod_mcp_run_t *run);

/* Ends the job threads: waits for what they run, for as long as this process
 * winds up, and for a moment more if it is to end at once. */
void mod_mcp_job_stop(void);

/* --- mod_mcp_snapshot.c --- */

/* All under the lock.  A client has the snapshot of one call at most. */
mod_mcp_snapshot_t *mod_mcp_snapshot_create(mod_mcp_client_t *client);
void mod_mcp_snapshot_part(mod_mcp_client_t *client);
void mod_mcp_snapshot_retain(mod_mcp_snapshot_t *snapshot);
void mod_mcp_snapshot_release(mod_mcp_snapshot_t *snapshot);

/* --- mod_mcp_fetch.c --- */

struct mod_mcp_run_t {
    apr_pool_t *pool;
    mod_mcp_snapshot_t *snapshot;
    mod_mcp_client_t *client;           /* whose thread runs it, or NULL */
    const char *target;                 /* URI */
    const char *body;
    apr_size_t length;
    apr_table_t *env;                   /* MCP_* */

    /* under the lock */
    mcp_job_t *job;                     /* NULL: the core has done with it */
    mod_mcp_run_t *next;
    apr_thread_cond_t *cond;            /* waits for room */
    unsigned queued:1;
    unsigned resumed:1;
    int socket;                         /* its backend's, or -1 */
    struct ap_logconf *log;             /* levels of its request, or NULL */

    /* of the thread that runs it */
    request_rec *r;
    apr_bucket_brigade *input;
    unsigned head:1;                    /* mcp_job_head() was called */
    unsigned eos:1;
    unsigned failed:1;                  /* an error bucket came */
    unsigned proxied:1;                 /* mod_proxy's handler has it */
    unsigned named:1;                   /* the log knows that it is about it */
};

/* Runs the internal request and feeds the job; returns how it ended. */
mcp_fault_e mod_mcp_fetch(mod_mcp_run_t *run, const char **detail);

/* The run whose request r is, or NULL. */
mod_mcp_run_t *mod_mcp_fetch_run(request_rec *r);

/* The run of this thread, if c is its connection, or NULL. */
mod_mcp_run_t *mod_mcp_fetch_current(const conn_rec *c);

/* access_checker: backends' locations are ours alone. */
int mod_mcp_fetch_guard(request_rec *r);

/* error_log: names the call that others complain of. */
void mod_mcp_fetch_logged(const ap_errorlog_info *info, const char *line);

void mod_mcp_fetch_register(void);
apr_status_t mod_mcp_fetch_init(apr_pool_t *pchild);

struct mod_mcp_snapshot_t {
    apr_uint32_t refs;                  /* under the lock */
    mod_mcp_client_t *client;           /* the same; NULL: it is over, or the
                                           client has left */
    apr_pool_t *pool;
    server_rec *server;
    mod_mcp_dir_t *dir;                 /* knows the targets */
    apr_sockaddr_t *client_addr;
    apr_sockaddr_t *local_addr;
    const char *hostname;
    const char *port_str;               /* of Host, if it has one */
    apr_port_t port;
    const char *user;
    const char *auth_type;
    const char *useragent_ip;
    apr_table_t *headers;
    apr_table_t *env;
    unsigned secure:1;                  /* as in mod_mcp_request_t */
    unsigned verified:1;
};

/* --- mod_mcp_proxy.c --- */

void mod_mcp_proxy_init(void);

/* Says so if mod_proxy is not what this module was built for. */
void mod_mcp_proxy_check(server_rec *s);

/* Under the lock: its backend is silent, and no longer wanted. */
void mod_mcp_proxy_abort(mod_mcp_run_t *run);

/* --- mod_mcp_tls.c --- */

/* Of a client's request, on its own thread, before it calls. */
void mod_mcp_tls_note(request_rec *r);

void mod_mcp_tls_init(apr_pool_t *pconf);
void mod_mcp_tls_register(void);

/* --- mod_mcp_note.c --- */

/* Under the lock: notes mcp-... of a client's request, out of the exchange's
 * facts. */
void mod_mcp_note(mod_mcp_client_t *client);
int mod_mcp_note_log(request_rec *r);

/* MCP_... of a backend call. */
void mod_mcp_note_env(apr_table_t *env, const mcp_facts_t *facts);

/* --- mod_mcp_status.c --- */

int mod_mcp_status_handler(request_rec *r);
int mod_mcp_status_line(request_rec *r, int flags);

#endif /* MOD_MCP_H */
