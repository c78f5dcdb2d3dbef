/* SPDX-License-Identifier: Apache-2.0 */

/* What the status says of a cluster: nothing, where there is none. */


#include <stdio.h>

#include "store/mcp_status_parts.h"
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


/* Returns whether the node is in its cluster, as far as is known here. */
static mcp_str_t
mcp_status_cluster_state(const mcp_node_facts_t *facts)
{
    if (facts->alone[0]) {
        return mcp_str("alone");
    }

    if (facts->up == 0) {
        return mcp_str("unreachable");
    }

    return facts->view.at ? mcp_str("member") : mcp_str("joining");
}


/* What is counted, by its name and what it is. */
static const struct {
    mcp_str_t  name;
    mcp_str_t  help;
} mcp_status_cluster_rows[MCP_NODE_COUNTS] = {

    [MCP_NODE_COPIED] = {
        mcp_str("events_copied"),
        mcp_str("Events that Redis has taken") },
    [MCP_NODE_REFILLED] = {
        mcp_str("streams_refilled"),
        mcp_str("Streams of which Redis had lost some, which was written "
                "again") },
    [MCP_NODE_LINKS_LOST] = {
        mcp_str("links_lost"),
        mcp_str("Connections to Redis that were lost") },
    [MCP_NODE_AWAY] = {
        mcp_str("requests_refused"),
        mcp_str("Requests refused because Redis could not be reached") },
    [MCP_NODE_REAPED] = {
        mcp_str("nodes_reaped"),
        mcp_str("Nodes whose streams this one took over") },
    [MCP_NODE_INHERITED] = {
        mcp_str("streams_inherited"),
        mcp_str("Streams that were taken over from dead nodes") },
    [MCP_NODE_DROPPED] = {
        mcp_str("dropped"),
        mcp_str("Streams of dead nodes, and answers from other nodes, lost for "
                "want of room") },
    [MCP_NODE_DISPLACED] = {
        mcp_str("readers_displaced"),
        mcp_str("Connections ended because their client came back at another "
                "node") },
    [MCP_NODE_FENCED] = {
        mcp_str("streams_fenced"),
        mcp_str("Streams that others had taken over from this node") },
    [MCP_NODE_REBORN] = {
        mcp_str("deaths"),
        mcp_str("Times that others took this node for dead") },
    [MCP_NODE_STRANGE] = {
        mcp_str("errors"),
        mcp_str("Replies of Redis that were errors, or none of a script") }
};


/* Returns how long the oldest event has not been in Redis, ms. */
static uint64_t
mcp_status_cluster_lag(const mcp_status_t *status,
    const mcp_node_facts_t *facts)
{
    return facts->lag.since && status->ask->now > facts->lag.since
           ? status->ask->now - facts->lag.since : 0;
}


static uint64_t
mcp_status_cluster_age(const mcp_status_t *status,
    const mcp_node_member_t *member)
{
    return status->ask->now > member->beat ? status->ask->now - member->beat
                                           : 0;
}


/* --- JSON --- */

static void
mcp_status_cluster_json_notes(const mcp_node_facts_t *facts, mcp_buf_t *buf)
{
    if (facts->alone[0]) {
        mcp_status_string(buf, mcp_str(",\"refused\":"),
                          mcp_status_cluster_text(facts->alone));

    } else {
        mcp_buf_lit(buf, ",\"refused\":null");
    }

    if (facts->error_at) {
        mcp_status_number(buf, mcp_str(",\"last_error\":{\"at\":"),
                          facts->error_at);
        mcp_status_string(buf, mcp_str(",\"text\":"),
                          mcp_status_cluster_text(facts->error));
        mcp_buf_lit(buf, "}");

    } else {
        mcp_buf_lit(buf, ",\"last_error\":null");
    }
}


