/* SPDX-License-Identifier: Apache-2.0 */

/* Reads one item of a catalog: checks it, and determines its public text. */


#include <stdio.h>

#include "base/mcp_uri.h"
#include "config/mcp_catalog_internal.h"
#include "config/mcp_item_access.h"


#define MCP_CATALOG_NAME_MAX   128
#define MCP_CATALOG_SCOPE_MAX  1024


static const char *const  mcp_catalog_nouns[MCP_LIST_COUNT] = {
    "tool", "prompt", "resource", "resource template"
};


/*
 * The members of an item that the schema defines (2026-07-28). Other members
 * are passed on without a check. Depending on its kind, MCP_CATALOG_NAME, _URI
 * or _URI_TEMPLATE identifies an item.
 */

#define MCP_CATALOG_T    (1u << MCP_LIST_TOOLS)
#define MCP_CATALOG_P    (1u << MCP_LIST_PROMPTS)
#define MCP_CATALOG_R    (1u << MCP_LIST_RESOURCES)
#define MCP_CATALOG_RT   (1u << MCP_LIST_TEMPLATES)
#define MCP_CATALOG_ALL  ((1u << MCP_LIST_COUNT) - 1)

typedef struct {
    unsigned          kinds;
    mcp_str_t         key;
    mcp_json_type_e   type;
    unsigned          required:1;
} mcp_catalog_member_t;

enum {
    MCP_CATALOG_NAME = 0,
    MCP_CATALOG_URI,
    MCP_CATALOG_URI_TEMPLATE,
    MCP_CATALOG_INPUT_SCHEMA,
    MCP_CATALOG_ARGUMENTS,
    MCP_CATALOG_OUTPUT_SCHEMA,
    MCP_CATALOG_MEMBERS = 14
};

static const mcp_catalog_member_t  mcp_catalog_members[MCP_CATALOG_MEMBERS] = {
    { MCP_CATALOG_ALL, { "name", 4 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_R, { "uri", 3 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_RT, { "uriTemplate", 11 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_T, { "inputSchema", 11 }, MCP_JSON_OBJECT, 1 },
    { MCP_CATALOG_P, { "arguments", 9 }, MCP_JSON_ARRAY, 0 },
    { MCP_CATALOG_T, { "outputSchema", 12 }, MCP_JSON_OBJECT, 0 },
    { MCP_CATALOG_ALL, { "title", 5 }, MCP_JSON_STRING, 0 },
    { MCP_CATALOG_ALL, { "description", 11 }, MCP_JSON_STRING, 0 },
    { MCP_CATALOG_ALL, { "icons", 5 }, MCP_JSON_ARRAY, 0 },
    { MCP_CATALOG_ALL, { "_meta", 5 }, MCP_JSON_OBJECT, 0 },
    { MCP_CATALOG_T|MCP_CATALOG_R|MCP_CATALOG_RT,
      { "annotations", 11 }, MCP_JSON_OBJECT, 0 },
    { MCP_CATALOG_T, { "execution", 9 }, MCP_JSON_OBJECT, 0 },
    { MCP_CATALOG_R|MCP_CATALOG_RT,
      { "mimeType", 8 }, MCP_JSON_STRING, 0 },
    { MCP_CATALOG_R, { "size", 4 }, MCP_JSON_NUMBER, 0 }
};


/* the member that is the key of an item, by its kind */

static const unsigned  mcp_catalog_key_of[MCP_LIST_COUNT] = {
    MCP_CATALOG_NAME,
    MCP_CATALOG_NAME,
    MCP_CATALOG_URI,
    MCP_CATALOG_URI_TEMPLATE
};


/* The state while one item is read: the members and settings that were read. */
typedef struct {
    mcp_catalog_reader_t  *reader;
    mcp_list_e             kind;
    unsigned               private:1;  /* 1: the item has members "x-mcp-..." */
    unsigned               filter;     /* members that some clients do not
                                          accept */
    mcp_policy_rule_t      rule;       /* values of the item's members
                                          "x-mcp-...", except "x-mcp-scope" */
    mcp_str_t              scope;
    mcp_json_value_t       members[MCP_CATALOG_MEMBERS];   /* values of the
                                                              members that the
                                                              schema defines, by
                                                              index; type
                                                              MCP_JSON_NONE:
                                                              absent */
} mcp_catalog_item_reader_t;


int
mcp_catalog_check_type(mcp_catalog_reader_t *r, const mcp_json_value_t *value,
    mcp_str_t key, mcp_json_type_e type)
{
    static const char *const  types[] = {
        "absent", "null", "true or false", "a number", "a string",
        "an object", "an array"
    };

    return value->type == type ? MCP_OK
           : mcp_catalog_error(r, value->raw.data, "\"%s\" must be %s",
                               key.data, types[type]);
}


int
mcp_catalog_check_each(mcp_catalog_reader_t *r, const mcp_json_value_t *array,
    mcp_str_t key, const char *error)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, array->raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {
        if (mcp_json_get(&value, key).type != MCP_JSON_STRING) {
            return mcp_catalog_error(r, value.raw.data, "%s", error);
        }
    }

    return MCP_OK;
}


int
mcp_catalog_is_private(mcp_str_t key)
{
    return mcp_str_take(&key, mcp_str("x-mcp-"));
}


/*
 * Returns 1 for scope-tokens (RFC 6749, 3.3) with a single space between them.
 */
static int
mcp_catalog_scope_valid(mcp_str_t scope)
{
    size_t         i;
    unsigned char  c, last;

    last = ' ';

    for (i = 0; i < scope.len; i++) {
        c = (unsigned char) scope.data[i];

        if (c == ' ' ? last == ' '
                     : c < ' ' || c > '~' || c == '"' || c == '\\')
        {
            return 0;
        }

        last = c;
    }

    return last != ' ' && scope.len <= MCP_CATALOG_SCOPE_MAX;
}


/* Sets *scope to the unescaped value of "x-mcp-scope" of an item, in the
 * catalog's arena. Returns MCP_OK, MCP_ERR_CONFIG if the value is invalid or
 * the key occurs twice, or MCP_ERR_MEMORY. */
static int
mcp_catalog_read_scope(mcp_catalog_reader_t *r, const mcp_json_value_t *value,
    mcp_str_t *scope)
{
    if (scope->len) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" is duplicate");
    }

    if (value->type == MCP_JSON_STRING
        && mcp_json_unescape(&r->catalog->arena, value->raw, scope) != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (!mcp_catalog_scope_valid(*scope)) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" must be a string of scopes, "
                                 "separated by single spaces");
    }

    /* "offline_access" does not belong to a resource: clients request it from
     * the authorization server themselves (2026-07-28, basic/authorization,
     * "Refresh Tokens") */

    if (mcp_scope_has(*scope, mcp_str("offline_access"))) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" must not contain "
                                 "\"offline_access\", which clients request "
                                 "themselves");
    }

    r->catalog->info.scoped = 1;

    return MCP_OK;
}


