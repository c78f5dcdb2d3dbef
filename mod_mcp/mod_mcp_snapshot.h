/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A snapshot copies the data of a client's request that the backend requests
 * of one call need, because the call may outlive the request.  Several threads
 * read it.  After its creation only refs and client change.
 */

#ifndef MOD_MCP_SNAPSHOT_H
#define MOD_MCP_SNAPSHOT_H

#include "mod_mcp.h"

struct mod_mcp_snapshot_t {
    apr_uint32_t refs;                  /* mod_mcp_lock() protects changes of
                                           refs and client */
    mod_mcp_client_t *client;           /* NULL after the call has ended or
                                           the client has disconnected */
    apr_pool_t *pool;
    server_rec *server;
    mod_mcp_dir_t *dir;                 /* merged sections that apply to the
                                           request; they name the backends */
    apr_sockaddr_t *client_addr;
    apr_sockaddr_t *local_addr;
    const char *local_ip;
    const char *hostname;
    const char *port_str;               /* port in the header Host, as text, or
                                           NULL */
    apr_port_t port;
    const char *user;
    const char *auth_type;
    const char *useragent_ip;
    apr_table_t *headers;
    apr_table_t *env;
    unsigned secure:1;                  /* secure and verified: see
                                           mod_mcp_request_t */
    unsigned verified:1;
};

/*
 * The functions below are called under mod_mcp_lock().  A client has at most
 * one snapshot, that of its call. _create() returns NULL when out of memory.
 */
mod_mcp_snapshot_t *mod_mcp_snapshot_create(mod_mcp_client_t *client);
void mod_mcp_snapshot_retain(mod_mcp_snapshot_t *snapshot);
void mod_mcp_snapshot_release(mod_mcp_snapshot_t *snapshot);

/* Detaches the client from its snapshot, if it has one. */
void mod_mcp_snapshot_detach(mod_mcp_client_t *client);

/* --- pools that calls reuse --- */

/*
 * _get() returns a pool without a parent, or NULL. _put() gives back a pool
 * that the caller has cleared.
 */
apr_pool_t *mod_mcp_pool_get(void);
void mod_mcp_pool_put(apr_pool_t *p);

/* Destroys the unused pools. */
void mod_mcp_pool_exit(void);

#endif /* MOD_MCP_SNAPSHOT_H */
