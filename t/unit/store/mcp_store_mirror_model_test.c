/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams of one node that are read at two nodes: random operations on two
 * stores. A model of Redis, and messages that arrive late, in another order or
 * not at all, connect them. Processes of both nodes die. Replicators, feeding
 * processes and consumers act only after a wake-up. Each connection must get
 * every event once, in order, and no event that may still be lost.
 *
 * STORE_SEED repeats a run, STORE_ROUNDS makes it longer.
 */


#include "store_driver.h"


#define STREAMS  5
#define EVENTS   400                   /* maximum number of events of a
                                          stream */
#define ENTRIES  64
#define OWN      0                     /* number of the node with the owners */
#define FAR      1


typedef enum {
    ENTRY_REMOTE_CONSUMER = 0,          /* this and the next three types go to
                                           the owner's node; they use the
                                           members number and seq */
    ENTRY_SENT,
    ENTRY_LEFT,
    ENTRY_CONFIRMED,
    ENTRY_EVENT,                        /* this and the next two types go to
                                           the mirror's node */
    ENTRY_STATE,
    ENTRY_DISPLACED
} entry_e;


static const mcp_store_checkpoint_t  nothing;


typedef struct {
    entry_e                  type;
    uint64_t                number;
    uint64_t                seq;
    mcp_store_checkpoint_t  checkpoint;
} entry_t;


/* A client's connection to a node. */
typedef struct {
    int               open;
    int               ready;           /* 1: it was woken since its last
                                          read */
    int               done;
    unsigned          process;
    uint64_t          number;
    mcp_stream_ref_t  ref;
    mcp_cursor_t      cursor;
    size_t            pos;             /* bytes that were read of the current
                                          event */
} connection_t;


typedef struct {
    mcp_stream_spec_t       spec;
    mcp_stream_ref_t        ref;
    unsigned                owner;     /* number of the owner's process */
    int                     stuck;     /* 1: an append was rejected, and the
                                          owner was not woken since */

    uint64_t                last;
    mcp_stream_state_e      state;
    uint32_t                len[EVENTS];

    /* the data in Redis; the replicator may not have received the
     * acknowledgement of the latest events */
    mcp_store_raw_t         raw[EVENTS];
    mcp_store_checkpoint_t  there;
    uint64_t                readers;
    uint64_t                confirmed;

    uint64_t                got;       /* last event that the client has
                                          received */
    connection_t            at[2];

    entry_t                  queue[ENTRIES];
    unsigned                n_entries;
} stream_t;


static store_driver_t  far[2];
static stream_t        streams[STREAMS];
static unsigned char   woken[2][2][STREAMS];   /* woken[node][process][stream],
                                                  1: a wake-up is pending */
static uint64_t        seed, now;
static unsigned        numbers;
static uint64_t        seen, resumed;


#define draw(n)  test_draw(&seed, n)


static mcp_store_t *
process(unsigned machine, unsigned slot)
{
    if (draw(97) == 0) {
        far[machine].died = 1;
    }

    return &far[machine].store[slot];
}


static int
final(const stream_t *s)
{
    return s->state >= MCP_STATE_COMPLETED;
}


static mcp_str_t
message(const stream_t *s, uint64_t seq)
{
    return store_message((unsigned) (seq * 31 + s->spec.id[0]), s->len[seq]);
}


static void
sound(void)
{
    store_sound(&far[OWN]);
    store_sound(&far[FAR]);
}


/* --- messages between the nodes --- */

static void
post(stream_t *s, entry_e type, uint64_t number, uint64_t seq)
{
    entry_t  *queue;

    if (s->n_entries == ENTRIES) {

        /* the queue is full: a new message of type ENTRY_SENT, ENTRY_EVENT or
         * ENTRY_STATE is lost, because the next message of its type replaces
         * it; a new message of another type displaces the first message in the
         * queue */

        if (type == ENTRY_SENT || type == ENTRY_EVENT || type == ENTRY_STATE) {
            return;
        }

        s->queue[0] = s->queue[--s->n_entries];
    }

    queue = &s->queue[s->n_entries++];
    queue->type = type;
    queue->number = number;
    queue->seq = seq;
    queue->checkpoint = s->there;
}


