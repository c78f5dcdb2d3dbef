/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Patterns: exact strings, regular expressions and URI templates, which are
 * translated into regular expressions.  The only file that knows PCRE2.
 *
 * Compiled patterns are constant: any number of threads may match with the
 * same one.  What a match needs of its own stands on the stack, so matching
 * allocates nothing, neither from mem nor behind it.
 */


#define PCRE2_CODE_UNIT_WIDTH  8

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#include <pcre2.h>

#include "base/mcp_match.h"


/* Some milliseconds: what our patterns and sane ones need is far below. */
#define MCP_MATCH_LIMIT        250000
#define MCP_MATCH_DEPTH_LIMIT  10000

/* Contexts and match data of PCRE2 take about 200 bytes. */
#define MCP_MATCH_ROOM         1024

/* Without JIT (the system may forbid it) the backtracking frames come on
 * top, 20 KiB at first, doubled once: good for 150 repetitions of a group,
 * where the 32 KiB that JIT takes itself are for 1000. */
#define MCP_MATCH_HEAP_KB      40
#define MCP_MATCH_SLOW_ROOM    (MCP_MATCH_ROOM + 62 * 1024)

#define MCP_MATCH_REGEX_MAX    (1024 * 1024)


struct mcp_match_s {
    mcp_mem_t             mem;
    mcp_str_t             literal;     /* the string, or a prefix of it all */
    unsigned              exact:1;
    unsigned              jit:1;
    pcre2_code           *code;
    pcre2_match_context  *limits;
};


typedef struct {
    char    *pos;
    char    *end;
} mcp_match_room_t;


/* Reading a template: what it says of one expression. */
typedef struct {
    char        op;            /* 0 if none */
    unsigned    explode:1;
    size_t      n;             /* variables */
    mcp_str_t   list;          /* what stands behind the operator */
} mcp_match_expr_t;


static int mcp_match_alloc(const mcp_mem_t *mem, mcp_str_t literal,
    mcp_match_t **out);
static int mcp_match_compile(mcp_match_t *match, mcp_str_t regex,
    uint32_t options, size_t skipped, char *error, size_t size);
static int mcp_match_compile_error(int rc, size_t offset, char *error,
    size_t size);
static void *mcp_match_mem_alloc(size_t size, void *ctx);
static void mcp_match_mem_free(void *p, void *ctx);

static int mcp_match_fast(const mcp_match_t *match, mcp_str_t subject);
static int mcp_match_slow(const mcp_match_t *match, mcp_str_t subject);
static int mcp_match_run(const mcp_match_t *match, mcp_str_t subject,
    char *room, size_t size);
static void *mcp_match_room_alloc(size_t size, void *ctx);
static void mcp_match_room_free(void *p, void *ctx);

static size_t mcp_match_template_prefix(mcp_str_t t);
static int mcp_match_template_regex(mcp_buf_t *regex, mcp_str_t t,
    char *error, size_t size);
static void mcp_match_add_literal(mcp_buf_t *regex, unsigned char c);
static int mcp_match_literal_valid(unsigned char c);
static const char *mcp_match_expr_parse(mcp_str_t text, mcp_match_expr_t *e);
static const char *mcp_match_expr_next(mcp_str_t *list, mcp_str_t *name,
    int *explode);
static void mcp_match_add_expr(mcp_buf_t *regex, const mcp_match_expr_t *e);
static void mcp_match_add_repeat(mcp_buf_t *regex, const mcp_match_expr_t *e);
static void mcp_match_add_names(mcp_buf_t *regex, const mcp_match_expr_t *e);
static int mcp_match_config_error(char *error, size_t size, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));


