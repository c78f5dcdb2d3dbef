/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A random test of three nodes. Streams are created, get events and end at
 * their owners. Their clients read them at any node, while links are lost,
 * Redis is emptied, and nodes are paused or die. A client has to read each
 * event of its stream once and in order, and then the end: the owner's
 * response, or an error from the node that took the stream over.
 *
 * CLUSTER_SEED repeats a run, except for the timing of Redis and of the
 * machine. CLUSTER_ROUNDS is the number of steps.
 */

#include "cluster_streams.h"


#define ALL      3                     /* number of nodes */
#define STREAMS  5                     /* maximum number of streams at a
                                          time */
#define FIRST    33                    /* letter of the first stream */
#define LAST     126
#define TEXT     300                   /* maximum number of padding bytes of an
                                          event */
#define BUFFER   8192

/* Durations of pauses, ms. After a pause of LONG, the other nodes have
 * declared the paused node dead; after a pause shorter than SHORT, they have
 * not. */

#define LONG     1500
#define SHORT    150

/* If a node's last heartbeat is more than LATE ms old, the other nodes may
 * have declared it dead, because several pauses followed each other or the
 * machine is busy. */

#define LATE     250

/* ms after which the test fails if a stream has not ended */

#define PATIENCE 60000


typedef struct {
    char           letter;             /* letter of the stream; '\0': no
                                          stream */
    int            owner;              /* node that owns it; -1: that node has
                                          died */
    uint64_t       last;               /* number of events that the owner has
                                          appended */
    int            over;               /* 1 if the last event is the
                                          response */
    int            risk;               /* 1 if the owner has died, or if the
                                          other nodes may have declared it
                                          dead */

    uint64_t       read;               /* number of events that the client has
                                          read */
    int            failed;             /* 1 if the client has read the error of
                                          a dead node's stream */
    int            at;                 /* node at which the client reads; -1:
                                          the client is not connected */
    int            asking;             /* node at which the client's request to
                                          resume waits; -1: no request waits */
    unsigned       asked;              /* number of the waiting request */
    uint64_t       handle;
    mcp_cursor_t   cursor;
    char           text[BUFFER];
    size_t         len;
} model_t;

typedef struct {
    model_t   *m;
    unsigned   number;
} question_t;


static model_t   models[STREAMS];
static uint64_t  seed, still[ALL];
static int       deaths, dropped;     /* dropped: 1 if a node that has died had
                                         given up a stream, see has_dropped() */
static unsigned  questions;
static char      letter;
static uint64_t  handles;

/* statistics of a run, printed at its end */

static struct {
    unsigned  made, events, ended, read, failed, refused, elsewhere;
    unsigned  cuts, deaths, pauses, emptied;
} sum;


#define draw(n)  ((unsigned) test_draw(&seed, n))


/* Sets "risk" for the streams of node i: if the other nodes have declared the
 * node dead, events that Redis lacks are lost, and clients have to resume. */
static void
risk(int i)
{
    int  k;

    for (k = 0; k < STREAMS; k++) {
        if (models[k].letter && models[k].owner == i) {
            models[k].risk = 1;
        }
    }
}


/* The time when each node sent the last heartbeat that Redis has answered.
 * Redis received that heartbeat at this time or later. */
static uint64_t  heartbeat_at[ALL];


/* Sets "risk" for the streams of node i if the other nodes may have declared
 * it dead by now. */
static void
check_risk(int i)
{
    if (real_now() > heartbeat_at[i] + LATE) {
        risk(i);
    }
}


static void
carry_one(int i)
{
    uint64_t  at, asked;

    /* read both values before carry(), which may process the reply to a
     * heartbeat and then send the next one */

    at = node_info(i).view.at;
    asked = nodes[i].cluster->registered;

    carry(i);

    if (node_info(i).view.at != at) {
        check_risk(i);
        heartbeat_at[i] = asked;
    }
}


