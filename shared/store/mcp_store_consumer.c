/* SPDX-License-Identifier: Apache-2.0 */

/* Attaches and detaches consumers, and copies events to them. A stream has one
 * consumer at a time, which reads the events after a cursor. A displaced
 * consumer is notified by a tombstone. */


#include "store/mcp_store_layout.h"


/* a read has room for the head of an event and at least one byte of its
 * message */
_Static_assert(MCP_STORE_READ_MIN > MCP_SSE_HEAD_MAX, "MCP_STORE_READ_MIN");


static int
mcp_store_is_consumer(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint64_t handle)
{
    return st->consumer_slot == op->store->slot
           && st->consumer_handle == handle;
}


/*
 * The tombstone of a displaced consumer takes a chunk until the consumer's
 * process calls mcp_store_drain(). If there is no room for a tombstone, the
 * process notices the displacement only by MCP_ERR_DENIED from its next
 * mcp_store_read() for the consumer, at the latest when the connection times
 * out.
 */
void
mcp_store_consumer_displace(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint32_t             index;
    mcp_store_stream_t  *tombstone;

    mcp_store_unmark(op, &st->link[MCP_LINK_CONSUMER], st->consumer_slot);

    if (st->consumer_slot != MCP_STORE_REMOTE_CONSUMER
        && mcp_store_ensure(op, 1, 1) == MCP_OK)
    {
        index = mcp_store_root_take(op, MCP_CHUNK_STREAM);
        tombstone = mcp_store_stream(op->head, index);

        memcpy(tombstone->id, st->id, MCP_STREAM_ID_LEN);
        tombstone->self = mcp_store_index(op->head, st);
        tombstone->owner_slot = MCP_STORE_NO_SLOT;
        tombstone->consumer_slot = st->consumer_slot;
        tombstone->consumer_handle = st->consumer_handle;

        mcp_store_barrier();
        tombstone->live = MCP_STREAM_TOMBSTONE;
        mcp_store_barrier();

        mcp_store_mark_consumer(op, tombstone);
        mcp_store_tombstone_settle(op, tombstone);
    }

    st->consumer_slot = MCP_STORE_NO_SLOT;
}


void
mcp_store_consumer_gone(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    mcp_store_unmark_consumer(op, st);
    st->unattended = mcp_store_attended(op->head, st) ? 0 : now;
    st->seen = 1;

    mcp_store_stream_settle(op, st);
    mcp_store_mark_owner(op, st);
    mcp_store_mark_replication(op, st);

    /* wakes the joined requests, which may wait for the end of the consumer's
     * connection */

    mcp_store_mark_consumer(op, st);
}


void
mcp_store_consumer_take(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t slot, uint64_t handle, uint64_t after, int *taken)
{
    if (st->consumer_slot == slot && st->consumer_handle == handle) {
        mcp_store_unmark_consumer(op, st);
    } else if (st->consumer_slot != MCP_STORE_NO_SLOT) {
        *taken = 1;
        st->takeovers += (st->takeovers < UINT32_MAX);
        mcp_store_consumer_displace(op, st);
    }

    /* the stream counts as without a consumer until all fields of the new one
     * are set, in case this process dies half-way */

    st->consumer_slot = MCP_STORE_NO_SLOT;
    st->unattended = 0;
    mcp_store_barrier();

    /* counts the events after "after" as unsent, because the client requests
     * them again: they have not arrived, although they may have been written to
     * a socket */

    st->read_after = after;
    st->sent_seq = after;
    st->sent_bytes = mcp_store_log_bytes(op->head, &st->events,
                                         st->events.first, after);
    st->consumer_handle = handle;
    mcp_store_barrier();
    st->consumer_slot = slot;

    mcp_store_stream_settle(op, st);
    mcp_store_mark_owner(op, st);
    mcp_store_mark_replication(op, st);
}


int
mcp_store_watch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor, int *taken)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    *taken = 0;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (after > mcp_store_visible(op.head, st)) {
        rc = MCP_ERR_NOT_FOUND;
    } else if (after + 1 < st->events.first) {
        rc = MCP_ERR_PURGED;
    } else if (mcp_store_replication_taken(op.head, st)) {
        rc = MCP_ERR_DENIED;
    } else {
        op.keep = st;
        mcp_store_consumer_take(&op, st, store->slot, handle, after, taken);
        memset(cursor, 0, sizeof(mcp_cursor_t));
        cursor->seq = after;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_unwatch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t sent, uint64_t now)
{
    mcp_store_op_t       op;
    mcp_store_entry_t   *reader;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_stream_get(&op, ref);

    if (st != NULL && mcp_store_is_consumer(&op, st, handle)) {
        st->takeovers = 0;
        mcp_store_stream_sent(&op, st, sent);
        mcp_store_consumer_gone(&op, st, now);

    } else if ((reader = mcp_store_reader_find(&op, ref->id, handle))
               != NULL)
    {
        if (st != NULL && st->consumer_slot == MCP_STORE_NO_SLOT) {
            mcp_store_stream_sent(&op, st, sent);
        }

        mcp_store_reader_gone(&op, reader, now);
    }

    mcp_store_leave(&op);
}


