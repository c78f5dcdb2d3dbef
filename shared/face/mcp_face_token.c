/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resume tokens in params and results (MCP PR #1003).  Two kinds:
 *
 *   a page's  what a backend returns as nextResumeToken goes out sealed,
 *             whoever asked, and comes back to it as it was, once;
 *   ours      for clients that declare resumeTokens: a tool's call that takes
 *             long is answered with an interim result; the same request with
 *             the token is answered with the rest.
 *
 * Ours is signed: kind (1), expiry in ms (8), digest of whose it is and of the
 * request (16), stream id (16), the last event before the interim result (8).
 * It is good until it expires or the stream has gone: who has it has the
 * events before it, and gets all others again, since what was written to a
 * connection may have been lost with it.
 *
 * A page's is "p." and what is sealed: expiry (8), id of the call that
 * returned it if that came with such a token itself (16), the backend's token
 * as JSON.  Whose it is, and the request, it is bound to.  The answer to a call
 * that comes with one is kept as its stream: who comes with the token again
 * gets that, until the token in it is used.
 *
 * That stream's id is the token's digest but for its first bytes, which are
 * random: the store has them by the digest.  So a call that takes the place of
 * one that came to nothing is another stream, and no event has the id of one
 * that a client may have seen (2025-11-25, basic/transports, "Resumability and
 * Redelivery").
 */


#include "rpc/mcp_digest.h"
#include "face/mcp_face_common.h"


#define MCP_FACE_TOKEN_PURPOSE  'n'    /* of values: spent tokens */
#define MCP_FACE_TOKEN_LEN      (1 + 8 + 2 * MCP_DIGEST_LEN + 8)

#define MCP_FACE_TOKEN_OF_BIND  9
#define MCP_FACE_TOKEN_OF_REST  (9 + MCP_DIGEST_LEN)
#define MCP_FACE_TOKEN_OF_SEQ   (9 + 2 * MCP_DIGEST_LEN)

#define MCP_FACE_TOKEN_PAGE     mcp_str("p.")
#define MCP_FACE_TOKEN_HEAD     (8 + MCP_STREAM_ID_LEN)

/* ms: for what is superseded where there are no interim results */
#define MCP_FACE_TOKEN_WAIT     10000

/* ms: how often to look for an answer that another one waits for */
#define MCP_FACE_TOKEN_LOOK     50

/* of a backend; longer ones are not passed on */
#define MCP_FACE_TOKEN_MAX      2048

/* What the store has of a page's token that was used: its call is no stream
 * yet; any other value begins the id of the stream that it is, or was. */
#define MCP_FACE_TOKEN_USED     0
#define MCP_FACE_TOKEN_RANDOM   4


#define MCP_FACE_TOKEN_NEXT     mcp_str("nextResumeToken")
#define MCP_FACE_TOKEN_KEY      mcp_str("resumeToken")

#define MCP_FACE_TOKEN_TEXT                                                  \
    "Interim result: the call has not ended yet. Repeat the same request "   \
    "with the resume token to get the rest."


static void mcp_face_token_same(mcp_exchange_t *x);


static int
mcp_face_token_asked(const mcp_endpoint_t *endpoint,
    const mcp_session_t *session)
{
    return endpoint->resume_tokens
           || (session->capabilities & MCP_CLIENT_TOKENS) != 0;
}


/* Whose request it is and what it asks for, whatever token it brings. */
static int
mcp_face_token_bind(const mcp_endpoint_t *endpoint, const mcp_mem_t *mem,
    const mcp_session_t *session, mcp_str_t method, mcp_str_t params,
    unsigned char out[MCP_DIGEST_LEN])
{
    int            rc;
    mcp_str_t      parts[5];
    unsigned char  digest[MCP_DIGEST_LEN];

    rc = mcp_digest_params(mem, params, endpoint->max_depth, digest);
    if (rc != MCP_OK) {
        return rc;
    }

    parts[0] = mcp_str("resume");
    parts[1] = (mcp_str_t) { (const char *) session->id, MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { (const char *) session->principal,
                             MCP_DIGEST_LEN };
    parts[3] = method;
    parts[4] = (mcp_str_t) { (const char *) digest, MCP_DIGEST_LEN };

    return mcp_digest(out, parts, 5);
}


static void
mcp_face_token_make(unsigned char data[MCP_FACE_TOKEN_LEN], uint64_t expires,
    const unsigned char bind[MCP_DIGEST_LEN],
    const unsigned char stream[MCP_STREAM_ID_LEN], uint64_t seq)
{
    data[0] = 'm';
    mcp_be_put(data + 1, expires, 8);
    memcpy(data + MCP_FACE_TOKEN_OF_BIND, bind, MCP_DIGEST_LEN);
    memcpy(data + MCP_FACE_TOKEN_OF_REST, stream, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_FACE_TOKEN_OF_SEQ, seq, 8);
}


/* --- what clients bring --- */

/* Where a request has its token: in _meta, or at the top of params, or both;
 * their number. */
static size_t
mcp_face_token_places(const mcp_rpc_t *msg, mcp_json_value_t places[2])
{
    size_t  n;

    n = 0;

    if (msg->resume_token.type != MCP_JSON_NONE) {
        places[n++] = msg->resume_token;
    }

    if (msg->meta_resume_token.type != MCP_JSON_NONE) {
        places[n++] = msg->meta_resume_token;
    }

    return n;
}


/* Puts the backend's own token into the request, wherever the wrapped one
 * stands: the text is parsed anew. */
static int
mcp_face_token_unwrap(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, mcp_str_t inner)
{
    int                      rc;
    size_t                   i;
    mcp_buf_t                buf;
    mcp_str_t                raw, text;
    const char              *p;
    const mcp_json_value_t  *order[2];

    raw = x->msg.raw;
    order[0] = &places[0];
    order[1] = &places[n - 1];

    if (order[0]->raw.data > order[1]->raw.data) {
        order[0] = &places[1];
        order[1] = &places[0];
    }

    mcp_buf_init(&buf, &x->worker->env->mem, SIZE_MAX / 2);
    p = raw.data;

    for (i = 0; i < n; i++) {
        mcp_buf_add(&buf, p, (size_t) (order[i]->raw.data - p));
        mcp_buf_str(&buf, inner);
        p = order[i]->raw.data + order[i]->raw.len;
    }

    mcp_buf_add(&buf, p, (size_t) (raw.data + raw.len - p));

    text = mcp_null_str;

    if (buf.failed == MCP_OK) {
        text = mcp_arena_dup(&x->arena, (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    if (text.data == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_rpc_parse(&x->arena, text, x->endpoint->max_depth, &x->msg);

    /* a backend's token is JSON, or it would not have been wrapped */

    return rc == MCP_OK && x->msg.kind != MCP_RPC_REQUEST ? MCP_ERR_INTERNAL
                                                          : rc;
}


/* Frees a stream of this caller's that keeps an answer. */
static void
mcp_face_token_drop(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_stream_info_t  info;

    if (mcp_store_find(x->worker->store, id, 0, &info) == MCP_OK
        && mcp_face_owns(x, &info) && info.turn == MCP_CALL_KEPT)
    {
        mcp_store_free(x->worker->store, &info.ref);
    }
}


/* A page's token that is used for the first time, or again after that came to
 * nothing; head: what it is sealed with.  The answer that it came in has
 * arrived. */
static int
mcp_face_token_pass(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, mcp_str_t data, unsigned char *key)
{
    mcp_str_t  inner;

    inner.data = data.data + MCP_FACE_TOKEN_HEAD;
    inner.len = data.len - MCP_FACE_TOKEN_HEAD;

    if (mcp_face_token_unwrap(x, places, n, inner) != MCP_OK) {
        mcp_store_value_delete(x->worker->store, MCP_FACE_TOKEN_PURPOSE, key);
        return MCP_ERR_MEMORY;
    }

    mcp_face_token_drop(x, (const unsigned char *) data.data + 8);

    x->token.spent = key;

    return MCP_AGAIN;
}


/* The rest of a call, after event seq: MCP_ERR_NOT_FOUND if there is none. */
static int
mcp_face_token_join(mcp_exchange_t *x, const unsigned char *id, uint64_t seq)
{
    int                rc;
    mcp_stream_info_t  info;

    if (mcp_face_find(x, id, &info) != MCP_OK) {
        return MCP_ERR_NOT_FOUND;
    }

    x->face = &mcp_face_token;
    x->exact = 1;
    x->token.rest = 1;
    memcpy(x->token.stream, info.ref.id, MCP_STREAM_ID_LEN);

    rc = mcp_consumer_start_kept(x, &info, seq);

    if (rc == MCP_ERR_NOT_FOUND || rc == MCP_ERR_PURGED) {
        return MCP_ERR_NOT_FOUND;
    }

    if (rc != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    x->resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);
    mcp_cancel_set_alias(x, &info.ref);
    mcp_consumer_close_at(x, x->token.at);

    return MCP_DONE;
}


/* All of the call of a page's token, whose stream's id begins with value. */
static int
mcp_face_token_repeat(mcp_exchange_t *x, const unsigned char *key,
    uint32_t value)
{
    int            rc;
    unsigned char  id[MCP_STREAM_ID_LEN];

    memcpy(id, key, MCP_STREAM_ID_LEN);
    mcp_be_put(id, value, MCP_FACE_TOKEN_RANDOM);

    rc = mcp_face_token_join(x, id, 0);

    return rc == MCP_ERR_NOT_FOUND ? mcp_face_refuse(x) : rc;
}


/* An answer to a request that the dispatcher has left behind. */
static void
mcp_face_token_act(mcp_exchange_t *x, int rc)
{
    if (rc != MCP_OK && rc != MCP_DONE) {
        mcp_answer_status(x, 500);
    }

    x->task.action.type = rc == MCP_DONE ? MCP_ACT_STREAM : MCP_ACT_RESPOND;
    mcp_worker_queue(x->worker, &x->task);
}


/* Whether the call of a page's token is a stream by now, or its time over; of
 * one that came to nothing its client may begin anew. */
static void
mcp_face_token_look(void *data)
{
    int              rc;
    uint32_t         value;
    uint64_t         now;
    mcp_exchange_t  *x;

    x = data;
    now = x->worker->env->now(x->worker->env->ctx);
    rc = mcp_store_value_get(x->worker->store, MCP_FACE_TOKEN_PURPOSE,
                             x->token.spent, now, &value);

    if (rc == MCP_OK && value != MCP_FACE_TOKEN_USED) {
        mcp_face_token_act(x, mcp_face_token_repeat(x, x->token.spent, value));
        return;
    }

    if (rc == MCP_OK && now < x->token.until && !x->worker->stopping) {
        mcp_timer_set(&x->worker->timers, &x->timer, now + MCP_FACE_TOKEN_LOOK);
        return;
    }

    x->out.len = 0;
    x->outcome = "interim";
    mcp_face_token_same(x);
    mcp_face_token_act(x, mcp_answer_json(x));
}


/* Of two requests with one page's token the one that runs need not be the one
 * whose client lives: the other waits for what becomes of it. */
static int
mcp_face_token_wait(mcp_exchange_t *x, unsigned char *key, uint64_t now)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_WAIT);
    x->outcome = "pending";
    x->token.spent = key;
    x->token.until = x->token.at ? x->token.at : now + MCP_FACE_TOKEN_WAIT;
    x->timer.handler = mcp_face_token_look;
    x->timer.data = x;
    mcp_timer_set(&x->worker->timers, &x->timer, now + MCP_FACE_TOKEN_LOOK);

    return MCP_OK;
}


/* What a page's token is sealed with, and its digest, in the arena:
 * MCP_ERR_NOT_FOUND if it is none of this request's, or has expired. */
static int
mcp_face_token_unseal(mcp_exchange_t *x,
    const unsigned char bind[MCP_DIGEST_LEN], mcp_str_t *data,
    unsigned char **key)
{
    int        rc;
    mcp_str_t  text, bound;

    text = x->token.text;
    text.data += MCP_FACE_TOKEN_PAGE.len;
    text.len -= MCP_FACE_TOKEN_PAGE.len;
    bound = (mcp_str_t) { (const char *) bind, MCP_DIGEST_LEN };

    if (text.len > 2 * MCP_FACE_TOKEN_MAX) {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_token_open(x->endpoint->keys, MCP_TOKEN_RESUME, bound, text,
                        &x->arena, data);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? rc : MCP_ERR_NOT_FOUND;
    }

    if (data->len < MCP_FACE_TOKEN_HEAD + 2
        || mcp_be_get((const unsigned char *) data->data, 8)
           <= x->worker->env->now(x->worker->env->ctx))
    {
        return MCP_ERR_NOT_FOUND;
    }

    *key = mcp_arena_alloc(&x->arena, MCP_DIGEST_LEN + 8);

    if (*key == NULL || mcp_digest(*key, &x->token.text, 1) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    memcpy(*key + MCP_DIGEST_LEN, data->data, 8);

    return MCP_OK;
}


/* A page's token may be used once, unless that ends with an error.  Used
 * again, it gets the answer again. */
static int
mcp_face_token_page(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, const unsigned char bind[MCP_DIGEST_LEN])
{
    int             rc;
    uint32_t        value;
    uint64_t        now;
    mcp_str_t       data;
    mcp_party_t     party;
    mcp_store_t    *store;
    unsigned char  *key;

    rc = mcp_face_token_unseal(x, bind, &data, &key);
    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? rc : mcp_face_refuse(x);
    }

    store = x->worker->store;
    now = x->worker->env->now(x->worker->env->ctx);

    /* a call that is refused does not use it up */

    if (x->refusal == MCP_FAULT_NONE) {
        mcp_party(x->endpoint, x->party, &party);
        rc = mcp_store_value_add(store, MCP_FACE_TOKEN_PURPOSE, key,
                                 MCP_FACE_TOKEN_USED,
                                 mcp_be_get(key + MCP_DIGEST_LEN, 8), now,
                                 &party);
        if (rc == MCP_OK) {
            return mcp_face_token_pass(x, places, n, data, key);
        }

        if (rc != MCP_ERR_DENIED) {
            return mcp_answer_fault(x, rc == MCP_ERR_LIMIT
                                       ? MCP_FAULT_TOO_MANY_VALUES
                                       : MCP_FAULT_STORE_FULL,
                                    x->msg.id, mcp_null_str);
        }
    }

    rc = mcp_store_value_get(store, MCP_FACE_TOKEN_PURPOSE, key, now, &value);

    if (rc != MCP_OK && x->refusal != MCP_FAULT_NONE) {
        return MCP_AGAIN;
    }

    if (rc == MCP_OK && value != MCP_FACE_TOKEN_USED) {
        return mcp_face_token_repeat(x, key, value);
    }

    return mcp_face_token_wait(x, key, now);
}


/* One of ours. */
static int
mcp_face_token_rest(mcp_exchange_t *x,
    const unsigned char bind[MCP_DIGEST_LEN])
{
    int            rc;
    unsigned char  data[MCP_FACE_TOKEN_LEN];

    if (mcp_face_open_token(x->endpoint->keys, MCP_TOKEN_RESUME,
                            x->token.text, data, MCP_FACE_TOKEN_LEN)
        != MCP_OK
        || memcmp(bind, data + MCP_FACE_TOKEN_OF_BIND, MCP_DIGEST_LEN) != 0
        || mcp_be_get(data + 1, 8)
           <= x->worker->env->now(x->worker->env->ctx))
    {
        return mcp_face_refuse(x);
    }

    rc = mcp_face_token_join(x, data + MCP_FACE_TOKEN_OF_REST,
                             mcp_be_get(data + MCP_FACE_TOKEN_OF_SEQ, 8));

    return rc == MCP_ERR_NOT_FOUND ? mcp_face_refuse(x) : rc;
}


/* When a request of this kind is to be answered with an interim result, 0 if
 * never: clients with a better way to wait do not need one, and their
 * requests shall have one response only. */
static uint64_t
mcp_face_token_when(mcp_exchange_t *x)
{
    mcp_str_t     name;
    mcp_policy_t  policy;

    name = x->facts.value[MCP_FACT_NAME];
    mcp_endpoint_policy(x->endpoint, x->msg.method, name, &policy);

    if (policy.resume_after == 0
        || !mcp_face_token_asked(x->endpoint, &x->session)
        || (x->session.capabilities
            & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS))
        || mcp_method_find(x->msg.method)->want != MCP_WANT_TOOL)
    {
        return 0;
    }

    return x->worker->env->now(x->worker->env->ctx) + policy.resume_after;
}


static int
mcp_face_token_call(mcp_exchange_t *x)
{
    int               rc;
    size_t            n;
    mcp_str_t         text;
    mcp_json_value_t  places[2];
    unsigned char     bind[MCP_DIGEST_LEN];

    x->token.at = mcp_face_token_when(x);
    x->exact = (x->token.at != 0);
    n = mcp_face_token_places(&x->msg, places);

    if (n == 0) {
        return MCP_AGAIN;
    }

    /* if there are two, they must be the same one */

    if (places[0].type != MCP_JSON_STRING
        || (n == 2 && !mcp_str_eq(places[0].raw, places[1].raw)))
    {
        return mcp_face_refuse(x);
    }

    if (mcp_json_unescape(&x->arena, places[0].raw, &text) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_face_token_bind(x->endpoint, &x->worker->env->mem, &x->session,
                             x->msg.method, x->msg.params.raw, bind);
    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? rc : mcp_face_refuse(x);
    }

    x->token.text = text;

    if (text.len > MCP_FACE_TOKEN_PAGE.len
        && memcmp(text.data, MCP_FACE_TOKEN_PAGE.data,
                  MCP_FACE_TOKEN_PAGE.len) == 0)
    {
        return mcp_face_token_page(x, places, n, bind);
    }

    return mcp_face_token_rest(x, bind);
}


/* --- our own tokens --- */

static void
mcp_face_token_start(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    x = call->x;

    if (call->batch || x == NULL) {
        return;
    }

    call->resume_at = x->token.at;

    if (x->token.spent) {
        call->requests[0].spent = x->token.spent;
        memcpy(call->id + MCP_FACE_TOKEN_RANDOM,
               x->token.spent + MCP_FACE_TOKEN_RANDOM,
               MCP_STREAM_ID_LEN - MCP_FACE_TOKEN_RANDOM);

        /* so that they are not MCP_FACE_TOKEN_USED */

        call->id[0] |= 1;
        mcp_stream_id_print(call->id_text, call->id);
    }

    memcpy(x->token.stream, call->id, MCP_STREAM_ID_LEN);
}


/* The response, as it would be the last: it says that it is not.  token: as a
 * JSON string. */
static void
mcp_face_token_not_yet(mcp_exchange_t *x, mcp_str_t token)
{
    mcp_buf_t  *out;

    out = &x->out;

    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(out, x->msg.id);
    mcp_buf_lit(out, ",\"result\":{\"content\":[{\"type\":\"text\","
                     "\"text\":\"" MCP_FACE_TOKEN_TEXT "\"}],"
                     "\"nextResumeToken\":");
    mcp_buf_str(out, token);
    mcp_buf_lit(out, ",\"_meta\":{\"nextResumeToken\":");
    mcp_buf_str(out, token);
    mcp_buf_lit(out, "}}}");
}


static void
mcp_face_token_interim(mcp_exchange_t *x)
{
    mcp_buf_t       token;
    unsigned char   bind[MCP_DIGEST_LEN], data[MCP_FACE_TOKEN_LEN];

    mcp_buf_init(&token, &x->worker->env->mem, MCP_TOKEN_TEXT_MAX + 2);

    if (mcp_face_token_bind(x->endpoint, &x->worker->env->mem, &x->session,
                            x->msg.method, x->msg.params.raw, bind)
        != MCP_OK)
    {
        x->out.failed = MCP_ERR_MEMORY;
        return;
    }

    mcp_face_token_make(data,
                        x->worker->env->now(x->worker->env->ctx)
                        + x->endpoint->resume_lifetime,
                        bind, x->token.stream, x->cursor.seq);
    mcp_face_add_token(&token, x->endpoint->keys, MCP_TOKEN_RESUME,
                       data, sizeof(data));

    if (token.failed) {
        x->out.failed = token.failed;

    } else {
        mcp_face_token_not_yet(x, (mcp_str_t) { token.data, token.len });
    }

    mcp_buf_free(&token);
}


/* The rest has no response, nor will have: it was cancelled, its response was
 * for another, or the stream has gone. */
static void
mcp_face_token_refuse(mcp_exchange_t *x)
{
    mcp_buf_lit(&x->out, "data: ");
    mcp_fault_write(&x->out, x->msg.id, MCP_FAULT_RESUME_TOKEN, mcp_null_str,
                    mcp_null_str);
    mcp_buf_lit(&x->out, "\n\n");
}


/* Whether a request that brought a token waits for its response still. */
static int
mcp_face_token_waits(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->token.text.len == 0 || x->token.answered || x->cursor.done) {
        return 0;
    }

    return x->token.rest
           || mcp_store_info(x->worker->store, &x->ref, &info) != MCP_OK
           || info.state < MCP_STATE_COMPLETED
           || x->cursor.seq < info.last_seq;
}


/*
 * Who is superseded may be the one that lives: of two requests that a client
 * sends one after the other, the one of the connection that it has lost may be
 * taken up last.  It is not told that its token is unknown, and what it has to
 * repeat comes when its time is over: two that live do not take the stream
 * from each other without end.
 */
static int
mcp_face_token_stays(mcp_exchange_t *x)
{
    if (!mcp_face_token_waits(x)) {
        return 0;
    }

    if (x->close_at == 0) {
        mcp_consumer_close_at(x, x->worker->env->now(x->worker->env->ctx)
                                 + MCP_FACE_TOKEN_WAIT);
    }

    return 1;
}


/* An interim result with the token that the request brought. */
static void
mcp_face_token_same(mcp_exchange_t *x)
{
    mcp_buf_t  token;

    mcp_buf_init(&token, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_json(&token, x->token.text);

    if (token.failed) {
        x->out.failed = token.failed;

    } else {
        mcp_face_token_not_yet(x, (mcp_str_t) { token.data, token.len });
    }

    mcp_buf_free(&token);
}


/* The interim result of a stream that an event id resumes has one as well: who
 * names it has its response, and gets no second one. */
static void
mcp_face_token_id(mcp_exchange_t *x)
{
    char  id[MCP_EVENT_ID_MAX], *end;

    if (x->token.rest) {
        return;
    }

    end = mcp_event_id_print(id, x->ref.id,
                             MCP_EVENT_ANSWERED | x->cursor.seq);

    mcp_buf_lit(&x->out, "id: ");
    mcp_buf_add(&x->out, id, (size_t) (end - id));
    mcp_buf_lit(&x->out, "\n");
}


/*
 * A connection that ends before its response: for want of time, or because
 * the process winds up, or superseded.  A stream of the rest cannot be resumed
 * by an event id; any other may.
 */
static void
mcp_face_token_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    uint64_t  now;

    switch (how) {

    case MCP_TAIL_TAKEN:
        if (mcp_face_token_waits(x)) {
            mcp_buf_lit(&x->out, "data: ");
            mcp_face_token_same(x);
            mcp_buf_lit(&x->out, "\n\n");
        }

        return;

    case MCP_TAIL_PARTED:
        now = x->worker->env->now(x->worker->env->ctx);

        if (x->token.rest || (x->token.at && now >= x->token.at)) {
            mcp_face_token_id(x);
            mcp_buf_lit(&x->out, "data: ");
            mcp_face_token_interim(x);
            mcp_buf_lit(&x->out, "\n\n");
        }

        return;

    default:
        if (x->token.rest && !x->token.answered) {
            mcp_face_token_refuse(x);
        }
    }
}


/* A response gets the id of the request that asked for the rest. */
static void
mcp_face_token_response(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    mcp_buf_lit(&x->out, "data: {\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(&x->out, x->msg.id);

    if (msg->kind == MCP_RPC_RESULT) {
        mcp_buf_lit(&x->out, ",\"result\":");
        mcp_buf_str(&x->out, msg->result.raw);

    } else {
        mcp_buf_lit(&x->out, ",\"error\":");
        mcp_buf_str(&x->out, msg->error.raw);
    }

    mcp_buf_lit(&x->out, "}\n\n");
    x->token.answered = 1;
}


/* Progress is of a request that is active, and for those who asked for it
 * (basic/utilities/progress, "Behavior Requirements"): it gets the token of
 * the request that asked for the rest, or is left out. */
static void
mcp_face_token_progress(mcp_exchange_t *x, mcp_str_t text, mcp_str_t token)
{
    const char              *p;
    const mcp_json_value_t  *wanted;

    wanted = &x->msg.progress_token;

    if (wanted->type != MCP_JSON_STRING && wanted->type != MCP_JSON_NUMBER) {
        return;
    }

    p = token.data + token.len;

    mcp_buf_lit(&x->out, "data: ");
    mcp_buf_add(&x->out, text.data, (size_t) (token.data - text.data));
    mcp_buf_str(&x->out, wanted->raw);
    mcp_buf_add(&x->out, p, (size_t) (text.data + text.len - p));
    mcp_buf_lit(&x->out, "\n\n");
}


/* A message of the log, as an event without an id.  What else has a progress
 * token are requests to the client: that is theirs. */
static int
mcp_face_token_message(mcp_exchange_t *x, mcp_str_t text)
{
    int          rc;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &x->worker->env->mem);

    /* a result is one deeper in its response */

    rc = mcp_rpc_parse(&arena, text, x->endpoint->max_depth + 1, &msg);

    if (rc != MCP_OK) {
        mcp_arena_destroy(&arena);
        return rc;
    }

    if (msg.kind == MCP_RPC_RESULT || msg.kind == MCP_RPC_ERROR) {
        mcp_face_token_response(x, &msg);

    } else if (msg.kind == MCP_RPC_NOTIFICATION
               && msg.notify_token.type != MCP_JSON_NONE
               && mcp_method_find(msg.method)->id
                  == MCP_METHOD_NOTIFICATION_PROGRESS)
    {
        mcp_face_token_progress(x, text, msg.notify_token.raw);

    } else {
        mcp_buf_lit(&x->out, "data: ");
        mcp_buf_str(&x->out, text);
        mcp_buf_lit(&x->out, "\n\n");
    }

    mcp_arena_destroy(&arena);

    return x->out.failed;
}


/* "id: ...\ndata: ...\n\n", and so on; messages are of one line. */
static int
mcp_face_token_events(mcp_exchange_t *x)
{
    int          rc;
    mcp_str_t    text;
    const char  *p, *end;

    rc = MCP_OK;
    p = x->partial.data;
    end = p + x->partial.len;

    while (rc == MCP_OK && p < end) {
        p = memchr(p, '\n', (size_t) (end - p));
        text.data = p + sizeof("\ndata: ") - 1;
        p = memchr(text.data, '\n', (size_t) (end - text.data));
        text.len = (size_t) (p - text.data);
        p += sizeof("\n\n") - 1;

        rc = mcp_face_token_message(x, text);
    }

    return rc;
}


/* Some events, the last of which is whole. */
static int
mcp_face_token_fetch(mcp_exchange_t *x)
{
    int     rc;
    char   *p;
    size_t  n, cap;

    x->partial.len = 0;
    cap = MCP_PULL_MIN;

    do {
        p = mcp_buf_reserve(&x->partial, cap);
        if (p == NULL) {
            return MCP_ERR_MEMORY;
        }

        rc = mcp_store_read(x->worker->store, &x->ref, x->handle, &x->cursor,
                            x->sent, p, cap, &n);
        if (rc != MCP_OK) {
            return rc;
        }

        x->partial.len += n;
        cap = x->cursor.left + MCP_PULL_MIN;

    } while (x->cursor.done);

    rc = mcp_face_token_events(x);

    /* all of them were left out: who reads goes on when something is written,
     * and what lies between sees that the connection lives */

    if (rc == MCP_OK && x->out.len == 0) {
        mcp_buf_lit(&x->out, MCP_SSE_COMMENT);
        rc = x->out.failed;
    }

    return rc;
}


/* --- a backend's tokens --- */

static void
mcp_face_token_comma(mcp_buf_t *out, int *first)
{
    if (!*first) {
        mcp_buf_lit(out, ",");
    }

    *first = 0;
}


/* Appends the members of an object but for the token, and "_meta" unless it
 * is that itself. */
static void
mcp_face_token_members(mcp_buf_t *out, mcp_str_t object, int is_meta,
    int *first)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, object);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, MCP_FACE_TOKEN_NEXT)
            || (!is_meta && mcp_json_str_eq(key, mcp_str("_meta"))))
        {
            continue;
        }

        mcp_face_token_comma(out, first);
        mcp_buf_str(out, key);
        mcp_buf_lit(out, ":");
        mcp_buf_str(out, value.raw);
    }
}


