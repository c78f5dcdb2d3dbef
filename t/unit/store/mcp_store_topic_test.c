/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_topic.c: subscriptions, publications, slow listeners. */


#include "store_fixture.h"


TEST(message_to_a_topic_reaches_each_subscribed_listener_once)
{
    int                rc;
    size_t             n;
    unsigned           i;
    uint64_t           position;
    mcp_stream_ref_t   ref[10], call;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;
    mcp_store_stats_t  stats;

    for (i = 0; i < 10; i++) {
        store_spec(&spec, i, i);
        spec.kind = MCP_STREAM_LISTEN;
        store_create(&d, 0, &spec, &ref[i]);
        assert_ok(mcp_store_subscribe(S0, &ref[i], TOPIC(1)));
        assert_ok(mcp_store_subscribe(S0, &ref[i], TOPIC(1)));

        if (i % 2) {
            assert_ok(mcp_store_subscribe(S0, &ref[i], TOPIC(2)));
        }
    }

    create_ok(0, 50, 1, &call);
    assert_int_equal(mcp_store_subscribe(S0, &call, TOPIC(1)),
                     MCP_ERR_NOT_FOUND);

    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.subscriptions, 15);
    assert_int_equal(stats.listeners, 10);
    assert_int_equal(stats.streams, 11);
    store_sound(&d);

    /* publish to at most i listeners per call, and repeat the call with its
     * position; subscriptions change between two calls */

    for (i = 1; i < 12; i++) {
        position = 0;

        do {
            rc = store_publish(S1, TOPIC(1), store_message(i, 10), i,
                               &position, &n);
            store_sound(&d);
        } while (rc == MCP_AGAIN);

        assert_ok(rc);
        assert_int_equal(n, 10);
    }

    position = 0;

    for (i = 10; i > 0; i--) {
        assert_int_equal(store_publish(S1, TOPIC(1), mcp_str("m"), 1,
                                       &position, &n), i == 7 ? MCP_OK
                         : MCP_AGAIN);

        /* after the third call: unsubscribe the listener that was the last to
         * get the message, free the next listener, and replace a listener that
         * already got the message */

        if (i == 8) {
            assert_ok(mcp_store_unsubscribe(S0, &ref[7], TOPIC(1)));
            mcp_store_free(S0, &ref[6]);
            mcp_store_free(S0, &ref[9]);
            store_spec(&spec, 60, 3);
            spec.kind = MCP_STREAM_LISTEN;
            store_create(&d, 0, &spec, &ref[9]);
            assert_ok(mcp_store_subscribe(S0, &ref[9], TOPIC(1)));
            assert_ok(store_publish(S1, TOPIC(1), mcp_str("m"), 100, &position,
                                    &n));
            break;
        }
    }

    assert_int_equal(n, 9);

    for (i = 0; i < 9; i++) {
        if (i != 6) {
            assert_int_equal(store_info(S0, &ref[i]).last_seq, 12);
        }
    }

    assert_int_equal(store_info(S0, &ref[9]).last_seq, 0);

    /* a long message */

    position = 0;
    i = 0;

    while (store_publish(S1, TOPIC(2), store_message(5, 70000), 2,
                         &position, &n) == MCP_AGAIN)
    {
        assert_true(i++ < 10);
        store_sound(&d);
    }

    assert_int_equal(n, 4);
    assert_ok(mcp_store_info(S0, &ref[1], &info));
    assert_int_equal(info.last_seq, 13);
    assert_true(mcp_store_stream(S0->head, ref[1].index)->events.bytes > 70000);

    position = 0;
    assert_ok(store_publish(S1, TOPIC(3), mcp_str("m"), 1, &position, &n));
    assert_int_equal(n, 0);
}


/* The ordinals of a listener or a session that exists for days may be more than
 * 2^31 below new ones. */
