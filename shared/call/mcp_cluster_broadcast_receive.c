/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_cancel.h"
#include "call/mcp_cluster_broadcast_receive.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_notification.h"


static int
mcp_receive_session_end(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    int  rc;

    rc = mcp_store_value_push(worker->store, MCP_VALUE_SESSION_ENDED,
                              broadcast->key, 1, broadcast->expires, NULL);

    mcp_cancel_session(worker, broadcast->key);

    return rc;
}


/* Returns the description of a broadcast for the log. */
static const char *
mcp_receive_name(mcp_broadcast_e what)
{
    switch (what) {

    case MCP_BROADCAST_SESSION_ENDED:
        return "end of a session";

    case MCP_BROADCAST_LOG_LEVEL:
        return "log level of a session";

    case MCP_BROADCAST_CANCELLED:
        return "cancellation of a call";

    case MCP_BROADCAST_TOPIC:
        return "subscription to a resource";

    default:
        return "mcp_max_session_streams reached by a session";
    }
}


void
mcp_receive_broadcast(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    int  rc;

    rc = MCP_OK;

    if (broadcast->expires != 0 && broadcast->expires <= mcp_worker_now(worker))
    {
        return;
    }

    switch (broadcast->what) {

    case MCP_BROADCAST_SESSION_ENDED:
        rc = mcp_receive_session_end(worker, broadcast);
        break;

    case MCP_BROADCAST_LOG_LEVEL:
        if (broadcast->value >= MCP_LOG_LEVELS) {
            break;
        }

        rc = mcp_store_value_set(worker->store, MCP_VALUE_LOG_LEVEL,
            broadcast->key, broadcast->value, broadcast->expires, NULL);
        break;

    case MCP_BROADCAST_CROWDED:
        rc = mcp_store_value_set(worker->store, MCP_VALUE_CROWDED,
            broadcast->key, 1, broadcast->expires, NULL);
        break;

    case MCP_BROADCAST_CANCELLED:
        rc = mcp_cancel(worker, broadcast, NULL);
        break;

    case MCP_BROADCAST_NOTIFICATION:
        mcp_notify_receive(worker, broadcast);
        break;

    case MCP_BROADCAST_TOPIC:
        rc = mcp_notify_receive_topic(worker, broadcast->session,
            broadcast->key, broadcast->value);
        break;

    default:
        return;
    }

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        mcp_worker_log(worker, MCP_LOG_ERROR,
                       "cluster: a message from another node is lost (%s): %s",
                       mcp_receive_name(broadcast->what),
                       rc == MCP_ERR_FULL
                       ? "the zone has no room: enlarge the zone"
                       : "the session has too many subscriptions, or the "
                         "caller exceeds mcp_quota_bytes");
    }
}
