/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is hashed is a text that no two different values share:
 *
 *   object   { members, sorted by key, each a string and a value }
 *   array    [ values ]
 *   string   " length : UTF-8
 *   number   # digits, sign if negative, e, exponent ;
 *            = as it is written ;
 *   literal  t, f, n
 *
 * The digits of a number neither begin nor end with a zero; zero itself has
 * none, no sign and no exponent.
 */


#include "rpc/mcp_digest.h"


/* digits of an exponent that is looked at */
#define MCP_DIGEST_EXPONENT  15


typedef struct {
    mcp_buf_t    text;
    mcp_arena_t  arena;
} mcp_digest_t;


typedef struct {
    mcp_str_t         key;             /* unescaped */
    mcp_json_value_t  value;
} mcp_digest_member_t;


static int mcp_digest_value(mcp_digest_t *d, const mcp_json_value_t *value,
    unsigned depth);


static const mcp_str_t  mcp_digest_without[] = {
    { "_meta", 5 },
    { "idempotencyKey", 14 },
    { "inputResponses", 14 },
    { "requestState", 12 },
    { "resumeToken", 11 }
};


/* --- what has no parts --- */

static void
mcp_digest_add_string(mcp_buf_t *text, mcp_str_t s)
{
    mcp_buf_lit(text, "\"");
    mcp_buf_int(text, (int64_t) s.len);
    mcp_buf_lit(text, ":");
    mcp_buf_str(text, s);
}


static int
mcp_digest_string(mcp_digest_t *d, mcp_str_t raw)
{
    int               rc;
    mcp_str_t         s;
    mcp_arena_mark_t  mark;

    mark = mcp_arena_mark(&d->arena);
    rc = mcp_json_unescape(&d->arena, raw, &s);

    if (rc == MCP_OK) {
        mcp_digest_add_string(&d->text, s);
    }

    mcp_arena_release(&d->arena, mark);

    return rc;
}


/* The digits that count; *shift is the power of ten that is missing.  Returns
 * where the exponent begins, or the end. */
static const char *
mcp_digest_digits(mcp_buf_t *text, const char *p, const char *end,
    int64_t *shift)
{
    int     point;
    size_t  start;

    point = 0;
    start = text->len;

    for ( /* void */ ; p < end && *p != 'e' && *p != 'E'; p++) {

        if (*p == '.') {
            point = 1;
            continue;
        }

        *shift -= point;

        if (*p != '0' || text->len > start) {
            mcp_buf_add(text, p, 1);
        }
    }

    while (text->len > start && text->data[text->len - 1] == '0') {
        text->len--;
        *shift += 1;
    }

    return p;
}


/* What follows the "e": MCP_OK, or MCP_ERR_LIMIT. */
static int
mcp_digest_exponent(const char *p, const char *end, int64_t *exponent)
{
    int      negative;
    int64_t  n;

    negative = (p < end && *p == '-');

    while (p < end && (*p == '-' || *p == '+' || *p == '0')) {
        p++;
    }

    if (end - p > MCP_DIGEST_EXPONENT) {
        return MCP_ERR_LIMIT;
    }

    for (n = 0; p < end; p++) {
        n = n * 10 + (*p - '0');
    }

    *exponent = negative ? -n : n;

    return MCP_OK;
}


static void
mcp_digest_number(mcp_buf_t *text, mcp_str_t raw)
{
    int          negative;
    size_t       start;
    int64_t      shift, exponent;
    const char  *p, *end;

    shift = 0;
    exponent = 0;
    start = text->len;
    end = raw.data + raw.len;
    negative = (raw.data[0] == '-');

    mcp_buf_lit(text, "#");

    p = mcp_digest_digits(text, raw.data + negative, end, &shift);

    if (text->failed || text->len == start + 1) {
        mcp_buf_lit(text, ";");
        return;
    }

    if (p < end && mcp_digest_exponent(p + 1, end, &exponent) != MCP_OK) {
        text->len = start;
        mcp_buf_lit(text, "=");
        mcp_buf_str(text, raw);
        mcp_buf_lit(text, ";");
        return;
    }

    if (negative) {
        mcp_buf_lit(text, "-");
    }

    mcp_buf_lit(text, "e");
    mcp_buf_int(text, exponent + shift);
    mcp_buf_lit(text, ";");
}


/* --- members, sorted --- */

/* By key; those of one name as they stand in the text. */
static int
mcp_digest_is_before(const mcp_digest_member_t *a,
    const mcp_digest_member_t *b)
{
    int     rc;
    size_t  n;

    n = a->key.len < b->key.len ? a->key.len : b->key.len;
    rc = n ? memcmp(a->key.data, b->key.data, n) : 0;

    if (rc != 0) {
        return rc < 0;
    }

    if (a->key.len != b->key.len) {
        return a->key.len < b->key.len;
    }

    return a->value.raw.data < b->value.raw.data;
}