static void
arrive(stream_t *s, uint64_t seq)
{
    (void) mcp_store_mirror_append(process(FAR, (unsigned) draw(2)),
                                   s->spec.id, &s->raw[seq], message(s, seq),
                                   now);
}


static void
deliver(stream_t *s, unsigned i)
{
    entry_t        queue;
    mcp_store_t  *own, *mirror;

    queue = s->queue[i];
    s->queue[i] = s->queue[--s->n_entries];
    own = process(OWN, (unsigned) draw(2));
    mirror = process(FAR, (unsigned) draw(2));

    switch (queue.type) {
    case ENTRY_REMOTE_CONSUMER:
        (void) mcp_store_remote_consumer(own, &s->ref, queue.number, queue.seq,
                                         0);
        break;
    case ENTRY_SENT:
        mcp_store_remote_consumer_sent(own, &s->ref, queue.number, queue.seq);
        break;
    case ENTRY_LEFT:
        mcp_store_remote_consumer_left(own, &s->ref, queue.number, queue.seq,
                                       now);
        break;
    case ENTRY_CONFIRMED:
        (void) mcp_store_confirm(own, &s->ref, queue.seq);
        break;
    case ENTRY_EVENT:
        arrive(s, queue.seq);
        break;
    case ENTRY_STATE:
        (void) mcp_store_mirror_known(mirror, s->spec.id, &queue.checkpoint,
                                      s->confirmed, now);
        break;
    case ENTRY_DISPLACED:
        mcp_store_mirror_displaced(mirror, s->spec.id, queue.number);
        break;
    }
}


/* --- wake-ups --- */

static stream_t *
stream_of(const unsigned char id[MCP_STREAM_ID_LEN])
{
    unsigned  i;

    for (i = 0; i < STREAMS; i++) {
        if (memcmp(streams[i].spec.id, id, MCP_STREAM_ID_LEN) == 0) {
            return &streams[i];
        }
    }

    return NULL;
}


static void
wake(unsigned machine, unsigned slot, const mcp_store_wake_t *w)
{
    stream_t      *s;
    connection_t  *c;

    s = stream_of(w->ref.id);

    if (s == NULL) {
        return;
    }

    c = &s->at[machine];

    switch (w->kind) {
    case MCP_WAKE_OWNER:
        assert_int_equal(machine, OWN);
        s->stuck = 0;
        break;
    case MCP_WAKE_CONSUMER:
        c->ready |= c->number == w->handle && c->process == slot;
        break;
    case MCP_WAKE_REPLICATOR:
        woken[machine][slot][s - streams] |= w->ref.index != 0;
        break;
    }
}


static void
drain(unsigned machine)
{
    size_t            n, i;
    unsigned          slot;
    mcp_store_wake_t  out[4];

    for (slot = 0; slot < 2; slot++) {
        do {
            n = mcp_store_drain(process(machine, slot), out, 4);

            for (i = 0; i < n; i++) {
                wake(machine, slot, &out[i]);
            }
        } while (n > 0);
    }
}


/* --- the owner --- */

static void
begin(stream_t *s)
{
    memset(s, 0, sizeof(stream_t));
    numbers++;
    store_spec(&s->spec, numbers, 1 + numbers % 3);

    s->spec.max_events = draw(3) ? 2 + (uint32_t) draw(20) : 0;
    s->spec.max_bytes = draw(3) ? 100 + draw(3000) : 0;
    s->owner = (unsigned) draw(2);

    assert_ok(mcp_store_create(process(OWN, s->owner), &s->spec, now,
                               &s->ref));
    assert_ok(mcp_store_replication_start(process(OWN, s->owner), &s->ref, 1));
}


