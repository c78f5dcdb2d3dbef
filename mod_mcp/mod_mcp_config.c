/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Directives, what sections inherit, and the endpoints that they make.  What
 * values are allowed is the core's business (mcp_setup.h, mcp_option.h); here
 * are the names, the files and the memory.
 */

#include "mod_mcp.h"
#include "mcp_zone.h"

#include "apr_file_io.h"
#include "apr_fnmatch.h"
#include "apr_thread_mutex.h"

/*
 * Anywhere but in .htaccess files: what those say is gone with the request.
 * (AllowOverrideList could let them in; see mod_mcp_create_dir_config().)
 */
#define SECTIONS  (RSRC_CONF|ACCESS_CONF)

#define STORE_KIND     "shm:"
#define STORE_DEFAULT  (64 * 1024 * 1024)
#define HOLD_DEFAULT   apr_time_from_sec(10)
#define THREADS_MAX    1024

typedef struct section_t section_t;

struct section_t {
    mod_mcp_dir_t dir;                  /* first: one is found by the other */
    mcp_endpoint_t endpoint;
    section_t *next;
};

/* A <Location> that is an endpoint. */
typedef struct {
    server_rec *server;
    const core_dir_config *core;        /* its path or pattern */
} place_t;

/* Of the configuration that is being read or served; its pool is cleared, and
 * this with it, before the next one is read. */
static struct {
    apr_pool_t *pool;
    apr_thread_mutex_t *lock;           /* for what requests add */
    section_t *sections;
    apr_array_header_t *backends;       /* const char *, normalized */
    apr_array_header_t *endpoints;      /* place_t */
} current;


/* --- memory: requests add to it, so that it is malloc's --- */

static apr_status_t forget(void *data)
{
    section_t *section, *next;

    /* they borrow from each other: none is used once the first is freed */
    for (section = current.sections; section; section = next) {
        next = section->next;
        mcp_setup_free(section->dir.setup);
        free(section);
    }

    memset(&current, 0, sizeof(current));
    return APR_SUCCESS;
}

/*
 * LoadModule asks for the main server's configuration before there is a
 * pre_config to be called, so that whoever comes first begins.  The clean-up
 * stands behind that of the DSO, hence runs before it.
 */
static void begin(apr_pool_t *p)
{
    if (current.pool) {
        return;
    }

    current.pool = p;
    current.backends = apr_array_make(p, 4, sizeof(const char *));
    current.endpoints = apr_array_make(p, 4, sizeof(place_t));
    apr_pool_cleanup_register(p, NULL, forget, apr_pool_cleanup_null);

    if (apr_thread_mutex_create(&current.lock, APR_THREAD_MUTEX_DEFAULT, p)
        != APR_SUCCESS) {
        ap_abort_on_oom();
    }
}

int mod_mcp_config_reset(apr_pool_t *pconf)
{
    begin(pconf);
    return OK;
}


/* --- the whole server --- */

void *mod_mcp_create_server_config(apr_pool_t *p, server_rec *s)
{
    mod_mcp_global_t *global = apr_pcalloc(p, sizeof(*global));

    begin(p);

    global->store_size = STORE_DEFAULT;
    global->threads = -1;
    global->hold = HOLD_DEFAULT;

    return global;
}

/* Virtual hosts have none of their own, so all see the main server's. */
void *mod_mcp_merge_server_config(apr_pool_t *p, void *base, void *add)
{
    return base;
}

static mod_mcp_global_t *global_of(server_rec *s)
{
    return ap_get_module_config(s->module_config, &mcp_module);
}

const mod_mcp_global_t *mod_mcp_global(server_rec *s)
{
    return global_of(s);
}


/* --- sections --- */

static mod_mcp_dir_t *make_dir(void)
{
    section_t *section = ap_calloc(1, sizeof(*section));

    section->dir.setup = mcp_setup_create(&mod_mcp_mem);
    if (section->dir.setup == NULL) {
        ap_abort_on_oom();
    }

    section->dir.publish_open = -1;
    section->dir.max_body = -1;

    section->next = current.sections;
    current.sections = section;

    return &section->dir;
}

/*
 * .htaccess files are read into the pool of a request, long after the
 * configuration, and even for a directive that is refused there.  They get no
 * section, which check() and the merging of httpd understand.
 */
void *mod_mcp_create_dir_config(apr_pool_t *p, char *dir)
{
    begin(p);
    return p == current.pool ? make_dir() : NULL;
}

