/* SPDX-License-Identifier: Apache-2.0 */

#include "config/mcp_param_header_write.h"

#include "http/mcp_mirrored_header.h"


/* A hash table of the names at index "level" of the paths of some headers. A
 * path consists of the property names that lead to an argument. By the table, a
 * key in the arguments is compared only with the few names that have the same
 * hash. */
typedef struct {
    size_t    level;
    uint64_t  headers[64];             /* a bit for each header; the index is
                                          the hash of the header's name at this
                                          level, modulo 64 */
} mcp_tool_params_names_t;


static void
mcp_tool_params_names(const mcp_tool_params_t *p, uint64_t headers,
    size_t level, mcp_tool_params_names_t *names)
{
    size_t     i;
    mcp_str_t  name;

    memset(names, 0, sizeof(*names));
    names->level = level;

    for ( ; headers != 0; headers &= headers - 1) {
        i = (size_t) __builtin_ctzll(headers);
        name = p->headers[i].path[level];
        names->headers[mcp_json_hash_name(name) % 64] |= headers & -headers;
    }
}


/*
 * Compares a key in the arguments with the names at index names->level of the
 * headers' paths. Returns a bit for each header whose name is equal to the key.
 * If only some JSON parsers consider the name and the key equal
 * (mcp_json_alike()), sets the header's bit in p->ambiguous instead.
 */
static uint64_t
mcp_tool_params_key(mcp_tool_params_t *p,
    const mcp_tool_params_names_t *names, mcp_str_t key)
{
    size_t     i;
    uint64_t   left, found;
    mcp_str_t  name;

    found = 0;
    left = names->headers[mcp_json_hash_key(key) % 64] & ~p->ambiguous;

    for ( ; left != 0; left &= left - 1) {
        i = (size_t) __builtin_ctzll(left);
        name = p->headers[i].path[names->level];

        if (mcp_json_str_eq(key, name)) {
            found |= left & -left;

        } else if (mcp_json_alike(key, name)) {
            p->ambiguous |= left & -left;
        }
    }

    return found;
}


/* Reads the members of an object in the arguments, for all headers in the bits
 * "headers" at once. The paths of these headers lead through the object, which
 * is "level" objects below the arguments. The recursion ends at the length of
 * the longest path. Sets the bit of a header in p->ambiguous if two members may
 * be its argument, and does not read the second one. */
static void
mcp_tool_params_members(mcp_tool_params_t *p, uint64_t headers,
    size_t level, const mcp_json_value_t *object)
{
    size_t                   i;
    uint64_t                 found, seen, inner;
    mcp_str_t                key;
    mcp_json_iter_t          iter;
    mcp_json_value_t         value;
    mcp_tool_params_names_t  names;

    seen = 0;
    mcp_tool_params_names(p, headers, level, &names);
    mcp_json_iter_init(&iter, object->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        found = mcp_tool_params_key(p, &names, key);
        p->ambiguous |= found & seen;
        found &= ~seen;
        seen |= found;
        inner = 0;

        for ( ; found != 0; found &= found - 1) {
            i = (size_t) __builtin_ctzll(found);

            if (p->headers[i].depth == level + 1) {
                p->values[i] = value;

            } else {
                inner |= found & -found;
            }
        }

        /* the header is ambiguous if an array is in the place of an object: a
         * lenient backend may read the members of the array's elements as
         * members of the object */

        if (inner != 0 && value.type == MCP_JSON_OBJECT) {
            mcp_tool_params_members(p, inner, level + 1, &value);

        } else if (inner != 0 && value.type == MCP_JSON_ARRAY) {
            p->ambiguous |= inner;
        }
    }
}


void
mcp_tool_params_read(mcp_tool_params_t *params,
    const mcp_catalog_header_t *headers, size_t n,
    const mcp_json_value_t *arguments)
{
    memset(params, 0, sizeof(mcp_tool_params_t));

    params->headers = headers;
    params->n = n;

    if (arguments->type == MCP_JSON_OBJECT) {
        mcp_tool_params_members(params, UINT64_MAX >> (64 - n), 0, arguments);
    }
}


int
mcp_tool_param_name(mcp_arena_t *arena, const mcp_catalog_header_t *header,
    mcp_str_t *out)
{
    char       *text;
    mcp_str_t   prefix;

    prefix = mcp_tool_param_prefix;

    text = mcp_arena_alloc(arena, prefix.len + header->name.len);
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(text, prefix.data, prefix.len);
    memcpy(text + prefix.len, header->name.data, header->name.len);

    *out = (mcp_str_t) { text, prefix.len + header->name.len };

    return MCP_OK;
}


/* Sets *value to the value of a header that repeats the argument. Returns
 * MCP_ERR_LIMIT if the argument is a string of more than MCP_TOOL_PARAMS_SIZE
 * bytes, otherwise the same values as mcp_header_value_write(). */
static int
mcp_tool_params_value(mcp_arena_t *arena, const mcp_json_value_t *argument,
    mcp_str_t *value)
{
    return argument->type == MCP_JSON_STRING
           && argument->raw.len > MCP_TOOL_PARAMS_SIZE
           ? MCP_ERR_LIMIT : mcp_header_value_write(arena, argument, value);
}


/* Writes the Mcp-Param-* headers into the array "out", which must have room for
 * all headers, and sets *n to their number. Returns the same values as
 * mcp_tool_params_write(). */
static int
mcp_tool_params_add(const mcp_tool_params_t *params, mcp_arena_t *arena,
    mcp_header_t *out, size_t *n)
{
    int           rc;
    size_t        i, size;
    unsigned      ambiguous;
    mcp_header_t  header;

    *n = 0;
    size = 0;

    for (i = 0; i < params->n; i++) {
        ambiguous = params->ambiguous >> i & 1;
        header.value = mcp_null_str;
        rc = ambiguous ? MCP_OK
             : mcp_tool_params_value(arena, &params->values[i],
                                     &header.value);

        if (rc == MCP_DONE) {
            continue;
        }

        if (rc == MCP_OK) {
            rc = mcp_tool_param_name(arena, &params->headers[i],
                                     &header.name);
        }

        if (rc != MCP_OK) {
            return rc;
        }

        if (ambiguous) {
            out[0] = header;
            *n = 1;
            return MCP_ERR_SYNTAX;
        }

        size += header.name.len + header.value.len;

        if (size > MCP_TOOL_PARAMS_SIZE) {
            return MCP_ERR_LIMIT;
        }

        out[(*n)++] = header;
    }

    return MCP_OK;
}


int
mcp_tool_params_write(const mcp_tool_params_t *params, mcp_arena_t *arena,
    const mcp_header_t **out, size_t *n)
{
    mcp_header_t  *headers;

    headers = mcp_arena_alloc(arena, params->n * sizeof(mcp_header_t));
    if (headers == NULL) {
        return MCP_ERR_MEMORY;
    }

    *out = headers;

    return mcp_tool_params_add(params, arena, headers, n);
}
