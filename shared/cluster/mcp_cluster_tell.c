/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What nodes tell each other: values of the store that all are to have, and
 * notifications (mcp_cluster_notice.c).  Each process tells on its link.  The
 * one that speaks for the node hears, on a connection of its own, where one
 * command waits for news; how far it has heard stands in the zone.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_copy.h"
#include "store/mcp_store_node.h"


/* Words that are heard at once: with the longest, of 1 MiB (redis/post.lua), a
 * reply is short enough (MCP_LINK_REPLY_MAX). */
#define MCP_TELL_COUNT     "32"

/* An entry's id in Redis, "1700000000000-0". */
#define MCP_TELL_PLACE_MAX  48


static void mcp_tell_listen(mcp_cluster_t *cluster);


/* --- telling --- */

int
mcp_tell_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    if (!mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_strange(cluster, "tell", reply);
        return MCP_ERR_AWAY;
    }

    return MCP_OK;
}


static void
mcp_tell_told(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_tell_taken(ask->worker->cluster, reply));
}


static void
mcp_tell_told_nobody(void *data, const mcp_reply_t *reply)
{
    (void) mcp_tell_taken(data, reply);
}


/* Of a node that was refused, and serves alone, there are no others. */
static int
mcp_tell_unreachable(const mcp_cluster_t *cluster)
{
    return cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
           || mcp_store_node_is_alone(cluster->worker->store)
           ? MCP_OK : MCP_ERR_AWAY;
}


int
mcp_tell_run(mcp_cluster_t *cluster, const mcp_word_t *word,
    const mcp_str_t *as, mcp_link_reply_cb handler, void *data)
{
    char       purpose, value[20], good[20];
    uint64_t   now;
    mcp_str_t  args[8];

    now = mcp_worker_now(cluster->worker);
    purpose = (char) word->what;

    args[0] = (mcp_str_t) { &purpose, 1 };
    args[1] = (mcp_str_t) { (const char *) word->key, MCP_DIGEST_LEN };
    args[2] = (mcp_str_t) { (const char *) word->session, MCP_DIGEST_LEN };
    args[3].data = value;
    args[3].len = (size_t) (mcp_uint_print(value, word->value) - value);
    args[4].data = good;
    args[4].len = (size_t) (mcp_uint_print(good, word->expires > now
                                                 ? word->expires - now : 0)
                            - good);
    args[5] = word->message;

    if (as) {
        args[6] = as[0];
        args[7] = as[1];
    }

    return mcp_cluster_run(cluster, MCP_SCRIPT_TELL, args, as ? 8 : 6, handler,
                           data);
}


static int
mcp_tell(void *data, const mcp_word_t *word, mcp_ask_t *ask)
{
    int             rc;
    mcp_cluster_t  *cluster;

    cluster = data;

    if (word->expires <= mcp_worker_now(cluster->worker)) {
        return MCP_OK;
    }

    if (word->what == MCP_WORD_NOTIFICATION) {
        return mcp_notice_tell(cluster, word);
    }

    if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF) {
        ask = NULL;
    }

    rc = cluster->state == MCP_CLUSTER_MEMBER
         ? mcp_tell_run(cluster, word, NULL,
                        ask ? mcp_tell_told : mcp_tell_told_nobody,
                        ask ? (void *) ask : cluster)
         : MCP_AGAIN;

    if (rc != MCP_OK) {
        return mcp_tell_unreachable(cluster);
    }

    return ask ? MCP_AGAIN : MCP_OK;
}


const mcp_cluster_hooks_t  mcp_cluster_hooks = {
    .tell = mcp_tell,
    .watch = mcp_cluster_watch,
    .look = mcp_cluster_look,
    .list = mcp_cluster_list,
    .post = mcp_cluster_post,
    .topic = mcp_cluster_topic,
    .safe = mcp_cluster_safe,
    .is_away = mcp_cluster_is_away,
    .share = mcp_cluster_share,
    .quota = mcp_cluster_quota,
    .token = mcp_cluster_token,
    .changed = mcp_copy_changed
};


/* --- hearing --- */

/* Returns the value of a field of an entry, or an empty text. */
static mcp_str_t
mcp_tell_field(const mcp_reply_t *fields, char name)
{
    size_t  i;

    for (i = 0; i + 1 < fields->n; i += 2) {
        if (fields->items[i]->text.len == 1
            && fields->items[i]->text.data[0] == name)
        {
            return fields->items[i + 1]->text;
        }
    }

    return mcp_str("");
}