static void
carry_all(void)
{
    int  i;

    n_updates = 0;

    for (i = 0; i < ALL; i++) {
        if (nodes[i].cluster && real_now() >= still[i]) {
            carry_one(i);
        }
    }

    for (i = 0; i < ALL; i++) {
        check_risk(i);
    }

    usleep(200);
}


/* --- owners --- */


/* Returns 1 if the owner of a stream is neither dead nor paused, and its node
 * has the stream. */
static int
owned(const model_t *m)
{
    mcp_stream_info_t  info;

    return m->owner >= 0 && real_now() >= still[m->owner]
           && find(m->owner, m->letter, &info) == MCP_OK && !info.mirror;
}


static void
make_one(model_t *m)
{
    int                i = (int) draw(ALL);
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    if (m->letter || letter > LAST || real_now() < still[i]
        || nodes[i].cluster->state != MCP_CLUSTER_MEMBER)
    {
        return;
    }

    fill_spec(&spec, letter);

    /* so that no stream expires, however slow the machine is */

    spec.linger = spec.max_wait;

    /* the small zone has no room: no stream is created */

    if (mcp_store_create(&nodes[i].store, &spec, real_now(), &ref) != MCP_OK) {
        return;
    }

    nodes[i].worker->cluster_hooks->replicate(nodes[i].cluster, &ref, 0);

    memset(m, 0, sizeof(model_t));
    m->letter = letter++;
    m->owner = i;
    m->at = -1;
    m->asking = -1;
    sum.made++;
}


static void
append_one(model_t *m, int ends)
{
    int                rc;
    char               text[TEXT + 64];
    uint64_t           seq;
    mcp_stream_info_t  info;

    if (m->over || !owned(m)) {
        return;
    }

    (void) find(m->owner, m->letter, &info);
    snprintf(text, sizeof(text), "{\"%s\":%d,\"pad\":\"%0*d\"}",
             ends ? "end" : "n", (int) m->last + 1, 1 + (int) draw(TEXT), 0);

    rc = mcp_store_append(&nodes[m->owner].store, &info.ref, test_str(text),
                          ends ? 0 : -1,
                          ends ? MCP_STATE_COMPLETED : MCP_STATE_PROCESSING,
                          real_now(), &seq);

    /* the client reads slowly or not at all, so there is no room for the
     * event: the event is not appended */

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return;
    }

    /* other nodes have declared the owner dead and ended the stream; the last
     * of them has died, so the owner's node has taken the stream over */

    if (rc == MCP_ERR_NOT_FOUND && m->risk) {
        m->owner = -1;
        return;
    }

    assert_ok(rc);
    m->last++;
    assert_int_equal(seq, m->last);
    m->over = ends;
    sum.events++;
    sum.ended += (unsigned) ends;
}


/* --- clients --- */


static void
leave_one(model_t *m)
{
    mcp_stream_info_t  info;

    if (m->at >= 0 && find(m->at, m->letter, &info) == MCP_OK) {
        mcp_store_unwatch(&nodes[m->at].store, &info.ref, m->handle, m->read,
                          real_now());
    }

    m->at = -1;
    m->asking = -1;
    m->len = 0;
}


/* Checks the next event that a client has read: it has to be the one that the
 * owner appended, or the error of a stream that was taken over. */
static void
take_event(model_t *m, const char *text)
{
    char  expected[32];

    m->read++;
    sum.read++;

    if (m->read <= m->last) {
        snprintf(expected, sizeof(expected), "data: {\"%s\":%d,",
                 m->over && m->read == m->last ? "end" : "n", (int) m->read);

        if (strstr(text, expected)) {
            return;
        }
    }

    /* the owner's last events may not have reached Redis before it died */

    if (strstr(text, "-32603") == NULL || !m->risk) {
        fail_msg("stream %c, event %d of %d: %s", m->letter, (int) m->read,
                 (int) m->last, text);
    }

    m->failed = 1;
}


static void
take_events(model_t *m)
{
    char    *end;
    size_t   n;

    m->text[m->len] = '\0';

    while ((end = strstr(m->text, "\n\n"))) {
        *end = '\0';

        if (strstr(m->text, "data:")) {
            assert_false(m->failed);
            take_event(m, m->text);
        }

        n = (size_t) (end + 2 - m->text);
        memmove(m->text, end + 2, m->len - n + 1);
        m->len -= n;
    }
}


