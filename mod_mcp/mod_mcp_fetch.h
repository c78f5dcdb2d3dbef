/* SPDX-License-Identifier: Apache-2.0 */

/* The internal request to a backend, and its answer. */

#ifndef MOD_MCP_FETCH_H
#define MOD_MCP_FETCH_H

#include "mod_mcp.h"

#include "mcp_job.h"

/* One request to a backend. */
struct mod_mcp_run_t {
    apr_pool_t *pool;
    mod_mcp_snapshot_t *snapshot;
    mod_mcp_client_t *client;           /* whose thread runs it, or NULL */
    const char *id;                     /* the call's, for logs */
    const char *target;                 /* URI */
    const char *line;                   /* the request line with it */
    const char *body;
    apr_size_t length;
    char length_text[24];               /* the same, in its headers */
    apr_table_t *env;                   /* MCP_* */

    /* under the lock */
    mcp_job_t *job;                     /* NULL: the core needs it no more */
    mcp_job_t *kept;                    /* its call is retained, for the log */
    const unsigned char *party;         /* quota key of its call, or NULL */
    mod_mcp_run_t *next;
    mod_mcp_cond_t *cond;            /* for room in the core */
    unsigned queued:1;
    unsigned resumed:1;

    /* atomic, see mod_mcp_proxy.c */
    int socket;                         /* to the backend, or -1 */
    int cut;                            /* the core needs it no more */

    /* for the thread that runs it */
    request_rec *r;
    void *conn;                         /* mod_proxy's, if that runs; or NULL */
    mod_mcp_twin_t *twin;               /* that the socket is of, or NULL */
    struct ap_logconf *log;             /* log levels of its request; whoever
                                         * took the socket writes them */
    apr_bucket_brigade *input;
    int own;                            /* so many variables were in env */
    apr_table_t *hidden;                /* of mod_mcp_env.h; mostly NULL */
    apr_table_t *shown;                 /* where that will be */
    const char *aside;                  /* of the answer, not fed yet */
    apr_size_t aside_len;
    unsigned head:1;                    /* mcp_job_head() was called */
    unsigned eos:1;
    unsigned failed:1;                  /* an error bucket came */
    unsigned told:1;                    /* the hook shows what is hidden */
    unsigned proxied:1;                 /* mod_proxy's handler runs */
    unsigned fcgi:1;                    /* it is that of a FastCGI backend */
    unsigned timed_out:1;               /* 1 if a module has logged a timeout */
    unsigned named:1;                   /* the log names the call */
    unsigned logs:1;                    /* there will be a line for it */
};

void mod_mcp_fetch_register(void);
apr_status_t mod_mcp_fetch_init(apr_pool_t *pchild);

/* Makes the internal request and feeds the job.  Returns how it ended. */
mcp_fault_e mod_mcp_fetch(mod_mcp_run_t *run, const char **detail);

/* For a handler of the run's own request that does without brigades.  1 if its
 * body is not read yet, and goes through no other filter; 1 if its answer goes
 * through no other filter. */
int mod_mcp_fetch_is_unread(const mod_mcp_run_t *run, const request_rec *r);
int mod_mcp_fetch_is_unfiltered(const request_rec *r);

/* Takes a piece of the answer; its end.  Fails if no more is wanted. */
apr_status_t mod_mcp_fetch_pass(mod_mcp_run_t *run, const char *data,
                                apr_size_t len);
void mod_mcp_fetch_end(mod_mcp_run_t *run);

/* Under the lock, before the job ends: feeds what is left of the answer. */
void mod_mcp_fetch_feed(mod_mcp_run_t *run);

/* Under the lock, when the job has ended: notes what the log is to say.
 * Returns 1 if mod_mcp_fetch_log() is to write a line. */
int mod_mcp_fetch_note(mod_mcp_run_t *run);

/* Writes a line for the internal request. */
void mod_mcp_fetch_log(mod_mcp_run_t *run);

/* Frees the internal request. */
void mod_mcp_fetch_free(mod_mcp_run_t *run);

/* The run that made the request, or one that led to it; or NULL. */
mod_mcp_run_t *mod_mcp_fetch_run(request_rec *r);

/* The run of this thread, if its connection is c; or NULL. */
mod_mcp_run_t *mod_mcp_fetch_current(const conn_rec *c);

/* access_checker, fixups: refuses requests to backends that are not ours. */
int mod_mcp_fetch_guard(request_rec *r);

/* error_log: names the call that a message of another module is about. */
void mod_mcp_fetch_logged(const ap_errorlog_info *info, const char *line);

#endif /* MOD_MCP_FETCH_H */
