/* SPDX-License-Identifier: Apache-2.0 */

/* Early headers: determines the values of variables from the headers
 * Mcp-Method, Mcp-Name and Mcp-Param-* of a request whose body has not been
 * read yet. */


#include "config/mcp_catalog_header.h"
#include "config/mcp_endpoint_internal.h"
#include "http/mcp_mirrored_header.h"
#include "mcp_variable.h"
#include "mcp_early_header.h"
#include "rpc/mcp_method.h"
#include "rpc/mcp_revision.h"


#define mcp_early_header_prefix  mcp_str("mcp-param-")


/* A header whose value becomes a variable. */
typedef struct {
    mcp_str_t  header;         /* name of the header in lower case; for a
                                  parameter its name after "Mcp-Param-", as in
                                  the name of the variable: "_" stands for "-"
                                  or "_" */
    unsigned   param:1;
    unsigned   encoded:1;      /* 1: the value may have the form
                                  "=?base64?...?=" */
} mcp_early_header_header_t;


/*
 * Returns 1 if the endpoint serves the request's revision, and the revision
 * requires that servers compare headers with the body.
 */
static int
mcp_early_header_is_checked(const mcp_early_header_t *early)
{
    size_t           i;
    mcp_str_t        text;
    const mcp_str_t  name = mcp_str("mcp-protocol-version");
    mcp_revision_e   revision;

    text = mcp_null_str;

    for (i = 0; i < early->n_headers; i++) {
        if (!mcp_str_case_eq(early->headers[i].name, name)) {
            continue;
        }

        if (text.data
            || mcp_header_value_plain(early->headers[i].value, &text) != MCP_OK)
        {
            return 0;
        }
    }

    revision = mcp_revision_find(text);

    return mcp_revision(revision)->stateless
           && (early->endpoint->revisions & mcp_revision_bit(revision));
}


static int
mcp_early_header_begins(mcp_str_t name, mcp_str_t prefix)
{
    return name.len > prefix.len
           && mcp_str_case_eq((mcp_str_t) { name.data, prefix.len }, prefix);
}


static mcp_str_t
mcp_early_header_behind(mcp_str_t name, mcp_str_t prefix)
{
    return (mcp_str_t) { name.data + prefix.len, name.len - prefix.len };
}


static int
mcp_early_header_is(const mcp_early_header_header_t *header, mcp_str_t name)
{
    if (!header->param) {
        return mcp_str_case_eq(name, header->header);
    }

    if (!mcp_early_header_begins(name, mcp_early_header_prefix)) {
        return 0;
    }

    name = mcp_early_header_behind(name, mcp_early_header_prefix);

    return mcp_tool_param_alike(name, header->header);
}


static int
mcp_early_header_decode(const mcp_early_header_t *early,
    const mcp_early_header_header_t *header, mcp_str_t raw, mcp_str_t *value)
{
    int    rc;
    char  *space;

    rc = mcp_header_value_plain(raw, value);

    if (rc != MCP_OK || !header->encoded
        || !mcp_header_value_is_encoded(*value))
    {
        return rc;
    }

    space = early->mem->alloc(early->mem->ctx, value->len);

    return space ? mcp_header_value_decode_to(*value, space, value)
                 : MCP_ERR_MEMORY;
}


/*
 * Sets *value to the header's value, empty if the header is absent, invalid or
 * ambiguous, "?" if the value has control characters. A parameter's header may
 * have several lines if their values are equal; other headers must have one
 * line. Returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_early_header_value(const mcp_early_header_t *early,
    const mcp_early_header_header_t *header, mcp_str_t *value)
{
    int        rc;
    size_t     i;
    mcp_str_t  text;

    *value = mcp_null_str;

    for (i = 0; i < early->n_headers; i++) {
        if (!mcp_early_header_is(header, early->headers[i].name)) {
            continue;
        }

        rc = mcp_early_header_decode(early, header, early->headers[i].value,
                                     &text);

        if (rc == MCP_ERR_MEMORY) {
            return rc;
        }

        if (rc != MCP_OK
            || (value->data && (!header->param || !mcp_str_eq(text, *value))))
        {
            *value = mcp_null_str;
            return MCP_OK;
        }

        *value = text;
    }

    if (mcp_variable_has_control(*value)) {
        *value = mcp_str("?");
    }

    return MCP_OK;
}


/* Returns 1 if the request's Mcp-Method is a method whose Mcp-Name is the id of
 * a task. */