static void
say(stream_t *s, int last)
{
    int                 rc, answers;
    uint64_t            seq;
    mcp_stream_state_e  state;

    if (final(s) || (s->last + 2 >= EVENTS && !last) || (s->stuck && !last)) {
        return;
    }

    seq = s->last + 1;
    s->len[seq] = (uint32_t) (draw(60) ? draw(700) : 65000 + draw(2000));
    answers = last ? 0 : draw(9) ? -1 : 1 + (int) draw(5);
    state = last ? MCP_STATE_COMPLETED : (mcp_stream_state_e) draw(2);

    rc = mcp_store_append(process(OWN, s->owner), &s->ref, message(s, seq),
                          answers, state, now, &seq);

    if (rc == MCP_ERR_LIMIT) {
        s->stuck = 1;
        return;
    }

    assert_ok(rc);
    assert_int_equal(seq, s->last + 1);
    s->last = seq;
    s->state = state;
}


static void
turn(stream_t *s)
{
    if (final(s)) {
        return;
    }

    s->state = draw(20) ? (mcp_stream_state_e) draw(2) : MCP_STATE_CANCELLED;

    assert_ok(mcp_store_set_state(process(OWN, s->owner), &s->ref, s->state,
                                  now));
}


/* Replicates the next events to Redis. If "sure" is 0, the acknowledgement may
 * be lost. */
static void
replicate(stream_t *s, unsigned slot, int sure)
{
    int                      rc;
    size_t                   i;
    static char              buf[70000];
    mcp_store_t             *store;
    mcp_store_raw_t          raw[4];
    mcp_store_replicator_t   out = { 0 };
    mcp_store_replication_state_t  repl_state;

    store = process(OWN, slot);

    if (mcp_store_replication_state(store, &s->ref, &repl_state) != MCP_OK) {
        return;
    }

    assert_true(repl_state.acked.seq <= s->there.seq);
    assert_int_equal(repl_state.own.seq, s->last);

    out.at = s->there;
    out.raw = raw;
    out.max = 1 + draw(4);
    out.buf = buf;
    out.cap = draw(4) ? sizeof(buf) : 1 + draw(2000);
    rc = mcp_store_replicator_read(store, &s->ref, &out);

    if (rc == MCP_ERR_LIMIT) {
        out.cap = out.len;
        rc = mcp_store_replicator_read(store, &s->ref, &out);
    }

    assert_ok(rc);

    for (i = 0; i < out.n; i++) {
        mcp_str_t  text = message(s, raw[i].seq);

        assert_int_equal(raw[i].len, text.len);
        assert_memory_equal(buf + raw[i].offset, text.data, text.len);
        s->raw[raw[i].seq] = raw[i];
        post(s, ENTRY_EVENT, 0, raw[i].seq);
    }

    if (out.at.seq == s->last) {
        assert_int_equal(out.at.state, s->state);
    }

    s->there = out.at;
    post(s, ENTRY_STATE, 0, 0);

    if (sure || draw(4)) {
        assert_ok(mcp_store_acked(store, &s->ref, &s->there));
        woken[OWN][slot][s - streams] = s->there.seq < s->last;
    }
}


/* --- the feeder --- */

