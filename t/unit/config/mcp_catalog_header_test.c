/* SPDX-License-Identifier: Apache-2.0 */

/* "x-mcp-header" (2026-07-28, server/tools): accepted annotations, and the
 * messages for rejected ones. */


#include "catalog_cases.h"


#define REGION  "{\"type\":\"string\",\"x-mcp-header\":\"Region\"}"


/* Returns a catalog with one tool "t", whose inputSchema has these members. */
static char *
tool(const char *members)
{
    size_t  size;
    char   *text;

    size = strlen(members) + 128;

    text = malloc(size);
    assert_non_null(text);

    snprintf(text, size, "{\"tools\":[{\"name\":\"t\",\n\"inputSchema\":"
             "{\"type\":\"object\",\n%s}}]}", members);

    return text;
}


/* Returns the headers of a tool as "name=a/b,...". */
static const char *
headers_of(const mcp_catalog_t *catalog, const char *name)
{
    size_t                       i, k, n;
    const mcp_catalog_header_t  *h;

    static char  text[4096], *p;

    h = mcp_catalog_headers(catalog, test_str(name), &n);
    assert_int_equal(h == NULL, n == 0);

    p = text;
    *p = '\0';

    for (i = 0; i < n; i++) {
        p += sprintf(p, "%s%.*s=", i ? "," : "", (int) h[i].name.len,
                     h[i].name.data);

        for (k = 0; k < h[i].depth; k++) {
            p += sprintf(p, "%s%.*s", k ? "/" : "", (int) h[i].path[k].len,
                         h[i].path[k].data);
        }
    }

    return text;
}


TEST(valid_x_mcp_header_annotations_become_headers_of_the_tool)
{
    static const struct {
        const char  *members;
        const char  *headers;
    } cases[] = {
        { "\"properties\":{}", "" },
        { "\"properties\":{\"a\":{\"type\":\"string\"}}", "" },
        { "\"properties\":{\"region\":" REGION "}", "Region=region" },
        { "\"properties\":{\"a\":{\"x-mcp-header\":\"A\",\"type\":\"integer\"},"
          "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}}", "A=a,B=b" },
        { "\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{\"b\":"
          "{\"properties\":{\"c\":" REGION "}},\"d\":{\"type\":\"string\","
          "\"x-mcp-header\":\"D\"}}}}", "Region=a/b/c,D=a/d" },

        /* a header name may be any token; keys and values may contain
         * escapes */

        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"!#$%&'*+-.^_`|~09azAZ\"}}",
          "!#$%&'*+-.^_`|~09azAZ=a" },
        { "\"pr\\u006fperties\":{\"\\u0061\":{\"t\\u0079pe\":\"str\\u0069ng\","
          "\"x-mcp-h\\u0065ader\":\"\\u0041\"}}", "A=a" },

        /* "x-mcp-header" as the name of a property, or within a value: no
         * annotation */

        { "\"properties\":{\"x-mcp-header\":" REGION "}",
          "Region=x-mcp-header" },
        { "\"properties\":{\"items\":" REGION ",\"$defs\":{\"properties\":{"
          "\"properties\":{\"type\":\"string\",\"x-mcp-header\":\"P\"}}}}",
          "Region=items,P=$defs/properties" },
        { "\"properties\":{\"a\":{\"default\":{\"x-mcp-header\":1},"
          "\"const\":{\"x-mcp-header\":1},\"enum\":[{\"x-mcp-header\":1}],"
          "\"examples\":[{\"x-mcp-header\":1}]}}", "" },
        { "\"required\":[\"x-mcp-header\"],"
          "\"dependentRequired\":{\"x-mcp-header\":[\"a\"]},"
          "\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}},"
          "\"patternProperties\":{\"x-mcp-header\":true}", "" },

        /* members of "properties" that are not schemas, and other keywords
         * beside an annotated property: accepted */

        { "\"properties\":{\"a\":true,\"b\":" REGION "},\"items\":false,"
          "\"oneOf\":[{\"properties\":{\"b\":{\"minLength\":1}}}]",
          "Region=b" },
        { "\"properties\":[" REGION "]", "" },
        { "\"properties\":{\"\":" REGION "}", "Region=" },
        { "\"properties\":{\"a\":{\"$ref\":\"#/$defs/a\",\"type\":\"string\","
          "\"x-mcp-header\":\"A\"}},\"$defs\":{\"a\":{\"minLength\":1}}",
          "A=a" }
    };

    char           *text;
    size_t          i;
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        text = tool(cases[i].members);
        catalog = catalog_create(text);

        assert_string_equal(headers_of(catalog, "t"), cases[i].headers);

        free(text);
    }
}


