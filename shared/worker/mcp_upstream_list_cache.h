/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cache of the lists of MCP servers without a catalog: pages of the responses
 * to tools/list, prompts/list, resources/list and resources/templates/list.
 * Each worker has a separate cache. call/mcp_upstream_list_from_cache.h
 * decides which requests may use the cache.
 */


#ifndef MCP_UPSTREAM_LIST_CACHE_H_INCLUDED
#define MCP_UPSTREAM_LIST_CACHE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


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

/* Removes all pages of a list, and increments worker->lists_changed. A request
 * that began before compares this counter and does not store its response. */
void mcp_upstream_lists_drop(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_list_e kind);

void mcp_upstream_lists_free(mcp_worker_t *worker);


#endif /* MCP_UPSTREAM_LIST_CACHE_H_INCLUDED */
