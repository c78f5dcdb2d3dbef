/* SPDX-License-Identifier: Apache-2.0 */

/* UTF-8, and times as text. mcp.h has the other functions for text. */


#ifndef MCP_STR_H_INCLUDED
#define MCP_STR_H_INCLUDED


#include "mcp.h"
#include "mcp_buf.h"


/* --- search --- */

/* Returns the first occurrence of "part", which is not empty, in "text"; NULL
 * if there is none. */
const char *mcp_str_find(mcp_str_t text, mcp_str_t part);


/* --- UTF-8 --- */

/* Returns 1 if s is well-formed: no surrogates, no overlong forms, nothing
 * above U+10FFFF. */
int mcp_utf8_valid(mcp_str_t s);

/*
 * Returns the length of the character at p, which is before end, and sets
 * *valid to 1. If the bytes at p are invalid, sets *valid to 0 and returns the
 * number of bytes, at least 1, that one U+FFFD replaces (Unicode 15, 3.9,
 * "U+FFFD Substitution of Maximal Subparts").
 */
size_t mcp_utf8_char(const char *p, const char *end, int *valid);

/*
 * Returns the length, in bytes, of characters with this first byte; 0 if the
 * byte is invalid.
 */
size_t mcp_utf8_len(char first);

/* Writes the code point c to p (at most 4 bytes) and returns the end. */
char *mcp_utf8_print(char *p, uint32_t c);


/* --- times as text --- */

/*
 * Appends a time, in ms since the epoch, in the form of ISO 8601 for UTC:
 * 2026-07-28T09:05:00.250Z.
 */
void mcp_time_write(mcp_buf_t *buf, uint64_t ms);


#endif /* MCP_STR_H_INCLUDED */