int
mcp_match_create(const mcp_mem_t *mem, mcp_str_t pattern, mcp_match_t **out,
    char *error, size_t size)
{
    int           rc;
    size_t        skipped;
    uint32_t      options;
    mcp_str_t     regex;
    mcp_match_t  *match;

    if (pattern.len == 0) {
        return mcp_match_config_error(error, size, "empty pattern");
    }

    if (pattern.data[0] != '~') {
        rc = mcp_match_alloc(mem, pattern, &match);
        if (rc != MCP_OK) {
            return rc;
        }

        match->exact = 1;
        *out = match;

        return MCP_OK;
    }

    /* "$" is the end, not what stands before a trailing line feed */
    options = PCRE2_DOLLAR_ENDONLY;
    skipped = 1;

    if (pattern.len > 1 && pattern.data[1] == '*') {
        options |= PCRE2_CASELESS;
        skipped = 2;
    }

    regex.data = pattern.data + skipped;
    regex.len = pattern.len - skipped;

    if (regex.len == 0) {
        return mcp_match_config_error(error, size,
                                      "empty regular expression");
    }

    rc = mcp_match_alloc(mem, mcp_null_str, &match);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_match_compile(match, regex, options, skipped, error, size);
    if (rc != MCP_OK) {
        mcp_match_free(match);
        return rc;
    }

    *out = match;

    return MCP_OK;
}


int
mcp_match_create_template(const mcp_mem_t *mem, mcp_str_t uri_template,
    mcp_match_t **out, char *error, size_t size)
{
    int           rc;
    mcp_buf_t     buf;
    mcp_str_t     regex, prefix;
    mcp_match_t  *match;

    if (uri_template.len == 0) {
        return mcp_match_config_error(error, size, "empty URI template");
    }

    match = NULL;
    mcp_buf_init(&buf, mem, MCP_MATCH_REGEX_MAX);

    rc = mcp_match_template_regex(&buf, uri_template, error, size);
    if (rc != MCP_OK) {
        goto done;
    }

    prefix.data = uri_template.data;
    prefix.len = mcp_match_template_prefix(uri_template);

    rc = mcp_match_alloc(mem, prefix, &match);
    if (rc != MCP_OK) {
        goto done;
    }

    regex.data = buf.data;
    regex.len = buf.len;

    rc = mcp_match_compile(match, regex, PCRE2_ANCHORED|PCRE2_ENDANCHORED, 0,
                           error, size);
    if (rc != MCP_OK) {
        mcp_match_free(match);
        goto done;
    }

    *out = match;

done:

    mcp_buf_free(&buf);

    return rc;
}


void
mcp_match_free(mcp_match_t *match)
{
    mcp_mem_t  mem;

    if (match == NULL) {
        return;
    }

    pcre2_match_context_free(match->limits);
    pcre2_code_free(match->code);

    mem = match->mem;
    mem.free(mem.ctx, match);
}


int
mcp_match(const mcp_match_t *match, mcp_str_t subject)
{
    if (match->exact) {
        return mcp_str_eq(match->literal, subject);
    }

    if (match->literal.len > 0
        && (subject.len < match->literal.len
            || memcmp(subject.data, match->literal.data, match->literal.len)
               != 0))
    {
        return 0;
    }

    return match->jit ? mcp_match_fast(match, subject)
                      : mcp_match_slow(match, subject);
}


int
mcp_match_is_exact(const mcp_match_t *match)
{
    return match->exact;
}


/* One block: the structure, then the literal's bytes. */
static int
mcp_match_alloc(const mcp_mem_t *mem, mcp_str_t literal, mcp_match_t **out)
{
    char         *p;
    mcp_match_t  *match;

    match = mem->alloc(mem->ctx, sizeof(mcp_match_t) + literal.len);
    if (match == NULL) {
        return MCP_ERR_MEMORY;
    }

    memset(match, 0, sizeof(mcp_match_t));

    match->mem = *mem;

    if (literal.len > 0) {
        p = (char *) match + sizeof(mcp_match_t);
        memcpy(p, literal.data, literal.len);

        match->literal.data = p;
        match->literal.len = literal.len;
    }

    *out = match;

    return MCP_OK;
}


