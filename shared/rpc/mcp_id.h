/* SPDX-License-Identifier: Apache-2.0 */

/* Ids of requests and progress tokens: raw JSON, strings or numbers, that are
 * the same if they say the same, however they are spelled. */


#ifndef MCP_ID_H_INCLUDED
#define MCP_ID_H_INCLUDED


#include "json/mcp_json.h"
#include "base/mcp_token.h"


/*
 * What a raw id says, in the one spelling that all of its spellings have: of a
 * string a quote and its text, unescaped, of a number its digits and its power
 * of ten ("12e2" for 1200 and 1.2E3), anything else as it is.  Of no use but to
 * be compared.  In raw or in the arena.  MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_id_plain(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *plain);

/* 1 if two raw ids say the same; 0 also when out of memory. */
int mcp_id_same(const mcp_mem_t *mem, mcp_str_t a, mcp_str_t b);

/* The digest of what a raw id says behind a prefix, which may be empty: the
 * same for all spellings.  MCP_OK, MCP_ERR_MEMORY or what
 * mcp_digest() returns. */
int mcp_id_digest(const mcp_mem_t *mem, mcp_str_t prefix, mcp_str_t raw,
    unsigned char digest[MCP_DIGEST_LEN]);


#endif /* MCP_ID_H_INCLUDED */