#define ELSEWHERE                                                             \
    "line 3: \"x-mcp-header\" is allowed only in a property, at "             \
    "any depth, but not within other keywords of the schema, such as \"items\""
#define TYPE                                                                  \
    "line 3: \"x-mcp-header\" is allowed only for properties of the type string, integer " \
    "or boolean"
#define TOKEN  "line 3: \"x-mcp-header\" must be a token (RFC 9110, 5.6.2)"
#define TWICE                                                                 \
    "line 3: \"x-mcp-header\", or a key on the path to it, occurs twice"
#define DUPLICATE                                                             \
    "two properties of the tool have the same \"x-mcp-header\" (upper and "    \
    "lower case are equal, and so are \"-\" and \"_\"):"


TEST(invalid_x_mcp_header_annotation_is_rejected_with_the_reason)
{
    static const struct {
        const char  *members;
        const char  *error;
    } cases[] = {
        { "\"x-mcp-header\":\"A\"", ELSEWHERE },
        { "\"items\":" REGION, ELSEWHERE },
        { "\"items\":[" REGION "]", ELSEWHERE },
        { "\"prefixItems\":[" REGION "]", ELSEWHERE },
        { "\"contains\":" REGION, ELSEWHERE },
        { "\"additionalProperties\":" REGION, ELSEWHERE },
        { "\"unevaluatedProperties\":" REGION, ELSEWHERE },
        { "\"unevaluatedItems\":" REGION, ELSEWHERE },
        { "\"propertyNames\":" REGION, ELSEWHERE },
        { "\"patternProperties\":{\"^a\":" REGION "}", ELSEWHERE },
        { "\"dependentSchemas\":{\"a\":" REGION "}", ELSEWHERE },
        { "\"dependencies\":{\"a\":" REGION "}", ELSEWHERE },
        { "\"oneOf\":[" REGION "]", ELSEWHERE },
        { "\"anyOf\":[{},{\"properties\":{\"a\":" REGION "}}]", ELSEWHERE },
        { "\"allOf\":[" REGION "]", ELSEWHERE },
        { "\"not\":" REGION, ELSEWHERE },
        { "\"if\":" REGION, ELSEWHERE },
        { "\"then\":{\"properties\":{\"a\":" REGION "}}", ELSEWHERE },
        { "\"else\":" REGION, ELSEWHERE },
        { "\"$defs\":{\"a\":" REGION "}", ELSEWHERE },
        { "\"definitions\":{\"a\":" REGION "}", ELSEWHERE },
        { "\"contentSchema\":" REGION, ELSEWHERE },
        { "\"x-vendor\":{\"deep\":[[" REGION "]]}", ELSEWHERE },
        { "\"properties\":{\"a\":{\"type\":\"array\",\"items\":" REGION "}}",
          ELSEWHERE },
        { "\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":" REGION
          "}}}}", ELSEWHERE },

        { "\"properties\":{\"a\":{\"type\":\"object\","
          "\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"type\":\"array\","
          "\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"type\":\"null\","
          "\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"type\":\"number\","
          "\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],"
          "\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}", TYPE },
        { "\"properties\":{\"a\":{\"type\":\"string\",\"type\":\"string\","
          "\"x-mcp-header\":\"A\"}}", TYPE },

        { "\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}",
          TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"a b\"}}", TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"a:\"}}", TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"a\\r\\nB: c\"}}", TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"a\\u0000\"}}", TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"\\u00e4\"}}", TOKEN },
        { "\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":true}}",
          "line 3: \"x-mcp-header\" must be a string" },
        { "\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":null}}",
          "line 3: \"x-mcp-header\" must be a string" },

        { "\"properties\":{\"a\":" REGION ",\n\"b\":" REGION "}",
          "line 4: " DUPLICATE " \"Region\"" },
        { "\"properties\":{\"a\":" REGION ",\"b\":{\"properties\":{\"c\":{"
          "\"type\":\"string\",\"x-mcp-header\":\"rEGION\"}}}}",
          "line 3: " DUPLICATE " \"rEGION\"" },
        { "\"properties\":{\"a\":{\"type\":\"string\","
          "\"x-mcp-header\":\"A-B\"},\"b\":{\"type\":\"string\","
          "\"x-mcp-header\":\"a_b\"}}", "line 3: " DUPLICATE " \"a_b\"" },
        { "\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\","
          "\"x-mcp-header\":\"B\"}}", TWICE },

        /* a key that occurs twice: rejected, because a client that uses the
         * second one would not send the header */

        { "\"properties\":{\"a\":" REGION ",\"a\":{}}", TWICE },
        { "\"properties\":{\"a\":" REGION "},\"properties\":{}", TWICE }
    };

    char           *text, error[256];
    size_t          i;
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        text = tool(cases[i].members);

        if (mcp_catalog_create(&tm.mem, test_str(text), &catalog, error,
                               sizeof(error)) != MCP_ERR_CONFIG)
        {
            fail_msg("%s", text);
        }

        assert_string_equal(error, cases[i].error);
        assert_int_equal(tm.live, 0);
        free(text);
    }
}


