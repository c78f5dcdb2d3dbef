/* SPDX-License-Identifier: Apache-2.0 */

/* Common parts of the store's crash tests: a region that processes share, and
 * events whose content identifies their stream and number. */


#ifndef STORE_CRASH_H_INCLUDED
#define STORE_CRASH_H_INCLUDED


#include <sys/mman.h>

#include "store_driver.h"


static inline void *
plain_alloc(void *ctx, size_t size)
{
    return malloc(size);
}


static inline void
plain_free(void *ctx, void *p)
{
    free(p);
}


static inline void
shared_wake(void *ctx, unsigned slot)
{
}


/* The message of an event depends on the id of its stream and on its number,
 * so that a misplaced event is detected. */
static inline size_t
text_len(const unsigned char *id, uint64_t seq)
{
    uint64_t  n;

    memcpy(&n, id, sizeof(n));
    n = n * 31 + seq * 17;

    return n % 401 == 0 ? 66000 + n % 1000 : n % 900;
}


static inline void
text_fill(char *p, const unsigned char *id, uint64_t seq, size_t len)
{
    size_t    i;
    uint64_t  n;

    memcpy(&n, id, sizeof(n));

    for (i = 0; i < len; i++) {
        p[i] = (char) ('!' + (n + seq * 5 + i) % 90);
    }
}


/*
 * Reads from the cursor, at most n buffers, and compares the events with
 * text_fill(). Returns the number of the last complete event, or -1 if an
 * event differs. Sets *rc to the result of the last mcp_store_read().
 */
static inline int64_t
check_read(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t handle,
    mcp_cursor_t *cursor, unsigned n, int *rc)
{
    size_t              len, i, want_len, pos;
    uint64_t            seq;
    static __thread char  buf[20000], want[70000];

    seq = cursor->seq;
    want_len = 0;
    pos = 0;

    while (n-- > 0) {
        *rc = mcp_store_read(store, ref, handle, cursor, cursor->seq, buf,
                             sizeof(buf), &len);
        if (*rc != MCP_OK) {
            break;
        }

        for (i = 0; i < len; /* void */) {
            size_t  part;

            if (pos == want_len) {
                char  *p;

                p = store_event_head(want, ref->id, seq + 1);
                want_len = text_len(ref->id, seq + 1);
                text_fill(p, ref->id, seq + 1, want_len);
                p += want_len;
                *p++ = '\n';
                *p++ = '\n';
                want_len = (size_t) (p - want);
                pos = 0;
            }

            part = len - i < want_len - pos ? len - i : want_len - pos;

            if (memcmp(buf + i, want + pos, part) != 0) {
                return -1;
            }

            i += part;
            pos += part;

            if (pos == want_len) {
                seq++;
            }
        }
    }

    return cursor->seq == seq ? (int64_t) seq : -1;
}


/* The texts of values are runs of one character, which determines their
 * length, so that a mixture of two texts is detected. text_run() returns text
 * n in buf. is_run() returns 1 if "text" is one of these texts. */
static inline mcp_str_t
text_run(char buf[MCP_STORE_TEXT_MAX], unsigned n)
{
    size_t  len;

    n = n % 90 + 1;
    len = n * 71 % MCP_STORE_TEXT_MAX + 1;
    memset(buf, (int) n, len);

    return (mcp_str_t) { buf, len };
}


static inline int
is_run(mcp_str_t text)
{
    char  want[MCP_STORE_TEXT_MAX];

    return text.len > 0
           && mcp_str_eq(text, text_run(want, (unsigned) text.data[0] - 1));
}


static inline void *
shared_new(size_t size)
{
    void  *p;

    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);
    assert_true(p != MAP_FAILED);

    return p;
}


#endif /* STORE_CRASH_H_INCLUDED */
