/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tenants: the callers among which the zone is divided. All streams of a
 * caller, in all its sessions, count for one tenant, which has quotas and
 * loses its own streams before other tenants lose theirs.
 */


#ifndef MCP_TENANT_H_INCLUDED
#define MCP_TENANT_H_INCLUDED


#include "config/mcp_endpoint_internal.h"


/*
 * A tenant and its quotas. Each quota is a maximum, MCP_QUOTA_SHARE or
 * MCP_QUOTA_OFF. Two kinds of streams do not count, because the store can free
 * them at any time: finished streams whose events were all sent and that have
 * no reader, and listeners without a reader and without events.
 */
typedef struct {
    unsigned char  id[MCP_DIGEST_LEN]; /* all zeros: no tenant, and no
                                          quotas */
    uint64_t       streams;            /* streams of calls */
    uint64_t       listeners;
    uint64_t       values;
    uint64_t       bytes;              /* bytes of the zone in the tenant's
                                          streams */
} mcp_tenant_t;


/*
 * Sets id to the caller's tenant according to the endpoint's quota_key.
 *
 * principal is the digest of the caller's principal; it consists of zeros if
 * there is none. address is the client's address in network byte order: 4 or 16
 * bytes, or empty for a client without an address (a Unix socket). Only the
 * first 64 bits of an IPv6 address count, because a client can choose any
 * interface identifier (RFC 4291, 2.5.1). An IPv4-mapped IPv6 address counts as
 * the IPv4 address.
 */
void mcp_tenant_id(const mcp_endpoint_t *endpoint,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_str_t address,
    unsigned char id[MCP_DIGEST_LEN]);

/* the levels of a tenant by IPv6 address: the /64, its /56 and its /48 */
#define MCP_TENANT_LEVELS  3

/*
 * Sets parent to the id of the tenant's enclosing network: the /56 of an IPv6
 * address, or the /48 of a /56.
 *
 * Returns 1, or 0 if the tenant has no enclosing network: it is a /48 or not
 * an IPv6 address.
 */
int mcp_tenant_parent(const unsigned char id[MCP_DIGEST_LEN],
    unsigned char parent[MCP_DIGEST_LEN]);

/* Sets *tenant to the tenant with this id and the endpoint's quotas. */
void mcp_tenant(const mcp_endpoint_t *endpoint,
    const unsigned char id[MCP_DIGEST_LEN], mcp_tenant_t *tenant);


#endif /* MCP_TENANT_H_INCLUDED */
