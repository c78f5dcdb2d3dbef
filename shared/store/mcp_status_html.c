/* SPDX-License-Identifier: Apache-2.0 */

/* Renders the status page in HTML. In a browser with JavaScript, the page's
 * script loads the status as JSON from the same URL and displays it. Before
 * that, and without JavaScript, the browser displays the tables that this file
 * inserts into the page. */


#include <stdio.h>

#include "mcp_version.h"
#include "base/mcp_base64.h"
#include "base/mcp_crypto.h"
#include "base/mcp_str.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_status_internal.h"


/* The low and high attributes of the <meter> that shows how full the zone is,
 * in percent. */
#define MCP_STATUS_LOW   75
#define MCP_STATUS_HIGH  90

/* Size of a buffer for a SHA-256 hash in base64 with a NUL. */
#define MCP_STATUS_HASH  48


/* Returns the part of "text" before the first "mark", and removes this part and
 * the mark from "text". Without a mark, returns the whole text, and "text"
 * becomes empty. */
static mcp_str_t
mcp_status_cut(mcp_str_t *text, mcp_str_t mark)
{
    size_t       cut;
    mcp_str_t    before;
    const char  *found;

    before = *text;
    cut = text->len;
    found = mcp_str_find(*text, mark);

    if (found) {
        before.len = (size_t) (found - text->data);
        cut = before.len + mark.len;
    }

    text->data += cut;
    text->len -= cut;

    return before;
}


/* Appends a text, escaped for HTML. */
static void
mcp_status_html_text(mcp_buf_t *buf, mcp_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        switch (text.data[i]) {

        case '<':
            mcp_buf_lit(buf, "&lt;");
            break;

        case '>':
            mcp_buf_lit(buf, "&gt;");
            break;

        case '&':
            mcp_buf_lit(buf, "&amp;");
            break;

        default:
            mcp_buf_add(buf, text.data + i, 1);
            break;
        }
    }
}


static void
mcp_status_html_cell(mcp_buf_t *buf, mcp_str_t text)
{
    mcp_buf_lit(buf, "<td>");
    mcp_status_html_text(buf, text);
    mcp_buf_lit(buf, "</td>");
}


static void
mcp_status_html_number(mcp_buf_t *buf, int64_t n)
{
    mcp_buf_lit(buf, "<td class=\"n\">");
    mcp_buf_int(buf, n);
    mcp_buf_lit(buf, "</td>");
}


/* Appends a number of bytes in a readable form, such as "64 MB". */
static void
mcp_status_html_size(mcp_buf_t *buf, uint64_t bytes)
{
    size_t  i;

    static const mcp_str_t  units[] = {
        mcp_str(" bytes"), mcp_str(" KB"), mcp_str(" MB"), mcp_str(" GB")
    };

    for (i = 0; i < 3 && bytes >= 10 * 1024; i++) {
        bytes = (bytes + 512) / 1024;
    }

    mcp_buf_int(buf, (int64_t) bytes);
    mcp_buf_str(buf, units[i]);
}


static void
mcp_status_html_zone(const mcp_status_t *status, mcp_buf_t *buf)
{
    uint64_t  percent;

    percent = status->stats.size
              ? status->stats.used * 100 / status->stats.size : 0;

    mcp_buf_lit(buf, "<p class=\"soft\">");
    mcp_status_html_text(buf, status->query->server);
    mcp_buf_lit(buf, ", module ");
    mcp_buf_add(buf, mcp_version, strlen(mcp_version));
    mcp_buf_lit(buf, ", zone ");
    mcp_status_html_text(buf, status->query->zone);

    if (percent >= MCP_STATUS_HIGH) {
        mcp_buf_lit(buf, "</p>\n<p class=\"verdict\">The zone is nearly full: "
                         "enlarge it, or lower mcp_stream_buffer and "
                         "mcp_linger</p>\n");

    } else if (percent >= MCP_STATUS_LOW) {
        mcp_buf_lit(buf, "</p>\n<p class=\"verdict\">The zone is filling up"
                         "</p>\n");

    } else {
        mcp_buf_lit(buf, "</p>\n<p class=\"verdict\">The zone has room</p>\n");
    }

    mcp_buf_lit(buf, "<meter max=\"100\" low=\"75\" high=\"90\" optimum=\"0\" "
                     "value=\"");
    mcp_buf_int(buf, (int64_t) percent);
    mcp_buf_lit(buf, "\"></meter>\n<p class=\"soft\">");
    mcp_status_html_size(buf, status->stats.used);
    mcp_buf_lit(buf, " of ");
    mcp_status_html_size(buf, status->stats.size);
    mcp_buf_lit(buf, " in use (");
    mcp_buf_int(buf, (int64_t) percent);
    mcp_buf_lit(buf, " %)</p>\n");
}


