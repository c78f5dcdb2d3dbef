
/*
 * Resume tokens in params and results (MCP PR #1003), for clients that declare
 * resumeTokens.  Two kinds:
 *
 *   'b'  a backend's own: what it returns as nextResumeToken goes out wrapped,
 *        and comes back to it unwrapped, once.
 *   'm'  ours: a tool's call that takes long is answered with an interim
 *        result; the same request with the token is answered with the rest.
 *
 * The token: kind (1), expiry in ms (8), digest of whose it is and of the
 * request (16), then the stream id (16) or the digest of the backend's token
 * (16), and the last event before the interim result (8; else random, so that
 * no two are the same).  A backend's token follows in base64url, behind a
 * dot.
 *
 * One of ours is good until it expires or the stream has gone: who has it has
 * the events before it, and gets all others again, since what was written to
 * a connection may have been lost with it.
 */


#include "mcp_base64.h"
#include "mcp_face.h"


#define MCP_FACE_TOKEN_PURPOSE  'n'    /* of tokens, and of values: spent */
#define MCP_FACE_TOKEN_LEN      (1 + 8 + 2 * MCP_DIGEST_LEN + 8)

#define MCP_FACE_TOKEN_OF_BIND  9
#define MCP_FACE_TOKEN_OF_REST  (9 + MCP_DIGEST_LEN)
#define MCP_FACE_TOKEN_OF_SEQ   (9 + 2 * MCP_DIGEST_LEN)

/* of a backend; longer ones are not passed on */
#define MCP_FACE_TOKEN_MAX      2048

#define MCP_FACE_TOKEN_NEXT     mcp_str("nextResumeToken")
#define MCP_FACE_TOKEN_KEY      mcp_str("resumeToken")

#define MCP_FACE_TOKEN_TEXT                                                  \
    "Interim result: the call has not ended yet. Repeat the same request "   \
    "with the resume token to get the rest."


static int
mcp_face_token_asked(const mcp_endpoint_t *endpoint,
    const mcp_session_t *session)
{
    return endpoint->resume_tokens
           || (session->capabilities & MCP_CLIENT_TOKENS) != 0;
}


/* JSON without white space between its parts. */
static void
mcp_face_token_compact(mcp_buf_t *buf, mcp_str_t raw)
{
    const char  *p, *end, *next;

    end = raw.data + raw.len;

    for (p = raw.data; p < end; p = next) {
        next = p + 1;

        if (*p == '"') {
            next = mcp_json_string_end(p, end);
            next = next ? next : end;

        } else if (mcp_json_is_space(*p)) {
            continue;
        }

        mcp_buf_add(buf, p, (size_t) (next - p));
    }
}


/* Whose request it is and what it asks for, whatever token it brings. */
static int
mcp_face_token_bind(const mcp_mem_t *mem, const mcp_session_t *session,
    mcp_str_t method, mcp_str_t params, unsigned char out[MCP_DIGEST_LEN])
{
    int               rc;
    mcp_buf_t         buf;
    mcp_str_t         key, parts[5];
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_buf_init(&buf, mem, SIZE_MAX / 2);
    mcp_json_iter_init(&iter, params);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, mcp_str("_meta"))
            || mcp_json_str_eq(key, MCP_FACE_TOKEN_KEY))
        {
            continue;
        }

        mcp_face_token_compact(&buf, key);
        mcp_buf_lit(&buf, ":");
        mcp_face_token_compact(&buf, value.raw);
        mcp_buf_lit(&buf, ",");
    }

    parts[0] = mcp_str("resume");
    parts[1] = (mcp_str_t) { (const char *) session->id, MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { (const char *) session->principal,
                             MCP_DIGEST_LEN };
    parts[3] = method;
    parts[4] = (mcp_str_t) { buf.data, buf.len };

    rc = buf.failed;

    if (rc == MCP_OK) {
        rc = mcp_digest(out, parts, 5);
    }

    mcp_buf_free(&buf);

    return rc;
}


static void
mcp_face_token_make(unsigned char data[MCP_FACE_TOKEN_LEN], char kind,
    uint64_t expires, const unsigned char bind[MCP_DIGEST_LEN],
    const unsigned char rest[MCP_DIGEST_LEN], uint64_t seq)
{
    data[0] = (unsigned char) kind;
    mcp_face_put(data + 1, expires, 8);
    memcpy(data + MCP_FACE_TOKEN_OF_BIND, bind, MCP_DIGEST_LEN);
    memcpy(data + MCP_FACE_TOKEN_OF_REST, rest, MCP_DIGEST_LEN);
    mcp_face_put(data + MCP_FACE_TOKEN_OF_SEQ, seq, 8);
}


/* --- what clients bring --- */

