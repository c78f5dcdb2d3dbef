/* SPDX-License-Identifier: Apache-2.0 */

/* Chooses the metadata document of a request, and writes challenges. */


#include "http/mcp_http_challenge.h"
#include "mcp_auth.h"


static int
mcp_auth_is_single(const mcp_auth_t *const *auths, size_t n)
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

    return mcp_auth_is_single(auths, n)
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


/* Returns 1 if a 403 response to a request with a Bearer token probably means
 * that the token lacks scopes. */
static int
mcp_auth_is_insufficient(const mcp_auth_t *auth, int status,
    mcp_str_t authorization)
{
    static const mcp_str_t  bearer = mcp_str("bearer ");

    return status == 403 && auth->scope.len && authorization.len > bearer.len
           && mcp_str_case_eq((mcp_str_t) { authorization.data, bearer.len },
                              bearer);
}


/* Appends a parameter to a challenge. */
static void
mcp_auth_param(mcp_http_challenge_t *has, mcp_str_t name, mcp_str_t value,
    mcp_buf_t *buf)
{
    mcp_buf_str(buf, has->params ? mcp_str(", ") : mcp_str(" "));
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, "=\"");
    mcp_buf_str(buf, value);
    mcp_buf_lit(buf, "\"");

    has->params = 1;
}


int
mcp_auth_challenge(const mcp_auth_t *auth, int status, mcp_str_t authorization,
    const mcp_str_t *values, size_t n, size_t *which, mcp_buf_t *buf)
{
    size_t                i, len;
    mcp_str_t             begin, rest;
    mcp_http_challenge_t  has;

    for (i = 0; i < n; i++) {
        if (mcp_http_bearer(values[i], &has) == MCP_OK) {
            break;
        }
    }

    *which = i;

    if (i == n) {
        memset(&has, 0, sizeof(mcp_http_challenge_t));
        begin = mcp_str("Bearer");
        rest = mcp_null_str;

    } else {
        begin = (mcp_str_t) { values[i].data, has.end };
        rest.data = values[i].data + has.end;
        rest.len = values[i].len - has.end;
    }

    mcp_buf_str(buf, begin);
    len = buf->len;

    if (!has.error && mcp_auth_is_insufficient(auth, status, authorization)) {
        mcp_auth_param(&has, mcp_str("error"), mcp_str("insufficient_scope"),
                       buf);
    }

    if (!has.metadata) {
        mcp_auth_param(&has, mcp_str("resource_metadata"), auth->url, buf);
    }

    if (!has.scope && auth->scope.len) {
        mcp_auth_param(&has, mcp_str("scope"), auth->scope, buf);
    }

    if (i < n && buf->len == len) {
        return buf->failed ? buf->failed : MCP_DONE;
    }

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
