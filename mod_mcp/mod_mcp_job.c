/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The threads that run backend calls.
 *
 * The first call of a request runs on that request's thread.  All others (the
 * rest of a batch, a call that goes on after its client was asked something, a
 * call of a client on HTTP/2) run on threads of our own, MCPThreads at most, or
 * wait for one.  Some of the MPM's threads are left for requests without a
 * backend: clients need them to come back to their streams.
 */

#include "mod_mcp_job.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_connection.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_note.h"
#include "mod_mcp_pool.h"
#include "mod_mcp_proxy.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_watch.h"
#include "mod_mcp_worker.h"

#include <unistd.h>

/* How long calls may go on after a process was told to end at once. */
#define MERCY  apr_time_from_sec(1)

/* all under the lock */
static mod_mcp_run_t *queue_head, **queue_tail;
static mod_mcp_run_t *running;          /* those that have a thread */
static mod_mcp_cond_t *work;         /* something is queued, or ended */
static mod_mcp_cond_t *idle;         /* a thread has ended */
static apr_pool_t *pool;                /* for threads, which are detached */
static int threads, waiting, queued, lent;
static int ended;

/* mod_proxy does not lock its connections if the MPM has no threads. */
static apr_thread_mutex_t *single;

/* Makes a pool that threads may use at once.  It lives as long as the
 * process. */
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

void mod_mcp_job_init(apr_pool_t *pchild)
{
    pool = make_pool();
    queue_head = NULL;
    queue_tail = &queue_head;
    running = NULL;
    threads = 0;
    waiting = 0;
    queued = 0;
    lent = 0;
    ended = 0;

    work = mod_mcp_cond(pchild);
    idle = mod_mcp_cond(pchild);
    single = NULL;

    if (!mod_mcp_child.threaded) {
        apr_thread_mutex_create(&single, APR_THREAD_MUTEX_DEFAULT, pchild);
    }
}

/* --- a run --- */

/* Sets the URI, and the request line that has it. */
static void set_target(mod_mcp_run_t *run, mcp_str_t target)
{
    static const mcp_str_t begin = mcp_str("POST "), end = mcp_str(" HTTP/1.1");

    char *p = apr_palloc(run->pool, begin.len + target.len + end.len + 1);

    run->line = p;
    p = memcpy(p, begin.data, begin.len);
    p = memcpy(p + begin.len, target.data, target.len);
    memcpy(p + target.len, end.data, end.len + 1);

    run->target = apr_pstrmemdup(run->pool, target.data, target.len);
}

static mod_mcp_run_t *run_create(mcp_job_t *job, mod_mcp_snapshot_t *snapshot)
{
    apr_pool_t *p = mod_mcp_pool_get();
    mod_mcp_run_t *run;
    mcp_str_t id = job->facts.value[MCP_FACT_CALL];

    if (p == NULL) {
        return NULL;
    }

    run = apr_pcalloc(p, sizeof(*run));

    run->pool = p;
    run->job = job;
    run->kept = job;
    run->party = mcp_job_party(job);
    run->socket = -1;
    run->snapshot = snapshot;
    run->id = apr_pstrmemdup(p, id.data, id.len);
    set_target(run, mcp_setup_target(snapshot->dir->setup, job->target));

    /* a copy: the core may take the job back while a thread runs it */

    run->body = apr_pmemdup(p, job->body.data, job->body.len);
    run->length = job->body.len;
    run->env = apr_table_make(p, MCP_FACT_COUNT);

    mod_mcp_note_env(run->env, &job->facts);
    mod_mcp_snapshot_retain(snapshot);
    mcp_call_retain(job->call);

    job->glue = run;

    return run;
}

static void run_free(mod_mcp_run_t *run)
{
    apr_pool_t *p = run->pool;

    mcp_call_release(run->kept->call);
    mod_mcp_snapshot_release(run->snapshot);

    apr_pool_clear(p);
    mod_mcp_pool_put(p);
}

static void run_end(mod_mcp_run_t *run, mcp_fault_e fault, const char *detail)
{
    mcp_job_t *job = run->job;

    run->job = NULL;

    if (job) {
        mcp_job_end(job, fault, detail);
    }
}

static void run_begin(mod_mcp_run_t *run)
{
    run->next = running;
    running = run;
}

static void run_leave(mod_mcp_run_t *run)
{
    mod_mcp_run_t **link;

    for (link = &running; *link != run; link = &(*link)->next) {
        /* keep looking: it is in the list */
    }

    *link = run->next;
}

