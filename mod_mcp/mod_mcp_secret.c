/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hides secrets in URLs, such as the token in a URL by which a client resumes
 * a stream, from logs and backends.  The core finds the secrets.  As soon as
 * the section of the request is known, this file overwrites them with asterisks
 * in all data that logs and backends use.  The exchange gets the original
 * target.
 */

#include "mod_mcp_secret.h"

#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_zone.h"

#include "scoreboard.h"

#include "mcp_exchange.h"

static void mask(const mcp_endpoint_t *endpoint, char *text)
{
    mcp_str_t rest = mod_mcp_str(text), secret;

    while (mcp_exchange_secret(endpoint, &rest, &secret)) {
        memset(text + (secret.data - text), '*', secret.len);
    }
}

static void mask_request(const mcp_endpoint_t *endpoint, request_rec *r)
{
    mask(endpoint, r->the_request);
    mask(endpoint, r->unparsed_uri);
    mask(endpoint, r->args);
    mask(endpoint, r->parsed_uri.query);
}

int mod_mcp_secret_hide(request_rec *r)
{
    const mcp_endpoint_t *endpoint;
    request_rec *prev;
    mcp_str_t rest = mod_mcp_str(r->unparsed_uri), secret;

    if (r->main || mod_mcp_request(r)->target) {
        return OK;
    }

    endpoint = mod_mcp_config_endpoint(mod_mcp_config_dir(r),
                                       mod_mcp_zone_keys());
    if (endpoint == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!mcp_exchange_secret(endpoint, &rest, &secret)) {
        return OK;
    }

    mod_mcp_request(r)->target = apr_pstrdup(r->pool, r->unparsed_uri);

    /* mask all requests of a chain of internal redirects, because logs contain
     * the first one */

    for (prev = r; prev; prev = prev->prev) {
        mask_request(endpoint, prev);
    }

    /* replace the copy of the request line in the scoreboard, which mod_status
     * shows */

    ap_update_child_status(r->connection->sbh, SERVER_BUSY_WRITE, r);

    return OK;
}

const char *mod_mcp_secret_target(request_rec *r)
{
    const char *target = mod_mcp_request(r)->target;

    return target ? target : r->unparsed_uri;
}

int mod_mcp_secret_early(request_rec *r)
{
    const char *name;

    /* most requests have no query, and so no secret */

    if (r->parsed_uri.query == NULL) {
        return DECLINED;
    }

    name = mod_mcp_request_handler(r);

    if (name == NULL || strcmp(name, MOD_MCP_HANDLER) != 0) {
        return DECLINED;
    }

    return mod_mcp_secret_hide(r);
}
