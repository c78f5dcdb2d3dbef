/* SPDX-License-Identifier: Apache-2.0 */


#include "store_fixture.h"


static mcp_stream_spec_t  spec;


static int
setup_mirror(void **state)
{
    store_spec(&spec, 1, 1);

    return setup(state);
}


static void
mirrors(uint64_t after, uint64_t number, mcp_stream_ref_t *ref)
{
    assert_ok(mcp_store_mirror(S0, &spec, 1, after, number, 10, ref));
}


/* Appends an event of one letter to the mirror: "a" for event 1, "b" for event
 * 2. */
static int
arrives(mcp_store_t *store, uint64_t seq, unsigned answers,
    mcp_stream_state_e state)
{
    char             text;
    mcp_str_t        message = { &text, 1 };
    mcp_store_raw_t  raw = { 0 };

    text = (char) ('a' + (seq - 1) % 26);
    raw.seq = seq;
    raw.answers = answers;
    raw.state = state;

    return mcp_store_mirror_append(store, spec.id, &raw, message, 20);
}


static int
event(uint64_t seq)
{
    return arrives(S1, seq, 0, MCP_STATE_PROCESSING);
}


static int
known(uint64_t seq, mcp_stream_state_e state, uint64_t answered,
    uint64_t confirmed)
{
    mcp_store_checkpoint_t  checkpoint = { 0 };

    checkpoint.seq = seq;
    checkpoint.state = state;
    checkpoint.answered = answered;

    return mcp_store_mirror_known(S1, spec.id, &checkpoint, confirmed, 20);
}


/* Checks that a process has one wake-up, as the feeding process, or none. */
static void
feeds(unsigned slot, int woken, uint32_t index)
{
    mcp_store_wake_t  wake;

    assert_int_equal(store_drain(&d, slot, &wake), woken);

    if (woken) {
        assert_int_equal(wake.kind, MCP_WAKE_REPLICATOR);
        assert_int_equal(wake.ref.index, index);
        assert_memory_equal(wake.ref.id, spec.id, MCP_STREAM_ID_LEN);
    }
}


/* Checks that a consumer reads the events of "letters" after its cursor, and
 * that the read after them returns rc. */
static void
gets(const mcp_stream_ref_t *ref, uint64_t handle, mcp_cursor_t *cursor,
    const char *letters, int rc)
{
    uint64_t   seq;
    mcp_buf_t  got, want;

    mcp_buf_init(&got, &d.tm.mem, SIZE_MAX / 2);
    mcp_buf_init(&want, &d.tm.mem, SIZE_MAX / 2);

    for (seq = cursor->seq; *letters; letters++) {
        expect_event(&want, ref, ++seq, (mcp_str_t) { letters, 1 });
    }

    assert_int_equal(read_all(0, ref, handle, cursor, 100, &got), rc);
    same(&got, &want);
    store_sound(&d);

    mcp_buf_free(&got);
    mcp_buf_free(&want);
}


static void
watches(const mcp_stream_ref_t *ref, uint64_t handle, uint64_t after,
    mcp_cursor_t *cursor)
{
    watch_ok(S0, ref, handle, after, cursor);
    store_drain(&d, 0, NULL);
}


static void
info_of(const mcp_stream_ref_t *ref, mcp_stream_info_t *info)
{
    assert_ok(mcp_store_info(S1, ref, info));
    store_sound(&d);
}


static void
repl_state_of(const mcp_stream_ref_t *ref,
           mcp_store_replication_state_t *repl_state)
{
    assert_ok(mcp_store_replication_state(S0, ref, repl_state));
    assert_int_equal(repl_state->mirror, 1);
}


/* A mirror accepts each event once and in order; if one is missing, its
 * feeding process is woken. */