/* An object with another token, or without one if it is empty. */
static void
mcp_face_token_object(mcp_buf_t *out, const mcp_json_value_t *object,
    int is_meta, mcp_str_t token, int *first)
{
    if (object->type == MCP_JSON_OBJECT) {
        mcp_face_token_members(out, object->raw, is_meta, first);
    }

    if (token.len) {
        mcp_face_token_comma(out, first);
        mcp_buf_lit(out, "\"nextResumeToken\":");
        mcp_buf_str(out, token);
    }
}


/* The sealed token, as a JSON string. */
static int
mcp_face_token_seal(mcp_request_t *req, mcp_str_t inner, mcp_buf_t *out)
{
    int             rc;
    mcp_buf_t       data;
    mcp_call_t     *call;
    unsigned char   bind[MCP_DIGEST_LEN], head[MCP_FACE_TOKEN_HEAD];
    unsigned char   nonce[MCP_SEAL_NONCE_LEN];

    call = req->call;

    rc = mcp_face_token_bind(call->endpoint, &call->worker->env->mem,
                             &call->session, req->method->name, req->params,
                             bind);

    if (rc == MCP_OK) {
        rc = mcp_worker_random(call->worker, nonce, sizeof(nonce));
    }

    if (rc != MCP_OK) {
        return rc;
    }

    memset(head, 0, sizeof(head));
    mcp_be_put(head, mcp_call_now(call) + call->endpoint->resume_lifetime,
                 8);

    if (req->spent) {
        memcpy(head + 8, call->id, MCP_STREAM_ID_LEN);
    }

    mcp_buf_init(&data, &call->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_add(&data, head, sizeof(head));
    mcp_buf_str(&data, inner);

    mcp_buf_lit(out, "\"");
    mcp_buf_str(out, MCP_FACE_TOKEN_PAGE);

    rc = data.failed;

    if (rc == MCP_OK) {
        rc = mcp_token_seal(call->endpoint->keys, MCP_TOKEN_RESUME,
                            (mcp_str_t) { (const char *) bind,
                                          MCP_DIGEST_LEN },
                            (mcp_str_t) { data.data, data.len }, nonce, out);
    }

    mcp_buf_lit(out, "\"");
    mcp_buf_free(&data);

    return rc == MCP_OK ? out->failed : rc;
}


/* The result with that token, which is put where a token was; for those who
 * asked for tokens in both places. */
static void
mcp_face_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int asked)
{
    int        first;
    mcp_str_t  top, low;

    top = token;
    low = token;

    if (!asked) {
        if (mcp_json_get(result, MCP_FACE_TOKEN_NEXT).type == MCP_JSON_NONE) {
            top = mcp_null_str;
        }

        if (mcp_json_get(meta, MCP_FACE_TOKEN_NEXT).type == MCP_JSON_NONE) {
            low = mcp_null_str;
        }
    }

    first = 1;
    mcp_buf_lit(out, "{");
    mcp_face_token_object(out, result, 0, top, &first);

    if (meta->type == MCP_JSON_OBJECT || low.len) {
        mcp_face_token_comma(out, &first);
        mcp_buf_lit(out, "\"_meta\":{");
        first = 1;
        mcp_face_token_object(out, meta, 1, low, &first);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}


/* A backend's token leaves us sealed or not at all, whoever asked: what it
 * puts there is its own affair, and it may rely on what comes back. */
static int
mcp_face_token_result(mcp_request_t *req, const mcp_backend_msg_t *msg,
    mcp_buf_t *out)
{
    int               rc;
    mcp_buf_t         token;
    mcp_call_t       *call;
    mcp_json_value_t  result, meta, next;

    if (!msg->has_next) {
        return MCP_DONE;
    }

    call = req->call;
    result = (mcp_json_value_t) { MCP_JSON_OBJECT, msg->body };
    meta = mcp_json_get(&result, mcp_str("_meta"));
    next = mcp_json_get(&meta, MCP_FACE_TOKEN_NEXT);

    if (next.type == MCP_JSON_NONE) {
        next = mcp_json_get(&result, MCP_FACE_TOKEN_NEXT);
    }

    mcp_buf_init(&token, &call->worker->env->mem, SIZE_MAX / 2);
    rc = MCP_OK;

    /* never with an error; "null" is none */

    if (next.type != MCP_JSON_NULL
        && !mcp_str_eq(mcp_json_get(&result, mcp_str("isError")).raw,
                       mcp_str("true")))
    {
        if (next.type != MCP_JSON_STRING || next.raw.len > MCP_FACE_TOKEN_MAX)
        {
            mcp_call_log(call, MCP_LOG_ERROR, "failed in its backend",
                         "its nextResumeToken is not a string, or too long");
            return MCP_ERR_SYNTAX;
        }

        rc = mcp_face_token_seal(req, next.raw, &token);
    }

    mcp_face_token_write(out, &result, &meta,
                         (mcp_str_t) { token.data, token.len },
                         mcp_face_token_asked(call->endpoint, &call->session));

    mcp_buf_free(&token);

    return rc == MCP_OK ? out->failed : rc;
}


/* The call of a page's token is a stream. */
static void
mcp_face_token_kept(mcp_request_t *req)
{
    uint64_t      random;
    mcp_call_t   *call;
    mcp_party_t   party;

    call = req->call;
    random = mcp_be_get(call->id, MCP_FACE_TOKEN_RANDOM);
    mcp_party(call->endpoint, call->party, &party);

    (void) mcp_store_value_set(call->worker->store, MCP_FACE_TOKEN_PURPOSE,
                               req->spent, (uint32_t) random,
                               mcp_be_get(req->spent + MCP_DIGEST_LEN, 8),
                               &party);
}


static int
mcp_face_token_begin(mcp_call_t *call)
{
    if (call->requests[0].spent) {
        mcp_face_token_kept(&call->requests[0]);
    }

    return MCP_OK;
}


/* The answer to a request with a page's token may be lost on its way; one that
 * is a stream is kept anyway. */
static void
mcp_face_token_keep(mcp_request_t *req, mcp_ending_e how)
{
    if (req->spent && req->call->phase == MCP_CALL_TRANSIENT) {
        mcp_call_keep(req->call, req->response, how);
        mcp_face_token_kept(req);
    }
}


/* It may be used again. */
static void
mcp_face_token_restore(mcp_store_t *store, unsigned char **spent)
{
    if (*spent) {
        mcp_store_value_delete(store, MCP_FACE_TOKEN_PURPOSE, *spent);
        *spent = NULL;
    }
}


static void
mcp_face_token_unmade(mcp_exchange_t *x)
{
    mcp_face_token_restore(x->worker->store, &x->token.spent);
}


static void
mcp_face_token_undo(mcp_request_t *req)
{
    mcp_face_token_restore(req->call->worker->store, &req->spent);
}


const mcp_face_t  mcp_face_token = {
    .name = { "tokens", 6 },
    .begin = mcp_face_token_begin,
    .stays = mcp_face_token_stays,
    .read = mcp_face_token_fetch,
    .tail = mcp_face_token_tail,
    .call = mcp_face_token_call,
    .start = mcp_face_token_start,
    .unmade = mcp_face_token_unmade,
    .interim = mcp_face_token_interim,
    .result = mcp_face_token_result,
    .keep = mcp_face_token_keep,
    .undo = mcp_face_token_undo
};
