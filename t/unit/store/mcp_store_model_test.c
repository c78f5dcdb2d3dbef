/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random operations on a store and on a simple model in ordinary memory. After
 * each operation both are compared: results, events byte by byte, inboxes,
 * values, subscriptions, quotas. Some operations kill a process or start a
 * repair.
 *
 * STORE_SEED repeats a run, STORE_ROUNDS makes it longer.
 */


#include "store_driver.h"


#define STREAMS    24
#define SESSIONS   4
#define KEYS       40
#define TOPICS     5
#define EVENTS     4000                /* maximum number of events of a
                                          stream */
#define POSTS      64
#define CONSUMERS  3                   /* number of consumer handles of a
                                          stream */
#define TENANTS    4                   /* tenant 0: none, without quotas */


typedef struct {
    int                 there;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;
    mcp_stream_state_e  state;
    unsigned            number;        /* number among all streams ever
                                          created */
    uint32_t            len[EVENTS];
    uint8_t             text[EVENTS];  /* argument n of store_message() */
    uint64_t            first;
    uint64_t            last;
    uint64_t            sent;
    uint64_t            confirmed;
    uint64_t            answered;
    uint64_t            failed;
    uint64_t            failed_seq;
    uint64_t            created;
    uint64_t            unattended;
    uint64_t            ended;
    unsigned            owner;         /* process; STORE_PROCESSES: none */

    int                 consumer;      /* handle; -1: none */
    unsigned            slot;          /* process of the consumer */
    mcp_cursor_t        cursor[CONSUMERS];
    size_t              pos[CONSUMERS];    /* bytes read of the current
                                              event */

    unsigned            n_posts;
    struct {
        mcp_inbox_item_e type;
        uint64_t        tag;
        size_t          len;
    } post[POSTS];

    int                 sub[TOPICS];
} model_t;


static store_driver_t  d;
static model_t         model[STREAMS];
static uint64_t        seed, now;
static unsigned        numbers;
static int             tight;          /* 1: the region is small */
static int             shared;         /* 1: streams and values belong to
                                          different tenants */
static mcp_tenant_t    tenants[TENANTS];

static struct {
    int                 there;
    uint32_t            value;
    uint64_t            expires;
} values[KEYS];

static struct {
    int                 there;
    char                text[MCP_STORE_TEXT_MAX];
    size_t              len;
    uint64_t            expires;
} texts[KEYS];


#define draw(n)  test_draw(&seed, n)


static mcp_store_t *
some_process(void)
{
    if (draw(97) == 0) {
        d.died = 1;
    }

    return &d.store[draw(2)];
}


static int
final(const model_t *m)
{
    return m->state >= MCP_STATE_COMPLETED;
}


static int
settled(const model_t *m)
{
    return final(m) && m->consumer == -1 && m->sent >= m->last;
}


/* Returns 1 for a listener without a consumer and without unsent events. */
static int
idle(const model_t *m)
{
    return m->spec.kind == MCP_STREAM_LISTEN && m->consumer == -1
           && m->sent >= m->last;
}


/* Returns 1 for a call without a consumer, which the store may evict if
 * another stream needs room. */
static int
unread(const model_t *m)
{
    return m->spec.kind == MCP_STREAM_CALL && m->consumer == -1;
}


/* Returns the number of bytes of the messages from..to. */
static uint64_t
bytes(const model_t *m, uint64_t from, uint64_t to)
{
    uint64_t  n;

    for (n = 0; from <= to; from++) {
        n += m->len[from];
    }

    return n;
}


static uint64_t
sent_kept(const model_t *m)
{
    return m->sent + 1 > m->first ? m->sent + 1 - m->first : 0;
}


/* Returns the number of the first unsent event. */
static uint64_t
unsent(const model_t *m)
{
    return m->first + sent_kept(m);
}


static int
over(const model_t *m, size_t len)
{
    return (m->spec.max_events
            && m->last + 1 - unsent(m) >= m->spec.max_events)
           || (m->spec.max_bytes
               && bytes(m, unsent(m), m->last) + len > m->spec.max_bytes);
}


/* Writes an event in the form in which a consumer reads it, and returns its
 * length. */
static size_t
render(const model_t *m, uint64_t seq, char *buf)
{
    char       *p;
    mcp_str_t   s;

    p = store_event_head(buf, m->ref.id, seq);
    s = store_message(m->text[seq], m->len[seq]);
    memcpy(p, s.data, s.len);
    p += s.len;
    *p++ = '\n';
    *p++ = '\n';

    return (size_t) (p - buf);
}


/* Updates the model after an operation in a tight region, where the store may
 * have evicted streams and removed sent events. Fails if the store has changed
 * anything else. */
