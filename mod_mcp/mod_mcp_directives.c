/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Directives.  The core checks their values (mcp_setup_directive.h,
 * mcp_number_option.h); this file has their names and reads their files.
 */

#include "mod_mcp_directives.h"

#include "mod_mcp_cluster_conf.h"
#include "mod_mcp_config.h"
#include "mod_mcp_path.h"

#include "apr_file_io.h"
#include "apr_fnmatch.h"

#include "mcp_directive.h"
#include "mcp_zone.h"

/*
 * The contexts of directives: all but .htaccess files, whose configuration is
 * freed with the request.  AllowOverrideList can permit a directive there
 * nevertheless; check() then rejects the directive.
 */
#define SECTIONS  (RSRC_CONF|ACCESS_CONF)

#define STORE_KIND     "shm:"
#define THREADS_MAX    1024

/*
 * Returns an error message if the directive is in an .htaccess file, where dir
 * is NULL; otherwise returns NULL.
 */
static const char *check(cmd_parms *cmd, mod_mcp_dir_t *dir)
{
    if (dir == NULL) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " is not allowed in .htaccess files", NULL);
    }

    return NULL;
}

const char *mod_mcp_directive_result(cmd_parms *cmd, int rc,
                                     const char *error)
{
    switch (rc) {
    case MCP_OK:
        return NULL;
    case MCP_ERR_CONFIG:
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           strcmp(error, MCP_SETUP_DUPLICATE) ? ": " : " ",
                           error, NULL);
    default:
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": out of memory", NULL);
    }
}

static const char *duplicate(cmd_parms *cmd)
{
    return mod_mcp_directive_result(cmd, MCP_ERR_CONFIG, MCP_SETUP_DUPLICATE);
}

/* --- files --- */

static const char *file_error(cmd_parms *cmd, const char *what,
                              const char *file, apr_status_t rv)
{
    return apr_psprintf(cmd->pool, "%s: cannot %s \"%s\": %pm",
                        cmd->cmd->name, what, file, &rv);
}

void mod_mcp_directive_dispose(mcp_str_t *text)
{
    explicit_bzero((char *)text->data, text->len);
    free((char *)text->data);
}

/*
 * Reads an open file into *text.  Returns an error message; or NULL, and then
 * the caller passes *text to mod_mcp_directive_dispose().
 */
static const char *read_open_file(cmd_parms *cmd, apr_file_t *file,
                                  const char *name, apr_off_t max,
                                  mcp_str_t *text)
{
    apr_finfo_t info;
    apr_status_t rv;
    char *data;

    rv = apr_file_info_get(&info, APR_FINFO_SIZE, file);
    if (rv != APR_SUCCESS) {
        return file_error(cmd, "read the size of", name, rv);
    }

    if (info.size > max) {
        return apr_psprintf(cmd->pool, "%s: \"%s\" is larger than %"
                            APR_OFF_T_FMT " bytes", cmd->cmd->name, name, max);
    }

    data = ap_malloc((apr_size_t)info.size + 1);
    text->data = data;
    text->len = (apr_size_t)info.size;

    rv = apr_file_read_full(file, data, text->len, NULL);
    if (rv != APR_SUCCESS) {
        mod_mcp_directive_dispose(text);
        return file_error(cmd, "read", name, rv);
    }

    return NULL;
}

const char *mod_mcp_directive_find(cmd_parms *cmd, const char **name)
{
    const char *path = ap_server_root_relative(cmd->pool, *name);
    apr_finfo_t info;
    apr_status_t rv;

    if (path == NULL) {
        return apr_psprintf(cmd->pool, "%s: invalid file name \"%s\"",
                            cmd->cmd->name, *name);
    }

    *name = path;

    rv = apr_stat(&info, path, APR_FINFO_TYPE, cmd->temp_pool);
    if (rv != APR_SUCCESS) {
        return file_error(cmd, "open", path, rv);
    }

    /* reject a FIFO, because opening it would wait for its writer */

    return info.filetype == APR_REG ? NULL
        : apr_psprintf(cmd->pool, "%s: \"%s\" is not a regular file",
                       cmd->cmd->name, path);
}

