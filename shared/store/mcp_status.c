/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "base/mcp_str.h"
#include "config/mcp_endpoint_internal.h"
#include "rpc/mcp_subscription.h"
#include "store/mcp_status_internal.h"


typedef struct {
    mcp_str_t    name;
    mcp_str_t    content_type;
    void       (*render)(const mcp_status_t *status, mcp_buf_t *buf);
    int        (*head)(mcp_status_head_t *head);       /* sets the additional
                                                          response headers;
                                                          NULL: the format has
                                                          none */
} mcp_status_format_t;


#define mcp_status_row(section, type, field, name, metric, help)              \
    { section, type, name, metric, help, offsetof(mcp_status_t, field),       \
      sizeof(((mcp_status_t *) 0)->field) }

#define mcp_status_counter(id, name, help)                                    \
    mcp_status_row(MCP_STATUS_STORE, MCP_STATUS_COUNTER, stats.counter[id],   \
                   name, "mcp_" name "_total", help)

#define mcp_status_rejection(id, name, reason, help)                          \
    mcp_status_row(MCP_STATUS_STORE, MCP_STATUS_REJECTION, stats.counter[id], \
                   name, reason, help)

#define mcp_status_gauge(field, name, help)                                   \
    mcp_status_row(MCP_STATUS_STORE, MCP_STATUS_GAUGE, field,                 \
                   name, "mcp_" name, help)

#define mcp_status_event(id, name, help)                                      \
    mcp_status_row(MCP_STATUS_EVENTS, MCP_STATUS_COUNTER, node.counts[id],    \
                   name, "mcp_cluster_" name "_total", help)


/* The numbers of the status, in the order of the output. The numbers of
 * revisions, call statistics, durations and MCP servers are not in this
 * table. */
