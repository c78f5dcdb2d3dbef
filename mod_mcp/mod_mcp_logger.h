/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A thread besides the event loop.  It logs the requests of suspended clients
 * after their responses have been sent, because writing a log may block.
 */

#ifndef MOD_MCP_LOGGER_H
#define MOD_MCP_LOGGER_H

#include "mod_mcp.h"

apr_status_t mod_mcp_logger_start(apr_pool_t *pchild);
void mod_mcp_logger_stop(void);

/*
 * Passes a client to the logger, which returns the client to the event loop in
 * state CLOSING.  Called under mod_mcp_lock().
 */
void mod_mcp_logger_queue(mod_mcp_client_t *client);

#endif /* MOD_MCP_LOGGER_H */