static void
resync(void)
{
    unsigned           i;
    mcp_stream_info_t  info;

    for (i = 0; tight && i < STREAMS; i++) {
        if (!model[i].there) {
            continue;
        }

        if (mcp_store_info(&d.store[0], &model[i].ref, &info) != MCP_OK) {
            assert_true(settled(&model[i]) || idle(&model[i])
                        || unread(&model[i]));
            model[i].there = 0;
            continue;
        }

        if (info.first_seq != model[i].first) {
            assert_true(info.first_seq > model[i].first);

            if (model[i].spec.kind == MCP_STREAM_CALL) {
                assert_true(info.first_seq <= model[i].sent + 1);
            }

            model[i].first = info.first_seq;
        }
    }
}


/* --- tenants --- */

/* Sets the quotas of the tenants: tenant 0 has none, tenant 1 has numbers,
 * tenant 2 has shares, and tenant 3 has shares and a number of bytes. */
static void
make_tenants(void)
{
    unsigned  i;

    memset(tenants, 0, sizeof(tenants));

    for (i = 1; i < TENANTS; i++) {
        memset(tenants[i].id, (int) i, MCP_DIGEST_LEN);
        tenants[i].streams = MCP_QUOTA_SHARE;
        tenants[i].listeners = MCP_QUOTA_SHARE;
        tenants[i].values = MCP_QUOTA_SHARE;
        tenants[i].bytes = MCP_QUOTA_SHARE;
    }

    tenants[1].streams = 4;
    tenants[1].listeners = 2;
    tenants[1].values = 5;
    tenants[1].bytes = 60 * 1024;
    tenants[3].streams = MCP_QUOTA_OFF;
    tenants[3].listeners = MCP_QUOTA_OFF;
    tenants[3].values = MCP_QUOTA_OFF;
    tenants[3].bytes = 30 * 1024;
}


static const mcp_tenant_t *
some_tenant(void)
{
    return &tenants[shared ? draw(TENANTS) : 0];
}


static int
has_quotas(const mcp_tenant_t *tenant)
{
    return !mcp_digest_is_nobody(tenant->id);
}


/* Returns a copy of the tenant's entry in the store; its counters are checked
 * by store_verify(). */
static mcp_store_entry_t
counted(const mcp_tenant_t *tenant)
{
    mcp_store_op_t      op;
    mcp_store_entry_t   none, *e;

    memset(&none, 0, sizeof(none));
    assert_ok(mcp_store_enter(&d.store[0], &op));
    e = mcp_store_entry_find(op.head, MCP_ENTRY_TENANT, 0, tenant->id, 0);
    none = e ? *e : none;
    mcp_store_leave(&op);

    return none;
}


/* Checks after a successful operation that a tenant's chunks do not exceed its
 * quota of bytes, if that is a number. */
static void
expect_within(const mcp_tenant_t *tenant)
{
    mcp_store_entry_t  e;

    if (!has_quotas(tenant) || tenant->bytes == MCP_QUOTA_SHARE) {
        return;
    }

    e = counted(tenant);
    assert_true(e.u.tenant.held <= tenant->bytes / MCP_STORE_CHUNK);
}


/* Returns the number of a tenant's streams of a kind, without its lingering
 * calls. */
static unsigned
tenant_streams(const mcp_tenant_t *tenant, mcp_stream_kind_e kind)
{
    unsigned  i, n;

    for (i = 0, n = 0; i < STREAMS; i++) {
        n += model[i].there && model[i].spec.kind == kind
             && (kind == MCP_STREAM_LISTEN || !settled(&model[i]))
             && memcmp(model[i].spec.tenant.id, tenant->id, MCP_DIGEST_LEN)
                == 0;
    }

    return n;
}


/* Returns 1 if a tenant's quota for streams of a kind is a number and is used
 * up. */
static int
has_all(const mcp_tenant_t *tenant, mcp_stream_kind_e kind)
{
    uint64_t  quota;

    quota = kind == MCP_STREAM_CALL ? tenant->streams : tenant->listeners;

    return has_quotas(tenant) && quota != MCP_QUOTA_SHARE
           && tenant_streams(tenant, kind) >= quota;
}


/* Returns the time in ms for which a finished stream is kept without a
 * consumer. */
static uint64_t
kept_for(const model_t *m)
{
    if (m->sent < m->last) {
        return m->spec.max_wait;
    }

    if (m->spec.promised && m->spec.max_wait > m->spec.linger
        && m->confirmed < m->last && m->state != MCP_STATE_CANCELLED)
    {
        return m->spec.max_wait;
    }

    return m->spec.linger;
}


