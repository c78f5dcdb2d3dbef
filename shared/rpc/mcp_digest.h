/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The canonical digest of a request's params: all representations of the same
 * JSON value have the same digest. A value that is bound to a request thus
 * remains valid if a client, or a proxy, parses and rewrites params.
 */


#ifndef MCP_DIGEST_H_INCLUDED
#define MCP_DIGEST_H_INCLUDED


#include "base/mcp_token.h"
#include "json/mcp_json_scan.h"


/*
 * Computes the digest of params: an object that a scan has accepted, or an
 * empty text, which counts as an empty object.
 *
 * The digest does not depend on the order of members, escapes in keys and
 * strings, white space, or the notation of a number (1, 1.0, 10e-1; 0 and -0).
 * The order of members matters only if a backend may confuse their names
 * (mcp_json_alike()). Two comparisons are less exact: an unpaired surrogate
 * counts as U+FFFD, and numbers with an exponent of more than 15 digits are
 * compared as text.
 *
 * The members of params that differ when a request is repeated are excluded:
 * "_meta", "idempotencyKey", "inputResponses", "requestState" and
 * "resumeToken".
 *
 * Temporary memory is two to four times the length of params, and 48 to 96
 * bytes for each member of the objects that are open at the same time. The time
 * is linear in the length of params.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     more than max_depth nested containers, or longer than 4
 *                     GB
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_digest_params(const mcp_mem_t *mem, mcp_str_t params,
    unsigned max_depth, unsigned char out[MCP_DIGEST_LEN]);


/* --- the order of members, for mcp_digest.c and its test --- */

/*
 * Terminates a string in the hashed text: a byte that does not occur in UTF-8.
 */
#define MCP_DIGEST_END '\xff'


/* A member in the hashed text: its name, a string, and its value. */
typedef struct {
    uint64_t  piece;                   /* eight bytes of the folded name */
    uint32_t  start;                   /* offset of the member in the hashed
                                          text */
    uint32_t  end;                     /* offset of the byte after the member in
                                          the hashed text */
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


#endif /* MCP_DIGEST_H_INCLUDED */
