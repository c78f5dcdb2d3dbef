/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of the status page:
 *
 *   mcp_status.c             formats, and the table of all numbers
 *   mcp_status_html.c        HTML, from mcp_status.html
 *   mcp_status_json.c        JSON
 *   mcp_status_prometheus.c  metrics
 */


#ifndef MCP_STATUS_INTERNAL_H_INCLUDED
#define MCP_STATUS_INTERNAL_H_INCLUDED


#include "mcp_status.h"
#include "store/mcp_store_call_stats.h"
#include "store/mcp_store_own_node.h"
#include "store/mcp_store_upstream.h"


/* The data from which a response with the status is rendered: the query, the
 * store, and the values that mcp_status_read() has read from the store. */
typedef struct {
    const mcp_status_query_t  *query;
    mcp_store_t               *store;
    mcp_store_stats_t          stats;

    uint32_t                   n_calls;            /* number of rows of the
                                                      call statistics */

    /* number of active requests of each row */
    uint64_t                   active[MCP_CALL_STATS_ROWS_MAX];

    size_t                     n_upstreams;        /* number of MCP servers */
    mcp_store_upstream_t       upstreams[MCP_STORE_UPSTREAMS];

    unsigned                   clustered;          /* 1: the zone is a node of
                                                      a cluster; 0: the
                                                      following fields are not
                                                      set */
    unsigned                   standalone;         /* 1 if the node is
                                                      standalone */
    mcp_node_info_t            node;
    uint64_t                   lag;    /* age of the oldest event that is not
                                          replicated, ms */
    uint64_t                   silence;            /* longest time since a
                                                      member's last heartbeat,
                                                      ms */
} mcp_status_t;


/* --- mcp_status.c --- */

typedef enum {
    MCP_STATUS_COUNTER = 0,
    MCP_STATUS_GAUGE,
    MCP_STATUS_MS,             /* a gauge in milliseconds; in Prometheus, in
                                  seconds */
    MCP_STATUS_REJECTION       /* a counter that is part of the metric
                                    mcp_requests_refused_total */
} mcp_status_type_e;

/* The sections of the table mcp_status_rows, as bits. */
#define MCP_STATUS_STORE   1
#define MCP_STATUS_NODE    2           /* the node and its links to Redis */
#define MCP_STATUS_LAG     4           /* the replication lag */
#define MCP_STATUS_EVENTS  8           /* the counters of the cluster */

#define MCP_STATUS_CLUSTER                                                    \
    (MCP_STATUS_NODE | MCP_STATUS_LAG | MCP_STATUS_EVENTS)

/* A row of the table mcp_status_rows: it describes one number, which is a field
 * of mcp_status_t. */
typedef struct {
    unsigned            section;
    mcp_status_type_e   type;
    const char         *name;          /* name in JSON; empty: not in JSON */
    const char         *metric;        /* name of the metric; for a rejection
                                          the value of its label "reason";
                                          empty: no metric */
    const char         *help;
    size_t              offset;        /* offset and size of the field in
                                          mcp_status_t */
    size_t              size;
} mcp_status_row_t;

/* Appends one number, described by "row", to buf. JSON, HTML and Prometheus
 * have their own functions of this type. */
typedef void (*mcp_status_number_pt)(const mcp_status_t *status,
    const mcp_status_row_t *row, mcp_buf_t *buf);

/* Appends one row of the call statistics to buf; "active" is the number of its
 * active requests. JSON, HTML and Prometheus have their own functions of this
 * type. */
typedef void (*mcp_status_calls_pt)(const mcp_status_t *status,
    const mcp_call_stats_t *stats, uint64_t active, mcp_buf_t *buf);

/* Appends the data of one MCP server to buf. JSON, HTML and Prometheus have
 * their own functions of this type. */
typedef void (*mcp_status_upstream_pt)(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf);

/* Sets *status to the present state of a store. */
void mcp_status_read(mcp_status_t *status, mcp_store_t *store,
    const mcp_status_query_t *query);

/* Calls "write" for each number in the given sections, MCP_STATUS_... as bits.
 * If the zone is not a node of a cluster, ignores all sections except
 * MCP_STATUS_STORE. */
void mcp_status_numbers(const mcp_status_t *status, unsigned sections,
    mcp_status_number_pt write, mcp_buf_t *buf);

/* Returns the number that "row" describes. */
int64_t mcp_status_value(const mcp_status_t *status,
    const mcp_status_row_t *row);

/* Returns the number of requests that clients of a revision have sent. */
static inline int64_t
mcp_status_requests(const mcp_status_t *status, mcp_revision_e revision)
{
    return status->stats.counter[mcp_store_count_revision(revision)];
}

/* Calls "write" for each row of the call statistics. */
void mcp_status_calls(const mcp_status_t *status, mcp_status_calls_pt write,
    mcp_buf_t *buf);

/* Calls "write" for each MCP server. */
void mcp_status_upstreams(const mcp_status_t *status,
    mcp_status_upstream_pt write, mcp_buf_t *buf);

/* Returns the name of a value of mcp_upstream_e: the form of the protocol that
 * an MCP server needs. "auto" means that no request has shown the form yet. */
mcp_str_t mcp_status_form(unsigned form);

/* Returns the name of a kind of rows of the call statistics, such as "tool" or
 * "other". */
mcp_str_t mcp_status_kind(mcp_call_stats_kind_e kind);

/* Returns the number of finished calls of a row of the call statistics. */
uint64_t mcp_status_ended(const mcp_call_stats_t *stats);

/* Returns the name of the node's state in its cluster: "standalone",
 * "unreachable", "member" or "joining". */
mcp_str_t mcp_status_node_state(const mcp_status_t *status);

/* Returns the time from "since" until the query, in ms; 0 if "since" is later
 * than the query. */
uint64_t mcp_status_age(const mcp_status_t *status, uint64_t since);

/* Appends milliseconds as seconds, such as "0.05". */
void mcp_status_seconds(mcp_buf_t *buf, int64_t ms);

static inline mcp_str_t
mcp_status_text(const char *text)
{
    return (mcp_str_t) { text, strlen(text) };
}


/* --- mcp_status_html.c --- */

/* The HTML page mcp_status.html, which scripts/embed converts to an array. The
 * part for browsers without scripts replaces MCP_STATUS_PLAIN in the page. */
extern const unsigned char  mcp_status_page[];
extern const size_t         mcp_status_page_len;

#define MCP_STATUS_PLAIN  "<!--plain-->"

void mcp_status_html(const mcp_status_t *status, mcp_buf_t *buf);

/*
 * Sets the additional response headers of the HTML page.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_status_html_head(mcp_status_head_t *head);


/* --- mcp_status_json.c --- */

void mcp_status_json(const mcp_status_t *status, mcp_buf_t *buf);


/* --- mcp_status_prometheus.c --- */

void mcp_status_prometheus(const mcp_status_t *status, mcp_buf_t *buf);


#endif /* MCP_STATUS_INTERNAL_H_INCLUDED */