static int
due(const model_t *m)
{
    uint64_t  since;

    if (m->spec.kind == MCP_STREAM_LISTEN && m->spec.expires
        && now >= m->spec.expires)
    {
        return 1;
    }

    if (m->consumer != -1) {
        return 0;
    }

    since = m->unattended;

    if (final(m)) {
        since = m->ended > since ? m->ended : since;
        return now - since >= kept_for(m);
    }

    return m->spec.kind == MCP_STREAM_LISTEN
           && now - since >= m->spec.max_wait;
}


/* Frees streams that are due to be freed. After the death of a consumer's
 * process, the sweep also sets the time since which its stream has no
 * consumer. */
static void
sweep(void)
{
    unsigned  i;

    resync();
    mcp_store_sweep(some_process(), now, UINT32_MAX, NULL, NULL);

    for (i = 0; i < STREAMS; i++) {
        if (model[i].there && due(&model[i])) {
            model[i].there = 0;
        }
    }
}


static void
do_create(model_t *m)
{
    int            rc, crowded;
    size_t         len;
    unsigned       i, session, count;
    mcp_store_t   *store;

    session = 1 + (unsigned) draw(SESSIONS);
    memset(m, 0, sizeof(model_t));
    store_spec(&m->spec, ++numbers, session);
    len = draw(20) ? draw(40) : draw(100000);
    m->spec.request = store_message(numbers, len);
    m->spec.max_events = draw(2) ? (uint32_t) draw(300) : 0;
    m->spec.max_bytes = draw(2) ? draw(100000) : 0;
    m->spec.session_limit = draw(3) ? 0 : (uint32_t) draw(8);
    m->spec.kind = draw(4) ? MCP_STREAM_CALL : MCP_STREAM_LISTEN;
    m->spec.expires = draw(2) ? now + draw(100000) : 0;
    m->spec.promised = (unsigned) draw(2);
    m->spec.linger = draw(2) ? 5000 : 90000;
    m->spec.tenant = *some_tenant();

    for (i = 0, count = 0; i < STREAMS; i++) {
        count += model[i].there && !settled(&model[i])
                 && memcmp(model[i].spec.session, m->spec.session,
                           MCP_DIGEST_LEN) == 0;
    }

    crowded = has_all(&m->spec.tenant, m->spec.kind);
    store = some_process();
    rc = mcp_store_create(store, &m->spec, now, &m->ref);

    if (tight && rc == MCP_ERR_FULL) {
        return;
    }

    if (crowded || (m->spec.session_limit && count >= m->spec.session_limit)) {

        /* a long request may need room: the store may have evicted streams of
         * the session or tenant, so that the limit is no longer reached */

        if (!(tight && len > MCP_STORE_BIG && rc == MCP_OK)) {
            assert_int_equal(rc, MCP_ERR_LIMIT);
            return;
        }
    }

    if (rc == MCP_ERR_LIMIT && has_quotas(&m->spec.tenant)) {
        return;                        /* the tenant's share or its number of
                                          bytes was reached */
    }

    assert_ok(rc);
    expect_within(&m->spec.tenant);
    m->there = 1;
    m->number = numbers;
    m->first = 1;
    m->created = now;
    m->unattended = now;
    m->consumer = -1;
    m->owner = m->spec.kind == MCP_STREAM_CALL ? store->slot
                                               : STORE_PROCESSES;
}


/* Removes events from the model, as the store must do for a new event of len
 * bytes. Returns 0 if the store has to reject the event with MCP_ERR_LIMIT. */
static int
admit(model_t *m, size_t len, int answers)
{
    while (sent_kept(m)
           && ((m->spec.max_events && sent_kept(m) > m->spec.max_events)
               || (m->spec.max_bytes
                   && bytes(m, m->first, m->sent) > m->spec.max_bytes)))
    {
        m->first++;
    }

    if (m->spec.kind == MCP_STREAM_LISTEN) {
        while (over(m, len) && m->first <= m->last) {
            m->first++;
        }
    }

    return !over(m, len) || m->spec.kind == MCP_STREAM_LISTEN || answers >= 0
           || m->sent >= m->last;
}


static size_t
some_length(void)
{
    switch (draw(40)) {
    case 0:
        return 60000 + draw(20000);
    case 1:
    case 2:
        return draw(5000);
    default:
        return draw(700);
    }
}


static void
finish(model_t *m, uint64_t when)
{
    m->n_posts = 0;
    m->owner = STORE_PROCESSES;
    m->ended = when;
}


