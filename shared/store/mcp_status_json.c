/* SPDX-License-Identifier: Apache-2.0 */

/* The status as JSON: docs/operations.md describes it. */


#include "mcp_version.h"
#include "rpc/mcp_id.h"
#include "rpc/mcp_reason.h"
#include "store/mcp_status_internal.h"


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


static mcp_str_t
mcp_status_text(const char *text)
{
    return (mcp_str_t) { text, strlen(text) };
}


void
mcp_status_number(mcp_buf_t *buf, mcp_str_t before, uint64_t n)
{
    mcp_buf_str(buf, before);
    mcp_buf_int(buf, (int64_t) n);
}


void
mcp_status_string(mcp_buf_t *buf, mcp_str_t before, mcp_str_t text)
{
    mcp_buf_str(buf, before);
    mcp_buf_json(buf, text);
}


void
mcp_status_seconds(mcp_buf_t *buf, uint64_t ms)
{
    unsigned  i, unit, rest;

    mcp_buf_int(buf, (int64_t) (ms / 1000));

    rest = (unsigned) (ms % 1000);
    unit = 100;

    for (i = 0; rest; i++) {
        mcp_buf_str(buf, i ? mcp_null_str : mcp_str("."));
        mcp_buf_int(buf, (int64_t) (rest / unit));
        rest %= unit;
        unit /= 10;
    }
}


static void
mcp_status_json_counters(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t          i;
    int64_t         n;
    const char     *before;
    mcp_revision_e  revision;

    for (i = 0; i < MCP_STATUS_ROWS; i++) {
        mcp_status_string(buf, mcp_str(","), mcp_status_rows[i].name);
        mcp_buf_lit(buf, ":");
        mcp_buf_int(buf, mcp_status_value(&status->stats,
                                          &mcp_status_rows[i]));
    }

    before = ",\"revisions\":{";
    revision = MCP_REVISION_NONE;

    while ((revision = mcp_status_revision(&status->stats, revision, &n))
           != MCP_REVISION_NONE)
    {
        mcp_buf_add(buf, before, strlen(before));
        mcp_buf_json(buf, mcp_revision(revision)->name);
        mcp_buf_lit(buf, ":");
        mcp_buf_int(buf, n);
        before = ",";
    }

    mcp_buf_lit(buf, "}");
}


/* Appends the name, the text and the remedy of a failure's reason. */
static void
mcp_status_json_reason(mcp_buf_t *buf, unsigned reason)
{
    const mcp_reason_t  *row;

    row = mcp_reason(reason);

    mcp_status_string(buf, mcp_str(",\"reason\":"), row->name);
    mcp_status_string(buf, mcp_str(",\"text\":"), row->text);
    mcp_status_string(buf, mcp_str(",\"remedy\":"), row->remedy);
}


static void
mcp_status_json_durations(const mcp_call_stats_t *stats, mcp_buf_t *buf)
{
    unsigned  i;
    uint64_t  n;

    mcp_status_number(buf, mcp_str("},\"seconds\":{\"count\":"),
                      mcp_status_ended(stats));
    mcp_buf_lit(buf, ",\"sum\":");
    mcp_status_seconds(buf, stats->sum);

    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += stats->buckets[i];
        mcp_status_number(buf, i ? mcp_str(",") : mcp_str(",\"buckets\":["),
                          n);
    }

    mcp_buf_lit(buf, "]}");
}


static void
mcp_status_json_tool(const mcp_call_stats_t *stats, uint64_t active,
    mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_string(buf, mcp_str("{\"endpoint\":"),
                      mcp_status_text(stats->endpoint));
    mcp_status_string(buf, mcp_str(",\"kind\":"),
                      mcp_status_kind(stats->kind));
    mcp_status_string(buf, mcp_str(",\"tool\":"),
                      mcp_status_text(stats->name));
    mcp_status_number(buf, mcp_str(",\"active\":"), active);

    for (i = MCP_OUTCOME_OK; i < MCP_OUTCOME_COUNT; i++) {
        mcp_status_string(buf, i == MCP_OUTCOME_OK ? mcp_str(",\"results\":{")
                                                  : mcp_str(","),
                          mcp_outcome_name((mcp_outcome_e) i));
        mcp_status_number(buf, mcp_str(":"), stats->results[i]);
    }

    mcp_status_json_durations(stats, buf);

    if (stats->failed_at) {
        mcp_status_number(buf, mcp_str(",\"last_error\":{\"at\":"),
                          stats->failed_at);
        mcp_status_string(buf, mcp_str(",\"result\":"),
                          mcp_outcome_name((mcp_outcome_e) stats->failed));
        mcp_status_json_reason(buf, stats->reason);
        mcp_buf_lit(buf, "}}");

    } else {
        mcp_buf_lit(buf, ",\"last_error\":null}");
    }
}


