/* SPDX-License-Identifier: Apache-2.0 */

/*
 * All resumption methods, with genuine, damaged and invented tokens: no byte
 * is read out of bounds, and no memory is left behind.
 *
 * The input is a series of requests, separated by 0xff:
 *
 *   G target  GET
 *   K target  GET without a session
 *   L body    POST to the stream's URL
 *   P body    POST to the endpoint
 *   T body    POST of a client that supports only resume tokens
 *   R text    sets the backend's answer for the requests after it
 *   B text    a message of the backend in the call that got an interim response
 *   E text    like B, and then the backend ends
 *
 * The bytes after 0xfe in a request are its Last-Event-ID.
 *
 * Bytes 1 to 7 are replaced by values that the server sent: the token of a
 * request (1), a stream's id (2) and token (3), the id of a question (4), the
 * token of a URL (5), the resume token of a backend (6) and of this server
 * (7).
 */


#include "fuzz_env.h"

#include "resume/mcp_resume_common.h"


#define ZONE     (512 * 1024)
#define REQUESTS  8


typedef struct {
    char    text[65536];
    size_t  len;
} text_t;


static uint64_t        now;
static mcp_keys_t      keys;
static mcp_store_t     store;
static mcp_worker_t     *worker;
static mcp_endpoint_t  endpoint;
static char            zone[ZONE];
static text_t          seen, body, known[8];
static mcp_str_t       answer;
static char            texts[2][MCP_SESSION_TEXT_MAX];
static mcp_str_t       sessions[2];    /* [0] supports all resumption methods;
                                          [1] only resume tokens */
static mcp_backend_request_t  *held;   /* backend request that continues after
                                          the interim response of its call */
static int             hold;
static unsigned        randoms;        /* the latest value of a series of
                                          pseudo-random numbers */


static uint64_t
fuzz_now(void *ctx)
{
    (void) ctx;

    return now;
}


static int
fuzz_random(void *ctx, void *buf, size_t len)
{
    size_t          i;
    unsigned char  *p;

    (void) ctx;
    p = buf;

    for (i = 0; i < len; i++) {
        randoms = randoms * 1103515245 + 12345;
        p[i] = (unsigned char) (randoms >> 16);
    }

    return MCP_OK;
}


static void
fuzz_log(void *ctx, mcp_log_level_e level, const char *line)
{
    (void) ctx;
    (void) level;
    (void) line;
}


static int
fuzz_lock(void *ctx)
{
    (void) ctx;

    return MCP_OK;
}


static void
fuzz_unlock(void *ctx)
{
    (void) ctx;
}


static void
fuzz_wake(void *ctx, unsigned slot)
{
    (void) slot;
    *(int *) ctx = 1;
}


static int  woken;

static const mcp_env_t  env = {
    { fuzz_alloc, fuzz_free, NULL }, fuzz_now, fuzz_random, fuzz_log,
    MCP_LOG_ERROR, { NULL, 0 }, NULL
};


static void
add(text_t *text, const char *data, size_t len)
{
    if (len < sizeof(text->text) - text->len) {
        memcpy(text->text + text->len, data, len);
        text->len += len;
        text->text[text->len] = '\0';
    }
}


static void
pull(mcp_exchange_t *x)
{
    int     rc;
    char    buf[MCP_PULL_MIN];
    size_t  len;

    do {
        rc = mcp_exchange_pull(x, buf, sizeof(buf), &len);
        must(len <= sizeof(buf));
        add(&seen, buf, len);
    } while (rc == MCP_OK);
}


static void
run(void)
{
    mcp_backend_request_t  *breq;
    mcp_action_t            a;

    for ( ;; ) {
        if (woken) {
            woken = 0;
            mcp_worker_wake(worker);
        }

        mcp_worker_next(worker, &a);

        switch (a.type) {

        case MCP_ACT_NONE:
            if (!woken) {
                return;
            }

            break;

        case MCP_ACT_STREAM:
        case MCP_ACT_PULL:
            pull(a.exchange);
            break;

        case MCP_ACT_INVOKE:
            breq = a.breq;
            mcp_call_set_glue(breq->call, worker);
            mcp_backend_request_head(breq, 200,
                mcp_str("application/x-ndjson"));

            if (hold) {
                hold = 0;
                held = breq;
                break;
            }

            mcp_backend_request_data(breq, answer.data, answer.len);
            mcp_backend_request_end(breq, MCP_FAILURE_NONE, NULL);
            break;

        case MCP_ACT_ABORT:
            held = a.breq == held ? NULL : held;
            mcp_backend_request_end(a.breq, MCP_FAILURE_REPLY, NULL);
            break;

        default:
            break;
        }
    }
}


static void
pass(uint64_t ms)
{
    now += ms;
    mcp_worker_expire(worker);
    run();
}