static void
do_append(model_t *m)
{
    int                 rc, answers, error;
    size_t              len;
    uint8_t             text;
    uint64_t            seq;
    mcp_stream_state_e  state;

    if (m->last + 2 >= EVENTS) {
        return;
    }

    len = some_length();
    text = (uint8_t) draw(256);
    answers = draw(20) ? -1 : (int) draw(70);
    error = answers >= 0 && draw(2) ? MCP_STORE_ERROR : 0;
    state = draw(100) ? (mcp_stream_state_e) draw(2)
                      : MCP_STATE_COMPLETED + (mcp_stream_state_e) draw(3);

    rc = mcp_store_append(some_process(), &m->ref,
                          store_message(text, len), answers | error, state,
                          now, &seq);

    if (final(m)) {
        assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        return;
    }

    if (!admit(m, len, answers)) {
        assert_int_equal(rc, MCP_ERR_LIMIT);
        return;
    }

    if (tight && rc == MCP_ERR_FULL) {
        return;
    }

    if (rc == MCP_ERR_LARGE && has_quotas(&m->spec.tenant)) {
        return;
    }

    assert_ok(rc);

    /* the tenant's quota of bytes does not apply to answers, nor to the events
     * of a listener that was idle */

    if (answers < 0 && m->spec.kind == MCP_STREAM_CALL) {
        expect_within(&m->spec.tenant);
    }

    assert_int_equal(seq, m->last + 1);
    m->len[++m->last] = (uint32_t) len;
    m->text[m->last] = text;
    m->state = state;

    if (answers >= 0 && answers < 64) {
        m->answered |= (uint64_t) 1 << answers;
        m->failed |= (uint64_t) (error != 0) << answers;
        m->failed_seq = error ? m->last : m->failed_seq;
    }

    if (final(m)) {
        finish(m, now);
    }
}


static void
do_watch(model_t *m)
{
    int           rc, taken, k;
    uint64_t      after;
    mcp_store_t  *store;
    mcp_cursor_t  cursor;

    store = some_process();
    k = (int) draw(CONSUMERS);
    after = draw(m->last + 2);

    if (draw(2) && m->first <= m->last) {
        after = m->first - 1 + draw(m->last + 2 - m->first);
    }

    rc = mcp_store_watch(store, &m->ref, (uint64_t) k, after, &cursor,
                         &taken);

    if (after > m->last) {
        assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        return;
    }

    if (after + 1 < m->first) {
        assert_int_equal(rc, MCP_ERR_PURGED);
        return;
    }

    assert_ok(rc);
    assert_int_equal(taken, m->consumer != -1 && (m->consumer != k
                                                  || m->slot != store->slot));

    m->consumer = k;
    m->slot = store->slot;
    m->cursor[k] = cursor;
    m->pos[k] = 0;
    m->sent = after;
    m->unattended = 0;
}


static void
do_read(model_t *m)
{
    int            rc, k;
    char          *want;
    size_t         cap, len, n, i;
    uint64_t       before, sent;
    mcp_cursor_t  *cursor;
    static char    buf[70000], event[100000];

    if (m->consumer == -1) {
        return;
    }

    k = m->consumer;

    if (draw(20) == 0) {
        /* a process that is not the consumer reads: denied */
        rc = mcp_store_read(&d.store[1 - m->slot], &m->ref, (uint64_t) k,
                            &m->cursor[k], 0, buf, 64, &len);
        assert_int_equal(rc, MCP_ERR_DENIED);
        return;
    }

    cap = draw(3) ? 64 + draw(2000) : 64 + draw(sizeof(buf) - 64);
    cursor = &m->cursor[k];
    before = cursor->seq;
    sent = draw(3) ? before : draw(before + 3);
    d.died = draw(97) == 0;
    rc = mcp_store_read(&d.store[m->slot], &m->ref, (uint64_t) k, cursor,
                        sent, buf, cap, &len);

    if (before + 1 < m->first) {
        assert_int_equal(rc, MCP_ERR_PURGED);
        assert_true(m->spec.kind == MCP_STREAM_LISTEN
                    || before + 1 <= m->confirmed);
        mcp_store_unwatch(&d.store[m->slot], &m->ref, (uint64_t) k, 0, now);
        m->consumer = -1;
        m->unattended = now;
        return;
    }

    sent = sent < before ? sent : before;
    m->sent = sent > m->sent ? sent : m->sent;

    if (before == m->last) {
        assert_int_equal(rc, final(m) ? MCP_DONE : MCP_AGAIN);
        assert_int_equal(len, 0);
        return;
    }

    assert_ok(rc);
    assert_true(len > 0 && len <= cap);

    for (i = 0, n = before + 1; i < len; n++) {
        size_t  total, part;

        want = event;
        total = render(m, n, want);
        part = total - m->pos[k] < len - i ? total - m->pos[k] : len - i;
        assert_memory_equal(buf + i, want + m->pos[k], part);
        i += part;
        m->pos[k] += part;

        if (m->pos[k] == total) {
            m->pos[k] = 0;
        }
    }

    n -= m->pos[k] ? 1 : 0;
    assert_int_equal(cursor->seq, n - 1);
    assert_int_equal(cursor->done > 0, m->pos[k] > 0);
}


