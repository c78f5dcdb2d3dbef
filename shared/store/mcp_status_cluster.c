/* SPDX-License-Identifier: Apache-2.0 */

/* The part of the status about the cluster. Without a cluster it is empty. */


#include <stdio.h>

#include "store/mcp_status_internal.h"
#include "store/mcp_store_node.h"


#define MCP_STATUS_NODE_LEN  16        /* hex digits */


static mcp_str_t
mcp_status_cluster_text(const char *text)
{
    return (mcp_str_t) { text, strlen(text) };
}


static mcp_str_t
mcp_status_cluster_id(char text[MCP_STATUS_NODE_LEN + 1], uint64_t id)
{
    snprintf(text, MCP_STATUS_NODE_LEN + 1, "%016llx",
             (unsigned long long) id);

    return (mcp_str_t) { text, MCP_STATUS_NODE_LEN };
}


/* Returns the name of the node's state in its cluster: "standalone",
 * "unreachable", "member" or "joining". */
static mcp_str_t
mcp_status_cluster_state(const mcp_node_info_t *info)
{
    if (info->standalone[0]) {
        return mcp_str("standalone");
    }

    if (info->up == 0) {
        return mcp_str("unreachable");
    }

    return info->view.at ? mcp_str("member") : mcp_str("joining");
}


/* The names and help texts of the cluster's counters. */
static const struct {
    mcp_str_t  name;
    mcp_str_t  help;
} mcp_status_cluster_rows[MCP_NODE_COUNTS] = {

    [MCP_NODE_REPLICATED] = {
        mcp_str("events_replicated"),
        mcp_str("Events that Redis has acknowledged") },
    [MCP_NODE_REFILLED] = {
        mcp_str("streams_refilled"),
        mcp_str("Streams that were written again because Redis had lost a "
                "part") },
    [MCP_NODE_LINKS_LOST] = {
        mcp_str("links_lost"),
        mcp_str("Connections to Redis that were lost") },
    [MCP_NODE_UNREACHABLE] = {
        mcp_str("requests_refused"),
        mcp_str("Requests refused because Redis could not be reached") },
    [MCP_NODE_TAKEN_OVER] = {
        mcp_str("nodes_taken_over"),
        mcp_str("Dead nodes whose streams this node took over") },
    [MCP_NODE_PROMOTED] = {
        mcp_str("streams_taken_over"),
        mcp_str("Streams that were taken over from dead nodes") },
    [MCP_NODE_DROPPED] = {
        mcp_str("dropped"),
        mcp_str("Streams of dead nodes and answers from other nodes that were "
                "lost because the zone was full") },
    [MCP_NODE_DISPLACED] = {
        mcp_str("readers_displaced"),
        mcp_str("Connections closed because their client resumed at another "
                "node") },
    [MCP_NODE_FENCED] = {
        mcp_str("streams_fenced"),
        mcp_str("Streams of this node that other nodes took over") },
    [MCP_NODE_REBORN] = {
        mcp_str("deaths"),
        mcp_str("Times that other nodes declared this node dead") },
    [MCP_NODE_UNEXPECTED_REPLY] = {
        mcp_str("errors"),
        mcp_str("Error replies and unexpected replies of Redis") }
};


/* Returns how long Redis has lacked the oldest unreplicated event, ms. */
static uint64_t
mcp_status_cluster_lag(const mcp_status_t *status,
    const mcp_node_info_t *info)
{
    return info->lag.since && status->query->now > info->lag.since
           ? status->query->now - info->lag.since : 0;
}


static uint64_t
mcp_status_cluster_age(const mcp_status_t *status,
    const mcp_node_member_t *member)
{
    return status->query->now > member->heartbeat
               ? status->query->now - member->heartbeat
               : 0;
}


/* --- JSON --- */

static void
mcp_status_cluster_json_notes(const mcp_node_info_t *info, mcp_buf_t *buf)
{
    if (info->standalone[0]) {
        mcp_status_string(buf, mcp_str(",\"refused\":"),
                          mcp_status_cluster_text(info->standalone));

    } else {
        mcp_buf_lit(buf, ",\"refused\":null");
    }

    if (info->error_at) {
        mcp_status_number(buf, mcp_str(",\"last_error\":{\"at\":"),
                          info->error_at);
        mcp_status_string(buf, mcp_str(",\"text\":"),
                          mcp_status_cluster_text(info->error));
        mcp_buf_lit(buf, "}");

    } else {
        mcp_buf_lit(buf, ",\"last_error\":null");
    }
}


