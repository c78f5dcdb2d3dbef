/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads a catalog file: its top level and the members that describe the server
 * itself. mcp_catalog_read_item.c reads each item. Builds the public texts of
 * the items, and writes error messages with the position in the file.
 */


#include <stdarg.h>
#include <stdio.h>

#include "base/mcp_str.h"
#include "config/mcp_catalog_internal.h"
#include "rpc/mcp_digest.h"


#define MCP_CATALOG_ITEMS_MAX    (UINT32_MAX / 4)

/* number of bytes of a name that an error message shows */
#define MCP_CATALOG_SHOWN        80


size_t
mcp_catalog_line(const mcp_catalog_t *catalog, const char *at)
{
    size_t       line;
    const char  *p;

    line = 1;

    for (p = catalog->text.data; p < at; p++) {
        line += *p == '\n';
    }

    return line;
}


int
mcp_catalog_error(mcp_catalog_reader_t *r, const char *at, const char *fmt,
    ...)
{
    int      n;
    va_list  args;

    n = snprintf(r->error, r->size, "line %zu: ",
                 mcp_catalog_line(r->catalog, at));

    if (n < 0 || (size_t) n >= r->size) {
        return MCP_ERR_CONFIG;
    }

    va_start(args, fmt);
    (void) vsnprintf(r->error + n, r->size - (size_t) n, fmt, args);
    va_end(args);

    return MCP_ERR_CONFIG;
}


int
mcp_catalog_error_key(mcp_catalog_reader_t *r, const char *at,
    const char *problem, mcp_str_t key)
{
    char    shown[MCP_CATALOG_SHOWN + 1];
    size_t  i;

    for (i = 0; i < key.len && i < MCP_CATALOG_SHOWN; i++) {
        shown[i] = (unsigned char) key.data[i] < 0x20 || key.data[i] == 0x7f
                   ? '?' : key.data[i];
    }

    shown[i] = '\0';

    return mcp_catalog_error(r, at, "%s \"%s\"", problem, shown);
}


/* Returns the first byte that is not valid UTF-8, NULL if all are. */
static const char *
mcp_catalog_not_utf8(mcp_str_t text)
{
    size_t         i, len;
    unsigned char  c;

    for (i = 0; i < text.len; i += len) {
        c = (unsigned char) text.data[i];
        len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

        if (len > text.len - i
            || !mcp_utf8_valid((mcp_str_t) { text.data + i, len }))
        {
            return text.data + i;
        }
    }

    return NULL;
}


/*
 * Returns the number of bytes between the start of the line and "at", plus 1.
 */
static size_t
mcp_catalog_column(mcp_str_t text, const char *at)
{
    const char  *p;

    for (p = at; p > text.data && p[-1] != '\n'; p--) { /* void */ }

    return (size_t) (at - p) + 1;
}


/* Writes the reason why a text is not JSON. Returns MCP_ERR_CONFIG. */
static int
mcp_catalog_syntax_error(mcp_catalog_reader_t *r, const char *at)
{
    size_t       i;
    mcp_str_t    text;
    const char  *bad;

    text = r->catalog->text;

    for (i = 0; i < text.len && memchr(" \t\r\n", text.data[i], 4); i++) {
        /* void */
    }

    if (i == text.len) {
        return mcp_catalog_error(r, text.data, "the file is empty: an empty "
                                 "catalog is {}");
    }

    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        return mcp_catalog_error(r, text.data, "the file begins with a byte "
                                 "order mark: save it as UTF-8 without one");
    }

    if (text.len >= 2 && (memcmp(text.data, "\xff\xfe", 2) == 0
                          || memcmp(text.data, "\xfe\xff", 2) == 0))
    {
        return mcp_catalog_error(r, text.data, "the file is UTF-16: save it "
                                 "as UTF-8");
    }

    bad = mcp_catalog_not_utf8(text);

    if (bad) {
        return mcp_catalog_error(r, bad, "column %zu: byte 0x%02x is not "
                                 "UTF-8: save the file as UTF-8, not as "
                                 "Latin-1", mcp_catalog_column(text, bad),
                                 (unsigned char) *bad);
    }

    return mcp_catalog_error(r, at, "not valid JSON near column %zu",
                             mcp_catalog_column(text, at));
}


