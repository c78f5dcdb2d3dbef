/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_subscription.h"


#define MCP_SUBSCRIPTION_BRACES  3


void
mcp_subscription_form(mcp_buf_t *buf, mcp_str_t method, mcp_str_t message)
{
    mcp_json_value_t  params, meta;

    params = mcp_json_get_from(message, mcp_str("params"));
    meta = mcp_json_get(&params, mcp_str("_meta"));

    mcp_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    mcp_buf_str(buf, method);
    mcp_buf_lit(buf, "\",\"params\":{\"_meta\":{");
    mcp_json_add_members(buf, &meta, mcp_str(MCP_SUBSCRIPTION_ID), NULL);
    mcp_buf_lit(buf, "}");
    mcp_json_add_members(buf, &params, mcp_str("_meta"), NULL);
    mcp_buf_lit(buf, "}}");
}


/*
 * Appends the subscription id as the first member of _meta. If alone is 0,
 * other members of _meta follow, so a comma is appended as well.
 */
static void
mcp_subscription_id(mcp_str_t id, int alone, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(buf, id);

    if (!alone) {
        mcp_buf_lit(buf, ",");
    }
}


void
mcp_subscription_splice(mcp_subscription_splice_t *splice, mcp_str_t id,
    mcp_str_t text, mcp_buf_t *buf)
{
    size_t       n;
    const char  *p;

    while (text.len > 0) {

        if (splice->first) {
            mcp_subscription_id(id, text.data[0] == '}', buf);
            splice->first = 0;
        }

        /*
         * copies up to the next "{" or, after the third "{" of a message, up to
         * the line feed that ends the message. Both searches ignore JSON
         * syntax, because mcp_subscription_form() writes no string with a brace
         * before the third "{", and no line feed.
         */

        p = memchr(text.data,
                   splice->braces < MCP_SUBSCRIPTION_BRACES ? '{' : '\n',
                   text.len);

        n = p ? (size_t) (p - text.data) + 1 : text.len;
        mcp_buf_add(buf, text.data, n);
        text.data += n;
        text.len -= n;

        if (p == NULL) {
            break;
        }

        if (splice->braces < MCP_SUBSCRIPTION_BRACES) {
            splice->braces++;
            splice->first = splice->braces == MCP_SUBSCRIPTION_BRACES;

        } else {
            splice->braces = 0;
        }
    }
}


/* --- topics --- */

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
