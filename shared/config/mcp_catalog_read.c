/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The catalog file: checked once, laid out so that a list is a copy.
 *
 * The public texts of a kind stand one behind the other with commas between
 * them, so any page is one slice of that buffer.  Names and URIs are found
 * through an open-addressed hash table; templates are tried in order.
 */


#include <stdarg.h>
#include <stdio.h>

#include "base/mcp_base64.h"
#include "config/mcp_catalog.h"
#include "base/mcp_token.h"


/* Schemas nest, but not endlessly. */
#define MCP_CATALOG_DEPTH        128
#define MCP_CATALOG_NAME_MAX     128
#define MCP_CATALOG_ITEMS_MAX    (UINT32_MAX / 4)

/* Position (4 bytes), kind (1), digest of the catalog (7). */
#define MCP_CATALOG_CURSOR_LEN   12
#define MCP_CATALOG_CURSOR_TEXT  mcp_base64url_len(MCP_CATALOG_CURSOR_LEN)

/* How much of a name an error message shows. */
#define MCP_CATALOG_SHOWN        80


typedef struct {
    mcp_str_t             key;         /* name, URI or URI template */
    mcp_str_t             raw;         /* as the file has it */
    size_t                start;       /* in the public text */
    size_t                end;
    mcp_match_t          *match;       /* of a template */
    mcp_policy_rule_t    *rule;        /* NULL: it has none */
} mcp_catalog_item_t;


typedef struct {
    unsigned              present:1;
    uint32_t              n;
    uint32_t              mask;        /* of the table's indices */
    uint32_t             *table;       /* index of the item + 1, or 0 */
    mcp_catalog_item_t   *items;
    mcp_buf_t             text;        /* "{...},{...}" */
} mcp_catalog_set_t;


struct mcp_catalog_s {
    mcp_mem_t             mem;
    mcp_arena_t           arena;
    mcp_str_t             text;        /* the file, copied */
    mcp_str_t             instructions;
    unsigned              completions:1;
    uint64_t              stream_after;        /* the longest of all items */
    unsigned char         digest[MCP_DIGEST_LEN];
    mcp_catalog_set_t     sets[MCP_LIST_COUNT];
};


/* Only while a catalog is being read. */
typedef struct {
    mcp_catalog_t        *catalog;
    mcp_arena_t           scratch;
    mcp_policy_rule_t     rule;        /* of the item that is being read */
    char                 *error;
    size_t                size;
} mcp_catalog_reader_t;


/* the first rows of mcp_catalog_fields are the kinds, in their order */

enum {
    MCP_CATALOG_INSTRUCTIONS = MCP_LIST_COUNT,
    MCP_CATALOG_COMPLETIONS,
    MCP_CATALOG_FIELDS
};

static const mcp_json_field_t  mcp_catalog_fields[MCP_CATALOG_FIELDS] = {
    { MCP_JSON_ROOT, { "tools", 5 } },
    { MCP_JSON_ROOT, { "prompts", 7 } },
    { MCP_JSON_ROOT, { "resources", 9 } },
    { MCP_JSON_ROOT, { "resourceTemplates", 17 } },
    { MCP_JSON_ROOT, { "instructions", 12 } },
    { MCP_JSON_ROOT, { "completions", 11 } }
};


static const char *const  mcp_catalog_nouns[MCP_LIST_COUNT] = {
    "tool", "prompt", "resource", "resource template"
};


/*
 * What the schema (2025-11-25) says of the members of an item; members that
 * are not listed are passed on unread.  The first three name an item.
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
    MCP_CATALOG_OUTPUT_SCHEMA,
    MCP_CATALOG_ARGUMENTS,
    MCP_CATALOG_MEMBERS = 14
};

static const mcp_catalog_member_t  mcp_catalog_members[MCP_CATALOG_MEMBERS] = {
    { MCP_CATALOG_ALL, { "name", 4 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_R, { "uri", 3 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_RT, { "uriTemplate", 11 }, MCP_JSON_STRING, 1 },
    { MCP_CATALOG_T, { "inputSchema", 11 }, MCP_JSON_OBJECT, 1 },
    { MCP_CATALOG_T, { "outputSchema", 12 }, MCP_JSON_OBJECT, 0 },
    { MCP_CATALOG_P, { "arguments", 9 }, MCP_JSON_ARRAY, 0 },
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


/* which member names an item of the kind */

