/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The outcomes of requests: their names (values of $mcp_result), their
 * counters, and the outcome of a finished stream.
 *
 * Call statistics: each item of each catalog has a row with counters, as long
 * as rows are free. The zone contains these rows, the active requests and the
 * latest failures. The sizes of these tables are determined when the zone is
 * created, and never change.
 *
 * Counting takes no lock. A process may be killed at any time: its counts
 * remain, and its requests are no longer active as soon as its slot is free.
 */


#ifndef MCP_STORE_CALL_STATS_H_INCLUDED
#define MCP_STORE_CALL_STATS_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "store/mcp_store.h"


/* How a request of a call ended; worse outcomes have larger numbers. Outcomes
 * up to LOST are stored in the stream, see MCP_STORE_RESULT(). */
typedef enum {
    MCP_OUTCOME_NONE = 0,      /* the request has not ended, or there is no
                                  call */
    MCP_OUTCOME_OK,
    MCP_OUTCOME_TOOL_ERROR,    /* a tool's result with isError */
    MCP_OUTCOME_RPC_ERROR,     /* an error response of the backend */
    MCP_OUTCOME_FAULT,         /* an error response of the server */
    MCP_OUTCOME_LOST,          /* the owner's process died */
    MCP_OUTCOME_CANCELLED,     /* the client has cancelled the request, or its
                                  session has ended */
    MCP_OUTCOME_EXPIRED,       /* no client resumed the call within the
                                  max_wait of its policy */
    MCP_OUTCOME_COUNT
} mcp_outcome_e;


/* Returns the name of an outcome for logs and maps; empty for NONE. */
mcp_str_t mcp_outcome_name(mcp_outcome_e outcome);

/* Adds 1 to the store's counter for an outcome, if there is one. */
void mcp_outcome_count(mcp_store_t *store, mcp_outcome_e outcome);

/* Returns the outcome of a stream's call, or NONE while it is active. For a
 * batch it is the worst one, but a cancellation counts only if all requests
 * were cancelled. */
mcp_outcome_e mcp_outcome_of(const mcp_stream_info_t *info);


/* The index of the row for all calls that have no row of their own. */
#define MCP_CALL_STATS_OTHER  0

#define MCP_CALL_STATS_ROWS_MAX   1024
#define MCP_CALL_STATS_LISTED     128  /* an item that is not in a catalog gets
                                          a row only if its endpoint has fewer
                                          rows of this kind than this number */
#define MCP_CALL_STATS_BUCKETS    15   /* number of buckets of a histogram of
                                          durations; the last bucket is for
                                          durations above all bounds */
#define MCP_CALL_STATS_ENDPOINT   96   /* bytes of text, including the NUL */
#define MCP_CALL_STATS_NAME       129
#define MCP_CALL_STATS_PRINCIPAL  48
#define MCP_CALL_STATS_DETAIL     96
#define MCP_CALL_STATS_RECENT     63   /* number of failures that are kept */
#define MCP_CALL_STATS_PAGE       64   /* maximum number of active requests that
                                          mcp_store_active_page() copies in one
                                          call */

/* The result of a failure that rejected a request before it became a call.
 * Other failures have an outcome as their result. */
#define MCP_CALL_STATS_REFUSED  0


typedef enum {
    MCP_CALL_STATS_KIND_TOOL = 0,  /* the kinds up to TEMPLATE have the numbers
                                      of mcp_list_e */
    MCP_CALL_STATS_KIND_PROMPT,
    MCP_CALL_STATS_KIND_RESOURCE,
    MCP_CALL_STATS_KIND_TEMPLATE,
    MCP_CALL_STATS_KIND_OTHER,     /* all other requests of an endpoint */
    MCP_CALL_STATS_KINDS
} mcp_call_stats_kind_e;


/* The item that a row of the call statistics counts. Rows are found by
 * catalog_key, kind and name. */
typedef struct {
    const unsigned char   *catalog_key; /* key of the catalog, or of an
                                           endpoint without a catalog;
                                           MCP_DIGEST_LEN bytes */
    mcp_str_t              endpoint;   /* readable form of catalog_key: server
                                          and path */
    mcp_call_stats_kind_e  kind;
    mcp_str_t              name;       /* name of an item; for the kind OTHER:
                                          empty */
} mcp_call_stats_item_t;


