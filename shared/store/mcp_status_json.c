/* SPDX-License-Identifier: Apache-2.0 */

/* Renders the status as JSON, in the form that docs/operations.md describes. */


#include <stdio.h>

#include "mcp_version.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_status_internal.h"


/* Appends the name of a member of an object, with a comma before it unless it
 * is the first member. For an element of an array, the name is empty, and only
 * the comma is appended. */
static void
mcp_status_name(mcp_buf_t *buf, mcp_str_t name)
{
    char  last;

    last = buf->len ? buf->data[buf->len - 1] : '\0';

    if (last != '{' && last != '[') {
        mcp_buf_lit(buf, ",");
    }

    if (name.len) {
        mcp_buf_json(buf, name);
        mcp_buf_lit(buf, ":");
    }
}


static void
mcp_status_number(mcp_buf_t *buf, const char *name, uint64_t n)
{
    mcp_status_name(buf, mcp_status_text(name));
    mcp_buf_int(buf, (int64_t) n);
}


static void
mcp_status_string(mcp_buf_t *buf, const char *name, mcp_str_t text)
{
    mcp_status_name(buf, mcp_status_text(name));
    mcp_buf_json(buf, text);
}


/* Appends the name of a member, and its value or the beginning of its value. */
static void
mcp_status_begin(mcp_buf_t *buf, const char *name, const char *value)
{
    mcp_status_name(buf, mcp_status_text(name));
    mcp_buf_str(buf, mcp_status_text(value));
}


static void
mcp_status_json_number(const mcp_status_t *status, const mcp_status_row_t *row,
    mcp_buf_t *buf)
{
    if (row->name[0]) {
        mcp_status_number(buf, row->name,
                          (uint64_t) mcp_status_value(status, row));
    }
}


static void
mcp_status_json_revisions(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_revision_e  revision;

    mcp_status_begin(buf, "revisions", "{");

    revision = MCP_REVISION_NONE;

    while ((revision = mcp_revision_next(revision)) != MCP_REVISION_NONE) {
        mcp_status_name(buf, mcp_revision(revision)->name);
        mcp_buf_int(buf, mcp_status_requests(status, revision));
    }

    mcp_buf_lit(buf, "}");
}


/* Appends the name, the text and the remedy of a failure's reason. */
static void
mcp_status_json_reason(mcp_buf_t *buf, unsigned reason)
{
    const mcp_reason_t  *row;

    row = mcp_reason(reason);

    mcp_status_string(buf, "reason", row->name);
    mcp_status_string(buf, "text", row->text);
    mcp_status_string(buf, "remedy", row->remedy);
}


static void
mcp_status_json_durations(const mcp_call_stats_t *stats, mcp_buf_t *buf)
{
    unsigned  i;
    uint64_t  n;

    mcp_status_begin(buf, "seconds", "{");
    mcp_status_number(buf, "count", mcp_status_ended(stats));
    mcp_status_name(buf, mcp_str("sum"));
    mcp_status_seconds(buf, (int64_t) stats->sum);
    mcp_status_begin(buf, "buckets", "[");

    n = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += stats->buckets[i];
        mcp_status_number(buf, "", n);
    }

    mcp_buf_lit(buf, "]}");
}


static void
mcp_status_json_tool(const mcp_status_t *status, const mcp_call_stats_t *stats,
    uint64_t active, mcp_buf_t *buf)
{
    unsigned  i;

    (void) status;

    mcp_status_begin(buf, "", "{");
    mcp_status_string(buf, "endpoint", mcp_status_text(stats->endpoint));
    mcp_status_string(buf, "kind", mcp_status_kind(stats->kind));
    mcp_status_string(buf, "tool", mcp_status_text(stats->name));
    mcp_status_number(buf, "active", active);
    mcp_status_begin(buf, "results", "{");

    for (i = MCP_OUTCOME_OK; i < MCP_OUTCOME_COUNT; i++) {
        mcp_status_name(buf, mcp_outcome_name((mcp_outcome_e) i));
        mcp_buf_int(buf, (int64_t) stats->results[i]);
    }

    mcp_buf_lit(buf, "}");
    mcp_status_json_durations(stats, buf);

    if (stats->failed_at) {
        mcp_status_begin(buf, "last_error", "{");
        mcp_status_number(buf, "at", stats->failed_at);
        mcp_status_string(buf, "result",
                          mcp_outcome_name((mcp_outcome_e) stats->failed));
        mcp_status_json_reason(buf, stats->reason);
        mcp_buf_lit(buf, "}}");

    } else {
        mcp_status_begin(buf, "last_error", "null}");
    }
}


