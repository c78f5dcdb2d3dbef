/* SPDX-License-Identifier: Apache-2.0 */


#include "json/mcp_json_scan.h"
#include "rpc/mcp_result.h"


/* --- members that a revision requires --- */

#define MCP_RESULT_SERVER_INFO  "\"io.modelcontextprotocol/serverInfo\":"

#define MCP_RESULT_TYPE         "\"resultType\":\"complete\""
#define MCP_RESULT_META         ",\"_meta\":{" MCP_RESULT_SERVER_INFO


/* Bits of the members that the result of a backend has, so that they need not
 * be added. MCP_RESULT_IS_INTERIM is not a member but a kind of result. */
enum {
    MCP_RESULT_HAS_TYPE = 0x01,
    MCP_RESULT_HAS_TTL = 0x02,
    MCP_RESULT_HAS_SCOPE = 0x04,
    MCP_RESULT_HAS_META = 0x08,
    MCP_RESULT_IS_INTERIM = 0x10       /* the result requests input, so it
                                          cannot be cached */
};


void
mcp_result_head(mcp_buf_t *out, mcp_str_t id)
{
    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(out, id);
    mcp_buf_lit(out, ",\"result\":");
}


void
mcp_result_members(mcp_buf_t *out, mcp_str_t server_info)
{
    mcp_buf_lit(out, MCP_RESULT_TYPE MCP_RESULT_META);
    mcp_buf_str(out, server_info);
    mcp_buf_lit(out, "}");
}


static mcp_str_t
mcp_result_server_info(const mcp_result_t *add)
{
    size_t  before;

    before = sizeof(MCP_RESULT_TYPE MCP_RESULT_META) - 1;

    return (mcp_str_t) { add->members.data + before,
                         add->members.len - before - 1 };
}


/* Appends to out, which ends with the members of a result, those members of add
 * that the result lacks. "has" is the set of members that the result has
 * (MCP_RESULT_HAS_...). */
static void
mcp_result_add(mcp_buf_t *out, const mcp_result_t *add, unsigned has)
{
    if (!(has & MCP_RESULT_HAS_TYPE) && out->len
        && out->data[out->len - 1] != '{')
    {
        mcp_buf_lit(out, ",");
    }

    if (has == 0 && !add->caches) {
        mcp_buf_str(out, add->members);
        return;
    }

    if (!(has & MCP_RESULT_HAS_TYPE)) {
        mcp_buf_lit(out, MCP_RESULT_TYPE);
    }

    if (add->caches && !(has & MCP_RESULT_IS_INTERIM)) {
        if (!(has & MCP_RESULT_HAS_TTL)) {
            mcp_buf_lit(out, ",\"ttlMs\":");
            mcp_buf_int(out, (int64_t) add->ttl);
        }

        if (!(has & MCP_RESULT_HAS_SCOPE)) {
            mcp_buf_str(out, add->is_public
                             ? mcp_str(",\"cacheScope\":\"public\"")
                             : mcp_str(",\"cacheScope\":\"private\""));
        }
    }

    if (!(has & MCP_RESULT_HAS_META)) {
        mcp_buf_lit(out, MCP_RESULT_META);
        mcp_buf_str(out, mcp_result_server_info(add));
        mcp_buf_lit(out, "}");
    }
}


