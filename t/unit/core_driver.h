/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A test driver in place of a server: uses workers, exchanges, calls and the
 * store as a glue does, with fake clients and fake backends. Each of the
 * DRIVER_NODES workers on one store represents a process.
 */


#ifndef CORE_DRIVER_H_INCLUDED
#define CORE_DRIVER_H_INCLUDED


#include "test_env.h"

#include "call/mcp_call_internal.h"
#include "exchange/mcp_exchange_internal.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_respond.h"


#ifndef DRIVER_NODES
#define DRIVER_NODES  2
#endif

#ifndef DRIVER_ZONE
#define DRIVER_ZONE   (517 * 1024)
#endif

#define DRIVER_BREQS   128


/* The connection of a client, as the glue has it. */
typedef struct {
    mcp_exchange_t  *x;
    const char      *principal;    /* may be NULL */
    mcp_str_t        address;      /* binary, network byte order; may be
                                      empty */
    const char      *target;       /* NULL: /mcp */
    const char      *origin;       /* origin of URLs, NULL: from secure and
                                      Host */
    int              secure;
    int              far;          /* 1: the client is on another machine */
    int              slow;         /* 1: only client_pull() reads the stream */
    size_t           cap;          /* size of the buffer of a pull, 0:
                                      default */
    const mcp_mem_t *ahead;        /* memory for mcp_exchange_parse(), NULL: do
                                      not parse in advance */
    mcp_header_t     headers[16];
    size_t           n_headers;
    mcp_next_e       next;         /* last return value of the head or
                                      body function */
    int              status;       /* 0: no response yet */
    int              streaming;
    int              ended;
    size_t           len;
    char             session[MCP_SESSION_TEXT_MAX];
    char             text[262144]; /* body of the response, or received part of
                                      the stream; the last field, because
                                      client_init() does not clear it */
} client_t;


typedef struct {
    mcp_store_t      store;
    mcp_worker_t    *worker;
    struct driver_s *driver;
    uint64_t         pid;
    void            *scratch;      /* store of a dead process, NULL: alive */
    unsigned         dies_in;      /* dies after this number of unlocks, 0:
                                      never */
    int              woken;
    int              paused;       /* 1: does not run */
} process_t;


typedef struct driver_s {
    test_env_t              te;
    void                   *zone;
    mcp_keys_t              keys;
    mcp_catalog_t          *catalog;
    mcp_endpoint_t          endpoint;
    process_t               process[DRIVER_NODES];
    mcp_backend_request_t  *breqs[DRIVER_BREQS];  /* backend requests that have
                                                     not ended */
    size_t                  n_breqs;
    unsigned                aborts;
    unsigned                resumes;
    unsigned                forgets;
    unsigned                kept;               /* calls that have started a
                                                   backend request; each must
                                                   end with the action
                                                   MCP_ACT_FORGET */
    unsigned                locks;              /* number of locks of the
                                                   store */
    unsigned                unlockable;         /* number of the following
                                                   attempts to lock the store
                                                   that fail */
    void                  (*meanwhile)(void);   /* called once when process 1
                                                   has unlocked the store
                                                   meanwhile_in times */
    unsigned                meanwhile_in;       /* 0: never */
    unsigned                owner_died;         /* 1: the next lock returns
                                                   MCP_AGAIN, as if its last
                                                   holder had died */
    char                    last_body[8192];    /* body of the last backend
                                                   request */
    int                     glue;               /* its address is the glue
                                                   pointer of calls */
} driver_t;


static const char  driver_catalog[] =
    "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"other\",\"inputSchema\":{\"type\":\"object\"}}],"
    "\"prompts\":[{\"name\":\"p\"}],"
    "\"resources\":[{\"uri\":\"test://a\",\"name\":\"a\","
    "\"x-mcp-cache-ttl\":300}],"
    "\"resourceTemplates\":[{\"uriTemplate\":\"test://t/{id}\","
    "\"name\":\"t\"}],"
    "\"completions\":true,"
    "\"instructions\":\"Be kind.\"}";


/* The hook "is_unreachable" of a cluster whose Redis is reachable. */
static inline int
redis_reachable(void *ctx)
{
    (void) ctx;

    return 0;
}


/* The hook "replicate" of a cluster that replicates no stream. */
static inline void
replicates_nothing(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    (void) ctx;
    (void) ref;
    (void) limit;
}


