/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decides whether a request with an Origin header is accepted. The check is the
 * protection against DNS rebinding that MCP requires (2025-11-25,
 * basic/transports, "Security Warning").
 */


#include "http/mcp_http_origin.h"
#include "http/mcp_http_authority.h"


/* Parses scheme "://" host [ ":" port ] and nothing else (RFC 6454, 7.1). */
static int
mcp_http_origin_parse(mcp_str_t origin, mcp_str_t *scheme,
    mcp_http_authority_t *authority)
{
    if (mcp_http_take_scheme(&origin, scheme) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_http_authority_parse(origin, authority);
}


/*
 * Returns 1 if mcp_allow_origin permits the origin. If exact is 1, only a
 * value of mcp_allow_origin that is the origin itself counts, not a regular
 * expression.
 */
static int
mcp_http_origin_listed(const mcp_http_origin_t *o, int exact)
{
    size_t  i;

    for (i = 0; i < o->n_allowed; i++) {
        if (exact && !mcp_match_is_exact(o->allowed[i])) {
            continue;
        }

        if (mcp_match(o->allowed[i], o->origin)) {
            return 1;
        }
    }

    return 0;
}


/*
 * Returns 1 if Origin and Host are equal, and an attacker cannot have chosen
 * the address of this host. Equality alone does not suffice: the owner of a
 * foreign page can change the address of its name to this server's address
 * after the page was loaded. So the host must be a loopback name or address, a
 * server name, or, unless the connection is a loopback connection, any IP
 * address.
 */
static int
mcp_http_origin_own(const mcp_http_origin_t *o, mcp_str_t scheme,
    const mcp_http_authority_t *origin)
{
    uint64_t              port;
    mcp_http_authority_t  host;

    if (mcp_str_case_eq(scheme, mcp_str("http"))) {
        port = 80;

    } else if (mcp_str_case_eq(scheme, mcp_str("https"))) {
        port = 443;

    } else {
        return 0;
    }

    if (mcp_http_authority_parse(o->host, &host) != MCP_OK
        || !mcp_str_case_eq(origin->host, host.host)
        || (origin->port ? origin->port : port)
           != (host.port ? host.port : port))
    {
        return 0;
    }

    return mcp_http_host_is_loopback(host.host)
           || mcp_http_host_is_server(o->server_names, o->n_server_names,
                                      host.host)
           || (!o->loopback && mcp_http_host_is_address(host.host));
}


int
mcp_http_origin_allowed(const mcp_http_origin_t *o)
{
    mcp_str_t             scheme;
    mcp_http_authority_t  origin;

    if (o->origin.len == 0 || o->any) {
        return 1;
    }

    /*
     * every sandboxed page has the origin "null": only an entry with this name
     * permits it, not an expression that matches it
     */

    if (mcp_str_eq(o->origin, mcp_str("null"))) {
        return mcp_http_origin_listed(o, 1);
    }

    if (mcp_http_origin_parse(o->origin, &scheme, &origin) != MCP_OK) {
        return 0;
    }

    return mcp_http_origin_listed(o, 0)
           || mcp_http_origin_own(o, scheme, &origin);
}
