/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "x-mcp-header": the properties of a tool's arguments that clients repeat in
 * headers. A client removes a tool from its list, without a message to the
 * server, if one annotation violates a rule; so a violation is an error here.
 */


#include "config/mcp_catalog_header.h"
#include "config/mcp_catalog_internal.h"
#include "http/mcp_http_accept.h"
#include "http/mcp_mirrored_header.h"


#define mcp_catalog_annotation  mcp_str("x-mcp-header")


/*
 * The kinds of values that a keyword of a schema can have (JSON Schema 2020-12
 * and older versions). The kind decides where in the value annotations
 * "x-mcp-header" are searched. Values of keywords that mcp_catalog_keywords[]
 * does not list are searched as if they were schemas.
 */
typedef enum {
    MCP_CATALOG_SCHEMA = 0,
    MCP_CATALOG_PROPERTIES,    /* an object with a schema for each property
                                  name */
    MCP_CATALOG_SCHEMAS,       /* an object with a schema for each other name */
    MCP_CATALOG_PLAIN          /* a value without schemas */
} mcp_catalog_keyword_e;

typedef struct {
    mcp_str_t              name;
    mcp_catalog_keyword_e  is;
} mcp_catalog_keyword_t;

static const mcp_catalog_keyword_t  mcp_catalog_keywords[] = {
    { mcp_str("properties"), MCP_CATALOG_PROPERTIES },
    { mcp_str("patternProperties"), MCP_CATALOG_SCHEMAS },
    { mcp_str("dependentSchemas"), MCP_CATALOG_SCHEMAS },
    { mcp_str("dependencies"), MCP_CATALOG_SCHEMAS },
    { mcp_str("$defs"), MCP_CATALOG_SCHEMAS },
    { mcp_str("definitions"), MCP_CATALOG_SCHEMAS },
    { mcp_str("dependentRequired"), MCP_CATALOG_PLAIN },
    { mcp_str("const"), MCP_CATALOG_PLAIN },
    { mcp_str("enum"), MCP_CATALOG_PLAIN },
    { mcp_str("default"), MCP_CATALOG_PLAIN },
    { mcp_str("example"), MCP_CATALOG_PLAIN },
    { mcp_str("examples"), MCP_CATALOG_PLAIN }
};

#define MCP_CATALOG_KEYWORDS                                                 \
    (sizeof(mcp_catalog_keywords) / sizeof(mcp_catalog_keywords[0]))


/* The walk through the inputSchema of one tool. */
typedef struct {
    mcp_catalog_reader_t    *reader;
    const mcp_json_value_t  *root;
    size_t                   depth;            /* number of properties on the
                                                  path to the current schema */
    unsigned                 astray;           /* number of keywords other than
                                                  "properties" on the path to
                                                  the current schema */
    size_t                   levels;           /* number of schemas and arrays
                                                  around the current schema */
    mcp_str_t                path[MCP_CATALOG_DEPTH];  /* raw */
    size_t                   n;
    mcp_catalog_header_t     headers[MCP_CATALOG_HEADERS_MAX];
} mcp_catalog_walk_t;


static int mcp_catalog_walk(mcp_catalog_walk_t *w,
    const mcp_json_value_t *schema);


/* Sets *out to the unescaped text of a raw string. *out is valid as long as the
 * catalog's arena. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_catalog_keep(mcp_catalog_walk_t *w, mcp_str_t raw, mcp_str_t *out)
{
    mcp_arena_t  *arena;

    arena = &w->reader->catalog->arena;

    if (mcp_json_unescape(arena, raw, out) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    if (w->reader->copies) {
        *out = mcp_arena_dup(arena, *out);
    }

    return out->data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Copies the names on the path to the current schema, unescaped, into the
 * header. */
