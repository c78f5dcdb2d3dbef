/* SPDX-License-Identifier: Apache-2.0 */

/* The sockets that the pump watches. */

#ifndef MOD_MCP_WATCH_H
#define MOD_MCP_WATCH_H

#include "mod_mcp.h"

apr_status_t mod_mcp_watch_start(void);
void mod_mcp_watch_stop(void);

/* The client's socket, or -1. */
int mod_mcp_watch_fd(mod_mcp_client_t *client);

/* Under the lock: watches whether the client leaves; and no longer. */
void mod_mcp_watch_add(mod_mcp_client_t *client);
void mod_mcp_watch_remove(mod_mcp_client_t *client);

/* Likewise, no longer until the connection's next call.  What happens to the
 * client meanwhile, mod_mcp_watch_add() notices. */
void mod_mcp_watch_rest(mod_mcp_client_t *client);

/* Likewise, no longer: the socket is closed, or will be at once. */
void mod_mcp_watch_forget(mod_mcp_client_t *client);

/* The same without the lock, and for these events of epoll as well. */
void mod_mcp_watch_for(mod_mcp_client_t *client, apr_uint32_t events);

/* Watches a socket that belongs to no client, until it is closed: see
 * mod_mcp_cluster_event(), id > 0.  0: that is impossible, says errno. */
int mod_mcp_watch_socket(int fd, apr_uint32_t id);

/*
 * Under the lock, before the core gets what a backend call has brought or its
 * end: notices if the client (which may be NULL) has left, although no event
 * said so yet.
 */
void mod_mcp_watch_look(mod_mcp_client_t *client);

/* Waits for events, for timeout ms at most, and marks the clients that they are
 * for.  Returns 1 if the bell rang. */
int mod_mcp_watch_wait(int timeout);

#endif /* MOD_MCP_WATCH_H */
