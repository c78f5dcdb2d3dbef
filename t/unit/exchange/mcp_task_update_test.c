/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of answers to the questions of a task: their form, and the questions
 * that remain. */

#include "exchange/mcp_task.h"
#include "store/mcp_store_replication.h"
#include "task_cases.h"
#include "worker/mcp_cluster_operation.h"


TEST(input_responses_that_are_not_an_object_of_objects_are_rejected)
{
    size_t  i;

    static const char *const  wrong[] = {
        "", ",\"inputResponses\":null", ",\"inputResponses\":[]",
        ",\"inputResponses\":\"x\"", ",\"inputResponses\":{\"k\":1}",
        ",\"inputResponses\":{\"k\":{},\"l\":[]}"
    };

    end_with_result(task_begin(0));

    for (i = 0; i < ITEMS(wrong); i++) {
        task_refused(1, "tasks/update", wrong[i],
                     "\"error\":{\"code\":-32602,\"message\":\"Invalid params"
                     "\"}");
    }

    task_does(1, "tasks/update", ",\"inputResponses\":{}");
}


static void
questions_are(const char *text, uint32_t given, const char *left)
{
    mcp_buf_t  buf;
    mcp_str_t  rest;

    mcp_buf_init(&buf, &d.te.env.mem, 4096);
    mcp_task_questions(test_str(text), given, &buf);
    rest = (mcp_str_t) { buf.data, buf.len };
    assert_str_is(rest, left);
    assert_int_equal(mcp_task_has_questions(test_str(text), given),
                     strcmp(left, "{}") != 0);
    mcp_buf_free(&buf);
}


