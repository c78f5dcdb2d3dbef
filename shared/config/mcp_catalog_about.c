/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the members of a catalog that describe the server itself. */


#include "config/mcp_catalog_internal.h"


static int
mcp_catalog_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}


static int
mcp_catalog_is_alnum(char c)
{
    return mcp_catalog_is_letter(c) || (c >= '0' && c <= '9');
}


/*
 * Returns 1 if the text begins and ends with a letter or digit and contains
 * only letters, digits and the given marks.
 */
static int
mcp_catalog_is_word(const char *p, const char *end, const char *marks)
{
    const char  *last;

    last = end - 1;

    if (p == end || !mcp_catalog_is_alnum(*p) || !mcp_catalog_is_alnum(*last))
    {
        return 0;
    }

    for (/* void */; p < last; p++) {
        if (!mcp_catalog_is_alnum(*p) && (*p == '\0' || !strchr(marks, *p))) {
            return 0;
        }
    }

    return 1;
}


/*
 * Returns 1 if the text is a key of _meta with a prefix (2026-07-28,
 * basic/index, "_meta", "Key name format"; schema, ServerCapabilities).
 */
static int
mcp_catalog_is_extension(mcp_str_t key)
{
    const char  *p, *dot, *slash, *end;

    end = key.data + key.len;
    slash = key.len ? memchr(key.data, '/', key.len) : NULL;

    if (slash == NULL) {
        return 0;
    }

    for (p = key.data; p <= slash; p = dot + 1) {
        dot = memchr(p, '.', (size_t) (slash - p));
        dot = dot ? dot : slash;

        if (!mcp_catalog_is_word(p, dot, "-") || !mcp_catalog_is_letter(*p)) {
            return 0;
        }
    }

    return slash + 1 == end || mcp_catalog_is_word(slash + 1, end, "-_.");
}


static int
mcp_catalog_check_extensions(mcp_catalog_reader_t *r,
    const mcp_json_value_t *extensions)
{
    mcp_str_t         raw, key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value, one;

    mcp_json_iter_init(&iter, extensions->raw);

    while (mcp_json_iter_next(&iter, &raw, &value)) {

        mcp_arena_reset(&r->scratch);

        if (mcp_json_unescape(&r->scratch, raw, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (!mcp_catalog_is_extension(key)) {
            return mcp_catalog_error_key(r, raw.data,
                                         "an extension's identifier must be "
                                         "like com.example/name, unlike", key);
        }

        if (mcp_str_eq(key, mcp_str(MCP_CLIENT_TASKS_NAME))) {
            return mcp_catalog_error(r, raw.data,
                                     "\"%s\" is set by the server: remove it, "
                                     "and use \"x-mcp-task\"",
                                     MCP_CLIENT_TASKS_NAME);
        }

        if (mcp_json_get_once(extensions, key, &one) != MCP_OK) {
            return mcp_catalog_error_key(r, raw.data, "duplicate key", key);
        }

        if (value.type != MCP_JSON_OBJECT) {
            return mcp_catalog_error(r, value.raw.data,
                                     "an extension's settings must be an "
                                     "object");
        }
    }

    return MCP_OK;
}


static int
mcp_catalog_check_icons(mcp_catalog_reader_t *r, const mcp_json_value_t *icons)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  icon;

    mcp_json_iter_init(&iter, icons->raw);

    while (mcp_json_iter_next(&iter, NULL, &icon)) {
        if (mcp_json_get(&icon, mcp_str("src")).type != MCP_JSON_STRING) {
            return mcp_catalog_error(r, icon.raw.data,
                                     "an icon must be an object with a "
                                     "\"src\"");
        }
    }

    return MCP_OK;
}


/* Copies a value as one line. */
static int
mcp_catalog_keep(mcp_catalog_t *catalog, const mcp_json_value_t *value,
    mcp_str_t *out)
{
    char  *line;

    if (value->type == MCP_JSON_NONE) {
        return MCP_OK;
    }

    line = mcp_arena_alloc(&catalog->arena, value->raw.len);
    if (line == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(line, value->raw.data, value->raw.len);

    *out = (mcp_str_t) { line, mcp_json_compact(line, value->raw.len) };

    return MCP_OK;
}


static int
mcp_catalog_check_types(mcp_catalog_reader_t *r,
    const mcp_json_value_t *values)
{
    size_t  i;

    static const struct {
        unsigned          field;
        mcp_json_type_e   type;
        const char       *name;
    } types[] = {
        { MCP_CATALOG_INSTRUCTIONS, MCP_JSON_STRING, "a string" },
        { MCP_CATALOG_COMPLETIONS, MCP_JSON_BOOL, "true or false" },
        { MCP_CATALOG_EXTENSIONS, MCP_JSON_OBJECT, "an object" },
        { MCP_CATALOG_ICONS, MCP_JSON_ARRAY, "an array" },
        { MCP_CATALOG_WEBSITE_URL, MCP_JSON_STRING, "a string" },
        { MCP_CATALOG_DESCRIPTION, MCP_JSON_STRING, "a string" }
    };

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (values[types[i].field].type != MCP_JSON_NONE
            && values[types[i].field].type != types[i].type)
        {
            return mcp_catalog_error(r, values[types[i].field].raw.data,
                                     "\"%s\" must be %s",
                                     mcp_catalog_fields[types[i].field]
                                     .key.data, types[i].name);
        }
    }

    return MCP_OK;
}


int
mcp_catalog_read_about(mcp_catalog_reader_t *r, const mcp_json_value_t *values)
{
    int             rc;
    size_t          i;
    mcp_catalog_t  *catalog = r->catalog;

    const struct {
        unsigned    field;
        mcp_str_t  *value;
    } kept[] = {
        { MCP_CATALOG_INSTRUCTIONS, &catalog->instructions },
        { MCP_CATALOG_EXTENSIONS, &catalog->extensions },
        { MCP_CATALOG_ICONS, &catalog->about.icons },
        { MCP_CATALOG_WEBSITE_URL, &catalog->about.website_url },
        { MCP_CATALOG_DESCRIPTION, &catalog->about.description }
    };

    rc = mcp_catalog_check_types(r, values);

    if (rc == MCP_OK && values[MCP_CATALOG_EXTENSIONS].type != MCP_JSON_NONE) {
        rc = mcp_catalog_check_extensions(r, &values[MCP_CATALOG_EXTENSIONS]);
    }

    if (rc == MCP_OK && values[MCP_CATALOG_ICONS].type != MCP_JSON_NONE) {
        rc = mcp_catalog_check_icons(r, &values[MCP_CATALOG_ICONS]);
    }

    for (i = 0; rc == MCP_OK && i < sizeof(kept) / sizeof(kept[0]); i++) {
        rc = mcp_catalog_keep(catalog, &values[kept[i].field], kept[i].value);
    }

    catalog->completions = (mcp_str_eq(values[MCP_CATALOG_COMPLETIONS].raw,
                                       mcp_str("true")) != 0);

    return rc;
}