/* If row "first" is an endpoint's row of the kind OTHER, of which each
 * endpoint has one, appends the sums of all rows of the endpoint and returns
 * 1. Otherwise returns 0. */
static int
mcp_status_json_endpoint(const mcp_status_t *status, uint32_t first,
    const uint64_t *active, const char *before, mcp_buf_t *buf)
{
    uint32_t          i, n;
    uint64_t          tools, all_active, ended, failed;
    mcp_call_stats_t  stats, other;

    mcp_store_call_stats_get(status->store, first, &stats);

    if (stats.kind != MCP_CALL_STATS_KIND_OTHER) {
        return 0;
    }

    tools = all_active = ended = failed = 0;
    n = mcp_store_call_stats_rows(status->store);

    for (i = 0; i < n && i < MCP_CALL_STATS_ROWS_MAX; i++) {
        mcp_store_call_stats_get(status->store, i, &other);

        if (strcmp(other.endpoint, stats.endpoint) != 0) {
            continue;
        }

        tools += other.kind == MCP_CALL_STATS_KIND_TOOL;
        all_active += active[i];
        ended += mcp_status_ended(&other) + other.results[MCP_OUTCOME_LOST];
        failed += other.results[MCP_OUTCOME_TOOL_ERROR]
                  + other.results[MCP_OUTCOME_RPC_ERROR]
                  + other.results[MCP_OUTCOME_FAULT]
                  + other.results[MCP_OUTCOME_LOST]
                  + other.results[MCP_OUTCOME_EXPIRED];
    }

    mcp_buf_add(buf, before, strlen(before));
    mcp_status_string(buf, mcp_str("{\"endpoint\":"),
                      mcp_status_text(stats.endpoint));
    mcp_status_number(buf, mcp_str(",\"tools\":"), tools);
    mcp_status_number(buf, mcp_str(",\"active\":"), all_active);
    mcp_status_number(buf, mcp_str(",\"calls\":"), ended);
    mcp_status_number(buf, mcp_str(",\"failed\":"), failed);
    mcp_buf_lit(buf, "}");

    return 1;
}


static void
mcp_status_json_tools(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t          i, n;
    uint64_t          active[MCP_CALL_STATS_ROWS_MAX];
    const char       *before;
    mcp_call_stats_t  stats;

    memset(active, 0, sizeof(active));
    mcp_store_active_count(status->store, active, MCP_CALL_STATS_ROWS_MAX);
    n = mcp_store_call_stats_rows(status->store);
    before = "";

    mcp_buf_lit(buf, ",\"endpoints\":[");

    for (i = 0; i < n && i < MCP_CALL_STATS_ROWS_MAX; i++) {
        if (mcp_status_json_endpoint(status, i, active, before, buf)) {
            before = ",";
        }
    }

    for (i = 0; i < MCP_CALL_STATS_BUCKETS - 1; i++) {
        mcp_buf_str(buf, i ? mcp_str(",") : mcp_str("],\"buckets\":["));
        mcp_status_seconds(buf, mcp_call_stats_bounds[i]);
    }

    for (i = 0; i < n && i < MCP_CALL_STATS_ROWS_MAX; i++) {
        mcp_store_call_stats_get(status->store, i, &stats);
        mcp_buf_str(buf, i ? mcp_str(",") : mcp_str("],\"tools\":["));
        mcp_status_json_tool(&stats, active[i], buf);
    }

    mcp_buf_lit(buf, "]");
}


/* Appends the endpoint and the kind of the item that was called; its name and
 * the principal only if the query requests details. */
static void
mcp_status_json_about(const mcp_status_t *status, uint32_t row,
    const char *principal, mcp_buf_t *buf)
{
    mcp_call_stats_t  stats;

    mcp_store_call_stats_get(status->store, row, &stats);

    mcp_status_string(buf, mcp_str(",\"endpoint\":"),
                      mcp_status_text(stats.endpoint));
    mcp_status_string(buf, mcp_str(",\"kind\":"),
                      mcp_status_kind(stats.kind));

    if (!status->query->details) {
        return;
    }

    mcp_status_string(buf, mcp_str(",\"tool\":"),
                      mcp_status_text(stats.name));
    mcp_status_string(buf, mcp_str(",\"principal\":"),
                      mcp_status_text(principal));
}


static void
mcp_status_json_id(const unsigned char *id, mcp_buf_t *buf)
{
    char  text[MCP_STREAM_TEXT_LEN];

    mcp_stream_id_print(text, id);
    mcp_status_string(buf, mcp_str("\"call\":"), (mcp_str_t) { text, 8 });
}


static mcp_str_t
mcp_status_state(const mcp_active_t *call)
{
    switch (call->state) {

    case -1:
        return mcp_str("transient");

    case MCP_STATE_PROCESSING:
        return mcp_str("processing");

    case MCP_STATE_INPUT_REQUIRED:
        return mcp_str("input_required");

    default:
        return mcp_str("over");
    }
}