static void
feed(stream_t *s, unsigned slot)
{
    int                      rc;
    unsigned                 n;
    uint64_t                 seq;
    mcp_store_t             *store;
    connection_t            *c;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  repl_state;

    store = process(FAR, slot);
    c = &s->at[FAR];
    woken[FAR][slot][s - streams] = 0;

    if (mcp_store_find(store, s->spec.id, 0, &info) != MCP_OK
        || mcp_store_replication_state(store, &info.ref, &repl_state) != MCP_OK)
    {
        return;
    }

    assert_true(repl_state.mirror);

    if (repl_state.consumer_slot == MCP_STORE_NO_SLOT
        && repl_state.reader == c->number && !c->open)
    {
        post(s, ENTRY_LEFT, repl_state.reader, repl_state.sent_seq);

    } else {
        post(s, ENTRY_SENT, repl_state.reader, repl_state.sent_seq);
    }

    /* the client has resumed at the owner's node and confirmed events that
     * this mirror lacks; Redis has removed them, so the mirror cannot get
     * them */

    if (repl_state.own.seq < s->confirmed) {
        assert_true(repl_state.reader < s->readers);
        mcp_store_mirror_forget(store, s->spec.id);
        return;
    }

    rc = MCP_OK;

    for (n = 0, seq = repl_state.own.seq + 1;
         n < 3 && rc == MCP_OK && seq <= repl_state.known.seq
         && seq <= s->there.seq;
         n++, seq++)
    {
        rc = mcp_store_mirror_append(store, s->spec.id, &s->raw[seq],
                                     message(s, seq), now);
    }

    assert_true(rc == MCP_OK || rc == MCP_ERR_LIMIT || rc == MCP_DONE);

    if (rc == MCP_OK && seq <= repl_state.known.seq) {
        woken[FAR][slot][s - streams] = 1;
    }

    assert_ok(mcp_store_mirror_known(store, s->spec.id, &s->there,
                                     s->confirmed, now));
}


/* --- clients --- */

static void
leave(stream_t *s, unsigned machine)
{
    connection_t  *c;

    c = &s->at[machine];

    if (c->open) {
        mcp_store_unwatch(process(machine, c->process), &c->ref, c->number,
                          c->cursor.seq, now);
        c->open = 0;
    }
}


/* The client resumes at a node, after one of the events that it has
 * received. */
static void
resume(stream_t *s, unsigned machine)
{
    int            rc, taken;
    uint64_t       after;
    mcp_store_t   *store;
    connection_t  *c;

    c = &s->at[machine];

    if (draw(3) == 0) {
        leave(s, machine);
    }

    after = draw(4) ? s->got
                    : s->confirmed + draw(s->got + 1 - s->confirmed);

    memset(c, 0, sizeof(connection_t));
    c->number = ++s->readers;
    c->process = (unsigned) draw(2);
    c->ref = s->ref;
    store = process(machine, c->process);

    if (machine == FAR) {
        post(s, ENTRY_REMOTE_CONSUMER, c->number, after);
        assert_ok(mcp_store_mirror(store, &s->spec, s->confirmed + 1, after,
                                   c->number, now, &c->ref));
        post(s, ENTRY_STATE, 0, 0);

    } else {
        post(s, ENTRY_DISPLACED, c->number, 0);
        assert_ok(mcp_store_remote_consumer_over(store, &s->ref, c->number,
                                                 &nothing));
    }

    rc = mcp_store_watch(store, &c->ref, c->number, after, &c->cursor,
                         &taken);

    if (rc != MCP_OK) {

        /* an error is allowed only at the owner's node: that node may lack the
         * acknowledgement of events that the other node has sent, or may have
         * removed events that the client needs */

        assert_int_equal(machine, OWN);
        assert_true(rc == MCP_ERR_NOT_FOUND || rc == MCP_ERR_PURGED);
        return;
    }

    c->open = 1;
    c->ready = 1;
    s->got = after;
    resumed++;
}


static size_t
render(const stream_t *s, uint64_t seq, char *out)
{
    char       *p;
    mcp_str_t   text;

    text = message(s, seq);
    p = store_event_head(out, s->spec.id, seq);
    memcpy(p, text.data, text.len);
    p += text.len;
    *p++ = '\n';
    *p++ = '\n';

    return (size_t) (p - out);
}


static void
check(stream_t *s, connection_t *c, uint64_t seq, const char *p, size_t len)
{
    size_t       total, part;
    static char  want[70000];

    while (len > 0) {
        total = render(s, seq, want);
        part = total - c->pos < len ? total - c->pos : len;
        assert_memory_equal(p, want + c->pos, part);
        p += part;
        len -= part;
        c->pos += part;

        if (c->pos == total) {
            c->pos = 0;
            seq++;
            seen++;
        }
    }

    assert_int_equal(c->cursor.seq, seq - 1);
}


