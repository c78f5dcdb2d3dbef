/* SPDX-License-Identifier: Apache-2.0 */


#include "store_fixture.h"


static void
shared(mcp_stream_ref_t *ref, unsigned sync)
{
    create_ok(0, 1, 1, ref);
    assert_ok(mcp_store_replication_start(S0, ref, sync));
}


static void
say(const mcp_stream_ref_t *ref, const char *text, int answers,
    mcp_stream_state_e state)
{
    mcp_str_t  message = { (char *) text, strlen(text) };

    assert_ok(store_append(&d, 0, ref, message, answers, state));
}


/* Copies all events after *at, checks that their number is "events", and sets
 * *at to the checkpoint after them. */
static void
replicate_all(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_checkpoint_t *at, size_t events)
{
    char                    buf[100];
    mcp_store_raw_t         raw[8];
    mcp_store_replicator_t  replicator = { 0 };

    replicator.at = *at;
    replicator.raw = raw;
    replicator.max = 8;
    replicator.buf = buf;
    replicator.cap = sizeof(buf);

    assert_ok(mcp_store_replicator_read(store, ref, &replicator));
    assert_int_equal(replicator.n, events);
    *at = replicator.at;
}


static uint64_t
visible(const mcp_stream_ref_t *ref, mcp_stream_state_e state)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_find(S1, ref->id, 1, &info));
    assert_int_equal(info.state, state);

    return info.last_seq;
}


/* Checks that a process has exactly one wake-up, as the replicator of a
 * stream. */
static void
wakes_replicator(unsigned slot, uint32_t index)
{
    mcp_store_wake_t  wake;

    assert_int_equal(store_drain(&d, slot, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_REPLICATOR);
    assert_int_equal(wake.handle, 0);
    assert_int_equal(wake.ref.index, index);
}


/* With "sync", readers see only the acknowledged events; the owner sees all
 * events. */
TEST(cluster_sync_is_on__readers_see_only_events_that_redis_has_acknowledged)
{
    int                     taken;
    mcp_buf_t               got, want;
    mcp_cursor_t            cursor;
    mcp_store_checkpoint_t  at = { 0 };
    mcp_stream_ref_t        ref;
    mcp_stream_info_t       info;

    shared(&ref, 1);
    mcp_buf_init(&got, &d.tm.mem, SIZE_MAX / 2);
    mcp_buf_init(&want, &d.tm.mem, SIZE_MAX / 2);

    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    say(&ref, "one", -1, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(visible(&ref, MCP_STATE_PROCESSING), 0);
    assert_int_equal(read_all(1, &ref, 5, &cursor, 100, &got), MCP_AGAIN);
    assert_int_equal(got.len, 0);

    replicate_all(S0, &ref, &at, 1);
    say(&ref, "two", 0, MCP_STATE_COMPLETED);
    store_drain(&d, 1, NULL);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(visible(&ref, MCP_STATE_INPUT_REQUIRED), 1);
    assert_int_equal(read_all(1, &ref, 5, &cursor, 100, &got), MCP_AGAIN);
    expect_event(&want, &ref, 1, mcp_str("one"));
    same(&got, &want);
    store_sound(&d);

    /* a reader can neither resume after an unacknowledged event nor confirm
     * it */

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 2, &cursor, &taken),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_confirm(S1, &ref, 2), MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.own_seq, 2);
    assert_int_equal(info.answered, 0);
    assert_int_equal(info.own_answered, 1);

    replicate_all(S0, &ref, &at, 1);
    assert_int_equal(at.state, MCP_STATE_COMPLETED);
    assert_int_equal(at.answered, 1);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_int_equal(read_all(1, &ref, 5, &cursor, 100, &got), MCP_DONE);
    expect_event(&want, &ref, 2, mcp_str("two"));
    same(&got, &want);

    mcp_buf_free(&got);
    mcp_buf_free(&want);
}


/* Without "sync", readers see events that are not acknowledged yet. */
TEST(cluster_sync_is_off__readers_see_events_before_redis_acknowledges_them)
{
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    shared(&ref, 0);
    say(&ref, "one", 0, MCP_STATE_COMPLETED);
    assert_int_equal(visible(&ref, MCP_STATE_COMPLETED), 1);
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.acked.seq, 0);
    assert_int_equal(repl_state.own.seq, 1);
}


/* With "sync", a stream counts as not replicated until its creation is
 * acknowledged. */