static mod_mcp_dir_t *find_merged(mod_mcp_dir_t *base, mod_mcp_dir_t *add)
{
    mod_mcp_dir_t *dir = __atomic_load_n(&base->children, __ATOMIC_ACQUIRE);

    while (dir && dir->add != add) {
        dir = dir->next;
    }

    return dir;
}

static mod_mcp_dir_t *merge(mod_mcp_dir_t *base, mod_mcp_dir_t *add)
{
    mod_mcp_dir_t *dir = make_dir();

    mcp_setup_merge(dir->setup, add->setup);
    mcp_setup_merge(dir->setup, base->setup);

    dir->principal = add->principal ? add->principal : base->principal;
    dir->link_origin = add->link_origin ? add->link_origin
                                        : base->link_origin;
    dir->publish_open = add->publish_open != -1 ? add->publish_open
                                                : base->publish_open;
    dir->max_body = add->max_body != -1 ? add->max_body : base->max_body;

    dir->add = add;
    dir->next = base->children;
    __atomic_store_n(&base->children, dir, __ATOMIC_RELEASE);

    return dir;
}

/* Called for nearly every request of the server, by many threads at once: what
 * was merged before is found without a lock, for the lists only grow, at their
 * heads. */
void *mod_mcp_merge_dir_config(apr_pool_t *p, void *base, void *add)
{
    mod_mcp_dir_t *dir = find_merged(base, add);

    if (dir == NULL) {
        apr_thread_mutex_lock(current.lock);

        dir = find_merged(base, add);
        if (dir == NULL) {
            dir = merge(base, add);
        }

        apr_thread_mutex_unlock(current.lock);
    }

    return dir;
}

mod_mcp_dir_t *mod_mcp_dir(request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &mcp_module);
}

const mcp_endpoint_t *mod_mcp_endpoint(mod_mcp_dir_t *dir,
                                       const mcp_keys_t *keys)
{
    section_t *section = (section_t *)dir;
    mcp_endpoint_t *endpoint = __atomic_load_n(&dir->endpoint,
                                               __ATOMIC_ACQUIRE);

    if (endpoint) {
        return endpoint;
    }

    apr_thread_mutex_lock(current.lock);

    endpoint = dir->endpoint;
    if (endpoint == NULL
        && mcp_setup_endpoint(dir->setup, keys, mcp_str("Apache"),
                              mcp_str(AP_SERVER_BASEREVISION),
                              &section->endpoint) == MCP_OK) {
        endpoint = &section->endpoint;
        __atomic_store_n(&dir->endpoint, endpoint, __ATOMIC_RELEASE);
    }

    apr_thread_mutex_unlock(current.lock);

    return endpoint;
}


/* --- backends --- */

/* As <Location> does it: runs of slashes in the URI count as one, or a second
 * slash would lead around the check. */
static int is_below(const char *uri, const char *target)
{
    char last = '\0';

    while (*target) {
        if (*uri != *target) {
            return 0;
        }

        last = *target++;
        do {
            uri++;
        } while (last == '/' && *uri == '/');

        /* parameters of a segment, which "mapping=servlet" drops */

        if (*uri == ';') {
            uri += strcspn(uri, "/");
        }
    }

    return last == '/' || *uri == '/' || *uri == '\0';
}

int mod_mcp_is_backend(const char *uri)
{
    const char **targets;
    int i;

    if (current.backends == NULL) {
        return 0;
    }

    targets = (const char **)current.backends->elts;

    for (i = 0; i < current.backends->nelts; i++) {
        if (is_below(uri, targets[i])) {
            return 1;
        }
    }

    return 0;
}

static int is_pattern(const core_dir_config *core)
{
    return core->r || core->d_is_fnmatch;
}

static int matches(const core_dir_config *core, const char *uri)
{
    if (core->r) {
        return ap_regexec(core->r, uri, 0, NULL, 0) == 0;
    }

    return apr_fnmatch(core->d, uri, APR_FNM_PATHNAME) == APR_SUCCESS;
}

/*
 * A <Location> applies to all that is below its path, an endpoint is one
 * resource: what is below is somebody else's, or nobody's.  Whoever wants more
 * than one path says so with a pattern; so does whoever sets the handler in
 * another kind of section.
 */
int mod_mcp_is_below_endpoint(request_rec *r)
{
    const place_t *place = (const place_t *)current.endpoints->elts;
    int i, below = 0;

    for (i = 0; i < current.endpoints->nelts; i++, place++) {
        if (place->server != r->server && place->server->is_virtual) {
            continue;
        }

        if (is_pattern(place->core)) {
            if (matches(place->core, r->uri)) {
                return 0;
            }
        }
        else if (strcmp(place->core->d, r->uri) == 0) {
            return 0;
        }
        else if (is_below(r->uri, place->core->d)) {
            below = 1;
        }
    }

    return below;
}

