/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <time.h>

#include "test_env.h"

#include "base/mcp_str.h"


static test_mem_t  tm;


static void
is(uint64_t ms, const char *text)
{
    mcp_buf_t  buf;
    mcp_str_t  written;

    mcp_buf_init(&buf, &tm.mem, 64);
    mcp_time_write(&buf, ms);
    written = (mcp_str_t) { buf.data, buf.len };
    assert_str_is(written, text);
    mcp_buf_free(&buf);
}


TEST(times_are_printed_in_utc_with_milliseconds)
{
    test_mem_init(&tm);
    is(0, "1970-01-01T00:00:00.000Z");
    is(951782400000, "2000-02-29T00:00:00.000Z");
    is(1785229500250, "2026-07-28T09:05:00.250Z");
    is(4107542399999, "2100-02-28T23:59:59.999Z");
    is(4107542400000, "2100-03-01T00:00:00.000Z");
    is(253402300799999, "9999-12-31T23:59:59.999Z");
    is(UINT64_MAX, "9999-12-31T23:59:59.999Z");
}


/* Each day of four centuries, compared with the C library. */
TEST(each_day_of_four_centuries_is_printed_as_strftime_prints_it)
{
    int        day;
    char       text[40];
    time_t     seconds;
    struct tm  broken;

    test_mem_init(&tm);

    for (day = 0; day < 146097; day++) {
        seconds = (time_t) day * 86400 + day % 86400;
        assert_non_null(gmtime_r(&seconds, &broken));
        assert_int_not_equal(strftime(text, sizeof(text),
                                      "%Y-%m-%dT%H:%M:%S.007Z", &broken), 0);
        is((uint64_t) seconds * 1000 + 7, text);
    }
}


RUN_TESTS(NULL, NULL)
