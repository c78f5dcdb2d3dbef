/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Challenges (RFC 9110, 11.6.1). A comma separates both the parameters of one
 * challenge and two challenges: an element that begins with a token and "=" is
 * a parameter, one that begins with a token and a space is a challenge.
 */


#include "http/mcp_http_parse_challenge.h"
#include "http/mcp_http_accept.h"


typedef struct {
    mcp_str_t  line;
    size_t     at;
} mcp_http_reader_t;


static int
mcp_http_reader_is(const mcp_http_reader_t *r, char c)
{
    return r->at < r->line.len && r->line.data[r->at] == c;
}


static void
mcp_http_skip_spaces(mcp_http_reader_t *r)
{
    while (mcp_http_reader_is(r, ' ') || mcp_http_reader_is(r, '\t')) {
        r->at++;
    }
}


/*
 * Removes a token, or a token68 without its final "=", from the beginning of
 * the unread text, and returns it. Returns an empty string if the text begins
 * with neither.
 */
static mcp_str_t
mcp_http_take_word(mcp_http_reader_t *r)
{
    mcp_str_t  word, one;

    word.data = r->line.data + r->at;
    word.len = 0;

    while (r->at < r->line.len) {
        one = (mcp_str_t) { r->line.data + r->at, 1 };

        if (!mcp_http_is_token(one) && one.data[0] != '/') {
            break;
        }

        r->at++;
        word.len++;
    }

    return word;
}


/* Advances r past the value of a parameter: a token or a quoted string. Returns
 * MCP_OK or MCP_ERR_SYNTAX. */
static int
mcp_http_take_value(mcp_http_reader_t *r)
{
    if (!mcp_http_reader_is(r, '"')) {
        return mcp_http_take_word(r).len ? MCP_OK : MCP_ERR_SYNTAX;
    }

    for (r->at++; r->at < r->line.len; r->at++) {

        if (r->line.data[r->at] == '"') {
            r->at++;
            return MCP_OK;
        }

        if (r->line.data[r->at] == '\\') {
            r->at++;
        }
    }

    return MCP_ERR_SYNTAX;
}


/*
 * Reads "= value" after the name of a parameter.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no "=", or only "=" up to the end of the
 *                      element, as at the end of a token68; r is unchanged
 *   MCP_ERR_SYNTAX
 */
static int
mcp_http_take_assignment(mcp_http_reader_t *r)
{
    int                rc;
    mcp_http_reader_t  ahead;

    ahead = *r;

    mcp_http_skip_spaces(&ahead);

    if (!mcp_http_reader_is(&ahead, '=')) {
        return MCP_ERR_NOT_FOUND;
    }

    ahead.at++;
    mcp_http_skip_spaces(&ahead);

    if (ahead.at == ahead.line.len || mcp_http_reader_is(&ahead, ',')
        || mcp_http_reader_is(&ahead, '='))
    {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_http_take_value(&ahead);

    if (rc == MCP_OK) {
        *r = ahead;
    }

    return rc;
}


static void
mcp_http_note_param(mcp_http_challenge_t *c, mcp_str_t name, size_t end)
{
    c->params = 1;
    c->end = end;

    if (mcp_str_case_eq(name, mcp_str("resource_metadata"))) {
        c->metadata = 1;

    } else if (mcp_str_case_eq(name, mcp_str("scope"))) {
        c->scope = 1;

    } else if (mcp_str_case_eq(name, mcp_str("error"))) {
        c->error = 1;
    }
}


/*
 * Reads the part of a challenge between its scheme and the next comma: its
 * first parameter, its token68, or nothing. c is NULL unless the challenge is
 * the first Bearer challenge. Returns MCP_OK, or MCP_ERR_SYNTAX, also if the
 * first Bearer challenge has a token68.
 */
static int
mcp_http_take_first(mcp_http_reader_t *r, mcp_http_challenge_t *c)
{
    int        rc;
    mcp_str_t  word;

    mcp_http_skip_spaces(r);

    if (r->at == r->line.len || mcp_http_reader_is(r, ',')) {
        return MCP_OK;
    }

    word = mcp_http_take_word(r);
    rc = word.len ? mcp_http_take_assignment(r) : MCP_ERR_SYNTAX;

    if (rc == MCP_OK && c) {
        mcp_http_note_param(c, word, r->at);
    }

    if (rc != MCP_ERR_NOT_FOUND) {
        return rc;
    }

    while (mcp_http_reader_is(r, '=')) {
        r->at++;
    }

    return c ? MCP_ERR_SYNTAX : MCP_OK;
}


/*
 * Reads one element of the list: a challenge, or a further parameter of the
 * previous challenge. *in is 1 while the previous challenge is the first Bearer
 * challenge. Sets *found to 1 when that challenge begins. Returns MCP_OK or
 * MCP_ERR_SYNTAX.
 */
static int
mcp_http_take_element(mcp_http_reader_t *r, mcp_http_challenge_t *c, int *in,
    int *found)
{
    int        rc;
    mcp_str_t  word;

    word = mcp_http_take_word(r);
    if (word.len == 0) {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_http_take_assignment(r);

    if (rc == MCP_OK && *in) {
        mcp_http_note_param(c, word, r->at);
    }

    if (rc != MCP_ERR_NOT_FOUND) {
        return rc;
    }

    *in = !*found && mcp_str_case_eq(word, mcp_str("Bearer"));

    if (*in) {
        *found = 1;
        c->end = r->at;
    }

    return mcp_http_take_first(r, *in ? c : NULL);
}


int
mcp_http_bearer(mcp_str_t line, mcp_http_challenge_t *challenge)
{
    int                in, found;
    mcp_http_reader_t  r;

    memset(challenge, 0, sizeof(mcp_http_challenge_t));

    r.line = line;
    r.at = 0;
    in = 0;
    found = 0;

    for ( ;; ) {
        while (mcp_http_reader_is(&r, ' ') || mcp_http_reader_is(&r, '\t')
               || mcp_http_reader_is(&r, ','))
        {
            r.at++;
        }

        if (r.at == line.len) {
            return found ? MCP_OK : MCP_ERR_NOT_FOUND;
        }

        if (mcp_http_take_element(&r, challenge, &in, &found) != MCP_OK) {
            return MCP_ERR_SYNTAX;
        }

        mcp_http_skip_spaces(&r);

        if (r.at < line.len && !mcp_http_reader_is(&r, ',')) {
            return MCP_ERR_SYNTAX;
        }
    }
}
