/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams with a URL (SEP-1335): every SSE answer has a Link header with
 * rel="stream".  GET on the URL resumes, POST brings the array of responses
 * that the call waits for.
 *
 * The URL is the one of the request with an argument that holds a token:
 * stream id (16), number of the event that it begins after (8), turn (4),
 * capabilities of the client (2).  A token needs no session, which has its
 * stream all the same.
 *
 * Who answers questions gets a URL of the next turn.  It may not arrive: URLs
 * of a turn are spent when one of a later turn is used, and not before.  The
 * least turn that is good is noted down in the stream, doubled, and one more
 * when its questions were answered by such a URL: then the same answers may
 * come again.
 */


#include "face/mcp_face_common.h"
#include "mcp_http.h"


/* where in the token, behind the stream's id */
#define MCP_FACE_LINK_AFTER    MCP_STREAM_ID_LEN
#define MCP_FACE_LINK_TURN     (MCP_FACE_LINK_AFTER + 8)
#define MCP_FACE_LINK_CAN      (MCP_FACE_LINK_TURN + 4)
#define MCP_FACE_LINK_LEN      (MCP_FACE_LINK_CAN + 2)

#define MCP_FACE_LINK_ARG      "mcp-stream="
#define MCP_FACE_LINK_ARG_LEN  (sizeof(MCP_FACE_LINK_ARG) - 1)
#define MCP_FACE_LINK_REL      ">; rel=\"stream\""

#define mcp_face_link_least(info)     ((info)->turn / 2)
#define mcp_face_link_answered(info)  ((info)->turn % 2)

#define MCP_FACE_LINK_TARGET_MAX  2048
#define MCP_FACE_LINK_OTHER                                                  \
    (sizeof("<https:///&>" MCP_FACE_LINK_ARG MCP_FACE_LINK_REL)              \
     + MCP_HTTP_AUTHORITY_MAX + MCP_TOKEN_TEXT_MAX)

#define MCP_FACE_LINK_QUOTE_MAX   100
#define MCP_FACE_LINK_TELL_AFTER  60000        /* ms */


/* Visible ASCII without what would end a URL between "<" and ">". */
static int
mcp_face_link_is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '<' && c != '>' && c != '"'
           && c != '\\';
}


/* A path, which may be empty, and a query; no fragment. */
static int
mcp_face_link_is_target(mcp_str_t s)
{
    return s.len <= MCP_FACE_LINK_TARGET_MAX
           && (s.len == 0
               || ((s.data[0] == '/' || s.data[0] == '?')
                   && memchr(s.data, '#', s.len) == NULL));
}


/* As it is, but what cannot stand in the header: that is the same in other
 * words (RFC 3986, 2.1). */
static char *
mcp_face_link_put(char *p, mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    static const char  digits[] = "0123456789ABCDEF";

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (mcp_face_link_is_plain(c)) {
            *p++ = (char) c;
            continue;
        }

        *p++ = '%';
        *p++ = digits[c >> 4];
        *p++ = digits[c & 0xf];
    }

    return p;
}


static int
mcp_face_link_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}


/* The first character of s, which is not empty, and how many bytes it takes:
 * what is percent-encoded is the same (RFC 3986, 6.2.2.2). */
static size_t
mcp_face_link_char(const char *s, size_t len, char *c)
{
    int  high, low;

    if (*s == '%' && len >= 3) {
        high = mcp_face_link_hex(s[1]);
        low = mcp_face_link_hex(s[2]);

        if (high >= 0 && low >= 0) {
            *c = (char) (high << 4 | low);
            return 3;
        }
    }

    *c = *s;

    return 1;
}


/* How many bytes our argument's name and "=" take at s; 0: they are not
 * there. */
static size_t
mcp_face_link_name(const char *s, size_t len)
{
    char    c;
    size_t  i, n;

    static const char  name[] = MCP_FACE_LINK_ARG;

    n = 0;

    for (i = 0; name[i] != '='; i++) {
        if (n == len) {
            return 0;
        }

        n += mcp_face_link_char(s + n, len - n, &c);

        if (c != name[i]) {
            return 0;
        }
    }

    return n < len && s[n] == '=' ? n + 1 : 0;
}


/* A token as it was before somebody has encoded it; one that does not fit is
 * none. */
static mcp_str_t
mcp_face_link_decode(mcp_str_t s, char *buf, size_t size)
{
    size_t  i, n;

    n = 0;

    for (i = 0; i < s.len; n++) {
        if (n == size) {
            return mcp_null_str;
        }

        i += mcp_face_link_char(s.data + i, s.len - i, buf + n);
    }

    return (mcp_str_t) { buf, n };
}


/*
 * The next argument of a query, *rest being what follows it; 0 at the end.
 * *value gets what our argument holds, and is left alone by others: of several
 * the last one counts.
 */
