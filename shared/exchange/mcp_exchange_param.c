/* SPDX-License-Identifier: Apache-2.0 */

/* Mcp-Param-* headers: selects those to store, and checks whether they agree
 * with the body. */

#include "config/mcp_catalog.h"
#include "exchange/mcp_exchange_param.h"
#include "http/mcp_header_value.h"


#define mcp_exchange_param_prefix  mcp_str("Mcp-Param-")


/* Returns the part of a header's name after "Mcp-Param-"; its data is NULL if
 * the name has another beginning. */
static mcp_str_t
mcp_exchange_param_name(mcp_str_t name)
{
    mcp_str_t  prefix;

    prefix = mcp_exchange_param_prefix;

    /* few other names have hyphens at both positions */

    if (name.len <= prefix.len || name.data[3] != '-' || name.data[9] != '-'
        || !mcp_str_case_eq((mcp_str_t) { name.data, prefix.len }, prefix))
    {
        return mcp_null_str;
    }

    return (mcp_str_t) { name.data + prefix.len, name.len - prefix.len };
}


int
mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head)
{
    size_t         i, n, size;
    mcp_str_t      name;
    mcp_header_t  *params;

    n = 0;
    size = 0;

    for (i = 0; i < head->n_headers; i++) {
        if (mcp_exchange_param_name(head->headers[i].name).data) {
            n++;
            size += head->headers[i].name.len + head->headers[i].value.len;
        }
    }

    if (n == 0) {
        return MCP_OK;
    }

    if (n > MCP_CATALOG_HEADERS_MAX || size > MCP_EXCHANGE_PARAMS_SIZE) {
        x->head.too_many_params = 1;
        return MCP_OK;
    }

    params = mcp_arena_alloc(&x->arena, n * sizeof(mcp_header_t));
    if (params == NULL) {
        return MCP_ERR_MEMORY;
    }

    x->head.params = params;
    x->head.n_params = n;

    for (i = 0; i < head->n_headers; i++) {
        name = mcp_exchange_param_name(head->headers[i].name);

        if (name.data) {
            params->name = name;
            params->value = head->headers[i].value;
            params++;
        }
    }

    return MCP_OK;
}


/* The arguments of a call that headers of the tool repeat, by the index of the
 * header. */
typedef struct {
    const mcp_catalog_header_t  *headers;
    mcp_json_value_t             values[MCP_CATALOG_HEADERS_MAX];
    uint64_t                     ambiguous;    /* a bit for each header whose
                                                  argument parsers may read
                                                  differently */
} mcp_exchange_mirror_t;

_Static_assert(MCP_CATALOG_HEADERS_MAX <= 64, "one bit for each header");


/* The names that the paths of some headers have at index "level", so that a key
 * is compared with few names. */
typedef struct {
    size_t    level;
    uint64_t  headers[64];             /* a bit for each header, at the index
                                          that is the last six bits of the
                                          name's hash */
} mcp_exchange_mirror_names_t;


static void
mcp_exchange_mirror_names(const mcp_exchange_mirror_t *m, uint64_t headers,
    size_t level, mcp_exchange_mirror_names_t *names)
{
    size_t     i;
    mcp_str_t  name;

    memset(names, 0, sizeof(*names));
    names->level = level;

    for ( ; headers != 0; headers &= headers - 1) {
        i = (size_t) __builtin_ctzll(headers);
        name = m->headers[i].path[level];
        names->headers[mcp_json_hash_name(name) % 64] |= headers & -headers;
    }
}


/* Returns the headers, a bit for each header, whose name is this key. If a key
 * equals a name only for some parsers (mcp_json_alike()), the header is
 * ambiguous. */
static uint64_t
mcp_exchange_mirror_key(mcp_exchange_mirror_t *m,
    const mcp_exchange_mirror_names_t *names, mcp_str_t key)
{
    size_t     i;
    uint64_t   left, found;
    mcp_str_t  name;

    found = 0;
    left = names->headers[mcp_json_hash_key(key) % 64] & ~m->ambiguous;

    for ( ; left != 0; left &= left - 1) {
        i = (size_t) __builtin_ctzll(left);
        name = m->headers[i].path[names->level];

        if (mcp_json_str_eq(key, name)) {
            found |= left & -left;

        } else if (mcp_json_alike(key, name)) {
            m->ambiguous |= left & -left;
        }
    }

    return found;
}


/* Reads the members of an object, at depth "level" of the arguments, once for
 * all headers whose paths lead through it. The recursion is as deep as the
 * longest path of the catalog. No object is read a second time for a header,
 * because a header that is ambiguous needs no value. */
