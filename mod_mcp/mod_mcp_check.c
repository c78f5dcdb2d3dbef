/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Warnings and errors at startup: mistakes that can be detected only when the
 * whole configuration has been read, and settings of the MPM that leave too
 * few threads for streams or calls.
 */

#include "mod_mcp_config.h"

#include "mod_mcp_cluster_conf.h"
#include "mod_mcp_document.h"
#include "mod_mcp_path.h"

#include "ap_mpm.h"

#include "apr_fnmatch.h"

/* mod_mcp_check_mpm() logs a warning if a child of the event MPM accepts fewer
 * than BUSY_MIN connections while calls run, or if ThreadsPerChild is below
 * THREADS_MIN */
#define BUSY_MIN     256
#define THREADS_MIN  8

#define KIND(section)  (1U << (section))

/* --- locations --- */

/* Returns the argument number n (from 0) of a directive. */
static const char *argument(apr_pool_t *p, const ap_directive_t *d, int n)
{
    char *args = apr_pstrdup(p, d->args), *end = strrchr(args, '>');
    const char *line = args;

    if (d->directive[0] == '<' && end) {
        *end = '\0';
    }

    while (n-- > 0) {
        ap_getword_conf(p, &line);
    }

    return ap_getword_conf(p, &line);
}

/*
 * Returns 1 if d is <Location path>, <LocationMatch path> or <Location ~
 * path>.
 */
static int is_location(apr_pool_t *p, const ap_directive_t *d,
                       const char *path)
{
    const char *args;

    if (strcasecmp(d->directive, "<Location") != 0
        && strcasecmp(d->directive, "<LocationMatch") != 0) {
        return 0;
    }

    args = argument(p, d, 0);

    return strcmp(strcmp(args, "~") ? args : argument(p, d, 1), path) == 0;
}

/*
 * If a directive is SetHandler with a handler of this module, returns KIND() of
 * the section type (mcp_setup_section_e) that belongs to the handler.
 * Otherwise returns 0.
 */
static unsigned kind_of(apr_pool_t *p, const ap_directive_t *d)
{
    const char *handler;

    if (strcasecmp(d->directive, "SetHandler") != 0) {
        return 0;
    }

    handler = argument(p, d, 0);

    if (strcmp(handler, MOD_MCP_HANDLER) == 0) {
        return KIND(MCP_SETUP_ENDPOINT);
    }

    if (strcmp(handler, MOD_MCP_PUBLISH_HANDLER) == 0) {
        return KIND(MCP_SETUP_PUBLISH);
    }

    return strcmp(handler, MOD_MCP_STATUS_HANDLER) == 0
           || strcmp(handler, MOD_MCP_DETAILS_HANDLER) == 0
           ? KIND(MCP_SETUP_STATUS) : 0;
}

/*
 * Returns the section types of all handlers of this module in <Location path>,
 * as a combination of KIND() bits.  "inside" is 1 if the directives d are
 * inside this <Location>.  Searches the configuration tree, because httpd turns
 * the argument of SetHandler into an expression, which can be evaluated only
 * for a request.
 */
static unsigned kinds_of(apr_pool_t *p, const ap_directive_t *d,
                         const char *path, int inside)
{
    unsigned kinds = 0;

    for ( ; d; d = d->next) {
        kinds |= inside ? kind_of(p, d) : 0;

        if (d->first_child) {
            kinds |= kinds_of(p, d->first_child, path,
                              inside || is_location(p, d, path));
        }
    }

    return kinds;
}

/* Returns 1 if a directive may set a handler of this module. */
static int may_handle(apr_pool_t *p, const ap_directive_t *d)
{
    if (strcasecmp(d->directive, "SetHandler") == 0) {
        return kind_of(p, d) || strstr(d->args, "%{");
    }

    return (strcasecmp(d->directive, "AddHandler") == 0
            && strncmp(argument(p, d, 0), MOD_MCP_HANDLER,
                       strlen(MOD_MCP_HANDLER)) == 0)
           || (strcasecmp(d->directive, "RewriteRule") == 0
               && (ap_strcasestr(d->args, "H=" MOD_MCP_HANDLER)
                   || ap_strcasestr(d->args, "handler=" MOD_MCP_HANDLER)));
}

/* Returns 1 if a directive allows .htaccess files, which can set a handler. */
static int allows_override(const ap_directive_t *d)
{
    return (strcasecmp(d->directive, "AllowOverride") == 0
            || strcasecmp(d->directive, "AllowOverrideList") == 0)
           && strcasecmp(d->args, "None") != 0;
}