TEST(some_questions_are_answered__the_task_has_only_the_other_questions)
{
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 0,
                  "{\"a\":{},\"b\":{\"c\":1}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 1, "{\"b\":{\"c\":1}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 2, "{\"a\":{}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 3, "{}");
}


/* Writes the questions "first" to n - 1, with the keys "0#3", "1#3" and so
 * on. */
static const char *
many_questions(char *text, size_t size, unsigned first, unsigned n)
{
    unsigned  k;
    size_t    len;

    len = 0;

    for (k = first; k < n; k++) {
        len += (size_t) snprintf(text + len, size - len, "%s\"%u#3\":{}",
                                 k == first ? "{" : ",", k);
        assert_true(len < size);
    }

    snprintf(text + len, size - len, "%s", first < n ? "}" : "{}");

    return text;
}


/* An event that was fetched from Redis has more questions than a task may
 * have: the task neither shows the surplus ones nor waits for answers to
 * them. */
TEST(task_event_has_70_questions__the_task_has_only_the_first_32)
{
    char  text[1024], left[1024];

    many_questions(text, sizeof(text), 0, 70);
    questions_are(text, 0,
                  many_questions(left, sizeof(left), 0, MCP_STORE_QUESTIONS));
    questions_are(text, 3,
                  many_questions(left, sizeof(left), 2, MCP_STORE_QUESTIONS));
    questions_are(text, (uint32_t) 1 << 31,
                  many_questions(left, sizeof(left), 0, 31));
    questions_are(text, UINT32_MAX, "{}");
}


/* Answers for which the inbox of the call has no room: 503, and the client may
 * send them again. */
TEST(task_has_no_room_for_an_answer__the_client_gets_503_and_can_send_it_again)
{
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 2048;
    breq = task_begin(0);
    backend_send(&d, breq,
                 ROUND(",\"inputRequests\":{\"k\":" FORM ",\"l\":" FORM
                               "}") "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    driver_pause(&d, 0, 1);
    snprintf(line, sizeof(line), ",\"inputResponses\":{\"k#1\":{\"a\":"
             "\"%01500d\"}}", 0);
    task_does(1, "tasks/update", line);
    snprintf(line, sizeof(line), ",\"inputResponses\":{\"l#1\":{\"a\":"
             "\"%01500d\"}}", 0);
    task_request(1, "tasks/update", line);
    answered(&b, 503, "\"code\":-32603");
    task_is(1, "\"inputRequests\":{\"l#1\"");
    driver_pause(&d, 0, 0);
    task_does(1, "tasks/update", line);
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
}


/* A client has got a question at another node and answers it at the call's own
 * node: the answer is accepted, although that node has not received the
 * acknowledgement of the question's event yet. */
TEST(redis_has_not_acknowledged_a_question_yet__an_answer_to_it_is_accepted)
{
    mcp_backend_request_t  *breq;
    mcp_store_t            *store;
    mcp_task_id_t           id;
    mcp_stream_info_t       info;

    breq = task_begin(0);
    store = &d.process[0].store;
    assert_ok(mcp_task_id_read(&id, d.endpoint.keys, test_str(task_id),
                               d.te.now));
    assert_ok(mcp_store_find(store, id.stream, 0, &info));
    assert_ok(mcp_store_replication_start(store, &info.ref, 1));
    backend_send(&d, breq, ROUND(",\"inputRequests\":{\"k\":" FORM "}") "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    task_is(1, "\"status\":\"working\"");
    assert_int_equal(d.n_breqs, 0);

    task_does(1, "tasks/update", ",\"inputResponses\":{\"k#1\":{}}");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
}


static unsigned char          remote_id[MCP_STREAM_ID_LEN];
static mcp_store_lookup_t     remote_is;
static unsigned               remote_queries, remote_inputs;
static uint64_t               remote_seq;
static uint32_t               remote_bits;
static int                    remote_rc;
static const char            *remote_event;
static mcp_operation_t       *remote_queried;


static int
remote_start(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *ask)
{
    if (spec->kind == MCP_OPERATION_LOOKUP) {
        assert_memory_equal(spec->stream.id, remote_id, MCP_STREAM_ID_LEN);
        remote_queried = ask;
        remote_queries++;

        return MCP_AGAIN;
    }

    assert_int_equal(spec->kind, MCP_OPERATION_CLIENT_INPUT);
    assert_int_equal(spec->input.what, MCP_OPERATION_INPUT_TASK);
    assert_int_equal(spec->input.seq, remote_seq);
    assert_int_equal(spec->input.bits, remote_bits);
    assert_str_is(spec->input.data,
                  remote_bits == 1 ? "{\"0\":{}}" : "{\"1\":{}}");
    remote_inputs++;

    return remote_rc;
}


static const mcp_cluster_hooks_t  elsewhere_hooks = {
    .start = remote_start,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays
};


/* Finishes the lookup that the request waits for. In its result, the task has
 * this state, and "seq" is the number of its last event in Redis. */
static void
remote_state(mcp_stream_state_e state, uint64_t seq)
{
    char             *p;
    mcp_operation_t  *ask = remote_queried;
    mcp_found_t      *found;

    assert_non_null(ask);
    remote_queried = NULL;
    found = mcp_mem_calloc(&ask->worker->env->mem, sizeof(mcp_found_t));
    p = ask->worker->env->mem.alloc(ask->worker->env->mem.ctx,
                                    strlen(remote_event));
    assert_true(found && p);
    memcpy(p, remote_event, strlen(remote_event));
    found->lookup = remote_is;
    found->lookup.info.state = state;
    found->lookup.info.last_seq = seq;
    found->lookup.seq = seq;
    found->lookup.state = state;
    found->event = (mcp_str_t) { p, strlen(remote_event) };
    ask->found = found;
    ask->n_found = 1;
    mcp_operation_complete(ask, MCP_OK);
    driver_pump(&d);
}


/* Creates a task, removes it from the store, and sets hooks as if another node
 * had it. */
static void
remote_begin(void)
{
    mcp_task_id_t      id;
    mcp_stream_info_t  info;

    (void) task_begin(0);
    assert_ok(mcp_task_id_read(&id, d.endpoint.keys, test_str(task_id),
                               d.te.now));
    memcpy(remote_id, id.stream, MCP_STREAM_ID_LEN);
    assert_ok(mcp_store_find(&d.process[0].store, remote_id, 0, &info));
    memset(&remote_is, 0, sizeof(remote_is));
    remote_is.info = info;
    remote_is.info.ref.index = 0;
    remote_queries = 0;
    remote_inputs = 0;
    remote_seq = 3;
    remote_bits = 1;
    remote_rc = MCP_OK;

    task_does(0, "tasks/cancel", "");
    mcp_store_free(&d.process[0].store, &info.ref);
    driver_wait(&d, 2000);

    d.process[1].worker->cluster_hooks = &elsewhere_hooks;
    d.process[1].worker->cluster = remote_id;
}


static void
remote_done(void)
{
    answered(&b, 200, NULL);
    d.process[1].worker->cluster_hooks = NULL;
    d.process[1].worker->cluster = NULL;
}


/* A client answers questions that Redis has not received yet from their node:
 * the stream is looked up again until Redis has the questions. */
TEST(answer_arrives_before_redis_has_the_question__the_lookup_is_repeated)
{
    remote_begin();
    remote_event = "{\"k#1\":{}}";
    task_request(1, "tasks/update", ",\"inputResponses\":{\"k#3\":{}}");
    remote_state(MCP_STATE_INPUT_REQUIRED, 1);
    assert_null(remote_queried);
    assert_int_equal(b.status, 0);
    driver_wait(&d, 60);
    remote_event = "\"works\"";
    remote_state(MCP_STATE_PROCESSING, 2);
    driver_wait(&d, 60);
    remote_event = "{\"k#3\":{}}";
    remote_state(MCP_STATE_INPUT_REQUIRED, 3);
    assert_int_equal(remote_inputs, 1);
    remote_done();
}


/* An event that was fetched from Redis has more questions than a task may
 * have. Answers to the surplus questions are ignored; other answers are sent
 * to the owner. */
TEST(task_event_has_more_than_32_questions__answers_to_the_rest_are_ignored)
{
    char  text[1024];

    remote_begin();
    remote_event = many_questions(text, sizeof(text), 0, 70);
    task_request(1, "tasks/update", ",\"inputResponses\":{\"32#3\":{},"
             "\"33#3\":{},\"69#3\":{}}");
    remote_state(MCP_STATE_INPUT_REQUIRED, 3);
    assert_int_equal(remote_inputs, 0);
    remote_done();

    remote_begin();
    remote_bits = 2;
    task_request(1, "tasks/update",
             ",\"inputResponses\":{\"1#3\":{},\"33#3\":{}}");
    remote_state(MCP_STATE_INPUT_REQUIRED, 3);
    assert_int_equal(remote_inputs, 1);
    remote_done();
}


/*
 * Answers with a key for an event that Redis never gets: the request is
 * acknowledged after several lookups. Answers with a key that names no later
 * event, or answers for a task that is over: the request is acknowledged after
 * the first lookup.
 */
TEST(redis_never_gets_the_question__an_answer_to_it_is_still_acknowledged)
{
    size_t  i;

    static const char *const  keys[] = { "k", "k#2", "#", "k#x", "" };

    remote_begin();
    remote_event = "{\"k#2\":{}}";
    task_request(1, "tasks/update", ",\"inputResponses\":{\"k#3\":{}}");

    while (b.status == 0) {
        remote_state(MCP_STATE_PROCESSING, 2);
        driver_wait(&d, 60);
        assert_in_range(remote_queries, 1, 100);
    }

    assert_true(remote_queries > 2);
    remote_done();

    for (i = 0; i <= ITEMS(keys); i++) {
        remote_begin();
        snprintf(line, sizeof(line), ",\"inputResponses\":{\"%s\":{}}",
                 i < ITEMS(keys) ? keys[i] : "k#3");
        task_request(1, "tasks/update", line);
        remote_state(i < ITEMS(keys) ? MCP_STATE_PROCESSING
                                     : MCP_STATE_COMPLETED, 2);
        assert_int_equal(remote_queries, 1);
        remote_done();
    }

    assert_int_equal(remote_inputs, 0);
}


/* The call is a task already, but Redis has its state from before that: the
 * lookup is repeated. */
TEST(redis_has_a_state_from_before_the_call_became_a_task__lookup_is_repeated)
{
    remote_begin();
    remote_event = "{\"method\":\"notifications/progress\"}";
    remote_is.info.expires = 0;
    task_request(1, "tasks/get", "");
    remote_state(MCP_STATE_PROCESSING, 2);
    assert_int_equal(b.status, 0);
    driver_wait(&d, 60);
    remote_is.info.expires = d.te.now + 1000;
    remote_state(MCP_STATE_PROCESSING, 2);
    has(b.text, "\"status\":\"working\"");
    remote_done();

    /* Redis never gets a newer state: the task id counts as unknown */

    remote_begin();
    remote_is.info.expires = 0;
    task_request(1, "tasks/get", "");

    while (b.status == 0) {
        remote_state(MCP_STATE_PROCESSING, 2);
        driver_wait(&d, 60);
        assert_in_range(remote_queries, 1, 100);
    }

    has(b.text, UNKNOWN);
    remote_done();
}


/* Creates a replicated task of this node that has asked two questions. */
static mcp_stream_info_t
own_begin(void)
{
    mcp_backend_request_t  *breq;
    mcp_store_t            *store;
    mcp_task_id_t           id;
    mcp_stream_info_t       info;

    breq = task_begin(0);
    store = &d.process[0].store;
    assert_ok(mcp_task_id_read(&id, d.endpoint.keys, test_str(task_id),
                               d.te.now));
    memcpy(remote_id, id.stream, MCP_STREAM_ID_LEN);
    assert_ok(mcp_store_find(store, id.stream, 0, &info));
    assert_ok(mcp_store_replication_start(store, &info.ref, 0));
    backend_send(&d, breq,
                 ROUND(",\"inputRequests\":{\"k\":" FORM ",\"l\":" FORM
                               "}") "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    assert_ok(mcp_store_find(store, id.stream, 0, &info));
    assert_int_equal(info.state, MCP_STATE_INPUT_REQUIRED);

    memset(&remote_is, 0, sizeof(remote_is));
    remote_is.info = info;
    remote_queries = 0;
    remote_inputs = 0;
    remote_seq = info.last_seq;
    remote_bits = 2;
    remote_rc = MCP_OK;
    remote_event = "{\"k#1\":{},\"l#1\":{}}";
    d.process[1].worker->cluster_hooks = &elsewhere_hooks;
    d.process[1].worker->cluster = remote_id;

    return info;
}


/* Answers at two nodes: an answer that a client sent to another node counts
 * before this node has received it; an answer that a client sends to this node
 * is sent to the cluster. */
TEST(answer_sent_to_another_node_is_on_its_way__the_question_counts_as_answered)
{
    mcp_stream_info_t  info;

    info = own_begin();
    remote_is.given = 1;
    task_request(1, "tasks/get", "");
    remote_state(MCP_STATE_INPUT_REQUIRED, info.last_seq);
    assert_null(strstr(b.text, "\"k#1\""));
    has(b.text, "\"l#1\"");
    client_close(&d, &b);

    task_request(1, "tasks/update",
             ",\"inputResponses\":{\"k#1\":{\"late\":1},\"l#1\":{}}");
    remote_state(MCP_STATE_INPUT_REQUIRED, info.last_seq);
    assert_int_equal(remote_inputs, 1);
    answered(&b, 200, NULL);
    assert_int_equal(d.n_breqs, 0);

    /* both answers arrive from Redis, that to the second question first: the
     * round is complete when the first question gets its answer */

    assert_int_equal(mcp_store_answer(&d.process[0].store, &info.ref,
                                      info.last_seq, 2, 3,
                                      mcp_str("{\"1\":{}}"), d.te.now),
                     MCP_AGAIN);
    assert_ok(mcp_store_answer(&d.process[0].store, &info.ref,
                               info.last_seq, 1, 3,
                               mcp_str("{\"0\":{}}"), d.te.now));
    driver_pump(&d);
    assert_int_equal(d.n_breqs, 1);
    d.process[1].worker->cluster_hooks = NULL;
    d.process[1].worker->cluster = NULL;
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
}


/* Redis lacks the task or is unreachable: the state at this node decides. */
TEST(redis_lacks_a_task_or_is_unreachable__requests_get_this_nodes_task_state)
{
    size_t             i;
    mcp_stream_info_t  info;

    static const int  rcs[] = { MCP_ERR_NOT_FOUND, MCP_ERR_UNREACHABLE };

    for (i = 0; i < ITEMS(rcs); i++) {
        info = own_begin();
        remote_rc = rcs[i];
        remote_bits = 1;
        task_request(1, "tasks/update", ",\"inputResponses\":{\"k#1\":{}}");
        remote_state(MCP_STATE_INPUT_REQUIRED, info.last_seq);
        assert_int_equal(remote_inputs, 1);
        answered(&b, 200, NULL);

        task_request(1, "tasks/get", "");
        mcp_operation_complete(remote_queried, MCP_ERR_UNREACHABLE);
        driver_pump(&d);
        assert_null(strstr(b.text, "\"k#1\""));
        has(b.text, "\"l#1\"");
        client_close(&d, &b);

        task_request(1, "tasks/update", ",\"inputResponses\":{\"l#1\":{}}");
        mcp_operation_complete(remote_queried, MCP_ERR_UNREACHABLE);
        driver_pump(&d);
        assert_int_equal(remote_inputs, 1);
        answered(&b, 200, NULL);
        assert_int_equal(d.n_breqs, 1);
        d.process[1].worker->cluster_hooks = NULL;
        d.process[1].worker->cluster = NULL;
        backend_json(&d, RESULT);
        task_is(1, "\"status\":\"completed\"");
    }
}


RUN_TESTS(task_setup, task_teardown)