/* Appends the state of the cluster in one paragraph, if the zone is a node of a
 * cluster. */
static void
mcp_status_html_cluster(const mcp_status_t *status, mcp_buf_t *buf)
{
    int                     n;
    char                    text[320];
    mcp_str_t               state;
    const mcp_node_info_t  *node;

    if (!status->clustered) {
        return;
    }

    node = &status->node;
    state = mcp_status_node_state(status);

    n = snprintf(text, sizeof(text),
                 "<p>Cluster: node %016llx, %.*s, %u of %u processes "
                 "connected to Redis, nodes: %u, streams of other nodes that "
                 "are read here: %llu, events that Redis does not have yet: "
                 "%llu",
                 (unsigned long long) node->id, (int) state.len, state.data,
                 node->up, node->processes, node->view.n_members,
                 (unsigned long long) node->mirrors,
                 (unsigned long long) node->lag.events);
    mcp_buf_add(buf, text, (size_t) n);

    if (status->standalone) {
        mcp_buf_lit(buf, "<br>Refused by the cluster: ");
        mcp_status_html_text(buf, mcp_status_text(node->standalone));
    }

    mcp_buf_lit(buf, "</p>\n");
}


static void
mcp_status_html_row(const mcp_status_t *status, const mcp_status_row_t *row,
    mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "<tr>");
    mcp_status_html_cell(buf, mcp_status_text(row->help));
    mcp_status_html_number(buf, mcp_status_value(status, row));
    mcp_buf_lit(buf, "</tr>\n");
}


static void
mcp_status_html_counters(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_revision_e  revision;

    mcp_buf_lit(buf, "<table>\n");
    mcp_status_numbers(status, MCP_STATUS_STORE, mcp_status_html_row, buf);

    revision = MCP_REVISION_NONE;

    while ((revision = mcp_revision_next(revision)) != MCP_REVISION_NONE) {
        mcp_buf_lit(buf, "<tr><td>Requests of revision ");
        mcp_buf_str(buf, mcp_revision(revision)->name);
        mcp_buf_lit(buf, "</td>");
        mcp_status_html_number(buf, mcp_status_requests(status, revision));
        mcp_buf_lit(buf, "</tr>\n");
    }

    mcp_buf_lit(buf, "</table>\n");
}


static void
mcp_status_html_tool(const mcp_status_t *status, const mcp_call_stats_t *stats,
    uint64_t active, mcp_buf_t *buf)
{
    unsigned  i;

    (void) status;

    mcp_buf_lit(buf, "<tr>");
    mcp_status_html_cell(buf, mcp_status_text(stats->name));
    mcp_status_html_cell(buf, mcp_status_kind(stats->kind));
    mcp_status_html_cell(buf, mcp_status_text(stats->endpoint));
    mcp_status_html_number(buf, (int64_t) active);

    for (i = MCP_OUTCOME_OK; i < MCP_OUTCOME_COUNT; i++) {
        mcp_status_html_number(buf, (int64_t) stats->results[i]);
    }

    mcp_status_html_cell(buf, mcp_reason(stats->reason)->text);
    mcp_buf_lit(buf, "</tr>\n");
}


static void
mcp_status_html_tools(const mcp_status_t *status, mcp_buf_t *buf)
{
    unsigned  k;

    mcp_buf_lit(buf, "<table>\n<tr><th>Name</th><th>Kind</th><th>Endpoint</th>"
                     "<th class=\"n\">running</th>");

    for (k = MCP_OUTCOME_OK; k < MCP_OUTCOME_COUNT; k++) {
        mcp_buf_lit(buf, "<th class=\"n\">");
        mcp_buf_str(buf, mcp_outcome_name((mcp_outcome_e) k));
        mcp_buf_lit(buf, "</th>");
    }

    mcp_buf_lit(buf, "<th>Last failure</th></tr>\n");
    mcp_status_calls(status, mcp_status_html_tool, buf);
    mcp_buf_lit(buf, "</table>\n");
}


/* Appends the cell with the last error of an MCP server and its age. */
static void
mcp_status_html_error(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "<td>");

    if (server->failed_at) {
        mcp_buf_int(buf, (int64_t) (mcp_status_age(status, server->failed_at)
                                    / 1000));
        mcp_buf_lit(buf, " s ago: ");
        mcp_buf_str(buf, mcp_reason(server->reason)->name);
        mcp_buf_lit(buf, ", ");
        mcp_status_html_text(buf, mcp_status_text(server->detail));
    }

    mcp_buf_lit(buf, "</td>");
}


