/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tokens of backends: the nextResumeToken of a backend is sealed for the
 * client, whether or not the client has declared tokens. When the client
 * repeats the request with the sealed token, the backend gets its own token
 * unchanged.
 *
 * The client's token is "p." and the sealed data: its expiry in ms (8 bytes),
 * the id of the call that has returned the token (16), and the backend's token
 * as JSON. The id is zero if the request of that call had no backend's token.
 * The client's token is bound to the client and the request.
 *
 * The response to a request with a token is kept in the stream of its call. A
 * repeated request with the same token gets this response again, until the
 * token in the response is used. If the response consists of questions, the
 * client repeats the request with its answers and the same token: this is a
 * separate use of the token, with a call and a response of its own.
 *
 * The id of the stream is the digest of the token and the answers, except that
 * its first bytes are random; the store has these bytes as a value with the
 * digest as its key. Therefore a call that is started again after a failure has
 * another stream, and no event id is used twice (2025-11-25, basic/transports,
 * "Resumability and Redelivery").
 *
 * In a cluster only one node may use a token, and all nodes find the response.
 * The store of the node that uses a token records which of its requests does so
 * (mcp_operation_token()).
 */


#include "exchange/mcp_task.h"
#include "resume/mcp_resume_by_token.h"


#define MCP_RESUME_TOKEN_BACKEND_MARK  mcp_str("p.")
#define MCP_RESUME_TOKEN_BACKEND_HEAD  (8 + MCP_STREAM_ID_LEN)

/* Maximum length of a backend's token, bytes. A longer one is an error of the
 * backend. */
#define MCP_RESUME_TOKEN_BACKEND_MAX  2048

/* Time for which a request waits for the call of another request with the same
 * token, if no interim response is due earlier, ms. */
#define MCP_RESUME_TOKEN_WAIT        10000

/* Intervals, ms, at which a waiting request searches for the stream of the
 * other request's call: the first if that call is at this node, the second if
 * it is at another node. */
#define MCP_RESUME_TOKEN_CHECK            50
#define MCP_RESUME_TOKEN_CHECK_ELSEWHERE  500

/* MCP_RESUME_TOKEN_BACKEND_ACTIVE is the value in the store for a used token
 * whose call has no stream yet. Any other value is the first
 * MCP_RESUME_TOKEN_BACKEND_RANDOM bytes of the call's stream id, which are
 * random. */
#define MCP_RESUME_TOKEN_BACKEND_ACTIVE  0
#define MCP_RESUME_TOKEN_BACKEND_RANDOM  4


static void mcp_resume_token_backend_poll(void *data);


int
mcp_resume_token_backend_is(mcp_str_t token)
{
    return token.len > MCP_RESUME_TOKEN_BACKEND_MARK.len
           && memcmp(token.data, MCP_RESUME_TOKEN_BACKEND_MARK.data,
                     MCP_RESUME_TOKEN_BACKEND_MARK.len) == 0;
}


/* Opens a client's token: decrypts its contents into the arena, and sets *key
 * to the value for the member "key" of mcp_resume_token_t. Returns MCP_OK,
 * MCP_ERR_NOT_FOUND if the token is invalid, expired or for another request, or
 * MCP_ERR_MEMORY. */