const char *mod_mcp_directive_read(cmd_parms *cmd, const char **name,
                                   apr_off_t max, mcp_str_t *text)
{
    apr_file_t *file;
    apr_status_t rv;
    const char *error = mod_mcp_directive_find(cmd, name);
    const char *path = *name;

    if (error) {
        return error;
    }

    /* open the file unbuffered: a buffer would keep a copy of a key */
    rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BINARY,
                       APR_FPROT_OS_DEFAULT, cmd->temp_pool);
    if (rv != APR_SUCCESS) {
        return file_error(cmd, "open", path, rv);
    }

    error = read_open_file(cmd, file, path, max, text);
    apr_file_close(file);

    return error;
}

/* --- the whole server --- */

static const char *set_store(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_size_t kind = strlen(STORE_KIND);
    uint64_t size;

    if (error) {
        return error;
    }

    if (mod_mcp_config_global(cmd->server)->has_store) {
        return duplicate(cmd);
    }

    if (strncmp(arg, STORE_KIND, kind) != 0) {
        return apr_psprintf(cmd->pool, "MCPStore: \"%s\" is an unknown kind of "
                            "store: write shm:SIZE", arg);
    }

    if (mcp_option_size(mod_mcp_str(arg + kind), &size) != MCP_OK
        || size > APR_SIZE_MAX) {
        return apr_psprintf(cmd->pool,
                            "MCPStore: \"%s\" is not a size, such as 65536, "
                            "64k, 8m or 1g",
                            arg + kind);
    }

    if (size < MCP_ZONE_MIN_SIZE) {
        return apr_psprintf(cmd->pool, "MCPStore: \"%s\" is too small: at "
                            "least %" APR_SIZE_T_FMT " bytes are needed",
                            arg, (apr_size_t)MCP_ZONE_MIN_SIZE);
    }

    if (size > MCP_STORE_SIZE_MAX) {
        return apr_psprintf(cmd->pool, "MCPStore: \"%s\" is too large: at "
                            "most 32G are possible", arg);
    }

    mod_mcp_config_global(cmd->server)->store_size = (apr_size_t)size;
    mod_mcp_config_global(cmd->server)->has_store = 1;
    return NULL;
}

static const char *set_threads(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    uint64_t n;

    if (error) {
        return error;
    }

    if (mod_mcp_config_global(cmd->server)->has_threads) {
        return duplicate(cmd);
    }

    if (mcp_str_uint(mod_mcp_str(arg), &n) != MCP_OK
        || n < 1 || n > THREADS_MAX) {
        return apr_psprintf(cmd->pool, "MCPThreads: \"%s\" is not a number "
                            "from 1 to %d", arg, THREADS_MAX);
    }

    mod_mcp_config_global(cmd->server)->threads = (int)n;
    mod_mcp_config_global(cmd->server)->has_threads = 1;
    return NULL;
}

static const char *set_hold(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    uint64_t ms = 0;

    if (error) {
        return error;
    }

    if (mod_mcp_config_global(cmd->server)->has_hold) {
        return duplicate(cmd);
    }

    if (strcasecmp(arg, "off") != 0
        && (mcp_option_time(mod_mcp_str(arg), &ms) != MCP_OK
            || ms > MCP_TIME_MAX)) {
        return apr_psprintf(cmd->pool, "MCPHold: \"%s\" is neither a time "
                            "nor \"off\"", arg);
    }

    mod_mcp_config_global(cmd->server)->hold = (apr_interval_time_t)ms * 1000;
    mod_mcp_config_global(cmd->server)->has_hold = 1;
    return NULL;
}

/* --- sections --- */

/*
 * Checks the section that contains MCPUpstream or a related directive.  Returns
 * an error message if the section is not a <Location> with a plain path.
 * Otherwise returns NULL.
 */