TEST(mirror_accepts_each_event_once_and_in_order)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    mirrors(3, 7, &ref);
    watches(&ref, 5, 3, &cursor);

    assert_int_equal(event(3), MCP_DONE);
    assert_ok(event(4));
    assert_int_equal(event(4), MCP_DONE);
    gets(&ref, 5, &cursor, "d", MCP_AGAIN);
    store_drain(&d, 0, NULL);

    assert_int_equal(event(7), MCP_AGAIN);
    feeds(0, 1, ref.index);
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.own.seq, 4);
    assert_int_equal(repl_state.known.seq, 7);
    assert_int_equal(repl_state.first_seq, 4);
    assert_int_equal(repl_state.reader, 7);
    assert_int_equal(repl_state.consumer_slot, 0);

    assert_ok(event(5));
    assert_ok(event(6));
    assert_ok(arrives(S0, 7, 1, MCP_STATE_COMPLETED));
    gets(&ref, 5, &cursor, "efg", MCP_DONE);
    assert_int_equal(event(8), MCP_ERR_NOT_FOUND);
    assert_int_equal(event(7), MCP_DONE);
    mcp_store_unwatch(S0, &ref, 5, 7, 30);
}


/* A checkpoint of the owner takes effect as soon as the mirror has all events
 * before it. */
TEST(owners_checkpoint_takes_effect_once_the_mirror_has_all_earlier_events)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  repl_state;

    assert_int_equal(known(1, MCP_STATE_PROCESSING, 0, 0), MCP_ERR_NOT_FOUND);

    mirrors(1, 7, &ref);
    watches(&ref, 5, 1, &cursor);

    assert_ok(known(3, MCP_STATE_CANCELLED, 6, 2));
    feeds(0, 1, ref.index);
    store_repair(&d);
    store_drain(&d, 0, NULL);

    assert_ok(event(2));
    info_of(&ref, &info);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);
    assert_int_equal(info.answered, 0);
    assert_int_equal(info.confirmed_seq, 2);
    assert_int_equal(info.replicated, 1);

    /* an older checkpoint of the owner arrives: no effect */

    assert_ok(known(2, MCP_STATE_INPUT_REQUIRED, 2, 1));
    assert_ok(known(3, MCP_STATE_PROCESSING, 6, 1));
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.known.seq, 3);
    assert_int_equal(repl_state.known.state, MCP_STATE_CANCELLED);
    gets(&ref, 5, &cursor, "b", MCP_AGAIN);

    assert_ok(event(3));
    info_of(&ref, &info);
    assert_int_equal(info.state, MCP_STATE_CANCELLED);
    assert_int_equal(info.answered, 6);
    gets(&ref, 5, &cursor, "c", MCP_DONE);
    mcp_store_unwatch(S0, &ref, 5, 3, 30);
}


/*
 * The owner's node has died, and its last events are lost. The stream was
 * therefore ended at an earlier event than that of the mirror's latest
 * checkpoint. The consumer gets this earlier end; if it has read a lost event,
 * the mirror is freed instead.
 */
TEST(dead_owners_events_are_lost__mirror_ends_before_them_or_is_freed_if_read)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    mirrors(1, 7, &ref);
    watches(&ref, 5, 1, &cursor);
    assert_ok(event(2));
    assert_ok(known(5, MCP_STATE_PROCESSING, 0, 0));
    assert_ok(known(3, MCP_STATE_PROCESSING, 0, 0));
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.known.seq, 5);

    /* the events after 3 were lost, and the mirror has none of them: the
     * end at event 3 takes effect */

    assert_ok(known(3, MCP_STATE_FAILED, 1, 0));
    assert_ok(known(5, MCP_STATE_PROCESSING, 0, 0));
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.known.seq, 3);
    assert_ok(arrives(S0, 3, 1, MCP_STATE_FAILED));
    gets(&ref, 5, &cursor, "bc", MCP_DONE);

    /* the mirror already has the end of the stream: an earlier end has no
     * effect */

    assert_ok(known(2, MCP_STATE_FAILED, 1, 0));
    mcp_store_unwatch(S0, &ref, 5, 3, 30);
    mcp_store_mirror_forget(S1, spec.id);

    /* the consumer has read a lost event: the mirror is freed */

    mirrors(1, 8, &ref);
    watches(&ref, 5, 1, &cursor);
    assert_ok(event(2));
    assert_ok(event(3));
    gets(&ref, 5, &cursor, "bc", MCP_AGAIN);
    assert_int_equal(known(2, MCP_STATE_FAILED, 1, 0), MCP_ERR_NOT_FOUND);
    gets(&ref, 5, &cursor, "", MCP_ERR_NOT_FOUND);
}


