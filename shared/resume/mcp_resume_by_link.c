/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams with a URL (SEP-1335): each SSE response has a Link header with
 * rel="stream". GET of the URL resumes the stream. If the call waits for
 * answers to questions, POST of the URL answers them: the body is an array of
 * responses.
 *
 * The token in the URL consists of the stream id (16 bytes), the number of the
 * event after which the URL's stream begins (8), the generation (4), and the
 * client's capabilities (2). A request for a URL may come without a session: it
 * gets the session to which the stream belongs.
 *
 * A client that answers questions gets a URL of the next generation, but the
 * response with that URL may be lost. Therefore the URLs of a generation remain
 * valid until one of a later generation is used. The store has a number for the
 * stream: twice the lowest valid generation, plus 1 if the questions were
 * answered by a URL of that generation. If this 1, the bit for answers, is set,
 * the client may send the same answers again.
 */


#include "call/mcp_cancel.h"
#include "http/mcp_http_authority.h"
#include "resume/mcp_resume_by_link.h"


/* --- the stream of a URL --- */

/* Returns the fault for an error rc of a cluster operation or of the store. */
static mcp_fault_e
mcp_resume_link_fault(int rc)
{
    switch (rc) {

    case MCP_ERR_UNREACHABLE:
        return MCP_FAULT_CLUSTER_UNREACHABLE;

    case MCP_ERR_FULL:
    case MCP_ERR_LIMIT:
        return MCP_FAULT_STORE_FULL;

    default:
        return MCP_FAULT_LINK;
    }
}


/* Raises the generation of the stream to "generation", in the store and in
 * *info. Both numbers are twice a generation of URLs, plus 1 if the questions
 * were answered by a URL of this generation. Does nothing if the stream has a
 * higher number. */
static void
mcp_resume_link_set_generation(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t generation)
{
    mcp_store_t  *store;

    store = x->worker->store;

    while (info->generation < generation
           && mcp_store_set_generation(store, &info->ref, info->generation,
                                       generation)
              == MCP_ERR_DENIED
           && mcp_store_info(store, &info->ref, info) == MCP_OK)
    {
        /* void */
    }

    if (info->generation < generation) {
        info->generation = generation;
    }
}


/* Checks the session of the request or, without a session, its revision. Opens
 * the token of the URL, and copies its payload to data. */
static mcp_fault_e
mcp_resume_link_open(mcp_exchange_t *x, mcp_resume_link_t *link,
    unsigned char data[MCP_RESUME_LINK_LEN])
{
    mcp_str_t    token;
    mcp_fault_e  fault;
    char         text[MCP_TOKEN_TEXT_MAX];

    fault = x->head.session_text.len ? mcp_exchange_check_session(x)
                                     : mcp_exchange_check_revision(x);

    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    token = mcp_resume_link_url_decode(link->token, text, sizeof(text));

    if (mcp_token_verify(x->endpoint->keys, MCP_TOKEN_LINK, token, data,
                         MCP_RESUME_LINK_LEN)
        != MCP_OK)
    {
        return MCP_FAULT_LINK;
    }

    link->generation =
        (uint32_t) mcp_be_get(data + MCP_RESUME_LINK_GENERATION, 4);

    return MCP_FAULT_NONE;
}


/* Returns 1 if the URL is valid for the stream: the client may read the
 * stream, the URL's generation is not below the lowest valid one, and the
 * session has not ended. */
static int
mcp_resume_link_is_good(mcp_exchange_t *x, const mcp_resume_link_t *link,
    const mcp_stream_info_t *info)
{
    return (info->kind == MCP_STREAM_LISTEN ? mcp_resume_owns(x, info)
                                            : mcp_resume_allows(x, info))
           && link->generation >= mcp_resume_link_least_generation(info)
           && !mcp_cancel_has_ended(x->worker, info->session);
}


