/* SPDX-License-Identifier: Apache-2.0 */

/* Renders the status as metrics in Prometheus's text exposition format. */


#include "mcp_version.h"
#include "store/mcp_status_internal.h"


/* Appends the HELP line and the TYPE line of a metric. */
static void
mcp_status_metric(mcp_buf_t *buf, const char *name, const char *help,
    const char *type)
{
    mcp_buf_lit(buf, "# HELP ");
    mcp_buf_str(buf, mcp_status_text(name));
    mcp_buf_lit(buf, " ");
    mcp_buf_str(buf, mcp_status_text(help));
    mcp_buf_lit(buf, "\n# TYPE ");
    mcp_buf_str(buf, mcp_status_text(name));
    mcp_buf_lit(buf, " ");
    mcp_buf_str(buf, mcp_status_text(type));
    mcp_buf_lit(buf, "\n");
}


/* Appends the name of a metric, or of a part of a histogram, and its first
 * label, "zone". mcp_status_label() appends further labels, and
 * mcp_status_sample() the value. */
static void
mcp_status_labels(const mcp_status_t *status, mcp_buf_t *buf, const char *name)
{
    mcp_buf_str(buf, mcp_status_text(name));
    mcp_buf_lit(buf, "{zone=");
    mcp_buf_json(buf, status->query->zone);
}


/* Appends a label and its value. The value is escaped as in JSON, which is
 * correct for Prometheus as well, because the texts have no control characters
 * (see mcp_call_stats_t). */
static void
mcp_status_label(mcp_buf_t *buf, const char *name, mcp_str_t value)
{
    mcp_buf_lit(buf, ",");
    mcp_buf_str(buf, mcp_status_text(name));
    mcp_buf_lit(buf, "=");
    mcp_buf_json(buf, value);
}


static void
mcp_status_sample(mcp_buf_t *buf, uint64_t n)
{
    mcp_buf_lit(buf, "} ");
    mcp_buf_int(buf, (int64_t) n);
    mcp_buf_lit(buf, "\n");
}


/* Appends the end of a sample: the brace after its labels, and the time "ms" in
 * seconds. */
static void
mcp_status_sample_ms(mcp_buf_t *buf, int64_t ms)
{
    mcp_buf_lit(buf, "} ");
    mcp_status_seconds(buf, ms);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_prometheus_number(const mcp_status_t *status,
    const mcp_status_row_t *row, mcp_buf_t *buf)
{
    int64_t  n;

    if (row->metric[0] == '\0' || row->type == MCP_STATUS_REJECTION) {
        return;
    }

    n = mcp_status_value(status, row);

    mcp_status_metric(buf, row->metric, row->help,
                      row->type == MCP_STATUS_COUNTER ? "counter" : "gauge");
    mcp_status_labels(status, buf, row->metric);

    if (row->type == MCP_STATUS_MS) {
        mcp_status_sample_ms(buf, n);

    } else {
        mcp_status_sample(buf, (uint64_t) n);
    }
}


static void
mcp_status_prometheus_rejection(const mcp_status_t *status,
    const mcp_status_row_t *row, mcp_buf_t *buf)
{
    if (row->type == MCP_STATUS_REJECTION) {
        mcp_status_labels(status, buf, "mcp_requests_refused_total");
        mcp_status_label(buf, "reason", mcp_status_text(row->metric));
        mcp_status_sample(buf, (uint64_t) mcp_status_value(status, row));
    }
}


static void
mcp_status_prometheus_revisions(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_revision_e  revision;

    mcp_status_metric(buf, "mcp_revision_requests_total",
                      "Requests of each protocol revision", "counter");

    revision = MCP_REVISION_NONE;

    while ((revision = mcp_revision_next(revision)) != MCP_REVISION_NONE) {
        mcp_status_labels(status, buf, "mcp_revision_requests_total");
        mcp_status_label(buf, "revision", mcp_revision(revision)->name);
        mcp_status_label(buf, "era", mcp_revision(revision)->stateless
                         ? mcp_str("stateless") : mcp_str("sessions"));
        mcp_status_sample(buf, (uint64_t) mcp_status_requests(status,
                                                              revision));
    }
}


/* Appends the label "le", the upper bound of a bucket of a histogram. */
static void
mcp_status_bound(mcp_buf_t *buf, unsigned bucket)
{
    mcp_buf_lit(buf, ",le=\"");

    if (bucket < MCP_CALL_STATS_BUCKETS - 1) {
        mcp_status_seconds(buf, (int64_t) mcp_call_stats_bounds[bucket]);

    } else {
        mcp_buf_lit(buf, "+Inf");
    }

    mcp_buf_lit(buf, "\"");
}


/* Appends the name of a metric and the labels of a row of the call
 * statistics. */
static void
mcp_status_tool(const mcp_status_t *status, const mcp_call_stats_t *stats,
    mcp_buf_t *buf, const char *name)
{
    mcp_status_labels(status, buf, name);
    mcp_status_label(buf, "endpoint", mcp_status_text(stats->endpoint));
    mcp_status_label(buf, "kind", mcp_status_kind(stats->kind));
    mcp_status_label(buf, "tool", mcp_status_text(stats->name));
}


/* Appends a sample of mcp_tool_calls_total for each outcome of the finished
 * calls of a row of the call statistics. The sample for "ok" is always
 * appended, a sample for another outcome only if its number is not 0. */
static void
mcp_status_prometheus_results(const mcp_status_t *status,
    const mcp_call_stats_t *stats, uint64_t active, mcp_buf_t *buf)
{
    unsigned  i;

    (void) active;

    for (i = MCP_OUTCOME_OK; i < MCP_OUTCOME_COUNT; i++) {
        if (stats->results[i] == 0 && i != MCP_OUTCOME_OK) {
            continue;
        }

        mcp_status_tool(status, stats, buf, "mcp_tool_calls_total");
        mcp_status_label(buf, "result", mcp_outcome_name((mcp_outcome_e) i));
        mcp_status_sample(buf, stats->results[i]);
    }
}


static void
mcp_status_prometheus_active(const mcp_status_t *status,
    const mcp_call_stats_t *stats, uint64_t active, mcp_buf_t *buf)
{
    mcp_status_tool(status, stats, buf, "mcp_tool_calls_active");
    mcp_status_sample(buf, active);
}


static void
mcp_status_prometheus_durations(const mcp_status_t *status,
    const mcp_call_stats_t *stats, uint64_t active, mcp_buf_t *buf)
{
    unsigned  i;
    uint64_t  n;

    (void) active;

    if (mcp_status_ended(stats) == 0) {
        return;
    }

    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += stats->buckets[i];

        mcp_status_tool(status, stats, buf,
                        "mcp_tool_call_duration_seconds_bucket");
        mcp_status_bound(buf, i);
        mcp_status_sample(buf, n);
    }

    mcp_status_tool(status, stats, buf, "mcp_tool_call_duration_seconds_sum");
    mcp_status_sample_ms(buf, (int64_t) stats->sum);
    mcp_status_tool(status, stats, buf, "mcp_tool_call_duration_seconds_count");
    mcp_status_sample(buf, n);
}


