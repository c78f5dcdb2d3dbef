/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Patterns: exact strings, regular expressions, and URI templates as regular
 * expressions. The only file that uses PCRE2.
 *
 * Compiled patterns are constant, so that any number of threads may use one at
 * the same time. A match has its state on the stack; matching allocates
 * nothing.
 */


#define PCRE2_CODE_UNIT_WIDTH  8

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#include <pcre2.h>

#include "base/mcp_match.h"
#include "base/mcp_uri.h"


/*
 * Limits of PCRE2 for one match, so that a bad expression takes only some
 * milliseconds before PCRE2 gives up. The expressions of URI templates and
 * reasonable expressions of operators stay far below the limits.
 */
#define MCP_MATCH_LIMIT        250000
#define MCP_MATCH_DEPTH_LIMIT  10000

/* Size of the memory on the stack for the contexts and match data of PCRE2,
 * which need about 200 bytes. */
#define MCP_MATCH_ROOM         1024

/*
 * Without JIT (the system may forbid it), PCRE2 allocates memory for its
 * backtracking frames: 20 KiB at first and, when these are full, once a block
 * of 40 KiB that replaces them. mcp_match_slow() provides memory for both on
 * its stack. 40 KiB are enough for 128 repetitions of a group. JIT code has a
 * stack of 32 KiB, enough for 1,000 repetitions.
 */
#define MCP_MATCH_HEAP_KB      40
#define MCP_MATCH_SLOW_ROOM    (MCP_MATCH_ROOM + 62 * 1024)

#define MCP_MATCH_REGEX_MAX    (1024 * 1024)


struct mcp_match_s {
    mcp_mem_t             mem;
    mcp_str_t             literal;     /* the exact string or the prefix */
    mcp_str_t             uri;         /* normal form of "literal" as a URI */
    unsigned              exact:1;
    unsigned              prefix:1;    /* 1: the pattern is a prefix */
    unsigned              jit:1;
    pcre2_code           *code;
    pcre2_match_context  *limits;
};


typedef struct {
    char    *pos;
    char    *end;
} mcp_match_room_t;


static int mcp_match_config_error(char *error, size_t size, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));


static int
mcp_match_config_error(char *error, size_t size, const char *fmt, ...)
{
    va_list  args;

    va_start(args, fmt);
    (void) vsnprintf(error, size, fmt, args);
    va_end(args);

    return MCP_ERR_CONFIG;
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


/*
 * Allocates a pattern, in one block with copies of the literal and of its
 * normal form as a URI. The literal may be empty. Returns MCP_OK or
 * MCP_ERR_MEMORY.
 */
static int
mcp_match_alloc(const mcp_mem_t *mem, mcp_str_t literal, mcp_match_t **out)
{
    char         *p;
    mcp_match_t  *match;

    match = mem->alloc(mem->ctx, sizeof(mcp_match_t) + literal.len
                                 + mcp_uri_max(literal.len));
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

        match->uri.data = p + literal.len;
        match->uri.len = mcp_uri_write(p + literal.len, literal, 0);
    }

    *out = match;

    return MCP_OK;
}


/*
 * Sets match->limits to a context with the limits MCP_MATCH_..., and *compile
 * to a context for pcre2_compile(). Both allocate memory with match->mem.
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_match_contexts(mcp_match_t *match, pcre2_compile_context **compile)
{
    pcre2_general_context  *general;

    general = pcre2_general_context_create(mcp_match_mem_alloc,
                                           mcp_match_mem_free, &match->mem);
    if (general == NULL) {
        return MCP_ERR_MEMORY;
    }

    *compile = pcre2_compile_context_create(general);
    match->limits = pcre2_match_context_create(general);

    pcre2_general_context_free(general);

    if (*compile == NULL || match->limits == NULL) {
        pcre2_compile_context_free(*compile);
        return MCP_ERR_MEMORY;
    }

    pcre2_set_match_limit(match->limits, MCP_MATCH_LIMIT);
    pcre2_set_depth_limit(match->limits, MCP_MATCH_DEPTH_LIMIT);
    pcre2_set_heap_limit(match->limits, MCP_MATCH_HEAP_KB);

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


/*
 * Compiles a regular expression to match->code. If the expression is invalid,
 * the error message contains the offset of the error in the operator's text, in
 * which "skipped" bytes precede the expression ("~" or "~*").
 */
static int
mcp_match_compile(mcp_match_t *match, mcp_str_t regex, uint32_t options,
    size_t skipped, char *error, size_t size)
{
    int                     rc;
    size_t                  jit_size;
    PCRE2_SIZE              offset;
    pcre2_compile_context  *compile;

    rc = mcp_match_contexts(match, &compile);
    if (rc != MCP_OK) {
        return rc;
    }

    match->code = pcre2_compile((PCRE2_SPTR) regex.data, regex.len, options,
                                &rc, &offset, compile);

    pcre2_compile_context_free(compile);

    if (match->code == NULL) {
        return mcp_match_compile_error(rc, skipped + offset, error, size);
    }

    /* pcre2_jit_compile() succeeds also if the pattern contains (*NO_JIT), so
     * the size is checked */

    match->jit = pcre2_jit_compile(match->code, PCRE2_JIT_COMPLETE) == 0
                 && pcre2_pattern_info(match->code, PCRE2_INFO_JITSIZE,
                                       &jit_size) == 0
                 && jit_size > 0;

    return MCP_OK;
}


