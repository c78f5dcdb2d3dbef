/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ids of requests, and progress tokens: raw JSON strings or numbers. Two ids
 * are equal if their values are equal, even in different notations.
 *
 * Ids of tasks (extension io.modelcontextprotocol/tasks): signed tokens that
 * contain the id of the call's stream, so that every process can find the
 * stream.
 */


#ifndef MCP_REQUEST_ID_H_INCLUDED
#define MCP_REQUEST_ID_H_INCLUDED


#include "base/mcp_token.h"
#include "http/mcp_sse.h"
#include "json/mcp_json_scan.h"


/*
 * Writes the digits of a JSON number without its sign to out, which has room
 * for number.len bytes: without zeros at either end, and nothing for zero. Sets
 * *exponent to the power of ten of the last digit. Returns the end of the
 * digits, or NULL if the exponent has more than 15 digits.
 */
char *mcp_id_digits(char *out, mcp_str_t number, int64_t *exponent);

/*
 * Sets *plain to the canonical form of a raw id, which is used only for
 * comparison:
 *
 *   string         a quote and the unescaped text
 *   number         its digits and its power of ten: "12e2" for 1200 and 1.2E3
 *   anything else  raw itself, also for a number with an exponent of more than
 *                  15 digits
 *
 * *plain is in raw or in the arena.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_id_plain(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *plain);

/* Returns 1 if two raw ids are equal; 0 also when out of memory. */
int mcp_id_same(const mcp_mem_t *mem, mcp_str_t a, mcp_str_t b);

/*
 * Computes the digest of a prefix, which may be empty, and the canonical form
 * of a raw id.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_id_digest(const mcp_mem_t *mem, mcp_str_t prefix, mcp_str_t raw,
    unsigned char digest[MCP_DIGEST_LEN]);


/* --- ids of tasks --- */

typedef struct {
    unsigned char  stream[MCP_STREAM_ID_LEN];
    uint64_t       created;            /* time of creation, ms of
                                          mcp_env_t.now */
    uint64_t       ttl;                /* time to live after the creation,
                                          ms */
} mcp_task_id_t;


/*
 * Appends the id of a task, a signed token, to out.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  there is no key, or OpenSSL failed
 *   out->failed       the buffer has failed
 */
int mcp_task_id_write(const mcp_task_id_t *id, const mcp_keys_t *keys,
    mcp_buf_t *out);

/*
 * Verifies a client's task id.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the id was not signed with a configured key, or the task
 *                      has expired
 *   MCP_ERR_INTERNAL   OpenSSL failed
 */
int mcp_task_id_read(mcp_task_id_t *id, const mcp_keys_t *keys, mcp_str_t text,
    uint64_t now);


#endif /* MCP_REQUEST_ID_H_INCLUDED */
