/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of one endpoint, constant while the server runs. Times are
 * in milliseconds, sizes in bytes. The value 0 switches a limit off. The
 * members that MCP_OPTIONS lists (mcp_number_option.h) have the values of the
 * directives listed there. */


#ifndef MCP_ENDPOINT_INTERNAL_H_INCLUDED
#define MCP_ENDPOINT_INTERNAL_H_INCLUDED


#include "mcp_endpoint.h"
#include "base/mcp_token.h"
#include "config/mcp_catalog.h"
#include "config/mcp_item_access.h"
#include "rpc/mcp_client.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_upstream_body.h"


typedef struct {
    mcp_match_t  *match;       /* matches the name of a tool or prompt, or the
                                  URI of a resource */
    unsigned      target;
} mcp_route_t;


#define MCP_NO_TARGET  ((unsigned) -1)


/* The values of mcp_upstream: the kinds of backends. */
typedef enum {
    MCP_UPSTREAM_OFF = 0,              /* a program that follows the rules of
                                          docs/backends.md */
    MCP_UPSTREAM_MODERN,               /* an MCP server of revision
                                          2026-07-28 */
    MCP_UPSTREAM_STATELESS,            /* an MCP server of an older revision
                                          that works without sessions */
    MCP_UPSTREAM_SESSION,              /* an MCP server of an older revision
                                          that needs sessions */
    MCP_UPSTREAM_AUTO                  /* an MCP server; the web server finds
                                          out whether it is MODERN, STATELESS or
                                          SESSION */
} mcp_upstream_e;


/* The values of mcp_upstream_session: which requests share a session at an MCP
 * server. For a client without a session, CLIENT has the effect of PRINCIPAL.
 * For a client without a principal, PRINCIPAL has the effect of CALL. */
typedef enum {
    MCP_UPSTREAM_OF_CLIENT = 0,        /* the requests of one session of a
                                          client */
    MCP_UPSTREAM_OF_PRINCIPAL,
    MCP_UPSTREAM_OF_CALL               /* the requests of one call */
} mcp_upstream_of_e;


/* The values of mcp_upstream_lists: the lists of an MCP server that are
 * cached. */
typedef enum {
    MCP_UPSTREAM_LISTS_OFF = 0,
    MCP_UPSTREAM_LISTS_PUBLIC,         /* lists that the server declares as
                                          public */
    MCP_UPSTREAM_LISTS_SHARED          /* all lists that the server does not
                                          declare as private */
} mcp_upstream_lists_e;


/* A backend that mcp_backend or mcp_route names. */
typedef struct {
    mcp_str_t     name;        /* name by which the glue finds the backend */
    unsigned      upstream;    /* mcp_upstream_e */
    uint64_t      check;       /* mcp_upstream_check, ms */
    uint64_t      stale;       /* mcp_upstream_stale, ms */
    unsigned      session;     /* mcp_upstream_of_e */
    unsigned      lists;       /* mcp_upstream_lists_e */
    unsigned      listens;     /* 1: mcp_upstream_listen is on */
    uint64_t      max_sessions;        /* mcp_upstream_max_sessions, 0: no
                                          maximum */
} mcp_target_t;


/* The values of mcp_quota_key: the property by which quotas distinguish
 * callers. */
typedef enum {
    MCP_QUOTA_KEY_PRINCIPAL = 0,       /* the principal; the address if there
                                          is no principal */
    MCP_QUOTA_KEY_ADDRESS,
    MCP_QUOTA_KEY_OFF                  /* none: there are no quotas */
} mcp_quota_key_e;


/* The values of mcp_resume_stateless: which clients of revisions without
 * sessions may resume a call's stream by a GET with Last-Event-ID. */
typedef enum {
    MCP_RESUME_STATELESS_OFF = 0,
    MCP_RESUME_STATELESS_DECLARED,     /* clients that declare
                                          resumableRequests */
    MCP_RESUME_STATELESS_ALL
} mcp_resume_stateless_e;


/* Special values of the quotas of a tenant. Any other value is the maximum
 * itself, in bytes for quota_bytes, otherwise a number of streams, listeners or
 * values. */
#define MCP_QUOTA_SHARE  0             /* a tenant may use about half of the
                                          capacity that other tenants leave
                                          free */
#define MCP_QUOTA_OFF    UINT64_MAX    /* no limit */


struct mcp_endpoint_s {
    mcp_str_t             name;                /* name, version and title are
                                                  sent to clients as the
                                                  server's Implementation */
    mcp_str_t             version;
    mcp_str_t             title;
    mcp_str_t             result_members;      /* members of results for
                                                  revisions without sessions,
                                                  from mcp_result_members() */

    unsigned char         catalog_key[MCP_DIGEST_LEN]; /* digest that
                                                          identifies the
                                                          endpoint's lists
                                                          across
                                                          configurations */
    mcp_str_t             label;               /* server, path and number of
                                                  the section, for logs and the
                                                  status; empty: there is no
                                                  catalog key */

    mcp_str_t             identity;            /* name of the endpoint, the
                                                  same at all nodes of its
                                                  cluster */

