/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sixteen bytes of a text at once, for loops that look for the first byte of a
 * kind: compare a block with a character (== or <, as signed bytes), combine
 * the results with |, and ask for the first byte that suits.  The compiler has
 * vectors for every processor, if only as two words; it is helped where one
 * instruction tells which bytes suit.
 */


#ifndef MCP_WIDE_H_INCLUDED
#define MCP_WIDE_H_INCLUDED


#include "mcp.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif


#define MCP_WIDE  16

typedef signed char  mcp_wide_t __attribute__((vector_size(MCP_WIDE)));
typedef uint64_t     mcp_wide_words_t __attribute__((vector_size(MCP_WIDE)));


static inline mcp_wide_t
mcp_wide(const char *p)
{
    mcp_wide_t  block;

    memcpy(&block, p, MCP_WIDE);

    return block;
}


/* Which of eight bytes is the first that suits. */
static inline size_t
mcp_wide_in_word(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif

    return (size_t) __builtin_ctzll(word) >> 3;
}


/* Which byte of a block is the first that suits; MCP_WIDE: none. */
static inline size_t
mcp_wide_first(mcp_wide_t suits)
{
#if defined(__SSE2__)
    unsigned  bits;

    bits = (unsigned) _mm_movemask_epi8((__m128i) suits);

    return bits != 0 ? (size_t) __builtin_ctz(bits) : MCP_WIDE;

#else
    mcp_wide_words_t  words;

    words = (mcp_wide_words_t) suits;

    if (words[0] != 0) {
        return mcp_wide_in_word(words[0]);
    }

    return words[1] != 0 ? 8 + mcp_wide_in_word(words[1]) : MCP_WIDE;
#endif
}

#endif /* MCP_WIDE_H_INCLUDED */
