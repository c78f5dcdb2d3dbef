/* SPDX-License-Identifier: Apache-2.0 */

/* The internal request to a backend, and its response. */

#ifndef MOD_MCP_FETCH_H
#define MOD_MCP_FETCH_H

#include "mod_mcp.h"

#include "mcp_backend_request.h"

/*
 * Progress of the backend's response.  The thread that runs the backend
 * request changes this value, and only to a later one.  All changes but that
 * from SILENT to PENDING are made under mod_mcp_lock().
 */
typedef enum {
    MOD_MCP_SILENT = 0,                 /* the backend has sent nothing */
    MOD_MCP_PENDING,                    /* "pending_out" has the first piece;
                                           the core has nothing yet */
    MOD_MCP_ANSWERED                    /* the core has the response head */
} mod_mcp_phase_e;

/* One request to a backend. */
struct mod_mcp_backend_request_t {
    apr_pool_t *pool;
    mod_mcp_snapshot_t *snapshot;
    mod_mcp_client_t *client;           /* client whose own thread runs the
                                           request; NULL on a backend thread */
    const char *id;                     /* id of the call, for logs */
    const char *target;                 /* URI of the backend */
    int bare;                           /* bare to http_method: copies of the
                                           members of breq */
    int urgent;
    int asks;
    mcp_backend_request_kind_e kind;
    mcp_backend_request_method_e http_method;
    const char *line;                   /* request line, contains "target" */
    const char *body;
    apr_size_t length;
    char length_text[24];               /* "length" as text, for
                                           Content-Length */
    apr_table_t *env;                   /* MCP_* */
    apr_table_t *headers;               /* headers that replace the client's
                                           headers with the same names; NULL:
                                           none */

    /* members below: written under mod_mcp_lock() */
    mcp_backend_request_t *breq;        /* the core's backend request; NULL
                                           after it has ended */
    mcp_backend_request_t *kept;        /* the core's backend request for log
                                           lines, valid also after its end,
                                           because its call is retained */
    const unsigned char *tenant;        /* tenant of the call, see
                                           mcp_backend_request_tenant(); or
                                           NULL */
    mod_mcp_backend_request_t *next;
    mod_mcp_cond_t *cond;            /* signalled when the core can accept more
                                        of the response */
    unsigned queued:1;                  /* 1 while the request waits for a
                                           backend thread */
    unsigned resumed:1;                 /* 1 after the action RESUME: the core
                                           can accept more of the response */

    /* members below: atomic, see mod_mcp_proxy.c */
    apr_socket_t *socket;               /* socket to the backend, while the
                                           thread reads from it or writes to
                                           it; otherwise NULL */
    int aborted;                        /* 1 after the action ABORT */

    /* members below: for the thread that runs the backend request */
    request_rec *r;
    apr_sockaddr_t client_addr;         /* addresses of "r" */
    apr_sockaddr_t local_addr;
    apr_bucket_brigade *input;
    const char *pending_out;            /* first piece of the response, kept in
                                           the phase PENDING */
    apr_size_t pending_out_len;
    mod_mcp_phase_e phase;
    unsigned eos:1;
    unsigned failed:1;                  /* 1 after an error bucket, or an error
                                           while reading or passing the
                                           response */
    unsigned timed_out:1;               /* 1 if a module has logged a timeout */
    unsigned named:1;                   /* 1 if a log line has named the
                                           call */
    unsigned handled:1;                 /* 1 after httpd has called a handler.
                                           Before that, no backend gets
                                           anything */
    unsigned logs:1;                    /* 1 if the backend request gets an
                                           access log line when it ends */
};

void mod_mcp_fetch_register(void);
apr_status_t mod_mcp_fetch_init(apr_pool_t *pchild);

/*
 * Makes the internal request and passes its output to the core.  Returns
 * MCP_FAILURE_NONE, or the failure with which the backend request ended.  If
 * there is a failure, sets *detail to a text about it.
 */
mcp_failure_e mod_mcp_fetch(mod_mcp_backend_request_t *req,
    const char **detail);

/*
 * Passes the pending output to the core.  Called under mod_mcp_lock(), before
 * the backend request ends.
 */
void mod_mcp_fetch_feed(mod_mcp_backend_request_t *req);

/*
 * Sets the notes of the internal request for the access log, after the backend
 * request has ended.  Returns 1 if mod_mcp_fetch_log() must be called.  Called
 * under mod_mcp_lock().
 */
int mod_mcp_fetch_note(mod_mcp_backend_request_t *req);

/* Writes the access log line of the internal request. */
void mod_mcp_fetch_log(mod_mcp_backend_request_t *req);

/* Frees the internal request. */
void mod_mcp_fetch_free(mod_mcp_backend_request_t *req);

/*
 * Returns the backend request for which r, or the request that led to r by
 * redirects or subrequests, was made; NULL for other requests.
 */
mod_mcp_backend_request_t *mod_mcp_fetch_backend_request(request_rec *r);

/* Returns the backend request that the current thread runs, or NULL. */
mod_mcp_backend_request_t *mod_mcp_fetch_current(void);

/*
 * Hooks access_checker and fixups: reject a request to a backend if the request
 * does not come from this module.
 */
int mod_mcp_fetch_check_access(request_rec *r);

/*
 * Hook error_log: after the first warning or error of another module during a
 * backend request, logs a line that names the call.
 */
void mod_mcp_fetch_logged(const ap_errorlog_info *info, const char *line);

/* --- mod_mcp_proxy.c --- */

/* Registers filters and the hook that adds them to connections to backends. */
void mod_mcp_proxy_register(void);

/*
 * Carries out the action ABORT: shuts down the connection to the backend.  If
 * no connection is in use yet, the first use will shut it down.  Called under
 * mod_mcp_lock().
 */
void mod_mcp_proxy_abort(mod_mcp_backend_request_t *req);

/* Returns 1 if mod_mcp_proxy_abort() was called for the backend request.  Any
 * thread may call this. */
int mod_mcp_proxy_is_aborted(mod_mcp_backend_request_t *req);

/*
 * Keeps mod_proxy from marking a balancer's member as broken, and from trying
 * the next member, when the server itself ends the internal request r.  Called
 * by the thread that runs r.
 */
void mod_mcp_proxy_spare(request_rec *r);

#endif /* MOD_MCP_FETCH_H */
