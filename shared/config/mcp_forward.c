/* SPDX-License-Identifier: Apache-2.0 */

#include "mcp_forward.h"


const mcp_header_t  mcp_forward_headers[] = {

    { mcp_str("Content-Type"),
      mcp_str("application/json") },

    { mcp_str("Accept"),
      mcp_str("application/json, text/event-stream, application/x-ndjson") }
};

const size_t  mcp_forward_n_headers =
    sizeof(mcp_forward_headers) / sizeof(mcp_forward_headers[0]);


/* By length, as that is compared first. */
static const mcp_str_t  mcp_forward_skipped[] = {
    mcp_str("te"),
    mcp_str("host"),
    mcp_str("range"),
    mcp_str("accept"),
    mcp_str("expect"),
    mcp_str("trailer"),
    mcp_str("upgrade"),
    mcp_str("if-match"),
    mcp_str("if-range"),
    mcp_str("connection"),
    mcp_str("keep-alive"),
    mcp_str("content-type"),
    mcp_str("if-none-match"),
    mcp_str("last-event-id"),
    mcp_str("http2-settings"),
    mcp_str("content-length"),
    mcp_str("mcp-session-id"),
    mcp_str("accept-encoding"),
    mcp_str("content-encoding"),
    mcp_str("proxy-connection"),
    mcp_str("if-modified-since"),
    mcp_str("transfer-encoding"),
    mcp_str("if-unmodified-since")
};

#define MCP_FORWARD_SKIPPED                                                    \
    (sizeof(mcp_forward_skipped) / sizeof(mcp_forward_skipped[0]))


/* Where variables are made of header names, "Mcp_Principal" becomes the same
 * one as our own "Mcp-Principal". */
static int
mcp_forward_mimics(mcp_str_t name)
{
    return name.len > 4 && memchr(name.data, '_', name.len) != NULL
           && mcp_str_case_eq((mcp_str_t) { name.data, 3 }, mcp_str("mcp"))
           && (name.data[3] == '_' || name.data[3] == '-');
}


/* Modules of httpd that check tokens hand them on, as headers and variables:
 * OIDC_access_token, OAUTH2_CLAIM_access_token. */
static int
mcp_forward_is_token(mcp_str_t name)
{
    size_t  n;

    static const mcp_str_t  end = mcp_str("_token");
    static const mcp_str_t  begins[] = { mcp_str("oidc_"), mcp_str("oauth2_") };

    if (name.len < end.len
        || !mcp_str_case_eq((mcp_str_t) { name.data + name.len - end.len,
                                          end.len }, end))
    {
        return 0;
    }

    for (n = 0; n < sizeof(begins) / sizeof(begins[0]); n++) {
        if (name.len > begins[n].len
            && mcp_str_case_eq((mcp_str_t) { name.data, begins[n].len },
                               begins[n]))
        {
            return 1;
        }
    }

    return 0;
}


/* In CGI's form of a name "_" stands for "-". */
static int
mcp_forward_is_secret(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    return (!endpoint->pass_authorization
            && (mcp_str_case_eq(name, mcp_str("authorization"))
                || mcp_str_case_eq(name, mcp_str("proxy-authorization"))
                || mcp_str_case_eq(name, mcp_str("proxy_authorization"))
                || mcp_forward_is_token(name)))
           || (!endpoint->pass_cookie
               && mcp_str_case_eq(name, mcp_str("cookie")));
}


int
mcp_forward_skips_variable(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    static const mcp_str_t  http = mcp_str("HTTP_");
    static const mcp_str_t  redirect = mcp_str("REDIRECT_");

    while (name.len > redirect.len
           && memcmp(name.data, redirect.data, redirect.len) == 0)
    {
        name.data += redirect.len;
        name.len -= redirect.len;
    }

    if (name.len <= http.len || memcmp(name.data, http.data, http.len) != 0) {
        return !endpoint->pass_authorization && mcp_forward_is_token(name);
    }

    name.data += http.len;
    name.len -= http.len;

    return mcp_forward_is_secret(endpoint, name);
}


int
mcp_forward_skips(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    size_t  i;

    if (mcp_forward_mimics(name) || mcp_forward_is_secret(endpoint, name)) {
        return 1;
    }

    for (i = 0; i < MCP_FORWARD_SKIPPED; i++) {
        if (mcp_forward_skipped[i].len < name.len) {
            continue;
        }

        if (mcp_forward_skipped[i].len > name.len) {
            break;
        }

        if (mcp_str_case_eq(mcp_forward_skipped[i], name)) {
            return 1;
        }
    }

    return 0;
}