static int
mcp_catalog_json_error(mcp_catalog_reader_t *r, const mcp_json_error_t *e)
{
    const char  *at;

    at = r->catalog->text.data + e->offset;

    switch (e->problem) {

    case MCP_JSON_BAD_DEPTH:
        return mcp_catalog_error(r, at,
                                 "the JSON is nested deeper than %d levels",
                                 MCP_CATALOG_DEPTH);

    case MCP_JSON_BAD_DUPLICATE:
        return mcp_catalog_error(r, at, "duplicate key \"%s\"",
                                 mcp_catalog_fields[e->field].key.data);

    default:
        return mcp_catalog_syntax_error(r, at);
    }
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


/* --- members that describe the server --- */

/*
 * Returns 1 if the text begins and ends with a letter or digit and contains
 * only letters, digits and the given marks.
 */
static int
mcp_catalog_is_word(const char *p, const char *end, const char *marks)
{
    const char  *last;

    last = end - 1;

    if (p == end || !mcp_is_alnum((unsigned char) *p)
        || !mcp_is_alnum((unsigned char) *last))
    {
        return 0;
    }

    for (/* void */; p < last; p++) {
        if (!mcp_is_alnum((unsigned char) *p)
            && (*p == '\0' || !strchr(marks, *p)))
        {
            return 0;
        }
    }

    return 1;
}


/*
 * Returns 1 if the key has the form of an extension identifier: that of a key
 * of _meta with a prefix (2026-07-28, basic/index, "_meta", "Key name format";
 * schema, ServerCapabilities).
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

        if (!mcp_catalog_is_word(p, dot, "-") || (*p >= '0' && *p <= '9')) {
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
                                         "the identifier of an extension must "
                                         "have the form com.example/name:",
                                         key);
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


/* Sets *out to a copy of a raw value in the catalog's arena, on one line. *out
 * is unchanged if the value is absent. Returns MCP_OK or MCP_ERR_MEMORY. */
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
mcp_catalog_read_about(mcp_catalog_reader_t *r, const mcp_json_value_t *values)
{
    int             rc;
    size_t          i;
    mcp_catalog_t  *catalog = r->catalog;

    const struct {
        unsigned          field;
        mcp_json_type_e   type;
        mcp_str_t        *value;
    } members[] = {
        { MCP_CATALOG_INSTRUCTIONS, MCP_JSON_STRING,
          &catalog->info.instructions },
        { MCP_CATALOG_COMPLETIONS, MCP_JSON_BOOL, NULL },
        { MCP_CATALOG_EXTENSIONS, MCP_JSON_OBJECT, &catalog->info.extensions },
        { MCP_CATALOG_ICONS, MCP_JSON_ARRAY, &catalog->info.icons },
        { MCP_CATALOG_WEBSITE_URL, MCP_JSON_STRING,
          &catalog->info.website_url },
        { MCP_CATALOG_DESCRIPTION, MCP_JSON_STRING,
          &catalog->info.description }
    };

    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && i < sizeof(members) / sizeof(members[0]); i++) {
        if (values[members[i].field].type != MCP_JSON_NONE) {
            rc = mcp_catalog_check_type(r, &values[members[i].field],
                                        mcp_catalog_fields[members[i].field]
                                        .key, members[i].type);
        }
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_extensions(r, &values[MCP_CATALOG_EXTENSIONS]);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_each(r, &values[MCP_CATALOG_ICONS],
                                    mcp_str("src"), "an icon must be an object "
                                    "with a \"src\"");
    }

    for (i = 0; rc == MCP_OK && i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].value) {
            rc = mcp_catalog_keep(catalog, &values[members[i].field],
                                  members[i].value);
        }
    }

    catalog->info.completions = (mcp_str_eq(values[MCP_CATALOG_COMPLETIONS].raw,
                                       mcp_str("true")) != 0);

    return rc;
}