/* skipped: how many bytes of the operator's text stand before regex. */
static int
mcp_match_compile(mcp_match_t *match, mcp_str_t regex, uint32_t options,
    size_t skipped, char *error, size_t size)
{
    int                     rc;
    size_t                  jit_size;
    PCRE2_SIZE              offset;
    pcre2_compile_context  *compile;
    pcre2_general_context  *general;

    general = pcre2_general_context_create(mcp_match_mem_alloc,
                                           mcp_match_mem_free, &match->mem);
    if (general == NULL) {
        return MCP_ERR_MEMORY;
    }

    compile = pcre2_compile_context_create(general);
    match->limits = pcre2_match_context_create(general);

    pcre2_general_context_free(general);

    if (compile == NULL || match->limits == NULL) {
        pcre2_compile_context_free(compile);
        return MCP_ERR_MEMORY;
    }

    pcre2_set_match_limit(match->limits, MCP_MATCH_LIMIT);
    pcre2_set_depth_limit(match->limits, MCP_MATCH_DEPTH_LIMIT);
    pcre2_set_heap_limit(match->limits, MCP_MATCH_HEAP_KB);

    match->code = pcre2_compile((PCRE2_SPTR) regex.data, regex.len, options,
                                &rc, &offset, compile);

    pcre2_compile_context_free(compile);

    if (match->code == NULL) {
        return mcp_match_compile_error(rc, skipped + offset, error, size);
    }

    /* it succeeds also where the pattern says (*NO_JIT) */

    match->jit = pcre2_jit_compile(match->code, PCRE2_JIT_COMPLETE) == 0
                 && pcre2_pattern_info(match->code, PCRE2_INFO_JITSIZE,
                                       &jit_size) == 0
                 && jit_size > 0;

    return MCP_OK;
}


static int
mcp_match_compile_error(int rc, size_t offset, char *error, size_t size)
{
    PCRE2_UCHAR  text[128];

    if (rc == PCRE2_ERROR_HEAP_FAILED) {
        return MCP_ERR_MEMORY;
    }

    if (pcre2_get_error_message(rc, text, sizeof(text)) < 0) {
        text[0] = '\0';
    }

    return mcp_match_config_error(error, size, "%s at offset %zu",
                                  (char *) text, offset);
}


static void *
mcp_match_mem_alloc(size_t size, void *ctx)
{
    const mcp_mem_t  *mem = ctx;

    return mem->alloc(mem->ctx, size);
}


static void
mcp_match_mem_free(void *p, void *ctx)
{
    const mcp_mem_t  *mem = ctx;

    if (p != NULL) {
        mem->free(mem->ctx, p);
    }
}


static int
mcp_match_fast(const mcp_match_t *match, mcp_str_t subject)
{
    alignas(max_align_t) char  room[MCP_MATCH_ROOM];

    return mcp_match_run(match, subject, room, sizeof(room));
}


static int
mcp_match_slow(const mcp_match_t *match, mcp_str_t subject)
{
    alignas(max_align_t) char  room[MCP_MATCH_SLOW_ROOM];

    return mcp_match_run(match, subject, room, sizeof(room));
}


/* A pattern that runs into a limit or out of room does not match. */
static int
mcp_match_run(const mcp_match_t *match, mcp_str_t subject, char *room,
    size_t size)
{
    int                     rc;
    pcre2_match_data       *data;
    mcp_match_room_t        left;
    pcre2_general_context  *general;

    left.pos = room;
    left.end = room + size;

    general = pcre2_general_context_create(mcp_match_room_alloc,
                                           mcp_match_room_free, &left);
    if (general == NULL) {
        return 0;
    }

    data = pcre2_match_data_create(1, general);
    if (data == NULL) {
        return 0;
    }

    rc = pcre2_match(match->code,
                     (PCRE2_SPTR) (subject.len > 0 ? subject.data : ""),
                     subject.len, 0, 0, data, match->limits);

    pcre2_match_data_free(data);
    pcre2_general_context_free(general);

    /* zero: matched, with more groups than we have room for */
    return rc >= 0;
}


static void *
mcp_match_room_alloc(size_t size, void *ctx)
{
    char              *p;
    mcp_match_room_t  *left = ctx;

    if (size > (size_t) (left->end - left->pos)) {
        return NULL;
    }

    p = left->pos;

    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    left->pos += size < (size_t) (left->end - p) ? size
                                                 : (size_t) (left->end - p);

    return p;
}


static void
mcp_match_room_free(void *p, void *ctx)
{
    (void) p;
    (void) ctx;
}