static void
mcp_status_cluster_json_counts(const mcp_status_t *status,
    const mcp_node_facts_t *facts, mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_number(buf, mcp_str(",\"mirrors\":"), facts->mirrors);
    mcp_status_number(buf, mcp_str(",\"lag\":{\"events\":"),
                      facts->lag.events);
    mcp_status_number(buf, mcp_str(",\"bytes\":"), facts->lag.bytes);
    mcp_status_number(buf, mcp_str(",\"age\":"),
                      mcp_status_cluster_lag(status, facts));
    mcp_buf_lit(buf, "}");

    for (i = 0; i < MCP_NODE_COUNTS; i++) {
        mcp_buf_lit(buf, ",\"");
        mcp_buf_str(buf, mcp_status_cluster_rows[i].name);
        mcp_status_number(buf, mcp_str("\":"), facts->counts[i]);
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
    char              id[MCP_STATUS_NODE_LEN + 1];
    mcp_node_facts_t  facts;

    if (mcp_store_node_facts(status->store, &facts) != MCP_OK) {
        return;
    }

    mcp_status_string(buf, mcp_str(",\"cluster\":{\"node\":"),
                      mcp_status_cluster_id(id, facts.id));
    mcp_status_string(buf, mcp_str(",\"state\":"),
                      mcp_status_cluster_state(&facts));
    mcp_status_number(buf, mcp_str(",\"processes\":"), facts.processes);
    mcp_status_number(buf, mcp_str(",\"connected\":"), facts.up);
    mcp_status_number(buf, mcp_str(",\"round_trip\":"), facts.round_trip);
    mcp_buf_lit(buf, ",\"offset\":");
    mcp_buf_int(buf, facts.view.offset);
    mcp_status_number(buf, mcp_str(",\"layout\":"), facts.view.layout);
    mcp_status_cluster_json_counts(status, &facts, buf);
    mcp_status_cluster_json_notes(&facts, buf);
    mcp_status_cluster_json_members(status, &facts.view, buf);
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


/* The longest silence of each of the others would need its name, which changes
 * with every start: one number is enough for an alert. */
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


/* What there is of streams that are shared, and what has become of them. */
static void
mcp_status_cluster_streams(const mcp_status_t *status,
    const mcp_node_facts_t *facts, mcp_buf_t *buf)
{
    unsigned  i;

    mcp_status_cluster_count(status, buf, mcp_str("mirrors"),
                             mcp_str("Streams of other nodes that are read "
                                     "here"),
                             facts->mirrors);
    mcp_status_cluster_count(status, buf, mcp_str("lag_events"),
                             mcp_str("Events that are not in Redis yet"),
                             facts->lag.events);
    mcp_status_cluster_count(status, buf, mcp_str("lag_bytes"),
                             mcp_str("Bytes of these"), facts->lag.bytes);
    mcp_status_cluster_seconds(status, buf, mcp_str("lag_seconds"),
                               mcp_str("Age of the oldest of these"),
                               (int64_t) mcp_status_cluster_lag(status,
                                                                facts));

    for (i = 0; i < MCP_NODE_COUNTS; i++) {

        if (i == MCP_NODE_AWAY) {
            continue;          /* mcp_requests_refused_total has it */
        }

        mcp_status_cluster_counter(status, buf, mcp_status_cluster_rows[i].name,
                                   mcp_status_cluster_rows[i].help,
                                   facts->counts[i]);
    }
}


void
mcp_status_cluster_prometheus(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_node_facts_t  facts;

    if (mcp_store_node_facts(status->store, &facts) != MCP_OK) {
        return;
    }

    mcp_status_cluster_count(status, buf, mcp_str("processes"),
                             mcp_str("Processes with a link to Redis"),
                             facts.processes);
    mcp_status_cluster_count(status, buf, mcp_str("connected"),
                             mcp_str("Processes whose link is up"), facts.up);
    mcp_status_cluster_count(status, buf, mcp_str("refused"),
                             mcp_str("1 if the node was refused and serves "
                                     "alone"),
                             facts.alone[0] != '\0');
    mcp_status_cluster_count(status, buf, mcp_str("members"),
                             mcp_str("Nodes that Redis knows"),
                             facts.view.n_members);
    mcp_status_cluster_seconds(status, buf, mcp_str("member_silence_seconds"),
                               mcp_str("Time since the oldest last beat of a "
                                       "node"),
                               (int64_t) mcp_status_cluster_oldest(status,
                                                               &facts.view));
    mcp_status_cluster_seconds(status, buf, mcp_str("round_trip_seconds"),
                               mcp_str("Time that Redis took to answer last, "
                                       "the longest of all processes"),
                               (int64_t) facts.round_trip);
    mcp_status_cluster_seconds(status, buf, mcp_str("clock_offset_seconds"),
                               mcp_str("Clock of Redis minus that of the "
                                       "node"),
                               facts.view.offset);
    mcp_status_cluster_streams(status, &facts, buf);
}


/* --- without a script --- */

void
mcp_status_cluster_html(const mcp_status_t *status, mcp_buf_t *buf)
{
    char              id[MCP_STATUS_NODE_LEN + 1];
    mcp_node_facts_t  facts;

    if (mcp_store_node_facts(status->store, &facts) != MCP_OK) {
        return;
    }

    mcp_buf_lit(buf, "<p>Cluster: node ");
    mcp_buf_str(buf, mcp_status_cluster_id(id, facts.id));
    mcp_buf_lit(buf, ", ");
    mcp_buf_str(buf, mcp_status_cluster_state(&facts));
    mcp_status_number(buf, mcp_str(", "), facts.up);
    mcp_status_number(buf, mcp_str(" of "), facts.processes);
    mcp_status_number(buf, mcp_str(" processes connected to Redis, nodes: "),
                      facts.view.n_members);

    mcp_status_number(buf, mcp_str(", mirrors: "), facts.mirrors);
    mcp_status_number(buf, mcp_str(", events that Redis does not have yet: "),
                      facts.lag.events);

    if (facts.alone[0]) {
        mcp_buf_lit(buf, "<br>Refused: ");
        mcp_status_html_text(buf, mcp_status_cluster_text(facts.alone));
    }

    mcp_buf_lit(buf, "</p>\n");
}
