/* SPDX-License-Identifier: Apache-2.0 */

/* The scanner of messages: accepted and rejected bytes at each position, and
 * the position of the error. */


#include "memory_cases.h"
#include "base/mcp_str.h"
#include "json_cases.h"
#include "json_scans.h"


#define DEPTH  200

/* The value that scan() returns for a text that is JSON. */
#define FINE   SIZE_MAX


/* Scans a copy of exactly the right size with both parsers, which must return
 * the same. Returns the position of the error, or FINE. */
static size_t
scan(mcp_str_t text)
{
    int               rc[JSON_SCANS];
    char             *copy;
    size_t            s;
    mcp_arena_t       arena;
    mcp_json_error_t  error[JSON_SCANS];
    mcp_json_value_t  root;

    test_mem_init(&tm);

    copy = malloc(text.len ? text.len : 1);
    memcpy(copy, text.data, text.len);

    for (s = 0; s < JSON_SCANS; s++) {
        mcp_arena_init(&arena, &tm.mem);
        rc[s] = json_scans[s](&arena, (mcp_str_t) { copy, text.len }, DEPTH,
                              NULL, 0, &root, NULL, &error[s]);
        mcp_arena_destroy(&arena);
    }

    free(copy);

    assert_int_equal(rc[0], rc[1]);
    assert_int_equal(error[0].problem, error[1].problem);
    assert_int_equal(tm.live, 0);

    return rc[0] == MCP_OK ? FINE : error[0].offset;
}


/* Returns 1 if a text is accepted. */
static int
accepted(mcp_str_t text)
{
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    (void) scan(text);

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    /* no allocation is needed */

    tm.fail_at = 1;

    return mcp_json_scan(&arena, text, 100, NULL, 0, &root, NULL, NULL)
           == MCP_OK;
}


TEST(valid_json_texts_are_accepted_and_invalid_json_texts_are_rejected)
{
    size_t  i;

    for (i = 0; i < sizeof(json_accepted) / sizeof(json_case_t); i++) {
        if (!accepted(json_accepted[i].text)) {
            fail_msg("refused: %s", json_accepted[i].name);
        }
    }

    for (i = 0; i < sizeof(json_refused) / sizeof(json_case_t); i++) {
        if (accepted(json_refused[i].text)) {
            fail_msg("accepted: %s", json_refused[i].name);
        }
    }
}


/* Each byte at each position of strings with up to two blocks of bytes, which
 * the scanner compares at once. */
TEST(invalid_byte_in_a_string_is_found_at_each_position)
{
    char      text[48];
    size_t    len, at, wrong;
    unsigned  c;

    for (len = 1; len < 36; len++) {
        for (at = 0; at < len; at++) {
            for (c = 0; c < 256; c++) {
                memset(text, 'x', sizeof(text));
                text[0] = '"';
                text[len + 1] = '"';
                text[at + 1] = (char) c;

                /* the error is at the byte itself; for a quote or a backslash,
                 * it is at the byte behind it, or behind the final quote if
                 * the backslash escapes that quote */

                wrong = at + 1 + (c == '"' || c == '\\')
                        + (c == '\\' && at == len - 1);

                if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
                    wrong = FINE;
                }

                assert_true(scan((mcp_str_t) { text, len + 2 }) == wrong);
            }
        }
    }
}


/* Characters of two to four bytes, complete and cut off, at each position. */
TEST(incomplete_character_in_a_string_is_found_at_each_position)
{
    char         text[40];
    size_t       at, i, k, len;
    static const char  *const characters[] = {
        "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf"
    };

    for (at = 1; at < 20; at++) {
        for (i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
            len = strlen(characters[i]);

            for (k = 1; k <= len; k++) {
                memset(text, 'x', sizeof(text));
                text[0] = '"';
                memcpy(text + at, characters[i], k);
                text[at + k] = '"';

                assert_true(scan((mcp_str_t) { text, at + k + 1 })
                            == (k == len ? FINE : at));

                /* the text ends within the character, or with it */

                assert_int_equal(scan((mcp_str_t) { text, at + k }),
                                 k == len ? at + k : at);
            }
        }
    }
}


static const struct {
    const char  *text;
    size_t       offset;
} places[] = {
    { "", 0 },
    { "[1 2]", 3 },
    { "[1,]", 3 },
    { "[tru]", 4 },
    { "[nul", 4 },
    { "[01]", 2 },
    { "[-]", 2 },
    { "[1.]", 3 },
    { "[1e+]", 4 },
    { "{\"a\" 1}", 5 },
    { "{\"a\":1,}", 7 },
    { "{a", 1 },
    { "{} x", 3 },
    { "[}", 1 },
    { "[\"\\x\"]", 3 },
    { "[\"\\u12g4\"]", 6 },
    { "[\"\\", 3 },
    { "[\"\\u12", 6 },
    { "[\"a\nb\"]", 3 },
    { "[\"a\xe2\x82\"]", 3 },
    { "[\"a", 3 },
    { "\v1", 0 },
};


TEST(error_has_the_offset_of_the_first_wrong_byte)
{
    size_t  i;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(scan(test_str(places[i].text)), places[i].offset);
    }
}


/* Memory is allocated only if the depth exceeds 128, for which the parser has
 * a stack without allocation. The memory is freed with the arena. */
TEST(memory_is_allocated_only_for_json_of_more_than_128_levels)
{
    int               rc;
    char              text[2 * DEPTH];
    size_t            depth;
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    for (depth = 1; depth <= DEPTH; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);

        test_mem_init(&tm);
        tm.fail_at = 1;
        mcp_arena_init(&arena, &tm.mem);

        rc = mcp_json_scan(&arena, (mcp_str_t) { text, 2 * depth }, DEPTH,
                           NULL, 0, &root, NULL, NULL);

        assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);
        assert_int_equal(tm.failed, depth > 128);
        assert_int_equal(root.type, tm.failed ? MCP_JSON_NONE
                                              : MCP_JSON_ARRAY);

        rc = mcp_json_scan(&arena, (mcp_str_t) { text, 2 * depth }, DEPTH,
                           NULL, 0, &root, NULL, NULL);
        assert_ok(rc);

        mcp_arena_destroy(&arena);
        assert_int_equal(tm.live, 0);
    }
}


RUN_TESTS(init, done)
