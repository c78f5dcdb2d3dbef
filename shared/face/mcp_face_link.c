/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams with a URL (SEP-1335): every SSE answer has a Link header with
 * rel="stream".  GET of the URL resumes; POST brings the array of responses
 * that the call waits for.
 *
 * The token in the URL: stream id (16), number of the event that the URL's
 * stream begins after (8), turn (4), capabilities of the client (2).  A URL
 * needs no session; its stream has one all the same.
 *
 * A client that answers questions gets a URL of the next turn, which may not
 * arrive: URLs of a turn are good until one of a later turn is used.  The least
 * turn that is good is kept in the stream, doubled; one more says that the
 * questions were answered by a URL of that turn, so that the same answers may
 * come again.
 */


#include "face/mcp_face_link.h"
#include "mcp_http.h"


#define MCP_FACE_LINK_REL      ">; rel=\"stream\""
#define MCP_FACE_LINK_OTHER                                                  \
    (sizeof("<" MCP_FACE_LINK_REL) + MCP_TOKEN_TEXT_MAX)

static int
mcp_face_link_look(mcp_exchange_t *x, const mcp_head_t *head)
{
    mcp_str_t         authority;
    mcp_face_link_t  *link;

    if (mcp_client_is_stateless(&x->client)) {
        return MCP_DONE;
    }

    link = mcp_hook_state_create(x, &mcp_face_link, sizeof(mcp_face_link_t));
    if (link == NULL) {
        return MCP_ERR_MEMORY;
    }

    link->url.target = head->target;
    mcp_http_target(&link->url.target, &authority);
    link->url.host = x->head.host;
    link->url.origin = head->origin;
    link->url.secure = head->secure;
    link->token = mcp_face_link_url_token(link->url.target);

    return link->token.data && (x->head.method == MCP_HTTP_GET
                                || x->head.method == MCP_HTTP_POST)
           ? MCP_OK : MCP_DONE;
}


/* Makes the value of the header; empty if there is no memory for it. */
static mcp_str_t
mcp_face_link_value(mcp_exchange_t *x, const mcp_face_link_t *link)
{
    char           *start, *p;
    unsigned char   data[MCP_FACE_LINK_LEN];

    start = mcp_arena_alloc(&x->arena, mcp_face_link_url_size(&link->url)
                                       + MCP_FACE_LINK_OTHER);
    if (start == NULL) {
        return mcp_null_str;
    }

    memcpy(data, x->reader.ref.id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_FACE_LINK_AFTER, x->reader.first, 8);
    mcp_be_put(data + MCP_FACE_LINK_TURN, link->turn, 4);
    mcp_be_put(data + MCP_FACE_LINK_CAN, x->client.capabilities, 2);

    start[0] = '<';
    p = mcp_token_sign(x->endpoint->keys, MCP_TOKEN_LINK, data,
                       sizeof(data), mcp_face_link_url_print(&link->url,
                                                        start + 1));
    if (p == NULL) {
        return mcp_null_str;
    }

    memcpy(p, MCP_FACE_LINK_REL, sizeof(MCP_FACE_LINK_REL) - 1);
    p += sizeof(MCP_FACE_LINK_REL) - 1;

    return (mcp_str_t) { start, (size_t) (p - start) };
}


static void
mcp_face_link_head(mcp_exchange_t *x)
{
    uint32_t           least;
    mcp_str_t          value;
    mcp_face_link_t   *link;
    mcp_stream_info_t  info;

    link = mcp_face_link_of(x);

    if (link == NULL || x->reader.bound
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return;
    }

    least = mcp_face_link_least_turn(&info);

    if (link->turn < least) {
        link->turn = least;
    }

    if (!mcp_face_link_url_possible(x->worker, &link->url)) {
        return;
    }

    value = mcp_face_link_value(x, link);

    if (value.len == 0) {
        return;
    }

    mcp_answer_header(x, mcp_str("Link"), value);

    x->reader.has_url = 1;

    /* a client that came back by an event id does not know of URLs: it answers
     * at the endpoint, and its connection stays open */

    if (x->face == &mcp_face_link || x->call) {
        link->closes = 1;
    }
}