void mod_mcp_job_run(mod_mcp_run_t *run)
{
    mod_mcp_client_t *client = run->client;
    const char *detail = NULL;
    mcp_fault_e fault;

    if (single) {
        apr_thread_mutex_lock(single);
    }

    fault = mod_mcp_fetch(run, &detail);

    if (single) {
        apr_thread_mutex_unlock(single);
    }

    mod_mcp_lock();

    mod_mcp_watch_look(run->snapshot->client);
    mod_mcp_fetch_feed(run);

    if (client) {
        lent--;
        mod_mcp_client_take(client);
    }

    run_leave(run);
    run_end(run, fault, detail);
    run->logs = mod_mcp_fetch_note(run);
}

void mod_mcp_job_clear(mod_mcp_run_t *run, mod_mcp_remains_t *remains)
{
    remains->pool = run->pool;
    remains->snapshot = run->snapshot;
    remains->call = run->kept->call;

    if (run->logs) {
        mod_mcp_fetch_log(run);
    }

    mod_mcp_fetch_free(run);
    apr_pool_clear(remains->pool);
}

void mod_mcp_job_release(mod_mcp_remains_t *remains)
{
    if (remains->pool == NULL) {
        return;
    }

    mcp_call_release(remains->call);
    mod_mcp_snapshot_release(remains->snapshot);
    mod_mcp_pool_put(remains->pool);

    remains->pool = NULL;
}

void mod_mcp_job_free(mod_mcp_run_t *run)
{
    mod_mcp_remains_t remains;

    mod_mcp_job_clear(run, &remains);

    mod_mcp_lock();
    mod_mcp_job_release(&remains);
}

/* --- threads --- */

static mod_mcp_run_t *next_run(void)
{
    mod_mcp_run_t *run = queue_head;

    if (run) {
        queue_head = run->next;
        run->queued = 0;
        queued--;

        if (queue_head == NULL) {
            queue_tail = &queue_head;
        }
    }

    return run;
}

static void *APR_THREAD_FUNC worker(apr_thread_t *thread, void *data)
{
    mod_mcp_run_t *run;

    mod_mcp_lock();

    while (!ended || queue_head) {
        run = next_run();

        if (run == NULL) {
            waiting++;
            mod_mcp_wait(work, 0);
            waiting--;
            continue;
        }

        run_begin(run);
        mod_mcp_unlock();

        mod_mcp_job_run(run);
        mod_mcp_unlock();

        mod_mcp_job_free(run);
    }

    threads--;
    mod_mcp_signal(idle);

    mod_mcp_unlock();

    return NULL;
}

static int thread_limit(void)
{
    mod_mcp_global_t *global = mod_mcp_config_global(mod_mcp_child.server);

    if (global->threads > 0) {
        return global->threads;
    }

    return mod_mcp_child.threads > 4 ? mod_mcp_child.threads : 4;
}

/* Wakes or starts a thread for what is queued, if there may be one more. */
static apr_status_t thread_start(void)
{
    apr_threadattr_t *attr;
    apr_thread_t *thread;
    apr_status_t rv;

    if (waiting >= queued) {
        mod_mcp_signal(work);
        return APR_SUCCESS;
    }

    if (threads >= thread_limit()) {
        return APR_SUCCESS;
    }

    rv = apr_threadattr_create(&attr, pool);

    if (rv == APR_SUCCESS) {
        apr_threadattr_detach_set(attr, 1);
        rv = mod_mcp_child_thread(&thread, attr, worker, pool);
    }

    if (rv == APR_SUCCESS) {
        threads++;
        return APR_SUCCESS;
    }

    ap_log_error(APLOG_MARK, APLOG_ERR, rv, mod_mcp_child.server,
                 "mod_mcp: cannot start a thread");

    return threads ? APR_SUCCESS : rv;
}

static int is_winding_up(void)
{
    return mod_mcp_child.end == MOD_MCP_WINDING_UP;
}

void mod_mcp_job_stop(void)
{
    apr_time_t end;

    mod_mcp_lock();

    /* a call that waits for its client has no thread yet, but will need one */

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

        /* these threads use what is about to be freed */

        _exit(0);
    }

    mod_mcp_unlock();
}

/* --- actions --- */

/* How many of the MPM's threads may run backend calls. */
static int lend_limit(void)
{
    int n = mod_mcp_child.threads;

    return n < 4 ? n : n - (n / 8 > 2 ? n / 8 : 2);
}

static int may_lend(mod_mcp_client_t *client)
{
    return client && client->state == MOD_MCP_ATTENDED && client->run == NULL
           && mod_mcp_connection_can_lend(client) && lent < lend_limit();
}

static void enqueue(mod_mcp_run_t *run)
{
    run->next = NULL;
    run->queued = 1;
    *queue_tail = run;
    queue_tail = &run->next;
    queued++;
}

