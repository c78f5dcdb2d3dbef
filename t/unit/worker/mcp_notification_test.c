/* SPDX-License-Identifier: Apache-2.0 */

/* Listeners of sessions, and notifications about changes. */

#include "core_cases.h"


static const unsigned char  nobody[MCP_DIGEST_LEN];

static struct {
    mcp_client_t      session;
    mcp_stream_info_t  info;
    int                rc;
} other;


/* The hook "unlock" of process 0: when process 0 releases the lock, process 1
 * creates the listener of the same session, before process 0 does. */
static void
listen_first(void *ctx)
{
    d.process[0].store.glue.unlock = driver_unlock;
    other.rc = mcp_notify_listener(d.process[1].worker, &d.endpoint,
                                   &other.session, nobody, &other.info);
}


TEST(listener_of_a_session_gets_list_changes_and_subscribed_resources)
{
    char  id[64], second[MCP_SESSION_TEXT_MAX];

    client_open(&d, second, OLD, ALL);

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 200);
    client_last_id(&a, id);
    assert_int_equal(stats().listeners, 1);

    publish_gets(1, "/publish/static-token", CHANGED, 202);
    has(a.text, ".1\ndata: " CHANGED "\n\n");

    /* the session is not subscribed to this resource */

    publish(1, &b, "/publish/static-token", UPDATED);
    has_not(a.text, UPDATED);

    client_post(&d, 1, &b, session, REQUEST("1", "resources/subscribe",
                        "{\"uri\":\"test://a\"}"));
    has(b.text, "\"result\":{}");
    client_close(&d, &b);
    assert_int_equal(stats().subscriptions, 3);

    client_close(&d, &a);
    publish(1, &b, "/publish/static-token", UPDATED);

    /* events arrived while no client was connected: a client that resumes with
     * an event id gets the events after it; one without an id gets the unsent
     * events */

    client_resume(&d, 1, &a, session, id);
    has(a.text, CHANGED);
    has(a.text, UPDATED);
    client_close(&d, &a);

    client_resume(&d, 1, &a, session, NULL);
    has_not(a.text, CHANGED);
    publish(0, &b, "/publish/static-token", UPDATED);
    assert_int_equal(count(a.text, UPDATED), 1);

    /* a second GET of the session displaces the first one at the listener */

    client_resume(&d, 0, &b, session, NULL);
    assert_int_equal(a.ended, 1);
    assert_int_equal(b.ended, 0);
    client_close(&d, &b);

    /* another session has another listener */

    client_resume(&d, 0, &b, second, NULL);
    assert_string_equal(b.text, ":\n\n");
    client_close(&d, &b);
    client_close(&d, &a);
    client_resume(&d, 0, &b, second, id);
    answered(&b, 404, NULL);

    /* the session has unsubscribed: no notification about the resource */

    client_post(&d, 1, &b, session, REQUEST("1", "resources/unsubscribe",
                        "{\"uri\":\"test://a\"}"));
    client_close(&d, &b);
    client_resume(&d, 1, &a, session, NULL);
    publish(0, &b, "/publish/static-token", UPDATED);
    has_not(a.text, UPDATED);
    publish(0, &b, "/publish/static-token", CHANGED);
    has(a.text, CHANGED);
    client_close(&d, &a);

    /* the sessions are deleted, and their listeners with them */

    end_session(0, session);
    end_session(0, second);
    assert_int_equal(stats().listeners, 0);
    assert_int_equal(stats().subscriptions, 0);
}


/* A listener without a client is freed when mcp_max_wait is over, with its
 * subscriptions. */
TEST(listener_without_a_client_for_mcp_max_wait_is_freed)
{
    char  id[64];

    client_resume(&d, 0, &a, session, NULL);
    client_last_id(&a, id);
    client_post(&d, 1, &b, session, REQUEST("1", "resources/subscribe",
                        "{\"uri\":\"test://a\"}"));
    client_close(&d, &b);

    /* a listener with a client stays */

    driver_wait(&d, 2 * d.endpoint.max_wait);
    assert_int_equal(stats().listeners, 1);
    publish(1, &b, "/publish/static-token", UPDATED);
    client_close(&d, &a);

    driver_wait(&d, d.endpoint.max_wait - 5000);
    client_resume(&d, 1, &a, session, id);
    has(a.text, UPDATED);
    client_close(&d, &a);

    driver_wait(&d, d.endpoint.max_wait - 5000);
    assert_int_equal(stats().listeners, 1);

    driver_wait(&d, 10000);
    assert_int_equal(stats().listeners, 0);
    assert_int_equal(stats().subscriptions, 0);
    client_resume(&d, 1, &a, session, id);
    assert_int_equal(a.status, 404);
}