/* 1 if the stream goes on when the client has answered, and no answer is on its
 * way to the call, which has not gone on already: who comes for what follows is
 * to wait for that. */
static int
mcp_face_link_waits_for_input(const mcp_stream_info_t *info)
{
    return info->state == MCP_STATE_INPUT_REQUIRED && !info->posted
           && !info->ahead;
}


/* While its questions are with the client there is nothing to wait for.  They
 * are not yet if they came after the connection last read its stream. */
static int
mcp_face_link_idle(mcp_exchange_t *x)
{
    mcp_face_link_t    *link;
    mcp_stream_info_t   info;

    link = mcp_face_link_of(x);

    return link && link->closes
           && mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
           && x->reader.cursor.seq == info.last_seq
           && mcp_face_link_waits_for_input(&info);
}


/* The next answer at the same URL may be another one. */
static void
mcp_face_link_no_store(mcp_exchange_t *x)
{
    mcp_answer_header(x, mcp_str("Cache-Control"), mcp_str("no-store"));
}


static int
mcp_face_link_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_face_link_no_store(x);

    return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
}


static int
mcp_face_link_no_content(mcp_exchange_t *x, const char *outcome)
{
    mcp_face_link_no_store(x);
    x->answer.outcome = outcome;

    return mcp_answer_status(x, 204);
}


static int
mcp_face_link_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after)
{
    int  rc;

    x->reader.listener = (info->kind == MCP_STREAM_LISTEN);

    rc = x->head.event_id.len ? mcp_consumer_start(x, &info->ref, after)
                         : mcp_consumer_start_kept(x, info, after);

    switch (rc) {

    case MCP_OK:
        x->reader.resumed = 1;
        mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

        if (!x->reader.listener) {
            mcp_consumer_close_at_will(x, info);
        }

        return MCP_DONE;

    case MCP_ERR_PURGED:
        return mcp_face_link_refuse(x, MCP_FAULT_EVENT_PURGED);

    case MCP_ERR_NOT_FOUND:
        return mcp_face_link_refuse(x, MCP_FAULT_LINK);

    case MCP_ERR_AWAY:
        return mcp_face_link_refuse(x, MCP_FAULT_CLUSTER_AWAY);

    default:
        return MCP_ERR_MEMORY;
    }
}


/*
 * Without Last-Event-ID reads from where the URL's stream begins: only the
 * client can say what it has of what was written to it.  204 when it has all
 * that there will be before it does something itself.
 */
static int
mcp_face_link_read_on(mcp_exchange_t *x)
{
    int                rc;
    uint64_t           after;
    mcp_fault_e        fault;
    mcp_stream_info_t  info;

    rc = mcp_face_link_find(x, mcp_face_link_of(x), &info, &after, &fault);

    if (rc != MCP_OK) {
        return rc;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_face_cursor(x, &info, &after);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_face_link_refuse(x, fault);
    }

    if (after & MCP_EVENT_ANSWERED) {
        return mcp_face_link_no_content(x, "finished");
    }

    if (after == info.last_seq) {

        if (info.state >= MCP_STATE_COMPLETED) {
            return mcp_face_link_no_content(x, "finished");
        }

        if (mcp_face_link_waits_for_input(&info)) {
            mcp_store_touch(x->worker->store, &info.ref,
                            x->worker->env->now(x->worker->env->ctx));
            return mcp_face_link_no_content(x, "input");
        }
    }

    return mcp_face_link_start(x, &info, after);
}


static int
mcp_face_link_get(mcp_exchange_t *x)
{
    return mcp_ask_begin(x, mcp_face_link_read_on);
}


/* Reads the responses, of which there are no more than events: all of them must
 * answer requests of this stream.  *after is raised to the last of these. */
