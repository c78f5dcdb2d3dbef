/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of a cluster's setup. */


#ifndef MCP_CLUSTER_CONF_INTERNAL_H_INCLUDED
#define MCP_CLUSTER_CONF_INTERNAL_H_INCLUDED


#include "config/mcp_setup_internal.h"
#include "mcp_cluster_conf.h"


#define MCP_CLUSTER_URL_FORM                                                  \
    "redis://[user@]host[:port][/db], rediss:// likewise, or unix:/path"


struct mcp_cluster_setup_s {
    const mcp_mem_t     *mem;
    mcp_arena_t          arena;

    /* texts that are not set have .data NULL */
    mcp_cluster_conf_t   conf;
    uint32_t             set;          /* bits of the values that are set:
                                          options, then parameters */
    unsigned             begun:1;
    unsigned             has_db:1;
    unsigned             has_sync:1;
};


/* the first bit of "set" for a parameter of mcp_cluster */
#define MCP_CLUSTER_PARAMETER_BIT  16

static inline uint32_t
mcp_cluster_bit(unsigned n)
{
    return (uint32_t) 1 << n;
}


/* Copies the text into *member. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_cluster_dup(mcp_cluster_setup_t *setup, mcp_str_t *member,
    mcp_str_t text);


#endif /* MCP_CLUSTER_CONF_INTERNAL_H_INCLUDED */