    const mcp_keys_t     *keys;
    const mcp_catalog_t  *catalog;             /* NULL: the backend answers
                                                  requests for lists */
    mcp_upstream_about_t *about;               /* description of the default
                                                  target if it is an MCP server;
                                                  not constant: each process
                                                  fills its own copy; NULL:
                                                  there is a catalog */

    const mcp_route_t    *routes;              /* in the order of the search:
                                                  exact patterns first */
    size_t                n_routes;
    unsigned              target;              /* index in "targets" of the
                                                  backend in mcp_backend;
                                                  MCP_NO_TARGET: none */
    const mcp_target_t   *targets;
    unsigned              n_targets;

    const mcp_allow_t    *allow;               /* rules that select which caller
                                                  may use which item */
    size_t                n_allow;             /* 0: every caller may use every
                                                  item */
    const void           *granted_scopes;      /* value of mcp_granted_scopes,
                                                  an expression of the glue;
                                                  NULL: callers have no
                                                  scopes */

    mcp_match_t         **origins;
    size_t                n_origins;
    unsigned              any_origin:1;        /* 1: mcp_allow_origin contains
                                                  "*" */
    unsigned              link:1;              /* 1: responses with a stream
                                                  have a Link header */
    unsigned              resume_tokens:1;     /* 1: also clients that have not
                                                  declared resume tokens get
                                                  them */
    unsigned              pass_authorization:1;  /* 1: backends get the client's
                                                    Authorization header */
    unsigned              pass_cookie:1;
    unsigned              debug:1;             /* 1: clients get the reason why
                                                  a call failed */
    unsigned              named:1;             /* 1: name, version and title
                                                  are from mcp_server */
    unsigned              has_principal:1;     /* 1 if callers are
                                                  authenticated */

    uint32_t              revisions;           /* served revisions: bits of
                                                  mcp_revision_bit() */

    mcp_str_t             publish_url;         /* base URL of the publish
                                                  endpoint for backends; empty:
                                                  none */
    const mcp_auth_t     *auth;                /* NULL: the endpoint is not an
                                                  OAuth resource */

    uint64_t              session_lifetime;
    uint64_t              cache_ttl;           /* lifetime of lists in clients'
                                                  caches */
    uint64_t              stream_after;
    uint64_t              task_after;          /* age at which a call becomes a
                                                  task; 0: never because of its
                                                  age */
    uint64_t              task_ttl;
    uint64_t              policy_after;        /* mcp_policy_after, which
                                                  replaces a longer stream_after
                                                  for clients whose stream
                                                  begins with data for its
                                                  resumption */
    uint64_t              close_after;         /* time after which the server
                                                  closes the connection that
                                                  reads the stream of an active
                                                  call, so that the client
                                                  resumes; 0: never */
    uint64_t              retry;
    uint64_t              keepalive;           /* interval of keepalive comments
                                                  in streams; 0: no comments */
    uint64_t              max_wait;
    uint64_t              min_wait;            /* time for which clients are
                                                  asked to wait before they
                                                  resume or poll; 0: they are
                                                  not asked to wait */
    uint64_t              resume_after;        /* time after which a request
                                                  gets an interim response with
                                                  a resume token; 0: never */
    uint64_t              resume_lifetime;     /* time during which a client can
                                                  use a resume token, which a
                                                  backend or this server has
                                                  created */
    uint64_t              linger;
    uint64_t              join_wait;           /* how long a call without a
                                                  client waits for a request to
                                                  join it; also how long a
                                                  request waits until it is
                                                  known whether it can join a
                                                  call */
    uint64_t              call_timeout;
    uint64_t              input_timeout;
    uint64_t              state_lifetime;      /* time during which a client can
                                                  return a backend's
                                                  requestState */

    uint32_t              max_events;
    uint64_t              stream_buffer;
    uint32_t              max_session_streams;
    unsigned              quota_key;           /* mcp_quota_key_e */
    unsigned              upstream;            /* mcp_upstream_e: the kind of
                                                  this section as a backend,
                                                  see
                                                  mcp_setup_set_upstream() */
    uint64_t              upstream_check;      /* time for which the description
                                                  of an MCP server is used
                                                  before a new one is
                                                  requested */
    uint64_t              upstream_stale;      /* additional time for which an
                                                  old description is used while
                                                  requests for a new one fail */
    unsigned              upstream_session;    /* mcp_upstream_of_e */
    unsigned              upstream_lists;      /* mcp_upstream_lists_e */
    unsigned              upstream_listen;     /* 1: an MCP server with
                                                  sessions may send its
                                                  requests on the stream of a
                                                  GET request */
    uint64_t              upstream_max_sessions;       /* maximum number of
                                                  sessions at one MCP server
                                                  that the zone stores; 0: no
                                                  maximum */
    unsigned              resume_stateless;    /* mcp_resume_stateless_e */
    uint64_t              reconnect_wait;      /* how long a call continues
                                                  without a consumer if its
                                                  client may resume only
                                                  because of
                                                  MCP_RESUME_STATELESS_ALL */
    uint64_t              quota_streams;       /* maximum number of a tenant's
                                                  streams, MCP_QUOTA_SHARE or
                                                  MCP_QUOTA_OFF; likewise
                                                  quota_listeners, _values and
                                                  _bytes */
    uint64_t              quota_listeners;
    uint64_t              quota_values;
    uint64_t              quota_bytes;
    size_t                max_message;         /* maximum size of one message
                                                  from a backend */
    unsigned              max_depth;
    size_t                max_batch;
    size_t                page_size;
};


