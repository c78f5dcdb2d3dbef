/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of texts that a scan has accepted: strings, members, elements,
 * conversion to one line. No function here validates JSON or reads beyond its
 * slice, whatever the slice contains.
 */


#include "base/mcp_str.h"
#include "json/mcp_json_scan.h"


static const char *
mcp_json_skip_space(const char *p, const char *end)
{
    while (p < end && mcp_json_is_space(*p)) {
        p++;
    }

    return p;
}


/*
 * Returns the code unit of \uXXXX at p (its backslash) without a check,
 * because the text was accepted.
 */
static uint32_t
mcp_json_unit(const char *p)
{
    char      c;
    unsigned  i;
    uint32_t  unit;

    unit = 0;

    for (i = 2; i < 6; i++) {
        c = p[i];
        unit <<= 4;
        unit |= (uint32_t) (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) & 15;
    }

    return unit;
}


/* Returns the character to which a backslash with c is decoded. */
static char
mcp_json_escape_char(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}


/*
 * Decodes \uXXXX at p to *c. If it is a high surrogate and a low surrogate
 * follows, decodes both. An unpaired surrogate becomes U+FFFD. Returns the
 * address after the last decoded escape.
 */
static const char *
mcp_json_escape_unicode(const char *p, const char *end, uint32_t *c)
{
    uint32_t  low;

    *c = mcp_json_unit(p);
    p += 6;

    if (*c >= 0xd800 && *c <= 0xdbff
        && end - p >= 6 && p[0] == '\\' && p[1] == 'u')
    {
        low = mcp_json_unit(p);

        if (low >= 0xdc00 && low <= 0xdfff) {
            *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
            return p + 6;
        }
    }

    if (*c >= 0xd800 && *c <= 0xdfff) {
        *c = 0xfffd;
    }

    return p;
}


/*
 * Decodes the escape at p (its backslash) to *len bytes of UTF-8: 1 to 4, and
 * never more bytes than the escape has. Returns the end of the escape.
 */
static const char *
mcp_json_escape(const char *p, const char *end, char *out, size_t *len)
{
    uint32_t  c;

    *len = 1;

    if (end - p < 2 || (p[1] == 'u' && end - p < 6)) {
        *out = *p;
        return end;
    }

    if (p[1] != 'u') {
        *out = mcp_json_escape_char(p[1]);
        return p + 2;
    }

    p = mcp_json_escape_unicode(p, end, &c);
    *len = (size_t) (mcp_utf8_print(out, c) - out);

    return p;
}


/* Returns 1 if [p, end), the content of a string with escapes, decodes to
 * text. */
static int
mcp_json_escaped_eq(const char *p, const char *end, mcp_str_t text)
{
    char         utf8[4];
    size_t       len, rest;
    const char  *t;

    t = text.data;
    rest = text.len;

    while (p < end) {
        len = 1;

        if (*p == '\\') {
            p = mcp_json_escape(p, end, utf8, &len);

        } else {
            utf8[0] = *p++;
        }

        if (rest < len || memcmp(t, utf8, len) != 0) {
            return 0;
        }

        t += len;
        rest -= len;
    }

    return rest == 0;
}


int
mcp_json_str_eq(mcp_str_t raw, mcp_str_t text)
{
    size_t       len;
    const char  *p;

    if (raw.len < 2 || raw.data[0] != '"') {
        return 0;
    }

    p = raw.data + 1;
    len = raw.len - 2;

    /* a string with escapes is never shorter than the decoded text */

    if (len < text.len) {
        return 0;
    }

    if (len == 0) {
        return 1;
    }

    if (len == text.len) {
        return memchr(text.data, '\\', len) == NULL
               && memcmp(p, text.data, len) == 0;
    }

    return mcp_json_escaped_eq(p, p + len, text);
}


/* Characters beyond ASCII whose other case is an ASCII letter. */
static const struct {
    mcp_str_t  utf8;
    char       letter;
} mcp_json_folds[] = {
    { mcp_str("\xc4\xb0"), 'i' },       /* U+0130 */
    { mcp_str("\xc4\xb1"), 'i' },       /* U+0131 */
    { mcp_str("\xc5\xbf"), 's' },       /* U+017F */
    { mcp_str("\xe2\x84\xaa"), 'k' }    /* U+212A */
};

#define MCP_JSON_FOLDS  (sizeof(mcp_json_folds) / sizeof(mcp_json_folds[0]))


