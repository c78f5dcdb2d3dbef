/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random clients, backends, times and deaths of processes against a simple
 * model: a client receives every event after the one that it resumed from,
 * exactly once and in order, no event of another call, and every call ends.
 * One run has a fixed seed, the other a fresh one, which is printed; MCP_SEED
 * repeats it.
 */

#include <time.h>
#include <unistd.h>

#include "core_cases.h"


#define SLOTS     10
#define SESSIONS  3
#define STEPS     20000


typedef struct {
    unsigned                number;      /* request id; 0: the slot is
                                            unused */
    unsigned                of;          /* session */
    unsigned                process;
    mcp_backend_request_t  *breq;        /* NULL: the backend request has
                                            ended */
    unsigned                said;        /* number of progress messages that
                                            the backend has sent */
    unsigned                answered:1;  /* 1: the backend has sent its
                                            result */
    unsigned                broken:1;    /* 1: the backend has failed */
    unsigned                cancelled:1;
    unsigned                lost:1;      /* 1: the process of the call has
                                            died */
    unsigned                timed_out:1;

    client_t               *c;           /* the client's connection, or NULL */
    unsigned                back;        /* 1: c is a GET that resumed the
                                            stream */
    unsigned                at;          /* process of the connection c */
    size_t                  read;        /* of c->text */
    char                    stream[32];  /* id of the stream; empty until the
                                            client has received an event */
    unsigned                cursor;      /* number of the last event received
                                            on the connection c */
    unsigned                seen;        /* number of the last event received
                                            on any connection */
    unsigned                over;        /* number of the last event of the
                                            stream; 0 until the client has
                                            received it */
    uint64_t                left;        /* time since which the stream has had
                                            no reader, ms */
} slot_t;


static slot_t    slots[SLOTS];
static char      sessions[SESSIONS][MCP_SESSION_TEXT_MAX];
static uint64_t  seed, rnd;
static unsigned  next_number, step;
static unsigned  resumed, finished, deaths, refused;


#define roll(n)  ((unsigned) test_draw(&rnd, n))


#define wrong(s, ...)                                                         \
    do {                                                                      \
        print_error("seed %llu step %u call %u: ",                            \
                    (unsigned long long) seed, step, (s)->number);            \
        fail_msg(__VA_ARGS__);                                                \
    } while (0)


static int
alive(mcp_backend_request_t *breq)
{
    size_t  i;

    for (i = 0; i < d.n_breqs; i++) {
        if (d.breqs[i] == breq) {
            return 1;
        }
    }

    return 0;
}


/* Checks event n of a call: either a progress message that the backend has
 * sent, or the response. */
static void
event(slot_t *s, unsigned n, const char *data, size_t len)
{
    char  expected[256], id[32];

    if (len == 0) {
        if (n != s->cursor) {
            wrong(s, "primed with %u after %u", n, s->cursor);
        }

        return;
    }

    if (n != s->cursor + 1) {
        wrong(s, "event %u after %u", n, s->cursor);
    }

    s->cursor = n;

    if (s->over && n > s->over) {
        wrong(s, "event %u after the end", n);
    }

    if (n > s->seen) {
        s->seen = n;
    }

    snprintf(expected, sizeof(expected), NOTE("notifications/progress",
             "{\"progressToken\":\"t%u\",\"progress\":%u,\"message\":"),
             s->number, n);

    /* compare only the start of the event: the message at its end may be
     * long */

    expected[strlen(expected) - 1] = '\0';

    if (n <= s->said && len > strlen(expected)
        && memcmp(data, expected, strlen(expected)) == 0)
    {
        return;
    }

    /* not a progress message: it has to be the response of this call */

    snprintf(id, sizeof(id), "\"id\":%u,", s->number);

    if (memmem(data, len, id, strlen(id)) == NULL) {
        wrong(s, "event %u is foreign: %.*s", n, (int) len, data);
    }

    if (memmem(data, len, "\"result\":", 9)) {
        snprintf(expected, sizeof(expected), "{\"x\":%u}", s->number);

        if (!s->answered || n != s->said + 1
            || memmem(data, len, expected, strlen(expected)) == NULL)
        {
            wrong(s, "result out of place: %u of %u", n, s->said + 1);
        }

    } else if (memmem(data, len, "-32603", 6)) {

        if (!(s->broken || s->lost || s->timed_out || s->answered)
            || n > s->said + 1)
        {
            wrong(s, "error out of place: %.*s", (int) len, data);
        }

    } else {
        wrong(s, "what is this: %.*s", (int) len, data);
    }

    if (s->over && s->over != n) {
        wrong(s, "two ends, %u and %u", s->over, n);
    }

    s->over = n;
}


