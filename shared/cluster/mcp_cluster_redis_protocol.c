/* SPDX-License-Identifier: Apache-2.0 */

/* Redis's protocol. hiredis parses the replies and calls functions of this
 * file, which build each reply in an arena. Only hiredis's reader and its
 * buffer come from malloc(). */


#include <hiredis/hiredis.h>

#include "cluster/mcp_cluster_redis_protocol.h"


struct mcp_wire_s {
    const mcp_mem_t  *mem;
    redisReader      *reader;
    mcp_arena_t       arena;   /* memory of the current or last reply */
    size_t            max;
    size_t            kept;    /* number of bytes of the current reply */
};


static const mcp_reply_t  mcp_wire_nil;


/* Maximum nesting of arrays, the limit of hiredis before version 1. */
#define MCP_WIRE_DEPTH  9


void
mcp_wire_command(mcp_buf_t *buf, const mcp_str_t *argv, size_t n)
{
    size_t  i;

    mcp_buf_lit(buf, "*");
    mcp_buf_int(buf, (int64_t) n);
    mcp_buf_lit(buf, "\r\n");

    for (i = 0; i < n; i++) {
        mcp_buf_lit(buf, "$");
        mcp_buf_int(buf, (int64_t) argv[i].len);
        mcp_buf_lit(buf, "\r\n");
        mcp_buf_str(buf, argv[i]);
        mcp_buf_lit(buf, "\r\n");
    }
}


/* --- functions that hiredis calls --- */

/* Creates a reply with room for len more bytes after it, and adds it to its
 * parent. Returns NULL if the reply is nested too deeply or does not fit into
 * memory: hiredis then ends parsing. */
static mcp_reply_t *
mcp_wire_make(const redisReadTask *task, mcp_reply_e type, size_t len)
{
    size_t                size;
    unsigned              depth;
    mcp_wire_t           *wire;
    mcp_reply_t          *parent, *reply;
    const redisReadTask  *above;

    wire = task->privdata;
    parent = task->parent ? task->parent->obj : NULL;
    size = sizeof(mcp_reply_t) + len;
    depth = 1;

    for (above = task->parent; above; above = above->parent) {
        depth++;
    }

    if (depth > MCP_WIRE_DEPTH) {
        return NULL;
    }

    /* hiredis 0.14 truncates lengths to 32 bits: an array of 2^32 elements was
     * created here with room for none, but an element follows */

    if (task->parent
        && (parent == NULL || task->idx < 0
            || (size_t) task->idx >= parent->n))
    {
        return NULL;
    }

    if (size > wire->max - wire->kept) {
        wire->kept = wire->max;
        return NULL;
    }

    reply = mcp_arena_alloc(&wire->arena, size);

    if (reply == NULL) {
        return NULL;
    }

    wire->kept += size;
    *reply = mcp_wire_nil;
    reply->type = type;

    if (parent) {
        parent->items[task->idx] = reply;
    }

    return reply;
}


static void *
mcp_wire_string(const redisReadTask *task, char *data, size_t len)
{
    char         *p;
    mcp_reply_e   type;
    mcp_reply_t  *reply;

    switch (task->type) {
    case REDIS_REPLY_STRING:
        type = MCP_REPLY_TEXT;
        break;
    case REDIS_REPLY_STATUS:
        type = MCP_REPLY_STATUS;
        break;
    case REDIS_REPLY_ERROR:
        type = MCP_REPLY_ERROR;
        break;
    default:
        return NULL;
    }

    reply = mcp_wire_make(task, type, len);

    if (reply == NULL) {
        return NULL;
    }

    p = (char *) (reply + 1);
    memcpy(p, data, len);

    reply->text.data = p;
    reply->text.len = len;

    return reply;
}


#if HIREDIS_MAJOR >= 1
typedef size_t  mcp_wire_count_t;
#else
typedef int     mcp_wire_count_t;
#endif


static void *
mcp_wire_array(const redisReadTask *task, mcp_wire_count_t count)
{
    size_t        i, n;
    mcp_reply_t  *reply;

    n = (size_t) count;

    if (task->type != REDIS_REPLY_ARRAY || n > MCP_WIRE_ITEMS) {
        return NULL;
    }

    reply = mcp_wire_make(task, MCP_REPLY_ARRAY, n * sizeof(mcp_reply_t *));

    if (reply == NULL) {
        return NULL;
    }

    reply->n = n;
    reply->items = (mcp_reply_t **) (reply + 1);

    for (i = 0; i < n; i++) {
        reply->items[i] = NULL;
    }

    return reply;
}


static void *
mcp_wire_integer(const redisReadTask *task, long long number)
{
    mcp_reply_t  *reply;

    reply = mcp_wire_make(task, MCP_REPLY_NUMBER, 0);

    if (reply) {
        reply->number = number;
    }

    return reply;
}