/*
 * Returns 1 if another section may have a handler of this module and may
 * inherit the directives of <Location path>.  Another <Location> may inherit
 * them if its path is above or below "path", or if it is a pattern.  A section
 * that is not a <Location> may always inherit them.  .htaccess files count as
 * such a section if "kinds" is 0.
 *
 * "kinds" are the section types of the handlers in <Location path> itself, as
 * returned by kinds_of(). "location" is the path of the <Location> that
 * contains the directives d.  It is NULL if no <Location> contains them, or if
 * the <Location> has a pattern.
 */
static int is_outer(apr_pool_t *p, const ap_directive_t *d,
                    const char *location, const char *path, unsigned kinds)
{
    const char *inner;

    for ( ; d; d = d->next) {
        inner = location;

        if (strcasecmp(d->directive, "<Location") == 0) {
            inner = argument(p, d, 0);
            inner = inner[0] == '~' || apr_fnmatch_test(inner) ? NULL : inner;
        }

        if (is_outer(p, d->first_child, inner, path, kinds)
            || (kinds == 0 && allows_override(d))) {
            return 1;
        }

        if (!may_handle(p, d)) {
            continue;
        }

        if (location == NULL
            || ((kinds == 0 || strcmp(location, path) != 0)
                && (mod_mcp_path_is_below(location, path)
                    || mod_mcp_path_is_below(path, location)))) {
            return 1;
        }
    }

    return 0;
}

static void warn_section(server_rec *s, const char *path,
                         const mcp_setup_t *setup, mcp_setup_section_e section)
{
    static const char *const names[] = {
        [MCP_SETUP_ENDPOINT] = "endpoint",
        [MCP_SETUP_PUBLISH] = "publish endpoint",
        [MCP_SETUP_STATUS] = "status page",
        [MCP_SETUP_BACKEND] = "backend",
        [MCP_SETUP_OUTER] = "section"
    };
    char text[MCP_SETUP_ERROR_MAX];
    unsigned position = 0;

    while (mcp_setup_warning(setup, section, 1 /* Apache */, &position,
                             text)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the %s %s %s", names[section], path, text);
    }
}

static void warn_endpoint(server_rec *s, const char *path, mod_mcp_dir_t *dir)
{
    warn_section(s, path, dir->setup, MCP_SETUP_ENDPOINT);

    if (mcp_setup_fills_zone(dir->setup,
                             mod_mcp_config_global(s)->store_size)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the endpoint %s has an MCPStreamBuffer that "
                     "lets one stream fill half of MCPStore or more: lower "
                     "MCPStreamBuffer or enlarge MCPStore", path);
    }
}

/*
 * Adds the metadata document of the endpoint at a path, if it has one.
 * Returns 1, or 0 after an error in the log.
 */
static int add_document(server_rec *s, const char *path, mod_mcp_dir_t *dir)
{
    char error[MCP_SETUP_ERROR_MAX] = "out of memory";
    const mcp_auth_t *auth;

    if (mcp_setup_auth(dir->setup, &auth, error) != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the endpoint %s: %s: set MCPAuthServer", path,
                     error);
        return 0;
    }

    if (auth && !mod_mcp_document_add(s, auth)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the endpoint %s has the same resource path as "
                     "another endpoint of its server, but different "
                     "authorization settings: set MCPAuthResource for one of "
                     "the two", path);
        return 0;
    }

    return 1;
}

/* Returns 1 if MCPBackend or MCPRoute names the path of the section, or a path
 * below it. */
static int has_backend(const char *path)
{
    const char **backends;
    int i, n;

    backends = mod_mcp_path_backends(&n);

    for (i = 0; i < n; i++) {
        if (mod_mcp_path_is_below(backends[i], path)) {
            return 1;
        }
    }

    return 0;
}

/*
 * Warns about directives without effect in a <Location> that is not an
 * endpoint. "kinds" are the section types of the handlers in this <Location>,
 * as returned by kinds_of().
 */
static void check_other(apr_pool_t *p, server_rec *s,
                        const core_dir_config *core, const mod_mcp_dir_t *dir,
                        unsigned kinds)
{
    int outer;

    if (dir == NULL || mcp_setup_is_empty_section(dir->setup)
        || mod_mcp_path_is_pattern(core)) {
        return;
    }

    outer = is_outer(p, ap_conftree, NULL, core->d, kinds);

    if (kinds == KIND(MCP_SETUP_PUBLISH) && !outer) {
        warn_section(s, core->d, dir->setup, MCP_SETUP_PUBLISH);
    }
    else if (kinds == KIND(MCP_SETUP_STATUS) && !outer) {
        warn_section(s, core->d, dir->setup, MCP_SETUP_STATUS);
    }
    else if (kinds || outer) {
        warn_section(s, core->d, dir->setup, MCP_SETUP_OUTER);
    }
    else if (has_backend(core->d) || mcp_setup_has_upstream(dir->setup)) {
        warn_section(s, core->d, dir->setup, MCP_SETUP_BACKEND);
    }
    else {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: <Location \"%s\"> has directives of this "
                     "module that have no effect, because no section that "
                     "applies to the same paths has \"SetHandler mcp\", "
                     "\"SetHandler mcp-publish\" or \"SetHandler mcp-status\"",
                     core->d);
    }
}

