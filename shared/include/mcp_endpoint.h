/* SPDX-License-Identifier: Apache-2.0 */

/* What an operator configured for one endpoint; constant once the server
 * runs.  Times in milliseconds, sizes in bytes, 0 where a limit is off. */


#ifndef MCP_ENDPOINT_H_INCLUDED
#define MCP_ENDPOINT_H_INCLUDED


#include "config/mcp_catalog.h"
#include "base/mcp_token.h"


typedef struct {
    mcp_match_t  *match;       /* on the tool, prompt name or resource URI */
    unsigned      target;
} mcp_route_t;


#define MCP_NO_TARGET  ((unsigned) -1)


/* How callers are told apart: mcp_share_by. */
typedef enum {
    MCP_SHARE_BY_PRINCIPAL = 0,        /* by address where there is none */
    MCP_SHARE_BY_ADDRESS,
    MCP_SHARE_BY_OFF                   /* not at all */
} mcp_share_by_e;


/* Quotas of a party that are not a number, nor bytes. */
#define MCP_QUOTA_SHARE  0             /* about half of what others leave */
#define MCP_QUOTA_OFF    UINT64_MAX    /* all that there is */


typedef struct {
    mcp_str_t             name;                /* server info */
    mcp_str_t             version;
    mcp_str_t             title;

    const mcp_keys_t     *keys;
    const mcp_catalog_t  *catalog;             /* NULL: backend's own lists */

    const mcp_route_t    *routes;              /* exact ones first */
    size_t                n_routes;
    unsigned              target;              /* default or MCP_NO_TARGET */

    mcp_match_t         **origins;
    size_t                n_origins;
    unsigned              any_origin:1;
    unsigned              link:1;              /* streams have a Link header */
    unsigned              resume_tokens:1;     /* for all clients */
    unsigned              pass_authorization:1;  /* to backends, as it came */
    unsigned              pass_cookie:1;

    mcp_str_t             publish_url;         /* base; empty: there is none */

    uint64_t              session_lifetime;
    uint64_t              stream_after;
    uint64_t              policy_after;        /* instead, for who is told at
                                                  once how to come back */
    uint64_t              close_after;         /* 0: never at will */
    uint64_t              retry;
    uint64_t              keepalive;           /* 0: no comments */
    uint64_t              max_wait;
    uint64_t              min_wait;            /* 0: clients are not asked */
    uint64_t              resume_after;        /* 0: no interim results */
    uint64_t              resume_lifetime;     /* of a backend's tokens */
    uint64_t              linger;
    uint64_t              call_timeout;
    uint64_t              input_timeout;

    uint32_t              max_events;
    uint64_t              stream_buffer;
    uint32_t              max_session_streams;
    unsigned              share_by;            /* mcp_share_by_e */
    uint64_t              max_party_streams;   /* MCP_QUOTA_SHARE, or _OFF */
    uint64_t              max_party_listeners;
    uint64_t              max_party_values;
    uint64_t              max_party_bytes;
    size_t                max_message;         /* of a backend */
    unsigned              max_depth;
    size_t                max_batch;
    size_t                page_size;
} mcp_endpoint_t;


/* Where calls of this name or URI go; MCP_NO_TARGET: nowhere. */
unsigned mcp_endpoint_route(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* How a call is to be treated: the endpoint's settings, and over them what
 * the catalog says of this tool, prompt or resource. */
void mcp_endpoint_policy(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, mcp_policy_t *policy);

/* The longest time that a call may go on without a stream. */
uint64_t mcp_endpoint_stream_after(const mcp_endpoint_t *endpoint);

/* 1 if the endpoint has tools, prompts, ...: in its catalog or, when it has
 * none, in its default backend. */
int mcp_endpoint_offers(const mcp_endpoint_t *endpoint,
    mcp_list_e kind);
int mcp_endpoint_completes(const mcp_endpoint_t *endpoint);

/* Appends the server capabilities object (lifecycle, "Capability
 * Negotiation"). */
void mcp_endpoint_capabilities(const mcp_endpoint_t *endpoint,
    mcp_buf_t *buf);


#endif /* MCP_ENDPOINT_H_INCLUDED */
