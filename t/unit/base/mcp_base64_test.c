/* SPDX-License-Identifier: Apache-2.0 */

/* Both alphabets of base64; each value has exactly one valid text. */


#include "test_env.h"
#include "base/mcp_base64.h"


static const struct {
    const char  *plain;
    const char  *url;
    const char  *standard;
} vectors[] = {
    { "", "", "" },
    { "f", "Zg", "Zg==" },
    { "fo", "Zm8", "Zm8=" },
    { "foo", "Zm9v", "Zm9v" },
    { "foob", "Zm9vYg", "Zm9vYg==" },
    { "fooba", "Zm9vYmE", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy", "Zm9vYmFy" },
    { "\xff\xef\xfe\xfb", "_-_--w", "/+/++w==" },
};


static const struct {
    const char  *text;
    int          rc;
} refused[] = {
    { "A", MCP_ERR_SYNTAX },
    { "AAAAA", MCP_ERR_SYNTAX },
    { "Zg==", MCP_ERR_SYNTAX },
    { "Zm8=", MCP_ERR_SYNTAX },
    { "Zh", MCP_ERR_SYNTAX },          /* the last character has bits that
                                          belong to no byte */
    { "Zm9", MCP_ERR_SYNTAX },
    { "Z g", MCP_ERR_SYNTAX },
    { "Zm9\n", MCP_ERR_SYNTAX },
    { "+/AA", MCP_ERR_SYNTAX },
    { "Zm9vYmFyZm9v", MCP_ERR_LIMIT },
};

/* Invalid texts in the standard alphabet. */
static const char *const  refused_standard[] = {
    "A", "AA", "AAA", "AAAAA", "AAAAAA", "Zg", "Zm8", "Zm9vY",
    "=", "==", "===", "====", "Z===", "Zg=", "Zg===", "Zm9v=", "Zm9v====",
    "Z=g=", "Zg=v", "=Zg=", "Zm8==", "Zg==Zg==", "Zm8=Zg==",
    "Zh==", "Zi==", "Zm9=", "Zm+=",
    "-_AA", "Zm9 ", " Zm9", "Zm\n9", "Zm9v\n", "Zm.v", "SGVs!!!b"
};


TEST(texts_are_encoded_and_decoded_in_both_alphabets_of_base64)
{
    char           text[32], *end;
    size_t         i, len, n;
    unsigned char  out[32];

    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        n = strlen(vectors[i].plain);

        end = mcp_base64url_encode(text, vectors[i].plain, n);
        assert_int_equal(end - text, mcp_base64url_len(n));
        assert_int_equal(end - text, strlen(vectors[i].url));
        assert_memory_equal(text, vectors[i].url, end - text);

        end = mcp_base64_encode(text, vectors[i].plain, n);
        assert_int_equal(end - text, mcp_base64_len(n));
        assert_int_equal(end - text, strlen(vectors[i].standard));
        assert_memory_equal(text, vectors[i].standard, end - text);

        assert_ok(mcp_base64url_decode(test_str(vectors[i].url), out, n, &len));
        assert_int_equal(len, n);
        assert_int_equal(mcp_base64url_decoded_len(strlen(vectors[i].url)), n);
        assert_memory_equal(out, vectors[i].plain, n);

        assert_ok(mcp_base64_decode(test_str(vectors[i].standard), out, n,
                                    &len));
        assert_int_equal(len, n);
        assert_memory_equal(out, vectors[i].plain, n);

        if (n > 0) {
            assert_int_equal(mcp_base64_decode(test_str(vectors[i].standard),
                                               out, n - 1, &len),
                             MCP_ERR_LIMIT);
            assert_int_equal(mcp_base64url_decode(test_str(vectors[i].url),
                                                  out, n - 1, &len),
                             MCP_ERR_LIMIT);
        }
    }
}


TEST(malformed_base64_is_rejected)
{
    size_t         i, len;
    unsigned char  out[8];

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(mcp_base64url_decode(test_str(refused[i].text), out,
                                              sizeof(out), &len),
                         refused[i].rc);
    }

    for (i = 0; i < sizeof(refused_standard) / sizeof(refused_standard[0]);
         i++)
    {
        if (mcp_base64_decode(test_str(refused_standard[i]), out, sizeof(out),
                              &len)
            != MCP_ERR_SYNTAX)
        {
            fail_msg("%s", refused_standard[i]);
        }
    }
}


/* If a text of two characters can be decoded, the encoder makes the same text
 * from the decoded byte. */
TEST(each_byte_has_exactly_one_base64_text_without_padding)
{
    int            a, b, good;
    char           text[2], again[4];
    size_t         len;
    unsigned char  out[1];
    mcp_str_t      s = { text, 2 };

    good = 0;

    for (a = 0; a < 256; a++) {
        for (b = 0; b < 256; b++) {
            text[0] = (char) a;
            text[1] = (char) b;

            if (mcp_base64url_decode(s, out, 1, &len) != MCP_OK) {
                continue;
            }

            good++;
            assert_ptr_equal(mcp_base64url_encode(again, out, 1), again + 2);
            assert_memory_equal(again, text, 2);
        }
    }

    assert_int_equal(good, 256);
}


/* If a text of two characters followed by "==" can be decoded, the encoder
 * with padding makes the same text from the decoded byte. */
TEST(each_byte_has_exactly_one_base64_text_with_padding)
{
    int            a, b, good;
    char           text[4], again[4];
    size_t         len;
    unsigned char  out[1];
    mcp_str_t      s = { text, 4 };

    good = 0;
    text[2] = text[3] = '=';

    for (a = 0; a < 256; a++) {
        for (b = 0; b < 256; b++) {
            text[0] = (char) a;
            text[1] = (char) b;

            if (mcp_base64_decode(s, out, 1, &len) != MCP_OK) {
                continue;
            }

            good++;
            assert_ptr_equal(mcp_base64_encode(again, out, 1), again + 4);
            assert_memory_equal(again, text, 4);
        }
    }

    assert_int_equal(good, 256);
}


RUN_TESTS(NULL, NULL)
