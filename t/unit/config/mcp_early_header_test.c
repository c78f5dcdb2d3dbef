/* SPDX-License-Identifier: Apache-2.0 */

/* Variables whose values come from request headers, before the body is
 * read. */


#include "test_env.h"

#include "base/mcp_arena.h"
#include "config/mcp_endpoint_internal.h"
#include "mcp_early_header.h"
#include "rpc/mcp_revision.h"


#define VERSION  "MCP-Protocol-Version", "2026-07-28"
#define PARAM    "mcp_param_region"


static mcp_endpoint_t  endpoint;
static test_mem_t      tm;


/* The memory of a request, which is freed as a whole. */
typedef struct {
    mcp_arena_t  arena;
    unsigned     fail_at;      /* number of the allocation that fails; 0:
                                  none */
} pool_t;

static pool_t  pool;


static void *
pool_alloc(void *ctx, size_t size)
{
    if (pool.fail_at > 0 && --pool.fail_at == 0) {
        return NULL;
    }

    return mcp_arena_alloc(&pool.arena, size);
}


static const mcp_mem_t  pool_mem = { pool_alloc, NULL, NULL };


static int
setup(void **state)
{
    test_mem_init(&tm);
    mcp_arena_init(&pool.arena, &tm.mem);
    pool.fail_at = 0;

    return 0;
}


static int
teardown(void **state)
{
    mcp_arena_destroy(&pool.arena);
    assert_int_equal(tm.live, 0);

    return 0;
}


typedef struct {
    const char  *headers[10];          /* names and values in turn */
    const char  *variable;
    const char  *value;                /* "": the variable is empty */
} early_case_t;


static const early_case_t  cases[] = {

    { { VERSION, "Mcp-Method", "tools/call" }, "mcp_header_method",
      "tools/call" },
    { { "mcp-method", " tools/call\t", "mcp-protocol-VERSION",
        "\t2026-07-28 " }, "mcp_header_method", "tools/call" },
    { { VERSION, "Mcp-Name", "echo" }, "mcp_header_name", "echo" },
    { { VERSION, "Mcp-Name", "=?base64?ZWNobw==?=" }, "mcp_header_name",
      "echo" },
    { { VERSION, "MCP-PARAM-Region", "eu" }, PARAM, "eu" },
    { { VERSION, "Mcp-Param-Region", "=?base64?ZXU=?=" }, PARAM, "eu" },
    { { VERSION, "Mcp-Param-Dry-Run", "true" }, "mcp_param_dry_run", "true" },
    { { VERSION, "Mcp-Param-Dry_Run", "true" }, "mcp_param_dry_run", "true" },

    /* MCP-Protocol-Version is absent, or is not a revision that defines these
     * headers: the variables are empty */

    { { "Mcp-Method", "tools/call" }, "mcp_header_method", "" },
    { { "MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/call" },
      "mcp_header_method", "" },
    { { "MCP-Protocol-Version", "2099-01-01", "Mcp-Name", "echo" },
      "mcp_header_name", "" },
    { { "MCP-Protocol-Version", "=?base64?MjAyNi0wNy0yOA==?=", "Mcp-Name",
        "echo" }, "mcp_header_name", "" },
    { { "MCP-Protocol-Version", "", "Mcp-Name", "echo" }, "mcp_header_name",
      "" },
    { { VERSION, VERSION, "Mcp-Name", "echo" }, "mcp_header_name", "" },
    { { VERSION, "MCP-Protocol-Version", "2025-11-25", "Mcp-Param-Region",
        "eu" }, PARAM, "" },

    /* absent or malformed headers, and Mcp-Method, whose value is never
     * encoded */

    { { VERSION }, "mcp_header_name", "" },
    { { VERSION, "Mcp-Name", "" }, "mcp_header_name", "" },
    { { VERSION, "Mcp-Name", "e\xc3\xbc" }, "mcp_header_name", "" },
    { { VERSION, "Mcp-Name", "=?base64?ZWNobw?=" }, "mcp_header_name", "" },
    { { VERSION, "Mcp-Param-Region", "a\x01" }, PARAM, "" },
    { { VERSION, "Mcp-Method", "=?base64?ZWNobw==?=" }, "mcp_header_method",
      "=?base64?ZWNobw==?=" },
    { { VERSION, "Mcp-Param-Regio", "eu", "Mcp-Param-Regions", "eu",
        "Mcp-Param", "eu" }, PARAM, "" },
    { { VERSION, "Mcp-Param-", "eu" }, "mcp_param_", "" },
    { { VERSION, "Mcp-Param-Region", "eu" }, "mcp_other", "" },
    { { VERSION, "Mcp-Param-Region", "=?base64?ZXUKdXM=?=" }, PARAM, "?" },

    /* methods for tasks: Mcp-Name is the id of the task, which is secret, so
     * the variable is empty */

    { { VERSION, "Mcp-Method", "tasks/get", "Mcp-Name", "T" },
     "mcp_header_name",
      "" },
    { { VERSION, "Mcp-Name", "T", "mcp-method", " tasks/update" },
      "mcp_header_name", "" },
    { { VERSION, "Mcp-Method", "tools/call", "Mcp-Method", "tasks/cancel",
        "Mcp-Name", "T" }, "mcp_header_name", "" },
    { { VERSION, "Mcp-Method", "tasks/get", "Mcp-Name", "T" },
      "mcp_header_method", "tasks/get" },
    { { VERSION, "Mcp-Method", "tools/call", "Mcp-Name", "tasks/get" },
      "mcp_header_name", "tasks/get" },

    /* a header occurs twice: the variable is empty, except if the header is an
     * Mcp-Param header whose values are equal after decoding */

    { { VERSION, "Mcp-Name", "echo", "mcp-name", "echo" }, "mcp_header_name",
      "" },
    { { VERSION, "Mcp-Param-Region", "eu", "Mcp-Param-Region",
        "=?base64?ZXU=?=" }, PARAM, "eu" },
    { { VERSION, "Mcp-Param-Region", "eu", "Mcp-Param-Region", "us" }, PARAM,
      "" },
    { { VERSION, "Mcp-Param-A-B", "eu", "Mcp-Param-A_B", "us" },
      "mcp_param_a_b", "" },
    { { VERSION, "Mcp-Param-Region", "=?base64?=", "Mcp-Param-Region", "eu" },
      PARAM, "" }
};


