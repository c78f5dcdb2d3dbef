/* SPDX-License-Identifier: Apache-2.0 */

/* Scans a whole log, computes the correct mcp_store_log_t, and checks whether
 * the log is intact. A repair also corrects the derived data in the log's
 * chunks. */


#include "store/mcp_store_layout.h"


/* The state of a scan over all chunks of a log. */
typedef struct {
    mcp_store_head_t       *head;
    const mcp_store_log_t  *log;
    mcp_store_log_t        *out;
    mcp_store_record_t     *rec;       /* copy of the latest record that was
                                          scanned */
    uint64_t                seq;       /* number of the latest record that was
                                          scanned; 0: none yet */
    uint32_t                left;      /* bytes of the payload of record "seq"
                                          that follow in the next chunks */
    int                     fix;
} mcp_store_scan_t;


/* In the first chunk of the log, sets *offset to the first record that begins
 * there, which may have been removed. Does nothing in later chunks. Returns 0
 * if no record begins in the first chunk. */
static int
mcp_store_scan_begin(mcp_store_scan_t *scan, const mcp_store_chunk_t *chunk,
    uint32_t *offset)
{
    if (scan->seq != 0) {
        return 1;
    }

    if (chunk->first == 0) {
        return 0;
    }

    *offset = chunk->first;
    scan->seq = chunk->seq - 1;
    scan->out->total = chunk->total;

    return 1;
}


/* Counts the record at "offset" of chunk "index". Returns 0 if its number
 * is not the next one, or if a derived number is wrong and may not be
 * corrected. */
static int
mcp_store_scan_record(mcp_store_scan_t *scan, uint32_t index, uint32_t offset)
{
    mcp_store_chunk_t   *chunk;
    mcp_store_record_t  *rec;

    chunk = mcp_store_chunk(scan->head, index);
    rec = (mcp_store_record_t *) ((char *) chunk + offset);

    if (rec->seq != scan->seq + 1) {
        return 0;
    }

    if (rec->seq == scan->log->first) {
        scan->out->head = index;
        scan->out->offset = offset;
    }

    if (rec->seq >= scan->log->first) {
        scan->out->bytes += rec->len;
    }

    if (offset == chunk->first && chunk->total != scan->out->total) {
        if (!scan->fix) {
            return 0;
        }

        chunk->total = scan->out->total;
    }

    scan->out->total += rec->len;
    scan->seq = rec->seq;
    *scan->rec = *rec;

    return 1;
}


/* Cuts a chunk after the last record, to remove the rest of an append that was
 * not committed. */
static void
mcp_store_scan_cut(mcp_store_chunk_t *chunk, uint32_t end)
{
    chunk->used = (uint16_t) end;
    chunk->next = 0;

    if (chunk->first >= end) {
        chunk->first = 0;
    }
}


/* Counts the records that begin in chunk "index" at "offset" or later. Returns
 * 0 if the log is broken. */
static int
mcp_store_scan_records(mcp_store_scan_t *scan, uint32_t index,
    uint32_t offset)
{
    uint32_t            end, n, len;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(scan->head, index);
    end = offset;

    if (!mcp_store_scan_begin(scan, chunk, &offset)) {
        return 0;
    }

    while (scan->seq < scan->log->last) {
        offset = mcp_store_align8(offset);

        if (offset + MCP_RECORD_HEAD > chunk->used) {
            break;
        }

        if (!mcp_store_scan_record(scan, index, offset)) {
            return 0;
        }

        len = scan->rec->len;
        offset += MCP_RECORD_HEAD;
        n = chunk->used - offset;
        n = n < len ? n : len;
        scan->left = len - n;
        offset += n;
        end = offset;

        if (scan->left > 0) {
            if (chunk->used != MCP_STORE_CHUNK) {
                return 0;
            }

            break;
        }
    }

    scan->out->tail = index;

    if (scan->fix && scan->seq == scan->log->last && scan->left == 0) {
        mcp_store_scan_cut(chunk, end);
    }

    return 1;
}


/* Scans one chunk. Returns 0 if it is broken. */
static int
mcp_store_scan_chunk(mcp_store_scan_t *scan, uint32_t index)
{
    uint32_t            n;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(scan->head, index);

    if (chunk->used > MCP_STORE_CHUNK || chunk->used < MCP_CHUNK_HEAD
        || chunk->first > chunk->used
        || (chunk->first != 0 && chunk->first < MCP_CHUNK_HEAD))
    {
        return 0;
    }

    n = chunk->used - MCP_CHUNK_HEAD;

    if (n > scan->left) {
        n = scan->left;

    } else if (n < scan->left && chunk->used != MCP_STORE_CHUNK) {
        return 0;
    }

    scan->left -= n;

    if (scan->left > 0) {
        scan->out->tail = index;
        return 1;
    }

    return mcp_store_scan_records(scan, index, MCP_CHUNK_HEAD + n);
}


/* Computes again which chunks of a log are its marks. */
static void
mcp_store_log_remark(mcp_store_head_t *head, mcp_store_log_t *log)
{
    uint32_t            index;
    mcp_store_chunk_t  *chunk;

    for (index = log->head; index; index = chunk->next) {
        chunk = mcp_store_chunk(head, index);
        chunk->skip = 0;
        chunk->count = 0;

        if (chunk->first != 0) {
            mcp_store_log_mark(head, log, index, 1);

        } else {
            log->since++;
        }
    }
}


/* Scans all chunks of a log, and sets the type of the chunks in use to
 * MCP_CHUNK_MARK. Returns 0 if the log is broken. */
static int
mcp_store_scan_chain(mcp_store_scan_t *scan)
{
    uint32_t        index, n;
    unsigned char  *types;

    types = mcp_store_types(scan->head);
    index = scan->log->head;

    for (n = 0; n < scan->head->chunks; n++) {
        if (!mcp_store_index_ok(scan->head, index)
            || types[index] != MCP_CHUNK_NONE
            || !mcp_store_scan_chunk(scan, index))
        {
            return 0;
        }

        /* chunks before that of record "first" have only removed records: they
         * become free */

        if (scan->out->head != 0) {
            types[index] = MCP_CHUNK_MARK;
            scan->out->chunks++;
        }

        if (scan->seq == scan->log->last && scan->left == 0) {
            break;
        }

        index = mcp_store_chunk(scan->head, index)->next;
    }

    return scan->out->head != 0;
}


int
mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log, int fix,
    mcp_store_log_t *out, mcp_store_record_t *rec)
{
    mcp_store_scan_t  scan;

    memset(out, 0, sizeof(mcp_store_log_t));
    memset(rec, 0, sizeof(mcp_store_record_t));

    out->first = log->first;
    out->last = log->last;
    out->total = log->total;

    if (log->head == 0 || log->first == log->last + 1) {
        out->first = log->last + 1;
        return 1;
    }

    if (log->first > log->last || log->first == 0) {
        return 0;
    }

    scan.head = head;
    scan.log = log;
    scan.out = out;
    scan.rec = rec;
    scan.seq = 0;
    scan.left = 0;
    scan.fix = fix;

    if (!mcp_store_scan_chain(&scan)) {
        return 0;
    }

    if (fix) {
        mcp_store_log_remark(head, out);
    }

    return 1;
}


int
mcp_store_repair_log(mcp_store_head_t *head, mcp_store_log_t *log,
    mcp_store_record_t *rec)
{
    mcp_store_log_t  fixed;

    if (!mcp_store_log_scan(head, log, 1, &fixed, rec)) {
        return 0;
    }

    *log = fixed;

    return 1;
}
