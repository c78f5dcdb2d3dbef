/* SPDX-License-Identifier: Apache-2.0 */

/* Topics: what clients subscribe to, as the store knows it. */


#ifndef MCP_TOPIC_H_INCLUDED
#define MCP_TOPIC_H_INCLUDED


#include "base/mcp_token.h"


/* That a list of tools, prompts or resources has changed.  MCP_OK, or
 * MCP_ERR_INTERNAL. */
int mcp_topic_list_changed(unsigned char topic[MCP_DIGEST_LEN]);

/* That a resource has changed, of this plain URI.  The same. */
int mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);


#endif /* MCP_TOPIC_H_INCLUDED */
