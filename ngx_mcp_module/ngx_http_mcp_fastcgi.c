/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests to FastCGI backends. nginx spends most of its time for a call on
 * the scripts of about 30 parameters: it runs each script several times, to
 * compute lengths and then values.  This file evaluates each parameter once,
 * and writes the request, including a short body, into one buffer.
 *
 * The backend gets the same bytes as from nginx.  nginx itself writes the
 * requests that need more, for example those with a long body or with header
 * lines that must be joined, and all requests of locations with a cache.
 */


#include "ngx_http_mcp_fastcgi.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"


#define NGX_HTTP_MCP_FASTCGI_BEGIN   1
#define NGX_HTTP_MCP_FASTCGI_PARAMS  4
#define NGX_HTTP_MCP_FASTCGI_STDIN   5

/* length of a record's header, and of the content of a BEGIN record, bytes */
#define NGX_HTTP_MCP_FASTCGI_HEAD    8

#define NGX_HTTP_MCP_FASTCGI_RECORD  65535     /* maximum length of a record's
                                                  content, bytes */

/* maximum length of a body that is copied into the buffer, bytes */
#define NGX_HTTP_MCP_FASTCGI_BODY    2048

/* maximum number of a location's parameters, including one that nginx adds;
 * maximum size of the length of a name or value in a record, bytes */
#define NGX_HTTP_MCP_FASTCGI_COUNT   64
#define NGX_HTTP_MCP_FASTCGI_LENGTH  4


typedef struct {
    ngx_str_t                   text;      /* the name, followed by the
                                              constant beginning of the
                                              value */
    size_t                      name_len;
    ngx_int_t                   index;     /* index of the variable that is the
                                              rest of the value; NGX_ERROR if
                                              none */
    ngx_http_complex_value_t   *value;     /* the value, if it has another
                                              form; otherwise NULL */
    ngx_uint_t                  skip_empty;
} ngx_http_mcp_fastcgi_param_t;


struct ngx_http_mcp_fastcgi_s {
    ngx_array_t                 params;
    ngx_array_t                 replaced;  /* ngx_str_t: names of headers
                                              that are not passed, because a
                                              parameter HTTP_... has their
                                              name */
    size_t                      size;      /* maximum size of the constant
                                              parts of all parameters, bytes */
    ngx_buf_tag_t               tag;       /* output tag of
                                              ngx_http_fastcgi_module */
    u_char                      keep;      /* value of "fastcgi_keep_conn" */
};


static ngx_int_t ngx_http_mcp_fastcgi_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_mcp_fastcgi_create_request(ngx_http_request_t *r);
static ngx_uint_t ngx_http_mcp_fastcgi_is_ordinary(ngx_http_request_t *r);
static ngx_uint_t ngx_http_mcp_fastcgi_joins(ngx_http_request_t *r);
static size_t ngx_http_mcp_fastcgi_measure(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values);
static ngx_int_t ngx_http_mcp_fastcgi_evaluate(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_param_t *param, ngx_str_t *value);
static u_char *ngx_http_mcp_fastcgi_write(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values, u_char *p);
static u_char *ngx_http_mcp_fastcgi_write_params(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values, u_char *p);
static u_char *ngx_http_mcp_fastcgi_write_headers(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, u_char *p);
static u_char *ngx_http_mcp_fastcgi_write_header(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_table_elt_t *h, u_char *p);
static ngx_module_t *ngx_http_mcp_fastcgi_module(ngx_conf_t *cf);
static void *ngx_http_mcp_fastcgi_slot(ngx_module_t *module, void *conf,
    const char *directive);
static ngx_uint_t ngx_http_mcp_fastcgi_is_usual(ngx_module_t *module,
    void *conf);
static ngx_int_t ngx_http_mcp_fastcgi_add_all(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_array_t *params);
static ngx_int_t ngx_http_mcp_fastcgi_add(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_http_upstream_param_t *source);
static ngx_int_t ngx_http_mcp_fastcgi_add_replaced(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_http_upstream_param_t *source);
static ngx_int_t ngx_http_mcp_fastcgi_compile(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_param_t *param, ngx_str_t *value);
static ngx_uint_t ngx_http_mcp_fastcgi_is_name(ngx_str_t *name);