/* Returns the index in endpoint->targets of the backend for calls with this
 * name or URI, or MCP_NO_TARGET. */
unsigned mcp_endpoint_route(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* Returns 1 if mcp_allow rules or scopes hide items from some callers, or
 * reject their calls. */
int mcp_endpoint_restricts(const mcp_endpoint_t *endpoint);

/*
 * Sets *add to the members that the client's revision requires in the results
 * of a method and returns add, or returns NULL if there are none. name is the
 * tool, prompt or resource of the call; if it is empty, only members that do
 * not depend on the name are added.
 */
const mcp_result_t *mcp_endpoint_result(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const mcp_method_t *method, mcp_str_t name,
    mcp_result_t *add);

/* Appends the server's Implementation object in the form of a revision. */
void mcp_endpoint_info(const mcp_endpoint_t *endpoint, mcp_revision_e revision,
    mcp_buf_t *buf);

/*
 * Sets *item to the index of the catalog's item (mcp_catalog_key()) for a
 * request with this method and name. The endpoint must have a catalog.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the catalog has no such item
 */
int mcp_endpoint_item(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, size_t *item);

/* Returns the maximum number of streams of the client's session, 0 if the
 * client has no session. */
uint32_t mcp_endpoint_session_limit(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client);

/* Returns the text that distinguishes an endpoint from all others of its zone.
 * In a cluster all nodes have the same text for the endpoint, even if their
 * servers have different names. */
mcp_str_t mcp_endpoint_key(const mcp_endpoint_t *endpoint, int is_clustered);

/* Returns the name by which the glue finds the target with this index, an empty
 * string if the endpoint has no targets. */
mcp_str_t mcp_endpoint_target(const mcp_endpoint_t *endpoint,
    unsigned target);

/* Returns the name of a target without its prefix. All nodes of a cluster use
 * this name, because the prefix differs between web servers: "@tools" and
 * "/mcp-backend/tools" are both "tools". Returns the whole name if another
 * target of the endpoint would have the same name. */
mcp_str_t mcp_endpoint_target_in_cluster(const mcp_endpoint_t *endpoint,
    unsigned target);

/* Returns the kind of the target with this index; MCP_UPSTREAM_OFF for
 * MCP_NO_TARGET. */
mcp_upstream_e mcp_endpoint_upstream(const mcp_endpoint_t *endpoint,
    unsigned target);

/* Returns the description that the endpoint sends to its clients, which may be
 * empty; NULL if the endpoint has a catalog or its default target is not an MCP
 * server. */
mcp_upstream_about_t *mcp_endpoint_describer(const mcp_endpoint_t *endpoint);

/* Returns the name of the revision in which this server sends requests to a
 * target that is an MCP server without sessions. The text is static. */
mcp_str_t mcp_endpoint_upstream_version(const mcp_endpoint_t *endpoint,
    unsigned target);

/* Returns the instructions for the model, a raw JSON string; empty if there are
 * none. */
mcp_str_t mcp_endpoint_instructions(const mcp_endpoint_t *endpoint);

/* Returns 1 if calls of the endpoint can become tasks. */
int mcp_endpoint_makes_tasks(const mcp_endpoint_t *endpoint);

/* Sets *policy to the settings for a call with this method and name.
 * Settings of the catalog's item with this name override the settings of
 * the endpoint. */
void mcp_endpoint_policy(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, mcp_policy_t *policy);

/* Returns the maximum of stream_after over the endpoint and the items of its
 * catalog, ms. */
uint64_t mcp_endpoint_stream_after(const mcp_endpoint_t *endpoint);

/* mcp_endpoint_offers() returns 1 if the endpoint offers items of this kind,
 * mcp_endpoint_completes() if it offers completions. The catalog decides.
 * Without a catalog, both return 1 if there is a default backend. */
int mcp_endpoint_offers(const mcp_endpoint_t *endpoint,
    mcp_list_e kind);
int mcp_endpoint_completes(const mcp_endpoint_t *endpoint);

/*
 * Appends the object of server capabilities (2025-11-25, lifecycle,
 * "Capability Negotiation"; 2026-07-28, server/discover). If stateless is 1,
 * the object is for clients without a session, otherwise for clients with a
 * session. Both kinds of clients differ in their resumption methods, in tasks
 * and in subscriptions.
 */
void mcp_endpoint_capabilities(const mcp_endpoint_t *endpoint, int stateless,
    mcp_buf_t *buf);


#endif /* MCP_ENDPOINT_INTERNAL_H_INCLUDED */
