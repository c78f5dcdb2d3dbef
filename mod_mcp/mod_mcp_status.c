/* SPDX-License-Identifier: Apache-2.0 */

/* The status page ("SetHandler mcp-status"), and a line for mod_status. */

#include "mod_mcp_status.h"

#include "mod_mcp_child.h"
#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_worker.h"

#include "mcp_http.h"
#include "mcp_status.h"
#include "mod_status.h"
#include "util_script.h"

#define STATUS_MAX  (16 * 1024 * 1024)

static void set_query(mcp_status_query_t *query, apr_pool_t *p,
                      mcp_str_t format)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    const char *server = apr_pstrcat(p, AP_SERVER_BASEPRODUCT "/",
                                     mod_mcp_config_version().data, NULL);

    memset(query, 0, sizeof(*query));

    query->format = format;
    query->server = mod_mcp_str(server);
    query->zone = child->env.zone;
    query->now = child->env.now(child->env.ctx);
}

static void read_query(mcp_status_query_t *query, request_rec *r)
{
    apr_table_t *args;
    const char *format;

    ap_args_to_table(r, &args);

    format = apr_table_get(args, "format");

    set_query(query, r->pool,
            format ? mod_mcp_str(format)
                   : mcp_status_format(mod_mcp_str(
                         apr_table_get(r->headers_in, "Accept"))));

    query->cursor = mod_mcp_str(apr_table_get(args, "cursor"));
    query->details = strcmp(r->handler, MOD_MCP_DETAILS_HANDLER) == 0;
}

/*
 * Rejects unknown hosts, so that no page of another site can read the status
 * through a name that resolves to this server.
 */
static int allowed(request_rec *r)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const mcp_str_t *names;
    size_t n;

    names = mod_mcp_request_server_names(r, &n);

    if (mcp_http_host_allowed(mod_mcp_str(host), names, n)) {
        return 1;
    }

    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "mcp: a request for the status page is refused, because its "
                  "host \"%s\" is neither loopback nor a ServerName or "
                  "ServerAlias of the server", host);

    return 0;
}

static void set_head(request_rec *r, const mcp_status_head_t *head)
{
    const mcp_header_t *header;
    size_t i;

    ap_set_content_type(r, apr_pstrmemdup(r->pool, head->content_type.data,
                                          head->content_type.len));

    for (i = 0; i < head->n_headers; i++) {
        header = &head->headers[i];
        apr_table_setn(r->headers_out,
                       apr_pstrmemdup(r->pool, header->name.data,
                                      header->name.len),
                       apr_pstrmemdup(r->pool, header->value.data,
                                      header->value.len));
    }
}

/* Calls mcp_status_render() under the lock, as all functions that use the store
 * of this process. */
static int render(const mcp_status_query_t *query, mcp_buf_t *buf,
                  mcp_status_head_t *head)
{
    int rc;

    mod_mcp_lock();
    rc = mcp_status_render(mod_mcp_child.store, query, buf, head);
    mod_mcp_unlock();

    return rc;
}

int mod_mcp_status_handler(request_rec *r)
{
    mcp_status_head_t head;
    mcp_status_query_t query;
    mcp_buf_t buf;
    int rc;

    if (strcmp(r->handler, MOD_MCP_STATUS_HANDLER) != 0
        && strcmp(r->handler, MOD_MCP_DETAILS_HANDLER) != 0) {
        return DECLINED;
    }

    r->allowed |= AP_METHOD_BIT << M_GET;

    if (r->method_number != M_GET) {
        return HTTP_METHOD_NOT_ALLOWED;
    }

    if (!allowed(r)) {
        return HTTP_FORBIDDEN;
    }

    if (!mod_mcp_child.ready) {
        return HTTP_SERVICE_UNAVAILABLE;
    }

    read_query(&query, r);
    mcp_buf_init(&buf, &mod_mcp_mem, STATUS_MAX);

    switch (render(&query, &buf, &head)) {
    case MCP_OK:
        set_head(r, &head);
        ap_set_content_length(r, buf.len);
        ap_rwrite(buf.data, (int)buf.len, r);
        rc = OK;
        break;

    case MCP_ERR_NOT_FOUND:
        rc = HTTP_BAD_REQUEST;
        break;

    default:
        rc = HTTP_INTERNAL_SERVER_ERROR;
        break;
    }

    mcp_buf_free(&buf);

    return rc;
}

int mod_mcp_status_line(request_rec *r, int flags)
{
    mcp_status_head_t head;
    mcp_status_query_t query;
    mcp_buf_t buf;

    if (!mod_mcp_child.ready) {
        return OK;
    }

    set_query(&query, r->pool, mcp_str("summary"));
    mcp_buf_init(&buf, &mod_mcp_mem, STATUS_MAX);

    if (render(&query, &buf, &head) == MCP_OK) {
        ap_rputs(flags & AP_STATUS_SHORT ? "MCP: " : "<hr>\n<h2>MCP</h2>\n<p>",
                 r);
        ap_rwrite(buf.data, (int)buf.len, r);
        ap_rputs(flags & AP_STATUS_SHORT ? "\n" : "</p>\n", r);
    }

    mcp_buf_free(&buf);

    return OK;
}
