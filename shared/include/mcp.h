/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What every file of the core shares: strings, results and the environment
 * that the glue provides.
 *
 * The core does no I/O: it has no sockets, no clock, no threads and no globals.
 * The glue provides what is instant (memory, time, random bytes, the log)
 * through the tables below; everything that may wait is an action that the glue
 * asks for.
 */


#ifndef MCP_H_INCLUDED
#define MCP_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <string.h>


/* A borrowed slice of text.  No NUL ends it. */
typedef struct {
    const char  *data;
    size_t       len;
} mcp_str_t;


#define mcp_str(text)    ((mcp_str_t) { text, sizeof(text) - 1 })
#define mcp_null_str     ((mcp_str_t) { NULL, 0 })


/*
 * Results of the core's functions.  Negative ones are errors; after
 * MCP_ERR_MEMORY and MCP_ERR_INTERNAL the object cannot go on.  A client's bad
 * message is not an error in this sense, see mcp_fault.h.
 */
enum {
    MCP_OK = 0,
    MCP_AGAIN = 1,             /* nothing yet: feed or wait, then call again */
    MCP_DONE = 2,              /* nothing, and nothing will come */

    MCP_ERR_SYNTAX = -1,       /* the input breaks its grammar */
    MCP_ERR_LIMIT = -2,        /* a configured limit is reached */
    MCP_ERR_NOT_FOUND = -3,
    MCP_ERR_DENIED = -4,       /* the object exists, but not for this caller */
    MCP_ERR_PURGED = -5,       /* the object has been dropped */
    MCP_ERR_FULL = -6,         /* the store has no room */
    MCP_ERR_CONFIG = -7,       /* the operator's input is wrong */
    MCP_ERR_EXISTS = -8,       /* the object exists already */
    MCP_ERR_LARGE = -9,        /* the object can never fit */
    MCP_ERR_AWAY = -10,        /* who has to agree cannot be reached now */
    MCP_ERR_AHEAD = -11,       /* the object does not reach that far now */

    MCP_ERR_MEMORY = -16,
    MCP_ERR_INTERNAL = -17
};


typedef enum {
    MCP_LOG_ERROR = 0,         /* the operator must act */
    MCP_LOG_WARN,              /* a client or a backend misbehaves */
    MCP_LOG_NOTICE,
    MCP_LOG_INFO,              /* life cycle */
    MCP_LOG_DEBUG              /* changes of state */
} mcp_log_level_e;


/* Memory of the server, like malloc() and free(); ctx is the glue's. */
typedef struct {
    void  *(*alloc)(void *ctx, size_t size);
    void   (*free)(void *ctx, void *p);
    void    *ctx;
} mcp_mem_t;


/*
 * What the server can do without waiting.
 *
 * now returns milliseconds of a clock that all processes with the same store
 * share.  It is the wall clock's time when the zone was created, and steady
 * from then on: setting the wall clock must neither end calls nor stop timers.
 *
 * random fills buf from the operating system's generator and returns MCP_OK or
 * an error.
 *
 * log takes one line, which a NUL ends.  Callers test log_level first.
 */
typedef struct {
    mcp_mem_t         mem;
    uint64_t        (*now)(void *ctx);
    int             (*random)(void *ctx, void *buf, size_t len);
    void            (*log)(void *ctx, mcp_log_level_e level, const char *line);
    mcp_log_level_e   log_level;
    mcp_str_t         zone;            /* the zone's name, for the log;
                                          static */
    void             *ctx;
} mcp_env_t;


static inline int
mcp_str_eq(mcp_str_t a, mcp_str_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* memset() to zero that is left to the C library: where compilers know the size
 * they may write code that costs more, and which they write differs. */
void mcp_zero(void *p, size_t size);

/* ASCII letters and digits, whatever the locale. */
static inline int
mcp_is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z');
}

/* Returns 1 if a and b, which are both len bytes long, are equal but for the
 * case of ASCII letters. */
int mcp_case_eq(const char *a, const char *b, size_t len);

/* The same of slices, most of which differ in their length. */
static inline int
mcp_str_case_eq(mcp_str_t a, mcp_str_t b)
{
    return a.len == b.len && mcp_case_eq(a.data, b.data, a.len);
}

/*
 * Reads s as an unsigned decimal number.
 *
 * Returns MCP_OK, or, with *out unchanged,
 *   MCP_ERR_SYNTAX  s is empty, not only digits, or above UINT64_MAX
 */
int mcp_str_uint(mcp_str_t s, uint64_t *out);

/* Writes n in decimal to p (20 bytes at most) and returns the end. */
char *mcp_uint_print(char *p, uint64_t n);

/* Write and read a number of up to 8 bytes in network byte order. */
void mcp_be_put(unsigned char *p, uint64_t n, size_t bytes);
uint64_t mcp_be_get(const unsigned char *p, size_t bytes);


#endif /* MCP_H_INCLUDED */