static int
mcp_face_link_arg(mcp_str_t *rest, mcp_str_t *arg, mcp_str_t *value)
{
    size_t  n;

    if (rest->len == 0) {
        return 0;
    }

    for (n = 0; n < rest->len && rest->data[n] != '&'; n++) { /* void */ }

    arg->data = rest->data;
    arg->len = n;
    n += (n < rest->len);
    rest->data += n;
    rest->len -= n;

    n = mcp_face_link_name(arg->data, arg->len);

    if (n) {
        value->data = arg->data + n;
        value->len = arg->len - n;
    }

    return 1;
}


/* Cuts a target in two: what is before the query, and the query. */
static mcp_str_t
mcp_face_link_path(mcp_str_t target, mcp_str_t *query)
{
    size_t  n;

    for (n = 0; n < target.len && target.data[n] != '?'; n++) { /* void */ }

    query->data = target.data + n;
    query->len = target.len - n;

    if (query->len) {
        query->data++;
        query->len--;
    }

    target.len = n;

    return target;
}


/* Wherever the argument could begin, and up to where it, or the target that it
 * is in, ends. */
static int
mcp_face_link_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret)
{
    size_t       i, n, end;
    const char  *p;

    if (!endpoint->link) {
        return 0;
    }

    p = rest->data;

    for (i = 0; i < rest->len; i++) {
        if (i > 0 && p[i - 1] != '?' && p[i - 1] != '&') {
            continue;
        }

        n = mcp_face_link_name(p + i, rest->len - i);

        if (n == 0) {
            continue;
        }

        i += n;

        for (end = i; end < rest->len; end++) {
            if (p[end] == '&' || p[end] == ' ') {
                break;
            }
        }

        secret->data = p + i;
        secret->len = end - i;
        rest->data += end;
        rest->len -= end;

        return 1;
    }

    return 0;
}


static int
mcp_face_link_look(mcp_exchange_t *x, const mcp_head_t *head)
{
    mcp_str_t          query, arg;
    mcp_link_t        *link;

    if (!x->endpoint->link) {
        return MCP_DONE;
    }

    link = &x->link;
    link->origin = head->origin;
    link->secure = head->secure;

    mcp_face_link_path(link->target, &query);

    while (mcp_face_link_arg(&query, &arg, &link->token)) { /* void */ }

    return link->token.data && (x->method == MCP_HTTP_GET
                                || x->method == MCP_HTTP_POST)
           ? MCP_OK : MCP_DONE;
}


/* The operator's expression makes something else.  That may be so with every
 * request, and is told from time to time. */
static void
mcp_face_link_tell(mcp_exchange_t *x)
{
    uint64_t     now;
    mcp_str_t    origin;
    mcp_worker_t  *worker;

    worker = x->worker;
    now = worker->env->now(worker->env->ctx);

    if (worker->link_told
        && now < worker->link_told + MCP_FACE_LINK_TELL_AFTER)
    {
        return;
    }

    worker->link_told = now;
    origin = x->link.origin;

    mcp_worker_log(worker, MCP_LOG_WARN,
                 "a stream has no URL: \"%.*s\" is not http:// or https:// and "
                 "a host",
                 (int) (origin.len > MCP_FACE_LINK_QUOTE_MAX
                        ? MCP_FACE_LINK_QUOTE_MAX : origin.len),
                 origin.data);
}


/* Whether a URL can be made of what came. */
static int
mcp_face_link_can(mcp_exchange_t *x)
{
    const mcp_link_t  *link;

    link = &x->link;

    if (!mcp_face_link_is_target(link->target)) {
        return 0;
    }

    if (link->origin.len == 0) {
        return mcp_http_is_authority(link->host);
    }

    if (mcp_http_is_web_origin(link->origin)) {
        return 1;
    }

    mcp_face_link_tell(x);

    return 0;
}


/* The URL less its token: path, other arguments, ours.  The path may be empty
 * in absolute form. */
static char *
mcp_face_link_print(const mcp_link_t *link, char *p)
{
    char       sep;
    mcp_str_t  path, query, arg, ours;

    *p++ = '<';

    if (link->origin.len) {
        memcpy(p, link->origin.data, link->origin.len);
        p += link->origin.len;

    } else {
        memcpy(p, "https", 5);
        p += link->secure ? 5 : 4;
        memcpy(p, "://", 3);
        p += 3;
        memcpy(p, link->host.data, link->host.len);
        p += link->host.len;
    }

    path = mcp_face_link_path(link->target, &query);

    if (path.len == 0) {
        path = mcp_str("/");
    }

    p = mcp_face_link_put(p, path);
    sep = '?';

    for ( ;; ) {
        ours.data = NULL;

        if (!mcp_face_link_arg(&query, &arg, &ours)) {
            break;
        }

        if (ours.data == NULL && arg.len) {
            *p++ = sep;
            p = mcp_face_link_put(p, arg);
            sep = '&';
        }
    }

    *p++ = sep;
    memcpy(p, MCP_FACE_LINK_ARG, MCP_FACE_LINK_ARG_LEN);

    return p + MCP_FACE_LINK_ARG_LEN;
}


