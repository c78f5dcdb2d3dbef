/* SPDX-License-Identifier: Apache-2.0 */

/* Renews the keys of idle streams in Redis, up to 64 streams in one command, so
 * that idle streams cost Redis little. */


#include "cluster/mcp_cluster_replication.h"


/* Maximum number of streams in one command with redis/keep.lua, and the numbers
 * of arguments and of keys for each stream. */
#define MCP_KEEP_MAX   64
#define MCP_KEEP_ARGS  3
#define MCP_KEEP_KEYS  7


/* A command with redis/keep.lua whose reply is pending. The replications of
 * its streams are not freed before the reply, because their phase is
 * MCP_REPLICATION_SENT. */
typedef struct {
    mcp_cluster_t      *cluster;
    size_t              n;
    mcp_replication_t  *repls[MCP_KEEP_MAX];
} mcp_keep_t;


/* The arguments of redis/keep.lua, and the keys of the streams. */
typedef struct {
    char       ids[MCP_KEEP_MAX][MCP_STREAM_TEXT_LEN];
    char       numbers[MCP_KEEP_MAX][2][20];
    mcp_str_t  args[MCP_KEEP_MAX * MCP_KEEP_ARGS];
    char       names[MCP_KEEP_MAX * MCP_KEEP_KEYS][MCP_CLUSTER_KEY_MAX];
    mcp_str_t  keys[MCP_KEEP_MAX * MCP_KEEP_KEYS];
} mcp_keep_argv_t;


static void mcp_keep_continue(mcp_cluster_t *cluster);


static void
mcp_keep_done(void *data, const mcp_reply_t *reply)
{
    int             is_good;
    size_t          i;
    mcp_keep_t     *keep;
    mcp_cluster_t  *cluster;

    keep = data;
    cluster = keep->cluster;
    cluster->keeping = 0;

    /* after an error, redis/append.lua is called for each stream separately,
     * and its reply contains the reason */

    is_good = reply && mcp_reply_is(mcp_reply_item(reply, 0), "OK")
              && reply->n == 1 + keep->n;

    for (i = 0; i < keep->n; i++) {
        mcp_replicator_done(keep->repls[i],
                            is_good ? mcp_reply_item(reply, 1 + i) : NULL);
    }

    mcp_mem_free(&cluster->worker->env->mem, keep);

    if (is_good) {
        mcp_keep_continue(cluster);
    }
}


/* Returns 1 and fills *repl_state if the stream is idle, has no command
 * pending, and was last renewed at least a twelfth of the node timeout ago. */
static int
mcp_keep_is_due(const mcp_replication_t *repl, uint64_t now,
    mcp_store_replication_state_t *repl_state)
{
    return repl->phase == MCP_REPLICATION_IDLE && repl->time
           && now >= repl->time + repl->cluster->conf->node_timeout / 12
           && mcp_store_replication_state(repl->cluster->worker->store,
                                          &repl->ref,
                                repl_state)
              == MCP_OK
           && mcp_append_policy_is_idle(repl, repl_state);
}


static void
mcp_keep_add_keys(const mcp_keep_t *keep, mcp_keep_argv_t *argv,
    const mcp_replication_t *repl)
{
    size_t     i, n;
    mcp_str_t  of;

    static const mcp_key_e  kinds[MCP_KEEP_KEYS] = {
        MCP_KEY_HEAD, MCP_KEY_LOG, MCP_KEY_SPEC, MCP_KEY_TOPICS,
        MCP_KEY_LISTENERS, MCP_KEY_STREAMS, MCP_KEY_CALLS
    };

    for (i = 0; i < MCP_KEEP_KEYS; i++) {
        n = keep->n * MCP_KEEP_KEYS + i;
        of = argv->args[keep->n * MCP_KEEP_ARGS];

        if (kinds[i] == MCP_KEY_STREAMS || kinds[i] == MCP_KEY_CALLS) {
            of.data = (const char *) repl->session;
            of.len = MCP_DIGEST_LEN;
        }

        argv->keys[n] = mcp_cluster_key(keep->cluster, kinds[i], of,
                                        argv->names[n]);
    }
}