/* Makes the stream available at this node, and checks whether the URL is valid
 * for it. Returns the values of mcp_resume_fetch(). After returning MCP_AGAIN,
 * this function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
static int
mcp_resume_link_fetch(mcp_exchange_t *x, const mcp_resume_link_t *link,
    const unsigned char data[MCP_RESUME_LINK_LEN], mcp_stream_info_t *info)
{
    int                     rc;
    mcp_operation_stream_t  stream;

    mcp_resume_describe(x, data, mcp_be_get(data + MCP_RESUME_LINK_AFTER, 8),
                        &stream);
    stream.has_generation = 1;
    stream.generation = 2 * link->generation;
    stream.generation_max = 2 * link->generation + 1;

    rc = mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);

    if (rc != MCP_AGAIN) {
        rc = mcp_resume_here(x, rc, data, info);
    }

    return rc == MCP_OK && !mcp_resume_link_is_good(x, link, info)
           ? MCP_ERR_NOT_FOUND : rc;
}


/*
 * Makes the stream of the URL available, and checks whether the URL is valid.
 * *after is the event after which the URL's stream begins. A request without a
 * session gets the stream's session.
 *
 * Returns MCP_NEXT_CONTINUE and *fault, which is MCP_FAULT_NONE on success; or
 *   MCP_NEXT_WAIT   the entry function has to return this value; this function
 *                   runs again when the cluster has replied
 *   MCP_NEXT_ERROR
 */
static mcp_next_e
mcp_resume_link_find(mcp_exchange_t *x, mcp_resume_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault)
{
    int            rc;
    unsigned char  data[MCP_RESUME_LINK_LEN];

    *fault = mcp_resume_link_open(x, link, data);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_NEXT_CONTINUE;
    }

    /* checks Last-Event-ID first, because a request that is rejected must not
     * displace the consumer */

    *fault = mcp_resume_names(x, data, after);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_NEXT_CONTINUE;
    }

    rc = mcp_resume_link_fetch(x, link, data, info);

    if (rc != MCP_OK) {
        *fault = mcp_resume_link_fault(rc);
        return rc == MCP_AGAIN || rc == MCP_ERR_MEMORY
               ? mcp_operation_next(rc) : MCP_NEXT_CONTINUE;
    }

    *after = mcp_be_get(data + MCP_RESUME_LINK_AFTER, 8);

    if (!x->client.has_session) {
        memcpy(x->client.id, info->session, MCP_DIGEST_LEN);
        memcpy(x->client.principal, info->principal, MCP_DIGEST_LEN);
        x->client.revision = (mcp_revision_e) info->revision;
        x->client.capabilities =
            (unsigned) mcp_be_get(data + MCP_RESUME_LINK_CAN, 2);
    }

    /* the client has this URL: makes URLs of earlier generations invalid */

    mcp_resume_link_set_generation(x, info, 2 * link->generation);

    return MCP_NEXT_CONTINUE;
}


#define MCP_RESUME_LINK_REL    ">; rel=\"stream\""
#define MCP_RESUME_LINK_OTHER                                                 \
    (sizeof("<" MCP_RESUME_LINK_REL) + MCP_TOKEN_TEXT_MAX)

static int
mcp_resume_link_lookup(mcp_exchange_t *x, const mcp_head_t *head)
{
    mcp_str_t           authority;
    mcp_resume_link_t  *link;

    if (mcp_client_is_stateless(&x->client)) {
        return MCP_DONE;
    }

    link =
        mcp_hook_state_create(x, &mcp_resume_link, sizeof(mcp_resume_link_t));
    if (link == NULL) {
        return MCP_ERR_MEMORY;
    }

    link->url.target = head->target;
    mcp_http_target(&link->url.target, &authority);
    link->url.host = x->head.host;
    link->url.origin = head->origin;
    link->url.secure = head->secure;
    link->token = mcp_resume_link_url_token(link->url.target);

    return link->token.data && (x->head.method == MCP_HTTP_GET
                                || x->head.method == MCP_HTTP_POST)
           ? MCP_OK : MCP_DONE;
}