static int
mcp_catalog_keep_path(mcp_catalog_walk_t *w, mcp_catalog_header_t *header)
{
    size_t      i;
    mcp_str_t  *path;

    path = mcp_arena_alloc(&w->reader->catalog->arena,
                           w->depth * sizeof(mcp_str_t));
    if (path == NULL) {
        return MCP_ERR_MEMORY;
    }

    for (i = 0; i < w->depth; i++) {
        if (mcp_catalog_keep(w, w->path[i], &path[i]) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }
    }

    header->path = path;
    header->depth = w->depth;

    return MCP_OK;
}


/*
 * Checks the path of a header from the root of the inputSchema to the property.
 * Writes an error and returns MCP_ERR_CONFIG if an object on the path has two
 * members with the name that the path uses, because some JSON parsers use the
 * first member and some the last. Otherwise returns MCP_OK.
 */
static int
mcp_catalog_check_path(mcp_catalog_walk_t *w,
    const mcp_catalog_header_t *header)
{
    int               rc;
    size_t            i;
    mcp_json_value_t  schema, properties;

    schema = *w->root;
    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && i < header->depth; i++) {
        rc = mcp_json_get_once(&schema, mcp_str("properties"), &properties);

        if (rc == MCP_OK) {
            rc = mcp_json_get_once(&properties, header->path[i], &schema);
        }
    }

    if (rc == MCP_OK) {
        rc = mcp_json_get_once(&schema, mcp_catalog_annotation, &properties);
    }

    return rc == MCP_OK ? MCP_OK
           : mcp_catalog_error(w->reader, header->at,
                               "\"x-mcp-header\", or a key on the path to it, "
                               "occurs twice");
}


static int
mcp_catalog_take_type(mcp_catalog_walk_t *w, const mcp_json_value_t *schema,
    mcp_catalog_header_t *header)
{
    size_t            i;
    mcp_json_value_t  type;

    static const mcp_str_t  types[] = {
        [MCP_CATALOG_STRING] = mcp_str("string"),
        [MCP_CATALOG_INTEGER] = mcp_str("integer"),
        [MCP_CATALOG_BOOLEAN] = mcp_str("boolean")
    };

    if (mcp_json_get_once(schema, mcp_str("type"), &type) == MCP_OK) {
        for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            if (mcp_json_str_eq(type.raw, types[i])) {
                header->type = (mcp_catalog_type_e) i;
                return MCP_OK;
            }
        }
    }

    return mcp_catalog_error(w->reader, header->at,
                             "\"x-mcp-header\" is allowed only for "
                             "properties of the type string, integer or "
                             "boolean");
}


/* Returns 1 if two properties of a tool cannot have these names of headers. In
 * a catalog, each header of a tool has its own variable $mcp_param_..., because
 * access rules may use it. For an MCP server's tool, only the protocol's rule
 * applies. */
static int
mcp_catalog_is_same(const mcp_catalog_walk_t *w, mcp_str_t a, mcp_str_t b)
{
    return w->reader->copies ? mcp_str_case_eq(a, b)
                             : mcp_tool_param_alike(a, b);
}


static int
mcp_catalog_check_name(mcp_catalog_walk_t *w,
    const mcp_catalog_header_t *header)
{
    size_t  i;

    if (!mcp_http_is_token(header->name)) {
        return mcp_catalog_error(w->reader, header->at,
                                 "\"x-mcp-header\" must be a token "
                                 "(RFC 9110, 5.6.2)");
    }

    for (i = 0; i < w->n; i++) {
        if (mcp_catalog_is_same(w, w->headers[i].name, header->name)) {
            return mcp_catalog_error_key(w->reader, header->at,
                                         "two properties of the tool have the "
                                         "same \"x-mcp-header\" (upper and "
                                         "lower case are equal, and so are "
                                         "\"-\" and \"_\"):",
                                         header->name);
        }
    }

    return MCP_OK;
}


/*
 * Appends the header that an annotation "x-mcp-header" defines to w->headers.
 * schema is the schema with the annotation, value the annotation's value.
 * Returns MCP_OK, MCP_ERR_CONFIG if the annotation is invalid, or
 * MCP_ERR_MEMORY.
 */