/* The client subscribes to a resource in another spelling of its URI:
 * accepted. It subscribes to a URI that is not in the catalog: rejected. */
TEST(subscription_in_another_spelling_of_the_uri_is_accepted)
{
    client_resume(&d, 0, &a, session, NULL);
    client_post(&d, 1, &b, session, REQUEST("1", "resources/subscribe",
                        "{\"uri\":\"TEST://%61\"}"));
    has(b.text, "\"result\":{}");
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &b);
    publish(1, &b, "/publish/static-token", UPDATED);
    has(a.text, UPDATED);

    client_post(&d, 1, &b, session, REQUEST("1", "resources/subscribe",
                        "{\"uri\":\"test://b\"}"));
    has(b.text, "-32002");
}


/* A subscription to a resource of the catalog needs no backend. Without a
 * catalog the backend decides: if it returns an error, there is no
 * subscription. */
TEST(backend_rejects_a_subscription__the_listener_gets_no_update)
{
    d.endpoint.catalog = NULL;
    client_resume(&d, 0, &a, session, NULL);
    client_post(&d, 1, &b, session, REQUEST("1", "resources/subscribe",
                        "{\"uri\":\"test://a\"}"));
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                     "{\"code\":-1,\"message\":\"no\"}}");
    has(b.text, "\"error\"");
    client_close(&d, &b);
    publish(1, &b, "/publish/static-token", UPDATED);
    has_not(a.text, "data: {");
}


/* The zone has no room for a listener, or the tenant has too many listeners:
 * no subscription, and the client gets the reason. */
TEST(no_listener_can_be_created__a_subscription_fails_with_the_reason)
{
    char              of[MCP_SESSION_TEXT_MAX], more[MCP_SESSION_TEXT_MAX];
    mcp_stream_ref_t  ref;

    d.endpoint.catalog = NULL;
    client_open_as(&d, of, "alice", NEW, ALL);
    client_post_as(&d, 0, &b, of, "alice", REQUEST("1", "resources/subscribe",
                           "{\"uri\":\"test://a\"}"));
    hog(&ref);
    backend_json(&d, "{}");
    has(b.text, "Server has no room for another stream");
    client_close(&d, &b);
    mcp_store_free(&d.process[1].store, &ref);

    d.endpoint.quota_key = MCP_QUOTA_KEY_PRINCIPAL;
    d.endpoint.quota_listeners = 1;
    client_open_as(&d, more, "alice", NEW, ALL);
    client_init(&a, more);
    a.principal = "alice";
    client_send(&d, 0, &a, "GET", "");
    assert_int_equal(a.status, 200);

    client_post_as(&d, 0, &b, of, "alice", REQUEST("1", "resources/subscribe",
                           "{\"uri\":\"test://a\"}"));
    backend_json(&d, "{}");
    has(b.text, "Too many streams");
    client_close(&d, &b);
    assert_int_equal(stats().subscriptions, 2);

    client_close(&d, &a);
    driver_wait(&d, d.endpoint.max_wait + 1000);
    assert_int_equal(stats().subscriptions, 0);
}


TEST(two_workers_create_the_listener_of_a_session__only_one_listener_exists)
{
    mcp_stream_info_t  info;

    memset(&other, 0, sizeof(other));
    memset(other.session.id, 3, MCP_DIGEST_LEN);
    other.session.expires = d.te.now + 100000;

    d.process[0].store.glue.unlock = listen_first;
    assert_ok(mcp_notify_listener(d.process[0].worker, &d.endpoint,
                                  &other.session, nobody, &info));
    assert_ok(other.rc);
    assert_int_equal(info.ref.index, other.info.ref.index);
    assert_int_equal(stats().listeners, 1);
    assert_int_equal(stats().subscriptions, 2);
    mcp_store_free(&d.process[0].store, &info.ref);
}


/* A listener has dropped events: a client with the id of an earlier event gets
 * 404. A client without an id gets a log message with the number of dropped
 * events, and then the remaining events. */
