/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random actions of clients and backends, random times and deaths of
 * processes, compared with a simple model of tasks. Every process must return
 * the task that the model predicts, and so must the last notification of a
 * subscription. MCP_SEED repeats a run, MCP_STEPS sets its length.
 */

#include <time.h>
#include <unistd.h>

#include "task_cases.h"


#define SLOTS  6
#define KEYS   4                       /* maximum number of questions in a
                                          round */


typedef enum {
    WORKING = 0,
    ASKING,
    COMPLETED,
    FAILED,
    CANCELLED,
    GONE
} status_e;


typedef struct {
    int                     used;
    char                    id[512];
    unsigned                owner;
    uint64_t                created;
    status_e                status;
    mcp_backend_request_t  *breq;      /* NULL: no backend request is active */
    unsigned                said;      /* number in the latest progress
                                          message, 0: none */
    unsigned                events;    /* number of events in the stream of the
                                          task */
    unsigned                n_keys;
    unsigned                given;     /* bit k is set if question k has an
                                          answer */
    client_t               *listener;
    size_t                  read;
} slot_t;


static slot_t    slots[SLOTS];
static uint64_t  seed, rnd;
static unsigned  steps, step, finished, asked, deaths, expired;


#define roll(n)  ((unsigned) test_draw(&rnd, n))


static void
wrong(const slot_t *s, const char *what, const char *text)
{
    fail_msg("MCP_SEED=%llu step %u task %u: %s: %s",
             (unsigned long long) seed, step, (unsigned) (s - slots), what,
             text);
}


/* --- what it should be --- */

/* Checks that text contains each member of the task that the model
 * predicts. */
static void
expect(const slot_t *s, const char *text)
{
    char      part[128];
    unsigned  k;

    static const char *const  names[] = {
        "working", "input_required", "completed", "failed", "cancelled"
    };

    snprintf(part, sizeof(part), "\"status\":\"%s\"", names[s->status]);

    if (strstr(text, part) == NULL) {
        wrong(s, part, text);
    }

    snprintf(part, sizeof(part), "\"statusMessage\":\"%u\"", s->said);

    if ((s->status == WORKING && s->said != 0)
        != (strstr(text, part) != NULL))
    {
        wrong(s, part, text);
    }

    for (k = 0; k < KEYS; k++) {
        snprintf(part, sizeof(part), "\"k%u#%u\":", k, s->events);

        if ((s->status == ASKING && k < s->n_keys && !(s->given & 1u << k))
            != (strstr(text, part) != NULL))
        {
            wrong(s, part, text);
        }
    }

    if ((s->status == COMPLETED) != (strstr(text, "\"result\":{\"content\":")
                                     != NULL))
    {
        wrong(s, "result", text);
    }
}


static void
check(slot_t *s)
{
    unsigned  process;

    strcpy(task_id, s->id);

    for (process = 0; process < 2; process++) {
        task_request(process, "tasks/get", "");

        if (s->status == GONE) {
            has(b.text, UNKNOWN);

        } else {
            expect(s, b.text);
        }

        client_close(&d, &b);
    }
}


/* Checks the last notification that a subscription has received, if any. */
static void
check_listener(slot_t *s)
{
    const char  *p, *last;

    if (s->listener == NULL || s->status == GONE) {
        return;
    }

    last = NULL;

    for (p = s->listener->text + s->read;
         (p = strstr(p, "notifications/tasks")) != NULL; p++)
    {
        last = p;
    }

    if (last) {
        expect(s, last);
        s->read = (size_t) (last - s->listener->text) + 1;
    }

    /* empty the buffer before it is full */

    if (s->listener->len > sizeof(s->listener->text) / 2) {
        s->listener->len = 0;
        s->listener->text[0] = '\0';
        s->read = 0;
    }
}


/* --- what happens --- */

static void
forget(slot_t *s)
{
    if (s->listener) {
        client_close(&d, s->listener);
        free(s->listener);
    }

    memset(s, 0, sizeof(*s));
}


