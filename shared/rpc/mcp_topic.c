/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_topic.h"


static const mcp_str_t  mcp_topic_methods[MCP_TOPIC_COUNT] = {
    mcp_str("notifications/tools/list_changed"),
    mcp_str("notifications/prompts/list_changed"),
    mcp_str("notifications/resources/list_changed"),
    { NULL, 0 }
};


mcp_topic_e
mcp_topic_of(mcp_str_t method)
{
    unsigned  list;

    for (list = 0; list < MCP_TOPIC_LISTS; list++) {
        if (mcp_str_eq(method, mcp_topic_methods[list])) {
            return (mcp_topic_e) list;
        }
    }

    return MCP_TOPIC_COUNT;
}


mcp_str_t
mcp_topic_method(mcp_topic_e list)
{
    return mcp_topic_methods[list];
}


int
mcp_topic_list(mcp_topic_e list, const unsigned char *catalog_key,
    unsigned char topic[MCP_DIGEST_LEN])
{
    mcp_str_t  parts[3];

    parts[0] = mcp_str("list_changed");
    parts[1] = mcp_topic_methods[list];
    parts[2].data = (const char *) catalog_key;
    parts[2].len = catalog_key ? MCP_DIGEST_LEN : 0;

    return mcp_digest(topic, parts, 3);
}


static int
mcp_topic_digest(mcp_str_t kind, mcp_str_t subject,
    unsigned char topic[MCP_DIGEST_LEN])
{
    mcp_str_t  parts[2] = { kind, subject };

    return mcp_digest(topic, parts, 2);
}


int
mcp_topic_session_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN])
{
    return mcp_topic_digest(mcp_str("session_uri"), uri, topic);
}


int
mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN])
{
    return mcp_topic_digest(mcp_str("uri"), uri, topic);
}


int
mcp_topic_task(const unsigned char stream[MCP_STREAM_ID_LEN],
    unsigned char topic[MCP_DIGEST_LEN])
{
    mcp_str_t  id = { (const char *) stream, MCP_STREAM_ID_LEN };

    return mcp_topic_digest(mcp_str("task"), id, topic);
}