/* The owner's state changes without an event: the consumer is woken. The same
 * state arrives again: the consumer is not woken. */
TEST(owners_state_changes_without_an_event__the_mirrors_consumer_is_woken_once)
{
    mcp_cursor_t        cursor;
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;

    mirrors(2, 7, &ref);
    watches(&ref, 5, 2, &cursor);

    assert_ok(known(2, MCP_STATE_INPUT_REQUIRED, 0, 0));
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    assert_ok(known(2, MCP_STATE_INPUT_REQUIRED, 0, 0));
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    info_of(&ref, &info);
    assert_int_equal(info.state, MCP_STATE_INPUT_REQUIRED);

    /* the next event brings another state */

    assert_ok(event(3));
    info_of(&ref, &info);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);

    assert_ok(known(3, MCP_STATE_INPUT_REQUIRED, 0, 0));
    assert_ok(known(3, MCP_STATE_FAILED, 1, 0));
    gets(&ref, 5, &cursor, "c", MCP_DONE);
    mcp_store_unwatch(S0, &ref, 5, 3, 30);
}


/* A mirror at its limit rejects events; when its consumer has sent some, the
 * mirror has room, and the feeding process is woken. */
TEST(mirror_at_its_limit_rejects_events_until_some_were_sent)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    spec.max_events = 2;
    mirrors(0, 7, &ref);
    watches(&ref, 5, 0, &cursor);

    assert_ok(event(1));
    assert_ok(event(2));
    assert_int_equal(event(3), MCP_ERR_LIMIT);
    store_drain(&d, 0, NULL);
    assert_int_equal(event(3), MCP_ERR_LIMIT);
    assert_int_equal(event(4), MCP_AGAIN);
    assert_ok(known(4, MCP_STATE_PROCESSING, 0, 0));
    feeds(0, 0, 0);
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.known.seq, 4);

    gets(&ref, 5, &cursor, "ab", MCP_AGAIN);
    feeds(0, 1, ref.index);
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.sent_seq, 2);

    assert_ok(event(3));
    assert_ok(event(4));
    gets(&ref, 5, &cursor, "cd", MCP_AGAIN);

    /* the limit does not apply to the response to the last request of the call
     * that has none */

    assert_ok(event(5));
    assert_ok(event(6));
    assert_ok(arrives(S0, 7, 1, MCP_STATE_COMPLETED));
    gets(&ref, 5, &cursor, "efg", MCP_DONE);
    mcp_store_unwatch(S0, &ref, 5, 7, 30);
}


/* A full region rejects an event of a mirror; when the region has room again,
 * the feeding process is woken. */
static void
rejects_until_there_is_room(void)
{
    mcp_str_t          big;
    mcp_cursor_t       cursor;
    mcp_store_raw_t    raw = { 0 };
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  filler;

    big = store_message(1, 70000);
    raw.seq = 1;
    mirrors(0, 7, &ref);
    watches(&ref, 5, 0, &cursor);

    store_spec(&filler, 2, 2);
    store_create(&d, 1, &filler, &other);

    while (mcp_store_room(d.store[0].head, 0) > 20) {
        append_ok(1, &other, store_message(1, 460));
    }

    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw, big, 2),
                     MCP_ERR_FULL);
    store_sound(&d);
    feeds(0, 0, 0);
    mcp_store_free(S1, &other);
    feeds(0, 1, ref.index);

    raw.seq = 2;
    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw, big, 2),
                     MCP_AGAIN);
    raw.seq = 1;
    assert_ok(mcp_store_mirror_append(S1, spec.id, &raw, big, 2));
    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw, big, 2),
                     MCP_DONE);
    raw.seq = 2;
    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw,
                                             store_message(1, 4000000), 2),
                     MCP_ERR_LARGE);
    mcp_store_unwatch(S0, &ref, 5, 0, 30);
    mcp_store_free(S0, &ref);
    store_drain_all(&d);
}


TEST(zone_is_full__a_mirror_rejects_an_event_until_there_is_room)
{
    rejects_until_there_is_room();
}


