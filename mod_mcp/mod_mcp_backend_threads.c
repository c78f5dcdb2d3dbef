/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The threads that run backend requests.
 *
 * The first call of a client's request runs on that request's thread.  All
 * other backend requests (the rest of a batch, a call that continues after
 * input from its client, a call of an HTTP/2 client) are queued, and run on
 * threads of the module, at most MCPThreads.  Some threads of the MPM never
 * run backend requests: they are reserved for requests without a backend,
 * because clients resume their streams by such requests.
 *
 * An MCP server that is a backend may send requests for a running call on a
 * separate stream.  The backend request that reads this stream
 * (MCP_BACKEND_REQUEST_LISTEN) needs a thread during the whole call.  Such
 * backend requests get at most half of the module's threads.
 *
 * A backend request may wait for another one: an MCP server that has asked a
 * question ends its response only after it has received the answer.  So urgent
 * backend requests go to the front of the queue, and some of the module's
 * threads run nothing else (spare()).  All backend requests during which a
 * server may ask (req->asks) use fewer connections than mod_proxy opens to one
 * backend, which are as many as ThreadsPerChild unless "max" is set.
 */

#include "mod_mcp_backend_threads.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_connection.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_note.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"

#include <unistd.h>

/* time for which an immediate stop waits for the end of backend requests */
#define MERCY  apr_time_from_sec(1)

/* mod_mcp_lock() protects all variables from queue_head to "ended" */
static mod_mcp_backend_request_t *queue_head, **queue_tail;
static mod_mcp_backend_request_t *running;  /* list of the backend requests that
                                               have a thread */
static mod_mcp_cond_t *work;         /* signalled when a backend request is
                                        queued, and when "ended" is set to 1 */
static mod_mcp_cond_t *idle;         /* signalled when a thread has ended */
static apr_pool_t *pool;                /* pool of the threads of this file,
                                           which are detached */
static apr_threadattr_t *detached;      /* attributes of the threads */
static int threads;                     /* number of threads of this file */
static int waiting;                     /* number of these threads without
                                           work */
static int busy;                        /* number of these threads that run a
                                           backend request which is not
                                           urgent */
static int lent;                        /* number of threads of the MPM that run
                                           a backend request */
static int asking;                      /* number of running backend requests
                                           during which a server may ask */
static int ended;                       /* 1 when the threads must end */

/*
 * locked while a backend request runs; NULL if the MPM has threads.  Without
 * threads of the MPM, mod_proxy does not lock its connections, so backend
 * requests run one at a time.
 */
static apr_thread_mutex_t *single;

/*
 * Creates a pool that several threads may use at once.  It lives as long as
 * the process.  Returns NULL on failure.
 */
static apr_pool_t *make_pool(void)
{
    static apr_allocator_t *allocator;

    apr_thread_mutex_t *mutex;
    apr_pool_t *p;

    if (apr_allocator_create(&allocator) != APR_SUCCESS
        || apr_pool_create_ex(&p, NULL, NULL, allocator) != APR_SUCCESS) {
        return NULL;
    }

    apr_allocator_owner_set(allocator, p);

    if (apr_thread_mutex_create(&mutex, APR_THREAD_MUTEX_DEFAULT, p)
        == APR_SUCCESS) {
        apr_allocator_mutex_set(allocator, mutex);
    }

    return p;
}

void mod_mcp_backend_threads_init(apr_pool_t *pchild)
{
    pool = make_pool();
    apr_threadattr_create(&detached, pchild);
    apr_threadattr_detach_set(detached, 1);
    queue_head = NULL;
    queue_tail = &queue_head;
    running = NULL;
    threads = 0;
    waiting = 0;
    busy = 0;
    lent = 0;
    asking = 0;
    ended = 0;

    work = mod_mcp_cond(pchild);
    idle = mod_mcp_cond(pchild);
    single = NULL;

    if (!mod_mcp_child.threaded) {
        apr_thread_mutex_create(&single, APR_THREAD_MUTEX_DEFAULT, pchild);
    }
}

/* --- a backend request --- */

/* Sets req->target to the URI of the backend, and req->line to the request
 * line. */
