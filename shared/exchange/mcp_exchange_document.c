/* SPDX-License-Identifier: Apache-2.0 */

/* The document of a resource, over HTTP (RFC 9728, 3). */

#include "exchange/mcp_exchange_internal.h"


/* Time for which clients and caches may keep the document, one hour. */
#define MCP_EXCHANGE_DOCUMENT_AGE  "max-age=3600"


static void
mcp_exchange_document_header(mcp_response_t *response, mcp_str_t name,
    mcp_str_t value)
{
    mcp_header_t  *h;

    h = &response->headers[response->n_headers++];
    h->name = name;
    h->value = value;
}


static int
mcp_exchange_document_asked(mcp_str_t method)
{
    return mcp_str_eq(method, mcp_str("GET"))
           || mcp_str_eq(method, mcp_str("HEAD"));
}


void
mcp_exchange_document(const mcp_auth_t *auth, mcp_str_t method,
    mcp_response_t *response)
{
    memset(response, 0, sizeof(mcp_response_t));

    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Origin"),
                                 mcp_str("*"));

    if (mcp_exchange_document_asked(method)) {
        response->status = 200;
        response->content_type = mcp_str("application/json");
        response->body = auth->document;

        mcp_exchange_document_header(response, mcp_str("Cache-Control"),
                             mcp_str("public, " MCP_EXCHANGE_DOCUMENT_AGE));
        mcp_exchange_document_header(response, mcp_str("ETag"), auth->etag);
        return;
    }

    mcp_exchange_document_header(response, mcp_str("Allow"),
                                 mcp_str("GET, HEAD, OPTIONS"));

    if (!mcp_str_eq(method, mcp_str("OPTIONS"))) {
        response->status = 405;
        return;
    }

    /* browsers send a preflight, because clients send the header
     * MCP-Protocol-Version */

    response->status = 204;

    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Methods"),
                                 mcp_str("GET, HEAD"));
    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Headers"),
                                 mcp_str("*"));
    mcp_exchange_document_header(response, mcp_str("Access-Control-Max-Age"),
                                 mcp_str("86400"));
}