static int
mcp_catalog_read_private(mcp_catalog_item_reader_t *item, mcp_str_t key,
    const mcp_json_value_t *value)
{
    char         text[128];
    const char  *error;

    if (mcp_str_eq(key, mcp_str("x-mcp-scope"))) {
        return mcp_catalog_read_scope(item->reader, value, &item->scope);
    }

    if (mcp_policy_read(&item->rule, item->kind, key, value, &error)
        == MCP_OK)
    {
        return MCP_OK;
    }

    snprintf(text, sizeof(text), "\"%.*s\" %s", (int) key.len, key.data, error);

    return mcp_catalog_error(item->reader, value->raw.data, "%s", text);
}


static int
mcp_catalog_member_find(mcp_list_e kind, mcp_str_t key)
{
    int  i;

    for (i = 0; i < MCP_CATALOG_MEMBERS; i++) {
        if (mcp_catalog_members[i].kinds & (1u << kind)
            && mcp_str_eq(mcp_catalog_members[i].key, key))
        {
            return i;
        }
    }

    return -1;
}


/* Stores one member of an item: a setting of this server ("x-mcp-..."), or a
 * member that the MCP schema defines. raw is the key of the member. Checks the
 * type of the member. Other members are not stored and not checked. */
static int
mcp_catalog_read_member(mcp_catalog_item_reader_t *item, mcp_str_t raw,
    const mcp_json_value_t *value)
{
    int                          i;
    mcp_str_t                    key;
    mcp_catalog_reader_t        *r;
    const mcp_catalog_member_t  *m;

    r = item->reader;

    if (mcp_json_unescape(&r->scratch, raw, &key) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_catalog_is_private(key)) {
        item->private = 1;
        return mcp_catalog_read_private(item, key, value);
    }

    if (item->kind == MCP_LIST_TOOLS) {
        item->filter |= mcp_revision_filter_member(raw, value);
    }

    i = mcp_catalog_member_find(item->kind, key);
    if (i < 0) {
        return MCP_OK;
    }

    m = &mcp_catalog_members[i];

    if (item->members[i].type != MCP_JSON_NONE) {
        return mcp_catalog_error_key(r, raw.data, "duplicate key", key);
    }

    item->members[i] = *value;

    return mcp_catalog_check_type(r, value, m->key, m->type);
}