/* How many bytes at the start stand for themselves only: with it most URIs
 * are told from most templates without running anything. */
static size_t
mcp_match_template_prefix(mcp_str_t t)
{
    size_t  i;

    for (i = 0; i < t.len; i++) {
        if (t.data[i] == '{' || (unsigned char) t.data[i] >= 0x80) {
            break;
        }
    }

    return i;
}


static int
mcp_match_template_regex(mcp_buf_t *regex, mcp_str_t t, char *error,
    size_t size)
{
    size_t             i;
    mcp_str_t          text;
    const char        *close, *problem;
    mcp_match_expr_t   e;

    for (i = 0; i < t.len; i++) {

        if (t.data[i] != '{') {
            if (!mcp_match_literal_valid((unsigned char) t.data[i])) {
                return mcp_match_config_error(error, size,
                    "invalid character in URI template at offset %zu", i);
            }

            mcp_match_add_literal(regex, (unsigned char) t.data[i]);
            continue;
        }

        close = memchr(t.data + i, '}', t.len - i);
        if (close == NULL) {
            return mcp_match_config_error(error, size,
                "unclosed expression in URI template at offset %zu", i);
        }

        text.data = t.data + i + 1;
        text.len = (size_t) (close - text.data);

        problem = mcp_match_expr_parse(text, &e);
        if (problem != NULL) {
            return mcp_match_config_error(error, size,
                "%s in URI template at offset %zu", problem, i);
        }

        mcp_match_add_expr(regex, &e);

        i = (size_t) (close - t.data);
    }

    if (regex->failed == MCP_ERR_LIMIT) {
        return mcp_match_config_error(error, size, "URI template too long");
    }

    return regex->failed ? regex->failed : MCP_OK;
}


/* Every byte but letters and digits in hex: nothing to escape is forgotten.
 * An expansion percent-encodes what is not ASCII (RFC 6570, 3.1). */
static void
mcp_match_add_literal(mcp_buf_t *regex, unsigned char c)
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


/* RFC 6570, 2.1, with "'" and a bare "%" let through. */
static int
mcp_match_literal_valid(unsigned char c)
{
    return c > 0x20 && c != 0x7f && memchr("\"<>\\^`{|}", c, 9) == NULL;
}


/* Returns what is wrong or NULL. */
static const char *
mcp_match_expr_parse(mcp_str_t text, mcp_match_expr_t *e)
{
    int          explode;
    mcp_str_t    list, name;
    const char  *problem;

    memset(e, 0, sizeof(mcp_match_expr_t));

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
        problem = mcp_match_expr_next(&list, &name, &explode);
        if (problem != NULL) {
            return problem;
        }

        e->explode |= (unsigned) explode;
        e->n++;

    } while (list.data != NULL);

    return NULL;
}


/*
 * Takes the first variable off list, whose data is NULL after the last one.
 * A prefix length (":3", level 4) is checked but bounds nothing: what it
 * counts, characters of the value, cannot be seen in the expansion.
 */
static const char *
mcp_match_expr_next(mcp_str_t *list, mcp_str_t *name, int *explode)
{
    size_t       i, digits;
    const char  *p, *comma;

    p = list->data;

    comma = memchr(p, ',', list->len);
    name->data = p;
    name->len = comma ? (size_t) (comma - p) : list->len;

    list->data = comma ? comma + 1 : NULL;
    list->len = comma ? list->len - name->len - 1 : 0;

    *explode = 0;

    for (i = 0; i < name->len; i++) {
        if (!mcp_is_alnum((unsigned char) p[i])
            && p[i] != '_' && p[i] != '.' && p[i] != '%')
        {
            break;
        }
    }

    if (i == 0) {
        return "bad variable name";
    }

    if (i < name->len && p[i] == '*') {
        *explode = 1;

        if (i + 1 < name->len) {
            return "bad variable modifier";
        }

    } else if (i < name->len && p[i] == ':') {
        digits = strspn(p + i + 1, "0123456789");

        if (digits < 1 || digits > 4 || p[i + 1] == '0'
            || i + 1 + digits < name->len)
        {
            return "bad prefix length";
        }

    } else if (i < name->len) {
        return "bad variable name";
    }

    name->len = i;

    return NULL;
}


