/* SPDX-License-Identifier: Apache-2.0 */

/* The status as metrics in Prometheus's text exposition format. */


#include "mcp_version.h"
#include "store/mcp_status_internal.h"
#include "store/mcp_store_node.h"


/* A reason of rejections: the store's counter for it, and the value of its
 * label. */
typedef struct {
    mcp_counter_e  counter;
    mcp_str_t      reason;
} mcp_status_refused_t;

static const mcp_status_refused_t  mcp_status_refused[] = {
    { MCP_COUNT_REFUSED_FULL, mcp_str("zone_full") },
    { MCP_COUNT_REJECTED_LIMIT, mcp_str("limit") },
    { MCP_COUNT_HEADERS, mcp_str("header_mismatch") },
    { MCP_COUNT_VERSIONS, mcp_str("unsupported_version") },
    { MCP_COUNT_STATES, mcp_str("request_state") }
};

#define MCP_STATUS_REFUSED                                                    \
    (sizeof(mcp_status_refused) / sizeof(mcp_status_refused[0]))


void
mcp_status_zone(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "{zone=");
    mcp_buf_json(buf, status->query->zone);
}


/* Returns 1 if the counter of a row is part of mcp_requests_refused_total. */
static int
mcp_status_is_rejection(const mcp_status_row_t *row)
{
    size_t  i, offset;

    for (i = 0; i < MCP_STATUS_REFUSED; i++) {
        offset = offsetof(mcp_store_stats_t, counter)
                 + mcp_status_refused[i].counter
                   * sizeof(((mcp_store_stats_t *) 0)->counter[0]);

        if (row->offset == offset) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_status_prometheus_rejection(const mcp_status_t *status, mcp_buf_t *buf,
    mcp_str_t reason, int64_t n)
{
    mcp_buf_lit(buf, "mcp_requests_refused_total");
    mcp_status_zone(status, buf);
    mcp_buf_lit(buf, ",reason=");
    mcp_buf_json(buf, reason);
    mcp_buf_lit(buf, "} ");
    mcp_buf_int(buf, n);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_prometheus_refused(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                       i;
    mcp_node_info_t              info;
    const mcp_status_refused_t  *refused;

    mcp_buf_lit(buf,
        "# HELP mcp_requests_refused_total Requests refused, by reason\n"
        "# TYPE mcp_requests_refused_total counter\n");

    for (i = 0; i < MCP_STATUS_REFUSED; i++) {
        refused = &mcp_status_refused[i];

        mcp_status_prometheus_rejection(status, buf, refused->reason,
                                  status->stats.counter[refused->counter]);
    }

    if (mcp_store_node_info(status->store, &info) == MCP_OK) {
        mcp_status_prometheus_rejection(status, buf,
            mcp_str("redis_unreachable"),
            (int64_t) info.counts[MCP_NODE_UNREACHABLE]);
    }
}


static void
mcp_status_metric(const mcp_status_row_t *row, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "mcp_");
    mcp_buf_str(buf, row->name);

    if (row->type == MCP_STATUS_COUNTER) {
        mcp_buf_lit(buf, "_total");
    }
}


static void
mcp_status_prometheus_revisions(const mcp_status_t *status,
    mcp_buf_t *buf)
{
    int64_t         n;
    mcp_revision_e  revision;

    mcp_buf_lit(buf,
        "# HELP mcp_revision_requests_total Requests of each revision\n"
        "# TYPE mcp_revision_requests_total counter\n");

    revision = MCP_REVISION_NONE;

    while ((revision = mcp_status_revision(&status->stats, revision, &n))
           != MCP_REVISION_NONE)
    {
        mcp_buf_lit(buf, "mcp_revision_requests_total");
        mcp_status_zone(status, buf);
        mcp_buf_lit(buf, ",revision=");
        mcp_buf_json(buf, mcp_revision(revision)->name);

        if (mcp_revision(revision)->stateless) {
            mcp_buf_lit(buf, ",era=\"stateless\"} ");

        } else {
            mcp_buf_lit(buf, ",era=\"sessions\"} ");
        }

        mcp_buf_int(buf, n);
        mcp_buf_lit(buf, "\n");
    }
}


/* Appends the labels of a row of the call statistics as JSON strings. Their
 * texts contain no characters that Prometheus escapes in another way than
 * JSON, see mcp_call_stats_t. */
static void
mcp_status_labels(const mcp_status_t *status, const mcp_call_stats_t *stats,
    mcp_buf_t *buf)
{
    mcp_status_zone(status, buf);
    mcp_buf_lit(buf, ",endpoint=");
    mcp_buf_json(buf, (mcp_str_t) { stats->endpoint,
                                    strlen(stats->endpoint) });
    mcp_buf_lit(buf, ",kind=");
    mcp_buf_json(buf, mcp_status_kind(stats->kind));
    mcp_buf_lit(buf, ",tool=");
    mcp_buf_json(buf, (mcp_str_t) { stats->name, strlen(stats->name) });
}


/* Appends the number of finished calls of each row by outcome. A row has a
 * sample for "ok" from the start, and one for each other outcome that has
 * occurred. */
static void
mcp_status_prometheus_calls(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t          i, n;
    unsigned          k;
    mcp_call_stats_t  stats;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_calls_total Calls of each tool, prompt and resource, "
        "by result\n"
        "# TYPE mcp_tool_calls_total counter\n");

    n = mcp_store_call_stats_rows(status->store);

    for (i = 0; i < n; i++) {
        mcp_store_call_stats_get(status->store, i, &stats);

        for (k = MCP_OUTCOME_OK; k < MCP_OUTCOME_COUNT; k++) {
            if (stats.results[k] == 0 && k != MCP_OUTCOME_OK) {
                continue;
            }

            mcp_buf_lit(buf, "mcp_tool_calls_total");
            mcp_status_labels(status, &stats, buf);
            mcp_buf_lit(buf, ",result=");
            mcp_buf_json(buf, mcp_outcome_name((mcp_outcome_e) k));
            mcp_buf_lit(buf, "} ");
            mcp_buf_int(buf, (int64_t) stats.results[k]);
            mcp_buf_lit(buf, "\n");
        }
    }
}


static void
mcp_status_prometheus_active_calls(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t          i, n;
    uint64_t          active[MCP_CALL_STATS_ROWS_MAX];
    mcp_call_stats_t  stats;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_calls_active Calls of each tool, prompt and resource "
        "running now\n"
        "# TYPE mcp_tool_calls_active gauge\n");

    memset(active, 0, sizeof(active));
    mcp_store_active_count(status->store, active, MCP_CALL_STATS_ROWS_MAX);
    n = mcp_store_call_stats_rows(status->store);

    for (i = 0; i < n && i < MCP_CALL_STATS_ROWS_MAX; i++) {
        mcp_store_call_stats_get(status->store, i, &stats);

        mcp_buf_lit(buf, "mcp_tool_calls_active");
        mcp_status_labels(status, &stats, buf);
        mcp_buf_lit(buf, "} ");
        mcp_buf_int(buf, (int64_t) active[i]);
        mcp_buf_lit(buf, "\n");
    }
}


