/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of the status page:
 *
 *   mcp_status.c             formats, counters
 *   mcp_status_cluster.c     the cluster, in all formats
 *   mcp_status_html.c        HTML, from mcp_status.html
 *   mcp_status_json.c        JSON
 *   mcp_status_prometheus.c  metrics
 */


#ifndef MCP_STATUS_INTERNAL_H_INCLUDED
#define MCP_STATUS_INTERNAL_H_INCLUDED


#include "mcp_status.h"
#include "store/mcp_store_call_stats.h"


typedef enum {
    MCP_STATUS_COUNTER = 0,
    MCP_STATUS_GAUGE
} mcp_status_type_e;


typedef struct {
    mcp_str_t           name;
    mcp_str_t           help;
    mcp_status_type_e   type;
    size_t              offset;        /* offset in mcp_store_stats_t */
} mcp_status_row_t;


/* The input of a response with the status: the request's query, the store, and
 * its numbers at that time. */
typedef struct {
    const mcp_status_query_t  *query;
    mcp_store_t               *store;
    mcp_store_stats_t          stats;
} mcp_status_t;


/* --- mcp_status.c --- */

/* A row for each counter of the store that is shown, and for each number of
 * mcp_store_stats_t. */
#define MCP_STATUS_ROWS  (MCP_COUNT_REVISION + 6)

extern const mcp_status_row_t  mcp_status_rows[MCP_STATUS_ROWS];

int64_t mcp_status_value(const mcp_store_stats_t *stats,
    const mcp_status_row_t *row);

/* Returns the revision after "revision", and sets *requests to the number of
 * its requests. */
mcp_revision_e mcp_status_revision(const mcp_store_stats_t *stats,
    mcp_revision_e revision, int64_t *requests);


/* --- mcp_status_cluster.c --- */

void mcp_status_cluster_json(const mcp_status_t *status, mcp_buf_t *buf);
void mcp_status_cluster_prometheus(const mcp_status_t *status, mcp_buf_t *buf);
void mcp_status_cluster_html(const mcp_status_t *status, mcp_buf_t *buf);


/* --- mcp_status_html.c --- */

/* The HTML page mcp_status.html, which scripts/embed converts to an array. The
 * part for browsers without scripts replaces MCP_STATUS_PLAIN in the page. */
extern const unsigned char  mcp_status_page[];
extern const size_t         mcp_status_page_len;

#define MCP_STATUS_PLAIN  "<!--plain-->"

/* Appends a text, escaped for HTML. */
void mcp_status_html_text(mcp_buf_t *buf, mcp_str_t text);

void mcp_status_html(const mcp_status_t *status, mcp_buf_t *buf);

/*
 * Sets the additional response headers of the HTML page.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_status_html_head(mcp_status_head_t *head);


/* --- mcp_status_json.c --- */

/* Returns the name of a kind of rows, such as "tool". */
mcp_str_t mcp_status_kind(mcp_call_stats_kind_e kind);

/* Append the text "before", and then a number or a JSON string. */
void mcp_status_number(mcp_buf_t *buf, mcp_str_t before, uint64_t n);
void mcp_status_string(mcp_buf_t *buf, mcp_str_t before, mcp_str_t text);

/* Appends milliseconds as seconds, such as "0.05". */
void mcp_status_seconds(mcp_buf_t *buf, uint64_t ms);

/* Returns the number of finished calls of a row of the call statistics. */
uint64_t mcp_status_ended(const mcp_call_stats_t *stats);

void mcp_status_json(const mcp_status_t *status, mcp_buf_t *buf);


/* --- mcp_status_prometheus.c --- */

/* Appends the first label of a Prometheus sample with its brace:
 * {zone="mcp". */
void mcp_status_zone(const mcp_status_t *status, mcp_buf_t *buf);

void mcp_status_prometheus(const mcp_status_t *status, mcp_buf_t *buf);


#endif /* MCP_STATUS_INTERNAL_H_INCLUDED */