static void dequeue(mod_mcp_run_t *run)
{
    mod_mcp_run_t **link;

    for (link = &queue_head; *link != run; link = &(*link)->next) {
        /* keep looking: it is in the list */
    }

    *link = run->next;

    if (run->next == NULL) {
        queue_tail = link;
    }

    run->queued = 0;
    queued--;
}

/* The first invocation of a call takes the snapshot for all. */
static mod_mcp_snapshot_t *get_snapshot(mcp_job_t *job,
                                        mod_mcp_client_t *client)
{
    mod_mcp_snapshot_t *snapshot = mcp_call_glue(job->call);

    if (snapshot == NULL && client && client->r
        && (client->ahead || client->state == MOD_MCP_ATTENDED)) {
        snapshot = client->ahead ? client->snapshot
                                 : mod_mcp_snapshot_create(client);
        client->ahead = 0;

        if (snapshot) {
            mcp_call_set_glue(job->call, snapshot);
        }
    }

    return snapshot;
}

/* Makes the run of a job, or ends the job with an error and returns NULL. */
static mod_mcp_run_t *make_run(mcp_job_t *job, mod_mcp_client_t *client)
{
    mod_mcp_snapshot_t *snapshot = get_snapshot(job, client);
    mod_mcp_run_t *run;

    if (snapshot == NULL && client == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
                    "the client left before the backend call could start");
        return NULL;
    }

    if (snapshot && job->target >= mcp_setup_targets(snapshot->dir->setup)) {
        mcp_job_end(job, MCP_FAULT_NO_BACKEND, "no such backend");
        return NULL;
    }

    run = snapshot ? run_create(job, snapshot) : NULL;

    if (run == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
                    "no memory to start the backend call");
    }

    return run;
}

static void lend(mod_mcp_client_t *client, mod_mcp_run_t *run)
{
    lent++;
    run_begin(run);
    client->run = run;
    run->client = client;

    if (client->holding) {
        mod_mcp_signal(client->cond);
    }
}

/* Returns the number of runs in a list, and adds those of a quota key to
 * *own. */
static int count_runs(const mod_mcp_run_t *run, const unsigned char *party,
                      int *own)
{
    int n = 0;

    for ( ; run; run = run->next) {
        n++;
        *own += run->party && memcmp(run->party, party, MCP_DIGEST_LEN) == 0;
    }

    return n;
}

/* Returns 1 if a new call would give its caller more than half of the threads
 * that others leave.  Each caller may have one call. */
static int exceeds_share(const mcp_job_t *job)
{
    const unsigned char *party = mcp_job_party(job);
    int all, own = 0;

    if (party == NULL || !mcp_job_is_first(job)) {
        return 0;
    }

    all = count_runs(running, party, &own);
    all += count_runs(queue_head, party, &own);

    return own > 0
           && 2 * (own + 1) > lend_limit() + thread_limit() - (all - own);
}

void mod_mcp_job_invoke(mcp_job_t *job, mod_mcp_client_t *client)
{
    mod_mcp_run_t *run;

    job->glue = NULL;

    if (mod_mcp_child.end == MOD_MCP_ENDING) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED, "the server ends");
        return;
    }

    if (exceeds_share(job)) {
        mcp_job_refuse(job, "its caller has its share of the threads");
        return;
    }

    run = make_run(job, client);

    if (run == NULL) {
        return;
    }

    if (may_lend(client)) {
        lend(client, run);
        return;
    }

    enqueue(run);

    if (thread_start() != APR_SUCCESS) {
        dequeue(run);
        run_end(run, MCP_FAULT_BACKEND_FAILED, "no thread to run it");
        run_free(run);
    }
}

static void cut(mod_mcp_run_t *run, const char *detail)
{
    run_end(run, MCP_FAULT_BACKEND_FAILED, detail);

    if (run->queued) {
        dequeue(run);
        run_free(run);
        return;
    }

    /* the thread that runs it ends it as soon as the backend says anything */

    mod_mcp_proxy_abort(run);

    if (run->cond) {
        mod_mcp_signal(run->cond);
    }
}

void mod_mcp_job_abort(mcp_job_t *job)
{
    mod_mcp_run_t *run = job->glue;

    if (run == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED, "aborted");
        return;
    }

    cut(run, "aborted");
}

void mod_mcp_job_interrupt(void)
{
    mod_mcp_run_t *run;

    while (queue_head) {
        cut(queue_head, "the server ends");
    }

    for (run = running; run; run = run->next) {
        cut(run, "the server ends");
    }
}

void mod_mcp_job_resume(mcp_job_t *job)
{
    mod_mcp_run_t *run = job->glue;

    if (run) {
        run->resumed = 1;

        if (run->cond) {
            mod_mcp_signal(run->cond);
        }
    }
}
