/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Computes the digest of a request's params (mcp_digest.h). The params are
 * first converted to the following text, which is then hashed. Two different
 * values never have the same text:
 *
 *   object   { members, sorted by folded name, each a string and a value }
 *            h and the digest of this text, if the text is long
 *   array    [ values ]
 *   string   " UTF-8 ff
 *   number   sign if negative, digits, e and exponent if it is not 0 ;
 *            = and its notation ;
 *   literal  t, f, n
 *
 * The digits of a number neither begin nor end with a zero; zero itself has no
 * digits, no sign and no exponent.
 *
 * The text is written in one pass over the params. At the end of each object,
 * its members are sorted. Then a long object is replaced by its digest, so that
 * sorting the members of the enclosing objects moves few bytes.
 */


#include <stdio.h>

#include "base/mcp_str.h"
#include "rpc/mcp_digest.h"
#include "rpc/mcp_request_id.h"


/*
 * maximum length of an object's text that is not replaced by its digest, bytes
 */
#define MCP_DIGEST_LONG      4096

/* maximum length of the sign, the point and the exponent of a number, bytes */
#define MCP_DIGEST_NUMBER    32

#define MCP_DIGEST_PIECE  8            /* bytes in a piece */
#define MCP_DIGEST_FEW    32           /* maximum number of members for which
                                          insertion sort is used */


typedef struct {
    mcp_buf_t    text;
    mcp_buf_t    members;              /* mcp_digest_member_t of all open
                                          objects, outermost first */
    const char  *end;                  /* end of params */
    int          rc;                   /* MCP_OK or the first error */
} mcp_digest_t;


static const char *mcp_digest_value(mcp_digest_t *d, const char *p,
    unsigned depth);


static const mcp_str_t  mcp_digest_without[] = {
    { "_meta", 5 },
    { "idempotencyKey", 14 },
    { "inputResponses", 14 },
    { "requestState", 12 },
    { "resumeToken", 11 }
};


static const char *
mcp_digest_fail(mcp_digest_t *d, int rc)
{
    d->rc = rc;

    return NULL;
}


/* Reserves n more bytes in d->text. Returns the address after the present text,
 * or NULL with d->rc set. */
static inline char *
mcp_digest_room(mcp_digest_t *d, size_t n)
{
    char  *p;

    if (d->text.cap - d->text.len >= n) {
        return d->text.data + d->text.len;
    }

    p = mcp_buf_reserve(&d->text, n);

    if (p == NULL) {
        mcp_digest_fail(d, d->text.failed);
    }

    return p;
}


/* Skips white space, commas and colons. */
static inline const char *
mcp_digest_skip(const char *p, const char *end)
{
    while (p < end && (*p == ',' || *p == ':' || mcp_json_is_space(*p))) {
        p++;
    }

    return p;
}


/* --- scalars --- */

/*
 * mcp_digest_literal(), _string(), _number(), _member(), _container() and
 * _value() append the value at p to d->text. They return the end of the value
 * in the params, or NULL with d->rc set.
 */

static const char *
mcp_digest_literal(mcp_digest_t *d, const char *p)
{
    char  *out;

    out = mcp_digest_room(d, 1);
    if (out == NULL) {
        return NULL;
    }

    *out = *p;
    d->text.len++;

    while (p < d->end && *p >= 'a' && *p <= 'z') {
        p++;
    }

    return p;
}


static const char *
mcp_digest_string(mcp_digest_t *d, const char *p)
{
    char        *out;
    size_t       len;
    mcp_str_t    raw;
    const char  *end;

    end = mcp_json_string_end(p, d->end);
    if (end == NULL) {
        return mcp_digest_fail(d, MCP_ERR_INTERNAL);
    }

    raw = (mcp_str_t) { p, (size_t) (end - p) };

    out = mcp_digest_room(d, raw.len + 2);
    if (out == NULL) {
        return NULL;
    }

    *out = '"';
    len = mcp_json_decode(out + 1, raw);
    out[len + 1] = MCP_DIGEST_END;
    d->text.len += len + 2;

    return end;
}


/* Writes the text of a number to out, which has room for raw.len +
 * MCP_DIGEST_NUMBER bytes. Returns the end of the text. */
static char *
mcp_digest_number_write(char *out, mcp_str_t raw)
{
    char     *o, *end;
    size_t    minus;
    int64_t   exponent;

    *out = '-';
    minus = *raw.data == '-';
    o = out + minus;
    end = mcp_id_digits(o, (mcp_str_t) { raw.data + minus, raw.len - minus },
                        &exponent);

    if (end == o) {
        *out = ';';
        return out + 1;
    }

    if (end == NULL) {
        *out = '=';
        memcpy(out + 1, raw.data, raw.len);
        out[raw.len + 1] = ';';
        return out + raw.len + 2;
    }

    if (exponent != 0) {
        end += snprintf(end, MCP_DIGEST_NUMBER - 4, "e%lld",
                        (long long) exponent);
    }

    *end++ = ';';

    return end;
}


