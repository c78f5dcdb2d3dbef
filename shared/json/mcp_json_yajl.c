/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The grammar of JSON by yajl, and the fields of a scan from yajl's tokens.
 *
 * In versions without the fix for CVE-2017-16516, a text can make yajl's
 * decoder of escapes fail an assertion. yajl calls the decoder only if there
 * is a callback for strings. So there is none, and this file reads a string
 * itself, in the gap before the next token.
 *
 * yajl (2.1) accepts overlong forms, surrogates and values above U+10FFFF as
 * UTF-8: the text is validated first, and yajl's own check is off. yajl also
 * accepts \v and \f as white space: texts that contain them are rejected
 * first, because JSON does not allow these bytes anywhere.
 */


#include <yajl/yajl_parse.h>

#include "base/mcp_str.h"
#include "json/mcp_json_internal.h"


/* --- memory --- */

/*
 * Memory for yajl, which does not check whether its allocations fail: it gets
 * a block that is large enough for all its allocations, which are
 *
 * - its fixed parts;
 * - the stack of states, with one byte for each container and an additional
 *   one. yajl allocates it by realloc(NULL) and enlarges it later; here it
 *   gets the largest possible size at once;
 * - only if the text ends within a token or is a number, a copy of that token
 *   and a space, in a buffer that doubles from 2,048 bytes. This buffer is
 *   then the newest allocation and grows in place.
 *
 * There are no other allocations, because yajl decodes no strings here.
 */

/*
 * Bytes for the fixed parts of yajl: handle (120 bytes), lexer (64), two
 * buffer heads (32 each); twice as many, for other versions of yajl.
 */
#define MCP_YAJL_FIXED      512

/* Initial size of yajl's buffers, which double when they are full
 * (YAJL_BUF_INIT_SIZE). */
#define MCP_YAJL_BUFFER     2048

/* Number of bytes by which yajl enlarges its stack of states (YAJL_BS_INC). */
#define MCP_YAJL_STACK      128

/* Size of the header in front of each allocation. The header contains the size
 * of the allocation. */
#define MCP_YAJL_HEAD       sizeof(size_t)


/*
 * Allocates a block that is large enough for all allocations that yajl makes
 * for a text of len bytes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
static int
mcp_json_memory_init(mcp_json_memory_t *memory, mcp_arena_t *arena, size_t len,
    unsigned max_depth)
{
    size_t  buffer, size;

    if (len > SIZE_MAX / 8) {
        return MCP_ERR_MEMORY;
    }

    memory->arena = arena;
    memory->last = NULL;

    memory->stack = (max_depth < len ? max_depth : len) + 2;
    memory->stack += MCP_YAJL_STACK - memory->stack % MCP_YAJL_STACK;

    buffer = MCP_YAJL_BUFFER;

    while (buffer <= len + 2) {
        buffer *= 2;
    }

    size = MCP_YAJL_FIXED + memory->stack + buffer + 8 * MCP_YAJL_HEAD;

    memory->pos = mcp_arena_alloc(arena, size);
    if (memory->pos == NULL) {
        return MCP_ERR_MEMORY;
    }

    memory->end = memory->pos + size;

    return MCP_OK;
}


/* The allocator of yajl; ctx is an mcp_json_memory_t. */
static void *
mcp_json_malloc(void *ctx, size_t size)
{
    char               *p;
    mcp_json_memory_t  *memory = ctx;

    size = (size + 7) & ~(size_t) 7;

    if (size + MCP_YAJL_HEAD > (size_t) (memory->end - memory->pos)) {

        /* a fallback that no known version of yajl needs, because the block is
         * large enough */

        p = mcp_arena_alloc(memory->arena, size + MCP_YAJL_HEAD);
        if (p == NULL) {
            return NULL;
        }

    } else {
        p = memory->pos;
        memory->pos += size + MCP_YAJL_HEAD;
        memory->last = p + MCP_YAJL_HEAD;
    }

    *(size_t *) (void *) p = size;

    return p + MCP_YAJL_HEAD;
}


static void *
mcp_json_realloc(void *ctx, void *old, size_t size)
{
    char               *p = old;
    size_t             *have;
    mcp_json_memory_t  *memory = ctx;

    if (p == NULL) {
        return mcp_json_malloc(memory, size < memory->stack ? memory->stack
                                                            : size);
    }

    have = (size_t *) (void *) (p - MCP_YAJL_HEAD);

    if (size <= *have) {
        return p;
    }

    size = (size + 7) & ~(size_t) 7;

    if (p == memory->last && size <= (size_t) (memory->end - p)) {
        memory->pos = p + size;
        *have = size;
        return p;
    }

    p = mcp_json_malloc(memory, size);

    if (p != NULL) {
        memcpy(p, old, *have);
    }

    return p;
}