TEST(ordinals_are_more_than_half_their_range_apart__no_listener_is_skipped)
{
    size_t             n;
    unsigned           i;
    uint64_t           position;
    mcp_stream_ref_t   ref[3], call[2];
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    create_ok(0, 51, 1, &call[0]);

    for (i = 0; i < 3; i++) {
        if (i == 2) {
            d.store[0].head->ordinal += 0x80000010u;
            store_sound(&d);

            position = mcp_store_publish_start(S0);
            assert_ok(store_publish(S1, TOPIC(1), mcp_str("m"), 9, &position,
                                    &n));
            assert_int_equal(store_info(S0, &ref[0]).last_seq, 1);
            assert_int_equal(store_info(S0, &ref[1]).last_seq, 1);
        }

        store_spec(&spec, i, 2);
        spec.kind = MCP_STREAM_LISTEN;
        store_create(&d, 0, &spec, &ref[i]);
        assert_ok(mcp_store_subscribe(S0, &ref[i], TOPIC(1)));
    }

    store_sound(&d);
    position = 0;
    assert_ok(store_publish(S1, TOPIC(1), mcp_str("m"), 9, &position, &n));
    assert_int_equal(n, 3);

    /* a repair keeps a new subscription of the old listener */

    assert_ok(mcp_store_subscribe(S0, &ref[0], TOPIC(2)));
    store_repair(&d);
    assert_int_equal(mcp_store_subscribers(S0, TOPIC(1)), 3);
    assert_int_equal(mcp_store_subscribers(S0, TOPIC(2)), 1);

    /* a walk of the session finds the old stream after the new one was freed */

    create_ok(0, 52, 1, &call[1]);
    memset(spec.session, 0, sizeof(spec.session));
    spec.session[0] = 1;
    position = 0;
    assert_ok(mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                     NULL));
    assert_int_equal(info.ref.index, call[1].index);
    mcp_store_free(S0, &call[1]);
    assert_ok(mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                     NULL));
    assert_int_equal(info.ref.index, call[0].index);
}


/* Subscriptions count towards the tenant's quota of bytes. */
TEST(subscriptions_count_towards_the_byte_quota_of_the_tenant)
{
    int                rc;
    uint32_t           i, n;
    unsigned char      topic[MCP_DIGEST_LEN];
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    memset(topic, 0, sizeof(topic));
    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    memset(spec.tenant.id, 7, MCP_DIGEST_LEN);
    spec.tenant.listeners = MCP_QUOTA_OFF;
    spec.tenant.bytes = 40 * MCP_STORE_CHUNK;
    store_create(&d, 0, &spec, &ref);

    for (n = 0; n < 1000; n++) {
        memcpy(topic, &n, sizeof(n));
        rc = mcp_store_subscribe(S0, &ref, topic);

        if (rc != MCP_OK) {
            break;
        }
    }

    assert_int_equal(rc, MCP_ERR_LIMIT);
    assert_in_range(n, 38 * MCP_STORE_ENTRIES / 2 - 7,
                    40 * MCP_STORE_ENTRIES / 2);
    store_sound(&d);

    /* unsubscribing makes room for another subscription; after the listener is
     * freed, its tenant uses no room */

    for (i = 0; i < 4; i++) {
        memcpy(topic, &i, sizeof(i));
        assert_ok(mcp_store_unsubscribe(S0, &ref, topic));
    }

    memcpy(topic, &n, sizeof(n));
    assert_ok(mcp_store_subscribe(S0, &ref, topic));
    store_sound(&d);

    mcp_store_free(S0, &ref);
    store_sound(&d);
    assert_int_equal(store_used(&d), 0);
}


