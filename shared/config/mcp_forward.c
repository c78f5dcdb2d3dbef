/* SPDX-License-Identifier: Apache-2.0 */

#include "mcp_forward.h"
#include "config/mcp_endpoint_internal.h"

#include "mcp_variable.h"


const mcp_header_t  mcp_forward_headers[] = {

    { mcp_str("Content-Type"),
      mcp_str("application/json") },

    { mcp_str("Accept"),
      mcp_str("application/json, text/event-stream, application/x-ndjson") }
};

const size_t  mcp_forward_n_headers =
    sizeof(mcp_forward_headers) / sizeof(mcp_forward_headers[0]);


#define MCP_FORWARD_LENGTH  21
#define MCP_FORWARD_NAMES   3

typedef const char  *mcp_forward_names_t[MCP_FORWARD_NAMES];


/*
 * The headers that are not forwarded. The index is the length of the name.
 * Among names of the same length, the most frequent header is the first.
 *
 * mcp_forward_mimics() would also reject Mcp-Name, Mcp-Method and
 * MCP-Protocol-Version. They are in this table because the search in the table
 * is faster, and all clients of 2026-07-28 send these headers.
 */
static const mcp_forward_names_t  mcp_forward_skipped[MCP_FORWARD_LENGTH] = {
    [2] = { "te" },
    [4] = { "host" },
    [5] = { "range", "proxy" },
    [6] = { "accept", "expect" },
    [7] = { "trailer", "upgrade" },
    [8] = { "mcp-name", "if-match", "if-range" },
    [10] = { "connection", "mcp-method", "keep-alive" },
    [12] = { "content-type" },
    [13] = { "if-none-match", "last-event-id" },
    [14] = { "content-length", "mcp-session-id", "http2-settings" },
    [15] = { "accept-encoding" },
    [16] = { "content-encoding", "proxy-connection" },
    [17] = { "if-modified-since", "transfer-encoding" },
    [19] = { "if-unmodified-since" },
    [20] = { "mcp-protocol-version" }
};


/*
 * Returns 1 if the name of a header corresponds to the name of the backend
 * parameter "env", with "-" for "_" and in any case. For example,
 * "Mcp-Request-Id" corresponds to "MCP_REQUEST_ID".
 */
static int
mcp_forward_is_parameter(mcp_str_t name, mcp_str_t env)
{
    char    c;
    size_t  i;

    if (name.len != env.len) {
        return 0;
    }

    for (i = 0; i < name.len; i++) {
        c = env.data[i] == '_' ? '-' : (char) (env.data[i] | 0x20);

        if ((name.data[i] | 0x20) != c) {
            return 0;
        }
    }

    return 1;
}


/*
 * Returns 1 if a backend might mistake the header for a parameter of the call.
 * Servers and programs that derive variables from header names map
 * "Mcp_Principal" and "Mcp-Principal" to the same variable. No parameter's name
 * begins with "MCP_PARAM_", so headers that repeat arguments may contain "_".
 */
static int
mcp_forward_mimics(mcp_str_t name)
{
    size_t  i;

    static const mcp_str_t  param = mcp_str("mcp-param-");

    if (name.len <= 4 || (name.data[3] != '_' && name.data[3] != '-')
        || !mcp_case_eq(name.data, "mcp", 3))
    {
        return 0;
    }

    if (name.len > param.len
        && mcp_case_eq(name.data, param.data, param.len))
    {
        return 0;
    }

    if (memchr(name.data, '_', name.len) != NULL) {
        return 1;
    }

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        if (mcp_forward_is_parameter(name, mcp_variable_env[i])) {
            return 1;
        }
    }

    return 0;
}


/*
 * Returns 1 if the header or variable comes from a module of httpd that
 * verifies tokens, such as OIDC_access_token or OAUTH2_CLAIM_access_token.
 */
static int
mcp_forward_is_token(mcp_str_t name)
{
    size_t  n;

    static const mcp_str_t  end = mcp_str("_token");
    static const mcp_str_t  begins[] = { mcp_str("oidc_"), mcp_str("oauth2_") };

    if (name.len < end.len || (name.data[name.len - 1] | 0x20) != 'n'
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


/*
 * Returns 1 if a header, or a CGI variable without its "HTTP_", contains
 * credentials that the endpoint does not pass to backends. CGI converts "-" to
 * "_".
 */
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
    while (mcp_str_take(&name, mcp_str("REDIRECT_"))) { /* void */ }

    return mcp_str_take(&name, mcp_str("HTTP_"))
           ? mcp_forward_is_secret(endpoint, name)
           : !endpoint->pass_authorization && mcp_forward_is_token(name);
}


int
mcp_forward_skips(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    size_t              i;
    const char  *const *names;

    /* most headers of a usual request are not forwarded and are in the table,
     * so the table is searched before the other checks */

    if (name.len < MCP_FORWARD_LENGTH) {
        names = mcp_forward_skipped[name.len];

        for (i = 0; i < MCP_FORWARD_NAMES && names[i] != NULL; i++) {
            if ((name.data[0] | 0x20) == names[i][0]
                && mcp_case_eq(names[i], name.data, name.len))
            {
                return 1;
            }
        }
    }

    return mcp_forward_mimics(name) || mcp_forward_is_secret(endpoint, name);
}