void
mcp_match_free(mcp_match_t *match)
{
    if (match == NULL) {
        return;
    }

    pcre2_match_context_free(match->limits);
    pcre2_code_free(match->code);
    mcp_mem_free(&match->mem, match);
}


/* Creates a pattern from the regular expression after "~" or "~*". Returns the
 * values of mcp_match_create(). */
static int
mcp_match_create_regex(const mcp_mem_t *mem, mcp_str_t pattern,
    mcp_match_t **out, char *error, size_t size)
{
    int           rc;
    size_t        skipped;
    uint32_t      options;
    mcp_str_t     regex;
    mcp_match_t  *match;

    /* "$" matches only at the end, not before a final line feed */
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
mcp_match_create(const mcp_mem_t *mem, mcp_str_t pattern, mcp_match_t **out,
    char *error, size_t size)
{
    int  rc;

    if (pattern.len == 0) {
        return mcp_match_config_error(error, size, "empty pattern");
    }

    if (pattern.data[0] == '~') {
        return mcp_match_create_regex(mem, pattern, out, error, size);
    }

    rc = mcp_match_alloc(mem, pattern, out);

    if (rc == MCP_OK) {
        (*out)->exact = 1;
    }

    return rc;
}


int
mcp_match_create_prefix(const mcp_mem_t *mem, mcp_str_t prefix,
    mcp_match_t **out)
{
    int  rc;

    rc = mcp_match_alloc(mem, prefix, out);

    if (rc == MCP_OK) {
        (*out)->prefix = 1;
    }

    return rc;
}


/*
 * Creates a pattern from a URI template and its regular expression, which
 * mcp_uri_template_regex() wrote. The template's literal beginning is compared
 * before the expression is used. Returns the values of mcp_match_create().
 */
static int
mcp_match_compile_template(const mcp_mem_t *mem, mcp_str_t uri_template,
    const mcp_buf_t *regex, mcp_match_t **out, char *error, size_t size)
{
    int           rc;
    mcp_str_t     prefix;
    mcp_match_t  *match;

    prefix.data = uri_template.data;
    prefix.len = mcp_uri_template_prefix(uri_template);

    rc = mcp_match_alloc(mem, prefix, &match);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_match_compile(match, (mcp_str_t) { regex->data, regex->len },
                           PCRE2_ANCHORED|PCRE2_ENDANCHORED, 0, error, size);
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
    int        rc;
    mcp_buf_t  regex;

    if (uri_template.len == 0) {
        return mcp_match_config_error(error, size, "empty URI template");
    }

    mcp_buf_init(&regex, mem, MCP_MATCH_REGEX_MAX);

    rc = mcp_uri_template_regex(uri_template, &regex, error, size);

    if (rc == MCP_OK) {
        rc = mcp_match_compile_template(mem, uri_template, &regex, out, error,
                                        size);
    }

    mcp_buf_free(&regex);

    return rc;
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


/* Matches with the memory "room" of size bytes. Returns 1 if the subject
 * matches, 0 if it does not, or MCP_ERR_LIMIT if PCRE2 exceeds this memory or
 * a limit, or fails in another way. */
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
        return MCP_ERR_LIMIT;
    }

    data = pcre2_match_data_create(1, general);
    if (data == NULL) {
        return MCP_ERR_LIMIT;
    }

    rc = pcre2_match(match->code,
                     (PCRE2_SPTR) (subject.len > 0 ? subject.data : ""),
                     subject.len, 0, 0, data, match->limits);

    pcre2_match_data_free(data);
    pcre2_general_context_free(general);

    /* PCRE2 returns 0 for a match with more groups than the match data can
     * store */

    if (rc >= 0) {
        return 1;
    }

    return rc == PCRE2_ERROR_NOMATCH ? 0 : MCP_ERR_LIMIT;
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


int
mcp_match(const mcp_match_t *match, mcp_str_t subject)
{
    return mcp_match_try(match, subject) == 1;
}


static int
mcp_match_starts(mcp_str_t subject, mcp_str_t with)
{
    return subject.len >= with.len
           && memcmp(subject.data, with.data, with.len) == 0;
}


int
mcp_match_try(const mcp_match_t *match, mcp_str_t subject)
{
    if (match->exact) {
        return mcp_str_eq(match->literal, subject)
               || mcp_str_eq(match->uri, subject);
    }

    if (match->prefix) {
        return mcp_match_starts(subject, match->literal)
               || mcp_match_starts(subject, match->uri);
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


mcp_str_t
mcp_match_uri(const mcp_match_t *match)
{
    return match->uri;
}