/* The hook "changed" of a cluster that ignores changes of streams. */
static inline void
changes_nothing(void *ctx, const mcp_stream_ref_t *ref, uint64_t sent)
{
    (void) ctx;
    (void) ref;
    (void) sent;
}


/* The hook "clock" of a cluster whose nodes have the same time. */
static inline int
clock_agrees(void *ctx)
{
    (void) ctx;

    return MCP_OK;
}

/* The hook "check_leader" of a cluster whose leader never changes. */
static inline void
leader_stays(void *ctx)
{
    (void) ctx;
}


static inline int
driver_lock(void *ctx)
{
    process_t  *p = ctx;
    driver_t   *d = p->driver;

    if (d->unlockable) {
        d->unlockable--;
        return MCP_ERR_INTERNAL;
    }

    d->locks++;

    if (d->owner_died && p->scratch == NULL) {
        d->owner_died = 0;
        return MCP_AGAIN;
    }

    return MCP_OK;
}


/* Unlocks the store. If the process dies after this unlock (dies_in), it
 * continues with a copy of the store, so that no other process sees its later
 * changes; see driver_kill(). */
static inline void
driver_unlock(void *ctx)
{
    process_t  *p = ctx;
    driver_t   *d = p->driver;

    if (p->dies_in && --p->dies_in == 0) {
        p->scratch = malloc(DRIVER_ZONE);
        assert_non_null(p->scratch);
        memcpy(p->scratch, d->zone, DRIVER_ZONE);
        p->store.head = p->scratch;
    }

    if (p == &d->process[1] && d->meanwhile_in && --d->meanwhile_in == 0) {
        d->meanwhile();
    }
}


static inline void
driver_wake(void *ctx, unsigned slot)
{
    process_t  *p = ctx;

    /* a dead process wakes no other process */

    if (slot < DRIVER_NODES
        && (p->scratch == NULL || p == &p->driver->process[slot]))
    {
        p->driver->process[slot].woken = 1;
    }
}


static inline void
driver_ready(void *ctx)
{
    (void) ctx;
}


static inline int
driver_attach(driver_t *d, unsigned slot, uint64_t pid)
{
    unsigned long      fail_at;
    process_t         *p = &d->process[slot];
    mcp_store_glue_t   glue = { driver_lock, driver_unlock, p, driver_wake,
                               p };
    mcp_worker_glue_t  worker_glue = { driver_ready, NULL };

    p->driver = d;
    p->pid = pid;

    if (mcp_store_attach(&p->store, d->zone, &glue, slot, pid) != MCP_OK) {
        return -1;
    }

    /* no allocation fails while a process starts */

    fail_at = d->te.tm.fail_at;
    d->te.tm.fail_at = 0;
    p->worker = mcp_worker_create(&d->te.env, &p->store, &worker_glue);
    d->te.tm.fail_at = fail_at;

    return p->worker ? MCP_OK : MCP_ERR_MEMORY;
}


static inline void
driver_init(driver_t *d)
{
    char             error[256];
    unsigned         i;
    mcp_endpoint_t  *e;

    memset(d, 0, sizeof(driver_t));
    test_env_init(&d->te);

    d->zone = malloc(DRIVER_ZONE);
    assert_non_null(d->zone);
    assert_ok(mcp_store_format(d->zone, DRIVER_ZONE));

    assert_ok(mcp_keys_add(&d->keys,
                  mcp_str("0123456789abcdef0123456789abcdef")));

    if (mcp_catalog_create(&d->te.env.mem, test_str(driver_catalog),
                           &d->catalog, error, sizeof(error))
        != MCP_OK)
    {
        fail_msg("%s", error);
    }

    e = &d->endpoint;
    e->name = mcp_str("driver");
    e->version = mcp_str("1");
    e->result_members = mcp_str("\"resultType\":\"complete\",\"_meta\":{"
                                "\"io.modelcontextprotocol/serverInfo\":"
                                "{\"name\":\"driver\",\"version\":"
                                "\"1\"}}");
    e->revisions = MCP_REVISION_ALL;
    e->keys = &d->keys;
    e->catalog = d->catalog;
    e->target = 0;
    e->publish_url = mcp_str("http://127.0.0.1/publish");
    e->session_lifetime = 3600000;
    e->stream_after = 1000;
    e->policy_after = 50;
    e->retry = 2000;
    e->keepalive = 15000;
    e->max_wait = 60000;
    e->linger = 5000;
    e->call_timeout = 30000;
    e->input_timeout = 20000;
    e->state_lifetime = 60000;
    e->max_events = 1000;
    e->stream_buffer = 64 * 1024;
    e->max_session_streams = 100;
    e->quota_key = MCP_QUOTA_KEY_OFF;
    e->resume_stateless = MCP_RESUME_STATELESS_DECLARED;
    e->reconnect_wait = 10000;
    e->max_message = 16 * 1024;
    e->max_depth = 32;
    e->max_batch = 10;
    e->page_size = 1;

    for (i = 0; i < DRIVER_NODES; i++) {
        assert_ok(driver_attach(d, i, 100 + i));
    }
}


