/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads a request's body completely into memory of the core.  A body with a
 * small Content-Length is read directly into this memory.  Any other body is
 * collected in a brigade and then copied.
 */

#include "mod_mcp_connection.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_worker.h"

/* buckets with less data than this, bytes, are not put into the brigade.  Their
 * data is copied, because many short buckets would take far more memory than
 * their data */
#define SCRAP  256

/*
 * a body gets memory before it is read only if its Content-Length is at most
 * this, bytes, because a client may announce a long body and never send it
 */
#define SMALL  16384

/* a length that exceeds every limit of a body's length, bytes */
#define HUGE_BODY  ((apr_off_t)1 << 48)

/* size of the pieces in which data shorter than SCRAP is collected, bytes */
#define PIECE  APR_BUCKET_BUFF_SIZE

typedef struct {
    request_rec *r;
    mod_mcp_dir_t *dir;
    char *space;                        /* memory for a body of the length in
                                           Content-Length; NULL if none */
    apr_off_t room;                     /* size of "space", bytes */
    apr_bucket_brigade *body;           /* data that has arrived, if the
                                           body does not fit into "space";
                                           else NULL */
    apr_bucket *scraps;                 /* last bucket of "body" if it has room
                                           for short data; else NULL */
    apr_off_t length;                   /* bytes already read */
} reader_t;

/* Returns 1, and logs an error, if the length exceeds MCPMaxBody. */
static int body_too_large(request_rec *r, mod_mcp_dir_t *dir, apr_off_t length)
{
    apr_off_t max = dir->max_body < 0 ? MOD_MCP_MAX_BODY : dir->max_body;

    if (length <= max) {
        return 0;
    }

    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "mcp: a request body of %" APR_OFF_T_FMT " bytes or more is "
                  "refused, because it exceeds MCPMaxBody %" APR_OFF_T_FMT,
                  length, max);

    return 1;
}

/*
 * Collects data shorter than SCRAP in pieces.  The body may arrive in chunks
 * of one byte, and a bucket for each would take more than a hundred times the
 * memory.
 */
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

/*
 * Creates reader->body for the rest of the body, and puts the data that
 * reader->space contains into it.  Called when the body does not fit into
 * reader->space, or when reader->space is NULL.
 */
static void collect_body(reader_t *reader)
{
    apr_bucket_alloc_t *list = reader->r->connection->bucket_alloc;
    apr_bucket *b;

    reader->body = apr_brigade_create(reader->r->pool, list);

    if (reader->length) {
        b = apr_bucket_immortal_create(reader->space,
                                       (apr_size_t)reader->length, list);
        APR_BRIGADE_INSERT_TAIL(reader->body, b);
    }
}

/*
 * Moves the data of a bucket to the body, and removes the bucket from its
 * brigade.  Returns OK, or an HTTP status.
 */
static int add_data(reader_t *reader, apr_bucket *b, const char *data,
                    apr_size_t len)
{
    apr_off_t before = reader->length;
    apr_status_t rv;

    if (reader->body == NULL && before + (apr_off_t)len > reader->room) {
        collect_body(reader);
    }

    reader->length += (apr_off_t)len;

    if (reader->body == NULL || len < SCRAP) {
        if (reader->body) {
            add_scrap(reader, data, len);
        }
        else {
            memcpy(reader->space + before, data, len);
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

/*
 * Adds the data of an input bucket to the body, and removes the bucket from its
 * brigade.  Returns OK, or an HTTP status.
 */
static int add_bucket(reader_t *reader, apr_bucket *b)
{
    const char *data;
    apr_size_t len = 0;

    if (!APR_BUCKET_IS_METADATA(b)
        && apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS) {
        return HTTP_BAD_REQUEST;
    }

    if (body_too_large(reader->r, reader->dir,
                       reader->length + (apr_off_t)len)) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    if (len == 0) {
        apr_bucket_delete(b);
        return OK;
    }

    return add_data(reader, b, data, len);
}

static int read_all(reader_t *reader, apr_bucket_brigade *bb)
{
    request_rec *r = reader->r;
    apr_status_t rv;
    int rc, eos = 0;

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

/*
 * Returns the Content-Length, or -1 if there is none. httpd has rejected
 * values that are not numbers.  Stops reading digits when the value exceeds
 * HUGE_BODY.
 */
static apr_off_t announced(request_rec *r)
{
    const char *p = apr_table_get(r->headers_in, "Content-Length");
    apr_off_t length = 0;

    if (p == NULL) {
        return -1;
    }

    while (*p >= '0' && *p <= '9' && length < HUGE_BODY) {
        length = length * 10 + (*p++ - '0');
    }

    return length;
}

void mod_mcp_body_expect(mod_mcp_client_t *client)
{
    apr_off_t length = announced(client->r);

    client->expected = length;
    client->space = NULL;

    if (length > 0 && length <= SMALL) {
        client->space = mcp_exchange_body_space(client->exchange,
                                                (apr_size_t)length);
    }
}

/* Copies the body from the brigade into memory of the core. */
static int flatten(mod_mcp_client_t *client, reader_t *reader)
{
    apr_size_t length = (apr_size_t)reader->length;
    char *space;

    mod_mcp_lock();
    space = mcp_exchange_body_space(client->exchange, length);
    mod_mcp_unlock();

    if (space == NULL
        || (reader->body && apr_brigade_flatten(reader->body, space, &length)
                                != APR_SUCCESS)) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (reader->body) {
        apr_brigade_destroy(reader->body);
    }

    return OK;
}

/*
 * Reads the whole body.  A length that differs from Content-Length is no error,
 * because input filters may have changed the body.
 */
int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_size_t *length)
{
    reader_t reader = { .r = client->r, .dir = dir };
    int rc;

    if (body_too_large(client->r, dir, client->expected)) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    reader.space = client->space;
    reader.room = client->space ? client->expected : 0;

    rc = read_all(&reader, client->bb);
    apr_brigade_cleanup(client->bb);

    if (rc == OK && (reader.body || reader.space == NULL)) {
        rc = flatten(client, &reader);
    }

    if (rc != OK) {
        return rc;
    }

    *length = (apr_size_t)reader.length;
    mcp_exchange_parse(client->exchange, *length, &mod_mcp_mem);

    return OK;
}