static void
mcp_status_prometheus_histogram(const mcp_status_t *status,
    const mcp_call_stats_t *stats, mcp_buf_t *buf)
{
    unsigned  i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += stats->buckets[i];

        mcp_buf_lit(buf, "mcp_tool_call_duration_seconds_bucket");
        mcp_status_labels(status, stats, buf);

        mcp_buf_lit(buf, ",le=\"");

        if (i < MCP_CALL_STATS_BUCKETS - 1) {
            mcp_status_seconds(buf, mcp_call_stats_bounds[i]);

        } else {
            mcp_buf_lit(buf, "+Inf");
        }

        mcp_buf_lit(buf, "\"} ");
        mcp_buf_int(buf, (int64_t) n);
        mcp_buf_lit(buf, "\n");
    }

    mcp_buf_lit(buf, "mcp_tool_call_duration_seconds_sum");
    mcp_status_labels(status, stats, buf);
    mcp_buf_lit(buf, "} ");
    mcp_status_seconds(buf, stats->sum);
    mcp_buf_lit(buf, "\n");

    mcp_buf_lit(buf, "mcp_tool_call_duration_seconds_count");
    mcp_status_labels(status, stats, buf);
    mcp_buf_lit(buf, "} ");
    mcp_buf_int(buf, (int64_t) n);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_prometheus_durations(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t          i, n;
    mcp_call_stats_t  stats;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_call_duration_seconds Time that calls of each tool, "
        "prompt and resource took\n"
        "# TYPE mcp_tool_call_duration_seconds histogram\n");

    n = mcp_store_call_stats_rows(status->store);

    for (i = 0; i < n; i++) {
        mcp_store_call_stats_get(status->store, i, &stats);

        if (mcp_status_ended(&stats)) {
            mcp_status_prometheus_histogram(status, &stats, buf);
        }
    }
}


void
mcp_status_prometheus(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                   i;
    const mcp_status_row_t  *row;

    mcp_buf_lit(buf,
        "# HELP mcp_build_info Version of the module\n"
        "# TYPE mcp_build_info gauge\n"
        "mcp_build_info");
    mcp_status_zone(status, buf);
    mcp_buf_lit(buf, ",version=");
    mcp_buf_json(buf, (mcp_str_t) { mcp_version, strlen(mcp_version) });
    mcp_buf_lit(buf, "} 1\n");

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        row = &mcp_status_rows[i];

        if (mcp_status_is_rejection(row)) {
            continue;
        }

        mcp_buf_lit(buf, "# HELP ");
        mcp_status_metric(row, buf);
        mcp_buf_lit(buf, " ");
        mcp_buf_str(buf, row->help);

        mcp_buf_lit(buf, "\n# TYPE ");
        mcp_status_metric(row, buf);

        if (row->type == MCP_STATUS_COUNTER) {
            mcp_buf_lit(buf, " counter\n");

        } else {
            mcp_buf_lit(buf, " gauge\n");
        }

        mcp_status_metric(row, buf);
        mcp_status_zone(status, buf);
        mcp_buf_lit(buf, "} ");
        mcp_buf_int(buf, mcp_status_value(&status->stats, row));
        mcp_buf_lit(buf, "\n");
    }

    mcp_status_prometheus_refused(status, buf);
    mcp_status_prometheus_revisions(status, buf);
    mcp_status_prometheus_calls(status, buf);
    mcp_status_prometheus_active_calls(status, buf);
    mcp_status_prometheus_durations(status, buf);
    mcp_status_cluster_prometheus(status, buf);
}