static void
create(slot_t *s)
{
    memset(s, 0, sizeof(*s));
    s->used = 1;
    s->owner = roll(2);

    modern(s->owner, &a, "tools/call", "always",
           "\"name\":\"always\",\"_meta\":{\"progressToken\":\"t\","
           "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
           "\"io.modelcontextprotocol/clientCapabilities\":" TASK_CAN "}},"
           "\"other\":{\"a\":1");
    s->breq = d.breqs[d.n_breqs - 1];
    mcp_backend_request_head(s->breq, 200, mcp_str("application/x-ndjson"));
    s->created = d.te.now;
    driver_wait(&d, 2);
    begin_status_listener();
    strcpy(s->id, task_id);
}


static void
listen_to(slot_t *s)
{
    char  params[1024];

    s->listener = calloc(1, sizeof(client_t));
    assert_non_null(s->listener);
    snprintf(params, sizeof(params),
             "\"notifications\":{\"taskIds\":[\"%s\"]}", s->id);
    modern(roll(2), s->listener, "subscriptions/listen", NULL, params);
    assert_int_equal(s->listener->streaming, 1);
}


static void
say(slot_t *s)
{
    s->said = roll(1000) + 1;
    s->events++;
    snprintf(line, sizeof(line), NOTE("notifications/progress",
             "{\"progressToken\":\"t\",\"progress\":%u}") "\n", s->said);
    backend_send(&d, s->breq, line);
}


static void
backend_asks(slot_t *s)
{
    unsigned  k;
    char     *p;

    s->n_keys = roll(KEYS) + 1;
    s->given = 0;
    s->said = 0;
    s->events++;
    s->status = ASKING;
    asked++;

    p = line + sprintf(line, "{\"resultType\":\"input_required\","
                             "\"inputRequests\":{");

    for (k = 0; k < s->n_keys; k++) {
        p += sprintf(p, "%s\"k%u\":" FORM, k ? "," : "", k);
    }

    strcpy(p, "}}\n");
    backend_send(&d, s->breq, line);
    backend_end(&d, s->breq, MCP_FAILURE_NONE);
    s->breq = NULL;
}


/* Sends answers to some of the questions, and to a question that does not
 * exist; sometimes the keys belong to another round. */
static void
answer(slot_t *s)
{
    unsigned  k, bits, of;
    char      text[1024], *p;

    bits = roll(1u << KEYS);
    of = roll(4) ? s->events : roll(s->events + 2);
    p = text + sprintf(text, ",\"inputResponses\":{\"x\":{}");

    for (k = 0; k < KEYS; k++) {
        if (bits & 1u << k) {
            p += sprintf(p, ",\"k%u#%u\":{\"action\":\"%u\"}", k, of, k);
        }
    }

    strcpy(p, "}");
    strcpy(task_id, s->id);
    task_does(roll(2), "tasks/update", text);

    if (s->status != ASKING || of != s->events) {
        return;
    }

    s->given |= bits & ((1u << s->n_keys) - 1);

    if (s->given == (1u << s->n_keys) - 1) {

        /* all questions have answers: the backend is invoked again */

        s->status = WORKING;
        s->breq = d.breqs[d.n_breqs - 1];
        has(d.last_body, "\"inputResponses\":{\"k0\":");
        mcp_backend_request_head(s->breq, 200, mcp_str("application/x-ndjson"));
    }
}


static void
end(slot_t *s)
{
    s->status = roll(3) ? COMPLETED : FAILED;
    s->events++;
    end_with(s->breq, s->status == COMPLETED
             ? RESULT "\n"
             : "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,"
               "\"message\":\"m\"}}\n");
    s->breq = NULL;
    finished++;
}


static void
cancel_it(slot_t *s)
{
    strcpy(task_id, s->id);
    task_does(roll(2), "tasks/cancel", "");

    if (s->status == WORKING || s->status == ASKING) {
        s->status = CANCELLED;
        s->breq = NULL;
    }
}