static void
do_unwatch(model_t *m)
{
    int       k;
    uint64_t  sent;

    k = (int) draw(CONSUMERS);

    if (k != m->consumer) {
        mcp_store_unwatch(&d.store[m->slot], &m->ref, (uint64_t) k, 1, now);
        return;
    }

    sent = draw(2) ? m->cursor[k].seq : 0;
    mcp_store_unwatch(&d.store[m->slot], &m->ref, (uint64_t) k, sent, now);

    m->sent = sent > m->sent ? sent : m->sent;
    m->consumer = -1;
    m->unattended = now;
}


static void
do_confirm(model_t *m)
{
    int       rc;
    uint64_t  seq;

    seq = draw(4) ? draw(m->sent + 1) : draw(m->last + 2);
    rc = mcp_store_confirm(some_process(), &m->ref, seq);

    if (seq > m->last) {
        assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        return;
    }

    assert_ok(rc);
    m->confirmed = seq > m->confirmed ? seq : m->confirmed;
    m->sent = seq > m->sent ? seq : m->sent;
    m->first = seq + 1 > m->first ? seq + 1 : m->first;
}


static void
do_post(model_t *m)
{
    int         rc;
    size_t      len;
    uint64_t    tag;
    mcp_inbox_item_e type;

    if (m->n_posts == POSTS) {
        return;
    }

    type = MCP_INBOX_INPUT + (mcp_inbox_item_e) draw(2);
    len = some_length();
    tag = draw(1000000);
    rc = mcp_store_inbox_put(some_process(), &m->ref, type, tag,
                        store_message((unsigned) tag, len));

    if (final(m) || m->spec.kind == MCP_STREAM_LISTEN) {
        if (!(tight && rc == MCP_ERR_FULL)) {
            assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        }

        return;
    }

    if (rc == MCP_ERR_LIMIT) {
        assert_true(m->n_posts > 0 && m->spec.max_bytes > 0);
        return;
    }

    if (tight && rc == MCP_ERR_FULL) {
        return;
    }

    assert_ok(rc);
    m->post[m->n_posts].type = type;
    m->post[m->n_posts].tag = tag;
    m->post[m->n_posts++].len = len;
}


static void
do_take(model_t *m)
{
    int         rc;
    uint64_t    tag;
    mcp_buf_t   data;
    mcp_inbox_item_e type;

    mcp_buf_init(&data, &d.tm.mem, 1 << 20);
    rc = mcp_store_take(some_process(), &m->ref, &type, &tag, &data);

    if (m->n_posts == 0) {
        assert_int_equal(rc, MCP_AGAIN);
        return;
    }

    assert_ok(rc);
    assert_int_equal(type, m->post[0].type);
    assert_int_equal(tag, m->post[0].tag);
    assert_int_equal(data.len, m->post[0].len);

    if (data.len) {
        assert_memory_equal(data.data,
                            store_message((unsigned) tag, data.len).data,
                            data.len);
    }

    memmove(&m->post[0], &m->post[1], sizeof(m->post[0]) * --m->n_posts);
    mcp_buf_free(&data);
}


static void
do_state(model_t *m)
{
    int                 rc;
    mcp_stream_state_e  state;

    state = draw(10) ? (mcp_stream_state_e) draw(2)
                     : MCP_STATE_COMPLETED + (mcp_stream_state_e) draw(3);
    rc = mcp_store_set_state(some_process(), &m->ref, state, 0);

    if (final(m)) {
        assert_int_equal(rc, state == m->state ? MCP_OK : MCP_ERR_NOT_FOUND);
        return;
    }

    assert_ok(rc);
    m->state = state;

    if (final(m)) {
        finish(m, now);
        sweep();
    }
}


static void
topic_key(unsigned char *key, unsigned n)
{
    memset(key, 0, MCP_DIGEST_LEN);
    key[3] = (unsigned char) n;
}


static void
do_subscribe(model_t *m)
{
    int            rc;
    unsigned       topic;
    unsigned char  key[MCP_DIGEST_LEN];

    topic = (unsigned) draw(TOPICS);
    topic_key(key, topic);

    if (draw(3) == 0) {
        assert_ok(mcp_store_unsubscribe(some_process(), &m->ref, key));
        m->sub[topic] = 0;
        return;
    }

    rc = mcp_store_subscribe(some_process(), &m->ref, key);

    if (m->spec.kind == MCP_STREAM_CALL || final(m)) {
        assert_int_equal(rc, MCP_ERR_NOT_FOUND);

    } else if (rc == MCP_ERR_LIMIT) {
        assert_true(has_quotas(&m->spec.tenant));

    } else if (!(tight && rc == MCP_ERR_FULL)) {
        assert_ok(rc);
        m->sub[topic] = 1;
    }
}


