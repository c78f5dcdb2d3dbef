/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The directives of a cluster, each with its errors; the parameters of
 * mcp_cluster itself are in mcp_cluster_parameter.c.
 */


#include "config/mcp_cluster_conf_internal.h"


#define MCP_CLUSTER_PORT           6379
#define MCP_CLUSTER_SENTINEL_PORT  26379


mcp_cluster_setup_t *
mcp_cluster_setup_create(const mcp_mem_t *mem)
{
    mcp_cluster_setup_t  *setup;

    setup = mcp_mem_calloc(mem, sizeof(mcp_cluster_setup_t));
    if (setup == NULL) {
        return NULL;
    }

    setup->mem = mem;
    mcp_arena_init(&setup->arena, mem);

    setup->conf.sync = MCP_CLUSTER_SYNC_ON;
    setup->conf.timeout = 1000;
    setup->conf.outage_timeout = 5000;
    setup->conf.node_timeout = 15000;
    setup->conf.tls_verify = 1;

    return setup;
}


void
mcp_cluster_setup_free(mcp_cluster_setup_t *setup)
{
    const mcp_mem_t  *mem;

    mcp_arena_destroy(&setup->arena);

    mem = setup->mem;
    mem->free(mem->ctx, setup);
}


int
mcp_cluster_dup(mcp_cluster_setup_t *setup, mcp_str_t *member, mcp_str_t text)
{
    *member = mcp_arena_dup(&setup->arena, text);

    return member->data ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_cluster_setup_begin(mcp_cluster_setup_t *setup, char *error)
{
    if (setup->begun) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    setup->begun = 1;

    return MCP_OK;
}


int
mcp_cluster_setup_password(mcp_cluster_setup_t *setup, mcp_str_t file,
    mcp_str_t contents, char *error)
{
    while (contents.len && (contents.data[contents.len - 1] == '\n'
                            || contents.data[contents.len - 1] == '\r'))
    {
        contents.len--;
    }

    if (contents.len == 0) {
        return mcp_setup_fail(error, "the file \"%.*s\" contains no password",
                              mcp_setup_quote(file));
    }

    return mcp_cluster_dup(setup, &setup->conf.password, contents);
}


/* --- directives with one value --- */

typedef enum {
    MCP_CLUSTER_KIND_TIME = 0,
    MCP_CLUSTER_KIND_TEXT,
    MCP_CLUSTER_KIND_FILE,
    MCP_CLUSTER_KIND_VERIFY
} mcp_cluster_kind_e;


typedef struct {
    mcp_cluster_kind_e   kind;
    size_t               offset;       /* offset in mcp_cluster_conf_t */
    uint64_t             min;          /* ms */
    uint64_t             max;
} mcp_cluster_option_t;


static const mcp_cluster_option_t  mcp_cluster_options[] = {
    { MCP_CLUSTER_KIND_TIME, offsetof(mcp_cluster_conf_t, timeout),
      50, 60000 },
    { MCP_CLUSTER_KIND_TIME, offsetof(mcp_cluster_conf_t, outage_timeout),
      0, 3600000 },
    { MCP_CLUSTER_KIND_TIME, offsetof(mcp_cluster_conf_t, node_timeout),
      1000, 3600000 },
    { MCP_CLUSTER_KIND_FILE, offsetof(mcp_cluster_conf_t, tls_ca), 0, 0 },
    { MCP_CLUSTER_KIND_FILE, offsetof(mcp_cluster_conf_t, tls_certificate),
      0, 0 },
    { MCP_CLUSTER_KIND_FILE, offsetof(mcp_cluster_conf_t, tls_certificate_key),
      0, 0 },
    { MCP_CLUSTER_KIND_VERIFY, 0, 0, 0 },
    { MCP_CLUSTER_KIND_TEXT, offsetof(mcp_cluster_conf_t, tls_server_name),
      0, 0 }
};

_Static_assert(sizeof(mcp_cluster_options) / sizeof(mcp_cluster_options[0])
               == MCP_CLUSTER_OPTION_COUNT, "mcp_cluster_options lacks a row");
_Static_assert(MCP_CLUSTER_OPTION_COUNT <= MCP_CLUSTER_PARAMETER_BIT,
               "\"set\" has too few bits");


int
mcp_cluster_option_is_file(mcp_cluster_option_e option)
{
    return mcp_cluster_options[option].kind == MCP_CLUSTER_KIND_FILE;
}


static int
mcp_cluster_set_time(uint64_t *member, const mcp_cluster_option_t *row,
    mcp_str_t text, char *error)
{
    uint64_t  ms;

    if (mcp_option_time(text, &ms) != MCP_OK || ms < row->min || ms > row->max)
    {
        return mcp_setup_fail(error, "\"%.*s\" is not a time from %ums to "
                              "%us", mcp_setup_quote(text),
                              (unsigned) row->min,
                              (unsigned) (row->max / 1000));
    }

    *member = ms;

    return MCP_OK;
}


static int
mcp_cluster_set_flag(mcp_str_t text, int *flag, char *error)
{
    *flag = mcp_str_case_eq(text, mcp_str("on"));

    return *flag || mcp_str_case_eq(text, mcp_str("off"))
           ? MCP_OK
           : mcp_setup_fail(error, "\"%.*s\" is neither \"on\" nor \"off\"",
                            mcp_setup_quote(text));
}


int
mcp_cluster_setup_option(mcp_cluster_setup_t *setup,
    mcp_cluster_option_e option, mcp_str_t text, char *error)
{
    int                          rc, on;
    void                        *member;
    const mcp_cluster_option_t  *row;

    if (setup->set & mcp_cluster_bit(option)) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    if (text.len == 0) {
        return mcp_setup_fail(error, "the value is empty");
    }

    setup->set |= mcp_cluster_bit(option);

    row = &mcp_cluster_options[option];
    member = (char *) &setup->conf + row->offset;

    switch (row->kind) {

    case MCP_CLUSTER_KIND_TIME:
        return mcp_cluster_set_time(member, row, text, error);

    case MCP_CLUSTER_KIND_VERIFY:
        rc = mcp_cluster_set_flag(text, &on, error);
        setup->conf.tls_verify = (on != 0);
        return rc;

    default:
        return mcp_cluster_dup(setup, member, text);
    }
}


int
mcp_cluster_setup_sync(mcp_cluster_setup_t *setup, mcp_str_t text,
    mcp_str_t replicas, char *error)
{
    int        rc, on;
    uint64_t   n;
    mcp_str_t  name = mcp_str("replicas=");

    if (setup->has_sync) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    setup->has_sync = 1;

    n = 0;

    rc = mcp_cluster_set_flag(text, &on, error);
    if (rc != MCP_OK) {
        return rc;
    }

    if (replicas.data
        && (!on || replicas.len <= name.len
            || memcmp(replicas.data, name.data, name.len) != 0
            || mcp_str_uint((mcp_str_t) { replicas.data + name.len,
                                          replicas.len - name.len }, &n)
               != MCP_OK
            || n < 1 || n > MCP_CLUSTER_REPLICAS_MAX))
    {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not allowed: after \"on\" write "
                              "replicas=N, with N from 1 to %d",
                              mcp_setup_quote(replicas),
                              MCP_CLUSTER_REPLICAS_MAX);
    }

    setup->conf.sync = on ? MCP_CLUSTER_SYNC_ON : MCP_CLUSTER_SYNC_OFF;
    setup->conf.replicas = (unsigned) n;

    return MCP_OK;
}


