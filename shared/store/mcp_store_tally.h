/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What became of calls: for each item of each catalog a row with its counters,
 * the calls that run now, and the failures of late.
 *
 * All of it stands in the zone, in tables whose sizes follow from the zone's
 * and never change.  Counting takes no lock.  A process may be killed at any
 * time: what it has counted stays, and what it ran is gone from the calls that
 * run as soon as its slot is free.
 */


#ifndef MCP_STORE_TALLY_H_INCLUDED
#define MCP_STORE_TALLY_H_INCLUDED


#include "store/mcp_ending.h"


/* The row of whatever has no row of its own. */
#define MCP_TALLY_OTHER      0

#define MCP_TALLY_ROWS_MAX   1024
#define MCP_TALLY_BUCKETS    15        /* the last one is for all that takes
                                          longer than the bounds */
#define MCP_TALLY_ENDPOINT   96        /* bytes of text, with the NUL */
#define MCP_TALLY_NAME       129
#define MCP_TALLY_PRINCIPAL  48
#define MCP_TALLY_DETAIL     96
#define MCP_TALLY_RECENT     63        /* failures that are kept */
#define MCP_TALLY_PAGE       64        /* calls in one hold of the lock */

/* The result of a request that did not become a call. */
#define MCP_TALLY_REFUSED    0


typedef enum {
    MCP_TALLY_KIND_TOOL = 0,   /* as mcp_list_e */
    MCP_TALLY_KIND_PROMPT,
    MCP_TALLY_KIND_RESOURCE,
    MCP_TALLY_KIND_TEMPLATE,
    MCP_TALLY_KIND_OTHER,      /* the rest of an endpoint */
    MCP_TALLY_KINDS
} mcp_tally_kind_e;


/* A row's name. */
typedef struct {
    const unsigned char  *place;       /* of the endpoint, MCP_DIGEST_LEN */
    mcp_str_t             endpoint;    /* for people: server and path */
    mcp_tally_kind_e      kind;
    mcp_str_t             name;        /* of an item; OTHER: empty */
} mcp_tally_item_t;


/* A copy of a row. */
typedef struct {
    char              endpoint[MCP_TALLY_ENDPOINT];    /* NUL-terminated UTF-8
                                          without control characters, and one
                                          of a kind; name likewise */
    char              name[MCP_TALLY_NAME];
    mcp_tally_kind_e  kind;
    uint64_t          results[MCP_ENDING_COUNT];
    uint64_t          buckets[MCP_TALLY_BUCKETS];      /* each by itself */
    uint64_t          sum;             /* ms */
    uint64_t          failed_at;       /* 0: never */
    unsigned          failed;          /* its mcp_ending_e */
    unsigned          reason;          /* mcp_reason_e */
} mcp_tally_t;


/* A request that a backend works on. */
typedef struct {
    uint32_t       row;
    unsigned       request;            /* of its call */
    uint64_t       began;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_TALLY_PRINCIPAL];     /* NUL-terminated, and
                                          cut */
    unsigned       slot;               /* its process's */

    /* set by mcp_store_live_page() */
    uint64_t       pid;
    uint64_t       reader;             /* pid; 0: nobody reads here */
    unsigned       elsewhere;          /* it is read at another node */
    uint64_t       events;
    int            state;              /* mcp_stream_state_e; -1: it has no
                                          stream */
} mcp_live_t;


/* A failure. */
typedef struct {
    uint64_t       at;
    uint32_t       row;
    unsigned       result;             /* mcp_ending_e, or REFUSED */
    unsigned       reason;
    unsigned char  id[MCP_STREAM_ID_LEN];      /* of the call; zeros: none */
    char           principal[MCP_TALLY_PRINCIPAL];
    char           detail[MCP_TALLY_DETAIL];   /* NUL-terminated, the log's
                                          reason; empty: there is none */
} mcp_tally_failure_t;


/* Upper bounds of the buckets but for the last one, in ms. */
extern const uint64_t  mcp_tally_bounds[MCP_TALLY_BUCKETS - 1];

/* Copies text that may be longer than a principal here, and is anything. */
void mcp_tally_principal(char out[MCP_TALLY_PRINCIPAL], mcp_str_t text);

/* The same for the log's reason. */
void mcp_tally_detail(char out[MCP_TALLY_DETAIL], mcp_str_t text);


/* --- mcp_store_tally.c --- */

/*
 * Finds the row of an item, or takes one for it, and sets *row.
 *
 * Returns MCP_OK, or with *row set to MCP_TALLY_OTHER
 *   MCP_ERR_FULL      all rows are taken
 */
int mcp_store_tally_row(mcp_store_t *store, const mcp_tally_item_t *item,
    uint32_t *row);

/* Counts a request that ended after ms. */
void mcp_store_tally_count(mcp_store_t *store, uint32_t row,
    mcp_ending_e ending, uint64_t ms);

/* Notes a failure. */
void mcp_store_tally_failed(mcp_store_t *store,
    const mcp_tally_failure_t *failure);

/* Returns how many rows there are, at least one. */
uint32_t mcp_store_tally_rows(mcp_store_t *store);
void mcp_store_tally_get(mcp_store_t *store, uint32_t row, mcp_tally_t *out);

/* Copies failures, the latest first, and returns how many: at most n. */
size_t mcp_store_tally_recent(mcp_store_t *store, mcp_tally_failure_t *out,
    size_t n);


/* --- mcp_store_live.c --- */

/* Notes that a backend works on a request; returns a handle for its end, 0 if
 * there is no room for it. */
uint32_t mcp_store_live_begin(mcp_store_t *store, const mcp_live_t *live);

/* Takes it out again; 0 does nothing. */
void mcp_store_live_end(mcp_store_t *store, uint32_t handle);

/* Adds to counts, for each of n rows, the requests that run. */
void mcp_store_live_count(mcp_store_t *store, uint64_t *counts, size_t n);

/*
 * Copies at most MCP_TALLY_PAGE requests, from a position on, which is then
 * behind the last one; *position is 0 at first, and when there are no more.
 *
 * Returns how many there are.
 */
size_t mcp_store_live_page(mcp_store_t *store, uint32_t *position,
    mcp_live_t out[MCP_TALLY_PAGE]);


#endif /* MCP_STORE_TALLY_H_INCLUDED */
