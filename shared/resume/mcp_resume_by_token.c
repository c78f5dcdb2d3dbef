/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resume tokens in params and results (MCP PR #1003). There are two kinds. This
 * file has the server's own tokens, for clients that declare resumeTokens: if a
 * call takes long, the client gets an interim response with a token, and
 * repeats the request with the token to get the rest. The tokens of backends
 * are in mcp_resume_by_token_backend.c.
 *
 * The server's token is signed. It consists of 'm' (1 byte), its expiry in ms
 * (8), a digest of the client and the request with its answers (16), the stream
 * id (16), and the number of the last event before the interim response (8). It
 * is valid until it expires or the stream is freed. A client that has the token
 * has the events before the interim response. It gets all later ones, even
 * those that were written to another connection, because they may have been
 * lost.
 */


#include "resume/mcp_resume_by_token.h"
#include "rpc/mcp_digest.h"


#define MCP_RESUME_TOKEN_LEN      (1 + 8 + 2 * MCP_DIGEST_LEN + 8)

#define MCP_RESUME_TOKEN_AT_BIND    9
#define MCP_RESUME_TOKEN_AT_STREAM  (9 + MCP_DIGEST_LEN)
#define MCP_RESUME_TOKEN_AT_SEQ     (9 + 2 * MCP_DIGEST_LEN)

/* Time for which a displaced connection stays open if no interim response is
 * due earlier, ms. */
#define MCP_RESUME_TOKEN_STAY     10000

#define MCP_RESUME_TOKEN_TEXT                                                 \
    "Interim result: the call has not ended yet. Repeat the same request "    \
    "with the resume token to get the rest."


static uint64_t mcp_resume_token_due(mcp_exchange_t *x);
static mcp_next_e mcp_resume_token_brought(mcp_exchange_t *x,
    mcp_resume_token_t *state, const mcp_json_value_t *places, size_t n);
static mcp_next_e mcp_resume_token_open(mcp_exchange_t *x,
    mcp_resume_token_t *state, const mcp_json_value_t *places, size_t n,
    unsigned char bind[MCP_DIGEST_LEN]);
static void mcp_resume_token_interim_write(mcp_exchange_t *x, mcp_buf_t *token);
static void mcp_resume_token_refuse(mcp_exchange_t *x);


int
mcp_resume_token_bind(const mcp_endpoint_t *endpoint, const mcp_mem_t *mem,
    const mcp_client_t *client, mcp_str_t method, mcp_str_t params,
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
    parts[1] = (mcp_str_t) { (const char *) client->id, MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { (const char *) client->principal,
                             MCP_DIGEST_LEN };
    parts[3] = method;
    parts[4] = (mcp_str_t) { (const char *) digest, MCP_DIGEST_LEN };

    return mcp_digest(out, parts, 5);
}


/* Returns 1 if a request repeats another one with answers to questions
 * (2026-07-28, basic/patterns/mrtr). */
static int
mcp_resume_token_has_answers(const mcp_rpc_t *msg)
{
    return msg->input_responses.type != MCP_JSON_NONE
           || msg->request_state.type != MCP_JSON_NONE;
}


int
mcp_resume_token_add_answers(const mcp_rpc_t *msg,
    unsigned char digest[MCP_DIGEST_LEN])
{
    mcp_str_t  parts[3];

    if (!mcp_resume_token_has_answers(msg)) {
        return MCP_OK;
    }

    parts[0] = (mcp_str_t) { (const char *) digest, MCP_DIGEST_LEN };
    parts[1] = msg->input_responses.raw;
    parts[2] = msg->request_state.raw;

    return mcp_digest(digest, parts, 3);
}


/* Writes the payload of a token of the server. */
static void
mcp_resume_token_payload(unsigned char data[MCP_RESUME_TOKEN_LEN],
    uint64_t expires, const unsigned char bind[MCP_DIGEST_LEN],
    const unsigned char stream[MCP_STREAM_ID_LEN], uint64_t seq)
{
    data[0] = 'm';
    mcp_be_put(data + 1, expires, 8);
    memcpy(data + MCP_RESUME_TOKEN_AT_BIND, bind, MCP_DIGEST_LEN);
    memcpy(data + MCP_RESUME_TOKEN_AT_STREAM, stream, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_RESUME_TOKEN_AT_SEQ, seq, 8);
}


/* Returns the time at which a request gets an interim response, ms; 0: never.
 * Only a tools/call of a client that has declared resumeTokens gets one.
 * Clients that have also declared resumable requests or streams, and calls that
 * become tasks, get none, because they have other ways to wait. */
static uint64_t
mcp_resume_token_due(mcp_exchange_t *x)
{
    mcp_str_t     name;
    mcp_policy_t  policy;

    if (!(x->client.capabilities & MCP_CLIENT_TOKENS)
        || (x->client.capabilities
            & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS))
        || mcp_method_find(x->msg->method)->want != MCP_WANT_TOOL)
    {
        return 0;
    }

    name = x->variables.value[MCP_VARIABLE_NAME];
    mcp_endpoint_policy(x->endpoint, x->msg->method, name, &policy);

    if (mcp_policy_is_task(&policy, x->client.capabilities)) {
        return 0;
    }

    return policy.resume_after
           ? mcp_worker_now(x->worker) + policy.resume_after : 0;
}


static mcp_next_e
mcp_resume_token_request(mcp_exchange_t *x)
{
    size_t               n;
    uint64_t             due;
    mcp_resume_token_t  *state;
    mcp_json_value_t     places[2];

    due = mcp_resume_token_due(x);
    n = mcp_resume_token_find(x->msg, places);

    if (due == 0 && n == 0) {
        return MCP_NEXT_CONTINUE;
    }

    state =
        mcp_hook_state_create(x, &mcp_resume_token, sizeof(mcp_resume_token_t));
    if (state == NULL) {
        return MCP_NEXT_ERROR;
    }

    state->due = due;
    x->reader.exact = (due != 0);

    return n ? mcp_resume_token_brought(x, state, places, n)
             : MCP_NEXT_CONTINUE;
}


/* Handles a request with a token of the server or of a backend. The array
 * places has n elements, 1 or 2: the token in _meta, in the params, or both.
 * Returns the values of the hook "request". After returning MCP_NEXT_WAIT, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_token_brought(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_json_value_t *places, size_t n)
{
    int            rc;
    mcp_str_t      text;
    unsigned char  bind[MCP_DIGEST_LEN];

    /* a request with a token in _meta and another one in its params must have
     * the same token at both places */

    if (places[0].type != MCP_JSON_STRING
        || (n == 2 && !mcp_str_eq(places[0].raw, places[1].raw)))
    {
        return mcp_resume_refuse(x);
    }

    if (mcp_json_unescape(&x->arena, places[0].raw, &text) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    rc = mcp_resume_token_bind(x->endpoint, &x->worker->env->mem, &x->client,
                               x->msg->method, x->msg->params.raw, bind);
    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? MCP_NEXT_ERROR : mcp_resume_refuse(x);
    }

    state->text = text;

    return mcp_resume_token_backend_is(text)
           ? mcp_resume_token_backend_request(x, state, places, n, bind)
           : mcp_resume_token_open(x, state, places, n, bind);
}