static const char *
mcp_digest_number(mcp_digest_t *d, const char *p)
{
    char        *out;
    mcp_str_t    raw;
    const char  *end;

    for (end = p + 1; end < d->end; end++) {
        if ((*end < '0' || *end > '9') && *end != '.' && *end != '-'
            && *end != '+' && *end != 'e' && *end != 'E')
        {
            break;
        }
    }

    raw = (mcp_str_t) { p, (size_t) (end - p) };

    out = mcp_digest_room(d, raw.len + MCP_DIGEST_NUMBER);
    if (out == NULL) {
        return NULL;
    }

    d->text.len += (size_t) (mcp_digest_number_write(out, raw) - out);

    return end;
}


/* --- sorting of members --- */

/*
 * Reads the next eight bytes of a folded name into m->piece. A name ends at
 * U+0000, because parsers that store names as C strings truncate it there. A
 * piece with fewer bytes is filled up with zeros.
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

            /* the character is not folded to a letter: its bytes are read one
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
 * Copies members to "other", sorted by one byte of their pieces: the byte that
 * is "shift" bits from the right. counts has the number of members for each
 * value of this byte.
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


/* Sorts n members by their pieces with radix sort: by the last byte of the
 * pieces first, by the first byte last. scratch has room for n members. */
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


/* Reads the next piece of the name of each of the n members, and sorts the
 * members by these pieces. */
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
 * Sorts members by the first eight bytes of their folded names, then the equal
 * ones by the next eight bytes, and so on. qsort() is not used because a
 * client that knows its algorithm could choose names that make it slow. The
 * recursion has a depth of at most log2(n): the loop sorts the largest part.
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


/* --- members --- */

static int
mcp_digest_is_left_out(mcp_str_t name)
{
    size_t  i;

    for (i = 0;
         i < sizeof(mcp_digest_without) / sizeof(mcp_digest_without[0]);
         i++)
    {
        if (mcp_str_eq(name, mcp_digest_without[i])) {
            return 1;
        }
    }

    return 0;
}


/*
 * Appends the name at p and the value after it to d->text, and the member to
 * d->members. If top is 1, the object is params: a member that the digest
 * excludes (mcp_digest_without[]) is removed from d->text again.
 */
static const char *
mcp_digest_member(mcp_digest_t *d, const char *p, unsigned depth, int top)
{
    size_t                start, end;
    mcp_str_t             name;
    mcp_digest_member_t  *member;

    start = d->text.len;
    p = mcp_digest_string(d, p);
    end = d->text.len;

    if (p != NULL) {
        p = mcp_digest_value(d, mcp_digest_skip(p, d->end), depth);
    }

    if (p == NULL) {
        return NULL;
    }

    name = (mcp_str_t) { d->text.data + start + 1, end - start - 2 };

    if (top && mcp_digest_is_left_out(name)) {
        d->text.len = start;
        return p;
    }

    if (d->text.len > UINT32_MAX) {
        return mcp_digest_fail(d, MCP_ERR_LIMIT);
    }

    member = (void *) mcp_buf_reserve(&d->members, sizeof(*member));
    if (member == NULL) {
        return mcp_digest_fail(d, d->members.failed);
    }

    member->start = (uint32_t) start;
    member->end = (uint32_t) d->text.len;
    member->at = (uint32_t) start + 1;
    d->members.len += sizeof(*member);

    return p;
}


/* Rewrites d->text from offset start on, so that the text has the n members of
 * an object in the order of "members". Returns MCP_OK or d->rc. */
static int
mcp_digest_arrange(mcp_digest_t *d, const mcp_digest_member_t *members,
    size_t n, size_t start)
{
    char    *out, *o;
    size_t   i;

    for (i = 1; i < n && members[i].start > members[i - 1].start; i++) {
        /* void */
    }

    if (i >= n) {
        return MCP_OK;
    }

    out = mcp_digest_room(d, d->text.len - start);
    if (out == NULL) {
        return d->rc;
    }

    o = out;

    for (i = 0; i < n; i++) {
        memcpy(o, d->text.data + members[i].start,
               members[i].end - members[i].start);
        o += members[i].end - members[i].start;
    }

    memcpy(d->text.data + start, out, (size_t) (o - out));

    return MCP_OK;
}


/*
 * Sorts the members of an object in d->text, where they begin at offset start.
 * To be called at the end of the object, when d->members has the members of
 * this object from offset "first" on. Removes them from d->members. Returns
 * MCP_OK or an error.
 */
