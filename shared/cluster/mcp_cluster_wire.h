/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Redis's protocol, RESP version 2: commands are written here, replies are read
 * with hiredis.  Whatever a server sends, a reader needs a bounded amount of
 * memory, and its replies have the form that is declared here.
 */


#ifndef MCP_CLUSTER_WIRE_H_INCLUDED
#define MCP_CLUSTER_WIRE_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_buf.h"


/* Elements of one array. */
#define MCP_WIRE_ITEMS  65536


typedef enum {
    MCP_REPLY_NIL = 0,
    MCP_REPLY_TEXT,            /* any bytes */
    MCP_REPLY_STATUS,          /* "OK" */
    MCP_REPLY_ERROR,           /* "ERR unknown command" */
    MCP_REPLY_NUMBER,
    MCP_REPLY_ARRAY
} mcp_reply_e;


typedef struct mcp_reply_s  mcp_reply_t;

struct mcp_reply_s {
    mcp_reply_e    type;
    mcp_str_t      text;       /* TEXT, STATUS, ERROR */
    int64_t        number;
    mcp_reply_t  **items;      /* ARRAY; none of them is NULL */
    size_t         n;
};


typedef struct mcp_wire_s  mcp_wire_t;


/* Appends a command of n words. */
void mcp_wire_command(mcp_buf_t *buf, const mcp_str_t *words, size_t n);


/* Returns a reader of replies whose bytes, or what is kept of them, are at most
 * max each; NULL when out of memory. */
mcp_wire_t *mcp_wire_create(const mcp_mem_t *mem, size_t max);
void mcp_wire_free(mcp_wire_t *wire);

/*
 * Takes len bytes that came from the server.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_wire_feed(mcp_wire_t *wire, const char *data, size_t len);

/*
 * Gives the next reply, which lives until the next call.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       it is not whole yet
 *   MCP_ERR_SYNTAX  what came is no reply, or out of bounds, or there was no
 *                   memory for it: the connection is of no use any more
 *   MCP_ERR_LIMIT   the same, of a reply that is too long
 */
int mcp_wire_next(mcp_wire_t *wire, const mcp_reply_t **reply);

/* Returns element i of an array, or a reply that is NIL: i is beyond its end,
 * or reply is no array. */
const mcp_reply_t *mcp_reply_item(const mcp_reply_t *reply, size_t i);

/* Returns 1 if reply is a text, or a status, that says just that. */
int mcp_reply_is(const mcp_reply_t *reply, const char *text);

/* Returns the number of a reply, which may be a text in decimal; 0: it is
 * none, or negative. */
uint64_t mcp_reply_number(const mcp_reply_t *reply);


#endif /* MCP_CLUSTER_WIRE_H_INCLUDED */