/* The content handler of ngx_http_fastcgi_module, and its callback
 * create_request.  Both are the same in all locations. */
static ngx_http_handler_pt  ngx_http_mcp_fastcgi_next_handler;
static ngx_int_t          (*ngx_http_mcp_fastcgi_next_create)(
    ngx_http_request_t *r);


#if (nginx_version >= 1029005)

/* The parameter that nginx adds in locations that do not set it. */
static ngx_http_upstream_param_t  ngx_http_mcp_fastcgi_host = {
    ngx_string("HTTP_HOST"),
    ngx_string("$host$is_request_port$request_port"),
    1
};

#endif


/*
 * Content handler of a FastCGI backend.  Calls nginx's handler with r->aio set
 * to 1, so that it creates the upstream but does not start it; replaces the
 * callback create_request; and then starts the upstream.
 */
static ngx_int_t
ngx_http_mcp_fastcgi_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_http_upstream_t      *u;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    /* mlcf->fastcgi is NULL in an "if" block */

    if (mlcf->fastcgi == NULL || r != r->main || r->aio
        || ngx_http_mcp_call_backend_request(r) == NULL)
    {
        return ngx_http_mcp_fastcgi_next_handler(r);
    }

    r->aio = 1;

    rc = ngx_http_mcp_fastcgi_next_handler(r);

    r->aio = 0;

    u = r->upstream;

    if (rc != NGX_DONE || u == NULL) {
        return rc;
    }

    /* the upstream may be that of another module, if the location has several
     * handlers */

    if (u->output.tag == mlcf->fastcgi->tag) {
        ngx_http_mcp_fastcgi_next_create = u->create_request;
        u->create_request = ngx_http_mcp_fastcgi_create_request;
    }

    ngx_http_upstream_init(r);

    return NGX_DONE;
}


static ngx_int_t
ngx_http_mcp_fastcgi_create_request(ngx_http_request_t *r)
{
    size_t                    size;
    ngx_buf_t                *b;
    ngx_str_t                 values[NGX_HTTP_MCP_FASTCGI_COUNT];
    ngx_chain_t              *cl;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (!ngx_http_mcp_fastcgi_is_ordinary(r)) {
        return ngx_http_mcp_fastcgi_next_create(r);
    }

    size = ngx_http_mcp_fastcgi_measure(r, mlcf->fastcgi, values);

    if (size == 0 || ngx_http_mcp_fastcgi_joins(r)) {
        return ngx_http_mcp_fastcgi_next_create(r);
    }

    /* six headers and contents of 8 bytes: BEGIN and its content, parameters,
     * end of parameters, body, end of body; and the padding of parameters and
     * body */

    size += r->headers_in.content_length_n + 8 * NGX_HTTP_MCP_FASTCGI_HEAD;

    b = ngx_create_temp_buf(r->pool, size);
    if (b == NULL) {
        return NGX_ERROR;
    }

    cl = ngx_alloc_chain_link(r->pool);
    if (cl == NULL) {
        return NGX_ERROR;
    }

    b->last = ngx_http_mcp_fastcgi_write(r, mlcf->fastcgi, values, b->pos);

    cl->buf = b;
    cl->next = NULL;

    r->upstream->request_bufs = cl;

    return NGX_OK;
}


/* Returns 1 if the request's body is in one buffer in memory and has at most
 * NGX_HTTP_MCP_FASTCGI_BODY bytes. */
static ngx_uint_t
ngx_http_mcp_fastcgi_is_ordinary(ngx_http_request_t *r)
{
    ngx_buf_t    *b;
    ngx_chain_t  *body;

    body = r->upstream->request_bufs;

    if (body == NULL || body->next || r->request_body_no_buffering) {
        return 0;
    }

    b = body->buf;

    if (!ngx_buf_in_memory(b) || b->in_file
        || b->last - b->pos > NGX_HTTP_MCP_FASTCGI_BODY
        || b->last - b->pos != r->headers_in.content_length_n)
    {
        return 0;
    }

    return 1;
}


/* Returns 1 if header lines with equal names must be joined, or on failure.
 * Called after the parameters have been evaluated, as in nginx, because
 * variables $http_... link header lines as well. */
