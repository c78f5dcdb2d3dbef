/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Declarations that every file of the core uses: strings, results and the
 * environment that the glue provides.
 *
 * The core does no I/O: it has no sockets, no clock, no threads and no global
 * variables. The glue provides memory, time, random bytes and the log through
 * the tables below. Every operation that may wait is an action that the glue
 * pulls from the core.
 */


#ifndef MCP_H_INCLUDED
#define MCP_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <string.h>


/* Around the declarations of each header of this folder: the functions have C
 * linkage in C++, too. */
#ifdef __cplusplus
#define MCP_DECLARATIONS_BEGIN  extern "C" {
#define MCP_DECLARATIONS_END    }
#else
#define MCP_DECLARATIONS_BEGIN
#define MCP_DECLARATIONS_END
#endif


MCP_DECLARATIONS_BEGIN


/* A slice of text. It is not terminated by a NUL, and does not own its
 * memory. */
typedef struct {
    const char  *data;
    size_t       len;
} mcp_str_t;


#define mcp_str(text)    ((mcp_str_t) { text, sizeof(text) - 1 })
#define mcp_null_str     ((mcp_str_t) { NULL, 0 })


#define MCP_DIGEST_LEN   16            /* length of a digest, which is a
                                          truncated SHA-256, bytes */


/* Results of the core's functions. Negative values are errors. After
 * MCP_ERR_MEMORY or MCP_ERR_INTERNAL the object can only be freed. An invalid
 * message of a client is not an error of this kind: see mcp_fault.h. */
enum {
    MCP_OK = 0,
    MCP_AGAIN = 1,              /* there is no result yet; the function's
                                   comment describes how the result arrives */
    MCP_DONE = 2,               /* no result, and none will come */

    MCP_ERR_SYNTAX = -1,        /* the input violates its grammar */
    MCP_ERR_LIMIT = -2,         /* a configured limit is reached */
    MCP_ERR_NOT_FOUND = -3,
    MCP_ERR_DENIED = -4,        /* the object exists, but not for this caller */
    MCP_ERR_PURGED = -5,        /* the object has been removed */
    MCP_ERR_FULL = -6,          /* the store has no room */
    MCP_ERR_CONFIG = -7,        /* the configuration is wrong */
    MCP_ERR_EXISTS = -8,        /* the object exists already */
    MCP_ERR_LARGE = -9,         /* the object can never fit */
    MCP_ERR_UNREACHABLE = -10,  /* a required peer, such as Redis, is
                                   unreachable */
    MCP_ERR_AHEAD = -11,        /* the position is beyond the end of the
                                   object */

    MCP_ERR_MEMORY = -16,
    MCP_ERR_INTERNAL = -17
};


typedef enum {
    MCP_LOG_ERROR = 0,         /* the operator has to act */
    MCP_LOG_WARN,              /* a client or a backend misbehaves */
    MCP_LOG_NOTICE,
    MCP_LOG_INFO,              /* life cycle of calls, sessions and processes */
    MCP_LOG_DEBUG              /* changes of state */
} mcp_log_level_e;


/* The server's allocator. alloc() and free() behave like malloc() and free();
 * ctx is their first argument. */
typedef struct {
    void  *(*alloc)(void *ctx, size_t size);
    void   (*free)(void *ctx, void *p);
    void    *ctx;
} mcp_mem_t;


/*
 * Services of the server that never wait.
 *
 * now() returns the time in ms of a clock that all processes with the same
 * store share. The clock starts at the wall clock's time when the zone is
 * created and is steady from then on, so that setting the wall clock neither
 * ends calls nor stops timers.
 *
 * random() fills buf with random bytes of a cryptographic generator, such as
 * mcp_random(), and returns MCP_OK or an error. log() takes one line that ends
 * with a NUL; callers check log_level first.
 */
typedef struct {
    mcp_mem_t         mem;
    uint64_t        (*now)(void *ctx);
    int             (*random)(void *ctx, void *buf, size_t len);
    void            (*log)(void *ctx, mcp_log_level_e level, const char *line);
    mcp_log_level_e   log_level;
    mcp_str_t         zone;            /* name of the zone, for the log;
                                          static */
    void             *ctx;
} mcp_env_t;


/*
 * Fills buf with len random bytes from OpenSSL's generator.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  the generator failed, or len exceeds INT32_MAX
 */
int mcp_random(void *buf, size_t len);


static inline int
mcp_str_eq(mcp_str_t a, mcp_str_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Sets size bytes at p to zero by calling memset() of the C library. An
 * inlined memset() would differ between compiler versions and may be
 * slower. */
void mcp_zero(void *p, size_t size);

/* Returns 1 for an ASCII letter or digit, in every locale. */
static inline int
mcp_is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z');
}

/* Returns 1 if a and b, which are both len bytes long, are equal except for the
 * case of ASCII letters. */
int mcp_case_eq(const char *a, const char *b, size_t len);

/* Returns 1 and removes the prefix from *text if *text begins with it.
 * Otherwise returns 0. */
static inline int
mcp_str_take(mcp_str_t *text, mcp_str_t prefix)
{
    if (text->len < prefix.len
        || memcmp(text->data, prefix.data, prefix.len) != 0)
    {
        return 0;
    }

    text->data += prefix.len;
    text->len -= prefix.len;

    return 1;
}


/* Returns 1 if two strings are equal except for the case of ASCII letters. */
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

/* Write or read an unsigned number in network byte order. "bytes" is its
 * length, at most 8. */
void mcp_be_put(unsigned char *p, uint64_t n, size_t bytes);
uint64_t mcp_be_get(const unsigned char *p, size_t bytes);


MCP_DECLARATIONS_END


#endif /* MCP_H_INCLUDED */