static int
mcp_digest_order(mcp_digest_t *d, size_t first, size_t start)
{
    size_t                n;
    mcp_digest_member_t  *members, *scratch;

    n = (d->members.len - first) / sizeof(mcp_digest_member_t);

    if (n > 1) {
        scratch = (void *) mcp_buf_reserve(&d->members,
                                           n * sizeof(mcp_digest_member_t));
        if (scratch == NULL) {
            return d->members.failed;
        }

        members = scratch - n;
        (void) mcp_digest_sort(d->text.data, members, scratch, n);

        if (mcp_digest_arrange(d, members, n, start) != MCP_OK) {
            return d->rc;
        }
    }

    d->members.len = first;

    return MCP_OK;
}


/* --- containers --- */

/* If d->text from offset start on is longer than MCP_DIGEST_LONG, replaces this
 * part by "h" and its digest. Returns MCP_OK or an error of mcp_digest(). */
static int
mcp_digest_shorten(mcp_digest_t *d, size_t start)
{
    int            rc;
    mcp_str_t      text;
    unsigned char  digest[MCP_DIGEST_LEN];

    text = (mcp_str_t) { d->text.data + start, d->text.len - start };

    if (text.len <= MCP_DIGEST_LONG) {
        return MCP_OK;
    }

    rc = mcp_digest(digest, &text, 1);

    if (rc == MCP_OK) {
        d->text.data[start] = 'h';
        memcpy(d->text.data + start + 1, digest, MCP_DIGEST_LEN);
        d->text.len = start + 1 + MCP_DIGEST_LEN;
    }

    return rc;
}


/* Appends the object or array at p, with all values in it, to d->text. top is 1
 * if p is the params object itself, some members of which are excluded. Returns
 * the end of the value, or NULL with d->rc set. */
static const char *
mcp_digest_container(mcp_digest_t *d, const char *p, unsigned depth, int top)
{
    int     object, rc;
    size_t  start, first;

    if (depth == 0) {
        return mcp_digest_fail(d, MCP_ERR_LIMIT);
    }

    object = *p == '{';
    start = d->text.len;
    first = d->members.len;
    mcp_buf_add(&d->text, p, 1);
    p = mcp_digest_skip(p + 1, d->end);

    while (p != NULL && p < d->end && *p != '}' && *p != ']') {
        p = object ? mcp_digest_member(d, p, depth - 1, top)
                   : mcp_digest_value(d, p, depth - 1);

        p = p != NULL ? mcp_digest_skip(p, d->end) : NULL;
    }

    if (p == NULL) {
        return NULL;
    }

    rc = object ? mcp_digest_order(d, first, start + 1) : MCP_OK;

    mcp_buf_lit(&d->text, "}");

    if (rc == MCP_OK) {
        rc = d->text.failed;
    }

    if (rc == MCP_OK) {
        d->text.data[d->text.len - 1] = object ? '}' : ']';
        rc = object ? mcp_digest_shorten(d, start) : MCP_OK;
    }

    return rc == MCP_OK ? p + (p < d->end) : mcp_digest_fail(d, rc);
}


/* Appends the value at p to d->text. depth is the number of nested containers
 * that the value may have. Returns the end of the value, or NULL with d->rc
 * set. */
static const char *
mcp_digest_value(mcp_digest_t *d, const char *p, unsigned depth)
{
    if (p == d->end) {
        return mcp_digest_fail(d, MCP_ERR_INTERNAL);
    }

    switch (*p) {

    case '{':
    case '[':
        return mcp_digest_container(d, p, depth, 0);

    case '"':
        return mcp_digest_string(d, p);

    case 't':
    case 'f':
    case 'n':
        return mcp_digest_literal(d, p);

    default:
        return mcp_digest_number(d, p);
    }
}


int
mcp_digest_params(const mcp_mem_t *mem, mcp_str_t params, unsigned max_depth,
    unsigned char out[MCP_DIGEST_LEN])
{
    mcp_str_t     text;
    mcp_digest_t  d;
    const char   *p;

    if (max_depth == 0) {
        return MCP_ERR_LIMIT;
    }

    if (params.len == 0) {
        params = mcp_str("{}");
    }

    mcp_buf_init(&d.text, mem, SIZE_MAX / 2);
    mcp_buf_init(&d.members, mem, SIZE_MAX / 2);
    d.end = params.data + params.len;
    d.rc = MCP_OK;

    p = mcp_digest_skip(params.data, d.end);

    if (p < d.end && mcp_digest_container(&d, p, max_depth, 1) != NULL) {
        text = (mcp_str_t) { d.text.data, d.text.len };
        d.rc = mcp_digest(out, &text, 1);
    }

    mcp_buf_free(&d.members);
    mcp_buf_free(&d.text);

    return d.rc;
}