TEST(listener_has_dropped_events__the_client_gets_their_number)
{
    int   i;
    char  id[64];

    d.endpoint.max_events = 4;

    client_resume(&d, 0, &a, session, NULL);
    leave_with_last_id(&a, id);

    for (i = 0; i < 10; i++) {
        publish(1, &b, "/publish/static-token", CHANGED);
    }

    client_resume(&d, 1, &a, session, id);
    answered(&a, 404, "Events no longer available");

    client_resume(&d, 1, &a, session, NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(count(a.text, CHANGED), 4);
    has(a.text, "\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                "\"notifications/message\",\"params\":{\"level\":\"error\","
                "\"logger\":\"mcp\",\"data\":{\"text\":");
    has(a.text, ",\"events\":6}}}\n\nid: ");
    publish(0, &b, "/publish/static-token", CHANGED);
    assert_int_equal(count(a.text, CHANGED), 5);
    client_close(&d, &a);

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(count(a.text, CHANGED), 0);
    has_not(a.text, "notifications/message");
    client_close(&d, &a);

    /* the session's log level is "critical": no log message about the dropped
     * events */

    client_post(&d, 0, &b, session, REQUEST("1", "logging/setLevel",
                                            "{\"level\":\"critical\"}"));
    client_close(&d, &b);

    for (i = 0; i < 10; i++) {
        publish(1, &b, "/publish/static-token", CHANGED);
    }

    client_resume(&d, 1, &a, session, NULL);
    assert_int_equal(count(a.text, CHANGED), 4);
    has_not(a.text, "notifications/message");
}


/* Creates a listener that is subscribed to one list of the endpoint. */
static mcp_stream_ref_t
subscribed(unsigned char number, mcp_topic_e list)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_STREAM_LISTEN;
    memset(spec.id, number, MCP_STREAM_ID_LEN);
    spec.max_wait = 1000;

    assert_ok(mcp_store_create(&d.process[0].store, &spec, d.te.now, &ref));
    assert_ok(mcp_notify_subscribe(d.process[0].worker, &d.endpoint, &ref,
                                   list));

    return ref;
}


static uint64_t
events(const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_info(&d.process[0].store, ref, &info));

    return info.last_seq;
}


/* A change of an endpoint's list is sent to the listeners of this endpoint; a
 * published change is sent to the listeners of all endpoints. A subscription
 * is for one list; a session gets the changes of all lists. */
TEST(list_change_goes_to_its_endpoint_and_a_published_change_to_all_endpoints)
{
    mcp_stream_ref_t     tools, prompts, elsewhere;
    const unsigned char  here[MCP_DIGEST_LEN] = { 1 };
    const unsigned char  there[MCP_DIGEST_LEN] = { 2 };

    memcpy(d.endpoint.catalog_key, there, MCP_DIGEST_LEN);
    elsewhere = subscribed(1, MCP_TOPIC_TOOLS);
    memcpy(d.endpoint.catalog_key, here, MCP_DIGEST_LEN);
    tools = subscribed(2, MCP_TOPIC_TOOLS);
    prompts = subscribed(3, MCP_TOPIC_PROMPTS);
    client_resume(&d, 0, &a, session, NULL);

    mcp_notify_list(d.process[1].worker, MCP_TOPIC_TOOLS, there,
                    mcp_str(CHANGED));
    driver_pump(&d);
    assert_int_equal(events(&elsewhere), 1);
    assert_int_equal(events(&tools), 0);
    assert_int_equal(count(a.text, CHANGED), 0);

    mcp_notify_list(d.process[1].worker, MCP_TOPIC_TOOLS, here,
                    mcp_str(CHANGED));
    driver_pump(&d);
    assert_int_equal(events(&elsewhere), 1);
    assert_int_equal(events(&tools), 1);
    assert_int_equal(events(&prompts), 0);
    assert_int_equal(count(a.text, CHANGED), 1);

    publish(1, &b, "/publish/static-token", CHANGED);
    assert_int_equal(events(&elsewhere), 2);
    assert_int_equal(events(&tools), 2);
    assert_int_equal(events(&prompts), 0);
    assert_int_equal(count(a.text, CHANGED), 2);

    client_close(&d, &a);
    mcp_store_free(&d.process[0].store, &tools);
    mcp_store_free(&d.process[0].store, &prompts);
    mcp_store_free(&d.process[0].store, &elsewhere);
}


RUN_TESTS(setup, teardown)