static void
die(void)
{
    slot_t    *s;
    unsigned   process;

    process = roll(2);

    /* the process is about to die, and subscriptions end with their process:
     * close all subscriptions */

    for (s = slots; s < slots + SLOTS; s++) {
        if (s->listener) {
            client_close(&d, s->listener);
            free(s->listener);
            s->listener = NULL;
            s->read = 0;
        }
    }

    driver_killed(&d, process, 1 - process);
    deaths++;

    for (s = slots; s < slots + SLOTS; s++) {
        if (s->used && s->owner == process
            && (s->status == WORKING || s->status == ASKING))
        {
            s->status = FAILED;
            s->events++;
            s->breq = NULL;
        }
    }
}


static void
pass_time(unsigned ms)
{
    slot_t  *s;

    driver_wait(&d, ms);

    for (s = slots; s < slots + SLOTS; s++) {
        if (s->used && s->status != GONE && d.te.now >= s->created + TTL) {
            s->status = GONE;
            s->breq = NULL;
            expired++;
        }
    }
}


static void
act(slot_t *s)
{
    if (!s->used) {
        create(s);
        return;
    }

    if (s->status == GONE) {
        forget(s);
        return;
    }

    switch (roll(8)) {

    case 0:
        if (s->listener == NULL) {
            listen_to(s);
        }

        break;

    case 1:
    case 2:
        if (s->breq) {
            say(s);
        }

        break;

    case 3:
        if (s->breq) {
            backend_asks(s);
        }

        break;

    case 4:
    case 5:
        answer(s);
        break;

    case 6:
        if (s->breq && roll(3) == 0) {
            end(s);
        }

        break;

    default:
        if (roll(8) == 0) {
            cancel_it(s);
        }
    }
}


static void
run(void)
{
    slot_t    *s;
    unsigned   late;

    d.endpoint.call_timeout = 10 * TTL;
    d.endpoint.input_timeout = 10 * TTL;

    for (step = 0; step < steps; step++) {
        act(&slots[roll(SLOTS)]);

        if (roll(40) == 0) {
            pass_time(roll(2000));
        }

        if (roll(200) == 0) {
            die();
        }

        /* after 1001 ms all delayed notifications have been sent */

        late = roll(4) == 0;
        pass_time(late ? 1001 : 0);
        s = &slots[roll(SLOTS)];

        if (s->used) {
            check(s);
        }

        if (late) {
            check_listener(s);
        }
    }

    pass_time(1001);

    for (s = slots; s < slots + SLOTS; s++) {
        check_listener(s);
        forget(s);
    }

    driver_wait(&d, 2 * TTL);
    quiet();
    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().subscriptions, 0);
}


static void
random_run(uint64_t of)
{
    seed = of;
    rnd = of;
    memset(slots, 0, sizeof(slots));
    finished = asked = deaths = expired = 0;
    run();
    print_message("seed %llu: %u ended, %u rounds, %u deaths, %u expired\n",
                  (unsigned long long) seed, finished, asked, deaths, expired);
    assert_true(finished && asked && deaths && expired);
}


static void
random_tasks_seed_1__processes_agree(void **state)
{
    random_run(1);
}


static void
random_tasks_new_seed__processes_agree(void **state)
{
    const char  *of;

    of = getenv("MCP_SEED");
    random_run(of ? strtoull(of, NULL, 10)
                  : (uint64_t) time(NULL) ^ (uint64_t) getpid() << 20);
}


int
main(void)
{
    const char               *of;
    const struct CMUnitTest   tests[] = {
        cmocka_unit_test_setup_teardown(random_tasks_seed_1__processes_agree,
                                        task_setup, task_teardown),
        cmocka_unit_test_setup_teardown(random_tasks_new_seed__processes_agree,
                                        task_setup, task_teardown)
    };

    of = getenv("MCP_STEPS");
    steps = of ? (unsigned) strtoul(of, NULL, 10) : 4000;

    return cmocka_run_group_tests(tests, NULL, NULL);
}