static const unsigned  mcp_catalog_key_of[MCP_LIST_COUNT] = {
    MCP_CATALOG_NAME,
    MCP_CATALOG_NAME,
    MCP_CATALOG_URI,
    MCP_CATALOG_URI_TEMPLATE
};


static int mcp_catalog_read(mcp_catalog_reader_t *r);
static int mcp_catalog_read_root(mcp_catalog_reader_t *r,
    const mcp_json_value_t *root);
static int mcp_catalog_read_set(mcp_catalog_reader_t *r,
    mcp_list_e kind, const mcp_json_value_t *array);
static int mcp_catalog_set_init(mcp_catalog_reader_t *r,
    mcp_catalog_set_t *set, const mcp_json_value_t *array);
static int mcp_catalog_read_item(mcp_catalog_reader_t *r,
    mcp_list_e kind, const mcp_json_value_t *value);
static int mcp_catalog_read_members(mcp_catalog_reader_t *r,
    mcp_list_e kind, const mcp_json_value_t *value,
    mcp_json_value_t *members, int *private);
static int mcp_catalog_read_private(mcp_catalog_reader_t *r, mcp_str_t key,
    const mcp_json_value_t *value);
static int mcp_catalog_member_find(mcp_list_e kind, mcp_str_t key);
static int mcp_catalog_check_names(mcp_catalog_reader_t *r,
    mcp_list_e kind, const mcp_json_value_t *members,
    mcp_str_t *key);
static int mcp_catalog_check_schema(mcp_catalog_reader_t *r,
    unsigned member, const mcp_json_value_t *schema);
static int mcp_catalog_check_arguments(mcp_catalog_reader_t *r,
    const mcp_json_value_t *arguments);
static int mcp_catalog_insert(mcp_catalog_reader_t *r,
    mcp_list_e kind, const mcp_json_value_t *at);
static int mcp_catalog_add_text(mcp_catalog_reader_t *r,
    mcp_catalog_set_t *set, mcp_catalog_item_t *item, int private);
static int mcp_catalog_add_public(mcp_catalog_reader_t *r, mcp_buf_t *buf,
    mcp_str_t raw);
static int mcp_catalog_is_private(mcp_str_t key);
static int mcp_catalog_is_tool_name(mcp_str_t name);
static int mcp_catalog_json_error(mcp_catalog_reader_t *r,
    const mcp_json_error_t *e);
static int mcp_catalog_error(mcp_catalog_reader_t *r, const char *at,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int mcp_catalog_error_key(mcp_catalog_reader_t *r, const char *at,
    const char *what, mcp_str_t key);

static const mcp_catalog_item_t *mcp_catalog_lookup(
    const mcp_catalog_set_t *set, mcp_str_t key, uint32_t *slot);
static uint32_t mcp_catalog_hash(mcp_str_t key);
static void mcp_catalog_cursor_make(const mcp_catalog_t *catalog,
    mcp_list_e kind, uint32_t pos,
    unsigned char cursor[MCP_CATALOG_CURSOR_LEN]);
static int mcp_catalog_cursor_read(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t text, uint32_t *pos);


int
mcp_catalog_create(const mcp_mem_t *mem, mcp_str_t text, mcp_catalog_t **out,
    char *error, size_t size)
{
    int                    rc, kind;
    mcp_catalog_t         *catalog;
    mcp_catalog_reader_t   r;

    catalog = mem->alloc(mem->ctx, sizeof(mcp_catalog_t));
    if (catalog == NULL) {
        return MCP_ERR_MEMORY;
    }

    memset(catalog, 0, sizeof(mcp_catalog_t));

    catalog->mem = *mem;
    mcp_arena_init(&catalog->arena, &catalog->mem);

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        mcp_buf_init(&catalog->sets[kind].text, &catalog->mem, 0);
    }

    r.catalog = catalog;
    r.error = error;
    r.size = size;
    mcp_arena_init(&r.scratch, &catalog->mem);

    catalog->text = mcp_arena_dup(&catalog->arena, text);

    rc = catalog->text.data ? mcp_catalog_read(&r) : MCP_ERR_MEMORY;

    mcp_arena_destroy(&r.scratch);

    if (rc != MCP_OK) {
        mcp_catalog_free(catalog);
        return rc;
    }

    *out = catalog;

    return MCP_OK;
}


