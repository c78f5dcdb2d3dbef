/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_upstream_body.h"

#include "rpc/mcp_client.h"


#define MCP_UPSTREAM_RESERVED  "io.modelcontextprotocol/"


const mcp_str_t  mcp_upstream_discover = mcp_str(
    "{\"jsonrpc\":\"2.0\",\"id\":" MCP_UPSTREAM_ID ","
    "\"method\":\"server/discover\","
    "\"params\":{\"_meta\":{"
    "\"" MCP_UPSTREAM_RESERVED "protocolVersion\":\"2026-07-28\","
    "\"" MCP_UPSTREAM_RESERVED "clientCapabilities\":{},"
    "\"" MCP_UPSTREAM_RESERVED "clientInfo\":" MCP_UPSTREAM_CLIENT_INFO "}}}");

/* declares no capabilities, so that the server asks no questions */
const mcp_str_t  mcp_upstream_initialize = mcp_str(
    MCP_UPSTREAM_INITIALIZE "{}" MCP_UPSTREAM_INITIALIZE_END);

const mcp_str_t  mcp_upstream_initialized = mcp_str(
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");


/* Returns 0 if a raw key, after unescaping, begins with MCP_UPSTREAM_RESERVED,
 * in upper or lower case, because some programs ignore the case of keys.
 * Otherwise returns 1. */
static int
mcp_upstream_is_free(mcp_buf_t *out, mcp_str_t key)
{
    char         c, *text;
    size_t       i;

    text = mcp_buf_reserve(out, key.len);

    if (text == NULL || mcp_json_decode(text, key)
                        < sizeof(MCP_UPSTREAM_RESERVED) - 1)
    {
        return 1;
    }

    for (i = 0; i < sizeof(MCP_UPSTREAM_RESERVED) - 1; i++) {
        c = text[i];

        if (c >= 'A' && c <= 'Z') {
            c = (char) (c + ('a' - 'A'));
        }

        if (c != MCP_UPSTREAM_RESERVED[i]) {
            return 1;
        }
    }

    return 0;
}


/* Returns 0 for a member of params that only revision 2026-07-28 has. */
static int
mcp_upstream_is_older(mcp_buf_t *out, mcp_str_t key)
{
    (void) out;

    return !mcp_json_str_eq(key, mcp_str("inputResponses"))
           && !mcp_json_str_eq(key, mcp_str("requestState"));
}


/* mcp_upstream_copy_before() copies the bytes of body before "value", a slice
 * of body. mcp_upstream_copy_after() copies the bytes after it. */
static void
mcp_upstream_copy_before(mcp_buf_t *out, mcp_str_t body, mcp_str_t value)
{
    mcp_buf_add(out, body.data, (size_t) (value.data - body.data));
}


static void
mcp_upstream_copy_after(mcp_buf_t *out, mcp_str_t body, mcp_str_t value)
{
    const char  *end;

    end = value.data + value.len;
    mcp_buf_add(out, end, (size_t) (body.data + body.len - end));
}


/* Returns a member of a request; its type is MCP_JSON_NONE if it is absent. */
static mcp_json_value_t
mcp_upstream_member(mcp_str_t body, mcp_str_t name)
{
    while (body.len && body.data[0] != '{') {
        body.data++;
        body.len--;
    }

    return mcp_json_get_from(body, name);
}


static mcp_json_value_t
mcp_upstream_params(mcp_str_t body)
{
    return mcp_upstream_member(body, mcp_str("params"));
}


/* Returns an empty slice of body, directly before the brace that ends the
 * request. */
static mcp_str_t
mcp_upstream_end(mcp_str_t body)
{
    while (body.len && body.data[body.len - 1] != '}') {
        body.len--;
    }

    return (mcp_str_t) { body.data + body.len - 1, 0 };
}


static void
mcp_upstream_write_meta(mcp_buf_t *out, const mcp_json_value_t *old,
    const mcp_upstream_meta_t *meta)
{
    mcp_buf_lit(out, "{");
    mcp_json_add_members(out, old, mcp_null_str, mcp_upstream_is_free);
    mcp_json_add_key(out, mcp_str("\"" MCP_UPSTREAM_RESERVED
                                  "protocolVersion\""));
    mcp_buf_lit(out, "\"2026-07-28\",\"" MCP_UPSTREAM_RESERVED
                     "clientCapabilities\":");
    mcp_buf_str(out, meta->capabilities);
    mcp_buf_lit(out, ",\"" MCP_UPSTREAM_RESERVED "clientInfo\":");
    mcp_buf_str(out, meta->client_info);

    if (meta->log_level.len) {
        mcp_buf_lit(out, ",\"" MCP_UPSTREAM_RESERVED "logLevel\":");
        mcp_buf_str(out, meta->log_level);
    }

    mcp_buf_lit(out, "}");
}


void
mcp_upstream_add_meta(mcp_buf_t *out, mcp_str_t body,
    const mcp_upstream_meta_t *meta)
{
    mcp_str_t         place;
    mcp_json_value_t  params, old;

    params = mcp_upstream_params(body);

    if (params.type != MCP_JSON_NONE) {
        place = params.raw;
        mcp_upstream_copy_before(out, body, place);

    } else {

        /* params is inserted in front of the brace that ends the request; other
         * members precede it */

        place = mcp_upstream_end(body);
        mcp_upstream_copy_before(out, body, place);
        mcp_buf_lit(out, ",\"params\":");
    }

    mcp_buf_lit(out, "{");
    old = mcp_json_add_members(out, &params, mcp_str("_meta"), NULL);
    mcp_json_add_key(out, mcp_str("\"_meta\""));
    mcp_upstream_write_meta(out, &old, meta);
    mcp_buf_lit(out, "}");
    mcp_upstream_copy_after(out, body, place);
}


int
mcp_upstream_remove_tasks(mcp_buf_t *out, mcp_str_t body)
{
    mcp_json_value_t  params, meta, capabilities, extensions, tasks;

    params = mcp_upstream_params(body);
    meta = mcp_json_get(&params, mcp_str("_meta"));
    capabilities = mcp_json_get(&meta, mcp_str(MCP_UPSTREAM_RESERVED
                                               "clientCapabilities"));
    extensions = mcp_json_get(&capabilities, mcp_str("extensions"));
    tasks = mcp_json_get(&extensions, mcp_str(MCP_CLIENT_TASKS_NAME));

    if (tasks.type == MCP_JSON_NONE) {
        return 0;
    }

    mcp_upstream_copy_before(out, body, extensions.raw);
    mcp_buf_lit(out, "{");
    mcp_json_add_members(out, &extensions, mcp_str(MCP_CLIENT_TASKS_NAME),
                         NULL);
    mcp_buf_lit(out, "}");
    mcp_upstream_copy_after(out, body, extensions.raw);

    return 1;
}


/* Returns 1 if the object has a member that keep() rejects. */
static int
mcp_upstream_has(mcp_buf_t *out, const mcp_json_value_t *object,
    mcp_json_keep_pt keep)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_type(&iter, object, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!keep(out, key)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_upstream_remove_meta(mcp_buf_t *out, mcp_str_t body)
{
    mcp_json_value_t  params, meta;

    params = mcp_upstream_params(body);
    meta = mcp_json_get(&params, mcp_str("_meta"));

    if (!mcp_upstream_has(out, &params, mcp_upstream_is_older)
        && !mcp_upstream_has(out, &meta, mcp_upstream_is_free))
    {
        return 0;
    }

    mcp_upstream_copy_before(out, body, params.raw);
    mcp_buf_lit(out, "{");
    mcp_json_add_members(out, &params, mcp_str("_meta"), mcp_upstream_is_older);

    if (meta.type == MCP_JSON_OBJECT) {
        mcp_json_add_key(out, mcp_str("\"_meta\""));
        mcp_buf_lit(out, "{");
        mcp_json_add_members(out, &meta, mcp_null_str, mcp_upstream_is_free);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
    mcp_upstream_copy_after(out, body, params.raw);

    return 1;
}


void
mcp_upstream_set_id(mcp_buf_t *out, mcp_str_t body, mcp_str_t id)
{
    mcp_json_value_t  old;

    old = mcp_upstream_member(body, mcp_str("id"));

    mcp_upstream_copy_before(out, body, old.raw);
    mcp_buf_str(out, id);
    mcp_upstream_copy_after(out, body, old.raw);
}