static void
read_one(model_t *m)
{
    int                rc;
    size_t             len;
    mcp_stream_info_t  info;

    if (m->at < 0 || m->asking >= 0 || real_now() < still[m->at]) {
        return;
    }

    rc = find(m->at, m->letter, &info);

    while (rc == MCP_OK) {
        rc = mcp_store_read(&nodes[m->at].store, &info.ref, m->handle,
                            &m->cursor, m->read, m->text + m->len,
                            BUFFER - 1 - m->len, &len);

        if (rc == MCP_OK) {
            m->len += len;
            take_events(m);
        }
    }

    if (rc == MCP_DONE) {
        assert_true(m->failed || (m->over && m->read == m->last));
        sum.failed += (unsigned) m->failed;
        leave_one(m);
        m->letter = '\0';

    } else if (rc != MCP_AGAIN) {
        leave_one(m);
    }
}


/* Handles the result of a request that resumes a stream: attaches the client
 * if its node has the stream. */
static void
answered(void *data, int rc)
{
    int                 taken;
    model_t            *m;
    question_t         *q = data;
    mcp_stream_info_t   info;

    m = q->m;

    if (m->asking < 0 || m->asked != q->number) {
        free(q);
        return;
    }

    m->at = m->asking;
    m->asking = -1;
    m->len = 0;
    free(q);

    if (rc != MCP_OK || find(m->at, m->letter, &info) != MCP_OK
        || mcp_store_watch(&nodes[m->at].store, &info.ref, ++handles, m->read,
                           &m->cursor, &taken)
           != MCP_OK)
    {
        sum.refused++;
        m->at = -1;
        return;
    }

    m->handle = handles;
    sum.elsewhere += (unsigned) (m->at != m->owner);
}


/* The client of a stream resumes it at a random node. It has left its previous
 * node, or that node has not detected it yet. */
static void
come_one(model_t *m)
{
    int                     rc, i = (int) draw(ALL);
    mcp_operation_t        *op;
    question_t             *q;
    mcp_operation_stream_t  stream;

    if (m->letter == '\0' || m->asking >= 0 || real_now() < still[i]) {
        return;
    }

    if (draw(2)) {
        leave_one(m);
    }

    describe(&stream, m->letter, m->read, 's');

    q = malloc(sizeof(question_t));
    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_true(q && op);

    q->m = m;
    q->number = ++questions;
    m->asking = i;
    m->asked = questions;
    m->at = -1;

    op->worker = nodes[i].worker;
    op->rc = MCP_AGAIN;
    op->handler = answered;
    op->data = q;

    rc = start_stream(i, MCP_OPERATION_STREAM, &stream, op);

    if (rc != MCP_AGAIN) {
        mcp_operation_complete(op, rc);
    }
}


/* --- faults --- */


static void
cut_one(void)
{
    int  i = (int) draw(ALL);

    if (real_now() < still[i] || !nodes[i].connected || fds[i] < 0) {
        return;
    }

    process_pump(&nodes[i]);

    if (nodes[i].connected) {
        cut_off(i);
        sum.cuts++;
    }
}


/* Returns 1 if node i has given up a stream of a dead node, because the zone of
 * node i had no room for the events. */
static int
drops(int i)
{
    return node_info(i).counts[MCP_NODE_DROPPED] > 0;
}


static void
kill_one(void)
{
    int  k, i = (int) draw(ALL);

    risk(i);
    dropped = dropped || drops(i);

    for (k = 0; k < STREAMS; k++) {
        if (models[k].owner == i) {
            models[k].owner = -1;
        }

        if (models[k].at == i || models[k].asking == i) {
            models[k].at = -1;
            models[k].asking = -1;
            models[k].len = 0;
        }
    }

    still[i] = 0;
    end(i);
    begin(i, KEY1);
    sum.deaths++;
}