static ngx_uint_t
ngx_http_mcp_fastcgi_joins(ngx_http_request_t *r)
{
#if (nginx_version >= 1023000)
    return ngx_http_link_multi_headers(r) != NGX_OK || r->headers_in.multi;
#else
    return 0;
#endif
}


/*
 * Evaluates all parameters into "values".  Returns the maximum size of the
 * parameters and header lines in a record, bytes.  Returns 0 if a parameter
 * cannot be evaluated or the size exceeds one record: nginx then writes the
 * request.
 */
static size_t
ngx_http_mcp_fastcgi_measure(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values)
{
    size_t                         size;
    ngx_uint_t                     i;
    ngx_list_part_t               *part;
    ngx_table_elt_t               *h;
    ngx_http_mcp_fastcgi_param_t  *param;

    size = fastcgi->size;
    param = fastcgi->params.elts;

    for (i = 0; i < fastcgi->params.nelts; i++) {
        if (ngx_http_mcp_fastcgi_evaluate(r, &param[i], &values[i])
            != NGX_OK)
        {
            return 0;
        }

        size += values[i].len;
    }

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            size += h[i].key.len + h[i].value.len + sizeof("HTTP_") - 1
                    + 2 * NGX_HTTP_MCP_FASTCGI_LENGTH;
        }
    }

    return size <= NGX_HTTP_MCP_FASTCGI_RECORD ? size : 0;
}


static ngx_int_t
ngx_http_mcp_fastcgi_evaluate(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_param_t *param, ngx_str_t *value)
{
    ngx_http_variable_value_t  *vv;

    if (param->value) {
        return ngx_http_complex_value(r, param->value, value);
    }

    value->len = 0;

    if (param->index == NGX_ERROR) {
        return NGX_OK;
    }

    vv = &r->variables[param->index];

    /* most variables have been evaluated already */

    if (!(vv->valid || vv->not_found) || vv->no_cacheable) {
        vv = ngx_http_get_flushed_variable(r, param->index);
    }

    if (vv && !vv->not_found) {
        value->data = vv->data;
        value->len = vv->len;
    }

    return NGX_OK;
}


static ngx_inline u_char *
ngx_http_mcp_fastcgi_write_length(u_char *p, size_t len)
{
    if (len > 127) {
        *p++ = (u_char) (((len >> 24) & 0x7f) | 0x80);
        *p++ = (u_char) ((len >> 16) & 0xff);
        *p++ = (u_char) ((len >> 8) & 0xff);
    }

    *p++ = (u_char) (len & 0xff);

    return p;
}


/* Writes the header and the padding of a record with "len" bytes of content.
 * The caller may have written the content before, at its position after the
 * header.  Returns the end of the record. */
static ngx_inline u_char *
ngx_http_mcp_fastcgi_write_record(u_char *p, u_char type, size_t len)
{
    size_t  padding;

    padding = (8 - len % 8) % 8;

    *p++ = 1;
    *p++ = type;
    *p++ = 0;
    *p++ = 1;
    *p++ = (u_char) (len >> 8);
    *p++ = (u_char) len;
    *p++ = (u_char) padding;
    *p++ = 0;

    p += len;

    ngx_memzero(p, padding);

    return p + padding;
}


static u_char *
ngx_http_mcp_fastcgi_write(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values, u_char *p)
{
    size_t      len;
    u_char     *content;
    ngx_buf_t  *body;

    /* content of BEGIN: the role of a responder */

    content = p + NGX_HTTP_MCP_FASTCGI_HEAD;
    ngx_memzero(content, NGX_HTTP_MCP_FASTCGI_HEAD);
    content[1] = 1;
    content[2] = fastcgi->keep;

    p = ngx_http_mcp_fastcgi_write_record(p, NGX_HTTP_MCP_FASTCGI_BEGIN,
                                          NGX_HTTP_MCP_FASTCGI_HEAD);

    content = p + NGX_HTTP_MCP_FASTCGI_HEAD;
    content = ngx_http_mcp_fastcgi_write_params(r, fastcgi, values, content);
    content = ngx_http_mcp_fastcgi_write_headers(r, fastcgi, content);
    len = content - p - NGX_HTTP_MCP_FASTCGI_HEAD;

    p = ngx_http_mcp_fastcgi_write_record(p, NGX_HTTP_MCP_FASTCGI_PARAMS, len);
    p = ngx_http_mcp_fastcgi_write_record(p, NGX_HTTP_MCP_FASTCGI_PARAMS, 0);

    body = r->upstream->request_bufs->buf;
    len = body->last - body->pos;
    ngx_memcpy(p + NGX_HTTP_MCP_FASTCGI_HEAD, body->pos, len);

    p = ngx_http_mcp_fastcgi_write_record(p, NGX_HTTP_MCP_FASTCGI_STDIN, len);

    return ngx_http_mcp_fastcgi_write_record(p, NGX_HTTP_MCP_FASTCGI_STDIN, 0);
}


