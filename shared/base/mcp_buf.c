/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Strings, the arena and the growing buffer.  Knows nothing of the protocol.
 */


#include "mcp.h"


/* One block with its header is one page for most allocators. */
#define MCP_ARENA_BLOCK  4096
#define MCP_ARENA_ALIGN  8

#define MCP_BUF_MIN      256


struct mcp_arena_block_s {
    mcp_arena_block_t  *next;
    size_t              size;          /* behind the header */
};


#define MCP_ARENA_ROOM   (MCP_ARENA_BLOCK - sizeof(mcp_arena_block_t))


void
mcp_arena_init(mcp_arena_t *arena, const mcp_mem_t *mem)
{
    arena->mem = mem;
    arena->blocks = NULL;
    arena->pos = NULL;
    arena->end = NULL;
}


/* Adds a block with room for size bytes; returns where they begin. */
static char *
mcp_arena_block(mcp_arena_t *arena, size_t size)
{
    mcp_arena_block_t  *block;

    block = arena->mem->alloc(arena->mem->ctx,
                              sizeof(mcp_arena_block_t) + size);
    if (block == NULL) {
        return NULL;
    }

    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;

    return (char *) (block + 1);
}


void *
mcp_arena_alloc(mcp_arena_t *arena, size_t size)
{
    char  *p;

    if (size > SIZE_MAX - sizeof(mcp_arena_block_t) - MCP_ARENA_ALIGN) {
        return NULL;
    }

    size = (size + MCP_ARENA_ALIGN - 1) & ~(size_t) (MCP_ARENA_ALIGN - 1);

    if (size == 0) {
        size = MCP_ARENA_ALIGN;
    }

    /* what is larger than a block stands alone; the current one goes on */

    if (size > MCP_ARENA_ROOM) {
        return mcp_arena_block(arena, size);
    }

    if (size > (size_t) (arena->end - arena->pos)) {
        p = mcp_arena_block(arena, MCP_ARENA_ROOM);
        if (p == NULL) {
            return NULL;
        }

        arena->pos = p;
        arena->end = p + MCP_ARENA_ROOM;
    }

    p = arena->pos;
    arena->pos += size;

    return p;
}


void *
mcp_arena_calloc(mcp_arena_t *arena, size_t size)
{
    void  *p;

    p = mcp_arena_alloc(arena, size);

    if (p != NULL) {
        memset(p, 0, size);
    }

    return p;
}


mcp_str_t
mcp_arena_dup(mcp_arena_t *arena, mcp_str_t s)
{
    char  *p;

    p = mcp_arena_alloc(arena, s.len);
    if (p == NULL) {
        return mcp_null_str;
    }

    if (s.len > 0) {
        memcpy(p, s.data, s.len);
    }

    return (mcp_str_t) { p, s.len };
}


mcp_arena_mark_t
mcp_arena_mark(const mcp_arena_t *arena)
{
    return (mcp_arena_mark_t) { arena->blocks, arena->pos, arena->end };
}


void
mcp_arena_release(mcp_arena_t *arena, mcp_arena_mark_t mark)
{
    mcp_arena_block_t  *block;

    /* an arena that was empty keeps a block: it is about to be used */

    if (mark.blocks == NULL) {
        mcp_arena_reset(arena);
        return;
    }

    while (arena->blocks != mark.blocks) {
        block = arena->blocks;
        arena->blocks = block->next;
        arena->mem->free(arena->mem->ctx, block);
    }

    arena->pos = mark.pos;
    arena->end = mark.end;
}


void
mcp_arena_reset(mcp_arena_t *arena)
{
    mcp_arena_block_t  *block, *next, *keep;

    keep = NULL;

    for (block = arena->blocks; block; block = next) {
        next = block->next;

        if (keep == NULL && block->size == MCP_ARENA_ROOM) {
            keep = block;
            continue;
        }

        arena->mem->free(arena->mem->ctx, block);
    }

    mcp_arena_init(arena, arena->mem);

    if (keep != NULL) {
        keep->next = NULL;
        arena->blocks = keep;
        arena->pos = (char *) (keep + 1);
        arena->end = arena->pos + keep->size;
    }
}


void
mcp_arena_destroy(mcp_arena_t *arena)
{
    mcp_arena_block_t  *block, *next;

    for (block = arena->blocks; block; block = next) {
        next = block->next;
        arena->mem->free(arena->mem->ctx, block);
    }

    mcp_arena_init(arena, arena->mem);
}


void
mcp_buf_init(mcp_buf_t *buf, const mcp_mem_t *mem, size_t max)
{
    buf->mem = mem;
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->max = max;
    buf->failed = MCP_OK;
}


void
mcp_buf_free(mcp_buf_t *buf)
{
    if (buf->data != NULL) {
        buf->mem->free(buf->mem->ctx, buf->data);
    }

    mcp_buf_init(buf, buf->mem, buf->max);
}


