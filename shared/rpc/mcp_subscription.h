/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The messages of a subscription (2026-07-28, basic/patterns/subscriptions):
 * each names, in its _meta, the request that opened the subscription, by the
 * raw id as its client sent it.
 */


#ifndef MCP_SUBSCRIPTION_H_INCLUDED
#define MCP_SUBSCRIPTION_H_INCLUDED


#include "json/mcp_json.h"


#define MCP_SUBSCRIPTION_ID  "io.modelcontextprotocol/subscriptionId"


/*
 * Appends a notification in the one form that subscriptions store:
 *
 *   {"jsonrpc":"2.0","method":"...","params":{"_meta":{...},...}}
 *
 * so that the id has a known place, behind the third brace.  message is an
 * accepted text of one line; its method is given plain, and is one that needs
 * no escapes.  What is neither params nor in them is left out, and so is an id
 * of another subscription.
 */
void mcp_subscription_form(mcp_buf_t *buf, mcp_str_t method,
    mcp_str_t message);


/* Where a text of such messages, as events, stands between two parts. */
typedef struct {
    unsigned  braces;          /* of this message, up to three */
    unsigned  first:1;         /* behind the third one: a comma may be due */
} mcp_subscription_splice_t;

/* Appends the next part of a text of events with the id in each message.  It
 * begins zeroed. */
void mcp_subscription_splice(mcp_subscription_splice_t *splice, mcp_str_t id,
    mcp_str_t text, mcp_buf_t *buf);


#endif /* MCP_SUBSCRIPTION_H_INCLUDED */
