/* SPDX-License-Identifier: Apache-2.0 */

/*
 * URI templates.  The input is a template, LF, and a URI.  An accepted
 * template must match its own expansion by a client.
 */


#include "fuzz_env.h"

#include "base/mcp_match.h"


/* maximum length of an expansion, because longer ones may exceed the match
 * limit */
#define EXPANDED_MAX  48


/* Expands one expression: with the value "v" for the first variable, or
 * without any value if "defined" is 0. */
static char *
expand_one(char *p, const char *expr, size_t len, int defined)
{
    size_t  name;

    switch (*expr) {

    case '.':
    case '/':
    case '#':
        if (defined) {
            *p++ = *expr;
            *p++ = 'v';
        }
        break;

    case ';':
    case '?':
    case '&':
        if (!defined) {
            break;
        }

        *p++ = *expr;

        for (name = 1; name < len && expr[name] != ',' && expr[name] != ':'
                       && expr[name] != '*'; name++)
        {
            *p++ = expr[name];
        }

        *p++ = '=';
        *p++ = 'v';
        break;

    default:
        /* no operator, or "+": this project requires that the expansion is not
         * empty */
        *p++ = 'v';
    }

    return p;
}


static void
expand(const mcp_match_t *match, mcp_str_t t, int defined)
{
    char         uri[EXPANDED_MAX * 3], *p;
    size_t       i;
    const char  *close;

    p = uri;

    for (i = 0; i < t.len; i++) {
        if (t.data[i] != '{') {
            *p++ = t.data[i];
            continue;
        }

        close = memchr(t.data + i, '}', t.len - i);
        must(close != NULL);

        p = expand_one(p, t.data + i + 1,
                       (size_t) (close - t.data) - i - 1, defined);
        i = (size_t) (close - t.data);
    }

    must(mcp_match(match, (mcp_str_t) { uri, (size_t) (p - uri) }));
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int           rc;
    char          error[96];
    mcp_str_t     t, uri;
    const char   *eol;
    mcp_match_t  *match;

    t.data = (const char *) data;
    eol = size > 0 ? memchr(data, '\n', size) : NULL;
    t.len = eol ? (size_t) (eol - t.data) : size;

    uri.data = eol ? eol + 1 : "";
    uri.len = eol ? size - t.len - 1 : 0;

    rc = mcp_match_create_template(&fuzz_mem, t, &match, error, sizeof(error));

    if (rc != MCP_OK) {
        must(rc == MCP_ERR_CONFIG);
        must(memchr(error, '\0', sizeof(error)) != NULL && error[0] != '\0');

    } else {
        (void) mcp_match(match, uri);

        if (t.len <= EXPANDED_MAX) {
            expand(match, t, 1);
            expand(match, t, 0);
        }

        mcp_match_free(match);
    }

    /* t as an exact string instead of a template */

    if (t.len > 0 && t.data[0] != '~') {
        must(mcp_match_create(&fuzz_mem, t, &match, error, sizeof(error))
             == MCP_OK);
        must(mcp_match(match, t) == 1);
        must(mcp_match(match, uri) == mcp_str_eq(t, uri));
        mcp_match_free(match);
    }

    return 0;
}