static void
stop_one(void)
{
    int  i = (int) draw(ALL);

    if (deaths && draw(3) == 0) {
        risk(i);
        still[i] = real_now() + LONG;

    } else {
        still[i] = real_now() + draw(SHORT);
    }

    sum.pauses++;
}


/* Returns 1 if Redis has the last event of a stream. */
static int
is_written(const model_t *m)
{
    const char  *last = about(0, "HGET", 'h', m->letter, "l");

    return *last && strtoull(last, NULL, 10) == m->last;
}


/* Returns 1 if Redis has acknowledged the stream's last event and state, or if
 * the owner does not have the stream. */
static int
is_acknowledged(model_t *m)
{
    mcp_store_replication_state_t  c;

    if (!owned(m)) {
        return 1;
    }

    c = repl_state(m->owner, m->letter);

    return c.created && c.acked.seq == m->last && c.acked.state == c.own.state;
}


static int
is_up(void)
{
    int  i, up = 1;

    for (i = 0; i < ALL; i++) {
        up = up && real_now() >= still[i]
             && nodes[i].cluster->state == MCP_CLUSTER_MEMBER
             && nodes[i].cluster->reading;
    }

    return up;
}


#define ALL_UNTIL(true)                                                       \
    do {                                                                      \
        unsigned  tries_;                                                     \
                                                                              \
        for (tries_ = 0; !(true); tries_++) {                                 \
            assert_true(tries_ < 50000);                                      \
            carry_all();                                                      \
        }                                                                     \
    } while (0)


/* Empties Redis, and waits until the owners have replicated their streams
 * again. Does nothing if an owner may have been declared dead. */
static void
empty(void)
{
    int  k;

    for (k = 0; k < STREAMS; k++) {
        if (models[k].letter && models[k].risk) {
            return;
        }
    }

    ALL_UNTIL(is_up());

    (void) command(0, "FLUSHALL");

    for (k = 0; k < STREAMS; k++) {
        if (models[k].letter && owned(&models[k])) {
            ALL_UNTIL(is_acknowledged(&models[k]) && is_written(&models[k]));
        }
    }

    sum.emptied++;
}


static void
fault(void)
{
    switch (draw(8)) {

    case 0:
        if (deaths) {
            kill_one();
        }

        break;

    case 1:
    case 2:
        stop_one();
        break;

    case 3:
        empty();
        break;

    default:
        cut_one();
    }
}


static void
step(void)
{
    unsigned   n;
    model_t   *m = &models[draw(STREAMS)];

    switch (draw(12)) {

    case 0:
        make_one(m);
        break;

    case 1:
    case 2:
    case 3:
        for (n = 1 + draw(draw(8) ? 4 : 90); m->letter && n; n--) {
            append_one(m, 0);
        }

        break;

    case 4:
        if (m->letter && draw(4) == 0) {
            append_one(m, 1);
        }

        break;

    case 5:
        if (draw(4) == 0) {
            leave_one(m);
        }

        break;

    case 6:
        if (m->at < 0 || draw(4) == 0) {
            come_one(m);
        }

        break;

    default:
        if (m->letter) {
            read_one(m);
        }
    }
}


static void
stuck(const model_t *m)
{
    int                i;
    char               rest[64];
    mcp_stream_info_t  info;

    for (i = 0; i < ALL; i++) {
        if (find(i, m->letter, &info) == MCP_OK) {
            print_message("node %d: %s, state %d, %d to %d, safe %d\n", i,
                          info.mirror ? "mirror" : "stream", (int) info.state,
                          (int) info.first_seq, (int) info.last_seq,
                          (int) info.replicated);
        }

        print_message("node %d: %016llx, cluster state %d, hearing %d, last "
                      "log line: %s\n", i,
                      (unsigned long long) nodes[i].cluster->node,
                      (int) nodes[i].cluster->state,
                      (int) nodes[i].cluster->reading, nodes[i].te.last);
    }

    for (i = 0; "olfktxnw"[i]; i++) {
        snprintf(rest, sizeof(rest), "%c", "olfktxnw"[i]);
        print_message("%s: %s\n", rest, about(0, "HGET", 'h', m->letter,
                                              rest));
    }

    fail_msg("stream %c: owner %d, %d events, over %d, risk %d, read %d, "
             "failed %d, at %d, asking %d", m->letter, m->owner, (int) m->last,
             m->over, m->risk, (int) m->read, m->failed, m->at, m->asking);
}