static void
mcp_status_json_call(const mcp_status_t *status, const mcp_active_t *call,
    mcp_buf_t *buf)
{
    uint64_t  now;

    now = status->query->now;

    mcp_buf_lit(buf, "{");
    mcp_status_json_id(call->id, buf);
    mcp_status_number(buf, mcp_str(",\"request\":"), call->request);
    mcp_status_json_about(status, call->row, call->principal, buf);
    mcp_status_number(buf, mcp_str(",\"began\":"), call->began);
    mcp_status_number(buf, mcp_str(",\"age\":"),
                      now > call->began ? now - call->began : 0);
    mcp_status_string(buf, mcp_str(",\"state\":"), mcp_status_state(call));
    mcp_status_number(buf, mcp_str(",\"events\":"), call->events);

    if (call->reader) {
        mcp_status_number(buf, mcp_str(",\"reader\":"), call->reader);

    } else if (call->elsewhere) {
        mcp_buf_lit(buf, ",\"reader\":\"elsewhere\"");

    } else {
        mcp_buf_lit(buf, ",\"reader\":null");
    }

    mcp_status_number(buf, mcp_str(",\"process\":"), call->pid);
    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_calls(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t        i, n;
    uint32_t      position;
    uint64_t      cursor;
    mcp_active_t  calls[MCP_CALL_STATS_PAGE];

    position = 0;

    if (mcp_str_uint(status->query->cursor, &cursor) == MCP_OK
        && cursor <= UINT32_MAX)
    {
        position = (uint32_t) cursor;
    }

    n = mcp_store_active_page(status->store, &position, calls);

    mcp_buf_lit(buf, ",\"running\":[");

    for (i = 0; i < n; i++) {
        mcp_buf_str(buf, i ? mcp_str(",") : mcp_str(""));
        mcp_status_json_call(status, &calls[i], buf);
    }

    mcp_buf_lit(buf, "],\"next\":");

    if (position) {
        mcp_buf_int(buf, position);

    } else {
        mcp_buf_lit(buf, "null");
    }
}


/* Appends the reason of a failure in the words of the log. Unless the query
 * requests details, ends before the first quotation mark, because the
 * backend's words follow. */
static void
mcp_status_json_detail(const mcp_status_t *status, const char *detail,
    mcp_buf_t *buf)
{
    mcp_str_t  text;

    text.data = detail;
    text.len = status->query->details ? strlen(detail) : strcspn(detail, "\"");

    if (text.len) {
        mcp_status_string(buf, mcp_str(",\"detail\":"), text);
    }
}


static void
mcp_status_json_recent(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                           i, n;
    mcp_call_stats_failure_t         failures[MCP_CALL_STATS_RECENT];
    const mcp_call_stats_failure_t  *failure;

    n = mcp_store_call_stats_recent(status->store, failures,
                                    MCP_CALL_STATS_RECENT);

    mcp_buf_lit(buf, ",\"recent\":[");

    for (i = 0; i < n; i++) {
        failure = &failures[i];

        mcp_status_number(buf, i ? mcp_str(",{\"at\":") : mcp_str("{\"at\":"),
                          failure->at);
        mcp_status_json_about(status, failure->row, failure->principal, buf);

        if (failure->result == MCP_CALL_STATS_REFUSED) {
            mcp_buf_lit(buf, ",\"call\":null,\"result\":\"refused\"");

        } else {
            mcp_buf_lit(buf, ",");
            mcp_status_json_id(failure->id, buf);
            mcp_status_string(buf, mcp_str(",\"result\":"),
                              mcp_outcome_name((mcp_outcome_e)
                                               failure->result));
        }

        mcp_status_json_reason(buf, failure->reason);
        mcp_status_json_detail(status, failure->detail, buf);
        mcp_buf_lit(buf, "}");
    }

    mcp_buf_lit(buf, "]");
}


void
mcp_status_json(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_status_string(buf, mcp_str("{\"server\":"), status->query->server);
    mcp_status_string(buf, mcp_str(",\"version\":"),
                      (mcp_str_t) { mcp_version, strlen(mcp_version) });

    mcp_status_json_counters(status, buf);

    mcp_status_number(buf, mcp_str(",\"now\":"), status->query->now);
    mcp_status_string(buf, mcp_str(",\"zone\":{\"name\":"),
                      status->query->zone);
    mcp_status_number(buf, mcp_str(",\"size\":"), status->stats.size);
    mcp_status_number(buf, mcp_str(",\"used\":"), status->stats.used);
    mcp_status_number(buf, mcp_str(",\"repairs\":"),
                      (uint64_t) status->stats.counter[MCP_COUNT_REPAIRS]);
    mcp_buf_lit(buf, "}");

    mcp_status_json_tools(status, buf);
    mcp_status_json_calls(status, buf);
    mcp_status_json_recent(status, buf);
    mcp_status_cluster_json(status, buf);

    mcp_buf_lit(buf, "}\n");
}