/* Returns the value of the Link header; empty when out of memory. */
static mcp_str_t
mcp_resume_link_value(mcp_exchange_t *x, const mcp_resume_link_t *link)
{
    char           *start, *p;
    unsigned char   data[MCP_RESUME_LINK_LEN];

    start = mcp_arena_alloc(&x->arena, mcp_resume_link_url_size(&link->url)
                                       + MCP_RESUME_LINK_OTHER);
    if (start == NULL) {
        return mcp_null_str;
    }

    memcpy(data, x->reader.ref.id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_RESUME_LINK_AFTER, x->reader.first, 8);
    mcp_be_put(data + MCP_RESUME_LINK_GENERATION, link->generation, 4);
    mcp_be_put(data + MCP_RESUME_LINK_CAN, x->client.capabilities, 2);

    start[0] = '<';
    p = mcp_token_sign(x->endpoint->keys, MCP_TOKEN_LINK, data,
                       sizeof(data), mcp_resume_link_url_print(&link->url,
                                                        start + 1));
    if (p == NULL) {
        return mcp_null_str;
    }

    memcpy(p, MCP_RESUME_LINK_REL, sizeof(MCP_RESUME_LINK_REL) - 1);
    p += sizeof(MCP_RESUME_LINK_REL) - 1;

    return (mcp_str_t) { start, (size_t) (p - start) };
}


static void
mcp_resume_link_head(mcp_exchange_t *x)
{
    uint32_t            least;
    mcp_str_t           value;
    mcp_resume_link_t  *link;
    mcp_stream_info_t   info;

    link = mcp_resume_link_of(x);

    if (link == NULL || x->reader.bound
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return;
    }

    least = mcp_resume_link_least_generation(&info);

    if (link->generation < least) {
        link->generation = least;
    }

    if (!mcp_resume_link_url_possible(x->worker, &link->url)) {
        return;
    }

    value = mcp_resume_link_value(x, link);

    if (value.len == 0) {
        return;
    }

    mcp_respond_header(x, mcp_str("Link"), value);

    x->reader.has_url = 1;

    /* sets "closes" unless the client has resumed by an event id: such a client
     * answers questions at the endpoint, not at a URL, so its connection can
     * stay open */

    if (x->resumption == &mcp_resume_link || x->call) {
        link->closes = 1;
    }
}


/* Returns 1 if the call cannot continue without an answer of the client:
 * questions are open, and no answer is in the inbox or was processed. Until an
 * answer arrives, the stream gets no further events. */
static int
mcp_resume_link_waits_for_input(const mcp_stream_info_t *info)
{
    return info->state == MCP_STATE_INPUT_REQUIRED && !info->posted
           && !info->ahead;
}


/* The hook "idle". Returns 1 if the connection has to be closed, because it has
 * sent all events and the client has to answer the questions among them by a
 * POST. Otherwise returns 0. */
static int
mcp_resume_link_idle(mcp_exchange_t *x)
{
    mcp_resume_link_t  *link;
    mcp_stream_info_t   info;

    link = mcp_resume_link_of(x);

    return link && link->closes
           && mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
           && x->reader.cursor.seq == info.last_seq
           && mcp_resume_link_waits_for_input(&info);
}


/* Forbids caches to store the response, because the next response at the same
 * URL may be different. */
static void
mcp_resume_link_no_store(mcp_exchange_t *x)
{
    mcp_respond_header(x, mcp_str("Cache-Control"), mcp_str("no-store"));
}


static mcp_next_e
mcp_resume_link_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_resume_link_no_store(x);

    return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
}


static mcp_next_e
mcp_resume_link_no_content(mcp_exchange_t *x, const char *outcome)
{
    mcp_resume_link_no_store(x);
    x->output.outcome = outcome;

    return mcp_respond_status(x, 204);
}


static mcp_next_e
mcp_resume_link_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
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

        return MCP_NEXT_STREAM;

    case MCP_ERR_PURGED:
        return mcp_resume_link_refuse(x, MCP_FAULT_EVENT_PURGED);

    case MCP_ERR_NOT_FOUND:
        return mcp_resume_link_refuse(x, MCP_FAULT_LINK);

    case MCP_ERR_UNREACHABLE:
        return mcp_resume_link_refuse(x, MCP_FAULT_CLUSTER_UNREACHABLE);

    default:
        return MCP_NEXT_ERROR;
    }
}