/* A copy of a row of the call statistics. */
typedef struct {
    /* endpoint and name are UTF-8 without control characters, end with a NUL,
     * and are unique even if truncated */
    char                   endpoint[MCP_CALL_STATS_ENDPOINT];
    char                   name[MCP_CALL_STATS_NAME];
    mcp_call_stats_kind_e  kind;
    uint64_t               results[MCP_OUTCOME_COUNT];
    /* the numbers are read one by one without a lock, so they may not be from
     * the same moment */
    uint64_t               buckets[MCP_CALL_STATS_BUCKETS];
    uint64_t               sum;        /* sum of all durations, ms */
    uint64_t               failed_at;  /* time of the last failure, ms; 0:
                                          never */
    unsigned               failed;     /* mcp_outcome_e of the last failure */
    unsigned               reason;     /* mcp_reason_e of the last failure */
} mcp_call_stats_t;


/* An active request: a request on which a backend works. */
typedef struct {
    uint32_t       row;
    unsigned       request;            /* index of the request in its call */
    uint64_t       began;              /* time when the call began, ms */
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_CALL_STATS_PRINCIPAL];  /* ends with a NUL,
                                                            truncated */
    unsigned       slot;               /* slot of the process that runs the
                                          backend request */

    /* the following fields are set by mcp_store_active_page() only */
    uint64_t       pid;
    uint64_t       reader;             /* pid of the process of the stream's
                                          consumer; 0: there is none at this
                                          node */
    unsigned       elsewhere;          /* 1: the stream's consumer is at
                                          another node */
    uint64_t       events;             /* number of the stream's last event */
    int            state;              /* mcp_stream_state_e; -1: the call has
                                          no stream */
} mcp_active_t;


/* A failure: a request of a call whose outcome is worse than OK, or a rejected
 * request. */
typedef struct {
    uint64_t       at;                 /* time of the failure, ms, see
                                          mcp_env_t.now */
    uint32_t       row;
    uint16_t       result;             /* mcp_outcome_e, or
                                          MCP_CALL_STATS_REFUSED */
    uint16_t       reason;             /* mcp_reason_e */
    unsigned char  id[MCP_STREAM_ID_LEN];          /* id of the call; zeros:
                                                      none */
    char           principal[MCP_CALL_STATS_PRINCIPAL];
    char           detail[MCP_CALL_STATS_DETAIL];  /* the reason in the words
                                                      of the log, ends with a
                                                      NUL; empty: none */
} mcp_call_stats_failure_t;


/* Upper bounds of the buckets except the last one, ms. */
extern const uint64_t  mcp_call_stats_bounds[MCP_CALL_STATS_BUCKETS - 1];

/* Returns the index of the bucket for a duration of "ms" milliseconds. */
static inline unsigned
mcp_call_stats_bucket(uint64_t ms)
{
    unsigned  i;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS - 1 && ms > mcp_call_stats_bounds[i];
         i++)
    {
        /* void */
    }

    return i;
}

/* Copies text for pages, metrics and logs: replaces control characters and
 * invalid UTF-8 by "?", and truncates it between characters. Returns 1 if it
 * was truncated. */
int mcp_call_stats_text(char *out, size_t size, mcp_str_t text);

/* Copies text like mcp_call_stats_text(). If it is truncated, appends digits
 * of "key", so that texts with different keys differ. */
void mcp_call_stats_label(char *out, size_t size, mcp_str_t text,
    const unsigned char *key);

/* Copies the name of a principal, or the reason of a failure as in the log, to
 * the field "principal" or "detail" of mcp_active_t or
 * mcp_call_stats_failure_t. Truncates the text if necessary. */
#define mcp_call_stats_copy(field, text)                                      \
    (void) mcp_call_stats_text(field, sizeof(field), text)


/* --- statistics --- */

/*
 * Finds the row of an item, or takes one for it, and sets *row. "listed" is 1
 * for an item that is not configured: a tool from the list of an MCP server. It
 * gets a new row only if fewer than MCP_CALL_STATS_LISTED items of this kind
 * and endpoint have rows, and fewer than half of all rows are taken.
 *
 * Returns MCP_OK, or, with *row set to MCP_CALL_STATS_OTHER,
 *   MCP_ERR_FULL  all rows are taken, or too many by listed items
 */
int mcp_store_call_stats_row(mcp_store_t *store,
    const mcp_call_stats_item_t *item, int listed, uint32_t *row);