static void
mcp_face_link_head(mcp_exchange_t *x)
{
    char                *start, *p;
    unsigned char        data[MCP_FACE_LINK_LEN];
    const mcp_link_t    *link;
    mcp_stream_info_t    info;

    link = &x->link;

    if (!x->endpoint->link || x->bound
        || mcp_store_info(x->worker->store, &x->ref, &info) != MCP_OK)
    {
        return;
    }

    if (x->link.turn < mcp_face_link_least(&info)) {
        x->link.turn = mcp_face_link_least(&info);
    }

    if (!mcp_face_link_can(x)) {
        return;
    }

    /* without memory for it there is none */

    start = mcp_arena_alloc(&x->arena,
                            MCP_FACE_LINK_OTHER + 3 * link->target.len);
    if (start == NULL) {
        return;
    }

    memcpy(data, x->ref.id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_FACE_LINK_AFTER, x->first, 8);
    mcp_be_put(data + MCP_FACE_LINK_TURN, x->link.turn, 4);
    mcp_be_put(data + MCP_FACE_LINK_CAN, x->session.capabilities, 2);

    p = mcp_token_sign(x->endpoint->keys, MCP_TOKEN_LINK, data,
                       sizeof(data), mcp_face_link_print(link, start));
    if (p == NULL) {
        return;
    }

    memcpy(p, MCP_FACE_LINK_REL, sizeof(MCP_FACE_LINK_REL) - 1);
    p += sizeof(MCP_FACE_LINK_REL) - 1;

    mcp_answer_header(x, mcp_str("Link"),
                      (mcp_str_t) { start, (size_t) (p - start) });

    x->link.given = 1;

    /* who came back by an event id does not know of URLs: it is not sent away
     * again, and answers at the endpoint */

    if (x->face == &mcp_face_link || x->call) {
        x->link.closes = 1;
    }
}


/* It goes on when the client has answered, and what it may have answered is not
 * on its way to the call: who comes for what follows is to wait for that. */
static int
mcp_face_link_waits(const mcp_stream_info_t *info)
{
    return info->state == MCP_STATE_INPUT_REQUIRED && !info->posted;
}


/* While its questions are with the client there is nothing to wait for. */
static int
mcp_face_link_idle(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return x->link.closes
           && mcp_store_info(x->worker->store, &x->ref, &info) == MCP_OK
           && mcp_face_link_waits(&info);
}


/* What is true of a URL now need not be true the next time. */
static void
mcp_face_link_not_stored(mcp_exchange_t *x)
{
    mcp_answer_header(x, mcp_str("Cache-Control"), mcp_str("no-store"));
}


static int
mcp_face_link_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_face_link_not_stored(x);

    return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
}


static int
mcp_face_link_nothing(mcp_exchange_t *x, const char *outcome)
{
    mcp_face_link_not_stored(x);
    x->outcome = outcome;

    return mcp_answer_status(x, 204);
}


/* Notes the turn down as it is in the stream, unless it is there already. */
static void
mcp_face_link_note(mcp_exchange_t *x, mcp_stream_info_t *info, uint32_t turn)
{
    mcp_store_t  *store;

    store = x->worker->store;

    while (info->turn < turn
           && mcp_store_set_turn(store, &info->ref, info->turn, turn)
              == MCP_ERR_DENIED
           && mcp_store_info(store, &info->ref, info) == MCP_OK)
    {
        /* void */
    }

    if (info->turn < turn) {
        info->turn = turn;
    }
}


/* The stream that the URL names, and where it begins.  Without a session in
 * the request it becomes the stream's. */
