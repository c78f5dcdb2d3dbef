/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The setup: the values of the directives of one section of the configuration.
 * Internal declarations for the files that store values in a setup, and for
 * those that make an endpoint from it.
 */


#ifndef MCP_SETUP_INTERNAL_H_INCLUDED
#define MCP_SETUP_INTERNAL_H_INCLUDED


#include "base/mcp_arena.h"
#include "config/mcp_number_option_internal.h"
#include "mcp_directive.h"
#include "mcp_setup_directive.h"
#include "rpc/mcp_revision.h"


/*
 * maximum number of bytes of the operator's text in an error, which leaves room
 * for the reason
 */
#define MCP_SETUP_QUOTE_MAX  300

/* The two arguments for "%.*s" that print at most the first MCP_SETUP_QUOTE_MAX
 * bytes of s. */
#define mcp_setup_quote(s)                                                    \
    (int) ((s).len > MCP_SETUP_QUOTE_MAX ? MCP_SETUP_QUOTE_MAX : (s).len),    \
    (s).data ? (s).data : ""


/* A route or an allowed origin. */
typedef struct mcp_setup_pattern_s  mcp_setup_pattern_t;

struct mcp_setup_pattern_s {
    mcp_setup_pattern_t   *next;
    mcp_setup_pattern_t   *made;       /* next pattern in the list of all
                                          patterns that this setup allocated */
    mcp_match_t           *match;
    mcp_str_t              text;       /* the pattern as in the
                                          configuration */
    mcp_str_t              target;     /* backend of a route */
};


typedef struct {
    mcp_setup_pattern_t   *first;
    mcp_setup_pattern_t  **last;       /* where the next element is linked;
                                          NULL: the directive is not set */
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
    mcp_setup_allow_t    **last;       /* where the next element is linked;
                                          NULL: the directive is not set */
    size_t                 n;
} mcp_setup_allows_t;


/*
 * Numbers of the directives that are not options. They follow the numbers of
 * options (mcp_option_e).
 */
#define MCP_SETUP_NUMBER(id, nginx, apache, args, help)  MCP_SETUP_NUMBER_##id,

enum {
    MCP_SETUP_NUMBER_first = MCP_OPTION_COUNT - 1,
    MCP_DIRECTIVES(MCP_SETUP_NUMBER, MCP_SETUP_NUMBER)
    MCP_CLUSTER_DIRECTIVES(MCP_SETUP_NUMBER)
    MCP_SETUP_NUMBER_principal,
    MCP_SETUP_NUMBER_link_origin,
    MCP_SETUP_NUMBER_publish_open,
    MCP_SETUP_NUMBER_max_body,
    MCP_SETUP_NUMBERS
};


struct mcp_setup_s {
    const mcp_mem_t       *mem;
    mcp_arena_t            arena;

    mcp_options_t          options;
    uint64_t               own;        /* bits of the options that the
                                          section itself sets */
    uint32_t               own_others; /* bits of the other directives that the
                                          section itself sets; bit 0 is number
                                          MCP_OPTION_COUNT */
    unsigned               is_backend:1;       /* 1: mcp_backend or mcp_route
                                                  names the section */
    unsigned               is_described:1;     /* 1: the section is the
                                                  mcp_backend of a section
                                                  without mcp_catalog */

    /* texts that are not set have .data NULL */
    mcp_str_t              name;
    mcp_str_t              version;
    mcp_str_t              title;
    mcp_str_t              backend;
    mcp_str_t              publish_token;
    mcp_str_t              publish_url;
    mcp_str_t              auth_resource;      /* empty: "off" */
    mcp_str_t              identity;   /* value of mcp_cluster_endpoint */
    mcp_str_t              path;       /* path of the section */

    mcp_setup_words_t      auth_servers;
    mcp_setup_words_t      auth_scopes;

    const mcp_keys_t      *keys;
    const mcp_catalog_t   *catalog;
    mcp_str_t              catalog_file;
    const unsigned char   *catalog_key; /* see mcp_setup_set_catalog_key();
                                           NULL: not set */
    mcp_str_t              label;      /* the server, path and number from which
                                          catalog_key was computed, as text */
    mcp_setup_list_t       routes;
    mcp_setup_list_t       origins;
    mcp_setup_allows_t     allows;
    const void            *granted_scopes;     /* value of mcp_granted_scopes,
                                                  an expression compiled by the
                                                  glue; NULL: none */
    unsigned               any_origin:1;
    uint32_t               revisions;  /* bits of mcp_revision_e; 0: not set */

    /* allocated by this setup, not inherited */
    mcp_keys_t            *made_keys;
    mcp_catalog_t         *made_catalog;
    mcp_setup_pattern_t   *made;
    const mcp_auth_t      *auth;
    mcp_setup_allow_t     *made_allows;

    /* targets of the endpoint that was created last */
    mcp_target_t          *targets;
    unsigned               n_targets;
};


/* Returns the revisions that the endpoint serves, as bits of mcp_revision_e. */
static inline uint32_t
mcp_setup_revisions(const mcp_setup_t *setup)
{
    return setup->revisions ? setup->revisions : MCP_REVISION_ALL;
}


/* Writes the message of an error in a directive to "error". Returns
 * MCP_ERR_CONFIG. */
int mcp_setup_fail(char *error, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Splits a URI into *origin, "http://host[:port]" or "https://host[:port]", and
 * *path, which may be empty. Returns MCP_OK, or MCP_ERR_SYNTAX if the URI has
 * another form or is too long.
 */
int mcp_setup_split(mcp_str_t uri, mcp_str_t *origin, mcp_str_t *path);

/*
 * Copies from *parent the authorization settings that *setup does not set.
 */
void mcp_setup_merge_auth(mcp_setup_t *setup, const mcp_setup_t *parent);


/* --- mcp_item_access.c --- */

/* Frees the rules that the setup itself allocated. */
void mcp_setup_free_allows(mcp_setup_t *setup);

/* Copies the rules of mcp_allow and the value of mcp_granted_scopes from the
 * setup to the endpoint. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_setup_make_allows(mcp_setup_t *setup, mcp_endpoint_t *endpoint);


#endif /* MCP_SETUP_INTERNAL_H_INCLUDED */