TEST(cluster_sync_is_on__stream_is_replicated_only_after_start_is_acknowledged)
{
    mcp_store_checkpoint_t   at = { 0 };
    mcp_stream_ref_t         ref;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  repl_state;

    create_ok(0, 1, 1, &ref);
    assert_int_equal(store_info(S1, &ref).replicated, 1);
    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    assert_ok(mcp_store_info(S1, &ref, &info));
    assert_int_equal(info.replicated, 0);
    assert_int_equal(info.mirror, 0);
    assert_ok(mcp_store_replication_start(S0, &ref, 0));
    assert_int_equal(store_info(S1, &ref).replicated, 1);

    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.created, 0);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_int_equal(store_info(S1, &ref).replicated, 1);
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.created, 1);
    assert_int_equal(repl_state.mirror, 0);
}


/* The replicator gets one wake-up for any number of changes, and one more when
 * the stream is freed. */
TEST(stream_changes_many_times__its_replicator_is_woken_once)
{
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    shared(&ref, 1);
    wakes_replicator(0, ref.index);

    say(&ref, "one", -1, MCP_STATE_PROCESSING);
    say(&ref, "two", -1, MCP_STATE_PROCESSING);
    wakes_replicator(0, ref.index);

    assert_ok(mcp_store_set_generation(S1, &ref, 0, 1));
    wakes_replicator(0, ref.index);

    watch_ok(S1, &ref, 5, 0, &cursor);
    assert_int_equal(store_drain(&d, 0, NULL), 2);
    mcp_store_unwatch(S1, &ref, 5, 0, 3);
    assert_int_equal(store_drain(&d, 0, NULL), 2);

    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 5));
    wakes_replicator(0, ref.index);

    mcp_store_free(S1, &ref);
    store_sound(&d);
    d.died = 1;
    wakes_replicator(0, 0);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
}


/* After Redis has acknowledged the end of a stream whose events were all sent,
 * the stream is lingering and may be evicted, but not before. */
TEST(stream_lingers_only_after_redis_has_acknowledged_its_end)
{
    uint64_t                position;
    mcp_cursor_t            cursor;
    mcp_store_checkpoint_t  at = { 0 };
    mcp_stream_ref_t        ref;
    mcp_stream_spec_t       spec;
    mcp_stream_info_t       info;

    store_spec(&spec, 1, 1);
    shared(&ref, 1);
    say(&ref, "one", 0, MCP_STATE_PROCESSING);
    replicate_all(S0, &ref, &at, 1);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    watch_ok(S1, &ref, 5, 0, &cursor);
    mcp_store_unwatch(S1, &ref, 5, 1, 3);
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_COMPLETED, 4));

    position = 0;
    assert_int_equal(mcp_store_session_next(S0, spec.session, 1, &position,
                                            &info, NULL), MCP_DONE);
    store_sound(&d);

    replicate_all(S0, &ref, &at, 0);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    position = 0;
    assert_ok(mcp_store_session_next(S0, spec.session, 1, &position, &info,
                                     NULL));
    store_sound(&d);
}


/* A task keeps its last event and all unacknowledged events. */
TEST(task_keeps_its_last_event_and_all_events_redis_has_not_acknowledged)
{
    mcp_buf_t                buf;
    mcp_store_lookup_t       lookup;
    mcp_store_checkpoint_t   at = { 0 };
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    shared(&ref, 1);
    mcp_buf_init(&buf, &d.tm.mem, SIZE_MAX / 2);
    assert_ok(mcp_store_keep(S0, &ref, 1000, 1));

    say(&ref, "one", -1, MCP_STATE_PROCESSING);
    assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.seq, 0);

    replicate_all(S0, &ref, &at, 1);
    say(&ref, "two", -1, MCP_STATE_PROCESSING);
    say(&ref, "three", -1, MCP_STATE_PROCESSING);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.seq, 1);

    replicate_all(S0, &ref, &at, 2);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.first_seq, 3);

    buf.len = 0;
    assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.seq, 3);
    assert_int_equal(buf.len, 5);
    mcp_buf_free(&buf);
}


/* The process that adopts a stream becomes its replicator. A finished stream
 * that is not acknowledged yet is adopted for its replication only. */