/* Checks the complete SSE events that were received since the last call. */
static void
read_stream(slot_t *s)
{
    char      *p, *end, *id, *data;
    unsigned   n;

    for ( ;; ) {
        p = s->c->text + s->read;
        end = strstr(p, "\n\n");

        if (end == NULL) {
            break;
        }

        s->read += (size_t) (end + 2 - p);
        *end = '\0';

        id = strncmp(p, "id: ", 4) == 0 ? p + 4 : NULL;
        data = strstr(p, "data: ");

        if (id == NULL) {
            assert_null(data);
            continue;
        }

        if (s->stream[0] == '\0') {
            snprintf(s->stream, sizeof(s->stream), "%.22s", id);
        }

        if (strncmp(id, s->stream, 22) != 0) {
            wrong(s, "stream %.22s instead of %s", id, s->stream);
        }

        n = (unsigned) atoi(id + 23);
        event(s, n, data + 6, strlen(data + 6));
    }

    /* discard the events that were checked, so that the text does not grow
     * forever */

    memmove(s->c->text, s->c->text + s->read, s->c->len - s->read + 1);
    s->c->len -= s->read;
    s->read = 0;
}


static void
detach(slot_t *s)
{
    client_close(&d, s->c);
    free(s->c);
    s->c = NULL;
    s->left = d.te.now;
}


static void
forget(slot_t *s)
{
    if (s->c) {
        detach(s);
    }

    if (s->over) {
        finished++;
    }

    memset(s, 0, sizeof(slot_t));
}


/* Checks the state of a call after an action. */
static void
lookup(slot_t *s)
{
    char  id[64];

    if (s->number == 0) {
        return;
    }

    if (s->breq && !alive(s->breq)) {
        s->breq = NULL;
    }

    if (s->c == NULL || s->c->status == 0) {
        return;
    }

    if (s->c->streaming) {
        read_stream(s);

        if (s->c->ended) {
            detach(s);
        }

        return;
    }

    /* a response in plain JSON: the result, or an error */

    snprintf(id, sizeof(id), "\"id\":%u,", s->number);
    has(s->c->text, id);

    if (s->c->status == 200) {
        if (s->said && !s->lost) {
            wrong(s, "plain JSON after progress: %s", s->c->text);
        }

        assert_true(s->answered || s->broken || s->timed_out);
        s->over = 1;

    } else if (s->c->status == 503) {
        refused++;

    } else {
        wrong(s, "status %d: %s", s->c->status, s->c->text);
    }

    forget(s);
}


static void
check_all(void)
{
    size_t  i;

    for (i = 0; i < SLOTS; i++) {
        lookup(&slots[i]);
    }
}


/* --- what may happen --- */

static client_t *
new_client(void)
{
    client_t  *c;

    c = malloc(sizeof(client_t));
    assert_non_null(c);

    return c;
}