/* Moves to twice the memory, or to what n more bytes need. */
static int
mcp_buf_grow(mcp_buf_t *buf, size_t n)
{
    char    *data;
    size_t   cap;

    if (n > buf->max - buf->len) {
        return MCP_ERR_LIMIT;
    }

    cap = buf->cap > buf->max / 2 ? buf->max : buf->cap * 2;

    if (cap < MCP_BUF_MIN) {
        cap = MCP_BUF_MIN;
    }

    if (cap < buf->len + n) {
        cap = buf->len + n;
    }

    data = buf->mem->alloc(buf->mem->ctx, cap);
    if (data == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (buf->data != NULL) {
        memcpy(data, buf->data, buf->len);
        buf->mem->free(buf->mem->ctx, buf->data);
    }

    buf->data = data;
    buf->cap = cap;

    return MCP_OK;
}


char *
mcp_buf_reserve(mcp_buf_t *buf, size_t n)
{
    if (buf->failed) {
        return NULL;
    }

    /* the smallest memory may be more than the maximum: test both */

    if (buf->data == NULL || n > buf->cap - buf->len
        || n > buf->max - buf->len)
    {
        buf->failed = mcp_buf_grow(buf, n);

        if (buf->failed) {
            return NULL;
        }
    }

    return buf->data + buf->len;
}


void
mcp_buf_add(mcp_buf_t *buf, const void *data, size_t len)
{
    char  *p;

    if (len == 0) {
        return;
    }

    p = mcp_buf_reserve(buf, len);

    if (p != NULL) {
        memcpy(p, data, len);
        buf->len += len;
    }
}


void
mcp_buf_str(mcp_buf_t *buf, mcp_str_t s)
{
    mcp_buf_add(buf, s.data, s.len);
}


void
mcp_buf_int(mcp_buf_t *buf, int64_t n)
{
    char       text[24], *p;
    uint64_t   abs;

    p = text;
    abs = (uint64_t) n;

    if (n < 0) {
        *p++ = '-';
        abs = 0 - abs;
    }

    p = mcp_uint_print(p, abs);

    mcp_buf_add(buf, text, (size_t) (p - text));
}


/* Writes the escape of a character that needs one (6 bytes at most). */
static char *
mcp_buf_escape_char(char *p, char c)
{
    static const char  hex[] = "0123456789abcdef";

    *p++ = '\\';

    switch (c) {
    case '"':
    case '\\':
        *p++ = c;
        return p;
    case '\b':
        *p++ = 'b';
        return p;
    case '\f':
        *p++ = 'f';
        return p;
    case '\n':
        *p++ = 'n';
        return p;
    case '\r':
        *p++ = 'r';
        return p;
    case '\t':
        *p++ = 't';
        return p;
    }

    *p++ = 'u';
    *p++ = '0';
    *p++ = '0';
    *p++ = hex[(unsigned char) c >> 4];
    *p++ = hex[c & 15];

    return p;
}


void
mcp_buf_escape(mcp_buf_t *buf, mcp_str_t s)
{
    char    escape[8], *p;
    size_t  i, start;

    start = 0;

    for (i = 0; i < s.len; i++) {
        if ((unsigned char) s.data[i] >= 0x20
            && s.data[i] != '"' && s.data[i] != '\\')
        {
            continue;
        }

        mcp_buf_add(buf, s.data + start, i - start);
        start = i + 1;

        p = mcp_buf_escape_char(escape, s.data[i]);
        mcp_buf_add(buf, escape, (size_t) (p - escape));
    }

    if (s.len > start) {
        mcp_buf_add(buf, s.data + start, s.len - start);
    }
}


void
mcp_buf_json(mcp_buf_t *buf, mcp_str_t s)
{
    mcp_buf_lit(buf, "\"");
    mcp_buf_escape(buf, s);
    mcp_buf_lit(buf, "\"");
}


static char
mcp_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}


int
mcp_str_case_eq(mcp_str_t a, mcp_str_t b)
{
    size_t  i;

    if (a.len != b.len) {
        return 0;
    }

    for (i = 0; i < a.len; i++) {
        if (mcp_lower(a.data[i]) != mcp_lower(b.data[i])) {
            return 0;
        }
    }

    return 1;
}


int
mcp_str_uint(mcp_str_t s, uint64_t *out)
{
    size_t    i;
    unsigned  digit;
    uint64_t  n;

    if (s.len == 0) {
        return MCP_ERR_SYNTAX;
    }

    n = 0;

    for (i = 0; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '9') {
            return MCP_ERR_SYNTAX;
        }

        digit = (unsigned) (s.data[i] - '0');

        if (n > (UINT64_MAX - digit) / 10) {
            return MCP_ERR_SYNTAX;
        }

        n = n * 10 + digit;
    }

    *out = n;

    return MCP_OK;
}


char *
mcp_uint_print(char *p, uint64_t n)
{
    char    text[20], *d;
    size_t  len;

    d = text + sizeof(text);

    do {
        *--d = (char) ('0' + n % 10);
        n /= 10;
    } while (n > 0);

    len = (size_t) (text + sizeof(text) - d);
    memcpy(p, d, len);

    return p + len;
}