void
mcp_result_tail(mcp_buf_t *out, const mcp_result_t *add)
{
    if (add && out->failed == MCP_OK) {

        do {
            out->len--;
        } while (mcp_json_is_space(out->data[out->len - 1]));

        mcp_result_add(out, add, 0);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}


static int
mcp_result_is_ttl(const mcp_json_value_t *value)
{
    size_t  i;

    if (value->type != MCP_JSON_NUMBER) {
        return 0;
    }

    for (i = 0; i < value->raw.len; i++) {
        if (value->raw.data[i] < '0' || value->raw.data[i] > '9') {
            return 0;
        }
    }

    return 1;
}


static int
mcp_result_is_scope(const mcp_json_value_t *value)
{
    return mcp_json_str_eq(value->raw, mcp_str("public"))
           || mcp_json_str_eq(value->raw, mcp_str("private"));
}


/*
 * Returns the bit of the member with this key if the revision requires the
 * member, otherwise 0. Sets *good to 1 if the value conforms to the schema.
 */
static unsigned
mcp_result_member(mcp_str_t key, const mcp_json_value_t *value, int *good)
{
    *good = 1;

    if (mcp_json_str_eq(key, mcp_str("resultType"))) {
        *good = value->type == MCP_JSON_STRING;
        return MCP_RESULT_HAS_TYPE;
    }

    if (mcp_json_str_eq(key, mcp_str("_meta"))) {
        *good = value->type == MCP_JSON_OBJECT;
        return MCP_RESULT_HAS_META;
    }

    if (mcp_json_str_eq(key, mcp_str("ttlMs"))) {
        *good = mcp_result_is_ttl(value);
        return MCP_RESULT_HAS_TTL;
    }

    if (mcp_json_str_eq(key, mcp_str("cacheScope"))) {
        *good = mcp_result_is_scope(value);
        return MCP_RESULT_HAS_SCOPE;
    }

    return 0;
}


/*
 * Writes the value of _meta with the serverInfo of the endpoint, which replaces
 * the backend's serverInfo. If add->keeps_info is 1 and the backend has sent a
 * serverInfo, writes meta unchanged.
 */
static void
mcp_result_meta(mcp_buf_t *out, mcp_str_t meta, const mcp_result_t *add)
{
    mcp_json_value_t  object;

    object = (mcp_json_value_t) { MCP_JSON_OBJECT, meta };

    if (add->keeps_info
        && mcp_json_get(&object, mcp_str("io.modelcontextprotocol/serverInfo"))
           .type == MCP_JSON_OBJECT)
    {
        mcp_buf_str(out, meta);
        return;
    }

    mcp_buf_lit(out, "{" MCP_RESULT_SERVER_INFO);
    mcp_buf_str(out, mcp_result_server_info(add));

    mcp_json_add_members(out, &object,
                         mcp_str("io.modelcontextprotocol/serverInfo"), NULL);
    mcp_buf_lit(out, "}");
}


static void
mcp_result_body(mcp_buf_t *out, mcp_str_t body, const mcp_result_t *add)
{
    int               good;
    unsigned          has, member;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    has = 0;

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, body);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        member = mcp_result_member(key, &value, &good);

        if (member == MCP_RESULT_HAS_SCOPE && add->is_private) {
            good = mcp_json_str_eq(value.raw, mcp_str("private"));
        }

        if (!good || (has & member)) {
            continue;
        }

        has |= member;

        if (member == MCP_RESULT_HAS_TYPE
            && mcp_json_str_eq(value.raw, mcp_str("input_required")))
        {
            has |= MCP_RESULT_IS_INTERIM;
        }

        mcp_json_add_key(out, key);

        if (member == MCP_RESULT_HAS_META) {
            mcp_result_meta(out, value.raw, add);

        } else {
            mcp_buf_str(out, value.raw);
        }
    }

    mcp_result_add(out, add, has);
    mcp_buf_lit(out, "}");
}


void
mcp_result_write(mcp_buf_t *out, mcp_str_t id, mcp_str_t body,
    const mcp_result_t *add)
{
    mcp_buf_reserve(out, body.len + id.len + 48
                         + (add ? add->members.len + 80 : 0));

    mcp_result_head(out, id);

    if (add) {
        mcp_result_body(out, body, add);

    } else {
        mcp_buf_str(out, body);
    }

    mcp_buf_lit(out, "}");
}


/* --- members that a revision lacks --- */