static void
mcp_json_free(void *ctx, void *p)
{
    /* the arena frees the whole block */

    (void) ctx;
    (void) p;
}


/* --- parsing --- */

/* Returns the offset of the beginning of the first line that is not valid
 * UTF-8. */
static size_t
mcp_json_bad_line(const char *text, size_t len)
{
    size_t       good;
    mcp_str_t    line;
    const char  *p;

    for (good = 0; good < len; good += line.len) {
        p = memchr(text + good, '\n', len - good);

        line.data = text + good;
        line.len = p ? (size_t) (p + 1 - line.data) : len - good;

        if (!mcp_utf8_valid(line)) {
            break;
        }
    }

    return good;
}


/* Returns MCP_ERR_SYNTAX for texts that yajl accepts although they are not
 * JSON, because they contain \v, \f or invalid UTF-8. Otherwise returns
 * MCP_OK. */
static int
mcp_json_check_bytes(mcp_json_scan_t *scan)
{
    size_t       len;
    const char  *p;

    len = (size_t) (scan->end - scan->text);

    p = memchr(scan->text, '\v', len);

    if (p == NULL) {
        p = memchr(scan->text, '\f', len);
    }

    if (p != NULL) {
        return mcp_json_fail(scan, (size_t) (p - scan->text));
    }

    if (mcp_utf8_valid((mcp_str_t) { scan->text, len })) {
        return MCP_OK;
    }

    return mcp_json_fail(scan, mcp_json_bad_line(scan->text, len));
}


/*
 * Passes the string at p to mcp_json_scan.c: to mcp_json_field_key() if a key
 * is due, otherwise to mcp_json_field_scalar(). Returns the end of the string,
 * or NULL if the string does not end before "end".
 */
static const char *
mcp_json_gap_string(mcp_json_scan_t *scan, const char *p, const char *end)
{
    int          escaped;
    mcp_str_t    string;
    const char  *string_end;

    string_end = mcp_json_string_end(p, end);
    if (string_end == NULL) {
        return NULL;
    }

    if (scan->want_key) {
        string.data = p;
        string.len = (size_t) (string_end - p);

        escaped = memchr(p, '\\', string.len) != NULL;
        mcp_json_field_key(scan, string, escaped);

    } else {
        mcp_json_field_scalar(scan, MCP_JSON_STRING, p, string_end);
    }

    return string_end;
}


/*
 * Reads the gap between the last token that yajl reported and "end": white
 * space, commas, colons, and strings, which yajl does not report. Returns 0 if
 * the gap contains anything else, which is possible only at the end of the
 * text, where yajl waits for more.
 */
static int
mcp_json_gap(mcp_json_scan_t *scan, const char *end)
{
    const char  *p;

    p = scan->pos;

    while (p < end) {
        switch (*p) {

        case ' ':
        case '\n':
        case '\r':
        case '\t':
            p++;
            break;

        case ':':
            scan->want_key = 0;
            p++;
            break;

        case ',':
            scan->want_key = 1;
            p++;
            break;

        case '"':
            p = mcp_json_gap_string(scan, p, end);
            if (p == NULL) {
                return 0;
            }

            break;

        default:
            return 0;
        }
    }

    scan->pos = end;

    return 1;
}


/*
 * Handles a token of len bytes, other than a string, that yajl has just read.
 * If the token is at the depth of the tracked object's members, first reads the
 * gap before the token (mcp_json_gap()). Sets scan->pos to the end of the token
 * and returns the start of the token.
 */
static const char *
mcp_json_token(mcp_json_scan_t *scan, size_t len)
{
    const char  *start, *end;

    end = scan->end;

    if (!scan->at_end) {
        end = scan->text + yajl_get_bytes_consumed(scan->handle);
    }

    start = end - len;

    if (scan->depth == scan->tracked) {
        (void) mcp_json_gap(scan, start);
    }

    scan->pos = end;

    return start;
}


static int
mcp_json_atom(mcp_json_scan_t *scan, mcp_json_type_e type, size_t len)
{
    const char  *start;

    start = mcp_json_token(scan, len);

    if (scan->depth == scan->tracked) {
        mcp_json_field_scalar(scan, type, start, scan->pos);
    }

    return 1;
}


static int
mcp_json_null(void *ctx)
{
    return mcp_json_atom(ctx, MCP_JSON_NULL, sizeof("null") - 1);
}