static void
act_start(slot_t *s)
{
    char    body[256], id[32];
    size_t  i;

    s->number = ++next_number;
    s->of = roll(SESSIONS);
    s->process = s->at = roll(2);
    s->c = new_client();
    s->back = 0;

    snprintf(body, sizeof(body), REQUEST("%u", "tools/call",
             "{\"name\":\"echo\",\"_meta\":{\"progressToken\":\"t%u\"}}"),
             s->number, s->number);
    client_init(s->c, sessions[s->of]);
    s->c->cap = roll(3) ? 0 : MCP_PULL_MIN + roll(3000);
    client_send(&d, s->process, s->c, "POST", body);

    snprintf(id, sizeof(id), "%u", s->number);

    for (i = 0; i < d.n_breqs; i++) {
        if (mcp_str_eq(d.breqs[i]->variables.value[MCP_VARIABLE_REQUEST_ID],
                       test_str(id)))
        {
            s->breq = d.breqs[i];
            mcp_backend_request_head(s->breq, 200,
                                     mcp_str("application/x-ndjson"));
        }
    }
}


static void
act_send(slot_t *s)
{
    char  message[4096];
    int   size;

    if (s->breq == NULL || s->answered) {
        return;
    }

    size = roll(10) ? (int) roll(50) + 1 : (int) roll(2500) + 1;

    snprintf(message, sizeof(message), NOTE("notifications/progress",
             "{\"progressToken\":\"t%u\",\"progress\":%u,"
             "\"message\":\"%0*d\"}") "\n",
             s->number, s->said + 1, size, 7);

    s->said++;

    if (mcp_backend_request_data(s->breq, message, strlen(message)) == 0) {
        s->said--;
    }

    driver_pump(&d);
}


static void
act_answer(slot_t *s)
{
    char                    message[64];
    mcp_backend_request_t  *breq;

    if (s->breq == NULL || s->answered) {
        return;
    }

    snprintf(message, sizeof(message), "{\"x\":%u}\n", s->number);
    breq = s->breq;
    s->answered = 1;

    if (mcp_backend_request_data(breq, message, strlen(message)) == 0) {
        s->answered = 0;
        driver_pump(&d);
        return;
    }

    driver_pump(&d);

    /* three of four backends end after their result; for the others, a later
     * step ends them */

    if (roll(4) && alive(breq)) {
        backend_end(&d, breq, MCP_FAILURE_NONE);
    }
}


static void
act_break(slot_t *s)
{
    if (s->breq == NULL) {
        return;
    }

    s->broken = !s->answered;
    backend_end(&d, s->breq, MCP_FAILURE_REPLY);
}


static void
act_cancel(slot_t *s)
{
    char  id[32];

    snprintf(id, sizeof(id), "%u", s->number);
    s->cancelled = 1;
    cancel(roll(2), sessions[s->of], id);
}


/* Resumes the call at any process, after any event that the client has
 * received. If the client is still connected, the new connection displaces the
 * old one. */
static void
act_resume(slot_t *s)
{
    char       id[64];
    client_t  *c, *old;
    unsigned   from, old_at;
    uint64_t   left;

    if (s->stream[0] == '\0') {
        return;
    }

    from = roll(3) ? s->seen : roll(s->seen + 1);
    snprintf(id, sizeof(id), "%s.%u", s->stream, from);

    left = s->c ? d.te.now : s->left;
    old = s->c;
    old_at = s->at;
    c = new_client();

    client_init(c, sessions[s->of]);
    client_header(c, "Last-Event-ID", id);
    c->cap = roll(3) ? 0 : MCP_PULL_MIN + roll(3000);
    s->at = roll(2);
    client_send(&d, s->at, c, "GET", "");

    if (c->status == 200) {
        resumed++;

        if (old) {
            /* read the remaining events of the displaced connection, which
             * then closes */
            s->c = old;
            read_stream(s);
            client_close(&d, old);
            free(old);
        }

        s->c = c;
        s->back = 1;
        s->read = 0;
        s->cursor = from;
        return;
    }

    if (c->status == 204) {
        if (!(s->over && from == s->over) && !s->cancelled) {
            wrong(s, "nothing left after %u?", from);
        }

    } else if (c->status != 404) {
        wrong(s, "status %d", c->status);

    } else if (strstr(c->text, "no longer available")) {
        if (from >= s->seen) {
            wrong(s, "event %u was dropped but not sent", from + 1);
        }

    } else if (!s->over && !s->cancelled
               && d.te.now - left < d.endpoint.max_wait)
    {
        wrong(s, "stream is gone: %s", c->text);
    }

    s->at = old_at;
    client_close(&d, c);
    free(c);

    /* the client has received the last event */

    if (s->over && s->c == NULL && roll(2)) {
        forget(s);
    }
}