/* Appends an endpoint with the sums of all its rows of the call statistics.
 * Does nothing unless "stats" is the row of the kind OTHER, so that each
 * endpoint is appended once. */
static void
mcp_status_json_endpoint(const mcp_status_t *status,
    const mcp_call_stats_t *stats, uint64_t active, mcp_buf_t *buf)
{
    uint32_t          i;
    uint64_t          tools, ended, failed;
    mcp_call_stats_t  other;

    if (stats->kind != MCP_CALL_STATS_KIND_OTHER) {
        return;
    }

    tools = active = ended = failed = 0;

    for (i = 0; i < status->n_calls; i++) {
        mcp_store_call_stats_get(status->store, i, &other);

        if (strcmp(other.endpoint, stats->endpoint) != 0) {
            continue;
        }

        tools += other.kind == MCP_CALL_STATS_KIND_TOOL;
        active += status->active[i];
        ended += mcp_status_ended(&other) + other.results[MCP_OUTCOME_LOST];
        failed += other.results[MCP_OUTCOME_TOOL_ERROR]
                  + other.results[MCP_OUTCOME_RPC_ERROR]
                  + other.results[MCP_OUTCOME_FAULT]
                  + other.results[MCP_OUTCOME_LOST]
                  + other.results[MCP_OUTCOME_EXPIRED];
    }

    mcp_status_begin(buf, "", "{");
    mcp_status_string(buf, "endpoint", mcp_status_text(stats->endpoint));
    mcp_status_number(buf, "tools", tools);
    mcp_status_number(buf, "active", active);
    mcp_status_number(buf, "calls", ended);
    mcp_status_number(buf, "failed", failed);
    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_calls(const mcp_status_t *status, mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_begin(buf, "endpoints", "[");
    mcp_status_calls(status, mcp_status_json_endpoint, buf);
    mcp_buf_lit(buf, "]");

    mcp_status_begin(buf, "buckets", "[");

    for (i = 0; i < MCP_CALL_STATS_BUCKETS - 1; i++) {
        mcp_status_name(buf, mcp_null_str);
        mcp_status_seconds(buf, (int64_t) mcp_call_stats_bounds[i]);
    }

    mcp_buf_lit(buf, "]");

    mcp_status_begin(buf, "tools", "[");
    mcp_status_calls(status, mcp_status_json_tool, buf);
    mcp_buf_lit(buf, "]");
}


/* Appends the endpoint and the kind of the item to which a row of the call
 * statistics belongs. If the query requests details, also appends the name of
 * the item and the principal. */
static void
mcp_status_json_about(const mcp_status_t *status, uint32_t row,
    const char *principal, mcp_buf_t *buf)
{
    mcp_call_stats_t  stats;

    mcp_store_call_stats_get(status->store, row, &stats);

    mcp_status_string(buf, "endpoint", mcp_status_text(stats.endpoint));
    mcp_status_string(buf, "kind", mcp_status_kind(stats.kind));

    if (status->query->details) {
        mcp_status_string(buf, "tool", mcp_status_text(stats.name));
        mcp_status_string(buf, "principal", mcp_status_text(principal));
    }
}


static void
mcp_status_json_id(const unsigned char *id, mcp_buf_t *buf)
{
    char  text[MCP_STREAM_TEXT_LEN];

    mcp_stream_id_print(text, id);
    mcp_status_string(buf, "call", (mcp_str_t) { text, 8 });
}


static mcp_str_t
mcp_status_state(const mcp_active_t *call)
{
    static const mcp_str_t  names[] = {
        mcp_str("transient"), mcp_str("processing"), mcp_str("input_required")
    };

    return call->state < MCP_STATE_COMPLETED ? names[call->state + 1]
                                             : mcp_str("over");
}


static void
mcp_status_json_active(const mcp_status_t *status, const mcp_active_t *call,
    mcp_buf_t *buf)
{
    mcp_status_begin(buf, "", "{");
    mcp_status_json_id(call->id, buf);
    mcp_status_number(buf, "request", call->request);
    mcp_status_json_about(status, call->row, call->principal, buf);
    mcp_status_number(buf, "began", call->began);
    mcp_status_number(buf, "age", mcp_status_age(status, call->began));
    mcp_status_string(buf, "state", mcp_status_state(call));
    mcp_status_number(buf, "events", call->events);

    if (call->reader) {
        mcp_status_number(buf, "reader", call->reader);

    } else {
        mcp_status_begin(buf, "reader",
                         call->elsewhere ? "\"elsewhere\"" : "null");
    }

    mcp_status_number(buf, "process", call->pid);
    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_active_list(const mcp_status_t *status, mcp_buf_t *buf)
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

    mcp_status_begin(buf, "running", "[");

    for (i = 0; i < n; i++) {
        mcp_status_json_active(status, &calls[i], buf);
    }

    mcp_buf_lit(buf, "]");

    if (position) {
        mcp_status_number(buf, "next", position);

    } else {
        mcp_status_begin(buf, "next", "null");
    }
}


/* Appends a failure. Its member "detail" is the reason as in the log, where
 * text from the backend begins with a quotation mark. Unless the query requests
 * details, "detail" ends before the first quotation mark. */
static void
mcp_status_json_failure(const mcp_status_t *status,
    const mcp_call_stats_failure_t *failure, mcp_buf_t *buf)
{
    mcp_str_t  detail;

    mcp_status_begin(buf, "", "{");
    mcp_status_number(buf, "at", failure->at);
    mcp_status_json_about(status, failure->row, failure->principal, buf);

    if (failure->result == MCP_CALL_STATS_REFUSED) {
        mcp_status_begin(buf, "call", "null");
        mcp_status_string(buf, "result", mcp_str("refused"));

    } else {
        mcp_status_json_id(failure->id, buf);
        mcp_status_string(buf, "result",
                          mcp_outcome_name((mcp_outcome_e) failure->result));
    }

    mcp_status_json_reason(buf, failure->reason);

    detail = mcp_status_text(failure->detail);

    if (!status->query->details) {
        detail.len = strcspn(detail.data, "\"");
    }

    if (detail.len) {
        mcp_status_string(buf, "detail", detail);
    }

    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_recent(const mcp_status_t *status, mcp_buf_t *buf)
{
    size_t                    i, n;
    mcp_call_stats_failure_t  failures[MCP_CALL_STATS_RECENT];

    n = mcp_store_call_stats_recent(status->store, failures,
                                    MCP_CALL_STATS_RECENT);

    mcp_status_begin(buf, "recent", "[");

    for (i = 0; i < n; i++) {
        mcp_status_json_failure(status, &failures[i], buf);
    }

    mcp_buf_lit(buf, "]");
}


/* Appends the last error of an MCP server. */
static void
mcp_status_json_upstream_error(const mcp_store_upstream_t *server,
    mcp_buf_t *buf)
{
    if (server->failed_at == 0) {
        mcp_status_begin(buf, "last_error", "null");
        return;
    }

    mcp_status_begin(buf, "last_error", "{");
    mcp_status_number(buf, "at", server->failed_at);
    mcp_status_json_reason(buf, server->reason);
    mcp_status_string(buf, "detail", mcp_status_text(server->detail));
    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_upstream(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    static const char *const  up[] = {
        [MCP_UPSTREAM_UNKNOWN] = "null",
        [MCP_UPSTREAM_DOWN] = "false",
        [MCP_UPSTREAM_UP] = "true"
    };

    (void) status;

    mcp_status_begin(buf, "", "{");
    mcp_status_string(buf, "endpoint", mcp_status_text(server->endpoint));
    mcp_status_string(buf, "upstream", mcp_status_text(server->name));
    mcp_status_string(buf, "form", mcp_status_form(server->form));
    mcp_status_string(buf, "revision", mcp_revision(server->revision)->name);
    mcp_status_string(buf, "server", mcp_status_text(server->server));
    mcp_status_string(buf, "version", mcp_status_text(server->version));
    mcp_status_begin(buf, "up", up[server->up]);
    mcp_status_number(buf, "sessions", server->sessions);

    mcp_status_begin(buf, "initializations", "{");
    mcp_status_number(buf, "ok", server->opened);
    mcp_status_number(buf, "failed", server->refused);
    mcp_buf_lit(buf, "}");

    mcp_status_json_upstream_error(server, buf);
    mcp_buf_lit(buf, "}");
}


static void
mcp_status_json_node(mcp_buf_t *buf, uint64_t id)
{
    char  text[16 + 1];

    snprintf(text, sizeof(text), "%016llx", (unsigned long long) id);
    mcp_status_string(buf, "node", mcp_status_text(text));
}


static void
mcp_status_json_members(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint32_t                  i;
    const mcp_node_member_t  *member;

    mcp_status_begin(buf, "members", "[");

    for (i = 0; i < status->node.view.n_members; i++) {
        member = &status->node.view.members[i];

        mcp_status_begin(buf, "", "{");
        mcp_status_json_node(buf, member->id);
        mcp_status_string(buf, "label", mcp_status_text(member->label));
        mcp_status_string(buf, "version", mcp_status_text(member->build));
        mcp_status_number(buf, "age",
                          mcp_status_age(status, member->heartbeat));
        mcp_buf_lit(buf, "}");
    }

    mcp_buf_lit(buf, "]");
}


static void
mcp_status_json_cluster(const mcp_status_t *status, mcp_buf_t *buf)
{
    const mcp_node_info_t  *node;

    node = &status->node;

    mcp_status_begin(buf, "cluster", "{");
    mcp_status_json_node(buf, node->id);
    mcp_status_string(buf, "state", mcp_status_node_state(status));
    mcp_status_numbers(status, MCP_STATUS_NODE, mcp_status_json_number, buf);

    mcp_status_begin(buf, "lag", "{");
    mcp_status_numbers(status, MCP_STATUS_LAG, mcp_status_json_number, buf);
    mcp_buf_lit(buf, "}");

    mcp_status_numbers(status, MCP_STATUS_EVENTS, mcp_status_json_number, buf);

    if (status->standalone) {
        mcp_status_string(buf, "refused", mcp_status_text(node->standalone));

    } else {
        mcp_status_begin(buf, "refused", "null");
    }

    if (node->error_at) {
        mcp_status_begin(buf, "last_error", "{");
        mcp_status_number(buf, "at", node->error_at);
        mcp_status_string(buf, "text", mcp_status_text(node->error));
        mcp_buf_lit(buf, "}");

    } else {
        mcp_status_begin(buf, "last_error", "null");
    }

    mcp_status_json_members(status, buf);
    mcp_buf_lit(buf, "}");
}


void
mcp_status_json(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "{");
    mcp_status_string(buf, "server", status->query->server);
    mcp_status_string(buf, "version", mcp_status_text(mcp_version));

    mcp_status_numbers(status, MCP_STATUS_STORE, mcp_status_json_number, buf);
    mcp_status_json_revisions(status, buf);

    mcp_status_number(buf, "now", status->query->now);
    mcp_status_begin(buf, "zone", "{");
    mcp_status_string(buf, "name", status->query->zone);
    mcp_status_number(buf, "size", status->stats.size);
    mcp_status_number(buf, "used", status->stats.used);
    mcp_status_number(buf, "repairs",
                      (uint64_t) status->stats.counter[MCP_COUNT_REPAIRS]);
    mcp_buf_lit(buf, "}");

    mcp_status_json_calls(status, buf);
    mcp_status_json_active_list(status, buf);
    mcp_status_json_recent(status, buf);

    mcp_status_begin(buf, "upstreams", "[");
    mcp_status_upstreams(status, mcp_status_json_upstream, buf);
    mcp_buf_lit(buf, "]");

    if (status->clustered) {
        mcp_status_json_cluster(status, buf);
    }

    mcp_buf_lit(buf, "}\n");
}