TEST(zone_is_full__mirror_of_a_listener_rejects_an_event_until_there_is_room)
{
    spec.kind = MCP_STREAM_LISTEN;
    rejects_until_there_is_room();
}


/* A mirror without a consumer may be evicted; its feeding process is then
 * woken. */
TEST(mirror_has_no_consumer__a_full_zone_evicts_it_and_wakes_feeding_process)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  filler;

    mirrors(0, 7, &ref);
    assert_ok(event(1));
    watches(&ref, 5, 0, &cursor);
    mcp_store_unwatch(S0, &ref, 5, 0, 30);
    store_drain(&d, 0, NULL);
    store_sound(&d);

    store_spec(&filler, 2, 2);
    store_create(&d, 1, &filler, &other);

    while (store_append(&d, 1, &other, store_message(1, 460), -1,
                     MCP_STATE_PROCESSING) == MCP_OK) { /* void */ }

    assert_int_equal(event(2), MCP_ERR_NOT_FOUND);
    feeds(0, 1, 0);
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EVICTED), 0);
}


static size_t
sweep(uint64_t now)
{
    return mcp_store_sweep(S1, now, UINT32_MAX, NULL, NULL);
}


/* A mirror without a consumer is freed after 30 seconds, or after "linger" if
 * it is over and all its events were sent. */
TEST(mirror_has_no_consumer__it_is_freed_after_30_s_or_mcp_linger_if_it_is_over)
{
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    mirrors(0, 7, &ref);
    assert_ok(event(1));
    watches(&ref, 5, 0, &cursor);
    assert_int_equal(sweep(1000000), 0);
    mcp_store_unwatch(S0, &ref, 5, 0, 100);
    assert_int_equal(sweep(30099), 0);
    assert_int_equal(sweep(30100), 1);
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EXPIRED), 0);
    feeds(0, 1, 0);

    mirrors(0, 8, &ref);
    watches(&ref, 5, 0, &cursor);
    assert_ok(arrives(S0, 1, 1, MCP_STATE_COMPLETED));
    gets(&ref, 5, &cursor, "a", MCP_DONE);
    mcp_store_unwatch(S0, &ref, 5, 1, 200);
    assert_int_equal(sweep(200 + spec.linger - 1), 0);
    assert_int_equal(sweep(200 + spec.linger), 1);

    /* a mirror that is due to be freed gets a new reader: it stays */

    mirrors(0, 9, &ref);
    assert_ok(mcp_store_mirror(S0, &spec, 1, 0, 10, 60000, &ref));
    assert_int_equal(sweep(60001), 0);
}


/* The feeding process dies: the mirror stays, and another process may become
 * its feeding process. */
TEST(feeding_process_dies__the_mirror_stays_and_another_process_can_feed_it)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref, again;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  repl_state;

    mirrors(0, 7, &ref);
    assert_ok(event(1));
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_ERR_DENIED);

    mcp_store_reclaim(S1, 0, S0->pid);
    store_repair(&d);
    assert_int_equal(mcp_store_adopt(S1, 9, &info, NULL), MCP_DONE);
    assert_ok(event(2));
    assert_int_equal(event(4), MCP_AGAIN);
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_ERR_DENIED);
    assert_int_equal(store_drain(&d, 1, NULL), 0);

    assert_ok(mcp_store_mirror(S1, &spec, 1, 1, 8, 10, &again));
    assert_int_equal(again.index, ref.index);
    feeds(1, 1, ref.index);
    assert_ok(mcp_store_replication_state(S1, &ref, &repl_state));
    assert_int_equal(repl_state.own.seq, 2);
    assert_int_equal(repl_state.known.seq, 4);
    assert_int_equal(repl_state.reader, 8);

    /* another process announces the next reader: that process becomes the
     * feeding process */

    store_attach(&d, 0, 700);
    mirrors(2, 9, &again);
    feeds(0, 1, ref.index);
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_ERR_DENIED);
    watches(&ref, 5, 2, &cursor);
    mcp_store_mirror_forget(S1, spec.id);
    mcp_store_mirror_forget(S1, spec.id);
    assert_int_equal(store_drain(&d, 0, NULL), 2);
    gets(&ref, 5, &cursor, "", MCP_ERR_NOT_FOUND);
}