static void
read_some(stream_t *s, unsigned machine)
{
    int            rc;
    size_t         len;
    uint64_t       before;
    static char    buf[5000];
    connection_t  *c;

    c = &s->at[machine];

    if (!c->open || !c->ready) {
        return;
    }

    before = c->cursor.seq;
    rc = mcp_store_read(process(machine, c->process), &c->ref, c->number,
                        &c->cursor, before, buf, 64 + draw(sizeof(buf) - 64),
                        &len);

    /* a reader gets only events that are in Redis */

    assert_true(c->cursor.seq <= s->there.seq);

    switch (rc) {
    case MCP_OK:
        check(s, c, before + 1, buf, len);
        break;
    case MCP_AGAIN:
        c->ready = 0;
        break;
    case MCP_DONE:
        assert_true(final(s) && before == s->last);
        c->ready = 0;
        c->done = 1;
        break;
    case MCP_ERR_DENIED:
        assert_true(c->number < s->readers);
        c->open = 0;
        break;
    case MCP_ERR_NOT_FOUND:
        assert_int_equal(machine, FAR);
        c->open = 0;
        break;
    default:
        assert_int_equal(rc, MCP_ERR_PURGED);
        assert_true(c->number < s->readers || before < s->confirmed);
        leave(s, machine);
        break;
    }

    if (c->number == s->readers && c->open) {
        s->got = c->cursor.seq;
    }
}


static void
confirm(stream_t *s)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    seq = s->confirmed + draw(s->got + 1 - s->confirmed);
    s->confirmed = seq;
    post(s, ENTRY_CONFIRMED, 0, seq);

    if (mcp_store_find(process(FAR, 0), s->spec.id, 0, &info) == MCP_OK) {
        (void) mcp_store_confirm(process(FAR, 1), &info.ref, seq);
    }
}


/* --- deaths --- */

static void
die(unsigned machine)
{
    unsigned           i, slot;
    stream_t          *s;
    static uint64_t    pid = 1000;
    mcp_stream_info_t  info;

    slot = (unsigned) draw(2);
    mcp_store_reclaim(process(machine, 1 - slot), slot,
                      far[machine].store[slot].pid);
    store_attach(&far[machine], slot, ++pid);

    for (i = 0; i < STREAMS; i++) {
        woken[machine][slot][i] = 0;
        streams[i].at[machine].open &= streams[i].at[machine].process != slot;
    }

    while (mcp_store_adopt(process(machine, 1 - slot), now, &info, NULL)
           == MCP_OK)
    {
        assert_int_equal(machine, OWN);
        s = stream_of(info.ref.id);
        assert_non_null(s);
        assert_int_equal(info.own_seq, s->last);
        assert_true(info.owner_slot == 1 - slot || final(s));
        s->owner = 1 - slot;
        s->stuck = 0;
    }
}


/* --- a run --- */

/* Processes the wake-ups of a stream and the messages about it between the
 * nodes, and reads some of its events at both nodes. */
static void
settle(stream_t *s)
{
    unsigned  slot, i;

    drain(OWN);
    drain(FAR);

    for (slot = 0; slot < 2; slot++) {
        if (woken[OWN][slot][s - streams]) {
            replicate(s, slot, 1);
        }

        if (woken[FAR][slot][s - streams]) {
            feed(s, slot);
        }
    }

    for (i = s->n_entries; i > 0; i--) {
        deliver(s, (unsigned) draw(s->n_entries));
    }

    read_some(s, OWN);
    read_some(s, FAR);
}