/* --- merging and checking --- */

/* Copies an option's value from parent if it is not set. */
static void
mcp_cluster_take_option(mcp_cluster_conf_t *conf,
    const mcp_cluster_conf_t *parent, const mcp_cluster_option_t *row)
{
    const char  *value;

    value = (const char *) parent + row->offset;

    switch (row->kind) {

    case MCP_CLUSTER_KIND_TIME:
        memcpy((char *) conf + row->offset, value, sizeof(uint64_t));
        break;

    case MCP_CLUSTER_KIND_VERIFY:
        conf->tls_verify = parent->tls_verify;
        break;

    default:
        memcpy((char *) conf + row->offset, value, sizeof(mcp_str_t));
        break;
    }
}


void
mcp_cluster_setup_merge(mcp_cluster_setup_t *setup,
    const mcp_cluster_setup_t *parent)
{
    unsigned  i;
    uint32_t  missing;

    missing = parent->set & ~setup->set;

    for (i = 0; i < MCP_CLUSTER_OPTION_COUNT; i++) {
        if (missing & mcp_cluster_bit(i)) {
            mcp_cluster_take_option(&setup->conf, &parent->conf,
                                    &mcp_cluster_options[i]);
            setup->set |= mcp_cluster_bit(i);
        }
    }

    if (!setup->has_sync && parent->has_sync) {
        setup->conf.sync = parent->conf.sync;
        setup->conf.replicas = parent->conf.replicas;
        setup->has_sync = 1;
    }
}


