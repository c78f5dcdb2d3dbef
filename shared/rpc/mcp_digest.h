/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The canonical digest of a request's params: all texts of the same JSON have
 * the same digest.  So a value that is bound to a request stays valid if a
 * client, or a proxy, parses params and writes them again.
 */


#ifndef MCP_DIGEST_H_INCLUDED
#define MCP_DIGEST_H_INCLUDED


#include "json/mcp_json.h"
#include "base/mcp_token.h"


/*
 * Computes the digest of params: an object that a scan has accepted, or
 * nothing, which counts as an empty object.
 *
 * These make no difference: the order of members, escapes in keys and strings,
 * white space, and how a number is written (1, 1.0, 10e-1; 0 and -0).  The
 * order of members with the same name does count.  Two comparisons are less
 * exact: an unpaired surrogate counts as U+FFFD, and numbers with an exponent
 * of more than 15 digits are compared as text.
 *
 * The members of params that change when a request is repeated are left out:
 * "_meta", "idempotencyKey", "inputResponses", "requestState" and
 * "resumeToken".
 *
 * Temporary memory is as much as the text, and 40 bytes for each member of the
 * objects that are open at a time.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     more than max_depth containers deep
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_digest_params(const mcp_mem_t *mem, mcp_str_t params,
    unsigned max_depth, unsigned char out[MCP_DIGEST_LEN]);


#endif /* MCP_DIGEST_H_INCLUDED */
