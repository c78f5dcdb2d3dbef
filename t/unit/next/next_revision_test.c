/* SPDX-License-Identifier: Apache-2.0 */

/* A revision is one row of a table: the core, built with two additional ones,
 * negotiates, lists and rejects them like the others. */

#include "core_cases.h"


#define REQUEST_OF(version)                                                  \
    REQUEST("7", "server/discover",                                          \
            "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\""     \
            version "\",\"io.modelcontextprotocol/clientCapabilities\":{}}}")


static void
discover(const char *version, const char *body)
{
    client_init(&a, NULL);
    client_header(&a, "MCP-Protocol-Version", version);
    client_header(&a, "Mcp-Method", "server/discover");
    client_send(&d, 0, &a, "POST", body);
}


TEST(older_and_newer_revision_are_added__they_are_first_and_last_in_order)
{
    assert_int_equal(mcp_revision_next(MCP_REVISION_NONE),
                     MCP_REVISION_2001_01_01);
    assert_int_equal(mcp_revision_next(MCP_REVISION_2001_01_01),
                     MCP_REVISION_2025_03_26);
    assert_int_equal(mcp_revision_next(MCP_REVISION_2026_07_28),
                     MCP_REVISION_2031_01_01);
    assert_int_equal(mcp_revision_latest(MCP_REVISION_ALL, 0),
                     MCP_REVISION_2025_11_25);
    assert_int_equal(mcp_revision_latest(MCP_REVISION_ALL, 1),
                     MCP_REVISION_2031_01_01);
}


TEST(future_revision_is_listed_and_served_unless_the_endpoint_omits_it)
{
    discover("2031-01-01", REQUEST_OF("2031-01-01"));
    assert_int_equal(a.status, 200);
    has(a.text, "\"supportedVersions\":[\"2031-01-01\",\"2026-07-28\"]");
    has(a.text, "\"resultType\":\"complete\"");
    client_close(&d, &a);

    discover("2032-01-01", REQUEST_OF("2032-01-01"));
    assert_int_equal(a.status, 400);
    has(a.text, "\"code\":-32022");
    has(a.text, "\"supported\":[\"2031-01-01\",\"2026-07-28\"]");
    client_close(&d, &a);

    /* the header alone decides on the revision's era */

    discover("2031-01-01", REQUEST("7", "server/discover", "{}"));
    answered(&a, 400, "-32602");

    /* the endpoint does not serve the revision */

    d.endpoint.revisions &= ~mcp_revision_bit(MCP_REVISION_2031_01_01);
    discover("2031-01-01", REQUEST_OF("2031-01-01"));
    answered(&a, 400,
             "\"supported\":[\"2026-07-28\"],\"requested\":\"2031-01-01\"");

    /* initialize does not negotiate the revision */

    client_post(&d, 0, &a, NULL,
                REQUEST("7", "initialize",
                        "{\"protocolVersion\":\"2031-01-01\"}"));
    has(a.text, "\"protocolVersion\":\"2025-11-25\"");
}


TEST(session_of_an_older_revision_accepts_a_batch)
{
    char  old[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, "2001-01-01", "{}");
    client_post(&d, 1, &a, old, "[" PING "]");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.text, "[" PONG "]");
}


RUN_TESTS(setup, teardown)
