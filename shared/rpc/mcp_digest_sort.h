/* SPDX-License-Identifier: Apache-2.0 */

/* The order in which the members of an object are hashed. */


#ifndef MCP_DIGEST_SORT_H_INCLUDED
#define MCP_DIGEST_SORT_H_INCLUDED


#include "json/mcp_json.h"


/*
 * Terminates a string in the hashed text: a byte that does not occur in UTF-8.
 */
#define MCP_DIGEST_END '\xff'


/* A member in the hashed text: its name, a string, and its value. */
typedef struct {
    uint64_t  piece;                   /* eight bytes of the folded name */
    uint32_t  start;                   /* offset of the member in the hashed
                                          text */
    uint32_t  end;                     /* offset after its last byte */
    uint32_t  at;                      /* offset of the next byte of the name
                                          to be read */
} mcp_digest_member_t;


/*
 * Sorts n members, which are in the order of their offsets, by their folded
 * names. Members with names that some JSON parsers confuse (mcp_json_alike())
 * keep their order. scratch has room for n members.
 *
 * The time is linear in the length of all names: each piece of a name is read
 * at most once.
 *
 * Returns the number of pieces that were read.
 */
size_t mcp_digest_sort(const char *text, mcp_digest_member_t *members,
    mcp_digest_member_t *scratch, size_t n);


#endif /* MCP_DIGEST_SORT_H_INCLUDED */
