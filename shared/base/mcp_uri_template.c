/* SPDX-License-Identifier: Apache-2.0 */

/* URI templates (RFC 6570) as regular expressions. */


#include <stdio.h>

#include "base/mcp_uri_template.h"


/*
 * The characters of an expanded value. Control characters are not part of any
 * URI.
 */
#define MCP_URI_ANY       "[^\\x00-\\x1f\\x7f]"
#define MCP_URI_SEGMENT   "[^/?#\\x00-\\x1f\\x7f]"
#define MCP_URI_PARAM     "[^/?#;\\x00-\\x1f\\x7f]"
#define MCP_URI_QUERY     "[^&#\\x00-\\x1f\\x7f]"


/* One expression of a template. */
typedef struct {
    char        op;            /* 0 if none */
    unsigned    explode:1;     /* 1: one of the variables has "*" */
    size_t      n;             /* number of variables */
    mcp_str_t   list;          /* text of the variables, after the operator */
} mcp_uri_expr_t;


size_t
mcp_uri_template_prefix(mcp_str_t uri_template)
{
    size_t  i;

    for (i = 0; i < uri_template.len; i++) {
        if (uri_template.data[i] == '{'
            || (unsigned char) uri_template.data[i] >= 0x80)
        {
            break;
        }
    }

    return i;
}


/*
 * Appends an expression for one literal byte of the template. Every byte
 * except letters and digits is written in hex, so that special characters need
 * no rule of their own. A byte that is not ASCII matches unchanged or
 * percent-encoded, as in expansions (RFC 6570, 3.1).
 */
static void
mcp_uri_add_literal(mcp_buf_t *regex, unsigned char c)
{
    int   n;
    char  text[32];

    if (mcp_is_alnum(c)) {
        n = snprintf(text, sizeof(text), "%c", c);

    } else if (c < 0x80) {
        n = snprintf(text, sizeof(text), "\\x%02x", c);

    } else {
        n = snprintf(text, sizeof(text), "(?:\\x%02x|%%(?i:%02x))", c, c);
    }

    mcp_buf_add(regex, text, (size_t) n);
}


/*
 * Returns 1 if the character is a literal (RFC 6570, 2.1); "'" and a bare "%"
 * are accepted as well.
 */
static int
mcp_uri_is_literal(unsigned char c)
{
    return c > 0x20 && c != 0x7f && memchr("\"<>\\^`{|}", c, 9) == NULL;
}


static int
mcp_uri_is_name(char c)
{
    return mcp_is_alnum((unsigned char) c) || c == '_' || c == '.' || c == '%';
}


/*
 * Checks the modifier after a variable's name and sets *explode. Returns the
 * error, or NULL.
 *
 * A prefix length (":3", level 4) is checked but does not limit the match: it
 * counts characters of the value, which cannot be determined from the
 * expansion.
 */
static const char *
mcp_uri_modifier(mcp_str_t modifier, int *explode)
{
    char    c;
    size_t  digits;

    *explode = 0;

    if (modifier.len == 0) {
        return NULL;
    }

    if (modifier.data[0] == '*') {
        *explode = 1;
        return modifier.len > 1 ? "bad variable modifier" : NULL;
    }

    if (modifier.data[0] != ':') {
        return "bad variable name";
    }

    for (digits = 0; digits + 1 < modifier.len; digits++) {
        c = modifier.data[digits + 1];

        if (c < '0' || c > '9') {
            return "bad prefix length";
        }
    }

    if (digits < 1 || digits > 4 || modifier.data[1] == '0') {
        return "bad prefix length";
    }

    return NULL;
}


/*
 * Removes the first variable from the list; the list's data is NULL after the
 * last one. Returns the variable's error, or NULL.
 */
static const char *
mcp_uri_expr_next(mcp_str_t *list, mcp_str_t *name, int *explode)
{
    size_t       n, len;
    const char  *p, *comma;

    p = list->data;

    comma = memchr(p, ',', list->len);
    len = comma ? (size_t) (comma - p) : list->len;

    list->data = comma ? comma + 1 : NULL;
    list->len = comma ? list->len - len - 1 : 0;

    for (n = 0; n < len && mcp_uri_is_name(p[n]); n++) {
        /* void */
    }

    *name = (mcp_str_t) { p, n };

    if (n == 0) {
        *explode = 0;
        return "bad variable name";
    }

    return mcp_uri_modifier((mcp_str_t) { p + n, len - n }, explode);
}


/* Returns the error of an expression, or NULL. */
static const char *
mcp_uri_expr_parse(mcp_str_t text, mcp_uri_expr_t *e)
{
    int          explode;
    mcp_str_t    list, name;
    const char  *problem;

    memset(e, 0, sizeof(mcp_uri_expr_t));

    if (text.len == 0) {
        return "empty expression";
    }

    if (memchr("=,!@|", text.data[0], 5) != NULL) {
        return "reserved operator";
    }

    if (memchr("+#./;?&", text.data[0], 7) != NULL) {
        e->op = text.data[0];
        text.data++;
        text.len--;
    }

    e->list = text;
    list = text;

    do {
        problem = mcp_uri_expr_next(&list, &name, &explode);
        if (problem != NULL) {
            return problem;
        }

        e->explode |= (explode != 0);
        e->n++;

    } while (list.data != NULL);

    return NULL;
}


/*
 * Appends how often the part before may occur: any number of times if a
 * variable is exploded, otherwise at most once for each variable.
 */
