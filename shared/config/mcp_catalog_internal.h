/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of a catalog, for the files that read it and those that
 * search it.
 *
 * The texts of all items of a kind, as clients see them, are stored in one
 * buffer, with commas between them, so that any page is one slice of that
 * buffer. If clients of some revisions do not accept all members of an item,
 * there is a separate buffer for these clients. Names and URIs are found in an
 * open-addressed hash table; templates are tried in order.
 */


#ifndef MCP_CATALOG_INTERNAL_H_INCLUDED
#define MCP_CATALOG_INTERNAL_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_token.h"
#include "config/mcp_catalog.h"
#include "rpc/mcp_result.h"


typedef struct {
    mcp_str_t             key;         /* name, URI or URI template; the
                                          last two in normal form
                                          (mcp_uri.h) */
    mcp_str_t             raw;         /* text of the item in the file */
    unsigned              private:1;   /* 1: the item has members "x-mcp-..." */
    unsigned              output:1;    /* 1: the item is a tool with an
                                          outputSchema */
    unsigned              filter;      /* MCP_REVISION_FILTER_...: members
                                          that some clients do not accept */
    mcp_match_t          *match;       /* pattern of a template */
    mcp_policy_rule_t    *rule;        /* limits of the item's calls; NULL:
                                          none */
    mcp_str_t             scope;       /* scopes that callers of the item
                                          need; empty: none */
    mcp_catalog_header_t *headers;     /* Mcp-Param-* headers of a tool */
    size_t                n_headers;
} mcp_catalog_item_t;


/* The items of a kind as clients see them. */
typedef struct {
    mcp_buf_t             items;       /* "{...},{...}" */
    size_t               *ends;        /* end offset of each item in "items";
                                          NULL: "items" has not been built */
} mcp_catalog_text_t;


typedef struct {
    unsigned              present:1;
    unsigned              filter;      /* union of the items' filters */
    uint32_t              n;
    uint32_t              mask;        /* number of slots of "table" - 1 */
    uint32_t             *table;       /* slots of the hash table: index of the
                                          item + 1, or 0 if the slot is free */
    mcp_catalog_item_t   *items;
    mcp_catalog_text_t    texts[MCP_REVISION_FILTER_SETS];
    unsigned char         digest[MCP_DIGEST_LEN];      /* digest of the
                                                          public texts,
                                                          independent of
                                                          white space and
                                                          escapes */
} mcp_catalog_set_t;


struct mcp_catalog_s {
    mcp_mem_t             mem;
    mcp_arena_t           arena;
    mcp_str_t             text;        /* copy of the file */
    mcp_catalog_info_t    info;
    unsigned char         digest[MCP_DIGEST_LEN];
    mcp_catalog_set_t     sets[MCP_LIST_COUNT];
};


/* State while a catalog is being read. */
typedef struct {
    mcp_catalog_t        *catalog;
    mcp_arena_t           scratch;
    char                 *error;
    size_t                size;
    unsigned              copies:1;    /* 1: the text of the file is not kept,
                                          so names and paths of headers are
                                          copied */
} mcp_catalog_reader_t;


/*
 * Top-level fields of the file. The first MCP_LIST_COUNT fields are the arrays
 * of items, in the order of mcp_list_e.
 */
enum {
    MCP_CATALOG_INSTRUCTIONS = MCP_LIST_COUNT,
    MCP_CATALOG_COMPLETIONS,
    MCP_CATALOG_EXTENSIONS,
    MCP_CATALOG_ICONS,
    MCP_CATALOG_WEBSITE_URL,
    MCP_CATALOG_DESCRIPTION,
    MCP_CATALOG_FIELDS
};

extern const mcp_json_field_t  mcp_catalog_fields[MCP_CATALOG_FIELDS];


/* --- mcp_catalog.c --- */

/*
 * Returns the item with this key, or NULL. Sets *slot, if slot is not NULL, to
 * the item's slot or, if there is none, to the slot at which the key would be
 * inserted.
 */
const mcp_catalog_item_t *mcp_catalog_lookup(const mcp_catalog_set_t *set,
    mcp_str_t key, uint32_t *slot);


/* --- mcp_catalog_read.c --- */

/* Maximum depth of nesting of the file's JSON, which bounds the recursion
 * through nested schemas. */
#define MCP_CATALOG_DEPTH  128

/*
 * Returns the number of the line, from 1, that contains a position in the
 * file.
 */
size_t mcp_catalog_line(const mcp_catalog_t *catalog, const char *at);

/*
 * Writes an error about the position "at" of the file, with its line. Returns
 * MCP_ERR_CONFIG.
 */
int mcp_catalog_error(mcp_catalog_reader_t *r, const char *at,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Writes an error about a key of the file. Shortens and escapes the key for the
 * log. Returns MCP_ERR_CONFIG.
 */
int mcp_catalog_error_key(mcp_catalog_reader_t *r, const char *at,
    const char *problem, mcp_str_t key);


/* --- mcp_catalog_read_item.c --- */

/* Writes an error unless the value of the key has this type. Returns MCP_OK or
 * MCP_ERR_CONFIG. */
int mcp_catalog_check_type(mcp_catalog_reader_t *r,
    const mcp_json_value_t *value, mcp_str_t key, mcp_json_type_e type);

/* Writes "error" as the error message unless each element of the array is an
 * object whose member "key" is a string. The array may be absent. Returns
 * MCP_OK or MCP_ERR_CONFIG. */
int mcp_catalog_check_each(mcp_catalog_reader_t *r,
    const mcp_json_value_t *array, mcp_str_t key, const char *error);

/* Returns 1 if this member of an item is a setting of this server. */
int mcp_catalog_is_private(mcp_str_t key);

/*
 * Reads one item and appends it to the catalog's set of this kind.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the item is invalid: the reader's error is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_item(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value);


/* --- mcp_catalog_header.c --- */

/*
 * Finds the annotations "x-mcp-header" in the inputSchema of a tool and checks
 * them.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    an annotation is invalid: the reader's error is the
 *                     reason
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_headers(mcp_catalog_reader_t *r, mcp_catalog_item_t *item,
    const mcp_json_value_t *schema);


#endif /* MCP_CATALOG_INTERNAL_H_INCLUDED */
