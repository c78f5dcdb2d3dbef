/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Metadata documents of protected resources, below /.well-known/.  They are
 * public, so they are served before httpd maps the path to a section with
 * access rules.
 */

#include "mod_mcp_document.h"

#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_response.h"

#include "mcp_exchange.h"

typedef struct {
    server_rec *server;
    const mcp_auth_t *auth;
} document_t;

static apr_array_header_t *documents;   /* document_t */

void mod_mcp_document_begin(apr_pool_t *p)
{
    documents = apr_array_make(p, 2, sizeof(document_t));
}

void mod_mcp_document_forget(void)
{
    documents = NULL;
}

/*
 * Returns the metadata documents of the server s and of the main server; *n is
 * their number.
 */
static const mcp_auth_t **of_server(apr_pool_t *p, const server_rec *s,
                                    size_t *n)
{
    const document_t *document = (const document_t *)documents->elts;
    const mcp_auth_t **auths;
    int i;

    auths = apr_palloc(p, (documents->nelts + 1) * sizeof(*auths));
    *n = 0;

    for (i = 0; i < documents->nelts; i++, document++) {
        if (document->server == s || !document->server->is_virtual) {
            auths[(*n)++] = document->auth;
        }
    }

    return auths;
}

int mod_mcp_document_add(server_rec *s, const mcp_auth_t *auth)
{
    const mcp_auth_t **auths;
    document_t *document;
    size_t n;

    auths = of_server(documents->pool, s, &n);

    switch (mcp_auth_check(auths, n, auth)) {
    case MCP_OK:
        document = apr_array_push(documents);
        document->server = s;
        document->auth = auth;
        return 1;

    case MCP_DONE:
        return 1;

    default:
        return 0;
    }
}

static int send_document(request_rec *r, const mcp_auth_t *auth)
{
    mcp_response_t response;
    int rc;

    mcp_exchange_document(auth, mod_mcp_str(r->method), &response);

    rc = ap_discard_request_body(r);
    if (rc != OK) {
        return rc;
    }

    mod_mcp_response_head(r, &response);

    rc = ap_meets_conditions(r);
    if (rc != OK) {
        return rc;
    }

    if (response.status != HTTP_NO_CONTENT) {
        ap_set_content_length(r, response.body.len);
    }

    if (response.body.len) {
        ap_rwrite(response.body.data, (int)response.body.len, r);
    }

    return OK;
}

int mod_mcp_document_find(request_rec *r, int lookup)
{
    const mcp_auth_t *auth, **auths;
    size_t n, len = strlen(MCP_AUTH_WELL_KNOWN);

    if (lookup || documents->nelts == 0
        || strncmp(r->uri, MCP_AUTH_WELL_KNOWN, len) != 0) {
        return DECLINED;
    }

    auths = of_server(r->pool, r->server, &n);
    auth = mcp_auth_find(auths, n, mod_mcp_str(r->unparsed_uri));

    if (auth == NULL) {
        return DECLINED;
    }

    mod_mcp_request(r)->document = auth;

    return mod_mcp_response_early(r, MOD_MCP_DOCUMENT_HANDLER);
}

int mod_mcp_document_handler(request_rec *r)
{
    const mcp_auth_t *auth;

    if (strcmp(r->handler, MOD_MCP_DOCUMENT_HANDLER) != 0) {
        return DECLINED;
    }

    auth = mod_mcp_request(r)->document;

    return auth ? send_document(r, auth) : DECLINED;
}