/* A target is compared with what httpd makes of a request's path: without
 * escapes, dots and doubled slashes. */
static const char *add_target(cmd_parms *cmd, const char *target)
{
    char *path = apr_pstrdup(cmd->pool, target);

    if (path[0] != '/' || path[1] == '\0') {
        return apr_psprintf(cmd->pool, "%s: \"%s\" is not the path of a "
                            "backend: \"/\" and a name",
                            cmd->cmd->name, target);
    }

    if (strpbrk(path, "?#%")
        || !ap_normalize_path(path, AP_NORMALIZE_NOT_ABOVE_ROOT
                                    | AP_NORMALIZE_MERGE_SLASHES)
        || strcmp(path, target) != 0) {
        return apr_psprintf(cmd->pool, "%s: \"%s\" is not a plain path: it "
                            "has no query, no escapes, no \"//\" and "
                            "no \"/../\"", cmd->cmd->name, target);
    }

    APR_ARRAY_PUSH(current.backends, const char *) = path;

    return NULL;
}


/* --- when all is read --- */

/* An argument of a directive. */
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

/* 1 if d is <Location path>, <LocationMatch path> or <Location ~ path>. */
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

/* 1 if <Location path> is an endpoint: SetHandler makes an expression of its
 * argument, which is for requests to ask. */
static int is_endpoint(apr_pool_t *p, const ap_directive_t *d,
                       const char *path, int inside)
{
    for ( ; d; d = d->next) {
        if (inside && strcasecmp(d->directive, "SetHandler") == 0
            && strcmp(argument(p, d, 0), MOD_MCP_HANDLER) == 0) {
            return 1;
        }

        if (d->first_child
            && is_endpoint(p, d->first_child, path,
                           inside || is_location(p, d, path))) {
            return 1;
        }
    }

    return 0;
}

/* conf: a <Location> of a server. */
static int check_location(apr_pool_t *p, server_rec *s, ap_conf_vector_t *conf)
{
    const core_dir_config *core = ap_get_core_module_config(conf);
    mod_mcp_dir_t *add = ap_get_module_config(conf, &mcp_module);
    mod_mcp_dir_t *dir = ap_get_module_config(s->lookup_defaults, &mcp_module);
    place_t *place;

    if (core->d == NULL || !is_endpoint(p, ap_conftree, core->d, 0)) {
        return OK;
    }

    if (!is_pattern(core) && mod_mcp_is_backend(core->d)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "mod_mcp: the endpoint %s is, or lies below, what "
                     "MCPBackend or MCPRoute names as a backend, and would be "
                     "closed to all clients: a backend needs a path of its "
                     "own", core->d);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    place = apr_array_push(current.endpoints);
    place->server = s;
    place->core = core;

    /* one without a directive of ours has none of its own */

    if (add) {
        dir = dir ? mod_mcp_merge_dir_config(p, dir, add) : add;
    }

    if (dir && mcp_setup_lacks_backend(dir->setup)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the endpoint %s has a catalog, but neither "
                     "MCPBackend nor MCPRoute: its calls will fail", core->d);
    }

    if (dir && mcp_setup_fills_zone(dir->setup, global_of(s)->store_size)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: the endpoint %s has an MCPStreamBuffer with "
                     "which one stream may have half of the room that MCPStore "
                     "gives, or more: lower it, or give it more room", core->d);
    }

    return OK;
}

/* 1 if what <Location> or <Directory> d says holds for calls to a backend. */
static int covers(apr_pool_t *p, server_rec *s, const ap_directive_t *d,
                  const char *backend)
{
    const core_server_config *core;
    const char *path = argument(p, d, 0);

    if (strcasecmp(d->directive, "<Location") == 0) {
        return is_below(backend, path);
    }

    if (strcasecmp(d->directive, "<Directory") != 0) {
        return 0;
    }

    for ( ; s; s = s->next) {
        core = ap_get_core_module_config(s->module_config);

        if (core->ap_document_root && is_below(core->ap_document_root, path)) {
            return 1;
        }
    }

    return 0;
}