/* The feeding process dies, and the consumer is in another process: that
 * process becomes the feeding process. */
TEST(feeding_process_dies__the_process_of_the_consumer_feeds_the_mirror)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;

    mirrors(0, 7, &ref);
    watches(&ref, 5, 0, &cursor);
    assert_ok(mcp_store_mirror(S1, &spec, 1, 0, 8, 10, &ref));

    for (i = 0; i < 2; i++) {
        d.died = i;                    /* 1: the process dies while it holds
                                          the lock */
        mcp_store_reclaim(S0, 1, S1->pid);
        woken_as(0, 1 + i, MCP_WAKE_REPLICATOR);
        store_sound(&d);

        store_attach(&d, 1, 800 + i);
        assert_ok(mcp_store_mirror(S1, &spec, 1, 0, 9 + i, 10, &ref));
        store_sound(&d);
    }

    assert_int_equal(event(2), MCP_AGAIN);
    mcp_store_unwatch(S0, &ref, 5, 0, 30);
}


/* The reader with the highest number displaces all others, whether it is at
 * this node or at another one. */
TEST(mirror_gets_a_reader_with_a_higher_number__earlier_readers_are_displaced)
{
    int                      rc, taken;
    mcp_cursor_t             cursor, other;
    mcp_stream_ref_t         ref;
    mcp_store_wake_t         wake;
    mcp_store_replication_state_t  repl_state;

    mirrors(0, 7, &ref);
    watches(&ref, 5, 0, &cursor);
    assert_ok(event(1));
    gets(&ref, 5, &cursor, "a", MCP_AGAIN);
    store_drain(&d, 0, NULL);

    mcp_store_mirror_displaced(S1, spec.id, 6);
    mcp_store_mirror_displaced(S1, spec.id, 7);
    gets(&ref, 5, &cursor, "", MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 0);

    mcp_store_mirror_displaced(S1, spec.id, 8);
    assert_int_equal(store_drain(&d, 0, &wake), 2);
    gets(&ref, 5, &cursor, "", MCP_ERR_DENIED);
    mcp_store_unwatch(S0, &ref, 5, 1, 30);
    repl_state_of(&ref, &repl_state);
    assert_int_equal(repl_state.consumer_slot, MCP_STORE_NO_SLOT);

    /* a displaced reader can neither attach to the mirror nor request a mirror
     * with its old number */

    rc = mcp_store_watch(S0, &ref, 5, 1, &cursor, &taken);
    assert_int_equal(rc, MCP_ERR_DENIED);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 0, 7, 10, &ref),
                     MCP_ERR_DENIED);

    mirrors(1, 9, &ref);
    watches(&ref, 5, 1, &cursor);
    mirrors(1, 10, &ref);
    watches(&ref, 6, 1, &other);
    gets(&ref, 5, &cursor, "", MCP_ERR_DENIED);
    gets(&ref, 6, &other, "", MCP_AGAIN);
    mcp_store_unwatch(S0, &ref, 6, 1, 30);
}


/* A new reader resumes after an event at which the mirror does not begin: the
 * mirror is replaced. */
TEST(mirror_begins_at_another_event_than_a_new_reader__mirror_is_replaced)
{
    int               taken;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref, before;

    mirrors(5, 7, &before);
    watches(&before, 5, 5, &cursor);
    assert_ok(event(6));
    store_drain(&d, 0, NULL);

    mirrors(4, 8, &ref);
    store_sound(&d);
    assert_int_equal(event(6), MCP_AGAIN);
    assert_ok(event(5));
    gets(&before, 5, &cursor, "", before.index == ref.index
                                  ? MCP_ERR_DENIED : MCP_ERR_NOT_FOUND);
    store_drain(&d, 0, NULL);

    /* another process replaces the mirror: the previous feeding process is
     * woken */

    assert_ok(mcp_store_mirror(S1, &spec, 1, 6, 9, 10, &ref));
    feeds(0, 1, 0);
    feeds(1, 0, 0);

    /* events that the owner has removed are purged at the mirror as well */

    assert_ok(mcp_store_mirror(S1, &spec, 9, 2, 10, 10, &ref));
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 2, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_ok(mcp_store_watch(S1, &ref, 5, 8, &cursor, &taken));
    assert_ok(event(9));
    mcp_store_unwatch(S1, &ref, 5, 8, 30);
}