int
mcp_cluster_setup_has_parameters(const mcp_cluster_setup_t *setup)
{
    return setup->begun;
}


#define MCP_CLUSTER_OPTION_NAMES(id, nginx, apache, help)  { nginx, apache },

static const char *const
    mcp_cluster_option_names[MCP_CLUSTER_OPTION_COUNT][2] = {
    MCP_CLUSTER_OPTIONS(MCP_CLUSTER_OPTION_NAMES)
};


const char *
mcp_cluster_setup_warning(const mcp_cluster_setup_t *setup, int apache)
{
    unsigned  option;

    for (option = 0; option < MCP_CLUSTER_OPTION_COUNT; option++) {
        if (setup->set & mcp_cluster_bit(option)) {
            return mcp_cluster_option_names[option][apache];
        }
    }

    if (setup->has_sync) {
        return apache ? "MCPClusterSync" : "mcp_cluster_sync";
    }

    return NULL;
}


static void
mcp_cluster_ports(mcp_cluster_conf_t *conf)
{
    size_t  i;

    for (i = 0; i < conf->n_seeds; i++) {
        if (conf->seeds[i].host.len && conf->seeds[i].port == 0) {
            conf->seeds[i].port = conf->sentinel.len
                                  ? MCP_CLUSTER_SENTINEL_PORT
                                  : MCP_CLUSTER_PORT;
        }
    }
}


int
mcp_cluster_setup_finish(mcp_cluster_setup_t *setup,
    const mcp_cluster_conf_t **conf, char *error)
{
    mcp_cluster_conf_t  *c = &setup->conf;

    if (c->n_seeds == 0) {
        return mcp_setup_fail(error, "a URL of Redis is missing: "
                              MCP_CLUSTER_URL_FORM);
    }

    if (c->user.len && c->password.len == 0) {
        return mcp_setup_fail(error, "user \"%.*s\" has no password: set "
                              "password_file=", mcp_setup_quote(c->user));
    }

    if ((c->tls_certificate.len == 0) != (c->tls_certificate_key.len == 0)) {
        return mcp_setup_fail(error,
                              "set both a certificate and its key "
                              "(mcp_cluster_certificate, "
                              "mcp_cluster_certificate_key)");
    }

    if (c->prefix.len == 0) {
        c->prefix = mcp_str("{mcp}");
    }

    mcp_cluster_ports(c);

    *conf = c;

    return MCP_OK;
}


int
mcp_cluster_conf_is_open(const mcp_cluster_conf_t *conf)
{
    size_t     i;
    mcp_str_t  host;

    for (i = 0; i < conf->n_seeds && conf->password.len == 0; i++) {
        host = conf->seeds[i].host;

        if (host.len && !mcp_str_case_eq(host, mcp_str("localhost"))
            && !mcp_str_eq(host, mcp_str("::1"))
            && (host.len < 4 || memcmp(host.data, "127.", 4) != 0))
        {
            return 1;
        }
    }

    return 0;
}