/*
 * What an expression may have become.  Undefined variables vanish together
 * with their prefix (RFC 6570, 2.3), so all that has one is optional.
 * Control characters belong to no URI.
 */

#define MCP_MATCH_ANY       "[^\\x00-\\x1f\\x7f]"
#define MCP_MATCH_SEGMENT   "[^/?#\\x00-\\x1f\\x7f]"
#define MCP_MATCH_PARAM     "[^/?#;\\x00-\\x1f\\x7f]"
#define MCP_MATCH_QUERY     "[^&#\\x00-\\x1f\\x7f]"

static void
mcp_match_add_expr(mcp_buf_t *regex, const mcp_match_expr_t *e)
{
    switch (e->op) {

    case '+':
        mcp_buf_lit(regex, MCP_MATCH_ANY "+");
        break;

    case '#':
        mcp_buf_lit(regex, "(?:#" MCP_MATCH_ANY "*)?");
        break;

    case '.':
        /* values may hold dots, so one stands for all */
        mcp_buf_lit(regex, "(?:\\." MCP_MATCH_SEGMENT "*)?");
        break;

    case '/':
        mcp_buf_lit(regex, "(?:/" MCP_MATCH_SEGMENT "*)");
        mcp_match_add_repeat(regex, e);
        break;

    case ';':
        mcp_buf_lit(regex, "(?:;");
        mcp_match_add_names(regex, e);
        mcp_buf_lit(regex, ")");
        mcp_match_add_repeat(regex, e);
        break;

    case '?':
        mcp_buf_lit(regex, "(?:\\?");
        mcp_match_add_names(regex, e);
        mcp_buf_lit(regex, "(?:&");
        mcp_match_add_names(regex, e);
        mcp_buf_lit(regex, ")*)?");
        break;

    case '&':
        mcp_buf_lit(regex, "(?:&");
        mcp_match_add_names(regex, e);
        mcp_buf_lit(regex, ")*");
        break;

    default:
        if (e->explode) {
            mcp_buf_lit(regex, MCP_MATCH_ANY "+");

        } else {
            mcp_buf_lit(regex, MCP_MATCH_SEGMENT "+");
        }
    }
}


/* A list explodes into any number of pairs, else it is one per variable. */
static void
mcp_match_add_repeat(mcp_buf_t *regex, const mcp_match_expr_t *e)
{
    if (e->explode) {
        mcp_buf_lit(regex, "*");
        return;
    }

    mcp_buf_lit(regex, "{0,");
    mcp_buf_int(regex, (int64_t) e->n);
    mcp_buf_lit(regex, "}");
}


/* "name=value" of one of the variables; of any, if one explodes: the keys of
 * a map take its place then. */
static void
mcp_match_add_names(mcp_buf_t *regex, const mcp_match_expr_t *e)
{
    int         explode;
    size_t      i;
    mcp_str_t   list, name, value;

    value = e->op == ';' ? mcp_str(MCP_MATCH_PARAM)
                         : mcp_str(MCP_MATCH_QUERY);

    if (e->explode) {
        mcp_buf_str(regex, value);
        mcp_buf_lit(regex, "*");
        return;
    }

    list = e->list;
    mcp_buf_lit(regex, "(?:");

    while (list.data != NULL) {
        (void) mcp_match_expr_next(&list, &name, &explode);

        for (i = 0; i < name.len; i++) {
            mcp_match_add_literal(regex, (unsigned char) name.data[i]);
        }

        if (list.data != NULL) {
            mcp_buf_lit(regex, "|");
        }
    }

    mcp_buf_lit(regex, ")(?:=");
    mcp_buf_str(regex, value);
    mcp_buf_lit(regex, "*)?");
}


static int
mcp_match_config_error(char *error, size_t size, const char *fmt, ...)
{
    va_list  args;

    va_start(args, fmt);
    (void) vsnprintf(error, size, fmt, args);
    va_end(args);

    return MCP_ERR_CONFIG;
}