/* Opens a session's own stream; calls must not be affected. */
static void
act_listen(void)
{
    client_t  *c;

    c = new_client();
    client_resume(&d, roll(2), c, sessions[roll(SESSIONS)], NULL);
    assert_int_equal(c->status, 200);

    if (roll(2)) {
        publish(roll(2), &b, "/publish/static-token", CHANGED);
        has(c->text, CHANGED);
    }

    has_not(c->text, "\"id\":");
    client_close(&d, c);
    free(c);
}


static void
act_die(void)
{
    size_t    i;
    slot_t   *s;
    unsigned  slot;

    slot = roll(2);
    deaths++;

    driver_kill(&d, slot);

    for (i = 0; i < SLOTS; i++) {
        s = &slots[i];

        if (s->number == 0) {
            continue;
        }

        if (s->process == slot) {
            s->lost = 1;
            s->breq = NULL;
        }

        if (s->c && s->at == slot) {
            detach(s);
        }
    }

    driver_end_breqs(&d, slot);
    driver_killed(&d, slot, !slot);

    for (i = 0; i < SLOTS; i++) {
        s = &slots[i];

        /* the client has no event id with which it can resume: the model
         * forgets the call */

        if (s->number && s->lost && s->stream[0] == '\0' && s->c == NULL) {
            forget(s);
        }
    }
}


/* A process without active calls exits after a reload. It closes the
 * connections of clients that have resumed there. */
static void
act_wind_up(void)
{
    size_t    i;
    unsigned  slot;

    slot = roll(2);
    mcp_worker_stop(d.process[slot].worker, 0);
    driver_pump(&d);
    check_all();

    for (i = 0; i < SLOTS; i++) {
        if (slots[i].c && slots[i].at == slot && slots[i].c->streaming
            && slots[i].back)
        {
            wrong(&slots[i], "still there after the stop");
        }
    }

    if (d.process[slot].worker->calls == 0
        && d.process[slot].worker->consumers == 0)
    {
        for (i = 0; i < SLOTS; i++) {
            if (slots[i].c && slots[i].at == slot) {
                return;
            }
        }

        driver_restart(&d, slot);
        return;
    }

    d.process[slot].worker->stopping = 0;
}


static void
act_wait(void)
{
    size_t    i;
    uint64_t  ms;

    ms = roll(20) ? roll(700) : roll(9000);

    /* calls may time out while the time advances; the model accepts that */

    driver_wait(&d, ms);

    for (i = 0; i < SLOTS; i++) {
        if (slots[i].number && slots[i].breq && !alive(slots[i].breq)
            && !slots[i].answered)
        {
            slots[i].timed_out = 1;
        }
    }
}