static void
make(mcp_early_header_t *early, const early_case_t *c)
{
    size_t  n;

    static mcp_header_t  headers[5];

    for (n = 0; n < 5 && c->headers[2 * n]; n++) {
        headers[n].name = test_str(c->headers[2 * n]);
        headers[n].value = test_str(c->headers[2 * n + 1]);
    }

    endpoint.revisions = MCP_REVISION_ALL;

    early->mem = &pool_mem;
    early->endpoint = &endpoint;
    early->headers = headers;
    early->n_headers = n;
}


TEST(variable_has_the_decoded_header_or_is_empty_without_a_valid_header)
{
    size_t              i;
    mcp_early_header_t  early;
    mcp_str_t           value;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(&early, &cases[i]);

        assert_ok(mcp_early_header(&early, test_str(cases[i].variable),
                                   &value));

        if (value.len != strlen(cases[i].value)
            || (value.len > 0
                && memcmp(value.data, cases[i].value, value.len) != 0))
        {
            fail_msg("case %zu: %.*s", i, (int) value.len, value.data);
        }
    }
}


/* All headers that have an effect on these variables begin with
 * MCP_EARLY_HEADER_INITIAL, so that a glue may skip other headers. */
TEST(name_of_each_request_header_with_an_effect_on_a_variable_begins_with_m)
{
    size_t              i, n;
    mcp_early_header_t  early;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(&early, &cases[i]);

        for (n = 0; n < early.n_headers; n++) {
            assert_int_equal(early.headers[n].name.data[0] | 0x20,
                             MCP_EARLY_HEADER_INITIAL);
        }
    }
}


/* The endpoint does not support the revision in the request: the variables are
 * empty. */
TEST(endpoint_lacks_the_revision_of_a_request__the_variables_are_empty)
{
    mcp_early_header_t  early;
    mcp_str_t           value;

    make(&early, &cases[0]);
    endpoint.revisions = mcp_revision_bit(MCP_REVISION_2025_11_25);

    assert_ok(mcp_early_header(&early, mcp_early_header_method, &value));
    assert_int_equal(value.len, 0);
}


static const early_case_t  all = {
    { "Mcp-Param-Region", "eu", "Mcp-Method", "tools/call", VERSION,
      "X-Other", "a", "mcp-param-DRY-run", "=?base64?dHJ1ZQ==?=" },
    NULL, NULL
};


TEST(all_early_header_variables_of_a_request_are_listed_with_their_values)
{
    int                 rc;
    char                text[256], *p;
    size_t              at;
    mcp_early_header_t  early;
    mcp_str_t           variable, value;

    make(&early, &all);

    p = text;
    at = 0;

    while ((rc = mcp_early_header_next(&early, &at, &variable, &value))
           == MCP_OK) {
        p += sprintf(p, "%.*s=%.*s;", (int) variable.len, variable.data,
                     (int) value.len, value.data);
    }

    assert_int_equal(rc, MCP_DONE);
    assert_string_equal(text, "mcp_header_method=tools/call;"
                        "mcp_param_region=eu;mcp_param_dry_run=true;");

    make(&early, &cases[8]);
    at = 0;
    assert_int_equal(mcp_early_header_next(&early, &at, &variable, &value),
                     MCP_DONE);
}


TEST(memory_runs_out__listing_the_variables_of_a_request_fails)
{
    int                 rc;
    size_t              at;
    unsigned            i;
    mcp_early_header_t  early;
    mcp_str_t           variable, value;

    make(&early, &all);

    for (i = 1; i <= 3; i++) {
        pool.fail_at = i;
        at = 0;

        do {
            rc = mcp_early_header_next(&early, &at, &variable, &value);
        } while (rc == MCP_OK);

        assert_int_equal(rc, MCP_ERR_MEMORY);
    }
}


RUN_TESTS(setup, teardown)