static void
do_publish(void)
{
    int            rc;
    size_t         len, n, want;
    unsigned       i, topic;
    uint8_t        text;
    uint64_t       position;
    unsigned char  key[MCP_DIGEST_LEN];

    topic = (unsigned) draw(TOPICS);
    topic_key(key, topic);
    len = some_length();
    text = (uint8_t) draw(256);
    want = 0;
    position = 0;

    for (i = 0; i < STREAMS; i++) {
        if (model[i].there && model[i].last + 3 >= EVENTS) {
            return;
        }
    }

    for (i = 0; i < STREAMS; i++) {
        model_t  *m = &model[i];

        if (!m->there || !m->sub[topic] || final(m)) {
            continue;
        }

        want++;
        (void) admit(m, len, -1);
        m->len[++m->last] = (uint32_t) len;
        m->text[m->last] = text;
    }

    do {
        rc = store_publish(some_process(), key, store_message(text, len),
                           1 + (unsigned) draw(4), &position, &n);
    } while (rc == MCP_AGAIN);

    assert_ok(rc);
    assert_int_equal(n, want);
}


static void
do_value(void)
{
    int                  rc;
    uint32_t             value;
    unsigned             k;
    unsigned char        key[MCP_DIGEST_LEN];
    const mcp_tenant_t  *tenant;

    k = (unsigned) draw(KEYS);
    memset(key, 7, sizeof(key));
    key[0] = (unsigned char) (k / 2);

    switch (draw(4)) {

    case 0:
        values[k].value = (uint32_t) draw(1000);
        values[k].expires = draw(3) ? now + draw(3000) : 0;
        tenant = shared ? &tenants[k % TENANTS] : &tenants[0];
        rc = mcp_store_value_set(some_process(), k % 2 ? 'x' : 'y', key,
                                 values[k].value, values[k].expires, tenant);

        /* a value that exists can be set again, even at the quota */

        values[k].there = (rc == MCP_OK);
        assert_true(rc == MCP_OK || (tight && rc == MCP_ERR_FULL)
                    || (rc == MCP_ERR_LIMIT && has_quotas(tenant)));

        if (tenant == &tenants[1]) {
            assert_true(counted(tenant).u.tenant.values <= tenant->values);
        }

        return;

    case 1:
        mcp_store_value_delete(some_process(), k % 2 ? 'x' : 'y', key);
        values[k].there = 0;
        return;

    default:
        rc = mcp_store_value_get(some_process(), k % 2 ? 'x' : 'y', key, now,
                                 &value);

        if (values[k].there
            && (values[k].expires == 0 || now < values[k].expires))
        {
            assert_ok(rc);
            assert_int_equal(value, values[k].value);

        } else {
            assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        }
    }
}


/* Returns the number of texts of a tenant in the store. */
static uint32_t
counted_texts(const mcp_tenant_t *tenant)
{
    uint32_t            n;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    assert_ok(mcp_store_enter(&d.store[0], &op));
    e = mcp_store_entry_find(op.head, MCP_ENTRY_TENANT, 1, tenant->id, 0);
    n = e ? e->u.tenant.values : 0;
    mcp_store_leave(&op);

    return n;
}


/* Returns the text in the model. */
static mcp_str_t
model_text(unsigned k)
{
    return (mcp_str_t) { texts[k].text, texts[k].len };
}


/* Returns 1 if the store may have a text of the model that has not expired. */
static int
may_have(unsigned k)
{
    return texts[k].there
           && (texts[k].expires == 0 || now < texts[k].expires);
}


/* Returns 1 if the store must have a text of the model: in a tight region,
 * another text may have replaced it. */
static int
must_have(unsigned k)
{
    return !tight && may_have(k);
}


static void
do_text_add(unsigned k, const unsigned char *key, mcp_str_t text)
{
    int                  rc;
    uint64_t             expires;
    const mcp_tenant_t  *tenant;

    expires = draw(3) ? now + draw(3000) : 0;
    tenant = shared ? &tenants[k % TENANTS] : &tenants[0];
    rc = store_text_add(some_process(), MCP_VALUE_UPSTREAM_SESSION, key,
                        text, now, expires, tenant);

    if (rc == MCP_ERR_EXISTS) {
        assert_true(may_have(k));
        return;
    }

    assert_false(must_have(k));
    assert_true(rc == MCP_OK || (tight && rc == MCP_ERR_FULL));

    memcpy(texts[k].text, text.data, text.len);
    texts[k].len = text.len;
    texts[k].expires = expires;
    texts[k].there = (rc == MCP_OK);

    if (tenant == &tenants[1]) {
        assert_true(counted_texts(tenant) <= tenant->values);
    }
}


