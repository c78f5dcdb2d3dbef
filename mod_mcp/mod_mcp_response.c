/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a response that is not a stream. */

#include "mod_mcp_response.h"

#include "mod_mcp_client.h"
#include "mod_mcp_note.h"
#include "mod_mcp_stream.h"

void mod_mcp_response_head(request_rec *r, const mcp_response_t *response)
{
    apr_size_t i;

    r->status = response->status;
    r->status_line = NULL;

    if (response->content_type.len) {
        ap_set_content_type(r, apr_pstrmemdup(r->pool,
                                              response->content_type.data,
                                              response->content_type.len));
    }

    for (i = 0; i < response->n_headers; i++) {
        apr_table_addn(r->headers_out,
                       apr_pstrmemdup(r->pool, response->headers[i].name.data,
                                      response->headers[i].name.len),
                       apr_pstrmemdup(r->pool, response->headers[i].value.data,
                                      response->headers[i].value.len));
    }
}

void mod_mcp_response_begin(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    const mcp_response_t *response;

    response = mcp_exchange_response(client->exchange);

    mod_mcp_response_head(r, response);
    mod_mcp_note(client);

    if (response->status != HTTP_NO_CONTENT) {
        ap_set_content_length(r, response->body.len);
    }

    /*
     * the body lives as long as the exchange: until the request ends, or until
     * the client has disconnected
     */

    client->rest = response->body.data;
    client->left = response->body.len;
    mod_mcp_client_set_output(client, MOD_MCP_RESPONDING);
}

/* Passes the next piece of the body to the filters, or the end of the response
 * if nothing is left. */
static apr_status_t pass_piece(mod_mcp_client_t *client, apr_size_t piece)
{
    apr_bucket_alloc_t *list = client->c->bucket_alloc;
    apr_size_t len = client->left < piece ? client->left : piece;
    apr_bucket_brigade *bb = client->bb;
    apr_status_t rv;

    if (len) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(client->rest,
                                                               len, list));
    }

    client->rest += len;
    client->left -= len;

    APR_BRIGADE_INSERT_TAIL(bb, client->left ? mod_mcp_stream_nudge(list)
                                             : apr_bucket_eos_create(list));

    rv = ap_pass_brigade(client->r->output_filters, bb);

    apr_brigade_cleanup(bb);

    return rv;
}

/*
 * If "wait" is 0, passes the body in pieces, because filters would wait for the
 * socket if they got a large body at once.
 */
apr_status_t mod_mcp_response_step(mod_mcp_client_t *client, int wait)
{
    apr_status_t rv;

    do {
        rv = pass_piece(client, wait ? client->left
                                     : mod_mcp_filter_piece(client->c));

        if (rv == APR_SUCCESS && !wait) {
            rv = mod_mcp_stream_flush(client);
        }
    } while (rv == APR_SUCCESS && client->left);

    if (client->left == 0) {
        mod_mcp_client_set_output(client, MOD_MCP_RESPONDED);

        return rv == APR_SUCCESS ? APR_EOF : rv;
    }

    return rv;
}

int mod_mcp_response_early(request_rec *r, const char *handler)
{
    /* httpd's filters expect a file name */

    if (r->filename == NULL) {
        r->filename = apr_pstrdup(r->pool, "");
    }

    r->handler = handler;

    return ap_invoke_handler(r);
}
