/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the directives of a cluster and completes its configuration.  The core
 * checks the values (mcp_cluster_conf.h).  This file checks files and creates
 * the TLS context.
 */

#include "mod_mcp_cluster_conf.h"

#include "mod_mcp_directives.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "apr_file_io.h"

/* --- directives --- */

/* Allocates memory for the setup.  The memory is freed with the pool.  malloc()
 * would not do: LeakSanitizer does not search pools, so it would report the
 * setup as lost. */
static void *pool_alloc(void *pool, size_t size)
{
    return apr_palloc(pool, size);
}

static void leave(void *pool, void *p)
{
}

static apr_status_t free_setup(void *data)
{
    mcp_cluster_setup_free(data);
    return APR_SUCCESS;
}

/*
 * Sets *setup to the cluster's setup, and creates the setup on first use.
 * Returns NULL, or an error message.
 */
static const char *get_setup(cmd_parms *cmd, mcp_cluster_setup_t **setup)
{
    mod_mcp_global_t *global = mod_mcp_config_global(cmd->server);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    mod_mcp_cluster_conf_t *cluster = global->cluster;

    if (error) {
        return error;
    }

    if (cluster == NULL) {
        cluster = apr_pcalloc(cmd->pool, sizeof(*cluster));
        cluster->file = cmd->directive->filename;
        cluster->line = cmd->directive->line_num;
        cluster->mem.alloc = pool_alloc;
        cluster->mem.free = leave;
        cluster->mem.ctx = cmd->pool;
        cluster->setup = mcp_cluster_setup_create(&cluster->mem);

        if (cluster->setup == NULL) {
            ap_abort_on_oom();
        }

        apr_pool_cleanup_register(cmd->pool, cluster->setup, free_setup,
                                  apr_pool_cleanup_null);
        global->cluster = cluster;
    }

    *setup = cluster->setup;
    return NULL;
}

static const char *read_password(cmd_parms *cmd, mcp_cluster_setup_t *setup,
                                 mcp_str_t file)
{
    const char *name = apr_pstrmemdup(cmd->pool, file.data, file.len);
    char text[MCP_SETUP_ERROR_MAX];
    mcp_str_t contents;
    const char *error;
    int rc;

    error = mod_mcp_directive_read(cmd, &name, MCP_CLUSTER_PASSWORD_MAX,
                                   &contents);
    if (error) {
        return error;
    }

    rc = mcp_cluster_setup_password(setup, mod_mcp_str(name), contents, text);
    mod_mcp_directive_dispose(&contents);

    return mod_mcp_directive_result(cmd, rc, text);
}

const char *mod_mcp_cluster_add(cmd_parms *cmd, void *dir, int argc,
                                char *const argv[])
{
    char text[MCP_SETUP_ERROR_MAX];
    mcp_cluster_setup_t *setup;
    mcp_str_t file;
    const char *error = get_setup(cmd, &setup);
    int i, rc;

    if (error) {
        return error;
    }

    rc = mcp_cluster_setup_begin(setup, text);
    error = mod_mcp_directive_result(cmd, rc, text);

    for (i = 0; error == NULL && i < argc; i++) {
        rc = mcp_cluster_setup_parameter(setup, mod_mcp_str(argv[i]), &file,
                                         text);
        error = mod_mcp_directive_result(cmd, rc, text);

        if (error == NULL && file.len) {
            error = read_password(cmd, setup, file);
        }
    }

    return error;
}

const char *mod_mcp_cluster_sync(cmd_parms *cmd, void *dir, const char *text,
                                 const char *replicas)
{
    char why[MCP_SETUP_ERROR_MAX];
    mcp_cluster_setup_t *setup;
    const char *error = get_setup(cmd, &setup);
    int rc;

    if (error) {
        return error;
    }

    rc = mcp_cluster_setup_sync(setup, mod_mcp_str(text),
                                mod_mcp_str(replicas), why);
    return mod_mcp_directive_result(cmd, rc, why);
}

/*
 * Makes the name of a file absolute and checks that the file can be read.
 * Returns NULL, or an error message.
 */