static int
mcp_catalog_take_header(mcp_catalog_walk_t *w, const mcp_json_value_t *schema,
    const mcp_json_value_t *value)
{
    int                    rc;
    mcp_catalog_reader_t  *r;
    mcp_catalog_header_t  *header;

    r = w->reader;

    if (w->astray > 0 || w->depth == 0) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-header\" is allowed only in a "
                                 "property, at any depth, but not within other "
                                 "keywords of the schema, such as \"items\"");
    }

    if (value->type != MCP_JSON_STRING) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-header\" must be a string");
    }

    if (w->n == MCP_CATALOG_HEADERS_MAX) {
        return mcp_catalog_error(r, value->raw.data,
                                 "a tool has more than %d properties with "
                                 "\"x-mcp-header\"",
                                 MCP_CATALOG_HEADERS_MAX);
    }

    header = &w->headers[w->n];
    header->at = value->raw.data;

    if (mcp_catalog_keep(w, value->raw, &header->name) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_catalog_check_name(w, header);

    if (rc == MCP_OK) {
        rc = mcp_catalog_take_type(w, schema, header);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_keep_path(w, header);
    }

    if (rc == MCP_OK) {
        rc = mcp_catalog_check_path(w, header);
    }

    w->n++;

    return rc;
}


/* Searches the schemas in an object or an array for annotations. If properties
 * is 1, the keys of the object are names of properties, and are appended to
 * w->path. */
static int
mcp_catalog_walk_each(mcp_catalog_walk_t *w, const mcp_json_value_t *schemas,
    int properties)
{
    int               rc;
    mcp_str_t         name;
    mcp_json_iter_t   iter;
    mcp_json_value_t  schema;

    rc = MCP_OK;
    name = mcp_null_str;
    mcp_json_iter_init(&iter, schemas->raw);

    while (rc == MCP_OK && mcp_json_iter_next(&iter, &name, &schema)) {

        if (properties) {
            w->path[w->depth++] = name;
        }

        rc = mcp_catalog_walk(w, &schema);

        w->depth -= properties ? 1 : 0;
    }

    return rc;
}


static mcp_catalog_keyword_e
mcp_catalog_keyword(mcp_str_t raw)
{
    size_t  i;

    for (i = 0; i < MCP_CATALOG_KEYWORDS; i++) {
        if (mcp_json_str_eq(raw, mcp_catalog_keywords[i].name)) {
            return mcp_catalog_keywords[i].is;
        }
    }

    return MCP_CATALOG_SCHEMA;
}


static int
mcp_catalog_walk_member(mcp_catalog_walk_t *w, mcp_str_t raw,
    const mcp_json_value_t *value)
{
    int                    rc;
    mcp_catalog_keyword_e  keyword;

    keyword = mcp_catalog_keyword(raw);

    if (keyword == MCP_CATALOG_PLAIN) {
        return MCP_OK;
    }

    if (keyword == MCP_CATALOG_PROPERTIES) {
        return value->type == MCP_JSON_OBJECT
               ? mcp_catalog_walk_each(w, value, 1) : MCP_OK;
    }

    w->astray++;

    rc = keyword == MCP_CATALOG_SCHEMAS && value->type == MCP_JSON_OBJECT
         ? mcp_catalog_walk_each(w, value, 0) : mcp_catalog_walk(w, value);

    w->astray--;

    return rc;
}


static int
mcp_catalog_walk_members(mcp_catalog_walk_t *w, const mcp_json_value_t *schema)
{
    int               rc;
    mcp_str_t         raw;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    rc = MCP_OK;
    mcp_json_iter_init(&iter, schema->raw);

    while (rc == MCP_OK && mcp_json_iter_next(&iter, &raw, &value)) {
        rc = mcp_json_str_eq(raw, mcp_catalog_annotation)
             ? mcp_catalog_take_header(w, schema, &value)
             : mcp_catalog_walk_member(w, raw, &value);
    }

    return rc;
}


/* Searches a schema, or an array of schemas, for annotations "x-mcp-header".
 * Values of other types have none. */