/* Creates the reply NIL, for a string or array that does not exist. Returns
 * NULL for the null of RESP version 3, because that version was not
 * requested. */
static void *
mcp_wire_no_value(const redisReadTask *task)
{
    if (task->type == REDIS_REPLY_NIL) {
        return NULL;
    }

    return mcp_wire_make(task, MCP_REPLY_NIL, 0);
}


/* Does nothing: a reply is freed with its arena. */
static void
mcp_wire_forget(void *reply)
{
    (void) reply;
}


#if HIREDIS_MAJOR >= 1

/* Types of RESP version 3, which was not requested: NULL ends parsing with an
 * error. */

static void *
mcp_wire_double(const redisReadTask *task, double value, char *data,
    size_t len)
{
    (void) task;
    (void) value;
    (void) data;
    (void) len;

    return NULL;
}


static void *
mcp_wire_bool(const redisReadTask *task, int value)
{
    (void) task;
    (void) value;

    return NULL;
}

#endif


static const redisReplyObjectFunctions  mcp_wire_functions = {
    .createString = mcp_wire_string,
    .createArray = mcp_wire_array,
    .createInteger = mcp_wire_integer,
    .createNil = mcp_wire_no_value,
    .freeObject = mcp_wire_forget,
#if HIREDIS_MAJOR >= 1
    .createDouble = mcp_wire_double,
    .createBool = mcp_wire_bool,
#endif
};


/* --- the reader of replies --- */

mcp_wire_t *
mcp_wire_create(const mcp_mem_t *mem, size_t max)
{
    mcp_wire_t                 *wire;
    redisReplyObjectFunctions  *functions;

    /* hiredis only reads the functions, although they are not declared const */

    functions = (redisReplyObjectFunctions *) &mcp_wire_functions;
    wire = mcp_mem_calloc(mem, sizeof(mcp_wire_t));

    if (wire == NULL) {
        return NULL;
    }

    wire->mem = mem;
    wire->max = max;
    mcp_arena_init(&wire->arena, mem);
    wire->reader = redisReaderCreateWithFunctions(functions);

    if (wire->reader == NULL) {
        mcp_mem_free(mem, wire);
        return NULL;
    }

    wire->reader->privdata = wire;

    return wire;
}


void
mcp_wire_free(mcp_wire_t *wire)
{
    if (wire == NULL) {
        return;
    }

    redisReaderFree(wire->reader);
    mcp_arena_destroy(&wire->arena);
    mcp_mem_free(wire->mem, wire);
}


int
mcp_wire_feed(mcp_wire_t *wire, const char *data, size_t len)
{
    /* after an error, input is ignored; mcp_wire_next() reports the error */

    if (wire->reader->err || len == 0) {
        return MCP_OK;
    }

    return redisReaderFeed(wire->reader, data, len) == REDIS_OK
               ? MCP_OK
               : MCP_ERR_MEMORY;
}


int
mcp_wire_next(mcp_wire_t *wire, const mcp_reply_t **reply)
{
    void         *found;
    redisReader  *reader;

    reader = wire->reader;

    /* no reply has begun: free the previous one */

    if (reader->ridx == -1) {
        mcp_arena_reset(&wire->arena);
        wire->kept = 0;
    }

    found = NULL;

    if (reader->err || redisReaderGetReply(reader, &found) != REDIS_OK) {
        return wire->kept == wire->max ? MCP_ERR_LIMIT : MCP_ERR_SYNTAX;
    }

    if (found == NULL) {
        return reader->len - reader->pos > wire->max - wire->kept
                   ? MCP_ERR_LIMIT
                   : MCP_AGAIN;
    }

    *reply = found;

    return MCP_OK;
}


/* --- replies --- */

const mcp_reply_t *
mcp_reply_item(const mcp_reply_t *reply, size_t i)
{
    return reply->type == MCP_REPLY_ARRAY && i < reply->n ? reply->items[i]
                                                          : &mcp_wire_nil;
}


int
mcp_reply_is(const mcp_reply_t *reply, const char *text)
{
    mcp_str_t  s = { text, strlen(text) };

    return (reply->type == MCP_REPLY_TEXT || reply->type == MCP_REPLY_STATUS)
           && mcp_str_eq(reply->text, s);
}


uint64_t
mcp_reply_number(const mcp_reply_t *reply)
{
    uint64_t  n;

    if (reply->type == MCP_REPLY_NUMBER) {
        return reply->number > 0 ? (uint64_t) reply->number : 0;
    }

    n = 0;

    if (reply->type == MCP_REPLY_TEXT) {
        (void) mcp_str_uint(reply->text, &n);
    }

    return n;
}