static int
mcp_json_boolean(void *ctx, int value)
{
    return mcp_json_atom(ctx, MCP_JSON_BOOL,
                         value ? sizeof("true") - 1 : sizeof("false") - 1);
}


static int
mcp_json_number(void *ctx, const char *data, size_t len)
{
    (void) data;

    return mcp_json_atom(ctx, MCP_JSON_NUMBER, len);
}


static int
mcp_json_start_container(void *ctx)
{
    const char       *start;
    mcp_json_scan_t  *scan = ctx;

    start = mcp_json_token(scan, 1);

    if (scan->depth == scan->max_depth) {
        scan->error.problem = MCP_JSON_BAD_DEPTH;
        scan->error.offset = (size_t) (start - scan->text);
        return 0;
    }

    if (scan->depth == scan->tracked) {
        mcp_json_field_open(scan, start);
        scan->want_key = 1;
    }

    scan->depth++;

    return 1;
}


static int
mcp_json_end_container(void *ctx)
{
    mcp_json_scan_t  *scan = ctx;

    (void) mcp_json_token(scan, 1);

    scan->depth--;

    if (scan->depth <= scan->tracked) {
        mcp_json_field_close(scan, scan->pos);
    }

    return 1;
}


static const yajl_callbacks  mcp_json_callbacks = {
    mcp_json_null,
    mcp_json_boolean,
    NULL,                      /* integers: mcp_json_number() receives all
                                  numbers */
    NULL,                      /* doubles */
    mcp_json_number,
    NULL,                      /* strings: no callback, see the top of this
                                  file */
    mcp_json_start_container,
    NULL,                      /* map keys */
    mcp_json_end_container,
    mcp_json_start_container,
    mcp_json_end_container
};


/* Checks, after yajl has accepted the whole text, whether it is exactly one
 * complete value. Returns MCP_OK or MCP_ERR_SYNTAX. */
static int
mcp_json_finish(mcp_json_scan_t *scan)
{
    size_t  len;

    len = (size_t) (scan->end - scan->text);

    if (scan->depth > 0) {
        return mcp_json_fail(scan, len);
    }

    if (scan->root->type == MCP_JSON_NONE
        && (*scan->text == '-' || (*scan->text >= '0' && *scan->text <= '9')))
    {
        /* the text is only a number, which yajl reports when it reads the next
         * character: yajl_complete_parse() adds a space */

        scan->at_end = 1;

        if (yajl_complete_parse(scan->handle) != yajl_status_ok) {
            return mcp_json_fail(scan, len);
        }

    } else if (scan->root->type == MCP_JSON_NONE) {

        if (!mcp_json_gap(scan, scan->end)) {
            return mcp_json_fail(scan, len);
        }
    }

    if (scan->root->type == MCP_JSON_NONE || scan->pos != scan->end) {
        return mcp_json_fail(scan, (size_t) (scan->pos - scan->text));
    }

    return MCP_OK;
}


static int
mcp_json_yajl_run(mcp_json_scan_t *scan)
{
    size_t            len, offset;
    yajl_status       status;
    yajl_alloc_funcs  funcs;

    len = (size_t) (scan->end - scan->text);
    scan->pos = scan->text;

    funcs.malloc = mcp_json_malloc;
    funcs.realloc = mcp_json_realloc;
    funcs.free = mcp_json_free;
    funcs.ctx = &scan->memory;

    scan->handle = yajl_alloc(&mcp_json_callbacks, &funcs, scan);
    if (scan->handle == NULL) {
        return MCP_ERR_MEMORY;
    }

    yajl_config(scan->handle, yajl_dont_validate_strings, 1);

    status = yajl_parse(scan->handle, (const unsigned char *) scan->text, len);

    if (status == yajl_status_ok) {
        return mcp_json_finish(scan);
    }

    if (status == yajl_status_client_canceled) {
        return MCP_ERR_SYNTAX;
    }

    offset = yajl_get_bytes_consumed(scan->handle);

    return mcp_json_fail(scan, offset < len ? offset : len);
}


int
mcp_json_yajl(mcp_json_scan_t *scan, mcp_arena_t *scratch)
{
    int               rc;
    mcp_arena_mark_t  mark;

    rc = mcp_json_check_bytes(scan);
    if (rc != MCP_OK) {
        return rc;
    }

    mark = mcp_arena_mark(scratch);

    rc = mcp_json_memory_init(&scan->memory, scratch,
                              (size_t) (scan->end - scan->text),
                              scan->max_depth);

    if (rc == MCP_OK) {
        rc = mcp_json_yajl_run(scan);
    }

    mcp_arena_release(scratch, mark);

    return rc;
}