/* A mirror has no owner: functions for calls and replicated streams reject
 * it. */
TEST(functions_for_calls_reject_a_mirror_and_those_for_mirrors_reject_a_call)
{
    char                    text[8];
    mcp_buf_t               request;
    mcp_store_raw_t         raw[2];
    mcp_store_replicator_t  replicator = { 0 };
    mcp_store_checkpoint_t  at = { 0 };
    mcp_stream_ref_t        ref, own;
    mcp_stream_info_t       info;
    mcp_stream_spec_t       same;

    mirrors(0, 7, &ref);
    info_of(&ref, &info);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
    assert_string_equal(info.name, "echo");

    assert_int_equal(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 1,
                                         mcp_str("x")), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_cancel(S1, &ref, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &own), MCP_ERR_EXISTS);
    assert_int_equal(mcp_store_replication_start(S0, &ref, 0), MCP_ERR_DENIED);
    assert_int_equal(mcp_store_remote_consumer(S0, &ref, 9, 0, 0),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_acked(S0, &ref, &at), MCP_ERR_DENIED);

    replicator.raw = raw;
    replicator.max = 2;
    replicator.buf = text;
    replicator.cap = sizeof(text);
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &replicator),
                     MCP_ERR_DENIED);
    mcp_buf_init(&request, &d.tm.mem, 100);
    assert_int_equal(mcp_store_replication_spec(S0, &ref, &same, &info,
                                                &request), MCP_ERR_DENIED);
    mcp_store_replication_end(S0, &ref);
    assert_ok(event(1));

    /* a call of this node: functions for mirrors reject it */

    store_spec(&spec, 2, 1);
    store_create(&d, 0, &spec, &own);
    assert_int_equal(mcp_store_mirror(S1, &spec, 1, 0, 7, 10, &ref),
                     MCP_ERR_EXISTS);
    assert_int_equal(event(1), MCP_ERR_NOT_FOUND);
    mcp_store_mirror_displaced(S1, spec.id, 9);
    mcp_store_mirror_forget(S1, spec.id);
    info_of(&own, &info);
}


/* A mirror stores a request of any length, if there is room. */
TEST(mirror_stores_a_long_request_if_the_zone_has_room)
{
    mcp_stream_ref_t   ref, again;

    spec.request = store_message(1, 100000);
    mirrors(0, 7, &ref);
    mirrors(0, 8, &again);
    assert_int_equal(ref.index, again.index);
    store_sound(&d);

    spec.request = store_message(1, 4000000);
    mcp_store_mirror_forget(S0, spec.id);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 0, 7, 10, &ref),
                     MCP_ERR_FULL);
}


static const unsigned char  key[] = "what is asked for";


static int
setup_joined(void **state)
{
    store_spec(&spec, 1, 1);
    spec.join = key;

    return setup(state);
}


static void
joins(mcp_store_t *store, uint64_t after, mcp_stream_ref_t *ref)
{
    assert_ok(mcp_store_mirror(store, &spec, 1, after, 0, 10, ref));
}


static int
found(unsigned known, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  asked = spec;

    asked.join_known = known;

    return mcp_store_join_find(S0, &asked, 20, info);
}


/* Requests can join a mirror while it is new or has a reader. The
 * information about the mirror contains the state that
 * mcp_store_mirror_joined() has set. */
