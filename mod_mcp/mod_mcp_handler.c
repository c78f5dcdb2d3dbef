/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A client's request: passes its head and body to the core, and sends the
 * core's response.
 */

#include "mod_mcp_connection.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_path.h"
#include "mod_mcp_request.h"
#include "mod_mcp_secret.h"
#include "mod_mcp_tls.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"

#include "ap_expr.h"

#include "mcp_endpoint.h"
#include "mcp_http.h"

/*
 * Returns the value of an expression, or NULL if the expression is NULL or
 * fails.  A failure is logged with the name of the directive.
 */
static const char *evaluate_string(request_rec *r,
                                   const ap_expr_info_t *expression,
                                   const char *directive)
{
    const char *error = NULL, *value;

    if (expression == NULL) {
        return NULL;
    }

    value = ap_expr_str_exec(r, expression, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%s: %s", directive, error);
        return NULL;
    }

    return value;
}

static const char *evaluate_rule(request_rec *r,
                                 const ap_expr_info_t *expression)
{
    const char *error = NULL;
    int rc = ap_expr_exec(r, expression, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "MCPAllow: %s", error);
        return NULL;
    }

    return rc > 0 ? "1" : NULL;
}

/*
 * Evaluates the expressions of MCPAllow and MCPGrantedScopes.  An expression
 * may be slow, so all expressions are evaluated before mod_mcp_lock() is
 * called.  The core then gets the stored results.
 */
static void evaluate_rules(mod_mcp_client_t *client,
                           const mcp_endpoint_t *endpoint)
{
    request_rec *r = client->r;
    size_t i, n = mcp_endpoint_rules(endpoint);
    const void *scopes = mcp_endpoint_expression(endpoint, n);

    if (n == 0 && scopes == NULL) {
        return;
    }

    client->values = apr_pcalloc(r->pool, (n + 1) * sizeof(char *));

    for (i = 0; i < n; i++) {
        client->values[i] = evaluate_rule(r,
                                          mcp_endpoint_expression(endpoint, i));
    }

    client->values[n] = evaluate_string(r, scopes, "MCPGrantedScopes");
}

/*
 * Callback mcp_head_t.evaluate: sets *text to the stored result of expression
 * i, empty if the rule does not match or the expression failed.  Returns
 * MCP_OK, or MCP_ERR_NOT_FOUND if no results are stored. glue is the client.
 */