static void
mcp_keep_add(mcp_keep_t *keep, mcp_keep_argv_t *argv, mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    char       *text;
    mcp_str_t  *args;

    args = &argv->args[keep->n * MCP_KEEP_ARGS];

    (void) mcp_stream_id_print(argv->ids[keep->n], repl->ref.id);
    args[0] = (mcp_str_t) { argv->ids[keep->n], MCP_STREAM_TEXT_LEN };

    text = argv->numbers[keep->n][0];
    args[1].data = text;
    args[1].len = (size_t) (mcp_uint_print(text, repl->at.seq) - text);

    text = argv->numbers[keep->n][1];
    args[2].data = text;
    args[2].len =
        (size_t) (mcp_uint_print(text, mcp_append_policy_lasts(repl,
                                                               repl_state))
                  - text);

    mcp_keep_add_keys(keep, argv, repl);
    keep->repls[keep->n++] = repl;
}


/* Adds to the command the streams whose keys have to be renewed, beginning with
 * the bucket cluster->kept. If the command becomes full, sets cluster->kept to
 * the bucket with which the next command begins. */
static void
mcp_keep_take(mcp_keep_t *keep, mcp_keep_argv_t *argv)
{
    uint64_t                 now;
    mcp_replication_t       *repl;
    mcp_cluster_t           *cluster;
    mcp_store_replication_state_t  repl_state;

    cluster = keep->cluster;
    now = mcp_worker_now(cluster->worker);

    for ( ; cluster->kept < MCP_CLUSTER_BUCKETS; cluster->kept++) {
        for (repl = cluster->repls[cluster->kept]; repl; repl = repl->next) {
            if (!mcp_keep_is_due(repl, now, &repl_state)) {
                continue;
            }

            if (keep->n == MCP_KEEP_MAX) {
                return;
            }

            mcp_keep_add(keep, argv, repl, &repl_state);
        }
    }
}


static int
mcp_keep_send(mcp_keep_t *keep, const mcp_keep_argv_t *argv)
{
    size_t              i;
    uint64_t            now;
    mcp_replication_t  *repl;
    mcp_cluster_t      *cluster;

    cluster = keep->cluster;

    if (keep->n == 0
        || mcp_cluster_run_with_keys(cluster, MCP_SCRIPT_KEEP, argv->keys,
                                     keep->n * MCP_KEEP_KEYS, argv->args,
                                     keep->n * MCP_KEEP_ARGS, mcp_keep_done,
                                     keep)
           != MCP_OK)
    {
        return 0;
    }

    now = mcp_worker_now(cluster->worker);

    for (i = 0; i < keep->n; i++) {
        repl = keep->repls[i];
        mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);
        repl->reports_state = 0;
        repl->time = now;
        repl->whole = now;
    }

    mcp_replica_ack_wait(cluster);

    return 1;
}


/* Sends the next redis/keep.lua, but only if none is pending, so that a
 * client's command on the same connection waits for one redis/keep.lua at
 * most. */
static void
mcp_keep_continue(mcp_cluster_t *cluster)
{
    mcp_keep_t       *keep;
    mcp_keep_argv_t  *argv;
    const mcp_mem_t  *mem;

    if (cluster->keeping || cluster->state != MCP_CLUSTER_MEMBER
        || !mcp_link_has_room(&cluster->link))
    {
        return;
    }

    mem = &cluster->worker->env->mem;
    keep = mcp_mem_calloc(mem, sizeof(mcp_keep_t));
    argv = mem->alloc(mem->ctx, sizeof(mcp_keep_argv_t));

    if (keep && argv) {
        keep->cluster = cluster;
        mcp_keep_take(keep, argv);
        cluster->keeping = mcp_keep_send(keep, argv) != 0;
    }

    if (!cluster->keeping) {
        mcp_mem_free(mem, keep);
    }

    mcp_mem_free(mem, argv);
}


void
mcp_keep_all(mcp_cluster_t *cluster)
{
    cluster->kept = 0;
    mcp_keep_continue(cluster);
}