char
mcp_json_letter(mcp_str_t c)
{
    size_t  i;

    if (c.len == 1) {
        return (char) ((*c.data | 0x20) >= 'a' && (*c.data | 0x20) <= 'z'
                       ? *c.data | 0x20 : 0);
    }

    for (i = 0; i < MCP_JSON_FOLDS; i++) {
        if (mcp_str_eq(c, mcp_json_folds[i].utf8)) {
            return mcp_json_folds[i].letter;
        }
    }

    return 0;
}


/* Removes the first character from [*p, end) and returns it. A byte that does
 * not begin a complete UTF-8 character counts as a character. */
static mcp_str_t
mcp_json_cut(const char **p, const char *end)
{
    mcp_str_t  c;

    c.data = *p;
    c.len = mcp_utf8_len(**p);

    if (c.len == 0 || c.len > (size_t) (end - *p)) {
        c.len = 1;
    }

    *p += c.len;

    return c;
}


/* Removes the first character of a key from [*p, end), a text with escapes, and
 * returns it. utf8 has room for 4 bytes, and receives the character if it was
 * written as an escape. */
static mcp_str_t
mcp_json_cut_key(const char **p, const char *end, char *utf8)
{
    mcp_str_t  c;

    if (**p != '\\') {
        return mcp_json_cut(p, end);
    }

    c.data = utf8;
    *p = mcp_json_escape(*p, end, utf8, &c.len);

    return c;
}


/* Returns 1 if [p, end), the rest of a key, begins with an escaped U+0000.
 * Parsers that store names as C strings truncate a key at this character. */
static int
mcp_json_is_cut_off(const char *p, const char *end)
{
    return end - p >= 6 && memcmp(p, "\\u0000", 6) == 0;
}


int
mcp_json_alike(mcp_str_t raw, mcp_str_t text)
{
    char         utf8[4], letter;
    mcp_str_t    a, b;
    const char  *p, *end, *t, *t_end;

    if (raw.len < 2 || raw.data[0] != '"') {
        return 0;
    }

    p = raw.data + 1;
    end = raw.data + raw.len - 1;
    t = text.data;
    t_end = text.data + text.len;

    while (p < end && t < t_end) {
        a = mcp_json_cut_key(&p, end, utf8);
        b = mcp_json_cut(&t, t_end);
        letter = mcp_json_letter(a);

        if (letter ? letter != mcp_json_letter(b) : !mcp_str_eq(a, b)) {
            return 0;
        }
    }

    return t == t_end && (p == end || mcp_json_is_cut_off(p, end));
}


/* Adds a character to a hash (FNV-1a). */
static uint32_t
mcp_json_hash_add(uint32_t hash, mcp_str_t c)
{
    char    letter;
    size_t  i;

    letter = mcp_json_letter(c);

    if (letter) {
        c = (mcp_str_t) { &letter, 1 };
    }

    for (i = 0; i < c.len; i++) {
        hash = (hash ^ (unsigned char) c.data[i]) * 16777619u;
    }

    return hash;
}


uint32_t
mcp_json_hash_key(mcp_str_t raw)
{
    char         utf8[4];
    uint32_t     hash;
    const char  *p, *end;

    hash = 2166136261u;

    if (raw.len < 2) {
        return hash;
    }

    p = raw.data + 1;
    end = raw.data + raw.len - 1;

    while (p < end && !mcp_json_is_cut_off(p, end)) {
        hash = mcp_json_hash_add(hash, mcp_json_cut_key(&p, end, utf8));
    }

    return hash;
}


uint32_t
mcp_json_hash_name(mcp_str_t text)
{
    uint32_t     hash;
    const char  *t, *end;

    hash = 2166136261u;
    t = text.data;
    end = text.data + text.len;

    while (t < end && *t != '\0') {
        hash = mcp_json_hash_add(hash, mcp_json_cut(&t, end));
    }

    return hash;
}


/* Decodes [p, end) to o; slash is the first backslash in this range, or NULL.
 * Returns the end of the text that was written to o. */
static char *
mcp_json_unescape_to(char *o, const char *p, const char *end,
    const char *slash)
{
    size_t  len;

    while (slash != NULL) {
        memcpy(o, p, (size_t) (slash - p));
        o += slash - p;

        p = mcp_json_escape(slash, end, o, &len);
        o += len;

        slash = memchr(p, '\\', (size_t) (end - p));
    }

    memcpy(o, p, (size_t) (end - p));

    return o + (end - p);
}