unsigned
mcp_revision_filter(mcp_revision_e revision)
{
    unsigned               filter;
    const mcp_revision_t  *row;

    row = mcp_revision(revision);
    filter = 0;

    if (!row->any_output) {
        filter |= MCP_REVISION_FILTER_OUTPUT;
    }

    if (row->stateless) {
        filter |= MCP_REVISION_FILTER_EXECUTION;
    }

    return filter;
}


static int
mcp_revision_filter_is_of_objects(const mcp_json_value_t *schema)
{
    mcp_json_value_t  type;

    return mcp_json_get_once(schema, mcp_str("type"), &type) == MCP_OK
           && mcp_json_str_eq(type.raw, mcp_str("object"));
}


unsigned
mcp_revision_filter_member(mcp_str_t key, const mcp_json_value_t *value)
{
    if (mcp_json_str_eq(key, mcp_str("outputSchema"))) {
        return mcp_revision_filter_is_of_objects(value)
                   ? 0
                   : MCP_REVISION_FILTER_OUTPUT;
    }

    return mcp_json_str_eq(key, mcp_str("execution"))
               ? MCP_REVISION_FILTER_EXECUTION
               : 0;
}


static int
mcp_revision_filter_has(unsigned filter, const mcp_json_value_t *tool)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_type(&iter, tool, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_revision_filter_member(key, &value) & filter) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_revision_filter_tool(unsigned filter, const mcp_json_value_t *tool,
    mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_revision_filter_has(filter, tool)) {
        mcp_buf_str(out, tool->raw);
        return;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, tool->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!(mcp_revision_filter_member(key, &value) & filter)) {
            mcp_json_add_key(out, key);
            mcp_buf_str(out, value.raw);
        }
    }

    mcp_buf_lit(out, "}");
}


static int
mcp_revision_filter_has_any(unsigned filter, const mcp_json_value_t *tools)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  tool;

    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        if (mcp_revision_filter_has(filter, &tool)) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_revision_filter_tools(unsigned filter, const mcp_json_value_t *tools,
    mcp_buf_t *out)
{
    const char        *before;
    mcp_json_iter_t    iter;
    mcp_json_value_t   tool;

    before = "[";
    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        mcp_buf_add(out, before, 1);
        mcp_revision_filter_tool(filter, &tool, out);
        before = ",";
    }

    mcp_buf_lit(out, "]");
}


/*
 * Returns 1 if the filter removes this member of a result, or if the member is
 * the list of tools and the filter removes members of its tools.
 */
static int
mcp_revision_filter_is(unsigned filter, const mcp_method_t *method,
    mcp_str_t key, const mcp_json_value_t *value)
{
    if (method->want == MCP_WANT_TOOL) {
        return (filter & MCP_REVISION_FILTER_OUTPUT)
               && value->type != MCP_JSON_OBJECT
               && mcp_json_str_eq(key, mcp_str("structuredContent"));
    }

    return method->list_kind == MCP_LIST_TOOLS && value->type == MCP_JSON_ARRAY
           && mcp_json_str_eq(key, mcp_str("tools"))
           && mcp_revision_filter_has_any(filter, value);
}


static int
mcp_revision_filter_is_any(unsigned filter, const mcp_method_t *method,
    mcp_str_t result)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_revision_filter_is(filter, method, key, &value)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_revision_filter_result(unsigned filter, const mcp_method_t *method,
    mcp_str_t result, mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_revision_filter_is_any(filter, method, result)) {
        return MCP_DONE;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        if (!mcp_revision_filter_is(filter, method, key, &value)) {
            mcp_json_add_key(out, key);
            mcp_buf_str(out, value.raw);

        } else if (method->want != MCP_WANT_TOOL) {
            mcp_json_add_key(out, key);
            mcp_revision_filter_tools(filter, &value, out);
        }
    }

    mcp_buf_lit(out, "}");

    return out->failed == MCP_OK ? MCP_OK : MCP_ERR_MEMORY;
}