static int
mcp_resume_token_backend_open(mcp_exchange_t *x, mcp_str_t token,
    const unsigned char bind[MCP_DIGEST_LEN], mcp_str_t *data,
    unsigned char **key)
{
    int        rc;
    mcp_str_t  text, bound;

    text = token;
    text.data += MCP_RESUME_TOKEN_BACKEND_MARK.len;
    text.len -= MCP_RESUME_TOKEN_BACKEND_MARK.len;
    bound = (mcp_str_t) { (const char *) bind, MCP_DIGEST_LEN };

    if (text.len > 2 * MCP_RESUME_TOKEN_BACKEND_MAX) {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_token_open(x->endpoint->keys, MCP_TOKEN_RESUME, bound, text,
                        &x->arena, data);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? rc : MCP_ERR_NOT_FOUND;
    }

    if (data->len < MCP_RESUME_TOKEN_BACKEND_HEAD + 2
        || mcp_be_get((const unsigned char *) data->data, 8)
           <= x->worker->env->now(x->worker->env->ctx))
    {
        return MCP_ERR_NOT_FOUND;
    }

    *key = mcp_arena_alloc(&x->arena, MCP_DIGEST_LEN + 8);

    if (*key == NULL || mcp_digest(*key, &token, 1) != MCP_OK
        || mcp_resume_token_add_answers(x->msg, *key) != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    memcpy(*key + MCP_DIGEST_LEN, data->data, 8);

    return MCP_OK;
}


/* Allows a token to be used again, at all nodes. random is the number by which
 * the stream of its call is found, or 0 if the call has no stream. */
static void
mcp_resume_token_backend_free(mcp_worker_t *worker, const unsigned char *key,
    uint32_t random)
{
    mcp_store_value_delete(worker->store, MCP_VALUE_TOKEN_USED, key);
    mcp_operation_token_drop(worker, key, mcp_be_get(key + MCP_DIGEST_LEN, 8),
                             random);
}


/* Frees a stream with a kept response, if it belongs to this client. */
static void
mcp_resume_token_backend_drop(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_stream_info_t  info;

    if (mcp_store_find(x->worker->store, id, 0, &info) == MCP_OK
        && mcp_resume_owns(x, &info) && info.generation == MCP_CALL_KEPT)
    {
        mcp_store_free(x->worker->store, &info.ref);
    }
}


/*
 * Prepares a call for a token that was never used, or whose call has failed:
 * replaces the token in the request by the backend's own. Frees the stream that
 * holds the response with this token, because the client has got that
 * response. Returns MCP_NEXT_CONTINUE, by which the hook "request" lets the
 * caller create a call, or MCP_NEXT_ERROR.
 */
static mcp_next_e
mcp_resume_token_backend_first(mcp_exchange_t *x,
    const mcp_json_value_t *places, size_t n, mcp_str_t data,
    const unsigned char *key)
{
    mcp_str_t  inner;

    inner.data = data.data + MCP_RESUME_TOKEN_BACKEND_HEAD;
    inner.len = data.len - MCP_RESUME_TOKEN_BACKEND_HEAD;

    /* mcp_rpc_replace() fails only when out of memory, because the backend's
     * token was checked to be JSON before it was sealed */

    if (mcp_rpc_replace(&x->arena, places, n, inner, x->endpoint->max_depth,
                        &x->msg)
        != MCP_OK)
    {
        mcp_resume_token_backend_free(x->worker, key, 0);
        return MCP_NEXT_ERROR;
    }

    mcp_resume_token_backend_drop(x, (const unsigned char *) data.data + 8);

    return MCP_NEXT_CONTINUE;
}


/* Responds with a CreateTaskResult, because the call that has used the token is
 * a task, whose events are not messages for clients. */
static mcp_next_e
mcp_resume_token_backend_task(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    if (mcp_task_created_before(x, info) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    x->resumption = &mcp_resume_token;
    x->reader.resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

    return mcp_respond_json(x);
}


/* Responds with all events of the call that has used the token, or with its
 * task if the client can poll tasks. value consists of the first bytes of the
 * id of the call's stream; "remote" is 1 if the stream may be at another node.
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_token_backend_repeat(mcp_exchange_t *x, mcp_resume_token_t *state,
    const unsigned char *key, uint32_t value, int remote)
{
    int                rc;
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    memcpy(id, key, MCP_STREAM_ID_LEN);
    mcp_be_put(id, value, MCP_RESUME_TOKEN_BACKEND_RANDOM);

    rc = remote ? mcp_resume_fetch(x, id, 0, &info)
                : mcp_resume_find(x, id, &info);

    if (rc != MCP_OK) {
        return mcp_resume_refuse_for(x, rc);
    }

    return info.expires && (x->client.capabilities & MCP_CLIENT_TASKS)
           ? mcp_resume_token_backend_task(x, &info)
           : mcp_resume_token_join(x, state, &info, 0);
}


/*
 * Handler of the timer of a waiting request. If the call that has used the
 * token has a stream now, responds with the events of this stream. If the call
 * has failed, the waiting time is over or the process stops, responds with an
 * interim response, so that the client repeats the request. Otherwise continues
 * to wait.
 */
static void
mcp_resume_token_backend_poll(void *data)
{
    int                  rc;
    uint32_t             value;
    uint64_t             now;
    mcp_exchange_t      *x;
    mcp_resume_token_t  *state;

    x = data;
    state = mcp_resume_token_of(x->states);
    now = mcp_worker_now(x->worker);
    rc = mcp_store_value_get(x->worker->store, MCP_VALUE_TOKEN_USED,
                             state->key, now, &value);

    if (rc == MCP_OK && value != MCP_RESUME_TOKEN_BACKEND_ACTIVE) {
        mcp_answer_next(x, mcp_resume_token_backend_repeat(x, state, state->key,
                                                           value, 0));
        return;
    }

    if (rc == MCP_OK && now < state->until && !x->worker->stopping) {
        mcp_timer_set(&x->worker->timers, &x->reader.timer,
                  now + MCP_RESUME_TOKEN_CHECK);
        return;
    }

    x->output.out.len = 0;
    x->output.outcome = "interim";
    mcp_resume_token_interim_again(x, state);
    mcp_answer_next(x, mcp_respond_json(x));
}


/* Called if another request at this node has used the token, and its call has
 * no stream yet. The connection of that request may be lost, so this request
 * waits until the call has a stream or fails. */
static mcp_next_e
mcp_resume_token_backend_wait(mcp_exchange_t *x, mcp_resume_token_t *state,
    unsigned char *key, uint64_t now)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_WAIT);
    x->output.outcome = "pending";
    state->key = key;
    state->until = state->due ? state->due : now + MCP_RESUME_TOKEN_WAIT;
    x->reader.timer.handler = mcp_resume_token_backend_poll;
    x->reader.timer.data = x;
    mcp_timer_set(&x->worker->timers, &x->reader.timer,
                  now + MCP_RESUME_TOKEN_CHECK);

    return MCP_NEXT_WAIT;
}


