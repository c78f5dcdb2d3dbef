/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a request's body: as a whole, and then into the place that the core
 * gives. */

#include "mod_mcp_body.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_worker.h"

/* Less of a body is copied at once. */
#define SCRAP  256

/* More of a body is copied without the lock. */
#define SMALL  16384

/* Scraps are collected in pieces of this size. */
#define PIECE  APR_BUCKET_BUFF_SIZE

typedef struct {
    request_rec *r;
    mod_mcp_dir_t *dir;
    apr_bucket_brigade *body;           /* what was read so far */
    apr_bucket *scraps;                 /* its last bucket, or NULL */
    apr_off_t length;
} reader_t;

static int too_large(request_rec *r, mod_mcp_dir_t *dir, apr_off_t length)
{
    apr_off_t max = dir->max_body < 0 ? MOD_MCP_MAX_BODY : dir->max_body;

    if (length <= max) {
        return 0;
    }

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "a body of %" APR_OFF_T_FMT " bytes or more is larger than "
                  "MCPMaxBody", length);

    return 1;
}

/* Puts scraps of a body together, which may be chunks of a byte each: a bucket
 * for each would take more than a hundred times the memory. */
static void add_scrap(reader_t *reader, const char *data, apr_size_t len)
{
    request_rec *r = reader->r;
    apr_bucket *last = reader->scraps;

    if (last == NULL || last != APR_BRIGADE_LAST(reader->body)
        || last->length + len > PIECE) {
        last = apr_bucket_immortal_create(apr_palloc(r->pool, PIECE), 0,
                                          r->connection->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(reader->body, last);
    }

    memcpy((char *)last->data + last->length, data, len);
    last->length += len;
    reader->scraps = last;
}

/* Takes a bucket out of its brigade. */
static int add_bucket(reader_t *reader, apr_bucket *b)
{
    const char *data;
    apr_size_t len = 0;
    apr_status_t rv;

    if (!APR_BUCKET_IS_METADATA(b)) {
        rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) {
            return HTTP_BAD_REQUEST;
        }

        reader->length += (apr_off_t)len;
    }

    if (too_large(reader->r, reader->dir, reader->length)) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    if (len < SCRAP) {
        if (len) {
            add_scrap(reader, data, len);
        }

        apr_bucket_delete(b);
        return OK;
    }

    APR_BUCKET_REMOVE(b);
    rv = apr_bucket_setaside(b, reader->r->pool);

    if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
        apr_bucket_destroy(b);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    APR_BRIGADE_INSERT_TAIL(reader->body, b);

    return OK;
}

static int read_all(reader_t *reader)
{
    request_rec *r = reader->r;
    apr_bucket_brigade *bb;
    apr_status_t rv;
    int rc, eos = 0;

    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    while (!eos) {
        rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES,
                            APR_BLOCK_READ, 65536);
        if (rv != APR_SUCCESS) {
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        }

        while (!eos && !APR_BRIGADE_EMPTY(bb)) {
            eos = APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(bb));
            rc = eos ? OK : add_bucket(reader, APR_BRIGADE_FIRST(bb));

            if (rc != OK) {
                return rc;
            }
        }

        apr_brigade_cleanup(bb);
    }

    return OK;
}

int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_bucket_brigade **body, apr_size_t *length)
{
    request_rec *r = client->r;
    reader_t reader = { .r = r, .dir = dir };
    const char *header = apr_table_get(r->headers_in, "Content-Length");
    int rc;

    if (header && too_large(r, dir, apr_atoi64(header))) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    reader.body = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    rc = read_all(&reader);
    if (rc != OK) {
        return rc;
    }

    *body = reader.body;
    *length = (apr_size_t)reader.length;

    return OK;
}

int mod_mcp_body_pass(mod_mcp_client_t *client, apr_bucket_brigade *body,
                      apr_size_t length)
{
    char *space = mcp_exchange_body_space(client->exchange, length);
    apr_size_t copied = length;
    apr_status_t rv;

    if (space == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (length <= SMALL) {
        rv = apr_brigade_flatten(body, space, &copied);
    }
    else {
        mod_mcp_unlock();
        rv = apr_brigade_flatten(body, space, &copied);
        mod_mcp_lock();
    }

    if (rv != APR_SUCCESS) {
        return MCP_ERR_MEMORY;
    }

    return mcp_exchange_body(client->exchange, copied);
}
