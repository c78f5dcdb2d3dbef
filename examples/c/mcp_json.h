/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads and writes JSON for mcp.h.  The JSON is valid, because the web server
 * has parsed the request.  Memory is freed by the end of the process.
 */

#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline char *mcp_alloc(size_t size) {
    char *p = malloc(size);

    if (p == NULL) abort();
    return p;
}

__attribute__((format(printf, 1, 2)))
static inline char *mcp_format(const char *format, ...) {
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);

    if (n < 0) abort();

    text = mcp_alloc((size_t) n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t) n + 1, format, args);
    va_end(args);
    return text;
}

/* Returns a text as a JSON string. */
static inline char *mcp_quote(const char *text) {
    char *json = mcp_alloc(6 * strlen(text) + 3), *q = json;

    for (*q++ = '"'; *text; text++) {
        if ((unsigned char) *text < ' ') {
            q += sprintf(q, "\\u%04x", (unsigned) *text);
            continue;
        }
        if (*text == '"' || *text == '\\') *q++ = '\\';
        *q++ = *text;
    }

    memcpy(q, "\"", 2);
    return json;
}

static inline const char *mcp_space(const char *p) {
    return p + strspn(p, " \t\r\n");
}

/* Returns the end of the value at p. */
static inline const char *mcp_skip(const char *p) {
    size_t depth = 0;

    do {
        if (*p == '"') {
            while (*++p && *p != '"') p += *p == '\\' && p[1];
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        } else if (depth == 0) {
            return p + strcspn(p, ",]} \t\r\n");
        }
        p += *p != '\0';
    } while (depth && *p);

    return p;
}

/* Returns the UTF-8 text of the string at p.  U+FFFD replaces U+0000. */
static inline char *mcp_unquote(const char *p) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char *text = mcp_alloc((size_t) (mcp_skip(p) - p) + 1), *q = text;
    const char *found;
    unsigned c, low;
    int n;

    for (p++; *p && *p != '"'; p++) {
        if (*p != '\\') {
            *q++ = *p;
            continue;
        }
        if (*++p != 'u') {
            found = strchr(from, *p);
            *q++ = found ? to[found - from] : *p;
            continue;
        }
        if (strspn(++p, "0123456789abcdefABCDEF") < 4 || sscanf(p, "%4x", &c) != 1) break;
        p += 3;

        if (c >> 10 == 0x36 && sscanf(p + 1, "\\u%4x", &low) == 1 && low >> 10 == 0x37) {
            c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
            p += 6;
        }
        if (c == 0 || c >> 11 == 0x1b) c = 0xfffd;

        n = (c > 0x7f) + (c > 0x7ff) + (c > 0xffff);
        *q++ = (char) (n ? (0xff00U >> (n + 1) & 0xff) | c >> 6 * n : c);
        while (n--) *q++ = (char) (0x80 | (c >> 6 * n & 0x3f));
    }

    *q = '\0';
    return text;
}

/* Returns the value of an object's member, or NULL if there is none or null. */
static inline const char *mcp_member(const char *object, const char *name) {
    const char *p = object && *object == '{' ? mcp_space(object + 1) : "";

    while (*p == '"') {
        int found = strcmp(mcp_unquote(p), name) == 0;

        p = mcp_space(mcp_space(mcp_skip(p)) + 1);
        if (found) return *p == 'n' ? NULL : p;
        p = mcp_space(mcp_skip(p));
        p = mcp_space(p + (*p == ','));
    }

    return NULL;
}

/* Reads a request, whose size is in CONTENT_LENGTH. */
static inline char *mcp_read(void) {
    const char *length = getenv("CONTENT_LENGTH");
    size_t size = length ? strtoul(length, NULL, 10) : 0;
    char *body = mcp_alloc(size + 1);

    body[fread(body, 1, size, stdin)] = '\0';
    return body;
}

/* Returns an object with the members of two objects. */
static inline char *mcp_merge(const char *a, const char *b) {
    int size = (int) (mcp_skip(a) - a), more = (int) (mcp_skip(b) - b);
    if (*mcp_space(a + 1) == '}') return mcp_format("%.*s", more, b);
    if (*mcp_space(b + 1) == '}') return mcp_format("%.*s", size, a);
    return mcp_format("%.*s,%.*s", size - 1, a, more - 1, b + 1);
}
