/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The messages of a subscription (2026-07-28, basic/patterns/subscriptions):
 * the _meta of each message has the raw id of the request that opened the
 * subscription, exactly as the client sent it.
 */


#ifndef MCP_SUBSCRIPTION_H_INCLUDED
#define MCP_SUBSCRIPTION_H_INCLUDED


#include "json/mcp_json.h"


#define MCP_SUBSCRIPTION_ID  "io.modelcontextprotocol/subscriptionId"


/*
 * Appends a notification in the form in which it is stored for subscriptions:
 *
 *   {"jsonrpc":"2.0","method":"...","params":{"_meta":{...},...}}
 *
 * so that the position of the id is known: after the third brace. message is
 * an accepted text of one line; method is its unescaped method, and needs no
 * escapes. Other members of the message than params are omitted, and so is the
 * id of another subscription.
 */
void mcp_subscription_form(mcp_buf_t *buf, mcp_str_t method,
    mcp_str_t message);


/* The state between two parts of a text with such messages as events. */
typedef struct {
    unsigned  braces;          /* number of braces of this message, up to
                                  three */
    unsigned  first:1;         /* 1: directly after the third brace */
} mcp_subscription_splice_t;

/*
 * Appends the next part of a text with events, and inserts the id into each
 * message. *splice must be zeros at first.
 */
void mcp_subscription_splice(mcp_subscription_splice_t *splice, mcp_str_t id,
    mcp_str_t text, mcp_buf_t *buf);


#endif /* MCP_SUBSCRIPTION_H_INCLUDED */
