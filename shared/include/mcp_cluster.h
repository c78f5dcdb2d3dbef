/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A process's part in a cluster: its connections ("links") to Redis.
 *
 * The core speaks the protocol and owns all time limits; the glue brings
 * sockets, names and TLS.  The worker's queue says CONNECT, WRITE and
 * DISCONNECT; the glue feeds what becomes of the connection, and pulls.
 */


#ifndef MCP_CLUSTER_H_INCLUDED
#define MCP_CLUSTER_H_INCLUDED


#include "mcp_cluster_conf.h"
#include "mcp_worker.h"
#include "base/mcp_token.h"


typedef struct mcp_cluster_s  mcp_cluster_t;


/* Creates the part of a worker's process, which connects at once: a CONNECT
 * action follows.  worker and conf are borrowed until mcp_cluster_destroy().
 * NULL when out of memory. */
mcp_cluster_t *mcp_cluster_create(mcp_worker_t *worker,
    const mcp_cluster_conf_t *conf);

/*
 * Adds the keys of an endpoint, before the first action is pulled: nodes
 * without a key in common keep apart.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     there are too many different ones
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_cluster_keys(mcp_cluster_t *cluster, const mcp_keys_t *keys);

/* Frees it, which may be NULL, before the worker, and without a word to the
 * glue, which has closed its connections. */
void mcp_cluster_destroy(mcp_cluster_t *cluster);


/* CONNECT: where to; as long as the connection lasts. */
const mcp_cluster_seed_t *mcp_link_target(const mcp_link_t *link);

/* What the glue keeps with a link. */
void mcp_link_set_glue(mcp_link_t *link, void *glue);
void *mcp_link_glue(const mcp_link_t *link);

/*
 * What becomes of the connection.  Opened: it is there, TLS and all.  Closed:
 * it could not be opened, or was lost; why is text for the log, which a NUL
 * ends.  After that, or after DISCONNECT was pulled, nothing is said until the
 * next CONNECT.
 */
void mcp_link_opened(mcp_link_t *link);
void mcp_link_input(mcp_link_t *link, const char *data, size_t len);
void mcp_link_closed(mcp_link_t *link, const char *why);

/* WRITE: the bytes to write next, empty if there are none, and that len of them
 * are written.  They stay where they are until all of them are, or until
 * DISCONNECT is pulled, whatever is fed meanwhile. */
mcp_str_t mcp_link_output(mcp_link_t *link);
void mcp_link_written(mcp_link_t *link, size_t len);


#endif /* MCP_CLUSTER_H_INCLUDED */