/*
 * Checks the <Location> of an endpoint of the server s, and adds the endpoint.
 * conf is the configuration of the <Location>.  Returns OK, or an HTTP error
 * after an error in the log.
 */
static int check_endpoint(apr_pool_t *pconf, server_rec *s,
                          ap_conf_vector_t *conf)
{
    const core_dir_config *core = ap_get_core_module_config(conf);
    mod_mcp_dir_t *add = ap_get_module_config(conf, &mcp_module);
    mod_mcp_dir_t *dir = ap_get_module_config(s->lookup_defaults, &mcp_module);

    if (!mod_mcp_path_is_pattern(core) && mod_mcp_path_is_backend(core->d)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the endpoint %s is at or below a path that "
                     "MCPBackend or MCPRoute names as a backend, so it would "
                     "reject all clients: give the backend its own path",
                     core->d);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    mod_mcp_path_add_endpoint(s, core);

    /*
     * create a configuration if the section has no directives of this module:
     * mod_mcp_config_create_dir() stores the path of the section, which
     * identifies the endpoint
     */

    if (add == NULL) {
        add = mod_mcp_config_create_dir(pconf, core->d);
        ap_set_module_config(conf, &mcp_module, add);
    }

    if (add) {
        dir = dir ? mod_mcp_config_merge_dir(pconf, dir, add) : add;
    }

#ifdef MCP_CLUSTER
    if (!mod_mcp_cluster_has_key(s, core->d, dir)
        || (dir && !mod_mcp_cluster_add_endpoint(pconf, s, core->d, dir))) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
#endif

    if (add && add->shares_catalog_key) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the endpoint %s has the same path as an "
                     "endpoint of another server with the ServerName \"%s\", "
                     "so a restart may mix up the counters of the two "
                     "endpoints: name the servers differently",
                     core->d, s->server_hostname ? s->server_hostname : "");
    }

    if (dir) {
        warn_endpoint(s, core->d, dir);

        if (!add_document(s, core->d, dir)) {
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return OK;
}

/* Checks a <Location> of the server s. conf is the configuration of the
 * <Location>.  Returns the same values as check_endpoint(). */
static int check_location(apr_pool_t *pconf, apr_pool_t *p, server_rec *s,
                          ap_conf_vector_t *conf)
{
    const core_dir_config *core = ap_get_core_module_config(conf);
    unsigned kinds;

    if (core->d == NULL) {
        return OK;
    }

    kinds = kinds_of(p, ap_conftree, core->d, 0);

    if (kinds & KIND(MCP_SETUP_ENDPOINT)) {
        return check_endpoint(pconf, s, conf);
    }

    check_other(p, s, core, ap_get_module_config(conf, &mcp_module), kinds);

    return OK;
}

/* --- mod_ssl --- */

/*
 * Returns 1 if the <Location> or <Directory> section d applies to requests to
 * the backend with the path "backend".
 */
static int covers(apr_pool_t *p, server_rec *s, const ap_directive_t *d,
                  const char *backend)
{
    const core_server_config *core;
    const char *path = argument(p, d, 0);

    if (strcasecmp(d->directive, "<Location") == 0) {
        return mod_mcp_path_is_below(backend, path);
    }

    if (strcasecmp(d->directive, "<Directory") != 0) {
        return 0;
    }

    for ( ; s; s = s->next) {
        core = ap_get_core_module_config(s->module_config);

        if (core->ap_document_root
            && mod_mcp_path_is_below(core->ap_document_root, path)) {
            return 1;
        }
    }

    return 0;
}

/*
 * Warns about each SSLRequireSSL that applies to a backend.  SSLRequireSSL
 * checks the internal connection of a backend request, which has no TLS, and so
 * rejects all requests to the backend.  "section" is the section that contains
 * the directives d; NULL if they are in no section.
 */
static void check_tls(apr_pool_t *p, server_rec *s, const ap_directive_t *d,
                      const ap_directive_t *section)
{
    const char **backends;
    int i, n;

    backends = mod_mcp_path_backends(&n);

    for ( ; d; d = d->next) {
        check_tls(p, s, d->first_child, d);

        for (i = 0; section && i < n; i++) {
            if (strcasecmp(d->directive, "SSLRequireSSL") == 0
                && covers(p, s, section, backends[i])) {
                ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                             "mod_mcp: %s:%d: SSLRequireSSL also applies to "
                             "calls to the backend %s and rejects them: use "
                             "\"Require ssl\", which checks the connection of "
                             "the "
                             "client", d->filename, d->line_num, backends[i]);
                break;
            }
        }
    }
}

