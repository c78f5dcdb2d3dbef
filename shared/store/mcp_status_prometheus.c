/* SPDX-License-Identifier: Apache-2.0 */

/* The status as metrics of Prometheus, in its text exposition format. */


#include "mcp_version.h"
#include "store/mcp_status_parts.h"


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
        mcp_buf_lit(buf, "mcp_revision_requests_total{revision=");
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


/* The labels of a row, whose texts have nothing that JSON escapes in other ways
 * than this format: see mcp_tally_t. */
static void
mcp_status_labels(const mcp_tally_t *tally, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "{endpoint=");
    mcp_buf_json(buf, (mcp_str_t) { tally->endpoint,
                                    strlen(tally->endpoint) });
    mcp_buf_lit(buf, ",kind=");
    mcp_buf_json(buf, mcp_status_kind(tally->kind));
    mcp_buf_lit(buf, ",tool=");
    mcp_buf_json(buf, (mcp_str_t) { tally->name, strlen(tally->name) });
}


/* A row has a sample for "ok" from the start, and one for what has happened to
 * it. */
static void
mcp_status_prometheus_calls(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t      i, n;
    unsigned      k;
    mcp_tally_t   tally;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_calls_total Calls of each tool, prompt and resource, "
        "by result\n"
        "# TYPE mcp_tool_calls_total counter\n");

    n = mcp_store_tally_rows(status->store);

    for (i = 0; i < n; i++) {
        mcp_store_tally_get(status->store, i, &tally);

        for (k = MCP_ENDING_OK; k < MCP_ENDING_COUNT; k++) {
            if (tally.results[k] == 0 && k != MCP_ENDING_OK) {
                continue;
            }

            mcp_buf_lit(buf, "mcp_tool_calls_total");
            mcp_status_labels(&tally, buf);
            mcp_buf_lit(buf, ",result=");
            mcp_buf_json(buf, mcp_ending_name((mcp_ending_e) k));
            mcp_buf_lit(buf, "} ");
            mcp_buf_int(buf, (int64_t) tally.results[k]);
            mcp_buf_lit(buf, "\n");
        }
    }
}


static void
mcp_status_prometheus_live(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t     i, n;
    uint64_t     live[MCP_TALLY_ROWS_MAX];
    mcp_tally_t  tally;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_calls_live Calls of each tool, prompt and resource "
        "running now\n"
        "# TYPE mcp_tool_calls_live gauge\n");

    memset(live, 0, sizeof(live));
    mcp_store_live_count(status->store, live, MCP_TALLY_ROWS_MAX);
    n = mcp_store_tally_rows(status->store);

    for (i = 0; i < n && i < MCP_TALLY_ROWS_MAX; i++) {
        mcp_store_tally_get(status->store, i, &tally);

        mcp_buf_lit(buf, "mcp_tool_calls_live");
        mcp_status_labels(&tally, buf);
        mcp_buf_lit(buf, "} ");
        mcp_buf_int(buf, (int64_t) live[i]);
        mcp_buf_lit(buf, "\n");
    }
}


static void
mcp_status_prometheus_histogram(const mcp_tally_t *tally, mcp_buf_t *buf)
{
    unsigned  i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < MCP_TALLY_BUCKETS; i++) {
        n += tally->buckets[i];

        mcp_buf_lit(buf, "mcp_tool_call_seconds_bucket");
        mcp_status_labels(tally, buf);

        mcp_buf_lit(buf, ",le=\"");

        if (i < MCP_TALLY_BUCKETS - 1) {
            mcp_status_seconds(buf, mcp_tally_bounds[i]);

        } else {
            mcp_buf_lit(buf, "+Inf");
        }

        mcp_buf_lit(buf, "\"} ");
        mcp_buf_int(buf, (int64_t) n);
        mcp_buf_lit(buf, "\n");
    }

    mcp_buf_lit(buf, "mcp_tool_call_seconds_sum");
    mcp_status_labels(tally, buf);
    mcp_buf_lit(buf, "} ");
    mcp_status_seconds(buf, tally->sum);
    mcp_buf_lit(buf, "\n");

    mcp_buf_lit(buf, "mcp_tool_call_seconds_count");
    mcp_status_labels(tally, buf);
    mcp_buf_lit(buf, "} ");
    mcp_buf_int(buf, (int64_t) n);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_prometheus_durations(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t     i, n;
    mcp_tally_t  tally;

    mcp_buf_lit(buf,
        "# HELP mcp_tool_call_seconds Time that calls of each tool, prompt and "
        "resource took\n"
        "# TYPE mcp_tool_call_seconds histogram\n");

    n = mcp_store_tally_rows(status->store);

    for (i = 0; i < n; i++) {
        mcp_store_tally_get(status->store, i, &tally);

        if (mcp_status_ended(&tally)) {
            mcp_status_prometheus_histogram(&tally, buf);
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
        "mcp_build_info{version=\"" MCP_VERSION "\"} 1\n");

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        row = &mcp_status_rows[i];

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
        mcp_buf_lit(buf, " ");
        mcp_buf_int(buf, mcp_status_value(&status->stats, row));
        mcp_buf_lit(buf, "\n");
    }

    mcp_status_prometheus_revisions(status, buf);
    mcp_status_prometheus_calls(status, buf);
    mcp_status_prometheus_live(status, buf);
    mcp_status_prometheus_durations(status, buf);
    mcp_status_cluster_prometheus(status, buf);
}
