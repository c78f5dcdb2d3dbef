/* SPDX-License-Identifier: Apache-2.0 */

/* Answers for a call at another node arrive, once Redis has them. */

#include "cluster_streams.h"


static void
answer(int i, char c, char session, const char *text)
{
    mcp_ask_post_t  post;

    memset(&post, 0, sizeof(post));
    memcpy(post.id, id_of(c), MCP_STREAM_ID_LEN);
    memset(post.session, session, MCP_DIGEST_LEN);
    post.data = test_str(text);

    assert_int_equal(nodes[i].worker->cluster_hooks->post(nodes[i].cluster,
                                                          &post, NULL),
                     MCP_OK);
}


/* Takes what has arrived. */
static const char *
taken(int i, char c)
{
    int                rc;
    uint64_t           tag;
    mcp_buf_t          buf;
    mcp_post_e         type;
    mcp_stream_info_t  info = info_of(i, c);

    static char  text[256];

    text[0] = '\0';
    mcp_buf_init(&buf, &nodes[i].te.env.mem, 4096);
    rc = mcp_store_take(&nodes[i].store, &info.ref, &type, &tag, &buf);

    if (rc == MCP_OK) {
        assert_int_equal(type, MCP_POST_INPUT);
        snprintf(text, sizeof(text), "%.*s", (int) buf.len, buf.data);
    }

    mcp_buf_free(&buf);

    return text;
}


static void
test_post(void **state)
{
    needs_redis();

    begin_all(2);
    make(0, 'a');
    UNTIL(copying(0, 'a').created);

    /* of another session; to nobody */

    answer(1, 'a', 'x', "\"wrong\"");
    answer(1, 'b', 's', "\"wrong\"");
    answer(1, 'a', 's', "\"one\"");
    answer(1, 'a', 's', "\"two\"");
    UNTIL(strcmp(taken(0, 'a'), "\"one\"") == 0);
    UNTIL(strcmp(taken(0, 'a'), "\"two\"") == 0);
    all_expire(0);

    /* over */

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(copying(0, 'a').acked.state == MCP_STATE_COMPLETED);
    answer(1, 'a', 's', "\"late\"");
    run(1);
    assert_int_equal(strtol(about(0, "HGET", 'h', 'a', "i"), NULL, 10), 0);
    end_all();
}


/* Nobody can fill Redis by answers that nobody takes. */
static void
test_full(void **state)
{
    unsigned  i;
    char      text[200001];

    needs_redis();

    begin_all(2);
    make(0, 'a');
    UNTIL(copying(0, 'a').created);
    memset(text, 'x', sizeof(text) - 1);
    text[0] = '"';
    text[sizeof(text) - 2] = '"';
    text[sizeof(text) - 1] = '\0';

    for (i = 0; i < 8; i++) {
        answer(1, 'a', 's', text);
        run(1);
    }

    assert_string_equal(about(1, "HGET", 'h', 'a', "i"), "1000000");
    end_all();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