static int stored_rule(void *glue, size_t i, const void *value,
                       mcp_str_t *text)
{
    const mod_mcp_client_t *client = glue;

    if (client->values == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    *text = mod_mcp_str(client->values[i]);
    return MCP_OK;
}

static const char *make_principal(request_rec *r, mod_mcp_dir_t *dir)
{
    return dir->principal ? evaluate_string(r, dir->principal, "MCPPrincipal")
                          : r->user;
}

static void make_head(request_rec *r, mod_mcp_dir_t *dir, mcp_head_t *head)
{
    const apr_sockaddr_t *peer = r->useragent_addr;

    mod_mcp_request_head(r, head);

    head->origin = mod_mcp_str(evaluate_string(r, dir->link_origin,
                                               "MCPLinkOrigin"));
    head->secure = strcmp(ap_http_scheme(r), "https") == 0;
    head->principal = mod_mcp_str(make_principal(r, dir));
    head->local = mcp_http_address_is_loopback(peer->ipaddr_ptr,
                                               peer->ipaddr_len);
    head->address.data = peer->ipaddr_ptr;
    head->address.len = (size_t)peer->ipaddr_len;
    head->evaluate = stored_rule;
}

static int respond(mod_mcp_client_t *client, mcp_next_e next)
{
    switch (next) {
    case MCP_NEXT_RESPOND:
        mod_mcp_connection_serve(client, 0);
        return OK;

    case MCP_NEXT_STREAM:
        mod_mcp_connection_serve(client, MOD_MCP_STREAM);
        mod_mcp_lock();
        return mod_mcp_connection_attend(client);

    case MCP_NEXT_BODY:
    case MCP_NEXT_WAIT:
    case MCP_NEXT_CONTINUE:
    case MCP_NEXT_ERROR:
        break;
    }

    return HTTP_INTERNAL_SERVER_ERROR;
}

/* Creates the exchange of a client's request in the request's pool, or that of
 * a publisher's request in the core's memory.  Returns NULL when out of
 * memory. */
static mcp_exchange_t *create_exchange(mod_mcp_client_t *client,
                                       mod_mcp_dir_t *dir,
                                       const mcp_endpoint_t *endpoint,
                                       int publish)
{
    mcp_worker_t *worker = mod_mcp_child.worker;

    if (!publish) {
        return mcp_exchange_create_in(apr_palloc(client->r->pool,
                                                 mcp_exchange_size()),
                                      worker, endpoint, client);
    }

    return mcp_exchange_create_publish(worker, endpoint,
                                       mcp_setup_publish_secret(dir->setup),
                                       dir->publish_open == 1, client);
}

/* Begins to send the response if "next" is MCP_NEXT_RESPOND.  Called under
 * mod_mcp_lock(). */
static void begin_response(mod_mcp_client_t *client, mcp_next_e next)
{
    if (next == MCP_NEXT_RESPOND) {
        mod_mcp_connection_begin(client, MOD_MCP_RESPOND);
    }
}

static int exchange(mod_mcp_client_t *client, mod_mcp_dir_t *dir, int publish)
{
    const mcp_endpoint_t *endpoint;
    mcp_head_t head;
    apr_size_t length;
    mcp_next_e next;
    int rc;

    endpoint = mod_mcp_config_endpoint(dir, mod_mcp_zone_keys());
    if (endpoint == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    make_head(client->r, dir, &head);

    mod_mcp_lock();
    client->exchange = create_exchange(client, dir, endpoint, publish);
    next = client->exchange ? mcp_exchange_head(client->exchange, &head)
                            : MCP_NEXT_ERROR;
    begin_response(client, next);

    if (next == MCP_NEXT_BODY) {
        mod_mcp_body_expect(client);
    }

    mod_mcp_unlock();

    if (next != MCP_NEXT_BODY) {
        return respond(client, next);
    }

    rc = mod_mcp_body_read(client, dir, &length);
    if (rc != OK) {
        return rc;
    }

    evaluate_rules(client, endpoint);

    mod_mcp_lock();
    next = mcp_exchange_body(client->exchange, length);
    begin_response(client, next);

    if (next == MCP_NEXT_WAIT) {
        mod_mcp_drain();
        return mod_mcp_connection_attend(client);
    }

    mod_mcp_unlock();

    return respond(client, next);
}

static int handle_client(request_rec *r, int publish)
{
    mod_mcp_client_t *client;

    if (r->main || mod_mcp_fetch_backend_request(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "an MCP endpoint cannot answer a subrequest, and cannot "
                      "be a backend");
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!mod_mcp_child.ready) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "this process is not attached to MCPStore (an earlier "
                      "line of this process has the cause)");
        return HTTP_SERVICE_UNAVAILABLE;
    }

    /* ignore the header Range, which has no meaning for responses of calls */

    ap_remove_output_filter_byhandle(r->output_filters, "byterange");

    if (!publish && mod_mcp_secret_hide(r) != OK) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    client = mod_mcp_client_create(r);
    if (client == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    mod_mcp_tls_note(r);

    return exchange(client, mod_mcp_config_dir(r), publish);
}

int mod_mcp_handler(request_rec *r)
{
    if (strcmp(r->handler, MOD_MCP_HANDLER) == 0) {
        if (mod_mcp_path_is_below_endpoint(r)) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          "%s is below the path of an MCP endpoint, but is "
                          "not an endpoint itself",
                          r->uri);
            return HTTP_NOT_FOUND;
        }

        return handle_client(r, 0);
    }

    if (strcmp(r->handler, MOD_MCP_PUBLISH_HANDLER) == 0) {
        return handle_client(r, 1);
    }

    return DECLINED;
}
