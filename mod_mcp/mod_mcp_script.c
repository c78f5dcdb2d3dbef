/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Backends whose handler names their script:
 *
 *     SetHandler "proxy:unix:/run/php.sock|fcgi://php/srv/tools.php"
 *
 * mod_proxy appends the name of a file to this, which httpd looks for in each
 * directory of the path of the backend, and below it.  Here is nothing to look
 * for, so that SCRIPT_FILENAME is /srv/tools.php and PATH_INFO is empty.
 *
 * As with ProxyPass, what is configured for directories does not apply then.
 */

#include "mod_mcp_script.h"

#include "mod_mcp_request.h"

/* "proxy:", the path of a socket or nothing, and a URL with a path. */
static int names_script(const char *handler)
{
    const char *url;

    if (handler == NULL || strncmp(handler, "proxy:", 6) != 0) {
        return 0;
    }

    url = handler + 6;

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

static mod_mcp_request_t *of_call(request_rec *r)
{
    mod_mcp_request_t *own = ap_get_module_config(r->request_config,
                                                  &mcp_module);

    return own && own->run ? own : NULL;
}

int mod_mcp_script_find(request_rec *r)
{
    mod_mcp_request_t *own = of_call(r);

    if (own) {
        own->has_script = names_script(mod_mcp_request_handler(r));
    }

    return DECLINED;
}

int mod_mcp_script_map(request_rec *r)
{
    const mod_mcp_request_t *own = of_call(r);

    if (own == NULL || !own->has_script || r->proxyreq) {
        return DECLINED;
    }

    r->filename = apr_pstrdup(r->pool, "");

    return OK;
}