/* Lets a request with a token of the server start a call: removes the token,
 * which the backend must not get. Returns the values of the hook "request". */
static mcp_next_e
mcp_resume_token_ignore(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_json_value_t *places, size_t n)
{
    state->text = mcp_null_str;

    return mcp_rpc_replace(&x->arena, places, n, mcp_str("null"),
                           x->endpoint->max_depth, &x->msg)
           == MCP_OK ? MCP_NEXT_CONTINUE : MCP_NEXT_ERROR;
}


/*
 * Handles a request with a token of the server: responds with the rest of the
 * call. A request with answers starts a call if its token belongs to a request
 * without these answers: that request was answered by questions, and the client
 * has repeated it with all its members. bind is the digest that
 * mcp_resume_token_bind() writes, and is changed.
 *
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 */
static mcp_next_e
mcp_resume_token_open(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_json_value_t *places, size_t n,
    unsigned char bind[MCP_DIGEST_LEN])
{
    int                rc;
    uint64_t           seq;
    unsigned char      data[MCP_RESUME_TOKEN_LEN];
    mcp_stream_info_t  info;

    if (mcp_token_verify(x->endpoint->keys, MCP_TOKEN_RESUME, state->text,
                         data, MCP_RESUME_TOKEN_LEN)
        != MCP_OK)
    {
        return mcp_resume_refuse(x);
    }

    if (mcp_resume_token_add_answers(x->msg, bind) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    if (memcmp(bind, data + MCP_RESUME_TOKEN_AT_BIND, MCP_DIGEST_LEN) != 0) {
        return mcp_resume_token_has_answers(x->msg)
               ? mcp_resume_token_ignore(x, state, places, n)
               : mcp_resume_refuse(x);
    }

    if (mcp_be_get(data + 1, 8) <= mcp_worker_now(x->worker)) {
        return mcp_resume_refuse(x);
    }

    seq = mcp_be_get(data + MCP_RESUME_TOKEN_AT_SEQ, 8);
    rc = mcp_resume_fetch(x, data + MCP_RESUME_TOKEN_AT_STREAM, seq, &info);

    return rc == MCP_OK ? mcp_resume_token_join(x, state, &info, seq)
                        : mcp_resume_refuse_for(x, rc);
}


mcp_next_e
mcp_resume_token_join(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_stream_info_t *info, uint64_t seq)
{
    int  rc;

    x->resumption = &mcp_resume_token;
    x->reader.exact = 1;
    state->rest = 1;
    memcpy(state->stream, info->ref.id, MCP_STREAM_ID_LEN);

    rc = mcp_consumer_start_kept(x, info, seq);

    if (rc != MCP_OK) {
        return mcp_resume_refuse_for(x, rc);
    }

    x->reader.resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);
    mcp_cancel_set_alias(x, &info->ref);
    mcp_consumer_close_at(x, state->due);

    return MCP_NEXT_STREAM;
}