static const mcp_status_row_t  mcp_status_rows[] = {

    mcp_status_counter(MCP_COUNT_REQUESTS, "requests", "HTTP requests"),
    mcp_status_counter(MCP_COUNT_MESSAGES, "messages",
                       "JSON-RPC messages received"),
    mcp_status_counter(MCP_COUNT_SESSIONS, "sessions", "Sessions initialized"),
    mcp_status_counter(MCP_COUNT_SESSIONS_DELETED, "sessions_deleted",
                       "Sessions ended by their clients"),

    mcp_status_gauge(stats.counter[MCP_COUNT_CALLS_ACTIVE], "calls_active",
                     "Backend calls running now"),
    mcp_status_counter(MCP_COUNT_CALLS, "calls", "Backend calls begun"),
    mcp_status_counter(MCP_COUNT_CALLS_FAILED, "calls_failed",
                       "Backend calls answered with an error"),
    mcp_status_counter(MCP_COUNT_CALLS_TOOL_ERRORS, "calls_tool_errors",
                       "Backend calls whose tool returned an error"),
    mcp_status_counter(MCP_COUNT_CALLS_CANCELLED, "calls_cancelled",
                       "Backend calls cancelled by their clients"),
    mcp_status_counter(MCP_COUNT_CALLS_EXPIRED, "calls_expired",
                       "Backend calls that no client resumed in time"),
    mcp_status_counter(MCP_COUNT_CALLS_LOST, "calls_lost",
                       "Backend calls lost because their process ended"),

    mcp_status_gauge(stats.counter[MCP_COUNT_CONSUMERS_ACTIVE],
                     "consumers_active",
                     "Event stream connections open now"),
    mcp_status_counter(MCP_COUNT_EVENTS, "events", "Events written to streams"),
    mcp_status_counter(MCP_COUNT_EVENTS_DROPPED, "events_dropped",
                       "Events for listeners dropped before they were sent"),
    mcp_status_counter(MCP_COUNT_RESUMES, "resumes", "Streams resumed"),
    mcp_status_counter(MCP_COUNT_TAKEOVERS, "takeovers",
                       "Streams taken over from an older connection"),
    mcp_status_counter(MCP_COUNT_STREAMS_EXPIRED, "streams_expired",
                       "Streams that expired"),
    mcp_status_counter(MCP_COUNT_STREAMS_EVICTED, "streams_evicted",
                       "Streams deleted early to make room"),

    mcp_status_rejection(MCP_COUNT_REFUSED_FULL, "refused_full", "zone_full",
                         "Requests refused because the zone was full"),
    mcp_status_rejection(MCP_COUNT_REJECTED_LIMIT, "refused_limit", "limit",
                         "Requests refused because of a limit on streams, "
                         "stored values or threads"),
    mcp_status_counter(MCP_COUNT_ERRORS, "errors",
                       "HTTP errors and JSON-RPC errors sent to clients"),
    mcp_status_counter(MCP_COUNT_PUBLISHED, "published",
                       "Messages accepted at the publish endpoint"),
    mcp_status_counter(MCP_COUNT_INPUTS, "inputs",
                       "Requests for input sent to clients"),
    mcp_status_counter(MCP_COUNT_REPAIRS, "repairs",
                       "Repairs of the zone after a process died"),
    mcp_status_rejection(MCP_COUNT_HEADERS, "header_mismatches",
                         "header_mismatch",
                         "Requests whose headers differ from their body"),
    mcp_status_rejection(MCP_COUNT_VERSIONS, "unsupported_versions",
                         "unsupported_version",
                         "Requests with a revision that is not supported"),
    mcp_status_rejection(MCP_COUNT_STATES, "states_refused", "request_state",
                         "Requests whose requestState is invalid or expired"),
    mcp_status_counter(MCP_COUNT_JOINED, "calls_joined",
                       "Calls that joined an equal call"),

    mcp_status_gauge(stats.size, "zone_size_bytes", "Size of the zone"),
    mcp_status_gauge(stats.used, "zone_used_bytes", "Bytes of the zone in use"),
    mcp_status_gauge(stats.streams, "streams", "Streams stored in the zone"),
    mcp_status_gauge(stats.listeners, "listeners",
                     "Streams of listening sessions and of "
                     "subscriptions/listen"),
    mcp_status_gauge(stats.values, "values",
                     "Stored values, such as ended sessions and log levels"),
    mcp_status_gauge(stats.subscriptions, "subscriptions",
                     "Subscriptions to resources"),

    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, node.processes,
                   "processes", "mcp_cluster_processes",
                   "Processes that connect to Redis"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, node.up,
                   "connected", "mcp_cluster_connected",
                   "Processes that are connected to Redis now"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, standalone,
                   "", "mcp_cluster_refused",
                   "1 if the cluster rejected this node, which then serves "
                   "alone"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, node.view.n_members,
                   "", "mcp_cluster_members",
                   "Nodes in the cluster"),

    /* the maximum over all members is enough for an alert; a metric for each
     * member would need a label with the node id, which changes with every
     * start */

    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_MS, silence,
                   "", "mcp_cluster_member_silence_seconds",
                   "Longest time since a node's last heartbeat"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_MS, node.round_trip,
                   "round_trip", "mcp_cluster_round_trip_seconds",
                   "Latest round-trip time to Redis of the slowest process"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_MS, node.view.offset,
                   "offset", "mcp_cluster_clock_offset_seconds",
                   "Clock of Redis minus the clock of the node"),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, node.view.layout,
                   "layout", "", ""),
    mcp_status_row(MCP_STATUS_NODE, MCP_STATUS_GAUGE, node.mirrors,
                   "mirrors", "mcp_cluster_mirrors",
                   "Streams of other nodes that are read at this node"),

    mcp_status_row(MCP_STATUS_LAG, MCP_STATUS_GAUGE, node.lag.events,
                   "events", "mcp_cluster_lag_events",
                   "Events that are not in Redis yet"),
    mcp_status_row(MCP_STATUS_LAG, MCP_STATUS_GAUGE, node.lag.bytes,
                   "bytes", "mcp_cluster_lag_bytes",
                   "Bytes of the events that are not in Redis yet"),
    mcp_status_row(MCP_STATUS_LAG, MCP_STATUS_MS, lag,
                   "age", "mcp_cluster_lag_seconds",
                   "Age of the oldest event that is not in Redis yet"),

    mcp_status_event(MCP_NODE_REPLICATED, "events_replicated",
                     "Events that Redis has acknowledged"),
    mcp_status_event(MCP_NODE_REFILLED, "streams_refilled",
                     "Streams that were written to Redis again because Redis "
                     "had lost a part of them"),
    mcp_status_event(MCP_NODE_LINKS_LOST, "links_lost",
                     "Connections to Redis that were lost"),
    mcp_status_row(MCP_STATUS_EVENTS, MCP_STATUS_REJECTION,
                   node.counts[MCP_NODE_UNREACHABLE],
                   "requests_refused", "redis_unreachable",
                   "Requests refused because Redis could not be reached"),
    mcp_status_event(MCP_NODE_TAKEN_OVER, "nodes_taken_over",
                     "Dead nodes whose streams this node took over"),
    mcp_status_event(MCP_NODE_PROMOTED, "streams_taken_over",
                     "Streams that were taken over from dead nodes"),
    mcp_status_event(MCP_NODE_DROPPED, "dropped",
                     "Lost streams of dead nodes, and lost answers from other "
                     "nodes"),
    mcp_status_event(MCP_NODE_DISPLACED, "readers_displaced",
                     "Connections closed because their client resumed at "
                     "another node"),
    mcp_status_event(MCP_NODE_FENCED, "streams_fenced",
                     "Streams of this node that other nodes took over"),
    mcp_status_event(MCP_NODE_REBORN, "deaths",
                     "Times that other nodes declared this node dead"),
    mcp_status_event(MCP_NODE_UNEXPECTED_REPLY, "errors",
                     "Error replies and unexpected replies of Redis")
};

