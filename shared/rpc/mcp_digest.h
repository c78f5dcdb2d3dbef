/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The canonical digest of a request's params: the same for all texts of the
 * same JSON, so that what is bound to a request survives a client, or a proxy,
 * that parses params and writes them anew.
 */


#ifndef MCP_DIGEST_H_INCLUDED
#define MCP_DIGEST_H_INCLUDED


#include "json/mcp_json.h"
#include "base/mcp_token.h"


/*
 * The digest of params, an object that a scan has accepted, or nothing, which
 * is as if it was empty.  Makes no difference: the order of members, escapes
 * in keys and strings, white space, and how a number is written (1, 1.0,
 * 10e-1; 0 and -0).  Of members of one name the order counts.  Two things are
 * compared less exactly than they could be: an unpaired surrogate is U+FFFD,
 * and numbers with an exponent of more than 15 digits are compared as they are
 * written.
 *
 * Left out are what changes when a request is repeated: "_meta",
 * "inputResponses", "requestState" and "resumeToken", at the top.
 *
 * Takes memory for the time being: what the text takes, and 40 bytes for each
 * member of the objects that are open at a time.  MCP_OK; MCP_ERR_LIMIT: more
 * than max_depth containers deep; MCP_ERR_MEMORY; MCP_ERR_INTERNAL.
 */
int mcp_digest_params(const mcp_mem_t *mem, mcp_str_t params,
    unsigned max_depth, unsigned char out[MCP_DIGEST_LEN]);


#endif /* MCP_DIGEST_H_INCLUDED */