static u_char *
ngx_http_mcp_fastcgi_write_params(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_str_t *values, u_char *p)
{
    size_t                         len;
    ngx_uint_t                     i;
    ngx_http_mcp_fastcgi_param_t  *param;

    param = fastcgi->params.elts;

    for (i = 0; i < fastcgi->params.nelts; i++, param++) {
        len = param->text.len - param->name_len + values[i].len;

        if (len == 0 && param->skip_empty) {
            continue;
        }

        *p++ = (u_char) param->name_len;
        p = ngx_http_mcp_fastcgi_write_length(p, len);
        p = ngx_cpymem(p, param->text.data, param->text.len);

        if (values[i].len) {
            p = ngx_cpymem(p, values[i].data, values[i].len);
        }

        ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "fastcgi param: \"%*s: %*s\"", param->name_len,
                       p - len - param->name_len, len, p - len);
    }

    return p;
}


static u_char *
ngx_http_mcp_fastcgi_write_headers(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, u_char *p)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            p = ngx_http_mcp_fastcgi_write_header(r, fastcgi, &h[i], p);
        }
    }

    return p;
}


static u_char *
ngx_http_mcp_fastcgi_write_header(ngx_http_request_t *r,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_table_elt_t *h, u_char *p)
{
    u_char      ch, *begin, *name;
    ngx_str_t  *replaced;
    ngx_uint_t  i;

    begin = p;

    p = ngx_http_mcp_fastcgi_write_length(p, sizeof("HTTP_") - 1 + h->key.len);
    p = ngx_http_mcp_fastcgi_write_length(p, h->value.len);
    p = ngx_cpymem(p, "HTTP_", sizeof("HTTP_") - 1);

    name = p;

    for (i = 0; i < h->key.len; i++) {
        ch = h->key.data[i];

        if (ch >= 'a' && ch <= 'z') {
            ch &= (u_char) ~0x20;

        } else if (ch == '-') {
            ch = '_';
        }

        *p++ = ch;
    }

    replaced = fastcgi->replaced.elts;

    for (i = 0; i < fastcgi->replaced.nelts; i++) {
        if (replaced[i].len == h->key.len
            && ngx_memcmp(replaced[i].data, name, h->key.len) == 0)
        {
            return begin;
        }
    }

    p = ngx_copy(p, h->value.data, h->value.len);

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "fastcgi param: \"%*s: %*s\"",
                   sizeof("HTTP_") - 1 + h->key.len,
                   name - (sizeof("HTTP_") - 1), h->value.len,
                   p - h->value.len);

    return p;
}