/* Ends a stream: a client at the other node must get all events. */
static void
end(stream_t *s)
{
    unsigned           i;
    connection_t      *c;
    mcp_stream_info_t  info;

    say(s, 1);
    resume(s, FAR);
    c = &s->at[FAR];

    for (i = 0; i < 20000 && !c->done; i++) {
        settle(s);
    }

    assert_true(c->open && c->done);
    assert_int_equal(c->cursor.seq, s->last);
    assert_ok(mcp_store_find(process(FAR, 0), s->spec.id, 0, &info));
    assert_int_equal(info.state, s->state);
    assert_int_equal(info.answered, s->there.answered);
    assert_ok(mcp_store_find(process(OWN, 0), s->spec.id, 0, &info));
    assert_int_equal(info.state, s->state);
    assert_int_equal(info.last_seq, s->last);

    leave(s, FAR);
    sound();
    mcp_store_free(process(OWN, 0), &s->ref);
    mcp_store_mirror_forget(process(FAR, 0), s->spec.id);
    drain(OWN);
    drain(FAR);
    memset(s->spec.id, 0, MCP_STREAM_ID_LEN);
    s->spec.id[14] = (unsigned char) (s - streams);
}


static void
operate(stream_t *s)
{
    uint64_t  n;
    unsigned  slot;

    slot = (unsigned) draw(2);
    now += draw(20);
    n = draw(40);

    if (n == 0 && draw(3) == 0) {
        die((unsigned) draw(2));
    } else if (n == 1) {
        turn(s);
    } else if (n == 2 && draw(6) == 0) {
        resume(s, OWN);
    } else if ((n == 3 || n == 4) && draw(6) == 0) {
        resume(s, FAR);
    } else if (n == 5 && draw(6) == 0) {
        leave(s, (unsigned) draw(2));
    } else if (n == 6) {
        confirm(s);
    } else if (n == 7 && draw(20) == 0) {
        mcp_store_mirror_forget(process(FAR, slot), s->spec.id);
    } else if (n == 8 && s->n_entries > 0) {
        s->n_entries -= s->queue[s->n_entries - 1].type == ENTRY_EVENT;
    } else if (n == 9) {
        now += draw(4000);
        mcp_store_sweep(process(FAR, slot), now, UINT32_MAX, NULL, NULL);
    } else if (n == 10 && draw(20) == 0) {
        end(s);
        begin(s);
    } else if (n >= 11 && n <= 13) {
        drain((unsigned) draw(2));
    } else if (n >= 14 && n <= 17 && woken[OWN][slot][s - streams]) {
        replicate(s, slot, 0);
    } else if (n >= 18 && n <= 21 && woken[FAR][slot][s - streams]) {
        feed(s, slot);
    } else if (n >= 22 && n <= 26 && s->n_entries > 0) {
        deliver(s, (unsigned) draw(s->n_entries));
    } else if (n >= 27 && n <= 31) {
        read_some(s, (unsigned) draw(2));
    } else if (n > 31) {
        say(s, 0);
    }
}


static void
run(uint64_t with, unsigned rounds)
{
    unsigned  i;

    printf("STORE_SEED=%llu\n", (unsigned long long) with);
    fflush(stdout);

    seed = with;
    now = 1000;
    memset(woken, 0, sizeof(woken));
    store_open(&far[OWN], 8 * 1024 * 1024, 2);
    store_open(&far[FAR], 4 * 1024 * 1024, 2);

    for (i = 0; i < STREAMS; i++) {
        begin(&streams[i]);
    }

    for (i = 0; i < rounds; i++) {
        operate(&streams[draw(STREAMS)]);

        if (i % 64 == 0) {
            sound();
        }
    }

    for (i = 0; i < STREAMS; i++) {
        end(&streams[i]);
    }

    sound();
    printf("%llu events read, %llu times resumed\n",
           (unsigned long long) seen, (unsigned long long) resumed);
    store_close(&far[OWN]);
    store_close(&far[FAR]);
}


TEST(random_operations_on_streams_and_mirrors_of_two_nodes_agree_with_the_model)
{
    unsigned  rounds;

    rounds = (unsigned) store_setting("STORE_ROUNDS", 200000);
    run(1, rounds);
    run(store_seed(), rounds);
}


RUN_TESTS(NULL, NULL)