/* The tokens in an object: behind the n that there are already, as far as
 * there is room; the number of all. */
static size_t
mcp_face_token_place(const mcp_json_value_t *object,
    mcp_json_value_t places[2], size_t n)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (object->type != MCP_JSON_OBJECT) {
        return n;
    }

    mcp_json_iter_init(&iter, object->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!mcp_json_str_eq(key, MCP_FACE_TOKEN_KEY)) {
            continue;
        }

        if (n < 2) {
            places[n] = value;
        }

        n++;
    }

    return n;
}


/* Where a request has its token: in _meta, or at the top of params.  All of
 * them, as who reads it next may take another than we. */
static size_t
mcp_face_token_places(const mcp_rpc_t *msg, mcp_json_value_t places[2])
{
    return mcp_face_token_place(&msg->meta, places,
                                mcp_face_token_place(&msg->params, places, 0));
}


/* A token's signed part and, behind a dot, a backend's own, which is put into
 * the arena. */
static int
mcp_face_token_read(mcp_exchange_t *x, mcp_str_t text,
    unsigned char data[MCP_FACE_TOKEN_LEN], mcp_str_t *inner)
{
    size_t          n, len, max;
    mcp_str_t       head;
    unsigned char  *p;
    unsigned char   digest[MCP_DIGEST_LEN];

    for (n = 0; n < text.len && text.data[n] != '.'; n++) { /* void */ }

    head.data = text.data;
    head.len = n;
    *inner = mcp_null_str;

    if (mcp_face_open_token(x->endpoint->keys, MCP_FACE_TOKEN_PURPOSE, head,
                            data, MCP_FACE_TOKEN_LEN)
        != MCP_OK)
    {
        return MCP_ERR_NOT_FOUND;
    }

    if (data[0] != 'b') {
        return n == text.len ? MCP_OK : MCP_ERR_NOT_FOUND;
    }

    if (n == text.len) {
        return MCP_ERR_NOT_FOUND;
    }

    head.data = text.data + n + 1;
    head.len = text.len - n - 1;
    max = mcp_base64url_decoded_len(head.len);

    if (max > MCP_FACE_TOKEN_MAX) {
        return MCP_ERR_NOT_FOUND;
    }

    p = mcp_arena_alloc(&x->arena, max + 1);
    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_base64url_decode(head, p, max, &len) != MCP_OK) {
        return MCP_ERR_NOT_FOUND;
    }

    inner->data = (const char *) p;
    inner->len = len;

    if (mcp_digest(digest, inner, 1) != MCP_OK
        || memcmp(digest, data + MCP_FACE_TOKEN_OF_REST, MCP_DIGEST_LEN) != 0)
    {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
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

    mcp_buf_init(&buf, &x->node->env->mem, SIZE_MAX / 2);
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


/* A backend's token may be used once, unless that ends with an error. */
static int
mcp_face_token_pass(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, const unsigned char data[MCP_FACE_TOKEN_LEN], mcp_str_t inner)
{
    int             rc;
    uint64_t        now, expires;
    mcp_str_t       part;
    unsigned char  *key;

    /* a call that is refused does not use it up */

    if (x->full) {
        return MCP_AGAIN;
    }

    now = x->node->env->now(x->node->env->ctx);
    expires = mcp_face_take(data + 1, 8);

    key = mcp_arena_alloc(&x->arena, MCP_DIGEST_LEN);
    if (key == NULL) {
        return MCP_ERR_MEMORY;
    }

    part.data = (const char *) data;
    part.len = MCP_FACE_TOKEN_LEN;

    rc = mcp_digest(key, &part, 1);

    if (rc == MCP_OK) {
        rc = mcp_face_token_unwrap(x, places, n, inner);
    }

    if (rc != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    switch (mcp_store_value_add(x->node->store, MCP_FACE_TOKEN_PURPOSE, key,
                                1, expires, now))
    {
    case MCP_OK:
        x->token.spent = key;
        return MCP_AGAIN;

    case MCP_ERR_DENIED:
        return mcp_face_refuse(x);

    default:
        return mcp_exchange_fault(x, MCP_FAULT_STORE_FULL, x->msg.id,
                                  mcp_null_str);
    }
}


/* The rest of a call that was answered with an interim result, after event
 * seq. */
static int
mcp_face_token_rest(mcp_exchange_t *x, const unsigned char *id, uint64_t seq)
{
    int                rc;
    mcp_stream_info_t  info;

    if (mcp_face_find(x, id, &info) != MCP_OK) {
        return mcp_face_refuse(x);
    }

    x->face = &mcp_face_token;
    x->exact = 1;
    x->token.rest = 1;
    memcpy(x->token.stream, info.ref.id, MCP_STREAM_ID_LEN);

    rc = mcp_consumer_start_kept(x, &info, seq);

    if (rc == MCP_ERR_NOT_FOUND || rc == MCP_ERR_PURGED) {
        return mcp_face_refuse(x);
    }

    if (rc != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    x->resumed = 1;
    mcp_store_count(x->node->store, MCP_COUNT_RESUMES, 1);
    mcp_call_also_known(x, &info.ref);
    mcp_consumer_close_at(x, x->token.at);

    return MCP_DONE;
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
        || mcp_method_find(x->msg.method)->want != MCP_BACKEND_TOOL)
    {
        return 0;
    }

    return x->node->env->now(x->node->env->ctx) + policy.resume_after;
}


static int
mcp_face_token_call(mcp_exchange_t *x)
{
    int               rc;
    size_t            n;
    mcp_str_t         text, inner;
    mcp_json_value_t  places[2];
    unsigned char     bind[MCP_DIGEST_LEN], data[MCP_FACE_TOKEN_LEN];

    if (!mcp_face_token_asked(x->endpoint, &x->session)) {
        return MCP_AGAIN;
    }

    x->token.at = mcp_face_token_when(x);
    x->exact = (x->token.at != 0);
    n = mcp_face_token_places(&x->msg, places);

    if (n == 0) {
        return MCP_AGAIN;
    }

    /* if there are two, they must be the same one */

    if (n > 2 || places[0].type != MCP_JSON_STRING
        || (n == 2 && !mcp_str_eq(places[0].raw, places[1].raw)))
    {
        return mcp_face_refuse(x);
    }

    if (mcp_json_unescape(&x->arena, places[0].raw, &text) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_face_token_read(x, text, data, &inner);

    if (rc == MCP_OK) {
        rc = mcp_face_token_bind(&x->node->env->mem, &x->session,
                                 x->msg.method, x->msg.params.raw, bind);
    }

    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    if (rc != MCP_OK
        || memcmp(bind, data + MCP_FACE_TOKEN_OF_BIND, MCP_DIGEST_LEN) != 0
        || mcp_face_take(data + 1, 8) <= x->node->env->now(x->node->env->ctx))
    {
        return mcp_face_refuse(x);
    }

    if (data[0] == 'b') {
        return mcp_face_token_pass(x, places, n, data, inner);
    }

    return mcp_face_token_rest(x, data + MCP_FACE_TOKEN_OF_REST,
                               mcp_face_take(data + MCP_FACE_TOKEN_OF_SEQ, 8));
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
    call->requests[0].spent = x->token.spent;
    memcpy(x->token.stream, call->id, MCP_STREAM_ID_LEN);
}


/* The response, as it would be the last: it says that it is not. */
static void
mcp_face_token_interim(mcp_exchange_t *x)
{
    mcp_buf_t       *out, token;
    unsigned char    bind[MCP_DIGEST_LEN], data[MCP_FACE_TOKEN_LEN];

    out = &x->out;
    mcp_buf_init(&token, &x->node->env->mem, MCP_TOKEN_TEXT_MAX + 2);

    if (mcp_face_token_bind(&x->node->env->mem, &x->session, x->msg.method,
                            x->msg.params.raw, bind)
        != MCP_OK)
    {
        out->failed = MCP_ERR_MEMORY;
        return;
    }

    mcp_face_token_make(data, 'm',
                        x->node->env->now(x->node->env->ctx)
                        + x->endpoint->resume_lifetime,
                        bind, x->token.stream, x->cursor.seq);
    mcp_face_add_token(&token, x->endpoint->keys, MCP_FACE_TOKEN_PURPOSE,
                       data, sizeof(data));

    if (token.failed) {
        out->failed = token.failed;

    } else {
        mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        mcp_buf_str(out, x->msg.id);
        mcp_buf_lit(out, ",\"result\":{\"content\":[{\"type\":\"text\","
                         "\"text\":\"" MCP_FACE_TOKEN_TEXT "\"}],"
                         "\"nextResumeToken\":");
        mcp_buf_add(out, token.data, token.len);
        mcp_buf_lit(out, ",\"_meta\":{\"nextResumeToken\":");
        mcp_buf_add(out, token.data, token.len);
        mcp_buf_lit(out, "}}}");
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


/*
 * A connection that ends before its response: for want of time, or because
 * the process winds up, or superseded.  A stream of the rest cannot be resumed
 * by an event id; any other may.
 *
 * Who is superseded gets no other interim result: with that it would take the
 * stream back, and so on for ever.  Its client has the rest already, by its
 * newer request.
 */
static void
mcp_face_token_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    uint64_t  now;

    if (how != MCP_TAIL_PARTED) {

        if (x->token.rest && !x->token.answered) {
            mcp_face_token_refuse(x);
        }

        return;
    }

    now = x->node->env->now(x->node->env->ctx);

    if (x->token.rest || (x->token.at && now >= x->token.at)) {
        mcp_buf_lit(&x->out, "data: ");
        mcp_face_token_interim(x);
        mcp_buf_lit(&x->out, "\n\n");
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

    mcp_arena_init(&arena, &x->node->env->mem);

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

        rc = mcp_store_read(x->node->store, &x->ref, x->handle, &x->cursor,
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
    int is_meta, const mcp_buf_t *token, int *first)
{
    if (object->type == MCP_JSON_OBJECT) {
        mcp_face_token_members(out, object->raw, is_meta, first);
    }

    if (token->len) {
        mcp_face_token_comma(out, first);
        mcp_buf_lit(out, "\"nextResumeToken\":");
        mcp_buf_add(out, token->data, token->len);
    }
}


/* The wrapped token, as a JSON string. */
static int
mcp_face_token_wrap(mcp_request_t *req, mcp_str_t inner, mcp_buf_t *out)
{
    int                     rc;
    char                   *p;
    size_t                  len;
    uint64_t                which;
    mcp_call_t             *call;
    unsigned char           bind[MCP_DIGEST_LEN], rest[MCP_DIGEST_LEN];
    unsigned char           data[MCP_FACE_TOKEN_LEN];

    call = req->call;
    which = 0;

    rc = mcp_face_token_bind(&call->node->env->mem, &call->session,
                             req->method->name, req->params, bind);

    if (rc == MCP_OK) {
        rc = mcp_digest(rest, &inner, 1);
    }

    /* equal results of one moment have a token each */

    if (rc == MCP_OK) {
        rc = mcp_node_random(call->node, &which, sizeof(which));
    }

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_face_token_make(data, 'b',
                        mcp_call_now(call) + call->endpoint->resume_lifetime,
                        bind, rest, which);
    mcp_face_add_token(out, call->endpoint->keys, MCP_FACE_TOKEN_PURPOSE,
                       data, sizeof(data));

    len = mcp_base64url_len(inner.len);
    p = mcp_buf_reserve(out, len + 2);

    if (p) {
        p[-1] = '.';                   /* the quote comes behind it all */
        (void) mcp_base64url_encode(p, inner.data, inner.len);
        p[len] = '"';
        out->len += len + 1;
    }

    return out->failed;
}


static int
mcp_face_token_result(mcp_request_t *req, mcp_str_t body, mcp_buf_t *out)
{
    int               rc, first;
    mcp_buf_t         token;
    mcp_call_t       *call;
    mcp_json_value_t  result, meta, next, top;

    call = req->call;

    if (call->batch || !mcp_face_token_asked(call->endpoint, &call->session)
        || body.len < 2 || body.data[0] != '{')
    {
        return MCP_DONE;
    }

    result = (mcp_json_value_t) { MCP_JSON_OBJECT, body };
    meta = mcp_json_get(&result, mcp_str("_meta"));
    top = mcp_json_get(&result, MCP_FACE_TOKEN_NEXT);
    next = mcp_json_get(&meta, MCP_FACE_TOKEN_NEXT);

    if (next.type == MCP_JSON_NONE) {
        next = top;
    }

    if (next.type == MCP_JSON_NONE) {
        return MCP_DONE;
    }

    mcp_buf_init(&token, &call->node->env->mem, SIZE_MAX / 2);
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

        rc = mcp_face_token_wrap(req, next.raw, &token);
    }

    first = 1;
    mcp_buf_lit(out, "{");
    mcp_face_token_object(out, &result, 0, &token, &first);

    if (meta.type == MCP_JSON_OBJECT || token.len) {
        mcp_face_token_comma(out, &first);
        mcp_buf_lit(out, "\"_meta\":{");
        first = 1;
        mcp_face_token_object(out, &meta, 1, &token, &first);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");

    mcp_buf_free(&token);

    return rc == MCP_OK ? out->failed : rc;
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
    mcp_face_token_restore(x->node->store, &x->token.spent);
}


static void
mcp_face_token_undo(mcp_request_t *req)
{
    mcp_face_token_restore(req->call->node->store, &req->spent);
}


const mcp_face_t  mcp_face_token = {
    .name = { "tokens", 6 },
    .read = mcp_face_token_fetch,
    .tail = mcp_face_token_tail,
    .call = mcp_face_token_call,
    .start = mcp_face_token_start,
    .unmade = mcp_face_token_unmade,
    .interim = mcp_face_token_interim,
    .result = mcp_face_token_result,
    .undo = mcp_face_token_undo
};