static mcp_exchange_t *
request(const char *method, mcp_str_t target, mcp_str_t text, mcp_str_t who,
    mcp_str_t last)
{
    char            *p;
    mcp_head_t       head;
    mcp_next_e       next;
    mcp_header_t     headers[5];
    mcp_exchange_t  *x;

    memset(&head, 0, sizeof(head));
    headers[0] = (mcp_header_t) { mcp_str("Accept"),
        mcp_str("application/json, text/event-stream") };
    headers[1] = (mcp_header_t) { mcp_str("Content-Type"),
                                  mcp_str("application/json") };
    headers[2] = (mcp_header_t) { mcp_str("Host"), mcp_str("h") };
    head.n_headers = 3;

    if (who.data) {
        headers[head.n_headers++] = (mcp_header_t) {
            mcp_str("Mcp-Session-Id"), who };
    }

    if (last.data) {
        headers[head.n_headers++] = (mcp_header_t) {
            mcp_str("Last-Event-ID"), last };
    }

    head.method = (mcp_str_t) { method, strlen(method) };
    head.headers = headers;
    head.path = mcp_str("/mcp");
    head.target = target;
    head.loopback = 1;

    x = mcp_exchange_create(worker, &endpoint, NULL);
    must(x != NULL);

    next = mcp_exchange_head(x, &head);

    if (next == MCP_NEXT_BODY) {
        p = mcp_exchange_body_space(x, text.len);
        must(p != NULL);

        if (text.len) {
            memcpy(p, text.data, text.len);
        }

        next = mcp_exchange_body(x, text.len);
    }

    if (next == MCP_NEXT_STREAM) {
        pull(x);
    }

    must(next == MCP_NEXT_RESPOND || next == MCP_NEXT_STREAM
         || next == MCP_NEXT_WAIT);
    run();

    return x;
}


/* Stores the text after "before", up to a quote or bracket, as the value that
 * replaces byte i. */
static void
learn(unsigned i, const char *text, const char *before)
{
    const char  *p;

    p = strstr(text, before);
    known[i].len = 0;

    if (p) {
        p += strlen(before);
        add(&known[i], p, strcspn(p, "\">"));
    }
}


/* Creates session [0] or [1], both of one principal. */
static void
print_session(unsigned i, unsigned capabilities)
{
    char           *end;
    mcp_client_t   session;

    memset(&session, 7 + (int) i, sizeof(session));
    memset(session.principal, 0, MCP_DIGEST_LEN);
    session.expires = now + 3600000;
    session.revision = MCP_REVISION_2025_11_25;
    session.capabilities = capabilities;
    end = mcp_session_print(&keys, &session, texts[i]);
    must(end != NULL);
    sessions[i] = (mcp_str_t) { texts[i], (size_t) (end - texts[i]) };
}


