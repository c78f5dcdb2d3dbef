/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Creates and merges the configurations of sections, and creates the endpoints.
 * The core checks the values of directives (mcp_setup_directive.h).
 */

#include "mod_mcp_config.h"

#include "mod_mcp_document.h"
#include "mod_mcp_path.h"
#include "mod_mcp_worker.h"

#include "apr_thread_mutex.h"

#define STORE_DEFAULT  (64 * 1024 * 1024)
#define HOLD_DEFAULT   apr_time_from_sec(10)

typedef struct section_t section_t;

struct section_t {
    mod_mcp_dir_t dir;                  /* first member, because pointers to
                                           mod_mcp_dir_t are cast to
                                           section_t * */
    section_t *next;
};

/*
 * The configuration that is being read or served.  It is cleared with its
 * pool, before the next configuration is read.
 */
static struct {
    apr_pool_t *pool;
    apr_thread_mutex_t *lock;           /* held while a merged section or an
                                           endpoint is added */
    section_t *sections;
    mod_mcp_global_t *global;           /* global settings, from the main
                                           server */
    uint32_t number;                    /* random number, by which the core
                                           distinguishes this configuration
                                           from earlier ones */
    apr_array_header_t *warnings;       /* const char *: the texts that
                                           mod_mcp_config_warn() has stored */
} current;

/*
 * version of the running httpd, which may be newer than the headers with which
 * this module was built
 */
static char version[32];

mcp_str_t mod_mcp_config_version(void)
{
    return mod_mcp_str(version);
}

/* --- the memory of sections, from malloc(), because requests add some --- */

static apr_status_t free_sections(void *data)
{
    section_t *section, *next;

    /* free all sections without reading one that has been freed: sections refer
     * to each other */

    for (section = current.sections; section; section = next) {
        next = section->next;
        mcp_setup_free(section->dir.setup);
        free(section);
    }

    memset(&current, 0, sizeof(current));
    mod_mcp_path_forget();
    mod_mcp_document_forget();

    return APR_SUCCESS;
}

/*
 * Begins a new configuration, unless it has begun already: when httpd loads the
 * module, it creates the main server's configuration before pre_config runs.
 * Registers free_sections() as a clean-up of the pool.  It runs before the
 * module is unloaded, because APR runs clean-ups in reverse order, and httpd
 * has registered the unloading earlier.
 */
static void begin_configuration(apr_pool_t *p)
{
    if (current.pool) {
        return;
    }

    current.pool = p;
    current.warnings = apr_array_make(p, 1, sizeof(const char *));
    mod_mcp_path_begin(p);
    mod_mcp_document_begin(p);
    apr_pool_cleanup_register(p, NULL, free_sections, apr_pool_cleanup_null);

    if (apr_thread_mutex_create(&current.lock, APR_THREAD_MUTEX_DEFAULT, p)
        != APR_SUCCESS
        || mcp_random(&current.number, sizeof(current.number)) != MCP_OK) {
        ap_abort_on_oom();
    }
}

int mod_mcp_config_reset(apr_pool_t *pconf)
{
    ap_version_t v;

    ap_get_server_revision(&v);
    apr_snprintf(version, sizeof(version), "%d.%d.%d%s", v.major, v.minor,
                 v.patch, v.add_string ? v.add_string : "");

    begin_configuration(pconf);
    return OK;
}

/* --- the whole server --- */

void *mod_mcp_config_create_server(apr_pool_t *p, server_rec *s)
{
    mod_mcp_global_t *global = apr_pcalloc(p, sizeof(*global));

    begin_configuration(p);

    global->store_size = STORE_DEFAULT;
    global->threads = -1;
    global->hold = HOLD_DEFAULT;

    if (current.global == NULL) {
        current.global = global;
    }

    return global;
}

/*
 * Returns the main server's settings for each virtual host, because virtual
 * hosts have no global settings of their own.
 */
void *mod_mcp_config_merge_server(apr_pool_t *p, void *base, void *add)
{
    return base;
}

