/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Comparisons of sixteen bytes at once, for loops that search for the first
 * byte of a set: compare a block with a character (== or <, as signed bytes),
 * combine the results with |, and call mcp_simd_first(). For a processor
 * without such vectors, the compiler uses two words of eight bytes instead.
 */


#ifndef MCP_SIMD_H_INCLUDED
#define MCP_SIMD_H_INCLUDED


#include "mcp.h"


#define MCP_SIMD  16

typedef signed char  mcp_simd_t __attribute__((vector_size(MCP_SIMD)));
typedef uint64_t     mcp_simd_words_t __attribute__((vector_size(MCP_SIMD)));


static inline mcp_simd_t
mcp_simd(const char *p)
{
    mcp_simd_t  block;

    memcpy(&block, p, MCP_SIMD);

    return block;
}


/* Returns the index of the first nonzero byte in a word that is not 0. */
static inline size_t
mcp_simd_in_word(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif

    return (size_t) __builtin_ctzll(word) >> 3;
}


/*
 * Returns the index of the first nonzero byte in a block, MCP_SIMD if there is
 * none.
 */
static inline size_t
mcp_simd_first(mcp_simd_t suits)
{
    mcp_simd_words_t  words;

    words = (mcp_simd_words_t) suits;

    if (words[0] != 0) {
        return mcp_simd_in_word(words[0]);
    }

    return words[1] != 0 ? 8 + mcp_simd_in_word(words[1]) : MCP_SIMD;
}


#endif /* MCP_SIMD_H_INCLUDED */
