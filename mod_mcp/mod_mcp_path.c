/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stores the paths of endpoints and backends, and compares the paths of
 * requests with them by the rules of <Location>.  The paths of requests are
 * those from which httpd has removed escapes and dot segments.
 */

#include "mod_mcp_path.h"

#include "apr_fnmatch.h"

/* A <Location> that is an endpoint. */
typedef struct {
    server_rec *server;
    const core_dir_config *core;        /* has the path or pattern of the
                                           <Location> */
} endpoint_t;

static apr_array_header_t *backends;    /* const char *, paths without escapes,
                                           dot segments and doubled slashes */
static apr_array_header_t *endpoints;   /* endpoint_t */

void mod_mcp_path_begin(apr_pool_t *p)
{
    backends = apr_array_make(p, 4, sizeof(const char *));
    endpoints = apr_array_make(p, 4, sizeof(endpoint_t));
}

void mod_mcp_path_forget(void)
{
    backends = NULL;
    endpoints = NULL;
}

/*
 * Treats several slashes in the URI as one, because otherwise a second slash
 * would bypass the check for backends.
 */
int mod_mcp_path_is_below(const char *uri, const char *path)
{
    char last = '\0';

    while (*path) {
        if (*uri != *path) {
            return 0;
        }

        last = *path++;
        do {
            uri++;
        } while (last == '/' && *uri == '/');

        /* skip parameters of a path segment, because mod_proxy removes them
         * with "mapping=servlet" */

        if (*uri == ';') {
            uri += strcspn(uri, "/");
        }
    }

    return last == '/' || *uri == '/' || *uri == '\0';
}

const char **mod_mcp_path_backends(int *n)
{
    *n = backends ? backends->nelts : 0;

    return backends ? (const char **)backends->elts : NULL;
}

int mod_mcp_path_is_backend(const char *uri)
{
    const char **targets;
    int i, n;

    targets = mod_mcp_path_backends(&n);

    for (i = 0; i < n; i++) {
        if (mod_mcp_path_is_below(uri, targets[i])) {
            return 1;
        }
    }

    return 0;
}

const char *mod_mcp_path_add_backend(cmd_parms *cmd, const char *target)
{
    char *path = apr_pstrdup(cmd->pool, target);

    if (path[0] != '/' || path[1] == '\0') {
        return apr_psprintf(cmd->pool,
                            "%s: \"%s\" is not the path of a backend, such "
                            "as \"/tools\"",
                            cmd->cmd->name, target);
    }

    if (strpbrk(path, "?#%")
        || !ap_normalize_path(path, AP_NORMALIZE_NOT_ABOVE_ROOT
                                    | AP_NORMALIZE_MERGE_SLASHES)
        || strcmp(path, target) != 0) {
        return apr_psprintf(cmd->pool,
                            "%s: \"%s\" is not a plain path: remove query, "
                            "escapes, \"//\" and \"/../\"",
                            cmd->cmd->name, target);
    }

    APR_ARRAY_PUSH(backends, const char *) = path;

    return NULL;
}

int mod_mcp_path_is_pattern(const core_dir_config *core)
{
    return core->r || core->d_is_fnmatch;
}

void mod_mcp_path_add_endpoint(server_rec *s, const core_dir_config *core)
{
    endpoint_t *endpoint = apr_array_push(endpoints);

    endpoint->server = s;
    endpoint->core = core;
}

static int matches(const core_dir_config *core, const char *uri)
{
    if (core->r) {
        return ap_regexec(core->r, uri, 0, NULL, 0) == 0;
    }

    return apr_fnmatch(core->d, uri, APR_FNM_PATHNAME) == APR_SUCCESS;
}

/*
 * This check is needed because a <Location> also applies to all paths below its
 * own, but an endpoint is a single resource.  An endpoint with several paths
 * needs a pattern, or a section that is not a <Location>.
 */
int mod_mcp_path_is_below_endpoint(request_rec *r)
{
    const endpoint_t *endpoint = (const endpoint_t *)endpoints->elts;
    int i, below = 0;

    for (i = 0; i < endpoints->nelts; i++, endpoint++) {
        if (endpoint->server != r->server && endpoint->server->is_virtual) {
            continue;
        }

        if (mod_mcp_path_is_pattern(endpoint->core)) {
            if (matches(endpoint->core, r->uri)) {
                return 0;
            }
        }
        else if (strcmp(endpoint->core->d, r->uri) == 0) {
            return 0;
        }
        else if (mod_mcp_path_is_below(r->uri, endpoint->core->d)) {
            below = 1;
        }
    }

    return below;
}
