/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Appends records to logs, finds them and removes them. A log consists of
 * records with consecutive numbers in a chain of chunks, appended at one end
 * and removed at the other. A stream has one log for its events and one for its
 * inbox. An append writes the record and links its chunks, then stores "last",
 * which commits it. A removal raises "first", then moves the head, then frees
 * chunks. All other fields of the log can be rebuilt by scanning it.
 */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_record_t) == 16, "record head");
_Static_assert(sizeof(mcp_store_chunk_t) == MCP_STORE_CHUNK, "chunk");
_Static_assert(offsetof(mcp_store_chunk_t, data) == MCP_CHUNK_HEAD, "chunk");


/* Returns the room in the log's last chunk for the payload of a record that
 * begins there, or -1 if no record can begin there. */
static int32_t
mcp_store_log_tail_room(mcp_store_head_t *head, const mcp_store_log_t *log)
{
    uint32_t  offset;

    if (log->head == 0) {
        return -1;
    }

    offset = mcp_store_align8(mcp_store_chunk(head, log->tail)->used);

    return (int32_t) MCP_STORE_CHUNK - (int32_t) (offset + MCP_RECORD_HEAD);
}


uint32_t
mcp_store_log_need(mcp_store_head_t *head, const mcp_store_log_t *log,
    size_t len)
{
    int32_t  room;

    room = mcp_store_log_tail_room(head, log);

    if (room < 0) {
        return mcp_store_chunks(len + MCP_RECORD_HEAD);
    }

    return mcp_store_chunks(len - (len < (size_t) room ? len : (size_t) room));
}


void
mcp_store_log_mark(mcp_store_head_t *head, mcp_store_log_t *log,
    uint32_t index, uint32_t chunks)
{
    log->since += chunks;

    if (log->mark != 0 && log->since < MCP_STORE_MARK) {
        return;
    }

    if (log->mark != 0) {
        mcp_store_chunk(head, log->mark)->skip = index;
    }

    log->mark = index;
    log->since = 0;
}


/* Commits a record that is completely written, and links the new chunks in
 * "chain" to the log, if there are any. */
static void
mcp_store_log_commit(mcp_store_op_t *op, mcp_store_log_t *log,
    const mcp_store_record_t *rec, mcp_store_pos_t start,
    const mcp_store_chain_t *chain)
{
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(op->head, start.chunk);

    if (chunk->first == 0) {
        chunk->first = (uint16_t) start.offset;
        chunk->seq = rec->seq;
        chunk->total = log->total;
    }

    if (log->head == 0) {
        log->offset = start.offset;
        log->mark = 0;
        log->since = 0;
        log->chunks = 0;
        log->bytes = 0;
        log->head = chain->first;

    } else if (chain->count > 0) {
        mcp_store_chunk(op->head, log->tail)->next = chain->first;
    }

    mcp_store_barrier();
    log->last = rec->seq;
    mcp_store_barrier();

    log->bytes += rec->len;
    log->total += rec->len;

    if (chain->count == 0) {
        return;
    }

    log->tail = chain->last;
    log->chunks += chain->count;
    mcp_store_tenant_resize(op, log, chain->count);

    if (start.chunk == chain->first) {
        mcp_store_log_mark(op->head, log, start.chunk, chain->count);

    } else {
        log->since += chain->count;
    }
}