int
mcp_json_unescape(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *out)
{
    char        *data;
    const char  *p, *end, *slash;

    if (raw.len < 2) {
        *out = mcp_str("");
        return MCP_OK;
    }

    p = raw.data + 1;
    end = raw.data + raw.len - 1;

    slash = memchr(p, '\\', (size_t) (end - p));

    if (slash == NULL) {
        out->data = p;
        out->len = (size_t) (end - p);
        return MCP_OK;
    }

    data = mcp_arena_alloc(arena, (size_t) (end - p));
    if (data == NULL) {
        return MCP_ERR_MEMORY;
    }

    out->data = data;
    out->len = (size_t) (mcp_json_unescape_to(data, p, end, slash) - data);

    return MCP_OK;
}


size_t
mcp_json_decode(char *out, mcp_str_t raw)
{
    char        *end;
    const char  *p, *last;

    if (raw.len < 2) {
        return 0;
    }

    p = raw.data + 1;
    last = raw.data + raw.len - 1;
    end = mcp_json_unescape_to(out, p, last,
                               memchr(p, '\\', (size_t) (last - p)));

    return (size_t) (end - out);
}


const char *
mcp_json_string_end(const char *p, const char *end)
{
    const char  *quote, *slash, *start;

    start = ++p;

    while (p < end) {
        quote = memchr(p, '"', (size_t) (end - p));
        if (quote == NULL) {
            return NULL;
        }

        for (slash = quote; slash > start && slash[-1] == '\\'; slash--) {
            /* void */
        }

        if ((quote - slash) % 2 == 0) {
            return quote + 1;
        }

        p = quote + 1;
    }

    return NULL;
}


/* Returns the end of the number, true, false or null at p. */
static const char *
mcp_json_atom_end(const char *p, const char *end)
{
    do {
        p++;
    } while (p < end && strchr(",:]} \n\r\t", *p) == NULL);

    return p;
}


/* Returns the end of the value at p in an accepted text. */
static const char *
mcp_json_value_end(const char *p, const char *end)
{
    unsigned     depth;
    const char  *s;

    depth = 0;

    while (p < end) {
        switch (*p) {

        case '"':
            s = mcp_json_string_end(p, end);
            p = s ? s : end;
            break;

        case '{':
        case '[':
            depth++;
            p++;
            continue;

        case '}':
        case ']':
            p++;
            depth--;
            break;

        case ',':
        case ':':
        case ' ':
        case '\n':
        case '\r':
        case '\t':
            p++;
            continue;

        default:
            p = mcp_json_atom_end(p, end);
        }

        if (depth == 0) {
            return p;
        }
    }

    return end;
}


static mcp_json_type_e
mcp_json_type(char c)
{
    switch (c) {
    case '{':
        return MCP_JSON_OBJECT;
    case '[':
        return MCP_JSON_ARRAY;
    case '"':
        return MCP_JSON_STRING;
    case 't':
    case 'f':
        return MCP_JSON_BOOL;
    case 'n':
        return MCP_JSON_NULL;
    default:
        return MCP_JSON_NUMBER;
    }
}


void
mcp_json_iter_init(mcp_json_iter_t *iter, mcp_str_t raw)
{
    const char  *p, *end;

    iter->pos = raw.data;
    iter->end = raw.data;
    iter->object = 0;

    if (raw.len == 0) {
        return;
    }

    end = raw.data + raw.len;
    p = mcp_json_skip_space(raw.data, end);

    if (p == end || (*p != '{' && *p != '[')) {
        return;
    }

    iter->object = *p == '{';
    iter->pos = p + 1;
    iter->end = end;
}


/* Returns the start of a member's value; p is the end of its key. */
static const char *
mcp_json_skip_colon(const char *p, const char *end)
{
    while (p < end && (*p == ':' || mcp_json_is_space(*p))) {
        p++;
    }

    return p;
}


void
mcp_json_iter_type(mcp_json_iter_t *iter, const mcp_json_value_t *value,
    mcp_json_type_e type)
{
    mcp_json_iter_init(iter, value->type == type ? value->raw : mcp_null_str);
}