#define MCP_STATUS_ROWS                                                       \
    (sizeof(mcp_status_rows) / sizeof(mcp_status_rows[0]))


int64_t
mcp_status_value(const mcp_status_t *status, const mcp_status_row_t *row)
{
    int64_t      value;
    uint32_t     small;
    const char  *field;

    field = (const char *) status + row->offset;

    if (row->size == sizeof(small)) {
        memcpy(&small, field, sizeof(small));

        return small;
    }

    memcpy(&value, field, sizeof(value));

    return value;
}


void
mcp_status_numbers(const mcp_status_t *status, unsigned sections,
    mcp_status_number_pt write, mcp_buf_t *buf)
{
    size_t  i;

    if (!status->clustered) {
        sections &= MCP_STATUS_STORE;
    }

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        if (mcp_status_rows[i].section & sections) {
            write(status, &mcp_status_rows[i], buf);
        }
    }
}


void
mcp_status_calls(const mcp_status_t *status, mcp_status_calls_pt write,
    mcp_buf_t *buf)
{
    uint32_t          i;
    mcp_call_stats_t  stats;

    for (i = 0; i < status->n_calls; i++) {
        mcp_store_call_stats_get(status->store, i, &stats);
        write(status, &stats, status->active[i], buf);
    }
}


void
mcp_status_upstreams(const mcp_status_t *status, mcp_status_upstream_pt write,
    mcp_buf_t *buf)
{
    size_t  i;

    for (i = 0; i < status->n_upstreams; i++) {
        write(status, &status->upstreams[i], buf);
    }
}


mcp_str_t
mcp_status_form(unsigned form)
{
    static const mcp_str_t  names[] = {
        [MCP_UPSTREAM_OFF] = mcp_str("off"),
        [MCP_UPSTREAM_MODERN] = mcp_str("modern"),
        [MCP_UPSTREAM_STATELESS] = mcp_str("stateless"),
        [MCP_UPSTREAM_SESSION] = mcp_str("session"),
        [MCP_UPSTREAM_AUTO] = mcp_str("auto")
    };

    return names[form <= MCP_UPSTREAM_AUTO ? form : MCP_UPSTREAM_OFF];
}


mcp_str_t
mcp_status_kind(mcp_call_stats_kind_e kind)
{
    static const mcp_str_t  names[MCP_CALL_STATS_KINDS] = {
        mcp_str("tool"),
        mcp_str("prompt"),
        mcp_str("resource"),
        mcp_str("template"),
        mcp_str("other")
    };

    return names[kind];
}


uint64_t
mcp_status_ended(const mcp_call_stats_t *stats)
{
    unsigned  i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += stats->buckets[i];
    }

    return n;
}


mcp_str_t
mcp_status_node_state(const mcp_status_t *status)
{
    if (status->standalone) {
        return mcp_str("standalone");
    }

    if (status->node.up == 0) {
        return mcp_str("unreachable");
    }

    return status->node.view.at ? mcp_str("member") : mcp_str("joining");
}


uint64_t
mcp_status_age(const mcp_status_t *status, uint64_t since)
{
    return status->query->now > since ? status->query->now - since : 0;
}


void
mcp_status_seconds(mcp_buf_t *buf, int64_t ms)
{
    int64_t  unit;

    if (ms < 0) {
        mcp_buf_lit(buf, "-");
        ms = -ms;
    }

    mcp_buf_int(buf, ms / 1000);
    ms %= 1000;

    if (ms) {
        mcp_buf_lit(buf, ".");
    }

    for (unit = 100; ms; unit /= 10) {
        mcp_buf_int(buf, ms / unit);
        ms %= unit;
    }
}


/* Renders the gauges of the store on one line. The module for Apache adds the
 * line to the page of mod_status. */