static void set_target(mod_mcp_backend_request_t *req, mcp_str_t target)
{
    static const mcp_str_t end = mcp_str(" HTTP/1.1");
    static const mcp_str_t begins[MCP_BACKEND_REQUEST_METHODS] = {
        [MCP_BACKEND_REQUEST_POST] = mcp_str("POST "),
        [MCP_BACKEND_REQUEST_GET] = mcp_str("GET "),
        [MCP_BACKEND_REQUEST_DELETE] = mcp_str("DELETE "),
    };

    mcp_str_t begin = begins[req->http_method];
    char *p = apr_palloc(req->pool, begin.len + target.len + end.len + 1);

    req->line = p;
    p = memcpy(p, begin.data, begin.len);
    p = memcpy(p + begin.len, target.data, target.len);
    memcpy(p + target.len, end.data, end.len + 1);

    req->target = apr_pstrmemdup(req->pool, target.data, target.len);
}

/* Copies the headers of the core's backend request to req->headers. */
static void copy_headers(mod_mcp_backend_request_t *req,
    const mcp_backend_request_t *breq)
{
    apr_pool_t *p = req->pool;
    const mcp_header_t *h;
    size_t i;

    if (breq->n_headers) {
        req->headers = apr_table_make(p, (int)breq->n_headers);
    }

    for (i = 0; i < breq->n_headers; i++) {
        h = &breq->headers[i];
        apr_table_addn(req->headers,
                       apr_pstrmemdup(p, h->name.data, h->name.len),
                       apr_pstrmemdup(p, h->value.data, h->value.len));
    }
}

static mod_mcp_backend_request_t *request_create(mcp_backend_request_t *breq,
    mod_mcp_snapshot_t *snapshot)
{
    apr_pool_t *p = mod_mcp_pool_get();
    mod_mcp_backend_request_t *req;
    mcp_str_t id = breq->variables.value[MCP_VARIABLE_CALL];

    if (p == NULL) {
        return NULL;
    }

    req = apr_pcalloc(p, sizeof(*req));

    req->pool = p;
    req->breq = breq;
    req->kept = breq;
    req->tenant = mcp_backend_request_tenant(breq);
    req->snapshot = snapshot;
    req->id = apr_pstrmemdup(p, id.data, id.len);
    req->bare = breq->bare;
    req->urgent = breq->urgent;
    req->asks = breq->asks;
    req->kind = breq->kind;
    req->http_method = breq->http_method;
    set_target(req, mcp_setup_target(snapshot->dir->setup, breq->target));

    /* copy the id, the body and the headers, because the action ABORT may end
     * the core's backend request while a thread still uses them */

    req->body = apr_pmemdup(p, breq->body.data, breq->body.len);
    req->length = breq->body.len;
    req->env = apr_table_make(p, MCP_VARIABLE_COUNT);

    mod_mcp_note_env(req->env, &breq->variables);
    copy_headers(req, breq);
    mod_mcp_snapshot_retain(snapshot);
    mcp_call_retain(breq->call);

    breq->glue = req;

    return req;
}

static void request_free(mod_mcp_backend_request_t *req)
{
    apr_pool_t *p = req->pool;

    mcp_call_release(req->kept->call);
    mod_mcp_snapshot_release(req->snapshot);

    apr_pool_clear(p);
    mod_mcp_pool_put(p);
}

static void request_end(mod_mcp_backend_request_t *req, mcp_failure_e failure,
    const char *detail)
{
    mcp_backend_request_t *breq = req->breq;

    req->breq = NULL;

    if (breq) {
        mcp_backend_request_end(breq, failure, detail);
    }
}

/* Reports to the core whether a backend request waits here, so that the backend
 * has received nothing.  Called under mod_mcp_lock(). */
static void set_unsent(mod_mcp_backend_request_t *req, int unsent)
{
    if (req->breq) {
        req->breq->unsent = unsent;
    }
}

static void request_begin(mod_mcp_backend_request_t *req)
{
    req->next = running;
    running = req;

    busy += !req->urgent && req->client == NULL;
    asking += req->asks;
}

static void request_leave(mod_mcp_backend_request_t *req)
{
    mod_mcp_backend_request_t **link;

    for (link = &running; *link != req; link = &(*link)->next) {
        /* the loop ends, because req is in the list */
    }

    *link = req->next;

    busy -= !req->urgent && req->client == NULL;
    asking -= req->asks;
}