ngx_int_t
ngx_http_mcp_fastcgi_prepare(ngx_conf_t *cf, ngx_http_core_loc_conf_t *clcf)
{
    void                      *conf;
    ngx_int_t                  rc;
    ngx_array_t              **params;
    ngx_module_t              *module;
    ngx_http_mcp_fastcgi_t    *fastcgi;
    ngx_http_mcp_loc_conf_t   *mlcf;

    module = ngx_http_mcp_fastcgi_module(cf);
    mlcf = clcf->loc_conf[ngx_http_mcp_module.ctx_index];

    if (module == NULL || mlcf->fastcgi || clcf->handler == NULL) {
        return NGX_OK;
    }

    if (ngx_http_mcp_fastcgi_next_handler
        && ngx_http_mcp_fastcgi_next_handler != clcf->handler)
    {
        return NGX_OK;
    }

    conf = clcf->loc_conf[module->ctx_index];
    params = ngx_http_mcp_fastcgi_slot(module, conf, "fastcgi_param");

    if (params == NULL || *params == NULL
        || (*params)->nelts >= NGX_HTTP_MCP_FASTCGI_COUNT
        || !ngx_http_mcp_fastcgi_is_usual(module, conf))
    {
        return NGX_OK;
    }

    fastcgi = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_fastcgi_t));

    if (fastcgi == NULL
        || ngx_array_init(&fastcgi->params, cf->pool, (*params)->nelts,
                          sizeof(ngx_http_mcp_fastcgi_param_t)) != NGX_OK
        || ngx_array_init(&fastcgi->replaced, cf->pool, 1, sizeof(ngx_str_t))
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    fastcgi->keep = (u_char) *(ngx_flag_t *) ngx_http_mcp_fastcgi_slot(module,
                                                   conf, "fastcgi_keep_conn");
    fastcgi->tag = (ngx_buf_tag_t) module;

    rc = ngx_http_mcp_fastcgi_add_all(cf, fastcgi, *params);

    if (rc != NGX_OK) {
        return rc == NGX_DECLINED ? NGX_OK : NGX_ERROR;
    }

    ngx_http_mcp_fastcgi_next_handler = clcf->handler;
    clcf->handler = ngx_http_mcp_fastcgi_handler;
    mlcf->fastcgi = fastcgi;

    return NGX_OK;
}


/* Returns ngx_http_fastcgi_module, or NULL if nginx was built without it. */
static ngx_module_t *
ngx_http_mcp_fastcgi_module(ngx_conf_t *cf)
{
    ngx_uint_t  i;

    for (i = 0; cf->cycle->modules[i]; i++) {
        if (ngx_strcmp(cf->cycle->modules[i]->name, "ngx_http_fastcgi_module")
            == 0)
        {
            return cf->cycle->modules[i];
        }
    }

    return NULL;
}


/* Returns the address of the value of a directive in the module's
 * configuration; NULL if the module has no such directive. */
static void *
ngx_http_mcp_fastcgi_slot(ngx_module_t *module, void *conf,
    const char *directive)
{
    ngx_command_t  *cmd;

    for (cmd = module->commands; cmd->name.len; cmd++) {
        if (ngx_strcmp(cmd->name.data, directive) == 0) {
            return (u_char *) conf + cmd->offset;
        }
    }

    return NULL;
}


/* Returns 1 if the location passes header lines and body to a server that is
 * known from the configuration ("fastcgi_pass" without variables), and has no
 * cache. */
static ngx_uint_t
ngx_http_mcp_fastcgi_is_usual(ngx_module_t *module, void *conf)
{
    u_char                    *timeout;
    ngx_http_upstream_conf_t  *upstream;

    timeout = ngx_http_mcp_fastcgi_slot(module, conf,
                                        "fastcgi_connect_timeout");

    if (timeout == NULL
        || ngx_http_mcp_fastcgi_slot(module, conf, "fastcgi_keep_conn")
           == NULL)
    {
        return 0;
    }

    upstream = (ngx_http_upstream_conf_t *)
        (timeout - offsetof(ngx_http_upstream_conf_t, connect_timeout));

#if (NGX_HTTP_CACHE)
    if (upstream->cache) {
        return 0;
    }
#endif

    return upstream->upstream && upstream->pass_request_headers
           && upstream->pass_request_body;
}


/*
 * Compiles all parameters.  Returns
 *   NGX_OK        all parameters are compiled
 *   NGX_DECLINED  nginx has to write the requests of the location
 *   NGX_ERROR     memory is out
 */
static ngx_int_t
ngx_http_mcp_fastcgi_add_all(ngx_conf_t *cf, ngx_http_mcp_fastcgi_t *fastcgi,
    ngx_array_t *params)
{
    ngx_int_t                   rc;
    ngx_uint_t                  i;
    ngx_http_upstream_param_t  *source, *host;

    host = NULL;
    source = params->elts;

#if (nginx_version >= 1029005)
    host = &ngx_http_mcp_fastcgi_host;
#endif

    for (i = 0; i < params->nelts; i++) {
        rc = ngx_http_mcp_fastcgi_add(cf, fastcgi, &source[i]);

        if (rc != NGX_OK) {
            return rc;
        }

        if (host
            && ngx_strcasecmp(host->key.data, source[i].key.data) == 0)
        {
            host = NULL;
        }
    }

    return host ? ngx_http_mcp_fastcgi_add(cf, fastcgi, host) : NGX_OK;
}