static mcp_fault_e
mcp_face_link_read(mcp_exchange_t *x, mcp_str_t text,
    const mcp_stream_info_t *info, size_t *n, uint64_t *after)
{
    size_t          i;
    uint64_t        number;
    mcp_rpc_t       msg;
    mcp_str_t      *items;
    mcp_fault_e     fault;
    unsigned char   stream[MCP_STREAM_ID_LEN];

    if (mcp_rpc_split(&x->arena, text, x->endpoint->max_depth,
                      (size_t) info->last_seq, &items, n, &fault)
        != MCP_OK)
    {
        return MCP_FAULT_INTERNAL;
    }

    if (fault != MCP_FAULT_NONE) {
        return fault == MCP_FAULT_BATCH_SIZE ? MCP_FAULT_LINK_ANSWERS : fault;
    }

    for (i = 0; i < *n; i++) {
        if (mcp_rpc_parse(&x->arena, items[i], x->endpoint->max_depth,
                          MCP_RPC_FROM_CLIENT, &msg)
            != MCP_OK)
        {
            return MCP_FAULT_INTERNAL;
        }

        if ((msg.kind != MCP_RPC_RESULT && msg.kind != MCP_RPC_ERROR)
            || mcp_input_names(&x->worker->env->mem, msg.id, stream, &number)
               != MCP_OK
            || memcmp(stream, info->ref.id, MCP_STREAM_ID_LEN) != 0
            || number == 0 || number > info->last_seq)
        {
            return MCP_FAULT_LINK_INPUT;
        }

        if (*after < number) {
            *after = number;
        }
    }

    return MCP_FAULT_NONE;
}


/*
 * The questions are answered: a new stream begins behind them, with a URL of
 * its own.  The call, which may be over, ignores answers that come again: how
 * it goes on comes on the new stream.  The turn is set before the answers are
 * given, as a client that repeats them may meet a call that goes on already.
 */
static int
mcp_face_link_answer(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint64_t after, mcp_str_t text)
{
    int               rc;
    uint32_t          turn;
    mcp_face_link_t  *link;

    link = mcp_face_link_of(x);
    turn = 2 * link->turn + 1;

    if (!info->mirror) {
        mcp_face_link_set_turn(x, info, turn);
    }

    rc = mcp_input_deliver(x, info, text, turn);

    if (rc == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        return mcp_face_link_refuse(x, mcp_face_link_fault(rc));
    }

    link->turn++;

    return mcp_face_link_start(x, info, after);
}


/* The new stream begins after what is known to have arrived: a client that
 * answers a question has it, and what was before it. */
static int
mcp_face_link_take(mcp_exchange_t *x)
{
    int                 rc;
    size_t              n;
    uint64_t            after, seen;
    mcp_fault_e         fault;
    mcp_face_link_t    *link;
    mcp_stream_info_t   info;

    n = 0;
    seen = 0;
    link = mcp_face_link_of(x);
    rc = mcp_face_link_find(x, link, &info, &after, &fault);

    if (rc != MCP_OK) {
        return rc;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_face_link_read(x, link->text, &info, &n, &after);
    }

    if (fault == MCP_FAULT_NONE && info.state == MCP_STATE_PROCESSING
        && !mcp_face_link_answered(&info))
    {
        fault = MCP_FAULT_LINK_INPUT;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_face_cursor(x, &info, &seen);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_face_link_refuse(x, fault);
    }

    if (after < seen) {
        after = seen;
    }

    if (after > info.confirmed_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info.ref, after);
    }

    rc = mcp_face_link_answer(x, &info, after, link->text);

    if (rc != MCP_AGAIN) {
        mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, (int64_t) n);
    }

    return rc;
}


static int
mcp_face_link_post(mcp_exchange_t *x, mcp_str_t text)
{
    mcp_face_link_t  *link;

    link = mcp_face_link_of(x);
    link->text = text;

    return mcp_ask_now(x, mcp_face_link_take);
}


static const mcp_face_url_t  mcp_face_link_hooks = {
    .wanted_by = MCP_CLIENT_LINKS,
    .secret = mcp_face_link_url_secret,
    .look = mcp_face_link_look,
    .get = mcp_face_link_get,
    .post = mcp_face_link_post,
    .head = mcp_face_link_head,
    .idle = mcp_face_link_idle
};


const mcp_face_t  mcp_face_link = {
    .name = { "link", 4 },
    .url = &mcp_face_link_hooks
};
