/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON by slices.  yajl is the judge of the grammar; where things stand is
 * worked out here, and nothing is decoded that nobody asked for.
 *
 * What yajl (2.1) leaves to us:
 *
 *   - it takes overlong forms, surrogates and values above U+10FFFF for
 *     UTF-8: the text is checked first, and yajl's own check is off;
 *   - it takes \v and \f for white space: refused first, too, as they may
 *     stand nowhere in JSON;
 *   - its decoder of escapes can be made to fail an assertion (in versions
 *     without the fix for CVE-2017-16516): it runs only for strings that a
 *     callback wants, so there is none, and strings are picked up from the
 *     gap in front of the next token;
 *   - it does not check its allocations: it gets a block worked out to be
 *     enough, see mcp_json_memory().
 */


#include <yajl/yajl_parse.h>

#include "base/mcp_utf8.h"
#include "json/mcp_json.h"


/*
 * yajl's fixed parts: handle (120 bytes), lexer (64), two buffer heads (32
 * each).  Twice that, for what other versions may add.
 */
#define MCP_YAJL_FIXED      512

/* Its buffers begin with this size and double (YAJL_BUF_INIT_SIZE). */
#define MCP_YAJL_BUFFER     2048

/* Its state stack grows by this (YAJL_BS_INC). */
#define MCP_YAJL_STACK      128

/* In front of each piece of its memory: the size. */
#define MCP_YAJL_HEAD       sizeof(size_t)


/* No field is to take the next value. */
#define MCP_JSON_NO_FIELD   -2


typedef struct {
    mcp_arena_t             *arena;
    char                    *pos;
    char                    *end;
    char                    *last;         /* the newest piece */
    size_t                   stack;        /* of states, all it can need */
} mcp_json_memory_t;


typedef struct {
    mcp_json_memory_t        memory;
    yajl_handle              handle;

    const char              *text;
    const char              *pos;          /* end of the last token */
    const char              *end;

    const mcp_json_field_t  *fields;
    size_t                   n;
    mcp_json_value_t        *root;
    mcp_json_value_t        *values;

    uint64_t                 parents;      /* fields that have children */
    int                      object;       /* whose members we are among */
    int                      field;        /* that the next value is for */

    unsigned                 depth;
    unsigned                 max_depth;
    unsigned                 skip;         /* containers to leave until then */

    unsigned                 want_key:1;
    unsigned                 at_end:1;     /* yajl reads its own white space */

    mcp_json_error_t         error;
} mcp_json_scan_t;


/*
 * Memory for yajl.  It asks for its fixed parts; for the stack of states,
 * one byte a container and one more, the first time with realloc(NULL): it
 * gets all it can need then; and, only if the text breaks off within a token
 * or is but a number, for a copy of that token and a space, in a buffer that
 * doubles from 2048.  This buffer then is the newest piece and grows where
 * it stands.  There is no third kind, as nothing is decoded.
 */