/* What asks mod_ssl whether there is TLS refuses all calls. */
static void check_tls(apr_pool_t *p, server_rec *s, const ap_directive_t *d,
                      const ap_directive_t *section)
{
    const char **backends = (const char **)current.backends->elts;
    int i;

    for ( ; d; d = d->next) {
        check_tls(p, s, d->first_child, d);

        for (i = 0; section && i < current.backends->nelts; i++) {
            if (strcasecmp(d->directive, "SSLRequireSSL") == 0
                && covers(p, s, section, backends[i])) {
                ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                             "mod_mcp: %s:%d: SSLRequireSSL holds for calls to "
                             "the backend %s as well, and refuses them: say "
                             "\"Require ssl\", which knows how their client "
                             "came", d->filename, d->line_num, backends[i]);
                break;
            }
        }
    }
}

/* Virtual hosts have the main server's first. */
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

int mod_mcp_config_check(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s)
{
    core_server_config *core;
    ap_conf_vector_t **sections;
    server_rec *server;
    int i, rc;

    check_tls(ptemp, s, ap_conftree, NULL);

    for (server = s; server; server = server->next) {
        core = ap_get_core_module_config(server->module_config);
        sections = (ap_conf_vector_t **)core->sec_url->elts;

        for (i = 0; i < core->sec_url->nelts; i++) {
            if (is_inherited(s, server, sections[i])) {
                continue;
            }

            rc = check_location(ptemp, server, sections[i]);
            if (rc != OK) {
                return rc;
            }
        }
    }

    return OK;
}


/* --- directives --- */

/* The error of a directive in a section that may not stand where it does. */
static const char *check(cmd_parms *cmd, mod_mcp_dir_t *dir)
{
    if (dir == NULL) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " not allowed in .htaccess files", NULL);
    }

    return NULL;
}

/* The core's errors stand alone, but for one. */
static const char *result(cmd_parms *cmd, int rc, const char *error)
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
    return result(cmd, MCP_ERR_CONFIG, MCP_SETUP_DUPLICATE);
}

static const char *file_error(cmd_parms *cmd, const char *what,
                              const char *file, apr_status_t rv)
{
    return apr_psprintf(cmd->pool, "%s: cannot %s \"%s\": %pm",
                        cmd->cmd->name, what, file, &rv);
}

/* It may hold a key. */
static void dispose(mcp_str_t *text)
{
    explicit_bzero((char *)text->data, text->len);
    free((char *)text->data);
}

/* What an open file holds, to be disposed of. */
static const char *read_open_file(cmd_parms *cmd, apr_file_t *file,
                                  const char *name, apr_off_t max,
                                  mcp_str_t *text)
{
    apr_finfo_t info;
    apr_status_t rv;
    char *data;

    rv = apr_file_info_get(&info, APR_FINFO_SIZE | APR_FINFO_TYPE, file);
    if (rv != APR_SUCCESS) {
        return file_error(cmd, "look at", name, rv);
    }

    if (info.filetype != APR_REG) {
        return apr_psprintf(cmd->pool, "%s: \"%s\" is not a file",
                            cmd->cmd->name, name);
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
        dispose(text);
        return file_error(cmd, "read", name, rv);
    }

    return NULL;
}

/* Makes *name absolute and reads the file. */
static const char *read_file(cmd_parms *cmd, const char **name, apr_off_t max,
                             mcp_str_t *text)
{
    apr_file_t *file;
    apr_status_t rv;
    const char *error, *path;

    path = ap_server_root_relative(cmd->pool, *name);
    if (path == NULL) {
        return apr_psprintf(cmd->pool, "%s: invalid file name \"%s\"",
                            cmd->cmd->name, *name);
    }

    *name = path;

    /* not buffered, that no key is left behind in the buffer */
    rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BINARY,
                       APR_FPROT_OS_DEFAULT, cmd->temp_pool);
    if (rv != APR_SUCCESS) {
        return file_error(cmd, "open", path, rv);
    }

    error = read_open_file(cmd, file, path, max, text);
    apr_file_close(file);

    return error;
}

static const char *set_store(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_size_t kind = strlen(STORE_KIND);
    uint64_t size;

    if (error) {
        return error;
    }

    if (global_of(cmd->server)->has_store) {
        return duplicate(cmd);
    }

    if (strncmp(arg, STORE_KIND, kind) != 0) {
        return apr_psprintf(cmd->pool, "MCPStore: \"%s\" is an unknown kind "
                            "of store: there is shm:SIZE", arg);
    }

    if (mcp_option_size(mod_mcp_str(arg + kind), &size) != MCP_OK
        || size > APR_SIZE_MAX) {
        return apr_psprintf(cmd->pool, "MCPStore: invalid size \"%s\"",
                            arg + kind);
    }

    if (size < MCP_ZONE_MIN_SIZE) {
        return apr_psprintf(cmd->pool, "MCPStore: \"%s\" is too small: at "
                            "least %" APR_SIZE_T_FMT " bytes are needed",
                            arg, (apr_size_t)MCP_ZONE_MIN_SIZE);
    }

    global_of(cmd->server)->store_size = (apr_size_t)size;
    global_of(cmd->server)->has_store = 1;
    return NULL;
}