/*
 * Called if a call with this token runs at another node, or has a stream at
 * some node. Responds with the events of the call when it has a stream. If it
 * has none when the waiting time is over, responds with an interim response.
 *
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 */
static mcp_next_e
mcp_resume_token_backend_elsewhere(mcp_exchange_t *x,
    mcp_resume_token_t *state, const unsigned char *key, uint32_t value)
{
    uint64_t  limit;

    if (value != MCP_RESUME_TOKEN_BACKEND_ACTIVE) {
        return mcp_resume_token_backend_repeat(x, state, key, value, 1);
    }

    limit = state->due ? state->due - mcp_worker_now(x->worker)
                       : MCP_RESUME_TOKEN_WAIT;

    if (mcp_operation_later(x, MCP_RESUME_TOKEN_CHECK_ELSEWHERE, limit)
        == MCP_AGAIN)
    {
        return MCP_NEXT_WAIT;
    }

    /* discards the first part of a list's result */

    x->output.out.len = 0;
    x->output.outcome = "interim";
    mcp_resume_token_interim_again(x, state);

    return mcp_respond_json(x);
}


/* Marks a token as used at this node. Returns the values of
 * mcp_store_value_add(): MCP_ERR_DENIED if the token was used before. */
static int
mcp_resume_token_backend_take(mcp_exchange_t *x, const unsigned char *key,
    uint64_t now)
{
    mcp_tenant_t  tenant;

    mcp_tenant(x->endpoint, x->head.tenant, &tenant);

    return mcp_store_value_add(x->worker->store, MCP_VALUE_TOKEN_USED, key,
                               MCP_RESUME_TOKEN_BACKEND_ACTIVE,
                               mcp_be_get(key + MCP_DIGEST_LEN, 8), now,
                               &tenant);
}


/* Called if no other node uses the token. Prepares a call with the token if no
 * request at this node has used it; otherwise responds with the events of the
 * earlier request's call, or waits for its stream. */
