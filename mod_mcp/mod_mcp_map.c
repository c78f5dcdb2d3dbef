/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that are not mapped to files: those to an endpoint, to a backend
 * whose handler is mod_proxy, and lookups of PATH_INFO for a backend.
 *
 * httpd maps each request to a file name, looks for that file in each
 * directory of its path, and reads the .htaccess files there.  For the
 * requests above, <Directory> and <Files> sections apply to the file name,
 * because they may contain access rules, but nothing is looked up in the file
 * system.
 *
 * A backend's handler may name its script:
 *
 *      SetHandler "proxy:unix:/run/php.sock|fcgi://php/srv/tools.php"
 *
 * mod_proxy appends the file name to this handler.  This module makes the file
 * name empty, so that SCRIPT_FILENAME is /srv/tools.php. <Directory> sections
 * do not apply then, as with ProxyPass.
 */

#include "mod_mcp_map.h"

#include "mod_mcp_config.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_request.h"

#include "apr_atomic.h"

#define PROXY  "proxy:"

/*
 * Returns 1 if the handler names a FastCGI URL with a path, after "proxy:" and
 * optionally the path of a Unix socket.
 */
static int names_script(const char *handler)
{
    const char *url;

    url = handler + strlen(PROXY);

    if (strncmp(url, "unix:", 5) == 0) {
        url = ap_strchr_c(url, '|');
        url = url ? url + 1 : "";
    }

    if (strncmp(url, "fcgi://", 7) != 0) {
        return 0;
    }

    url = ap_strchr_c(url + 7, '/');

    return url && url[1] != '\0';
}

static int is_own_handler(const char *handler)
{
    return strcmp(handler, MOD_MCP_HANDLER) == 0
           || strcmp(handler, MOD_MCP_PUBLISH_HANDLER) == 0
           || strcmp(handler, MOD_MCP_STATUS_HANDLER) == 0
           || strcmp(handler, MOD_MCP_DETAILS_HANDLER) == 0;
}

static mod_mcp_request_t *get_mreq(request_rec *r)
{
    return ap_get_module_config(r->request_config, &mcp_module);
}

/*
 * Returns 1 for the lookup of PATH_INFO by which ap_add_cgi_vars() sets
 * PATH_TRANSLATED.
 */
static int is_path_info(request_rec *r)
{
    const mod_mcp_request_t *parent = get_mreq(r->main);

    return parent && parent->req && r->main->proxyreq;
}

/* Sets "fileless" in the module's data of a request if the handler of the
 * request's <Location> needs no file.  In a request to a backend, also sets
 * "has_script". */
static void mark(request_rec *r)
{
    const char *handler = mod_mcp_request_handler(r);
    mod_mcp_request_t *mreq = get_mreq(r);

    if (handler == NULL) {
        return;
    }

    if (mreq && mreq->req) {
        mreq->fileless = strncmp(handler, PROXY, strlen(PROXY)) == 0;
        mreq->has_script = mreq->fileless && names_script(handler);
    }
    else if (is_own_handler(handler)) {
        mreq = mod_mcp_request(r);
        mreq->fileless = 1;
    }

    if (mreq && mreq->fileless) {
        mreq->handler = handler;
    }
}

int mod_mcp_map_find(request_rec *r)
{
    if (r->main == NULL) {
        mark(r);
    }
    else if (is_path_info(r)) {
        mod_mcp_request(r)->fileless = 1;
    }

    return DECLINED;
}

/*
 * Repeats the work of mark() after a hook, such as mod_rewrite's, has replaced
 * the URI of the request.
 */
static int mark_again(request_rec *r)
{
    mod_mcp_request_t *mreq = get_mreq(r);
    int rc;

    if (mreq) {
        mreq->fileless = 0;
        mreq->has_script = 0;
    }

    rc = ap_location_walk(r);
    if (rc == OK) {
        mark(r);
    }

    r->per_dir_config = r->server->lookup_defaults;

    return rc;
}

int mod_mcp_map(request_rec *r)
{
    const mod_mcp_request_t *mreq;
    int rc = OK;

    if (r->proxyreq) {
        return DECLINED;
    }

    if (r->main == NULL && r->uri != r->parsed_uri.path) {
        rc = mark_again(r);
    }

    mreq = get_mreq(r);

    if (rc != OK || mreq == NULL || !mreq->fileless) {
        return rc == OK ? DECLINED : rc;
    }

    if (mreq->has_script) {
        r->filename = apr_pstrdup(r->pool, "");
        return OK;
    }

    /* treat the path as a file, so that no part becomes PATH_INFO */

    r->finfo.filetype = APR_REG;
    rc = ap_directory_walk(r);

    return rc == OK ? ap_file_walk(r) : rc;
}

static int is_fileless(request_rec *r)
{
    const mod_mcp_request_t *mreq = get_mreq(r);

    return mreq && mreq->fileless && !r->proxyreq;
}

int mod_mcp_map_type(request_rec *r)
{
    return is_fileless(r) ? OK : DECLINED;
}

apr_status_t mod_mcp_map_stat(apr_finfo_t *finfo, request_rec *r,
                              apr_int32_t wanted)
{
    if (!is_fileless(r)) {
        return AP_DECLINED;
    }

    finfo->valid = APR_FINFO_TYPE;
    finfo->filetype = APR_DIR;

    return APR_SUCCESS;
}

apr_status_t mod_mcp_map_htaccess(request_rec *r, const char *dir,
                                  const char *name, ap_configfile_t **file,
                                  const char **path)
{
    return is_fileless(r) ? APR_ENOENT : AP_DECLINED;
}

/* --- requests that another module handles --- */

int mod_mcp_map_check(request_rec *r)
{
    static apr_uint32_t warned[2];      /* warned[0]: 1 after the warning about
                                           an endpoint; warned[1]: 1 after the
                                           warning about a backend */

    const mod_mcp_request_t *mreq = get_mreq(r);

    if (mreq == NULL || mreq->handler == NULL
        || (!r->proxyreq && r->handler
            && strcmp(r->handler, mreq->handler) == 0)
        || apr_atomic_xchg32(&warned[mreq->req != NULL], 1)) {
        return DECLINED;
    }

    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "mcp: the %s %s cannot be reached, because a ProxyPass or "
                  "RewriteRule sends its requests to \"%.256s\": exclude its "
                  "path by \"ProxyPass %s !\" or a RewriteCond",
                  mreq->req ? "backend" : "endpoint", r->parsed_uri.path,
                  r->filename ? r->filename : r->uri, r->parsed_uri.path);

    return DECLINED;
}