static void
mcp_status_cluster_json_counts(const mcp_status_t *status,
    const mcp_node_info_t *info, mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_number(buf, mcp_str(",\"mirrors\":"), info->mirrors);
    mcp_status_number(buf, mcp_str(",\"lag\":{\"events\":"),
                      info->lag.events);
    mcp_status_number(buf, mcp_str(",\"bytes\":"), info->lag.bytes);
    mcp_status_number(buf, mcp_str(",\"age\":"),
                      mcp_status_cluster_lag(status, info));
    mcp_buf_lit(buf, "}");

    for (i = 0; i < MCP_NODE_COUNTS; i++) {
        mcp_buf_lit(buf, ",\"");
        mcp_buf_str(buf, mcp_status_cluster_rows[i].name);
        mcp_status_number(buf, mcp_str("\":"), info->counts[i]);
    }
}


static void
mcp_status_cluster_json_members(const mcp_status_t *status,
    const mcp_node_view_t *view, mcp_buf_t *buf)
{
    char                      id[MCP_STATUS_NODE_LEN + 1];
    uint32_t                  i;
    const mcp_node_member_t  *member;

    mcp_buf_lit(buf, ",\"members\":[");

    for (i = 0; i < view->n_members; i++) {
        member = &view->members[i];

        mcp_status_string(buf, i ? mcp_str(",{\"node\":")
                                 : mcp_str("{\"node\":"),
                          mcp_status_cluster_id(id, member->id));
        mcp_status_string(buf, mcp_str(",\"label\":"),
                          mcp_status_cluster_text(member->label));
        mcp_status_string(buf, mcp_str(",\"version\":"),
                          mcp_status_cluster_text(member->build));
        mcp_status_number(buf, mcp_str(",\"age\":"),
                          mcp_status_cluster_age(status, member));
        mcp_buf_lit(buf, "}");
    }

    mcp_buf_lit(buf, "]");
}


void
mcp_status_cluster_json(const mcp_status_t *status, mcp_buf_t *buf)
{
    char             id[MCP_STATUS_NODE_LEN + 1];
    mcp_node_info_t  info;

    if (mcp_store_node_info(status->store, &info) != MCP_OK) {
        return;
    }

    mcp_status_string(buf, mcp_str(",\"cluster\":{\"node\":"),
                      mcp_status_cluster_id(id, info.id));
    mcp_status_string(buf, mcp_str(",\"state\":"),
                      mcp_status_cluster_state(&info));
    mcp_status_number(buf, mcp_str(",\"processes\":"), info.processes);
    mcp_status_number(buf, mcp_str(",\"connected\":"), info.up);
    mcp_status_number(buf, mcp_str(",\"round_trip\":"), info.round_trip);
    mcp_buf_lit(buf, ",\"offset\":");
    mcp_buf_int(buf, info.view.offset);
    mcp_status_number(buf, mcp_str(",\"layout\":"), info.view.layout);
    mcp_status_cluster_json_counts(status, &info, buf);
    mcp_status_cluster_json_notes(&info, buf);
    mcp_status_cluster_json_members(status, &info.view, buf);
    mcp_buf_lit(buf, "}");
}


/* --- Prometheus --- */