static void
mcp_status_html_upstream(const mcp_status_t *status,
    const mcp_store_upstream_t *server, mcp_buf_t *buf)
{
    static const mcp_str_t  up[] = {
        [MCP_UPSTREAM_UNKNOWN] = mcp_str("not used yet"),
        [MCP_UPSTREAM_DOWN] = mcp_str("down"),
        [MCP_UPSTREAM_UP] = mcp_str("up")
    };

    mcp_buf_lit(buf, "<tr>");
    mcp_status_html_cell(buf, mcp_status_text(server->name));
    mcp_status_html_cell(buf, mcp_status_text(server->endpoint));
    mcp_status_html_cell(buf, up[server->up]);
    mcp_status_html_cell(buf, mcp_status_form(server->form));
    mcp_status_html_cell(buf, mcp_revision(server->revision)->name);

    mcp_buf_lit(buf, "<td>");
    mcp_status_html_text(buf, mcp_status_text(server->server));
    mcp_buf_lit(buf, " ");
    mcp_status_html_text(buf, mcp_status_text(server->version));
    mcp_buf_lit(buf, "</td>");

    mcp_status_html_number(buf, server->sessions);
    mcp_status_html_number(buf, (int64_t) server->opened);
    mcp_status_html_number(buf, (int64_t) server->refused);
    mcp_status_html_error(status, server, buf);
    mcp_buf_lit(buf, "</tr>\n");
}


/* Appends the table of MCP servers, if there are any. */
static void
mcp_status_html_upstreams(const mcp_status_t *status, mcp_buf_t *buf)
{
    if (status->n_upstreams == 0) {
        return;
    }

    mcp_buf_lit(buf, "<table>\n<tr><th>MCP server</th><th>Endpoint</th>"
                     "<th>State</th><th>Form</th><th>Revision</th>"
                     "<th>Software</th><th class=\"n\">Sessions</th>"
                     "<th class=\"n\">Initialized</th>"
                     "<th class=\"n\">Failed</th><th>Last error</th></tr>\n");
    mcp_status_upstreams(status, mcp_status_html_upstream, buf);
    mcp_buf_lit(buf, "</table>\n");
}


void
mcp_status_html(const mcp_status_t *status, mcp_buf_t *buf)
{
    mcp_str_t  rest;

    rest.data = (const char *) mcp_status_page;
    rest.len = mcp_status_page_len;

    mcp_buf_str(buf, mcp_status_cut(&rest, mcp_str(MCP_STATUS_PLAIN)));
    mcp_status_html_zone(status, buf);
    mcp_status_html_cluster(status, buf);
    mcp_status_html_upstreams(status, buf);
    mcp_status_html_tools(status, buf);
    mcp_status_html_counters(status, buf);
    mcp_buf_str(buf, rest);
}


/* Sets "out" to the hash of the page's text between the tags "opening" and
 * "closing", for the content security policy. */
static int
mcp_status_html_hash(char out[MCP_STATUS_HASH], mcp_str_t opening,
    mcp_str_t closing)
{
    mcp_str_t      text, rest;
    unsigned char  hash[MCP_CRYPTO_HASH_LEN];

    rest.data = (const char *) mcp_status_page;
    rest.len = mcp_status_page_len;
    (void) mcp_status_cut(&rest, opening);
    text = mcp_status_cut(&rest, closing);

    if (mcp_crypto_hash(hash, text.data, text.len) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    *mcp_base64_encode(out, hash, sizeof(hash)) = '\0';

    return MCP_OK;
}


int
mcp_status_html_head(mcp_status_head_t *head)
{
    int   n;
    char  style[MCP_STATUS_HASH], script[MCP_STATUS_HASH];

    if (mcp_status_html_hash(style, mcp_str("<style>"), mcp_str("</style>"))
        != MCP_OK
        || mcp_status_html_hash(script, mcp_str("<script>"),
                                mcp_str("</script>"))
           != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    n = snprintf(head->policy, sizeof(head->policy),
                 "default-src 'none'; connect-src 'self'; img-src data:; "
                 "style-src 'sha256-%s'; script-src 'sha256-%s'; "
                 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                 "trusted-types 'none'; require-trusted-types-for 'script'",
                 style, script);

    head->headers[0] = (mcp_header_t) {
        mcp_str("Content-Security-Policy"), { head->policy, (size_t) n }
    };
    head->headers[1] = (mcp_header_t) {
        mcp_str("X-Content-Type-Options"), mcp_str("nosniff")
    };
    head->headers[2] = (mcp_header_t) {
        mcp_str("Referrer-Policy"), mcp_str("no-referrer")
    };
    head->headers[3] = (mcp_header_t) {
        mcp_str("Cache-Control"), mcp_str("no-store")
    };
    head->n_headers = 4;

    return MCP_OK;
}
