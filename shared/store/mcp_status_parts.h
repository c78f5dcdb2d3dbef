/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of the status share:
 *
 *   mcp_status.c             formats, what is counted
 *   mcp_status_cluster.c     the cluster, in all formats
 *   mcp_status_html.c        the page, of mcp_status.html
 *   mcp_status_json.c        JSON
 *   mcp_status_prometheus.c  metrics
 */


#ifndef MCP_STATUS_PARTS_H_INCLUDED
#define MCP_STATUS_PARTS_H_INCLUDED


#include "mcp_status.h"
#include "store/mcp_store_tally.h"


typedef enum {
    MCP_STATUS_COUNTER = 0,
    MCP_STATUS_GAUGE
} mcp_status_type_e;


typedef struct {
    mcp_str_t           name;
    mcp_str_t           help;
    mcp_status_type_e   type;
    size_t              offset;        /* in mcp_store_stats_t */
} mcp_status_row_t;


/* What is rendered. */
typedef struct {
    const mcp_status_ask_t  *ask;
    mcp_store_t             *store;
    mcp_store_stats_t        stats;
} mcp_status_t;


/* --- mcp_status.c --- */

/* A row for each counter of the store that has one, and for each number of
 * mcp_store_stats_t. */
#define MCP_STATUS_ROWS  (MCP_COUNT_REVISION + 6)

extern const mcp_status_row_t  mcp_status_rows[MCP_STATUS_ROWS];

int64_t mcp_status_value(const mcp_store_stats_t *stats,
    const mcp_status_row_t *row);

/* Returns the revision behind this one, with the number of its requests. */
mcp_revision_e mcp_status_revision(const mcp_store_stats_t *stats,
    mcp_revision_e revision, int64_t *requests);


/* --- mcp_status_cluster.c --- */

void mcp_status_cluster_json(const mcp_status_t *status, mcp_buf_t *buf);
void mcp_status_cluster_prometheus(const mcp_status_t *status, mcp_buf_t *buf);
void mcp_status_cluster_html(const mcp_status_t *status, mcp_buf_t *buf);


/* --- mcp_status_html.c --- */

/* The page as the file has it: scripts/embed makes them of it.  What needs no
 * script takes the place of MCP_STATUS_PLAIN. */
extern const unsigned char  mcp_status_page[];
extern const size_t         mcp_status_page_len;

#define MCP_STATUS_PLAIN  "<!--plain-->"

/* Appends text that may be anything. */
void mcp_status_html_text(mcp_buf_t *buf, mcp_str_t text);

void mcp_status_html(const mcp_status_t *status, mcp_buf_t *buf);

/*
 * Sets the page's headers.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_status_html_head(mcp_status_head_t *head);


/* --- mcp_status_json.c --- */

/* "tool" and so on. */
mcp_str_t mcp_status_kind(mcp_tally_kind_e kind);

/* Append what stands before, and then a number, or a JSON string. */
void mcp_status_number(mcp_buf_t *buf, mcp_str_t before, uint64_t n);
void mcp_status_string(mcp_buf_t *buf, mcp_str_t before, mcp_str_t text);

/* Appends milliseconds as seconds: "0.05". */
void mcp_status_seconds(mcp_buf_t *buf, uint64_t ms);

/* Returns how many calls of a row have ended. */
uint64_t mcp_status_ended(const mcp_tally_t *tally);

void mcp_status_json(const mcp_status_t *status, mcp_buf_t *buf);


/* --- mcp_status_prometheus.c --- */

/* Appends a sample's first label, with its brace: {zone="mcp". */
void mcp_status_zone(const mcp_status_t *status, mcp_buf_t *buf);

void mcp_status_prometheus(const mcp_status_t *status, mcp_buf_t *buf);


#endif /* MCP_STATUS_PARTS_H_INCLUDED */