static int
mcp_catalog_check_required(const mcp_catalog_item_reader_t *item,
    const mcp_json_value_t *value)
{
    int                          i;
    const mcp_catalog_member_t  *m;

    for (i = 0; i < MCP_CATALOG_MEMBERS; i++) {
        m = &mcp_catalog_members[i];

        if (m->required && m->kinds & (1u << item->kind)
            && item->members[i].type == MCP_JSON_NONE)
        {
            return mcp_catalog_error(item->reader, value->raw.data,
                                     "%s without \"%s\"",
                                     mcp_catalog_nouns[item->kind],
                                     m->key.data);
        }
    }

    return MCP_OK;
}


static int
mcp_catalog_read_members(mcp_catalog_item_reader_t *item,
    const mcp_json_value_t *value)
{
    int               rc;
    mcp_str_t         raw;
    mcp_json_iter_t   iter;
    mcp_json_value_t  member;

    if (value->type != MCP_JSON_OBJECT) {
        return mcp_catalog_error(item->reader, value->raw.data,
                                 "a %s must be an object",
                                 mcp_catalog_nouns[item->kind]);
    }

    mcp_json_iter_init(&iter, value->raw);

    while (mcp_json_iter_next(&iter, &raw, &member)) {
        rc = mcp_catalog_read_member(item, raw, &member);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    return mcp_catalog_check_required(item, value);
}


static int
mcp_catalog_is_tool_name(mcp_str_t name)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < name.len; i++) {
        c = (unsigned char) name.data[i];

        if (!mcp_is_alnum(c) && c != '_' && c != '.' && c != '-') {
            return 0;
        }
    }

    return name.len >= 1 && name.len <= MCP_CATALOG_NAME_MAX;
}


/* Replaces *key by its normal form (mcp_uri.h) if it is the URI of a resource
 * or a URI template. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_catalog_normalize(mcp_catalog_reader_t *r, mcp_list_e kind, mcp_str_t *key)
{
    char  *text;

    if (key->len == 0
        || (kind != MCP_LIST_RESOURCES && kind != MCP_LIST_TEMPLATES))
    {
        return MCP_OK;
    }

    text = mcp_arena_alloc(&r->catalog->arena, mcp_uri_max(key->len));
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    key->len = mcp_uri_write(text, *key, kind == MCP_LIST_TEMPLATES);
    key->data = text;

    return MCP_OK;
}


/*
 * Checks the item's members "name", "uri" and "uriTemplate". Sets *key to the
 * one that identifies the item, unescaped and, for a URI or a template, in
 * normal form. *key is in the catalog's arena.
 */
