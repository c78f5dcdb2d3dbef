/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The catalog: tools, prompts, resources and resource templates from one JSON
 * file, read at configuration time and constant afterwards.
 */


#ifndef MCP_CATALOG_H_INCLUDED
#define MCP_CATALOG_H_INCLUDED


#include "rpc/mcp_method.h"
#include "json/mcp_json_scan.h"
#include "base/mcp_arena.h"
#include "base/mcp_match.h"
#include "config/mcp_call_policy.h"


typedef struct mcp_catalog_s  mcp_catalog_t;


/*
 * Reads a catalog from a text, which is copied.
 *
 * The top-level keys are "tools", "prompts", "resources", "resourceTemplates"
 * (arrays), "instructions" (a string), "completions" (a boolean:
 * completion/complete is offered), "extensions" (an object with their
 * settings) and further information about the server: "icons", "websiteUrl"
 * and "description". Any other key is an error, so that misspelt keys are
 * detected.
 *
 * Each item is an object with the members that the schema requires: a tool has
 * a name ([A-Za-z0-9_.-]{1,128}) and an inputSchema of type "object", a prompt
 * a name, a resource a uri and a name, a template a uriTemplate and a name.
 * Names, or URIs, are unique. Keys of an item that begin with "x-mcp-" are
 * settings of this server and are not shown to clients; mcp_call_policy.h lists
 * their values. Clients do see "x-mcp-header" of a property in an inputSchema.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error (size bytes) is "line N: reason"
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_create(const mcp_mem_t *mem, mcp_str_t text,
    mcp_catalog_t **catalog, char *error, size_t size);
void mcp_catalog_free(mcp_catalog_t *catalog);

/* Returns 1 if the catalog has the array of this kind, even an empty one. */
int mcp_catalog_has(const mcp_catalog_t *catalog, mcp_list_e kind);

/*
 * Returns a digest of the items of this kind as clients see them. It does not
 * depend on white space, escapes or the order of members in the file.
 */
const unsigned char *mcp_catalog_digest(const mcp_catalog_t *catalog,
    mcp_list_e kind);

/*
 * The part of a catalog that does not belong to one item: the members of the
 * file about the server itself, as raw JSON on one line, or empty if they are
 * absent, and a summary of the items.
 */
typedef struct {
    mcp_str_t  instructions;   /* a JSON string */
    mcp_str_t  extensions;     /* object with the extensions that the server
                                  supports, by their identifiers */
    mcp_str_t  description;
    mcp_str_t  website_url;
    mcp_str_t  icons;
    unsigned   completions:1;  /* 1: completion/complete is offered */
    unsigned   outputs:1;      /* 1: some tool has an outputSchema */
    unsigned   joins:1;        /* 1: calls of some item can be joined */
    unsigned   scoped:1;       /* 1: some item needs a scope */
    unsigned   tasks:1;        /* 1: calls of some tool can become tasks because
                                  of its "x-mcp-task", even if mcp_task_after
                                  is off */
    uint64_t   stream_after;   /* longest stream_after of an item, ms; 0: no
                                  item has one */
} mcp_catalog_info_t;

const mcp_catalog_info_t *mcp_catalog_info(const mcp_catalog_t *catalog);

/*
 * Returns the raw JSON of an item as it is in the file, with this server's
 * keys; its data is NULL if the item does not exist. The key of
 * MCP_LIST_TEMPLATES is a URI, and the first template of the file that matches
 * the URI is returned.
 */
mcp_str_t mcp_catalog_find(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);

/* Returns the number of items of all kinds. */
size_t mcp_catalog_items(const mcp_catalog_t *catalog);

/* Returns the key of an item and sets *kind. The items of all kinds are
 * numbered together, from 0. */
mcp_str_t mcp_catalog_key(const mcp_catalog_t *catalog, size_t number,
    mcp_list_e *kind);

/*
 * Sets *number to the number (mcp_catalog_key()) of the item that
 * mcp_catalog_find() returns.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the item does not exist
 */
int mcp_catalog_number(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key, size_t *number);

/* Returns 1 if the tool has an outputSchema: its results must then have
 * structuredContent. */
int mcp_catalog_has_output(const mcp_catalog_t *catalog, mcp_str_t tool);