static int
mcp_catalog_walk(mcp_catalog_walk_t *w, const mcp_json_value_t *schema)
{
    int  rc;

    if (schema->type != MCP_JSON_ARRAY && schema->type != MCP_JSON_OBJECT) {
        return MCP_OK;
    }

    if (w->levels == MCP_CATALOG_DEPTH) {
        return mcp_catalog_error(w->reader, schema->raw.data,
                                 "the schema is nested too deeply");
    }

    w->levels++;

    rc = schema->type == MCP_JSON_ARRAY ? mcp_catalog_walk_each(w, schema, 0)
                                        : mcp_catalog_walk_members(w, schema);

    w->levels--;

    return rc;
}


int
mcp_catalog_read_headers(mcp_catalog_reader_t *r, mcp_catalog_item_t *item,
    const mcp_json_value_t *schema)
{
    int                 rc;
    mcp_catalog_walk_t  w;

    w.reader = r;
    w.root = schema;
    w.depth = 0;
    w.astray = 0;
    w.levels = 0;
    w.n = 0;

    rc = mcp_catalog_walk(&w, schema);

    if (rc != MCP_OK || w.n == 0) {
        return rc;
    }

    item->headers = mcp_arena_alloc(&r->catalog->arena,
                                    w.n * sizeof(mcp_catalog_header_t));
    if (item->headers == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(item->headers, w.headers, w.n * sizeof(mcp_catalog_header_t));
    item->n_headers = w.n;

    return MCP_OK;
}


int
mcp_catalog_headers_of(mcp_arena_t *arena, const mcp_json_value_t *schema,
    const mcp_catalog_header_t **headers, size_t *n)
{
    int                   rc;
    char                  error[1];
    mcp_catalog_t         catalog;
    mcp_catalog_item_t    item;
    mcp_catalog_reader_t  reader;

    memset(&catalog, 0, sizeof(mcp_catalog_t));
    memset(&item, 0, sizeof(mcp_catalog_item_t));
    memset(&reader, 0, sizeof(mcp_catalog_reader_t));

    catalog.arena = *arena;
    catalog.text = schema->raw;
    reader.catalog = &catalog;
    reader.copies = 1;
    reader.error = error;
    reader.size = sizeof(error);

    rc = mcp_catalog_read_headers(&reader, &item, schema);

    *arena = catalog.arena;
    *headers = item.headers;
    *n = item.n_headers;

    return rc;
}


const mcp_catalog_header_t *
mcp_catalog_headers(const mcp_catalog_t *catalog, mcp_str_t tool, size_t *n)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_lookup(&catalog->sets[MCP_LIST_TOOLS], tool, NULL);

    *n = item ? item->n_headers : 0;

    return item ? item->headers : NULL;
}


const mcp_catalog_header_t *
mcp_catalog_header_dropped(const mcp_catalog_t *catalog,
    int (*drops)(void *ctx, mcp_str_t name), void *ctx, size_t *line)
{
    size_t                    i, k;
    const mcp_catalog_set_t  *tools;
    mcp_catalog_header_t     *header;

    tools = &catalog->sets[MCP_LIST_TOOLS];

    for (i = 0; i < tools->n; i++) {
        for (k = 0; k < tools->items[i].n_headers; k++) {
            header = &tools->items[i].headers[k];

            if (drops(ctx, header->name)) {
                *line = mcp_catalog_line(catalog, header->at);
                return header;
            }
        }
    }

    return NULL;
}


/* --- the headers of a call --- */

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


char
mcp_tool_param_char(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (char) (c | 0x20);
    }

    return c == '-' ? '_' : c;
}


int
mcp_tool_param_alike(mcp_str_t a, mcp_str_t b)
{
    size_t  i;

    if (a.len != b.len) {
        return 0;
    }

    for (i = 0; i < a.len; i++) {
        if (mcp_tool_param_char(a.data[i]) != mcp_tool_param_char(b.data[i])) {
            return 0;
        }
    }

    return 1;
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