static void
mcp_resume_token_start(mcp_call_t *call)
{
    mcp_resume_token_t  *state;

    state = mcp_resume_token_of(call->states);

    mcp_call_interim_at(call, &mcp_resume_token, state->due);
    mcp_resume_token_backend_start(call, state);
    memcpy(state->stream, call->id, MCP_STREAM_ID_LEN);
}


static void
mcp_resume_token_interim(mcp_exchange_t *x)
{
    mcp_buf_t            token;
    mcp_resume_token_t  *state;
    unsigned char        bind[MCP_DIGEST_LEN], data[MCP_RESUME_TOKEN_LEN];

    state = mcp_resume_token_of(x->states);
    mcp_buf_init(&token, &x->worker->env->mem, MCP_TOKEN_TEXT_MAX + 2);

    if (mcp_resume_token_bind(x->endpoint, &x->worker->env->mem, &x->client,
                              x->msg->method, x->msg->params.raw, bind)
        != MCP_OK
        || mcp_resume_token_add_answers(x->msg, bind) != MCP_OK)
    {
        x->output.out.failed = MCP_ERR_MEMORY;
        return;
    }

    mcp_resume_token_payload(data,
                             mcp_worker_now(x->worker)
                             + x->endpoint->resume_lifetime,
                             bind, state->stream, x->reader.cursor.seq);
    mcp_resume_add_token(&token, x->endpoint->keys, MCP_TOKEN_RESUME,
                         data, sizeof(data));

    mcp_resume_token_interim_write(x, &token);
}


/* Writes an interim response, which is a tool result with nextResumeToken.
 * Frees token, which contains a JSON string. */