TEST_WITH(mirror_can_be_joined_while_it_is_new_or_has_a_reader,
          setup_joined, teardown)
{
    mcp_cursor_t        cursor;
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;
    mcp_store_joined_t  joined = { 0 };

    joins(S1, 4, &ref);
    assert_int_equal(found(0, &info), MCP_ERR_NOT_FOUND);
    assert_ok(found(1, &info));
    assert_int_equal(info.last_seq, 4);
    assert_int_equal(info.held, 0);

    joined.held = 1;
    joined.attended = 1;
    joined.expires = 5000;
    joined.kept = 7;
    mcp_store_mirror_joined(S1, spec.id, &joined);
    assert_ok(mcp_store_join(S0, &ref, 5, 4, &cursor));
    assert_ok(found(0, &info));
    assert_int_equal(info.held, 1);
    assert_int_equal(info.attended, 1);
    assert_int_equal(info.expires, 5000);
    assert_int_equal(info.kept, 7);

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    assert_int_equal(found(0, &info), MCP_ERR_NOT_FOUND);
}


/* Another process requests a mirror that exists: if the mirror has a reader,
 * it keeps its feeding process; if it has none, the requesting process becomes
 * the feeding process. */
TEST_WITH(mirror_that_is_read_keeps_its_feeding_process, setup_joined, teardown)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref, again;
    mcp_store_replication_state_t  repl_state;

    joins(S1, 4, &ref);
    assert_ok(mcp_store_join(S0, &ref, 5, 4, &cursor));
    joins(S0, 9, &again);
    assert_int_equal(ref.index, again.index);
    assert_ok(mcp_store_replication_state(S1, &ref, &repl_state));
    assert_int_equal(repl_state.readers, 1);
    assert_int_equal(mcp_store_replication_state(S0, &ref, &repl_state),
                     MCP_ERR_DENIED);

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    joins(S0, 4, &again);
    assert_int_equal(ref.index, again.index);
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.readers, 0);

    /* the mirror has no reader, and its last event is before the requested
     * position: the mirror is replaced */

    joins(S0, 9, &again);
    assert_ok(mcp_store_replication_state(S0, &again, &repl_state));
    assert_int_equal(repl_state.own.seq, 9);
}


/* An equal stream of this node is held: requests find the mirror instead of
 * the held stream, which remains. */
TEST_WITH(mirror_takes_the_place_of_an_equal_call_that_is_held,
          setup_joined, teardown)
{
    mcp_stream_ref_t   ref, held;
    mcp_stream_spec_t  own;
    mcp_stream_info_t  info;

    joins(S0, 4, &ref);
    store_spec(&own, 2, 1);
    own.join = key;
    own.held = 1;
    store_create(&d, 0, &own, &held);
    assert_ok(found(0, &info));
    assert_memory_equal(&info.ref, &held, sizeof(held));
    assert_int_equal(info.held, 1);

    joins(S0, 4, &ref);
    assert_ok(found(1, &info));
    assert_memory_equal(&info.ref, &ref, sizeof(ref));

    mcp_store_free(S0, &held);
    assert_ok(found(1, &info));

    /* a stream of this node cannot have a mirror */

    spec = own;
    spec.id[0] ^= 1;
    spec.params[0] ^= 1;
    store_create(&d, 0, &own, &held);
    assert_int_equal(mcp_store_mirror(S0, &own, 1, 0, 0, 10, &ref),
                     MCP_ERR_EXISTS);
    mcp_store_join_release(S0, &held);
    assert_int_equal(store_info(S0, &held).held, 0);
}


/* The client that began the call resumes at this node, and needs events from
 * before the mirror's first event: MCP_ERR_DENIED, because joined readers use
 * the mirror. */
TEST_WITH(client_needs_events_from_before_a_joined_mirror__client_is_rejected,
          setup_joined, teardown)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, again;
    mcp_stream_info_t  info;

    joins(S0, 4, &ref);
    assert_ok(mcp_store_join(S0, &ref, 5, 4, &cursor));
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 2, 7, 10, &again),
                     MCP_ERR_DENIED);
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_ok(mcp_store_mirror(S0, &spec, 1, 4, 7, 10, &again));
    assert_int_equal(again.index, ref.index);

    /* the last joined reader has left: the next client gets a new mirror */

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    assert_ok(mcp_store_mirror(S0, &spec, 1, 2, 8, 10, &again));
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    store_sound(&d);
}


/* The feeding process dies: the process of a joined reader becomes the feeding
 * process. */