static const char *find_file(cmd_parms *cmd, const char **name)
{
    const char *error = mod_mcp_directive_find(cmd, name);
    apr_file_t *file;
    apr_status_t rv;

    if (error) {
        return error;
    }

    rv = apr_file_open(&file, *name, APR_FOPEN_READ | APR_FOPEN_BINARY,
                       APR_FPROT_OS_DEFAULT, cmd->temp_pool);
    if (rv != APR_SUCCESS) {
        return apr_psprintf(cmd->pool, "%s: cannot open \"%s\": %pm",
                            cmd->cmd->name, *name, &rv);
    }

    apr_file_close(file);

    return NULL;
}

const char *mod_mcp_cluster_option(cmd_parms *cmd, void *dir, const char *arg)
{
    mcp_cluster_option_e option;
    char text[MCP_SETUP_ERROR_MAX];
    mcp_cluster_setup_t *setup;
    const char *error = get_setup(cmd, &setup);
    int rc;

    option = (mcp_cluster_option_e)(apr_uintptr_t)cmd->info;

    if (error == NULL && arg[0] && mcp_cluster_option_is_file(option)) {
        error = find_file(cmd, &arg);
    }

    if (error) {
        return error;
    }

    rc = mcp_cluster_setup_option(setup, option, mod_mcp_str(arg), text);
    return mod_mcp_directive_result(cmd, rc, text);
}

/* --- TLS --- */

static apr_status_t free_tls(void *data)
{
    SSL_CTX_free(data);
    return APR_SUCCESS;
}

static int load_files(apr_pool_t *p, SSL_CTX *tls,
                      const mcp_cluster_conf_t *conf)
{
    const char *ca = apr_pstrmemdup(p, conf->tls_ca.data, conf->tls_ca.len);
    const char *certificate = apr_pstrmemdup(p, conf->tls_certificate.data,
                                             conf->tls_certificate.len);
    const char *key = apr_pstrmemdup(p, conf->tls_certificate_key.data,
                                     conf->tls_certificate_key.len);

    if (conf->tls_certificate.len
        && (SSL_CTX_use_certificate_chain_file(tls, certificate) != 1
            || SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1
            || SSL_CTX_check_private_key(tls) != 1)) {
        return 0;
    }

    return conf->tls_ca.len ? SSL_CTX_load_verify_locations(tls, ca, NULL) == 1
                            : SSL_CTX_set_default_verify_paths(tls) == 1;
}

/*
 * Creates cluster->tls and loads the certificates and the key.  Runs in the
 * parent, because only root may be able to read the files; children inherit the
 * SSL_CTX.  Returns OK, or an HTTP error after an error in the log.
 */
static int make_tls(apr_pool_t *pconf, server_rec *s,
                    mod_mcp_cluster_conf_t *cluster)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    const char *reason;
    unsigned long code;

    if (tls) {
        apr_pool_cleanup_register(pconf, tls, free_tls, apr_pool_cleanup_null);

        if (SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1
            && load_files(pconf, tls, cluster->conf)) {
            SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE
                                  | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
            cluster->tls = tls;
            return OK;
        }
    }

    code = ERR_peek_last_error();
    reason = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();

    ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                 "mod_mcp: cannot set up TLS for MCPCluster in %s:%d: check "
                 "MCPClusterCA, MCPClusterCertificate and "
                 "MCPClusterCertificateKey: %s", cluster->file, cluster->line,
                 reason ? reason : "OpenSSL gives no reason");

    return HTTP_INTERNAL_SERVER_ERROR;
}

/* --- the complete configuration --- */

static void warn(server_rec *s, const mod_mcp_cluster_conf_t *cluster)
{
    char text[MCP_SETUP_ERROR_MAX];
    unsigned position = 0;

    if (mcp_cluster_conf_is_open(cluster->conf)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the cluster in %s:%d connects to Redis over the "
                     "network without a password, so anyone who can connect to "
                     "Redis can read and forge messages: set "
                     "password_file=", cluster->file,
                     cluster->line);
    }

    while (mcp_cluster_setup_idle(cluster->setup, (int)cluster->conf->tls,
                                  1 /* Apache */, &position, text)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "mod_mcp: %s", text);
    }
}

