/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The number of active calls of a session at all nodes. Redis counts them, and
 * rejects a call when its stream is to be replicated. At that time the call
 * may have started. To reject a call before it starts, as a single node does,
 * this file queries the count, but only for sessions that have many calls
 * according to a broadcast.
 */


#include "cluster/mcp_cluster_replication.h"


void
mcp_quota_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    (void) cluster;

    mcp_args_digest(args, spec->quota.session);
    mcp_args_number(args, spec->quota.limit);
}
