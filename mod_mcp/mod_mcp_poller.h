/* SPDX-License-Identifier: Apache-2.0 */

/* The sockets that the event loop polls. */

#ifndef MOD_MCP_POLLER_H
#define MOD_MCP_POLLER_H

#include "mod_mcp.h"

apr_status_t mod_mcp_poller_start(void);
void mod_mcp_poller_stop(void);

/* Returns the descriptor of the client's socket, or -1 if the client has
 * none. */
int mod_mcp_poller_fd(mod_mcp_client_t *client);

/*
 * Start and stop polling for the disconnection of the client.  Called under
 * mod_mcp_lock().
 */
void mod_mcp_poller_add(mod_mcp_client_t *client);
void mod_mcp_poller_remove(mod_mcp_client_t *client);

/*
 * Pauses polling until the next call on the client's connection.  If the
 * client disconnects meanwhile, the next mod_mcp_poller_add() makes epoll
 * report this again.  Called under mod_mcp_lock().
 */
void mod_mcp_poller_rest(mod_mcp_client_t *client);

/*
 * Frees the entry of a client whose socket is closed, or is about to be
 * closed. Called under mod_mcp_lock().
 */
void mod_mcp_poller_forget(mod_mcp_client_t *client);

/*
 * Polls for the disconnection of the client, and for the given events of
 * epoll.  Calls mod_mcp_lock().
 */
void mod_mcp_poller_for(mod_mcp_client_t *client, apr_uint32_t events);

/*
 * Polls the socket of a connection to Redis until the socket is closed.  Passes
 * its events to mod_mcp_cluster_event() with the connection's id, which is
 * greater than 0.  Returns 1, or 0 with errno set.
 */
int mod_mcp_poller_socket(int fd, apr_uint32_t id);

/*
 * Queries the socket of the client (may be NULL), without waiting for an event
 * of epoll.  If the client has disconnected, frees its exchange.  Called under
 * mod_mcp_lock(), before the core gets output or the end of a backend request.
 */
void mod_mcp_poller_check(mod_mcp_client_t *client);

/*
 * Waits for events, at most timeout ms, and adds work to their clients.
 * Returns 1 if this process was woken.
 */
int mod_mcp_poller_wait(int timeout);

#endif /* MOD_MCP_POLLER_H */
