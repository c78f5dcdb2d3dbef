/* SPDX-License-Identifier: Apache-2.0 */

/* Texts as integers, for loops that examine several bytes at once. The order of
 * the bytes in the integer depends on the processor. */


#ifndef MCP_WORD_H_INCLUDED
#define MCP_WORD_H_INCLUDED


#include "mcp.h"


/* Returns the eight bytes at p. */
static inline uint64_t
mcp_word(const char *p)
{
    uint64_t  word;

    memcpy(&word, p, sizeof(word));

    return word;
}


/* Returns the bytes of a text of 4 to 7 bytes: its first four and its last four
 * bytes, so that the bytes in the middle occur twice. */
static inline uint64_t
mcp_short_word(const char *p, size_t len)
{
    uint32_t  first, last;

    memcpy(&first, p, sizeof(first));
    memcpy(&last, p + len - sizeof(last), sizeof(last));

    return (uint64_t) first << 32 | last;
}


#endif /* MCP_WORD_H_INCLUDED */
