/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "base/mcp_uri.h"


static const char  mcp_uri_hex[] = "0123456789ABCDEF";


int
mcp_uri_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}


static int
mcp_uri_is_unreserved(unsigned char c)
{
    return mcp_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}


static char
mcp_uri_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}


/* Returns the length of the scheme without its colon, 0 if there is none. */
static size_t
mcp_uri_scheme(mcp_str_t uri)
{
    char    c;
    size_t  i;

    for (i = 0; i < uri.len; i++) {
        c = uri.data[i];

        if (c == ':') {
            return i;
        }

        if (!mcp_is_alnum((unsigned char) c)
            && (i == 0 || (c != '+' && c != '-' && c != '.')))
        {
            return 0;
        }
    }

    return 0;
}


/*
 * Finds the part "host:port" of a URI: sets *start to the offset of its first
 * byte and *end to the offset after its last byte. Both are equal if the URI
 * has no host. "scheme" is the length of the scheme.
 */
static void
mcp_uri_host(mcp_str_t uri, size_t scheme, size_t *start, size_t *end)
{
    size_t  i;

    *start = *end = scheme;

    if (scheme == 0 || uri.len < scheme + 3
        || uri.data[scheme + 1] != '/' || uri.data[scheme + 2] != '/')
    {
        return;
    }

    *start = scheme + 3;

    for (i = *start; i < uri.len && memchr("/?#", uri.data[i], 3) == NULL; i++)
    {
        if (uri.data[i] == '@') {
            *start = i + 1;
        }
    }

    *end = i;
}


/* Writes c to out: an unreserved character (RFC 3986, 2.3) unchanged, or in
 * lower case if "lower" is 1, and all other bytes percent-encoded. Returns the
 * end. */
static char *
mcp_uri_encoded(char *out, unsigned char c, int lower)
{
    if (mcp_uri_is_unreserved(c)) {
        *out++ = lower ? mcp_uri_lower((char) c) : (char) c;
        return out;
    }

    *out++ = '%';
    *out++ = mcp_uri_hex[c >> 4];
    *out++ = mcp_uri_hex[c & 15];

    return out;
}


size_t
mcp_uri_write(char *out, mcp_str_t uri, int is_template)
{
    int          lower, high, low;
    char        *o;
    size_t       i, scheme, host, host_end;
    const char  *p;

    o = out;
    scheme = mcp_uri_scheme(uri);
    mcp_uri_host(uri, scheme, &host, &host_end);

    for (i = 0; i < uri.len; i++) {
        p = uri.data + i;
        lower = i < scheme || (i >= host && i < host_end);

        if (*p == '{' && is_template) {
            while (i < uri.len && uri.data[i] != '}') {
                *o++ = uri.data[i++];
            }

            if (i < uri.len) {
                *o++ = '}';
            }

            continue;
        }

        if (*p == '%' && uri.len - i > 2) {
            high = mcp_uri_digit(p[1]);
            low = mcp_uri_digit(p[2]);

            if (high >= 0 && low >= 0) {
                o = mcp_uri_encoded(o, (unsigned char) (high << 4 | low),
                                    lower);
                i += 2;
                continue;
            }
        }

        if ((*p & 0x80) || *p == '%') {
            o = mcp_uri_encoded(o, (unsigned char) *p, 0);

        } else {
            *o++ = lower ? mcp_uri_lower(*p) : *p;
        }
    }

    return (size_t) (o - out);
}


int
mcp_uri_normal(mcp_arena_t *arena, mcp_str_t uri, mcp_str_t *out)
{
    char    *data;
    size_t   len;

    *out = uri;

    if (uri.len == 0) {
        return MCP_OK;
    }

    data = mcp_arena_alloc(arena, mcp_uri_max(uri.len));
    if (data == NULL) {
        return MCP_ERR_MEMORY;
    }

    len = mcp_uri_write(data, uri, 0);
    *out = (mcp_str_t) { data, len };

    return MCP_OK;
}


/* --- templates --- */

/* URI templates (RFC 6570) as regular expressions. */

/*
 * The characters of an expanded value. Control characters are not part of any
 * URI.
 */
#define MCP_URI_ANY       "[^\\x00-\\x1f\\x7f]"
#define MCP_URI_SEGMENT   "[^/?#\\x00-\\x1f\\x7f]"
#define MCP_URI_PARAM     "[^/?#;\\x00-\\x1f\\x7f]"
#define MCP_URI_QUERY     "[^&#\\x00-\\x1f\\x7f]"


/* One expression ("{...}") of a URI template. */
typedef struct {
    char        op;            /* operator; 0: none */
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
 * Appends a regular expression for one literal byte of the template. Every byte
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
 * Checks the modifier after a variable's name and sets *explode to 1 if it is
 * "*". Returns an error text, or NULL if the modifier is valid.
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
 * Removes the first variable from the list. Sets list->data to NULL if it was
 * the last one. Returns an error text, or NULL if the variable is valid.
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


/* Parses the text between the braces of a template's expression into *e.
 * Returns an error text, or NULL if the expression is valid. */
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
 * Appends the quantifier for the part of the regular expression that matches
 * one variable: "*" if a variable has the modifier "*", otherwise "{0,n}",
 * where n is the number of variables.
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
 * Appends a regular expression for "name=value" with the name of any of the
 * expression's variables. If a variable is exploded, any name is accepted,
 * because an expansion has the keys of a map in place of the variable's name.
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
 * Appends a regular expression for the "name=value" pairs of a query: {?a,b}
 * begins a query, {&a,b} continues one.
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
 * Appends a regular expression that matches the expansions of e. Undefined
 * variables disappear together with their prefix (RFC 6570, 2.3), so parts with
 * a prefix are optional.
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
        /* values may contain dots themselves, so one optional part matches the
         * values of all variables */
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
 * Appends a regular expression for the template's expression whose opening
 * brace is at offset, and sets *end to the offset of its closing brace. Returns
 * an error text, or NULL if the expression is valid.
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