static void
mcp_status_cluster_gauge(const mcp_status_t *status, mcp_buf_t *buf,
    mcp_str_t name, mcp_str_t help)
{
    mcp_buf_lit(buf, "# HELP mcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, " ");
    mcp_buf_str(buf, help);
    mcp_buf_lit(buf, "\n# TYPE mcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, " gauge\nmcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_status_zone(status, buf);
}


static void
mcp_status_cluster_counter(const mcp_status_t *status, mcp_buf_t *buf,
    mcp_str_t name, mcp_str_t help, uint64_t n)
{
    mcp_buf_lit(buf, "# HELP mcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, "_total ");
    mcp_buf_str(buf, help);
    mcp_buf_lit(buf, "\n# TYPE mcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, "_total counter\nmcp_cluster_");
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, "_total");
    mcp_status_zone(status, buf);
    mcp_status_number(buf, mcp_str("} "), n);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_cluster_count(const mcp_status_t *status, mcp_buf_t *buf,
    mcp_str_t name, mcp_str_t help, uint64_t n)
{
    mcp_status_cluster_gauge(status, buf, name, help);
    mcp_status_number(buf, mcp_str("} "), n);
    mcp_buf_lit(buf, "\n");
}


static void
mcp_status_cluster_seconds(const mcp_status_t *status, mcp_buf_t *buf,
    mcp_str_t name, mcp_str_t help, int64_t ms)
{
    mcp_status_cluster_gauge(status, buf, name, help);
    mcp_buf_str(buf, ms < 0 ? mcp_str("} -") : mcp_str("} "));
    mcp_status_seconds(buf, (uint64_t) (ms < 0 ? -ms : ms));
    mcp_buf_lit(buf, "\n");
}


/* Returns the age of the oldest heartbeat of all members, ms. One number is
 * enough for an alert: a metric for each node would need the node's id as a
 * label, which changes with every start. */
static uint64_t
mcp_status_cluster_oldest(const mcp_status_t *status,
    const mcp_node_view_t *view)
{
    uint32_t  i;
    uint64_t  age, oldest;

    oldest = 0;

    for (i = 0; i < view->n_members; i++) {
        age = mcp_status_cluster_age(status, &view->members[i]);
        oldest = age > oldest ? age : oldest;
    }

    return oldest;
}


/* Appends the metrics about replicated streams and mirrors, and the cluster's
 * counters. */
static void
mcp_status_cluster_streams(const mcp_status_t *status,
    const mcp_node_info_t *info, mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_cluster_count(status, buf, mcp_str("mirrors"),
                             mcp_str("Streams of other nodes that are read at "
                                     "this node"),
                             info->mirrors);
    mcp_status_cluster_count(status, buf, mcp_str("lag_events"),
                             mcp_str("Events that are not in Redis yet"),
                             info->lag.events);
    mcp_status_cluster_count(status, buf, mcp_str("lag_bytes"),
                             mcp_str("Bytes of the events that are not in "
                                     "Redis yet"), info->lag.bytes);
    mcp_status_cluster_seconds(status, buf, mcp_str("lag_seconds"),
                               mcp_str("Age of the oldest event that is not in "
                                       "Redis yet"),
                               (int64_t) mcp_status_cluster_lag(status,
                                                                info));

    for (i = 0; i < MCP_NODE_COUNTS; i++) {

        if (i == MCP_NODE_UNREACHABLE) {
            continue;          /* it is part of mcp_requests_refused_total */
        }

        mcp_status_cluster_counter(status, buf, mcp_status_cluster_rows[i].name,
                                   mcp_status_cluster_rows[i].help,
                                   info->counts[i]);
    }
}


void
mcp_status_cluster_prometheus(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_node_info_t  info;

    if (mcp_store_node_info(status->store, &info) != MCP_OK) {
        return;
    }

    mcp_status_cluster_count(status, buf, mcp_str("processes"),
                             mcp_str("Processes with a link to Redis"),
                             info.processes);
    mcp_status_cluster_count(status, buf, mcp_str("connected"),
                             mcp_str("Processes whose link to Redis is up"),
                             info.up);
    mcp_status_cluster_count(status, buf, mcp_str("refused"),
                             mcp_str("1 if the cluster rejected the node, "
                                     "which serves alone"),
                             info.standalone[0] != '\0');
    mcp_status_cluster_count(status, buf, mcp_str("members"),
                             mcp_str("Nodes in the cluster"),
                             info.view.n_members);
    mcp_status_cluster_seconds(status, buf, mcp_str("member_silence_seconds"),
                               mcp_str("Longest time since a node's last "
                                       "heartbeat"),
                               (int64_t) mcp_status_cluster_oldest(status,
                                                               &info.view));
    mcp_status_cluster_seconds(status, buf, mcp_str("round_trip_seconds"),
                               mcp_str("Longest of the last round trips of "
                                       "all processes to Redis"),
                               (int64_t) info.round_trip);
    mcp_status_cluster_seconds(status, buf, mcp_str("clock_offset_seconds"),
                               mcp_str("Clock of Redis minus the clock of the "
                                       "node"),
                               info.view.offset);
    mcp_status_cluster_streams(status, &info, buf);
}


/* --- the table without a script --- */

void
mcp_status_cluster_html(const mcp_status_t *status, mcp_buf_t *buf)
{
    char             id[MCP_STATUS_NODE_LEN + 1];
    mcp_node_info_t  info;

    if (mcp_store_node_info(status->store, &info) != MCP_OK) {
        return;
    }

    mcp_buf_lit(buf, "<p>Cluster: node ");
    mcp_buf_str(buf, mcp_status_cluster_id(id, info.id));
    mcp_buf_lit(buf, ", ");
    mcp_buf_str(buf, mcp_status_cluster_state(&info));
    mcp_status_number(buf, mcp_str(", "), info.up);
    mcp_status_number(buf, mcp_str(" of "), info.processes);
    mcp_status_number(buf, mcp_str(" processes connected to Redis, nodes: "),
                      info.view.n_members);

    mcp_status_number(buf, mcp_str(", mirrors: "), info.mirrors);
    mcp_status_number(buf, mcp_str(", events that Redis does not have yet: "),
                      info.lag.events);

    if (info.standalone[0]) {
        mcp_buf_lit(buf, "<br>Refused: ");
        mcp_status_html_text(buf, mcp_status_cluster_text(info.standalone));
    }

    mcp_buf_lit(buf, "</p>\n");
}
