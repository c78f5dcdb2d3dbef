/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes a stream to the socket without httpd's core output filter.  The core
 * output filter holds data until it has more or gets a flush, in a pool that
 * it never frees.  The pieces of a stream are small, and each must be sent
 * immediately, but without waiting for the socket, as a flush would.  So the
 * filter of this file, in front of the core output filter, writes as much as
 * the socket takes, and passes on the rest.  This needs no copy, and for most
 * streams no pool.
 */

#include "mod_mcp_stream.h"

#include "mod_mcp_client.h"

#include "apr_optional.h"
#include "util_filter.h"

/*
 * maximum number of buffers in one call of apr_socket_sendv(); a piece of a
 * stream together with the response head needs at most five, with TLS fewer
 */
#define PARTS  16

/* declares a function of mod_logio, whose header is not installed */
APR_DECLARE_OPTIONAL_FN(void, ap_logio_add_bytes_out,
                        (conn_rec *c, apr_off_t bytes));

static APR_OPTIONAL_FN_TYPE(ap_logio_add_bytes_out) *count_bytes;

static ap_filter_rec_t *handle;

/*
 * Returns 1 for buckets that do not change when they are read, and whose data
 * is available without waiting.
 */
static int is_memory(const apr_bucket *b)
{
    return APR_BUCKET_IS_TRANSIENT(b) || APR_BUCKET_IS_HEAP(b)
           || APR_BUCKET_IS_IMMORTAL(b) || APR_BUCKET_IS_POOL(b);
}

/* Returns 1 for buckets whose only effect is to send all data before them. */
static int is_push(const apr_bucket *b)
{
    return APR_BUCKET_IS_FLUSH(b) || mod_mcp_stream_is_nudge(b);
}

/*
 * Returns 1 if a brigade contains only the head of a response.  httpd passes
 * the head in a separate brigade before the data; this filter holds the head
 * back, so that head and data share a packet.  Transient data, for example from
 * TLS, is not a head, because it does not live until the next brigade.
 */
static int is_head(const apr_bucket_brigade *bb)
{
    const apr_bucket *b;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (!is_memory(b) || APR_BUCKET_IS_TRANSIENT(b)) {
            return 0;
        }
    }

    return 1;
}

static int gather(apr_bucket_brigade *bb, struct iovec *vec)
{
    apr_bucket *b;
    const char *data;
    apr_size_t len;
    int n = 0;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb) && n < PARTS;
         b = APR_BUCKET_NEXT(b)) {
        if (is_push(b)) {
            continue;
        }

        if (!is_memory(b) || apr_bucket_read(b, &data, &len, APR_BLOCK_READ)
                                 != APR_SUCCESS) {
            break;
        }

        if (len) {
            vec[n].iov_base = (void *)data;
            vec[n++].iov_len = len;
        }
    }

    return n;
}

/*
 * Deletes the buckets of the first "written" bytes, and the flushes and nudges
 * after them.
 */
static void drop(apr_bucket_brigade *bb, apr_size_t written)
{
    apr_bucket *b;

    while (!APR_BRIGADE_EMPTY(bb)) {
        b = APR_BRIGADE_FIRST(bb);

        if (!is_push(b)) {
            if (!is_memory(b)) {
                return;
            }

            if (b->length > written) {
                if (written) {
                    apr_bucket_split(b, written);
                    apr_bucket_delete(b);
                }

                return;
            }

            written -= b->length;
        }

        apr_bucket_delete(b);
    }
}

/*
 * Writes the buckets of a brigade to the socket without waiting, and deletes
 * those that were written.  Ignores errors, because httpd's core output filter
 * detects them as well.
 */
static void write_brigade(conn_rec *c, apr_bucket_brigade *bb)
{
    apr_socket_t *socket = ap_get_conn_socket(c);
    apr_interval_time_t timeout;
    struct iovec vec[PARTS];
    apr_size_t written = 0;
    int n = gather(bb, vec);

    if (n) {
        apr_socket_timeout_get(socket, &timeout);
        apr_socket_timeout_set(socket, 0);

        if (apr_socket_sendv(socket, vec, n, &written) != APR_SUCCESS) {
            written = 0;
        }

        apr_socket_timeout_set(socket, timeout);
    }

    if (written && count_bytes) {
        count_bytes(c, (apr_off_t)written);
    }

    drop(bb, written);
}

static apr_status_t stream_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    mod_mcp_client_t *client = f->ctx;
    conn_rec *c = f->c;

    /* data that httpd's core output filter still holds must be sent first */

    if (!client->bypass || c->aborted || c->data_in_output_filters) {
        APR_BRIGADE_PREPEND(bb, client->head);
        return ap_pass_brigade(f->next, bb);
    }

    if (is_head(bb)) {
        APR_BRIGADE_CONCAT(client->head, bb);
        return APR_SUCCESS;
    }

    APR_BRIGADE_PREPEND(bb, client->head);
    write_brigade(c, bb);

    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}

void mod_mcp_stream_filter_register(void)
{
    /* place the filter after the TLS filter, directly before httpd's core
     * output filter */

    handle = ap_register_output_filter(MOD_MCP_STREAM_FILTER, stream_filter,
                                       NULL, AP_FTYPE_NETWORK - 1);
}

void mod_mcp_stream_filter_init(void)
{
    count_bytes = APR_RETRIEVE_OPTIONAL_FN(ap_logio_add_bytes_out);
}

/* Does nothing for a stream of HTTP/2, because it has no socket. */
void mod_mcp_stream_filter_add(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    if (client->head || c->master || ap_get_conn_socket(c) == NULL) {
        return;
    }

    client->head = apr_brigade_create(c->pool, c->bucket_alloc);
    ap_add_output_filter_handle(handle, client, client->r, c);
}

apr_status_t mod_mcp_stream_filter_pass(mod_mcp_client_t *client,
                                        apr_bucket_brigade *bb)
{
    apr_status_t rv;

    client->bypass = (client->head != NULL);
    rv = ap_pass_brigade(client->r->output_filters, bb);
    apr_brigade_cleanup(bb);

    /* data without a flush or nudge looks like a head and was held back: send
     * it */

    if (rv == APR_SUCCESS && client->bypass
        && !APR_BRIGADE_EMPTY(client->head)) {
        APR_BRIGADE_INSERT_TAIL(bb, mod_mcp_stream_nudge(bb->bucket_alloc));
        rv = ap_pass_brigade(client->c->output_filters, bb);
        apr_brigade_cleanup(bb);
    }

    client->bypass = 0;

    return rv;
}
