/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Call statistics: for each item of each catalog a row with its counters, the
 * active calls, and the latest failures, all in the zone, in tables whose sizes
 * follow from the zone's and never change.
 *
 * Counting takes no lock. A process may be killed at any time: its counts
 * remain, and its calls are no longer active as soon as its slot is free.
 */


#ifndef MCP_STORE_CALL_STATS_H_INCLUDED
#define MCP_STORE_CALL_STATS_H_INCLUDED


#include "store/mcp_outcome.h"


/* The row for all tools without a row. */
#define MCP_CALL_STATS_OTHER  0

#define MCP_CALL_STATS_ROWS_MAX   1024
#define MCP_CALL_STATS_BUCKETS    15   /* the last one is for durations above
                                          the bounds */
#define MCP_CALL_STATS_ENDPOINT   96   /* bytes of text, including the NUL */
#define MCP_CALL_STATS_NAME       129
#define MCP_CALL_STATS_PRINCIPAL  48
#define MCP_CALL_STATS_DETAIL     96
#define MCP_CALL_STATS_RECENT     63   /* number of failures that are kept */
#define MCP_CALL_STATS_PAGE       64   /* number of calls that are read while
                                          the lock is held once */

/* The result of a request that did not become a call. */
#define MCP_CALL_STATS_REFUSED  0


typedef enum {
    MCP_CALL_STATS_KIND_TOOL = 0,  /* as mcp_list_e */
    MCP_CALL_STATS_KIND_PROMPT,
    MCP_CALL_STATS_KIND_RESOURCE,
    MCP_CALL_STATS_KIND_TEMPLATE,
    MCP_CALL_STATS_KIND_OTHER,     /* all other requests of an endpoint */
    MCP_CALL_STATS_KINDS
} mcp_call_stats_kind_e;


/* The name of a row. */
typedef struct {
    const unsigned char   *catalog_key; /* place of the endpoint, MCP_DIGEST_LEN
                                          bytes */
    mcp_str_t              endpoint;   /* for people: server and path */
    mcp_call_stats_kind_e  kind;
    mcp_str_t              name;       /* name of an item; OTHER: empty */
} mcp_call_stats_item_t;


/* A copy of a row. */
typedef struct {
    /* UTF-8 without control characters, ends with a NUL, unique; the same for
     * name */
    char                   endpoint[MCP_CALL_STATS_ENDPOINT];
    char                   name[MCP_CALL_STATS_NAME];
    mcp_call_stats_kind_e  kind;
    uint64_t               results[MCP_OUTCOME_COUNT];
    /* each value is consistent in itself */
    uint64_t               buckets[MCP_CALL_STATS_BUCKETS];
    uint64_t               sum;        /* sum of all durations, ms */
    uint64_t               failed_at;  /* time of the last failure, ms; 0:
                                          never */
    unsigned               failed;     /* its mcp_outcome_e */
    unsigned               reason;     /* its mcp_reason_e */
} mcp_call_stats_t;


/* A request on which a backend works. */
typedef struct {
    uint32_t       row;
    unsigned       request;            /* index of the request in its call */
    uint64_t       began;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_CALL_STATS_PRINCIPAL];  /* ends with a NUL,
                                                            truncated */
    unsigned       slot;               /* slot of its process */

    /* set by mcp_store_active_page() */
    uint64_t       pid;
    uint64_t       reader;             /* pid of the reader's process; 0: no
                                          local reader */
    unsigned       elsewhere;          /* 1: it is read at another node */
    uint64_t       events;
    int            state;              /* mcp_stream_state_e; -1: it has no
                                          stream */
} mcp_active_t;


/* A failure. */
typedef struct {
    uint64_t       at;
    uint32_t       row;
    unsigned       result;             /* mcp_outcome_e, or REFUSED */
    unsigned       reason;
    unsigned char  id[MCP_STREAM_ID_LEN];          /* id of the call; zeros:
                                                      none */
    char           principal[MCP_CALL_STATS_PRINCIPAL];
    char           detail[MCP_CALL_STATS_DETAIL];  /* the log's reason, ends
                                                      with a NUL; empty: none */
} mcp_call_stats_failure_t;


/* Upper bounds of the buckets except the last one, ms. */
extern const uint64_t  mcp_call_stats_bounds[MCP_CALL_STATS_BUCKETS - 1];

/* Copies a principal of any length and content, truncated to the size of this
 * text. */
void mcp_call_stats_principal(char out[MCP_CALL_STATS_PRINCIPAL],
    mcp_str_t text);

/* Copies the log's reason in the same way. */
void mcp_call_stats_detail(char out[MCP_CALL_STATS_DETAIL], mcp_str_t text);


/* --- mcp_store_call_stats.c --- */

/*
 * Finds the row of an item, or takes one for it, and sets *row.
 *
 * Returns MCP_OK, or, with *row set to MCP_CALL_STATS_OTHER,
 *   MCP_ERR_FULL  all rows are taken
 */
int mcp_store_call_stats_row(mcp_store_t *store,
    const mcp_call_stats_item_t *item, uint32_t *row);

/* Counts a request that ended after ms. */
void mcp_store_call_stats_count(mcp_store_t *store, uint32_t row,
    mcp_outcome_e outcome, uint64_t ms);

/* Stores a failure. */
void mcp_store_call_stats_failed(mcp_store_t *store,
    const mcp_call_stats_failure_t *failure);

/* Returns the number of rows, at least one. */
uint32_t mcp_store_call_stats_rows(mcp_store_t *store);
void mcp_store_call_stats_get(mcp_store_t *store, uint32_t row,
    mcp_call_stats_t *out);

/* Copies failures, the latest first, and returns their number, at most n. */
size_t mcp_store_call_stats_recent(mcp_store_t *store,
    mcp_call_stats_failure_t *out, size_t n);


/* --- mcp_store_active_request.c --- */

/* Records that a backend works on a request. Returns a handle for its end, 0 if
 * there is no room for it. */
uint32_t mcp_store_active_begin(mcp_store_t *store, const mcp_active_t *live);

/* Removes that record; 0 has no effect. */
void mcp_store_active_end(mcp_store_t *store, uint32_t handle);

/* Adds the number of active requests to counts, for each of n rows. */
void mcp_store_active_count(mcp_store_t *store, uint64_t *counts, size_t n);

/* Copies at most MCP_CALL_STATS_PAGE active requests from *position on, which
 * is 0 for the first call, and 0 again when there are no more. Returns their
 * number. */
size_t mcp_store_active_page(mcp_store_t *store, uint32_t *position,
    mcp_active_t out[MCP_CALL_STATS_PAGE]);


#endif /* MCP_STORE_CALL_STATS_H_INCLUDED */