TEST(replicator_dies__the_process_that_adopts_its_stream_becomes_replicator)
{
    mcp_store_checkpoint_t  at = { 0 };
    mcp_stream_ref_t        ref;
    mcp_stream_info_t       info;

    shared(&ref, 1);
    say(&ref, "one", 1, MCP_STATE_PROCESSING);
    mcp_store_reclaim(S1, 0, S0->pid);
    store_sound(&d);
    d.died = 1;

    assert_ok(mcp_store_adopt(S1, 9, &info, NULL));
    assert_int_equal(info.owner_slot, 1);
    assert_int_equal(info.answered, 0);
    assert_int_equal(info.own_answered, 2);
    wakes_replicator(1, ref.index);
    assert_ok(mcp_store_replication_start(S1, &ref, 1));
    assert_ok(store_append(&d, 1, &ref, mcp_str("end"), 0, MCP_STATE_FAILED));
    wakes_replicator(1, ref.index);

    store_attach(&d, 0, 500);
    mcp_store_reclaim(S0, 1, S1->pid);
    d.died = 1;
    assert_ok(mcp_store_adopt(S0, 9, &info, NULL));
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
    assert_int_equal(mcp_store_adopt(S0, 9, &info, NULL), MCP_DONE);
    wakes_replicator(0, ref.index);
    replicate_all(S0, &ref, &at, 2);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    store_sound(&d);

    /* a finished stream is freed after the process of its replicator has
     * ended: nothing to adopt */

    store_attach(&d, 0, 501);
    store_attach(&d, 1, 502);
    mcp_store_free(S1, &ref);
    assert_int_equal(mcp_store_adopt(S1, 9, &info, NULL), MCP_DONE);
}


/* The replication of a stream is ended: readers see all events, and later
 * events are not replicated. */
TEST(replication_is_ended__readers_see_events_that_redis_never_acknowledged)
{
    mcp_stream_ref_t         ref;
    mcp_store_checkpoint_t   at = { 0 };
    mcp_store_replication_state_t  repl_state;

    shared(&ref, 1);
    say(&ref, "one", -1, MCP_STATE_PROCESSING);
    assert_int_equal(visible(&ref, MCP_STATE_PROCESSING), 0);
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_replication_start(S1, &ref, 1), MCP_ERR_DENIED);

    mcp_store_replication_end(S1, &ref);
    mcp_store_replication_end(S1, &ref);
    assert_int_equal(visible(&ref, MCP_STATE_PROCESSING), 1);
    assert_int_equal(mcp_store_acked(S0, &ref, &at), MCP_ERR_DENIED);
    assert_int_equal(store_drain(&d, 0, NULL), 0);

    mcp_store_free(S0, &ref);
    mcp_store_replication_end(S0, &ref);
    assert_int_equal(mcp_store_replication_start(S0, &ref, 1),
                     MCP_ERR_NOT_FOUND);
}


static void
publish(const char *text)
{
    size_t     n;
    uint64_t   position = 0;
    mcp_str_t  message = { (char *) text, strlen(text) };

    assert_ok(store_publish(S1, TOPIC(1), message, 9, &position, &n));
}


/* A listener has no owner: the first process that starts its replication is
 * its replicator, until that process dies and another one adopts the
 * replication. */
TEST(listener_has_no_owner__the_first_process_to_start_becomes_its_replicator)
{
    mcp_store_checkpoint_t   at = { 0 };
    mcp_stream_ref_t         ref;
    mcp_stream_info_t        info;
    mcp_stream_spec_t        spec;
    mcp_store_replication_state_t  repl_state;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 2;
    store_create(&d, 0, &spec, &ref);
    assert_ok(mcp_store_subscribe(S0, &ref, TOPIC(1)));
    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    assert_int_equal(mcp_store_replication_start(S1, &ref, 1), MCP_ERR_DENIED);
    wakes_replicator(0, ref.index);

    /* a listener at its limit drops its oldest events, whether they are
     * acknowledged or not */

    publish("one");
    publish("two");
    wakes_replicator(0, ref.index);
    assert_int_equal(visible(&ref, MCP_STATE_PROCESSING), 0);
    replicate_all(S0, &ref, &at, 2);
    publish("three");
    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));
    assert_int_equal(repl_state.first_seq, 2);
    replicate_all(S0, &ref, &at, 1);
    assert_ok(mcp_store_acked(S0, &ref, &at));
    assert_int_equal(visible(&ref, MCP_STATE_PROCESSING), 3);

    /* the replicator's process ends: another one adopts the replication, and
     * the listener still has no owner */

    mcp_store_reclaim(S1, 0, d.store[0].pid);
    store_attach(&d, 0, 501);
    assert_ok(mcp_store_adopt(S1, 9, &info, NULL));
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
    assert_int_equal(mcp_store_adopt(S1, 9, &info, NULL), MCP_DONE);
    publish("four");
    wakes_replicator(1, ref.index);
    replicate_all(S1, &ref, &at, 1);

    mcp_store_reclaim(S0, 1, d.store[1].pid);
    store_attach(&d, 1, 502);
    mcp_store_free(S0, &ref);
    assert_int_equal(mcp_store_adopt(S1, 9, &info, NULL), MCP_DONE);
}