/* --- lists of items --- */

/*
 * Allocates memory for the items of an array, and a hash table that is at most
 * half full when it contains all of them. Returns MCP_OK, MCP_ERR_CONFIG if
 * there are too many items, or MCP_ERR_MEMORY.
 */
static int
mcp_catalog_set_init(mcp_catalog_reader_t *r, mcp_catalog_set_t *set,
    const mcp_json_value_t *array)
{
    size_t        n, slots;
    mcp_arena_t  *arena;

    n = mcp_json_count(array->raw, SIZE_MAX);

    if (n == 0) {
        return MCP_OK;
    }

    if (n > MCP_CATALOG_ITEMS_MAX) {
        return mcp_catalog_error(r, array->raw.data,
                                 "a list has more than %u items",
                                 (unsigned) MCP_CATALOG_ITEMS_MAX);
    }

    for (slots = 2; slots < n * 2; slots *= 2) { /* void */ }

    arena = &r->catalog->arena;

    set->mask = (uint32_t) (slots - 1);
    set->table = mcp_arena_calloc(arena, slots * sizeof(uint32_t));
    set->items = mcp_arena_calloc(arena, n * sizeof(mcp_catalog_item_t));

    if (set->table == NULL || set->items == NULL) {
        return MCP_ERR_MEMORY;
    }

    return MCP_OK;
}


/* --- public texts of the items --- */

/*
 * Appends the public text of an item: its JSON without the keys "x-mcp-...",
 * which are settings of this server, and without the members that the filter
 * removes (MCP_REVISION_FILTER_...).
 */
