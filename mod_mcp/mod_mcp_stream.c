/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes a stream.  This file pulls bytes from the core only after the socket
 * has taken all earlier ones.  So a slow client costs one buffer, and an idle
 * client none.
 */

#include "mod_mcp_stream.h"

#include "mod_mcp_client.h"
#include "mod_mcp_connection.h"
#include "mod_mcp_response.h"
#include "mod_mcp_worker.h"

#include "http_connection.h"

#define BUF_MIN  4096

/* number of buffers that a stream may fill before other clients get their
 * turn */
#define STEPS    16

/* --- a metadata bucket without meaning --- */

/*
 * Any metadata bucket makes the TLS filter send the data that the filter holds.
 * The bucket type nudge_type has this effect only.  Unlike a flush bucket, it
 * does not make filters wait for the socket.
 */

static apr_status_t nudge_read(apr_bucket *b, const char **str,
                               apr_size_t *len, apr_read_type_e block)
{
    *str = NULL;
    *len = 0;

    return APR_SUCCESS;
}

static const apr_bucket_type_t nudge_type = {
    "MCP_NUDGE", 5, APR_BUCKET_METADATA,
    apr_bucket_destroy_noop,
    nudge_read,
    apr_bucket_setaside_noop,
    apr_bucket_split_notimpl,
    apr_bucket_simple_copy
};

apr_bucket *mod_mcp_stream_nudge(apr_bucket_alloc_t *list)
{
    apr_bucket *b = apr_bucket_alloc(sizeof(*b), list);

    APR_BUCKET_INIT(b);

    b->free = apr_bucket_free;
    b->list = list;
    b->type = &nudge_type;
    b->length = 0;
    b->start = 0;
    b->data = NULL;

    return b;
}

int mod_mcp_stream_is_nudge(const apr_bucket *b)
{
    return b->type == &nudge_type;
}

/* --- writing --- */

apr_status_t mod_mcp_stream_flush(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;
    ap_filter_t *f = c->output_filters;
    apr_status_t rv;

    while (f->next) {
        f = f->next;
    }

    rv = f->frec->filter_func.out_func(f, NULL);

    if (rv != APR_SUCCESS || c->aborted) {
        return rv == APR_SUCCESS ? APR_ECONNABORTED : rv;
    }

    return c->data_in_output_filters ? APR_EAGAIN : APR_SUCCESS;
}

void mod_mcp_stream_bye(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    /* do not check for room in the socket: the caller has set its timeout to
     * 0 */

    APR_BRIGADE_INSERT_TAIL(client->bb, ap_bucket_eoc_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, client->bb);
    apr_brigade_cleanup(client->bb);

    mod_mcp_stream_flush(client);
}

apr_status_t mod_mcp_stream_write(mod_mcp_client_t *client, const char *data,
                                  apr_size_t len, int wait)
{
    conn_rec *c = client->c;
    apr_bucket_brigade *bb = client->bb;
    apr_status_t rv;

    if (len) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create(data, len,
                                                       c->bucket_alloc));
    }

    APR_BRIGADE_INSERT_TAIL(bb, wait ? apr_bucket_flush_create(c->bucket_alloc)
                                     : mod_mcp_stream_nudge(c->bucket_alloc));

    if (client->output == MOD_MCP_STREAM_BEGUN) {
        mod_mcp_client_set_output(client, MOD_MCP_STREAMING);
    }

    rv = mod_mcp_stream_filter_pass(client, bb);

    if (rv != APR_SUCCESS || c->aborted) {
        return rv == APR_SUCCESS ? APR_ECONNABORTED : rv;
    }

    return wait ? APR_SUCCESS : mod_mcp_stream_flush(client);
}

static apr_size_t smallest(mod_mcp_client_t *client)
{
    apr_size_t piece = mod_mcp_filter_piece(client->c);

    return piece < BUF_MIN ? piece : BUF_MIN;
}

void mod_mcp_stream_head(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    int lasts, ends_first;

    mod_mcp_lock();
    lasts = mcp_exchange_lasts(client->exchange);
    ends_first = mcp_exchange_ends_first(client->exchange);
    mod_mcp_unlock();

    /* announce that the server closes the connection if no thread will read the
     * next request.  That is so if the connection will be suspended, or if its
     * thread will still run the backend request when the response ends. */

    if (ends_first || (lasts && mod_mcp_connection_can_suspend(client))) {
        mod_mcp_connection_announce_close(client);
    }

    mod_mcp_response_head(r, mcp_exchange_response(client->exchange));
    mod_mcp_stream_filter_add(client);

    /* disable compression: a compressing filter would wait for more data or
     * for the socket */

    apr_table_setn(r->subprocess_env, "no-gzip", "1");
    apr_table_setn(r->subprocess_env, "no-brotli", "1");

    mod_mcp_client_set_output(client, MOD_MCP_STREAM_BEGUN);
    client->size = smallest(client);
}

static void idle(mod_mcp_client_t *client)
{
    free(client->buf);

    client->buf = NULL;
    client->size = smallest(client);
}

/* Doubles the size of the stream's buffer, up to mod_mcp_filter_piece(), if
 * "len" bytes filled at least half of the buffer. */
static void grow(mod_mcp_client_t *client, apr_size_t len)
{
    apr_size_t piece = mod_mcp_filter_piece(client->c);

    if (len < client->size / 2 || client->size == piece) {
        return;
    }

    free(client->buf);

    client->buf = NULL;
    client->size = client->size * 2 < piece ? client->size * 2 : piece;
}

static int pull(mod_mcp_client_t *client, apr_size_t *len)
{
    int rc;

    if (client->buf == NULL) {
        client->buf = malloc(client->size);

        if (client->buf == NULL) {
            return MCP_ERR_MEMORY;
        }
    }

    mod_mcp_lock();
    rc = mcp_exchange_pull(client->exchange, client->buf, client->size, len);
    mod_mcp_unlock();

    return rc;
}

apr_status_t mod_mcp_stream_step(mod_mcp_client_t *client, int wait)
{
    apr_status_t rv;
    apr_size_t len;
    int n;

    for (n = 0; n < STEPS; n++) {
        switch (pull(client, &len)) {
        case MCP_OK:
            rv = mod_mcp_stream_write(client, client->buf, len, wait);

            if (rv != APR_SUCCESS) {
                return rv;
            }

            grow(client, len);
            break;

        case MCP_DONE:
            mod_mcp_client_set_output(client, MOD_MCP_STREAMED);

            rv = len ? mod_mcp_stream_write(client, client->buf, len, wait)
                     : APR_SUCCESS;
            idle(client);

            return rv == APR_SUCCESS ? APR_EOF : rv;

        case MCP_AGAIN:
            idle(client);

            /* filters may still hold the head of the response: send it */

            if (client->output == MOD_MCP_STREAM_BEGUN) {
                rv = mod_mcp_stream_write(client, NULL, 0, wait);
                return rv == APR_SUCCESS ? APR_INCOMPLETE : rv;
            }

            return APR_INCOMPLETE;

        default:
            return APR_ENOMEM;
        }
    }

    return APR_SUCCESS;
}