static mcp_next_e
mcp_resume_token_backend_here(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_json_value_t *places, size_t n, mcp_str_t data,
    unsigned char *key, uint64_t now)
{
    int         rc;
    uint32_t    value;
    mcp_next_e  next;

    /* uses the token only if a call can be started */

    if (x->output.fault == MCP_FAULT_NONE) {
        rc = mcp_resume_token_backend_take(x, key, now);

        if (rc == MCP_OK) {
            next = mcp_resume_token_backend_first(x, places, n, data, key);

            if (next == MCP_NEXT_CONTINUE) {
                state->key = key;
            }

            return next;
        }

        mcp_operation_token_give(x->worker, key);

        if (rc == MCP_ERR_LIMIT) {
            return mcp_respond_fault(x, MCP_FAULT_TOO_MANY_VALUES, x->msg->id,
                                     mcp_null_str);
        }

        if (rc != MCP_ERR_DENIED) {
            return mcp_respond_fault(x, MCP_FAULT_STORE_FULL, x->msg->id,
                                     mcp_null_str);
        }

    } else {
        mcp_operation_token_give(x->worker, key);
    }

    rc = mcp_store_value_get(x->worker->store, MCP_VALUE_TOKEN_USED, key,
                             now, &value);

    if (rc != MCP_OK && x->output.fault != MCP_FAULT_NONE) {
        return MCP_NEXT_CONTINUE;
    }

    if (rc == MCP_OK && value != MCP_RESUME_TOKEN_BACKEND_ACTIVE) {
        return mcp_resume_token_backend_repeat(x, state, key, value, 0);
    }

    return mcp_resume_token_backend_wait(x, state, key, now);
}


/* Handles a request with a backend's token. After returning MCP_NEXT_WAIT, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
mcp_next_e
mcp_resume_token_backend_request(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_json_value_t *places, size_t n,
    const unsigned char bind[MCP_DIGEST_LEN])
{
    int             rc;
    uint32_t        value;
    uint64_t        now;
    mcp_str_t       data;
    unsigned char  *key;

    rc = mcp_resume_token_backend_open(x, state->text, bind, &data, &key);
    if (rc != MCP_OK) {
        return rc == MCP_ERR_MEMORY ? MCP_NEXT_ERROR : mcp_resume_refuse(x);
    }

    rc = mcp_operation_token(x, key, mcp_be_get(key + MCP_DIGEST_LEN, 8),
                             &value);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_DENIED
               ? mcp_resume_token_backend_elsewhere(x, state, key, value)
               : mcp_resume_refuse_for(x, rc);
    }

    now = x->worker->env->now(x->worker->env->ctx);

    return mcp_resume_token_backend_here(x, state, places, n, data, key, now);
}


/* Appends the first part of the data that a client's token contains in sealed
 * form. This part precedes the backend's token: the expiry of the client's
 * token, and the id of the call, or zeros if the call's request had no
 * backend's token. */
static void
mcp_resume_token_backend_head(mcp_request_t *req, mcp_buf_t *out)
{
    mcp_call_t          *call;
    mcp_resume_token_t  *state;
    unsigned char        head[MCP_RESUME_TOKEN_BACKEND_HEAD];

    call = req->call;
    state = mcp_resume_token_of(call->states);

    memset(head, 0, sizeof(head));
    mcp_be_put(head, mcp_call_now(call) + call->endpoint->resume_lifetime,
                 8);

    if (state && state->key) {
        memcpy(head + 8, call->id, MCP_STREAM_ID_LEN);
    }

    mcp_buf_add(out, head, sizeof(head));
}


/* Seals the backend's token "inner" into a token for the client, and appends
 * the client's token as a JSON string. Returns MCP_OK or an error. */
static int
mcp_resume_token_backend_seal(mcp_request_t *req, mcp_str_t inner,
    mcp_buf_t *out)
{
    int             rc;
    mcp_buf_t       data;
    mcp_str_t       bound;
    mcp_call_t     *call;
    unsigned char   bind[MCP_DIGEST_LEN], nonce[MCP_SEAL_NONCE_LEN];

    call = req->call;
    bound = (mcp_str_t) { (const char *) bind, MCP_DIGEST_LEN };

    rc = mcp_resume_token_bind(call->endpoint, &call->worker->env->mem,
                               &call->client, req->method->name, req->params,
                               bind);

    if (rc == MCP_OK) {
        rc = mcp_worker_random(call->worker, nonce, sizeof(nonce));
    }

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_buf_init(&data, &call->worker->env->mem, SIZE_MAX / 2);
    mcp_resume_token_backend_head(req, &data);
    mcp_buf_str(&data, inner);

    mcp_buf_lit(out, "\"");
    mcp_buf_str(out, MCP_RESUME_TOKEN_BACKEND_MARK);

    rc = data.failed;

    if (rc == MCP_OK) {
        rc = mcp_token_seal(call->endpoint->keys, MCP_TOKEN_RESUME,
                            bound, (mcp_str_t) { data.data, data.len }, nonce,
                            out);
    }

    mcp_buf_lit(out, "\"");
    mcp_buf_free(&data);

    return rc == MCP_OK ? out->failed : rc;
}