/* A tool may have MCP_CATALOG_HEADERS_MAX headers, and no more. */
TEST(more_than_64_x_mcp_headers_in_one_tool_are_rejected)
{
    int             i, n, rc;
    char            text[16384], error[256], *p;
    size_t          count;
    mcp_catalog_t  *catalog;

    for (n = MCP_CATALOG_HEADERS_MAX; n <= MCP_CATALOG_HEADERS_MAX + 1; n++) {
        p = text + sprintf(text, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":"
                           "{\"type\":\"object\",\"properties\":{");

        for (i = 0; i < n; i++) {
            p += sprintf(p, "%s\"p%d\":{\"type\":\"integer\","
                         "\"x-mcp-header\":\"H%d\"}", i ? "," : "", i, i);
        }

        sprintf(p, "}}}]}");

        rc = mcp_catalog_create(&tm.mem, test_str(text), &catalog, error,
                                sizeof(error));

        if (n > MCP_CATALOG_HEADERS_MAX) {
            assert_int_equal(rc, MCP_ERR_CONFIG);
            assert_string_equal(error,
                                "line 1: a tool has more than 64 properties "
                                "with \"x-mcp-header\"");
            continue;
        }

        assert_ok(rc);
        (void) mcp_catalog_headers(catalog, mcp_str("t"), &count);
        assert_int_equal(count, n);
        mcp_catalog_free(catalog);
    }
}


#define TOOLS                                                                 \
    "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\","       \
    "\"properties\":{\"r\":" REGION "}},\"x-mcp-max-wait\":1},"               \
    "{\"name\":\"b\"," SCHEMA "},\n"                                          \
    "{\"name\":\"c\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"   \
    "\"r\":" REGION ",\n\"s\":{\"type\":\"integer\","                         \
    "\"x-mcp-header\":\"S_s\"}}}}]}"


/* Each tool has its own headers, and clients get the annotations. */
TEST(headers_of_two_tools_stay_separate_and_the_list_keeps_x_mcp_header)
{
    size_t          n;
    mcp_catalog_t  *catalog;

    catalog = catalog_create(TOOLS);

    assert_string_equal(headers_of(catalog, "a"), "Region=r");
    assert_string_equal(headers_of(catalog, "b"), "");
    assert_string_equal(headers_of(catalog, "c"), "Region=r,S_s=s");
    assert_null(mcp_catalog_headers(catalog, mcp_str("d"), &n));
    assert_int_equal(n, 0);

    assert_non_null(strstr(page_of(catalog, MCP_LIST_TOOLS, "", 1),
                           "{\"tools\":[{\"name\":\"a\",\"inputSchema\":"
                           "{\"type\":\"object\",\"properties\":{\"r\":" REGION
                           "}}}],"));
}


static int
drops(void *ctx, mcp_str_t name)
{
    return memchr(name.data, *(char *) ctx, name.len) != NULL;
}


TEST(web_server_drops_an_x_mcp_header__the_check_returns_its_name_and_line)
{
    char                         c;
    size_t                       line;
    mcp_catalog_t               *catalog;
    const mcp_catalog_header_t  *header;

    catalog = catalog_create(TOOLS);

    c = '.';
    assert_null(mcp_catalog_header_dropped(catalog, drops, &c, &line));

    c = '_';
    header = mcp_catalog_header_dropped(catalog, drops, &c, &line);
    assert_non_null(header);
    assert_str_is(header->name, "S_s");
    assert_int_equal(line, 3);
}


TEST(memory_runs_out__a_catalog_with_headers_is_not_created)
{
    int             rc;
    char            error[256];
    unsigned long   i;
    mcp_catalog_t  *catalog;

    for (i = 1; ; i++) {
        tm.fail_at = i;

        rc = mcp_catalog_create(&tm.mem, mcp_str(TOOLS), &catalog, error,
                                sizeof(error));

        if (rc == MCP_OK) {
            break;
        }

        assert_int_equal(rc, MCP_ERR_MEMORY);
        assert_int_equal(tm.live, 0);
    }

    mcp_catalog_free(catalog);
}


RUN_TESTS(init, done)
