/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of one endpoint, constant once the server runs.  Times are
 * in milliseconds, sizes in bytes; a limit of 0 is off. */


#ifndef MCP_ENDPOINT_H_INCLUDED
#define MCP_ENDPOINT_H_INCLUDED


#include "config/mcp_allow.h"
#include "config/mcp_catalog.h"
#include "base/mcp_token.h"
#include "mcp_auth.h"
#include "rpc/mcp_client.h"
#include "rpc/mcp_result.h"


typedef struct {
    mcp_match_t  *match;       /* of a tool's or prompt's name, or a resource's
                                  URI */
    unsigned      target;
} mcp_route_t;


#define MCP_NO_TARGET  ((unsigned) -1)


/* How callers are told apart: mcp_share_by. */
typedef enum {
    MCP_SHARE_BY_PRINCIPAL = 0,        /* by address where there is none */
    MCP_SHARE_BY_ADDRESS,
    MCP_SHARE_BY_OFF                   /* not at all */
} mcp_share_by_e;


/* Quotas of a party; any other value is a number, or bytes. */
#define MCP_QUOTA_SHARE  0             /* about half of what others leave */
#define MCP_QUOTA_OFF    UINT64_MAX    /* all that there is */


typedef struct {
    mcp_str_t             name;                /* server info */
    mcp_str_t             version;
    mcp_str_t             title;
    mcp_str_t             result_members;      /* mcp_result_members() of
                                                  stateless revisions */

    unsigned char         place[MCP_DIGEST_LEN];       /* where its lists
                                                  stand, in configurations
                                                  before this one, too */
    mcp_str_t             label;               /* the same for people; empty:
                                                  it has no place */

    mcp_str_t             identity;            /* by which the nodes of a
                                                  cluster recognize it */

    const mcp_keys_t     *keys;
    const mcp_catalog_t  *catalog;             /* NULL: the backend lists */

    const mcp_route_t    *routes;              /* exact ones first */
    size_t                n_routes;
    unsigned              target;              /* default or MCP_NO_TARGET */
    const mcp_str_t      *targets;             /* their names */

    const mcp_allow_t    *allow;               /* who may see and call what */
    size_t                n_allow;             /* 0: everybody everything */
    const void           *granted_scopes;      /* the glue's; NULL: callers have
                                                  none */

    mcp_match_t         **origins;
    size_t                n_origins;
    unsigned              any_origin:1;
    unsigned              link:1;              /* streams have a Link header */
    unsigned              resume_tokens:1;     /* for clients that have not
                                                  declared them, too */
    unsigned              pass_authorization:1;  /* to backends, unchanged */
    unsigned              pass_cookie:1;
    unsigned              debug:1;             /* clients are told why a call
                                                  failed */
    unsigned              has_principal:1;     /* callers are told apart; set
                                                  by the glue */

    uint32_t              revisions;           /* served; bits of
                                                  mcp_revision_bit() */

    mcp_str_t             publish_url;         /* base; empty: none */
    const mcp_auth_t     *auth;                /* NULL: no resource server */

    uint64_t              session_lifetime;
    uint64_t              cache_ttl;           /* of lists, for clients */
    uint64_t              stream_after;
    uint64_t              task_after;          /* 0: no call becomes a task by
                                                  its time */
    uint64_t              task_ttl;
    uint64_t              policy_after;        /* for clients that learn at
                                                  once how to resume; the
                                                  earlier of the two counts */
    uint64_t              close_after;         /* 0: the server never closes a
                                                  stream that goes on */
    uint64_t              retry;
    uint64_t              keepalive;           /* 0: no comments */
    uint64_t              max_wait;
    uint64_t              min_wait;            /* 0: clients are not told */
    uint64_t              resume_after;        /* 0: no interim results */
    uint64_t              resume_lifetime;     /* of a backend's tokens */
    uint64_t              linger;
    uint64_t              join_wait;           /* for who asks again for an
                                                  abandoned call */
    uint64_t              call_timeout;
    uint64_t              input_timeout;
    uint64_t              state_lifetime;      /* of a backend's requestState */

    uint32_t              max_events;
    uint64_t              stream_buffer;
    uint32_t              max_session_streams;
    unsigned              share_by;            /* mcp_share_by_e */
    uint64_t              max_party_streams;   /* MCP_QUOTA_SHARE, or _OFF */
    uint64_t              max_party_listeners;
    uint64_t              max_party_values;
    uint64_t              max_party_bytes;
    size_t                max_message;         /* of a backend's message */
    unsigned              max_depth;
    size_t                max_batch;
    size_t                page_size;
} mcp_endpoint_t;


/* Returns the target of calls of this name or URI, MCP_NO_TARGET if there is
 * none. */
unsigned mcp_endpoint_route(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* Returns 1 if callers see and may call different things. */
int mcp_endpoint_restricts(const mcp_endpoint_t *endpoint);

/* Sets *add to what a revision adds to the results of a method, called for this
 * tool, prompt or resource, and returns it; NULL if it adds nothing.  Without a
 * name nothing is known of what is called. */
const mcp_result_t *mcp_endpoint_result(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const mcp_method_t *method, mcp_str_t name,
    mcp_result_t *add);

/* Appends what the server says of itself, as the Implementation of a
 * revision. */
void mcp_endpoint_info(const mcp_endpoint_t *endpoint, mcp_revision_e revision,
    mcp_buf_t *buf);

/*
 * Sets *item to the number of the catalog's item (mcp_catalog_key()) that a
 * request of this method and name is about.  The endpoint has a catalog.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  it is about none
 */
int mcp_endpoint_item(const mcp_endpoint_t *endpoint, mcp_method_e method,
    mcp_str_t name, size_t *item);

/* Returns how many streams the client's session may have at a time; 0: it has
 * no session. */
uint32_t mcp_endpoint_session_limit(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client);

/* Returns the name of a target, by which the glue finds it; empty if the
 * endpoint has no names. */
mcp_str_t mcp_endpoint_target(const mcp_endpoint_t *endpoint,
    unsigned target);

/* Returns 1 if calls of the endpoint can become tasks. */
int mcp_endpoint_makes_tasks(const mcp_endpoint_t *endpoint);

/* Sets *policy to the settings of one call: the endpoint's, overridden by the
 * catalog's for this tool, prompt or resource. */
void mcp_endpoint_policy(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, mcp_policy_t *policy);

/* Returns the longest time after which a call of this endpoint becomes a
 * stream. */
uint64_t mcp_endpoint_stream_after(const mcp_endpoint_t *endpoint);

/* Return 1 if the endpoint has items of that kind, or completions: by its
 * catalog or, without a catalog, if it has a default backend. */
int mcp_endpoint_offers(const mcp_endpoint_t *endpoint,
    mcp_list_e kind);
int mcp_endpoint_completes(const mcp_endpoint_t *endpoint);

/* Appends the object of server capabilities (2025-11-25, lifecycle, "Capability
 * Negotiation"; 2026-07-28, server/discover), with the ways of coming back that
 * clients of revisions with sessions, or of those without, can ask for. */
void mcp_endpoint_capabilities(const mcp_endpoint_t *endpoint, int stateless,
    mcp_buf_t *buf);


#endif /* MCP_ENDPOINT_H_INCLUDED */