static void
mcp_resume_token_interim_write(mcp_exchange_t *x, mcp_buf_t *token)
{
    mcp_buf_t            body;
    mcp_result_t         add;
    const mcp_method_t  *method;

    method = mcp_method_find(x->msg->method);
    mcp_buf_init(&body, &x->worker->env->mem, SIZE_MAX / 2);

    mcp_buf_lit(&body, "{\"content\":[{\"type\":\"text\","
                       "\"text\":\"" MCP_RESUME_TOKEN_TEXT "\"}],"
                       "\"nextResumeToken\":");
    mcp_buf_str(&body, mcp_buf_text(token));
    mcp_buf_lit(&body, ",\"_meta\":{\"nextResumeToken\":");
    mcp_buf_str(&body, mcp_buf_text(token));
    mcp_buf_lit(&body, "}}");

    if (token->failed || body.failed) {
        x->output.out.failed = token->failed ? token->failed : body.failed;

    } else {
        mcp_result_write(&x->output.out, x->msg->id,
                         (mcp_str_t) { body.data, body.len },
                         mcp_endpoint_result(x->endpoint, &x->client, method,
                                             mcp_null_str, &add));
    }

    mcp_buf_free(&body);
    mcp_buf_free(token);
}


void
mcp_resume_token_interim_again(mcp_exchange_t *x,
    const mcp_resume_token_t *state)
{
    mcp_buf_t  token;

    mcp_buf_init(&token, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_json(&token, state->text);

    mcp_resume_token_interim_write(x, &token);
}


/* Writes an event id in front of the interim response on a call's stream. The
 * id shows that the client has got a response: if the client resumes the stream
 * by this id, it gets no second response. */
static void
mcp_resume_token_interim_id(mcp_exchange_t *x)
{
    char  id[MCP_EVENT_ID_MAX], *end;

    end = mcp_event_id_print(id, x->reader.ref.id,
                             MCP_EVENT_ANSWERED | x->reader.cursor.seq);

    mcp_buf_lit(&x->output.out, "id: ");
    mcp_buf_add(&x->output.out, id, (size_t) (end - id));
    mcp_buf_lit(&x->output.out, "\n");
}


/* Returns 1 if the request has a token, and the response of the call was not
 * written to the connection of x yet. */
static int
mcp_resume_token_waits(mcp_exchange_t *x, const mcp_resume_token_t *state)
{
    mcp_stream_info_t  info;

    if (state->text.len == 0 || x->reader.answered || x->reader.cursor.done) {
        return 0;
    }

    return state->rest
           || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK
           || info.state < MCP_STATE_COMPLETED
           || x->reader.cursor.seq < info.last_seq;
}


/*
 * Called when another connection has displaced that of x. Returns 1 if the
 * connection of x stays open, 0 if it ends.
 *
 * The displaced connection may be the only living one: the request of a
 * connection that was lost may be processed after the request of the connection
 * that the client opened next. Therefore it does not end with an error. It
 * stays open until its interim response is due, or for MCP_RESUME_TOKEN_STAY.
 * An immediate interim response could make the client repeat its request at
 * once, so that two living connections would displace each other endlessly.
 */
static int
mcp_resume_token_stays(mcp_exchange_t *x)
{
    if (!mcp_resume_token_waits(x, mcp_resume_token_of(x->states))) {
        return 0;
    }

    if (x->reader.close_at == 0) {
        mcp_consumer_close_at(x, mcp_worker_now(x->worker)
                                 + MCP_RESUME_TOKEN_STAY);
    }

    return 1;
}


/*
 * The hook "tail". Writes the last message of a connection that ends without
 * the response of the call: an interim response if the call continues, or an
 * error if the rest of the call is lost. The interim response has an event id
 * only on the stream of the request's own call, because only that stream can be
 * resumed by an event id.
 */
static void
mcp_resume_token_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    mcp_resume_token_t  *state;

    state = mcp_resume_token_of(x->states);

    if (state == NULL) {
        return;
    }

    switch (how) {

    case MCP_TAIL_TAKEN:
        if (mcp_resume_token_waits(x, state)) {
            mcp_buf_lit(&x->output.out, "data: ");
            mcp_resume_token_interim_again(x, state);
            mcp_buf_lit(&x->output.out, "\n\n");
        }

        return;

    case MCP_TAIL_CLOSED:
        if (state->rest
            || (state->due && mcp_worker_now(x->worker) >= state->due))
        {
            if (!state->rest && !x->reader.cursor.plain) {
                mcp_resume_token_interim_id(x);
            }

            mcp_buf_lit(&x->output.out, "data: ");
            mcp_resume_token_interim(x);
            mcp_buf_lit(&x->output.out, "\n\n");
        }

        return;

    default:
        if (state->rest && !x->reader.answered) {
            mcp_resume_token_refuse(x);
        }
    }
}