static const char *set_threads(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    uint64_t n;

    if (error) {
        return error;
    }

    if (global_of(cmd->server)->has_threads) {
        return duplicate(cmd);
    }

    if (mcp_str_uint(mod_mcp_str(arg), &n) != MCP_OK
        || n < 1 || n > THREADS_MAX) {
        return apr_psprintf(cmd->pool, "MCPThreads: \"%s\" is not a number "
                            "from 1 to %d", arg, THREADS_MAX);
    }

    global_of(cmd->server)->threads = (int)n;
    global_of(cmd->server)->has_threads = 1;
    return NULL;
}

static const char *set_hold(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    uint64_t ms = 0;

    if (error) {
        return error;
    }

    if (global_of(cmd->server)->has_hold) {
        return duplicate(cmd);
    }

    if (strcasecmp(arg, "off") != 0
        && (mcp_option_time(mod_mcp_str(arg), &ms) != MCP_OK
            || ms > MCP_TIME_MAX)) {
        return apr_psprintf(cmd->pool, "MCPHold: \"%s\" is neither a time "
                            "nor \"off\"", arg);
    }

    global_of(cmd->server)->hold = (apr_interval_time_t)ms * 1000;
    global_of(cmd->server)->has_hold = 1;
    return NULL;
}

/* All rows of MCP_OPTIONS. */
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
    return result(cmd, rc, text);
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
    return result(cmd, rc, text);
}

static const char *add_key(cmd_parms *cmd, mod_mcp_dir_t *dir,
                           const char *file)
{
    char text[MCP_SETUP_ERROR_MAX];
    mcp_str_t contents;
    const char *error;
    int rc;

    error = read_file(cmd, &file, MCP_SETUP_KEY_FILE_MAX, &contents);
    if (error) {
        return error;
    }

    rc = mcp_setup_key(dir->setup, mod_mcp_str(file), contents, text);
    dispose(&contents);

    return result(cmd, rc, text);
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
        error = result(cmd, mcp_setup_keys_begin(dir->setup, text), text);
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
        error = read_file(cmd, &file, MCP_SETUP_CATALOG_FILE_MAX, &contents);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_catalog(dir->setup, mod_mcp_str(file), contents, text);
    dispose(&contents);

    return result(cmd, rc, text);
}

static const char *set_backend(cmd_parms *cmd, void *conf, const char *target)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error == NULL) {
        error = add_target(cmd, target);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_backend(dir->setup, mod_mcp_str(target), text);
    return result(cmd, rc, text);
}

static const char *add_route(cmd_parms *cmd, void *conf, const char *pattern,
                             const char *target)
{
    mod_mcp_dir_t *dir = conf;
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error == NULL) {
        error = add_target(cmd, target);
    }

    if (error) {
        return error;
    }

    rc = mcp_setup_route(dir->setup, mod_mcp_str(pattern), mod_mcp_str(target),
                         text);
    return result(cmd, rc, text);
}

static const char *set_expression(cmd_parms *cmd, mod_mcp_dir_t *dir,
                                  const char *arg,
                                  ap_expr_info_t **expression)
{
    const char *error = check(cmd, dir);

    if (error) {
        return error;
    }

    if (*expression) {
        return duplicate(cmd);
    }

    *expression = ap_expr_parse_cmd(cmd, arg,
                                    AP_EXPR_FLAG_STRING_RESULT
                                    | AP_EXPR_FLAG_DONT_VARY,
                                    &error, NULL);
    if (error) {
        return apr_psprintf(cmd->pool, "%s: \"%s\": %s", cmd->cmd->name, arg,
                            error);
    }

    return NULL;
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

    /* with something to evaluate in it, it is looked at when it is used */

    if (error || strpbrk(arg, "%$\\")) {
        return error;
    }

    return result(cmd, mcp_setup_link_origin(mod_mcp_str(arg), text), text);
}