/* Returns a checksum of a cursor's cached position and of its stream. A chunk
 * does not name its stream, so without the checksum a position in another
 * stream would not be noticed. */
static uint32_t
mcp_store_cursor_check(const mcp_store_stream_t *st, const mcp_cursor_t *cursor)
{
    uint64_t  words[2];

    /* a weak checksum is enough: it detects errors, and clients cannot forge a
     * cursor, because they do not get it */

    memcpy(words, st->id, sizeof(words));

    words[0] += ((uint64_t) cursor->chunk << 32 | cursor->offset) + st->created;
    words[1] += ((uint64_t) cursor->done << 32 | cursor->left)
                + (cursor->seq << 16) + (cursor->total << 1);

    return (uint32_t) ((words[0] * 0x9e3779b97f4a7c15ULL
                        + words[1] * 0xd6e8feb86659fd93ULL) >> 32);
}


/* Sets *pos to the position in the log from which the cursor continues. This is
 * the cached position, if an event that touches its chunk is still kept: the
 * event that was partly read, or the last one that was read. Otherwise searches
 * the log for the next event, unless an event was partly read. Returns 1, or 0
 * if no position was found. */
static int
mcp_store_cursor_pos(mcp_store_head_t *head, const mcp_store_stream_t *st,
    const mcp_cursor_t *cursor, mcp_store_pos_t *pos)
{
    if (mcp_store_index_ok(head, cursor->chunk)
        && (cursor->done > 0 || cursor->seq >= st->events.first)
        && cursor->check == mcp_store_cursor_check(st, cursor))
    {
        *pos = (mcp_store_pos_t) { cursor->chunk, cursor->offset };
        return 1;
    }

    return cursor->done == 0
           && mcp_store_log_seek(head, &st->events, cursor->seq + 1, pos);
}


/* Writes the head of an event to p, and returns its end. If the reader reads
 * only the events of one request, the event gets no id, because an id would
 * confirm all earlier events. With cursor->plain no event gets an id. */
static char *
mcp_store_event_head(const mcp_store_stream_t *st, mcp_cursor_t *cursor,
    char *p, uint64_t seq)
{
    static const char  data[] = "data: ";

    if (cursor->only == 0 && !cursor->plain) {

        if (cursor->id[0] == '\0') {
            (void) mcp_stream_id_print(cursor->id, st->id);
        }

        return mcp_sse_event_head(p, cursor->id, seq);
    }

    memcpy(p, data, sizeof(data) - 1);

    return p + sizeof(data) - 1;
}


/*
 * Begins to copy the event after the cursor: writes its head to *p.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN         the event concerns another request than cursor->only, and
 *                     was skipped
 *   MCP_DONE          there is no event, or no room for its head
 *   MCP_ERR_INTERNAL  the log contradicts the cursor
 */
static int
mcp_store_fill_begin(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_cursor_t *cursor, mcp_store_pos_t *pos, char **p, const char *end)
{
    unsigned             number;
    mcp_store_record_t  *rec;

    if (cursor->seq == mcp_store_visible(head, st)
        || end - *p <= MCP_SSE_HEAD_MAX)
    {
        return MCP_DONE;
    }

    rec = mcp_store_log_record(head, pos);

    if (rec == NULL || rec->seq != cursor->seq + 1) {
        return MCP_ERR_INTERNAL;
    }

    /* the number is 0 for an event that concerns no single request: all readers
     * get such an event */
    number = rec->answers % MCP_STORE_RESULT(1);

    if (cursor->only && number && number != cursor->only) {
        mcp_store_log_pass(head, pos, rec->len);
        cursor->seq++;

        if (cursor->skipped == 0) {
            cursor->skipped = cursor->seq;
        }

        return MCP_AGAIN;
    }

    *p = mcp_store_event_head(st, cursor, *p, rec->seq);
    pos->offset += sizeof(mcp_store_record_t);
    cursor->left = rec->len;
    cursor->done = 1;

    return MCP_OK;
}


/*
 * Copies as much of the message of event cursor->seq + 1 to *p as fits.
 *
 * Returns MCP_OK if the message is complete, or
 *   MCP_DONE          there is no more room
 *   MCP_ERR_INTERNAL  the log contradicts the cursor
 */
static int
mcp_store_fill_message(mcp_store_head_t *head, mcp_cursor_t *cursor,
    mcp_store_pos_t *pos, char **p, const char *end)
{
    size_t  n;

    n = (size_t) (end - *p);

    if (n > cursor->left) {
        n = cursor->left;
    }

    if (mcp_store_copy_out(head, pos, *p, n) != n) {
        return MCP_ERR_INTERNAL;
    }

    *p += n;
    cursor->left -= (uint32_t) n;
    cursor->done += (uint32_t) n;

    if (cursor->left > 0 || end - *p < 2) {
        return MCP_DONE;
    }

    *(*p)++ = '\n';
    *(*p)++ = '\n';

    cursor->seq++;
    cursor->done = 0;

    return MCP_OK;
}


