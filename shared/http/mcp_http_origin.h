/* SPDX-License-Identifier: Apache-2.0 */

/* The check of the header Origin. */


#ifndef MCP_HTTP_ORIGIN_H_INCLUDED
#define MCP_HTTP_ORIGIN_H_INCLUDED


#include "base/mcp_match.h"


typedef struct {
    mcp_str_t             origin;      /* value of the Origin header; empty if
                                          absent */
    mcp_str_t             host;        /* value of the Host header, or the
                                          target's authority */
    const mcp_str_t      *server_names;        /* configured names of the
                                                  server */
    size_t                n_server_names;
    unsigned              loopback:1;  /* 1 if the request arrived at a loopback
                                          address */
    mcp_match_t *const   *allowed;     /* values of mcp_allow_origin */
    size_t                n_allowed;
    unsigned              any:1;       /* 1: mcp_allow_origin contains "*" */
} mcp_http_origin_t;


/*
 * Applies the rule against DNS rebinding (2025-11-25, basic/transports,
 * Security Warning). Returns 1 if the request may proceed:
 *
 * - it has no Origin; or
 *
 * - mcp_allow_origin permits its Origin; or
 *
 * - its Origin has the host and port of Host (a missing port is the default
 *   port of the Origin's scheme), and an attacker cannot have bound that host
 *   to this server's address: the host is a configured server name, localhost,
 *   below .localhost, or an IP address. If the connection arrived at a
 *   loopback address, the IP address must be a loopback address.
 *
 * Returns 0 for any other Origin, including "null" and malformed ones.
 */
int mcp_http_origin_allowed(const mcp_http_origin_t *o);


#endif /* MCP_HTTP_ORIGIN_H_INCLUDED */