/* Returns the scopes that callers of the item need, separated by spaces; empty
 * if they need none. */
mcp_str_t mcp_catalog_scope(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key);

/*
 * Finds the next template that matches a URI, from index *i on. Returns 1 and
 * sets *text (the template in normal form, see mcp_uri.h), *scope (the scopes
 * that callers who read the URI need) and *i (the index to continue from).
 * Returns 0 if no template is left.
 */
int mcp_catalog_template(const mcp_catalog_t *catalog, mcp_str_t uri,
    uint32_t *i, mcp_str_t *text, mcp_str_t *scope);

/* Returns 1 if the file has a template with this text, and sets *scope to the
 * scopes that callers of the template need. Otherwise returns 0. */
int mcp_catalog_has_template(const mcp_catalog_t *catalog, mcp_str_t text,
    mcp_str_t *scope);

/* Returns the limits for calls of the item, NULL if it has none. */
const mcp_policy_rule_t *mcp_catalog_rule(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);


#define MCP_CATALOG_HEADERS_MAX  64    /* maximum number of headers for one
                                          tool */

typedef enum {
    MCP_CATALOG_STRING = 0,
    MCP_CATALOG_INTEGER,
    MCP_CATALOG_BOOLEAN
} mcp_catalog_type_e;

/*
 * A property of a tool's arguments that clients repeat in a header
 * (2026-07-28, server/tools, "x-mcp-header").
 */
typedef struct {
    mcp_str_t           name;      /* name of the header after "Mcp-Param-" */
    const char         *at;        /* position of the annotation
                                      "x-mcp-header" in the text of the file,
                                      for errors; not valid if the tool is
                                      not part of a catalog */
    mcp_catalog_type_e  type;      /* type of the property */
    const mcp_str_t    *path;      /* names of the nested properties,
                                      outermost first */
    size_t              depth;     /* number of names in "path" */
} mcp_catalog_header_t;

/*
 * Returns the array of a tool's Mcp-Param-* headers and sets *n to their
 * number; NULL if the tool has none.
 */
const mcp_catalog_header_t *mcp_catalog_headers(const mcp_catalog_t *catalog,
    mcp_str_t tool, size_t *n);

/*
 * Determines the Mcp-Param-* headers of a tool that is not part of a catalog.
 * schema is the tool's inputSchema, of any type. Sets *headers to an array in
 * the arena, and *n to the number of headers, which may be 0.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  an annotation "x-mcp-header" violates a rule, or the schema
 *                   is nested too deeply
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_headers_of(mcp_arena_t *arena, const mcp_json_value_t *schema,
    const mcp_catalog_header_t **headers, size_t *n);

/*
 * Returns the first header of the catalog's tools that the web server drops
 * from requests, and sets *line to its line in the file; NULL if the server
 * drops none. drops() is called with the name of each header, without
 * "Mcp-Param-", and returns 1 if the server drops this header.
 */
const mcp_catalog_header_t *mcp_catalog_header_dropped(
    const mcp_catalog_t *catalog, int (*drops)(void *ctx, mcp_str_t name),
    void *ctx, size_t *line);

/* A filter for lists: shows() returns 1 if the caller may see the item with
 * this key. */
typedef struct {
    int    (*shows)(void *ctx, mcp_list_e kind, mcp_str_t key);
    void    *ctx;
} mcp_catalog_view_t;

/*
 * Appends one page as a result object, {"tools":[...],"nextCursor":"..."},
 * with at most page items; if page is 0, the whole list. The cursor is the
 * client's, unescaped, and empty for the first page. A cursor contains a
 * position and a digest of the catalog, and is opaque to clients. filter is 0,
 * or the members that clients of a revision do not accept:
 * mcp_revision_filter().
 *
 * The items for which view->shows() does not return 1 are omitted; view may be
 * NULL. Omitted items do not count for the size of a page, and a cursor names
 * an item that is shown.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the cursor does not belong to this catalog
 *   MCP_ERR_LIMIT      the buffer is full
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_list(const mcp_catalog_t *catalog, mcp_list_e kind,
    unsigned filter, mcp_str_t cursor, size_t page,
    const mcp_catalog_view_t *view, mcp_buf_t *buf);


#endif /* MCP_CATALOG_H_INCLUDED */
