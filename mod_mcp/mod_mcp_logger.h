/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A second thread of the pump's, which logs the requests of suspended clients
 * when their response is sent.
 */

#ifndef MOD_MCP_LOGGER_H
#define MOD_MCP_LOGGER_H

#include "mod_mcp.h"

apr_status_t mod_mcp_logger_start(apr_pool_t *pchild);
void mod_mcp_logger_stop(void);

/* Under the lock: hands a client over; it comes back to the pump as CLOSING. */
void mod_mcp_logger_queue(mod_mcp_client_t *client);

#endif /* MOD_MCP_LOGGER_H */