/* Reads a text, may extend its time of expiry, and may use it as a session at
 * an MCP server. */
static void
do_text_get(unsigned k, const unsigned char *key)
{
    int       rc;
    char      buf[MCP_STORE_TEXT_MAX];
    size_t    len;
    uint64_t  expires;

    expires = draw(2) ? now + draw(3000) : 0;
    rc = mcp_store_upstream_session_get(some_process(), key, now, expires,
                                        draw(2) ? now + draw(3000) : 0, buf,
                                        &len, NULL);

    if (rc != MCP_OK) {
        assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        assert_false(must_have(k));
        return;
    }

    assert_true(may_have(k));
    assert_true(mcp_str_eq((mcp_str_t) { buf, len }, model_text(k)));

    if (texts[k].expires != 0 && expires > texts[k].expires) {
        texts[k].expires = expires;
    }
}


static void
do_text(void)
{
    int            rc;
    unsigned       k, n;
    mcp_str_t      text;
    unsigned char  key[MCP_DIGEST_LEN];

    k = (unsigned) draw(KEYS);
    memset(key, 9, sizeof(key));
    key[0] = (unsigned char) k;
    n = (unsigned) draw(26);
    text = store_message(n, draw(MCP_STORE_TEXT_MAX + 1));

    switch (draw(6)) {

    case 0:
        do_text_add(k, key, text);
        return;

    case 2:
        mcp_store_upstream_session_leave(some_process(), key);
        return;

    case 3:
        mcp_store_upstream_session_renew(some_process(), key, now,
                                         now + draw(3000));
        return;

    case 1:
        text = draw(2) ? model_text(k) : text;
        rc = mcp_store_text_delete(some_process(), MCP_VALUE_UPSTREAM_SESSION,
                                   key, text);

        if (rc == MCP_OK) {
            assert_true(texts[k].there && mcp_str_eq(text, model_text(k)));
            texts[k].there = 0;
            return;
        }

        assert_int_equal(rc, MCP_ERR_NOT_FOUND);
        assert_true(!must_have(k) || !mcp_str_eq(text, model_text(k)));
        return;

    default:
        do_text_get(k, key);
    }
}


static void
do_sweep(void)
{
    now += draw(2000);
    sweep();
}


/* Kills one of the two processes. The surviving process adopts its calls, and
 * a new process gets its slot. */
static void
do_death(void)
{
    size_t             n;
    unsigned           slot, i, ownerless;
    mcp_stream_info_t  info;
    static uint64_t    pid = 1000;

    slot = (unsigned) draw(2);
    ownerless = 0;

    for (i = 0; i < STREAMS; i++) {
        if (!model[i].there) {
            continue;
        }

        if (model[i].owner == slot) {
            model[i].owner = 1 - slot;
            ownerless++;
        }

        if (model[i].consumer != -1 && model[i].slot == slot) {
            model[i].consumer = -1;
            model[i].unattended = now;
        }
    }

    if (draw(2)) {
        mcp_store_reclaim(&d.store[1 - slot], slot, d.store[slot].pid);
    }

    store_attach(&d, slot, ++pid);

    for (n = 0; mcp_store_adopt(&d.store[1 - slot], now, &info, NULL)
                == MCP_OK; n++)
    {
        assert_int_equal(info.owner_slot, 1 - slot);
    }

    assert_int_equal(n, ownerless);
    sweep();
}