static inline void
driver_destroy(driver_t *d)
{
    size_t  i;

    for (i = 0; i < DRIVER_NODES; i++) {
        mcp_worker_destroy(d->process[i].worker);
    }

    mcp_catalog_free(d->catalog);
    free(d->zone);
    assert_int_equal(d->te.tm.live, 0);
}


/* Pulls once. If it returns MCP_OK, there may be more data. */
static inline int
client_pull(client_t *c)
{
    int     rc;
    size_t  len;
    char    buf[4096];

    assert_true(c->streaming && !c->ended);

    rc = mcp_exchange_pull(c->x, buf, c->cap ? c->cap : MCP_PULL_MIN + 100,
                           &len);

    assert_true(c->len + len < sizeof(c->text));
    memcpy(c->text + c->len, buf, len);
    c->len += len;
    c->text[c->len] = '\0';

    if (rc == MCP_DONE) {
        c->ended = 1;
    }

    return rc;
}


/* Pulls until there is no more data, as if the socket were always writable. */
static inline void
driver_pull(client_t *c)
{
    while (c->streaming && !c->ended && !c->slow) {
        if (client_pull(c) != MCP_OK) {
            break;
        }
    }
}


static inline void
driver_respond(client_t *c)
{
    size_t                 i;
    const mcp_response_t  *r;

    r = mcp_exchange_response(c->x);
    c->status = r->status;

    for (i = 0; i < r->n_headers; i++) {
        if (mcp_str_case_eq(r->headers[i].name, mcp_str("mcp-session-id"))) {
            memcpy(c->session, r->headers[i].value.data,
                   r->headers[i].value.len);
            c->session[r->headers[i].value.len] = '\0';
        }
    }

    if (c->streaming) {
        driver_pull(c);
        return;
    }

    assert_true(r->body.len < sizeof(c->text));

    if (r->body.len) {
        memcpy(c->text, r->body.data, r->body.len);
    }

    c->len = r->body.len;
    c->text[c->len] = '\0';
    c->ended = 1;
}


static inline void
driver_act(driver_t *d, process_t *p, mcp_action_t *a)
{
    size_t     i;
    client_t  *c;

    c = a->exchange ? mcp_exchange_glue(a->exchange) : NULL;

    if (p->scratch && a->type < MCP_ACT_PREPARE) {
        return;                            /* a dead process has no clients */
    }

    switch (a->type) {

    case MCP_ACT_RESPOND:
        driver_respond(c);
        break;

    case MCP_ACT_STREAM:
        c->streaming = 1;
        driver_respond(c);
        break;

    case MCP_ACT_PULL:
        driver_pull(c);
        break;

    case MCP_ACT_PREPARE:
        d->kept += (mcp_call_glue(a->breq->call) == NULL);
        mcp_call_set_glue(a->breq->call, &d->glue);
        break;

    case MCP_ACT_INVOKE:
        assert_true(d->n_breqs < DRIVER_BREQS);
        assert_true(a->breq->body.len < sizeof(d->last_body));
        memcpy(d->last_body, a->breq->body.data, a->breq->body.len);
        d->last_body[a->breq->body.len] = '\0';
        d->breqs[d->n_breqs++] = a->breq;
        d->kept += (mcp_call_glue(a->breq->call) == NULL);
        mcp_call_set_glue(a->breq->call, &d->glue);
        break;

    case MCP_ACT_ABORT:
        for (i = 0; i < d->n_breqs; i++) {
            if (d->breqs[i] == a->breq) {
                d->breqs[i] = d->breqs[--d->n_breqs];
                break;
            }
        }

        d->aborts++;
        mcp_backend_request_end(a->breq, MCP_FAILURE_REPLY, "aborted");
        break;

    case MCP_ACT_RESUME:
        d->resumes++;
        break;

    case MCP_ACT_FORGET:
        assert_ptr_equal(a->glue, &d->glue);
        d->forgets++;
        break;

    default:
        break;
    }
}


