/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The data of a worker about MCP servers: cached lists, the headers of tools,
 * the rows of their statistics, and the sessions that its requests use.
 */


#ifndef MCP_WORKER_UPSTREAM_H_INCLUDED
#define MCP_WORKER_UPSTREAM_H_INCLUDED


#include "store/mcp_store_upstream.h"
#include "worker/mcp_worker_internal.h"


/* --- the cache of lists --- */

/*
 * Cache of the lists of MCP servers without a catalog: pages of the responses
 * to tools/list, prompts/list, resources/list and resources/templates/list.
 * Each worker has a separate cache. call/mcp_upstream_list_from_cache.h
 * decides which requests may use the cache.
 */


/* Maximum number of pages, of bytes of one page, and of bytes of all pages of a
 * worker. The page that was used least recently is removed first. */
#define MCP_UPSTREAM_LISTS_PAGES  256
#define MCP_UPSTREAM_LISTS_PAGE   (1024 * 1024)
#define MCP_UPSTREAM_LISTS_SIZE   (4 * 1024 * 1024)

/* Maximum time for which a page is fresh because of its ttlMs, ms. */
#define MCP_UPSTREAM_LISTS_TTL    3600000


/* The key by which a page is found in the cache. */
typedef struct {
    const mcp_endpoint_t  *endpoint;
    unsigned               target;
    mcp_list_e             kind;
    unsigned char          request[MCP_DIGEST_LEN];    /* digest of the cursor
                                                          and the client's
                                                          capabilities, on
                                                          which the result
                                                          depends */
} mcp_upstream_page_key_t;


struct mcp_upstream_page_s {
    mcp_upstream_page_t      *next;
    mcp_upstream_page_key_t   key;
    mcp_buf_t                 text;    /* the result without ttlMs */
    uint64_t                  at;      /* time when the page was received, ms of
                                          mcp_env_t.now */
    uint64_t                  until;   /* time until which the page is fresh, ms
                                          of mcp_env_t.now */
    uint64_t                  ttl;     /* value of ttlMs, 0 if it is missing */
    unsigned                  has_ttl:1;       /* 1: the result has ttlMs */
    uint64_t                  requested; /* time when the pending request for a
                                            newer page was sent, ms; 0: no
                                            request is pending */
    uint64_t                  failed;  /* time when a request for a newer page
                                          last failed, ms; 0: none has failed */
};


/* Returns the page with this key, or NULL if the cache does not have it. The
 * page is valid until the next call of a function of this file. */
mcp_upstream_page_t *mcp_upstream_lists_find(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key);

/* Adds or replaces a page. result is an object of valid JSON. The page is fresh
 * for "check" ms, or for its ttlMs if that is longer. A result that is too
 * large, or for which there is no memory, is not stored. */
void mcp_upstream_lists_put(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key, mcp_str_t result, uint64_t check);

/* Appends the result of a page. Its ttlMs is reduced by the time for which the
 * page has been cached at the time "now". */
void mcp_upstream_lists_write(const mcp_upstream_page_t *page, uint64_t now,
    mcp_buf_t *out);

/* Returns a counter of the changes of a list. A request for the list stores its
 * response only if the counter has not changed since the request began. */
uint64_t mcp_upstream_lists_changed(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key);

/* Removes all pages of a list, and increments its counter of changes. */
void mcp_upstream_lists_drop(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_list_e kind);

void mcp_upstream_lists_free(mcp_worker_t *worker);


/* --- the headers of tools --- */

/*
 * The headers Mcp-Param-* of the tools of MCP servers without a catalog
 * (2026-07-28, server/tools, "x-mcp-header"). A worker reads the names of these
 * headers from each list of tools that it receives, and uses them for the calls
 * of all callers. This reveals nothing to other callers, because the values of
 * the headers come from the arguments of the call itself.
 */


/* Maximum number of tools with headers in a worker's list. The tool that was
 * listed least recently is removed first. */
#define MCP_UPSTREAM_TOOLS       512

/* Maximum length of the inputSchema of a tool with headers, bytes. */
#define MCP_UPSTREAM_TOOLS_SCHEMA  (64 * 1024)


/* Reads the names of the Mcp-Param headers from the "x-mcp-header" members in
 * the schemas of all tools. "result" is a result of tools/list from the
 * endpoint's target, an object of valid JSON. A tool gets no headers if its
 * schema violates a rule for them, or when out of memory. */
void mcp_upstream_tools_read(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t result);

/* Returns the array of a tool's headers and sets *n to their number. Returns
 * NULL if the worker's list does not have the tool. The array is valid until
 * the next mcp_upstream_tools_read(). */
const mcp_catalog_header_t *mcp_upstream_tools_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t tool, size_t *n);

void mcp_upstream_tools_free(mcp_worker_t *worker);


/* --- rows of statistics --- */

/* The rows of the statistics of MCP servers. A worker looks up the rows of the
 * servers of its configuration when it starts, and the row of an endpoint
 * without a catalog key when the endpoint's server is called. */


/* Looks up the rows of an endpoint's MCP servers in the zone, and takes new
 * ones for servers without a row. The status does not show a server that gets
 * no row, because the zone or the memory is full. */
void mcp_upstream_stats_offer(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint);

void mcp_upstream_stats_free(mcp_worker_t *worker);

/* Returns the row of an MCP server, which is a target of the endpoint. Returns
 * MCP_STORE_UPSTREAM_NONE if the server has no row. */
mcp_store_upstream_row_t mcp_upstream_stats_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target);


/* --- sessions in use --- */

/*
 * The sessions at MCP servers that the requests of this process use.
 *
 * The zone has a time until which a session is in use, so that
 * mcp_upstream_max_sessions ends other sessions first. A session is in use from
 * the time when a request finds or adds it until the last request of this
 * process that uses it is over. Meanwhile the worker renews the time in the
 * zone, which is short, because the process may be killed.
 */


/* Time for which a session is in use unless it is renewed, ms. */
#define MCP_UPSTREAM_SESSION_USED      (60 * 1000)

/* Interval at which a session that is in use is renewed in the zone, ms. */
#define MCP_UPSTREAM_SESSION_USED_RENEW  (20 * 1000)


/* The use of a session by a request. The memory belongs to the request. */
struct mcp_upstream_session_use_s {
    mcp_upstream_session_use_t   *next;
    mcp_upstream_session_use_t  **link;        /* address of the pointer to this
                                                  structure in worker->uses;
                                                  NULL: the request uses no
                                                  session */
    const unsigned char          *key;         /* key of the session's value in
                                                  the zone */
};


/* Records that a request uses the session with this key, which the zone already
 * shows as in use. key has to exist until the request leaves the session. Does
 * nothing if the request uses the session already. */
void mcp_upstream_session_use_begin(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use, const unsigned char *key);

/* Called when a request that may use a session is over. If no other request of
 * this process uses the session, removes the process from the session in the
 * zone. */
void mcp_upstream_session_use_end(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use);

/* Called at least every MCP_UPSTREAM_SESSION_USED_RENEW / 2 ms: renews the
 * sessions that are in use in the zone, if it is time to do so. */
void mcp_upstream_session_uses_renew(mcp_worker_t *worker, uint64_t now);


#endif /* MCP_WORKER_UPSTREAM_H_INCLUDED */