static int
mcp_catalog_check_names(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *members, mcp_str_t *key)
{
    unsigned    i, naming;
    mcp_str_t   text;

    naming = mcp_catalog_key_of[kind];

    for (i = MCP_CATALOG_NAME; i <= MCP_CATALOG_URI_TEMPLATE; i++) {

        if (members[i].type == MCP_JSON_NONE) {
            continue;
        }

        if (mcp_json_unescape(&r->catalog->arena, members[i].raw, &text)
            != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        if (text.len == 0) {
            return mcp_catalog_error(r, members[i].raw.data,
                "\"%s\" must not be empty", mcp_catalog_members[i].key.data);
        }

        if (kind == MCP_LIST_TOOLS && !mcp_catalog_is_tool_name(text)) {
            return mcp_catalog_error(r, members[i].raw.data,
                "a tool's name must be 1 to %d of the characters A-Z a-z 0-9 "
                "_ - .",
                MCP_CATALOG_NAME_MAX);
        }

        if (i == naming) {
            *key = text;
        }
    }

    return mcp_catalog_normalize(r, kind, key);
}


static int
mcp_catalog_check_schema(mcp_catalog_reader_t *r,
    const mcp_json_value_t *schema)
{
    mcp_json_value_t  type;

    if (schema->type == MCP_JSON_NONE) {
        return MCP_OK;
    }

    type = mcp_json_get(schema, mcp_str("type"));

    if (!mcp_json_str_eq(type.raw, mcp_str("object"))) {
        return mcp_catalog_error(r, schema->raw.data,
            "\"inputSchema\" must have \"type\": \"object\"");
    }

    return MCP_OK;
}


/* Inserts the item that was read last, set->items[set->n], into the hash table
 * of its kind, and counts the item. Returns MCP_ERR_CONFIG if the table
 * contains another item with this key, otherwise MCP_OK. */
static int
mcp_catalog_insert(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *at)
{
    char                 problem[32];
    uint32_t             slot;
    mcp_catalog_set_t   *set;
    mcp_catalog_item_t  *item;

    set = &r->catalog->sets[kind];
    item = &set->items[set->n];

    if (mcp_catalog_lookup(set, item->key, &slot) != NULL) {
        (void) snprintf(problem, sizeof(problem), "duplicate %s",
                        mcp_catalog_nouns[kind]);

        return mcp_catalog_error_key(r, at->raw.data, problem, item->key);
    }

    set->table[slot] = ++set->n;

    return MCP_OK;
}


static int
mcp_catalog_keep_rule(mcp_catalog_t *catalog, mcp_catalog_item_t *item,
    const mcp_policy_rule_t *rule)
{
    if (rule->set == 0) {
        return MCP_OK;
    }

    item->rule = mcp_arena_alloc(&catalog->arena, sizeof(mcp_policy_rule_t));
    if (item->rule == NULL) {
        return MCP_ERR_MEMORY;
    }

    *item->rule = *rule;

    if (rule->value.join != MCP_JOIN_NOT) {
        catalog->info.joins = 1;
    }

    if (rule->value.stream_after > catalog->info.stream_after) {
        catalog->info.stream_after = rule->value.stream_after;
    }

    if (rule->has_task && rule->value.task != MCP_TASK_NEVER) {
        catalog->info.tasks = 1;
    }

    return MCP_OK;
}


static int
mcp_catalog_compile(mcp_catalog_reader_t *r, mcp_catalog_item_t *item,
    const mcp_json_value_t *uri_template)
{
    int   rc;
    char  problem[192];

    rc = mcp_match_create_template(&r->catalog->mem, item->key, &item->match,
                                   problem, sizeof(problem));

    if (rc == MCP_ERR_CONFIG) {
        return mcp_catalog_error(r, uri_template->raw.data, "%s", problem);
    }

    return rc;
}


/*
 * Checks the members of an item: its name or URI, a tool's inputSchema, and a
 * prompt's arguments. Sets *key to the name or URI that identifies the item.
 * Returns MCP_OK, MCP_ERR_CONFIG or MCP_ERR_MEMORY.
 */
static int
mcp_catalog_check(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *members, mcp_str_t *key)
{
    int  rc;

    rc = mcp_catalog_check_names(r, kind, members, key);

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_schema(r, &members[MCP_CATALOG_INPUT_SCHEMA]);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_each(r, &members[MCP_CATALOG_ARGUMENTS],
                                    mcp_str("name"), "a prompt's argument must "
                                    "be an object with a \"name\"");
    }

    return rc;
}


/*
 * Adds an item to its set, after its members were read and checked. Compiles
 * the pattern of a template, and reads the annotations "x-mcp-header" of a
 * tool. Returns MCP_OK, MCP_ERR_CONFIG or MCP_ERR_MEMORY.
 */
static int
mcp_catalog_add_item(mcp_catalog_item_reader_t *ir, mcp_catalog_item_t *item)
{
    int                    rc;
    mcp_list_e             kind;
    mcp_catalog_reader_t  *r;

    r = ir->reader;
    kind = ir->kind;

    rc = mcp_catalog_insert(r, kind, &ir->members[mcp_catalog_key_of[kind]]);

    if (rc == MCP_OK && kind == MCP_LIST_TEMPLATES) {
        rc = mcp_catalog_compile(r, item,
                                 &ir->members[MCP_CATALOG_URI_TEMPLATE]);
    }

    if (rc == MCP_OK && kind == MCP_LIST_TOOLS) {
        rc = mcp_catalog_read_headers(r, item,
                                      &ir->members[MCP_CATALOG_INPUT_SCHEMA]);
    }

    if (ir->members[MCP_CATALOG_OUTPUT_SCHEMA].type != MCP_JSON_NONE) {
        item->output = 1;
        r->catalog->info.outputs = 1;
    }

    item->private = ir->private;
    item->scope = ir->scope;
    item->filter = ir->filter;
    r->catalog->sets[kind].filter |= ir->filter;

    return rc;
}


int
mcp_catalog_read_item(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value)
{
    int                         rc;
    mcp_catalog_set_t          *set;
    mcp_catalog_item_t         *item;
    mcp_catalog_item_reader_t   ir;

    set = &r->catalog->sets[kind];
    item = &set->items[set->n];
    item->raw = value->raw;

    memset(&ir, 0, sizeof(mcp_catalog_item_reader_t));
    ir.reader = r;
    ir.kind = kind;

    rc = mcp_catalog_read_members(&ir, value);

    if (rc == MCP_OK) {
        rc = mcp_catalog_keep_rule(r->catalog, item, &ir.rule);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check(r, kind, ir.members, &item->key);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_add_item(&ir, item);
    }

    return rc;
}