static void thread_start(void);

void mod_mcp_backend_threads_run(mod_mcp_backend_request_t *req)
{
    mod_mcp_client_t *client = req->client;
    const char *detail = NULL;
    mcp_failure_e failure;

    if (single) {
        apr_thread_mutex_lock(single);
    }

    failure = mod_mcp_fetch(req, &detail);

    if (single) {
        apr_thread_mutex_unlock(single);
    }

    mod_mcp_lock();

    mod_mcp_poller_check(req->snapshot->client);
    mod_mcp_fetch_feed(req);

    if (client) {
        lent--;
        mod_mcp_client_take(client);
    }

    request_leave(req);

    /* a thread of the MPM does not take queued backend requests */

    if (client) {
        thread_start();
    }

    request_end(req, failure, detail);
    req->logs = mod_mcp_fetch_note(req);
}

void mod_mcp_backend_threads_clear(mod_mcp_backend_request_t *req,
    mod_mcp_remains_t *remains)
{
    remains->pool = req->pool;
    remains->snapshot = req->snapshot;
    remains->call = req->kept->call;

    if (req->logs) {
        mod_mcp_fetch_log(req);
    }

    mod_mcp_fetch_free(req);
    apr_pool_clear(remains->pool);
}

void mod_mcp_backend_threads_release(mod_mcp_remains_t *remains)
{
    if (remains->pool == NULL) {
        return;
    }

    mcp_call_release(remains->call);
    mod_mcp_snapshot_release(remains->snapshot);
    mod_mcp_pool_put(remains->pool);

    remains->pool = NULL;
}

void mod_mcp_backend_threads_free(mod_mcp_backend_request_t *req)
{
    mod_mcp_remains_t remains;

    mod_mcp_backend_threads_clear(req, &remains);

    mod_mcp_lock();
    mod_mcp_backend_threads_release(&remains);
}

/* --- limits --- */

/*
 * Returns how many threads may run backend requests: MCPThreads, by default
 * as many as the MPM has, but at least 4.
 */
static int thread_limit(void)
{
    mod_mcp_global_t *global = mod_mcp_config_global(mod_mcp_child.server);

    if (global->threads > 0) {
        return global->threads;
    }

    return mod_mcp_child.threads > 4 ? mod_mcp_child.threads : 4;
}

/*
 * Returns how many of n threads or connections only urgent backend requests may
 * use: an eighth, at least 1, at most 8.  Without threads of the MPM there are
 * none, because backend requests run one at a time.
 */
static int spare(int n)
{
    if (single) {
        return 0;
    }

    n /= 8;

    return n < 1 ? 1 : n > 8 ? 8 : n;
}

/* Returns the number of this file's threads that may run backend requests that
 * are not urgent. */
static int busy_limit(void)
{
    int n = thread_limit();

    return n > 1 ? n - spare(n) : n;
}

/*
 * Returns the limit for running backend requests during which a server may
 * ask.  All of them may use the same backend, to which mod_proxy opens as many
 * connections as the MPM has threads, unless "max" is set.  A higher MCPThreads
 * requires a higher "max".  With one thread there is no limit on connections.
 */
static int ask_limit(void)
{
    int n = thread_limit();

    if (mod_mcp_child.threads > 1
        && (n < mod_mcp_child.threads
            || mod_mcp_config_global(mod_mcp_child.server)->threads <= 0)) {
        n = mod_mcp_child.threads;
    }

    return n > 1 ? n - spare(n) : n;
}

/* --- queue --- */

static void enqueue(mod_mcp_backend_request_t *req)
{
    mod_mcp_backend_request_t **link = queue_tail;

    if (req->urgent) {
        link = &queue_head;

        while (*link && (*link)->urgent) {
            link = &(*link)->next;
        }
    }

    req->next = *link;
    req->queued = 1;
    set_unsent(req, 1);
    *link = req;

    if (req->next == NULL) {
        queue_tail = &req->next;
    }
}

static void dequeue(mod_mcp_backend_request_t *req)
{
    mod_mcp_backend_request_t **link;

    for (link = &queue_head; *link != req; link = &(*link)->next) {
        /* the loop ends, because req is in the queue */
    }

    *link = req->next;

    if (req->next == NULL) {
        queue_tail = link;
    }

    req->queued = 0;
    set_unsent(req, 0);
}