/* Returns 1 if a node has given up a stream of a dead node, even if the node
 * has died since. */
static int
has_dropped(void)
{
    int  i;

    for (i = 0; i < ALL; i++) {
        dropped = dropped || drops(i);
    }

    return dropped;
}


/* Returns 1 if a stream is lost: its owner has died or may have been declared
 * dead, neither the owner nor Redis has the stream, and the client has read no
 * event or the successor may have given the stream up. */
static int
is_lost(const model_t *m)
{
    return m->risk && m->asking < 0 && m->at < 0 && is_up() && !owned(m)
           && (m->read == 0 || has_dropped())
           && strcmp(about(0, "EXISTS", 'h', m->letter, ""), "0") == 0;
}


/* Ends a stream if its owner can append, and lets its client resume and read.
 * Forgets a lost stream. */
static void
finish_one(model_t *m)
{
    if (is_lost(m)) {
        m->letter = '\0';
        return;
    }

    append_one(m, 1);

    if (m->at < 0 && m->asking < 0) {
        come_one(m);
    }

    read_one(m);
}


/* Ends all streams, and waits until their clients have read all events. All
 * clients read at the same time: if the events of one stream fill the zone of a
 * node, that node can take over another stream only when there is room again.
 */
static void
finish(void)
{
    int       k, left;
    uint64_t  end = real_now() + PATIENCE;

    do {
        left = 0;

        for (k = 0; k < STREAMS; k++) {
            if (models[k].letter) {
                if (real_now() > end) {
                    stuck(&models[k]);
                }

                left = 1;
                finish_one(&models[k]);
            }
        }

        carry_all();

    } while (left);
}


static void
play(uint64_t with, int deadly, unsigned rounds)
{
    int       k;
    unsigned  i;

    print_message("CLUSTER_SEED=%llu CLUSTER_ROUNDS=%u\n",
                  (unsigned long long) with, rounds);

    seed = with;
    deaths = deadly;
    dropped = 0;
    letter = FIRST;
    memset(models, 0, sizeof(models));
    memset(still, 0, sizeof(still));
    memset(&sum, 0, sizeof(sum));

    for (k = 0; k < STREAMS; k++) {
        models[k].at = -1;
        models[k].asking = -1;
    }

    begin_all(ALL);

    for (i = 0; i < rounds; i++) {
        step();

        if (draw(100) == 0) {
            fault();
        }

        carry_all();
    }

    ALL_UNTIL(is_up());

    finish();
    all_expire(0);
    end_all();

    print_message("%u streams, %u events, %u ends, %u read, %u failed, "
                  "%u refused, %u elsewhere; %u cuts, %u deaths, %u pauses, "
                  "%u times emptied\n", sum.made, sum.events, sum.ended,
                  sum.read, sum.failed, sum.refused, sum.elsewhere, sum.cuts,
                  sum.deaths, sum.pauses, sum.emptied);

    assert_true(sum.read && sum.elsewhere);
}


static unsigned
rounds_of(unsigned standard)
{
    const char  *text = getenv("CLUSTER_ROUNDS");

    return text ? (unsigned) strtoul(text, NULL, 10) : standard;
}


TEST(random_operations_and_faults_with_fixed_seeds__nodes_agree_with_the_model)
{
    unsigned  i;

    for (i = 1; i <= 6; i++) {
        play(i, i > 2, rounds_of(3000));
    }
}


TEST(random_operations_and_faults_with_a_new_seed__nodes_agree_with_the_model)
{
    const char  *text = getenv("CLUSTER_SEED");

    play(text ? strtoull(text, NULL, 10) : real_now(), 1,
         rounds_of(6000));
}


RUN_TESTS_WITH_REDIS(start_unchecked)
