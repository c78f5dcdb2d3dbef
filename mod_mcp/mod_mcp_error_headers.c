/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers for error responses at an endpoint that do not come from the core:
 * from access rules, limits, or httpd itself.
 *
 * CORS preflights are answered before access is checked, because they carry no
 * credentials.  Error responses get the CORS headers that let pages of allowed
 * origins read them; those with status 401 and 403 also get the authentication
 * challenge of the protected resource.
 */

#include "mod_mcp_error_headers.h"

#include "mod_mcp_config.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_path.h"
#include "mod_mcp_request.h"
#include "mod_mcp_response.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"

#include "mcp_auth.h"
#include "mcp_exchange.h"

#define CHALLENGE      "WWW-Authenticate"
#define CHALLENGE_MAX  16384            /* bytes */

/*
 * Returns the endpoint of a request if its error responses need headers, else
 * NULL.
 */
static const mcp_endpoint_t *endpoint_of(request_rec *r)
{
    const char *handler = mod_mcp_request_handler(r);
    const mcp_endpoint_t *endpoint;

    if (handler == NULL || strcmp(handler, MOD_MCP_HANDLER) != 0 || r->main
        || mod_mcp_fetch_backend_request(r)
        || mod_mcp_path_is_below_endpoint(r))
    {
        return NULL;
    }

    endpoint = mod_mcp_config_endpoint(mod_mcp_config_dir(r),
                                       mod_mcp_zone_keys());

    return endpoint && mcp_endpoint_has_error_headers(endpoint) ? endpoint
                                                                : NULL;
}

int mod_mcp_error_headers_preflight(request_rec *r)
{
    const mcp_endpoint_t *endpoint;
    mcp_head_t head;
    int rc;

    if (r->method_number != M_OPTIONS) {
        return DECLINED;
    }

    endpoint = endpoint_of(r);
    if (endpoint == NULL) {
        return DECLINED;
    }

    mod_mcp_request_head(r, &head);

    if (!mcp_exchange_is_preflight(endpoint, &head)) {
        return DECLINED;
    }

    rc = mod_mcp_response_early(r, MOD_MCP_HANDLER);

    return rc == OK ? DONE : rc;
}

/* --- errors --- */

static void add_cors(request_rec *r, const mcp_endpoint_t *endpoint,
                     request_rec *first)
{
    mcp_header_t headers[MCP_CORS_HEADERS];
    const char *name, *value;
    mcp_head_t head;
    size_t i, n;

    mod_mcp_request_head(first, &head);
    n = mcp_exchange_cors_headers(endpoint, &head, headers);

    for (i = 0; i < n; i++) {
        name = apr_pstrmemdup(r->pool, headers[i].name.data,
                              headers[i].name.len);
        value = apr_pstrmemdup(r->pool, headers[i].value.data,
                               headers[i].value.len);
        apr_table_mergen(r->err_headers_out, name, value);
    }
}

static int collect_value(void *data, const char *name, const char *value)
{
    APR_ARRAY_PUSH((apr_array_header_t *)data, mcp_str_t) = mod_mcp_str(value);

    return 1;
}

/*
 * Sets the header lines WWW-Authenticate to the list "values", in which "other"
 * replaces the value with the index "which".  If "which" is the length of the
 * list, adds "other" at the end.
 */
static void replace(request_rec *r, const apr_array_header_t *values,
                    size_t which, const char *other)
{
    size_t i, n = (size_t)values->nelts;

    apr_table_unset(r->err_headers_out, CHALLENGE);

    for (i = 0; i < n; i++) {
        apr_table_addn(r->err_headers_out, CHALLENGE,
                       i == which ? other
                                  : APR_ARRAY_IDX(values, i, mcp_str_t).data);
    }

    if (which == n) {
        apr_table_addn(r->err_headers_out, CHALLENGE, other);
    }
}

static void add_challenge(request_rec *r, const mcp_auth_t *auth, int status)
{
    const char *authorization = apr_table_get(r->headers_in, "Authorization");
    apr_array_header_t *values = apr_array_make(r->pool, 2, sizeof(mcp_str_t));
    mcp_buf_t buf;
    size_t which;
    int rc;

    apr_table_do(collect_value, values, r->err_headers_out, CHALLENGE, NULL);

    mcp_buf_init(&buf, &mod_mcp_mem, CHALLENGE_MAX);

    rc = mcp_auth_challenge(auth, status, mod_mcp_str(authorization),
                            (const mcp_str_t *)values->elts,
                            (size_t)values->nelts, &which, &buf);
    if (rc == MCP_OK) {
        replace(r, values, which,
                apr_pstrmemdup(r->pool, buf.data, buf.len));
    }

    mcp_buf_free(&buf);
}

/*
 * Adds the headers for error responses, once for a chain of internal
 * redirects, because its requests share the headers.
 */
static void add(request_rec *r)
{
    const mcp_endpoint_t *endpoint = NULL;
    const mcp_auth_t *auth;
    request_rec *first;

    for (first = r; first; first = first->prev) {
        endpoint = endpoint_of(first);
        if (endpoint) {
            break;
        }
    }

    if (endpoint == NULL || mod_mcp_request(first)->error_headers) {
        return;
    }

    mod_mcp_request(first)->error_headers = 1;

    auth = mcp_endpoint_auth(endpoint);

    if (auth && (first->status == HTTP_UNAUTHORIZED
                 || first->status == HTTP_FORBIDDEN)) {
        add_challenge(r, auth, first->status);
    }

    add_cors(r, endpoint, first);
}

void mod_mcp_error_headers_error(request_rec *r)
{
    add(r);
}

void mod_mcp_error_headers_document(request_rec *r)
{
    if (r->prev && ap_is_HTTP_ERROR(r->prev->status)) {
        add(r);
    }
}