/* Returns the first queued backend request that may start now, or NULL. */
static mod_mcp_backend_request_t *next_request(void)
{
    mod_mcp_backend_request_t *req = queue_head;
    int full;

    /* urgent backend requests are at the front */

    if (req == NULL || req->urgent) {
        return req;
    }

    if (busy >= busy_limit()) {
        return NULL;
    }

    full = (asking >= ask_limit());

    while (req && req->asks && full) {
        req = req->next;
    }

    return req;
}

/* --- threads --- */

static void *APR_THREAD_FUNC worker(apr_thread_t *thread, void *data)
{
    mod_mcp_backend_request_t *req;

    mod_mcp_lock();

    for ( ;; ) {
        req = next_request();

        if (req == NULL) {
            if (ended) {
                break;
            }

            waiting++;
            mod_mcp_wait(work, 0);
            waiting--;
            continue;
        }

        dequeue(req);
        request_begin(req);
        thread_start();
        mod_mcp_unlock();

        mod_mcp_backend_threads_run(req);
        mod_mcp_unlock();

        mod_mcp_backend_threads_free(req);
    }

    threads--;
    mod_mcp_signal(idle);

    mod_mcp_unlock();

    return NULL;
}

/* Ends the queued backend requests that may start now, with an error. */
static void refuse_queued(void)
{
    mod_mcp_backend_request_t *req;

    while ((req = next_request()) != NULL) {
        dequeue(req);
        request_end(req, MCP_FAILURE_LOCAL,
                    "cannot start a thread for the backend call: raise the "
                    "system's limit on threads");
        request_free(req);
    }
}

/*
 * Wakes or starts a thread if a queued backend request may start, unless there
 * are already as many threads as allowed.  The thread does the same when it has
 * taken the backend request.  If no thread exists and none can be started, ends
 * the queued backend requests that may start.
 */
static void thread_start(void)
{
    apr_thread_t *thread;
    apr_status_t rv;

    if (next_request() == NULL) {
        return;
    }

    if (waiting > 0) {
        mod_mcp_signal(work);
        return;
    }

    if (threads >= busy_limit() + spare(thread_limit())) {
        return;
    }

    rv = mod_mcp_child_thread(&thread, detached, worker, pool);

    if (rv == APR_SUCCESS) {
        threads++;
        return;
    }

    ap_log_error(APLOG_MARK, APLOG_ERR, rv, mod_mcp_child.server,
                 "mod_mcp: cannot start a thread for backend calls: raise the "
                 "system's limit on threads, or lower MCPThreads");

    if (threads == 0) {
        refuse_queued();
    }
}

static int is_winding_up(void)
{
    return mod_mcp_child.end == MOD_MCP_WINDING_UP;
}

void mod_mcp_backend_threads_stop(void)
{
    apr_time_t end;

    mod_mcp_lock();

    /*
     * wait for all calls, not only for running backend requests: a call that
     * waits for client input will need a thread later
     */

    while (is_winding_up() && mcp_worker_calls(mod_mcp_child.worker) > 0) {
        mod_mcp_wait(idle, apr_time_from_msec(100));
    }

    ended = 1;
    mod_mcp_broadcast(work);

    while (is_winding_up() && threads + lent > 0) {
        mod_mcp_wait(idle, apr_time_from_msec(100));
    }

    end = mod_mcp_now() + MERCY;

    while (threads + lent > 0 && mod_mcp_now() < end) {
        mod_mcp_wait(idle, apr_time_from_msec(100));
    }

    if (threads + lent > 0) {

        /* end the process now: the remaining threads use memory that is about
         * to be freed */

        _exit(0);
    }

    mod_mcp_unlock();
}

/* --- actions --- */

/* Returns the number of the MPM's threads that may run backend requests. */
static int lend_limit(void)
{
    int n = mod_mcp_child.threads;

    return n < 4 ? n : n - (n / 8 > 2 ? n / 8 : 2);
}

/*
 * Returns 1 if a backend request need not wait because servers may ask during
 * too many others.  The queued backend request that may start, if there is one,
 * counts, because it came first.
 */
