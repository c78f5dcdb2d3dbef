/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A snapshot is a copy of what the backend calls of one call need of the
 * client's request, for the call may outlive the request.  Several threads read
 * it; nothing in it changes but the client, which may leave.
 */

#ifndef MOD_MCP_SNAPSHOT_H
#define MOD_MCP_SNAPSHOT_H

#include "mod_mcp.h"

struct mod_mcp_snapshot_t {
    apr_uint32_t refs;                  /* these two under the lock */
    mod_mcp_client_t *client;           /* NULL: the call is over, or the
                                           client has left */
    apr_pool_t *pool;
    server_rec *server;
    mod_mcp_dir_t *dir;                 /* knows the targets */
    apr_sockaddr_t *client_addr;
    apr_sockaddr_t *local_addr;
    const char *local_ip;
    const char *hostname;
    const char *port_str;               /* of Host, if it has one */
    apr_port_t port;
    const char *user;
    const char *auth_type;
    const char *useragent_ip;
    apr_table_t *headers;
    apr_table_t *env;
    unsigned secure:1;                  /* as in mod_mcp_request_t */
    unsigned verified:1;
};

/* All under the lock.  A client has the snapshot of one call at most. */
mod_mcp_snapshot_t *mod_mcp_snapshot_create(mod_mcp_client_t *client);
void mod_mcp_snapshot_retain(mod_mcp_snapshot_t *snapshot);
void mod_mcp_snapshot_release(mod_mcp_snapshot_t *snapshot);

/* Separates the client from its snapshot, if it has one. */
void mod_mcp_snapshot_part(mod_mcp_client_t *client);

#endif /* MOD_MCP_SNAPSHOT_H */
