/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sessions at MCP servers that the requests of this process use.
 *
 * The zone has a time until which a session is in use, so that
 * mcp_upstream_max_sessions ends other sessions first. A session is in use from
 * the time when a request finds or adds it until the last request of this
 * process that uses it is over. Meanwhile the worker renews the time in the
 * zone, which is short, because the process may be killed.
 */


#ifndef MCP_UPSTREAM_SESSION_USE_H_INCLUDED
#define MCP_UPSTREAM_SESSION_USE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Time for which a session is in use unless it is renewed, ms. */
#define MCP_UPSTREAM_SESSION_USED      (60 * 1000)

/* Interval at which a session that is in use is renewed in the zone, ms. */
#define MCP_UPSTREAM_SESSION_USED_RENEW  (20 * 1000)


/* The use of a session by a request. The memory belongs to the request. */
struct mcp_upstream_session_use_s {
    mcp_upstream_session_use_t   *next;
    mcp_upstream_session_use_t  **link;        /* address of the pointer to this
                                                  structure in worker->uses;
                                                  NULL: the request uses no
                                                  session */
    const unsigned char          *key;         /* key of the session's value in
                                                  the zone */
};


/* Records that a request uses the session with this key, which the zone already
 * shows as in use. key has to exist until the request leaves the session. Does
 * nothing if the request uses the session already. */
void mcp_upstream_session_use_begin(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use, const unsigned char *key);

/* Called when a request that may use a session is over. If no other request of
 * this process uses the session, removes the process from the session in the
 * zone. */
void mcp_upstream_session_use_end(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use);

/* Called at least every MCP_UPSTREAM_SESSION_USED_RENEW / 2 ms: renews the
 * sessions that are in use in the zone, if it is time to do so. */
void mcp_upstream_session_uses_renew(mcp_worker_t *worker, uint64_t now);


#endif /* MCP_UPSTREAM_SESSION_USE_H_INCLUDED */
