/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "rpc/mcp_topic.h"
#include "store/mcp_status_internal.h"


typedef struct {
    mcp_str_t    name;
    mcp_str_t    content_type;
    void       (*render)(const mcp_status_t *status, mcp_buf_t *buf);
    int        (*head)(mcp_status_head_t *head);       /* adds headers to
                                                          the response;
                                                          NULL: none */
} mcp_status_format_t;


#define mcp_status_counter(id, name, help)                                    \
    { mcp_str(name), mcp_str(help), MCP_STATUS_COUNTER,                       \
      offsetof(mcp_store_stats_t, counter)                                    \
      + (id) * sizeof(((mcp_store_stats_t *) 0)->counter[0]) }

#define mcp_status_active_calls(id, name, help)                               \
    { mcp_str(name), mcp_str(help), MCP_STATUS_GAUGE,                         \
      offsetof(mcp_store_stats_t, counter)                                    \
      + (id) * sizeof(((mcp_store_stats_t *) 0)->counter[0]) }

#define mcp_status_gauge(field, name, help)                                   \
    { mcp_str(name), mcp_str(help), MCP_STATUS_GAUGE,                         \
      offsetof(mcp_store_stats_t, field) }


/* Each value is a 64-bit integer at "offset" in mcp_store_stats_t. */

const mcp_status_row_t  mcp_status_rows[MCP_STATUS_ROWS] = {

    mcp_status_counter(MCP_COUNT_REQUESTS, "requests",
                       "HTTP requests"),
    mcp_status_counter(MCP_COUNT_MESSAGES, "messages",
                       "JSON-RPC messages received"),
    mcp_status_counter(MCP_COUNT_SESSIONS, "sessions",
                       "Sessions initialized"),
    mcp_status_counter(MCP_COUNT_SESSIONS_DELETED, "sessions_deleted",
                       "Sessions ended by their clients"),

    mcp_status_active_calls(MCP_COUNT_CALLS_ACTIVE, "calls_active",
                            "Backend calls running now"),
    mcp_status_counter(MCP_COUNT_CALLS, "calls",
                       "Backend calls begun"),
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

    mcp_status_active_calls(MCP_COUNT_CONSUMERS_ACTIVE, "consumers_active",
                            "Event stream connections open now"),
    mcp_status_counter(MCP_COUNT_EVENTS, "events",
                       "Events written to streams"),
    mcp_status_counter(MCP_COUNT_EVENTS_DROPPED, "events_dropped",
                       "Events that listeners did not fetch in time"),
    mcp_status_counter(MCP_COUNT_RESUMES, "resumes",
                       "Streams resumed"),
    mcp_status_counter(MCP_COUNT_TAKEOVERS, "takeovers",
                       "Streams taken over from an older connection"),
    mcp_status_counter(MCP_COUNT_STREAMS_EXPIRED, "streams_expired",
                       "Streams that expired"),
    mcp_status_counter(MCP_COUNT_STREAMS_EVICTED, "streams_evicted",
                       "Delivered streams dropped early to make room"),

    mcp_status_counter(MCP_COUNT_REFUSED_FULL, "refused_full",
                       "Requests refused because the zone was full"),
    mcp_status_counter(MCP_COUNT_REJECTED_LIMIT, "refused_limit",
                       "Requests refused because of a limit on streams"),
    mcp_status_counter(MCP_COUNT_ERRORS, "errors",
                       "HTTP errors and JSON-RPC errors sent to clients"),
    mcp_status_counter(MCP_COUNT_PUBLISHED, "published",
                       "Messages accepted at the publish endpoint"),
    mcp_status_counter(MCP_COUNT_INPUTS, "inputs",
                       "Requests for input sent to clients"),
    mcp_status_counter(MCP_COUNT_REPAIRS, "repairs",
                       "Repairs of the zone after a process died"),
    mcp_status_counter(MCP_COUNT_HEADERS, "header_mismatches",
                       "Requests whose headers differ from their body"),
    mcp_status_counter(MCP_COUNT_VERSIONS, "unsupported_versions",
                       "Requests of revisions that are not served"),
    mcp_status_counter(MCP_COUNT_STATES, "states_refused",
                       "Request states that were refused"),
    mcp_status_counter(MCP_COUNT_JOINED, "calls_joined",
                       "Calls that joined an equal call"),

    mcp_status_gauge(size, "zone_size_bytes", "Size of the zone"),
    mcp_status_gauge(used, "zone_used_bytes", "Bytes of the zone in use"),
    mcp_status_gauge(streams, "streams", "Streams kept"),
    mcp_status_gauge(listeners, "listeners", "Streams of listening sessions"),
    mcp_status_gauge(values, "values",
                     "Values kept, such as ended sessions and log levels"),
    mcp_status_gauge(subscriptions, "subscriptions",
                     "Subscriptions to resources")
};

int64_t
mcp_status_value(const mcp_store_stats_t *stats, const mcp_status_row_t *row)
{
    int64_t  value;

    memcpy(&value, (const char *) stats + row->offset, sizeof(value));

    return value;
}


mcp_revision_e
mcp_status_revision(const mcp_store_stats_t *stats, mcp_revision_e revision,
    int64_t *requests)
{
    revision = mcp_revision_next(revision);
    *requests = stats->counter[MCP_COUNT_REVISION + revision];

    return revision;
}


/* Renders the gauges of the store on one line, for the status page of the web
 * server. */
static void
mcp_status_summary(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                    i;
    const char               *separator;
    const mcp_status_row_t   *row;

    separator = "";

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        row = &mcp_status_rows[i];

        if (row->type == MCP_STATUS_GAUGE) {
            mcp_buf_add(buf, separator, strlen(separator));
            mcp_buf_str(buf, row->help);
            mcp_buf_lit(buf, ": ");
            mcp_buf_int(buf, mcp_status_value(&status->stats, row));
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


/* Reads the numbers of the store. Subscriptions to changes of lists are not
 * counted: a listener has two for each list, one for the whole zone and one
 * for its catalog. */
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


int
mcp_status_render(mcp_store_t *store, const mcp_status_query_t *query,
    mcp_buf_t *buf, mcp_status_head_t *head)
{
    size_t        i;
    mcp_status_t  status;

    for (i = 0; i < MCP_STATUS_FORMATS; i++) {
        if (mcp_str_eq(mcp_status_formats[i].name, query->format)) {
            status.query = query;
            status.store = store;
            mcp_status_stats(store, &status.stats);
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


static int
mcp_status_has(mcp_str_t s, mcp_str_t part)
{
    size_t  i;

    for (i = 0; i + part.len <= s.len; i++) {
        if (memcmp(s.data + i, part.data, part.len) == 0) {
            return 1;
        }
    }

    return 0;
}


mcp_str_t
mcp_status_format(mcp_str_t accept)
{
    if (mcp_status_has(accept, mcp_str("text/html"))) {
        return mcp_str("html");
    }

    if (mcp_status_has(accept, mcp_str("openmetrics"))
        || mcp_status_has(accept, mcp_str("text/plain")))
    {
        return mcp_str("prometheus");
    }

    return mcp_str("json");
}