static int
mcp_catalog_add_public(mcp_catalog_reader_t *r, const mcp_catalog_item_t *item,
    unsigned filter, mcp_buf_t *buf)
{
    mcp_str_t         raw_key, key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_buf_lit(buf, "{");
    mcp_json_iter_init(&iter, item->raw);

    while (mcp_json_iter_next(&iter, &raw_key, &value)) {

        if (mcp_json_unescape(&r->scratch, raw_key, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (mcp_catalog_is_private(key)
            || (filter
                && (mcp_revision_filter_member(raw_key, &value) & filter)))
        {
            continue;
        }

        mcp_json_add_key(buf, raw_key);
        mcp_json_add_compact(buf, value.raw);
    }

    mcp_buf_lit(buf, "}");

    return MCP_OK;
}


static int
mcp_catalog_make_text(mcp_catalog_reader_t *r, const mcp_catalog_set_t *set,
    unsigned filter, mcp_catalog_text_t *text)
{
    uint32_t                   i;
    const mcp_catalog_item_t  *item;

    text->ends = mcp_arena_alloc(&r->catalog->arena, set->n * sizeof(size_t));
    if (text->ends == NULL) {
        return MCP_ERR_MEMORY;
    }

    for (i = 0; i < set->n; i++) {
        item = &set->items[i];
        mcp_arena_reset(&r->scratch);

        if (i > 0) {
            mcp_buf_lit(&text->items, ",");
        }

        if (!item->private && !(item->filter & filter)) {
            mcp_json_add_compact(&text->items, item->raw);

        } else if (mcp_catalog_add_public(r, item, item->filter & filter,
                                          &text->items)
                   != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        text->ends[i] = text->items.len;
    }

    return text->items.failed;
}


static int
mcp_catalog_make_texts(mcp_catalog_reader_t *r, mcp_catalog_set_t *set)
{
    int                  rc;
    unsigned             filter;
    mcp_revision_e       revision;
    mcp_catalog_text_t  *text;

    if (set->n == 0) {
        return MCP_OK;
    }

    rc = mcp_catalog_make_text(r, set, 0, &set->texts[0]);

    for (revision = mcp_revision_next(MCP_REVISION_NONE);
         rc == MCP_OK && revision != MCP_REVISION_NONE;
         revision = mcp_revision_next(revision))
    {
        filter = mcp_revision_filter(revision) & set->filter;
        text = &set->texts[filter];

        if (text->ends == NULL) {
            rc = mcp_catalog_make_text(r, set, filter, text);
        }
    }

    return rc;
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

    rc = mcp_catalog_check_type(r, array, mcp_catalog_fields[kind].key,
                                MCP_JSON_ARRAY);

    if (rc == MCP_OK) {
        set->present = 1;
        rc = mcp_catalog_set_init(r, set, array);
    }

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

    return mcp_catalog_make_texts(r, set);
}


/*
 * Computes the digest of the items of a kind, as clients see them. An absent
 * array has no digest, but an empty array has one.
 */
static int
mcp_catalog_digest_set(mcp_catalog_t *catalog, mcp_list_e kind)
{
    int         rc;
    mcp_buf_t   list;

    if (!catalog->sets[kind].present) {
        return MCP_OK;
    }

    mcp_buf_init(&list, &catalog->mem, SIZE_MAX / 2);
    rc = mcp_catalog_list(catalog, kind, 0, mcp_null_str, 0, NULL, &list);

    if (rc == MCP_OK) {
        rc = mcp_digest_params(&catalog->mem, mcp_buf_text(&list),
                               MCP_CATALOG_DEPTH, catalog->sets[kind].digest);
    }

    mcp_buf_free(&list);

    return rc;
}


static int
mcp_catalog_read(mcp_catalog_reader_t *r)
{
    int                rc, kind;
    mcp_catalog_t     *catalog;
    mcp_json_error_t   e;
    mcp_json_value_t   root, values[MCP_CATALOG_FIELDS];

    catalog = r->catalog;

    rc = mcp_json_scan_config(&r->scratch, catalog->text, MCP_CATALOG_DEPTH,
                              mcp_catalog_fields, MCP_CATALOG_FIELDS, &root,
                              values, &e);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_SYNTAX ? mcp_catalog_json_error(r, &e) : rc;
    }

    mcp_arena_reset(&r->scratch);

    rc = mcp_catalog_read_root(r, &root);

    for (kind = 0; rc == MCP_OK && kind < MCP_LIST_COUNT; kind++) {
        if (values[kind].type != MCP_JSON_NONE) {
            rc = mcp_catalog_read_set(r, (mcp_list_e) kind, &values[kind]);
        }
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_read_about(r, values);
    }

    for (kind = 0; rc == MCP_OK && kind < MCP_LIST_COUNT; kind++) {
        rc = mcp_catalog_digest_set(catalog, (mcp_list_e) kind);
    }

    return rc == MCP_OK ? mcp_digest(catalog->digest, &catalog->text, 1) : rc;
}


/* Returns an empty catalog, or NULL when out of memory. */
static mcp_catalog_t *
mcp_catalog_alloc(const mcp_mem_t *mem)
{
    int             kind, filter;
    mcp_catalog_t  *catalog;

    catalog = mcp_mem_calloc(mem, sizeof(mcp_catalog_t));
    if (catalog == NULL) {
        return NULL;
    }

    catalog->mem = *mem;
    mcp_arena_init(&catalog->arena, &catalog->mem);

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        for (filter = 0; filter < MCP_REVISION_FILTER_SETS; filter++) {
            mcp_buf_init(&catalog->sets[kind].texts[filter].items,
                         &catalog->mem, SIZE_MAX / 2);
        }
    }

    return catalog;
}


int
mcp_catalog_create(const mcp_mem_t *mem, mcp_str_t text, mcp_catalog_t **out,
    char *error, size_t size)
{
    int                    rc;
    mcp_catalog_t         *catalog;
    mcp_catalog_reader_t   r;

    catalog = mcp_catalog_alloc(mem);
    if (catalog == NULL) {
        return MCP_ERR_MEMORY;
    }

    r.catalog = catalog;
    r.error = error;
    r.size = size;
    r.copies = 0;
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