/*
 * Copies events to p as SSE text, until there are no more events, or no more
 * room. Writes the text while the lock is held, because the chunks may be freed
 * as soon as the lock is released. To write the text after that, each message
 * would have to be copied twice. Returns the end of the text, or NULL if the
 * log contradicts the cursor.
 */
static char *
mcp_store_fill(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_cursor_t *cursor, char *p, const char *end)
{
    int              rc;
    mcp_store_pos_t  pos;

    if (!mcp_store_cursor_pos(head, st, cursor, &pos)) {
        return NULL;
    }

    do {
        rc = MCP_OK;

        if (cursor->done == 0) {
            rc = mcp_store_fill_begin(head, st, cursor, &pos, &p, end);
        }

        if (rc == MCP_OK) {
            rc = mcp_store_fill_message(head, cursor, &pos, &p, end);
        }

    } while (rc == MCP_OK || rc == MCP_AGAIN);

    if (rc != MCP_DONE) {
        return NULL;
    }

    cursor->chunk = pos.chunk;
    cursor->offset = pos.offset;
    cursor->total = cursor->seq == st->events.last ? st->events.total : 0;
    cursor->check = mcp_store_cursor_check(st, cursor);

    return p;
}


/* Returns 1 if a reader that has read all present events gets no further ones,
 * because the stream is over or the request cursor->only has its response. */
static int
mcp_store_through(mcp_store_head_t *head, const mcp_store_stream_t *st,
    const mcp_cursor_t *cursor)
{
    mcp_store_checkpoint_t  checkpoint;

    mcp_store_replication_checkpoint(head, st, &checkpoint);

    return checkpoint.state >= MCP_STATE_COMPLETED
           || (cursor->only
               && (checkpoint.answered & (uint64_t) 1 << (cursor->only - 1)));
}


/* Counts the events up to "sent" as sent, but none after the cursor. Usually
 * all events up to the cursor were sent. In this case, the number of unsent
 * bytes follows from cursor->total, and the log is not searched. */
static void
mcp_store_read_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_cursor_t *cursor, uint64_t sent)
{
    uint64_t  since;

    since = st->events.total - cursor->total;

    if (sent < cursor->seq || cursor->total == 0 || since > st->events.bytes
        || cursor->check != mcp_store_cursor_check(st, cursor))
    {
        mcp_store_stream_sent(op, st, sent < cursor->seq ? sent : cursor->seq);

    } else {
        mcp_store_stream_sent_bytes(op, st, cursor->seq,
                                    st->events.bytes - since);
    }
}


/* Returns 1 if the reader may wait until its next wake-up to report the events
 * that it has written: the stream is far from its limits, and no other reader
 * depends on the report. */
static unsigned
mcp_store_may_delay(const mcp_store_stream_t *st, const mcp_cursor_t *cursor)
{
    return cursor->seq == st->events.last && cursor->only == 0
           && st->kind == MCP_STREAM_CALL && !mcp_store_is_task(st)
           && st->repl == 0 && st->join == 0 && !mcp_store_final(st)
           && !mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE])
           && !st->blocked && mcp_store_may_continue(st);
}


static int
mcp_store_read_locked(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    uint64_t handle, mcp_cursor_t *cursor, uint64_t sent, char *buf,
    size_t cap, size_t *len)
{
    char                *p;
    uint64_t             last;
    mcp_store_stream_t  *st;

    st = mcp_store_stream_get(op, ref);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    /* only the consumer and the joined readers may read */
    if (!mcp_store_is_consumer(op, st, handle)
        && (st->join == 0
            || mcp_store_reader_find(op, st->id, handle) == NULL))
    {
        return MCP_ERR_DENIED;
    }

    last = mcp_store_visible(op->head, st);

    if (cursor->seq > last) {
        return MCP_ERR_NOT_FOUND;
    }

    if (cursor->seq + 1 < st->events.first) {
        return MCP_ERR_PURGED;
    }

    /* if there is a consumer, events that were sent only to joined readers do
     * not count as sent */

    if (st->consumer_slot == MCP_STORE_NO_SLOT
        || mcp_store_is_consumer(op, st, handle))
    {
        mcp_store_read_sent(op, st, cursor, sent);
    }

    p = cursor->seq == last ? buf : mcp_store_fill(op->head, st, cursor, buf,
                                                   buf + cap);
    if (p == NULL) {
        return MCP_ERR_PURGED;
    }

    *len = (size_t) (p - buf);

    /* nothing was copied: there is no event after the cursor, or all such
     * events concern other requests than cursor->only */

    if (*len == 0) {
        return mcp_store_through(op->head, st, cursor) ? MCP_DONE : MCP_AGAIN;
    }

    cursor->all = (mcp_store_may_delay(st, cursor) != 0);

    return MCP_OK;
}


int
mcp_store_read(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t handle,
    mcp_cursor_t *cursor, uint64_t sent, char *buf, size_t cap, size_t *len)
{
    int             rc;
    mcp_store_op_t  op;

    *len = 0;
    cursor->all = 0;

    if (cap < MCP_STORE_READ_MIN) {
        return MCP_ERR_LIMIT;
    }

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_read_locked(&op, ref, handle, cursor, sent, buf, cap, len);

    mcp_store_leave(&op);

    return rc;
}
