/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of a catalog, for the files that make it and that look into it.
 *
 * The public texts of a kind stand one behind the other with commas between
 * them, so any page is one slice of that buffer.  Names and URIs are found
 * through an open-addressed hash table; templates are tried in order.
 */


#ifndef MCP_CATALOG_PARTS_H_INCLUDED
#define MCP_CATALOG_PARTS_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_token.h"
#include "config/mcp_catalog.h"


typedef struct {
    mcp_str_t             key;         /* name, URI or URI template */
    mcp_str_t             raw;         /* as the file has it */
    size_t                start;       /* in the public text */
    size_t                end;
    mcp_match_t          *match;       /* of a template */
    mcp_policy_rule_t    *rule;        /* NULL: it has none */
    mcp_catalog_header_t *headers;     /* of a tool */
    size_t                n_headers;
} mcp_catalog_item_t;


typedef struct {
    unsigned              present:1;
    uint32_t              n;
    uint32_t              mask;        /* of the table's indices */
    uint32_t             *table;       /* index of the item + 1, or 0 */
    mcp_catalog_item_t   *items;
    mcp_buf_t             text;        /* "{...},{...}" */
    unsigned char         digest[MCP_DIGEST_LEN];      /* of what clients see,
                                                          however written */
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
    char                 *error;
    size_t                size;
} mcp_catalog_reader_t;


/* The first fields are the kinds, in the order of mcp_list_e. */
enum {
    MCP_CATALOG_INSTRUCTIONS = MCP_LIST_COUNT,
    MCP_CATALOG_COMPLETIONS,
    MCP_CATALOG_FIELDS
};

extern const mcp_json_field_t  mcp_catalog_fields[MCP_CATALOG_FIELDS];


/* --- mcp_catalog.c --- */

/* Returns the item of that key, or NULL; then *slot, if slot is not NULL, is
 * where the table would have it. */
const mcp_catalog_item_t *mcp_catalog_lookup(const mcp_catalog_set_t *set,
    mcp_str_t key, uint32_t *slot);


/* --- mcp_catalog_read.c --- */

/* Schemas nest, but not endlessly. */
#define MCP_CATALOG_DEPTH  128

/* Returns the line of the file that a place is in. */
size_t mcp_catalog_line(const mcp_catalog_t *catalog, const char *at);

/* Writes an error about the place "at" of the file, with its line, and returns
 * MCP_ERR_CONFIG. */
int mcp_catalog_error(mcp_catalog_reader_t *r, const char *at,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Does the same for a key of the file, which is shortened and made fit for a
 * log. */
int mcp_catalog_error_key(mcp_catalog_reader_t *r, const char *at,
    const char *what, mcp_str_t key);


/* --- mcp_catalog_item.c --- */

/*
 * Reads one item and appends it to the catalog's set of that kind.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the item is wrong: the reader's error says why
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_item(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value);


/* --- mcp_catalog_header.c --- */

/*
 * Finds the annotations in the inputSchema of a tool and checks them.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    one is wrong: the reader's error says why
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_headers(mcp_catalog_reader_t *r, mcp_catalog_item_t *item,
    const mcp_json_value_t *schema);


#endif /* MCP_CATALOG_PARTS_H_INCLUDED */