/* Runs wake-ups and actions in all processes until there are none left. */
static inline void
driver_pump(driver_t *d)
{
    int            busy;
    size_t         i;
    process_t     *p;
    mcp_action_t   a;

    do {
        busy = 0;

        for (i = 0; i < DRIVER_NODES; i++) {
            p = &d->process[i];

            if (p->driver == NULL || p->paused) {
                continue;
            }

            if (p->woken) {
                p->woken = 0;
                busy = 1;
                mcp_worker_wake(p->worker);
            }

            for ( ;; ) {
                mcp_worker_next(p->worker, &a);

                if (a.type == MCP_ACT_NONE) {
                    break;
                }

                busy = 1;
                driver_act(d, p, &a);
            }
        }
    } while (busy);
}


/* Pauses a process (on is 1) or continues it (0). A paused process handles no
 * wake-ups and no actions. */
static inline void
driver_pause(driver_t *d, unsigned slot, int on)
{
    d->process[slot].paused = on;
    driver_pump(d);
}


/* Advances the clock by ms, and runs the timers that expire. */
static inline void
driver_wait(driver_t *d, uint64_t ms)
{
    size_t    i;
    uint64_t  end, next;

    end = d->te.now + ms;

    for ( ;; ) {
        driver_pump(d);

        next = UINT64_MAX;

        for (i = 0; i < DRIVER_NODES; i++) {
            if (d->process[i].driver
                && mcp_worker_deadline(d->process[i].worker, NULL) < next)
            {
                next = mcp_worker_deadline(d->process[i].worker, NULL);
            }
        }

        if (next > end) {
            break;
        }

        if (next > d->te.now) {
            d->te.now = next;
        }

        for (i = 0; i < DRIVER_NODES; i++) {
            if (d->process[i].driver) {
                mcp_worker_expire(d->process[i].worker);
            }
        }
    }

    d->te.now = end;
    driver_pump(d);
}


/* Returns the value of a response header, or NULL. */
static inline const char *
client_response_header(client_t *c, const char *name)
{
    size_t                 i;
    static char            value[512];
    const mcp_response_t  *r;

    r = mcp_exchange_response(c->x);

    for (i = 0; i < r->n_headers; i++) {
        if (mcp_str_case_eq(r->headers[i].name, test_str(name))) {
            snprintf(value, sizeof(value), "%.*s",
                     (int) r->headers[i].value.len, r->headers[i].value.data);
            return value;
        }
    }

    return NULL;
}


/*
 * Lets a process die: it gets a new, empty store, so that no other process
 * sees how its objects are freed. The test must close the clients of the
 * process before it calls driver_killed(), which frees the worker.
 */
static inline void
driver_kill(driver_t *d, unsigned slot)
{
    process_t         *p = &d->process[slot];
    mcp_store_glue_t   glue = { driver_lock, driver_unlock, p, driver_wake,
                               p };

    free(p->scratch);
    p->dies_in = 0;
    p->scratch = malloc(DRIVER_ZONE);
    assert_non_null(p->scratch);
    assert_ok(mcp_store_format(p->scratch, DRIVER_ZONE));
    assert_ok(mcp_store_attach(&p->store, p->scratch, &glue, slot, p->pid));
}


static inline void
driver_end_breqs(driver_t *d, unsigned slot)
{
    size_t                  i;
    mcp_backend_request_t  *breq;

    for (i = 0; i < d->n_breqs; i++) {
        breq = d->breqs[i];

        if (breq->call->worker == d->process[slot].worker) {
            d->breqs[i--] = d->breqs[--d->n_breqs];
            mcp_backend_request_end(breq, MCP_FAILURE_REPLY, "died");
        }
    }

    driver_pump(d);
}


static uint64_t  driver_dead;

static inline int
driver_is_dead(uint64_t pid)
{
    return pid == driver_dead;
}


