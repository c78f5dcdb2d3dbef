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
 * so that the place where the id is inserted is known: after the third brace.
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


#endif /* MCP_SUBSCRIPTION_H_INCLUDED */