/* Writes the error for a request that reads the rest of a call, if there is no
 * response for it: the call was cancelled, the response belongs to another
 * request, or the stream was freed. */
static void
mcp_resume_token_refuse(mcp_exchange_t *x)
{
    mcp_buf_lit(&x->output.out, "data: ");
    mcp_fault_write(&x->output.out, x->client.revision, x->msg->id,
                    MCP_FAULT_RESUME_TOKEN, mcp_null_str, mcp_null_str);
    mcp_buf_lit(&x->output.out, "\n\n");
}


static const mcp_resume_call_t  mcp_resume_token_call = {
    .request = mcp_resume_token_request,
    .start = mcp_resume_token_start,
    .refused = mcp_resume_token_backend_refused,
    .interim = mcp_resume_token_interim,
    .result = mcp_resume_token_backend_result,
    .answered = mcp_resume_token_backend_answered,
    .failed = mcp_resume_token_backend_failed
};


static const mcp_resume_reader_t  mcp_resume_token_reader = {
    .read = mcp_joined_reader_read,
    .stays = mcp_resume_token_stays
};


const mcp_resume_method_t  mcp_resume_token = {
    .name = { "tokens", 6 },
    .capability = MCP_CLIENT_TOKENS,
    .begin = mcp_resume_token_backend_begin,
    .tail = mcp_resume_token_tail,
    .call = &mcp_resume_token_call,
    .reader = &mcp_resume_token_reader
};


/* --- members --- */

/* The members that contain resume tokens: resumeToken in the params of a
 * request, and nextResumeToken in a result. Each may be in _meta, beside
 * _meta, or at both places. */

#define MCP_RESUME_TOKEN_NEXT  mcp_str("nextResumeToken")


size_t
mcp_resume_token_find(const mcp_rpc_t *msg, mcp_json_value_t places[2])
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


mcp_json_value_t
mcp_resume_token_next(const mcp_json_value_t *result,
    const mcp_json_value_t *meta)
{
    mcp_json_value_t  next;

    next = mcp_json_get(meta, MCP_RESUME_TOKEN_NEXT);

    return next.type != MCP_JSON_NONE
           ? next : mcp_json_get(result, MCP_RESUME_TOKEN_NEXT);
}


static int
mcp_resume_token_not_meta(mcp_buf_t *out, mcp_str_t key)
{
    (void) out;

    return !mcp_json_str_eq(key, mcp_str("_meta"));
}


/* Appends the members of an object, with nextResumeToken replaced by "token"
 * (raw JSON), or removed if "token" is empty. If is_meta is 0, because the
 * object is the result itself, also omits _meta. */
static void
mcp_resume_token_object(mcp_buf_t *out, const mcp_json_value_t *object,
    int is_meta, mcp_str_t token)
{
    mcp_json_add_members(out, object, MCP_RESUME_TOKEN_NEXT,
                         is_meta ? NULL : mcp_resume_token_not_meta);

    if (token.len) {
        mcp_json_add_key(out, mcp_str("\"nextResumeToken\""));
        mcp_buf_str(out, token);
    }
}


void
mcp_resume_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int wanted)
{
    mcp_str_t  top, low;

    top = token;
    low = token;

    if (!wanted) {
        if (mcp_json_get(result, MCP_RESUME_TOKEN_NEXT).type == MCP_JSON_NONE) {
            top = mcp_null_str;
        }

        if (mcp_json_get(meta, MCP_RESUME_TOKEN_NEXT).type == MCP_JSON_NONE) {
            low = mcp_null_str;
        }
    }

    mcp_buf_lit(out, "{");
    mcp_resume_token_object(out, result, 0, top);

    if (meta->type == MCP_JSON_OBJECT || low.len) {
        mcp_json_add_key(out, mcp_str("\"_meta\""));
        mcp_buf_lit(out, "{");
        mcp_resume_token_object(out, meta, 1, low);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}
