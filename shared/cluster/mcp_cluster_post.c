/* SPDX-License-Identifier: Apache-2.0 */

/* What a client brings to a call, which mostly runs at another node. */


#include "cluster/mcp_cluster_copy.h"


/* Who waits for the reply. */
typedef struct {
    mcp_ask_t      *ask;
    uint32_t        turn;
    unsigned char   id[MCP_STREAM_ID_LEN];
} mcp_post_t;


#define MCP_POST_ARGS  9


/* Whose the stream has to be, or nothing. */
static mcp_str_t
mcp_post_party(const unsigned char digest[MCP_DIGEST_LEN], int matters)
{
    return (mcp_str_t) { (const char *) digest,
                         matters ? MCP_DIGEST_LEN : 0 };
}


/* What the client is told. */
static int
mcp_post_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_reply_is(kind, "FULL")) {
        return MCP_ERR_LIMIT;
    }

    mcp_cluster_strange(cluster, "post", reply);

    return MCP_ERR_AWAY;
}


/* It is on its way to the stream's owner. */
static void
mcp_post_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_ask_t        *ask;
    mcp_post_t       *post;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    post = data;
    ask = post->ask;
    cluster = ask->worker->cluster;

    rc = mcp_post_taken(cluster, reply);

    if (rc == MCP_OK) {
        mcp_store_share_posts(cluster->worker->store, post->id,
                              mcp_reply_number(mcp_reply_item(reply, 1)));
        mcp_cluster_turn(cluster, post->id, post->turn);
    }

    mem = &ask->worker->env->mem;
    mem->free(mem->ctx, post);

    mcp_ask_answer(ask, rc);
}


static void
mcp_post_done_for_nobody(void *data, const mcp_reply_t *reply)
{
    (void) mcp_post_taken(data, reply);
}


/* Sends it; MCP_OK: mcp_post_done() gets waits, if there is one. */
static int
mcp_post_send(mcp_cluster_t *cluster, const mcp_ask_post_t *post,
    mcp_post_t *waits)
{
    char       id[MCP_STREAM_TEXT_LEN], numbers[4][20];
    size_t     i;
    mcp_str_t  args[MCP_POST_ARGS];
    uint64_t   values[4] = { post->turn, post->bits, post->seq, post->all };

    static const char *const  kinds[] = {
        [MCP_ASK_POST_INPUT] = "p",
        [MCP_ASK_POST_TASK] = "u",
        [MCP_ASK_POST_CANCEL] = "x"
    };

    (void) mcp_stream_id_print(id, post->id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1] = mcp_post_party(post->session,
                             post->what == MCP_ASK_POST_INPUT);
    args[2] = mcp_post_party(post->principal,
                             post->what != MCP_ASK_POST_INPUT);
    args[4] = (mcp_str_t) { kinds[post->what], 1 };
    args[5] = post->data;

    for (i = 0; i < 4; i++) {
        args[i ? 5 + i : 3].data = numbers[i];
        args[i ? 5 + i : 3].len = (size_t) (mcp_uint_print(numbers[i],
                                                           values[i])
                                            - numbers[i]);
    }

    return mcp_cluster_run(cluster, MCP_SCRIPT_POST, args, MCP_POST_ARGS,
                           waits ? mcp_post_done : mcp_post_done_for_nobody,
                           waits ? (void *) waits : cluster);
}


int
mcp_cluster_post(void *data, const mcp_ask_post_t *post, mcp_ask_t *ask)
{
    mcp_post_t       *waits;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    cluster = data;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_store_node_is_alone(cluster->worker->store)
               ? MCP_ERR_NOT_FOUND : MCP_ERR_AWAY;
    }

    if (ask == NULL) {
        return mcp_post_send(cluster, post, NULL) == MCP_OK ? MCP_OK
                                                            : MCP_ERR_AWAY;
    }

    mem = &cluster->worker->env->mem;
    waits = mcp_mem_calloc(mem, sizeof(mcp_post_t));

    if (waits == NULL) {
        return MCP_ERR_MEMORY;
    }

    waits->ask = ask;
    waits->turn = post->turn;
    memcpy(waits->id, post->id, MCP_STREAM_ID_LEN);

    if (mcp_post_send(cluster, post, waits) != MCP_OK) {
        mem->free(mem->ctx, waits);
        return MCP_ERR_AWAY;
    }

    return MCP_AGAIN;
}
