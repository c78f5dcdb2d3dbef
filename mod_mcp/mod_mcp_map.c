/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that no file answers: those to an endpoint, to a backend whose
 * handler is mod_proxy, and lookups of PATH_INFO for a backend.
 *
 * httpd maps each request to a file name, looks for that file in each directory
 * of its path, and reads their .htaccess files.  Here <Directory> and <Files>
 * sections apply to the name, because access rules may be there, but nothing is
 * looked up in the file system.
 *
 * A backend's handler may name its script:
 *
 *     SetHandler "proxy:unix:/run/php.sock|fcgi://php/srv/tools.php"
 *
 * mod_proxy appends the file name to this.  It is empty then, so that
 * SCRIPT_FILENAME is /srv/tools.php; <Directory> sections do not apply, as with
 * ProxyPass.
 */

#include "mod_mcp_map.h"

#include "mod_mcp_config.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_request.h"

#include "apr_atomic.h"

#define PROXY  "proxy:"

/* Returns 1 if the handler is "proxy:", the path of a socket or nothing, and a
 * FastCGI URL with a path. */
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

static int is_own(const char *handler)
{
    return strcmp(handler, MOD_MCP_HANDLER) == 0
           || strcmp(handler, MOD_MCP_PUBLISH_HANDLER) == 0
           || strcmp(handler, MOD_MCP_STATUS_HANDLER) == 0
           || strcmp(handler, MOD_MCP_DETAILS_HANDLER) == 0;
}

static mod_mcp_request_t *get_own(request_rec *r)
{
    return ap_get_module_config(r->request_config, &mcp_module);
}

/* Returns 1 for the lookup of PATH_INFO that ap_add_cgi_vars() makes for
 * PATH_TRANSLATED. */
static int is_path_info(request_rec *r)
{
    const mod_mcp_request_t *parent = get_own(r->main);

    return parent && parent->run && r->main->proxyreq;
}

/* Marks a request by the handler of its <Location>. */
static void mark(request_rec *r)
{
    const char *handler = mod_mcp_request_handler(r);
    mod_mcp_request_t *own = get_own(r);

    if (handler == NULL) {
        return;
    }

    if (own && own->run) {
        own->fileless = strncmp(handler, PROXY, strlen(PROXY)) == 0;
        own->has_script = own->fileless && names_script(handler);
    }
    else if (is_own(handler)) {
        own = mod_mcp_request(r);
        own->fileless = 1;
    }

    if (own && own->fileless) {
        own->handler = handler;
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

/* Marks a request anew whose URI a hook has replaced, as mod_rewrite does. */
static int mark_again(request_rec *r)
{
    mod_mcp_request_t *own = get_own(r);
    int rc;

    if (own) {
        own->fileless = 0;
        own->has_script = 0;
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
    const mod_mcp_request_t *own;
    int rc = OK;

    if (r->proxyreq) {
        return DECLINED;
    }

    if (r->main == NULL && r->uri != r->parsed_uri.path) {
        rc = mark_again(r);
    }

    own = get_own(r);

    if (rc != OK || own == NULL || !own->fileless) {
        return rc == OK ? DECLINED : rc;
    }

    if (own->has_script) {
        r->filename = apr_pstrdup(r->pool, "");
        return OK;
    }

    /* the name of a file: no part of it is PATH_INFO */

    r->finfo.filetype = APR_REG;
    rc = ap_directory_walk(r);

    return rc == OK ? ap_file_walk(r) : rc;
}

static int is_fileless(request_rec *r)
{
    const mod_mcp_request_t *own = get_own(r);

    return own && own->fileless && !r->proxyreq;
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

/* --- requests that another module takes --- */

int mod_mcp_map_check(request_rec *r)
{
    static apr_uint32_t warned[2];      /* about an endpoint, a backend */

    const mod_mcp_request_t *own = get_own(r);

    if (own == NULL || own->handler == NULL
        || (!r->proxyreq && r->handler
            && strcmp(r->handler, own->handler) == 0)
        || apr_atomic_xchg32(&warned[own->run != NULL], 1)) {
        return DECLINED;
    }

    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "mcp: the %s %s is not reached: a ProxyPass or RewriteRule "
                  "sends its requests to \"%.256s\": exclude its path, with "
                  "\"ProxyPass %s !\" or a RewriteCond",
                  own->run ? "backend" : "endpoint", r->parsed_uri.path,
                  r->filename ? r->filename : r->uri, r->parsed_uri.path);

    return DECLINED;
}
