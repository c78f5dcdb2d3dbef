/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The catalog: tools, prompts, resources and resource templates from one JSON
 * file, read at configuration time and constant afterwards.
 */


#ifndef MCP_CATALOG_H_INCLUDED
#define MCP_CATALOG_H_INCLUDED


#include "rpc/mcp_method.h"
#include "json/mcp_json.h"
#include "base/mcp_match.h"
#include "config/mcp_policy.h"


typedef struct mcp_catalog_s  mcp_catalog_t;


/*
 * Reads a catalog from a text, which is copied.
 *
 * The keys at the top are "tools", "prompts", "resources", "resourceTemplates"
 * (arrays), "instructions" (a string), "completions" (a boolean:
 * completion/complete is offered), "extensions" (an object of their settings)
 * and what else the server says of itself: "icons", "websiteUrl" and
 * "description".  Any other key is an error, which finds misspelt ones.
 *
 * Each item is an object with what the schema requires: a tool has a name
 * ([A-Za-z0-9_.-]{1,128}) and an inputSchema of type "object", a prompt a name,
 * a resource a uri and a name, a template a uriTemplate and a name.  Names, or
 * URIs, are unique.  Keys of an item that begin with "x-mcp-" are this server's
 * and not shown to clients; mcp_policy.h says which values they have.  Clients
 * do see "x-mcp-header" of a property in an inputSchema.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error (size bytes) says "line N: reason"
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_create(const mcp_mem_t *mem, mcp_str_t text,
    mcp_catalog_t **catalog, char *error, size_t size);
void mcp_catalog_free(mcp_catalog_t *catalog);

/* Returns 1 if the catalog has the array of that kind, even an empty one. */
int mcp_catalog_has(const mcp_catalog_t *catalog, mcp_list_e kind);

/* Returns 1 if completion/complete is offered. */
int mcp_catalog_completions(const mcp_catalog_t *catalog);

/* Returns a digest of what clients see of that kind: the same as long as it
 * means the same, however the file is written. */
const unsigned char *mcp_catalog_digest(const mcp_catalog_t *catalog,
    mcp_list_e kind);

/* Returns the instructions as a raw JSON string, empty if there are none. */
mcp_str_t mcp_catalog_instructions(const mcp_catalog_t *catalog);

/* Returns the object of extensions, by their identifiers, that the server
 * supports, raw and on one line; empty if there is none. */
mcp_str_t mcp_catalog_extensions(const mcp_catalog_t *catalog);

/* What a server says of itself beside its name, raw and on one line; empty if
 * it says nothing. */
typedef struct {
    mcp_str_t  description;
    mcp_str_t  website_url;
    mcp_str_t  icons;
} mcp_catalog_about_t;

const mcp_catalog_about_t *mcp_catalog_about(const mcp_catalog_t *catalog);

/* Returns the raw JSON of an item as the file has it, with this server's keys;
 * its data is NULL if there is no such item.  The key of MCP_LIST_TEMPLATES is
 * a URI, and the first template of the file that matches it is returned. */
mcp_str_t mcp_catalog_find(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);

/* Returns how many items there are, of all kinds. */
size_t mcp_catalog_items(const mcp_catalog_t *catalog);

/* Returns the key of an item, by its number from 0, and sets *kind. */
mcp_str_t mcp_catalog_key(const mcp_catalog_t *catalog, size_t number,
    mcp_list_e *kind);

/*
 * Sets *number to that of the item that mcp_catalog_find() finds.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none
 */
int mcp_catalog_number(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key, size_t *number);

/* Returns 1 if the tool has an outputSchema: its results need
 * structuredContent. */
int mcp_catalog_has_output(const mcp_catalog_t *catalog, mcp_str_t tool);

/* Returns the scopes that callers of the item need, with spaces between them;
 * empty if they need none.  mcp_catalog_scoped() returns 1 if any item has
 * one. */
mcp_str_t mcp_catalog_scope(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key);
int mcp_catalog_scoped(const mcp_catalog_t *catalog);

/* Looks for the next template that matches a URI, from number *i of the file
 * on: 1, *text is it as the file has it, *scope what its callers need, and *i
 * the number of the one behind it; or 0. */
int mcp_catalog_template(const mcp_catalog_t *catalog, mcp_str_t uri,
    uint32_t *i, mcp_str_t *text, mcp_str_t *scope);

/* Returns 1 if the file has a template with that text, and sets *scope. */
int mcp_catalog_has_template(const mcp_catalog_t *catalog, mcp_str_t text,
    mcp_str_t *scope);

/* Returns the settings that the item has for its calls, NULL if it has none. */
const mcp_policy_rule_t *mcp_catalog_rule(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);


#define MCP_CATALOG_HEADERS_MAX  64    /* of one tool */

typedef enum {
    MCP_CATALOG_STRING = 0,
    MCP_CATALOG_INTEGER,
    MCP_CATALOG_BOOLEAN
} mcp_catalog_type_e;

/* A property of a tool's arguments that clients mirror into a header
 * (2026-07-28, server/tools, "x-mcp-header"). */
typedef struct {
    mcp_str_t           name;      /* what follows "Mcp-Param-" */
    const char         *at;        /* where the file has it */
    mcp_catalog_type_e  type;      /* of the property */
    const mcp_str_t    *path;      /* names of properties, outermost first */
    size_t              depth;     /* number of them */
} mcp_catalog_header_t;

/* Returns the headers of a tool, *n of them; NULL if it has none. */
const mcp_catalog_header_t *mcp_catalog_headers(const mcp_catalog_t *catalog,
    mcp_str_t tool, size_t *n);

/* Returns the first header that a server drops from requests, with the line of
 * the file that has it: drops() is asked for each name.  NULL if it drops
 * none. */
const mcp_catalog_header_t *mcp_catalog_header_dropped(
    const mcp_catalog_t *catalog, int (*drops)(void *ctx, mcp_str_t name),
    void *ctx, size_t *line);


/* Returns the longest time, in ms, after which an item's calls become streams;
 * 0 if no item has one. */
uint64_t mcp_catalog_stream_after(const mcp_catalog_t *catalog);

/* Returns 1 if there are calls that others may join. */
int mcp_catalog_joins(const mcp_catalog_t *catalog);

/* Returns 1 if calls of some tool become tasks, whatever the endpoint says. */
int mcp_catalog_tasks(const mcp_catalog_t *catalog);

/*
 * Appends one page as a result object, {"tools":[...],"nextCursor":"..."}, of
 * page items at most; a page of 0 is the whole list.  The cursor is the
 * client's, unescaped, and empty for the first page.  A cursor names a position
 * and a digest of the catalog, and is opaque to clients.  omit is 0, or what
 * clients of a revision do not take: mcp_omit().
 *
 * mcp_catalog_list_shown() leaves out the items that shows() does not return 1
 * for: they have no room in a page, and a cursor leads to one that is shown.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the cursor is not one of this catalog
 *   MCP_ERR_LIMIT      the buffer is full
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_list(const mcp_catalog_t *catalog, mcp_list_e kind,
    unsigned omit, mcp_str_t cursor, size_t page, mcp_buf_t *buf);

typedef struct {
    int    (*shows)(void *ctx, mcp_list_e kind, mcp_str_t key);
    void    *ctx;
} mcp_catalog_view_t;

int mcp_catalog_list_shown(const mcp_catalog_t *catalog, mcp_list_e kind,
    unsigned omit, mcp_str_t cursor, size_t page,
    const mcp_catalog_view_t *view, mcp_buf_t *buf);


#endif /* MCP_CATALOG_H_INCLUDED */