/* Gives the word to one of mcp_setup_*(). */
static const char *set_word(cmd_parms *cmd, mod_mcp_dir_t *dir,
                            const char *arg,
                            int (*set)(mcp_setup_t *, mcp_str_t, char *))
{
    char text[MCP_SETUP_ERROR_MAX];
    const char *error = check(cmd, dir);
    int rc;

    if (error) {
        return error;
    }

    rc = set(dir->setup, mod_mcp_str(arg), text);
    return result(cmd, rc, text);
}

static const char *add_origin(cmd_parms *cmd, void *conf, const char *arg)
{
    return set_word(cmd, conf, arg, mcp_setup_origin);
}

static const char *set_publish_token(cmd_parms *cmd, void *conf,
                                     const char *arg)
{
    return set_word(cmd, conf, arg, mcp_setup_publish_token);
}

static const char *set_publish_url(cmd_parms *cmd, void *conf,
                                   const char *arg)
{
    return set_word(cmd, conf, arg, mcp_setup_publish_url);
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
        return apr_psprintf(cmd->pool, "MCPMaxBody: invalid size \"%s\"", arg);
    }

    dir->max_body = (apr_off_t)size;
    return NULL;
}

#define HELP_TIME    "a time: 500ms, 90s, 1h 30m"
#define HELP_SIZE    "a size: 65536, 64K, 8M, 1G"
#define HELP_NUMBER  "a number"
#define HELP_FLAG  "on or off"
#define HELP_QUOTA  "a number, or share"
#define HELP_ROOM  "a size, or share"
#define HELP_SHARE_BY  "principal or address"
#define HELP_OFF_0   ""
#define HELP_OFF_1   "; or off"

#define OPTION(id, member, nginx, apache, kind, off, min, max, def) \
    AP_INIT_TAKE1(apache, set_option, \
                  (void *)(apr_uintptr_t)MCP_OPTION_##id, SECTIONS, \
                  HELP_##kind HELP_OFF_##off),

#define ALIAS(id, member, nginx, apache) \
    AP_INIT_TAKE1(apache, set_option, \
                  (void *)(apr_uintptr_t)MCP_OPTION_##id, SECTIONS, \
                  "older name of another directive"),

const command_rec mod_mcp_directives[] = {
    AP_INIT_TAKE1("MCPStore", set_store, NULL, RSRC_CONF,
                  "where streams are kept: shm:SIZE"),
    AP_INIT_TAKE1("MCPThreads", set_threads, NULL, RSRC_CONF,
                  "number of threads that run backend calls in each child"),
    AP_INIT_TAKE1("MCPHold", set_hold, NULL, RSRC_CONF,
                  "how long an idle stream may hold a thread, or off"),

    AP_INIT_TAKE23("MCPServer", set_server, NULL, SECTIONS,
                   "name, version and title that clients are told"),
    AP_INIT_TAKE1("MCPCatalog", set_catalog, NULL, SECTIONS,
                  "file that lists tools, prompts and resources"),
    AP_INIT_TAKE1("MCPBackend", set_backend, NULL, SECTIONS,
                  "path that calls go to"),
    AP_INIT_TAKE2("MCPRoute", add_route, NULL, SECTIONS,
                  "name or ~regex, and the path that such calls go to"),
    AP_INIT_TAKE_ARGV("MCPKey", set_key, NULL, SECTIONS,
                      "files with secrets: the first signs, all verify"),
    AP_INIT_TAKE1("MCPPrincipal", set_principal, NULL, SECTIONS,
                  "expression that says who the caller is"),
    AP_INIT_TAKE1("MCPLinkOrigin", set_link_origin, NULL, SECTIONS,
                  "expression for scheme and host of stream URLs"),
    AP_INIT_ITERATE("MCPAllowOrigin", add_origin, NULL, SECTIONS,
                    "origins whose pages may use the endpoint"),
    AP_INIT_TAKE1("MCPPublishToken", set_publish_token, NULL, SECTIONS,
                  "secret of those who publish notifications"),
    AP_INIT_TAKE1("MCPPublishURL", set_publish_url, NULL, SECTIONS,
                  "how backends reach the publish endpoint"),
    AP_INIT_FLAG("MCPPublishOpen", set_publish_open, NULL, SECTIONS,
                 "On: the publish endpoint lets other machines in"),
    AP_INIT_TAKE1("MCPMaxBody", set_max_body, NULL, SECTIONS,
                  "largest body of a request"),

    MCP_OPTIONS(OPTION)
    MCP_OPTION_ALIASES(ALIAS)

    { .name = NULL }
};