static void
start(void)
{
    size_t                 i;
    mcp_exchange_t        *x;
    const mcp_response_t  *r;
    mcp_store_glue_t       glue = { fuzz_lock, fuzz_unlock, NULL, fuzz_wake,
                                   &woken };
    mcp_worker_glue_t        worker_glue = { NULL, NULL };

    now = 1700000000000;
    woken = 0;

    if (keys.n == 0) {
        must(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef"))
             == MCP_OK);
    }

    must(mcp_store_format(zone, ZONE) == MCP_OK);
    must(mcp_store_attach(&store, zone, &glue, 0, 1) == MCP_OK);
    worker_glue.ready = fuzz_unlock;
    worker = mcp_worker_create(&env, &store, &worker_glue);
    must(worker != NULL);

    memset(&endpoint, 0, sizeof(endpoint));
    endpoint.name = mcp_str("f");
    endpoint.version = mcp_str("1");
    endpoint.revisions = MCP_REVISION_ALL;
    endpoint.keys = &keys;
    endpoint.session_lifetime = 3600000;
    endpoint.max_wait = 60000;
    endpoint.min_wait = 1500;
    endpoint.linger = 5000;
    endpoint.call_timeout = 30000;
    endpoint.input_timeout = 20000;
    endpoint.resume_after = 5000;
    endpoint.resume_lifetime = 60000;
    endpoint.max_events = 100;
    endpoint.stream_buffer = 65536;
    endpoint.max_message = 65536;
    endpoint.max_depth = 16;
    endpoint.max_batch = 8;
    endpoint.link = 1;

    print_session(0, 0xff);
    print_session(1, MCP_CLIENT_TOKENS);
    held = NULL;
    hold = 0;
    randoms = 0x5a;

    answer = mcp_str("{\"resultType\":\"input_required\",\"inputRequests\":{"
                     "\"k\":{\"method\":\"roots/list\"},"
                     "\"l\":{\"method\":\"elicitation/create\"}}}\n");
    seen.len = 0;
    x = request("POST", mcp_str("/mcp"), mcp_str("{\"jsonrpc\":\"2.0\","
                "\"id\":7,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"t\"}}"), sessions[0], mcp_null_str);

    learn(1, seen.text, "\"resumeToken\":\"");
    learn(2, seen.text, "\"streamId\":\"");
    learn(3, strstr(seen.text, "stream/create"), "\"resumeToken\":\"");
    learn(4, strstr(seen.text, "roots/list") - 60, "\"id\":\"");
    known[5].len = 0;
    r = mcp_exchange_response(x);

    for (i = 0; i < r->n_headers; i++) {
        if (mcp_str_eq(r->headers[i].name, mcp_str("Link"))) {
            body.len = 0;
            add(&body, r->headers[i].value.data, r->headers[i].value.len);
            learn(5, body.text, "mcp-stream=");
        }
    }

    must(known[1].len && known[2].len && known[3].len && known[4].len
         && known[5].len);
    mcp_exchange_free(x);
    run();

    /* a call whose backend returns its own resume token */

    answer = mcp_str("{\"nextResumeToken\":\"p\"}\n");
    x = request("POST", mcp_str("/mcp"), mcp_str("{\"jsonrpc\":\"2.0\","
                "\"id\":8,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"t\"}}"), sessions[0], mcp_null_str);
    r = mcp_exchange_response(x);
    body.len = 0;
    add(&body, r->body.data, r->body.len);
    learn(6, body.text, "\"nextResumeToken\":\"");
    must(known[6].len);
    mcp_exchange_free(x);
    run();

    /* a call for which this server makes a resume token */

    hold = 1;
    seen.len = 0;
    x = request("POST", mcp_str("/mcp"), mcp_str("{\"jsonrpc\":\"2.0\","
                "\"id\":9,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"t\"}}"), sessions[1], mcp_null_str);
    pass(1);
    pass(5100);
    learn(7, seen.text, "\"nextResumeToken\":\"");
    must(held && known[7].len);
    mcp_exchange_free(x);
    run();
}


static void
say(mcp_str_t text, int last)
{
    mcp_backend_request_t  *breq;

    breq = held;

    if (breq == NULL) {
        return;
    }

    if (last) {
        held = NULL;
    }

    mcp_backend_request_data(breq, text.data, text.len);

    if (last) {
        mcp_backend_request_end(breq, MCP_FAILURE_NONE, NULL);
    }

    run();
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char              kind, url[1024];
    size_t            i, n;
    mcp_str_t         text, target, last;
    mcp_exchange_t   *x[REQUESTS];

    static text_t     result;

    endpoint.target = 0;
    start();

    for (n = 0, i = 0; n < REQUESTS && i < size; n++) {
        kind = (char) data[i++];
        body.len = 0;
        body.text[0] = '\0';

        for ( /* void */ ; i < size && data[i] != 0xff; i++) {
            if (data[i] >= 1 && data[i] <= 7) {
                add(&body, known[data[i]].text, known[data[i]].len);

            } else {
                add(&body, (const char *) &data[i], 1);
            }
        }

        i++;
        text = (mcp_str_t) { body.text, body.len };
        last = mcp_null_str;
        last.data = memchr(text.data, 0xfe, text.len);

        if (last.data) {
            text.len = (size_t) (last.data++ - text.data);
            last.len = body.len - text.len - 1;
        }

        target = mcp_str("/mcp");
        x[n] = NULL;

        switch (kind) {

        case 'G':
            x[n] = request("GET", text, mcp_null_str, sessions[0], last);
            break;

        case 'K':
            x[n] = request("GET", text, mcp_null_str, mcp_null_str, last);
            break;

        case 'L':
            target.data = url;
            memcpy(url, "/mcp?mcp-stream=", 16);
            memcpy(url + 16, known[5].text, known[5].len);
            target.len = 16 + known[5].len;
            x[n] = request("POST", target, text, sessions[0], last);
            break;

        case 'T':
            x[n] = request("POST", target, text, sessions[1], last);
            break;

        case 'B':
        case 'E':
            say(text, kind == 'E');
            break;

        case 'R':
            result = body;
            answer = (mcp_str_t) { result.text, result.len };
            break;

        default:
            x[n] = request("POST", target, text, sessions[0], last);
        }
    }

    pass(1500);

    for (i = 0; i < n; i++) {
        if (x[i]) {
            mcp_exchange_free(x[i]);
            run();
        }
    }

    for (i = 0; i < 20; i++) {
        pass(10000);
    }

    must(worker->calls == 0 && worker->consumers == 0);
    mcp_worker_destroy(worker);
    mcp_store_detach(&store);
    must(live == 0);

    return 0;
}
