/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A growing byte buffer with a hard maximum.
 *
 * The first append that fails sets "failed" to MCP_ERR_LIMIT or MCP_ERR_MEMORY,
 * and later appends do nothing: callers check once, after a series of appends.
 */


#ifndef MCP_BUF_H_INCLUDED
#define MCP_BUF_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


typedef struct {
    const mcp_mem_t  *mem;
    char             *data;
    size_t            len;
    size_t            cap;
    size_t            max;
    int               failed;          /* MCP_OK or the first error */
} mcp_buf_t;


/* The content of a buffer, valid until the buffer changes. */
#define mcp_buf_text(buf)  ((mcp_str_t) { (buf)->data, (buf)->len })


/* Initializes an empty buffer; max is the maximum length in bytes. */
static inline void
mcp_buf_init(mcp_buf_t *buf, const mcp_mem_t *memory, size_t max)
{
    buf->mem = memory;
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->max = max;
    buf->failed = MCP_OK;
}

/* Frees the memory and clears "failed"; the buffer can be used again. */
static inline void
mcp_buf_free(mcp_buf_t *buf)
{
    if (buf->data != NULL) {
        buf->mem->free(buf->mem->ctx, buf->data);
        mcp_buf_init(buf, buf->mem, buf->max);
    }

    buf->failed = MCP_OK;
}

/*
 * Reserves n more bytes. Returns their address, or NULL on failure. The caller
 * writes them and increases len.
 */
char *mcp_buf_reserve(mcp_buf_t *buf, size_t n);

void mcp_buf_add(mcp_buf_t *buf, const void *data, size_t len);
void mcp_buf_str(mcp_buf_t *buf, mcp_str_t s);

/* Appends n in decimal. */
void mcp_buf_int(mcp_buf_t *buf, int64_t n);

/* Appends s, which must be UTF-8, as a JSON string with its quotes. */
void mcp_buf_json(mcp_buf_t *buf, mcp_str_t s);

/*
 * Appends s like mcp_buf_json() but without quotes, for a string that is
 * written in pieces.
 */
void mcp_buf_escape(mcp_buf_t *buf, mcp_str_t s);

/* Appends a string literal. */
#define mcp_buf_lit(buf, text)  mcp_buf_add(buf, text, sizeof(text) - 1)


MCP_DECLARATIONS_END


#endif /* MCP_BUF_H_INCLUDED */