int mod_mcp_cluster_check(apr_pool_t *pconf, server_rec *s)
{
    mod_mcp_cluster_conf_t *cluster = mod_mcp_config_global(s)->cluster;
    char error[MCP_SETUP_ERROR_MAX] = "out of memory";

    if (cluster == NULL) {
        return OK;
    }

    if (!mcp_cluster_setup_has_parameters(cluster->setup)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: %s in %s:%d has no effect, because no cluster "
                     "is configured: set "
                     "MCPCluster", mcp_cluster_setup_warning(cluster->setup, 1),
                     cluster->file, cluster->line);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (mcp_cluster_setup_finish(cluster->setup, &cluster->conf, 1, error)
        != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the cluster in %s:%d: %s", cluster->file,
                     cluster->line, error);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    warn(s, cluster);

    return cluster->conf->tls ? make_tls(pconf, s, cluster) : OK;
}

int mod_mcp_cluster_has_key(server_rec *s, const char *path,
                            const mod_mcp_dir_t *dir)
{
    const mod_mcp_cluster_conf_t *cluster = mod_mcp_cluster_conf(s);

    if (cluster == NULL || (dir && mcp_setup_keys(dir->setup))) {
        return 1;
    }

    /* other nodes cannot verify tokens that are signed with the generated key
     * of this zone, so the endpoint needs a configured key */

    ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                 "mod_mcp: the endpoint %s has no MCPKey, but all nodes of the "
                 "cluster in %s:%d need a common key: set "
                 "MCPKey", path, cluster->file,
                 cluster->line);
    return 0;
}

typedef struct {
    const char *path;
    server_rec *server;
    mcp_str_t identity;
} endpoint_t;

int mod_mcp_cluster_add_endpoint(apr_pool_t *pconf, server_rec *s,
                                 const char *path, const mod_mcp_dir_t *dir)
{
    mod_mcp_cluster_conf_t *cluster = mod_mcp_config_global(s)->cluster;
    mcp_str_t identity = mcp_setup_identity(dir->setup);
    endpoint_t *other;
    int i;

    if (cluster == NULL) {
        if (!mcp_setup_has_cluster_endpoint(dir->setup)) {
            return 1;
        }

        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the endpoint %s has MCPClusterEndpoint, but no "
                     "cluster is configured: set MCPCluster", path);
        return 0;
    }

    if (cluster->endpoints == NULL) {
        cluster->endpoints = apr_array_make(pconf, 4, sizeof(endpoint_t));
    }

    for (i = 0; i < cluster->endpoints->nelts; i++) {
        other = &APR_ARRAY_IDX(cluster->endpoints, i, endpoint_t);

        if (mcp_str_eq(other->identity, identity)) {
            ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                         "mod_mcp: the endpoints %s of %s and %s of %s have "
                         "the same name \"%.*s\" in the cluster: give each "
                         "its own name by MCPClusterEndpoint", other->path,
                         other->server->server_hostname, path,
                         s->server_hostname, (int)identity.len, identity.data);
            return 0;
        }
    }

    other = apr_array_push(cluster->endpoints);
    other->path = path;
    other->server = s;
    other->identity = identity;

    return 1;
}

int mod_mcp_cluster_endpoints(const mod_mcp_cluster_conf_t *cluster,
                              int (*add)(void *ctx, mcp_str_t identity),
                              void *ctx)
{
    const endpoint_t *endpoint;
    int i, rc = MCP_OK, n = cluster->endpoints ? cluster->endpoints->nelts : 0;

    for (i = 0; rc == MCP_OK && i < n; i++) {
        endpoint = &APR_ARRAY_IDX(cluster->endpoints, i, const endpoint_t);
        rc = add(ctx, endpoint->identity);
    }

    return rc;
}

const mod_mcp_cluster_conf_t *mod_mcp_cluster_conf(server_rec *s)
{
    return mod_mcp_config_global(s)->cluster;
}