int
mcp_json_iter_next(mcp_json_iter_t *iter, mcp_str_t *key,
    mcp_json_value_t *value)
{
    const char  *p, *key_end, *end;

    end = iter->end;
    p = iter->pos;

    while (p < end && (*p == ',' || mcp_json_is_space(*p))) {
        p++;
    }

    if (p == end || *p == '}' || *p == ']') {
        iter->pos = end;
        return 0;
    }

    if (iter->object) {
        key_end = mcp_json_string_end(p, end);

        if (key_end == NULL) {
            key_end = end;
        }

        if (key != NULL) {
            *key = (mcp_str_t) { p, (size_t) (key_end - p) };
        }

        p = mcp_json_skip_colon(key_end, end);

        if (p == end) {
            iter->pos = end;
            return 0;
        }
    }

    iter->pos = mcp_json_value_end(p, end);

    value->type = mcp_json_type(*p);
    value->raw = (mcp_str_t) { p, (size_t) (iter->pos - p) };

    return 1;
}


mcp_json_value_t
mcp_json_get(const mcp_json_value_t *object, mcp_str_t key)
{
    mcp_str_t         name;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_type(&iter, object, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &name, &value)) {
        if (mcp_json_str_eq(name, key)) {
            return value;
        }
    }

    memset(&value, 0, sizeof(mcp_json_value_t));

    return value;
}


mcp_json_value_t
mcp_json_get_from(mcp_str_t object, mcp_str_t key)
{
    return mcp_json_get(&(mcp_json_value_t) { MCP_JSON_OBJECT, object }, key);
}


int
mcp_json_get_once(const mcp_json_value_t *object, mcp_str_t key,
    mcp_json_value_t *out)
{
    mcp_str_t         name;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    memset(out, 0, sizeof(mcp_json_value_t));

    mcp_json_iter_type(&iter, object, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &name, &value)) {
        if (!mcp_json_str_eq(name, key)) {
            continue;
        }

        if (out->type != MCP_JSON_NONE) {
            return MCP_ERR_SYNTAX;
        }

        *out = value;
    }

    return MCP_OK;
}


void
mcp_json_add_line(mcp_buf_t *buf, mcp_str_t json)
{
    char  *p;

    if (json.len == 0) {
        return;
    }

    p = mcp_buf_reserve(buf, json.len);
    if (p == NULL) {
        return;
    }

    memcpy(p, json.data, json.len);
    mcp_json_one_line(p, json.len);

    buf->len += json.len;
}


void
mcp_json_one_line(char *p, size_t len)
{
    char  *end, *q;

    end = p + len;

    for (q = p; (q = memchr(q, '\n', (size_t) (end - q))) != NULL; q++) {
        *q = ' ';
    }

    for (q = p; (q = memchr(q, '\r', (size_t) (end - q))) != NULL; q++) {
        *q = ' ';
    }
}


size_t
mcp_json_compact(char *p, size_t len)
{
    char        *out;
    size_t       n;
    const char  *in, *end;

    out = p;
    end = p + len;

    for (in = p; in < end; in += n) {
        n = 1;

        if (mcp_json_is_space(*in)) {
            continue;
        }

        if (*in == '"') {
            n = (size_t) (mcp_json_string_end(in, end) - in);
        }

        memmove(out, in, n);
        out += n;
    }

    return (size_t) (out - p);
}


void
mcp_json_add_compact(mcp_buf_t *buf, mcp_str_t json)
{
    char  *p;

    p = json.len ? mcp_buf_reserve(buf, json.len) : NULL;

    if (p != NULL) {
        memcpy(p, json.data, json.len);
        buf->len += mcp_json_compact(p, json.len);
    }
}


void
mcp_json_add_key(mcp_buf_t *buf, mcp_str_t key)
{
    if (buf->len && buf->data[buf->len - 1] != '{') {
        mcp_buf_lit(buf, ",");
    }

    mcp_buf_str(buf, key);
    mcp_buf_lit(buf, ":");
}


mcp_json_value_t
mcp_json_add_members(mcp_buf_t *buf, const mcp_json_value_t *object,
    mcp_str_t except, mcp_json_keep_pt keep)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value, omitted;

    memset(&omitted, 0, sizeof(mcp_json_value_t));

    mcp_json_iter_type(&iter, object, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (except.len && mcp_json_str_eq(key, except)) {
            omitted = value;

        } else if (keep == NULL || keep(buf, key)) {
            mcp_json_add_key(buf, key);
            mcp_buf_str(buf, value.raw);
        }
    }

    return omitted;
}


size_t
mcp_json_count(mcp_str_t raw, size_t limit)
{
    size_t            n;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, raw);

    for (n = 0; n < limit && mcp_json_iter_next(&iter, NULL, &value); n++) {
        /* void */
    }

    return n;
}