int
mcp_store_log_append(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_str_t *parts, size_t n, int all)
{
    size_t              i;
    uint32_t            need;
    mcp_store_pos_t     pos, start;
    mcp_store_chain_t   chain;
    mcp_store_chunk_t  *tail;

    need = mcp_store_log_need(op->head, log, rec->len);

    if (need > 0 && mcp_store_ensure(op, need, all) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    mcp_store_chain_take(op, need, &chain);

    rec->seq = log->last + 1;          /* the commit makes the record valid */

    if (mcp_store_log_tail_room(op->head, log) < 0) {
        start = (mcp_store_pos_t) { chain.first, MCP_CHUNK_HEAD };
    } else {
        tail = mcp_store_chunk(op->head, log->tail);
        start = (mcp_store_pos_t) { log->tail, mcp_store_align8(tail->used) };

        /* The payload continues in the chain. If this process dies before the
         * commit, the link does no harm, because no valid record of the log
         * continues in the chain. */
        tail->next = chain.first;
    }

    pos = start;
    mcp_store_copy_in(op->head, &pos, rec, MCP_RECORD_HEAD);

    for (i = 0; i < n; i++) {
        mcp_store_copy_in(op->head, &pos, parts[i].data, parts[i].len);
    }

    mcp_store_log_commit(op, log, rec, start, &chain);

    return MCP_OK;
}


void
mcp_store_log_attach(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_store_chain_t *chain)
{
    mcp_store_pos_t  start;

    rec->seq = log->last + 1;          /* the commit makes the record valid */

    start = (mcp_store_pos_t) { chain->first, MCP_CHUNK_HEAD };

    memcpy((char *) mcp_store_chunk(op->head, start.chunk) + start.offset, rec,
           MCP_RECORD_HEAD);

    mcp_store_log_commit(op, log, rec, start, chain);
}


mcp_store_record_t *
mcp_store_log_record(mcp_store_head_t *head, mcp_store_pos_t *pos)
{
    uint32_t            offset;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(head, pos->chunk);
    offset = mcp_store_align8(pos->offset);

    if (offset + MCP_RECORD_HEAD > chunk->used) {

        if (!mcp_store_index_ok(head, chunk->next)) {
            return NULL;
        }

        pos->chunk = chunk->next;
        chunk = mcp_store_chunk(head, pos->chunk);
        offset = MCP_CHUNK_HEAD;

        if (offset + MCP_RECORD_HEAD > chunk->used) {
            return NULL;
        }
    }

    pos->offset = offset;

    return (mcp_store_record_t *) ((char *) chunk + offset);
}


void
mcp_store_log_pass(mcp_store_head_t *head, mcp_store_pos_t *pos, uint32_t len)
{
    uint32_t            n;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(head, pos->chunk);
    pos->offset += MCP_RECORD_HEAD;

    for ( ;; ) {
        n = chunk->used - pos->offset;

        if (len <= n) {
            pos->offset += len;
            return;
        }

        len -= n;
        pos->offset = chunk->used;

        if (!mcp_store_index_ok(head, chunk->next)) {
            return;
        }

        pos->chunk = chunk->next;
        pos->offset = MCP_CHUNK_HEAD;
        chunk = mcp_store_chunk(head, pos->chunk);

        if (chunk->used < MCP_CHUNK_HEAD) {
            return;
        }
    }
}


/* Returns the last chunk in which a record with a number up to seq begins, or
 * 0. */
static uint32_t
mcp_store_log_chunk(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq)
{
    uint32_t            index, best, n;
    mcp_store_chunk_t  *chunk;

    best = 0;
    index = log->head;

    /* usually the record is after the last mark */

    if (log->mark != 0 && mcp_store_chunk(head, log->mark)->seq <= seq) {
        index = log->mark;
    }

    for (n = 0; n < head->chunks; n++) {
        chunk = mcp_store_chunk(head, index);

        if (chunk->first != 0) {
            if (chunk->seq > seq) {
                break;
            }

            best = index;
        }

        if (chunk->skip != 0 && mcp_store_chunk(head, chunk->skip)->seq <= seq)
        {
            index = chunk->skip;
            continue;
        }

        if (!mcp_store_index_ok(head, chunk->next)) {
            break;
        }

        index = chunk->next;
    }

    return best;
}


/* Sets *pos to the record with the number seq, and *total to the bytes of
 * payload before it. Returns 0 if there is none. */
static int
mcp_store_log_locate(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos, uint64_t *total)
{
    uint32_t             index, n;
    mcp_store_chunk_t   *chunk;
    mcp_store_record_t  *rec;

    if (log->head == 0 || seq < log->first || seq > log->last) {
        return 0;
    }

    index = mcp_store_log_chunk(head, log, seq);
    if (index == 0) {
        return 0;
    }

    chunk = mcp_store_chunk(head, index);
    *pos = (mcp_store_pos_t) { index, chunk->first };
    *total = chunk->total;

    for (n = 0; n < MCP_STORE_CHUNK / MCP_RECORD_HEAD; n++) {
        rec = mcp_store_log_record(head, pos);

        if (rec == NULL || rec->seq > seq) {
            return 0;
        }

        if (rec->seq == seq) {
            return 1;
        }

        *total += rec->len;
        mcp_store_log_pass(head, pos, rec->len);
    }

    return 0;
}


int
mcp_store_log_seek(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos)
{
    uint64_t  total;

    return mcp_store_log_locate(head, log, seq, pos, &total);
}


uint64_t
mcp_store_log_bytes(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t from, uint64_t to)
{
    uint64_t         before, after;
    mcp_store_pos_t  pos;

    if (from > to || !mcp_store_log_locate(head, log, from, &pos, &before)) {
        return 0;
    }

    if (to >= log->last
        || !mcp_store_log_locate(head, log, to + 1, &pos, &after))
    {
        after = log->total;
    }

    return after - before;
}


/* Makes the chunk "index" the head of the log, and frees the chunks before
 * it. */
static void
mcp_store_log_behead(mcp_store_op_t *op, mcp_store_log_t *log, uint32_t index)
{
    uint32_t  first, last, next, count;

    if (index == log->head) {
        return;
    }

    first = log->head;
    last = first;
    count = 1;

    for ( ;; ) {
        if (last == log->mark) {
            log->mark = 0;
            log->since = 0;
        }

        next = mcp_store_chunk(op->head, last)->next;

        if (next == index || next == 0) {
            break;
        }

        last = next;
        count++;
    }

    log->head = index;
    mcp_store_barrier();
    log->chunks -= count;
    mcp_store_tenant_resize(op, log, (uint32_t) -(int32_t) count);
    mcp_store_chain_free(op, first, last, count);
}


void
mcp_store_log_drop(mcp_store_op_t *op, mcp_store_log_t *log)
{
    mcp_store_pos_t      pos;
    mcp_store_record_t  *rec;

    if (log->first >= log->last) {
        mcp_store_log_clear(op, log);
        return;
    }

    pos = (mcp_store_pos_t) { log->head, log->offset };
    rec = mcp_store_log_record(op->head, &pos);

    if (rec == NULL) {
        mcp_store_log_clear(op, log);
        return;
    }

    log->bytes -= rec->len;
    mcp_store_log_pass(op->head, &pos, rec->len);

    if (mcp_store_log_record(op->head, &pos) == NULL) {
        mcp_store_log_clear(op, log);
        return;
    }

    log->first++;
    mcp_store_barrier();
    log->offset = pos.offset;
    mcp_store_log_behead(op, log, pos.chunk);
}


void
mcp_store_log_clear(mcp_store_op_t *op, mcp_store_log_t *log)
{
    uint32_t  first;

    first = log->head;

    log->first = log->last + 1;
    mcp_store_barrier();
    log->head = 0;
    mcp_store_barrier();

    mcp_store_chain_free(op, first, log->tail, log->chunks);
    mcp_store_tenant_resize(op, log, (uint32_t) -(int32_t) log->chunks);

    log->tail = 0;
    log->offset = 0;
    log->mark = 0;
    log->since = 0;
    log->chunks = 0;
    log->bytes = 0;
}