/* --- all locations of all servers --- */

/*
 * Returns 1 if s is a virtual host and conf is a section of the main server:
 * virtual hosts have a copy of the main server's list of sections.
 */
static int is_inherited(server_rec *main, server_rec *s,
                        const ap_conf_vector_t *conf)
{
    core_server_config *core = ap_get_core_module_config(main->module_config);
    int i;

    for (i = 0; s != main && i < core->sec_url->nelts; i++) {
        if (((ap_conf_vector_t **)core->sec_url->elts)[i] == conf) {
            return 1;
        }
    }

    return 0;
}

static void warn_directives(server_rec *s)
{
    const apr_array_header_t *warnings = mod_mcp_config_warnings();
    int i;

    for (i = 0; i < warnings->nelts; i++) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "mod_mcp: %s",
                     APR_ARRAY_IDX(warnings, i, const char *));
    }
}

int mod_mcp_check_config(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s)
{
    core_server_config *core;
    ap_conf_vector_t **sections;
    server_rec *server;
    int i, rc;

    check_tls(ptemp, s, ap_conftree, NULL);
    warn_directives(s);

    rc = mod_mcp_config_check_upstreams(s);
    if (rc != OK) {
        return rc;
    }

    mod_mcp_config_mark();

#ifdef MCP_CLUSTER
    rc = mod_mcp_cluster_check(pconf, s);
    if (rc != OK) {
        return rc;
    }
#endif

    for (server = s; server; server = server->next) {
        core = ap_get_core_module_config(server->module_config);
        sections = (ap_conf_vector_t **)core->sec_url->elts;

        for (i = 0; i < core->sec_url->nelts; i++) {
            if (is_inherited(s, server, sections[i])) {
                continue;
            }

            rc = check_location(pconf, ptemp, server, sections[i]);
            if (rc != OK) {
                return rc;
            }
        }
    }

    return OK;
}

/* --- the MPM --- */

/*
 * Returns the last value of a directive that ap_mpm_query() does not report,
 * or "value" if the directive is not set.
 */
static double find_number(const ap_directive_t *d, const char *name,
                          double value)
{
    for ( ; d; d = d->next) {
        if (d->first_child) {
            value = find_number(d->first_child, name, value);
        }

        if (strcasecmp(d->directive, name) == 0) {
            value = atof(d->args);
        }
    }

    return value;
}

/*
 * Warns about settings of the event MPM that do not suit idle streams.  The MPM
 * counts a suspended stream as a connection.  A child should neither reject new
 * connections because of streams, nor be ended because its threads are idle.  A
 * child accepts ThreadsPerChild connections plus AsyncRequestWorkerFactor
 * connections for each idle thread.  While calls run, it may have only one idle
 * thread.
 */
static void check_event(server_rec *s, int threads, int daemons)
{
    double factor;
    int busy, spare = 0;

    factor = find_number(ap_conftree, "AsyncRequestWorkerFactor", 2);
    busy = (int)(threads + factor);

    if (busy < BUSY_MIN) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: with AsyncRequestWorkerFactor %g, a process "
                     "with one idle thread accepts only about %d connections, "
                     "idle MCP streams included: raise "
                     "AsyncRequestWorkerFactor to %d or more",
                     factor, busy, BUSY_MIN);
    }

    ap_mpm_query(AP_MPMQ_MAX_SPARE_THREADS, &spare);

    if (spare > 0 && spare < threads * daemons) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: MaxSpareThreads %d is below MaxRequestWorkers "
                     "%d, so httpd will end processes that have spare threads, "
                     "and cut the idle MCP streams in them: raise "
                     "MaxSpareThreads",
                     spare, threads * daemons);
    }
}

void mod_mcp_check_mpm(server_rec *s)
{
    int async = 0, threads = 0, threaded = 0, daemons = 0;

    ap_mpm_query(AP_MPMQ_IS_ASYNC, &async);
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &daemons);

    if (threaded && threads < THREADS_MIN) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: ThreadsPerChild %d leaves few threads for "
                     "other requests while MCP calls run: raise "
                     "ThreadsPerChild to %d or more",
                     threads, THREADS_MIN);
    }

    if (async) {
        check_event(s, threads, daemons);
    }
    else {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "mod_mcp: with this MPM an idle MCP stream holds a %s "
                     "for up to MCPHold: use the event MPM, where idle "
                     "streams need none",
                     threaded ? "thread" : "process");
    }
}