static int may_ask(const mod_mcp_backend_request_t *req)
{
    const mod_mcp_backend_request_t *next = next_request();

    return !req->asks || asking + (next && next->asks) < ask_limit();
}

static int may_lend(mod_mcp_client_t *client,
    const mod_mcp_backend_request_t *req)
{
    return client && req->kind != MCP_BACKEND_REQUEST_LISTEN
           && mod_mcp_client_attended(client) && client->req == NULL
           && mod_mcp_connection_can_lend(client) && lent < lend_limit()
           && may_ask(req);
}

/*
 * Returns the snapshot of the call to which a backend request belongs.  If the
 * call has none yet, uses the snapshot that was made when the client was
 * suspended (client->ahead), or makes one.  Returns NULL if out of memory, or
 * if the client's request cannot be copied now.
 */
static mod_mcp_snapshot_t *get_snapshot(mcp_backend_request_t *breq,
                                        mod_mcp_client_t *client)
{
    mod_mcp_snapshot_t *snapshot = mcp_call_glue(breq->call);

    if (snapshot == NULL && client && client->r
        && (client->ahead || mod_mcp_client_attended(client))) {
        snapshot = client->ahead ? client->snapshot
                                 : mod_mcp_snapshot_create(client);
        client->ahead = 0;

        if (snapshot) {
            mcp_call_set_glue(breq->call, snapshot);
        }
    }

    return snapshot;
}

/*
 * Creates the glue's structure for a backend request of the core.  On failure
 * ends the backend request with an error and returns NULL.
 */
static mod_mcp_backend_request_t *prepare_request(mcp_backend_request_t *breq,
    mod_mcp_client_t *client)
{
    mod_mcp_snapshot_t *snapshot = get_snapshot(breq, client);
    mod_mcp_backend_request_t *req;

    if (snapshot == NULL && client == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                "the client disconnected before the backend "
                                "call could start");
        return NULL;
    }

    if (snapshot && breq->target >= mcp_setup_targets(snapshot->dir->setup)) {
        mcp_backend_request_end(breq, MCP_FAILURE_TARGET,
                                "the configuration of the client's location "
                                "lacks this backend");
        return NULL;
    }

    req = snapshot ? request_create(breq, snapshot) : NULL;

    if (req == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                "no memory to start the backend call");
    }

    return req;
}

static void lend(mod_mcp_client_t *client, mod_mcp_backend_request_t *req)
{
    lent++;
    client->req = req;
    req->client = client;
    request_begin(req);

    if (client->state == MOD_MCP_HOLDING) {
        mod_mcp_signal(client->cond);
    }
}

/*
 * Returns the number of backend requests in a list that compete with breq: that
 * are not MCP_BACKEND_REQUEST_LISTEN and, if a server may ask during breq,
 * during which a server may ask as well.  Adds to *own the number of backend
 * requests among them whose call belongs to "tenant".
 */
static int count_runs(const mod_mcp_backend_request_t *req,
    const mcp_backend_request_t *breq, const unsigned char *tenant, int *own)
{
    int n = 0;

    for ( ; req; req = req->next) {
        if (req->kind == MCP_BACKEND_REQUEST_LISTEN
            || (breq->asks && !req->asks)) {
            continue;
        }

        n++;
        *own += req->tenant && memcmp(req->tenant, tenant, MCP_DIGEST_LEN) == 0;
    }

    return n;
}

/*
 * Returns 1 if the call of a backend request must be rejected, because with
 * this call its tenant would use more than half of the threads that other
 * tenants do not use.  A tenant's only call is never rejected.
 */
static int exceeds_share(const mcp_backend_request_t *breq)
{
    const unsigned char *tenant = mcp_backend_request_tenant(breq);
    int limit = breq->asks ? ask_limit() : lend_limit() + thread_limit();
    int all, own = 0;

    if (tenant == NULL || !mcp_backend_request_is_first(breq)) {
        return 0;
    }

    all = count_runs(running, breq, tenant, &own);
    all += count_runs(queue_head, breq, tenant, &own);

    return own > 0 && 2 * (own + 1) > limit - (all - own);
}

/* Returns the number of backend requests in a list that are
 * MCP_BACKEND_REQUEST_LISTEN. */