int
mcp_tell_read(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    mcp_word_t *word)
{
    uint64_t   value, ends;
    mcp_str_t  key, session, purpose;

    purpose = mcp_tell_field(fields, 'p');
    key = mcp_tell_field(fields, 'k');
    session = mcp_tell_field(fields, 's');

    if (purpose.len != 1 || key.len != MCP_DIGEST_LEN
        || session.len != MCP_DIGEST_LEN
        || mcp_str_uint(mcp_tell_field(fields, 'v'), &value) != MCP_OK
        || mcp_str_uint(mcp_tell_field(fields, 'e'), &ends) != MCP_OK
        || value > UINT32_MAX || ends > INT64_MAX)
    {
        return 0;
    }

    mcp_word(word, (mcp_word_e) purpose.data[0],
             (const unsigned char *) key.data,
             (const unsigned char *) session.data, (uint32_t) value,
             (uint64_t) ((int64_t) ends - cluster->offset));
    word->message = mcp_tell_field(fields, 'm');

    return word->message.len <= MCP_WORD_MESSAGE_MAX;
}


int
mcp_tell_place(mcp_str_t text, mcp_node_place_t *place)
{
    const char  *dash;
    mcp_str_t    ms, n;

    dash = text.len ? memchr(text.data, '-', text.len) : NULL;

    if (dash == NULL) {
        return 0;
    }

    ms = (mcp_str_t) { text.data, (size_t) (dash - text.data) };
    n = (mcp_str_t) { dash + 1, text.len - ms.len - 1 };

    return mcp_str_uint(ms, &place->ms) == MCP_OK
           && mcp_str_uint(n, &place->n) == MCP_OK;
}


/* Hears what all nodes were told: an entry. */
static void
mcp_tell_word(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_node_place_t *place)
{
    char        id[MCP_CLUSTER_ID_LEN + 1];
    mcp_str_t   own;
    mcp_word_t  word;

    if (!mcp_tell_read(cluster, fields, &word)) {
        return;
    }

    mcp_cluster_id(cluster, id);
    own = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };
    word.own = mcp_str_eq(mcp_tell_field(fields, 'n'), own) != 0;
    word.ms = place->ms;
    word.n = place->n;
    cluster->topics_heard += word.what == MCP_WORD_TOPIC;

    /* all else that the node has told itself, all its processes know */

    if (!word.own || word.what == MCP_WORD_NOTIFICATION) {
        mcp_ask_hear(cluster->worker, &word);
    }
}


static int
mcp_tell_is_heard(const mcp_node_place_t *place, const mcp_node_place_t *before)
{
    return place->ms < before->ms
           || (place->ms == before->ms && place->n <= before->n);
}


/* Hears what one stream has: {{id, {field, value, ...}}, ...}. */
static void
mcp_tell_hear(mcp_cluster_t *cluster, mcp_node_place_e which,
    const mcp_reply_t *entries)
{
    size_t              i;
    mcp_store_t        *store;
    mcp_node_place_t    place, before;
    const mcp_reply_t  *fields;

    store = cluster->worker->store;
    mcp_store_node_place(store, which, &before);

    for (i = 0; i < entries->n; i++) {

        /* another process may have spoken for the node meanwhile */

        if (!mcp_tell_place(mcp_reply_item(entries->items[i], 0)->text,
                            &place)
            || mcp_tell_is_heard(&place, &before))
        {
            continue;
        }

        fields = mcp_reply_item(entries->items[i], 1);

        if (which == MCP_NODE_MAIL) {
            mcp_cluster_mail(cluster, fields);

        } else {
            mcp_tell_word(cluster, fields, &place);
        }

        mcp_store_node_set_place(store, which, &place);
    }
}


mcp_str_t
mcp_tell_key(const mcp_cluster_t *cluster, mcp_node_place_e which,
    char key[MCP_TELL_KEY_MAX])
{
    int        n;
    char       id[MCP_CLUSTER_ID_LEN + 1];
    mcp_str_t  prefix;

    static const char *const  names[] = {
        [MCP_NODE_TOLD] = "told",
        [MCP_NODE_HEARD] = "heard",
        [MCP_NODE_MAIL] = "m:"
    };

    id[0] = '\0';
    prefix = cluster->conf->prefix;

    if (which == MCP_NODE_MAIL) {
        mcp_cluster_id(cluster, id);
    }

    n = snprintf(key, MCP_TELL_KEY_MAX, "%.*s:1:%s%s", (int) prefix.len,
                 prefix.data, names[which], id);

    return (mcp_str_t) { key, (size_t) n };
}


/* Returns which of the streams a key is; MCP_NODE_PLACES: mail to what this
 * node was when it asked, which is another one now. */
static mcp_node_place_e
mcp_tell_which(const mcp_cluster_t *cluster, mcp_str_t key)
{
    char      name[MCP_TELL_KEY_MAX];
    unsigned  i;

    for (i = 0; i < MCP_NODE_PLACES; i++) {
        if (mcp_str_eq(mcp_tell_key(cluster, (mcp_node_place_e) i, name), key))
        {
            break;
        }
    }

    return (mcp_node_place_e) i;
}


