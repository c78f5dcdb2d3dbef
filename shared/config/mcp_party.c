/* SPDX-License-Identifier: Apache-2.0 */

/* Who is one party, and what it may have. */


#include "config/mcp_party.h"


/* IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2). */
static const unsigned char  mcp_party_mapped[12] = {
    [10] = 0xff, [11] = 0xff
};

/* No address at all: a client that is on this machine.  The documentation's
 * prefix (RFC 3849), which is nobody's. */
static const unsigned char  mcp_party_local[MCP_DIGEST_LEN] = {
    0x20, 0x01, 0x0d, 0xb8
};


static int
mcp_party_is_mapped(mcp_str_t address)
{
    return address.len == 16
           && memcmp(address.data, mcp_party_mapped, sizeof(mcp_party_mapped))
              == 0;
}


static void
mcp_party_of_address(mcp_str_t address, unsigned char id[MCP_DIGEST_LEN])
{
    memset(id, 0, MCP_DIGEST_LEN);

    if (mcp_party_is_mapped(address)) {
        memcpy(id, address.data, 16);

    } else if (address.len == 16) {
        memcpy(id, address.data, 8);
        id[15] = 1;                    /* "::1" is not nobody */

    } else if (address.len == 4) {
        memcpy(id, mcp_party_mapped, sizeof(mcp_party_mapped));
        memcpy(id + sizeof(mcp_party_mapped), address.data, 4);

    } else {
        memcpy(id, mcp_party_local, MCP_DIGEST_LEN);
    }
}


void
mcp_party_id(const mcp_endpoint_t *endpoint,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_str_t address,
    unsigned char id[MCP_DIGEST_LEN])
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    switch (endpoint->share_by) {

    case MCP_SHARE_BY_OFF:
        memset(id, 0, MCP_DIGEST_LEN);
        return;

    case MCP_SHARE_BY_PRINCIPAL:
        if (memcmp(principal, nobody, MCP_DIGEST_LEN) != 0) {
            memcpy(id, principal, MCP_DIGEST_LEN);
            return;
        }

        break;

    default:
        break;
    }

    mcp_party_of_address(address, id);
}


void
mcp_party(const mcp_endpoint_t *endpoint,
    const unsigned char id[MCP_DIGEST_LEN], mcp_party_t *party)
{
    memcpy(party->id, id, MCP_DIGEST_LEN);

    party->streams = endpoint->max_party_streams;
    party->listeners = endpoint->max_party_listeners;
    party->values = endpoint->max_party_values;
    party->bytes = endpoint->max_party_bytes;
}
