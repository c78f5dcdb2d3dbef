/* SPDX-License-Identifier: Apache-2.0 */

/* Which document a request asks for, and what challenges say. */


#include "http/mcp_http_challenge.h"
#include "mcp_auth.h"


static int
mcp_auth_is_alone(const mcp_auth_t *const *auths, size_t n)
{
    return n == 1 && auths[0]->path.len > sizeof(MCP_AUTH_WELL_KNOWN) - 1;
}


const mcp_auth_t *
mcp_auth_find(const mcp_auth_t *const *auths, size_t n, mcp_str_t target)
{
    size_t       i;
    mcp_str_t    authority;
    const char  *query;

    mcp_http_target(&target, &authority);

    query = target.len ? memchr(target.data, '?', target.len) : NULL;

    if (query) {
        target.len = (size_t) (query - target.data);
    }

    for (i = 0; i < n; i++) {
        if (mcp_str_eq(auths[i]->path, target)) {
            return auths[i];
        }
    }

    return mcp_auth_is_alone(auths, n)
           && mcp_str_eq(target, mcp_str(MCP_AUTH_WELL_KNOWN)) ? auths[0]
                                                               : NULL;
}


int
mcp_auth_check(const mcp_auth_t *const *auths, size_t n,
    const mcp_auth_t *auth)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (mcp_str_eq(auths[i]->path, auth->path)) {
            return mcp_str_eq(auths[i]->document, auth->document)
                   ? MCP_DONE : MCP_ERR_EXISTS;
        }
    }

    return MCP_OK;
}


/* Appends parameters that stand in a challenge, or follow its scheme. */
static void
mcp_auth_params(const mcp_auth_t *auth, mcp_http_challenge_t *has,
    mcp_buf_t *buf)
{
    if (!has->metadata) {
        mcp_buf_str(buf, has->params ? mcp_str(", ") : mcp_str(" "));
        mcp_buf_lit(buf, "resource_metadata=\"");
        mcp_buf_str(buf, auth->url);
        mcp_buf_lit(buf, "\"");
        has->params = 1;
    }

    if (!has->scope && auth->scope.len) {
        mcp_buf_lit(buf, ", scope=\"");
        mcp_buf_str(buf, auth->scope);
        mcp_buf_lit(buf, "\"");
    }
}


int
mcp_auth_challenge(const mcp_auth_t *auth, const mcp_str_t *values, size_t n,
    size_t *which, mcp_buf_t *buf)
{
    size_t                i;
    mcp_str_t             rest;
    mcp_http_challenge_t  has;

    for (i = 0; i < n; i++) {
        if (mcp_http_bearer(values[i], &has) == MCP_OK) {
            break;
        }
    }

    *which = i;

    if (i == n) {
        memset(&has, 0, sizeof(mcp_http_challenge_t));
        mcp_buf_lit(buf, "Bearer");
        mcp_auth_params(auth, &has, buf);

        return buf->failed;
    }

    if (has.metadata && (has.scope || auth->scope.len == 0)) {
        return MCP_DONE;
    }

    rest.data = values[i].data + has.end;
    rest.len = values[i].len - has.end;

    mcp_buf_add(buf, values[i].data, has.end);
    mcp_auth_params(auth, &has, buf);
    mcp_buf_str(buf, rest);

    return buf->failed;
}


void
mcp_auth_insufficient(const mcp_auth_t *auth, mcp_str_t scope, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "Bearer error=\"insufficient_scope\", scope=\"");
    mcp_buf_str(buf, scope);
    mcp_buf_lit(buf, "\"");

    if (auth) {
        mcp_buf_lit(buf, ", resource_metadata=\"");
        mcp_buf_str(buf, auth->url);
        mcp_buf_lit(buf, "\"");
    }
}