static void
one_step(void)
{
    slot_t  *s;

    s = &slots[roll(SLOTS)];

    if (s->number == 0) {
        act_start(s);

    } else {
        switch (roll(24)) {

        case 0: case 1: case 2: case 3: case 4: case 5: case 6: case 7:
            act_send(s);
            break;

        case 8: case 9:
            act_answer(s);
            break;

        case 10: case 11: case 12:
            if (s->c) {
                detach(s);
            }

            break;

        case 13: case 14: case 15: case 16:
            act_resume(s);
            break;

        case 17:
            if (roll(2)) {
                act_cancel(s);
            }

            break;

        case 18:
            if (roll(3) == 0) {
                act_break(s);
            }

            break;

        case 19:
            if (roll(20) == 0) {
                act_die();
            }

            break;

        case 20:
            if (roll(20) == 0) {
                act_wind_up();
            }

            break;

        case 21:
            act_listen();
            break;

        default:
            act_wait();
            break;
        }
    }

    check_all();

    /* the stream was freed, or the client has no event id */

    if (s->number && s->c == NULL && s->breq == NULL
        && (s->over || s->stream[0] == '\0' || s->cancelled)
        && roll(4) == 0)
    {
        forget(s);
    }
}


static void
run(uint64_t with)
{
    size_t             i, k;
    long               live;
    mcp_store_stats_t  before, after;

    print_message("seed %llu\n", (unsigned long long) with);

    seed = with;
    rnd = with;
    next_number = resumed = finished = deaths = refused = 0;
    memset(slots, 0, sizeof(slots));

    d.endpoint.max_wait = 20000;
    d.endpoint.stream_buffer = 16 * 1024;
    d.endpoint.max_session_streams = 0;
    d.te.env.log_level = MCP_LOG_ERROR;

    strcpy(sessions[0], session);

    for (i = 1; i < SESSIONS; i++) {
        client_open(&d, sessions[i], NEW, ALL);
    }

    before = stats();

    /* before the measurement, allocate the memory that a process keeps until
     * its exit */

    for (i = 0; i < SESSIONS; i++) {
        for (k = 0; k < 2; k++) {
            client_resume(&d, k, &b, sessions[i], NULL);
            client_close(&d, &b);
        }
    }

    live = d.te.tm.live;

    for (step = 0; step < STEPS; step++) {
        one_step();

        /* the run ends before the sessions expire */

        if (d.te.now > 1700000000000ULL + 3000000) {
            break;
        }
    }

    /* all clients disconnect: every call has to end */

    for (i = 0; i < SLOTS; i++) {
        if (slots[i].number) {
            forget(&slots[i]);
        }
    }

    driver_wait(&d, 120000);
    quiet();
    after = stats();
    assert_int_equal(after.streams, after.listeners);

    /* a process may just have restarted: allocate the memory again that it
     * keeps until its exit */

    client_open(&d, sessions[0], NEW, ALL);

    for (k = 0; k < 2; k++) {
        client_resume(&d, k, &b, sessions[0], NULL);
        client_close(&d, &b);
    }

    /* streams and values that remain are freed when the sessions have
     * expired */

    driver_wait(&d, 7200000);

    after = stats();
    assert_int_equal(after.streams, before.streams);
    assert_int_equal(after.used, before.used);
    assert_int_equal(after.values, 0);
    assert_int_equal(after.counter[MCP_COUNT_CALLS_ACTIVE], 0);
    assert_int_equal(after.counter[MCP_COUNT_CONSUMERS_ACTIVE], 0);
    assert_int_equal(d.te.tm.live, live);

    print_message("seed %llu: %u steps, %u calls, %u ended before a client, "
                  "%u resumed, %u deaths, %u refused\n",
                  (unsigned long long) seed, step, next_number, finished,
                  resumed, deaths, refused);

    /* each kind of step was taken often enough */

    assert_true(finished > 100);
    assert_true(resumed > 100);
    assert_true(deaths > 1);
}


TEST(random_calls_with_a_fixed_seed__each_call_ends_and_no_event_is_lost)
{
    run(20251125);
}


TEST(random_calls_with_a_new_seed__each_call_ends_and_no_event_is_lost)
{
    const char  *given;

    given = getenv("MCP_SEED");

    run(given ? strtoull(given, NULL, 10)
              : (uint64_t) time(NULL) * 1000003 + (uint64_t) getpid());
}


RUN_TESTS(setup, teardown)