static int
mcp_json_memory(mcp_json_memory_t *memory, mcp_arena_t *arena, size_t len,
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


static void *
mcp_json_malloc(void *ctx, size_t size)
{
    char               *p;
    mcp_json_memory_t  *memory = ctx;

    size = (size + 7) & ~(size_t) 7;

    if (size + MCP_YAJL_HEAD > (size_t) (memory->end - memory->pos)) {

        /* not with any yajl we know; better a chance than none */

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
    /* the block goes as a whole */

    (void) ctx;
    (void) p;
}


static mcp_json_value_t *
mcp_json_slot(mcp_json_scan_t *scan, int field)
{
    return field == MCP_JSON_ROOT ? scan->root : &scan->values[field];
}


/* Notes a duplicate; the scan goes on, to know whether the text is JSON. */
static void
mcp_json_duplicate(mcp_json_scan_t *scan, int field, const char *p)
{
    if (scan->error.duplicates == 0) {
        scan->error.offset = (size_t) (p - scan->text);
        scan->error.field = field;
    }

    scan->error.duplicates |= (uint64_t) 1 << field;
}


/* Finds the field that the key in the tracked object names. */
static void
mcp_json_key(mcp_json_scan_t *scan, mcp_str_t raw)
{
    int     i;
    size_t  n;

    for (n = 0; n < scan->n; n++) {
        if (scan->fields[n].parent == scan->object
            && mcp_json_str_eq(raw, scan->fields[n].key))
        {
            break;
        }
    }

    if (n == scan->n) {
        scan->field = MCP_JSON_NO_FIELD;
        return;
    }

    i = (int) n;

    if (scan->values[i].type != MCP_JSON_NONE) {
        mcp_json_duplicate(scan, i, raw.data);
        scan->field = MCP_JSON_NO_FIELD;
        return;
    }

    scan->field = i;
}


/* Takes a scalar in the tracked object (or the root). */
static void
mcp_json_scalar(mcp_json_scan_t *scan, mcp_json_type_e type,
    const char *start, const char *end)
{
    mcp_json_value_t  *value;

    if (scan->field == MCP_JSON_NO_FIELD) {
        return;
    }

    value = mcp_json_slot(scan, scan->field);
    scan->field = MCP_JSON_NO_FIELD;

    value->type = type;
    value->raw.data = start;
    value->raw.len = (size_t) (end - start);
}


/*
 * Walks what stands between two tokens that yajl told of: white space,
 * commas, colons, and strings, of which it does not tell.  Returns 0 if
 * there is anything else, which can only be at the end of the text, where
 * yajl waits for more.
 */
static int
mcp_json_gap(mcp_json_scan_t *scan, const char *end)
{
    mcp_str_t    string;
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
            string.data = p;

            p = mcp_json_string_end(p, end);
            if (p == NULL) {
                return 0;
            }

            string.len = (size_t) (p - string.data);

            if (scan->want_key) {
                mcp_json_key(scan, string);

            } else {
                mcp_json_scalar(scan, MCP_JSON_STRING, string.data, p);
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
 * A token of len bytes has ended (a string is none): catches up with the gap
 * in front of it and returns its start, or NULL among members and elements
 * of no interest.
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

    if (scan->skip == 0) {
        (void) mcp_json_gap(scan, start);
    }

    scan->pos = end;

    return scan->skip == 0 ? start : NULL;
}


static int
mcp_json_atom(mcp_json_scan_t *scan, mcp_json_type_e type, size_t len)
{
    const char  *start;

    start = mcp_json_token(scan, len);

    if (start != NULL) {
        mcp_json_scalar(scan, type, start, scan->pos);
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
mcp_json_start(mcp_json_scan_t *scan, mcp_json_type_e type)
{
    int                field;
    const char        *start;
    mcp_json_value_t  *value;

    start = mcp_json_token(scan, 1);

    if (scan->depth == scan->max_depth) {
        scan->error.problem = MCP_JSON_BAD_DEPTH;
        scan->error.offset = (size_t) (scan->pos - 1 - scan->text);
        return 0;
    }

    scan->depth++;

    if (start == NULL) {
        scan->skip++;
        return 1;
    }

    field = scan->field;

    if (field == MCP_JSON_NO_FIELD) {
        scan->skip = 1;
        return 1;
    }

    value = mcp_json_slot(scan, field);
    value->type = type;
    value->raw.data = start;

    if (type == MCP_JSON_OBJECT
        && (field == MCP_JSON_ROOT ? scan->n > 0
                                   : scan->parents >> field & 1))
    {
        scan->object = field;
        scan->field = MCP_JSON_NO_FIELD;
        scan->want_key = 1;
        return 1;
    }

    /* keeps scan->field, which is to be closed */
    scan->skip = 1;

    return 1;
}


static int
mcp_json_stop(mcp_json_scan_t *scan)
{
    int                field;
    mcp_json_value_t  *value;

    (void) mcp_json_token(scan, 1);

    scan->depth--;

    if (scan->skip > 0) {
        scan->skip--;

        if (scan->skip > 0 || scan->field == MCP_JSON_NO_FIELD) {
            return 1;
        }

        field = scan->field;

    } else {
        field = scan->object;

        if (field != MCP_JSON_ROOT) {
            scan->object = scan->fields[field].parent;
        }
    }

    value = mcp_json_slot(scan, field);
    value->raw.len = (size_t) (scan->pos - value->raw.data);

    scan->field = MCP_JSON_NO_FIELD;

    return 1;
}


static int
mcp_json_start_map(void *ctx)
{
    return mcp_json_start(ctx, MCP_JSON_OBJECT);
}


static int
mcp_json_start_array(void *ctx)
{
    return mcp_json_start(ctx, MCP_JSON_ARRAY);
}


static int
mcp_json_end_container(void *ctx)
{
    return mcp_json_stop(ctx);
}


static const yajl_callbacks  mcp_json_callbacks = {
    mcp_json_null,
    mcp_json_boolean,
    NULL,                      /* integer: number takes all */
    NULL,                      /* double */
    mcp_json_number,
    NULL,                      /* string, see above */
    mcp_json_start_map,
    NULL,                      /* map key */
    mcp_json_end_container,
    mcp_json_start_array,
    mcp_json_end_container
};


static int
mcp_json_fail(mcp_json_scan_t *scan, size_t offset)
{
    scan->error.problem = MCP_JSON_BAD_SYNTAX;
    scan->error.offset = offset;

    return MCP_ERR_SYNTAX;
}


/* Finds what yajl would let pass. */
static int
mcp_json_check_bytes(mcp_json_scan_t *scan)
{
    size_t       len, good;
    mcp_str_t    s;
    const char  *p;

    len = (size_t) (scan->end - scan->text);

    p = memchr(scan->text, '\v', len);

    if (p == NULL) {
        p = memchr(scan->text, '\f', len);
    }

    if (p != NULL) {
        return mcp_json_fail(scan, (size_t) (p - scan->text));
    }

    s.data = scan->text;
    s.len = len;

    if (mcp_utf8_valid(s)) {
        return MCP_OK;
    }

    /* where: the line, at least */

    for (good = 0; good < len; good += s.len) {
        p = memchr(scan->text + good, '\n', len - good);

        s.data = scan->text + good;
        s.len = p ? (size_t) (p + 1 - s.data) : len - good;

        if (!mcp_utf8_valid(s)) {
            break;
        }
    }

    return mcp_json_fail(scan, good);
}


/* yajl took all: is there one value, whole, and nothing behind it? */
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
        /* only what follows it ends a number */

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
mcp_json_parse(mcp_json_scan_t *scan)
{
    size_t            len, offset;
    yajl_status       status;
    yajl_alloc_funcs  funcs;

    len = (size_t) (scan->end - scan->text);

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


static size_t
mcp_json_line(const char *text, size_t offset)
{
    size_t  i, line;

    line = 1;

    for (i = 0; i < offset; i++) {
        line += text[i] == '\n';
    }

    return line;
}


/* Leaves nothing behind of a text that was refused on the way. */
static void
mcp_json_forget(mcp_json_scan_t *scan)
{
    memset(scan->root, 0, sizeof(mcp_json_value_t));

    if (scan->n > 0) {
        memset(scan->values, 0, scan->n * sizeof(mcp_json_value_t));
    }
}


static int
mcp_json_run(mcp_json_scan_t *scan, mcp_arena_t *scratch)
{
    int               rc;
    size_t            len;
    mcp_arena_mark_t  mark;

    if (scan->text == scan->end) {
        return mcp_json_fail(scan, 0);
    }

    rc = mcp_json_check_bytes(scan);
    if (rc != MCP_OK) {
        return rc;
    }

    len = (size_t) (scan->end - scan->text);
    mark = mcp_arena_mark(scratch);

    rc = mcp_json_memory(&scan->memory, scratch, len, scan->max_depth);

    if (rc == MCP_OK) {
        rc = mcp_json_parse(scan);
    }

    mcp_arena_release(scratch, mark);

    return rc;
}


int
mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error)
{
    int              rc;
    size_t           i, before;
    const char      *end;
    mcp_json_scan_t  scan;

    if (n > MCP_JSON_MAX_FIELDS) {
        return MCP_ERR_INTERNAL;
    }

    memset(&scan, 0, sizeof(mcp_json_scan_t));

    scan.fields = fields;
    scan.n = n;
    scan.root = root;
    scan.values = values;
    scan.object = MCP_JSON_ROOT;
    scan.field = MCP_JSON_ROOT;
    scan.max_depth = max_depth;

    mcp_json_forget(&scan);

    for (i = 0; i < n; i++) {
        if (fields[i].parent != MCP_JSON_ROOT) {
            scan.parents |= (uint64_t) 1 << fields[i].parent;
        }
    }

    if (text.len == 0) {
        text = mcp_str("");
    }

    end = text.data + text.len;

    while (end > text.data && mcp_json_is_space(end[-1])) {
        end--;
    }

    scan.text = text.data;
    scan.end = end;

    while (scan.text < end && mcp_json_is_space(*scan.text)) {
        scan.text++;
    }

    scan.pos = scan.text;

    rc = mcp_json_run(&scan, scratch);

    if (rc != MCP_OK) {
        mcp_json_forget(&scan);

    } else if (scan.error.duplicates != 0) {
        scan.error.problem = MCP_JSON_BAD_DUPLICATE;
        rc = MCP_ERR_SYNTAX;
    }

    if (error != NULL) {
        *error = scan.error;

        if (rc == MCP_ERR_SYNTAX) {
            before = (size_t) (scan.text - text.data);
            error->offset += before;
            error->line = mcp_json_line(text.data, error->offset);
        }
    }

    return rc;
}
