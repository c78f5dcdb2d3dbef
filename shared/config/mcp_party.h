/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parties: whose room in the zone something takes.  All that one caller has,
 * in whatever sessions, is one party's; it may have so much, and no more, and
 * makes room for itself before others make room for it.
 */


#ifndef MCP_PARTY_H_INCLUDED
#define MCP_PARTY_H_INCLUDED


#include "mcp_endpoint.h"
#include "store/mcp_store.h"


/* How callers are told apart: mcp_share_by. */
typedef enum {
    MCP_SHARE_BY_PRINCIPAL = 0,        /* by address where there is none */
    MCP_SHARE_BY_ADDRESS,
    MCP_SHARE_BY_OFF                   /* not at all */
} mcp_share_by_e;


/*
 * Who calls: principal is the digest (zeros: none), address the client's in
 * network order, of 4 bytes or of 16; empty when it has none, as a Unix socket.
 * Of IPv6 the first 64 bits count: who has one interface identifier can have
 * any other (RFC 4291, 2.5.1).  An address of IPv4 that is mapped into it is
 * one of IPv4.
 */
void mcp_party_id(const mcp_endpoint_t *endpoint,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_str_t address,
    unsigned char id[MCP_DIGEST_LEN]);

/* The party with the endpoint's quotas, for the store. */
void mcp_party(const mcp_endpoint_t *endpoint,
    const unsigned char id[MCP_DIGEST_LEN], mcp_party_t *party);


#endif /* MCP_PARTY_H_INCLUDED */