static int
mcp_early_header_is_task(const mcp_early_header_t *early)
{
    size_t           i;
    mcp_str_t        text;
    const mcp_str_t  name = mcp_str("mcp-method");

    for (i = 0; i < early->n_headers; i++) {
        if (mcp_str_case_eq(early->headers[i].name, name)
            && mcp_header_value_plain(early->headers[i].value, &text) == MCP_OK
            && mcp_method_find(text)->subject == MCP_SUBJECT_TASK)
        {
            return 1;
        }
    }

    return 0;
}


/* Sets *value to the value of a variable, empty if the request has none. The
 * caller has checked that the endpoint compares the request's headers with the
 * body. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_early_header_find(const mcp_early_header_t *early, mcp_str_t variable,
    mcp_str_t *value)
{
    mcp_early_header_header_t  header;

    *value = mcp_null_str;
    header.param = 0;
    header.encoded = 1;

    if (mcp_str_eq(variable, mcp_early_header_method)) {
        header.header = mcp_str("mcp-method");
        header.encoded = 0;

    } else if (mcp_str_eq(variable, mcp_early_header_name)) {

        if (mcp_early_header_is_task(early)) {
            return MCP_OK;
        }

        header.header = mcp_str("mcp-name");

    } else if (mcp_early_header_begins(variable, mcp_early_header_param)) {
        header.header =
            mcp_early_header_behind(variable, mcp_early_header_param);
        header.param = 1;

    } else {
        return MCP_OK;
    }

    return mcp_early_header_value(early, &header, value);
}


int
mcp_early_header(const mcp_early_header_t *early, mcp_str_t variable,
    mcp_str_t *value)
{
    if (!mcp_early_header_is_checked(early)) {
        *value = mcp_null_str;
        return MCP_OK;
    }

    return mcp_early_header_find(early, variable, value);
}


/* Sets *variable to the name of the variable for the header "Mcp-Param-...", in
 * allocated memory. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_early_header_variable(const mcp_early_header_t *early, mcp_str_t header,
    mcp_str_t *variable)
{
    char    *p;
    size_t   i;

    header = mcp_early_header_behind(header, mcp_early_header_prefix);

    p = early->mem->alloc(early->mem->ctx,
                          mcp_early_header_param.len + header.len);
    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    *variable = (mcp_str_t) { p, mcp_early_header_param.len + header.len };

    memcpy(p, mcp_early_header_param.data, mcp_early_header_param.len);
    p += mcp_early_header_param.len;

    for (i = 0; i < header.len; i++) {
        p[i] = mcp_tool_param_char(header.data[i]);
    }

    return MCP_OK;
}


int
mcp_early_header_next(const mcp_early_header_t *early, size_t *at,
    mcp_str_t *variable, mcp_str_t *value)
{
    int        rc;
    size_t     i;
    mcp_str_t  name;

    if (*at == 0 && !mcp_early_header_is_checked(early)) {
        return MCP_DONE;
    }

    while (*at < early->n_headers + 2) {
        i = (*at)++;
        *variable = i == 0 ? mcp_early_header_method : mcp_early_header_name;

        if (i >= 2) {
            name = early->headers[i - 2].name;

            if (!mcp_early_header_begins(name, mcp_early_header_prefix)) {
                continue;
            }

            rc = mcp_early_header_variable(early, name, variable);
            if (rc != MCP_OK) {
                return rc;
            }
        }

        rc = mcp_early_header_find(early, *variable, value);

        if (rc != MCP_OK || value->len > 0) {
            return rc;
        }
    }

    return MCP_DONE;
}