static void
mcp_status_summary(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                    i;
    const char               *separator;
    const mcp_status_row_t   *row;

    separator = "";

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        row = &mcp_status_rows[i];

        if (row->section == MCP_STATUS_STORE && row->type == MCP_STATUS_GAUGE) {
            mcp_buf_str(buf, mcp_status_text(separator));
            mcp_buf_str(buf, mcp_status_text(row->help));
            mcp_buf_lit(buf, ": ");
            mcp_buf_int(buf, mcp_status_value(status, row));
            separator = ", ";
        }
    }
}


static const mcp_status_format_t  mcp_status_formats[] = {

    { mcp_str("json"),
      mcp_str("application/json"),
      mcp_status_json, NULL },

    { mcp_str("prometheus"),
      mcp_str("text/plain; version=0.0.4; charset=utf-8"),
      mcp_status_prometheus, NULL },

    { mcp_str("html"),
      mcp_str("text/html; charset=utf-8"),
      mcp_status_html, mcp_status_html_head },

    { mcp_str("summary"),
      mcp_str("text/plain; charset=utf-8"),
      mcp_status_summary, NULL }
};

#define MCP_STATUS_FORMATS                                                    \
    (sizeof(mcp_status_formats) / sizeof(mcp_status_formats[0]))


/* Sets *stats to the counters and gauges of the store, but subtracts the
 * subscriptions to changes of lists from stats->subscriptions. For each list, a
 * listener has one subscription for the zone and one for its catalog. */
static void
mcp_status_stats(mcp_store_t *store, mcp_store_stats_t *stats)
{
    unsigned       list;
    uint64_t       n;
    unsigned char  topic[MCP_DIGEST_LEN];

    mcp_store_stats(store, stats);

    for (list = 0; list < MCP_TOPIC_COUNT; list++) {

        if (mcp_topic_list((mcp_topic_e) list, NULL, topic) != MCP_OK) {
            return;
        }

        n = 2 * mcp_store_subscribers(store, topic);
        stats->subscriptions -= n < stats->subscriptions
                                ? n : stats->subscriptions;
    }
}


/* Sets the fields of *status from "clustered" on. If the zone is not a node of
 * a cluster, "clustered" is 0, and the other fields are not set. */
static void
mcp_status_read_node(mcp_status_t *status)
{
    uint32_t          i;
    uint64_t          age;
    mcp_node_info_t  *node;

    node = &status->node;
    status->clustered = mcp_store_node_info(status->store, node) == MCP_OK;

    if (!status->clustered) {
        return;
    }

    status->standalone = node->standalone[0] != '\0';
    status->lag = node->lag.since ? mcp_status_age(status, node->lag.since) : 0;

    for (i = 0; i < node->view.n_members; i++) {
        age = mcp_status_age(status, node->view.members[i].heartbeat);
        status->silence = age > status->silence ? age : status->silence;
    }
}


void
mcp_status_read(mcp_status_t *status, mcp_store_t *store,
    const mcp_status_query_t *query)
{
    memset(status, 0, sizeof(mcp_status_t));

    status->query = query;
    status->store = store;
    mcp_status_stats(store, &status->stats);

    mcp_store_active_count(store, status->active, MCP_CALL_STATS_ROWS_MAX);
    status->n_calls = mcp_store_call_stats_rows(store);

    if (status->n_calls > MCP_CALL_STATS_ROWS_MAX) {
        status->n_calls = MCP_CALL_STATS_ROWS_MAX;
    }

    status->n_upstreams = mcp_store_upstream_all(store, status->upstreams);

    mcp_status_read_node(status);
}


int
mcp_status_render(mcp_store_t *store, const mcp_status_query_t *query,
    mcp_buf_t *buf, mcp_status_head_t *head)
{
    size_t        i;
    mcp_status_t  status;

    for (i = 0; i < MCP_STATUS_FORMATS; i++) {
        if (mcp_str_eq(mcp_status_formats[i].name, query->format)) {
            mcp_status_read(&status, store, query);
            head->content_type = mcp_status_formats[i].content_type;
            head->n_headers = 0;
            mcp_status_formats[i].render(&status, buf);

            if (mcp_status_formats[i].head
                && mcp_status_formats[i].head(head) != MCP_OK)
            {
                return MCP_ERR_INTERNAL;
            }

            return buf->failed;
        }
    }

    return MCP_ERR_NOT_FOUND;
}


mcp_str_t
mcp_status_format(mcp_str_t accept)
{
    if (mcp_str_find(accept, mcp_str("text/html"))) {
        return mcp_str("html");
    }

    if (mcp_str_find(accept, mcp_str("openmetrics"))
        || mcp_str_find(accept, mcp_str("text/plain")))
    {
        return mcp_str("prometheus");
    }

    return mcp_str("json");
}
