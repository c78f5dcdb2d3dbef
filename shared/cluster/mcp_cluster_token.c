/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tokens that are good for one call: Redis says which node has one.
 *
 * Which stream its call is, is said until Redis has it: if it did not know, the
 * token would be good again when this node is dead.
 */


#include "cluster/mcp_cluster_copy.h"


/* Who waits for the reply. */
typedef struct {
    mcp_ask_t        *ask;
    mcp_ask_token_t   token;
} mcp_taking_t;


struct mcp_token_word_s {
    mcp_token_word_t  *next;
    mcp_cluster_t     *cluster;
    mcp_ask_token_t    token;
    unsigned           sending:1;
};


/* So many wait at most. */
#define MCP_TOKEN_WORDS  4096


static void
mcp_token_told(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_strange(data, "token", reply);
    }
}


static int
mcp_token_run(mcp_cluster_t *cluster, const mcp_ask_token_t *token,
    mcp_link_reply_cb handler, void *data)
{
    char       value[20], good[20];
    uint64_t   now;
    mcp_str_t  args[4];

    static const char *const  kinds[] = {
        [MCP_ASK_TOKEN_TAKE] = "t",
        [MCP_ASK_TOKEN_GIVE] = "g",
        [MCP_ASK_TOKEN_SET] = "s",
        [MCP_ASK_TOKEN_DROP] = "d"
    };

    now = mcp_worker_now(cluster->worker);

    args[0] = (mcp_str_t) { (const char *) token->key, MCP_DIGEST_LEN };
    args[1] = (mcp_str_t) { kinds[token->what], 1 };
    args[2].data = value;
    args[2].len = (size_t) (mcp_uint_print(value, token->value) - value);
    args[3].data = good;
    args[3].len = (size_t) (mcp_uint_print(good, token->expires > now
                                                 ? token->expires - now : 1)
                            - good);

    return mcp_cluster_run(cluster, MCP_SCRIPT_TOKEN, args, 4, handler, data);
}


static int
mcp_token_taken(mcp_cluster_t *cluster, mcp_taking_t *taking,
    const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "USED")) {
        taking->ask->value
            = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 1));
        return MCP_ERR_DENIED;
    }

    /* this node is about to find out that it was taken for dead */

    if (mcp_reply_is(kind, "FENCED")) {
        mcp_cluster_doubt(cluster);
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_AWAY;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_strange(cluster, "token", reply);
        return MCP_ERR_AWAY;
    }

    /* who has left does not use it */

    if (taking->ask->x == NULL) {
        taking->token.what = MCP_ASK_TOKEN_GIVE;
        (void) mcp_token_run(cluster, &taking->token, mcp_token_told, cluster);
    }

    return MCP_OK;
}


static void
mcp_token_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_ask_t        *ask;
    mcp_taking_t     *taking;
    const mcp_mem_t  *mem;

    taking = data;
    ask = taking->ask;

    rc = mcp_token_taken(ask->worker->cluster, taking, reply);

    mem = &ask->worker->env->mem;
    mem->free(mem->ctx, taking);

    mcp_ask_answer(ask, rc);
}


/* --- which stream it is --- */

static void
mcp_token_word_free(mcp_token_word_t *word)
{
    const mcp_mem_t    *mem;
    mcp_token_word_t  **p;

    for (p = &word->cluster->words; *p != word; p = &(*p)->next) {
        /* void */
    }

    *p = word->next;
    word->cluster->n_words--;
    mem = &word->cluster->worker->env->mem;
    mem->free(mem->ctx, word);
}


static void
mcp_token_word_told(void *data, const mcp_reply_t *reply)
{
    mcp_token_word_t  *word;

    word = data;
    word->sending = 0;

    if (reply) {
        mcp_token_told(word->cluster, reply);
        mcp_token_word_free(word);
    }
}


static void
mcp_token_word_send(mcp_token_word_t *word)
{
    mcp_cluster_t  *cluster;

    cluster = word->cluster;

    if (mcp_worker_now(cluster->worker) >= word->token.expires) {
        mcp_token_word_free(word);

    } else if (cluster->state == MCP_CLUSTER_MEMBER) {

        /* who finds the stream named finds the stream */

        mcp_copy_flush(cluster, word->token.stream);
        word->sending = mcp_token_run(cluster, &word->token,
                                      mcp_token_word_told, word)
                        == MCP_OK;
    }
}


void
mcp_token_again(mcp_cluster_t *cluster)
{
    mcp_token_word_t  *word, *next;

    /* what is flushed may answer somebody who sets a token and wants room */

    if (cluster->words_again) {
        return;
    }

    cluster->words_again = 1;

    for (word = cluster->words; word; word = next) {
        next = word->next;

        if (!word->sending) {
            mcp_token_word_send(word);
        }
    }

    cluster->words_again = 0;
}


static void
mcp_token_set(mcp_cluster_t *cluster, const mcp_ask_token_t *token)
{
    mcp_token_word_t  *word;

    if (cluster->n_words == MCP_TOKEN_WORDS) {
        mcp_token_again(cluster);
    }

    word = cluster->n_words < MCP_TOKEN_WORDS
           ? mcp_mem_calloc(&cluster->worker->env->mem,
                            sizeof(mcp_token_word_t))
           : NULL;

    if (word == NULL) {
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: there is no room to tell of a token's call");
        return;
    }

    word->cluster = cluster;
    word->token = *token;
    word->next = cluster->words;
    cluster->words = word;
    cluster->n_words++;

    mcp_token_word_send(word);
}


void
mcp_token_free_all(mcp_cluster_t *cluster)
{
    while (cluster->words) {
        mcp_token_word_free(cluster->words);
    }
}


/* Where nothing is promised, and of a node that serves alone, a token is good
 * once at each. */
static int
mcp_token_unreachable(const mcp_cluster_t *cluster)
{
    return cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
           || mcp_store_node_is_alone(cluster->worker->store)
           ? MCP_OK : MCP_ERR_AWAY;
}


int
mcp_cluster_token(void *data, const mcp_ask_token_t *token, mcp_ask_t *ask)
{
    mcp_taking_t     *taking;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    cluster = data;

    if (token->what == MCP_ASK_TOKEN_SET
        && !mcp_store_node_is_alone(cluster->worker->store))
    {
        mcp_token_set(cluster, token);
        return MCP_OK;
    }

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_token_unreachable(cluster);
    }

    if (ask == NULL) {
        (void) mcp_token_run(cluster, token, mcp_token_told, cluster);
        return MCP_OK;
    }

    mem = &cluster->worker->env->mem;
    taking = mcp_mem_calloc(mem, sizeof(mcp_taking_t));

    if (taking == NULL) {
        return MCP_ERR_MEMORY;
    }

    taking->ask = ask;
    taking->token = *token;

    if (mcp_token_run(cluster, token, mcp_token_done, taking) != MCP_OK) {
        mem->free(mem->ctx, taking);
        return mcp_token_unreachable(cluster);
    }

    return MCP_AGAIN;
}
