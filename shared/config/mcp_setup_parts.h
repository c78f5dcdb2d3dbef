/* SPDX-License-Identifier: Apache-2.0 */

/* The insides of a setup, for the files that fill it and that use it. */


#ifndef MCP_SETUP_PARTS_H_INCLUDED
#define MCP_SETUP_PARTS_H_INCLUDED


#include "base/mcp_arena.h"
#include "config/mcp_allow.h"
#include "mcp_setup.h"


/* Of what the operator wrote, so that an error has room for the reason. */
#define MCP_SETUP_QUOTE_MAX  300

/* For "%.*s". */
#define mcp_setup_quote(s)                                                    \
    (int) ((s).len > MCP_SETUP_QUOTE_MAX ? MCP_SETUP_QUOTE_MAX : (s).len),    \
    (s).data ? (s).data : ""


/* A route or an allowed origin. */
typedef struct mcp_setup_pattern_s  mcp_setup_pattern_t;

struct mcp_setup_pattern_s {
    mcp_setup_pattern_t   *next;
    mcp_setup_pattern_t   *made;       /* all of one setup */
    mcp_match_t           *match;
    mcp_str_t              text;       /* as in the configuration */
    mcp_str_t              target;     /* of a route */
};


typedef struct {
    mcp_setup_pattern_t   *first;
    mcp_setup_pattern_t  **last;       /* NULL: nothing was said */
    size_t                 n;
} mcp_setup_list_t;


typedef struct {
    mcp_str_t             *word;
    size_t                 n;
} mcp_setup_words_t;


/* A rule of mcp_allow. */
typedef struct mcp_setup_allow_s  mcp_setup_allow_t;

struct mcp_setup_allow_s {
    mcp_setup_allow_t     *next;
    mcp_allow_t            rule;
};


typedef struct {
    mcp_setup_allow_t     *first;
    mcp_setup_allow_t    **last;       /* NULL: nothing was said */
    size_t                 n;
} mcp_setup_allows_t;


struct mcp_setup_s {
    const mcp_mem_t       *mem;
    mcp_arena_t            arena;

    mcp_options_t          options;

    /* .data is NULL where nothing was said */
    mcp_str_t              name;
    mcp_str_t              version;
    mcp_str_t              title;
    mcp_str_t              backend;
    mcp_str_t              publish_token;
    mcp_str_t              publish_url;
    mcp_str_t              auth_resource;      /* empty: off */
    mcp_str_t              identity;   /* mcp_cluster_endpoint */
    mcp_str_t              path;       /* of the section */

    mcp_setup_words_t      auth_servers;
    mcp_setup_words_t      auth_scopes;

    const mcp_keys_t      *keys;
    const mcp_catalog_t   *catalog;
    mcp_str_t              catalog_file;
    const unsigned char   *place;      /* of the catalog, or of the endpoint */
    mcp_str_t              label;      /* the same for people */
    mcp_setup_list_t       routes;
    mcp_setup_list_t       origins;
    mcp_setup_allows_t     allows;
    const void            *granted_scopes;     /* the glue's; NULL: none */
    unsigned               any_origin:1;
    uint32_t               revisions;  /* bits; 0: nothing was said */

    /* made here, not inherited */
    mcp_keys_t            *made_keys;
    mcp_catalog_t         *made_catalog;
    mcp_setup_pattern_t   *made;
    const mcp_auth_t      *auth;
    mcp_setup_allow_t     *made_allows;

    /* of the endpoint made last */
    mcp_str_t             *targets;
    unsigned               n_targets;
};


/* Writes the error of a directive.  Returns MCP_ERR_CONFIG. */
int mcp_setup_fail(char *error, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes from parent what is said there alone about authorization. */
void mcp_setup_merge_auth(mcp_setup_t *setup, const mcp_setup_t *parent);


/* --- mcp_setup_allow.c --- */

/* Frees what the setup's own rules have. */
void mcp_setup_free_allows(mcp_setup_t *setup);

/* Gives the endpoint its rules.  MCP_OK or MCP_ERR_MEMORY. */
int mcp_setup_make_allows(mcp_setup_t *setup, mcp_endpoint_t *endpoint);


#endif /* MCP_SETUP_PARTS_H_INCLUDED */
