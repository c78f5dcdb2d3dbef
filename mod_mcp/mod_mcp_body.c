/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a request's body: as a whole, into the place that the core gives. */

#include "mod_mcp_body.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_worker.h"

/* Less of a body is copied at once. */
#define SCRAP  256

/* For so much there is room before it is read: clients that do not send what
 * they have announced take no more. */
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

void mod_mcp_body_expect(mod_mcp_client_t *client)
{
    const char *header = apr_table_get(client->r->headers_in, "Content-Length");
    apr_off_t length = header ? apr_atoi64(header) : -1;

    client->expected = length;
    client->space = NULL;

    if (length > 0 && length <= SMALL) {
        client->space = mcp_exchange_body_space(client->exchange,
                                                (apr_size_t)length);
    }
}

/* A body may be shorter or longer than was announced, if a filter changes
 * it. */
static char *get_space(mod_mcp_client_t *client, apr_size_t length)
{
    char *space = client->space;

    if (space == NULL || client->expected != (apr_off_t)length) {
        mod_mcp_lock();
        space = mcp_exchange_body_space(client->exchange, length);
        mod_mcp_unlock();
    }

    return space;
}

int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_size_t *length)
{
    request_rec *r = client->r;
    reader_t reader = { .r = r, .dir = dir };
    char *space;
    int rc;

    if (too_large(r, dir, client->expected)) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    reader.body = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    rc = read_all(&reader);
    if (rc != OK) {
        return rc;
    }

    *length = (apr_size_t)reader.length;
    space = get_space(client, *length);

    if (space == NULL
        || apr_brigade_flatten(reader.body, space, length) != APR_SUCCESS) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    apr_brigade_destroy(reader.body);

    mcp_exchange_parse(client->exchange, *length, &mod_mcp_mem);

    return OK;
}
