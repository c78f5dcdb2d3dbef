/* SPDX-License-Identifier: Apache-2.0 */

/* What HTTP headers say, as far as MCP's transport has rules for them
 * (2025-11-25, basic/transports): Accept, Content-Type, Origin, Host. */


#ifndef MCP_HTTP_H_INCLUDED
#define MCP_HTTP_H_INCLUDED


#include "base/mcp_match.h"


typedef struct {
    mcp_str_t  name;
    mcp_str_t  value;
} mcp_header_t;


/*
 * 1 if the Accept header lines (n of them; none at all means anything) accept
 * the media type "type/subtype": most specific range wins, q=0 refuses,
 * parameters of a range other than q are ignored, malformed ranges are
 * skipped.  (RFC 9110, 12.5.1)
 */
int mcp_http_accepts(const mcp_str_t *lines, size_t n, mcp_str_t media_type);

/* 1 if a Content-Type names this media type, whatever its parameters and
 * case; a charset parameter other than utf-8 gives 0. */
int mcp_http_is_type(mcp_str_t content_type, mcp_str_t media_type);

/* The bare "type/subtype" of a Content-Type, trimmed; empty if malformed. */
mcp_str_t mcp_http_media_type(mcp_str_t content_type);


typedef struct {
    mcp_str_t             origin;      /* header, empty if absent */
    mcp_str_t             host;        /* header, or of the target */
    const mcp_str_t      *server_names;        /* configured */
    size_t                n_server_names;
    unsigned              loopback:1;  /* came in on a loopback address */
    mcp_match_t *const   *allowed;     /* mcp_allow_origin */
    size_t                n_allowed;
    unsigned              any:1;       /* mcp_allow_origin * */
} mcp_http_origin_t;


/*
 * The DNS rebinding rule: 1 if the request may proceed.  No Origin: yes.
 * An Origin that mcp_allow_origin names: yes.  Own origin: its host[:port]
 * equals Host (default ports normalised by the origin's scheme), and that
 * host is no name that an attacker could have bound to our address: it is a
 * configured server name, localhost, *.localhost, or an address; when the
 * connection came in on loopback, a loopback address.  "null" and malformed:
 * no.
 * (2025-11-25, basic/transports, Security Warning)
 */
int mcp_http_origin_allowed(const mcp_http_origin_t *o);

/*
 * 1 if a Host header, empty if there is none, names this server to somebody who
 * cannot be a page of another name that has been bound to its address: none,
 * localhost, *.localhost, a loopback address, or one of the server's names,
 * whatever the port.  Malformed: no.
 */
int mcp_http_host_allowed(mcp_str_t host, const mcp_str_t *names, size_t n);

/*
 * 1 if a server name, as nginx or Apache write it, is that of host, whatever
 * the case: "*" stands for any characters, "?" for one, ".example.com" for
 * itself and all below.  Never one whose last label has a wildcard: anybody
 * can get such a name; nor an expression ("~").
 */
int mcp_http_name_is(mcp_str_t name, mcp_str_t host);

/* 1 if the text is host[:port], of MCP_HTTP_AUTHORITY_MAX bytes at most; and
 * if it is that behind "http://" or "https://", with nothing else. */
#define MCP_HTTP_AUTHORITY_MAX  255

int mcp_http_is_authority(mcp_str_t text);
int mcp_http_is_web_origin(mcp_str_t text);

/*
 * The target of a request line as the rest of the core wants it, path and
 * query: the scheme and authority of the absolute form are cut off.
 * *authority gets the latter, which stands for Host then, whatever that says
 * (RFC 9112, 3.2.2); .data is NULL in the other forms.
 */
void mcp_http_target(mcp_str_t *target, mcp_str_t *authority);

/* 1 if an address, 4 or 16 bytes as they go over the wire, is loopback. */
int mcp_http_address_is_loopback(const void *address, size_t len);


#endif /* MCP_HTTP_H_INCLUDED */