static void
mcp_exchange_mirror_read(mcp_exchange_mirror_t *m, uint64_t headers,
    size_t level, const mcp_json_value_t *object)
{
    size_t                       i;
    uint64_t                     found, seen, inner;
    mcp_str_t                    key;
    mcp_json_iter_t              iter;
    mcp_json_value_t             value;
    mcp_exchange_mirror_names_t  names;

    seen = 0;
    mcp_exchange_mirror_names(m, headers, level, &names);
    mcp_json_iter_init(&iter, object->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        found = mcp_exchange_mirror_key(m, &names, key);
        m->ambiguous |= found & seen;
        found &= ~seen;
        seen |= found;
        inner = 0;

        for ( ; found != 0; found &= found - 1) {
            i = (size_t) __builtin_ctzll(found);

            if (m->headers[i].depth == level + 1) {
                m->values[i] = value;

            } else {
                inner |= found & -found;
            }
        }

        /* the header is ambiguous if an array is in the place of an object: a
         * lenient backend may read the members of the array's elements as
         * members of the object */

        if (inner != 0 && value.type == MCP_JSON_OBJECT) {
            mcp_exchange_mirror_read(m, inner, level + 1, &value);

        } else if (inner != 0 && value.type == MCP_JSON_ARRAY) {
            m->ambiguous |= inner;
        }
    }
}


/* Returns 1 if an argument has the type of its property, or is null or absent.
 * A value of another type cannot be written to a header, so that a rule of the
 * operator about the header would not apply to it. */
static int
mcp_exchange_mirror_fits(mcp_catalog_type_e type,
    const mcp_json_value_t *value)
{
    switch (value->type) {

    case MCP_JSON_NONE:
    case MCP_JSON_NULL:
        return 1;

    case MCP_JSON_STRING:
        return type == MCP_CATALOG_STRING;

    case MCP_JSON_BOOL:
        return type == MCP_CATALOG_BOOLEAN;

    case MCP_JSON_NUMBER:
        return type == MCP_CATALOG_INTEGER
               && mcp_header_value_is_integer(value->raw);

    default:
        return 0;
    }
}


/* Compares all lines of a header with the argument in the body. Returns
 * MCP_OK, MCP_ERR_SYNTAX if they differ, or MCP_ERR_MEMORY. */
static int
mcp_exchange_param_compare(mcp_exchange_t *x,
    const mcp_catalog_header_t *header, const mcp_json_value_t *value)
{
    int                  rc;
    size_t               i, lines;
    mcp_str_t            text;
    const mcp_header_t  *param;

    rc = mcp_exchange_mirror_fits(header->type, value) ? MCP_OK
                                                       : MCP_ERR_SYNTAX;
    lines = 0;

    for (i = 0; rc == MCP_OK && i < x->head.n_params; i++) {
        param = &x->head.params[i];

        if (!mcp_str_case_eq(param->name, header->name)) {
            continue;
        }

        lines++;
        rc = mcp_header_value_decode(&x->arena, param->value, &text);

        if (rc == MCP_OK && !mcp_header_value_is(text, value)) {
            rc = MCP_ERR_SYNTAX;
        }
    }

    if (rc == MCP_OK && lines == 0 && value->type != MCP_JSON_NONE
        && value->type != MCP_JSON_NULL)
    {
        return MCP_ERR_SYNTAX;
    }

    return rc;
}


/* Sets *detail to the name of the header, spelled as in the catalog. Returns
 * MCP_ERR_SYNTAX or MCP_ERR_MEMORY. */
static int
mcp_exchange_param_refuse(mcp_exchange_t *x, mcp_str_t name,
    mcp_str_t *detail)
{
    char       *text;
    mcp_str_t   prefix;

    prefix = mcp_exchange_param_prefix;

    text = mcp_arena_alloc(&x->arena, prefix.len + name.len);
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(text, prefix.data, prefix.len);
    memcpy(text + prefix.len, name.data, name.len);

    *detail = (mcp_str_t) { text, prefix.len + name.len };

    return MCP_ERR_SYNTAX;
}


int
mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail)
{
    int                          rc;
    size_t                       i, n;
    mcp_exchange_mirror_t        m;
    const mcp_catalog_header_t  *headers;

    if (x->endpoint->catalog == NULL) {
        return MCP_OK;
    }

    headers = mcp_catalog_headers(x->endpoint->catalog, tool, &n);

    if (n == 0) {
        return MCP_OK;
    }

    if (x->head.too_many_params) {
        *detail = mcp_str("too many Mcp-Param headers");
        return MCP_ERR_SYNTAX;
    }

    memset(&m, 0, sizeof(m));
    m.headers = headers;

    if (arguments->type == MCP_JSON_OBJECT) {
        mcp_exchange_mirror_read(&m, UINT64_MAX >> (64 - n), 0, arguments);
    }

    for (i = 0; i < n; i++) {
        rc = m.ambiguous >> i & 1
             ? MCP_ERR_SYNTAX
             : mcp_exchange_param_compare(x, &headers[i], &m.values[i]);

        if (rc == MCP_ERR_SYNTAX) {
            return mcp_exchange_param_refuse(x, headers[i].name, detail);
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}
