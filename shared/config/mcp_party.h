/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parties: who a caller is when room in the zone is shared out.  Everything
 * that one caller takes, in all its sessions, counts against one party, which
 * has a quota and loses its own streams before others lose theirs.
 */


#ifndef MCP_PARTY_H_INCLUDED
#define MCP_PARTY_H_INCLUDED


#include "mcp_endpoint.h"


/*
 * A party and its quotas: numbers, MCP_QUOTA_SHARE or MCP_QUOTA_OFF.  Only what
 * the store cannot reclaim counts: streams that are over, sent and unattended
 * do not, nor do listeners that have neither a reader nor an event.
 */
typedef struct {
    unsigned char  id[MCP_DIGEST_LEN]; /* zeros: nobody, without quotas */
    uint64_t       streams;            /* calls */
    uint64_t       listeners;
    uint64_t       values;
    uint64_t       bytes;              /* of the zone, in its streams */
} mcp_party_t;


/*
 * Sets id to the caller's party, by the endpoint's share_by.
 *
 * principal is the caller's digest, all zeros for none.  address is the
 * client's, in network byte order: 4 or 16 bytes, or empty for a client
 * without one (a Unix socket).  Of an IPv6 address only the first 64 bits
 * count, as a client can choose any interface identifier (RFC 4291, 2.5.1).
 * An IPv4-mapped IPv6 address counts as the IPv4 address.
 */
void mcp_party_id(const mcp_endpoint_t *endpoint,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_str_t address,
    unsigned char id[MCP_DIGEST_LEN]);

/* Sets *party to the party of that id with the endpoint's quotas. */
void mcp_party(const mcp_endpoint_t *endpoint,
    const unsigned char id[MCP_DIGEST_LEN], mcp_party_t *party);


#endif /* MCP_PARTY_H_INCLUDED */