TEST(slow_listener_loses_its_oldest_events_and_resumes_after_them)
{
    int                taken;
    char               buf[600];
    size_t             len, n;
    unsigned           i;
    uint64_t           position;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 10;
    store_create(&d, 0, &spec, &ref);
    assert_ok(mcp_store_subscribe(S0, &ref, TOPIC(1)));
    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));

    for (i = 0; i < 15; i++) {
        position = 0;
        assert_ok(store_publish(S0, TOPIC(1), store_message(i, 100), 10,
                                &position, &n));
    }

    assert_int_equal(store_info(S0, &ref).first_seq, 6);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS_DROPPED), 5);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_PURGED);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 4, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_ok(mcp_store_watch(S1, &ref, 5, 5, &cursor, &taken));
    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf), &len));

    /* the region never has room for the message: the listener loses the
     * message */

    position = 0;
    create_ok(0, 2, 1, &ref);

    while (store_append(&d, 0, &ref, store_message(2, 4000), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    do {
        i = store_publish(S0, TOPIC(1), store_message(2, 1000000), 10,
                          &position, &n);
    } while (i == MCP_AGAIN);

    store_spec(&spec, 1, 1);
    assert_ok(mcp_store_find(S0, spec.id, 0, &info));
    assert_int_equal(info.last_seq, 16);
    assert_int_equal(info.first_seq, 17);
    assert_int_equal(mcp_store_read(S1, &info.ref, 5, &cursor, 0, buf,
                                    sizeof(buf), &len), MCP_ERR_PURGED);
}


/* A message that is too large removes all events of a listener, also those that
 * were sent. Later events have the whole limit of bytes. */
TEST(message_is_too_large_for_the_zone__listener_keeps_the_events_after_it)
{
    int                taken;
    char               buf[4096];
    size_t             len, n;
    unsigned           i;
    uint64_t           position;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_bytes = 4000000;
    store_create(&d, 0, &spec, &ref);
    assert_ok(mcp_store_subscribe(S0, &ref, TOPIC(1)));
    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));

    for (i = 0; i < 5; i++) {
        position = 0;
        assert_ok(store_publish(S0, TOPIC(1), store_message(i, 1000), 9,
                                &position, &n));
    }

    while (mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf, sizeof(buf),
                          &len) == MCP_OK)
    {
        /* void */
    }

    mcp_store_unwatch(S1, &ref, 5, 5, 9);
    position = 0;

    while (store_publish(S0, TOPIC(1), store_message(1, 3000000), 9, &position,
                         &n) == MCP_AGAIN)
    {
        /* void */
    }

    store_sound(&d);

    for (i = 0; i < 4; i++) {
        position = 0;
        assert_ok(store_publish(S0, TOPIC(1), store_message(i, 100), 9,
                                &position, &n));
    }

    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 7);
    assert_int_equal(info.last_seq, 10);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS_DROPPED), 1);
}


/* A publication reaches only the listeners that are not replicated, only the
 * replicated listeners, or all listeners. */
TEST(publisher_selects_replicated_or_other_listeners__only_those_get_a_message)
{
    size_t             n;
    uint64_t           position;
    mcp_buf_t          topics;
    mcp_publish_to_t   to[] = { { MCP_PUBLISH_ALL, 0, 0 },
                                { MCP_PUBLISH_UNSHARED, 0, 0 },
                                { MCP_PUBLISH_SHARED, 7, 1 } };
    mcp_stream_ref_t   ref[2];
    mcp_stream_spec_t  spec;

    for (n = 0; n < 2; n++) {
        store_spec(&spec, (unsigned) n + 1, 1);
        spec.kind = MCP_STREAM_LISTEN;
        store_create(&d, 0, &spec, &ref[n]);
        assert_ok(mcp_store_subscribe(S0, &ref[n], TOPIC(1)));
    }

    assert_ok(mcp_store_replication_start(S0, &ref[1], 0));

    position = 0;
    assert_ok(mcp_store_publish(S1, TOPIC(1), mcp_str("m"),
                                &to[MCP_PUBLISH_UNSHARED], 9, &position, &n));
    assert_int_equal(n, 1);
    position = 0;
    assert_ok(mcp_store_publish(S1, TOPIC(1), mcp_str("mm"),
                                &to[MCP_PUBLISH_SHARED], 9, &position, &n));
    assert_int_equal(n, 1);
    position = 0;
    assert_ok(mcp_store_publish(S1, TOPIC(1), mcp_str("mmm"),
                                &to[MCP_PUBLISH_ALL], 9, &position, &n));
    assert_int_equal(n, 2);

    /* mcp_store_topics() returns the topics of a listener */

    assert_ok(mcp_store_subscribe(S0, &ref[1], TOPIC(2)));
    mcp_buf_init(&topics, &d.tm.mem, 4096);
    assert_ok(mcp_store_topics(S1, &ref[1], &topics));
    assert_int_equal(topics.len, 2 * MCP_DIGEST_LEN);
    assert_memory_equal(topics.data, TOPIC(1), MCP_DIGEST_LEN);
    assert_memory_equal(topics.data + MCP_DIGEST_LEN, TOPIC(2),
                        MCP_DIGEST_LEN);
    mcp_store_free(S0, &ref[1]);
    assert_int_equal(mcp_store_topics(S1, &ref[1], &topics),
                     MCP_ERR_NOT_FOUND);
    mcp_buf_free(&topics);

    mcp_buf_init(&topics, &d.tm.mem, 8);
    assert_int_equal(mcp_store_topics(S1, &ref[0], &topics), MCP_ERR_LIMIT);
    mcp_buf_free(&topics);
}


RUN_TESTS(setup, teardown)
