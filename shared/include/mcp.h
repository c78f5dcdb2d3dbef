/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What every file of the core shares: strings, results and the environment
 * that the glue provides.
 *
 * The core is sans-I/O: no sockets, no clock, no threads, no globals.  What
 * is instant and cannot wait (allocate, now, random, log) comes in through
 * the small tables below; whatever may wait is an action that the glue pulls.
 */


#ifndef MCP_H_INCLUDED
#define MCP_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <string.h>


/* A borrowed slice; never assumed to end in NUL. */
typedef struct {
    const char  *data;
    size_t       len;
} mcp_str_t;


#define mcp_str(text)    ((mcp_str_t) { text, sizeof(text) - 1 })
#define mcp_null_str     ((mcp_str_t) { NULL, 0 })


/*
 * Results of core functions.  Zero and above: the function did its part.
 * Below zero: it did not; MCP_ERR_MEMORY and below are fatal for the object
 * at hand.  A bad client message is not a C error, see mcp_fault.h.
 */
enum {
    MCP_OK = 0,
    MCP_AGAIN = 1,             /* nothing now; feed or wait, then call again */
    MCP_DONE = 2,              /* nothing now and nothing will come */

    MCP_ERR_SYNTAX = -1,       /* foreign bytes break their grammar */
    MCP_ERR_LIMIT = -2,        /* a configured limit is reached */
    MCP_ERR_NOT_FOUND = -3,
    MCP_ERR_DENIED = -4,       /* exists, but not for this caller */
    MCP_ERR_PURGED = -5,       /* what was asked for has been dropped */
    MCP_ERR_FULL = -6,         /* the store has no room */
    MCP_ERR_CONFIG = -7,       /* the operator's input is wrong */
    MCP_ERR_EXISTS = -8,       /* what was to be made is there already */
    MCP_ERR_LARGE = -9,        /* there can never be room for it */

    MCP_ERR_MEMORY = -16,
    MCP_ERR_INTERNAL = -17
};


typedef enum {
    MCP_LOG_ERROR = 0,         /* the operator must act */
    MCP_LOG_WARN,              /* a client or a backend misbehaves */
    MCP_LOG_NOTICE,
    MCP_LOG_INFO,              /* life cycle */
    MCP_LOG_DEBUG              /* transitions */
} mcp_log_level_e;


/* malloc-shaped memory of the server; ctx is the glue's. */
typedef struct {
    void  *(*alloc)(void *ctx, size_t size);
    void   (*free)(void *ctx, void *p);
    void    *ctx;
} mcp_mem_t;


/*
 * What the server can do at once.  "now" is in milliseconds of a clock that
 * all processes sharing a store agree on: that of the wall when the zone was
 * made, and steady from then on, as setting the wall clock must neither end
 * calls nor stop timers.  "random" fills from
 * the operating system's generator and returns MCP_OK or an error.
 * "log" gets one NUL-terminated line; callers test the level first.
 */
typedef struct {
    mcp_mem_t         mem;
    uint64_t        (*now)(void *ctx);
    int             (*random)(void *ctx, void *buf, size_t len);
    void            (*log)(void *ctx, mcp_log_level_e level, const char *line);
    mcp_log_level_e   log_level;
    mcp_str_t         zone;            /* its name, for the log; static */
    void             *ctx;
} mcp_env_t;


static inline int
mcp_str_eq(mcp_str_t a, mcp_str_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* ASCII letters and digits, whatever the locale. */
static inline int
mcp_is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z');
}

/* ASCII case-insensitive comparison. */
int mcp_str_case_eq(mcp_str_t a, mcp_str_t b);

/* Parses all of s as an unsigned decimal; MCP_ERR_SYNTAX on anything else
 * or overflow. */
int mcp_str_uint(mcp_str_t s, uint64_t *out);

/* Writes n in decimal to p (20 bytes at most); returns the end. */
char *mcp_uint_print(char *p, uint64_t n);

/* Writes the low bytes of n (8 at most) to p in network byte order, or reads
 * them. */
void mcp_be_put(unsigned char *p, uint64_t n, size_t bytes);
uint64_t mcp_be_get(const unsigned char *p, size_t bytes);


#endif /* MCP_H_INCLUDED */