int
mcp_resume_token_backend_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out)
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
    next = mcp_resume_token_next(&result, &meta);

    mcp_buf_init(&token, &call->worker->env->mem, SIZE_MAX / 2);
    rc = MCP_OK;

    /* the token is removed from a result with isError; a null nextResumeToken
     * counts as none */

    if (next.type != MCP_JSON_NULL
        && !mcp_str_eq(mcp_json_get(&result, mcp_str("isError")).raw,
                       mcp_str("true")))
    {
        if (next.type != MCP_JSON_STRING
            || next.raw.len > MCP_RESUME_TOKEN_BACKEND_MAX)
        {
            mcp_call_log(call, MCP_LOG_ERROR, "failed in its backend",
                         "the \"nextResumeToken\" in the result of the "
                         "backend is too long or not a string");
            return MCP_ERR_SYNTAX;
        }

        rc = mcp_resume_token_backend_seal(req, next.raw, &token);
    }

    mcp_resume_token_write(out, &result, &meta,
                           (mcp_str_t) { token.data, token.len },
                           (call->client.capabilities & MCP_CLIENT_TOKENS)
                               != 0);

    mcp_buf_free(&token);

    return rc == MCP_OK ? out->failed : rc;
}


/* Records which stream belongs to the call that has used the token, in the
 * store and in the cluster. */
static void
mcp_resume_token_backend_remember(mcp_call_t *call, mcp_resume_token_t *state)
{
    mcp_tenant_t          tenant;
    const unsigned char  *key;

    key = state->key;
    state->random = (uint32_t) mcp_be_get(call->id,
                                          MCP_RESUME_TOKEN_BACKEND_RANDOM);
    mcp_tenant(call->endpoint, call->tenant, &tenant);

    (void) mcp_store_value_set(call->worker->store, MCP_VALUE_TOKEN_USED,
                               key, state->random,
                               mcp_be_get(key + MCP_DIGEST_LEN, 8), &tenant);

    mcp_operation_token_set(call->worker, key,
                            mcp_be_get(key + MCP_DIGEST_LEN, 8),
                            state->random, call->id);
}


void
mcp_resume_token_backend_start(mcp_call_t *call,
    const mcp_resume_token_t *state)
{
    if (state->key == NULL) {
        return;
    }

    memcpy(call->id + MCP_RESUME_TOKEN_BACKEND_RANDOM,
           state->key + MCP_RESUME_TOKEN_BACKEND_RANDOM,
           MCP_STREAM_ID_LEN - MCP_RESUME_TOKEN_BACKEND_RANDOM);

    /* makes the random bytes differ from MCP_RESUME_TOKEN_BACKEND_ACTIVE */

    call->id[0] |= 1;
    mcp_stream_id_short(call->id_text, call->id);
}


int
mcp_resume_token_backend_begin(mcp_call_t *call)
{
    mcp_resume_token_t  *state;

    state = mcp_resume_token_of(call->states);

    if (state && state->key) {
        mcp_resume_token_backend_remember(call, state);
    }

    return MCP_OK;
}


void
mcp_resume_token_backend_answered(mcp_request_t *req, mcp_outcome_e how)
{
    mcp_call_t          *call;
    mcp_resume_token_t  *state;

    call = req->call;
    state = mcp_resume_token_of(call->states);

    if (state->key && call->phase == MCP_CALL_TRANSIENT) {
        mcp_call_keep(call, req->response, how);
        mcp_resume_token_backend_remember(call, state);
    }
}


static void
mcp_resume_token_backend_forget(mcp_worker_t *worker, mcp_resume_token_t *state)
{
    if (state->key) {
        mcp_resume_token_backend_free(worker, state->key, state->random);
        state->key = NULL;
    }
}


void
mcp_resume_token_backend_refused(mcp_exchange_t *x)
{
    mcp_resume_token_backend_forget(x->worker,
                                    mcp_resume_token_of(x->states));
}


void
mcp_resume_token_backend_failed(mcp_request_t *req)
{
    mcp_resume_token_backend_forget(req->call->worker,
                                    mcp_resume_token_of(req->call->states));
}