static const char *check_upstream(cmd_parms *cmd)
{
    const ap_directive_t *parent = cmd->directive->parent;

    if (cmd->path == NULL || parent == NULL
        || strcasecmp(parent->directive, "<Location") != 0
        || parent->args[0] == '~' || apr_fnmatch_test(cmd->path)) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": allowed only "
                           "in a <Location> with the path of a backend, not "
                           "with a pattern", NULL);
    }

    return NULL;
}

/* Sets an option of the core's table MCP_OPTIONS. */
static const char *set_option(cmd_parms *cmd, void *conf, const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    mcp_option_e option = (mcp_option_e)(apr_uintptr_t)cmd->info;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error) {
        return error;
    }

    rc = mcp_setup_option(dir->setup, option, mod_mcp_str(arg), text);

    if (rc == MCP_OK && mcp_option_is_upstream(option)) {
        return check_upstream(cmd);
    }

    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_server(cmd_parms *cmd, void *conf, const char *name,
                              const char *version, const char *title)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error) {
        return error;
    }

    rc = mcp_setup_server(dir->setup, mod_mcp_str(name), mod_mcp_str(version),
                          mod_mcp_str(title), text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static void warn_key(cmd_parms *cmd, const char *file, mcp_str_t contents)
{
    char warning[MCP_SETUP_ERROR_MAX];
    apr_finfo_t info;
    int readable;

    readable = apr_stat(&info, file, APR_FINFO_PROT, cmd->temp_pool)
                   == APR_SUCCESS
               && (info.protection & APR_FPROT_WREAD);

    if (mcp_setup_key_weak(mod_mcp_str(file), contents, readable, warning)) {
        mod_mcp_config_warn(apr_psprintf(cmd->pool, "%s: %s", cmd->cmd->name,
                                         warning));
    }
}

static const char *add_key(cmd_parms *cmd, mod_mcp_dir_t *dir,
                           const char *file)
{
    char text[MCP_SETUP_ERROR_MAX];
    mcp_str_t contents;
    const char *error;
    int rc;

    error = mod_mcp_directive_read(cmd, &file, MCP_SETUP_KEY_FILE_MAX,
                                   &contents);
    if (error) {
        return error;
    }

    rc = mcp_setup_key(dir->setup, mod_mcp_str(file), contents, text);
    if (rc == MCP_OK) {
        warn_key(cmd, file, contents);
    }

    mod_mcp_directive_dispose(&contents);

    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_key(cmd_parms *cmd, void *conf, int argc,
                           char *const argv[])
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int i;

    if (error == NULL && argc == 0) {
        error = "MCPKey takes one or more files";
    }

    if (error == NULL) {
        error = mod_mcp_directive_result(
            cmd, mcp_setup_keys_begin(dir->setup, text), text);
    }

    for (i = 0; error == NULL && i < argc; i++) {
        error = add_key(cmd, dir, argv[i]);
    }

    return error;
}

static const char *set_catalog(cmd_parms *cmd, void *conf, const char *file)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    mcp_str_t contents;
    const char *error = check(cmd, dir);
    int rc;

    if (error == NULL) {
        error = mod_mcp_directive_read(cmd, &file, MCP_SETUP_CATALOG_FILE_MAX,
                                       &contents);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_catalog(dir->setup, mod_mcp_str(file), contents, text);
    mod_mcp_directive_dispose(&contents);

    if (rc == MCP_OK) {
        rc = mod_mcp_config_set_catalog_key(dir, cmd);
    }

    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_backend(cmd_parms *cmd, void *conf, const char *target)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error == NULL) {
        error = mod_mcp_path_add_backend(cmd, target);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_backend(dir->setup, mod_mcp_str(target), text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_route(cmd_parms *cmd, void *conf, const char *pattern,
                             const char *target)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error == NULL) {
        error = mod_mcp_path_add_backend(cmd, target);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_route(dir->setup, mod_mcp_str(pattern), mod_mcp_str(target),
                         text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_expression(cmd_parms *cmd, mod_mcp_dir_t *dir,
                                  const char *arg,
                                  ap_expr_info_t **expression)
{
    unsigned flags = AP_EXPR_FLAG_STRING_RESULT | AP_EXPR_FLAG_DONT_VARY;
    const char *error = check(cmd, dir);

    if (error) {
        return error;
    }

    if (*expression) {
        return duplicate(cmd);
    }

    *expression = ap_expr_parse_cmd(cmd, arg, flags, &error, NULL);
    if (error) {
        return apr_psprintf(cmd->pool, "%s: \"%s\": %s", cmd->cmd->name, arg,
                            error);
    }

    return NULL;
}

static const char *set_allow(cmd_parms *cmd, void *conf, const char *pattern,
                             const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    ap_expr_info_t *expression;
    int rc;

    if (error) {
        return error;
    }

    expression = ap_expr_parse_cmd(cmd, arg, AP_EXPR_FLAG_DONT_VARY, &error,
                                   NULL);
    if (error) {
        return apr_psprintf(cmd->pool, "MCPAllow: \"%s\": %s", arg, error);
    }

    rc = mcp_setup_allow(dir->setup, mod_mcp_str(pattern), expression, text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_granted_scopes(cmd_parms *cmd, void *conf,
                                      const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    ap_expr_info_t *expression = NULL;
    const char *error = set_expression(cmd, dir, arg, &expression);
    int rc;

    if (error) {
        return error;
    }

    rc = mcp_setup_granted_scopes(dir->setup, expression, text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_principal(cmd_parms *cmd, void *conf, const char *arg)
{
    mod_mcp_dir_t *dir = conf;

    return set_expression(cmd, dir, arg, &dir->principal);
}

static const char *set_link_origin(cmd_parms *cmd, void *conf,
                                   const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = set_expression(cmd, dir, arg, &dir->link_origin);

    /* check only a constant value here: the value of an expression is known,
     * and checked by the core, only at a request */

    if (error || strpbrk(arg, "%$\\")) {
        return error;
    }

    return mod_mcp_directive_result(
        cmd, mcp_setup_link_origin(mod_mcp_str(arg), text), text);
}

typedef int (*setup_fn)(mcp_setup_t *setup, mcp_str_t word, char *error);

/* Passes an argument of a directive to the function that cmd->info points
 * to. */
static const char *set_word(cmd_parms *cmd, void *conf, const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    const setup_fn *set = cmd->info;
    int rc;

    if (error) {
        return error;
    }

    rc = (*set)(dir->setup, mod_mcp_str(arg), text);
    return mod_mcp_directive_result(cmd, rc, text);
}

static const char *set_publish_open(cmd_parms *cmd, void *conf, int flag)
{
    mod_mcp_dir_t *dir = conf;
    const char *error = check(cmd, dir);

    if (error) {
        return error;
    }

    if (dir->publish_open != -1) {
        return duplicate(cmd);
    }

    dir->publish_open = flag;
    return NULL;
}

static const char *set_max_body(cmd_parms *cmd, void *conf, const char *arg)
{
    mod_mcp_dir_t *dir = conf;
    const char *error = check(cmd, dir);
    uint64_t size;

    if (error) {
        return error;
    }

    if (dir->max_body != -1) {
        return duplicate(cmd);
    }

    if (mcp_option_size(mod_mcp_str(arg), &size) != MCP_OK
        || size == 0 || size > MCP_SIZE_MAX) {
        return apr_psprintf(cmd->pool,
                            "MCPMaxBody: \"%s\" is not a size, such as 65536, "
                            "64k, 8m or 1g", arg);
    }

    dir->max_body = (apr_off_t)size;
    return NULL;
}

/* Rejects an earlier name of a directive; cmd->info is the name to use
 * instead. */
static const char *reject_renamed(cmd_parms *cmd, void *config,
    const char *args)
{
    return apr_psprintf(cmd->pool, "%s was renamed: write %s", cmd->cmd->name,
                        (const char *)cmd->info);
}

/* --- the table --- */

#define HELP_TIME    "a time: 500ms, 90s, 1h 30m"
#define HELP_SIZE    "a size: 65536, 64K, 8M, 1G"
#define HELP_NUMBER  "a number"
#define HELP_FLAG  "on or off"
#define HELP_QUOTA  "a number, or share"
#define HELP_ROOM  "a size, or share"
#define HELP_QUOTA_KEY  "principal or address"
#define HELP_RESUME_STATELESS  "declared or all"
#define HELP_UPSTREAM  "auto, modern, stateless or session"
#define HELP_UPSTREAM_SESSION  "client, principal or call"
#define HELP_UPSTREAM_LISTS  "public or shared"
#define HELP_OFF_0   ""
#define HELP_OFF_1   "; or off"

#define OPTION(id, member, nginx, apache, kind, off, min, max, def) \
    AP_INIT_TAKE1(apache, set_option, \
                  (void *)(apr_uintptr_t)MCP_OPTION_##id, SECTIONS, \
                  HELP_##kind HELP_OFF_##off),

#define CLUSTER_OPTION(id, nginx, apache, kind, member, min, max, help) \
    AP_INIT_TAKE1(apache, mod_mcp_cluster_option, \
                  (void *)(apr_uintptr_t)MCP_CLUSTER_##id, RSRC_CONF, help),

#define RENAMED(nginx, new_nginx, apache, new_apache) \
    AP_INIT_RAW_ARGS(apache, reject_renamed, (void *)new_apache, SECTIONS, \
                     "now called " new_apache),

#define AP_INIT_1MORE  AP_INIT_TAKE_ARGV
#define EACH_TAKE1     AP_INIT_TAKE1
#define EACH_1MORE     AP_INIT_ITERATE

#define DIRECTIVE(name, nginx, apache, args, help) \
    AP_INIT_##args(apache, set_##name, NULL, SECTIONS, help),

#define WORDS(name, nginx, apache, args, help) \
    EACH_##args(apache, set_word, (void *)&(setup_fn){mcp_setup_##name}, \
                SECTIONS, help),

const command_rec mod_mcp_directives[] = {
    AP_INIT_TAKE1("MCPStore", set_store, NULL, RSRC_CONF,
                  "size of the zone that stores streams: shm:SIZE"),
    AP_INIT_TAKE1("MCPThreads", set_threads, NULL, RSRC_CONF,
                  "number of threads that run backend calls in each child"),
    AP_INIT_TAKE1("MCPHold", set_hold, NULL, RSRC_CONF,
                  "time for which an idle stream may hold a thread, or off"),

    /* clang-format off */
    MCP_DIRECTIVES(DIRECTIVE, WORDS)
    /* clang-format on */
    AP_INIT_TAKE1("MCPPrincipal", set_principal, NULL, SECTIONS,
                  "expression whose value identifies the caller"),
    AP_INIT_TAKE1("MCPLinkOrigin", set_link_origin, NULL, SECTIONS,
                  "expression whose value is the scheme and host of stream "
                  "URLs"),
    AP_INIT_FLAG("MCPPublishOpen", set_publish_open, NULL, SECTIONS,
                 "On: the publish endpoint accepts requests from other "
                 "machines"),
    AP_INIT_TAKE1("MCPMaxBody", set_max_body, NULL, SECTIONS,
                  "maximum size of a request body"),

#ifdef MCP_CLUSTER
    AP_INIT_TAKE_ARGV("MCPCluster", mod_mcp_cluster_add, NULL, RSRC_CONF,
                      "URLs of Redis, and parameters: prefix=, user=, ..."),
    AP_INIT_TAKE12("MCPClusterSync", mod_mcp_cluster_sync, NULL, RSRC_CONF,
                   "on or off, and optionally replicas=N"),
    /* clang-format off */
    MCP_CLUSTER_DIRECTIVES(WORDS)
    MCP_CLUSTER_OPTIONS(CLUSTER_OPTION)
    /* clang-format on */
#endif

    /* clang-format off */
    MCP_OPTIONS(OPTION)
    MCP_RENAMED_DIRECTIVES(RENAMED)
    /* clang-format on */
    { .name = NULL }
};
