/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_topic.h"


int
mcp_topic_list_changed(unsigned char topic[MCP_DIGEST_LEN])
{
    mcp_str_t  part;

    part = mcp_str("list_changed");

    return mcp_digest(topic, &part, 1);
}


int
mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN])
{
    mcp_str_t  parts[2];

    parts[0] = mcp_str("uri");
    parts[1] = uri;

    return mcp_digest(topic, parts, 2);
}