static int count_streams(const mod_mcp_backend_request_t *req)
{
    int n = 0;

    for ( ; req; req = req->next) {
        n += req->kind == MCP_BACKEND_REQUEST_LISTEN;
    }

    return n;
}

/* Returns NULL if a backend request may get a thread, and for all kinds but
 * MCP_BACKEND_REQUEST_LISTEN.  Otherwise returns the reason for the rejection,
 * as text. */
static const char *exceeds_streams(const mcp_backend_request_t *breq)
{
    int limit;

    if (breq->kind != MCP_BACKEND_REQUEST_LISTEN) {
        return NULL;
    }

    if (single) {
        return "a GET stream needs its own thread, which this MPM does not "
               "have: use the event or the worker MPM";
    }

    limit = busy_limit() < ask_limit() ? busy_limit() : ask_limit();

    return count_streams(running) + count_streams(queue_head) < limit / 2
           ? NULL : "GET streams of MCP servers already use half of the "
                    "threads of this process: raise MCPThreads";
}

/*
 * Logs, once in a process, that an urgent backend request waits for a running
 * one which may itself wait for the urgent one.
 */
static void warn_about_wait(void)
{
    static int warned;

    if (!warned) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, mod_mcp_child.server,
                     "mod_mcp: a response to a request of an MCP server waits "
                     "until the server's response to a call has ended, because "
                     "this MPM runs one backend request at a time. If the "
                     "server waits, too, the call times out: use the event or "
                     "the worker MPM");
    }

    warned = 1;
}

void mod_mcp_backend_threads_prepare(mcp_backend_request_t *breq,
    mod_mcp_client_t *client)
{
    /* ignore a failure to make the snapshot: mod_mcp_backend_threads_invoke()
     * tries again, and reports its own failure to the core */

    (void) get_snapshot(breq, client);
}

void mod_mcp_backend_threads_invoke(mcp_backend_request_t *breq,
    mod_mcp_client_t *client)
{
    mod_mcp_backend_request_t *req;
    const char *detail;

    breq->glue = NULL;

    if (mod_mcp_child.end == MOD_MCP_ENDING) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                "the server is stopping");
        return;
    }

    if (exceeds_share(breq)) {
        mcp_backend_request_refuse(breq,
                                   "the calls of this caller already use half "
                                   "of the threads that no other caller uses: "
                                   "raise MCPThreads, or set MCPQuotaStreams "
                                   "to a number or \"off\"");
        return;
    }

    detail = exceeds_streams(breq);

    if (detail) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL, detail);
        return;
    }

    req = prepare_request(breq, client);

    if (req == NULL) {
        return;
    }

    if (may_lend(client, req)) {
        lend(client, req);
        return;
    }

    if (single && req->kind == MCP_BACKEND_REQUEST_RESPONSE && asking > 0) {
        warn_about_wait();
    }

    enqueue(req);
    thread_start();
}

static void cut(mod_mcp_backend_request_t *req, const char *detail)
{
    request_end(req, MCP_FAILURE_LOCAL, detail);

    if (req->queued) {
        dequeue(req);
        request_free(req);
        return;
    }

    /* shut down the socket to the backend, so that the thread ends the backend
     * request.  If the handler does not expose its socket, the thread ends the
     * backend request at the next output of the backend, or at a timeout. */

    mod_mcp_proxy_abort(req);

    if (req->cond) {
        mod_mcp_signal(req->cond);
    }
}

void mod_mcp_backend_threads_abort(mcp_backend_request_t *breq)
{
    mod_mcp_backend_request_t *req = breq->glue;

    if (req == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_REPLY, "aborted");
        return;
    }

    cut(req, "aborted");
}

void mod_mcp_backend_threads_interrupt(void)
{
    mod_mcp_backend_request_t *req;

    while (queue_head) {
        cut(queue_head, "the server is stopping");
    }

    for (req = running; req; req = req->next) {
        cut(req, "the server is stopping");
    }
}

void mod_mcp_backend_threads_resume(mcp_backend_request_t *breq)
{
    mod_mcp_backend_request_t *req = breq->glue;

    if (req) {
        req->resumed = 1;

        if (req->cond) {
            mod_mcp_signal(req->cond);
        }
    }
}