static mcp_fault_e
mcp_face_link_find(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint64_t *after)
{
    uint32_t        value;
    uint64_t        now;
    mcp_fault_e     fault;
    mcp_str_t       token;
    mcp_store_t    *store;
    char            text[MCP_TOKEN_TEXT_MAX];
    unsigned char   data[MCP_FACE_LINK_LEN];

    store = x->worker->store;
    now = x->worker->env->now(x->worker->env->ctx);

    fault = x->session_text.len ? mcp_exchange_check_session(x)
                                : mcp_exchange_check_revision(x);

    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    token = mcp_face_link_decode(x->link.token, text, sizeof(text));

    if (mcp_face_open_token(x->endpoint->keys, MCP_TOKEN_LINK, token,
                            data, sizeof(data))
        != MCP_OK)
    {
        return MCP_FAULT_LINK;
    }

    *after = mcp_be_get(data + MCP_FACE_LINK_AFTER, 8);
    x->link.turn = (uint32_t) mcp_be_get(data + MCP_FACE_LINK_TURN, 4);

    if (mcp_store_find(store, data, now, info) != MCP_OK
        || !(info->kind == MCP_STREAM_LISTEN ? mcp_face_owns(x, info)
                                             : mcp_face_allows(x, info))
        || x->link.turn < mcp_face_link_least(info)
        || mcp_store_value_get(store, 'd', info->session, now, &value)
           == MCP_OK)
    {
        return MCP_FAULT_LINK;
    }

    if (!x->has_session) {
        memcpy(x->session.id, info->session, MCP_DIGEST_LEN);
        memcpy(x->session.principal, info->principal, MCP_DIGEST_LEN);
        x->session.revision = (mcp_revision_e) info->revision;
        x->session.capabilities =
            (unsigned) mcp_be_get(data + MCP_FACE_LINK_CAN, 2);
    }

    /* its client has it: those before are spent */

    mcp_face_link_note(x, info, 2 * x->link.turn);

    return MCP_FAULT_NONE;
}


static int
mcp_face_link_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after)
{
    int  rc;

    x->listener = (info->kind == MCP_STREAM_LISTEN);

    rc = x->event_id.len ? mcp_consumer_start(x, &info->ref, after)
                         : mcp_consumer_start_kept(x, info, after);

    switch (rc) {

    case MCP_OK:
        x->resumed = 1;
        mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

        if (!x->listener) {
            mcp_consumer_close_at_will(x, info);
        }

        return MCP_DONE;

    case MCP_ERR_PURGED:
        return mcp_face_link_refuse(x, MCP_FAULT_EVENT_PURGED);

    case MCP_ERR_NOT_FOUND:
        return mcp_face_link_refuse(x, MCP_FAULT_LINK);

    default:
        return MCP_ERR_MEMORY;
    }
}


/*
 * Without Last-Event-ID from where the URL's stream begins: that a client has
 * what was written to it, only the client can say.  204 when it has all that
 * there will be before it does something itself.
 */
static int
mcp_face_link_get(mcp_exchange_t *x)
{
    uint64_t           after;
    mcp_fault_e        fault;
    mcp_stream_info_t  info;

    fault = mcp_face_link_find(x, &info, &after);

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_face_cursor(x, &info, &after);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_face_link_refuse(x, fault);
    }

    if (after & MCP_EVENT_ANSWERED) {
        return mcp_face_link_nothing(x, "finished");
    }

    if (after == info.last_seq) {

        if (info.state >= MCP_STATE_COMPLETED) {
            return mcp_face_link_nothing(x, "finished");
        }

        if (mcp_face_link_waits(&info)) {
            mcp_store_touch(x->worker->store, &info.ref,
                            x->worker->env->now(x->worker->env->ctx));
            return mcp_face_link_nothing(x, "input");
        }
    }

    return mcp_face_link_start(x, &info, after);
}


/* All of them are responses to requests of this stream, of which there are no
 * more than events; *after is raised to the last of these. */
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
        if (mcp_rpc_parse(&x->arena, items[i], x->endpoint->max_depth, &msg)
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
 * its own.  Answers that come again are passed over by the call, which may be
 * over: how it goes on comes on the new stream.  Noted down before they are
 * given, as who repeats them may meet a call that goes on already.
 */
static int
mcp_face_link_answer(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint64_t after, mcp_str_t text)
{
    int  rc;

    mcp_face_link_note(x, info, 2 * x->link.turn + 1);

    rc = mcp_input_post(x, &info->ref, text);

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        return mcp_face_link_refuse(x, MCP_FAULT_STORE_FULL);
    }

    x->link.turn++;

    return mcp_face_link_start(x, info, after);
}


/* The new stream begins after what is known to have arrived: who answers a
 * question has it, and what was before it. */
static int
mcp_face_link_post(mcp_exchange_t *x, mcp_str_t text)
{
    size_t              n;
    uint64_t            after, seen;
    mcp_fault_e         fault;
    mcp_stream_info_t   info;

    n = 0;
    seen = 0;
    fault = mcp_face_link_find(x, &info, &after);

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_face_link_read(x, text, &info, &n, &after);
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

    mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, (int64_t) n);

    return mcp_face_link_answer(x, &info, after, text);
}


const mcp_face_t  mcp_face_link = {
    .name = { "link", 4 },
    .secret = mcp_face_link_secret,
    .look = mcp_face_link_look,
    .get = mcp_face_link_get,
    .post = mcp_face_link_post,
    .head = mcp_face_link_head,
    .idle = mcp_face_link_idle
};