/* Appends a label unless its value is empty: Prometheus does not distinguish an
 * empty label from a missing one. */
static void
mcp_status_attribute(mcp_buf_t *buf, const char *name, mcp_str_t value)
{
    if (value.len) {
        mcp_status_label(buf, name, value);
    }
}


/* Appends the name of a part of mcp_server_operation_duration_seconds, and the
 * labels of a histogram: the attributes of OpenTelemetry's conventions, and the
 * endpoint. */
static void
mcp_status_operation(const mcp_status_t *status, const mcp_duration_key_t *key,
    const mcp_call_stats_t *row, mcp_buf_t *buf, const char *name)
{
    const mcp_method_t  *method;

    method = mcp_method(key->method);

    mcp_status_labels(status, buf, name);
    mcp_status_label(buf, "endpoint", mcp_status_text(row->endpoint));
    mcp_status_label(buf, "mcp_method_name",
                     method->name.len ? method->name : mcp_str("_OTHER"));

    if (row->kind == MCP_CALL_STATS_KIND_TOOL) {
        mcp_status_label(buf, "gen_ai_tool_name", mcp_status_text(row->name));

    } else if (row->kind == MCP_CALL_STATS_KIND_PROMPT) {
        mcp_status_label(buf, "gen_ai_prompt_name",
                         mcp_status_text(row->name));
    }

    mcp_status_attribute(buf, "error_type", mcp_error_type_name(key->error));
    mcp_status_attribute(buf, "mcp_protocol_version",
                         mcp_revision(key->revision)->name);
}


static void
mcp_status_prometheus_operation(const mcp_status_t *status,
    const mcp_duration_t *duration, mcp_buf_t *buf)
{
    unsigned          i;
    uint64_t          n;
    mcp_call_stats_t  row;

    mcp_store_call_stats_get(status->store, duration->key.row, &row);
    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += duration->buckets[i];

        mcp_status_operation(status, &duration->key, &row, buf,
                             "mcp_server_operation_duration_seconds_bucket");
        mcp_status_bound(buf, i);
        mcp_status_sample(buf, n);
    }

    mcp_status_operation(status, &duration->key, &row, buf,
                         "mcp_server_operation_duration_seconds_sum");
    mcp_status_sample_ms(buf, (int64_t) duration->sum);
    mcp_status_operation(status, &duration->key, &row, buf,
                         "mcp_server_operation_duration_seconds_count");
    mcp_status_sample(buf, n);
}