/* Lets the surviving process detect the death, and starts a new process in the
 * slot. */
static inline void
driver_killed(driver_t *d, unsigned slot, unsigned survivor)
{
    uint32_t       i;
    process_t     *p = &d->process[slot];
    mcp_handle_t  *h;

    /* driver_kill() gives the process an empty store again: streams that it
     * has created since its death do not exist for its calls */

    driver_kill(d, slot);

    for (i = 1; i < p->worker->n_handles; i++) {
        h = &p->worker->handles[i];

        if (h->object && h->wake == mcp_inbox_wake) {
            mcp_inbox_wake(h->object);
        }
    }

    driver_pump(d);
    driver_end_breqs(d, slot);
    assert_int_equal(p->worker->calls, 0);
    mcp_worker_destroy(p->worker);
    free(p->scratch);
    p->scratch = NULL;
    p->woken = 0;

    driver_dead = p->pid;
    mcp_worker_patrol(d->process[survivor].worker, DRIVER_NODES, DRIVER_NODES,
                    driver_is_dead);
    assert_ok(driver_attach(d, slot, p->pid + DRIVER_NODES));
    driver_pump(d);
}


/* Ends a process without calls and clients in order, and starts a new one in
 * its slot. */
static inline void
driver_restart(driver_t *d, unsigned slot)
{
    process_t  *p = &d->process[slot];

    mcp_store_detach(&p->store);
    mcp_worker_destroy(p->worker);
    p->woken = 0;
    assert_ok(driver_attach(d, slot, p->pid + DRIVER_NODES));
    driver_pump(d);
}


static inline void
client_header(client_t *c, const char *name, const char *value)
{
    c->headers[c->n_headers].name = test_str(name);
    c->headers[c->n_headers++].value = test_str(value);
}


static inline void
client_init(client_t *c, const char *session)
{
    memset(c, 0, offsetof(client_t, text) + 1);

    client_header(c, "Accept", "application/json, text/event-stream");
    client_header(c, "Content-Type", "application/json");

    if (session) {
        client_header(c, "Mcp-Session-Id", session);
    }
}


/* Values of the expressions in rules, and after them the value of the caller's
 * granted scopes; NULL: the expression has no value. driver_evaluated counts
 * the evaluations of each expression. */
static const char  *driver_values[8] __attribute__((unused));
static unsigned     driver_evaluated[8];


static inline int
driver_evaluate(void *glue, size_t i, const void *value, mcp_str_t *text)
{
    (void) glue;

    assert_non_null(value);
    assert_true(i < 8);
    driver_evaluated[i]++;

    if (driver_values[i] == NULL) {
        return MCP_ERR_INTERNAL;
    }

    *text = test_str(driver_values[i]);

    return MCP_OK;
}


/* Sends a request with the headers of client_header(). Out of memory: c->next
 * is MCP_NEXT_ERROR. */
static inline void
client_send(driver_t *d, unsigned process, client_t *c, const char *method,
    const char *body)
{
    char        *space;
    size_t       len;
    mcp_head_t   head;

    static const mcp_str_t  names[] = { mcp_str("localhost") };

    memset(&head, 0, sizeof(mcp_head_t));

    head.method = test_str(method);
    head.headers = c->headers;
    head.n_headers = c->n_headers;
    head.path = mcp_str("/mcp");
    head.target = c->target ? test_str(c->target) : head.path;
    head.origin = c->origin ? test_str(c->origin) : mcp_null_str;
    head.secure = (c->secure != 0);
    head.server_names = names;
    head.n_server_names = 1;
    head.loopback = !c->far;
    head.local = !c->far;
    head.address = c->address;

    head.evaluate = driver_evaluate;

    if (c->principal) {
        head.principal = test_str(c->principal);
    }

    c->x = mcp_exchange_create(d->process[process].worker, &d->endpoint, c);

    if (c->x == NULL) {
        c->next = MCP_NEXT_ERROR;
        return;
    }

    c->next = mcp_exchange_head(c->x, &head);

    if (c->next == MCP_NEXT_BODY) {
        len = strlen(body);
        space = mcp_exchange_body_space(c->x, len);

        if (space == NULL) {
            c->next = MCP_NEXT_ERROR;
            return;
        }

        memcpy(space, body, len);

        if (c->ahead) {
            mcp_exchange_parse(c->x, len, c->ahead);
        }

        c->next = mcp_exchange_body(c->x, len);
    }

    if (c->next == MCP_NEXT_STREAM) {
        c->streaming = 1;
    }

    if ((c->next == MCP_NEXT_RESPOND || c->next == MCP_NEXT_STREAM)
        && d->process[process].scratch == NULL)
    {
        driver_respond(c);
    }

    driver_pump(d);
}