static void
compare(void)
{
    unsigned             i, n, subs, listeners, k;
    mcp_stream_info_t    info;
    mcp_store_stats_t    stats;
    mcp_store_stream_t  *st;

    store_sound(&d);
    n = 0;
    subs = 0;
    listeners = 0;

    for (i = 0; i < STREAMS; i++) {
        const model_t  *m = &model[i];

        if (!m->there) {
            if (m->number) {
                assert_int_equal(mcp_store_find(&d.store[0], m->spec.id, 0,
                                                &info), MCP_ERR_NOT_FOUND);
            }

            continue;
        }

        n++;
        listeners += m->spec.kind == MCP_STREAM_LISTEN;

        for (k = 0; k < TOPICS; k++) {
            subs += (unsigned) m->sub[k];
        }

        assert_ok(mcp_store_find(&d.store[1], m->spec.id, 0, &info));
        assert_int_equal(info.ref.index, m->ref.index);
        assert_int_equal(info.first_seq, m->first);
        assert_int_equal(info.last_seq, m->last);
        assert_int_equal(info.sent_seq, m->sent);
        assert_int_equal(info.state, m->state);
        assert_int_equal(info.answered, m->answered);
        assert_int_equal(info.failed, m->failed);
        assert_int_equal(info.failed_seq, m->failed_seq);
        st = mcp_store_stream(d.store[1].head, info.ref.index);
        assert_int_equal(st->created, m->created);
        assert_int_equal(st->events.bytes, bytes(m, m->first, m->last));
        assert_int_equal(info.consumer_slot == MCP_STORE_NO_SLOT, m->consumer
                         == -1);
        assert_int_equal(info.owner_slot, m->owner == STORE_PROCESSES
                         ? MCP_STORE_NO_SLOT : m->owner);
    }

    mcp_store_stats(&d.store[0], &stats);
    assert_int_equal(stats.streams, n);
    assert_int_equal(stats.listeners, listeners);
    assert_int_equal(stats.subscriptions, subs);
}


static void
operate(void)
{
    uint64_t           n;
    model_t           *m;
    mcp_store_wake_t   out[16];

    now += draw(3);
    m = &model[draw(STREAMS)];

    if (!m->there) {
        do_create(m);
        return;
    }

    n = draw(41);

    if (n == 0) {
        mcp_store_free(some_process(), &m->ref);
        m->there = 0;
    } else if (n == 1) {
        do_state(m);
    } else if (n == 2) {
        do_subscribe(m);
    } else if (n == 3 && !tight) {
        do_publish();
    } else if (n == 4) {
        do_sweep();
    } else if (n == 5 && draw(10) == 0) {
        do_death();
    } else if (n == 6 || n == 7) {
        do_value();
    } else if (n == 8 || n == 9) {
        do_watch(m);
    } else if (n == 10) {
        do_unwatch(m);
    } else if (n == 11 || n == 12) {
        do_post(m);
    } else if (n == 13 || n == 14) {
        do_take(m);
    } else if (n == 15) {
        mcp_store_drain(some_process(), out, 1 + draw(16));
        d.died = 0;
    } else if (n >= 16 && n <= 22) {
        do_read(m);
    } else if (n == 23) {
        do_confirm(m);
    } else if (n == 40) {
        do_text();
    } else if (n > 23) {
        do_append(m);
    }
}


static void
run(uint64_t with, size_t size)
{
    unsigned           i, rounds;
    mcp_store_wake_t   out[16];

    printf("STORE_SEED=%llu, %zu KB\n", (unsigned long long) with,
           size / 1024);
    fflush(stdout);

    seed = with;
    now = 1000000;
    numbers = 0;
    memset(model, 0, sizeof(model));
    memset(values, 0, sizeof(values));
    memset(texts, 0, sizeof(texts));
    make_tenants();
    store_open(&d, size, 2);
    rounds = (unsigned) store_setting("STORE_ROUNDS", 60000);

    for (i = 0; i < rounds; i++) {
        operate();
        resync();

        if (i % 64 == 0) {
            compare();
        }
    }

    compare();

    for (i = 0; i < STREAMS; i++) {
        if (model[i].there) {
            mcp_store_free(&d.store[0], &model[i].ref);
        }
    }

    for (i = 0; i < 2; i++) {
        while (mcp_store_drain(&d.store[i], out, 16) > 0) { /* void */ }
    }

    for (i = 0; i < KEYS; i++) {
        unsigned char  key[MCP_DIGEST_LEN];

        memset(key, 7, sizeof(key));
        key[0] = (unsigned char) (i / 2);
        mcp_store_value_delete(&d.store[0], i % 2 ? 'x' : 'y', key);
        memset(key, 9, sizeof(key));
        key[0] = (unsigned char) i;
        mcp_store_value_delete(&d.store[0], MCP_VALUE_UPSTREAM_SESSION, key);
    }

    store_sound(&d);
    assert_int_equal(store_used(&d), 0);
    store_close(&d);
}


TEST(random_operations_in_a_large_region_agree_with_the_model)
{
    tight = 0;
    run(1, 64 * 1024 * 1024);
    run(store_seed(), 64 * 1024 * 1024);
}


TEST(random_operations_in_a_small_region_agree_with_the_model)
{
    tight = 1;
    run(2, 400 * 1024);
    run(store_seed(), 300 * 1024);
}


TEST(random_operations_of_tenants_agree_with_the_model)
{
    tight = 1;
    shared = 1;
    run(3, 1024 * 1024);
    run(store_seed(), 300 * 1024);
    shared = 0;
}


RUN_TESTS(NULL, NULL)
