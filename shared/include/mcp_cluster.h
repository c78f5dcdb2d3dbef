/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cluster part of a worker: its connections to Redis, called links.
 *
 * The core implements the protocol and all timeouts. The glue provides
 * sockets, name lookup and TLS. The worker's queue delivers the actions
 * CONNECT, WRITE and DISCONNECT for a link; the glue reports the state of the
 * connection with the functions mcp_link_...() and then pulls actions again.
 */


#ifndef MCP_CLUSTER_H_INCLUDED
#define MCP_CLUSTER_H_INCLUDED


#include "mcp_cluster_conf.h"
#include "mcp_worker.h"


MCP_DECLARATIONS_BEGIN


typedef struct mcp_cluster_s  mcp_cluster_t;
typedef struct mcp_keys_s     mcp_keys_t;


/* Creates the cluster part of a worker, which connects at once: a CONNECT
 * action follows. worker and conf are borrowed until mcp_cluster_destroy().
 * Returns NULL when out of memory. */
mcp_cluster_t *mcp_cluster_create(mcp_worker_t *worker,
    const mcp_cluster_conf_t *conf);

/*
 * Adds the signing keys of an endpoint. To be called before the first action is
 * pulled. A node that has no key in common with the members does not join the
 * cluster.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     more than 64 different keys
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_cluster_keys(mcp_cluster_t *cluster, const mcp_keys_t *keys);

/*
 * Adds the identity of an endpoint. To be called before the first action is
 * pulled. A node that joins the cluster logs a warning if another node has
 * endpoints, but has no identity in common with the joining node. Identities
 * beyond 64 are not compared.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_cluster_endpoint(mcp_cluster_t *cluster, mcp_str_t identity);

/* Frees cluster, which may be NULL. To be called before mcp_worker_destroy(),
 * after the glue has closed the connections; no action follows. */
void mcp_cluster_destroy(mcp_cluster_t *cluster);


/* To be called for the action CONNECT. Returns the address to which the glue
 * has to connect. The address is valid as long as the connection. */
const mcp_cluster_seed_t *mcp_link_target(const mcp_link_t *link);

/* Set and return the glue's own pointer in a link. */
void mcp_link_set_glue(mcp_link_t *link, void *glue);
void *mcp_link_glue(const mcp_link_t *link);

/*
 * Report the state of a link's connection:
 *
 * - mcp_link_opened(): the connection is established, including TLS;
 *
 * - mcp_link_input(): len bytes were received;
 *
 * - mcp_link_closed(): the connection could not be opened or was lost; why is
 *   text for the log that ends with a NUL.
 *
 * After mcp_link_closed(), or after DISCONNECT was pulled, these functions
 * must not be called until the next CONNECT.
 */
void mcp_link_opened(mcp_link_t *link);
void mcp_link_input(mcp_link_t *link, const char *data, size_t len);
void mcp_link_closed(mcp_link_t *link, const char *why);

/*
 * To be called for the action WRITE. mcp_link_output() returns the bytes to
 * write next, empty if there are none. mcp_link_written() reports that the
 * first len bytes were written. The bytes stay valid until all are written or
 * DISCONNECT is pulled, regardless of input that is passed in the meantime.
 */
mcp_str_t mcp_link_output(mcp_link_t *link);
void mcp_link_written(mcp_link_t *link, size_t len);


MCP_DECLARATIONS_END


#endif /* MCP_CLUSTER_H_INCLUDED */
