/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP headers for which MCP's transport has rules (2025-11-25,
 * basic/transports): Accept, Content-Type, Origin and Host. */


#ifndef MCP_HTTP_H_INCLUDED
#define MCP_HTTP_H_INCLUDED


#include "base/mcp_match.h"


typedef struct {
    mcp_str_t  name;
    mcp_str_t  value;
} mcp_header_t;


/*
 * Returns 1 if n Accept header lines accept the media type "type/subtype" (RFC
 * 9110, 12.5.1). Without a line every type is accepted. The most specific range
 * decides, and q=0 rejects the type. Other parameters of a range are ignored,
 * and malformed ranges are skipped.
 */
int mcp_http_accepts(const mcp_str_t *lines, size_t n, mcp_str_t media_type);

/* Returns 1 if a Content-Type names this media type, in any case and with any
 * parameters, except a charset that is not utf-8. */
int mcp_http_is_type(mcp_str_t content_type, mcp_str_t media_type);

/* Returns the "type/subtype" of a Content-Type, empty if it is malformed. */
mcp_str_t mcp_http_media_type(mcp_str_t content_type);

/* Returns 1 if s is a token (RFC 9110, 5.6.2), the syntax of header names. */
int mcp_http_is_token(mcp_str_t s);


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

/*
 * Returns 1 if a Host header is safe from DNS rebinding: it is empty (absent),
 * localhost, below .localhost, a loopback address, or one of the n server
 * names, with any port. Returns 0 for any other host, and for a malformed
 * header.
 */
int mcp_http_host_allowed(mcp_str_t host, const mcp_str_t *names, size_t n);

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

/* Returns 1 if an address of 4 or 16 bytes in network byte order is a loopback
 * address. */
int mcp_http_address_is_loopback(const void *address, size_t len);


#endif /* MCP_HTTP_H_INCLUDED */
