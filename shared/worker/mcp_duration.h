/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Durations of the requests and notifications of clients, from the time when
 * the message was received until its response is ready.
 *
 * A request that begins a call is counted by the call, when its result is
 * known. All other messages are counted here: notifications, requests with a
 * local response or an error, requests that join a call, and requests that read
 * an earlier stream or a stream without a call. The duration of a request that
 * joins a call ends with its response. The duration of a request that reads an
 * earlier stream or a stream without a call ends when its response begins.
 */


#ifndef MCP_DURATION_H_INCLUDED
#define MCP_DURATION_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Counts the message of an exchange if it is a request or a notification, was
 * not counted before, and is not counted by its call. */
void mcp_duration_answered(mcp_exchange_t *x, mcp_error_type_e error);

/* Counts the message of an exchange whose response is a stream that begins now.
 * Does nothing for a request that gets the result of a call: a joined reader is
 * counted when it gets the response, and the request that began the call is
 * counted by the call. */
void mcp_duration_opened(mcp_exchange_t *x);

/* Counts one message, which does not begin a call; for a batch, called for each
 * of its messages. name is the name of a tool or prompt, and may be empty. */
void mcp_duration_count(mcp_exchange_t *x, const mcp_method_t *method,
    mcp_str_t name, mcp_error_type_e error);


#endif /* MCP_DURATION_H_INCLUDED */