static ngx_int_t
ngx_http_mcp_fastcgi_add(ngx_conf_t *cf, ngx_http_mcp_fastcgi_t *fastcgi,
    ngx_http_upstream_param_t *source)
{
    ngx_http_mcp_fastcgi_param_t  *param;

    if (source->key.len > 127) {
        return NGX_DECLINED;
    }

    if (source->key.len > sizeof("HTTP_") - 1
        && ngx_strncmp(source->key.data, "HTTP_", sizeof("HTTP_") - 1) == 0)
    {
        if (ngx_http_mcp_fastcgi_add_replaced(cf, fastcgi, source) != NGX_OK) {
            return NGX_ERROR;
        }

        if (source->value.len == 0) {
            return NGX_OK;
        }
    }

    param = ngx_array_push(&fastcgi->params);
    if (param == NULL) {
        return NGX_ERROR;
    }

    param->text = source->key;
    param->name_len = source->key.len;
    param->skip_empty = source->skip_empty;

    if (ngx_http_mcp_fastcgi_compile(cf, param, &source->value) != NGX_OK) {
        return NGX_ERROR;
    }

    fastcgi->size += 1 + NGX_HTTP_MCP_FASTCGI_LENGTH + param->text.len;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_fastcgi_add_replaced(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_t *fastcgi, ngx_http_upstream_param_t *source)
{
    size_t      i;
    ngx_str_t  *name;

    name = ngx_array_push(&fastcgi->replaced);
    if (name == NULL) {
        return NGX_ERROR;
    }

    name->len = source->key.len - (sizeof("HTTP_") - 1);
    name->data = ngx_pnalloc(cf->pool, name->len);

    if (name->data == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < name->len; i++) {
        name->data[i] = ngx_toupper(source->key.data[sizeof("HTTP_") - 1 + i]);
    }

    return NGX_OK;
}


/* Compiles a value: a text, a variable, or a text followed by a variable, as
 * most values are, into "text" and "index"; any other value into "value". */
static ngx_int_t
ngx_http_mcp_fastcgi_compile(ngx_conf_t *cf,
    ngx_http_mcp_fastcgi_param_t *param, ngx_str_t *value)
{
    u_char                            *p;
    size_t                             len;
    ngx_str_t                          name;
    ngx_http_compile_complex_value_t   ccv;

    param->value = NULL;
    param->index = NGX_ERROR;

    for (len = 0; len < value->len && value->data[len] != '$'; len++) {
        /* void */
    }

    name.data = value->data + len + 1;
    name.len = len < value->len ? value->len - len - 1 : 0;

    if (len == value->len || ngx_http_mcp_fastcgi_is_name(&name)) {
        if (name.len) {
            param->index = ngx_http_get_variable_index(cf, &name);

            if (param->index == NGX_ERROR) {
                return NGX_ERROR;
            }
        }

        p = ngx_pnalloc(cf->pool, param->text.len + len);
        if (p == NULL) {
            return NGX_ERROR;
        }

        ngx_memcpy(p, param->text.data, param->text.len);
        ngx_memcpy(p + param->text.len, value->data, len);

        param->text.data = p;
        param->text.len += len;

        return NGX_OK;
    }

    param->value = ngx_pcalloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (param->value == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = value;
    ccv.complex_value = param->value;

    return ngx_http_compile_complex_value(&ccv);
}


/* Returns 1 for the name of a variable.  A name that begins with a digit is
 * that of a capture. */
static ngx_uint_t
ngx_http_mcp_fastcgi_is_name(ngx_str_t *name)
{
    size_t  i;
    u_char  ch;

    for (i = 0; i < name->len; i++) {
        ch = name->data[i];

        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')
              || (ch >= '0' && ch <= '9' && i) || ch == '_'))
        {
            return 0;
        }
    }

    return name->len != 0;
}