void
mcp_catalog_free(mcp_catalog_t *catalog)
{
    int                 kind;
    uint32_t            i;
    mcp_mem_t           mem;
    mcp_catalog_set_t  *set;

    if (catalog == NULL) {
        return;
    }

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        set = &catalog->sets[kind];

        for (i = 0; i < set->n; i++) {
            mcp_match_free(set->items[i].match);
        }

        mcp_buf_free(&set->text);
    }

    mcp_arena_destroy(&catalog->arena);

    mem = catalog->mem;
    mem.free(mem.ctx, catalog);
}


int
mcp_catalog_has(const mcp_catalog_t *catalog, mcp_list_e kind)
{
    return catalog->sets[kind].present;
}


int
mcp_catalog_completions(const mcp_catalog_t *catalog)
{
    return catalog->completions;
}


mcp_str_t
mcp_catalog_instructions(const mcp_catalog_t *catalog)
{
    return catalog->instructions;
}


static const mcp_catalog_item_t *
mcp_catalog_item(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    uint32_t                  i;
    const mcp_catalog_set_t  *set;

    set = &catalog->sets[kind];

    if (kind != MCP_LIST_TEMPLATES) {
        return mcp_catalog_lookup(set, key, NULL);
    }

    for (i = 0; i < set->n; i++) {
        if (mcp_match(set->items[i].match, key)) {
            return &set->items[i];
        }
    }

    return NULL;
}


mcp_str_t
mcp_catalog_find(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    return item ? item->raw : mcp_null_str;
}


const mcp_policy_rule_t *
mcp_catalog_rule(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    return item ? item->rule : NULL;
}


uint64_t
mcp_catalog_stream_after(const mcp_catalog_t *catalog)
{
    return catalog->stream_after;
}


int
mcp_catalog_list(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t cursor, size_t page, mcp_buf_t *buf)
{
    char                      *p;
    size_t                     from, to;
    uint32_t                   first, last;
    unsigned char              next[MCP_CATALOG_CURSOR_LEN];
    const mcp_catalog_set_t   *set;

    set = &catalog->sets[kind];
    first = 0;

    if (cursor.len > 0
        && mcp_catalog_cursor_read(catalog, kind, cursor, &first) != MCP_OK)
    {
        return MCP_ERR_NOT_FOUND;
    }

    last = page > 0 && page < set->n - first ? first + (uint32_t) page
                                             : set->n;

    mcp_buf_lit(buf, "{\"");
    mcp_buf_str(buf, mcp_catalog_fields[kind].key);
    mcp_buf_lit(buf, "\":[");

    if (first < last) {
        from = set->items[first].start;
        to = set->items[last - 1].end;

        mcp_buf_add(buf, set->text.data + from, to - from);
    }

    mcp_buf_lit(buf, "]");

    if (last < set->n) {
        mcp_catalog_cursor_make(catalog, kind, last, next);

        mcp_buf_lit(buf, ",\"nextCursor\":\"");

        p = mcp_buf_reserve(buf, MCP_CATALOG_CURSOR_TEXT);
        if (p != NULL) {
            (void) mcp_base64url_encode(p, next, sizeof(next));
            buf->len += MCP_CATALOG_CURSOR_TEXT;
        }

        mcp_buf_lit(buf, "\"");
    }

    mcp_buf_lit(buf, "}");

    return buf->failed;
}


static int
mcp_catalog_read(mcp_catalog_reader_t *r)
{
    int                rc, kind;
    mcp_catalog_t     *catalog;
    mcp_json_error_t   e;
    mcp_json_value_t   root, *value, values[MCP_CATALOG_FIELDS];

    catalog = r->catalog;

    rc = mcp_json_scan(&r->scratch, catalog->text, MCP_CATALOG_DEPTH,
                       mcp_catalog_fields, MCP_CATALOG_FIELDS, &root, values,
                       &e);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_SYNTAX ? mcp_catalog_json_error(r, &e) : rc;
    }

    mcp_arena_reset(&r->scratch);

    rc = mcp_catalog_read_root(r, &root);
    if (rc != MCP_OK) {
        return rc;
    }

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        if (values[kind].type == MCP_JSON_NONE) {
            continue;
        }

        rc = mcp_catalog_read_set(r, (mcp_list_e) kind, &values[kind]);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    value = &values[MCP_CATALOG_INSTRUCTIONS];

    if (value->type == MCP_JSON_STRING) {
        catalog->instructions = value->raw;

    } else if (value->type != MCP_JSON_NONE) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"instructions\" must be a string");
    }

    value = &values[MCP_CATALOG_COMPLETIONS];

    if (value->type == MCP_JSON_BOOL) {
        catalog->completions = value->raw.data[0] == 't';

    } else if (value->type != MCP_JSON_NONE) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"completions\" must be true or false");
    }

    return mcp_digest(catalog->digest, &catalog->text, 1);
}