/* Appends the durations of requests and notifications. */
static void
mcp_status_prometheus_operations(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t        i, n;
    mcp_duration_t  duration;

    mcp_status_metric(buf, "mcp_server_operation_duration_seconds",
                      "Time from receiving a request or notification until its "
                      "response is ready",
                      "histogram");

    n = mcp_store_durations(status->store);

    for (i = 0; i < n; i++) {
        if (mcp_store_duration_get(status->store, i, &duration)
            && duration.key.row < status->n_calls)
        {
            mcp_status_prometheus_operation(status, &duration, buf);
        }
    }
}


/* Appends the name of a metric and the labels of an MCP server. */
static void
mcp_status_server(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf, const char *name)
{
    mcp_status_labels(status, buf, name);
    mcp_status_label(buf, "endpoint", mcp_status_text(server->endpoint));
    mcp_status_label(buf, "upstream", mcp_status_text(server->name));
}


/* Appends the sample of mcp_upstream_up for an MCP server, unless no request
 * was sent to the server yet. */
static void
mcp_status_prometheus_up(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    if (server->up != MCP_UPSTREAM_UNKNOWN) {
        mcp_status_server(status, server, buf, "mcp_upstream_up");
        mcp_status_sample(buf, server->up == MCP_UPSTREAM_UP);
    }
}


static void
mcp_status_prometheus_sessions(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    mcp_status_server(status, server, buf, "mcp_upstream_sessions");
    mcp_status_sample(buf, server->sessions);
}


static void
mcp_status_prometheus_initializations(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    mcp_status_server(status, server, buf,
                      "mcp_upstream_initializations_total");
    mcp_status_label(buf, "result", mcp_str("ok"));
    mcp_status_sample(buf, server->opened);

    mcp_status_server(status, server, buf,
                      "mcp_upstream_initializations_total");
    mcp_status_label(buf, "result", mcp_str("failed"));
    mcp_status_sample(buf, server->refused);
}


/* Appends the metrics of MCP servers, if there are any. */
static void
mcp_status_prometheus_upstreams(const mcp_status_t *status, mcp_buf_t *buf)
{
    if (status->n_upstreams == 0) {
        return;
    }

    mcp_status_metric(buf, "mcp_upstream_up",
                      "1 if the last request to an MCP server got a response",
                      "gauge");
    mcp_status_upstreams(status, mcp_status_prometheus_up, buf);

    mcp_status_metric(buf, "mcp_upstream_sessions",
                      "Sessions at an MCP server that the zone stores",
                      "gauge");
    mcp_status_upstreams(status, mcp_status_prometheus_sessions, buf);

    mcp_status_metric(buf, "mcp_upstream_initializations_total",
                      "initialize requests to an MCP server, by result",
                      "counter");
    mcp_status_upstreams(status, mcp_status_prometheus_initializations, buf);
}


void
mcp_status_prometheus(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_status_metric(buf, "mcp_build_info", "Version of the module", "gauge");
    mcp_status_labels(status, buf, "mcp_build_info");
    mcp_status_label(buf, "version", mcp_status_text(mcp_version));
    mcp_status_sample(buf, 1);

    mcp_status_numbers(status, MCP_STATUS_STORE, mcp_status_prometheus_number,
                       buf);

    mcp_status_metric(buf, "mcp_requests_refused_total",
                      "Requests refused, by reason", "counter");
    mcp_status_numbers(status, MCP_STATUS_STORE | MCP_STATUS_CLUSTER,
                       mcp_status_prometheus_rejection, buf);

    mcp_status_prometheus_revisions(status, buf);

    mcp_status_metric(buf, "mcp_tool_calls_total",
                      "Calls of each tool, prompt and resource, by result",
                      "counter");
    mcp_status_calls(status, mcp_status_prometheus_results, buf);

    mcp_status_metric(buf, "mcp_tool_calls_active",
                      "Calls of each tool, prompt and resource running now",
                      "gauge");
    mcp_status_calls(status, mcp_status_prometheus_active, buf);

    mcp_status_metric(buf, "mcp_tool_call_duration_seconds",
                      "Time that calls of each tool, prompt and resource took",
                      "histogram");
    mcp_status_calls(status, mcp_status_prometheus_durations, buf);

    mcp_status_prometheus_operations(status, buf);

    mcp_status_prometheus_upstreams(status, buf);

    mcp_status_numbers(status, MCP_STATUS_CLUSTER,
                       mcp_status_prometheus_number, buf);
}
