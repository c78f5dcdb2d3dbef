/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sorts members by the first eight bytes of their folded names, then the equal
 * ones by the next eight bytes, and so on. qsort() is not used because a
 * client that knows its algorithm could choose names that make it slow.
 */


#include "rpc/mcp_digest_sort.h"
#include "base/mcp_utf8.h"


#define MCP_DIGEST_PIECE  8            /* bytes in a piece */
#define MCP_DIGEST_FEW    32           /* maximum number of members for which
                                          insertion sort is used */


/*
 * Reads the next eight bytes of a folded name into m->piece. A name ends at
 * U+0000, as in parsers that store names as C strings; a shorter piece is
 * filled up with zeros.
 */
static void
mcp_digest_piece(const char *text, mcp_digest_member_t *m)
{
    char       c;
    size_t     n;
    uint64_t   piece;
    mcp_str_t  s;

    piece = 0;

    for (n = 0; n < MCP_DIGEST_PIECE; n++) {
        c = text[m->at];

        if (c == MCP_DIGEST_END || c == '\0') {
            break;
        }

        s = (mcp_str_t) { text + m->at, 1 };

        if (c >= 'A' && c <= 'Z') {
            c |= 0x20;

        } else if ((c & 0x80) && mcp_utf8_len(c) > 1) {
            s.len = mcp_utf8_len(c);
            c = mcp_json_letter(s);

            /* not folded to a letter: the bytes of the character are read one
             * by one */

            if (c == 0) {
                s.len = 1;
                c = *s.data;
            }
        }

        m->at += (uint32_t) s.len;
        piece = piece << 8 | (unsigned char) c;
    }

    m->piece = n > 0 ? piece << 8 * (MCP_DIGEST_PIECE - n) : 0;
}


/* Returns 1 if a name continues after its piece. */
static inline int
mcp_digest_continues(const mcp_digest_member_t *m)
{
    return (m->piece & 0xff) != 0;
}


static int
mcp_digest_is_sorted(const mcp_digest_member_t *members, size_t n)
{
    size_t  i;

    for (i = 1; i < n; i++) {
        if (members[i].piece < members[i - 1].piece) {
            return 0;
        }
    }

    return 1;
}


static void
mcp_digest_insert(mcp_digest_member_t *members, size_t n)
{
    size_t               i, k;
    mcp_digest_member_t  m;

    for (i = 1; i < n; i++) {
        m = members[i];

        for (k = i; k > 0 && m.piece < members[k - 1].piece; k--) {
            members[k] = members[k - 1];
        }

        members[k] = m;
    }
}


/*
 * Moves members to other, sorted by the byte of their pieces that is `shift`
 * bits from the right. counts are the numbers of members for each value of the
 * byte.
 */
static void
mcp_digest_move(const mcp_digest_member_t *members, size_t n,
    mcp_digest_member_t *other, unsigned shift, uint32_t counts[256])
{
    size_t    i;
    uint32_t  next, count;

    next = 0;

    for (i = 0; i < 256; i++) {
        count = counts[i];
        counts[i] = next;
        next += count;
    }

    for (i = 0; i < n; i++) {
        other[counts[members[i].piece >> shift & 0xff]++] = members[i];
    }
}


/* Sorts by the bytes of the pieces, from the last to the first. */
static void
mcp_digest_radix(mcp_digest_member_t *members, mcp_digest_member_t *scratch,
    size_t n)
{
    size_t                i, k;
    uint32_t              counts[MCP_DIGEST_PIECE][256];
    mcp_digest_member_t  *from, *to, *other;

    memset(counts, 0, sizeof(counts));

    for (i = 0; i < n; i++) {
        for (k = 0; k < MCP_DIGEST_PIECE; k++) {
            counts[k][members[i].piece >> 8 * k & 0xff]++;
        }
    }

    from = members;
    to = scratch;

    for (k = 0; k < MCP_DIGEST_PIECE; k++) {

        if (counts[k][from->piece >> 8 * k & 0xff] == n) {
            continue;
        }

        mcp_digest_move(from, n, to, (unsigned) (8 * k), counts[k]);

        other = from;
        from = to;
        to = other;
    }

    if (from != members) {
        memcpy(members, from, n * sizeof(mcp_digest_member_t));
    }
}


/* Reads a piece of each name, and sorts by the pieces. */
static void
mcp_digest_round(const char *text, mcp_digest_member_t *members,
    mcp_digest_member_t *scratch, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        mcp_digest_piece(text, &members[i]);
    }

    if (mcp_digest_is_sorted(members, n)) {
        return;
    }

    if (n <= MCP_DIGEST_FEW) {
        mcp_digest_insert(members, n);

    } else {
        mcp_digest_radix(members, scratch, n);
    }
}


/*
 * The recursion has a depth of at most log2(n): the loop sorts the largest
 * part.
 */
size_t
mcp_digest_sort(const char *text, mcp_digest_member_t *members,
    mcp_digest_member_t *scratch, size_t n)
{
    size_t                i, k, pieces, most;
    mcp_digest_member_t  *largest;

    pieces = 0;

    while (n > 1) {
        mcp_digest_round(text, members, scratch, n);
        pieces += n;
        most = 1;
        largest = NULL;

        for (i = 0; i < n; i = k) {
            for (k = i + 1; k < n && members[k].piece == members[i].piece;) {
                k++;
            }

            if (k - i < 2 || !mcp_digest_continues(&members[i])) {
                continue;
            }

            if (k - i <= most) {
                pieces += mcp_digest_sort(text, &members[i], scratch, k - i);
                continue;
            }

            if (largest != NULL) {
                pieces += mcp_digest_sort(text, largest, scratch, most);
            }

            most = k - i;
            largest = &members[i];
        }

        members = largest;
        n = largest != NULL ? most : 0;
    }

    return pieces;
}