static void
mcp_tell_trimmed(void *data, const mcp_reply_t *reply)
{
    if (reply && reply->type == MCP_REPLY_ERROR) {
        mcp_cluster_strange(data, "XTRIM", reply);
    }
}


/* Mail that was taken is of no use any more. */
static void
mcp_tell_trim(mcp_cluster_t *cluster)
{
    char              key[MCP_TELL_KEY_MAX], from[MCP_TELL_PLACE_MAX];
    mcp_str_t         words[4];
    mcp_node_place_t  place;

    mcp_store_node_place(cluster->worker->store, MCP_NODE_MAIL, &place);

    words[0] = mcp_str("XTRIM");
    words[1] = mcp_tell_key(cluster, MCP_NODE_MAIL, key);
    words[2] = mcp_str("MINID");
    words[3].data = from;
    words[3].len = (size_t) snprintf(from, sizeof(from), "%llu-%llu",
                                     (unsigned long long) place.ms,
                                     (unsigned long long) place.n + 1);

    (void) mcp_link_send(&cluster->link, words, 4, mcp_tell_trimmed, cluster);
}


/* The reply to XREAD: {{stream, entries}, ...}, or nothing new. */
static void
mcp_tell_heard(void *data, const mcp_reply_t *reply)
{
    size_t              i;
    mcp_cluster_t      *cluster;
    mcp_node_place_e    which;
    const mcp_reply_t  *stream;

    cluster = data;
    cluster->hearing = 0;

    if (reply == NULL) {
        return;
    }

    if (reply->type != MCP_REPLY_ARRAY && reply->type != MCP_REPLY_NIL) {
        mcp_cluster_strange(cluster, "XREAD", reply);
        return;
    }

    mcp_link_settled(&cluster->ear);

    /* this process may have stood still for so long that another one hears */

    if (!mcp_store_node_is_speaker(cluster->worker->store)) {
        return;
    }

    for (i = 0; i < reply->n; i++) {
        stream = reply->items[i];

        which = mcp_tell_which(cluster, mcp_reply_item(stream, 0)->text);

        if (which == MCP_NODE_PLACES) {
            continue;
        }

        mcp_tell_hear(cluster, which, mcp_reply_item(stream, 1));

        if (which == MCP_NODE_MAIL) {
            mcp_tell_trim(cluster);
        }
    }

    mcp_tell_listen(cluster);
}


/* Waits for news, so short that the link is never silent for too long. */
static void
mcp_tell_listen(mcp_cluster_t *cluster)
{
    char              key[MCP_NODE_PLACES][MCP_TELL_KEY_MAX];
    char              at[MCP_NODE_PLACES][MCP_TELL_PLACE_MAX];
    char              block[20];
    unsigned          i;
    mcp_str_t         words[6 + 2 * MCP_NODE_PLACES], *word;
    mcp_node_place_t  place;

    if (cluster->hearing || !cluster->speaks
        || cluster->state != MCP_CLUSTER_MEMBER)
    {
        return;
    }

    words[0] = mcp_str("XREAD");
    words[1] = mcp_str("COUNT");
    words[2] = mcp_str(MCP_TELL_COUNT);
    words[3] = mcp_str("BLOCK");
    words[4].data = block;
    words[4].len = (size_t) (mcp_uint_print(block,
                                            cluster->conf->timeout / 2 + 1)
                             - block);
    words[5] = mcp_str("STREAMS");

    for (i = 0; i < MCP_NODE_PLACES; i++) {
        mcp_store_node_place(cluster->worker->store, (mcp_node_place_e) i,
                             &place);

        word = &words[6 + i];
        word[0] = mcp_tell_key(cluster, (mcp_node_place_e) i, key[i]);
        word[MCP_NODE_PLACES].data = at[i];
        word[MCP_NODE_PLACES].len = (size_t) snprintf(at[i], sizeof(at[i]),
                                                  "%llu-%llu",
                                                  (unsigned long long) place.ms,
                                                  (unsigned long long) place.n);
    }

    cluster->hearing = mcp_link_send(&cluster->ear, words,
                                     6 + 2 * MCP_NODE_PLACES, mcp_tell_heard,
                                     cluster)
                       == MCP_OK;
}


void
mcp_cluster_listen(mcp_cluster_t *cluster)
{
    if (!cluster->speaks) {
        mcp_link_stop(&cluster->ear);
        return;
    }

    mcp_link_start(&cluster->ear);
    mcp_tell_listen(cluster);
}


void
mcp_cluster_ear_up(mcp_cluster_t *cluster)
{
    mcp_tell_listen(cluster);
}


void
mcp_cluster_ear_down(mcp_cluster_t *cluster)
{
    cluster->hearing = 0;
}