/* mcp_store_replicator_read() reads complete events within the caller's
 * limits. */
TEST(replicator_reads_only_whole_events_up_to_its_limits_of_number_and_bytes)
{
    char                    buf[5], long_buf[8];
    mcp_store_raw_t         raw[2];
    mcp_store_replicator_t  replicator = { 0 };
    mcp_stream_ref_t        ref;

    shared(&ref, 1);
    say(&ref, "abc", -1, MCP_STATE_PROCESSING);
    say(&ref, "de", 1 | MCP_STORE_ERROR, MCP_STATE_PROCESSING);
    say(&ref, "f", -1, MCP_STATE_PROCESSING);
    say(&ref, "too long", -1, MCP_STATE_PROCESSING);

    replicator.raw = raw;
    replicator.max = 2;
    replicator.buf = buf;
    replicator.cap = sizeof(buf);

    assert_ok(mcp_store_replicator_read(S0, &ref, &replicator));
    assert_int_equal(replicator.n, 2);
    assert_memory_equal(buf, "abcde", 5);
    assert_int_equal(raw[1].offset, 3);
    assert_int_equal(raw[1].len, 2);
    assert_int_equal(raw[1].seq, 2);
    assert_int_equal(replicator.at.answered, 2);
    assert_int_equal(replicator.at.failed, 2);
    assert_int_equal(replicator.at.failed_seq, 2);
    assert_false(replicator.complete);

    assert_ok(mcp_store_replicator_read(S0, &ref, &replicator));
    assert_int_equal(replicator.n, 1);
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &replicator),
                     MCP_ERR_LIMIT);
    assert_int_equal(replicator.len, 8);
    assert_false(replicator.complete);

    replicator.buf = long_buf;
    replicator.cap = sizeof(long_buf);
    assert_ok(mcp_store_replicator_read(S0, &ref, &replicator));
    assert_true(replicator.complete);
    replicator.at.seq = 3;
    replicator.buf = buf;
    replicator.cap = sizeof(buf);

    assert_ok(mcp_store_acked(S0, &ref, &replicator.at));
    assert_ok(mcp_store_confirm(S1, &ref, 3));
    replicator.at.seq = 1;
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &replicator),
                     MCP_ERR_PURGED);

    replicator.at.seq = 9;
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &replicator),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_acked(S0, &ref, &replicator.at),
                     MCP_ERR_NOT_FOUND);
}


/* mcp_store_replication_spec() returns the spec of the stream. */
TEST(replicator_gets_the_parameters_with_which_its_stream_was_created)
{
    mcp_buf_t          request;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec, got;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    memset(spec.params, 9, MCP_DIGEST_LEN);
    spec.promised = 1;
    spec.max_events = 12;
    spec.max_bytes = 3456;
    spec.request = store_message(1, 1000);
    store_create(&d, 0, &spec, &ref);
    mcp_buf_init(&request, &d.tm.mem, 1500);
    mcp_buf_lit(&request, "before");

    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request), MCP_ERR_DENIED);
    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    assert_int_equal(mcp_store_replication_spec(S1, &ref, &got, &info,
                                                &request), MCP_ERR_DENIED);
    assert_ok(mcp_store_replication_spec(S0, &ref, &got, &info, &request));

    assert_memory_equal(got.id, spec.id, MCP_STREAM_ID_LEN);
    assert_memory_equal(got.session, spec.session, MCP_DIGEST_LEN);
    assert_memory_equal(got.principal, spec.principal, MCP_DIGEST_LEN);
    assert_memory_equal(got.params, spec.params, MCP_DIGEST_LEN);
    assert_int_equal(got.kind, spec.kind);
    assert_int_equal(got.revision, spec.revision);
    assert_int_equal(got.max_wait, spec.max_wait);
    assert_int_equal(got.linger, spec.linger);
    assert_int_equal(got.promised, 1);
    assert_int_equal(got.max_events, 12);
    assert_int_equal(got.max_bytes, 3456);
    assert_int_equal(got.expires, 0);
    assert_int_equal(got.method.len, spec.method.len);
    assert_memory_equal(got.method.data, spec.method.data, got.method.len);
    assert_int_equal(got.name.len, spec.name.len);
    assert_memory_equal(got.name.data, spec.name.data, got.name.len);
    assert_int_equal(got.request.len, 1000);
    assert_memory_equal(got.request.data, spec.request.data, 1000);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);

    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request), MCP_ERR_LIMIT);
    mcp_buf_free(&request);

    mcp_store_free(S1, &ref);
    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request), MCP_ERR_NOT_FOUND);
}


RUN_TESTS(setup, teardown)
