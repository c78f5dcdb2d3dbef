/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_upstream_about.h"

#include "json/mcp_json_scan.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_revision.h"


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
