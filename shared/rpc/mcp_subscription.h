/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The messages of a subscription (2026-07-28, basic/patterns/subscriptions):
 * the _meta of each message has the raw id of the request that opened the
 * subscription, exactly as the client sent it.
 *
 * Topics: the subjects of subscriptions, as digests that are keys in the store.
 * A session's listener and a subscription receive different texts about the
 * same change, so they have different topics. A change of a list that was
 * published has a topic for the whole zone. A change of a list by a reload of
 * the configuration has a topic for one catalog (catalog_key in
 * mcp_endpoint_t).
 */


#ifndef MCP_SUBSCRIPTION_H_INCLUDED
#define MCP_SUBSCRIPTION_H_INCLUDED


#include "base/mcp_token.h"
#include "http/mcp_sse.h"
#include "json/mcp_json_scan.h"


#define MCP_SUBSCRIPTION_ID  "io.modelcontextprotocol/subscriptionId"


/*
 * Appends a notification in the form in which it is stored for subscriptions:
 *
 *   {"jsonrpc":"2.0","method":"...","params":{"_meta":{...},...}}
 *
 * In this form, the id is always inserted after the third opening brace.
 * message is a valid notification on one line; method is its unescaped method,
 * which must need no escapes. Members of the message other than params are
 * omitted, and so is the subscription id of another server.
 */
void mcp_subscription_form(mcp_buf_t *buf, mcp_str_t method,
    mcp_str_t message);


/* The state of mcp_subscription_splice() between two parts of a text. The text
 * consists of events with stored notifications. */
typedef struct {
    unsigned  braces;          /* number of braces of the current message that
                                  were copied, up to three */
    unsigned  first:1;         /* 1: the last copied byte is the third brace */
} mcp_subscription_splice_t;

/*
 * Appends the next part of a text with events, and inserts the id into each
 * message. All fields of *splice must be zero before the first part.
 */
void mcp_subscription_splice(mcp_subscription_splice_t *splice, mcp_str_t id,
    mcp_str_t text, mcp_buf_t *buf);


/* --- topics --- */

typedef enum {
    MCP_TOPIC_TOOLS = 0,
    MCP_TOPIC_PROMPTS,
    MCP_TOPIC_RESOURCES,       /* resources and resource templates */
    MCP_TOPIC_LISTS,           /* any of the lists above, for the listeners of
                                  sessions */

    MCP_TOPIC_COUNT
} mcp_topic_e;


/*
 * mcp_topic_of() returns the list whose change a notification with this method
 * announces, or MCP_TOPIC_COUNT if the method announces none.
 * mcp_topic_method() returns the method that announces a change of this list.
 */
mcp_topic_e mcp_topic_of(mcp_str_t method);
mcp_str_t mcp_topic_method(mcp_topic_e list);

/*
 * Computes the topic of changes of a list in the catalog with this key; if
 * catalog_key is NULL, that of published changes of the list. Returns MCP_OK
 * or MCP_ERR_INTERNAL.
 */
int mcp_topic_list(mcp_topic_e list, const unsigned char *catalog_key,
    unsigned char topic[MCP_DIGEST_LEN]);

/*
 * Compute the topics of changes of a resource with this URI in normal form:
 * mcp_topic_session_uri() for sessions, mcp_topic_uri() for subscriptions.
 * Return MCP_OK or MCP_ERR_INTERNAL.
 */
int mcp_topic_session_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);
int mcp_topic_uri(mcp_str_t uri, unsigned char topic[MCP_DIGEST_LEN]);

/*
 * Computes the topic of changes of a task, identified by its stream. Returns
 * MCP_OK or MCP_ERR_INTERNAL.
 */
int mcp_topic_task(const unsigned char stream[MCP_STREAM_ID_LEN],
    unsigned char topic[MCP_DIGEST_LEN]);


#endif /* MCP_SUBSCRIPTION_H_INCLUDED */