static void
mcp_uri_add_repeat(mcp_buf_t *regex, const mcp_uri_expr_t *e)
{
    if (e->explode) {
        mcp_buf_lit(regex, "*");
        return;
    }

    mcp_buf_lit(regex, "{0,");
    mcp_buf_int(regex, (int64_t) e->n);
    mcp_buf_lit(regex, "}");
}


/*
 * Appends "name=value" for one of the variables. If a variable is exploded,
 * any name is accepted, because the keys of a map replace it.
 */
static void
mcp_uri_add_names(mcp_buf_t *regex, const mcp_uri_expr_t *e)
{
    int         explode;
    size_t      i;
    mcp_str_t   list, name, value;

    value = e->op == ';' ? mcp_str(MCP_URI_PARAM)
                         : mcp_str(MCP_URI_QUERY);

    if (e->explode) {
        mcp_buf_str(regex, value);
        mcp_buf_lit(regex, "*");
        return;
    }

    list = e->list;
    mcp_buf_lit(regex, "(?:");

    while (list.data != NULL) {
        (void) mcp_uri_expr_next(&list, &name, &explode);

        for (i = 0; i < name.len; i++) {
            mcp_uri_add_literal(regex, (unsigned char) name.data[i]);
        }

        if (list.data != NULL) {
            mcp_buf_lit(regex, "|");
        }
    }

    mcp_buf_lit(regex, ")(?:=");
    mcp_buf_str(regex, value);
    mcp_buf_lit(regex, "*)?");
}


/*
 * Appends the pairs of a query: {?a,b} begins a query, {&a,b} continues one.
 */
static void
mcp_uri_add_query(mcp_buf_t *regex, const mcp_uri_expr_t *e)
{
    if (e->op == '?') {
        mcp_buf_lit(regex, "(?:\\?");
        mcp_uri_add_names(regex, e);
    }

    mcp_buf_lit(regex, "(?:&");
    mcp_uri_add_names(regex, e);
    mcp_buf_lit(regex, ")*");

    if (e->op == '?') {
        mcp_buf_lit(regex, ")?");
    }
}


/*
 * Appends the expansions of an expression. Undefined variables disappear
 * together with their prefix (RFC 6570, 2.3), so parts with a prefix are
 * optional.
 */
static void
mcp_uri_add_expr(mcp_buf_t *regex, const mcp_uri_expr_t *e)
{
    switch (e->op) {

    case '+':
        mcp_buf_lit(regex, MCP_URI_ANY "+");
        break;

    case '#':
        mcp_buf_lit(regex, "(?:#" MCP_URI_ANY "*)?");
        break;

    case '.':
        /* values may contain dots, so one part matches all values */
        mcp_buf_lit(regex, "(?:\\." MCP_URI_SEGMENT "*)?");
        break;

    case '/':
        mcp_buf_lit(regex, "(?:/" MCP_URI_SEGMENT "*)");
        mcp_uri_add_repeat(regex, e);
        break;

    case ';':
        mcp_buf_lit(regex, "(?:;");
        mcp_uri_add_names(regex, e);
        mcp_buf_lit(regex, ")");
        mcp_uri_add_repeat(regex, e);
        break;

    case '?':
    case '&':
        mcp_uri_add_query(regex, e);
        break;

    default:
        mcp_buf_str(regex, e->explode ? mcp_str(MCP_URI_ANY "+")
                                      : mcp_str(MCP_URI_SEGMENT "+"));
    }
}


static int
mcp_uri_template_error(char *error, size_t size, const char *problem,
    size_t offset)
{
    (void) snprintf(error, size, "%s in URI template at offset %zu", problem,
                    offset);

    return MCP_ERR_CONFIG;
}


/*
 * Appends the expression whose opening brace is at offset, and sets *end to
 * the closing one. Returns the error of the expression, or NULL.
 */
static const char *
mcp_uri_template_expr(mcp_buf_t *regex, mcp_str_t uri_template, size_t offset,
    size_t *end)
{
    mcp_str_t        text;
    const char      *open, *close, *problem;
    mcp_uri_expr_t   e;

    open = uri_template.data + offset;

    close = memchr(open, '}', uri_template.len - offset);
    if (close == NULL) {
        return "unclosed expression";
    }

    text.data = open + 1;
    text.len = (size_t) (close - text.data);

    problem = mcp_uri_expr_parse(text, &e);

    if (problem == NULL) {
        mcp_uri_add_expr(regex, &e);
        *end = (size_t) (close - uri_template.data);
    }

    return problem;
}


int
mcp_uri_template_regex(mcp_str_t uri_template, mcp_buf_t *regex, char *error,
    size_t size)
{
    size_t          i;
    const char     *problem;
    unsigned char   c;

    for (i = 0; i < uri_template.len; i++) {
        c = (unsigned char) uri_template.data[i];
        problem = NULL;

        if (c == '{') {
            problem = mcp_uri_template_expr(regex, uri_template, i, &i);

        } else if (mcp_uri_is_literal(c)) {
            mcp_uri_add_literal(regex, c);

        } else {
            problem = "invalid character";
        }

        if (problem != NULL) {
            return mcp_uri_template_error(error, size, problem, i);
        }
    }

    if (regex->failed == MCP_ERR_LIMIT) {
        (void) snprintf(error, size, "URI template too long");
        return MCP_ERR_CONFIG;
    }

    return regex->failed;
}