static inline void
client_close(driver_t *d, client_t *c)
{
    if (c->x) {
        mcp_exchange_free(c->x);
        c->x = NULL;
    }

    driver_pump(d);
}


/* POSTs a body in a session, as a principal; both may be NULL. */
static inline void
client_post_as(driver_t *d, unsigned process, client_t *c,
    const char *session, const char *principal, const char *body)
{
    client_init(c, session);
    c->principal = principal;
    client_send(d, process, c, "POST", body);
}


static inline void
client_post(driver_t *d, unsigned process, client_t *c, const char *session,
    const char *body)
{
    client_post_as(d, process, c, session, NULL, body);
}


static inline void
client_resume(driver_t *d, unsigned process, client_t *c,
    const char *session, const char *last_event_id)
{
    client_init(c, session);

    if (last_event_id) {
        client_header(c, "Last-Event-ID", last_event_id);
    }

    client_send(d, process, c, "GET", "");
}


/* Sends initialize as a principal, which may be NULL, and copies the session's
 * id to session. */
static inline void
client_open_as(driver_t *d, char *session, const char *principal,
    const char *revision, const char *capabilities)
{
    char       body[512];
    client_t  *c;

    c = malloc(sizeof(client_t));
    assert_non_null(c);

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
             "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision, capabilities);

    client_post_as(d, 0, c, NULL, principal, body);
    assert_int_equal(c->status, 200);
    assert_true(c->session[0] != '\0');
    strcpy(session, c->session);
    client_close(d, c);
    free(c);
}


static inline void
client_open(driver_t *d, char *session, const char *revision,
    const char *capabilities)
{
    client_open_as(d, session, NULL, revision, capabilities);
}


/* Sends output of a backend. Returns the number of bytes that were taken. */
static inline size_t
backend_send(driver_t *d, mcp_backend_request_t *breq, const char *text)
{
    size_t  n;

    n = mcp_backend_request_data(breq, text, strlen(text));
    driver_pump(d);

    return n;
}


static inline void
backend_end(driver_t *d, mcp_backend_request_t *breq, mcp_failure_e failure)
{
    size_t  i;

    for (i = 0; i < d->n_breqs; i++) {
        if (d->breqs[i] == breq) {
            d->breqs[i] = d->breqs[--d->n_breqs];
            break;
        }
    }

    mcp_backend_request_end(breq, failure,
                            failure == MCP_FAILURE_NONE ? NULL : "test");
    driver_pump(d);
}


/* Sends the head of a stream for the i-th backend request, and returns the
 * request. */
static inline mcp_backend_request_t *
backend_stream(driver_t *d, size_t i)
{
    mcp_backend_request_head(d->breqs[i], 200,
                             mcp_str("application/x-ndjson"));

    return d->breqs[i];
}


/* Answers a backend request with JSON, and ends it. */
static inline void
backend_reply(driver_t *d, mcp_backend_request_t *breq, const char *text)
{
    mcp_backend_request_head(breq, 200, mcp_str("application/json"));
    backend_send(d, breq, text);
    backend_end(d, breq, MCP_FAILURE_NONE);
}


/* Answers the only backend request with JSON. */
static inline void
backend_json(driver_t *d, const char *text)
{
    assert_int_equal(d->n_breqs, 1);
    backend_reply(d, d->breqs[0], text);
}


/* Copies the id of the last event in a client's stream to id. */
static inline void
client_last_id(client_t *c, char *id)
{
    char  *p, *last;

    last = NULL;

    for (p = c->text; (p = strstr(p, "id: ")) != NULL; p++) {
        if (p == c->text || p[-1] == '\n') {
            last = p + 4;
        }
    }

    assert_non_null(last);
    snprintf(id, 64, "%.*s", (int) strcspn(last, "\n"), last);
}


#endif /* CORE_DRIVER_H_INCLUDED */
