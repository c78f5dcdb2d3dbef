/* SPDX-License-Identifier: Apache-2.0 */

/* Derives the id of a tenant from the principal or the address of a caller, and
 * sets the quotas of a tenant. */


#include "config/mcp_tenant.h"


/* The first bytes of an IPv4 address that is mapped into IPv6 (RFC 4291,
 * 2.5.5.2). */
static const unsigned char  mcp_tenant_mapped[12] = {
    [10] = 0xff, [11] = 0xff
};

/*
 * The id of the tenant of all clients without an address, which connect through
 * a Unix socket. No other tenant has this id, because it begins with the IPv6
 * prefix for documentation, which is no client's address (RFC 3849).
 */
static const unsigned char  mcp_tenant_local[MCP_DIGEST_LEN] = {
    0x20, 0x01, 0x0d, 0xb8
};


/* number of bytes of an IPv6 address that distinguish tenants */
#define MCP_TENANT_NETWORK  8


static int
mcp_tenant_is_mapped(mcp_str_t address)
{
    return address.len == 16
           && memcmp(address.data, mcp_tenant_mapped, sizeof(mcp_tenant_mapped))
              == 0;
}


static void
mcp_tenant_of_address(mcp_str_t address, unsigned char id[MCP_DIGEST_LEN])
{
    memset(id, 0, MCP_DIGEST_LEN);

    if (mcp_tenant_is_mapped(address)) {
        memcpy(id, address.data, 16);

    } else if (address.len == 16) {
        memcpy(id, address.data, MCP_TENANT_NETWORK);
        id[MCP_DIGEST_LEN - 1] = 1;    /* level 1: the network is a /64. Without
                                          the level, the id of "::1" would be
                                          all zeros, which means no tenant. */

    } else if (address.len == 4) {
        memcpy(id, mcp_tenant_mapped, sizeof(mcp_tenant_mapped));
        memcpy(id + sizeof(mcp_tenant_mapped), address.data, 4);

    } else {
        memcpy(id, mcp_tenant_local, MCP_DIGEST_LEN);
    }
}


void
mcp_tenant_id(const mcp_endpoint_t *endpoint,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_str_t address,
    unsigned char id[MCP_DIGEST_LEN])
{
    switch (endpoint->quota_key) {

    case MCP_QUOTA_KEY_OFF:
        memset(id, 0, MCP_DIGEST_LEN);
        return;

    case MCP_QUOTA_KEY_PRINCIPAL:
        if (!mcp_digest_is_nobody(principal)) {
            memcpy(id, principal, MCP_DIGEST_LEN);
            return;
        }

        break;

    default:
        break;
    }

    mcp_tenant_of_address(address, id);
}


/*
 * The id of a tenant by IPv6 address consists of the first 8 bytes of the
 * address, zeros, and the level 1 in the last byte. In the id of the enclosing
 * network, one more byte of the address is zero, and the level is higher by 1.
 * The digest of a principal does not have this form.
 */
int
mcp_tenant_parent(const unsigned char id[MCP_DIGEST_LEN],
    unsigned char parent[MCP_DIGEST_LEN])
{
    unsigned                    level;
    static const unsigned char  zeros[MCP_DIGEST_LEN];

    level = id[MCP_DIGEST_LEN - 1];

    if (level == 0 || level >= MCP_TENANT_LEVELS
        || memcmp(id + MCP_TENANT_NETWORK, zeros,
                  MCP_DIGEST_LEN - 1 - MCP_TENANT_NETWORK) != 0)
    {
        return 0;
    }

    memcpy(parent, id, MCP_DIGEST_LEN);
    parent[MCP_TENANT_NETWORK - level] = 0;
    parent[MCP_DIGEST_LEN - 1] = (unsigned char) (level + 1);

    return 1;
}


void
mcp_tenant(const mcp_endpoint_t *endpoint,
    const unsigned char id[MCP_DIGEST_LEN], mcp_tenant_t *tenant)
{
    memcpy(tenant->id, id, MCP_DIGEST_LEN);

    tenant->streams = endpoint->quota_streams;
    tenant->listeners = endpoint->quota_listeners;
    tenant->values = endpoint->quota_values;
    tenant->bytes = endpoint->quota_bytes;
}
