/* SPDX-License-Identifier: Apache-2.0 */


#include "json/mcp_json_scan.h"
#include "rpc/mcp_client.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_revision.h"
#include "rpc/mcp_upstream_body.h"


/* --- bodies --- */

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


/* --- the description of an MCP server --- */

static unsigned
mcp_upstream_about_has(const mcp_json_value_t *capabilities, mcp_str_t name)
{
    return mcp_json_get(capabilities, name).type == MCP_JSON_OBJECT;
}


mcp_str_t
mcp_upstream_about_info(const mcp_json_value_t *result)
{
    mcp_json_value_t  info, meta;

    info = mcp_json_get(result, mcp_str("serverInfo"));

    if (info.type != MCP_JSON_OBJECT) {
        meta = mcp_json_get(result, mcp_str("_meta"));
        info = mcp_json_get(&meta,
                            mcp_str("io.modelcontextprotocol/serverInfo"));
    }

    return info.type == MCP_JSON_OBJECT ? info.raw : mcp_null_str;
}


mcp_str_t
mcp_upstream_about_version(const mcp_json_value_t *result)
{
    mcp_str_t       raw;
    mcp_revision_e  revision;

    raw = mcp_json_get(result, mcp_str("protocolVersion")).raw;

    if (raw.len < 2) {
        return mcp_null_str;
    }

    raw.data++;
    raw.len -= 2;

    revision = mcp_revision_find(raw);

    return revision == MCP_REVISION_NONE || mcp_revision(revision)->stateless
           ? mcp_null_str : mcp_revision(revision)->name;
}


mcp_str_t
mcp_upstream_latest(void)
{
    return mcp_revision(mcp_revision_latest(MCP_REVISION_ALL, 1))->name;
}


int
mcp_upstream_about_is_modern(mcp_str_t result)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  value, version;

    value = mcp_json_get_from(result, mcp_str("supportedVersions"));
    mcp_json_iter_type(&iter, &value, MCP_JSON_ARRAY);

    while (mcp_json_iter_next(&iter, NULL, &version)) {
        if (version.type == MCP_JSON_STRING
            && mcp_json_str_eq(version.raw, mcp_upstream_latest()))
        {
            return 1;
        }
    }

    return 0;
}


int
mcp_upstream_about_set(mcp_upstream_about_t *about, const mcp_mem_t *mem,
    mcp_str_t result, uint64_t now)
{
    mcp_str_t         info;
    mcp_buf_t         text, members;
    mcp_json_value_t  value, capabilities, instructions;

    value = (mcp_json_value_t) { MCP_JSON_OBJECT, result };

    if (mcp_json_get(&value, mcp_str("capabilities")).type != MCP_JSON_OBJECT) {
        return MCP_ERR_SYNTAX;
    }

    mcp_buf_init(&text, mem, SIZE_MAX / 2);
    mcp_buf_init(&members, mem, SIZE_MAX / 2);
    mcp_buf_str(&text, result);

    value.raw = mcp_buf_text(&text);
    info = text.failed ? mcp_null_str : mcp_upstream_about_info(&value);

    if (info.len) {
        mcp_result_members(&members, info);
    }

    if (text.failed || members.failed) {
        mcp_buf_free(&text);
        mcp_buf_free(&members);
        return MCP_ERR_MEMORY;
    }

    mcp_upstream_about_drop(about);

    capabilities = mcp_json_get(&value, mcp_str("capabilities"));
    instructions = mcp_json_get(&value, mcp_str("instructions"));

    about->text = text;
    about->members = members;
    about->at = now ? now : 1;
    about->version = mcp_upstream_about_version(&value);
    about->server_info = info;
    about->instructions = instructions.type == MCP_JSON_STRING
                          ? instructions.raw : mcp_null_str;
    about->tools = mcp_upstream_about_has(&capabilities, mcp_str("tools")) & 1;
    about->prompts = mcp_upstream_about_has(&capabilities,
                                            mcp_str("prompts")) & 1;
    about->resources = mcp_upstream_about_has(&capabilities,
                                              mcp_str("resources")) & 1;
    about->completions = mcp_upstream_about_has(&capabilities,
                                                mcp_str("completions")) & 1;

    return MCP_OK;
}


void
mcp_upstream_about_drop(mcp_upstream_about_t *about)
{
    if (about->at) {
        mcp_buf_free(&about->text);
        mcp_buf_free(&about->members);
        about->at = 0;
    }
}