/*
 * The entry function of GET. Without Last-Event-ID the client gets all events
 * after the event in the URL, because only the client knows which events it
 * has. Responds with 204 if there will be no further events, or none until the
 * client answers a question.
 *
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 */
static mcp_next_e
mcp_resume_link_read_on(mcp_exchange_t *x)
{
    uint64_t           after;
    mcp_next_e         next;
    mcp_fault_e        fault;
    mcp_stream_info_t  info;

    next = mcp_resume_link_find(x, mcp_resume_link_of(x), &info, &after,
                                &fault);

    if (next != MCP_NEXT_CONTINUE) {
        return next;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_resume_cursor(x, &info, &after);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_resume_link_refuse(x, fault);
    }

    if (after & MCP_EVENT_ANSWERED) {
        return mcp_resume_link_no_content(x, "finished");
    }

    if (after == info.last_seq) {

        if (info.state >= MCP_STATE_COMPLETED) {
            return mcp_resume_link_no_content(x, "finished");
        }

        if (mcp_resume_link_waits_for_input(&info)) {
            mcp_store_touch(x->worker->store, &info.ref,
                            x->worker->env->now(x->worker->env->ctx));
            return mcp_resume_link_no_content(x, "input");
        }
    }

    return mcp_resume_link_start(x, &info, after);
}


/* Splits the body into *n responses, and checks that each one answers a
 * question of this stream. Raises *after to the last event that contains such a
 * question. Rejects more responses than the stream has events. */
static mcp_fault_e
mcp_resume_link_read(mcp_exchange_t *x, mcp_str_t text,
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
 * Passes the answers to the call, and starts the response: the stream after the
 * questions, with a URL of the next generation. A client may repeat answers,
 * even after the call has ended: the call ignores repeated answers.
 *
 * If the stream is at this node, records in the store that a URL of this
 * generation has answered the questions, before the answers are passed to the
 * call. Otherwise repeated answers might be rejected, because the call has
 * already continued.
 */
static mcp_next_e
mcp_resume_link_answer(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint64_t after, mcp_str_t text)
{
    int                 rc;
    uint32_t            generation;
    mcp_resume_link_t  *link;

    link = mcp_resume_link_of(x);
    generation = 2 * link->generation + 1;

    if (!info->mirror) {
        mcp_resume_link_set_generation(x, info, generation);
    }

    rc = mcp_input_deliver(x, info, text, generation);

    if (rc == MCP_AGAIN) {
        return MCP_NEXT_WAIT;
    }

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        return mcp_resume_link_refuse(x, mcp_resume_link_fault(rc));
    }

    link->generation++;

    return mcp_resume_link_start(x, info, after);
}


/* Entry function of POST. The response begins after the events that the client
 * certainly has: a client that answers a question has the question and all
 * earlier events. After returning MCP_NEXT_WAIT, this function runs again when
 * the cluster has replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_link_take(mcp_exchange_t *x)
{
    size_t              n;
    uint64_t            after, seen;
    mcp_next_e          next;
    mcp_fault_e         fault;
    mcp_resume_link_t  *link;
    mcp_stream_info_t   info;

    n = 0;
    seen = 0;
    link = mcp_resume_link_of(x);
    next = mcp_resume_link_find(x, link, &info, &after, &fault);

    if (next != MCP_NEXT_CONTINUE) {
        return next;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_resume_link_read(x, link->text, &info, &n, &after);
    }

    if (fault == MCP_FAULT_NONE && info.state == MCP_STATE_PROCESSING
        && !mcp_resume_link_answered(&info))
    {
        fault = MCP_FAULT_LINK_INPUT;
    }

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_resume_cursor(x, &info, &seen);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_resume_link_refuse(x, fault);
    }

    if (after < seen) {
        after = seen;
    }

    if (after > info.confirmed_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info.ref, after);
    }

    next = mcp_resume_link_answer(x, &info, after, link->text);

    if (next != MCP_NEXT_WAIT) {
        mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, (int64_t) n);
    }

    return next;
}


static mcp_next_e
mcp_resume_link_post(mcp_exchange_t *x, mcp_str_t text)
{
    mcp_resume_link_t  *link;

    link = mcp_resume_link_of(x);
    link->text = text;

    return mcp_operation_now(x, mcp_resume_link_take);
}


const mcp_resume_method_t  mcp_resume_link = {
    .name = { "link", 4 },
    .capability = MCP_CLIENT_LINKS,
    .get = mcp_resume_link_read_on,
    .post = mcp_resume_link_post,
    .lookup = mcp_resume_link_lookup,
    .secret = mcp_resume_link_url_secret,
    .head = mcp_resume_link_head,
    .idle = mcp_resume_link_idle
};