TEST_WITH(feeding_process_dies__the_process_of_a_joined_reader_takes_over,
          setup_joined, teardown)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    joins(S1, 4, &ref);
    assert_ok(mcp_store_join(S0, &ref, 5, 4, &cursor));
    mcp_store_reclaim(S0, 1, mcp_store_slot_pid(S0, 1));
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.readers, 1);
    assert_memory_equal(repl_state.join, key, MCP_DIGEST_LEN);
    mcp_store_unwatch(S0, &ref, 5, 4, 30);
}


TEST_WITH(promoted_mirror_is_adopted_and_accepts_events_of_its_new_owner,
          setup, teardown)
{
    uint64_t            seq;
    mcp_str_t           message = mcp_str("a");
    mcp_buf_t           request;
    mcp_store_raw_t     raw = { 0 };
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;
    mcp_store_replication_state_t repl_state;

    store_spec(&spec, 1, 1);
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_mirror(S0, &spec, 1, 4, 7, 10, &ref));
    raw.seq = 5;
    raw.state = MCP_STATE_PROCESSING;
    assert_ok(mcp_store_mirror_append(S0, spec.id, &raw, message, 20));

    assert_ok(mcp_store_promote(S0, spec.id, 1));
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);

    mcp_buf_init(&request, &d.tm.mem, 4096);
    assert_ok(mcp_store_adopt(S1, 30, &info, &request));
    assert_memory_equal(info.ref.id, spec.id, MCP_STREAM_ID_LEN);
    assert_int_equal(info.owner_slot, S1->slot);
    assert_int_equal(info.last_seq, 5);
    assert_int_equal(info.replicated, 1);
    assert_true(mcp_str_eq((mcp_str_t) { request.data, request.len },
                           spec.request));
    mcp_buf_free(&request);
    assert_int_equal(mcp_store_adopt(S1, 30, &info, NULL), MCP_DONE);

    /* the new owner appends an event and replicates it */

    assert_ok(mcp_store_append(S1, &ref, message, 0, MCP_STATE_FAILED, 40,
                               &seq));
    assert_int_equal(seq, 6);
    assert_ok(mcp_store_replication_state(S1, &ref, &repl_state));
    assert_int_equal(repl_state.mirror, 0);
    assert_int_equal(repl_state.acked.seq, 5);
    assert_int_equal(repl_state.own.seq, 6);
    assert_int_equal(repl_state.reader, 7);
    assert_ok(mcp_store_acked(S1, &ref, &repl_state.own));
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
}


static size_t
published(const char *text)
{
    size_t     n;
    uint64_t   position = 0;
    mcp_str_t  message = { (char *) text, strlen(text) };

    assert_ok(store_publish(S1, TOPIC(1), message, 9, &position, &n));

    return n;
}


/* A promoted listener receives messages to its topics. */
TEST_WITH(promoted_mirror_of_a_listener_receives_messages_to_its_topic,
          setup, teardown)
{
    mcp_store_raw_t          raw = { 0 };
    mcp_stream_ref_t         ref;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  repl_state;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 2;
    assert_ok(mcp_store_mirror(S1, &spec, 1, 4, 7, 10, &ref));
    assert_ok(mcp_store_subscribe(S1, &ref, TOPIC(1)));

    /* the mirror of the listener is not promoted yet: messages to its topic
     * are not appended, and no event of the mirror is dropped */

    assert_int_equal(published("a"), 0);
    raw.state = MCP_STATE_PROCESSING;

    for (raw.seq = 5; raw.seq < 7; raw.seq++) {
        assert_ok(mcp_store_mirror_append(S1, spec.id, &raw, mcp_str("b"),
                                          20));
    }

    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw, mcp_str("b"),
                                             20), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_replication_start(S1, &ref, 1), MCP_ERR_DENIED);

    assert_ok(mcp_store_promote(S0, spec.id, 1));
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_adopt(S0, 30, &info, NULL), MCP_DONE);
    store_sound(&d);

    assert_int_equal(published("c"), 1);
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.mirror, 0);
    assert_int_equal(repl_state.own.seq, 7);
    assert_int_equal(repl_state.acked.seq, 6);
    assert_int_equal(repl_state.first_seq, 6);
}


RUN_TESTS(setup_mirror, teardown)
