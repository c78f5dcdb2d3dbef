/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ids of requests, and progress tokens: raw JSON strings or numbers. Two ids
 * are equal if their values are equal, even in different notations.
 */


#ifndef MCP_ID_H_INCLUDED
#define MCP_ID_H_INCLUDED


#include "json/mcp_json.h"
#include "base/mcp_token.h"


/*
 * Sets *plain to the canonical form of a raw id, which is used only for
 * comparison: a quote and the unescaped text of a string, the digits and the
 * power of ten of a number ("12e2" for 1200 and 1.2E3), anything else
 * unchanged. *plain is in raw or in the arena.
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


#endif /* MCP_ID_H_INCLUDED */