/* Returns 1 if a row counts the calls of the tool "name". */
int mcp_store_call_stats_is_tool(mcp_store_t *store, uint32_t row,
    mcp_str_t name);

/* Returns 1 if two rows belong to the same endpoint. */
int mcp_store_call_stats_same(mcp_store_t *store, uint32_t row,
    uint32_t other);

/* Counts a request that ended with an outcome after "ms" milliseconds. */
void mcp_store_call_stats_count(mcp_store_t *store, uint32_t row,
    mcp_outcome_e outcome, uint64_t ms);

/* Adds a failure to the latest ones, and stores it as the last failure of its
 * row unless its result is MCP_CALL_STATS_REFUSED. */
void mcp_store_call_stats_failed(mcp_store_t *store,
    const mcp_call_stats_failure_t *failure);

/* mcp_store_call_stats_rows() returns the number of rows, which is at least 1.
 * mcp_store_call_stats_get() copies the row with this index. */
uint32_t mcp_store_call_stats_rows(mcp_store_t *store);
void mcp_store_call_stats_get(mcp_store_t *store, uint32_t row,
    mcp_call_stats_t *out);

/* Copies at most n failures, the latest first, and returns their number, which
 * is at most MCP_CALL_STATS_RECENT. */
size_t mcp_store_call_stats_recent(mcp_store_t *store,
    mcp_call_stats_failure_t *out, size_t n);


/* Records that a backend works on a request. Returns the handle for
 * mcp_store_active_end(), or 0 if no free record was found. */
uint32_t mcp_store_active_begin(mcp_store_t *store, const mcp_active_t *live);

/* Removes the record that mcp_store_active_begin() made; the handle 0 has no
 * effect. */
void mcp_store_active_end(mcp_store_t *store, uint32_t handle);

/* For each of the first n rows, adds the number of its active requests to the
 * row's element of "counts". */
void mcp_store_active_count(mcp_store_t *store, uint64_t *counts, size_t n);

/* Copies at most MCP_CALL_STATS_PAGE active requests to "out", beginning with
 * record *position, and sets *position to the next record. *position is 0 for
 * the first call, and 0 again when there are no more. Returns the number of
 * copied requests. */
size_t mcp_store_active_page(mcp_store_t *store, uint32_t *position,
    mcp_active_t out[MCP_CALL_STATS_PAGE]);


/* --- durations --- */

/*
 * Durations of requests and notifications, as OpenTelemetry's metric
 * mcp.server.operation.duration has them: one histogram for each combination of
 * attributes that has occurred. The histograms are in a table of the zone. The
 * size of the table follows from that of the zone and never changes.
 *
 * Counting takes no lock.
 */


/* The attributes of a histogram. */
typedef struct {
    uint32_t          row;             /* row of the call statistics: the
                                          endpoint, and the tool or prompt */
    mcp_method_e      method;
    mcp_revision_e    revision;        /* NONE: unknown */
    mcp_error_type_e  error;
} mcp_duration_key_t;


/* A copy of a histogram. The numbers are read one by one without a lock. */
typedef struct {
    mcp_duration_key_t  key;
    uint64_t            buckets[MCP_CALL_STATS_BUCKETS];  /* bounds as in
                                          mcp_call_stats_bounds */
    uint64_t            sum;           /* sum of all durations, ms */
} mcp_duration_t;


/* Counts a request or a notification that was received at the time "received"
 * and ended at the time "ended", both in ms. The duration counts as 0 if the
 * clock was set back in between. If the table has no room for a new combination
 * of attributes, uses the histogram with the row MCP_CALL_STATS_OTHER, the
 * method UNKNOWN, no revision, and the error NONE (if key->error is NONE) or
 * OTHER. */
void mcp_store_duration_count(mcp_store_t *store, const mcp_duration_key_t *key,
    uint64_t received, uint64_t ended);

/* Returns the number of places in the table of histograms, including free
 * places. */
uint32_t mcp_store_durations(mcp_store_t *store);

/* Copies the histogram at a place of the table. Returns 0 if the place is free,
 * or if its histogram has counted nothing. */
int mcp_store_duration_get(mcp_store_t *store, uint32_t place,
    mcp_duration_t *out);


#endif /* MCP_STORE_CALL_STATS_H_INCLUDED */
