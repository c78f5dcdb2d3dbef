/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The catalog: tools, prompts, resources and resource templates out of one
 * JSON file, read at configuration time and constant afterwards.
 */


#ifndef MCP_CATALOG_H_INCLUDED
#define MCP_CATALOG_H_INCLUDED


#include "rpc/mcp_method.h"
#include "json/mcp_json.h"
#include "base/mcp_match.h"
#include "config/mcp_policy.h"


typedef struct mcp_catalog_s  mcp_catalog_t;


/*
 * Reads a catalog out of text (which is copied).  Top-level keys: "tools",
 * "prompts", "resources", "resourceTemplates" (arrays), "instructions"
 * (string), "completions" (boolean: completion/complete is offered); any
 * other key is an error, so that a misspelt one is found.  Each item must be
 * an object with what the schema requires (tools: name [A-Za-z0-9_.-]{1,128}
 * and inputSchema with type "object"; prompts: name; resources: uri, name;
 * templates: uriTemplate, name) and unique names or URIs.  Keys of an item
 * that begin with "x-mcp-" are ours: removed from what clients see, and those
 * of mcp_policy.h must have the values that are said there.
 *
 * MCP_OK, MCP_ERR_MEMORY, or MCP_ERR_CONFIG with error (size bytes) saying
 * "line N: reason".
 */
int mcp_catalog_create(const mcp_mem_t *mem, mcp_str_t text,
    mcp_catalog_t **catalog, char *error, size_t size);
void mcp_catalog_free(mcp_catalog_t *catalog);

/* 1 if the catalog has that array (also an empty one). */
int mcp_catalog_has(const mcp_catalog_t *catalog, mcp_list_e kind);
int mcp_catalog_completions(const mcp_catalog_t *catalog);

/* The instructions as a raw JSON string, empty if none. */
mcp_str_t mcp_catalog_instructions(const mcp_catalog_t *catalog);

/* The item's raw JSON as the file has it, keys of ours included, or .data
 * NULL.  For MCP_LIST_TEMPLATES, key is a URI that the template must
 * match; the first one in the file's order wins. */
mcp_str_t mcp_catalog_find(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);

/* What the item says of how it is to be called; NULL: nothing. */
const mcp_policy_rule_t *mcp_catalog_rule(const mcp_catalog_t *catalog,
    mcp_list_e kind, mcp_str_t key);

/* The longest time, in ms, that an item says its calls may go on before they
 * become streams. */
uint64_t mcp_catalog_stream_after(const mcp_catalog_t *catalog);

/*
 * Appends one page as a result object: {"tools":[...],"nextCursor":"..."}.
 * cursor is the client's (unescaped; empty for the first page).  Cursors are
 * opaque, name a position and a digest of the catalog; one that does not fit
 * this catalog is MCP_ERR_NOT_FOUND.  page is the number of items a page (0:
 * all).
 */
int mcp_catalog_list(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t cursor, size_t page, mcp_buf_t *buf);


#endif /* MCP_CATALOG_H_INCLUDED */