/* Lets a member sink into a heap whose top is the last of all. */
static void
mcp_digest_sink(mcp_digest_member_t *members, size_t i, size_t n)
{
    size_t               k;
    mcp_digest_member_t  sinking;

    sinking = members[i];

    while ((k = 2 * i + 1) < n) {

        if (k + 1 < n && mcp_digest_is_before(&members[k], &members[k + 1])) {
            k++;
        }

        if (!mcp_digest_is_before(&sinking, &members[k])) {
            break;
        }

        members[i] = members[k];
        i = k;
    }

    members[i] = sinking;
}


/* Not qsort(), which may take memory of its own, or its time. */
static void
mcp_digest_sort(mcp_digest_member_t *members, size_t n)
{
    size_t               i;
    mcp_digest_member_t  last;

    for (i = n / 2; i-- > 0; ) {
        mcp_digest_sink(members, i, n);
    }

    while (n > 1) {
        last = members[0];
        members[0] = members[--n];
        members[n] = last;
        mcp_digest_sink(members, 0, n);
    }
}


static int
mcp_digest_is_left_out(mcp_str_t key)
{
    size_t  i;

    for (i = 0;
         i < sizeof(mcp_digest_without) / sizeof(mcp_digest_without[0]);
         i++)
    {
        if (mcp_str_eq(key, mcp_digest_without[i])) {
            return 1;
        }
    }

    return 0;
}


/* The members of an object, in the arena: MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_digest_members(mcp_digest_t *d, mcp_str_t raw, int top,
    mcp_digest_member_t **members, size_t *n)
{
    size_t                count;
    mcp_str_t             key;
    mcp_json_iter_t       iter;
    mcp_json_value_t      value;
    mcp_digest_member_t  *member;

    count = 0;
    *n = 0;
    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        count++;
    }

    *members = mcp_arena_alloc(&d->arena,
                               (count + 1) * sizeof(mcp_digest_member_t));
    if (*members == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        member = &(*members)[*n];
        member->value = value;

        if (mcp_json_unescape(&d->arena, key, &member->key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (!top || !mcp_digest_is_left_out(member->key)) {
            *n += 1;
        }
    }

    return MCP_OK;
}


/* --- what has parts --- */

static int
mcp_digest_object(mcp_digest_t *d, mcp_str_t raw, unsigned depth, int top)
{
    int                   rc;
    size_t                i, n;
    mcp_arena_mark_t      mark;
    mcp_digest_member_t  *members;

    mark = mcp_arena_mark(&d->arena);
    rc = mcp_digest_members(d, raw, top, &members, &n);

    if (rc == MCP_OK) {
        mcp_digest_sort(members, n);
    }

    mcp_buf_lit(&d->text, "{");

    for (i = 0; rc == MCP_OK && i < n; i++) {
        mcp_digest_add_string(&d->text, members[i].key);
        rc = mcp_digest_value(d, &members[i].value, depth);
    }

    mcp_buf_lit(&d->text, "}");
    mcp_arena_release(&d->arena, mark);

    return rc;
}


static int
mcp_digest_array(mcp_digest_t *d, mcp_str_t raw, unsigned depth)
{
    int               rc;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    rc = MCP_OK;
    mcp_buf_lit(&d->text, "[");
    mcp_json_iter_init(&iter, raw);

    while (rc == MCP_OK && mcp_json_iter_next(&iter, NULL, &value)) {
        rc = mcp_digest_value(d, &value, depth);
    }

    mcp_buf_lit(&d->text, "]");

    return rc;
}


/* depth: of containers that may yet be opened. */
static int
mcp_digest_value(mcp_digest_t *d, const mcp_json_value_t *value,
    unsigned depth)
{
    switch (value->type) {

    case MCP_JSON_OBJECT:
        return depth ? mcp_digest_object(d, value->raw, depth - 1, 0)
                     : MCP_ERR_LIMIT;

    case MCP_JSON_ARRAY:
        return depth ? mcp_digest_array(d, value->raw, depth - 1)
                     : MCP_ERR_LIMIT;

    case MCP_JSON_STRING:
        return mcp_digest_string(d, value->raw);

    case MCP_JSON_NUMBER:
        mcp_digest_number(&d->text, value->raw);
        return MCP_OK;

    default:
        mcp_buf_add(&d->text, value->raw.data, 1);
        return MCP_OK;
    }
}


int
mcp_digest_params(const mcp_mem_t *mem, mcp_str_t params, unsigned max_depth,
    unsigned char out[MCP_DIGEST_LEN])
{
    int           rc;
    mcp_str_t     text;
    mcp_digest_t  d;

    if (max_depth == 0) {
        return MCP_ERR_LIMIT;
    }

    mcp_buf_init(&d.text, mem, SIZE_MAX / 2);
    mcp_arena_init(&d.arena, mem);

    rc = mcp_digest_object(&d, params, max_depth - 1, 1);

    if (rc == MCP_OK) {
        rc = d.text.failed;
    }

    if (rc == MCP_OK) {
        text = (mcp_str_t) { d.text.data, d.text.len };
        rc = mcp_digest(out, &text, 1);
    }

    mcp_arena_destroy(&d.arena);
    mcp_buf_free(&d.text);

    return rc;
}
