/* SPDX-License-Identifier: Apache-2.0 */

/* Authorities (RFC 3986, 3.2) in URLs, origins and targets of requests. */


#ifndef MCP_HTTP_AUTHORITY_H_INCLUDED
#define MCP_HTTP_AUTHORITY_H_INCLUDED


#include "mcp.h"
#include "base/mcp_match.h"


typedef struct {
    mcp_str_t    host;         /* "[...]" includes its brackets */
    uint64_t     port;         /* 0 if there is none */
} mcp_http_authority_t;


/*
 * Removes scheme "://" from the beginning of the text.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the text does not begin with a scheme, and is unchanged
 */
int mcp_http_take_scheme(mcp_str_t *text, mcp_str_t *scheme);

/*
 * Parses host [ ":" port ], which must be the whole text.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the text has another form
 */
int mcp_http_authority_parse(mcp_str_t text, mcp_http_authority_t *authority);

/* Returns 1 if one of the n server names matches the host. */
int mcp_http_host_is_server(const mcp_str_t *names, size_t n, mcp_str_t host);

#define MCP_HTTP_AUTHORITY_MAX  255    /* bytes */

/* Returns 1 if the text is host[:port], of MCP_HTTP_AUTHORITY_MAX bytes at
 * most. */
int mcp_http_is_authority(mcp_str_t text);

/* Returns 1 if the text is "http://" or "https://" followed by host[:port]. */
int mcp_http_is_web_origin(mcp_str_t text);

/*
 * Reduces the target of a request line to its path and query.
 *
 * If the target has the absolute form, *authority becomes its authority, which
 * replaces the Host header (RFC 9112, 3.2.2); otherwise its data is NULL.
 */
void mcp_http_target(mcp_str_t *target, mcp_str_t *authority);


/* --- the Origin header --- */

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


#endif /* MCP_HTTP_AUTHORITY_H_INCLUDED */
