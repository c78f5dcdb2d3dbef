/* SPDX-License-Identifier: Apache-2.0 */

/* Trace contexts that are passed to backends, and those that are dropped. */


#include "memory_cases.h"

#include "rpc/mcp_trace.h"


#define ID      "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT  "00-" ID "-00f067aa0ba902b7-01"
#define ZEROS   "00000000000000000000000000000000"


static void
variable_is(const mcp_variables_t *variables, mcp_variable_e variable,
    const char *text)
{
    assert_int_equal(variables->value[variable].len, strlen(text));

    if (*text) {
        assert_memory_equal(variables->value[variable].data, text,
                            strlen(text));
    }
}


static void
set(mcp_variables_t *variables, const char *parent, const char *state,
    const char *baggage)
{
    mcp_trace_t  trace;

    trace.parent = (mcp_str_t) { parent, strlen(parent) };
    trace.state = (mcp_str_t) { state, strlen(state) };
    trace.baggage = (mcp_str_t) { baggage, strlen(baggage) };

    memset(variables, 0, sizeof(mcp_variables_t));
    mcp_trace_set(variables, &trace);
}


TEST(invalid_traceparent_is_dropped_together_with_its_tracestate)
{
    size_t           i;
    mcp_variables_t  variables;

    static const struct {
        const char  *text;
        int          good;
    } cases[] = {
        { PARENT, 1 },
        { "cc-" ID "-00f067aa0ba902b7-00", 1 },
        { "cc-" ID "-00f067aa0ba902b7-00-more", 1 },
        { "cc-" ID "-00f067aa0ba902b7-00.more", 0 },
        { PARENT "-more", 0 },
        { PARENT "-", 0 },
        { "ff-" ID "-00f067aa0ba902b7-01", 0 },
        { "00-" ZEROS "-00f067aa0ba902b7-01", 0 },
        { "00-" ID "-0000000000000000-01", 0 },
        { "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", 0 },
        { "00_" ID "-00f067aa0ba902b7-01", 0 },
        { "00-" ID "-00f067aa0ba902b7-0", 0 },
        { "00-" ID "-00f067aa0ba902b7-0g", 0 },
        { " " PARENT, 0 },
        { "", 0 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(&variables, cases[i].text, "a=1", "");
        variable_is(&variables, MCP_VARIABLE_TRACEPARENT,
                cases[i].good ? cases[i].text : "");
        variable_is(&variables, MCP_VARIABLE_TRACESTATE, cases[i].good ? "a=1"
                : "");
    }
}


TEST(invalid_tracestate_is_dropped_and_its_traceparent_is_kept)
{
    char             text[1000], *p;
    size_t           i;
    mcp_variables_t  variables;

    static const struct {
        const char  *text;
        int          good;
    } cases[] = {
        { "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", 1 },
        { "a@b=x y , ,c/d=z", 1 },
        { "A=1", 0 }, { "=1", 0 }, { "a", 0 }, { "a=b=c", 0 },
        { "a=\xc3\xbc", 0 }, { "a=\x01", 0 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(&variables, PARENT, cases[i].text, "");
        variable_is(&variables, MCP_VARIABLE_TRACEPARENT, PARENT);
        variable_is(&variables, MCP_VARIABLE_TRACESTATE,
                cases[i].good ? cases[i].text : "");
    }

    /* tracestate may have 32 members and 512 bytes, and no more */

    for (p = text, i = 0; i < 33; i++) {
        p += sprintf(p, "%sa%02u=1", i ? "," : "", (unsigned) i);
    }

    set(&variables, PARENT, text, "");
    variable_is(&variables, MCP_VARIABLE_TRACESTATE, "");
    text[strlen(text) - 6] = '\0';
    set(&variables, PARENT, text, "");
    variable_is(&variables, MCP_VARIABLE_TRACESTATE, text);

    memset(text, 'x', 513);
    memcpy(text, "a=", 2);
    text[513] = '\0';
    set(&variables, PARENT, text, "");
    variable_is(&variables, MCP_VARIABLE_TRACESTATE, "");
    text[512] = '\0';
    set(&variables, PARENT, text, "");
    variable_is(&variables, MCP_VARIABLE_TRACESTATE, text);
}


TEST(invalid_baggage_is_dropped)
{
    size_t           i;
    mcp_variables_t  variables;

    static const struct {
        const char  *text;
        int          good;
    } cases[] = {
        { "userId=alice,server=DF%2028,isProd=false;p;q=1", 1 },
        { "key1 = value1 ; property", 1 },
        { "a=", 1 },
        { "a", 0 }, { "a=1,", 1 }, { "a=1,,b=2", 0 }, { "a=\"1\"", 0 },
        { "a=1\\2", 0 }, { "a=\n", 0 }, { "(a)=1", 0 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(&variables, "", "a=1", cases[i].text);
        variable_is(&variables, MCP_VARIABLE_TRACESTATE, "");

        if (cases[i].good) {
            variable_is(&variables, MCP_VARIABLE_BAGGAGE,
                    strchr(cases[i].text, '\t') ? "?" : cases[i].text);

        } else {
            variable_is(&variables, MCP_VARIABLE_BAGGAGE, "");
        }
    }
}


/* The traceparent in _meta takes precedence over the header, and then the
 * tracestate in _meta does as well. */
TEST(trace_context_in_meta_takes_precedence_over_the_headers)
{
    char             text[512];
    size_t           i;
    mcp_rpc_t        msg;
    mcp_trace_t      trace;
    mcp_arena_t      arena;
    mcp_variables_t  variables;

    static const struct {
        const char  *meta;
        const char  *parent;
        const char  *state;
        const char  *baggage;
    } cases[] = {
        { "{}", PARENT, "http=1", "from=http" },
        { "{\"traceparent\":\"cc-" ID "-00f067aa0ba902b7-00\"}",
          "cc-" ID "-00f067aa0ba902b7-00", "", "from=http" },
        { "{\"tracestate\":\"meta=1\",\"a\":[1],"
          "\"traceparent\":\"cc-" ID "-00f067aa0ba902b7-00\"}",
          "cc-" ID "-00f067aa0ba902b7-00", "meta=1", "from=http" },
        { "{\"traceparent\":\"no\",\"tracestate\":\"meta=1\","
          "\"baggage\":\"from=m\\u0065ta\"}",
          PARENT, "http=1", "from=meta" },
        { "{\"traceparent\":1,\"tracestate\":null,\"baggage\":[]}",
          PARENT, "http=1", "from=http" }
    };

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(&variables, PARENT, "http=1", "from=http");
        snprintf(text, sizeof(text),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\","
                 "\"params\":{\"_meta\":%s}}", cases[i].meta);
        assert_ok(mcp_rpc_parse(&arena, test_str(text), 8, MCP_RPC_FROM_CLIENT,
                                &msg));
        mcp_trace_of_meta(&trace, &arena, &msg);
        mcp_trace_set(&variables, &trace);
        variable_is(&variables, MCP_VARIABLE_TRACEPARENT, cases[i].parent);
        variable_is(&variables, MCP_VARIABLE_TRACESTATE, cases[i].state);
        variable_is(&variables, MCP_VARIABLE_BAGGAGE, cases[i].baggage);
    }

    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)