mod_mcp_global_t *mod_mcp_config_global(server_rec *s)
{
    return ap_get_module_config(s->module_config, &mcp_module);
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
 * Creates a section.  Returns NULL for an .htaccess file, in which no directive
 * of this module is allowed: httpd reads such a file into the pool of a
 * request, and calls this function even if it then rejects the directive.
 * check() and httpd's merging accept NULL.
 */
void *mod_mcp_config_create_dir(apr_pool_t *p, char *dir)
{
    mod_mcp_dir_t *section;

    begin_configuration(p);

    if (p != current.pool) {
        return NULL;
    }

    section = make_dir();

    /* do not store "*If", which is the path of each <If> section */

    if (dir && dir[0] != '*'
        && mcp_setup_path(section->setup, mod_mcp_str(dir)) != MCP_OK) {
        ap_abort_on_oom();
    }

    return section;
}

static mod_mcp_dir_t *find_merged(mod_mcp_dir_t *base, mod_mcp_dir_t *add)
{
    mod_mcp_dir_t *dir = __atomic_load_n(&base->children, __ATOMIC_ACQUIRE);

    while (dir && dir->add != add) {
        dir = dir->next;
    }

    return dir;
}

/* Records in dir->setup the directives that the section "add" itself sets, so
 * that mcp_setup_warning() can distinguish them from inherited ones. */
static void mark_own(mod_mcp_dir_t *dir, const mod_mcp_dir_t *add)
{
    unsigned kept = 0;

    kept |= add->principal ? MCP_SETUP_PRINCIPAL : 0;
    kept |= add->link_origin ? MCP_SETUP_LINK_ORIGIN : 0;
    kept |= add->publish_open != -1 ? MCP_SETUP_PUBLISH_OPEN : 0;
    kept |= add->max_body != -1 ? MCP_SETUP_MAX_BODY : 0;

    mcp_setup_mark_own(dir->setup, kept);
}

static mod_mcp_dir_t *merge(mod_mcp_dir_t *base, mod_mcp_dir_t *add)
{
    mod_mcp_dir_t *dir = make_dir();

    mcp_setup_merge(dir->setup, add->setup);
    mark_own(dir, add);
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

/*
 * Returns the result of merging section "add" into "base", and creates it at
 * the first call with these sections.  httpd calls this function for nearly
 * every request, on many threads at once.  The search for an existing result
 * needs no lock, because results are only added at the head of a list, and
 * never removed.
 */
void *mod_mcp_config_merge_dir(apr_pool_t *p, void *base, void *add)
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

mod_mcp_dir_t *mod_mcp_config_dir(request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &mcp_module);
}

/* Returns 1 if the section itself sets MCPUpstream. */
static int has_upstream(const section_t *section)
{
    return section->dir.add == NULL
           && mcp_setup_has_upstream(section->dir.setup);
}

/*
 * Returns a section with MCPUpstream that has the path of the section "first"
 * and follows it in the list, but has another value of MCPUpstream or of a
 * directive MCPUpstream...; NULL if there is none.
 */
static const section_t *find_conflict(const section_t *first)
{
    const section_t *section;

    for (section = first->next; section; section = section->next) {
        if (has_upstream(section)
            && mcp_str_eq(mcp_setup_section_path(section->dir.setup),
                          mcp_setup_section_path(first->dir.setup))
            && !mcp_setup_same_upstream(section->dir.setup,
                                        first->dir.setup)) {
            return section;
        }
    }

    return NULL;
}

int mod_mcp_config_check_upstreams(server_rec *s)
{
    const section_t *section;
    mcp_str_t path;

    for (section = current.sections; section; section = section->next) {
        if (has_upstream(section) && find_conflict(section)) {
            path = mcp_setup_section_path(section->dir.setup);
            ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                         "mod_mcp: two sections <Location \"%.*s\"> differ in "
                         "MCPUpstream or in a directive that begins with "
                         "MCPUpstream: set the same values in all virtual "
                         "hosts", (int)path.len, path.data);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return OK;
}

/* Returns a copy of a text as a C string.  The caller passes it to free(). */
static char *text_of(mcp_str_t text)
{
    char *p = ap_malloc(text.len + 1);

    memcpy(p, text.data, text.len);
    p[text.len] = '\0';

    return p;
}

/*
 * Returns 1 if the section sets MCPUpstream for the backend "target": the path
 * of the section equals the backend's path, or is above it.
 */
static int is_upstream_of(const section_t *section, const char *target)
{
    char *path;
    int below;

    if (!has_upstream(section)) {
        return 0;
    }

    path = text_of(mcp_setup_section_path(section->dir.setup));
    below = mod_mcp_path_is_below(target, path);
    free(path);

    return below;
}

/* Returns the <Location> with the longest path that sets MCPUpstream for a
 * backend, or NULL if there is none. */
static const section_t *find_upstream(mcp_str_t backend)
{
    char *path = text_of(backend);
    const section_t *section, *best = NULL;
    apr_size_t length = 0;

    for (section = current.sections; section; section = section->next) {
        if (is_upstream_of(section, path)
            && mcp_setup_section_path(section->dir.setup).len > length) {
            length = mcp_setup_section_path(section->dir.setup).len;
            best = section;
        }
    }

    free(path);

    return best;
}

/* Applies MCPUpstream to the target with this number, if a section sets
 * MCPUpstream for the target's path. */
static void set_upstream(mod_mcp_dir_t *dir, unsigned target)
{
    const section_t *best = find_upstream(mcp_setup_target(dir->setup,
                                                           target));

    if (best) {
        mcp_setup_set_upstream(dir->setup, target, best->dir.setup);
    }
}

/* Records for mcp_setup_warning() that "setup" uses a backend, in all sections
 * whose MCPUpstream applies to the backend.  All these sections have the same
 * path; each virtual host may have one of them. */
static void mark_backend(const mcp_setup_t *setup, mcp_str_t backend)
{
    const section_t *best = find_upstream(backend);
    section_t *section;

    for (section = current.sections; best && section;
         section = section->next) {
        if (has_upstream(section)
            && mcp_str_eq(mcp_setup_section_path(section->dir.setup),
                          mcp_setup_section_path(best->dir.setup))) {
            mcp_setup_mark_backend(section->dir.setup, setup, backend);
        }
    }
}

void mod_mcp_config_mark(void)
{
    section_t *section;
    mcp_str_t backend;
    apr_size_t i;

    for (section = current.sections; section; section = section->next) {
        if (section->dir.add) {
            continue;
        }

        mark_own(&section->dir, &section->dir);

        for (i = 0;; i++) {
            backend = mcp_setup_backend_name(section->dir.setup, i);
            if (backend.data == NULL) {
                break;
            }

            mark_backend(section->dir.setup, backend);
        }
    }
}

static mcp_endpoint_t *make_endpoint(mod_mcp_dir_t *dir, const mcp_keys_t *keys)
{
    mcp_endpoint_t *endpoint;
    unsigned i;

    endpoint = mcp_setup_endpoint(dir->setup, keys, mcp_str("Apache"),
                                  mod_mcp_config_version(),
                                  dir->principal != NULL);
    if (endpoint == NULL) {
        return NULL;
    }

    mcp_setup_fit(dir->setup, current.global->store_size, endpoint);

    for (i = 0; i < mcp_setup_targets(dir->setup); i++) {
        set_upstream(dir, i);
    }

    return endpoint;
}

const mcp_endpoint_t *mod_mcp_config_endpoint(mod_mcp_dir_t *dir,
                                       const mcp_keys_t *keys)
{
    mcp_endpoint_t *endpoint = __atomic_load_n(&dir->endpoint,
                                               __ATOMIC_ACQUIRE);

    if (endpoint) {
        return endpoint;
    }

    apr_thread_mutex_lock(current.lock);

    endpoint = dir->endpoint;
    if (endpoint == NULL) {
        endpoint = make_endpoint(dir, keys);
        __atomic_store_n(&dir->endpoint, endpoint, __ATOMIC_RELEASE);
    }

    apr_thread_mutex_unlock(current.lock);

    return endpoint;
}

/* --- identity of catalogs --- */

/* Returns the catalog key of a section, by which the next configuration finds
 * the same catalog.  Returns NULL if the section has no key or was created by
 * merging. */
static const unsigned char *catalog_key_of(const section_t *section)
{
    return section->dir.add ? NULL : mcp_setup_catalog_key(section->dir.setup);
}

static int is_taken(const mod_mcp_dir_t *dir)
{
    const unsigned char *catalog_key;
    section_t *section;

    for (section = current.sections; section; section = section->next) {
        catalog_key = catalog_key_of(section);

        if (catalog_key && &section->dir != dir
            && memcmp(catalog_key, mcp_setup_catalog_key(dir->setup),
                      MCP_DIGEST_LEN)
                   == 0)
        {
            return 1;
        }
    }

    return 0;
}

int mod_mcp_config_set_catalog_key(mod_mcp_dir_t *dir, const cmd_parms *cmd)
{
    unsigned n = 0;
    int rc;

    do {
        rc = mcp_setup_set_catalog_key(dir->setup,
                             mod_mcp_str(cmd->server->server_hostname),
                             mod_mcp_str(cmd->path), n++);
    } while (rc == MCP_OK && is_taken(dir));

    dir->shares_catalog_key = n > 1;

    return rc;
}

void mod_mcp_config_begin(mcp_worker_t *worker, const mcp_keys_t *keys)
{
    const mcp_endpoint_t *endpoint;
    section_t *section;

    mcp_worker_begin(worker, current.number);

    for (section = current.sections; section; section = section->next) {
        endpoint = catalog_key_of(section)
                   ? mod_mcp_config_endpoint(&section->dir, keys) : NULL;

        if (endpoint) {
            mcp_worker_offer(worker, endpoint);
        }
    }

    mcp_worker_begun(worker);
}

/* --- keys --- */

int mod_mcp_config_keys(int (*add)(void *ctx, const mcp_keys_t *keys),
                        void *ctx)
{
    const mcp_keys_t *keys;
    section_t *section;
    int rc = MCP_OK;

    for (section = current.sections; rc == MCP_OK && section;
         section = section->next) {
        keys = mcp_setup_keys(section->dir.setup);

        if (keys) {
            rc = add(ctx, keys);
        }
    }

    return rc;
}

void mod_mcp_config_warn(const char *text)
{
    APR_ARRAY_PUSH(current.warnings, const char *) = text;
}

const apr_array_header_t *mod_mcp_config_warnings(void)
{
    return current.warnings;
}
