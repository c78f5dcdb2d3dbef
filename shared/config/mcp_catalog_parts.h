/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of a catalog, for the files that make it and that look into it.
 *
 * The public texts of a kind stand one behind the other with commas between
 * them, so any page is one slice of that buffer.  Where clients of some
 * revisions do not take all of an item, there is a buffer for these, too.
 * Names and URIs are found through an open-addressed hash table; templates are
 * tried in order.
 */


#ifndef MCP_CATALOG_PARTS_H_INCLUDED
#define MCP_CATALOG_PARTS_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_token.h"
#include "config/mcp_catalog.h"
#include "rpc/mcp_omit.h"


typedef struct {
    mcp_str_t             key;         /* name, URI or URI template */
    mcp_str_t             raw;         /* as the file has it */
    unsigned              private:1;   /* it has keys of ours */
    unsigned              output:1;    /* a tool with an outputSchema */
    unsigned              omit;        /* MCP_OMIT_...: what some clients do not
                                          take of it */
    mcp_match_t          *match;       /* of a template */
    mcp_policy_rule_t    *rule;        /* NULL: it has none */
    mcp_str_t             scope;       /* that its callers need; empty: none */
    mcp_catalog_header_t *headers;     /* of a tool */
    size_t                n_headers;
} mcp_catalog_item_t;


/* What clients see of all items of a kind. */
typedef struct {
    mcp_buf_t             items;       /* "{...},{...}" */
    size_t               *ends;        /* of each; NULL: there is none */
} mcp_catalog_text_t;


typedef struct {
    unsigned              present:1;
    unsigned              omit;        /* of all items */
    uint32_t              n;
    uint32_t              mask;        /* of the table's indices */
    uint32_t             *table;       /* index of the item + 1, or 0 */
    mcp_catalog_item_t   *items;
    mcp_catalog_text_t    texts[MCP_OMIT_SETS];
    unsigned char         digest[MCP_DIGEST_LEN];      /* of what clients see,
                                                          however written */
} mcp_catalog_set_t;


struct mcp_catalog_s {
    mcp_mem_t             mem;
    mcp_arena_t           arena;
    mcp_str_t             text;        /* the file, copied */
    mcp_str_t             instructions;
    mcp_str_t             extensions;
    mcp_catalog_about_t   about;
    unsigned              completions:1;
    unsigned              outputs:1;           /* some tools have an
                                                  outputSchema */
    unsigned              joins:1;             /* some calls can be joined */
    unsigned              scoped:1;    /* some item needs a scope */
    unsigned              tasks:1;             /* some tool's calls are some */
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
    MCP_CATALOG_EXTENSIONS,
    MCP_CATALOG_ICONS,
    MCP_CATALOG_WEBSITE_URL,
    MCP_CATALOG_DESCRIPTION,
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

/* Returns 1 if this member of an item is this server's. */
int mcp_catalog_is_private(mcp_str_t key);

/*
 * Reads one item and appends it to the catalog's set of that kind.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the item is wrong: the reader's error says why
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_item(mcp_catalog_reader_t *r, mcp_list_e kind,
    const mcp_json_value_t *value);


/* --- mcp_catalog_text.c --- */

/*
 * Makes the texts of a set whose items are read: that with all members, and
 * those that clients of some revision need.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_make_texts(mcp_catalog_reader_t *r, mcp_catalog_set_t *set);

/* Appends the items from first to last - 1, without what is to be left out. */
void mcp_catalog_add_items(const mcp_catalog_set_t *set, unsigned omit,
    uint32_t first, uint32_t last, mcp_buf_t *buf);


/* --- mcp_catalog_about.c --- */

/*
 * Reads the members of the file that are about the server itself; those that
 * it has are in values, by MCP_CATALOG_INSTRUCTIONS and so on.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    one is wrong: the reader's error says why
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_about(mcp_catalog_reader_t *r,
    const mcp_json_value_t *values);


/* --- mcp_catalog_scope.c --- */

/*
 * Reads "x-mcp-scope" of an item into the catalog's arena.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    it is wrong: the reader's error says why
 *   MCP_ERR_MEMORY
 */
int mcp_catalog_read_scope(mcp_catalog_reader_t *r,
    const mcp_json_value_t *value, mcp_str_t *scope);

#define MCP_CATALOG_SCOPE  mcp_str("x-mcp-scope")


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
