/* SPDX-License-Identifier: Apache-2.0 */

/* Redis's protocol, RESP version 2. This module writes commands; hiredis
 * parses replies. A reader of replies needs a bounded amount of memory for any
 * input, and all replies have the form that is declared here. */


#ifndef MCP_CLUSTER_REDIS_PROTOCOL_H_INCLUDED
#define MCP_CLUSTER_REDIS_PROTOCOL_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_buf.h"


/* Maximum number of elements of one array. */
#define MCP_WIRE_ITEMS  65536


typedef enum {
    MCP_REPLY_NIL = 0,
    MCP_REPLY_TEXT,            /* any bytes */
    MCP_REPLY_STATUS,          /* such as "OK" */
    MCP_REPLY_ERROR,           /* such as "ERR unknown command" */
    MCP_REPLY_NUMBER,
    MCP_REPLY_ARRAY
} mcp_reply_e;


typedef struct mcp_reply_s  mcp_reply_t;

struct mcp_reply_s {
    mcp_reply_e    type;
    mcp_str_t      text;       /* for TEXT, STATUS and ERROR */
    int64_t        number;
    mcp_reply_t  **items;      /* for ARRAY: n elements that are not NULL */
    size_t         n;
};


typedef struct mcp_wire_s  mcp_wire_t;


/* Appends a command of n words to buf. */
void mcp_wire_command(mcp_buf_t *buf, const mcp_str_t *argv, size_t n);


/* Returns a reader for replies of at most max bytes, both as received and in
 * memory, or NULL when out of memory. */
mcp_wire_t *mcp_wire_create(const mcp_mem_t *mem, size_t max);
void mcp_wire_free(mcp_wire_t *wire);

/* Passes len bytes that Redis has sent to the parser. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_wire_feed(mcp_wire_t *wire, const char *data, size_t len);

/*
 * Sets *reply to the next reply, which is valid until the next call of this
 * function.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       the reply is not complete yet
 *   MCP_ERR_SYNTAX  the input is not a valid reply, is nested too deeply, or
 *                   there was no memory: the connection must be closed
 *   MCP_ERR_LIMIT   the reply is too long: the connection must be closed
 */
int mcp_wire_next(mcp_wire_t *wire, const mcp_reply_t **reply);

/* Returns element i of an array, or a NIL reply if there is no such element or
 * reply is not an array. */
const mcp_reply_t *mcp_reply_item(const mcp_reply_t *reply, size_t i);

/* Returns 1 if reply is a text or status equal to text. */
int mcp_reply_is(const mcp_reply_t *reply, const char *text);

/* Returns the number in a reply, which may be a decimal text. Returns 0 if the
 * reply contains no number or a negative one. */
uint64_t mcp_reply_number(const mcp_reply_t *reply);


#endif /* MCP_CLUSTER_REDIS_PROTOCOL_H_INCLUDED */
