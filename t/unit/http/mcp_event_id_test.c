/* SPDX-License-Identifier: Apache-2.0 */

/* Ids of streams and of events. */


#include "test_env.h"
#include "http/mcp_sse.h"


static const unsigned char  stream[MCP_STREAM_ID_LEN] = {
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
    0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
};

#define STREAM  "ABEiM0RVZneImaq7zN3u_w"


TEST(stream_id_is_written_in_base64_and_the_highest_event_number_has_room)
{
    char  text[MCP_EVENT_ID_MAX], *end;

    end = mcp_stream_id_print(text, stream);
    assert_int_equal(end - text, MCP_STREAM_TEXT_LEN);
    assert_memory_equal(text, STREAM, MCP_STREAM_TEXT_LEN);

    end = mcp_event_id_print(text, stream, UINT64_MAX);
    assert_int_equal(end - text, MCP_EVENT_ID_MAX);
}


static const struct {
    const char  *text;
    int          rc;
    uint64_t     seq;
} ids[] = {
    { STREAM ".0", MCP_OK, 0 },
    { STREAM ".42", MCP_OK, 42 },
    { STREAM ".9223372036854775807", MCP_OK, INT64_MAX },
    { STREAM ".9223372036854775808", MCP_ERR_SYNTAX, 0 },
    { STREAM ".18446744073709551616", MCP_ERR_SYNTAX, 0 },
    { STREAM ".042", MCP_ERR_SYNTAX, 0 },
    { STREAM ".00", MCP_ERR_SYNTAX, 0 },
    { STREAM ".-1", MCP_ERR_SYNTAX, 0 },
    { STREAM ".+1", MCP_ERR_SYNTAX, 0 },
    { STREAM ".1 ", MCP_ERR_SYNTAX, 0 },
    { STREAM ". 1", MCP_ERR_SYNTAX, 0 },
    { STREAM ".", MCP_ERR_SYNTAX, 0 },
    { STREAM, MCP_ERR_SYNTAX, 0 },
    { STREAM "-1", MCP_ERR_SYNTAX, 0 },
    { STREAM "A.1", MCP_ERR_SYNTAX, 0 },
    { "ABEiM0RVZneImaq7zN3u_.1", MCP_ERR_SYNTAX, 0 },
    { "ABEiM0RVZneImaq7zN3u_x.1", MCP_ERR_SYNTAX, 0 },     /* bits that belong
                                                              to no byte are
                                                              set */
    { "ABEiM0RVZneImaq7zN3u/w.1", MCP_ERR_SYNTAX, 0 },
    { "", MCP_ERR_SYNTAX, 0 },
    { ".", MCP_ERR_SYNTAX, 0 },
};


TEST(malformed_event_id_or_stream_id_is_rejected)
{
    size_t         i;
    uint64_t       seq;
    unsigned char  id[MCP_STREAM_ID_LEN];

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        seq = 0;
        assert_int_equal(mcp_event_id_parse(test_str(ids[i].text), id, &seq),
                         ids[i].rc);

        if (ids[i].rc == MCP_OK) {
            assert_true(seq == ids[i].seq);
            assert_memory_equal(id, stream, sizeof(id));
        }
    }

    assert_ok(mcp_stream_id_parse(mcp_str(STREAM), id));
    assert_memory_equal(id, stream, sizeof(id));
    assert_int_equal(mcp_stream_id_parse(mcp_str(STREAM "A"), id),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_stream_id_parse(mcp_null_str, id), MCP_ERR_SYNTAX);
}


RUN_TESTS(NULL, NULL)