static int
mcp_catalog_read_root(mcp_catalog_reader_t *r, const mcp_json_value_t *root)
{
    int               i;
    mcp_str_t         raw, key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (root->type != MCP_JSON_OBJECT) {
        return mcp_catalog_error(r, root->raw.data,
                                 "a catalog must be an object");
    }

    mcp_json_iter_init(&iter, root->raw);

    while (mcp_json_iter_next(&iter, &raw, &value)) {

        for (i = 0; i < MCP_CATALOG_FIELDS; i++) {
            if (mcp_json_str_eq(raw, mcp_catalog_fields[i].key)) {
                break;
            }
        }

        if (i < MCP_CATALOG_FIELDS) {
            continue;
        }

        if (mcp_json_unescape(&r->scratch, raw, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        return mcp_catalog_error_key(r, raw.data, "unknown key", key);
    }

    return MCP_OK;
}


static int
mcp_catalog_read_set(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *array)
{
    int                 rc;
    mcp_json_iter_t     iter;
    mcp_json_value_t    value;
    mcp_catalog_set_t  *set;

    set = &r->catalog->sets[kind];

    if (array->type != MCP_JSON_ARRAY) {
        return mcp_catalog_error(r, array->raw.data, "\"%s\" must be an array",
                                 mcp_catalog_fields[kind].key.data);
    }

    set->present = 1;

    rc = mcp_catalog_set_init(r, set, array);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_json_iter_init(&iter, array->raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {

        mcp_arena_reset(&r->scratch);

        rc = mcp_catalog_read_item(r, kind, &value);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


/* Room for all items, all their texts and a table at most half full. */
static int
mcp_catalog_set_init(mcp_catalog_reader_t *r, mcp_catalog_set_t *set,
    const mcp_json_value_t *array)
{
    size_t            n, slots;
    mcp_arena_t      *arena;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    n = 0;
    mcp_json_iter_init(&iter, array->raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {
        n++;
    }

    if (n == 0) {
        return MCP_OK;
    }

    if (n > MCP_CATALOG_ITEMS_MAX) {
        return mcp_catalog_error(r, array->raw.data, "too many items");
    }

    for (slots = 2; slots < n * 2; slots *= 2) { /* void */ }

    arena = &r->catalog->arena;

    set->mask = (uint32_t) (slots - 1);
    set->table = mcp_arena_calloc(arena, slots * sizeof(uint32_t));
    set->items = mcp_arena_calloc(arena, n * sizeof(mcp_catalog_item_t));

    if (set->table == NULL || set->items == NULL) {
        return MCP_ERR_MEMORY;
    }

    /* items only get shorter, and there is one comma less than in the file
     * or as many, without its brackets */

    mcp_buf_init(&set->text, &r->catalog->mem, array->raw.len);

    if (mcp_buf_reserve(&set->text, array->raw.len) == NULL) {
        return set->text.failed;
    }

    return MCP_OK;
}


static int
mcp_catalog_read_item(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value)
{
    int                  rc, private;
    char                 problem[192];
    mcp_json_value_t     members[MCP_CATALOG_MEMBERS];
    mcp_catalog_set_t   *set;
    mcp_catalog_item_t  *item;

    set = &r->catalog->sets[kind];
    item = &set->items[set->n];

    memset(&r->rule, 0, sizeof(mcp_policy_rule_t));

    rc = mcp_catalog_read_members(r, kind, value, members, &private);
    if (rc != MCP_OK) {
        return rc;
    }

    if (r->rule.set) {
        item->rule = mcp_arena_alloc(&r->catalog->arena,
                                     sizeof(mcp_policy_rule_t));
        if (item->rule == NULL) {
            return MCP_ERR_MEMORY;
        }

        *item->rule = r->rule;

        if (r->rule.value.stream_after > r->catalog->stream_after) {
            r->catalog->stream_after = r->rule.value.stream_after;
        }
    }

    rc = mcp_catalog_check_names(r, kind, members, &item->key);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_catalog_check_schema(r, MCP_CATALOG_INPUT_SCHEMA,
                                  &members[MCP_CATALOG_INPUT_SCHEMA]);
    if (rc == MCP_OK) {
        rc = mcp_catalog_check_schema(r, MCP_CATALOG_OUTPUT_SCHEMA,
                                      &members[MCP_CATALOG_OUTPUT_SCHEMA]);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_arguments(r, &members[MCP_CATALOG_ARGUMENTS]);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_catalog_insert(r, kind, &members[mcp_catalog_key_of[kind]]);
    if (rc != MCP_OK) {
        return rc;
    }

    if (kind == MCP_LIST_TEMPLATES) {
        rc = mcp_match_create_template(&r->catalog->mem, item->key,
                                       &item->match, problem,
                                       sizeof(problem));

        if (rc == MCP_ERR_CONFIG) {
            return mcp_catalog_error(r,
                members[MCP_CATALOG_URI_TEMPLATE].raw.data, "%s", problem);
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    item->raw = value->raw;

    return mcp_catalog_add_text(r, set, item, private);
}


/* Sets members[], NONE where absent; *private if there are keys of ours. */
static int
mcp_catalog_read_members(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value, mcp_json_value_t *members, int *private)
{
    int                          i, rc;
    mcp_str_t                    raw, key;
    mcp_json_iter_t              iter;
    mcp_json_value_t             member;
    const mcp_catalog_member_t  *m;

    static const char *const     types[] = {
        "absent", "null", "true or false", "a number", "a string",
        "an object", "an array"
    };

    memset(members, 0, MCP_CATALOG_MEMBERS * sizeof(mcp_json_value_t));
    *private = 0;

    if (value->type != MCP_JSON_OBJECT) {
        return mcp_catalog_error(r, value->raw.data, "a %s must be an object",
                                 mcp_catalog_nouns[kind]);
    }

    mcp_json_iter_init(&iter, value->raw);

    while (mcp_json_iter_next(&iter, &raw, &member)) {

        if (mcp_json_unescape(&r->scratch, raw, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (mcp_catalog_is_private(key)) {
            *private = 1;

            rc = mcp_catalog_read_private(r, key, &member);
            if (rc != MCP_OK) {
                return rc;
            }

            continue;
        }

        i = mcp_catalog_member_find(kind, key);
        if (i < 0) {
            continue;
        }

        m = &mcp_catalog_members[i];

        if (members[i].type != MCP_JSON_NONE) {
            return mcp_catalog_error_key(r, raw.data, "duplicate key", key);
        }

        if (member.type != m->type) {
            return mcp_catalog_error(r, member.raw.data, "\"%s\" must be %s",
                                     m->key.data, types[m->type]);
        }

        members[i] = member;
    }

    for (i = 0; i < MCP_CATALOG_MEMBERS; i++) {
        m = &mcp_catalog_members[i];

        if (m->required && m->kinds & (1u << kind)
            && members[i].type == MCP_JSON_NONE)
        {
            return mcp_catalog_error(r, value->raw.data, "%s without \"%s\"",
                                     mcp_catalog_nouns[kind], m->key.data);
        }
    }

    return MCP_OK;
}


static int
mcp_catalog_read_private(mcp_catalog_reader_t *r, mcp_str_t key,
    const mcp_json_value_t *value)
{
    char         text[128];
    const char  *error;

    if (mcp_policy_read(&r->rule, key, value, &error) == MCP_OK) {
        return MCP_OK;
    }

    snprintf(text, sizeof(text), "\"%.*s\" %s", (int) key.len, key.data,
             error);

    return mcp_catalog_error(r, value->raw.data, "%s", text);
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


/* Decodes what names the item into the catalog's arena. */
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
                "a tool's name is 1 to %d of A-Z a-z 0-9 _ - .",
                MCP_CATALOG_NAME_MAX);
        }

        if (i == naming) {
            *key = text;
        }
    }

    return MCP_OK;
}


static int
mcp_catalog_check_schema(mcp_catalog_reader_t *r, unsigned member,
    const mcp_json_value_t *schema)
{
    mcp_json_value_t  type;

    if (schema->type == MCP_JSON_NONE) {
        return MCP_OK;
    }

    type = mcp_json_get(schema, mcp_str("type"));

    if (!mcp_json_str_eq(type.raw, mcp_str("object"))) {
        return mcp_catalog_error(r, schema->raw.data,
            "\"%s\" must have \"type\": \"object\"",
            mcp_catalog_members[member].key.data);
    }

    return MCP_OK;
}


static int
mcp_catalog_check_arguments(mcp_catalog_reader_t *r,
    const mcp_json_value_t *arguments)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  argument;

    if (arguments->type == MCP_JSON_NONE) {
        return MCP_OK;
    }

    mcp_json_iter_init(&iter, arguments->raw);

    while (mcp_json_iter_next(&iter, NULL, &argument)) {
        if (mcp_json_get(&argument, mcp_str("name")).type != MCP_JSON_STRING) {
            return mcp_catalog_error(r, argument.raw.data,
                "a prompt's argument must be an object with a \"name\"");
        }
    }

    return MCP_OK;
}


/* Enters the item behind the last one, whose key is set, into the table. */
static int
mcp_catalog_insert(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *at)
{
    char                 what[32];
    uint32_t             slot;
    mcp_catalog_set_t   *set;
    mcp_catalog_item_t  *item;

    set = &r->catalog->sets[kind];
    item = &set->items[set->n];

    if (mcp_catalog_lookup(set, item->key, &slot) != NULL) {
        (void) snprintf(what, sizeof(what), "duplicate %s",
                        mcp_catalog_nouns[kind]);

        return mcp_catalog_error_key(r, at->raw.data, what, item->key);
    }

    set->table[slot] = ++set->n;

    return MCP_OK;
}


static int
mcp_catalog_add_text(mcp_catalog_reader_t *r, mcp_catalog_set_t *set,
    mcp_catalog_item_t *item, int private)
{
    int  rc;

    if (item != set->items) {
        mcp_buf_lit(&set->text, ",");
    }

    item->start = set->text.len;

    if (private) {
        rc = mcp_catalog_add_public(r, &set->text, item->raw);
        if (rc != MCP_OK) {
            return rc;
        }

    } else {
        mcp_json_add_line(&set->text, item->raw);
    }

    item->end = set->text.len;

    return set->text.failed;
}


/* The item without the keys that are ours. */
static int
mcp_catalog_add_public(mcp_catalog_reader_t *r, mcp_buf_t *buf, mcp_str_t raw)
{
    int               first;
    mcp_str_t         raw_key, key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    first = 1;
    mcp_buf_lit(buf, "{");

    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, &raw_key, &value)) {

        if (mcp_json_unescape(&r->scratch, raw_key, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (mcp_catalog_is_private(key)) {
            continue;
        }

        if (!first) {
            mcp_buf_lit(buf, ",");
        }

        first = 0;

        mcp_buf_str(buf, raw_key);
        mcp_buf_lit(buf, ":");
        mcp_json_add_line(buf, value.raw);
    }

    mcp_buf_lit(buf, "}");

    return MCP_OK;
}


static int
mcp_catalog_is_private(mcp_str_t key)
{
    return key.len >= sizeof("x-mcp-") - 1
           && memcmp(key.data, "x-mcp-", sizeof("x-mcp-") - 1) == 0;
}


static int
mcp_catalog_is_tool_name(mcp_str_t name)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < name.len; i++) {
        c = (unsigned char) name.data[i];

        if ((c < '0' || c > '9') && (c < 'A' || c > 'Z')
            && (c < 'a' || c > 'z') && c != '_' && c != '.' && c != '-')
        {
            return 0;
        }
    }

    return name.len >= 1 && name.len <= MCP_CATALOG_NAME_MAX;
}


static int
mcp_catalog_json_error(mcp_catalog_reader_t *r, const mcp_json_error_t *e)
{
    const char  *at;

    at = r->catalog->text.data + e->offset;

    switch (e->problem) {

    case MCP_JSON_BAD_DEPTH:
        return mcp_catalog_error(r, at, "nested too deep");

    case MCP_JSON_BAD_DUPLICATE:
        return mcp_catalog_error(r, at, "duplicate key \"%s\"",
                                 mcp_catalog_fields[e->field].key.data);

    default:
        return mcp_catalog_error(r, at, "not valid JSON");
    }
}


/* at: where in the file. */
static int
mcp_catalog_error(mcp_catalog_reader_t *r, const char *at, const char *fmt,
    ...)
{
    int          n;
    size_t       line;
    va_list      args;
    const char  *p;

    line = 1;

    for (p = r->catalog->text.data; p < at; p++) {
        line += *p == '\n';
    }

    n = snprintf(r->error, r->size, "line %zu: ", line);

    if (n < 0 || (size_t) n >= r->size) {
        return MCP_ERR_CONFIG;
    }

    va_start(args, fmt);
    (void) vsnprintf(r->error + n, r->size - (size_t) n, fmt, args);
    va_end(args);

    return MCP_ERR_CONFIG;
}


/* The same with a key out of the file: shortened, made fit for a log. */
static int
mcp_catalog_error_key(mcp_catalog_reader_t *r, const char *at,
    const char *what, mcp_str_t key)
{
    char    shown[MCP_CATALOG_SHOWN + 1];
    size_t  i;

    for (i = 0; i < key.len && i < MCP_CATALOG_SHOWN; i++) {
        shown[i] = (unsigned char) key.data[i] < 0x20 || key.data[i] == 0x7f
                   ? '?' : key.data[i];
    }

    shown[i] = '\0';

    return mcp_catalog_error(r, at, "%s \"%s\"", what, shown);
}


/* The item of that key or NULL; *slot (may be NULL) is where it would be. */
static const mcp_catalog_item_t *
mcp_catalog_lookup(const mcp_catalog_set_t *set, mcp_str_t key, uint32_t *slot)
{
    uint32_t                   i;
    const mcp_catalog_item_t  *item;

    if (set->table == NULL) {
        return NULL;
    }

    i = mcp_catalog_hash(key) & set->mask;

    while (set->table[i] != 0) {
        item = &set->items[set->table[i] - 1];

        if (mcp_str_eq(item->key, key)) {
            return item;
        }

        i = (i + 1) & set->mask;
    }

    if (slot != NULL) {
        *slot = i;
    }

    return NULL;
}


/* FNV-1a: the keys are the operator's, nobody chooses them to collide. */
static uint32_t
mcp_catalog_hash(mcp_str_t key)
{
    size_t    i;
    uint32_t  hash;

    hash = 2166136261u;

    for (i = 0; i < key.len; i++) {
        hash = (hash ^ (unsigned char) key.data[i]) * 16777619u;
    }

    return hash ^ hash >> 15;
}


static void
mcp_catalog_cursor_make(const mcp_catalog_t *catalog, mcp_list_e kind,
    uint32_t pos, unsigned char cursor[MCP_CATALOG_CURSOR_LEN])
{
    cursor[0] = (unsigned char) (pos >> 24);
    cursor[1] = (unsigned char) (pos >> 16);
    cursor[2] = (unsigned char) (pos >> 8);
    cursor[3] = (unsigned char) pos;
    cursor[4] = (unsigned char) kind;

    memcpy(cursor + 5, catalog->digest, MCP_CATALOG_CURSOR_LEN - 5);
}


/* A cursor is ours if it is what we would make of its position. */
static int
mcp_catalog_cursor_read(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t text, uint32_t *pos)
{
    size_t         len;
    uint32_t       n;
    unsigned char  ours[MCP_CATALOG_CURSOR_LEN];
    unsigned char  cursor[MCP_CATALOG_CURSOR_LEN];

    if (mcp_base64url_decode(text, cursor, sizeof(cursor), &len) != MCP_OK
        || len != sizeof(cursor))
    {
        return MCP_ERR_NOT_FOUND;
    }

    n = (uint32_t) cursor[0] << 24 | (uint32_t) cursor[1] << 16
        | (uint32_t) cursor[2] << 8 | cursor[3];

    mcp_catalog_cursor_make(catalog, kind, n, ours);

    if (memcmp(cursor, ours, sizeof(cursor)) != 0
        || n == 0 || n >= catalog->sets[kind].n)
    {
        return MCP_ERR_NOT_FOUND;
    }

    *pos = n;

    return MCP_OK;
}
